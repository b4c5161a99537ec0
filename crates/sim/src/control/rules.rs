//! Rules for creating and changing a deployment, beyond the shape of the body. Each rule is known from a document, an official
//! client or a real response; everything else is accepted.

use super::ControlServer;
use super::timetable::Deployment;
use crate::http::{Refusal, bad};
use crate::values::{Object, items_of};
use serde_json::Value;

/// Names of environment variables that the service sets itself (the official client's list).
const RESERVED: [&str; 29] = [
    "LANGCHAIN_TRACING_V2",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_ENDPOINT",
    "LANGCHAIN_PROJECT",
    "LANGSMITH_PROJECT",
    "LANGSMITH_LANGGRAPH_GIT_REPO",
    "LANGGRAPH_GIT_REPO_PATH",
    "LANGCHAIN_API_KEY",
    "LANGSMITH_CONTROL_PLANE_API_KEY",
    "POSTGRES_URI",
    "POSTGRES_PASSWORD",
    "DATABASE_URI",
    "LANGSMITH_LANGGRAPH_GIT_REF",
    "LANGSMITH_LANGGRAPH_GIT_REF_SHA",
    "LANGGRAPH_AUTH_TYPE",
    "LANGSMITH_AUTH_ENDPOINT",
    "LANGSMITH_TENANT_ID",
    "LANGSMITH_AUTH_VERIFY_TENANT_ID",
    "LANGSMITH_HOST_PROJECT_ID",
    "LANGSMITH_HOST_PROJECT_NAME",
    "LANGSMITH_HOST_REVISION_ID",
    "LOG_JSON",
    "LOG_DICT_TRACEBACKS",
    "REDIS_URI",
    "LANGCHAIN_CALLBACKS_BACKGROUND",
    "DD_TRACE_PSYCOPG_ENABLED",
    "DD_TRACE_REDIS_ENABLED",
    "LANGSMITH_DEPLOYMENT_NAME",
    "LANGGRAPH_CLOUD_LICENSE_KEY",
];
/// Names that can be set only on self-hosted installations.
const RESERVED_IN_CLOUD: [&str; 11] = [
    "LANGSMITH_API_KEY",
    "LANGSMITH_ENDPOINT",
    "POSTGRES_URI_CUSTOM",
    "REDIS_URI_CUSTOM",
    "PATH",
    "PORT",
    "MOUNT_PREFIX",
    "LSD_ENV",
    "LSD_DD_API_KEY",
    "LSD_DD_ENDPOINT",
    "LSD_DEPLOYMENT_TYPE",
];

/// Fields of `source_config` that can't be changed.
const FIXED: [&str; 4] = [
    "integration_id",
    "repo_url",
    "deployment_type",
    "listener_id",
];

/// A deployment as a request would leave it.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// Where it comes from.
    pub source: &'a str,
    /// Where its newest revision comes from, which may be elsewhere.
    pub from: &'a str,
    /// `source_config`.
    pub config: &'a Object,
    /// `source_revision_config`.
    pub revision: &'a Object,
}

