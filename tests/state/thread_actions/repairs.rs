//! The card that explains a thread: its keys open previews, and only a confirmation sends.

use super::*;
use runtail_api::{ServerInfo, ServerKind, StartFailure, WriteKind, Written};
use runtail_testkit::dash::{Dialog, demo};
use runtail_testkit::says::Says;
use runtail_tui::session::subject::Subject;

fn runs_of(assistants: &[&str]) -> Value {
    let runs = assistants.iter().enumerate().map(|(n, id)| {
        let mut run = run(&format!("r{n}"), "success");
        (run["assistant_id"], run["created_at"]) =
            (json!(id), json!(format!("2026-11-21T13:53:{:02}Z", 59 - n)));
        run
    });
    Value::Array(runs.collect())
}

fn stuck() -> Records {
    after_run("busy", "finished-state", "success")
}

#[test]
fn the_card_calls_a_run_that_stopped_early_paused() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("e");
    dash.shows("run      r1 · paused (server: success)");
    // A run that finished has nothing to add.
    let mut dash = page((140, 40), &after_run("idle", "finished-state", "success"));
    dash.keys("e");
    dash.shows("run      r1 · success ");
}

/// Opens the card and presses a key.
fn on_card(dash: &mut Dash, key: &str) -> Vec<Effect> {
    dash.keys("e");
    assert!(dash.has_dialog(Dialog::Why));
    dash.keys(key)
}

fn sends(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::Send(..) | Effect::StartRun(..)))
}

#[test]
fn a_stuck_thread_is_released_after_a_preview() {
    for key in ["<Enter>", "U"] {
        let mut dash = page((140, 40), &stuck());
        let effects = on_card(&mut dash, key);
        assert!(!sends(&effects));
        let (number, intent) = planned(&effects).expect("a plan");
        assert_eq!(
            intent,
            ThreadIntent::Release {
                thread: THREAD.into()
            }
        );
        assert!(!sends(&dash.keys("<ctrl-s>")), "there is no preview yet");
        dash.later(2000);
        preview_of(&mut dash, number, "Release thread 01a1fbb5…9775");
        assert!(!sends(&dash.keys("<Enter>y")));
        assert_eq!(
            dash.keys("<ctrl-s>"),
            [Effect::Send(
                number,
                thread().server.profile,
                Some(thread())
            )]
        );
        assert!(!sends(&dash.keys("<ctrl-s>")), "it is sent once");
        let written = |status: &str| {
            Acted::Written(Written {
                kind: WriteKind::Release,
                checkpoint: Some("c2".into()),
                status: Some(status.into()),
            })
        };
        acted(&mut dash, number, Ok(written("idle")));
        dash.says("Released the thread; status: idle.");
        assert!(dash.dialog().is_none() && dash.is_read_again());
        acted(&mut dash, number, Ok(written("busy")));
        let expected =
            "Update accepted, but the thread is still busy. n starts a run, which releases it.";
        assert_eq!(dash.newest_notice(), expected);
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
        assert_eq!(
            intent,
            ThreadIntent::End {
                thread: THREAD.into()
            },
            "{case}"
        );
        preview_of(&mut dash, number, "End thread 01a1fbb5…9775");
        assert_eq!(
            dash.keys("<ctrl-s>"),
            [Effect::Send(
                number,
                thread().server.profile,
                Some(thread())
            )]
        );
        let ended = Written {
            kind: WriteKind::End,
            checkpoint: None,
            status: Some("interrupted".into()),
        };
        acted(&mut dash, number, Ok(Acted::Written(ended)));
        dash.told("the server still lists it as interrupted.");
    }
    // A run that is active is cancelled, and where nothing is left to run there is nothing to end.
    let running = records("busy", "finished-state", json!([run(RUN, "running")]));
    let (_, intent) = planned(&on_card(&mut page((140, 40), &running), "x")).expect("a plan");
    assert!(matches!(intent, ThreadIntent::Cancel { .. }), "{intent:?}");
    let mut dash = page((140, 40), &after_run("idle", "finished-state", "success"));
    dash.keys("e");
    dash.lacks("end the thread");
}

