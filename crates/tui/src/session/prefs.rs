//! View preferences: theme, mouse, times, wrapping. They start from `[ui]`, are changed by keys and commands, and last for
//! the session.

use runtail_core::config::prices::Prices;
use runtail_core::config::theme::Themes;
use runtail_core::config::{Config, Mouse, NotifyRule, Stuck, Timestamps, Ui};

/// The user's view preferences.
#[derive(Debug, Clone, Default)]
pub struct ViewPrefs {
    /// All themes.
    pub themes: Themes,
    /// The name of the current theme.
    pub theme: String,
    /// The name of the theme previewed while one is chosen.
    pub preview: Option<String>,
    /// The command history, newest last.
    pub said: Vec<String>,
    /// Who handles the mouse.
    pub mouse: Mouse,
    /// How a stream's times are shown.
    pub timestamps: Timestamps,
    /// Wrap long lines in streams.
    pub wrap: bool,
    /// Keep the open tabs for the next session.
    pub restore: bool,
    /// What to notify about; empty for the usual events.
    pub notify: Vec<NotifyRule>,
    /// When a run counts as stuck.
    pub stuck: Stuck,
    /// Prices of models, to compute costs.
    pub prices: Prices,
    /// Saved searches for threads: name and text.
    pub searches: Vec<(String, String)>,
    /// The last loaded `[ui]`.
    configured: Option<Ui>,
}

/// Maximum number of lines in the command history.
const MAX_HISTORY: usize = 100;

impl ViewPrefs {
    /// Adds a line to the command history.
    pub fn remember_line(&mut self, line: &str) {
        self.said.retain(|before| before != line);
        self.said.push(line.to_string());
        if self.said.len() > MAX_HISTORY {
            self.said.remove(0);
        }
    }

    /// Returns the name of the theme shown, which may be a preview.
    pub fn theme(&self) -> &str {
        self.preview.as_deref().unwrap_or(&self.theme)
    }

    /// Applies a reloaded `[ui]`. Settings that did not change in the file keep the user's current value.
    pub fn configure(&mut self, config: &Config) {
        let before = self.configured.replace(config.ui.clone());
        let ui = &config.ui;
        let changed =
            |is_same: fn(&Ui, &Ui) -> bool| before.as_ref().is_none_or(|b| !is_same(b, ui));
        self.themes = config.themes.clone();
        (self.notify, self.stuck) = (config.notify.clone(), config.stuck.clone());
        self.searches.clone_from(&config.searches);
        self.prices.clone_from(&config.prices);
        self.restore = config.ui.restore;
        if changed(|a, b| a.theme == b.theme) || self.themes.get(&self.theme).is_none() {
            self.theme = config.ui.theme.clone();
        }
        if changed(|a, b| a.mouse == b.mouse) {
            self.mouse = config.ui.mouse;
        }
        if changed(|a, b| a.timestamps == b.timestamps) {
            self.timestamps = config.ui.timestamps;
        }
        if changed(|a, b| a.wrap == b.wrap) {
            self.wrap = config.ui.wrap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_setting_is_kept_until_the_file_changes_it() {
        let read = |text: &str| Config::parse(text, None).unwrap();
        let mut prefs = ViewPrefs::default();
        prefs.configure(&read("[ui]\ntheme = \"mono\"\nwrap = true\n"));
        assert_eq!((prefs.theme.as_str(), prefs.wrap), ("mono", true));
        prefs.theme = "color-blind".into();
        prefs.configure(&read("[ui]\ntheme = \"mono\"\nmouse = \"off\"\n"));
        assert_eq!(
            (prefs.theme.as_str(), prefs.mouse, prefs.wrap),
            ("color-blind", Mouse::Off, false)
        );
        prefs.configure(&read("[ui]\ntheme = \"own\"\n[themes.own]\n"));
        assert_eq!(prefs.theme, "own");
        // The theme was removed from the file, so the configured one is used.
        prefs.configure(&read(""));
        assert_eq!(prefs.theme, "auto");
    }
}