impl Draft<'_> {
    fn lacks(&self, object: &Object, group: &str, names: &[&str]) -> Result<(), Refusal> {
        match names.iter().find(|name| object[**name].is_null()) {
            Some(name) => Err(bad(&format!(
                "{group}.{name} is required for '{}' source deployments.",
                self.source
            ))),
            None => Ok(()),
        }
    }

    /// Rules for every deployment.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.config["build_on_push"] == true {
            if self.source != "github" {
                return Err(bad(
                    "build_on_push is only supported for 'github' source deployments.",
                ));
            }
            if self.revision["repo_ref"]
                .as_str()
                .is_some_and(|name| name.starts_with("refs/tags/"))
            {
                return Err(bad(
                    "build_on_push cannot be enabled when repo_ref is a tag.",
                ));
            }
        }
        for (name, sources) in [
            ("repo_ref", &["github"][..]),
            ("langgraph_config_path", &["github", "internal_source"]),
            ("image_uri", &["external_docker", "internal_docker"]),
            ("source_tarball_path", &["internal_source"]),
        ] {
            // The rules of templates are unknown.
            if !self.revision[name].is_null()
                && !sources.contains(&self.from)
                && self.from != "internal_template"
            {
                let sources = sources.join("', '");
                return Err(bad(&format!(
                    "source_revision_config.{name} is only supported for '{sources}' sources."
                )));
            }
        }
        Ok(())
    }

    /// Additional rules for a new one.
    pub fn check_new(&self, plane: &ControlServer) -> Result<(), Refusal> {
        self.check()?;
        match self.source {
            "github" => {
                self.lacks(
                    self.config,
                    "source_config",
                    &["repo_url", "deployment_type", "build_on_push"],
                )?;
                self.lacks(
                    self.revision,
                    "source_revision_config",
                    &["repo_ref", "langgraph_config_path"],
                )?;
            }
            "external_docker" => {
                self.lacks(self.config, "source_config", &["resource_spec"])?;
                self.lacks(self.revision, "source_revision_config", &["image_uri"])?;
                if !self.config["deployment_type"].is_null() {
                    return Err(bad(
                        "source_config.deployment_type is not supported for 'external_docker' sources.",
                    ));
                }
            }
            _ => {}
        }
        if !self.config["custom_url"].is_null() && self.source != "external_docker" {
            return Err(bad(
                "custom_url can only be set for 'external_docker' source deployments.",
            ));
        }
        if plane.needs_listener && self.config["listener_id"].is_null() {
            return Err(bad(
                "'source_config.listener_id' is required for deployments of this workspace.",
            ));
        }
        if plane.aws
            && self.config["deployment_type"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("_zero"))
        {
            return Err(bad(
                "Scale to zero deployments are not supported in AWS environments",
            ));
        }
        Ok(())
    }
}

/// A name is a slug, as the official clients make it.
pub fn name(name: &str) -> Result<(), Refusal> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.is_empty()
        && name.len() <= 63
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
    {
        return Ok(());
    }
    Err(bad(&format!(
        "Deployment name '{name}' is invalid: 1 to 63 lower-case letters, digits and hyphens are allowed, and no hyphen \
         at an end."
    )))
}

/// Variables and references to secrets of a request.
pub fn secrets(plane: &ControlServer, source: &str, asked: &Value) -> Result<(), Refusal> {
    let both = ["secrets", "secret_references"].map(|list| items_of(&asked[list]));
    let names = both
        .into_iter()
        .flatten()
        .filter_map(|one| one["name"].as_str());
    let reserved = |name: &&str| {
        RESERVED.contains(name) || (RESERVED_IN_CLOUD.contains(name) && !plane.prefix_only)
    };
    let found: Vec<String> = names
        .filter(reserved)
        .map(|name| format!("'{name}'"))
        .collect();
    if !found.is_empty() {
        return Err(bad(&format!(
            "Secret names are reserved and cannot be set: {}.",
            found.join(", ")
        )));
    }
    if !asked["secret_references"].is_null() && source != "external_docker" {
        return Err(bad(
            "secret_references are only supported for 'external_docker' source deployments.",
        ));
    }
    Ok(())
}

/// Fields that a change must not modify. Sending the existing value is not a change.
pub fn fixed(deployment: &Deployment, asked: &Value) -> Result<(), Refusal> {
    let (now, sent) = (&deployment.config, &asked["source_config"]);
    for name in FIXED {
        if !sent[name].is_null() && sent[name] != now[name] {
            return Err(bad(&format!("source_config.{name} cannot be changed.")));
        }
    }
    let namespace = |config: &Value| config["k8s_namespace"].clone();
    let wanted = namespace(&sent["listener_config"]);
    if !wanted.is_null() && wanted != namespace(&now["listener_config"]) {
        return Err(bad(
            "source_config.listener_config.k8s_namespace cannot be changed.",
        ));
    }
    let url = &sent["custom_url"];
    if !url.is_null() && *url != now["custom_url"] && deployment.source != "external_docker" {
        return Err(bad(
            "custom_url can only be set for 'external_docker' source deployments.",
        ));
    }
    Ok(())
}

/// Packages to track, `name:version`; one name is known.
pub fn packages(asked: &Value) -> Result<(), Refusal> {
    for package in items_of(&asked["tracked_packages"]).filter_map(Value::as_str) {
        if !package
            .split_once(':')
            .is_some_and(|(name, version)| name == "google-adk" && !version.is_empty())
        {
            return Err(bad(&format!("Invalid tracked package '{package}'.")));
        }
    }
    Ok(())
}
