//! What the views keep for a stream. The viewer passes on what concerns all of them.

use super::events::EventsState;
use super::messages::blocks::Blocks;
use super::messages::run_lines::RunLines;
use super::runs::RunsState;
use super::state::shown::ShownState;
use super::steps::StepsState;
use super::timeline::rows::TimelineRows;
use crate::features::stream::graph::GraphView;
use crate::session::prefs::ViewPrefs;
use crate::widgets::jobs::{JobProgress, PendingJob};
use runtail_stream::projection::Projections;

/// What the views keep for a stream.
#[derive(Debug, Default)]
pub struct ViewStates {
    pub messages: Blocks,
    /// What Messages shows of a thread without messages.
    pub run_lines: RunLines,
    pub state: ShownState,
    pub timeline: TimelineRows,
    pub runs: RunsState,
    pub events: EventsState,
    /// The graph of the thread's assistant.
    pub graph: GraphView,
    /// The steps of the thread.
    pub steps: StepsState,
}

impl ViewStates {
    /// Returns the memory that they use, in bytes.
    pub fn bytes(&self) -> usize {
        self.steps.bytes() + self.run_lines.bytes() + self.graph.bytes()
    }

    /// Applies the user's display options.
    pub fn apply_prefs(&mut self, prefs: &ViewPrefs) {
        self.messages.apply_prefs(prefs);
        if self.events.prices != prefs.prices {
            self.events.prices.clone_from(&prefs.prices);
        }
    }

    /// Drops layouts that belong to another log or another position in it.
    pub fn forget(&mut self, projections: &Projections) {
        self.messages.forget();
        self.run_lines.forget();
        self.runs.forget();
        self.events.forget();
        self.steps.forget();
        self.timeline.forget();
        self.state.forget_others(projections);
    }

    /// Returns the background work.
    pub fn jobs(&self) -> impl Iterator<Item = &PendingJob> {
        self.state.jobs().chain(self.steps.work())
    }

    /// Returns the background work, so that it can be numbered.
    pub fn jobs_mut(&mut self) -> impl Iterator<Item = &mut PendingJob> {
        self.state.jobs_mut().chain(self.steps.work_mut())
    }

    /// Applies a result of the background work.
    pub fn on_job_part(&mut self, number: u64, part: &JobProgress) {
        self.steps.on_job_part(number, part);
        self.state.on_job_part(number, part);
    }
}
