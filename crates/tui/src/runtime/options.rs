//! The options of the dashboard, and how it ends.

use super::first_run::Demo;
use super::terminal_caps::Environment;
use crate::app::Settings;
use crate::session::catalog::ProfileOrigin;
use crate::session::saved_tabs::TabsFile;
use runtail_core::config::{Config, Notify, Profile, Watch};

/// The options of the dashboard, from the command line and the configuration.
#[derive(Debug)]
pub struct Options {
    /// The profiles to show.
    pub profiles: Vec<Profile>,
    /// The configuration.
    pub config: Config,
    /// The configuration file, and the options that apply to it.
    pub origin: ProfileOrigin,
    /// Watches the configuration file, if it is reloaded on changes.
    pub watch: Option<Watch>,
    /// The settings in the application state.
    pub settings: Settings,
    /// Whether to use colors.
    pub color: bool,
    /// Whether the terminal supports 24-bit colors.
    pub rgb: bool,
    /// How to alert the user when a watched revision is final.
    pub notify: Notify,
    /// Options that a suggested command needs to use the same servers, each after a space.
    pub command_options: String,
    /// Poll interval and time limit.
    pub poll: runtail_core::config::Poll,
    /// A recording to play. No server is contacted then.
    pub replay: Option<std::path::PathBuf>,
    /// Where the open tabs are kept if `[ui] restore` is on; `None` for a session whose tabs are not kept.
    pub tabs: Option<TabsFile>,
    /// The doctor's checks of this machine.
    pub environment: Environment,
    /// Starts the demo from the first-run screen.
    pub demo: Demo,
    /// For tests of how the terminal is restored: F12 panics in the loop (`loop`) or in a task (`task`).
    pub test_panic: Option<String>,
}

impl Options {
    /// Creates the options of a configuration.
    pub fn new(config: &Config, profiles: Vec<Profile>, tz: jiff::tz::TimeZone) -> Options {
        Options {
            profiles,
            config: config.clone(),
            origin: ProfileOrigin::default(),
            watch: None,
            settings: Settings {
                demo: false,
                ascii: config.ui.ascii,
                tz,
                event_log: config.event_log.clone(),
                keys: config.keys.clone(),
                warnings: config.warnings.clone(),
            },
            color: true,
            rgb: false,
            notify: config.ui.notify,
            command_options: String::new(),
            poll: config.poll.clone(),
            replay: None,
            tabs: None,
            environment: Environment::default(),
            demo: Demo::default(),
            test_panic: std::env::var("RUNTAIL_TEST_PANIC").ok(),
        }
    }
}

/// How the dashboard ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The user quit.
    Quit,
    /// A signal with this number ended it.
    Signal(i32),
    /// The terminal was closed.
    TerminalGone,
}
