//! The options of a run as fields: modes, strategy, breakpoints, and those that are rarely needed.

use crate::input::key::{Code, Key};
use crate::widgets::form::{FieldDraft, FormDraft, Spot};
use crate::widgets::text_input::TextInput;
use runtail_core::model::{
    Conflict, Durability, FieldKind, Form, FormField, OptionProblem, RunOption, RunOptions,
    USUAL_MODES,
};
use runtail_core::text;
use runtail_stream::RUN_MODES;
use serde_json::{Value, json};

/// The entry beside the modes that requests the events of subgraphs.
pub const SUBGRAPHS: &str = "subgraphs";
/// The options that are fields of a form: all but the modes and the strategy.
pub const FIELDS: [RunOption; 9] = [
    RunOption::Before,
    RunOption::After,
    RunOption::RecursionLimit,
    RunOption::Delay,
    RunOption::Durability,
    RunOption::Context,
    RunOption::Config,
    RunOption::Metadata,
    RunOption::Webhook,
];

/// The options of a run that is composed.
#[derive(Debug, Clone)]
pub struct OptionsDraft {
    /// The stream modes, then [`SUBGRAPHS`].
    pub modes: Vec<(&'static str, bool)>,
    /// The mode under the cursor.
    pub mode_at: usize,
    pub conflict: Conflict,
    /// The other options.
    pub form: FormDraft,
}

impl Default for OptionsDraft {
    fn default() -> OptionsDraft {
        let fields = FIELDS.map(|option| field_of(option, None));
        OptionsDraft {
            modes: initial_modes(),
            mode_at: 0,
            conflict: Conflict::Reject,
            form: FormDraft::of(Form {
                title: None,
                fields: fields.to_vec(),
            }),
        }
    }
}

/// Returns the place of an option in the form.
pub fn spot_of(option: RunOption) -> Spot {
    let at = FIELDS.iter().position(|one| *one == option);
    (at.unwrap_or_default(), None)
}

fn initial_modes() -> Vec<(&'static str, bool)> {
    let modes = RUN_MODES.map(|mode| (mode, USUAL_MODES.contains(&mode)));
    modes.into_iter().chain([(SUBGRAPHS, true)]).collect()
}

fn field_of(option: RunOption, schema: Option<&Value>) -> FormField {
    let words = |words: &[&str]| FieldKind::Choice(words.iter().map(|word| json!(word)).collect());
    let (kind, rule) = match option {
        RunOption::RecursionLimit => (FieldKind::Integer, "maximum steps"),
        RunOption::Delay => (FieldKind::Integer, "seconds before the start"),
        RunOption::Durability => (
            words(&Durability::ALL.map(Durability::word)),
            "when checkpoints are saved",
        ),
        RunOption::Context => (FieldKind::Json, "not with config.configurable"),
        RunOption::Config => (
            FieldKind::Json,
            "JSON object: configurable, tags, recursion_limit",
        ),
        RunOption::Metadata => (FieldKind::Json, "JSON object, kept with the run"),
        RunOption::Modes | RunOption::Conflict => {
            unreachable!("not in FIELDS")
        }
        RunOption::Before | RunOption::After => (FieldKind::Text, ""),
        RunOption::Webhook => (FieldKind::Text, "called after the run; not localhost"),
    };
    let kind = match schema.and_then(Form::of_input) {
        Some(form) => FieldKind::Object(Box::new(form)),
        None => kind,
    };
    FormField::new(option.name(), kind, rule)
}

impl OptionsDraft {
    /// Shows the context as the form of this schema. A context that was typed is kept if it fits.
    pub fn set_context_schema(&mut self, schema: Option<&Value>) {
        let field = field_of(RunOption::Context, schema);
        let Some((known, draft)) = self.form.field_mut(spot_of(RunOption::Context)) else {
            return;
        };
        if known.kind == field.kind {
            return;
        }
        let value = draft.value(known).ok().flatten();
        let filled = match value {
            Some(_) => FieldDraft::filled(&field, value.as_ref()),
            None => Ok(FieldDraft::of(&field)),
        };
        // What doesn't fit stays JSON.
        if let Ok(filled) = filled {
            (*known, *draft) = (field, filled);
        }
    }

    /// Adds breakpoints before and after nodes. Returns whether there are any to add.
    pub fn add_breakpoints(&mut self, before: &[String], after: &[String]) -> bool {
        for (option, nodes) in [(RunOption::Before, before), (RunOption::After, after)] {
            let mut all = self.nodes(option);
            let new = nodes.iter().filter(|node| !all.contains(node)).cloned();
            all.extend(new.collect::<Vec<_>>());
            if let Some((_, draft)) = self.form.field_mut(spot_of(option)) {
                draft.text = TextInput::line(&all.join(", "));
            }
        }
        !before.is_empty() || !after.is_empty()
    }

    /// Returns the nodes of a breakpoint option.
    fn nodes(&self, option: RunOption) -> Vec<String> {
        let typed = self
            .form
            .field(spot_of(option))
            .map(|(_, draft)| draft.text.text());
        names(&typed.unwrap_or_default())
    }

    /// Returns the chosen modes, without [`SUBGRAPHS`].
    pub fn chosen_modes(&self) -> Vec<String> {
        self.modes
            .iter()
            .filter(|(name, on)| *on && *name != SUBGRAPHS)
            .map(|(name, _)| name.to_string())
            .collect()
    }

