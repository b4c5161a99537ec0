//! The open tabs, as `[ui] restore` keeps them for the next session: names, ids and views, never what they show, and no key.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the format. A file of another version is not read.
const VERSION: u32 = 1;
/// Maximum size of a file that is read.
pub const MAX_BYTES: usize = 256 << 10;
/// Maximum number of tabs in a file, those of profiles that are not in use included.
pub const MAX_SAVED: usize = 100;
/// Maximum length of a name or an id.
const MAX_NAME: usize = 512;

/// The tabs of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTabs {
    version: u32,
    /// The streams, in the order of their tabs.
    #[serde(default)]
    pub tabs: Vec<SavedTab>,
    /// The agent server whose lists are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists: Option<SavedServer>,
    #[serde(default)]
    pub current: SavedPlace,
    /// The word of the order of thread lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_order: Option<String>,
}

/// What the session showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedPlace {
    #[default]
    Deployments,
    /// The lists of the open agent server.
    Lists,
    /// A stream, by its index.
    Tab(usize),
}

/// A stream of a thread or of one of its runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTab {
    #[serde(flatten)]
    pub server: SavedServer,
    pub thread: String,
    /// The run, for the page of one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The word of its view.
    #[serde(default)]
    pub view: String,
    /// The word of the second view of a split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_view: Option<String>,
}

/// An agent server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedServer {
    /// Its profile; `None` for the server of `--url`, which belongs to no profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The name of its deployment, or its name in the profile; for the server of `--url` its address.
    pub server: String,
}

impl SavedTabs {
    /// Creates the tabs of a session.
    pub fn new(tabs: Vec<SavedTab>, lists: Option<SavedServer>, current: SavedPlace) -> SavedTabs {
        SavedTabs {
            version: VERSION,
            tabs,
            lists,
            current,
            thread_order: None,
        }
    }

    /// Adds the order of thread lists.
    pub fn with_thread_order(self, word: Option<&str>) -> SavedTabs {
        SavedTabs {
            thread_order: word.map(str::to_string),
            ..self
        }
    }

    /// Parses a file.
    ///
    /// # Errors
    /// Says why the file can't be used.
    pub fn parse(text: &str) -> Result<SavedTabs, String> {
        let read: SavedTabs = serde_json::from_str(text).map_err(|e| {
            // The position is enough: the message could repeat what a damaged file contains.
            format!(
                "line {}, column {}: not what Runtail writes",
                e.line(),
                e.column()
            )
        })?;
        if read.version != VERSION {
            return Err(format!("format version {}, not {VERSION}", read.version));
        }
        let is_name = |name: &str| {
            !name.is_empty() && name.len() <= MAX_NAME && !name.chars().any(char::is_control)
        };
        let is_id = |id: &str| {
            is_name(id)
                && id
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        };
        let is_server =
            |of: &SavedServer| is_name(&of.server) && of.profile.as_deref().is_none_or(is_name);
        let is_tab = |tab: &SavedTab| {
            is_server(&tab.server) && is_id(&tab.thread) && tab.run.as_deref().is_none_or(is_id)
        };
        match read.tabs.len() <= MAX_SAVED
            && read.tabs.iter().all(is_tab)
            && read.lists.iter().all(is_server)
        {
            true => Ok(read),
            false => Err("invalid name or id".into()),
        }
    }

    /// Formats the file.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The servers of a session, which decide what of a file concerns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Profiles of the configuration.
    Profiles,
    /// One agent server of a profile (`--deployment`).
    OneServer,
    /// One agent server without a profile (`--url`).
    Address,
}

/// Where the tabs are kept, and for which servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabsFile {
    pub path: PathBuf,
    pub scope: Scope,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> SavedTabs {
        let server = |profile: Option<&str>, name: &str| SavedServer {
            profile: profile.map(str::to_string),
            server: name.to_string(),
        };
        let tab = SavedTab {
            server: server(Some("us"), "support-bot"),
            thread: "01a1bdb4-0000-4000-8000-000000009775".into(),
            view: "messages".into(),
            ..SavedTab::default()
        };
        let run = SavedTab {
            server: server(None, "http://127.0.0.1:2024/"),
            run: Some("1f0a".into()),
            second_view: Some("raw".into()),
            ..tab.clone()
        };
        let saved = SavedTabs::new(
            vec![tab, run],
            Some(server(Some("us"), "support-bot")),
            SavedPlace::Tab(1),
        );
        saved.with_thread_order(Some("created"))
    }

    #[test]
    fn the_file_has_names_ids_and_views() {
        let text = example().to_text();
        insta::assert_snapshot!(text);
        assert_eq!(SavedTabs::parse(&text), Ok(example()));
    }

    #[test]
    fn a_damaged_file_is_refused_without_repeating_it() {
        let good = example().to_text();
        for end in 0..good.trim_end().len() {
            let why = SavedTabs::parse(&good[..end]).unwrap_err();
            assert!(why.ends_with("not what Runtail writes"), "{why}");
        }
        for (from, to) in [
            ("\"version\": 1", "\"version\": 2"),
            ("1f0a", "../../x"),
            ("01a1bdb4", "01 a1bdb4"),
            ("support-bot", "\\u001b[31m"),
            ("\"profile\": \"us\"", "\"profile\": \"\""),
            ("\"tabs\": [", "\"tabs\": [7,"),
        ] {
            let text = good.replace(from, to);
            assert_ne!(text, good, "{from}");
            let why = SavedTabs::parse(&text).unwrap_err();
            assert!(!why.contains("1f0a") && !why.contains('\u{1b}'), "{why}");
        }
        let many = SavedTabs {
            tabs: vec![example().tabs[0].clone(); MAX_SAVED + 1],
            ..example()
        };
        assert!(SavedTabs::parse(&many.to_text()).is_err());
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let text = example()
            .to_text()
            .replace("\"version\": 1", "\"later\": {}, \"version\": 1");
        assert_eq!(SavedTabs::parse(&text), Ok(example()));
    }
}
