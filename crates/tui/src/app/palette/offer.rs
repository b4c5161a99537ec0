//! A row of the palette.

use super::commands::{ArgumentKind, Command};
use super::completions::is_listed;
use super::matching::{LineFit, Texts, WEAK, fit};
use super::parse_target::Address;
use crate::app::App;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::keymap::{BINDINGS, Binding};
use std::collections::BTreeSet;
use std::ops::Range;

/// What a row is listed under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// What was typed names it: an id, an address, an argument.
    Typed,
    Recent,
    Here,
    Elsewhere,
}

/// A row of the palette: what it runs, and how it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The line that it runs: a command with its argument, the id of an action, or an address.
    pub line: String,
    /// The shown text.
    pub shown: String,
    /// A short description.
    pub note: String,
    /// Its key; empty if it has none.
    pub key: String,
    /// Whether an argument may follow.
    pub takes_argument: bool,
    pub group: Group,
    /// The screen whose action it is; empty for a command.
    pub(super) place: &'static str,
    /// The matched parts of the shown text.
    pub(super) matched: Vec<Range<usize>>,
    /// The matched parts of the description.
    pub(super) matched_note: Vec<Range<usize>>,
    /// The row of the action table, if it is an action.
    pub(super) is_action: bool,
}

impl Completion {
    /// Creates a row for a line.
    pub(super) fn of(line: String, shown: String, note: String, group: Group) -> Completion {
        let (key, matched, matched_note) = (String::new(), Vec::new(), Vec::new());
        Completion {
            line,
            shown,
            note,
            key,
            takes_argument: false,
            group,
            place: "",
            matched,
            matched_note,
            is_action: false,
        }
    }

    /// Returns the text that Tab inserts.
    pub fn completed(&self) -> String {
        match (self.takes_argument, self.is_action) {
            (true, _) => format!("{} ", self.line),
            // Its name says more than its id, and means the same.
            (false, true) => self.shown.clone(),
            (false, false) => self.line.clone(),
        }
    }

    /// Returns the theme that it would activate.
    pub(super) fn theme(&self) -> Option<String> {
        self.line.strip_prefix("theme ").map(str::to_string)
    }

    /// Marks the matched parts.
    pub(super) fn matching(mut self, fit: LineFit) -> Completion {
        (self.matched, self.matched_note) = (fit.name, fit.note);
        self
    }
}

/// A candidate: a row with the other texts by which it is found.
pub(super) struct Candidate {
    offer: Completion,
    aliases: [&'static str; 3],
    /// The length of the description without the words on where it works, which say nothing about it.
    said: usize,
}

impl Candidate {
    /// Creates the candidate of an action.
    pub fn action(app: &App, row: &'static Binding, commands: &Commands) -> Candidate {
        let works_here = commands.has(row);
        let view = app.shown_view().filter(|_| works_here);
        let help = row.help_in(view);
        // The heading of the group says where the actions of this screen work.
        let scope = if works_here && row.context != Context::Global {
            String::new()
        } else {
            scope_of_name(app, row)
        };
        let group = if works_here {
            Group::Here
        } else {
            Group::Elsewhere
        };
        let (name, note) = (row.name_in(view, false), with_scope(help, &scope));
        let mut offer = Completion::of(row.id.to_string(), name, note, group);
        (offer.key, offer.is_action) = (app.session.hint_key(row.id).unwrap_or_default(), true);
        offer.place = row.context.place();
        Candidate {
            offer,
            aliases: ["", row.id, words(row)],
            said: help.len(),
        }
    }

    /// Creates the candidate of a command. One that is also an action is shown like it; `row` is the action that it is here.
    pub fn command(
        app: &App,
        command: &'static Command,
        row: Option<&'static Binding>,
    ) -> Candidate {
        let mut offer = of_command(command, "");
        if let Some(row) = row {
            offer.note = row.help.to_string();
        }
        let (mut scope, works_here) = command.scope(app);
        if works_here && row.is_some_and(|row| row.context == app.help_context()) {
            // The heading of the group says it.
            scope.clear();
        }
        let said = offer.note.len();
        offer.note = with_scope(&offer.note, &scope);
        offer.group = if works_here {
            Group::Here
        } else {
            Group::Elsewhere
        };
        let (mut id, mut more) = ("", "");
        if let Some(row) = row.or_else(|| command.row()) {
            (offer.shown, offer.key, id, more) = (
                row.name().to_string(),
                app.session.hint_key(row.id).unwrap_or_default(),
                row.id,
                words(row),
            );
        }
        Candidate {
            offer,
            aliases: [command.name, id, more],
            said,
        }
    }

    /// Creates the candidate of a command that opens a screen.
    pub fn screen(name: &'static str, help: &str) -> Candidate {
        let note = with_scope(help, &Context::Global.scope());
        let offer = Completion::of(name.to_string(), name.to_string(), note, Group::Here);
        Candidate {
            offer,
            aliases: [name, "", ""],
            said: help.len(),
        }
    }

    /// Returns the row with its score, if it matches.
    pub fn fit(self, typed: &str) -> Option<(u32, Completion)> {
        let offer = &self.offer;
        let note = offer.note.get(..self.said).unwrap_or_default();
        let texts = Texts {
            name: &offer.shown,
            note,
            aliases: self.aliases,
            key: &offer.key,
            place: offer.place,
        };
        let fit = fit(typed, &texts)?;
        // A weak match stays weak wherever it works.
        let is_preferred = offer.is_action && offer.group == Group::Here && fit.score > WEAK;
        let bonus = if is_preferred { 5 } else { 0 };
        Some((fit.score + bonus, self.offer.matching(fit)))
    }

