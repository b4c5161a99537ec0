//! A thread's past and present as one stream of events without a hole between them, from a server whose thread stream has
//! one. Three connections make it, each for what it is reliable in:
//!
//! - the *past*: a thread stream that replays. Complete for runs that were finished before it was asked.
//! - the *run*: the stream of the run that is going on. It subscribes before it replays, so it lacks nothing.
//! - the *present*: a thread stream that replays nothing, open from the beginning. Complete from its first event on.
//!
//! The present takes over from the run at an id: up to the id of the present's first event everything comes from the
//! run, whatever is newer from the present. Where that cannot be made out the body ends, and the source comes again
//! with the id up to which it has everything.

use crate::source::resume::key;
use crate::sse::read_ahead::{Batch, Feed, Feeds};
use crate::transport::framed_connection::{Block, FrameKind, FramedConnection, Key, ThreadFrame, late};
use crate::transport::merge_memory::{MergeMemory, lock};
use crate::transport::modes::is_resumable;
use crate::transport::thread_link::Thread;
use futures::stream::{self, StreamExt};
use runtail_api::ApiError;
use runtail_core::model::Run;
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// How long the past may be silent before the run is read, where the run is not seen in it. The past stays open.
const GRACE: Duration = Duration::from_secs(1);
/// How long the present may take to report the end of a run whose own stream has ended.
const LATE: Duration = Duration::from_secs(3);
/// How long the past may be silent when the present has ended.
const DRAIN: Duration = Duration::from_secs(1);
/// How long the past may be silent behind the run that is read first, before a gap is reported.
const OWED: Duration = Duration::from_secs(10);
/// How much the clock that makes ids may be behind the one of the head of an answer, in milliseconds, where the run and the
/// present may send the same event.
const SKEW: u64 = 60_000;
/// How much earlier than the head of an answer, in milliseconds, an id of what follows it can be.
const SLACK: u64 = 1_000;
/// Events that go together at most.
const AT_ONCE: usize = 512;
/// Runs that are remembered as done.
const MAX_DONE: usize = 4096;

/// The three connections, and how far they are.
pub(crate) struct ThreadMerger {
    thread: Thread,
    memory: Arc<Mutex<MergeMemory>>,
    /// The id that was asked to begin after.
    after: String,
    /// The runs when the present was open already and the past was not.
    runs: Vec<Run>,
    past: Option<FramedConnection>,
    run: Option<FramedConnection>,
    live: FramedConnection,
    at: MergePhase,
    /// The run that the past is at, and the last one that it told the end of.
    told: Option<String>,
    ended: Option<String>,
    /// Runs of the past that the server has deleted, as a rollback does.
    deleted: HashSet<String>,
    /// The run that goes on, or is read from its own stream.
    active: Option<String>,
    /// Ids before this one can't be in the present.
    since: u64,
    /// The present ended while the past was read.
    is_present_over: bool,
    /// The present's first event of a run.
    held: Option<Block>,
    /// Up to here the run is read; then comes the present. The last id of all when the run has ended.
    edge: Option<Key>,
    /// The newest id that came from the run, and what came from it that the present may have too.
    newest: Option<Key>,
    given: HashSet<u64>,
    /// When the last of the runs in the list ended, where the past has it.
    last: Option<u64>,
    /// Why it ended, behind what is given before that.
    failure: Option<ApiError>,
    /// When an event was given last, or what is read began: heartbeats show no progress.
    quiet_since: Instant,
    out: Vec<Feed>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum MergePhase {
    /// Reading the past; nothing runs, or what runs is not reached yet.
    Past,
    /// Reading the run.
    Run,
    /// Reading the present.
    Present,
    Over,
}

impl ThreadMerger {
    pub(crate) fn new(
        thread: Thread,
        after: &str,
        runs: Vec<Run>,
        (past, live): (Feeds, Feeds),
        answered: Option<u64>,
        memory: Arc<Mutex<MergeMemory>>,
    ) -> ThreadMerger {
        let active = runs.iter().find(|run| run.status == "running").map(|run| run.run_id.clone());
        let since = answered.unwrap_or(0).saturating_sub(SLACK);
        let live = FramedConnection { feeds: live, waiting: Vec::new().into_iter(), received: Arc::default() };
        let (past, run) = (Some(live.beside(past)), None);
        let (held, edge, newest, given) = (None, None, None, HashSet::new());
        let after = after.to_string();
        let told = lock(&memory).current.clone();
        let mut whole = ThreadMerger {
            thread,
            memory,
            after,
            runs,
            past,
            run,
            live,
            at: MergePhase::Past,
            told,
            ended: None,
            deleted: HashSet::new(),
            active,
            since,
            is_present_over: false,
            held,
            edge,
            newest,
            given,
            last: None,
            failure: None,
            quiet_since: Instant::now(),
            out: Vec::new(),
        };
        whole.say_what_is_not_kept();
        if std::mem::take(&mut lock(&whole.memory).owed) {
            whole.gap("the server was slow to replay the thread's past, and broke off: some may be missing".into());
        }
        let finished = whole.runs.iter().filter(|run| is_finished(run));
        whole.last = finished.max_by_key(|run| ended(run)).filter(|run| is_kept(run)).and_then(ended);
        whole
    }

