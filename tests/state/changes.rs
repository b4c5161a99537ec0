//! Changes from the dashboard, with scripted and random keys: plans, previews, and that nothing is sent unconfirmed.

use runtail_api::{ApiError, Kind, Outcome, PlanError, SentRequest};
use runtail_core::model::{
    Consent, Intent, NewRevision, Note, PlainRequest, Preview, SpecForm, Target,
};
use runtail_testkit::dash;
use runtail_testkit::dash::{Dash, Dialog, demo, demo_like, plane_plan};
use runtail_testkit::made;
use runtail_testkit::says::Says;

use runtail_tui::features::changes::confirm::Stage;
use runtail_tui::session::effect::DeploymentDocument;
use runtail_tui::session::msg::Proposal;
use runtail_tui::session::msg::{
    Applied, Described, Effect, EffectResult, Msg, NextPoll, RevisionRef, Sent, SubscriptionEvent,
    SubscriptionId,
};
use serde_json::json;

/// Returns a preview of an intent.
fn preview(intent: &Intent) -> Preview {
    let request = |method: &str, path: &str| {
        let url = format!("https://eu.api.host.langchain.com/v2/deployments/{path}");
        PlainRequest {
            headers: vec![("x-api-key".into(), "$KEY".into())],
            ..made::request(method, &url)
        }
    };
    let target = |kind: &'static str, name: &str| {
        Some(Target {
            kind,
            id: "d".into(),
            name: name.into(),
        })
    };
    let preview = |title: &str, target, request, revision, consent| Preview {
        target,
        revision,
        notes: vec![
            Note::warning("Revision 5555 is serving now: its URL will stop responding."),
            Note::fact("It is soft."),
        ],
        ..made::preview(title, "prod-eu", request, consent)
    };
    match intent {
        Intent::DeleteDeployment { id, .. } => preview(
            "Delete support-bot",
            target("deployment", "support-bot"),
            request("DELETE", id),
            NewRevision::NotAsked,
            Consent::Name("support-bot".into()),
        ),
        other => preview(
            "Redeploy support-bot",
            target("revision", "support-bot"),
            request("POST", &format!("{other:?}")),
            NewRevision::Yes("a redeploy builds the source of a revision again".into()),
            Consent::Key,
        ),
    }
}

fn previewed(number: u64, preview: Preview) -> EffectResult {
    EffectResult::Planned(number, Ok((Box::new(preview), None)))
}

/// Responds to the plan request in the effects and returns its number.
fn planned(dash: &mut Dash, effects: &[Effect]) -> u64 {
    let found = effects.iter().find_map(plane_plan);
    let (number, _, intent) = found.unwrap_or_else(|| panic!("no plan was requested: {effects:?}"));
    dash.done(previewed(number, preview(&intent)));
    number
}

/// The preview of a deletion, and its number.
pub(crate) fn deletion(size: (u16, u16)) -> (Dash, u64) {
    let mut dash = demo_like(size);
    let effects = dash.keys("D");
    let number = planned(&mut dash, &effects);
    (dash, number)
}

