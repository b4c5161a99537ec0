//! Reads the events that a source itself depends on: the run's id, its error, and whether it was interrupted.

use crate::Data;
use crate::protocol::{Metadata, Unwrapped, reason};
use runtail_core::json::{self, Peek};

/// Maximum length of an error text, in bytes. Some errors contain a whole state.
const ERROR_TEXT: usize = 4096;

/// Returns the run id in a `metadata` event.
pub(crate) fn run_id_of(data: &Data) -> Option<String> {
    let metadata: Metadata<'_> = json::from_str(data.json()?).ok()?;
    metadata.run_id.some().map(String::from)
}

/// Returns whether an event is the first of its run: it has the run's id and its first attempt.
pub(crate) fn begins_run(name: &str, data: &str) -> bool {
    let Ok(metadata) = json::from_str::<Metadata<'_>>(data) else {
        return false;
    };
    let is_first = metadata
        .attempt
        .0
        .map_or(name == "metadata", |attempt| attempt <= 1);
    metadata.run_id.some().is_some() && metadata.status.some().is_none() && is_first
}

/// Returns the text of an `error` event as one line of limited length. The event keeps the full text.
pub fn error_text(text: &str) -> String {
    one_line(&reason(text).unwrap_or_else(|| "no reason reported".into()))
}

/// Returns a text as one line of limited length.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = text.lines().collect::<Vec<_>>().join(" ");
    if line.len() > ERROR_TEXT {
        line.truncate(runtail_core::text::head(&line, ERROR_TEXT).len());
        line.push('…');
    }
    line
}

/// Returns whether a state or an update contains an interrupt.
pub(crate) fn has_interrupt(text: &str) -> bool {
    let json = Peek::of(text);
    let json = Unwrapped::tuple("", json).map_or(json, |tuple| tuple.json);
    json.get("__interrupt__")
        .is_some_and(|list| !list.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_found_in_mode_tuples() {
        assert!(
            has_interrupt(r#"{"__interrupt__":[]}"#)
                && has_interrupt(r#"["updates",{"__interrupt__":[]}]"#)
        );
        assert!(
            !has_interrupt(r#"["updates",{"a":{}}]"#) && !has_interrupt(r#"["__interrupt__",[]]"#)
        );
    }

    #[test]
    fn error_text_is_one_short_line() {
        for (error, text) in [
            (
                r#"{"error":"ValueError","message":"one\ntwo"}"#,
                "ValueError: one two",
            ),
            (
                r#"{"error":{"type":"overloaded_error","message":"Overloaded","status":529}}"#,
                "overloaded_error: Overloaded",
            ),
            (
                r#"{"type":"error","error":{"type":"api_error","message":"down"}}"#,
                "api_error: down",
            ),
            (
                r#"{"name":"TypeError","message":"x is undefined"}"#,
                "TypeError: x is undefined",
            ),
            (r#"{"detail":"Thread is busy"}"#, "Thread is busy"),
            (r#"{"error":"Timeout","message":null}"#, "Timeout"),
            (r#"{"status":500}"#, r#"{"status":500}"#),
            (
                "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
                "502 Bad Gateway",
            ),
            (
                "<!DOCTYPE html><body><h1>Down</h1><p>Later</p></body>",
                "Down Later",
            ),
            ("oops", "oops"),
            ("", "no reason reported"),
            ("null", "no reason reported"),
            (r#"{"error":null,"message":""}"#, "no reason reported"),
            ("{}", "no reason reported"),
        ] {
            assert_eq!(error_text(error), text, "{error}");
        }
        let long = error_text(&format!("\"a{}\"", "é".repeat(1_000_000)));
        assert!(
            long.ends_with("é…") && long.len() < ERROR_TEXT + 4,
            "{}",
            long.len()
        );
    }
}
