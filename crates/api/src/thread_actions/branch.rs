//! What a run from a checkpoint runs, what likely follows, and what is reused: from the checkpoint and the thread's history.

use super::base::{Base, Call};
use crate::prelude::*;
use runtail_core::model::{
    Branch, BranchStep, BranchStepKind as Kind, Checkpoint, CheckpointTree, Parent, RepeatedCalls,
    StateFacts, TaskFacts, counted,
};

/// Steps after a checkpoint that a preview lists, and those that are counted.
const MAX_STEPS: usize = 6;
const MAX_COUNTED: usize = 200;
/// Maximum bytes of a question or an error in a row.
const MAX_TEXT: usize = 120;
/// The node that takes the input.
const START: &str = "__start__";

/// The history of a thread around a checkpoint, as far as it could be read.
#[derive(Default)]
pub struct Past {
    states: Vec<StateFacts>,
    tree: CheckpointTree,
    /// The newest run of the thread.
    newest_run: Option<String>,
}

/// How the nodes after a checkpoint run.
pub struct Next<'a> {
    /// The nodes that are next.
    pub nodes: &'a [String],
    /// Why they don't run for certain; empty if they do.
    pub doubt: &'a str,
    /// The calls that the state asks for.
    pub calls: &'a [Call],
    /// Whether a task uses the answer that it received, so that it doesn't ask again.
    pub keeps_answer: &'a dyn Fn(&TaskFacts) -> bool,
}

impl AgentServer {
    /// Reads the history of a thread back to the input of the run that wrote a checkpoint. Nothing is known of a history that
    /// can't be read.
    pub(super) async fn past_of(&self, base: &Base, newest_run: Option<String>) -> Past {
        let mut wanted = Some(base.id.clone());
        // Parents follow their children.
        let is_input = |state: &StateFacts| {
            if state.checkpoint_id != wanted {
                return false;
            }
            wanted.clone_from(&state.parent_id);
            state.source == "input" || wanted.is_none()
        };
        self.past(base, newest_run, is_input).await
    }

    /// Does the same, back to the input of a run.
    pub(super) async fn past_until_input(
        &self,
        base: &Base,
        run: &str,
        newest_run: Option<String>,
    ) -> Past {
        self.past(base, newest_run, |state| {
            state.source == "input" && state.run_id.as_deref() == Some(run)
        })
        .await
    }

    async fn past(
        &self,
        base: &Base,
        newest_run: Option<String>,
        mut is_last: impl FnMut(&StateFacts) -> bool,
    ) -> Past {
        let read = |json: &str| Some((StateFacts::read(json).ok()?, Checkpoint::read(json)));
        let entries = self
            .read_history(
                &base.thread,
                read,
                |(state, _): &(StateFacts, Option<Checkpoint>)| is_last(state),
            )
            .await;
        Past::new(base, entries.unwrap_or_default(), newest_run)
    }
}

impl Past {
    fn new(
        base: &Base,
        entries: Vec<(StateFacts, Option<Checkpoint>)>,
        newest_run: Option<String>,
    ) -> Past {
        let (states, checkpoints): (Vec<StateFacts>, Vec<Option<Checkpoint>>) =
            entries.into_iter().unzip();
        let listed = checkpoints.into_iter().flatten().map(Arc::new);
        let tree = CheckpointTree::new(base.checkpoint.iter().cloned().chain(listed));
        Past {
            states,
            tree,
            newest_run,
        }
    }

    /// Returns the checkpoint that followed another one in the same run or in one that continued it. The graph's own ones come
    /// first: an edit or a fork is another branch, and what follows an input doesn't follow by itself.
    fn child_of(&self, id: &str) -> Option<&StateFacts> {
        let is_child =
            |state: &&StateFacts| state.parent_id.as_deref() == Some(id) && state.source != "input";
        let children = self.states.iter().filter(is_child);
        children.max_by_key(|child| {
            (
                !matches!(child.source.as_str(), "update" | "fork"),
                child.checkpoint_id.clone(),
            )
        })
    }

    /// Returns whether the nodes of a checkpoint ran before.
    pub(super) fn has_run(&self, base: &Base) -> bool {
        // An edit that nothing followed ran none of them.
        let ran = |child: &StateFacts| child.source != "update" || !self.is_last(child);
        base.has_run() || self.child_of(&base.id).is_some_and(ran)
    }

