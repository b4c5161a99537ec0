//! Follows a stream, reconnecting as needed, and reports which events arrived, which were duplicates, and where events may
//! be missing. Uses one connection at a time; disconnecting never cancels the run.

mod after_close;
pub(crate) mod control_events;
pub(crate) mod disconnect;
mod ending;
pub(crate) mod id_key;
pub(crate) mod overlap;
mod reading;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod sequence_ids;
pub(crate) mod stored;
pub(crate) mod watchdog;

use self::after_close::{Ending, FollowState, Phase};
use crate::source::disconnect::DisconnectReason;
use crate::source::replay::Replay;
use crate::source::resume::Tail;
use crate::source::stored::Stored;
use crate::source::watchdog::Watchdog;
use crate::sse::decode::Decoder;
use crate::transport::connection::{Connection, Replayed, Retries, SourceOptions, Transport};
use crate::transport::join_plan::{Joining, NoEvents};
use crate::transport::modes::other_modes;
use crate::{Data, End, Head, Item, Outcome, Record, RunStreamOptions, THREAD_MODES};
use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::backoff::Backoff;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::Instant;

/// A batch is sent when it contains this many items or bytes, or when there is nothing more to read.
const BATCH_ITEMS: usize = 256;
const BATCH_BYTES: usize = 256 * 1024;
/// How long a partial batch waits before it is sent. Without this, a server that sends one event per chunk would wake
/// the reader for every event.
const BATCH_LINGER: Duration = Duration::from_millis(1);
/// A connection that stayed open this long counts as healthy even if it received nothing, because proxies close idle
/// connections.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);
/// How long a connection without heartbeats may be silent before the run's status is checked.
const IDLE_PROBE_INTERVAL: Duration = Duration::from_secs(60);
/// Minimum delay between two connections. Longer than 1 ms so that events received earlier can never share a
/// millisecond id with the replay (`overlap.rs`).
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(5);
/// After an outage this long, a production server may have dropped its events.
const SERVER_REPLAY_WINDOW: Duration = Duration::from_secs(120);
/// How many times to read the run's status after a clean close while the run still looks active, because the status can lag
/// behind the stream. The second value applies after the stream reported an error.
const STATUS_RETRIES: u32 = 2;
const STATUS_RETRIES_AFTER_ERROR: u32 = 4;

/// How long a run may send nothing before its silence is first reported.
const FIRST_SILENCE_REPORT: Duration = Duration::from_secs(300);
/// The modes in the head of a run whose modes are unknown.
const ALL_MODES: &str = "all";

/// Follows a stream until it ends, is stopped, or the receiver is dropped.
pub async fn follow(transport: impl Transport, options: SourceOptions, out: Sender<Vec<Item>>) {
    let mut source = Source::new(transport, options, out);
    match source.follow().await {
        Some(Err(error)) => {
            source.emit_head();
            let detail = error.to_string();
            source.emit(Item::Failed(Box::new(error)));
            source.finish((Outcome::Unknown, Some(detail))).await;
        }
        Some(Ok(ending)) => source.end(ending).await,
        None => {}
    }
}

/// Follows a stream like [`follow`], but if the server does not offer it, sends nothing and returns the error.
pub(crate) async fn follow_if_offered(
    transport: impl Transport,
    options: SourceOptions,
    out: Sender<Vec<Item>>,
) -> Option<ApiError> {
    let mut source = Source::new(transport, options, out);
    match source.follow().await? {
        Ok(ending) => source.end(ending).await,
        Err(error) => return Some(error),
    }
    None
}

