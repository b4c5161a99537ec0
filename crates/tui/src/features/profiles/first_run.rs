//! The first-run screen: what is missing, and three ways to continue.

use super::first_run_view;
use crate::input::action::{Action, Context};
use crate::session::catalog::KEY_VARIABLE;
use crate::session::request::ProfileRequest;
use crate::session::{Component, Cx, Request, Requests};
use crate::widgets::canvas::Canvas;

/// The choices, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Edit a new profile.
    Write,
    /// Use the region `us` with the key in the default variable.
    Usual,
    /// Quit.
    Quit,
}

/// All choices.
pub const CHOICES: [Choice; 3] = [Choice::Write, Choice::Usual, Choice::Quit];

/// The screen, with the index of the selected choice.
#[derive(Debug, Clone, Default)]
pub struct FirstRun(pub usize);

impl Component for FirstRun {
    fn context(&self) -> Context {
        Context::FirstRun
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let typed = || cx.session.catalog.first_typed().map(|known| known.profile.name.clone());
        match (action, CHOICES.get(self.0)) {
            (Action::Open, Some(Choice::Write)) => ProfileRequest::Edit(typed()).into(),
            (Action::Open, Some(Choice::Usual)) => {
                let text = format!("[profiles.us]\nregion = \"us\"\napi_key_env = \"{KEY_VARIABLE}\"\n");
                Request::DefineProfile(text).into()
            }
            (Action::Open, Some(Choice::Quit)) => Request::Quit.into(),
            (Action::Anyway | Action::Save, _) if typed().is_none() => {
                Requests::info("There is no profile yet. Choose “Write a profile” first.")
            }
            (Action::Anyway, _) => typed().map(|name| ProfileRequest::UseAnyway(name).into()).unwrap_or_default(),
            (Action::Save, _) => ProfileRequest::DraftFile.into(),
            _ => Requests::none(),
        }
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.0 = self.0.saturating_add_signed(lines).min(CHOICES.len() - 1);
    }

    // There is no screen to go back to.
    fn back(&mut self, quit: bool) -> Option<Requests> {
        Some(if quit { Request::Quit.into() } else { Requests::none() })
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        first_run_view::first_run(self.0, cx, canvas);
        None
    }
}
