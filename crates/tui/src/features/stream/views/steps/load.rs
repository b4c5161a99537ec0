//! Loading the history page by page, and the states that are shown.

use super::{Purpose, StepsState};
use crate::session::checkpoints::{
    CheckpointDetails, CheckpointPage, CheckpointState, HistoryRequest,
};
use crate::widgets::scroll::Place;
use runtail_api::{ApiError, Kind};
use runtail_core::model::{Checkpoint, CheckpointTree, Parent};
use runtail_core::text;
use runtail_stream::Seq;
use std::collections::HashSet;
use std::sync::Arc;

/// Checkpoints per page.
pub(super) const PAGE: usize = 50;
/// Checkpoints that are requested to see what is new.
pub(super) const REFRESH: usize = 20;
/// Maximum number of loaded checkpoints.
pub(super) const MAX_CHECKPOINTS: usize = 10_000;
/// Maximum number of states that are loaded at once.
const MAX_STATES: usize = 3;
/// Why there is no state at a checkpoint that was listed before.
const GONE: &str = "The server no longer has this checkpoint. Press r to reload.";

/// What is loaded, and what is being loaded.
#[derive(Debug, Default)]
pub(super) struct Loading {
    /// Whether a page was loaded.
    has_page: bool,
    /// Whether the oldest checkpoint is loaded.
    pub is_complete: bool,
    /// Whether the checkpoints are those of a recording's snapshot.
    pub is_recorded: bool,
    /// The requests in progress, with their numbers.
    requests: Vec<(u64, HistoryRequest)>,
    /// Why the history could not be loaded.
    pub failure: Option<Failure>,
    /// The oldest checkpoint that was received, in the server's order.
    oldest: Option<String>,
    /// What was known of the thread when the newest page was requested.
    seen: Known,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Failure {
    /// The server has no history.
    NotOffered,
    Request(Box<ApiError>),
    /// The task of the request panicked.
    Task(String),
}

/// What makes a reload necessary when it changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    pub thread: Option<String>,
    /// The newest snapshot of the thread.
    pub snapshot: Option<Seq>,
    /// How often the user refreshed.
    pub refreshes: u64,
}

/// An outcome that the view acts on.
pub(super) enum Arrived {
    Nothing,
    /// The awaited state.
    State(Purpose, String, Arc<CheckpointState>),
    /// The awaited details of a checkpoint.
    Details(String, CheckpointDetails),
    /// What was awaited could not be loaded.
    Failed(String),
}

