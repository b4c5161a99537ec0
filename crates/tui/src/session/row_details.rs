//! What a list read about its rows besides what lists say: the last message of a thread, or the first error of a revision. The
//! selected row is read once it stays selected for a moment, then the failed revisions, because their error belongs in the list.

use super::Cx;
use super::msg::{InboxTarget, RowDetail};
use jiff::{SignedDuration, Timestamp};
use runtail_api::ApiError;
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
pub enum KnownDetail {
    /// It was requested at this time.
    Loading(Timestamp),
    Loaded(RowDetail),
    /// Why it couldn't be read, in a few words.
    Failed(String),
}

/// What of a row changes when its details do: a time, a number of questions, and a text.
pub type RowState = (Option<Timestamp>, usize, String);

/// A row whose details can be read.
pub trait DetailedRow {
    /// Returns its key in its list.
    fn key(&self) -> &str;

    /// Returns what changes when its details do.
    fn state(&self) -> RowState;

    /// Returns what to read.
    fn target(&self) -> InboxTarget;

    /// Returns whether it is no longer confirmed by its server, which is then not asked about it.
    fn is_stale(&self) -> bool;
}

/// The details by the keys of their rows, each with the state of the row that they describe.
#[derive(Debug, Clone, Default)]
pub struct RowDetails {
    known: HashMap<String, (RowState, KnownDetail)>,
    /// The selected row, and since when.
    selected: Option<(String, Timestamp)>,
}

impl RowDetails {
    /// Returns what is known of a row.
    pub fn of(&self, row: &impl DetailedRow) -> Option<&KnownDetail> {
        self.known
            .get(row.key())
            .filter(|(state, _)| *state == row.state())
            .map(|(_, known)| known)
    }

    /// Returns the first error of a failed revision, if it was read.
    pub fn error(&self, row: &impl DetailedRow) -> Option<&str> {
        match (row.target(), self.of(row)?) {
            (InboxTarget::Revision(..), KnownDetail::Loaded(detail)) => {
                Some(detail.rows.first()?.1.as_str())
            }
            _ => None,
        }
    }

    /// Notes which row is selected.
    pub fn select(&mut self, key: Option<&str>, now: Timestamp) {
        if self
            .selected
            .as_ref()
            .map(|(selected, _)| selected.as_str())
            != key
        {
            self.selected = key.map(|key| (key.to_string(), now));
        }
    }

    /// Returns the row to read next, and after how long.
    fn next<'r, R: DetailedRow>(&self, shown: &[&'r R], cx: &Cx<'_>) -> Option<(&'r R, Duration)> {
        let now = cx.session.now;
        let is_reading = |(_, known): &(RowState, KnownDetail)| match known {
            KnownDetail::Loading(at) => now.duration_since(*at) < TIMEOUT,
            _ => false,
        };
        if self.known.values().any(is_reading) {
            return None;
        }
        let can_read = |row: &&R| {
            let profile = cx
                .session
                .profile(row.target().profile())
                .filter(|profile| !profile.halted);
            // A read without a result is repeated only for another state of the row.
            !row.is_stale() && profile.is_some() && self.of(*row).is_none()
        };
        let selected = self.selected.as_ref().and_then(|(key, since)| {
            let row = shown
                .iter()
                .copied()
                .find(|row| row.key() == *key)
                .filter(can_read)?;
            let left = SETTLED - now.duration_since(*since);
            Some((row, Duration::try_from(left).unwrap_or_default()))
        });
        let is_revision = |row: &&R| matches!(row.target(), InboxTarget::Revision(..));
        let revisions = || {
            shown
                .iter()
                .copied()
                .filter(is_revision)
                .take(MAX_REVISIONS)
        };
        selected.or_else(|| revisions().find(can_read).map(|row| (row, Duration::ZERO)))
    }

    /// Returns the time until a row is read.
    pub fn next_tick<R: DetailedRow>(&self, shown: &[&R], cx: &Cx<'_>) -> Option<Duration> {
        self.next(shown, cx).map(|(_, after)| after)
    }

    /// Returns the row to read now, and notes that it is read.
    pub fn take_next<R: DetailedRow>(&mut self, shown: &[&R], cx: &Cx<'_>) -> Option<InboxTarget> {
        let (row, _) = self.next(shown, cx).filter(|(_, after)| after.is_zero())?;
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        self.known.insert(
            row.key().to_string(),
            (row.state(), KnownDetail::Loading(cx.session.now)),
        );
        Some(row.target())
    }

    /// Applies the details of the row with a key.
    pub fn on_read(&mut self, key: &str, result: Result<RowDetail, ApiError>) {
        if let Some((_, known)) = self.known.get_mut(key) {
            *known = match result {
                Ok(detail) => KnownDetail::Loaded(detail),
                Err(error) => KnownDetail::Failed(error.badge()),
            };
        }
    }
}
