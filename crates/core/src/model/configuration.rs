//! The configurations of two revisions, or of two versions of an assistant, key by key.

use super::compare::{NATURAL, same, side_by_side};
use super::{Phase, Revision, SourceRevisionConfig, filled, time_in};
use crate::secret::{MASK, Secrets, is_masked, mask_record};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The configuration of a revision in its record.
const OF_REVISION: &str = "source_revision_config";
/// The settings of a deployment in its record.
const OF_DEPLOYMENT: &str = "source_config";
/// The same of a deployment's record. Its addresses are facts, too; its secrets are compared by name.
const DEPLOYMENT_FACTS: [&str; 14] = [
    "id",
    "tenant_id",
    "name",
    "display_name",
    "created_at",
    "updated_at",
    "status",
    "url",
    "latest_revision_id",
    "active_revision_id",
    "tracer_session_id",
    "secrets",
    "env_vars",
    OF_REVISION,
];
/// Minimum length of a commit.
const MIN_SHA: usize = 7;

/// The configuration of one revision, and of its deployment, or of a version of an assistant. It has no value of a secret.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Configuration {
    /// Whether it is a version of an assistant.
    pub is_version: bool,
    /// The deployment's name, or the title of a version.
    pub name: String,
    /// The deployment's id, or the assistant's.
    pub deployment_id: String,
    /// None if the deployment has no revision yet.
    pub revision_id: Option<String>,
    /// Whether it is the newest revision: only its secrets are known, because they belong to the deployment.
    pub is_newest: bool,
    pub status: String,
    pub message: Option<String>,
    pub created_at: Option<Timestamp>,
    /// How long its build and rollout took, or has taken so far.
    pub took: Option<Duration>,
    /// The address of the deployment's agent server.
    pub address: Option<String>,
    /// What it was made from, in short: `main@9fceb02`.
    pub made_from: Option<String>,
    pub commit: Option<String>,
    pub repository: Option<String>,
    /// The names of the deployment's secrets, if the server reports them.
    secrets: Option<BTreeSet<String>>,
    /// The fields of the revision.
    revision: Value,
    /// The fields of the deployment.
    deployment: Value,
}

impl Configuration {
    /// Reads the records of a deployment and of one of its revisions, which may be null if there is none. `now` is the server's
    /// time.
    pub fn of(deployment: &Value, revision: &Value, now: Timestamp) -> Configuration {
        let secrets = Secrets::of_records(&[deployment, revision]);
        let [deployment, revision] = [deployment, revision].map(|record| {
            let mut record = record.clone();
            secrets.mask(&mut record);
            record
        });
        let id = filled(&revision["id"]);
        let made_of = match &revision {
            Value::Null => json!({OF_REVISION: deployment[OF_REVISION]}),
            revision => revision.clone(),
        };
        let from = SourceRevisionConfig::from_row(&made_of);
        let read = Revision::deserialize(&revision).ok();
        let mut settings = without(&deployment, &DEPLOYMENT_FACTS);
        if let Some(config) = settings
            .get_mut(OF_DEPLOYMENT)
            .and_then(Value::as_object_mut)
        {
            config.shift_remove("custom_url");
        }
        Configuration {
            is_version: false,
            name: filled(&deployment["name"]).unwrap_or_default(),
            deployment_id: filled(&deployment["id"]).unwrap_or_default(),
            is_newest: id.is_some() && filled(&deployment["latest_revision_id"]) == id
                || revision.is_null(),
            revision_id: id,
            status: filled(&revision["status"]).unwrap_or_default(),
            message: filled(&revision["status_message"]),
            created_at: time_in(&revision, "created_at"),
            took: read.and_then(|revision| revision.took(now)),
            address: filled(&deployment["url"])
                .or_else(|| filled(&deployment[OF_DEPLOYMENT]["custom_url"])),
            made_from: from.made_from(),
            commit: from.repo_commit_sha.filter(|sha| !sha.is_empty()),
            repository: filled(&deployment[OF_DEPLOYMENT]["repo_url"]),
            secrets: names(&deployment["secrets"]),
            revision: without(&made_of, &NATURAL),
            deployment: settings,
        }
    }

    /// Reads a version of an assistant, which is called `name`: the fields that the version has of its own.
    pub fn of_version(name: &str, row: &Value, mut fields: Value) -> Configuration {
        let number = format!("version {}", row["version"]);
        mask_record(&mut fields);
        Configuration {
            is_version: true,
            name: format!("{name}, {number}"),
            deployment_id: filled(&row["assistant_id"]).unwrap_or_default(),
            created_at: time_in(row, "created_at"),
            made_from: Some(number),
            revision: fields,
            ..Configuration::default()
        }
    }

