//! The commands: everything that can be done without a place to do it in has a name.

use crate::app::keys::{Action, Context};
use crate::app::msg::{Described, Effect};
use crate::app::profiles::Then;
use crate::app::viewer::Viewer;
use crate::app::{App, Overlay, Page, Pane, scroll};
use runtail_core::config::{Mouse, Timestamps};
use runtail_core::model::{Collection, GithubApp, Service};

/// A command.
pub struct Command {
    /// What is typed.
    pub name: &'static str,
    /// What may stand behind it.
    pub takes: Takes,
    /// What it does, in a few words.
    pub help: &'static str,
    pub(super) run: fn(&mut App, &str) -> Vec<Effect>,
}

/// What may stand behind a command. What is known of it is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A text that nobody knows beforehand, by what it is called.
    Text(&'static str),
    /// A deployment, by its name.
    Deployment,
    /// A profile, by its name.
    Profile,
    /// A thread of the server that is open.
    Thread,
    /// A run of the thread that is open.
    Run,
    /// An assistant of the server that is open.
    Assistant,
    /// A view of the stream.
    View,
    /// One of the open streams, by the number of its tab.
    Stream,
    /// A theme.
    Theme,
    /// How the view is written, and where to.
    Export,
    /// One of several words.
    Word(&'static [&'static str]),
}

impl Takes {
    /// What it is called, in capitals; empty where nothing may stand there.
    pub fn name(self) -> &'static str {
        match self {
            Takes::Nothing => "",
            Takes::Text(name) => name,
            Takes::Deployment => "NAME",
            Takes::Profile => "PROFILE",
            Takes::Thread | Takes::Run | Takes::Assistant => "ID",
            Takes::View => "VIEW",
            Takes::Stream => "TAB",
            Takes::Export => "HOW PATH",
            Takes::Theme => "THEME",
            Takes::Word(_) => "HOW",
        }
    }
}

const fn command(
    name: &'static str,
    takes: Takes,
    help: &'static str,
    run: fn(&mut App, &str) -> Vec<Effect>,
) -> Command {
    Command { name, takes, help, run }
}