struct Source<L> {
    transport: L,
    /// Copied from the link's capabilities; it never changes.
    is_endless: bool,
    options: SourceOptions,
    out: Sender<Vec<Item>>,
    batch: Vec<Item>,
    batch_bytes: usize,
    flushed: Instant,
    decoder: Decoder,
    tail: Tail,
    /// Merges stored and live events on servers that send both.
    stored: Option<Stored>,
    replay: Replay,
    is_prepared: bool,
    /// How and when the run was joined. Cleared at its first event.
    joined: Option<(Joining, Timestamp)>,
    /// Whether another reader receives events of this run.
    has_other_reader: bool,
    /// Whether this connection has delivered an event.
    has_event: bool,
    /// When the newest event arrived, and the length of silence at which it is next reported.
    last_event: Instant,
    next_silence: Duration,
    watchdog: Watchdog,
    totals: End,
    run_known: bool,
    has_head: bool,
    /// When the outage began, when the last connection closed, and how long there was no connection since the outage began.
    lost: Option<Instant>,
    closed: Option<Instant>,
    outage: Option<Duration>,
    /// Whether we closed the last connection ourselves, to request other modes, and the next one opened at once.
    is_reopened: bool,
    /// The outage whose losses were already reported.
    reported_outage: Option<Instant>,
    /// Whether the last connection requested events that the server never replays.
    never_replayed: bool,
    /// Connections that the server or the network closed.
    closes: u32,
    /// Consecutive failures.
    failures: u32,
    /// Events with an id: in total, and before the current connection.
    replayable: u64,
    replayable_before: u64,
    /// The error that the stream reported.
    live_error: Option<String>,
    /// Whether the stream contained an `end` event; only some servers send one.
    has_end: bool,
    /// The newest state or update of the root graph. It shows an interrupt when the server has no status for the run.
    last_state: Option<Data>,
    /// The modes that the link currently uses.
    modes: Vec<String>,
    terms: Option<RunStreamOptions>,
}

impl<L: Transport> Source<L> {
    fn new(transport: L, options: SourceOptions, out: Sender<Vec<Item>>) -> Self {
        Source {
            modes: options
                .modes
                .as_ref()
                .map(|modes| modes.borrow().clone())
                .unwrap_or_default(),
            terms: None,
            is_endless: transport.capabilities().is_endless,
            transport,
            run_known: options.head.run_id.is_some(),
            has_head: false,
            options,
            out,
            batch: Vec::new(),
            batch_bytes: 0,
            flushed: Instant::now(),
            decoder: Decoder::default(),
            tail: Tail::default(),
            stored: None,
            replay: Replay::default(),
            is_prepared: false,
            joined: None,
            has_other_reader: false,
            has_event: false,
            last_event: Instant::now(),
            next_silence: FIRST_SILENCE_REPORT,
            watchdog: Watchdog::default(),
            totals: End::default(),
            lost: None,
            closed: None,
            outage: None,
            is_reopened: false,
            reported_outage: None,
            never_replayed: false,
            closes: 0,
            failures: 0,
            replayable: 0,
            replayable_before: 0,
            live_error: None,
            has_end: false,
            last_state: None,
        }
    }

    /// Runs until the stream ends or is stopped. Returns `None` if the receiver was dropped, and an error if the server
    /// does not offer the stream.
    async fn follow(&mut self) -> Option<Result<Ending, ApiError>> {
        let (receiver, stop) = (self.out.clone(), self.options.stop.clone());
        tokio::select! {
            biased;
            () = receiver.closed() => None,
            () = stop.cancelled() => Some(Ok((Outcome::Detached, None))),
            ending = self.run() => Some(ending),
        }
    }

    async fn end(&mut self, ending: Ending) {
        self.release_stored(self.totals.connections);
        if ending.0 != Outcome::Detached {
            self.report_missing_at_end();
        }
        self.finish(ending).await;
    }

    /// Runs the phases until the end. Fails if the server does not offer the stream.
    async fn run(&mut self) -> Result<Ending, ApiError> {
        let mut state = FollowState::new(self.options.first_after.clone());
        let mut phase = Phase::Connecting;
        loop {
            phase = match phase {
                Phase::Connecting => self.connect(&mut state).await?,
                Phase::Reading(opened) => {
                    Phase::CheckingStatus(self.read_connection(opened, &state).await)
                }
                Phase::CheckingStatus(closed) => self.after_close(closed, &mut state).await,
                Phase::Resuming(why) => {
                    (state.after, state.missing_reason) = self.resume_point();
                    self.resume(why, &mut state).await
                }
                Phase::Ended(ending) => return Ok(ending),
            };
        }
    }

    /// Waits before the next connection. With a reason, the close counts as a failure, and the number of consecutive
    /// failures is limited.
    async fn resume(&mut self, why: Option<&'static str>, state: &mut FollowState) -> Phase {
        let Some(why) = why else {
            self.flush().await;
            tokio::time::sleep(MIN_RECONNECT_DELAY).await;
            return Phase::Connecting;
        };
        if self.wait(why.into(), String::new(), None).await {
            return Phase::Connecting;
        }
        let detail = format!("{why}, {} times in a row", self.failures);
        self.report_gap(detail.clone());
        Phase::Ended(state.end_or_unknown(detail))
    }

