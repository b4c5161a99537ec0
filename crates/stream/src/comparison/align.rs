//! Aligns the steps of two sides, and says what differs.

use super::output::{comparable, what_differs};
use super::steps::{Side, SideSource, Step, StepKind, StepState};
use crate::json::difference::align::heaviest;
use crate::projection::difference::Difference;
use crate::projection::index::JsonIndex;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::sync::Arc;

/// How the two steps of a row relate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Same,
    /// They differ, and in what: `calls`, `text`, `result`, a key of their output, `error`, `question`.
    Differs(String),
    OnlyA,
    OnlyB,
    /// What they wrote is unknown.
    Unknown,
    /// The other side is running and may still reach the step.
    Pending,
}

impl Verdict {
    /// Returns its sign.
    pub fn sign(&self) -> &'static str {
        match self {
            Verdict::Same => "=",
            Verdict::Differs(_) => "≠",
            Verdict::OnlyA => "-",
            Verdict::OnlyB => "+",
            Verdict::Unknown => "?",
            Verdict::Pending => "…",
        }
    }

    /// Returns its word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Differs(_) => "differs",
            Verdict::OnlyA => "only_a",
            Verdict::OnlyB => "only_b",
            Verdict::Unknown => "unknown",
            Verdict::Pending => "pending",
        }
    }

    /// Returns whether it is a difference.
    pub fn is_difference(&self) -> bool {
        matches!(self, Verdict::Differs(_) | Verdict::OnlyA | Verdict::OnlyB)
    }
}

/// A row of a comparison: the indices of a step of each side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub a: Option<usize>,
    pub b: Option<usize>,
    pub verdict: Verdict,
}

/// Whether two sides can be compared step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparability {
    Steps,
    /// They ran different graphs; their names, as far as known.
    DifferentGraphs(String, String),
    /// Steps of A or of B are unknown.
    StepsUnknown([bool; 2]),
    /// They have no node in common.
    NothingInCommon,
}

/// The totals of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// The time of its steps, without those that waited for an answer. Parallel steps count once.
    pub took_ms: Option<u64>,
    /// The time of steps that waited for an answer.
    pub waiting_ms: u64,
    /// Input and output tokens, if any step has a count.
    pub tokens: Option<(u64, u64)>,
    /// Number of tool calls.
    pub calls: u64,
    pub retries: u64,
    /// Number of steps that failed.
    pub failed: u64,
}

/// Two sides, aligned.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub a: Side,
    pub b: Side,
    pub comparability: Comparability,
    /// The rows in order; empty if the sides can't be compared step by step.
    pub rows: Vec<Row>,
    /// The index of the first difference.
    pub first: Option<usize>,
    /// The totals of both sides.
    pub totals: [Totals; 2],
    /// What was not compared.
    pub notes: Vec<String>,
    /// Whether the final states differ, if both are known.
    is_state_different: Option<bool>,
}

impl Comparison {
    /// Compares two sides.
    pub fn of(a: Side, b: Side) -> Comparison {
        let comparability = comparability(&a, &b);
        let mut notes = Vec::new();
        for (name, side) in [("A", &a), ("B", &b)] {
            notes.extend(side.notes.iter().map(|note| format!("{name}: {note}")));
            if side.has_unknown_steps() {
                notes.push(match side.source {
                    SideSource::Recording { .. } => format!("{name}: steps unknown: none are recorded"),
                    SideSource::Thread { .. } => format!(
                        "{name}: steps unknown: the thread's history doesn't list them, maybe because another graph ran later"
                    ),
                });
            }
            if side.steps.len() > 1 && side.steps.iter().all(|step| step.kind == StepKind::Edit) {
                notes.push(format!(
                    "{name} consists of state edits, like a copy made by `reproduce`: its steps can't be aligned; compare the final states"
                ));
            }
        }
        let has_subgraphs = [a.has_subgraphs(), b.has_subgraphs()];
        if has_subgraphs[0] != has_subgraphs[1] {
            let known = if has_subgraphs[0] { "A" } else { "B" };
            notes.push(format!(
                "steps inside nodes are only known of {known} and not compared"
            ));
        }
        let rows = match comparability {
            Comparability::Steps => align(&a, &b, has_subgraphs == [true, true]),
            _ => Vec::new(),
        };
        let first = rows.iter().position(|row| row.verdict.is_difference());
        let totals = [totals(&a), totals(&b)];
        let states = a.final_state().zip(b.final_state());
        let is_state_different = states.map(|(a, b)| comparable(a) != comparable(b));
        Comparison {
            a,
            b,
            comparability,
            rows,
            first,
            totals,
            notes,
            is_state_different,
        }
    }

