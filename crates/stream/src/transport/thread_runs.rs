//! Follows a thread by its runs, on servers without thread streams: polls the thread's runs and joins active and new
//! ones, one after the other, into one event log.

use crate::log::record::precedes_stream;
use crate::source::id_key::is_start;
use crate::source::{follow, follow_if_offered};
use crate::transport::connection::SourceOptions;
use crate::transport::join_transport::JoinTransport;
use crate::transport::modes::{THREAD_MODES, other_modes};
use crate::transport::run_list::RunList;
use crate::transport::server::{is_endpoint_missing, kind};
use crate::transport::thread_transport::ThreadTransport;
use crate::{End, Item, Outcome, Record, Retries};
use jiff::Timestamp;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use runtail_core::backoff::Backoff;
use runtail_core::model::Run;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// Number of newest runs to list.
const LISTED: usize = 50;

/// The options for following a thread by its runs.
#[derive(Debug, Clone)]
pub struct RunFollowing {
    /// Whether to read runs even if that takes events away from other readers.
    pub shared: bool,
    /// Runs that we started.
    pub own: Option<watch::Receiver<Arc<[String]>>>,
    /// Polling interval while a run is active.
    pub busy: Duration,
    /// Polling interval otherwise.
    pub idle: Duration,
    /// Triggers an immediate poll when it changes.
    pub refresh: Option<watch::Receiver<u64>>,
    /// Whether the thread's state is loaded too, so that nothing is missing if a finished run has no events left to
    /// replay.
    pub has_state: bool,
}

impl Default for RunFollowing {
    fn default() -> RunFollowing {
        RunFollowing {
            shared: false,
            own: None,
            busy: Duration::from_secs(1),
            idle: Duration::from_secs(5),
            refresh: None,
            has_state: false,
        }
    }
}

/// Follows a thread by its own stream, or by its runs if the server has no thread streams.
pub async fn follow_thread(
    server: AgentServer,
    thread: String,
    modes: Vec<String>,
    following: RunFollowing,
    options: SourceOptions,
    out: mpsc::Sender<Vec<Item>>,
) {
    if !server.lacks_thread_streams() {
        let transport = ThreadTransport::new(server.clone(), thread.clone(), modes.clone());
        let Some(error) = follow_if_offered(transport, options.clone(), out.clone()).await else {
            return;
        };
        tracing::debug!(%error, "no thread streams");
        server.note_thread_streams_missing();
    }
    let receiver = out.clone();
    // A page loads the state, so nothing is missing where runs can't be resumed after an id.
    let first_after = options
        .first_after
        .filter(|after| is_start(after) || !following.has_state);
    let options = SourceOptions {
        first_after,
        ..options
    };
    let mut follower = Follower::new(server, thread, modes, following, options, out);
    tokio::select! {
        biased;
        () = receiver.closed() => {}
        () = async {
            let ending = follower.run().await;
            follower.finish(ending).await;
        } => {}
    }
}

type Ending = (Outcome, Option<String>);
type Listing = Result<Vec<Run>, ApiError>;

struct Follower {
    server: AgentServer,
    thread: String,
    modes: Vec<String>,
    following: RunFollowing,
    options: SourceOptions,
    out: mpsc::Sender<Vec<Item>>,
    kind: Option<ServerKind>,
    totals: End,
    pace: watch::Sender<Duration>,
    /// Consecutive failed polls.
    failures: u32,
    /// The log position before the current run's first event.
    base: Base,
    /// The open connection's number, as in the thread's log.
    open: Option<u32>,
    /// Number of active runs that are not read because their events go to a single reader.
    unread: usize,
    /// Whether the current run had already finished and its state is loaded, so an empty replay is no gap.
    is_past: bool,
    /// Whether the current run was created before the thread was followed.
    precedes: bool,
}

/// A position in a log that continues with another source.
#[derive(Default, Clone, Copy)]
pub(crate) struct Base {
    pub events: u64,
    pub conn: u32,
}