    /// Opens the next connection. Fails if the server does not offer the stream.
    async fn connect(&mut self, state: &mut FollowState) -> Result<Phase, ApiError> {
        let (stream, conn) = (self.label(), self.totals.connections + 1);
        let (after, missing_reason) = (state.after.as_deref(), state.missing_reason);
        tracing::info!(%stream, conn, after, missing_reason, "stream: connecting");
        self.emit(Item::Connecting {
            at: Timestamp::now(),
            conn,
        });
        self.flush().await;
        let error = match self.open(state.after.as_deref()).await {
            Ok(Ok(opened)) => return Ok(Phase::Reading(opened)),
            Ok(Err(nothing)) => {
                self.emit_head();
                self.report_gap(nothing.why.into());
                return Ok(Phase::Ended((nothing.outcome, nothing.detail)));
            }
            Err(error) if error.kind == Kind::NotOffered && self.totals.connections == 0 => {
                return Err(error);
            }
            Err(error) => error,
        };
        if self.wait_after(&error).await {
            return Ok(Phase::Connecting);
        }
        if let Some(known) = state
            .known_end
            .take_if(|known| !known.confirming.incomplete && !error.is_transient())
        {
            return Ok(Phase::Ended(known.ending));
        }
        if self.totals.connections == 0 {
            self.emit_head();
        } else {
            self.add_outage();
            self.report_outage_gap("the connection could not be restored");
        }
        let detail = error.to_string();
        self.emit(Item::Failed(Box::new(error)));
        Ok(Phase::Ended(state.end_or_unknown(detail)))
    }

    /// Reads a connection until it closes.
    async fn read_connection(
        &mut self,
        mut opened: Connection,
        state: &FollowState,
    ) -> DisconnectReason {
        if state.known_end.is_some() {
            opened.past = Replayed::All;
        }
        self.tail.opened(state.after.as_deref(), opened.answered);
        self.replay.opened(state.after.as_deref(), &opened);
        self.on_opened(&opened, state.after.clone());
        self.add_outage();
        self.report_outage_losses(state.missing_reason);
        let began = Instant::now();
        self.replayable_before = self.replayable;
        let conn = self.totals.connections;
        let closed = self.read(opened.body, conn).await;
        self.release_stored(conn);
        let was_healthy = self.has_event || began.elapsed() >= HEALTHY_AFTER;
        // A connection that delivered nothing is part of the outage.
        if self.lost.is_none() || was_healthy {
            (self.lost, self.outage) = (Some(Instant::now()), None);
        }
        self.closed = Some(Instant::now());
        if was_healthy && closed.is_by_server() {
            self.failures = 0;
        }
        self.is_reopened = closed == DisconnectReason::Modes;
        let (stream, reason, events) = (self.label(), closed.as_str(), self.totals.events);
        tracing::info!(%stream, conn, reason, events, "stream: closed");
        self.emit(Item::Record(Record::Close {
            at: Timestamp::now(),
            conn,
            reason: reason.into(),
        }));
        closed
    }

    /// Opens the next connection. The inner error is a finished run without events to read.
    async fn open(
        &mut self,
        after: Option<&str>,
    ) -> Result<Result<Connection, NoEvents>, ApiError> {
        if !self.is_prepared {
            if let Some(nothing) = self.transport.prepare().await? {
                return Ok(Err(nothing));
            }
            self.is_prepared = true;
        }
        // Events that are no longer requested are not replayed either.
        self.tail.connecting(after, &self.transport);
        self.transport
            .connect(after, self.options.max_event)
            .await
            .map(Ok)
    }

    /// Adds the time since the last close to the outage, unless that was already reported. Connections that delivered nothing
    /// don't count as outage.
    fn add_outage(&mut self) {
        if let Some(closed) = self.closed.take() {
            let before = self.outage.filter(|_| self.reported_outage != self.lost);
            self.outage = Some(before.unwrap_or_default() + closed.elapsed());
        }
    }

