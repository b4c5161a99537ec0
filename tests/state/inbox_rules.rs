//! The bulk answer by rules from the inbox: preview, sending in order, results.

use super::inbox::{answer, approval, listed};
use jiff::SignedDuration;
use runtail_api::{Acted, Kind, PlanError, StartError, StartFailure, Started, ThreadIntent};
use runtail_core::model::{
    Consent, InboxCause, InboxThread, NewRevision, Note, PlainRequest, Preview, Question,
};
use runtail_testkit::dash::{Dash, Dialog, thread_plan};
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{Effect, EffectResult, ServerRef, ThreadRef};
use serde_json::{Value, json};

const PROFILES: &str = "\
[profiles.eu]\nagent_server = { support-bot = \"http://127.0.0.1:2001\" }\n\
[profiles.lab]\nagent_server = \"http://127.0.0.1:2004\"\nread_only = true\n";
const RULES: &str = "[[answer]]\nmatch = \"action:send_*\"\ndecision = \"approve\"\n\
[[answer]]\nmatch = \"action:delete_file\"\ndecision = \"reject\"\nmessage = \"by hand\"\n";

fn server(profile: &str, name: &str, port: u16) -> ServerRef {
    ServerRef {
        profile: profile.into(),
        name: name.into(),
        url: format!("http://127.0.0.1:{port}/").into(),
    }
}

fn support() -> ServerRef {
    server("eu", "support-bot", 2001)
}

fn asking(dash: &Dash, id: &str, minutes: i64, actions: &[&str]) -> InboxThread {
    let requests: Vec<Value> = actions
        .iter()
        .map(|name| json!({"name": name, "args": {"to": "ana@acme.example"}}))
        .collect();
    let configs: Vec<Value> = actions
        .iter()
        .map(|name| json!({"action_name": name, "allowed_decisions": ["approve", "reject"]}))
        .collect();
    let value = json!({"action_requests": requests, "review_configs": configs});
    InboxThread {
        thread_id: format!("01a1fbb5-0000-7000-8000-00000000{id}"),
        graph: Some("mailer".into()),
        status: "interrupted".into(),
        cause: Some(InboxCause::Question),
        since: Some(dash.now - SignedDuration::from_mins(minutes)),
        questions: vec![Question {
            id: Some("q".into()),
            value,
            ..Question::default()
        }],
        ..InboxThread::default()
    }
}

/// An inbox with three threads about which the rules decide, and others.
fn dash(size: (u16, u16)) -> Dash {
    let mut dash = Dash::new(&format!("{PROFILES}{RULES}"), size);
    let rows = vec![
        asking(&dash, "aaa1", 60, &["send_email"]),
        asking(&dash, "aaa2", 50, &["send_refund", "delete_file"]),
        asking(&dash, "aaa3", 40, &["send_email"]),
        asking(&dash, "aaa4", 30, &["send_email", "drop_table"]),
        approval(&dash),
    ];
    answer(&mut dash, &support(), listed(rows));
    let row = asking(&dash, "bbb1", 20, &["send_email"]);
    answer(&mut dash, &server("lab", "lab", 2004), listed(vec![row]));
    dash
}

/// Returns the numbers and threads that are planned.
fn plans(effects: &[Effect]) -> Vec<(u64, String)> {
    let of = |effect: &Effect| match thread_plan(effect) {
        Some((
            number,
            of,
            ThreadIntent::AnswerByRules {
                thread,
                rules,
                profile,
            },
        )) => {
            assert_eq!((rules.len(), profile), (2, of.profile));
            Some((number, thread))
        }
        _ => panic!("{effect:?}"),
    };
    effects.iter().filter_map(of).collect()
}

fn preview(thread: &str) -> Box<Preview> {
    let body = json!({"assistant_id": "mailer", "command": {"resume": {"decisions": [{"type": "approve"}]}},
        "multitask_strategy": "reject"});
    Box::new(Preview {
        title: "Answer thread".into(),
        profile: "eu".into(),
        target: None,
        request: PlainRequest {
            method: "POST".into(),
            url: format!("http://127.0.0.1:2001/threads/{thread}/runs"),
            headers: Vec::new(),
            body: Some(body),
        },
        then: Vec::new(),
        changes: Vec::new(),
        revision: NewRevision::NotAsked,
        branch: None,
        notes: vec![
            Note::fact("Question: send_email(to=ana@acme.example)"),
            Note::fact("approve send_email(to=ana@acme.example), by the rule action:send_*"),
        ],
        consent: Consent::Key,
    })
}

/// Opens the page, and applies all plans. Returns the numbers of the answers with their threads.
fn planned(dash: &mut Dash) -> Vec<(u64, String)> {
    dash.keys("i");
    let open = plans(&dash.keys("<ctrl-r>"));
    assert_eq!(
        open.len(),
        3,
        "a thread about which the rules don't decide costs no request"
    );
    for (number, thread) in &open {
        assert!(
            dash.keys("<ctrl-s>").is_empty(),
            "the preview is not complete"
        );
        dash.later(2_000);
        dash.done(EffectResult::Planned(*number, Ok((preview(thread), None))));
    }
    open
}

fn sent(number: u64, thread: &str) -> Effect {
    Effect::Act(
        number,
        ThreadRef {
            server: support(),
            id: thread.into(),
        },
    )
}

fn acted(
    dash: &mut Dash,
    (number, thread): &(u64, String),
    result: Result<Acted, StartError>,
) -> Vec<Effect> {
    let thread = ThreadRef {
        server: support(),
        id: thread.clone(),
    };
    dash.done(EffectResult::Acted(*number, thread, result))
}

fn started(run: &str) -> Result<Acted, StartError> {
    Ok(Acted::Started(Started {
        run_id: run.into(),
        was_found: false,
    }))
}