    /// Returns the fields that are compared, without those of the deployment.
    pub fn fields(&self) -> &Value {
        &self.revision
    }

    /// Returns whether its revision is still being built or rolled out.
    pub fn is_moving(&self) -> bool {
        self.revision_id.is_some() && !Phase::of(&self.status).is_final()
    }

    fn secret(&self, name: &str) -> KeyValue {
        match &self.secrets {
            Some(names) if self.is_newest && names.contains(name) => KeyValue::Secret,
            Some(_) if self.is_newest => KeyValue::Absent,
            _ => KeyValue::Unknown,
        }
    }
}

/// Returns the fields of a record without these.
fn without(record: &Value, left_out: &[&str]) -> Value {
    let fields = record
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !left_out.contains(&name.as_str()));
    fields
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the names of a list or a map of secrets.
fn names(secrets: &Value) -> Option<BTreeSet<String>> {
    match secrets {
        Value::Array(list) => Some(
            list.iter()
                .filter_map(|one| one["name"].as_str().map(str::to_string))
                .collect(),
        ),
        Value::Object(fields) => Some(fields.keys().cloned().collect()),
        _ => None,
    }
}

/// The value of a key on one side.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyValue {
    Absent,
    Known(Value),
    /// A secret, whose value is not kept.
    Secret,
    /// The service doesn't record whether it was there.
    Unknown,
}

/// How the two values of a key relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRelation {
    Same,
    Differs,
    OnlyA,
    OnlyB,
    /// A value is a secret, or not recorded.
    Unknown,
}

/// A key of the configuration, and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyRow {
    /// The path in the record: `source_revision_config.repo_ref`, `secrets[OPENAI_API_KEY]`.
    pub path: String,
    pub values: [KeyValue; 2],
    pub relation: KeyRelation,
}

impl KeyRow {
    fn new(path: String, values: [KeyValue; 2]) -> KeyRow {
        let relation = match &values {
            [KeyValue::Unknown, _] | [_, KeyValue::Unknown] => KeyRelation::Unknown,
            [KeyValue::Absent, KeyValue::Absent] => KeyRelation::Same,
            [_, KeyValue::Absent] => KeyRelation::OnlyA,
            [KeyValue::Absent, _] => KeyRelation::OnlyB,
            [KeyValue::Known(a), KeyValue::Known(b)] if !same(a, b) => KeyRelation::Differs,
            [KeyValue::Known(a), KeyValue::Known(_)] if !is_masked(a) => KeyRelation::Same,
            _ => KeyRelation::Unknown,
        };
        KeyRow {
            path,
            values,
            relation,
        }
    }

    /// Returns its short name: `commit`, `branch`, `resource_spec.cpu`.
    pub fn name(&self) -> &str {
        let path = self.path.as_str();
        let short = [OF_REVISION, OF_DEPLOYMENT]
            .iter()
            .find_map(|of| path.strip_prefix(of)?.strip_prefix('.'));
        match short.unwrap_or(path) {
            "repo_commit_sha" => "commit",
            "repo_ref" => "branch",
            "image_uri" => "image",
            "langgraph_config_path" | "graph_config_path" => "graph config",
            "repo_url" => "repository",
            other => other,
        }
    }

    /// Returns whether it names a secret.
    pub fn is_secret(&self) -> bool {
        self.values.contains(&KeyValue::Secret) || self.path.starts_with("secrets[")
    }
}

/// Two configurations, aligned by key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyTable {
    pub sides: [Configuration; 2],
    pub rows: Vec<KeyRow>,
    /// What was not compared.
    pub notes: Vec<String>,
}

