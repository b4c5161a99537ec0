//! Which revision of a deployment answers: in the Runs view, and in the deployment's list of revisions.

use crate::thread_actions::{page, records};
use runtail_api::{Kind, Revisions, ServerInfo, ServerKind};
use runtail_core::model::{Evidence, FailureCard, LogEvidence};
use runtail_testkit::dash::{Dash, Dialog, demo, demo_like, demo_server};
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{
    Effect, EffectResult, Msg, NextPoll, SubscriptionEvent, SubscriptionId,
};
use serde_json::{Value, json};

/// The newest revision of support-bot in the test deployments, and the one that serves traffic.
const NEWEST: &str = "44444444-4444-4444-8444-444444444444";
const SERVING: &str = "55555555-5555-4555-8555-555555555555";

fn run(id: &str, minute: u8, metadata: &Value) -> Value {
    let at = format!("2026-11-21T13:{minute:02}:00Z");
    json!({"run_id": id, "status": "success", "created_at": at, "updated_at": at, "assistant_id": "a-support",
           "kwargs": {"input": {"n": 1}, "config": {"metadata": metadata}}})
}

#[test]
fn runs_name_the_revision_that_ran_them() {
    let on = |revision: &str| json!({"langgraph_host_revision_id": revision});
    let runs = json!([
        run("r4", 53, &on(NEWEST)),
        run("r3", 52, &on(SERVING)),
        run("r2", 51, &on("99999999-9999-4999-8999-999999999999")),
        run("r1", 50, &json!({})),
    ]);
    let mut dash = page((140, 40), &records("idle", "finished-state", runs));
    // Each run is unfolded, the oldest one first.
    dash.keys("7G<Right><Up><Right><Up><Right><Up><Right>");
    let screen = dash.screen();
    for (_, revision) in [
        ("run 4 ", "newest revision main@9fceb02"),
        ("run 3", "serving revision main@77ab10c"),
        (
            "run 2",
            "revision 99999999…9999, the newest is main@9fceb02",
        ),
        ("run 1", "unknown revision"),
    ] {
        assert!(screen.contains(revision), "{revision}: {screen}");
    }
    insta::assert_snapshot!("runs_by_revision", screen);
}

#[test]
fn the_revision_list_shows_what_the_server_reports() {
    let mut dash = demo_server((140, 40));
    let server = dash.server();
    dash.keys("<Esc>");
    let info = |revision: &str| ServerInfo {
        kind: ServerKind::Python,
        version: "0.16.7".into(),
        raw: json!({"host": {"host_revision_id": revision}}),
    };
    dash.lacks("reported by the server");
    dash.done(EffectResult::Info(server.clone(), Ok(info(NEWEST))));
    dash.shows("reported by the server, 0s ago");
    dash.done(EffectResult::Info(
        server,
        Ok(info("99999999-9999-4999-8999-999999999999")),
    ));
    dash.shows("the server reports 99999999…9999, not listed");
}

#[test]
fn a_revision_in_progress_counts_from_its_creation() {
    let mut dash = demo();
    // It was created 2m10s before Runtail first saw it.
    let line = |dash: &mut Dash| {
        let screen = dash.screen();
        let mut rows = screen
            .lines()
            .filter(|line| line.contains("◐ BUILDING") && line.contains("main@9fceb02"));
        rows.next_back()
            .map(str::to_string)
            .unwrap_or_else(|| panic!("{screen}"))
    };
    line(&mut dash).has(" 3m56s");
    dash.shows("so far   3m56s   queued ≥");
    // Without the server's time, only what was observed is known.
    let history = dash.first_history();
    history.revisions[0].created_at = None;
    line(&mut dash).has(" ≥1m46s");
}

/// Sends the explanation of the newest revision, which has this status.
fn explained(dash: &mut Dash, status: &str) {
    let revision = json!({"id": NEWEST, "status": status, "created_at": "2026-11-21T13:57:50Z"});
    let card = FailureCard::new(&Evidence {
        address: "prod-eu/support-bot",
        options: "",
        deployment: &json!({"id": "d1", "status": "READY", "active_revision_id": SERVING}),
        revision: &revision,
        history: std::slice::from_ref(&revision),
        times: &[],
        now: dash.now,
        log: LogEvidence::None,
    });
    let of = dash.explained_revision().expect("a page");
    dash.done(EffectResult::Card(of, Ok(Box::new(card))));
}

