//! The dashboard at run time: one loop owns the state and the terminal; background tasks do the rest.

mod actions;
mod browse;
mod buffered_backend;
mod changes;
mod checkpoints;
mod compare;
mod composing;
mod dashboard;
mod effects;
mod export;
pub mod external_editor;
mod fatal;
mod find;
mod first_run;
mod frames;
mod hooks;
mod inbox_polls;
mod input;
mod link;
mod past_polls;
mod poll_schedule;
mod polls;
mod recording;
mod resources;
mod row_detail;
mod services;
mod signals;
mod statuses;
mod subs;
mod terminal;
mod terminal_caps;
mod thread_pages;
mod two_servers;

pub use dashboard::Dashboard;
pub use first_run::{Demo, find_local_server};
pub use link::open_link;
pub use services::Services;
pub use signals::Endings;
pub use terminal_caps::{Environment, Terminal, terminal_checks};

use crate::app::{App, Settings};
use crate::input::key::{Code, Key};
use crate::session::catalog::Origin;
use crate::session::msg::{Effect, Msg};
use frames::Frames;
use futures::StreamExt;
use runtail_core::config::{Config, Mouse, Notify, Profile, Watch};
use signals::{Signal, Signals};
use std::io;
use std::time::Duration;
use terminal::Screen;
use tokio::time::Instant;

/// Minimum interval between two frames that show new data.
const DATA_FRAME: Duration = Duration::from_millis(33);
/// Minimum interval between two frames that respond to keys.
const KEY_FRAME: Duration = Duration::from_millis(8);
/// Maximum time to apply messages before keys and frames are handled again.
const MESSAGE_BUDGET: Duration = Duration::from_millis(2);

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
    /// Whether to open the page at a glance first.
    pub glance: bool,
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
            glance: false,
            environment: Environment::default(),
            demo: Demo::default(),
            test_panic: std::env::var("RUNTAIL_TEST_PANIC").ok(),
        }
    }
}

/// The key that panics if a test requires it.
const F12: Key = Key::plain(Code::F(12));

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
pub async fn run(options: Options) -> io::Result<Ended> {
    terminal::install_panic_hook();
    let mut signals = Signals::new()?;
    fatal::catch();
    // `enter` may fail after it has changed some of the terminal's modes.
    let mut screen = Screen::enter().inspect_err(|_| terminal::restore())?;
    let result = run_loop(options, &mut screen, &mut signals).await;
    terminal::restore();
    match result {
        // The errors after a terminal window was closed or its connection was lost.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe || e.raw_os_error() == Some(EIO) => Ok(Ended::TerminalGone),
        result => result,
    }
}

/// The error number for reading or writing a terminal whose other end is closed; the same on every Unix.
const EIO: i32 = 5;

async fn run_loop(mut options: Options, screen: &mut Screen, signals: &mut Signals) -> io::Result<Ended> {
    let loop_options = LoopOptions { notify: options.notify, test_panic: options.test_panic.take() };
    let (mut dashboard, first) = Dashboard::new(options, screen.size()?)?;
    let mut frames = Frames::default();
    let ended = drive(&mut dashboard, (first, loop_options), (screen, &mut frames), signals).await;
    frames.log();
    finish_recordings(&mut dashboard).await;
    ended
}

/// The options that the loop itself uses.
struct LoopOptions {
    notify: Notify,
    test_panic: Option<String>,
}

/// How long to wait for recordings when the dashboard ends.
const RECORDING_TIMEOUT: Duration = Duration::from_secs(2);

/// Finishes the recordings, so that their files are complete.
async fn finish_recordings(dashboard: &mut Dashboard) {
    let timeout = tokio::time::sleep(RECORDING_TIMEOUT);
    tokio::pin!(timeout);
    let mut pending = dashboard.app.end_recordings();
    while dashboard.app.is_recording() {
        for effect in pending.drain(..).filter(|effect| matches!(effect, Effect::File(..))) {
            dashboard.perform(effect);
        }
        tokio::select! {
            msg = dashboard.next_message() => pending = dashboard.update(msg),
            () = &mut timeout => return,
        }
    }
}

