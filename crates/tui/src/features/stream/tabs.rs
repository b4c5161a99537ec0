//! The open streams, each in a tab. A hidden stream continues; only closing its tab ends it, so going back to a list
//! keeps the position in a million events. A tab can show a second open stream beside its own.

use super::viewer::Viewer;
use crate::session::msg::{ServerRef, StreamTarget};
use runtail_stream::EventLog;

/// Maximum number of open streams, because each keeps an event log in memory.
pub const MAX_TABS: usize = 9;

/// The tabs, in the order they were opened.
#[derive(Debug, Default)]
pub struct Streams {
    open: Vec<Viewer>,
    shown: Option<usize>,
    /// The streams that were closed since [`Streams::take_closed`] was last called.
    closed: Vec<Closed>,
}

/// The stream that a tab shows beside its own, or showed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// Its number in this session.
    pub stream: u64,
    pub is_shown: bool,
    /// Whether it has the focus.
    pub is_focused: bool,
    /// Whether the stream with the focus uses the whole page.
    pub is_zoomed: bool,
}

/// The data of a closed stream that its recording still needs.
#[derive(Debug)]
pub(crate) struct Closed {
    pub stream: u64,
    pub event_log: EventLog,
    /// The number of duplicate events.
    pub duplicates: u64,
}

impl Closed {
    fn new(viewer: &mut Viewer) -> Closed {
        let duplicates = viewer.delivery_log().duplicates;
        Closed {
            stream: viewer.id,
            duplicates,
            event_log: std::mem::take(viewer.live_log_mut()),
        }
    }
}

impl Streams {
    pub fn all(&self) -> &[Viewer] {
        &self.open
    }

    pub fn all_mut(&mut self) -> &mut [Viewer] {
        &mut self.open
    }

    /// Returns the shown stream, of two the one with the focus; `None` while a list is shown.
    pub fn shown(&self) -> Option<&Viewer> {
        self.open.get(self.focused()?)
    }

    pub fn shown_mut(&mut self) -> Option<&mut Viewer> {
        let at = self.focused()?;
        self.open.get_mut(at)
    }

    /// Returns the index of the shown tab.
    pub fn at(&self) -> Option<usize> {
        self.shown
    }

    /// Returns the stream that the shown tab shows beside its own.
    fn beside(&self) -> Option<Beside> {
        let beside = self
            .open
            .get(self.shown?)?
            .beside
            .filter(|beside| beside.is_shown)?;
        self.open
            .iter()
            .any(|viewer| viewer.id == beside.stream)
            .then_some(beside)
    }

    /// Returns the index of the stream that the shown tab shows beside its own.
    pub fn partner(&self) -> Option<usize> {
        let beside = self.beside()?;
        self.open
            .iter()
            .position(|viewer| viewer.id == beside.stream)
    }

    /// Returns the index of the shown stream, of two the one with the focus.
    pub fn focused(&self) -> Option<usize> {
        match self.beside() {
            Some(Beside {
                is_focused: true, ..
            }) => self.partner(),
            _ => self.shown,
        }
    }

    /// Returns whether the second stream has the focus.
    pub(super) fn focuses_partner(&self) -> bool {
        self.beside().is_some_and(|beside| beside.is_focused)
    }

    /// Returns whether only the stream with the focus is visible, although two are shown.
    pub(super) fn is_zoomed(&self) -> bool {
        self.beside().is_some_and(|beside| beside.is_zoomed)
    }

    fn change_beside(&mut self, change: impl FnOnce(&mut Beside)) -> bool {
        let is_shown = self.beside().is_some();
        let beside = self
            .shown
            .and_then(|at| self.open.get_mut(at)?.beside.as_mut())
            .filter(|_| is_shown);
        beside.map(change).is_some()
    }

    /// Gives the focus to the second stream, or to the first.
    pub(super) fn focus_partner(&mut self, is_focused: bool) -> bool {
        self.change_beside(|beside| beside.is_focused = is_focused)
    }

    /// Moves the focus to the other half, of two streams or of two views. Returns false if there is only one.
    pub fn other_half(&mut self) -> bool {
        self.change_beside(|beside| beside.is_focused = !beside.is_focused)
            || self.shown_mut().is_some_and(Viewer::other_half)
    }