    /// Returns whether nothing followed a checkpoint.
    fn is_last(&self, state: &StateFacts) -> bool {
        state
            .checkpoint_id
            .as_deref()
            .is_none_or(|id| self.child_of(id).is_none())
    }

    /// Returns the branch that a run from a checkpoint makes.
    pub(super) fn branch(&self, base: &Base, next: &Next<'_>) -> Branch {
        let at = self.tree.find(&base.id);
        let mut steps = self.next_steps(base, next);
        if *next.nodes == base.facts.next {
            steps.extend(self.followed(&base.id, &base.facts.next));
        }
        steps.extend(at.and_then(|at| self.skipped(at)));
        Branch {
            steps,
            repeats: self.repeats(base, next),
            ..self.from(base)
        }
    }

    /// Returns a branch without its steps.
    fn from(&self, base: &Base) -> Branch {
        let at = self.tree.find(&base.id);
        Branch {
            checkpoint_id: base.id.clone(),
            step: base.facts.step,
            writers: at.map(|at| self.tree.writers(at)).unwrap_or_default(),
            created_at: base.facts.created_at,
            is_newest: base.is_newest,
            ..Branch::default()
        }
    }

    /// Returns the branch that a run with the input of an earlier run makes. What followed that input likely follows again.
    pub(super) fn rerun(&self, base: &Base, run: &str) -> Branch {
        let is_its =
            |state: &&StateFacts| state.source == "input" && state.run_id.as_deref() == Some(run);
        let input = self.states.iter().find(is_its);
        let start = BranchStep {
            kind: Kind::RunsAgain,
            nodes: vec![START.into()],
            certain: true,
            run_id: None,
            detail: "the graph starts with the same input".into(),
        };
        let followed = input
            .and_then(|input| Some(self.followed(input.checkpoint_id.as_deref()?, &input.next)));
        let steps = std::iter::once(start)
            .chain(followed.unwrap_or_default())
            .collect();
        Branch {
            steps,
            ..self.from(base)
        }
    }

    /// Returns the steps that run first. Parallel nodes share one if nothing else is known of them.
    fn next_steps(&self, base: &Base, next: &Next<'_>) -> Vec<BranchStep> {
        let nodes = counted(next.nodes.iter().map(String::as_str));
        let names: Vec<&str> = nodes.iter().map(|node| name_of(node)).collect();
        let details: Vec<String> = names
            .iter()
            .map(|node| self.detail(base, next, node, names.len() == 1))
            .collect();
        let step = |nodes: Vec<String>, detail: &str| {
            let ran = |node: &String| base.facts.next.iter().any(|known| known == name_of(node));
            let is_again = self.has_run(base) && nodes.iter().any(ran);
            let kind = if is_again {
                Kind::RunsAgain
            } else {
                Kind::Runs
            };
            let detail = [detail, next.doubt]
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_default();
            BranchStep {
                kind,
                nodes,
                certain: next.doubt.is_empty(),
                run_id: None,
                detail: detail.to_string(),
            }
        };
        match (nodes.is_empty(), details.iter().all(String::is_empty)) {
            (true, _) => Vec::new(),
            (false, true) => vec![step(nodes, "")],
            (false, false) => {
                let rows = nodes.iter().zip(&details).take(MAX_STEPS);
                let mut rows: Vec<BranchStep> = rows
                    .map(|(node, detail)| step(vec![node.clone()], detail))
                    .collect();
                if nodes.len() > MAX_STEPS {
                    rows.push(step(nodes[MAX_STEPS..].to_vec(), ""));
                }
                rows
            }
        }
    }

