//! Cancels runs and reads them back, because an accepted request does not stop a run by itself.

use super::CancelAction;
use crate::prelude::*;
use runtail_core::model::Run;
use tokio::time::Instant;

/// Delay before a run is read again: the first and the maximum.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A run to cancel, and the result.
#[derive(Debug, Clone, PartialEq)]
pub struct CancelTarget {
    pub run_id: String,
    /// The progress of cancelling it.
    pub state: CancelState,
    /// The run's own status when it was last read; `deleted` after a rollback.
    pub run_status: Option<String>,
    /// Whether it was active when it was first read.
    pub was_active: bool,
    /// Why it could not be cancelled, or read back.
    pub error: Option<ApiError>,
}

/// The progress of cancelling a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelState {
    /// Pending or running, and not cancelled.
    Active,
    /// The request was accepted, and the run is still active.
    Stopping,
    Stopped,
    /// It had ended before, or ended by itself.
    Finished,
    /// The run does not exist.
    NotFound,
    /// The server refused.
    Failed,
    /// The request was sent, and it is unknown whether the server accepted it.
    Unknown,
}

impl CancelState {
    /// Returns its word in the output of commands.
    pub fn word(self) -> &'static str {
        match self {
            CancelState::Active => "active",
            CancelState::Stopping => "stopping",
            CancelState::Stopped => "stopped",
            CancelState::Finished => "finished",
            CancelState::NotFound => "not_found",
            CancelState::Failed => "failed",
            CancelState::Unknown => "unknown",
        }
    }
}

impl CancelTarget {
    /// Creates a target from a run that was just read; `None` means not found.
    pub fn new(id: &str, run: Option<&Run>) -> CancelTarget {
        let state = match run {
            None => CancelState::NotFound,
            Some(run) if run.is_active() => CancelState::Active,
            Some(_) => CancelState::Finished,
        };
        let was_active = state == CancelState::Active;
        let run_status = run.map(|run| run.status.clone());
        CancelTarget {
            run_id: id.to_string(),
            state,
            run_status,
            was_active,
            error: None,
        }
    }
}

impl AgentServer {
    /// Cancels the active targets in order and reads each back. A queue has to be sorted newest first, because a queued run
    /// must not start when the run before it is cancelled.
    #[boxed]
    pub async fn cancel_runs(
        &self,
        thread: &str,
        targets: &mut [CancelTarget],
        action: CancelAction,
    ) {
        for target in targets
            .iter_mut()
            .filter(|target| target.state == CancelState::Active)
        {
            self.cancel_run(thread, target, action).await;
        }
    }

    async fn cancel_run(&self, thread: &str, target: &mut CancelTarget, action: CancelAction) {
        match self.cancel(thread, &target.run_id, action).await {
            Ok(()) => self.read_back(thread, target, true).await,
            Err(error) => {
                // It may have ended since it was read; then there is nothing to cancel.
                self.read_back(thread, target, false).await;
                if target.state == CancelState::Active {
                    let hint = match (action, &error.kind) {
                        (CancelAction::Rollback, Kind::Invalid(_)) => {
                            Some("the server may not support rollback".into())
                        }
                        _ if !error.is_refusal() => Some(
                            "it was sent once; read the run's status before you repeat it".into(),
                        ),
                        _ => error.hint.clone(),
                    };
                    target.state = if error.is_refusal() {
                        CancelState::Failed
                    } else {
                        CancelState::Unknown
                    };
                    target.error = Some(ApiError { hint, ..error });
                }
            }
        }
    }

    /// Reads a run. `accepted` is whether the server accepted the cancel request.
    async fn read_back(&self, thread: &str, target: &mut CancelTarget, accepted: bool) {
        match self.run(thread, &target.run_id).await {
            Ok(run) => {
                target.state = match (run.is_active(), accepted) {
                    (true, false) => CancelState::Active,
                    (true, true) => CancelState::Stopping,
                    // Servers use several words for a cancelled run; JavaScript uses `error` after a rollback.
                    (false, true) if run.status != "success" => CancelState::Stopped,
                    (false, _) => CancelState::Finished,
                };
                target.run_status = Some(run.status);
            }
            Err(error) if error.kind == Kind::NotFound && accepted => {
                (target.state, target.run_status) = (CancelState::Stopped, Some("deleted".into()));
            }
            // Keep the last known status.
            Err(error) => {
                if accepted {
                    target.state = CancelState::Stopping;
                }
                target.error = Some(error);
            }
        }
    }

    /// Polls the stopping runs until they have stopped or the deadline is reached.
    #[boxed]
    pub async fn wait_until_stopped(
        &self,
        thread: &str,
        targets: &mut [CancelTarget],
        timeout: Duration,
    ) {
        let deadline = Instant::now() + timeout;
        let mut pause = FIRST_PAUSE;
        while targets
            .iter()
            .any(|target| target.state == CancelState::Stopping)
            && Instant::now() < deadline
        {
            tokio::time::sleep_until(deadline.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            for target in targets
                .iter_mut()
                .filter(|target| target.state == CancelState::Stopping)
            {
                target.error = None;
                let _ =
                    tokio::time::timeout_at(deadline, self.read_back(thread, target, true)).await;
            }
        }
    }
}
