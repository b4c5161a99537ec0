//! How the dashboard handles late, partial and missing control plane responses.

use jiff::SignedDuration;
use runtail_api::{Kind, Listing};
use runtail_core::model::Deployment;
use runtail_testkit::dash::{Dash, demo, demo_like, demo_server, listed, listing};
use runtail_testkit::says::Says;

use runtail_tui::session::msg::{
    Effect, EffectResult, Msg, NextPoll, SubscriptionEvent, SubscriptionId, WantedRevision,
};
use serde_json::{Value, json};
use std::sync::Arc;

const US: &str = "prod-us";

fn list_of(profile: &str) -> impl Fn(&SubscriptionId) -> bool {
    let profile: Arc<str> = profile.into();
    move |key| *key == SubscriptionId::Deployments(profile.clone())
}

fn deployments_response(listing: Listing<Deployment>, skew: i64) -> SubscriptionEvent {
    let is_truncated = listing.incomplete.is_some();
    SubscriptionEvent::Deployments {
        result: Ok(listing),
        is_truncated,
        skew: SignedDuration::from_secs(skew),
        took: Default::default(),
        next: NextPoll::Stopped,
    }
}

fn newest_of(profile: &str) -> impl Fn(&SubscriptionId) -> bool {
    let profile: Arc<str> = profile.into();
    move |key| *key == SubscriptionId::Newest(profile.clone())
}

/// Deployments with their newest revisions.
fn deployments(rows: &[(&str, &str)]) -> Vec<runtail_core::model::Deployment> {
    let rows = rows
        .iter()
        .map(|(id, latest)| json!({"id": id, "name": id, "latest_revision_id": latest}));
    serde_json::from_value(Value::Array(rows.collect())).unwrap()
}

fn newest(dash: &mut Dash, deployment: &str, revision: &str, status: &str) {
    let revision = serde_json::from_value(json!({"id": revision, "status": status})).unwrap();
    dash.answer(
        newest_of(US),
        SubscriptionEvent::Newest {
            deployment: deployment.into(),
            revision: Ok(revision),
        },
    );
}

fn wanted(dash: &Dash) -> Vec<WantedRevision> {
    let sub = dash.wanted(newest_of(US));
    sub.params.newest.to_vec()
}

fn shown(dash: &Dash, deployment: &str) -> Option<(String, String)> {
    dash.newest_revision(&format!("{US}/{deployment}"))
}

#[test]
fn a_new_list_keeps_the_selection_until_the_next_frame() {
    let mut dash = demo();
    let revisions = |dash: &Dash| {
        dash.wanted(|key| matches!(key, SubscriptionId::Revisions(..)))
            .key
    };
    let before = revisions(&dash);
    // The rows of the other profile are replaced.
    dash.answer(list_of(US), listed(deployments(&[("d9", "d9-r")])));
    assert_eq!(revisions(&dash), before);
}

#[test]
fn partial_lists_remove_no_rows() {
    let mut dash = demo();
    dash.keys("m<Up>");
    let selected = dash.selected_deployment().map(str::to_string);
    let rows = dash.deployments().len();
    for profile in [US, "prod-eu"] {
        let error = dash.error(profile, Kind::Server(503));
        let is_truncated = Listing {
            items: Vec::new(),
            incomplete: Some(error),
            unread: Default::default(),
        };
        dash.answer(list_of(profile), deployments_response(is_truncated, 0));
    }
    assert_eq!(dash.deployments().len(), rows);
    assert_eq!(
        (dash.selected_deployment(), dash.marked()),
        (selected.as_deref(), 1)
    );
    assert!(dash.revisions() > Some(0));
    dash.shows("us ◐ partial  eu ◐ partial");
    // A failed request then marks the list as outdated, and the age replaces the partial mark.
    dash.fails(list_of(US), Kind::Network);
    dash.pass(65);
    dash.shows("us ✗ no connection 1m old, retry in 0s  eu ◐ partial");
    // A complete list removes rows that are not in it.
    dash.answer(list_of(US), listed(deployments(&[("d2", "d2-r")])));
    assert_eq!(
        dash.rows()
            .iter()
            .filter(|row| &*row.profile_name == US)
            .count(),
        1
    );
}

