//! The failure card: why a revision is not what its owner wanted, from everything that the server tells of it. It is data;
//! `render` writes it for terminals and as Markdown, and it serializes to JSON. Nothing in it is a secret, and every text
//! in it is clean.

mod next;
mod render;
mod serving;

pub use next::NextStep;
pub use render::{CardLine, Part};
pub use serving::ServesInstead;

use super::compare::{Change, compare, without_natural};
use super::first_error::{FirstError, LogText, first_error};
use super::mask::Secrets;
use super::{Phase, SourceRevisionConfig, parse_time};
use crate::text;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::time::Duration;

/// Lines of the log's end that a card shows.
const TAIL: usize = 30;
/// Longest line of it, in columns.
const MAX_COLUMNS: usize = 400;

/// Which of a revision's two logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CardLog {
    /// What was printed while it was built.
    Build,
    /// What its server printed.
    Server,
}

/// The time spent in a status, as far as it was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusTime {
    /// The status word; empty where the server gave none.
    pub status: String,
    /// How long it was seen.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub spent: Duration,
    /// Whether its beginning was seen too; else it may have lasted longer.
    pub from_start: bool,
}

/// The log that a card is made with.
#[derive(Debug, Clone, Copy)]
pub enum LogEvidence<'a> {
    /// Lines of it, oldest first: its end at least.
    Read(CardLog, &'a [LogText<'a>]),
    /// It could not be read, and why.
    Unread(CardLog, &'a str),
    /// Nobody asked for it.
    None,
}

/// What a card is made from: rows as the server described them.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// How the command line calls the deployment: PROFILE/NAME, or its id.
    pub address: &'a str,
    /// Options that a suggested command needs, each with a blank before it (` --config FILE`); mostly empty.
    pub options: &'a str,
    /// The deployment, or null. Its secrets are taken out of the log, so it should come unmasked.
    pub deployment: &'a Value,
    /// The revision.
    pub revision: &'a Value,
    /// The deployment's revisions, newest first, as far as they are known.
    pub history: &'a [Value],
    /// The time in each status, where it was watched.
    pub times: &'a [StatusTime],
    /// Its log.
    pub log: LogEvidence<'a>,
}

/// The card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureCard {
    /// How the command line calls the deployment.
    pub deployment: String,
    /// The revision's id.
    pub revision_id: String,
    /// Its status word, as the server said it.
    pub status: String,
    /// What that means.
    pub meaning: String,
    /// What the server itself says of it (`status_message`).
    pub message: Option<String>,
    /// What it was made from, in few words.
    pub made_from: Option<String>,
    /// Where the time went.
    pub times: Times,
    /// What the log says went wrong.
    pub error: Option<FirstError>,
    /// The end of the log.
    pub log: Option<LogEnd>,
    /// The revision that serves in its place, where it was deployed and does not serve.
    pub serves_instead: Option<ServesInstead>,
    /// The revision that worked before it.
    pub last_good: Option<LastGood>,
    /// What to do now.
    pub next: Vec<NextStep>,
}

/// Where the time went: what was seen, and what the records tell of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Times {
    /// The statuses that were watched, oldest first.
    pub seen: Vec<StatusTime>,
    /// From its creation to its last change by the server's record, once its status is final.
    #[serde(rename = "recorded_seconds", serialize_with = "maybe_seconds")]
    pub recorded: Option<Duration>,
    /// From the first to the last line of the log that was read.
    #[serde(rename = "log_seconds", serialize_with = "maybe_seconds")]
    pub log: Option<Duration>,
}

/// The end of a log.
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
    /// Its id.
    pub id: String,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// What it was made from, in few words.
    pub made_from: Option<String>,
    /// What differs in the revision at hand.
    pub changes: Vec<Change>,
}

