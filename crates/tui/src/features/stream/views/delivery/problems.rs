//! The problems of the Delivery view: gaps, and how many events are damaged or missing.

use super::summary::{DeliveryRow, MAX_REASON, Summary, line};
use crate::widgets::line::{Line, Tone, wrap};
use runtail_core::text;
use runtail_stream::Seq;

/// Maximum number of gaps listed.
const MAX_GAPS: usize = 5;

impl Summary<'_> {
    /// Returns the problems.
    pub(super) fn problems(&self) -> Vec<DeliveryRow> {
        let mut rows = self.gaps();
        rows.extend(self.affected_events().into_iter().map(line));
        if let Some(first) = rows.iter_mut().find(|row| row.seq.is_some()) {
            first.line = std::mem::take(&mut first.line).right(Tone::Dim, "⏎ go there   ] next");
        }
        rows
    }

    /// Returns the gaps, newest first.
    fn gaps(&self) -> Vec<DeliveryRow> {
        let mut rows = Vec::new();
        let gaps = self.delivery().possible_gaps();
        let width = self.width.saturating_sub(2).clamp(20, 4_000);
        for gap in gaps.iter().rev().take(MAX_GAPS) {
            let time = |seq: Seq| self.event_log.time(seq).map(|at| self.clock(at));
            let between = match (
                time(gap.after).filter(|_| gap.after > Seq::START),
                time(gap.after.next()),
            ) {
                (Some(from), Some(to)) => format!("between {from} and {to}"),
                (Some(from), None) => format!("after {from}"),
                (None, Some(to)) => format!("before {to}"),
                (None, None) => format!("at {}", self.clock(gap.at)),
            };
            let seq = Some(gap.after).filter(|after| *after > Seq::START);
            let what = format!(
                "gap. Events {between} may be missing: {}",
                text::head(&gap.why, MAX_REASON)
            );
            for (nth, part) in wrap(&what, width).iter().enumerate() {
                let line = match part.strip_prefix("gap").filter(|_| nth == 0) {
                    Some(rest) => Line::dim("? ").with_strong("gap").with_dim(rest),
                    None => Line::dim("  ").with_dim(part),
                };
                rows.push(DeliveryRow { line, seq });
            }
        }
        if !gaps.is_empty() && !self.is_recording {
            let note = "Events in a gap can't be loaded again. Press 3 for the current state.";
            let parts = wrap(note, width).into_iter();
            rows.extend(parts.map(|part| line(Line::dim(&format!("  {part}")))));
        }
        let earlier = gaps.evicted() + gaps.len().saturating_sub(MAX_GAPS) as u64;
        if earlier > 0 {
            let gaps = text::counted(earlier, "earlier gap");
            rows.push(line(Line::dim(&format!("? {gaps}"))));
        }
        rows
    }

    /// Returns how many events have a problem of each kind.
    fn affected_events(&self) -> Vec<Line> {
        let delivery = self.delivery();
        let counts = [
            (
                delivery.too_large,
                Tone::Bad,
                "oversized",
                "were truncated because the data was too large to keep.",
            ),
            (
                delivery.malformed,
                Tone::Dim,
                "malformed",
                "have data that is not JSON.",
            ),
            (
                self.event_log.evicted_rows(),
                Tone::Dim,
                "evicted",
                "are no longer in memory.",
            ),
            (
                delivery.late,
                Tone::Dim,
                "out of order",
                "have an older id than an earlier event.",
            ),
            (
                delivery.duplicates,
                Tone::Dim,
                "duplicate",
                "were received again and skipped.",
            ),
        ];
        let present = counts.into_iter().filter(|(count, ..)| *count > 0);
        let line = |(count, tone, kind, what): (u64, Tone, &str, &str)| {
            let (glyph, strong) = match tone {
                Tone::Bad => ("✗ ", Tone::Bad),
                _ => ("? ", Tone::Strong),
            };
            let events = text::plural(count, "event");
            let what = match count {
                1 => what
                    .replacen("were", "was", 1)
                    .replacen("have", "has", 1)
                    .replacen("are", "is", 1),
                _ => what.to_string(),
            };
            Line::of(tone, glyph)
                .with(strong, &text::count(count))
                .with(tone, &format!(" {kind} {events} {what}"))
        };
        present.map(line).collect()
    }
}
