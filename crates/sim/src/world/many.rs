//! Many threads on one agent server, for long lists: finished, waiting and failed ones, always the same.

use crate::agent::Agent;
use crate::agent::graphs::Graph;
use crate::agent::state::{Checkpoint, Interrupt, Task, Thread};
use crate::ids::{before, checkpoint_id, stable_uuid};
use crate::values::{Object, object_of};
use jiff::Timestamp;
use serde_json::json;

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
    let now = Timestamp::now();
    let assistants: Vec<(Graph, String)> = agent
        .memory()
        .assistants
        .iter()
        .map(|one| (one.graph, one.id.clone()))
        .collect();
    let threads: Vec<Thread> = (0..count).map(|n| thread(n, now, &assistants)).collect();
    agent.memory().threads.extend(
        threads
            .into_iter()
            .map(|thread| (thread.id.clone(), thread)),
    );
}

fn thread(n: usize, now: Timestamp, assistants: &[(Graph, String)]) -> Thread {
    let (graph, status) = match n % 10 {
        3 => (Graph::Approval, "interrupted"),
        7 => (Graph::Broken, "error"),
        _ => (Graph::Support, "idle"),
    };
    let at = before(now, n as f64 * PACE + 60.0);
    let id = stable_uuid(&format!("thread {n}"));
    let assistant = assistants
        .iter()
        .find(|(of, _)| *of == graph)
        .map(|(_, id)| id.clone());
    let metadata = json!({
        "graph_id": graph.name(), "assistant_id": assistant, "user": n % 50, "region": if n.is_multiple_of(2) { "eu" } else { "us" },
    });
    let subject = format!("{} {}", SUBJECTS[n % SUBJECTS.len()], 70_000 + n);
    let message = stable_uuid(&format!("message {n}"));
    let values = object_of(
        &json!({"messages": [{"type": "human", "content": subject, "id": message}], "order": 70_000 + n}),
    );
    let mut task = Task::new(graph.nodes().first().copied().unwrap_or_default());
    let mut thread = Thread {
        status: status.into(),
        values: Some(values.clone()),
        interrupts: Some(Object::new()),
        touched: true,
        ..Thread::new(id, before(at, 90.0), object_of(&metadata))
    };
    match status {
        "interrupted" => {
            let question = json!({"question": format!("Refund order {}?", 70_000 + n), "options": ["yes", "no"]});
            let raised = Interrupt {
                id: Interrupt::id_of(&task.id, 0),
                value: question,
                schema: None,
            };
            thread.interrupts = Some(object_of(
                &json!({&task.id: [{"id": raised.id.clone(), "value": raised.value.clone()}]}),
            ));
            task.raised = Some(raised);
        }
        "error" => {
            thread.error =
                Some(json!({"error": "ValueError", "message": "no price for this order"}));
            task.error = Some("ValueError('no price for this order')".into());
        }
        _ => {}
    }
    let tasks = if status == "idle" {
        Vec::new()
    } else {
        vec![task]
    };
    let metadata = json!({"graph_id": graph.name(), "thread_id": thread.id, "source": "loop", "step": 1, "parents": {}});
    let checkpoint = checkpoint_id(at, 1);
    thread.checkpoints.push(Checkpoint {
        id: checkpoint,
        parent: None,
        values,
        tasks,
        metadata,
        at,
    });
    (thread.updated_at, thread.state_updated_at) = (at, at);
    thread
}
