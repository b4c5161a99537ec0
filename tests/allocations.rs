//! What is done at every key is not paid for by the million: allocations are counted, which is exact where time is not.

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
