//! The other lists of a control plane: their paths, names and columns (control-plane reference §2, "Integrations",
//! "Listeners", "Auth service").

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

/// What the records of a list have in common.
#[derive(Debug)]
pub struct Resource {
    /// The name of a record, and of several.
    pub singular: &'static str,
    pub plural: &'static str,
    /// The path of the list; `{}` stands for the id of its parent.
    pub path: &'static str,
    /// The field with the id in paths. Providers have a slug.
    pub id: &'static str,
    /// The field with the display name, which may not be unique.
    pub name: &'static str,
    /// The columns of its table, the most important first.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub title: &'static str,
    /// The field's JSON pointer in the row (RFC 6901).
    pub pointer: &'static str,
    /// Whether it is a time.
    pub is_time: bool,
}

const fn text(title: &'static str, pointer: &'static str) -> Column {
    Column {
        title,
        pointer,
        is_time: false,
    }
}

const fn time(title: &'static str, pointer: &'static str) -> Column {
    Column {
        is_time: true,
        ..text(title, pointer)
    }
}

const INTEGRATION: Resource = Resource {
    singular: "integration",
    plural: "integrations",
    path: "v1/integrations/github/install",
    id: "id",
    name: "name",
    columns: &[
        text("ACCOUNT", "/name"),
        text("INSTALLATION", "/installation_id"),
        text("ID", "/id"),
    ],
};
const FORGE: Resource = Resource {
    singular: "Forge installation",
    plural: "Forge installations",
    path: "v1/integrations/forge/github/install",
    ..INTEGRATION
};
const REPOSITORY: Resource = Resource {
    singular: "repository",
    plural: "repositories",
    path: "v1/integrations/github/{}/repos",
    columns: &[
        text("OWNER", "/owner"),
        text("NAME", "/name"),
        text("BRANCH", "/default_branch"),
        text("URL", "/url"),
        text("ID", "/id"),
    ],
    ..INTEGRATION
};
const LISTENER: Resource = Resource {
    singular: "listener",
    plural: "listeners",
    path: "v2/listeners",
    id: "id",
    name: "compute_id",
    columns: &[
        text("COMPUTE", "/compute_id"),
        text("TYPE", "/compute_type"),
        text("NAMESPACES", "/compute_config/k8s_namespaces"),
        text("VERSION", "/version"),
        time("UPDATED", "/updated_at"),
        text("ID", "/id"),
    ],
};
const PROVIDER: Resource = Resource {
    singular: "provider",
    plural: "providers",
    path: "v2/auth/providers",
    id: "provider_id",
    name: "provider_id",
    columns: &[
        text("PROVIDER", "/provider_id"),
        text("NAME", "/name"),
        text("TYPE", "/provider_type"),
        text("CLIENT", "/client_id"),
        text("PKCE", "/uses_pkce"),
        text("MCP SERVER", "/mcp_server_url"),
        time("UPDATED", "/updated_at"),
    ],
};
const TOKEN: Resource = Resource {
    singular: "token",
    plural: "tokens",
    path: "v2/auth/tokens",
    id: "id",
    name: "provider_account_label",
    columns: &[
        text("PROVIDER", "/provider_id"),
        text("ACCOUNT", "/provider_account_label"),
        text("DEFAULT", "/is_default"),
        text("SCOPES", "/scopes"),
        time("EXPIRES", "/expires_at"),
        text("ID", "/id"),
    ],
};

impl Collection {
    /// Returns what its records have in common.
    pub fn resource(&self) -> Resource {
        match self {
            Collection::Integrations(GithubApp::Deployments) => INTEGRATION,
            Collection::Integrations(GithubApp::Forge) => FORGE,
            Collection::ForgeInstallations => Resource {
                path: "v2/integrations/forge-github/installations",
                ..FORGE
            },
            Collection::Repositories(GithubApp::Deployments, _) => REPOSITORY,
            Collection::Repositories(GithubApp::Forge, _) => Resource {
                path: "v1/integrations/forge/github/{}/repos",
                ..REPOSITORY
            },
            Collection::InstallationRepositories(_) => Resource {
                path: "v2/integrations/github/installations/{}/repositories",
                ..REPOSITORY
            },
            Collection::Listeners => LISTENER,
            Collection::Providers => PROVIDER,
            Collection::Tokens(_) => TOKEN,
        }
    }

    /// Returns the name of its rows, in the plural.
    pub fn plural(&self) -> &'static str {
        self.resource().plural
    }

    /// Returns the name of a row.
    pub fn singular(&self) -> &'static str {
        self.resource().singular
    }

    /// Returns the segments of its path.
    pub fn path(&self) -> Vec<String> {
        let owner = self.owner().unwrap_or_default();
        let part = |part: &str| if part == "{}" { owner } else { part }.to_string();
        self.resource().path.split('/').map(part).collect()
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

    /// Returns a row's id in paths, if it has one.
    pub fn id_of(&self, row: &Value) -> Option<String> {
        match &row[self.resource().id] {
            Value::String(id) if !id.is_empty() => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        }
    }

    /// Returns a row's display name.
    pub fn name_of(&self, row: &Value) -> Option<String> {
        let name = row[self.resource().name].as_str();
        let name = name.filter(|name| !name.is_empty()).map(str::to_string);
        name.or_else(|| self.id_of(row))
    }
}

impl Column {
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
            .resource()
            .columns
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
            .resource()
            .columns
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