#[test]
fn late_responses_about_superseded_revisions_are_ignored() {
    let mut dash = demo();
    dash.answer(list_of(US), listed(deployments(&[("a", "r1")])));
    newest(&mut dash, "a", "r1", "BUILDING");
    // The list names a newer revision while r1 is being requested.
    dash.answer(list_of(US), listed(deployments(&[("a", "r2")])));
    assert_eq!(shown(&dash, "a"), None);
    newest(&mut dash, "a", "r1", "DEPLOYED");
    assert_eq!(shown(&dash, "a"), None);
    assert_eq!(
        wanted(&dash)
            .iter()
            .map(|w| &*w.revision)
            .collect::<Vec<_>>(),
        ["r2"]
    );
    newest(&mut dash, "a", "r2", "QUEUED");
    assert_eq!(shown(&dash, "a"), Some(("r2".into(), "QUEUED".into())));
}

#[test]
fn unreadable_revisions_do_not_block_others() {
    let mut dash = demo();
    let names: Vec<String> = (0..60).map(|n| format!("d{n:02}")).collect();
    let rows: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), n.as_str())).collect();
    dash.answer(list_of(US), listed(deployments(&rows)));
    let mut requested = std::collections::BTreeSet::new();
    // Every request fails with 404, and eventually all revisions are requested.
    for _ in 0..10 {
        for wanted in wanted(&dash) {
            requested.insert(wanted.deployment.to_string());
            let error = dash.error(US, Kind::NotFound);
            dash.answer(
                newest_of(US),
                SubscriptionEvent::Newest {
                    deployment: wanted.deployment,
                    revision: Err(error),
                },
            );
        }
    }
    assert_eq!(requested.len(), 60);
    dash.shows("? 404");
}

#[test]
fn clock_skew_is_reported_once() {
    let mut dash = demo();
    for seconds in [3600, 3601, 3599, 3600] {
        let listing = listing(deployments(&[("a", "r1")]));
        dash.answer(list_of(US), deployments_response(listing, seconds));
    }
    let reported = dash
        .notices()
        .into_iter()
        .filter(|n| n.contains("ahead of ours"))
        .count();
    assert_eq!(reported, 1, "{:?}", dash.notices());
}

#[test]
fn only_the_last_requested_document_is_shown() {
    let mut dash = demo();
    dash.keys("<Home>");
    let first = dash.keys("d");
    let second = dash.keys("<Down>d");
    let answer = |dash: &mut Dash, effects: Vec<Effect>| {
        let Ok([Effect::Describe(what)]) = <[Effect; 1]>::try_from(effects) else {
            panic!("one effect")
        };
        let title = what.title();
        dash.feed(Msg::done(EffectResult::Described(
            what,
            Ok(json!({"of": title}).to_string().into()),
        )));
    };
    answer(&mut dash, first);
    assert!(dash.dialog().is_none(), "the first response is outdated");
    answer(&mut dash, second);
    dash.shows("of: deployment triage");
}

#[test]
fn refresh_reloads_open_logs_without_duplicates() {
    let mut dash = demo();
    dash.keys("<Home>l");
    dash.log_lines();
    dash.pass(2);
    dash.keys("r");
    dash.log_lines();
    dash.shows(" 4 lines");
}

#[test]
fn watches_survive_a_rejected_key() {
    let mut dash = demo();
    dash.keys("w");
    let sub = dash.wanted(|key| matches!(key, SubscriptionId::Watch(_)));
    let error = dash.error("prod-eu", Kind::Unauthorized);
    let answer = SubscriptionEvent::Watched(Err(error), NextPoll::Stopped);
    dash.feed(Msg::Subscription {
        key: sub.key,
        epoch: sub.epoch,
        event: answer,
    });
    assert_eq!(dash.watches().len(), 1);
    dash.shows("✗ 401, r retries");
    dash.keys("r");
    assert!(dash.watched("BUILDING").is_empty() && dash.watches().len() == 1);
}

#[test]
fn complete_lists_with_a_malformed_record_remove_missing_rows() {
    let mut dash = demo();
    let malformed = dash.error(US, Kind::Protocol);
    let listing = Listing {
        items: deployments(&[("d2", "d2-r")]),
        incomplete: Some(malformed),
        unread: Default::default(),
    };
    let (result, skew, next) = (Ok(listing), SignedDuration::ZERO, NextPoll::Stopped);
    dash.answer(
        list_of(US),
        SubscriptionEvent::Deployments {
            result,
            is_truncated: false,
            skew,
            took: Default::default(),
            next,
        },
    );
    assert_eq!(
        dash.rows()
            .iter()
            .filter(|row| &*row.profile_name == US)
            .count(),
        1
    );
    dash.shows("us ◐ partial");
}

