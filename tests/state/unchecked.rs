//! What is shown of agent servers that could not be read, were not read yet, or whose data is outdated: never an all-clear.

use crate::inbox::{answer, approval, listed};
use ratatui::style::{Color, Modifier};
use runtail_api::{Kind, ServerInfo, ServerKind};
use runtail_testkit::dash::{Dash, demo};
use runtail_testkit::says::Says;

use runtail_tui::session::msg::{
    EffectResult, NextPoll, ServerRef, SubscriptionEvent, SubscriptionId,
};

/// Returns the agent servers that the inbox polls.
fn servers(dash: &Dash) -> Vec<ServerRef> {
    let polls = dash
        .subscriptions()
        .into_iter()
        .filter(|sub| matches!(sub.key, SubscriptionId::Inbox(_)));
    polls.flat_map(|sub| sub.params.servers.to_vec()).collect()
}

fn server(dash: &Dash, name: &str) -> ServerRef {
    servers(dash)
        .into_iter()
        .find(|server| &*server.name == name)
        .expect("the server is polled")
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
    dash.screen()
        .lines()
        .find(|line| line.contains(&cell))
        .unwrap_or_default()
        .to_string()
}

#[test]
fn unknown_counts_are_not_blank_and_have_a_reason() {
    let mut dash = demo();
    assert!(row(&mut dash, "invoice-agent us").contains('…'));
    let invoice = server(&dash, "invoice-agent");
    answer(&mut dash, &invoice, listed(Vec::new()));
    let known = row(&mut dash, "invoice-agent us");
    assert!(
        !known.contains('…') && !known.contains('?'),
        "a zero is blank: {known}"
    );
    let triage = server(&dash, "triage");
    answer(&mut dash, &triage, Err(Kind::Network));
    assert_eq!(row(&mut dash, "triage        us").matches('?').count(), 3);
    dash.shows("us › triage: couldn't list threads (");
    dash.resize(80, 24);
    dash.shows("us › triage: couldn't list threads (");
    let notices = dash
        .notices()
        .into_iter()
        .filter(|notice| notice.contains("threads not read"));
    assert_eq!(notices.count(), 1);
    answer(&mut dash, &triage, Err(Kind::Network));
    let notices = dash
        .notices()
        .into_iter()
        .filter(|notice| notice.contains("threads not read"));
    assert_eq!(notices.count(), 1, "not at each poll");
}

#[test]
fn header_counters_are_qualified_until_every_server_was_read() {
    let mut dash = demo();
    let row = approval(&dash);
    let invoice = server(&dash, "invoice-agent");
    answer(&mut dash, &invoice, listed(vec![row]));
    for other in servers(&dash).into_iter().filter(|one| *one != invoice) {
        answer(&mut dash, &other, Err(Kind::Network));
    }
    let shown = header(&mut dash);
    shown.has("◆ 1+ waiting   ✗ 1+ failed   ? 4 not checked");
    dash.resize(80, 24);
    header(&mut dash).has("◆ 1+  ✗ 1+");
    let mut dash = crate::inbox::dash((80, 24));
    fail_all(&mut dash);
    header(&mut dash).has("◆ ?");
}

/// Returns the modifiers and colors of a text in the first line.
fn header_style(dash: &mut Dash, text: &str) -> (Color, Modifier) {
    let line = header(dash);
    let at = line
        .find(text)
        .unwrap_or_else(|| panic!("no {text}: {line}"));
    let x = line[..at].chars().count() as u16;
    let buffer = dash.buffer();
    (buffer[(x, 0)].fg, buffer[(x, 0)].modifier)
}

#[test]
fn any_failed_request_marks_the_profile_at_once() {
    let mut dash = demo();
    assert!(header(&mut dash).ends_with("us ●  eu ●"));
    let triage = server(&dash, "triage");
    answer(&mut dash, &triage, Err(Kind::Network));
    assert!(header(&mut dash).ends_with("us ✗ 1 server  eu ●"));
    answer(&mut dash, &triage, listed(Vec::new()));
    assert!(header(&mut dash).ends_with("us ●  eu ●"));
    // Revisions of prod-eu are polled more often than its list.
    let revisions = |key: &SubscriptionId| matches!(key, SubscriptionId::Revisions(..));
    let error = dash.error("prod-eu", Kind::Network);
    let next = NextPoll::At(dash.now + jiff::SignedDuration::from_secs(9));
    dash.answer(revisions, SubscriptionEvent::Revisions(Err(error), next));
    let screen = dash.screen();
    header(&mut dash).has("eu ✗ no connection");
    screen.has("eu: no connection, as of ");
    let buffer = dash.buffer();
    let below: Vec<_> = buffer
        .content
        .iter()
        .filter(|cell| cell.symbol() == "◐")
        .collect();
    assert!(
        below
            .iter()
            .all(|cell| cell.fg == Color::Reset && cell.modifier.contains(Modifier::DIM))
    );
    // The control plane answers again, even with an error.
    let error = dash.error("prod-eu", Kind::NotFound);
    dash.answer(revisions, SubscriptionEvent::Revisions(Err(error), next));
    assert!(header(&mut dash).ends_with("us ●  eu ●"));
}

