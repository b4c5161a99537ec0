//! The number of allocations of frequent operations, which is exact, unlike their time.

use runtail_core::model::{Deployment, LogLine};
use runtail_testkit::dash::{Dash, demo_like, listed};
use runtail_testkit::hostile_stream;
use runtail_tui::session::msg::{SubscriptionEvent, SubscriptionId};
use runtail_tui::widgets::json_tree::Tree;
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });
thread_local!(static HELD_BYTES: Cell<isize> = const { Cell::new(0) });

/// The system's allocator with counters per thread: allocations, and allocated bytes.
struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        HELD_BYTES.set(HELD_BYTES.get() + layout.size() as isize);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD_BYTES.set(HELD_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

#[test]
fn searching_a_document_does_not_copy_it() {
    let items: Vec<String> = (0..2_000)
        .map(|n| format!(r#"{{"name":"Größe {n}","plain":"some text","n":{n}}}"#))
        .collect();
    let mut tree = Tree::new(format!("[{}]", items.join(",")).into());
    for (text, found) in [
        ("nowhere", 0),
        ("GRÖSSE", 0),
        ("größe 1999", 1),
        ("name", 2_000),
        ("text", 2_000),
        ("ö", 2_000),
    ] {
        let count = allocations(|| tree.search(text));
        assert_eq!(
            tree.search_place().map(|(_, count)| count),
            Some(found),
            "{text}"
        );
        // Compiling the expression and storing results allocate, but reading the document does not.
        assert!(count < 4_000, "{text}: {count} allocations");
    }
}

#[test]
fn filter_work_per_turn_does_not_grow_with_the_number_of_messages() {
    let first_turn = |messages: usize| {
        let mut dash = demo_like((100, 24));
        dash.open_thread();
        let words = "word ".repeat(400);
        let all: Vec<String> = (0..messages)
            .map(|i| format!(r#"{{"type":"ai","id":"{i}","content":"{words}"}}"#))
            .collect();
        dash.event("values", &format!(r#"{{"messages":[{}]}}"#, all.join(",")));
        dash.keys("1&");
        let count = allocations(|| drop(dash.keys("w")));
        assert!(dash.is_searching(), "the filter finished in one turn");
        count
    };
    let (few, many) = (first_turn(2_000), first_turn(10_000));
    assert!(
        many < few + few / 2,
        "{few} allocations, {many} with five times as many messages"
    );
}

/// The number of allocated bytes that remain after some work.
fn held(work: impl FnOnce()) -> usize {
    let before = HELD_BYTES.get();
    work();
    (HELD_BYTES.get() - before).try_into().unwrap_or_default()
}

#[test]
fn deployments_list_keeps_only_the_shown_fields() {
    const ROWS: usize = 4_000;
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
        (140, 40),
    );
    let row = |n: usize| {
        let record = json!({"id": format!("11111111-1111-4111-8111-{n:012}"), "name": format!("support-bot-{n}"),
            "source": "github", "status": "READY", "url": format!("https://support-bot-{n}.us.langgraph.app"),
            "source_config": {"repo_url": "https://github.com/acme/support-bot", "deployment_type": "prod",
                "resource_spec": {"cpu": 1, "memory_mb": 2048, "min_scale": 1}, "listener_id": null},
            "source_revision_config": {"repo_ref": "main", "repo_commit_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"},
            "secrets": [{"name": "OPENAI_API_KEY", "value": "***"}], "tenant_id": "22222222-2222-4222-8222-222222222222",
            "latest_revision_id": format!("44444444-4444-4444-8444-{n:012}"), "image_version": "0.11.1",
            "tracer_session_id": "66666666-6666-4666-8666-666666666666", "agent": null});
        serde_json::from_value::<Deployment>(record).unwrap()
    };
    let each = held(|| {
        dash.answer(
            |key| matches!(key, SubscriptionId::Deployments(_)),
            listed((0..ROWS).map(row).collect()),
        );
        dash.relayout();
    }) / ROWS;
    assert!((400..2_000).contains(&each), "{each} bytes per deployment");
}

#[test]
fn log_lines_use_little_more_memory_than_their_text() {
    let mut dash = demo_like((140, 40));
    dash.keys("l");
    let rows: Vec<String> = (0..16_000)
        .map(|n| {
            let message = format!("GET /threads/{n:036}/runs/{:036} 200 in {} ms", 3 * n, n % 900);
            json!({"id": format!("a{n:08}"), "timestamp": 1_795_000_000_000u64 + n, "level": "INFO", "message": message})
                .to_string()
        })
        .collect();
    let text: usize = rows.iter().map(String::len).sum();
    let held = held(|| {
        for rows in rows.chunks(500) {
            let line = |row: &String| LogLine::from(serde_json::from_str::<Value>(row).unwrap());
            let lines = Ok(rows.iter().map(line).collect());
            dash.answer(
                |key| matches!(key, SubscriptionId::Log(..)),
                SubscriptionEvent::Lines {
                    lines,
                    incomplete: false,
                },
            );
        }
    });
    assert!(
        (text / 2..2 * text).contains(&held),
        "{held} bytes for {text} bytes of text"
    );
}

#[test]
fn streams_of_repeated_text_stay_within_their_memory_budget() {
    const BUDGET: usize = 2 << 20;
    let most_held = |size: usize, make: hostile_stream::MakeEvent| {
        let mut dash = demo_like((140, 40));
        dash.keep_bytes(BUDGET as u64);
        dash.open_thread();
        let before = HELD_BYTES.get();
        let mut most = 0;
        for n in 0..(5 * BUDGET / size) {
            dash.receive(make(n, &hostile_stream::text(n, size)).into_bytes());
            if n % 16 == 0 {
                dash.keys(["1", "2", "3", "4", "5", "6", "7"][n / 16 % 7]);
            }
            most = most.max(HELD_BYTES.get() - before);
        }
        most as usize
    };
    let over = |size: usize| {
        let held = hostile_stream::KINDS.map(|(kind, make)| (kind, most_held(size, make)));
        let over = held.iter().filter(|(_, held)| *held > 3 * BUDGET);
        over.map(|(kind, held)| format!("{kind}, {size} bytes each: {held} bytes are allocated"))
            .collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let small = scope.spawn(|| over(8 << 10));
        let over = [over(256 << 10), small.join().unwrap()].concat();
        assert!(over.is_empty(), "{over:#?}");
    });
}