impl Base {
    /// Continues the numbers of the log in a record of the other source.
    pub fn shift(self, mut record: Record) -> Record {
        match &mut record {
            Record::Open { conn, .. } | Record::Close { conn, .. } => *conn += self.conn,
            Record::Event(event) => {
                event.seq = event.seq + self.events;
                event.conn += self.conn;
            }
            _ => {}
        }
        record
    }
}

impl Follower {
    fn new(
        server: AgentServer,
        thread: String,
        modes: Vec<String>,
        following: RunFollowing,
        options: SourceOptions,
        out: mpsc::Sender<Vec<Item>>,
    ) -> Follower {
        let pace = watch::Sender::new(following.idle);
        Follower {
            server,
            thread,
            modes,
            following,
            options,
            out,
            kind: None,
            totals: End::default(),
            pace,
            failures: 0,
            base: Base::default(),
            open: None,
            unread: 0,
            is_past: false,
            precedes: false,
        }
    }

    async fn run(&mut self) -> Ending {
        self.send_head().await;
        let mut list = match self.begin().await {
            Ok(list) => list,
            Err(error) => return self.fail(error).await,
        };
        let (sender, mut lists) = mpsc::channel(1);
        let when = PollSchedule {
            pace: self.pace.subscribe(),
            refresh: self.following.refresh.clone(),
        };
        let poll = poll(
            self.server.clone(),
            self.thread.clone(),
            when,
            self.options.retries,
            sender,
        );
        let _poll = AbortOnDropHandle::new(tokio::spawn(poll));
        self.report_following(self.following.idle).await;
        loop {
            if let Some(run) = list.next().filter(|_| !self.options.stop.is_cancelled()) {
                if let Err(error) = self.read(run, &mut list, &mut lists).await {
                    return self.fail(error).await;
                }
                continue;
            }
            let applied = tokio::select! {
                listing = lists.recv() => match listing {
                    Some(listing) => self.apply_listing(listing, &mut list).await,
                    None => return (Outcome::Unknown, Some("the list of runs is no longer read".into())),
                },
                () = other_modes(self.options.modes.clone()) => {
                    self.apply_modes(&mut list).await;
                    Ok(())
                }
                () = self.options.stop.cancelled() => return (Outcome::Detached, None),
            };
            if let Err(error) = applied {
                return self.fail(error).await;
            }
        }
    }

    /// Reports that the thread is followed by polls, this far apart.
    async fn report_following(&mut self, every: Duration) {
        self.send(vec![Item::Following {
            at: Timestamp::now(),
            every,
            unread: self.unread,
        }])
        .await;
    }

    /// Checks the thread and its server before the first poll.
    async fn begin(&mut self) -> Result<RunList, ApiError> {
        // Some servers return an empty list of runs for an unknown thread.
        self.check_thread().await?;
        let kind = kind(&self.server, &mut self.kind).await?;
        if let Some(after) = self
            .options
            .first_after
            .as_deref()
            .filter(|after| !is_start(after))
        {
            let after = runtail_core::text::clean(after);
            return Err(self.not_offered(format!(
                "this server has no thread streams, so it can't resume after {after}; only `-` is possible"
            )));
        }
        if !self.modes.is_empty() && !self.modes.iter().any(|mode| mode != THREAD_MODES[2]) {
            return Err(self.not_offered(
                "this server has no thread streams, so there are no state updates".into(),
            ));
        }
        let mut list = RunList::new(
            kind,
            self.following.shared,
            self.options.first_after.is_some(),
        );
        list.read_events(self.reads_events());
        Ok(list)
    }

    fn reads_events(&self) -> bool {
        self.modes.is_empty() || self.modes.iter().any(|mode| mode == THREAD_MODES[0])
    }

    fn not_offered(&self, detail: String) -> ApiError {
        self.server.refuse_stream(
            &["threads", &self.thread, "stream"],
            Kind::NotOffered,
            &detail,
        )
    }

