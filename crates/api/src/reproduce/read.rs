//! Reads the branch of a thread, and what its target can take.

use crate::prelude::*;
use runtail_core::exact_json::{self, Unreadable};
use runtail_core::model::{GraphShape, HistoryState, branch_of};

/// Maximum number of checkpoints that are copied.
const MAX_STATES: usize = 2_000;
/// Checkpoints per request. Each repeats all values of the thread.
const PAGE: usize = 50;
/// Maximum size of a page and of all pages, in bytes.
const MAX_PAGE: usize = 16 << 20;
const MAX_HISTORY: usize = 64 << 20;
/// Maximum size of a server's own documents, in bytes.
const MAX_DOCUMENT: usize = 8 << 20;
/// Assistants among which the one of a graph is looked for.
const MAX_ASSISTANTS: usize = 1_000;
/// Graphs that a message names.
const NAMED: usize = 12;

/// The graph of a target.
pub struct TargetGraph {
    /// Its assistant, if the server lists assistants.
    pub assistant: Option<String>,
    pub shape: GraphShape,
}

impl AgentServer {
    /// Reads the newest branch of a thread, oldest state first.
    pub(super) async fn newest_branch(&self, thread: &str) -> Result<Vec<HistoryState>, PlanError> {
        let mut states: Vec<HistoryState> = Vec::new();
        let mut pages = self
            .history_pages(thread, None, (usize::MAX, PAGE), MAX_PAGE)
            .dropping();
        let mut bytes = 0;
        loop {
            let page = match pages.next_new().await {
                Ok(Some(page)) => page,
                Ok(None) => return Ok(branch_of(states)),
                Err(error) if error.may_lack_call() && !self.knows(thread).await? => {
                    return Err(PlanError::Asked(error));
                }
                Err(error) if error.may_lack_call() => {
                    return refuse(
                        "The server of the thread doesn't offer its history. --state copies the newest state.",
                    );
                }
                Err(error) => return Err(error.into()),
            };
            for row in &page {
                bytes += row.get().len();
                states.extend(HistoryState::read(exact(row.get())?));
            }
            if bytes > MAX_HISTORY || states.len() > MAX_STATES {
                return refuse(format!(
                    "The history is too large to be copied in one request: more than {} checkpoints or {}. --state copies the \
                     newest state.",
                    text::count(MAX_STATES as u64),
                    text::bytes(MAX_HISTORY as u64)
                ));
            }
        }
    }

    /// Returns whether the server has a thread; true where it can't say.
    async fn knows(&self, thread: &str) -> Result<bool, ApiError> {
        match self.thread_raw(thread, MAX_PAGE).await {
            Err(error) if error.kind == Kind::NotFound => {
                Ok(self.info().await?.kind == ServerKind::Other)
            }
            _ => Ok(true),
        }
    }

    /// Reads the newest state of a thread.
    pub(super) async fn newest_state(&self, thread: &str) -> Result<HistoryState, PlanError> {
        let raw = self.thread_state_raw(thread, MAX_HISTORY).await?;
        let state = HistoryState::read(exact(raw.get())?);
        state.ok_or_else(|| unfit("The thread has no checkpoint yet: nothing ran on it."))
    }

    /// Returns whether the server creates threads with supersteps: by its own description of its calls, else by its kind.
    pub(super) async fn takes_supersteps(&self) -> Result<bool, ApiError> {
        match self.document(&["openapi.json"], MAX_DOCUMENT).await {
            Ok(document) => Ok(mentions_supersteps(&document)),
            Err(error)
                if error.may_lack_call()
                    || matches!(error.kind, Kind::Protocol | Kind::TooLarge(_)) =>
            {
                Ok(matches!(
                    self.info().await?.kind,
                    ServerKind::Python | ServerKind::JavaScript
                ))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a graph of the server.
    pub(super) async fn target_graph(&self, graph: &str) -> Result<TargetGraph, PlanError> {
        let assistant = self.assistant_with_graph(graph).await?;
        let drawing = match self
            .assistant_graph(assistant.as_deref().unwrap_or(graph), false)
            .await
        {
            Ok(drawing) => drawing,
            Err(error) if error.is_refusal() || matches!(error.kind, Kind::Server(_)) => {
                Value::Null
            }
            Err(error) => return Err(error.into()),
        };
        Ok(TargetGraph {
            assistant,
            shape: GraphShape::read(&drawing),
        })
    }

    /// Returns the assistant of a graph, preferably the one that the server made; `None` if it doesn't list its assistants.
    ///
    /// # Errors
    /// It has no such graph.
    async fn assistant_with_graph(&self, graph: &str) -> Result<Option<String>, PlanError> {
        let rows = match self.assistant_rows(MAX_ASSISTANTS, 0).await {
            Ok(listing) => Some(listing.items),
            Err(error) if error.may_lack_call() => None,
            Err(error) => return Err(error.into()),
        };
        let of_graph = |row: &&Value| row["graph_id"] == graph;
        let assistant = rows.as_ref().and_then(|rows| {
            let made_by_server = |row: &&Value| row["metadata"]["created_by"] == "system";
            let own = rows
                .iter()
                .filter(of_graph)
                .find(made_by_server)
                .or_else(|| rows.iter().find(of_graph));
            own?["assistant_id"].as_str().map(str::to_string)
        });
        if let (Some(rows), None) = (&rows, &assistant) {
            let mut names: Vec<&str> = rows
                .iter()
                .filter_map(|row| row["graph_id"].as_str())
                .collect();
            names.sort_unstable();
            names.dedup();
            let has = if names.is_empty() {
                "no graph".into()
            } else {
                listed(names, NAMED, |_| ", …".into())
            };
            let graph = text::clean(graph);
            return refuse(format!(
                "The server {} has no graph {graph}; it has {has}. --graph chooses one.",
                self.base()
            ));
        }
        Ok(assistant)
    }
}

/// Parses a state. Numbers that would be rounded, and texts that servers refuse, are refused, because the copy would differ.
fn exact(json: &str) -> Result<Value, PlanError> {
    match exact_json::parse(json) {
        Ok(value) => match json::half_in(&value) {
            Some(place) => refuse(format!(
                "A state can't be copied exactly: half of a character in {place}."
            )),
            None => Ok(value),
        },
        Err(Unreadable::Inexact(inexact)) => {
            refuse(format!("A state can't be copied exactly: {inexact}."))
        }
        Err(Unreadable::Invalid(error)) => {
            refuse(format!("The server's answer is not JSON: {error}."))
        }
    }
}

/// Returns whether a description of calls has a field `supersteps` in a schema.
fn mentions_supersteps(document: &Value) -> bool {
    let schemas = document["components"]["schemas"].as_object();
    schemas
        .into_iter()
        .flatten()
        .any(|(_, schema)| schema["properties"].get("supersteps").is_some())
}
