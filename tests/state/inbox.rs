//! The inbox: its page, the counters in the header, notifications, and stuck runs.

use crate::views::styles;
use ratatui::style::Modifier;
use runtail_api::{Kind, LoadedThread, ServerInbox};
use runtail_core::model::{InboxCause, InboxThread, Question};
use runtail_stream::SnapshotPart;
use runtail_testkit::dash::{Dash, Dialog, demo};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{
    Effect, EffectResult, Msg, Pace, ServerRef, SubscriptionEvent, SubscriptionId,
};
use serde_json::{Value, json};

const SERVERS: &str = "\
[profiles.eu]\nagent_server = { support-bot = \"http://127.0.0.1:2001\" }\napi_key_env = \"EU_KEY\"\n\
[profiles.us]\nagent_server = { invoice-agent = \"http://127.0.0.1:2002\", triage = \"http://127.0.0.1:2003\" }\n\
[profiles.lab]\nagent_server = \"http://127.0.0.1:2004\"\n";

const APPROVAL: &str = "01a1fbb6-05bd-7362-97d9-fb3f813b8c21";

pub(crate) fn dash(size: (u16, u16)) -> Dash {
    Dash::new(SERVERS, size)
}

fn server(profile: &str, name: &str, port: u16) -> ServerRef {
    ServerRef {
        profile: profile.into(),
        name: name.into(),
        url: format!("http://127.0.0.1:{port}/").into(),
    }
}

pub(crate) fn support() -> ServerRef {
    server("eu", "support-bot", 2001)
}

/// Sends the answer of a server.
pub(crate) fn answer(
    dash: &mut Dash,
    server: &ServerRef,
    result: Result<ServerInbox, Kind>,
) -> Vec<Effect> {
    let profile = server.profile.clone();
    let error = |kind| {
        let mut error = dash.error(&profile, kind);
        error.at.path = "/threads/search".into();
        error
    };
    let event = SubscriptionEvent::Inbox {
        server: server.clone(),
        began: dash.now,
        result: result.map_err(error),
    };
    let id = SubscriptionId::Inbox(profile.clone());
    let sub = dash.wanted(|key| *key == id);
    dash.feed(Msg::Subscription {
        key: sub.key,
        epoch: sub.epoch,
        event,
    })
}

pub(crate) fn listed(threads: Vec<InboxThread>) -> Result<ServerInbox, Kind> {
    Ok(ServerInbox {
        threads,
        ..ServerInbox::default()
    })
}

fn thread(
    dash: &Dash,
    id: &str,
    graph: &str,
    minutes: i64,
    cause: Option<InboxCause>,
) -> InboxThread {
    InboxThread {
        thread_id: id.into(),
        graph: Some(graph.into()),
        assistant_id: Some(graph.into()),
        status: "interrupted".into(),
        cause,
        since: Some(dash.now - jiff::SignedDuration::from_mins(minutes)),
        ..InboxThread::default()
    }
}

/// A thread of the graph `extract`, with the end of its id.
fn extract(dash: &Dash, id: &str, minutes: i64, cause: InboxCause) -> InboxThread {
    let id = format!("01a1fbb5-0000-7000-8000-00000000{id}");
    thread(dash, &id, "extract", minutes, Some(cause))
}

fn question(id: &str, value: Value) -> Question {
    Question {
        id: Some(id.into()),
        value,
        ..Question::default()
    }
}

pub(crate) fn approval(dash: &Dash) -> InboxThread {
    let value = json!({"question": "Approve this payment?", "amount": "1,250 EUR", "to": "Hoffmann & Söhne GmbH"});
    InboxThread {
        questions: vec![question("q1", value)],
        owner: Some("ana@acme.example".into()),
        ..thread(dash, APPROVAL, "approval", 36, Some(InboxCause::Question))
    }
}

