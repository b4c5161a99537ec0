//! Documents that a user writes for a command, in TOML or JSON: parsed by a table of known fields, with errors reported at
//! their position. Secrets are given by reference; only JSON in the service's own shape may contain their values.

use super::SecretRef;
use super::error::{ConfigError, Place, nearest};
use super::node::{self, Content, Key, Node};
use super::read::{Source, mismatch, text_of};
use crate::catalog::{Field, Form};
use crate::text;
use secrecy::SecretString;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The language of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Toml,
    Json,
}

/// A parsed document. `fields` contains no secrets, so it may be shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// The fields by their names in requests, without secrets.
    pub fields: Map<String, Value>,
    /// The secrets, each under the path of its field: `["secrets", "OPENAI_API_KEY"]`.
    pub secrets: Vec<(Vec<String>, SecretRef)>,
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// The line numbers of fields, by their dotted paths.
    lines: BTreeMap<String, usize>,
}

impl Format {
    /// Returns the language of a file from its name, else from its first character.
    pub fn of(path: Option<&Path>, text: &str) -> Format {
        let ending = path
            .and_then(Path::extension)
            .and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("json") => Format::Json,
            Some("toml") => Format::Toml,
            _ if text.trim_start().starts_with('{') => Format::Json,
            _ => Format::Toml,
        }
    }
}

impl Document {
    /// Parses a document. `path` is for messages and for relative paths of secret files.
    ///
    /// # Errors
    /// The first error with its position: invalid TOML or JSON, an unknown field (with the nearest known one), a missing field,
    /// a wrong value, or a secret instead of a reference. No message repeats a secret.
    pub fn parse(
        text: &str,
        format: Format,
        path: Option<&Path>,
        fields: &[Field],
    ) -> Result<Document, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Source::discreet(text, path);
        let root = match format {
            Format::Toml => node::of_toml(&source)?,
            Format::Json => node::of_json(&source)?,
        };
        let mut reader = Reader {
            source: &source,
            format,
            document: Document::default(),
        };
        reader.hide(&root, fields);
        let at = Vec::new();
        let Content::Table(entries) = &root.value else {
            return Err(mismatch(&source, &root, "a table"));
        };
        reader.document.fields = reader.table(&at, &root, entries, fields)?;
        reader.document.path = path.map(Path::to_path_buf);
        Ok(reader.document)
    }

    /// Returns the position of a field or of its nearest parent: `deployment.toml:12: `; empty without a file.
    pub fn place(&self, field: &str) -> String {
        let Some(path) = &self.path else {
            return String::new();
        };
        let path = text::clean(&path.display().to_string()).into_owned();
        let mut at = field;
        loop {
            if let Some(line) = self.lines.get(at) {
                return format!("{path}:{line}: ");
            }
            match at.rsplit_once('.') {
                Some((outer, _)) => at = outer,
                None => return format!("{path}: "),
            }
        }
    }

    /// Returns the names of the secrets whose values are in the document.
    pub fn literal_secrets(&self) -> impl Iterator<Item = &str> {
        let literals = self
            .secrets
            .iter()
            .filter(|(_, secret)| matches!(secret, SecretRef::Literal(_)));
        literals.filter_map(|(at, _)| at.last().map(String::as_str))
    }

    /// Fetches the secrets. May read files, so don't call it on an async thread.
    ///
    /// # Errors
    /// The first that can't be read, with the position of its field.
    pub fn fetch(&self) -> Result<Vec<(Vec<String>, SecretString)>, ConfigError> {
        let fetched = self
            .secrets
            .iter()
            .map(|(at, secret)| match secret.resolve() {
                Ok(secret) => Ok((at.clone(), secret)),
                Err(error) => {
                    let field = at.join(".");
                    let (place, field) = (self.place(&field), text::clean(&field).into_owned());
                    Err(ConfigError::new(format!(
                        "{place}{field}: {}",
                        text::clean(&error.to_string())
                    )))
                }
            });
        fetched.collect()
    }
}

struct Reader<'s> {
    source: &'s Source<'s>,
    format: Format,
    document: Document,
}

