//! `state set --editor`: what is sent, and what is refused.

use super::{World, id};
use runtail_sim::Scenario;
use runtail_testkit::common::{Server, json as respond};
use runtail_testkit::process::{Done, command, launch};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// Runs `state set T --editor` with a shell command as the editor; the file is its `$1`.
fn edit(url: &str, thread: &str, editor: &str, more: &[&str]) -> Done {
    let mut command = command(
        ["--url", url, "state", "set", thread, "--editor"]
            .iter()
            .chain(more),
    );
    command
        .env("VISUAL", format!("sh -c '{editor}' --"))
        .env("TMPDIR", std::env::temp_dir());
    launch(command, "").wait()
}

/// Returns the text that a failure keeps, and deletes its file.
fn kept(done: &Done) -> String {
    let path = done
        .stderr
        .lines()
        .find_map(|line| line.split_once("your text is kept in "))
        .expect(&done.stderr)
        .1;
    let text = std::fs::read_to_string(path.trim()).expect("the kept text");
    std::fs::remove_file(path.trim()).expect("a file");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_keys_are_sent_after_a_yes() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world
        .ran("approval", json!({"amount": 5, "to": "Ana"}))
        .await;
    let before = world.records(&thread).await;
    let change = r#"sed -i s/5\ EUR/6\ EUR/ "$1""#;
    // Nothing is sent without a yes, and the text is kept.
    let done = edit(&world.url, &thread, change, &[]).expect(2);
    done.says("draft: send 5 EUR to Ana → send 6 EUR to Ana");
    done.says("add --yes to confirm");
    assert!(kept(&done).contains("\"draft\": \"send 6 EUR to Ana\""));
    let done = edit(&world.url, &thread, change, &["--dry-run", "-o", "json"]).expect(0);
    assert_eq!(
        done.json()["request"]["body"]["values"],
        json!({"draft": "send 6 EUR to Ana"})
    );
    assert_eq!(world.records(&thread).await, before);
    let done = edit(&world.url, &thread, change, &["--yes"]).expect(0);
    done.says("reducers apply the edit on the server");
    let state = world.get(&format!("/threads/{thread}/state")).await;
    assert_eq!(state["values"]["draft"], "send 6 EUR to Ana");
    assert_eq!(done.json()["checkpoint_id"], json!(id(&state)));
    // An older checkpoint, in the name of a node.
    let first = world.before(&thread, "draft").await;
    let add = r#"sed -i "s/^{/{\"draft\": \"none\",/" "$1""#;
    edit(
        &world.url,
        &thread,
        add,
        &["--yes", "--checkpoint", &first, "--as-node", "ask"],
    )
    .expect(0)
    .says("Counts as a write of ask. Next: act.");
    let state = world.get(&format!("/threads/{thread}/state")).await;
    assert_eq!(
        (&state["values"]["draft"], &state["next"]),
        (&json!("none"), &json!(["act"]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_cannot_be_sent_are_kept() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world
        .ran("approval", json!({"amount": 5, "to": "Ana"}))
        .await;
    let before = world.records(&thread).await;
    let done = edit(&world.url, &thread, "true", &["--yes"]).expect(0);
    done.says("nothing is changed; nothing was sent");
    assert!(done.stdout.is_empty(), "{}", done.stderr);
    let done = edit(&world.url, &thread, "false", &["--yes"]).expect(2);
    done.says("exited with").says("nothing was sent");
    // The editor fails after it has saved, or saves bytes that are not text. A failure may mean "discard", so nothing is sent.
    for editor in [
        r#"sed -i s/5/6/ "$1"; exit 3"#,
        r#"sed -i s/5/6/ "$1"; kill -9 $$"#,
        r#"printf "{\377" > "$1""#,
    ] {
        let done = edit(&world.url, &thread, editor, &["--yes"]).expect(2);
        done.says("nothing was sent");
        let path = done
            .stderr
            .lines()
            .find_map(|line| line.split_once("your text is kept in "))
            .expect(&done.stderr)
            .1;
        std::fs::remove_file(path.trim()).expect("a file");
    }
    for (editor, says) in [
        (r#"echo "{" > "$1""#, "EOF while parsing"),
        (
            r#"sed -i "s/^{/{\"nokey\": 1,/" "$1""#,
            "the state has no key nokey",
        ),
        (r#": > "$1""#, "the edited text is empty; nothing was sent"),
        (
            r#"sed -i /amount/d "$1""#,
            "amount is missing: a key can't be removed, only set to null",
        ),
    ] {
        let done = edit(&world.url, &thread, editor, &["--yes"]).expect(2);
        done.says(says);
        let kept = kept(&done);
        assert!(kept.starts_with('{') || kept.is_empty(), "{editor}: {kept}");
    }
    for (args, says) in [
        (
            ["--checkpoint", "1f1e0000-0000-6000-8000-000000000000"].as_slice(),
            "has no checkpoint 1f1e0000",
        ),
        (&["--values", "{}"], "cannot be used with"),
        // Before anything is typed.
        (&["--as-node", "nonode"], "the graph has no node nonode"),
    ] {
        let done = edit(&world.url, &thread, "true", args);
        done.says(says);
        assert!(done.code != Some(0), "{}", done.stderr);
        assert!(
            !done.stderr.contains("your text"),
            "{args:?}: {}",
            done.stderr
        );
    }
    world
        .runtail(format!("state set {thread}"))
        .expect(2)
        .says("or edit the state with --editor");
    edit(&world.url, &thread, "rm \"$1\"", &["--yes", "--read-only"])
        .expect(3)
        .says("nothing was changed");
    assert_eq!(world.records(&thread).await, before);
    let world = World::start(Scenario::Contract, 1000.0).await;
    let thread = world.released().await;
    edit(&world.url, &thread, "true", &["--yes"])
        .expect(1)
        .says("has no call that reads a thread's state");
}

const THREAD: &str = "01a1fbb5-0000-7000-8000-000000000001";

/// A thread whose newest checkpoint changes after some reads, with values of this many bytes.
async fn serve(changes_after: usize, bytes: usize, writes: Arc<Mutex<usize>>) -> Server {
    let reads = Mutex::new(0);
    let text = "x".repeat(bytes);
    Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        let state = |id: &str| {
            json!({"values": {"log": [], "text": text}, "next": ["act"], "tasks": [], "created_at": "2026-11-22T03:00:00Z",
                   "metadata": {"source": "loop", "step": 1}, "checkpoint": {"checkpoint_id": id}})
        };
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("GET", ["threads", THREAD]) => respond(
                200,
                json!({"thread_id": THREAD, "status": "idle", "metadata": {"graph_id": "a", "assistant_id": "a"}}),
            ),
            ("GET", ["threads", THREAD, "state"]) => {
                let mut reads = reads.lock().unwrap();
                *reads += 1;
                respond(200, state(if *reads > changes_after { "other" } else { "mine" }))
            }
            ("GET", ["threads", THREAD, "state", id]) => respond(200, state(id)),
            ("GET", ["threads", THREAD, "runs"]) => respond(200, "[]"),
            ("POST", ["threads", THREAD, "state"]) => {
                *writes.lock().unwrap() += 1;
                respond(200, json!({"checkpoint": {"checkpoint_id": "new"}}))
            }
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_changes_while_it_is_edited_is_left_alone() {
    let writes = Arc::new(Mutex::new(0));
    let change = r#"sed -i "s/\[\]/[1]/" "$1""#;
    let server = serve(1, 10, writes.clone()).await;
    let done = edit(server.url.as_str(), THREAD, change, &["--yes"]).expect(1);
    done.says("the thread changed while you edited; nothing was sent");
    assert!(kept(&done).contains('1'));
    assert_eq!(*writes.lock().unwrap(), 0);
    let server = serve(usize::MAX, 10, writes.clone()).await;
    edit(server.url.as_str(), THREAD, change, &["--yes"]).expect(0);
    assert_eq!(*writes.lock().unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_states_are_not_opened_in_the_editor() {
    let server = serve(usize::MAX, 50 << 20, Arc::default()).await;
    edit(server.url.as_str(), THREAD, r#"rm "$1""#, &["--yes"])
        .expect(2)
        .says("the values have 52.4 MB; the editor takes up to 2.1 MB")
        .says("--values @FILE");
}