fn refund(dash: &Dash) -> InboxThread {
    let value = json!({
        "action_requests": [
            {"name": "send_refund", "args": {"customer": "c_8841", "amount": 49.0}},
            {"name": "send_email", "args": {"to": "j.dupont@acme.example", "body": "Dear Ms Dupont"}},
        ],
        "review_configs": [
            {"action_name": "send_refund", "allowed_decisions": ["approve", "reject"]},
            {"action_name": "send_email", "allowed_decisions": ["approve", "edit", "reject"]},
        ],
    });
    InboxThread {
        questions: vec![question("q2", value)],
        owner: Some("j.dupont".into()),
        ..thread(
            dash,
            "01a1fbb5-173d-77d7-b93d-09bf6dcc9775",
            "support",
            6,
            Some(InboxCause::Question),
        )
    }
}

/// An inbox in which every kind of row occurs, one server has failed, and all have answered.
pub(crate) fn full(size: (u16, u16)) -> Dash {
    let mut dash = dash(size);
    let rows = vec![refund(&dash), approval(&dash)];
    answer(&mut dash, &support(), listed(rows));
    use InboxCause::{Breakpoint, Cancelled, Error, Stuck};
    let timeout = "ConnectTimeout: POST https://erp.acme.example/refunds: no answer after 30s";
    let stuck = "running, but its records have not changed for 41m (events were not read)";
    let rows = [
        ("051f", 4, Breakpoint, "before write_ledger"),
        ("00c1", 9, Cancelled, "before book"),
        ("fa11", 180, Error, timeout),
        ("57cc", 41, Stuck, stuck),
    ];
    let row = |(id, minutes, cause, detail): (&str, i64, InboxCause, &str)| InboxThread {
        detail: detail.into(),
        ..extract(&dash, id, minutes, cause)
    };
    let rows = rows.map(row).into();
    answer(
        &mut dash,
        &server("us", "invoice-agent", 2002),
        listed(rows),
    );
    answer(&mut dash, &server("us", "triage", 2003), listed(Vec::new()));
    answer(
        &mut dash,
        &server("lab", "lab", 2004),
        Err(Kind::Unauthorized),
    );
    dash
}

#[test]
fn rows_are_shown_with_the_selected_one_in_full() {
    for (name, size) in [
        ("inbox_140x40", (140, 40)),
        ("inbox_80x24", (80, 24)),
        ("inbox_60x12", (60, 12)),
    ] {
        let mut dash = full(size);
        dash.keys("i");
        insta::assert_snapshot!(name, dash.screen());
    }
    let mut dash = full((140, 40));
    dash.set_ascii(true);
    dash.keys("i<Down>");
    let screen = dash.screen();
    assert!(screen.is_ascii() || screen.contains("Söhne"));
    insta::assert_snapshot!("inbox_ascii", screen);
}

#[test]
fn an_empty_inbox_says_what_was_and_was_not_checked() {
    let mut dash = dash((140, 40));
    dash.keys("i");
    insta::assert_snapshot!("inbox_loading", dash.screen());
    answer(&mut dash, &support(), listed(Vec::new()));
    answer(
        &mut dash,
        &server("us", "invoice-agent", 2002),
        listed(Vec::new()),
    );
    let unlisted = ServerInbox {
        is_unlisted: true,
        ..ServerInbox::default()
    };
    answer(&mut dash, &server("us", "triage", 2003), Ok(unlisted));
    answer(
        &mut dash,
        &server("lab", "lab", 2004),
        Err(Kind::Unauthorized),
    );
    insta::assert_snapshot!("inbox_empty", dash.screen());
}

/// Stuck is unknown, not failed: in the counter, and in the row.
#[test]
fn stuck_runs_have_a_dim_glyph_and_a_strong_word() {
    let mut dash = full((140, 40));
    answer(&mut dash, &server("lab", "lab", 2004), listed(Vec::new()));
    dash.keys("i");
    insta::assert_snapshot!("inbox_styles", styles(&dash.buffer(), 0));
}

