//! The lower part of the inbox: what is read of the selected row, and the keys that watch and end its thread.

use crate::inbox::{answer, approval, full, listed, support};
use runtail_api::{Kind, ServerInbox, ServerInfo, ServerKind, ThreadIntent};
use runtail_testkit::dash::{Dash, demo, thread_plan};
use runtail_tui::session::msg::{Effect, EffectResult, InboxTarget, Msg, RowDetail};
use serde_json::Value;

pub(crate) fn read(effects: &[Effect]) -> Option<InboxTarget> {
    effects.iter().find_map(|effect| match effect {
        Effect::ReadRow(of) => Some(of.clone()),
        _ => None,
    })
}

pub(crate) fn tick(dash: &mut Dash, milliseconds: i64) -> Vec<Effect> {
    dash.later(milliseconds);
    dash.feed(Msg::Tick)
}

fn message() -> RowDetail {
    let said = "The invoice matches purchase order 4411. I propose to pay it today.";
    RowDetail {
        title: "last message".into(),
        rows: vec![("ai · draft".into(), said.into())],
        hidden: 0,
    }
}

#[test]
fn the_last_message_of_the_selected_thread_is_shown() {
    for (name, size) in [
        ("inbox_message_140x40", (140, 40)),
        ("inbox_message_80x24", (80, 24)),
    ] {
        let mut dash = full(size);
        dash.keys("i");
        assert_eq!(
            read(&tick(&mut dash, 50)),
            None,
            "the row is not selected for long enough"
        );
        let of = read(&tick(&mut dash, 150)).expect("the row is read");
        assert!(
            matches!(&of, InboxTarget::Thread(thread) if thread.server == support()),
            "{of:?}"
        );
        assert_eq!(read(&tick(&mut dash, 1000)), None, "it is read once");
        dash.done(EffectResult::RowRead(of, Ok(message())));
        insta::assert_snapshot!(name, dash.screen());
    }
}

#[test]
fn a_row_that_was_read_while_the_page_was_reopened_is_shown() {
    let mut dash = full((140, 40));
    dash.keys("i");
    let of = read(&tick(&mut dash, 200)).expect("the row is read");
    dash.keys("<Esc>i");
    dash.done(EffectResult::RowRead(of, Ok(message())));
    dash.shows("The invoice matches purchase order 4411.");
}

#[test]
fn rows_that_are_passed_are_not_read_and_failures_are_named() {
    let mut dash = full((140, 40));
    dash.keys("i");
    for _ in 0..3 {
        dash.keys("<Down>");
        assert_eq!(read(&tick(&mut dash, 100)), None);
    }
    let of = read(&tick(&mut dash, 100)).expect("the row is read");
    let error = dash.error("us", Kind::Timeout);
    dash.done(EffectResult::RowRead(of, Err(error)));
    dash.shows("── couldn't read the details (timeout) ──");
    // A row whose server failed since is not read.
    answer(&mut dash, &support(), Err(Kind::Server(503)));
    dash.keys("<Home>");
    assert_eq!(read(&tick(&mut dash, 500)), None);
}

#[test]
fn the_first_error_of_a_failed_revision_is_in_its_row() {
    let mut dash = demo();
    dash.keys("i");
    let of = read(&tick(&mut dash, 200)).expect("the revision is read");
    assert!(matches!(&of, InboxTarget::Revision(..)), "{of:?}");
    let rows = vec![(
        String::new(),
        "No matching distribution found for pydantic==2.13.9".to_string(),
    )];
    dash.done(EffectResult::RowRead(
        of,
        Ok(RowDetail {
            title: "first error (build log, line 18)".into(),
            rows,
            hidden: 0,
        }),
    ));
    let screen = dash.screen();
    assert_eq!(
        screen.matches("No matching distribution found").count(),
        2,
        "in the list and below it"
    );
    dash.shows("── first error (build log, line 18) ──");
    for key in ["x", "w"] {
        assert!(dash.keys(key).is_empty());
    }
    dash.shows("The revision has failed");
}

#[test]
fn a_watched_thread_is_reported_once_it_no_longer_needs_anyone() {
    let mut dash = full((140, 40));
    assert!(dash.keys("iw").is_empty());
    dash.shows("Watching eu › support-bot › approval 8c21; notifies");
    dash.shows(["· watched", "w don't notify"]);
    let alerts = |effects: &[Effect]| -> Vec<String> {
        let of = |effect: &Effect| match effect {
            Effect::Alert(_, said) => Some(said.clone()),
            _ => None,
        };
        effects.iter().filter_map(of).collect()
    };
    // Neither a failed nor an incomplete answer says that it is settled.
    assert!(alerts(&answer(&mut dash, &support(), Err(Kind::Server(503)))).is_empty());
    let partial = ServerInbox {
        failures: vec![dash.error("eu", Kind::Timeout)],
        ..ServerInbox::default()
    };
    assert!(alerts(&answer(&mut dash, &support(), Ok(partial))).is_empty());
    let row = approval(&dash);
    assert!(alerts(&answer(&mut dash, &support(), listed(vec![row]))).is_empty());
    let said = alerts(&answer(&mut dash, &support(), listed(Vec::new())));
    let expected = "eu › support-bot › approval 8c21 is resolved: answered, continued or ended.";
    assert_eq!(said, [expected]);
    assert!(
        alerts(&answer(&mut dash, &support(), listed(Vec::new()))).is_empty(),
        "it is reported once"
    );
    // The key also stops watching.
    let mut dash = full((140, 40));
    dash.keys("iww");
    assert!(alerts(&answer(&mut dash, &support(), listed(Vec::new()))).is_empty());
}

#[test]
fn a_thread_is_ended_from_the_inbox_after_a_preview() {
    let mut dash = full((140, 40));
    let planned = |effects: &[Effect]| {
        let planned = effects.iter().find_map(thread_plan);
        planned.map(|(_, _, intent)| intent)
    };
    dash.keys("i");
    dash.shows("x end thread");
    let effects = dash.keys("x");
    assert!(
        matches!(planned(&effects), Some(ThreadIntent::End { .. })),
        "{effects:?}"
    );
    assert!(
        !effects
            .iter()
            .any(|effect| matches!(effect, Effect::Send(..)))
    );
    // The row above the last one is stuck.
    dash.keys("<Esc><End><Up>");
    dash.shows("x cancel run");
    assert!(matches!(
        planned(&dash.keys("x")),
        Some(ThreadIntent::Cancel { .. })
    ));
    // Aegra can't end a thread, and a read-only profile sends nothing.
    let mut dash = full((140, 40));
    let info = ServerInfo {
        kind: ServerKind::EarlyAegra,
        version: String::new(),
        raw: Value::Null,
    };
    dash.done(EffectResult::Info(support(), Ok(info)));
    dash.keys("i");
    dash.lacks("x end thread");
    dash.seal();
    assert_eq!(planned(&dash.keys("x")), None);
}