impl Reader<'_> {
    /// Hides possible secrets before any message is made: values in place of references, and values of unknown fields.
    fn hide(&self, value: &Node, fields: &[Field]) {
        let Content::Table(entries) = &value.value else {
            return;
        };
        for (key, value) in entries {
            match fields
                .iter()
                .find(|field| field.is_called(&key.name))
                .map(|field| field.form)
            {
                Some(Form::Table(fields)) => self.hide(value, fields),
                Some(Form::Tables(fields)) => match &value.value {
                    Content::List(items) => items.iter().for_each(|item| self.hide(item, fields)),
                    _ => self.hide_all(value),
                },
                Some(Form::Secret | Form::Secrets | Form::Private) | None => self.hide_all(value),
                Some(_) => {}
            }
        }
    }

    fn hide_all(&self, value: &Node) {
        match &value.value {
            Content::Text(text) if self.reference(text).is_some() => {}
            Content::List(items) => items.iter().for_each(|item| self.hide_all(item)),
            Content::Table(entries) => entries.iter().for_each(|(_, value)| self.hide_all(value)),
            _ => self.source.hide(value.span.clone()),
        }
    }

    fn reference(&self, text: &str) -> Option<SecretRef> {
        SecretRef::parse(text, self.source.path.and_then(Path::parent))
    }

    fn value(&mut self, at: &[String], value: &Node, form: Form) -> Result<Value, ConfigError> {
        let source = self.source;
        Ok(match (form, &value.value) {
            (Form::Text | Form::Time, _) => text_of(source, value)?.into(),
            (Form::Word(words), Content::Text(word)) if words.contains(&word.as_str()) => {
                word.as_str().into()
            }
            (Form::Uuid, Content::Text(id)) if uuid::Uuid::parse_str(id).is_ok() => {
                id.as_str().into()
            }
            (Form::Bool, Content::Bool(b)) => (*b).into(),
            (Form::Integer(..) | Form::Number(..), Content::Number(n)) if form.takes(n) => {
                n.clone().into()
            }
            (Form::Texts, Content::List(items)) => {
                let texts = items.iter().map(|item| text_of(source, item));
                texts.collect::<Result<Vec<_>, _>>()?.into()
            }
            (Form::TextMap, Content::Table(entries)) => {
                let texts = entries.iter().map(|(key, item)| match &item.value {
                    Content::Text(text) => Ok((key.name.clone(), text.as_str().into())),
                    _ => Err(mismatch(source, item, "a text in quotes")),
                });
                texts.collect::<Result<Map<_, _>, _>>()?.into()
            }
            (Form::Table(fields), Content::Table(entries)) => {
                self.table(at, value, entries, fields)?.into()
            }
            (Form::Tables(fields), Content::List(items)) => {
                let tables = items.iter().enumerate().map(|(n, item)| {
                    let at = [at, &[n.to_string()]].concat();
                    self.value(&at, item, Form::Table(fields))
                });
                tables.collect::<Result<Vec<_>, _>>()?.into()
            }
            (Form::Open, _) => self.open(value)?,
            (Form::Private, Content::Text(text)) => text.as_str().into(),
            (Form::Secret, _) => {
                self.secret(at, value)?;
                Value::Null
            }
            (Form::Secrets, Content::Table(entries)) => {
                for (key, value) in entries {
                    let at = [at, std::slice::from_ref(&key.name)].concat();
                    self.line(&at, key);
                    self.secret(&at, value)?;
                }
                Value::Null
            }
            (Form::Secrets, Content::List(items)) if self.format == Format::Json => {
                for item in items {
                    self.named_secret(at, item)?;
                }
                Value::Null
            }
            _ => return Err(self.wrong(value, form)),
        })
    }

    /// Creates the error of a value that a field can't have.
    fn wrong(&self, value: &Node, form: Form) -> ConfigError {
        let expected = match form {
            Form::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                let expected = format!("one of {}", quoted.join(", "));
                let error = mismatch(self.source, value, &expected);
                let near = value
                    .text()
                    .and_then(|word| nearest(word, words.iter().copied()));
                return match near {
                    Some(near) => error.hint(format!("did you mean \"{near}\"?")),
                    None => error,
                };
            }
            Form::Private => {
                return self
                    .source
                    .error(value.span.clone(), "expected a text in quotes");
            }
            Form::Secrets => {
                let error = self
                    .source
                    .error(value.span.clone(), "expected a table of secrets by name");
                return error.hint(format!("for example NAME = {}", SecretRef::FORM));
            }
            Form::Uuid => "an id such as \"11111111-1111-4111-8111-111111111111\"".into(),
            Form::Bool => "true or false".into(),
            Form::Integer(..) | Form::Number(..) => form.range(),
            Form::Texts => "a list of texts such as [\"a\", \"b\"]".into(),
            Form::TextMap => "a table of texts".into(),
            Form::Tables(_) => "a list of tables".into(),
            _ => "a table".to_string(),
        };
        mismatch(self.source, value, &expected)
    }

    fn table(
        &mut self,
        at: &[String],
        whole: &Node,
        entries: &[(Key, Node)],
        fields: &[Field],
    ) -> Result<Map<String, Value>, ConfigError> {
        let source = self.source;
        let mut read: Map<String, Value> = Map::new();
        let mut given: Vec<&str> = Vec::new();
        for (key, value) in entries {
            let Some(field) = fields.iter().find(|field| field.is_called(&key.name)) else {
                return Err(self.unknown(at, key, fields));
            };
            let at = [at, &[field.name.to_string()]].concat();
            self.line(&at, key);
            if given.contains(&field.name) {
                let also = field.also.unwrap_or_default();
                let why = format!("`{}` and `{also}` are the same field", field.name);
                return Err(source.error(key.span.clone(), why).hint("keep one of them"));
            }
            if let Content::Null = value.value {
                continue;
            }
            given.push(field.name);
            let value = self.value(&at, value, field.form)?;
            if !matches!(field.form, Form::Secret | Form::Secrets) {
                read.insert(field.name.to_string(), value);
            }
        }
        let Some(field) = fields
            .iter()
            .find(|field| field.is_needed && !given.contains(&field.name))
        else {
            return Ok(read);
        };
        let why = format!("the field `{}` is missing{}", field.name, of(at));
        match at {
            // The document itself has no line.
            [] => Err(ConfigError {
                path: source.path.map(Path::to_path_buf),
                ..ConfigError::new(why)
            }),
            _ => Err(source.error(whole.span.clone(), why)),
        }
    }

    fn unknown(&self, at: &[String], key: &Key, fields: &[Field]) -> ConfigError {
        let shown = text::clean(&key.name);
        let error = self.source.error(
            key.span.clone(),
            format!("unknown field `{shown}`{}", of(at)),
        );
        let names = fields
            .iter()
            .flat_map(|field| [Some(field.name), field.also])
            .flatten();
        match nearest(&key.name, names) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => {
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                error.hint(format!("there are: {}", names.join(", ")))
            }
        }
    }

    fn secret(&mut self, at: &[String], value: &Node) -> Result<(), ConfigError> {
        if let Content::Null = value.value {
            return Ok(());
        }
        let Some(secret) = value.text().and_then(|text| self.reference(text)) else {
            let name = text::clean(at.last().map_or("", String::as_str)).into_owned();
            let why = format!("`{name}` needs a reference: secrets don't belong in a document");
            return Err(self
                .source
                .error(value.span.clone(), why)
                .hint(format!("write {}", SecretRef::FORM)));
        };
        self.document.secrets.push((at.to_vec(), secret));
        Ok(())
    }

    /// Parses a secret in the service's own shape, `{"name": …, "value": …}`.
    fn named_secret(&mut self, at: &[String], item: &Node) -> Result<(), ConfigError> {
        let source = self.source;
        let wrong = |node: &Node| {
            let why = "expected a secret as {\"name\": \"NAME\", \"value\": \"…\"}";
            Err(source.error(node.span.clone(), why))
        };
        let Content::Table(entries) = &item.value else {
            return wrong(item);
        };
        let (mut name, mut value) = (None, None);
        for (key, node) in entries {
            match key.name.as_str() {
                "name" => name = Some((key, node)),
                "value" => value = Some(node),
                _ => return wrong(item),
            }
        }
        let (Some((key, name)), Some(value)) = (name, value) else {
            return wrong(item);
        };
        let Some(name) = name.text() else {
            return wrong(name);
        };
        let at = [at, &[name.to_string()]].concat();
        self.line(&at, key);
        let secret = match value.text() {
            Some("") | None => {
                let why = format!(
                    "expected a non-empty text as the value of {}",
                    text::clean(name)
                );
                return Err(source.error(value.span.clone(), why));
            }
            Some(text) => self
                .reference(text)
                .unwrap_or_else(|| SecretRef::Literal(SecretString::from(text))),
        };
        self.document.secrets.push((at, secret));
        Ok(())
    }

    /// Returns any value as JSON.
    fn open(&self, value: &Node) -> Result<Value, ConfigError> {
        Ok(match &value.value {
            Content::Null => Value::Null,
            Content::Bool(b) => (*b).into(),
            Content::Number(n) => n.clone().into(),
            Content::Text(text) => text.as_str().into(),
            Content::List(items) => items
                .iter()
                .map(|item| self.open(item))
                .collect::<Result<Vec<_>, _>>()?
                .into(),
            Content::Table(entries) => {
                let fields = entries
                    .iter()
                    .map(|(key, value)| Ok((key.name.clone(), self.open(value)?)));
                fields
                    .collect::<Result<Map<String, Value>, ConfigError>>()?
                    .into()
            }
            Content::Other(_) => return Err(mismatch(self.source, value, "a JSON value")),
        })
    }

    fn line(&mut self, at: &[String], key: &Key) {
        self.document.lines.insert(
            at.join("."),
            Place::of(self.source.text, key.span.clone()).line,
        );
    }
}

