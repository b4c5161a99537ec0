//! Exceptions as Python's `repr` writes them, which is how a task's error arrives.

/// The text of an exception whose Python representation has one string: `ValueError('no: \'x\'')` is `ValueError: no: 'x'`.
/// Any other text stays as it is.
pub(super) fn message(text: &str) -> String {
    let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let Some((class, argument)) = parts else {
        return text.to_string();
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if class.is_empty() || !class.chars().all(is_name) {
        return text.to_string();
    }
    if argument.is_empty() {
        return class.to_string();
    }
    match unquoted(argument) {
        Some(message) => format!("{class}: {message}"),
        None => text.to_string(),
    }
}

/// What a Python string literal without a prefix stands for; none for anything else, and for rarer escapes.
fn unquoted(literal: &str) -> Option<String> {
    let quote = literal
        .chars()
        .next()
        .filter(|quote| matches!(quote, '\'' | '"'))?;
    let inner = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.push(match rest.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                escaped @ ('\\' | '\'' | '"') => escaped,
                _ => return None,
            }),
            c if c == quote => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_reprs_match_the_thread_record() {
        for (repr, plain) in [
            (
                "ValueError('boom: the node failed')",
                "ValueError: boom: the node failed",
            ),
            (r#"KeyError("it's")"#, "KeyError: it's"),
            (
                r"httpx.ConnectTimeout('a\nb \'c\'')",
                "httpx.ConnectTimeout: a\nb 'c'",
            ),
            ("CancelledError()", "CancelledError"),
            ("OSError(2, 'No such file')", "OSError(2, 'No such file')"),
            ("ValueError('a', 'b')", "ValueError('a', 'b')"),
            ("boom (again)", "boom (again)"),
            ("plain", "plain"),
        ] {
            assert_eq!(message(repr), plain);
        }
    }
}
