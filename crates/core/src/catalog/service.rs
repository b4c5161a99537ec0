//! Changes of listeners, OAuth providers and tokens (control-plane reference §2): their fields and documents.

use super::{DISCOVERY, Field, Form, LISTENER, PROVIDER, Verb, fields_of};
use crate::config::{ConfigError, Document, Format};
use crate::secret::MASK;
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

impl Service {
    /// The fields of its body; none where it has none.
    pub fn fields(&self) -> Vec<Field> {
        match self {
            Service::CreateListener => fields_of(LISTENER, Verb::Create),
            Service::UpdateListener(_) => fields_of(LISTENER, Verb::Update),
            Service::CreateProvider => fields_of(PROVIDER, Verb::Create),
            Service::DiscoverProvider => DISCOVERY.into(),
            Service::UpdateProvider(_) => fields_of(PROVIDER, Verb::Update),
            _ => Vec::new(),
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
        let document = Document::parse(text, Format::of(path, text), path, &self.fields())?;
        Ok(ServiceChange {
            what: self,
            document,
        })
    }

    /// A document to begin from, with every field: those of the record as it is now where there is one. What is changed by
    /// deleting has none.
    pub fn template(&self, record: &Value) -> String {
        let head = match self {
            Service::CreateListener => "A listener runs deployments on your own cluster.",
            Service::UpdateListener(_) => {
                "Lines that start with # are not sent and don't change; the list of namespaces is replaced."
            }
            Service::CreateProvider => {
                "An OAuth provider. Lines that start with # are not sent; the server's defaults apply."
            }
            Service::DiscoverProvider => "Creates an OAuth provider from an MCP server's metadata.",
            Service::UpdateProvider(_) => "Missing fields are not sent and don't change.",
            _ => return String::new(),
        };
        let (verb, record) = match self {
            Service::UpdateListener(_) | Service::UpdateProvider(_) => (Verb::Update, record),
            _ => (Verb::Create, &Value::Null),
        };
        format!("# {head}\n{}", template(&self.fields(), verb, record))
    }
}

/// Returns the lines of a document with every field: as the record has it, or behind a `#` where it may be left out. Tables
/// are last.
pub fn template(fields: &[Field], verb: Verb, record: &Value) -> String {
    let (mut lines, mut tables) = (String::new(), String::new());
    for field in fields {
        let (name, value) = (field.name, &record[field.name]);
        match field.form {
            Form::Table(inner) if verb == Verb::Update => {
                for line in template(inner, verb, value).lines() {
                    let (mark, line) = line.split_at(if line.starts_with("# ") { 2 } else { 0 });
                    tables.push_str(&format!("{mark}{name}.{line}\n"));
                }
            }
            Form::Table(inner) => {
                tables.push_str(&format!("\n[{name}]\n"));
                inner.iter().for_each(|field| {
                    tables.push_str(&format!("{} = {}\n", field.name, field.sample))
                });
            }
            _ => lines.push_str(&line(field, verb, value)),
        }
    }
    lines + &tables
}

/// A line of a template: the field as it is, or behind a `#` where it is not set, or where a mask stands for a part of it:
/// that must not be sent.
fn line(field: &Field, verb: Verb, value: &Value) -> String {
    let name = field.name;
    match value {
        // A secret is never written out, whatever the record has.
        _ if matches!(field.form, Form::Secret | Form::Secrets) => {
            format!("# {name} = {}\n", field.sample)
        }
        Value::String(text) if text.contains(MASK) => format!("# {name} = {value}\n"),
        // TOML writes these as JSON does.
        Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            format!("{name} = {value}\n")
        }
        _ if field.is_needed => format!("{name} = {}\n", field.sample),
        _ if verb == Verb::Update && matches!(field.form, Form::Text) => {
            format!("# {name} = \"…\"\n")
        }
        _ => format!("# {name} = {}\n", field.sample),
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
