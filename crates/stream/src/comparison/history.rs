//! Reads the steps of a thread or a run from the thread's history.

use super::steps::{MAX_STATE, Side, Step, StepKind, StepState, cut};
use jiff::Timestamp;
use runtail_core::json::{self, Fields, Peek};
use runtail_core::model::{RunFacts, StateFacts};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Maximum bytes of a task's result that are parsed.
const MAX_RESULT: usize = 16 << 20;

/// A checkpoint, with the results of the tasks after it.
#[derive(Debug)]
struct Entry {
    facts: StateFacts,
    results: Vec<Option<Value>>,
    /// Its values, kept only where they are compared.
    values: Option<Box<str>>,
}

/// The checkpoints of a thread's current branch, read newest first.
#[derive(Debug, Default)]
pub(super) struct History {
    entries: HashMap<String, Entry>,
    newest: Option<String>,
    /// The newest checkpoint of the wanted run.
    newest_of_run: Option<String>,
    /// Checkpoints before a state edit: their values are compared with those after it.
    before_edits: HashSet<String>,
    /// Whether older checkpoints were not loaded.
    pub is_cut: bool,
}

impl History {
    /// Adds an entry of the history as received. Entries that are no checkpoints are skipped.
    pub fn add(&mut self, json: &str, run: Option<&str>) {
        let Ok(row) = Fields::read(json) else {
            return;
        };
        let mut facts = StateFacts::of(&row);
        let Some(id) = facts.checkpoint_id.clone() else {
            return;
        };
        let listed = || row.text("parent_checkpoint_id");
        facts.parent_id = facts.parent_id.take().or_else(listed);
        // Only objects are among the facts, too.
        let tasks = row.items("tasks").filter_map(Peek::object);
        let results = tasks.map(|task| {
            let result = task.get("result")?;
            (result.text().len() <= MAX_RESULT).then(|| result.read())?
        });
        let results = results.collect();
        let is_newest = self.newest.is_none();
        let is_newest_of_run =
            self.newest_of_run.is_none() && run.is_some() && facts.run_id.as_deref() == run;
        let is_edit = facts.source == "update";
        if is_edit && let Some(parent) = &facts.parent_id {
            self.before_edits.insert(parent.clone());
        }
        let is_compared =
            is_newest || is_newest_of_run || is_edit || self.before_edits.contains(&id);
        let values = row
            .get("values")
            .filter(|raw| is_compared && raw.text().len() <= MAX_STATE)
            .map(|raw| raw.text().into());
        if is_newest {
            self.newest = Some(id.clone());
        }
        if is_newest_of_run {
            self.newest_of_run = Some(id.clone());
        }
        self.entries.insert(
            id,
            Entry {
                facts,
                results,
                values,
            },
        );
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether all checkpoints of the run are loaded, and the one before them.
    pub fn is_complete_for(&self, run: &str) -> bool {
        let Some(chain) = self
            .newest_of_run
            .as_deref()
            .map(|newest| self.chain(newest))
        else {
            return false;
        };
        let first = chain
            .iter()
            .position(|(_, entry)| entry.facts.run_id.as_deref() != Some(run));
        first.is_some()
            || chain
                .last()
                .is_some_and(|(_, entry)| entry.facts.parent_id.is_none())
    }

    /// Returns whether the thread's current branch is loaded up to its first checkpoint.
    pub fn is_complete(&self) -> bool {
        let Some(newest) = self.newest.as_deref() else {
            return false;
        };
        self.chain(newest)
            .last()
            .is_some_and(|(_, entry)| entry.facts.parent_id.is_none())
    }

    /// Returns a checkpoint and those before it, newest first.
    fn chain(&self, newest: &str) -> Vec<(&str, &Entry)> {
        let mut chain = Vec::new();
        let mut seen = HashSet::new();
        let mut next = self.entries.get_key_value(newest);
        while let Some((id, entry)) = next {
            if !seen.insert(id) {
                break;
            }
            chain.push((id.as_str(), entry));
            next = entry
                .facts
                .parent_id
                .as_ref()
                .and_then(|parent| self.entries.get_key_value(parent));
        }
        chain
    }

    /// Adds the steps of the thread's current branch, or of one run, to a side. `run` is the run's record if only that run
    /// is shown, `newest` the thread's newest run.
    pub fn fill(
        &self,
        side: &mut Side,
        run: Option<(&str, Option<&RunFacts>)>,
        newest: Option<&RunFacts>,
    ) {
        let tip = if run.is_some() {
            self.newest_of_run.as_deref()
        } else {
            self.newest.as_deref()
        };
        let Some(tip) = tip else { return };
        let mut chain = self.chain(tip);
        if let Some((id, _)) = run {
            let of_run = chain
                .iter()
                .take_while(|(_, entry)| entry.facts.run_id.as_deref() == Some(id))
                .count();
            // A run that answers a question finishes a step that began before it.
            let resumes = chain
                .get(of_run.wrapping_sub(1))
                .is_some_and(|(_, entry)| entry.facts.source == "loop");
            chain.truncate(of_run + usize::from(resumes));
        }
        chain.reverse();
        let last = chain.len().saturating_sub(1);
        let record = run.map_or(newest, |(_, record)| record);
        for (n, (id, entry)) in chain.iter().enumerate() {
            side.graph_id = entry.facts.graph_id.clone().or(side.graph_id.take());
            side.assistant_id = entry
                .facts
                .assistant_id
                .clone()
                .or(side.assistant_id.take());
            let (after, next) = chain.get(n + 1).copied().unzip();
            let first = side.steps.len();
            if let Some(next) = next.filter(|next| next.facts.source == "update") {
                side.steps.push(edit(entry, next));
                side.steps[first].checkpoint_id = after.map(str::to_string);
                continue;
            }
            let began = match run {
                // The wait before the answer isn't a part of the run.
                Some((_, Some(record)))
                    if n == 0 && entry.facts.run_id.as_deref() != Some(&*record.run_id) =>
                {
                    record.created_at
                }
                _ => entry.facts.created_at,
            };
            // Servers read the tasks of a checkpoint with the graph that ran last, and may not know those of another one.
            side.lacks_steps |= entry.facts.tasks.is_empty()
                && next.is_some_and(|next| next.facts.source == "loop");
            let at_end = Pending {
                record,
                is_answered_later: run.is_some(),
            };
            side.steps
                .extend(steps(entry, next, began, (n == last).then_some(at_end)));
            if began != entry.facts.created_at {
                side.steps[first..]
                    .iter_mut()
                    .for_each(|step| step.asked &= step.state == StepState::Waiting);
            }
            for step in &mut side.steps[first..] {
                step.checkpoint_id = Some(after.unwrap_or(id).to_string());
            }
        }
        // Steps of a single run are counted from its input, so that runs of any thread can be aligned.
        if run.is_some()
            && let Some(first) = side.steps.first().and_then(|step| step.step)
        {
            let base = if side.steps[0].kind == StepKind::Input {
                first
            } else {
                first - 1
            };
            for step in &mut side.steps {
                step.step = step.step.map(|step| step.saturating_sub(base));
            }
        }
        let values = chain.last().and_then(|(_, entry)| entry.values.as_deref());
        side.state = values.and_then(|values| json::from_str(values).ok());
    }
}

/// What is known about the tasks after the last checkpoint.
struct Pending<'a> {
    record: Option<&'a RunFacts>,
    /// Whether results of tasks that asked belong to a later run.
    is_answered_later: bool,
}

