//! Which revision of a deployment ran a run, as far as the records show it.

use super::{filled, time_in};
use crate::text::short_id;
use serde::Serialize;
use serde_json::Value;

/// The fields of a run's metadata that name its revision: by its id, or by its commit. The hosted service sets the variables of
/// these names for its servers; only some versions copy them into runs.
const FIELDS: [&str; 8] = [
    "langgraph_host_revision_id",
    "host_revision_id",
    "LANGSMITH_HOST_REVISION_ID",
    "LANGSMITH_REVISION_ID",
    "LANGCHAIN_REVISION_ID",
    "LANGSMITH_LANGGRAPH_GIT_REF_SHA",
    "langgraph_git_ref_sha",
    "revision_id",
];
/// Minimum length of a shortened commit.
const MIN_SHA: usize = 7;

/// Whether a run was answered by the newest revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RevisionAge {
    /// By the newest revision.
    New,
    /// By an earlier one.
    Old,
    Unknown,
}

impl RevisionAge {
    /// Returns the words for a screen.
    pub fn words(self) -> &'static str {
        match self {
            RevisionAge::New => "newest revision",
            RevisionAge::Old => "older revision",
            RevisionAge::Unknown => "unknown revision",
        }
    }
}

/// The revision that ran a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRevision {
    #[serde(rename = "revision")]
    pub age: RevisionAge,
    /// The revision, if it is known.
    pub revision_id: Option<String>,
    pub newest_revision_id: Option<String>,
    /// The revision of the server that answers now, by `/info`. During a rollout, servers of two revisions answer.
    pub server_revision_id: Option<String>,
    /// How this is known, or why it isn't.
    pub why: String,
}

impl RunRevision {
    /// Returns whether anything about the run's revision is known.
    pub fn is_known(&self) -> bool {
        self.age != RevisionAge::Unknown || self.revision_id.is_some()
    }

    /// Judges a run's record by the deployment's revisions, newest first; `None` if they are not known. `info` is the response to
    /// `GET /info`, or null.
    pub fn of(run: &Value, info: &Value, revisions: Option<&[Value]>) -> RunRevision {
        let revisions = revisions.unwrap_or_default();
        let newest = revisions.first();
        let newest_id = newest.and_then(|row| filled(&row["id"]));
        let judged = |age: RevisionAge, id: Option<String>, why: String| RunRevision {
            age,
            revision_id: id,
            newest_revision_id: newest_id.clone(),
            server_revision_id: filled(&info["host"]["host_revision_id"]),
            why,
        };
        let by_metadata = named(&run["kwargs"]["config"], &run["metadata"]);
        let Some(newest) = newest else {
            let id = by_metadata.map(|(_, name)| name);
            return judged(
                RevisionAge::Unknown,
                id,
                "the deployment's revisions are not known".into(),
            );
        };
        if let Some((field, name)) = by_metadata {
            let matching: Vec<&Value> = revisions
                .iter()
                .filter(|row| is_named(row, &name))
                .collect();
            let id = |row: &Value| filled(&row["id"]);
            let known = format!("by its metadata ({field})");
            return match matching.as_slice() {
                [] => judged(
                    RevisionAge::Unknown,
                    Some(name.clone()),
                    format!(
                        "its metadata names {} ({field}), which is not among the deployment's revisions",
                        short_id(&name)
                    ),
                ),
                [one] if one["id"] == newest["id"] => judged(RevisionAge::New, id(one), known),
                [first, ..] if matching.iter().all(|row| row["id"] != newest["id"]) => {
                    judged(RevisionAge::Old, id(first), known)
                }
                several => judged(
                    RevisionAge::Unknown,
                    None,
                    format!(
                        "its metadata names a commit ({field}) that {} revisions have",
                        several.len()
                    ),
                ),
            };
        }

        let is_active = matches!(
            run["status"].as_str(),
            Some("pending" | "queued" | "running" | "streaming")
        );
        if let (Some(ended), Some(created)) =
            (time_in(run, "updated_at"), time_in(newest, "created_at"))
            && ended < created
            && !is_active
        {
            return judged(
                RevisionAge::Old,
                None,
                "it ended before the newest revision was created".into(),
            );
        }
        judged(
            RevisionAge::Unknown,
            None,
            "its metadata names no revision".into(),
        )
    }
}

/// The ids of a deployment's revisions that its record names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownRevisions {
    pub newest: Option<String>,
    /// The one that serves traffic.
    pub serving: Option<String>,
    /// Those of its list of revisions, if that was loaded: each with what it was made from, such as `main@77ab10c`.
    pub listed: Vec<(String, Option<String>)>,
}

impl KnownRevisions {
    /// Judges a run by these revisions: by the `config` that it was started with, and its metadata. Returns a few words, such as
    /// `newest revision 4444444`, and nothing if neither names a revision.
    pub fn words(&self, config: &Value, metadata: &Value) -> Option<String> {
        named(config, metadata).map(|(_, name)| self.words_for(&name))
    }

    /// Judges the revision that a run's metadata names.
    pub fn words_for(&self, name: &str) -> String {
        let listed = |name: &str| self.listed.iter().find(|(id, _)| id == name);
        let shown = |name: &str| {
            listed(name)
                .and_then(|(_, made_from)| made_from.clone())
                .unwrap_or_else(|| short_id(name))
        };
        let id = shown(name);
        match &self.newest {
            Some(newest) if newest == name => format!("{} {id}", RevisionAge::New.words()),
            Some(_) if self.serving.as_deref() == Some(name) => format!("serving revision {id}"),
            Some(_) if listed(name).is_some() => format!("{} {id}", RevisionAge::Old.words()),
            // It may name a commit, which can be that of the newest one.
            Some(newest) => format!("revision {id}, the newest is {}", shown(newest)),
            None => format!("revision {id}"),
        }
    }
}

