//! The cursor shared by all views: an event. A view that is shown is scrolled to its line for that event, and moving in
//! any view moves the cursor. While the viewer follows new events there is no cursor.

use super::{VIEWS, View, Viewer};
use crate::features::stream::views::message::Unanswered;
use crate::features::stream::views::timeline_rows::Frame;
use crate::widgets::line::Line;
use crate::widgets::scroll;
use crate::widgets::scroll::{LinePos, Place, ScrollList};
use jiff::Timestamp;
use runtail_core::model::ThreadStatus;
use runtail_stream::{Event, Seq};

impl Viewer {
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
        self.synced_cursor = [None; VIEWS.len()];
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

    /// Returns the number of entries that arrived in the focused view since it was paused. Delivery is not a list of
    /// arrivals and has none.
    pub fn ignored_fields(&self) -> u64 {
        match self.view() {
            View::Delivery | View::Graph | View::History => 0,
            view => self.place(view).ignored_fields(&self.rows(view)),
        }
    }

    pub(crate) fn place(&self, view: View) -> &Place {
        &self.places[view as usize]
    }

    /// Sets the cursor after a move in a view, whose scroll position is already updated.
    pub(crate) fn set_anchor(&mut self, view: View, anchor: Option<Seq>) {
        self.anchor = anchor;
        self.synced_cursor[view as usize] = Some(anchor);
        let end = self.rows(view).end();
        let place = &mut self.places[view as usize];
        if place.follow && anchor.is_some() {
            place.seen = end;
        }
        place.follow = anchor.is_none();
    }

    /// Updates layout and positions for new events, the cursor and the windows (view, columns, lines). Durations of
    /// running work count up to `now`.
    pub fn prepare(&mut self, windows: &[(View, usize, usize)]) {
        self.news = false;
        self.find.is_scanning = false;
        self.find
            .drop_evicted_marks(self.event_log.first_seq().unwrap_or_default());
        let playhead = self.playhead();
        let open = self.is_open() || playhead.is_some();
        // During time travel, ages count up to the arrival of the shown event, or until the shown checkpoint was written.
        let shown_at = match self.shown_checkpoint() {
            Some(checkpoint) => checkpoint.at.unwrap_or(self.now),
            None => playhead
                .and_then(|playhead| self.event_log.arrival(playhead.at))
                .unwrap_or(self.now),
        };
        let has_thread = self.has_thread();
        for (view, width, height) in windows.iter().copied() {
            self.windows[view as usize] = (width, height);
            match view {
                View::Messages => {
                    let unanswered = self.unanswered(open);
                    let today = self.today();
                    let place = &mut self.places[view as usize];
                    if self.blocks.prepare(
                        &self.projections,
                        unanswered,
                        width,
                        (&self.tz, today),
                        place,
                    ) {
                        self.find.forget(view as usize);
                    }
                }
                View::Timeline => {
                    let place = &mut self.places[view as usize];
                    // In a closed stream nothing grows.
                    let is_shown = open || self.checkpoint.is_some();
                    let now = if is_shown { shown_at } else { Timestamp::MIN };
                    let frame = Frame {
                        now,
                        anchor: self.anchor,
                        width,
                        height,
                        has_badge: has_thread,
                    };
                    if self.bars.prepare(&self.projections, frame, place) {
                        self.find.forget(view as usize);
                    }
                }
                View::Runs => self.prepare_runs(),
                View::Delivery => self.prepare_delivery(shown_at, open, width),
                _ => {}
            }
            let (head, foot) = self.around(view);
            let rows = height.saturating_sub(head.len() + foot.len()).max(1);
            self.windows[view as usize] = (width, rows);
            self.scan(view);
            self.sync_view(view);
        }
        if self.seek() {
            windows.iter().for_each(|(view, ..)| self.sync_view(*view));
        }
    }

