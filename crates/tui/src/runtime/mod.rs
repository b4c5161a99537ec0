//! The dashboard at run time: one loop owns the state and the terminal; background tasks do the rest.

mod actions;
mod background;
mod browse;
mod buffered_backend;
mod changes;
mod checkpoints;
mod compare;
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
mod local;
mod options;
mod out;
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
mod streams;
mod subs;
mod terminal;
mod terminal_caps;
mod thread_pages;

pub use dashboard::Dashboard;
pub use first_run::{Demo, find_local_server};
pub use link::open_link;
pub use local::blocking;
pub use options::{Ended, Options};
pub use services::Services;
pub use signals::Endings;
pub use terminal_caps::{Environment, Terminal, is_ascii_locale, terminal_checks};

use crate::boxed;
use drive::{Drive, LoopOptions};
use frames::Frames;
use runtail_core::text::clean_lines;
use signals::Signals;
use std::io::{self, Write};
use std::time::Duration;
use terminal::Screen;

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
