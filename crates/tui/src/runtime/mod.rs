//! The dashboard at run time: one loop owns the state and the terminal, tasks do the rest.

mod abilities;
mod actions;
mod browse;
mod changes;
mod dashboard;
mod effects;
mod export;
mod fatal;
mod find;
mod frames;
mod input;
mod link;
mod outside;
mod polls;
mod recording;
mod round;
mod services;
mod sheet;
mod signals;
mod statuses;
mod subs;
mod terminal;

pub use abilities::{Surroundings, Terminal, abilities};
pub use dashboard::Dashboard;
pub use link::open_link;
pub use services::Services;
pub use signals::Endings;

use crate::app::{App, Settings};
use crate::input::key::{Code, Key};
use crate::session::catalogue::Origin;
use crate::session::msg::{Effect, Msg};
use frames::Frames;
use futures::StreamExt;
use runtail_core::config::{Config, Mouse, Notify, Profile, Watch};
use signals::{Signal, Signals};
use std::io;
use std::time::Duration;
use terminal::Screen;
use tokio::time::Instant;

/// The pause between two frames that data asks for.
const DATA_FRAME: Duration = Duration::from_millis(33);
/// The pause between two frames that keys ask for.
const KEY_FRAME: Duration = Duration::from_millis(8);
/// How long messages are taken before keys and frames get their turn again.
const TURN: Duration = Duration::from_millis(2);

/// What the command line settled for the dashboard.
#[derive(Debug)]
pub struct Options {
    /// The profiles to show.
    pub profiles: Vec<Profile>,
    /// All that is configured.
    pub config: Config,
    /// Where that comes from.
    pub origin: Origin,
    /// The file, where it is followed.
    pub watch: Option<Watch>,
    /// What goes into the state.
    pub settings: Settings,
    /// Whether colours are used.
    pub color: bool,
    /// Whether the terminal knows all colours.
    pub rgb: bool,
    /// How a person is called when a watched revision ends.
    pub notify: Notify,
    /// Options that a suggested command needs to see the same servers, each with a blank before it.
    pub command_options: String,
    /// Poll interval and time limit.
    pub poll: runtail_core::config::Poll,
    /// A recording that is shown, and nothing else: no server is asked for anything.
    pub replay: Option<std::path::PathBuf>,
    /// What the doctor says of this machine.
    pub surroundings: Surroundings,
    /// For tests of the terminal's guard: F12 panics in the loop (`loop`) or in a task (`task`).
    pub test_panic: Option<String>,
}

impl Options {
    /// Options from a configuration.
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
                tape: config.tape.clone(),
                keys: config.keys.clone(),
                warnings: config.warnings.clone(),
            },
            color: true,
            rgb: false,
            notify: config.ui.notify,
            command_options: String::new(),
            poll: config.poll.clone(),
            replay: None,
            surroundings: Surroundings::default(),
            test_panic: std::env::var("RUNTAIL_TEST_PANIC").ok(),
        }
    }
}

/// The key that panics where a test asked for it.
const F12: Key = Key::plain(Code::F(12));

/// How the dashboard ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The person left.
    Quit,
    /// A signal ended it: its number.
    Signal(i32),
    /// The terminal went away.
    TerminalGone,
}

/// Runs the dashboard until it ends. The terminal is given back whatever happens.
pub async fn run(options: Options) -> io::Result<Ended> {
    terminal::install_panic_hook();
    let mut signals = Signals::new()?;
    fatal::catch();
    // Half-way in is a way out too.
    let mut screen = Screen::enter().inspect_err(|_| terminal::restore())?;
    let result = run_loop(options, &mut screen, &mut signals).await;
    terminal::restore();
    match result {
        // What a closed window or a lost connection leaves behind.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe || e.raw_os_error() == Some(EIO) => Ok(Ended::TerminalGone),
        result => result,
    }
}

/// The error of reading and writing a terminal whose other end is closed; the same number on every Unix.
const EIO: i32 = 5;

