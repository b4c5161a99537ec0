//! `inbox`: against the simulator, and against scripted servers for failures and limits.

use crate::ended::{profile, runtail, write_config};
use axum::response::Response;
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::common::{Closed, Seen, Server, json};

use serde_json::{Value, json as value};

fn causes(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|row| row["cause"].as_str().unwrap_or("none"))
        .collect()
}

/// A time so many seconds ago.
fn ago(seconds: i64) -> String {
    (jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds)).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_and_failed_threads_are_listed() {
    let sim = Sim::start(Options::default()).await.unwrap();
    let folder = write_config(&profile("'$lab'", "agent_server", &sim.agents()[0].url));
    let run = async |graph: &str, input: &str, code: i32| {
        runtail(folder.path(), format!("run '{graph}' --input '{input}'"))
            .await
            .expect(code);
    };
    run("approval", r#"{"amount": 5, "to": "x"}"#, 0).await;
    run("broken", r#"{"error": "ValueError", "message": "no"}"#, 1).await;
    let rows = runtail(folder.path(), &["inbox"]).await.expect(0).rows();
    assert_eq!(causes(&rows), ["question", "error"]);
    assert_eq!(
        (&rows[0]["profile"], &rows[0]["status"]),
        (&value!("$lab"), &value!("interrupted"))
    );
    assert_eq!(
        rows[0]["interrupts"][0]["value"]["question"],
        "Approve this payment?"
    );
    let (thread, id) = (
        rows[0]["thread_id"].as_str().unwrap(),
        rows[0]["interrupts"][0]["id"].as_str().unwrap(),
    );
    let name = rows[0]["deployment"].as_str().unwrap();
    let expected = format!(
        "runtail -p '$lab' -d '{name}' answer {thread} --interrupt {id} <--approve|--reject|--text TEXT>"
    );
    assert_eq!(rows[0]["command"], expected);
    assert_eq!(rows[1]["detail"], "ValueError: no");
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_of_waiting_threads_are_listed() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let sim = Sim::start(Options::default()).await.unwrap();
    let url = &sim.agents()[0].url;
    let folder = write_config(&profile("lab", "agent_server", url));
    let inbox = async || runtail(folder.path(), &["inbox"]).await.expect(0).rows();
    runtail(
        folder.path(),
        r#"run approval --input '{"amount": 5, "to": "x"}'"#,
    )
    .await
    .expect(0);
    let original = inbox().await[0]["thread_id"].as_str().unwrap().to_string();
    let copied = client
        .post(format!(
            "{}/threads/{original}/copy",
            url.trim_end_matches('/')
        ))
        .send()
        .await
        .unwrap();
    let copy: Value = serde_json::from_str(&copied.text().await.unwrap()).unwrap();
    let copy = copy["thread_id"].as_str().unwrap();
    let rows = inbox().await;
    let row = rows
        .iter()
        .find(|row| row["thread_id"] == copy)
        .unwrap_or_else(|| panic!("{rows:#?}"));
    assert_eq!(
        (&row["status"], &row["cause"]),
        (&value!("idle"), &value!("question"))
    );
    assert_eq!(
        row["interrupts"][0]["value"]["question"],
        "Approve this payment?"
    );
    // Once it is answered, it is a thread like others.
    runtail(folder.path(), format!("answer {copy} --approve"))
        .await
        .expect(0);
    assert!(inbox().await.iter().all(|row| row["thread_id"] != copy));
}

#[tokio::test]
async fn servers_that_cannot_be_reached_have_no_connection() {
    let closed = Closed::bind();
    let config = profile("lab", "agent_server", closed.url());
    runtail(write_config(&config).path(), &["inbox"])
        .await
        .expect(5)
        .says("lab")
        .says("connection");
}

#[tokio::test]
async fn servers_without_a_search_are_named_and_fail() {
    let sim = Sim::start(Options {
        scenario: Scenario::Contract,
        ..Options::default()
    })
    .await
    .unwrap();
    let url = &sim.agents()[0].url;
    let ended = runtail(
        tempfile::tempdir().unwrap().path(),
        format!("--url {url} inbox"),
    )
    .await
    .expect(1);
    assert_eq!(ended.out, "");
    assert_eq!(
        ended
            .err
            .matches("not offered by this server: it can't list threads")
            .count(),
        1,
        "{}",
        ended.err
    );
    // The rows of other servers are printed, and the server is named by profile and deployment.
    let row = value!({"thread_id": "t", "status": "interrupted", "interrupts": {"t": [{"id": "0a", "value": "Which?"}]}});
    let good = listing(move |_| json(200, value!([row]))).await;
    let text = format!(
        "[profiles.lab]\nagent_server = {{ old = \"{url}\", good = \"{}\" }}\n",
        good.url
    );
    let ended = runtail(write_config(&text).path(), &["inbox"])
        .await
        .expect(1);
    assert_eq!(ended.rows()[0]["deployment"], "good", "{}", ended.err);
    assert!(
        ended
            .err
            .starts_with("runtail: lab/old: not offered by this server"),
        "{}",
        ended.err
    );
}

/// Starts a server whose search returns these threads for any status, and that has no other endpoints.
async fn listing(threads: impl Fn(&Seen) -> Response + Send + Sync + 'static) -> Server {
    Server::start(move |seen| match seen.path.as_str() {
        "/threads/search" => threads(seen),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await
}

#[tokio::test]
async fn one_request_per_status_without_values_and_local_filters() {
    let server = listing(|seen| {
        let key = seen.header("x-api-key").unwrap_or_default();
        let asks = value!({"task": [{"id": "0a", "value": format!("Is {key} yours?\u{1b}[31m")}]});
        let thread = |id: &str, status: &str, at: String| value!({"thread_id": id, "status": status, "updated_at": at});
        let mut waiting = thread("w'; $(id)", "interrupted", ago(30));
        waiting["interrupts"] = asks;
        // The server ignores the filter by status.
        json(
            200,
            value!([
                thread("quiet", "idle", ago(50)),
                thread("old", "error", ago(3 * 86400)),
                thread("new", "error", ago(60)),
                thread("works", "busy", ago(5)),
                waiting,
                thread("unclear", "interrupted", ago(90)),
            ]),
        )
    })
    .await;
    let folder = write_config(&profile("lab", "agent_server", &server.url));
    let ended = runtail(folder.path(), &["inbox"]).await.expect(0);
    let rows = ended.rows();
    let ids: Vec<&str> = rows
        .iter()
        .map(|row| row["thread_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["unclear", "w'; $(id)", "new"], "{}", ended.err);
    assert_eq!(causes(&rows), ["none", "question", "error"]);
    // A key that a question repeats is masked, and control characters are escaped.
    assert!(
        ended.out.contains("Is *** yours?") && !ended.out.contains('\u{1b}'),
        "{}",
        ended.out
    );
    let command = rows[1]["command"].as_str().unwrap();
    assert!(
        command.contains(r" answer 'w'\''; $(id)' --interrupt 0a "),
        "{command}"
    );
    let searches: Vec<Value> = server
        .seen()
        .iter()
        .filter(|seen| seen.path == "/threads/search")
        .map(Seen::json)
        .collect();
    let statuses: Vec<&Value> = searches.iter().map(|body| &body["status"]).collect();
    assert_eq!(statuses, ["interrupted", "error", "busy"]);
    assert_eq!(
        (&searches[0]["sort_order"], &searches[1]["sort_order"]),
        (&value!("asc"), &value!("desc"))
    );
    assert!(
        !searches[0]["select"].to_string().contains("values"),
        "{}",
        searches[0]
    );
    let table = runtail(folder.path(), "inbox -o table").await.expect(0);
    assert!(
        !table.out.contains('\u{1b}') && table.out.contains("Is *** yours?"),
        "{}",
        table.out
    );
}

#[tokio::test]
async fn rows_that_are_not_records_are_skipped_and_counted() {
    let row = value!({"thread_id": "t", "status": "interrupted", "interrupts": {"t": [{"id": "0a", "value": "Which?"}]}});
    let server = listing(move |_| json(200, value!([null, row, 7]))).await;
    let ended = runtail(
        write_config(&profile("lab", "agent_server", &server.url)).path(),
        &["inbox"],
    )
    .await
    .expect(0);
    assert_eq!(ended.rows()[0]["thread_id"], "t");
    let says = "lab: 2 rows of the list of threads with the status interrupted couldn't be read: a row is not a record";
    ended.says(says);
}

#[tokio::test]
async fn questions_that_are_answered_in_the_state_are_not_listed() {
    let ask = |id: &str, text: &str| value!({"id": id, "value": text});
    let state = |tasks: Value| value!({"values": {}, "next": ["a"], "tasks": tasks, "checkpoint": {"checkpoint_id": "c"}});
    let task = |name: &str, asks: Value, result: Value| value!({"id": name, "name": name, "interrupts": asks, "result": result});
    let open = state(value!([
        task("a", value!([ask("0a", "Left?")]), Value::Null),
        task("b", value!([]), value!({"x": 1}))
    ]));
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/threads/search" => {
            let asks = value!({"a": [ask("0a", "Left?")], "b": [ask("0b", "Right?")]});
            json(200, value!([{"thread_id": "t", "status": "interrupted", "updated_at": ago(60), "interrupts": asks}]))
        }
        "/threads/t/state" => json(200, open.clone()),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let ended = runtail(
        write_config(&profile("lab", "agent_server", &server.url)).path(),
        &["inbox"],
    )
    .await
    .expect(0);
    let rows = ended.rows();
    let asks = rows[0]["interrupts"].as_array().unwrap();
    assert_eq!(
        (asks.len(), &asks[0]["id"]),
        (1, &value!("0a")),
        "{}",
        ended.err
    );
    assert_eq!(rows[0]["question"], "Left?");
}

#[tokio::test]
async fn the_table_has_the_command_below_each_row() {
    let row = value!({"thread_id": "t", "status": "interrupted", "interrupts": {"t": [{"id": "0a", "value": "Which?"}]}});
    let server = listing(move |_| json(200, value!([row]))).await;
    let folder = write_config(&profile("lab", "agent_server", &server.url));
    let out = runtail(folder.path(), "inbox -o table").await.expect(0).out;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        (lines.len(), lines[2]),
        (
            3,
            "  runtail -p lab -d lab answer t --interrupt 0a --text <TEXT>"
        ),
        "{out}"
    );
}

#[tokio::test]
async fn failed_servers_do_not_hide_the_rows_of_others() {
    let row = |id: &str| value!({"thread_id": id, "status": "interrupted", "updated_at": ago(60), "interrupts": {"t": [{"id": "0a", "value": "Which?"}]}});
    let good = listing(move |_| json(200, value!([row("here")]))).await;
    let denied = listing(|_| json(401, r#"{"detail":"who?"}"#)).await;
    let text = profile("denied", "agent_server", &denied.url)
        + &profile("good", "agent_server", &good.url);
    let folder = write_config(&text);
    let ended = runtail(folder.path(), &["inbox"]).await.expect(3);
    assert_eq!(ended.rows().len(), 1, "{}", ended.out);
    assert_eq!(
        ended.err.matches("runtail: denied: POST ").count(),
        1,
        "{}",
        ended.err
    );
    // The control plane of a region is down.
    let down = "[profiles.down]\ncontrol_plane = \"http://127.0.0.1:1\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n";
    let folder = write_config(&(down.to_string() + &profile("good", "agent_server", &good.url)));
    let ended = runtail(folder.path(), &["inbox"]).await.expect(5);
    assert_eq!(ended.rows()[0]["thread_id"], "here");
    assert!(
        ended.err.starts_with("runtail: down: GET "),
        "{}",
        ended.err
    );
    assert_eq!(
        runtail(folder.path(), "-p down inbox -o table")
            .await
            .expect(5)
            .out,
        ""
    );
}

#[tokio::test]
async fn long_lists_are_cut_and_say_so() {
    let server = listing(|seen| {
        let (from, limit) = (seen.json()["offset"].as_u64().unwrap(), seen.json()["limit"].as_u64().unwrap());
        let is_asked = seen.json()["status"] == "interrupted";
        let ids = if is_asked { from..(from + limit).min(1500) } else { 0..0 };
        let row = |n: u64| {
            value!({"thread_id": format!("t{n}"), "status": "interrupted", "updated_at": ago(60), "interrupts": {"t": [{"id": "0a", "value": "Which?"}]}})
        };
        json(200, Value::Array(ids.map(row).collect()))
    })
    .await;
    let folder = write_config(&profile("lab", "agent_server", &server.url));
    let ended = runtail(folder.path(), &["inbox"]).await.expect(0);
    assert_eq!(ended.rows().len(), 1000);
    ended.says("only the 1000 threads with the status interrupted were read");
}

#[tokio::test]
async fn serverless_deployments_are_asked_only_by_name() {
    let agent = || {
        Server::start(|request| match request.path.as_str() {
            "/threads/search" => json(200, "[]"),
            _ => json(404, r#"{"detail":"Not Found"}"#),
        })
    };
    let (night, day) = (agent().await, agent().await);
    let row = |id: &str, name: &str, kind: &str, url: &str| value!({"id": id, "name": name, "status": "READY", "url": url, "source_config": {"deployment_type": kind}});
    let (first, second) = (
        "11111111-1111-4111-8111-111111111111",
        "22222222-2222-4222-8222-222222222222",
    );
    let rows = [
        row(first, "night-bot", "serverless", night.url.as_ref()),
        row(second, "day-bot", "prod", day.url.as_ref()),
    ];
    let control = Server::start(move |request| match request.path.as_str() {
        "/v2/deployments" => json(200, value!({"resources": rows, "offset": 0})),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let folder = write_config(&format!(
        "[profiles.lab]\ncontrol_plane = \"{}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n",
        control.url
    ));
    runtail(folder.path(), &["inbox"])
        .await
        .expect(0)
        .says("lab: not asked, because that would wake them: night-bot");
    assert!(
        night.seen().is_empty() && !day.seen().is_empty(),
        "{:?}",
        night.seen()
    );
    runtail(folder.path(), "inbox -d night-bot").await.expect(0);
    assert!(!night.seen().is_empty());
}
