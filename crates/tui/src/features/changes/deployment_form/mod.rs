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
use fields::{Entry, Fold};
use lists::Choices;
use runtail_core::model::SpecForm;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An element that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    Profile,
    /// A field, by its path in the document.
    Field(&'static str),
    /// A row of the secrets; the one after the last adds a secret.
    Secret(usize),
    Fold(Fold),
}

/// The form and what it knows besides the document.
#[derive(Debug, Clone)]
pub struct DeploymentForm {
    /// Whether the form is shown instead of the document.
    pub is_shown: bool,
    /// Whether the deployment is created rather than updated.
    pub(super) is_new: bool,
    /// The profile; empty until one is chosen.
    pub profile: Arc<str>,
    /// The fields of the document.
    pub values: SpecForm,
    /// The fields that the deployment has now.
    pub(super) current: SpecForm,
    /// Fields that don't belong to the chosen source, until it is chosen again.
    parked: BTreeMap<&'static str, String>,
    pub focus: Stop,
    /// The text of the focused field.
    pub(super) input: TextInput,
    /// The row of the secret being typed, and why the text is invalid.
    pub(super) typed_secret: Option<(usize, Option<String>)>,
    /// The fields that show their problems, because they were left.
    pub(super) left: BTreeSet<Stop>,
    pub(super) open: BTreeSet<Fold>,
    pub(super) integrations: Choices,
    pub(super) repositories: Choices,
    /// Why each reference to a secret can't be read; `None` if it can.
    pub(super) references: BTreeMap<String, Option<String>>,
    /// Why the document can't be shown as a form.
    pub why_document: Option<String>,
    scroll: FormScroll<Stop>,
    /// The profiles on which a deployment can be created.
    profiles: Vec<Arc<str>>,
    /// Whether a field or the profile changed since the document was written.
    pub(super) is_changed: bool,
}

impl Stop {
    fn of(entry: Entry) -> Stop {
        Stop::Field(entry.path)
    }
}

impl DeploymentForm {
    /// Creates the form of a document. `current` has the fields of an existing deployment.
    pub fn new(
        subject: &Subject,
        document: &str,
        current: Option<SpecForm>,
    ) -> Option<DeploymentForm> {
        let (is_new, profile) = match subject {
            Subject::CreateDeployment { profile } => (true, profile.clone()),
            Subject::UpdateDeployment { profile, .. } => (false, profile.clone()),
            _ => return None,
        };
        let mut form = DeploymentForm {
            is_shown: false,
            is_new,
            profile,
            values: SpecForm::default(),
            current: current.unwrap_or_default(),
            parked: BTreeMap::new(),
            focus: Stop::Field("display_name"),
            input: TextInput::line(""),
            typed_secret: None,
            left: BTreeSet::new(),
            open: BTreeSet::new(),
            integrations: Choices::default(),
            repositories: Choices::default(),
            references: BTreeMap::new(),
            why_document: None,
            scroll: FormScroll::new(false),
            profiles: Vec::new(),
            is_changed: false,
        };
        form.show(document);
        if is_new {
            form.focus = if form.profile.is_empty() {
                Stop::Profile
            } else {
                Stop::Field("name")
            };
        }
        form.load_input();
        Some(form)
    }

    /// Shows the form of a document, if it can be shown as one.
    pub fn show(&mut self, document: &str) {
        match SpecForm::read(document) {
            Ok(values) => {
                (self.values, self.is_shown, self.why_document) = (values, true, None);
                if !self.stops().contains(&self.focus) {
                    self.focus = self.stops().first().copied().unwrap_or(self.focus);
                }
                self.load_input();
            }
            Err(error) => (self.is_shown, self.why_document) = (false, Some(error.message)),
        }
    }

    /// Returns the source, which decides the fields.
    pub(super) fn source(&self) -> &str {
        match self.is_new {
            true => self.values.get("source"),
            false => self.current.get("source"),
        }
    }

    /// Loads the text of the focused field.
    pub(super) fn load_input(&mut self) {
        let text = match self.focus {
            Stop::Field(path) => self.shown_value(path),
            _ => String::new(),
        };
        self.input = TextInput::line(&text);
    }

    /// Returns the first problem in the order of the fields.
    pub fn first_problem(&self, cx: &Cx<'_>) -> Option<(Stop, String)> {
        // Fields in a closed fold are checked too.
        let folded = self.folds().iter().flat_map(|fold| fold.entries());
        let mut stops = self
            .stops()
            .into_iter()
            .chain(folded.copied().map(Stop::of));
        stops.find_map(|stop| Some((stop, self.problem(cx, stop)?)))
    }

    /// Names the required fields of a new deployment that are empty. A document that has no form is left to the server.
    pub fn missing(&self) -> Vec<String> {
        if !self.is_new || !self.is_shown {
            return Vec::new();
        }
        let is_missing =
            |entry: &Entry| entry.is_required && self.values.get(entry.path).trim().is_empty();
        let fields = self
            .entries()
            .into_iter()
            .filter(is_missing)
            .map(|entry| entry.label.to_lowercase());
        self.profile
            .is_empty()
            .then(|| "profile".to_string())
            .into_iter()
            .chain(fields)
            .collect()
    }

    /// Goes to a field that has a problem, and shows all problems.
    pub fn go_to_problem(&mut self, stop: Stop) {
        self.left.extend(self.stops());
        for fold in [Fold::Resources, Fold::Build] {
            if fold.entries().iter().any(|entry| Stop::of(*entry) == stop) {
                self.open.insert(fold);
            }
        }
        self.left.insert(stop);
        self.focus = stop;
        self.typed_secret = None;
        self.load_input();
    }

    /// Adjusts the form to the profiles, and the scroll position to the focus.
    pub fn relayout(&mut self, cx: &Cx<'_>, problem: Option<&str>) {
        self.profiles = profiles(cx.session);
        let (drawn, height) = (self.lines(cx, problem), cx.session.overlay_area().h);
        self.scroll.clamp(&drawn, self.focus, height.into());
    }
}

/// Returns the profiles on which a deployment can be created.
fn profiles(session: &Session) -> Vec<Arc<str>> {
    let profiles = session.profiles.iter();
    let all = profiles.filter(|profile| profile.control_plane);
    all.map(|profile| profile.name.clone()).collect()
}
