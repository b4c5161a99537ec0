//! The card that explains a thread: its keys open previews, and only a confirmation sends.

use super::*;
use runtail_api::{StartFailure, WriteKind, Written};

fn runs_of(assistants: &[&str]) -> Value {
    let runs = assistants.iter().enumerate().map(|(n, id)| {
        let mut run = run(&format!("r{n}"), "success");
        (run["assistant_id"], run["created_at"]) = (json!(id), json!(format!("2026-11-21T13:53:{:02}Z", 59 - n)));
        run
    });
    Value::Array(runs.collect())
}

fn stuck() -> Records {
    records("busy", "finished-state", json!([run("r1", "success")]))
}

/// Opens the card and presses a key.
fn on_card(dash: &mut Dash, key: &str) -> Vec<Effect> {
    dash.keys("e");
    assert!(matches!(dash.app.overlays.last(), Some(Overlay::Why(_))), "{}", dash.screen());
    dash.keys(key)
}

fn sends(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Act(..) | Effect::StartRun(..)))
}

#[test]
fn a_stuck_thread_is_released_after_a_preview() {
    for key in ["<Enter>", "U"] {
        let mut dash = page((140, 40), &stuck());
        let effects = on_card(&mut dash, key);
        assert!(!sends(&effects));
        let (number, intent) = planned(&effects).expect("a plan");
        assert_eq!(intent, ThreadIntent::Release { thread: THREAD.into() });
        assert!(!sends(&dash.keys("<ctrl-s>")), "there is no preview yet");
        dash.later(2000);
        dash.done(EffectResult::PlannedAction(
            number,
            Ok((preview("Release thread 01a1fbb5…9775", Consent::Key), None)),
        ));
        assert!(!sends(&dash.keys("<Enter>y")));
        assert_eq!(dash.keys("<ctrl-s>"), [Effect::Act(number, thread())]);
        assert!(!sends(&dash.keys("<ctrl-s>")), "it is sent once");
        let written = |status: &str| {
            Acted::Written(Written {
                kind: WriteKind::Release,
                checkpoint: Some("c2".into()),
                status: Some(status.into()),
            })
        };
        dash.done(EffectResult::Acted(number, thread(), Ok(written("idle"))));
        assert_eq!(last_notice(&dash), "The thread was released. Its status is idle.");
        assert!(dash.app.overlays.is_empty() && dash.app.viewer().unwrap().refreshes > 0);
        dash.done(EffectResult::Acted(number, thread(), Ok(written("busy"))));
        let expected =
            "The server accepted the update, but the thread is still busy. n starts a run, which also releases it.";
        assert_eq!(last_notice(&dash), expected);
    }
    let mut dash = page((80, 24), &stuck());
    dash.keys("e");
    insta::assert_snapshot!("why_stuck_80x24", dash.screen());
}

#[test]
fn the_key_that_cancels_a_run_ends_a_thread_that_stopped() {
    for case in ["question", "breakpoint"] {
        let mut dash = page((140, 40), &waiting(case));
        let (number, intent) = planned(&on_card(&mut dash, "x")).expect("a plan");
        assert_eq!(intent, ThreadIntent::End { thread: THREAD.into() }, "{case}");
        dash.done(EffectResult::PlannedAction(number, Ok((preview("End thread 01a1fbb5…9775", Consent::Key), None))));
        assert_eq!(dash.keys("<ctrl-s>"), [Effect::Act(number, thread())]);
        let ended = Written { kind: WriteKind::End, checkpoint: None, status: Some("interrupted".into()) };
        dash.done(EffectResult::Acted(number, thread(), Ok(Acted::Written(ended))));
        assert!(last_notice(&dash).contains("The server still lists it as interrupted."), "{}", last_notice(&dash));
    }
    // A run that is active is cancelled, and where nothing is left to run there is nothing to end.
    let running = records("busy", "finished-state", json!([run(RUN, "running")]));
    let (_, intent) = planned(&on_card(&mut page((140, 40), &running), "x")).expect("a plan");
    assert!(matches!(intent, ThreadIntent::Cancel { .. }), "{intent:?}");
    let mut dash = page((140, 40), &records("idle", "finished-state", json!([run("r1", "success")])));
    dash.keys("e");
    assert!(!dash.screen().contains("end the thread"), "{}", dash.screen());
}

