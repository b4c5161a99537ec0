//! The document editor. All created or changed objects are edited as documents, validated while you type.

use super::deployment_form::DeploymentForm;
use super::{Changes, resource_documents, view};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::key::Key;
use crate::session::card::{FormCard, keys_in_edge};
use crate::session::form::FormKeys;
use crate::session::msg::{Effect, EffectResult};
use crate::session::subject::Subject;
use crate::session::{Component, Cx, Request, Requests, Route, Session, not_sent};
use crate::widgets::canvas::Canvas;
use crate::widgets::text_input::Problem;
use crate::widgets::twin::Twin;
use runtail_api::{BulkAction, ForkChange, ResourceIntent, StateEdit, ThreadIntent};
use runtail_core::config::ConfigError;
use runtail_core::model::{
    AuthAuthenticateRequest, DeploymentSpec, Format, Intent, SpecForm, StateProblem, changed_values,
};
use std::sync::Arc;

impl Subject {
    /// Returns the profile of the subject.
    pub fn profile(&self) -> &str {
        match self {
            Subject::CreateDeployment { profile }
            | Subject::UpdateDeployment { profile, .. }
            | Subject::Authenticate { profile, .. }
            | Subject::Service { profile, .. }
            | Subject::Retry { profile, .. } => profile,
            Subject::State { thread, .. } => &thread.server.profile,
            Subject::Cron { server, .. } | Subject::Item { server, .. } => &server.profile,
        }
    }

    /// Returns the title and the name of the subject.
    pub fn title_and_name(&self) -> (&'static str, &str) {
        match self {
            Subject::CreateDeployment { .. } => ("New deployment", ""),
            Subject::UpdateDeployment { name, .. } => ("Update", name),
            Subject::Authenticate { provider, .. } => ("Authenticate", provider),
            Subject::Service { what, name, .. } => (what.verb(), name),
            Subject::State { name, .. } => ("State", name),
            Subject::Cron { name, .. } => ("Cron", name),
            Subject::Item { name, .. } => ("Item", name),
            Subject::Retry { name, .. } => ("Edit and retry", name),
        }
    }

    /// Returns the status text of a valid document.
    pub fn valid_status(&self) -> &'static str {
        match self {
            Subject::State { .. } => "Sends changed keys only; reducers may append lists.",
            Subject::Retry { .. } => {
                "Writes these keys to every thread; reducers may append lists."
            }
            Subject::Cron { cron: Some(_), .. } => "Sends changed settings only.",
            Subject::Item { .. } => "Replaces the whole value.",
            _ => "Valid",
        }
    }

    /// Returns the problem of a document about this subject.
    pub fn check(&self, text: &str) -> Option<Problem> {
        self.read(text).err()
    }

    /// Parses a document about this subject.
    pub fn read(&self, text: &str) -> Result<ParsedDocument, Problem> {
        let spec = || {
            DeploymentSpec::parse(text, Format::Toml, None)
                .map(Box::new)
                .map_err(problem)
        };
        Ok(match self {
            Subject::CreateDeployment { .. } => {
                ParsedDocument::Change(Intent::CreateDeployment(spec()?))
            }
            Subject::UpdateDeployment { id, .. } => {
                ParsedDocument::Change(Intent::UpdateDeployment {
                    id: id.to_string(),
                    spec: spec()?,
                })
            }
            Subject::Authenticate { .. } => ParsedDocument::Authentication(
                AuthAuthenticateRequest::read(text).map_err(problem)?,
            ),
            Subject::Service { what, .. } => ParsedDocument::Change(Intent::Service(Box::new(
                what.clone().read(text, None).map_err(problem)?,
            ))),
            Subject::State { original, .. } => {
                ParsedDocument::State(changed_values(original, text).map_err(state_problem)?)
            }
            Subject::Retry { .. } => {
                ParsedDocument::State(changed_values("{}", text).map_err(state_problem)?)
            }
            Subject::Cron { cron, original, .. } => {
                let fields = changed_values(original, text).map_err(state_problem)?;
                ParsedDocument::Resource(resource_documents::cron_change(cron.as_deref(), fields))
            }
            Subject::Item { at, original, .. } => ParsedDocument::Resource(
                resource_documents::item_change(at.as_ref(), original, text)?,
            ),
        })
    }
}

