//! Bisects the history of a thread: the branch that ends at a checkpoint, from its oldest state to that one.

use super::{BisectQuery, Bisection, Observation, StatePlace, values_of};
use runtail_api::{AgentServer, ApiError};
use runtail_core::model::{Checkpoint, CheckpointTree, Parent};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of checkpoints that are read.
pub const MAX_CHECKPOINTS: usize = 10_000;
/// Checkpoints per request. Each repeats all values of the thread.
const PAGE: usize = 50;
/// Maximum size of a page, in bytes. If a page is larger, a shorter one is requested.
const MAX_PAGE: usize = 32 << 20;

/// The task that applies an input.
const START: &str = "__start__";

/// Why a history can't be bisected.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryError {
    /// A request failed.
    Request(Box<ApiError>),
    /// The thread has no checkpoint.
    Empty,
    /// It does not have this checkpoint, as far as it was read.
    NoCheckpoint,
}

/// Checks the states of a branch: the one that ends at a checkpoint, or at the newest one.
///
/// # Errors
/// See [`HistoryError`].
pub async fn bisect_history(
    server: &AgentServer,
    thread: &str,
    query: &BisectQuery,
    tip: Option<&str>,
) -> Result<Bisection, HistoryError> {
    let mut states = HistoryStates::default();
    let mut pages = server
        .history_pages(thread, None, (MAX_CHECKPOINTS, PAGE), MAX_PAGE)
        .dropping();
    while let Some(page) = pages
        .next_new()
        .await
        .map_err(|error| HistoryError::Request(Box::new(error)))?
    {
        page.iter().for_each(|row| states.add(query, row.get()));
    }
    states.bisect(tip)
}

/// The states of a history, of which only the value in question is kept.
#[derive(Debug, Default)]
pub struct HistoryStates {
    checkpoints: Vec<Arc<Checkpoint>>,
    seen: HashMap<String, Observation>,
}

impl HistoryStates {
    /// Adds an entry of a history as received, in any order.
    pub fn add(&mut self, query: &BisectQuery, row: &str) {
        let Some(checkpoint) = Checkpoint::read(row) else {
            return;
        };
        if self
            .seen
            .insert(checkpoint.id.clone(), query.check(values_of(row)))
            .is_none()
        {
            self.checkpoints.push(Arc::new(checkpoint));
        }
    }

    /// Checks the states of a branch, oldest first.
    ///
    /// # Errors
    /// There are none, or not this checkpoint.
    pub fn bisect(self, tip: Option<&str>) -> Result<Bisection, HistoryError> {
        bisect_tree(&CheckpointTree::new(self.checkpoints), self.seen, tip)
    }
}

fn bisect_tree(
    tree: &CheckpointTree,
    mut seen: HashMap<String, Observation>,
    tip: Option<&str>,
) -> Result<Bisection, HistoryError> {
    if tree.is_empty() {
        return Err(HistoryError::Empty);
    }
    let mut at = tip
        .map_or(Some(0), |tip| tree.find(tip))
        .ok_or(HistoryError::NoCheckpoint)?;
    let mut branch = vec![at];
    let is_cut = loop {
        match tree.parent(at) {
            Parent::At(parent) => branch.push(parent),
            Parent::None => break false,
            Parent::NotLoaded => break true,
        }
        at = branch[branch.len() - 1];
    };
    let mut bisection = Bisection {
        is_cut,
        ..Bisection::default()
    };
    for at in branch.into_iter().rev() {
        let entry = &tree.entries()[at];
        let Some(observation) = seen.remove(&entry.id) else {
            continue;
        };
        let place = StatePlace {
            checkpoint: Some(entry.id.clone()),
            event: None,
            step: entry.step,
            nodes: tree
                .writers(at)
                .into_iter()
                .map(|node| if node == START { "input".into() } else { node })
                .collect(),
            run_id: entry.run_id.clone(),
            at: entry.at,
        };
        bisection.push(Observation {
            at: place,
            ..observation
        });
    }
    Ok(bisection)
}
