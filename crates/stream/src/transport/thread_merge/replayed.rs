//! The past of a thread: which events its replay contains, and when it is complete.

use super::{
    DRAIN_TIMEOUT, END_GRACE, MergePhase, PAST_GRACE, ThreadMerger, ended, has_stopped,
    is_finished, is_kept,
};
use crate::source::id_key::IdKey;
use crate::transport::framed_connection::{Block, FrameKind, ThreadFrame};
use crate::transport::merge_memory::lock;
use runtail_api::ApiError;
use runtail_core::model::Run;

impl ThreadMerger {
    pub(super) async fn read_past(&mut self) -> Result<(), ApiError> {
        let has_active = self.active.is_some() || self.held.is_some();
        if has_active && self.has_replayed_past() {
            return self.begin_run().await;
        }
        let may_miss_end = !has_active && self.may_miss_end();
        let Some(past) = &mut self.past else {
            self.phase = MergePhase::Present;
            return Ok(());
        };
        tokio::select! {
            biased;
            frame = past.next() => match frame? {
                // State updates and errors are never stored, so this is a live event, which the present delivers too.
                ThreadFrame::Block(block) if block.kind == FrameKind::ThreadLevel => {}
                ThreadFrame::Block(block)
                    if self.is_past(&block) || self.is_late(&block).await? || self.is_of_deleted(&block).await? =>
                {
                    self.deliver(block)
                }
                ThreadFrame::Block(_) => {
                    self.past = None;
                    self.begin_run().await?;
                }
                ThreadFrame::Heartbeat => self.heartbeat(),
                ThreadFrame::Truncated => self.end_truncated(),
                ThreadFrame::Closed => self.phase = MergePhase::Done,
            },
            frame = self.live.next(), if !has_active && !self.has_present_ended => match frame? {
                ThreadFrame::Block(block) => match self.new_to_past(block) {
                    Some(block) if block.kind == FrameKind::ThreadLevel => self.deliver(block),
                    other => self.held = other,
                },
                ThreadFrame::Heartbeat => self.heartbeat(),
                ThreadFrame::Truncated | ThreadFrame::Closed => self.has_present_ended = true,
            },
            // Past events that arrive in the meantime need not be requested again.
            () = tokio::time::sleep_until(self.quiet_since + DRAIN_TIMEOUT), if self.has_present_ended => self.phase = MergePhase::Done,
            () = tokio::time::sleep_until(self.quiet_since + PAST_GRACE), if has_active => {
                lock(&self.memory).replay_overdue = true;
                self.begin_run().await?;
            }
            () = tokio::time::sleep_until(self.quiet_since + END_GRACE), if may_miss_end => {
                lock(&self.memory).reopened_for_end = self.last_finished().map(|run| run.run_id.clone());
                self.phase = MergePhase::Done;
            }
        }
        Ok(())
    }

    /// Returns whether the last run ended just as we connected, so that its end may be lost between past and present.
    /// At most once per run.
    pub(super) fn may_miss_end(&self) -> bool {
        let Some(last) = self
            .last_finished()
            .filter(|run| ended(run).is_some_and(|at| at >= self.since))
        else {
            return false;
        };
        !self.has_replayed_past()
            && lock(&self.memory).reopened_for_end.as_ref() != Some(&last.run_id)
    }

    pub(super) fn last_finished(&self) -> Option<&Run> {
        self.runs
            .iter()
            .filter(|run| is_finished(run) && is_kept(run))
            .max_by_key(|run| ended(run))
    }

    /// Returns whether the past has replayed the end of the last run that it contains.
    pub(super) fn has_replayed_past(&self) -> bool {
        let Some(last) = self.last_finished() else {
            return true;
        };
        let after = IdKey::of(&self.after);
        let is_before = match lock(&self.memory).done.get(&last.run_id) {
            Some(id) => *id <= after,
            None => ended(last).is_some_and(|ended| after.is_some_and(|after| ended < after.major)),
        };
        is_before || self.ended_run.as_ref() == Some(&last.run_id)
    }

