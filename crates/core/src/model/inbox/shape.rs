//! What threads of the inbox have in common that need the same: their questions without the details, or their error without ids.

use super::{InboxCause, InboxThread};

/// Characters and digits from which a word is taken for an id.
const ID: (usize, usize) = (8, 4);

impl InboxThread {
    /// Returns what threads that need the same have in common, in one line: `Approve this payment?`. Details of a question and ids
    /// are left out, because they differ from thread to thread.
    pub fn shape(&self) -> String {
        let questions = self.questions.iter();
        let shape = match self.cause {
            _ if !self.questions.is_empty() => questions
                .map(|asked| asked.title())
                .collect::<Vec<_>>()
                .join(" · "),
            // The evidence contains times, which change with each poll.
            Some(InboxCause::Stuck) => return String::new(),
            _ => self.needs_in_words(),
        };
        without_ids(&shape)
    }
}

/// Replaces the words of a text that are ids: long ones with several digits.
fn without_ids(said: &str) -> String {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let mut shape = String::with_capacity(said.len());
    let mut rest = said;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let digits = word.chars().filter(char::is_ascii_digit).count();
        match word.len() >= ID.0 && digits >= ID.1 {
            true => shape.push('…'),
            false => shape.push_str(word),
        }
        let next = after.find(is_of_word).unwrap_or(after.len());
        shape.push_str(&after[..next]);
        rest = &after[next..];
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::asking;
    use serde_json::{Value, json};

    fn shape(values: &[Value]) -> String {
        let thread = InboxThread {
            cause: Some(InboxCause::Question),
            questions: values.iter().cloned().map(asking).collect(),
            ..InboxThread::default()
        };
        thread.shape()
    }

    #[test]
    fn questions_that_differ_in_details_have_one_shape() {
        let payment = |to: &str| json!({"question": "Approve this payment?", "to": to});
        assert_eq!(shape(&[payment("Ana")]), "Approve this payment?");
        assert_eq!(
            shape(&[payment("Ana")]),
            shape(&[payment("Hoffmann & Söhne GmbH")])
        );
        let call =
            |name: &str, n: u8| json!({"action_requests": [{"name": name, "args": {"n": n}}]});
        assert_eq!(
            shape(&[call("send_email", 1)]),
            shape(&[call("send_email", 2)])
        );
        assert_ne!(
            shape(&[call("send_email", 1)]),
            shape(&[call("delete_file", 1)])
        );
        assert_ne!(
            shape(&[call("send_email", 1)]),
            shape(&[call("send_email", 1), call("send_email", 2)])
        );
        // Without a text, the names of the fields are what is asked.
        assert_eq!(
            shape(&[json!({"amount": 1})]),
            shape(&[json!({"amount": 2})])
        );
        assert_ne!(shape(&[json!({"amount": 1})]), shape(&[json!({"name": 1})]));
        for blank in [[Value::Null], [json!("")], [json!({})], [json!([1])]] {
            assert!(!shape(&blank).is_empty(), "{blank:?}");
        }
    }

    #[test]
    fn errors_that_differ_in_ids_have_one_shape() {
        let shape = |detail: &str| {
            let thread = InboxThread {
                cause: Some(InboxCause::Error),
                detail: detail.into(),
                ..InboxThread::default()
            };
            thread.shape()
        };
        let limited = |id: &str| {
            shape(&format!(
                "Error code: 429 - quota of gpt-5 exceeded (request {id})"
            ))
        };
        assert_eq!(limited("req_011CSHoEeqs5"), limited("req_022CSHoE1234"));
        assert_eq!(
            limited("req_011CSHoEeqs5"),
            "Error code: 429 - quota of gpt-5 exceeded (request …)"
        );
        assert_ne!(shape("Error code: 429"), shape("Error code: 500"));
        assert_ne!(shape("model gpt-4o-mini"), shape("model gpt-4o-nano"));
        assert_eq!(shape(""), "The server doesn't say why");
        assert_eq!(shape("支払い エラー"), "支払い エラー");
    }
}