#[test]
fn a_run_of_another_assistant_is_shown_and_can_be_repaired() {
    let mut dash = page(
        (140, 40),
        &records(
            "idle",
            "finished-state",
            runs_of(&["a-other", "a-support", "a-support"]),
        ),
    );
    dash.keys("e");
    dash.shows("z run the earlier assistant from its newest checkpoint");
    let (_, intent) = planned(&dash.keys("z")).expect("a plan");
    assert_eq!(
        intent,
        ThreadIntent::RestoreAssistant {
            thread: THREAD.into()
        }
    );
    let mut dash = page(
        (140, 40),
        &records(
            "idle",
            "finished-state",
            runs_of(&["a-support", "a-support"]),
        ),
    );
    dash.keys("e");
    dash.lacks("earlier assistant");
}

/// Opens the card of a thread of a server of this kind.
fn card_of(kind: ServerKind, records: &Records) -> Dash {
    let mut dash = page((140, 40), records);
    let info = ServerInfo {
        kind,
        version: "1".into(),
        raw: Value::Null,
    };
    dash.done(EffectResult::Info(thread().server, Ok(info)));
    dash.keys("e");
    dash
}

#[test]
fn banner_and_footer_offer_only_what_the_server_can_do() {
    let breakpoint = || after_run("interrupted", "breakpoint", "success");
    let failed = || after_run("error", "failed", "error");
    for (kind, records, offered, hidden) in [
        (ServerKind::Python, breakpoint(), "a continue", "n new run"),
        (
            ServerKind::EarlyAegra,
            breakpoint(),
            "n new run",
            "continue",
        ),
        (ServerKind::Python, failed(), "R retry", "R run again"),
        (ServerKind::EarlyAegra, failed(), "R run again", "R retry"),
    ] {
        let mut dash = card_of(kind, &records);
        dash.keys("<Esc>");
        let screen = dash.screen();
        let footer = screen.lines().last().unwrap_or_default();
        assert!(footer.contains(offered), "{kind:?}: {offered}: {screen}");
        dash.lacks(hidden);
    }
}

#[test]
fn only_actions_that_the_server_offers_are_listed() {
    let next = |case: &str| after_run("interrupted", case, "success");
    let failed = || after_run("error", "failed", "error");
    for (kind, records, offered, hidden) in [
        (
            ServerKind::Python,
            stuck(),
            vec!["U release: an empty", "⏎ release"],
            vec![],
        ),
        (
            ServerKind::JavaScript,
            stuck(),
            vec!["n new run: also releases it", "⏎ new run"],
            vec!["U release"],
        ),
        (
            ServerKind::EarlyAegra,
            stuck(),
            vec!["n new run: also releases it"],
            vec!["U release"],
        ),
        (
            ServerKind::Python,
            next("breakpoint"),
            vec!["a continue: runs", "x end the thread"],
            vec!["can't continue"],
        ),
        (
            ServerKind::JavaScript,
            next("breakpoint"),
            vec!["a continue: runs", "x end the thread"],
            vec![],
        ),
        (
            ServerKind::EarlyAegra,
            next("breakpoint"),
            vec![
                "This server can't continue: each run needs an input.",
                "n new run",
            ],
            vec!["a continue", "x end the thread"],
        ),
        (
            ServerKind::EarlyAegra,
            next("question"),
            vec!["a answer", "n new run"],
            vec!["x end the thread"],
        ),
        (
            ServerKind::Python,
            failed(),
            vec!["R retry"],
            vec!["can't retry"],
        ),
        (
            ServerKind::EarlyAegra,
            failed(),
            vec!["R rerun the last input", "can't retry steps"],
            vec!["R retry"],
        ),
    ] {
        let screen = card_of(kind, &records).words();
        offered
            .iter()
            .for_each(|words| assert!(screen.contains(words), "{kind:?} {words}: {screen}"));
        hidden
            .iter()
            .for_each(|words| assert!(!screen.contains(words), "{kind:?} {words}: {screen}"));
    }
    // The recommended action is one that is offered.
    let effects = card_of(ServerKind::JavaScript, &stuck()).keys("<Enter>");
    assert!(planned(&effects).is_none(), "{effects:?}");
    let rejected = after_run("error", "poisoned", "error");
    assert!(
        card_of(ServerKind::Python, &rejected)
            .screen()
            .contains("R ask again")
    );
    let screen = card_of(ServerKind::EarlyAegra, &rejected).screen();
    screen.lacks(["R ask again", "R run"]);
}

