//! The meaning of a status, and what to do.

use super::serving::roles;
use super::{CardLog, Evidence, LastGood, ServesInstead};
use crate::model::first_error::FirstError;
use crate::model::{DeploymentState, NO_URL, Phase, shell_word};
use crate::text;
use serde::Serialize;
use serde_json::Value;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextStep {
    /// What and why.
    pub text: String,
    /// The command for it, where there is one.
    pub command: Option<String>,
    /// What it does, for a program that has keys instead of commands.
    #[serde(skip)]
    pub kind: StepKind,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Nothing that Runtail can do.
    Advice,
    /// Shows the build log.
    BuildLog,
    /// Shows the server log.
    ServerLog,
    /// Shows the record of the deployment.
    Details,
    /// Shows a newer revision.
    Newer,
    /// Waits for the result.
    Wait,
    /// Interrupts it.
    Interrupt,
    /// Compares it with the last good revision, or with the serving one.
    Compare,
    /// Redeploys it.
    Redeploy,
    /// Rolls back to the last good revision.
    Rollback,
}

/// Returns the meaning of a status word.
pub(super) fn meaning(status: &str) -> &'static str {
    match (Phase::of(status), status) {
        (_, "CREATE_FAILED") => "Setup failed. Nothing was built or deployed.",
        (_, "BUILD_FAILED") => "Build failed. No image was produced and nothing was deployed.",
        (_, "DEPLOY_FAILED") => "The server did not become ready and the rollout was aborted.",
        (Phase::Failed, _) => "Failed with a status that Runtail does not know.",
        (Phase::Skipped, _) => {
            "Superseded by a newer revision while it was queued; it will never be built."
        }
        (Phase::Interrupted, _) => "Interrupted before it finished.",
        (Phase::Deployed, _) => "Deployed. No failure.",
        (Phase::Waiting | Phase::Moving, _) => "Still in progress.",
        (Phase::Unknown, "") => "The server reports no status; treated as in progress.",
        (Phase::Unknown, _) => "Unknown status; treated as in progress.",
    }
}

/// Returns suggested actions, the most useful first.
pub(super) fn steps(
    evidence: &Evidence<'_>,
    status: &str,
    error: Option<&FirstError>,
    serves_instead: Option<&ServesInstead>,
    last_good: Option<&LastGood>,
) -> Vec<NextStep> {
    let failed = Phase::of(status) == Phase::Failed;
    let id = evidence.revision["id"].as_str().unwrap_or_default();
    let address = shell_word(evidence.address);
    let mut steps = Vec::new();
    let mut step = |kind: StepKind, text: &str, command: Option<String>| {
        steps.push(NextStep {
            text: text.into(),
            command,
            kind,
        })
    };
    let of = |verb: &str, rest: &str| {
        Some(format!(
            "runtail{} {verb} {address}{rest}",
            evidence.options
        ))
    };
    let build_log = || of("logs", &format!(" --build --revision {}", shell_word(id)));
    let server_log = || of("logs", &format!(" --revision {}", shell_word(id)));
    let redeploy = || of("revisions redeploy", &format!(" {}", shell_word(id)));
    // For a revision that is in progress or was interrupted, a line that looks like an error may mean nothing.
    if let Some(advice) = error.filter(|_| failed).and_then(advice) {
        step(StepKind::Advice, advice, None);
    }
    match (Phase::of(status), status) {
        (_, "CREATE_FAILED") => {
            step(
                StepKind::Details,
                "Check its source, its integration and its resources",
                of("deployments get", ""),
            );
        }
        (_, "BUILD_FAILED") => step(StepKind::BuildLog, "Read the whole build log", build_log()),
        (_, "DEPLOY_FAILED") => {
            step(StepKind::ServerLog, "Read the server log", server_log());
            step(
                StepKind::Details,
                "Check that all secrets and variables that the new code needs are set",
                of("deployments get", ""),
            );
        }
        (Phase::Failed, _) => {
            step(StepKind::BuildLog, "Read the build log", build_log());
            step(StepKind::ServerLog, "Read the server log", server_log());
        }
        (Phase::Skipped, _) => {
            match overtaker(evidence) {
                Some((other, status)) => {
                    let status = if status.is_empty() {
                        "no status"
                    } else {
                        &status
                    };
                    let text = format!(
                        "See the newer revision, {} ({status})",
                        text::short_id(other)
                    );
                    step(
                        StepKind::Newer,
                        &text,
                        of(
                            "revisions wait",
                            &format!(" --revision {}", shell_word(other)),
                        ),
                    );
                }
                None => step(
                    StepKind::Newer,
                    "Find the newer revision",
                    of("revisions list", ""),
                ),
            }
            step(
                StepKind::Redeploy,
                "Redeploy its source if it should be live",
                redeploy(),
            );
        }
        (Phase::Interrupted, _) => {
            step(
                StepKind::Redeploy,
                "Redeploy the same source if the interruption was a mistake",
                redeploy(),
            );
        }
        (Phase::Deployed, _) => {
            let Some(other) = serves_instead else {
                return steps;
            };
            let was_rolled_back = other.is_older == Some(true);
            if other
                .changes
                .as_ref()
                .is_some_and(|changes| !changes.is_empty())
            {
                let (older, newer) = if was_rolled_back {
                    (&*other.id, id)
                } else {
                    (id, &*other.id)
                };
                let ids = format!(" {} {}", shell_word(older), shell_word(newer));
                let word = if other.is_idle { "active" } else { "serving" };
                let text = format!("See all differences from the {word} revision");
                step(StepKind::Compare, &text, of("revisions diff", &ids));
            }
            if was_rolled_back {
                step(
                    StepKind::ServerLog,
                    "Read the server log for why it was rolled back",
                    server_log(),
                );
                step(
                    StepKind::Redeploy,
                    "Redeploy its source as a new revision if it should be live; otherwise nothing to do",
                    redeploy(),
                );
            }
        }
        (Phase::Waiting | Phase::Moving | Phase::Unknown, _) => {
            step(
                StepKind::Wait,
                "Wait for the result",
                of("revisions wait", &format!(" --revision {}", shell_word(id))),
            );
            if CardLog::of(status) == Some(CardLog::Build) {
                step(StepKind::BuildLog, "Follow its build log", build_log());
            }
            let interrupt = of("revisions interrupt", &format!(" {}", shell_word(id)));
            step(
                StepKind::Interrupt,
                "Interrupt it if it should not be deployed",
                interrupt,
            );
        }
    }
    if let Some(good) = last_good.filter(|good| failed && !good.changes.is_empty()) {
        let ids = format!(" {} {}", shell_word(&good.id), shell_word(id));
        step(
            StepKind::Compare,
            "See all changes since the last good revision",
            of("revisions diff", &ids),
        );
    }
    if failed && error.is_none() {
        step(
            StepKind::Redeploy,
            "Redeploy the same source if the cause may be temporary",
            redeploy(),
        );
    }
    if let Some(good) = last_good.filter(|_| failed) {
        let text = "Roll back to the last good revision";
        step(
            StepKind::Rollback,
            text,
            of("revisions rollback", &format!(" {}", shell_word(&good.id))),
        );
    }
    steps
}

