//! One-line summaries of events, with a renderer for each mode of both server formats. Only the visible part of an
//! event is read, so a 50 MB event costs no more than a token.

mod message;
mod modes;
mod one_line;

use crate::widgets::line::Line;
use one_line::OneLine;
use runtail_stream::projection::{Peek, Snapshot, is_custom};
use runtail_stream::{Data, Event, Unwrapped};

/// Maximum number of bytes of an event that are read.
const MAX_READ: usize = 64 << 10;

/// Returns the payload of an event, as far as it is read; `None` if it is not JSON.
fn unwrapped(event: &Event) -> Option<Unwrapped<'_>> {
    if matches!(event.data, Data::Malformed(_)) {
        return None;
    }
    let mut json = Peek::head(event.data.text(), MAX_READ);
    if matches!(event.data, Data::TooLarge { .. }) {
        json = json.cut();
    }
    Some(Unwrapped::of(&event.name, json).unwrap_or(Unwrapped {
        name: &event.name,
        ns: Vec::new(),
        json,
        enveloped: false,
        node: None,
        interrupts: None,
    }))
}

/// Summarizes an event in about `room` columns. `state` holds the changes, if the event carries a state. Returns `None`
/// for an event without a renderer, whose data is shown as is.
pub fn event(event: &Event, state: Option<&Snapshot>, room: usize) -> Option<Line> {
    let payload = unwrapped(event)?;
    let mut out = OneLine::new(room);
    let (json, into) = (payload.json, &mut out);
    let known = match payload.name {
        "snapshot" if event.is_snapshot() => modes::snapshot(into, json),
        "metadata" => modes::metadata(into, json),
        "values" => modes::values(into, &payload, state),
        "updates" => modes::updates(into, &payload),
        "messages" if payload.enveloped => message::block(into, json),
        "messages" => message::tuple(into, json),
        "messages/partial" => message::list(into, json, true),
        "messages/complete" => message::list(into, json, false),
        "messages/metadata" => message::messages_metadata(into, json),
        "tasks" => modes::task(into, json),
        "checkpoints" => modes::checkpoint(into, json),
        "debug" => modes::debug(into, json),
        "events" => modes::traced(into, json),
        "state_update" => modes::state_update(into, json, state),
        "lifecycle" => modes::lifecycle(into, json),
        "input.requested" => modes::input_requested(into, json),
        "error" => modes::error(into, json),
        "end" => any_value(into, json),
        name if is_custom(name) => modes::custom(into, json),
        _ => false,
    };
    (known && !out.line.left.is_empty()).then(|| out.finish())
}

/// Summarizes what one node wrote with an update, or the questions of a graph that stopped there (`__interrupt__`).
pub fn written(event: &Event, node: &str, room: usize) -> Option<Line> {
    let payload = unwrapped(event)?;
    let written = match (&payload.node, payload.name) {
        (Some(named), _) => Some(payload.json).filter(|_| named == node),
        (None, "tasks") => payload.json.get("result"),
        (None, "debug") => payload.json.get("payload")?.get("result"),
        (None, _) => payload.json.get(node),
    };
    let mut out = OneLine::new(room);
    match node {
        "__interrupt__" => modes::questions(&mut out, written?),
        _ => modes::content(&mut out, written?),
    }
    Some(out.finish())
}

/// Summarizes the result of a task.
pub fn result(json: Peek<'_>, room: usize) -> Line {
    let mut out = OneLine::new(room);
    modes::content(&mut out, json);
    out.finish()
}

/// Summarizes any JSON.
pub fn value(json: Peek<'_>, room: usize) -> Line {
    let mut out = OneLine::new(room);
    out.value(json);
    out.finish()
}

fn any_value(out: &mut OneLine, json: Peek<'_>) -> bool {
    out.value(json);
    true
}

#[cfg(test)]
mod tests;
