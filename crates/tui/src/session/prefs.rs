//! How a person likes to look at things: theme, mouse, times, long lines. Begun with by the configuration's `[ui]`, changed
//! by keys and commands, and kept for the session.

use runtail_core::config::theme::Themes;
use runtail_core::config::{Config, Mouse, Timestamps, Ui};

/// What a person is used to.
#[derive(Debug, Clone, Default)]
pub struct ViewPrefs {
    /// All themes that there are.
    pub themes: Themes,
    /// The name of the one in force.
    pub theme: String,
    /// The name of one that is looked at while it is chosen.
    pub preview: Option<String>,
    /// The lines that were typed after `:`, newest last.
    pub said: Vec<String>,
    /// Whose the mouse is.
    pub mouse: Mouse,
    /// How the times of a stream are told.
    pub timestamps: Timestamps,
    /// Wrap long lines in streams.
    pub wrap: bool,
    /// What the configuration said last.
    configured: Option<Ui>,
}

impl ViewPrefs {
    /// The name of the theme that is shown.
    pub fn theme(&self) -> &str {
        self.preview.as_deref().unwrap_or(&self.theme)
    }

    /// Takes what the configuration says. What it says as before stays as the person has it by now.
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
