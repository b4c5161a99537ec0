//! Stream modes: the requested modes of a stream, and the dialog that changes them while the stream is open.

use super::StreamState;
use crate::input::action::{Action, Context};
use crate::session::msg::{ServerRef, StreamTarget};
use crate::session::page::overlay_frame;
use crate::session::run::mode_meaning;
use crate::session::{Component, Cx, Request, Requests};
use crate::widgets::canvas::Canvas;
use crate::widgets::form_lines::{checkbox, indented};
use crate::widgets::line::{Line, Tone};
use runtail_stream::{
    Item, RUN_MODES, Record, RunStreamOptions, THREAD_MODES, Target, reopening_refused,
};

/// The default modes of a thread stream.
const THREAD_DEFAULTS: [&str; 2] = ["run_modes", "state_update"];
/// The width of a mode's name in the dialog, in columns.
const NAME_WIDTH: usize = 16;

/// The modes of one stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamModes {
    /// The requested modes. An empty list requests all modes of a run.
    pub wanted: Vec<String>,
    /// The terms that the run was started with, once they are known.
    pub terms: Option<RunStreamOptions>,
    /// The modes that the last connection requested.
    requested: Vec<String>,
    /// Whether the run that the page started has ended, so that the page follows the later runs of its thread.
    pub(crate) follows_thread: bool,
    /// Why the source refused a change of modes; cleared when it is shown.
    refused: Option<String>,
}

impl StreamModes {
    /// Returns the default modes of a target.
    pub fn of(target: &StreamTarget) -> StreamModes {
        let (wanted, terms) = match target {
            StreamTarget::Start { body, .. } => {
                (Vec::new(), Some(RunStreamOptions::of_request(body)))
            }
            StreamTarget::Join { .. } | StreamTarget::Recording { .. } => (Vec::new(), None),
            StreamTarget::Tail { .. } => (THREAD_DEFAULTS.map(str::to_string).to_vec(), None),
        };
        StreamModes {
            requested: wanted.clone(),
            wanted,
            terms,
            ..StreamModes::default()
        }
    }

    /// Applies what the source reports about modes.
    pub fn on_item(&mut self, item: &Item) {
        match item {
            Item::Terms(terms) => self.terms = Some(terms.clone()),
            Item::ModesKept { why } => {
                self.refused = Some(why.clone());
                self.wanted.clone_from(&self.requested);
            }
            Item::Record(Record::Run(_)) => self.follows_thread = true,
            Item::Connecting { .. } => self.requested.clone_from(&self.wanted),
            _ => {}
        }
    }

    /// Takes the reason why the source kept its modes. The next call returns `None`.
    pub(crate) fn refusal(&mut self) -> Option<String> {
        self.refused.take()
    }
}

/// The modes that were last chosen in this session, for the next stream of the same kind.
#[derive(Debug, Clone, Default)]
pub struct LastModes {
    pub(super) run: Option<Vec<String>>,
    pub(super) thread: Option<Vec<String>>,
}

impl LastModes {
    /// Returns the last chosen modes of a stream of the same kind. A new run keeps the modes it is started with.
    pub(super) fn of(&self, target: &StreamTarget) -> Option<&Vec<String>> {
        match target {
            StreamTarget::Start { .. } | StreamTarget::Recording { .. } => None,
            StreamTarget::Join { .. } => self.run.as_ref(),
            StreamTarget::Tail { .. } => self.thread.as_ref(),
        }
    }
}

/// An open stream and its modes.
#[derive(Debug, Clone)]
pub struct ModesView {
    /// The target of the stream.
    pub target: StreamTarget,
    pub thread_id: Option<String>,
    pub run_id: Option<String>,
    pub server: ServerRef,
    /// Whether it is still open.
    pub is_open: bool,
    /// Whether its own run has ended, and it shows the later ones of the thread.
    pub follows_thread: bool,
    /// The requested modes; empty for all.
    pub wanted: Vec<String>,
    /// The modes that the run was started with, once they are known.
    pub terms: Option<RunStreamOptions>,
}

/// The dialog that selects the modes of a stream.
#[derive(Debug, Clone)]
pub struct ModesDialog {
    /// The number of the stream.
    pub stream: u64,
    /// The stream, until it is closed.
    of: Option<ModesView>,
    /// The modes, and whether each is selected.
    pub choices: Vec<(String, bool)>,
    /// The index of the mode under the cursor.
    pub at: usize,
}