    /// Returns why calls without a result have none. `open`: whether more events may arrive.
    fn unanswered(&self, open: bool) -> Unanswered {
        // The thread's status is that of its newest checkpoint.
        if let Some(checkpoint) = self
            .shown_checkpoint()
            .filter(|checkpoint| !checkpoint.is_head)
        {
            return if checkpoint.has_next {
                Unanswered::Later
            } else {
                Unanswered::Missing
            };
        }
        match self.shown_status() {
            ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } | ThreadStatus::Loading
                if open =>
            {
                Unanswered::Running
            }
            ThreadStatus::Waiting { .. } => Unanswered::Waiting,
            ThreadStatus::Failed { .. } => Unanswered::Failed,
            _ => Unanswered::Missing,
        }
    }

    fn sync_view(&mut self, view: View) {
        if view == View::State {
            if self.anchor.is_none() {
                self.places[view as usize].seen = self.rows(view).end();
            }
            self.sync_state();
            return;
        }
        if matches!(view, View::Graph | View::History) {
            return;
        }
        let moved = self.synced_cursor[view as usize] != Some(self.anchor);
        self.synced_cursor[view as usize] = Some(self.anchor);
        let target = self
            .anchor
            .filter(|_| moved)
            .map(|seq| self.spot_of(view, seq));
        let follow = self.anchor.is_none() && view != View::Delivery;
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
        change: impl FnOnce(&mut Place, &super::rows::ViewRows<'_>, usize),
    ) {
        let mut place = self.places[view as usize];
        change(&mut place, &self.rows(view), self.windows[view as usize].1);
        self.places[view as usize] = place;
    }

    /// Moves in the focused view; all other views follow.
    pub(crate) fn move_in_view(
        &mut self,
        change: impl FnOnce(&mut Place, &super::rows::ViewRows<'_>, usize),
    ) {
        let view = self.view();
        self.update_place(view, change);
        let place = *self.place(view);
        match (place.follow, self.seq_at(view, place.cursor)) {
            (true, _) => self.set_anchor(view, None),
            (false, Some(seq)) => self.set_anchor(view, Some(seq)),
            // A line without an event moves only this view.
            (false, None) => {}
        }
    }

    /// Moves the cursor of the focused view to a line of its window.
    pub fn point_at(&mut self, line: usize) {
        if self.view() == View::History {
            return self.history.point_at(line);
        }
        if self.view() == View::Graph {
            return self.graph.point_at(line);
        }
        if self.view() == View::State {
            return self.move_in_state(|place, rows, height| {
                let spot = scroll::window(&rows, place.top, height).nth(line);
                if let Some(spot) = spot {
                    place.go(&rows, height, spot);
                }
            });
        }
        self.move_in_view(|place, rows, height| {
            let spot = scroll::window(rows, place.top, height).nth(line);
            if let Some(spot) = spot {
                place.go(rows, height, spot);
            }
        });
    }

    /// Moves by lines: the cursor only, or the cursor together with the window.
    pub fn step(&mut self, lines: isize, whole_window: bool) {
        if self.view() == View::History {
            return self.history.step(lines);
        }
        if self.view() == View::Graph {
            return self.graph.step(lines);
        }
        if self.view() == View::State {
            return self.move_in_state(|place, rows, height| match whole_window {
                true => place.page(&rows, height, lines),
                false => place.step(&rows, height, lines),
            });
        }
        if self.view() == View::Timeline && !whole_window && self.next_run_at_edge(lines) {
            return;
        }
        self.move_in_view(|place, rows, height| {
            if whole_window {
                place.page(rows, height, lines)
            } else {
                place.step(rows, height, lines)
            }
        });
    }

    /// Moves to the first line.
    pub fn to_start(&mut self) {
        if self.view() == View::History {
            return self.history.to_edge(true);
        }
        if self.view() == View::Graph {
            return self.graph.to_start();
        }
        if self.view() == View::State {
            return self.move_in_state(|place, rows, height| place.to_start(&rows, height));
        }
        self.move_in_view(|place, rows, height| place.to_start(rows, height));
    }

    /// Moves to the newest entry, and follows new events.
    pub fn follow(&mut self) {
        if self.leave_checkpoint() {
            return;
        }
        if self.playhead().is_some() {
            return self.return_to_present();
        }
        let view = self.view();
        match view {
            View::Graph => self.graph.follow(),
            View::History => self.history.to_edge(false),
            View::State => {
                self.set_anchor(view, None);
                self.sync_state();
            }
            View::Delivery => self.update_place(view, |place, rows, height| {
                place.to_end(rows, height, false)
            }),
            _ => self.move_in_view(|place, rows, height| place.to_end(rows, height, true)),
        }
    }

    /// Returns the number of lines on a page of the focused view.
    pub fn height(&self) -> usize {
        if self.view() == View::History {
            return self.history.height();
        }
        if self.view() == View::Graph {
            return self.graph.height();
        }
        self.windows[self.view() as usize].1
    }

    /// Returns the lines of a view's window, and whether each is under the cursor. A view that follows new events shows
    /// no cursor.
    pub fn window(&self, view: View) -> Vec<(Line, bool)> {
        let height = self.windows[view as usize].1;
        if view == View::State {
            return match &self.state {
                Some(_) if self.shows_changes() => self.changed_lines(),
                Some(tree) => tree.window(),
                None => Vec::new(),
            };
        }
        let place = self.place(view);
        let rows = self.rows(view);
        let is_under_cursor = |spot: LinePos| match view {
            View::Messages => spot == place.cursor,
            _ => spot.key == place.cursor.key,
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
        scroll::window(&rows, place.top, height)
            .map(|spot| {
                let mut shown = self.highlight(view, spot, line(spot));
                self.graph.color(&mut shown);
                (shown, !place.follow && is_under_cursor(spot))
            })
            .collect()
    }

    /// Returns the event under the cursor in the focused view.
    pub fn event_under_cursor(&self) -> Option<Event> {
        let view = self.view();
        self.event_log
            .get(self.seq_at(view, self.place(view).cursor)?)
    }
}
