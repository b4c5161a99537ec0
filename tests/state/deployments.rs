//! What the dashboard makes of control planes whose answers come late, torn, or not at all.

use jiff::SignedDuration;
use runtail_api::{Kind, Listing};
use runtail_core::model::Deployment;
use runtail_testkit::dash::{Dash, demo_like, listed};
use runtail_tui::app::subscriptions;
use runtail_tui::session::msg::{Effect, EffectResult, Msg, NextPoll, SubscriptionEvent, SubscriptionId, Wanted};
use serde_json::{Value, json};
use std::sync::Arc;

const US: &str = "prod-us";

fn list_of(profile: &str) -> impl Fn(&SubscriptionId) -> bool {
    let profile: Arc<str> = profile.into();
    move |key| *key == SubscriptionId::Deployments(profile.clone())
}

fn deployments_answer(listing: Listing<Deployment>, skew: i64) -> SubscriptionEvent {
    let torn = listing.incomplete.is_some();
    SubscriptionEvent::Deployments {
        result: Ok(listing),
        torn,
        skew: SignedDuration::from_secs(skew),
        next: NextPoll::Stopped,
    }
}

fn newest_of(profile: &str) -> impl Fn(&SubscriptionId) -> bool {
    let profile: Arc<str> = profile.into();
    move |key| *key == SubscriptionId::Newest(profile.clone())
}

/// Deployments with their newest revisions.
fn deployments(rows: &[(&str, &str)]) -> Vec<runtail_core::model::Deployment> {
    let rows = rows.iter().map(|(id, latest)| json!({"id": id, "name": id, "latest_revision_id": latest}));
    serde_json::from_value(Value::Array(rows.collect())).unwrap()
}

fn newest(dash: &mut Dash, deployment: &str, revision: &str, status: &str) {
    let revision = serde_json::from_value(json!({"id": revision, "status": status})).unwrap();
    dash.answer(newest_of(US), SubscriptionEvent::Newest { deployment: deployment.into(), revision: Ok(revision) });
}

fn wanted(dash: &Dash) -> Vec<Wanted> {
    let sub = subscriptions(&dash.app).into_iter().find(|s| newest_of(US)(&s.key)).unwrap();
    sub.wish.newest.to_vec()
}

fn shown(dash: &Dash, deployment: &str) -> Option<(String, String)> {
    let newest = dash.app.deployments.list.row(&format!("{US}/{deployment}"))?.newest.as_ref()?;
    Some((newest.id.clone(), newest.status.clone()))
}

#[test]
fn a_list_that_broke_off_makes_no_row_go() {
    let mut dash = demo_like((140, 40));
    dash.keys("m<Up>");
    let selected = dash.app.deployments.list.picker.selected.clone();
    let rows = dash.app.deployments.list.rows.len();
    for profile in [US, "prod-eu"] {
        let error = dash.error(profile, Kind::Server(503));
        let torn = Listing { items: Vec::new(), incomplete: Some(error) };
        dash.answer(list_of(profile), deployments_answer(torn, 0));
    }
    assert_eq!(dash.app.deployments.list.rows.len(), rows);
    assert_eq!(
        (dash.app.deployments.list.picker.selected.clone(), dash.app.deployments.list.marked.len()),
        (selected, 1)
    );
    assert!(dash.app.history().is_some_and(|h| !h.revisions.is_empty()));
    let screen = dash.screen();
    assert!(screen.contains("us ◐ partial  eu ◐ partial"), "{screen}");
    // Then no answer at all: what is there is old, and says so; that it was torn is no longer the news.
    dash.fails(list_of(US), Kind::Network);
    dash.pass(65);
    let screen = dash.screen();
    assert!(screen.contains("us ✗ no connection 1m old, retry in 0s  eu ◐ partial"), "{screen}");
    // A whole list makes go what is not in it.
    dash.answer(list_of(US), listed(deployments(&[("d2", "d2-r")])));
    assert_eq!(dash.app.deployments.list.rows.iter().filter(|r| &*r.profile_name == US).count(), 1);
}

#[test]
fn a_late_answer_about_an_overtaken_revision_changes_nothing() {
    let mut dash = demo_like((140, 40));
    dash.answer(list_of(US), listed(deployments(&[("a", "r1")])));
    newest(&mut dash, "a", "r1", "BUILDING");
    // The list names another one while r1 is asked for.
    dash.answer(list_of(US), listed(deployments(&[("a", "r2")])));
    assert_eq!(shown(&dash, "a"), None);
    newest(&mut dash, "a", "r1", "DEPLOYED");
    assert_eq!(shown(&dash, "a"), None);
    assert_eq!(wanted(&dash).iter().map(|w| &*w.revision).collect::<Vec<_>>(), ["r2"]);
    newest(&mut dash, "a", "r2", "QUEUED");
    assert_eq!(shown(&dash, "a"), Some(("r2".into(), "QUEUED".into())));
}

#[test]
fn revisions_that_cannot_be_read_do_not_keep_the_others_waiting() {
    let mut dash = demo_like((140, 40));
    let names: Vec<String> = (0..60).map(|n| format!("d{n:02}")).collect();
    let rows: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), n.as_str())).collect();
    dash.answer(list_of(US), listed(deployments(&rows)));
    let mut asked = std::collections::BTreeSet::new();
    // Whatever is asked for is not there; in the end each one was asked for.
    for _ in 0..10 {
        for wanted in wanted(&dash) {
            asked.insert(wanted.deployment.to_string());
            let error = dash.error(US, Kind::NotFound);
            dash.answer(
                newest_of(US),
                SubscriptionEvent::Newest { deployment: wanted.deployment, revision: Err(error) },
            );
        }
    }
    assert_eq!(asked.len(), 60);
    assert!(dash.screen().contains("? 404"), "{}", dash.screen());
}

