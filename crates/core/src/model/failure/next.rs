//! What a status means in words, and what to do about it.

use super::serving::roles;
use super::{Evidence, LastGood, ServesInstead};
use crate::model::Phase;
use crate::model::first_error::FirstError;
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
}

/// What a status word means for a person.
pub(super) fn meaning(status: &str) -> &'static str {
    match (Phase::of(status), status) {
        (_, "CREATE_FAILED") => "the revision could not be set up: nothing was built and nothing was rolled out",
        (_, "BUILD_FAILED") => "the build failed: there is no image, and nothing was rolled out",
        (_, "DEPLOY_FAILED") => "its server did not come up, and the rollout was given up",
        (Phase::Failed, _) => "it failed, in a way that runtail has no more words for",
        (Phase::Skipped, _) => "a newer revision overtook it while it waited: it will never be built",
        (Phase::Interrupted, _) => "somebody stopped it",
        (Phase::Deployed, _) => "it was deployed: nothing failed",
        (Phase::Waiting | Phase::Moving, _) => "it is still in progress",
        (Phase::Unknown, "") => "the server gives no status: it is taken to be still in progress",
        (Phase::Unknown, _) => "runtail does not know this status: it is taken to be still in progress",
    }
}

/// What to do, the most telling first.
pub(super) fn steps(
    evidence: &Evidence<'_>,
    status: &str,
    error: Option<&FirstError>,
    serves_instead: Option<&ServesInstead>,
    last_good: Option<&LastGood>,
) -> Vec<NextStep> {
    let failed = Phase::of(status) == Phase::Failed;
    let id = evidence.revision["id"].as_str().unwrap_or_default();
    let address = word(evidence.address);
    let mut steps = Vec::new();
    let mut step = |text: &str, command: Option<String>| steps.push(NextStep { text: text.into(), command });
    let of = |verb: &str, rest: &str| Some(format!("runtail{} {verb} {address}{rest}", evidence.options));
    let build_log = || of("logs", &format!(" --build --revision {}", word(id)));
    let server_log = || of("logs", &format!(" --revision {}", word(id)));
    let redeploy = || of("revisions redeploy", &format!(" {}", word(id)));
    // What is still in progress, or was stopped, is none the worse for a line that looks like an error.
    if let Some(advice) = error.filter(|_| failed).and_then(advice) {
        step(advice, None);
    }
    match (Phase::of(status), status) {
        (_, "CREATE_FAILED") => {
            step("Check its source, its integration and its resources", of("deployments get", ""));
        }
        (_, "BUILD_FAILED") => step("Read the whole build log", build_log()),
        (_, "DEPLOY_FAILED") => {
            step("Read what its server printed", server_log());
            step("Check that every secret and variable that the new code needs is set", of("deployments get", ""));
        }
        (Phase::Failed, _) => {
            step("Read its build log", build_log());
            step("Read what its server printed", server_log());
        }
        (Phase::Skipped, _) => {
            match overtaker(evidence) {
                Some((other, status)) => {
                    let status = if status.is_empty() { "no status" } else { &status };
                    let text = format!("Look at the one that overtook it, {} ({status})", text::short_id(other));
                    step(&text, of("revisions wait", &format!(" --revision {}", word(other))));
                }
                None => step("Look for the one that overtook it", of("revisions list", "")),
            }
            step("Deploy its source all the same, if that is what should serve", redeploy());
        }
        (Phase::Interrupted, _) => {
            step("Deploy the same source again, if it should not have been stopped", redeploy());
        }
        (Phase::Deployed, _) => {
            let Some(other) = serves_instead else { return steps };
            let was_rolled_back = other.is_older == Some(true);
            if other.changes.as_ref().is_some_and(|changes| !changes.is_empty()) {
                let (older, newer) = if was_rolled_back { (&*other.id, id) } else { (id, &*other.id) };
                let ids = format!(" {} {}", word(older), word(newer));
                step("See all that differs from the one that serves", of("revisions diff", &ids));
            }
            if was_rolled_back {
                step("Read what its server printed, for why it was taken back", server_log());
                step(
                    "Deploy its source again, as a new revision, if it should serve; else nothing is to be done",
                    redeploy(),
                );
            }
        }
        (Phase::Waiting | Phase::Moving | Phase::Unknown, _) => {
            step("Wait for it", of("revisions wait", &format!(" --revision {}", word(id))));
        }
    }
    if let Some(good) = last_good.filter(|good| failed && !good.changes.is_empty()) {
        let ids = format!(" {} {}", word(&good.id), word(id));
        step("See all that changed since the last good revision", of("revisions diff", &ids));
    }
    if failed {
        step(service(evidence), None);
        if error.is_none() {
            step("Deploy the same source once more, if the cause may have passed", redeploy());
        }
    }
    if let Some(good) = last_good.filter(|_| failed) {
        let text = "Go back to what the last good revision was made from, if this one cannot be mended soon";
        step(text, of("revisions rollback", &format!(" {}", word(&good.id))));
    }
    steps
}