    /// Returns whether an event belongs to a run that had finished before the past was requested. The past contains all
    /// of these events, before any others.
    pub(super) fn is_past(&mut self, block: &Block) -> bool {
        let run = match &block.kind {
            FrameKind::RunStarted(run) | FrameKind::RunFinished(run) => Some(run.clone()),
            FrameKind::ThreadLevel | FrameKind::RunEvent => self.replaying_run.clone(),
        };
        match &block.kind {
            FrameKind::RunStarted(_) => self.replaying_run.clone_from(&run),
            FrameKind::RunFinished(_) => (self.replaying_run, self.ended_run) = (None, run.clone()),
            FrameKind::ThreadLevel | FrameKind::RunEvent => {}
        }
        // After its end, a run sends only `run_done`. Anything else belongs to the next run, whose start was lost, unless the
        // end of this one is known to be in the replay: ids and records may have different clocks.
        let is_named = block.kind != FrameKind::RunEvent;
        if run.as_ref().is_some_and(|run| self.deleted.contains(run)) {
            return true;
        }
        if let Some(known) = run
            .as_ref()
            .and_then(|run| self.runs.iter().find(|r| r.run_id == *run))
        {
            let is_in_time = is_named
                || block
                    .id
                    .is_none_or(|id| ended(known).is_none_or(|ended| id.major <= ended));
            let is_end_replayed =
                has_stopped(known) && ended(known).is_some_and(|ended| ended < self.since);
            return is_finished(known)
                && (is_in_time || is_end_replayed || self.late_run.as_ref() == run.as_ref());
        }
        // An unlisted or unknown run. Runs of a thread never overlap, so compare times.
        let last = self
            .runs
            .iter()
            .filter(|run| is_finished(run))
            .filter_map(ended)
            .max();
        block
            .id
            .is_some_and(|id| last.is_some_and(|last| id.major <= last))
    }

    /// Returns whether an event that `is_past` did not recognize belongs to the finished run that is being replayed, because
    /// no other run has started since.
    pub(super) async fn is_late(&mut self, block: &Block) -> Result<bool, ApiError> {
        let Some(replayed) = self
            .replaying_run
            .clone()
            .filter(|_| block.kind == FrameKind::RunEvent)
        else {
            return Ok(false);
        };
        if !self
            .runs
            .iter()
            .any(|run| run.run_id == replayed && has_stopped(run))
        {
            return Ok(false);
        }
        let was_over = |run: &Run| {
            self.runs
                .iter()
                .any(|known| known.run_id == run.run_id && is_finished(known))
        };
        let is_alone = self
            .thread
            .runs()
            .await?
            .iter()
            .all(|run| run.status == "pending" || was_over(run));
        if is_alone {
            self.late_run = Some(replayed);
        }
        Ok(is_alone)
    }

    /// Returns whether an event that `is_past` did not recognize belongs to a deleted run. The server keeps the events
    /// of deleted runs.
    pub(super) async fn is_of_deleted(&mut self, block: &Block) -> Result<bool, ApiError> {
        let (FrameKind::RunStarted(run) | FrameKind::RunFinished(run)) = &block.kind else {
            return Ok(false);
        };
        let is_deleted = !self.runs.iter().any(|known| known.run_id == *run)
            && self.thread.is_deleted(run).await?;
        if is_deleted {
            self.deleted.insert(run.clone());
        }
        Ok(is_deleted)
    }

    /// Returns an event of the present unless the past contains it. The present may have opened before a run finished
    /// that the list shows as finished.
    pub(super) fn new_to_past(&mut self, block: Block) -> Option<Block> {
        let known = |run: &String| {
            self.runs
                .iter()
                .any(|r| r.run_id == *run && is_finished(r) && is_kept(r))
        };
        match &block.kind {
            FrameKind::RunStarted(run) if known(run) => None,
            FrameKind::RunFinished(run) if known(run) => {
                // It's unclear how much of this run the past has; a new request returns all of it.
                if !lock(&self.memory).done.contains_key(run) {
                    self.phase = MergePhase::Done;
                }
                None
            }
            FrameKind::RunEvent
                if self
                    .last_run_end
                    .zip(block.id)
                    .is_some_and(|(last, id)| id.major <= last) =>
            {
                None
            }
            _ => Some(block),
        }
    }

    /// Reads the rest of a slow past while newer events are already being read.
    pub(super) fn read_overdue_past(&mut self, frame: ThreadFrame) {
        match frame {
            ThreadFrame::Block(block) if self.is_past(&block) => self.deliver(block),
            ThreadFrame::Block(_) => {
                // Events that are not past follow all past events.
                lock(&self.memory).replay_overdue = false;
                self.past = None;
            }
            ThreadFrame::Truncated | ThreadFrame::Closed => {
                self.past = None;
                if !self.has_replayed_past() {
                    self.report_overdue_replay();
                }
            }
            ThreadFrame::Heartbeat => return,
        }
        if self.has_replayed_past() {
            lock(&self.memory).replay_overdue = false;
        }
    }

    /// Reports, once, that the past did not arrive.
    pub(super) fn report_overdue_replay(&mut self) {
        if std::mem::take(&mut lock(&self.memory).replay_overdue) {
            self.report_gap(
                "the server did not replay the thread in time; some events may be missing".into(),
            );
        }
    }
}