fn sent(effects: &[Effect]) -> Vec<u64> {
    effects
        .iter()
        .filter_map(|e| {
            if let Effect::Send(number, ..) = e {
                Some(*number)
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn deleting_requires_the_exact_name_and_ctrl_s() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("D");
    // Named before it is planned.
    dash.shows("╭ Delete · support-bot ─");
    let number = planned(&mut dash, &effects);
    insta::assert_snapshot!("delete_100x30", dash.screen());
    assert!(sent(&dash.keys("<Enter><ctrl-s><F5><ctrl-r>")).is_empty());
    assert!(
        sent(&dash.keys("support-Bot<ctrl-s><Backspace><Backspace><Backspace>bo<ctrl-s>"))
            .is_empty()
    );
    assert!(
        sent(&dash.keys("t<Enter>")).is_empty(),
        "Enter doesn't confirm, even after the right name"
    );
    dash.shows("ctrl-s send");
    assert_eq!(sent(&dash.keys("<ctrl-s>")), [number]);
    assert!(
        sent(&dash.keys("<ctrl-s><ctrl-s>")).is_empty(),
        "the request is sent only once"
    );
}

/// Lets time pass until the target is checked again, and returns the number of its plan.
fn checked(dash: &mut Dash) -> u64 {
    for _ in 0..120 {
        dash.later(1000);
        let effects = dash.feed(Msg::Tick);
        if let [Effect::CheckTarget(number, _)] = effects.as_slice() {
            return *number;
        }
        assert!(
            effects
                .iter()
                .all(|effect| !matches!(effect, Effect::CheckTarget(..))),
            "{effects:?}"
        );
    }
    panic!("the target is not checked");
}

#[test]
fn open_previews_check_their_target_and_show_when() {
    let (mut dash, number) = deletion((100, 30));
    let shown = |dash: &mut Dash, part: &str| {
        assert!(dash.screen().contains(part), "{part}: {}", dash.screen())
    };
    shown(&mut dash, "Rechecks the deployment while open.");
    assert_eq!(checked(&mut dash), number);
    assert!(dash.feed(Msg::Tick).is_empty(), "one check at a time");
    // Nothing is claimed before the answer.
    dash.lacks("Checked");
    dash.done(EffectResult::TargetChecked(number, Ok(Some(Vec::new()))));
    dash.later(2000);
    dash.feed(Msg::Tick);
    shown(&mut dash, "Checked 2s ago: deployment unchanged.");
    assert_eq!(
        dash.next_tick(),
        Some(std::time::Duration::from_secs(1)),
        "the age is redrawn each second"
    );
    assert_eq!(checked(&mut dash), number);
    dash.done(EffectResult::TargetChecked(
        number,
        Ok(Some(vec!["latest_revision_id".into()])),
    ));
    shown(
        &mut dash,
        "only unrelated fields changed: latest_revision_id.",
    );
    assert_eq!(checked(&mut dash), number);
    let error = dash.error("eu", Kind::Server(503));
    dash.done(EffectResult::TargetChecked(number, Err(error)));
    shown(&mut dash, "Couldn't check the deployment again (");
    // A result of another preview is ignored, and a closed one checks nothing.
    dash.done(EffectResult::TargetChecked(
        number + 7,
        Ok(Some(Vec::new())),
    ));
    shown(&mut dash, "Couldn't check the deployment again (");
    dash.keys("<Esc>");
    dash.later(100_000);
    assert!(
        dash.feed(Msg::Tick)
            .iter()
            .all(|effect| !matches!(effect, Effect::CheckTarget(..)))
    );
}

#[test]
fn a_rollback_offers_to_change_the_source_instead() {
    let mut dash = demo();
    dash.keys("<Home>e");
    dash.card();
    let effects = dash.keys("z");
    planned(&mut dash, &effects);
    dash.shows("Rollback: redeploy the revision (ctrl-t to change the deployment's source)");
    let effects = dash.keys("<ctrl-t>");
    let changes_source = |effects: &[Effect]| {
        let found = effects.iter().find_map(plane_plan);
        found.is_some_and(|(_, _, intent)| {
            matches!(intent, Intent::Rollback { changes_source, .. } if changes_source)
        })
    };
    assert!(changes_source(&effects), "{effects:?}");
    planned(&mut dash, &effects);
    dash.shows("(ctrl-t to redeploy the revision)");
}

#[test]
fn changed_target_is_previewed_again() {
    let (mut dash, first) = deletion((100, 30));
    dash.keys("support-b");
    assert_eq!(checked(&mut dash), first);
    let stale = dash.error("eu", Kind::Stale);
    let effects = dash.done(EffectResult::TargetChecked(first, Err(stale.clone())));
    assert!(effects.contains(&Effect::Forget(first)), "{effects:?}");
    let second = planned(&mut dash, &effects);
    dash.later(3000);
    dash.feed(Msg::Tick);
    dash.shows("The deployment changed (noticed 3s ago). Review again.");
    dash.lacks("support-b<");
    // The name has to be typed again. A change that is seen only when the request is sent is previewed again, too.
    assert!(sent(&dash.keys("ot<ctrl-s>")).is_empty());
    dash.keys("<Backspace><Backspace>support-bot");
    assert_eq!(sent(&dash.keys("<ctrl-s>")), [second]);
    let effects = dash.done(EffectResult::Sent(second, Sent::Record(Err(stale))));
    planned(&mut dash, &effects);
    dash.shows(["(noticed 0s ago). Review again.", "Type support-bot"]);
}

#[test]
fn secrets_that_are_sent_again_are_one_line() {
    use runtail_core::model::{Change, NewRevision};
    let (mut dash, number) = deletion((100, 40));
    let secret = |name: &str| json!({"name": name, "value": "***"});
    let mut update = preview(&Intent::DeleteDeployment {
        id: "d".into(),
        delete_tracing_project: false,
        force: false,
    });
    update.request.method = "PATCH".into();
    update.request.body = Some(json!({"secrets": [secret("A"), secret("B"), secret("NEW")]}));
    update.revision = NewRevision::Yes("secrets are sent".into());
    let change = |name: &str, before: Option<&str>, after: Option<&str>| Change {
        path: format!("secrets[{name}]"),
        before: before.map(Into::into),
        after: after.map(Into::into),
    };
    update.changes = vec![
        change("NEW", None, Some("***")),
        change("OLD", Some("***"), None),
    ];
    dash.done(previewed(number, update.clone()));
    let line = "= secrets: 2 unchanged, sent again: an update replaces all";
    dash.shows(line);
    // A new record has no secrets that are sent again.
    update.request.method = "POST".into();
    dash.done(previewed(number, update));
    dash.lacks("sent again");
}

#[test]
fn held_ctrl_s_does_not_send_a_new_plan() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("<Tab>R");
    assert!(
        sent(&dash.keys("<ctrl-s>")).is_empty(),
        "no plan has arrived yet"
    );
    let number = planned(&mut dash, &effects);
    for _ in 0..100 {
        dash.later(30);
        assert!(sent(&dash.keys("<ctrl-s>")).is_empty());
    }
    dash.later(1000);
    assert_eq!(sent(&dash.keys("<ctrl-s>")), [number]);
}

#[test]
fn changes_are_sent_only_after_their_preview_was_shown() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("<Tab>R");
    let number = planned(&mut dash, &effects);
    // The key was typed before the preview was drawn.
    assert_eq!(dash.typed_ahead("<ctrl-s>"), []);
    dash.later(2000);
    dash.resize(50, 10);
    dash.shows("too small");
    assert!(sent(&dash.keys("<ctrl-s>")).is_empty());
    dash.later(2000);
    dash.resize(100, 30);
    assert_eq!(sent(&dash.keys("<ctrl-s>")), [number]);
}

#[test]
fn a_change_is_not_sent_once_its_profile_is_read_only() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("<Tab>R");
    planned(&mut dash, &effects);
    dash.seal();
    assert!(sent(&dash.keys("<ctrl-s>")).is_empty());
    dash.told("read-only");
}

