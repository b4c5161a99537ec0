//! The selected thread below a wide list of threads: what is read of it, and what is shown of its record.

use crate::inbox_details::{read, tick};
use jiff::Timestamp;
use runtail_api::{Kind, ServerInbox};
use runtail_core::model::{InboxCause, InboxThread, Question, ThreadStatus};
use runtail_testkit::dash::{Dash, demo_server};
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{
    EffectResult, InboxTarget, RowDetail, SubscriptionEvent, SubscriptionId, ThreadsRead,
    WantedStatus,
};
use serde_json::json;

fn opened(size: (u16, u16)) -> Dash {
    let mut dash = demo_server(size);
    dash.screen();
    dash
}

fn message() -> RowDetail {
    RowDetail {
        title: "last message".into(),
        rows: vec![("ai · draft".into(), "Should I send 5 EUR?".into())],
        hidden: 0,
    }
}

#[test]
fn the_selected_thread_is_read_once_it_stays_selected() {
    let mut dash = opened((140, 40));
    dash.keys("<Home>");
    assert_eq!(
        read(&tick(&mut dash, 100)),
        None,
        "the row is not selected for long enough"
    );
    dash.keys("<Down>");
    assert_eq!(read(&tick(&mut dash, 100)), None);
    assert!(
        dash.next_tick()
            .is_some_and(|after| after.as_millis() <= 50)
    );
    let of = read(&tick(&mut dash, 100)).expect("the thread is read");
    assert!(
        matches!(&of, InboxTarget::Thread(thread) if thread.id.ends_with("715e")),
        "{of:?}"
    );
    assert_eq!(read(&tick(&mut dash, 1000)), None, "it is read once");
    dash.done(EffectResult::RowRead(of, Ok(message())));
    insta::assert_snapshot!("thread_preview_waiting_140x40", dash.screen());
    assert_eq!(read(&tick(&mut dash, 1000)), None);
    // The failed thread is above it, with its whole error.
    dash.keys("<Up>");
    insta::assert_snapshot!("thread_preview_failed_140x40", dash.screen());
    let of = read(&tick(&mut dash, 200)).expect("the thread is read");
    let error = dash.error("prod-us", Kind::Timeout);
    dash.done(EffectResult::RowRead(of, Err(error)));
    dash.shows("── couldn't read the details (timeout) ──");
}

#[test]
fn small_terminals_other_lists_and_dialogs_have_no_preview() {
    for size in [(80, 24), (139, 40), (140, 20)] {
        let mut dash = opened(size);
        assert_eq!(read(&tick(&mut dash, 1000)), None, "{size:?}");
        dash.lacks("changed ");
    }
    let mut dash = opened((140, 40));
    dash.keys("2");
    assert_eq!(read(&tick(&mut dash, 1000)), None);
    dash.keys("1?");
    assert_eq!(
        read(&tick(&mut dash, 1000)),
        None,
        "the help covers the list"
    );
    dash.keys("<Esc>");
    assert!(read(&tick(&mut dash, 1000)).is_some());
}

#[test]
fn the_keys_of_the_preview_write_only_where_writing_is_allowed() {
    let mut dash = opened((140, 40));
    dash.keys("<Home><Down>");
    dash.shows("A approve   a answer   ⏎ open");
    dash.keys("<Home>");
    dash.shows("e explain   R retry   ⏎ open");
    dash.seal();
    dash.shows("e explain   ⏎ open");
}

const RUNNING: &str = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
const WAITING: &str = "01a1fbb6-05bd-7362-97d9-fb3f813b715e";
const IDLE: &str = "01a1fbb8-1f78-73e0-8673-6126729aa3fd";

/// Delivers the status of a listed thread.
fn load_status(dash: &mut Dash, thread: &str, status: ThreadStatus) {
    let facts = dash.facts(thread);
    let of = WantedStatus {
        thread: thread.into(),
        facts,
    };
    let event = SubscriptionEvent::ThreadStatus {
        of,
        status: Ok(status),
    };
    dash.answer(
        |key| matches!(key, SubscriptionId::ThreadStatuses(_)),
        event,
    );
}

/// Selects a thread, wherever it is in the list.
fn select(dash: &mut Dash, thread: &str) {
    let at = dash
        .shown_threads()
        .iter()
        .position(|id| id == thread)
        .unwrap();
    dash.keys("<Home>");
    dash.keys(&"<Down>".repeat(at));
}

#[test]
fn keys_of_a_question_and_a_breakpoint_suit_them() {
    let mut dash = opened((140, 40));
    let question = Question {
        value: json!({"question": "Which supplier is it?"}),
        ..Question::default()
    };
    load_status(
        &mut dash,
        WAITING,
        ThreadStatus::Waiting {
            since: None,
            questions: vec![question],
        },
    );
    select(&mut dash, WAITING);
    // A question that A can't approve.
    dash.shows("│ a answer   ⏎ open");
    let paused = ThreadStatus::Paused {
        since: None,
        next: vec!["write_ledger".into()],
        after: false,
    };
    load_status(&mut dash, WAITING, paused);
    dash.shows("│ a continue   e explain   ⏎ open");
    dash.seal();
    dash.shows("│ e explain   ⏎ open");
}

