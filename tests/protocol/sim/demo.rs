//! The threads of the demo and their runs.

use crate::sim::{Live, World, world};
use runtail_sim::Options;
use serde_json::{Value, json};

/// Returns the thread with this subject, its state and its runs, newest first. Later requests of the world are sent to its server.
async fn thread_about(world: &mut World, subject: &str) -> (Value, Value, Vec<Value>) {
    let search = json!({"metadata": {"subject": subject}});
    let agents: Vec<String> = world
        .sim
        .agents()
        .iter()
        .map(|one| one.url.clone())
        .collect();
    for agent in agents {
        world.agent = agent;
        let threads: Value = world
            .post("/threads/search", search.clone())
            .await
            .json()
            .await
            .expect("JSON");
        if let Some(id) = threads[0]["thread_id"].as_str() {
            let [thread, state, runs] =
                ["", "/state", "/runs"].map(|part| format!("/threads/{id}{part}"));
            let runs = world.json(&runs).await.as_array().expect("a list").clone();
            return (world.json(&thread).await, world.json(&state).await, runs);
        }
    }
    panic!("no thread about {subject}");
}

#[tokio::test]
async fn demo_has_a_thread_of_every_status() {
    let mut world = world(Options::demo()).await;
    // Subject, status of the thread, statuses of its runs (newest first), next nodes.
    let table: [(&str, &str, &[&str], &[&str]); 23] = [
        ("late parcel", "idle", &["success", "success"], &[]),
        ("docs crawl", "busy", &["running"], &["fetch", "index"]),
        (
            "price import",
            "busy",
            &["pending", "running"],
            &["fetch", "index"],
        ),
        ("which order", "interrupted", &["success"], &["ask"]),
        (
            "October export",
            "interrupted",
            &["success"],
            &["HumanInTheLoopMiddleware.after_model"],
        ),
        ("newsletter review", "interrupted", &["success"], &["ask"]),
        (
            "two checks",
            "interrupted",
            &["success"],
            &["left", "right"],
        ),
        ("release 2.4.1", "interrupted", &["success"], &["release"]),
        (
            "supplier crawl",
            "interrupted",
            &["interrupted"],
            &["fetch", "index"],
        ),
        ("corrected answer", "idle", &["success"], &[]),
        ("warehouse sync", "error", &["error", "success"], &["fetch"]),
        ("retry loop", "error", &["error"], &["step"]),
        ("orphaned import", "busy", &[], &[]),
        ("invoice 4468, what if", "idle", &[], &["ask"]),
        (
            "September export",
            "error",
            &["error", "success"],
            &["HumanInTheLoopMiddleware.after_model"],
        ),
        ("returns", "idle", &["success", "success", "success"], &[]),
        ("release 2.4.0", "idle", &["success"], &[]),
        ("delay notice", "interrupted", &["success"], &["ask"]),
        ("invoice 4470", "interrupted", &["success"], &["ask"]),
        ("invoice 4475", "idle", &["success", "success"], &[]),
        ("search index", "busy", &["pending", "success"], &[]),
        ("embeddings", "busy", &["running"], &["nap"]),
        ("three attempts", "idle", &["success"; 7], &[]),
    ];
    for (subject, status, statuses, next) in table {
        let (thread, state, runs) = thread_about(&mut world, subject).await;
        assert_eq!(thread["status"], status, "{subject}");
        let of_runs: Vec<&str> = runs
            .iter()
            .filter_map(|run| run["status"].as_str())
            .collect();
        assert_eq!(of_runs, statuses, "{subject}");
        let nodes: Vec<&str> = state["next"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let known =
            nodes.iter().all(|node| next.contains(node)) && nodes.is_empty() == next.is_empty();
        assert!(known, "{subject}: {nodes:?}");
        // Only failed threads have an error.
        assert_eq!(
            thread["error"].is_object(),
            status == "error" || subject == "supplier crawl",
            "{subject}"
        );
        check_times(&world, &thread, &runs).await;
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn time(value: &Value) -> jiff::Timestamp {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("a time: {value}"))
}

/// Checks that the times of a thread, its runs and its states agree.
async fn check_times(world: &World, thread: &Value, runs: &[Value]) {
    let (id, subject) = (text(&thread["thread_id"]), &thread["metadata"]["subject"]);
    let history = world
        .json(&format!("/threads/{id}/history?limit=1000"))
        .await;
    let history = history.as_array().expect("a list");
    let saved: Vec<_> = history.iter().map(|one| time(&one["created_at"])).collect();
    assert!(saved.is_sorted_by(|a, b| a > b), "{subject}: newest first");
    for run in runs {
        let (from, to) = (time(&run["created_at"]), time(&run["updated_at"]));
        let running = run["status"] == "running";
        let mut own = history
            .iter()
            .zip(&saved)
            .filter(|(state, _)| state["metadata"]["run_id"] == run["run_id"]);
        let fits = own.all(|(_, at)| *at >= from && (running || *at <= to));
        assert!(
            time(&thread["created_at"]) < from && from <= to && fits,
            "{subject}: {run}"
        );
    }
    assert!(
        saved
            .first()
            .is_some_and(|at| *at <= jiff::Timestamp::now())
    );
    let ended = thread["status"] != "busy" && !runs.is_empty();
    assert!(
        !ended || time(&thread["updated_at"]) >= saved[0],
        "{subject}"
    );
}

#[tokio::test]
async fn a_run_of_the_past_took_its_time_and_can_be_replayed_if_it_is_active() {
    let mut world = world(Options::demo()).await;
    let (_, _, runs) = thread_about(&mut world, "release 2.4.0").await;
    let took = time(&runs[0]["updated_at"]).duration_since(time(&runs[0]["created_at"]));
    assert_eq!(took.as_secs(), 625, "ten minutes and 25 seconds");
    let (_, _, runs) = thread_about(&mut world, "late parcel").await;
    let (thread, run) = (text(&runs[0]["thread_id"]), text(&runs[0]["run_id"]));
    assert_eq!(
        world.join(thread, run, Some("-")).await,
        [],
        "the run ended more than two minutes ago"
    );
    let (_, _, runs) = thread_about(&mut world, "docs crawl").await;
    let (thread, run) = (text(&runs[0]["thread_id"]), text(&runs[0]["run_id"]));
    let path = format!("{}/threads/{thread}/runs/{run}/stream", world.agent);
    let request = world.http.get(path).header("Last-Event-ID", "-");
    let mut live = Live::new(request.send().await.expect("a response"));
    live.until_text(|text| text.matches("event: updates").count() > 40)
        .await;
    let first = time(&runs[0]["created_at"]).as_millisecond();
    let age = |event: &crate::sim::Event| -> i64 {
        let id = event.id.as_deref().expect("an id").trim_end_matches("-0");
        id.parse::<i64>().expect("milliseconds") - first
    };
    let ages: Vec<i64> = crate::sim::events(&live.text).iter().map(age).collect();
    assert!(
        ages.is_sorted() && ages[0] < 5_000 && ages.last() > Some(&600_000),
        "{ages:?}"
    );
}
