//! Every change of the dashboard, in every situation in which it can be stopped: how many changing requests it sends, and what the
//! screen says of them. `every_change.txt` has one line per change and one column per situation.

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use runtail_core::config::Config;
use runtail_testkit::still_world::{Fate, Since, StillWorld, with_ids};
use runtail_testkit::table;
use runtail_tui::input::key::parse_keys;
use runtail_tui::input::keymap::BINDINGS;
use runtail_tui::runtime::{Dashboard, Options};
use runtail_tui::session::catalog::ProfileOrigin;
use runtail_tui::session::msg::{Effect, Msg};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The threads of the world.
const THREADS: [&str; 5] = ["$IDLE", "$FAILED", "$ASKING", "$BUSY", "$STUCK"];
/// The width of the first column.
const LABEL: usize = 31;
const TABLE: &str = include_str!("every_change.txt");
const SIZE: (u16, u16) = (130, 40);
/// What the screen says of a read-only profile.
const SEALED: [&str; 1] = ["is read-only"];
/// Long enough for a loaded machine, so a test that reaches it hangs.
const TIMEOUT: Duration = Duration::from_secs(90);

/// What the screen says of a change: that its result is unknown, that a part was made, that it was not made, or that it was made. The first that occurs in a new line counts.
const OUTCOMES: [(&str, &[&str]); 4] = [
    (
        "unknown",
        &[
            "may have been",
            "may be running",
            "nknown whether",
            " 1 unknown",
        ],
    ),
    ("partly", &["Only a part was done"]),
    (
        "refused",
        &["othing was sent", "refused", "status 4", "status 5"],
    ),
    (
        "done",
        &[
            "done.",
            "● completed",
            "started",
            "saved.",
            "Cancelled",
            "before the cancel",
            "sent.",
            "deleted",
            "answered",
            "Ended",
            "Edited",
            "Released",
            "run 1 finished",
        ],
    ),
];
/// What the screen shows while a run is being started.
const UNDECIDED: &str = "reconnecting";

/// Documents of new records.
const DEPLOYMENT: &str = "name = \"new\"\nsource = \"github\"\n[source_config]\nrepo_url = \"https://github.com/acme/bot\"\n\
    deployment_type = \"dev\"\nbuild_on_push = true\nintegration_id = \"11111111-1111-4111-8111-111111111111\"\n\
    [source_revision_config]\nrepo_ref = \"main\"\nlanggraph_config_path = \"langgraph.json\"\n";
const PROVIDER: &str = "provider_id = \"new\"\nname = \"N\"\nclient_id = \"c\"\nauth_url = \"https://a.example\"\n\
    token_url = \"https://t.example\"\n";
const CRON: &str =
    "{\"assistant_id\": \"a0000000-0000-4000-8000-000000000001\", \"schedule\": \"0 9 * * *\"}";
const MCP_SERVER: &str =
    "provider_id = \"new\"\nname = \"N\"\nmcp_server_url = \"https://m.example\"\n";

