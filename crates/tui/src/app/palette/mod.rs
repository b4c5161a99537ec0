//! The palette: every action and command, ids, URLs, event numbers and times. It is about the whole application, so it reads [`App`].

mod commands;
mod completions;
mod known;
mod matching;
mod offer;
pub mod parse_target;
mod search;
mod view;

pub use commands::{ArgumentKind, COMMANDS, Command};
pub(super) use commands::{NO_SERVER, NO_STREAM, missing};
pub use completions::MAX_OFFERS;
pub(super) use completions::{no_completion, no_such, offers};
pub use offer::{Completion, Group};
pub use search::Search;

use super::overlay::SCREENS;
use super::{App, Overlay};
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::input::keymap::binding;
use crate::session::destination::Destination;
use crate::session::msg::Effect;
use crate::session::{Component, Cx, Request, Requests, Route};
use crate::widgets::canvas::Canvas;
use crate::widgets::table::Table;
use crate::widgets::text_input::TextInput;
use jiff::{SignedDuration, Timestamp};

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
    /// Why there are no rows.
    no_offer: String,
    /// The screen below it, and what its keys act on.
    place: String,
    /// The number of actions and commands.
    count: usize,
    /// Whether the user moved to the selected row.
    is_chosen: bool,
    /// Whether a key was pressed. Before that, the theme of the first row is not shown.
    is_used: bool,
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
            no_offer: String::new(),
            place: String::new(),
            count: 0,
            is_chosen: false,
            is_used: false,
        }
    }

    /// Returns the index of the selected completion.
    pub fn at(&self) -> usize {
        self.table.cursor()
    }

    /// Returns whether Enter runs the selected row. What works elsewhere must be chosen or typed in full.
    fn runs_selected(&self) -> bool {
        let is_meant = |offer: &Completion| {
            let typed = self.text();
            offer.group != Group::Elsewhere
                || [&offer.line, &offer.shown].contains(&&typed.trim().to_string())
        };
        self.is_chosen || self.offers.get(self.at()).is_some_and(is_meant)
    }

    /// Moves the selection. The first step chooses the first row, if it isn't chosen yet.
    fn choose(&mut self, lines: isize) {
        if self.runs_selected() {
            self.table.step(lines);
        }
        self.is_chosen = true;
    }

    /// Returns the line as it was typed.
    pub fn text(&self) -> String {
        self.input.text()
    }

    fn set_text(&mut self, text: &str) {
        self.input.set_text(text);
        self.reset_selection();
    }

    /// Resets the selection and the history position after the text changed.
    fn reset_selection(&mut self) {
        self.table.deselect();
        self.is_chosen = false;
        self.recalled = None;
    }

    /// Computes the rows for the text, if it has changed or they are old.
    fn refresh(&mut self, app: &App) {
        let (text, now) = (self.text(), app.session.now);
        let is_current = |(of, at): &(String, Timestamp)| {
            *of == text && now.duration_since(*at).abs() < OFFERS_STAY
        };
        if self.offered.as_ref().is_some_and(is_current) {
            return;
        }
        self.offers = offers(app, &text);
        let lines: Vec<String> = self.offers.iter().map(|offer| offer.line.clone()).collect();
        let complete = lines.iter().position(|line| line == text.trim());
        let is_new = self.table.selected().is_none();
        self.table.lay_out(lines, usize::MAX);
        // A line that is complete runs as it is, so its row is the selected one.
        if is_new {
            self.table.select(complete.unwrap_or(0));
        }
        self.no_offer = match self.offers.is_empty() {
            true => no_completion(app, &text),
            false => String::new(),
        };
        self.place = app.here();
        self.count = completions::count(app);
        self.offered = Some((text, now));
    }

    /// Returns the theme of the selected row, which is shown while the row is selected.
    fn theme(&self) -> Option<String> {
        self.offers
            .get(self.at())
            .and_then(Completion::theme)
            .filter(|_| self.is_used)
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
        self.set_text(text);
        self.recalled = back.filter(|_| line.is_some());
    }

    /// Returns the line that Enter runs: that of the selected row, or the typed text if it is complete without a row.
    fn line_to_run(&self) -> Option<String> {
        let typed = self.text().trim().to_string();
        let selected = self.offers.get(self.at()).filter(|_| self.runs_selected());
        let selected = selected.map(|offer| offer.line.clone());
        // Otherwise the list already says that nothing matches.
        selected.or_else(|| parse_target::read(&typed).map(|_| typed))
    }

    /// Runs the selected row, or says how it is chosen.
    fn run_selected(&self) -> Requests {
        if let Some(line) = self.line_to_run() {
            return Request::Line(line).into();
        }
        let says = |row: &Completion| {
            Requests::info(format!(
                "{} doesn't work here. Press Down to choose it.",
                row.shown
            ))
        };
        self.offers.get(self.at()).map(says).unwrap_or_default()
    }
}

