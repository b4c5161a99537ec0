//! Merges a thread's past and present into one gapless stream, for servers whose thread stream has a gap between replay
//! and live events. Uses three connections, each for what it delivers reliably:
//!
//! - the *past*: a thread stream that replays. Complete for runs that had finished before the request.
//! - the *run*: the stream of the active run. It subscribes before it replays, so it is complete.
//! - the *present*: a thread stream without replay, opened first. Complete from its first event on.
//!
//! The present takes over from the run at the id of the present's first event. If that id cannot be determined the body
//! ends, and the source reconnects after the last id up to which it is complete.

mod losses;
mod replayed;

use crate::insert;
use crate::source::id_key::{IdKey, is_start};
use crate::sse::read_ahead::{Batch, Batches, Feed};
use crate::transport::framed_connection::{
    Block, FrameKind, FramedConnection, ThreadFrame, next_or_pending,
};
use crate::transport::merge_memory::{MergeMemory, lock};
use crate::transport::modes::is_resumable;
use crate::transport::thread::Thread;
use futures::stream::{self, StreamExt};
use runtail_api::ApiError;
use runtail_core::model::Run;
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// How long the past may be silent before the active run is read, if the past has not reached it. The past stays open.
const PAST_GRACE: Duration = Duration::from_secs(1);
/// How long the present may take to report the end of a run whose own stream has ended.
const END_GRACE: Duration = Duration::from_secs(3);
/// How long the past may be silent after the present has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an overdue past may be silent before a gap is reported.
const OVERDUE_TIMEOUT: Duration = Duration::from_secs(10);
/// How far the clock of event ids may lag behind the clock of response heads, in milliseconds, when looking for events
/// that both the run and the present send.
const CLOCK_SKEW: u64 = 60_000;
/// How much earlier than the response head the id of a following event can be, in milliseconds.
const ID_SLACK: u64 = 1_000;
/// Maximum number of events per batch.
const MAX_BATCH: usize = 512;
/// Maximum number of remembered finished runs.
const MAX_DONE: usize = 4096;

/// Merges the three connections.
pub(crate) struct ThreadMerger {
    thread: Thread,
    memory: Arc<Mutex<MergeMemory>>,
    /// The id to resume after.
    after: String,
    /// Whether the stream has delivered nothing yet, so that nothing was lost with a connection.
    is_first: bool,
    /// The runs as listed after the present was opened and before the past was.
    runs: Vec<Run>,
    past: Option<FramedConnection>,
    run: Option<FramedConnection>,
    live: FramedConnection,
    phase: MergePhase,
    /// The run that the past is currently replaying, and the last run whose end it has replayed.
    replaying_run: Option<String>,
    ended_run: Option<String>,
    /// The finished run whose last events have ids after its recorded end.
    late_run: Option<String>,
    /// Runs of the past that were deleted, for example by a rollback.
    deleted: HashSet<String>,
    /// The active run, or the run that is read from its own stream.
    active: Option<String>,
    /// The present has no ids before this, in milliseconds.
    since: u64,
    /// Whether the present ended while the past was being read.
    has_present_ended: bool,
    /// The present's first run event, held back.
    held: Option<Block>,
    /// The id up to which the run is read before the present takes over. The maximum once the run has ended.
    edge: Option<IdKey>,
    /// The newest id from the run, and hashes of its events that the present may also deliver.
    newest: Option<IdKey>,
    delivered: HashSet<u64>,
    /// When the last listed run ended, in milliseconds, if the past contains it.
    last_run_end: Option<u64>,
    /// The error that ended the stream, returned after all events before it.
    failure: Option<ApiError>,
    /// When the last event was delivered or the current connection began. Heartbeats don't count as progress.
    quiet_since: Instant,
    out: Vec<Feed>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum MergePhase {
    /// Reading the past; no run is active, or the past has not reached it.
    Replayed,
    Run,
    Present,
    Done,
}

impl ThreadMerger {
    pub(crate) fn new(
        thread: Thread,
        after: &str,
        runs: Vec<Run>,
        (past, live): (Batches, Batches),
        answered: Option<u64>,
        memory: Arc<Mutex<MergeMemory>>,
    ) -> ThreadMerger {
        let active = runs
            .iter()
            .find(|run| run.status == "running")
            .map(|run| run.run_id.clone());
        let since = answered.unwrap_or(0).saturating_sub(ID_SLACK);
        let live = FramedConnection {
            feeds: live,
            waiting: Vec::new().into_iter(),
            received: Arc::default(),
        };
        let is_first = is_start(after) && !lock(&memory).has_delivered;
        let replaying_run = lock(&memory).current.clone();
        let mut merger = ThreadMerger {
            thread,
            memory,
            after: after.to_string(),
            is_first,
            runs,
            past: Some(live.sibling(past)),
            run: None,
            live,
            phase: MergePhase::Replayed,
            replaying_run,
            ended_run: None,
            late_run: None,
            deleted: HashSet::new(),
            active,
            since,
            has_present_ended: false,
            held: None,
            edge: None,
            newest: None,
            delivered: HashSet::new(),
            last_run_end: None,
            failure: None,
            quiet_since: Instant::now(),
            out: Vec::new(),
        };
        merger.report_unresumable_runs();
        if std::mem::take(&mut lock(&merger.memory).replay_overdue) {
            merger.report_gap(
                "the replay of the thread was interrupted; some events may be missing".into(),
            );
        }
        let finished = merger.runs.iter().filter(|run| is_finished(run));
        merger.last_run_end = finished
            .max_by_key(|run| ended(run))
            .filter(|run| is_kept(run))
            .and_then(ended);
        merger
    }

