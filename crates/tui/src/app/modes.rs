//! The modes of the stream that is shown: which are wanted, and the dialog in which they are changed while it goes on.

use super::keys::Action;
use super::line::{Line, Tone, wrap};
use super::msg::{Effect, StreamTarget};
use super::viewer::Viewer;
use super::{App, Overlay};
use runtail_stream::{Item, RUN_MODES, RunTerms, THREAD_MODES, Target, reopening_refused};

/// What the stream of a thread begins with.
const OF_A_THREAD: [&str; 2] = ["run_modes", "state_update"];
/// Columns of a mode's name in the dialog.
const NAMES: usize = 16;

/// The modes of one stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamModes {
    /// What is wanted. None means, of a run, all that it was started with.
    pub wanted: Vec<String>,
    /// What the run was started with, once that is known.
    pub terms: Option<RunTerms>,
    /// What the last connection was asked for.
    in_force: Vec<String>,
    /// Why others were not asked for, until it is told.
    refused: Option<String>,
}

impl StreamModes {
    /// Those that a stream begins with.
    pub fn of(target: &StreamTarget) -> StreamModes {
        let (wanted, terms) = match target {
            StreamTarget::Start { body, .. } => (Vec::new(), Some(RunTerms::of_request(body))),
            StreamTarget::Join { .. } | StreamTarget::Recording { .. } => (Vec::new(), None),
            StreamTarget::Tail { .. } => (OF_A_THREAD.map(str::to_string).to_vec(), None),
        };
        StreamModes { in_force: wanted.clone(), wanted, terms, refused: None }
    }

    /// Takes what the source says about them.
    pub fn take(&mut self, item: &Item) {
        match item {
            Item::Terms(terms) => self.terms = Some(terms.clone()),
            Item::ModesKept { why } => {
                self.refused = Some(why.clone());
                self.wanted.clone_from(&self.in_force);
            }
            Item::Connecting { .. } => self.in_force.clone_from(&self.wanted),
            _ => {}
        }
    }

    /// Why the source goes on with the modes that it has, once.
    pub(super) fn refusal(&mut self) -> Option<String> {
        self.refused.take()
    }
}

/// What was chosen last in this session, for the next stream of the same kind.
#[derive(Debug, Clone, Default)]
pub struct LastModes {
    run: Option<Vec<String>>,
    thread: Option<Vec<String>>,
    /// In the composer, with `subgraphs`.
    pub(super) started: Option<Vec<(&'static str, bool)>>,
}

impl LastModes {
    /// Gives a stream the modes that the last one of its kind was given. A run that is started has those that it is
    /// started with.
    pub fn give(&self, viewer: &mut Viewer) {
        let last = match viewer.target {
            StreamTarget::Start { .. } | StreamTarget::Recording { .. } => None,
            StreamTarget::Join { .. } => self.run.as_ref(),
            StreamTarget::Tail { .. } => self.thread.as_ref(),
        };
        if let Some(modes) = last {
            viewer.modes.wanted.clone_from(modes);
        }
    }
}

/// The dialog.
#[derive(Debug, Clone)]
pub struct ModesDialog {
    /// Number of the stream.
    pub stream: u64,
    /// The modes, and whether each is wanted.
    pub choices: Vec<(String, bool)>,
    /// The one under the cursor.
    pub at: usize,
}

impl App {
    /// Opens the dialog for the stream that is shown.
    pub(super) fn open_modes(&mut self) {
        let Some(viewer) = self.viewer() else { return };
        let wanted = &viewer.modes.wanted;
        let choice = |name: &str| {
            let is_given = given(viewer, name);
            (name.to_string(), is_given && (wanted.is_empty() || wanted.iter().any(|w| w == name)))
        };
        let known: &[&str] = if is_thread(viewer) { &THREAD_MODES } else { &RUN_MODES };
        let mut choices: Vec<_> = known.iter().map(|name| choice(name)).collect();
        // A newer server may know others.
        let started = viewer.modes.terms.iter().flat_map(|terms| &terms.modes);
        let others = started.filter(|name| !known.contains(&name.as_str()));
        choices.extend(others.map(|name| choice(name)));
        self.overlays.push(Overlay::Modes(ModesDialog { stream: viewer.id, choices, at: 0 }));
    }

