//! Completions of the command line: matching commands and known arguments.

use super::commands::{COMMANDS, Command};
use super::parse_target::{self, Address};
use crate::session::Cx;
use crate::session::destination::ArgumentKind;
use runtail_core::config::{nearest, nearest_few};

/// Maximum suggestions for an unknown name.
const MAX_SUGGESTIONS: usize = 3;
/// Maximum completions.
pub const MAX_OFFERS: usize = 200;

/// A completion of the typed text.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The completed line.
    pub line: String,
    /// The shown text.
    pub shown: String,
    /// A short description.
    pub note: String,
    /// Whether an argument may follow.
    pub takes_argument: bool,
}

impl Completion {
    /// Returns the text that Tab inserts.
    pub fn completed(&self) -> String {
        if self.takes_argument { format!("{} ", self.line) } else { self.line.clone() }
    }

    /// Returns the theme that it would activate.
    pub(super) fn theme(&self) -> Option<String> {
        self.line.strip_prefix("theme ").map(str::to_string)
    }
}

/// A name with its description.
type Named = (String, String);

/// Splits a line into its command and argument; `None` if no command has exactly this name.
pub(super) fn split(line: &str) -> Option<(&'static Command, &str)> {
    let line = line.trim();
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    Some((command, argument.trim()))
}

/// Returns the command that the first word of a line means, and its argument: the one with that name, or the only one whose
/// name begins so and takes an argument.
fn command_of(line: &str) -> Option<(&'static Command, &str)> {
    let (word, argument) = line.trim().split_once(char::is_whitespace)?;
    let exact = split(line).map(|(command, _)| command);
    let command = exact.or_else(|| match begun_by(word).as_slice() {
        [only] => Some(*only),
        _ => None,
    })?;
    Some((command, argument.trim()))
}

/// Returns the commands that take an argument and whose name begins with a word.
fn begun_by(word: &str) -> Vec<&'static Command> {
    COMMANDS.iter().filter(|command| command.takes != ArgumentKind::Nothing && command.name.starts_with(word)).collect()
}

/// Returns how well a text matches the typed one, best first: it begins with it, contains it, or has its letters in order.
fn fit(text: &str, typed: &str) -> Option<u8> {
    let (text, typed) = (text.to_lowercase(), typed.to_lowercase());
    let mut letters = text.chars();
    match () {
        () if text.starts_with(&typed) => Some(0),
        () if text.contains(&typed) => Some(1),
        // One or two letters in order match nearly every text.
        () if typed.chars().count() > 2 && typed.chars().all(|wanted| letters.any(|letter| letter == wanted)) => {
            Some(2)
        }
        () => None,
    }
}

/// Returns the completions of a text.
pub fn offers(cx: &Cx<'_>, text: &str) -> Vec<Completion> {
    let typed = text.trim_start();
    let mut offers: Vec<(u8, Completion)> = Vec::new();
    // A valid target is its own first completion.
    let target = parse_target::read(typed).map(|address| {
        let shown = runtail_core::text::clean(typed.trim()).into_owned();
        Completion { line: typed.trim().to_string(), shown, note: describe(&address), takes_argument: false }
    });
    match split(typed) {
        Some((command, argument)) if typed.trim_end() != command.name || typed.ends_with(' ') => {
            offers.extend(arguments(cx, command, argument))
        }
        // A guess must not run with an argument that was meant for another command.
        _ if typed.trim_end().contains(char::is_whitespace) => {
            offers
                .extend(command_of(typed).into_iter().flat_map(|(command, argument)| arguments(cx, command, argument)));
        }
        _ => {
            let word = typed.trim_end();
            let fits = COMMANDS.iter().filter_map(|command| Some((fit(command.name, word)?, command)));
            offers.extend(fits.map(|(fit, command)| (fit, of_command(command, ""))));
            let screens = cx.lookup.screens().iter().filter_map(|(name, help)| Some((fit(name, word)?, name, help)));
            offers.extend(screens.map(|(fit, name, help)| (fit, of_screen(name, help))));
            if typed == word && word.chars().count() > 1 {
                offers.extend(known_objects(cx, word));
            }
        }
    }
    offers.sort_by_key(|(fit, _)| *fit);
    target.into_iter().chain(offers.into_iter().map(|(_, offer)| offer)).take(MAX_OFFERS).collect()
}

