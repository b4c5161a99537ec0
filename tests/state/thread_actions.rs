//! Thread actions from the dashboard: the effects of keys, the answer card and dialogs, and the requests that are sent.

mod repair_requests;
mod repairs;
mod server;

use runtail_api::{
    Acted, ApiError, CancelState, CancelTarget, Choice, Kind, LoadedThread, Place, PlanError,
    StartError, StartFailure, Started, ThreadIntent,
};
use runtail_core::model::{
    Consent, Note, PlainRequest, Preview, RunFacts, StateFacts, ThreadFacts,
};
use runtail_stream::{Item, Loaded, Record, SnapshotPart, ThreadSnapshot};
use runtail_testkit::dash::{Dash, Dialog, demo_server, demo_thread, thread_plan};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{
    Effect, EffectResult, Msg, Sent, ServerRef, StreamTarget, ThreadRef,
};
use serde_json::{Value, json};

const THREAD: &str = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
const RUN: &str = "01a1fbb5-1743-72b0-bac9-4236eccc288a";

/// A thread's records as a server sends them.
pub(crate) struct Records {
    pub(crate) thread: Value,
    pub(crate) state: Value,
    pub(crate) runs: Value,
}

/// A thread with this status, and a state as in a captured case.
pub(crate) fn records(status: &str, case: &str, runs: Value) -> Records {
    let case = fixture(case);
    let mut state = case["state"].clone();
    state["created_at"] = json!("2026-11-21T13:54:00Z");
    let mut thread = json!({
        "thread_id": THREAD, "status": status, "updated_at": "2026-11-21T13:54:00Z",
        "metadata": {"graph_id": "support", "assistant_id": "a-support"},
    });
    if let Some(error) = case["thread"].get("error") {
        thread["error"] = error.clone();
    }
    Records {
        thread,
        state,
        runs,
    }
}

/// Returns a captured case, or a finished thread.
fn fixture(case: &str) -> Value {
    if case == "finished-state" {
        let metadata = json!({"source": "loop"});
        return json!({"state": {"values": {}, "next": [], "tasks": [], "metadata": metadata, "checkpoint": {"checkpoint_id": "c"}}});
    }
    let path = format!(
        "{}/tests/fixtures/threads/{case}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    if case["state"].is_null() {
        // The capture has only the thread's record, which names the next step.
        let metadata = json!({"source": "loop"});
        case["state"] = json!({"values": {}, "next": ["second"], "tasks": [], "metadata": metadata, "checkpoint": {"checkpoint_id": "c"}});
    }
    case
}

pub(crate) fn run(id: &str, status: &str) -> Value {
    json!({"run_id": id, "status": status, "created_at": "2026-11-21T13:53:00Z", "updated_at": "2026-11-21T13:54:00Z",
           "assistant_id": "a-support", "kwargs": {"input": {"n": 1}}})
}

/// [`records`] of a thread with one run.
pub(crate) fn after_run(status: &str, case: &str, run_status: &str) -> Records {
    records(status, case, json!([run("r1", run_status)]))
}

pub(crate) fn waiting(case: &str) -> Records {
    after_run("interrupted", case, "success")
}

/// A thread that waits with this question.
pub(crate) fn asking(value: Value) -> Records {
    let mut records = waiting("question");
    records.state["tasks"][0]["interrupts"][0]["value"] = value;
    records
}