    pub(super) fn step_modes(&mut self, by: isize) {
        if let Some(Overlay::Modes(dialog)) = self.overlays.last_mut() {
            dialog.at = dialog.at.saturating_add_signed(by).min(dialog.choices.len().saturating_sub(1));
        }
    }

    pub(super) fn act_modes(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Mark => self.toggle_mode(),
            Action::Open => self.apply_modes(),
            _ => {}
        }
        Vec::new()
    }

    fn toggle_mode(&mut self) {
        let Some(Overlay::Modes(dialog)) = self.overlays.last_mut() else { return };
        let Some((name, on)) = dialog.choices.get_mut(dialog.at) else { return };
        let viewer = self.streams.all().iter().find(|v| v.id == dialog.stream);
        if viewer.is_some_and(|viewer| given(viewer, name)) {
            *on = !*on;
        } else {
            let text = format!("The run was not started with {name}: its stream can never give it.");
            self.notify(false, text);
        }
    }

    fn apply_modes(&mut self) {
        let Some(Overlay::Modes(dialog)) = self.overlays.last() else { return };
        let Some(viewer) = self.dialog_stream(dialog) else {
            self.overlays.pop();
            return self.notify(false, "The stream is closed.");
        };
        if let Some(why) = self.modes_refused(viewer) {
            return self.notify(true, format!("The modes stay as they are: {why}."));
        }
        let chosen: Vec<_> = dialog.choices.iter().filter(|(_, on)| *on).map(|(name, _)| name.clone()).collect();
        if chosen.is_empty() {
            return self.notify(true, "Choose at least one stream mode.");
        }
        let (id, is_thread) = (viewer.id, is_thread(viewer));
        let all = dialog.choices.iter().all(|(name, on)| *on || !given(viewer, name));
        // All that there is needs no filter, which on some servers lets less through.
        let wanted = if all && !is_thread { Vec::new() } else { chosen };
        let (is_open, same) = (viewer.is_open(), viewer.modes.wanted == wanted);
        match is_thread {
            true => self.last_modes.thread = Some(wanted.clone()),
            false => self.last_modes.run = Some(wanted.clone()),
        }
        self.overlays.pop();
        if let Some(viewer) = self.streams.get_mut(id) {
            viewer.modes.wanted.clone_from(&wanted);
        }
        match (is_open, same) {
            (_, true) => self.notify(false, "These are its modes already."),
            (true, false) => self.notify(false, "The stream is opened again from where it is, in these modes."),
            (false, false) => self.reopen(),
        }
    }

    fn dialog_stream(&self, dialog: &ModesDialog) -> Option<&Viewer> {
        self.streams.all().iter().find(|viewer| viewer.id == dialog.stream)
    }

    /// Why the modes of an open stream cannot be changed, where that is known.
    fn modes_refused(&self, viewer: &Viewer) -> Option<String> {
        if let StreamTarget::Start { on: Target::Stateless, .. } = viewer.target {
            return Some("a stateless run cannot be joined again".into());
        }
        let kind = self.infos.get(&viewer.server)?.value.as_ref()?.kind;
        let refused = reopening_refused(kind, viewer.modes.terms.as_ref());
        refused.filter(|_| viewer.is_open() && !is_thread(viewer)).map(str::to_string)
    }

