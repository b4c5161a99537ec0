//! The bisect of a value from the State and History views: the proposed command, the page, and where it leads.

use runtail_api::Kind;
use runtail_core::model::Checkpoint;
use runtail_stream::bisect::{BisectQuery, Bisection, HistoryError, HistoryStates};
use runtail_testkit::dash::{Dash, Dialog, demo, demo_thread};
use runtail_testkit::made;
use runtail_tui::session::checkpoints::CheckpointPage;
use runtail_tui::session::msg::{SubscriptionEvent, SubscriptionId, SubscriptionKind};
use serde_json::{Value, json};
use std::sync::Arc;

/// The history of an invoice whose amount was changed by hand, newest first.
fn invoice() -> Vec<Value> {
    let row = |n: usize, source: &str, values: Value, task: Value| {
        let parent = n
            .checked_sub(1)
            .map(|parent| json!({"checkpoint_id": format!("1f1e6200-000{parent}")}));
        json!({"checkpoint": {"checkpoint_id": format!("1f1e6200-000{n}")}, "parent_checkpoint": parent, "values": values,
            "metadata": {"source": source, "step": n as i64 - 1, "run_id": "01a1fbb5-1743-72b0-bac9-4236eccc288a"},
            "created_at": format!("2026-11-21T13:5{n}:00Z"), "next": ["ask"], "tasks": [task]})
    };
    let to = "Alpenblick Hotel";
    let draft = "Pay 1300 EUR to Alpenblick Hotel";
    let mut rows = vec![
        row(
            0,
            "input",
            json!({"log": []}),
            json!({"name": "__start__", "result": {"amount": 1300, "to": to}}),
        ),
        row(
            1,
            "loop",
            json!({"log": [], "amount": 1300, "to": to}),
            json!({"name": "draft", "result": {"draft": draft}}),
        ),
        row(
            2,
            "loop",
            json!({"log": ["drafted"], "amount": 1300, "to": to, "draft": draft}),
            json!({"name": "ask"}),
        ),
        row(
            3,
            "update",
            json!({"log": ["drafted"], "amount": 130, "to": to, "draft": draft}),
            json!({"name": "ask"}),
        ),
    ];
    rows.reverse();
    rows
}

/// Opens the page of a thread whose newest state is that of the invoice.
pub(crate) fn opened(size: (u16, u16)) -> Dash {
    let mut dash = demo_thread(size);
    if size.0 >= 120 {
        dash.keys("f");
    }
    dash.event("values", &invoice()[0]["values"].to_string());
    dash
}

/// Returns the request of the page, and its question.
fn request(dash: &Dash) -> Option<(SubscriptionId, Option<String>, BisectQuery)> {
    dash.subscriptions()
        .into_iter()
        .find_map(|sub| match sub.what {
            SubscriptionKind::Bisect(_, tip, query) => Some((sub.key, tip, *query)),
            _ => None,
        })
}

/// Responds to the request as a server with this history does.
fn serve(dash: &mut Dash, history: &[Value]) -> Bisection {
    let (key, tip, query) = request(dash).expect("a request");
    let mut states = HistoryStates::default();
    history
        .iter()
        .for_each(|row| states.add(&query, &row.to_string()));
    let result = states.bisect(tip.as_deref()).expect("states");
    dash.answer(
        |known| *known == key,
        SubscriptionEvent::Bisected(Ok(Arc::new(result.clone()))),
    );
    result
}

#[test]
fn page_shows_the_first_wrong_step_and_enter_goes_there() {
    for (name, size) in [("140x40", (140, 40)), ("80x24", (80, 24))] {
        let mut dash = opened(size);
        dash.keys(":bisect amount =1300<Enter>");
        dash.shows("Loading the history…");
        assert_eq!(serve(&mut dash, &invoice()).times_wrong, 1);
        insta::assert_snapshot!(format!("bisect_{name}"), dash.screen());
        assert_eq!(request(&dash), None, "the request is sent once");
        dash.keys("<Esc>:bisect log =[]<Enter>");
        serve(&mut dash, &invoice());
        dash.shows("log became wrong at step 1 (draft)");
        dash.keys("<Enter>");
        let page = CheckpointPage {
            checkpoints: invoice()
                .iter()
                .filter_map(|row| Checkpoint::read(&row.to_string()))
                .collect(),
            is_last: true,
        };
        dash.relayout();
        // The history is loaded only now.
        dash.answer(
            |key| matches!(key, SubscriptionId::History(_)),
            SubscriptionEvent::Checkpoints(Ok(page)),
        );
        dash.relayout();
        assert_eq!(dash.checkpoint(), Some("1f1e6200-0002"));
        // From a checkpoint of the Steps view, only its branch is checked.
        dash.keys(":bisect amount =1300<Enter>");
        let (_, tip, _) = request(&dash).expect("a request");
        assert_eq!(tip.as_deref(), Some("1f1e6200-0002"));
        serve(&mut dash, &invoice());
        let says = "amount was never wrong once it was set: it is right since step 0 (input).";
        // A narrow screen breaks the sentence.
        let words = dash
            .screen()
            .split_whitespace()
            .filter(|word| *word != "│")
            .collect::<Vec<_>>()
            .join(" ");
        assert!(words.contains(says), "{words}");
        dash.keys("<Enter>");
        assert_eq!(dash.checkpoint(), Some("1f1e6200-0001"));
    }
}

