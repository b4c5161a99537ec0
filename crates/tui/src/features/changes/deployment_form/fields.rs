//! The fields of the form, by the source of the deployment, and what is wrong with their values.

use super::{DeploymentForm, Stop};
use crate::session::Cx;
use runtail_core::text;

/// How a field is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// On, off, or not given.
    Switch,
    Source,
    /// The type of the deployment.
    Type,
    /// A connected GitHub account from the server's list.
    Integration,
    Repository,
}

/// A field of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the document.
    pub path: &'static str,
    pub label: &'static str,
    pub kind: Kind,
    pub is_required: bool,
    /// Shown while it is empty.
    pub placeholder: &'static str,
}

const fn entry(
    path: &'static str,
    label: &'static str,
    kind: Kind,
    placeholder: &'static str,
) -> Entry {
    Entry {
        path,
        label,
        kind,
        is_required: false,
        placeholder,
    }
}

const fn required(
    path: &'static str,
    label: &'static str,
    kind: Kind,
    placeholder: &'static str,
) -> Entry {
    Entry {
        is_required: true,
        ..entry(path, label, kind, placeholder)
    }
}

pub const INTEGRATION: &str = "source_config.integration_id";
pub const REPOSITORY: &str = "source_config.repo_url";
pub const BRANCH: &str = "source_revision_config.repo_ref";
const CONFIG: &str = "source_revision_config.langgraph_config_path";
const IMAGE: &str = "source_revision_config.image_uri";
const LISTENER: &str = "source_config.listener_id";
const TYPE: &str = "source_config.deployment_type";
pub const PUSH: &str = "source_config.build_on_push";
pub const DEFAULT_CONFIG: &str = "langgraph.json";

const HEAD: [Entry; 2] = [
    required("name", "Name", Kind::Text, "my-agent"),
    required("source", "Source", Kind::Source, ""),
];
const GITHUB: [Entry; 5] = [
    required(
        INTEGRATION,
        "Integration",
        Kind::Integration,
        "the id of the GitHub app",
    ),
    required(
        REPOSITORY,
        "Repository",
        Kind::Repository,
        "github.com/OWNER/REPOSITORY",
    ),
    required(BRANCH, "Branch", Kind::Text, "main"),
    required(CONFIG, "Config file", Kind::Text, DEFAULT_CONFIG),
    required(TYPE, "Type", Kind::Type, ""),
];
const DOCKER: [Entry; 4] = [
    required(IMAGE, "Image", Kind::Text, "ghcr.io/OWNER/IMAGE@sha256:…"),
    entry(
        LISTENER,
        "Listener",
        Kind::Text,
        "the id of your cluster's listener",
    ),
    entry(
        "source_config.listener_config.k8s_namespace",
        "Namespace",
        Kind::Text,
        "of the cluster",
    ),
    entry("source_config.custom_url", "URL", Kind::Text, "https://…"),
];
const OTHER: [Entry; 2] = [
    entry(CONFIG, "Config file", Kind::Text, DEFAULT_CONFIG),
    required(TYPE, "Type", Kind::Type, ""),
];
const DISPLAY_NAME: Entry = entry("display_name", "Display name", Kind::Text, "");

pub const RESOURCES: [Entry; 6] = [
    entry(
        "source_config.resource_spec.min_scale",
        "Min replicas",
        Kind::Text,
        "",
    ),
    entry(
        "source_config.resource_spec.max_scale",
        "Max replicas",
        Kind::Text,
        "",
    ),
    entry("source_config.resource_spec.cpu", "CPU", Kind::Text, ""),
    entry(
        "source_config.resource_spec.cpu_limit",
        "CPU limit",
        Kind::Text,
        "",
    ),
    entry(
        "source_config.resource_spec.memory_mb",
        "Memory MB",
        Kind::Text,
        "",
    ),
    entry(
        "source_config.resource_spec.memory_limit_mb",
        "Memory limit MB",
        Kind::Text,
        "",
    ),
];
pub const BUILD: [Entry; 3] = [
    entry(PUSH, "Rebuild on push", Kind::Switch, ""),
    entry(
        "source_config.install_command",
        "Install command",
        Kind::Text,
        "",
    ),
    entry(
        "source_config.build_command",
        "Build command",
        Kind::Text,
        "",
    ),
];

/// A group of fields that can be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fold {
    Resources,
    Build,
}

impl Fold {
    pub fn label(self) -> &'static str {
        match self {
            Fold::Resources => "Resources",
            Fold::Build => "Build",
        }
    }

    pub fn entries(self) -> &'static [Entry] {
        match self {
            Fold::Resources => &RESOURCES,
            Fold::Build => &BUILD,
        }
    }
}