    /// Returns the id to resume after, and why the server can't replay everything that is missing, if so.
    fn resume_point(&mut self) -> (Option<String>, Option<&'static str>) {
        if let Some(after) = self.stored.as_mut().and_then(Stored::resume_after) {
            return (Some(after), None);
        }
        let point = self.tail.resume_point(
            self.options.first_after.as_deref(),
            self.transport.capabilities().everything,
        );
        (point.after, point.missing_reason)
    }

    /// Reports, after a reconnect, which events of the outage may be lost.
    fn report_outage_losses(&mut self, missing_reason: Option<&'static str>) {
        let never_replayed = self.transport.capabilities().never_replayed;
        let was_unrepeated = std::mem::replace(&mut self.never_replayed, never_replayed.is_some());
        let Some(outage) = self.outage else { return };
        // A connection that delivered nothing is part of its outage, which was already reported.
        let is_new = self.reported_outage != self.lost;
        if let Some(why) = missing_reason {
            self.report_outage_gap(&format!("{why}; events may be missing"));
        } else if outage >= SERVER_REPLAY_WINDOW && self.tail.has_no_replay_proof() && is_new {
            self.report_outage_gap(
                "nothing shows that the server stored its events during the outage; some may be missing",
            );
        } else if let Some(what) = never_replayed.filter(|_| was_unrepeated && is_new) {
            self.report_outage_gap(&format!("{what} are never replayed; some may be missing"));
        } else {
            return;
        }
        self.reported_outage = self.lost;
    }

    /// Applies the currently requested modes. Returns whether the stream must reconnect for them.
    async fn apply_modes(&mut self, is_open: bool) -> bool {
        let Some(requested) = self
            .options
            .modes
            .as_mut()
            .map(|modes| modes.borrow_and_update().clone())
        else {
            return false;
        };
        if requested == self.modes {
            return false;
        }
        if is_open && let Err(why) = self.transport.may_reopen().await {
            self.emit(Item::ModesKept { why });
            return false;
        }
        self.modes.clone_from(&requested);
        self.transport.set_modes(requested);
        self.tail.modes_changed();
        true
    }

    fn modes_changed(&self) -> bool {
        self.options
            .modes
            .as_ref()
            .is_some_and(|modes| modes.has_changed().unwrap_or(false))
    }

    /// Records that a connection was opened.
    fn on_opened(&mut self, opened: &Connection, resumed_after: Option<String>) {
        let head = &mut self.options.head;
        if let Some(id) = &opened.thread_id {
            head.thread_id.get_or_insert_with(|| id.clone());
        }
        let run_id = opened
            .run_id
            .clone()
            .filter(|_| head.run_id.is_none() && !self.is_endless);
        if let Some(id) = &run_id {
            head.run_id = Some(id.clone());
        }
        if self.totals.connections == 0 {
            self.emit_head();
            self.joined = self
                .transport
                .joining()
                .map(|joining| (joining, Timestamp::now()));
        }
        self.has_event = false;
        if let Some(numbering) = self
            .transport
            .numbering()
            .filter(|numbering| numbering.repeats_stored)
        {
            self.stored
                .get_or_insert_with(|| Stored::new(numbering.first))
                .opened();
        }
        self.totals.connections += 1;
        let (conn, status) = (self.totals.connections, opened.status);
        let (stream, after, past) = (self.label(), resumed_after.as_deref(), opened.past);
        tracing::info!(%stream, conn, status, after, ?past, "stream: open");
        self.emit(Item::Record(Record::Open {
            at: Timestamp::now(),
            conn,
            status,
            resumed_after,
        }));
        if let Some(run_id) = run_id {
            self.on_run_started(run_id);
        }
        let terms = self.transport.terms();
        if terms != self.terms {
            self.terms.clone_from(&terms);
            terms
                .into_iter()
                .for_each(|terms| self.emit(Item::Terms(terms)));
        }
    }

    fn on_run_started(&mut self, run_id: String) {
        self.run_known = true;
        let thread_id = self.options.head.thread_id.clone();
        self.emit(Item::Started { thread_id, run_id });
    }

    /// Records the head of the log, once and before any other record.
    fn emit_head(&mut self) {
        if !std::mem::replace(&mut self.has_head, true) {
            self.emit(Item::Record(Record::Head(self.head())));
        }
    }