/// The parsed content of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedDocument {
    Change(Intent),
    Authentication(AuthAuthenticateRequest),
    /// The changed values of a state.
    State(serde_json::Map<String, serde_json::Value>),
    /// A change of a cron or an item of a store.
    Resource(ResourceIntent),
}

fn state_problem(problem: StateProblem) -> Problem {
    Problem {
        line: problem.place.0,
        column: problem.place.1,
        message: problem.message,
    }
}

/// Converts an error to a problem with a position in the text.
fn problem(error: ConfigError) -> Problem {
    let (line, column) = error
        .place
        .as_ref()
        .map_or((1, 1), |place| (place.line, place.column));
    let hint = error
        .hint
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    Problem {
        line,
        column,
        message: format!("{}{hint}", error.message),
    }
}

/// A document being edited.
#[derive(Debug, Clone)]
pub struct Editor {
    /// The subject of the document.
    pub subject: Subject,
    /// The document, with the form of a deployment, which may be shown instead.
    pub twin: Twin<Option<Box<DeploymentForm>>>,
    /// The problem of the text; an invalid document is never sent.
    pub problem: Option<Problem>,
    /// The text with which the editor opened.
    original: String,
}

/// Shows the fields of a document in the form.
fn read_form(form: &mut Option<Box<DeploymentForm>>, text: &str) -> Result<(), String> {
    form.as_mut().map_or(Ok(()), |form| form.read(text))
}

impl Editor {
    /// Creates an editor with an initial text.
    pub fn new(subject: Subject, text: &str) -> Editor {
        let mut editor = Editor {
            subject,
            twin: Twin::new(None, text),
            problem: None,
            original: text.to_string(),
        };
        editor.twin.text.set_cursor(0, 0);
        editor.check();
        editor
    }

    /// Shows the document of a deployment as a form. `current` has the fields of an existing deployment.
    pub fn with_form(mut self, current: Option<SpecForm>) -> Editor {
        self.twin.form = DeploymentForm::new(&self.subject, current).map(Box::new);
        if self.twin.form.is_some() {
            // Why it stays a document is shown above it.
            drop(self.twin.show_form(read_form));
        }
        self
    }

    /// Returns the form, if it is shown instead of the text.
    fn shown_form(&mut self) -> Option<&mut DeploymentForm> {
        self.twin.shown_mut()?.as_deref_mut()
    }

    /// Writes changed fields of the form into the document.
    pub fn take_form(&mut self) {
        let Some(form) = &mut self.twin.form else {
            return;
        };
        if !std::mem::take(&mut form.is_changed) {
            return;
        }
        if let Subject::CreateDeployment { profile } = &mut self.subject {
            *profile = form.profile.clone();
        }
        let before = self.twin.text.text();
        match form.values.write(&before) {
            Ok(text) if text != before => self.twin.text.set_text(&text),
            Ok(_) => {}
            Err(error) => (self.twin.as_text, self.twin.why_text) = (true, Some(error.message)),
        }
        self.check();
    }

    /// Switches between form and document.
    fn toggle_form(&mut self, session: &Session) -> Requests {
        if let Some(form) = self.shown_form() {
            form.leave_secret();
            self.twin.as_text = true;
            self.twin.text.set_cursor(0, 0);
            return Requests::none();
        }
        match self.twin.show_form(read_form) {
            Err(why) => Requests::error(why),
            Ok(()) => self.on_open(session),
        }
    }

    /// Names what a new deployment still needs, by the labels of the form. A document that has no form is left to the server.
    pub(super) fn missing(&self) -> Vec<String> {
        let form = DeploymentForm::new(&self.subject, None).and_then(|mut form| {
            form.read(&self.twin.text.text()).ok()?;
            Some(form)
        });
        form.map_or_else(Vec::new, |form| form.missing())
    }

    /// Replaces the text.
    fn set_text(&mut self, text: &str) {
        let (row, col) = self.twin.text.cursor();
        self.twin.text.set_text(text);
        self.twin.text.set_cursor(row, col);
        self.check();
        if !self.twin.as_text {
            drop(self.twin.show_form(read_form));
        }
    }

