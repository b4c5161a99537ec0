//! The fields of a record as options of a command, generated from the catalog.

use crate::prelude::*;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use runtail_core::catalog::{Field, Form, Verb, fields_of};
use runtail_core::config::{Document, SecretRef};
use serde_json::Map;
use std::fmt::Debug;
use std::marker::PhantomData;
use uuid::Uuid;

/// A kind of record.
pub trait Kind: Debug + Clone + Send + Sync + 'static {
    const FIELDS: &'static [Field];
}

/// The options for the fields of a new record (`NEW`), or of an update. In a command with `--file`, they replace it.
#[derive(Debug, Clone)]
pub struct Fields<K, const NEW: bool>(ArgMatches, PhantomData<K>);

impl<K: Kind, const NEW: bool> FromArgMatches for Fields<K, NEW> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Fields(matches.clone(), PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl<K: Kind, const NEW: bool> Args for Fields<K, NEW> {
    fn augment_args(command: Command) -> Command {
        let has_file = command.get_arguments().any(|arg| arg.get_id() == "file");
        let all = Self::all();
        let leaves = all.iter().flat_map(|field| match field.form {
            Form::Table(inner) => inner,
            _ => std::slice::from_ref(field),
        });
        let options = leaves
            .filter(|field| !field.option.is_empty())
            .map(|field| {
                let is_needed = field.is_needed && !matches!(field.form, Form::Texts);
                match has_file {
                    false => option(field).required(is_needed),
                    true if is_needed => option(field)
                        .required_unless_present("file")
                        .conflicts_with("file"),
                    true => option(field).conflicts_with("file"),
                }
            });
        let options: Vec<Arg> = options.collect();
        command.args(options)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the option for a field.
fn option(field: &Field) -> Arg {
    let arg = Arg::new(field.option)
        .long(field.option)
        .value_name(field.value)
        .help(field.help);
    match field.form {
        Form::Bool => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(["true", "false"]),
        Form::Texts => arg.action(ArgAction::Append),
        Form::Uuid => arg.value_parser(|text: &str| Uuid::parse_str(text).map(|id| id.to_string())),
        Form::Time => arg.value_parser(time),
        Form::Word(words) => {
            let value = |(n, word): (usize, &&'static str)| {
                PossibleValue::new(*word).help(field.meanings.get(n).copied().unwrap_or_default())
            };
            let values = words.iter().enumerate().map(value);
            arg.value_parser(PossibleValuesParser::new(values))
                .hide_possible_values(field.meanings.is_empty())
        }
        Form::Text => arg.value_parser(filled),
        form @ (Form::Integer(..) | Form::Number(..)) => arg.value_parser(move |text: &str| {
            let number = serde_json::from_str(text);
            match number.is_ok_and(|number| form.takes(&number)) {
                true => Ok(text.to_string()),
                false => Err(format!("expected {}", form.range())),
            }
        }),
        // The error of a value parser would show the secret.
        Form::Secret => arg,
        // JSON, which is read when the command runs.
        Form::Open
        | Form::TextMap
        | Form::Table(_)
        | Form::Tables(_)
        | Form::Private
        | Form::Secrets => arg,
    }
}

impl<K: Kind, const NEW: bool> Fields<K, NEW> {
    fn all() -> Vec<Field> {
        fields_of(K::FIELDS, if NEW { Verb::Create } else { Verb::Update })
    }

    /// Returns the given fields.
    pub async fn document(&self) -> Result<Document, Failure> {
        let mut document = Document::default();
        for field in Self::all() {
            let value = match field.form {
                Form::Table(inner) => {
                    let mut table = Map::new();
                    for leaf in inner {
                        let value = self.value(leaf).await?;
                        table.extend(value.map(|value| (leaf.name.to_string(), value)));
                    }
                    (field.is_needed || !table.is_empty()).then(|| table.into())
                }
                Form::Secret => {
                    if let Some(given) = self.given(&field).first() {
                        let reference = secret(&format!("--{}", field.option), "", given)?;
                        document.secrets.push((vec![field.name.into()], reference));
                    }
                    None
                }
                _ => self.value(&field).await?,
            };
            let value = value.map(|value| (field.name.to_string(), value));
            document.fields.extend(value);
        }
        Ok(document)
    }

    fn given(&self, field: &Field) -> Vec<&String> {
        let values = self.0.try_get_many(field.option).ok().flatten();
        values.into_iter().flatten().collect()
    }

    /// Returns the value of a field. A required list may be empty, and the only word of a field needs no option.
    async fn value(&self, field: &Field) -> Result<Option<Value>, Failure> {
        let given = self.given(field);
        Ok(match (field.form, given.as_slice()) {
            (Form::Texts, given) => (field.is_needed || !given.is_empty()).then(|| json!(given)),
            (Form::Word([only]), []) => field.is_needed.then(|| json!(only)),
            (_, []) => None,
            (Form::Bool, [text, ..]) => Some(json!(*text == "true")),
            (Form::Text | Form::Word(_) | Form::Uuid | Form::Time | Form::Secret, [text, ..]) => {
                Some(json!(text))
            }
            (form, [text, ..]) => {
                let option = format!("--{}", field.option);
                let value = input::json(&option, text).await?;
                let is_text_map = || {
                    value
                        .as_object()
                        .is_some_and(|map| map.values().all(Value::is_string))
                };
                if matches!(form, Form::TextMap) && !is_text_map() {
                    let needed = format!("{option} needs a JSON object of texts");
                    return Err(Failure::usage(needed));
                }
                Some(value)
            }
        })
    }
}

/// Parses one of some words, each with its meaning.
pub fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    word: fn(T) -> &'static str,
    meanings: [&'static str; N],
) -> impl TypedValueParser<Value = T> {
    let value = |(one, meaning)| PossibleValue::new(word(one)).help(meaning);
    let values: Vec<_> = all.into_iter().zip(meanings).map(value).collect();
    PossibleValuesParser::new(values).try_map(move |given| {
        let meant = all.into_iter().find(|one| word(*one) == given);
        meant.ok_or("expected one of the words")
    })
}

/// Parses a non-empty text.
pub fn filled(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("expected a text".into())
    } else {
        Ok(text.to_string())
    }
}

fn time(text: &str) -> Result<String, String> {
    let time = text.parse().map(|time: Timestamp| time.to_string());
    time.map_err(|_| "expected a time such as 2027-01-01T00:00:00Z".into())
}

/// Parses the reference of a secret. Anything else may be the secret itself, so the error doesn't repeat it. `name`: what
/// precedes it, such as `NAME=`.
pub fn secret(option: &str, name: &str, given: &str) -> Result<SecretRef, Failure> {
    SecretRef::parse(given, None).ok_or_else(|| {
        Failure::usage(format!(
            "{} needs a reference: {name}env:VARIABLE or {name}file:PATH\n  \
             secrets are never passed as arguments, because other users can read those",
            text::clean(option)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_core::catalog::field;

    #[derive(Debug, Clone)]
    struct Made;

    impl Kind for Made {
        const FIELDS: &'static [Field] = &[
            field("kept", Form::Integer(1, i64::MAX)).option("kept", "N", ""),
            field("share", Form::Number(0.0, 1.0)).option("share", "N", ""),
            field("labels", Form::TextMap).option("labels", "JSON", ""),
            field("note", Form::Text).option("note", "TEXT", ""),
        ];
    }

    async fn sent(option: &str, value: &str) -> Result<Value, String> {
        let command = Fields::<Made, true>::augment_args(Command::new("x"));
        let matches = command.try_get_matches_from(["x", option, value]);
        let matches = matches.map_err(|error| error.to_string())?;
        let fields = Fields::<Made, true>(matches, PhantomData).document().await;
        let fields = fields.map_err(|failure| failure.message)?.fields;
        Ok(fields.into())
    }

    #[tokio::test]
    async fn each_field_is_sent_as_its_type() {
        for (option, value, expected) in [
            ("--kept", "5", json!({"kept": 5})),
            ("--share", "0.5", json!({"share": 0.5})),
            (
                "--labels",
                r#"{"team": "a"}"#,
                json!({"labels": {"team": "a"}}),
            ),
            ("--note", "5", json!({"note": "5"})),
        ] {
            assert_eq!(sent(option, value).await, Ok(expected), "{option}");
        }
        for (option, value, expected) in [
            ("--kept", "0", "expected a whole number, at least 1"),
            ("--kept", "many", "expected a whole number, at least 1"),
            ("--share", "2", "expected a number from 0 to 1"),
            ("--labels", r#"{"team": 1}"#, "needs a JSON object of texts"),
            ("--note", " ", "expected a text"),
        ] {
            let refused = sent(option, value).await.unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