    /// Gives the half with the focus the whole page, or takes it back.
    pub fn toggle_zoom(&mut self) {
        if !self.change_beside(|beside| beside.is_zoomed = !beside.is_zoomed)
            && let Some(viewer) = self.shown_mut()
        {
            viewer.toggle_zoom();
        }
    }

    /// Shows another open stream beside that of the shown tab. Both tabs are kept.
    pub fn show_beside(&mut self, other: usize) {
        let (Some(at), Some(stream)) = (self.shown, self.open.get(other).map(|viewer| viewer.id))
        else {
            return;
        };
        if other == at {
            return;
        }
        (self.open[other].is_preview, self.open[other].is_asleep) = (false, false);
        self.open[at].is_preview = false;
        self.open[at].beside = Some(Beside {
            stream,
            is_shown: true,
            is_focused: false,
            is_zoomed: false,
        });
    }

    /// Shows the next open stream beside that of the shown tab, first the one that was there last. After the last one, shows
    /// one stream again. Returns false if no other stream is open.
    pub fn next_beside(&mut self) -> bool {
        let Some(at) = self.shown.filter(|_| self.open.len() > 1) else {
            return false;
        };
        let count = self.open.len();
        let place = |other: usize| (other + count - at) % count;
        let known = self.open[at].beside.and_then(|beside| {
            let other = self
                .open
                .iter()
                .position(|viewer| viewer.id == beside.stream)?;
            Some((other, beside.is_shown))
        });
        match known {
            Some((other, false)) => self.show_beside(other),
            Some((other, true)) if place(other) + 1 < count => {
                let is_focused = self.focuses_partner();
                self.show_beside((other + 1) % count);
                self.focus_partner(is_focused);
            }
            Some((_, true)) => self.open[at].beside = None,
            None => self.show_beside((at + 1) % count),
        }
        true
    }

    /// Shows only the stream of the shown tab.
    pub fn end_beside(&mut self) {
        self.change_beside(|beside| (beside.is_shown, beside.is_focused) = (false, false));
    }

    /// Shows only the stream with the focus. The other one is remembered for the next pair.
    pub fn keep_focused(&mut self) {
        let (own, focused) = (self.shown, self.focused());
        self.end_beside();
        let (Some(own), Some(at)) = (own, focused.filter(|at| Some(*at) != own)) else {
            return;
        };
        let stream = self.open[own].id;
        self.open[at].beside = Some(Beside {
            stream,
            is_shown: false,
            is_focused: false,
            is_zoomed: false,
        });
        self.show(at);
    }

    /// Returns the stream of the shown tab, or the one beside it.
    pub(super) fn half(&self, is_partner: bool) -> Option<&Viewer> {
        let at = if is_partner {
            self.partner()
        } else {
            self.shown
        };
        self.open.get(at?)
    }

