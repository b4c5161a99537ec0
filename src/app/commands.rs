//! Commands by name: what is typed after `:`. Everything that can be done without a place to do it in has one.

use super::key::{Code, Key};
use super::keys::{Action, Context};
use super::msg::{Described, Effect};
use super::{App, Overlay, Pane};
use crate::model::{Collection, GithubApp, Service};

/// A command.
pub struct Command {
    /// What is typed.
    pub name: &'static str,
    /// What may stand behind it, in capitals; empty where nothing may.
    pub argument: &'static str,
    /// What it does, in a few words.
    pub help: &'static str,
    run: fn(&mut App, &str) -> Vec<Effect>,
}

const fn command(
    name: &'static str,
    argument: &'static str,
    help: &'static str,
    run: fn(&mut App, &str) -> Vec<Effect>,
) -> Command {
    Command { name, argument, help, run }
}

/// Every command, in the order in which they are offered.
pub const COMMANDS: &[Command] = &[
    command("deployments", "", "Go to the list of deployments", |app, _| app.go_to(Pane::Deployments)),
    command("revisions", "", "Go to the revisions of the selected deployment", |app, _| app.go_to(Pane::Revisions)),
    command("create", "", "Create a deployment", |app, _| app.begin_create()),
    command("update", "", "Change the selected deployment", |app, _| app.begin_update()),
    command("delete", "", "Delete the selected deployment", |app, _| app.begin_delete()),
    command("redeploy", "", "Deploy the selected revision again", |app, _| app.begin_redeploy()),
    command("interrupt", "", "Stop the selected revision on its way", |app, _| app.begin_interrupt()),
    command("rollback", "", "Go back to the selected revision", |app, _| app.begin_rollback()),
    command("profiles", "", "All profiles: use, switch, test, add, edit, save", |app, _| {
        app.open_profiles();
        Vec::new()
    }),
    command("doctor", "", "What stands between you and your deployments, a line a check", |app, _| {
        app.open_doctor();
        Vec::new()
    }),
    command("integrations", "", "GitHub accounts that deployments are built from", |app, _| {
        app.browse_meant(Collection::Integrations(GithubApp::Deployments), "")
    }),
    command("forge", "", "The same of Forge, which no deployment needs", |app, _| {
        app.browse_meant(Collection::Integrations(GithubApp::Forge), "")
    }),
    command("listeners", "", "Listeners of an organisation that hosts itself", |app, _| {
        app.browse_meant(Collection::Listeners, "")
    }),
    command("providers", "", "OAuth providers of the organisation", |app, _| {
        app.browse_meant(Collection::Providers, "")
    }),
    command("tokens", "PROVIDER", "Your own tokens: of one provider, or all", |app, provider| {
        let of = Collection::Tokens((!provider.is_empty()).then(|| provider.to_string()));
        app.browse_meant(of, provider)
    }),
    command("connections", "AGENT", "The tokens that an agent may use", |app, agent| match agent {
        "" => app.explain_argument("connections AGENT: the agent's id is missing."),
        agent => app.browse_meant(Collection::Connections(agent.to_string()), agent),
    }),
    command("revoke-slack", "", "Revoke everybody's tokens of Slack in the workspace", |app, _| {
        app.begin_meant(Service::RevokeSlack)
    }),
    command("forgesession", "SESSION", "A session of Forge's picker", |app, session| {
        match (session, app.meant_profile()) {
            ("", _) => app.explain_argument("forgesession SESSION: the session's id is missing."),
            (_, None) => app.explain_argument("None of the profiles has a control plane to ask."),
            (id, Some(profile)) => app.describe(Described::ForgeSession(profile, id.to_string())),
        }
    }),
    command("forgeselect", "SESSION", "Choose in a session of Forge's picker", |app, session| match session {
        "" => app.explain_argument("forgeselect SESSION: the session's id is missing."),
        session => app.begin_meant(Service::ForgeSelect(session.to_string())),
    }),
    command("authenticate", "PROVIDER", "Ask for a token of a third party", |app, provider| {
        match app.meant_profile() {
            Some(profile) => app.begin_sign_in(profile, provider),
            None => app.explain_argument("None of the profiles has a control plane to ask."),
        }
    }),
    command("journal", "", "What was sent to change something, and what came of it", |app, _| app.open_journal()),
    command("logs", "", "The server log of the selected deployment", |app, _| {
        app.act_in(Context::Deployments, Action::ServerLog)
    }),
    command("threads", "", "The threads of the selected deployment", |app, _| {
        app.act_in(Context::Deployments, Action::Open)
    }),
    command("messages", "", "Every message and error of this session", |app, _| {
        app.act_in(Context::Global, Action::Notices)
    }),
    command("refresh", "", "Ask the servers again now", |app, _| app.act_in(Context::Global, Action::Refresh)),
    command("help", "", "The keys that work", |app, _| app.act_in(Context::Global, Action::Help)),
    command("quit", "", "Leave; runs go on", |app, _| app.act_in(Context::Global, Action::QuitNow)),
];

