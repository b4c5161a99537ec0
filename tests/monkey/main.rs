//! Random use of the dashboard: keys, window sizes and server faults, against the real background tasks and the simulator, with
//! checks after every step. The seed is printed when something fails; `RUNTAIL_MONKEY_SEED` repeats it and `RUNTAIL_MONKEY_STEPS`
//! sets the number of steps; in the ten-minute test the seed chooses the games. Steps depend on the seed and on the state of the
//! dashboard, which the timing of responses changes, so a failure also writes its steps to a file.

mod checks;
mod steps;

use checks::{ActionChecks, Log, OTHER_CLIENT, check_state, edited};
use fastrand::Rng;
use jiff::tz::TimeZone;
use runtail_core::config::{Config, Watch};
use runtail_sim::{Options as SimOptions, Sim};
use runtail_testkit::dash::Shown;
use runtail_tui::input::action::Context;
use runtail_tui::input::key::{Code, Key};
use runtail_tui::runtime::{Dashboard, Options};
use runtail_tui::session::catalog::ProfileOrigin;
use runtail_tui::session::msg::{Effect, Msg};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steps::{Other, Step};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum wait of another client for a response.
const TIMEOUT: Duration = Duration::from_millis(300);

/// A dashboard, the servers that it uses, and what the checks know about both.
struct World {
    dashboard: Dashboard,
    sim: Sim,
    watched: ActionChecks,
    random: Rng,
    file: PathBuf,
    is_read_only: bool,
    log: Log,
}

impl World {
    /// The configuration file of the demo. The region `eu` is read-only in all variants.
    fn config(sim: &Sim, variant: usize) -> String {
        let limits = "[poll]\ninterval = \"1s\"\n\n[limits]\nmax_bytes = \"256KiB\"\nmax_event = \"4MiB\"\n\n";
        let profile = |at: usize, more: &str| {
            let region = &sim.regions()[at];
            let seal = if region.region == "eu" {
                "read_only = true\n"
            } else {
                ""
            };
            format!(
                "[profiles.{}]\nurl = \"{}\"\nworkspace = \"{}\"\napi_key_file = \"key\"\n{seal}{more}\n",
                region.name, region.url, region.workspace
            )
        };
        let both = profile(0, "") + &profile(1, "");
        match variant {
            0 => format!("{limits}{both}"),
            1 => format!("{limits}{}", profile(0, "label = \"staging\"\n")),
            2 => format!(
                "{limits}{both}[profiles.gone]\nurl = \"http://127.0.0.1:9\"\napi_key_file = \"key\"\n"
            ),
            3 => format!("{limits}{both}[broken"),
            _ => format!(
                "{limits}{}{}",
                profile(1, "label = \"eu\"\n"),
                profile(0, "")
            ),
        }
    }

    async fn new(seed: u64, folder: &Path, is_read_only: bool, log: Log) -> World {
        // Faster than real time, so that runs and revisions end during a game.
        let sim = Sim::start(SimOptions {
            speed: 8.0,
            ..SimOptions::demo()
        })
        .await
        .expect("a simulator");
        let file = folder.join("config.toml");
        std::fs::write(&file, World::config(&sim, 0)).unwrap();
        write_key(&folder.join("key"));
        let mut config = Config::load(Some(&file)).expect("a configuration");
        config.seal(is_read_only, false);
        config.poll.interval = Duration::from_millis(300);
        let profiles = config.choose(&[]).expect("all profiles");
        let watched = ActionChecks::new(is_read_only, &profiles);
        let mut options = Options::new(&config, profiles, TimeZone::UTC);
        options.origin = ProfileOrigin {
            file: Some(file.clone()),
            read_only: is_read_only,
            ..ProfileOrigin::default()
        };
        options.watch = Some(Watch::new(file.clone()));
        let (dashboard, first) = Dashboard::new(options, (120, 30)).expect("a dashboard");
        let random = Rng::with_seed(seed);
        let mut world = World {
            dashboard,
            sim,
            watched,
            random,
            file,
            is_read_only,
            log,
        };
        world.perform(first);
        world.settle(Duration::from_millis(300)).await;
        world
    }