#[test]
fn a_run_of_another_assistant_is_shown_and_can_be_repaired() {
    let mut dash = page((140, 40), &records("idle", "finished-state", runs_of(&["a-other", "a-support", "a-support"])));
    dash.keys("e");
    let screen = dash.screen();
    assert!(screen.contains("B run the earlier assistant again, from its newest checkpoint"), "{screen}");
    let (_, intent) = planned(&dash.keys("B")).expect("a plan");
    assert_eq!(intent, ThreadIntent::RestoreAssistant { thread: THREAD.into() });
    let mut dash = page((140, 40), &records("idle", "finished-state", runs_of(&["a-support", "a-support"])));
    dash.keys("e");
    assert!(!dash.screen().contains("earlier assistant"), "{}", dash.screen());
}

#[test]
fn read_only_profiles_are_not_repaired() {
    for records in [stuck(), waiting("question"), records("idle", "finished-state", runs_of(&["b", "a"]))] {
        for key in ["<Enter>", "U", "B", "x"] {
            let mut dash = page((140, 40), &records);
            dash.seal();
            let effects = on_card(&mut dash, key);
            assert!(planned(&effects).is_none() && !sends(&effects), "{key}: {effects:?}");
            assert!(!dash.app.overlays.iter().any(|overlay| matches!(overlay, Overlay::Confirm(_))), "{key}");
        }
    }
}

#[test]
fn both_requests_of_an_edit_are_shown_and_half_a_change_is_reported() {
    let mut dash = page((140, 40), &stuck());
    let (number, _) = planned(&on_card(&mut dash, "U")).expect("a plan");
    let mut preview = preview("Edit step 1 and run again", Consent::Key);
    preview.request.body = Some(json!({"values": {"log": ["x"]}}));
    let body = json!({"input": null, "checkpoint_id": runtail_core::model::FROM_FIRST});
    preview.then = Some(PlainRequest { body: Some(body), ..preview.request.clone() });
    let curl = preview.curl();
    assert_eq!(curl.matches("curl -sS").count(), 2);
    assert!(curl.lines().skip_while(|line| !line.starts_with("# Then")).all(|line| line.starts_with('#')), "{curl}");
    dash.done(EffectResult::PlannedAction(number, Ok((preview, None))));
    let screen = dash.screen();
    assert!(screen.contains("Request 1") && screen.contains("Request 2") && screen.contains("(from 1)"), "{screen}");
    dash.keys("<ctrl-s>");
    dash.done(EffectResult::Acted(number, thread(), Err(failed(StartFailure::AfterEdit, Kind::Conflict))));
    assert!(dash.screen().contains("Only the first of two requests was done."), "{}", dash.screen());
}

#[test]
fn nothing_is_opened_while_an_action_has_no_result() {
    let mut dash = page((140, 40), &stuck());
    let (number, _) = planned(&on_card(&mut dash, "U")).expect("a plan");
    dash.done(EffectResult::PlannedAction(number, Ok((preview("Release thread", Consent::Key), None))));
    dash.screen();
    assert!(sends(&dash.keys("<ctrl-s>")));
    // Closing the dialog doesn't recall the request: the server may still receive it.
    dash.keys("<Esc>");
    for key in ["U", "x"] {
        assert!(planned(&on_card(&mut dash, key)).is_none(), "{key}");
        assert!(last_notice(&dash).contains("has no result yet"), "{key}: {}", last_notice(&dash));
        dash.keys("<Esc>");
    }
    dash.done(EffectResult::Acted(number, thread(), Err(failed(StartFailure::Refused, Kind::Conflict))));
    assert!(planned(&on_card(&mut dash, "U")).is_some());
}

#[test]
fn a_sent_answer_can_not_be_sent_again_before_its_result() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("A");
    dash.screen();
    let (number, _) = started(&dash.keys("<ctrl-s>")).expect("a sent answer");
    dash.keys("<Esc>");
    assert!(dash.keys("A").is_empty() && dash.app.overlays.is_empty(), "{}", dash.screen());
    assert!(last_notice(&dash).contains("has no result yet"), "{}", last_notice(&dash));
    dash.done(EffectResult::Acted(number, thread(), Err(failed(StartFailure::Busy, Kind::Conflict))));
    dash.keys("A");
    assert!(matches!(dash.app.overlays.last(), Some(Overlay::Answer(_))), "{}", dash.screen());
}
