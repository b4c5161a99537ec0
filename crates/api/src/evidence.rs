//! Gathers what a failure card is made from: the records around a revision, and its log.

use super::{ApiError, ControlPlane, LogFilter, LogFollower, LogKind, LogScope};
use runtail_core::model::{CardLog, Evidence, FailureCard, LogEvidence, LogLine, LogText, Phase, StatusTime};
use serde_json::Value;

/// Revisions that are looked through for the last good one.
const REVISIONS: usize = 100;
/// Lines of the log's end that are searched for the error.
const LINES: usize = 1000;

/// Which revision is explained, and to whom.
#[derive(Debug, Clone, Copy)]
pub struct CardOf<'a> {
    /// The deployment's identifier.
    pub deployment: &'a str,
    /// How the command line calls it: PROFILE/NAME.
    pub address: &'a str,
    /// Options that a suggested command needs, each with a blank before it.
    pub options: &'a str,
    /// The deployment's record as far as it is known, in case that it cannot be read anew; else null.
    pub known: &'a Value,
    /// The revision, as the server described it.
    pub revision: &'a Value,
    /// The time in each status, where it was watched.
    pub times: &'a [StatusTime],
}

impl ControlPlane {
    /// The card of a revision. Nothing here fails: what cannot be read is missing from the card, and the first reason is
    /// given beside it.
    pub async fn failure_card(&self, of: CardOf<'_>) -> (FailureCard, Option<ApiError>) {
        let field = |name: &str| of.revision[name].as_str().unwrap_or_default();
        let (deployment, history, log) = tokio::join!(
            self.deployment_row(of.deployment),
            self.revision_rows(of.deployment, REVISIONS),
            read_log(self, of.deployment, field("id"), field("status")),
        );
        let (mut history, missing) = match history {
            Ok(revisions) => (revisions.items, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        // What was known before will do: its secrets, which must not be in the log, hardly changed.
        let record = deployment.as_ref().unwrap_or(of.known);
        // One that was deployed is told apart from the one that serves, which may be older than the list goes.
        if let (Some(active), Phase::Deployed) = (record["active_revision_id"].as_str(), Phase::of(field("status")))
            && active != field("id")
            && !history.iter().any(|row| row["id"] == active)
            && let Ok(row) = self.revision_row(of.deployment, active).await
        {
            history.push(row);
        }
        let (log, read) = log.unzip();
        let lines: Vec<LogText<'_>> = read.iter().flatten().flatten().map(LogText::from).collect();
        let mut unread = read.as_ref().and_then(|read| read.as_ref().err()).map(ToString::to_string);
        if let (Err(error), true) = (&deployment, of.known.is_null()) {
            unread.get_or_insert(format!(
                "without the deployment's record its secrets cannot be told in a log ({error})"
            ));
        }
        let card = FailureCard::new(&Evidence {
            address: of.address,
            options: of.options,
            deployment: record,
            revision: of.revision,
            history: &history,
            times: of.times,
            log: match (log, &unread) {
                (None, _) => LogEvidence::None,
                (Some(log), Some(why)) => LogEvidence::Unread(log, why),
                (Some(log), None) => LogEvidence::Read(log, &lines),
            },
        });
        (card, missing)
    }
}

/// The end of the log that tells most of a revision, if there is one. Where nobody can say whether it failed in its build
/// or later, the server's log stands in for a build log without lines.
async fn read_log(
    control: &ControlPlane,
    deployment: &str,
    revision: &str,
    status: &str,
) -> Option<(CardLog, Result<Vec<LogLine>, ApiError>)> {
    let read = async |log| {
        let kind = match log {
            CardLog::Build => LogKind::Build,
            CardLog::Server => LogKind::Server,
        };
        let scope = LogScope { deployment: deployment.into(), revision: Some(revision.into()), kind };
        (log, LogFollower::new(control.clone(), scope, LogFilter::default(), LINES).poll().await)
    };
    let log = CardLog::of(status)?;
    let first = read(log).await;
    match &first {
        (CardLog::Build, Ok(lines)) if lines.is_empty() && status != "BUILD_FAILED" => {
            Some(read(CardLog::Server).await)
        }
        _ => Some(first),
    }
}
