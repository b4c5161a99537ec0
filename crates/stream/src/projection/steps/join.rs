//! Joins the rows of the records with the bars of the stream.

use super::records::{Reader, runs_of, task_of};
use super::{StepRow, StepState};
use crate::projection::{Attempt, Bar, BarKind, BarState, Projections, Timeline};
use crate::{Interner, Seq};
use jiff::Timestamp;
use runtail_core::model::CheckpointTree;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The name under which a graph reports its questions.
const INTERRUPT: &str = "__interrupt__";

/// Returns the joined rows, oldest first.
pub(super) fn rows(
    tree: &CheckpointTree,
    projections: &Projections,
    until: Option<Timestamp>,
) -> Vec<StepRow> {
    let status = &projections.status;
    let began = |run: &str| status.run(run)?.began;
    let mut reader = Reader {
        tree,
        until,
        is_active: status.status().is_active(),
        began: &began,
        names: Interner::default(),
    };
    let records = reader.rows();
    let mut joined = Joined::new(tree, &projections.timeline, records);
    for (number, attempt) in projections.timeline.attempts() {
        if attempt.is_streamed() {
            joined.add_attempt(number, attempt);
        }
    }
    joined.add_questions(projections);
    joined.in_order()
}

struct Joined<'a> {
    timeline: &'a Timeline,
    records: Vec<StepRow>,
    /// The rows of the records by the ids of their tasks.
    by_id: HashMap<&'a str, Vec<usize>>,
    /// The rows of the records by run and node.
    by_node: HashMap<(Arc<str>, Arc<str>), Vec<usize>>,
    /// The rows that the stream has besides those of the records, each with those nested in it.
    added: Vec<(Option<usize>, Vec<StepRow>)>,
    /// The rows of subgraphs, by the row of the records that they are nested in.
    nested: HashMap<usize, Vec<StepRow>>,
    /// The places of tasks that the stream mentioned, by id.
    seen: HashMap<Arc<str>, usize>,
    /// The last row of the records that the stream reached.
    reached: Option<usize>,
}

