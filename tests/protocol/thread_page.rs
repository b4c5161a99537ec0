//! Thread pages: a stream and snapshots of its thread in one log. Earlier messages precede the stream, no events are
//! lost, and missing endpoints are reported without blocking.

use runtail_api::AgentServer;
use runtail_stream::{
    Data, Event, Head, Item, LoaderFactory, PageOptions, Record, Seq, SnapshotLoader, follow_page,
};
use runtail_testkit::common::{Server, json};
use serde_json::{Value, json as value};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The maximum time to wait for an item.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum size of a state in bytes.
const MAX_STATE: usize = 10_000;

/// The server's response for each part: status and body; `None` hangs.
#[derive(Clone)]
struct World {
    thread: Option<(u16, Value)>,
    state: Option<(u16, Value)>,
    history: Option<(u16, Value)>,
    runs: Option<(u16, Value)>,
}

impl World {
    fn idle(words: &str) -> World {
        let state = value!({"values": {"said": words}, "next": [], "tasks": [], "metadata": {}, "checkpoint": {"checkpoint_id": "c"}});
        World {
            thread: Some((200, value!({"thread_id": "t", "status": "idle"}))),
            state: Some((200, state.clone())),
            history: Some((200, value!([state]))),
            runs: Some((
                200,
                value!([{"run_id": "r", "thread_id": "t", "status": "success"}]),
            )),
        }
    }

    fn all(status: u16) -> World {
        let part = || Some((status, value!({"detail": "Not Found"})));
        World {
            thread: part(),
            state: part(),
            history: part(),
            runs: part(),
        }
    }
}

/// Returns as many rows as a query's `limit` allows.
fn newest(mut rows: Value, query: &str) -> Value {
    let limit = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("limit=")?.parse().ok());
    if let (Some(limit), Some(rows)) = (limit, rows.as_array_mut()) {
        rows.truncate(limit);
    }
    rows
}

struct Page {
    world: Arc<Mutex<World>>,
    _server: Server,
    stream: Option<mpsc::Sender<Vec<Item>>>,
    refresh: watch::Sender<u64>,
    log: mpsc::Receiver<Vec<Item>>,
    /// Items that the page has sent and the test has not read.
    waiting: std::collections::VecDeque<Item>,
    seq: Seq,
}

impl Page {
    async fn open(world: World) -> Page {
        let world = Arc::new(Mutex::new(world));
        let answers = world.clone();
        let server = Server::start(move |seen| {
            let world = answers.lock().unwrap().clone();
            let part = match seen.path.as_str() {
                "/info" => Some((
                    200,
                    value!({"version": "0.16.7", "langgraph_py_version": "1.0.0"}),
                )),
                "/threads/t" => world.thread,
                "/threads/t/state" => world.state,
                "/threads/t/history" => world
                    .history
                    .map(|(status, rows)| (status, newest(rows, &seen.query))),
                "/threads/t/runs" => world.runs,
                _ => Some((404, value!({"detail": "Not Found"}))),
            };
            match part {
                Some((status, body)) => json(status, body.to_string()),
                // A response that never ends.
                None => axum::response::Response::new(axum::body::Body::from_stream(
                    futures::stream::pending::<Result<Vec<u8>, std::io::Error>>(),
                )),
            }
        })
        .await;
        let client: AgentServer = server.agent();
        let (stream, items) = mpsc::channel(8);
        let (out, log) = mpsc::channel(8);
        let (refresh, asked) = watch::channel(0);
        let options = PageOptions {
            loader: LoaderFactory(Box::new(move |thread| {
                SnapshotLoader::new(client.clone(), thread, MAX_STATE)
            })),
            thread: Some("t".into()),
            head: Head {
                thread_id: Some("t".into()),
                ..Head::default()
            },
            refresh: asked,
        };
        tokio::spawn(follow_page(options, items, out));
        let waiting = Default::default();
        Page {
            world,
            _server: server,
            stream: Some(stream),
            refresh,
            log,
            waiting,
            seq: Seq::START,
        }
    }

