//! Gathers what a failure card is made from: the records around a revision, and its log.

use super::Globals;
use super::output::complain;
use super::resolve::Found;
use crate::api::{ApiError, ControlPlane, LogFilter, LogFollower, LogKind, LogScope};
use crate::model::{CardLog, Evidence, FailureCard, LogEvidence, LogLine, LogText, StatusTime};
use serde_json::Value;

/// Revisions that are looked through for the last good one.
const REVISIONS: usize = 100;
/// Lines of the log's end that are searched for the error.
const LINES: usize = 1000;

/// The card of a revision. What cannot be read is missing from it, and said; nothing here fails.
pub(super) async fn card(
    globals: &Globals,
    found: &Found,
    control: &ControlPlane,
    revision: &Value,
    times: &[StatusTime],
) -> FailureCard {
    let field = |name: &str| revision[name].as_str().unwrap_or_default();
    let (deployment, history, log) = tokio::join!(
        control.deployment_row(&found.id),
        control.revision_rows(&found.id, REVISIONS),
        read_log(control, &found.id, field("id"), field("status")),
    );
    let history = history.map(|revisions| revisions.items).unwrap_or_else(|error| {
        complain(&format!("warning: the revisions could not be listed: {error}"));
        Vec::new()
    });
    let (log, read) = log.unzip();
    let lines: Vec<LogText<'_>> = read.iter().flatten().flatten().map(LogText::from).collect();
    let unread = read.as_ref().and_then(|read| read.as_ref().err()).map(ToString::to_string);
    FailureCard::new(&Evidence {
        address: &found.title(),
        options: &Globals { config: globals.config.clone(), ..Globals::default() }.where_to(),
        // What was known before will do: its secrets, which must not be in the log, hardly changed.
        deployment: deployment.as_ref().unwrap_or(&found.row),
        revision,
        history: &history,
        times,
        log: match (log, &unread) {
            (None, _) => LogEvidence::None,
            (Some(log), Some(why)) => LogEvidence::Unread(log, why),
            (Some(log), None) => LogEvidence::Read(log, &lines),
        },
    })
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
