//! The dashboard at run time: one loop owns the state and the terminal; background tasks do the rest.

mod actions;
mod background;
mod browse;
mod buffered_backend;
mod changes;
mod checkpoints;
mod compare;
mod composing;
mod dashboard;
#[cfg(unix)]
mod drain;
mod drive;
mod effects;
mod export;
pub mod external_editor;
mod fatal;
mod find;
mod first_run;
mod frames;
mod health_polls;
mod hooks;
mod inbox_polls;
mod input;
#[cfg(unix)]
mod job;
mod link;
mod past_polls;
mod plans;
mod poll_schedule;
mod polls;
mod recording;
mod resources;
mod row_detail;
mod saved_tabs;
mod services;
mod signals;
mod statuses;
mod subs;
mod terminal;
mod terminal_caps;
mod thread_pages;

pub use dashboard::Dashboard;
pub use first_run::{Demo, find_local_server};
pub use link::open_link;
pub use services::Services;
pub use signals::Endings;
pub use terminal_caps::{Environment, Terminal, is_ascii_locale, terminal_checks};

use crate::app::Settings;
use crate::boxed;
use crate::session::catalog::Origin;
use crate::session::saved_tabs::TabsFile;
use drive::{Drive, LoopOptions, sleep_until};
use frames::Frames;
use runtail_core::config::{Config, Notify, Profile, Watch};
use runtail_core::text::clean_lines;
use signals::Signals;
use std::io::{self, Write};
use std::time::Duration;
use terminal::Screen;

/// The options of the dashboard, from the command line and the configuration.
#[derive(Debug)]
pub struct Options {
    /// The profiles to show.
    pub profiles: Vec<Profile>,
    /// The configuration.
    pub config: Config,
    /// The configuration file, and the options that apply to it.
    pub origin: Origin,
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
            origin: Origin::default(),
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

/// Runs the dashboard until it ends, and restores the terminal in every case.
#[boxed]
pub async fn run(options: Options) -> io::Result<Ended> {
    terminal::install_panic_hook();
    let mut signals = Signals::new()?;
    fatal::catch();
    let mut problems = Vec::new();
    let result = match Screen::enter() {
        Ok(mut screen) => run_loop(options, &mut screen, &mut signals, &mut problems).await,
        Err(error) => Err(error),
    };
    // `enter` may have failed after it had changed some of the terminal's modes.
    terminal::restore();
    for problem in problems {
        // Ignored: stderr may be the terminal that was closed.
        let _ = writeln!(io::stderr(), "runtail: {}", clean_lines(&problem));
    }
    match result {
        // The errors after a terminal window was closed or its connection was lost.
        Err(e)
            if e.kind() == io::ErrorKind::BrokenPipe
                || e.raw_os_error() == Some(EIO)
                || signals::is_terminal_closed() =>
        {
            Ok(Ended::TerminalGone)
        }
        result => result,
    }
}

/// The error number for reading or writing a terminal whose other end is closed; the same on every Unix.
pub const EIO: i32 = 5;

async fn run_loop(
    mut options: Options,
    screen: &mut Screen,
    signals: &mut Signals,
    problems: &mut Vec<String>,
) -> io::Result<Ended> {
    let loop_options = LoopOptions {
        notify: options.notify,
        test_panic: options.test_panic.take(),
        shows_background: options.color && terminal::reports_background(),
    };
    let (mut dashboard, first) = Dashboard::new(options, screen.size()?)?;
    let mut frames = Frames::default();
    let ended = match Drive::begin(&mut dashboard, (first, loop_options), (screen, &mut frames)) {
        Ok(drive) => drive.run(signals).await,
        Err(error) => Err(error),
    };
    frames.log();
    *problems = dashboard.finish_files(FINISH_TIMEOUT).await;
    dashboard.save_tabs();
    ended
}

/// How long the dashboard writes recordings and exports to their end before it ends.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
