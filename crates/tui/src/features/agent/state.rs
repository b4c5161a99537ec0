//! One agent server: its threads, the runs of a thread, its assistants.

use crate::session::loaded::Loaded;
use crate::session::msg::{ServerRef, WantedStatus};
use crate::widgets::list::Picker;
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::model::{Assistant, Run, Thread, ThreadFacts, ThreadRecords, ThreadStatus};
use std::collections::HashMap;
use std::sync::Arc;

/// What the pane lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// The server's threads.
    Threads,
    Assistants,
    /// The runs of one thread.
    Runs,
}

/// How many rows are asked for at first, and how many more when the end is reached.
pub const PAGE: usize = 50;
/// Most rows that the services give at once.
pub const MAX_ROWS: usize = 1000;

/// An agent server that was opened.
#[derive(Debug, Clone)]
pub struct Server {
    /// Which one.
    pub server: ServerRef,
    /// What is listed.
    pub tab: Tab,
    /// Threads, newest first.
    pub threads: Loaded<Vec<Thread>>,
    pub assistants: Loaded<Vec<Assistant>>,
    /// The thread whose runs are listed, and its runs.
    pub runs_of: Option<String>,
    /// What the list says of each thread.
    facts: HashMap<String, Arc<ThreadFacts>>,
    /// The statuses that were read, each with what the list said of the thread then.
    pub statuses: HashMap<Arc<str>, (Arc<ThreadFacts>, ThreadStatus)>,
    /// Its runs, newest first.
    pub runs: Loaded<Vec<Run>>,
    /// Rows asked for.
    pub limit: usize,
    /// Selection among the threads.
    pub thread_picker: Picker,
    /// Selection among the assistants.
    pub assistant_picker: Picker,
    /// Selection among the runs.
    pub run_picker: Picker,
    /// Only rows that contain this are shown.
    pub filter: String,
}

impl Server {
    /// A server of which nothing is known yet.
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

    /// Takes the newest list of threads.
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

    /// A listed thread whose status is to be read.
    pub fn wanted_status(&self, thread: &str) -> Option<WantedStatus> {
        Some(WantedStatus { thread: thread.into(), facts: self.facts.get(thread)?.clone() })
    }

    /// The status of a listed thread: as it was read, else by what the list says.
    pub fn status_of(&self, thread: &str) -> ThreadStatus {
        let Some(facts) = self.facts.get(thread) else { return ThreadStatus::Loading };
        match self.statuses.get(thread) {
            Some((of, status)) if of == facts => status.clone(),
            _ => ThreadStatus::derive(ThreadRecords { thread: Some(facts), ..ThreadRecords::default() }),
        }
    }

    /// Shows another list; a filter belongs to the one it was typed for.
    pub fn show(&mut self, tab: Tab) {
        if self.tab != tab {
            self.tab = tab;
            self.filter.clear();
        }
    }

    fn passes(&self, texts: &[&str]) -> bool {
        let wanted = self.filter.to_lowercase();
        wanted.is_empty() || texts.iter().any(|t| t.to_lowercase().contains(&wanted))
    }

    /// The threads that pass the filter.
    pub fn shown_threads(&self) -> Vec<&Thread> {
        let all = self.threads.value.iter().flatten();
        if self.filter.is_empty() {
            return all.collect();
        }
        all.filter(|t| {
            let metadata = t.metadata.as_ref().map(|m| m.to_string()).unwrap_or_default();
            self.passes(&[&t.thread_id, self.status_of(&t.thread_id).word(), &metadata])
        })
        .collect()
    }

    /// The assistants that pass the filter.
    pub fn shown_assistants(&self) -> Vec<&Assistant> {
        let all = self.assistants.value.iter().flatten();
        all.filter(|a| self.passes(&[&a.assistant_id, &a.graph_id, a.name.as_deref().unwrap_or("")])).collect()
    }

    /// The runs that pass the filter.
    pub fn shown_runs(&self) -> Vec<&Run> {
        self.runs.value.iter().flatten().filter(|r| self.passes(&[&r.run_id, &r.status])).collect()
    }

    /// Identities of the rows listed now.
    pub fn shown_ids(&self) -> Vec<String> {
        match self.tab {
            Tab::Threads => self.shown_threads().iter().map(|t| t.thread_id.clone()).collect(),
            Tab::Assistants => self.shown_assistants().iter().map(|a| a.assistant_id.clone()).collect(),
            Tab::Runs => self.shown_runs().iter().map(|r| r.run_id.clone()).collect(),
        }
    }

    /// The selection of what is listed now.
    pub fn picker(&mut self) -> &mut Picker {
        match self.tab {
            Tab::Threads => &mut self.thread_picker,
            Tab::Assistants => &mut self.assistant_picker,
            Tab::Runs => &mut self.run_picker,
        }
    }

    /// The selected thread.
    pub fn thread(&self) -> Option<&Thread> {
        let id = self.thread_picker.selected.as_ref()?;
        self.threads.value.iter().flatten().find(|t| &t.thread_id == id)
    }

    /// The assistant that ran on a thread, by id or by graph, from what is listed.
    pub fn assistant_of(&self, thread: &str) -> Option<String> {
        let thread = self.threads.value.iter().flatten().find(|t| t.thread_id == thread)?;
        let notes = thread.metadata.as_ref()?;
        let note = |key: &str| notes.get(key).and_then(|v| v.as_str()).map(str::to_string);
        note("assistant_id").or_else(|| note("graph_id"))
    }

    /// The selected assistant.
    pub fn assistant(&self) -> Option<&Assistant> {
        let id = self.assistant_picker.selected.as_ref()?;
        self.assistants.value.iter().flatten().find(|a| &a.assistant_id == id)
    }

    /// The selected run.
    pub fn run(&self) -> Option<&Run> {
        let id = self.run_picker.selected.as_ref()?;
        self.runs.value.iter().flatten().find(|r| &r.run_id == id)
    }
}