impl KeyTable {
    /// Compares two configurations. Of two revisions of one deployment, only what is recorded with a revision is compared.
    pub fn of(a: Configuration, b: Configuration) -> KeyTable {
        let is_same_deployment = a.deployment_id == b.deployment_id;
        let value = |value: Option<Value>| match value {
            None => KeyValue::Absent,
            Some(value) if value == MASK => KeyValue::Secret,
            Some(value) => KeyValue::Known(value),
        };
        let mut pairs = side_by_side(&a.revision, &b.revision);
        let is_commit = |path: &str| path.ends_with(".repo_commit_sha");
        // The commit and the branch are looked for first, wherever the server has them.
        let order = |path: &str| {
            (
                !is_commit(path),
                !path.ends_with(".repo_ref"),
                !path.starts_with(OF_REVISION),
            )
        };
        pairs.sort_by_key(|pair| order(&pair.path));
        if !is_same_deployment {
            let known: Vec<String> = pairs.iter().map(|pair| pair.path.clone()).collect();
            let settings = side_by_side(&a.deployment, &b.deployment).into_iter();
            // Both records have the kind of source.
            pairs.extend(settings.filter(|pair| !known.contains(&pair.path)));
        }
        let mut rows: Vec<KeyRow> = pairs
            .into_iter()
            .map(|pair| KeyRow::new(pair.path, [value(pair.before), value(pair.after)]))
            .collect();
        let mut notes = Vec::new();
        let is_recorded = a.is_newest || b.is_newest;
        let is_version = a.is_version;
        if is_same_deployment && !is_version {
            notes.push(
                "resources are the deployment's, and not recorded with a revision".to_string(),
            );
        }
        if is_recorded && (!is_same_deployment || a.is_newest != b.is_newest) {
            let all: BTreeSet<&String> = [&a, &b]
                .into_iter()
                .filter_map(|side| side.secrets.as_ref())
                .flatten()
                .collect();
            let row = |name: &String| {
                KeyRow::new(format!("secrets[{name}]"), [a.secret(name), b.secret(name)])
            };
            rows.extend(all.into_iter().map(row));
        }
        let older = [("A", &a), ("B", &b)]
            .into_iter()
            .filter(|(_, side)| !is_version && !side.is_newest);
        notes.extend(older.map(|(name, _)| {
            format!("{name} is not the newest revision: its secrets are not recorded")
        }));
        KeyTable {
            sides: [a, b],
            rows,
            notes,
        }
    }

    /// Returns the number of keys that relate in one of these ways.
    pub fn count(&self, of: &[KeyRelation]) -> usize {
        self.rows
            .iter()
            .filter(|row| of.contains(&row.relation))
            .count()
    }

    /// Returns the address on GitHub of the commits between both sides.
    ///
    /// # Errors
    /// Why there is none.
    pub fn commits(&self) -> Result<String, String> {
        let [a, b] = &self.sides;
        let (from, to) = (commit_id("A", a)?, commit_id("B", b)?);
        let repository = |name: &str, side: &Configuration| {
            let url = side
                .repository
                .as_deref()
                .ok_or_else(|| format!("The repository of {name} is not known."))?;
            github(url).ok_or_else(|| "The repository is not on GitHub.".to_string())
        };
        let (of_a, of_b) = (repository("A", a)?, repository("B", b)?);
        if !of_a.eq_ignore_ascii_case(&of_b) {
            return Err("They are built from different repositories.".into());
        }
        if from == to {
            return Err("Both are built from the same commit.".into());
        }
        Ok(format!("https://github.com/{of_b}/compare/{from}...{to}"))
    }
}

/// Returns the id of a side's commit, or why it isn't known.
fn commit_id<'c>(name: &str, side: &'c Configuration) -> Result<&'c str, String> {
    let is_id = |sha: &&str| {
        (MIN_SHA..=64).contains(&sha.len()) && sha.chars().all(|c| c.is_ascii_hexdigit())
    };
    side.commit
        .as_deref()
        .filter(is_id)
        .ok_or_else(|| format!("The commit of {name} is not known."))
}

