//! What the Delivery view keeps.

use crate::widgets::line::Line;
use runtail_core::config::prices::Prices;
use runtail_stream::Seq;

/// What the rows were computed for: the second, the width, and what they show.
type RowsShown = (i64, usize, u64);

/// A line of the view, and the event that it opens.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub line: Line,
    /// The newest event of its type, or the first one of its run.
    pub seq: Option<Seq>,
}

/// What the Delivery view keeps.
#[derive(Debug, Default)]
pub struct DeliveryState {
    pub prices: Prices,
    pub(super) rows: Vec<Row>,
    /// Number of rows with problems, which come first.
    pub(super) problems: usize,
    pub(super) version: Option<RowsShown>,
}
