//! Rendering of a view for an export: entry by entry, not truncated.

use super::{ConnectionState, Viewer};
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::views::View;
use crate::features::stream::views::stream_view::{EntryKind, ExportedAs};
use crate::session::msg::Chunk;
use runtail_core::text::markdown::inline;
use runtail_core::text::{clean, count};
use runtail_stream::{End, Event, Outcome, Record, Seq};

/// Maximum number of entries checked for one part, even if the filter rejects most of them.
const MAX_CHECKED: u64 = 2_000;

impl Viewer {
    /// Returns the first entry and the current end of the entries (exclusive).
    pub fn export_range(&self, view: View, format: Format) -> (u64, u64) {
        let shown = exported(view, format);
        let keys = match shown.facts().export {
            ExportedAs::Whole => 0..1,
            _ => shown.of().exported_keys(self),
        };
        (keys.start, keys.end)
    }

    /// Writes the heading of the file.
    pub fn export_head(&self, view: View, format: Format, part: &mut Part) {
        // A report has a heading of its own.
        if format != Format::Markdown || view.kind() == EntryKind::Report {
            return;
        }
        let id_part = |label: &str, id: &Option<String>| {
            id.as_ref().map(|id| format!(", {label} {}", inline(id)))
        };
        let thread = id_part("thread", &self.thread_id).unwrap_or_default();
        let run = id_part("run", &self.run_id).unwrap_or_default();
        part.text(format!(
            "# {} of {}{thread}{run}\n\n",
            view.title(),
            inline(&self.server.name)
        ));
        if view.facts().export == ExportedAs::Table {
            part.text("| | |\n|---|---|\n");
        }
    }

    /// Writes entries until the part is full. Returns the next entry and the last event written. `after` is the last
    /// event written before.
    pub fn export_part(
        &self,
        view: View,
        format: Format,
        (next, end): (u64, u64),
        after: Seq,
        part: &mut Part,
    ) -> (u64, Seq) {
        let id = exported(view, format);
        let (shown, export) = (id.of(), id.facts().export);
        if export == ExportedAs::Whole {
            if next < end {
                shown.write(self, 0, format, part);
            }
            return (end, after);
        }
        // Skip entries that were evicted since the last part.
        let first = self.export_range(view, format).0;
        let (mut key, mut after) = (next.max(first), after);
        let most = key.saturating_add(MAX_CHECKED);
        while key < end.min(most) && !part.is_full() {
            if export != ExportedAs::Runs && !self.is_visible(id, key) {
                key += 1;
                continue;
            }
            match format {
                Format::Jsonl => {
                    let seq = shown.exported_seq(self, key);
                    after = self.record(seq.filter(|seq| *seq > after), after, part);
                }
                format => shown.write(self, key, format, part),
            }
            part.entries += 1;
            key += 1;
        }
        if format == Format::Jsonl && key >= end && after < Seq::MAX && !part.is_full() {
            self.marks_between(after, self.marks_end(), part);
            after = Seq::MAX;
        }
        (key, after)
    }

    /// Writes the stream and the period of the delivery report, for readers who did not see the stream.
    pub(crate) fn delivery_head(&self, format: Format, part: &mut Part) {
        let title = match format {
            Format::Jsonl => return,
            Format::Text | Format::Svg | Format::Mermaid => "Delivery report",
            Format::Markdown => "# Delivery report",
        };
        part.text(format!("{title}\n\n"));
        let mut field = |name: &str, value: &str| {
            let value = clean(value);
            part.text(match format {
                Format::Markdown => format!("- {name}: {}\n", inline(&value)),
                _ => format!("{name:<9} {value}\n"),
            });
        };
        field(
            "server",
            &format!("{}, {}", self.server.name, self.server.url),
        );
        for (name, id) in [("thread", &self.thread_id), ("run", &self.run_id)] {
            if let Some(id) = id {
                field(name, id);
            }
        }
        let delivery = &self.projections.delivery;
        let opened = delivery
            .connections()
            .first()
            .map(|connection| connection.opened)
            .or(delivery.first_event_at);
        let day = |at: jiff::Timestamp| {
            at.to_zoned(self.tz.clone())
                .strftime("%Y-%m-%d %H:%M:%S %:z")
                .to_string()
        };
        if let Some(opened) = opened {
            field("opened", &day(opened));
        }
        let status = match (&self.connection, self.playhead()) {
            (_, Some(playhead)) => {
                let [at, newest] =
                    [playhead.at, playhead.span.1].map(|seq| self.event_log.events_until(seq));
                format!("at event {} of {}", count(at.0), count(newest.0))
            }
            (ConnectionState::Ended(end), None) => match &end.detail {
                Some(detail) => format!("{}, {}: {detail}", day(end.at), end.outcome.as_str()),
                None => format!("{}, {}", day(end.at), end.outcome.as_str()),
            },
            (ConnectionState::Failed(error), None) => format!("failed: {error}"),
            (_, None) => "no, still open".to_string(),
        };
        field(
            if self.playhead().is_some() {
                "shown"
            } else {
                "ended"
            },
            &status.replace('\n', " "),
        );
        field(
            "written",
            &format!(
                "{}, by runtail {}",
                day(self.now),
                env!("CARGO_PKG_VERSION")
            ),
        );
        part.text("\n");
    }

