//! `answer` against servers with the questions of real ones, and against the simulator.

use crate::fork;
use runtail_sim::Scenario;
use runtail_testkit::common::{Seen, Server, json as respond};
use runtail_testkit::process::{Done, run_at};
use runtail_testkit::server::text;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const THREAD: &str = "01a1fbb5-0000-7000-8000-000000000001";
const PARALLEL: [&str; 3] = [
    "82ead35df0f92652067bc7998d627dab",
    "eed08126d2d10f0d44151e8941df6221",
    "a3ba9d181a495d6a2329028ba12fdbb8",
];
const HITL: &str = "6e408ca9f605450a1098a8a955ec2bc5";
const INBOX: &str = "f5894b39d9f725e3e0f2bfa93ad75bf8";
const SCHEMA: &str = "9cefa282e049f559983880b00cb1acf4";
const PLAIN: &str = "74676f99b80c146053dbeb4fdcab82cf";

const BUSY: &str = r#"{"detail":"Thread is already running a task."}"#;

/// How the server responds to the start of a run.
#[derive(Clone, Copy)]
enum Start {
    Accepts,
    /// It refuses, because someone has just answered.
    Overtaken,
    /// It refuses, but starts the run.
    LosesReply,
}

/// A server with one thread.
struct World {
    server: Server,
    /// How many reads of the state still show the question; then the thread is idle.
    open_for: Arc<Mutex<usize>>,
}

/// Starts a server whose thread is in a captured state.
async fn serve(case: &str, start: Start) -> World {
    serve_case(captured(case), start).await
}