impl Records {
    /// Makes the first task that asks a finished one.
    fn answer_first_question(&mut self) {
        let tasks = self.state["tasks"].as_array_mut().unwrap();
        let asks = |task: &Value| {
            task["interrupts"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        };
        let first = tasks.iter().position(asks).unwrap();
        tasks[first]["interrupts"] = json!([]);
        tasks[first]["result"] = json!({});
    }

    fn loaded(&self) -> LoadedThread {
        LoadedThread {
            thread: ThreadFacts::read(&self.thread.to_string()).ok(),
            state: StateFacts::read(&self.state.to_string()).ok(),
            runs: RunFacts::read_all(&self.runs.to_string()).ok(),
        }
    }
}

/// Sends a snapshot to the open thread page.
pub(crate) fn snapshot(dash: &mut Dash, records: &Records) {
    let parts = [
        (SnapshotPart::Thread, &records.thread),
        (SnapshotPart::State, &records.state),
        (SnapshotPart::Runs, &records.runs),
    ];
    let parts = parts
        .into_iter()
        .map(|(part, json)| (part, Loaded::Json(json.to_string().into())));
    let seq = dash.newest_event().next();
    let event = ThreadSnapshot {
        at: dash.now,
        parts: parts.collect(),
    }
    .into_event(seq);
    dash.items(vec![Item::Record(Record::Event(event))]);
}

/// Opens the page of a thread with these records.
pub(crate) fn page(size: (u16, u16), records: &Records) -> Dash {
    let mut dash = demo_thread(size);
    snapshot(&mut dash, records);
    dash
}

fn thread() -> ThreadRef {
    let server = ServerRef {
        profile: "prod-eu".into(),
        name: "support-bot".into(),
        url: "https://support-bot.us.langgraph.app".into(),
    };
    ThreadRef {
        server,
        id: THREAD.into(),
    }
}

/// Returns the body of the run that an effect would start.
fn started(effects: &[Effect]) -> Option<(u64, Value)> {
    effects.iter().find_map(|effect| match effect {
        Effect::StartRun(number, _, start) => {
            Some((*number, serde_json::to_value(&start.body).unwrap()))
        }
        _ => None,
    })
}

fn planned(effects: &[Effect]) -> Option<(u64, ThreadIntent)> {
    effects
        .iter()
        .find_map(thread_plan)
        .map(|(number, _, intent)| (number, intent))
}

/// Returns a preview of an action.
fn preview(title: &str, consent: Consent) -> Box<Preview> {
    let server = "https://support-bot.us.langgraph.app";
    let url = format!("{server}/threads/{THREAD}/runs/{RUN}/cancel?wait=0&action=interrupt");
    Box::new(Preview {
        notes: vec![Note::fact("Finished steps are kept.")],
        ..made::preview(title, "prod-us", made::request("POST", &url), consent)
    })
}

fn run_started(was_found: bool) -> Acted {
    let run_id = "r2".into();
    Acted::Started(Started { run_id, was_found })
}

/// Sends the result of an action.
fn acted(dash: &mut Dash, number: u64, result: Result<Acted, StartError>) -> Vec<Effect> {
    dash.done(EffectResult::Sent(number, Sent::Thread(thread(), result)))
}

/// Sends the preview of an action that has one key.
fn preview_of(dash: &mut Dash, number: u64, title: &str) {
    let plan = Ok((preview(title, Consent::Key), None));
    dash.done(EffectResult::Planned(number, plan));
}

fn failed(failure: StartFailure, kind: Kind) -> StartError {
    let at = Place {
        method: "POST".into(),
        host: "http://h".into(),
        path: "/threads/t/runs".into(),
        ..Place::default()
    };
    StartError {
        failure,
        error: ApiError {
            at,
            ..made::error(kind, "no response in time")
        },
    }
}

#[test]
fn answer_cards_match_the_snapshots() {
    for (case, keys) in [
        ("question", "approved"),
        ("question-hitl", "1<Down>3too risky"),
        ("question-with-schema", "y<Down><Backspace>12<Down>"),
        ("questions-parallel", "keep"),
    ] {
        for size in [(140, 40), (80, 24)] {
            let mut dash = page(size, &waiting(case));
            dash.keys("a");
            dash.keys(keys);
            insta::assert_snapshot!(
                format!("answer_{case}_{}x{}", size.0, size.1),
                dash.screen()
            );
        }
    }
    let mut dash = page((140, 40), &waiting("question-hitl"));
    dash.keys("a2bob<ctrl-t>");
    insta::assert_snapshot!("answer_json_140x40", dash.screen());
}

#[test]
fn empty_json_becomes_an_empty_form() {
    let mut dash = page((140, 40), &waiting("question-with-schema"));
    dash.keys("ay");
    dash.lacks("Nothing is answered yet.");
    dash.keys("<ctrl-t><ctrl-End>");
    for _ in 0..30 {
        dash.keys("<ctrl-u><Backspace>");
    }
    dash.shows("Nothing is answered yet.");
    dash.keys("<ctrl-t>");
    dash.shows("[-] not set");
}

/// A thread that waits in a captured state of an agent with approvals, or that of a case from the field.
fn waiting_agent(state: &str) -> Records {
    let path = format!("{}/tests/{state}.json", env!("CARGO_MANIFEST_DIR"));
    let mut captured: Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let body = captured["response"]["body"].take();
    Records {
        state: if body.is_null() { captured } else { body },
        ..waiting("question")
    }
}

#[test]
fn batches_of_javascript_get_a_decision_for_each_action() {
    let records = waiting_agent("fixtures/cases/14-hitl-camel-case/state");
    for size in [(140, 40), (80, 24)] {
        let mut dash = page(size, &records);
        dash.shows("◆ Approve 2 actions: send_email(to=x@example.com");
        dash.keys("a");
        dash.shows("1 approve   ( ) 2 edit   ( ) 3 reject");
        // An edit isn't allowed.
        dash.shows("( ) 1 approve   ( ) 3 reject");
        dash.keys("2z<Down><Down>1");
        let (_, body) = started(&dash.keys("<ctrl-s>")).expect("a run");
        let resume = body["command"]["resume"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap();
        let args = json!({"to": "x@example.comz", "body": "Hi"});
        let edited = json!({"type": "edit", "editedAction": {"name": "send_email", "args": args}});
        assert_eq!(*resume, json!({"decisions": [edited, {"type": "approve"}]}));
    }
    // Its template as JSON has the same format, and mixed decisions are warned about.
    let mut dash = page((140, 40), &records);
    dash.keys("a1<Down>3no");
    let text = "JavaScript servers may drop the approved actions of an answer that rejects others.";
    dash.shows(text);
    dash.keys("<ctrl-n>1<Down>1");
    dash.lacks(text);
}

#[test]
fn calls_with_a_question_each_share_a_card_and_are_sent_together() {
    let (mail, file) = (
        "3212c5e7f9b86dd43958302eb65b154d",
        "72bfaf4dc60ecf079b29c974118a3bab",
    );
    let records = waiting_agent("captures/agents/percall-state");
    let resume = |dash: &mut Dash| {
        started(&dash.keys("<ctrl-s>")).map(|(_, body)| body["command"]["resume"].clone())
    };
    let mut dash = page((140, 40), &records);
    dash.shows("◆ Approve 2 actions: send_email(to=ann@example.com");
    assert!(dash.keys("A").is_empty());
    insta::assert_snapshot!("answer_calls_140x40", dash.screen());
    let (yes, no) = (
        json!({"type": "approve"}),
        json!({"type": "reject", "message": "no"}),
    );
    assert_eq!(resume(&mut dash), Some(json!({mail: yes, file: yes})));
    // One of them alone; the other one stays open.
    let mut dash = page((80, 24), &records);
    dash.keys("a<Down>3no");
    insta::assert_snapshot!("answer_calls_80x24", dash.screen());
    assert_eq!(resume(&mut dash), Some(json!({ file: no })));
    // A decision that is taken back leaves the call open, too.
    let mut dash = page((140, 40), &records);
    dash.keys("a1<Down>1<Backspace>");
    dash.shows("1 of 2 answered; the rest stays open.");
    assert_eq!(resume(&mut dash), Some(json!({ mail: yes })));
    // Problems name the action by its number in the list, and arguments are checked by the call's schema.
    let mut dash = page((140, 40), &records);
    dash.keys("a4 <ctrl-s>");
    dash.says("Action 1 needs the text of the response. Nothing was sent.");
    let mut records = waiting_agent("captures/agents/aegra-percall-state");
    let tasks = records.state["tasks"].as_array_mut().unwrap();
    tasks.reverse();
    let mut dash = page((140, 40), &records);
    dash.keys("a1<Down>4<ctrl-s>");
    dash.says("Action 2 needs the text of the response. Nothing was sent.");
    dash.shows("The server doesn't say which decisions and arguments the graph allows");
}

#[test]
fn an_approval_of_an_unknown_shape_is_shown_as_json_and_takes_only_json() {
    let value = json!({"type": "tool_review", "toolCall": {"name": "f", "args": {"n": 1}}, "description": "Review f"});
    let mut dash = page((140, 40), &asking(value));
    dash.lacks("A approve");
    dash.keys("a");
    dash.shows(r#""toolCall": {"#);
    dash.lacks("Answer as");
    dash.shows("is not understood (it looks like an approval, in an unknown format)");
    assert!(started(&dash.keys("approve<ctrl-s>")).is_none());
    dash.keys("<ctrl-n>");
    let (_, body) = started(&dash.keys("{\"ok\": true}<ctrl-s>")).expect("a run");
    let answers: Vec<&Value> = body["command"]["resume"]
        .as_object()
        .unwrap()
        .values()
        .collect();
    assert_eq!(answers, [&json!({"ok": true})]);
}

#[test]
fn the_answer_card_shows_what_is_approved_in_full() {
    let mut records = waiting("question-hitl");
    let lines = |count: usize| {
        (1..=count)
            .map(|n| format!("line {n}.\n"))
            .collect::<String>()
    };
    let question = |body: String| {
        json!({"action_requests": [{"name": "send_email", "args": {"body": body, "to": "ann@example.com"}}],
               "review_configs": [{"action_name": "send_email", "allowed_decisions": ["approve", "reject"]}]})
    };
    records.state["tasks"][0]["interrupts"][0]["value"] = question(lines(12));
    let mut dash = page((80, 24), &records);
    dash.keys("a");
    let screen = dash.screen();
    assert!((1..=12).all(|n| screen.contains(&format!(" line {n}."))));
    dash.shows("ann@example.com");
    dash.lacks("more");
    // What has no room is a page away, and the frame says so.
    records.state["tasks"][0]["interrupts"][0]["value"] = question(lines(30));
    let mut dash = page((80, 24), &records);
    dash.keys("a");
    dash.shows(["ctrl-s send", "1 approve", " more PageDown "]);
    dash.lacks(" line 30.");
    dash.keys("<PageDown>");
    dash.shows([" line 30.", " more PageUp "]);
    // The form of a question without actions shows its fields in full, too.
    records.state["tasks"][0]["interrupts"][0]["value"] =
        json!({"question": "Send it?", "body": lines(12)});
    let mut dash = page((140, 40), &records);
    dash.keys("a");
    dash.shows(" line 12.");
    // The size of a value is limited.
    records.state["tasks"][0]["interrupts"][0]["value"] = question(lines(400));
    let mut dash = page((140, 40), &records);
    dash.keys("a<PageDown><PageDown><PageDown><PageDown>");
    dash.shows("cut; :state shows the rest");
}

#[test]
fn only_calls_that_the_question_names_are_marked_as_waiting() {
    let call = |id: &str, name: &str, args: Value| json!({"id": id, "name": name, "args": args, "type": "tool_call"});
    let calls = json!([
        call("c1", "read_file", json!({"path": "notes.md"})),
        call("c2", "pay", json!({"to": "ana"})),
        call("c3", "pay", json!({"to": "bo"})),
        call("c4", "send_email", json!({"to": "h.weber", "copies": 1.0})),
    ]);
    let value = json!({"action_requests": [
        {"name": "pay", "args": {"to": "bo"}},
        // The arguments are written in another form.
        {"name": "send_email", "args": {"to": "h.weber", "copies": 1}},
    ]});
    let questions = json!([{"id": "q", "value": value}]);
    let state = json!({"values": {"messages": [{"type": "ai", "id": "m", "content": "", "tool_calls": calls}]},
        "next": ["tools"], "metadata": {"source": "loop"}, "checkpoint": {"checkpoint_id": "c"},
        "tasks": [{"id": "t", "name": "tools", "interrupts": questions}]});
    let mut records = waiting("question-hitl");
    records.state = state;
    let mut dash = page((140, 40), &records);
    let screen = dash.screen();
    let shown: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("└ "))
        .map(str::trim)
        .collect();
    let (waiting, open) = ("└ ◆ waiting for you", "└ ◌ no result yet");
    assert_eq!(shown, [open, open, waiting, waiting]);
}

#[test]
fn only_ctrl_s_sends_an_answer() {
    let mut dash = page((140, 40), &waiting("question"));
    assert!(
        dash.keys("a").is_empty(),
        "the page has all records, so nothing is loaded"
    );
    assert!(started(&dash.keys("<Enter><ctrl-r><ctrl-r>")).is_none());
    assert!(
        started(&dash.keys("<ctrl-s>")).is_none()
            && dash.newest_notice().contains("Nothing is answered yet")
    );
    dash.keys("approved");
    let (number, body) = started(&dash.keys("<ctrl-s>")).expect("a run");
    let id = waiting("question").loaded().answerable()[0]
        .id
        .clone()
        .unwrap();
    assert_eq!(
        body["command"],
        json!({"resume": {id: "\napproved"}}),
        "Enter is a new line"
    );
    assert_eq!(
        (&body["assistant_id"], &body["multitask_strategy"]),
        (&json!("a-support"), &json!("reject"))
    );
    assert_eq!(dash.tabs().len(), 1);
    assert!(
        started(&dash.keys("<ctrl-s><ctrl-s>")).is_none(),
        "the answer is sent only once"
    );
    acted(&mut dash, number, Ok(run_started(false)));
    dash.says("Answer sent. Following run 2.");
    assert!(dash.dialog().is_none());
    assert_eq!(dash.tabs().len(), 1, "no second tab");
    assert!(dash.is_read_again());
    // A sent answer is no longer a draft.
    dash.keys("a");
    dash.lacks("approved");
}

#[test]
fn typed_ahead_ctrl_s_does_not_send_an_answer() {
    let mut dash = page((140, 40), &waiting("question"));
    assert!(started(&dash.typed_ahead("aapproved<ctrl-s>")).is_none());
    dash.later(2000);
    assert!(started(&dash.keys("<ctrl-s>")).is_some());
}

#[test]
fn answer_drafts_survive_closing_and_rejections() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("aapproved<Esc>");
    assert!(dash.dialog().is_none());
    dash.keys("a");
    dash.told("Draft restored");
    dash.shows("approved");
    for (failure, message) in [
        (
            StartFailure::Answered,
            "Someone answered first, so the server refused. Draft kept.",
        ),
        (
            StartFailure::Busy,
            "Another run is active on the thread, so the server refused.",
        ),
        (StartFailure::NotOpen, "This question is no longer open."),
        (
            StartFailure::Refused,
            "The server refused. Nothing was done.",
        ),
    ] {
        let (number, _) = started(&dash.keys("<ctrl-s>")).expect("a run");
        acted(&mut dash, number, Err(failed(failure, Kind::Conflict)));
        dash.shows(message);
        dash.shows("approved");
    }
    let (number, _) = started(&dash.keys("<ctrl-s>")).expect("a run");
    acted(
        &mut dash,
        number,
        Err(failed(StartFailure::Unknown, Kind::Timeout)),
    );
    insta::assert_snapshot!("answer_unknown_140x40", dash.screen());
    assert!(
        started(&dash.keys("x<ctrl-s>")).is_none(),
        "an answer that may have been received is not sent again"
    );
    dash.told("may have received");
    dash.keys("<ctrl-n><Esc>a");
    // Ctrl-N starts over.
    dash.lacks("approved");
}

#[test]
fn open_answer_card_says_that_its_question_was_closed() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("aapproved");
    dash.shows("asked ");
    snapshot(
        &mut dash,
        &records("busy", "finished-state", json!([run("r2", "running")])),
    );
    dash.shows(["no longer open", "a run is active", "approved"]);
    snapshot(
        &mut dash,
        &records("idle", "finished-state", json!([run("r2", "success")])),
    );
    dash.shows("No longer open: the thread is idle.");
    // Records that show it again, as after a failed run.
    snapshot(&mut dash, &waiting("question"));
    dash.lacks("no longer open");
    snapshot(&mut dash, &waiting("question-hitl"));
    dash.shows("another question is open");
}