    /// The three as one.
    pub(crate) fn feeds(self) -> Feeds {
        stream::unfold(self, |mut whole| async move {
            let mut failure = None;
            // What has already arrived goes together.
            while failure.is_none() && whole.at != MergePhase::Over && (whole.out.is_empty() || whole.has_more()) {
                failure = match whole.at {
                    MergePhase::Past => whole.read_past().await,
                    MergePhase::Run => whole.read_run().await,
                    MergePhase::Present => whole.read_present().await,
                    MergePhase::Over => Ok(()),
                }
                .err();
            }
            if let Some(error) = failure {
                whole.at = MergePhase::Over;
                whole.failure = Some(error);
            }
            let feed = std::mem::take(&mut whole.out);
            let bytes = whole.live.received.swap(0, Relaxed);
            match feed.is_empty() {
                false => Some((Ok(Batch { feed, bytes }), whole)),
                true => whole.failure.take().map(|error| (Err(error), whole)),
            }
        })
        .boxed()
    }

    /// Whether the connection that is read has more that arrived already.
    fn has_more(&self) -> bool {
        let side = match self.at {
            MergePhase::Past => self.past.as_ref(),
            MergePhase::Run => self.run.as_ref(),
            MergePhase::Present => Some(&self.live),
            MergePhase::Over => None,
        };
        self.out.len() < AT_ONCE && side.is_some_and(|side| side.waiting.len() > 0)
    }

    async fn read_past(&mut self) -> Result<(), ApiError> {
        let goes_on = self.active.is_some() || self.held.is_some();
        if goes_on && self.has_past() {
            return self.begin_run().await;
        }
        let lacks_end = !goes_on && self.lacks_end();
        let Some(past) = &mut self.past else {
            self.at = MergePhase::Present;
            return Ok(());
        };
        tokio::select! {
            biased;
            piece = past.next() => match piece? {
                // State updates and errors are never stored, so this is no past: the present has it too, and gives it.
                ThreadFrame::Block(block) if block.kind == FrameKind::ThreadLevel => {}
                ThreadFrame::Block(block) if self.is_past(&block) || self.is_of_deleted(&block).await? => self.give(block),
                ThreadFrame::Block(_) => {
                    self.past = None;
                    self.begin_run().await?;
                }
                ThreadFrame::Beat => self.beat(),
                ThreadFrame::Cut => self.cut(),
                ThreadFrame::Over => self.at = MergePhase::Over,
            },
            piece = self.live.next(), if !goes_on && !self.is_present_over => match piece? {
                ThreadFrame::Block(block) => match self.new_to_past(block) {
                    Some(block) if block.kind == FrameKind::ThreadLevel => self.give(block),
                    other => self.held = other,
                },
                ThreadFrame::Beat => self.beat(),
                ThreadFrame::Cut | ThreadFrame::Over => self.is_present_over = true,
            },
            // What arrives of the past meanwhile need not be requested again.
            () = tokio::time::sleep_until(self.quiet_since + DRAIN), if self.is_present_over => self.at = MergePhase::Over,
            () = tokio::time::sleep_until(self.quiet_since + GRACE), if goes_on => {
                lock(&self.memory).owed = true;
                self.begin_run().await?;
            }
            () = tokio::time::sleep_until(self.quiet_since + LATE), if lacks_end => {
                lock(&self.memory).waited_for = self.last_finished().map(|run| run.run_id.clone());
                self.at = MergePhase::Over;
            }
        }
        Ok(())
    }

    /// Whether the last run ended just when we came, so that its end may be lost between past and present. Once a run.
    fn lacks_end(&self) -> bool {
        let Some(last) = self.last_finished().filter(|run| ended(run).is_some_and(|at| at >= self.since)) else {
            return false;
        };
        !self.has_past() && lock(&self.memory).waited_for.as_ref() != Some(&last.run_id)
    }