    fn head(&self) -> Head {
        let mut head = self.options.head.clone();
        if head.modes.is_empty() {
            head.modes = self
                .transport
                .terms()
                .map(|terms| terms.modes)
                .unwrap_or_default();
        }
        if head.modes.is_empty() {
            head.modes.push(
                if self.is_endless {
                    THREAD_MODES[0]
                } else {
                    ALL_MODES
                }
                .into(),
            );
        }
        if head.at == Timestamp::default() {
            head.at = Timestamp::now();
        }
        head
    }

    /// Waits before the next attempt. Returns false if the failure is permanent or no attempts are left.
    async fn wait_after(&mut self, error: &ApiError) -> bool {
        // A proxy's error page in place of a response is transient too, if there was a stream before.
        let is_transient =
            error.is_transient() || error.kind == Kind::Protocol && self.totals.connections > 0;
        is_transient
            && self
                .wait(error.cause(), error.request(), error.asked())
                .await
    }

    /// Waits with full jitter, so that clients that lost the same server don't reconnect all at once. Returns false if
    /// no attempts are left.
    async fn wait(&mut self, why: String, request: String, at_least: Option<Duration>) -> bool {
        self.failures += 1;
        self.is_reopened = false;
        let Retries {
            base,
            cap,
            limit,
            first_limit,
        } = self.options.retries;
        let limit = if self.totals.connections == 0 {
            Some(first_limit)
        } else {
            (!self.is_endless).then_some(limit)
        };
        if limit.is_some_and(|limit| self.failures > limit) {
            return false;
        }
        let wait = Backoff { base, cap }
            .wait(self.failures, fastrand::f64())
            .max(at_least.unwrap_or_default());
        let (stream, attempt) = (self.label(), self.failures);
        tracing::warn!(%stream, attempt, ?wait, why, request, "stream: retry");
        self.emit(Item::Retrying {
            at: Timestamp::now(),
            attempt,
            wait,
            why,
            request,
        });
        self.flush().await;
        let until = Instant::now() + wait.max(MIN_RECONNECT_DELAY);
        while tokio::select! {
            () = tokio::time::sleep_until(until) => false,
            () = other_modes(self.options.modes.clone()) => !self.apply_modes(false).await,
        } {}
        true
    }

    /// Reports a possible gap after an outage, with its duration. A connection that we closed ourselves was not lost.
    fn report_outage_gap(&mut self, why: &str) {
        self.report_gap(match self.outage {
            Some(_) if self.is_reopened => format!("reopened for other modes; {why}"),
            // Rounded up, because 0s would contradict the gap.
            Some(outage) => {
                let outage = outage.max(Duration::from_millis(100));
                format!(
                    "disconnected for {}; {why}",
                    runtail_core::text::duration(outage)
                )
            }
            None => why.to_string(),
        });
    }

    fn report_gap(&mut self, why: String) {
        self.totals.gaps += 1;
        tracing::warn!(stream = %self.label(), conn = self.totals.connections, events = self.totals.events, why, "stream: gap");
        self.emit(Item::Record(Record::Gap {
            at: Timestamp::now(),
            why,
        }));
    }

    /// Returns the stream's thread and run for log messages, as far as they are known.
    fn label(&self) -> String {
        let Head {
            thread_id, run_id, ..
        } = &self.options.head;
        let ids = thread_id
            .iter()
            .chain(run_id)
            .map(|id| runtail_core::text::clean(id).into_owned());
        ids.collect::<Vec<_>>().join("/")
    }

    fn emit(&mut self, item: Item) {
        self.batch.push(item);
    }

    /// Sends the batch, waiting for room. Cancel safe: the batch stays until it is sent.
    async fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        if let Ok(permit) = self.out.reserve().await {
            permit.send(std::mem::take(&mut self.batch));
        }
        self.batch_bytes = 0;
        self.flushed = Instant::now();
    }

    async fn finish(&mut self, (outcome, detail): Ending) {
        // The stream may have been stopped before the first connection.
        self.emit_head();
        let end = End {
            at: Timestamp::now(),
            outcome,
            detail,
            ..self.totals.clone()
        };
        let End {
            outcome,
            detail,
            events,
            bytes,
            connections,
            duplicates,
            gaps,
            ..
        } = &end;
        let (stream, outcome, detail) = (self.label(), outcome.as_str(), detail.as_deref());
        tracing::info!(%stream, outcome, detail, events, bytes, connections, duplicates, gaps, "stream: finished");
        self.emit(Item::Record(Record::End(end)));
        self.flush().await;
    }
}
