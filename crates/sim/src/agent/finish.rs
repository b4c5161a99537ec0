//! How a run ends: the statuses of its row and its thread's, and the last events.

use super::Agent;
use super::emit::{Output, Reported};
use super::exec::Stop;
use super::feed::{Item, Kind};
use super::rows;
use super::state::{Interrupt, Object, Run, Thread};
use crate::Dialect;
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
    fn failure(&self, dialect: Dialect) -> Option<Value> {
        let Ending::Failed { error, message } = self else {
            return None;
        };
        // JavaScript nodes throw plain errors.
        let own = matches!(
            error.as_str(),
            "GraphRecursionError" | "EmptyInputError" | "InvalidUpdateError"
        );
        let error = if dialect == Dialect::JavaScript && !own {
            "Error"
        } else {
            error
        };
        Some(json!({"error": error, "message": message}))
    }
}

fn taken<T: Default>(mutex: &Mutex<T>) -> T {
    std::mem::take(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What is known when a run ends.
struct End<'a> {
    agent: &'a Agent,
    run: &'a Run,
    ending: Ending,
    failure: Option<Value>,
    reported: Option<Reported>,
    asked: Vec<Interrupt>,
    last_values: Option<Value>,
    /// Whether an event reported the interrupt; Aegra has no other source for it.
    told: bool,
}

/// Ends a run: rows first, then the last events, so that a client that reads the end also finds the result.
pub fn finish(agent: &Arc<Agent>, run: &Run, out: &Output, ending: Ending) {
    let end = End {
        agent,
        run,
        failure: ending.failure(agent.dialect),
        told: !out.modes.events,
        ending,
        reported: taken(&out.reported),
        asked: taken(&out.asked),
        last_values: taken(&out.last_values),
    };
    let (state, cancelled) = agent
        .with_thread(&run.thread, |thread| {
            // The row of a deleted run is gone.
            let cancelled = thread.run(&run.id).and_then(|run| run.cancelled.clone());
            let outcome = end.outcome(thread);
            match agent.dialect {
                Dialect::Python | Dialect::Contract => end.python(thread),
                Dialect::JavaScript => end.javascript(thread),
                Dialect::Aegra => end.aegra(thread),
            }
            // Only this task sets it.
            let _ = run.outcome.set(outcome);
            let state = thread
                .checkpoint(None)
                .map(|newest| rows::state(agent.dialect, thread, newest, true));
            (state, cancelled)
        })
        .unwrap_or_default();
    // A deleted thread has no outcome.
    let _ = run.outcome.set(json!({}));
    let mut burst = out.burst();
    let rolled_back = cancelled.as_ref().is_some_and(|cancel| cancel.rollback);
    match (&end.failure, agent.dialect) {
        (Some(failure), Dialect::JavaScript) => {
            burst.plain("error", failure, Kind::Output, true);
        }
        (Some(failure), _) => {
            burst.plain("error", failure, Kind::Output, false);
        }
        (None, Dialect::JavaScript) if rolled_back => {
            burst.plain(
                "error",
                &json!({"error": "AbortError", "message": "Abort"}),
                Kind::Output,
                true,
            );
        }
        _ => {}
    }
    if agent.dialect == Dialect::Aegra && (end.failure.is_some() || end.ending == Ending::Cancelled)
    {
        let interrupts = cancelled.is_some_and(|cancel| cancel.reason.starts_with("interrupt"));
        if end.ending == Ending::Cancelled && interrupts {
            let error = json!({"error": "Error", "message": "Run was interrupted"});
            burst.plain("error", &error, Kind::Output, false);
        }
        // It reports success however the run ended.
        burst.plain("end", &json!({"status": "success"}), Kind::Output, false);
    }
    burst.send();
    finish_thread_stream(agent, run, out, &state.unwrap_or_default());
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
    if out.clock.is_silent() || !matches!(agent.dialect, Dialect::Python | Dialect::Contract) {
        return;
    }
    let done = json!({"status": "run_done", "run_id": run.id});
    let mut events = vec![("metadata", done, Kind::Lifecycle)];
    if agent.dialect == Dialect::Contract {
        events.push((
            "state_update",
            json!({"state": state, "thread_id": run.thread}),
            Kind::State,
        ));
    }
    let ids = out.clock.ids(events.len());
    let items: Vec<Arc<Item>> = events
        .into_iter()
        .zip(ids)
        .map(|((name, data, kind), id)| {
            let (name, data, stored, ended) = (
                name.to_owned(),
                data.to_string(),
                out.stored,
                out.ended.clone(),
            );
            Arc::new(Item {
                id,
                name,
                data,
                kind,
                stored,
                ended,
            })
        })
        .collect();
    agent.thread_feed(&run.thread).push(&items);
}

impl End<'_> {
    /// The response for clients that wait for the run.
    fn outcome(&self, thread: &Thread) -> Value {
        match self.agent.dialect {
            Dialect::Aegra => match self.ending {
                Ending::Failed { .. } | Ending::Cancelled => json!({}),
                _ => self.last_values.clone().unwrap_or_else(|| json!({})),
            },
            Dialect::JavaScript => match &self.failure {
                // The message contains JSON as a string.
                Some(failure) => {
                    json!({"__error__": {"error": "Error", "message": failure.to_string()}})
                }
                None => self
                    .last_values
                    .clone()
                    .unwrap_or_else(|| json!(thread.values)),
            },
            Dialect::Python | Dialect::Contract => self.python_outcome(thread),
        }
    }

    fn python_outcome(&self, thread: &Thread) -> Value {
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
                let all: Vec<Value> = asked
                    .iter()
                    .map(|one| rows::interrupt(self.agent.dialect, one, true))
                    .collect();
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
        let Some(reported) = &self.reported else {
            if self.agent.dialect == Dialect::JavaScript {
                (thread.values, thread.interrupts) = (None, None);
            }
            return;
        };
        thread.values = Some(reported.values.clone());
        let tasks = reported
            .tasks
            .iter()
            .map(|(id, raised)| (id.as_str(), raised.as_ref()));
        thread.interrupts = Some(rows::thread_interrupts(self.agent.dialect, tasks));
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

    fn python(&self, thread: &mut Thread) {
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

    fn javascript(&self, thread: &mut Thread) {
        let now = self.run.clock.now();
        let cancelled = self.ending == Ending::Cancelled;
        let rolled_back = cancelled
            && thread
                .run(&self.run.id)
                .and_then(|run| run.cancelled.as_ref())
                .is_some_and(|cancel| cancel.rollback);
        // A run that was deleted while running counts as failed, and so does one that was rolled back.
        let mut failed = self.failure.is_some() || rolled_back;
        match thread.run_mut(&self.run.id) {
            Some(row) => {
                row.status = if rolled_back { "error" } else { self.status() }.into();
                row.updated_at = now;
            }
            None => failed = true,
        }
        let forgotten = cancelled && !rolled_back;
        if forgotten {
            thread.values = None;
            thread.interrupts = None;
        } else {
            self.report(thread);
        }
        let pending = thread.runs.iter().any(|run| run.status == "pending");
        thread.status = match (failed, self.has_next() && !forgotten, pending) {
            (true, ..) => "error",
            (_, true, _) => "interrupted",
            (.., true) => "busy",
            _ => "idle",
        }
        .into();
        thread.updated_at = now;
    }

    fn aegra(&self, thread: &mut Thread) {
        let now = self.run.clock.now();
        let interrupted = self.ending == Ending::Asked && self.told;
        if let Some(row) = thread.run_mut(&self.run.id) {
            row.status = if interrupted {
                "interrupted"
            } else {
                self.status()
            }
            .into();
            row.updated_at = now;
            row.output = Some(match self.ending {
                Ending::Failed { .. } | Ending::Cancelled => json!({}),
                _ => self.last_values.clone().unwrap_or_else(|| json!({})),
            });
            if let Ending::Failed { message, .. } = &self.ending {
                row.failure = Some(message.clone());
            }
        }
        // Any run that ends sets the status, even while others are running.
        thread.status = match self.ending {
            Ending::Failed { .. } => "error",
            _ if interrupted => "interrupted",
            _ => "idle",
        }
        .into();
        thread.updated_at = now;
    }
}