/// A command that is being typed.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    /// What was typed.
    pub text: String,
    /// Number of the chosen one among those that fit.
    pub at: usize,
}

impl Palette {
    /// The commands that fit what was typed: those that begin with it first, then those that hold it.
    pub fn fitting(&self) -> Vec<&'static Command> {
        let word = self.text.split_whitespace().next().unwrap_or_default().to_lowercase();
        let begins = COMMANDS.iter().filter(|c| c.name.starts_with(&word));
        let holds = COMMANDS.iter().filter(|c| !c.name.starts_with(&word) && c.name.contains(&word));
        begins.chain(holds).collect()
    }

    /// What stands behind the command's name.
    fn argument(&self) -> &str {
        self.text.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim())
    }
}

impl App {
    /// Begins to type a command.
    pub(super) fn open_palette(&mut self) {
        if !matches!(self.overlays.last(), Some(Overlay::Command(_))) {
            self.overlays.push(Overlay::Command(Palette::default()));
        }
    }

    /// A key while a command is typed.
    pub(super) fn palette_key(&mut self, key: Key) -> Vec<Effect> {
        let Some(Overlay::Command(palette)) = self.overlays.last_mut() else { return Vec::new() };
        let fitting = palette.fitting();
        match key.code {
            Code::Esc => drop(self.overlays.pop()),
            Code::Backspace if palette.text.is_empty() => drop(self.overlays.pop()),
            Code::Char('c') if key.ctrl => self.quit = true,
            Code::Enter => {
                let argument = palette.argument().to_string();
                // That none fits stands above the line already.
                let Some(chosen) = fitting.get(palette.at) else { return Vec::new() };
                self.overlays.pop();
                return (chosen.run)(self, &argument);
            }
            Code::Up => palette.at = palette.at.saturating_sub(1),
            Code::Down => palette.at = (palette.at + 1).min(fitting.len().saturating_sub(1)),
            Code::Tab => {
                if let Some(chosen) = fitting.get(palette.at) {
                    palette.text = match chosen.argument {
                        "" => chosen.name.to_string(),
                        _ => format!("{} ", chosen.name),
                    };
                    palette.at = 0;
                }
            }
            code => {
                match (code, key.ctrl) {
                    (Code::Backspace, _) => drop(palette.text.pop()),
                    (Code::Char('u'), true) => palette.text.clear(),
                    _ => palette.text.extend(key.text()),
                }
                palette.at = 0;
            }
        }
        Vec::new()
    }

    /// A pasted text while a command is typed: its first line counts.
    pub(super) fn palette_paste(&mut self, pasted: &str) {
        if let Some(Overlay::Command(palette)) = self.overlays.last_mut() {
            palette.text.push_str(pasted.lines().next().unwrap_or_default());
            palette.at = 0;
        }
    }

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

    fn explain_argument(&mut self, why: &str) -> Vec<Effect> {
        self.notify(true, why);
        Vec::new()
    }

    fn go_to(&mut self, pane: Pane) -> Vec<Effect> {
        let effects = self.leave_overlays();
        self.focus = pane;
        effects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_the_text_comes_first() {
        let names = |text: &str| {
            let palette = Palette { text: text.into(), at: 0 };
            palette.fitting().iter().map(|c| c.name).collect::<Vec<_>>()
        };
        assert_eq!(names("re"), ["revisions", "redeploy", "revoke-slack", "refresh", "create", "threads"]);
        assert_eq!(names("REDEPLOY x")[0], "redeploy");
        assert_eq!(names("").len(), COMMANDS.len());
        assert!(names("nonsense").is_empty());
    }

    #[test]
    fn names_are_unique_and_plain() {
        for (n, one) in COMMANDS.iter().enumerate() {
            assert!(one.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", one.name);
            assert!(COMMANDS[n + 1..].iter().all(|other| other.name != one.name), "{}", one.name);
        }
    }
}
