//! The first-run screen: ways to begin.

use super::first_run_view;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::key::{Code, Key};
use crate::session::first_run::LocalServer;
use crate::session::msg::{Effect, EffectResult};
use crate::session::request::ProfileRequest;
use crate::session::{Component, Cx, Request, Requests, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::text_input::TextInput;
use runtail_core::config::edit::{region_profile, server_profile};
use runtail_core::config::import::{Import, short};
use runtail_core::config::{ConfigError, looks_like_key};
use std::path::Path;

/// The choices, in their order. Their numbers never change, so that a server that is found moves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Start simulated servers.
    Demo,
    /// Open the agent server on this machine.
    Local,
    /// Define a profile of a LangSmith region.
    LangSmith,
    /// Open an agent server by its address.
    Other,
    /// Add the profiles of the official tools. It is offered if there are any.
    Import,
}

/// All choices.
pub const CHOICES: [Choice; 5] = [
    Choice::Demo,
    Choice::Local,
    Choice::LangSmith,
    Choice::Other,
    Choice::Import,
];
/// The problem of an input that had a key in it.
const KEY_REFUSED: &str =
    "That looks like a key: discarded. Set LANGSMITH_API_KEY to it and restart Runtail.";
/// The index of the choice that takes an address.
const OTHER: usize = 3;
/// The index of the choice that adds profiles.
const IMPORT: usize = 4;

/// The profiles of the official tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Importable {
    pub count: usize,
    /// Their files.
    pub files: String,
}

/// The search for an agent server on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServerSearch {
    #[default]
    Running,
    NotFound,
    Found(LocalServer),
}

/// The screen.
#[derive(Debug, Clone, Default)]
pub struct FirstRun {
    /// The index of the selected choice.
    pub selected: usize,
    /// The agent server on this machine.
    pub local: ServerSearch,
    /// The profiles of the official tools, if there are any.
    pub(super) importable: Option<Importable>,
    /// The region or the address being typed, and for which choice.
    pub(super) typing: Option<(Choice, TextInput)>,
    /// The address that was entered last.
    pub(super) entered: String,
    /// Whether the user asked for the profiles of the official tools.
    is_import_wanted: bool,
    /// Whether the demo is being started.
    pub(super) is_demo_starting: bool,
    /// Why the last choice failed.
    pub(super) problem: Option<String>,
}

impl FirstRun {
    /// Applies what the official tools' files have. Returns whether the user asked for them, and there is nothing to add.
    fn on_imports(&mut self, found: &Import) -> bool {
        // The files of the project are in the working directory, so their names are enough.
        let name = |path: &Path| match path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
        {
            Some(name) if name != "config.json" => name,
            _ => short(path),
        };
        let mut files: Vec<String> = found.profiles.iter().map(|one| name(&one.file)).collect();
        files.dedup();
        let count = found.profiles.len();
        self.importable = (count > 0).then(|| Importable {
            count,
            files: files.join(", "),
        });
        let is_wanted = std::mem::take(&mut self.is_import_wanted);
        if is_wanted && count > 0 {
            self.selected = IMPORT;
        }
        is_wanted && count == 0
    }

    /// Returns the choices that are offered.
    pub(super) fn choices(&self) -> &'static [Choice] {
        let last = if self.importable.is_some() {
            IMPORT
        } else {
            OTHER
        };
        &CHOICES[..=last]
    }

    /// Shows why the demo could not be started.
    pub fn on_demo_failed(&mut self, why: String) {
        (self.is_demo_starting, self.problem) = (false, Some(why));
    }

    fn choose(&mut self, at: usize) -> Requests {
        (self.selected, self.problem) = (at, None);
        let choice = CHOICES[at];
        match choice {
            Choice::Demo if self.is_demo_starting => Requests::none(),
            Choice::Demo => {
                self.is_demo_starting = true;
                Effect::StartDemo.into()
            }
            Choice::Local => match &self.local {
                ServerSearch::Found(server) => {
                    let address = server.url.clone();
                    self.define(server_profile(&address))
                }
                ServerSearch::Running => Requests::none(),
                // It may have been started since.
                ServerSearch::NotFound => {
                    self.local = ServerSearch::Running;
                    Effect::FindLocalServer.into()
                }
            },
            Choice::LangSmith => {
                self.type_into(choice, "us");
                Requests::none()
            }
            // Without any, they may have been written since.
            Choice::Import if self.importable.is_none() => {
                self.selected = 0;
                self.is_import_wanted = true;
                Requests::info("Looking for profiles…").and(Effect::FindImports)
            }
            Choice::Import => ProfileRequest::Import.into(),
            Choice::Other => {
                let entered = self.entered.clone();
                self.type_into(choice, &entered);
                Requests::none()
            }
        }
    }

    /// Opens the input of a choice, unless it is open.
    fn type_into(&mut self, choice: Choice, text: &str) {
        if self.typing.as_ref().is_none_or(|(of, _)| *of != choice) {
            self.typing = Some((choice, TextInput::line(text)));
        }
    }

    /// Clears an input that has a key in it, before it is drawn or used as an address.
    fn refuse_key(&mut self) {
        let has_key = |text: &str| looks_like_key(text) || text.contains("lsv2_");
        if let Some((_, input)) = self.typing.as_mut()
            && has_key(&input.text())
        {
            *input = TextInput::line("");
            self.problem = Some(KEY_REFUSED.into());
        }
    }

    /// Defines a profile by its text, and tests it.
    fn define(&mut self, text: Result<String, ConfigError>) -> Requests {
        self.problem = None;
        match text {
            Ok(text) => ProfileRequest::Define(text).into(),
            Err(error) => {
                self.problem = Some(error.to_string());
                Requests::none()
            }
        }
    }
}