    fn shown(&self) -> Shown<'_> {
        Shown(&self.dashboard.app)
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    /// Performs effects like the main loop. Effects on anything outside the test are skipped.
    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let (to, effect) = effect.addressed();
            match effect {
                Effect::EditOutside(text) => {
                    let edited = edited(&text, &mut self.random);
                    self.apply(Msg::Edited(edited));
                }
                Effect::Suspend
                | Effect::Redraw
                | Effect::Copy(_)
                | Effect::Alert(..)
                | Effect::OpenLink(_) => {}
                effect => self.dashboard.perform(effect.to(to)),
            }
        }
    }

    /// Applies a message and everything that follows from it immediately.
    fn apply(&mut self, msg: Msg) {
        if let Msg::TaskPanicked { text, .. } = &msg {
            panic!("a background task panicked: {text}");
        }
        let effects = self.dashboard.update(msg.clone());
        for effect in &effects {
            self.watched
                .on_effect(Shown(&self.dashboard.app), &msg, effect);
        }
        self.perform(effects);
        self.dashboard.reconcile();
    }

    fn draw(&mut self) {
        self.watched.on_draw(&mut self.dashboard);
    }

    /// Applies what the background tasks send within this time.
    async fn settle(&mut self, time: Duration) {
        let end = tokio::time::Instant::now() + time;
        while let Ok(msg) = tokio::time::timeout_at(end, self.dashboard.next_message()).await {
            self.apply(msg);
            if self.random.u8(0..4) == 0 {
                self.draw();
            }
        }
    }

    async fn take(&mut self, step: Step) {
        self.note(format!("{step:?}"));
        match step {
            Step::Keys(keys) => {
                for key in keys {
                    self.apply(Msg::Key(key));
                    // Sometimes several keys arrive before the next frame.
                    if self.random.bool() {
                        self.draw();
                    }
                    if self.random.u8(0..4) == 0 {
                        self.settle(Duration::from_millis(1)).await;
                    }
                }
            }
            Step::Paste(text) => self.apply(Msg::Paste(text)),
            Step::Resize(w, h) => self.apply(Msg::Resize(w, h)),
            Step::Wheel(lines, x, y) => self.apply(Msg::Wheel { lines, x, y }),
            Step::Click(x, y, to_x, to_y) => {
                self.apply(Msg::Click { x, y });
                self.apply(Msg::Drag { x: to_x, y: to_y });
            }
            Step::Focus(has_focus) => self.apply(Msg::Focus(has_focus)),
            Step::Tick => self.apply(Msg::Tick),
            Step::Fault(rule) => self.sim.rule(*rule),
            Step::Heal => self.sim.clear_rules(),
            Step::Other(other) => self.act_as_other_client(other).await,
            Step::Config(variant) => {
                std::fs::write(&self.file, World::config(&self.sim, variant)).unwrap()
            }
            Step::Wait(millis) => self.settle(Duration::from_millis(millis)).await,
        }
        self.settle(Duration::from_millis(2)).await;
        self.draw();
        self.watched.on_requests(&self.sim);
        check_state(self.shown(), self.is_read_only);
    }

    /// Another client acts on something that the dashboard shows.
    async fn act_as_other_client(&self, other: Other) {
        let Some((server, thread)) = self.shown().thread() else {
            return;
        };
        let thread = format!("{server}/threads/{thread}");
        let run = r#"{"assistant_id": "support", "input": {"messages": [{"role": "user", "content": "hi"}]}}"#;
        match other {
            Other::DeleteThread => send("DELETE", &thread, "").await,
            Other::StartRun => send("POST", &format!("{thread}/runs"), run).await,
            Other::EditState => {
                send(
                    "POST",
                    &format!("{thread}/state"),
                    r#"{"values": {"seen": true}}"#,
                )
                .await
            }
            Other::CancelRuns => {
                send("POST", &format!("{server}/runs/cancel?status=all"), "{}").await
            }
            Other::DeleteDeployment => {
                let Some((profile, id)) = self.shown().deployment() else {
                    return;
                };
                let regions = self.sim.regions();
                if let Some(region) = regions.iter().find(|region| region.name == profile) {
                    send("DELETE", &format!("{}/v2/deployments/{id}", region.url), "").await;
                }
            }
        }
    }

    /// Leaves the dashboard from any state: Ctrl-C at once, or Esc and then `q`.
    async fn leave(&mut self) {
        if self.random.bool() {
            self.note("leaving by Ctrl-C".into());
            self.apply(Msg::Key(Key {
                code: Code::Char('c'),
                ctrl: true,
                alt: false,
            }));
            assert!(
                self.shown().has_ended(),
                "Ctrl-C leaves from {:?}",
                self.shown().context()
            );
            return;
        }
        self.note("leaving by Esc and q".into());
        if self.shown().is_frozen() {
            self.apply(Msg::Key(Key::char('F')));
        }
        let is_back = |world: &World| world.shown().is_uncovered();
        for _ in 0..40 {
            if is_back(self) {
                break;
            }
            self.apply(Msg::Key(Key::plain(Code::Esc)));
            self.draw();
        }
        assert!(
            is_back(self),
            "Esc leads back from {:?}",
            self.shown().context()
        );
        for _ in 0..40 {
            if self.shown().has_ended() {
                return;
            }
            self.apply(Msg::Key(Key::char('q')));
            self.draw();
        }
        panic!("q does not leave from {:?}", self.shown().context());
    }
}

