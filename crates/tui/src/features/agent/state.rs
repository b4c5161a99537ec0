//! The state of an open agent server: its threads, the runs of a thread, its assistants.

use super::threads::{ListOrder, PAGE, ThreadList};
use crate::session::loaded::Loaded;
use crate::session::msg::{ServerRef, WantedStatus};
use crate::session::row_details::RowDetails;
use crate::widgets::selection::Selection;
use runtail_core::model::{Assistant, Run, Thread};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The list that the pane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// The server's threads.
    Threads,
    Assistants,
    /// The runs of one thread.
    Runs,
}

/// Maximum number of runs to list.
pub const MAX_RUNS: usize = 1000;

/// An open agent server.
#[derive(Debug, Clone)]
pub struct Server {
    /// The server.
    pub server: ServerRef,
    /// The shown list.
    pub tab: Tab,
    pub threads: ThreadList,
    /// The marked threads, for actions on several.
    pub marked: BTreeSet<String>,
    pub assistants: Loaded<Vec<Assistant>>,
    /// The thread whose runs are listed.
    pub runs_of: Option<String>,
    /// The runs of that thread, newest first.
    pub runs: Loaded<Vec<Run>>,
    /// Runs to request.
    pub limit: usize,
    /// The selected thread.
    pub thread_selection: Selection,
    /// What was read of selected threads.
    pub details: RowDetails,
    /// The selected assistant.
    pub assistant_selection: Selection,
    /// The selected run.
    pub run_selection: Selection,
    /// Only runs or assistants that contain this text are shown. Threads have a search.
    pub filter: String,
}

impl Server {
    /// Creates a server with nothing loaded. `order`: of its threads.
    pub fn new(server: ServerRef, order: ListOrder) -> Server {
        Server {
            server,
            tab: Tab::Threads,
            threads: ThreadList::new(order),
            marked: BTreeSet::new(),
            assistants: Loaded::default(),
            runs_of: None,
            runs: Loaded::default(),
            limit: PAGE,
            thread_selection: Selection::default(),
            details: RowDetails::default(),
            assistant_selection: Selection::default(),
            run_selection: Selection::default(),
            filter: String::new(),
        }
    }

    /// Returns the request for the status of a listed thread.
    pub fn wanted_status(&self, thread: &str) -> Option<WantedStatus> {
        Some(WantedStatus {
            thread: thread.into(),
            facts: self.threads.row(thread)?.facts.clone(),
        })
    }

    /// Toggles the mark of the selected thread.
    pub fn toggle_mark(&mut self) {
        if let Some(id) = self.thread_selection.selected.clone()
            && !self.marked.remove(&id)
        {
            self.marked.insert(id);
        }
    }

    /// Returns how many marked threads the search doesn't show.
    pub fn hidden_marks(&self) -> usize {
        let shown = self
            .threads
            .shown()
            .iter()
            .filter(|id| self.marked.contains(*id))
            .count();
        self.marked.len().saturating_sub(shown)
    }

    /// Marks all shown threads, or removes all marks if they are marked.
    pub fn toggle_all_marks(&mut self) {
        let shown = self.threads.shown();
        match shown.iter().all(|id| self.marked.contains(id)) {
            true => self.marked.clear(),
            false => self.marked.extend(shown.iter().cloned()),
        }
    }

    /// Shows another list and clears the filter, which belongs to one list.
    pub fn show(&mut self, tab: Tab) {
        if self.tab != tab {
            self.tab = tab;
            self.filter.clear();
        }
    }

    fn matches_filter(&self, texts: &[&str]) -> bool {
        let filter = self.filter.to_lowercase();
        filter.is_empty() || texts.iter().any(|t| t.to_lowercase().contains(&filter))
    }

    /// Returns the assistants that match the filter.
    pub fn shown_assistants(&self) -> Vec<&Assistant> {
        let all = self.assistants.value.iter().flatten();
        all.filter(|a| {
            self.matches_filter(&[
                &a.assistant_id,
                &a.graph_id,
                a.name.as_deref().unwrap_or(""),
            ])
        })
        .collect()
    }

    /// Returns the runs that match the filter.
    pub fn shown_runs(&self) -> Vec<&Run> {
        self.runs
            .value
            .iter()
            .flatten()
            .filter(|r| self.matches_filter(&[&r.run_id, &r.status]))
            .collect()
    }

    /// Returns the ids of the shown rows.
    pub fn shown_ids(&self) -> Cow<'_, [String]> {
        match self.tab {
            Tab::Threads => Cow::Borrowed(self.threads.shown()),
            Tab::Assistants => self
                .shown_assistants()
                .iter()
                .map(|a| a.assistant_id.clone())
                .collect(),
            Tab::Runs => self.shown_runs().iter().map(|r| r.run_id.clone()).collect(),
        }
    }

    /// Changes the selection of the shown list, which has these ids.
    pub fn pick(&mut self, change: impl FnOnce(&mut Selection, &[String])) {
        let mut selection = std::mem::take(self.selection());
        change(&mut selection, &self.shown_ids());
        *self.selection() = selection;
    }

    /// Returns the selection of the shown list, to move it.
    pub fn selection(&mut self) -> &mut Selection {
        match self.tab {
            Tab::Threads => &mut self.thread_selection,
            Tab::Assistants => &mut self.assistant_selection,
            Tab::Runs => &mut self.run_selection,
        }
    }

    /// Returns the selection of the shown list.
    pub fn shown_selection(&self) -> &Selection {
        match self.tab {
            Tab::Threads => &self.thread_selection,
            Tab::Assistants => &self.assistant_selection,
            Tab::Runs => &self.run_selection,
        }
    }

    /// Returns the selected thread.
    pub fn thread(&self) -> Option<&Thread> {
        self.threads.get(self.thread_selection.selected.as_ref()?)
    }

    /// Returns the assistant of a listed thread, by id or by graph.
    pub fn assistant_of(&self, thread: &str) -> Option<String> {
        let metadata = self.threads.get(thread)?.metadata.as_ref()?;
        let value = |key: &str| {
            metadata
                .get(key)
                .and_then(|v| v.as_str())
                .map(str::to_string)
        };
        value("assistant_id").or_else(|| value("graph_id"))
    }

    /// Returns the selected assistant.
    pub fn assistant(&self) -> Option<&Assistant> {
        let id = self.assistant_selection.selected.as_ref()?;
        self.assistants
            .value
            .iter()
            .flatten()
            .find(|a| &a.assistant_id == id)
    }

    /// Returns the selected run.
    pub fn run(&self) -> Option<&Run> {
        let id = self.run_selection.selected.as_ref()?;
        self.runs.value.iter().flatten().find(|r| &r.run_id == id)
    }
}