/// Returns the completions of a command's argument.
fn arguments(cx: &Cx<'_>, command: &'static Command, argument: &str) -> Vec<(u8, Completion)> {
    if command.takes == ArgumentKind::Nothing && !argument.is_empty() {
        return Vec::new();
    }
    // Free text, including the path of an export, has no completions.
    let is_free_text = matches!(command.takes, ArgumentKind::Nothing | ArgumentKind::Text(_));
    let has_more = matches!(command.takes, ArgumentKind::Export | ArgumentKind::Server) && argument.contains(' ');
    if is_free_text || has_more {
        return vec![(0, of_command(command, argument))];
    }
    let known = known_for(cx, command.takes, argument);
    let offer = |(name, note): Named| {
        // Descriptions match too, because few users know a thread by its id.
        let fit = fit(&name, argument).or_else(|| fit(&note, argument).map(|_| 2))?;
        Some((fit, Completion { line: format!("{} {name}", command.name), shown: name, note, takes_argument: false }))
    };
    let mut offers: Vec<_> = known.into_iter().filter_map(offer).collect();
    // An id that is not listed may still exist.
    let may_be_unlisted = match command.takes {
        ArgumentKind::Server
        | ArgumentKind::Export
        | ArgumentKind::Thread
        | ArgumentKind::Run
        | ArgumentKind::Assistant => true,
        ArgumentKind::Search => true,
        ArgumentKind::Deployment => parse_target::is_id(argument),
        _ => false,
    };
    if offers.is_empty() && may_be_unlisted && !argument.is_empty() {
        offers.push((0, of_command(command, argument)));
    }
    offers
}

/// Returns the known objects with a matching name, for any command.
fn known_objects(cx: &Cx<'_>, word: &str) -> Vec<(u8, Completion)> {
    let mut offers = Vec::new();
    for command in COMMANDS
        .iter()
        .filter(|command| !matches!(command.takes, ArgumentKind::Word(_) | ArgumentKind::Export | ArgumentKind::Server))
    {
        for (name, note) in known(cx, command.takes) {
            let Some(fit) = fit(&name, word).filter(|fit| *fit < 2) else { continue };
            let shown = format!("{} {name}", command.name);
            offers.push((fit + 1, Completion { line: shown.clone(), shown, note, takes_argument: false }));
        }
    }
    offers
}

/// Returns the known values of an argument. If a slash is typed, deployments are written as PROFILE/NAME.
fn known_for(cx: &Cx<'_>, takes: ArgumentKind, typed: &str) -> Vec<Named> {
    match takes == ArgumentKind::Deployment && typed.contains('/') {
        true => cx.lookup.deployments_in_full(),
        false => known(cx, takes),
    }
}

/// Returns the known values of an argument.
fn known(cx: &Cx<'_>, takes: ArgumentKind) -> Vec<Named> {
    let session = cx.session;
    match takes {
        ArgumentKind::Nothing | ArgumentKind::Text(_) => Vec::new(),
        ArgumentKind::Search => session.prefs.searches.clone(),
        ArgumentKind::Word(words) => words.iter().map(|word| (word.to_string(), String::new())).collect(),
        ArgumentKind::Profile => {
            let used = |name: &str| if session.catalog.used(name).is_some() { "in use" } else { "" };
            session.catalog.names().into_iter().map(|name| (name.clone(), used(&name).to_string())).collect()
        }
        ArgumentKind::Theme => session.prefs.themes.names().map(|name| (name.to_string(), String::new())).collect(),
        takes => cx.lookup.known(takes),
    }
}