async fn run_loop(mut options: Options, screen: &mut Screen, signals: &mut Signals) -> io::Result<Ended> {
    let outside = Outside { notify: options.notify, test_panic: options.test_panic.take() };
    let (mut dashboard, first) = Dashboard::new(options, screen.size()?)?;
    let mut frames = Frames::default();
    let ended = drive(&mut dashboard, (first, outside), (screen, &mut frames), signals).await;
    frames.tell();
    finish_recordings(&mut dashboard).await;
    ended
}

/// What the loop itself goes by.
struct Outside {
    notify: Notify,
    test_panic: Option<String>,
}

/// How long the end of the dashboard waits for what is being recorded.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes what is being recorded to its end, so that the files are whole.
async fn finish_recordings(dashboard: &mut Dashboard) {
    let patience = tokio::time::sleep(PATIENCE);
    tokio::pin!(patience);
    let mut pending = dashboard.app.end_recordings();
    while dashboard.app.is_recording() {
        for effect in pending.drain(..).filter(|effect| matches!(effect, Effect::File(..))) {
            dashboard.perform(effect);
        }
        tokio::select! {
            msg = dashboard.next_message() => pending = dashboard.update(msg),
            () = &mut patience => return,
        }
    }
}

async fn drive(
    dashboard: &mut Dashboard,
    (first, mut options): (Vec<Effect>, Outside),
    (screen, frames): (&mut Screen, &mut Frames),
    signals: &mut Signals,
) -> io::Result<Ended> {
    let mut pending = first;
    // The first frame needs no server and no key, so nothing that does goes before it.
    pending.extend(show(dashboard, screen)?);
    let mut keys = input::open()?;
    let mut last_frame = Instant::now();
    // The frame before it that a key asked for, and whether one asks for the next.
    let (mut last_key_frame, mut is_keys) = (last_frame, false);
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
                    let edited = screen.leave_for(|| outside::edit(&text))?;
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
        // A frame is drawn when its time has come; a key asks for one at once, data for one in a while.
        let asked = frame_at;
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
                        // Right behind a frame that data asked for, too; only keys that come by the dozen wait for each other.
                        let soon = Instant::now().max(last_key_frame + KEY_FRAME);
                        is_keys = true;
                        frame_at = Some(frame_at.map_or(soon, |f| f.min(soon)));
                    }
                }
                Some(Err(_)) | None => return Ok(Ended::TerminalGone),
            },
            () = sleep_until(asked), if asked.is_some() => {
                let begun = Instant::now();
                pending = show(dashboard, screen)?;
                last_frame = Instant::now();
                frames.took(last_frame - begun);
                if std::mem::take(&mut is_keys) {
                    last_key_frame = last_frame;
                }
                frame_at = None;
            }
            msg = dashboard.next_message() => {
                let start = Instant::now();
                pending = dashboard.update(msg);
                while start.elapsed() < TURN && let Some(msg) = dashboard.try_next_message() {
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

/// Draws the screen as it is now. Gives what another size of the terminal asks for.
fn show(dashboard: &mut Dashboard, screen: &mut Screen) -> io::Result<Vec<Effect>> {
    // The terminal may have changed its size before its event has reached us.
    let size = screen.size()?;
    let effects = match size == dashboard.app.session.size {
        true => Vec::new(),
        false => dashboard.update(Msg::Resize(size.0, size.1)),
    };
    screen.draw(|frame| dashboard.draw(frame))?;
    Ok(effects)
}

/// Sleeps until a time, or for ever where there is none. A time that has come needs no timer: those are rounded up to a
/// millisecond, and setting one wakes another thread.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) if at <= Instant::now() => {}
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// In lists the mouse is ours; where text is to be read it is the terminal's, so that it can be selected and copied.
fn wants_mouse(app: &App) -> bool {
    match app.session.prefs.mouse {
        Mouse::On => true,
        Mouse::Off => false,
        Mouse::Auto => {
            !app.frozen && app.overlays.is_empty() && (app.viewer().is_none() || app.focus != crate::app::Pane::Stream)
        }
    }
}
