//! Invariants that are checked after every step.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use runtail_core::config::Profile;
use runtail_sim::{Request, Sim};
use runtail_testkit::dash::Shown;
use runtail_tui::runtime::Dashboard;
use runtail_tui::session::msg::{Effect, Msg};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Header that marks the requests of other clients.
pub const OTHER_CLIENT: &str = "x-other-client";

/// Panics of all threads: the dashboard's tasks and the simulator.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Records the panics of all threads from now on.
pub fn watch_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.lock().unwrap().push(info.to_string());
            usual(info);
        }));
    });
}

/// What was confirmed: dialogs whose preview was on the screen, and the requests that may follow.
#[derive(Default)]
pub struct ActionChecks {
    /// Numbers of the dialogs that were drawn in a state in which they could be sent.
    drawn: BTreeSet<u64>,
    /// Method and path of the confirmed changes; `*` stands for any method, and for any path below a prefix.
    confirmed: Vec<(String, String)>,
    /// Addresses of the control planes and servers that were writable at some time.
    writable: BTreeSet<String>,
    /// Whether the whole dashboard is read-only.
    is_read_only: bool,
    /// Changes that were sent.
    pub sent: usize,
    /// Requests that start a run or create its thread.
    pub started: usize,
}

impl ActionChecks {
    pub fn new(is_read_only: bool, profiles: &[Profile]) -> ActionChecks {
        let mut watched = ActionChecks {
            is_read_only,
            ..ActionChecks::default()
        };
        watched.use_profiles(profiles);
        watched
    }

    fn use_profiles(&mut self, profiles: &[Profile]) {
        let addresses = profiles
            .iter()
            .filter(|profile| profile.sealed.is_none())
            .filter_map(|p| p.control_plane.as_ref());
        self.writable
            .extend(addresses.map(|url| url.origin().ascii_serialization()));
    }

    /// Records an effect that `update` returned for a message.
    pub fn on_effect(&mut self, shown: Shown<'_>, msg: &Msg, effect: &Effect) {
        match effect.bare() {
            // The next one of several requests, which were previewed and confirmed together.
            Effect::Send(number, _, Some(thread)) if shown.is_one_of_several(*number) => {
                assert!(
                    self.drawn.contains(number),
                    "{effect:?} was sent before its preview was on the screen"
                );
                self.confirmed
                    .push(("*".into(), format!("/threads/{}", thread.id)));
                self.sent += 1;
            }
            Effect::Send(number, ..) => {
                assert!(
                    matches!(msg, Msg::Key(_)),
                    "{effect:?} was caused by {msg:?}, not by a key"
                );
                assert!(
                    self.drawn.contains(number),
                    "{effect:?} was sent before its preview was on the screen"
                );
                self.confirmed.extend(shown.requests(*number));
                self.sent += 1;
            }
            Effect::StartRun(_, thread, _) => {
                assert!(
                    matches!(msg, Msg::Key(_)),
                    "{effect:?} was caused by {msg:?}, not by a key"
                );
                self.confirmed
                    .push(("*".into(), format!("/threads/{}/runs", thread.id)));
            }
            Effect::Authenticate(..) => {
                assert!(
                    matches!(msg, Msg::Key(_)),
                    "{effect:?} was caused by {msg:?}, not by a key"
                );
                let paths = ["/v2/auth/authenticate", "/api-host/v2/auth/authenticate"];
                self.confirmed
                    .extend(paths.map(|path| ("POST".into(), path.into())));
            }
            Effect::UseProfiles(_, profiles) => self.use_profiles(profiles),
            _ => {}
        }
    }

