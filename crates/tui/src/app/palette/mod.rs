//! The line after `:`, which goes anywhere: commands by name with what may stand behind them, ids, addresses, events, times.

pub mod address;
mod commands;
mod go;
mod offers;
mod search;

pub use commands::{COMMANDS, Command, Takes};
pub use offers::{MOST_OFFERS, Offer};
pub use search::{Found, Search, Source};

use super::key::{Code, Key};
use super::msg::Effect;
use super::text_input::TextInput;
use super::{App, Overlay};

/// Most lines that are kept of what was typed in this session.
const MOST_SAID: usize = 100;

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

impl App {
    /// Begins to type a command.
    pub(super) fn open_palette(&mut self) {
        self.open_palette_with("");
    }

    /// The same with something that stands there already.
    pub(super) fn open_palette_with(&mut self, text: &str) {
        if !matches!(self.overlays.last(), Some(Overlay::Command(_))) {
            self.overlays.push(Overlay::Command(Palette::with(text)));
        }
    }

    /// A key while a command is typed.
    pub(super) fn palette_key(&mut self, key: Key) -> Vec<Effect> {
        let Some(Overlay::Command(palette)) = self.overlays.last() else { return Vec::new() };
        let mut palette = palette.clone();
        let offers = self.offers(&palette.text());
        let last = offers.len().saturating_sub(1);
        match key.code {
            Code::Esc => return self.close_palette(),
            Code::Backspace if palette.input.is_empty() => return self.close_palette(),
            Code::Char('c') if key.ctrl => self.quit = true,
            Code::Enter => {
                let Some(line) = meant(&palette, &offers) else { return Vec::new() };
                self.close_palette();
                return self.say(&line);
            }
            Code::Up if palette.recalled.is_some() || palette.input.is_empty() && palette.at == 0 => {
                self.recall(&mut palette, true)
            }
            Code::Down if palette.recalled.is_some() => self.recall(&mut palette, false),
            Code::Up | Code::BackTab => (palette.at, palette.chosen) = (palette.at.saturating_sub(1), true),
            Code::Down => (palette.at, palette.chosen) = ((palette.at + 1).min(last), true),
            Code::Tab => {
                // What is there already is not put in again: the next offer is.
                let again = offers.get(palette.at).is_some_and(|offer| offer.completed() == palette.text());
                let at = if again { (palette.at + 1) % offers.len().max(1) } else { palette.at };
                if let Some(offer) = offers.get(at) {
                    palette.input.set_text(&offer.completed());
                    palette.typed();
                }
            }
            _ => {
                let before = palette.text();
                palette.input.key(key);
                if palette.text() != before {
                    palette.typed();
                }
            }
        }
        self.habits.preview = self.offers(&palette.text()).get(palette.at).and_then(Offer::theme);
        if let Some(Overlay::Command(line)) = self.overlays.last_mut() {
            *line = palette;
        }
        Vec::new()
    }

    fn close_palette(&mut self) -> Vec<Effect> {
        self.overlays.pop();
        self.habits.preview = None;
        Vec::new()
    }

    /// An older line, or a newer one; past the newest the line is empty again.
    fn recall(&self, palette: &mut Palette, older: bool) {
        let said = &self.habits.said;
        let back = match (palette.recalled, older) {
            (None, true) => Some(1),
            (Some(back), true) => Some((back + 1).min(said.len())),
            (back, false) => back.map(|back| back - 1).filter(|back| *back > 0),
        };
        let line = back.and_then(|back| said.get(said.len().checked_sub(back)?));
        palette.input.set_text(line.map_or("", String::as_str));
        palette.typed();
        palette.recalled = back.filter(|_| line.is_some());
    }

    /// Does what a line says, and remembers it.
    fn say(&mut self, line: &str) -> Vec<Effect> {
        let said = &mut self.habits.said;
        said.retain(|before| before != line);
        said.push(line.to_string());
        if said.len() > MOST_SAID {
            said.remove(0);
        }
        match (address::read(line), offers::split(line)) {
            (_, Some((command, argument))) => (command.run)(self, argument),
            (Some(address), None) => self.land(address),
            // Only what is offered is ever said.
            (None, None) => Vec::new(),
        }
    }

    /// Goes to what a pasted text points at, if it does.
    pub(super) fn land_on(&mut self, pasted: &str) -> Vec<Effect> {
        match address::read(pasted) {
            Some(address) => self.land(address),
            None => Vec::new(),
        }
    }

    /// A pasted text while a command is typed: its first line counts.
    pub(super) fn palette_paste(&mut self, pasted: &str) {
        if let Some(Overlay::Command(palette)) = self.overlays.last_mut() {
            palette.input.insert(pasted.trim_start());
            palette.typed();
        }
    }
}

/// The line that Enter means: what was chosen, or typed where that says enough.
fn meant(palette: &Palette, offers: &[Offer]) -> Option<String> {
    let typed = palette.text();
    let typed = typed.trim();
    let offer = offers.get(palette.at);
    let is_whole = address::read(typed).is_some() || offers.iter().any(|offer| offer.line == typed);
    match offer {
        Some(offer) if palette.chosen || !is_whole => Some(offer.line.clone()),
        _ if is_whole => Some(typed.to_string()),
        // That there is none stands above the line already.
        _ => None,
    }
}
