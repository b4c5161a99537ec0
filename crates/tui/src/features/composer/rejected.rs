//! What was rejected: an option by the server, or fields of the input by the graph in the thread's last run.

use super::Composer;
use super::options::spot_of;
use crate::session::Cx;
use crate::widgets::form::is_at;
use runtail_api::Kind;
use runtail_core::model::{FieldKind, Form, RunOption, ThreadStatus, rejected_fields};

impl Composer {
    /// Returns the option that the server refused, and its rule.
    pub(super) fn refused_option(&self) -> Option<(RunOption, String)> {
        let error = &self.refused.as_ref()?.error;
        match &error.kind {
            Kind::Invalid(fields) => fields.iter().find_map(|field| {
                let (path, rule) = field.split_once(": ")?;
                let path = path.strip_prefix("body.").unwrap_or(path);
                let option = RunOption::of_field(path)?;
                let below = path
                    .split_once('.')
                    .map(|(_, below)| format!("{below}: "))
                    .unwrap_or_default();
                Some((option, format!("server refused: {below}{rule}")))
            }),
            // Python servers refuse the address of a webhook in plain text.
            _ if error.detail.starts_with("Webhook ") => Some((
                RunOption::Webhook,
                format!("server refused: {}", error.detail),
            )),
            _ => None,
        }
    }

    /// Returns the fields that the graph rejected in the thread's last run, each with the rule.
    pub(super) fn rejected(&self, cx: &Cx<'_>) -> Vec<(String, String)> {
        match self.status(cx) {
            Some(ThreadStatus::Failed { error, .. }) => rejected_fields(error),
            _ => Vec::new(),
        }
    }

    /// Whether a rejected field is marked in the form of the input. The error doesn't say whether it is about the input or the
    /// context, so a field that both have is not marked.
    pub(super) fn is_marked(&self, path: &str) -> bool {
        let name = path.split('.').next().unwrap_or_default();
        let has = |form: &Form| form.fields.iter().any(|field| field.name == name);
        let context = self.options.form.field(spot_of(RunOption::Context));
        let is_of_context = context
            .is_some_and(|(field, _)| matches!(&field.kind, FieldKind::Object(form) if has(form)));
        !is_of_context && self.input.form().is_some_and(|draft| has(&draft.form))
    }

    /// Returns what the graph rejected at a field of the form, or below it.
    pub(super) fn rejected_at(&self, rejected: &[(String, String)], path: &str) -> Option<String> {
        let (known, rule) = rejected
            .iter()
            .find(|(known, _)| is_at(known, path) && self.is_marked(known))?;
        let of = match self.part_of(path, known) {
            part if part.is_empty() => part,
            part => format!("{part}: "),
        };
        Some(format!("rejected in the last run: {of}{rule}"))
    }
}
