//! JSON that servers send and a strict parser refuses: halves of surrogate pairs, `NaN`, equal keys, long numbers, rows of another
//! type. The inputs of the cases are in `tests/fixtures/cases`.

use crate::ended::{self, Ended, write_config};
use axum::response::Response;
use runtail_testkit::common::{Seen, Server, json, response};
use runtail_testkit::process::Args;
use serde_json::json as value;

/// Runs a command on the server of a case.
async fn runtail(server: &Server, args: impl Args) -> Ended {
    let folder = write_config(&format!(
        "default_profiles = [\"case\"]\n[profiles.case]\nagent_server = \"{0}\"\n[profiles.both]\nagent_server = \"{0}\"\ncontrol_plane = \"{0}\"\n",
        server.url
    ));
    ended::runtail(folder.path(), args).await
}

const THREAD: &str = "11111111-1111-4111-8111-111111111111";
const RUN: &str = "01a2f000-0000-7000-8000-000000000001";
const AT: &str = "2026-11-26T19:50:00Z";

/// Returns a file of a case; none if the case has the default.
fn file(case: &str, name: &str) -> Option<String> {
    let path = format!(
        "{}/tests/fixtures/cases/{case}/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).ok()
}

/// Responds like an agent server with the files of a case.
fn answer(case: &str, seen: &Seen) -> Response {
    let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
    let run = || value!({"run_id": RUN, "thread_id": THREAD, "assistant_id": "a", "status": "success", "created_at": AT});
    let state = || {
        file(case, "state.json")
            .unwrap_or_else(|| value!({"values": {}, "next": [], "tasks": []}).to_string())
    };
    let body = match (seen.method.as_str(), parts.as_slice()) {
        (_, ["info"]) => value!({"version": "1.5.1", "context": "js"}).to_string(),
        (_, ["assistants", "search"]) => {
            value!([{"assistant_id": "a", "graph_id": "agent", "name": "agent"}]).to_string()
        }
        (_, ["threads", "search"]) => match seen.json()["status"].is_string() {
            true => "[]".into(),
            false => file(case, "threads.json").unwrap_or_else(|| "[]".into()),
        },
        ("POST", ["threads", _, "runs", "stream"])
        | ("GET", ["threads", _, "runs", _, "stream"]) => {
            let mut stream = response(
                200,
                "text/event-stream",
                file(case, "run.sse").unwrap_or_default(),
            );
            let place = format!("/threads/{THREAD}/runs/{RUN}").parse().unwrap();
            stream.headers_mut().insert("content-location", place);
            return stream;
        }
        ("GET", ["threads", _, "runs"]) => value!([run()]).to_string(),
        ("GET", ["threads", _, "runs", _]) => run().to_string(),
        ("GET", ["threads", _, "history"]) => format!("[{}]", state()),
        (_, ["threads", _, "state", ..]) => state(),
        ("GET", ["threads", _]) => file(case, "thread.json").unwrap_or_else(|| {
            value!({"thread_id": THREAD, "status": "idle", "created_at": AT}).to_string()
        }),
        _ => return json(404, value!({"detail": "Not Found"})),
    };
    json(200, body)
}

async fn on_case(case: &'static str, args: &[&str]) -> String {
    let server = Server::start(move |seen| answer(case, seen)).await;
    runtail(&server, args).await.expect(0).out
}

async fn streamed(case: &'static str, format: &str) -> String {
    on_case(
        case,
        &[
            "run", "agent", "--thread", THREAD, "--input", "{}", "-o", format,
        ],
    )
    .await
}

#[tokio::test]
async fn case_01_halves_in_two_tokens_are_joined() {
    let text = streamed("01-emoji-halves", "text").await;
    let said: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("Deployed"))
        .collect();
    assert_eq!(said, ["  Deployed 🚀 ok. Broken: x\u{fffd} y"], "{text}");
    assert!(
        streamed("01-emoji-halves", "jsonl")
            .await
            .contains(r#"{"content":"\ud83d","#)
    );
}

#[tokio::test]
async fn case_09a_not_numbers_are_null() {
    let text = streamed("09a-nan-in-stream", "text").await;
    assert!(
        text.contains("  score it\n") && text.contains("  Scored.\n"),
        "{text}"
    );
    let lines = streamed("09a-nan-in-stream", "jsonl").await;
    assert!(
        lines.contains(r#""score":null,"limit":null,"low":null,"label":"ok NaN"}"#),
        "{lines}"
    );
}

#[tokio::test]
async fn case_11_last_of_equal_keys_counts() {
    let text = streamed("11-duplicate-keys", "text").await;
    assert!(
        text.contains("ai\n  final answer\n") && !text.contains("draft"),
        "{text}"
    );
}

#[tokio::test]
async fn case_30a_half_an_emoji_in_metadata_hides_no_thread() {
    let case = "30a-half-emoji-in-metadata";
    for args in [
        ["threads", "list", "-o", "json"],
        ["threads", "list", "-o", "jsonl"],
        ["threads", "get", THREAD, "-o"],
    ] {
        let args: Vec<&str> = args
            .into_iter()
            .chain((args[1] == "get").then_some("jsonl"))
            .collect();
        let text = on_case(case, &args).await;
        assert!(text.contains(r"Ship it \ud83d"), "{text}");
        assert_eq!(text.contains("22222222-"), args[1] == "list", "{text}");
    }
    assert!(
        on_case(case, &["threads", "get", THREAD, "-o", "table"])
            .await
            .contains("Ship it \u{fffd}")
    );
    assert_eq!(
        on_case(case, &["threads", "search", "Ship", "-o", "jsonl"])
            .await
            .lines()
            .count(),
        1
    );
    on_case(case, &["inbox"]).await;
}

#[tokio::test]
async fn case_30c_half_an_emoji_in_a_state_hides_nothing() {
    let case = "30c-half-emoji-in-state";
    for command in ["state", "history"] {
        let text = on_case(case, &["threads", command, THREAD, "-o", "jsonl"]).await;
        assert!(text.contains(r#""content":"Ship it \ud83d""#), "{text}");
    }
    assert!(
        on_case(case, &["threads", "state", THREAD, "-o", "table"])
            .await
            .contains("Ship it \u{fffd}")
    );
    assert!(streamed(case, "text").await.contains("success"));
}

#[tokio::test]
async fn received_values_are_printed_and_sent_exactly() {
    let state = r#"{"values":{"title":"Ship \ud83d","n":1234567890123456789012345,"x":NaN,"a":1,"a":2},"next":[],"tasks":[],
        "metadata":{"source":"loop","step":1},"created_at":"2026-11-26T19:50:00Z","checkpoint":{"checkpoint_id":"c1"}}"#;
    let server =
        Server::start(
            move |seen| match (seen.method.as_str(), seen.path.ends_with("/state")) {
                ("POST", true) => json(200, r#"{"checkpoint":{"checkpoint_id":"c2"}}"#),
                _ if seen.path.contains("/state") => json(200, format!("\u{feff}{state}")),
                _ => answer("", seen),
            },
        )
        .await;
    let text = runtail(&server, format!("threads state {THREAD} -o jsonl"))
        .await
        .expect(0)
        .out;
    let values = r#""values":{"title":"Ship \ud83d","n":1234567890123456789012345,"x":null,"a":2}"#;
    assert!(text.contains(values), "{text}");
}

/// Python refuses half of a surrogate pair with 400, Aegra with 500, and JavaScript stores it and can't read the thread again.
#[tokio::test]
async fn half_an_emoji_is_not_sent() {
    for (args, said) in [
        (
            format!(
                r#"run agent --thread {THREAD} --input '{{"messages":[{{"content":"Ship \ud83d!"}}]}}'"#
            ),
            "--input: half of a character in messages.0.content (",
        ),
        (
            r#"run agent --stateless --input {"a":{"\ude00":1}}"#.to_owned(),
            "--input: half of a character in a.\u{fffd} (",
        ),
        (
            format!(r#"run agent --thread {THREAD} --input {{}} --metadata {{"a":["\ud83d"]}}"#),
            "--metadata: half of a character in a.0 (",
        ),
        (
            format!(r#"state set {THREAD} --values '{{"a":"Ship \ud83d!"}}'"#),
            "--values: half of a character in a (",
        ),
        (
            r#"run agent --input {"a":"\ud83d"}"#.to_owned(),
            "--input: half of a character in a (",
        ),
    ] {
        let state = r#"{"values":{"a":1},"next":[],"tasks":[],"metadata":{"source":"loop","step":1},"created_at":"2026-11-26T19:50:00Z","checkpoint":{"checkpoint_id":"c1"}}"#;
        let server = Server::start(move |seen| match seen.path.contains("/state") {
            true => json(200, state),
            false => answer("", seen),
        })
        .await;
        runtail(&server, &*args)
            .await
            .expect(2)
            .says(said)
            .says("an emoji was cut in two: complete or remove it");
        // Not even a thread for the run was created.
        assert!(
            !server
                .seen()
                .iter()
                .any(|seen| seen.path == "/threads" || seen.body.contains("ud83d"))
        );
    }
}

#[tokio::test]
async fn half_an_emoji_in_a_question_or_a_description_hides_nothing() {
    const ID: &str = "33333333-1111-4111-8111-111111111111";
    let assistant = r#"{"assistant_id":"33333333-1111-4111-8111-111111111111","graph_id":"agent","name":"desk","description":"Ship \ud83d","score":NaN}"#;
    let question = r#"{"id":"i","value":{"question":"Send \ud83d?","amount":NaN}}"#;
    let thread = format!(
        r#"{{"thread_id":"{THREAD}","status":"interrupted","created_at":"{AT}","updated_at":"{AT}","interrupts":{{"t":[{question}]}}}}"#
    );
    let state = format!(
        r#"{{"values":{{}},"next":["ask"],"tasks":[{{"id":"t","name":"ask","interrupts":[{question}]}}],
        "checkpoint":{{"checkpoint_id":"c"}},"metadata":{{"step":1}}}}"#
    );
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/assistants/search" => json(200, format!("[{assistant}]")),
        path if path == format!("/assistants/{ID}") => json(200, assistant),
        "/threads/search" => json(200, format!("[{thread}]")),
        path if path.ends_with("/state") => json(200, &state),
        path if path == format!("/threads/{THREAD}") => json(200, &thread),
        _ => answer("", seen),
    })
    .await;
    for (args, text) in [
        (
            "assistants list -o jsonl".to_owned(),
            r#""description":"Ship \ud83d","score":null"#,
        ),
        (
            format!("assistants get '{ID}' -o json"),
            r#""description": "Ship \ud83d""#,
        ),
        (
            "threads list -o jsonl".to_owned(),
            r#"{"question":"Send \ud83d?","amount":null}"#,
        ),
        (
            format!("threads get {THREAD} -o jsonl"),
            r#"{"question":"Send \ud83d?","amount":null}"#,
        ),
        (
            format!("threads state {THREAD} -o jsonl"),
            r#"{"question":"Send \ud83d?","amount":null}"#,
        ),
        ("inbox -o table".to_owned(), "Send \u{fffd}?"),
    ] {
        let out = runtail(&server, &*args).await.expect(0).out;
        assert!(out.contains(text), "{args:?}: {out}");
    }
}

#[tokio::test]
async fn a_row_of_any_list_costs_only_itself() {
    let server = Server::start(|seen| {
        let row = value!({"id": "i", "name": "n", "run_id": "r", "assistant_id": "a", "cron_id": "c", "namespace": ["n"], "key": "k"});
        let rows = value!([row, 7, "x"]);
        match seen.path.as_str() {
            "/v2/deployments" | "/v2/deployments/i/revisions" | "/v2/listeners" => json(200, value!({"resources": rows})),
            "/v1/integrations/github/install" => json(200, rows),
            "/v2/deployments/i" => json(200, row),
            "/assistants/search" | "/runs/crons/search" => json(200, rows),
            "/store/items/search" => json(200, value!({"items": rows})),
            "/assistants/01a20131-4b8d-7343-b7cc-753049e47444" => json(200, row),
            path if ["/runs", "/versions", "/history"].iter().any(|end| path.ends_with(end)) => json(200, rows),
            _ => answer("", seen),
        }
    })
    .await;
    for (args, list) in [
        (vec!["deployments", "list"], "deployments"),
        (vec!["revisions", "list", "n"], "revisions"),
        (vec!["listeners", "list"], "listeners"),
        (vec!["integrations", "list"], "integrations"),
        (vec!["assistants", "list"], "assistants"),
        (
            vec![
                "assistants",
                "versions",
                "01a20131-4b8d-7343-b7cc-753049e47444",
            ],
            "versions",
        ),
        (vec!["crons", "list"], "crons"),
        (vec!["store", "search"], "items"),
        (vec!["runs", "list", THREAD], "runs"),
        (vec!["threads", "history", THREAD], "checkpoints"),
    ] {
        let args: Vec<&str> = args
            .into_iter()
            .chain(["--profile", "both", "-o", "jsonl"])
            .collect();
        // A list of a control plane is for scripts that act on all of its rows.
        let (code, place) = match args[0] {
            "deployments" | "revisions" | "listeners" | "integrations" => (1, "runtail: both"),
            _ => (0, "warning"),
        };
        let done = runtail(&server, &args).await.expect(code);
        let why = format!(
            "{place}: 2 rows of the list of {list} couldn't be read: a row is not a record: 7"
        );
        done.says(&why);
        assert!(done.rows().len() == 1, "{}", done.err);
    }
}

#[tokio::test]
async fn a_row_that_is_no_record_costs_only_itself() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/threads/search" => json(
            200,
            format!(r#"[7,{{"thread_id":"{THREAD}","status":"idle"}},{{"status":"busy"}}]"#),
        ),
        _ => answer("", seen),
    })
    .await;
    let done = runtail(&server, "threads search status:idle -o jsonl")
        .await
        .expect(0);
    assert_eq!(
        (done.rows().len(), done.err.lines().count()),
        (1, 1),
        "{}",
        done.err
    );
    let why = "warning: 2 rows of the list of threads couldn't be read: a row is not a record: 7";
    assert!(done.err.starts_with(why), "{}", done.err);
}

/// A row that can't be read may be the one that was looked for.
#[tokio::test]
async fn a_lookup_that_finds_nothing_says_which_rows_it_could_not_read() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/assistants/search" => json(
            200,
            r#"[{"assistant_id":"a","graph_id":"agent","name":"n"},7,"x"]"#,
        ),
        "/store/namespaces" => json(200, r#"{"namespaces":[["a"],7,["b",1]]}"#),
        _ => answer("", seen),
    })
    .await;
    let rows = "warning: 2 rows of the list of";
    let done = runtail(&server, "assistants get desk").await.expect(1);
    let why = format!("{rows} assistants couldn't be read: a row is not a record: 7");
    done.says(&why).says("there is no assistant \"desk\"");
    let done = runtail(&server, "store namespaces -o jsonl")
        .await
        .expect(0);
    let why = format!("{rows} namespaces couldn't be read: a row is not a namespace: 7");
    done.says(&why);
    assert!(done.rows().len() == 1, "{}", done.err);
}
