//! What is done at every key is not paid for by the million: allocations are counted, which is exact where time is not.

use runtail_core::model::{Deployment, LogLine};
use runtail_testkit::dash::{Dash, demo_like, listed};
use runtail_testkit::hostile_stream;
use runtail_tui::session::msg::{SubscriptionEvent, SubscriptionId};
use runtail_tui::widgets::json_tree::Tree;
use serde_json::{Value, json};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });
thread_local!(static HELD: Cell<isize> = const { Cell::new(0) });

/// The system's allocator, which counts for each thread: how often it is asked, and bytes that are held.
struct Counting;

// SAFETY: everything is handed on to the system's allocator as it comes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        HELD.set(HELD.get() + layout.size() as isize);
        // SAFETY: the caller keeps the rules.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: the caller keeps the rules.
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
    let items: Vec<String> =
        (0..2_000).map(|n| format!(r#"{{"name":"Größe {n}","plain":"some text","n":{n}}}"#)).collect();
    let mut tree = Tree::new(format!("[{}]", items.join(",")).into());
    for (text, found) in
        [("nowhere", 0), ("GRÖSSE", 0), ("größe 1999", 1), ("name", 2_000), ("text", 2_000), ("ö", 2_000)]
    {
        let count = allocations(|| tree.search(text));
        assert_eq!(tree.search_place().map(|(_, count)| count), Some(found), "{text}");
        // Making the expression allocates, and so do the places found; what is looked at does not.
        assert!(count < 4_000, "{text}: {count} allocations");
    }
}

#[test]
fn the_first_turn_of_a_filter_looks_at_its_share_however_many_messages_there_are() {
    let first_turn = |messages: usize| {
        let mut dash = demo_like((100, 24));
        dash.open_thread();
        let words = "word ".repeat(400);
        let all: Vec<String> =
            (0..messages).map(|i| format!(r#"{{"type":"ai","id":"{i}","content":"{words}"}}"#)).collect();
        dash.event("values", &format!(r#"{{"messages":[{}]}}"#, all.join(",")));
        dash.keys("1&");
        let count = allocations(|| drop(dash.keys("w")));
        assert!(dash.app.viewer().is_some_and(|viewer| viewer.finding().is_scanning()), "one turn is not all of it");
        count
    };
    let (few, many) = (first_turn(2_000), first_turn(10_000));
    assert!(many < few + few / 2, "{few} allocations, {many} for five times as many");
}

/// Bytes that are held after something was done, beyond those before.
fn held(work: impl FnOnce()) -> usize {
    let before = HELD.get();
    work();
    (HELD.get() - before).try_into().unwrap_or_default()
}

#[test]
fn of_a_deployment_the_list_holds_what_it_shows() {
    const ROWS: usize = 4_000;
    let mut dash = Dash::new("[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n", (140, 40));
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
        dash.answer(|key| matches!(key, SubscriptionId::Deployments(_)), listed((0..ROWS).map(row).collect()));
        dash.app.relayout();
    }) / ROWS;
    assert!((400..2_000).contains(&each), "{each} bytes a deployment");
}

#[test]
fn a_line_of_a_log_holds_little_more_than_its_text() {
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
                SubscriptionEvent::Lines { lines, incomplete: false },
            );
        }
    });
    assert!((text / 2..2 * text).contains(&held), "{held} bytes for {text} of text");
}

#[test]
fn a_stream_that_repeats_any_text_stays_within_its_budget() {
    const BUDGET: usize = 2 << 20;
    let most_held = |size: usize, make: hostile_stream::Make| {
        let mut dash = demo_like((140, 40));
        dash.app.session.settings.tape.max_bytes = BUDGET as u64;
        dash.open_thread();
        let before = HELD.get();
        let mut most = 0;
        for n in 0..(5 * BUDGET / size) {
            dash.receive(make(n, &hostile_stream::text(n, size)).into_bytes());
            if n % 16 == 0 {
                dash.keys(["1", "2", "3", "4", "5", "6", "7", "8"][n / 16 % 8]);
            }
            most = most.max(HELD.get() - before);
        }
        most as usize
    };
    let over = |size: usize| {
        let held = hostile_stream::KINDS.map(|(kind, make)| (kind, most_held(size, make)));
        let over = held.iter().filter(|(_, held)| *held > 3 * BUDGET);
        over.map(|(kind, held)| format!("{kind}, {size} bytes each: {held} bytes are held")).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let small = scope.spawn(|| over(8 << 10));
        let over = [over(256 << 10), small.join().unwrap()].concat();
        assert!(over.is_empty(), "{over:#?}");
    });
}
