//! Determines how a run starts, from its parameters and the state of its thread.

use super::Agent;
use super::exec::{Answers, Begin, Continue, NO_INPUT, Start, Stop};
use super::state::{Checkpoint, Run};
use crate::Dialect;
use serde_json::{Value, json};

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
        Some(command) => continued(
            agent.dialect,
            command,
            base.as_ref(),
            asked.is_some(),
            superseded,
        ),
        None if kwargs["input"].is_null() => continued(
            agent.dialect,
            &Value::Null,
            base.as_ref(),
            asked.is_some(),
            superseded,
        ),
        None => Begin::Input(kwargs["input"].clone()),
    };
    let names = |value: &Value| match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(list) => list
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    // Aegra stores them in a place that LangGraph does not read.
    let breakpoints = |key: &str| {
        if agent.dialect == Dialect::Aegra {
            Vec::new()
        } else {
            names(&kwargs[key])
        }
    };
    Start {
        base,
        begin,
        hold_before: breakpoints("interrupt_before"),
        hold_after: breakpoints("interrupt_after"),
        limit: kwargs["config"]["recursion_limit"]
            .as_i64()
            .unwrap_or(25)
            .max(1),
    }
}

fn continued(
    dialect: Dialect,
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
    let javascript = dialect == Dialect::JavaScript;
    // JavaScript treats every falsy answer as none.
    let falsy = [json!(false), json!(0), json!("")].contains(resume);
    let unanswered = resume.is_null() || (javascript && falsy);
    if command.is_object() && unanswered && goto.is_empty() && !command["update"].is_object() {
        let stop = if javascript {
            Stop::failed("EmptyInputError", "Received empty Command input")
        } else {
            Stop::failed("UnboundLocalError", "An internal error occurred")
        };
        return Begin::Fail(stop);
    }
    if command.is_object() && base.is_none() {
        if javascript {
            return Begin::Nothing;
        }
        return Begin::FailInput(("TypeError".into(), NO_INPUT.into()));
    }
    // Without an answer, a run at a checkpoint's id is time travel: it forks, and questions are asked again.
    let travels = addressed && resume.is_null();
    let edited = base.is_some_and(|base| matches!(base.source(), "update" | "fork"));
    // At its newest checkpoint, JavaScript runs all tasks again with the answers that it stored for them.
    let keeps_answers = javascript && travels && !superseded && !edited;
    Begin::Continue(Continue {
        fork: travels && !keeps_answers && (superseded || !edited),
        rerun: (addressed && superseded) || travels,
        forget: travels && !keeps_answers,
        answers: Answers::read(resume),
        update: command["update"].clone(),
        goto,
    })
}