/// Returns the captured records of a thread.
fn captured(case: &str) -> Value {
    let path = format!(
        "{}/tests/fixtures/threads/{case}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the JSON of a file among the tests.
fn file(path: &str) -> Value {
    let path = format!("{}/tests/{path}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the thread of a case from the field.
fn case_from_field(name: &str) -> Value {
    let mut thread = file(&format!("fixtures/cases/{name}/thread"));
    thread["thread_id"] = json!(THREAD);
    json!({"thread": thread, "state": file(&format!("fixtures/cases/{name}/state"))})
}

/// Returns a captured thread of an agent with approvals.
fn agent(thread: &str, state: &str) -> Value {
    let body = |name: &str| file(&format!("captures/agents/{name}"))["response"]["body"].clone();
    let mut thread = body(thread);
    thread["thread_id"] = json!(THREAD);
    json!({"thread": thread, "state": body(state)})
}

/// Returns the captured plain question with other tasks.
fn with_questions(interrupts: &[Value]) -> Value {
    let mut case = captured("question");
    let task = |(at, interrupt): (usize, &Value)| json!({"id": format!("task-{at}"), "name": "ask", "result": null, "error": null, "interrupts": [interrupt]});
    case["state"]["tasks"] = interrupts.iter().enumerate().map(task).collect();
    case["state"]["interrupts"] = json!(interrupts);
    case["thread"]["interrupts"] = json!({"task": interrupts});
    case["thread"]["thread_id"] = json!(THREAD);
    case
}

/// Starts a server whose thread has these records; `runs` and `history` are optional.
async fn serve_case(mut case: Value, start: Start) -> World {
    if case["thread"].is_null() {
        case["thread"] =
            json!({"thread_id": THREAD, "status": "error", "metadata": {"assistant_id": "a"}});
    }
    let open_for = Arc::new(Mutex::new(usize::MAX));
    let runs = case["runs"]
        .as_array()
        .cloned()
        .unwrap_or(vec![json!({"run_id": "r1", "status": "success"})]);
    let (left, runs) = (open_for.clone(), Mutex::new(runs));
    let server = Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        let mut runs = runs.lock().unwrap();
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("GET", ["threads", THREAD]) => {
                let open = *left.lock().unwrap() > 0;
                let mut thread = case["thread"].clone();
                if !open {
                    (thread["status"], thread["interrupts"]) = (json!("idle"), json!({}));
                }
                respond(200, thread)
            }
            ("GET", ["threads", THREAD, "state"]) => {
                let mut left = left.lock().unwrap();
                let open = *left > 0;
                *left = left.saturating_sub(1);
                let done = json!({"values": {}, "next": [], "tasks": [], "metadata": {"source": "loop"}, "checkpoint": {"checkpoint_id": "c"}});
                respond(200, if open { case["state"].clone() } else { done })
            }
            ("GET", ["assistants", id]) => respond(200, json!({"assistant_id": id, "graph_id": "approval", "metadata": {}})),
            ("POST", ["threads", "search"]) => {
                let asks = seen.json()["status"] == "interrupted";
                respond(200, if asks { json!([case["thread"]]) } else { json!([]) })
            }
            ("GET", ["threads", THREAD, "runs"]) => respond(200, json!(*runs)),
            ("GET", ["threads", THREAD, "history"]) if case["history"].is_array() => respond(200, case["history"].clone()),
            ("POST", ["threads", THREAD, "runs"]) => {
                let new = json!({"run_id": "new", "status": "pending", "metadata": seen.json()["metadata"]});
                match start {
                    Start::Accepts => respond(200, new),
                    Start::Overtaken => {
                        let kwargs = json!({"command": {"resume": {PLAIN: true}}});
                        runs.insert(0, json!({"run_id": "r2", "status": "running", "kwargs": kwargs}));
                        respond(409, BUSY)
                    }
                    Start::LosesReply => {
                        runs.insert(0, new);
                        respond(502, "bad gateway")
                    }
                }
            }
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await;
    World { server, open_for }
}

impl World {
    fn answer(&self, args: &str) -> Done {
        run_at(self.server.url.as_str(), format!("answer {THREAD} {args}"))
    }

    /// Returns the question and the command that the inbox shows.
    #[track_caller]
    fn listed(&self) -> (String, String) {
        let rows = run_at(self.server.url.as_str(), "inbox -o jsonl")
            .expect(0)
            .json_lines();
        let text = |name: &str| rows[0][name].as_str().unwrap_or_default().to_string();
        let start = format!("runtail --url {} ", self.server.url);
        (
            text("question"),
            text("command").trim_start_matches(&start).to_string(),
        )
    }

    /// Returns the bodies of the requests that start a run.
    fn sent(&self) -> Vec<Value> {
        let starts = |seen: &&Seen| seen.method == "POST" && seen.path.ends_with("/runs");
        self.server
            .seen()
            .iter()
            .filter(starts)
            .map(|seen| seen.json())
            .collect()
    }

    /// Returns what was sent as `resume` by the only request.
    #[track_caller]
    fn resume(&self) -> Value {
        let sent = self.sent();
        assert_eq!(sent.len(), 1);
        sent[0]["command"]["resume"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_sent_in_the_question_s_dialect() {
    let args = json!({"to": "a", "subject": "s", "body": "b"});
    let (three, mail) = (
        json!({"decisions": [{"type": "approve"}, {"type": "reject", "message": "no"}, {"type": "respond", "message": "Monday"}]}),
        args.to_string(),
    );
    let three_text = three.to_string();
    let edited = |name: &str| json!([{"type": "edit", "args": {"action": name, "args": args}}]);
    let renamed = json!({"name": "draft_email", "args": args}).to_string();
    for (case, id, given, expected) in [
        ("question", PLAIN, "--approve", json!(true)),
        ("question", PLAIN, "--reject", json!(false)),
        (
            "question",
            PLAIN,
            "--text '-5 EUR at most'",
            json!("-5 EUR at most"),
        ),
        (
            "question",
            PLAIN,
            r#"--json '[1, {"a": false}]'"#,
            json!([1, {"a": false}]),
        ),
        (
            "question-hitl",
            HITL,
            &format!("--json '{three_text}'"),
            three.clone(),
        ),
        (
            "question-inbox",
            INBOX,
            "--approve",
            json!([{"type": "accept", "args": null}]),
        ),
        (
            "question-inbox",
            INBOX,
            "--reject",
            json!([{"type": "ignore", "args": null}]),
        ),
        (
            "question-inbox",
            INBOX,
            "--reject 'too late'",
            json!([{"type": "response", "args": "too late"}]),
        ),
        (
            "question-inbox",
            INBOX,
            "--text Tuesday",
            json!([{"type": "response", "args": "Tuesday"}]),
        ),
        (
            "question-inbox",
            INBOX,
            &format!("--edit '{mail}'"),
            edited("send_email"),
        ),
        (
            "question-inbox",
            INBOX,
            &format!("--edit '{renamed}'"),
            edited("draft_email"),
        ),
        (
            "question-with-schema",
            SCHEMA,
            r#"--json '{"approve": true, "score": 5}'"#,
            json!({"approve": true, "score": 5}),
        ),
    ] {
        let world = serve(case, Start::Accepts).await;
        let done = world.answer(given).expect(0);
        let sent = world.sent();
        assert_eq!(sent.len(), 1, "{case} {given:?}");
        assert_eq!(
            sent[0]["command"],
            json!({"resume": {id: expected}}),
            "{case} {given:?}"
        );
        assert_eq!(sent[0]["multitask_strategy"], "reject");
        assert!(sent[0].get("input").is_none());
        let row = done.json();
        assert_eq!(
            (&row["thread_id"], &row["run_id"], &row["interrupt_id"]),
            (&json!(THREAD), &json!("new"), &json!(id))
        );
        assert_eq!(row["assistant_id"], sent[0]["assistant_id"]);
        assert!(
            row["profile"].is_string() && row.get("region").is_some(),
            "{row}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_the_graph_would_reject_are_not_sent() {
    for (case, given, says) in [
        ("question-hitl", "--approve", "allows only respond"),
        ("question-hitl", "--reject no", "allows only respond"),
        ("question-hitl", "--edit {}", "3 actions"),
        ("question-hitl", "--text x", "3 actions"),
        (
            "question-hitl",
            r#"--json '{"decisions": [{"type": "approve"}]}'"#,
            "must have 3 decisions",
        ),
        ("question-hitl", "--json true", "decisions"),
        (
            "question-inbox",
            r#"--json '{"decisions": [{"type": "approve"}]}'"#,
            "exactly one response",
        ),
        (
            "question-inbox",
            "--edit []",
            "--edit takes the arguments as an object",
        ),
        (
            "question-with-schema",
            "--approve",
            "must fit the question's schema; use --json",
        ),
        (
            "question-with-schema",
            r#"--json '{"approve": "yes"}'"#,
            "approve",
        ),
        (
            "question-with-schema",
            r#"--json '{"approve": true, "score": 9}'"#,
            "score",
        ),
        ("question-with-schema", "--text x", "not valid"),
        ("question", "--edit {}", "no action to edit"),
        ("question", "--reject why", "takes no reason"),
        ("question", "--json null", "null can't be an answer"),
        ("question", "--json {bad", "--json is not JSON"),
        (
            "question",
            r#"--json '{"a": {"to": 1, "to": 2}}'"#,
            "--json: the key \"to\" occurs twice, in a, at line 1",
        ),
        (
            "question",
            "--json [12345678901234567890123]",
            "can't be sent exactly: it would become 1.23456",
        ),
        (
            "question-inbox",
            r#"--edit '{"to": "a", "to": "b"}'"#,
            "--edit: the key \"to\" occurs twice",
        ),
        ("question", "--text ' '", "expected a text"),
        ("question", "", "required"),
        ("question", "--approve --text x", "cannot be used with"),
        (
            "questions-parallel",
            "--approve",
            "3 questions are open; choose one with --interrupt ID",
        ),
    ] {
        let world = serve(case, Start::Accepts).await;
        let done = world.answer(given).expect(2);
        done.says(says);
        assert!(
            done.stdout.is_empty() && world.sent().is_empty(),
            "{case} {given:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_only_the_state_shows_is_answered() {
    let world = serve("copy-of-waiting", Start::Accepts).await;
    let done = world.answer("--approve").expect(0);
    let id = text(&done.json(), "interrupt_id");
    assert_eq!(world.resume(), json!({ id: true }));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_questions_is_chosen_by_its_id() {
    let world = serve("questions-parallel", Start::Accepts).await;
    let listed = world.answer("--text yes").expect(2).stderr;
    assert!(
        PARALLEL.iter().all(|id| listed.contains(id)) && listed.contains("Keep green?"),
        "{listed}"
    );
    let done = world
        .answer(&format!("--interrupt {} --text yes", PARALLEL[1]))
        .expect(0);
    done.says("2 other questions stay open.");
    assert_eq!(world.resume(), json!({PARALLEL[1]: "yes"}));
    assert_eq!(done.json()["interrupt_id"], PARALLEL[1]);
    let world = serve("questions-parallel", Start::Accepts).await;
    world
        .answer(&format!("--interrupt '{PLAIN}' --text yes"))
        .expect(1)
        .says("No open question has this id");
    assert!(world.sent().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_questions_are_told_from_ids_that_never_existed() {
    let run = |resume: Value| json!([{"run_id": "r", "status": "success", "kwargs": {"command": {"resume": resume}}}]);
    let asked = json!([{"tasks": [{"id": "x", "name": "ask", "interrupts": [{"id": PLAIN, "value": "?"}]}]}]);
    for (runs, history, says) in [
        (
            run(json!({PLAIN: true})),
            json!([]),
            "This question is no longer open: it was answered.",
        ),
        (
            run(Value::Null),
            asked,
            "This question is no longer open. Open questions:",
        ),
        (
            run(Value::Null),
            json!([]),
            "The thread never asked a question with this id.",
        ),
        (
            run(Value::Null),
            Value::Null,
            "Whether it was ever open is unknown.",
        ),
    ] {
        let mut case = captured("questions-parallel");
        (case["runs"], case["history"]) = (runs, history);
        let world = serve_case(case, Start::Accepts).await;
        world
            .answer(&format!("--interrupt '{PLAIN}' --text yes"))
            .expect(1)
            .says(says)
            .says("Keep green?");
        assert!(world.sent().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_share_an_id_are_answered_together_only_by_their_id() {
    let ask = |text: &str| json!({"id": PLAIN, "value": text});
    let case = with_questions(&[ask("Delete a?"), ask("Delete b?")]);
    let world = serve_case(case.clone(), Start::Accepts).await;
    let done = world.answer("--approve").expect(2);
    let says = "2 open questions share one id, so the server gives them all the same answer";
    done.says(says).says("Delete b?");
    assert!(world.sent().is_empty());
    world
        .answer(&format!("--interrupt '{PLAIN}' --approve"))
        .expect(0)
        .says("! 2 open questions share this id");
    assert_eq!(world.resume(), json!({PLAIN: true}));
    // One answer can't fit both.
    let hitl = json!({"id": PLAIN, "value": {"action_requests": [{"name": "f", "args": {}}]}});
    let world = serve_case(with_questions(&[ask("Delete a?"), hitl]), Start::Accepts).await;
    let done = world
        .answer(&format!("--interrupt '{PLAIN}' --approve"))
        .expect(2);
    done.says("both need the same answer");
    assert!(world.sent().is_empty(), "{}", done.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_json_answers_a_format_that_is_not_understood() {
    let old =
        json!({"action_request": {"action": "f", "args": {}}, "config": {"allow_accept": true}});
    let case = with_questions(&[json!({"id": PLAIN, "value": [old, old]})]);
    let world = serve_case(case, Start::Accepts).await;
    for given in ["--approve", "--text yes", "--reject"] {
        world
            .answer(given)
            .expect(2)
            .says("it is a list of 2 requests");
    }
    assert!(world.sent().is_empty());
    world.answer("--json '[1, 2]'").expect(0);
    assert_eq!(world.resume(), json!({PLAIN: [1, 2]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_of_an_unknown_shape_are_answered_only_as_json_with_a_warning() {
    for value in [
        json!({"type": "tool_review", "toolCall": {"name": "f", "args": {}}, "description": "Review f"}),
        json!({"ActionRequests": [{"name": "f"}], "ReviewConfigs": []}),
        json!([{"allowed-decisions": ["yes"], "tool": "f"}]),
        json!({"type": "tool_approval", "args": {}}),
    ] {
        let world = serve_case(
            with_questions(&[json!({"id": PLAIN, "value": value})]),
            Start::Accepts,
        )
        .await;
        let listed = world.listed();
        assert_eq!(listed.0, value.to_string(), "the inbox shows it as it is");
        assert_eq!(
            listed.1,
            format!("answer {THREAD} --interrupt {PLAIN} --json <JSON>")
        );
        for given in ["--approve", "--text approve", "--reject", "--edit {}"] {
            world
                .answer(given)
                .expect(2)
                .says("only --json can answer it");
        }
        assert!(world.sent().is_empty());
        world
            .answer(r#"--json '{"type": "approve"}'"#)
            .expect(0)
            .says("! The question's format is not understood");
        assert_eq!(world.resume(), json!({PLAIN: {"type": "approve"}}));
        let case = with_questions(&[json!({"id": PLAIN, "value": value})]);
        let owner = text(&case["thread"]["metadata"], "assistant_id");
        let world = serve_case(case, Start::Accepts).await;
        let args = format!(r#"run '{owner}' --thread {THREAD} --resume '{{"type": "approve"}}'"#);
        run_at(world.server.url.as_str(), args).says("! The question's format is not understood");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_javascript_are_answered_in_camel_case() {
    let serve = || serve_case(case_from_field("14-hitl-camel-case"), Start::Accepts);
    let id = "85b5ff0c7a1d5b1c8c1fd9b0b9d8a111";
    let world = serve().await;
    let (question, command) = world.listed();
    let expected =
        "Approve 2 actions: send_email(to=x@example.com, body=Hi) · delete_file(path=/tmp/a)";
    assert_eq!(
        (question.as_str(), command),
        (
            expected,
            format!("answer {THREAD} --interrupt {id} <--approve|--reject>")
        )
    );
    let edit = |key: &str| {
        let edited = json!({"name": "send_email", "args": {"to": "y", "body": "Hi"}});
        json!({"decisions": [{"type": "edit", key: edited}, {"type": "approve"}]}).to_string()
    };
    for (given, says) in [
        ("--text approve", "the question has 2 actions"),
        (r#"--json "approve""#, "must be {\"decisions\": […]}"),
        (
            &format!("--json '{}'", edit("edited_action")),
            "(editedAction.name)",
        ),
        (
            r#"--json '{"decisions": [{"type": "approve"}]}'"#,
            "must have 2 decisions",
        ),
        (
            r#"--json '{"decisions": [{"type": "approve"}, {"type": "edit"}]}'"#,
            "allows only approve, reject",
        ),
        (
            r#"--json '{"decisions": [{"type": "approve"}, {"type": "reject", "message": null}]}'"#,
            "text as its reason",
        ),
    ] {
        world.answer(given).expect(2).says(says);
    }
    let preview = world.answer("--approve --dry-run").expect(0).json();
    let (yes, no) = (
        json!({"type": "approve"}),
        json!({"type": "reject", "message": "no"}),
    );
    assert_eq!(
        preview["request"]["body"]["command"],
        json!({"resume": {id: {"decisions": [yes, yes]}}})
    );
    assert!(world.sent().is_empty());
    let mixed = json!({"decisions": [yes, no]}).to_string();
    for (given, expected, warns) in [
        ("--approve", json!({"decisions": [yes, yes]}), false),
        ("--reject no", json!({"decisions": [no, no]}), false),
        (
            &format!("--json '{}'", edit("editedAction")),
            serde_json::from_str(&edit("editedAction")).unwrap(),
            false,
        ),
        (
            &format!("--json '{mixed}'"),
            json!({"decisions": [yes, no]}),
            true,
        ),
    ] {
        let world = serve().await;
        let done = world.answer(given).expect(0);
        assert_eq!(world.resume(), json!({ id: expected }), "{given:?}");
        assert_eq!(
            done.stderr
                .contains("! JavaScript servers may drop the approved actions"),
            warns,
            "{}",
            done.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_with_a_question_each_are_answered_together_or_one_by_one() {
    let (mail, file) = (
        "3212c5e7f9b86dd43958302eb65b154d",
        "72bfaf4dc60ecf079b29c974118a3bab",
    );
    let python = || serve_case(agent("percall-thread", "percall-state"), Start::Accepts);
    let world = python().await;
    let (question, command) = world.listed();
    assert!(
        question.starts_with("Approve 2 actions: send_email(to=ann@example.com, "),
        "{question}"
    );
    assert!(
        question.ends_with(" · delete_file(path=/tmp/old.txt)"),
        "{question}"
    );
    assert_eq!(command, format!("answer {THREAD} <--approve|--reject>"));
    let args = json!({"to": "bob@example.com", "subject": "Lunch", "body": "?"});
    let args_text = args.to_string();
    let another = json!({"name": "other", "args": args}).to_string();
    for (given, says) in [
        ("--text approve", "choose one with --interrupt ID"),
        (
            &format!(r#"--interrupt '{mail}' --json "approve""#),
            "must be one decision",
        ),
        (
            &format!(r#"--interrupt '{mail}' --json '{{"decisions": [{{"type": "approve"}}]}}'"#),
            "(send_email) allows only",
        ),
        (
            &format!(r#"--interrupt '{mail}' --edit '{{"to": 5, "subject": "", "body": ""}}'"#),
            "action 1, to: must be text",
        ),
        (
            &format!(r#"--interrupt '{mail}' --edit '{{"to": "b"}}'"#),
            "action 1, body: required",
        ),
        (
            &format!("--interrupt '{mail}' --edit '{another}'"),
            "can't become another action",
        ),
        (
            &format!("--interrupt {file} --edit {{}}"),
            "action 2 (delete_file) allows only approve, reject",
        ),
        (
            &format!("--interrupt {file} --text x"),
            "action 2 (delete_file) allows only approve, reject",
        ),
    ] {
        world.answer(given).expect(2).says(says);
    }
    assert!(world.sent().is_empty());
    let (yes, no) = (
        json!({"type": "approve"}),
        json!({"type": "reject", "message": "no"}),
    );
    let edited = json!({"type": "edit", "edited_action": {"name": "send_email", "args": args}});
    for (given, expected) in [
        ("--approve", json!({mail: yes, file: yes})),
        ("--reject no", json!({mail: no, file: no})),
        (
            &format!("--interrupt {file} --reject no"),
            json!({ file: no }),
        ),
        (
            &format!("--interrupt '{mail}' --edit '{args_text}'"),
            json!({ mail: edited }),
        ),
        (
            &format!("--interrupt '{mail}' --text sent"),
            json!({mail: {"type": "respond", "message": "sent"}}),
        ),
    ] {
        let world = python().await;
        let done = world.answer(given).expect(0);
        assert_eq!(world.resume(), expected, "{given:?}");
        assert_eq!(world.sent()[0]["multitask_strategy"], "reject");
        let ids: Vec<&String> = expected.as_object().unwrap().keys().collect();
        assert_eq!(done.json()["interrupt_ids"], json!(ids), "{given:?}");
        assert!(
            !done.stderr.contains("! "),
            "nothing is unchecked: {}",
            done.stderr
        );
        assert_eq!(
            done.stderr.contains("1 other question stays open."),
            given.starts_with("--interrupt"),
            "{}",
            done.stderr
        );
    }
    // One is answered; the other one is the only question.
    let world = serve_case(
        agent("percall-thread", "percall-state-after-one"),
        Start::Accepts,
    )
    .await;
    world.answer("--approve").expect(0);
    assert_eq!(world.resume(), json!({ file: yes }));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_a_schema_are_answered_with_a_warning() {
    let (mail, file) = (
        "018be908db32a4cbff696f1c94a0e460",
        "86b1b5a0db6857ad76ce440a7046c5a1",
    );
    let world = serve_case(
        agent("aegra-percall-thread", "aegra-percall-state"),
        Start::Accepts,
    )
    .await;
    assert_eq!(
        world.listed().1,
        format!("answer {THREAD} <--approve|--reject>")
    );
    for given in [
        "--text approve",
        &format!("--interrupt '{mail}' --json true"),
    ] {
        world.answer(given).expect(2);
    }
    assert!(world.sent().is_empty());
    world
        .answer("--approve")
        .expect(0)
        .says("! The server doesn't say which decisions");
    assert_eq!(
        world.resume(),
        json!({mail: {"type": "approve"}, file: {"type": "approve"}})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn several_questions_without_an_id_are_not_answered() {
    let old = |text: &str| json!({"value": {"question": text}, "resumable": true, "ns": ["ask"], "when": "during"});
    let case = with_questions(&[old("Left?"), old("Right?")]);
    let owner = text(&case["thread"]["metadata"], "assistant_id");
    let world = serve_case(case, Start::Accepts).await;
    // No command can name one of them, so none is suggested.
    assert_eq!(world.listed().1, format!("threads get {THREAD}"));
    for given in ["--approve", "--text yes", "--json true"] {
        world
            .answer(given)
            .expect(1)
            .says("2 questions without an id are open")
            .says("Right?");
    }
    let args = format!("run '{owner}' --thread {THREAD} --resume true");
    run_at(world.server.url.as_str(), args)
        .expect(1)
        .says("2 questions without an id are open");
    assert!(
        world
            .server
            .seen()
            .iter()
            .all(|seen| seen.method == "GET" || seen.path == "/threads/search")
    );
    // The only one needs no id.
    let world = serve_case(with_questions(&[old("Left?")]), Start::Accepts).await;
    assert_eq!(world.listed().1, format!("answer {THREAD} --text <TEXT>"));
    world.answer("--text yes").expect(0);
    assert_eq!(world.resume(), json!("yes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_thread_is_not_waiting() {
    let world = serve("failed", Start::Accepts).await;
    world
        .answer("--approve")
        .expect(1)
        .says("The thread has failed; it is not waiting for an answer.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_too_late_is_reported() {
    let world = serve("question", Start::Overtaken).await;
    world
        .answer("--approve")
        .expect(1)
        .says("Someone answered first, so the server refused.");
    let world = serve("question", Start::LosesReply).await;
    let done = world.answer("--approve").expect(0);
    done.says("the server's reply was lost or an error, but the run was started");
    assert_eq!(done.json()["run_id"], "new");
    // Someone answers between the preview and the request.
    let world = serve("question", Start::Accepts).await;
    *world.open_for.lock().unwrap() = 1;
    world
        .answer("--approve")
        .expect(1)
        .says("This question is no longer open. Nothing was sent.");
    assert!(world.sent().is_empty());
    // Someone answered before.
    world
        .answer("--approve")
        .expect(1)
        .says("it is not waiting for an answer");
    assert!(world.sent().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_with_a_rejected_answer_is_not_answered_again() {
    let world = serve("poisoned", Start::Accepts).await;
    let done = world.answer("--approve").expect(1);
    done.says("The graph rejected an earlier answer");
    assert!(
        done.stderr.contains("`runtail fork "),
        "the command that asks again: {}",
        done.stderr
    );
    assert!(world.sent().is_empty());
    let world = serve("cancelled", Start::Accepts).await;
    world
        .answer("--approve")
        .expect(1)
        .says("it is not waiting for an answer");
    assert!(world.sent().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_questions_are_answered_one_after_the_other() {
    let sim = fork::World::start(Scenario::Empty, 1000.0).await;
    let thread = sim.ran("two", json!({})).await;
    let listed = run_at(&sim.url, format!("answer {thread} --text yes"))
        .expect(2)
        .stderr;
    let ids: Vec<&str> = listed
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(ids.len(), 2, "{listed}");
    let first = run_at(
        &sim.url,
        &[
            "answer",
            &thread,
            "--interrupt",
            ids[0],
            "--text",
            "yes",
            "--wait",
        ],
    )
    .expect(0);
    assert_eq!(first.json()["outcome"], "interrupted", "{}", first.stderr);
    first.says("started: Answer thread");
    let command = format!(
        "  To answer: runtail --url {} answer {thread} --interrupt {} --text <TEXT>",
        sim.url, ids[1]
    );
    first.says(&command);
    assert!(!first.stderr.contains("--resume"), "{}", first.stderr);
    run_at(
        &sim.url,
        &["answer", &thread, "--interrupt", ids[0], "--text", "no"],
    )
    .expect(1)
    .says("no longer open");
    let rest = run_at(&sim.url, format!("answer {thread} --text no --wait")).expect(0);
    assert_eq!(rest.json()["outcome"], "success", "{}", rest.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_shows_no_questions_is_not_answered() {
    let sim = fork::World::start(Scenario::Contract, 1000.0).await;
    let thread = sim.ran("approval", json!({"amount": 5, "to": "Ana"})).await;
    let done = run_at(&sim.url, format!("answer {thread} --approve")).expect(1);
    done.says("the answer can't be checked");
    assert!(done.stdout.is_empty(), "{}", done.stderr);
}