#[test]
fn answer_card_names_the_questions_that_stay_open() {
    let mut both = waiting("questions-parallel");
    let mut dash = page((80, 24), &both);
    dash.keys("akeep");
    both.answer_first_question();
    snapshot(&mut dash, &both);
    dash.shows([
        "1 of 3 no longer open; left out of the answer.",
        "· 1 of 3 no longer open",
    ]);
    // The draft of the closed question is not sent.
    assert!(
        started(&dash.keys("<ctrl-s>")).is_none()
            && dash.newest_notice().contains("Nothing is answered yet")
    );
    dash.keys("<Down><Down>yes");
    let (_, body) = started(&dash.keys("<ctrl-s>")).expect("a run");
    let resume = body["command"]["resume"].as_object().unwrap();
    assert_eq!(
        (resume.len(), resume.values().next()),
        (1, Some(&json!("yes"))),
        "{body}"
    );
}

#[test]
fn starting_over_can_be_undone() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("aapproved<ctrl-n>");
    dash.lacks("approved");
    dash.keys("<alt-u>");
    let (_, body) = started(&dash.keys("<ctrl-s>")).expect("a run");
    assert!(
        body["command"].to_string().contains("\"approved\""),
        "{body}"
    );
    // An argument, and an answer as JSON.
    let mut dash = page((140, 40), &waiting("question-hitl"));
    dash.keys("a2bob<ctrl-t>x<ctrl-n>");
    dash.lacks("combob");
    dash.keys("2<alt-u>");
    dash.shows("ann@example.combob");
    dash.keys("<ctrl-n><ctrl-t>");
    dash.lacks("}x");
    dash.keys("<alt-u>");
    dash.shows("}x");
}