    fn last_finished(&self) -> Option<&Run> {
        self.runs.iter().filter(|run| is_finished(run) && is_kept(run)).max_by_key(|run| ended(run))
    }

    /// Whether the past has told the end of the last run that it can tell of.
    fn has_past(&self) -> bool {
        let Some(last) = self.last_finished() else { return true };
        let after = key(&self.after);
        let is_before = match lock(&self.memory).done.get(&last.run_id) {
            Some(id) => *id <= after,
            None => ended(last).is_some_and(|ended| after.is_some_and(|(at, _)| ended < at)),
        };
        is_before || self.ended.as_ref() == Some(&last.run_id)
    }

    /// Whether an event of the past is one of a run that was finished before the past was asked for: all of those are
    /// there, and all of them before anything else.
    fn is_past(&mut self, block: &Block) -> bool {
        let run = match &block.kind {
            FrameKind::RunStarted(run) | FrameKind::RunFinished(run) => Some(run.clone()),
            FrameKind::ThreadLevel | FrameKind::RunEvent => self.told.clone(),
        };
        match &block.kind {
            FrameKind::RunStarted(_) => self.told.clone_from(&run),
            FrameKind::RunFinished(_) => (self.told, self.ended) = (None, run.clone()),
            FrameKind::ThreadLevel | FrameKind::RunEvent => {}
        }
        // A run says nothing after its end but that it is done: an event of the next one, whose begin is lost, is not its.
        let is_named = block.kind != FrameKind::RunEvent;
        if run.as_ref().is_some_and(|run| self.deleted.contains(run)) {
            return true;
        }
        if let Some(known) = run.as_ref().and_then(|run| self.runs.iter().find(|r| r.run_id == *run)) {
            let is_in_time = is_named || block.id.is_none_or(|(at, _)| ended(known).is_none_or(|ended| at <= ended));
            return is_finished(known) && is_in_time;
        }
        // Of a run that is not in the list, or of nobody knows which: runs of a thread never overlap.
        let last = self.runs.iter().filter(|run| is_finished(run)).filter_map(ended).max();
        block.id.is_some_and(|(at, _)| last.is_some_and(|last| at <= last))
    }

    /// Whether an event that `is_past` did not recognize is one of a run that the server has deleted: it keeps the events.
    async fn is_of_deleted(&mut self, block: &Block) -> Result<bool, ApiError> {
        let (FrameKind::RunStarted(run) | FrameKind::RunFinished(run)) = &block.kind else { return Ok(false) };
        let is_deleted = !self.runs.iter().any(|known| known.run_id == *run) && self.thread.is_deleted(run).await?;
        if is_deleted {
            self.deleted.insert(run.clone());
        }
        Ok(is_deleted)
    }

    /// What the present says that the past does not: it may have been there for the rest of a run that the list calls
    /// finished.
    fn new_to_past(&mut self, block: Block) -> Option<Block> {
        let known = |run: &String| self.runs.iter().any(|r| r.run_id == *run && is_finished(r) && is_kept(r));
        match &block.kind {
            FrameKind::RunStarted(run) if known(run) => None,
            FrameKind::RunFinished(run) if known(run) => {
                // How much of the run the past has given nobody can tell; asked again, it has it all.
                if !lock(&self.memory).done.contains_key(run) {
                    self.at = MergePhase::Over;
                }
                None
            }
            FrameKind::RunEvent if self.last.zip(block.id).is_some_and(|(last, (at, _))| at <= last) => None,
            _ => Some(block),
        }
    }

