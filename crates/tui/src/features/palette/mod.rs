//! The command line after `:`. Takes commands with arguments, ids, addresses, event numbers and times.

mod commands;
mod completions;
pub mod parse_target;
mod search;
mod view;

pub use commands::{COMMANDS, Command};
pub use completions::{MOST_OFFERS, Offer, no_offer, no_such, offers};
pub use search::Search;

use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::destination::Destination;
use crate::session::request::Pref;
use crate::session::{Component, Cx, Request, Requests, Route};
use crate::widgets::canvas::Canvas;
use crate::widgets::text_input::TextInput;

/// The search for an id on all servers.
#[derive(Debug)]
pub struct PaletteState {
    /// The search that is under way.
    pub search: Option<Search>,
    /// Number of the next one.
    pub(crate) next_search: u64,
}

impl Default for PaletteState {
    fn default() -> PaletteState {
        PaletteState { search: None, next_search: 1 }
    }
}

/// A line that is being typed.
#[derive(Debug, Clone)]
pub struct Palette {
    /// What was typed.
    pub input: TextInput,
    /// Number of the chosen offer.
    pub at: usize,
    /// Whether the person chose it, and not the order of the offers.
    chosen: bool,
    /// How far back one is in what was typed before.
    recalled: Option<usize>,
}

impl Palette {
    /// A line that begins with a text.
    pub fn with(text: &str) -> Palette {
        Palette { input: TextInput::line(text), at: 0, chosen: false, recalled: None }
    }

    /// The line as it was typed.
    pub fn text(&self) -> String {
        self.input.text()
    }

    fn typed(&mut self) {
        (self.at, self.chosen, self.recalled) = (0, false, None);
    }
}

impl Palette {
    /// Goes to an older line, or to a newer one; past the newest the line is empty again.
    fn recall(&mut self, said: &[String], older: bool) {
        let back = match (self.recalled, older) {
            (None, true) => Some(1),
            (Some(back), true) => Some((back + 1).min(said.len())),
            (back, false) => back.map(|back| back - 1).filter(|back| *back > 0),
        };
        let line = back.and_then(|back| said.get(said.len().checked_sub(back)?));
        self.input.set_text(line.map_or("", String::as_str));
        self.typed();
        self.recalled = back.filter(|_| line.is_some());
    }
}

fn close() -> Requests {
    Requests::from(Request::Close).and(Pref::Preview(None))
}

/// Does what a line says, and remembers it.
fn run(cx: &Cx<'_>, line: &str) -> Requests {
    let mut out: Requests = Pref::Line(line.to_string()).into();
    let screen = || cx.lookup.screens().iter().find(|(name, _)| *name == line);
    match (parse_target::read(line), completions::split(line), screen()) {
        (_, Some((command, argument)), _) => out.extend((command.run)(cx, argument)),
        (Some(_), None, _) => out.push(Request::Go(Destination::Address(line.to_string()))),
        (None, None, Some((name, _))) => out.push(Route::Screen(name)),
        // Only what is offered is ever said.
        (None, None, None) => {}
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
        let offers = offers(cx, &self.text());
        let last = offers.len().saturating_sub(1);
        match key.code {
            Code::Esc => return Some(close()),
            Code::Backspace if self.input.is_empty() => return Some(close()),
            _ if cx.session.keymap.quits(key) => return Some(Request::Quit.into()),
            Code::Enter => {
                let Some(line) = meant(self, &offers) else { return Some(Requests::none()) };
                let mut out = close();
                out.extend(run(cx, &line));
                return Some(out);
            }
            Code::Up if self.recalled.is_some() || self.input.is_empty() && self.at == 0 => {
                self.recall(&cx.session.prefs.said, true)
            }
            Code::Down if self.recalled.is_some() => self.recall(&cx.session.prefs.said, false),
            Code::Up | Code::BackTab => (self.at, self.chosen) = (self.at.saturating_sub(1), true),
            Code::Down => (self.at, self.chosen) = ((self.at + 1).min(last), true),
            Code::Tab => {
                // If the completion is already there, insert the next one.
                let again = offers.get(self.at).is_some_and(|offer| offer.completed() == self.text());
                let at = if again { (self.at + 1) % offers.len().max(1) } else { self.at };
                if let Some(offer) = offers.get(at) {
                    self.input.set_text(&offer.completed());
                    self.typed();
                }
            }
            _ => {
                let before = self.text();
                self.input.key(key);
                if self.text() != before {
                    self.typed();
                }
            }
        }
        let shown = completions::offers(cx, &self.text()).get(self.at).and_then(Offer::theme);
        Some(Pref::Preview(shown).into())
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        self.input.insert(text.trim_start());
        self.typed();
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::palette(self, cx, canvas);
        None
    }
}

/// The line that Enter means: what was chosen, or typed where that says enough.
fn meant(palette: &Palette, offers: &[Offer]) -> Option<String> {
    let typed = palette.text();
    let typed = typed.trim();
    let offer = offers.get(palette.at);
    let is_whole = parse_target::read(typed).is_some() || offers.iter().any(|offer| offer.line == typed);
    match offer {
        Some(offer) if palette.chosen || !is_whole => Some(offer.line.clone()),
        _ if is_whole => Some(typed.to_string()),
        // That there is none stands above the line already.
        _ => None,
    }
}
