//! Bisect: finds the step at which a value of a state first became wrong, in the history of a thread or in a recording.
//!
//! Every state is checked, from the oldest to the newest one, because a value can become right again.

mod expectation;
mod history;
mod recording;
#[cfg(test)]
mod tests;

pub use expectation::Expectation;
pub use history::{HistoryError, HistoryStates, MAX_CHECKPOINTS, bisect_history};
pub use recording::{RecordingBisect, bisect_log};

use crate::json::path::Path;
use crate::{EventNumber, hash_of};
use jiff::Timestamp;
use runtail_core::json::Peek;
use runtail_core::text;
use std::sync::Arc;

/// Maximum number of changes that are kept.
const MAX_CHANGES: usize = 200;
/// Maximum bytes of a value's JSON that are kept.
const MAX_VALUE: usize = 4096;

/// The question: which value, and what is right.
#[derive(Debug, Clone, PartialEq)]
pub struct BisectQuery {
    /// The path as it was given.
    pub path: String,
    pub expected: Expectation,
    parsed: Path,
}

impl BisectQuery {
    /// Parses a path, as in the State view, and what is expected there.
    ///
    /// # Errors
    /// Why one of them is not valid, in a sentence.
    pub fn parse(path: &str, expected: &str) -> Result<BisectQuery, String> {
        let parsed = Path::parse(path);
        let parsed = parsed.ok_or_else(|| {
            format!(
                "{} is not a path. Paths look like messages[-1].content or a[\"b c\"].",
                shown(path)
            )
        })?;
        if !parsed.is_single() {
            let why = "it selects several values. Name one, for example messages[0].content.";
            return Err(format!(
                "The path {} contains * or [], so {why}",
                shown(path)
            ));
        }
        Ok(BisectQuery {
            path: path.to_string(),
            expected: Expectation::parse(expected)?,
            parsed,
        })
    }

    /// Checks the values of a state; `None` where they are missing.
    fn check(&self, values: Option<Peek<'_>>) -> Observation {
        let found = values.and_then(|values| self.parsed.find(values).first().copied());
        let (value, size) = match found.map(Peek::text) {
            Some(json) => (Some(text::head(json, MAX_VALUE).into()), json.len()),
            None => (None, 0),
        };
        Observation {
            at: StatePlace::default(),
            value,
            size,
            is_right: self.expected.holds(found),
            hash: hash_of(found.map(Peek::text)),
        }
    }
}

fn shown(path: &str) -> String {
    text::seen(path, 60)
}

/// The place of a state: which step wrote it, and where it is found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatePlace {
    /// Its checkpoint, in a history.
    pub checkpoint: Option<String>,
    /// Its event, in a recording or a stream.
    pub event: Option<EventNumber>,
    /// The step by the server's numbering.
    pub step: Option<i64>,
    /// The nodes that wrote it; `input`, `edit` or `fork` where no node did.
    pub nodes: Vec<String>,
    pub run_id: Option<String>,
    /// When it was written.
    pub at: Option<Timestamp>,
}

impl StatePlace {
    /// Names it in a sentence: `step 4 (tools)`.
    pub fn name(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(|node| text::seen(node, 40)).collect();
        let nodes = if nodes.is_empty() {
            String::new()
        } else {
            format!(" ({})", nodes.join(", "))
        };
        match (self.event, self.step) {
            (Some(event), _) => format!("event {}{nodes}", text::count(event.0)),
            (None, Some(step)) => format!("step {step}{nodes}"),
            (None, None) => format!("a checkpoint{nodes}"),
        }
    }
}

/// The value in one state.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub at: StatePlace,
    /// Its JSON, up to a limit; `None` if the state does not have it.
    pub value: Option<Arc<str>>,
    /// Bytes of its JSON.
    pub size: usize,
    pub is_right: bool,
    hash: u64,
}

impl Observation {
    /// Whether the kept JSON is the whole value.
    pub fn is_whole(&self) -> bool {
        self.value
            .as_ref()
            .is_none_or(|value| value.len() == self.size)
    }

