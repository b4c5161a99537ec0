//! View preferences: theme, mouse, times, wrapping. They start from `[ui]`, are changed by keys and commands, and last for
//! the session.

use runtail_core::config::theme::Themes;
use runtail_core::config::{Config, Mouse, Timestamps, Ui};

/// The user's view preferences.
#[derive(Debug, Clone, Default)]
pub struct ViewPrefs {
    /// All themes.
    pub themes: Themes,
    /// The name of the current theme.
    pub theme: String,
    /// The name of the theme previewed while one is chosen.
    pub preview: Option<String>,
    /// The lines that were typed after `:`, newest last.
    pub said: Vec<String>,
    /// Who handles the mouse.
    pub mouse: Mouse,
    /// How a stream's times are shown.
    pub timestamps: Timestamps,
    /// Wrap long lines in streams.
    pub wrap: bool,
    /// The last loaded `[ui]`.
    configured: Option<Ui>,
}

impl ViewPrefs {
    /// Returns the name of the theme shown, which may be a preview.
    pub fn theme(&self) -> &str {
        self.preview.as_deref().unwrap_or(&self.theme)
    }

    /// Applies a reloaded `[ui]`. Settings that did not change in the file keep the user's current value.
    pub fn configure(&mut self, config: &Config) {
        let before = self.configured.replace(config.ui.clone());
        let changed = |of: fn(&Ui) -> String| before.as_ref().is_none_or(|ui| of(ui) != of(&config.ui));
        self.themes = config.themes.clone();
        if changed(|ui| ui.theme.clone()) || self.themes.get(&self.theme).is_none() {
            self.theme = config.ui.theme.clone();
        }
        if changed(|ui| ui.mouse.to_string()) {
            self.mouse = config.ui.mouse;
        }
        if changed(|ui| ui.timestamps.to_string()) {
            self.timestamps = config.ui.timestamps;
        }
        if changed(|ui| ui.wrap.to_string()) {
            self.wrap = config.ui.wrap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_changed_stays_until_the_file_says_another_thing() {
        let read = |text: &str| Config::parse(text, None).unwrap();
        let mut habits = ViewPrefs::default();
        habits.configure(&read("[ui]\ntheme = \"mono\"\nwrap = true\n"));
        assert_eq!((habits.theme.as_str(), habits.wrap), ("mono", true));
        habits.theme = "colour-blind".into();
        habits.configure(&read("[ui]\ntheme = \"mono\"\nmouse = \"off\"\n"));
        assert_eq!((habits.theme.as_str(), habits.mouse, habits.wrap), ("colour-blind", Mouse::Off, false));
        habits.configure(&read("[ui]\ntheme = \"own\"\n[themes.own]\n"));
        assert_eq!(habits.theme, "own");
        // It went with its table, so what the file names counts.
        habits.configure(&read(""));
        assert_eq!(habits.theme, "terminal");
    }
}