    /// Something goes on that is no past; what the present said of it is held.
    async fn begin_run(&mut self) -> Result<(), ApiError> {
        let run = match self.active.clone() {
            Some(active) => self.runs.iter().find(|r| r.run_id == active).cloned(),
            None => {
                let was_over = |run: &Run| self.runs.iter().any(|r| r.run_id == run.run_id && is_finished(r));
                let mut new = self.thread.runs().await?;
                new.retain(|run| run.status != "pending" && !was_over(run));
                if new.len() > 1 {
                    // Each of them may lie in the hole: with a fresh list they are past.
                    self.at = MergePhase::Over;
                    return Ok(());
                }
                new.pop()
            }
        };
        let Some(run) = run else {
            match self.held.take() {
                // A cancelled run is called finished before it is.
                _ if !std::mem::replace(&mut lock(&self.memory).came_again, true) => self.at = MergePhase::Over,
                held => {
                    self.gap("events came of a run that is not listed: some of it may be missing".into());
                    held.into_iter().for_each(|block| self.give(block));
                }
            }
            return Ok(());
        };
        // It began while we listened: nothing of it is missing.
        if self.held.as_ref().is_some_and(|block| block.kind == FrameKind::RunStarted(run.run_id.clone())) {
            self.at = MergePhase::Present;
            return Ok(());
        }
        if !is_kept(&run) {
            if self.active.is_none() {
                self.gap(not_kept(&run.run_id));
            }
            lock(&self.memory).current = Some(run.run_id);
            self.at = MergePhase::Present;
            return Ok(());
        }
        let after = if matches!(&*self.after, "-" | "0" | "0-0") { "-1" } else { &self.after };
        let opened = self.thread.join(&run.run_id, after).await?;
        self.out.push(Feed::Replaying { answered: opened.answered });
        self.run = Some(self.live.beside(opened.body));
        self.active = Some(run.run_id);
        self.edge = self.held.as_ref().and_then(|block| block.id);
        self.at = MergePhase::Run;
        Ok(())
    }

    async fn read_run(&mut self) -> Result<(), ApiError> {
        let Some(run) = &mut self.run else {
            self.at = MergePhase::Present;
            return Ok(());
        };
        let is_waiting = self.held.is_none();
        let is_owed = lock(&self.memory).owed;
        tokio::select! {
            biased;
            piece = late(&mut self.past) => self.late(piece?),
            piece = run.next() => match piece? {
                ThreadFrame::Block(block) => self.of_run(block),
                ThreadFrame::Beat => self.beat(),
                ThreadFrame::Cut => self.cut(),
                ThreadFrame::Over => {
                    self.edge = Some((u64::MAX, 0));
                    self.leave_run();
                }
            },
            () = tokio::time::sleep_until(self.quiet_since + OWED), if is_owed => self.say_owed(),
            piece = self.live.next(), if is_waiting => match piece? {
                ThreadFrame::Block(block) => match self.new_to_past(block) {
                    Some(block) if block.kind == FrameKind::ThreadLevel => self.give(block),
                    Some(block) => {
                        self.edge = block.id.max(self.newest);
                        self.held = Some(block);
                    }
                    None => {}
                },
                ThreadFrame::Beat => self.beat(),
                ThreadFrame::Cut => self.cut(),
                ThreadFrame::Over => self.at = MergePhase::Over,
            },
        }
        Ok(())
    }

    fn of_run(&mut self, block: Block) {
        let Some(id) = block.id else {
            // Only what can be replayed has ids here.
            self.gap(self.active.as_deref().map(not_kept).unwrap_or_default());
            self.edge = None;
            self.leave_run();
            return;
        };
        if self.edge.is_some_and(|edge| id > edge) {
            self.leave_run();
            return;
        }
        if id.0.saturating_add(SKEW) >= self.since {
            self.given.insert(block.print());
        }
        self.newest = self.newest.max(Some(id));
        self.give(block);
    }

    /// The past goes on, although it was silent for so long that what follows it is read already.
    fn late(&mut self, piece: ThreadFrame) {
        match piece {
            ThreadFrame::Block(block) if self.is_past(&block) => self.give(block),
            ThreadFrame::Block(_) => {
                // What is no past any more comes behind all of it.
                lock(&self.memory).owed = false;
                self.past = None;
            }
            ThreadFrame::Cut | ThreadFrame::Over => {
                self.past = None;
                if !self.has_past() {
                    self.say_owed();
                }
            }
            ThreadFrame::Beat => return,
        }
        if self.has_past() {
            lock(&self.memory).owed = false;
        }
    }

    /// Reports once that the past did not arrive.
    fn say_owed(&mut self) {
        if std::mem::take(&mut lock(&self.memory).owed) {
            self.gap("the server did not replay the thread's past in time: some may be missing".into());
        }
    }

    /// A connection ended in the middle of an event: what follows is requested again.
    fn cut(&mut self) {
        self.out.push(Feed::Unfinished);
        self.at = MergePhase::Over;
    }

    fn leave_run(&mut self) {
        self.run = None;
        lock(&self.memory).current.clone_from(&self.active);
        self.out.push(Feed::Live);
        self.quiet_since = Instant::now();
        self.at = MergePhase::Present;
    }