    /// Returns the value on one line.
    pub fn line(&self, width: usize) -> String {
        self.value
            .as_deref()
            .map_or_else(|| "missing".to_string(), |value| text::seen(value, width))
    }
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A state had the right value, and a later one a wrong value.
    BecameWrong,
    /// No state has the right value.
    NeverRight,
    /// Once the value was right, it stayed right.
    NeverWrong,
}

impl Verdict {
    /// Returns its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::BecameWrong => "became_wrong",
            Verdict::NeverRight => "never_right",
            Verdict::NeverWrong => "never_wrong",
        }
    }
}

/// The result of checking states in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bisection {
    /// The number of states.
    pub checked: usize,
    /// The states in which the value differs from the state before, the first state included; the oldest ones, up to a limit.
    pub changes: Vec<Observation>,
    /// Changes beyond the limit.
    pub more_changes: usize,
    /// The last state with the right value before it became wrong for the first time, and the first one with the wrong value.
    pub first_wrong: Option<(Observation, Observation)>,
    /// How often it became wrong.
    pub times_wrong: usize,
    /// The first state with the right value.
    pub first_right: Option<Observation>,
    /// The newest state.
    pub last: Option<Observation>,
    /// Whether older states exist that were not checked.
    pub is_cut: bool,
}

impl Bisection {
    /// Adds the next state.
    fn push(&mut self, observation: Observation) {
        self.checked += 1;
        if let Some(last) = &self.last
            && last.is_right
            && !observation.is_right
        {
            self.times_wrong += 1;
            self.first_wrong
                .get_or_insert_with(|| (last.clone(), observation.clone()));
        }
        if observation.is_right && self.first_right.is_none() {
            self.first_right = Some(observation.clone());
        }
        if self
            .last
            .as_ref()
            .is_none_or(|last| last.hash != observation.hash)
        {
            match self.changes.len() < MAX_CHANGES {
                true => self.changes.push(observation.clone()),
                false => self.more_changes += 1,
            }
        }
        self.last = Some(observation);
    }

    pub fn verdict(&self) -> Verdict {
        match (&self.first_wrong, &self.first_right) {
            (Some(_), _) => Verdict::BecameWrong,
            (None, None) => Verdict::NeverRight,
            (None, Some(_)) => Verdict::NeverWrong,
        }
    }

    /// Whether the newest state has the right value.
    pub fn is_right_now(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last.is_right)
    }

    /// Returns the answer in one or two sentences.
    pub fn sentence(&self, query: &BisectQuery) -> String {
        let path = shown(&query.path);
        let states = |n: usize| text::counted(n, "state");
        let checked = states(self.checked);
        match (self.verdict(), &self.first_wrong, &self.first_right) {
            (Verdict::BecameWrong, Some((before, wrong)), _) => {
                let now = match (self.is_right_now(), self.times_wrong) {
                    (true, 1) => " It is right again in the newest state.".to_string(),
                    (true, n) => {
                        format!(" It became wrong {n} times, and is right in the newest state.")
                    }
                    (false, 1) => String::new(),
                    (false, n) => {
                        format!(" It became wrong {n} times, and is wrong in the newest state.")
                    }
                };
                format!(
                    "{path} became wrong at {}; it was right until {}.{now}",
                    wrong.at.name(),
                    before.at.name()
                )
            }
            (Verdict::NeverWrong, _, Some(first)) => {
                let checked = if self.checked == 1 {
                    checked
                } else {
                    format!("all {checked}")
                };
                match self.changes.first().is_some_and(|first| first.is_right) {
                    true => format!("{path} was never wrong: it is right in {checked}."),
                    false => format!(
                        "{path} was never wrong once it was set: it is right since {}.",
                        first.at.name()
                    ),
                }
            }
            _ => {
                let set = self.changes.iter().find(|change| change.value.is_some());
                let what = match set {
                    Some(set) if self.changes.len() == 1 => {
                        format!("it has always been {}", set.line(40))
                    }
                    Some(set) => format!("it was {} first, at {}", set.line(40), set.at.name()),
                    None => "no state has a value there".to_string(),
                };
                format!("{path} was never right ({checked}): {what}.")
            }
        }
    }
}

/// Returns the values of a state's record: `{"values": …}`.
fn values_of(state: &str) -> Option<Peek<'_>> {
    Peek::of(state).get("values")
}
