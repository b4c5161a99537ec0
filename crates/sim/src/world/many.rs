//! Many threads on one agent server, for long lists: finished, waiting and failed ones, always the same.

use crate::agent::prelude::*;

/// Seconds between the changes of two neighbors.
const PACE: f64 = 37.0;
const SUBJECTS: [&str; 6] = [
    "Where is my parcel?",
    "Refund for order",
    "Change the address of order",
    "Invoice for order",
    "Cancel order",
    "Late",
];

/// Adds this many threads. The first one changed last.
pub fn fill(agent: &Agent, count: usize) {
    let now = now();
    let threads = (0..count).map(|n| thread(n, now));
    agent
        .memory()
        .threads
        .extend(threads.map(|thread| (thread.id.clone(), thread)));
}

fn thread(n: usize, now: Timestamp) -> Thread {
    let (graph, status) = match n % 10 {
        3 => (Graph::Approval, "interrupted"),
        7 => (Graph::Broken, "error"),
        _ => (Graph::Support, "idle"),
    };
    let at = before(now, n as f64 * PACE + 60.0);
    let (order, region) = (70_000 + n, ["eu", "us"][n % 2]);
    let metadata = json!({
        "graph_id": graph.name(), "assistant_id": graph.assistant(), "user": n % 50, "region": region,
    });
    let values = json!({
        "messages": [{"type": "human", "content": format!("{} {order}", SUBJECTS[n % 6]),
            "id": stable_uuid(&format!("message {n}"))}],
        "order": order,
    });
    let mut task = Task::new(graph.nodes()[0]);
    let mut thread = Thread {
        status: status.into(),
        values: Some(object_of(&values)),
        interrupts: Some(Object::new()),
        touched: true,
        updated_at: at,
        state_updated_at: at,
        ..Thread::new(
            stable_uuid(&format!("thread {n}")),
            before(at, 90.0),
            object_of(&metadata),
        )
    };
    if status == "interrupted" {
        let raised = Interrupt {
            id: Interrupt::id_of(&task.id, 0),
            value: json!({"question": format!("Refund order {order}?"), "options": ["yes", "no"]}),
            schema: None,
        };
        let asked = json!({&task.id: rows::interrupts(Some(&raised), false)});
        thread.interrupts = Some(object_of(&asked));
        task.raised = Some(raised);
    }
    if status == "error" {
        let message = "no price for this order";
        thread.error = Some(json!({"error": "ValueError", "message": message}));
        task.error = Some(format!("ValueError('{message}')"));
    }
    let tasks = if status == "idle" {
        Vec::new()
    } else {
        vec![task]
    };
    let metadata = json!({"graph_id": graph.name(), "thread_id": thread.id, "source": "loop", "step": 1, "parents": {}});
    thread.save(None, object_of(&values), tasks, metadata, at, 1);
    thread
}
