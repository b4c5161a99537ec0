//! The input of a run: one draft that is shown as a form or as JSON. Switching loses nothing.

use crate::widgets::form::{FieldProblems, FormDraft};
use crate::widgets::text_input::Problem;
use crate::widgets::twin::Twin;
use runtail_core::exact_json;
use runtail_core::model::{Form, FormField, violations};
use serde_json::Value;

/// The first JSON text: a message of the user, with the cursor in its content.
const TEMPLATE: &str = "{\"messages\": [{\"role\": \"user\", \"content\": \"\"}]}";
/// Where the content ends, from the end of the text.
const AFTER_CONTENT: usize = 4;

/// An input that is being written.
#[derive(Debug, Clone)]
pub struct InputDraft {
    /// The schema of the chosen assistant's input.
    schema: Option<Value>,
    /// Its form, if it has one, and the input as JSON.
    pub twin: Twin<Option<FormDraft>>,
    /// The value of the JSON, or its first syntax error.
    pub parsed: Result<Value, Problem>,
    /// What of the input breaks the schema: the path and the rule.
    broken: FieldProblems,
    /// Why the input can't be checked against the schema.
    pub unchecked: Option<String>,
    is_touched: bool,
}

impl Default for InputDraft {
    fn default() -> InputDraft {
        let mut input = InputDraft {
            schema: None,
            twin: Twin::new(None, TEMPLATE),
            parsed: parse(TEMPLATE),
            broken: Vec::new(),
            unchecked: None,
            is_touched: false,
        };
        let (row, col) = input.twin.text.cursor();
        input.twin.text.set_cursor(row, col - AFTER_CONTENT);
        input
    }
}

impl InputDraft {
    /// Uses the schema of another assistant. An input that the user changed is kept.
    pub fn set_schema(&mut self, schema: Option<&Value>) {
        let form = schema.and_then(Form::of_input);
        let schema = schema.map(without_messages);
        if self.schema == schema {
            return;
        }
        let value = self.value().ok();
        self.schema = schema;
        (self.twin.written, self.twin.why_text) = (None, None);
        let was_form = !self.twin.as_text;
        self.twin.form = form.map(FormDraft::of);
        match (&self.twin.form, value) {
            (Some(_), _) if !self.is_touched => self.twin.as_text = false,
            (_, Some(value)) if was_form => self.show_value(&value),
            // JSON that was typed stays as it is, and so do fields that are not valid yet.
            (Some(_), _) => {}
            (None, _) if was_form => self.twin.show_text(String::new()),
            (None, _) => {}
        }
        self.refresh();
    }

    /// Returns the form, if it is shown.
    pub fn form(&self) -> Option<&FormDraft> {
        self.twin.shown()?.as_ref()
    }

    pub fn form_mut(&mut self) -> Option<&mut FormDraft> {
        self.twin.shown_mut()?.as_mut()
    }

    /// Returns the form whether it is shown or not.
    pub fn known_form(&self) -> Option<&Form> {
        self.twin.form.as_ref().map(|draft| &draft.form)
    }

    pub fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// Notes that the user changed something.
    pub fn touch(&mut self) {
        self.is_touched = true;
        // It is about the text before the change.
        self.twin.why_text = None;
        self.refresh();
    }

    /// Checks the input again.
    fn refresh(&mut self) {
        if self.twin.as_text {
            self.parsed = parse(&self.twin.text.text());
        }
        self.unchecked = None;
        self.broken = match (&self.schema, self.value()) {
            (Some(schema), Ok(value)) => match violations(schema, &value) {
                Ok(found) => found
                    .into_iter()
                    .map(|one| (one.path.join("."), one.rule))
                    .collect(),
                Err(why) => {
                    self.unchecked = Some(why);
                    self.missing(&value)
                }
            },
            _ => Vec::new(),
        };
    }

    /// Returns the required fields that a value lacks, where the schema itself can't be used.
    fn missing(&self, value: &Value) -> FieldProblems {
        let fields = self
            .known_form()
            .map(|form| form.fields.as_slice())
            .unwrap_or_default();
        let is_missing = |field: &&FormField| {
            field.is_required && !field.is_nullable && value.get(&field.name).is_none()
        };
        fields
            .iter()
            .filter(is_missing)
            .map(|field| (field.name.clone(), "required".to_string()))
            .collect()
    }

