//! The document editor. All created or changed objects are edited as documents, validated while you type.

use super::{Changes, resource_documents, view};
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::session::msg::Effect;
use crate::session::subject::Subject;
use crate::session::{Component, Cx, Request, Requests, Route};
use crate::widgets::canvas::Canvas;
use crate::widgets::text_input::{Problem, TextInput};
use runtail_api::{BulkAction, ForkChange, ResourceIntent, StateEdit, ThreadIntent};
use runtail_core::config::{ConfigError, Profile};
use runtail_core::model::{AuthAuthenticateRequest, DeploymentSpec, Format, Intent, StateProblem, changed_values};
use std::sync::Arc;

impl Subject {
    /// Returns the profile of the subject.
    pub fn profile(&self) -> &str {
        match self {
            Subject::CreateDeployment { profile }
            | Subject::UpdateDeployment { profile, .. }
            | Subject::Authenticate { profile, .. }
            | Subject::Service { profile, .. } => profile,
            Subject::Profile(name) => name.as_deref().unwrap_or_default(),
            Subject::State { thread, .. } => &thread.server.profile,
            Subject::Cron { server, .. } | Subject::Item { server, .. } | Subject::Retry { server, .. } => {
                &server.profile
            }
        }
    }

    /// Returns the title and the name of the subject.
    pub fn title_and_name(&self) -> (String, &str) {
        match self {
            Subject::CreateDeployment { .. } => ("CREATE".into(), "a deployment"),
            Subject::UpdateDeployment { name, .. } => ("UPDATE".into(), name),
            Subject::Authenticate { provider, .. } => ("AUTHENTICATE".into(), provider),
            Subject::Service { what, name, .. } => (what.verb().to_uppercase(), name),
            Subject::Profile(Some(_)) => ("PROFILE".into(), ""),
            Subject::Profile(None) => ("PROFILE".into(), "new"),
            Subject::State { name, .. } => ("STATE".into(), name),
            Subject::Cron { name, .. } => ("CRON".into(), name),
            Subject::Item { name, .. } => ("ITEM".into(), name),
            Subject::Retry { name, .. } => ("EDIT AND RETRY".into(), name),
        }
    }

    /// Returns the status text of a valid document.
    pub fn valid_status(&self) -> &'static str {
        match self {
            Subject::Profile(_) => "Valid profile",
            Subject::State { .. } => {
                "Only changed keys are sent. The graph's reducers apply them; a list may be appended."
            }
            Subject::Retry { .. } => {
                "These keys are written to every thread. The graph's reducers apply them; a list may be appended."
            }
            Subject::Cron { cron: Some(_), .. } => "Only changed settings are sent.",
            Subject::Item { .. } => "The whole value is replaced.",
            _ => "Valid",
        }
    }

    /// Returns the problem of a document about this subject.
    pub fn check(&self, text: &str) -> Option<Problem> {
        self.read(text).err()
    }

    /// Parses a document about this subject.
    pub fn read(&self, text: &str) -> Result<ParsedDocument, Problem> {
        let spec = || DeploymentSpec::parse(text, Format::Toml, None).map(Box::new).map_err(problem);
        Ok(match self {
            Subject::CreateDeployment { .. } => ParsedDocument::Change(Intent::CreateDeployment(spec()?)),
            Subject::UpdateDeployment { id, .. } => {
                ParsedDocument::Change(Intent::UpdateDeployment { id: id.to_string(), spec: spec()? })
            }
            Subject::Authenticate { .. } => {
                ParsedDocument::Authentication(AuthAuthenticateRequest::read(text).map_err(problem)?)
            }
            Subject::Service { what, .. } => {
                ParsedDocument::Change(Intent::Service(Box::new(what.clone().read(text, None).map_err(problem)?)))
            }
            Subject::Profile(_) => {
                ParsedDocument::Profile(Box::new(runtail_core::config::edit::profile_of(text, None).map_err(problem)?))
            }
            Subject::State { original, .. } => {
                ParsedDocument::State(changed_values(original, text).map_err(state_problem)?)
            }
            Subject::Retry { .. } => ParsedDocument::State(changed_values("{}", text).map_err(state_problem)?),
            Subject::Cron { cron, original, .. } => {
                let fields = changed_values(original, text).map_err(state_problem)?;
                ParsedDocument::Resource(resource_documents::cron_change(cron.as_deref(), fields))
            }
            Subject::Item { at, original, .. } => {
                ParsedDocument::Resource(resource_documents::item_change(at.as_ref(), original, text)?)
            }
        })
    }
}

/// The parsed content of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedDocument {
    Change(Intent),
    Authentication(AuthAuthenticateRequest),
    Profile(Box<Profile>),
    /// The changed values of a state.
    State(serde_json::Map<String, serde_json::Value>),
    /// A change of a cron or an item of a store.
    Resource(ResourceIntent),
}

fn state_problem(problem: StateProblem) -> Problem {
    Problem { line: problem.place.0, column: problem.place.1, message: problem.message }
}

/// Converts an error to a problem with a position in the text.
fn problem(error: ConfigError) -> Problem {
    let (line, column) = error.place.as_ref().map_or((1, 1), |place| (place.line, place.column));
    let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Problem { line, column, message: format!("{}{hint}", error.message) }
}

/// A document being edited.
#[derive(Debug, Clone)]
pub struct Editor {
    /// The subject of the document.
    pub subject: Subject,
    pub text: TextInput,
    /// The problem of the text; an invalid document is never sent.
    pub problem: Option<Problem>,
    /// The text with which the editor opened.
    original: String,
}

