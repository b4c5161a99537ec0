//! The lines above the events: how they were delivered, the filters to choose from, and the titles of the columns.

use super::columns;
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::{View, clock};
use crate::widgets::line::{Line, Tone};
use runtail_core::config::prices::Prices;
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::{BarKind, RunEntry};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of nodes and runs to choose from.
const MAX_NODES: usize = 3;
const MAX_RUNS: usize = 2;
/// Number of the newest bars and runs that are looked at.
const MAX_BARS: usize = 200;
const MAX_READ_RUNS: usize = 100;
/// Maximum bytes of an event whose nodes are read.
const MAX_READ: usize = 64 << 10;
/// Maximum columns of a chip.
const MAX_LABEL: usize = 18;
/// Spaces between two chips.
const GAP: usize = 2;

/// A filter to choose.
#[derive(Debug, Clone, PartialEq)]
struct Chip {
    label: String,
    filter: String,
}

/// What the Events view keeps.
#[derive(Debug, Default)]
pub struct EventsState {
    /// The prices of models.
    pub prices: Prices,
    head: Vec<Line>,
    /// The filters to choose from. They keep their order while one of them is chosen.
    chips: Vec<Chip>,
    /// The columns of each chip in the first line.
    places: Vec<Range<usize>>,
    /// The columns of the view, and of a time.
    width: usize,
    time: usize,
}

impl EventsState {
    /// Returns the lines above the events.
    pub(super) fn head(&self) -> &[Line] {
        &self.head
    }

    /// Returns the columns of a time, which has a date unless it is today's.
    pub(super) fn time_width(&self) -> usize {
        self.time.max(8)
    }

    /// Returns the columns of the view.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Drops the filters of another log.
    pub fn forget(&mut self) {
        self.chips.clear();
    }
}

/// Updates the lines above the events. A page that received nothing has none.
pub(super) fn prepare(viewer: &mut Viewer, width: usize) {
    viewer.views.events.width = width;
    let delivery = viewer.delivery_log();
    let is_empty = delivery.received == 0 && delivery.gaps == 0;
    if is_empty || viewer.shown_checkpoint().is_some() {
        viewer.views.events.head.clear();
        return;
    }
    let first = viewer.event_log.first_seq();
    let first_time = first.and_then(|seq| viewer.event_log.time(seq));
    let time = match (first, first_time) {
        (Some(seq), Some(at)) => text::width(&clock(at, &viewer.clock(View::Events, seq.0))),
        _ => 0,
    };
    viewer.views.events.time = time;
    if chosen(viewer).is_none_or(|at| at == 0) {
        viewer.views.events.chips = chips(viewer);
    }
    let (line, places) = line(viewer, width);
    let titles = columns(viewer, width).head();
    let state = &mut viewer.views.events;
    (state.head, state.places) = (vec![line, titles], places);
}

/// Chooses the filter after the one that is chosen.
pub(super) fn choose_next(viewer: &mut Viewer) {
    let shown = viewer.views.events.places.len();
    let next = chosen(viewer).map_or(0, |at| at + 1);
    choose(viewer, if next < shown { next } else { 0 });
}

/// Chooses the filter at a column of the first line.
pub(super) fn click(viewer: &mut Viewer, column: usize) {
    let mut places = viewer.views.events.places.iter();
    if let Some(at) = places.position(|place| place.contains(&column)) {
        choose(viewer, at);
    }
}

fn choose(viewer: &mut Viewer, at: usize) {
    let chip = viewer.views.events.chips.get(at);
    if let Some(filter) = chip.map(|chip| chip.filter.clone()) {
        viewer.filter(&filter);
    }
}

/// Returns which of the filters is in use, if it is one of them.
fn chosen(viewer: &Viewer) -> Option<usize> {
    let text = viewer.finding().filter.text();
    let mut chips = viewer.views.events.chips.iter();
    chips.position(|chip| chip.filter == text)
}

/// Returns the filters: fixed ones, then the nodes and runs of the log, those under the cursor first.
fn chips(viewer: &Viewer) -> Vec<Chip> {
    let chip = |label: &str, filter: String| Chip {
        label: text::seen(label, MAX_LABEL),
        filter,
    };
    let mut chips = vec![
        chip("all", String::new()),
        chip("custom", "is:custom".into()),
        chip("errors", "is:error".into()),
    ];
    let nodes = nodes(viewer).into_iter();
    chips.extend(nodes.map(|node| chip(&node, format!("node:\"{node}\""))));
    let runs = runs(viewer).into_iter();
    chips.extend(runs.map(|(name, id)| chip(&name, format!("run:{id}"))));
    chips
}

/// Returns the event under the cursor, or the newest one.
fn seq_of_cursor(viewer: &Viewer) -> Seq {
    viewer.anchor().unwrap_or(viewer.event_log.last_seq())
}