fn failed(dash: &Dash, failure: StartFailure, kind: Kind) -> Result<Acted, StartError> {
    Err(StartError {
        failure,
        error: dash.error("eu", kind),
    })
}

#[test]
fn rules_answer_the_threads_of_the_inbox_one_after_the_other() {
    for (name, size) in [("140x40", (140, 40)), ("80x24", (80, 24))] {
        let mut dash = dash(size);
        let open = planned(&mut dash);
        insta::assert_snapshot!(format!("rules_preview_{name}"), dash.screen());
        dash.keys("<End>");
        insta::assert_snapshot!(format!("rules_preview_end_{name}"), dash.screen());
        dash.later(2_000);
        assert_eq!(dash.keys("<ctrl-s>"), [sent(open[0].0, &open[0].1)]);
        assert!(dash.keys("<ctrl-s>").is_empty(), "it is sent once");
        assert_eq!(
            acted(&mut dash, &open[0], started("1f0a-1")),
            [sent(open[1].0, &open[1].1)]
        );
        insta::assert_snapshot!(format!("rules_sending_{name}"), dash.screen());
        let answered = failed(&dash, StartFailure::Answered, Kind::Conflict);
        assert_eq!(
            acted(&mut dash, &open[1], answered),
            [sent(open[2].0, &open[2].1)]
        );
        let unknown = failed(&dash, StartFailure::Unknown, Kind::Timeout);
        assert!(acted(&mut dash, &open[2], unknown).is_empty());
        insta::assert_snapshot!(format!("rules_results_{name}"), dash.screen());
        // Late or repeated results send nothing.
        assert!(acted(&mut dash, &open[0], started("1f0a-1")).is_empty());
        assert!(dash.keys("<ctrl-s>").is_empty());
        dash.keys("<Esc>");
        assert!(dash.has_dialog(Dialog::Inbox));
    }
}

#[test]
fn esc_stops_before_the_next_answer() {
    let mut dash = dash((140, 40));
    let open = planned(&mut dash);
    dash.screen();
    dash.later(2_000);
    dash.keys("<ctrl-s>");
    assert!(
        dash.keys(":").is_empty(),
        "another page would cover the results"
    );
    assert!(dash.keys("<Esc>").is_empty());
    let effects = acted(&mut dash, &open[0], started("1f0a-1"));
    assert_eq!(
        effects,
        [Effect::Forget(open[1].0), Effect::Forget(open[2].0)]
    );
    let screen = dash.screen();
    assert!(screen.contains("answered") && screen.matches("not sent  stopped").count() == 2);
}

#[test]
fn leaving_the_preview_sends_nothing_and_drops_the_plans() {
    let mut dash = dash((140, 40));
    let open = planned(&mut dash);
    let effects = dash.keys("<Esc>");
    assert_eq!(
        effects,
        open.iter()
            .map(|(number, _)| Effect::Forget(*number))
            .collect::<Vec<_>>()
    );
    dash.shows("Nothing was sent.");
    // A plan that arrives later is dropped, too.
    let late = EffectResult::Planned(open[0].0, Ok((preview(&open[0].1), None)));
    assert_eq!(dash.done(late), [Effect::Forget(open[0].0)]);
}

#[test]
fn profiles_that_become_read_only_get_no_answer() {
    let mut dash = dash((140, 40));
    planned(&mut dash);
    dash.screen();
    dash.later(2_000);
    dash.seal();
    let effects = dash.keys("<ctrl-s>");
    assert!(
        effects
            .iter()
            .all(|effect| matches!(effect, Effect::Forget(_))),
        "{effects:?}"
    );
    assert_eq!(
        dash.screen()
            .matches("eu is read-only; nothing was sent")
            .count(),
        3
    );
}

#[test]
fn threads_that_changed_since_are_left_unanswered() {
    let mut dash = dash((140, 40));
    dash.keys("i");
    let open = plans(&dash.keys("<ctrl-r>"));
    for (number, _) in &open {
        let why = PlanError::Unfit("No question is open on this thread.".into());
        assert!(
            dash.done(EffectResult::Planned(*number, Err(why)))
                .is_empty()
        );
    }
    let screen = dash.screen();
    dash.shows("The rules decide about none of these threads. Nothing is sent.");
    assert_eq!(
        screen
            .matches("No question is open on this thread.")
            .count(),
        3
    );
    dash.later(2_000);
    assert!(dash.keys("<ctrl-s>").is_empty());
}

#[test]
fn the_key_is_offered_only_where_rules_decide() {
    let footer = |dash: &mut Dash| dash.screen().lines().last().unwrap_or_default().to_string();
    let mut with_rules = dash((140, 40));
    with_rules.keys("i");
    footer(&mut with_rules).has("ctrl-r answer by rules");
    // Only the rows that match the filter are answered.
    with_rules.keys("/aaa3<Enter>");
    assert_eq!(plans(&with_rules.keys("<ctrl-r>")).len(), 1);
    // None of the profiles may write.
    let mut sealed = dash((140, 40));
    sealed.seal();
    sealed.keys("i");
    footer(&mut sealed).lacks("by rules");
    assert!(sealed.keys("<ctrl-r>").is_empty());
    assert_eq!(
        sealed.screen().matches("its profile is read-only").count(),
        6,
        "{}",
        sealed.screen()
    );
    // Without rules it says where to add them.
    let mut without = Dash::new(PROFILES, (140, 40));
    let row = asking(&without, "aaa1", 60, &["send_email"]);
    answer(&mut without, &support(), listed(vec![row]));
    without.keys("i");
    footer(&mut without).lacks("by rules");
    assert!(without.keys("<ctrl-r>").is_empty());
    without.shows("The configuration has no [[answer]] rules");
}
