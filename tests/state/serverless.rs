//! Serverless deployments are asked nothing unless they are open, and profiles can turn polling off.

use runtail_testkit::dash::{Dash, listed};

use runtail_tui::session::msg::{Effect, NextPoll, SubscriptionEvent, SubscriptionId};
use serde_json::json;

const US: &str = "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n";

/// The agent servers that are asked about their threads now, by any poll.
fn asked(dash: &mut Dash) -> Vec<String> {
    dash.relayout();
    let of = |sub: runtail_tui::session::msg::Subscription| match sub.key {
        SubscriptionId::Inbox(_) => sub
            .params
            .servers
            .iter()
            .map(|server| server.name.to_string())
            .collect(),
        SubscriptionId::Threads(server)
        | SubscriptionId::Health(server)
        | SubscriptionId::ThreadStatuses(server) => {
            vec![server.name.to_string()]
        }
        _ => Vec::new(),
    };
    let mut names: Vec<String> = dash.subscriptions().into_iter().flat_map(of).collect();
    names.sort();
    names.dedup();
    names
}

fn with_two(size: (u16, u16)) -> Dash {
    let mut dash = Dash::new(US, size);
    let row = |id: &str, name: &str, kind: &str| {
        json!({"id": id, "name": name, "status": "READY", "url": format!("https://{name}.us.langgraph.app"),
               "source": "internal_source", "source_config": {"deployment_type": kind}})
    };
    let list = json!([
        row("d1", "night-bot", "serverless"),
        row("d2", "support-bot", "prod")
    ]);
    let list = listed(serde_json::from_value(list).unwrap());
    dash.answer(|key| matches!(key, SubscriptionId::Deployments(_)), list);
    dash
}

#[test]
fn a_serverless_deployment_is_asked_only_while_it_is_open() {
    for size in [(140, 40), (80, 24)] {
        let mut dash = with_two(size);
        assert_eq!(asked(&mut dash), ["support-bot"]);
        let screen = dash.screen();
        let row = |name: &str| {
            screen
                .lines()
                .find(|line| line.contains(name))
                .unwrap_or_default()
                .to_string()
        };
        assert!(row("night-bot").contains("▌ night-bot z "));
        assert!(
            !row("night-bot").contains('…') && row("support-bot").contains('…'),
            "no counts are awaited"
        );
        let list =
            json!([{"id": "r1", "status": "DEPLOYED", "created_at": "2026-11-20T13:00:00Z"}]);
        let list = runtail_api::Revisions {
            items: serde_json::from_value(list).unwrap(),
            was_sorted: true,
            unread: Default::default(),
        };
        let event = SubscriptionEvent::Revisions(Ok(list), NextPoll::Stopped);
        dash.answer(|key| matches!(key, SubscriptionId::Revisions(..)), event);
        dash.shows("erverless");
        dash.keys("i");
        dash.reads("only while open: us › night-bot");
        dash.keys("<Esc>");
        // Opening it is asking, and the page says so.
        let effects = dash.keys("<Enter>");
        assert!(
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::FetchInfo(of) if &*of.name == "night-bot"))
        );
        assert_eq!(asked(&mut dash), ["night-bot", "support-bot"]);
        dash.shows("serverless, kept awake");
        dash.threads();
        dash.keys("<Enter>");
        assert_eq!(asked(&mut dash), ["night-bot", "support-bot"]);
        dash.reads("This page keeps a serverless deployment awake.");
        // Once everything of it is closed, it may sleep, also when the rest is refreshed.
        dash.keys("qqq");
        assert_eq!(asked(&mut dash), ["support-bot"]);
        dash.later(2_000);
        let effects = dash.keys("r");
        assert!(
            !effects
                .iter()
                .any(|effect| matches!(effect, Effect::FetchInfo(_))),
            "{effects:?}"
        );
    }
}

#[test]
fn a_profile_without_polling_asks_its_servers_only_while_they_are_open() {
    let toml = "[profiles.lab]\npoll = false\nagent_server = { a = \"http://127.0.0.1:1\", b = \"http://127.0.0.1:2\" }\n";
    let mut dash = Dash::new(toml, (140, 40));
    assert_eq!(asked(&mut dash), [""; 0]);
    dash.shows("○ not asked");
    dash.reads("Not asked (`poll = false`)");
    dash.keys("<Enter>");
    assert_eq!(asked(&mut dash), ["a"]);
    // It may concern one server only.
    let mut dash = Dash::new(
        &toml.replace("poll = false", "poll = { b = false }"),
        (140, 40),
    );
    assert_eq!(asked(&mut dash), ["a"]);
    dash.keys("j");
    dash.reads("Not asked (`poll = false`)");
}
