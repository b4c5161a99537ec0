//! Validates a deployment by the service's known rules before anything is sent (contract §2–4, control-plane reference §6), and
//! adds warnings.

use super::DeploymentSpec;
use crate::model::Note;
use crate::model::reserved::reserved;
use crate::text;
use serde_json::Value;

/// The sources whose rules are known.
const SOURCES: [&str; 4] = [
    "github",
    "external_docker",
    "internal_docker",
    "internal_source",
];
/// The documented deployment types (control-plane reference §6, §13).
const TYPES: [&str; 7] = [
    "dev_free",
    "dev",
    "prod",
    "dev_zero",
    "dev_free_zero",
    "serverless",
    "dedicated",
];
/// Maximum length of a deployment's name on self-hosted installations.
const LONGEST_SELF_HOSTED: usize = 21;
/// Fields of `source_config` that can't be changed after creation.
pub(super) const IMMUTABLE: [&str; 4] = [
    "deployment_type",
    "integration_id",
    "listener_id",
    "listener_config",
];

/// What is known of the installation that a change goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Installation {
    /// Whether it is one of the cloud's regions.
    pub is_cloud: bool,
    /// Whether it is the region on AWS.
    pub is_aws: bool,
}

/// The result: errors and notes.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub wrong: Vec<String>,
    pub notes: Vec<Note>,
}

impl Findings {
    fn warn(&mut self, text: &str) {
        self.notes.push(Note::warning(text));
    }
}

const REPO_REF: [&str; 2] = ["source_revision_config", "repo_ref"];
const CONFIG_PATH: [&str; 2] = ["source_revision_config", "langgraph_config_path"];
const IMAGE: [&str; 2] = ["source_revision_config", "image_uri"];
const TARBALL: [&str; 2] = ["source_revision_config", "source_tarball_path"];
const PUSH: [&str; 2] = ["source_config", "build_on_push"];
const TYPE: [&str; 2] = ["source_config", "deployment_type"];

impl DeploymentSpec {
    /// Validates a new deployment.
    pub(super) fn check_create(&self, at: Installation) -> Findings {
        let mut found = Findings::default();
        let given = |field| self.field(["", field]).as_str();
        match given("name") {
            None => self.missing(&mut found, ["", "name"], "required; can never be changed"),
            Some(name) => self.check_name(&mut found, name, at),
        }
        for field in ["display_name", "revision_source", "tracked_packages"] {
            if !self.field(["", field]).is_null() {
                self.wrong(
                    &mut found,
                    ["", field],
                    "only for an update: set it after the deployment was created",
                );
            }
        }
        if self.replace_secrets || !self.remove_secrets.is_empty() {
            self.wrong(
                &mut found,
                ["", "secrets"],
                "a new deployment has no secrets to replace or remove",
            );
        }
        let Some(source) = given("source") else {
            self.missing(
                &mut found,
                ["", "source"],
                &format!("for example {}", SOURCES.join(", ")),
            );
            self.check_secrets(&mut found, at);
            return found;
        };
        match source {
            "github" => {
                self.needs(
                    &mut found,
                    ["source_config", "repo_url"],
                    "required: the repository to build",
                );
                self.needs(
                    &mut found,
                    CONFIG_PATH,
                    "required for github deployments, such as langgraph.json",
                );
                self.needs(&mut found, TYPE, "dev or prod; can never be changed");
                if self.field(["source_config", "integration_id"]).is_null() {
                    found.warn("There is no integration_id, which the service needs for private repositories (`runtail integrations list`).");
                }
                if self.field(PUSH).is_null() {
                    found.warn(
                        "There is no build_on_push; according to one source the cloud requires it.",
                    );
                }
                if self.field(REPO_REF).is_null() {
                    found.warn("There is no repo_ref, so the service chooses the branch.");
                }
                if !at.is_cloud {
                    found.warn("According to the service's documentation only its cloud deploys from GitHub; this is another installation.");
                }
            }
            "external_docker" => {
                self.needs(&mut found, IMAGE, "required: the image to run");
                let why = "required for images; resource_spec = {} uses the operator's defaults";
                self.needs(&mut found, ["source_config", "resource_spec"], why);
                if at.is_cloud && self.field(["source_config", "listener_id"]).is_null() {
                    found.warn("In the cloud an external image runs on your own cluster; the service requires its listener_id.");
                }
            }
            "internal_source" if self.field(CONFIG_PATH).is_null() => {
                found.warn("There is no langgraph_config_path; the first revision waits for an upload that has it.");
            }
            _ => {}
        }
        if let Some(kind) = self.field(TYPE).as_str() {
            if at.is_aws && matches!(kind, "dev_zero" | "dev_free_zero") {
                self.wrong(
                    &mut found,
                    TYPE,
                    "scale to zero deployments are not supported in AWS environments",
                );
            } else if !TYPES.contains(&kind) {
                found.warn(&format!(
                    "Unknown deployment_type {}; the service may reject it.",
                    text::clean(kind)
                ));
            }
        }
        self.check_source(&mut found, source);
        self.check_push(&mut found, source, &Value::Null);
        self.check_secrets(&mut found, at);
        found
    }

