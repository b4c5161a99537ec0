//! What the server's records say of runs: their real times, and the steps of runs that the stream has not shown.

use super::fold::{DETAIL, Timed, Told};
use super::{Attempt, BarSource, BarState, Timeline};
use crate::projection::status::{Checkpoint, RunEntry, RunOutcome};
use crate::stream::Namespace;
use crate::text;

impl Attempt {
    /// Takes the server's record of its run, for its first attempt or for a later one.
    pub(super) fn take_record(&mut self, run: &RunEntry, is_first: bool) {
        if let Some(began) = run.began.filter(|_| is_first && !self.known.start) {
            (self.started, self.known.start) = (began, true);
        }
        let is_open = self.ended.is_none();
        if let Some(ended) = run.ended.filter(|_| run.outcome.is_over() && (is_open || !self.known.end)) {
            (self.ended, self.known.end) = (Some(ended.max(self.started)), true);
        }
        let state = match run.outcome {
            RunOutcome::Queued | RunOutcome::Running => return,
            RunOutcome::Finished => BarState::Done,
            RunOutcome::Asked | RunOutcome::Paused => BarState::Interrupted,
            RunOutcome::Failed | RunOutcome::TimedOut => BarState::Failed,
            RunOutcome::Cancelled | RunOutcome::Deleted => BarState::Abandoned,
            RunOutcome::Unknown => return,
        };
        self.state = state;
        self.detail = match run.outcome {
            RunOutcome::Cancelled | RunOutcome::Deleted => Some(run.outcome.word().into()),
            _ => run.error.clone().or(self.detail.take()),
        };
    }
}

impl Timeline {
    /// A run of which the stream showed nothing: only the server's record and the history tell of it.
    pub(super) fn begin_recorded<'a>(&mut self, run: &RunEntry, checkpoints: impl Iterator<Item = &'a Checkpoint>) {
        let Some(began) = run.began else { return };
        let seq = run.end_seq.or(run.first_seq).unwrap_or_default();
        let timed = Timed { at: began, known: true, server: Some(None) };
        self.begin(run.run_id.clone(), 1, seq, timed);
        self.steps_of(run, seq, checkpoints);
        if let Some(attempt) = self.attempts.back_mut() {
            attempt.is_recorded = true;
            attempt.take_record(run, true);
        }
    }

    /// The steps of a run by its checkpoints: each names the nodes that run next, until the time of the one after it.
    fn steps_of<'a>(&mut self, run: &RunEntry, seq: u64, checkpoints: impl Iterator<Item = &'a Checkpoint>) {
        let mut checkpoints = checkpoints.map(|checkpoint| &checkpoint.facts).peekable();
        while let Some(facts) = checkpoints.next() {
            let Some(began) = facts.created_at else { continue };
            let next = checkpoints.peek();
            let ended = next.map_or(run.ended, |next| next.created_at);
            for task in facts.tasks.iter().filter(|task| !task.node.starts_with("__")) {
                let told = Told { seq, time: began, known: true, source: BarSource::Checkpoints };
                let id = Some(task.id.as_str()).filter(|id| !id.is_empty());
                let step = facts.step.map(|step| step + 1);
                let key = self.add_node(None, &task.node, id, Namespace::default(), step, told, false);
                // Of nodes that ran together the checkpoint after them tells when the slowest was done.
                let is_alone = facts.tasks.len() == 1;
                if let Some(bar) = self.bar_mut(key) {
                    bar.estimated = !is_alone;
                }
                let (state, detail) = match (&task.error, next) {
                    (Some(error), _) if task.is_failed() => (BarState::Failed, Some(text::head(error, DETAIL).into())),
                    (Some(_), _) => (BarState::Abandoned, None),
                    (None, None) if !task.questions.is_empty() => (BarState::Interrupted, None),
                    (None, None) if !task.has_result => (BarState::Abandoned, None),
                    _ => (BarState::Done, None),
                };
                if let Some(ended) = ended.filter(|_| run.outcome.is_over() || next.is_some()) {
                    self.close(key, state, detail, Told { time: ended, ..told });
                }
            }
        }
    }
}
