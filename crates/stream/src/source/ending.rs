//! How a stream ends: what the server's records say after a close, and what may be missing.

use super::course::{Course, Ending, Facts, Missing, Next, Over, Phase};
use super::{ASKS, ERROR_ASKS, Source};
use crate::source::control_events::has_interrupt;
use crate::source::disconnect::DisconnectReason;
use crate::transport::link::{Link, Verdict};
use crate::{Data, Item, Outcome};
use jiff::Timestamp;
use std::time::Duration;

impl<L: Link> Source<L> {
    /// Asks what a close means, and does what follows from that.
    pub(super) async fn after_close(&mut self, closed: DisconnectReason, course: &mut Course) -> Phase {
        if closed != DisconnectReason::Ambiguous {
            self.tail.moved_on();
        }
        if !closed.is_by_server() {
            // Events received before a connection are never what it repeats, so the next one can tell them apart.
            return Phase::Resuming(None);
        }
        self.closes += 1;
        let (verdict, at_once) = match self.verdict(closed).await {
            Ok(verdict) => verdict,
            Err(detail) => return Phase::Ended(course.end_or_unknown(detail)),
        };
        if verdict == Verdict::Active {
            self.note_silence();
        }
        let past = self.options.first_after.as_deref().or(self.link.capabilities().everything);
        let (missing, next) = course.on_close(Facts {
            closed,
            verdict,
            at_once,
            is_told: self.live_error.is_some() || self.has_end,
            is_first_close: self.closes == 1,
            has_event: self.has_event,
            has_more: self.replayable > self.replayable_before,
            can_go_on: self.tail.can_go_on(past),
            has_ids: self.tail.has_ids(),
            is_unanswered: self.is_unanswered(),
        });
        match missing {
            None => {}
            Some(Missing::Rest) => {
                self.gap_of_outage("the server did not replay the remaining events; some may be missing");
            }
            Some(Missing::End) => self.gap("the connection was lost, and the run ended meanwhile".into()),
            Some(Missing::Run) => {
                self.gap("the server no longer has this run; later events cannot be recovered".into());
            }
        }
        match next {
            Next::End(outcome, detail) => Phase::Ended(self.settle(outcome, detail)),
            Next::Guess { is_empty } => Phase::Ended(self.guess(closed, is_empty)),
            Next::Confirm(outcome, detail, confirming, why) => {
                course.over = Some(Over { ending: self.settle(outcome, detail), confirming });
                Phase::Resuming(why)
            }
            Next::Resume(why) => {
                course.over = None;
                Phase::Resuming(Some(why))
            }
        }
    }

    /// Asks what the close means, until there is an answer. Also returns whether the answer came at once: if the server was
    /// away for a while, the close of the stream is not the end of the run. The error says why it gave up.
    pub(super) async fn verdict(&mut self, closed: DisconnectReason) -> Result<(Verdict, bool), String> {
        self.flush().await;
        let asks = if self.live_error.is_some() { ERROR_ASKS } else { ASKS };
        let (mut asked, mut at_once) = (0, true);
        loop {
            asked += 1;
            match self.link.verdict().await {
                // The error is published before the run's status changes, and so may be the end.
                Ok(Verdict::Active) if closed == DisconnectReason::Clean && asked < asks => {
                    tokio::time::sleep(self.options.retries.base / 2).await;
                }
                Ok(verdict) => return Ok((verdict, at_once)),
                Err(error) => {
                    at_once = false;
                    if !self.wait_after(&error).await {
                        if self.live_error.is_some() {
                            return Ok((Verdict::Over(Outcome::Error, None), at_once));
                        }
                        let detail = error.to_string();
                        self.gap(format!("the run's status could not be read: {detail}"));
                        self.note(Item::Failed(Box::new(error)));
                        return Err(detail);
                    }
                }
            }
        }
    }

    /// The outcome, with the error that was received live if the server's records have none.
    pub(super) fn settle(&mut self, outcome: Outcome, detail: Option<String>) -> Ending {
        match outcome {
            Outcome::Error => (outcome, detail.or_else(|| self.live_error.take())),
            Outcome::Unknown if self.live_error.is_some() => (Outcome::Error, self.live_error.take()),
            // The server calls a run that stops to ask a success, and its thread may not be interrupted yet.
            Outcome::Success if self.stopped_to_ask() => (Outcome::Interrupted, detail),
            _ => (outcome, detail),
        }
    }

    /// The outcome of a stream whose server has no record of the run. `is_empty`: the last connection brought no event.
    pub(super) fn guess(&mut self, closed: DisconnectReason, is_empty: bool) -> Ending {
        if let Some(error) = self.live_error.take() {
            return (Outcome::Error, Some(error));
        }
        if closed != DisconnectReason::Clean {
            let why = match self.link.capabilities().everything {
                Some(_) => "the connection was lost before the server named the run, so the run can't be joined again",
                None => "the connection was lost, and a stateless run can't be joined again",
            };
            self.gap(why.into());
            return (Outcome::Unknown, Some(why.into()));
        }
        if is_empty {
            if self.closes > 1 {
                self.gap_of_outage("the server sent no more events: some may be missing");
            }
            return (Outcome::Unknown, Some("the stream ended without an event that shows how the run ended".into()));
        }
        (if self.stopped_to_ask() { Outcome::Interrupted } else { Outcome::Success }, None)
    }

    /// Whether the newest state or update at the root tells of an interrupt.
    fn stopped_to_ask(&self) -> bool {
        self.last_state.as_ref().and_then(Data::json).is_some_and(|text| has_interrupt(text))
    }

    /// Before the end: what is missing of a run without events, and behind the last event of one that others read too.
    pub(super) fn note_missing_at_end(&mut self) {
        if let Some((joining, at)) = self.joined.take()
            && let Some(why) = joining.missing_at_end(at)
        {
            self.gap(why);
        }
        if self.has_rival && !self.has_end {
            self.gap("another reader took events of this run: the last ones may be missing".into());
        }
    }

    /// Reports a run that its server calls active and that has been silent for long, at growing intervals.
    pub(super) fn note_silence(&mut self) {
        let silent = self.last_event.elapsed();
        if silent >= self.next_silence && !self.is_endless {
            self.next_silence = later_silence(self.next_silence, silent);
            self.note(Item::Silent { at: Timestamp::now(), silent });
        }
    }

    /// Reads the status of a run that has been silent for long, on a connection that is alive.
    pub(super) async fn check_silent_run(&mut self) {
        match self.link.verdict().await {
            Ok(Verdict::Active) => self.note_silence(),
            // Its end will show on the connection.
            _ => self.next_silence = later_silence(self.next_silence, self.last_event.elapsed()),
        }
    }

    /// Whether a resumed stream has brought nothing yet that shows that the server kept its events.
    pub(super) fn is_unanswered(&self) -> bool {
        match self.stored.as_ref().filter(|stored| stored.has_any()) {
            Some(stored) => stored.is_unanswered(),
            None => self.tail.is_unanswered(),
        }
    }
}

/// Doubles the length of silence that is reported next, until it is longer than the current one.
fn later_silence(mut next: Duration, silent: Duration) -> Duration {
    while next <= silent {
        next *= 2;
    }
    next
}
