//! Random steps with weights: mostly keys that do something on the current screen.

use fastrand::Rng;
use runtail_sim::Rule;
use runtail_testkit::dash::Shown;
use runtail_testkit::screen_checks;
use runtail_tui::app::palette::ArgumentKind;
use runtail_tui::app::palette::COMMANDS;
use runtail_tui::input::action::{Action, Context};
use runtail_tui::input::key::{Code, Key};
use runtail_tui::input::keymap::{BINDINGS, Keymap};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

/// Something that happens to the dashboard.
#[derive(Debug, Clone)]
pub enum Step {
    Keys(Vec<Key>),
    Paste(String),
    Resize(u16, u16),
    Wheel(i8, u16, u16),
    /// A click and a drag.
    Click(u16, u16, u16, u16),
    Focus(bool),
    Tick,
    /// Servers fail.
    Fault(Box<Rule>),
    /// Servers work again.
    Heal,
    /// Another client changes something.
    Other(Other),
    /// The configuration file is replaced by this variant.
    Config(usize),
    /// Background tasks run for this many milliseconds.
    Wait(u64),
}

/// What another client does to objects that the dashboard shows.
#[derive(Debug, Clone, Copy)]
pub enum Other {
    DeleteThread,
    DeleteDeployment,
    StartRun,
    EditState,
    CancelRuns,
}

/// Variants of the configuration file: see `World::config`.
pub const CONFIGS: usize = 5;

static HOSTILE: LazyLock<Vec<String>> = LazyLock::new(screen_checks::responses);

/// Words that are typed into fields, pasted and passed to commands.
const WORDS: [&str; 24] = [
    "support",
    "hello",
    "approved",
    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}",
    "true",
    "null",
    "[1, 2",
    "42",
    "#12",
    "ai|tool",
    "[",
    "is:error",
    "node:agent",
    "!not",
    "日本語👩‍👩‍👧‍👦e\u{301}שלום",
    "\u{1b}[31mred\u{1b}[0m \u{202e}evil\u{0}",
    "prod-eu",
    "00000000-0000-0000-0000-000000000000",
    "http://127.0.0.1:1/threads/00000000-0000-0000-0000-000000000000",
    "{\"plan\": \"do it\"}\nsecond line\n\tthird",
    "text",
    "jsonl out.jsonl",
    "name = \"x\"\n",
    "one two  three",
];

/// The keys of these contexts, without those that quit or suspend.
fn bound(contexts: impl Fn(Context) -> bool) -> Vec<Key> {
    let leaves = |action: Action| matches!(action, Action::QuitNow);
    let rows = BINDINGS
        .iter()
        .filter(|row| contexts(row.context) && !leaves(row.action));
    let (keymap, _) = Keymap::new(&BTreeMap::new());
    rows.flat_map(|row| keymap.keys_of(row.id).to_vec())
        .collect()
}

static EVERY_KEY: LazyLock<Vec<Key>> = LazyLock::new(|| bound(|_| true));

fn key(code: Code) -> Key {
    Key::plain(code)
}

fn ctrl(c: char) -> Key {
    Key {
        code: Code::Char(c),
        ctrl: true,
        alt: false,
    }
}

fn typed(text: &str) -> Vec<Key> {
    let key = |c| match c {
        '\n' => key(Code::Enter),
        '\t' => key(Code::Tab),
        c => Key::char(c),
    };
    text.chars().map(key).collect()
}

fn word(random: &mut Rng) -> String {
    match random.u8(0..8) {
        0 => HOSTILE[random.usize(0..HOSTILE.len())]
            .chars()
            .take(200)
            .collect(),
        1 => "x".repeat(random.usize(1..4000)),
        _ => WORDS[random.usize(0..WORDS.len())].to_string(),
    }
}

/// A palette command with a possible argument.
fn command(random: &mut Rng) -> Vec<Key> {
    let known: Vec<_> = COMMANDS
        .iter()
        .filter(|command| command.name != "quit")
        .collect();
    let command = known[random.usize(0..known.len())];
    let argument = match command.takes {
        ArgumentKind::Nothing => String::new(),
        ArgumentKind::Word(words) => words[random.usize(0..words.len())].to_string(),
        ArgumentKind::Stream => random.u8(0..9).to_string(),
        // Longer text is pasted: thousands of keys would take most of the time.
        _ => word(random).chars().take(300).collect(),
    };
    let mut keys = vec![Key::char(':')];
    keys.extend(typed(&format!(
        "{} {}",
        command.name,
        argument.replace('\n', " ")
    )));
    keys.push(key(if random.u8(0..5) == 0 {
        Code::Tab
    } else {
        Code::Enter
    }));
    keys
}

/// The keys that confirm a dialog: the name that it requires, then the key that sends.
fn consent(shown: Shown<'_>) -> Option<Vec<Key>> {
    let mut keys = vec![ctrl('u')];
    keys.extend(typed(&shown.consent()?));
    keys.push(ctrl('s'));
    Some(keys)
}

/// Keys that are useful in a context, preferred over others.
fn likely(context: Context, random: &mut Rng) -> Vec<Key> {
    let with_global = random.bool();
    let mut keys = bound(|of| of == context || (of == Context::Global && with_global));
    // There `q` ends the game.
    keys.retain(|key| context != Context::Deployments || *key != Key::char('q'));
    match keys.is_empty() {
        true => vec![key(Code::Esc)],
        false => vec![keys[random.usize(0..keys.len())]],
    }
}

