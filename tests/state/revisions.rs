//! Which revision of a deployment answers: in the Runs view, and in the deployment's list of revisions.

use crate::thread_actions::{page, records};
use runtail_api::{ServerInfo, ServerKind};
use runtail_testkit::dash::demo_like;
use runtail_tui::session::msg::EffectResult;
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
    dash.keys("5");
    let screen = dash.screen();
    for (run, revision) in [
        ("run 4 ", "new revision main@9fceb02"),
        ("run 3", "serving revision main@77ab10c"),
        ("run 2", "revision 99999999…9999, the newest is 44"),
        ("run 1", "unknown revision"),
    ] {
        let line = screen.lines().find(|line| line.contains(run)).unwrap_or_else(|| panic!("{run}: {screen}"));
        assert!(line.contains(revision), "{revision}: {screen}");
    }
    insta::assert_snapshot!("runs_by_revision", screen);
}

#[test]
fn the_revision_list_shows_what_the_server_reports() {
    let mut dash = demo_like((140, 40));
    dash.open_server();
    let server = dash.app.agent.server.as_ref().map(|open| open.server.clone()).expect("an open server");
    dash.keys("<Esc>");
    let info = |revision: &str| ServerInfo {
        kind: ServerKind::Python,
        version: "0.16.7".into(),
        raw: json!({"host": {"host_revision_id": revision}}),
    };
    assert!(!dash.screen().contains("reported by the server"), "{}", dash.screen());
    dash.done(EffectResult::Info(server.clone(), Ok(info(NEWEST))));
    assert!(dash.screen().contains("reported by the server, 0s ago"), "{}", dash.screen());
    dash.done(EffectResult::Info(server, Ok(info("99999999-9999-4999-8999-999999999999"))));
    let screen = dash.screen();
    assert!(screen.contains("The server reports 99999999…9999, not listed here."), "{screen}");
}