impl StepsState {
    /// Returns the requests in progress, with their numbers.
    pub fn requests(&self) -> impl Iterator<Item = (u64, HistoryRequest)> + '_ {
        self.loading.requests.iter().cloned()
    }

    /// Returns a request that was answered, if it is still wanted.
    fn take_request(&mut self, number: u64) -> Option<HistoryRequest> {
        let requests = &mut self.loading.requests;
        let at = requests.iter().position(|(known, _)| *known == number)?;
        Some(requests.remove(at).1)
    }

    /// Returns whether a request is in progress.
    pub fn has_request(&self, number: u64) -> bool {
        self.loading
            .requests
            .iter()
            .any(|(known, _)| *known == number)
    }

    pub(super) fn is_loading_page(&self) -> bool {
        let is_page = |request: &HistoryRequest| matches!(request, HistoryRequest::Page { .. });
        self.loading
            .requests
            .iter()
            .any(|(_, request)| is_page(request))
    }

    /// Returns whether an action waits for the state at a checkpoint.
    pub fn awaits_state(&self) -> bool {
        self.awaited.is_some()
    }

    /// Decides what to load for what is shown. `number` returns the number of a new request.
    pub fn request(&mut self, known: Known, number: impl Fn() -> u64) {
        if known.thread != self.loading.seen.thread {
            // A checkpoint may be awaited before the first page.
            let is_first = self.loading.seen.thread.is_none();
            let (wanted, awaited) = match is_first {
                true => (self.wanted.take(), self.awaited.take()),
                false => (None, None),
            };
            *self = StepsState {
                wanted,
                awaited,
                joins: self.joins,
                ..StepsState::default()
            };
            self.loading.seen.thread = known.thread.clone();
        }
        if known.thread.is_none() {
            return;
        }
        if known.refreshes != self.loading.seen.refreshes {
            self.loading.failure = None;
            self.states.failed.clear();
            self.lacks_states = false;
        }
        self.request_page(known, &number);
        self.request_states(&number);
    }

    fn request_page(&mut self, known: Known, number: impl Fn() -> u64) {
        if self.is_loading_page() || self.loading.failure.is_some() {
            return;
        }
        let (before, limit) = if !self.loading.has_page {
            (None, PAGE)
        } else if known != self.loading.seen {
            (None, REFRESH)
        } else if !self.loading.is_complete
            && self.is_near_start
            && self.pages.len() < MAX_CHECKPOINTS
        {
            (self.loading.oldest.clone(), PAGE)
        } else {
            return;
        };
        if before.is_none() {
            self.loading.seen = known;
        }
        let page = HistoryRequest::Page { before, limit };
        self.loading.requests.push((number(), page));
    }

    fn request_states(&mut self, number: impl Fn() -> u64) {
        let mut wanted: Vec<String> = self.awaited.iter().map(|(id, _)| id.clone()).collect();
        if let Some((old, new)) = self.pair().filter(|_| self.is_open) {
            wanted.extend([new, old]);
        }
        wanted.retain(|id| {
            !id.is_empty() && self.states.get(id).is_none() && !self.states.failed.contains_key(id)
        });
        wanted.dedup();
        wanted.truncate(MAX_STATES);
        let requests = &mut self.loading.requests;
        requests.retain(|(_, request)| match request {
            HistoryRequest::State { checkpoint } => wanted.contains(checkpoint),
            _ => true,
        });
        for checkpoint in wanted {
            let state = HistoryRequest::State { checkpoint };
            if !requests.iter().any(|(_, known)| *known == state) {
                requests.push((number(), state));
            }
        }
    }

    /// Applies a page, if it is still the requested one.
    pub fn on_page(&mut self, number: u64, page: Result<CheckpointPage, ApiError>) {
        let Some(HistoryRequest::Page { before, .. }) = self.take_request(number) else {
            return;
        };
        match page {
            Ok(page) => self.add_page(before.is_some(), page),
            Err(error) if error.may_lack_call() && !self.loading.has_page => {
                self.loading.failure = Some(Failure::NotOffered);
            }
            Err(error) => self.loading.failure = Some(Failure::Request(Box::new(error))),
        }
    }

    fn add_page(&mut self, is_older_page: bool, page: CheckpointPage) {
        let is_new = |checkpoint: &Checkpoint| self.pages.find(&checkpoint.id).is_none();
        let has_new = page.checkpoints.iter().any(is_new);
        let overlaps = !page.checkpoints.iter().all(is_new);
        let last = page
            .checkpoints
            .last()
            .map(|checkpoint| checkpoint.id.clone());
        let mut all: Vec<Arc<Checkpoint>> = self.pages.entries().to_vec();
        if is_older_page {
            // A server that ignores `before` would return the same page forever.
            self.loading.is_complete = page.is_last || !has_new;
            self.loading.oldest = last.or(self.loading.oldest.take());
        } else if page.is_last || !overlaps || !self.loading.has_page {
            // This is all there is, or there are so many new ones that those between are unknown.
            all.clear();
            self.loading.is_complete = page.is_last;
            self.loading.oldest = last;
        } else {
            // What the server no longer has in this range was deleted, as a rollback does.
            let kept: HashSet<&str> = page
                .checkpoints
                .iter()
                .map(|checkpoint| &*checkpoint.id)
                .collect();
            let from = page
                .checkpoints
                .iter()
                .map(|checkpoint| &checkpoint.id)
                .min()
                .cloned()
                .unwrap_or_default();
            all.retain(|checkpoint| checkpoint.id < from || kept.contains(&*checkpoint.id));
        }
        self.loading.has_page = true;
        let pages = page.checkpoints.into_iter().map(Arc::new);
        self.pages = Arc::new(CheckpointTree::new(all.into_iter().chain(pages)));
    }

    /// Shows the checkpoints of a recording's snapshots, which have no states.
    pub(super) fn show_recorded(&mut self) {
        self.loading.is_recorded = true;
    }

    /// Applies a state, if it is still wanted.
    pub(super) fn on_state(
        &mut self,
        number: u64,
        state: Result<Option<Arc<CheckpointState>>, ApiError>,
    ) -> Arrived {
        let Some(HistoryRequest::State { checkpoint: id }) = self.take_request(number) else {
            return Arrived::Nothing;
        };
        let purpose = self
            .awaited
            .take_if(|(awaited, _)| *awaited == id)
            .map(|(_, purpose)| purpose);
        let why = match state {
            Ok(Some(state)) => {
                let pair = self.pair();
                let shown: Vec<String> =
                    pair.into_iter().flat_map(|(old, new)| [old, new]).collect();
                self.states.keep(id.clone(), state.clone(), &shown);
                return purpose.map_or(Arrived::Nothing, |purpose| {
                    Arrived::State(purpose, id, state)
                });
            }
            Ok(None) => GONE.to_string(),
            Err(error) => self.state_error(&error),
        };
        self.states.failed.insert(id, why.clone());
        if purpose.is_some() {
            Arrived::Failed(why)
        } else {
            Arrived::Nothing
        }
    }

    fn state_error(&mut self, error: &ApiError) -> String {
        if error.may_lack_call() {
            self.lacks_states = true;
            let why = match error.kind {
                Kind::NotFound => {
                    "The state is missing: the server doesn't offer this call, or the thread was deleted. Press r to reload."
                }
                _ => {
                    "This server has no states of checkpoints: no comparing, editing or running again."
                }
            };
            return why.to_string();
        }
        format!(
            "Couldn't load the state: {}. Press r to retry.",
            error.cause()
        )
    }

    /// Requests the details of a checkpoint.
    pub(super) fn request_details(&mut self, checkpoint: String, number: u64) {
        self.forget_details();
        let details = HistoryRequest::Details { checkpoint };
        self.loading.requests.push((number, details));
    }

    /// Drops the details that are awaited.
    pub(super) fn forget_details(&mut self) {
        let is_other =
            |request: &HistoryRequest| !matches!(request, HistoryRequest::Details { .. });
        self.loading
            .requests
            .retain(|(_, request)| is_other(request));
    }

    /// Applies the details of a checkpoint, if they are still wanted.
    pub(super) fn on_details(
        &mut self,
        number: u64,
        details: Result<Option<CheckpointDetails>, ApiError>,
    ) -> Arrived {
        let Some(HistoryRequest::Details { checkpoint: id }) = self.take_request(number) else {
            return Arrived::Nothing;
        };
        match details {
            Ok(Some(details)) => Arrived::Details(id, details),
            Ok(None) => Arrived::Failed(GONE.to_string()),
            Err(error) => Arrived::Failed(self.state_error(&error)),
        }
    }

    /// Records that the task of a request failed.
    pub fn on_panic(&mut self, number: u64, why: &str) {
        match self.take_request(number) {
            Some(HistoryRequest::Page { .. }) => {
                self.loading.failure = Some(Failure::Task(why.to_string()));
            }
            Some(HistoryRequest::State { checkpoint }) => {
                let why = format!("Couldn't load the state: {why}");
                self.states.failed.insert(checkpoint, why);
            }
            Some(HistoryRequest::Details { .. }) | None => {}
        }
    }

    /// Returns why a state could not be loaded.
    pub(super) fn state_failure(&self, id: &str) -> Option<&str> {
        self.states.failed.get(id).map(String::as_str)
    }

    /// Returns the lines about what the rows lack, if they lack anything.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match &self.loading.failure {
            Some(failure) if self.pages.is_empty() => notes.push(failure_text(failure)),
            Some(failure) => {
                let count = text::count(self.pages.len() as u64);
                notes.push(format!("Loaded {count}. {}", failure_text(failure)));
            }
            None if self.pages.is_empty() && self.is_loading_page() && self.visible.is_empty() => {
                notes.push("Loading the history…".into());
            }
            None => notes.extend(self.older_note()),
        }
        if self.saved_only_last() {
            let why = "Only the last checkpoint was saved.";
            notes.push(why.into());
        }
        notes
    }

    /// Says that older checkpoints are not loaded, and how to load them.
    pub fn older_note(&self) -> Option<String> {
        let loaded = self.pages.len() as u64;
        let count = text::count(loaded);
        if self.loading.is_complete || self.pages.is_empty() {
            return None;
        }
        if self.pages.len() >= MAX_CHECKPOINTS {
            return Some(format!("The newest {count} checkpoints only."));
        }
        Some(match self.oldest_step() {
            // The steps of a thread are counted from -1.
            Some(step @ 0..) if step < 1_000_000 => {
                let all = text::count(loaded + step.unsigned_abs() + 1);
                format!("The newest {count} of about {all} checkpoints; scroll up.")
            }
            _ => format!("The newest {count} checkpoints; scroll up."),
        })
    }

    /// Records which lines are shown: older checkpoints are loaded near the first one.
    pub fn show_from(&mut self, place: Place, lines: u64, height: usize) {
        let height = height as u64;
        let top = match place.follow {
            true => lines.saturating_sub(height),
            false => place.top.key,
        };
        self.is_near_start = top < height;
    }

    /// Returns whether older checkpoints than those of the thread's snapshot exist, or pages of them are loaded already.
    pub fn has_older(&self) -> bool {
        let oldest = self.tree().len().checked_sub(1);
        let is_cut = oldest.is_some_and(|at| self.tree().parent(at) == Parent::NotLoaded);
        is_cut || !self.pages.is_empty()
    }

    fn oldest_step(&self) -> Option<i64> {
        self.pages
            .entries()
            .iter()
            .filter_map(|entry| entry.step)
            .min()
    }

    /// Returns whether the newest run saved only its last checkpoint, as runs with the durability `exit` do.
    pub(super) fn saved_only_last(&self) -> bool {
        let entries = self.pages.entries();
        let Some(head) = entries.first().filter(|_| self.loading.is_complete) else {
            return false;
        };
        let is_of_run = |entry: &&Arc<Checkpoint>| entry.run_id == head.run_id;
        let before = match self.pages.parent(0) {
            Parent::At(parent) => entries[parent].step,
            Parent::None => Some(-1),
            // Something was before it, which the server no longer has.
            Parent::NotLoaded => None,
        };
        let skipped = head
            .step
            .zip(before)
            .is_some_and(|(step, before)| step > before + 1);
        head.run_id.is_some()
            && head.source == "loop"
            && skipped
            && entries.iter().filter(is_of_run).count() == 1
    }
}

/// Returns why the history could not be loaded.
pub(super) fn failure_text(failure: &Failure) -> String {
    match failure {
        Failure::NotOffered => {
            "This server has no history: no checkpoints to compare, edit or run again from.".into()
        }
        Failure::Request(error) => format!(
            "Couldn't load the history: {}. Press r to retry.",
            error.cause()
        ),
        Failure::Task(why) => format!("Couldn't load the history: {why}. Press r to retry."),
    }
}
