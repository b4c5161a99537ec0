//! Memory of lists in the dashboard's state: `cargo bench --bench memory`. Each measurement runs in a process of
//! its own, so that it starts clean. The table goes to `docs/performance.md`.

use runtail_api::Revisions;
use runtail_core::model::{Deployment, LogLine, Revision};
use runtail_stream::{Decoder, Frame, Framer, Item, Record, Seq};
use runtail_testkit::dash::{Dash, demo_like, listed};
use runtail_tui::features::stream::tabs::MAX_TABS;
use runtail_tui::session::msg::{Msg, NextPoll, SubscriptionEvent, SubscriptionId, ThreadsRead};
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static HELD_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a counter of allocated bytes.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD_BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD_BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD_BYTES.fetch_add(size, Relaxed);
        HELD_BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Events of each stream in a tab.
const EVENTS: usize = 10_000;

/// A measurement.
struct Part {
    name: &'static str,
    /// Its name in the table.
    what: &'static str,
    /// Number of entries.
    count: usize,
    /// Budget for the resident memory of the process, in MB (a million bytes).
    budget: usize,
    build: fn(usize) -> Built,
}

/// The state that was built, and the bytes that the server sent for it.
struct Built {
    dash: Dash,
    text: usize,
}

const PARTS: [Part; 5] = [
    Part {
        name: "nothing",
        what: "an empty dashboard",
        count: 1,
        budget: 16,
        build: nothing,
    },
    Part {
        name: "deployments",
        what: "10,000 deployments and their newest revisions",
        count: 10_000,
        budget: 48,
        build: deployments,
    },
    Part {
        name: "histories",
        what: "the same, each selected once (20 revisions)",
        count: 10_000,
        budget: 64,
        build: histories,
    },
    Part {
        name: "logs",
        what: "100,000 log lines",
        count: 100_000,
        budget: 64,
        build: logs,
    },
    Part {
        name: "tabs",
        what: "9 tabs of 10,000 token events",
        count: MAX_TABS,
        budget: 48,
        build: tabs,
    },
];

fn main() {
    let mut args = std::env::args().skip_while(|arg| arg != "--part").skip(1);
    if let Some(part) = args
        .next()
        .and_then(|name| PARTS.iter().find(|part| part.name == name))
    {
        return measure(part);
    }
    println!(
        "| | the server sent | held | resident | budget | held per item |\n|---|---:|---:|---:|---:|---:|"
    );
    for part in &PARTS {
        let own = std::env::current_exe().expect("the path of this program");
        let done = Command::new(own)
            .args(["--part", part.name])
            .output()
            .expect("a process");
        print!("{}", String::from_utf8_lossy(&done.stdout));
        eprint!("{}", String::from_utf8_lossy(&done.stderr));
    }
}

fn measure(part: &Part) {
    let before = HELD_BYTES.load(Relaxed);
    let mut built = (part.build)(part.count);
    // Laid out and drawn, as on a screen.
    built.dash.screen();
    let (held, resident) = (HELD_BYTES.load(Relaxed) - before, resident());
    let mb = |bytes: usize| format!("{:.1} MB", bytes as f64 / 1e6);
    let over = if resident <= part.budget * 1_000_000 {
        ""
    } else {
        " (**over**)"
    };
    let (sent, each) = (mb(built.text), held / part.count);
    println!(
        "| {} | {sent} | {} | {}{over} | {} MB | {each} B |",
        part.what,
        mb(held),
        mb(resident),
        part.budget
    );
}

/// Resident bytes of this process.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or_default();
    line.trim()
        .trim_end_matches(" kB")
        .parse::<usize>()
        .unwrap_or_default()
        * 1024
}

fn nothing(_: usize) -> Built {
    Built {
        dash: Dash::new(
            "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
            (140, 40),
        ),
        text: 0,
    }
}

/// A UUID of 32 hexadecimal digits.
fn uuid(kind: usize, n: usize) -> String {
    format!("{kind:08x}-{n:04x}-4444-8444-{:012x}", n * 7_919)
}

