//! Makes a copy, once, and compares it with the original.

use super::ReproducePlan;
use crate::{AgentServer, ApiError, Kind, StartError, StartFailure};
use runtail_core::json;
use runtail_core::model::{HistoryState, RunFacts, same_message};
use runtail_core::text::{self, short_id};
use std::collections::BTreeSet;

/// Maximum number of differences that are kept.
const MAX_DIFFERENCES: usize = 50;
/// Bytes of a state that is read only for its checkpoint.
const MAX_STATE: usize = 64 << 20;

/// A copy that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Reproduced {
    pub thread: String,
    pub graph: String,
    /// The number of states that the copy should have.
    pub states: usize,
    /// What differs from the original; `None` if the copy could not be read.
    pub differences: Option<Vec<StateDifference>>,
    /// Whether the server's answer was lost, and the thread was found.
    pub was_found: bool,
}

/// A state of a copy that differs from the original's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDifference {
    /// The step in the original.
    pub step: Option<i64>,
    /// Whether it is the newest state.
    pub is_newest: bool,
    /// The keys whose values differ.
    pub keys: Vec<String>,
    /// The nodes that are next in the original and in the copy, if they differ.
    pub next: Option<(Vec<String>, Vec<String>)>,
}

impl AgentServer {
    /// Makes a planned copy, once, and reads it back.
    ///
    /// # Errors
    /// See [`StartError`]: it says whether anything may have been done.
    pub async fn reproduce(
        &self,
        target: &AgentServer,
        plan: &ReproducePlan,
    ) -> Result<Reproduced, StartError> {
        self.is_unchanged(plan).await?;
        let mut has_graph = true;
        let was_found = match target.create_thread_row(&plan.create).await {
            Ok(row) if row["thread_id"] == plan.new_thread.as_str() => {
                has_graph = row["metadata"]["graph_id"] == plan.graph.as_str();
                false
            }
            Ok(row) => {
                let made =
                    text::clean(row["thread_id"].as_str().unwrap_or("without an id")).into_owned();
                let detail = format!(
                    "the server was asked to create thread {} but returned {made}",
                    plan.new_thread
                );
                let error = target.refused_here(&plan.new_thread, detail);
                return Err(StartError {
                    failure: StartFailure::Unknown,
                    error,
                });
            }
            Err(error) => target.lost_copy(plan, error).await?,
        };
        if let Some(body) = &plan.state {
            if !has_graph {
                let merged = target
                    .merge_metadata(&plan.new_thread, &plan.create["metadata"])
                    .await;
                merged.map_err(|error| after_creation(plan, error))?;
            }
            target.write_copied_state(plan, body).await?;
        }
        let differences = target.differences(plan).await;
        let (thread, graph) = (plan.new_thread.clone(), plan.graph.clone());
        Ok(Reproduced {
            thread,
            graph,
            states: plan.expected.len(),
            differences,
            was_found,
        })
    }

    /// Checks that the original is as it was when the copy was planned.
    async fn is_unchanged(&self, plan: &ReproducePlan) -> Result<(), StartError> {
        let loaded = self.load_thread(&plan.thread).await;
        let loaded = loaded.map_err(StartError::unchecked)?;
        let why = if loaded.runs.iter().flatten().any(RunFacts::is_active) {
            "a run started on the thread since the preview; nothing was sent"
        } else if loaded.checkpoint().is_some_and(|now| now != plan.head) {
            "the thread changed since the preview; nothing was sent"
        } else {
            return Ok(());
        };
        Err(StartError::changed(
            self.refused_here(&plan.thread, why.into()),
        ))
    }

    /// Looks for a thread whose creation failed or was not answered. It is never sent again.
    async fn lost_copy(&self, plan: &ReproducePlan, error: ApiError) -> Result<bool, StartError> {
        let id = &plan.new_thread;
        let exists = match self.thread_row(id).await {
            Ok(_) => Some(true),
            Err(error) if error.kind == Kind::NotFound => Some(false),
            Err(_) => None,
        };
        let remains = format!("thread {id} was created without the whole history: delete it");
        match (error.is_refusal(), exists) {
            // Servers create the thread before they apply the supersteps.
            (true, Some(true)) => {
                let error = ApiError {
                    hint: Some(error.hint.clone().unwrap_or(remains)),
                    ..error
                };
                Err(StartError {
                    failure: StartFailure::AfterEdit,
                    error,
                })
            }
            (false, Some(true)) if plan.state.is_some() => Ok(true),
            (false, Some(true)) => match self.newest_branch(id).await {
                Ok(branch) if branch.len() == plan.expected.len() => Ok(true),
                _ => {
                    let error = ApiError {
                        hint: Some(remains),
                        ..error
                    };
                    Err(StartError {
                        failure: StartFailure::AfterEdit,
                        error,
                    })
                }
            },
            // Only after an answer the request is over, so that a missing thread shows that nothing was done.
            (false, Some(false)) if matches!(error.kind, Kind::Server(_)) => {
                let (failure, hint) = (StartFailure::Refused, None);
                let error = ApiError { hint, ..error };
                Err(StartError { failure, error })
            }
            _ => {
                let check = format!(
                    "it was sent once and may have been done; look for thread {id} before you repeat it"
                );
                Err(StartError::sent(error, &check))
            }
        }
    }