#[test]
fn approve_all_opens_the_card_and_sends_nothing() {
    let mut dash = page((140, 40), &waiting("question-inbox"));
    assert!(dash.keys("A").is_empty());
    let (_, body) = started(&dash.keys("<ctrl-s>")).expect("a run");
    let answers: Vec<&Value> = body["command"]["resume"]
        .as_object()
        .unwrap()
        .values()
        .collect();
    assert_eq!(answers, [&json!([{"type": "accept", "args": null}])]);
    let mut dash = page((140, 40), &waiting("question-hitl"));
    dash.keys("A");
    dash.says("Some questions need more than an approval.");
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
}

#[test]
fn answer_key_without_a_question_suggests_other_actions() {
    let done = || json!([run("r1", "success")]);
    for (records, message) in [
        (
            records("idle", "finished-state", done()),
            "No question is open; n starts a run.",
        ),
        (
            after_run("error", "failed", "error"),
            "The last run failed; R retries, e explains.",
        ),
        (
            after_run("error", "poisoned", "error"),
            "The step failed with its answer; R asks again.",
        ),
        (
            after_run("busy", "finished-state", "running"),
            "A run is active; x cancels it.",
        ),
        (
            records("busy", "finished-state", done()),
            "The thread is stuck; e explains.",
        ),
    ] {
        let mut dash = page((140, 40), &records);
        assert!(dash.keys("a").is_empty());
        assert_eq!(dash.newest_notice(), message);
        assert!(dash.dialog().is_none());
    }
    for case in ["breakpoint", "cancelled"] {
        let status = if case == "cancelled" {
            "interrupted"
        } else {
            "success"
        };
        let mut dash = page((140, 40), &after_run("interrupted", case, status));
        let (_, intent) = planned(&dash.keys("a")).expect("a plan");
        assert_eq!(
            intent,
            ThreadIntent::Continue {
                thread: THREAD.into()
            },
            "{case}"
        );
    }
}

