//! Completions of the command line: matching commands and known arguments.

use super::commands::{ArgumentKind, COMMANDS, Command};
use super::known::{DescribedName, known};
use super::matching::WEAK;
use super::offer::{Candidate, Completion, Group, of_address, of_command};
use super::parse_target;
use crate::app::App;
use crate::app::overlay::SCREENS;
use crate::input::action::{Action, Context};
use crate::input::keymap::{BINDINGS, Binding};
use runtail_core::config::{nearest, nearest_few};
use std::collections::{BTreeMap, BTreeSet};

/// Number of actions listed as recently used.
const MAX_RECENT: usize = 5;
/// Maximum known objects that are listed without their command.
const MAX_OBJECTS: usize = 20;
/// Maximum suggestions for an unknown name.
const MAX_SUGGESTIONS: usize = 3;
/// Maximum completions.
pub const MAX_OFFERS: usize = 400;
/// Maximum rows before anything is typed.
const MAX_OVERVIEW: usize = 120;

/// Splits a line into its command and argument; `None` if no command has exactly this name.
pub(super) fn split(line: &str) -> Option<(&'static Command, &str)> {
    let line = line.trim();
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    Some((command, argument.trim()))
}

/// Returns the command of a line without the argument that it needs, if there are choices for it.
pub(super) fn missing_choice(app: &App, line: &str) -> Option<&'static Command> {
    let (command, _) = split(line).filter(|(_, argument)| argument.is_empty())?;
    // These commands work without one.
    let is_optional = matches!(
        command.takes,
        ArgumentKind::AssistantName | ArgumentKind::Search | ArgumentKind::Export
    );
    (!is_optional && !known(app, command.takes, "").is_empty()).then_some(command)
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
    COMMANDS
        .iter()
        .filter(|command| command.takes != ArgumentKind::Nothing && command.name.starts_with(word))
        .collect()
}

/// Returns how well a known name matches the typed one, best first: it begins with it, contains it, or has its letters in order.
fn fit(text: &str, typed: &str) -> Option<u8> {
    let (text, typed) = (text.to_lowercase(), typed.to_lowercase());
    let mut letters = text.chars();
    match () {
        () if text.starts_with(&typed) => Some(0),
        () if text.contains(&typed) => Some(1),
        // One or two letters in order match nearly every text.
        () if typed.chars().count() > 2
            && typed
                .chars()
                .all(|wanted| letters.any(|letter| letter == wanted)) =>
        {
            Some(2)
        }
        () => None,
    }
}

/// Returns the rows for a text, best first.
pub fn offers(app: &App, text: &str) -> Vec<Completion> {
    let typed = text.trim_start();
    // A valid target is its own first row.
    let target = parse_target::read(typed).map(|address| of_address(app, typed, &address));
    let word = typed.trim_end();
    let command = match split(typed) {
        Some(found) if word != found.0.name || typed.ends_with(' ') => Some(found),
        // A guess must not run with an argument that was meant for another command.
        _ if word.contains(char::is_whitespace) => command_of(typed),
        _ => None,
    };
    let mut offers = match command {
        Some((command, argument)) => arguments(app, command, argument),
        None => Vec::new(),
    };
    offers.sort_by_key(|(fit, _)| *fit);
    let mut all: Vec<Completion> = target
        .into_iter()
        .chain(offers.into_iter().map(|(_, offer)| offer))
        .collect();
    if command.is_none_or(|_| all.is_empty()) {
        all.extend(if word.is_empty() {
            overview(app)
        } else {
            search(app, word)
        });
    }
    all.truncate(MAX_OFFERS);
    all
}

/// Returns the number of actions and commands that the palette can list: one for each name.
pub(super) fn count(app: &App) -> usize {
    let mut all = candidates(app)
        .into_iter()
        .map(Candidate::into_offer)
        .collect();
    keep_one_of_each_name(&mut all);
    all.len()
}

/// Keeps the first row of each name: actions of several screens with the same name do the same.
fn keep_one_of_each_name(offers: &mut Vec<Completion>) {
    let mut names = BTreeSet::new();
    offers.retain(|offer| offer.line.contains(' ') || names.insert(offer.shown.clone()));
}

/// Returns all actions and commands.
fn candidates(app: &App) -> Vec<Candidate> {
    let here = app.help_context();
    let available = app.available(here);
    let command_of = move |row: &Binding| COMMANDS.iter().find(|command| command.is_of(row, here));
    let is_here = move |context: Context| context == here || context == Context::Global;
    // An action that is also a command works everywhere, and is listed once.
    let action = |row: &'static Binding| match command_of(row) {
        Some(command) => Candidate::command(app, command, Some(row)),
        None => Candidate::action(app, row, &available),
    };
    let rows = BINDINGS.iter().filter(|row| is_listed(row));
    let of_context = rows
        .clone()
        .filter(move |row| row.context == here && here != Context::Global)
        .map(action);
    let global = rows
        .clone()
        .filter(|row| row.context == Context::Global)
        .map(action);
    let others = rows
        .filter(move |row| !is_here(row.context) && command_of(row).is_none())
        .map(action);
    let is_listed_here = move |command: &Command| {
        BINDINGS
            .iter()
            .any(|row| is_here(row.context) && command.is_of(row, here))
    };
    let commands = COMMANDS
        .iter()
        .filter(move |command| !is_listed_here(command));
    let commands = commands.map(move |command| Candidate::command(app, command, None));
    let screens = SCREENS
        .iter()
        .map(|(name, help)| Candidate::screen(name, help));
    of_context
        .chain(global)
        .chain(commands)
        .chain(screens)
        .chain(others)
        .collect()
}

