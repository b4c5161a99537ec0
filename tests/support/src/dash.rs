//! A dashboard under test, with fixtures and keys as input and text as output.

mod dialogs;
mod given;
mod lists;
mod live;
mod screen;
mod streams;

pub use dialogs::Dialog;
pub use live::Shown;
pub use streams::Tab;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use runtail_api::{ApiError, Kind, Place, ThreadIntent};
use runtail_core::config::{Config, EventLogLimits};
use runtail_core::model::{CardLog, Evidence, FailureCard, Intent, LogEvidence, LogLine, LogText};
use runtail_stream::{
    Data, Decoder, End, Event, Frame, Framer, Item, Loaded, Outcome, Reader, Record, Seq,
    SnapshotPart, ThreadSnapshot,
};
use runtail_tui::app::draw::FrozenFrame;
use runtail_tui::app::{App, Settings, subscriptions, update};
use runtail_tui::input::key::{Key, parse_keys};
use runtail_tui::session::ComponentId;
use runtail_tui::session::catalog::ProfileOrigin;
use runtail_tui::session::msg::{
    Effect, EffectResult, Msg, NextPoll, Proposal, ServerRef, SubscriptionEvent, SubscriptionId,
    ThreadsRead,
};
use runtail_tui::widgets::theme::Theme;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// How long every request for a list takes.
const ANSWERED_IN: Duration = Duration::from_millis(120);

