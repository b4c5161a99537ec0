//! The loop: keys, messages, signals and ticks change the state; effects are performed, and frames are drawn when they are due.

use super::background::{Filtered, Replies};
use super::dashboard::Dashboard;
use super::frames::Frames;
use super::options::Ended;
use super::poll_schedule::sleep_until;
use super::signals::{Signal, Signals, is_hangup};
use super::terminal::Screen;
use super::{external_editor, input};
use crate::app::App;
use crate::input::key::{Code, Key};
use crate::session::msg::{Effect, Msg};
use crossterm::event::{Event, EventStream};
use futures::StreamExt;
use futures::stream::SelectAll;
use runtail_core::config::{Mouse, Notify};
use std::io::{self, Write};
use std::time::Duration;
use tokio::time::Instant;

/// Minimum interval between two frames that show new data.
const DATA_FRAME: Duration = Duration::from_millis(33);
/// Minimum interval between two frames that respond to keys.
const KEY_FRAME: Duration = Duration::from_millis(8);
/// Maximum time to apply messages before keys and frames are handled again.
const MESSAGE_BUDGET: Duration = Duration::from_millis(2);

/// How long the thread that reads the terminal may take to stop.
const READER_STOPS: Duration = Duration::from_millis(5);

/// The key that panics if a test requires it.
const F12: Key = Key::plain(Code::F(12));

/// The options that the loop itself uses.
pub(super) struct LoopOptions {
    pub notify: Notify,
    pub test_panic: Option<String>,
    /// Whether the terminal's background is queried.
    pub shows_background: bool,
}

/// When frames are drawn.
struct Pacing {
    last_frame: Instant,
    /// When the last frame for a key was drawn.
    last_key_frame: Instant,
    /// Whether the next frame is for a key.
    is_for_key: bool,
    /// When the next frame is drawn; `None` if nothing changed.
    next_frame: Option<Instant>,
}

impl Pacing {
    fn new() -> Pacing {
        let now = Instant::now();
        Pacing {
            last_frame: now,
            last_key_frame: now,
            is_for_key: false,
            next_frame: None,
        }
    }

    fn at_once(&mut self) {
        self.next_frame = Some(Instant::now());
    }

    fn no_later_than(&mut self, at: Instant) {
        self.next_frame = Some(self.next_frame.map_or(at, |next| next.min(at)));
    }

    /// A key requests a frame at once, even right after a frame for data. Only the frames of keys in quick succession are
    /// delayed.
    fn after_key(&mut self) {
        self.is_for_key = true;
        self.no_later_than(Instant::now().max(self.last_key_frame + KEY_FRAME));
    }

    /// Data requests a frame after the frame interval.
    fn after_data(&mut self) {
        self.no_later_than(self.last_frame + DATA_FRAME);
    }

    fn drawn(&mut self) {
        self.last_frame = Instant::now();
        if std::mem::take(&mut self.is_for_key) {
            self.last_key_frame = self.last_frame;
        }
        self.next_frame = None;
    }
}

/// The loop with everything that it uses.
pub(super) struct Drive<'d> {
    dashboard: &'d mut Dashboard,
    screen: &'d mut Screen,
    frames: &'d mut Frames,
    options: LoopOptions,
    keys: SelectAll<EventStream>,
    background: Replies,
    /// The effects to perform next.
    pending: Vec<Effect>,
    pacing: Pacing,
}