#[test]
fn rows_of_a_server_that_fails_later_stay_with_their_time() {
    let mut dash = full((140, 40));
    dash.pass(120);
    answer(&mut dash, &support(), Err(Kind::Server(503)));
    dash.keys("i");
    let screen = dash.screen();
    assert_eq!(
        screen.matches("as of 14:00").count(),
        1,
        "once, not in each row"
    );
    dash.shows("not checked: eu (503), lab (401) · dim rows as of 14:00 ");
    let line = screen
        .lines()
        .position(|line| line.contains("approval 8c21"))
        .unwrap_or_default() as u16;
    let buffer = dash.buffer();
    let question = (0..140)
        .filter(|x| buffer[(*x, line)].symbol() == "A")
        .map(|x| buffer[(x, line)].modifier);
    assert_eq!(
        question.collect::<Vec<_>>(),
        [Modifier::DIM],
        "an outdated row is dim"
    );
    assert!(
        screen
            .lines()
            .next()
            .unwrap()
            .contains("◆ 3? waiting   ✗ 1+ failed   ? 1+ stuck   ? 2 not checked")
    );
}

#[test]
fn counters_are_hidden_while_unknown_and_at_zero() {
    let mut dash = dash((140, 40));
    let row = approval(&dash);
    answer(&mut dash, &support(), listed(vec![row]));
    let header = |dash: &mut Dash| dash.screen().lines().next().unwrap().to_string();
    assert!(!header(&mut dash).contains('◆'));
    for (name, port) in [("invoice-agent", 2002), ("triage", 2003)] {
        answer(&mut dash, &server("us", name, port), listed(Vec::new()));
    }
    answer(
        &mut dash,
        &server("lab", "lab", 2004),
        Err(Kind::Server(500)),
    );
    let words = header(&mut dash);
    words.has("◆ 1+ waiting   ? 1 not checked");
    words.lacks("failed");
    answer(&mut dash, &server("lab", "lab", 2004), listed(Vec::new()));
    let words = header(&mut dash);
    assert!(
        words.contains("◆ 1 waiting") && !words.contains("failed") && !words.contains('?'),
        "{words}"
    );
    dash.resize(80, 24);
    let numbers = header(&mut dash);
    numbers.has("◆ 1 ");
    numbers.lacks("waiting");
    answer(&mut dash, &support(), listed(Vec::new()));
    assert!(!header(&mut dash).contains('◆'));
}

