//! The fields of the form, by the source of the deployment, and what is wrong with their values.

use super::{DeploymentForm, DeploymentStop};
use crate::session::Cx;
use runtail_core::text;

/// How a field is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// One of these values, each with its label.
    Choice(&'static [(&'static str, &'static str)]),
    Profile,
    /// A connected GitHub account from the server's list.
    Integration,
}

/// A field of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormEntry {
    /// Where it belongs: the source that has it, the fold that it is in, or whether the deployment is new.
    pub of: &'static str,
    /// Its path in the document.
    pub path: &'static str,
    pub label: &'static str,
    pub kind: Kind,
    pub is_required: bool,
    /// Shown while it is empty.
    pub placeholder: &'static str,
}

const fn entry(
    of: &'static str,
    path: &'static str,
    label: &'static str,
    kind: Kind,
    placeholder: &'static str,
) -> FormEntry {
    FormEntry {
        of,
        path,
        label,
        kind,
        is_required: false,
        placeholder,
    }
}

impl FormEntry {
    const fn required(self) -> FormEntry {
        FormEntry {
            is_required: true,
            ..self
        }
    }

    /// Returns whether it can be changed after the deployment was created.
    fn is_changeable(&self) -> bool {
        matches!(self.of, "update" | RESOURCES | BUILD)
            || matches!(
                self.path,
                BRANCH | CONFIG | IMAGE | "source_config.custom_url"
            )
    }
}

pub const PROFILE: &str = "profile";
pub const INTEGRATION: &str = "source_config.integration_id";
pub const REPOSITORY: &str = "source_config.repo_url";
pub const BRANCH: &str = "source_revision_config.repo_ref";
const CONFIG: &str = "source_revision_config.langgraph_config_path";
const IMAGE: &str = "source_revision_config.image_uri";
const LISTENER: &str = "source_config.listener_id";
const TYPE: &str = "source_config.deployment_type";
pub const PUSH: &str = "source_config.build_on_push";
const DEFAULT_CONFIG: &str = "langgraph.json";
const DOCKER: &str = "external_docker";
const RESOURCES: &str = "Resources";
const BUILD: &str = "Build";

const SOURCES: Kind = Kind::Choice(&[("github", "GitHub"), (DOCKER, "Docker image")]);
const TYPES: Kind = Kind::Choice(&[("dev", "dev"), ("prod", "prod")]);
const SWITCH: Kind = Kind::Choice(&[("true", "on"), ("false", "off"), ("", "")]);

/// All fields, in their order.
const FIELDS: [FormEntry; 24] = [
    entry("new", PROFILE, "Profile", Kind::Profile, "").required(),
    entry("new", "name", "Name", Kind::Text, "my-agent").required(),
    entry("new", "source", "Source", SOURCES, "").required(),
    entry("update", "display_name", "Display name", Kind::Text, ""),
    entry(
        "github",
        INTEGRATION,
        "Integration",
        Kind::Integration,
        "the GitHub app's id",
    )
    .required(),
    entry(
        "github",
        REPOSITORY,
        "Repository",
        Kind::Text,
        "github.com/OWNER/REPOSITORY",
    )
    .required(),
    entry("github", BRANCH, "Branch", Kind::Text, "main").required(),
    entry("github", CONFIG, "Config file", Kind::Text, DEFAULT_CONFIG).required(),
    entry("github", TYPE, "Type", TYPES, "").required(),
    entry(
        DOCKER,
        IMAGE,
        "Image",
        Kind::Text,
        "ghcr.io/OWNER/IMAGE@sha256:…",
    )
    .required(),
    entry(
        DOCKER,
        LISTENER,
        "Listener",
        Kind::Text,
        "the cluster's listener id",
    ),
    entry(
        DOCKER,
        "source_config.listener_config.k8s_namespace",
        "Namespace",
        Kind::Text,
        "of the cluster",
    ),
    entry(
        DOCKER,
        "source_config.custom_url",
        "URL",
        Kind::Text,
        "https://…",
    ),
    entry("other", CONFIG, "Config file", Kind::Text, DEFAULT_CONFIG),
    entry("other", TYPE, "Type", TYPES, "").required(),
    resource("source_config.resource_spec.min_scale", "Min replicas"),
    resource("source_config.resource_spec.max_scale", "Max replicas"),
    resource("source_config.resource_spec.cpu", "CPU"),
    resource("source_config.resource_spec.cpu_limit", "CPU limit"),
    resource("source_config.resource_spec.memory_mb", "Memory MB"),
    resource(
        "source_config.resource_spec.memory_limit_mb",
        "Memory limit MB",
    ),
    entry(BUILD, PUSH, "Rebuild on push", SWITCH, ""),
    entry(
        BUILD,
        "source_config.install_command",
        "Install command",
        Kind::Text,
        "",
    ),
    entry(
        BUILD,
        "source_config.build_command",
        "Build command",
        Kind::Text,
        "",
    ),
];