    /// Replaces the input: as a form if it fits one, else as JSON.
    pub fn set_value(&mut self, value: &Value) {
        self.show_value(value);
        self.refresh();
    }

    fn show_value(&mut self, value: &Value) {
        (self.twin.written, self.twin.why_text) = (None, None);
        match self.known_form().map(|form| FormDraft::filled(form, value)) {
            Some(Ok(filled)) => (self.twin.form, self.twin.as_text) = (Some(filled), false),
            other => {
                self.twin.show_text(pretty(value));
                // It is not what the form says.
                self.twin.written = None;
                self.twin.why_text = other.and_then(Result::err);
            }
        }
    }

    /// Switches between form and JSON. JSON that doesn't fit the form stays JSON, and says why.
    ///
    /// # Errors
    /// Why it stays as it is.
    pub fn turn(&mut self) -> Result<(), String> {
        let turned = match (&self.twin.form, self.twin.as_text) {
            (None, _) => {
                let why = "No form: the server has no usable schema.";
                return Err(why.into());
            }
            (Some(form), false) => {
                let text = pretty(&shown_value(form));
                self.twin.show_text(text);
                Ok(())
            }
            (Some(_), true) => self.twin.show_form(|form, text| {
                let value = parse(text).map_err(|problem| problem.to_string())?;
                if let Some(form) = form {
                    *form = FormDraft::filled(&form.form, &value)?;
                }
                Ok(())
            }),
        };
        self.refresh();
        turned
    }

    /// Returns the input.
    ///
    /// # Errors
    /// The problems of its fields, or of the JSON, whose path is empty.
    pub fn value(&self) -> Result<Value, FieldProblems> {
        match self.form().map(FormDraft::value) {
            Some((value, problems)) if problems.is_empty() => Ok(value),
            Some((_, problems)) => Err(problems),
            None => match &self.parsed {
                Ok(value) => Ok(value.clone()),
                Err(problem) => Err(vec![(String::new(), problem.to_string())]),
            },
        }
    }

    /// Returns what of the input breaks the schema: the path and the rule.
    pub fn violations(&self) -> &FieldProblems {
        &self.broken
    }

    /// Returns what the schema says about the key that is being typed in the JSON.
    pub fn rule_at_cursor(&self) -> Option<(String, String)> {
        let form = self.known_form().filter(|_| self.twin.as_text)?;
        let (before, _) = self.twin.text.around_cursor();
        let typed = before.rsplit('"').next()?;
        let is_in_text = before.matches('"').count() % 2 == 1;
        let key = if is_in_text {
            typed
        } else {
            before
                .trim_end()
                .strip_suffix(':')?
                .trim_end()
                .strip_suffix('"')?
                .rsplit('"')
                .next()?
        };
        let is_key = |name: &str| {
            if is_in_text {
                name.starts_with(key)
            } else {
                name == key
            }
        };
        let field = form
            .fields
            .iter()
            .find(|field| !key.is_empty() && is_key(&field.name))?;
        Some((field.name.clone(), field.rule.clone()))
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Returns the value of a form for JSON. A field whose text is not valid keeps it as a text.
fn shown_value(draft: &FormDraft) -> Value {
    let (mut value, problems) = draft.value();
    for (path, _) in &problems {
        let spot = draft.position(path).map(|(n, _)| (n, None));
        if let Some((field, typed)) = spot.and_then(|spot| draft.field(spot))
            && let Some(object) = value.as_object_mut()
            && typed.inner.is_none()
        {
            object.insert(field.name.clone(), typed.text.text().into());
        }
    }
    value
}

/// Parses JSON in full, so that nothing else is ever sent.
fn parse(text: &str) -> Result<Value, Problem> {
    exact_json::parse(text).map_err(|why| {
        let is_empty = text.trim().is_empty();
        let (line, column) = if is_empty { (1, 1) } else { why.place(text) };
        let message = match is_empty {
            true => "type JSON: {…}".into(),
            false => why.to_string(),
        };
        Problem {
            line,
            column,
            message,
        }
    })
}

/// Returns a schema without that of messages, which is large and doesn't describe the short form that servers accept.
fn without_messages(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove("messages");
    }
    let is_used = |key: &str| {
        schema
            .get("properties")
            .is_some_and(|rest| rest.to_string().contains(key))
    };
    if !is_used("\"$ref\"")
        && let Some(object) = schema.as_object_mut()
    {
        object.shift_remove("$defs");
    }
    schema
}