    /// Returns what is known of a node that runs first: what it asks, which tools it calls, why it failed.
    fn detail(&self, base: &Base, next: &Next<'_>, node: &str, is_only: bool) -> String {
        if node == START {
            let again = if self.has_run(base) { " again" } else { "" };
            return format!("the graph starts{again} with the saved input");
        }
        let tasks = || base.facts.tasks.iter().filter(|task| task.node == node);
        let asks = asked(tasks().filter(|task| !(next.keeps_answer)(task)));
        if !asks.is_empty() {
            return format!("asks again: {asks}");
        }
        let calls = |calls: Vec<&Call>| {
            calls
                .iter()
                .map(|call| cut(&call.name))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let own = base.made_by(node, next.calls);
        let is_of_tools = node.to_lowercase().contains("tool");
        if !own.is_empty() {
            return calls(own);
        }
        let is_any_proven = next
            .nodes
            .iter()
            .any(|other| !base.made_by(other, next.calls).is_empty());
        if !next.calls.is_empty() && !is_any_proven && (is_of_tools || is_only) {
            let all = calls(next.calls.iter().collect());
            return if is_of_tools {
                all
            } else {
                format!("the state asks for {all}")
            };
        }
        let error = tasks()
            .filter(|task| !task.has_result)
            .find_map(|task| task.error.as_deref());
        error
            .map(|error| format!("failed before: {}", cut(error)))
            .unwrap_or_default()
    }

    /// Returns the calls that are known to be made a second time: their results are known, and the node that made them runs
    /// for certain.
    fn repeats(&self, base: &Base, next: &Next<'_>) -> Option<RepeatedCalls> {
        let asks = |node: &str| {
            base.facts
                .tasks
                .iter()
                .any(|task| task.node == node && !task.questions.is_empty())
        };
        if !next.doubt.is_empty() || next.nodes.iter().any(|node| asks(node)) {
            return None;
        }
        let nodes: BTreeSet<&String> = next.nodes.iter().collect();
        let made: Vec<&Call> = nodes
            .into_iter()
            .flat_map(|node| base.made_by(node, next.calls))
            .collect();
        let calls = counted(made.iter().map(|call| &*call.name));
        let run_id = self
            .child_of(&base.id)
            .and_then(|child| child.run_id.clone());
        (!calls.is_empty()).then_some(RepeatedCalls { calls, run_id })
    }

    /// Returns the steps that followed the next nodes of a checkpoint. There are none if it was never continued, or if that is
    /// unknown.
    fn followed(&self, id: &str, next: &[String]) -> Vec<BranchStep> {
        let Some(first) = self.child_of(id) else {
            return Vec::new();
        };
        let mut steps: Vec<BranchStep> = Vec::new();
        let (mut before, mut at) = (next, Some(first));
        for _ in 0..MAX_COUNTED {
            let Some(state) = at else { break };
            let then = state
                .checkpoint_id
                .as_deref()
                .and_then(|id| self.child_of(id));
            // A run from a checkpoint begins with a copy of it, and an edit runs nothing: what is next after them is next already.
            let is_no_step =
                matches!(state.source.as_str(), "fork" | "update") && state.next == before;
            let step = match (state.next.is_empty(), then) {
                _ if is_no_step => None,
                (false, _) => Some(self.likely(state, then)),
                // Python lists no tasks for a node that waited for parallel branches.
                (true, Some(then)) if then.source == "loop" => Some(BranchStep {
                    nodes: vec!["unknown".into()],
                    detail: "the server doesn't list the nodes of this step".into(),
                    ..self.likely(state, Some(then))
                }),
                (true, _) => None,
            };
            // A node that repeats itself is listed once.
            steps.extend(step.filter(|step| steps.last() != Some(step)));
            (before, at) = (state.next.as_slice(), then);
        }
        if first.source == "update" && self.is_last(first) {
            // Nothing ran after the edit.
            return steps;
        }
        if steps.is_empty() {
            let end = likely_step(vec!["the end of the graph".into()], String::new());
            return vec![BranchStep {
                run_id: first.run_id.clone(),
                ..end
            }];
        }
        let more = steps.len().saturating_sub(MAX_STEPS);
        if let Some(first) = steps.first_mut().filter(|first| first.detail.is_empty()) {
            first.detail = "models and conditions may choose differently".into();
        }
        if more > 1 {
            steps.truncate(MAX_STEPS);
            steps.push(likely_step(
                vec![format!("{more} more steps")],
                String::new(),
            ));
        }
        steps
    }

    /// Describes the step after a state, as it went before.
    fn likely(&self, state: &StateFacts, then: Option<&StateFacts>) -> BranchStep {
        let asks = asked(state.tasks.iter());
        let error = state
            .tasks
            .iter()
            .filter(|task| !task.has_result)
            .find_map(|task| task.error.as_deref());
        let detail = match (asks.is_empty(), error) {
            (false, _) => format!("asks again: {asks}"),
            (true, Some(error)) => format!("failed: {}", cut(error)),
            (true, None) => String::new(),
        };
        // Without a checkpoint after it, the step may have run in a later run than the one that wrote the state.
        let has_begun = !detail.is_empty();
        let own = || {
            state
                .run_id
                .clone()
                .filter(|run| has_begun && Some(run) == self.newest_run.as_ref())
        };
        let run_id = then.map_or_else(own, |then| then.run_id.clone());
        let nodes = counted(state.next.iter().map(String::as_str));
        BranchStep {
            run_id,
            ..likely_step(nodes, detail)
        }
    }

    /// Returns the steps of the run at and before a checkpoint; nothing if the history doesn't reach back to its input, or if
    /// there is only the input.
    fn skipped(&self, at: usize) -> Option<BranchStep> {
        let mut chain = vec![at];
        loop {
            let last = *chain.last()?;
            if self.tree.entries()[last].source == "input" {
                break;
            }
            match self.tree.parent(last) {
                Parent::At(parent) => chain.push(parent),
                Parent::None => break,
                Parent::NotLoaded => return None,
            }
        }
        if self.tree.entries()[at].source == "input" {
            return None;
        }
        // A copy of a checkpoint is no step of its own.
        let chain: Vec<usize> = chain
            .into_iter()
            .rev()
            .filter(|at| self.tree.entries()[*at].source != "fork")
            .collect();
        let writers: Vec<String> = chain
            .iter()
            .flat_map(|at| match self.tree.writers(*at) {
                none if none.is_empty() => vec!["unknown".to_string()],
                writers => writers,
            })
            .collect();
        let steps: Option<Vec<i64>> = chain
            .iter()
            .map(|at| self.tree.entries()[*at].step)
            .collect();
        // The step that takes the input is part of it.
        let nodes = counted(
            writers
                .iter()
                .map(String::as_str)
                .filter(|writer| *writer != START),
        );
        let detail = reused(&steps.unwrap_or_default());
        (!nodes.is_empty()).then_some(BranchStep {
            kind: Kind::Skipped,
            nodes,
            certain: false,
            run_id: None,
            detail,
        })
    }
}

fn likely_step(nodes: Vec<String>, detail: String) -> BranchStep {
    BranchStep {
        kind: Kind::ThenLikely,
        nodes,
        certain: false,
        run_id: None,
        detail,
    }
}

/// Returns the name of a node without its count.
fn name_of(counted: &str) -> &str {
    counted
        .rsplit_once(" ×")
        .filter(|(_, count)| count.parse::<usize>().is_ok())
        .map_or(counted, |(name, _)| name)
}

/// Returns what tasks ask: the names of the actions, else the questions.
fn asked<'a>(tasks: impl Iterator<Item = &'a TaskFacts>) -> String {
    let of_question = |question: &runtail_core::model::Question| {
        let actions = question.actions();
        if actions.is_empty() {
            vec![cut(&question.summary())]
        } else {
            actions.iter().map(|action| cut(&action.name)).collect()
        }
    };
    let all: Vec<String> = tasks
        .flat_map(|task| &task.questions)
        .flat_map(of_question)
        .collect();
    counted(all.iter().map(String::as_str)).join(", ")
}

/// Says which steps are reused.
fn reused(steps: &[i64]) -> String {
    match steps {
        [] => String::new(),
        [one] => format!("step {one} is reused"),
        [one, other] => format!("steps {one} and {other} are reused"),
        [first, .., last] if steps.windows(2).all(|pair| pair[0] + 1 == pair[1]) => {
            format!("steps {first} to {last} are reused")
        }
        several => format!("{} steps are reused", several.len()),
    }
}

/// Returns the start of a text on one line, safe to show.
fn cut(text: &str) -> String {
    let head = text::head(text, MAX_TEXT);
    let line = text::clean(&head.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned();
    if head.len() < text.len() {
        format!("{line}…")
    } else {
        line
    }
}

#[cfg(test)]
mod tests;
