//! Decides what a source does after a connection closes. A pure function of `CloseFacts`, without clock or network access.

use crate::Outcome;
use crate::source::disconnect::DisconnectReason;
use crate::transport::connection::{Connection, RunState};

/// Maximum number of connections that deliver more events of a finished run. After that, its end is accepted.
const MAX_END_CONFIRMATIONS: u32 = 100;

pub(super) type Ending = (Outcome, Option<String>);

/// The current step of a source.
pub(super) enum Phase {
    Connecting,
    Reading(Connection),
    /// Reading the run's status from the server, to decide what the close means.
    CheckingStatus(DisconnectReason),
    /// About to resume; after a wait if there is a reason.
    Resuming(Option<&'static str>),
    Ended(Ending),
}

/// The state of a stream between two connections.
pub(super) struct FollowState {
    /// The id to resume after.
    pub after: Option<String>,
    /// Why the server can't replay everything that is missing, if so.
    pub missing_reason: Option<&'static str>,
    /// The end of a finished run, while we confirm that no events are missing.
    pub known_end: Option<KnownEnd>,
}

/// The end of a run according to the server, and the progress in confirming it.
pub(super) struct KnownEnd {
    pub ending: Ending,
    pub confirming: Confirming,
}

/// Progress in confirming the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Confirming {
    /// Whether a connection broke and events are known to be missing. Otherwise we are only confirming that nothing is.
    pub incomplete: bool,
    /// Whether the last connection closed cleanly. If the next one does too and delivers nothing, the end is confirmed.
    pub closed_cleanly: bool,
    /// Number of connections since the run's end that delivered more events.
    pub more: u32,
}

/// The facts that are known when the server or the network has closed a connection.
#[derive(Debug, Clone)]
pub(super) struct CloseFacts {
    pub closed: DisconnectReason,
    /// The run's state according to the server.
    pub run_state: RunState,
    /// Whether the first status request succeeded. If the server was unreachable, the close doesn't mean that the run
    /// ended.
    pub answered_at_once: bool,
    /// Whether the stream contained an `error` or `end` event.
    pub has_end_event: bool,
    pub is_first_close: bool,
    /// Whether the connection delivered an event.
    pub has_event: bool,
    /// Whether the connection delivered events with an id, which can be replayed.
    pub has_more: bool,
    /// Whether there is an id to resume after.
    pub can_resume: bool,
    pub has_ids: bool,
    /// Whether a resumed stream has delivered nothing yet that proves that the server kept its events.
    pub is_replay_unproven: bool,
}

/// The part of a stream that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Everything after the last event, because the server did not replay it.
    Rest,
    /// Everything between the last event and the end, because nothing can be replayed.
    End,
    /// Everything from now on, because the server no longer has the run.
    Run,
}

