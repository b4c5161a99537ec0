//! The dashboard's screens: messages and keys in, text out, without a terminal, network or clock.

use runtail_api::Kind;
use runtail_testkit::dash;
use runtail_testkit::dash::{demo, demo_like, demo_server, demo_thread};
use runtail_testkit::says::Says;
use runtail_tui::app::Pane;
use runtail_tui::session::msg::{Effect, Msg, StreamTarget, SubscriptionId};
use std::time::Duration;

#[test]
fn wide_terminals_show_three_panes() {
    let mut dash = demo();
    insta::assert_snapshot!(dash.screen());
}

#[test]
fn small_terminals_show_one_pane() {
    let mut dash = demo_like((80, 24));
    insta::assert_snapshot!("deployments_80x24", dash.screen());
    dash.keys("<Tab>");
    insta::assert_snapshot!("revisions_80x24", dash.screen());
}

#[test]
fn too_small_terminals_show_a_message() {
    let mut dash = demo_like((60, 12));
    insta::assert_snapshot!("deployments_60x12", dash.screen());
    let mut dash = demo_like((59, 12));
    dash.shows("too small");
    // The key that it names works while a text is typed.
    dash.shows("Press ctrl-c to quit.");
    for keys in ["", "/", ":"] {
        let mut dash = demo_like((59, 12));
        dash.keys(&format!("{keys}<ctrl-c>"));
        assert!(dash.has_ended(), "{keys}");
    }
}

#[test]
fn a_notice_of_a_view_ends_with_it() {
    let mut dash = demo_thread((140, 40));
    dash.keys("w");
    dash.shows("Long lines are wrapped.");
    dash.keys("<Esc>");
    dash.lacks("Long lines");
    dash.keys("!");
    dash.shows("Long lines are wrapped.");
    // What was not caused by a key stays.
    dash.keys("<Esc>");
    dash.feed(Msg::Edited(Err("The editor failed.".into())));
    dash.keys("<Down>");
    dash.shows("The editor failed.");
}

#[test]
fn ascii_option_draws_only_ascii() {
    let mut dash = demo();
    dash.set_ascii(true);
    let screen = dash.screen();
    assert!(screen.is_ascii());
    dash.shows("x BUILD_FAILED");
}

#[test]
fn footer_keys_are_never_cut() {
    for width in 60..=140 {
        for ascii in [false, true] {
            let mut dash = demo_like((width, 24));
            dash.set_ascii(ascii);
            let screen = dash.screen();
            let footer = screen.lines().last().unwrap_or_default();
            assert!(footer.ends_with("? help"), "{width}: {footer}");
        }
    }
}

#[test]
fn streamed_tokens_are_shown_in_messages_and_events() {
    let mut dash = demo_thread((140, 40));
    dash.capture("agent-messages-tuple");
    insta::assert_snapshot!("messages_140x40", dash.screen());
    dash.keys("6");
    insta::assert_snapshot!("events_140x40", dash.screen());
    dash.keys("<Enter>");
    insta::assert_snapshot!("inspector_140x40", dash.screen());
}

#[test]
fn scrolling_up_pauses_and_end_follows() {
    let mut dash = demo_thread((100, 24));
    dash.capture("agent-events");
    dash.keys("6");
    dash.shows("● live");
    dash.lacks("‖");
    dash.keys("<Up><PageUp>");
    dash.shows("‖ paused · G");
    let paused = dash.body();
    dash.capture("agent-events");
    assert_eq!(dash.body(), paused, "a paused view does not move");
    dash.shows("‖ 42 new · G");
    // The other views select the same event, and switching back keeps the position.
    dash.keys("7");
    dash.shows("‖");
    dash.keys("6");
    assert_eq!(dash.body(), paused);
    dash.keys("<End>");
    dash.lacks("‖");
}

