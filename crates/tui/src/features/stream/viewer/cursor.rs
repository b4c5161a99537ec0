//! The cursor shared by all views: an event. A view that is shown is scrolled to its line for that event, and moving in
//! any view moves the cursor. While the viewer follows new events there is no cursor.

use super::Viewer;
use crate::features::stream::find::MatchIndex;
use crate::features::stream::views::View;
use crate::features::stream::views::stream_view::{EntryKind, ViewLayout, ViewRows};
use crate::widgets::line::Line;
use crate::widgets::scroll;
use crate::widgets::scroll::{LinePos, Move, Place, ScrollList};
use runtail_stream::{Event, Seq};

/// What the viewer keeps for a view.
#[derive(Debug)]
pub struct Slot {
    /// The scroll position.
    pub place: Place,
    /// The cursor that the view was last scrolled to.
    pub(super) synced: Option<Option<Seq>>,
    /// The columns and lines of the window.
    pub window: (usize, usize),
    /// The entries that match the filter.
    pub(super) filtered: Option<MatchIndex>,
    /// The filtered entries that match the search.
    pub(super) hits: Option<MatchIndex>,
    /// The newest event when the view was last scanned: messages that changed since are scanned again.
    pub(super) scanned_to: Seq,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot {
            place: Place::following(),
            synced: None,
            window: (0, 0),
            filtered: None,
            hits: None,
            scanned_to: Seq::START,
        }
    }
}

impl Slot {
    /// Forgets the matches, because the entries were renumbered.
    pub fn forget(&mut self) {
        (self.filtered, self.hits) = (None, None);
    }

    /// Scrolls to the cursor again, because other entries are shown.
    pub fn begin_again(&mut self) {
        let follow = self.place.follow;
        *self = Slot {
            window: self.window,
            ..Slot::default()
        };
        self.place.follow = follow;
    }
}

impl Viewer {
    /// Returns what is kept for a view.
    pub fn slot(&self, view: View) -> &Slot {
        &self.slots[view as usize]
    }

    pub(crate) fn place(&self, view: View) -> &Place {
        &self.slot(view).place
    }

