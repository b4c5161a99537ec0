//! `answer --rules`: against the simulator, and against scripted servers for what must not be sent.

use crate::ended::{profile, runtail, write_config};
use runtail_testkit::common::{Server, json as respond};
use serde_json::{Value, json};

const RULES: &str = "[[answer]]\nmatch = \"action:delete_*\"\ndecision = \"reject\"\nmessage = \"by hand\"\n\
                     [[answer]]\nmatch = \"action:send_*\"\ndecision = \"approve\"\n";

/// A server whose threads ask these questions, one each, and that accepts each answer once.
async fn asking(questions: &[(&'static str, Value)]) -> Server {
    asking_with(questions, || ()).await
}

/// [`asking`], with a function that is called at each start of a run.
async fn asking_with(
    questions: &[(&'static str, Value)],
    on_start: impl Fn() + Send + Sync + 'static,
) -> Server {
    let questions: Vec<(&str, Value)> = questions.to_vec();
    let answered = std::sync::Mutex::new(Vec::<String>::new());
    Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        let mut answered = answered.lock().unwrap();
        let interrupt = |id: &str| {
            let (at, (_, value)) = questions.iter().enumerate().find(|(_, (own, _))| *own == id)?;
            Some(json!({"id": format!("{at:032x}"), "value": value}))
        };
        let thread = |id: &str, answered: &[String]| {
            let open = !answered.iter().any(|own| own == id);
            let (status, asks) =
                if open { ("interrupted", json!({"t": [interrupt(id)]})) } else { ("idle", json!({})) };
            json!({"thread_id": id, "status": status, "interrupts": asks, "updated_at": "2026-11-21T10:00:00Z",
                   "metadata": {"assistant_id": "a-1", "graph_id": "support"}})
        };
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("POST", ["threads", "search"]) if seen.json()["status"] == "interrupted" => {
                let rows = questions.iter().map(|(id, _)| thread(id, &answered));
                respond(200, Value::Array(rows.filter(|row| row["status"] == "interrupted").collect()))
            }
            ("POST", ["threads", "search"]) => respond(200, "[]"),
            ("GET", ["threads", id]) => respond(200, thread(id, &answered)),
            ("GET", ["threads", id, "state"]) => {
                let open = !answered.iter().any(|own| own == id);
                let task = json!({"id": "t", "name": "ask", "result": null, "interrupts": [interrupt(id)]});
                let tasks = if open { json!([task]) } else { json!([]) };
                respond(200, json!({"values": {}, "next": [], "tasks": tasks, "checkpoint": {"checkpoint_id": "c"}}))
            }
            ("GET", ["threads", _, "runs"]) => respond(200, "[]"),
            ("POST", ["threads", id, "runs"]) => {
                on_start();
                answered.push(id.to_string());
                respond(200, json!({"run_id": format!("run-of-{id}"), "status": "pending"}))
            }
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await
}

fn hitl(names: &[&str]) -> Value {
    let requests: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "args": {"n": 1}}))
        .collect();
    json!({"action_requests": requests})
}

/// The paths and resumes of the runs that were started.
fn sent(server: &Server) -> Vec<(String, Value)> {
    let seen = server.seen();
    let starts = seen
        .iter()
        .filter(|seen| seen.method == "POST" && seen.path.ends_with("/runs"));
    starts
        .map(|seen| (seen.path.clone(), seen.json()["command"]["resume"].clone()))
        .collect()
}

fn results(rows: &[Value]) -> Vec<(&str, &str)> {
    rows.iter()
        .map(|row| {
            (
                row["thread_id"].as_str().unwrap(),
                row["result"].as_str().unwrap(),
            )
        })
        .collect()
}

async fn mixed() -> Server {
    asking(&[
        ("both", hitl(&["delete_file", "send_email"])),
        ("part", hitl(&["send_email", "pay"])),
        ("text", json!("Which city?")),
        ("odd", json!({"action_requests": []})),
        ("one", hitl(&["send_sms"])),
    ])
    .await
}

#[tokio::test]
async fn rules_decide_about_actions_in_every_dialect() {
    let actions = ["delete_file", "send_email"];
    let requests: Vec<Value> = actions
        .iter()
        .map(|name| json!({"name": name, "args": {"n": 1}}))
        .collect();
    let configs: Vec<Value> = actions
        .iter()
        .map(|name| json!({"actionName": name, "allowedDecisions": ["approve", "reject"]}))
        .collect();
    let call = json!({"type": "tool_approval", "tool_call_id": "c", "name": "send_sms", "args": {}, "description": ""});
    let camel = json!({"actionRequests": requests, "reviewConfigs": configs});
    let server = asking(&[("camel", camel), ("call", call)]).await;
    let folder = write_config(&(profile("lab", "agent_server", &server.url) + RULES));
    let ended = runtail(folder.path(), "answer --rules --yes")
        .await
        .expect(0);
    let mut sent = sent(&server);
    sent.sort_by(|a, b| b.0.cmp(&a.0));
    let (yes, no) = (
        json!({"type": "approve"}),
        json!({"type": "reject", "message": "by hand"}),
    );
    assert_eq!(
        sent[0].1,
        json!({format!("{:032x}", 0): {"decisions": [no, yes]}})
    );
    assert_eq!(sent[1].1, json!({format!("{:032x}", 1): yes}));
    ended.says("! JavaScript servers may drop the approved actions");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ctrl_c_sends_no_further_answer_and_reports_all() {
    let (reached, starts) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let names = ["one", "two", "three", "four", "five"];
    let questions = names.map(|name| (name, hitl(&["send_sms"])));
    let server = asking_with(&questions, move || {
        let _ = reached.send(());
        // Returns an error once the test has dropped the sender.
        let _ = tokio::task::block_in_place(|| released.lock().unwrap().recv());
    })
    .await;
    let folder = write_config(&(profile("lab", "agent_server", &server.url) + RULES));
    let mut command =
        runtail_testkit::process::command(["answer", "--rules", "--yes", "-o", "jsonl"]);
    command
        .env("HOME", folder.path())
        .env("XDG_CONFIG_HOME", folder.path())
        .env("RUNTAIL_TEST_KEY", "key");
    let running = runtail_testkit::process::launch(command, "");
    starts.recv().unwrap();
    running.signal(libc::SIGINT);
    drop(release);
    let done = running.wait().expect(130);
    let rows = done.json_lines();
    let words: Vec<&str> = rows
        .iter()
        .map(|row| row["result"].as_str().unwrap())
        .collect();
    let sent = sent(&server).len();
    assert_eq!(
        (words.len(), words[0], words[4]),
        (5, "started", "not_sent"),
        "{words:?}"
    );
    assert_eq!(
        words.iter().filter(|word| **word == "started").count(),
        sent,
        "{words:?}"
    );
}

#[tokio::test]
async fn threads_whose_actions_all_match_are_answered_once() {
    let server = mixed().await;
    let folder = write_config(&(profile("lab", "agent_server", &server.url) + RULES));
    let ended = runtail(folder.path(), "answer --rules --yes")
        .await
        .expect(0);
    let rows = ended.rows();
    let expected = [
        ("both", "started"),
        ("part", "skipped"),
        ("text", "skipped"),
        ("odd", "skipped"),
        ("one", "started"),
    ];
    let mut found = results(&rows);
    found.sort_by_key(|(id, _)| expected.iter().position(|(own, _)| own == id));
    assert_eq!(found, expected);
    let row = |id: &str| rows.iter().find(|row| row["thread_id"] == id).unwrap();
    assert_eq!(row("part")["detail"], "no rule matches the action pay");
    assert_eq!(row("text")["detail"], "it doesn't ask about actions");
    assert_eq!(row("both")["run_id"], "run-of-both");
    assert_eq!(row("both")["decisions"][0]["rule"], "action:delete_*");
    let mut sent = sent(&server);
    sent.sort_by(|a, b| a.0.cmp(&b.0));
    let reject = json!({"type": "reject", "message": "by hand"});
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].0, "/threads/both/runs");
    assert_eq!(
        sent[0].1[format!("{:032x}", 0)],
        json!({"decisions": [reject, {"type": "approve"}]})
    );
    assert_eq!(
        sent[1].1[format!("{:032x}", 4)],
        json!({"decisions": [{"type": "approve"}]})
    );
    ended.says("2 answers, one request each; 3 skipped");
    ended.says("skipped: lab part: no rule matches the action pay");
    let preview =
        "- reject delete_file(n=1) (\u{201c}by hand\u{201d}), by the rule action:delete_*";
    ended.says(preview);
    // Nothing that the rules match is left.
    runtail(folder.path(), "answer --rules --yes")
        .await
        .expect(0)
        .says("the rules match no waiting thread; nothing is sent");
}