    /// Validates an update of a deployment.
    pub(super) fn check_update(&self, record: &Value, at: Installation) -> Findings {
        let mut found = Findings::default();
        let never = "it can't be changed after creation";
        for field in ["name", "source"] {
            let wanted = self.field(["", field]);
            if !wanted.is_null() && *wanted != record[field] {
                let today = text::clean(record[field].as_str().unwrap_or("not known")).into_owned();
                self.wrong(&mut found, ["", field], &format!("{never}; it is {today}"));
            }
        }
        for field in IMMUTABLE {
            let wanted = self.field(["source_config", field]);
            if !wanted.is_null() && !super::body::is_same(&record["source_config"][field], wanted) {
                self.wrong(&mut found, ["source_config", field], never);
            }
        }
        let repo = self.field(["source_config", "repo_url"]);
        if !repo.is_null() && *repo != record["source_config"]["repo_url"] {
            found.warn("Sources disagree about whether repo_url can be changed; the service may reject it.");
        }
        if let Some(source) = record["source"].as_str() {
            self.check_source(&mut found, source);
            self.check_push(&mut found, source, record);
        }
        self.check_secrets(&mut found, at);
        found
    }

    /// By the official command line a name is a slug; what else the service takes is not known.
    fn check_name(&self, found: &mut Findings, name: &str, at: Installation) {
        let is_slug = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.chars().all(is_slug) || name.starts_with('-') || name.ends_with('-') {
            let why = "a name has lowercase letters a-z, digits and hyphens, and doesn't start or end with a hyphen";
            self.wrong(found, ["", "name"], why);
        } else if !at.is_cloud && name.len() > LONGEST_SELF_HOSTED {
            found.warn(
                "The name is longer than 21 characters; such deployments fail to start on self-hosted installations.",
            );
        }
    }