/// A deployment whose document is loaded for the editor.
fn document(profile: &str, id: &str) -> Described {
    Described::Deployment(profile.into(), id.into(), "support-bot".into())
}

/// The loaded document of a deployment.
fn written(profile: &str, id: &str) -> EffectResult {
    let document = DeploymentDocument {
        text: "name = \"support-bot\"".into(),
        current: SpecForm::default(),
    };
    EffectResult::Written(
        profile.into(),
        id.into(),
        "support-bot".into(),
        Ok(document),
    )
}

#[test]
fn the_result_of_a_change_does_not_close_an_editor_above_its_preview() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("<Tab>R");
    let number = planned(&mut dash, &effects);
    assert_eq!(sent(&dash.keys("<ctrl-s>")), [number]);
    dash.expect_record(document("prod-us", "d2"));
    dash.done(written("prod-us", "d2"));
    assert_eq!(dash.dialogs(), [Dialog::Confirm, Dialog::Edit]);
    let made = Sent::Record(Ok(Applied::default()));
    dash.done(EffectResult::Sent(number, made));
    assert_eq!(dash.dialogs(), [Dialog::Edit]);
}

#[test]
fn a_document_that_is_no_longer_awaited_is_not_opened() {
    let mut dash = demo_like((100, 30));
    dash.expect_record(document("prod-us", "d2"));
    for (profile, id, is_opened) in [("prod-eu", "d1", false), ("prod-us", "d2", true)] {
        dash.done(written(profile, id));
        assert_eq!(dash.has_dialog(Dialog::Edit), is_opened);
    }
}

#[test]
fn deletion_target_is_fixed_when_the_dialog_opens() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("D");
    let Some((_, profile, intent)) = effects.iter().find_map(plane_plan) else {
        panic!()
    };
    planned(&mut dash, &effects);
    // The list is replaced by one with another deployment.
    let other = serde_json::from_value(json!([{"id": "another", "name": "another"}])).unwrap();
    dash.answer(
        |k| *k == SubscriptionId::Deployments(profile.clone()),
        dash::listed(other),
    );
    dash.keys("support-bot");
    let confirm = dash.preview().expect("a preview");
    assert_eq!(
        (&confirm.profile, &confirm.one().proposal),
        (&profile, &Proposal::Service(intent))
    );
    assert!(confirm.may_be_sent());
}

