//! The dashboard's state under scripted and random sequences of messages.

use proptest::prelude::*;
use proptest::sample::select;
use runtail_api::doctor::{Check, Fault};
use runtail_api::{Kind, LoadedThread};
use runtail_core::model::{RunFacts, StateFacts, ThreadFacts};
use runtail_stream::{Item, Seq};
use runtail_testkit::dash::{Dash, Dialog, demo, demo_like};
use runtail_testkit::screen_checks as hostile;
use runtail_tui::app::Pane;
use runtail_tui::features::stream::views::{VIEWS, View};
use runtail_tui::input::action::{Action, Context};
use runtail_tui::input::key::{Code, Key};
use runtail_tui::input::keymap::{BINDINGS, Keymap};
use runtail_tui::session::msg::{
    Effect, EffectResult, Msg, SubscriptionEvent, SubscriptionId, SubscriptionKind, ThreadsRead,
};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A random input to the dashboard.
#[derive(Debug, Clone)]
enum Step {
    Key(Key),
    Paste(String),
    Resize(u16, u16),
    Wheel(i8, u16, u16),
    Click(u16, u16),
    Assistants,
    Threads,
    Runs,
    Stream(&'static str),
    Hostile(usize),
    Tick,
    Retry,
    End,
    Refuse,
    Focus(bool),
    Log,
    Watched(&'static str),
    Card,
}

/// Captures that show each kind of event, of all three servers.
const CAPTURES: [&str; 9] = [
    "fanout-many-subgraphs",
    "agent-messages-tuple",
    "thread-all-modes",
    "agent-events",
    "js-agent-debug",
    "js-fanout-many",
    "aegra-fanout-many",
    "aegra-broken",
    "v2-events-agent",
];

static HOSTILE: LazyLock<Vec<String>> = LazyLock::new(hostile::responses);

/// Returns the keys that are bound in these contexts, except those that quit.
fn bound(contexts: impl Fn(Context) -> bool) -> Vec<Key> {
    let quits = |action: Action| matches!(action, Action::Quit | Action::QuitNow);
    let rows = BINDINGS
        .iter()
        .filter(|row| contexts(row.context) && !quits(row.action));
    let (keymap, _) = Keymap::new(&BTreeMap::new());
    rows.flat_map(|row| keymap.keys_of(row.id).to_vec())
        .collect()
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        4 => select(vec![Code::Enter, Code::Esc, Code::Up, Code::Down, Code::Backspace, Code::Delete]).prop_map(Key::plain),
        4 => select(bound(|context| matches!(context, Context::Stream | Context::Global))),
        4 => select(bound(|_| true)),
        2 => select(" x\"{}é!:".chars().collect::<Vec<_>>()).prop_map(Key::char),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => key().prop_map(Step::Key),
        1 => prop_oneof!["\\PC{0,20}", "#[0-9]{1,2}"].prop_map(Step::Paste),
        1 => prop_oneof![(0u16..220, 0u16..70), (20u16..300, 5u16..100)].prop_map(|(w, h)| Step::Resize(w, h)),
        1 => (-5i8..5, 0u16..200, 0u16..60).prop_map(|(n, x, y)| Step::Wheel(n, x, y)),
        1 => (0u16..200, 0u16..60).prop_map(|(x, y)| Step::Click(x, y)),
        3 => Just(Step::Assistants),
        2 => Just(Step::Threads),
        1 => Just(Step::Runs),
        3 => select(CAPTURES.to_vec()).prop_map(Step::Stream),
        1 => (0..HOSTILE.len()).prop_map(Step::Hostile),
        1 => Just(Step::Tick),
        1 => Just(Step::Retry),
        1 => Just(Step::End),
        1 => Just(Step::Refuse),
        1 => any::<bool>().prop_map(Step::Focus),
        3 => Just(Step::Log),
        2 => select(vec!["BUILDING", "DEPLOYED", "BUILD_FAILED", "NOVEL"]).prop_map(Step::Watched),
        2 => Just(Step::Card),
    ]
}

fn is_subscribed(dash: &Dash, matches_id: fn(&SubscriptionId) -> bool) -> bool {
    dash.wants(matches_id)
}

fn apply_step(dash: &mut Dash, step: Step) -> Vec<Effect> {
    match step {
        Step::Key(key) => return dash.feed(Msg::Key(key)),
        Step::Paste(text) => return dash.feed(Msg::Paste(text)),
        Step::Resize(w, h) => dash.resize(w, h),
        Step::Wheel(lines, x, y) => return dash.feed(Msg::Wheel { lines, x, y }),
        Step::Click(x, y) => {
            let mut effects = dash.feed(Msg::Click { x, y });
            effects.extend(dash.feed(Msg::Drag { x: y, y: x }));
            return effects;
        }
        Step::Assistants => dash.assistants(),
        Step::Threads if is_subscribed(dash, |k| matches!(k, SubscriptionId::Threads(_))) => {
            dash.threads()
        }
        Step::Runs if is_subscribed(dash, |k| matches!(k, SubscriptionId::Runs(..))) => dash.runs(),
        Step::Stream(name) if is_subscribed(dash, |k| matches!(k, SubscriptionId::Stream(_))) => {
            dash.capture(name)
        }
        Step::Hostile(n) if is_subscribed(dash, |k| matches!(k, SubscriptionId::Stream(_))) => {
            dash.receive(HOSTILE[n].clone().into_bytes())
        }
        Step::Tick => dash.pass(1),
        Step::Retry if is_subscribed(dash, |k| matches!(k, SubscriptionId::Stream(_))) => {
            dash.retrying(2, 3, "cut")
        }
        Step::End if is_subscribed(dash, |k| matches!(k, SubscriptionId::Stream(_))) => {
            dash.end(runtail_stream::Outcome::Error)
        }
        Step::Refuse
            if is_subscribed(dash, |k| {
                *k == SubscriptionId::Deployments("prod-eu".into())
            }) =>
        {
            dash.refuse("prod-eu")
        }
        Step::Focus(has_focus) => return dash.feed(Msg::Focus(has_focus)),
        Step::Log if is_subscribed(dash, |k| matches!(k, SubscriptionId::Log(..))) => {
            dash.log_lines()
        }
        Step::Watched(status) if is_subscribed(dash, |k| matches!(k, SubscriptionId::Watch(_))) => {
            return dash.watched(status);
        }
        Step::Card => dash.card(),
        _ => {}
    }
    Vec::new()
}

/// Returns whether the step is user input, which may move the cursor.
fn is_user_input(step: &Step) -> bool {
    matches!(
        step,
        Step::Key(_) | Step::Paste(_) | Step::Wheel(..) | Step::Click(..)
    )
}

/// Returns the cursor of each stream without a search, which moves the cursor when it finds a match, and in which no run is
/// shown alone, whose end keeps the cursor when a later run begins.
fn cursors(dash: &Dash) -> Vec<(u64, Option<Seq>)> {
    let tabs = dash.tabs().into_iter();
    let free = tabs.filter(|tab| !tab.is_searched && !tab.has_one_run);
    free.map(|tab| (tab.id, tab.position)).collect()
}

/// Checks the invariants of every state: drawing is deterministic and contains nothing that a terminal would interpret,
/// and tabs and split views are consistent.
#[track_caller]
fn check_invariants(dash: &mut Dash) {
    let buffer = dash.buffer();
    assert_eq!(
        dash.buffer(),
        buffer,
        "drawing twice gives different screens"
    );
    let is_interpreted = |c: char| {
        c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    for cell in &buffer.content {
        assert!(
            !cell.symbol().contains(is_interpreted),
            "{:?}",
            cell.symbol()
        );
    }
    dash.check_streams();
}

/// Applies a step and checks the invariants. Only user input may move a cursor.
fn apply_and_check(dash: &mut Dash, step: Step) {
    let (before, is_user_input) = (cursors(dash), is_user_input(&step));
    apply_step(dash, step.clone());
    check_invariants(dash);
    if !is_user_input {
        assert_eq!(cursors(dash), before, "{step:?} moved a cursor");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_input_keeps_dashboard_invariants(steps in proptest::collection::vec(step(), 1..80)) {
        let mut dash = demo_like((120, 30));
        for step in steps {
            apply_and_check(&mut dash, step);
        }
    }

    #[test]
    fn random_input_keeps_viewer_invariants(
        steps in proptest::collection::vec(step(), 1..80),
        first in select(CAPTURES.to_vec()),
        rows in select(vec![7, 40, 1_000_000]),
    ) {
        let mut dash = demo_like((120, 30));
        dash.keep_events(rows);
        dash.open_thread();
        dash.capture(first);
        for step in steps {
            apply_and_check(&mut dash, step);
        }
    }

}

/// Sends every kind of bad input to every view: formatted and raw, wrapped, filtered, searched, at all sizes.
#[test]
fn malformed_events_do_not_hide_others_in_any_view() {
    let mut dash = demo_like((120, 30));
    dash.open_thread();
    dash.capture("fanout-many-subgraphs");
    for response in hostile::responses() {
        dash.receive(response.into_bytes());
        for view in VIEWS.map(View::digit) {
            dash.keys(&format!("{view}"));
            check_invariants(&mut dash);
        }
    }
    dash.continue_capture("agent-messages-tuple");
    dash.keys("1");
    // Valid events are still shown.
    dash.shows("bring 日焼け止め.");
    for keys in ["w", "v", "T", "T", "/evil|7<Enter>]", "&!evil<Enter>", "|"] {
        dash.keys(keys);
        for (view, size) in VIEWS.into_iter().cycle().zip([
            (300, 100),
            (20, 5),
            (80, 24),
            (60, 12),
            (119, 30),
            (200, 50),
            (61, 13),
            (140, 40),
            (99, 17),
        ]) {
            dash.resize(size.0, size.1);
            dash.keys(&format!("{}<Home><Down><PageDown>", view.digit()));
            check_invariants(&mut dash);
            assert!(dash.view() == view);
        }
    }
}

#[test]
fn five_megabyte_lines_work_in_every_view() {
    let mut dash = demo_like((100, 30));
    dash.open_thread();
    for line in hostile::long_lines() {
        dash.receive(line.into_bytes());
    }
    for keys in ["", "w", "v"] {
        dash.keys(keys);
        for view in VIEWS {
            dash.keys(&format!("{}<Home>", view.digit()));
            check_invariants(&mut dash);
            // Opens the JSON too, if it is in memory.
            dash.keys("<Enter>");
            check_invariants(&mut dash);
            if dash.dialog().is_some() {
                dash.keys("<Esc>");
            }
            // Timeline goes to the event in another view.
            dash.keys(&format!("{}<End>", view.digit()));
            assert!(dash.view() == view);
        }
    }
}

#[test]
fn outdated_responses_are_ignored() {
    let mut dash = demo();
    dash.open_server();
    let sub = dash.wanted(|key| matches!(key, SubscriptionId::Threads(_)));
    let threads = serde_json::from_str(r#"[{"thread_id": "late"}]"#).unwrap();
    // After a manual refresh, the response to the first request is outdated.
    dash.keys("r");
    let late = Msg::Subscription {
        key: sub.key,
        epoch: sub.epoch,
        event: SubscriptionEvent::Threads(ThreadsRead::all(Ok(threads))),
    };
    dash.feed(late);
    dash.lacks("late");
}

#[test]
fn streams_keep_running_until_their_tab_is_closed() {
    let mut dash = demo();
    dash.open_thread();
    assert!(is_subscribed(&dash, |k| matches!(
        k,
        SubscriptionId::Stream(_)
    )));
    assert!(
        !is_subscribed(&dash, |k| matches!(k, SubscriptionId::Threads(_))),
        "lists that aren't on screen aren't polled"
    );
    dash.keys("<Esc>");
    assert!(is_subscribed(&dash, |k| matches!(
        k,
        SubscriptionId::Threads(_)
    )));
    assert!(
        is_subscribed(&dash, |k| matches!(k, SubscriptionId::Stream(1))),
        "the stream and its position are kept"
    );
    // Reopening the thread shows the same stream and keeps it; another thread opens a new one.
    dash.keys("<Enter>");
    assert_eq!(dash.stream(), Some(1));
    dash.keys("<Esc><Down><Enter>");
    assert_eq!((dash.tabs().len(), dash.stream()), (2, Some(2)));
    // A thread that was only looked at is replaced by the next one.
    dash.keys("<Esc><Up><Up><Enter>");
    let ids: Vec<u64> = dash.tabs().iter().map(|tab| tab.id).collect();
    assert_eq!(ids, [1, 3]);
    // From the last tab to the deployments and the list of threads, then to the first stream.
    dash.keys("}");
    assert_eq!((dash.focus(), dash.stream()), (Pane::Deployments, Some(3)));
    dash.keys("}");
    assert_eq!((dash.focus(), dash.stream()), (Pane::Stream, None));
    dash.keys("}");
    assert_eq!(dash.stream(), Some(1));
    dash.keys("q");
    assert!(!is_subscribed(&dash, |k| matches!(
        k,
        SubscriptionId::Stream(1)
    )));
    // Closing a tab returns to its list; the other stream stays open.
    assert!(!dash.has_stream() && is_subscribed(&dash, |k| matches!(k, SubscriptionId::Stream(3))));
    dash.keys("}q");
    assert!(!is_subscribed(&dash, |k| matches!(
        k,
        SubscriptionId::Stream(_)
    )));
    assert!(is_subscribed(&dash, |k| matches!(
        k,
        SubscriptionId::Threads(_)
    )));
}

#[test]
fn opening_a_recording_shows_no_connection_status() {
    let mut dash = Dash::new(
        "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n",
        (100, 30),
    );
    dash.open_recording("tests/fixtures/support-run.jsonl".into());
    let screen = dash.screen();
    dash.shows(["◐ reading", "Reading the recording…"]);
    assert!(!screen.to_lowercase().contains("connecting"));
    dash.end(runtail_stream::Outcome::Success);
    dash.lacks("eading");
}

#[test]
fn idle_dashboard_needs_no_ticks() {
    let mut dash = Dash::new(
        "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n",
        (100, 30),
    );
    dash.threads();
    assert_eq!(dash.next_tick(), None);
    // A stream counts seconds until it has ended and its notice is gone.
    dash.keys("<Enter>");
    assert!(dash.next_tick().is_some());
    dash.end(runtail_stream::Outcome::Success);
    assert_eq!(dash.next_tick(), None);
}

#[test]
fn composer_selects_the_threads_assistant_from_a_late_list() {
    let mut dash = demo();
    dash.keys("<Enter>");
    dash.threads();
    // The third thread ran the graph `broken`, which this server does not list; the first one `agent`.
    dash.keys("n");
    dash.shows("loading assistants…");
    dash.assistants();
    dash.shows("[ agent v1 ");
}

/// Presses keys that open the answer card for this question, and returns the screen.
#[track_caller]
pub(crate) fn open_card(dash: &mut Dash, keys: &str, question: &str) -> String {
    let effects = dash.keys(keys);
    let [Effect::LoadThread(number, _)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let text = std::fs::read_to_string("tests/fixtures/threads/question.json").unwrap();
    let text = text.replace("74676f99b80c146053dbeb4fdcab82cf", question);
    let case: serde_json::Value = serde_json::from_str(&text).unwrap();
    let loaded = LoadedThread {
        thread: ThreadFacts::read(&case["thread"].to_string()).ok(),
        state: StateFacts::read(&case["state"].to_string()).ok(),
        runs: RunFacts::read_all("[]").ok(),
    };
    dash.done(EffectResult::ThreadLoaded(*number, Ok(Box::new(loaded))));
    let screen = dash.screen();
    dash.shows("◆ Approve?");
    screen
}

#[test]
fn drafts_belong_to_one_question() {
    let mut dash = demo();
    dash.open_server();
    dash.keys("nhello<Esc>");
    // The second thread waits for input; the composer's draft is not an answer.
    assert!(!open_card(&mut dash, "<Down>a", "first").contains("hello"));
    assert!(dash.keys("<ctrl-s>").is_empty());
    dash.shows("Nothing is answered yet");
    dash.keys("approved<Esc>");
    assert!(
        open_card(&mut dash, "a", "first").contains("approved"),
        "the draft of the same question"
    );
    dash.keys("<Esc>");
    assert!(!open_card(&mut dash, "a", "second").contains("approved"));
    dash.keys("<Esc><Up>n");
    dash.shows(["New run ·", "hello"]);
    dash.lacks("approved");
}

#[test]
fn a_draft_of_a_run_keeps_its_undo_history() {
    let mut dash = demo();
    dash.open_server();
    dash.keys("nhello<Esc>n<alt-u><alt-u>");
    dash.shows("\"content\": \"hel\"");
}

#[test]
fn a_thread_is_explained_from_the_list() {
    let mut dash = demo();
    dash.open_server();
    dash.keys("<Up>e");
    assert_eq!(
        dash.thread_id(),
        Some("01a1fbb6-05bd-7362-97d9-fb3f813b715e")
    );
    assert!(dash.has_dialog(Dialog::Why));
    // From its runs too; assistants have no status.
    let mut dash = demo();
    dash.open_server();
    dash.keys("ve");
    assert!(dash.has_dialog(Dialog::Why));
    let mut dash = demo();
    dash.open_server();
    dash.keys("2e");
    assert!(dash.dialog().is_none());
    dash.shows("Works on threads: press 1.");
}

/// `r` reopens a stream that failed before its first event, and never drops received events.
#[test]
fn refresh_reopens_a_failed_stream() {
    let mut dash = demo();
    dash.open_thread();
    let error = dash.error("prod-eu", Kind::Server(503));
    dash.items(vec![Item::Failed(Box::new(error.clone()))]);
    dash.shows("r to retry");
    dash.keys("r");
    let again = dash.stream();
    assert_ne!(again, Some(1));
    assert!(
        is_subscribed(&dash, |k| matches!(k, SubscriptionId::Stream(_)))
            && !is_subscribed(&dash, |k| matches!(k, SubscriptionId::Stream(1)))
    );
    dash.capture("agent-messages-tuple");
    dash.items(vec![Item::Failed(Box::new(error))]);
    dash.later(2000);
    dash.keys("r");
    assert_eq!(dash.stream(), again);
    dash.shows("bring 日焼け止め.");
}

#[test]
fn state_view_stays_on_the_selected_state() {
    let mut dash = demo_like((100, 36));
    dash.open_thread();
    dash.capture("fanout-many-subgraphs");
    dash.keys("3<Down><Down>");
    let read = dash.body();
    dash.capture("agent-values");
    assert_eq!(dash.body(), read);
    dash.shows("new · G");
    dash.keys("<End>");
    assert!(dash.body() != read);
    dash.lacks("‖");
}

#[test]
fn resizing_and_back_keeps_the_position_in_a_long_message() {
    let mut dash = demo_like((80, 24));
    dash.open_thread();
    dash.recording("tests/fixtures/support-run.jsonl");
    dash.keys("<Up><Up><PageUp>");
    let before = dash.body();
    dash.resize(100, 24);
    dash.screen();
    dash.resize(80, 24);
    assert_eq!(dash.body(), before);
}

/// The doctor page shows results as they arrive, and closing it stops the checks.
#[test]
fn doctor_runs_while_its_page_is_open() {
    let mut dash = demo_like((80, 24));
    let doctor_subscription = |dash: &Dash| {
        let of = |sub: runtail_tui::session::msg::Subscription| {
            matches!(sub.key, SubscriptionId::Doctor(_)).then_some(sub)
        };
        dash.subscriptions().into_iter().find_map(of)
    };
    assert!(doctor_subscription(&dash).is_none());
    dash.open_doctor();
    let sub = doctor_subscription(&dash).expect("a subscription");
    let profiles: Vec<std::sync::Arc<str>> = dash.profiles().into_iter().map(Into::into).collect();
    assert_eq!(sub.what, SubscriptionKind::Profiles(profiles));
    dash.shows("Checking…");
    let send_check = |dash: &mut Dash, check: Option<Check>| {
        let answer = SubscriptionEvent::Checked(check.map(Box::new));
        dash.feed(Msg::Subscription {
            key: sub.key.clone(),
            epoch: sub.epoch,
            event: answer,
        });
    };
    send_check(&mut dash, Some(Check::good("network", "no proxy")));
    let bad = Check::bad(Fault::Access, "access", "401: no")
        .seen("GET https://h/v2")
        .likely("revoked")
        .to_do("replace it");
    send_check(
        &mut dash,
        Some(Check {
            profile: Some("prod-us".into()),
            ..bad
        }),
    );
    let text = dash.screen();
    for line in [
        "This machine",
        "✓ network        no proxy",
        "Profile prod-us",
        "✗ access         401: no",
        "Likely cause  revoked",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    send_check(&mut dash, None);
    assert!(doctor_subscription(&dash).is_none());
    assert_eq!(dash.screen().matches("1 problem found.").count(), 1);
    // Late results of the first check don't affect the second.
    dash.keys("<Esc>");
    dash.open_doctor();
    send_check(&mut dash, Some(Check::good("network", "late")));
    dash.lacks("late");
    dash.keys("<Esc>");
    assert!(doctor_subscription(&dash).is_none());
}

/// When time travel ends, its header line disappears and the view gains a row in the same frame.
#[test]
fn leaving_time_travel_leaves_no_empty_row() {
    // Space sets breakpoints in Graph, and A in History.
    for view in VIEWS
        .into_iter()
        .filter(|view| !matches!(view, View::Graph | View::Steps))
        .map(View::digit)
    {
        let mut dash = demo_like((120, 30));
        dash.keep_events(7);
        dash.open_thread();
        dash.capture("fanout-many-subgraphs");
        dash.keys(&format!("{view}<Space>"));
        dash.capture("fanout-many-subgraphs");
        dash.keys("<Space>");
        check_invariants(&mut dash);
        for _ in 0..200 {
            apply_and_check(&mut dash, Step::Tick);
        }
        assert!(dash.playhead().is_none());
    }
}

#[test]
fn playing_to_the_end_keeps_the_cursor() {
    let mut dash = demo_like((120, 30));
    dash.keep_events(40);
    dash.open_thread();
    // These events have no server times, so playback uses arrival times.
    dash.capture("js-agent-debug");
    dash.keys("6:replay<Enter>");
    apply_step(&mut dash, Step::Stream("js-fanout-many"));
    apply_step(&mut dash, Step::Click(53, 7));
    for _ in 0..20 {
        apply_and_check(&mut dash, Step::Tick);
    }
    let (playhead, anchor) = (dash.playhead(), dash.position());
    assert!(
        playhead.is_none() && anchor.is_some(),
        "{playhead:?} {anchor:?}"
    );
}

/// JSON that a server sends with half of a surrogate pair and `NaN`, and rows that are no records.
#[test]
fn a_row_that_cannot_be_read_costs_only_itself() {
    fn read<T: serde::de::DeserializeOwned>(list: &str, rows: &[&str]) -> runtail_api::Listing<T> {
        let mut unread = runtail_api::UnreadRows::of(list.to_string());
        let items = rows.iter().filter_map(|row| {
            unread.parse(&serde_json::value::RawValue::from_string(row.to_string()).unwrap())
        });
        let items = items.collect();
        runtail_api::Listing::new(items, unread)
    }
    let mut dash = demo();
    dash.open_server();
    let server = dash.server();
    let assistant =
        r#"{"assistant_id":"a","graph_id":"agent","name":"desk","description":"Ship \ud83d"}"#;
    dash.done(EffectResult::Assistants(
        server,
        Ok(read("assistants", &[assistant, "7", "\"x\""])),
    ));
    dash.keys("2");
    dash.shows("! 2 rows of the list of assistants couldn't be read: a row is not a record: 7");
    dash.shows(["desk", "Ship \u{fffd}"]);
    dash.keys("1v");
    let run = r#"{"run_id":"01a1fbb5-1743-72b0-bac9-4236eccc288a","status":"success","score":{"\ud83d":1}}"#;
    dash.answer(
        |key| matches!(key, SubscriptionId::Runs(..)),
        SubscriptionEvent::Runs(Ok(read("runs", &[run, "null"]))),
    );
    dash.shows([
        "! 1 row of the list of runs couldn't be read: a row is not a record: null",
        "01a1fbb5",
    ]);
}