/// A deployment as the control plane lists it (control-plane reference §12), masked as the dashboard gets it.
fn deployment(n: usize) -> Value {
    let name = format!("support-bot-{n:05}");
    let url = format!("https://{name}-0123456789abcdef0123456789abcdef.us.langgraph.app");
    let secret = |name: &str| json!({"name": name, "value": "***"});
    json!({"id": uuid(1, n), "tenant_id": uuid(2, 0), "name": name, "display_name": null,
        "source": "github", "status": "READY", "url": url,
        "source_config": {"integration_id": uuid(3, 0), "repo_url": format!("https://github.com/acme/{name}"),
            "deployment_type": "prod", "build_on_push": true, "custom_url": url,
            "resource_spec": {"min_scale": 1, "max_scale": 4, "cpu": 1.0, "memory_mb": 2048, "db_cpu": 2, "db_storage_gi": 20},
            "listener_id": null, "listener_config": null, "install_command": null, "build_command": null},
        "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json", "image_uri": null,
            "source_tarball_path": null, "repo_commit_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"},
        "secrets": [secret("OPENAI_API_KEY"), secret("TAVILY_API_KEY"), secret("SERPER_API_KEY"), secret("LOG_LEVEL")],
        "secret_references": null, "created_at": "2026-10-01T09:00:00.000000Z", "updated_at": "2026-11-20T10:00:00.000000Z",
        "latest_revision_id": uuid(4, n), "active_revision_id": uuid(4, n), "image_version": "0.11.1", "is_preview": false,
        "tracer_session_id": uuid(6, n), "agent": null})
}

fn revision(id: &str, status: &str) -> Value {
    json!({"id": id, "created_at": "2026-11-20T09:58:00.000000Z", "updated_at": "2026-11-20T10:00:00.000000Z",
        "status": status, "source": "github", "source_revision_config": {"repo_ref": "main",
        "langgraph_config_path": "langgraph.json", "image_uri": null, "source_tarball_path": null,
        "repo_commit_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"}})
}

/// Page by page, then as a whole, then the newest revision of each.
fn deployments(count: usize) -> Built {
    let mut built = nothing(0);
    let mut whole: Vec<Deployment> = Vec::new();
    let list = |key: &SubscriptionId| matches!(key, SubscriptionId::Deployments(_));
    for first in (0..count).step_by(100) {
        let rows: Vec<String> = (first..first + 100)
            .map(|n| deployment(n).to_string())
            .collect();
        built.text += rows.iter().map(String::len).sum::<usize>();
        let read = |row: &String| {
            serde_json::from_str::<Deployment>(row)
                .expect("a row")
                .in_a_list()
        };
        let page: Vec<Deployment> = rows.iter().map(read).collect();
        whole.extend_from_slice(&page);
        built.dash.answer(list, SubscriptionEvent::Page(page));
    }
    built.dash.answer(list, listed(whole));
    for n in 0..count {
        let row = revision(&uuid(4, n), "DEPLOYED").to_string();
        built.text += row.len();
        let revision = serde_json::from_str(&row);
        let answer = SubscriptionEvent::Newest {
            deployment: uuid(1, n).into(),
            revision: Ok(revision.expect("a revision")),
        };
        built
            .dash
            .answer(|key| matches!(key, SubscriptionId::Newest(_)), answer);
    }
    built
}

/// The same after each was selected once, with twenty revisions.
fn histories(count: usize) -> Built {
    let mut built = deployments(count);
    built.dash.relayout();
    let now = built.dash.now;
    for n in 0..count {
        let rows = (0..20).map(|k| revision(&uuid(4 + 1_000 * k, n), "DEPLOYED").to_string());
        let rows: Vec<String> = rows.collect();
        built.text += rows.iter().map(String::len).sum::<usize>();
        let items: Vec<Revision> = rows
            .iter()
            .map(|row| serde_json::from_str(row).expect("a revision"))
            .collect();
        let answer = SubscriptionEvent::Revisions(
            Ok(Revisions {
                items,
                was_sorted: true,
                unread: Default::default(),
            }),
            NextPoll::At(now),
        );
        built
            .dash
            .answer(|key| matches!(key, SubscriptionId::Revisions(..)), answer);
        built.dash.keys("<Down>");
    }
    built
}

