//! The dashboard's state under scripts and random sequences of messages.

use proptest::prelude::*;
use proptest::sample::select;
use runtail_api::doctor::{Check, Fault};
use runtail_api::{Kind, LoadedThread};
use runtail_core::model::{RunFacts, StateFacts, ThreadFacts};
use runtail_stream::{Item, Seq};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_testkit::screen_checks as hostile;
use runtail_tui::app::{Overlay, subscriptions};
use runtail_tui::features::stream::tabs::MAX_TABS;
use runtail_tui::features::stream::viewer::{VIEWS, View};
use runtail_tui::input::action::{Action, Context};
use runtail_tui::input::key::{Code, Key};
use runtail_tui::input::keymap::{BINDINGS, Keymap};
use runtail_tui::session::msg::{Effect, EffectResult, Msg, SubscriptionEvent, SubscriptionId, SubscriptionKind};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Something that may happen to a dashboard.
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

/// The keys of the table that work in these contexts, but for those that leave.
fn bound(contexts: impl Fn(Context) -> bool) -> Vec<Key> {
    let leaves = |action: Action| matches!(action, Action::Quit | Action::QuitNow);
    let rows = BINDINGS.iter().filter(|row| contexts(row.context) && !leaves(row.action));
    let (keymap, _) = Keymap::new(&BTreeMap::new());
    rows.flat_map(|row| keymap.keys_of(row.id).to_vec()).collect()
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

fn listens(dash: &Dash, wanted: fn(&SubscriptionId) -> bool) -> bool {
    subscriptions(&dash.app).iter().any(|s| wanted(&s.key))
}

fn take(dash: &mut Dash, step: Step) -> Vec<Effect> {
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
        Step::Threads if listens(dash, |k| matches!(k, SubscriptionId::Threads(_))) => dash.threads(),
        Step::Runs if listens(dash, |k| matches!(k, SubscriptionId::Runs(..))) => dash.runs(),
        Step::Stream(name) if listens(dash, |k| matches!(k, SubscriptionId::Stream(_))) => dash.capture(name),
        Step::Hostile(n) if listens(dash, |k| matches!(k, SubscriptionId::Stream(_))) => {
            dash.receive(HOSTILE[n].clone().into_bytes())
        }
        Step::Tick => dash.pass(1),
        Step::Retry if listens(dash, |k| matches!(k, SubscriptionId::Stream(_))) => dash.retrying(2, 3, "cut"),
        Step::End if listens(dash, |k| matches!(k, SubscriptionId::Stream(_))) => {
            dash.end(runtail_stream::Outcome::Error)
        }
        Step::Refuse if listens(dash, |k| *k == SubscriptionId::Deployments("prod-eu".into())) => {
            dash.refuse("prod-eu")
        }
        Step::Focus(attended) => return dash.feed(Msg::Focus(attended)),
        Step::Log if listens(dash, |k| matches!(k, SubscriptionId::Log(..))) => dash.log_lines(),
        Step::Watched(status) if listens(dash, |k| matches!(k, SubscriptionId::Watch(_))) => {
            return dash.watched(status);
        }
        Step::Card => dash.card(),
        _ => {}
    }
    Vec::new()
}

/// Whether it is something that a person does, and that may move them.
fn is_theirs(step: &Step) -> bool {
    matches!(step, Step::Key(_) | Step::Paste(_) | Step::Wheel(..) | Step::Click(..))
}

/// The cursor of each stream in which nothing is searched for: a search goes to its hit as soon as that is known.
fn cursors(dash: &Dash) -> Vec<(u64, Option<Seq>)> {
    let still = dash.app.stream.tabs.all().iter().filter(|viewer| viewer.finding().pattern.is_empty());
    still.map(|viewer| (viewer.id, viewer.anchor())).collect()
}

