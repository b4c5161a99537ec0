//! The states of a source between its connections, and what each close leads to. Decided from facts alone: without a clock, a
//! network or the events themselves.

use crate::Outcome;
use crate::source::disconnect::DisconnectReason;
use crate::transport::link::{Opened, Verdict};

/// How often a run that is over may send more before its end is believed all the same.
const MOST_MORE: u32 = 100;

pub(super) type Ending = (Outcome, Option<String>);

/// What a source is doing.
pub(super) enum Phase {
    /// Opening a connection.
    Connecting,
    /// Reading one.
    Reading(Opened),
    /// Asking the server what its close means.
    Asking(DisconnectReason),
    /// About to resume. With a reason, after a wait.
    Resuming(Option<&'static str>),
    /// Over.
    Ended(Ending),
}

/// Where a stream is between two connections.
pub(super) struct Course {
    /// The id to resume after.
    pub after: Option<String>,
    /// Why the server can't send everything that is missing, if it can't.
    pub lack: Option<&'static str>,
    /// The run is over, and what may be missing is fetched before the end.
    pub over: Option<Over>,
}

/// A run that is over.
pub(super) struct Over {
    pub ending: Ending,
    pub confirming: Confirming,
}

/// How far the end of a run is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Confirming {
    /// Whether a connection broke and events are known to be missing. Otherwise we are only confirming that nothing is.
    pub lacks: bool,
    /// The last connection ended in order: if the next one does too and brings nothing, that is the end.
    pub in_order: bool,
    /// Connections since then that brought more.
    pub more: u32,
}

/// What is known when the server or the network has closed a connection.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub closed: DisconnectReason,
    /// What the server says about the run.
    pub verdict: Verdict,
    /// It said so at the first request. If it was away for a while, the close of the stream is not the end of the run.
    pub at_once: bool,
    /// The stream itself told the end, by an error or an `end` event.
    pub is_told: bool,
    /// No connection was closed before.
    pub is_first_close: bool,
    /// The connection brought an event.
    pub has_event: bool,
    /// It brought events that could be replayed.
    pub has_more: bool,
    /// There is an id to resume after.
    pub can_go_on: bool,
    /// Events have ids.
    pub has_ids: bool,
    /// A resumed stream brought nothing yet that shows that the server kept its events.
    pub is_unanswered: bool,
}

/// What may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// What followed the last event, because the server did not replay it.
    Rest,
    /// What was sent between the last event and the end, because nothing can be replayed.
    End,
    /// Everything from now on, because the server no longer has the run.
    Run,
}

