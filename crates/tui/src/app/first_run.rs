//! What a person sees where nothing is configured: what is missing, and three ways on.

use super::keys::Action;
use super::msg::Effect;
use super::profiles::{KEY_VARIABLE, Known};
use super::{App, Overlay};

/// The ways on, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Type a profile.
    Write,
    /// The region us, with the key in the usual variable.
    Usual,
    /// Leave.
    Quit,
}

/// All of them.
pub const CHOICES: [Choice; 3] = [Choice::Write, Choice::Usual, Choice::Quit];

impl App {
    pub(super) fn step_first_run(&mut self, by: isize) {
        if let Some(Overlay::FirstRun(choice)) = self.overlays.last_mut() {
            *choice = choice.saturating_add_signed(by).min(CHOICES.len() - 1);
        }
    }

    pub(super) fn act_first_run(&mut self, action: Action) -> Vec<Effect> {
        let Some(Overlay::FirstRun(choice)) = self.overlays.last() else { return Vec::new() };
        match (action, CHOICES.get(*choice)) {
            (Action::Open, Some(Choice::Write)) => {
                let typed = self.first_profile().map(|known| known.profile.name.clone());
                self.edit_profile(typed.as_deref())
            }
            (Action::Open, Some(Choice::Usual)) => {
                let text = format!("[profiles.us]\nregion = \"us\"\napi_key_env = \"{KEY_VARIABLE}\"\n");
                // It is written down here, and so it is right.
                self.profile_edited(&text).unwrap_or_default()
            }
            (Action::Open, Some(Choice::Quit)) => {
                self.quit = true;
                Vec::new()
            }
            (Action::Anyway, _) => match self.first_profile().map(|known| known.profile.name.clone()) {
                Some(name) => self.use_anyway(&name),
                None => Vec::new(),
            },
            (Action::Save, _) => self.draft_file(),
            _ => Vec::new(),
        }
    }

    /// The profile that was typed last, and is not used yet.
    pub fn first_profile(&self) -> Option<&Known> {
        self.catalogue.all.iter().rfind(|known| known.typed.is_some())
    }
}
