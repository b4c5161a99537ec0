//! Gathers the data of a failure card: the records around a revision, and its log.

use crate::prelude::*;
use crate::{LogFilter, LogFollower, LogKind, LogScope};
use runtail_core::model::{
    CardLog, Evidence, FailureCard, LogEvidence, LogLine, LogText, Phase, StatusTime,
};

/// Number of revisions to search for the last good one.
const REVISIONS: usize = 100;
/// Lines of the log's end that are searched for the error.
const LINES: usize = 1000;

/// The revision to explain.
#[derive(Debug, Clone, Copy)]
pub struct CardOf<'a> {
    /// The deployment's id.
    pub deployment: &'a str,
    /// Its name on the command line: PROFILE/NAME.
    pub address: &'a str,
    /// Options for a suggested command, each with a leading space.
    pub options: &'a str,
    /// The deployment's known record, in case it can't be read again; else null.
    pub known: &'a Value,
    /// The revision as received.
    pub revision: &'a Value,
    /// The time in each status, if it was watched.
    pub times: &'a [StatusTime],
}

impl ControlPlane {
    /// Returns the card of a revision, and the first error. Parts that can't be read are missing from the card.
    pub async fn failure_card(&self, of: CardOf<'_>) -> (FailureCard, Option<ApiError>) {
        let field = |name: &str| text_of(of.revision, name);
        let (deployment, history, log) = tokio::join!(
            self.deployment_row(of.deployment),
            self.revision_rows(of.deployment, REVISIONS),
            read_log(self, of.deployment, field("id"), field("status")),
        );
        let (mut history, missing) = match history {
            Ok(revisions) => (revisions.items, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        // Use the known record: it is needed for its secrets, which rarely change.
        let record = deployment.as_ref().unwrap_or(of.known);
        // A deployed revision may not be the serving one, which may be older than the list.
        if let (Some(active), Phase::Deployed) = (
            record["active_revision_id"].as_str(),
            Phase::of(field("status")),
        ) && active != field("id")
            && !history.iter().any(|row| row["id"] == active)
            && let Ok(row) = self.revision_row(of.deployment, active).await
        {
            history.push(row);
        }
        let (log, read) = log.unzip();
        let lines: Vec<LogText<'_>> = read.iter().flatten().flatten().map(LogText::from).collect();
        let mut unread = read
            .as_ref()
            .and_then(|read| read.as_ref().err())
            .map(ToString::to_string);
        if let (Err(error), true) = (&deployment, of.known.is_null()) {
            unread.get_or_insert(format!(
                "without the deployment's record, its secrets can't be removed from a log ({error})"
            ));
        }
        let card = FailureCard::new(&Evidence {
            address: of.address,
            options: of.options,
            deployment: record,
            revision: of.revision,
            history: &history,
            times: of.times,
            now: Timestamp::now()
                .saturating_add(self.skew())
                .unwrap_or(Timestamp::MAX),
            log: match (log, &unread) {
                (None, _) => LogEvidence::None,
                (Some(log), Some(why)) => LogEvidence::Unread(log, why),
                (Some(log), None) => LogEvidence::Read(log, &lines),
            },
        });
        (card, missing)
    }
}

/// Returns the end of the log that explains a revision best, if there is one. If it is unknown whether the build failed, the
/// server log replaces an empty build log.
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
        let scope = LogScope {
            deployment: deployment.into(),
            revision: Some(revision.into()),
            kind,
        };
        (
            log,
            LogFollower::new(control.clone(), scope, LogFilter::default(), LINES)
                .poll()
                .await,
        )
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
