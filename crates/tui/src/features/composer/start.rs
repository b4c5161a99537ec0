//! Starting the composed run: what is still wrong, and the request.

use super::Composer;
use super::keys::{ComposerStop, Section};
use super::options::spot_of;
use crate::session::card::sentence;
use crate::session::form::FormKeys;
use crate::session::msg::{Effect, StreamTarget};
use crate::session::run::{Warning, Where};
use crate::session::thread::MAYBE_SENT;
use crate::session::{Cx, HELD_KEY, Request, Requests, Route, not_sent};
use crate::widgets::form::is_at;
use runtail_api::{RunStart, StartFailure, StartGuard, ThreadIntent};
use runtail_core::model::{Conflict, FieldKind, OptionProblem, RunCreate, RunOption, RunOptions};
use runtail_core::text;
use runtail_stream::Target;
use serde_json::Value;
use std::sync::Arc;

/// The required fields of the input that may be left empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StateKeys {
    /// Those with a value in the thread's state. Without a thread, there is none.
    Known(Vec<Arc<str>>),
    /// The thread's state is not known, so any of them may have a value there.
    Unknown,
}

impl StateKeys {
    /// Returns whether the thread's state has a value of the field.
    pub(super) fn has(&self, path: &str) -> bool {
        let name = path.split('.').next().unwrap_or_default();
        matches!(self, StateKeys::Known(names) if names.iter().any(|known| **known == *name))
    }

    /// Returns whether a rule has to be followed before the run is sent.
    fn demands(&self, path: &str, rule: &str) -> bool {
        rule != "required" || *self != StateKeys::Unknown && !self.has(path)
    }
}

impl Composer {
    /// Returns which required fields may be left empty.
    pub(super) fn state_keys(&self, cx: &Cx<'_>) -> StateKeys {
        match self.target_thread() {
            None => StateKeys::Known(Vec::new()),
            Some(thread) => {
                let page = cx.session.pages.open(&thread);
                let keys = page.and_then(|page| page.state_keys.clone());
                keys.map_or(StateKeys::Unknown, StateKeys::Known)
            }
        }
    }

    /// Returns the request.
    ///
    /// # Errors
    /// Every reason why it can't be sent, with the element that it is about, from top to bottom.
    pub fn request(&self, cx: &Cx<'_>) -> Result<RunCreate, Vec<(ComposerStop, String)>> {
        let mut problems: Vec<(ComposerStop, String)> = Vec::new();
        let assistant = self
            .assistant
            .id()
            .map_err(|why| problems.push((ComposerStop::Assistant, why)))
            .ok();
        problems.extend(self.input_problems(&self.state_keys(cx)));
        let options = self.checked_options();
        let options = options.map_err(|wrong| {
            problems.extend(
                wrong
                    .into_iter()
                    .map(|problem| (self.stop_of(problem.option), sentence(&problem.to_string()))),
            );
        });
        if self.is_refused(cx) {
            problems.push((ComposerStop::Conflict, self.active_warning(cx)));
        }
        match (assistant, options, self.input.value()) {
            (Some(assistant), Ok(options), Ok(input)) if problems.is_empty() => {
                // Only a thread that exists can have another run.
                let conflict = options.conflict.filter(|_| self.target_thread().is_some());
                Ok(RunOptions {
                    conflict,
                    ..options
                }
                .body(&assistant, Some(input)))
            }
            _ => Err(problems),
        }
    }

    /// Returns the options, checked against the graph and the server.
    pub(super) fn checked_options(&self) -> Result<RunOptions, Vec<OptionProblem>> {
        let options = self.options.checked(self.nodes())?;
        let is_ignored = self.facts().is_some_and(|facts| facts.ignores_breakpoints);
        match options.ignored_breakpoints().filter(|_| is_ignored) {
            Some(problem) => Err(vec![problem]),
            None => Ok(options),
        }
    }

