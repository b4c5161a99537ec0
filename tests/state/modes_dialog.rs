//! The dialog in which a stream's modes are chosen while it goes on: what it offers, what it refuses and says, and what the
//! source is told.

use runtail_api::{ServerInfo, ServerKind};
use runtail_core::model::RunCreate;
use runtail_stream::{Item, Outcome, RunTerms, Target};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::app::subscriptions;
use runtail_tui::session::msg::{Effect, EffectResult, StreamTarget, SubscriptionId};
use serde_json::Value;
use std::sync::Arc;

/// The modes that the source of the open stream is told.
#[track_caller]
fn told(dash: &Dash) -> Vec<String> {
    let subs = subscriptions(&dash.app);
    let stream = subs.iter().find(|sub| matches!(sub.key, SubscriptionId::Stream(_))).expect("a stream");
    stream.wish.modes.clone()
}

/// A run that is joined, and what it was started with.
fn joined(size: (u16, u16), terms: Option<RunTerms>) -> Dash {
    let mut dash = demo_like(size);
    dash.open_thread();
    dash.keys("q");
    dash.app.open_stream(StreamTarget::Join { thread: "t-1".into(), run: "r-1".into() });
    dash.capture("agent-updates");
    dash.items(terms.into_iter().map(Item::Terms).collect());
    dash
}

fn terms(modes: &[&str]) -> RunTerms {
    RunTerms { modes: modes.iter().map(|mode| mode.to_string()).collect(), subgraphs: true, resumable: true }
}

fn is(dash: &mut Dash, kind: ServerKind) {
    let server = dash.app.viewer().expect("a stream").server.clone();
    dash.done(EffectResult::Info(server, Ok(ServerInfo { kind, version: "1".into(), raw: Value::Null })));
}

#[test]
fn a_thread_has_three_modes() {
    for (width, height) in [(80, 24), (140, 40)] {
        let mut dash = demo_like((width, height));
        dash.open_thread();
        dash.capture("agent-updates");
        assert_eq!(told(&dash), ["run_modes", "state_update"]);
        dash.keys("M<Down>");
        insta::assert_snapshot!(format!("thread_{width}x{height}"), dash.screen());
        dash.keys(" <Enter>");
        assert_eq!(told(&dash), ["run_modes", "lifecycle", "state_update"]);
        assert!(dash.screen().contains("Reconnecting at the current position"), "{}", dash.screen());
        // The next stream of this kind has them too.
        dash.keys("<Esc><Down><Enter>");
        let shown = dash.app.viewer().expect("a stream").modes.wanted.len();
        assert_eq!(shown, 3);
    }
}

#[test]
fn a_run_gives_what_it_was_started_with() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values", "novel"])));
    assert_eq!(told(&dash), [""; 0], "all of them");
    dash.keys("M<Down><Down> <Home>");
    insta::assert_snapshot!("run_100x30", dash.screen());
    dash.keys(" ");
    assert!(
        dash.screen().contains("not started with messages-tuple, so its stream can't send it"),
        "{}",
        dash.screen()
    );
    dash.keys("<Enter>");
    assert_eq!(told(&dash), ["updates", "novel"]);
    // All of them again need no filter.
    dash.keys("M");
    let screen = dash.screen();
    assert!(screen.contains("started with updates, values, novel, with subgraphs"), "{screen}");
    assert!(screen.contains("[x] updates") && screen.contains("[ ] values"), "{screen}");
    dash.keys("<Down><Down> <Enter>");
    assert_eq!(told(&dash), [""; 0]);
    dash.keys("M<Down> <Down> <Down><Down><Down><Down><Down><Down><Down> <Enter>");
    assert!(dash.screen().contains("Choose at least one"), "{}", dash.screen());
    assert_eq!(told(&dash), [""; 0]);
}

#[test]
fn what_is_not_known_is_offered_and_said() {
    let mut dash = joined((100, 30), None);
    dash.keys("M");
    assert!(dash.screen().contains("The run's own modes are unknown"), "{}", dash.screen());
    dash.keys(" <Enter>");
    assert_eq!(told(&dash).len(), 8, "{:?}", told(&dash));
}

