//! How a run ends: the statuses of its row and its thread's, and the last events.

use super::Agent;
use super::emit::{Output, Reported};
use super::exec::Stop;
use super::feed::{Item, Kind};
use super::rows;
use super::state::{Interrupt, Run, Thread};
use crate::values::Object;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The graph reached its end.
    Success(Object),
    /// A node asks a question.
    Asked,
    /// It stopped at a breakpoint.
    Held,
    Failed {
        /// The exception's class.
        error: String,
        message: String,
    },
    /// It was cancelled.
    Cancelled,
}

impl Ending {
    /// Converts what the graph returned.
    pub fn of(result: Result<Object, Stop>) -> Self {
        match result {
            Ok(values) => Ending::Success(values),
            Err(Stop::Asked(_)) => Ending::Asked,
            Err(Stop::Held) => Ending::Held,
            Err(Stop::Failed { error, message }) => Ending::Failed { error, message },
        }
    }

    /// The error as the server shows it in streams and threads.
    fn failure(&self) -> Option<Value> {
        match self {
            Ending::Failed { error, message } => Some(json!({"error": error, "message": message})),
            _ => None,
        }
    }
}

fn taken<T: Default>(mutex: &Mutex<T>) -> T {
    std::mem::take(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What is known when a run ends.
struct End<'a> {
    run: &'a Run,
    ending: Ending,
    failure: Option<Value>,
    reported: Option<Reported>,
    asked: Vec<Interrupt>,
}

/// Ends a run: rows first, then the last events, so that a client that reads the end also finds the result.
pub fn finish(agent: &Arc<Agent>, run: &Run, out: &Output, ending: Ending) {
    let end = End {
        run,
        failure: ending.failure(),
        ending,
        reported: taken(&out.reported),
        asked: taken(&out.asked),
    };
    let state = agent.with_thread(&run.thread, |thread| {
        let outcome = end.outcome(thread);
        end.apply(thread);
        // Only this task sets it.
        let _ = run.outcome.set(outcome);
        let newest = thread.checkpoint(None);
        newest.map(|newest| rows::state(thread, newest, true))
    });
    // A deleted thread has no outcome.
    let _ = run.outcome.set(json!({}));
    let mut burst = out.burst();
    if let Some(failure) = &end.failure {
        burst.plain("error", failure, Kind::Output, false);
    }
    burst.send();
    finish_thread_stream(agent, run, out, &json!(state.flatten()));
    // It is set once.
    let _ = out.ended.set(out.clock.instant());
    run.feed.close();
    if run.kwargs["temporary"] == true {
        let mut memory = agent.memory();
        memory.threads.remove(&run.thread);
        memory.feeds.remove(&run.thread);
    }
}

/// Publishes the end of the run on the thread's stream.
fn finish_thread_stream(agent: &Agent, run: &Run, out: &Output, state: &Value) {
    if out.clock.is_silent() {
        return;
    }
    let done = json!({"status": "run_done", "run_id": run.id});
    let mut events = vec![("metadata", done, Kind::Lifecycle)];
    if agent.contract {
        events.push((
            "state_update",
            json!({"state": state, "thread_id": run.thread}),
            Kind::State,
        ));
    }
    let ids = out.clock.ids(events.len());
    let item = |((name, data, kind), id): ((&str, Value, Kind), String)| {
        Arc::new(Item {
            id,
            stored: out.stored,
            ended: out.ended.clone(),
            ..Item::new(name, &data, kind)
        })
    };
    let items: Vec<Arc<Item>> = events.into_iter().zip(ids).map(item).collect();
    agent.thread_feed(&run.thread).push(&items);
}

impl End<'_> {
    /// The response for clients that wait for the run.
    fn outcome(&self, thread: &Thread) -> Value {
        if let Some(failure) = &self.failure {
            return json!({"__error__": failure});
        }
        let state = || {
            let newest = thread.checkpoint(None);
            newest.map_or_else(
                || json!({}),
                |newest| json!(newest.live_values(Some(self.run.graph))),
            )
        };
        match (&self.ending, self.asked.as_slice()) {
            (Ending::Success(values), _) => json!(values),
            (Ending::Asked, asked) => {
                let all: Vec<Value> = asked.iter().map(|one| rows::interrupt(one, true)).collect();
                // The state when the question was asked; with several questions it is left out.
                let state = self
                    .reported
                    .as_ref()
                    .map(|reported| json!(reported.values))
                    .unwrap_or_else(|| json!({}));
                let mut outcome = if asked.len() > 1 { json!({}) } else { state };
                outcome["__interrupt__"] = json!(all);
                outcome
            }
            _ => state(),
        }
    }

    /// Copies the last checkpoint into the thread's row.
    fn report(&self, thread: &mut Thread) {
        if let Some(reported) = &self.reported {
            thread.values = Some(reported.values.clone());
            thread.interrupts = Some(rows::thread_interrupts(&reported.tasks));
        }
    }

    fn has_next(&self) -> bool {
        self.reported
            .as_ref()
            .is_some_and(|reported| !reported.tasks.is_empty())
    }

    fn status(&self) -> &'static str {
        match self.ending {
            Ending::Failed { .. } => "error",
            Ending::Cancelled => "interrupted",
            _ => "success",
        }
    }

    /// Updates the rows of the run and its thread.
    fn apply(&self, thread: &mut Thread) {
        let now = self.run.clock.now();
        let Some(row) = thread.run_mut(&self.run.id) else {
            // The run was deleted while it ran. The thread stays busy.
            return;
        };
        row.status = self.status().into();
        row.updated_at = now;
        let cancel = row
            .cancelled
            .clone()
            .filter(|_| self.ending == Ending::Cancelled);
        let rolled_back = cancel.as_ref().is_some_and(|cancel| cancel.rollback);
        if rolled_back {
            thread.remove_run(&self.run.id);
        } else {
            self.report(thread);
        }
        let failed = self.failure.is_some();
        thread.error = self
            .failure
            .clone()
            .or_else(|| cancel.map(|cancel| cancel.error()));
        thread.status = if thread.has_active_runs() {
            "busy"
        } else if failed {
            "error"
        } else if self.has_next() && !rolled_back {
            "interrupted"
        } else {
            "idle"
        }
        .into();
        thread
            .metadata
            .insert("graph_id".into(), json!(self.run.graph.name()));
        thread.touched = true;
        thread.updated_at = now;
        thread.state_updated_at = now;
    }
}