    /// Writes the state of a copy without a history.
    async fn write_copied_state(
        &self,
        plan: &ReproducePlan,
        body: &serde_json::Value,
    ) -> Result<(), StartError> {
        let id = &plan.new_thread;
        let Err(error) = self.update_state(id, body).await else {
            return Ok(());
        };
        let is_written = async || {
            let state = self.thread_state_raw(id, MAX_STATE).await.ok()?;
            json::from_str(state.get())
                .ok()
                .and_then(HistoryState::read)
        };
        if error.is_refusal() {
            return Err(after_creation(plan, error));
        }
        if is_written().await.is_some() {
            return Ok(());
        }
        let hint = Some(format!(
            "thread {id} was created, maybe without its state: look at it"
        ));
        let failure = StartFailure::AfterEditUnknown;
        let error = ApiError { hint, ..error };
        Err(StartError { failure, error })
    }

    /// Compares a copy with the original; `None` if it can't be read.
    async fn differences(&self, plan: &ReproducePlan) -> Option<Vec<StateDifference>> {
        let copied = match plan.state.is_some() {
            true => vec![self.newest_state(&plan.new_thread).await.ok()?],
            false => self.newest_branch(&plan.new_thread).await.ok()?,
        };
        let none = HistoryState::default();
        let last = plan.expected.len().checked_sub(1);
        let differ = plan
            .expected
            .iter()
            .enumerate()
            .filter_map(|(n, original)| {
                let found = difference(original, copied.get(n).unwrap_or(&none))?;
                Some(StateDifference {
                    is_newest: Some(n) == last,
                    ..found
                })
            });
        Some(differ.take(MAX_DIFFERENCES).collect())
    }
}

/// Returns the error of a request after the one that created the thread.
fn after_creation(plan: &ReproducePlan, error: ApiError) -> StartError {
    let id = &plan.new_thread;
    let hint = error
        .hint
        .clone()
        .unwrap_or_else(|| format!("thread {id} was created and is empty: delete it"));
    StartError {
        failure: StartFailure::AfterEdit,
        error: ApiError {
            hint: Some(hint),
            ..error
        },
    }
}

fn difference(original: &HistoryState, copy: &HistoryState) -> Option<StateDifference> {
    let keys: BTreeSet<&String> = original
        .values()
        .keys()
        .chain(copy.values().keys())
        .collect();
    let differs = |key: &&String| match (original.values().get(*key), copy.values().get(*key)) {
        (Some(a), Some(b)) => !same_message(a, b),
        _ => true,
    };
    let keys: Vec<String> = keys.into_iter().filter(differs).cloned().collect();
    let sorted = |next: &[String]| {
        let mut next = next.to_vec();
        next.sort_unstable();
        next
    };
    let (own, other) = (sorted(&original.next), sorted(&copy.next));
    let next = (own != other).then_some((own, other));
    let found = StateDifference {
        step: original.step,
        is_newest: false,
        keys,
        next,
    };
    (!found.keys.is_empty() || found.next.is_some()).then_some(found)
}

impl Reproduced {
    /// Whether nodes are next in the newest state of the copy, although the original has ended.
    pub fn should_have_ended(&self) -> bool {
        let last = self
            .differences
            .iter()
            .flatten()
            .last()
            .filter(|difference| difference.is_newest);
        last.and_then(|difference| difference.next.as_ref())
            .is_some_and(|(original, _)| original.is_empty())
    }

    /// Says how the copy differs from the original; nothing if it doesn't.
    pub fn complaint(&self) -> Option<String> {
        let Some(differences) = &self.differences else {
            return Some(
                "the copy could not be read back, so it was not compared with the original".into(),
            );
        };
        let (first, last) = (differences.first()?, differences.last()?);
        let step = |difference: &StateDifference| match difference.step {
            Some(step) => format!("at step {step}"),
            None => "at a step".to_string(),
        };
        let named = |names: &[String]| {
            let names: Vec<String> = names
                .iter()
                .take(8)
                .map(|name| text::clean(name).into_owned())
                .collect();
            if names.is_empty() {
                "nothing".to_string()
            } else {
                names.join(", ")
            }
        };
        let mut parts = Vec::new();
        if !first.keys.is_empty() {
            parts.push(format!("{} differ {}", named(&first.keys), step(first)));
        }
        if let Some((own, copy)) = &last.next {
            parts.push(format!(
                "{} is next {}, in the original {}",
                named(copy),
                step(last),
                named(own)
            ));
        }
        if parts.is_empty() {
            parts.push(format!("states differ {}", step(first)));
        }
        let count = differences.len();
        let states = if count == 1 {
            "1 state".to_string()
        } else {
            format!("{count} states")
        };
        Some(format!(
            "thread {} differs from the original in {states}: {}",
            short_id(&self.thread),
            parts.join("; ")
        ))
    }
}
