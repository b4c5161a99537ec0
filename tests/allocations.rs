//! What is done at every key is not paid for by the million: allocations are counted, which is exact where time is not.

#[path = "screens/dash.rs"]
#[allow(dead_code)]
mod dash;

use dash::demo_like;
use runtail::app::json::Tree;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });

/// The system's allocator, which counts for each thread.
struct Counting;

// SAFETY: everything is handed on to the system's allocator as it comes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the rules.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
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