#[test]
fn key_proposes_the_value_under_the_cursor() {
    let mut dash = opened((140, 40));
    dash.keys("3");
    dash.screen();
    let mut seen = Vec::new();
    for _ in 0..6 {
        dash.keys("B");
        let screen = dash.screen();
        seen.extend(
            screen
                .lines()
                .rev()
                .find(|line| line.contains("bisect "))
                .map(str::to_string),
        );
        dash.keys("<Esc><Down>");
        dash.screen();
    }
    assert!(
        seen.iter().any(|line| line.contains("bisect amount !=130")),
        "{seen:#?}"
    );
    assert!(
        seen.iter()
            .any(|line| line.contains("bisect to !=\"Alpenblick Hotel\"")),
        "{seen:#?}"
    );
    // What it proposes is valid: since when is the amount 130?
    dash.keys(":bisect amount !=130<Enter>");
    let found = serve(&mut dash, &invoice());
    assert_eq!(
        found.first_wrong.map(|(_, wrong)| wrong.at.step),
        Some(Some(2))
    );
}

#[test]
fn answers_other_than_a_step_and_failures_are_shown() {
    let mut dash = opened((100, 30));
    for (command, says) in [
        (
            ":bisect amount =7<Enter>",
            "amount was never right (4 states): it was 1300 first, at step 0 (input).",
        ),
        (
            ":bisect to exists<Enter>",
            "to was never wrong once it was set: it is right since step 0 (input).",
        ),
    ] {
        dash.keys(command);
        serve(&mut dash, &invoice());
        dash.shows(says);
        dash.keys("<Esc>");
    }
    dash.keys(":bisect amount =7<Enter>");
    let (key, ..) = request(&dash).expect("a request");
    let error = made::error(Kind::Server(503), "busy");
    dash.answer(
        |known| *known == key,
        SubscriptionEvent::Bisected(Err(HistoryError::Request(Box::new(error)))),
    );
    dash.shows("Couldn't load the history");
    dash.keys("r");
    assert!(request(&dash).is_some(), "r retries");
    let error = made::error(Kind::NotFound, "");
    let (key, ..) = request(&dash).expect("a request");
    dash.answer(
        |known| *known == key,
        SubscriptionEvent::Bisected(Err(HistoryError::Request(Box::new(error)))),
    );
    dash.shows("This server has no history.");
    dash.keys("<Esc>");
    for (command, says) in [
        (":bisect<Enter>", "the path is missing"),
        (":bisect amount<Enter>", "add =JSON"),
        (":bisect a[*] =1<Enter>", "it selects several values"),
    ] {
        dash.keys(command);
        dash.shows(says);
        assert!(!dash.has_dialog(Dialog::Bisect), "{command}");
        dash.keys("<Esc><Esc>");
    }
}

#[test]
fn states_of_a_recording_are_bisected_without_a_server() {
    let mut dash = demo();
    dash.open_recording("invoice.jsonl".into());
    for (name, data) in [
        (
            "metadata",
            json!({"run_id": "01a1fbb5-1743-72b0-bac9-4236eccc288a"}),
        ),
        ("values", json!({"amount": 1300})),
        ("updates", json!({"round": {"amount": 130}})),
        ("values", json!({"amount": 130})),
    ] {
        dash.event(name, &data.to_string());
    }
    dash.keys("6:bisect amount =1300<Enter>");
    assert_eq!(request(&dash), None);
    let says = "amount became wrong at event 4 (round); it was right until event 2 (input).";
    dash.shows(says);
    dash.keys("<Enter>");
    assert!(!dash.has_dialog(Dialog::Bisect));
    assert_eq!(dash.event_under_cursor(), Some(runtail_stream::Seq(4)));
}