impl<'d> Drive<'d> {
    /// Draws the first frame, before anything that needs a server or a key.
    ///
    /// # Errors
    /// The terminal can't be drawn to or read.
    pub fn begin(
        dashboard: &'d mut Dashboard,
        (mut pending, options): (Vec<Effect>, LoopOptions),
        (screen, frames): (&'d mut Screen, &'d mut Frames),
    ) -> io::Result<Drive<'d>> {
        pending.extend(show(dashboard, screen)?);
        let keys = input::open()?;
        let background = Replies::default();
        let mut drive = Drive {
            dashboard,
            screen,
            frames,
            options,
            keys,
            background,
            pending,
            pacing: Pacing::new(),
        };
        drive.query_background()?;
        Ok(drive)
    }

    /// Runs until the dashboard ends.
    ///
    /// # Errors
    /// The terminal failed.
    pub async fn run(mut self, signals: &mut Signals) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.perform_pending(signals).await? {
                return Ok(ended);
            }
            if self.dashboard.app.quit {
                self.close_keys()?;
                return Ok(Ended::Quit);
            }
            self.dashboard.reconcile();
            self.screen
                .capture_mouse(wants_mouse(&self.dashboard.app))?;
            let tick = self
                .dashboard
                .app
                .next_tick()
                .map(|after| self.pacing.last_frame + after);
            let next_frame = self.pacing.next_frame;
            let held = self.background.deadline();
            tokio::select! {
                biased;
                signal = signals.next() => {
                    if let Some(ended) = self.on_signal(signal)? {
                        return Ok(ended);
                    }
                }
                event = self.keys.next() => match event {
                    Some(Ok(event)) => self.on_terminal(event)?,
                    Some(Err(_)) | None => return Ok(Ended::TerminalGone),
                },
                () = sleep_until(held), if held.is_some() => {
                    for event in self.background.give_up() {
                        self.on_event(&event);
                    }
                }
                () = sleep_until(next_frame), if next_frame.is_some() => self.draw_frame()?,
                msg = self.dashboard.next_message() => self.on_message(msg),
                () = sleep_until(tick), if tick.is_some() => {
                    self.pending.extend(self.dashboard.update(Msg::Tick));
                    self.pacing.at_once();
                }
            }
        }
    }

    /// Performs the effects. Returns how the dashboard ended, if a signal ended it while another program had the terminal.
    async fn perform_pending(&mut self, signals: &mut Signals) -> io::Result<Option<Ended>> {
        // Files first: they must be complete also if a signal or the terminal ends the loop here.
        let mut effects = std::mem::take(&mut self.pending);
        effects.sort_by_key(|effect| !matches!(effect.bare(), Effect::File(..)));
        for effect in effects {
            let (to, effect) = effect.addressed();
            match effect {
                Effect::Suspend => {
                    self.close_keys()?;
                    self.screen.suspend()?;
                    self.keys = input::open()?;
                    self.query_background()?;
                    self.pacing.at_once();
                }
                Effect::EditOutside(text) => {
                    self.close_keys()?;
                    self.screen.leave();
                    let edited = external_editor::edit_until(&text, signals).await;
                    if let Some(ended) = self.after_editor(edited.map(|text| text.map(Some)))? {
                        return Ok(Some(ended));
                    }
                }
                Effect::EditFile(path, profile) => {
                    self.close_keys()?;
                    self.screen.leave();
                    let edited = external_editor::edit_file(&path, &profile, signals).await;
                    if let Some(ended) = self.after_editor(edited)? {
                        return Ok(Some(ended));
                    }
                }
                Effect::Redraw => {
                    self.screen.clear()?;
                    self.query_background()?;
                    self.pacing.at_once();
                }
                Effect::Copy(text) => self.screen.copy(&text)?,
                Effect::Alert(title, text) => {
                    self.screen.alert(self.options.notify, &title, &text)?
                }
                effect => {
                    if let Effect::Configure(config) = &effect {
                        self.options.notify = config.ui.notify;
                    }
                    self.dashboard.perform(effect.to(to));
                }
            }
        }
        Ok(None)
    }

    /// Takes the terminal back from an editor, with the text if it edited one. Returns how the dashboard ended, if a signal ended
    /// the editor.
    fn after_editor(
        &mut self,
        edited: Result<Result<Option<String>, String>, external_editor::Interrupted>,
    ) -> io::Result<Option<Ended>> {
        let edited = match edited {
            Ok(edited) => edited,
            Err((number, kept)) => {
                // The screen has been left. A closed terminal shows nothing more.
                let _ = writeln!(io::stderr(), "runtail: {kept}");
                return Ok(Some(Ended::Signal(number)));
            }
        };
        self.screen.reenter()?;
        self.keys = input::open()?;
        if let Some(edited) = edited.transpose() {
            self.pending
                .extend(self.dashboard.update(Msg::Edited(edited)));
        }
        self.pacing.at_once();
        Ok(None)
    }

    fn on_signal(&mut self, signal: Signal) -> io::Result<Option<Ended>> {
        match signal {
            Signal::End(number) => {
                if !is_hangup(number) {
                    self.close_keys()?;
                }
                return Ok(Some(Ended::Signal(number)));
            }
            Signal::Stop => self.pending.push(Effect::Suspend),
            Signal::Continue => {
                self.screen.reenter()?;
                self.query_background()?;
                self.pacing.at_once();
            }
        }
        Ok(None)
    }

    fn query_background(&mut self) -> io::Result<()> {
        if self.options.shows_background {
            self.background.expect(Instant::now());
            self.screen.query_background()?;
        }
        Ok(())
    }

    /// Stops reading the terminal. A reply that is still due must not be read as typed text by the next program.
    fn close_keys(&mut self) -> io::Result<()> {
        self.keys = SelectAll::new();
        if self.background.is_due() {
            // The thread that read the terminal holds a lock until it has stopped.
            crossterm::event::poll(READER_STOPS)?;
            self.screen.drain_replies()?;
            self.background.forget_due();
        }
        Ok(())
    }

    /// Handles an event of the terminal, which may be a part of its reply to a query.
    fn on_terminal(&mut self, event: Event) -> io::Result<()> {
        match self.background.filter(event, Instant::now()) {
            Filtered::Events(events) => {
                for event in events {
                    // The user may have switched to another color scheme meanwhile.
                    if event == Event::FocusGained {
                        self.query_background()?;
                    }
                    self.on_event(&event);
                }
            }
            Filtered::Held => {}
            Filtered::Background(color) => {
                if self.dashboard.set_background(color) {
                    self.pacing.at_once();
                }
            }
        }
        Ok(())
    }

    fn on_event(&mut self, event: &Event) {
        let Some(msg) = input::message(event) else {
            return;
        };
        if let (Some(place), Msg::Key(F12)) = (&self.options.test_panic, &msg) {
            self.dashboard.runner.test_panic(place);
        }
        self.pending.extend(self.dashboard.update(msg));
        self.pacing.after_key();
    }

    /// Applies a message and those that wait behind it, for a limited time.
    fn on_message(&mut self, msg: Msg) {
        let start = Instant::now();
        self.pending.extend(self.dashboard.update(msg));
        while start.elapsed() < MESSAGE_BUDGET
            && let Some(msg) = self.dashboard.try_next_message()
        {
            self.pending.extend(self.dashboard.update(msg));
        }
        self.pacing.after_data();
    }

    fn draw_frame(&mut self) -> io::Result<()> {
        let start = Instant::now();
        self.pending.extend(show(self.dashboard, self.screen)?);
        self.pacing.drawn();
        self.frames.record(self.pacing.last_frame - start);
        Ok(())
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

/// Returns whether to capture the mouse.
fn wants_mouse(app: &App) -> bool {
    match app.session.prefs.mouse {
        Mouse::On => true,
        Mouse::Off => false,
        Mouse::Auto => !app.frozen && app.uses_mouse(),
    }
}