    /// Returns the options.
    ///
    /// # Errors
    /// Why they can't be sent. `nodes`: those of the graph, if they are known.
    pub fn checked(&self, nodes: Option<&[String]>) -> Result<RunOptions, Vec<OptionProblem>> {
        let mut options = RunOptions {
            modes: self.chosen_modes(),
            subgraphs: self
                .modes
                .iter()
                .any(|(name, on)| *name == SUBGRAPHS && *on),
            conflict: Some(self.conflict),
            before: self.nodes(RunOption::Before),
            after: self.nodes(RunOption::After),
            ..RunOptions::default()
        };
        let mut problems = Vec::new();
        for (option, field, draft) in self.fields() {
            let value = match draft.value(field) {
                Ok(value) => value,
                Err(broken) => {
                    problems.extend(broken.into_iter().map(|(path, rule)| OptionProblem {
                        option,
                        rule: if path.is_empty() {
                            rule
                        } else {
                            format!("{path} {rule}")
                        },
                    }));
                    continue;
                }
            };
            let Some(value) = value else { continue };
            let number = value.as_u64();
            if matches!(option, RunOption::RecursionLimit | RunOption::Delay) && number.is_none() {
                problems.push(OptionProblem {
                    option,
                    rule: "must be 0 or more".into(),
                });
            }
            match option {
                RunOption::RecursionLimit => options.recursion_limit = number,
                RunOption::Delay => options.delay = number,
                RunOption::Durability => {
                    options.durability =
                        Durability::ALL.into_iter().find(|one| value == one.word());
                }
                RunOption::Context => options.context = Some(value),
                RunOption::Config => options.config = Some(value),
                RunOption::Metadata => options.metadata = Some(value),
                RunOption::Webhook => {
                    options.webhook = value.as_str().map(|address| address.trim().to_string());
                }
                RunOption::Modes | RunOption::Conflict | RunOption::Before | RunOption::After => {}
            }
        }
        problems.extend(options.problems(nodes));
        problems.sort_by_key(|problem| problem.option);
        if problems.is_empty() {
            Ok(options)
        } else {
            Err(problems)
        }
    }

    /// Forgets all but the modes: what was meant for one run must not silently apply to the next one.
    pub fn keep_modes_only(&mut self) {
        *self = OptionsDraft {
            modes: std::mem::take(&mut self.modes),
            ..OptionsDraft::default()
        };
    }

    /// Describes the options in a line: each part, and whether it differs from the default.
    pub fn summary(&self) -> Vec<(String, bool)> {
        let mut modes = self.chosen_modes();
        if modes.len() == RUN_MODES.len() {
            modes = vec!["all".into()];
        }
        let shown = if modes.is_empty() {
            "none".to_string()
        } else {
            modes.join(", ")
        };
        let conflict = format!("on conflict: {}", self.conflict.word());
        let mut parts = vec![
            (format!("modes: {shown}"), self.modes != initial_modes()),
            (conflict, self.conflict != Conflict::Reject),
        ];
        let mut usual = 0;
        for (option, field, draft) in self.fields() {
            let value = match draft.value(field) {
                Ok(None) => {
                    usual += 1;
                    continue;
                }
                Ok(Some(Value::Object(fields))) => format!("{{ {} keys }}", fields.len()),
                Ok(Some(value)) => text::seen(&field.text_of(&value), 30),
                Err(_) => "not valid".into(),
            };
            parts.push((format!("{}: {value}", option.name()), true));
        }
        if usual > 0 {
            parts.push((format!("{usual} more at default"), false));
        }
        parts
    }

    /// Returns the options of the form, with their fields.
    fn fields(&self) -> impl Iterator<Item = (RunOption, &FormField, &FieldDraft)> {
        let fields = self.form.form.fields.iter().zip(&self.form.fields);
        let named = FIELDS.into_iter().zip(fields);
        named.map(|(option, (field, draft))| (option, field, draft))
    }

    /// Handles a key that turns a choice: arrows move to another mode, Space turns it on or off.
    pub fn mode_key(&mut self, key: Key) {
        let count = self.modes.len();
        match key.code {
            Code::Left => self.mode_at = (self.mode_at + count - 1) % count,
            Code::Right => self.mode_at = (self.mode_at + 1) % count,
            _ => {
                let mode = &mut self.modes[self.mode_at];
                mode.1 = !mode.1;
            }
        }
    }
}

/// Returns the names in a text, separated by commas.
fn names(typed: &str) -> Vec<String> {
    typed
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_string)
        .collect()
}

/// Completes the last name of a text. Returns whether it changed: a name that is complete, or that no node begins with, stays.
pub fn complete(typed: &mut TextInput, nodes: &[String]) -> bool {
    let text = typed.text();
    let start = text.rfind(',').map_or(0, |at| at + 1);
    let last = text[start..].trim();
    let node = nodes.iter().find(|node| node.starts_with(last));
    let is_new = !last.is_empty() && nodes.iter().all(|node| node != last);
    let Some(node) = node.filter(|_| is_new) else {
        return false;
    };
    let space = if start > 0 { " " } else { "" };
    typed.set_text(&format!("{}{space}{node}", &text[..start]));
    true
}
