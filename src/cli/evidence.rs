//! Gathers what a failure card is made from: the records around a revision, and its log.

use super::Globals;
use super::output::complain;
use super::resolve::Found;
use crate::api::ControlPlane;
use crate::model::{Evidence, FailureCard, LogEvidence, StatusTime};
use serde_json::Value;

/// Revisions that are looked through for the last good one.
const REVISIONS: usize = 100;

/// The card of a revision. What cannot be read is missing from it, and said; nothing here fails.
pub(super) async fn card(
    globals: &Globals,
    found: &Found,
    control: &ControlPlane,
    revision: &Value,
    times: &[StatusTime],
) -> FailureCard {
    let (deployment, history) =
        tokio::join!(control.deployment_row(&found.id), control.revision_rows(&found.id, REVISIONS));
    let history = history.map(|revisions| revisions.items).unwrap_or_else(|error| {
        complain(&format!("warning: the revisions could not be listed: {error}"));
        Vec::new()
    });
    FailureCard::new(&Evidence {
        address: &found.title(),
        options: &Globals { config: globals.config.clone(), ..Globals::default() }.where_to(),
        // What was known before will do: its secrets, which must not be in the log, hardly changed.
        deployment: deployment.as_ref().unwrap_or(&found.row),
        revision,
        history: &history,
        times,
        log: LogEvidence::None,
    })
}
