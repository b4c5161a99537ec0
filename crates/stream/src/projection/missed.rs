//! What a stream may have missed: messages that it first shows as a part of a state, or in the middle, are older than the event.

use super::message::Role;
use super::starts::Starts;
use crate::Namespace;
use crate::protocol::{MessageOrigin, MessagePayload};
use runtail_core::json::Peek;

/// What may have happened before the next event of a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Missed {
    /// Whether a state was received since the beginning or the last gap.
    has_state: bool,
    /// Whether events of the current run may be missing.
    is_after_gap: bool,
    /// The step of the root graph in which the stream continued after the gap, if known.
    step: Option<i64>,
}

impl Missed {
    /// Applies a gap, such as a late join.
    pub fn gap(&mut self) {
        *self = Missed {
            is_after_gap: true,
            ..Missed::default()
        };
    }

    /// Applies the start of a run: none of its events are missing.
    pub fn run_began(&mut self) {
        self.is_after_gap = false;
    }

    /// Returns how many messages of a state, from its first one on, may be older than the state if they are new. In the first
    /// state of a run, only the user's last messages are its input.
    pub fn earlier(&mut self, messages: &[Peek<'_>]) -> usize {
        let is_input = |raw: &&Peek<'_>| {
            raw.read::<MessagePayload<'_>>()
                .is_some_and(|message| message.role() == Role::Human)
        };
        match (
            std::mem::replace(&mut self.has_state, true),
            self.is_after_gap,
        ) {
            (true, _) => 0,
            (false, true) => messages.len(),
            (false, false) => messages.len() - messages.iter().rev().take_while(is_input).count(),
        }
    }

    /// Returns whether tokens of a new message may be missing: it is the first that is known of its step after a gap.
    pub fn is_inside(
        &mut self,
        starts: &Starts,
        ns: &Namespace,
        origin: &MessageOrigin<'_>,
    ) -> bool {
        if !self.is_after_gap || starts.has_seen(ns, origin) {
            return false;
        }
        let step = origin.root_step();
        let first = *self.step.get_or_insert(step.unwrap_or(i64::MAX));
        step.is_none_or(|step| step <= first)
    }
}

#[cfg(test)]
mod tests {
    use crate::projection::{Message, Projections};
    use crate::tests::{Script, at};
    use crate::{Item, Record};

    /// Returns what is shown of events, received live, which may follow a gap.
    fn applied(is_after_gap: bool, events: &[String]) -> Projections {
        let mut script = Script::default();
        if is_after_gap {
            script.item(Item::Record(Record::Gap {
                at: at(0),
                why: "joined at 00:00:00; earlier output isn't available".into(),
            }));
        }
        script.play(&events.join("\n"));
        script.projections
    }

    fn token(second: u64, id: &str, step: i64) -> String {
        format!(
            r#"{second}s messages [{{"type":"AIMessageChunk","id":"{id}","content":"x"}},{{"langgraph_node":"chat","langgraph_step":{step}}}]"#
        )
    }

    fn state(second: u64, ids: &[&str]) -> String {
        let kind = |id: &str| if id.starts_with('h') { "human" } else { "ai" };
        let message =
            |id: &&str| format!(r#"{{"type":"{}","id":"{id}","content":"{id}"}}"#, kind(id));
        let messages: Vec<String> = ids.iter().map(message).collect();
        format!(
            r#"{second}s values {{"messages":[{}]}}"#,
            messages.join(",")
        )
    }

    fn run(second: u64) -> String {
        format!(r#"{second}s metadata {{"run_id":"r","attempt":1}}"#)
    }

    /// Returns the messages, each with the second of its start.
    fn starts(projections: &Projections) -> String {
        let start = |message: &Message| {
            let second = |start: jiff::Timestamp| (start - at(0)).get_seconds().to_string();
            let start = message.started_at.map_or("-".into(), second);
            format!("{}:{start}", message.id.as_deref().unwrap_or_default())
        };
        let messages = projections.messages.items().iter();
        messages.map(start).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn messages_of_a_run_that_was_joined_late_have_no_time_of_joining() {
        let late = applied(
            true,
            &[
                token(5, "a1", 3),
                token(6, "a1", 3),
                state(7, &["h0", "a0", "h1", "a1"]),
                token(8, "a2", 4),
            ],
        );
        assert_eq!(starts(&late), "a1:- h0:- a0:- h1:- a2:8");
        let joined = &late.messages.items()[0];
        let rates = (joined.tokens_per_second(), joined.first_token());
        assert_eq!(rates, (None, None));
        assert_eq!(late.metrics.runs().last().unwrap().to_first_token(), None);
        // A message of a later step began in the stream, even where no event marks the step.
        let later = [token(5, "a1", 3), token(6, "b", 3), token(7, "a2", 4)];
        assert_eq!(starts(&applied(true, &later)), "a1:- b:- a2:7");
        // The next run is read from its beginning.
        let next = [token(5, "a1", 3), run(8), token(9, "a2", 1)];
        assert_eq!(starts(&applied(true, &next)), "a1:- a2:9");
    }

    #[test]
    fn older_messages_of_a_first_state_have_no_time() {
        let (first, second) = (["h0", "a0", "h1"], ["h0", "a0", "h1", "a1"]);
        let read = applied(false, &[run(1), state(2, &first), state(3, &second)]);
        assert_eq!(starts(&read), "h0:- a0:- h1:2 a1:3");
        let runs = read.messages.items().iter();
        let runs = runs.map(|message| message.run_id.as_deref());
        assert!(runs.eq([None, None, Some("r"), Some("r")]));
    }
}
