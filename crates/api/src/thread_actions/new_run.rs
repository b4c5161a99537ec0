//! Plans a new run that ends the runs that are active on its thread.

use super::RunStart;
use crate::prelude::*;
use runtail_core::model::{Conflict, Run};

/// Runs that a note names.
const NAMED: usize = 5;

impl AgentServer {
    /// Plans a run whose strategy ends other runs: says which, and that they are looked at again before it is sent.
    pub(super) async fn plan_new_run(
        &self,
        thread: &str,
        body: &RunCreate,
    ) -> Result<Draft, PlanError> {
        let Some(conflict) = Conflict::of(body).filter(|conflict| conflict.cancels()) else {
            return refuse("Only a run that cancels others has a preview.");
        };
        if self.info().await?.kind.is_aegra() {
            return refuse(format!(
                "This server ignores the strategy {}: it would start the run beside the active one. Cancel that one first.",
                conflict.word()
            ));
        }
        let loaded = self.load_thread(thread).await?;
        let active = self.active_runs(thread).await?;
        let mut notes = vec![ended(&active, conflict)];
        if matches!(loaded.status(), ThreadStatus::Waiting { .. }) {
            notes.push(Note::warning(
                "The thread is waiting for an answer. A new run drops the open question.",
            ));
        }
        let guard = StartGuard::Overtakes(active.into_iter().map(|run| run.run_id).collect());
        let start = RunStart {
            thread: thread.into(),
            body: loaded.at_head(body.clone()),
            guard,
        };
        let title = format!("Start a run on thread {}", short_id(thread));
        Ok(self.plan_run(title, start, notes)?)
    }
}

/// Says which runs end.
fn ended(active: &[Run], conflict: Conflict) -> Note {
    let names = listed(
        active.iter().map(|run| short_id(&run.run_id)),
        NAMED,
        and_more,
    );
    let queued = active.iter().filter(|run| run.status != "running").count();
    let which = match active.len() {
        0 => return Note::fact("No run is active on the thread, so nothing is cancelled."),
        1 => format!("run {names}"),
        n => format!("{n} runs, {queued} of them queued: {names}"),
    };
    Note::warning(match conflict {
        Conflict::Rollback => {
            format!("Deletes {which}, with their checkpoints. This can't be undone.")
        }
        _ => format!("Cancels {which}. Finished steps are kept."),
    })
}