    async fn read_present(&mut self) -> Result<(), ApiError> {
        let awaits_done = self.edge.is_some_and(|(at, _)| at == u64::MAX);
        let is_owed = lock(&self.memory).owed;
        let piece = match self.held.take() {
            Some(block) => ThreadFrame::Block(block),
            None => tokio::select! {
                biased;
                piece = late(&mut self.past) => {
                    self.late(piece?);
                    return Ok(());
                }
                piece = self.live.next() => piece?,
                () = tokio::time::sleep_until(self.quiet_since + LATE), if awaits_done => ThreadFrame::Over,
                () = tokio::time::sleep_until(self.quiet_since + OWED), if is_owed => {
                    self.say_owed();
                    return Ok(());
                }
            },
        };
        let block = match piece {
            ThreadFrame::Block(block) => match self.new_to_past(block) {
                Some(block) => block,
                None => return Ok(()),
            },
            ThreadFrame::Beat => {
                self.beat();
                return Ok(());
            }
            ThreadFrame::Cut => {
                self.cut();
                return Ok(());
            }
            ThreadFrame::Over => {
                self.at = MergePhase::Over;
                return Ok(());
            }
        };
        if let Some(edge) = self.edge {
            if self.given.contains(&block.print()) {
                return Ok(());
            }
            let is_done = matches!(&block.kind, FrameKind::RunFinished(run) if self.active.as_ref() == Some(run));
            if awaits_done && !is_done && block.kind != FrameKind::ThreadLevel {
                // The present began too late to hear the end of the run.
                self.at = MergePhase::Over;
                return Ok(());
            }
            if is_done || block.id > Some(edge) {
                self.edge = None;
                self.given = HashSet::new();
            }
        }
        let mut memory = lock(&self.memory);
        if block.kind == FrameKind::RunEvent
            && memory.current.is_none()
            && !memory.done.is_empty()
            && !memory.came_again
        {
            // The server subscribes to a new run when it comes to it; to one that we slow down it may come too late.
            memory.came_again = true;
            drop(memory);
            self.at = MergePhase::Over;
            return Ok(());
        }
        drop(memory);
        self.give(block);
        Ok(())
    }

    fn give(&mut self, block: Block) {
        self.quiet_since = Instant::now();
        let is_wanted = std::str::from_utf8(block.event.base_name()).is_ok_and(|name| self.thread.gives(name));
        let mut memory = lock(&self.memory);
        match block.kind {
            FrameKind::RunStarted(run) => memory.current = Some(run),
            FrameKind::RunFinished(run) => {
                (memory.current, memory.came_again) = (None, false);
                if memory.done.len() >= MAX_DONE {
                    memory.done.clear();
                }
                memory.done.insert(run, block.id);
            }
            FrameKind::ThreadLevel | FrameKind::RunEvent => {}
        }
        drop(memory);
        // The events of runs may only be here to join past and present by.
        if is_wanted {
            self.out.push(Feed::Event(block.event));
        }
    }

    fn beat(&mut self) {
        self.out.push(Feed::Heartbeat);
    }

    fn gap(&mut self, why: String) {
        self.out.push(Feed::Gap(why));
    }

    /// Of runs that are not resumable, what was not heard live is gone.
    fn say_what_is_not_kept(&mut self) {
        let from = key(&self.after).map_or(0, |(at, _)| at);
        let memory = lock(&self.memory);
        let is_missed = |run: &&Run| match is_finished(run) {
            true => !memory.done.contains_key(&run.run_id) && ended(run).is_none_or(|at| at > from),
            false => run.status == "running",
        };
        let lost: Vec<_> = self.runs.iter().filter(|run| !is_kept(run)).filter(is_missed).collect();
        let why = match &lost[..] {
            [] => return,
            [run] => not_kept(&run.run_id),
            several => format!("{} runs are not resumable: what they sent meanwhile is lost", several.len()),
        };
        drop(memory);
        self.gap(why);
    }
}

fn not_kept(run: &str) -> String {
    format!("the run {} is not resumable: what it sent meanwhile is lost", runtail_core::text::clean(run))
}

/// When a run last changed, in milliseconds: of one that is finished, its end.
fn ended(run: &Run) -> Option<u64> {
    run.updated_at.and_then(|at| u64::try_from(at.as_millisecond()).ok())
}

fn is_finished(run: &Run) -> bool {
    !run.is_active()
}

/// Whether the server keeps the events of a run. Where it doesn't say, its stream will tell.
fn is_kept(run: &Run) -> bool {
    is_resumable(run).unwrap_or(true)
}