    /// Returns whether the text was changed since the editor opened.
    pub fn is_changed(&self) -> bool {
        self.twin.text.text() != self.original
    }

    fn check(&mut self) {
        self.problem = self.subject.read(&self.twin.text.text()).err();
    }
}

impl Changes {
    /// Creates an editor for a subject. Also returns whether it restored a draft.
    pub fn editor(&mut self, subject: Subject, text: &str) -> (Editor, bool) {
        // The profile of a new deployment is a field, so the draft may be about another one.
        let subject = match subject {
            Subject::CreateDeployment { .. } => {
                let other = self
                    .drafts
                    .keys()
                    .find(|other| matches!(other, Subject::CreateDeployment { .. }));
                other.cloned().unwrap_or(subject)
            }
            subject => subject,
        };
        let draft = self.drafts.remove(&subject);
        let mut editor = Editor::new(subject, text);
        if let Some(draft) = &draft {
            // A new input, because an undo must not replace the draft with the original text.
            editor.twin = Twin::new(None, draft);
            editor.twin.text.set_cursor(0, 0);
            editor.check();
        }
        (editor, draft.is_some())
    }

    /// Keeps the text as a draft for this subject.
    pub fn keep(&mut self, editor: Editor) {
        if editor.is_changed() {
            let text = editor.twin.text.text();
            self.drafts.insert(editor.subject, text);
        }
    }
}

impl Editor {
    /// Discards what was typed and restores the original document.
    fn start_over(&mut self) {
        if let Some(form) = self.shown_form() {
            form.leave_secret();
            form.left.clear();
        }
        let original = self.original.clone();
        self.set_text(&original);
    }

    /// Goes to the first field of the form that has a problem, if any has one.
    fn form_problem(&mut self, cx: &Cx<'_>) -> Option<Requests> {
        let form = self.shown_form()?;
        let why = match form.end_secret() {
            true => {
                let (stop, why) = form.first_problem(cx)?;
                form.go_to_problem(stop);
                why
            }
            false => {
                let typed = form.typed_secret.as_ref();
                let why = typed.and_then(|(_, why)| why.as_deref());
                format!("Secrets: {}", why.unwrap_or_default())
            }
        };
        Some(Requests::error(not_sent(why)))
    }

    /// Previews the change that the document describes.
    fn preview(&self) -> Requests {
        if let Some(problem) = &self.problem {
            let why = format!("Line {}: {}.", problem.line, problem.message);
            return Requests::error(not_sent(why));
        }
        if matches!(&self.subject, Subject::CreateDeployment { profile } if profile.is_empty()) {
            return Requests::error(not_sent("Choose a profile in the form (ctrl-t)."));
        }
        let (profile, text) = (self.subject.profile().into(), self.twin.text.text());
        match self.subject.read(&text) {
            Ok(ParsedDocument::Change(intent)) => Route::change(profile, intent).into(),
            Ok(ParsedDocument::Authentication(request)) => {
                Route::SignIn(profile, Box::new(request)).into()
            }
            Ok(ParsedDocument::State(values)) if values.is_empty() => {
                Requests::info(not_sent(match self.subject {
                    Subject::Retry { .. } => "Type a key and value, such as \"retries\": 0.",
                    _ => "No changes.",
                }))
            }
            Ok(ParsedDocument::Resource(ResourceIntent::UpdateCron { fields, .. }))
                if fields == serde_json::json!({}) =>
            {
                Requests::info(not_sent("No changes."))
            }
            Ok(ParsedDocument::Resource(intent)) => match &self.subject {
                Subject::Cron { server, .. } | Subject::Item { server, .. } => {
                    Route::on_resource(server.clone(), intent).into()
                }
                _ => Requests::none(),
            },
            Ok(ParsedDocument::State(values)) => preview_state(&self.subject, values.into()),
            // Every keypress validates the text, so this is unexpected.
            Err(problem) => Requests::error(problem.message),
        }
    }
}

