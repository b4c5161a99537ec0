//! The failure card: explains why a revision failed, from the server's records. `render` writes it for terminals and as
//! Markdown, and it serializes to JSON. It contains no secrets, and every text is sanitized.

mod next;
mod render;
mod serving;
mod steps;

pub use next::{NextStep, StepKind};
pub use render::{CardLine, Part};
pub use serving::ServesInstead;
pub use steps::LogStep;

use super::compare::{Change, compare, without_natural};
use super::first_error::{FirstError, LogText, first_error};
use super::{Phase, SourceRevisionConfig, time_in, time_taken};
use crate::secret::Secrets;
use crate::text;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::time::Duration;

/// Number of lines of the log's end on a card.
const TAIL: usize = 30;
/// Maximum width of a line, in columns.
const MAX_COLUMNS: usize = 400;

/// Which of a revision's two logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CardLog {
    /// The build log.
    Build,
    /// The server log.
    Server,
}

/// The observed time in a status.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusTime {
    /// The status word; empty where the server gave none.
    pub status: String,
    /// The observed duration.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub spent: Duration,
    /// Whether its start was observed; else it may have lasted longer.
    pub from_start: bool,
}

/// The log for a card.
#[derive(Debug, Clone, Copy)]
pub enum LogEvidence<'a> {
    /// Lines of it, oldest first: its end at least.
    Read(CardLog, &'a [LogText<'a>]),
    /// It could not be read, and why.
    Unread(CardLog, &'a str),
    /// It was not requested.
    None,
}

/// The data for a card: rows as received.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The deployment's name on the command line: PROFILE/NAME, or its id.
    pub address: &'a str,
    /// Options for a suggested command, each with a leading space (` --config FILE`); usually empty.
    pub options: &'a str,
    /// The deployment, or null. Must be unmasked, because its secrets are removed from the log.
    pub deployment: &'a Value,
    pub revision: &'a Value,
    /// The deployment's revisions, newest first, as far as they are known.
    pub history: &'a [Value],
    /// The time in each status, where it was watched.
    pub times: &'a [StatusTime],
    /// The time by the server's clock.
    pub now: Timestamp,
    pub log: LogEvidence<'a>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureCard {
    /// The deployment's name on the command line.
    pub deployment: String,
    /// The revision's id.
    pub revision_id: String,
    /// Its status word, as the server said it.
    pub status: String,
    /// What that means.
    pub meaning: String,
    /// Whether the deployment is down, if this revision failed; what its status means, if it is unused or being deleted.
    pub service: Option<String>,
    /// The server's `status_message`.
    pub message: Option<String>,
    /// Its source in short.
    pub made_from: Option<String>,
    /// Its durations.
    pub times: Times,
    /// The first error of the log.
    pub error: Option<FirstError>,
    /// The end of the log.
    pub log: Option<LogEnd>,
    /// The serving revision, if this one was deployed but is not serving.
    pub serves_instead: Option<ServesInstead>,
    /// The last good revision before it.
    pub last_good: Option<LastGood>,
    /// Suggested actions.
    pub next: Vec<NextStep>,
}

/// Durations: observed, and from the records.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Times {
    /// The statuses that were watched, oldest first.
    pub seen: Vec<StatusTime>,
    /// Its total duration by the server's record, once its status is final.
    #[serde(rename = "recorded_seconds", serialize_with = "maybe_seconds")]
    pub recorded: Option<Duration>,
    /// From its creation until now, by the server's clock, while it is in progress.
    #[serde(rename = "elapsed_seconds", serialize_with = "maybe_seconds")]
    pub elapsed: Option<Duration>,
    /// From the first to the last line of the log that was read.
    #[serde(rename = "log_seconds", serialize_with = "maybe_seconds")]
    pub log: Option<Duration>,
    /// The steps of the build log, oldest first; none if its lines have no times.
    pub steps: Vec<LogStep>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogEnd {
    /// Which log.
    pub log: CardLog,
    /// How many lines were read.
    pub lines: usize,
    /// The last of them.
    pub tail: Vec<String>,
    /// Why it could not be read.
    pub unread: Option<String>,
}

/// The newest revision that was deployed before this one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LastGood {
    pub id: String,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// Its source in short.
    pub made_from: Option<String>,
    /// What differs in the revision at hand.
    pub changes: Vec<Change>,
}

impl CardLog {
    /// Returns the most useful log for a revision with this status, if any.
    pub fn of(status: &str) -> Option<CardLog> {
        match (Phase::of(status), status) {
            (_, "CREATE_FAILED") | (Phase::Skipped | Phase::Waiting, _) => None,
            (_, "BUILD_FAILED" | "BUILDING") => Some(CardLog::Build),
            (Phase::Deployed, _) | (_, "DEPLOY_FAILED" | "DEPLOYING") => Some(CardLog::Server),
            _ => Some(CardLog::Build),
        }
    }

    /// Its name within a sentence.
    pub fn word(self) -> &'static str {
        match self {
            CardLog::Build => "build",
            CardLog::Server => "server",
        }
    }
}