    /// The lines of the dialog, and what it is about.
    pub fn modes_lines(&self, dialog: &ModesDialog, width: usize) -> (String, Vec<Line>) {
        let Some(viewer) = self.dialog_stream(dialog) else {
            return (String::new(), vec![Line::of(Tone::Dim, "The stream is closed.")]);
        };
        let of = match (&viewer.target, &viewer.thread_id, &viewer.run_id) {
            (StreamTarget::Tail { thread }, ..) => format!("thread {}", runtail_core::text::short_id(thread)),
            (_, _, Some(run)) => format!("run {}", runtail_core::text::short_id(run)),
            _ => "a new run".into(),
        };
        let mut lines: Vec<Line> = Vec::new();
        for (i, (name, on)) in dialog.choices.iter().enumerate() {
            let is_given = given(viewer, name);
            let mut line = Line::of(Tone::Accent, if i == dialog.at { "▌" } else { " " });
            line.push(if *on { Tone::Accent } else { Tone::Dim }, if *on { "[x] " } else { "[ ] " });
            let tone = match (i == dialog.at, *on) {
                (true, _) => Tone::Strong,
                (false, true) => Tone::Plain,
                (false, false) => Tone::Dim,
            };
            line.push(tone, &format!("{name:NAMES$}"));
            line.push(Tone::Dim, if is_given { meaning(name) } else { "the run was not started with it" });
            lines.push(line);
        }
        lines.push(Line::new());
        for (tone, text) in self.modes_words(viewer) {
            lines.extend(wrap(&text, width.saturating_sub(1)).iter().map(|text| Line::of(tone, &format!(" {text}"))));
        }
        (format!("{of} on {}", viewer.server.name), lines)
    }

    /// What has to be known before one chooses.
    fn modes_words(&self, viewer: &Viewer) -> Vec<(Tone, String)> {
        let mut words = Vec::new();
        match &viewer.modes.terms {
            _ if is_thread(viewer) => words.push((
                Tone::Dim,
                "A run of the thread sends the modes that it was started with, with or without subgraphs: run_modes gives \
                 them all."
                    .into(),
            )),
            Some(terms) => {
                let subgraphs = if terms.subgraphs { "with subgraphs" } else { "without subgraphs" };
                let text = format!(
                    "The run was started with {}, {subgraphs}. That is settled when a run is started: nothing else can \
                     come of it.",
                    terms.modes.join(", ")
                );
                words.push((Tone::Dim, text));
                if !terms.resumable {
                    let text = "It is not resumable: what it sends while the stream is opened again is lost.";
                    words.push((Tone::Dim, text.into()));
                }
            }
            None => words.push((
                Tone::Dim,
                "What the run was started with is not known: what it was not started with cannot come, with or without \
                 subgraphs."
                    .into(),
            )),
        }
        match (self.modes_refused(viewer), viewer.is_open()) {
            (Some(why), _) => words.push((Tone::Bad, format!("✗ The modes cannot be changed: {why}."))),
            (None, true) => words.push((Tone::Plain, "The stream is opened again from where it is.".into())),
            (None, false) => words.push((Tone::Plain, "The stream is over: it is opened again from its start.".into())),
        }
        words
    }
}

fn is_thread(viewer: &Viewer) -> bool {
    matches!(viewer.target, StreamTarget::Tail { .. })
}

/// Whether a stream can give this mode, as far as that is known.
fn given(viewer: &Viewer, mode: &str) -> bool {
    is_thread(viewer) || viewer.modes.terms.as_ref().is_none_or(|terms| terms.modes.iter().any(|m| m == mode))
}

/// What a mode sends.
fn meaning(mode: &str) -> &'static str {
    match mode {
        "messages-tuple" => "tokens of models, each with its metadata",
        "messages" => "messages in the old form: the whole text so far each time",
        "updates" => "what each node wrote",
        "values" => "the state after each step",
        "custom" => "what nodes write of their own accord",
        "tasks" => "begin, end and result of each task",
        "checkpoints" => "each checkpoint as it is saved",
        "debug" => "tasks and checkpoints with all that belongs to them",
        "events" => "all events of LangChain",
        "run_modes" => "all that the thread's runs send",
        "lifecycle" => "only begin and end of runs",
        "state_update" => "the state whenever somebody changes it by hand",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_taken_back() {
        let mut modes = StreamModes::of(&StreamTarget::Tail { thread: "t".into() });
        modes.wanted = vec!["lifecycle".into()];
        modes.take(&Item::ModesKept { why: "no".into() });
        assert_eq!((modes.wanted.len(), modes.refusal().as_deref(), modes.refusal()), (2, Some("no"), None));
    }
}