#[test]
fn three_keys_from_a_notification_to_a_sent_answer() {
    let mut dash = dash((140, 40));
    answer(&mut dash, &support(), listed(Vec::new()));
    dash.later(30_000);
    let row = InboxThread {
        since: Some(dash.now),
        ..approval(&dash)
    };
    let effects = answer(&mut dash, &support(), listed(vec![row]));
    assert!(
        matches!(effects.as_slice(), [Effect::Alert(..)]),
        "{effects:?}"
    );
    dash.shows("◆ eu › support-bot › approval 8c21 waits for you: Approve this payment?");

    assert!(dash.keys("i").is_empty());
    let effects = dash.keys("A");
    let [Effect::LoadThread(number, thread)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!((thread.id.as_str(), &thread.server), (APPROVAL, &support()));
    let number = *number;
    // Nothing is sent before the question was read again.
    let state = json!({"values": {}, "next": ["approve"], "created_at": dash.now, "metadata": {"source": "loop"},
        "tasks": [{"id": "t", "name": "approve", "interrupts": [
            {"id": "q1", "value": {"question": "Approve this payment?", "amount": "1,250 EUR"}}]}]});
    let record = json!({"status": "interrupted", "metadata": {"graph_id": "approval", "assistant_id": "approval"},
        "interrupts": {"t": [{"id": "q1", "value": {"question": "Approve this payment?"}}]}});
    let loaded = LoadedThread {
        thread: Some(runtail_core::model::ThreadFacts::read(&record.to_string()).unwrap()),
        state: Some(runtail_core::model::StateFacts::read(&state.to_string()).unwrap()),
        runs: Some(Vec::new()),
    };
    dash.done(EffectResult::ThreadLoaded(number, Ok(Box::new(loaded))));
    dash.screen();
    // The inbox notices first if someone else answers.
    let row = InboxThread {
        since: Some(dash.now),
        ..approval(&dash)
    };
    answer(&mut dash, &support(), Err(Kind::Timeout));
    // A failed poll says nothing.
    dash.lacks("no longer open");
    answer(&mut dash, &support(), listed(Vec::new()));
    dash.shows("the inbox no longer lists the thread");
    answer(&mut dash, &support(), listed(vec![row]));
    dash.lacks("no longer open");
    let effects = dash.keys("<ctrl-s>");
    let sends = effects
        .iter()
        .any(|effect| matches!(effect, Effect::LoadThread(..) | Effect::StartRun(..)));
    assert!(
        sends,
        "ctrl-s sends, or reads the thread once more before: {effects:?}"
    );
    assert!(
        dash.dialogs()[0] == Dialog::Inbox,
        "the inbox stays open below"
    );
}

#[test]
fn keys_open_explain_and_show_the_record() {
    let mut dash = full((140, 40));
    dash.keys("i");
    let effects = dash.keys("d");
    assert!(
        matches!(effects.as_slice(), [Effect::Describe(_)]),
        "{effects:?}"
    );
    dash.keys("e");
    assert!(dash.has_dialog(Dialog::Why));
    dash.keys("<Esc>");
    assert!(dash.has_dialog(Dialog::Inbox));
    dash.keys("<Down><Enter>");
    let page = dash.page();
    assert_eq!(
        (page.thread.as_deref(), &*page.server.name),
        (Some("01a1fbb5-173d-77d7-b93d-09bf6dcc9775"), "support-bot")
    );
    assert!(dash.dialog().is_none());
    // The inbox opens again on the same row, from the stream and by command.
    dash.keys("i");
    dash.shows("eu › support-bot › support 9775");
    dash.keys("<Esc>:inbox<Enter>");
    assert!(dash.has_dialog(Dialog::Inbox));
    dash.keys("<Up>");
    let footer = |dash: &mut Dash| {
        dash.screen()
            .trim_end()
            .lines()
            .last()
            .unwrap_or_default()
            .to_string()
    };
    footer(&mut dash).has("a answer");
    // A read-only profile offers no answers. The key explains why, and sends nothing.
    dash.seal();
    let sealed = footer(&mut dash);
    sealed.has("⏎ open");
    sealed.lacks("answer");
    assert!(dash.keys("a").is_empty());
    dash.shows("read-only");
}

#[test]
fn the_filter_shows_some_rows_and_esc_shows_all() {
    let mut dash = full((140, 40));
    dash.keys("i/dupont<Enter>");
    dash.shows(["1 of 6", "support 9775"]);
    dash.lacks("approval 8c21");
    dash.keys("<Esc>");
    dash.shows("approval 8c21");
    assert!(dash.has_dialog(Dialog::Inbox));
}

#[test]
fn each_profile_has_one_poll_which_a_rejected_key_stops() {
    let polled = |dash: &Dash| -> Vec<(String, usize, Pace)> {
        let subs = dash
            .subscriptions()
            .into_iter()
            .filter_map(|sub| match sub.key {
                SubscriptionId::Inbox(profile) => Some((
                    profile.to_string(),
                    sub.params.servers.len(),
                    sub.params.pace,
                )),
                _ => None,
            });
        subs.collect()
    };
    let mut dash = dash((140, 40));
    let expected =
        [("eu", 1), ("lab", 1), ("us", 2)].map(|(name, n)| (name.to_string(), n, Pace::Usual));
    assert_eq!(polled(&dash), expected);
    dash.feed(Msg::Focus(false));
    assert_eq!(
        polled(&dash),
        expected,
        "a notification matters most without focus"
    );
    dash.feed(Msg::Focus(true));
    dash.keys("i");
    assert!(polled(&dash).iter().all(|(.., pace)| *pace == Pace::Fast));
    dash.keys("<Esc>F");
    assert!(polled(&dash).iter().all(|(.., pace)| *pace == Pace::Slow));
    // A control plane's servers are those of its deployments.
    let mut dash = demo();
    assert_eq!(
        polled(&dash)
            .iter()
            .map(|(name, n, _)| (name.as_str(), *n))
            .collect::<Vec<_>>(),
        [("prod-eu", 2), ("prod-us", 3)]
    );
    dash.refuse("prod-us");
    assert_eq!(polled(&dash).len(), 1);
}

#[test]
fn failed_newest_revisions_are_rows_and_explained() {
    let mut dash = demo();
    dash.keys("i");
    dash.shows(["✗ BUILD_FAILED", "us › invoice-agent"]);
    let effects = dash.keys("e");
    assert!(
        matches!(effects.as_slice(), [Effect::Explain(of, address, _)] if &*of.deployment == "d3" && address == "prod-us/invoice-agent"),
        "{effects:?}"
    );
    dash.keys("<Esc>a");
    dash.shows("The revision has failed");
    // It was deployed again.
    let revision = serde_json::from_value(
        json!({"id": "d3-r2", "status": "DEPLOYED", "created_at": dash.now}),
    )
    .unwrap();
    let list = json!([{"id": "d3", "name": "invoice-agent", "latest_revision_id": "d3-r2"}]);
    let us = |key: &SubscriptionId| *key == SubscriptionId::Deployments("prod-us".into());
    dash.answer(
        us,
        runtail_testkit::dash::listed(serde_json::from_value(list).unwrap()),
    );
    let newest = SubscriptionEvent::Newest {
        deployment: "d3".into(),
        revision: Ok(revision),
    };
    dash.answer(
        |key| *key == SubscriptionId::Newest("prod-us".into()),
        newest,
    );
    assert_eq!(dash.inbox_rows(), 0);
}

#[test]
fn a_revision_that_fails_now_is_news_and_an_older_one_is_not() {
    let mut dash = demo();
    dash.lacks("is BUILD_FAILED");
    dash.later(5_000);
    let failed = serde_json::from_value(
        json!({"id": "d4-r", "status": "DEPLOY_FAILED", "created_at": dash.now, "updated_at": dash.now}),
    );
    let newest = SubscriptionEvent::Newest {
        deployment: "d4".into(),
        revision: Ok(failed.unwrap()),
    };
    dash.answer(
        |key| *key == SubscriptionId::Newest("prod-us".into()),
        newest,
    );
    dash.shows(["✗ us › triage d4-r is DEPLOY_FAILED", "! open"]);
}

#[test]
fn rules_choose_events_and_programs_get_them_without_keys() {
    let rules = "[[notify]]\nwhen = \"failed\"\nmatch = \"graph:extract\"\ncommand = [\"notify-me\", \"-x\"]\n";
    let mut dash = Dash::new(&format!("{SERVERS}{rules}"), (140, 40));
    answer(&mut dash, &support(), listed(Vec::new()));
    let row = approval(&dash);
    assert_eq!(
        answer(&mut dash, &support(), listed(vec![row.clone()])),
        [],
        "no rule is about waiting threads"
    );
    let error = InboxThread {
        detail: "ValueError: no".into(),
        ..thread(&dash, "01a1-f", "extract", 0, Some(InboxCause::Error))
    };
    let other = InboxThread {
        graph: Some("other".into()),
        thread_id: "01a1-g".into(),
        ..error.clone()
    };
    let effects = answer(&mut dash, &support(), listed(vec![row, error, other]));
    let [Effect::Alert(_, said), Effect::Hook(hook)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert!(said.ends_with("failed: ValueError: no"), "{said}");
    assert_eq!(
        (hook.command.join(" "), hook.hidden.as_slice()),
        (
            "notify-me -x".to_string(),
            &["EU_KEY".to_string(), "EU_KEY".to_string()][..]
        )
    );
    let event: Value = serde_json::from_str(&hook.event).unwrap();
    let fields = [
        "when",
        "profile",
        "deployment",
        "graph",
        "thread_id",
        "cause",
        "detail",
    ]
    .map(|field| event[field].as_str().unwrap());
    assert_eq!(
        fields,
        [
            "failed",
            "eu",
            "support-bot",
            "extract",
            "01a1-f",
            "error",
            "ValueError: no"
        ]
    );
    assert!(
        hook.event.ends_with('\n')
            && event.get("interrupts").is_none()
            && event.get("command").is_none()
    );
    // A program that fails is reported once.
    for _ in 0..2 {
        dash.done(EffectResult::HookFailed(
            "Notification program notify-me: exit status: 1".into(),
        ));
    }
    let failures = dash
        .notices()
        .into_iter()
        .filter(|notice| notice.contains("notify-me"));
    assert_eq!(failures.count(), 1);
}

#[test]
fn many_events_make_one_notice_and_a_limited_number_of_programs() {
    let rules = "[[notify]]\nwhen = \"waiting\"\ncommand = [\"x\"]\n";
    let mut dash = Dash::new(&format!("{SERVERS}{rules}"), (140, 40));
    answer(&mut dash, &support(), listed(Vec::new()));
    let rows = (0..50)
        .map(|n| InboxThread {
            thread_id: format!("t{n}"),
            ..approval(&dash)
        })
        .collect();
    let effects = answer(&mut dash, &support(), listed(rows));
    assert_eq!(
        effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Alert(..)))
            .count(),
        1
    );
    assert_eq!(
        effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Hook(_)))
            .count(),
        20
    );
    assert!(dash.notices().contains(&"support-bot: 50 wait for you"));
}