    /// Lists the steps of a side of which the other one can't be loaded. `which` is 0 for A.
    pub fn alone(side: Side, which: usize) -> Comparison {
        let row = |at: usize| Row {
            a: (which == 0).then_some(at),
            b: (which != 0).then_some(at),
            verdict: Verdict::Unknown,
        };
        let rows = entries(&side, true)
            .iter()
            .map(|entry| row(entry.at))
            .collect();
        let other = Side::new(String::new(), side.source.clone());
        let (a, b) = if which == 0 {
            (side, other)
        } else {
            (other, side)
        };
        let totals = [totals(&a), totals(&b)];
        Comparison {
            a,
            b,
            comparability: Comparability::Steps,
            rows,
            first: None,
            totals,
            notes: Vec::new(),
            is_state_different: None,
        }
    }

    /// Returns whether both sides did the same; `None` if that isn't known.
    pub fn is_same(&self) -> Option<bool> {
        if matches!(self.comparability, Comparability::StepsUnknown(_)) {
            return None;
        }
        if self.comparability != Comparability::Steps
            || self.first.is_some()
            || self.is_state_different() == Some(true)
        {
            return Some(false);
        }
        let are_known =
            self.a.has_node_steps() && self.b.has_node_steps() && self.a.state() == self.b.state();
        let are_rows_same = self.rows.iter().all(|row| row.verdict == Verdict::Same);
        let is_same = are_known && are_rows_same && self.is_same_input() == Some(true);
        (is_same && self.is_state_different() == Some(false)).then_some(true)
    }

    /// Returns whether the final states differ, if both are known.
    pub fn is_state_different(&self) -> Option<bool> {
        self.is_state_different
    }

    /// Returns the steps of a row.
    pub fn steps(&self, row: &Row) -> (Option<&Step>, Option<&Step>) {
        (
            row.a.and_then(|at| self.a.steps.get(at)),
            row.b.and_then(|at| self.b.steps.get(at)),
        )
    }

    /// Returns by how much the step of B took longer than that of A, in milliseconds.
    pub fn time_difference(&self, row: &Row) -> Option<i64> {
        let (a, b) = self.steps(row);
        i64::try_from(b?.took_ms?)
            .ok()?
            .checked_sub(i64::try_from(a?.took_ms?).ok()?)
    }

    /// Returns whether both sides began with the same input, if known.
    pub fn is_same_input(&self) -> Option<bool> {
        let is_input = |row: &&Row| {
            row.a
                .is_some_and(|at| self.a.steps[at].kind == StepKind::Input)
        };
        let row = self.rows.iter().find(is_input)?;
        // A copy made of state edits has no input of its own.
        if row.b.is_none() && !self.b.steps.iter().any(|step| step.kind == StepKind::Input) {
            return None;
        }
        match row.verdict {
            Verdict::Same => Some(true),
            Verdict::Unknown | Verdict::Pending => None,
            _ => Some(false),
        }
    }

    /// Returns how the final states differ, if both are known.
    pub fn state_difference(&self) -> Option<Difference> {
        let index = |side: &Side| {
            Some(Arc::new(JsonIndex::new(Arc::<str>::from(
                comparable(side.final_state()?).to_string(),
            ))))
        };
        Some(Difference::of(index(&self.a)?, index(&self.b)?))
    }

    /// Returns a row as JSON.
    pub fn row_json(&self, row: &Row) -> Value {
        let (a, b) = self.steps(row);
        let of = a.or(b);
        let what = match &row.verdict {
            Verdict::Differs(what) => Some(what),
            _ => None,
        };
        json!({
            "verdict": row.verdict.word(),
            "differs": what,
            "step": of.and_then(|step| step.step),
            "node": of.map(|step| &step.node),
            "namespace": of.map(|step| &step.namespace),
            "time_difference_ms": self.time_difference(row),
            "a": a,
            "b": b,
        })
    }
}

fn comparability(a: &Side, b: &Side) -> Comparability {
    if let (Some(x), Some(y)) = (&a.graph_id, &b.graph_id)
        && x != y
    {
        return Comparability::DifferentGraphs(x.clone(), y.clone());
    }
    let are_unknown = [a, b].map(Side::has_unknown_steps);
    if are_unknown != [false, false] {
        return Comparability::StepsUnknown(are_unknown);
    }
    let nodes = |side: &Side| -> Vec<String> {
        // A question in a recording may not name its node.
        let counts = |step: &&Step| step.kind == StepKind::Node && step.state != StepState::Waiting;
        side.steps
            .iter()
            .filter(counts)
            .map(|step| step.node.clone())
            .collect()
    };
    let (of_a, of_b) = (nodes(a), nodes(b));
    let are_disjoint =
        !of_a.is_empty() && !of_b.is_empty() && !of_a.iter().any(|node| of_b.contains(node));
    let is_same_graph = a.graph_id.is_some() && a.graph_id == b.graph_id;
    if are_disjoint && !is_same_graph {
        Comparability::NothingInCommon
    } else {
        Comparability::Steps
    }
}

