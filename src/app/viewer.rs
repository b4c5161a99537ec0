//! A stream on the screen: one tape, its projections, and a place in each view.

use super::json::Tree;
use super::line::Line;
use super::msg::{ServerRef, StreamTarget};
use super::scroll::{Flat, Place, Rows, Spot};
use super::view_lines;
use crate::api::ApiError;
use crate::config::TapeLimits;
use crate::projection::{LifecycleKind, Message, Projections, Rows as Kept, Snapshot};
use crate::stream::{End, Event, Item, Limits, Outcome, Record, Tape, Target};
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
    /// Number of the snapshot shown there, counting those that were let go.
    pub snapshot: Option<u64>,
    places: [Place; 5],
    blocks: Vec<Block>,
    /// Messages that were let go before the first block.
    blocks_from: u64,
    width: usize,
    height: usize,
    tz: TimeZone,
}

impl Viewer {
    /// A viewer that waits for its first connection.
    pub fn new(
        id: u64,
        server: ServerRef,
        target: StreamTarget,
        limits: &TapeLimits,
        now: Timestamp,
        tz: TimeZone,
    ) -> Self {
        let (thread_id, run_id) = match &target {
            StreamTarget::Start { on: Target::Thread(thread), .. } => (Some(thread.clone()), None),
            StreamTarget::Start { .. } => (None, None),
            StreamTarget::Join { thread, run } => (Some(thread.clone()), Some(run.clone())),
            StreamTarget::Tail { thread } => (Some(thread.clone()), None),
        };
        Viewer {
            id,
            server,
            target,
            thread_id,
            run_id,
            tape: Tape::new(Limits {
                max_rows: limits.max_rows,
                max_bytes: usize::try_from(limits.max_bytes).unwrap_or(usize::MAX),
            }),
            projections: Projections::default(),
            link: LinkState::Connecting { since: now, conn: 1 },
            view: View::Messages,
            state: None,
            snapshot: None,
            places: [Place::following(); 5],
            blocks: Vec::new(),
            blocks_from: 0,
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
                        Record::End(end) if !matches!(self.link, LinkState::Failed(_)) => {
                            self.link = LinkState::Ended(end.clone());
                        }
                        _ => {}
                    }
                    self.tape.push(record);
                }
                Item::Connecting { at, conn } => self.link = LinkState::Connecting { since: at, conn },
                Item::Retrying { at, attempt, wait, why } => {
                    let until = at.checked_add(jiff::SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(at);
                    let why = why.lines().next().unwrap_or_default().to_string();
                    self.link = LinkState::Retrying { attempt, until, why };
                }
                Item::Started { thread_id, run_id } => {
                    self.thread_id = thread_id.or(self.thread_id.take());
                    self.run_id = Some(run_id);
                }
                Item::Failed(error) => self.link = LinkState::Failed(error),
                Item::Heartbeat { .. } | Item::Repeated { .. } => {}
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
        self.places[self.view as usize].unseen(&self.rows())
    }

    /// Entries in a view, for its tab.
    pub fn count(&self, view: View) -> u64 {
        match view {
            View::Messages => self.projections.messages.evicted() + self.projections.messages.items().len() as u64,
            View::Updates => extent(self.projections.updates.rows()).end,
            View::Values => extent(self.projections.values.rows()).end,
            View::Lifecycle => extent(self.projections.lifecycle.rows()).end,
            View::Raw => self.tape.last_seq(),
        }
    }