/// Returns whether the deployment is down, if the revision failed, and what an unusual status of the deployment means.
pub(super) fn service(evidence: &Evidence<'_>, phase: Phase) -> Option<String> {
    let deployment = evidence.deployment;
    if let Some(meaning) = DeploymentState::of(deployment["status"].as_str()).meaning(false) {
        let urls = [
            &deployment["url"],
            &deployment["source_config"]["custom_url"],
        ];
        let has_url = urls
            .iter()
            .any(|url| url.as_str().is_some_and(|url| !url.is_empty()));
        return Some(if has_url {
            meaning.into()
        } else {
            format!("{meaning} {NO_URL}")
        });
    }
    let roles = roles(evidence);
    let said = match roles.serving() {
        Some(id) if evidence.revision["id"] == id => "The server reports this revision as serving.",
        Some(_) if roles.derived => "The newest deployed revision should still be serving traffic.",
        Some(_) => "The previous revision is still serving traffic.",
        None => "No revision is serving: the deployment is down.",
    };
    (phase == Phase::Failed).then(|| said.into())
}

/// Returns the revision that superseded this one: the next newer one that was not skipped itself.
fn overtaker<'a>(evidence: &Evidence<'a>) -> Option<(&'a str, String)> {
    let history = evidence.history;
    let at = history
        .iter()
        .position(|row| row["id"] == evidence.revision["id"])?;
    let status = |row: &'a Value| row["status"].as_str().unwrap_or_default();
    let newer = history[..at]
        .iter()
        .rev()
        .find(|row| Phase::of(status(row)) != Phase::Skipped)?;
    Some((
        newer["id"].as_str()?,
        text::clean(status(newer)).into_owned(),
    ))
}

/// Known errors: lowercase words of the error, and the advice.
const ADVICE: [(&[&str], &str); 7] = [
    (
        &[
            "no solution found",
            "resolutionimpossible",
            "conflicting dependencies",
        ],
        "Loosen or align the version pins: they conflict with each other or with the base image",
    ),
    (
        &["no matching distribution", "could not find a version"],
        "Check the package's name and version: the index has no match for this Python version",
    ),
    (
        &["no module named", "modulenotfounderror"],
        "Add the missing module to `dependencies` in langgraph.json, or correct the path of the graph",
    ),
    (
        &["command not found", "python.h"],
        "Install the missing system package with `dockerfile_lines` in langgraph.json",
    ),
    (
        &["oomkilled", "out of memory", "killed"],
        "Increase its memory (`memory_mb` in its resources)",
    ),
    (
        &[
            "imagepullbackoff",
            "errimagepull",
            "manifest unknown",
            "pull access denied",
        ],
        "Check that the image exists and that the cluster can pull it (`image_pull_secrets`)",
    ),
    (
        &["not ready after", "readiness probe"],
        "Check what the server does at startup: it took too long to become ready",
    ),
];

fn advice(error: &FirstError) -> Option<&'static str> {
    let text = error.text.to_lowercase();
    let fits = |words: &[&str]| words.iter().any(|word| text.contains(word));
    ADVICE
        .iter()
        .find(|(words, _)| fits(words))
        .map(|(_, advice)| *advice)
}
