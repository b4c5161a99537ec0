//! Groups and marks of the inbox, and what is answered or retried with one preview.

use crate::inbox::{answer, dash, listed, support};
use runtail_api::{Acted, PlanError, Started, ThreadIntent};
use runtail_core::model::{Consent, GivenAnswer, InboxCause, InboxThread, Note, Question};
use runtail_testkit::dash::{Dash, thread_plan};
use runtail_testkit::made;
use runtail_tui::session::msg::{Effect, EffectResult, Sent, ServerRef};
use serde_json::json;

fn server(profile: &str, name: &str, port: u16) -> ServerRef {
    ServerRef {
        profile: profile.into(),
        name: name.into(),
        url: format!("http://127.0.0.1:{port}/").into(),
    }
}

fn thread(dash: &Dash, n: usize, minutes: i64) -> InboxThread {
    InboxThread {
        thread_id: format!("01a1fbb5-0000-7000-8000-{n:012}"),
        graph: Some("approval".into()),
        status: "interrupted".into(),
        since: Some(dash.now - jiff::SignedDuration::from_mins(minutes)),
        ..InboxThread::default()
    }
}

fn payment(dash: &Dash, n: usize, asked: &str) -> InboxThread {
    let question = Question {
        id: Some(format!("q{n}")),
        value: json!({"question": asked, "to": format!("Customer {n}")}),
        ..Question::default()
    };
    InboxThread {
        cause: Some(InboxCause::Question),
        questions: vec![question],
        ..thread(dash, n, 60 - n as i64)
    }
}

fn failure(dash: &Dash, n: usize, detail: &str) -> InboxThread {
    InboxThread {
        cause: Some(InboxCause::Error),
        detail: detail.into(),
        ..thread(dash, n, n as i64)
    }
}

const APPROVE: &str = "Approve this payment?";

/// Six payments that wait, and a question of another kind.
fn payments(dash: &Dash) -> Vec<InboxThread> {
    let mut threads: Vec<InboxThread> = (1..7).map(|n| payment(dash, n, APPROVE)).collect();
    threads.push(payment(dash, 7, "Which order is it?"));
    threads
}

fn grouped(size: (u16, u16)) -> Dash {
    let mut dash = dash(size);
    let rows = payments(&dash);
    answer(&mut dash, &support(), listed(rows));
    let limited = |n| {
        failure(
            &dash,
            n,
            &format!("RateLimitError: 429 (request req_{:09})", n * 7919),
        )
    };
    let mut rows: Vec<InboxThread> = (2..40).map(limited).collect();
    rows.push(failure(
        &dash,
        90,
        "UndefinedColumn: column \"vat_id\" does not exist",
    ));
    answer(&mut dash, &server("us", "triage", 2003), listed(rows));
    answer(
        &mut dash,
        &server("us", "invoice-agent", 2002),
        listed(vec![]),
    );
    let rows = vec![payment(&dash, 50, APPROVE)];
    answer(&mut dash, &server("lab", "lab", 2004), listed(rows));
    dash
}

/// Answers the plans of effects, and returns the thread, the question and the number of each.
fn plan(dash: &mut Dash, mut effects: Vec<Effect>) -> Vec<(u64, ThreadIntent)> {
    let mut planned = Vec::new();
    while let Some(effect) = effects.pop() {
        let Some((number, _, intent)) = thread_plan(&effect) else {
            continue;
        };
        let request = made::request(
            "POST",
            &format!("http://x/threads/{}/runs", intent.thread()),
        );
        let mut preview = made::preview("Answer", "eu", request, Consent::Key);
        preview.notes = vec![Note::fact(format!(
            "Question: {APPROVE} · to: {}",
            &intent.thread()[30..]
        ))];
        planned.push((number, intent));
        effects.extend(dash.done(EffectResult::Planned(number, Ok((Box::new(preview), None)))));
    }
    planned.sort_by_key(|(number, _)| *number);
    planned
}

