//! Forms that a person fills in: the fields' drafts, and the keys in them. The answer card and the composer share them.

use super::text_input::TextInput;
use crate::input::key::{Code, Key};
use runtail_core::model::{FieldKind, Form, FormField};
use runtail_core::text;
use serde_json::Value;

/// What is typed or chosen in a field.
#[derive(Debug, Clone, Default)]
pub struct FieldDraft {
    pub text: TextInput,
    /// The index of the chosen option, or 0 for yes and 1 for no.
    pub choice: Option<usize>,
    /// The form of an object.
    pub inner: Option<Box<FormDraft>>,
    /// Whether the form of an object is unfolded.
    pub is_open: bool,
    /// Whether the field has lost the focus once; problems are shown from then on.
    pub was_left: bool,
}

/// A form with what is typed in its fields.
#[derive(Debug, Clone)]
pub struct FormDraft {
    pub form: Form,
    pub fields: Vec<FieldDraft>,
}

/// The problems of a form: the path of a field, and what it must be.
pub type FieldProblems = Vec<(String, String)>;

/// The part of a draft that keys change.
pub enum FieldInput<'a> {
    /// A text, and whether it may have several lines.
    Text(&'a mut TextInput, bool),
    /// A choice, the number of its options, and whether they are yes and no.
    Choice(&'a mut Option<usize>, usize, bool),
    Other,
}

impl FieldDraft {
    /// Returns the draft of a field with its initial value.
    pub fn of(field: &FormField) -> FieldDraft {
        match (&field.kind, &field.initial) {
            (FieldKind::Object(form), _) => FieldDraft {
                inner: Some(Box::new(FormDraft::of((**form).clone()))),
                ..FieldDraft::default()
            },
            (_, None) => FieldDraft::default(),
            (FieldKind::Boolean, Some(value)) => FieldDraft {
                choice: value.as_bool().map(|yes| usize::from(!yes)),
                ..FieldDraft::default()
            },
            (FieldKind::Choice(values), Some(value)) => FieldDraft {
                choice: values.iter().position(|one| one == value),
                ..FieldDraft::default()
            },
            (_, Some(value)) => FieldDraft {
                text: TextInput::new(&field.text_of(value)),
                ..FieldDraft::default()
            },
        }
    }

    /// Returns the draft that means this value; `None` means that the field is left out.
    fn filled(field: &FormField, value: Option<&Value>) -> Result<FieldDraft, String> {
        let Some(value) =
            value.filter(|value| !(value.is_null() && field.is_required && field.is_nullable))
        else {
            return Ok(FieldDraft::of(&FormField {
                initial: None,
                ..field.clone()
            }));
        };
        let rule = match &field.kind {
            FieldKind::Boolean if !value.is_boolean() => "is neither true nor false",
            FieldKind::Choice(values) if !values.contains(value) => "is none of the choices",
            FieldKind::Integer | FieldKind::Number if !value.is_number() => "is not a number",
            FieldKind::Text if !value.is_string() => "is not a text",
            FieldKind::List(_) if !value.is_array() => "is not a list",
            FieldKind::Message if field.text_of(value).is_empty() => {
                "is more than one text of the user"
            }
            FieldKind::Object(form) => {
                let inner = Some(Box::new(FormDraft::filled(form, value)?));
                return Ok(FieldDraft {
                    inner,
                    ..FieldDraft::default()
                });
            }
            _ => {
                return Ok(FieldDraft::of(&FormField {
                    initial: Some(value.clone()),
                    ..field.clone()
                }));
            }
        };
        Err(rule.into())
    }

    /// Returns the value, or `None` if the field is left out.
    pub fn value(&self, field: &FormField) -> Result<Option<Value>, FieldProblems> {
        match (&field.kind, &self.inner) {
            (FieldKind::Boolean, _) => Ok(self.choice.map(|choice| Value::Bool(choice == 0))),
            (FieldKind::Choice(values), _) => {
                Ok(self.choice.and_then(|choice| values.get(choice).cloned()))
            }
            (FieldKind::Object(_), Some(inner)) => {
                let (value, problems) = inner.value();
                if !problems.is_empty() {
                    return Err(problems);
                }
                // An object that was not filled in is left out, although its fields may have defaults.
                let is_meant = field.is_required || !inner.is_initial(&value);
                Ok(is_meant.then_some(value))
            }
            _ => field
                .value_of(&self.text.text())
                .map_err(|rule| vec![(String::new(), rule)]),
        }
    }

    /// Returns whether the value differs from the initial one.
    pub fn is_changed(&self, field: &FormField) -> bool {
        self.value(field) != Ok(field.initial.clone())
    }

    /// Returns the part that keys change.
    pub fn input(&mut self, field: &FormField) -> FieldInput<'_> {
        match &field.kind {
            FieldKind::Boolean => FieldInput::Choice(&mut self.choice, 2, true),
            FieldKind::Choice(values) => FieldInput::Choice(&mut self.choice, values.len(), false),
            FieldKind::Message | FieldKind::List(_) => FieldInput::Text(&mut self.text, true),
            FieldKind::Object(_) => FieldInput::Other,
            FieldKind::Json | FieldKind::Integer | FieldKind::Number | FieldKind::Text => {
                FieldInput::Text(&mut self.text, false)
            }
        }
    }
}

