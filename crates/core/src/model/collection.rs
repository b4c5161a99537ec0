//! The other lists of a control plane: their names, and the fields that a table shows (control-plane reference §2, "Integrations", "Listeners", "Auth service").

use serde_json::Value;

/// The GitHub app of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GithubApp {
    /// The app that builds deployments.
    Deployments,
    /// The Forge app; not needed for deployments.
    Forge,
}

/// A list of records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Collection {
    /// Connected GitHub accounts.
    Integrations(GithubApp),
    /// Those of Forge from its newer call, whose rows are undocumented.
    ForgeInstallations,
    /// The repositories of an installation, by its id.
    Repositories(GithubApp, String),
    /// The same from the newer, paginated call.
    InstallationRepositories(String),
    /// The listeners of an organization that hosts its own deployments.
    Listeners,
    /// OAuth providers.
    Providers,
    /// The caller's own tokens: for one provider by its slug, or all.
    Tokens(Option<String>),
}

/// A field of a row that a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The column's title.
    pub title: &'static str,
    /// Its JSON pointer in the row (RFC 6901).
    pub pointer: &'static str,
    /// Whether it is a time.
    pub is_time: bool,
}

const fn field(title: &'static str, pointer: &'static str) -> Field {
    Field {
        title,
        pointer,
        is_time: false,
    }
}

const fn time(title: &'static str, pointer: &'static str) -> Field {
    Field {
        title,
        pointer,
        is_time: true,
    }
}

const INTEGRATIONS: &[Field] = &[
    field("ACCOUNT", "/name"),
    field("INSTALLATION", "/installation_id"),
    field("ID", "/id"),
];
const REPOSITORIES: &[Field] = &[
    field("OWNER", "/owner"),
    field("NAME", "/name"),
    field("BRANCH", "/default_branch"),
    field("URL", "/url"),
    field("ID", "/id"),
];
const LISTENERS: &[Field] = &[
    field("COMPUTE", "/compute_id"),
    field("TYPE", "/compute_type"),
    field("NAMESPACES", "/compute_config/k8s_namespaces"),
    field("VERSION", "/version"),
    time("UPDATED", "/updated_at"),
    field("ID", "/id"),
];
const PROVIDERS: &[Field] = &[
    field("PROVIDER", "/provider_id"),
    field("NAME", "/name"),
    field("TYPE", "/provider_type"),
    field("CLIENT", "/client_id"),
    field("PKCE", "/uses_pkce"),
    field("MCP SERVER", "/mcp_server_url"),
    time("UPDATED", "/updated_at"),
];
const TOKENS: &[Field] = &[
    field("PROVIDER", "/provider_id"),
    field("ACCOUNT", "/provider_account_label"),
    field("DEFAULT", "/is_default"),
    field("SCOPES", "/scopes"),
    time("EXPIRES", "/expires_at"),
    field("ID", "/id"),
];

