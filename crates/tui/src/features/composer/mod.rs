//! The composer of a run: its assistant, thread, input and options.

pub mod assistant;
pub mod input;
mod keys;
mod lines;
mod option_lines;
pub mod options;
mod rejected;
mod start;
#[cfg(test)]
mod tests;

pub use keys::{ComposerStop, Section};

use crate::session::form::FormKeys;
use crate::session::loaded::Loaded;
use crate::session::msg::{Effect, ServerRef, ThreadRef};
use crate::session::run::{Origin, Warning, Where};
use crate::session::{Cx, Requests, Session};
use crate::widgets::form::FormScroll;
use assistant::AssistantPick;
use input::InputDraft;
use jiff::Timestamp;
use options::OptionsDraft;
use runtail_api::{ApiError, GraphFacts, PastInput, StartError};
use runtail_core::model::{Assistant, ThreadStatus};
use std::collections::BTreeMap;

/// Assistants whose facts are kept.
const MAX_KNOWN: usize = 20;

/// What outlives a composer.
#[derive(Debug, Default)]
pub struct Composing {
    /// The composer that was closed last.
    pub draft: Option<Composer>,
    /// The stream modes that were chosen last.
    modes: Option<Vec<(&'static str, bool)>>,
}

/// What is known of an assistant.
#[derive(Debug, Clone, Default)]
struct KnownAssistant {
    /// Whether its facts were requested.
    is_requested: bool,
    facts: Option<Result<GraphFacts, ApiError>>,
    /// Its earlier inputs, newest first.
    inputs: Option<Vec<PastInput>>,
}

/// A run being composed.
#[derive(Debug, Clone)]
pub struct Composer {
    /// The number of the composer in this session.
    pub number: u64,
    pub server: ServerRef,
    pub focus: ComposerStop,
    pub assistant: AssistantPick,
    /// The thread that the composer was opened from.
    pub thread: Option<String>,
    /// The thread's own assistant, or its graph.
    of_thread: Option<String>,
    /// Where to start the run.
    pub place: Where,
    /// The consequence of a new run on the thread, when the composer was opened.
    warning: Option<Warning>,
    pub input: InputDraft,
    pub options: OptionsDraft,
    pub shows_options: bool,
    known: BTreeMap<String, KnownAssistant>,
    /// The position in the earlier inputs, and the input that was replaced by the first of them.
    past: Option<(usize, Box<InputDraft>)>,
    /// Whether a start was tried; from then on all problems are shown.
    was_tried: bool,
    /// What the start key asked last, and when it was pressed last.
    asked: Option<(String, Timestamp)>,
    /// Whether the request was sent, and its result is unknown.
    pub is_sending: bool,
    /// Why the run was not started.
    refused: Option<StartError>,
    /// Whether it was closed to start its run on a new thread.
    is_used: bool,
    scroll: FormScroll<ComposerStop>,
}

impl Composing {
    /// Creates a composer, which continues the draft of the same thread, or of a new one on the same server, and requests what it
    /// shows.
    pub fn open(
        &mut self,
        session: &Session,
        server: ServerRef,
        assistants: &Loaded<Vec<Assistant>>,
        from: Origin,
    ) -> (Composer, Requests) {
        let is_chosen = from.assistant.is_some();
        let (before, after) = (from.before.clone(), from.after.clone());
        let known = assistants.value.as_deref().unwrap_or_default();
        let number = session.next_change.take();
        let mut composer = Composer::new(number, server.clone(), known, from);
        composer.assistant.error.clone_from(&assistants.error);
        if let Some(modes) = &self.modes {
            composer.options.modes.clone_from(modes);
        }
        // An input that was typed for another thread must not look like one for this thread.
        let fits = |draft: &mut Composer| {
            draft.server == composer.server && draft.thread == composer.thread
        };
        if let Some(draft) = self.draft.take_if(fits) {
            composer.restore(draft, is_chosen);
        }
        composer.add_breakpoints(&before, &after);
        let mut requests = composer.request_facts();
        // If loading the assistants failed before, try again.
        if assistants.error.is_some() && known.is_empty() {
            requests.push(Effect::FetchAssistants(server));
        }
        (composer, requests)
    }