/// The next step after a close.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NextStep {
    /// The run ended with this outcome, according to the server.
    End(Outcome, Option<String>),
    /// The server has no record of the run, so the outcome is inferred from its events. `is_clean`: the server closed the
    /// connection and was still there. `is_empty`: the last connection delivered none.
    InferOutcome { is_clean: bool, is_empty: bool },
    /// The run has finished, and another connection checks that everything was received; after a wait if there is a
    /// reason.
    Confirm(Outcome, Option<String>, Confirming, Option<&'static str>),
    /// The run is still active: resume after a wait.
    Resume(&'static str),
}

impl FollowState {
    pub fn new(after: Option<String>) -> FollowState {
        FollowState {
            after,
            missing_reason: None,
            known_end: None,
        }
    }

    /// Takes the end of the run if it is known; otherwise returns an unknown outcome with this detail.
    pub fn end_or_unknown(&mut self, detail: String) -> Ending {
        self.known_end
            .take()
            .map_or((Outcome::Unknown, Some(detail)), |known| known.ending)
    }

    /// Returns what may be missing after a close, and the next step.
    pub fn on_close(&self, facts: CloseFacts) -> (Option<Missing>, NextStep) {
        // A server that stops closes its connections cleanly, too.
        let is_clean = facts.closed == DisconnectReason::Clean && facts.answered_at_once;
        match &facts.run_state {
            RunState::Finished(outcome, detail) => self.on_end(*outcome, detail.clone(), &facts),
            RunState::NotFound(outcome, detail) => {
                // A run that is rolled back closes cleanly after it has sent everything, and is deleted immediately.
                let is_complete = is_clean && *outcome != Outcome::Unknown;
                (
                    (!is_complete).then_some(Missing::Run),
                    NextStep::End(*outcome, detail.clone()),
                )
            }
            RunState::StatusUnsupported if is_clean || facts.has_end_event => (
                None,
                NextStep::InferOutcome {
                    is_clean: true,
                    is_empty: !facts.has_event,
                },
            ),
            RunState::NoStatus => (
                None,
                NextStep::InferOutcome {
                    is_clean,
                    is_empty: !facts.has_event,
                },
            ),
            RunState::Active | RunState::Endless | RunState::StatusUnsupported => {
                (None, NextStep::Resume(facts.closed.message()))
            }
        }
    }

    /// Decides whether a stream whose run has finished is complete.
    fn on_end(
        &self,
        outcome: Outcome,
        detail: Option<String>,
        facts: &CloseFacts,
    ) -> (Option<Missing>, NextStep) {
        let confirming = self.known_end.as_ref().map(|known| known.confirming);
        let closed_cleanly = facts.has_end_event
            || (facts.closed == DisconnectReason::Clean && facts.answered_at_once);
        // A connection that breaks between two events looks like a clean close. So after any break, the end is only
        // accepted when a connection that was opened after the run's end delivers nothing more.
        let more = confirming.map_or(0, |so_far| so_far.more + u32::from(facts.has_more));
        let is_confirmed = confirming.is_some_and(|so_far| so_far.closed_cleanly)
            && facts.closed == DisconnectReason::Clean
            && (!facts.has_more || more > MAX_END_CONFIRMATIONS);
        let is_accepted =
            facts.has_end_event || closed_cleanly && facts.is_first_close || is_confirmed;
        if is_accepted || !facts.can_resume {
            // Some servers replay nothing after the end. That is only a gap if events are known to be missing.
            let missing =
                if facts.is_replay_unproven && confirming.is_none_or(|so_far| so_far.incomplete) {
                    Some(Missing::Rest)
                } else {
                    (!closed_cleanly && !facts.has_ids).then_some(Missing::End)
                };
            return (missing, NextStep::End(outcome, detail));
        }
        let next = Confirming {
            incomplete: !closed_cleanly || facts.is_replay_unproven,
            closed_cleanly: facts.closed == DisconnectReason::Clean,
            more,
        };
        let why = (!closed_cleanly || confirming.is_some()).then(|| facts.closed.message());
        (None, NextStep::Confirm(outcome, detail, next, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the facts when the first connection of a run with ids closed cleanly and the server reports success.
    fn success() -> CloseFacts {
        CloseFacts {
            closed: DisconnectReason::Clean,
            run_state: RunState::Finished(Outcome::Success, None),
            answered_at_once: true,
            has_end_event: false,
            is_first_close: true,
            has_event: true,
            has_more: true,
            can_resume: true,
            has_ids: true,
            is_replay_unproven: false,
        }
    }

    fn state(confirming: Option<Confirming>) -> FollowState {
        let known_end = confirming.map(|confirming| KnownEnd {
            ending: (Outcome::Success, None),
            confirming,
        });
        FollowState {
            after: None,
            missing_reason: None,
            known_end,
        }
    }

    fn first(facts: CloseFacts) -> (Option<Missing>, NextStep) {
        state(None).on_close(facts)
    }

    const END: NextStep = NextStep::End(Outcome::Success, None);
    const CLEAN_CLOSE: Confirming = Confirming {
        incomplete: false,
        closed_cleanly: true,
        more: 0,
    };

    #[test]
    fn a_single_clean_connection_confirms_the_end() {
        assert_eq!(first(success()), (None, END));
    }

    #[test]
    fn the_end_after_a_break_is_confirmed_by_an_empty_connection() {
        let later = CloseFacts {
            is_first_close: false,
            ..success()
        };
        let (missing, next) = first(later.clone());
        assert_eq!(
            (missing, next),
            (
                None,
                NextStep::Confirm(Outcome::Success, None, CLEAN_CLOSE, None)
            )
        );
        // The connection delivered more events: try another one, after a wait.
        let (_, next) = state(Some(CLEAN_CLOSE)).on_close(later.clone());
        let more = Confirming {
            more: 1,
            ..CLEAN_CLOSE
        };
        assert_eq!(
            next,
            NextStep::Confirm(Outcome::Success, None, more, Some("connection closed"))
        );
        let empty = CloseFacts {
            has_more: false,
            ..later.clone()
        };
        assert_eq!(state(Some(CLEAN_CLOSE)).on_close(empty), (None, END));
        // The end of a run that keeps sending events is accepted at some point.
        let endless = Confirming {
            more: MAX_END_CONFIRMATIONS,
            ..CLEAN_CLOSE
        };
        assert_eq!(state(Some(endless)).on_close(later), (None, END));
    }

    #[test]
    fn a_broken_connection_does_not_end_the_run() {
        let cut = CloseFacts {
            closed: DisconnectReason::Truncated,
            ..success()
        };
        let (_, next) = first(cut.clone());
        let incomplete = Confirming {
            incomplete: true,
            closed_cleanly: false,
            more: 0,
        };
        assert_eq!(
            next,
            NextStep::Confirm(
                Outcome::Success,
                None,
                incomplete,
                Some("the stream ended in the middle of an event")
            )
        );
        // A clean close while the server was unreachable is not an end either.
        assert!(matches!(
            first(CloseFacts {
                answered_at_once: false,
                ..success()
            })
            .1,
            NextStep::Confirm(..)
        ));
        // Without replay the end is accepted, but events may be missing.
        let no_ids = CloseFacts {
            can_resume: false,
            has_ids: false,
            ..cut
        };
        assert_eq!(first(no_ids), (Some(Missing::End), END));
    }

    #[test]
    fn an_error_or_end_event_confirms_the_end() {
        let reported = CloseFacts {
            closed: DisconnectReason::Reset,
            has_end_event: true,
            is_first_close: false,
            ..success()
        };
        assert_eq!(first(reported), (None, END));
    }

    #[test]
    fn a_server_that_replays_nothing_may_have_lost_the_rest() {
        let empty = CloseFacts {
            is_replay_unproven: true,
            has_more: false,
            is_first_close: false,
            ..success()
        };
        let incomplete = Confirming {
            incomplete: true,
            ..CLEAN_CLOSE
        };
        assert_eq!(
            state(Some(incomplete)).on_close(empty.clone()),
            (Some(Missing::Rest), END)
        );
        assert_eq!(
            state(Some(CLEAN_CLOSE)).on_close(empty),
            (None, END),
            "nothing was known to be missing"
        );
    }

    #[test]
    fn a_deleted_or_unknown_run_ends() {
        let not_found = |outcome| CloseFacts {
            run_state: RunState::NotFound(outcome, None),
            ..success()
        };
        assert_eq!(
            first(not_found(Outcome::Cancelled)),
            (None, NextStep::End(Outcome::Cancelled, None))
        );
        assert_eq!(first(not_found(Outcome::Unknown)).0, Some(Missing::Run));
        assert_eq!(
            first(CloseFacts {
                closed: DisconnectReason::Reset,
                ..not_found(Outcome::Cancelled)
            })
            .0,
            Some(Missing::Run)
        );
        for run_state in [RunState::NoStatus, RunState::StatusUnsupported] {
            let facts = CloseFacts {
                run_state,
                has_event: false,
                ..success()
            };
            assert_eq!(
                first(facts.clone()),
                (
                    None,
                    NextStep::InferOutcome {
                        is_clean: true,
                        is_empty: true
                    }
                )
            );
            // The server was gone after the close.
            let next = match facts.run_state {
                RunState::NoStatus => NextStep::InferOutcome {
                    is_clean: false,
                    is_empty: true,
                },
                _ => NextStep::Resume("connection closed"),
            };
            assert_eq!(
                first(CloseFacts {
                    answered_at_once: false,
                    ..facts
                }),
                (None, next)
            );
        }
    }

    #[test]
    fn an_active_run_is_resumed() {
        for run_state in [RunState::Active, RunState::Endless] {
            assert_eq!(
                first(CloseFacts {
                    run_state,
                    ..success()
                }),
                (None, NextStep::Resume("connection closed"))
            );
        }
        let lost = CloseFacts {
            run_state: RunState::StatusUnsupported,
            closed: DisconnectReason::Idle,
            ..success()
        };
        assert_eq!(first(lost), (None, NextStep::Resume("heartbeats stopped")));
    }
}
