//! The document of an existing deployment, for the editor.

use super::{DeploymentSpec, fields};
use crate::catalog::Field;
use crate::config::Format;
use crate::model::{MASK, Secrets};
use crate::text;
use serde_json::Value;

const HEAD: &str = "\
# Edit the settings to change; unchanged settings are not sent.
# You see a preview of the request and its consequences before anything is sent.
";
const SECRETS_OF_OURS: &str = "
# Secrets are kept unless you list secrets to remove, or replace the whole set.
# remove_secrets = [\"NAME\"]
# replace_secrets = true
";
const REVISION: &str = "
# Uncommented lines are always sent and create a new revision, because the branch may have new commits.
";
const SECRETS: &str = "
# Secrets to add or to change, by reference only: \"env:VARIABLE\" or \"file:PATH\".
[secrets]
# NAME = \"env:VARIABLE\"
";

impl DeploymentSpec {
    /// A commented document of what a record says today. Of secrets it holds the names alone. As it is it changes nothing.
    pub fn template_of(record: &Value) -> String {
        let secrets = Secrets::of_records(&[record]);
        let name = text::clean(record["name"].as_str().unwrap_or_default());
        let source = text::clean(record["source"].as_str().unwrap_or("an unknown source"));
        let mut out = format!("# {name} ({source})\n{HEAD}\n");
        for field in ["display_name", "route_through_gateway"] {
            match line(field, &record[field]) {
                Some(line) => out += &line,
                None => {
                    out += &format!(
                        "# {field} = {}\n",
                        if field == "display_name" {
                            "\"…\""
                        } else {
                            "true"
                        }
                    )
                }
            }
        }
        out += SECRETS_OF_OURS;
        out += "\n[source_config]\n";
        let config = &record["source_config"];
        let shown =
            |field: &&Field| field.name != "resource_spec" && field.name != "listener_config";
        for field in fields::SOURCE_CONFIG.iter().filter(shown) {
            let never = super::check::IMMUTABLE.contains(&field.name) || field.name == "repo_url";
            // The service sets the address itself but for images.
            let is_set_there = field.name == "custom_url" && record["source"] != "external_docker";
            let mark = if never || is_set_there {
                "# (cannot be changed) "
            } else {
                ""
            };
            out += &line(field.name, &config[field.name])
                .map(|line| without(&secrets, mark, &line))
                .unwrap_or_default();
        }
        out += &resources(&config["resource_spec"], &secrets);
        out += REVISION;
        out += "# [source_revision_config]\n";
        let revision = &record["source_revision_config"];
        for field in fields::SOURCE_REVISION_CONFIG {
            out += &line(field.name, &revision[field.name])
                .map(|line| format!("# {line}"))
                .unwrap_or_default();
        }
        out += SECRETS;
        let secrets = record["secrets"].as_array().into_iter().flatten();
        let names: Vec<String> = secrets
            .map(|s| text::clean(s["name"].as_str().unwrap_or("?")).into_owned())
            .collect();
        out += &match names.as_slice() {
            [] => "# There are none now.\n".to_string(),
            names => format!("# Existing: {}\n", names.join(", ")),
        };
        // What the server says may be more than the document takes: then nothing of it is given, only shown.
        match DeploymentSpec::parse(&out, Format::Toml, None) {
            Ok(_) => out,
            Err(_) => out.lines().map(|line| commented(line) + "\n").collect(),
        }
    }
}

/// The resources as a table of their own. What is given replaces the whole, so what the document cannot say, or should not
/// show, makes all of it a comment.
fn resources(spec: &Value, secrets: &Secrets) -> String {
    let Some(spec) = spec.as_object() else {
        return "\n# Resources replace the whole existing set.\n# [source_config.resource_spec]\n# cpu = 1\n".into();
    };
    let set: Vec<(&String, &Value)> = spec.iter().filter(|(_, value)| !value.is_null()).collect();
    let is_known = |name: &str| fields::RESOURCE_SPEC.iter().any(|field| field.name == name);
    let is_plain =
        |name: &str, value: &Value| is_known(name) && !value.to_string().contains("\"env\"");
    let is_open = |line: &String| secrets.scrub(line) == *line;
    let lines: Vec<Option<String>> = set
        .iter()
        .map(|(name, value)| {
            line(name, value)
                .filter(is_open)
                .filter(|_| is_plain(name, value))
        })
        .collect();
    let can_be_given = lines.iter().all(Option::is_some);
    let mut out = "\n# Resources replace the whole set: removing a line unsets it.\n".to_string();
    if !can_be_given {
        out = "\n# Some existing resources can't be shown here. Given resources replace all of them.\n".to_string();
    }
    let mark = if can_be_given { "" } else { "# " };
    out += &format!("{mark}[source_config.resource_spec]\n");
    lines
        .into_iter()
        .flatten()
        .for_each(|line| out += &format!("{mark}{line}"));
    out
}

/// A line after its mark. One that repeats a secret is shown without it, and after a mark: as it is shown it must not be
/// sent.
fn without(secrets: &Secrets, mark: &str, line: &str) -> String {
    match secrets.scrub(line) {
        // A key of the profile was taken out before this.
        open if open == line && !line.contains(MASK) => format!("{mark}{line}"),
        masked => format!("# (contains a secret) {masked}"),
    }
}

/// `name = value` in TOML; nothing where there is none.
fn line(name: &str, value: &Value) -> Option<String> {
    let value = match value {
        Value::Null => return None,
        Value::String(text) if text.trim().is_empty() => return None,
        value => written(&toml::Value::try_from(value).ok()?),
    };
    Some(format!("{name} = {value}\n"))
}

/// A value on one line, whatever is in it: a second line would not follow the mark of the first, and be a field.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Array(items) => format!(
            "[{}]",
            items.iter().map(written).collect::<Vec<_>>().join(", ")
        ),
        toml::Value::Table(fields) => {
            let is_bare = |name: &str| {
                !name.is_empty()
                    && name
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
            };
            let key = |name: &str| {
                if is_bare(name) {
                    name.to_string()
                } else {
                    quoted(name)
                }
            };
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), written(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A text in quotes. What would not be seen, or turn the line round, is written as its number.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if text::is_harmless(c) => out.push(c),
            c => out.push_str(&format!("\\U{:08X}", c as u32)),
        }
    }
    out.push('"');
    out
}

fn commented(line: &str) -> String {
    if line.is_empty() || line.starts_with('#') {
        line.into()
    } else {
        format!("# {line}")
    }
}
