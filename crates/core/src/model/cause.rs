//! The cause of a failure, from all texts in which a server's records and events give it.

use super::step_limit::LIKELY;

/// Sentences that servers send in place of an error's message: Python (langgraph-api 0.16) for all but a few classes, Aegra (0.11)
/// in its `error` event. The last one is ours, for an empty event.
const HIDDEN: [&str; 3] = [
    "An internal error occurred",
    "execution failed",
    "no reason reported",
];

/// Returns the most specific of several texts about one failure, the most trusted ones first.
pub fn cause(texts: impl IntoIterator<Item = String>) -> Option<String> {
    let mut best: Option<String> = None;
    for text in texts.into_iter().filter(|text| !text.trim().is_empty()) {
        let is_better = best.as_deref().is_none_or(|known| {
            let is_whole = text.len() > known.len() && text.contains(known);
            is_whole || hides_cause(known) && !hides_cause(&text) && may_be_of(&text, known)
        });
        if is_better {
            best = Some(text);
        }
    }
    best
}

/// Returns whether a text about a failure has no message of the error, or only a general one.
pub fn hides_cause(text: &str) -> bool {
    let text = text.trim().trim_end_matches('.');
    let message = match text.split_once(':') {
        Some((name, rest)) if is_name(name) => {
            let rest = rest.trim();
            // Aegra repeats the class in the message.
            rest.strip_prefix(name)
                .map_or(rest, |rest| rest.trim_start_matches(':').trim())
        }
        _ => text,
    };
    text.starts_with(LIKELY)
        || message.is_empty()
        || HIDDEN.contains(&message)
        || message == text && names_class(text)
}

/// Returns whether a text can be about the error of a text that hides its cause. Another task's error isn't the cause.
fn may_be_of(text: &str, hidden: &str) -> bool {
    let class = |text: &str| {
        text.split([':', '('])
            .next()
            .and_then(|name| name.rsplit('.').next())
            .map(str::to_string)
    };
    let named = class(text).filter(|name| is_name(name) && names_class(name));
    named.is_none()
        || !is_name(hidden.split(':').next().unwrap_or_default())
        || named == class(hidden)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

/// Returns whether a word is one that only classes of errors end with.
fn names_class(word: &str) -> bool {
    is_name(word)
        && ["Error", "Exception", "Timeout"]
            .iter()
            .any(|end| word.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Option<String> {
        cause(texts.iter().map(|text| text.to_string()))
    }

    #[test]
    fn the_most_specific_text_is_the_cause() {
        let hidden = "ConnectionError: An internal error occurred";
        let real = "ConnectionError: Error code: 529 - Overloaded";
        for (texts, wanted) in [
            (&[hidden, real] as &[&str], real),
            (&[real, hidden], real),
            // Aegra: its event, its run and its task.
            (
                &[
                    "ConnectionError: execution failed",
                    "Error code: 529 - Overloaded",
                    real,
                ],
                real,
            ),
            // Of several tasks, only one of the error's class.
            (&[hidden, "ValueError: other", real], real),
            (&[hidden, "ValueError: other"], hidden),
            (
                &[
                    "RateLimited: An internal error occurred",
                    "RateLimited: slow down",
                ],
                "RateLimited: slow down",
            ),
            (
                &["httpx.ConnectError", "ConnectError: refused"],
                "ConnectError: refused",
            ),
            (
                &["ValueError: first", "KeyError: second"],
                "ValueError: first",
            ),
            (
                &[
                    "None of its steps failed. It most likely",
                    "GraphRecursionError: of 1",
                ],
                "GraphRecursionError: of 1",
            ),
            (
                &["", " ", "An internal error occurred"],
                "An internal error occurred",
            ),
            (&["Error: boom", "Internal error"], "Error: boom"),
        ] {
            assert_eq!(of(texts).as_deref(), Some(wanted), "{texts:?}");
        }
        assert_eq!(of(&["", " "]), None);
    }

    #[test]
    fn general_sentences_hide_the_cause() {
        for text in [
            "",
            "ValueError",
            "ValueError: ",
            "ConnectionError: ConnectionError: execution failed",
            "An internal error occurred",
            "x.Y: An internal error occurred.",
        ] {
            assert!(hides_cause(text), "{text}");
        }
        for text in [
            "boom",
            "ValueError: An internal error occurred in f",
            "Error code: 529",
            "the node failed",
        ] {
            assert!(!hides_cause(text), "{text}");
        }
    }
}