    /// Returns the merged stream.
    pub(crate) fn feeds(self) -> Batches {
        stream::unfold(self, |mut merger| async move {
            let mut failure = None;
            // Deliver everything that is already buffered in one batch.
            while failure.is_none()
                && merger.phase != MergePhase::Done
                && (merger.out.is_empty() || merger.has_more())
            {
                failure = match merger.phase {
                    MergePhase::Replayed => merger.read_past().await,
                    MergePhase::Run => merger.read_run().await,
                    MergePhase::Present => merger.read_present().await,
                    MergePhase::Done => Ok(()),
                }
                .err();
            }
            if let Some(error) = failure {
                merger.phase = MergePhase::Done;
                merger.failure = Some(error);
            }
            let feed = std::mem::take(&mut merger.out);
            let bytes = merger.live.received.swap(0, Relaxed);
            match feed.is_empty() {
                false => Some((Ok(Batch { feed, bytes }), merger)),
                true => merger.failure.take().map(|error| (Err(error), merger)),
            }
        })
        .boxed()
    }

    /// Returns whether the current connection has more buffered frames.
    fn has_more(&self) -> bool {
        let connection = match self.phase {
            MergePhase::Replayed => self.past.as_ref(),
            MergePhase::Run => self.run.as_ref(),
            MergePhase::Present => Some(&self.live),
            MergePhase::Done => None,
        };
        self.out.len() < MAX_BATCH
            && connection.is_some_and(|connection| connection.waiting.len() > 0)
    }

