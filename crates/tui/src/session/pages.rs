//! The open pages of threads, as far as other features than the streams read them.

use super::compare::SideRef;
use super::msg::ThreadRef;
use runtail_core::model::ThreadStatus;
use runtail_core::text::short_id;
use std::sync::Arc;

/// An open page of a thread.
#[derive(Debug)]
pub struct OpenPage {
    pub thread: ThreadRef,
    /// The name of its tab.
    pub name: String,
    /// Whether more events are expected.
    pub is_open: bool,
    pub status: ThreadStatus,
    /// The keys that have a value in the thread's state; `None` if the state is not known.
    pub state_keys: Option<Vec<Arc<str>>>,
    /// The ids of the known runs, and their names: `run 3`.
    pub runs: Vec<(Arc<str>, String)>,
}

/// The open pages, in the order of their tabs. They are copied at each layout, because a stream changes faster than the screen.
#[derive(Debug, Default)]
pub struct OpenPages {
    pub all: Vec<OpenPage>,
    /// The shown thread, run or recording.
    pub shown: Option<SideRef>,
}

impl OpenPages {
    fn of<'p>(&'p self, thread: &ThreadRef) -> impl Iterator<Item = &'p OpenPage> {
        self.all.iter().filter(move |page| page.thread == *thread)
    }

    /// Returns the first page of a thread, even if its stream has ended.
    pub fn first(&self, thread: &ThreadRef) -> Option<&OpenPage> {
        self.of(thread).next()
    }

    /// Returns the first page of a thread whose stream is open.
    pub fn open(&self, thread: &ThreadRef) -> Option<&OpenPage> {
        self.of(thread).find(|page| page.is_open)
    }

    /// Returns the status of a thread from its page, if one is open.
    pub fn status(&self, thread: &ThreadRef) -> Option<&ThreadStatus> {
        self.open(thread).map(|page| &page.status)
    }

    /// Returns the name of a run of a thread: its number, if a page knows it.
    pub fn run_name(&self, thread: &ThreadRef, run: &str) -> String {
        let mut runs = self.of(thread).flat_map(|page| &page.runs);
        let known = runs.find(|(id, _)| **id == *run);
        known.map_or_else(
            || format!("run {}", short_id(run)),
            |(_, name)| name.clone(),
        )
    }
}
