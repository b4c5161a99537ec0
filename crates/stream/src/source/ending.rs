//! Determines how a stream ends: the run's status after a close, and which events may be missing.

use super::after_close::{CloseFacts, Ending, FollowState, KnownEnd, Missing, NextStep, Phase};
use super::{STATUS_RETRIES, STATUS_RETRIES_AFTER_ERROR, Source};
use crate::source::control_events::has_interrupt;
use crate::source::disconnect::DisconnectReason;
use crate::transport::connection::{RunState, Transport};
use crate::{Data, Item, Outcome};
use jiff::Timestamp;
use runtail_core::model::cause;
use std::time::Duration;

impl<L: Transport> Source<L> {
    /// Reads the run's status after a close and returns the next phase.
    pub(super) async fn after_close(
        &mut self,
        closed: DisconnectReason,
        state: &mut FollowState,
    ) -> Phase {
        if closed != DisconnectReason::Ambiguous {
            self.tail.reset_ambiguity();
        }
        if !closed.is_by_server() {
            // A connection never repeats within itself what was received before it opened, so a new one removes the
            // ambiguity.
            return Phase::Resuming(None);
        }
        self.closes += 1;
        let (mut run_state, answered_at_once) = match self.run_state(closed).await {
            Ok(run_state) => run_state,
            Err(detail) => return Phase::Ended(state.end_or_unknown(detail)),
        };
        let has_end_event = self.live_error.is_some() || self.has_end;
        if run_state == RunState::StatusUnsupported
            && !has_end_event
            && self.transport.is_run_missing().await
        {
            let why = "the server no longer has the run: it was restarted, or the run was deleted";
            run_state = RunState::NotFound(Outcome::Unknown, Some(why.into()));
        }
        if run_state == RunState::Active {
            self.report_silence();
        }
        let replay_start = self
            .options
            .first_after
            .as_deref()
            .or(self.transport.capabilities().everything);
        let (missing, next) = state.on_close(CloseFacts {
            closed,
            run_state,
            answered_at_once,
            has_end_event,
            is_first_close: self.closes == 1,
            has_event: self.has_event,
            has_more: self.replayable > self.replayable_before,
            can_resume: self.tail.can_resume(replay_start),
            has_ids: self.tail.has_ids(),
            is_replay_unproven: self.is_replay_unproven(),
        });
        match missing {
            None => {}
            Some(Missing::Rest) => {
                self.report_outage_gap(
                    "the server did not replay the remaining events; some may be missing",
                );
            }
            Some(Missing::End) => {
                self.report_gap("the run ended while the connection was lost".into())
            }
            Some(Missing::Run) => {
                self.report_gap(
                    "the server no longer has this run; later events cannot be recovered".into(),
                );
            }
        }
        match next {
            NextStep::End(outcome, detail) => Phase::Ended(self.resolve_outcome(outcome, detail)),
            NextStep::InferOutcome { is_clean, is_empty } => {
                Phase::Ended(self.infer_outcome(is_clean, is_empty))
            }
            NextStep::Confirm(outcome, detail, confirming, why) => {
                state.known_end = Some(KnownEnd {
                    ending: self.resolve_outcome(outcome, detail),
                    confirming,
                });
                Phase::Resuming(why)
            }
            NextStep::Resume(why) => {
                state.known_end = None;
                Phase::Resuming(Some(why))
            }
        }
    }

    /// Reads the run's state, retrying until the server answers. Also returns whether the first request succeeded: if
    /// the server was unreachable, the close doesn't mean that the run ended. The error says why it gave up.
    pub(super) async fn run_state(
        &mut self,
        closed: DisconnectReason,
    ) -> Result<(RunState, bool), String> {
        self.flush().await;
        let max_attempts = if self.live_error.is_some() {
            STATUS_RETRIES_AFTER_ERROR
        } else {
            STATUS_RETRIES
        };
        let (mut attempts, mut answered_at_once) = (0, true);
        loop {
            attempts += 1;
            match self.transport.run_state(self.live_error.as_deref()).await {
                // The server closes the stream, or sends the error, before it updates the run's status.
                Ok(RunState::Active)
                    if closed == DisconnectReason::Clean && attempts < max_attempts =>
                {
                    tokio::time::sleep(self.options.retries.base / 2).await;
                }
                Ok(run_state) => return Ok((run_state, answered_at_once)),
                Err(error) => {
                    answered_at_once = false;
                    if !self.wait_after(&error).await {
                        if self.live_error.is_some() {
                            return Ok((
                                RunState::Finished(Outcome::Error, None),
                                answered_at_once,
                            ));
                        }
                        let detail = error.to_string();
                        self.report_gap(format!("the run's status could not be read: {detail}"));
                        self.emit(Item::Failed(Box::new(error)));
                        return Err(detail);
                    }
                }
            }
        }
    }