impl ModesDialog {
    /// Opens the dialog for a stream.
    fn new(stream: u64, view: ModesView) -> ModesDialog {
        let choice = |name: &str| {
            let is_selected =
                view.wanted.is_empty() || view.wanted.iter().any(|wanted| wanted == name);
            (name.to_string(), is_available(&view, name) && is_selected)
        };
        let known: &[&str] = if is_thread(&view.target) {
            &THREAD_MODES
        } else {
            &RUN_MODES
        };
        let mut choices: Vec<_> = known.iter().map(|name| choice(name)).collect();
        // A newer server may send modes that are not listed here.
        let started = view.terms.iter().flat_map(|terms| &terms.modes);
        let others = started.filter(|name| !known.contains(&name.as_str()));
        choices.extend(others.map(|name| choice(name)));
        ModesDialog {
            stream,
            of: Some(view),
            choices,
            at: 0,
        }
    }

    /// Reads the stream again.
    pub fn refresh(&mut self, streams: &StreamState) {
        self.of = streams.modes(self.stream);
    }

    fn toggle(&mut self) -> Requests {
        let Some((name, on)) = self.choices.get_mut(self.at) else {
            return Requests::none();
        };
        if self
            .of
            .as_ref()
            .is_some_and(|view| is_available(view, name))
        {
            *on = !*on;
            return Requests::none();
        }
        Requests::info(format!("The run was started without {name}."))
    }

    fn apply(&self, cx: &Cx<'_>) -> Requests {
        let Some(view) = &self.of else {
            let mut out = Requests::from(Request::Close);
            out.notify(false, "The stream is closed.");
            return out;
        };
        if let Some(why) = refusal_reason(cx, view) {
            return Requests::error(format!("The modes are unchanged: {why}."));
        }
        let chosen: Vec<_> = self
            .choices
            .iter()
            .filter(|(_, on)| *on)
            .map(|(name, _)| name.clone())
            .collect();
        if chosen.is_empty() {
            return Requests::error("Choose at least one stream mode.");
        }
        let all = self
            .choices
            .iter()
            .all(|(name, on)| *on || !is_available(view, name));
        // An empty list means all modes; an explicit list makes some servers filter more.
        let wanted = if all && !is_thread(&view.target) {
            Vec::new()
        } else {
            chosen
        };
        Requests::from(Request::Close).and(Request::SetModes(self.stream, wanted))
    }

    /// Returns the dialog's title and lines.
    pub(super) fn lines(&self, cx: &Cx<'_>, width: usize) -> (String, Vec<Line>) {
        let Some(view) = &self.of else {
            return (String::new(), vec![Line::dim("The stream is closed.")]);
        };
        let of = match (&view.target, &view.run_id) {
            (StreamTarget::Tail { thread }, _) => {
                format!("thread {}", runtail_core::text::short_id(thread))
            }
            (_, Some(run)) => format!("run {}", runtail_core::text::short_id(run)),
            _ => "a new run".into(),
        };
        let mut lines: Vec<Line> = Vec::new();
        for (i, (name, on)) in self.choices.iter().enumerate() {
            let is_available = is_available(view, name);
            let mut line = Line::accent(if i == self.at { "▌" } else { " " });
            checkbox(&mut line, *on);
            let tone = match (i == self.at, *on) {
                (true, _) => Tone::Strong,
                (false, true) => Tone::Plain,
                (false, false) => Tone::Dim,
            };
            line.push(tone, &format!("{name:NAME_WIDTH$}"));
            line.push_dim(if is_available {
                mode_meaning(name)
            } else {
                "not enabled at start"
            });
            lines.push(line);
        }
        lines.push(Line::new());
        for (tone, text) in notes(cx, view) {
            lines.extend(indented(tone, 1, &text, width));
        }
        (format!("{of} on {}", view.server.name), lines)
    }
}

impl StreamState {
    /// Opens the dialog of a stream, unless the stream is closed.
    pub fn modes_dialog(&self, stream: u64) -> Option<ModesDialog> {
        Some(ModesDialog::new(stream, self.modes(stream)?))
    }