/// Sends the revisions of the selected deployment, the newest with this status, and returns the effects.
fn polled(dash: &mut Dash, status: &str) -> Vec<Effect> {
    let items = json!([{"id": NEWEST, "status": status, "created_at": "2026-11-21T13:57:50Z"}]);
    let revisions = Revisions {
        items: serde_json::from_value(items).unwrap(),
        was_sorted: true,
        unread: Default::default(),
    };
    let next = NextPoll::At(dash.now + jiff::SignedDuration::from_secs(30));
    let sub = dash
        .subscriptions()
        .into_iter()
        .find(|sub| matches!(sub.key, SubscriptionId::Revisions(..)));
    let sub = sub.expect("a poll of the revisions");
    dash.feed(Msg::Subscription {
        key: sub.key,
        epoch: sub.epoch,
        event: SubscriptionEvent::Revisions(Ok(revisions), next),
    })
}

#[test]
fn an_explanation_follows_its_revision() {
    let mut dash = demo();
    dash.keys("e");
    explained(&mut dash, "BUILDING");
    dash.shows("Time: 3m56s so far");
    dash.pass(25);
    dash.shows("Time: 4m21s so far");
    assert!(
        dash.next_tick().is_some_and(|tick| tick.as_secs() <= 1),
        "the time advances by itself"
    );
    // The same status is no news; another one is loaded with all that depends on it.
    let loads = |effects: &[Effect]| match effects {
        [Effect::Explain(of, address, times)] => {
            assert_eq!(
                (&*of.revision, address.as_str()),
                (NEWEST, "prod-eu/support-bot")
            );
            Some(
                times
                    .iter()
                    .map(|time| time.status.clone())
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        }
        _ => None,
    };
    assert_eq!(loads(&polled(&mut dash, "BUILDING")), None);
    assert_eq!(
        loads(&polled(&mut dash, "DEPLOYING")).as_deref(),
        Some("QUEUED BUILDING DEPLOYING")
    );
    assert_eq!(
        loads(&polled(&mut dash, "DEPLOYING")),
        None,
        "it is being loaded"
    );
    explained(&mut dash, "DEPLOYING");
    dash.shows(": DEPLOYING");
    assert_eq!(loads(&polled(&mut dash, "DEPLOYING")), None);
    // r loads it again. What was loaded stays if that fails, with its age, and its time stops.
    assert!(loads(&dash.keys("r")).is_some());
    let of = dash.explained_revision().expect("a page");
    let error = dash.error("prod-eu", Kind::Server(503));
    dash.done(EffectResult::Card(of, Err(error)));
    dash.pass(10);
    dash.shows(["Loaded 10s ago; reloading failed.", "4m21s so far"]);
    // A status that is final stops the time.
    assert!(loads(&polled(&mut dash, "DEPLOYED")).is_some());
    explained(&mut dash, "DEPLOYED");
    dash.lacks(["so far", "Loaded"]);
}

#[test]
fn a_status_that_was_first_seen_late_has_no_time_in_the_details() {
    for size in [(140, 40), (80, 24)] {
        let mut dash = demo_like(size);
        let history = dash.first_history();
        let periods = history.periods.get_mut(NEWEST).expect("its periods");
        periods.drain(..periods.len() - 1);
        periods[0].from_start = false;
        if size.0 < 100 {
            dash.keys("<Tab>");
        }
        let screen = dash.screen();
        assert!(
            screen.contains("3m56s") && !screen.contains('≥') && !screen.contains("  building ")
        );
    }
}

#[test]
fn a_revision_in_progress_is_explained_with_the_keys_that_fit_it() {
    let mut dash = demo();
    dash.keys("e");
    explained(&mut dash, "BUILDING");
    let screen = dash.screen();
    // As the list and the tabs name it, and not as the command line does.
    dash.shows("eu › support-bot 4444");
    dash.lacks("prod-eu/");
    dash.shows("Time: 3m56s so far");
    for step in [
        "w  Notify when it finishes",
        "b  Follow its build log",
        "x  Interrupt it if it should not",
    ] {
        dash.shows(step);
    }
    let footer = screen.lines().last().unwrap_or_default();
    let offered = ["b build log", "w notify", "x interrupt"]
        .iter()
        .all(|hint| footer.contains(hint));
    assert!(
        offered && !footer.contains("roll back") && !footer.contains("redeploy"),
        "{footer}"
    );
    dash.keys("w");
    assert_eq!(dash.watches().len(), 1);
    dash.keys("x");
    assert!(dash.has_dialog(Dialog::Confirm));
    // The pane offers them, too.
    dash.keys("<Esc><Esc><Tab>");
    let screen = dash.screen();
    let footer = screen.lines().last().unwrap_or_default();
    footer.has("x interrupt");
    footer.lacks("redeploy");
}