impl App {
    /// Gives the palette its rows, and shows the theme that is selected in it.
    pub(super) fn refresh_palette(&mut self) {
        self.session.prefs.preview = match self.overlays.pop() {
            Some(Overlay::Command(mut palette)) => {
                palette.refresh(self);
                let theme = palette.theme();
                self.overlays.push(Overlay::Command(palette));
                theme
            }
            other => {
                self.overlays.extend(other);
                None
            }
        };
    }

    /// Runs a line of the palette and adds it to the history. If its argument is missing, its choices are listed instead.
    pub(super) fn run_line(&mut self, line: &str) -> Vec<Effect> {
        let missing = completions::missing_choice(self, line);
        if let (Some(command), Some(Overlay::Command(palette))) =
            (missing, self.overlays.last_mut())
        {
            palette.set_text(&format!("{} ", command.name));
            return Vec::new();
        }
        self.close(self.focus_id());
        self.session.prefs.remember_line(line);
        let screen = SCREENS.iter().find(|(name, _)| *name == line);
        let requests = match (completions::split(line), parse_target::read(line), screen) {
            (Some((command, argument)), ..) => {
                let needed = command.needs().filter(|_| !command.scope(self).1);
                match needed.filter(|_| argument.is_empty()) {
                    Some(context) => Requests::info(self.works_only(context, command.name)),
                    None => command.run(self, argument),
                }
            }
            (None, Some(_), _) => Request::Go(Destination::Address(line.to_string())).into(),
            (None, None, Some((name, _))) => Route::Screen(name).into(),
            // Only valid lines are run.
            (None, None, None) => return self.run_action(line),
        };
        self.apply(requests)
    }
}

impl Component for Palette {
    fn context(&self) -> Context {
        Context::Command
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        self.is_used = true;
        match key.code {
            Code::Esc => return Some(Request::Close.into()),
            Code::Backspace if self.input.is_empty() => return Some(Request::Close.into()),
            _ if cx.session.keymap.quits(key) => return Some(Request::Quit.into()),
            Code::Enter => return Some(self.run_selected()),
            Code::Up if self.recalled.is_some() || self.input.is_empty() && self.at() == 0 => {
                self.recall(&cx.session.prefs.said, true)
            }
            Code::Down if self.recalled.is_some() => self.recall(&cx.session.prefs.said, false),
            Code::Up | Code::BackTab => self.choose(-1),
            Code::Down => self.choose(1),
            Code::Tab => {
                // If the completion is already there, insert the next one.
                let completed = |at: usize| self.offers.get(at).map(Completion::completed);
                let next = (self.at() + 1) % self.offers.len().max(1);
                let text = completed(self.at()).filter(|text| *text != self.text());
                if let Some(text) = text.or_else(|| completed(next)) {
                    self.set_text(&text);
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
        Some(Requests::none())
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.choose(lines);
    }

    /// A click chooses a row, and a click on the chosen one runs it.
    fn click(&mut self, cx: &Cx<'_>, _x: u16, y: u16) -> Requests {
        let clicked = view::offer_at(self, cx, cx.area.y + y);
        match clicked {
            Some(at) if at == self.at() && self.runs_selected() => {
                return self.run_selected();
            }
            Some(at) => {
                (self.is_used, self.is_chosen) = (true, true);
                self.table.select(at);
            }
            None => {}
        }
        Requests::none()
    }

    fn selected_id(&self) -> Option<&str> {
        self.table.selected()
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        self.input.insert(text.trim_start());
        self.reset_selection();
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::palette(self, cx, canvas);
        None
    }
}
