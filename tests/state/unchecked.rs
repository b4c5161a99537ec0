//! What is shown of agent servers that could not be read, were not read yet, or whose data is outdated: never an all-clear.

use crate::inbox::{answer, approval, listed};
use runtail_api::Kind;
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::app::subscriptions;
use runtail_tui::session::msg::{ServerRef, SubscriptionId};

/// Returns the agent servers that the inbox polls.
fn servers(dash: &Dash) -> Vec<ServerRef> {
    let polls = subscriptions(&dash.app).into_iter().filter(|sub| matches!(sub.key, SubscriptionId::Inbox(_)));
    polls.flat_map(|sub| sub.params.servers.to_vec()).collect()
}

fn server(dash: &Dash, name: &str) -> ServerRef {
    servers(dash).into_iter().find(|server| &*server.name == name).expect("the server is polled")
}

fn fail_all(dash: &mut Dash) {
    for server in servers(dash) {
        answer(dash, &server, Err(Kind::Network));
    }
}

fn header(dash: &mut Dash) -> String {
    dash.screen().lines().next().unwrap_or_default().to_string()
}

/// Returns the row of a deployment in the list.
fn row(dash: &mut Dash, name: &str) -> String {
    let cell = format!(" {name} ");
    dash.screen().lines().find(|line| line.contains(&cell)).unwrap_or_default().to_string()
}

#[test]
fn a_tile_is_not_idle_while_its_threads_are_unknown() {
    let mut dash = demo_like((140, 40));
    dash.keys("PP");
    let screen = dash.screen();
    assert!(screen.contains("? support-bot us") && screen.contains("asking for threads…"), "{screen}");
    assert!(!screen.contains("idle"), "{screen}");
    fail_all(&mut dash);
    let screen = dash.screen();
    assert!(screen.contains("? support-bot us") && screen.contains("threads not read: "), "{screen}");
    assert!(!screen.contains("idle") && !screen.contains("● support-bot us"), "{screen}");
    assert!(screen.contains("BUILD_FAILED"), "what the control plane reports stays: {screen}");
    let us = servers(&dash).into_iter().find(|one| &*one.profile == "prod-us" && &*one.name == "support-bot").unwrap();
    answer(&mut dash, &us, listed(Vec::new()));
    let screen = dash.screen();
    assert!(screen.contains("● support-bot us") && screen.contains("idle"), "{screen}");
}

#[test]
fn unknown_counts_are_not_blank_and_have_a_reason() {
    let mut dash = demo_like((140, 40));
    assert!(row(&mut dash, "invoice-agent us").contains('…'), "{}", dash.screen());
    let invoice = server(&dash, "invoice-agent");
    answer(&mut dash, &invoice, listed(Vec::new()));
    let known = row(&mut dash, "invoice-agent us");
    assert!(!known.contains('…') && !known.contains('?'), "a zero is blank: {known}");
    let triage = server(&dash, "triage");
    answer(&mut dash, &triage, Err(Kind::Network));
    assert_eq!(row(&mut dash, "triage        us").matches('?').count(), 3, "{}", dash.screen());
    let screen = dash.screen();
    assert!(screen.contains("us › triage: threads not read ("), "{screen}");
    dash.resize(80, 24);
    assert!(dash.screen().contains("us › triage: threads not read ("), "{}", dash.screen());
    let notices = dash.app.session.notices.iter().filter(|notice| notice.text.contains("threads not read"));
    assert_eq!(notices.count(), 1);
    answer(&mut dash, &triage, Err(Kind::Network));
    let notices = dash.app.session.notices.iter().filter(|notice| notice.text.contains("threads not read"));
    assert_eq!(notices.count(), 1, "not at each poll");
}

#[test]
fn header_counters_are_qualified_until_every_server_was_read() {
    let mut dash = demo_like((140, 40));
    let row = approval(&dash);
    let invoice = server(&dash, "invoice-agent");
    answer(&mut dash, &invoice, listed(vec![row]));
    for other in servers(&dash).into_iter().filter(|one| *one != invoice) {
        answer(&mut dash, &other, Err(Kind::Network));
    }
    let shown = header(&mut dash);
    assert!(shown.contains("◆ 1+ waiting   ✗ 1+ failed   ? 4 not checked"), "{shown}");
    dash.resize(80, 24);
    assert!(header(&mut dash).contains("◆ 1+  ✗ 1+"), "{}", header(&mut dash));
    let mut dash = crate::inbox::dash((80, 24));
    fail_all(&mut dash);
    assert!(header(&mut dash).contains("◆ ?"), "{}", header(&mut dash));
}