impl FormDraft {
    /// Returns the draft of a form with its initial values.
    pub fn of(form: Form) -> FormDraft {
        let fields = form.fields.iter().map(FieldDraft::of).collect();
        FormDraft { form, fields }
    }

    /// Returns the draft whose value is exactly this one.
    ///
    /// # Errors
    /// Why the form can't show the value without a change.
    pub fn filled(form: &Form, value: &Value) -> Result<FormDraft, String> {
        let Some(object) = value.as_object() else {
            return Err("it is not an object".into());
        };
        if let Some(key) = object
            .keys()
            .find(|key| form.fields.iter().all(|field| field.name != **key))
        {
            return Err(format!("it has no field for {}", text::seen(key, 60)));
        }
        let fields = form.fields.iter().map(|field| {
            let name = || text::seen(&field.name, 60);
            FieldDraft::filled(field, object.get(&field.name))
                .map_err(|rule| format!("{} {rule}", name()))
        });
        let draft = FormDraft {
            form: form.clone(),
            fields: fields.collect::<Result<_, _>>()?,
        };
        let (shown, problems) = draft.value();
        if let Some((path, rule)) = problems.first() {
            return Err(format!("{} {rule}", text::seen(path, 60)));
        }
        let differs = |field: &&FormField| shown.get(&field.name) != value.get(&field.name);
        match form.fields.iter().find(differs) {
            Some(field) => Err(format!(
                "{} would be left out or changed",
                text::seen(&field.name, 60)
            )),
            None => Ok(draft),
        }
    }

    /// Returns the value as far as it is valid, and the problems of the other fields.
    pub fn value(&self) -> (Value, FieldProblems) {
        let (values, problems) = entries(&self.form, &self.fields);
        (self.form.value(values), problems)
    }

    fn is_initial(&self, value: &Value) -> bool {
        FormDraft::of(self.form.clone()).value().0 == *value
    }
}

/// Returns the values of a form's fields, and their problems. Those of the fields of an object have its name before theirs.
pub fn entries(form: &Form, fields: &[FieldDraft]) -> (Vec<Option<Value>>, FieldProblems) {
    let mut problems = Vec::new();
    let values = form.fields.iter().zip(fields).map(|(field, draft)| {
        draft.value(field).unwrap_or_else(|inner| {
            problems.extend(inner.into_iter().map(|(path, rule)| match path.as_str() {
                "" => (field.name.clone(), rule),
                path => (format!("{}.{path}", field.name), rule),
            }));
            None
        })
    });
    let values = values.collect();
    (values, problems)
}

/// Handles a key on a choice. Returns whether it changed.
pub fn choose(choice: &mut Option<usize>, count: usize, is_yes_or_no: bool, key: Key) -> bool {
    let next = match key.code {
        Code::Char(' ') | Code::Right => Some(choice.map_or(0, |at| (at + 1) % count)),
        Code::Left => Some(choice.map_or(count - 1, |at| (at + count - 1) % count)),
        Code::Char('y') if is_yes_or_no => Some(0),
        Code::Char('n') if is_yes_or_no => Some(1),
        Code::Backspace | Code::Delete => None,
        _ => return false,
    };
    std::mem::replace(choice, next) != next
}