impl<'a> Joined<'a> {
    fn new(tree: &'a CheckpointTree, timeline: &'a Timeline, records: Vec<StepRow>) -> Joined<'a> {
        let mut by_id: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut by_node: HashMap<(Arc<str>, Arc<str>), Vec<usize>> = HashMap::new();
        for (at, row) in records.iter().enumerate() {
            if let Some(task) = task_of(tree, row).filter(|task| !task.id.is_empty()) {
                by_id.entry(&task.id).or_default().push(at);
            }
            for run in runs_of(tree, row).into_iter().flatten() {
                by_node.entry((run, row.node.clone())).or_default().push(at);
            }
        }
        Joined {
            timeline,
            records,
            by_id,
            by_node,
            added: Vec::new(),
            nested: HashMap::new(),
            seen: HashMap::new(),
            reached: None,
        }
    }

    /// Adds the nodes of an attempt.
    fn add_attempt(&mut self, number: u64, attempt: &Attempt) {
        let timeline = self.timeline;
        let is_node = |key: &u64| {
            timeline
                .bar(*key)
                .is_some_and(|bar| bar.kind == BarKind::Node && !bar.is_recorded)
        };
        let keys: Vec<u64> = attempt.children.iter().copied().filter(is_node).collect();
        let found = self.matches(attempt, &keys);
        for (nth, key) in keys.iter().enumerate() {
            let Some(bar) = timeline.bar(*key).filter(|bar| bar.attempt == number) else {
                continue;
            };
            let row = self.row(*key, bar, attempt);
            let nested = self.nested_rows(bar, attempt);
            match found[nth] {
                Some(at) => {
                    merge(&mut self.records[at], row);
                    self.nested.entry(at).or_default().extend(nested);
                    self.reached = self.reached.max(Some(at));
                }
                None => self.add(row, nested, &found[nth + 1..]),
            }
        }
    }

    /// Adds a row that the records don't have.
    fn add(&mut self, row: StepRow, nested: Vec<StepRow>, later: &[Option<usize>]) {
        let id = row.bar.and_then(|key| self.timeline.bar(key)?.id());
        // The same task in another attempt or after an answer.
        if let Some(known) = id.and_then(|id| self.seen.get(id)) {
            let (_, rows) = &mut self.added[*known];
            let run = row.run_id.clone();
            merge(&mut rows[0], row);
            rows[0].run_id = run.or(rows[0].run_id.take());
            return rows.extend(nested);
        }
        if let Some(id) = id {
            self.seen.insert(id.into(), self.added.len());
        }
        let before = later.iter().flatten().min().copied();
        let after = match before {
            Some(before) => before.checked_sub(1),
            None => self.reached.max(self.last_before(row.started)),
        };
        let rows = std::iter::once(row).chain(nested).collect();
        self.added.push((after, rows));
    }

    /// Returns the last row of the records that had begun at a time; the last one if the time is unknown.
    fn last_before(&self, at: Option<Timestamp>) -> Option<usize> {
        let is_before = |row: &StepRow| {
            let began = row.started.or(row.ended);
            began.zip(at).is_none_or(|(began, at)| began <= at)
        };
        self.records.iter().rposition(is_before)
    }

    /// Returns the rows of the records for the bars of an attempt: by the ids of their tasks, else by node and order.
    fn matches(&self, attempt: &Attempt, keys: &[u64]) -> Vec<Option<usize>> {
        let of_id = |key: &u64| {
            let rows = self.by_id.get(self.timeline.bar(*key)?.id()?)?;
            let of_run = |at: &&usize| self.records[**at].run_id == attempt.run_id;
            rows.iter().find(of_run).or(rows.last()).copied()
        };
        let mut found: Vec<Option<usize>> = keys.iter().map(of_id).collect();
        let Some(run) = &attempt.run_id else {
            return found;
        };
        let used: HashSet<usize> = found.iter().flatten().copied().collect();
        let mut order: Vec<usize> = (0..keys.len())
            .filter(|nth| found[*nth].is_none())
            .collect();
        // A stream that joined later contains the last ones.
        if attempt.is_joined() {
            order.reverse();
        }
        let mut next: HashMap<&Arc<str>, usize> = HashMap::new();
        for nth in order {
            let Some(bar) = self.timeline.bar(keys[nth]) else {
                continue;
            };
            let Some(rows) = self.by_node.get(&(run.clone(), bar.name.clone())) else {
                continue;
            };
            let step = self.timeline.server_step(bar);
            let may_be = |at: usize| {
                let own = self.records[at].step;
                !used.contains(&at) && (step.is_none() || own.is_none() || own == step)
            };
            let taken = next.entry(&bar.name).or_default();
            let place = |nth: usize| match attempt.is_joined() {
                true => rows.len() - 1 - nth,
                false => nth,
            };
            if let Some(at) = (*taken..rows.len()).find(|at| may_be(rows[place(*at)])) {
                found[nth] = Some(rows[place(at)]);
                *taken = at + 1;
            }
        }
        found
    }

    fn row(&self, key: u64, bar: &Bar, attempt: &Attempt) -> StepRow {
        let detail = || bar.detail.clone();
        let state = match bar.state {
            BarState::Running => StepState::Running,
            BarState::Done => StepState::Done,
            BarState::Failed => StepState::Failed,
            BarState::Interrupted => StepState::Asked,
            BarState::Abandoned => StepState::Stopped,
        };
        StepRow {
            run_id: attempt.run_id.clone(),
            step: self.timeline.server_step(bar),
            node: bar.name.clone(),
            ns: bar.ns.clone(),
            state,
            question: detail().filter(|_| state == StepState::Asked),
            error: detail().filter(|_| state == StepState::Failed),
            started: bar.reported_start(),
            ended: bar.reported_end().filter(|_| state != StepState::Asked),
            written: bar.written,
            seqs: Some((bar.first_seq, bar.last_seq.max(bar.first_seq))),
            bar: Some(key),
            ..StepRow::default()
        }
    }

    /// Returns the rows of the graph that ran in a bar, those of inner graphs after their own.
    fn nested_rows(&self, bar: &Bar, attempt: &Attempt) -> Vec<StepRow> {
        let mut rows = Vec::new();
        for key in &bar.children {
            let child = self.timeline.bar(*key);
            let Some(child) = child.filter(|child| child.kind == BarKind::Node) else {
                continue;
            };
            let inner = self.nested_rows(child, attempt);
            let mut row = self.row(*key, child, attempt);
            row.nested = inner.len();
            rows.push(row);
            rows.extend(inner);
        }
        rows
    }

    /// Adds the questions that no task of the stream asked. Updates don't name the node that asked.
    fn add_questions(&mut self, projections: &Projections) {
        let attempts: Vec<_> = projections.timeline.attempts().collect();
        let mut asked: HashMap<u64, (bool, Seq)> = HashMap::new();
        for update in projections
            .updates
            .rows()
            .iter()
            .filter(|row| row.interrupt)
        {
            let after = attempts.partition_point(|(_, attempt)| attempt.first_seq <= update.seq);
            let Some((number, _)) = after.checked_sub(1).map(|at| attempts[at]) else {
                continue;
            };
            let is_root = update.ns.is_empty();
            let known = asked.entry(number).or_insert((is_root, update.seq));
            if is_root || !known.0 {
                *known = (is_root, update.seq);
            }
        }
        let mut asked: Vec<(u64, Seq)> =
            asked.into_iter().map(|(of, (_, seq))| (of, seq)).collect();
        asked.sort_unstable();
        for (number, seq) in asked {
            let Some(attempt) = projections.timeline.attempt(number) else {
                continue;
            };
            let of_run = |row: &StepRow| {
                row.seqs.is_some_and(|(first, last)| {
                    first >= attempt.first_seq && last <= attempt.last_seq.max(seq)
                })
            };
            let has_asked = |row: &StepRow| row.state == StepState::Asked && of_run(row);
            let streamed = self.added.iter().flat_map(|(_, rows)| rows);
            if streamed.chain(&self.records).any(has_asked) {
                continue;
            }
            if let Some(row) = self.recorded_question(attempt) {
                let row = &mut self.records[row];
                row.written = row.written.or(Some(seq));
                row.seqs = Some(
                    row.seqs
                        .map_or((seq, seq), |(first, last)| (first.min(seq), last.max(seq))),
                );
                continue;
            }
            let row = StepRow {
                run_id: attempt.run_id.clone(),
                node: INTERRUPT.into(),
                state: StepState::Asked,
                written: Some(seq),
                seqs: Some((seq, seq)),
                started: Some(attempt.seen).filter(|_| attempt.known.start),
                ..StepRow::default()
            };
            self.add(row, Vec::new(), &[]);
        }
    }

    /// Returns the row of the records with the last question of a run.
    fn recorded_question(&self, attempt: &Attempt) -> Option<usize> {
        let run = attempt.run_id.as_ref()?;
        let rows = self.by_node.iter().filter(|((of, _), _)| of == run);
        let rows = rows.flat_map(|(_, rows)| rows.iter().copied());
        rows.filter(|at| self.records[*at].question.is_some()).max()
    }

    /// Returns all rows in their order.
    fn in_order(mut self) -> Vec<StepRow> {
        let count = self.records.len();
        let mut after: HashMap<Option<usize>, Vec<StepRow>> = HashMap::new();
        for (place, mut rows) in std::mem::take(&mut self.added) {
            let rails = place.and_then(|at| self.records.get(at)?.rails);
            // A row that no checkpoint has yet continues the branch before it.
            let rails = rails.map(|rails| super::Rails {
                is_beside: rails.is_beside || rails.is_last,
                is_last: false,
                ..rails
            });
            rows[0].nested = rows.len() - 1;
            rows.iter_mut().for_each(|row| row.rails = rails);
            after.entry(place).or_default().extend(rows);
        }
        let mut all = after.remove(&None).unwrap_or_default();
        all.reserve(count);
        for (at, mut row) in std::mem::take(&mut self.records).into_iter().enumerate() {
            let mut nested = self.nested.remove(&at).unwrap_or_default();
            let rails = row.rails;
            nested.iter_mut().for_each(|row| row.rails = rails);
            row.nested = nested.len();
            all.push(row);
            all.extend(nested);
            all.extend(after.remove(&Some(at)).unwrap_or_default());
        }
        all
    }
}

/// Adds what the stream told of a task to its row.
fn merge(row: &mut StepRow, of: StepRow) {
    use StepState::{Asked, Done, Failed, Next, Running, Stopped};
    let state = match (row.state, of.state) {
        // The records are older than the stream.
        (Next | Running, state) => state,
        (Asked | Failed | Stopped, Running | Done | Asked | Failed) => of.state,
        (known, _) => known,
    };
    row.question = row.question.take().or(of.question);
    row.error = row.error.take().or(of.error).filter(|_| state == Failed);
    row.step = row.step.or(of.step);
    row.started = match row.question.is_some() {
        true => row.started.or(of.started),
        false => of.started.or(row.started),
    };
    row.ended = of.ended.or(row.ended);
    row.is_estimated &= of.started.is_none() || of.ended.is_none();
    row.written = of.written.or(row.written);
    row.seqs = match (row.seqs, of.seqs) {
        (Some((first, last)), Some((from, to))) => Some((first.min(from), last.max(to))),
        (known, seqs) => known.or(seqs),
    };
    row.bar = of.bar.or(row.bar);
    row.run_id = row.run_id.take().or(of.run_id);
    row.state = state;
}
