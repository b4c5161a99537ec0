//! A stream on the screen: one tape, its projections, and a place in each view.

use super::json::Tree;
use super::line::Line;
use super::msg::{ServerRef, StreamTarget};
use super::scroll::{Flat, Place, Rows, Spot};
use super::view_lines;
use crate::api::ApiError;
use crate::config::TapeLimits;
use crate::projection::Projections;
use crate::stream::{End, Event, Item, Record, Tape};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// The views over a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Messages, token by token.
    Messages,
    /// What each node wrote.
    Updates,
    /// The state after each step.
    Values,
    /// Runs, interrupts, errors, connections.
    Lifecycle,
    /// Every event as it came.
    Raw,
}

/// All views, in the order of their tabs.
pub const VIEWS: [View; 5] = [View::Messages, View::Updates, View::Values, View::Lifecycle, View::Raw];

impl View {
    /// Name on the tab.
    pub fn title(self) -> &'static str {
        match self {
            View::Messages => "Messages",
            View::Updates => "Updates",
            View::Values => "Values",
            View::Lifecycle => "Lifecycle",
            View::Raw => "Raw",
        }
    }
}

/// What state the connection is in.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkState {
    /// A connection is being opened.
    Connecting {
        /// Since when.
        since: Timestamp,
        /// Its number.
        conn: u32,
    },
    /// Events may come at any moment.
    Live {
        /// Its number.
        conn: u32,
    },
    /// The connection was lost, and the next attempt waits.
    Retrying {
        /// Attempts that failed in a row.
        attempt: u32,
        /// When the next one is made.
        until: Timestamp,
        /// Why.
        why: String,
    },
    /// It is over.
    Ended(End),
    /// It could not begin or go on.
    Failed(ApiError),
}

/// The lines of one message, made for a width and a state of the message.
#[derive(Debug, Clone)]
struct Block {
    rev: u32,
    open: bool,
    lines: Vec<Line>,
}

/// A stream on the screen.
#[derive(Debug)]
pub struct Viewer {
    /// Its number in this session; also names its subscription.
    pub id: u64,
    /// Where it comes from.
    pub server: ServerRef,
    /// What it is of.
    pub target: StreamTarget,
    /// The thread, once it is known.
    pub thread_id: Option<String>,
    /// The run, once it is known.
    pub run_id: Option<String>,
    /// Everything that came.
    pub tape: Tape,
    /// What was made of it.
    pub projections: Projections,
    /// The connection.
    pub link: LinkState,
    /// The view shown.
    pub view: View,
    /// The state shown in the values view.
    pub state: Option<Tree>,
    /// Number of the snapshot shown there.
    pub snapshot: Option<usize>,
    places: [Place; 5],
    blocks: Vec<Block>,
    width: usize,
    height: usize,
    tz: TimeZone,
}

impl Viewer {
    /// A viewer that waits for its first connection.
    pub fn new(id: u64, server: ServerRef, target: StreamTarget, limits: &TapeLimits, now: Timestamp, tz: TimeZone) -> Self {
        let (thread_id, run_id) = match &target {
            StreamTarget::Start { thread, .. } => (thread.clone(), None),
            StreamTarget::Join { thread, run } => (Some(thread.clone()), Some(run.clone())),
            StreamTarget::Tail { thread } => (Some(thread.clone()), None),
        };
        Viewer {
            id,
            server,
            target,
            thread_id,
            run_id,
            tape: Tape::new(limits.max_rows, limits.max_bytes),
            projections: Projections::default(),
            link: LinkState::Connecting { since: now, conn: 1 },
            view: View::Messages,
            state: None,
            snapshot: None,
            places: [Place::following(); 5],
            blocks: Vec::new(),
            width: 0,
            height: 0,
            tz,
        }
    }