#[test]
fn views_in_a_split_share_the_cursor() {
    let mut dash = demo_thread((200, 40));
    dash.capture_now("fanout-many-subgraphs");
    dash.keys("f2|<Tab>6<BackTab><Home><Down><Down>");
    insta::assert_snapshot!("split_200x40", dash.screen());
    let at = dash.position().unwrap();
    assert_eq!(
        dash.screen().matches('▌').count(),
        2,
        "both views show the cursor"
    );
    // The state view selects the state after the update.
    dash.keys("3");
    let state = dash.shown_state().unwrap();
    assert!(state > at, "{state} after {at}");
    dash.resize(90, 30);
    insta::assert_snapshot!("split_90x30", dash.screen());
}

#[test]
fn streams_are_shown_in_tabs() {
    let mut dash = demo_thread((140, 40));
    // Opened twice, the first thread is kept.
    dash.keys("<Esc><Enter><Esc><Up><Enter>");
    insta::assert_snapshot!("tabs_140x40", dash.screen());
    // New events arrive in the first stream.
    dash.capture("agent-messages-tuple");
    // The other tab is marked as changed.
    dash.shows("9775 ◐*");
    dash.keys("<Esc>");
    dash.shows("9775 ◐*");
    dash.keys("}");
    assert!(!dash.screen().contains('*'));
    dash.shows("9775 ◐ ");
}

#[test]
fn connection_state_is_always_shown() {
    let mut dash = demo_thread((100, 24));
    dash.shows("connecting");
    dash.capture("agent-values");
    dash.shows("● live");
    dash.retrying(3, 4, "connection reset by peer");
    dash.shows([
        "◐ reconnecting in 4s, attempt 3",
        "connection reset by peer",
    ]);
    dash.capture("approval-interrupt");
    dash.end(runtail_stream::Outcome::Interrupted);
    dash.shows("■ stream ended 14:01:47");
    dash.shows(["◆ waiting for you", "a answer"]);
}

#[test]
fn composer_shows_json_errors_and_sends_nothing() {
    let mut dash = demo_server((100, 30));
    dash.keys("n");
    dash.keys("weather in Kraków?");
    insta::assert_snapshot!("composer", dash.screen());
    dash.keys("<Home>oops<ctrl-s>");
    dash.shows(["✗ line 1, column 1: expected value", "Nothing was sent"]);
    assert!(!dash.has_stream());
    // Closing the composer keeps the draft.
    dash.keys("<Esc>n");
    dash.shows("oops{");
    dash.keys("<Home><Delete><Delete><Delete><Delete><ctrl-s>");
    let StreamTarget::Start { body, .. } = dash.page().target else {
        panic!("{}", dash.screen())
    };
    assert_eq!(
        body.input.as_ref().unwrap()["messages"][0]["content"],
        "weather in Kraków?"
    );
    assert!(
        !body.extra.contains_key("multitask_strategy"),
        "a new thread has no other run"
    );
}

#[test]
fn thread_assistant_and_run_lists_match_the_snapshots() {
    let mut dash = demo_server((140, 40));
    insta::assert_snapshot!("threads", dash.screen());
    dash.keys("2");
    insta::assert_snapshot!("assistants", dash.screen());
    // The filter hides the selected assistant, so it isn't opened.
    assert!(dash.keys("/zzz<Enter><Enter>").is_empty() && dash.dialog().is_none());
    dash.keys("<Esc>");
    dash.keys("1v");
    dash.runs();
    insta::assert_snapshot!("runs", dash.screen());
}

#[test]
fn failing_profile_is_marked_and_keeps_its_rows() {
    let mut dash = demo();
    let before = dash.deployments().len();
    dash.refuse("prod-eu");
    let screen = dash.screen();
    assert_eq!(dash.deployments().len(), before);
    screen.has("eu ✗ 401");
    dash.keys("!");
    insta::assert_snapshot!("notices", dash.screen());
}

#[test]
fn unknown_statuses_are_shown_verbatim() {
    let mut dash = demo_like((160, 40));
    dash.unknown_statuses();
    dash.shows("? NOVEL");
}

#[test]
fn help_lists_available_keys() {
    let mut dash = demo_like((100, 30));
    dash.keys("?");
    insta::assert_snapshot!("help", dash.screen());
}

