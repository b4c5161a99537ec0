//! A run from a checkpoint: what it runs, and what it reuses.

use crate::text::{self, short_id};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// Nodes that a step names.
const NAMED: usize = 4;

/// A run from a checkpoint, as far as it is known. The texts are as the server sent them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Branch {
    pub checkpoint_id: String,
    /// The step of the checkpoint.
    pub step: Option<i64>,
    /// What wrote the checkpoint: nodes, else `input`, `edit` or `fork`; empty if that is unknown.
    pub writers: Vec<String>,
    /// When the checkpoint was written.
    pub created_at: Option<Timestamp>,
    /// Whether the checkpoint is the thread's newest.
    pub is_newest: bool,
    /// The steps: those that run, those that follow, those that are skipped.
    pub steps: Vec<BranchStep>,
    /// Calls that are made a second time.
    pub repeats: Option<RepeatedCalls>,
}

/// A row of a preview: nodes that run or are skipped.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BranchStep {
    pub kind: BranchStepKind,
    /// The nodes, a repeated one with its count: `ask ×3`.
    pub nodes: Vec<String>,
    /// Whether it is known that they run.
    pub certain: bool,
    /// The run in which they ran before.
    pub run_id: Option<String>,
    /// What is known of them: calls, questions, an error.
    pub detail: String,
}

/// What happens to the nodes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchStepKind {
    /// They run for the first time from this checkpoint.
    Runs,
    RunsAgain,
    /// They followed before.
    ThenLikely,
    /// They are not run, because their results are reused.
    Skipped,
}

/// Calls that were made before, and are made again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RepeatedCalls {
    /// The names of the tools.
    pub calls: Vec<String>,
    /// The run that made them.
    pub run_id: Option<String>,
}

impl BranchStepKind {
    /// Returns its label.
    pub fn label(self) -> &'static str {
        match self {
            BranchStepKind::Runs => "Runs",
            BranchStepKind::RunsAgain => "Runs again",
            BranchStepKind::ThenLikely => "Then likely",
            BranchStepKind::Skipped => "Skipped",
        }
    }
}

impl Branch {
    /// Says where it begins. `at` and what follows it are in parentheses: the time of the checkpoint.
    pub fn sentence(&self, at: Option<&str>) -> String {
        let writers = match self.writers.as_slice() {
            [] => "unknown".to_string(),
            some => joined(some),
        };
        let known: Vec<&str> = std::iter::once(&*writers).chain(at).collect();
        let step = self.name();
        let from = format!("From {step} ({})", known.join(", "));
        match self.is_newest {
            true => format!("{from}, the newest."),
            false => {
                format!("{from}. A new branch starts here; the current branch stays in history.")
            }
        }
    }

    /// Returns the name of the checkpoint: `step 6`, else its id.
    pub fn name(&self) -> String {
        self.step.map_or_else(
            || format!("checkpoint {}", short_id(&self.checkpoint_id)),
            |step| format!("step {step}"),
        )
    }
}

impl BranchStep {
    /// Returns the names of the nodes.
    pub fn named(&self) -> String {
        joined(&self.nodes)
    }

    /// Says how sure it is that the nodes run. `run` names a run.
    pub fn basis(&self, run: impl Fn(&str) -> String) -> String {
        match (self.kind, self.certain, &self.run_id) {
            (BranchStepKind::Skipped, ..) => String::new(),
            (_, true, _) => "certain".into(),
            (BranchStepKind::ThenLikely, _, Some(id)) => format!("as in {}", run(id)),
            (BranchStepKind::ThenLikely, _, None) => String::new(),
            (BranchStepKind::Runs | BranchStepKind::RunsAgain, ..) => "likely".into(),
        }
    }
}

impl RepeatedCalls {
    /// Says which calls are made again. `run` names a run.
    pub fn sentence(&self, run: impl Fn(&str) -> String) -> String {
        let calls: Vec<String> = self
            .calls
            .iter()
            .map(|call| text::clean(call).into_owned())
            .collect();
        let (calls, were) = match calls.as_slice() {
            [one] => (one.clone(), "was"),
            [most @ .., last] => (format!("{} and {last}", most.join(", ")), "were"),
            [] => return String::new(),
        };
        let place = self
            .run_id
            .as_deref()
            .map_or("before".to_string(), |id| format!("in {}", run(id)));
        format!(
            "{calls} {were} called {place} and will be called again: external effects happen twice."
        )
    }
}

/// Returns names without repetitions; a repeated one is counted: `ask ×3`.
pub fn counted<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut order: Vec<&str> = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let count = counts.entry(name).or_default();
        if *count == 0 {
            order.push(name);
        }
        *count += 1;
    }
    let name = |name: &str| match counts[name] {
        1 => name.to_string(),
        count => format!("{name} ×{count}"),
    };
    order.into_iter().map(name).collect()
}

/// Joins names for a sentence.
fn joined(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| text::clean(name).into_owned())
        .collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: BranchStepKind, certain: bool, run_id: Option<&str>) -> BranchStep {
        let run_id = run_id.map(str::to_string);
        BranchStep {
            kind,
            nodes: vec!["tools".into()],
            certain,
            run_id,
            detail: String::new(),
        }
    }

    #[test]
    fn the_sentence_leaves_unknown_parts_out() {
        let mut branch = Branch {
            checkpoint_id: "1f0a0000-c310".into(),
            ..Branch::default()
        };
        branch.is_newest = true;
        assert_eq!(
            branch.sentence(None),
            "From checkpoint 1f0a0000-c310 (unknown), the newest."
        );
        branch = Branch {
            step: Some(6),
            writers: vec!["chat".into()],
            is_newest: false,
            ..branch
        };
        let says = "From step 6 (chat, 14:01:35). A new branch starts here; the current branch stays in history.";
        assert_eq!(branch.sentence(Some("14:01:35")), says);
    }

    #[test]
    fn only_what_is_known_to_run_is_certain() {
        let name = |id: &str| format!("run {id}");
        use BranchStepKind::*;
        assert_eq!(step(RunsAgain, true, Some("r")).basis(name), "certain");
        assert_eq!(step(RunsAgain, false, None).basis(name), "likely");
        assert_eq!(
            step(ThenLikely, false, Some("r")).basis(name),
            "as in run r"
        );
        assert_eq!(step(ThenLikely, false, None).basis(name), "");
        assert_eq!(step(Skipped, false, Some("r")).basis(name), "");
    }

    #[test]
    fn repeated_calls_are_named_with_their_run() {
        let calls = |calls: &[&str], run: Option<&str>| {
            let calls = calls.iter().map(|call| call.to_string()).collect();
            RepeatedCalls {
                calls,
                run_id: run.map(str::to_string),
            }
            .sentence(|id| format!("run {id}"))
        };
        let twice = "external effects happen twice.";
        assert_eq!(
            calls(&["list", "get"], Some("3")),
            format!("list and get were called in run 3 and will be called again: {twice}")
        );
        assert_eq!(
            calls(&["pay"], None),
            format!("pay was called before and will be called again: {twice}")
        );
        assert_eq!(counted(["a", "b", "a"]), ["a ×2", "b"]);
    }
}
