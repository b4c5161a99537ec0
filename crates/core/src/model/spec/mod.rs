//! The settings of a deployment: one documented shape for creating and updating, parsed from TOML or JSON, or assembled from
//! options of the command line.

mod body;
mod check;
mod fields;
mod form;
mod secrets;
mod template;

pub use body::Fetched;
pub use check::Installation;
pub use form::{SPEC_FIELDS, SpecForm};

use crate::config::{ConfigError, Document, Format, SecretRef};
use serde_json::{Map, Value};
use std::path::Path;

/// The settings of a deployment. Secrets are references, so it may be kept and shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeploymentSpec {
    /// The given fields, by their names in requests.
    pub document: Document,
    /// Secrets that an update removes.
    pub remove_secrets: Vec<String>,
    /// Whether all secrets that are not given are removed. Otherwise an update keeps them.
    pub replace_secrets: bool,
}

impl DeploymentSpec {
    /// The document of a new deployment. It has only the usual choices, and no name that exists elsewhere.
    pub const NEW: &str = include_str!("../../../assets/new-deployment.toml");

    /// Reads a document; see [`Document::parse`].
    ///
    /// # Errors
    /// The first mistake, at its place.
    pub fn parse(
        text: &str,
        format: Format,
        path: Option<&Path>,
    ) -> Result<DeploymentSpec, ConfigError> {
        let mut document = Document::parse(text, format, path, fields::DEPLOYMENT)?;
        let replace_secrets =
            document.fields.remove(fields::REPLACE_SECRETS) == Some(Value::Bool(true));
        let removed = document
            .fields
            .remove(fields::REMOVE_SECRETS)
            .unwrap_or_default();
        let removed = removed.as_array().into_iter().flatten();
        let remove_secrets = removed
            .filter_map(|name| name.as_str().map(str::to_string))
            .collect();
        Ok(DeploymentSpec {
            document,
            remove_secrets,
            replace_secrets,
        })
    }

    /// Sets a field over what the document says: `["source_config", "build_on_push"]`.
    pub fn set(&mut self, at: [&str; 2], value: Value) {
        let [table, field] = at;
        let fields = &mut self.document.fields;
        if table.is_empty() {
            fields.insert(field.into(), value);
        } else if let Value::Object(inner) =
            fields.entry(table).or_insert_with(|| Map::new().into())
        {
            inner.insert(field.into(), value);
        }
    }

    /// Sets `source_config.resource_spec` from JSON, checked as in a document. `title` says where the text came from.
    ///
    /// # Errors
    /// The first mistake, at its place.
    pub fn set_resources(&mut self, text: &str, title: &Path) -> Result<(), ConfigError> {
        let read = Document::parse(text, Format::Json, Some(title), fields::RESOURCE_SPEC)?;
        self.set(["source_config", "resource_spec"], read.fields.into());
        Ok(())
    }

    /// Says where a secret is, over what the document says.
    pub fn set_secret(&mut self, name: &str, secret: SecretRef) {
        let at = vec!["secrets".to_string(), name.to_string()];
        self.document.secrets.retain(|(other, _)| *other != at);
        self.document.secrets.push((at, secret));
    }

    /// Whether nothing at all is given.
    pub fn is_empty(&self) -> bool {
        let DeploymentSpec {
            document,
            remove_secrets,
            replace_secrets,
        } = self;
        document.fields.is_empty()
            && document.secrets.is_empty()
            && remove_secrets.is_empty()
            && !replace_secrets
    }

    /// A field; null where it is not given.
    fn field(&self, at: [&str; 2]) -> &Value {
        let fields = &self.document.fields;
        let [table, field] = at;
        let found = if table.is_empty() {
            fields.get(field)
        } else {
            fields.get(table).and_then(|t| t.get(field))
        };
        found.unwrap_or(&Value::Null)
    }

    /// The names of the secrets that are given.
    fn secret_names(&self) -> impl Iterator<Item = &str> {
        self.document
            .secrets
            .iter()
            .filter_map(|(at, _)| at.last().map(String::as_str))
    }
}

#[cfg(test)]
mod tests;