/// Opens the thread `9775` of the local server and loads its records.
fn page(records: Vec<(SnapshotPart, Value)>) -> Dash {
    page_with("", records)
}

fn page_with(more: &str, records: Vec<(SnapshotPart, Value)>) -> Dash {
    let toml = "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n";
    let mut dash = Dash::new(&format!("{toml}{more}"), (140, 40));
    dash.threads();
    dash.keys("<Enter>");
    dash.items(vec![made::connected(dash.now)]);
    dash.snapshot(records);
    dash
}

fn active_run(dash_now: &str, status: &str) -> Vec<(SnapshotPart, Value)> {
    let run = json!({"run_id": "01a1fbb5-1743-72b0-bac9-4236eccc288a", "status": status, "created_at": dash_now, "updated_at": dash_now});
    let thread =
        json!({"status": "busy", "metadata": {"graph_id": "agent"}, "updated_at": dash_now});
    vec![
        (SnapshotPart::Thread, thread),
        (SnapshotPart::Runs, json!([run])),
    ]
}

#[test]
fn a_stuck_run_has_a_badge_and_its_evidence_on_the_card() {
    let mut dash = page(active_run("2026-11-21T14:00:00Z", "pending"));
    dash.pass(60);
    dash.lacks("stuck");
    dash.pass(1);
    dash.shows("◌ queued 1m01s · stuck: pending for 1m");
    dash.keys("e");
    dash.reads(
        "stuck run 01a1fbb5…288a has been pending for 1m; no run of this thread is ahead of it",
    );

    let mut dash = page(active_run("2026-11-21T14:00:00Z", "running"));
    dash.pass(300);
    dash.heartbeat();
    dash.lacks("stuck");
    dash.pass(1);
    // Heartbeats are no events.
    dash.shows("stuck: no event for 5m");
    dash.event("updates", "{}");
    dash.lacks("stuck");
}

