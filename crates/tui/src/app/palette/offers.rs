//! What is offered while a command is typed: commands whose names fit, and what is known that may stand behind them.

use super::address::{self, Address};
use super::commands::{COMMANDS, Command, Takes};
use crate::app::App;
use crate::app::export::Format;
use crate::app::viewer::VIEWS;
use runtail_core::config::{nearest, nearest_few};
use runtail_core::text::short_id;
use std::collections::HashMap;

/// Most names that are suggested for one that is unknown.
const MOST_NEAR: usize = 3;
/// Most lines that are offered at once.
pub const MOST_OFFERS: usize = 200;

/// A line that may be meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The whole line.
    pub line: String,
    /// What is shown of it.
    pub shown: String,
    /// What it does or is, in a few words.
    pub note: String,
    /// Whether something may still be typed behind it.
    pub goes_on: bool,
}

impl Offer {
    /// What Tab puts in.
    pub fn completed(&self) -> String {
        if self.goes_on { format!("{} ", self.line) } else { self.line.clone() }
    }

    /// The theme that it would put in force.
    pub(super) fn theme(&self) -> Option<String> {
        self.line.strip_prefix("theme ").map(str::to_string)
    }
}

/// A name, with what is told of it.
type Named = (String, String);

/// The command of a line, and what stands behind it; nothing where no command has exactly that name.
pub(super) fn split(line: &str) -> Option<(&'static Command, &str)> {
    let line = line.trim();
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    Some((command, argument.trim()))
}

/// How well a text fits what was typed, best first: it begins so, it holds it, it has its letters in their order.
fn fit(text: &str, typed: &str) -> Option<u8> {
    let (text, typed) = (text.to_lowercase(), typed.to_lowercase());
    let mut letters = text.chars();
    match () {
        () if text.starts_with(&typed) => Some(0),
        () if text.contains(&typed) => Some(1),
        // Two letters are in order nearly everywhere.
        () if typed.chars().count() > 2 && typed.chars().all(|wanted| letters.any(|letter| letter == wanted)) => {
            Some(2)
        }
        () => None,
    }
}

impl App {
    /// What is offered for a text.
    pub fn offers(&self, text: &str) -> Vec<Offer> {
        let typed = text.trim_start();
        let mut offers: Vec<(u8, Offer)> = Vec::new();
        // What points somewhere is itself the first offer.
        let points = address::read(typed).map(|address| {
            let shown = runtail_core::text::clean(typed.trim()).into_owned();
            Offer { line: typed.trim().to_string(), shown, note: points_at(&address), goes_on: false }
        });
        match split(typed) {
            Some((command, argument)) if typed.trim_end() != command.name || typed.ends_with(' ') => {
                offers.extend(self.arguments(command, argument))
            }
            _ => {
                let (word, rest) = typed.split_once(' ').unwrap_or((typed, ""));
                let fits = COMMANDS.iter().filter_map(|command| Some((fit(command.name, word)?, command)));
                offers.extend(fits.map(|(fit, command)| (fit, of_command(command, rest.trim()))));
                if rest.is_empty() && word.chars().count() > 1 {
                    offers.extend(self.things(word));
                }
            }
        }
        offers.sort_by_key(|(fit, _)| *fit);
        points.into_iter().chain(offers.into_iter().map(|(_, offer)| offer)).take(MOST_OFFERS).collect()
    }

    /// What may stand behind a command.
    fn arguments(&self, command: &'static Command, argument: &str) -> Vec<(u8, Offer)> {
        // A path is the person's own word.
        let own = matches!(command.takes, Takes::Nothing | Takes::Text(_));
        if own || command.takes == Takes::Export && argument.contains(' ') {
            return vec![(0, of_command(command, argument))];
        }
        let known = self.known_for(command.takes, argument);
        let offer = |(name, note): Named| {
            // What is told of it counts too: a thread is seldom known by its id.
            let fit = fit(&name, argument).or_else(|| fit(&note, argument).map(|_| 2))?;
            Some((fit, Offer { line: format!("{} {name}", command.name), shown: name, note, goes_on: false }))
        };
        let mut offers: Vec<_> = known.into_iter().filter_map(offer).collect();
        // An id that is not listed may still be one.
        let free = match command.takes {
            Takes::Export | Takes::Thread | Takes::Run | Takes::Assistant => true,
            Takes::Deployment => address::is_id(argument),
            _ => false,
        };
        if offers.is_empty() && free && !argument.is_empty() {
            offers.push((0, of_command(command, argument)));
        }
        offers
    }

    /// What is known that has such a name, whatever command it is for.
    fn things(&self, word: &str) -> Vec<(u8, Offer)> {
        let mut offers = Vec::new();
        for command in COMMANDS.iter().filter(|command| !matches!(command.takes, Takes::Word(_) | Takes::Export)) {
            for (name, note) in self.known(command.takes) {
                let Some(fit) = fit(&name, word).filter(|fit| *fit < 2) else { continue };
                let shown = format!("{} {name}", command.name);
                offers.push((fit + 1, Offer { line: shown.clone(), shown, note, goes_on: false }));
            }
        }
        offers
    }

    /// What is known of what a command takes, written as what was typed: a deployment with a slash is PROFILE/NAME.
    fn known_for(&self, takes: Takes, typed: &str) -> Vec<Named> {
        if takes != Takes::Deployment || !typed.contains('/') {
            return self.known(takes);
        }
        let full = |row: &crate::app::fleet::Row| {
            (format!("{}/{}", row.profile_name, row.name), format!("{} {}", row.profile_name, row.tag))
        };
        self.fleet.rows.iter().map(full).collect()
    }