/// Returns the steps between a checkpoint and the next one.
fn steps(
    entry: &Entry,
    next: Option<&Entry>,
    began: Option<Timestamp>,
    at_end: Option<Pending<'_>>,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for (n, task) in entry.facts.tasks.iter().enumerate() {
        let result = entry.results.get(n).cloned().flatten();
        let asks = !task.questions.is_empty();
        let mut step = Step::of(&task.node);
        step.step = entry.facts.step.map(|step| step.saturating_add(1));
        step.asked = asks;
        let is_result_later = at_end
            .as_ref()
            .is_some_and(|pending| pending.is_answered_later && asks);
        let record = at_end.as_ref().and_then(|pending| pending.record);
        let is_active = record.is_some_and(RunFacts::is_active);
        step.state = match (&task.error, next) {
            (Some(_), _) if task.is_failed() && !(task.has_result && next.is_some()) => {
                StepState::Failed
            }
            (_, Some(_)) => StepState::Done,
            (_, None) if task.has_result && !is_result_later => StepState::Done,
            (_, None) if asks => StepState::Waiting,
            (_, None) if is_active => StepState::Running,
            // The run stopped before it, at a breakpoint, or was cancelled while it ran.
            (_, None) => StepState::Stopped,
        };
        let ended = match next {
            Some(next) => next.facts.created_at,
            None if step.state == StepState::Running => None,
            None => record
                .filter(|record| !record.is_active())
                .and_then(|record| record.updated_at),
        };
        let took = began
            .zip(ended)
            .map(|(began, ended)| ended.duration_since(began).as_millis());
        // How long an unanswered question waits isn't a property of the step.
        let has_ended = !matches!(step.state, StepState::Stopped | StepState::Waiting);
        step.took_ms = took
            .and_then(|took| u64::try_from(took).ok())
            .filter(|_| has_ended);
        if let Some(error) = task
            .error
            .as_deref()
            .filter(|_| step.state == StepState::Failed)
        {
            step = step.with_error(error);
        }
        if task.node == "__start__" {
            (step.kind, step.node, step.took_ms) = (StepKind::Input, "__start__".into(), None);
        }
        step = match (step.state, result) {
            (StepState::Waiting, _) => {
                step.with_output(task.questions.iter().map(|q| q.value.clone()).collect())
            }
            (StepState::Done, Some(result)) => step.with_output(result),
            // A failed or unfinished task wrote nothing.
            (StepState::Failed | StepState::Stopped, _) => step.with_output(Value::Null),
            _ => step,
        };
        steps.push(step);
    }
    steps
}

/// Returns the step of a state edit: the keys that it changed.
fn edit(before: &Entry, after: &Entry) -> Step {
    let mut step = Step {
        kind: StepKind::Edit,
        ..Step::of("state edit")
    };
    step.step = after.facts.step;
    let values = |entry: &Entry| json::from_str::<Value>(entry.values.as_deref()?).ok();
    match values(before).zip(values(after)) {
        Some((Value::Object(before), Value::Object(after))) => {
            let changed = after
                .into_iter()
                .filter(|(name, value)| before.get(name) != Some(value));
            let step = step.with_output(Value::Object(
                changed.map(|(name, value)| (cut(&name), value)).collect(),
            ));
            // An edit calls no model and no tool, although the messages that it writes may say so.
            Step {
                calls: Vec::new(),
                results: Vec::new(),
                input_tokens: None,
                output_tokens: None,
                ..step
            }
        }
        _ => step,
    }
}
