//! A document being edited: what is created or changed is written down in one form for all, and checked while one types.

use super::key::Key;
use super::text_input::{Problem, TextInput};
use super::{App, Overlay};
use runtail_core::config::{ConfigError, Profile};
use runtail_core::model::{AuthAuthenticateRequest, DeploymentSpec, Format, Intent, Service};
use std::sync::Arc;

/// What a document is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A new deployment of a profile.
    CreateDeployment {
        /** The profile. */
        profile: Arc<str>,
    },
    /// What is changed of a deployment.
    UpdateDeployment {
        /** The profile. */
        profile: Arc<str>,
        /** The deployment's id. */
        id: Arc<str>,
        /** Its name. */
        name: Arc<str>,
    },
    /// An authentication with a provider.
    Authenticate {
        /** The profile. */
        profile: Arc<str>,
        /** The provider's slug. */
        provider: Arc<str>,
    },
    /// A profile by its name, or a new one.
    Profile(Option<Arc<str>>),
    /// What stands beside the deployments.
    Service {
        /** The profile. */
        profile: Arc<str>,
        /** What is done. */
        what: Service,
        /** What it is done to, in words. */
        name: Arc<str>,
    },
}

impl Subject {
    /// The profile that it belongs to.
    pub fn profile(&self) -> &str {
        match self {
            Subject::CreateDeployment { profile }
            | Subject::UpdateDeployment { profile, .. }
            | Subject::Authenticate { profile, .. }
            | Subject::Service { profile, .. } => profile,
            Subject::Profile(name) => name.as_deref().unwrap_or_default(),
        }
    }

    /// What is done, and to what.
    pub fn words(&self) -> (String, &str) {
        match self {
            Subject::CreateDeployment { .. } => ("CREATE".into(), "a deployment"),
            Subject::UpdateDeployment { name, .. } => ("UPDATE".into(), name),
            Subject::Authenticate { provider, .. } => ("AUTHENTICATE".into(), provider),
            Subject::Service { what, name, .. } => (what.verb().to_uppercase(), name),
            Subject::Profile(Some(_)) => ("PROFILE".into(), ""),
            Subject::Profile(None) => ("PROFILE".into(), "a new one"),
        }
    }

    /// What the document is, for the line that says that nothing is wrong with it.
    pub fn form(&self) -> &'static str {
        match self {
            Subject::Profile(_) => "a profile, and every key is known",
            _ => "TOML, and every field is known",
        }
    }

    /// What is wrong with a document on it.
    pub fn check(&self, text: &str) -> Option<Problem> {
        self.read(text).err()
    }

    /// What a document on it describes.
    pub fn read(&self, text: &str) -> Result<Written, Problem> {
        let spec = || DeploymentSpec::parse(text, Format::Toml, None).map(Box::new).map_err(problem);
        Ok(match self {
            Subject::CreateDeployment { .. } => Written::Change(Intent::CreateDeployment(spec()?)),
            Subject::UpdateDeployment { id, .. } => {
                Written::Change(Intent::UpdateDeployment { id: id.to_string(), spec: spec()? })
            }
            Subject::Authenticate { .. } => {
                Written::Authentication(AuthAuthenticateRequest::read(text).map_err(problem)?)
            }
            Subject::Service { what, .. } => {
                Written::Change(Intent::Service(Box::new(what.clone().read(text, None).map_err(problem)?)))
            }
            Subject::Profile(_) => {
                Written::Profile(Box::new(runtail_core::config::edit::profile_of(text, None).map_err(problem)?))
            }
        })
    }
}

/// What is written down.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// A change.
    Change(Intent),
    /// An authentication.
    Authentication(AuthAuthenticateRequest),
    /// A profile.
    Profile(Box<Profile>),
}

/// Where and what an error is, for the mark under the text.
fn problem(error: ConfigError) -> Problem {
    let (line, column) = error.place.as_ref().map_or((1, 1), |place| (place.line, place.column));
    let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Problem { line, column, message: format!("{}{hint}", error.message) }
}

/// A document being edited.
#[derive(Debug, Clone)]
pub struct Editor {
    /// What it is about.
    pub subject: Subject,
    /// The text.
    pub text: TextInput,
    /// What is wrong with it: nothing wrong ever leaves the editor.
    pub problem: Option<Problem>,
    /// What it began with.
    began: String,
}

impl Editor {
    /// An editor with a text to begin from.
    pub fn new(subject: Subject, text: &str) -> Editor {
        let mut editor = Editor { subject, text: TextInput::new(text), problem: None, began: text.to_string() };
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

    /// A key that no action took.
    pub fn key(&mut self, key: Key) {
        self.text.key(key);
        self.check();
    }

    /// Text that was pasted.
    pub fn paste(&mut self, text: &str) {
        self.text.insert(text);
        self.check();
    }

    /// Whether it was changed since it was opened.
    pub fn is_changed(&self) -> bool {
        self.text.text() != self.began
    }

    fn check(&mut self) {
        self.problem = self.subject.check(&self.text.text());
    }
}

impl App {
    /// Opens a document to edit. What was left unfinished on the same subject is taken up again.
    pub fn edit(&mut self, subject: Subject, text: &str) {
        let editor = match self.drafts.remove(&subject) {
            Some(draft) => {
                self.notify(false, "This is your draft from before; ctrl-n starts over.");
                let mut editor = Editor::new(subject, text);
                editor.set_text(&draft);
                editor
            }
            None => Editor::new(subject, text),
        };
        self.overlays.push(Overlay::Edit(Box::new(editor)));
    }

    /// Leaves the editor that lies on top; what was typed is kept.
    pub(super) fn leave_editor(&mut self) {
        if let Some(Overlay::Edit(editor)) = self.overlays.pop() {
            self.keep_draft(*editor);
        }
    }

    /// Keeps what was typed, for when the same is edited again.
    pub(super) fn keep_draft(&mut self, editor: Editor) {
        if editor.is_changed() {
            let text = editor.text.text();
            self.drafts.insert(editor.subject, text);
        }
    }

    /// Discards what was typed and restores the original document.
    pub(super) fn start_document_over(&mut self) {
        if let Some(Overlay::Edit(editor)) = self.overlays.last_mut() {
            let began = editor.began.clone();
            editor.set_text(&began);
        }
    }
}