impl CardLog {
    /// The log that tells most of a revision with this status, where one does.
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
    /// Makes the card.
    pub fn new(evidence: &Evidence<'_>) -> FailureCard {
        let row = evidence.revision;
        let secrets = Secrets::of_records(&[evidence.deployment, row]);
        let open = |text: &str| text::clean(&secrets.scrub(text)).into_owned();
        let status = row["status"].as_str().unwrap_or_default();
        let phase = Phase::of(status);
        let (lines, unread) = match evidence.log {
            LogEvidence::Read(_, lines) => (lines, None),
            LogEvidence::Unread(_, why) => (&[][..], Some(why)),
            LogEvidence::None => (&[][..], None),
        };
        let messages: Vec<String> = lines.iter().map(|line| secrets.scrub(line.message)).collect();
        let lines: Vec<LogText<'_>> =
            lines.iter().zip(&messages).map(|(line, message)| LogText { message, ..*line }).collect();
        let log = match evidence.log {
            LogEvidence::Read(log, _) | LogEvidence::Unread(log, _) => Some(log),
            LogEvidence::None => None,
        };
        // What a healthy server complains about in its log is not why it is looked at.
        let error = if phase == Phase::Deployed { None } else { first_error(&lines) };
        let last_good = last_good(row, evidence.history);
        let serves_instead = ServesInstead::find(evidence);
        let next = next::steps(evidence, status, error.as_ref(), serves_instead.as_ref(), last_good.as_ref());
        FailureCard {
            deployment: text::clean(evidence.address).into_owned(),
            revision_id: text::clean(row["id"].as_str().unwrap_or_default()).into_owned(),
            status: text::clean(status).into_owned(),
            meaning: serves_instead.as_ref().map_or_else(|| next::meaning(status), ServesInstead::meaning).to_string(),
            message: row["status_message"].as_str().filter(|message| !message.trim().is_empty()).map(open),
            made_from: made_from(row),
            times: Times {
                seen: evidence.times.to_vec(),
                recorded: phase.is_final().then(|| span(&row["created_at"], &row["updated_at"])).flatten(),
                log: log_span(&lines),
            },
            error,
            log: log.map(|log| LogEnd { log, lines: lines.len(), tail: tail(&lines), unread: unread.map(open) }),
            serves_instead,
            last_good,
            next,
        }
    }
}

/// What a revision was made from, in few words.
fn made_from(row: &Value) -> Option<String> {
    SourceRevisionConfig::from_row(row).made_from().map(|from| text::clean(&from).into_owned())
}

/// The revisions older than this one, newest first.
fn older<'a>(row: &Value, history: &'a [Value]) -> &'a [Value] {
    match history.iter().position(|other| other["id"] == row["id"]) {
        Some(at) => &history[at + 1..],
        // Older than the list goes, or not in it yet: then its date decides.
        None => {
            let made = |row: &Value| row["created_at"].as_str().and_then(parse_time);
            let at = history.iter().position(|other| made(other) < made(row)).unwrap_or(history.len());
            &history[at..]
        }
    }
}

fn last_good(row: &Value, history: &[Value]) -> Option<LastGood> {
    let is_good = |other: &&Value| Phase::of(other["status"].as_str().unwrap_or_default()) == Phase::Deployed;
    let good = older(row, history).iter().find(is_good)?;
    Some(LastGood {
        id: text::clean(good["id"].as_str().unwrap_or_default()).into_owned(),
        created_at: good["created_at"].as_str().and_then(parse_time),
        made_from: made_from(good),
        changes: without_natural(compare(good, row)),
    })
}

fn span(from: &Value, to: &Value) -> Option<Duration> {
    let (from, to) = (parse_time(from.as_str()?)?, parse_time(to.as_str()?)?);
    Duration::try_from(to - from).ok()
}

fn log_span(lines: &[LogText<'_>]) -> Option<Duration> {
    let times = || lines.iter().filter_map(|line| line.at);
    let (first, last) = (times().min()?, times().max()?);
    Duration::try_from(last - first).ok().filter(|span| !span.is_zero())
}

/// The last lines, as lines: an entry may hold several.
fn tail(lines: &[LogText<'_>]) -> Vec<String> {
    let mut tail: Vec<String> = Vec::new();
    for entry in lines.iter().rev() {
        let clean = text::clean_lines(entry.message);
        tail.extend(clean.lines().rev().map(|line| text::fit(line.trim_end(), MAX_COLUMNS).into_owned()));
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

fn maybe_seconds<S: Serializer>(spent: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match spent {
        Some(spent) => seconds(spent, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