#[test]
fn deployments_are_filtered_while_typing() {
    let mut dash = demo();
    dash.keys("/inv");
    dash.shows("1 of 5 · /inv");
    dash.keys("<Enter><Esc>");
    dash.lacks("/inv");
}

#[test]
fn two_keys_open_a_thread_from_a_cold_start() {
    let mut dash = demo();
    let effects = dash.keys("<Enter>");
    assert!(
        effects
            .iter()
            .any(|e| matches!(e, Effect::FetchAssistants(_)))
    );
    dash.threads();
    dash.keys("<Enter>");
    assert!(matches!(dash.page().target, StreamTarget::Tail { .. }));
    // Esc leaves the stream, which stays in its tab until it is closed, without a request to the server.
    assert!(dash.keys("<Esc>").is_empty());
    assert!(!dash.has_stream());
    assert_eq!(dash.focus(), Pane::Stream);
}

#[test]
fn server_text_cannot_control_the_terminal() {
    let mut dash = demo();
    dash.hostile_names();
    let screen = dash.screen();
    assert!(
        !screen
            .chars()
            .any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'),
        "{screen:?}"
    );
}

#[test]
fn screens_render_at_any_size() {
    let mut dash = demo_thread((140, 40));
    dash.capture("fanout-many-subgraphs");
    for overlay in ["", "?", "<Esc>!", "<Esc>n", "<Esc>5<Enter>"] {
        dash.keys(overlay);
        for w in [1, 5, 20, 59, 60, 79, 100, 119, 120, 200, 300] {
            for h in [1, 3, 11, 12, 24, 60, 100] {
                dash.resize(w, h);
                dash.screen();
            }
        }
    }
}

#[test]
fn help_starts_with_the_current_context() {
    fn first(dash: &mut dash::Dash, keys: &str) -> String {
        dash.keys(keys);
        dash.screen()
            .lines()
            .nth(2)
            .unwrap_or_default()
            .trim_start_matches(['│', ' '])
            .split_once("   ")
            .map_or("", |(heading, _)| heading)
            .to_string()
    }
    let mut dash = demo_like((80, 24));
    assert_eq!(first(&mut dash, "?"), "HERE: DEPLOYMENTS");
    // A page of text has no keys of its own, and those of the list behind it don't work there.
    assert_eq!(first(&mut dash, "<Esc>!?"), "EVERYWHERE");
    dash.keys("<Esc><Esc>");
    dash.open_thread();
    dash.capture("agent-values");
    assert_eq!(first(&mut dash, "?"), "HERE: MESSAGES");
    assert_eq!(first(&mut dash, "<Esc>M?"), "HERE: STREAM MODES");
    assert_eq!(
        first(&mut dash, "<Esc><Esc>6<Up><Enter>?"),
        "HERE: JSON DOCUMENT"
    );
}

#[test]
fn wide_table_shows_both_statuses_and_the_live_revision() {
    let mut dash = demo_like((160, 24));
    dash.keys("f");
    insta::assert_snapshot!("deployments_160x24", dash.screen());
}

/// Returns the names in the order shown.
fn order(dash: &mut dash::Dash) -> Vec<String> {
    dash.relayout();
    dash.rows()
        .into_iter()
        .map(|row| format!("{}/{}", row.tag, row.name))
        .collect()
}

#[test]
fn sorting_by_any_order_keeps_the_selection() {
    let mut dash = demo_like((160, 24));
    dash.keys("f");
    // Problems first: failed revisions, then those in progress.
    assert_eq!(
        order(&mut dash)[..3],
        ["us/invoice-agent", "us/triage", "eu/support-bot"]
    );
    let selected = dash.selected_deployment().map(str::to_string);
    dash.keys("S");
    assert_eq!(order(&mut dash).last().unwrap(), "us/invoice-agent");
    assert_eq!(dash.selected_deployment(), selected.as_deref());
    // s cycles through all orders.
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        dash.keys("s");
        seen.insert(dash.sort().0);
        order(&mut dash);
    }
    assert_eq!(seen.len(), 5);
    // A click on a heading sorts by it, and a second click reverses the order.

    for reversed in [false, true, false] {
        let (x, y) = dash.first_heading();
        dash.feed(Msg::Click { x, y });
        assert_eq!(dash.sort(), ("by name", reversed));
    }
}