/// Says that the official tools have no profiles to add, and which of their files were skipped.
pub fn nothing_to_import(found: &Import) -> Requests {
    let skipped: String = found
        .skipped
        .iter()
        .map(|one| format!("\n  {one}"))
        .collect();
    match skipped.is_empty() {
        true => Requests::info(found.nothing()),
        false => Requests::error(format!("{}{skipped}", found.nothing())),
    }
}

impl Component for FirstRun {
    fn on_reply(&mut self, _session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        match reply {
            EffectResult::LocalServer(found) => {
                self.local = found
                    .clone()
                    .map_or(ServerSearch::NotFound, ServerSearch::Found);
            }
            EffectResult::ImportsFound(found) => {
                return Some(match self.on_imports(found) {
                    true => nothing_to_import(found),
                    false => Requests::none(),
                });
            }
            EffectResult::DemoStarted(Err(why)) => self.on_demo_failed(why.clone()),
            _ => return None,
        }
        Some(Requests::none())
    }

    fn context(&self) -> Context {
        Context::FirstRun
    }

    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        let (choice, input) = self.typing.as_mut()?;
        let requests = match key.code {
            _ if cx.session.keymap.quits(key) => return None,
            Code::Esc => {
                (self.typing, self.problem) = (None, None);
                self.entered.clear();
                Requests::none()
            }
            Code::Up | Code::Down => return None,
            Code::Enter => {
                let (choice, typed) = (*choice, input.text());
                let is_server = choice == Choice::Other;
                if is_server && typed.trim().is_empty() {
                    self.problem = Some("Enter an agent server's URL.".into());
                    return Some(Requests::none());
                }
                let requests = self.define(match is_server {
                    true => server_profile(&typed),
                    false => region_profile(&typed),
                });
                if self.problem.is_none() {
                    // While it is checked, and if that fails, keys are no text.
                    self.typing = None;
                    self.entered = if is_server { typed } else { String::new() };
                }
                requests
            }
            // The rest of a key that arrives letter by letter.
            Code::Char(_) if self.problem.as_deref() == Some(KEY_REFUSED) => Requests::none(),
            _ => {
                input.key(key);
                self.problem = None;
                self.refuse_key();
                Requests::none()
            }
        };
        Some(requests)
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        if self.typing.is_none() {
            // A pasted address can only mean this choice.
            self.selected = OTHER;
            self.type_into(Choice::Other, "");
        }
        if let Some((_, input)) = &mut self.typing {
            input.insert(text);
        }
        self.refuse_key();
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let typed = cx.session.catalog.first_typed();
        let chosen = match (action, typed) {
            (Action::Open, _) => self.selected,
            (Action::View1, _) => 0,
            (Action::View2, _) => 1,
            (Action::View3, _) => 2,
            (Action::View4, _) => OTHER,
            (Action::View5, _) => IMPORT,
            (Action::Anyway | Action::Save, None) => {
                return Requests::info("No profile yet; choose an option.");
            }
            (Action::Anyway, Some(known)) => {
                return ProfileRequest::UseAnyway(known.profile.name.clone()).into();
            }
            (Action::Save, _) => return ProfileRequest::DraftFile.into(),
            _ => return Requests::none(),
        };
        self.choose(chosen)
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.selected = self
            .selected
            .saturating_add_signed(lines)
            .min(self.choices().len() - 1);
        self.typing.take_if(|(_, input)| input.is_empty());
    }

    // There is no screen to go back to.
    fn back(&mut self, quit: bool) -> Option<Requests> {
        Some(if quit {
            Request::Quit.into()
        } else {
            Requests::none()
        })
    }

    fn commands(&self, cx: &Cx<'_>) -> Commands {
        let typed = cx.session.catalog.first_typed();
        let is_failed = typed.is_some_and(|known| known.failure().is_some());
        let all = Commands::of(Context::FirstRun)
            .enable_if(is_failed, &["first_run.anyway", "first_run.save"]);
        if self.typing.is_some() {
            return all.footer(&["first_run.choose", "app.back"]).while_typing();
        }
        let last = match self.importable {
            Some(_) => "first_run.import",
            None => "first_run.other",
        };
        all.footer(&["first_run.anyway", "first_run.save", "first_run.choose"])
            .show_range(("first_run.demo", last), "choose")
            .show([("app.quit", None)])
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        first_run_view::draw(self, cx, canvas)
    }
}