#[test]
fn the_time_since_the_request_is_not_called_the_duration_of_the_run() {
    let mut dash = opened((140, 40));
    let time = |text: &str| text.parse::<Timestamp>().ok();
    let (began, ended) = (time("2026-11-21T13:59:00Z"), time("2026-11-21T13:59:02.5Z"));
    load_status(&mut dash, IDLE, ThreadStatus::Idle { ended, began });
    select(&mut dash, IDLE);
    dash.shows(" ago, 2.5s after its request");
    dash.lacks("took");
}

#[test]
fn stuck_threads_have_the_words_of_the_inbox() {
    for (name, size) in [
        ("threads_stuck_140x40", (140, 40)),
        ("threads_stuck_80x24", (80, 24)),
    ] {
        let mut dash = opened(size);
        let server = dash.server();
        let stuck = InboxThread {
            thread_id: RUNNING.into(),
            status: "busy".into(),
            cause: Some(InboxCause::Stuck),
            detail: "running, but its records have not changed for 52m (events were not read)"
                .into(),
            ..InboxThread::default()
        };
        let inbox = ServerInbox {
            threads: vec![stuck],
            busy: 1,
            ..ServerInbox::default()
        };
        crate::inbox::answer(&mut dash, &server, Ok(inbox));
        select(&mut dash, RUNNING);
        insta::assert_snapshot!(name, dash.screen());
        // Its run ended: the list knows that before the inbox does.
        load_status(
            &mut dash,
            RUNNING,
            ThreadStatus::Idle {
                ended: None,
                began: None,
            },
        );
        dash.lacks("? stuck");
    }
}

#[test]
fn stuck_threads_are_listed_below_waiting_ones_and_above_running_ones() {
    let mut dash = opened((140, 40));
    let server = dash.server();
    load_status(
        &mut dash,
        IDLE,
        ThreadStatus::Queued {
            since: None,
            waiting: 1,
            run_id: None,
        },
    );
    let stuck = InboxThread {
        thread_id: IDLE.into(),
        cause: Some(InboxCause::Stuck),
        detail: "a run".into(),
        ..Default::default()
    };
    let inbox = ServerInbox {
        threads: vec![stuck],
        busy: 2,
        ..ServerInbox::default()
    };
    crate::inbox::answer(&mut dash, &server, Ok(inbox));
    dash.screen();
    let shown = dash.shown_threads().to_vec();
    assert_eq!(shown[1..], [WAITING, IDLE, RUNNING]);
}

/// Reads the selected thread with fields of a state; `hidden` others are left out.
fn read_state(dash: &mut Dash, fields: usize, hidden: usize) -> String {
    let of = read(&tick(dash, 200)).expect("the thread is read");
    let rows = (0..fields)
        .map(|n| (format!("field {n}"), format!("value {n}")))
        .collect();
    dash.done(EffectResult::RowRead(
        of,
        Ok(RowDetail {
            title: "state".into(),
            rows,
            hidden,
        }),
    ));
    dash.screen()
}

#[test]
fn the_preview_has_the_rows_that_a_short_list_leaves_free() {
    let mut dash = opened((140, 40));
    select(&mut dash, IDLE);
    let screen = read_state(&mut dash, 12, 3);
    screen.has(["value 11", " +3 more"]);
    // A long list keeps its rows.
    let threads: Vec<_> = (0..60)
        .map(|n| json!({"thread_id": format!("thread-{n:04}"), "status": "idle"}))
        .collect();
    let threads = ThreadsRead::all(Ok(serde_json::from_value(json!(threads)).unwrap()));
    dash.answer(
        |k| matches!(k, SubscriptionId::Threads(_)),
        SubscriptionEvent::Threads(threads),
    );
    dash.keys("<Home>");
    let screen = read_state(&mut dash, 12, 0);
    screen.has("value 4");
    screen.lacks("value 11");
    let shown = (0..12)
        .filter(|n| screen.contains(&format!("value {n}")))
        .count();
    screen.has(&format!(" +{} more", 12 - shown));
    screen.lacks(" …");
}

#[test]
fn a_cut_value_and_values_that_are_not_shown_have_different_marks() {
    let mut dash = opened((140, 28));
    select(&mut dash, IDLE);
    let of = read(&tick(&mut dash, 200)).expect("the thread is read");
    let rows = vec![
        ("draft".into(), "A long letter. ".repeat(200)),
        ("amount".into(), "5".into()),
    ];
    dash.done(EffectResult::RowRead(
        of,
        Ok(RowDetail {
            title: "state".into(),
            rows,
            hidden: 0,
        }),
    ));
    let screen = dash.screen();
    let letter = screen
        .lines()
        .rfind(|line| line.contains("A long letter"))
        .unwrap();
    assert!(letter.trim_end_matches([' ', '│']).ends_with(" …"));
    dash.shows(" +1 more");
    dash.lacks("amount");
}