#[test]
fn filter_supports_fields_negation_and_fuzzy_matches() {
    let mut dash = demo();
    for (filter, expected) in [
        ("newest:failed", vec!["us/invoice-agent"]),
        ("region:eu !unused", vec!["eu/support-bot"]),
        (
            "live:older type:prod",
            vec!["us/invoice-agent", "eu/support-bot"],
        ),
        ("spbt", vec!["eu/support-bot", "us/support-bot"]),
        ("nothing-like-it", vec![]),
    ] {
        dash.keys(&format!("/<ctrl-u>{filter}<Enter>"));
        assert_eq!(order(&mut dash), expected, "{filter}");
    }
    dash.shows(["No match for “nothing-like-it”", "newest:failed filters"]);
}

#[test]
fn logs_of_marked_deployments_are_merged() {
    let mut dash = demo();
    dash.keys("<Home>mm");
    dash.shows(["+invoice-agent", "+triage", "2 marked"]);
    dash.keys("l");
    dash.shows("Loading…");
    dash.log_lines();
    insta::assert_snapshot!("logs_merged", dash.screen());
    // The level and the time are filtered by the server, words are filtered here.
    dash.keys("&&T");
    dash.shows("warning and worse   of the last 15m");
    dash.log_lines();
    dash.keys("/!slow level:warn<Enter>");
    dash.shows("4 lines, 0 shown");
    // Esc clears the filter first, then closes the logs.
    dash.keys("<Esc>");
    dash.shows("Slow request");
    dash.keys("<Enter>");
    // The whole line.
    dash.shows("level: ERROR");
    dash.keys("<Esc><Esc>");
    assert!(!dash.has_logs() && dash.focus() == Pane::Deployments);
}

#[test]
fn logs_report_new_and_possibly_missing_lines() {
    let mut dash = demo();
    dash.keys("<Home>l");
    dash.log_lines();
    dash.lacks("may have more lines");
    dash.log_is_incomplete(0);
    dash.shows("4 lines   may have more lines");
    dash.keys("<Up>");
    dash.log_lines();
    dash.shows("‖ 4 new · G");
    dash.keys("/slow<Enter>");
    dash.shows("‖ 1 new · G");
    dash.keys("<Esc><End><Up>");
    dash.shows("‖ paused · G");
    dash.lacks(" new");
    // A new level starts a new request.
    dash.keys("&");
    dash.lacks("may have more lines");
    // With several logs, the message names the deployment.
    dash.keys("<Esc><Home>mml");
    dash.log_is_incomplete(1);
    dash.shows("us › triage: may have more lines");
}

#[test]
fn failed_revision_is_explained_on_one_screen() {
    let mut dash = demo_like((100, 34));
    dash.keys("<Home>e");
    dash.shows("Loading…");
    dash.card();
    insta::assert_snapshot!("failure_card", dash.screen());
    dash.keys("b");
    dash.shows("Build log of us › invoice-agent");
}

#[test]
fn keys_of_the_failure_card_act_on_the_revision() {
    let mut dash = demo();
    dash.keys("<Home>e");
    dash.card();
    // Keys, not commands.
    dash.lacks("runtail revisions");
    for line in [
        "b  Read the whole build log",
        "z  Roll back to the last good revision",
    ] {
        dash.shows(line);
    }
    let planned = |effects: &[Effect]| {
        let planned = effects.iter().find_map(dash::plane_plan);
        planned.map(|(_, _, intent)| format!("{intent:?}"))
    };
    let rollback = planned(&dash.keys("z")).unwrap();
    rollback.has("Rollback");
    dash.keys("<Esc>");
    let redeploy = planned(&dash.keys("R")).unwrap();
    redeploy.has(["Redeploy", "d3-r"]);
    dash.keys("<Esc>=");
    dash.shows("Compare revisions   A us › invoice-agent › ");
}