    async fn send_head(&mut self) {
        let mut head = self.options.head.clone();
        head.thread_id.get_or_insert_with(|| self.thread.clone());
        if head.modes.is_empty() {
            head.modes.push(THREAD_MODES[0].into());
        }
        if head.at == Timestamp::default() {
            head.at = Timestamp::now();
        }
        self.send(vec![Item::Record(Record::Head(head))]).await;
    }

    /// Applies a list of runs, or the error of a failed poll.
    async fn apply_listing(
        &mut self,
        listing: Listing,
        list: &mut RunList,
    ) -> Result<(), ApiError> {
        let at = Timestamp::now();
        let runs = match listing {
            Ok(runs) => runs,
            Err(error) if error.is_transient() || error.kind == Kind::Protocol => {
                self.failures += 1;
                let (attempt, why, request) = (self.failures, error.cause(), error.request());
                let wait = wait_after(&error, attempt, self.options.retries);
                self.send(vec![Item::Retrying {
                    at,
                    attempt,
                    wait,
                    why,
                    request,
                }])
                .await;
                return Ok(());
            }
            Err(error) if error.may_lack_call() && self.check_thread().await.is_ok() => {
                return Err(self.not_offered(
                    "this server offers neither thread streams nor a list of a thread's runs: join a run by its id, or start a run"
                        .into(),
                ));
            }
            Err(error) => return Err(error),
        };
        let has_recovered = std::mem::take(&mut self.failures) > 0;
        let is_empty = runs.is_empty();
        if let Some(own) = &mut self.following.own {
            list.set_own(&own.borrow_and_update());
        }
        let changes = list.apply(runs, at, LISTED);
        // On some servers a deleted thread has an empty list of runs.
        if (is_empty || changes.any_deleted)
            && let Err(error) = self.check_thread().await
            && error.kind == Kind::NotFound
        {
            return Err(error);
        }
        let mut records: Vec<Record> = Vec::new();
        // If the thread's state is loaded too, its snapshot contains these runs.
        if !self.following.has_state {
            let unkept = changes.unkept.into_iter();
            records
                .extend(unkept.flat_map(|(run, why)| [Record::Run(run), Record::Gap { at, why }]));
        }
        records.extend(changes.records.into_iter().map(Record::Run));
        let unread = changes.unread.into_iter();
        records.extend(unread.map(|why| Record::Gap { at, why }));
        let is_gap = |record: &&Record| matches!(record, Record::Gap { .. });
        self.totals.gaps += records.iter().filter(is_gap).count() as u64;
        let mut items: Vec<Item> = records.into_iter().map(Item::Record).collect();
        let every = if list.any_active() {
            self.following.busy
        } else {
            self.following.idle
        };
        let unread = list.unread();
        let has_changed = std::mem::replace(&mut self.unread, unread) != unread || has_recovered;
        if self
            .pace
            .send_if_modified(|pace| std::mem::replace(pace, every) != every)
            || has_changed
        {
            items.push(Item::Following { at, every, unread });
        }
        self.send(items).await;
        Ok(())
    }

