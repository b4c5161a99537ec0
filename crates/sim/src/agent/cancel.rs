//! Cancelling and deleting runs.

use super::Agent;
use super::python::python_repr;
use super::state::{Cancel, Thread};
use serde_json::json;

/// The result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The request was accepted.
    Yes,
    /// The run has ended.
    TooLate,
    /// There is no such run.
    Unknown,
}

impl Agent {
    /// Cancels a run. `waited` says whether the client waits for its end.
    pub fn cancel(
        &self,
        thread: &str,
        run: &str,
        rollback: bool,
        reason: &str,
        waited: bool,
    ) -> Cancelled {
        let done = self.with_thread(thread, |thread| {
            let Some(row) = thread.run_mut(run) else {
                return Cancelled::Unknown;
            };
            if !row.is_active() {
                return Cancelled::TooLate;
            }
            let now = row.clock.now();
            let (pending, read) = (row.status == "pending", row.feed.is_read() || waited);
            row.cancelled = Some(Cancel {
                rollback,
                reason: reason.to_owned(),
            });
            let stop = row.stop.clone();
            row.status = "interrupted".into();
            row.updated_at = now;
            if pending {
                // Also while another run of the thread is running.
                thread.status = "idle".into();
                thread.updated_at = now;
            }
            if rollback && !read {
                // If no client listens, the row is deleted at once. A running run then finds no row at its end, so the thread
                // stays busy.
                thread.remove_run(run);
            }
            stop.cancel();
            Cancelled::Yes
        });
        done.unwrap_or(Cancelled::Unknown)
    }

    /// Waits until a cancelled run has ended.
    pub async fn ended(&self, thread: &str, run: &str) {
        self.until(|memory| {
            let run = memory
                .threads
                .get(thread)
                .and_then(|thread| thread.run(run));
            run.is_none_or(|run| run.outcome.get().is_some())
                .then_some(())
        })
        .await;
    }

    /// Deletes a run's row and its checkpoints. A run that is running continues without them.
    pub fn delete_run(&self, thread: &str, run: &str) -> bool {
        let gone = self.with_thread(thread, |thread| {
            let pending = thread
                .run(run)
                .filter(|run| run.status == "pending")
                .map(|run| run.stop.clone());
            // A pending run never starts without its row.
            pending.inspect(tokio_util::sync::CancellationToken::cancel);
            thread.remove_run(run)
        });
        gone.unwrap_or(false)
    }

    /// Deletes a thread and cancels its active runs. Returns whether it existed.
    pub fn delete_thread(&self, id: &str) -> bool {
        let removed = self.memory().threads.remove(id);
        for run in removed.iter().flat_map(|thread| &thread.runs) {
            if run.is_active() {
                run.stop.cancel();
            }
        }
        self.wake();
        removed.is_some()
    }
}

/// The rows of a thread's active runs as a Python error shows them, with all parameters.
pub fn active_runs(thread: &Thread) -> String {
    let active = thread.runs.iter().filter(|run| run.is_active());
    let shown: Vec<String> = active
        .map(|run| {
            let uuid = |id: &str| format!("UUID('{id}')");
            format!(
                "{{'run_id': {}, 'thread_id': {}, 'assistant_id': {}, 'metadata': {}, 'status': '{}', 'kwargs': {}}}",
                uuid(&run.id),
                uuid(&run.thread),
                uuid(&run.assistant),
                python_repr(&json!(run.metadata)),
                run.status,
                python_repr(&run.kwargs)
            )
        })
        .collect();
    format!("[{}]", shown.join(", "))
}