    /// Scrolls all views to the cursor again.
    pub(super) fn unsync(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.synced = None);
    }

    /// Returns the number of entries of a view, for its tab.
    pub fn count(&self, view: View) -> u64 {
        view.of().count(self)
    }

    /// Returns the visible entries of a view.
    pub(crate) fn rows(&self, view: View) -> ViewRows<'_> {
        let all = match view.of().entries(self) {
            ViewRows::Flat(flat) if self.wraps(view) => ViewRows::Wrapped(flat, self, view),
            all => all,
        };
        match &self.slot(view).filtered {
            Some(index) => ViewRows::Filtered(Box::new(all), index),
            None => all,
        }
    }

    /// Returns one line of a view.
    pub(super) fn line(&self, view: View, spot: LinePos) -> Line {
        if !self.wraps(view) {
            let line = view.of().line(self, spot, self.line_width(view));
            return line.unwrap_or_default();
        }
        let mut lines = self.wrapped(view, spot.key).into_iter();
        lines.nth(spot.line).unwrap_or_default()
    }

    /// Returns whether the viewer follows new events.
    pub fn follows(&self) -> bool {
        self.anchor.is_none()
    }

    /// Returns the event under the cursor; `None` while the viewer follows new events.
    pub fn anchor(&self) -> Option<Seq> {
        self.anchor
    }

    /// Moves to an event in all views.
    pub fn go_to(&mut self, seq: Seq) {
        let first = self.event_log.first_seq().unwrap_or_default();
        self.anchor = Some(seq.clamp(first, self.event_log.last_seq().max(first)));
        self.unsync();
    }

    /// Returns the first event of the run or message with this id, or the newest event with this id. Returns `None` if
    /// it was evicted.
    pub fn seq_of(&self, id: &str) -> Option<Seq> {
        let projections = &self.projections;
        let start = projections
            .metrics
            .run(id)
            .map(|run| run.seq)
            .or_else(|| projections.messages.with_id(id).map(|m| m.first_seq));
        let seq = start.or_else(|| self.event_log.newest_with_id(id))?;
        let first = self.event_log.first_seq()?;
        (first..=self.event_log.last_seq())
            .contains(&seq)
            .then_some(seq)
    }

    /// Returns the number of entries that arrived in the focused view since it was paused. A view with a cursor of its own is not
    /// a list of arrivals and has none.
    pub fn new_entries(&self) -> u64 {
        let view = self.view();
        match view.kind().has_own_cursor() {
            true => 0,
            false => self.place(view).new_entries(&self.rows(view)),
        }
    }

    /// Sets the cursor after a move in a view, whose scroll position is already updated.
    pub(crate) fn set_anchor(&mut self, view: View, anchor: Option<Seq>) {
        self.anchor = anchor;
        let end = self.rows(view).end();
        let slot = &mut self.slots[view as usize];
        slot.synced = Some(anchor);
        if slot.place.follow && anchor.is_some() {
            slot.place.seen = end;
        }
        slot.place.follow = anchor.is_none();
    }

    /// Updates layout and positions for new events, the cursor and the windows (view, columns, lines). Durations of
    /// running work count up to `now`.
    pub fn prepare(&mut self, windows: &[(View, usize, usize)]) {
        self.news = false;
        self.find.is_scanning = false;
        self.find
            .drop_evicted_marks(self.event_log.first_seq().unwrap_or_default());
        self.keep_in_scope();
        let playhead = self.playhead();
        let is_open = self.is_open() || playhead.is_some();
        // During time travel, ages count up to the arrival of the shown event, or until the shown checkpoint was written.
        let shown_at = match self.shown_checkpoint() {
            Some(checkpoint) => checkpoint.of.at,
            None => playhead.and_then(|playhead| self.event_log.arrival(playhead.at)),
        };
        let now = shown_at.unwrap_or(self.now);
        for (view, width, height) in windows.iter().copied() {
            self.slots[view as usize].window = (width, height);
            let layout = ViewLayout {
                view,
                now,
                is_open,
                width,
                height,
            };
            view.of().prepare(self, layout);
            let (head, foot) = view.of().around(self);
            let rows = height.saturating_sub(head.len() + foot.len()).max(1);
            self.slots[view as usize].window = (width, rows);
            self.scan(view);
            self.sync_view(view);
        }
        if self.seek() {
            windows.iter().for_each(|(view, ..)| self.sync_view(*view));
        }
    }

    fn sync_view(&mut self, view: View) {
        if view.of().sync(self) {
            return;
        }
        let moved = self.slot(view).synced != Some(self.anchor);
        self.slots[view as usize].synced = Some(self.anchor);
        let target = self
            .anchor
            .filter(|_| moved)
            .map(|seq| view.of().spot_of(self, seq));
        let follow = self.anchor.is_none() && !view.kind().has_own_cursor();
        self.update_place(view, |place, rows, height| {
            match target {
                Some(Some(spot)) => place.go(rows, height, spot),
                Some(None) => place.follow = false,
                None => place.follow = follow,
            }
            place.clamp(rows, height);
        });
    }

    pub(crate) fn update_place(
        &mut self,
        view: View,
        change: impl FnOnce(&mut Place, &ViewRows<'_>, usize),
    ) {
        let mut place = *self.place(view);
        change(&mut place, &self.rows(view), self.slot(view).window.1);
        self.slots[view as usize].place = place;
    }

    /// Moves in the focused view; all other views follow.
    pub(crate) fn move_in_view(&mut self, change: impl FnOnce(&mut Place, &ViewRows<'_>, usize)) {
        let view = self.view();
        self.update_place(view, change);
        let place = *self.place(view);
        match (place.follow, view.of().seq_at(self, place.cursor)) {
            (true, _) => self.set_anchor(view, None),
            (false, Some(seq)) => self.set_anchor(view, Some(seq)),
            // A line without an event moves only this view.
            (false, None) => {}
        }
    }

    /// Moves in the entries of the focused view.
    pub(crate) fn scroll(&mut self, to: Move) {
        self.move_in_view(|place, rows, height| place.apply(rows, height, to));
    }

    /// Moves to an entry of the focused view.
    pub(crate) fn go_to_entry(&mut self, key: u64) {
        self.move_in_view(|place, rows, height| place.go(rows, height, LinePos::of(key)));
    }

    /// Moves in the focused view.
    pub fn go(&mut self, to: Move) {
        self.view().of().go(self, to);
    }

    /// Moves by lines: the cursor only, or the cursor together with the window.
    pub fn step(&mut self, lines: isize, whole_window: bool) {
        self.go(match whole_window {
            true => Move::Page(lines),
            false => Move::Step(lines),
        });
    }

    /// Moves to the first line.
    pub fn to_start(&mut self) {
        self.go(Move::Start);
    }

    /// Moves to the newest entry, and follows new events.
    pub fn follow(&mut self) {
        if self.leave_checkpoint() {
            return;
        }
        match self.playhead() {
            Some(_) => self.return_to_present(),
            None => self.go(Move::End),
        }
    }

    /// Returns the number of lines on a page of the focused view.
    pub fn height(&self) -> usize {
        let view = self.view();
        view.of().height(self).unwrap_or(self.slot(view).window.1)
    }

    /// Returns the positions of the lines in a view's window.
    pub(crate) fn spots(&self, view: View) -> Vec<LinePos> {
        let slot = self.slot(view);
        scroll::window(&self.rows(view), slot.place.top, slot.window.1).collect()
    }

    /// Returns the lines of a view's window, and whether each is under the cursor. A view that follows new events shows
    /// no cursor.
    pub fn window(&self, view: View) -> Vec<(Line, bool)> {
        if let Some(lines) = view.of().window(self) {
            return lines;
        }
        let place = self.place(view);
        // All lines of an event are under the cursor, but one line of a message.
        let is_whole = view.kind() == EntryKind::Events;
        let is_under_cursor = |spot: LinePos| match is_whole {
            true => spot.key == place.cursor.key,
            false => spot == place.cursor,
        };
        // The lines of a wrapped entry are rendered together.
        let mut rendered: Option<(u64, Vec<Line>)> = None;
        let mut line = |spot: LinePos| {
            if !self.wraps(view) {
                return self.line(view, spot);
            }
            if rendered.as_ref().is_none_or(|(key, _)| *key != spot.key) {
                rendered = Some((spot.key, self.wrapped(view, spot.key)));
            }
            rendered
                .as_ref()
                .and_then(|(_, lines)| lines.get(spot.line).cloned())
                .unwrap_or_default()
        };
        let spots = self.spots(view).into_iter();
        spots
            .map(|spot| {
                let mut shown = self.highlight(view, spot, line(spot));
                self.views.graph.color(&mut shown);
                (shown, !place.follow && is_under_cursor(spot))
            })
            .collect()
    }

    /// Returns the event of the line under the cursor in the focused view; `None` if the line is about all events.
    pub(crate) fn seq_under_cursor(&self) -> Option<Seq> {
        let view = self.view();
        view.of().seq_at(self, self.place(view).cursor)
    }

    /// Returns the event under the cursor in the focused view.
    pub fn event_under_cursor(&self) -> Option<Event> {
        self.event_log.get(self.seq_under_cursor()?)
    }
}
