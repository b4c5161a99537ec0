//! The dialog that changes the modes of an open stream: what it offers and refuses, and which modes the source receives.

use runtail_api::{ServerInfo, ServerKind};
use runtail_core::model::RunCreate;
use runtail_stream::{Item, Outcome, Record, RunRecord, RunStreamOptions, Target};
use runtail_testkit::dash::{Dash, demo_thread};
use runtail_testkit::says::Says;

use runtail_tui::session::msg::{Effect, EffectResult, StreamTarget, SubscriptionId};
use serde_json::Value;
use std::sync::Arc;

/// Returns the modes that the source of the open stream receives.
#[track_caller]
fn source_modes(dash: &Dash) -> Vec<String> {
    let subs = dash.subscriptions();
    let stream = subs
        .iter()
        .find(|sub| matches!(sub.key, SubscriptionId::Stream(_)))
        .expect("a stream");
    stream.params.modes.clone()
}

/// Joins a run that was started with these modes.
fn joined(size: (u16, u16), terms: Option<RunStreamOptions>) -> Dash {
    let mut dash = demo_thread(size);
    dash.keys("q");
    dash.open_stream(StreamTarget::Join {
        thread: "t-1".into(),
        run: "r-1".into(),
    });
    dash.capture("agent-updates");
    dash.items(terms.into_iter().map(Item::Terms).collect());
    dash
}

fn terms(modes: &[&str]) -> RunStreamOptions {
    RunStreamOptions {
        modes: modes.iter().map(|mode| mode.to_string()).collect(),
        subgraphs: true,
        resumable: true,
    }
}

fn set_server_kind(dash: &mut Dash, kind: ServerKind) {
    let server = dash.page().server;
    dash.done(EffectResult::Info(
        server,
        Ok(ServerInfo {
            kind,
            version: "1".into(),
            raw: Value::Null,
        }),
    ));
}

#[test]
fn thread_streams_have_three_modes() {
    for (width, height) in [(80, 24), (140, 40)] {
        let mut dash = demo_thread((width, height));
        dash.capture("agent-updates");
        assert_eq!(source_modes(&dash), ["run_modes", "state_update"]);
        dash.keys("M<Down>");
        insta::assert_snapshot!(format!("thread_{width}x{height}"), dash.screen());
        dash.keys(" <Enter>");
        assert_eq!(
            source_modes(&dash),
            ["run_modes", "lifecycle", "state_update"]
        );
        dash.shows("Reconnecting with these modes");
        // The next stream of a thread has the same modes.
        dash.keys("<Esc><Down><Enter>");
        let shown = dash.modes().len();
        assert_eq!(shown, 3);
    }
}

#[test]
fn run_streams_offer_the_runs_own_modes() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values", "novel"])));
    assert_eq!(source_modes(&dash), [""; 0], "all of them");
    dash.keys("M<Down><Down> <Home>");
    insta::assert_snapshot!("run_100x30", dash.screen());
    dash.keys(" ");
    dash.shows("started without messages-tuple");
    dash.keys("<Enter>");
    assert_eq!(source_modes(&dash), ["updates", "novel"]);
    // Choosing all modes needs no filter.
    dash.keys("M");
    dash.shows("sends only updates, values, novel, with subgraphs");
    dash.shows(["[x] updates", "[ ] values"]);
    dash.keys("<Down><Down> <Enter>");
    assert_eq!(source_modes(&dash), [""; 0]);
    dash.keys("M<Down> <Down> <Down><Down><Down><Down><Down><Down><Down> <Enter>");
    dash.shows("Choose at least one");
    assert_eq!(source_modes(&dash), [""; 0]);
}

#[test]
fn unknown_run_modes_are_reported_and_all_are_offered() {
    let mut dash = joined((100, 30), None);
    dash.keys("M");
    dash.shows("it was started with, which are unknown");
    dash.keys(" <Enter>");
    assert_eq!(source_modes(&dash).len(), 8, "{:?}", source_modes(&dash));
}

#[test]
fn unsupported_mode_changes_are_refused_without_a_request() {
    for (kind, why) in [
        (ServerKind::EarlyAegra, "one reader only"),
        (ServerKind::Aegra, "always sends all modes"),
        (ServerKind::JavaScript, "always send all modes"),
    ] {
        let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
        set_server_kind(&mut dash, kind);
        dash.keys("M<Down> ");
        assert!(dash.body().contains(why));
        dash.keys("<Enter>");
        assert_eq!(source_modes(&dash), [""; 0]);
        dash.shows("modes are unchanged");
    }
    let mut dash = demo_thread((100, 30));
    let body = RunCreate {
        assistant_id: "a".into(),
        stream_mode: vec!["values".into()],
        ..RunCreate::default()
    };
    dash.open_stream(StreamTarget::Start {
        on: Target::Stateless,
        body: Arc::new(body),
    });
    dash.keys("M<Enter>");
    dash.shows("a stateless run can't be joined again");
}

