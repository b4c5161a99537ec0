//! The state of an open agent server: its threads, the runs of a thread, its assistants.

use super::threads::{ListOrder, PAGE, ThreadList};
use crate::session::compare::SideRef;
use crate::session::loaded::Loaded;
use crate::session::msg::{ServerRef, ThreadRef, WantedStatus};
use crate::session::row_details::RowDetails;
use crate::widgets::table::Table;
use runtail_core::model::{Assistant, Run, Thread};

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
    pub assistants: Loaded<Vec<Assistant>>,
    /// The thread whose runs are listed.
    pub runs_of: Option<String>,
    /// The runs of that thread, newest first.
    pub runs: Loaded<Vec<Run>>,
    /// Runs to request.
    pub limit: usize,
    /// What was read of selected threads.
    pub details: RowDetails,
    /// The rows of the assistants.
    pub assistant_table: Table,
    /// The rows of the runs.
    pub run_table: Table,
}

impl Server {
    /// Creates a server with nothing loaded. `order`: of its threads.
    pub fn new(server: ServerRef, order: ListOrder) -> Server {
        Server {
            server,
            tab: Tab::Threads,
            threads: ThreadList::new(order),
            assistants: Loaded::default(),
            runs_of: None,
            runs: Loaded::default(),
            limit: PAGE,
            details: RowDetails::default(),
            assistant_table: Table::default(),
            run_table: Table::default(),
        }
    }

    /// Returns one of its threads.
    pub fn thread_ref(&self, id: &str) -> ThreadRef {
        ThreadRef {
            server: self.server.clone(),
            id: id.to_string(),
        }
    }

    /// Returns the marked threads as sides of a comparison.
    pub fn marked_sides(&self) -> impl Iterator<Item = SideRef> {
        let marked = self.threads.table.marked.iter();
        marked.map(|id| SideRef::Thread(self.thread_ref(id), None))
    }

    /// Returns the request for the status of a listed thread.
    pub fn wanted_status(&self, thread: &str) -> Option<WantedStatus> {
        Some(WantedStatus {
            thread: thread.into(),
            facts: self.threads.row(thread)?.facts.clone(),
        })
    }

    /// Shows another list and clears the filter of the one before.
    pub fn show(&mut self, tab: Tab) {
        if self.tab != tab {
            if self.tab != Tab::Threads {
                self.table_mut().filter.clear();
            }
            self.tab = tab;
        }
    }

    /// Returns the assistants that match the filter.
    pub fn shown_assistants(&self) -> Vec<&Assistant> {
        let all = self.assistants.value.iter().flatten();
        all.filter(|a| {
            let name = a.name.as_deref().unwrap_or_default();
            let table = &self.assistant_table;
            table.fits([a.assistant_id.as_str(), &a.graph_id, name])
        })
        .collect()
    }

    /// Returns the runs that match the filter.
    pub fn shown_runs(&self) -> Vec<&Run> {
        let all = self.runs.value.iter().flatten();
        all.filter(|r| self.run_table.fits([&r.run_id, &r.status]))
            .collect()
    }

    /// Adjusts the shown list to its rows, and to the number of rows that fit on the screen.
    pub fn lay_out(&mut self, height: usize) {
        match self.tab {
            Tab::Threads => {}
            Tab::Assistants => {
                let shown = self.shown_assistants().into_iter();
                let ids = shown.map(|a| a.assistant_id.clone()).collect();
                self.assistant_table.set_ids(ids);
            }
            Tab::Runs => {
                let shown = self.shown_runs().into_iter();
                let ids = shown.map(|r| r.run_id.clone()).collect();
                self.run_table.set_ids(ids);
            }
        }
        self.table_mut().fit(height);
    }

    /// Returns the rows of the shown list.
    pub fn table(&self) -> &Table {
        match self.tab {
            Tab::Threads => &self.threads.table,
            Tab::Assistants => &self.assistant_table,
            Tab::Runs => &self.run_table,
        }
    }

    /// Returns the rows of the shown list, to change them.
    pub fn table_mut(&mut self) -> &mut Table {
        match self.tab {
            Tab::Threads => &mut self.threads.table,
            Tab::Assistants => &mut self.assistant_table,
            Tab::Runs => &mut self.run_table,
        }
    }

    /// Returns the selected thread.
    pub fn thread(&self) -> Option<&Thread> {
        self.threads.get(self.threads.table.selected()?)
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
        let id = self.assistant_table.selected()?;
        self.assistants
            .value
            .iter()
            .flatten()
            .find(|a| a.assistant_id == id)
    }

    /// Returns the selected run.
    pub fn run(&self) -> Option<&Run> {
        let id = self.run_table.selected()?;
        self.runs.value.iter().flatten().find(|r| r.run_id == id)
    }
}
