//! The dashboard without a terminal: its state and background tasks. The loop passes it keys and draws it on the terminal;
//! `tests/monkey/main.rs` does the same with random keys and a buffer.

use super::Options;
use super::saved_tabs;
use super::services::Services;
use super::subs::Runner;
use crate::app::draw::FrozenFrame;
use crate::app::{App, subscriptions, update};
use crate::session::msg::{Effect, Msg};
use crate::widgets::theme::Theme;
use jiff::Timestamp;
use ratatui::Frame;
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The state of the dashboard and its background tasks. Dropping it stops the tasks.
pub struct Dashboard {
    /// The state.
    pub app: App,
    pub(super) runner: Runner,
    messages: mpsc::Receiver<Msg>,
    frozen_frame: FrozenFrame,
    color: bool,
    rgb: bool,
    /// The terminal's background, if it has reported one.
    background: Option<(u8, u8, u8)>,
}

impl Dashboard {
    /// Builds the state for a screen of this size. Returns the effects to perform first.
    ///
    /// # Errors
    /// If the thread that follows the configuration file can't be started.
    pub fn new(options: Options, size: (u16, u16)) -> io::Result<(Dashboard, Vec<Effect>)> {
        let Options { color, rgb, .. } = options;
        let mut services = Services::new(&options.profiles, options.poll, options.command_options);
        services.environment = options.environment;
        services.demo = options.demo;
        let (mut app, mut first) = App::new(&options.profiles, options.settings, size, Timestamp::now());
        let (sender, messages) = mpsc::channel::<Msg>(64);
        match options.replay {
            Some(file) => {
                app.session.prefs.configure(&options.config);
                app.zoom = true;
                app.open_recording(file);
            }
            None => first.extend(app.configured(&options.config, options.origin)),
        }
        if let Some(file) = options.tabs {
            // Without the setting, nothing is read.
            let saved = match app.session.prefs.restore {
                true => {
                    services.tabs.claim(&file.path);
                    saved_tabs::read(&file)
                }
                false => Ok(None),
            };
            first.extend(app.restore(file, saved));
        }
        if options.glance {
            app.open_glance();
        }
        let mut runner = Runner::new(Arc::new(services), sender, app.session.settings.event_log.max_event);
        if let Some(watch) = options.watch {
            runner.watch_configuration(watch)?;
        }
        Ok((
            Dashboard { app, runner, messages, frozen_frame: FrozenFrame::default(), color, rgb, background: None },
            first,
        ))
    }

    /// Applies a message at the current time. Returns the effects to perform.
    pub fn update(&mut self, msg: Msg) -> Vec<Effect> {
        update(&mut self.app, Timestamp::now(), msg)
    }

    /// Starts an effect that needs no terminal.
    pub fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::UseProfiles(generation, profiles) => self.runner.use_profiles(generation, &profiles),
            Effect::Configure(config) => self.runner.configure(&config),
            Effect::UseDemo(config) => self.runner.use_demo(&config),
            effect => self.runner.run(effect),
        }
    }

    /// Saves the open tabs before the dashboard ends. The screen is gone, so a failure can't be shown.
    pub(super) fn save_tabs(&mut self) {
        if let Some((file, number, tabs)) = self.app.tabs_at_end() {
            let written = self.runner.services.tabs.write(&file.path, number, &tabs);
            if let Err(why) = written {
                tracing::warn!("the open tabs could not be saved: {why}");
            }
        }
    }

    /// Sets the terminal's background color. Returns whether it has changed.
    pub(super) fn set_background(&mut self, color: (u8, u8, u8)) -> bool {
        self.background.replace(color) != Some(color)
    }

    /// Starts and stops subscriptions as the state requires.
    pub fn reconcile(&mut self) {
        self.runner.reconcile(&subscriptions(&self.app));
    }

    /// Returns the next message of the tasks, including panics. Cancel-safe.
    pub async fn next_message(&mut self) -> Msg {
        tokio::select! {
            biased;
            Some((key, text)) = self.runner.next_panic() => Msg::TaskPanicked { key, text },
            Some(msg) = self.messages.recv() => msg,
            else => std::future::pending().await,
        }
    }

    /// Returns the next message of the tasks, if one is waiting.
    pub fn try_next_message(&mut self) -> Option<Msg> {
        self.messages.try_recv().ok()
    }

    /// Computes the layout and draws a frame.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        self.app.relayout();
        let Dashboard { color, rgb, background, .. } = *self;
        let theme = Theme { color, rgb, ascii: self.app.session.settings.ascii, background };
        self.frozen_frame.draw(&self.app, &theme, frame);
        self.app.on_drawn();
    }
}