/// Returns an error about an unknown name, with suggestions.
pub fn no_such(cx: &Cx<'_>, what: &str, typed: &str, takes: ArgumentKind) -> String {
    let known: Vec<String> = known_for(cx, takes, typed).into_iter().map(|(name, _)| name).collect();
    let mut near = nearest_few(typed, known.iter().map(String::as_str), MAX_SUGGESTIONS);
    // The same name in other profiles.
    if let Some((_, name)) = typed.split_once('/') {
        let same = known.iter().map(String::as_str).filter(|full| full.rsplit('/').next() == Some(name));
        near.extend(same.filter(|full| !near.contains(full)).take(MAX_SUGGESTIONS).collect::<Vec<_>>());
    }
    let typed = runtail_core::text::clean(typed);
    match near.is_empty() || typed.is_empty() {
        true => format!("There is no {what} {typed}").trim_end().to_string() + ".",
        false => format!("There is no {what} {typed}. Did you mean {}?", near.join(", ")),
    }
}

/// Returns why a text has no completions, with suggestions.
pub fn no_completion(cx: &Cx<'_>, text: &str) -> String {
    let typed = text.trim();
    let Some((command, argument)) = command_of(typed).or_else(|| split(typed)) else {
        if let Some((word, _)) = typed.split_once(char::is_whitespace) {
            return unknown_command(word);
        }
        let near = nearest(typed, COMMANDS.iter().map(|command| command.name)).filter(|_| !typed.is_empty());
        return match near {
            Some(near) => format!("No matching command. Did you mean {near}?"),
            None => "No matching command.".to_string(),
        };
    };
    let what = match command.takes {
        ArgumentKind::Nothing if !argument.is_empty() => return format!("{} takes no argument.", command.name),
        ArgumentKind::Deployment => "deployment",
        ArgumentKind::Profile => "profile",
        ArgumentKind::Theme => "theme",
        ArgumentKind::View => "view",
        ArgumentKind::Stream => "stream",
        ArgumentKind::Thread => "known thread",
        ArgumentKind::Run => "known run",
        ArgumentKind::Assistant => "known assistant",
        _ => "choice",
    };
    no_such(cx, what, argument, command.takes)
}

/// Says that no command has this name, with those that were probably meant.
fn unknown_command(word: &str) -> String {
    let begun = begun_by(word);
    let near: Vec<&str> = match begun.is_empty() {
        true => nearest_few(word, COMMANDS.iter().map(|command| command.name), MAX_SUGGESTIONS),
        false => begun.iter().map(|command| command.name).take(MAX_SUGGESTIONS).collect(),
    };
    let word = runtail_core::text::clean(word);
    match near.is_empty() {
        true => format!("Unknown command {word}."),
        false => format!("Unknown command {word}. Did you mean {}?", near.join(", ")),
    }
}

fn of_screen(name: &str, help: &str) -> Completion {
    Completion { line: name.to_string(), shown: format!("{name} "), note: help.to_string(), takes_argument: false }
}

fn of_command(command: &'static Command, argument: &str) -> Completion {
    let gap = if argument.is_empty() { "" } else { " " };
    Completion {
        line: format!("{}{gap}{argument}", command.name),
        shown: format!("{} {}", command.name, command.takes.name()),
        note: command.help().to_string(),
        takes_argument: command.takes != ArgumentKind::Nothing && argument.is_empty(),
    }
}

/// Describes what the line does with a target.
fn describe(address: &Address) -> String {
    match address {
        Address::Event(number) => format!("Go to event {number} of the stream"),
        Address::Time(..) => "Go to this time in the stream".into(),
        Address::Id(_) => "Find this id".into(),
        Address::Deployment { revision: None, .. } => "Go to this deployment".into(),
        Address::Deployment { .. } => "Go to this revision".into(),
        Address::Thread { run: None, .. } => "Tail this thread".into(),
        Address::Thread { .. } => "Join this run".into(),
        Address::Assistant { .. } => "Go to this assistant".into(),
        Address::Server(_) => "Open this agent server".into(),
        Address::Elsewhere(_) => "This page is not supported".into(),
    }
}