/// What holds for every state: it can be drawn, always alike, with nothing in it that a terminal would obey; halves and
/// tabs are what they say.
#[track_caller]
fn holds(dash: &mut Dash) {
    let buffer = dash.buffer();
    assert_eq!(dash.buffer(), buffer, "drawn once more it is another picture");
    let obeyed = |c: char| {
        c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    for cell in &buffer.content {
        assert!(!cell.symbol().contains(obeyed), "{:?}", cell.symbol());
    }
    let streams = &dash.app.stream.tabs;
    assert!(streams.all().len() <= MAX_TABS);
    assert!(streams.at().is_none_or(|at| at < streams.all().len()));
    assert_eq!(streams.shown().map(|viewer| viewer.id), dash.app.viewer().map(|viewer| viewer.id));
    for viewer in streams.all() {
        let shown = viewer.shown();
        assert_eq!(shown.len(), 1 + usize::from(viewer.split));
        let focused: Vec<View> = shown.iter().filter(|(_, focused)| *focused).map(|(view, _)| *view).collect();
        assert_eq!(focused, [viewer.view()]);
        assert!(shown.iter().all(|(view, focused)| *focused || *view != viewer.view()), "{shown:?}");
        assert!(viewer.anchor().is_none_or(|at| at <= viewer.tape.last_seq()), "{:?}", viewer.anchor());
    }
    // What is on the screen tells of the event under the cursor.
    let is_seen = dash.app.overlays.is_empty()
        && !dash.app.frozen
        && dash.app.session.size.0 >= 60
        && dash.app.session.size.1 >= 12;
    if let Some(viewer) = dash.app.viewer().filter(|viewer| is_seen && viewer.finding().filter.is_empty())
        && let (View::Raw, Some(at), Some(first)) = (viewer.view(), viewer.anchor(), viewer.tape.first_seq())
    {
        assert_eq!(viewer.event_under_cursor().map(|event| event.seq), Some(at.max(first)));
    }
}

/// Takes a step, and sees what came of it.
fn goes_on(dash: &mut Dash, step: Step) {
    let (before, is_theirs) = (cursors(dash), is_theirs(&step));
    take(dash, step.clone());
    holds(dash);
    if !is_theirs {
        assert_eq!(cursors(dash), before, "{step:?} moved a cursor");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_happens_breaks_the_dashboard(steps in proptest::collection::vec(step(), 1..80)) {
        let mut dash = demo_like((120, 30));
        for step in steps {
            goes_on(&mut dash, step);
        }
    }

    #[test]
    fn nothing_that_happens_breaks_the_viewer(
        steps in proptest::collection::vec(step(), 1..80),
        first in select(CAPTURES.to_vec()),
        rows in select(vec![7, 40, 1_000_000]),
    ) {
        let mut dash = demo_like((120, 30));
        dash.app.session.settings.tape.max_rows = rows;
        dash.open_thread();
        dash.capture(first);
        for step in steps {
            goes_on(&mut dash, step);
        }
    }

    #[test]
    fn a_read_only_dashboard_never_asks_for_a_write(steps in proptest::collection::vec(step(), 1..120)) {
        let mut dash = demo_like((120, 30));
        dash.seal();
        for step in steps {
            take(&mut dash, step);
            for sub in subscriptions(&dash.app) {
                let writes = matches!(&sub.what, SubscriptionKind::Stream(_, target) if target.is_write());
                prop_assert!(!writes, "a run would be started");
            }
        }
    }
}

/// Bad input of every kind, in every view: described and as received, wrapped, filtered, searched, at all sizes.
#[test]
fn whatever_comes_every_view_shows_the_rest() {
    let mut dash = demo_like((120, 30));
    dash.open_thread();
    dash.capture("fanout-many-subgraphs");
    for response in hostile::responses() {
        dash.receive(response.into_bytes());
        for view in 1..=8 {
            dash.keys(&format!("{view}"));
            holds(&mut dash);
        }
    }
    dash.goes_on("agent-messages-tuple");
    dash.keys("1");
    assert!(dash.screen().contains("bring 日焼け止め."), "what is good is still shown: {}", dash.screen());
    for keys in ["w", "v", "T", "T", "/evil|7<Enter>]", "&!evil<Enter>", "|"] {
        dash.keys(keys);
        for (view, size) in
            (1..=8).zip([(300, 100), (20, 5), (80, 24), (60, 12), (119, 30), (200, 50), (61, 13), (140, 40)])
        {
            dash.resize(size.0, size.1);
            dash.keys(&format!("{view}<Home><Down><PageDown>"));
            holds(&mut dash);
            assert!(dash.app.viewer().is_some_and(|viewer| viewer.view() == VIEWS[view - 1]));
        }
    }
}

#[test]
fn a_line_of_five_megabytes_is_a_line_like_others() {
    let mut dash = demo_like((100, 30));
    dash.open_thread();
    for line in hostile::long_lines() {
        dash.receive(line.into_bytes());
    }
    for keys in ["", "w", "v"] {
        dash.keys(keys);
        for view in 1..=VIEWS.len() {
            dash.keys(&format!("{view}<Home>"));
            holds(&mut dash);
            // Its JSON, too, where the tape has it.
            dash.keys("<Enter>");
            holds(&mut dash);
            if !dash.app.overlays.is_empty() {
                dash.keys("<Esc>");
            }
            dash.keys("<End>");
            assert!(dash.app.viewer().is_some_and(|viewer| viewer.view() == VIEWS[view - 1]));
        }
    }
}

#[test]
fn an_answer_that_nobody_waits_for_any_more_changes_nothing() {
    let mut dash = demo_like((140, 40));
    dash.open_server();
    let sub = subscriptions(&dash.app).into_iter().find(|s| matches!(s.key, SubscriptionId::Threads(_))).unwrap();
    let threads = serde_json::from_str(r#"[{"thread_id": "late"}]"#).unwrap();
    // Asked again by hand: the answer to the first question is late.
    dash.keys("r");
    let late = Msg::Answer { key: sub.key, epoch: sub.epoch, answer: SubscriptionEvent::Threads(Ok(threads)) };
    dash.feed(late);
    assert!(!dash.screen().contains("late"));
}

#[test]
fn a_stream_goes_on_in_its_tab_until_it_is_closed() {
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    assert!(listens(&dash, |k| matches!(k, SubscriptionId::Stream(_))));
    assert!(!listens(&dash, |k| matches!(k, SubscriptionId::Threads(_))), "what is not on the screen is not polled");
    dash.keys("<Esc>");
    assert!(listens(&dash, |k| matches!(k, SubscriptionId::Threads(_))));
    assert!(listens(&dash, |k| matches!(k, SubscriptionId::Stream(1))), "what came and one's place in it is not lost");
    // The same thread once more is the same stream; another is another.
    dash.keys("<Enter>");
    assert_eq!(dash.app.viewer().map(|v| v.id), Some(1));
    dash.keys("<Esc><Down><Enter>");
    assert_eq!((dash.app.stream.tabs.all().len(), dash.app.viewer().map(|v| v.id)), (2, Some(2)));
    dash.keys("}");
    assert_eq!(dash.app.viewer().map(|v| v.id), Some(1));
    dash.keys("q");
    assert!(!listens(&dash, |k| matches!(k, SubscriptionId::Stream(1))));
    // Closing a tab leads to its list; the other stream stays open.
    assert!(dash.app.viewer().is_none() && listens(&dash, |k| matches!(k, SubscriptionId::Stream(2))));
    dash.keys("}q");
    assert!(!listens(&dash, |k| matches!(k, SubscriptionId::Stream(_))));
    assert!(listens(&dash, |k| matches!(k, SubscriptionId::Threads(_))));
}

#[test]
fn who_opens_a_recording_is_not_told_of_a_connection() {
    let mut dash = Dash::new("[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n", (100, 30));
    dash.app.open_recording("tests/fixtures/support-run.jsonl".into());
    let screen = dash.screen();
    assert!(screen.contains("◐ reading") && screen.contains("Reading the recording…"), "{screen}");
    assert!(!screen.to_lowercase().contains("connecting"), "{screen}");
    dash.end(runtail_stream::Outcome::Success);
    assert!(!dash.screen().contains("eading"), "{}", dash.screen());
}

#[test]
fn a_still_dashboard_needs_no_ticks() {
    let mut dash = Dash::new("[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n", (100, 30));
    dash.threads();
    assert_eq!(dash.app.next_tick(), None);
    // A stream counts seconds until it has ended and its notice is gone.
    dash.keys("<Enter>");
    assert!(dash.app.next_tick().is_some());
    dash.end(runtail_stream::Outcome::Success);
    assert_eq!(dash.app.next_tick(), None);
}

#[test]
fn the_assistant_of_a_thread_is_chosen_even_when_the_list_comes_late() {
    let mut dash = demo_like((140, 40));
    dash.keys("<Enter>");
    dash.threads();
    // The third thread ran the graph `broken`, which this server does not list; the first one `agent`.
    dash.keys("n");
    assert!(dash.screen().contains("loading assistants…"), "{}", dash.screen());
    dash.assistants();
    assert!(dash.screen().contains("‹ agent ›"), "{}", dash.screen());
}

/// Presses keys that lead to the card of a thread with this question, and returns the screen with the card.
#[track_caller]
fn open_card(dash: &mut Dash, keys: &str, question: &str) -> String {
    let effects = dash.keys(keys);
    let [Effect::LoadThread(number, _)] = effects.as_slice() else { panic!("{effects:?}") };
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
    assert!(screen.contains("◆ Approve?"), "{screen}");
    screen
}

#[test]
fn what_was_typed_for_one_question_does_not_answer_another() {
    let mut dash = demo_like((140, 40));
    dash.open_server();
    dash.keys("nhello<Esc>");
    // The second thread waits: the input of a run is no answer.
    assert!(!open_card(&mut dash, "<Down>a", "first").contains("hello"));
    assert!(dash.keys("<ctrl-s>").is_empty());
    assert!(dash.screen().contains("Nothing is answered yet"), "{}", dash.screen());
    dash.keys("approved<Esc>");
    assert!(open_card(&mut dash, "a", "first").contains("approved"), "the draft of the same question");
    dash.keys("<Esc>");
    assert!(!open_card(&mut dash, "a", "second").contains("approved"));
    dash.keys("<Esc><Up>n");
    let screen = dash.screen();
    assert!(screen.contains("NEW RUN") && screen.contains("hello") && !screen.contains("approved"), "{screen}");
}

#[test]
fn a_draft_of_a_run_keeps_its_undo_history() {
    let mut dash = demo_like((140, 40));
    dash.open_server();
    dash.keys("nhello<Esc>n<alt-u><alt-u>");
    assert!(dash.screen().contains("\"content\": \"hel\""), "{}", dash.screen());
}

#[test]
fn a_thread_is_explained_from_the_list() {
    let mut dash = demo_like((140, 40));
    dash.open_server();
    dash.keys("<Down>e");
    assert_eq!(dash.app.viewer().unwrap().thread_id.as_deref(), Some("01a1fbb6-05bd-7362-97d9-fb3f813b715e"));
    assert!(matches!(dash.app.overlays.last(), Some(Overlay::Why(_))), "{}", dash.screen());
    // From its runs too; assistants have no status.
    let mut dash = demo_like((140, 40));
    dash.open_server();
    dash.keys("ve");
    assert!(matches!(dash.app.overlays.last(), Some(Overlay::Why(_))), "{}", dash.screen());
    let mut dash = demo_like((140, 40));
    dash.open_server();
    dash.keys("2e");
    assert!(dash.app.overlays.is_empty() && dash.screen().contains("Press 1 to show them."), "{}", dash.screen());
}

/// `r` opens a stream again that failed before it sent anything; what was received is never dropped by it.
#[test]
fn refreshing_opens_a_failed_stream_again() {
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    let error = dash.error("prod-eu", Kind::Server(503));
    dash.items(vec![Item::Failed(Box::new(error.clone()))]);
    assert!(dash.screen().contains("r to retry"), "{}", dash.screen());
    dash.keys("r");
    let again = dash.app.viewer().map(|viewer| viewer.id);
    assert_ne!(again, Some(1));
    assert!(
        listens(&dash, |k| matches!(k, SubscriptionId::Stream(_)))
            && !listens(&dash, |k| matches!(k, SubscriptionId::Stream(1)))
    );
    dash.capture("agent-messages-tuple");
    dash.items(vec![Item::Failed(Box::new(error))]);
    dash.later(2000);
    dash.keys("r");
    assert_eq!(dash.app.viewer().map(|viewer| viewer.id), again);
    assert!(dash.screen().contains("bring 日焼け止め."), "{}", dash.screen());
}

#[test]
fn a_state_that_one_reads_stays() {
    let mut dash = demo_like((100, 36));
    dash.open_thread();
    dash.capture("fanout-many-subgraphs");
    dash.keys("3<Down><Down>");
    let read = dash.body();
    dash.capture("agent-values");
    assert_eq!(dash.body(), read);
    assert!(dash.screen().contains("new · G"), "{}", dash.screen());
    dash.keys("<End>");
    assert!(!dash.screen().contains("‖") && dash.body() != read, "{}", dash.screen());
}

#[test]
fn another_width_and_back_keeps_the_place_in_a_long_message() {
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

/// The page of the doctor shows what was found as it comes, and ends the looking when it is closed.
#[test]
fn the_doctor_looks_while_its_page_is_open() {
    let mut dash = demo_like((80, 24));
    let looking = |dash: &Dash| {
        let of =
            |sub: runtail_tui::session::msg::Subscription| matches!(sub.key, SubscriptionId::Doctor(_)).then_some(sub);
        subscriptions(&dash.app).into_iter().find_map(of)
    };
    assert!(looking(&dash).is_none());
    dash.app.open_doctor();
    let sub = looking(&dash).expect("a look");
    let profiles: Vec<_> = dash.app.session.profiles.iter().map(|p| p.name.clone()).collect();
    assert_eq!(sub.what, SubscriptionKind::Profiles(profiles));
    assert!(dash.screen().contains("Checking…"), "{}", dash.screen());
    let tell = |dash: &mut Dash, check: Option<Check>| {
        let answer = SubscriptionEvent::Checked(check.map(Box::new));
        dash.feed(Msg::Answer { key: sub.key.clone(), epoch: sub.epoch, answer });
    };
    tell(&mut dash, Some(Check::good("network", "no proxy")));
    let bad =
        Check::bad(Fault::Access, "access", "401: no").seen("GET https://h/v2").likely("revoked").to_do("replace it");
    tell(&mut dash, Some(Check { profile: Some("prod-us".into()), ..bad }));
    let text = dash.screen();
    for line in
        ["This machine", "✓ network        no proxy", "Profile prod-us", "✗ access         401: no", "likely  revoked"]
    {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    tell(&mut dash, None);
    assert!(looking(&dash).is_none());
    assert_eq!(dash.screen().matches("1 problem found.").count(), 1, "{}", dash.screen());
    // A second look is another one: what comes late of the first changes nothing.
    dash.keys("<Esc>");
    dash.app.open_doctor();
    tell(&mut dash, Some(Check::good("network", "late")));
    assert!(!dash.screen().contains("late"), "{}", dash.screen());
    dash.keys("<Esc>");
    assert!(looking(&dash).is_none());
}

/// Where the past ends, its line leaves the head: the view has one more row in the same frame.
#[test]
fn the_end_of_the_past_leaves_no_empty_row() {
    for view in 1..=VIEWS.len() {
        let mut dash = demo_like((120, 30));
        dash.app.session.settings.tape.max_rows = 7;
        dash.open_thread();
        dash.capture("fanout-many-subgraphs");
        dash.keys(&format!("{view}<Space>"));
        dash.capture("fanout-many-subgraphs");
        dash.keys("<Space>");
        holds(&mut dash);
        for _ in 0..200 {
            goes_on(&mut dash, Step::Tick);
        }
        assert!(dash.app.viewer().unwrap().playhead().is_none(), "{}", dash.screen());
    }
}

#[test]
fn what_is_played_to_its_end_moves_no_cursor() {
    let mut dash = demo_like((120, 30));
    dash.app.session.settings.tape.max_rows = 40;
    dash.open_thread();
    // Its events have no times of the server's: they are played as they arrived.
    dash.capture("js-agent-debug");
    dash.keys("7:replay<Enter>");
    take(&mut dash, Step::Stream("js-fanout-many"));
    take(&mut dash, Step::Click(53, 5));
    for _ in 0..20 {
        goes_on(&mut dash, Step::Tick);
    }
    let viewer = dash.app.viewer().unwrap();
    let (standing, anchor) = (viewer.playhead(), viewer.anchor());
    assert!(standing.is_none() && anchor.is_some(), "{standing:?} {anchor:?}\n{}", dash.screen());
}
