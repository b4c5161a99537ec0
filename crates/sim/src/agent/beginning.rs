//! Determines how a run starts, from its parameters and the state of its thread.

use super::exec::{Answers, Begin, Continue, NO_INPUT, Start};
use crate::agent::prelude::*;

/// Returns the start of the run: its input, an answer, or a checkpoint.
pub fn beginning(agent: &Agent, run: &Run) -> Start {
    let kwargs = &run.kwargs;
    let asked = kwargs["config"]["configurable"]["checkpoint_id"].as_str();
    let memory = agent.memory();
    let thread = memory.threads.get(&run.thread);
    let base = thread.and_then(|thread| thread.checkpoint(asked)).cloned();
    let newest = thread
        .and_then(|thread| thread.checkpoint(None))
        .map(|last| &last.id);
    let superseded = base.as_ref().is_some_and(|base| Some(&base.id) != newest);
    let command = &kwargs["command"];
    let begin = match fields_of(command).next() {
        None if !kwargs["input"].is_null() => Begin::Input(kwargs["input"].clone()),
        None => continued(&Value::Null, base.as_ref(), asked.is_some(), superseded),
        Some(_) => continued(command, base.as_ref(), asked.is_some(), superseded),
    };
    let limit = kwargs["config"]["recursion_limit"].as_i64();
    Start {
        base,
        begin,
        hold_before: names(&kwargs["interrupt_before"]),
        hold_after: names(&kwargs["interrupt_after"]),
        limit: limit.unwrap_or(25).max(1),
    }
}

/// One name, or a list of them.
fn names(value: &Value) -> Vec<String> {
    value
        .as_str()
        .map_or_else(|| texts_of(value), |one| vec![one.to_owned()])
}

fn continued(
    command: &Value,
    base: Option<&Checkpoint>,
    addressed: bool,
    superseded: bool,
) -> Begin {
    let resume = &command["resume"];
    let goto = names(&command["goto"]);
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