    /// Keeps a composer that closes.
    pub fn keep(&mut self, composer: Composer) {
        self.modes = Some(composer.options.modes.clone());
        self.draft = Some(composer);
    }
}

impl Composer {
    /// Creates a composer with an example input.
    pub fn new(number: u64, server: ServerRef, assistants: &[Assistant], from: Origin) -> Composer {
        let Origin {
            thread,
            assistant,
            place,
            warning,
            ..
        } = from;
        let default = if thread.is_some() {
            Where::ThisThread
        } else {
            Where::NewThread
        };
        let mut composer = Composer {
            number,
            server,
            focus: ComposerStop::Json,
            assistant: AssistantPick::new(assistant.clone()),
            of_thread: assistant.filter(|_| thread.is_some()),
            thread,
            place: place.unwrap_or(default),
            warning,
            input: InputDraft::default(),
            options: OptionsDraft::default(),
            shows_options: false,
            known: BTreeMap::new(),
            past: None,
            was_tried: false,
            asked: None,
            is_sending: false,
            is_used: false,
            refused: None,
            scroll: FormScroll::new(false),
        };
        composer.assistant.offer(assistants);
        composer
    }

    /// Adds breakpoints to those in the options, and shows them.
    fn add_breakpoints(&mut self, before: &[String], after: &[String]) {
        let is_new = self.options.add_breakpoints(before, after);
        self.shows_options |= is_new;
    }

    fn restore(&mut self, draft: Composer, is_chosen: bool) {
        if let Some(listed) = draft.assistant.listed().filter(|_| !is_chosen) {
            self.assistant.choose(&listed.id);
        }
        self.known = draft.known;
        self.known.retain(|_, known| known.facts.is_some());
        // What the closed composer was still waiting for is requested again.
        for known in self.known.values_mut() {
            known.is_requested = known.inputs.is_some();
        }
        (self.input, self.options, self.shows_options) =
            (draft.input, draft.options, draft.shows_options);
        if draft.is_used {
            self.options.keep_modes_only();
            self.shows_options = false;
        }
        self.use_facts();
        self.focus = self.first_input();
    }

    /// Sets the listed assistants, chooses the initial one, and requests its facts.
    pub fn offer(&mut self, assistants: &[Assistant]) -> Requests {
        self.assistant.offer(assistants);
        self.request_facts()
    }

    fn known(&self) -> Option<&KnownAssistant> {
        self.known.get(&self.assistant.listed()?.id)
    }

    fn facts(&self) -> Option<&GraphFacts> {
        self.known()?.facts.as_ref()?.as_ref().ok()
    }

    /// Returns the nodes of the chosen graph, if they are known.
    pub fn nodes(&self) -> Option<&[String]> {
        self.facts()?.nodes.as_deref()
    }

    /// Returns the earlier inputs of the chosen assistant.
    pub fn inputs(&self) -> &[PastInput] {
        self.known()
            .and_then(|known| known.inputs.as_deref())
            .unwrap_or_default()
    }

    /// Requests what the composer shows of the chosen assistant, once.
    fn request_facts(&mut self) -> Requests {
        let Some(id) = self.assistant.listed().map(|one| one.id.clone()) else {
            return Requests::none();
        };
        self.past = None;
        if self.known.len() >= MAX_KNOWN {
            self.known.retain(|known, _| *known == id);
        }
        let known = self.known.entry(id.clone()).or_default();
        if std::mem::replace(&mut known.is_requested, true) {
            self.use_facts();
            return Requests::none();
        }
        let thread = self.thread.clone();
        Requests::from(Effect::FetchGraphFacts(self.server.clone(), id.clone()))
            .and(Effect::FetchInputs(self.server.clone(), id, thread))
    }

