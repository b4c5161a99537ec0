//! What the page read about its rows: the last message of a thread, or the first error of a revision. The selected row is read
//! once it stays selected for a moment, then the failed revisions, because their error belongs in the list.

use super::state::{Row, Target};
use crate::session::Cx;
use crate::session::msg::RowDetail;
use jiff::{SignedDuration, Timestamp};
use runtail_api::ApiError;
use runtail_core::model::InboxItem;
use std::collections::HashMap;
use std::time::Duration;

/// How long a row must stay selected before it is read, so that moving through the list reads nothing.
const SETTLED: SignedDuration = SignedDuration::from_millis(150);
/// How long a read blocks the next one, if its result never arrives.
const TIMEOUT: SignedDuration = SignedDuration::from_secs(30);
/// Maximum number of rows whose details are kept.
const MAX_KEPT: usize = 200;
/// Maximum number of failed revisions that are read without being selected.
const MAX_REVISIONS: usize = 20;

/// What is known of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// It was requested at this time.
    Loading(Timestamp),
    Loaded(RowDetail),
    /// Why it couldn't be read, in a few words.
    Failed(String),
}

/// The details by the keys of their rows, each with the state of the row that they describe.
#[derive(Debug, Clone, Default)]
pub struct Details {
    known: HashMap<String, (RowState, Known)>,
    /// The selected row, and since when.
    selected: Option<(String, Timestamp)>,
}

/// What of a row changes when its details do.
type RowState = (Option<Timestamp>, usize, String);

fn state_of(row: &Row) -> RowState {
    let (questions, detail) = match &row.row.item {
        InboxItem::Thread(thread) => (thread.questions.len(), thread.detail.clone()),
        InboxItem::Revision(revision) => (0, revision.revision_id.clone()),
    };
    (row.row.since(), questions, detail)
}

impl Details {
    /// Returns what is known of a row.
    pub fn of(&self, row: &Row) -> Option<&Known> {
        self.known.get(&row.key).filter(|(state, _)| *state == state_of(row)).map(|(_, known)| known)
    }

    /// Returns the first error of a failed revision, if it was read.
    pub fn error(&self, row: &Row) -> Option<&str> {
        match (&row.target, self.of(row)?) {
            (Target::Revision(..), Known::Loaded(detail)) => Some(detail.rows.first()?.1.as_str()),
            _ => None,
        }
    }

    /// Notes which row is selected.
    pub fn select(&mut self, key: Option<&str>, now: Timestamp) {
        if self.selected.as_ref().map(|(selected, _)| selected.as_str()) != key {
            self.selected = key.map(|key| (key.to_string(), now));
        }
    }

    /// Returns the row to read next, and after how long.
    fn next<'r>(&self, shown: &[&'r Row], cx: &Cx<'_>) -> Option<(&'r Row, Duration)> {
        let now = cx.session.now;
        let is_reading = |(_, known): &(RowState, Known)| match known {
            Known::Loading(at) => now.duration_since(*at) < TIMEOUT,
            _ => false,
        };
        if self.known.values().any(is_reading) {
            return None;
        }
        let can_read = |row: &&Row| {
            let profile = cx.session.profile(row.target.profile());
            row.as_of.is_none() && profile.is_some_and(|profile| !profile.halted) && !self.was_read(row)
        };
        let selected = self.selected.as_ref().and_then(|(key, since)| {
            let row = shown.iter().copied().find(|row| row.key == *key).filter(can_read)?;
            let left = SETTLED - now.duration_since(*since);
            Some((row, Duration::try_from(left).unwrap_or_default()))
        });
        let is_revision = |row: &&Row| matches!(row.target, Target::Revision(..));
        let revisions = || shown.iter().copied().filter(is_revision).take(MAX_REVISIONS);
        selected.or_else(|| revisions().find(can_read).map(|row| (row, Duration::ZERO)))
    }

    fn was_read(&self, row: &Row) -> bool {
        // A read without a result is repeated only for another state of the row.
        self.of(row).is_some()
    }

    /// Returns the time until a row is read.
    pub fn next_tick(&self, shown: &[&Row], cx: &Cx<'_>) -> Option<Duration> {
        self.next(shown, cx).map(|(_, after)| after)
    }

    /// Returns the row to read now, and notes that it is read.
    pub fn take_next(&mut self, shown: &[&Row], cx: &Cx<'_>) -> Option<Target> {
        let (row, _) = self.next(shown, cx).filter(|(_, after)| after.is_zero())?;
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        self.known.insert(row.key.clone(), (state_of(row), Known::Loading(cx.session.now)));
        Some(row.target.clone())
    }

    /// Applies the details of the row with a key.
    pub fn on_read(&mut self, key: &str, result: Result<RowDetail, ApiError>) {
        if let Some((_, known)) = self.known.get_mut(key) {
            *known = match result {
                Ok(detail) => Known::Loaded(detail),
                Err(error) => Known::Failed(error.badge()),
            };
        }
    }
}
