//! A line of the Delivery view, and the warning about a silent connection.

use crate::widgets::line::Line;
use jiff::Timestamp;
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::{DeliveryLog, Liveness};

/// A line of the view, and the event that it opens.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub line: Line,
    /// The newest event of its type, or the first one of its run.
    pub seq: Option<Seq>,
}

/// Returns a warning about a silent connection, or about a silent server without heartbeats.
pub fn pulse(delivery: &DeliveryLog, now: Timestamp) -> Option<Line> {
    match delivery.pulse(now) {
        // The ages of the last event and heartbeat are enough.
        Liveness::Even | Liveness::Quiet(_) => None,
        Liveness::Silent(silent) => {
            Some(Line::moving("◌ ").with_plain(&format!("no heartbeat for {}", text::age(silent))))
        }
        // A server without heartbeats gets a softer note.
        Liveness::Unheard(quiet) => Some(
            Line::plain(&format!("◌ no event for {}", text::age(quiet)))
                .with_dim(", no heartbeats here"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_stream::projection::Projections;
    use runtail_stream::{Item, Record};

    #[test]
    fn a_silent_connection_is_reported() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let mut projections = Projections::default();
        let open = Record::Open {
            at: at(0),
            conn: 1,
            status: 200,
            resumed_after: None,
        };
        projections.apply(&Item::Record(open));
        let summary = |p: &Projections, s| pulse(&p.delivery, at(s)).map(|line| line.text());
        assert_eq!(summary(&projections, 5), None);
        assert_eq!(
            summary(&projections, 45).unwrap(),
            "◌ no event for 45s, no heartbeats here"
        );
        for s in 1..9 {
            projections.apply(&Item::Heartbeat { at: at(s * 5) });
        }
        assert_eq!(summary(&projections, 44), None);
        assert_eq!(summary(&projections, 62).unwrap(), "◌ no heartbeat for 22s");
    }
}
