//! Short texts of a comparison, shared by the page and the command.

use super::align::{Comparability, Comparison, Row, Totals, Verdict};
use super::steps::{Side, SideSource, Step, StepState};
use runtail_core::text::{count, counted, duration};
use std::time::Duration;

/// Returns a duration: `0.4s`, `2m49s`, and below 50 ms `12ms`.
pub fn took(ms: u64) -> String {
    if ms > 0 && ms < 50 {
        format!("{ms}ms")
    } else {
        duration(Duration::from_millis(ms))
    }
}

/// Returns a signed difference of durations; empty if there is none.
pub fn time_difference(ms: i64) -> String {
    match ms {
        0 => String::new(),
        ms => format!(
            "{}{}",
            if ms < 0 { '-' } else { '+' },
            took(ms.unsigned_abs())
        ),
    }
}

impl Step {
    /// Returns how long it took; empty if unknown.
    pub fn took(&self) -> String {
        self.took_ms.map(took).unwrap_or_default()
    }

    /// Returns its tokens: `31→48`; empty if unknown.
    pub fn tokens(&self) -> String {
        let tokens = self.input_tokens.zip(self.output_tokens);
        tokens
            .map(|(input, output)| format!("{}→{}", count(input), count(output)))
            .unwrap_or_default()
    }

    /// Returns the sign of its state; empty if it finished without a question.
    pub fn sign(&self) -> &'static str {
        match self.state {
            StepState::Running => "◐",
            StepState::Waiting => "◆",
            StepState::Failed => "✗",
            StepState::Stopped => "■",
            StepState::Done if self.asked => "◆",
            StepState::Done => "",
        }
    }

    /// Returns its name without its tools, with the nodes that contain it: `research › search`.
    pub fn place(&self) -> String {
        let outer = self.namespace.iter().map(|node| format!("{node} › "));
        outer.collect::<String>() + self.name()
    }

    /// Returns what it did, without its node: `2 calls`, `list_invoices`.
    pub fn tools(&self) -> String {
        match (self.results.as_slice(), self.calls.as_slice()) {
            ([], []) => String::new(),
            ([], [call]) => call.clone(),
            ([], calls) => format!("{} calls", calls.len()),
            (results, _) => results.join(", "),
        }
    }
}

impl Side {
    /// Returns its state in the words of a thread's runs; empty if it is unknown.
    pub fn state(&self) -> &str {
        let has = |state: StepState| self.steps.iter().any(|step| step.state == state);
        let is_recording = matches!(self.source, SideSource::Recording { .. });
        match self.status.as_str() {
            "pending" | "queued" => "queued",
            _ if self.is_running => "running",
            "success" => "finished",
            "error" => "failed",
            "timeout" => "timed out",
            "cancelled" | "canceled" => "cancelled",
            // Servers give a cancelled run the same status as one that asks.
            "interrupted" if is_recording || has(StepState::Waiting) => "paused to ask",
            "interrupted" if has(StepState::Stopped) => "cancelled",
            "detached" => "still running when recorded",
            "unknown" => "outcome unknown",
            other => other,
        }
    }
}

impl Comparison {
    /// Returns the place of the first difference: `step 3`.
    pub fn first_difference(&self) -> Option<String> {
        let row = self.rows.get(self.first?)?;
        let (a, b) = self.steps(row);
        let step = a.or(b)?;
        Some(match step.step {
            Some(number) => format!("step {number}"),
            None => step.place(),
        })
    }

    /// Returns what both sides have in common: `same input · same graph`.
    pub fn common(&self) -> String {
        let mut parts = Vec::new();
        match self.is_same_input() {
            Some(true) => parts.push("same input"),
            Some(false) => parts.push("different input"),
            None if self.rows.iter().all(|row| row.verdict == Verdict::Same)
                && !self.rows.is_empty() =>
            {
                parts.push("input unknown");
            }
            None => {}
        }
        match (&self.a.graph_id, &self.b.graph_id) {
            (Some(a), Some(b)) if a == b => parts.push("same graph"),
            (Some(_), Some(_)) => parts.push("different graphs"),
            _ => {}
        }
        // Where a step differs, so do the states after it.
        if self.comparability == Comparability::Steps && self.first.is_none() {
            match self.is_state_different() {
                Some(true) => parts.push("final states differ"),
                Some(false) => parts.push("same final state"),
                None if !self.is_running() => parts.push("final state unknown"),
                None => {}
            }
        }
        parts.join(" · ")
    }

    /// Returns why only totals are compared.
    pub fn not_comparable(&self) -> Option<String> {
        match &self.comparability {
            Comparability::Steps => None,
            Comparability::DifferentGraphs(a, b) => {
                Some(format!("Different graphs ({a}, {b}): showing totals only."))
            }
            Comparability::StepsUnknown(of) => {
                let which = match of {
                    [true, true] => "A and B",
                    [true, false] => "A",
                    _ => "B",
                };
                Some(format!("? Steps unknown: those of {which} are not listed."))
            }
            Comparability::NothingInCommon => {
                Some("No node in common: showing totals only.".into())
            }
        }
    }

    /// Returns the totals of A and of B on a line each; that of B says how much faster or slower it was.
    pub fn total_lines(&self) -> [String; 2] {
        let [a, b] = &self.totals;
        let mut of_b = total(&self.b, b);
        let are_whole =
            !self.is_running() && !self.a.has_unknown_steps() && !self.b.has_unknown_steps();
        if are_whole && let Some((a, b)) = a.took_ms.zip(b.took_ms) {
            let (words, ms) = if b < a {
                ("faster", a - b)
            } else {
                ("slower", b - a)
            };
            if ms > 0 {
                of_b.push_str(&format!(" · {} {words}", took(ms)));
            }
        }
        [total(&self.a, a), of_b]
    }

    /// Returns whether more steps may follow on a side.
    pub fn is_running(&self) -> bool {
        self.a.is_running || self.b.is_running
    }

    /// Returns whether one step of a row took over twice as long as the other.
    pub fn is_much_slower(&self, row: &Row) -> bool {
        let (a, b) = self.steps(row);
        let times = a.and_then(|a| a.took_ms).zip(b.and_then(|b| b.took_ms));
        times.is_some_and(|(a, b)| a.max(b) > a.min(b).saturating_mul(2))
    }
}

fn total(side: &Side, totals: &Totals) -> String {
    if side.has_unknown_steps() {
        return match side.has_node_steps() {
            true => "unknown: not all steps are recorded".into(),
            false => "unknown: no steps are recorded".into(),
        };
    }
    let mut time = totals.took_ms.map(took).unwrap_or_default();
    if totals.waiting_ms > 0 {
        let plus = if time.is_empty() { "" } else { " + " };
        time.push_str(&format!("{plus}{} waiting", took(totals.waiting_ms)));
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend((!time.is_empty()).then_some(time));
    parts.extend(
        totals
            .tokens
            .map(|(input, output)| format!("{} in, {} out", count(input), count(output))),
    );
    let some = |n: u64, noun: &str| (n > 0).then(|| counted(n, noun));
    parts.extend(some(totals.calls, "call"));
    parts.extend(some(totals.failed, "failed step").map(|text| format!("✗ {text}")));
    parts.extend(some(totals.retries, "retry").map(|text| format!("✗ {text}")));
    match parts.is_empty() {
        true if side.has_node_steps() => "unknown".into(),
        true if side.is_running => "no steps yet".into(),
        true => "no steps".into(),
        false => parts.join(" · "),
    }
}