/// The changes, one a line: the profiles, a name, the end of the path of the requests that are broken (all if it is empty), and the
/// steps to Ctrl-S, which sends the request.
const CHANGES: &str = r#"
plane | create a deployment |  | ~Deployments · 1 | a | ~Not ready | <ctrl-t> | ~Missing | =*=>$FILE | <ctrl-e> | ~●  | <F5> | ~▾ Request
plane | update a deployment |  | ~Deployments · 1 | u | ~Ready | <ctrl-t> | ~●  | =build_on_push = true=>build_on_push = false | <ctrl-e> | ~push = false | <F5> | ~▾ Request
plane | delete a deployment |  | ~Deployments · 1 | D | ~to confirm | bot
plane | redeploy a revision |  | ~Deployments · 1 | ~serving | R | ~▾ Request
plane | roll back to a revision |  | ~Deployments · 1 | ~serving | <Tab>G | z | ~▾ Request
plane | interrupt a revision |  | ~Deployments · 1 | ~serving | x | ~▾ Request
plane | create a listener |  | ~Deployments · 1 | :listeners<Enter> | ~cluster | a | ~●  | <F5> | ~▾ Request
plane | update a listener |  | ~Deployments · 1 | :listeners<Enter> | ~cluster | u | ~●  | ="a"=>"b" | <ctrl-e> | ~"b" | <F5> | ~▾ Request
plane | delete a listener |  | ~Deployments · 1 | :listeners<Enter> | ~cluster | D | ~to confirm | cluster
plane | create a provider |  | ~Deployments · 1 | :providers<Enter> | ~GitHub | a | ~Create | =*=>$PROVIDER | <ctrl-e> | ~●  | <F5> | ~▾ Request
plane | discover a provider |  | ~Deployments · 1 | :providers<Enter> | ~GitHub | N | ~Discover | =*=>$SERVER | <ctrl-e> | ~●  | <F5> | ~▾ Request
plane | update a provider |  | ~Deployments · 1 | :providers<Enter> | ~GitHub | u | ~●  | =GitHub=>Hub | <ctrl-e> | ~"Hub" | <F5> | ~▾ Request
plane | delete a provider |  | ~Deployments · 1 | :providers<Enter> | ~GitHub | D | ~to confirm | github
plane | revoke a token |  | ~Deployments · 1 | :tokens<Enter> | ~ana | D | ~to confirm | ana
plane | revoke the tokens of a provider |  | ~Deployments · 1 | :tokens github<Enter> | ~ana | <ctrl-x> | ~to confirm | github
plane | authenticate |  | ~Deployments · 1 | :authenticate github<Enter> | ~●  | <F5> | ~not sent yet
agent | name a thread |  | ~bot | :thread $IDLE<Enter> | ~finished | :name mine<Enter> | ~▾ Request
agent | star a thread |  | ~bot | <Enter> | ~Threads 5 | :search id:$IDLE<Enter> | ~Threads 1 | * | ~▾ Request
agent | cancel a run |  | ~bot | :thread $BUSY<Enter> | ~running | x | ~▾ Request
agent | cancel a run, roll back |  | ~bot | :thread $BUSY<Enter> | ~running | X | ~▾ Request
agent | delete a thread |  | ~bot | :thread $IDLE<Enter> | ~finished | D | ~to confirm | b0000000
agent | retry a thread |  | ~bot | :thread $FAILED<Enter> | ~failed | R | ~▾ Request
agent | run again |  | ~bot | :thread $IDLE<Enter> | ~finished | R | ~▾ Request
agent | run from a checkpoint |  | ~bot | :thread $IDLE<Enter> | ~finished | 2 | ~__start__ | kR | ~▾ Request
agent | edit the state |  | ~bot | :thread $IDLE<Enter> | ~finished | 2 | ~__start__ | u | ~changed keys only | ="x"=>"y" | <ctrl-e> | ~"y" | <F5> | ~▾ Request
agent | edit and run, 1st | /state | ~bot | :thread $IDLE<Enter> | ~finished | 2 | ~__start__ | ku | ~changed keys only | ="in"=>"y" | <ctrl-e> | ~"y" | <F5> | ~▾ Requests
agent | edit and run, 2nd | /runs | ~bot | :thread $IDLE<Enter> | ~finished | 2 | ~__start__ | ku | ~changed keys only | ="in"=>"y" | <ctrl-e> | ~"y" | <F5> | ~▾ Requests
agent | answer |  | ~bot | :thread $ASKING<Enter> | ~waiting for you | A | ~Ready
agent | end a thread |  | ~bot | i | ~Approve send | x | ~▾ Request
agent | release a thread |  | ~bot | :thread $STUCK<Enter> | ~finished | e | ~isn't moving | U | ~▾ Request
agent | start on a new thread, 1st | /threads | ~bot | n | ~Ready
agent | start on a new thread, 2nd | /stream | ~bot | n | ~Ready
agent | start on a thread |  | ~bot | :thread $IDLE<Enter> | ~finished | n | ~Ready
agent | delete threads |  | ~bot | <Enter> | ~Threads 5 | :search id:$IDLE<Enter> | ~Threads 1 | mD | ~to confirm | delete 1
agent | prune threads |  | ~bot | <Enter> | ~Threads 5 | :search id:$IDLE<Enter> | ~Threads 1 | mD | ~to confirm | <ctrl-t> | ~prune 1 | prune 1
agent | cancel the runs of threads |  | ~bot | <Enter> | ~Threads 5 | :search id:$BUSY<Enter> | ~Threads 1 | mx | ~1 thread to cancel
agent | retry threads |  | ~bot | <Enter> | ~Threads 5 | :search id:$FAILED<Enter> | ~Threads 1 | mR | ~1 thread to retry
agent | restore a version |  | ~bot | <Enter> | ~Threads 5 | 2 | ~second | v | ~current | jz | ~▾ Request
agent | create a cron |  | ~bot | :crons<Enter> | ~enabled | a | ~Cron | =*=>$RUNS | <ctrl-e> | ~●  | <F5> | ~▾ Request
agent | update a cron |  | ~bot | :crons<Enter> | ~enabled | u | ~●  | =0 9 * * *=>0 8 * * * | <ctrl-e> | ~0 8 | <F5> | ~▾ Request
agent | pause a cron |  | ~bot | :crons<Enter> | ~enabled | <ctrl-p> | ~▾ Request
agent | resume a cron |  | ~bot | :crons<Enter> | ~enabled | j<ctrl-p> | ~▾ Request
agent | delete a cron |  | ~bot | :crons<Enter> | ~enabled | D | ~▾ Request
agent | create an item |  | ~bot | :store<Enter> | ~▸ a | a | ~Item | ="key": ""=>"key": "new" | <ctrl-e> | ~●  | <F5> | ~▾ Request
agent | write an item |  | ~bot | :store<Enter> | ~▸ a | <Enter> | ~{"x":1} | ju | ~●  | =1=>2 | <ctrl-e> | ~: 2 | <F5> | ~▾ Request
agent | delete an item |  | ~bot | :store<Enter> | ~▸ a | <Enter> | ~{"x":1} | jD | ~▾ Request
"#;