    /// Sends an event on the stream.
    async fn send_event(&mut self, name: &str, data: &str, replayed: bool) {
        self.seq = self.seq.next();
        let (seq, at) = (self.seq, jiff::Timestamp::now());
        let data = Data::Json(data.into());
        let event = Event {
            seq,
            at,
            conn: 1,
            replayed,
            name: name.into(),
            ns: [].into(),
            id: None,
            data,
        };
        self.send(Item::Record(Record::Event(event))).await;
    }

    async fn send(&self, item: Item) {
        self.stream
            .as_ref()
            .expect("open")
            .send(vec![item])
            .await
            .expect("the page reads items");
    }

    async fn next(&mut self) -> Item {
        loop {
            if let Some(item) = self.waiting.pop_front() {
                return item;
            }
            let items = tokio::time::timeout(TIMEOUT, self.log.recv())
                .await
                .expect("an item in time");
            self.waiting.extend(items.expect("the page continues"));
        }
    }

    /// The next event or snapshot, as its name and data.
    async fn next_event(&mut self) -> (String, Value) {
        loop {
            if let Item::Record(Record::Event(event)) = self.next().await {
                let data = serde_json::from_str(event.data.json().map_or("null", |json| json))
                    .expect("JSON");
                return (event.name.to_string(), data);
            }
        }
    }

    /// The next snapshots, up to one with this part, merged.
    async fn snapshot_with(&mut self, part: &str) -> Value {
        let mut all = value!({"missing": {}});
        loop {
            let (name, data) = self.next_event().await;
            assert_eq!(name, "snapshot", "{data}");
            for (key, value) in data.as_object().expect("an object") {
                match key.as_str() {
                    "missing" => {
                        let missing = value.as_object().into_iter().flatten();
                        missing.for_each(|(part, why)| all["missing"][part] = why.clone());
                    }
                    key => all[key] = value.clone(),
                }
            }
            if all.get(part).is_some() || all["missing"].get(part).is_some() {
                return all;
            }
        }
    }
}

