//! Determines how a run starts, from its parameters and the state of its thread.

use super::Agent;
use super::exec::{Answers, Begin, Continue, NO_INPUT, Start, Stop};
use super::state::{Checkpoint, Run};
use serde_json::Value;

/// Returns the start of the run: its input, an answer, or a checkpoint.
pub fn beginning(agent: &Agent, run: &Run) -> Start {
    let kwargs = &run.kwargs;
    let asked = kwargs["config"]["configurable"]["checkpoint_id"].as_str();
    let (base, superseded) = {
        let memory = agent.memory();
        let thread = memory.threads.get(&run.thread);
        let base = thread.and_then(|thread| thread.checkpoint(asked)).cloned();
        let newest = thread
            .and_then(|thread| thread.checkpoints.last())
            .map(|last| &last.id);
        let superseded = base.as_ref().is_some_and(|base| Some(&base.id) != newest);
        (base, superseded)
    };
    let command = Some(&kwargs["command"])
        .filter(|command| command.as_object().is_some_and(|map| !map.is_empty()));
    let begin = match command {
        None if !kwargs["input"].is_null() => Begin::Input(kwargs["input"].clone()),
        command => continued(
            command.unwrap_or(&Value::Null),
            base.as_ref(),
            asked.is_some(),
            superseded,
        ),
    };
    let names = |value: &Value| match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(list) => list
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    Start {
        base,
        begin,
        hold_before: names(&kwargs["interrupt_before"]),
        hold_after: names(&kwargs["interrupt_after"]),
        limit: kwargs["config"]["recursion_limit"]
            .as_i64()
            .unwrap_or(25)
            .max(1),
    }
}

fn continued(
    command: &Value,
    base: Option<&Checkpoint>,
    addressed: bool,
    superseded: bool,
) -> Begin {
    let resume = &command["resume"];
    let goto = match &command["goto"] {
        Value::String(node) => vec![node.clone()],
        Value::Array(nodes) => nodes
            .iter()
            .filter_map(|node| node.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    if command.is_object() && resume.is_null() && goto.is_empty() && !command["update"].is_object()
    {
        let stop = Stop::failed("UnboundLocalError", "An internal error occurred");
        return Begin::Fail(stop);
    }
    if command.is_object() && base.is_none() {
        return Begin::FailInput(("TypeError".into(), NO_INPUT.into()));
    }
    // Without an answer, a run at a checkpoint's id is time travel: it forks, and questions are asked again.
    let travels = addressed && resume.is_null();
    let edited = base.is_some_and(|base| matches!(base.source(), "update" | "fork"));
    Begin::Continue(Continue {
        fork: travels && (superseded || !edited),
        rerun: (addressed && superseded) || travels,
        forget: travels,
        answers: Answers::read(resume),
        update: command["update"].clone(),
        goto,
    })
}