    /// Switches to the active run. Its events from the present are held back.
    async fn begin_run(&mut self) -> Result<(), ApiError> {
        let run = match self.active.clone() {
            Some(active) => self.runs.iter().find(|r| r.run_id == active).cloned(),
            None => {
                let was_over = |run: &Run| {
                    self.runs
                        .iter()
                        .any(|r| r.run_id == run.run_id && is_finished(r))
                };
                let mut new = self.thread.runs().await?;
                new.retain(|run| run.status != "pending" && !was_over(run));
                if new.len() > 1 {
                    // Any of them may have lost events between past and present. With a new list they belong to the past.
                    self.phase = MergePhase::Done;
                    return Ok(());
                }
                new.pop()
            }
        };
        let Some(run) = run else {
            match self.held.take() {
                // The server reports a cancelled run as finished before it stops.
                _ if !std::mem::replace(&mut lock(&self.memory).reopened_for_start, true) => {
                    self.phase = MergePhase::Done
                }
                held => {
                    self.report_gap(
                        "received events of a run that was not in the server's list yet; earlier ones may be missing"
                            .into(),
                    );
                    held.into_iter().for_each(|block| self.deliver(block));
                }
            }
            return Ok(());
        };
        // The run started while we were connected, so it is complete.
        if self
            .held
            .as_ref()
            .is_some_and(|block| block.kind == FrameKind::RunStarted(run.run_id.clone()))
        {
            self.phase = MergePhase::Present;
            return Ok(());
        }
        if !is_kept(&run) {
            if self.active.is_none() {
                self.report_gap(self.not_kept(&run.run_id));
            }
            lock(&self.memory).current = Some(run.run_id);
            self.phase = MergePhase::Present;
            return Ok(());
        }
        let after = if is_start(&self.after) {
            "-1"
        } else {
            &self.after
        };
        let opened = self.thread.join(&run.run_id, after).await?;
        self.out.push(Feed::Replaying {
            answered: opened.answered,
        });
        self.run = Some(self.live.sibling(opened.body));
        self.active = Some(run.run_id);
        self.edge = self.held.as_ref().and_then(|block| block.id);
        self.phase = MergePhase::Run;
        Ok(())
    }

    async fn read_run(&mut self) -> Result<(), ApiError> {
        let Some(run) = &mut self.run else {
            self.phase = MergePhase::Present;
            return Ok(());
        };
        let is_waiting = self.held.is_none();
        let is_overdue = lock(&self.memory).replay_overdue;
        tokio::select! {
            biased;
            frame = next_or_pending(&mut self.past) => self.read_overdue_past(frame?),
            frame = run.next() => match frame? {
                ThreadFrame::Block(block) => self.on_run_block(block),
                ThreadFrame::Heartbeat => self.heartbeat(),
                ThreadFrame::Truncated => self.end_truncated(),
                ThreadFrame::Closed => {
                    self.edge = Some(IdKey { major: u64::MAX, minor: 0 });
                    self.leave_run();
                }
            },
            () = tokio::time::sleep_until(self.quiet_since + OVERDUE_TIMEOUT), if is_overdue => self.report_overdue_replay(),
            frame = self.live.next(), if is_waiting => match frame? {
                ThreadFrame::Block(block) => match self.new_to_past(block) {
                    Some(block) if block.kind == FrameKind::ThreadLevel => self.deliver(block),
                    Some(block) => {
                        self.edge = block.id.max(self.newest);
                        self.held = Some(block);
                    }
                    None => {}
                },
                ThreadFrame::Heartbeat => self.heartbeat(),
                ThreadFrame::Truncated => self.end_truncated(),
                ThreadFrame::Closed => self.phase = MergePhase::Done,
            },
        }
        Ok(())
    }

    fn on_run_block(&mut self, block: Block) {
        let Some(id) = block.id else {
            // Only events that can be replayed have ids here.
            self.report_gap(
                self.active
                    .as_deref()
                    .map(|run| self.not_kept(run))
                    .unwrap_or_default(),
            );
            self.edge = None;
            self.leave_run();
            return;
        };
        if self.edge.is_some_and(|edge| id > edge) {
            self.leave_run();
            return;
        }
        if id.major.saturating_add(CLOCK_SKEW) >= self.since {
            self.delivered.insert(block.fingerprint());
        }
        self.newest = self.newest.max(Some(id));
        self.deliver(block);
    }

    /// Ends the stream after a connection ended in the middle of an event, so that the source reconnects.
    fn end_truncated(&mut self) {
        self.out.push(Feed::Unfinished);
        self.phase = MergePhase::Done;
    }

    fn leave_run(&mut self) {
        self.run = None;
        lock(&self.memory).current.clone_from(&self.active);
        self.out.push(Feed::Live);
        self.quiet_since = Instant::now();
        self.phase = MergePhase::Present;
    }

