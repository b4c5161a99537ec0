//! Rendering of a view for an export: entry by entry, not truncated.

use super::rows::{extent, row_at};
use super::{ConnectionState, View, Viewer};
use crate::features::stream::export::{Format, Part};
use crate::features::stream::views;
use crate::session::msg::Chunk;
use crate::widgets::scroll::{LinePos, ScrollList};
use runtail_core::text::markdown::{inline, without_html};
use runtail_core::text::{clean, clean_lines, count};
use runtail_stream::projection::{Message, Role};
use runtail_stream::{End, Event, Outcome, Record, Seq};

/// Maximum number of entries checked for one part, even if the filter rejects most of them.
const MAX_CHECKED: u64 = 2_000;

/// Maximum width of an event summary, in columns.
const MAX_SUMMARY_WIDTH: usize = 4_000;

impl Viewer {
    /// Returns the first entry and the current end of the entries (exclusive).
    pub fn export_range(&self, view: View, format: Format) -> (u64, u64) {
        let messages = &self.projections.messages;
        match exported(view, format) {
            // The lines of messages may not be laid out yet.
            View::Messages => (
                messages.evicted(),
                messages.evicted() + messages.items().len() as u64,
            ),
            View::State => {
                let rows = extent(self.projections.values.rows());
                (rows.first, rows.end)
            }
            // These are always written as a whole.
            View::Delivery | View::Graph => (0, 1),
            // The Timeline is written run by run.
            View::Timeline => (0, self.bars.run_count(&self.projections.timeline) as u64),
            view => (self.all_rows(view).first(), self.all_rows(view).end()),
        }
    }