#[test]
fn another_clock_is_told_once() {
    let mut dash = demo_like((140, 40));
    for seconds in [3600, 3601, 3599, 3600] {
        let listing = Listing { items: deployments(&[("a", "r1")]), incomplete: None };
        dash.answer(list_of(US), deployments_answer(listing, seconds));
    }
    let told = dash.app.session.notices.iter().filter(|n| n.text.contains("ahead of ours")).count();
    assert_eq!(told, 1, "{:?}", dash.app.session.notices);
}

#[test]
fn only_the_document_that_was_asked_for_last_is_shown() {
    let mut dash = demo_like((140, 40));
    dash.keys("<Home>");
    let first = dash.keys("d");
    let second = dash.keys("<Down>d");
    let answer = |dash: &mut Dash, effects: Vec<Effect>| {
        let Ok([Effect::Describe(what)]) = <[Effect; 1]>::try_from(effects) else { panic!("one effect") };
        let title = what.title();
        dash.feed(Msg::done(EffectResult::Described(what, Ok(json!({"of": title}).to_string().into()))));
    };
    answer(&mut dash, first);
    assert!(dash.app.overlays.is_empty(), "the first is late");
    answer(&mut dash, second);
    assert!(dash.screen().contains("of: deployment nightly-etl"), "{}", dash.screen());
}

#[test]
fn a_refresh_reads_open_logs_anew_instead_of_twice() {
    let mut dash = demo_like((140, 40));
    dash.keys("<Home>l");
    dash.log_lines();
    dash.pass(2);
    dash.keys("r");
    dash.log_lines();
    assert!(dash.screen().contains(" 4 lines"), "{}", dash.screen());
}

#[test]
fn a_watch_outlives_a_refused_key() {
    let mut dash = demo_like((140, 40));
    dash.keys("w");
    let sub = subscriptions(&dash.app).into_iter().find(|s| matches!(s.key, SubscriptionId::Watch(_))).unwrap();
    let error = dash.error("prod-eu", Kind::Unauthorized);
    let answer = SubscriptionEvent::Watched(Err(error), NextPoll::Stopped);
    dash.feed(Msg::Answer { key: sub.key, epoch: sub.epoch, answer });
    assert_eq!(dash.app.deployments.watches.len(), 1);
    assert!(dash.screen().contains("✗ 401, r retries"), "{}", dash.screen());
    dash.keys("r");
    assert!(dash.watched("BUILDING").is_empty() && dash.app.deployments.watches.len() == 1);
}

#[test]
fn a_list_that_was_read_to_its_end_makes_rows_go_though_one_in_it_is_odd() {
    let mut dash = demo_like((140, 40));
    let odd = dash.error(US, Kind::Protocol);
    let listing = Listing { items: deployments(&[("d2", "d2-r")]), incomplete: Some(odd) };
    let (result, skew, next) = (Ok(listing), SignedDuration::ZERO, NextPoll::Stopped);
    dash.answer(list_of(US), SubscriptionEvent::Deployments { result, torn: false, skew, next });
    assert_eq!(dash.app.deployments.list.rows.iter().filter(|r| &*r.profile_name == US).count(), 1);
    assert!(dash.screen().contains("us ◐ partial"), "{}", dash.screen());
}

#[test]
fn what_an_agent_server_refuses_is_not_the_control_planes_word() {
    let mut dash = demo_like((140, 40));
    dash.open_server();
    let effects = dash.keys("d");
    let [Effect::Describe(what)] = effects.as_slice() else { panic!("{effects:?}") };
    let error = dash.error("prod-eu", Kind::Unauthorized);
    dash.feed(Msg::done(EffectResult::Described(what.clone(), Err(error))));
    assert!(!dash.screen().contains("✗ 401"), "{}", dash.screen());
    assert!(subscriptions(&dash.app).iter().any(|s| list_of("prod-eu")(&s.key)));
}

#[test]
fn who_walks_over_many_rows_keeps_the_revisions_of_the_last_ones() {
    let mut dash = Dash::new("[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n", (140, 40));
    let ids: Vec<(String, String)> = (0..300).map(|n| (format!("d{n:03}"), format!("r{n:03}"))).collect();
    let rows: Vec<(&str, &str)> = ids.iter().map(|(id, newest)| (id.as_str(), newest.as_str())).collect();
    dash.answer(list_of(US), listed(deployments(&rows)));
    dash.app.relayout();
    for (_, newest) in &ids {
        let items = serde_json::from_value(json!([{"id": newest, "status": "DEPLOYED"}])).unwrap();
        let list = runtail_api::Revisions { items, was_sorted: true };
        let next = NextPoll::At(dash.now);
        dash.answer(|key| matches!(key, SubscriptionId::Revisions(..)), SubscriptionEvent::Revisions(Ok(list), next));
        assert_eq!(dash.app.history().map(|history| history.revisions.len()), Some(1), "those that are looked at stay");
        dash.later(1000);
        dash.keys("<Down>");
    }
    let (first, last) = (format!("{US}/d000"), format!("{US}/d299"));
    assert!(dash.app.deployments.histories.len() <= 200 && !dash.app.deployments.histories.contains_key(&first));
    assert!(dash.app.deployments.histories.contains_key(&last));
}