    /// Returns why the input can't be sent. JSON may break the schema: servers accept more than a schema says.
    fn input_problems(&self, state: &StateKeys) -> Vec<(ComposerStop, String)> {
        let mut found = match self.input.value() {
            Err(problems) => problems,
            Ok(_) if self.input.twin.as_text => return Vec::new(),
            Ok(_) => self.input.violations().clone(),
        };
        found.retain(|(path, rule)| state.demands(path, rule));
        let stop = |path: &str| match self.input.form() {
            Some(form) => {
                ComposerStop::Field(Section::Input, form.position(path).unwrap_or_default())
            }
            None => ComposerStop::Json,
        };
        let text = |path: &str, rule: &str| match path {
            "" if self.input.twin.as_text => format!("The input is not valid JSON: {rule}."),
            "" => sentence(rule),
            path => match self.item_of(path) {
                Some((list, item)) => sentence(&format!("{}: {item} {rule}", text::seen(list, 60))),
                None => sentence(&format!("{}: {rule}", text::seen(path, 60))),
            },
        };
        let mut problems: Vec<(ComposerStop, String)> = found
            .iter()
            .map(|(path, rule)| (stop(path), text(path, rule)))
            .collect();
        let stops = self.stops();
        problems.sort_by_key(|(stop, _)| stops.iter().position(|one| one == stop));
        problems
    }

    /// Returns the rule that a field of the input breaks.
    pub(super) fn problem_of(&self, path: &str, state: &StateKeys) -> Option<String> {
        let found = self
            .input
            .value()
            .err()
            .unwrap_or_else(|| self.input.violations().clone());
        let is_own = |(known, _): &&(String, String)| is_at(known, path);
        let is_shown = |(path, rule): &&(String, String)| state.demands(path, rule);
        let (known, rule) = found.iter().filter(is_own).find(is_shown)?;
        Some(match self.part_of(path, known) {
            part if part.is_empty() => rule.clone(),
            part => format!("{part} {rule}"),
        })
    }

    /// Names the part of a field that a path leads to; an empty text for the field itself.
    pub(super) fn part_of(&self, field: &str, path: &str) -> String {
        match self.item_of(path).filter(|(list, _)| *list == field) {
            Some((_, item)) => item,
            None => {
                let below = path.strip_prefix(field).unwrap_or_default();
                text::seen(below.trim_start_matches('.'), 40)
            }
        }
    }