fn totals(side: &Side) -> Totals {
    let mut totals = Totals {
        retries: side.retries,
        ..Totals::default()
    };
    // Parallel steps of a graph run at the same time.
    let mut parallel: Option<(Option<i64>, u64)> = None;
    let mut took = 0_u64;
    let mut is_timed = false;
    for step in &side.steps {
        if let Some((input, output)) = step.input_tokens.zip(step.output_tokens) {
            let (all_input, all_output) = totals.tokens.unwrap_or_default();
            totals.tokens = Some((
                all_input.saturating_add(input),
                all_output.saturating_add(output),
            ));
        }
        totals.failed += u64::from(step.state == StepState::Failed);
        if !step.namespace.is_empty() {
            continue;
        }
        totals.calls += step.calls.len() as u64;
        let Some(ms) = step.took_ms else { continue };
        if step.asked {
            totals.waiting_ms = totals.waiting_ms.saturating_add(ms);
            continue;
        }
        is_timed = true;
        match &mut parallel {
            Some((of, longest)) if *of == step.step && of.is_some() => {
                *longest = (*longest).max(ms)
            }
            _ => {
                took =
                    took.saturating_add(parallel.replace((step.step, ms)).map_or(0, |(_, ms)| ms))
            }
        }
    }
    took = took.saturating_add(parallel.map_or(0, |(_, ms)| ms));
    totals.took_ms = is_timed.then_some(took);
    totals
}

/// What identifies a step in an alignment: its graph, its node, and the tools that it ran.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Key<'a> {
    namespace: &'a [String],
    kind: StepKind,
    node: &'a str,
    results: &'a [String],
}

struct Entry<'a> {
    at: usize,
    step: &'a Step,
    key: Key<'a>,
}

impl Entry<'_> {
    fn weight(&self, other: &Entry<'_>) -> u32 {
        if self.key != other.key {
            return 0;
        }
        // An equal output is worth more than the same step number, and any match more than none.
        let is_equal =
            self.step.fingerprint.is_some() && self.step.fingerprint == other.step.fingerprint;
        8 + if is_equal { 6 } else { 0 } + u32::from(self.step.step == other.step.step)
    }

    fn order(&self, other: &Entry<'_>) -> Ordering {
        let (a, b) = (self.step, other.step);
        (a.step, &self.key, &a.fingerprint).cmp(&(b.step, &other.key, &b.fingerprint))
    }
}

/// Returns the steps in the order in which they are aligned: parallel steps by name, because they end in any order.
fn entries(side: &Side, with_subgraphs: bool) -> Vec<Entry<'_>> {
    let entry = |(at, step)| {
        let Step {
            namespace,
            kind,
            node,
            results,
            ..
        }: &Step = step;
        Entry {
            at,
            step,
            key: Key {
                namespace,
                kind: *kind,
                node,
                results,
            },
        }
    };
    // A step and the steps inside of it stay together.
    let mut groups: Vec<Vec<Entry<'_>>> = Vec::new();
    for entry in side.steps.iter().enumerate().map(entry) {
        match groups.last_mut() {
            Some(group) if !entry.key.namespace.is_empty() => group.push(entry),
            _ => groups.push(vec![entry]),
        }
    }
    let mut from = 0;
    while from < groups.len() {
        let step = groups[from][0].step.step;
        let count = groups[from..]
            .iter()
            .take_while(|group| step.is_some() && group[0].step.step == step)
            .count();
        let count = count.max(1);
        groups[from..from + count].sort_by(|x, y| x[0].key.cmp(&y[0].key));
        from += count;
    }
    let all = groups.into_iter().flatten();
    all.filter(|entry| with_subgraphs || entry.key.namespace.is_empty())
        .collect()
}

