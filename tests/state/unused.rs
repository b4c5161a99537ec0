//! A deployment that is unused or being deleted: no revision is shown as serving, unless its agent server responds.

use runtail_api::{ServerInfo, ServerKind};
use runtail_testkit::dash::{Dash, listed};
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{
    EffectResult, NextPoll, ServerRef, SubscriptionEvent, SubscriptionId,
};
use serde_json::{Value, json};

const URL: &str = "https://nightly-etl.us.langgraph.app";

/// The list with one deployment, whose newest revision was deployed.
fn dash(size: (u16, u16), status: &str, url: Option<&str>) -> Dash {
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
        size,
    );
    let row = json!({"id": "d1", "name": "nightly-etl", "status": status, "url": url, "latest_revision_id": "r2",
                     "active_revision_id": "r2"});
    let read = |row: Value| serde_json::from_value(row).unwrap();
    dash.answer(
        |id| matches!(id, SubscriptionId::Deployments(_)),
        listed(vec![read(row)]),
    );
    let revision = |id: &str, day: u8| {
        json!({"id": id, "status": "DEPLOYED", "created_at": format!("2026-10-{day}T14:00:00Z"),
               "updated_at": format!("2026-10-{day}T14:04:00Z")})
    };
    let newest = serde_json::from_value(revision("r2", 20)).unwrap();
    let newest = SubscriptionEvent::Newest {
        deployment: "d1".into(),
        revision: Ok(newest),
    };
    dash.answer(|id| matches!(id, SubscriptionId::Newest(_)), newest);
    dash.relayout();
    let items = serde_json::from_value(json!([revision("r2", 20), revision("r1", 10)])).unwrap();
    let revisions = runtail_api::Revisions {
        items,
        was_sorted: true,
        unread: Default::default(),
    };
    let next = NextPoll::At(dash.now);
    dash.answer(
        |id| matches!(id, SubscriptionId::Revisions(..)),
        SubscriptionEvent::Revisions(Ok(revisions), next),
    );
    dash
}

#[test]
fn an_unused_deployment_is_explained_and_not_said_to_serve() {
    let mut dash = dash((140, 40), "UNUSED", None);
    let screen = dash.screen();
    let row = screen
        .lines()
        .find(|line| line.contains("nightly-etl "))
        .unwrap_or_default();
    row.has(["■ unused", "newest?"]);
    dash.shows("serving?");
    dash.lacks("serving ");
    insta::assert_snapshot!("unused_140x40", screen);
    dash.keys("<Enter>");
    let said = &dash.newest_notice();
    said.has(["has no agent server", "counts the deployment as idle"]);
}

#[test]
fn little_room_keeps_the_explanation_of_an_unused_deployment() {
    let mut dash = dash((80, 24), "UNUSED", None);
    dash.shows("── nightly-etl · unused ──");
    let sentence = "Unused: the control plane counts the deployment as idle, and doesn't report whether its server runs. \
                    It has no URL, so there is no agent server to open.";
    dash.reads(sentence);
    dash.keys("<Tab>");
    let screen = dash.screen();
    assert!(dash.words().contains(sentence) && screen.contains("serving?"));
}

#[test]
fn a_deployment_that_is_deleted_is_not_said_to_serve() {
    let mut dash = dash((140, 40), "AWAITING_DELETE", Some(URL));
    dash.shows(["◐ deleting", "newest?", "serving?"]);
    dash.lacks("no URL");
    dash.resize(80, 24);
    let sentence = "Deleting: the control plane is removing the deployment, and doesn't report whether its server runs.";
    dash.reads(sentence);
}

#[test]
fn an_agent_server_that_responds_shows_that_the_revision_serves() {
    let mut dash = dash((140, 40), "UNUSED", Some(URL));
    dash.shows("newest?");
    let server = ServerRef {
        profile: "prod-us".into(),
        name: "nightly-etl".into(),
        url: URL.into(),
    };
    let info = ServerInfo {
        kind: ServerKind::Python,
        version: "0.16.7".into(),
        raw: json!({}),
    };
    dash.done(EffectResult::Info(server, Ok(info)));
    dash.lacks(["newest?", "serving?"]);
    dash.resize(80, 24);
    dash.reads("counts the deployment as idle, but its agent server responds");
}