/// Opens the preview of an edited state: of the newest one an edit, of an older one a branch that begins with the edit. An
/// edit of several threads is followed by their retries.
fn preview_state(subject: &Subject, values: serde_json::Value) -> Requests {
    if let Subject::Retry { threads, .. } = subject {
        let edit = Arc::new(StateEdit {
            checkpoint: None,
            values,
            as_node: None,
        });
        return Route::Bulk(BulkAction::Retry(Some(edit)), threads.to_vec()).into();
    }
    let Subject::State {
        thread,
        checkpoint,
        is_head,
        ..
    } = subject
    else {
        return Requests::none();
    };
    let (server, thread) = (thread.server.clone(), thread.id.clone());
    let checkpoint = Some(checkpoint.to_string());
    let intent = match is_head {
        true => ThreadIntent::EditState {
            thread,
            edit: StateEdit {
                checkpoint,
                values,
                as_node: None,
            },
        },
        false => {
            let edit = StateEdit {
                checkpoint: None,
                values,
                as_node: None,
            };
            ThreadIntent::Fork {
                thread,
                checkpoint,
                change: ForkChange::Edit(edit),
            }
        }
    };
    Route::on_thread(server, intent).into()
}

impl Component for Editor {
    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let is_shown = !self.twin.as_text;
        let requests = self.twin.form.as_mut()?.on_list(session, reply, is_shown)?;
        self.take_form();
        Some(requests)
    }

    /// Requests what the form shows besides the document.
    fn on_open(&mut self, session: &Session) -> Requests {
        self.shown_form()
            .map(|form| form.request_lists(session))
            .unwrap_or_default()
    }

    fn context(&self) -> Context {
        Context::Editor
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    /// Handles a key. Only the editor's own keys, and keys that a text field doesn't accept, are not typed.
    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        let action = cx.session.keymap.action(Context::Editor, key);
        Some(match action {
            Some(Action::Preview) => {
                let problem = self.form_problem(cx);
                self.take_form();
                problem.unwrap_or_else(|| self.preview())
            }
            Some(Action::Back) if self.shown_form().is_some_and(DeploymentForm::leave_secret) => {
                Requests::none()
            }
            Some(Action::Back) => Request::Close.into(),
            Some(Action::Form) if self.twin.form.is_some() => self.toggle_form(cx.session),
            Some(Action::StartOver) => {
                self.start_over();
                Requests::none()
            }
            Some(Action::EditOutside) => Effect::EditOutside(self.twin.text.text()).into(),
            _ => match self.shown_form() {
                Some(form) => {
                    let mut requests = form.act(cx, action, key);
                    requests.extend(form.request_lists(cx.session));
                    self.take_form();
                    requests
                }
                None => action.and_then(Requests::while_typing).unwrap_or_else(|| {
                    self.twin.text.key(key);
                    self.check();
                    Requests::none()
                }),
            },
        })
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        match self.shown_form() {
            Some(form) => form.paste_text(text),
            None => self.twin.text.insert(text),
        }
        self.take_form();
        self.check();
    }

    fn is_sheet(&self) -> bool {
        matches!(self.twin.shown(), Some(Some(_)))
    }

    fn sheet_lines(&self, cx: &Cx<'_>) -> usize {
        let form = self.twin.shown().and_then(Option::as_ref);
        form.map_or(0, |form| form.sheet_lines(cx))
    }

    fn commands(&self, cx: &Cx<'_>) -> Commands {
        let form = self.twin.shown().and_then(Option::as_ref);
        let framed = form.map(|form| keys_in_edge(cx, &form.keys(), "↓ 99 more"));
        Commands::of(Context::Editor)
            .enable_if(self.twin.form.is_some(), &["editor.form"])
            .footer(&[
                "editor.preview",
                "editor.form",
                "editor.outside",
                "editor.start_over",
                "editor.back",
            ])
            .framed(&framed.unwrap_or_default())
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let problem = self.problem.as_ref().map(|problem| problem.message.clone());
        if let Some(form) = self.shown_form() {
            form.problem = problem;
            form.relayout(cx);
        }
    }

    fn on_edited(&mut self, text: &str) {
        self.set_text(text);
    }

    fn profile(&self) -> Option<&str> {
        Some(self.subject.profile()).filter(|name| !name.is_empty())
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        match self.twin.shown() {
            Some(Some(form)) => form.view(cx, canvas),
            _ => view::editor(self, cx, canvas),
        }
    }
}