#[test]
fn a_page_that_follows_the_thread_of_its_own_run_keeps_its_modes() {
    let mut dash = demo_thread((100, 30));
    let modes = vec!["values".into(), "updates".into()];
    let body = RunCreate {
        assistant_id: "a".into(),
        stream_mode: modes,
        ..RunCreate::default()
    };
    dash.open_stream(StreamTarget::Start {
        on: Target::Thread("t-1".into()),
        body: Arc::new(body),
    });
    dash.keys("M");
    dash.body().has("Reconnects at the current position");
    dash.keys("<Esc>");
    let run = RunRecord {
        at: dash.now,
        run_id: "r-1".into(),
        status: "success".into(),
        ..RunRecord::default()
    };
    dash.items(vec![Item::Record(Record::Run(run))]);
    dash.keys("M");
    dash.body().has("the page follows its thread");
    dash.keys("<Down> <Enter>");
    dash.shows("The modes are unchanged");
}

#[test]
fn refused_mode_changes_are_reported() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
    dash.keys("M<Down> <Enter>");
    assert_eq!(source_modes(&dash), ["values"]);
    dash.items(vec![Item::ModesKept {
        why: "only one reader is allowed".into(),
    }]);
    assert_eq!(source_modes(&dash), [""; 0]);
    dash.shows("The modes are unchanged: only one reader is allowed.");
}

#[test]
fn mode_change_after_the_end_reloads_the_stream() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
    let before = dash.stream().unwrap();
    dash.end(Outcome::Success);
    dash.keys("M<Down> ");
    dash.body().has("reloads from the start");
    dash.keys("<Enter>");
    assert!(dash.stream().unwrap() > before);
    assert_eq!(source_modes(&dash), ["values"]);
}

#[test]
fn mode_change_is_shown_in_runs() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
    let at = dash.now;
    let close = runtail_stream::Record::Close {
        at,
        conn: 1,
        reason: "modes".into(),
    };
    let open = runtail_stream::Record::Open {
        at,
        conn: 2,
        status: 200,
        resumed_after: Some("1795224332619-0".into()),
    };
    dash.items(vec![Item::Record(close), Item::Record(open)]);
    dash.keys("7<Right>");
    dash.shows([
        "modes changed: reopened after 1795224332619-0",
        "(connection 2, 200)",
    ]);
}

#[test]
fn typed_ahead_ctrl_s_does_not_start_a_run() {
    let mut dash = demo_thread((140, 40));
    dash.assistants();
    let starts = |effects: Vec<Effect>| {
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::StartRun(..)))
    };
    assert!(!starts(dash.typed_ahead("n<ctrl-s>")));
    // Nor does a key typed before the composer is drawn again.
    dash.screen();
    dash.on_drawn();
    assert!(!starts(dash.typed_ahead("<Esc>n<ctrl-s>")));
    dash.keys("hello");
    assert!(starts(dash.keys("<ctrl-s>")));
}

#[test]
fn composer_offers_every_mode_and_remembers_the_choice() {
    let mut dash = demo_thread((140, 40));
    dash.assistants();
    let all = [
        "messages-tuple",
        "updates",
        "values",
        "custom",
        "tasks",
        "checkpoints",
        "debug",
        "events",
        "messages",
    ];
    dash.keys("nhello<ctrl-o>");
    // Chooses all other modes, and no subgraphs.
    for _ in 0..5 {
        dash.keys("<Right>");
    }
    for _ in 0..5 {
        dash.keys(" <Right>");
    }
    let effects = dash.keys("<ctrl-s>");
    let started = effects.iter().find_map(|effect| match effect {
        Effect::StartRun(_, _, start) => Some(&start.body),
        _ => None,
    });
    let body = started.unwrap_or_else(|| panic!("{effects:?}: {}", dash.screen()));
    assert_eq!(body.stream_mode, all);
    assert!(!body.stream_subgraphs);
    // The next run starts with the same modes.
    dash.keys("q<Esc>n");
    assert_eq!(dash.composed_modes(), all);
}