/// The keys that change something, or lead to the preview of a change: each with a change that it makes, maybe from another screen.
const KEYS: &str = "
create a deployment = deployments.create editor.preview confirm.send confirm.edit
update a deployment = deployments.update
delete a deployment = deployments.delete
redeploy a revision = deployments.redeploy revisions.redeploy card.redeploy
roll back to a revision = deployments.rollback revisions.rollback card.rollback
interrupt a revision = deployments.interrupt revisions.interrupt card.interrupt
create a listener = browse.create
update a listener = browse.update
delete a listener = browse.delete
revoke the tokens of a provider = browse.delete_all
authenticate = signin.send
star a thread = server.star
cancel a run = server.cancel stream.cancel why.cancel
cancel a run, roll back = server.rollback stream.rollback
delete a thread = server.delete stream.delete
retry a thread = server.retry inbox.retry stream.again why.again
run again = why.restore
edit the state = stream.edit_state why.edit_state
answer = answer.send server.answer server.approve stream.answer stream.approve why.answer why.approve inbox.answer inbox.approve
end a thread = inbox.end
release a thread = why.release
start on a new thread, 1st = deployments.new_run server.new_run composer.start
start on a thread = stream.new_run why.new_run
restore a version = records.restore
create a cron = records.create
update a cron = records.update
pause a cron = records.pause
delete a cron = records.delete
";
/// The keys that only write a file.
const LOCAL: [&str; 1] = ["save.write"];

struct Change {
    profiles: &'static str,
    name: &'static str,
    broken: &'static str,
    steps: Vec<&'static str>,
}

fn changes() -> Vec<Change> {
    let change = |line: &'static str| {
        let mut words = line.split(" | ");
        let mut next = || words.next().expect("a change").trim();
        let (profiles, name, broken) = (next(), next(), next());
        Change {
            profiles,
            name,
            broken,
            steps: words.collect(),
        }
    };
    CHANGES
        .lines()
        .filter(|line| !line.is_empty())
        .map(change)
        .collect()
}