fn nodes(viewer: &Viewer) -> Vec<String> {
    let event = viewer.event_log.get(seq_of_cursor(viewer));
    let event = event.filter(|event| event.data.text().len() <= MAX_READ);
    let under_cursor = event.iter().flat_map(|event| {
        let nodes = viewer.attrs(event).nodes().into_iter().rev();
        nodes.map(String::from).collect::<Vec<_>>()
    });
    let bars = viewer.projections.timeline.bars();
    let newest = bars.iter().rev().take(MAX_BARS);
    let newest = newest.filter(|bar| bar.kind == BarKind::Node);
    let mut names: Vec<String> = Vec::new();
    for name in under_cursor.chain(newest.map(|bar| bar.name.to_string())) {
        // Names such as `__interrupt__` are no nodes. A quote can't be part of a quoted name.
        let is_node = !name.starts_with("__") && !name.contains('"');
        if is_node && !names.contains(&name) && names.len() < MAX_NODES {
            names.push(name);
        }
    }
    names
}

/// Returns the names and ids of the runs, newest first. A log of one run needs no choice.
fn runs(viewer: &Viewer) -> Vec<(String, Arc<str>)> {
    let status = &viewer.projections.status;
    let here = viewer.projections.landmarks.run_at(seq_of_cursor(viewer));
    let is_in_log = |run: &&RunEntry| run.first_seq.is_some() && run.run_id.is_some();
    let newest = status.runs().iter().rev().take(MAX_READ_RUNS);
    let newest = newest.filter(is_in_log).take(MAX_RUNS);
    let mut runs: Vec<&RunEntry> = here.and_then(|id| status.run(id)).into_iter().collect();
    for run in newest {
        if runs.iter().all(|known| known.run_id != run.run_id) {
            runs.push(run);
        }
    }
    if runs.len() < 2 {
        return Vec::new();
    }
    runs.truncate(MAX_RUNS);
    let named = runs.into_iter();
    named
        .filter_map(|run| Some((run.name(), run.run_id.clone()?)))
        .collect()
}

/// Returns the first line, and the columns of each filter in it: the filters that fit at the right, and at the left what fits
/// beside them.
fn line(viewer: &Viewer, width: usize) -> (Line, Vec<Range<usize>>) {
    let chosen = chosen(viewer);
    let facts = facts(viewer);
    // A loss is shown in any case.
    let needed = facts.iter().filter(|(tone, _)| *tone != Tone::Dim);
    let least: usize = needed.map(|(_, fact)| text::width(fact) + 3).sum();
    let chips = &viewer.views.events.chips;
    let room = width.saturating_sub(least);
    let (mut shown, mut used) = (0, 0);
    for chip in chips {
        let needed = text::width(&chip.label) + if shown > 0 { GAP } else { 0 };
        if used + needed > room {
            break;
        }
        (shown, used) = (shown + 1, used + needed);
    }
    let mut parts: Vec<(Tone, String)> = Vec::new();
    let mut left = 0;
    for (tone, fact) in facts {
        let gap = if parts.is_empty() { 0 } else { 3 };
        let fits = |fact: &str| left + gap + text::width(fact) + used + GAP <= width;
        // In a narrow view, a fact has only its first part.
        let short = fact.split(", ").next().unwrap_or_default();
        let fact = if fits(&fact) { &fact } else { short };
        if fits(fact) {
            left += gap + text::width(fact);
            parts.push((tone, fact.to_string()));
        }
    }
    let mut line = Line::joined(parts);
    let (mut places, mut column) = (Vec::new(), width.saturating_sub(used));
    for (at, chip) in chips.iter().enumerate().take(shown) {
        if at > 0 {
            line = line.right(Tone::Plain, &" ".repeat(GAP));
            column += GAP;
        }
        let tone = if chosen == Some(at) {
            Tone::Focus
        } else {
            Tone::Dim
        };
        line = line.right(tone, &chip.label);
        let end = column + text::width(&chip.label);
        places.push(column..end);
        column = end;
    }
    (line, places)
}

/// Returns what is known of the delivery, most important first.
fn facts(viewer: &Viewer) -> Vec<(Tone, String)> {
    let delivery = &viewer.projections.delivery;
    let mut facts = vec![(Tone::Plain, text::counted(delivery.received, "event"))];
    if delivery.gaps > 0 {
        facts.push((Tone::Moving, text::counted(delivery.gaps, "gap")));
    }
    for (count, tone, word) in [
        (delivery.malformed, Tone::Bad, "malformed"),
        (delivery.too_large, Tone::Bad, "oversized"),
        (delivery.late, Tone::Moving, "out of order"),
        (viewer.event_log.evicted_rows(), Tone::Dim, "evicted"),
    ] {
        if count > 0 {
            facts.push((tone, format!("{} {word}", text::count(count))));
        }
    }
    let all = delivery.connections();
    if delivery.before_opening.is_some() {
        let opened = all.first().map(|connection| connection.opened);
        let joined = opened.map_or("earlier output unknown".into(), |at| {
            let at = at.to_zoned(viewer.tz.clone()).strftime("%H:%M");
            format!("joined at {at}, earlier output unknown")
        });
        facts.push((Tone::Dim, joined));
    }
    let connections = all.evicted() + all.len() as u64;
    if connections > 1 {
        facts.push((Tone::Dim, text::counted(connections, "connection")));
    }
    facts.push((Tone::Dim, text::bytes(delivery.bytes)));
    facts
}