/// Returns the revision that a run's metadata names, and the field that does.
pub(super) fn named(config: &Value, metadata: &Value) -> Option<(&'static str, String)> {
    let places = [&config["metadata"], &config["configurable"], metadata];
    FIELDS.into_iter().find_map(|field| {
        let name = places
            .iter()
            .find_map(|place| place[field].as_str().filter(|name| !name.is_empty()))?;
        Some((field, name.to_string()))
    })
}

fn is_named(row: &Value, name: &str) -> bool {
    let commit = row["source_revision_config"]["repo_commit_sha"]
        .as_str()
        .unwrap_or_default();
    let is_commit = name.len() >= MIN_SHA
        && (commit.starts_with(name) || (commit.len() >= MIN_SHA && name.starts_with(commit)));
    row["id"] == name || is_commit
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NEWEST: &str = "44444444-4444-4444-8444-444444444444";
    const OLDER: &str = "33333333-3333-4333-8333-333333333333";

    fn revisions() -> Vec<Value> {
        let row = |id: &str, sha: &str, at: &str| json!({"id": id, "created_at": at, "source_revision_config": {"repo_commit_sha": sha}});
        vec![
            row(NEWEST, "abcdef0123", "2026-11-22T10:00:00Z"),
            row(OLDER, "1234567890", "2026-11-20T10:00:00Z"),
            row(
                "22222222-2222-4222-8222-222222222222",
                "1234567890",
                "2026-11-19T10:00:00Z",
            ),
        ]
    }

    fn age(run: Value) -> (RevisionAge, Option<String>, String) {
        let judged = RunRevision::of(&run, &Value::Null, Some(&revisions()));
        (judged.age, judged.revision_id, judged.why)
    }

    #[test]
    fn metadata_names_the_revision_by_id_or_commit() {
        let by = |field: &str, name: &str| {
            age(json!({"kwargs": {"config": {"metadata": {field: name}}}}))
        };
        assert_eq!(by("langgraph_host_revision_id", NEWEST).0, RevisionAge::New);
        assert_eq!(by("langgraph_host_revision_id", OLDER).0, RevisionAge::Old);
        assert_eq!(
            by("LANGSMITH_LANGGRAPH_GIT_REF_SHA", "abcdef0")
                .1
                .as_deref(),
            Some(NEWEST)
        );
        assert_eq!(
            by("LANGSMITH_LANGGRAPH_GIT_REF_SHA", "1234567890").0,
            RevisionAge::Old,
            "both are older"
        );
        assert_eq!(
            by("revision_id", "abc").0,
            RevisionAge::Unknown,
            "too short for a commit"
        );
        let (age, _, why) = by("revision_id", "99999999-9999-4999-8999-999999999999");
        assert_eq!(age, RevisionAge::Unknown);
        assert!(
            why.contains("not among the deployment's revisions"),
            "{why}"
        );
    }

    #[test]
    fn the_words_for_a_screen_name_the_revision() {
        let oldest = "11111111-1111-4111-8111-111111111111";
        let listed = vec![(oldest.to_string(), Some("main@77ab10c".to_string()))];
        let known = KnownRevisions {
            newest: Some(NEWEST.into()),
            serving: Some(OLDER.into()),
            listed,
        };
        let words = |name: &str| {
            known.words(
                &json!({"metadata": {"host_revision_id": name}}),
                &Value::Null,
            )
        };
        assert_eq!(
            words(NEWEST).as_deref(),
            Some("newest revision 44444444…4444")
        );
        assert_eq!(
            words(OLDER).as_deref(),
            Some("serving revision 33333333…3333"),
            "the newest one may have failed"
        );
        assert_eq!(
            words(oldest).as_deref(),
            Some("older revision main@77ab10c")
        );
        assert_eq!(
            words("22222222-2222-4222-8222-222222222222").as_deref(),
            Some("revision 22222222…2222, the newest is 44444444…4444")
        );
        assert_eq!(
            known.words(&json!({"metadata": {}}), &json!({"owner": "ana"})),
            None
        );
    }

    #[test]
    fn a_run_that_ended_before_the_newest_revision_is_old() {
        let run = |status: &str, at: &str| age(json!({"status": status, "updated_at": at})).0;
        assert_eq!(
            run("success", "2026-11-22T09:59:59+00:00"),
            RevisionAge::Old
        );
        assert_eq!(
            run("running", "2026-11-22T09:59:59+00:00"),
            RevisionAge::Unknown,
            "it may still change hands"
        );
        assert_eq!(
            run("success", "2026-11-22T10:00:01+00:00"),
            RevisionAge::Unknown
        );
    }

    #[test]
    fn without_revisions_it_is_unknown_and_says_why() {
        let info = json!({"host": {"host_revision_id": NEWEST}});
        let judged = RunRevision::of(&json!({}), &info, None);
        assert_eq!(judged.age, RevisionAge::Unknown);
        assert_eq!(judged.server_revision_id.as_deref(), Some(NEWEST));
        assert_eq!(judged.why, "the deployment's revisions are not known");
    }
}