    /// Refuses fields that belong to another source. The rules of an unknown source are the service's business.
    fn check_source(&self, found: &mut Findings, source: &str) {
        if !SOURCES.contains(&source) {
            let known = SOURCES.join(", ");
            found.warn(&format!(
                "Unknown source {} (known: {known}); the service may reject it.",
                text::clean(source)
            ));
            return;
        }
        let only = |fields: &[[&'static str; 2]], sources: &[&str], found: &mut Findings| {
            if sources.contains(&source) {
                return;
            }
            for at in fields.iter().filter(|at| !self.field(**at).is_null()) {
                let list = sources.join(" or ");
                self.wrong(
                    found,
                    *at,
                    &format!("only for deployments from {list}; this one is from {source}"),
                );
            }
        };
        only(
            &[
                ["source_config", "integration_id"],
                ["source_config", "repo_url"],
                REPO_REF,
            ],
            &["github"],
            found,
        );
        only(&[CONFIG_PATH], &["github", "internal_source"], found);
        only(&[IMAGE], &["external_docker", "internal_docker"], found);
        only(&[TARBALL], &["internal_source"], found);
        let images = [
            ["source_config", "custom_url"],
            ["source_config", "listener_id"],
            ["source_config", "listener_config"],
            ["", "secret_references"],
        ];
        only(&images, &["external_docker"], found);
        only(
            &[TYPE],
            &["github", "internal_docker", "internal_source"],
            found,
        );
        if let Some(image) = self.field(IMAGE).as_str()
            && !image.contains("@sha256:")
        {
            found.warn("The image has a tag, which may refer to another image later; a digest (@sha256:…) pins it.");
        }
    }

    fn check_push(&self, found: &mut Findings, source: &str, record: &Value) {
        let effective = |at: [&str; 2]| match self.field(at) {
            Value::Null => record[at[0]][at[1]].clone(),
            given => given.clone(),
        };
        if *self.field(PUSH) == true && source != "github" && SOURCES.contains(&source) {
            let why = format!("only for github deployments; this one is from {source}");
            return self.wrong(found, PUSH, &why);
        }
        let is_tag = effective(REPO_REF)
            .as_str()
            .is_some_and(|name| name.starts_with("refs/tags/"));
        let concerned = !self.field(PUSH).is_null() || !self.field(REPO_REF).is_null();
        if concerned && is_tag && effective(PUSH) == true {
            let at = if self.field(PUSH).is_null() {
                REPO_REF
            } else {
                PUSH
            };
            self.wrong(
                found,
                at,
                "a tag never moves, so there is nothing to build on a push: set build_on_push = false",
            );
        }
    }

    fn check_secrets(&self, found: &mut Findings, at: Installation) {
        let literal: Vec<_> = self.document.literal_secrets().map(text::clean).collect();
        if !literal.is_empty() {
            found.warn(&format!(
                "The file contains secret values in clear text ({}). References (\"env:NAME\" or \"file:PATH\") keep them out of it.",
                literal.join(", ")
            ));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let mut names: Vec<&str> = Vec::new();
        let references = self
            .field(["", "secret_references"])
            .as_array()
            .into_iter()
            .flatten();
        let references: Vec<&str> = references
            .filter_map(|reference| reference["name"].as_str())
            .collect();
        for name in self.secret_names().chain(references) {
            let shown = text::clean(name);
            if names.contains(&name) {
                self.wrong(
                    found,
                    ["secrets", name],
                    &format!("the secret {shown} is given twice"),
                );
            } else if name.is_empty()
                || !name.chars().all(fits)
                || name.starts_with(|c: char| c.is_ascii_digit())
            {
                self.wrong(
                    found,
                    ["secrets", name],
                    "not a valid name of an environment variable",
                );
            } else if let Some(why) = reserved(name, at.is_cloud) {
                self.wrong(found, ["secrets", name], why);
            }
            names.push(name);
        }
    }

    /// Adds an error for a missing field.
    fn needs(&self, found: &mut Findings, at: [&str; 2], why: &str) {
        if self.field(at).is_null() {
            self.missing(found, at, why);
        }
    }

    fn missing(&self, found: &mut Findings, at: [&str; 2], why: &str) {
        let field = dotted(at);
        found.wrong.push(format!(
            "{}{field} is missing: {why}",
            self.document.place(&field)
        ));
    }

    /// Adds an error for a field.
    fn wrong(&self, found: &mut Findings, at: [&str; 2], why: &str) {
        let field = dotted(at);
        found.wrong.push(format!(
            "{}{}: {why}",
            self.document.place(&field),
            text::clean(&field)
        ));
    }
}

fn dotted([table, field]: [&str; 2]) -> String {
    if table.is_empty() {
        field.into()
    } else {
        format!("{table}.{field}")
    }
}