    /// Returns the stream with this number in the session.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Viewer> {
        self.open.iter_mut().find(|v| v.id == id)
    }

    /// Returns the tab that shows this target. A target that starts a run never matches, because each start is a new run; its tab
    /// follows the thread that the run is on.
    pub fn find(&self, server: &ServerRef, target: &StreamTarget) -> Option<usize> {
        let follows = |v: &Viewer| match target {
            StreamTarget::Tail { thread } => {
                v.target.is_write() && v.is_open() && v.thread_id.as_ref() == Some(thread)
            }
            _ => false,
        };
        let same = |v: &Viewer| {
            v.server == *server && (v.target == *target && !target.is_write() || follows(v))
        };
        self.open.iter().position(same)
    }

    /// Makes room for another stream: closes the one that was only looked at, or the oldest ended one. Returns false if all are
    /// still open.
    pub fn make_room(&mut self) -> bool {
        if let Some(at) = self.open.iter().position(|viewer| viewer.is_preview) {
            self.remove(at);
        }
        if self.open.len() < MAX_TABS {
            return true;
        }
        let ended = self.open.iter().position(|v| !v.is_open());
        if let Some(at) = ended {
            self.remove(at);
        }
        ended.is_some()
    }

    /// Adds a stream and shows it.
    pub fn add(&mut self, viewer: Viewer) {
        self.open.push(viewer);
        self.shown = Some(self.open.len() - 1);
    }

    /// Shows a stream that was opened again, which keeps it.
    pub fn show_again(&mut self, at: usize) {
        self.show(at);
        if let Some(viewer) = self.open.get_mut(at) {
            viewer.is_preview = false;
        }
    }

    /// Shows a tab, with the focus on its own stream.
    pub fn show(&mut self, at: usize) {
        self.shown = Some(at).filter(|at| *at < self.open.len());
        self.focus_partner(false);
        if let Some(viewer) = self.open.get_mut(at) {
            viewer.is_asleep = false;
        }
    }

    /// Shows the list instead of a tab.
    pub fn hide(&mut self) {
        self.shown = None;
    }

    /// Closes the shown stream. Beside another one, that one is shown alone; otherwise a neighboring tab, if there is one.
    pub fn close(&mut self) -> Option<Viewer> {
        let at = self.focused()?;
        let other = if self.focuses_partner() {
            self.shown
        } else {
            self.partner()
        };
        let other = other
            .and_then(|at| self.open.get(at))
            .map(|viewer| viewer.id)
            .filter(|_| self.beside().is_some());
        let closed = self.remove(at);
        let other = other.and_then(|id| self.open.iter().position(|viewer| viewer.id == id));
        self.shown = other.or_else(|| self.open.len().checked_sub(1).map(|last| at.min(last)));
        Some(closed)
    }

    /// Replaces the shown stream.
    pub fn replace(&mut self, viewer: Viewer) {
        match self.focused() {
            Some(at) => self.put(at, viewer),
            None => self.add(viewer),
        }
    }

    /// Replaces a stream, and shows the new one.
    pub fn replace_at(&mut self, at: usize, viewer: Viewer) {
        if at >= self.open.len() {
            return self.add(viewer);
        }
        self.put(at, viewer);
        self.show(at);
    }

    /// Puts a stream into the place of another one, in its own tab and beside others.
    pub(crate) fn put(&mut self, at: usize, mut viewer: Viewer) {
        let (old, new) = (self.open[at].id, viewer.id);
        viewer.beside = self.open[at].beside;
        let mut before = std::mem::replace(&mut self.open[at], viewer);
        self.closed.push(Closed::new(&mut before));
        let of_old = self
            .open
            .iter_mut()
            .filter_map(|viewer| viewer.beside.as_mut());
        of_old
            .filter(|beside| beside.stream == old)
            .for_each(|beside| beside.stream = new);
    }

    /// Closes all streams except those to keep.
    pub fn close_except(&mut self, keep: impl Fn(&Viewer) -> bool) -> Vec<Viewer> {
        let mut closed = Vec::new();
        for at in (0..self.open.len()).rev() {
            if !keep(&self.open[at]) {
                closed.insert(0, self.remove(at));
            }
        }
        closed
    }

    /// Takes the streams that were closed since the last call, because recordings may still need them.
    pub(crate) fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// Returns by how much the memory of all streams exceeds a limit.
    pub(crate) fn excess(&self, limit: usize) -> Option<usize> {
        let all = self.open.iter().map(Viewer::bytes).sum::<usize>();
        all.checked_sub(limit).filter(|excess| *excess > 0)
    }

    /// Returns the visible or the hidden tabs, the largest first.
    pub(crate) fn by_size(&self, is_shown: bool) -> Vec<usize> {
        let mut found: Vec<usize> = (0..self.open.len())
            .filter(|at| self.is_visible(*at) == is_shown)
            .collect();
        found.sort_by_key(|at| std::cmp::Reverse(self.open[*at].bytes()));
        found
    }

    /// Reads the pages that are shown, if they gave way before.
    pub(crate) fn unpark(&mut self) {
        for at in self.by_size(true) {
            self.open[at].is_parked = false;
        }
    }

    fn is_visible(&self, at: usize) -> bool {
        self.shown == Some(at) || self.partner() == Some(at)
    }

    fn remove(&mut self, at: usize) -> Viewer {
        self.shown = match self.shown {
            Some(shown) if shown == at => None,
            Some(shown) if shown > at => Some(shown - 1),
            other => other,
        };
        let mut removed = self.open.remove(at);
        self.closed.push(Closed::new(&mut removed));
        removed
    }
}
