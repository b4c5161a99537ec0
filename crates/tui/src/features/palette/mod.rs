//! The palette: every action and command, ids, URLs, event numbers and times.

mod commands;
mod completions;
mod matching;
mod offer;
pub mod parse_target;
mod search;
mod view;

pub use commands::{COMMANDS, Command};
pub use completions::{MAX_OFFERS, no_completion, no_such, offers};
pub use offer::{Completion, Group};
pub use search::Search;

use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::input::keymap::binding;
use crate::session::destination::Destination;
use crate::session::request::Pref;
use crate::session::{Component, Cx, Request, Requests, Route};
use crate::widgets::canvas::Canvas;
use crate::widgets::table::Table;
use crate::widgets::text_input::TextInput;
use jiff::{SignedDuration, Timestamp};

/// The state of the search for an id on all servers.
#[derive(Debug)]
pub struct PaletteState {
    /// The running search.
    pub search: Option<Search>,
    /// The number of the next search.
    pub(crate) next_search: u64,
}

impl Default for PaletteState {
    fn default() -> PaletteState {
        PaletteState {
            search: None,
            next_search: 1,
        }
    }
}

/// How long the rows for a text are kept. Deployments, threads and assistants may appear meanwhile.
const OFFERS_STAY: SignedDuration = SignedDuration::from_secs(1);

/// A command line being typed.
#[derive(Debug, Clone)]
pub struct Palette {
    pub input: TextInput,
    /// The rows, by the lines that they run.
    table: Table,
    /// The position in the history, from 1 for the newest line; `None` outside the history.
    recalled: Option<usize>,
    /// The rows for the text.
    offers: Vec<Completion>,
    /// The text that the rows are for, and when they were computed.
    offered: Option<(String, Timestamp)>,
    /// The number of actions and commands.
    count: usize,
}

impl Palette {
    /// Creates a command line with an initial text.
    pub fn with(text: &str) -> Palette {
        Palette {
            input: TextInput::line(text),
            table: Table::default(),
            recalled: None,
            offers: Vec::new(),
            offered: None,
            count: 0,
        }
    }

    /// Returns the index of the selected completion.
    pub fn at(&self) -> usize {
        self.table.cursor()
    }

    /// Returns the line as it was typed.
    pub fn text(&self) -> String {
        self.input.text()
    }

    /// Resets the selection and the history position after the text changed.
    fn reset_selection(&mut self) {
        self.table.deselect();
        self.recalled = None;
    }
}

impl Palette {
    /// Computes the rows for the text.
    fn offer(&mut self, cx: &Cx<'_>) {
        let text = self.text();
        self.offers = completions::offers(cx, &text);
        let lines: Vec<String> = self.offers.iter().map(|offer| offer.line.clone()).collect();
        let complete = lines.iter().position(|line| line == text.trim());
        let is_new = self.table.selected().is_none();
        self.table.lay_out(lines, usize::MAX);
        // A line that is complete runs as it is, so its row is the selected one.
        if is_new {
            self.table.select(complete.unwrap_or(0));
        }
        self.offered = Some((text, cx.session.now));
    }

    /// Types a command whose argument is missing, so that its choices are listed. Returns whether the line is such a command.
    fn completes(&mut self, cx: &Cx<'_>, line: &str) -> bool {
        let command = completions::missing_choice(cx, line);
        if let Some(command) = command {
            self.input.set_text(&format!("{} ", command.name));
            self.reset_selection();
        }
        command.is_some()
    }

    /// Recalls an older or newer line of the history. After the newest one the line is empty again.
    fn recall(&mut self, history: &[String], older: bool) {
        let back = match (self.recalled, older) {
            (None, true) => Some(1),
            (Some(back), true) => Some((back + 1).min(history.len())),
            (back, false) => back.map(|back| back - 1).filter(|back| *back > 0),
        };
        let line = back.and_then(|back| history.get(history.len().checked_sub(back)?));
        // An action is recalled by its name.
        let text = line.map_or("", |line| {
            binding(line).map_or(line.as_str(), |row| row.name())
        });
        self.input.set_text(text);
        self.reset_selection();
        self.recalled = back.filter(|_| line.is_some());
    }
}

fn close() -> Requests {
    Requests::from(Request::Close).and(Pref::Preview(None))
}

fn close_and_run(cx: &Cx<'_>, line: &str) -> Requests {
    let mut out = close();
    out.extend(run(cx, line));
    out
}