/// Writes the key of the simulator to a file that only its owner can read.
fn write_key(file: &Path) {
    std::fs::write(file, runtail_sim::KEY).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Sends a request as another client; the response is read and ignored.
async fn send(method: &str, url: &str, body: &str) {
    // A recording has no server.
    let Ok(url) = url.parse::<url::Url>() else {
        return;
    };
    let (host, port) = (url.host_str().unwrap_or_default(), url.port().unwrap_or(80));
    let target = url.query().map_or(url.path().to_string(), |query| {
        format!("{}?{query}", url.path())
    });
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: {host}\r\n{OTHER_CLIENT}: 1\r\nx-api-key: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        runtail_sim::KEY,
        body.len()
    );
    let exchange = async {
        let mut stream = TcpStream::connect((host, port)).await?;
        stream.write_all(request.as_bytes()).await?;
        stream.read_to_end(&mut Vec::new()).await
    };
    // A fault may affect this request too.
    let _ = tokio::time::timeout(TIMEOUT, exchange).await;
}

/// Returns how to repeat a failure.
struct FailureReport {
    seed: u64,
    log: Log,
}

impl Drop for FailureReport {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let log = self
            .log
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let file = std::env::temp_dir().join(format!("runtail-monkey-{}.log", self.seed));
        let is_written = std::fs::write(&file, log.join("\n")).is_ok();
        let place = if is_written {
            format!("; all {} steps are in {}", log.len(), file.display())
        } else {
            String::new()
        };
        eprintln!(
            "RUNTAIL_MONKEY_SEED={} repeats it{place}. The last steps:",
            self.seed
        );
        log.iter()
            .skip(log.len().saturating_sub(15))
            .for_each(|line| eprintln!("  {}", runtail_core::text::fit(line, 400)));
    }
}

/// The counts of a game.
#[derive(Debug, Default)]
struct Done {
    steps: usize,
    /// Changes that were sent.
    sent: usize,
    /// Runs that were started.
    started: usize,
    /// Screens on which keys were pressed.
    contexts: BTreeSet<Context>,
}

impl Done {
    fn add(&mut self, other: Done) {
        self.steps += other.steps;
        self.sent += other.sent;
        self.started += other.started;
        self.contexts.extend(other.contexts);
    }
}

/// Plays one dashboard from start to end.
fn play(seed: u64, steps: usize) -> Done {
    let log = Log::default();
    let story = FailureReport {
        seed,
        log: log.clone(),
    };
    let is_read_only = seed % 3 == 2;
    let folder = tempfile::tempdir().unwrap();
    // One thread, so that timing affects the order of events as little as sockets allow.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(async {
        let mut done = Done::default();
        let mut world = World::new(seed, folder.path(), is_read_only, log).await;
        for step in 0..steps {
            // Each step has its own random generator, so an earlier step does not change a later one.
            world.random = Rng::with_seed(
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .wrapping_add(step as u64),
            );
            let next = steps::next(Shown(&world.dashboard.app), &mut world.random);
            done.steps += 1;
            done.contexts.insert(world.shown().context());
            world.take(next).await;
            if world.shown().has_ended() {
                break;
            }
        }
        if !world.shown().has_ended() {
            world.leave().await;
        }
        world.settle(Duration::from_millis(5)).await;
        world.watched.on_requests(&world.sim);
        check_state(world.shown(), is_read_only);
        Done {
            sent: world.watched.sent,
            started: world.watched.started,
            ..done
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    drop(story);
    done
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Exports and recordings are written to the working directory, so it is a temporary one.
fn prepare() {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> =
        std::sync::LazyLock::new(|| tempfile::tempdir().unwrap());
    std::env::set_current_dir(FOLDER.path()).unwrap();
    checks::watch_panics();
}

#[test]
fn random_use_breaks_nothing() {
    prepare();
    let steps = number("RUNTAIL_MONKEY_STEPS").unwrap_or(160) as usize;
    if let Some(seed) = number("RUNTAIL_MONKEY_SEED") {
        play(seed, steps);
        return;
    }
    let mut all = Done::default();
    let games: Vec<_> = (1..=3)
        .map(|seed| std::thread::spawn(move || play(seed, steps)))
        .collect();
    for game in games {
        all.add(game.join().expect("no game fails"));
    }
    // Most screens must have been reached.
    assert!(all.contexts.len() >= 8, "{all:?}");
    println!("{all:?}");
}

#[test]
#[ignore = "takes RUNTAIL_MONKEY_SECONDS (600): cargo test --test monkey -- --ignored --nocapture"]
fn random_use_breaks_nothing_for_ten_minutes() {
    prepare();
    let time = Duration::from_secs(number("RUNTAIL_MONKEY_SECONDS").unwrap_or(600));
    let begun = Instant::now();
    let mut random = number("RUNTAIL_MONKEY_SEED").map_or_else(Rng::new, Rng::with_seed);
    let (mut games, mut all) = (0, Done::default());
    while begun.elapsed() < time {
        let seed = random.u64(0..1_000_000);
        println!("monkey: seed {seed} at {}s", begun.elapsed().as_secs());
        all.add(play(seed, random.usize(100..1000)));
        games += 1;
    }
    println!(
        "monkey: {games} dashboards in {}s: {all:?}",
        begun.elapsed().as_secs()
    );
}