#[test]
fn a_page_opened_on_a_silent_run_calls_it_stuck_like_the_inbox() {
    let mut dash = page(active_run("2026-11-21T13:08:00Z", "running"));
    dash.shows("◐ running 52m · stuck: no change for 52m");
    dash.keys("e");
    let expected = "stuck running, but neither its records nor its events show a change for 52m";
    dash.reads(expected);
    dash.keys("<Esc>");
    dash.event("updates", "{}");
    dash.lacks("stuck: ");
}

/// A poll reads records, which change less often than events are sent.
#[test]
fn a_page_with_newer_events_corrects_the_row_and_the_notice_of_a_poll() {
    let mut dash = page_with(
        "[[notify]]\nwhen = \"stuck\"\n",
        active_run("2026-11-21T14:00:00Z", "running"),
    );
    let at = dash.page().server;
    answer(&mut dash, &at, listed(vec![]));
    dash.pass(290);
    dash.event("updates", "{}");
    dash.pass(20);
    dash.feed(Msg::Focus(false));
    let thread = dash.page().thread.unwrap();
    let stuck = |thread: &str| {
        let sign = InboxThread {
            status: "busy".into(),
            cause: Some(InboxCause::Stuck),
            ..InboxThread::default()
        };
        listed(vec![InboxThread {
            thread_id: thread.into(),
            ..sign
        }])
    };
    let effects = answer(&mut dash, &at, stuck(&thread));
    assert!(
        !effects
            .iter()
            .any(|effect| matches!(effect, Effect::Alert(..))),
        "{effects:?}"
    );
    dash.lacks("stuck");
    // Another thread is on no page.
    let effects = answer(&mut dash, &at, stuck(APPROVAL));
    assert!(
        dash.screen().lines().next().unwrap().contains("? 1 stuck"),
        "{effects:?}"
    );
}