    /// Says that there is no such thing, with names that were probably meant.
    pub(super) fn no_such(&self, what: &str, typed: &str, takes: Takes) -> String {
        let known: Vec<String> = self.known_for(takes, typed).into_iter().map(|(name, _)| name).collect();
        let mut near = nearest_few(typed, known.iter().map(String::as_str), MOST_NEAR);
        // The right name in the wrong profile.
        if let Some((_, name)) = typed.split_once('/') {
            let same = known.iter().map(String::as_str).filter(|full| full.rsplit('/').next() == Some(name));
            near.extend(same.filter(|full| !near.contains(full)).take(MOST_NEAR).collect::<Vec<_>>());
        }
        let typed = runtail_core::text::clean(typed);
        match near.is_empty() || typed.is_empty() {
            true => format!("There is no {what} {typed}").trim_end().to_string() + ".",
            false => format!("There is no {what} {typed}. Did you mean {}?", near.join(", ")),
        }
    }

    /// What is known of what a command takes.
    fn known(&self, takes: Takes) -> Vec<Named> {
        let server = self.server.as_ref();
        match takes {
            Takes::Nothing | Takes::Text(_) => Vec::new(),
            Takes::Word(words) => words.iter().map(|word| (word.to_string(), String::new())).collect(),
            Takes::Deployment => {
                let mut same: HashMap<&str, usize> = HashMap::new();
                self.fleet.rows.iter().for_each(|row| *same.entry(&row.name).or_default() += 1);
                let mut names: Vec<Named> = Vec::new();
                for row in &self.fleet.rows {
                    let name = if same.get(&*row.name).is_some_and(|same| *same > 1) {
                        format!("{}/{}", row.profile_name, row.name)
                    } else {
                        row.name.clone()
                    };
                    names.push((name, format!("{} {}", row.profile_name, row.tag)));
                }
                names
            }
            Takes::Profile => {
                let used = |name: &str| if self.catalogue.used(name).is_some() { "in use" } else { "" };
                self.catalogue.names().into_iter().map(|name| (name.clone(), used(&name).to_string())).collect()
            }
            Takes::View => VIEWS.iter().map(|view| (view.title().to_lowercase(), String::new())).collect(),
            Takes::Stream => {
                let note = |v: &crate::app::viewer::Viewer| {
                    let id = v.run_id.as_deref().or(v.thread_id.as_deref()).map(short_id).unwrap_or_default();
                    format!("{} {id}", v.server.name)
                };
                self.streams.all().iter().enumerate().map(|(n, v)| ((n + 1).to_string(), note(v))).collect()
            }
            Takes::Export => Format::WORDS
                .iter()
                .filter_map(|(word, format)| Some((format!("{word} {}", self.proposed_path(*format)?), String::new())))
                .collect(),
            Takes::Theme => self.habits.themes.names().map(|name| (name.to_string(), String::new())).collect(),
            Takes::Thread => {
                let threads = server.and_then(|s| s.threads.value.as_deref()).unwrap_or_default();
                threads.iter().map(|thread| (thread.thread_id.clone(), thread.status.clone())).collect()
            }
            Takes::Run => {
                let runs = server.and_then(|s| s.runs.value.as_deref()).unwrap_or_default();
                let note =
                    |run: &runtail_core::model::Run| format!("{} on thread {}", run.status, short_id(&run.thread_id));
                runs.iter().map(|run| (run.run_id.clone(), note(run))).collect()
            }
            Takes::Assistant => {
                let assistants = server.and_then(|s| s.assistants.value.as_deref()).unwrap_or_default();
                let note = |a: &runtail_core::model::Assistant| {
                    let name = a.name.as_deref().filter(|name| *name != a.graph_id).unwrap_or_default();
                    format!("{} {name}", a.graph_id)
                };
                assistants.iter().map(|a| (a.assistant_id.clone(), note(a))).collect()
            }
        }
    }

    /// Why nothing is offered for a text, with what was probably meant.
    pub fn no_offer(&self, text: &str) -> String {
        let typed = text.trim();
        let Some((command, argument)) = split(typed) else {
            let near = nearest(typed, COMMANDS.iter().map(|command| command.name)).filter(|_| !typed.is_empty());
            return match near {
                Some(near) => format!("No matching command. Did you mean {near}?"),
                None => "No matching command.".to_string(),
            };
        };
        let what = match command.takes {
            Takes::Deployment => "deployment",
            Takes::Profile => "profile",
            Takes::Theme => "theme",
            Takes::View => "view",
            Takes::Stream => "stream",
            Takes::Thread => "known thread",
            Takes::Run => "known run",
            Takes::Assistant => "known assistant",
            _ => "choice",
        };
        self.no_such(what, argument, command.takes)
    }
}

fn of_command(command: &'static Command, argument: &str) -> Offer {
    let gap = if argument.is_empty() { "" } else { " " };
    Offer {
        line: format!("{}{gap}{argument}", command.name),
        shown: format!("{} {}", command.name, command.takes.name()),
        note: command.help.to_string(),
        goes_on: command.takes != Takes::Nothing && argument.is_empty(),
    }
}

fn points_at(address: &Address) -> String {
    match address {
        Address::Event(number) => format!("Go to event {number} of the stream"),
        Address::Time(..) => "Go to this time in the stream".into(),
        Address::Id(_) => "Go to what has this id".into(),
        Address::Deployment { revision: None, .. } => "Go to this deployment".into(),
        Address::Deployment { .. } => "Go to this revision".into(),
        Address::Thread { run: None, .. } => "Tail this thread".into(),
        Address::Thread { .. } => "Join this run".into(),
        Address::Assistant { .. } => "Go to this assistant".into(),
        Address::Server(_) => "Open this agent server".into(),
        Address::Elsewhere(_) => "This page names nothing that can be shown here".into(),
    }
}
