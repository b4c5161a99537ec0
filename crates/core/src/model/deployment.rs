//! A deployment of the control plane (`control-plane` reference §6).

use super::{Extra, lenient, lenient_time};
use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// The field of a deployment with the id of its workspace.
const TENANT: &str = "tenant_id";

/// What a deployment's own status says about its use (`control-plane` reference §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeploymentState {
    /// Ready, being set up, or not reported.
    #[default]
    Usual,
    /// The control plane counts it as idle.
    Unused,
    /// It is being deleted.
    Deleting,
    /// A status that Runtail does not know.
    Unknown,
}

impl DeploymentState {
    /// Classifies a status word.
    pub fn of(status: Option<&str>) -> DeploymentState {
        match status {
            None | Some("READY" | "AWAITING_DATABASE") => DeploymentState::Usual,
            Some("UNUSED") => DeploymentState::Unused,
            Some("AWAITING_DELETE" | "AWAITING_FINAL_DELETE") => DeploymentState::Deleting,
            Some(_) => DeploymentState::Unknown,
        }
    }

    /// Returns whether the active revision may be said to serve. In other states the control plane still names an active
    /// revision, but does not say whether its agent server runs.
    pub fn is_usual(self) -> bool {
        self == DeploymentState::Usual
    }

    /// Returns a sentence about what the status means and what it doesn't say; `None` for a usual one. `answers`: whether the
    /// deployment's agent server was seen to answer.
    pub fn meaning(self, answers: bool) -> Option<&'static str> {
        match (self, answers) {
            (DeploymentState::Usual, _) => None,
            (DeploymentState::Unused, false) => Some(
                "Unused: the control plane counts the deployment as idle, and doesn't report whether its server runs.",
            ),
            (DeploymentState::Unused, true) => Some(
                "Unused: the control plane counts the deployment as idle, but its agent server responds.",
            ),
            (DeploymentState::Deleting, false) => Some(
                "Deleting: the control plane is removing the deployment, and doesn't report whether its server runs.",
            ),
            (DeploymentState::Deleting, true) => Some(
                "Deleting: the control plane is removing the deployment; its agent server still responds.",
            ),
            (DeploymentState::Unknown, false) => Some(
                "Runtail doesn't know this status of the deployment, so it's unknown whether its server runs.",
            ),
            (DeploymentState::Unknown, true) => Some(
                "Runtail doesn't know this status of the deployment; its agent server responds.",
            ),
        }
    }
}

/// The sentence about a deployment in an unusual state without an address.
pub const NO_URL: &str = "It has no URL, so there is no agent server to open.";

/// One deployment, as `GET /v2/deployments[/{id}]` answers it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Deployment {
    /// The identifier used in paths.
    pub id: String,
    /// The deployment's name; also that of its tracing project.
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    /// The deployment's own status word (`READY`, `AWAITING_DATABASE`, …); independent of the newest revision's.
    #[serde(default, deserialize_with = "lenient")]
    pub status: Option<String>,
    /// `github`, `external_docker`, `internal_docker`, `internal_source`, …
    #[serde(default, deserialize_with = "lenient")]
    pub source: Option<String>,
    /// Where the deployment comes from and what it runs on.
    #[serde(default, deserialize_with = "lenient")]
    pub source_config: SourceConfig,
    /// What the newest revision was made from.
    #[serde(default, deserialize_with = "lenient")]
    pub source_revision_config: SourceRevisionConfig,
    /// The server sends environment secrets in clear, so they are left out.
    #[serde(default)]
    pub secrets: IgnoredAny,
    /// The newest revision.
    #[serde(default, deserialize_with = "lenient")]
    pub latest_revision_id: Option<String>,
    /// The revision that serves traffic, if the server reports it.
    #[serde(default, deserialize_with = "lenient")]
    pub active_revision_id: Option<String>,
    /// Address of the agent server, set by the cloud.
    #[serde(default, deserialize_with = "lenient")]
    pub url: Option<String>,
    /// When the deployment was created.
    #[serde(default, deserialize_with = "lenient_time")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient_time")]
    pub updated_at: Option<Timestamp>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Deployment {
    /// Removes the fields that no list shows, to save memory.
    pub fn in_a_list(mut self) -> Deployment {
        self.source_config.deployment_type = self.deployment_type().map(str::to_string);
        // A link to the page of a deployment needs its workspace.
        let tenant = self
            .extra
            .shift_remove(TENANT)
            .map(|id| (TENANT.to_string(), id));
        Deployment {
            source_revision_config: SourceRevisionConfig::default(),

            extra: tenant.into_iter().collect(),
            ..self
        }
    }

    /// Returns its type, wherever its record has it.
    fn deployment_type(&self) -> Option<&str> {
        let extra = |name: &str| self.extra.get(name);
        let tier = extra("compute_tier").or_else(|| extra("resource_tiers")?.get("compute_tier"));
        let other = extra("deployment_type")
            .or_else(|| extra("metadata")?.get("deployment_type"))
            .or(tier);
        self.source_config
            .deployment_type
            .as_deref()
            .or_else(|| other?.as_str())
    }

    /// Returns whether its agent server stops while it gets no requests. Each one wakes it, and is billed.
    pub fn is_serverless(&self) -> bool {
        // The command line of the service calls it `dev_zero`, for scale to zero.
        let is_one = |kind: &str| {
            kind.to_ascii_lowercase().starts_with("serverless") || kind.ends_with("_zero")
        };
        self.deployment_type().is_some_and(is_one)
    }

    /// Returns the id of its workspace, if the server reports it.
    pub fn workspace(&self) -> Option<&str> {
        self.extra.get(TENANT)?.as_str().filter(|id| !id.is_empty())
    }

    /// Address of the deployment's agent server: `url`, else `source_config.custom_url`.
    pub fn agent_url(&self) -> Option<&str> {
        let filled = |s: &'_ &str| !s.is_empty();
        self.url.as_deref().filter(filled).or(self
            .source_config
            .custom_url
            .as_deref()
            .filter(filled))
    }
}