    /// Takes what the source sent.
    pub fn take(&mut self, items: Vec<Item>) {
        for item in items {
            self.projections.apply(&item);
            match item {
                Item::Record(record) => {
                    match &record {
                        Record::Open { conn, .. } => self.link = LinkState::Live { conn: *conn },
                        Record::Tape(head) => {
                            self.thread_id = head.thread_id.clone().or(self.thread_id.take());
                            self.run_id = head.run_id.clone().or(self.run_id.take());
                        }
                        Record::End(end) => {
                            if !matches!(self.link, LinkState::Failed(_)) {
                                self.link = LinkState::Ended(end.clone());
                            }
                        }
                        _ => {}
                    }
                    self.tape.push(record);
                }
                Item::Connecting { at, conn } => self.link = LinkState::Connecting { since: at, conn },
                Item::Retrying { at, attempt, wait, why } => {
                    let until = at.checked_add(jiff::SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(at);
                    self.link = LinkState::Retrying { attempt, until, why };
                }
                Item::Started { thread_id, run_id } => {
                    self.thread_id = thread_id.or(self.thread_id.take());
                    self.run_id = Some(run_id);
                }
                Item::Failed(error) => self.link = LinkState::Failed(error),
                Item::Heartbeat { .. } => {}
            }
        }
    }

    /// Whether anything may still come.
    pub fn is_open(&self) -> bool {
        !matches!(self.link, LinkState::Ended(_) | LinkState::Failed(_))
    }

    /// Whether the view shown follows what comes.
    pub fn follows(&self) -> bool {
        self.places[self.view as usize].follow
    }

    /// Entries of the view shown that came since it was paused.
    pub fn unseen(&self) -> u64 {
        let place = &self.places[self.view as usize];
        match self.view {
            View::Values if !place.follow => (self.projections.values.snapshots().len() as u64).saturating_sub(place.seen),
            View::Values => 0,
            _ => place.unseen(&self.rows()),
        }
    }

    /// Entries in a view, for its tab.
    pub fn count(&self, view: View) -> u64 {
        match view {
            View::Messages => self.projections.messages.items().len() as u64,
            View::Updates => self.projections.updates.rows().len() as u64,
            View::Values => self.projections.values.snapshots().len() as u64,
            View::Lifecycle => self.projections.lifecycle.rows().len() as u64,
            View::Raw => self.tape.last_seq(),
        }
    }

    fn rows(&self) -> ViewRows<'_> {
        match self.view {
            View::Messages => ViewRows::Blocks(&self.blocks),
            View::Raw => ViewRows::Flat(Flat { first: self.tape.first_seq(), end: self.tape.last_seq() + 1 }),
            view => ViewRows::Flat(Flat { first: 0, end: self.count(view) }),
        }
    }

    /// Brings layout and places in line with what came and with the window's size.
    pub fn prepare(&mut self, width: usize, height: usize) {
        let rewrap = width != self.width;
        (self.width, self.height) = (width, height);
        let open = self.is_open();
        let items = self.projections.messages.items();
        if rewrap {
            self.blocks.clear();
        }
        for (i, message) in items.iter().enumerate() {
            let writing = open && !message.complete;
            if self.blocks.get(i).is_some_and(|b| b.rev == message.rev && b.open == writing) {
                continue;
            }
            let lines = view_lines::message(message, i == 0, writing, width, &self.tz);
            let block = Block { rev: message.rev, open: writing, lines };
            match self.blocks.get_mut(i) {
                Some(old) => *old = block,
                None => self.blocks.push(block),
            }
        }
        self.show_state();
        if self.view == View::Values {
            if let Some(tree) = &mut self.state {
                tree.prepare(width, height);
            }
        } else {
            self.with_place(|place, rows, height| place.settle(rows, height));
        }
    }

    /// In the values view, following means the newest state of the root, or of whatever there is.
    fn show_state(&mut self) {
        let place = &mut self.places[View::Values as usize];
        let snapshots = self.projections.values.snapshots();
        if place.follow {
            place.seen = snapshots.len() as u64;
            let newest = snapshots.iter().rposition(|s| s.ns.is_empty()).or(snapshots.len().checked_sub(1));
            if newest != self.snapshot || (newest.is_some() && self.state.is_none()) {
                self.show_snapshot(newest);
            }
        }
    }

    fn show_snapshot(&mut self, number: Option<usize>) {
        let Some(snapshot) = number.and_then(|n| self.projections.values.snapshots().get(n)) else { return };
        let Some(event) = self.tape.get(snapshot.seq) else { return };
        let text = view_lines::state_text(event);
        match &mut self.state {
            Some(tree) => tree.replace(text),
            None => self.state = Some(Tree::new(text)),
        }
        self.snapshot = number;
    }