#[test]
fn where_it_would_do_harm_it_is_refused_before_anything_is_tried() {
    for (kind, why) in [(ServerKind::Aegra, "one reader only"), (ServerKind::JavaScript, "always send all modes")] {
        let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
        is(&mut dash, kind);
        dash.keys("M<Down> ");
        assert!(dash.body().contains(why), "{}", dash.screen());
        dash.keys("<Enter>");
        assert_eq!(told(&dash), [""; 0]);
        assert!(dash.screen().contains("modes are unchanged"), "{}", dash.screen());
    }
    let mut dash = demo_like((100, 30));
    dash.open_thread();
    let body = RunCreate { assistant_id: "a".into(), stream_mode: vec!["values".into()], ..RunCreate::default() };
    dash.app.open_stream(StreamTarget::Start { on: Target::Stateless, body: Arc::new(body) });
    dash.keys("M<Enter>");
    assert!(dash.screen().contains("a stateless run can't be joined again"), "{}", dash.screen());
}

#[test]
fn the_server_may_refuse_too() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
    dash.keys("M<Down> <Enter>");
    assert_eq!(told(&dash), ["values"]);
    dash.items(vec![Item::ModesKept { why: "it would do harm".into() }]);
    assert_eq!(told(&dash), [""; 0]);
    assert!(dash.screen().contains("The modes are unchanged: it would do harm."), "{}", dash.screen());
}

#[test]
fn a_stream_that_is_over_is_opened_from_its_start() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
    let before = dash.app.viewer().expect("a stream").id;
    dash.end(Outcome::Success);
    dash.keys("M<Down> ");
    assert!(dash.body().contains("reloaded from the start"), "{}", dash.screen());
    dash.keys("<Enter>");
    assert!(dash.app.viewer().expect("a stream").id > before);
    assert_eq!(told(&dash), ["values"]);
}

#[test]
fn a_change_is_told_among_what_happened() {
    let mut dash = joined((100, 30), Some(terms(&["updates", "values"])));
    let at = dash.app.session.now;
    let close = runtail_stream::Record::Close { at, conn: 1, reason: "modes".into() };
    let open = runtail_stream::Record::Open { at, conn: 2, status: 200, resumed_after: Some("1795224332619-0".into()) };
    dash.items(vec![Item::Record(close), Item::Record(open)]);
    dash.keys("5");
    assert!(dash.screen().contains("modes changed: reopened after 1795224332619-0"), "{}", dash.screen());
    assert!(dash.screen().contains("(connection 2, 200)"), "{}", dash.screen());
}

#[test]
fn a_run_is_not_started_by_a_key_typed_ahead_of_the_composer() {
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    dash.assistants();
    let starts = |effects: Vec<Effect>| effects.iter().any(|effect| matches!(effect, Effect::StartRun(..)));
    assert!(!starts(dash.typed_ahead("n<ctrl-s>")));
    // Nor by one that is typed before the composer is drawn again.
    dash.screen();
    dash.app.on_drawn();
    assert!(!starts(dash.typed_ahead("<Esc>n<ctrl-s>")));
    assert!(starts(dash.keys("<ctrl-s>")), "{}", dash.screen());
}

#[test]
fn the_composer_has_every_mode_and_remembers() {
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    dash.assistants();
    let all = ["messages-tuple", "updates", "values", "custom", "tasks", "checkpoints", "debug", "events", "messages"];
    dash.keys("n<BackTab>");
    // All that are not chosen, and no subgraphs.
    for _ in 0..4 {
        dash.keys("<Right>");
    }
    for _ in 0..6 {
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
    // Whatever is composed next begins with them.
    dash.keys("q<Esc>n");
    let Some(runtail_tui::app::Overlay::Compose(composer)) = dash.app.overlays.last() else {
        panic!("{}", dash.screen())
    };
    assert_eq!(composer.chosen_modes(), all);
}