/// Lines of a server's log, five hundred per poll.
fn logs(count: usize) -> Built {
    let mut built = deployments(100);
    built.text = 0;
    built.dash.keys("l");
    for first in (0..count).step_by(500) {
        let rows = (first..first + 500).map(|n| {
            json!({"id": format!("a{n:08}"), "timestamp": 1_795_000_000_000u64 + n as u64, "level": "INFO",
                "message": format!("GET /threads/{}/runs/{} 200 in {} ms", uuid(7, n), uuid(8, n), n % 900)})
            .to_string()
        });
        let rows: Vec<String> = rows.collect();
        built.text += rows.iter().map(String::len).sum::<usize>();
        let lines = rows
            .iter()
            .map(|row| LogLine::from(serde_json::from_str::<Value>(row).expect("a line")))
            .collect();
        let answer = SubscriptionEvent::Lines {
            lines: Ok(lines),
            incomplete: false,
        };
        built
            .dash
            .answer(|key| matches!(key, SubscriptionId::Log(..)), answer);
    }
    built
}

/// Streams in the maximum number of tabs, each with the tokens of one answer and their metadata.
fn tabs(count: usize) -> Built {
    let capture = include_str!("../tests/captures/agent-messages-tuple.sse").replace("\r\n", "\n");
    let mut blocks = capture
        .split("\n\n")
        .filter(|block| block.starts_with("event: messages\n"));
    let token = blocks
        .find(|block| block.contains("Let me "))
        .expect("a token");
    let token = token
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("id:"))
        .collect::<String>();
    let mut built = Built {
        dash: demo_like((140, 40)),
        text: 0,
    };
    built.dash.open_server();
    let threads: Vec<Value> = (0..count)
        .map(|tab| json!({"thread_id": uuid(9, tab), "status": "busy"}))
        .collect();
    let threads = serde_json::from_value(threads.into()).expect("threads");
    built.dash.answer(
        |key| matches!(key, SubscriptionId::Threads(_)),
        SubscriptionEvent::Threads(ThreadsRead::all(Ok(threads))),
    );
    for tab in 0..count {
        built.dash.feed(Msg::Paste(uuid(9, tab)));
        let id = built.dash.stream().unwrap();
        let (mut framer, mut decoder, mut seq) = (Framer::new(64 << 20), Decoder::default(), 0);
        let open = Record::Open {
            at: built.dash.now,
            conn: 1,
            status: 200,
            resumed_after: None,
        };
        let mut items = vec![Item::Record(open)];
        for n in 0..EVENTS {
            let token = token.trim_end().replace("Let me ", &format!("word{n} "));
            let bytes = format!("{token}\nid: {}-0\n\n", 1_789_000_000_000 + n / 6);
            built.text += bytes.len();
            framer.push(bytes.into());
            while let Some(Frame::Block(block)) = framer.next_frame() {
                if let Some(decoded) = decoder.decode(block) {
                    seq += 1;
                    items.push(Item::Record(Record::Event(decoded.at(
                        Seq(seq),
                        built.dash.now,
                        1,
                        false,
                    ))));
                }
            }
            if items.len() >= 500 || n + 1 == EVENTS {
                let items = std::mem::take(&mut items);
                built.dash.answer(
                    |key| *key == SubscriptionId::Stream(id),
                    SubscriptionEvent::Items(items),
                );
            }
        }
        assert_eq!(seq, EVENTS as u64);
    }
    assert_eq!(built.dash.tabs().len(), count);
    built
}