impl Editor {
    /// Creates an editor with an initial text.
    pub fn new(subject: Subject, text: &str) -> Editor {
        let mut editor = Editor { subject, text: TextInput::new(text), problem: None, original: text.to_string() };
        editor.text.set_cursor(0, 0);
        editor.check();
        editor
    }

    /// Replaces the text.
    pub fn set_text(&mut self, text: &str) {
        let (row, col) = self.text.cursor();
        self.text.set_text(text);
        self.text.set_cursor(row, col);
        self.check();
    }

    /// Handles a key that no action handled.
    pub fn key(&mut self, key: Key) {
        self.text.key(key);
        self.check();
    }

    /// Inserts pasted text.
    pub fn paste(&mut self, text: &str) {
        self.text.insert(text);
        self.check();
    }

    /// Returns whether the text was changed since the editor opened.
    pub fn is_changed(&self) -> bool {
        self.text.text() != self.original
    }

    fn check(&mut self) {
        self.problem = self.subject.check(&self.text.text());
    }
}

impl Changes {
    /// Creates an editor for a subject. Also returns whether it restored a draft.
    pub fn editor(&mut self, subject: Subject, text: &str) -> (Editor, bool) {
        let draft = self.drafts.remove(&subject);
        let mut editor = Editor::new(subject, text);
        if let Some(draft) = &draft {
            // A new input, because an undo must not replace the draft with the original text.
            editor.text = TextInput::new(draft);
            editor.text.set_cursor(0, 0);
            editor.check();
        }
        (editor, draft.is_some())
    }

    /// Keeps the text as a draft for this subject.
    pub fn keep(&mut self, editor: Editor) {
        if editor.is_changed() {
            let text = editor.text.text();
            self.drafts.insert(editor.subject, text);
        }
    }
}

impl Editor {
    /// Discards what was typed and restores the original document.
    fn start_over(&mut self) {
        let original = self.original.clone();
        self.set_text(&original);
    }

    /// Previews the change that the document describes.
    fn preview(&self) -> Requests {
        if let Some(problem) = &self.problem {
            return Requests::error(format!("Line {}: {}. Nothing was sent.", problem.line, problem.message));
        }
        let (profile, text) = (self.subject.profile().into(), self.text.text());
        match self.subject.read(&text) {
            Ok(ParsedDocument::Change(intent)) => Route::Change(profile, Box::new(intent)).into(),
            Ok(ParsedDocument::Authentication(request)) => Route::SignIn(profile, Box::new(request)).into(),
            Ok(ParsedDocument::Profile(_)) => Request::DefineProfile(text).into(),
            Ok(ParsedDocument::State(values)) if values.is_empty() => Requests::info(match self.subject {
                Subject::Retry { .. } => "Type a key and its value, such as \"retries\": 0. Nothing was sent.",
                _ => "Nothing is changed yet. Nothing was sent.",
            }),
            Ok(ParsedDocument::Resource(ResourceIntent::UpdateCron { fields, .. }))
                if fields == serde_json::json!({}) =>
            {
                Requests::info("Nothing is changed yet. Nothing was sent.")
            }
            Ok(ParsedDocument::Resource(intent)) => match &self.subject {
                Subject::Cron { server, .. } | Subject::Item { server, .. } => {
                    Route::ResourceChange(server.clone(), Box::new(intent)).into()
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
    if let Subject::Retry { server, threads, .. } = subject {
        let edit = Arc::new(StateEdit { checkpoint: None, values, as_node: None });
        return Route::Bulk(server.clone(), BulkAction::Retry(Some(edit)), threads.to_vec()).into();
    }
    let Subject::State { thread, checkpoint, is_head, .. } = subject else { return Requests::none() };
    let (server, thread) = (thread.server.clone(), thread.id.clone());
    let checkpoint = Some(checkpoint.to_string());
    let intent = match is_head {
        true => ThreadIntent::EditState { thread, edit: StateEdit { checkpoint, values, as_node: None } },
        false => {
            let edit = StateEdit { checkpoint: None, values, as_node: None };
            ThreadIntent::Fork { thread, checkpoint, change: ForkChange::Edit(edit) }
        }
    };
    Route::ThreadAction(server, Box::new(intent)).into()
}

impl Component for Editor {
    fn context(&self) -> Context {
        Context::Editor
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    /// Handles a key. Only the editor's own keys, and keys that a text field doesn't accept, are not typed.
    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        Some(match cx.session.keymap.action(Context::Editor, key) {
            Some(Action::Preview) => self.preview(),
            Some(Action::Back) => Request::Close.into(),
            Some(Action::StartOver) => {
                self.start_over();
                Requests::none()
            }
            Some(Action::EditOutside) => Effect::EditOutside(self.text.text()).into(),
            action => match action.and_then(Requests::while_typing) {
                Some(requests) => requests,
                None => {
                    Editor::key(self, key);
                    Requests::none()
                }
            },
        })
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        Editor::paste(self, text);
    }

    fn on_edited(&mut self, text: &str) {
        self.set_text(text);
    }

    // The editor of a profile stays open when its server changes: it may be edited because the server is unreachable.
    fn profile(&self) -> Option<&str> {
        Some(self.subject.profile()).filter(|_| !matches!(self.subject, Subject::Profile(_)))
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::editor(self, cx, canvas)
    }
}