#[test]
fn answer_key_works_in_time_travel() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.event("custom", "{}");
    dash.event("custom", "{}");
    dash.keys("<Space>,,");
    assert!(dash.playhead().is_some());
    dash.keys("a");
    assert!(dash.is_answering());
}

#[test]
fn answering_from_the_list_loads_the_thread_first() {
    let mut dash = demo_server((140, 40));
    let effects = dash.keys("a");
    let [Effect::LoadThread(number, target)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    assert_eq!(*target, thread());
    dash.shows("Loading questions…");
    // The key was pressed before the card was shown.
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.done(EffectResult::ThreadLoaded(
        *number,
        Ok(Box::new(waiting("question").loaded())),
    ));
    assert!(started(&dash.keys("ok<ctrl-s>")).is_none());
    dash.later(2000);
    let (number, _) = started(&dash.keys("<ctrl-s>")).expect("a run");
    acted(&mut dash, number, Ok(run_started(true)));
    assert_eq!(
        dash.page().target,
        StreamTarget::Tail {
            thread: THREAD.into()
        },
        "the page of the thread"
    );
    dash.told("The reply was lost, but the run started.");
    // Threads without a question and threads that fail to load are reported.
    dash.keys("<Esc>");
    let Some(Effect::LoadThread(number, _)) = dash.keys("a").pop() else {
        panic!()
    };
    let idle = after_run("idle", "finished-state", "success");
    dash.done(EffectResult::ThreadLoaded(
        number,
        Ok(Box::new(idle.loaded())),
    ));
    assert!(dash.newest_notice().starts_with("No question is open"));
    let Some(Effect::LoadThread(number, _)) = dash.keys("a").pop() else {
        panic!()
    };
    dash.done(EffectResult::ThreadLoaded(number, Ok(Box::default())));
    assert!(
        dash.newest_notice()
            .starts_with("This server can't list a thread's questions.")
    );
    let Some(Effect::LoadThread(number, _)) = dash.keys("a").pop() else {
        panic!()
    };
    dash.done(EffectResult::ThreadLoaded(
        number,
        Err(failed(StartFailure::Unchecked, Kind::Forbidden).error),
    ));
    dash.shows("Couldn't load the questions.");
}

#[test]
fn a_repeated_load_keeps_what_was_typed() {
    let mut dash = demo_server((140, 40));
    let effects = dash.keys("a");
    let Some(Effect::LoadThread(number, _)) = effects.last() else {
        panic!("{effects:?}")
    };
    let loaded = || {
        let loaded = Ok(Box::new(waiting("question").loaded()));
        EffectResult::ThreadLoaded(*number, loaded)
    };
    dash.done(loaded());
    dash.keys("typed meanwhile");
    dash.done(loaded());
    dash.shows("typed meanwhile");
}

#[test]
fn an_answer_is_not_sent_once_its_profile_is_read_only() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("aapproved");
    dash.seal();
    assert!(started(&dash.keys("<ctrl-s>")).is_none());
    dash.told("read-only");
    assert!(dash.is_answering());
}