fn sent(effects: &[Effect]) -> Vec<(u64, String)> {
    let of = |effect: &Effect| match effect {
        Effect::Send(number, profile, _) => Some((*number, profile.to_string())),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn equal_causes_are_one_row_with_a_count() {
    for (name, size) in [("groups_140x40", (140, 40)), ("groups_80x24", (80, 24))] {
        let mut dash = grouped(size);
        dash.keys("i");
        insta::assert_snapshot!(name, dash.screen());
    }
    let mut dash = grouped((140, 40));
    // The single question of lab is on another server; the two causes of triage are two rows.
    dash.keys("i");
    dash.shows(["8 waiting, 39 failed", "6 threads", "38 threads"]);
    dash.keys("<Right><Down><Down>");
    insta::assert_snapshot!("groups_unfolded_140x40", dash.screen());
    dash.keys("<Left>");
    dash.shows("▸ Approve this payment?");
    dash.keys("<Enter>");
    dash.shows("▾ Approve this payment?");
    dash.set_ascii(true);
    assert!(dash.screen().contains("Approve this payment?"));
}

#[test]
fn a_group_is_approved_with_one_preview() {
    let mut dash = grouped((140, 40));
    let effects = dash.keys("iA");
    let planned = plan(&mut dash, effects);
    // Only the questions that the person saw are answered.
    let question = |intent: &ThreadIntent| match intent {
        ThreadIntent::Answer {
            interrupt,
            answer: GivenAnswer::Approve,
            ..
        } => interrupt.clone(),
        _ => None,
    };
    let asked: Vec<String> = planned
        .iter()
        .filter_map(|(_, intent)| question(intent))
        .collect();
    assert_eq!(asked, ["q1", "q2", "q3", "q4", "q5", "q6"]);
    insta::assert_snapshot!("groups_approve_140x40", dash.screen());
    dash.resize(80, 24);
    insta::assert_snapshot!("groups_approve_80x24", dash.screen());
    let mut running = sent(&dash.keys("<ctrl-s>"));
    let mut done = 0;
    while let Some((number, profile)) = running.pop() {
        assert_eq!(profile, "eu");
        let (_, intent) = planned.iter().find(|(of, _)| *of == number).unwrap();
        let thread = runtail_tui::session::msg::ThreadRef {
            server: support(),
            id: intent.thread().into(),
        };
        let started = Acted::Started(Started {
            run_id: "r".into(),
            was_found: false,
        });
        running.extend(sent(&dash.done(EffectResult::Sent(
            number,
            Sent::Thread(thread, Ok(started)),
        ))));
        done += 1;
    }
    assert_eq!(done, 6);
    dash.says("Approve: 6 answers sent.");
}

#[test]
fn the_other_option_rejects_instead() {
    let mut dash = grouped((140, 40));
    let effects = dash.keys("iA");
    plan(&mut dash, effects);
    dash.screen();
    let effects = dash.keys("<ctrl-t>");
    let planned = plan(&mut dash, effects);
    let rejects = |(_, intent): &(u64, ThreadIntent)| {
        matches!(
            intent,
            ThreadIntent::Answer {
                answer: GivenAnswer::Reject(None),
                ..
            }
        )
    };
    assert!(
        planned.len() == 6 && planned.iter().all(rejects),
        "{planned:?}"
    );
    dash.shows("6 threads to reject");
}

#[test]
fn a_group_of_failures_is_retried_with_one_preview() {
    let mut dash = grouped((140, 40));
    dash.keys("i<Down><Down><Down>");
    let effects = dash.keys("R");
    let planned = plan(&mut dash, effects);
    let retries = |(_, intent): &(u64, ThreadIntent)| {
        matches!(intent, ThreadIntent::Retry { edit: None, .. })
    };
    assert!(
        planned.len() == 38 && planned.iter().all(retries),
        "{planned:?}"
    );
    dash.shows("38 threads to retry");
    // A failure alone has its own preview.
    dash.keys("<Esc><Down>");
    assert!(matches!(dash.keys("R").as_slice(), [Effect::Plan(..)]));
}

#[test]
fn marked_threads_that_cannot_be_answered_are_left_out_with_the_reason() {
    let mut dash = grouped((140, 40));
    dash.keys("i<ctrl-a>");
    dash.shows("47 marked");
    dash.each_profile(|profile| profile.read_only = &*profile.name == "lab");
    // One of the marked threads asks something else by now, another one was answered by someone else.
    let rows = payments(&dash);
    let other = payment(&dash, 2, "Delete the customer?");
    answer(
        &mut dash,
        &support(),
        listed([&[other], &rows[2..]].concat()),
    );
    let effects = dash.keys("A");
    let mut planned = Vec::new();
    let mut effects = effects;
    while let Some(effect) = effects.pop() {
        let Some((number, _, intent)) = thread_plan(&effect) else {
            continue;
        };
        let gone = matches!(&intent, ThreadIntent::Answer { interrupt, .. } if interrupt.as_deref() == Some("q1"));
        let plan = match gone {
            true => Err(PlanError::Unfit(
                "This question is no longer open: it was answered.".into(),
            )),
            false => {
                planned.push(number);
                let request = made::request("POST", "http://x/threads/t/runs");
                Ok((
                    Box::new(made::preview("Answer", "eu", request, Consent::Key)),
                    None,
                ))
            }
        };
        effects.extend(dash.done(EffectResult::Planned(number, plan)));
    }
    assert_eq!(planned.len(), 4);
    dash.shows([
        "4 threads to approve, 43 left out",
        "lab is read-only",
        "changed since it was marked",
        "no longer open: it was answered",
        "needs more than an approval",
    ]);
    assert_eq!(sent(&dash.keys("<ctrl-s>")).len(), 4);
}

#[test]
fn a_mark_follows_its_thread_and_esc_removes_all_marks() {
    let mut dash = grouped((140, 40));
    dash.keys("i<Right><Down><Space>");
    dash.shows("1 marked");
    let rows = payments(&dash);
    answer(&mut dash, &support(), listed(rows));
    dash.shows("1 marked");
    // A group whose threads are marked in part shows that.
    dash.keys("<Left>");
    assert!(
        dash.screen()
            .lines()
            .any(|line| line.contains("~") && line.contains("6 threads"))
    );
    dash.keys("/which<Enter>");
    dash.shows("1 of 47 · 1 marked");
    dash.keys("<Esc><Esc>");
    dash.lacks("marked");
}

#[test]
fn a_profile_that_becomes_read_only_is_left_out_when_the_rest_is_sent() {
    let mut dash = grouped((140, 40));
    let effects = dash.keys("i<Space>/lab<Enter><Space><Esc>A");
    assert_eq!(plan(&mut dash, effects).len(), 7);
    dash.shows("7 threads · 2 servers");
    dash.each_profile(|profile| profile.read_only = &*profile.name == "lab");
    let sent = sent(&dash.keys("<ctrl-s>"));
    assert!(sent.iter().all(|(_, profile)| profile == "eu"), "{sent:?}");
}

#[test]
fn rows_with_unusual_texts_are_drawn() {
    let long = "x".repeat(200);
    for text in [
        long.as_str(),
        "支払いを承認しますか？",
        "هل توافق على الدفع؟",
        "1️⃣ 🇩🇪",
        "",
    ] {
        for size in [(140, 40), (80, 24), (60, 12)] {
            let mut dash = dash(size);
            let named = |thread: InboxThread| InboxThread {
                graph: Some(text.into()),
                owner: Some(text.into()),
                ..thread
            };
            let rows = vec![
                named(payment(&dash, 1, text)),
                named(payment(&dash, 2, text)),
                named(failure(&dash, 3, text)),
                named(failure(&dash, 4, text)),
            ];
            answer(&mut dash, &support(), listed(rows));
            dash.keys("i");
            dash.shows("2 threads");
            for key in ["<Right>", "<Down>", "<End>", "<Enter>", "<ctrl-a>"] {
                dash.keys(key);
                dash.screen();
            }
        }
    }
}
