//! The choice of an assistant by typing part of its name.

use crate::input::key::{Code, Key};
use crate::widgets::text_input::TextInput;
use runtail_api::ApiError;
use runtail_core::model::Assistant;
use runtail_core::text;

/// Matches that are listed while typing.
pub const SHOWN: usize = 6;

/// A listed assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAssistants {
    pub id: String,
    pub graph: String,
    /// Its name, with its graph if that differs, and its version.
    pub label: String,
}

/// The field in which an assistant is chosen.
#[derive(Debug, Clone)]
pub struct AssistantPick {
    /// The server's assistants, sorted by name.
    pub all: Vec<ListedAssistants>,
    chosen: usize,
    /// The text that narrows the list; on a server without a list, the assistant's name.
    pub typed: TextInput,
    /// The highlighted match.
    pub at: usize,
    /// The assistant to choose once the list is loaded, by id or by graph.
    initial: Option<String>,
    /// Why they could not be listed.
    pub error: Option<ApiError>,
}

impl AssistantPick {
    pub fn new(initial: Option<String>) -> AssistantPick {
        AssistantPick {
            all: Vec::new(),
            error: None,
            chosen: 0,
            typed: TextInput::line(""),
            at: 0,
            initial,
        }
    }

    /// Sets the listed assistants. The chosen one stays; first it is the initial one.
    pub fn offer(&mut self, assistants: &[Assistant]) {
        let wanted = self
            .listed()
            .map(|one| one.id.clone())
            .or_else(|| self.initial.clone());
        let listed = |a: &Assistant| {
            let mut label = a.shown_name().to_string();
            if label != a.graph_id {
                label += &format!(" ({})", a.graph_id);
            }
            if let Some(version) = a.version {
                label += &format!(" v{version}");
            }
            ListedAssistants {
                id: a.assistant_id.clone(),
                graph: a.graph_id.clone(),
                label,
            }
        };
        self.all = assistants.iter().map(listed).collect();
        self.all.sort_by(|a, b| a.label.cmp(&b.label));
        // A thread's metadata names the assistant; on some servers only the graph.
        let at = |id: &str| self.all.iter().position(|one| one.id == id);
        let by_graph = |graph: &str| {
            at(&assistants
                .iter()
                .find(|a| a.graph_id == graph)?
                .assistant_id)
        };
        self.chosen = wanted
            .as_deref()
            .and_then(|w| at(w).or_else(|| by_graph(w)))
            .unwrap_or(0);
        // What was typed before the list was there names one of it, if it can.
        self.accept();
        self.typed.set_text("");
    }

    /// Chooses a listed assistant by its id.
    pub fn choose(&mut self, id: &str) {
        if let Some(at) = self.all.iter().position(|one| one.id == id) {
            self.chosen = at;
            self.typed.set_text("");
        }
    }

    /// Returns the chosen assistant of the list.
    pub fn listed(&self) -> Option<&ListedAssistants> {
        self.all.get(self.chosen)
    }

    /// Returns the listed assistant with this id, or that runs this graph.
    pub fn find(&self, id: &str) -> Option<&ListedAssistants> {
        self.all
            .iter()
            .find(|one| one.id == id)
            .or_else(|| self.all.iter().find(|one| one.graph == id))
    }

    /// Returns the assistant to run.
    ///
    /// # Errors
    /// Why there is none.
    pub fn id(&self) -> Result<String, String> {
        let typed = self.typed.text().trim().to_string();
        match (self.listed(), typed.is_empty()) {
            (Some(one), true) => Ok(one.id.clone()),
            (Some(_), false) if self.matches().is_empty() => {
                Err(format!("No assistant matches {}.", text::seen(&typed, 60)))
            }
            (Some(_), false) => Err("Choose an assistant with ⏎.".into()),
            (None, false) => Ok(typed),
            (None, true) => Err("Type an assistant or graph name.".to_string()),
        }
    }

    /// Returns the indexes of the assistants that match what is typed: those whose names begin with it come first.
    pub fn matches(&self) -> Vec<usize> {
        let wanted = self.typed.text().trim().to_lowercase();
        let starts = |one: &ListedAssistants| one.label.to_lowercase().starts_with(&wanted);
        let contains = |one: &ListedAssistants| {
            starts(one)
                || one.label.to_lowercase().contains(&wanted)
                || one.graph.to_lowercase().contains(&wanted)
                || one.id.starts_with(&wanted)
        };
        let mut found: Vec<usize> = (0..self.all.len())
            .filter(|at| contains(&self.all[*at]))
            .collect();
        found.sort_by_key(|at| !starts(&self.all[*at]));
        found
    }

    /// Whether a text is typed that narrows the list.
    pub fn is_searching(&self) -> bool {
        !self.all.is_empty() && !self.typed.is_empty()
    }

    /// Chooses the highlighted match. Without one, what was typed stays, and is a problem.
    pub fn accept(&mut self) {
        if self.is_searching()
            && let Some(at) = self.matches().get(self.at)
        {
            self.chosen = *at;
            self.typed.set_text("");
        }
        self.at = 0;
    }

    /// Handles a key.
    pub fn key(&mut self, key: Key) {
        let count = self.all.len();
        match key.code {
            Code::Up if self.is_searching() => self.at = self.at.saturating_sub(1),
            Code::Down if self.is_searching() => {
                self.at = (self.at + 1).min(self.matches().len().min(SHOWN).saturating_sub(1));
            }
            Code::Left if count > 0 && self.typed.is_empty() => {
                self.chosen = (self.chosen + count - 1) % count
            }
            // An assistant's name can have blanks, but doesn't begin with one.
            Code::Right | Code::Char(' ') if count > 0 && self.typed.is_empty() => {
                self.chosen = (self.chosen + 1) % count
            }
            _ => {
                self.typed.key(key);
                self.at = 0;
            }
        }
    }
}
