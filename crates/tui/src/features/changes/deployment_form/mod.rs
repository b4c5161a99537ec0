//! The form of a deployment. It shows the fields of the editor's document, which stays the draft: a change of a field is
//! written into the document at once, and the document can be shown instead at any time.

mod fields;
mod keys;
mod lines;
mod lists;
mod secrets;

use crate::session::form::FormKeys;
use crate::session::subject::Subject;
use crate::session::{Cx, Session};
use crate::widgets::form::FormScroll;
use crate::widgets::text_input::TextInput;
use fields::{FormEntry, PROFILE};
use lists::Choices;
use runtail_core::model::SpecForm;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An element that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeploymentStop {
    /// A field, by its path in the document; the profile has none, and its own name.
    Field(&'static str),
    /// A row of the secrets; the one after the last adds a secret.
    Secret(usize),
    /// A group of fields, by its name.
    Fold(&'static str),
}

/// The form and what it knows besides the document.
#[derive(Debug, Clone)]
pub struct DeploymentForm {
    /// The name of the deployment that is updated; `None` for a new one.
    name: Option<Arc<str>>,
    /// Whether the deployment is created rather than updated.
    is_new: bool,
    /// The profile; empty until one is chosen.
    pub profile: Arc<str>,
    /// The fields of the document.
    pub values: SpecForm,
    /// The fields that the deployment has now.
    current: SpecForm,
    /// Fields that don't belong to the chosen source, until it is chosen again.
    parked: BTreeMap<&'static str, String>,
    pub focus: DeploymentStop,
    /// The text of the focused field, and the option of a focused choice.
    input: TextInput,
    choice: Option<usize>,
    /// The row of the secret being typed, and why the text is invalid.
    pub(super) typed_secret: Option<(usize, Option<String>)>,
    /// The fields that show their problems, because they were left.
    pub(super) left: BTreeSet<DeploymentStop>,
    /// The groups that are unfolded.
    open: BTreeSet<&'static str>,
    integrations: Choices,
    repositories: Choices,
    /// Why each reference to a secret can't be read; `None` if it can.
    references: BTreeMap<String, Option<String>>,
    /// The problem of the document.
    pub(super) problem: Option<String>,
    scroll: FormScroll<DeploymentStop>,
    /// The profiles on which a deployment can be created.
    profiles: Vec<Arc<str>>,
    /// Whether a field or the profile changed since the document was written.
    pub(super) is_changed: bool,
}

impl DeploymentStop {
    fn of(entry: FormEntry) -> DeploymentStop {
        DeploymentStop::Field(entry.path)
    }
}

impl DeploymentForm {
    /// Creates the form of a deployment. `current` has the fields of an existing one.
    pub fn new(subject: &Subject, current: Option<SpecForm>) -> Option<DeploymentForm> {
        let (name, profile) = match subject {
            Subject::CreateDeployment { profile } => (None, profile),
            Subject::UpdateDeployment { profile, name, .. } => (Some(name.clone()), profile),
            _ => return None,
        };
        let focus = match &name {
            Some(_) => "display_name",
            None if profile.is_empty() => PROFILE,
            None => "name",
        };
        Some(DeploymentForm {
            is_new: name.is_none(),
            name,
            profile: profile.clone(),
            values: SpecForm::default(),
            current: current.unwrap_or_default(),
            parked: BTreeMap::new(),
            focus: DeploymentStop::Field(focus),
            input: TextInput::line(""),
            choice: None,
            typed_secret: None,
            left: BTreeSet::new(),
            open: BTreeSet::new(),
            integrations: Choices::default(),
            repositories: Choices::default(),
            references: BTreeMap::new(),
            problem: None,
            scroll: FormScroll::new(false),
            profiles: Vec::new(),
            is_changed: false,
        })
    }

    /// Shows the fields of a document.
    ///
    /// # Errors
    /// Why they can't be shown.
    pub fn read(&mut self, document: &str) -> Result<(), String> {
        self.values = SpecForm::read(document).map_err(|error| error.message)?;
        let stops = self.stops();
        if !stops.contains(&self.focus) {
            self.focus = stops.first().copied().unwrap_or(self.focus);
        }
        self.load_input();
        Ok(())
    }

    /// Returns the source, which decides the fields.
    fn source(&self) -> &str {
        match self.is_new {
            true => self.values.get("source"),
            false => self.current.get("source"),
        }
    }

    /// Loads the text of the focused field.
    fn load_input(&mut self) {
        let text = match self.focus {
            DeploymentStop::Field(path) => self.shown_value(path),
            _ => "",
        };
        self.input = TextInput::line(text);
    }

    /// Returns the first problem in the order of the fields.
    pub fn first_problem(&self, cx: &Cx<'_>) -> Option<(DeploymentStop, String)> {
        // Fields in a closed fold are checked too.
        let mut stops = self
            .stops()
            .into_iter()
            .chain(self.entries().map(DeploymentStop::of));
        stops.find_map(|stop| Some((stop, self.problem(cx, stop)?)))
    }

    /// Names the required fields that are empty.
    pub fn missing(&self) -> Vec<String> {
        let is_missing =
            |entry: &FormEntry| entry.is_required && self.value(entry.path).trim().is_empty();
        let missing = self.entries().filter(is_missing);
        missing.map(|entry| entry.label.to_lowercase()).collect()
    }

    /// Goes to a field that has a problem, and shows all problems.
    pub fn go_to_problem(&mut self, stop: DeploymentStop) {
        self.left.extend(self.stops());
        let entry = match stop {
            DeploymentStop::Field(path) => self.entry(path),
            _ => None,
        };
        let fold = self
            .folds()
            .find(|fold| entry.is_some_and(|entry| entry.of == *fold));
        self.open.extend(fold);
        self.left.insert(stop);
        self.focus = stop;
        self.typed_secret = None;
        self.load_input();
    }
}

/// Returns the profiles on which a deployment can be created.
fn profiles(session: &Session) -> Vec<Arc<str>> {
    let profiles = session.profiles.iter();
    let all = profiles.filter(|profile| profile.control_plane);
    all.map(|profile| profile.name.clone()).collect()
}
