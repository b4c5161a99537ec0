//! What a stream may have missed: messages that it first shows as a part of a state, or in the middle, are older than the event.

use super::message::Role;
use super::message_builder::step_of;
use super::messages::{EventContext, Messages};
use super::starts::Starts;
use crate::protocol::{MessageOrigin, MessagePayload};
use crate::{Item, Namespace, Record};
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
        let step = step_of(origin);
        let first = *self.step.get_or_insert(step.unwrap_or(i64::MAX));
        step.is_none_or(|step| step <= first)
    }
}

impl Messages {
    /// Applies anything that is not an event: after a gap, the stream may continue in the middle of a message.
    pub(super) fn apply_item(&mut self, item: &Item) {
        if let Item::Record(Record::Gap { .. }) = item {
            self.missed.gap();
            self.mark_gap();
            self.starts.gap();
        }
    }

    /// Adds a message whose first tokens may be missing. Returns its index.
    pub(super) fn add_inside(
        &mut self,
        message: &MessagePayload<'_>,
        context: &EventContext,
    ) -> usize {
        let i = self.add(
            message.id.some(),
            message.role(),
            &EventContext {
                at: None,
                ..context.clone()
            },
        );
        if let Some(message) = self.get_mut(i) {
            message.lacks_start = true;
        }
        i
    }
}

#[cfg(test)]
mod tests {
    use crate::projection::Projections;
    use crate::{Data, Event, Item, Namespace, Record, Seq};
    use jiff::Timestamp;
    use serde_json::{Value, json};

    fn at(second: u64) -> Timestamp {
        Timestamp::from_second(i64::try_from(second).unwrap()).unwrap()
    }

    fn gap() -> Item {
        Item::Record(Record::Gap {
            at: at(0),
            why: "joined at 00:00:00; earlier output isn't available".into(),
        })
    }

    /// An event that is received live, at the second of its number.
    fn event(seq: u64, name: &str, data: &Value) -> Item {
        Item::Record(Record::Event(Event {
            seq: Seq(seq),
            at: at(seq),
            conn: 1,
            replayed: false,
            name: name.into(),
            ns: Namespace::default(),
            id: None,
            data: Data::Json(data.to_string().into()),
        }))
    }

    fn token(seq: u64, id: &str, step: i64) -> Item {
        let chunk = json!({"type": "AIMessageChunk", "id": id, "content": "x"});
        event(
            seq,
            "messages",
            &json!([chunk, {"langgraph_node": "chat", "langgraph_step": step}]),
        )
    }

    fn state(seq: u64, ids: &[&str]) -> Item {
        let message = |id: &&str| json!({"type": if id.starts_with('h') { "human" } else { "ai" }, "id": id, "content": id});
        event(
            seq,
            "values",
            &json!({"messages": ids.iter().map(message).collect::<Vec<_>>()}),
        )
    }

    fn applied(items: &[Item]) -> Projections {
        let mut projections = Projections::default();
        items.iter().for_each(|item| projections.apply(item));
        projections
    }

    /// When each message started, as the second.
    fn starts(projections: &Projections) -> Vec<(String, Option<i64>)> {
        let start =
            |message: &crate::projection::Message| message.started_at.map(Timestamp::as_second);
        let id = |message: &crate::projection::Message| {
            message.id.as_deref().unwrap_or_default().to_string()
        };
        projections
            .messages
            .items()
            .iter()
            .map(|message| (id(message), start(message)))
            .collect()
    }

    #[test]
    fn messages_of_a_run_that_was_joined_late_have_no_time_of_joining() {
        let late = applied(&[
            gap(),
            token(5, "a1", 3),
            token(6, "a1", 3),
            state(7, &["h0", "a0", "h1", "a1"]),
            token(8, "a2", 4),
        ]);
        let none = |id: &str| (id.to_string(), None);
        let some = |id: &str, at: i64| (id.to_string(), Some(at));
        assert_eq!(
            starts(&late),
            [
                none("a1"),
                none("h0"),
                none("a0"),
                none("h1"),
                some("a2", 8)
            ]
        );
        let joined = &late.messages.items()[0];
        assert_eq!(
            (joined.tokens_per_second(), joined.first_token()),
            (None, None)
        );
        assert_eq!(late.metrics.runs().last().unwrap().to_first_token(), None);
        // A message of a later step began in the stream, even where no event marks the step.
        let later = applied(&[
            gap(),
            token(5, "a1", 3),
            token(6, "b", 3),
            token(7, "a2", 4),
        ]);
        assert_eq!(starts(&later), [none("a1"), none("b"), some("a2", 7)]);
        // The next run is read from its beginning.
        let run = event(8, "metadata", &json!({"run_id": "r", "attempt": 1}));
        let next = applied(&[gap(), token(5, "a1", 3), run, token(9, "a2", 1)]);
        assert_eq!(starts(&next), [none("a1"), some("a2", 9)]);
    }

    #[test]
    fn older_messages_of_a_first_state_have_no_time() {
        let run = event(1, "metadata", &json!({"run_id": "r", "attempt": 1}));
        let read = applied(&[
            run,
            state(2, &["h0", "a0", "h1"]),
            state(3, &["h0", "a0", "h1", "a1"]),
        ]);
        let start = |id: &str, at: Option<i64>| (id.to_string(), at);
        assert_eq!(
            starts(&read),
            [
                start("h0", None),
                start("a0", None),
                start("h1", Some(2)),
                start("a1", Some(3))
            ]
        );
        let runs: Vec<_> = read
            .messages
            .items()
            .iter()
            .map(|message| message.run_id.as_deref())
            .collect();
        assert_eq!(runs, [None, None, Some("r"), Some("r")]);
    }
}
