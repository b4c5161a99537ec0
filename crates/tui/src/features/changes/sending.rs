//! Sends what a preview has shown, once: only after the confirmation, and not for a read-only profile.

use super::confirm::{Confirm, Stage, after_failure};
use crate::session::msg::{Effect, Proposal};
use crate::session::{ALREADY_SENT, Cx, NOTHING_SENT, Request, Requests, Session, not_sent};
use runtail_api::{
    Acted, ApiError, BULK_CONCURRENCY, BulkOutcome, Kind, PlanError, StartError, ThreadIntent,
};
use runtail_core::text;

impl Confirm {
    /// Sends the changes. No other function begins to.
    pub(super) fn send(&mut self, cx: &Cx<'_>) -> Requests {
        if self.is_sent {
            return Requests::none();
        }
        let is_ready = self.is_planned().then(|| self.is_ready());
        if let Some(requests) = self.send_key.refuses(cx, is_ready) {
            return requests;
        }
        if !self.is_ready() {
            let nothing = || Requests::info("Nothing to send.");
            return self.several.as_ref().map(|_| nothing()).unwrap_or_default();
        }
        if self.typed_limit().is_some() {
            let mut out = Requests::info(not_sent("Steps changed: review the new request."));
            out.extend(self.change_limit(cx));
            return out;
        }
        if !self.may_be_sent() {
            let wanted = self.wants_name().unwrap_or_default();
            return Requests::info(not_sent(format!("Type {} exactly.", text::clean(&wanted))));
        }
        // A profile can become read-only while the dialog is open.
        if self.several.is_none() && cx.session.is_read_only(&self.profile) {
            return Requests::error(cx.session.read_only_text(&self.profile));
        }
        let mut out = self.leave_out_read_only(cx.session);
        if self.ready() == 0 {
            out.notify(true, cx.session.read_only_text(&self.profile));
            return out;
        }
        self.is_sent = true;
        out.extend(self.send_next());
        out
    }

    /// Leaves out the threads of several whose profiles are read-only by now.
    fn leave_out_read_only(&mut self, session: &Session) -> Requests {
        let mut out = Requests::none();
        for target in self.targets.iter_mut().filter(|target| target.of.is_some()) {
            let read_only = target
                .profile()
                .filter(|profile| session.is_read_only(profile));
            if let (Some(profile), Stage::Ready(_)) = (read_only, &target.stage) {
                let why = format!("{profile} is read-only");
                target.stage = Stage::Refused(PlanError::Unfit(why));
                out.push(Effect::Forget(target.number));
            }
        }
        out
    }

    /// Sends the next requests, a few at a time.
    fn send_next(&mut self) -> Requests {
        let mut out = Requests::none();
        let is_one = self.several.is_none();
        let mut active = self.count(|stage| matches!(stage, Stage::Sending(_)));
        for target in &mut self.targets {
            let Stage::Ready(preview) = &mut target.stage else {
                continue;
            };
            if self.is_stopped {
                target.stage = Stage::Done(BulkOutcome::NotSent, None);
                out.push(Effect::Forget(target.number));
            } else if active < BULK_CONCURRENCY {
                active += 1;
                target.stage = Stage::Sending(std::mem::take(preview));
                if is_one {
                    out.extend(note_cancelling(&target.proposal));
                }
                let thread = target.proposal.thread();
                let profile = target.profile().unwrap_or(&self.profile).clone();
                out.push(Effect::Send(target.number, profile, thread));
            }
        }
        out
    }

    /// Applies the result for one of several threads. Returns whether the action is finished.
    pub fn on_acted(
        &mut self,
        number: u64,
        result: &Result<Acted, StartError>,
    ) -> (bool, Requests) {
        let (outcome, error) = BulkOutcome::of(result);
        for target in &mut self.targets {
            if target.number == number {
                target.stage = Stage::Done(outcome, error.as_ref().map(ToString::to_string));
            }
        }
        let out = self.send_next();
        (!self.is_active(), out)
    }

    /// Applies the failure of a sent change of a record. If its target had changed before it was sent, it is planned again.
    pub(super) fn on_failed(&mut self, session: &mut Session, error: &ApiError) -> Requests {
        let is_stale = error.kind == Kind::Stale;
        if is_stale && matches!(self.one().proposal, Proposal::Service(_)) {
            session.restart_polls();
            session.notify(true, format!("{}.", text::capitalized(&error.detail)));
            return self.review_again(session);
        }
        self.fail(error.clone());
        session.report_error(error);
        after_failure(session, error)
    }

    /// Shows that the sent change failed.
    pub fn fail(&mut self, error: ApiError) {
        for target in &mut self.targets {
            if let Stage::Sending(preview) = &mut target.stage {
                target.stage = Stage::Failed(std::mem::take(preview), error.clone());
            }
        }
    }

    /// Leaves the dialog; of several, it stops before the next request first. What was sent stays sent, and its result is shown
    /// when it is known.
    pub(super) fn leave(&mut self) -> Requests {
        if self.is_of_several() && self.is_active() && !self.is_stopped {
            self.is_stopped = true;
            let mut out = self.send_next();
            out.notify(false, "Stopped; sent requests finish.");
            return out;
        }
        let mut out: Requests = Request::Close.into();
        if self.is_ready() || self.is_of_several() && self.is_open() {
            out.notify(false, NOTHING_SENT);
            self.forget().for_each(|effect| out.push(effect));
        } else if self.is_active() && !self.is_of_several() {
            out.notify(false, ALREADY_SENT);
        }
        out
    }
}

/// Marks the runs that a change cancels as being cancelled.
fn note_cancelling(proposal: &Proposal) -> Requests {
    match (proposal, proposal.thread()) {
        (
            Proposal::Thread(
                _,
                ThreadIntent::Cancel {
                    run, with_queue, ..
                },
            ),
            Some(thread),
        ) => Request::NoteCancelling(thread, run.clone().filter(|_| !with_queue)).into(),
        _ => Requests::none(),
    }
}
