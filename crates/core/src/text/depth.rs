//! JSON that is nested too deeply for the parser: one deep value must not lose the whole response.

use super::string_end;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// Levels that are kept of a text that is nested too deeply. The parser accepts 127.
const MAX_DEPTH: usize = 100;
/// What stands for a value that is nested more deeply.
const NOTE: &str = r#""(nested more than 100 levels deep: left out)""#;

/// Parses JSON. If it is nested too deeply, a note stands for each value that is.
///
/// # Errors
/// What the parser says.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json).or_else(|error| match is_too_deep(&error) {
        true => serde_json::from_slice(&without_deep(json)),
        false => Err(error),
    })
}

fn is_too_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

/// Returns a JSON text with a note for each value below [`MAX_DEPTH`] levels. What is not JSON stays so.
fn without_deep(json: &[u8]) -> Cow<'_, [u8]> {
    let (mut out, mut depth, mut at, mut kept_from) = (Vec::new(), 0_usize, 0, 0);
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at = (at + string_end(&json[at..]) + 1).min(json.len()),
            b'[' | b'{' => {
                if depth == MAX_DEPTH {
                    out.extend_from_slice(&json[kept_from..at - 1]);
                    out.extend_from_slice(NOTE.as_bytes());
                }
                depth += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == MAX_DEPTH {
                    kept_from = at;
                }
            }
            _ => {}
        }
    }
    // An open deep value has no end, so nothing behind its note is kept.
    if depth <= MAX_DEPTH {
        out.extend_from_slice(&json[kept_from..]);
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn deep(levels: usize) -> String {
        format!("{}1{}", r#"{"a":["#.repeat(levels / 2), "]}".repeat(levels / 2))
    }

    #[test]
    fn only_deep_values_are_replaced() {
        let text = format!(r#"[{{"id":"a","x":{}}},{{"id":"b]","x":1,"y":{}}}]"#, deep(100_000), deep(300));
        let rows: Vec<Value> = parse(text.as_bytes()).unwrap();
        assert_eq!((&rows[0]["id"], &rows[1]["id"], &rows[1]["x"]), (&json!("a"), &json!("b]"), &json!(1)));
        assert!(rows[0]["x"].to_string().contains("nested more than 100 levels deep"));
        let whole: Value = parse(deep(120).as_bytes()).unwrap();
        assert_eq!(whole.to_string(), deep(120), "values that the parser accepts stay unchanged");
    }

    #[test]
    fn invalid_json_is_an_error() {
        for text in
            ["[".repeat(1000), "]".repeat(1000), format!("{}}}", deep(300)), deep(300).replace(']', ""), "\"".into()]
        {
            assert!(parse::<Value>(text.as_bytes()).is_err(), "{}", &text[..text.len().min(40)]);
        }
    }

    proptest! {
        #[test]
        fn random_text_is_parsed_like_serde_json(text in r#"[\[\]{}":,1a\\]{0,300}"#) {
            let _ = without_deep(text.as_bytes());
            prop_assert_eq!(parse::<Value>(text.as_bytes()).ok(), serde_json::from_slice::<Value>(text.as_bytes()).ok());
        }
    }
}