#[test]
fn agent_server_rejections_do_not_stop_the_control_plane() {
    let mut dash = demo_server((140, 40));
    let effects = dash.keys("d");
    let [Effect::Describe(what)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let error = dash.error("prod-eu", Kind::Unauthorized);
    dash.feed(Msg::done(EffectResult::Described(what.clone(), Err(error))));
    dash.lacks("✗ 401");
    assert!(dash.wants(list_of("prod-eu")));
}

#[test]
fn revisions_are_cached_for_recently_selected_rows() {
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
        (140, 40),
    );
    let ids: Vec<(String, String)> = (0..300)
        .map(|n| (format!("d{n:03}"), format!("r{n:03}")))
        .collect();
    let rows: Vec<(&str, &str)> = ids
        .iter()
        .map(|(id, newest)| (id.as_str(), newest.as_str()))
        .collect();
    dash.answer(list_of(US), listed(deployments(&rows)));
    dash.relayout();
    for (_, newest) in &ids {
        dash.revisions_listed(json!([{"id": newest, "status": "DEPLOYED"}]));
        assert_eq!(
            dash.revisions(),
            Some(1),
            "the selected row's revisions are kept"
        );
        dash.later(1000);
        dash.keys("<Down>");
    }
    let (first, last) = (format!("{US}/d000"), format!("{US}/d299"));
    let kept = dash.deployments_with_revisions();
    assert!(kept.len() <= 200 && !kept.contains(&&*first) && kept.contains(&&*last));
}

/// Gives the newest revision of support-bot in prod-eu a commit, and its deployment a workspace.
fn with_commit(dash: &mut Dash, reference: &str) {
    let row = json!({"id": "d1", "name": "support-bot", "latest_revision_id": "r2", "tenant_id": "w1",
                     "url": "https://support-bot.eu.langgraph.app"});
    let profile: Arc<str> = "prod-eu".into();
    dash.answer(
        list_of(&profile),
        listed(vec![serde_json::from_value(row).unwrap()]),
    );
    let revision = json!({"id": "r2", "status": "BUILDING", "created_at": "2026-11-21T13:58:00Z",
                          "source_revision_config": {"repo_ref": reference, "repo_commit_sha": "9fceb02d0ae598e95dc97"}});
    let revision = Ok(serde_json::from_value(revision).unwrap());
    dash.answer(
        newest_of(&profile),
        SubscriptionEvent::Newest {
            deployment: "d1".into(),
            revision,
        },
    );
    // The first row has no list of revisions, whose commits are needed too.
    dash.keys("<Home>");
    dash.relayout();
}

fn wanted_subjects(dash: &Dash) -> Vec<(String, bool)> {
    let subs = dash
        .subscriptions()
        .into_iter()
        .filter(|sub| matches!(sub.key, SubscriptionId::Past(_)));
    subs.flat_map(|sub| sub.params.subjects.to_vec())
        .map(|of| (of.commit.to_string(), of.is_building))
        .collect()
}

fn subject(dash: &mut Dash, subject: Option<&str>) {
    let event = SubscriptionEvent::CommitSubject {
        revision: "r2".into(),
        commit: "9fceb02d0ae598e95dc97".into(),
        subject: subject.map(str::to_string),
    };
    dash.answer(|key| *key == SubscriptionId::Past("prod-eu".into()), event);
}

#[test]
fn messages_of_visible_revisions_are_read_once_and_shown() {
    let mut dash = demo();
    with_commit(&mut dash, "main");
    dash.lacks("MESSAGE");
    assert_eq!(
        wanted_subjects(&dash),
        [("9fceb02d0ae598e95dc97".to_string(), true)]
    );
    subject(&mut dash, Some("retry on\u{1b}[31m 429"));
    let screen = dash.screen();
    let row = screen
        .lines()
        .find(|line| line.contains("main@9fceb02"))
        .unwrap_or_default();
    assert!(screen.contains("MESSAGE") && row.contains("retry on 429"));
    assert_eq!(wanted_subjects(&dash), []);
    // Without any message the column disappears.
    let mut dash = demo();
    with_commit(&mut dash, "main");
    subject(&mut dash, None);
    assert_eq!(wanted_subjects(&dash), []);
    dash.lacks("MESSAGE");
}