    fn with_place(&mut self, change: impl FnOnce(&mut Place, &ViewRows<'_>, usize)) {
        let mut place = self.places[self.view as usize];
        change(&mut place, &self.rows(), self.height);
        self.places[self.view as usize] = place;
    }

    /// Moves by lines: the cursor, or cursor and window together.
    pub fn step(&mut self, lines: isize, whole_window: bool) {
        if self.view == View::Values {
            if lines < 0 {
                self.pause_state();
            }
            let height = self.height;
            if let Some(tree) = &mut self.state {
                let mut place = tree.place;
                if whole_window { place.page(&*tree, height, lines) } else { place.step(&*tree, height, lines) }
                tree.place = place;
            }
            return;
        }
        self.with_place(|place, rows, height| {
            if whole_window { place.page(rows, height, lines) } else { place.step(rows, height, lines) }
        });
    }

    fn pause_state(&mut self) {
        self.places[View::Values as usize].follow = false;
    }

    /// To the first line.
    pub fn to_start(&mut self) {
        if self.view == View::Values {
            self.pause_state();
            let height = self.height;
            if let Some(tree) = &mut self.state {
                let mut place = tree.place;
                place.to_start(&*tree, height);
                tree.place = place;
            }
        } else {
            self.with_place(|place, rows, height| place.to_start(rows, height));
        }
    }

    /// To what is newest, and follows it.
    pub fn follow(&mut self) {
        if self.view == View::Values {
            self.places[View::Values as usize].follow = true;
            self.show_state();
        } else {
            self.with_place(|place, rows, height| place.to_end(rows, height, true));
        }
    }

    /// In the values view: the state some steps earlier or later. Going past the newest follows again.
    pub fn step_state(&mut self, by: isize) {
        let last = self.projections.values.snapshots().len();
        let Some(at) = self.snapshot else { return };
        let wanted = at.saturating_add_signed(by);
        if wanted >= last {
            self.places[View::Values as usize].follow = true;
            self.show_state();
        } else {
            self.pause_state();
            self.show_snapshot(Some(wanted));
        }
    }

    /// The lines of the window, each with whether the cursor is on it. A followed view has no cursor to see.
    pub fn window(&self) -> Vec<(Line, bool)> {
        if self.view == View::Values {
            let Some(tree) = &self.state else { return Vec::new() };
            let spots = super::scroll::window(tree, tree.place.top, self.height);
            return spots.map(|s| (tree.line(s), s == tree.place.cursor)).collect();
        }
        let place = &self.places[self.view as usize];
        let rows = self.rows();
        super::scroll::window(&rows, place.top, self.height)
            .map(|s| (self.line(s), !place.follow && self.marks(s, place.cursor)))
            .collect()
    }

    /// In the messages view the whole message under the cursor is marked, elsewhere the line.
    fn marks(&self, spot: Spot, cursor: Spot) -> bool {
        if self.view == View::Messages { spot == cursor } else { spot.key == cursor.key }
    }

    fn line(&self, spot: Spot) -> Line {
        match self.view {
            View::Messages => {
                let block = self.blocks.get(spot.key as usize);
                block.and_then(|b| b.lines.get(spot.line)).cloned().unwrap_or_default()
            }
            View::Updates => {
                let row = self.projections.updates.rows().get(spot.key as usize);
                row.map(|r| view_lines::update(r, &self.tz)).unwrap_or_default()
            }
            View::Lifecycle => {
                let row = self.projections.lifecycle.rows().get(spot.key as usize);
                row.map(|r| view_lines::lifecycle(r, &self.tz)).unwrap_or_default()
            }
            View::Raw => {
                self.tape.get(spot.key).map(|e| view_lines::raw(e, self.width, &self.tz)).unwrap_or_default()
            }
            View::Values => Line::new(),
        }
    }

    /// The event under the cursor (the first one of what is there).
    pub fn event_under_cursor(&self) -> Option<&Event> {
        let key = self.places[self.view as usize].cursor.key;
        let seq = match self.view {
            View::Messages => self.projections.messages.items().get(key as usize)?.last_seq,
            View::Updates => self.projections.updates.rows().get(key as usize)?.seq,
            View::Lifecycle => self.projections.lifecycle.rows().get(key as usize)?.seq,
            View::Values => self.projections.values.snapshots().get(self.snapshot?)?.seq,
            View::Raw => key,
        };
        self.tape.get(seq)
    }

    /// What copy gives: the text of a message, else the event's data.
    pub fn copy_text(&self) -> Option<String> {
        match self.view {
            View::Messages => {
                let key = self.places[View::Messages as usize].cursor.key;
                let message = self.projections.messages.items().get(key as usize)?;
                Some(if message.text.is_empty() { message.tool_calls.first()?.args.clone() } else { message.text.clone() })
            }
            View::Values => self.state.as_ref()?.value_under_cursor(),
            _ => Some(self.event_under_cursor()?.data.text().to_string()),
        }
    }

    /// The JSON of the event under the cursor, with a title.
    pub fn inspect(&self) -> Option<(String, Arc<str>)> {
        let event = self.event_under_cursor()?;
        let ns = if event.ns.is_empty() { String::new() } else { format!(" {}", event.ns.join(" › ")) };
        let id = event.id.as_deref().map(|id| format!(" · id {id}")).unwrap_or_default();
        Some((format!("event {} · {}{ns}{id}", event.seq, event.name), event.data.text().clone()))
    }
}

enum ViewRows<'a> {
    Flat(Flat),
    Blocks(&'a [Block]),
}

impl Rows for ViewRows<'_> {
    fn first(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) => flat.first,
            ViewRows::Blocks(_) => 0,
        }
    }
    fn end(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) => flat.end,
            ViewRows::Blocks(blocks) => blocks.len() as u64,
        }
    }
    fn height(&self, key: u64) -> usize {
        match self {
            ViewRows::Flat(_) => 1,
            ViewRows::Blocks(blocks) => blocks.get(key as usize).map_or(1, |b| b.lines.len().max(1)),
        }
    }
}
