//! The fields of a deployment document that a form shows. The document's text stays the draft: the form reads its fields from
//! it and writes changed ones into it, so comments and all other keys survive.

use super::fields::DEPLOYMENT;
use crate::catalog::Form;
use crate::config::ConfigError;
use crate::config::toml_fields::{not_one_text, parse, scalar, set_value};
use crate::model::{MASK, Secrets};
use crate::text;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// The dotted paths of all fields of the form, apart from secrets.
pub const SPEC_FIELDS: &[&str] = &[
    "name",
    "source",
    "display_name",
    "source_config.integration_id",
    "source_config.repo_url",
    "source_config.deployment_type",
    "source_config.build_on_push",
    "source_config.install_command",
    "source_config.build_command",
    "source_config.custom_url",
    "source_config.listener_id",
    "source_config.listener_config.k8s_namespace",
    "source_config.resource_spec.min_scale",
    "source_config.resource_spec.max_scale",
    "source_config.resource_spec.cpu",
    "source_config.resource_spec.cpu_limit",
    "source_config.resource_spec.memory_mb",
    "source_config.resource_spec.memory_limit_mb",
    "source_revision_config.repo_ref",
    "source_revision_config.langgraph_config_path",
    "source_revision_config.image_uri",
];

/// The table of secrets, and the list of those to remove.
const SECRETS: &str = "secrets";
const REMOVED: &str = super::fields::REMOVE_SECRETS;

/// The values of the form, as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpecForm {
    values: BTreeMap<&'static str, String>,
    /// The given secrets: name and reference.
    pub secrets: Vec<(String, String)>,
    /// The names of existing secrets that an update removes.
    pub removed_secrets: Vec<String>,
}

impl SpecForm {
    /// Reads the fields of a document.
    ///
    /// # Errors
    /// The document isn't valid TOML, or a field is not a single value.
    pub fn read(document: &str) -> Result<SpecForm, ConfigError> {
        let root = parse(document)?;
        let mut form = SpecForm::default();
        for path in SPEC_FIELDS {
            if let Some(item) = find(root.as_table(), path)? {
                form.set(path, scalar(item).ok_or_else(|| not_one_text(path))?);
            }
        }
        if let Some(item) = root.get(SECRETS) {
            let table = item.as_table_like().ok_or_else(|| not_one_text(SECRETS))?;
            for (name, item) in table.iter() {
                let reference = item
                    .as_str()
                    .ok_or_else(|| not_one_text(&format!("{SECRETS}.{name}")))?;
                form.secrets.push((name.to_string(), reference.to_string()));
            }
        }
        if let Some(item) = root.get(REMOVED) {
            let names = item.as_array().ok_or_else(|| not_one_text(REMOVED))?;
            let names = names.iter().map(|name| name.as_str().map(str::to_string));
            form.removed_secrets = names
                .collect::<Option<_>>()
                .ok_or_else(|| not_one_text(REMOVED))?;
        }
        Ok(form)
    }

    /// Returns the fields of a deployment's record, without secret values; secrets have names only.
    pub fn of_record(record: &Json) -> SpecForm {
        let hidden = Secrets::of_records(&[record]);
        let mut form = SpecForm::default();
        for path in SPEC_FIELDS {
            let found = record.pointer(&format!("/{}", path.replace('.', "/")));
            let value = match found {
                Some(Json::String(text)) => text.clone(),
                Some(value @ (Json::Bool(_) | Json::Number(_))) => value.to_string(),
                _ => continue,
            };
            let value = text::clean(&value).into_owned();
            if !value.contains(MASK) && hidden.scrub(&value) == value {
                form.set(path, value);
            }
        }
        let names = record["secrets"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|secret| secret["name"].as_str());
        form.secrets = names
            .map(|name| (text::clean(name).into_owned(), String::new()))
            .collect();
        form
    }

    /// Returns a field as typed; empty if it is not given.
    pub fn get(&self, path: &str) -> &str {
        self.values.get(path).map_or("", String::as_str)
    }

    /// Sets a field; an empty text leaves it out. An unknown path is ignored.
    pub fn set(&mut self, path: &str, value: impl Into<String>) {
        let Some(field) = SPEC_FIELDS.iter().find(|field| **field == path) else {
            return;
        };
        let value = value.into();
        match value.is_empty() {
            true => self.values.remove(field),
            false => self.values.insert(*field, value),
        };
    }

    /// Writes the fields that differ into a document. Everything else in it stays as it is.
    ///
    /// # Errors
    /// The document isn't valid TOML, or has a table or list where a field belongs.
    pub fn write(&self, document: &str) -> Result<String, ConfigError> {
        let before = SpecForm::read(document)?;
        if before == *self {
            return Ok(document.to_string());
        }
        let mut root = parse(document)?;
        for path in SPEC_FIELDS
            .iter()
            .filter(|path| before.get(path) != self.get(path))
        {
            put(&mut root, path, self.get(path))?;
        }
        if self.get("source") == "external_docker" && before.get("source") != "external_docker" {
            // The service requires this table for images, even if it is empty.
            table_at(root.as_table_mut(), &["source_config", "resource_spec"])?;
        }
        self.write_secrets(&before, &mut root)?;
        Ok(root.to_string())
    }

