//! The health and the queue of the open agent server.

use runtail_api::{ServerHealth, ServerLoad};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_testkit::says::Says;

use runtail_tui::session::msg::{SubscriptionEvent, SubscriptionId};
use std::time::Duration;

fn is_health(key: &SubscriptionId) -> bool {
    matches!(key, SubscriptionId::Health(_))
}

fn report(dash: &mut Dash, health: Option<ServerHealth>) {
    dash.answer(is_health, SubscriptionEvent::Health(health));
}

fn load(pending: u64) -> Option<ServerHealth> {
    let load = ServerLoad {
        pending: Some(pending),
        running: Some(3),
        oldest: (pending > 0).then(|| Duration::from_secs(40)),
        workers: Some((8, 10)),
    };
    Some(ServerHealth {
        is_healthy: Some(true),
        load: Some(load),
    })
}

fn line(dash: &mut Dash, n: usize) -> String {
    dash.screen().lines().nth(n).unwrap_or_default().to_string()
}

#[test]
fn the_head_of_an_agent_server_shows_its_queue() {
    let mut dash = demo_like((140, 24));
    dash.keys("f");
    dash.open_server();
    report(&mut dash, load(12));
    assert!(
        line(&mut dash, 1)
            .ends_with("● healthy · 3 running · 12 pending, oldest 40s · workers 8/10")
    );
    // The strip has the closed buckets only, so it appears later, without moving a row.
    let row = |dash: &mut Dash| {
        dash.screen()
            .lines()
            .position(|line| line.contains("WHAT IT NEEDS"))
    };
    let before = row(&mut dash);
    line(&mut dash, 2).lacks("pending");
    dash.pass(10);
    report(&mut dash, load(3));
    dash.pass(20);
    report(&mut dash, load(0));
    assert!(line(&mut dash, 2).ends_with("pending ▇▃╌ 30s, at most 12"));
    assert_eq!(row(&mut dash), before);
    // On every list of the server, and in little room the queue is left.
    dash.keys("2");
    line(&mut dash, 1).has("● healthy · 3 running · workers 8/10");
    report(&mut dash, load(12));
    dash.resize(80, 24);
    line(&mut dash, 1).has("● 3 running · 12 pending, oldest 40s");
}

#[test]
fn health_is_polled_only_while_the_page_of_the_server_is_shown() {
    let mut dash = demo_like((140, 24));
    let is_polled = |dash: &Dash| dash.wants(is_health);
    assert!(!is_polled(&dash));
    dash.open_server();
    assert!(is_polled(&dash));
    dash.keys("<Enter>");
    assert!(!is_polled(&dash), "a thread is shown");
}

#[test]
fn a_server_without_health_is_no_fault() {
    let mut dash = demo_like((140, 24));
    dash.keys("f");
    dash.open_server();
    report(&mut dash, Some(ServerHealth::default()));
    assert!(line(&mut dash, 1).ends_with("health not offered"));
    report(&mut dash, None);
    assert!(line(&mut dash, 1).ends_with("? health unknown"));
    assert!(!dash.screen().contains('✗') || !line(&mut dash, 1).contains('✗'));
}
