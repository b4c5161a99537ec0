//! The views that are lists: one adapter for all of them.

use super::raw::RawEvent;
use super::stream_view::{Around, StreamView, ViewLayout, ViewRows};
use super::{UNKNOWN, View, clock, custom, extent, namespace, raw, row_at, runs, updates};
use crate::features::stream::commands::for_thread;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::{RunsRow, Viewer};
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::msg::Chunk;
use crate::session::{Request, Requests, Session};
use crate::widgets::line::{Line, Piece};
use crate::widgets::scroll::{Flat, LinePos, Move, window};
use runtail_core::text::clean;
use runtail_core::text::markdown::inline;
use runtail_stream::projection::{Rows, RunEntry};
use runtail_stream::{Event, Seq};
use std::borrow::Cow;

/// Maximum width of an event summary in a file, in columns.
const MAX_SUMMARY_WIDTH: usize = 4_000;

/// A view that is a list.
pub struct ListTab(pub View);

impl StreamView for ListTab {
    fn count(&self, viewer: &Viewer) -> u64 {
        let Flat { first, end } = self.flat(viewer);
        match self.0 {
            View::Delivery => viewer.reports_delivery().into(),
            View::Raw => viewer.event_log.last_seq().0,
            View::Runs => end - first,
            _ => end,
        }
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(self.flat(viewer))
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Line {
        let (p, key, as_received) = (&viewer.projections, spot.key, viewer.as_received);
        let clock = viewer.clock(self.0, key);
        let line = match self.0 {
            View::Updates => row_at(p.updates.rows(), key).map(|row| {
                updates::line(row, viewer.event_log.get(row.seq).as_ref(), width, &clock)
            }),
            View::Custom => row_at(p.custom.rows(), key).map(|row| {
                let event = viewer.event_log.get(row.seq);
                custom::line(row, event.as_ref(), as_received, width, &clock)
            }),
            View::Runs => viewer.runs_row(key).map(|row| match row {
                RunsRow::Run(run) => {
                    let clock = viewer.wall_clock();
                    runs::record_line(run, p, viewer.revisions.as_ref(), &clock)
                }
                RunsRow::Event(row) => runs::line(row, p, viewer.revisions.as_ref(), width, &clock),
            }),
            View::Delivery => viewer.delivery_row(key).map(|row| row.line.clone()),
            _ => viewer.event_log.get(Seq(key)).map(|event| {
                let raw = RawEvent {
                    event: &event,
                    number: viewer.event_log.number_of(event.seq),
                    state: p.values.at(event.seq),
                };
                raw::line(&raw, as_received, width, &clock)
            }),
        };
        line.unwrap_or_default()
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        let why = viewer.projections.delivery.before_opening.as_ref();
        match why.filter(|_| self.0 == View::Raw) {
            Some(why) => (vec![Line::dim(&clean(why))].into(), &[]),
            None => (Cow::Borrowed(&[]), &[]),
        }
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        let p = &viewer.projections;
        match self.0 {
            View::Updates => Some(row_at(p.updates.rows(), spot.key)?.seq),
            View::Custom => Some(row_at(p.custom.rows(), spot.key)?.seq),
            View::Runs => viewer.runs_seq(spot.key),
            View::Delivery => viewer.delivery_row(spot.key)?.seq,
            // An empty log has a position for its first event.
            _ => Some(Seq(spot.key)).filter(|seq| *seq <= viewer.event_log.last_seq()),
        }
    }

    fn entry_seq(&self, viewer: &Viewer, key: u64) -> Option<Seq> {
        match self.0 {
            View::Runs if matches!(viewer.runs_row(key), Some(RunsRow::Run(_))) => None,
            _ => self.seq_at(viewer, LinePos::of(key)),
        }
    }

    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        fn last<T>(rows: &Rows<T>, seq: Seq, of: impl Fn(&T) -> Seq) -> u64 {
            let after = rows.partition_point(|row| of(row) <= seq) as u64;
            rows.evicted() + after.saturating_sub(1)
        }
        let p = &viewer.projections;
        Some(LinePos::of(match self.0 {
            View::Updates => last(p.updates.rows(), seq, |row| row.seq),
            View::Custom => last(p.custom.rows(), seq, |row| row.seq),
            View::Runs => viewer.runs_key_of(seq),
            View::Delivery => return None,
            _ => seq.0,
        }))
    }

    fn lines_of_marked_runs(&self, viewer: &Viewer) -> Vec<bool> {
        if viewer.marked_runs.is_empty() || self.0 != View::Runs {
            return Vec::new();
        }
        let is_marked = |key| {
            viewer
                .run_of(key)
                .is_some_and(|run| viewer.marked_runs.iter().any(|marked| marked == run))
        };
        let slot = viewer.slot(self.0);
        window(&viewer.rows(self.0), slot.place.top, slot.window.1)
            .map(|spot| spot.line == 0 && is_marked(spot.key))
            .collect()
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        match self.0 {
            View::Runs => viewer.prepare_runs(),
            View::Delivery => viewer.prepare_delivery(layout.now, layout.is_open, layout.width),
            _ => {}
        }
    }

