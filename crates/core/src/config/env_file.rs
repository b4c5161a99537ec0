//! Reads the variables of an env file (`.env`), as the official tools do: later lines win, `export` and quotes are allowed.

/// A variable of an env file.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub name: String,
    pub value: String,
    /// Whether the value is the text itself; not, where it refers to another variable (`${…}`).
    pub is_literal: bool,
}

/// Returns the variables in their order. Lines that are none are skipped.
pub(super) fn variables(text: &str) -> Vec<Variable> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all = Vec::new();
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        let Some((name, value)) = line
            .split_once('=')
            .and_then(|(name, value)| Some((name_of(name)?, value)))
        else {
            continue;
        };
        let value = value.trim_start_matches([' ', '\t']);
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                // A quoted value may have several lines, whose text must not be taken for variables.
                let all_of_it = &text[text.len() - after.len() - value.len()..];
                let Some((value, length)) = quoted(&all_of_it[1..], quote) else {
                    continue;
                };
                let behind = &all_of_it[1 + length..];
                rest = behind.find('\n').map_or("", |at| &behind[at + 1..]);
                value
            }
            _ => unquoted(value).to_string(),
        };
        let is_literal = !value.contains("${");
        all.push(Variable {
            name: name.to_string(),
            value,
            is_literal,
        });
    }
    all
}

fn name_of(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text
        .strip_prefix("export")
        .filter(|rest| rest.starts_with([' ', '\t']))
        .map_or(text, str::trim);
    is_variable(name).then_some(name)
}

/// Returns a value without quotes: up to a comment, which needs a blank before it.
fn unquoted(value: &str) -> &str {
    let is_comment = |(at, _): &(usize, &str)| value[..*at].ends_with([' ', '\t']) || *at == 0;
    let end = value
        .match_indices('#')
        .find(is_comment)
        .map_or(value.len(), |(at, _)| at);
    value[..end].trim()
}

/// Returns a value up to its closing quote, and the length with that quote; nothing if it isn't closed.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((value, at + c.len_utf8())),
            '\\' => match chars.next()?.1 {
                'n' if quote == '"' => value.push('\n'),
                't' if quote == '"' => value.push('\t'),
                'r' if quote == '"' => value.push('\r'),
                c if c == quote || c == '\\' => value.push(c),
                c => value.extend(['\\', c]),
            },
            c => value.push(c),
        }
    }
    None
}

/// Whether a text can be the name of an environment variable. A pasted key usually can't.
pub(super) fn is_variable(name: &str) -> bool {
    let rest_fits = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    rest_fits
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !name.starts_with("lsv2_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_read(text in "([A-Z]{1,2}|export| |=|\"|'|\\\\|#|\n|\r|é|\\$\\{A\\}|\u{feff}){0,30}") {
            for one in variables(&text) {
                prop_assert!(is_variable(&one.name), "{text:?}");
            }
        }

        #[test]
        fn values_in_quotes_are_read_as_they_are(value in "[ -~é\n]{0,12}", more in "[A-Z]{1,3}") {
            let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
            let all = variables(&format!("A='{quoted}' # why\nB={more}\n"));
            prop_assert_eq!(&all[0].value, &value);
            prop_assert_eq!((&*all[1].name, &all[1].value), ("B", &more));
        }
    }

    #[test]
    fn variables_are_read_as_the_official_tools_read_them() {
        let text = "\u{feff}# a comment\nA=1\r\nexport B = two words # why\nC='a # b'\nD=\"x \\\"y\\\" \\n z\" # more\n\
                    PEM=\"-----BEGIN\nA=inside\n-----END\"\nE=a#b\nF=\nno variable\n9X=1\nG=${A}/x\nexported=1\nU=\"open\nA=2";
        let all = variables(text);
        let of = |name: &str| {
            all.iter()
                .filter(|one| one.name == name)
                .map(|one| &*one.value)
                .collect::<Vec<_>>()
        };
        assert_eq!(of("A"), ["1", "2"]);
        assert_eq!(
            (of("B"), of("C"), of("D")),
            (vec!["two words"], vec!["a # b"], vec!["x \"y\" \n z"])
        );
        assert_eq!(
            (of("E"), of("F"), of("exported")),
            (vec!["a#b"], vec![""], vec!["1"])
        );
        assert!(of("9X").is_empty() && of("U").is_empty() && of("PEM")[0].contains("A=inside"));
        assert!(all.iter().all(|one| one.is_literal == (one.name != "G")));
    }
}