#[test]
fn watched_revision_alerts_when_it_ends() {
    let mut dash = demo();
    dash.keys("w");
    dash.shows(["▌»support-bot", "» 1 watched"]);
    assert!(dash.watched("DEPLOYING").is_empty());
    // The alert is sent from any screen.
    dash.keys("<Home><Enter>");
    let effects = dash.watched("DEPLOYED");
    let [Effect::Alert(title, text)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(title, "eu › support-bot › 44444444…4444");
    assert!(text.starts_with("is DEPLOYED"), "{text}");
    assert!(dash.watches().is_empty());
    dash.shows("is DEPLOYED");
    // A revision that has ended can't be watched.
    dash.keys("<Esc><Home>w");
    assert!(dash.watches().is_empty());
    dash.shows("is already");
}

#[test]
fn rejected_key_stops_its_profile_until_a_retry() {
    let mut dash = demo();
    let polls = |dash: &dash::Dash| {
        let of = |key: &SubscriptionId| match key {
            SubscriptionId::Deployments(p)
            | SubscriptionId::Newest(p)
            | SubscriptionId::Revisions(p, _) => &**p == "prod-eu",
            _ => false,
        };
        dash.subscriptions().iter().filter(|s| of(&s.key)).count()
    };
    assert_eq!(
        polls(&dash),
        3,
        "the selected deployment is of this profile"
    );
    dash.refuse("prod-eu");
    assert_eq!(polls(&dash), 0);
    dash.keys("r");
    assert_eq!(polls(&dash), 3);
}

#[test]
fn json_documents_can_be_searched() {
    let mut dash = demo_like((100, 30));
    dash.record(r#"{"a":{"url":"https://x"},"b":[{"Url":"https://y"}]}"#);
    dash.keys("/url");
    dash.shows("/url 1 of 2");
    dash.keys("<Enter>]");
    dash.shows("/url 2 of 2");
    dash.keys("y");
    dash.shows("Copied https://y");
}

#[test]
fn header_shows_the_status_of_eight_profiles() {
    let regions = ["us", "eu", "apac", "aws"];
    let profiles: String = (0..8)
        .map(|n| {
            format!(
                "[profiles.p{n}]\nregion = \"{}\"\napi_key_env = \"K\"\n",
                regions[n % 4]
            )
        })
        .collect();
    let mut dash = dash::Dash::new(&profiles, (140, 24));
    let of = |n: usize| {
        let name: std::sync::Arc<str> = format!("p{n}").into();
        move |key: &SubscriptionId| *key == SubscriptionId::Deployments(name.clone())
    };
    for n in 0..8 {
        dash.answer(of(n), dash::listed(Vec::new()));
    }
    // Profiles of one region are distinguished by their names.
    assert!(
        dash.screen()
            .lines()
            .next()
            .unwrap()
            .contains("p5 ●  p6 ●  p7 ●")
    );
    dash.fails(of(1), Kind::RateLimited(Some(Duration::from_secs(40))));
    dash.fails(of(2), Kind::Server(503));
    dash.fails(of(3), Kind::Unauthorized);
    dash.pass(30);
    let mut header = |width| {
        dash.resize(width, 24);
        dash.screen().lines().next().unwrap().to_string()
    };
    for part in [
        "p0 ●  p1 ? 429, 10s 30s old",
        "p2 ✗ 503 30s old, retry in 0s",
        "p3 ✗ 401, r retries 30s old",
    ] {
        assert!(header(140).contains(part), "{part}: {}", header(140));
    }
    for part in ["  5 ●", "p1 ? 429, 10s", "p2 ✗ 503", "p3 ✗ 401, r retries"] {
        assert!(header(80).contains(part), "{part}: {}", header(80));
    }
    assert!(header(60).contains("  5 ●  1 ◐  2 ✗"), "{}", header(60));
}
