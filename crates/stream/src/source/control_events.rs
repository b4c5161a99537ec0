//! What events say that their source has to know: the run's id, its error, that it stopped to ask.

use crate::Data;
use crate::protocol::ModeTuple;
use crate::protocol::{Failure, Metadata, StateInterrupts};

/// Bytes of an error that are told: some hold a whole state.
const ERROR_TEXT: usize = 4096;

/// The run that a `metadata` event names.
pub(crate) fn run_id_of(data: &Data) -> Option<String> {
    let metadata: Metadata<'_> = serde_json::from_str(data.json()?).ok()?;
    metadata.run_id.some().map(String::from)
}

/// Whether an event is the first of its run: it carries the run's id and its first attempt.
pub(crate) fn begins_run(name: &str, data: &str) -> bool {
    let Ok(metadata) = serde_json::from_str::<Metadata<'_>>(data) else { return false };
    let is_first = metadata.attempt.0.map_or(name == "metadata", |attempt| attempt <= 1);
    metadata.run_id.some().is_some() && metadata.status.some().is_none() && is_first
}

/// What an `error` event says (`{error, message}`, or a bare string), in one line that can be shown and kept: the event
/// itself has it all.
pub fn error_text(text: &str) -> String {
    let said = match serde_json::from_str::<Failure<'_>>(text) {
        Ok(Failure { error: Some(error), message: Some(message) }) => format!("{error}: {message}"),
        Ok(Failure { error: Some(one), message: None } | Failure { error: None, message: Some(one) }) => {
            one.into_owned()
        }
        _ => serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_string()),
    };
    let mut line = said.lines().collect::<Vec<_>>().join(" ");
    if line.len() > ERROR_TEXT {
        line.truncate(runtail_core::text::head(&line, ERROR_TEXT).len());
        line.push('…');
    }
    line
}

/// Whether a state or an update tells of an interrupt.
pub(crate) fn has_interrupt(text: &str) -> bool {
    let text = ModeTuple::of("", text).map_or(text, |tuple| tuple.chunk.get());
    serde_json::from_str::<StateInterrupts>(text).is_ok_and(|state| state.interrupts.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_is_found_in_a_tuple_too() {
        assert!(has_interrupt(r#"{"__interrupt__":[]}"#) && has_interrupt(r#"["updates",{"__interrupt__":[]}]"#));
        assert!(!has_interrupt(r#"["updates",{"a":{}}]"#) && !has_interrupt(r#"["__interrupt__",[]]"#));
    }

    #[test]
    fn an_error_is_told_in_one_short_line() {
        assert_eq!(error_text(r#"{"error":"ValueError","message":"one\ntwo"}"#), "ValueError: one two");
        let long = error_text(&format!("\"a{}\"", "é".repeat(1_000_000)));
        assert!(long.ends_with("é…") && long.len() < ERROR_TEXT + 4, "{}", long.len());
    }
}