    /// Checks the requests that the servers received since the last check.
    pub fn on_requests(&mut self, sim: &Sim) {
        let requests = sim.requests();
        sim.forget_requests();
        for request in requests
            .iter()
            .filter(|request| request.header(OTHER_CLIENT).is_none())
        {
            if !is_write(request) {
                continue;
            }
            assert!(
                !self.is_read_only,
                "a read-only dashboard sent {} {}",
                request.method, request.path
            );
            let region = region_of(sim, request);
            assert!(
                self.writable.contains(&region),
                "{} {} went to {} ({region}), whose profile is read-only",
                request.method,
                request.path,
                request.server
            );
            let is_start = request.method == "POST"
                && (request.path == "/threads"
                    || request.path.ends_with("/runs/stream")
                    || request.path.ends_with("/runs"));
            self.started += usize::from(is_start);
            // The thread that was created for a run is deleted again if the server refuses the run.
            if is_start && request.path == "/threads" {
                let created = request.json();
                let id = created["thread_id"]
                    .as_str()
                    .expect("the dashboard chooses the id of a new thread");
                self.confirmed
                    .push(("DELETE".into(), format!("/threads/{id}")));
            }
            let is_confirmed = match request.path.as_str() {
                // It names its threads in the body, and may name only those whose action was confirmed.
                "/threads/prune" => {
                    let body = request.json();
                    let ids = body["thread_ids"].as_array().expect("the threads to prune");
                    !ids.is_empty()
                        && ids
                            .iter()
                            .all(|id| self.acts_on(id.as_str().unwrap_or_default()))
                }
                path => self
                    .confirmed
                    .iter()
                    .any(|(method, confirmed)| match method.as_str() {
                        "*" => path.starts_with(confirmed),
                        method => request.method == method && path == confirmed,
                    }),
            };
            assert!(
                is_start || is_confirmed,
                "{} {} was sent without a confirmation",
                request.method,
                request.path
            );
        }
    }

    /// Whether an action on a thread was confirmed.
    fn acts_on(&self, thread: &str) -> bool {
        self.confirmed
            .iter()
            .any(|(method, path)| method == "*" && *path == format!("/threads/{thread}"))
    }

    /// Draws the screen and checks it.
    pub fn on_draw(&mut self, dashboard: &mut Dashboard) {
        let (w, h) = Shown(&dashboard.app).size();
        let mut terminal = Terminal::new(TestBackend::new(w, h)).unwrap();
        terminal.draw(|frame| dashboard.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        assert_eq!((buffer.area.width, buffer.area.height), (w, h));
        let is_control = |c: char| {
            c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
        };
        let text: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert!(
            !text.contains(is_control),
            "a terminal control character is on the screen: {text:?}"
        );
        let (numbers, keys) = Shown(&dashboard.app).ready();
        assert!(
            numbers.is_empty() || keys.iter().any(|key| text.contains(key)),
            "a preview without a confirmation key: {text}"
        );
        self.drawn.extend(numbers);
    }
}

/// Whether a request changes something, decided independently of the client's own rule.
fn is_write(request: &Request) -> bool {
    let reads = [
        "/search",
        "/count",
        "/history",
        "/state/checkpoint",
        "/store/namespaces",
        "/versions",
        "_logs",
    ];
    match request.method.as_str() {
        "GET" | "HEAD" | "OPTIONS" => false,
        "POST" => !reads.iter().any(|read| request.path.ends_with(read)),
        _ => true,
    }
}

/// The control plane of the region whose server received a request.
fn region_of(sim: &Sim, request: &Request) -> String {
    let tag = request.server.rsplit('-').next().unwrap_or_default();
    let region = sim
        .regions()
        .iter()
        .find(|region| region.region == tag)
        .expect("a region");
    region
        .url
        .parse::<url::Url>()
        .expect("an address")
        .origin()
        .ascii_serialization()
}

/// Checks what must hold in every state.
pub fn check_state(shown: Shown<'_>, is_read_only: bool) {
    let panics = std::mem::take(&mut *PANICS.lock().unwrap());
    assert!(panics.is_empty(), "panics: {panics:#?}");
    shown.check(is_read_only);
}

/// Text as an external editor might return it.
pub fn edited(text: &str, random: &mut fastrand::Rng) -> Result<String, String> {
    match random.u8(0..4) {
        0 => Err("the editor failed".into()),
        1 => Ok(String::new()),
        2 => Ok(text.chars().filter(|_| random.u8(0..20) > 0).collect()),
        _ => Ok(text.into()),
    }
}

pub type Log = Arc<Mutex<Vec<String>>>;