#[test]
fn messages_are_not_requested_for_rows_off_the_screen() {
    let mut dash = demo();
    with_commit(&mut dash, "main");
    dash.open_thread();
    assert_eq!(wanted_subjects(&dash), [], "the list is hidden");
}

#[test]
fn commits_stay_whole_beside_long_branches() {
    for (size, shown) in [
        ((140, 40), "…@9fceb02"),
        ((200, 50), "feature/very-long-branch-name@9fceb02"),
    ] {
        let mut dash = demo_like(size);
        with_commit(&mut dash, "refs/heads/feature/very-long-branch-name");
        subject(
            &mut dash,
            Some("Retry the order look-up once before giving up"),
        );
        dash.shows(shown);
    }
}

#[test]
fn a_deployment_opens_in_the_browser() {
    let mut dash = demo();
    with_commit(&mut dash, "main");
    let page = "https://eu.smith.langchain.com/o/w1/host/deployments/d1";
    for keys in ["o", "<Tab>o"] {
        dash.select_deployment("prod-eu/d1");
        let effects = dash.keys(keys);
        assert!(
            matches!(effects.as_slice(), [Effect::OpenLink(link)] if link == page),
            "{effects:?}"
        );
        dash.told(page);
    }
    // The server reports no workspace for this one.
    let mut dash = demo();
    let effects = dash.keys("<Home>o");
    assert!(
        matches!(effects.as_slice(), [Effect::OpenLink(link)] if link == "https://invoice-agent.us.langgraph.app"),
        "{effects:?}"
    );
}

#[test]
fn a_build_log_ends_with_its_build() {
    let mut dash = demo();
    // The newest revision of support-bot in prod-eu is being built.
    dash.keys("b");
    dash.log_lines();
    dash.shows("● following");
    let ended = dash.now - SignedDuration::from_secs(10);
    let created = ended - SignedDuration::from_secs(34);
    let revision = json!({"id": "44444444-4444-4444-8444-444444444444", "status": "BUILD_FAILED",
                          "created_at": created.to_string(), "updated_at": ended.to_string()});
    dash.revisions_listed(json!([revision]));
    dash.shows("✗ ended: BUILD_FAILED after 34s");
    dash.lacks("following");
    dash.shows("build ended");
    let is_polled = |dash: &Dash| dash.wants(|key| matches!(key, SubscriptionId::Log(..)));
    // Servers publish lines late.
    let lines = |dash: &mut Dash| {
        let lines = SubscriptionEvent::Lines {
            lines: Ok(Vec::new()),
            incomplete: false,
        };
        dash.answer(|key| matches!(key, SubscriptionId::Log(..)), lines);
    };
    dash.pass(16);
    lines(&mut dash);
    assert!(is_polled(&dash));
    dash.pass(300);
    lines(&mut dash);
    assert!(!is_polled(&dash), "it is not read forever");
    // The server log continues.
    dash.keys("l");
    assert!(is_polled(&dash));
    dash.lacks("ended:");
}

#[test]
fn a_message_uses_the_columns_of_a_role_that_its_revision_lacks() {
    let mut dash = demo();
    let commits = ["9fceb02d0ae598e95dc97", "77ab10cd0ae598e95dc97"];
    let ids = [
        "44444444-4444-4444-8444-444444444444",
        "55555555-5555-4555-8555-555555555555",
    ];
    let revision = |n: usize| {
        json!({"id": ids[n], "status": "DEPLOYED", "created_at": format!("2026-11-2{}T13:00:00Z", 1 - n),
               "updated_at": format!("2026-11-2{}T13:00:52Z", 1 - n),
               "source_revision_config": {"repo_ref": "main", "repo_commit_sha": commits[n]}})
    };
    dash.revisions_listed(json!([revision(0), revision(1)]));
    for n in [0, 1] {
        let (revision, commit, subject) = (
            ids[n].into(),
            commits[n].into(),
            Some("read more of the invoice".into()),
        );
        let event = SubscriptionEvent::CommitSubject {
            revision,
            commit,
            subject,
        };
        dash.answer(|key| *key == SubscriptionId::Past("prod-eu".into()), event);
    }
    let screen = dash.screen();
    let pane: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("● DEPLOYED  main@"))
        .collect();
    let (serving, other): (Vec<&str>, Vec<&str>) =
        pane.iter().partition(|line| line.contains("serving"));
    assert!(serving.len() == 1 && serving[0].contains("read more of the …  serving"));
    assert!(other.len() == 1 && other[0].contains("read more of the invoice"));
}

