//! The open streams, each in a tab. A hidden stream continues; only closing its tab ends it, so going back to a list
//! keeps the position in a million events.

use super::viewer::Viewer;
use crate::session::msg::{ServerRef, StreamTarget, ThreadRef};
use runtail_stream::EventLog;

/// Maximum number of open streams, because each keeps an event log in memory.
pub const MAX_TABS: usize = 9;

/// The tabs, in the order they were opened.
#[derive(Debug, Default)]
pub struct Streams {
    open: Vec<Viewer>,
    shown: Option<usize>,
    /// The streams that were closed since [`Streams::take_closed`] was last called.
    closed: Vec<ClosedTab>,
}

/// The data of a closed stream that its recording still needs.
#[derive(Debug)]
pub(crate) struct ClosedTab {
    pub stream: u64,
    pub event_log: EventLog,
    /// The number of duplicate events.
    pub duplicates: u64,
}

impl ClosedTab {
    fn new(viewer: &mut Viewer) -> ClosedTab {
        let duplicates = viewer.delivery_log().duplicates;
        ClosedTab {
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

    /// Returns the shown stream; `None` while a list is shown.
    pub fn shown(&self) -> Option<&Viewer> {
        self.open.get(self.shown?)
    }

    pub fn shown_mut(&mut self) -> Option<&mut Viewer> {
        self.open.get_mut(self.shown?)
    }

    /// Returns the index of the shown tab.
    pub fn at(&self) -> Option<usize> {
        self.shown
    }

    /// Returns the pages of a thread, in the order of their tabs.
    pub fn pages(&self, thread: &ThreadRef) -> impl Iterator<Item = &Viewer> {
        self.open.iter().filter(move |viewer| viewer.is_of(thread))
    }

    /// Returns the stream with this number in the session.
    pub fn get(&self, id: u64) -> Option<&Viewer> {
        self.open.iter().find(|v| v.id == id)
    }

    /// See [`Streams::get`].
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

    /// Shows a tab.
    pub fn show(&mut self, at: usize) {
        self.shown = Some(at).filter(|at| *at < self.open.len());
        if let Some(viewer) = self.open.get_mut(at) {
            viewer.is_asleep = false;
        }
    }

    /// Shows a tab, or the list, without waking a page that is not read until the user shows it.
    pub(crate) fn set_shown(&mut self, at: Option<usize>) {
        self.shown = at;
    }

    /// Shows the list instead of a tab.
    pub fn hide(&mut self) {
        self.shown = None;
    }

    /// Closes the shown stream, and shows a neighboring tab, if there is one.
    pub fn close(&mut self) -> Option<Viewer> {
        let at = self.shown?;
        let closed = self.remove(at);
        self.shown = self.open.len().checked_sub(1).map(|last| at.min(last));
        Some(closed)
    }

    /// Replaces the shown stream.
    pub fn replace(&mut self, viewer: Viewer) {
        match self.shown {
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

    /// Puts a stream into the place of another one.
    pub(crate) fn put(&mut self, at: usize, viewer: Viewer) {
        let mut before = std::mem::replace(&mut self.open[at], viewer);
        self.closed.push(ClosedTab::new(&mut before));
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
    pub(crate) fn take_closed(&mut self) -> Vec<ClosedTab> {
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
            .filter(|at| (self.shown == Some(*at)) == is_shown)
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

    fn remove(&mut self, at: usize) -> Viewer {
        self.shown = match self.shown {
            Some(shown) if shown == at => None,
            Some(shown) if shown > at => Some(shown - 1),
            other => other,
        };
        let mut removed = self.open.remove(at);
        self.closed.push(ClosedTab::new(&mut removed));
        removed
    }
}