/// Returns whether the palette lists an action: not what only moves or types, and not the palette itself.
pub(super) fn is_listed(row: &Binding) -> bool {
    !row.is_movement()
        && !matches!(
            row.action,
            Action::Command | Action::NextField | Action::PrevField
        )
        && row.context != Context::Command
}

/// Returns the actions that were used last, those of this screen, then the first ones of each other place.
fn overview(app: &App) -> Vec<Completion> {
    let all = candidates(app);
    let recent = app.session.prefs.said.iter().rev().filter_map(|line| {
        let mut offer = match all.iter().find(|candidate| candidate.line() == line) {
            Some(candidate) => candidate.offer().clone(),
            None => match (split(line), parse_target::read(line)) {
                (Some((command, argument)), _) => {
                    let mut offer = of_command(command, argument);
                    offer.shown.clone_from(&offer.line);
                    offer
                }
                (None, Some(address)) => of_address(app, line, &address),
                (None, None) => return None,
            },
        };
        (offer.group, offer.takes_argument) = (Group::Recent, false);
        Some(offer)
    });
    let recent: Vec<Completion> = recent.take(MAX_RECENT).collect();
    let mut others: Vec<Completion> = all.into_iter().map(Candidate::into_offer).collect();
    others.sort_by_key(|offer| offer.group);
    keep_one_of_each_name(&mut others);
    let room = MAX_OVERVIEW - recent.len();
    keep_first_of_each_place(&mut others, room);
    recent.into_iter().chain(others).collect()
}

/// Keeps as many rows as there is room for: those of this screen, and equally many of each other place. The first rows of a
/// place are those that are used most.
fn keep_first_of_each_place(offers: &mut Vec<Completion>, room: usize) {
    let mut kept = room + 1;
    while offers.len() > room && kept > 1 {
        kept -= 1;
        let mut of_place = BTreeMap::new();
        offers.retain(|offer| {
            let count: &mut usize = of_place.entry(offer.place).or_default();
            *count += 1;
            offer.group != Group::Elsewhere || *count <= kept
        });
    }
    offers.truncate(room);
}

/// Returns what matches a text: what works here, best first, then what works elsewhere.
fn search(app: &App, word: &str) -> Vec<Completion> {
    let mut found: Vec<(u32, Completion)> = candidates(app)
        .into_iter()
        .filter_map(|candidate| candidate.fit(word))
        .collect();
    if !word.contains(char::is_whitespace) && word.chars().count() > 1 {
        found.extend(known_objects(app, word));
    }
    if found.iter().any(|(score, _)| *score > WEAK) {
        found.retain(|(score, _)| *score > WEAK);
    }
    found.sort_by_key(|(score, offer)| (offer.group, std::cmp::Reverse(*score)));
    let mut found = found.into_iter().map(|(_, offer)| offer).collect();
    keep_one_of_each_name(&mut found);
    found
}

/// Returns the completions of a command's argument.
fn arguments(app: &App, command: &'static Command, argument: &str) -> Vec<(u8, Completion)> {
    if command.takes == ArgumentKind::Nothing && !argument.is_empty() {
        return Vec::new();
    }
    // Free text, including the path of an export, has no completions.
    let is_free_text = matches!(command.takes, ArgumentKind::Nothing | ArgumentKind::Text(_));
    let has_more = command.takes == ArgumentKind::Export && argument.contains(' ');
    if is_free_text || has_more {
        return vec![(0, typed_command(command, argument))];
    }
    let known = known(app, command.takes, argument);
    // The number of a tab is not a part of another one's id.
    let takes_tab = command.takes == ArgumentKind::Stream;
    let is_tab_number = takes_tab && argument.parse::<u8>().is_ok();
    let offer = |(name, note): DescribedName| {
        // Descriptions match too, because few users know a thread by its id.
        let fit = fit(&name, argument)
            .or_else(|| fit(&note, argument).filter(|_| !is_tab_number).map(|_| 2))?;
        Some((
            fit,
            Completion::of(format!("{} {name}", command.name), name, note, Group::Typed),
        ))
    };
    let mut offers: Vec<_> = known.into_iter().filter_map(offer).collect();
    // An id that is not listed may still exist.
    let may_be_unlisted = match command.takes {
        ArgumentKind::Export
        | ArgumentKind::Thread
        | ArgumentKind::Run
        | ArgumentKind::Assistant
        | ArgumentKind::AssistantName
        | ArgumentKind::Search => true,
        ArgumentKind::Deployment => parse_target::is_id(argument),
        _ => false,
    };
    if offers.is_empty() && may_be_unlisted && !argument.is_empty() {
        offers.push((0, typed_command(command, argument)));
    }
    offers
}

