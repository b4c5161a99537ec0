//! Changes of listeners, OAuth providers and tokens (control-plane reference §2): their fields and documents.

use super::MASK;
use crate::config::{ConfigError, Document, Field, Form, Format};
use serde_json::Value;
use std::path::Path;

/// A change, by what names its target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    CreateListener,
    /// Changes a listener, by its id.
    UpdateListener(String),
    DeleteListener(String),
    /// Creates an OAuth provider.
    CreateProvider,
    /// Creates the provider of an MCP server from its own metadata.
    DiscoverProvider,
    /// Changes a provider, by its slug.
    UpdateProvider(String),
    DeleteProvider(String),
    /// Revokes a token and deletes it.
    DeleteToken(String),
    /// Deletes all tokens of the caller for a provider, by its slug.
    DeleteTokensOf(String),
}

/// A change and its fields. Contains no secrets; they are given by reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceChange {
    /// The kind of target.
    pub what: Service,
    /// The fields that are sent.
    pub document: Document,
}

const COMPUTE_CONFIG: &[Field] = &[Field::new("k8s_namespaces", Form::Texts)];
const CREATE_LISTENER: &[Field] = &[
    Field::new("compute_type", Form::Word(&["k8s"])).needed(),
    Field::new("compute_id", Form::Text).needed(),
    Field::new("compute_config", Form::Table(COMPUTE_CONFIG)).needed(),
    Field::new("version", Form::Text),
];
const UPDATE_LISTENER: &[Field] = &[
    Field::new("compute_config", Form::Table(COMPUTE_CONFIG)),
    Field::new("version", Form::Text),
];
const CREATE_PROVIDER: &[Field] = &[
    Field::new("provider_id", Form::Text).needed(),
    Field::new("name", Form::Text).needed(),
    Field::new("client_id", Form::Text).needed(),
    Field::new("client_secret", Form::Secret),
    Field::new("auth_url", Form::Text).needed(),
    Field::new("token_url", Form::Text).needed(),
    Field::new("uses_pkce", Form::Bool),
    Field::new("code_challenge_method", Form::Text),
    Field::new(
        "provider_type",
        Form::Word(&["microsoft", "salesforce", "slack"]),
    ),
    Field::new(
        "token_endpoint_auth_method",
        Form::Word(&["none", "client_secret_basic", "client_secret_post"]),
    ),
];
const DISCOVER_PROVIDER: &[Field] = &[
    Field::new("provider_id", Form::Text).needed(),
    Field::new("name", Form::Text).needed(),
    Field::new("mcp_server_url", Form::Text).needed(),
];
const UPDATE_PROVIDER: &[Field] = &[
    Field::new("name", Form::Text),
    Field::new("client_id", Form::Text),
    Field::new("client_secret", Form::Secret),
    Field::new("auth_url", Form::Text),
    Field::new("token_url", Form::Text),
    Field::new("uses_pkce", Form::Bool),
    Field::new("code_challenge_method", Form::Text),
];

impl Service {
    /// The fields of its body; none where it has none.
    pub fn fields(&self) -> &'static [Field] {
        match self {
            Service::CreateListener => CREATE_LISTENER,
            Service::UpdateListener(_) => UPDATE_LISTENER,
            Service::CreateProvider => CREATE_PROVIDER,
            Service::DiscoverProvider => DISCOVER_PROVIDER,
            Service::UpdateProvider(_) => UPDATE_PROVIDER,
            Service::DeleteListener(_)
            | Service::DeleteProvider(_)
            | Service::DeleteToken(_)
            | Service::DeleteTokensOf(_) => &[],
        }
    }

    /// What is done, in a word or two.
    pub fn verb(&self) -> &'static str {
        match self {
            Service::CreateListener | Service::CreateProvider => "Create",
            Service::DiscoverProvider => "Discover",
            Service::UpdateListener(_) | Service::UpdateProvider(_) => "Update",
            Service::DeleteListener(_) | Service::DeleteProvider(_) => "Delete",
            Service::DeleteToken(_) | Service::DeleteTokensOf(_) => "Revoke",
        }
    }

    /// To what, as far as that is known before anything was read.
    pub fn target(&self) -> &str {
        match self {
            Service::CreateListener => "a listener",
            Service::CreateProvider => "a provider",
            Service::DiscoverProvider => "a provider of an MCP server",
            Service::UpdateListener(id)
            | Service::DeleteListener(id)
            | Service::UpdateProvider(id)
            | Service::DeleteProvider(id)
            | Service::DeleteToken(id)
            | Service::DeleteTokensOf(id) => id,
        }
    }

    /// Reads a document on it. `path` is the file that it came from, if it came from one.
    ///
    /// # Errors
    /// See [`Document::parse`].
    pub fn read(self, text: &str, path: Option<&Path>) -> Result<ServiceChange, ConfigError> {
        let document = Document::parse(text, Format::of(path, text), path, self.fields())?;
        Ok(ServiceChange {
            what: self,
            document,
        })
    }

    /// A document to begin from, with every field: those of the record as it is now where there is one. What is changed by
    /// deleting has none.
    pub fn template(&self, record: &Value) -> String {
        match self {
            Service::CreateListener => "# A listener runs deployments on your own cluster.\n\
                 compute_type = \"k8s\"              # the only type; can never be changed\n\
                 compute_id = \"my-cluster\"         # your name for the cluster; can never be changed\n\
                 # version = \"…\"\n\n\
                 [compute_config]\n\
                 k8s_namespaces = [\"default\"]      # namespaces it deploys to\n"
                .into(),
            Service::UpdateListener(_) => {
                let version = line("version", &record["version"], "\"…\"");
                let namespaces = &record["compute_config"]["k8s_namespaces"];
                let namespaces = match namespaces.is_array() {
                    true => format!("compute_config.k8s_namespaces = {namespaces}"),
                    false => "# compute_config.k8s_namespaces = [\"default\"]".into(),
                };
                format!(
                    "# Lines that start with # are not sent and don't change; the list of namespaces is replaced.\n\
                     {version}{namespaces}\n"
                )
            }
            Service::CreateProvider => "# An OAuth provider. Lines that start with # are not sent; the server's defaults apply.\n\
                 provider_id = \"my-provider\"       # its unique slug; can never be changed\n\
                 name = \"My provider\"\n\
                 client_id = \"…\"\n\
                 # client_secret = \"env:MY_PROVIDER_SECRET\"      # or file:PATH; never the secret itself\n\
                 auth_url = \"https://provider.example/oauth/authorize\"\n\
                 token_url = \"https://provider.example/oauth/token\"\n\
                 # uses_pkce = true\n\
                 # code_challenge_method = \"S256\"\n\
                 # provider_type = \"slack\"         # microsoft, salesforce, slack\n\
                 # token_endpoint_auth_method = \"client_secret_post\"     # none, client_secret_basic, client_secret_post\n"
                .into(),
            Service::DiscoverProvider => "# Creates an OAuth provider from an MCP server's metadata.\n\
                 provider_id = \"my-mcp\"            # its unique slug; can never be changed\n\
                 name = \"My MCP server\"\n\
                 mcp_server_url = \"https://mcp.example/sse\"\n"
                .into(),
            Service::UpdateProvider(_) => {
                let mut text = "# Missing fields are not sent and don't change.\n".to_string();
                for field in UPDATE_PROVIDER {
                    text.push_str(&match field.name {
                        "client_secret" => {
                            "# client_secret = \"env:MY_PROVIDER_SECRET\"      # or file:PATH; never the secret itself\n"
                                .into()
                        }
                        "uses_pkce" => line("uses_pkce", &record["uses_pkce"], "true"),
                        name => line(name, &record[name], "\"…\""),
                    });
                }
                text
            }
            _ => String::new(),
        }
    }
}