    fn rows(&self) -> ViewRows<'_> {
        match self.view {
            View::Messages => ViewRows::Blocks { first: self.projections.messages.evicted(), blocks: &self.blocks },
            View::Raw => {
                let end = self.tape.last_seq() + 1;
                ViewRows::Flat(Flat { first: self.tape.first_seq().unwrap_or(end), end })
            }
            View::Updates => ViewRows::Flat(extent(self.projections.updates.rows())),
            View::Values => ViewRows::Flat(extent(self.projections.values.rows())),
            View::Lifecycle => ViewRows::Flat(extent(self.projections.lifecycle.rows())),
        }
    }

    /// Brings layout and places in line with what came and with the window's size.
    pub fn prepare(&mut self, width: usize, height: usize) {
        let rewrap = width != self.width;
        (self.width, self.height) = (width, height);
        let open = self.is_open();
        let items = self.projections.messages.items();
        let evicted = self.projections.messages.evicted();
        let place = self.places[View::Messages as usize];
        let height_of = |blocks: &[Block], key: u64| {
            let block = key.checked_sub(evicted).and_then(|n| blocks.get(usize::try_from(n).ok()?));
            block.map_or(0, |b| b.lines.len())
        };
        let before = [place.top.key, place.cursor.key].map(|key| (key, height_of(&self.blocks, key)));
        if rewrap {
            self.blocks.clear();
        } else if evicted > self.blocks_from {
            let gone = usize::try_from(evicted - self.blocks_from).unwrap_or(usize::MAX).min(self.blocks.len());
            self.blocks.drain(..gone);
        }
        self.blocks_from = evicted;
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
        if rewrap {
            let mut place = place;
            for (i, (key, lines)) in before.into_iter().enumerate() {
                if i == 0 || key != before[0].0 {
                    place.rescale(key, lines, height_of(&self.blocks, key));
                }
            }
            self.places[View::Messages as usize] = place;
        }
        if self.view == View::Values {
            self.show_state();
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
        let rows = self.projections.values.rows();
        if place.follow {
            place.seen = extent(rows).end;
            let newest = rows.iter().rposition(|s| s.ns.is_empty()).or(rows.len().checked_sub(1));
            let newest = newest.map(|n| rows.evicted() + n as u64);
            if newest != self.snapshot || (newest.is_some() && self.state.is_none()) {
                self.show_snapshot(newest);
            }
        }
    }

    /// The snapshot with this number, if it is still kept.
    pub fn snapshot_at(&self, number: u64) -> Option<&Snapshot> {
        kept(self.projections.values.rows(), number)
    }

    fn show_snapshot(&mut self, number: Option<u64>) {
        let Some(snapshot) = number.and_then(|n| self.snapshot_at(n)) else { return };
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
            self.pause_state();
            let height = self.height;
            if let Some(tree) = &mut self.state {
                let mut place = tree.place;
                if whole_window {
                    place.page(&*tree, height, lines)
                } else {
                    place.step(&*tree, height, lines)
                }
                tree.place = place;
            }
            return;
        }
        self.with_place(
            |place, rows, height| {
                if whole_window { place.page(rows, height, lines) } else { place.step(rows, height, lines) }
            },
        );
    }

    /// The state's tree, to be folded by hand: whoever does that reads, so it stays as it is.
    pub fn tree(&mut self) -> Option<&mut Tree> {
        self.pause_state();
        self.state.as_mut()
    }

    /// Its task failed: nothing more will come.
    pub fn broke_off(&mut self, why: &str) {
        let at = crate::api::Place { host: self.server.url.to_string(), ..Default::default() };
        let hint = Some("this is a fault of runtail; R opens the stream again".to_string());
        let detail = format!("the stream broke off: {why}");
        self.link = LinkState::Failed(ApiError { kind: crate::api::Kind::Protocol, at, detail, hint });
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
        let extent = extent(self.projections.values.rows());
        let Some(at) = self.snapshot else { return };
        let wanted = at.saturating_add_signed(by as i64).max(extent.first);
        if wanted >= extent.end {
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
                let block = spot.key.checked_sub(self.blocks_from).and_then(|n| self.blocks.get(n as usize));
                block.and_then(|b| b.lines.get(spot.line)).cloned().unwrap_or_default()
            }
            View::Updates => {
                let row = kept(self.projections.updates.rows(), spot.key);
                row.map(|r| view_lines::update(r, &self.tz)).unwrap_or_default()
            }
            View::Lifecycle => {
                let row = kept(self.projections.lifecycle.rows(), spot.key);
                row.map(|r| view_lines::lifecycle(r, &self.tz)).unwrap_or_default()
            }
            View::Raw => self.tape.get(spot.key).map(|e| view_lines::raw(e, self.width, &self.tz)).unwrap_or_default(),
            View::Values => Line::new(),
        }
    }

    fn message_at(&self, key: u64) -> Option<&Message> {
        let at = key.checked_sub(self.projections.messages.evicted())?;
        self.projections.messages.items().get(usize::try_from(at).ok()?)
    }

    /// What the thread waits for, as far as this stream tells.
    pub fn question(&self) -> Option<String> {
        if let LinkState::Ended(End { outcome: Outcome::Interrupted, detail, .. }) = &self.link {
            return Some(detail.clone().unwrap_or_default());
        }
        let told = self.projections.lifecycle.rows().iter().rev().find_map(|r| match r.kind {
            LifecycleKind::Interrupt => Some(Some(r.text.clone())),
            LifecycleKind::RunStart => Some(None),
            _ => None,
        });
        told.flatten()
    }

    /// The event under the cursor (the first one of what is there).
    pub fn event_under_cursor(&self) -> Option<&Event> {
        let key = self.places[self.view as usize].cursor.key;
        let seq = match self.view {
            View::Messages => self.message_at(key)?.last_seq,
            View::Updates => kept(self.projections.updates.rows(), key)?.seq,
            View::Lifecycle => kept(self.projections.lifecycle.rows(), key)?.seq,
            View::Values => self.snapshot_at(self.snapshot?)?.seq,
            View::Raw => key,
        };
        self.tape.get(seq)
    }

    /// What copy gives: the text of a message, else the event's data.
    pub fn copy_text(&self) -> Option<String> {
        match self.view {
            View::Messages => {
                let key = self.places[View::Messages as usize].cursor.key;
                let message = self.message_at(key)?;
                Some(if message.text.is_empty() {
                    message.tool_calls.first()?.args.clone()
                } else {
                    message.text.clone()
                })
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

/// Keys of a projection's rows: those that were let go keep theirs.
fn extent<T>(rows: &Kept<T>) -> Flat {
    Flat { first: rows.evicted(), end: rows.evicted() + rows.len() as u64 }
}

fn kept<T>(rows: &Kept<T>, key: u64) -> Option<&T> {
    rows.get(usize::try_from(key.checked_sub(rows.evicted())?).ok()?)
}

enum ViewRows<'a> {
    Flat(Flat),
    Blocks { first: u64, blocks: &'a [Block] },
}

impl Rows for ViewRows<'_> {
    fn first(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) => flat.first,
            ViewRows::Blocks { first, .. } => *first,
        }
    }
    fn end(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) => flat.end,
            ViewRows::Blocks { first, blocks } => first + blocks.len() as u64,
        }
    }
    fn height(&self, key: u64) -> usize {
        match self {
            ViewRows::Flat(_) => 1,
            ViewRows::Blocks { first, blocks } => {
                blocks.get(key.saturating_sub(*first) as usize).map_or(1, |b| b.lines.len().max(1))
            }
        }
    }
}
