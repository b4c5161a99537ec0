//! Forms that a person fills in: the fields' drafts, and the keys in them.

use super::form_lines::FormLines;
use super::text_input::TextInput;
use crate::input::key::{Code, Key};
use runtail_core::model::{FieldKind, Form, FormField};
use runtail_core::text;
use serde_json::{Map, Value};

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

/// The place of a field in a form: its index, and the index of a field in its own form.
pub type Spot = (usize, Option<usize>);

/// The part of a draft that keys change.
pub enum FieldInput<'a> {
    /// A text, and whether it may have several lines.
    Text(&'a mut TextInput, bool),
    /// A choice, the number of its options, and whether they are yes and no.
    Choice(&'a mut Option<usize>, usize, bool),
    /// An object with a form of its own.
    Object(&'a mut FormField, &'a mut FieldDraft),
    Other,
}

/// The visible part of a form that is longer than its window.
#[derive(Debug, Clone)]
pub struct FormScroll<S> {
    /// The first visible line.
    pub top: usize,
    /// Whether keys scroll it by pages.
    pub has_pages: bool,
    /// The window and the focus at the last [`FormScroll::clamp`].
    last: Option<(usize, S)>,
}

impl<S: PartialEq> FormScroll<S> {
    /// Creates the window at the first line.
    pub fn new(has_pages: bool) -> FormScroll<S> {
        FormScroll {
            top: 0,
            has_pages,
            last: None,
        }
    }

    /// Scrolls the focus into view.
    pub fn clamp(&mut self, drawn: &FormLines, focus: S, height: usize) {
        let (from, to) = drawn.focus;
        let has_moved = self.last.as_ref().is_none_or(|(top, at)| {
            // Scrolling by pages must not jump back, so only a change of the focus moves the window.
            *at != focus || *top != self.top && !self.has_pages
        });
        if has_moved {
            if to > self.top + height {
                self.top = to - height;
            }
            let is_at_start = match self.has_pages {
                // The heading stays visible with the first field, even if the lines below it have no room.
                true => from <= height / 2 && (to <= height || to - from > height),
                false => to <= height,
            };
            self.top = if is_at_start { 0 } else { self.top.min(from) };
        }
        self.top = self.top.min(drawn.lines.len().saturating_sub(height));
        self.last = Some((self.top, focus));
    }
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
    pub fn filled(field: &FormField, value: Option<&Value>) -> Result<FieldDraft, String> {
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
            FieldKind::Message if field.text_of(value).is_empty() => "is more than one user text",
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

    /// Returns the rule that the value breaks.
    pub fn problem(&self, field: &FormField) -> Option<String> {
        let wrong = self.value(field).err()?;
        wrong.into_iter().next().map(|(_, rule)| rule)
    }

    /// Returns whether the value differs from the initial one.
    pub fn is_changed(&self, field: &FormField) -> bool {
        self.value(field) != Ok(field.initial.clone())
    }

    /// Returns the object as JSON, for the user's editor.
    pub fn object_text(&self, field: &FormField) -> Option<String> {
        let value = self.value(field).ok().flatten();
        serde_json::to_string_pretty(&value.unwrap_or_else(|| Value::Object(Map::new()))).ok()
    }

    /// Replaces an object. One that its form can't show becomes a JSON field.
    pub fn set_object(&mut self, field: &mut FormField, written: &str) {
        let value = serde_json::from_str(written);
        let filled = match (&field.kind, &value) {
            (FieldKind::Object(form), Ok(value)) => FormDraft::filled(form, value).ok(),
            _ => None,
        };
        match filled {
            Some(inner) => self.inner = Some(Box::new(inner)),
            None => {
                field.kind = FieldKind::Json;
                *self = FieldDraft {
                    text: TextInput::new(written),
                    ..FieldDraft::default()
                };
            }
        }
    }

    /// Returns the fields of an unfolded object.
    fn unfolded(&self) -> Option<&FormDraft> {
        self.inner.as_deref().filter(|_| self.is_open)
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
        if let [field] = &form.fields[..]
            && field.name.is_empty()
        {
            let draft =
                FieldDraft::filled(field, Some(value)).map_err(|rule| format!("it {rule}"))?;
            let (form, fields) = (form.clone(), vec![draft]);
            return Ok(FormDraft { form, fields });
        }
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

    /// Returns the value as far as it is valid, and the problems of the other fields. Those of the fields of an object have its
    /// name before theirs.
    pub fn value(&self) -> (Value, FieldProblems) {
        let mut problems = Vec::new();
        let values = self.form.fields.iter().zip(&self.fields);
        let values = values.map(|(field, draft)| {
            draft.value(field).unwrap_or_else(|inner| {
                problems.extend(inner.into_iter().map(|(path, rule)| match path.as_str() {
                    "" => (field.name.clone(), rule),
                    path => (format!("{}.{path}", field.name), rule),
                }));
                None
            })
        });
        let values = values.collect();
        (self.form.value(values), problems)
    }

    fn is_initial(&self, value: &Value) -> bool {
        FormDraft::of(self.form.clone()).value().0 == *value
    }

    /// Returns the places of all fields, with those of unfolded objects.
    pub fn spots(&self) -> Vec<Spot> {
        let of_field = |(n, draft): (usize, &FieldDraft)| {
            let inner = draft.unfolded().map_or(0, |inner| inner.fields.len());
            std::iter::once((n, None)).chain((0..inner).map(move |at| (n, Some(at))))
        };
        self.fields.iter().enumerate().flat_map(of_field).collect()
    }

    /// Returns the field at a place, with its draft.
    pub fn field(&self, (n, inner): Spot) -> Option<(&FormField, &FieldDraft)> {
        let (field, draft) = (self.form.fields.get(n)?, self.fields.get(n)?);
        match inner {
            None => Some((field, draft)),
            Some(at) => draft.inner.as_ref()?.field((at, None)),
        }
    }

    /// Returns the field at a place, to change it.
    pub fn field_mut(&mut self, (n, inner): Spot) -> Option<(&mut FormField, &mut FieldDraft)> {
        let (field, draft) = (self.form.fields.get_mut(n)?, self.fields.get_mut(n)?);
        match inner {
            None => Some((field, draft)),
            Some(at) => draft.inner.as_mut()?.field_mut((at, None)),
        }
    }

    /// Returns the path of a field.
    pub fn path(&self, (n, inner): Spot) -> String {
        let name = |spot| self.field(spot).map_or("", |(field, _)| &field.name);
        match inner {
            None => name((n, None)).to_string(),
            Some(_) => format!("{}.{}", name((n, None)), name((n, inner))),
        }
    }

    /// Returns the place of the visible field that a path leads to, or through.
    pub fn position(&self, path: &str) -> Option<Spot> {
        let mut fields = self.form.fields.iter();
        let n = fields.position(|field| is_at(path, &field.name))?;
        let name = &self.form.fields[n].name;
        let inner = path
            .strip_prefix(&format!("{name}."))
            .zip(self.fields[n].unfolded())
            .and_then(|(rest, inner)| inner.position(rest));
        Some((n, inner.map(|(at, _)| at)))
    }

    /// Returns the part of a field that keys change.
    pub fn input(&mut self, spot: Spot) -> FieldInput<'_> {
        let Some((field, draft)) = self.field_mut(spot) else {
            return FieldInput::Other;
        };
        match &field.kind {
            FieldKind::Boolean => FieldInput::Choice(&mut draft.choice, 2, true),
            FieldKind::Choice(values) => FieldInput::Choice(&mut draft.choice, values.len(), false),
            FieldKind::Message | FieldKind::List(_) => FieldInput::Text(&mut draft.text, true),
            FieldKind::Object(_) => FieldInput::Object(field, draft),
            FieldKind::Json | FieldKind::Integer | FieldKind::Number | FieldKind::Text => {
                FieldInput::Text(&mut draft.text, false)
            }
        }
    }

    /// Notes that a field lost the focus.
    pub fn leave(&mut self, spot: Spot) {
        if let Some((_, draft)) = self.field_mut(spot) {
            draft.was_left = true;
        }
    }
}

/// Returns whether a path leads to a field or into it.
pub fn is_at(path: &str, field: &str) -> bool {
    let rest = path.strip_prefix(field);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns how far a key turns a choice: forward, back, or not at all.
pub fn turn_of(key: Key) -> isize {
    match key.code {
        Code::Char(' ') | Code::Right => 1,
        Code::Left => -1,
        _ => 0,
    }
}

/// Returns the next or previous option of a choice; the first or the last if none is chosen.
pub fn turned<T: Clone + PartialEq>(options: &[T], chosen: Option<&T>, by: isize) -> Option<T> {
    let at = chosen.and_then(|chosen| options.iter().position(|one| one == chosen));
    options.get(next_of(options.len(), at, by)?).cloned()
}

fn next_of(count: usize, at: Option<usize>, by: isize) -> Option<usize> {
    let from = at.map_or(if by > 0 { -1 } else { 0 }, |at| at as isize);
    (from + by)
        .checked_rem_euclid(count as isize)
        .map(|at| at as usize)
}

/// Handles a key on a choice. Returns whether it changed.
pub fn choose(choice: &mut Option<usize>, count: usize, is_yes_or_no: bool, key: Key) -> bool {
    let next = match key.code {
        Code::Char('y') if is_yes_or_no => Some(0),
        Code::Char('n') if is_yes_or_no => Some(1),
        Code::Backspace | Code::Delete => None,
        _ => match turn_of(key) {
            0 => return false,
            by => next_of(count, *choice, by),
        },
    };
    std::mem::replace(choice, next) != next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_the_field_with_that_name() {
        let field = |name| FormField::new(name, FieldKind::Text, "");
        let inner = Form {
            title: None,
            fields: vec![field("b")],
        };
        let object = FormField::new("a", FieldKind::Object(Box::new(inner)), "");
        let mut draft = FormDraft::of(Form {
            title: None,
            fields: vec![field("to"), field("total"), field("x.y"), object],
        });
        assert_eq!(draft.position("total"), Some((1, None)));
        assert_eq!(draft.position("x.y"), Some((2, None)));
        assert_eq!(
            draft.position("a.b"),
            Some((3, None)),
            "the object is folded"
        );
        draft.fields[3].is_open = true;
        assert_eq!(draft.position("a.b"), Some((3, Some(0))));
        assert_eq!(draft.position("tot"), None);
    }
}
