//! Large texts stored as deltas to newer ones. Used for older snapshots of a thread.

use crate::Seq;
use crate::log::chunk::common;
use std::sync::Arc;

/// The difference between a text and a newer text, its base.
#[derive(Debug)]
pub(crate) struct Delta {
    /// The position of the event that contains the base.
    pub base: Seq,
    /// The text before the values. Stored in full, because the thread's record and its runs change with each snapshot.
    head: Box<str>,
    /// Lengths of the prefix and suffix shared with the base's values.
    shared: (usize, usize),
    /// The text between the shared parts.
    own: Box<str>,
    /// Size of the full text, in bytes.
    pub len: usize,
}

impl Delta {
    /// Returns the delta, unless it saves less than half of the text.
    pub fn of(text: &str, base: Seq, base_text: &str) -> Option<Delta> {
        let (head, values) = split(text);
        let (_, base_values) = split(base_text);
        let (first, last) = common(base_values, values);
        let own = &values[first..values.len() - last];
        let saves = head.len() + own.len() <= text.len() / 2;
        saves.then(|| Delta {
            base,
            head: head.into(),
            shared: (first, last),
            own: own.into(),
            len: text.len(),
        })
    }

    /// Rebuilds the text from its base.
    pub fn text(&self, base_text: &str) -> Option<Arc<str>> {
        let (_, values) = split(base_text);
        let (first, last) = self.shared;
        let mut text = String::with_capacity(self.len);
        text.push_str(&self.head);
        text.push_str(values.get(..first)?);
        text.push_str(&self.own);
        text.push_str(values.get(values.len().checked_sub(last)?..)?);
        Some(text.into())
    }

    /// Returns the approximate memory size in bytes.
    pub fn weight(&self) -> usize {
        size_of::<Delta>() + self.head.len() + self.own.len()
    }
}

/// Splits a text before its first field `values`.
fn split(text: &str) -> (&str, &str) {
    text.split_at(memchr::memmem::find(text.as_bytes(), b"\"values\":").unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grown_state_is_stored_as_a_small_delta() {
        let state = |run: &str, messages: usize| {
            let list = (0..messages)
                .map(|n| format!(r#"{{"id":"{n}","content":"wörd"}}"#))
                .collect::<Vec<_>>();
            format!(
                r#"{{"thread":{{"at":"{run}"}},"state":{{"values":{{"messages":[{}],"é":1}}}}}}"#,
                list.join(",")
            )
        };
        let (old, new) = (state("a", 1000), state("b", 1010));
        let delta = Delta::of(&old, Seq(9), &new).unwrap();
        assert_eq!(delta.text(&new).as_deref(), Some(&*old));
        assert!(delta.weight() < 300, "{}", delta.weight());
        // A different base.
        assert_eq!(delta.text("short"), None);
        assert!(Delta::of(&old, Seq(9), "nothing in common").is_none());
        // The texts differ inside a multi-byte character.
        let delta = Delta::of(
            "{\"values\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaé\"}",
            Seq(1),
            "{\"values\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaè\"}",
        );
        assert_eq!(
            delta
                .unwrap()
                .text("{\"values\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaè\"}")
                .as_deref(),
            Some("{\"values\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaé\"}")
        );
    }
}
