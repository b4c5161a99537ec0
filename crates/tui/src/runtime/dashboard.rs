//! The dashboard without a terminal: its state and background tasks. The loop passes it keys and draws it on the terminal;
//! `tests/monkey/main.rs` does the same with random keys and a buffer.

use super::options::Options;
use super::poll_schedule::sleep_until;
use super::saved_tabs;
use super::services::Services;
use super::subs::Runner;
use crate::app::draw::FrozenFrame;
use crate::app::{App, subscriptions, update};
use crate::boxed;
use crate::session::msg::{Effect, EffectResult, Msg};
use crate::widgets::theme::Theme;
use jiff::Timestamp;
use ratatui::Frame;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How long writing the end of a cut recording may take.
const END_TIMEOUT: Duration = Duration::from_secs(2);

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
        let (mut app, mut first) =
            App::new(&options.profiles, options.settings, size, Timestamp::now());
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
        let mut runner = Runner::new(
            Arc::new(services),
            sender,
            app.session.settings.event_log.max_event,
        );
        if let Some(watch) = options.watch {
            runner.watch_configuration(watch)?;
        }
        Ok((
            Dashboard {
                app,
                runner,
                messages,
                frozen_frame: FrozenFrame::default(),
                color,
                rgb,
                background: None,
            },
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
            Effect::UseProfiles(generation, profiles) => {
                self.runner.use_profiles(generation, &profiles)
            }
            Effect::Configure(config) => self.runner.configure(&config),
            Effect::UseDemo(config) => self.runner.use_demo(&config),
            effect => self.runner.run(effect),
        }
    }

    /// Writes the recordings and the export to their end before the dashboard ends. Returns what went wrong: when the time is over,
    /// a recording gets its end without the rest of its events.
    pub(super) async fn finish_files(&mut self, limit: Duration) -> Vec<String> {
        let mut effects = Vec::new();
        // Events that were received but not applied belong to a recording, too.
        for _ in 0..self.messages.len() {
            let waiting = self.try_next_message().map(|msg| self.update(msg));
            effects.extend(waiting.into_iter().flatten());
        }
        self.app.session.notices.clear();
        effects.extend(self.app.end_recordings());
        let (mut deadline, mut is_cut) = (Instant::now() + limit, false);
        while !self.app.unfinished_files().is_empty() {
            for effect in effects
                .drain(..)
                .filter(|effect| matches!(effect.bare(), Effect::File(..)))
            {
                self.perform(effect);
            }
            tokio::select! {
                biased;
                () = sleep_until(Some(deadline)) => {
                    if std::mem::replace(&mut is_cut, true) {
                        break;
                    }
                    deadline += END_TIMEOUT;
                    effects = self.app.cut_recordings();
                }
                msg = self.next_message() => {
                    if matches!(msg, Msg::Effect { result: EffectResult::FileStepped(..), .. }) {
                        effects = self.update(msg);
                    }
                }
            }
        }
        let errors = self
            .app
            .session
            .notices
            .drain(..)
            .filter(|notice| notice.error)
            .map(|notice| notice.text);
        let mut problems: Vec<String> = errors.collect();
        let unfinished = self.app.unfinished_files();
        problems.extend(
            unfinished
                .iter()
                .map(|path| format!("{} is incomplete: writing takes too long", path.display())),
        );
        problems
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
    #[boxed]
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
        let Dashboard {
            color,
            rgb,
            background,
            ..
        } = *self;
        let theme = Theme {
            color,
            rgb,
            ascii: self.app.session.settings.ascii,
            background,
        };
        self.frozen_frame.draw(&self.app, &theme, frame);
        self.app.on_drawn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::key::{Code, Key};
    use crate::session::msg::{ServerRef, StreamTarget, SubscriptionEvent, SubscriptionId};
    use runtail_core::config::Config;
    use runtail_stream::{Data, End, Event, Item, Reader, Record, Seq};
    use std::ops::RangeInclusive;

    /// Sends events to the only stream, as its task does.
    fn send(dashboard: &Dashboard, numbers: RangeInclusive<u64>) {
        let event = |seq| Event {
            seq: Seq(seq),
            at: Timestamp::UNIX_EPOCH,
            conn: 1,
            replayed: false,
            name: "x".into(),
            ns: [].into(),
            id: None,
            data: Data::Json("1".into()),
        };
        let items = numbers
            .map(|seq| Item::Record(Record::Event(event(seq))))
            .collect();
        let mut needed = subscriptions(&dashboard.app).into_iter();
        let sub = needed
            .find(|sub| matches!(sub.key, SubscriptionId::Stream(_)))
            .unwrap();
        let event = SubscriptionEvent::Items(items);
        dashboard
            .runner
            .out
            .try_send(Msg::Subscription {
                key: sub.key,
                epoch: sub.epoch,
                event,
            })
            .unwrap();
    }

    /// Ends a dashboard whose recording has 3 events, while 5,000 were received but not applied.
    async fn ended_recording(limit: Duration) -> (u64, End, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let (config, path) = (
            folder.path().join("config.toml"),
            folder.path().join("a.jsonl"),
        );
        std::fs::write(
            &config,
            "[profiles.bot]\nagent_server = \"http://127.0.0.1:9\"\n",
        )
        .unwrap();
        let config = Config::load(Some(&config)).unwrap();
        let options = Options::new(
            &config,
            config.choose(&[]).unwrap(),
            jiff::tz::TimeZone::UTC,
        );
        let (mut dashboard, _) = Dashboard::new(options, (120, 40)).unwrap();
        let bot = ServerRef {
            profile: "bot".into(),
            name: "bot".into(),
            url: "http://127.0.0.1:9".into(),
        };
        dashboard.app.open_server(bot);
        dashboard
            .app
            .open_stream(StreamTarget::Tail { thread: "t".into() });
        send(&dashboard, 1..=3);
        let msg = dashboard.next_message().await;
        dashboard.update(msg);
        let line = format!(":record {}", path.display());
        let keys = line.chars().map(Code::Char).chain([Code::Enter]);
        let mut effects: Vec<Effect> = keys
            .flat_map(|code| dashboard.update(Msg::Key(Key::plain(code))))
            .collect();
        while let Some(effect) = effects.pop() {
            if matches!(effect.bare(), Effect::File(..)) {
                dashboard.perform(effect);
                let msg = dashboard.next_message().await;
                effects.extend(dashboard.update(msg));
            }
        }
        for batch in 0..5 {
            send(&dashboard, 4 + batch * 1_000..=3 + (batch + 1) * 1_000);
        }
        let problems = dashboard.finish_files(limit).await;
        let problems = problems
            .iter()
            .map(|text| text.replace(&*path.to_string_lossy(), "a.jsonl"))
            .collect();
        let mut records: Vec<Record> = Reader::open(&path)
            .unwrap()
            .map(|read| read.unwrap())
            .collect();
        let Some(Record::End(end)) = records.pop() else {
            panic!("{records:?}")
        };
        (
            records
                .iter()
                .filter(|record| matches!(record, Record::Event(_)))
                .count() as u64,
            end,
            problems,
        )
    }

    #[tokio::test]
    async fn a_recording_has_all_received_events_when_the_dashboard_ends() {
        let (events, end, problems) = ended_recording(Duration::from_secs(600)).await;
        assert_eq!((events, end.events, problems), (5_003, 5_003, Vec::new()));
        assert_eq!(
            end.detail.as_deref(),
            Some("recording stopped; the stream continued")
        );
    }

    #[tokio::test]
    async fn a_recording_that_is_cut_at_the_end_reports_its_missing_events() {
        let (events, end, problems) = ended_recording(Duration::ZERO).await;
        assert_eq!((events, end.events), (1_003, 1_003));
        let why = "the dashboard ended before writing the newest 4,000 events";
        assert_eq!(end.detail.as_deref(), Some(why));
        assert_eq!(
            problems,
            ["a.jsonl has 1,003 events; the newest 4,000 are missing"]
        );
    }
}