fn size(random: &mut Rng) -> (u16, u16) {
    match random.u8(0..10) {
        0 => (random.u16(0..4), random.u16(0..4)),
        1 => (random.u16(0..60), random.u16(0..12)),
        2 => (random.u16(58..63), random.u16(11..14)),
        3 => (random.u16(200..300), random.u16(60..100)),
        4 => (80, 24),
        _ => (random.u16(60..180), random.u16(12..50)),
    }
}

/// A fault that affects a bounded number of requests.
fn fault(random: &mut Rng) -> Rule {
    let places = [
        "",
        "/v2",
        "/v2/deployments",
        "/revisions",
        "/threads",
        "/state",
        "/history",
        "/stream",
        "logs",
        "/info",
    ];
    let place = places[random.usize(0..places.len())];
    let any = Rule::on("*", place).times(random.usize(1..6));
    let stream = || Rule::on("*", "/stream");
    match random.u8(0..16) {
        0 => any.status(500),
        1 => any.status(503),
        2 => any.status(429).header("retry-after", "1"),
        3 => any.status(429),
        4 => any.status(401),
        5 => any.status(404),
        6 => any.html(502),
        7 => any.delay(Duration::from_millis(random.u64(10..800))),
        8 => any.hang(),
        9 => any.cut_after_bytes(random.usize(0..2000)),
        10 => any.close_after_bytes(random.usize(0..2000)),
        11 => stream().times(3).cut_after_events(random.usize(1..30)),
        12 => stream()
            .times(2)
            .pause_after_bytes(random.usize(0..3000), Duration::from_millis(700)),
        13 => stream().times(2).rechunk(random.usize(1..9)),
        14 => {
            let body: String = (0..4)
                .map(|_| HOSTILE[random.usize(0..HOSTILE.len())].as_str())
                .collect();
            stream()
                .times(2)
                .status(200)
                .header("content-type", "text/event-stream")
                .body(&body)
        }
        _ => {
            // Valid responses that name other objects, or none.
            let bodies = [
                "null",
                "[]",
                "{}",
                "[null, 7, \"x\"]",
                r#"{"id": "another", "thread_id": "another", "run_id": "another", "status": "NOVEL"}"#,
                r#"[{"thread_id": "\u001b[31m", "status": 7}, {"run_id": null}, {"id": "\u202eevil"}]"#,
                r#"{"resources": [{"id": "a", "name": "\u0000"}, {"id": "a"}], "offset": -1}"#,
                r#"{"values": {"messages": [null, {"type": "ai"}]}, "next": ["nowhere"], "tasks": [{"interrupts": [null]}]}"#,
            ];
            any.status(200).body(bodies[random.usize(0..bodies.len())])
        }
    }
}

/// Chooses the next step for a dashboard in this state.
pub fn next(shown: Shown<'_>, random: &mut Rng) -> Step {
    if random.bool()
        && let Some(keys) = consent(shown)
    {
        return Step::Keys(keys);
    }
    if shown.is_typing() && random.u8(0..3) == 0 {
        return match random.u8(0..6) {
            0 => Step::Paste(word(random)),
            1 if shown.context() != Context::Confirm => Step::Keys(vec![ctrl('s')]),
            _ => Step::Keys(typed(&word(random).chars().take(120).collect::<String>())),
        };
    }
    let (w, h) = shown.size();
    let (w, h) = (w.max(1), h.max(1));
    // Lists open screens with more to do.
    if matches!(shown.context(), Context::Deployments | Context::Server) && random.u8(0..5) == 0 {
        let keys = [
            key(Code::Enter),
            key(Code::Down),
            Key::char('n'),
            Key::char('a'),
            Key::char('x'),
            Key::char('D'),
        ];
        return Step::Keys(vec![keys[random.usize(0..keys.len())]]);
    }
    if shown.context() == Context::Composer && random.u8(0..2) == 0 {
        let mut keys = typed("hello");
        keys.push(ctrl('s'));
        return Step::Keys(keys);
    }
    match random.u8(0..100) {
        0..45 => Step::Keys(likely(shown.context(), random)),
        45..50 => Step::Keys(vec![EVERY_KEY[random.usize(0..EVERY_KEY.len())]]),
        50..58 => Step::Keys(vec![key(Code::Enter)]),
        58..62 => Step::Keys(vec![key(Code::Esc)]),
        62..68 => Step::Keys(command(random)),
        68..70 => Step::Paste(word(random)),
        70..74 => {
            let (w, h) = size(random);
            Step::Resize(w, h)
        }
        74..76 => Step::Wheel(random.i8(-5..6), random.u16(0..w), random.u16(0..h)),
        76..79 => Step::Click(
            random.u16(0..w),
            random.u16(0..h),
            random.u16(0..300),
            random.u16(0..100),
        ),
        79..80 => Step::Focus(random.bool()),
        80..81 => Step::Tick,
        81..87 => Step::Fault(Box::new(fault(random))),
        87..89 => Step::Heal,
        89..92 => {
            use Other::*;
            let others = [
                DeleteThread,
                DeleteDeployment,
                StartRun,
                StartRun,
                EditState,
                CancelRuns,
            ];
            Step::Other(others[random.usize(0..others.len())])
        }
        92..93 => Step::Config(random.usize(0..CONFIGS)),
        _ => Step::Wait(random.u64(5..120)),
    }
}