    fn modes(&self, stream: u64) -> Option<ModesView> {
        let viewer = self.tabs.get(stream)?;
        Some(ModesView {
            target: viewer.target.clone(),
            thread_id: viewer.thread_id.clone(),
            run_id: viewer.run_id.clone(),
            server: viewer.server.clone(),
            is_open: viewer.is_open(),
            follows_thread: viewer.modes.follows_thread
                && matches!(viewer.target, StreamTarget::Start { .. }),
            wanted: viewer.modes.wanted.clone(),
            terms: viewer.modes.terms.clone(),
        })
    }
}

impl Component for ModesDialog {
    fn context(&self) -> Context {
        Context::Modes
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Mark => self.toggle(),
            Action::Open => self.apply(cx),
            _ => Requests::none(),
        }
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.at = self
            .at
            .saturating_add_signed(lines)
            .min(self.choices.len().saturating_sub(1));
    }

    fn is_sheet(&self) -> bool {
        true
    }

    fn sheet_lines(&self, cx: &Cx<'_>) -> usize {
        self.lines(cx, cx.area.w.into()).1.len()
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let area = cx.area;
        let (of, lines) = self.lines(cx, area.w as usize);
        overlay_frame(cx, canvas, "Stream modes", &Line::dim(&of));
        for (i, line) in lines.iter().enumerate().take(area.h as usize) {
            canvas.line(area.x, area.y + i as u16, area.w, line);
        }
        None
    }
}

/// Returns why the modes of an open stream can't be changed, if that is known.
fn refusal_reason(cx: &Cx<'_>, view: &ModesView) -> Option<String> {
    if let StreamTarget::Start {
        on: Target::Stateless,
        ..
    } = view.target
    {
        return Some("a stateless run can't be joined again".into());
    }
    if view.is_open && view.follows_thread {
        return Some("the run has ended; the page follows its thread".into());
    }
    let kind = cx.session.server_kind(&view.server)?;
    let reason = reopening_refused(kind, view.terms.as_ref());
    reason
        .filter(|_| view.is_open && !is_thread(&view.target))
        .map(str::to_string)
}

/// Returns the notes below the choices.
fn notes(cx: &Cx<'_>, view: &ModesView) -> Vec<(Tone, String)> {
    let mut notes = Vec::new();
    match &view.terms {
        _ if is_thread(&view.target) => notes.push((
            Tone::Dim,
            "run_modes: all modes that each run was started with.".into(),
        )),
        Some(terms) => {
            let subgraphs = if terms.subgraphs {
                "with subgraphs"
            } else {
                "without subgraphs"
            };
            let text = format!(
                "The run sends only {}, {subgraphs}.",
                terms.modes.join(", ")
            );
            notes.push((Tone::Dim, text));
            if !terms.resumable {
                let text = "Not resumable: events sent during the reconnect are lost.";
                notes.push((Tone::Dim, text.into()));
            }
        }
        None => notes.push((
            Tone::Dim,
            "The run can send only the modes it was started with, which are unknown.".into(),
        )),
    }
    match (refusal_reason(cx, view), view.is_open) {
        (Some(why), _) => notes.push((Tone::Bad, format!("✗ Can't change the modes: {why}."))),
        (None, true) => notes.push((Tone::Plain, "Reconnects at the current position.".into())),
        (None, false) => notes.push((
            Tone::Plain,
            "The stream has ended; it reloads from the start.".into(),
        )),
    }
    notes
}

pub(super) fn is_thread(target: &StreamTarget) -> bool {
    matches!(target, StreamTarget::Tail { .. })
}

/// Returns whether the stream can send a mode, as far as that is known.
fn is_available(view: &ModesView, mode: &str) -> bool {
    is_thread(&view.target)
        || view
            .terms
            .as_ref()
            .is_none_or(|terms| terms.modes.iter().any(|m| m == mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_modes_are_reset() {
        let mut modes = StreamModes::of(&StreamTarget::Tail { thread: "t".into() });
        modes.wanted = vec!["lifecycle".into()];
        modes.on_item(&Item::ModesKept { why: "no".into() });
        assert_eq!(
            (
                modes.wanted.len(),
                modes.refusal().as_deref(),
                modes.refusal()
            ),
            (2, Some("no"), None)
        );
    }
}
