//! The rows of the Delivery view.

use super::Viewer;
use crate::features::stream::views::View;
use crate::features::stream::views::delivery::Row;
use crate::features::stream::views::delivery_summary::Summary;
use jiff::Timestamp;
use runtail_core::config::prices::Prices;
use runtail_stream::Seq;

/// Number of events below which the summary is always computed again; otherwise once a second.
const FEW_EVENTS: u64 = 2_000;

/// What the rows were computed for: the second, the width, and what they show.
type RowsShown = (i64, usize, u64);

/// How the Delivery view is shown.
#[derive(Debug, Default)]
pub(super) struct DeliveryState {
    pub prices: Prices,
    /// Number of rows with problems, which come first.
    problems: usize,
    version: Option<RowsShown>,
}

impl Viewer {
    /// Computes the rows of Delivery.
    pub(crate) fn prepare_delivery(&mut self, now: Timestamp, open: bool, width: usize) {
        if self.checkpoint.is_some() {
            self.delivery_rows = Vec::new();
            self.delivery.version = None;
            return;
        }
        let received = self.projections.delivery.received;
        let events = if received < FEW_EVENTS || !open || self.playhead().is_some() {
            received
        } else {
            FEW_EVENTS
        };
        let version = (now.as_second(), width, events);
        if self.delivery.version.replace(version) == Some(version) && received >= FEW_EVENTS && open
        {
            return;
        }
        (self.delivery_rows, self.delivery.problems) = self.summary(now, open, width).rows();
        if !self.reports_delivery() {
            self.delivery_rows = Vec::new();
        }
    }

    /// Returns whether there is anything to report: events, a gap, or the usage of loaded messages. A checkpoint has none.
    pub fn reports_delivery(&self) -> bool {
        let delivery = &self.projections.delivery;
        let has_usage = || {
            self.projections
                .messages
                .items()
                .iter()
                .any(|message| message.is_loaded && message.usage.is_some())
        };
        self.checkpoint.is_none() && (delivery.received > 0 || delivery.gaps > 0 || has_usage())
    }

    fn summary(&self, now: Timestamp, open: bool, width: usize) -> Summary<'_> {
        Summary {
            projections: &self.projections,
            event_log: &self.event_log,
            prices: &self.delivery.prices,
            now,
            open,
            is_over: self.is_over(),
            is_recording: self.is_recording(),
            width,
            tz: &self.tz,
        }
    }

    /// Returns the summary of the delivery as text.
    pub(crate) fn delivery_text(&self) -> String {
        self.summary(self.now, self.is_open(), usize::MAX).text()
    }

    /// Returns whether there is anything to report.
    pub fn has_delivery(&self) -> bool {
        !self.delivery_rows.is_empty()
    }

    /// Returns the row of the next or previous problem of the summary, if there is one.
    pub fn delivery_problem(&self, forward: bool) -> Option<usize> {
        let at = usize::try_from(self.place(View::Delivery).cursor.key).unwrap_or(usize::MAX);
        let has_event = |at: &usize| {
            self.delivery_rows
                .get(*at)
                .is_some_and(|row| row.seq.is_some())
        };
        let problems = self.delivery.problems;
        match forward {
            true => (at.saturating_add(1)..problems).find(has_event),
            false => (0..at.min(problems)).rev().find(has_event),
        }
    }

    /// Returns a row.
    pub(crate) fn delivery_row(&self, key: u64) -> Option<&Row> {
        self.delivery_rows.get(usize::try_from(key).ok()?)
    }

    /// Returns the event of the line under the cursor, if it has one.
    pub fn delivered_under_cursor(&self) -> Option<Seq> {
        self.delivery_row(self.place(View::Delivery).cursor.key)?
            .seq
    }
}