/// The columns of the table.
const SITUATIONS: [(&str, Situation); 12] = [
    ("done", Situation::Server(Fate::Done)),
    ("Esc", Situation::Cancelled),
    ("sealed", Situation::ReadOnly),
    ("403", Situation::Server(Fate::Refused(403))),
    ("409", Situation::Server(Fate::Refused(409))),
    ("422", Situation::Server(Fate::Refused(422))),
    ("429", Situation::Server(Fate::Refused(429))),
    ("500", Situation::Server(Fate::Refused(500))),
    ("cut", Situation::Server(Fate::NoAnswer)),
    ("half", Situation::Server(Fate::HalfAnswer)),
    ("changed", Situation::Since(Since::Changed)),
    ("run", Situation::Since(Since::RunStarted)),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Situation {
    /// Esc instead of Ctrl-S.
    Cancelled,
    /// The profile is read-only.
    ReadOnly,
    /// The server answers like this.
    Server(Fate),
    /// Another client acts while the preview is open.
    Since(Since),
}

/// A dashboard in a still world.
struct Desk {
    dashboard: Dashboard,
    /// What the user's editor replaces, and by what.
    edit: (String, String),
    world: StillWorld,
    /// What the test does, for its failure.
    label: String,
    _folder: tempfile::TempDir,
}

impl Desk {
    fn open(profiles: &str, world: StillWorld, is_read_only: bool) -> Desk {
        let (folder, file) = world.config(if is_read_only { "read_only = true" } else { "" });
        let key = folder.path().join("key");
        std::fs::write(&key, "a-key").expect("written");
        #[cfg(unix)]
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .expect("permissions");
        let text = std::fs::read_to_string(&file).expect("a configuration");
        std::fs::write(
            &file,
            text.replace(
                "api_key_env = \"RUNTAIL_TEST_KEY\"",
                "api_key_file = \"key\"",
            ),
        )
        .expect("written");
        let mut config = Config::load(Some(Path::new(&file))).expect("a configuration");
        config.seal(false, false);
        let names: Vec<String> = profiles.split(' ').map(str::to_string).collect();
        let chosen = config.choose(&names).expect("profiles");
        let mut options = Options::new(&config, chosen, TimeZone::UTC);
        options.origin = ProfileOrigin {
            file: Some(file.into()),
            ..ProfileOrigin::default()
        };
        let (dashboard, first) = Dashboard::new(options, SIZE).expect("a dashboard");
        let mut desk = Desk {
            dashboard,
            edit: Default::default(),
            world,
            label: String::new(),
            _folder: folder,
        };
        desk.perform(first);
        desk.dashboard.reconcile();
        desk
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let (to, effect) = effect.addressed();
            match effect {
                Effect::EditOutside(text) => {
                    let (old, new) = &self.edit;
                    let edited = match (old.as_str(), new.as_str()) {
                        ("*", "$FILE") => DEPLOYMENT.to_string(),
                        ("*", "$PROVIDER") => PROVIDER.to_string(),
                        ("*", "$RUNS") => CRON.to_string(),
                        ("*", _) => MCP_SERVER.to_string(),
                        _ => text.replace(old, new),
                    };
                    self.apply(Msg::Edited(Ok(edited)));
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

    fn apply(&mut self, msg: Msg) {
        if let Msg::TaskPanicked { text, .. } = &msg {
            panic!("a background task panicked: {text}");
        }
        let effects = self.dashboard.update(msg);
        self.perform(effects);
        self.dashboard.reconcile();
    }

    fn screen(&mut self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a terminal");
        terminal
            .draw(|frame| self.dashboard.draw(frame))
            .expect("a frame");
        let cells = &terminal.backend().buffer().content;
        let rows = cells
            .chunks(SIZE.0.into())
            .map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.map(|row| row.trim_end().to_string() + "\n").collect()
    }

    fn keys(&mut self, keys: &str) {
        for key in parse_keys(keys).expect("keys") {
            self.dashboard.app.relayout();
            self.dashboard.app.on_drawn();
            self.apply(Msg::Key(key));
        }
    }

    /// Applies messages until the screen is as wanted.
    async fn wait<T>(&mut self, what: &str, mut wanted: impl FnMut(&str) -> Option<T>) -> T {
        let until = tokio::time::Instant::now() + TIMEOUT;
        loop {
            let screen = self.screen();
            if let Some(found) = wanted(&screen) {
                return found;
            }
            match tokio::time::timeout_at(until, self.dashboard.next_message()).await {
                Ok(msg) => self.apply(msg),
                Err(_) => panic!("{}: no {what} on the screen:\n{screen}", self.label),
            }
            while let Some(msg) = self.dashboard.try_next_message() {
                self.apply(msg);
            }
        }
    }

    /// Carries out a step: `~TEXT` waits for a text, `=OLD=>NEW` is what the editor does, everything else are keys. Returns whether
    /// the change is refused because the profile is read-only.
    async fn step(&mut self, step: &str) -> bool {
        let step = with_ids(step, true).replace("$URL", &self.world.url());
        if let Some(text) = step.strip_prefix('~') {
            return self
                .wait(text, |screen| {
                    match SEALED.iter().any(|words| screen.contains(words)) {
                        true => Some(true),
                        false => screen.contains(text).then_some(false),
                    }
                })
                .await;
        } else if let Some((old, new)) = step
            .strip_prefix('=')
            .and_then(|step| step.split_once("=>"))
        {
            self.edit = (old.to_string(), new.to_string());
        } else if let Some(line) = step
            .strip_prefix(':')
            .and_then(|step| step.strip_suffix("<Enter>"))
        {
            self.keys(":");
            self.apply(Msg::Paste(line.to_string()));
            self.keys("<Enter>");
        } else {
            self.keys(&step);
        }
        false
    }
}

/// The lines of a screen that were not on it before, without their frames.
fn new_lines<'a>(before: &str, after: &'a str) -> Vec<&'a str> {
    let known: Vec<&str> = before.lines().collect();
    after
        .lines()
        .filter(|line| !known.contains(line))
        .map(|line| line.trim_matches(['│', ' ']))
        .collect()
}

fn outcome_of(lines: &[&str]) -> Option<&'static str> {
    let is_in = |words: &[&str]| {
        lines
            .iter()
            .any(|line| words.iter().any(|word| line.contains(word)))
    };
    OUTCOMES
        .iter()
        .find(|(_, words)| is_in(words))
        .map(|(outcome, _)| *outcome)
}

/// Makes a change in a situation. Returns the number of changing requests and the outcome on the screen, and the requests.
async fn cell(change: &Change, situation: Situation) -> (String, Vec<String>) {
    let Change {
        profiles,
        name,
        broken,
        ref steps,
    } = *change;
    let fate = if let Situation::Server(fate) = situation {
        fate
    } else {
        Fate::Done
    };
    let mut desk = Desk::open(
        profiles,
        StillWorld::start(fate, broken),
        situation == Situation::ReadOnly,
    );
    desk.label = format!("{name}, {situation:?}");
    for step in steps {
        if desk.step(step).await {
            return (format!("{} refused", desk.world.writes().len()), Vec::new());
        }
    }
    let before = desk.screen();
    assert_eq!(desk.world.writes(), [""; 0], "{name}: sent before Ctrl-S");
    if situation == Situation::Cancelled {
        desk.keys("<Esc>");
        desk.wait("change", |screen| (screen != before).then_some(()))
            .await;
        return (desk.world.writes().len().to_string(), Vec::new());
    }
    if let Situation::Since(since) = situation {
        desk.world.change_now(since);
    }
    desk.keys("<ctrl-s>");
    let decided = |screen: &str| {
        outcome_of(&new_lines(&before, screen)).filter(|_| !screen.contains(UNDECIDED))
    };
    let outcome = desk.wait("outcome", decided).await;
    let writes = desk.world.writes();
    (format!("{} {outcome}", writes.len()), writes)
}

/// Returns the line of a change.
fn line(change: &Change) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let Change { name, steps, .. } = change;
    let is_of_thread = steps
        .iter()
        .any(|step| *step == "i" || THREADS.iter().any(|thread| step.contains(thread)));
    let (mut line, mut requests) = (format!("{name:LABEL$}"), Vec::new());
    for (title, situation) in SITUATIONS {
        let is_needless = match situation {
            Situation::Since(Since::RunStarted) => !is_of_thread,
            Situation::Since(_) => *name == "authenticate" || name.starts_with("start on a new"),
            _ => false,
        };
        let (cell, writes) = if is_needless {
            ("-".into(), Vec::new())
        } else {
            runtime.block_on(cell(change, situation))
        };
        if title == "done" {
            requests = writes;
        }
        let _ = write!(line, " {cell:width$}", width = width_of(title));
    }
    requests.sort();
    format!("{line}  {}", requests.join(", "))
}

fn width_of(title: &str) -> usize {
    match title {
        "done" => 6,
        "Esc" => 3,
        _ => 9,
    }
}

#[test]
fn every_change_of_the_dashboard_is_sent_once_or_not_at_all() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let columns = SITUATIONS.map(|(title, _)| (title, width_of(title)));
    table::check(TABLE, LABEL, &columns, &changes(), line);
}

#[test]
fn every_key_that_changes_something_has_a_row() {
    let changes = changes();
    let mut keys: Vec<&str> = LOCAL.to_vec();
    for line in KEYS.lines().filter(|line| !line.is_empty()) {
        let (name, of) = line.split_once(" = ").expect("a row and its keys");
        let is_row = changes.iter().any(|change| change.name == name);
        assert!(is_row, "{name}: in KEYS, but not in CHANGES");
        keys.extend(of.split(' '));
    }
    keys.sort_unstable();
    let mut found: Vec<&str> = BINDINGS
        .iter()
        .filter(|binding| binding.writes)
        .map(|binding| binding.id)
        .collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(
        keys, found,
        "KEYS (left) and the keys that change something"
    );
}