#[test]
fn thresholds_of_the_configuration_apply() {
    let toml = "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n[stuck]\npending = \"10s\"\n[[notify]]\nwhen = \"stuck\"\n";
    let mut dash = Dash::new(toml, (140, 40));
    dash.threads();
    dash.keys("<Enter>");
    dash.snapshot(active_run("2026-11-21T14:00:00Z", "pending"));
    // Nobody is looking at it.
    dash.feed(Msg::Focus(false));
    dash.now += jiff::SignedDuration::from_secs(11);
    let effects = dash.feed(Msg::Tick);
    let [Effect::Alert(_, said)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    said.has("is stuck: run 01a1fbb5…288a has been pending for 11s");
    assert_eq!(dash.feed(Msg::Tick), [], "once");
}

#[test]
fn threads_on_open_pages_are_rows_where_the_server_cannot_search() {
    let mut dash = page(active_run("2026-11-21T14:00:00Z", "running"));
    let local = server("local", "local", 2024);
    answer(
        &mut dash,
        &local,
        Ok(ServerInbox {
            is_unlisted: true,
            ..ServerInbox::default()
        }),
    );
    assert_eq!(dash.inbox_rows(), 0);
    let thread = json!({"status": "interrupted", "metadata": {"graph_id": "agent"}, "updated_at": "2026-11-21T14:00:30Z",
        "interrupts": {"t": [{"id": "i1", "value": {"question": "send 5 EUR?"}}]}});
    dash.feed(Msg::Focus(false));
    dash.snapshot(vec![
        (SnapshotPart::Thread, thread),
        (SnapshotPart::Runs, json!([])),
    ]);
    assert_eq!(dash.inbox_rows(), 1);
    assert!(
        dash.notices()
            .into_iter()
            .any(|notice| notice.ends_with("waits for you: send 5 EUR?"))
    );
    dash.keys("i");
    dash.shows(["send 5 EUR?", "local: open threads only"]);
    // Its page can answer. The server has no state to check, so the thread can't be ended safely.
    dash.shows("a answer");
    dash.lacks("end thread");
}

/// Returns the id of the selected thread.
fn selected(dash: &mut Dash) -> String {
    match dash.keys("y").as_slice() {
        [Effect::Copy(id)] => id.clone(),
        other => panic!("{other:?}\n{}", dash.screen()),
    }
}

#[test]
fn a_thread_that_the_inbox_opened_returns_to_it() {
    for leave in ["<Esc>", "q", "i<Esc><Esc>"] {
        let mut dash = full((140, 40));
        dash.keys("i<Down>");
        let before = selected(&mut dash);
        dash.keys("<Enter>");
        assert!(dash.dialog().is_none());
        dash.keys(leave);
        assert!(dash.has_dialog(Dialog::Inbox), "{leave}");
        assert_eq!(selected(&mut dash), before);
        dash.keys("<Esc>");
        assert!(dash.dialog().is_none());
    }
    // The first row stays selected although an older one arrives, and the filter is kept.
    let mut dash = full((140, 40));
    dash.keys("i/support-bot<Enter>");
    let before = selected(&mut dash);
    dash.keys("<Enter>");
    let older = extract(&dash, "beef", 90, InboxCause::Breakpoint);
    let rows = vec![older, refund(&dash), approval(&dash)];
    answer(&mut dash, &support(), listed(rows));
    dash.keys("<Esc>");
    assert_eq!(selected(&mut dash), before);
    dash.shows("/support-bot");
    dash.lacks("invoice-agent ›");
    // Another page is left to its lists.
    dash.keys("<Esc><Enter>");
    dash.open_server_of(support());
    dash.keys("<Esc>");
    assert!(dash.dialog().is_none());
}

#[test]
fn news_wait_until_an_answer_to_a_key_was_shown() {
    let news = |dash: &mut Dash| {
        let id = format!("01a1fbb5-0000-7000-8000-0000000{:05}", dash.notices().len());
        let asked = thread(dash, &id, "extract", 0, Some(InboxCause::Breakpoint));
        let rows = vec![asked, refund(dash), approval(dash)];
        answer(dash, &support(), listed(rows));
    };
    let mut dash = full((140, 40));
    dash.notify("Answer sent.");
    dash.pass(1);
    news(&mut dash);
    assert_eq!(dash.shown_notice(), Some("Answer sent."));
    assert!(
        dash.next_tick()
            .is_some_and(|tick| tick <= std::time::Duration::from_secs(3))
    );
    dash.pass(3);
    let said = |dash: &Dash| dash.shown_notice().unwrap_or_default().to_string();
    said(&dash).has("paused at a breakpoint");
    // It has its own time, and a key that dismisses the answer shows it at once.
    dash.pass(3);
    said(&dash).has("paused at a breakpoint");
    dash.pass(1);
    assert_eq!(said(&dash), "");
    dash.notify("Answer sent.");
    news(&mut dash);
    dash.pass(3);
    dash.keys("<Down>");
    said(&dash).has("paused at a breakpoint");
    // News don't wait for each other.
    let before = said(&dash);
    news(&mut dash);
    assert_ne!(said(&dash), before);
    // An answer covers news.
    dash.notify("Answer sent.");
    assert_eq!(said(&dash), "Answer sent.");
}

#[test]
fn the_inbox_says_how_many_rows_are_hidden() {
    for size in [(80, 24), (140, 40)] {
        let mut dash = dash(size);
        let rows = (0..60)
            .map(|n| InboxThread {
                thread_id: format!("thread-{n:04}"),
                ..approval(&dash)
            })
            .collect();
        answer(&mut dash, &support(), listed(rows));
        // All ask the same, so they are one row before it is unfolded.
        dash.keys("i");
        dash.shows("60 threads");
        dash.keys("<Right><Down>");
        let screen = dash.screen();
        let shown = screen.matches("approval 0").count() - 1;
        assert!(
            shown < 60 && screen.contains(&format!(" ↓ {} more ", 60 - shown)),
            "{shown}: {screen}"
        );
        dash.keys("<End>");
        dash.shows(&format!(" ↑ {} more ", 60 - shown));
        let one = vec![approval(&dash)];
        answer(&mut dash, &support(), listed(one));
        dash.lacks(" more ");
    }
}

#[test]
fn a_question_that_the_inbox_never_listed_is_not_called_closed() {
    let mut dash = dash((140, 40));
    answer(&mut dash, &support(), listed(Vec::new()));
    dash.open_server_of(support());
    dash.threads();
    let effects = dash.keys("<Down>a");
    let [Effect::LoadThread(number, _)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let state = json!({"values": {}, "next": ["approve"], "metadata": {"source": "loop"},
        "tasks": [{"id": "t", "name": "approve", "interrupts": [{"id": "q1", "value": "Approve?"}]}]});
    let loaded = LoadedThread {
        thread: Some(
            runtail_core::model::ThreadFacts::read(r#"{"status": "interrupted"}"#).unwrap(),
        ),
        state: Some(runtail_core::model::StateFacts::read(&state.to_string()).unwrap()),
        runs: Some(Vec::new()),
    };
    dash.done(EffectResult::ThreadLoaded(*number, Ok(Box::new(loaded))));
    assert!(dash.is_answering());
    answer(&mut dash, &support(), listed(Vec::new()));
    dash.lacks("no longer open");
}