/// Returns the row of a command with what was typed after it.
fn typed_command(command: &'static Command, argument: &str) -> Completion {
    let offer = of_command(command, argument);
    // What was typed, rather than the placeholder.
    let shown = if argument.is_empty() {
        offer.shown
    } else {
        runtail_core::text::clean(&offer.line).into_owned()
    };
    Completion {
        group: Group::Typed,
        shown,
        ..offer
    }
}

/// Returns the known objects with a matching name, for any command. One that begins with the word is as likely as an action.
fn known_objects(app: &App, word: &str) -> Vec<(u32, Completion)> {
    let mut offers = Vec::new();
    for command in COMMANDS
        .iter()
        .filter(|command| !matches!(command.takes, ArgumentKind::Word(_) | ArgumentKind::Export))
        .filter(|command| command.scope(app).1)
    {
        for (name, note) in known(app, command.takes, "") {
            let score = match fit(&name, word) {
                Some(0) => 90,
                Some(1) => 42,
                _ => continue,
            };
            let shown = format!("{} {name}", command.name);
            offers.push((
                score,
                Completion::of(shown.clone(), shown, note, Group::Here),
            ));
        }
    }
    offers.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    offers.truncate(MAX_OBJECTS);
    offers
}

/// Returns an error about an unknown name, with suggestions.
pub fn no_such(app: &App, what: &str, typed: &str, takes: ArgumentKind) -> String {
    let known: Vec<String> = known(app, takes, typed)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let mut near = nearest_few(typed, known.iter().map(String::as_str), MAX_SUGGESTIONS);
    // The same name in other profiles.
    if let Some((_, name)) = typed.split_once('/') {
        let same = known
            .iter()
            .map(String::as_str)
            .filter(|full| full.rsplit('/').next() == Some(name));
        near.extend(
            same.filter(|full| !near.contains(full))
                .take(MAX_SUGGESTIONS)
                .collect::<Vec<_>>(),
        );
    }
    let typed = runtail_core::text::clean(typed);
    match near.is_empty() || typed.is_empty() {
        true => format!("No {what} {typed}").trim_end().to_string() + ".",
        false => format!("No {what} {typed}. Did you mean {}?", near.join(", ")),
    }
}

/// Returns why a text has no completions, with suggestions.
pub fn no_completion(app: &App, text: &str) -> String {
    let typed = text.trim();
    let Some((command, argument)) = command_of(typed).or_else(|| split(typed)) else {
        return no_action(typed);
    };
    let what = match command.takes {
        ArgumentKind::Nothing if !argument.is_empty() => {
            return format!("{} takes no argument.", command.name);
        }
        ArgumentKind::Deployment => "deployment",
        ArgumentKind::Profile => "profile",
        ArgumentKind::Theme => "theme",
        ArgumentKind::View => "view",
        ArgumentKind::Stream => "stream",
        ArgumentKind::Thread => "known thread",
        ArgumentKind::Run => "known run",
        ArgumentKind::Assistant | ArgumentKind::AssistantName => "known assistant",
        _ => "choice",
    };
    no_such(app, what, argument, command.takes)
}

/// Says that no action matches, with the word that was probably meant.
fn no_action(typed: &str) -> String {
    let mut words: Vec<String> = COMMANDS
        .iter()
        .map(|command| command.name.to_string())
        .collect();
    let names = BINDINGS
        .iter()
        .filter(|row| is_listed(row))
        .flat_map(|row| row.name().split_whitespace());
    words.extend(names.filter(|word| word.len() > 3).map(str::to_lowercase));
    let first = typed
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let typed = runtail_core::text::clean(typed);
    let near =
        nearest(&first, words.iter().map(String::as_str)).or_else(|| begun_alike(&first, &words));
    match near.filter(|near| *near != first) {
        Some(near) => format!("No action matches \"{typed}\". Did you mean {near}?"),
        None => format!("No action matches \"{typed}\"."),
    }
}

/// Returns the first word that has the longest beginning in common with what was typed.
fn begun_alike<'w>(typed: &str, words: &'w [String]) -> Option<&'w str> {
    const MIN_COMMON: usize = 3;
    let common = |word: &str| {
        word.chars()
            .zip(typed.chars())
            .take_while(|(one, other)| one == other)
            .count()
    };
    let longest = words
        .iter()
        .map(|word| common(word))
        .max()
        .filter(|length| *length >= MIN_COMMON)?;
    words
        .iter()
        .find(|word| common(word) == longest)
        .map(String::as_str)
}