/// Aligns two lists of steps.
fn align(a: &Side, b: &Side, with_subgraphs: bool) -> Vec<Row> {
    let (of_a, of_b) = (entries(a, with_subgraphs), entries(b, with_subgraphs));
    let is_running = [a.is_running, b.is_running];
    let same_source = std::mem::discriminant(&a.source) == std::mem::discriminant(&b.source);
    let mut rows: Vec<Row> = pairs(&of_a, &of_b)
        .into_iter()
        .map(|(x, y)| {
            let (x, y) = (x.and_then(|x| of_a.get(x)), y.and_then(|y| of_b.get(y)));
            let verdict = match (x, y) {
                (Some(x), Some(y)) => verdict(x.step, y.step, same_source),
                (Some(_), None) if is_running[1] => Verdict::Pending,
                (None, Some(_)) if is_running[0] => Verdict::Pending,
                (Some(_), None) => Verdict::OnlyA,
                (None, _) => Verdict::OnlyB,
            };
            Row {
                a: x.map(|x| x.at),
                b: y.map(|y| y.at),
                verdict,
            }
        })
        .collect();
    // Where neither has a counterpart, the steps of A are before those of B, each in their own order.
    let is_alone = |row: &Row| row.a.is_none() || row.b.is_none();
    for group in rows.chunk_by_mut(|x, y| is_alone(x) && is_alone(y)) {
        group.sort_by_key(|row| (row.a.is_none(), row.a.or(row.b)));
    }
    rows
}

/// Returns the aligned pairs of indices, in order. Equal beginnings and ends are aligned first, because most runs differ in a
/// few steps.
fn pairs(a: &[Entry<'_>], b: &[Entry<'_>]) -> Vec<(Option<usize>, Option<usize>)> {
    let is_equal = |x: &Entry<'_>, y: &Entry<'_>| x.weight(y) == 15;
    let shorter = a.len().min(b.len());
    let start = (0..shorter).take_while(|&n| is_equal(&a[n], &b[n])).count();
    let end = (0..shorter - start)
        .take_while(|&n| is_equal(&a[a.len() - 1 - n], &b[b.len() - 1 - n]))
        .count();
    let (inner_a, inner_b) = (&a[start..a.len() - end], &b[start..b.len() - end]);
    let mut pairs: Vec<_> = (0..start).map(|n| (Some(n), Some(n))).collect();
    let at = |(x, y): (Option<usize>, Option<usize>)| (x.map(|x| x + start), y.map(|y| y + start));
    let inner = heaviest(
        (inner_a.len(), inner_b.len()),
        |i, j| inner_a[i].weight(&inner_b[j]),
        |i, j| inner_a[i].order(&inner_b[j]).is_le(),
    );
    let inner = inner.unwrap_or_else(|| by_step(inner_a, inner_b));
    pairs.extend(inner.into_iter().map(at));
    pairs.extend(
        (0..end)
            .rev()
            .map(|n| (Some(a.len() - 1 - n), Some(b.len() - 1 - n))),
    );
    pairs
}

/// Aligns long lists by step number and key only.
fn by_step(a: &[Entry<'_>], b: &[Entry<'_>]) -> Vec<(Option<usize>, Option<usize>)> {
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::with_capacity(a.len().max(b.len()));
    while i < a.len() && j < b.len() {
        let order = (a[i].step.step, &a[i].key).cmp(&(b[j].step.step, &b[j].key));
        pairs.push((order.is_le().then_some(i), order.is_ge().then_some(j)));
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
    pairs.extend((i..a.len()).map(|i| (Some(i), None)));
    pairs.extend((j..b.len()).map(|j| (None, Some(j))));
    pairs
}

/// Compares two aligned steps. `same_source`: whether both come from the same kind of source.
fn verdict(a: &Step, b: &Step, same_source: bool) -> Verdict {
    if matches!(a.state, StepState::Running) || matches!(b.state, StepState::Running) {
        return Verdict::Pending;
    }
    let has = |state: StepState| (a.state == state) != (b.state == state);
    if has(StepState::Failed) || a.error != b.error {
        return Verdict::Differs("error".into());
    }
    if has(StepState::Waiting) {
        return Verdict::Differs("question".into());
    }
    if has(StepState::Stopped) {
        return Verdict::Differs("stopped".into());
    }
    let (Some(x), Some(y)) = (&a.fingerprint, &b.fingerprint) else {
        return Verdict::Unknown;
    };
    if x == y {
        return Verdict::Same;
    }
    // A stream has the state after an input, a history the input itself.
    if a.kind == StepKind::Input && !same_source {
        return Verdict::Unknown;
    }
    if a.state == StepState::Waiting {
        return Verdict::Differs("question".into());
    }
    Verdict::Differs(match (&a.output, &b.output) {
        (Some(x), Some(y)) => what_differs(&comparable(x), &comparable(y)),
        _ => "output".into(),
    })
}