#[test]
fn closed_dialogs_send_nothing_and_ignore_late_plans() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("D");
    dash.keys("<Esc>");
    let Some((number, _, intent)) = effects.iter().find_map(plane_plan) else {
        panic!()
    };
    let after = dash.done(previewed(number, preview(&intent)));
    assert_eq!(
        after,
        [Effect::Forget(number)],
        "the request may contain secrets, so it is dropped"
    );
    assert!(dash.dialog().is_none());
    // Closed after the plan arrived.
    let effects = dash.keys("D");
    let number = planned(&mut dash, &effects);
    assert_eq!(dash.keys("<Esc>"), [Effect::Forget(number)]);
    dash.shows("Nothing was sent.");
}

#[test]
fn commands_over_a_dialog_drop_the_change_and_keep_the_draft() {
    let mut dash = demo_like((100, 30));
    dash.keys("a");
    assert!(dash.has_dialog(Dialog::Edit));
    dash.keys("<Right><ctrl-t># mine<Enter>");
    let effects = dash.keys("<ctrl-r>");
    let number = planned(&mut dash, &effects);
    assert_eq!(dash.keys(":deployments<Enter>"), [Effect::Forget(number)]);
    assert!(dash.dialog().is_none());
    dash.keys("a<ctrl-t>");
    dash.shows("# mine");
}

#[test]
fn failed_plans_are_explained() {
    let mut dash = demo_like((100, 30));
    for (error, word) in [
        (
            PlanError::Unfit("the revision is DEPLOYED already".into()),
            "DEPLOYED already",
        ),
        (
            PlanError::Wrong(vec!["name: no".into(), "secrets: PORT is reserved".into()]),
            "PORT is reserved",
        ),
        (
            PlanError::Nothing("all is as it should be".into()),
            "No changes.",
        ),
        (
            PlanError::Asked(dash.error("prod-eu", Kind::NotFound)),
            "404",
        ),
    ] {
        let effects = dash.keys("D");
        let Some(Effect::Plan(number, ..)) = effects.first() else {
            panic!("{effects:?}")
        };
        dash.done(EffectResult::Planned(*number, Err(error)));
        dash.shows(word);
        dash.shows("Nothing was sent");
        // No key is offered that would do nothing.
        dash.lacks("ctrl-s");
        assert!(sent(&dash.keys("<ctrl-s><Esc>")).is_empty());
    }
}

#[test]
fn new_revision_of_a_change_is_watched() {
    let mut dash = demo();
    dash.keys("<Tab>");
    let effects = dash.keys("R");
    let number = planned(&mut dash, &effects);
    assert_eq!(sent(&dash.keys("<ctrl-s>")), [number]);
    let of = RevisionRef {
        profile: "prod-eu".into(),
        deployment: "d1".into(),
        revision: "made-1".into(),
    };
    let made = Applied {
        said: "Redeploy support-bot: done.".into(),
        revision: Some(of.clone()),
        ..Applied::default()
    };
    dash.done(EffectResult::Sent(number, Sent::Record(Ok(made))));
    assert!(dash.dialog().is_none());
    assert!(dash.watches().contains(&&of));
    dash.shows("Watching ");
    // One notice says both.
    let notices = dash.notices();
    assert_eq!(
        notices
            .iter()
            .filter(|text| text.contains("Watching"))
            .count(),
        1,
        "{notices:?}"
    );
    assert!(dash.wants(|key| *key == SubscriptionId::Watch(of.clone())));
}

#[test]
fn deletion_is_tracked_until_finished() {
    let mut dash = demo();
    let id = "d1";
    let key = (
        std::sync::Arc::<str>::from("prod-eu"),
        std::sync::Arc::<str>::from(id),
    );
    let made = Applied {
        said: "Delete: done.".into(),
        revision: None,
        deleting: Some((key.0.clone(), key.1.clone(), "support-bot".into())),
    };
    dash.done(EffectResult::Sent(9, Sent::Record(Ok(made))));
    let is = |k: &SubscriptionId| *k == SubscriptionId::Deletion(key.0.clone(), key.1.clone());
    let record =
        serde_json::from_value(json!({"id": id, "status": "AWAITING_FINAL_DELETE"})).unwrap();
    let next = NextPoll::At(dash.now);
    dash.answer(is, SubscriptionEvent::Deleting(Ok(record), next));
    dash.shows("deleting");
    let error = dash.error(&key.0, Kind::NotFound);
    dash.answer(
        is,
        SubscriptionEvent::Deleting(Err(error), NextPoll::Stopped),
    );
    dash.shows("is deleted");
    assert!(!dash.wants(is));
}