/// ` in [source_config]`, or nothing at the root.
fn of(at: &[String]) -> String {
    if at.is_empty() {
        String::new()
    } else {
        format!(" in [{}]", text::clean(&at.join(".")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::field;
    use proptest::prelude::*;
    use secrecy::ExposeSecret;
    use serde_json::json;

    const INNER: &[Field] = &[
        field("config_path", Form::Text).or("graph_config_path"),
        field("scale", Form::Integer(0, i64::MAX)),
        field("cpu", Form::Number(0.1, 8.0)),
        field("labels", Form::TextMap),
        field(
            "env",
            Form::Tables(&[
                field("name", Form::Text).needed(),
                field("value", Form::Private),
            ]),
        ),
        field("more", Form::Open),
    ];
    const FIELDS: &[Field] = &[
        field("name", Form::Text).needed(),
        field("source", Form::Word(&["github", "external_docker"])),
        field("id", Form::Uuid),
        field("push", Form::Bool),
        field("scopes", Form::Texts),
        field("inner", Form::Table(INNER)),
        field("client_secret", Form::Secret),
        field("secrets", Form::Secrets),
    ];

    fn read(text: &str) -> Result<Document, String> {
        let path = Path::new("d.toml");
        Document::parse(text, Format::of(None, text), Some(path), FIELDS).map_err(|e| e.to_string())
    }

    #[test]
    fn toml_and_json_documents_are_equivalent() {
        let toml = read(
            "name = \"a\"\nid = \"11111111-1111-4111-8111-111111111111\"\npush = true\nscopes = [\"x\"]\nclient_secret = \"env:C\"\n\
             [secrets]\nA = \"env:B\"\n\"b.c\" = \"file:/k\"\n[inner]\ngraph_config_path = \"g.json\"\nscale = 0x10\ncpu = 1\n\
             labels = {\"app.io/x\" = \"\"}\nenv = [{name = \"E\", value = \"v\"}]\nmore = {a = [1.5, true]}\n",
        )
        .unwrap();
        let json = read(
            r#"{"name": "a", "id": "11111111-1111-4111-8111-111111111111", "push": true, "scopes": ["x"], "source": null,
                "client_secret": "env:C", "secrets": {"A": "env:B", "b.c": "file:/k"},
                "inner": {"config_path": "g.json", "scale": 16, "cpu": 1, "labels": {"app.io/x": ""},
                          "env": [{"name": "E", "value": "v"}], "more": {"a": [1.5, true]}}}"#,
        )
        .unwrap();
        assert_eq!(toml.fields, json.fields);
        assert_eq!(toml.fields["inner"]["config_path"], "g.json");
        assert_eq!(toml.fields["inner"]["more"], json!({"a": [1.5, true]}));
        assert_eq!(toml.secrets, json.secrets);
        assert_eq!(
            toml.secrets[0],
            (
                vec!["client_secret".to_string()],
                SecretRef::Env("C".into())
            )
        );
        assert_eq!(toml.secrets[2].0, ["secrets", "b.c"]);
        assert!(!toml.fields.contains_key("secrets") && !toml.fields.contains_key("client_secret"));
        assert_eq!(toml.place("inner.scale"), "d.toml:11: ");
        assert_eq!(
            (toml.place("inner.nothing"), toml.place("x")),
            ("d.toml:9: ".into(), "d.toml: ".into())
        );
    }

    #[test]
    fn errors_show_their_position() {
        for (text, message) in [
            (
                "name = \"a\"\nsorce = \"github\"",
                "d.toml:2:1: unknown field `sorce`\n  2 | sorce = ********\n    | ^^^^^\n  did you mean `source`?",
            ),
            (
                "{\n \"name\": \"a\",\n \"zzz\": 1}",
                "d.toml:3:2: unknown field `zzz`",
            ),
            (
                "name = \"a\"\n[inner]\nlables = 1",
                "d.toml:3:1: unknown field `lables` in [inner]",
            ),
            ("push = true", "d.toml: the field `name` is missing"),
            (
                "name = \"a\"\n[inner]\nenv = [{}]",
                "the field `name` is missing in [inner.env.0]\n  3 | env = [{}]\n    |        ^^",
            ),
            ("name = 3", "d.toml:1:8: expected a text in quotes, found 3"),
            ("name = \" \"", "must not be empty"),
            (
                "name = \"a\"\nsource = \"gitub\"",
                "found \"gitub\"\n  2 | source = \"gitub\"\n    |          ^^^^^^^\n  did you mean \"github\"?",
            ),
            (
                "name = \"a\"\nid = \"x\"",
                "d.toml:2:6: expected an id such as",
            ),
            (
                "name = \"a\"\npush = \"yes\"",
                "expected true or false, found \"yes\"",
            ),
            (
                "name = \"a\"\npush = 2020-01-01",
                "expected true or false, found a datetime",
            ),
            (
                "name = \"a\"\ninner.scale = -1",
                "expected a whole number, at least 0, found -1",
            ),
            (
                "name = \"a\"\ninner.cpu = 9.5",
                "expected a number from 0.1 to 8, found 9.5",
            ),
            ("name = \"a\"\ninner = []", "expected a table, found a list"),
            ("name = \"a\"\nscopes = \"x\"", "expected a list of texts"),
            (
                "name = \"a\"\nscopes = [1]",
                "d.toml:2:11: expected a text in quotes, found 1",
            ),
            (
                "name = \"a\"\ninner.config_path = \"a\"\ninner.graph_config_path = \"b\"",
                "`config_path` and `graph_config_path` are the same field",
            ),
            (
                "{\"name\": \"a\", \"name\": \"b\"}",
                "d.toml:1:15: `name` is given twice",
            ),
            ("[]", "this is not TOML"),
            (
                "{\"a\": 1,}",
                "d.toml:1:8: this is not JSON: Trailing commas are not allowed",
            ),
            ("", "d.toml: the field `name` is missing"),
            (
                "{\"name\": \"a\" \"push\": true}",
                "this is not JSON: Expected comma",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.contains(message),
                "{text}\n{error}\n-- expected: {message}"
            );
        }
    }

    #[test]
    fn json_secrets_in_the_services_shape_may_be_literal() {
        let json = r#"{"name": "a", "secrets": [{"name": "A", "value": "canary"}, {"value": "env:B", "name": "B"}]}"#;
        let document = read(json).unwrap();
        assert!(!format!("{document:?}").contains("canary"), "{document:?}");
        assert_eq!(document.literal_secrets().collect::<Vec<_>>(), ["A"]);
        assert_eq!(document.secrets[1].1, SecretRef::Env("B".into()));
        assert_eq!(document.fields.get("secrets"), None);
        let (at, secret) = &document.secrets[0];
        assert_eq!(at, &["secrets", "A"]);
        assert_eq!(secret.resolve().unwrap().expose_secret(), "canary");
        assert!(
            read(r#"{"name": "a", "secrets": [{"name": "A", "value": ""}]}"#)
                .unwrap_err()
                .contains("value of A")
        );
    }

    #[test]
    fn errors_never_repeat_secrets() {
        for text in [
            "name = \"a\"\n[secrets]\nA = \"canary words\"",
            "name = \"a\"\n[secrets]\nA = \"\"\"\ncanary\nwords\"\"\"",
            "{\"name\": \"a\", \"secrets\": {\"A\": \"canary\"}}",
            "{\"name\": 1, \"secrets\": {\"A\": \"canary\"}}",
            "{\"zzz\": \"canary\", \"name\": 1}",
            "{\"name\": 1, \"secrets\": [{\"name\": \"A\", \"value\": \"canary\"}]}",
            "{\"name\": \"a\", \"secrets\": [{\"name\": \"A\", \"value\": \"canary\", \"more\": 1}]}",
            "{\"name\": \"a\", \"secrets\": [{\"name\": \"A\", \"value\": [\"canary\"]}]}",
            "{\"name\": \"a\", \"secrets\": [{\"A\": \"canary\"}]}",
            "{\"name\": \"a\", \"secrets\": [\"canary\"]}",
            "{\"name\": \"a\", \"secrets\": \"canary\"}",
            "name = \"a\"\n[[secrets]]\nname = \"A\"\nvalue = \"canary\"",
            "name = \"a\"\nclient_secret = \"canary\"",
            "name = \"a\"\nclient_secret = [\"canary\"]",
            "name = \"a\"\nsecret.A = \"canary\"",
            "name = \"a\"\n[secrets]\nA = canary",
            "name = \"a\"\n[secrets]\nA = \"\"\"\nMIIcanary\\q\n\"\"\"",
            "{\"name\": \"a\", \"secrets\": {\"A\": \"canary}}",
            "{\"name\": \"a\", \"secrets\": {\"A\": 'canary'}}",
            "name = \"a\"\ninner.env = [{name = 1, value = \"canary\"}]",
            "name = \"a\"\nclient_secret = \"env:sk-canary\"",
        ] {
            let error = read(text).unwrap_err();
            assert!(!error.contains("canary"), "{error}");
        }
        let error = read("name = \"a\"\n[secrets]\nA = \"canary\"").unwrap_err();
        assert!(
            error.contains("d.toml:3:5: `A` needs a reference"),
            "{error}"
        );
        assert!(
            error.contains(
                "3 | A = ********\n    |     ^^^^^^^^\n  write \"env:VARIABLE\" or \"file:PATH\""
            ),
            "{error}"
        );
    }

    #[test]
    fn missing_secrets_are_named() {
        let document =
            read("name = \"a\"\n[secrets]\nA = \"env:RUNTAIL_TEST_NO_SUCH_VARIABLE\"").unwrap();
        let error = document.fetch().unwrap_err().to_string();
        assert_eq!(
            error,
            "d.toml:3: secrets.A: the environment variable RUNTAIL_TEST_NO_SUCH_VARIABLE is not set"
        );
    }

    proptest! {
        #[test]
        fn parsing_random_text_never_panics(text in "[\\[\\]{}\"'=:,.a-c\n #\\\\0-9é]{0,60}", json in any::<bool>()) {
            let format = if json { Format::Json } else { Format::Toml };
            if let Err(error) = Document::parse(&text, format, None, FIELDS) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