/// Runs a line, and adds it to the history.
fn run(cx: &Cx<'_>, line: &str) -> Requests {
    let mut out: Requests = Pref::Line(line.to_string()).into();
    let screen = || cx.lookup.screens().iter().find(|(name, _)| *name == line);
    match (parse_target::read(line), completions::split(line), screen()) {
        (_, Some((command, "")), _) if !command.scope(cx).1 && command.needs().is_some() => {
            let only = command.needs().map(|context| context.only(command.name));
            out.notify(false, only.unwrap_or_default());
        }
        (_, Some((command, argument)), _) => out.extend(command.run(cx, argument)),
        (Some(_), None, _) => out.push(Request::Go(Destination::Address(line.to_string()))),
        (None, None, Some((name, _))) => out.push(Route::Screen(name)),
        // `line_to_run` returns only valid lines.
        (None, None, None) => out.extend(
            binding(line)
                .map(|row| Request::Run(row.id).into())
                .unwrap_or_default(),
        ),
    }
    out
}

impl Component for Palette {
    fn context(&self) -> Context {
        Context::Command
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        let offers = std::mem::take(&mut self.offers);
        self.offered = None;
        match key.code {
            Code::Esc => return Some(close()),
            Code::Backspace if self.input.is_empty() => return Some(close()),
            _ if cx.session.keymap.quits(key) => return Some(Request::Quit.into()),
            Code::Enter => {
                let Some(line) = line_to_run(self, &offers) else {
                    return Some(Requests::none());
                };
                if !self.completes(cx, &line) {
                    return Some(close_and_run(cx, &line));
                }
            }
            Code::Up if self.recalled.is_some() || self.input.is_empty() && self.at() == 0 => {
                self.recall(&cx.session.prefs.said, true)
            }
            Code::Down if self.recalled.is_some() => self.recall(&cx.session.prefs.said, false),
            Code::Up | Code::BackTab => self.table.step(-1),
            Code::Down => self.table.step(1),
            Code::Tab => {
                // If the completion is already there, insert the next one.
                let again = offers
                    .get(self.at())
                    .is_some_and(|offer| offer.completed() == self.text());
                let at = if again {
                    (self.at() + 1) % offers.len().max(1)
                } else {
                    self.at()
                };
                if let Some(offer) = offers.get(at) {
                    self.input.set_text(&offer.completed());
                    self.reset_selection();
                }
            }
            _ => {
                let before = self.text();
                self.input.key(key);
                if self.text() != before {
                    self.reset_selection();
                }
            }
        }
        self.offer(cx);
        let shown = self.offers.get(self.at()).and_then(Completion::theme);
        Some(Pref::Preview(shown).into())
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.table.step(lines);
    }

    /// A click chooses a row, and a click on the chosen one runs it.
    fn click(&mut self, cx: &Cx<'_>, _x: u16, y: u16) -> Requests {
        let Some(at) = view::offer_at(self, cx, cx.area.y + y) else {
            return Requests::none();
        };
        let line = self
            .offers
            .get(at)
            .filter(|_| at == self.at())
            .map(|offer| offer.line.clone());
        match line {
            Some(line) if self.completes(cx, &line) => Requests::none(),
            Some(line) => close_and_run(cx, &line),
            None => {
                self.table.select(at);
                Pref::Preview(self.offers.get(at).and_then(Completion::theme)).into()
            }
        }
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let is_current = |(text, at): &(String, Timestamp)| {
            *text == self.text() && cx.session.now.duration_since(*at).abs() < OFFERS_STAY
        };
        if !self.offered.as_ref().is_some_and(is_current) {
            self.offer(cx);
            self.count = completions::count(cx);
        }
    }

    fn selected_id(&self) -> Option<&str> {
        self.table.selected()
    }

    fn paste(&mut self, cx: &Cx<'_>, text: &str) {
        self.input.insert(text.trim_start());
        self.reset_selection();
        self.offer(cx);
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::palette(self, cx, canvas);
        None
    }
}

/// Returns the line that Enter runs: that of the selected row, or the typed text if it is complete without a row.
fn line_to_run(palette: &Palette, offers: &[Completion]) -> Option<String> {
    let typed = palette.text();
    let typed = typed.trim();
    match offers.get(palette.at()) {
        Some(offer) => Some(offer.line.clone()),
        None if parse_target::read(typed).is_some() => Some(typed.to_string()),
        // The list above already says that nothing matches.
        None => None,
    }
}