/// Returns the line of the selected row in a new frame.
fn selected_line(dash: &mut Dash) -> String {
    dash.screen()
        .lines()
        .find(|line| line.contains('▌'))
        .unwrap_or_default()
        .to_string()
}

#[test]
fn the_selection_stays_on_its_deployment_from_the_first_frame() {
    let toml = "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n[profiles.prod-eu]\nregion = \"eu\"\napi_key_env = \"K\"\n";
    let mut dash = Dash::new(toml, (140, 40));
    dash.answer(
        list_of(US),
        listed(deployments(&[("alpha", "a1"), ("beta", "b1")])),
    );
    selected_line(&mut dash).has("alpha");
    // The first problem is the first row from now on, and then that of the other profile.
    newest(&mut dash, "beta", "b1", "BUILD_FAILED");
    let screen = dash.screen();
    assert!(
        screen.find("beta") < screen.find("alpha") && selected_line(&mut dash).contains("alpha")
    );
    dash.answer(list_of("prod-eu"), listed(deployments(&[("delta", "d1")])));
    let failed = json!({"id": "d1", "status": "BUILD_FAILED", "created_at": dash.now});
    let revision = Ok(serde_json::from_value(failed).unwrap());
    dash.answer(
        newest_of("prod-eu"),
        SubscriptionEvent::Newest {
            deployment: "delta".into(),
            revision,
        },
    );
    let screen = dash.screen();
    assert!(
        screen.find("delta") < screen.find("beta") && selected_line(&mut dash).contains("alpha")
    );
}

#[test]
fn a_key_does_not_act_on_a_row_that_no_frame_showed_as_selected() {
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
        (140, 40),
    );
    dash.answer(
        list_of(US),
        listed(deployments(&[("alpha", "a1"), ("beta", "b1")])),
    );
    selected_line(&mut dash).has("alpha");
    dash.on_drawn();
    // The selected deployment disappears between the frame and the key.
    dash.answer(list_of(US), listed(deployments(&[("beta", "b1")])));
    // The order of the list concerns no row.
    dash.typed_ahead("S");
    dash.words().lacks("The selection changed just now.");
    let effects = dash.typed_ahead("yd");
    assert!(effects.is_empty(), "{effects:?}");
    // The next one is selected.
    selected_line(&mut dash).has("beta");
    dash.reads("The selection just changed. Press the key again.");
    assert!(matches!(dash.keys("d").as_slice(), [Effect::Describe(_)]));
}

#[test]
fn keys_that_cannot_work_on_a_deployment_are_not_offered() {
    let row = |id: &str, source: &str, url: Option<&str>| json!({"id": id, "name": id, "latest_revision_id": format!("{id}1"), "source": source, "url": url});
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
        (140, 40),
    );
    let rows = json!([
        row("a", "github", Some("https://a.us.langgraph.app")),
        row("b", "external_docker", None)
    ]);
    dash.answer(list_of(US), listed(serde_json::from_value(rows).unwrap()));
    for id in ["a", "b"] {
        newest(&mut dash, id, &format!("{id}1"), "DEPLOYED");
    }
    dash.keys("<Home>");
    for (id, has_server, has_build) in [("a", true, true), ("b", false, false)] {
        dash.relayout();
        let revisions = json!([{"id": format!("{id}1"), "status": "DEPLOYED", "created_at": "2026-11-20T14:00:00Z"}]);
        dash.revisions_listed(revisions);
        let footer = |dash: &mut Dash| dash.screen().trim_end().lines().last().unwrap().to_string();
        assert_eq!(
            footer(&mut dash).contains("⏎ threads"),
            has_server,
            "{id}: {}",
            dash.screen()
        );
        assert_eq!(
            dash.screen().contains("b build log"),
            has_build,
            "{id}: {}",
            dash.screen()
        );
        dash.keys("<Tab>");
        assert_eq!(
            footer(&mut dash).contains("b build log"),
            has_build,
            "{id}: {}",
            dash.screen()
        );
        if !has_build {
            assert!(dash.keys("b").is_empty());
            dash.shows("has no build log: its image was built elsewhere");
            dash.keys("e");
            footer(&mut dash).lacks("build log");
            dash.keys("b<Esc>");
        }
        dash.keys("<Tab><Down>");
    }
}