    /// Shows the input as the chosen assistant's form. Without a form, an untouched input becomes the last one.
    fn use_facts(&mut self) {
        let Some(facts) = self.facts().cloned() else {
            return;
        };
        let was_json = self.input.twin.as_text;
        // The focus stays while an assistant is searched or an option is set.
        let is_in_input = self.is_in_input();
        self.input.set_schema(facts.input_schema.as_ref());
        self.options
            .set_context_schema(facts.context_schema.as_ref());
        let last = self.inputs().first().map(|past| past.input.clone());
        if let (None, false, Some(last)) = (self.input.known_form(), self.input.is_touched(), last)
        {
            self.input.set_value(&last);
        }
        if is_in_input
            && (was_json != self.input.twin.as_text || !self.stops().contains(&self.focus))
        {
            self.focus = self.first_input();
        }
    }

    /// Returns the thread that the run is started on, if it exists.
    pub fn target_thread(&self) -> Option<ThreadRef> {
        let id = self
            .thread
            .clone()
            .filter(|_| self.place == Where::ThisThread)?;
        Some(ThreadRef {
            server: self.server.clone(),
            id,
        })
    }

    /// Returns the warning about a run on the chosen thread: by its open page, else as it was in the list.
    fn warning(&self, cx: &Cx<'_>) -> Option<Warning> {
        self.target_thread()?;
        match self.status(cx) {
            None => self.warning,
            Some(ThreadStatus::Waiting { .. }) => Some(Warning::WaitingForInput),
            Some(status) if status.is_active() => Some(Warning::Active),
            Some(_) => None,
        }
    }

    /// Returns the status of the thread that the run is started on, if its open page knows it.
    fn status<'s>(&self, cx: &Cx<'s>) -> Option<&'s ThreadStatus> {
        let status = cx.session.pages.status(&self.target_thread()?);
        status.filter(|status| {
            !matches!(status, ThreadStatus::Loading | ThreadStatus::Unknown { .. })
        })
    }

    /// Records that the run was not started. The draft is kept.
    pub fn refused(&mut self, failed: StartError) {
        self.is_sending = false;
        self.refused = Some(failed);
        self.scroll.top = 0;
        if let Some((option, _)) = self.refused_option() {
            self.shows_options = true;
            self.focus = self.stop_of(option);
        }
    }

    /// Forgets what was meant for the run that was started. Its input stays, for another run like it.
    pub fn started(&mut self) {
        self.is_sending = false;
        self.refused = None;
        self.was_tried = false;
        self.options.keep_modes_only();
    }

    /// Replaces the input by an earlier one of the assistant: each time an older one, and at the end what was there before.
    fn recall(&mut self) -> Requests {
        let inputs = self.inputs().to_vec();
        let name = self
            .assistant
            .listed()
            .map(|one| one.label.clone())
            .unwrap_or_default();
        if inputs.is_empty() {
            let is_loading = self.known().is_some_and(|known| known.inputs.is_none());
            return Requests::info(match is_loading {
                true => "Loading earlier inputs…".to_string(),
                false => format!("No earlier input of {}.", runtail_core::text::clean(&name)),
            });
        }
        let at = self.past.as_ref().map_or(0, |(at, _)| at + 1);
        let own = self
            .past
            .take()
            .map_or_else(|| Box::new(self.input.clone()), |(_, own)| own);
        let said = match inputs.get(at) {
            Some(past) => {
                self.input.touch();
                self.input.set_value(&past.input);
                self.past = Some((at, own));
                let thread = runtail_core::text::short_id(&past.thread_id);
                format!(
                    "Earlier input {} of {}, from thread {thread}.",
                    at + 1,
                    inputs.len()
                )
            }
            None => {
                self.input = *own;
                "Your own input.".to_string()
            }
        };
        self.focus = self.first_input();
        Requests::info(said)
    }
}
