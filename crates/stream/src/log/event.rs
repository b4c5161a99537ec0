//! One event of a stream, as the event log keeps it.

use crate::Seq;
use jiff::Timestamp;
use std::sync::Arc;

/// An event. Its data is kept exactly as received.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Position in the event log, from 1, without gaps.
    pub seq: Seq,
    /// Time of arrival.
    pub at: Timestamp,
    /// The connection that delivered it, from 1.
    pub conn: u32,
    /// Whether the server sent it from its store. Then `at` is not when it happened.
    pub replayed: bool,
    /// Event name without its namespace: `values`, `messages/partial`, `error`, …
    pub name: Arc<str>,
    /// Segments of the namespace (`sub:<task uuid>`), outermost first; empty at the root.
    pub ns: Arc<[Arc<str>]>,
    /// The server's id. Opaque, and not unique: the Python server repeats it within a millisecond.
    pub id: Option<Arc<str>>,
    /// The payload.
    pub data: Data,
}

/// Milliseconds since 1970 that are plausible in an id: the years 2014 to 2100. Other numbers are not times.
const EPOCH_MS: std::ops::Range<i64> = 1_400_000_000_000..4_102_444_800_000;

impl Event {
    /// Returns when the event happened: the server's time if the id has one, else the time of arrival. A replayed event
    /// without a server time has none.
    pub fn time(&self) -> Option<Timestamp> {
        self.server_time().or((!self.replayed).then_some(self.at))
    }

    /// Returns the server's time, if the id has one.
    pub fn server_time(&self) -> Option<Timestamp> {
        self.id.as_deref().and_then(server_time)
    }
}

/// Returns the time in an id of the form `<epoch ms>-<n>`, which the Python server uses.
pub fn server_time(id: &str) -> Option<Timestamp> {
    let (ms, n) = id.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let ms = Some(ms)
        .filter(|ms| is_number(ms) && is_number(n))?
        .parse()
        .ok()?;
    EPOCH_MS
        .contains(&ms)
        .then(|| Timestamp::from_millisecond(ms).ok())?
}

/// The payload of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Valid JSON, exactly as received.
    Json(Arc<str>),
    /// Not JSON: the text as received.
    Malformed(Arc<str>),
    /// Larger than the limit: its size and its beginning. The rest was dropped.
    TooLarge {
        /// Size in bytes.
        size: u64,
        /// The first bytes, as text.
        head: Arc<str>,
    },
}

impl Data {
    /// Returns the JSON text, if it is JSON.
    pub fn json(&self) -> Option<&Arc<str>> {
        match self {
            Data::Json(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the received size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Data::Json(text) | Data::Malformed(text) => text.len() as u64,
            Data::TooLarge { size, .. } => *size,
        }
    }

    /// Returns what two equal data have in common: the text, and the size of what was too large.
    pub(crate) fn content(&self) -> (&str, Option<u64>) {
        match self {
            Data::TooLarge { size, head } => (head, Some(*size)),
            data => (data.text(), None),
        }
    }

    /// Returns the retained text.
    pub fn text(&self) -> &Arc<str> {
        match self {
            Data::Json(text) | Data::Malformed(text) => text,
            Data::TooLarge { head, .. } => head,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, replayed: bool) -> Event {
        let (name, data) = ("values".into(), Data::Json("1".into()));
        Event {
            seq: Seq(1),
            at: Timestamp::UNIX_EPOCH,
            conn: 1,
            replayed,
            name,
            ns: [].into(),
            id: id.map(Into::into),
            data,
        }
    }

    #[test]
    fn event_time_prefers_the_server_then_live_arrival() {
        let server = "2026-11-21T01:26:17.667Z".parse().ok();
        assert_eq!(event(Some("1795224377667-0"), true).time(), server);
        assert_eq!(event(Some("1795224377667-0"), false).time(), server);
        // Sequential ids, Aegra's ids, and numbers that are not plausible times.
        for id in [
            None,
            Some("7"),
            Some("r_event_7"),
            Some("7-0"),
            Some("1795224377667"),
            Some("1795224377667-x"),
            Some("9995224377667-0"),
            Some("-1"),
            Some("+1795224377667-0"),
            Some("99999999999999999999-0"),
        ] {
            assert_eq!(event(id, true).time(), None, "{id:?}");
            assert_eq!(
                event(id, false).time(),
                Some(Timestamp::UNIX_EPOCH),
                "{id:?}"
            );
        }
    }
}