    fn go(&self, viewer: &mut Viewer, to: Move) {
        match (self.0, to) {
            (View::Delivery, Move::End) => viewer.update_place(self.0, |place, rows, height| {
                place.to_end(rows, height, false)
            }),
            _ => viewer.move_in_view(|place, rows, height| place.apply(rows, height, to)),
        }
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        if self.0 == View::Delivery {
            let has_problem =
                !viewer.searched().is_empty() || viewer.delivery_problem(true).is_some();
            let all = match viewer.has_delivery() {
                true => all,
                false => for_thread(viewer, on, all),
            };
            return all
                .enable_if(viewer.delivered_under_cursor().is_some(), &["stream.open"])
                .enable_if(has_problem, &["stream.next_problem"])
                .enable_if(viewer.has_delivery(), &["app.copy"])
                .show([
                    ("stream.open", Some("go there")),
                    ("stream.next_problem", Some("next problem")),
                    ("app.copy", Some("copy as text")),
                ]);
        }
        let as_received = match viewer.as_received {
            true => "summary",
            false => "as received",
        };
        // Other views don't have the second.
        for_thread(viewer, on, all)
            .enable_if(viewer.inspect().is_some(), &["stream.open"])
            .enable_if(
                viewer.event_log.first_seq().is_some(),
                &["stream.as_received"],
            )
            .show([
                ("stream.open", None),
                ("stream.as_received", Some(as_received)),
            ])
    }

    fn action(&self, viewer: &mut Viewer, _on: &Session, action: Action) -> Option<Requests> {
        match self.0 {
            View::Runs => act_on_run(viewer, action),
            View::Delivery => act_on_delivery(viewer, action),
            _ => None,
        }
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        match self.0 {
            View::Delivery => Some(viewer.delivery_text()),
            _ => Some(viewer.event_under_cursor()?.data.text().to_string()),
        }
    }

    fn run_under_cursor<'a>(&self, viewer: &'a Viewer) -> Option<&'a RunEntry> {
        match viewer.runs_row(viewer.place(View::Runs).cursor.key)? {
            RunsRow::Run(run) => Some(run).filter(|_| self.0 == View::Runs),
            RunsRow::Event(_) => None,
        }
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        let is_text = format == Format::Text;
        match self.0 {
            View::Delivery => {
                viewer.delivery_head(format, part);
                viewer.write_delivery(format, part);
            }
            View::Raw | View::Custom => {
                let seq = self.seq_at(viewer, LinePos::of(key));
                if let Some(event) = seq.and_then(|seq| viewer.event_log.get(seq)) {
                    write_event(viewer, &event, is_text, part);
                }
            }
            _ => {
                let line = self.line(viewer, LinePos::of(key), MAX_SUMMARY_WIDTH);
                let joined =
                    |pieces: &[Piece]| pieces.iter().map(|p| p.text.as_str()).collect::<String>();
                let (left, right) = (joined(&line.left), joined(&line.right));
                let gap = if right.is_empty() { "" } else { "  " };
                let [l, r] = [&left, &right].map(|text| inline(text.trim_end()));
                part.text(match is_text {
                    true => format!("{left}{gap}{right}\n"),
                    false => format!("| {l} | {r} |\n"),
                });
            }
        }
    }
}

impl ListTab {
    fn flat(&self, viewer: &Viewer) -> Flat {
        let p = &viewer.projections;
        match self.0 {
            View::Updates => extent(p.updates.rows()),
            View::Custom => extent(p.custom.rows()),
            View::Runs => viewer.runs_keys(),
            View::Delivery => Flat {
                first: 0,
                end: viewer.delivery_rows.len() as u64,
            },
            _ => {
                let end = viewer.event_log.last_seq().next();
                Flat {
                    first: viewer.event_log.first_seq().unwrap_or(end).0,
                    end: end.0,
                }
            }
        }
    }
}

/// Marks and compares the run under the cursor.
fn act_on_run(viewer: &Viewer, action: Action) -> Option<Requests> {
    if viewer.is_recording() && action == Action::Mark {
        return None;
    }
    match (action, viewer.side_under_cursor()) {
        (Action::Mark, Some(side)) => Some(Request::MarkSide(side).into()),
        // During time travel, it plays.
        (Action::Play, Some(side)) if viewer.playhead().is_none() => {
            Some(Request::MarkSide(side).into())
        }
        (Action::Compare, Some(side)) => Some(Request::CompareSide(side).into()),
        (Action::Mark | Action::Compare, None) => Some(Requests::info(
            "No run is selected. Move to the line of a run to mark or compare it.",
        )),
        _ => None,
    }
}

/// Goes to the event or to the next problem of the report.
fn act_on_delivery(viewer: &mut Viewer, action: Action) -> Option<Requests> {
    match action {
        Action::Open => {
            if let Some(seq) = viewer.delivered_under_cursor() {
                viewer.go_to(seq);
                viewer.show(View::Raw);
            }
        }
        Action::NextMatch | Action::PrevMatch if viewer.searched().is_empty() => {
            let row = viewer.delivery_problem(action == Action::NextMatch)?;
            viewer.move_in_view(|place, rows, height| {
                place.go(rows, height, LinePos::of(row as u64))
            });
        }
        _ => return None,
    }
    Some(Requests::none())
}

fn write_event(viewer: &Viewer, event: &Event, is_text: bool, part: &mut Part) {
    let at = clock(event.time(), &viewer.tz);
    let (name, ns) = (clean(&event.name), namespace(&event.ns));
    let ns = if ns.is_empty() {
        String::new()
    } else {
        format!(" {}", clean(&ns))
    };
    let data = event.data.text().clone();
    // A snapshot is not an event of the stream and has no number, as on screen.
    let number = match event.is_snapshot() {
        true => UNKNOWN.to_string(),
        false => viewer.event_log.number_of(event.seq).to_string(),
    };
    if is_text {
        part.text(format!("{number:>6}  {at}  {name}{ns}  "));
        part.add(Chunk::Line(data));
        part.text("\n");
    } else {
        let name = inline(&format!("{name}{ns}"));
        part.text(format!("### {number} · {name} · {at}\n\n"));
        part.add(Chunk::Code("json", data));
    }
}