#[test]
fn the_draft_of_a_question_that_was_left_out_is_kept() {
    let both = waiting("questions-parallel");
    let mut dash = page((80, 24), &both);
    dash.keys("akeep");
    let mut closed = waiting("questions-parallel");
    closed.answer_first_question();
    snapshot(&mut dash, &closed);
    dash.keys("<Down><Down>yes");
    let (number, _) = started(&dash.keys("<ctrl-s>")).expect("a run");
    acted(&mut dash, number, Ok(run_started(false)));
    // The question is asked again.
    snapshot(&mut dash, &both);
    dash.keys("a");
    dash.told("Draft restored;");
    dash.shows("keep");
}

#[test]
fn a_preview_under_the_help_closes_if_there_is_nothing_to_do() {
    let running = records("busy", "finished-state", json!([run(RUN, "running")]));
    let mut dash = page((140, 40), &running);
    let (number, _) = planned(&dash.keys("x")).expect("a plan");
    dash.keys("?");
    let nothing = PlanError::Nothing("No run is active.".into());
    dash.done(EffectResult::Planned(number, Err(nothing)));
    assert_eq!(dash.dialogs(), [Dialog::Help]);
}

#[test]
fn a_question_that_only_the_stream_knows_is_awaited() {
    let running = records("busy", "finished-state", json!([run("r2", "running")]));
    // The records may also be those of an earlier question.
    for before in [running, waiting("question-hitl")] {
        let mut dash = page((140, 40), &before);
        dash.event(
            "updates",
            r#"{"__interrupt__":[{"id":"i1","value":"send 5 EUR?"}]}"#,
        );
        dash.end(runtail_stream::Outcome::Interrupted);
        dash.shows("◆ send 5 EUR?");
        let effects = dash.keys("a");
        let [Effect::LoadWaitingThread(number, target)] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!(*target, thread());
        dash.done(EffectResult::ThreadLoaded(
            *number,
            Ok(Box::new(waiting("question").loaded())),
        ));
        assert!(dash.is_answering());
    }
}

