//! The state of an open agent server: its threads, the runs of a thread, its assistants.

use crate::session::loaded::Loaded;
use crate::session::msg::{ServerRef, WantedStatus};
use crate::widgets::list::Picker;
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::model::{Assistant, Run, Thread, ThreadFacts, ThreadRecords, ThreadStatus};
use std::collections::HashMap;
use std::sync::Arc;

/// The list that the pane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// The server's threads.
    Threads,
    Assistants,
    /// The runs of one thread.
    Runs,
}

/// Rows requested initially, and added each time the end of the list is reached.
pub const PAGE: usize = 50;
/// Maximum rows that the services return at once.
pub const MAX_ROWS: usize = 1000;

/// An open agent server.
#[derive(Debug, Clone)]
pub struct Server {
    /// The server.
    pub server: ServerRef,
    /// The shown list.
    pub tab: Tab,
    /// Threads, newest first.
    pub threads: Loaded<Vec<Thread>>,
    pub assistants: Loaded<Vec<Assistant>>,
    /// The thread whose runs are listed.
    pub runs_of: Option<String>,
    /// The facts from the list, by thread.
    facts: HashMap<String, Arc<ThreadFacts>>,
    /// The loaded statuses, each with the facts from the list at that time.
    pub statuses: HashMap<Arc<str>, (Arc<ThreadFacts>, ThreadStatus)>,
    /// The runs of that thread, newest first.
    pub runs: Loaded<Vec<Run>>,
    /// Rows to request.
    pub limit: usize,
    /// The selected thread.
    pub thread_picker: Picker,
    /// The selected assistant.
    pub assistant_picker: Picker,
    /// The selected run.
    pub run_picker: Picker,
    /// Only rows that contain this text are shown.
    pub filter: String,
}

impl Server {
    /// Creates a server with nothing loaded.
    pub fn new(server: ServerRef) -> Server {
        Server {
            server,
            tab: Tab::Threads,
            threads: Loaded::default(),
            assistants: Loaded::default(),
            runs_of: None,
            facts: HashMap::new(),
            statuses: HashMap::new(),
            runs: Loaded::default(),
            limit: PAGE,
            thread_picker: Picker::default(),
            assistant_picker: Picker::default(),
            run_picker: Picker::default(),
            filter: String::new(),
        }
    }

    /// Applies the newest list of threads.
    pub fn take_threads(&mut self, result: Result<Vec<Thread>, ApiError>, at: Timestamp) {
        if let Ok(threads) = &result {
            let mut known = std::mem::take(&mut self.facts);
            for thread in threads {
                let facts = ThreadFacts::of(thread);
                let before = known.remove(&thread.thread_id).filter(|before| **before == facts);
                self.facts.insert(thread.thread_id.clone(), before.unwrap_or_else(|| Arc::new(facts)));
            }
            let facts = &self.facts;
            self.statuses.retain(|thread, _| facts.contains_key(&**thread));
        }
        self.threads.take(result, at);
    }

    /// Returns the request for the status of a listed thread.
    pub fn wanted_status(&self, thread: &str) -> Option<WantedStatus> {
        Some(WantedStatus { thread: thread.into(), facts: self.facts.get(thread)?.clone() })
    }

    /// Returns the status of a listed thread: the loaded one if it is current, otherwise the one derived from the list.
    pub fn status_of(&self, thread: &str) -> ThreadStatus {
        let Some(facts) = self.facts.get(thread) else { return ThreadStatus::Loading };
        match self.statuses.get(thread) {
            Some((of, status)) if of == facts => status.clone(),
            _ => ThreadStatus::derive(ThreadRecords { thread: Some(facts), ..ThreadRecords::default() }),
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

    /// Returns the threads that match the filter.
    pub fn shown_threads(&self) -> Vec<&Thread> {
        let all = self.threads.value.iter().flatten();
        if self.filter.is_empty() {
            return all.collect();
        }
        all.filter(|t| {
            let metadata = t.metadata.as_ref().map(|m| m.to_string()).unwrap_or_default();
            let status = self.status_of(&t.thread_id);
            let (_, about) = super::view::about(t, &status);
            self.matches_filter(&[&t.thread_id, super::view::list_word(&status), &metadata, &about])
        })
        .collect()
    }

    /// Returns the assistants that match the filter.
    pub fn shown_assistants(&self) -> Vec<&Assistant> {
        let all = self.assistants.value.iter().flatten();
        all.filter(|a| self.matches_filter(&[&a.assistant_id, &a.graph_id, a.name.as_deref().unwrap_or("")])).collect()
    }

    /// Returns the runs that match the filter.
    pub fn shown_runs(&self) -> Vec<&Run> {
        self.runs.value.iter().flatten().filter(|r| self.matches_filter(&[&r.run_id, &r.status])).collect()
    }

    /// Returns the ids of the shown rows.
    pub fn shown_ids(&self) -> Vec<String> {
        match self.tab {
            Tab::Threads => self.shown_threads().iter().map(|t| t.thread_id.clone()).collect(),
            Tab::Assistants => self.shown_assistants().iter().map(|a| a.assistant_id.clone()).collect(),
            Tab::Runs => self.shown_runs().iter().map(|r| r.run_id.clone()).collect(),
        }
    }

    /// Returns the selection of the shown list.
    pub fn picker(&mut self) -> &mut Picker {
        match self.tab {
            Tab::Threads => &mut self.thread_picker,
            Tab::Assistants => &mut self.assistant_picker,
            Tab::Runs => &mut self.run_picker,
        }
    }

    /// Returns the selected thread.
    pub fn thread(&self) -> Option<&Thread> {
        let id = self.thread_picker.selected.as_ref()?;
        self.threads.value.iter().flatten().find(|t| &t.thread_id == id)
    }

    /// Returns the assistant of a listed thread, by id or by graph.
    pub fn assistant_of(&self, thread: &str) -> Option<String> {
        let thread = self.threads.value.iter().flatten().find(|t| t.thread_id == thread)?;
        let metadata = thread.metadata.as_ref()?;
        let value = |key: &str| metadata.get(key).and_then(|v| v.as_str()).map(str::to_string);
        value("assistant_id").or_else(|| value("graph_id"))
    }

    /// Returns the selected assistant.
    pub fn assistant(&self) -> Option<&Assistant> {
        let id = self.assistant_picker.selected.as_ref()?;
        self.assistants.value.iter().flatten().find(|a| &a.assistant_id == id)
    }

    /// Returns the selected run.
    pub fn run(&self) -> Option<&Run> {
        let id = self.run_picker.selected.as_ref()?;
        self.runs.value.iter().flatten().find(|r| &r.run_id == id)
    }
}