#[test]
fn a_server_with_only_the_contracts_calls_offers_what_it_has() {
    let with_parts = |loaded: &dyn Fn(SnapshotPart) -> Loaded| {
        let mut dash = demo();
        dash.open_thread();
        let parts = [
            SnapshotPart::Thread,
            SnapshotPart::State,
            SnapshotPart::Runs,
            SnapshotPart::History,
        ];
        let parts = parts.into_iter().map(|part| (part, loaded(part))).collect();
        let seq = dash.newest_event().next();
        let event = ThreadSnapshot {
            at: dash.now,
            parts,
        }
        .into_event(seq);
        dash.items(vec![Item::Record(Record::Event(event))]);
        dash.keys("e");
        dash
    };
    let screen = with_parts(&|_| Loaded::NotOffered).words();
    screen.has("thread, state, history, runs: not offered");
    screen.has("n new run");
    screen.lacks("d details");
    // Nothing can be done with a deleted thread, so the footer has no key for the first action.
    let mut deleted = with_parts(&|_| Loaded::Failed("404: thread not found".into()));
    deleted.lacks("⏎");
    assert!(deleted.keys("<Enter>").is_empty() && deleted.has_dialog(Dialog::Why));
}

#[test]
fn a_paused_thread_can_be_edited_or_run_again_from_an_earlier_step() {
    let mut dash = page((140, 40), &waiting("breakpoint"));
    dash.keys("e");
    let screen = dash.screen();
    let actions = [
        "a continue: runs second",
        "u edit state, then continue",
        "2 run from an earlier step",
    ];
    let rows = actions.map(|action| screen.lines().position(|line| line.contains(action)));
    assert!(rows.iter().all(Option::is_some) && rows.is_sorted());
    // `2` shows the steps; `u` also opens the state of the newest one, once it is loaded.
    dash.keys("2");
    assert!(dash.dialog().is_none());
    dash.shows("Loading the history");
    let mut dash = page((140, 40), &waiting("breakpoint"));
    on_card(&mut dash, "u");
    dash.says("Loading the state…");
    // The state may arrive before the history, which shows that it is the newest.
    crate::steps::serve_states(&mut dash, &[waiting("breakpoint").state]);
    let editor = dash.editor();
    assert!(
        matches!(&editor.subject, Subject::State { is_head: true, .. }),
        "{:?}",
        editor.subject
    );
    dash.lacks("Loading the state");
}

