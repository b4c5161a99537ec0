//! A planned change: the request, the changes, their consequences, and the confirmation.

use super::{Branch, Change, PlainRequest};
use serde::Serialize;
use serde_json::Value;

/// The preview of a change. Contains no secrets, so it may be shown, printed and kept.
///
/// The command line prints it for `--dry-run`; the dashboard shows it before anything is sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preview {
    /// The title: `Update support-bot`.
    pub title: String,
    pub profile: String,
    /// The target, frozen when the preview was made; nothing for a new record.
    pub target: Option<Target>,
    /// The exact request, with secrets and keys masked.
    pub request: PlainRequest,
    /// The requests that are sent after it, in order. [`FROM_FIRST`] is replaced with what the first one answers.
    pub then: Vec<PlainRequest>,
    /// The changes, with secrets by name only.
    pub changes: Vec<Change>,
    /// Whether it creates a new revision.
    pub revision: NewRevision,
    /// What it runs and what it reuses, if it starts a run from a checkpoint.
    pub branch: Option<Branch>,
    /// Notes, the most important first.
    pub notes: Vec<Note>,
    /// The required confirmation.
    pub consent: Consent,
}

/// What a second request takes from the answer to the first.
pub const FROM_FIRST: &str = "(from 1)";

impl Preview {
    /// Returns its requests, in order.
    pub fn requests(&self) -> impl Iterator<Item = &PlainRequest> {
        std::iter::once(&self.request).chain(&self.then)
    }

    /// Returns its requests as commands. One that needs the answer to the first can't be copied as it is.
    pub fn curl(&self) -> String {
        let mut commands = self.request.curl();
        for then in self.then.iter().map(PlainRequest::curl) {
            commands += &match then.contains(FROM_FIRST) {
                false => format!("\n# Then:\n{then}"),
                true => {
                    let then = then.replace('\n', "\n# ");
                    format!(
                        "\n# Then, with the checkpoint_id of its answer instead of {FROM_FIRST}:\n# {then}"
                    )
                }
            };
        }
        commands
    }
}

/// The kind of target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// `deployment`, `revision`, `listener`, `provider`, `token`, `connection`.
    pub kind: &'static str,
    /// Its identifier.
    pub id: String,
    pub name: String,
}

impl Target {
    pub fn new(kind: &'static str, id: &str, name: String) -> Target {
        let id = id.to_string();
        Target { kind, id, name }
    }
}

/// Whether a change creates a new revision (contract §4 rule 1, control-plane reference §6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "makes_revision", content = "why", rename_all = "snake_case")]
pub enum NewRevision {
    /// It does, for this reason.
    Yes(String),
    /// It may, because sources disagree.
    May(String),
    /// It does not, for this reason.
    No(String),
    /// It has nothing to do with revisions.
    #[default]
    NotAsked,
}

impl NewRevision {
    /// What an update of a deployment does, by its body: a revision comes of a source, of secrets, of resources and of secret
    /// references (contract §4 rule 1, control-plane reference §6).
    pub fn of_update(body: &Value) -> NewRevision {
        let is_set = |value: &Value| !value.is_null();
        let config = &body["source_config"];
        let mut reasons = Vec::new();
        let source: Vec<&str> = body["source_revision_config"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(_, value)| is_set(value))
            .map(|(name, _)| name.as_str())
            .collect();
        if !source.is_empty() {
            reasons.push(format!(
                "source_revision_config is sent ({})",
                source.join(", ")
            ));
        }
        for (name, value) in [
            ("secrets", &body["secrets"]),
            ("resource_spec", &config["resource_spec"]),
            ("secret_references", &body["secret_references"]),
        ] {
            if is_set(value) {
                let verb = if name.ends_with('s') { "are" } else { "is" };
                reasons.push(format!("{name} {verb} sent"));
            }
        }
        if !reasons.is_empty() {
            return NewRevision::Yes(reasons.join(", "));
        }
        if is_set(&config["repo_url"]) {
            let why = "repo_url is sent; the service's schema says that it can't be changed, its newest pages say that it can, \
                       without a new revision";
            return NewRevision::May(why.into());
        }
        if let Some(name) = ["revision_source", "tracked_packages"]
            .into_iter()
            .find(|name| is_set(&body[*name]))
        {
            return NewRevision::May(format!("the effect of {name} alone is undocumented"));
        }
        let fields = body
            .as_object()
            .into_iter()
            .flatten()
            .flat_map(|(name, value)| match value {
                Value::Object(inner) => inner.keys().map(String::as_str).collect::<Vec<_>>(),
                _ => vec![name.as_str()],
            });
        let fields: Vec<&str> = fields.collect();
        NewRevision::No(match fields.as_slice() {
            [] => "nothing is sent".into(),
            [one] => format!("only {one} is sent, which is not part of a revision"),
            several => format!(
                "only {} are sent, which are not part of a revision",
                several.join(", ")
            ),
        })
    }

    /// Returns the sentence; empty if revisions do not matter.
    pub fn sentence(&self) -> String {
        match self {
            NewRevision::Yes(why) => format!("Creates a new revision: {why}."),
            NewRevision::May(why) => format!("May create a new revision: {why}."),
            NewRevision::No(why) => format!("Creates no new revision: {why}."),
            NewRevision::NotAsked => String::new(),
        }
    }
}

/// A note about a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Whether it is a warning: something is lost, replaced or uncertain.
    pub warns: bool,
    /// The text, in a sentence or two.
    pub text: String,
}

impl Note {
    /// Creates a note.
    pub fn fact(text: impl Into<String>) -> Note {
        Note {
            warns: false,
            text: text.into(),
        }
    }

    /// Creates a warning.
    pub fn warning(text: impl Into<String>) -> Note {
        Note {
            warns: true,
            text: text.into(),
        }
    }
}

/// The confirmation of a change. Enter alone is never enough.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Press the key that sends.
    #[default]
    Key,
    /// Type this name exactly, then press the key that sends.
    Name(String),
    /// Type the first eight characters of this id, or all of it, then press the key that sends.
    Id(String),
}

impl Consent {
    /// Whether the typed text is sufficient: the exact name, including spaces and case.
    pub fn is_given(&self, typed: &str) -> bool {
        match self {
            Consent::Key => true,
            Consent::Name(name) => typed == name,
            Consent::Id(id) => typed == id || self.wanted() == Some(typed),
        }
    }

    /// Returns the minimum text to type.
    pub fn wanted(&self) -> Option<&str> {
        match self {
            Consent::Key => None,
            Consent::Name(name) => Some(name),
            Consent::Id(id) => Some(id.get(..8).unwrap_or(id)),
        }
    }
}