#[test]
fn cancel_is_previewed_tracked_and_reported() {
    let running = records(
        "busy",
        "finished-state",
        json!([run("r2", "pending"), run(RUN, "running")]),
    );
    let mut dash = page((140, 40), &running);
    let (number, intent) = planned(&dash.keys("x")).expect("a plan");
    assert!(
        matches!(
            &intent,
            ThreadIntent::Cancel {
                run: None,
                with_queue: false,
                ..
            }
        ),
        "{intent:?}"
    );
    let choice = Some(Choice::Queue {
        queued: 1,
        included: false,
    });
    dash.done(EffectResult::Planned(
        number,
        Ok((
            preview("Cancel run 01a1fbb5…288a", Consent::Key),
            choice.clone(),
        )),
    ));
    insta::assert_snapshot!("cancel_140x40", dash.screen());
    // Including the queue requests a new plan.
    let effects = dash.keys("<ctrl-t>");
    assert!(effects.contains(&Effect::Forget(number)));
    let (number, intent) = planned(&effects).expect("a plan");
    assert!(matches!(
        &intent,
        ThreadIntent::Cancel {
            with_queue: true,
            ..
        }
    ));
    dash.done(EffectResult::Planned(
        number,
        Ok((preview("Cancel run 01a1fbb5…288a", Consent::Key), choice)),
    ));
    let effects = dash.keys("<ctrl-s>");
    assert_eq!(
        effects,
        [Effect::Send(
            number,
            thread().server.profile,
            Some(thread())
        )]
    );
    let mut target = CancelTarget {
        run_id: RUN.into(),
        state: CancelState::Stopping,
        run_status: Some("running".into()),
        was_active: true,
        error: None,
    };
    let effects = acted(
        &mut dash,
        number,
        Ok(Acted::Cancelling(vec![target.clone()])),
    );
    assert_eq!(
        effects,
        [Effect::FollowCancel(thread(), vec![target.clone()])]
    );
    dash.pass(3);
    dash.shows("◐ cancelling, asked 3s ago");
    dash.event("custom", "{}");
    dash.shows("cancelling, asked 3s ago, still sending events");
    target.state = CancelState::Stopped;
    dash.done(EffectResult::CancelFollowed(thread(), vec![target.clone()]));
    dash.says("Cancelled run 1.");
    dash.lacks("cancelling");
    // A cancellation that can't be verified is reported with its request.
    target.state = CancelState::Stopping;
    target.error = Some(failed(StartFailure::Unchecked, Kind::Timeout).error);
    dash.done(EffectResult::CancelFollowed(thread(), vec![target]));
    let message = dash.newest_notice();
    assert!(
        message.starts_with("Couldn't verify that run 1 stopped: no response in time."),
        "{message}"
    );
    message.has(&format!("POST /threads/{THREAD}/runs/{RUN}/cancel"));
}

#[test]
fn cancel_outcomes_are_reported() {
    let running = records("busy", "finished-state", json!([run(RUN, "running")]));
    for (state, status, message) in [
        (CancelState::Stopped, "interrupted", "Cancelled run 1."),
        (
            CancelState::Stopped,
            "deleted",
            "Cancelled run 1 and rolled it back.",
        ),
        (
            CancelState::Stopped,
            "error",
            "Cancelled run 1; the server marks it as failed.",
        ),
        (
            CancelState::Finished,
            "success",
            "Run 1 ended before the cancel: success.",
        ),
    ] {
        let mut dash = page((140, 40), &running);
        let target = CancelTarget {
            run_id: RUN.into(),
            state,
            run_status: Some(status.into()),
            was_active: true,
            error: None,
        };
        dash.done(EffectResult::Sent(
            1,
            Sent::Thread(thread(), Ok(Acted::Cancelling(vec![target]))),
        ));
        assert_eq!(dash.newest_notice(), message);
    }
    // Without an active run, no dialog opens.
    let mut dash = page((140, 40), &waiting("question"));
    let (number, _) = planned(&dash.keys("x")).expect("a plan");
    dash.done(EffectResult::Planned(
        number,
        Err(PlanError::Nothing(
            "No run is active on this thread.".into(),
        )),
    ));
    assert!(dash.dialog().is_none());
    dash.says("No run is active. e, then x ends the thread.");
    // A paused run has ended for the server, but not for the thread.
    let mut dash = page(
        (140, 40),
        &after_run("interrupted", "breakpoint", "success"),
    );
    let (number, _) = planned(&dash.keys("x")).expect("a plan");
    dash.done(EffectResult::Planned(
        number,
        Err(PlanError::Nothing("Run r1 has ended: success.".into())),
    ));
    dash.says("No run is active. e, then x ends the thread.");
    // A thread that has nothing to end.
    let mut dash = page((140, 40), &after_run("idle", "finished-state", "success"));
    let (number, _) = planned(&dash.keys("x")).expect("a plan");
    dash.done(EffectResult::Planned(
        number,
        Err(PlanError::Nothing(
            "No run is active on this thread.".into(),
        )),
    ));
    dash.says("No run is active on this thread.");
    // A server without rollback.
    let mut dash = page((140, 40), &running);
    let (number, _) = planned(&dash.keys("X")).expect("a plan");
    preview_of(&mut dash, number, "Cancel and roll back run 1");
    dash.keys("<ctrl-s>");
    let error = Some(failed(StartFailure::Refused, Kind::Invalid(Vec::new())).error);
    let target = CancelTarget {
        run_id: RUN.into(),
        state: CancelState::Failed,
        run_status: Some("running".into()),
        was_active: true,
        error,
    };
    acted(&mut dash, number, Ok(Acted::Cancelling(vec![target])));
    dash.shows("The server refused to roll back run 1. x cancels it without rollback.");
}

