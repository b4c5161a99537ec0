//! How current the numbers of an agent server's threads are.

use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::text;

/// Maximum columns of an error's own words as a reason.
const MAX_REASON: usize = 24;

/// What the newest reads of an agent server's threads have shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadsKnown {
    /// No read has ended yet.
    Asking,
    /// The newest read was complete.
    Now,
    /// The newest complete read is of this time, because a later one failed or is overdue.
    AsOf(Timestamp),
    /// Not read, because it is only asked while it is open.
    Asleep,
    /// No read was complete: why.
    Unread(String),
}

/// Returns why a server could not be read, in a few words: `connection refused`, `401`.
pub fn short_reason(error: &ApiError) -> String {
    let detail = text::clean(&error.detail);
    let is_short = !detail.is_empty() && text::width(&detail) <= MAX_REASON;
    match error.kind {
        Kind::NoConnection | Kind::Network | Kind::Timeout if is_short => detail.into_owned(),
        _ => error.badge(),
    }
}