impl DeploymentForm {
    /// Returns the fields above the secrets that can be changed.
    pub fn entries(&self) -> Vec<Entry> {
        let of_source: &[Entry] = match self.source() {
            "github" | "" => &GITHUB,
            "external_docker" => &DOCKER,
            _ => &OTHER,
        };
        if self.is_new {
            return HEAD.iter().chain(of_source).copied().collect();
        }
        let changes = |entry: &&Entry| {
            matches!(
                entry.path,
                BRANCH | CONFIG | IMAGE | "source_config.custom_url"
            )
        };
        let later = of_source.iter().filter(changes).map(|entry| Entry {
            is_required: false,
            ..*entry
        });
        std::iter::once(DISPLAY_NAME).chain(later).collect()
    }

    /// Returns the fields that can't be changed any more, with their values.
    pub fn fixed(&self) -> Vec<(&'static str, String)> {
        if self.is_new {
            return Vec::new();
        }
        let all = HEAD.iter().chain(&GITHUB).chain(&DOCKER);
        let fixed = all.filter(|entry| {
            !matches!(
                entry.path,
                BRANCH | CONFIG | IMAGE | "source_config.custom_url"
            )
        });
        let shown = fixed.map(|entry| (entry.label, self.current.get(entry.path).to_string()));
        shown.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Returns the groups below the secrets.
    pub fn folds(&self) -> &'static [Fold] {
        match self.source() {
            "external_docker" => &[Fold::Resources],
            _ => &[Fold::Resources, Fold::Build],
        }
    }

    /// Returns a field by its path.
    pub fn entry(&self, path: &str) -> Option<Entry> {
        let folded = self.folds().iter().flat_map(|fold| fold.entries()).copied();
        self.entries()
            .into_iter()
            .chain(folded)
            .find(|entry| entry.path == path)
    }

    /// Returns the value of a field as it is typed.
    pub fn shown_value(&self, path: &str) -> String {
        let value = self.values.get(path);
        match path {
            REPOSITORY => value.strip_prefix("https://").unwrap_or(value).to_string(),
            _ => value.to_string(),
        }
    }

    /// Returns what is wrong with an element.
    pub fn problem(&self, cx: &Cx<'_>, stop: Stop) -> Option<String> {
        match stop {
            Stop::Profile if self.profile.is_empty() => Some("Choose a profile.".into()),
            Stop::Profile if cx.session.is_read_only(&self.profile) => {
                Some(format!("{} is read-only.", self.profile))
            }
            Stop::Field(path) => self.problem_of(cx, self.entry(path)?),
            Stop::Secret(row) => self.secret_problem(row),
            Stop::Profile | Stop::Fold(_) => None,
        }
    }

    fn problem_of(&self, cx: &Cx<'_>, entry: Entry) -> Option<String> {
        let value = self.values.get(entry.path);
        if value.trim().is_empty() {
            return entry
                .is_required
                .then(|| format!("{} is required.", entry.label));
        }
        match entry.path {
            "name" => self.name_problem(cx, value),
            REPOSITORY if !value.contains("://") || value.ends_with("://") => {
                Some("Enter the repository's URL.".into())
            }
            INTEGRATION if entry.kind == Kind::Integration => self.integrations.problem_of(value),
            path if path.contains(".resource_spec.") => {
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
                    "Enter a number of cores, such as 0.5."
                };
                (!fits).then(|| rule.to_string())
            }
            _ => None,
        }
    }

    fn name_problem(&self, cx: &Cx<'_>, name: &str) -> Option<String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.chars().all(fits) || name.starts_with('-') || name.ends_with('-') {
            return Some(
                "Use a-z, 0-9 and hyphens, with no hyphen at the start or the end.".into(),
            );
        }
        self.is_taken(cx, name).then(|| {
            format!(
                "Taken: {} already has a deployment with this name.",
                self.profile
            )
        })
    }

    /// Returns whether the profile lists a deployment with a name.
    fn is_taken(&self, cx: &Cx<'_>, name: &str) -> bool {
        let mut known = cx.session.deployments.existing();
        known.any(|one| one.profile == self.profile && *one.name == *name)
    }

    /// Returns the note beside a field.
    pub fn note(&self, cx: &Cx<'_>, entry: Entry) -> String {
        let value = self.values.get(entry.path);
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
        let has_list = cx
            .session
            .profiles
            .iter()
            .any(|p| p.name == self.profile && p.loaded_at.is_some());
        match (entry.path, entry.kind) {
            ("name", _)
                if !value.is_empty() && has_list && self.name_problem(cx, value).is_none() =>
            {
                "free".into()
            }
            (CONFIG, _) if value == DEFAULT_CONFIG => "default".into(),
            (_, Kind::Type) => "can't be changed later".into(),
            (_, Kind::Integration) => self.integrations.note("integration"),
            (_, Kind::Repository) => self.repository_note(),
            (BRANCH, _) => self.branch_note(),
            _ => String::new(),
        }
    }
}
