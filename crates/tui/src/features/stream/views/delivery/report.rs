//! The delivery report as a file.

use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::{ConnectionState, Viewer};
use crate::session::msg::Chunk;
use runtail_core::text::markdown::inline;
use runtail_core::text::{clean, count};
use runtail_stream::{End, Outcome, Record, Seq};

/// Writes the stream and the period of the delivery report, for readers who did not see the stream.
fn write_head(viewer: &Viewer, format: Format, part: &mut Part) {
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
        &format!("{}, {}", viewer.server.name, viewer.server.url),
    );
    for (name, id) in [("thread", &viewer.thread_id), ("run", &viewer.run_id)] {
        if let Some(id) = id {
            field(name, id);
        }
    }
    let delivery = &viewer.projections.delivery;
    let opened = delivery
        .connections()
        .first()
        .map(|connection| connection.opened)
        .or(delivery.first_event_at);
    let day = |at: jiff::Timestamp| {
        at.to_zoned(viewer.tz.clone())
            .strftime("%Y-%m-%d %H:%M:%S %:z")
            .to_string()
    };
    if let Some(opened) = opened {
        field("opened", &day(opened));
    }
    let status = match (&viewer.connection, viewer.playhead()) {
        (_, Some(playhead)) => {
            let [at, newest] =
                [playhead.at, playhead.span.1].map(|seq| viewer.event_log.events_until(seq));
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
        if viewer.playhead().is_some() {
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
            day(viewer.now),
            env!("CARGO_PKG_VERSION")
        ),
    );
    part.text("\n");
}

/// Writes the delivery report: totals, gaps and connections, each with its time and reason. As JSONL it is the
/// recording without its events, so it contains no message text.
pub(super) fn write(viewer: &Viewer, format: Format, part: &mut Part) {
    write_head(viewer, format, part);
    if format == Format::Jsonl {
        viewer.marks_between(Seq::START, viewer.marks_end(), part);
        if !part.chunks.last().is_some_and(
            |chunk| matches!(chunk, Chunk::Record(record) if matches!(**record, Record::End(_))),
        ) {
            part.add(Chunk::Record(Box::new(Record::End(totals(viewer)))));
        }
    } else {
        let text = super::text(viewer);
        match format {
            Format::Markdown => part.add(Chunk::Code("", text.into())),
            _ => part.text(text),
        }
    }
    part.entries = 1;
}

/// Returns the current totals of a stream that has not ended or is shown at an earlier event.
fn totals(viewer: &Viewer) -> End {
    let delivery = &viewer.projections.delivery;
    let connections = delivery.connections().evicted() + delivery.connections().len() as u64;
    End {
        at: viewer
            .playhead()
            .and_then(|playhead| playhead.time)
            .unwrap_or(viewer.now),
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
