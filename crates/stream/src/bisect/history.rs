//! Bisects the history of a thread: the branch that ends at a checkpoint, from its oldest state to that one.

use super::{BisectQuery, Bisection, Observation, StatePlace, values_of};
use runtail_api::{AgentServer, ApiError, Kind};
use runtail_core::model::{Checkpoint, CheckpointTree, Parent};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of checkpoints that are read.
pub const MAX_CHECKPOINTS: usize = 10_000;
/// Checkpoints per request. Each repeats all values of the thread.
const PAGE: usize = 50;
/// Maximum size of a page, in bytes. If a page is larger, a shorter one is requested.
const MAX_PAGE: usize = 32 << 20;

/// Why a history can't be bisected.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryError {
    /// A request failed.
    Request(ApiError),
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
    let mut seen: HashMap<String, Observation> = HashMap::new();
    let mut checkpoints: Vec<Arc<Checkpoint>> = Vec::new();
    let (mut before, mut limit) = (None::<String>, PAGE);
    while checkpoints.len() < MAX_CHECKPOINTS {
        let page = match server.thread_history_raw(thread, limit, before.as_deref(), MAX_PAGE).await {
            Ok(page) => page,
            Err(error) if matches!(error.kind, Kind::TooLarge(_)) && limit > 1 => {
                limit = (limit / 4).max(1);
                continue;
            }
            Err(error) => return Err(HistoryError::Request(error)),
        };
        let known = seen.len();
        for row in &page {
            let Some(checkpoint) = Checkpoint::read(row.get()) else { continue };
            let observation = query.check(values_of(row.get()));
            if seen.insert(checkpoint.id.clone(), observation).is_none() {
                checkpoints.push(Arc::new(checkpoint));
            }
        }
        // A server that ignores `before` would return the same page forever.
        if page.len() < limit || seen.len() == known {
            break;
        }
        before = checkpoints.last().map(|checkpoint| checkpoint.id.clone());
    }
    bisect_tree(&CheckpointTree::new(checkpoints), seen, tip)
}

/// Checks the states of a branch of a tree, oldest first.
pub(super) fn bisect_tree(
    tree: &CheckpointTree,
    mut seen: HashMap<String, Observation>,
    tip: Option<&str>,
) -> Result<Bisection, HistoryError> {
    if tree.is_empty() {
        return Err(HistoryError::Empty);
    }
    let mut at = tip.map_or(Some(0), |tip| tree.find(tip)).ok_or(HistoryError::NoCheckpoint)?;
    let mut branch = vec![at];
    let is_cut = loop {
        match tree.parent(at) {
            Parent::At(parent) => branch.push(parent),
            Parent::None => break false,
            Parent::NotLoaded => break true,
        }
        at = branch[branch.len() - 1];
    };
    let mut bisection = Bisection { is_cut, ..Bisection::default() };
    for at in branch.into_iter().rev() {
        let entry = &tree.entries()[at];
        let Some(observation) = seen.remove(&entry.id) else { continue };
        let place = StatePlace {
            checkpoint: Some(entry.id.clone()),
            event: None,
            step: entry.step,
            nodes: tree.writers(at),
            run_id: entry.run_id.clone(),
            at: entry.at,
        };
        bisection.push(Observation { at: place, ..observation });
    }
    Ok(bisection)
}