    /// Fails if the thread was deleted.
    async fn check_thread(&mut self) -> Result<(), ApiError> {
        match self.server.thread(&self.thread).await {
            Err(error) if !is_endpoint_missing(&self.server, &mut self.kind, &error).await? => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Reads one run to its end while polling continues.
    async fn read(
        &mut self,
        run: String,
        list: &mut RunList,
        lists: &mut mpsc::Receiver<Listing>,
    ) -> Result<(), ApiError> {
        let stop = CancellationToken::new();
        let (sender, mut items) = mpsc::channel(2);
        let shared = self.following.shared || list.is_own(&run);
        let transport = JoinTransport::new(
            self.server.clone(),
            self.thread.clone(),
            run.clone(),
            Vec::new(),
        )
        .shared(shared);
        let options = SourceOptions {
            max_event: self.options.max_event,
            first_after: Some("-1".into()),
            // Threads are followed forever.
            retries: Retries {
                limit: u32::MAX,
                ..self.options.retries
            },
            stop: stop.clone(),
            ..SourceOptions::default()
        };
        let _source = AbortOnDropHandle::new(tokio::spawn(follow(transport, options, sender)));
        self.base = Base {
            events: self.totals.events,
            conn: self.totals.connections,
        };
        self.is_past = self.following.has_state && list.was_over(&run);
        self.precedes = list.precedes(&run);
        let mut last_event = Instant::now();
        let mut outcome = (Outcome::Unknown, None);
        loop {
            tokio::select! {
                biased;
                batch = items.recv() => {
                    let Some(batch) = batch else { break };
                    if batch.iter().any(|item| matches!(item, Item::Record(Record::Event(_)))) {
                        last_event = Instant::now();
                    }
                    if let Some(end) = self.append_run_items(batch, &run).await? {
                        outcome = end;
                    }
                }
                listing = lists.recv() => {
                    if let Some(listing) = listing {
                        self.apply_listing(listing, list).await?;
                    }
                    // Longer than a reconnect may take.
                    if last_event.elapsed() >= self.options.retries.cap && list.has_newer_started(&run) && !stop.is_cancelled() {
                        self.gap(format!(
                            "run {} is reported as active but sends nothing, and a newer run has started; stopped reading it",
                            runtail_core::text::clean(&run)
                        ))
                        .await;
                        stop.cancel();
                    }
                }
                // Stopping the stream loses no events that it has already received.
                () = self.options.stop.cancelled(), if !stop.is_cancelled() => stop.cancel(),
                () = other_modes(self.options.modes.clone()) => {
                    self.apply_modes(list).await;
                    if !self.reads_events() {
                        stop.cancel();
                    }
                }
            }
        }
        self.close().await;
        let every = *self.pace.borrow();
        self.report_following(every).await;
        let outcome = Some(outcome).filter(|(outcome, _)| *outcome != Outcome::Detached);
        if let Some(record) = list.ended(&run, outcome, Timestamp::now()) {
            self.send(vec![Item::Record(Record::Run(record))]).await;
        }
        Ok(())
    }

    /// Appends items of a run's stream to the thread's log. Returns the run's ending once the stream ends.
    async fn append_run_items(
        &mut self,
        batch: Vec<Item>,
        run: &str,
    ) -> Result<Option<Ending>, ApiError> {
        let mut ended = None;
        let mut appended = Vec::with_capacity(batch.len());
        for item in batch {
            match item {
                // These items describe the run, but the log is the thread's.
                Item::Record(Record::Head(_)) | Item::Started { .. } | Item::Terms(_) => {}
                Item::Record(Record::End(end)) => {
                    self.totals.bytes += end.bytes;
                    self.totals.duplicates += end.duplicates;
                    ended = Some((end.outcome, end.detail));
                }
                Item::Failed(error)
                    if matches!(error.kind, Kind::Unauthorized | Kind::Forbidden) =>
                {
                    return Err(*error);
                }
                Item::Failed(error) => {
                    let why = format!(
                        "the events of run {} could not be read: {}",
                        runtail_core::text::clean(run),
                        error.cause()
                    );
                    self.totals.gaps += 1;
                    appended.push(Item::Record(Record::Gap {
                        at: Timestamp::now(),
                        why,
                    }));
                }
                Item::Record(Record::Gap { .. })
                    if self.is_past && self.totals.events == self.base.events => {}
                Item::Record(record) => appended.push(Item::Record(self.renumbered(record, run))),
                Item::Connecting { at, conn } => appended.push(Item::Connecting {
                    at,
                    conn: self.base.conn + conn,
                }),
                other => appended.push(other),
            }
        }
        self.send(appended).await;
        Ok(ended)
    }

    /// Renumbers a record of a run's stream for the thread's log.
    fn renumbered(&mut self, record: Record, run: &str) -> Record {
        let record = match record {
            Record::Gap { at, why } => {
                self.totals.gaps += 1;
                let run = runtail_core::text::clean(run);
                // Events of a run that was there before the thread was followed are not lost by it.
                let why = match self.precedes && precedes_stream(&why) {
                    true => format!("{why} (run {run})"),
                    false => format!("run {run}: {why}"),
                };
                Record::Gap { at, why }
            }
            other => self.base.shift(other),
        };
        match &record {
            Record::Open { conn, .. } => {
                (self.totals.connections, self.open) = (*conn, Some(*conn))
            }
            Record::Close { .. } => self.open = None,
            Record::Event(event) => {
                self.totals.events = event.seq.0;
                self.totals.malformed += u64::from(event.data.json().is_none());
            }
            _ => {}
        }
        record
    }

    /// Records the close of a connection that was abandoned.
    async fn close(&mut self) {
        if let Some(conn) = self.open.take() {
            let (at, reason) = (Timestamp::now(), "left".to_string());
            self.send(vec![Item::Record(Record::Close { at, conn, reason })])
                .await;
        }
    }

    async fn apply_modes(&mut self, list: &mut RunList) {
        let Some(modes) = self
            .options
            .modes
            .as_mut()
            .map(|modes| modes.borrow_and_update().clone())
        else {
            return;
        };
        let has_updates = |modes: &[String]| modes.iter().any(|mode| mode == THREAD_MODES[2]);
        if has_updates(&modes) && !has_updates(&self.modes) {
            let why = "this server has no thread streams, so there are no state updates".into();
            self.send(vec![Item::ModesKept { why }]).await;
        }
        self.modes = modes;
        list.read_events(self.reads_events());
    }

    async fn gap(&mut self, why: String) {
        self.totals.gaps += 1;
        self.send(vec![Item::Record(Record::Gap {
            at: Timestamp::now(),
            why,
        })])
        .await;
    }

    async fn fail(&mut self, error: ApiError) -> Ending {
        self.close().await;
        let detail = error.to_string();
        self.send(vec![Item::Failed(Box::new(error))]).await;
        (Outcome::Unknown, Some(detail))
    }

    /// Sends items. Errors don't matter: if the receiver was dropped, `follow_thread` stops the follower.
    async fn send(&mut self, items: Vec<Item>) {
        if !items.is_empty() {
            let _ = self.out.send(items).await;
        }
    }

    async fn finish(&mut self, (outcome, detail): Ending) {
        let end = End {
            at: Timestamp::now(),
            outcome,
            detail,
            ..self.totals.clone()
        };
        self.send(vec![Item::Record(Record::End(end))]).await;
    }
}

/// Polls the list of runs at an interval that may change.
async fn poll(
    server: AgentServer,
    thread: String,
    mut when: PollSchedule,
    retries: Retries,
    out: mpsc::Sender<Listing>,
) {
    let mut failures = 0;
    loop {
        let listing = server
            .runs(&thread, LISTED)
            .await
            .map(|listing| listing.items);
        let wait = match &listing {
            Ok(_) => {
                failures = 0;
                None
            }
            Err(error) => {
                failures += 1;
                Some(wait_after(error, failures, retries))
            }
        };
        if out.send(listing).await.is_err() {
            return;
        }
        let every = *when.pace.borrow_and_update();
        // Jitter, so that clients don't poll all at once.
        let wait = wait.unwrap_or_else(|| every.mul_f64(0.8 + 0.4 * fastrand::f64()));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            changed = when.pace.changed() => if changed.is_err() { return },
            () = refreshed(&mut when.refresh) => {}
        }
    }
}

/// The polling schedule.
struct PollSchedule {
    pace: watch::Receiver<Duration>,
    refresh: Option<watch::Receiver<u64>>,
}

/// Completes when a refresh is requested; otherwise never.
async fn refreshed(refresh: &mut Option<watch::Receiver<u64>>) {
    let Some(requests) = refresh else {
        return std::future::pending().await;
    };
    if requests.changed().await.is_err() {
        std::future::pending().await
    }
}

fn wait_after(error: &ApiError, attempt: u32, retries: Retries) -> Duration {
    Backoff {
        base: retries.base,
        cap: retries.cap,
    }
    .bound(attempt)
    .max(error.asked().unwrap_or_default())
}