/// A line of a template: the field as it is, or behind a `#` where it is not set, or where a mask stands for a part of it:
/// that must not be sent.
fn line(name: &str, value: &Value, instead: &str) -> String {
    match value {
        Value::String(text) if text.contains(MASK) => format!("# {name} = {value}\n"),
        // TOML writes these as JSON does.
        Value::String(_) | Value::Bool(_) | Value::Number(_) => format!("{name} = {value}\n"),
        _ => format!("# {name} = {instead}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const WITH_DOCUMENT: fn() -> Vec<Service> = || {
        vec![
            Service::CreateListener,
            Service::UpdateListener("l".into()),
            Service::CreateProvider,
            Service::DiscoverProvider,
            Service::UpdateProvider("p".into()),
        ]
    };

    #[test]
    fn templates_are_valid_and_contain_every_field() {
        let record = json!({"name": "a \"quoted\" name\n", "client_id": "c", "auth_url": "u", "token_url": null, "uses_pkce": true,
            "version": "1", "compute_config": {"k8s_namespaces": ["a", "b\\"]}});
        for what in WITH_DOCUMENT() {
            for record in [&record, &Value::Null] {
                let text = what.template(record);
                for field in what.fields() {
                    let name = field.name;
                    let forms = [
                        format!("{name} = "),
                        format!("{name}."),
                        format!("[{name}]"),
                    ];
                    assert!(
                        forms.iter().any(|form| text.contains(form)),
                        "{name}: {text}"
                    );
                }
                let change = what
                    .clone()
                    .read(&text, None)
                    .unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(change.what, what);
            }
            // The commented lines are valid TOML as well.
            let all: String = what
                .template(&Value::Null)
                .lines()
                .map(|line| {
                    let inner = line
                        .strip_prefix("# ")
                        .filter(|l| l.split(' ').nth(1) == Some("="));
                    format!("{}\n", inner.unwrap_or(line))
                })
                .collect();
            what.clone()
                .read(&all, None)
                .unwrap_or_else(|e| panic!("{e}\n{all}"));
        }
    }

    #[test]
    fn masked_values_are_not_sent() {
        let record = json!({"name": "n", "auth_url": "https://***@login.example/authorize"});
        let change = Service::UpdateProvider("p".into());
        let read = change
            .clone()
            .read(&change.template(&record), None)
            .unwrap();
        assert_eq!(
            serde_json::Value::Object(read.document.fields),
            json!({"name": "n"})
        );
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        let error = Service::CreateListener
            .read("compute_type = \"k8s\"\ncompute_idd = \"x\"\n", None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("unknown field `compute_idd`")
                && error.contains("2 |")
                && error.contains("`compute_id`?"),
            "{error}"
        );
        let error = Service::CreateProvider
            .read("provider_id = \"p\"\n", None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("the field `name` is missing"), "{error}");
        let error = Service::UpdateProvider("p".into())
            .read("client_secret = \"canary\"\n", None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("env:VARIABLE") && !error.contains("canary"),
            "{error}"
        );
    }
}
