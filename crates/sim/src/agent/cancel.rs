//! Cancelling and deleting runs.

use crate::agent::prelude::*;

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
            let ended = run.is_none_or(|run| run.outcome.get().is_some());
            ended.then_some(())
        })
        .await;
    }

    /// Deletes a run's row and its checkpoints. A run that is running continues without them.
    pub fn delete_run(&self, thread: &str, run: &str) -> bool {
        let gone = self.with_thread(thread, |thread| {
            // A pending run never starts without its row.
            let pending = thread.run(run).filter(|run| run.status == "pending");
            pending.into_iter().for_each(|run| run.stop.cancel());
            thread.remove_run(run)
        });
        gone.unwrap_or(false)
    }

    /// Deletes a thread and cancels its active runs. Returns whether it existed.
    pub fn delete_thread(&self, id: &str) -> bool {
        let removed = self.memory().threads.remove(id);
        let runs = removed.iter().flat_map(|thread| &thread.runs);
        runs.filter(|run| run.is_active())
            .for_each(|run| run.stop.cancel());
        self.wake();
        removed.is_some()
    }
}

/// The rows of a thread's active runs as a Python error shows them, with all parameters.
pub fn active_runs(thread: &Thread) -> String {
    let active = thread.runs.iter().filter(|run| run.is_active());
    let shown: Vec<String> = active
        .map(|run| {
            let (metadata, kwargs) = (python_repr(&json!(run.metadata)), python_repr(&run.kwargs));
            format!(
                "{{'run_id': UUID('{}'), 'thread_id': UUID('{}'), 'assistant_id': UUID('{}'), 'metadata': {metadata}, \
                 'status': '{}', 'kwargs': {kwargs}}}",
                run.id, run.thread, run.assistant, run.status
            )
        })
        .collect();
    format!("[{}]", shown.join(", "))
}