    /// Writes the delivery report: totals, gaps and connections, each with its time and reason. As JSONL it is the
    /// recording without its events, so it contains no message text.
    pub(crate) fn write_delivery(&self, format: Format, part: &mut Part) {
        if format == Format::Jsonl {
            self.marks_between(Seq::START, self.marks_end(), part);
            if !part
                .chunks
                .last()
                .is_some_and(|chunk| matches!(chunk, Chunk::Record(record) if matches!(**record, Record::End(_))))
            {
                part.add(Chunk::Record(Box::new(Record::End(self.totals()))));
            }
        } else {
            let text = self.delivery_text();
            match format {
                Format::Markdown => part.add(Chunk::Code("", text.into())),
                _ => part.text(text),
            }
        }
        part.entries = 1;
    }

    /// Returns the current totals of a stream that has not ended or is shown at an earlier event.
    fn totals(&self) -> End {
        let delivery = &self.projections.delivery;
        let connections = delivery.connections().evicted() + delivery.connections().len() as u64;
        End {
            at: self
                .playhead()
                .and_then(|playhead| playhead.time)
                .unwrap_or(self.now),
            outcome: Outcome::Detached,
            detail: Some("totals at the time of the export: the stream was still open".into()),
            events: delivery.received,
            bytes: delivery.bytes,
            connections: u32::try_from(connections).unwrap_or(u32::MAX),
            duplicates: delivery.duplicates,
            gaps: delivery.gaps,
            malformed: delivery.malformed + delivery.too_large,
        }
    }

    /// Returns the end (exclusive) of the marks to write: during time travel, up to the shown event.
    fn marks_end(&self) -> Seq {
        let newest = self.event_log.newest_seq();
        self.playhead().map_or(Seq::MAX, |playhead| {
            if playhead.at < newest {
                playhead.at
            } else {
                Seq::MAX
            }
        })
    }

    /// Writes an event as a line of a recording, after the marks in front of it.
    fn record(&self, seq: Option<Seq>, after: Seq, part: &mut Part) -> Seq {
        let Some(event) = seq.and_then(|seq| self.event_log.get(seq)) else {
            return after;
        };
        self.marks_between(after, event.seq, part);
        let seq = event.seq;
        part.add(Chunk::Record(Box::new(Record::Event(Event {
            seq: self.event_log.number_of(seq).in_recording(),
            ..event
        }))));
        seq
    }

    /// Writes the marks after one event (0 for the start) and before another.
    fn marks_between(&self, after: Seq, before: Seq, part: &mut Part) {
        let marks = self.event_log.marks();
        let from = marks.partition_point(|mark| after > Seq::START && mark.after < after);
        let to = marks.partition_point(|mark| mark.after < before);
        for mark in marks.range(from..to.max(from)) {
            part.add(Chunk::Record(Box::new(mark.record.clone())));
        }
    }
}

/// Returns the view to export. Instead of a view that is not a list of events, its events are written as records.
fn exported(view: View, format: Format) -> View {
    let records = view.facts().records_of;
    records.filter(|_| format == Format::Jsonl).unwrap_or(view)
}
