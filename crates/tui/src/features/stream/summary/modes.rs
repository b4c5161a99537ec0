//! One-line summaries of all modes except messages: states, writes, tasks, checkpoints and traces.

use super::one_line::OneLine;
use crate::widgets::line::Tone;
use runtail_core::text;
use runtail_stream::Unwrapped;
use runtail_stream::projection::{Peek, Progress, Snapshot};
use std::borrow::Cow;

/// Maximum number of state keys in a line.
const MAX_KEYS: usize = 40;
/// Columns of a progress bar.
const BAR: usize = 10;

fn non_empty_text(json: Option<Peek<'_>>) -> Option<Cow<'_, str>> {
    json.and_then(Peek::string).filter(|word| !word.is_empty())
}

/// Returns a field if it exists and is not empty.
fn non_empty(json: Option<Peek<'_>>) -> Option<Peek<'_>> {
    json.filter(|json| !json.is_null() && json.text() != "[]" && json.text() != "{}")
}

fn size(json: Peek<'_>) -> String {
    let size = text::bytes(json.text().len() as u64);
    if json.is_whole() {
        size
    } else {
        format!("over {size}")
    }
}

/// Summarizes `metadata`: a run starts, is retried or is done.
pub(crate) fn metadata(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [run, attempt, status] = json.pick(["run_id", "attempt", "status"]);
    let Some(run) = non_empty_text(run) else {
        return super::any_value(out, json);
    };
    out.push(Tone::Plain, &format!("run {}", text::short_id(&run)));
    match non_empty_text(status) {
        // The server does not report the outcome.
        Some(status) if status == "run_done" => out.push(Tone::Plain, " ended"),
        Some(status) => out.dot().push(Tone::Plain, &status),
        None => out,
    };
    if let Some(attempt) = attempt {
        out.dot()
            .push(Tone::Dim, &format!("attempt {}", attempt.text()));
    }
    true
}

/// Summarizes a snapshot of the thread: its parts and their sizes.
pub(crate) fn snapshot(out: &mut OneLine, json: Peek<'_>) -> bool {
    out.push(Tone::Dim, "loaded");
    for (part, loaded) in json.fields() {
        match &*part {
            "missing" => {
                let missing: Vec<_> = loaded.fields().map(|(part, _)| part).collect();
                if !missing.is_empty() {
                    out.dot()
                        .push(Tone::Plain, &format!("without {}", missing.join(", ")));
                }
            }
            _ if loaded.is_null() => {}
            part => {
                out.dot()
                    .push(Tone::Plain, part)
                    .push(Tone::Dim, &format!(" {}", size(loaded)));
            }
        }
    }
    true
}

/// Summarizes a state: first the changed keys, then the unchanged ones.
pub(crate) fn values(out: &mut OneLine, payload: &Unwrapped<'_>, state: Option<&Snapshot>) -> bool {
    if non_empty(payload.interrupts).is_some() {
        interrupts(out, payload.interrupts);
    }
    keys(out, payload.json, state)
}

fn keys(out: &mut OneLine, json: Peek<'_>, state: Option<&Snapshot>) -> bool {
    // A state that is not an object has no keys to list.
    if json.is_object() {
        if let Some(list) = non_empty(json.get("__interrupt__")) {
            interrupts(out, Some(list));
        }
    } else {
        return super::any_value(out, json);
    }
    let Some(state) = state else {
        for (i, (key, value)) in json
            .fields()
            .filter(|(key, _)| key != "__interrupt__")
            .take(MAX_KEYS)
            .enumerate()
        {
            out.item(i == 0)
                .push(Tone::Strong, &key)
                .push(Tone::Dim, &format!(" {}", size(value)));
        }
        if json.text() == "{}" {
            out.push(Tone::Dim, "empty");
        }
        return true;
    };
    let changed = state.keys.iter().filter(|key| key.changed);
    for (i, key) in changed.take(MAX_KEYS).enumerate() {
        out.item(i == 0)
            .push(Tone::Strong, &key.name)
            .push(Tone::Dim, &format!(" {}", text::bytes(key.size as u64)));
    }
    if !state.removed.is_empty() {
        out.dot().push(
            Tone::Plain,
            &format!("removed {}", state.removed.join(", ")),
        );
    }
    let same: Vec<&str> = state
        .keys
        .iter()
        .filter(|key| !key.changed)
        .take(MAX_KEYS)
        .map(|key| &*key.name)
        .collect();
    if !same.is_empty() {
        out.dot()
            .push(Tone::Dim, &format!("unchanged {}", same.join(", ")));
    }
    if state.keys.is_empty() && state.interrupts == 0 {
        out.push(Tone::Dim, "empty");
    }
    true
}

fn interrupts(out: &mut OneLine, list: Option<Peek<'_>>) {
    out.dot().push(Tone::Waiting, "◆ interrupt");
    for interrupt in list.into_iter().flat_map(Peek::items) {
        if let Some(value) = interrupt.get("value") {
            out.push(Tone::Plain, " ").value(value);
        }
    }
}

/// Summarizes `updates`: each node with what it wrote.
pub(crate) fn updates(out: &mut OneLine, payload: &Unwrapped<'_>) -> bool {
    if let Some(node) = &payload.node {
        wrote(out, node, payload.json);
        return true;
    }
    if payload.enveloped || !payload.json.is_object() {
        return super::any_value(out, payload.json);
    }
    for (node, written) in payload.json.fields() {
        if out.is_full() {
            break;
        }
        if node == "__interrupt__" && written.text() == "[]" {
            out.dot()
                .push(Tone::Waiting, "◆ interrupt")
                .push(Tone::Dim, " at a breakpoint before or after a node");
        } else if node == "__interrupt__" {
            interrupts(out, Some(written));
        } else {
            wrote(out, &node, written);
        }
    }
    true
}

fn wrote(out: &mut OneLine, node: &str, written: Peek<'_>) {
    out.dot().push(Tone::label(node), node);
    let is_empty = written.is_null() || written.text() == "{}";
    out.push(Tone::Dim, if is_empty { " " } else { " → " });
    content(out, written);
}

/// Adds what a node wrote.
pub(crate) fn content(out: &mut OneLine, written: Peek<'_>) {
    if written.is_null() || written.text() == "{}" {
        out.push(Tone::Dim, "wrote nothing");
        return;
    }
    if written.is_list() {
        let count = written.items().count();
        out.push(
            Tone::Dim,
            &format!(
                "{count}{} writes ",
                if written.is_whole() { "" } else { "+" }
            ),
        );
    }
    out.value(written);
}

/// Adds the questions of an interrupted graph.
pub(crate) fn questions(out: &mut OneLine, list: Peek<'_>) {
    for interrupt in list.items() {
        out.dot().value(interrupt.get("value").unwrap_or(interrupt));
    }
    if out.line.left.is_empty() {
        out.push(Tone::Dim, "at a breakpoint before or after a node");
    }
}

/// Summarizes `tasks`: a start or an end.
pub(crate) fn task(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [name, input, triggers, result, error, interrupts] =
        json.pick(["name", "input", "triggers", "result", "error", "interrupts"]);
    let Some(name) = non_empty_text(name) else {
        return super::any_value(out, json);
    };
    let (glyph, tone, verb) = match (
        non_empty(error),
        non_empty(interrupts),
        input.or(triggers),
        result,
    ) {
        (Some(_), ..) => ("✗ ", Tone::Bad, " failed"),
        (_, Some(_), ..) => ("◆ ", Tone::Waiting, " interrupted"),
        (.., Some(_), None) => ("▸ ", Tone::Dim, " starts"),
        _ => ("● ", Tone::Good, " done"),
    };
    out.push(tone, glyph)
        .push(Tone::label(&name), &name)
        .push(Tone::Plain, verb);
    if let Some(error) = non_empty(error) {
        out.dot().value(error);
    } else if let Some(list) = non_empty(interrupts) {
        questions(out, list);
    } else if verb == " starts" {
        let by: Vec<Cow<'_, str>> = triggers
            .into_iter()
            .flat_map(Peek::items)
            .filter_map(Peek::string)
            .collect();
        if !by.is_empty() {
            out.dot().push(Tone::Dim, &format!("by {}", by.join(", ")));
        }
    } else if let Some(result) = non_empty(result) {
        out.dot().value(result);
    }
    true
}

/// Summarizes `checkpoints`: the step, its source and the next nodes.
pub(crate) fn checkpoint(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [metadata, next, values, step, source, tasks] =
        json.pick(["metadata", "next", "values", "step", "source", "tasks"]);
    let [inner_step, inner_source] = metadata.map_or([None; 2], |m| m.pick(["step", "source"]));
    // JavaScript servers send only the checkpoint's own fields.
    let (step, source) = (inner_step.or(step), inner_source.or(source));
    if let Some(step) = step {
        out.push(Tone::Plain, &format!("step {}", step.text()));
    }
    if let Some(source) = non_empty_text(source) {
        out.dot().push(Tone::Plain, &source);
    }
    if let Some(next) = next {
        let next: Vec<Cow<'_, str>> = next.items().filter_map(Peek::string).collect();
        out.dot().push(
            Tone::Dim,
            if next.is_empty() {
                "no next node"
            } else {
                "next "
            },
        );
        for (i, node) in next.iter().enumerate() {
            out.push(Tone::Dim, if i > 0 { ", " } else { "" })
                .push(Tone::label(node), node);
        }
    }
    for task in tasks.into_iter().flat_map(Peek::items) {
        if let [Some(name), error, interrupts] = task.pick(["name", "error", "interrupts"])
            && let Some(name) = name.string()
        {
            match (non_empty(error), non_empty(interrupts)) {
                (Some(error), _) => out
                    .dot()
                    .push(Tone::Bad, "✗ ")
                    .push(Tone::Plain, &format!("{name} "))
                    .value(error),
                (None, Some(_)) => {
                    out.dot()
                        .push(Tone::Waiting, "◆ ")
                        .push(Tone::Plain, &format!("{name} interrupted"));
                }
                (None, None) => {}
            }
        }
    }
    if let Some(values) = values {
        out.dot()
            .push(Tone::Dim, &format!("state {}", size(values)));
    }
    !out.line.left.is_empty() || super::any_value(out, json)
}

/// Summarizes `debug`: a checkpoint, a task or its result, with the step.
pub(crate) fn debug(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [step, kind, payload] = json.pick(["step", "type", "payload"]);
    let (Some(kind), Some(payload)) = (non_empty_text(kind), payload) else {
        return super::any_value(out, json);
    };
    match &*kind {
        "checkpoint" => {
            out.push(Tone::Dim, "checkpoint");
            let before = out.line.left.len();
            checkpoint(out.dot(), payload);
            // Fields after a large state may not have been read.
            if out.line.left.len() == before + 1 || payload.get("metadata").is_none() {
                out.push(
                    Tone::Dim,
                    &step.map_or(String::new(), |step| format!(" · step {}", step.text())),
                );
            }
            true
        }
        "task" | "task_result" => {
            if let Some(step) = step {
                out.push(Tone::Plain, &format!("step {}", step.text()))
                    .dot();
            }
            task(out, payload)
        }
        other => {
            out.push(Tone::Plain, other).dot();
            super::any_value(out, payload)
        }
    }
}

/// Summarizes `events`: the traced event, its depth and its data.
pub(crate) fn traced(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [event, name, data, parents] = json.pick(["event", "name", "data", "parent_ids"]);
    let Some(event) = non_empty_text(event) else {
        return super::any_value(out, json);
    };
    out.push(Tone::Plain, &event);
    if let Some(name) = non_empty_text(name) {
        out.push(Tone::Plain, " ").push(Tone::label(&name), &name);
    }
    let depth = parents.map_or(0, |list| list.items().count());
    if depth > 0 {
        out.dot().push(Tone::Dim, &format!("depth {depth}"));
    }
    let [chunk, output, input] = data.map_or([None; 3], |d| d.pick(["chunk", "output", "input"]));
    if let Some(value) = non_empty(chunk.or(output).or(input)) {
        out.dot().value(value);
    }
    true
}

/// Summarizes `state_update`, a manual edit of a thread's state.
pub(crate) fn state_update(out: &mut OneLine, json: Peek<'_>, state: Option<&Snapshot>) -> bool {
    let [thread, update] = json.pick(["thread_id", "state"]);
    let Some(update) = update else {
        return super::any_value(out, json);
    };
    if let Some(thread) = non_empty_text(thread) {
        out.push(Tone::Dim, &format!("thread {}", text::short_id(&thread)));
    }
    match update.get("values") {
        Some(values) => keys(out, values, state),
        None => super::any_value(out.dot(), update),
    }
}

/// Summarizes `lifecycle` of the newer format.
pub(crate) fn lifecycle(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [event, graph, error] = json.pick(["event", "graph_name", "error"]);
    let Some(event) = non_empty_text(event) else {
        return super::any_value(out, json);
    };
    let (glyph, tone) = match &*event {
        "running" | "started" => ("◐ ", Tone::Moving),
        "completed" => ("● ", Tone::Good),
        "failed" => ("✗ ", Tone::Bad),
        "interrupted" => ("◆ ", Tone::Waiting),
        _ => ("? ", Tone::Dim),
    };
    out.push(tone, glyph);
    if let Some(graph) = non_empty_text(graph) {
        out.push(Tone::label(&graph), &graph).push(Tone::Plain, " ");
    }
    out.push(Tone::Plain, &event);
    if let Some(error) = non_empty(error) {
        out.dot().value(error);
    }
    true
}

/// Summarizes `input.requested`, an interrupt of the newer format.
pub(crate) fn input_requested(out: &mut OneLine, json: Peek<'_>) -> bool {
    out.push(Tone::Waiting, "◆ interrupt ")
        .value(json.get("payload").unwrap_or(json));
    true
}

/// Summarizes `error`: its kind and message, or plain text.
pub(crate) fn error(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [kind, message] = json.pick(["error", "message"]);
    match (non_empty_text(kind), non_empty_text(message)) {
        (Some(kind), Some(message)) => {
            out.push(Tone::Bad, &kind)
                .push(Tone::Plain, &format!(": {message}"));
        }
        _ => out.value(json),
    }
    true
}

/// Summarizes a custom event: its progress as a bar with its numbers, then its data.
pub(crate) fn custom(out: &mut OneLine, json: Peek<'_>) -> bool {
    if let Some(progress) = Progress::of(json) {
        let full = (progress.part() * BAR as f64).round() as usize;
        out.push(Tone::Good, &"█".repeat(full));
        out.push(Tone::Dim, &"·".repeat(BAR.saturating_sub(full)));
        let numbers = match progress {
            Progress::Part(part) => format!("{:.0}%", part * 100.0),
            Progress::Count(done, total) => {
                format!("{} of {}", text::count(done), text::count(total))
            }
        };
        out.push(Tone::Plain, &format!(" {numbers:>4}  "));
    }
    out.value(json);
    true
}