impl Collection {
    /// Returns the name of its rows, in the plural.
    pub fn plural(&self) -> &'static str {
        match self {
            Collection::Integrations(GithubApp::Deployments) => "integrations",
            Collection::Integrations(GithubApp::Forge) | Collection::ForgeInstallations => {
                "Forge installations"
            }
            Collection::Repositories(..) | Collection::InstallationRepositories(_) => {
                "repositories"
            }
            Collection::Listeners => "listeners",
            Collection::Providers => "providers",
            Collection::Tokens(_) => "tokens",
        }
    }

    /// Returns the name of a row.
    pub fn singular(&self) -> &'static str {
        match self {
            Collection::Integrations(GithubApp::Deployments) => "integration",
            Collection::Integrations(GithubApp::Forge) | Collection::ForgeInstallations => {
                "Forge installation"
            }
            Collection::Repositories(..) | Collection::InstallationRepositories(_) => "repository",
            Collection::Listeners => "listener",
            Collection::Providers => "provider",
            Collection::Tokens(_) => "token",
        }
    }

    /// Returns its parent: the id of an integration, the slug of a provider.
    pub fn owner(&self) -> Option<&str> {
        match self {
            Collection::Repositories(_, of)
            | Collection::InstallationRepositories(of)
            | Collection::Tokens(Some(of)) => Some(of),
            _ => None,
        }
    }

    /// The same list of another one.
    pub fn owned_by(&self, owner: &str) -> Collection {
        let owner = owner.to_string();
        match self {
            Collection::Repositories(app, _) => Collection::Repositories(*app, owner),
            Collection::InstallationRepositories(_) => Collection::InstallationRepositories(owner),
            Collection::Tokens(Some(_)) => Collection::Tokens(Some(owner)),
            other => other.clone(),
        }
    }

    /// Returns the fields that a table shows, the most important first.
    pub fn fields(&self) -> &'static [Field] {
        match self {
            Collection::Integrations(_) | Collection::ForgeInstallations => INTEGRATIONS,
            Collection::Repositories(..) | Collection::InstallationRepositories(_) => REPOSITORIES,
            Collection::Listeners => LISTENERS,
            Collection::Providers => PROVIDERS,
            Collection::Tokens(_) => TOKENS,
        }
    }

    /// Returns a row's id in paths, if it has one. Providers have a slug.
    pub fn id_of(&self, row: &Value) -> Option<String> {
        let id = match self {
            Collection::Providers => &row["provider_id"],
            _ => &row["id"],
        };
        match id {
            Value::String(id) if !id.is_empty() => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        }
    }

    /// Returns a row's display name, which may not be unique.
    pub fn name_of(&self, row: &Value) -> Option<String> {
        let name = match self {
            Collection::Listeners => &row["compute_id"],
            Collection::Providers => &row["provider_id"],
            Collection::Tokens(_) => &row["provider_account_label"],
            _ => &row["name"],
        };
        let name = name
            .as_str()
            .filter(|name| !name.is_empty())
            .map(str::to_string);
        name.or_else(|| self.id_of(row))
    }
}

impl Field {
    /// The field's value in a row; null where it has none.
    pub fn of<'v>(&self, row: &'v Value) -> &'v Value {
        row.pointer(self.pointer).unwrap_or(&Value::Null)
    }

    /// The value as a cell: texts bare, lists of words with commas, flags as yes and no, nothing for null.
    pub fn words(&self, row: &Value) -> String {
        let word = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_string)
        };
        match self.of(row) {
            Value::Null => String::new(),
            Value::Bool(true) => "yes".into(),
            Value::Bool(false) => "no".into(),
            Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(", "),
            other => word(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn collection_rows_are_formatted_as_cells() {
        let row = json!({"id": "l1", "compute_id": "cluster-a", "compute_type": "k8s", "version": null,
            "compute_config": {"k8s_namespaces": ["a", "b", 3]}, "updated_at": "2026-11-21T10:00:00Z"});
        let cells: Vec<String> = Collection::Listeners
            .fields()
            .iter()
            .map(|field| field.words(&row))
            .collect();
        assert_eq!(
            cells,
            [
                "cluster-a",
                "k8s",
                "a, b, 3",
                "",
                "2026-11-21T10:00:00Z",
                "l1"
            ]
        );
        assert_eq!(
            Collection::Listeners.name_of(&row).as_deref(),
            Some("cluster-a")
        );
        let token =
            json!({"id": "t1", "provider_account_label": null, "is_default": true, "scopes": []});
        let cells: Vec<String> = Collection::Tokens(None)
            .fields()
            .iter()
            .map(|field| field.words(&token))
            .collect();
        assert_eq!(cells, ["", "", "yes", "", "", "t1"]);
    }

    #[test]
    fn collection_rows_have_ids_and_names() {
        let row = json!({"id": "uuid", "provider_id": "github", "name": "GitHub"});
        assert_eq!(
            Collection::Providers.id_of(&row).as_deref(),
            Some("github"),
            "paths take the slug"
        );
        let repository = json!({"id": 42, "name": "bot"});
        let repositories = Collection::Repositories(GithubApp::Deployments, "i".into());
        assert_eq!(repositories.id_of(&repository).as_deref(), Some("42"));
        assert_eq!(repositories.id_of(&json!({"id": ""})), None);
        assert_eq!(
            Collection::Tokens(None)
                .name_of(&json!({"id": "t"}))
                .as_deref(),
            Some("t")
        );
    }
}