    /// Writes the heading of the file.
    pub fn export_head(&self, view: View, format: Format, part: &mut Part) {
        if view == View::Delivery {
            return self.delivery_head(format, part);
        }
        if format != Format::Markdown {
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
        if is_table(view) {
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
        if view == View::Delivery {
            if next < end {
                self.write_delivery(format, part);
            }
            return (end, after);
        }
        if exported(view, format) == View::Graph {
            if next < end {
                self.graph.write(&self.graph.title(self), format, part);
            }
            return (end, after);
        }
        // Skip entries that were evicted since the last part.
        let first = self.export_range(view, format).0;
        let (mut key, mut after) = (next.max(first), after);
        let most = key.saturating_add(MAX_CHECKED);
        while key < end.min(most) && !part.is_full() {
            let is_run = view == View::Timeline && format != Format::Jsonl;
            // The records of messages are written in the order of their events.
            let shown = match (exported(view, format), format) {
                (View::Messages, Format::Jsonl) => {
                    self.projections.messages.position_of(key).unwrap_or(key)
                }
                _ => key,
            };
            if !is_run && !self.is_visible(exported(view, format), shown) {
                key += 1;
                continue;
            }
            match format {
                Format::Jsonl => {
                    let seq = self.export_seq(exported(view, format), shown);
                    after = self.record(seq.filter(|seq| *seq > after), after, part);
                }
                format => self.entry(view, format, key, part),
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
    fn delivery_head(&self, format: Format, part: &mut Part) {
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
    fn write_delivery(&self, format: Format, part: &mut Part) {
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

    fn export_seq(&self, view: View, key: u64) -> Option<Seq> {
        match view {
            View::State => row_at(self.projections.values.rows(), key).map(|state| state.seq),
            view => self.seq_at(view, LinePos { key, line: 0 }),
        }
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

    fn entry(&self, view: View, format: Format, key: u64, part: &mut Part) {
        let is_text = format == Format::Text;
        match view {
            View::Messages => match self.projections.messages.at(key) {
                Some(message) if is_text => self.plain_message(message, part),
                Some(message) => self.markdown_message(message, part),
                None => {}
            },
            View::State => {
                let snapshot = row_at(self.projections.values.rows(), key);
                let Some((snapshot, state)) = snapshot.zip(self.state_text(key)) else {
                    return;
                };
                let at = views::clock(snapshot.at, &self.tz);
                let ns = clean(&views::namespace(&snapshot.ns)).into_owned();
                let title = format!(
                    "state {} · event {} · {at} {ns}",
                    key + 1,
                    self.event_log.events_until(snapshot.seq)
                );
                let state = state.shared();
                match is_text {
                    true => {
                        part.text(format!("── {}\n", title.trim_end()));
                        part.add(Chunk::Lines(state));
                        part.text("\n");
                    }
                    false => {
                        part.text(format!("## {}\n\n", inline(title.trim_end())));
                        part.add(Chunk::Code("json", state));
                    }
                }
            }
            View::Raw | View::Custom => {
                let seq = self.seq_at(view, LinePos { key, line: 0 });
                if let Some(event) = seq.and_then(|seq| self.event_log.get(seq)) {
                    self.event(&event, is_text, part);
                }
            }
            View::Timeline => {
                let text = self.bars.run_text(
                    &self.projections,
                    usize::try_from(key).unwrap_or(usize::MAX),
                );
                match is_text {
                    true => part.text(text),
                    false => part.add(Chunk::Code("", text.into())),
                }
            }
            view => {
                let line = self.whole_line(view, key, MAX_SUMMARY_WIDTH);
                let joined = |pieces: &[crate::widgets::line::Piece]| {
                    pieces.iter().map(|p| p.text.as_str()).collect::<String>()
                };
                let (left, right) = (joined(&line.left), joined(&line.right));
                let gap = if right.is_empty() { "" } else { "  " };
                match is_text {
                    true => part.text(format!("{left}{gap}{right}\n")),
                    false => part.text(format!(
                        "| {} | {} |\n",
                        inline(left.trim_end()),
                        inline(right.trim_end())
                    )),
                }
            }
        }
    }

    fn event(&self, event: &Event, is_text: bool, part: &mut Part) {
        let at = views::clock(event.time(), &self.tz);
        let (name, ns) = (clean(&event.name), views::namespace(&event.ns));
        let ns = if ns.is_empty() {
            String::new()
        } else {
            format!(" {}", clean(&ns))
        };
        let data = event.data.text().clone();
        // A snapshot is not an event of the stream and has no number, as on screen.
        let number = match event.is_snapshot() {
            true => views::UNKNOWN.to_string(),
            false => self.event_log.number_of(event.seq).to_string(),
        };
        if is_text {
            part.text(format!("{number:>6}  {at}  {name}{ns}  "));
            part.add(Chunk::Line(data));
            part.text("\n");
        } else {
            part.text(format!(
                "### {number} · {} · {at}\n\n",
                inline(&format!("{name}{ns}"))
            ));
            part.add(Chunk::Code("json", data));
        }
    }

    /// Returns the author of a message: role, name, node, namespace and time.
    fn author_line(&self, message: &Message) -> String {
        let mut author = clean(message.role.word()).into_owned();
        for part in [message.name.as_deref(), message.node.as_deref()]
            .into_iter()
            .flatten()
        {
            author.push_str(&format!(" · {}", clean(part)));
        }
        if !message.ns.is_empty() {
            author.push_str(&format!(
                " in {}",
                clean(&views::place_of(&message.ns, &self.projections.messages))
            ));
        }
        format!("{author} · {}", views::clock(message.started_at, &self.tz))
    }

    fn plain_message(&self, message: &Message, part: &mut Part) {
        part.text(format!("── {}\n", self.author_line(message)));
        if message.removed_at.is_some() {
            part.text("(removed from state)\n");
        }
        for text in [&message.reasoning, &message.text] {
            if !text.is_empty() {
                part.text(format!("{}\n", clean_lines(text.trim_end())));
            }
        }
        for call in &message.tool_calls {
            part.text(format!("→ {} {}\n", clean(&call.name), clean(&call.args)));
        }
        part.text("\n");
    }

    fn markdown_message(&self, message: &Message, part: &mut Part) {
        part.text(format!("## {}\n\n", inline(&self.author_line(message))));
        if message.removed_at.is_some() {
            part.text("*Removed from state.*\n\n");
        }
        if !message.reasoning.is_empty() {
            for line in without_html(&clean_lines(message.reasoning.trim_end())).lines() {
                part.text(format!("> {line}\n"));
            }
            part.text("\n");
        }
        match &message.role {
            // A tool result is data, not prose.
            Role::Tool => part.add(Chunk::Code("", message.text.as_str().into())),
            _ if message.text.is_empty() => {}
            _ => part.text(format!(
                "{}\n\n",
                without_html(&clean_lines(message.text.trim_end()))
            )),
        }
        for call in &message.tool_calls {
            part.text(format!("**→ {}**\n\n", inline(&call.name)));
            part.add(Chunk::Code("json", call.args.as_str().into()));
        }
    }
}

/// Returns the view to export. A view that is not a list of events is exported as Raw.
fn exported(view: View, format: Format) -> View {
    match (format, view) {
        (Format::Jsonl, View::Messages | View::Timeline | View::Graph) => View::Raw,
        (_, view) => view,
    }
}

fn is_table(view: View) -> bool {
    !matches!(
        view,
        View::Messages | View::State | View::Raw | View::Custom | View::Timeline | View::Graph
    )
}
