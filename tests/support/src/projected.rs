//! Projections of events, and messages as lines.

use runtail_stream::projection::{Message, Projections};
use runtail_stream::{Event, Item, Record};

/// Applies events to new projections.
pub fn project(events: impl IntoIterator<Item = Event>) -> Projections {
    let mut projections = Projections::default();
    for event in events {
        projections.apply(&Item::Record(Record::Event(event)));
    }
    projections
}

/// Formats each message as `role node@ns: text (calls) [usage] …`.
pub fn shown(messages: &[Message]) -> Vec<String> {
    let show = |m: &Message| {
        let calls: Vec<_> = m
            .tool_calls
            .iter()
            .map(|c| format!(" {}#{}{}", c.name, c.id, c.args))
            .collect();
        let usage = m
            .usage
            .map(|u| format!(" {}+{}={}", u.input, u.output, u.total))
            .unwrap_or_default();
        let ns: Vec<_> = m.ns.iter().map(|s| s.split(':').next().unwrap()).collect();
        let node = m.node.as_deref().unwrap_or("-");
        let open = if m.complete { "" } else { " …" };
        let answers = m
            .tool_call_id
            .as_deref()
            .map(|id| format!(" ←{id}"))
            .unwrap_or_default();
        format!(
            "{:?} {}@{}: {}{}{}{}{}",
            m.role,
            node,
            ns.join("/"),
            m.text,
            calls.concat(),
            answers,
            usage,
            open
        )
    };
    messages.iter().map(show).collect()
}