#[tokio::test]
async fn history_precedes_the_stream_and_the_head_precedes_history() {
    let mut page = Page::open(World::idle("before")).await;
    page.send(Item::Record(Record::Head(Head::default()))).await;
    page.send_event("custom", r#"{"n":1}"#, false).await;
    assert!(
        matches!(page.next().await, Item::Record(Record::Head(head)) if head.thread_id.as_deref() == Some("t"))
    );
    let mut seen = Vec::new();
    while seen.last().map(|(name, _): &(String, Value)| name.as_str()) != Some("custom") {
        seen.push(page.next_event().await);
    }
    assert!(seen.len() > 1, "{seen:?}");
    let told = Value::Array(seen.iter().map(|(_, data)| data.clone()).collect()).to_string();
    for part in [
        r#""said":"before""#,
        r#""history""#,
        r#""status":"idle""#,
        r#""run_id":"r""#,
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
}

#[tokio::test]
async fn connection_records_are_not_delayed() {
    let mut page = Page::open(World {
        state: None,
        ..World::idle("")
    })
    .await;
    page.send(Item::Connecting {
        at: jiff::Timestamp::now(),
        conn: 1,
    })
    .await;
    loop {
        match page.next().await {
            Item::Connecting { .. } => break,
            Item::Record(Record::Event(event)) => assert!(event.is_snapshot()),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_missing_state_delays_the_stream_for_a_limited_time() {
    let mut page = Page::open(World {
        state: None,
        history: None,
        ..World::idle("")
    })
    .await;
    page.send_event("custom", r#"{"n":1}"#, false).await;
    page.send_event("custom", r#"{"n":2}"#, false).await;
    let mut names = Vec::new();
    while names.len() < 2 {
        let (name, data) = page.next_event().await;
        if name == "custom" {
            names.push(data);
        } else {
            assert!(data.get("state").is_none(), "{data}");
        }
    }
    assert_eq!(
        names,
        [value!({"n": 1}), value!({"n": 2})],
        "in order, and whole"
    );
}

#[tokio::test]
async fn a_finished_run_reloads_the_state() {
    let mut page = Page::open(World::idle("before")).await;
    page.snapshot_with("history").await;
    *page.world.lock().unwrap() = World::idle("after");
    page.send_event("metadata", r#"{"run_id":"r2","attempt":1}"#, false)
        .await;
    page.send_event("metadata", r#"{"run_id":"r2","status":"run_done"}"#, false)
        .await;
    loop {
        let (name, data) = page.next_event().await;
        if name == "snapshot" && data["state"]["values"]["said"] == "after" {
            return;
        }
    }
}

#[tokio::test]
async fn a_refresh_loads_the_newest_state() {
    let mut page = Page::open(World::idle("before")).await;
    page.snapshot_with("history").await;
    *page.world.lock().unwrap() = World::idle("after");
    page.refresh.send_modify(|n| *n += 1);
    let snapshot = page.snapshot_with("state").await;
    assert_eq!(snapshot["state"]["values"]["said"], "after");
}

#[tokio::test]
async fn a_deleted_thread_is_noticed() {
    let mut page = Page::open(World::idle("before")).await;
    page.snapshot_with("history").await;
    *page.world.lock().unwrap() = World::all(404);
    page.refresh.send_modify(|n| *n += 1);
    let snapshot = page.snapshot_with("thread").await;
    assert!(
        snapshot["missing"]["thread"]
            .as_str()
            .is_some_and(|why| why.starts_with("404")),
        "{snapshot}"
    );
}

#[tokio::test]
async fn all_checkpoints_of_a_long_newest_run_are_loaded() {
    let entry = |step: i64, run: &str| {
        value!({"values": {}, "next": [], "tasks": [], "checkpoint": {"checkpoint_id": format!("c{step:02}")},
            "parent_checkpoint": {"checkpoint_id": format!("c{:02}", step - 1)},
            "metadata": {"run_id": run, "step": step, "source": if step < 0 { "input" } else { "loop" }}})
    };
    for (runs_of, loaded) in [([("r", 32)].as_slice(), 32), (&[("r", 16), ("r0", 16)], 20)] {
        let of_run = |(run, count): &(&str, i64)| {
            (-1..count - 1)
                .rev()
                .map(|step| entry(step, run))
                .collect::<Vec<_>>()
        };
        let rows: Vec<Value> = runs_of.iter().flat_map(of_run).collect();
        let mut page = Page::open(World {
            history: Some((200, value!(rows))),
            ..World::idle("x")
        })
        .await;
        let snapshot = page.snapshot_with("history").await;
        assert_eq!(
            snapshot["history"].as_array().map(Vec::len),
            Some(loaded),
            "{runs_of:?}"
        );
    }
}

#[tokio::test]
async fn a_missing_history_hides_nothing_else() {
    let world = World {
        history: Some((404, value!({"detail": "Not Found"}))),
        ..World::idle("before")
    };
    let mut page = Page::open(world).await;
    page.send_event("custom", r#"{"n":1}"#, false).await;
    let mut told = String::new();
    loop {
        let (name, data) = page.next_event().await;
        if name == "custom" {
            break;
        }
        told += &data.to_string();
    }
    assert!(
        told.contains(r#""said":"before""#) && told.contains(r#""history":"#),
        "{told}"
    );
}

#[tokio::test]
async fn a_state_over_the_limit_is_named_and_the_rest_is_shown() {
    let mut page = Page::open(World::idle(&"x".repeat(2 * MAX_STATE))).await;
    let snapshot = page.snapshot_with("state").await;
    assert!(snapshot.get("state").is_none(), "{snapshot}");
    let why = snapshot["missing"]["state"]
        .as_str()
        .unwrap_or_default()
        .to_string();
    assert!(why.contains("10"), "it names the limit: {why}");
}

#[tokio::test]
async fn a_page_reloads_after_its_stream_has_ended() {
    let mut page = Page::open(World::idle("before")).await;
    page.snapshot_with("history").await;
    *page.world.lock().unwrap() = World::idle("after");
    page.stream = None;
    loop {
        let snapshot = page.snapshot_with("state").await;
        if snapshot["state"]["values"]["said"] == "after" {
            break;
        }
    }
    *page.world.lock().unwrap() = World::idle("later");
    page.refresh.send_modify(|n| *n += 1);
    loop {
        let snapshot = page.snapshot_with("state").await;
        if snapshot["state"]["values"]["said"] == "later" {
            return;
        }
    }
}