    fn write_secrets(&self, before: &SpecForm, root: &mut DocumentMut) -> Result<(), ConfigError> {
        if before.secrets != self.secrets {
            let table = table_at(root.as_table_mut(), &[SECRETS])?;
            for (name, _) in &before.secrets {
                if self.secrets.iter().all(|(kept, _)| kept != name) {
                    table.remove(name);
                }
            }
            for (name, reference) in &self.secrets {
                if before
                    .secrets
                    .iter()
                    .all(|(old, value)| old != name || value != reference)
                {
                    set_value(table, name, Value::from(reference.as_str()));
                }
            }
        }
        if before.removed_secrets != self.removed_secrets {
            match self.removed_secrets.as_slice() {
                [] => drop(root.remove(REMOVED)),
                names => set_value(
                    root.as_table_mut(),
                    REMOVED,
                    Value::Array(names.iter().collect::<Array>()),
                ),
            }
        }
        Ok(())
    }
}

/// Returns the item at a dotted path. The configuration file of a deployment has a second name.
fn find<'d>(root: &'d dyn TableLike, path: &str) -> Result<Option<&'d Item>, ConfigError> {
    let mut table = root;
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        let item = table
            .get(name)
            .or_else(|| table.get(other_name(name)?))
            .filter(|item| !item.is_none());
        let Some(item) = item else { return Ok(None) };
        if names.peek().is_none() {
            return Ok(Some(item));
        }
        table = item.as_table_like().ok_or_else(|| not_one_text(name))?;
    }
    Ok(None)
}

fn other_name(name: &str) -> Option<&'static str> {
    (name == "langgraph_config_path").then_some("graph_config_path")
}

/// Sets or removes a field.
fn put(root: &mut DocumentMut, path: &str, typed: &str) -> Result<(), ConfigError> {
    let mut names: Vec<&str> = path.split('.').collect();
    let last = names.pop().unwrap_or_default();
    if typed.is_empty() {
        if find(root.as_table(), path)?.is_some() {
            let table = table_at(root.as_table_mut(), &names)?;
            table.remove(last);
            other_name(last).map(|other| table.remove(other));
        }
        return Ok(());
    }
    let table = table_at(root.as_table_mut(), &names)?;
    let last = other_name(last)
        .filter(|other| table.contains_key(other))
        .unwrap_or(last);
    set_value(table, last, value_of(path, typed));
    Ok(())
}

/// Returns what was typed as a value. A text that doesn't fit stays a text, which the document's check then reports.
fn value_of(path: &str, typed: &str) -> Value {
    let (mut fields, mut form) = (DEPLOYMENT, Form::Text);
    for name in path.split('.') {
        let field = fields.iter().find(|field| field.name == name);
        form = field.map_or(Form::Text, |field| field.form);
        if let Form::Table(inner) = form {
            fields = inner;
        }
    }
    let fits = |value: &Value| match form {
        Form::Integer(..) | Form::Number(..) => {
            value.is_integer() || value.as_float().is_some_and(f64::is_finite)
        }
        Form::Bool => value.is_bool(),
        _ => false,
    };
    let read = typed
        .parse::<Value>()
        .ok()
        .filter(|_| typed.trim() == typed && !typed.contains('#'))
        .filter(fits);
    read.unwrap_or_else(|| Value::from(typed))
}

/// Returns a table, and creates it where there is none.
fn table_at<'d>(
    root: &'d mut dyn TableLike,
    names: &[&str],
) -> Result<&'d mut dyn TableLike, ConfigError> {
    let mut table = root;
    for name in names {
        if table.get(name).is_none_or(Item::is_none) {
            let new = match *name {
                "listener_config" => Item::Value(Value::InlineTable(InlineTable::new())),
                _ => Item::Table(headed()),
            };
            table.insert(name, new);
        }
        let item = table.get_mut(name).ok_or_else(|| not_one_text(name))?;
        table = item.as_table_like_mut().ok_or_else(|| not_one_text(name))?;
    }
    Ok(table)
}

/// Returns an empty table with a blank line before its heading.
fn headed() -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    table
}

#[cfg(test)]
mod tests {
    use super::super::DeploymentSpec;
    use super::*;
    use crate::config::Format;
    use proptest::prelude::*;
    use serde_json::json;

    const DOCUMENT: &str = "# mine\nname = \"a\" # the name\nsource = \"github\"\nunknown = [1, 2]\n\n[source_config]\n\
                            repo_url = \"https://github.com/a/b\"\nbuild_on_push = true\nlistener_config = { k8s_namespace = \"n\" }\n\n\
                            [source_config.resource_spec]\ncpu = 0.50 # half\nlabels = { a = \"b\" }\n\n[source_revision_config]\n\
                            graph_config_path = \"g.json\"\n\n[secrets]\nA = \"env:A\"\n";