    /// Returns the row.
    pub fn offer(&self) -> &Completion {
        &self.offer
    }

    /// Returns the row.
    pub fn into_offer(self) -> Completion {
        self.offer
    }

    /// Returns the line that it runs.
    pub fn line(&self) -> &str {
        &self.offer.line
    }
}

/// Returns words by which an action is searched, besides those of its name and its sentence: what people say, and what other
/// tools call it.
fn words(row: &Binding) -> &'static str {
    match row.id.split_once('.').map_or(row.id, |(_, id)| id) {
        "again" | "edit_state" if row.context == Context::Stream => {
            "fork branch rerun restart redo rewind"
        }
        "steps" => "fork branch checkpoints tree history updates writes",
        "events" => "raw custom delivery gaps latency tokens",
        "again" | "retry" => "rerun restart redo resume",
        "redeploy" => "restart deploy again",
        "rollback" if row.action == Action::Rollback => "revert undo previous rollback",
        "interrupt" => "cancel stop abort kill",
        "cancel" | "end" => "stop abort kill interrupt",
        "explain" => "why failed stuck waiting error reason cause",
        "answer" => "respond reply resume continue",
        "approve" => "accept confirm allow yes",
        "logs" | "server" => "output stdout server logs",
        "filter" | "search" => "find grep search filter",
        "browser" => "studio langsmith link url console",
        "compare" => "diff difference",
        "graph" => "diagram nodes edges",
        "export" | "save" => "export download write file",
        "split" => "side beside two",
        "modes" => "stream modes debug",
        "profiles" => "region account workspace key switch",
        "inbox" => "waiting approvals failures",
        "watch" => "follow alert bell notify",
        "quit" | "quit_now" => "exit leave",
        "new_run" => "compose",
        "sort" => "order",
        _ => "",
    }
}

/// Returns where an action works, by its object or by all screens that have an action of this name, with the keys that go there.
fn scope_of_name(app: &App, row: &'static Binding) -> String {
    let place = |other: &Binding| match app.key_to(other.context) {
        key if key.is_empty() => (1, other.place()),
        key => (0, format!("{} ({key})", other.place())),
    };
    let same = BINDINGS
        .iter()
        .filter(|other| other.name() == row.name() && is_listed(other));
    // Those that a key goes to are first.
    let places: BTreeSet<(u8, String)> = same.map(place).collect();
    if places.len() > 1 {
        let names: Vec<String> = places.into_iter().map(|(_, name)| name).collect();
        return format!("works in: {}", names.join(", "));
    }
    match app.key_to(row.context) {
        key if key.is_empty() => row.scope(),
        key => format!("{}; {key} goes to {}", row.scope(), row.context.place()),
    }
}

/// Adds where an action works to what it does.
fn with_scope(note: &str, scope: &str) -> String {
    let gap = if note.is_empty() || scope.is_empty() {
        ""
    } else {
        " · "
    };
    format!("{note}{gap}{scope}")
}

/// Returns the row of a command with an argument.
pub(super) fn of_command(command: &'static Command, argument: &str) -> Completion {
    let gap = if argument.is_empty() { "" } else { " " };
    let line = format!("{}{gap}{argument}", command.name);
    let shown = format!("{} {}", command.name, command.takes.name())
        .trim_end()
        .to_string();
    let mut offer = Completion::of(line, shown, command.help().to_string(), Group::Here);
    offer.takes_argument = command.takes != ArgumentKind::Nothing && argument.is_empty();
    offer
}

/// Returns the row of an address, which says what is opened and who is asked for it.
pub(super) fn of_address(app: &App, typed: &str, address: &Address) -> Completion {
    let short = |id: &str| runtail_core::text::short_id(&runtail_core::text::clean(id));
    let (shown, note) = match address {
        Address::Event(number) => (
            format!("Go to event {number}"),
            "in the shown stream".to_string(),
        ),
        Address::Time(..) => (
            format!("Go to {}", typed.trim()),
            "in the shown stream".into(),
        ),
        Address::Id(id) => (format!("Open {}", short(id)), asked(app)),
        Address::Deployment {
            id, revision: None, ..
        } => (format!("Open deployment {}", short(id)), String::new()),
        Address::Deployment {
            revision: Some(id), ..
        } => (format!("Open revision {}", short(id)), String::new()),
        Address::Thread {
            thread, run: None, ..
        } => (format!("Open thread {}", short(thread)), asked(app)),
        Address::Thread { run: Some(run), .. } => (format!("Join run {}", short(run)), asked(app)),
        Address::Assistant { assistant, .. } => (
            format!("Open assistant {}", short(assistant)),
            String::new(),
        ),
        Address::Server(url) => ("Open this agent server".into(), url.to_string()),
        Address::Elsewhere(url) => ("This page is not supported".into(), url.to_string()),
    };
    let shown = runtail_core::text::clean(&shown).into_owned();
    Completion::of(
        typed.trim().to_string(),
        shown,
        runtail_core::text::clean(&note).into_owned(),
        Group::Typed,
    )
}

/// Names the profiles whose servers are asked for an id.
fn asked(app: &App) -> String {
    const MAX_NAMES: usize = 4;
    let names: Vec<&str> = app
        .session
        .profiles
        .iter()
        .map(|profile| &*profile.name)
        .collect();
    match names.len() {
        0 => String::new(),
        1..=MAX_NAMES => format!("asks {}", names.join(", ")),
        n => format!(
            "asks {} and {} more",
            names[..MAX_NAMES].join(", "),
            n - MAX_NAMES
        ),
    }
}
