//! The checkpoints of a thread as a tree, newest first.

use super::graph::{GraphRow, layout};
use super::{Checkpoint, CheckpointTask};
use crate::model::counted;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

/// The checkpoint before another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// There is none.
    None,
    /// It isn't loaded: it is on a later page, or the server no longer has it.
    NotLoaded,
    /// Its index.
    At(usize),
}

/// What a checkpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// A task of the step after it failed.
    Failed,
    /// A task of the step after it waits for an answer.
    Asks,
    /// The step after it ended, or there is none.
    Good,
}

/// Checkpoints in the order of their ids, newest first; children always before their parents.
#[derive(Debug, Clone, Default)]
pub struct CheckpointTree {
    entries: Vec<Arc<Checkpoint>>,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    current: Vec<bool>,
    rows: Vec<GraphRow>,
    by_id: HashMap<String, usize>,
}

impl CheckpointTree {
    /// Builds the tree. Of several checkpoints with one id the last is used.
    pub fn new(checkpoints: impl IntoIterator<Item = Arc<Checkpoint>>) -> CheckpointTree {
        let mut unique: HashMap<String, Arc<Checkpoint>> = HashMap::new();
        for checkpoint in checkpoints {
            unique.insert(checkpoint.id.clone(), checkpoint);
        }
        let mut all: Vec<Arc<Checkpoint>> = unique.into_values().collect();
        // Ids are UUIDv6, which sort by time.
        all.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        let entries = children_first(all);
        let by_id: HashMap<String, usize> = entries
            .iter()
            .enumerate()
            .map(|(at, one)| (one.id.clone(), at))
            .collect();
        let mut parents: Vec<Option<usize>> = Vec::with_capacity(entries.len());
        let mut children = vec![Vec::new(); entries.len()];
        for (at, entry) in entries.iter().enumerate() {
            let parent = entry.parent.as_ref().and_then(|id| by_id.get(id)).copied();
            // A cycle has one link against the order, which is left out.
            let parent = parent.filter(|parent| *parent > at);
            if let Some(parent) = parent {
                children[parent].push(at);
            }
            parents.push(parent);
        }
        let mut current = vec![false; entries.len()];
        let mut at = if entries.is_empty() { None } else { Some(0) };
        while let Some(entry) = at {
            current[entry] = true;
            at = parents[entry];
        }
        let mut tree = CheckpointTree {
            entries,
            parents,
            children,
            current,
            rows: Vec::new(),
            by_id,
        };
        tree.rows = layout(
            &(0..tree.len())
                .map(|at| tree.parent(at))
                .collect::<Vec<_>>(),
        );
        tree
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the checkpoints, newest first. The first one is the head of the thread.
    pub fn entries(&self) -> &[Arc<Checkpoint>] {
        &self.entries
    }

    /// Returns the drawn rows: one per checkpoint, and one where branches join.
    pub fn rows(&self) -> &[GraphRow] {
        &self.rows
    }

    /// Returns the index of a checkpoint.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Returns the checkpoint before an entry.
    pub fn parent(&self, at: usize) -> Parent {
        let named = self.entries.get(at).and_then(|entry| entry.parent.as_ref());
        match (self.parents.get(at).copied().flatten(), named) {
            (Some(parent), _) => Parent::At(parent),
            (None, Some(id)) if !self.by_id.contains_key(id) => Parent::NotLoaded,
            (None, _) => Parent::None,
        }
    }

    /// Returns the checkpoints after an entry, newest first.
    pub fn children(&self, at: usize) -> &[usize] {
        self.children.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns whether an entry is the head or one of the checkpoints before it.
    pub fn is_current(&self, at: usize) -> bool {
        self.current.get(at).copied().unwrap_or_default()
    }

    /// Returns the number of branches: checkpoints that have none after them.
    pub fn branches(&self) -> usize {
        self.children
            .iter()
            .filter(|children| children.is_empty())
            .count()
    }

    /// Returns whether several branches begin at an entry.
    pub fn is_branch_point(&self, at: usize) -> bool {
        self.children(at).len() > 1
    }

    /// Returns the source of an entry.
    fn source(&self, at: usize) -> &str {
        self.entries
            .get(at)
            .map(|entry| &*entry.source)
            .unwrap_or_default()
    }

    /// Returns whether the step after an entry ended: the graph wrote a checkpoint after it.
    pub fn has_step_after(&self, at: usize) -> bool {
        self.children(at)
            .iter()
            .any(|child| self.source(*child) == "loop")
    }

    /// Returns what an entry is.
    pub fn outcome(&self, at: usize) -> StepOutcome {
        let Some(entry) = self.entries.get(at).filter(|_| !self.has_step_after(at)) else {
            return StepOutcome::Good;
        };
        let mut open = entry.tasks.iter().filter(|task| !task.has_result);
        if open.clone().any(|task| task.is_failed) {
            StepOutcome::Failed
        } else if open.any(|task| task.asks.is_some()) {
            StepOutcome::Asks
        } else {
            StepOutcome::Good
        }
    }

    /// Returns what wrote an entry: nodes, else `input`, `edit` or `fork`; empty if that is unknown. The server names the nodes,
    /// or they are the tasks of the checkpoint before it. The entry's own tasks are the step after it.
    pub fn writers(&self, at: usize) -> Vec<String> {
        let Some(entry) = self.entries.get(at) else {
            return Vec::new();
        };
        match self.source(at) {
            "loop" | "" if !entry.writes.is_empty() => {
                counted(entry.writes.iter().map(|write| &*write.node))
            }
            "loop" => counted(self.tasks_before(at).iter().map(|(_, task)| &*task.node)),
            "" => Vec::new(),
            "update" => vec!["edit".to_string()],
            source => vec![source.to_string()],
        }
    }

    /// Returns whether nodes wrote an entry, known or not: the step of a run, not its input, an edit or a fork.
    pub fn is_of_nodes(&self, at: usize) -> bool {
        matches!(self.source(at), "loop" | "")
    }

    /// Returns the tasks of the checkpoint before an entry that wrote it, with their indexes there: those with a result. JavaScript
    /// records no results of those that were answered. If there are none of either, the step wrote nothing, and these are the tasks
    /// that ended.
    pub fn tasks_before(&self, at: usize) -> Vec<(usize, &CheckpointTask)> {
        let Parent::At(parent) = self.parent(at) else {
            return Vec::new();
        };
        if self.source(at) != "loop" {
            return Vec::new();
        }
        let tasks = &self.entries[parent].tasks;
        let wrote: Vec<_> = tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.has_result || task.asks.is_some())
            .collect();
        if wrote.is_empty() {
            let ended = tasks.iter().enumerate();
            ended.filter(|(_, task)| !task.is_failed).collect()
        } else {
            wrote
        }
    }

    /// Returns what is known of an entry on one line: which nodes are next if they failed, ask or wait, and what was written.
    pub fn wrote(&self, at: usize) -> String {
        let Some(entry) = self.entries.get(at) else {
            return String::new();
        };
        let outcome = self.outcome(at);
        let written = self.written(at);
        let mut parts: Vec<String> = self
            .open_step(entry, outcome, self.children(at).is_empty())
            .into_iter()
            .collect();
        if !written.is_empty() {
            // After the next node, a write without a name would be read as its write.
            parts.push(
                match outcome == StepOutcome::Good || !self.is_of_nodes(at) {
                    true => written,
                    false => format!("{} wrote {written}", self.writers(at).join(", "))
                        .trim_start()
                        .to_string(),
                },
            );
        }
        match (entry.next.as_slice(), self.children(at)) {
            ([], _) if entry.source != "input" => parts.push("end".into()),
            (next, []) if outcome == StepOutcome::Good && !next.is_empty() => {
                parts.push(format!(
                    "next: {}",
                    counted(next.iter().map(String::as_str)).join(", ")
                ));
            }
            _ => {}
        }
        parts.join(" · ")
    }

    /// Describes the step after an entry, if it failed or asks: why or what, and its nodes.
    fn open_step(&self, entry: &Checkpoint, outcome: StepOutcome, is_tip: bool) -> Option<String> {
        let open = || entry.tasks.iter().filter(|task| !task.has_result);
        let (nodes, what) = match outcome {
            StepOutcome::Good => return None,
            StepOutcome::Failed => {
                let failed = || open().filter(|task| task.is_failed);
                let error = failed().find_map(|task| task.error.as_deref());
                (
                    counted(failed().map(|task| &*task.node)),
                    error.map_or("failed".into(), |error| format!("failed: {error}")),
                )
            }
            StepOutcome::Asks => {
                let asks: Vec<&str> = open().filter_map(|task| task.asks.as_deref()).collect();
                // Once something else follows, the answer is no longer awaited here.
                let verb = if is_tip { "asks" } else { "asked" };
                let what = match asks.as_slice() {
                    [one] => format!("{verb}: {one}"),
                    several => format!("{verb}: {} questions", several.len()),
                };
                (
                    counted(
                        open()
                            .filter(|task| task.asks.is_some())
                            .map(|task| &*task.node),
                    ),
                    what,
                )
            }
        };
        Some(format!("next {what} ({})", nodes.join(", ")))
    }

    /// Returns what was written between the checkpoint before an entry and the entry.
    fn written(&self, at: usize) -> String {
        let entry = &self.entries[at];
        match &*entry.source {
            "input" => {
                // Only this task wrote the input; a fork with `goto` on JavaScript has the tasks of nodes here.
                let start = entry.tasks.iter().find(|task| task.node == "__start__");
                let said = start.and_then(|task| task.text.as_deref());
                said.map(|text| format!("\"{text}\"")).unwrap_or_default()
            }
            "update" if entry.changed.is_empty() => "state edited".into(),
            "update" => entry.changed.clone(),
            "fork" => "run again".into(),
            _ => {
                let before = self.tasks_before(at);
                let by_task = before
                    .iter()
                    .filter(|(_, task)| task.has_result)
                    .map(|(_, task)| (&*task.node, &*task.wrote));
                let by_server = entry
                    .writes
                    .iter()
                    .map(|write| (&*write.node, &*write.wrote));
                let writes: Vec<(&str, &str)> = if entry.writes.is_empty() {
                    by_task.collect()
                } else {
                    by_server.collect()
                };
                let writes = || writes.iter().filter(|(_, text)| !text.is_empty());
                let several = writes().map(|(node, _)| node).collect::<HashSet<_>>().len() > 1;
                let texts: Vec<String> = writes()
                    .map(|(node, text)| {
                        if several {
                            format!("{node} {text}")
                        } else {
                            (*text).to_string()
                        }
                    })
                    .collect();
                match (texts.is_empty(), entry.new_messages) {
                    (true, _) if !entry.changed.is_empty() => entry.changed.clone(),
                    (true, Some(count @ 1..)) => {
                        format!("+{}", crate::text::counted(count, "message"))
                    }
                    _ => counted(texts.iter().map(String::as_str)).join(", "),
                }
            }
        }
    }
}

/// Orders checkpoints so that each one comes before its parent, the greatest id first where that is free. Of a cycle, the
/// greatest id comes first.
fn children_first(sorted: Vec<Arc<Checkpoint>>) -> Vec<Arc<Checkpoint>> {
    let by_id: HashMap<&str, usize> = sorted
        .iter()
        .enumerate()
        .map(|(at, one)| (&*one.id, at))
        .collect();
    let parent = |at: usize| {
        sorted[at]
            .parent
            .as_deref()
            .and_then(|id| by_id.get(id))
            .copied()
    };
    let mut waits_for = vec![0_usize; sorted.len()];
    (0..sorted.len())
        .filter_map(parent)
        .for_each(|parent| waits_for[parent] += 1);
    // The list is sorted, so the smallest index has the greatest id.
    let mut ready: BinaryHeap<std::cmp::Reverse<usize>> = (0..sorted.len())
        .filter(|at| waits_for[*at] == 0)
        .map(std::cmp::Reverse)
        .collect();
    let mut is_placed = vec![false; sorted.len()];
    let mut order = Vec::with_capacity(sorted.len());
    let mut unplaced = 0;
    while order.len() < sorted.len() {
        let at = match ready.pop() {
            Some(std::cmp::Reverse(at)) => at,
            None => {
                while is_placed[unplaced] {
                    unplaced += 1;
                }
                unplaced
            }
        };
        if std::mem::replace(&mut is_placed[at], true) {
            continue;
        }
        order.push(at);
        if let Some(parent) = parent(at).filter(|parent| !is_placed[*parent]) {
            waits_for[parent] -= 1;
            if waits_for[parent] == 0 {
                ready.push(std::cmp::Reverse(parent));
            }
        }
    }
    order.into_iter().map(|at| sorted[at].clone()).collect()
}