#[test]
fn an_answer_that_the_server_keeps_is_shown_with_what_is_wrong_with_it() {
    let resumed = |value: Value| {
        let mut run = run("r1", "error");
        run["kwargs"] = json!({"command": {"resume": value}});
        let mut dash = page((80, 24), &records("error", "poisoned", json!([run])));
        dash.keys("e");
        dash
    };
    let one = json!({"decisions": [{"type": "approve"}]});
    let mut by_id = resumed(json!({"698663bf1fb603bd105ce36ea3bf3a3b": one}));
    for dash in [&mut resumed(one), &mut by_id] {
        dash.reads("✗ the answer broke the question, ");
        dash.reads(r#"sent {"decisions":[{"type":"approve"}]}"#);
        dash.reads("must have 3 decisions, one for each action, and has 1");
    }
    insta::assert_snapshot!("why_answer_refused_80x24", by_id.screen());
    // An answer of the right form doesn't explain the failure.
    let three = json!({"decisions": [{"type": "approve"}, {"type": "approve"}, {"type": "respond", "message": "Monday"}]});
    let screen = resumed(three).words();
    screen.has("It failed with the answer.");
    screen.lacks("broke the question");
}

#[test]
fn the_copy_of_a_waiting_thread_can_be_answered() {
    let mut dash = page((140, 40), &records("idle", "question", json!([])));
    dash.shows("waiting for you");
    dash.keys("e");
    dash.reads("It's a copy, so the server lists it as idle");
    assert!(dash.keys("<Enter>").is_empty());
    assert!(dash.has_dialog(Dialog::Answer));
}

#[test]
fn a_run_that_reached_its_limit_continues_with_a_higher_one() {
    let mut limited = after_run("error", "finished-state", "error");
    limited.runs[0]["kwargs"] = json!({"input": {"n": 1}, "config": {"recursion_limit": 5}});
    limited.state["next"] = json!(["chat"]);
    limited.state["tasks"] =
        json!([{"id": "t", "name": "chat", "error": null, "interrupts": [], "result": null}]);
    limited.state["metadata"] = json!({"source": "loop", "step": 5, "run_id": "r1"});
    // JavaScript's records have no error.
    let mut dash = card_of(ServerKind::JavaScript, &limited);
    dash.reads("most likely reached its limit of 5 steps");
    dash.reads("R continue (limit 10)");
    let (_, intent) = planned(&dash.keys("<Enter>")).expect("a plan");
    assert_eq!(
        intent,
        ThreadIntent::Again {
            thread: THREAD.into(),
            recursion_limit: None
        }
    );
    let message = "Recursion limit of 5 reached without hitting a stop condition.";
    limited.thread["error"] = json!({"error": "GraphRecursionError", "message": message});
    let screen = card_of(ServerKind::Python, &limited).words();
    screen.has("Run 1 reached its limit of 5 steps; finished steps are saved.");
    screen.has("R continue (limit 10)");
}

#[test]
fn both_requests_of_an_edit_are_shown_and_half_a_change_is_reported() {
    let mut dash = page((140, 40), &stuck());
    let (number, _) = planned(&on_card(&mut dash, "U")).expect("a plan");
    let mut preview = preview(
        "Run again from step 1 of thread t after an edit",
        Consent::Key,
    );
    preview.request.body = Some(json!({"values": {"log": ["x"]}}));
    let body = json!({"input": null, "checkpoint_id": runtail_core::model::FROM_FIRST});
    preview.then = vec![PlainRequest {
        body: Some(body),
        ..preview.request.clone()
    }];
    let curl = preview.curl();
    assert_eq!(curl.matches("curl -sS").count(), 2);
    assert!(
        curl.lines()
            .skip_while(|line| !line.starts_with("# Then"))
            .all(|line| line.starts_with('#')),
        "{curl}"
    );
    dash.done(EffectResult::Planned(number, Ok((preview, None))));
    let screen = dash.screen();
    dash.shows(["Requests     1  POST", "(from 1)"]);
    assert!(
        screen
            .lines()
            .any(|line| line.trim_start_matches(['│', ' ']).starts_with("2  POST"))
    );
    dash.keys("<ctrl-s>");
    acted(
        &mut dash,
        number,
        Err(failed(StartFailure::AfterEdit, Kind::Conflict)),
    );
    dash.shows("Only a part was done.");
}

#[test]
fn nothing_is_opened_while_an_action_has_no_result() {
    let mut dash = page((140, 40), &stuck());
    let (number, _) = planned(&on_card(&mut dash, "U")).expect("a plan");
    preview_of(&mut dash, number, "Release thread");
    dash.screen();
    assert!(sends(&dash.keys("<ctrl-s>")));
    // Closing the dialog doesn't recall the request: the server may still receive it.
    dash.keys("<Esc>");
    for key in ["U", "x"] {
        assert!(planned(&on_card(&mut dash, key)).is_none(), "{key}");
        dash.told("has no result yet");
        dash.keys("<Esc>");
    }
    acted(
        &mut dash,
        number,
        Err(failed(StartFailure::Refused, Kind::Conflict)),
    );
    assert!(planned(&on_card(&mut dash, "U")).is_some());
}

#[test]
fn a_sent_answer_can_not_be_sent_again_before_its_result() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("A");
    dash.screen();
    let (number, _) = started(&dash.keys("<ctrl-s>")).expect("a sent answer");
    dash.keys("<Esc>");
    assert!(dash.keys("A").is_empty() && dash.dialog().is_none());
    dash.told("has no result yet");
    acted(
        &mut dash,
        number,
        Err(failed(StartFailure::Busy, Kind::Conflict)),
    );
    dash.keys("A");
    assert!(dash.has_dialog(Dialog::Answer));
}

#[test]
fn the_explanation_of_a_thread_is_centered_on_a_wide_screen() {
    for width in [140, 81] {
        let mut dash = page((width, 30), &waiting("question-hitl"));
        dash.keys("e");
        insta::assert_snapshot!(format!("why_{width}x30"), dash.screen());
    }
}