async fn drive(
    dashboard: &mut Dashboard,
    (first, mut options): (Vec<Effect>, LoopOptions),
    (screen, frames): (&mut Screen, &mut Frames),
    signals: &mut Signals,
) -> io::Result<Ended> {
    let mut pending = first;
    // Draw the first frame before anything that needs a server or a key.
    pending.extend(show(dashboard, screen)?);
    let mut keys = input::open()?;
    let mut last_frame = Instant::now();
    // When the last frame for a key was drawn, and whether the next frame is for a key.
    let (mut last_key_frame, mut is_for_key) = (last_frame, false);
    let mut frame_at = None;
    loop {
        for effect in std::mem::take(&mut pending) {
            match effect {
                Effect::Suspend => {
                    drop(keys);
                    screen.suspend()?;
                    keys = input::open()?;
                    frame_at = Some(Instant::now());
                }
                Effect::EditOutside(text) => {
                    drop(keys);
                    let edited = screen.leave_for(|| external_editor::edit(&text))?;
                    keys = input::open()?;
                    pending.extend(dashboard.update(Msg::Edited(edited)));
                    frame_at = Some(Instant::now());
                }
                Effect::Redraw => {
                    screen.clear()?;
                    frame_at = Some(Instant::now());
                }
                Effect::Copy(text) => screen.copy(&text)?,
                Effect::Alert(title, text) => screen.alert(options.notify, &title, &text)?,
                effect => {
                    if let Effect::Configure(config) = &effect {
                        options.notify = config.ui.notify;
                    }
                    dashboard.perform(effect);
                }
            }
        }
        if dashboard.app.quit {
            return Ok(Ended::Quit);
        }
        dashboard.reconcile();
        screen.capture_mouse(wants_mouse(&dashboard.app))?;
        let tick = dashboard.app.next_tick().map(|d| last_frame + d);
        // A key requests a frame at once, and data requests one after the frame interval.
        let next_frame = frame_at;
        tokio::select! {
            biased;
            signal = signals.next() => match signal {
                Signal::End(number) => return Ok(Ended::Signal(number)),
                Signal::Stop => pending = vec![Effect::Suspend],
                Signal::Continue => {
                    screen.reenter()?;
                    frame_at = Some(Instant::now());
                }
            },
            event = keys.next() => match event {
                Some(Ok(event)) => {
                    if let Some(msg) = input::message(&event) {
                        if let (Some(place), Msg::Key(F12)) = (&options.test_panic, &msg) {
                            dashboard.runner.test_panic(place);
                        }
                        pending = dashboard.update(msg);
                        // Even right after a frame for data. Only the frames of keys in quick succession are delayed.
                        let soon = Instant::now().max(last_key_frame + KEY_FRAME);
                        is_for_key = true;
                        frame_at = Some(frame_at.map_or(soon, |f| f.min(soon)));
                    }
                }
                Some(Err(_)) | None => return Ok(Ended::TerminalGone),
            },
            () = sleep_until(next_frame), if next_frame.is_some() => {
                let start = Instant::now();
                pending = show(dashboard, screen)?;
                last_frame = Instant::now();
                frames.record(last_frame - start);
                if std::mem::take(&mut is_for_key) {
                    last_key_frame = last_frame;
                }
                frame_at = None;
            }
            msg = dashboard.next_message() => {
                let start = Instant::now();
                pending = dashboard.update(msg);
                while start.elapsed() < MESSAGE_BUDGET && let Some(msg) = dashboard.try_next_message() {
                    pending.extend(dashboard.update(msg));
                }
                let later = last_frame + DATA_FRAME;
                frame_at = Some(frame_at.map_or(later, |f| f.min(later)));
            }
            () = sleep_until(tick), if tick.is_some() => {
                pending = dashboard.update(Msg::Tick);
                frame_at = Some(Instant::now());
            }
        }
    }
}

/// Draws a frame. Returns the effects of a resize, if the terminal's size has changed.
fn show(dashboard: &mut Dashboard, screen: &mut Screen) -> io::Result<Vec<Effect>> {
    // The resize event may not have arrived yet.
    let size = screen.size()?;
    let effects = match size == dashboard.app.session.size {
        true => Vec::new(),
        false => dashboard.update(Msg::Resize(size.0, size.1)),
    };
    screen.draw(|frame| dashboard.draw(frame))?;
    Ok(effects)
}

/// Sleeps until a time; without one, sleeps forever. A time in the past sets no timer, because timers are rounded up to a
/// millisecond, and setting one wakes another thread.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) if at <= Instant::now() => {}
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Returns whether to capture the mouse: in lists, but not where the user reads text, so that the terminal can select it.
fn wants_mouse(app: &App) -> bool {
    match app.session.prefs.mouse {
        Mouse::On => true,
        Mouse::Off => false,
        Mouse::Auto => {
            !app.frozen && app.overlays.is_empty() && (app.viewer().is_none() || app.focus != crate::app::Pane::Stream)
        }
    }
}
