//! Rendering of a view for an export: entry by entry, not truncated.

use super::Viewer;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::views::View;
use crate::features::stream::views::stream_view::{EntryKind, ExportedAs};
use crate::session::msg::Chunk;
use runtail_core::text::markdown::inline;
use runtail_stream::{Event, Record, Seq};

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
        let titles = match view.facts().export {
            ExportedAs::Table(titles) => titles,
            _ => &[],
        };
        // A report has a heading of its own.
        let has_heading = view.kind() != EntryKind::Report || !titles.is_empty();
        if format != Format::Markdown || !has_heading {
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
        if !titles.is_empty() {
            part.text(format!(
                "| {} |\n|{}\n",
                titles.join(" | "),
                "---|".repeat(titles.len())
            ));
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

    /// Returns the end (exclusive) of the marks to write: during time travel, up to the shown event.
    pub(crate) fn marks_end(&self) -> Seq {
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
    pub(crate) fn marks_between(&self, after: Seq, before: Seq, part: &mut Part) {
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
