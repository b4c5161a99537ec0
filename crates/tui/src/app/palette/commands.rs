//! The commands of the palette.

use crate::app::App;
use crate::input::action::Context;
use crate::input::keymap::{Binding, binding};
use crate::session::catalog::AfterTest;
use crate::session::compare::parse_sides;
use crate::session::destination::{Destination, Pane};
use crate::session::msg::Described;
use crate::session::record_list::RecordList;
use crate::session::request::{Pref, ProfileRequest, StreamCommand};
use crate::session::{Request, Requests, Route};
use runtail_core::config::{Mouse, Timestamps};
use runtail_core::model::{Collection, GithubApp};
use std::sync::Arc;

pub(in crate::app) const NO_SERVER: &str =
    "No agent server is open: press Enter on a deployment to open one.";
pub(in crate::app) const NO_STREAM: &str = "No stream is shown.";

/// Says that a command lacks its argument.
pub(in crate::app) fn missing(usage: &str) -> String {
    format!("{usage}: the argument is missing.")
}

/// The argument of a command, which determines its completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    Nothing,
    /// Free text, by its placeholder.
    Text(&'static str),
    /// A deployment, by its name.
    Deployment,
    /// A profile, by its name.
    Profile,
    /// A thread of the open server.
    Thread,
    /// A run of the open thread.
    Run,
    /// An assistant of the open server.
    Assistant,
    /// The same, by its name.
    AssistantName,
    /// A view of the stream.
    View,
    /// One of the open streams, by the number of its tab.
    Stream,
    Theme,
    /// A saved search for threads, or a search.
    Search,
    /// An export format and a path.
    Export,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl ArgumentKind {
    /// Returns the placeholder in capitals; empty if there is no argument.
    pub fn name(self) -> &'static str {
        match self {
            ArgumentKind::Nothing => "",
            ArgumentKind::Text(name) => name,
            ArgumentKind::Deployment => "NAME",
            ArgumentKind::Profile => "PROFILE",
            ArgumentKind::Thread | ArgumentKind::Run | ArgumentKind::Assistant => "ID",
            ArgumentKind::AssistantName => "ASSISTANT",
            ArgumentKind::View => "VIEW",
            ArgumentKind::Stream => "TAB",
            ArgumentKind::Export => "FORMAT PATH",
            ArgumentKind::Theme => "THEME",
            ArgumentKind::Search => "NAME|QUERY",
            ArgumentKind::Word(_) => "VALUE",
        }
    }
}

/// A command of the palette.
pub struct Command {
    pub name: &'static str,
    /// Its argument.
    pub takes: ArgumentKind,
    /// A short description; empty for that of its row of the action table.
    help: &'static str,
    run: Run,
}