#[tokio::test]
async fn nothing_is_sent_without_consent_and_under_read_only() {
    let server = mixed().await;
    let folder = write_config(&(profile("lab", "agent_server", &server.url) + RULES));
    runtail(folder.path(), "answer --rules")
        .await
        .expect(2)
        .says("Send 2 answers: not confirmed");
    // A read-only profile beside others is refused, and the others are answered.
    let other = asking(&[("free", hitl(&["send_x"]))]).await;
    let sealed = profile("sealed", "agent_server", &server.url) + "read_only = true\n";
    let folder = write_config(&(sealed + &profile("open", "agent_server", &other.url) + RULES));
    let ended = runtail(folder.path(), "answer --rules --yes")
        .await
        .expect(3);
    let rows = ended.rows();
    let failed = rows.iter().filter(|row| row["result"] == "failed");
    assert!(
        failed.clone().count() == 2 && failed.clone().all(|row| row["profile"] == "sealed"),
        "{}",
        ended.out
    );
    assert_eq!((sent(&server).len(), sent(&other).len()), (0, 1));
}

#[tokio::test]
async fn rules_and_other_answers_exclude_each_other() {
    let folder = write_config(&profile("lab", "agent_server", "http://127.0.0.1:1"));
    for (args, says) in [
        ("answer --rules", "no rules that answer questions"),
        ("answer --rules --approve", "cannot be used with"),
        ("answer T --rules", "cannot be used with"),
        ("answer --rules --wait", "cannot be used with"),
        ("answer --approve", "required"),
        ("answer T --approve --yes", "--yes belongs to --rules"),
    ] {
        runtail(folder.path(), args).await.expect(2).says(says);
    }
    let bad = write_config(
        &(profile("lab", "agent_server", "http://127.0.0.1:1")
            + "[[answer]]\nmatch = \"read_*\"\ndecision = \"approve\"\n"),
    );
    runtail(bad.path(), "answer --rules")
        .await
        .expect(2)
        .says("is not a pattern of a rule");
}