/// Returns `OWNER/REPO` of a repository on GitHub.
fn github(url: &str) -> Option<String> {
    let url = url.trim();
    let rest = match url.split_once("://") {
        Some(("https" | "http" | "ssh" | "git", rest)) => {
            // Who signs in is masked.
            let (host, path) = rest.split_once('/')?;
            let host = host.rsplit('@').next()?;
            matches!(host, "github.com" | "www.github.com").then_some(path)?
        }
        Some(_) => return None,
        None => url
            .strip_prefix("git@github.com:")
            .or_else(|| url.strip_prefix("github.com/"))?,
    };
    let mut parts = rest.trim_end_matches('/').split('/');
    let (owner, name) = (parts.next()?, parts.next()?);
    let name = name.strip_suffix(".git").unwrap_or(name);
    let is_name = |name: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !name.is_empty() && name.chars().all(is_plain) && !name.chars().all(|c| c == '.')
    };
    (parts.next().is_none() && is_name(owner) && is_name(name)).then(|| format!("{owner}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn deployment(id: &str) -> Value {
        json!({"id": id, "name": "support-bot", "tenant_id": "t", "source": "github", "status": "READY",
            "latest_revision_id": "r2", "active_revision_id": "r1", "url": "https://canary:url@bot.example",
            "source_config": {"repo_url": "https://github.com/acme/support-bot.git", "deployment_type": "prod",
                "custom_url": "https://bot.example", "resource_spec": {"cpu": 1, "sidecars": [{"name": "s",
                "env": [{"name": "X", "value": "canary-in-a-sidecar"}]}]}},
            "secrets": [{"name": "OPENAI_API_KEY", "value": "canary-secret-one"}, {"name": "LOG_LEVEL", "value": "INFO"}]})
    }

    fn revision(id: &str, sha: &str) -> Value {
        json!({"id": id, "status": "DEPLOYED", "source": "github", "created_at": "2026-11-20T10:00:00Z",
            "updated_at": "2026-11-20T10:04:10Z", "novel": {"flag": true, "gone": null},
            "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json", "image_uri": null,
                "repo_commit_sha": sha}})
    }

    fn table(a: (&Value, &Value), b: (&Value, &Value)) -> KeyTable {
        KeyTable::of(
            Configuration::of(a.0, a.1, NOW),
            Configuration::of(b.0, b.1, NOW),
        )
    }

    fn shown(table: &KeyTable) -> Vec<String> {
        table
            .rows
            .iter()
            .map(|row| format!("{} {:?}", row.name(), row.relation))
            .collect()
    }

    const SHA: [&str; 2] = [
        "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "51d0aa7d0ae598e95dc970b74767f19372d61af8",
    ];

    #[test]
    fn revisions_of_a_deployment_are_compared_by_what_is_recorded_with_them() {
        let d = deployment("d1");
        let mut newer = revision("r2", SHA[1]);
        newer["source_revision_config"]["image_uri"] = "registry/bot:2".into();
        newer["source_revision_config"]
            .as_object_mut()
            .unwrap()
            .shift_remove("langgraph_config_path");
        let table = table((&d, &revision("r1", SHA[0])), (&d, &newer));
        let expected = [
            "commit Differs",
            "branch Same",
            "graph config OnlyA",
            "image OnlyB",
            "source Same",
            "novel.flag Same",
            "secrets[LOG_LEVEL] Unknown",
            "secrets[OPENAI_API_KEY] Unknown",
        ];
        assert_eq!(shown(&table), expected);
        assert_eq!(
            table.rows[7].values,
            [KeyValue::Unknown, KeyValue::Secret],
            "an older one isn't recorded"
        );
        assert_eq!(table.sides[0].took, Some(Duration::from_secs(250)));
        assert_eq!(table.count(&[KeyRelation::Same]), 3);
        // Of two older ones nothing is known of the secrets.
        let old = revision("r0", SHA[0]);
        let table = self::table((&d, &old), (&d, &revision("r1", SHA[0])));
        assert!(!table.rows.iter().any(KeyRow::is_secret), "{table:?}");
        assert_eq!(table.notes.len(), 3, "{:?}", table.notes);
    }

    #[test]
    fn deployments_are_compared_with_their_settings_and_the_names_of_their_secrets() {
        let (a, mut b) = (deployment("d1"), deployment("d2"));
        b["source_config"]["deployment_type"] = "dev".into();
        b["secrets"] = json!([{"name": "OPENAI_API_KEY", "value": "canary-secret-two"}, {"name": "NEW", "value": "canary-3"}]);
        let newest = revision("r2", SHA[0]);
        let table = table((&a, &newest), (&b, &newest));
        let expected = [
            "commit Same",
            "branch Same",
            "graph config Same",
            "source Same",
            "novel.flag Same",
            "repository Same",
            "deployment_type Differs",
            "resource_spec.cpu Same",
            "resource_spec.sidecars[s].name Same",
            "resource_spec.sidecars[s].env[X] Unknown",
            "secrets[LOG_LEVEL] OnlyA",
            "secrets[NEW] OnlyB",
            "secrets[OPENAI_API_KEY] Unknown",
        ];
        assert_eq!(
            shown(&table),
            expected,
            "equal values of secrets are not known"
        );
        assert!(table.notes.is_empty(), "{:?}", table.notes);
        // Without a revision, the deployment's record says what it is made from.
        let mut empty = deployment("d3");
        empty["source_revision_config"] = json!({"repo_ref": "main"});
        let table = self::table((&empty, &Value::Null), (&b, &newest));
        assert_eq!(table.sides[0].made_from.as_deref(), Some("main"));
        assert_eq!(
            (table.rows[0].name(), table.rows[0].relation),
            ("commit", KeyRelation::OnlyB)
        );
    }

    #[test]
    fn versions_of_an_assistant_are_compared_by_their_fields() {
        let version = |number: u64, tone: &str| {
            let fields = json!({"name": "deep", "context": {"tone": tone, "api_key": "canary"}, "metadata": {}});
            Configuration::of_version(
                "deep",
                &json!({"version": number, "assistant_id": "a-1"}),
                fields,
            )
        };
        let table = KeyTable::of(version(1, "formal"), version(2, "neutral"));
        assert_eq!(table.sides[1].name, "deep, version 2");
        let expected = [
            "name Same",
            "context.tone Differs",
            "context.api_key Unknown",
            "metadata Same",
        ];
        assert_eq!(shown(&table), expected);
        assert!(
            table.notes.is_empty() && !format!("{table:?}").contains("canary"),
            "{table:?}"
        );
    }

    #[test]
    fn no_value_of_a_secret_is_kept() {
        let mut repeats = revision("r2", SHA[0]);
        repeats["source_revision_config"]["build_args"] = json!({"token": "canary-token"});
        let d = deployment("d1");
        let table = table((&d, &repeats), (&deployment("d2"), &repeats));
        let debug = format!("{table:?}");
        assert!(
            !debug.contains("canary") && !debug.contains("INFO"),
            "{debug}"
        );
        let token = table
            .rows
            .iter()
            .find(|row| row.path.ends_with("build_args.token"))
            .unwrap();
        assert_eq!(
            (token.is_secret(), token.relation),
            (true, KeyRelation::Unknown)
        );
        // A text in which a secret was replaced may hide a difference.
        let hidden = |text: &str| {
            KeyRow::new(
                "x".into(),
                [KeyValue::Known(text.into()), KeyValue::Known(text.into())],
            )
        };
        assert_eq!(hidden("https://***@host").relation, KeyRelation::Unknown);
        assert_eq!(hidden("https://host").relation, KeyRelation::Same);
    }

    #[test]
    fn the_commits_between_two_revisions_have_an_address_on_github() {
        let d = deployment("d1");
        let commits = |d: &Value, a: &str, b: &str| {
            table((d, &revision("r1", a)), (d, &revision("r2", b))).commits()
        };
        let whole = format!(
            "https://github.com/acme/support-bot/compare/{}...{}",
            SHA[0], SHA[1]
        );
        assert_eq!(commits(&d, SHA[0], SHA[1]).as_ref(), Ok(&whole));
        assert!(
            commits(&d, SHA[0], SHA[0])
                .unwrap_err()
                .contains("same commit")
        );
        assert!(
            commits(&d, "", SHA[0])
                .unwrap_err()
                .contains("commit of A is not known")
        );
        assert!(
            commits(&d, SHA[0], "main/../..")
                .unwrap_err()
                .contains("commit of B")
        );
        let at = |url: Value| {
            let mut d = deployment("d1");
            d["source_config"]["repo_url"] = url;
            commits(&d, SHA[0], SHA[1])
        };
        for url in [
            "git@github.com:acme/support-bot.git",
            "github.com/acme/support-bot/",
            "ssh://git@github.com/acme/support-bot",
        ] {
            assert_eq!(at(url.into()).as_ref(), Ok(&whole), "{url}");
        }
        for url in [
            "https://gitlab.com/acme/support-bot",
            "https://github.com.evil.example/acme/bot",
            "https://evil.example/?github.com/acme/bot",
            "https://github.com/acme",
            "https://github.com/acme/bot/tree/main",
            "https://github.com/../bot",
            "https://github.com/a b/bot?x",
        ] {
            assert!(
                at(url.into()).unwrap_err().contains("not on GitHub"),
                "{url}"
            );
        }
        assert!(
            at(Value::Null)
                .unwrap_err()
                .contains("repository of A is not known")
        );
        let mut other = deployment("d2");
        other["source_config"]["repo_url"] = "https://github.com/acme/fork".into();
        let forks = table(
            (&d, &revision("r1", SHA[0])),
            (&other, &revision("r2", SHA[1])),
        );
        assert!(
            forks
                .commits()
                .unwrap_err()
                .contains("different repositories")
        );
    }

    #[test]
    fn fields_of_unexpected_types_are_accepted() {
        for record in [
            json!(null),
            json!([]),
            json!({"id": 7, "secrets": "x", "source_config": "y", "status": {}}),
        ] {
            let table = table((&record, &record), (&record, &Value::Null));
            assert!(table.commits().is_err());
        }
    }
}