    #[test]
    fn form_shows_and_changes_the_document() {
        let mut form = SpecForm::read(DOCUMENT).unwrap();
        assert_eq!(form.get("source_config.resource_spec.cpu"), "0.50");
        assert_eq!(
            form.get("source_revision_config.langgraph_config_path"),
            "g.json"
        );
        assert_eq!(form.write(DOCUMENT).unwrap(), DOCUMENT);
        form.set("name", "b");
        form.set("source_config.build_on_push", "false");
        form.set("source_config.resource_spec.max_scale", "4");
        form.set("source_revision_config.langgraph_config_path", "h.json");
        form.secrets.push(("B".into(), "file:b".into()));
        let text = form.write(DOCUMENT).unwrap();
        for line in [
            "# mine\nname = \"b\" # the name",
            "unknown = [1, 2]",
            "build_on_push = false",
            "cpu = 0.50 # half\nlabels = { a = \"b\" }\nmax_scale = 4",
            "graph_config_path = \"h.json\"",
            "A = \"env:A\"\nB = \"file:b\"",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert_eq!(SpecForm::read(&text).unwrap(), form);
    }

    #[test]
    fn form_of_an_empty_document_makes_a_valid_one() {
        let mut form = SpecForm::default();
        for (path, value) in [
            ("name", "bot"),
            ("source", "external_docker"),
            (
                "source_config.listener_id",
                "22222222-2222-4222-8222-222222222222",
            ),
            ("source_config.listener_config.k8s_namespace", "agents"),
            ("source_revision_config.image_uri", "acme/bot:1"),
        ] {
            form.set(path, value);
        }
        let text = form.write("").unwrap();
        let spec = DeploymentSpec::parse(&text, Format::Toml, None).unwrap();
        let config = &spec.document.fields["source_config"];
        assert_eq!(config["resource_spec"], json!({}), "images need it: {text}");
        assert_eq!(
            config["listener_config"],
            json!({"k8s_namespace": "agents"})
        );
        assert_eq!(SpecForm::read(&text).unwrap(), form);
    }

    #[test]
    fn documents_that_the_form_cannot_show_say_why() {
        for (text, why) in [
            ("name = [", "line 1 is not TOML"),
            ("name = [1]", "can't show `name`"),
            ("source_config = 3", "can't show `source_config`"),
            ("[[secrets]]\nname = \"A\"", "can't show `secrets`"),
            ("remove_secrets = [1]", "can't show `remove_secrets`"),
        ] {
            let error = SpecForm::read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn record_is_shown_without_secrets() {
        let record = json!({"name": "bot", "source": "github", "secrets": [{"name": "K", "value": "canary-canary"}],
            "source_config": {"repo_url": "https://x/canary-canary", "build_on_push": false, "resource_spec": {"cpu": 2}}});
        let form = SpecForm::of_record(&record);
        assert_eq!(form.get("name"), "bot");
        assert_eq!(form.get("source_config.build_on_push"), "false");
        assert_eq!(form.get("source_config.resource_spec.cpu"), "2");
        assert_eq!(form.secrets, [("K".to_string(), String::new())]);
        assert!(!format!("{form:?}").contains("canary"), "{form:?}");
    }

    fn any_form() -> impl Strategy<Value = SpecForm> {
        let value = prop_oneof![
            "[ -~é]{0,12}",
            "-?[0-9]{1,4}(\\.[0-9]{1,2})?",
            Just("true".to_string())
        ];
        let values = proptest::collection::vec(value, SPEC_FIELDS.len());
        let names = proptest::collection::btree_set("[A-Z.é \"]{1,5}", 0..4);
        (values, names, proptest::collection::vec("[A-Z]{1,3}", 0..3)).prop_map(
            |(values, names, removed)| {
                let mut form = SpecForm {
                    removed_secrets: removed,
                    ..SpecForm::default()
                };
                SPEC_FIELDS
                    .iter()
                    .zip(values)
                    .for_each(|(path, value)| form.set(path, value));
                form.secrets = names
                    .into_iter()
                    .map(|name| (name, "env:X".to_string()))
                    .collect();
                form
            },
        )
    }

    fn sorted(mut form: SpecForm) -> SpecForm {
        form.secrets.sort();
        form
    }

    proptest! {
        #[test]
        fn form_and_document_convert_without_loss(first in any_form(), second in any_form(), start in 0..2usize) {
            let text = first.write(["", DOCUMENT][start]).unwrap();
            prop_assert_eq!(sorted(SpecForm::read(&text).unwrap()), sorted(first.clone()));
            // The same form changes nothing.
            prop_assert_eq!(&SpecForm::read(&text).unwrap().write(&text).unwrap(), &text);
            let again = second.write(&text).unwrap();
            prop_assert_eq!(sorted(SpecForm::read(&again).unwrap()), sorted(second));
            if start == 1 {
                // The comment of a removed field goes with it.
                for kept in ["unknown = [1, 2]", "labels = { a = \"b\" }"] {
                    prop_assert!(again.contains(kept), "{}", again);
                }
            }
        }

        #[test]
        fn reading_random_text_never_panics(text in "[\\[\\]{}\"'=:,.a-c\n #_\\\\0-9é]{0,60}") {
            if let Ok(form) = SpecForm::read(&text) {
                prop_assert_eq!(form.write(&text).unwrap(), text);
            }
        }
    }
}
