//! One run in all views: the filter accepts only its events, and the cursor stays within them.

use super::{Slot, Viewer};
use crate::features::stream::views::View;
use crate::widgets::scroll::LinePos;
use runtail_stream::Seq;
use runtail_stream::projection::RunEntry;
use std::sync::Arc;

impl Viewer {
    /// Returns the run that all views show alone.
    pub fn only_run(&self) -> Option<&Arc<str>> {
        self.find.filter.run()
    }

    /// Shows one run alone in all views, or all runs again.
    pub fn show_only_run(&mut self, run: Option<Arc<str>>) {
        // A run is shown from its end; the newest one as it goes on.
        self.anchor = self.anchor.filter(|_| run.is_none());
        self.find.filter = self.find.filter.of_run(run);
        self.slots.iter_mut().for_each(Slot::forget);
        self.views.timeline.forget();
        self.unsync();
    }

    /// Returns the place of the run after or before the one that is shown alone.
    pub(in crate::features::stream) fn other_run(&self, forward: bool) -> Option<usize> {
        let runs = self.projections.status.runs();
        let is_shown = |run: &RunEntry| run.run_id.as_ref() == self.only_run();
        let at = runs.iter().position(is_shown)?;
        let is_named = |at: &usize| runs[*at].run_id.is_some();
        match forward {
            true => (at + 1..runs.len()).find(is_named),
            false => (0..at).rfind(is_named),
        }
    }

    /// Shows the next or previous run alone. Returns false if there is none.
    pub fn show_other_run(&mut self, forward: bool) -> bool {
        let Some(next) = self.other_run(forward) else {
            return false;
        };
        let run = self.projections.status.runs()[next].run_id.clone();
        self.show_only_run(run);
        if let Some(key) = self.views.runs.key_of_run(next) {
            self.update_place(View::Runs, |place, rows, height| {
                place.go(rows, height, LinePos::of(key));
            });
        }
        true
    }

    /// Returns the run that is under the cursor in Runs, or that is shown alone.
    pub(in crate::features::stream) fn chosen_run(&self) -> Option<&RunEntry> {
        let under_cursor = self.view().of().run_under_cursor(self);
        under_cursor
            .filter(|_| self.view() == View::Runs)
            .or_else(|| self.run_entry(self.only_run()?))
    }

    /// Returns the name and the place of the run that is shown alone: `run 3 of 4`.
    pub fn only_run_name(&self) -> Option<String> {
        let runs = self.projections.status.runs();
        let id = self.only_run()?;
        Some(
            match runs.iter().find(|run| run.run_id.as_ref() == Some(id)) {
                Some(run) => format!("{} of {}", run.name(), runs.len()),
                None => format!("run {}", runtail_core::text::short_id(id)),
            },
        )
    }

    /// Returns the first event of a run, and its last one if other events follow; `None` if the stream has none of it.
    pub(crate) fn extent_of(&self, run: &RunEntry) -> Option<(Seq, Option<Seq>)> {
        let first = run.first_seq?;
        let landmarks = &self.projections.landmarks;
        let known = run.run_id.as_deref().and_then(|id| landmarks.extent_of(id));
        known.or(Some((first, run.end_seq)))
    }

    /// Returns whether the run that is shown alone has no events here and isn't the newest one, whose state is the thread's.
    pub(crate) fn shows_only_records(&self) -> bool {
        let runs = self.projections.status.runs();
        let is_shown = |run: &&RunEntry| run.run_id.as_ref() == self.only_run();
        let run = runs
            .iter()
            .find(is_shown)
            .filter(|_| self.only_run().is_some());
        let is_newest = runs
            .last()
            .is_some_and(|last| last.run_id.as_ref() == self.only_run());
        run.is_some_and(|run| self.extent_of(run).is_none()) && !is_newest
    }

    /// Moves the cursor into the run that is shown alone. The newest run is followed.
    pub(super) fn keep_in_scope(&mut self) {
        let runs = self.projections.status.runs();
        let Some(id) = self.only_run() else { return };
        let Some(at) = runs.iter().position(|run| run.run_id.as_ref() == Some(id)) else {
            return;
        };
        let Some((first, last)) = self.extent_of(&runs[at]) else {
            return;
        };
        let newest = self.event_log.last_seq();
        let first = first
            .max(self.event_log.first_seq().unwrap_or_default())
            .min(newest);
        let last = last.filter(|last| *last < newest && at + 1 < runs.len());
        let kept = match self.anchor {
            Some(seq) => Some(seq.clamp(first, last.unwrap_or(newest).max(first))),
            None => last.map(|last| last.max(first)),
        };
        if kept != self.anchor {
            self.anchor = kept;
            self.unsync();
        }
    }
}
