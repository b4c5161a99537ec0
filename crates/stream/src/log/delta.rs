//! Large texts stored as deltas to newer ones. Used for older snapshots of a thread.

use crate::Seq;
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

/// Returns the lengths of the common prefix and suffix of two texts. They end at character boundaries and don't
/// overlap.
pub(crate) fn common(a: &str, b: &str) -> (usize, usize) {
    let max = a.len().min(b.len());
    let mut head = equal_bytes(
        a.as_bytes()[..max].chunks(WORD),
        b.as_bytes()[..max].chunks(WORD),
        false,
    );
    while !(a.is_char_boundary(head) && b.is_char_boundary(head)) {
        head -= 1;
    }
    let max = max - head;
    let (end_a, end_b) = (
        &a.as_bytes()[a.len() - max..],
        &b.as_bytes()[b.len() - max..],
    );
    let mut tail = equal_bytes(end_a.rchunks(WORD), end_b.rchunks(WORD), true);
    while !(a.is_char_boundary(a.len() - tail) && b.is_char_boundary(b.len() - tail)) {
        tail -= 1;
    }
    (head, tail)
}

/// Number of bytes compared per step.
const WORD: usize = 32;

/// Counts the equal bytes before the first difference.
fn equal_bytes<'a>(
    a: impl Iterator<Item = &'a [u8]>,
    b: impl Iterator<Item = &'a [u8]>,
    from_end: bool,
) -> usize {
    let mut count = 0;
    for (a, b) in a.zip(b) {
        if a == b {
            count += a.len();
            continue;
        }
        let mut pairs = a.iter().zip(b);
        let differs = |(a, b): (&u8, &u8)| a != b;
        return count
            + match from_end {
                true => pairs.rev().position(differs),
                false => pairs.position(differs),
            }
            .unwrap_or(0);
    }
    count
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