/// Returns the number, the server and the intent of an action on a thread that is planned.
pub fn thread_plan(effect: &Effect) -> Option<(u64, ServerRef, ThreadIntent)> {
    match effect {
        Effect::Plan(number, _, proposal) => match &**proposal {
            Proposal::Thread(server, intent) => Some((*number, server.clone(), intent.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the number, the profile and the intent of a change of a control plane that is planned.
pub fn plane_plan(effect: &Effect) -> Option<(u64, Arc<str>, Intent)> {
    match effect {
        Effect::Plan(number, profile, proposal) => match &**proposal {
            Proposal::Service(intent) => Some((*number, profile.clone(), intent.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Returns how many plans are forgotten.
pub fn forgotten(effects: &[Effect]) -> usize {
    let forgets = |effect: &&Effect| matches!(effect, Effect::Forget(_));
    effects.iter().filter(forgets).count()
}

/// The start time of every test.
fn start() -> Timestamp {
    "2026-11-21T14:00:00Z".parse().unwrap()
}

pub struct Dash {
    app: App,
    has_ascii_symbols: bool,
    /// False simulates `NO_COLOR`.
    pub color: bool,
    frozen: FrozenFrame,
    pub now: Timestamp,
    seq: Seq,
    /// Number of events that each stream keeps.
    kept: usize,
    /// The effects so far, each with what its result is for.
    asked: Vec<(ComponentId, Effect)>,
}

impl Dash {
    pub fn new(toml: &str, size: (u16, u16)) -> Dash {
        let mut config = Config::parse(toml, Some(std::path::Path::new("config.toml"))).unwrap();
        config.seal(false, false);
        let settings = Settings {
            demo: false,
            ascii: false,
            tz: TimeZone::UTC,
            event_log: EventLogLimits::default(),
            keys: config.keys.clone(),
            warnings: Vec::new(),
        };
        let profiles = config.choose(&[]).unwrap();
        let mut dash = Dash::of(App::new(&profiles, settings, size, start()).0);
        let origin = ProfileOrigin {
            file: Some("config.toml".into()),
            ..ProfileOrigin::default()
        };
        dash.configured(&config, origin);
        dash
    }

    fn of(app: App) -> Dash {
        Dash {
            app,
            has_ascii_symbols: false,
            color: true,
            frozen: FrozenFrame::default(),
            now: start(),
            seq: Seq::START,
            kept: usize::MAX,
            asked: Vec::new(),
        }
    }

    /// Applies a message. Keys are pressed after the current frame was drawn.
    pub fn feed(&mut self, msg: Msg) -> Vec<Effect> {
        if matches!(msg, Msg::Key(_)) {
            self.app.relayout();
            self.app.on_drawn();
        }
        let effects = update(&mut self.app, self.now, msg);
        let effects = self.note_asked(effects);
        // As if the rest needed more memory than there is.
        for viewer in self.app.stream.tabs.all_mut() {
            let log = viewer.live_log_mut();
            while log.retained_events() > self.kept {
                log.shrink_by(1);
            }
        }
        effects
    }

    /// Presses keys before the next frame is drawn.
    pub fn typed_ahead(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in parse_keys(keys).unwrap() {
            effects.extend(update(&mut self.app, self.now, Msg::Key(key)));
        }
        self.note_asked(effects)
    }

    /// Notes what asked for each effect. Returns the effects without their addresses.
    fn note_asked(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let addressed: Vec<_> = effects.into_iter().map(Effect::addressed).collect();
        self.asked.extend(addressed.iter().cloned());
        addressed.into_iter().map(|(_, effect)| effect).collect()
    }

    /// Returns what asked last for the effect with this result.
    fn asker(&self, result: &EffectResult) -> ComponentId {
        use {Effect as E, EffectResult as R};
        let is_its = |effect: &Effect| match (effect, result) {
            (E::Explain(of, ..), R::Card(with, _)) => of == with,
            (E::ReadRow(of), R::RowRead(with, _)) => of == with,
            (E::FetchGraphFacts(_, of), R::GraphFacts(_, with, _))
            | (E::FetchInputs(_, of, _), R::Inputs(_, with, _)) => of == with,
            (E::Plan(of, ..), R::Planned(with, _))
            | (E::CheckTarget(of, _), R::TargetChecked(with, _))
            // Some tests don't press the send key of the preview.
            | (E::Plan(of, ..) | E::Send(of, ..) | E::StartRun(of, ..), R::Sent(with, _))
            | (E::LoadThread(of, _) | E::LoadWaitingThread(of, _), R::ThreadLoaded(with, _))
            | (E::Browse(of, ..), R::Browsed(with, _))
            | (E::ListRecords(of, ..), R::RecordsListed(with, ..))
            | (E::Authenticate(of, ..), R::Authenticated(with, _))
            | (E::File(of, _), R::FileStepped(with, _)) => of == with,
            (E::ReadJournal, R::Journal(_))
            | (E::CheckSecrets(_), R::SecretsChecked(_))
            | (E::FindLocalServer, R::LocalServer(_))
            | (E::FindImports, R::ImportsFound(_))
            | (E::StartDemo, R::DemoStarted(_)) => true,
            _ => false,
        };
        let mut asked = self.asked.iter().rev();
        asked
            .find(|(_, effect)| is_its(effect))
            .map_or(ComponentId::App, |(to, _)| *to)
    }

    /// Advances the clock by milliseconds, without a tick.
    pub fn later(&mut self, milliseconds: i64) {
        self.now += SignedDuration::from_millis(milliseconds);
    }

    /// Returns the result of an effect of the current session epoch.
    pub fn done(&mut self, done: EffectResult) -> Vec<Effect> {
        let msg = self.done_msg(done);
        self.feed(msg)
    }

    /// Returns the message for a result of an effect of the current session epoch.
    pub fn done_msg(&self, done: EffectResult) -> Msg {
        Msg::Effect {
            to: self.asker(&done),
            epoch: self.app.session.epoch,
            result: done,
        }
    }

    pub fn keys(&mut self, keys: &str) -> Vec<Effect> {
        parse_keys(keys)
            .unwrap()
            .into_iter()
            .flat_map(|k| self.feed(Msg::Key(k)))
            .collect()
    }

    /// Types a command, and returns the effects.
    pub fn command(&mut self, line: &str) -> Vec<Effect> {
        let mut effects = self.keys(":");
        for char in line.chars() {
            effects.extend(self.feed(Msg::Key(Key::char(char))));
        }
        effects.extend(self.keys("<Enter>"));
        effects
    }

    pub fn resize(&mut self, w: u16, h: u16) {
        self.feed(Msg::Resize(w, h));
    }

    /// Sends an event of a current subscription.
    pub fn answer(&mut self, wanted: impl Fn(&SubscriptionId) -> bool, answer: SubscriptionEvent) {
        let sub = subscriptions(&self.app)
            .into_iter()
            .find(|s| wanted(&s.key))
            .expect("no such subscription");
        self.feed(Msg::Subscription {
            key: sub.key,
            epoch: sub.epoch,
            event: answer,
        });
    }

    /// Draws the screen with its styles.
    pub fn buffer(&mut self) -> ratatui::buffer::Buffer {
        self.app.relayout();
        let (w, h) = self.app.session.size;
        let mut terminal = Terminal::new(TestBackend::new(w, h)).unwrap();
        let theme = Theme {
            color: self.color,
            ascii: self.has_ascii_symbols || self.app.session.settings.ascii,
            ..Theme::default()
        };
        terminal
            .draw(|frame| self.frozen.draw(&self.app, &theme, frame))
            .unwrap();
        terminal.backend().buffer().clone()
    }

    pub fn screen(&mut self) -> String {
        let (w, h) = self.app.session.size;
        let buffer = self.buffer();
        let mut out = String::new();
        for y in 0..h {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..w {
                let symbol = buffer[(x, y)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                skip = runtail_core::text::width(symbol).saturating_sub(1);
                line.push_str(symbol);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    /// Returns the words of the screen without frames and line breaks, so that wrapped sentences can be searched.
    pub fn words(&mut self) -> String {
        let plain: String = self
            .screen()
            .chars()
            .map(|c| {
                if "│╭╮╰╯─".contains(c) {
                    ' '
                } else {
                    c
                }
            })
            .collect();
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the lines of the stream pane below its header.
    pub fn body(&mut self) -> String {
        let screen = self.screen();
        let lines: Vec<&str> = screen.lines().collect();
        lines[4..lines.len() - 1].join("\n")
    }

    pub fn open_server(&mut self) {
        self.keys("<Enter>");
        self.assistants();
        self.threads();
        // The running thread, wherever it is in the list.
        if let Some(open) = &mut self.app.agent.server {
            open.threads
                .table
                .prefer("01a1fbb5-173d-77d7-b93d-09bf6dcc9775".into());
        }
    }

    /// Responds with the assistants of the open server.
    pub fn assistants(&mut self) {
        let Some(server) = self.app.agent.server.as_ref().map(|s| s.server.clone()) else {
            return;
        };
        let assistants = serde_json::from_value(json!([
            {"assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca", "graph_id": "agent", "name": "agent", "version": 1},
            {"assistant_id": "0d3403f7-5601-53d2-b2f6-e9cafe096781", "graph_id": "research", "name": "deep research", "version": 3,
             "description": "Plans, searches in parallel, writes"},
        ]));
        self.feed(Msg::done(EffectResult::Assistants(
            server,
            Ok(listing(assistants.unwrap())),
        )));
    }

    pub fn threads(&mut self) {
        let threads = serde_json::from_value(json!([
            {"thread_id": "01a1fbb5-173d-77d7-b93d-09bf6dcc9775", "status": "busy", "updated_at": "2026-11-21T13:59:50Z",
             "metadata": {"graph_id": "agent", "user": "ada"}},
            {"thread_id": "01a1fbb6-05bd-7362-97d9-fb3f813b715e", "status": "interrupted", "updated_at": "2026-11-21T13:40:00Z",
             "metadata": {"graph_id": "approval"}, "interrupts": {"t": [{"id": "i1", "value": {"question": "send 5 EUR?"}}]}},
            {"thread_id": "01a1fbb7-22f8-715a-974c-92e72c000193", "status": "error", "updated_at": "2026-11-20T13:00:00Z",
             "metadata": {"graph_id": "broken"}, "error": {"error": "ValueError", "message": "boom: the node failed — détails"}},
            {"thread_id": "01a1fbb8-1f78-73e0-8673-6126729aa3fd", "status": "idle", "updated_at": null, "metadata": null},
        ]));
        self.answer(
            |k| matches!(k, SubscriptionId::Threads(_)),
            SubscriptionEvent::Threads(ThreadsRead::all(Ok(threads.unwrap()))),
        );
    }

    pub fn runs(&mut self) {
        let runs = serde_json::from_value(json!([
            {"run_id": "01a1fbb5-1743-72b0-bac9-4236eccc288a", "status": "running", "created_at": "2026-11-21T13:59:48Z",
             "assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca"},
            {"run_id": "01a1fbb4-1743-72b0-bac9-4236eccc2000", "status": "success", "created_at": "2026-11-21T13:50:00Z",
             "updated_at": "2026-11-21T13:50:12Z", "assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca"},
        ]));
        self.answer(
            |k| matches!(k, SubscriptionId::Runs(..)),
            SubscriptionEvent::Runs(Ok(listing(runs.unwrap()))),
        );
    }

    /// Sends a few log lines, not all in order.
    pub fn log_lines(&mut self) {
        let line = |seconds: i64, level: &str, message: &str| {
            let at = self.now + SignedDuration::from_secs(seconds);
            json!({"timestamp": at.to_string(), "level": level, "message": message})
        };
        let rows = [
            line(-2, "INFO", "Starting server: 1 worker, 10 jobs per worker"),
            line(
                0,
                "WARNING",
                "Slow request: POST /threads/search took 2304 ms",
            ),
            line(
                0,
                "ERROR",
                "Background run failed: \u{1b}[31mRateLimitError\u{1b}[0m: 429 Too Many Requests",
            ),
            line(-1, "DEBUG", "接続がタイムアウトしました 812 ms"),
        ];
        let lines = rows.into_iter().map(LogLine::from).collect();
        self.answer(
            |k| matches!(k, SubscriptionId::Log(..)),
            SubscriptionEvent::Lines {
                lines: Ok(lines),
                incomplete: false,
            },
        );
    }

    /// Reports this status of the first watched revision.
    pub fn watched(&mut self, status: &str) -> Vec<Effect> {
        let sub = subscriptions(&self.app)
            .into_iter()
            .find(|s| matches!(s.key, SubscriptionId::Watch(_)))
            .expect("no watch");
        let SubscriptionId::Watch(of) = &sub.key else {
            unreachable!()
        };
        let revision =
            serde_json::from_value(json!({"id": *of.revision, "status": status})).unwrap();
        let answer = SubscriptionEvent::Watched(Ok(revision), NextPoll::At(self.now));
        self.feed(Msg::Subscription {
            key: sub.key,
            epoch: sub.epoch,
            event: answer,
        })
    }

    /// Sends the revisions of the selected deployment, newest first.
    pub fn revisions_listed(&mut self, rows: serde_json::Value) {
        let list = runtail_api::Revisions {
            items: serde_json::from_value(rows).unwrap(),
            was_sorted: true,
            unread: Default::default(),
        };
        let next = NextPoll::At(self.now);
        self.answer(
            |key| matches!(key, SubscriptionId::Revisions(..)),
            SubscriptionEvent::Revisions(Ok(list), next),
        );
    }

    /// Sends the failure card of the revision whose page is open, if any.
    pub fn card(&mut self) {
        let Some(of) = self.explained_revision() else {
            return;
        };
        let card = Self::failure_card(&of.revision);
        self.done(EffectResult::Card(of, Ok(Box::new(card))));
    }

    /// Sends the failure card of the selected revision, which is shown beside the list.
    pub fn explained(&mut self) {
        let sub = subscriptions(&self.app)
            .into_iter()
            .find(|sub| matches!(sub.key, SubscriptionId::Card(_)));
        let sub = sub.expect("the selected revision failed and is not explained yet");
        let SubscriptionId::Card(of) = &sub.key else {
            unreachable!()
        };
        let event = SubscriptionEvent::Card(Ok(Box::new(Self::failure_card(&of.revision))));
        self.feed(Msg::Subscription {
            key: sub.key,
            epoch: sub.epoch,
            event,
        });
    }

    /// Sends the revisions of the last day of all rows on the screen.
    pub fn last_day(&mut self) {
        self.app.relayout();
        for sub in subscriptions(&self.app) {
            for (deployment, newest) in sub.params.past.iter() {
                let at = |hours: i64| self.now - SignedDuration::from_hours(hours);
                let known = self
                    .app
                    .deployments
                    .list
                    .rows
                    .iter()
                    .find(|row| row.is(deployment));
                let status = known
                    .and_then(|row| row.newest.clone())
                    .map(|one| (one.status, one.created_at));
                let (status, created) = status.unwrap_or_default();
                let rows = json!([
                    {"id": **newest, "status": status, "created_at": created, "updated_at": created},
                    {"id": "5555", "status": "DEPLOYED", "created_at": at(40), "updated_at": at(40)},
                ]);
                let revisions = serde_json::from_value(rows).unwrap();
                let event = SubscriptionEvent::Past {
                    deployment: deployment.clone(),
                    revisions,
                };
                self.feed(Msg::Subscription {
                    key: sub.key.clone(),
                    epoch: sub.epoch,
                    event,
                });
            }
        }
    }

    fn failure_card(revision: &str) -> FailureCard {
        let row = |id: &str, status: &str, made: &str, commit: &str| {
            json!({"id": id, "status": status, "created_at": made, "updated_at": "2026-11-21T13:31:14Z",
                   "source_revision_config": {"repo_ref": "main", "repo_commit_sha": commit}})
        };
        let this = row(
            revision,
            "BUILD_FAILED",
            "2026-11-21T13:30:00Z",
            "e01aa9f2d0ae598e95dc970b74767f19372d61af",
        );
        let good = row(
            "5555",
            "DEPLOYED",
            "2026-11-20T13:30:00Z",
            "77ab10c2d0ae598e95dc970b74767f19372d61af",
        );
        let text = |second: i64, message| {
            let at = Timestamp::from_second(1_795_268_000 + second).ok();
            LogText {
                at,
                level: Some("INFO"),
                message,
            }
        };
        let log = [
            text(
                0,
                "Step #0 - \"pull-base\": Pulling langchain/langgraph-api:3.11-wolfi",
            ),
            text(
                21,
                "Step #1 - \"build\": #7 [3/6] RUN uv pip install -e /deps/app",
            ),
            text(
                68,
                "Step #1 - \"build\": #7 6.874   × No solution found when resolving dependencies:",
            ),
            text(
                68,
                "Step #1 - \"build\": #7 6.874   ╰─▶ Because app depends on openai>=3.0, app cannot be used.",
            ),
        ];
        FailureCard::new(&Evidence {
            address: "prod-us/invoice-agent",
            options: "",
            deployment: &json!({}),
            revision: &this,
            history: &[this.clone(), good],
            times: &[],
            now: start(),
            log: LogEvidence::Read(CardLog::Build, &log),
        })
    }

    /// Presses `d` and responds with this record of the selected deployment.
    pub fn record(&mut self, text: &str) {
        let effects = self.keys("d");
        let [Effect::Describe(what)] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        self.feed(Msg::done(EffectResult::Described(
            what.clone(),
            Ok(text.into()),
        )));
    }

    pub fn open_thread(&mut self) {
        self.open_server();
        self.keys("<Enter>");
        if self.app.session.size.0 >= 120 {
            self.app.focus = runtail_tui::app::Pane::Stream;
        }
    }

    pub fn items(&mut self, items: Vec<Item>) {
        self.answer(
            |k| matches!(k, SubscriptionId::Stream(_)),
            SubscriptionEvent::Items(items),
        );
    }

    /// Sends an event, 0.1s after the previous one.
    pub fn event(&mut self, name: &str, data: &str) {
        self.event_with_id(name, data, None);
    }

    fn event_with_id(&mut self, name: &str, data: &str, id: Option<String>) {
        self.seq = self.seq.next();
        self.now += SignedDuration::from_millis(100);
        let data = Data::Json(data.into());
        let (seq, at) = (self.seq, self.now);
        let event = Event {
            seq,
            at,
            conn: 1,
            replayed: false,
            name: name.into(),
            ns: [].into(),
            id: id.map(Into::into),
            data,
        };
        self.items(vec![Item::Record(Record::Event(event))]);
    }

    /// Sends the end of the newest run on a thread's stream, with a server time if the run's events have one.
    pub fn run_done(&mut self) {
        let run = self.newest_run();
        let last = self.events().pop().and_then(|event| event.id);
        let id = last.and_then(|id| Some(format!("{}-0", milliseconds(&id)? + 1)));
        self.event_with_id(
            "metadata",
            &format!(r#"{{"run_id":"{run}","status":"run_done"}}"#),
            id,
        );
    }

    /// Sends a snapshot of the open thread's records.
    pub fn snapshot(&mut self, parts: Vec<(SnapshotPart, serde_json::Value)>) {
        self.seq = self.seq.next();
        let parts = parts
            .into_iter()
            .map(|(part, json)| (part, Loaded::Json(json.to_string().into())));
        let event = ThreadSnapshot {
            at: self.now,
            parts: parts.collect(),
        }
        .into_event(self.seq);
        self.items(vec![Item::Record(Record::Event(event))]);
    }

    /// Receives a heartbeat.
    pub fn heartbeat(&mut self) {
        self.items(vec![Item::Heartbeat { at: self.now }]);
    }

    /// Sends all events of a capture, 0.1s apart.
    pub fn capture(&mut self, name: &str) {
        self.items(vec![Item::Record(Record::Open {
            at: self.now,
            conn: 1,
            status: 200,
            resumed_after: None,
        })]);
        self.continue_capture(name);
    }

    /// [`Dash::capture`] on the open connection.
    pub fn continue_capture(&mut self, name: &str) {
        self.receive(std::fs::read(format!("tests/captures/{name}.sse")).unwrap());
    }

    /// Sends records in which the first run of the open thread has just started.
    pub fn run_started_now(&mut self, graph: &str, run: &str) {
        let thread =
            json!({"status": "busy", "metadata": {"graph_id": graph}, "created_at": self.now});
        let run = json!({"run_id": run, "status": "running", "created_at": self.now, "updated_at": self.now});
        let state =
            json!({"values": {}, "next": [], "tasks": [], "metadata": {}, "checkpoint": null});
        let parts = [
            (SnapshotPart::Thread, thread),
            (SnapshotPart::State, state),
            (SnapshotPart::Runs, json!([run])),
        ];
        self.snapshot(parts.into());
    }

    /// [`Dash::continue_capture`] with its times moved to the test's clock.
    pub fn continue_capture_now(&mut self, name: &str) {
        let text = std::fs::read_to_string(format!("tests/captures/{name}.sse")).unwrap();
        let first = text
            .lines()
            .find_map(|line| milliseconds(line.strip_prefix("id: ")?));
        let Some(first) = first else {
            return self.receive(text.into_bytes());
        };
        let by = SignedDuration::from_millis(self.now.as_millisecond() + 100 - first);
        let ids = regex::Regex::new(r"(?m)^id: (\d{13}-\d+)").unwrap();
        let text = ids.replace_all(&text, |id: &regex::Captures<'_>| {
            format!("id: {}", moved(&id[1], by))
        });
        let times = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00").unwrap();
        let time =
            |time: &regex::Captures<'_>| (time[0].parse::<Timestamp>().unwrap() + by).to_string();
        self.receive(times.replace_all(&text, time).into_owned().into_bytes());
    }

    /// [`Dash::capture`] with its times moved to the test's clock.
    pub fn capture_now(&mut self, name: &str) {
        self.items(vec![Item::Record(Record::Open {
            at: self.now,
            conn: 1,
            status: 200,
            resumed_after: None,
        })]);
        self.continue_capture_now(name);
    }

    /// Receives bytes of a stream, with events 0.1s apart.
    pub fn receive(&mut self, bytes: Vec<u8>) {
        let mut framer = Framer::new(64 << 20);
        let mut decoder = Decoder::default();
        let mut items = Vec::new();
        framer.push(bytes.into());
        while let Some(frame) = framer.next_frame() {
            if let Frame::Block(block) = frame
                && let Some(decoded) = decoder.decode(block)
            {
                self.seq = self.seq.next();
                self.now += SignedDuration::from_millis(100);
                items.push(Item::Record(Record::Event(
                    decoded.at(self.seq, self.now, 1, false),
                )));
            }
        }
        self.items(items);
    }

    /// Sends a recording without its end, with events 30ms apart from now.
    pub fn recording(&mut self, path: &str) {
        self.play(path, |_| SignedDuration::from_millis(30));
    }

    /// [`Dash::recording`] at its original pace.
    pub fn recording_at_original_pace(&mut self, path: &str) {
        self.play(path, |gap| gap);
    }

    fn play(&mut self, path: &str, pace: impl Fn(SignedDuration) -> SignedDuration) {
        let mut items = Vec::new();
        let mut last = None;
        for record in Reader::open(std::path::Path::new(path)).unwrap() {
            match record.unwrap() {
                Record::Event(mut event) => {
                    let before = last.replace(event.at).unwrap_or(event.at);
                    self.now += pace(event.at.duration_since(before));
                    let by = self.now.duration_since(event.at);
                    event.id = event.id.map(|id| {
                        if milliseconds(&id).is_some() {
                            moved(&id, by).into()
                        } else {
                            id
                        }
                    });
                    event.at = self.now;
                    self.seq = self.seq.next();
                    event.seq = self.seq;
                    items.push(Item::Record(Record::Event(event)));
                }
                Record::Open { conn, status, .. } => {
                    items.push(Item::Record(Record::Open {
                        at: self.now,
                        conn,
                        status,
                        resumed_after: None,
                    }));
                }
                _ => {}
            }
        }
        self.items(items);
    }

    pub fn retrying(&mut self, attempt: u32, seconds: u64, why: &str) {
        let item = Item::Retrying {
            at: self.now,
            attempt,
            wait: Duration::from_secs(seconds),
            why: why.into(),
            request: String::new(),
        };
        self.items(vec![item]);
    }

    pub fn end(&mut self, outcome: Outcome) {
        let end = End {
            at: self.now,
            outcome,
            events: self.seq.0,
            connections: 1,
            ..End::default()
        };
        self.items(vec![Item::Record(Record::End(end))]);
    }

    /// Advances the clock by seconds, with a tick.
    pub fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
        self.feed(Msg::Tick);
    }

    pub fn refuse(&mut self, profile: &str) {
        let name: std::sync::Arc<str> = profile.into();
        self.fails(
            move |k| *k == SubscriptionId::Deployments(name.clone()),
            Kind::Unauthorized,
        );
    }

    /// Fails a poll of a deployments list.
    pub fn fails(&mut self, wanted: impl Fn(&SubscriptionId) -> bool, kind: Kind) {
        let sub = subscriptions(&self.app)
            .into_iter()
            .find(|s| wanted(&s.key))
            .expect("no such subscription");
        let SubscriptionId::Deployments(profile) = sub.key else {
            panic!("{:?}", sub.key)
        };
        let error = self.error(&profile, kind);
        let next = NextPoll::At(self.now + SignedDuration::from_secs(4));
        self.answer(
            wanted,
            SubscriptionEvent::Deployments {
                result: Err(error),
                is_truncated: true,
                skew: SignedDuration::ZERO,
                took: ANSWERED_IN,
                next,
            },
        );
    }

    /// Returns the error of a failed request of a profile.
    pub fn error(&self, profile: &str, kind: Kind) -> ApiError {
        ApiError {
            kind,
            at: Place {
                profile: profile.to_string(),
                method: "GET".into(),
                host: "https://eu.api.host.langchain.com".into(),
                path: "/v2/deployments".into(),
                request_id: Some("req-1".into()),
                ..Place::default()
            },
            detail: "Invalid API key".into(),
            hint: Some("The key is missing, wrong or revoked. Set LANGSMITH_API_KEY to a key of this region.".into()),
        }
    }

    /// Sends a deployment and a revision with unknown statuses and unexpected nulls.
    pub fn unknown_statuses(&mut self) {
        let list = serde_json::from_value(json!([
            {"id": "x", "name": null, "status": "NOVEL", "latest_revision_id": "r", "source_config": null, "secrets": null}
        ]));
        let us: std::sync::Arc<str> = "prod-us".into();
        let same = us.clone();
        self.answer(
            move |k| *k == SubscriptionId::Deployments(us.clone()),
            listed(list.unwrap()),
        );
        let revision =
            serde_json::from_value(json!({"id": "r", "status": "REBALANCING", "created_at": null}))
                .unwrap();
        let answer = SubscriptionEvent::Newest {
            deployment: "x".into(),
            revision: Ok(revision),
        };
        self.answer(move |k| *k == SubscriptionId::Newest(same.clone()), answer);
    }

    /// Sends names with control characters.
    pub fn hostile_names(&mut self) {
        let name = "evil\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}name";
        let deployments = serde_json::from_value(
            json!([{"id": "x", "name": name, "status": name, "latest_revision_id": name}]),
        );
        let us: std::sync::Arc<str> = "prod-us".into();
        self.answer(
            move |k| *k == SubscriptionId::Deployments(us.clone()),
            listed(deployments.unwrap()),
        );
        self.feed(Msg::TaskPanicked {
            key: None,
            text: name.into(),
        });
    }
}

/// Returns the server's time in an id, if it has one.
fn milliseconds(id: &str) -> Option<i64> {
    id.split_once('-')?
        .0
        .parse()
        .ok()
        .filter(|ms| *ms > 1_000_000_000_000)
}

/// Moves the time of an id.
fn moved(id: &str, by: SignedDuration) -> String {
    let (ms, n) = id.split_once('-').unwrap();
    format!("{}-{n}", ms.parse::<i64>().unwrap() + by.as_millis() as i64)
}

pub fn listed(items: Vec<runtail_core::model::Deployment>) -> SubscriptionEvent {
    let result = Ok(runtail_api::Listing {
        items,
        incomplete: None,
        unread: Default::default(),
    });
    SubscriptionEvent::Deployments {
        result,
        is_truncated: false,
        skew: SignedDuration::ZERO,
        took: ANSWERED_IN,
        next: NextPoll::Stopped,
    }
}

/// [`demo_like`] on a wide screen.
pub fn demo() -> Dash {
    demo_like((140, 40))
}

/// [`demo_like`] with the page of a thread open.
pub fn demo_thread(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_thread();
    dash
}

/// [`demo_like`] with the lists of an agent server open.
pub fn demo_server(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_server();
    dash
}

/// A dashboard with two regions and a few deployments, one of them in progress.
pub fn demo_like(size: (u16, u16)) -> Dash {
    let toml = "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n[profiles.prod-eu]\nregion = \"eu\"\napi_key_env = \"K\"\n";
    let mut dash = Dash::new(toml, size);
    // The newest revision is serving, unless it failed or is in progress.
    let deployment = |id: &str, name: &str, status: &str| {
        let latest = if id == "d1" {
            "44444444-4444-4444-8444-444444444444".to_string()
        } else {
            format!("{id}-r")
        };
        let active = match id {
            "d1" => json!("55555555-5555-4555-8555-555555555555"),
            "d3" => json!("d3-older"),
            "d4" => json!(null),
            _ => json!(latest),
        };
        json!({"id": id, "name": name, "status": status, "latest_revision_id": latest, "active_revision_id": active,
               "url": format!("https://{name}.us.langgraph.app"), "created_at": "2026-10-01T09:00:00Z",
               "source": "github", "source_config": {"deployment_type": if id == "d4" { "dev" } else { "prod" }},
               "secrets": [{"name": "OPENAI_API_KEY", "value": "sk-canary"}]})
    };
    let us = json!([
        deployment("d2", "support-bot", "READY"),
        deployment("d3", "invoice-agent", "READY"),
        deployment("d4", "triage", "AWAITING_DATABASE")
    ]);
    let eu = json!([
        deployment("d1", "support-bot", "READY"),
        deployment("d5", "nightly-etl", "UNUSED")
    ]);
    for (profile, list) in [("prod-us", us), ("prod-eu", eu)] {
        let name: std::sync::Arc<str> = profile.into();
        let list = serde_json::from_value(list).unwrap();
        dash.answer(
            move |k| *k == SubscriptionId::Deployments(name.clone()),
            listed(list),
        );
    }
    for (profile, id, status, minutes) in [
        ("prod-us", "d2", "DEPLOYED", 180),
        ("prod-us", "d3", "BUILD_FAILED", 30),
        ("prod-us", "d4", "QUEUED", 1),
        ("prod-eu", "d1", "BUILDING", 2),
        ("prod-eu", "d5", "DEPLOYED", 2880),
    ] {
        let at = start() - SignedDuration::from_mins(minutes);
        let own = if id == "d1" {
            "44444444-4444-4444-8444-444444444444".to_string()
        } else {
            format!("{id}-r")
        };
        let revision = json!({"id": own, "status": status, "created_at": at, "updated_at": at});
        let name: std::sync::Arc<str> = profile.into();
        let answer = SubscriptionEvent::Newest {
            deployment: id.into(),
            revision: Ok(serde_json::from_value(revision).unwrap()),
        };
        dash.answer(move |k| *k == SubscriptionId::Newest(name.clone()), answer);
    }
    // The failed deployment is first, then those in progress; this selects support-bot of prod-eu.
    dash.keys("<Down><Down>");
    let history = |newest: &str| {
        json!([
            {"id": "44444444-4444-4444-8444-444444444444", "status": newest, "created_at": "2026-11-21T13:57:50Z",
             "source_revision_config": {"repo_ref": "main", "repo_commit_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"}},
            {"id": "55555555-5555-4555-8555-555555555555", "status": "DEPLOYED", "created_at": "2026-11-20T14:00:00Z",
             "source_revision_config": {"repo_ref": "main", "repo_commit_sha": "77ab10cd0ae598e95dc970b74767f19372d61af8"}},
            {"id": "66666666-6666-4666-8666-666666666666", "status": "BUILD_FAILED", "created_at": "2026-11-19T14:00:00Z",
             "source_revision_config": {"repo_ref": "feature/very-long-branch-name", "langgraph_config_path": "langgraph.json"}},
            {"id": "77777777-7777-4777-8777-777777777777", "status": "DEPLOYED", "created_at": "2026-11-18T14:00:00Z",
             "source_revision_config": {"image_uri": "docker.io/acme/support-bot:1.4.2"}},
        ])
    };
    for (seconds, status) in [(0, "QUEUED"), (20, "BUILDING"), (106, "BUILDING")] {
        dash.now = start() + SignedDuration::from_secs(seconds);
        let next = NextPoll::At(dash.now + SignedDuration::from_secs(41));
        let items = serde_json::from_value(history(status)).unwrap();
        let list = runtail_api::Revisions {
            items,
            was_sorted: true,
            unread: Default::default(),
        };
        dash.answer(
            |k| matches!(k, SubscriptionId::Revisions(..)),
            SubscriptionEvent::Revisions(Ok(list), next),
        );
    }
    dash
}

/// Returns a list whose rows could all be read.
pub fn listing<T>(items: Vec<T>) -> runtail_api::Listing<T> {
    runtail_api::Listing::new(items, runtail_api::UnreadRows::default())
}