#[test]
fn an_agent_server_that_stops_answering_is_not_up() {
    let mut dash = crate::inbox::dash((140, 40));
    let lab = server(&dash, "lab");
    let info = ServerInfo {
        kind: ServerKind::Python,
        version: "1".into(),
        raw: serde_json::Value::Null,
    };
    dash.done(EffectResult::Info(lab.clone(), Ok(info)));
    row(&mut dash, "lab           lab").has("● up");
    answer(&mut dash, &lab, Err(Kind::Network));
    row(&mut dash, "lab           lab").has("✗ down");
    header(&mut dash).has("lab ✗ no connection");
}

#[test]
fn counters_with_outdated_rows_are_dim() {
    let mut dash = demo();
    let waiting = approval(&dash);
    for server in servers(&dash) {
        let rows = if &*server.name == "triage" {
            vec![waiting.clone()]
        } else {
            Vec::new()
        };
        answer(&mut dash, &server, listed(rows));
    }
    assert_eq!(header_style(&mut dash, "1 waiting").0, Color::Yellow);
    header(&mut dash).has("✗ 1 failed");
    fail_all(&mut dash);
    for profile in ["prod-us", "prod-eu"] {
        dash.fails(
            move |key| *key == SubscriptionId::Deployments(profile.into()),
            Kind::Network,
        );
    }
    let expected = (Color::Reset, Modifier::DIM);
    assert_eq!(header_style(&mut dash, "1? waiting"), expected);
    assert_eq!(header_style(&mut dash, "1? failed"), expected);
    header(&mut dash).has("? 5 not checked");
}

#[test]
fn a_request_that_takes_long_is_shown() {
    let mut dash = demo();
    for server in servers(&dash) {
        answer(&mut dash, &server, listed(Vec::new()));
    }
    let triage = server(&dash, "triage");
    let inbox = |key: &SubscriptionId| *key == SubscriptionId::Inbox("prod-us".into());
    let overdue = SubscriptionEvent::Overdue {
        server: Some(triage.clone()),
        since: dash.now,
    };
    dash.pass(15);
    dash.answer(inbox, overdue);
    header(&mut dash).has("us ◐ asking 15s");
    header(&mut dash).has("? 1 not checked");
    assert!(
        dash.next_tick()
            .is_some_and(|tick| tick <= std::time::Duration::from_secs(1))
    );
    answer(&mut dash, &triage, listed(Vec::new()));
    header(&mut dash).has("us ●  eu ●");
    let list = |key: &SubscriptionId| *key == SubscriptionId::Deployments("prod-eu".into());
    let overdue = SubscriptionEvent::Overdue {
        server: None,
        since: dash.now,
    };
    dash.pass(12);
    dash.answer(list, overdue);
    header(&mut dash).has("eu ◐ asking 12s");
}

#[test]
fn profiles_that_fail_keep_their_names_in_the_header() {
    let toml = "[profiles.prod-us]\nurl = \"http://127.0.0.1:2001\"\n[profiles.prod-eu]\nurl = \"http://127.0.0.1:2002\"\n";
    let mut dash = Dash::new(toml, (100, 24));
    for profile in ["prod-us", "prod-eu"] {
        dash.fails(
            move |key| *key == SubscriptionId::Deployments(profile.into()),
            Kind::Network,
        );
    }
    let shown = header(&mut dash);
    shown.has("prod-us ✗ no connection  prod-eu ✗ no connection");
}

#[test]
fn a_missing_key_is_named_and_nothing_was_refused() {
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K1\"\n",
        (140, 40),
    );
    let error = runtail_api::ApiError {
        kind: Kind::NoKey,
        at: runtail_api::Place {
            profile: "prod-us".into(),
            ..Default::default()
        },
        detail: "the environment variable K1 is not set".into(),
        hint: Some("the key comes from api_key_env in the profile".into()),
    };
    let event = SubscriptionEvent::Deployments {
        result: Err(error),
        is_truncated: true,
        skew: jiff::SignedDuration::ZERO,
        took: std::time::Duration::ZERO,
        next: NextPoll::Stopped,
    };
    dash.answer(|key| matches!(key, SubscriptionId::Deployments(_)), event);
    let screen = dash.screen();
    header(&mut dash).has("us ✗ no key");
    screen.has("prod-us: K1 isn't set; set it and restart Runtail.");
    screen.lacks(["refused", "Press r to retry"]);
}

#[test]
fn the_inbox_names_what_was_not_checked_and_cuts_no_count() {
    let mut dash = crate::inbox::dash((80, 24));
    let waiting = approval(&dash);
    let bot = server(&dash, "support-bot");
    answer(&mut dash, &bot, listed(vec![waiting]));
    dash.keys("i");
    let title = |dash: &mut Dash| dash.screen().lines().nth(2).unwrap_or_default().to_string();
    title(&mut dash).has("Inbox · 1 waiting, 0 failed · asking lab, us…");
    let (lab, invoice) = (server(&dash, "lab"), server(&dash, "invoice-agent"));
    answer(&mut dash, &lab, Err(Kind::Unauthorized));
    let said = title(&mut dash);
    said.has(["1 waiting, 0 failed · asking us…", "lab: not checked (401)"]);
    answer(&mut dash, &invoice, Err(Kind::Server(503)));
    let triage = server(&dash, "triage");
    answer(&mut dash, &triage, listed(Vec::new()));
    let said = title(&mut dash);
    said.has("not checked: lab (401), us › invoice-agent (503)");
}