/// `source_config` of a deployment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct SourceConfig {
    /// `dev`, `prod`, `dev_free`, …
    #[serde(deserialize_with = "lenient")]
    pub deployment_type: Option<String>,
    /// Address of the agent server on older and self-hosted installations.
    #[serde(deserialize_with = "lenient")]
    pub custom_url: Option<String>,
}

/// `source_revision_config` of a deployment or a revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceRevisionConfig {
    /// Branch or reference of the repository.
    #[serde(default, deserialize_with = "lenient")]
    pub repo_ref: Option<String>,
    /// Path of the graph configuration in the repository. The contract calls the field `graph_config_path`, the wire
    /// `langgraph_config_path`: both are read, the latter is written.
    #[serde(
        default,
        deserialize_with = "lenient",
        rename = "langgraph_config_path",
        alias = "graph_config_path"
    )]
    pub graph_config_path: Option<String>,
    /// The image that the revision runs.
    #[serde(default, deserialize_with = "lenient")]
    pub image_uri: Option<String>,
    /// The commit that was built (only in answers).
    #[serde(default, deserialize_with = "lenient")]
    pub repo_commit_sha: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SourceRevisionConfig {
    /// Returns that of a revision or a deployment; empty if it has none.
    pub fn from_row(row: &serde_json::Value) -> SourceRevisionConfig {
        SourceRevisionConfig::deserialize(&row["source_revision_config"]).unwrap_or_default()
    }

    /// Returns its source in short: `main@9fceb02`, `main`, `9fceb02`, or the image without its registry. Not yet
    /// clean for a screen.
    pub fn made_from(&self) -> Option<String> {
        let filled = |field: &'_ Option<String>| field.clone().filter(|text| !text.is_empty());
        let short = |name: String| {
            name.trim_start_matches("refs/")
                .trim_start_matches("heads/")
                .trim_start_matches("tags/")
                .to_string()
        };
        let commit =
            filled(&self.repo_commit_sha).map(|sha| sha.get(..7).unwrap_or(&sha).to_string());
        match (filled(&self.repo_ref).map(short), commit) {
            // After a rollback the ref is the commit itself.
            (Some(name), Some(commit)) if Some(&name) == self.repo_commit_sha.as_ref() => {
                Some(commit)
            }
            (Some(name), Some(commit)) => Some(format!("{name}@{commit}")),
            (Some(one), None) | (None, Some(one)) => Some(one),
            (None, None) => filled(&self.image_uri).map(|image| {
                let image = image.rsplit('/').next().unwrap_or_default();
                match image.split_once("@sha256:") {
                    Some((name, digest)) => {
                        format!("{name}@{}", digest.get(..12).unwrap_or(digest))
                    }
                    None => image.to_string(),
                }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_unexpected_types_do_not_lose_the_deployment() {
        let text = r#"{"id":"d1","name":7,"status":{"word":"READY"},"source_config":"none","source_revision_config":[],
            "secrets":{"A":"canary"},"latest_revision_id":null,"url":"","updated_at":1763632801000,"novel":[1]}"#;
        let deployment: Deployment = serde_json::from_str(text).unwrap();
        assert_eq!(
            (deployment.id.as_str(), deployment.name.as_str()),
            ("d1", "")
        );
        assert_eq!(deployment.agent_url(), None);
        assert_eq!(deployment.extra["novel"][0], 1);
        assert!(!format!("{deployment:?}").contains("canary"));
        assert!(serde_json::from_str::<Deployment>(r#"{"name":"without an id"}"#).is_err());
    }

    #[test]
    fn serverless_deployments_are_recognized_wherever_their_record_says_it() {
        for (record, expected) in [
            (
                r#"{"source_config": {"deployment_type": "serverless"}}"#,
                true,
            ),
            (
                r#"{"source_config": {"deployment_type": "dev_zero"}}"#,
                true,
            ),
            (
                r#"{"source_config": {"deployment_type": "prod"}, "deployment_type": "serverless"}"#,
                false,
            ),
            (r#"{"deployment_type": "serverless"}"#, true),
            (
                r#"{"metadata": {"deployment_type": "dev_free_zero"}}"#,
                true,
            ),
            (
                r#"{"resource_tiers": {"compute_tier": "SERVERLESS_S"}}"#,
                true,
            ),
            (
                r#"{"compute_tier": "DEDICATED_S", "deployment_type": 7}"#,
                false,
            ),
            ("{}", false),
        ] {
            let mut record: serde_json::Value = serde_json::from_str(record).unwrap();
            record["id"] = "d1".into();
            let deployment: Deployment = serde_json::from_value(record).unwrap();
            assert_eq!(deployment.is_serverless(), expected, "{deployment:?}");
            assert_eq!(deployment.in_a_list().is_serverless(), expected);
        }
    }

    #[test]
    fn revision_source_is_formatted() {
        let from = |text: &str| {
            serde_json::from_str::<SourceRevisionConfig>(text)
                .unwrap()
                .made_from()
        };
        assert_eq!(
            from(r#"{"repo_ref":"refs/tags/v1","repo_commit_sha":"9fceb02d0ae"}"#).as_deref(),
            Some("v1@9fceb02")
        );
        assert_eq!(
            from(r#"{"repo_ref":"9fceb02d0ae","repo_commit_sha":"9fceb02d0ae"}"#).as_deref(),
            Some("9fceb02")
        );
        assert_eq!(
            from(r#"{"repo_ref":"main","image_uri":"r/x:1"}"#).as_deref(),
            Some("main")
        );
        assert_eq!(
            from(r#"{"image_uri":"r.io/a/x@sha256:0123456789abcdef"}"#).as_deref(),
            Some("x@0123456789ab")
        );
        assert_eq!(
            from(r#"{"image_uri":"x:1","repo_ref":""}"#).as_deref(),
            Some("x:1")
        );
        assert_eq!(from("{}"), None);
    }

    #[test]
    fn documented_deployment_example_is_parsed() {
        // control-plane reference §12, shortened.
        let text = r#"{"id":"1","tenant_id":"2","name":"support-bot","source":"github","status":"READY",
            "source_config":{"deployment_type":"prod","build_on_push":true,"custom_url":"https://b.us.langgraph.app","resource_spec":null},
            "source_revision_config":{"repo_ref":"main","langgraph_config_path":"langgraph.json","image_uri":null},
            "secrets":[{"name":"OPENAI_API_KEY","value":"canary"}],"created_at":"2026-10-01T09:00:00.000000Z"}"#;
        let deployment: Deployment = serde_json::from_str(text).unwrap();
        assert_eq!(deployment.agent_url(), Some("https://b.us.langgraph.app"));
        assert_eq!(
            deployment
                .source_revision_config
                .graph_config_path
                .as_deref(),
            Some("langgraph.json")
        );

        assert!(deployment.created_at.is_some() && deployment.extra.contains_key("tenant_id"));
        assert!(!format!("{deployment:?}").contains("canary"));
        // The contract's neutral name is read as well.
        let neutral: SourceRevisionConfig =
            serde_json::from_str(r#"{"graph_config_path":"g.json"}"#).unwrap();
        assert_eq!(neutral.graph_config_path.as_deref(), Some("g.json"));
    }
}