/// What a command runs. The ids are rows of the action table.
enum Run {
    /// Triggers the action.
    Action(&'static str),
    /// Starts the change.
    Change(&'static str),
    /// Triggers the action in the list of deployments.
    OnDeployment(&'static str),
    Call(fn(&App, &str) -> Requests),
}

const fn command(
    name: &'static str,
    takes: ArgumentKind,
    help: &'static str,
    run: fn(&App, &str) -> Requests,
) -> Command {
    Command {
        name,
        takes,
        help,
        run: Run::Call(run),
    }
}

/// Creates a command that runs a row of the action table.
const fn of_row(name: &'static str, run: Run) -> Command {
    Command {
        name,
        takes: ArgumentKind::Nothing,
        help: "",
        run,
    }
}

impl Command {
    /// Returns a short description.
    pub fn help(&self) -> &'static str {
        self.row().map_or(self.help, |row| row.help)
    }

    /// Returns its row of the action table.
    pub(super) fn row(&self) -> Option<&'static Binding> {
        match self.run {
            Run::Action(id) | Run::Change(id) | Run::OnDeployment(id) => binding(id),
            Run::Call(_) => None,
        }
    }

    /// Returns whether it does the same as an action here: as that of its own row, or as that of the deployments list for the
    /// newest revision.
    pub(super) fn is_of(&self, row: &Binding, here: Context) -> bool {
        let is_same = |own: &Binding| {
            let is_newest = here == Context::Deployments
                && row.context == here
                && own.context == Context::Revisions;
            own.id == row.id
                || is_newest && matches!(self.run, Run::Change(_)) && own.action == row.action
        };
        self.row().is_some_and(is_same)
    }

    /// Returns the context of the screen that it needs, if it doesn't work everywhere.
    pub(super) fn needs(&self) -> Option<Context> {
        match self.name {
            "name" | "view" | "state" | "bisect" | "record" | "reopen" | "export" | "stream" => {
                Some(Context::Stream)
            }
            "graph" | "search" | "run" | "assistant" => Some(Context::Server),
            _ => None,
        }
    }

    /// Returns where it works, and whether it does here.
    pub(super) fn scope(&self, app: &App) -> (String, bool) {
        let (has_thread, has_server) = (
            app.shown_thread().is_some(),
            app.open_server_ref().is_some(),
        );
        let (context, works_here) = match (self.name, self.needs()) {
            ("stream", _) => (Context::Stream, !app.stream.tabs.all().is_empty()),
            ("graph", _) => (Context::Server, has_server || has_thread),
            (_, Some(Context::Stream)) => (Context::Stream, has_thread),
            (_, Some(context)) => (context, has_server),
            ("update" | "delete" | "logs" | "threads", _) => (Context::Deployments, true),
            ("redeploy" | "interrupt" | "rollback", _) => (Context::Revisions, true),
            ("crons" | "store", _) => (Context::Deployments, app.chosen_server().is_some()),
            _ => (Context::Global, true),
        };
        (context.scope(), works_here)
    }

    /// Runs the command with an argument.
    pub(super) fn run(&self, app: &App, argument: &str) -> Requests {
        match (&self.run, self.row()) {
            (Run::Call(run), _) => run(app, argument),
            (Run::Action(_), Some(row)) => Request::Do(row.context, row.action).into(),
            (Run::Change(_), Some(row)) => Request::Change(row.action).into(),
            (Run::OnDeployment(_), Some(row)) => go_to(Destination::Pane(Pane::Deployments))
                .and(Request::Do(row.context, row.action)),
            (_, None) => Requests::none(),
        }
    }
}

/// All commands, in the order of the palette.
pub const COMMANDS: &[Command] = &[
    command(
        "deployments",
        ArgumentKind::Nothing,
        "Go to the deployments",
        |_, _| go_to(Destination::Pane(Pane::Deployments)),
    ),
    command(
        "revisions",
        ArgumentKind::Nothing,
        "Go to the deployment's revisions",
        |_, _| go_to(Destination::Pane(Pane::Revisions)),
    ),
    command(
        "dep",
        ArgumentKind::Deployment,
        "Go to a deployment",
        |_, name| go_to(Destination::Deployment(name.into())),
    ),
    command(
        "profile",
        ArgumentKind::Profile,
        "Switch to this profile",
        |app, name| match name {
            "" => Requests::error(missing("profile PROFILE")),
            name if app.session.catalog.known(name).is_none() => {
                Requests::error(format!("No profile {}.", runtail_core::text::clean(name)))
            }
            name => ProfileRequest::Try(name.into(), AfterTest::Switch).into(),
        },
    ),
    command(
        "thread",
        ArgumentKind::Thread,
        "Open a thread by id",
        |_, id| go_to(Destination::Thread(id.into())),
    ),
    command(
        "search",
        ArgumentKind::Search,
        "Search the server's threads",
        |app, text| match app.open_server_ref() {
            None => Requests::error(NO_SERVER),
            Some(_) => {
                let saved = app
                    .session
                    .prefs
                    .searches
                    .iter()
                    .find(|(name, _)| name == text);
                Request::SearchThreads(saved.map_or(text, |(_, query)| query).to_string()).into()
            }
        },
    ),
    command(
        "name",
        ArgumentKind::Text("NAME"),
        "Name the thread in its metadata; empty removes it",
        |_, name| Request::NameThread(name.into()).into(),
    ),
    command(
        "run",
        ArgumentKind::Run,
        "Join a run of the thread",
        |_, id| go_to(Destination::Run(id.into())),
    ),
    command(
        "assistant",
        ArgumentKind::Assistant,
        "Go to an assistant",
        |_, id| go_to(Destination::Assistant(None, id.into())),
    ),
    command(
        "graph",
        ArgumentKind::AssistantName,
        "Show the graph of the thread or an assistant",
        |_, name| go_to(Destination::Graph(name.into())),
    ),
    command("view", ArgumentKind::View, "Show a view", |_, name| {
        go_to(Destination::View(name.into()))
    }),
    command("stream", ArgumentKind::Stream, "Go to a tab", |_, tab| {
        go_to(Destination::Tab(tab.into()))
    }),
    of_row("inbox", Run::Action("app.inbox")),
    of_row("create", Run::Change("deployments.create")),
    of_row("update", Run::Change("deployments.update")),
    of_row("delete", Run::Change("deployments.delete")),
    of_row("redeploy", Run::Change("revisions.redeploy")),
    of_row("interrupt", Run::Change("revisions.interrupt")),
    of_row("rollback", Run::Change("revisions.rollback")),
    of_row("profiles", Run::Action("app.profiles")),
    command(
        "import",
        ArgumentKind::Nothing,
        "Add profiles from ~/.langsmith/config.json, .env and langgraph.json",
        |_, _| Request::Profile(ProfileRequest::Import).into(),
    ),
    command(
        "doctor",
        ArgumentKind::Nothing,
        "Diagnose connection problems",
        |_, _| Route::Doctor(None).into(),
    ),
    command(
        "integrations",
        ArgumentKind::Nothing,
        "GitHub accounts of deployments",
        |app, _| list(app, Collection::Integrations(GithubApp::Deployments), ""),
    ),
    command(
        "forge",
        ArgumentKind::Nothing,
        "GitHub accounts of the Forge app",
        |app, _| list(app, Collection::Integrations(GithubApp::Forge), ""),
    ),
    command(
        "listeners",
        ArgumentKind::Nothing,
        "Listeners of self-hosted deployments",
        |app, _| list(app, Collection::Listeners, ""),
    ),
    command(
        "providers",
        ArgumentKind::Nothing,
        "OAuth providers",
        |app, _| list(app, Collection::Providers, ""),
    ),
    command(
        "tokens",
        ArgumentKind::Text("PROVIDER"),
        "Your tokens, of one provider or all",
        |app, provider| {
            let of = Collection::Tokens((!provider.is_empty()).then(|| provider.to_string()));
            list(app, of, provider)
        },
    ),
    command(
        "crons",
        ArgumentKind::Nothing,
        "Scheduled runs of the deployment",
        |app, _| on_server(app, RecordList::Crons),
    ),
    command(
        "store",
        ArgumentKind::Text("NAMESPACE"),
        "The deployment's store, or a namespace of it",
        |app, namespace| {
            let labels = namespace.split('.').filter(|label| !label.is_empty());
            on_server(app, RecordList::Store(labels.map(str::to_string).collect()))
        },
    ),
    command(
        "authenticate",
        ArgumentKind::Text("PROVIDER"),
        "Request a third-party token",
        |app, provider| {
            with_profile(app, |profile| {
                Route::Authenticate(profile, provider.to_string())
            })
        },
    ),
    of_row("logs", Run::OnDeployment("deployments.logs")),
    of_row("threads", Run::OnDeployment("deployments.open")),
    command(
        "theme",
        ArgumentKind::Theme,
        "Choose a theme",
        |app, name| {
            let themes = &app.session.prefs.themes;
            if themes.get(name).is_none() {
                let (message, hint) = themes.unknown(name);
                return Requests::error(format!("{message}. {hint}"));
            }
            Pref::Theme(name.to_string()).into()
        },
    ),
    command(
        "mouse",
        ArgumentKind::Word(&["auto", "on", "off"]),
        "Handled by Runtail (on), the terminal (off), or per pane (auto)",
        |app, how| {
            prefer(
                "mouse",
                how,
                &Mouse::WORDS,
                app.session.prefs.mouse,
                Pref::Mouse,
            )
        },
    ),
    command(
        "timestamps",
        ArgumentKind::Word(&["absolute", "relative", "delta"]),
        "Clock time, since the run's start, or since the previous entry",
        |app, how| {
            prefer(
                "timestamps",
                how,
                &Timestamps::WORDS,
                app.session.prefs.timestamps,
                Pref::Timestamps,
            )
        },
    ),
    command(
        "wrap",
        ArgumentKind::Word(&["on", "off"]),
        "Wrap long lines",
        |app, how| {
            prefer(
                "wrap",
                how,
                &[("on", true), ("off", false)],
                app.session.prefs.wrap,
                Pref::Wrap,
            )
        },
    ),
    command(
        "keys",
        ArgumentKind::Nothing,
        "All keys with their config names",
        |_, _| Route::Keys.into(),
    ),
    command(
        "state",
        ArgumentKind::Nothing,
        "Show the server's state and record",
        |app, _| match app
            .shown_thread()
            .map(|view| (view.is_recording, view.server.clone(), view.thread_id))
        {
            Some((true, ..)) => Requests::error("This is a recording; there is no server."),
            Some((_, server, Some(thread))) => {
                Route::Record(Described::Thread(server, thread.into())).into()
            }
            Some((.., None)) => Requests::error("A stateless run has no thread state."),
            None => Requests::error(NO_STREAM),
        },
    ),
    command(
        "bisect",
        ArgumentKind::Text("PATH EXPECTED"),
        "Find where a value became wrong: amount =1300",
        |_, argument| Route::Bisect(argument.into()).into(),
    ),
    command(
        "compare",
        ArgumentKind::Text("A B"),
        "Threads, runs, deployments or files: T, T/R, PROFILE/DEPLOYMENT[:T[/R]] or FILE",
        |app, text| {
            let shown = app
                .shown_thread()
                .filter(|view| !view.is_recording)
                .map(|view| view.server.clone());
            let open = shown.or_else(|| app.open_server_ref());
            match parse_sides(
                text,
                open.as_ref(),
                &app.servers(),
                &app.session.deployments,
            ) {
                Ok(sides) => Route::Compare(sides).into(),
                Err(why) => Requests::error(why),
            }
        },
    ),
    command(
        "record",
        ArgumentKind::Text("FILE|off"),
        "Record from the first event; off stops",
        |_, file| StreamCommand::Record(file.into()).into(),
    ),
    command(
        "replay",
        ArgumentKind::Text("FILE"),
        "Open a recording, else replay the stream",
        |_, file| StreamCommand::Replay(file.into()).into(),
    ),
    command(
        "reopen",
        ArgumentKind::Nothing,
        "Reload the stream from the server",
        |_, _| StreamCommand::Reopen.into(),
    ),
    command(
        "export",
        ArgumentKind::Export,
        "Write the view to a new file",
        |_, how| StreamCommand::Export(how.into()).into(),
    ),
    of_row("messages", Run::Action("app.notices")),
    of_row("refresh", Run::Action("app.refresh")),
    of_row("help", Run::Action("app.help")),
    of_row("quit", Run::Action("app.quit_now")),
];

fn go_to(to: Destination) -> Requests {
    Request::Go(to).into()
}

/// Opens a route of the chosen profile.
fn with_profile(app: &App, route: impl FnOnce(Arc<str>) -> Route) -> Requests {
    match app.chosen_profile() {
        Some(profile) => route(profile).into(),
        None => Requests::error("No profile has a control plane."),
    }
}

fn list(app: &App, of: Collection, owner: &str) -> Requests {
    with_profile(app, |profile| Route::List(of, profile, owner.to_string()))
}

fn on_server(app: &App, of: RecordList) -> Requests {
    match app.chosen_server() {
        Some(server) => Route::Records(server, of).into(),
        None => Requests::error("Select a deployment that has an agent server."),
    }
}

/// Sets a preference to one of several words, or reports the current one if there is no such word.
fn prefer<T: Copy + PartialEq>(
    name: &str,
    typed: &str,
    words: &[(&'static str, T)],
    current: T,
    pref: fn(T) -> Pref,
) -> Requests {
    match words.iter().find(|(word, _)| *word == typed) {
        Some((_, choice)) => pref(*choice).into(),
        None => {
            let list = words
                .iter()
                .map(|(word, _)| *word)
                .collect::<Vec<_>>()
                .join(", ");
            let current = words
                .iter()
                .find(|(_, choice)| *choice == current)
                .map_or("", |(word, _)| word);
            Requests::error(format!("{name} is {current}; it can be {list}."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_existing_rows_of_the_action_table() {
        let of_table = COMMANDS
            .iter()
            .filter(|command| !matches!(command.run, Run::Call(_)));
        assert_eq!(of_table.clone().count(), 14);
        of_table.for_each(|command| assert!(command.row().is_some(), "{}", command.name));
        // An action whose name says everything has no further description.
        let calls = COMMANDS
            .iter()
            .filter(|command| matches!(command.run, Run::Call(_)));
        calls.for_each(|command| assert!(!command.help().is_empty(), "{}", command.name));
    }

    #[test]
    fn command_names_are_unique_lowercase_words() {
        for (n, one) in COMMANDS.iter().enumerate() {
            assert!(
                one.name
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b == b'-'),
                "{}",
                one.name
            );
            assert!(
                COMMANDS[n + 1..].iter().all(|other| other.name != one.name),
                "{}",
                one.name
            );
        }
    }
}
