//! The catalog of records: each field is declared once. Documents, options of the command line, templates and tables are generated
//! from it.

mod collection;
mod fields;
mod service;

use serde_json::Number;

pub use collection::{Collection, Column, GithubApp, Resource};
pub use fields::{AUTHENTICATION, CRON, DISCOVERY, LISTENER, PROVIDER};
pub use service::{Service, ServiceChange, template};

/// A field that a request and a document may have.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name in requests.
    pub name: &'static str,
    /// Its type.
    pub form: Form,
    /// An alternative name.
    pub also: Option<&'static str>,
    /// Whether it is required.
    pub is_needed: bool,
    /// The only request that has it.
    pub only: Option<Verb>,
    /// The name of its option on the command line; empty if it has none.
    pub option: &'static str,
    /// The name of the option's value.
    pub value: &'static str,
    /// The help of the option.
    pub help: &'static str,
    /// The meanings of its words.
    pub meanings: &'static [&'static str],
    /// Its value in a new document, with a comment.
    pub sample: &'static str,
}

/// What a request does with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Create,
    Update,
}

/// The type of a field. Null is the same as a missing field.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A non-empty text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An id: a UUID.
    Uuid,
    /// A time (RFC 3339), checked on the command line and by the server.
    Time,
    /// True or false.
    Bool,
    /// A whole number within these bounds.
    Integer(i64, i64),
    /// A number within these bounds.
    Number(f64, f64),
    /// A list of texts.
    Texts,
    /// A table of texts with any names.
    TextMap,
    /// A table with these fields.
    Table(&'static [Field]),
    /// A list of tables with these fields.
    Tables(&'static [Field]),
    /// Any value, checked by the server.
    Open,
    /// A text that is sent but never shown in a message.
    Private,
    /// A secret, by reference.
    Secret,
    /// A table of secrets by name, each by reference. JSON may also have the service's own shape: a list of
    /// `{"name", "value"}`, where the value may be the secret itself.
    Secrets,
}

impl Form {
    /// Returns whether a number is within the bounds.
    pub fn takes(self, number: &Number) -> bool {
        match self {
            Form::Integer(least, most) => {
                let number = number.as_i64();
                number.is_some_and(|n| (least..=most).contains(&n))
            }
            Form::Number(least, most) => {
                let number = number.as_f64();
                number.is_some_and(|n| (least..=most).contains(&n))
            }
            _ => false,
        }
    }

    /// Says which number is expected; empty if it is no number.
    pub fn range(self) -> String {
        match self {
            Form::Integer(least, i64::MAX) => format!("a whole number, at least {least}"),
            Form::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Form::Number(least, f64::MAX) => format!("a number, at least {least}"),
            Form::Number(least, most) => format!("a number from {least} to {most}"),
            _ => String::new(),
        }
    }
}

impl Field {
    /// Adds an alternative name.
    pub const fn or(self, also: &'static str) -> Field {
        Field {
            also: Some(also),
            ..self
        }
    }

    /// Makes it required in a new record.
    pub const fn needed(self) -> Field {
        Field {
            is_needed: true,
            ..self
        }
    }

    /// Restricts it to one request.
    pub const fn only(self, verb: Verb) -> Field {
        Field {
            only: Some(verb),
            ..self
        }
    }

    /// Makes it an option of the command line.
    pub const fn option(
        self,
        option: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> Field {
        Field {
            option,
            value,
            help,
            ..self
        }
    }

    /// Adds the meanings of its words to the help.
    pub const fn meanings(self, meanings: &'static [&'static str]) -> Field {
        Field { meanings, ..self }
    }

    /// Sets its value in a new document.
    pub const fn sample(self, sample: &'static str) -> Field {
        Field { sample, ..self }
    }

    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.also == Some(name)
    }
}

/// An optional field.
pub const fn field(name: &'static str, form: Form) -> Field {
    Field {
        name,
        form,
        also: None,
        is_needed: false,
        only: None,
        option: "",
        value: "",
        help: "",
        meanings: &[],
        sample: "",
    }
}

/// Returns the fields that a request may have. An update requires none.
pub fn fields_of(all: &[Field], verb: Verb) -> Vec<Field> {
    let own = all
        .iter()
        .filter(|field| field.only.is_none_or(|only| only == verb));
    own.map(|field| Field {
        is_needed: field.is_needed && verb == Verb::Create,
        ..*field
    })
    .collect()
}