/// Whether people are without service meanwhile.
fn service(evidence: &Evidence<'_>) -> &'static str {
    let roles = roles(evidence);
    match roles.serving() {
        Some(id) if evidence.revision["id"] == id => "The server says that this very revision serves",
        Some(_) if roles.derived => "The newest deployed revision should serve meanwhile: there is time to fix it",
        Some(_) => "Another revision serves meanwhile: there is time to fix it",
        None => "No revision of this deployment serves: it is down until one is deployed",
    }
}

/// The revision that overtook this one: of the newer ones the nearest that was not overtaken itself.
fn overtaker<'a>(evidence: &Evidence<'a>) -> Option<(&'a str, String)> {
    let history = evidence.history;
    let at = history.iter().position(|row| row["id"] == evidence.revision["id"])?;
    let status = |row: &'a Value| row["status"].as_str().unwrap_or_default();
    let newer = history[..at].iter().rev().find(|row| Phase::of(status(row)) != Phase::Skipped)?;
    Some((newer["id"].as_str()?, text::clean(status(newer)).into_owned()))
}

/// What a well-known error asks for: words of the error in small letters, and the advice.
const ADVICE: [(&[&str], &str); 7] = [
    (
        &["no solution found", "resolutionimpossible", "conflicting dependencies"],
        "Loosen or align the version pins: they contradict each other, or those of the base image",
    ),
    (
        &["no matching distribution", "could not find a version"],
        "Check the package's name and version: the index has none that fits this Python",
    ),
    (
        &["no module named", "modulenotfounderror"],
        "Add the missing module to `dependencies` in langgraph.json, or correct the path of the graph",
    ),
    (
        &["command not found", "python.h"],
        "Install the missing system package with `dockerfile_lines` in langgraph.json",
    ),
    (&["oomkilled", "out of memory", "killed"], "Give it more memory: `memory_mb` of its resources"),
    (
        &["imagepullbackoff", "errimagepull", "manifest unknown", "pull access denied"],
        "Check that the image exists and that its registry lets the cluster in (`image_pull_secrets`)",
    ),
    (
        &["not ready after", "readiness probe"],
        "Look at what the server does before it answers: it took too long to be ready",
    ),
];

fn advice(error: &FirstError) -> Option<&'static str> {
    let text = error.text.to_lowercase();
    let fits = |words: &[&str]| words.iter().any(|word| text.contains(word));
    ADVICE.iter().find(|(words, _)| fits(words)).map(|(_, advice)| *advice)
}

/// A word of a command. What a shell or a terminal could read otherwise is quoted: identifiers come from servers.
fn word(text: &str) -> String {
    let clean = text::clean(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !clean.is_empty() && clean.chars().all(plain) && !clean.starts_with('-') {
        return clean.into_owned();
    }
    format!("'{}'", clean.replace('\'', "'\\''"))
}