#[test]
fn deleting_a_thread_requires_its_id() {
    let mut dash = page((140, 40), &waiting("question"));
    let (number, intent) = planned(&dash.keys("D")).expect("a plan");
    assert_eq!(
        intent,
        ThreadIntent::Delete {
            thread: THREAD.into()
        }
    );
    dash.done(EffectResult::Planned(
        number,
        Ok((
            preview("Delete thread 01a1fbb5…9775", Consent::Id(THREAD.into())),
            None,
        )),
    ));
    insta::assert_snapshot!("delete_thread_80x24", {
        dash.resize(80, 24);
        dash.screen()
    });
    assert!(dash.keys("<ctrl-s>01a1fb<ctrl-s><Enter>").is_empty());
    assert_eq!(
        dash.keys("b5<ctrl-s>"),
        [Effect::Send(
            number,
            thread().server.profile,
            Some(thread())
        )]
    );
    dash.resize(140, 40);
    acted(&mut dash, number, Ok(Acted::Deleted));
    assert!(!dash.has_stream(), "its tab is closed");
    dash.says("Thread 01a1fbb5…9775 was deleted.");
    let screen = dash.screen();
    let has_row = screen
        .lines()
        .any(|line| line.contains("01a1fbb5…9775") && !line.contains("was deleted"));
    assert!(!has_row, "its row is removed");
}

#[test]
fn retry_after_the_recursion_limit_offers_a_higher_limit() {
    let mut dash = page((140, 40), &after_run("error", "failed", "error"));
    let (number, intent) = planned(&dash.keys("R")).expect("a plan");
    assert_eq!(
        intent,
        ThreadIntent::Again {
            thread: THREAD.into(),
            recursion_limit: None
        }
    );
    let plan = |title: &str, limit| {
        Ok((
            preview(title, Consent::Key),
            Some(Choice::RecursionLimit(limit)),
        ))
    };
    dash.done(EffectResult::Planned(
        number,
        plan("Retry thread 01a1fbb5…9775", 50),
    ));
    insta::assert_snapshot!("retry_limit_140x40", dash.screen());
    // A changed limit is previewed before it is sent.
    let effects = dash.keys("x100<ctrl-s>");
    assert!(
        !effects
            .iter()
            .any(|effect| matches!(effect, Effect::Send(..)))
    );
    let (number, intent) = planned(&effects).expect("a new plan");
    assert_eq!(
        intent,
        ThreadIntent::Again {
            thread: THREAD.into(),
            recursion_limit: Some(100)
        }
    );
    dash.done(EffectResult::Planned(
        number,
        plan("Retry thread 01a1fbb5…9775", 100),
    ));
    assert_eq!(
        dash.keys("<ctrl-s>"),
        [Effect::Send(
            number,
            thread().server.profile,
            Some(thread())
        )]
    );
    acted(
        &mut dash,
        number,
        Err(failed(StartFailure::Busy, Kind::Conflict)),
    );
    dash.shows("Another run is active on the thread, so the server refused.");
}

#[test]
fn new_run_on_a_waiting_thread_warns_and_reuses_its_tab() {
    let mut dash = page((140, 40), &waiting("question"));
    dash.keys("n");
    dash.shows("Drops the open question; Esc, then a answers it instead.");
    dash.keys("hi");
    let (_, body) = started(&dash.keys("<ctrl-s>")).expect("a run");
    assert_eq!(body["input"]["messages"][0]["content"], "hi");
    assert!(body.get("command").is_none());
    assert_eq!(dash.tabs().len(), 1);
}

#[test]
fn no_sentence_of_the_composer_is_cut_at_80_columns() {
    let mut dash = page((80, 24), &waiting("question"));
    dash.keys("n<Backspace>");
    let screen = dash.screen();
    let said = screen
        .split_whitespace()
        .filter(|word| *word != "│")
        .collect::<Vec<_>>()
        .join(" ");
    for part in [
        "Esc, then a answers it instead.",
        "( ) stateless, not saved",
        "✗ line 1, column",
    ] {
        assert!(said.contains(part), "{part}: {screen}");
    }
    dash.keys("<alt-u>");
    dash.feed(Msg::Paste("\ta".into()));
    let screen = dash.screen();
    let said = screen
        .split_whitespace()
        .filter(|word| *word != "│")
        .collect::<Vec<_>>()
        .join(" ");
    let whole = "control character (\\u0000-\\u001F) found while parsing a string";
    assert!(said.contains(whole));
}