impl FailureCard {
    /// Adds the time that passed since the card was made to the durations of a revision in progress.
    pub fn add_time(&mut self, passed: Duration) {
        let Some(elapsed) = &mut self.times.elapsed else {
            return;
        };
        *elapsed = elapsed.saturating_add(passed);
        if let Some(last) = self.times.seen.last_mut() {
            last.spent = last.spent.saturating_add(passed);
        }
    }

    /// Makes the card.
    pub fn new(evidence: &Evidence<'_>) -> FailureCard {
        let row = evidence.revision;
        let secrets = Secrets::of_records(&[evidence.deployment, row]);
        let open = |text: &str| text::clean(&secrets.scrub(text)).into_owned();
        let status = row["status"].as_str().unwrap_or_default();
        let phase = Phase::of(status);
        let (log, lines, unread) = match evidence.log {
            LogEvidence::Read(log, lines) => (Some(log), lines, None),
            LogEvidence::Unread(log, why) => (Some(log), &[][..], Some(why)),
            LogEvidence::None => (None, &[][..], None),
        };
        let messages: Vec<String> = lines
            .iter()
            .map(|line| secrets.scrub(line.message))
            .collect();
        let lines: Vec<LogText<'_>> = lines
            .iter()
            .zip(&messages)
            .map(|(line, message)| LogText { message, ..*line })
            .collect();

        // Errors in the log of a healthy server are not the reason for the card.
        let error = if phase == Phase::Deployed {
            None
        } else {
            first_error(&lines)
        };
        let [created, updated] = ["created_at", "updated_at"].map(|field| time_in(row, field));
        let taken = time_taken(phase, created, updated, evidence.now);
        let last_good = last_good(row, evidence.history);
        let serves_instead = ServesInstead::find(evidence);
        let next = next::steps(
            evidence,
            status,
            error.as_ref(),
            serves_instead.as_ref(),
            last_good.as_ref(),
        );
        FailureCard {
            deployment: text::clean(evidence.address).into_owned(),
            revision_id: text::clean(row["id"].as_str().unwrap_or_default()).into_owned(),
            status: text::clean(status).into_owned(),
            meaning: serves_instead
                .as_ref()
                .map_or_else(|| next::meaning(status), ServesInstead::meaning)
                .to_string(),
            service: next::service(evidence, phase),
            message: row["status_message"]
                .as_str()
                .filter(|message| !message.trim().is_empty())
                .map(open),
            made_from: made_from(row),
            times: Times {
                seen: evidence.times.to_vec(),
                recorded: taken.filter(|_| phase.is_final()),
                elapsed: taken.filter(|_| !phase.is_final()),
                log: log_span(&lines),
                steps: if log == Some(CardLog::Build) {
                    steps::log_steps(&lines)
                } else {
                    Vec::new()
                },
            },
            error,
            log: log.map(|log| LogEnd {
                log,
                lines: lines.len(),
                tail: tail(&lines),
                unread: unread.map(open),
            }),
            serves_instead,
            last_good,
            next,
        }
    }
}

/// What a revision was made from, in few words.
fn made_from(row: &Value) -> Option<String> {
    SourceRevisionConfig::from_row(row)
        .made_from()
        .map(|from| text::clean(&from).into_owned())
}

/// The revisions older than this one, newest first.
fn older<'a>(row: &Value, history: &'a [Value]) -> &'a [Value] {
    match history.iter().position(|other| other["id"] == row["id"]) {
        Some(at) => &history[at + 1..],
        // Older than the list goes, or not in it yet: then its date decides.
        None => {
            let made = |row: &Value| time_in(row, "created_at");
            let at = history
                .iter()
                .position(|other| made(other) < made(row))
                .unwrap_or(history.len());
            &history[at..]
        }
    }
}

fn last_good(row: &Value, history: &[Value]) -> Option<LastGood> {
    let is_good =
        |other: &&Value| Phase::of(other["status"].as_str().unwrap_or_default()) == Phase::Deployed;
    let good = older(row, history).iter().find(is_good)?;
    Some(LastGood {
        id: text::clean(good["id"].as_str().unwrap_or_default()).into_owned(),
        created_at: time_in(good, "created_at"),
        made_from: made_from(good),
        changes: without_natural(compare(good, row)),
    })
}

fn log_span(lines: &[LogText<'_>]) -> Option<Duration> {
    let times = || lines.iter().filter_map(|line| line.at);
    let (first, last) = (times().min()?, times().max()?);
    Duration::try_from(last - first)
        .ok()
        .filter(|span| !span.is_zero())
}

/// The last lines, as lines: an entry may hold several.
fn tail(lines: &[LogText<'_>]) -> Vec<String> {
    let mut tail: Vec<String> = Vec::new();
    for entry in lines.iter().rev() {
        let clean = text::clean_lines(entry.message);
        tail.extend(
            clean
                .lines()
                .rev()
                .map(|line| text::fit(line.trim_end(), MAX_COLUMNS).into_owned()),
        );
        if tail.len() >= TAIL {
            break;
        }
    }
    tail.truncate(TAIL);
    tail.reverse();
    tail
}

fn seconds<S: Serializer>(spent: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((spent.as_secs_f64() * 1000.0).round() / 1000.0)
}

fn maybe_seconds<S: Serializer>(
    spent: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match spent {
        Some(spent) => seconds(spent, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