const fn resource(path: &'static str, label: &'static str) -> FormEntry {
    entry(RESOURCES, path, label, Kind::Text, "")
}

impl DeploymentForm {
    /// Returns the fields that can be changed.
    pub fn entries(&self) -> impl Iterator<Item = FormEntry> {
        let source = match self.source() {
            "" => "github",
            source @ ("github" | DOCKER) => source,
            _ => "other",
        };
        let is_new = self.is_new;
        let is_shown = move |entry: &FormEntry| match entry.of {
            "new" => is_new,
            "update" => !is_new,
            RESOURCES => true,
            BUILD => source != DOCKER,
            of => of == source && (is_new || entry.is_changeable()),
        };
        let needed = move |entry: FormEntry| FormEntry {
            is_required: entry.is_required && is_new,
            ..entry
        };
        FIELDS.into_iter().filter(is_shown).map(needed)
    }

    /// Returns the fields of a group that can be folded, or those above the secrets.
    pub fn entries_in(&self, fold: Option<&str>) -> impl Iterator<Item = FormEntry> {
        let fold_of =
            |entry: &FormEntry| Some(entry.of).filter(|of| matches!(*of, RESOURCES | BUILD));
        self.entries().filter(move |entry| fold_of(entry) == fold)
    }

    /// Returns the groups below the secrets.
    pub fn folds(&self) -> impl Iterator<Item = &'static str> {
        let has_any = |fold: &&str| self.entries().any(|entry| entry.of == *fold);
        [RESOURCES, BUILD].into_iter().filter(has_any)
    }

    /// Returns the fields that can't be changed any more, with their values.
    pub fn fixed(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let fixed = FIELDS
            .iter()
            .filter(|entry| !entry.is_changeable() && entry.of != "other");
        let shown = fixed.map(|entry| (entry.label, self.current.get(entry.path)));
        shown.filter(|(_, value)| !self.is_new && !value.is_empty())
    }

    /// Returns a field by its path.
    pub fn entry(&self, path: &str) -> Option<FormEntry> {
        self.entries().find(|entry| entry.path == path)
    }

    /// Returns the value of a field.
    pub fn value(&self, path: &str) -> &str {
        match path {
            PROFILE => &self.profile,
            path => self.values.get(path),
        }
    }

    /// Returns the options of a choice, each with its label. A value that is none of them is an option too.
    pub fn options(&self, entry: FormEntry) -> Option<Vec<(&str, &str)>> {
        let mut options: Vec<(&str, &str)> = match entry.kind {
            Kind::Text => return None,
            Kind::Profile => self
                .profiles
                .iter()
                .map(|name| (&**name, &**name))
                .collect(),
            Kind::Integration if self.integrations.all().is_empty() => return None,
            Kind::Integration => {
                let all = self.integrations.all().iter();
                all.map(|one| (&*one.value, &*one.label)).collect()
            }
            Kind::Choice(options) => options.to_vec(),
        };
        let value = self.value(entry.path);
        if !value.is_empty() && options.iter().all(|(word, _)| *word != value) {
            options.push((value, value));
        }
        let not_given = if self.is_new { "default" } else { "unchanged" };
        let unnamed = options.iter_mut().filter(|(_, label)| label.is_empty());
        unnamed.for_each(|(_, label)| *label = not_given);
        Some(options)
    }

    /// Returns what is wrong with an element.
    pub fn problem(&self, cx: &Cx<'_>, stop: DeploymentStop) -> Option<String> {
        let entry = match stop {
            DeploymentStop::Field(path) => self.entry(path)?,
            DeploymentStop::Secret(row) => return self.secret_problem(row),
            DeploymentStop::Fold(_) => return None,
        };
        let value = self.value(entry.path);
        match entry.path {
            PROFILE if value.is_empty() => Some("Choose a profile.".into()),
            PROFILE => cx
                .session
                .is_read_only(value)
                .then(|| format!("{value} is read-only.")),
            _ if value.trim().is_empty() => entry
                .is_required
                .then(|| format!("{} is required.", entry.label)),
            "name" => self.name_problem(cx, value),
            REPOSITORY if !value.contains("://") || value.ends_with("://") => {
                Some("Enter the repository's URL.".into())
            }
            INTEGRATION => self.integrations.problem_of(value),
            path if entry.of == RESOURCES => {
                let is_whole = path.ends_with("_scale") || path.ends_with("_mb");
                let fits = match is_whole {
                    true => value.parse::<u32>().is_ok(),
                    false => value
                        .parse::<f64>()
                        .is_ok_and(|number| number > 0.0 && number.is_finite()),
                };
                let rule = if is_whole {
                    "Enter a whole number."
                } else {
                    "Enter cores, such as 0.5."
                };
                (!fits).then(|| rule.to_string())
            }
            _ => None,
        }
    }

    fn name_problem(&self, cx: &Cx<'_>, name: &str) -> Option<String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.chars().all(fits) || name.starts_with('-') || name.ends_with('-') {
            return Some("Use a-z, 0-9 and inner hyphens.".into());
        }
        let mut known = cx.session.deployments.existing();
        known
            .any(|one| one.profile == self.profile && *one.name == *name)
            .then(|| format!("{} already uses this name.", self.profile))
    }

    /// Returns the note beside a field.
    pub fn note(&self, cx: &Cx<'_>, entry: FormEntry) -> String {
        let value = self.value(entry.path);
        if !self.is_new {
            let current = self.current.get(entry.path);
            return match value {
                "" if current.is_empty() => String::new(),
                "" => "unchanged".into(),
                value if value == current => "unchanged".into(),
                _ if current.is_empty() => "new".into(),
                _ => format!("now {}", text::head(current, 40)),
            };
        }
        match entry.path {
            PROFILE => cx
                .session
                .catalog
                .used(value)
                .map_or_else(String::new, |profile| {
                    let workspace = profile.workspace.as_deref().map(text::short_id);
                    let workspace = workspace.map(|id| format!("workspace {id}, "));
                    let region = profile.region.as_deref().unwrap_or("?");
                    let note = format!("{}region {region}", workspace.unwrap_or_default());
                    text::clean(&note).into_owned()
                }),
            "name" => {
                let profile = cx.session.profile(&self.profile);
                let has_list = profile.is_some_and(|profile| profile.loaded_at.is_some());
                let is_free =
                    !value.is_empty() && has_list && self.name_problem(cx, value).is_none();
                if is_free {
                    "free".into()
                } else {
                    String::new()
                }
            }
            CONFIG if value == DEFAULT_CONFIG => "default".into(),
            TYPE => "can't be changed later".into(),
            INTEGRATION => self.integrations.note("integration"),
            REPOSITORY => self.repository_note(),
            BRANCH => self.branch_note(),
            _ => String::new(),
        }
    }
}