    /// Splits the path of an item of a list that is a field of the form: into the list's path, and the item in words.
    pub(super) fn item_of<'p>(&self, path: &'p str) -> Option<(&'p str, String)> {
        let (list, index) = path.rsplit_once('.')?;
        let index: usize = index.parse().ok()?;
        let mut form = Some(&self.input.form()?.form);
        let mut kind = None;
        for name in list.split('.') {
            kind = form?
                .fields
                .iter()
                .find(|field| field.name == name)
                .map(|field| &field.kind);
            form = match kind {
                Some(FieldKind::Object(inner)) => Some(inner),
                _ => None,
            };
        }
        matches!(kind, Some(FieldKind::List(_))).then(|| (list, format!("item {}", index + 1)))
    }

    pub(super) fn stop_of(&self, option: RunOption) -> ComposerStop {
        match option {
            RunOption::Modes => ComposerStop::Modes,
            RunOption::Conflict => ComposerStop::Conflict,
            option => ComposerStop::Field(Section::Options, spot_of(option)),
        }
    }

    /// Starts the composed run, or moves to the first reason why it can't be started.
    pub(super) fn start(&mut self, cx: &Cx<'_>) -> Requests {
        if !cx.is_seen {
            return Requests::none();
        }
        if matches!(&self.refused, Some(failed) if failed.failure == StartFailure::Unknown) {
            return Requests::error(MAYBE_SENT);
        }
        self.assistant.accept();
        self.was_tried = true;
        let body = match self.request(cx) {
            Ok(body) => body,
            Err(problems) => return self.show_problem(&problems),
        };
        // The profile can become read-only while the composer is open.
        if cx.session.is_read_only(&self.server.profile) {
            return Requests::error(cx.session.read_only_text(&self.server.profile));
        }
        if let Some(doubt) = self.doubt()
            && !self.is_meant(cx, &doubt)
        {
            let key = cx.session.key("composer.start");
            return Requests::info(format!("{doubt} Press {key} again to start anyway."));
        }
        self.refused = None;
        let Some(thread) = self.target_thread() else {
            let on = if self.place == Where::Stateless {
                Target::Stateless
            } else {
                Target::NewThread
            };
            let target = StreamTarget::Start {
                on,
                body: Arc::new(body),
            };
            let run = Route::Run(self.server.clone(), Box::new(target));
            self.is_used = true;
            return Requests::from(Request::Close).and(run);
        };
        if self.options.conflict.cancels() {
            // The preview says which runs end, and they are looked at again before it is sent.
            let intent = ThreadIntent::Start {
                thread: thread.id,
                body: Box::new(body),
            };
            return Route::on_thread(thread.server, intent).into();
        }
        self.is_sending = true;
        let start = RunStart {
            thread: thread.id.clone(),
            body,
            guard: StartGuard::None,
        };
        Effect::StartRun(self.number, thread, Box::new(start)).into()
    }

    /// Returns why the run is probably not what is meant: such a run is started by a second press only.
    fn doubt(&self) -> Option<String> {
        let graph_of = |id: &str| Some(&self.assistant.find(id)?.graph);
        let own = self
            .target_thread()
            .and_then(|_| graph_of(self.of_thread.as_deref()?));
        let chosen = self.assistant.listed().map(|one| &one.graph);
        if let (Some(own), Some(chosen)) = (own, chosen)
            && own != chosen
        {
            return Some(format!(
                "The thread's graph is {}, not {}.",
                text::clean(own),
                text::clean(chosen)
            ));
        }
        let is_empty = self
            .input
            .value()
            .is_ok_and(|input| self.has_no_message(&input));
        is_empty.then(|| "The conversation is empty.".to_string())
    }

    /// Returns whether an input consists of messages only, and has none.
    fn has_no_message(&self, input: &Value) -> bool {
        let Some(fields) = input.as_object() else {
            return false;
        };
        let form = self.input.known_form();
        let takes_messages = fields.contains_key("messages")
            || form.is_some_and(|form| form.fields.iter().any(|field| field.name == "messages"));
        let is_blank = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
        let is_empty = match fields.get("messages") {
            None => true,
            Some(Value::Array(all)) => all.iter().all(|one| is_blank(&one["content"])),
            Some(text) => is_blank(text),
        };
        takes_messages && is_empty && fields.keys().all(|key| key == "messages")
    }

    /// Returns whether the start key was pressed before, for the same reason, and released since.
    fn is_meant(&mut self, cx: &Cx<'_>, doubt: &str) -> bool {
        let now = cx.session.now;
        let is_second = self
            .asked
            .as_ref()
            .is_some_and(|(asked, at)| asked == doubt && now.duration_since(*at) >= HELD_KEY);
        self.asked = Some((doubt.to_string(), now));
        is_second
    }

    fn show_problem(&mut self, problems: &[(ComposerStop, String)]) -> Requests {
        let Some((stop, why)) = problems.first() else {
            return Requests::none();
        };
        // What has no place in the form yet is an option.
        self.shows_options |= !self.stops().contains(stop);
        self.focus = *stop;
        Requests::error(not_sent(why))
    }

    /// Describes what the start key does, or the first reason why it does nothing. The second part says whether it is ready.
    pub(super) fn readiness(&self, cx: &Cx<'_>) -> (String, bool) {
        if let Err(problems) = self.request(cx) {
            let first = problems.into_iter().next();
            return (first.map(|(_, why)| why).unwrap_or_default(), false);
        }
        if cx.session.is_read_only(&self.server.profile) {
            return (
                format!("{} is read-only.", text::clean(&self.server.profile)),
                false,
            );
        }
        if let Some(doubt) = self.doubt() {
            let key = cx.session.key("composer.start");
            return (format!("{doubt} Press {key} twice to start anyway."), true);
        }
        let when = match self
            .options
            .checked(None)
            .ok()
            .and_then(|options| options.delay)
        {
            None | Some(0) => String::new(),
            Some(seconds) => format!(" in {seconds}s"),
        };
        let place = match (self.place, self.target_thread()) {
            (_, Some(_)) => {
                let status = self
                    .status(cx)
                    .map(|status| format!(" ({})", status.word()));
                format!("on {}{}", self.thread_name(), status.unwrap_or_default())
            }
            (Where::Stateless, None) => "without a thread, unsaved".into(),
            _ => "on a new thread".to_string(),
        };
        let first = match (self.options.conflict, self.place) {
            (conflict, Where::ThisThread) if conflict.cancels() => {
                "Ready. Shows which runs end, then starts one"
            }
            (Conflict::Reject, Where::ThisThread) if self.warning(cx) == Some(Warning::Active) => {
                "Ready if that run has ended. Starts one"
            }
            _ => "Ready. Starts a run",
        };
        let unchecked = match &self.input.unchecked {
            Some(why) => format!(" Input not checked by schema ({}).", text::seen(why, 80)),
            None => String::new(),
        };
        (format!("{first} {place}{when}.{unchecked}"), true)
    }

    /// Returns the name of the thread: its graph, and the end of its id.
    pub(super) fn thread_name(&self) -> String {
        let Some(thread) = &self.thread else {
            return String::new();
        };
        let graph = self
            .of_thread
            .as_deref()
            .and_then(|id| self.assistant.find(id))
            .map(|one| one.graph.as_str());
        match graph {
            Some(graph) => format!(
                "{} {}",
                text::clean(graph),
                text::clean(text::tail(thread, 4))
            ),
            None => format!("thread {}", text::short_id(thread)),
        }
    }

    /// Names the required fields that are empty although it isn't known whether the thread's state has them.
    pub(super) fn left_to_the_state(&self, state: &StateKeys) -> Option<String> {
        const NAMED: usize = 3;
        let is_unknown = *state == StateKeys::Unknown && !self.input.twin.as_text;
        let is_left = |(_, rule): &&(String, String)| is_unknown && rule == "required";
        let left: Vec<String> = self
            .input
            .violations()
            .iter()
            .filter(is_left)
            .take(NAMED)
            .map(|(path, _)| text::seen(path, 40))
            .collect();
        (!left.is_empty()).then(|| {
            let names = left.join(", ");
            format!("Required and empty: {names}. Refused unless the thread's state has values.")
        })
    }

    /// Returns whether the server refuses the run because another one is active, as the thread's open page shows. A list may be
    /// older than the end of the run.
    pub(super) fn is_refused(&self, cx: &Cx<'_>) -> bool {
        let status = self.status(cx);
        self.options.conflict == Conflict::Reject && status.is_some_and(|status| status.is_active())
    }

    /// Returns the sentence about another active run, for the chosen strategy.
    pub(super) fn active_warning(&self, cx: &Cx<'_>) -> String {
        match self.options.conflict {
            Conflict::Reject if self.is_refused(cx) => {
                let place = match self.shows_options {
                    true => "on conflict".to_string(),
                    false => cx.session.key("composer.options"),
                };
                format!(
                    "A run is active, so the server refuses another. Other strategies: {place}."
                )
            }
            Conflict::Reject => {
                "A run was active when listed; while it is, the server refuses another.".into()
            }
            other => format!("A run is active: {}.", other.consequence()),
        }
    }
}
