//! How a run ends: the statuses of its row and its thread's, and the last events.

use super::emit::Reported;
use crate::agent::prelude::*;

/// How a run ended: with a result, stopped, or cancelled.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// What the graph returned.
    Of(Result<Object, Stop>),
    /// It was cancelled.
    Cancelled,
}

impl Ending {
    /// The error as the server shows it in streams and threads.
    fn failure(&self) -> Option<Value> {
        match self {
            Ending::Of(Err(Stop::Failed { error, message })) => {
                Some(json!({"error": error, "message": message}))
            }
            _ => None,
        }
    }
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
        reported: locked(&out.reported).take(),
        asked: std::mem::take(&mut *locked(&out.asked)),
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
    let mut burst = out.burst();
    let done = json!({"status": "run_done", "run_id": run.id});
    burst.plain("metadata", &done, Kind::Lifecycle, true);
    if agent.contract {
        let state = json!({"state": state, "thread_id": run.thread});
        burst.plain("state_update", &state, Kind::State, true);
    }
    let items = burst.take();
    if !items.is_empty() {
        agent.thread_feed(&run.thread).push(&items);
    }
}

impl End<'_> {
    /// The response for clients that wait for the run.
    fn outcome(&self, thread: &Thread) -> Value {
        if let Some(failure) = &self.failure {
            return json!({"__error__": failure});
        }
        match &self.ending {
            Ending::Of(Ok(values)) => json!(values),
            Ending::Of(Err(Stop::Asked(_))) => {
                let asked = self.asked.iter().map(|one| rows::interrupt(one, true));
                // The state when the question was asked; with several questions it is left out.
                let state = self.reported.as_ref().filter(|_| self.asked.len() < 2);
                let mut outcome =
                    state.map_or_else(|| json!({}), |reported| json!(reported.values));
                outcome["__interrupt__"] = asked.collect();
                outcome
            }
            _ => thread.checkpoint(None).map_or_else(
                || json!({}),
                |newest| json!(newest.live_values(Some(self.run.graph))),
            ),
        }
    }

    /// Copies the last checkpoint into the thread's row.
    fn report(&self, thread: &mut Thread) {
        if let Some(reported) = &self.reported {
            thread.values = Some(reported.values.clone());
            thread.interrupts = Some(rows::thread_interrupts(&reported.tasks));
        }
    }

    /// Updates the rows of the run and its thread.
    fn apply(&self, thread: &mut Thread) {
        let now = self.run.clock.now();
        let Some(row) = thread.run_mut(&self.run.id) else {
            // The run was deleted while it ran. The thread stays busy.
            return;
        };
        row.status = match self.ending {
            Ending::Cancelled => "interrupted",
            _ if self.failure.is_some() => "error",
            _ => "success",
        }
        .into();
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
        let waits = |reported: &Reported| !reported.tasks.is_empty() && !rolled_back;
        thread.status = if thread.has_active_runs() {
            "busy"
        } else if self.failure.is_some() {
            "error"
        } else if self.reported.as_ref().is_some_and(waits) {
            "interrupted"
        } else {
            "idle"
        }
        .into();
        let cancelled = cancel.map(|cancel| cancel.error());
        thread.error = self.failure.clone().or(cancelled);
        thread
            .metadata
            .insert("graph_id".into(), json!(self.run.graph.name()));
        thread.touched = true;
        thread.updated_at = now;
        thread.state_updated_at = now;
    }
}