/// Every command, in the order in which they are offered.
pub const COMMANDS: &[Command] = &[
    command("deployments", Takes::Nothing, "Go to the list of deployments", |app, _| app.go_to(Pane::Deployments)),
    command("revisions", Takes::Nothing, "Go to the revisions of the selected deployment", |app, _| {
        app.go_to(Pane::Revisions)
    }),
    command("dep", Takes::Deployment, "Go to a deployment", |app, name| app.go_to_deployment(name)),
    command("profile", Takes::Profile, "Use a profile alone, once it is reached", |app, name| match name {
        "" => app.explain_argument("profile PROFILE: its name is missing."),
        name if app.catalogue.known(name).is_none() => {
            app.explain_argument(&format!("There is no profile {}.", runtail_core::text::clean(name)))
        }
        name => app.try_profile(name, Then::Switch),
    }),
    command("thread", Takes::Thread, "Tail a thread of the server that is open", |app, id| app.go_to_thread(id)),
    command("run", Takes::Run, "Join a run of the thread that is open", |app, id| app.go_to_run(id)),
    command("assistant", Takes::Assistant, "Go to an assistant of the server that is open", |app, id| {
        app.go_to_assistant(id)
    }),
    command("view", Takes::View, "Show a view of the stream", |app, name| app.go_to_view(name)),
    command("stream", Takes::Stream, "Go to one of the open streams", |app, tab| app.go_to_tab(tab)),
    command("create", Takes::Nothing, "Create a deployment", |app, _| app.begin_create()),
    command("update", Takes::Nothing, "Change the selected deployment", |app, _| app.begin_update()),
    command("delete", Takes::Nothing, "Delete the selected deployment", |app, _| app.begin_delete()),
    command("redeploy", Takes::Nothing, "Deploy the selected revision again", |app, _| app.begin_redeploy()),
    command("interrupt", Takes::Nothing, "Stop the selected revision on its way", |app, _| app.begin_interrupt()),
    command("rollback", Takes::Nothing, "Go back to the selected revision", |app, _| app.begin_rollback()),
    command("profiles", Takes::Nothing, "All profiles: use, switch, test, add, edit, save", |app, _| {
        app.open_profiles();
        Vec::new()
    }),
    command("doctor", Takes::Nothing, "What stands between you and your deployments, a line a check", |app, _| {
        app.open_doctor();
        Vec::new()
    }),
    command("integrations", Takes::Nothing, "GitHub accounts that deployments are built from", |app, _| {
        app.browse_meant(Collection::Integrations(GithubApp::Deployments), "")
    }),
    command("forge", Takes::Nothing, "GitHub accounts of Forge, which no deployment needs", |app, _| {
        app.browse_meant(Collection::Integrations(GithubApp::Forge), "")
    }),
    command("listeners", Takes::Nothing, "Listeners of an organisation that hosts itself", |app, _| {
        app.browse_meant(Collection::Listeners, "")
    }),
    command("providers", Takes::Nothing, "OAuth providers of the organisation", |app, _| {
        app.browse_meant(Collection::Providers, "")
    }),
    command("tokens", Takes::Text("PROVIDER"), "Your own tokens: of one provider, or all", |app, provider| {
        let of = Collection::Tokens((!provider.is_empty()).then(|| provider.to_string()));
        app.browse_meant(of, provider)
    }),
    command("connections", Takes::Text("AGENT"), "The tokens that an agent may use", |app, agent| match agent {
        "" => app.explain_argument("connections AGENT: the agent's id is missing."),
        agent => app.browse_meant(Collection::Connections(agent.to_string()), agent),
    }),
    command("revoke-slack", Takes::Nothing, "Revoke everybody's tokens of Slack in the workspace", |app, _| {
        app.begin_meant(Service::RevokeSlack)
    }),
    command("forgesession", Takes::Text("SESSION"), "A session of Forge's picker", |app, session| {
        match (session, app.meant_profile()) {
            ("", _) => app.explain_argument("forgesession SESSION: the session's id is missing."),
            (_, None) => app.explain_argument("None of the profiles has a control plane to ask."),
            (id, Some(profile)) => app.describe(Described::ForgeSession(profile, id.to_string())),
        }
    }),
    command(
        "forgeselect",
        Takes::Text("SESSION"),
        "Choose in a session of Forge's picker",
        |app, session| match session {
            "" => app.explain_argument("forgeselect SESSION: the session's id is missing."),
            session => app.begin_meant(Service::ForgeSelect(session.to_string())),
        },
    ),
    command("authenticate", Takes::Text("PROVIDER"), "Ask for a token of a third party", |app, provider| {
        match app.meant_profile() {
            Some(profile) => app.begin_sign_in(profile, provider),
            None => app.explain_argument("None of the profiles has a control plane to ask."),
        }
    }),
    command("journal", Takes::Nothing, "What was sent to change something, and what came of it", |app, _| {
        app.open_journal()
    }),
    command("logs", Takes::Nothing, "The server log of the selected deployment", |app, _| {
        app.act_in(Context::Deployments, Action::ServerLog)
    }),
    command("threads", Takes::Nothing, "The threads of the selected deployment", |app, _| {
        app.act_in(Context::Deployments, Action::Open)
    }),
    command("theme", Takes::Theme, "How everything looks; shown while it is chosen", |app, name| app.use_theme(name)),
    command(
        "mouse",
        Takes::Word(&["auto", "on", "off"]),
        "The mouse: Runtail's (on), the terminal's (off), or by what is read (auto)",
        |app, how| app.choose_habit("mouse", how, &Mouse::WORDS, |habits| &mut habits.mouse),
    ),
    command(
        "timestamps",
        Takes::Word(&["absolute", "relative", "delta"]),
        "Times: absolute, relative to the start of the run, or since the entry before",
        |app, how| app.choose_habit("timestamps", how, &Timestamps::WORDS, |habits| &mut habits.timestamps),
    ),
    command("wrap", Takes::Word(&["on", "off"]), "Whether long lines of a stream go on in the next one", |app, how| {
        app.choose_habit("wrap", how, &[("on", true), ("off", false)], |habits| &mut habits.wrap)
    }),
    command("keys", Takes::Nothing, "Every key that is in force, with its name in the configuration", |app, _| {
        app.overlays.push(Overlay::Page(Page::Keys, scroll::Place::at_start()));
        Vec::new()
    }),
    command("state", Takes::Nothing, "Show the thread's state and record as the server has them now", |app, _| {
        if app.viewer().is_some_and(Viewer::is_recording) {
            return app.explain_argument("This is a recording: there is no server to ask.");
        }
        let viewer = app.viewer().map(|viewer| (viewer.server.clone(), viewer.thread_id.clone()));
        match viewer {
            Some((server, Some(thread))) => app.describe(Described::Thread(server, thread)),
            Some((_, None)) => app.explain_argument("A stateless run has no thread, so there is no state to show."),
            None => app.explain_argument("No stream is shown."),
        }
    }),
    command(
        "record",
        Takes::Text("FILE|off"),
        "Record the stream from its first event on; off ends that",
        |app, file| app.record(file),
    ),
    command("replay", Takes::Text("FILE"), "Open a recording, or replay the stream that is shown", |app, file| {
        app.replay(file)
    }),
    command("reopen", Takes::Nothing, "Open the stream again from its start, from the server", |app, _| {
        app.reopen();
        Vec::new()
    }),
    command("export", Takes::Export, "Write the view to a new file: text, jsonl or md", |app, how| {
        app.begin_export(how)
    }),
    command("messages", Takes::Nothing, "Every message and error of this session", |app, _| {
        app.act_in(Context::Global, Action::Notices)
    }),
    command("refresh", Takes::Nothing, "Ask the servers again now", |app, _| {
        app.act_in(Context::Global, Action::Refresh)
    }),
    command("help", Takes::Nothing, "The keys that work", |app, _| app.act_in(Context::Global, Action::Help)),
    command("quit", Takes::Nothing, "Leave; runs go on", |app, _| app.act_in(Context::Global, Action::QuitNow)),
];

impl App {
    fn browse_meant(&mut self, of: Collection, owner: &str) -> Vec<Effect> {
        match self.meant_profile() {
            Some(profile) => self.open_browse(of, profile, owner),
            None => self.explain_argument("None of the profiles has a control plane to ask."),
        }
    }

    fn begin_meant(&mut self, what: Service) -> Vec<Effect> {
        match self.meant_profile() {
            Some(profile) => self.begin_service(profile, what, &serde_json::Value::Null, None),
            None => self.explain_argument("None of the profiles has a control plane to ask."),
        }
    }

    pub(super) fn explain_argument(&mut self, why: &str) -> Vec<Effect> {
        self.notify(true, why);
        Vec::new()
    }

    pub(super) fn go_to(&mut self, pane: Pane) -> Vec<Effect> {
        let effects = self.leave_overlays();
        self.focus = pane;
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        for (n, one) in COMMANDS.iter().enumerate() {
            assert!(one.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", one.name);
            assert!(COMMANDS[n + 1..].iter().all(|other| other.name != one.name), "{}", one.name);
        }
    }
}