    /// Returns the final outcome, with the cause by the server's records and the stream.
    pub(super) fn resolve_outcome(&mut self, outcome: Outcome, detail: Option<String>) -> Ending {
        match outcome {
            Outcome::Error => (
                outcome,
                cause(detail.into_iter().chain(self.live_error.take())),
            ),
            Outcome::Unknown if self.live_error.is_some() => {
                (Outcome::Error, self.live_error.take())
            }
            // The server reports an interrupted run as a success, and its thread's status may lag behind.
            Outcome::Success if self.was_interrupted() => (Outcome::Interrupted, detail),
            _ => (outcome, detail),
        }
    }

    /// Infers the outcome from the events when the server has no record of the run. `is_empty`: the last connection
    /// delivered no event.
    pub(super) fn infer_outcome(&mut self, is_clean: bool, is_empty: bool) -> Ending {
        if let Some(error) = self.live_error.take() {
            return (Outcome::Error, Some(error));
        }
        if !is_clean && !self.has_end {
            let why = match self.transport.capabilities().everything {
                Some(_) => {
                    "the connection was lost before the server named the run, so the run can't be joined again"
                }
                None => "the connection was lost, and a stateless run can't be joined again",
            };
            self.report_gap(why.into());
            return (Outcome::Unknown, Some(why.into()));
        }
        if is_empty {
            if self.closes > 1 {
                self.report_outage_gap("the server sent no more events; some may be missing");
            }
            return (
                Outcome::Unknown,
                Some("the stream ended without an event that shows how the run ended".into()),
            );
        }
        (
            if self.was_interrupted() {
                Outcome::Interrupted
            } else {
                Outcome::Success
            },
            None,
        )
    }

    /// Returns whether the newest state or update of the root graph contains an interrupt.
    fn was_interrupted(&self) -> bool {
        self.last_state
            .as_ref()
            .and_then(Data::json)
            .is_some_and(|text| has_interrupt(text))
    }

    /// Reports, before the end record, what may be missing from a run that sent no events or has other readers.
    pub(super) fn report_missing_at_end(&mut self) {
        if let Some((joining, at)) = self.joined.take()
            && let Some(why) = joining.missing_at_end(at)
        {
            self.report_gap(why);
        }
        if self.has_other_reader && !self.has_end {
            self.report_gap(
                "another reader received events of this run; the last ones may be missing".into(),
            );
        }
    }

    /// Reports an active run that has sent nothing for a long time, at growing intervals.
    pub(super) fn report_silence(&mut self) {
        let silent = self.last_event.elapsed();
        if silent >= self.next_silence && !self.is_endless {
            self.next_silence = next_report_threshold(self.next_silence, silent);
            self.emit(Item::Silent {
                at: Timestamp::now(),
                silent,
            });
        }
    }

    /// Reads the status of a run that has sent nothing for a long time, on a connection with heartbeats.
    pub(super) async fn check_silent_run(&mut self) {
        match self.transport.run_state(self.live_error.as_deref()).await {
            Ok(RunState::Active) => self.report_silence(),
            // If the run has finished, the connection will close.
            _ => {
                self.next_silence =
                    next_report_threshold(self.next_silence, self.last_event.elapsed())
            }
        }
    }

    /// Returns whether a resumed stream has delivered nothing yet that proves that the server kept its events.
    pub(super) fn is_replay_unproven(&self) -> bool {
        match self.stored.as_ref().filter(|stored| stored.has_any()) {
            Some(stored) => stored.is_replay_unproven(),
            None => self.tail.is_replay_unproven(),
        }
    }
}

/// Doubles the reporting threshold until it exceeds the current silence.
fn next_report_threshold(mut next: Duration, silent: Duration) -> Duration {
    while next <= silent {
        next *= 2;
    }
    next
}