/// What follows a close.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    /// The run ended so, as far as the server's records say.
    End(Outcome, Option<String>),
    /// The server has no record of the run: its events show how it ended. `is_empty`: the last connection brought none.
    Guess { is_empty: bool },
    /// The run is over, and another connection shows whether everything was received. With a reason, after a wait.
    Confirm(Outcome, Option<String>, Confirming, Option<&'static str>),
    /// The run is still active: resume after a wait.
    Resume(&'static str),
}

impl Course {
    pub fn new(after: Option<String>) -> Course {
        Course { after, lack: None, over: None }
    }

    /// The end of the run if it is known, else unknown with a reason.
    pub fn end_or_unknown(&mut self, detail: String) -> Ending {
        self.over.take().map_or((Outcome::Unknown, Some(detail)), |over| over.ending)
    }

    /// Decides what follows a close, and what may be missing then.
    pub fn on_close(&self, facts: Facts) -> (Option<Missing>, Next) {
        match &facts.verdict {
            Verdict::Over(outcome, detail) => self.on_end(*outcome, detail.clone(), &facts),
            Verdict::Gone(outcome, detail) => {
                // A run that is rolled back ends in order and at once, after it has sent everything.
                let is_in_order =
                    facts.closed == DisconnectReason::Clean && facts.at_once && *outcome != Outcome::Unknown;
                ((!is_in_order).then_some(Missing::Run), Next::End(*outcome, detail.clone()))
            }
            Verdict::Unasked if facts.closed == DisconnectReason::Clean => {
                (None, Next::Guess { is_empty: !facts.has_event })
            }
            Verdict::Untold => (None, Next::Guess { is_empty: !facts.has_event }),
            Verdict::Active | Verdict::Endless | Verdict::Unasked => (None, Next::Resume(facts.closed.message())),
        }
    }

    /// Decides whether a stream whose run is over has brought everything.
    fn on_end(&self, outcome: Outcome, detail: Option<String>, facts: &Facts) -> (Option<Missing>, Next) {
        let confirming = self.over.as_ref().map(|over| over.confirming);
        let in_order = facts.is_told || (facts.closed == DisconnectReason::Clean && facts.at_once);
        // A link that broke once may also break between two events and look like a server that is done. So its end is
        // believed when a connection that was made after the run's end brings nothing more.
        let more = confirming.map_or(0, |so_far| so_far.more + u32::from(facts.has_more));
        let is_confirmed = confirming.is_some_and(|so_far| so_far.in_order)
            && facts.closed == DisconnectReason::Clean
            && (!facts.has_more || more > MOST_MORE);
        let is_believed = facts.is_told || in_order && facts.is_first_close || is_confirmed;
        if is_believed || !facts.can_go_on {
            // If we only made sure, nothing is missing where a server replays nothing after the end.
            let missing = if facts.is_unanswered && confirming.is_none_or(|so_far| so_far.lacks) {
                Some(Missing::Rest)
            } else {
                (!in_order && !facts.has_ids).then_some(Missing::End)
            };
            return (missing, Next::End(outcome, detail));
        }
        let next = Confirming {
            lacks: !in_order || facts.is_unanswered,
            in_order: facts.closed == DisconnectReason::Clean,
            more,
        };
        let why = (!in_order || confirming.is_some()).then(|| facts.closed.message());
        (None, Next::Confirm(outcome, detail, next, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first connection of a run with ids ended in order, and the server says how the run did.
    fn done() -> Facts {
        Facts {
            closed: DisconnectReason::Clean,
            verdict: Verdict::Over(Outcome::Success, None),
            at_once: true,
            is_told: false,
            is_first_close: true,
            has_event: true,
            has_more: true,
            can_go_on: true,
            has_ids: true,
            is_unanswered: false,
        }
    }

    fn course(confirming: Option<Confirming>) -> Course {
        let over = confirming.map(|confirming| Over { ending: (Outcome::Success, None), confirming });
        Course { after: None, lack: None, over }
    }

    fn first(facts: Facts) -> (Option<Missing>, Next) {
        course(None).on_close(facts)
    }

    const END: Next = Next::End(Outcome::Success, None);
    const QUIET: Confirming = Confirming { lacks: false, in_order: true, more: 0 };

    #[test]
    fn the_only_connection_that_ended_in_order_is_believed() {
        assert_eq!(first(done()), (None, END));
    }

    #[test]
    fn the_end_after_a_break_is_confirmed_by_a_connection_that_brings_nothing() {
        let later = Facts { is_first_close: false, ..done() };
        let (missing, next) = first(later.clone());
        assert_eq!((missing, next), (None, Next::Confirm(Outcome::Success, None, QUIET, None)));
        // It brought more: another one, after a wait.
        let (_, next) = course(Some(QUIET)).on_close(later.clone());
        let more = Confirming { more: 1, ..QUIET };
        assert_eq!(next, Next::Confirm(Outcome::Success, None, more, Some("the stream was closed")));
        let quiet = Facts { has_more: false, ..later.clone() };
        assert_eq!(course(Some(QUIET)).on_close(quiet), (None, END));
        // A run that never stops is believed at some point.
        let endless = Confirming { more: MOST_MORE, ..QUIET };
        assert_eq!(course(Some(endless)).on_close(later), (None, END));
    }

    #[test]
    fn a_break_is_not_an_end() {
        let cut = Facts { closed: DisconnectReason::Truncated, ..done() };
        let (_, next) = first(cut.clone());
        let lacks = Confirming { lacks: true, in_order: false, more: 0 };
        assert_eq!(
            next,
            Next::Confirm(Outcome::Success, None, lacks, Some("the stream ended in the middle of an event"))
        );
        // Nor is an end in order, while the server was away.
        assert!(matches!(first(Facts { at_once: false, ..done() }).1, Next::Confirm(..)));
        // Where nothing can be replayed it has to do, and something may be missing.
        let no_ids = Facts { can_go_on: false, has_ids: false, ..cut };
        assert_eq!(first(no_ids), (Some(Missing::End), END));
    }

    #[test]
    fn what_the_stream_itself_told_is_believed() {
        let told = Facts { closed: DisconnectReason::Reset, is_told: true, is_first_close: false, ..done() };
        assert_eq!(first(told), (None, END));
    }

    #[test]
    fn a_server_that_replays_nothing_may_lack_the_rest() {
        let quiet = Facts { is_unanswered: true, has_more: false, is_first_close: false, ..done() };
        let lacks = Confirming { lacks: true, ..QUIET };
        assert_eq!(course(Some(lacks)).on_close(quiet.clone()), (Some(Missing::Rest), END));
        assert_eq!(course(Some(QUIET)).on_close(quiet), (None, END), "it was only made sure");
    }

    #[test]
    fn a_run_that_is_gone_or_unknown_ends() {
        let gone = |outcome| Facts { verdict: Verdict::Gone(outcome, None), ..done() };
        assert_eq!(first(gone(Outcome::Cancelled)), (None, Next::End(Outcome::Cancelled, None)));
        assert_eq!(first(gone(Outcome::Unknown)).0, Some(Missing::Run));
        assert_eq!(first(Facts { closed: DisconnectReason::Reset, ..gone(Outcome::Cancelled) }).0, Some(Missing::Run));
        for verdict in [Verdict::Untold, Verdict::Unasked] {
            let facts = Facts { verdict, has_event: false, ..done() };
            assert_eq!(first(facts), (None, Next::Guess { is_empty: true }));
        }
    }

    #[test]
    fn a_run_that_goes_on_is_resumed() {
        for verdict in [Verdict::Active, Verdict::Endless] {
            assert_eq!(first(Facts { verdict, ..done() }), (None, Next::Resume("the stream was closed")));
        }
        let lost = Facts { verdict: Verdict::Unasked, closed: DisconnectReason::Idle, ..done() };
        assert_eq!(first(lost), (None, Next::Resume("heartbeats stopped")));
    }
}