#[test]
fn expired_key_is_reported_and_nothing_is_resent() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys("D");
    let number = planned(&mut dash, &effects);
    assert_eq!(sent(&dash.keys("support-bot<ctrl-s>")), [number]);
    let error = dash.error("prod-eu", Kind::Unauthorized);
    dash.done(EffectResult::Sent(number, Sent::Record(Err(error))));
    let confirm = dash.preview().expect("a preview");
    assert!(matches!(
        &confirm.one().stage,
        Stage::Failed(
            _,
            ApiError {
                kind: Kind::Unauthorized,
                ..
            }
        )
    ));
    assert!(sent(&dash.keys("<ctrl-s>")).is_empty());
    assert!(dash.is_halted("prod-eu"), "no more requests use the key");
}

#[test]
fn journal_lists_requests_and_copies_them_as_curl() {
    let mut dash = demo_like((100, 30));
    let effects = dash.keys(":journal<Enter>");
    assert_eq!(effects, [Effect::ReadJournal]);
    let entry = |method: &str, outcome: Outcome| SentRequest {
        title: if method == "PATCH" {
            "Roll back invoice-agent".into()
        } else {
            String::new()
        },
        at: "2026-11-21T13:59:00Z".parse().unwrap(),
        place: runtail_api::Place {
            method: method.into(),
            path: "/v2/deployments/1".into(),
            profile: "prod-eu".into(),
            ..Default::default()
        },
        request: PlainRequest {
            method: method.into(),
            url: "https://h/v2/deployments/1".into(),
            headers: vec![("x-api-key".into(), "$KEY".into())],
            body: Some(json!({"secrets": [{"name": "A", "value": "***"}]})),
        },
        outcome,
        took: std::time::Duration::from_millis(312),
    };
    let entries = vec![
        entry("PATCH", Outcome::Status(200)),
        entry("DELETE", Outcome::Status(404)),
        entry("POST", Outcome::NoAnswer("the connection was reset".into())),
    ];
    dash.done(EffectResult::Journal(entries));
    insta::assert_snapshot!("journal_100x30", dash.screen());
    dash.keys("j<Enter>");
    insta::assert_snapshot!("journal_entry_100x30", dash.screen());
    let Some(Effect::Copy(curl)) = dash.keys("C").pop() else {
        panic!()
    };
    curl.has(["\n# curl -sS", "-X DELETE", "x-api-key: $KEY"]);
}

#[test]
fn a_result_for_a_closed_page_changes_nothing() {
    let mut dash = demo_like((100, 30));
    dash.command("journal");
    let late = dash.done_msg(EffectResult::Journal(Vec::new()));
    dash.keys("<Esc>");
    dash.command("journal");
    let loading = dash.screen();
    dash.feed(late);
    assert_eq!(dash.screen(), loading);
    dash.done(EffectResult::Journal(Vec::new()));
    assert_ne!(dash.screen(), loading);
}

#[test]
fn palette_completes_and_rejects_commands() {
    let mut dash = demo_like((100, 30));
    dash.keys(":re");
    insta::assert_snapshot!("palette_100x30", dash.screen());
    dash.keys("<ctrl-u>jo<Tab>");
    dash.shows("> journal");
    dash.keys("<ctrl-u>nonsense<Enter>");
    dash.shows("No action matches");
    dash.keys("<Esc>");
    assert!(dash.dialog().is_none());
}

#[test]
fn dialogs_label_production_profiles() {
    let dialog = |profile: &str, size| {
        let text = format!(
            "[profiles.{profile}]\nurl = \"https://ls.example.com\"\nlabel = \"PRODUCTION\"\n"
        );
        let mut dash = Dash::new(&text, size);
        dash.each_profile(|profile| profile.read_only = false); // as with --write
        let rows = serde_json::from_value(json!([{"id": "d", "name": "support-bot"}])).unwrap();
        dash.answer(
            |k| matches!(k, SubscriptionId::Deployments(_)),
            dash::listed(rows),
        );
        let effects = dash.keys("D");
        planned(&mut dash, &effects);
        dash
    };
    insta::assert_snapshot!("delete_production_80x24", dialog("p", (80, 24)).screen());
    // On a small screen the profile is still named and the hidden lines are counted.
    let mut dash = dialog("production-in-frankfurt", (60, 12));
    dash.shows(["production-in-frankfurt ‹PRODUCTION›", "more lines below"]);
    dash.keys("<End>");
    dash.lacks("below");
    dash.keys("<PageDown>");
    dash.shows("Type support-bot");
}
