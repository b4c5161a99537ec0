//! Makes a copy, once, and compares it with the original.

use super::CopiedThread;
use crate::act::{Partial, Progress};
use crate::prelude::*;
use runtail_core::model::{HistoryState, same_message};

/// Maximum number of differences that are kept.
const MAX_DIFFERENCES: usize = 50;

/// A copy that was made.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Creates the thread of a copy, once. Without a state that is written later, the copy is compared with the original.
    pub(crate) async fn create_copy(
        &self,
        copy: &CopiedThread,
        body: &Value,
        done: &mut Progress,
    ) -> Result<Acted, StartError> {
        let id = copy.thread.as_str();
        done.is_described = true;
        let was_found = match self.create_thread_row(body).await {
            Ok(row) if row["thread_id"] == id => {
                done.is_described = row["metadata"]["graph_id"] == copy.graph.as_str();
                false
            }
            Ok(row) => {
                let made =
                    text::clean(row["thread_id"].as_str().unwrap_or("without an id")).into_owned();
                let detail =
                    format!("the server was asked to create thread {id} but returned {made}");
                return Err(StartFailure::AfterEdit.with_error(self.refused_here(id, detail)));
            }
            Err(error) => self.lost_copy(copy, error).await?,
        };
        done.partial = Some(Partial::Copy(id.into()));
        let mut made = Reproduced {
            thread: id.into(),
            graph: copy.graph.clone(),
            states: copy.expected.len(),
            differences: None,
            was_found,
        };
        if !copy.state_only {
            let copied = self.newest_branch(id).await.ok();
            made.differences = copied.map(|copied| differences(copy, &copied));
        }
        Ok(Acted::Copied(Box::new(made)))
    }

    /// Looks for a thread whose creation failed or was not answered. It is never sent again.
    async fn lost_copy(&self, copy: &CopiedThread, error: ApiError) -> Result<bool, StartError> {
        let id = &copy.thread;
        let exists = match self.thread_row(id).await {
            Ok(_) => Some(true),
            Err(error) if error.kind == Kind::NotFound => Some(false),
            Err(_) => None,
        };
        let is_refusal = error.is_refusal();
        let is_whole = match exists {
            Some(true) if copy.state_only => !is_refusal,
            Some(true) if !is_refusal => self
                .newest_branch(id)
                .await
                .is_ok_and(|branch| branch.len() == copy.expected.len()),
            _ => false,
        };
        match exists {
            Some(true) if is_whole => Ok(true),
            // Servers create the thread before they apply the supersteps.
            Some(true) => {
                let remains =
                    format!("thread {id} was created without the whole history: delete it");
                let hint = error.hint.clone().filter(|_| is_refusal).unwrap_or(remains);
                Err(StartFailure::AfterEdit.with_error(ApiError {
                    hint: Some(hint),
                    ..error
                }))
            }
            // Only after an answer the request is over, so that a missing thread shows that nothing was done.
            Some(false) if matches!(error.kind, Kind::Server(_)) => Err(StartFailure::Refused
                .with_error(ApiError {
                    hint: None,
                    ..error
                })),
            _ => {
                let check = format!(
                    "it was sent once and may have been done; look for thread {id} before you repeat it"
                );
                Err(StartError::sent(error).or_check(check))
            }
        }
    }

    pub(crate) async fn describe_copy(
        &self,
        copy: &CopiedThread,
        body: &Value,
    ) -> Result<(), StartError> {
        let answer = self.patch_thread(&copy.thread, body).await;
        answer.map(drop).map_err(StartError::sent)
    }

    /// Writes the state of a copy without a history, and compares it with the original.
    pub(crate) async fn fill_copy(
        &self,
        copy: &CopiedThread,
        body: &Value,
        done: &mut Progress,
    ) -> Result<Acted, StartError> {
        let id = &copy.thread;
        let written = self.update_state(id, body).await;
        let copied = self.newest_state(id).await.ok();
        if let Err(error) = written
            && (error.is_refusal() || copied.is_none())
        {
            return Err(StartError::sent(error));
        }
        let differences = copied.map(|state| differences(copy, &[state]));
        Ok(match done.acted.take() {
            Some(Acted::Copied(made)) => Acted::Copied(Box::new(Reproduced {
                differences,
                ..*made
            })),
            other => other.unwrap_or(Acted::Changed(Box::default())),
        })
    }
}

/// Compares a copy with the original.
fn differences(copy: &CopiedThread, copied: &[HistoryState]) -> Vec<StateDifference> {
    let none = HistoryState::default();
    let last = copy.expected.len().checked_sub(1);
    let states = copy.expected.iter().enumerate();
    let differ = states.filter_map(|(n, original)| {
        let found = difference(original, copied.get(n).unwrap_or(&none))?;
        Some(StateDifference {
            is_newest: Some(n) == last,
            ..found
        })
    });
    differ.take(MAX_DIFFERENCES).collect()
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
            if names.is_empty() {
                "nothing".to_string()
            } else {
                listed(names, 8, |_| String::new())
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
        let states = text::counted(differences.len(), "state");
        Some(format!(
            "thread {} differs from the original in {states}: {}",
            short_id(&self.thread),
            parts.join("; ")
        ))
    }
}