    async fn read_present(&mut self) -> Result<(), ApiError> {
        let awaits_done = self.edge.is_some_and(|id| id.major == u64::MAX);
        let is_overdue = lock(&self.memory).replay_overdue;
        let frame = match self.held.take() {
            Some(block) => ThreadFrame::Block(block),
            None => tokio::select! {
                biased;
                frame = next_or_pending(&mut self.past) => {
                    self.read_overdue_past(frame?);
                    return Ok(());
                }
                frame = self.live.next() => frame?,
                () = tokio::time::sleep_until(self.quiet_since + END_GRACE), if awaits_done => ThreadFrame::Closed,
                () = tokio::time::sleep_until(self.quiet_since + OVERDUE_TIMEOUT), if is_overdue => {
                    self.report_overdue_replay();
                    return Ok(());
                }
            },
        };
        let block = match frame {
            ThreadFrame::Block(block) => match self.new_to_past(block) {
                Some(block) => block,
                None => return Ok(()),
            },
            ThreadFrame::Heartbeat => {
                self.heartbeat();
                return Ok(());
            }
            ThreadFrame::Truncated => {
                self.end_truncated();
                return Ok(());
            }
            ThreadFrame::Closed => {
                self.phase = MergePhase::Done;
                return Ok(());
            }
        };
        if let Some(edge) = self.edge {
            if self.delivered.contains(&block.fingerprint()) {
                return Ok(());
            }
            let is_done = matches!(&block.kind, FrameKind::RunFinished(run) if self.active.as_ref() == Some(run));
            if awaits_done && !is_done && block.kind != FrameKind::ThreadLevel {
                // The present was opened too late to receive the end of the run.
                self.phase = MergePhase::Done;
                return Ok(());
            }
            if is_done || block.id > Some(edge) {
                self.edge = None;
                self.delivered = HashSet::new();
            }
        }
        let mut memory = lock(&self.memory);
        if block.kind == FrameKind::RunEvent
            && memory.current.is_none()
            && !memory.done.is_empty()
            && !memory.reopened_for_start
        {
            // The server subscribes to a new run only when it reaches that run. If we read slowly, that may be too late.
            memory.reopened_for_start = true;
            drop(memory);
            self.phase = MergePhase::Done;
            return Ok(());
        }
        drop(memory);
        self.deliver(block);
        Ok(())
    }

    fn deliver(&mut self, block: Block) {
        self.quiet_since = Instant::now();
        let is_wanted =
            std::str::from_utf8(block.event.base_name()).is_ok_and(|name| self.thread.sends(name));
        let mut memory = lock(&self.memory);
        memory.has_delivered = true;
        match block.kind {
            FrameKind::RunStarted(run) => memory.current = Some(run),
            FrameKind::RunFinished(run) => {
                (memory.current, memory.reopened_for_start) = (None, false);
                insert(&mut memory.done, MAX_DONE, run, block.id);
            }
            FrameKind::ThreadLevel | FrameKind::RunEvent => {}
        }
        drop(memory);
        // Run events may have been requested only to merge past and present.
        if is_wanted {
            self.out.push(Feed::Event(block.event));
        }
    }

    fn heartbeat(&mut self) {
        self.out.push(Feed::Heartbeat);
    }
}

/// Returns when a run last changed, in milliseconds. For a finished run this is its end.
fn ended(run: &Run) -> Option<u64> {
    run.updated_at
        .and_then(|at| u64::try_from(at.as_millisecond()).ok())
}

fn is_finished(run: &Run) -> bool {
    !run.is_active()
}

/// Returns whether a run sends nothing after its recorded end. A cancelled run may continue for a while.
fn has_stopped(run: &Run) -> bool {
    matches!(run.status.as_str(), "success" | "error" | "timeout")
}

/// Returns whether the server keeps the events of a run. True if the record doesn't have the flag, because its stream will show it.
fn is_kept(run: &Run) -> bool {
    is_resumable(run).unwrap_or(true)
}
