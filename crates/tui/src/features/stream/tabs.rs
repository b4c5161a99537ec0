//! The streams that are open, each in a tab. One that is not looked at goes on: only closing it ends it, so a place in a
//! million events is not lost by going back to a list.

use super::viewer::Viewer;
use crate::session::msg::{ServerRef, StreamTarget};
use runtail_stream::Tape;

/// Most streams that are open at once: each keeps a tape in memory.
pub const MAX_TABS: usize = 9;

/// The tabs, in the order in which they were opened.
#[derive(Debug, Default)]
pub struct Streams {
    open: Vec<Viewer>,
    shown: Option<usize>,
    /// What is left of those that were closed since they were last asked for.
    closed: Vec<Closed>,
}

/// What is left of a stream that was closed.
#[derive(Debug)]
pub(crate) struct Closed {
    /// Its number.
    pub stream: u64,
    /// What came.
    pub tape: Tape,
    /// Events that came twice.
    pub duplicates: u64,
}

impl Closed {
    fn of(viewer: &mut Viewer) -> Closed {
        let duplicates = viewer.books().duplicates;
        Closed { stream: viewer.id, duplicates, tape: std::mem::take(&mut viewer.tape) }
    }
}

impl Streams {
    /// All of them.
    pub fn all(&self) -> &[Viewer] {
        &self.open
    }

    /// All of them.
    pub fn all_mut(&mut self) -> &mut [Viewer] {
        &mut self.open
    }

    /// The one that is shown; none while a list is.
    pub fn shown(&self) -> Option<&Viewer> {
        self.open.get(self.shown?)
    }

    /// The one that is shown.
    pub fn shown_mut(&mut self) -> Option<&mut Viewer> {
        self.open.get_mut(self.shown?)
    }

    /// Which one is shown, counted from 0.
    pub fn at(&self) -> Option<usize> {
        self.shown
    }

    /// The stream with this number in the session.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Viewer> {
        self.open.iter_mut().find(|v| v.id == id)
    }

    /// The tab that shows this already. A run that was started is not the one that would be started now.
    pub fn find(&self, server: &ServerRef, target: &StreamTarget) -> Option<usize> {
        let same = |v: &Viewer| v.server == *server && v.target == *target && !target.is_write();
        self.open.iter().position(same)
    }

    /// Makes room for another, by closing the oldest that has ended; false where all of them go on.
    pub fn make_room(&mut self) -> bool {
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

    /// Shows a tab.
    pub fn show(&mut self, at: usize) {
        self.shown = Some(at).filter(|at| *at < self.open.len());
    }

    /// Shows the list that lies behind.
    pub fn hide(&mut self) {
        self.shown = None;
    }

    /// Shows the next tab, or the one before; from a list, the first or the last.
    pub fn turn(&mut self, forward: bool) {
        let n = self.open.len();
        self.shown = match (n, self.shown, forward) {
            (0, ..) => None,
            (_, None, true) => Some(0),
            (_, None, false) => Some(n - 1),
            (_, Some(at), true) => Some((at + 1) % n),
            (_, Some(at), false) => Some((at + n - 1) % n),
        };
    }

    /// Closes the tab that is shown; another is shown in its place, if there is one.
    pub fn close(&mut self) -> Option<Viewer> {
        let at = self.shown?;
        let closed = self.remove(at);
        self.shown = self.open.len().checked_sub(1).map(|last| at.min(last));
        Some(closed)
    }

    /// Puts another stream in the place of the one that is shown.
    pub fn replace(&mut self, viewer: Viewer) {
        match self.shown_mut() {
            Some(shown) => {
                let mut before = std::mem::replace(shown, viewer);
                self.closed.push(Closed::of(&mut before));
            }
            None => self.add(viewer),
        }
    }

    /// Puts another stream in the place of one, and shows it.
    pub fn replace_at(&mut self, at: usize, viewer: Viewer) {
        if at < self.open.len() {
            self.shown = Some(at);
        }
        self.replace(viewer);
    }

    /// Closes those that don't stay.
    pub fn close_unless(&mut self, stays: impl Fn(&Viewer) -> bool) -> Vec<Viewer> {
        let mut closed = Vec::new();
        for at in (0..self.open.len()).rev() {
            if !stays(&self.open[at]) {
                closed.insert(0, self.remove(at));
            }
        }
        closed
    }

    /// What is left of those that were closed since the last time: somebody may not be done with them.
    pub(crate) fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// Where all streams together take more bytes than that, lets go of what only makes the way back short, of those that
    /// are not shown first; then of the oldest events of the largest tape.
    pub(crate) fn keep_within(&mut self, bytes: usize) {
        let over = |open: &[Viewer]| {
            let all = open.iter().map(Viewer::bytes).sum::<usize>();
            all.checked_sub(bytes).filter(|over| *over > 0)
        };
        for shown in [false, true] {
            for at in 0..self.open.len() {
                if over(&self.open).is_none() {
                    return;
                }
                if (self.shown == Some(at)) == shown {
                    self.open[at].let_go_of_states();
                }
            }
        }
        if let Some(over) = over(&self.open)
            && let Some(largest) = self.open.iter_mut().max_by_key(|viewer| viewer.tape.kept_bytes())
        {
            largest.tape.shrink_by(over);
        }
    }

    fn remove(&mut self, at: usize) -> Viewer {
        self.shown = match self.shown {
            Some(shown) if shown == at => None,
            Some(shown) if shown > at => Some(shown - 1),
            other => other,
        };
        let mut removed = self.open.remove(at);
        self.closed.push(Closed::of(&mut removed));
        removed
    }
}
