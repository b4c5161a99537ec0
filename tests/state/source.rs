//! Sources with scripted servers: wherever connections are cut, each event is received once and in order, and possible gaps
//! are reported.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use runtail_api::{ApiError, Kind};
use runtail_stream::{
    Capabilities, Connection, Item, Outcome, Record, RunState, SourceOptions, Transport, follow,
};
use runtail_testkit::common::follow::{
    collect_with, connection, end, events, failure, gaps, paused,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

fn collect(transport: impl Transport + 'static, options: SourceOptions) -> Vec<Item> {
    paused(collect_with(transport, options))
}

fn reasons(items: &[Item]) -> Vec<&str> {
    let reason = |item| match item {
        &Item::Record(Record::Close { ref reason, .. }) => Some(reason.as_str()),
        _ => None,
    };
    items.iter().filter_map(reason).collect()
}

enum Tail {
    End,
    Silence,
}

type Connect = Result<(Vec<(u64, &'static str)>, Tail), ApiError>;

/// A script: the chunks of each connection with the seconds before each, and the response to each status request.
#[derive(Default)]
struct Script {
    connections: VecDeque<Connect>,
    verdicts: VecDeque<Result<RunState, ApiError>>,
    endless: bool,
}

fn script(connections: Vec<Connect>, verdicts: Vec<RunState>) -> Script {
    Script {
        connections: connections.into(),
        verdicts: verdicts.into_iter().map(Ok).collect(),
        endless: false,
    }
}

impl Transport for Script {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_endless: self.endless,
            ..Capabilities::default()
        }
    }

    async fn connect(&mut self, _: Option<&str>, max_event: usize) -> Result<Connection, ApiError> {
        let (chunks, tail) = self
            .connections
            .pop_front()
            .unwrap_or(Err(failure(Kind::Network)))?;
        let body = stream::iter(chunks).then(|(seconds, text)| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            match text {
                "RESET" => Err(failure(Kind::Network)),
                text => Ok(Bytes::from_static(text.as_bytes())),
            }
        });
        let rest = match tail {
            Tail::End => stream::empty().boxed(),
            Tail::Silence => stream::pending().boxed(),
        };
        Ok(Connection {
            thread_id: Some("t".into()),
            ..connection(body.chain(rest), max_event)
        })
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        self.verdicts.pop_front().unwrap_or(Ok(RunState::Active))
    }
}

const BEAT: &str = ": heartbeat\r\n\r\n";
const EVENT_1: &str = "event: values\r\ndata: {}\r\nid: 1-0\r\n\r\n";
const EVENT_2: &str = "event: values\r\ndata: {}\r\nid: 2-0\r\n\r\n";

fn done() -> RunState {
    RunState::Finished(Outcome::Success, None)
}

#[test]
fn clean_end_of_an_active_run_reconnects() {
    let transport = script(
        vec![
            Ok((vec![(0, EVENT_1)], Tail::End)),
            Ok((vec![(0, EVENT_1), (0, EVENT_2)], Tail::End)),
            Ok((vec![(0, EVENT_2)], Tail::End)),
        ],
        vec![RunState::Active, RunState::Active, done(), done()],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (
            events(&items).len(),
            end(&items).duplicates,
            end(&items).connections,
            gaps(&items).len()
        ),
        (2, 2, 3, 0)
    );
}

/// JavaScript sends ids even for runs that are not resumable, and continues with the next event.
#[test]
fn missing_replay_is_a_gap() {
    let transport = script(
        vec![
            Ok((vec![(0, counted(10..=12))], Tail::End)),
            Ok((vec![(0, counted(20..=22))], Tail::End)),
            Ok((vec![], Tail::End)),
        ],
        vec![RunState::Active, RunState::Active, done(), done()],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!((events(&items).len(), gaps(&items).len()), (6, 1));
}

#[test]
fn lagging_run_status_is_awaited() {
    // Without ids, an unnecessary reconnect would be reported as a gap.
    let without_id = "event: values\r\ndata: {}\r\n\r\n";
    let items = collect(
        script(
            vec![Ok((vec![(0, without_id)], Tail::End))],
            vec![RunState::Active, done()],
        ),
        SourceOptions::default(),
    );
    assert_eq!((end(&items).connections, gaps(&items).len()), (1, 0));
    // The stream may report an interrupt before the thread's status does.
    let interrupt = "event: updates\ndata: {\"__interrupt__\":[{\"value\":1}]}\n\n";
    let items = collect(
        script(
            vec![Ok((vec![(0, without_id), (0, interrupt)], Tail::End))],
            vec![done()],
        ),
        SourceOptions::default(),
    );
    assert_eq!(end(&items).outcome, Outcome::Interrupted);
    let items = collect(
        script(
            vec![Ok((vec![(0, interrupt), (0, without_id)], Tail::End))],
            vec![done()],
        ),
        SourceOptions::default(),
    );
    assert_eq!(end(&items).outcome, Outcome::Success);
}

#[test]
fn cancelled_run_ends_without_a_final_event() {
    let cancelled = RunState::Finished(Outcome::Cancelled, None);
    let items = collect(
        script(vec![Ok((vec![(0, EVENT_1)], Tail::End))], vec![cancelled]),
        SourceOptions::default(),
    );
    assert_eq!(
        (
            end(&items).outcome,
            end(&items).connections,
            gaps(&items).len()
        ),
        (Outcome::Cancelled, 1, 0)
    );
}

#[test]
fn missing_heartbeats_reconnect() {
    let dead = vec![(0, EVENT_1), (5, BEAT), (5, BEAT), (5, BEAT)];
    let transport = script(
        vec![
            Ok((dead, Tail::Silence)),
            Ok((vec![(0, EVENT_1), (0, EVENT_2)], Tail::End)),
            Ok((vec![(0, EVENT_2)], Tail::End)),
        ],
        vec![RunState::Active, done(), done()],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!(reasons(&items), ["idle", "eof", "eof"]);
    assert_eq!(
        items
            .iter()
            .filter(|i| matches!(i, Item::Heartbeat { .. }))
            .count(),
        3
    );
    assert_eq!((events(&items).len(), end(&items).duplicates), (2, 2));
}

/// A server whose run is active until its stream has ended.
struct ActiveUntilEnd {
    script: Script,
    over: Arc<AtomicBool>,
    sends_heartbeats: bool,
}

impl ActiveUntilEnd {
    fn new(connections: Vec<Connect>) -> ActiveUntilEnd {
        ActiveUntilEnd {
            script: script(connections, vec![]),
            over: Arc::default(),
            sends_heartbeats: false,
        }
    }
}

impl Transport for ActiveUntilEnd {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            sends_heartbeats: self.sends_heartbeats,
            ..Capabilities::default()
        }
    }

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        let mut opened = self.script.connect(after, max_event).await?;
        let over = self.over.clone();
        let last = stream::once(async move { over.store(true, Ordering::SeqCst) })
            .filter_map(async |()| None);
        opened.body = opened.body.chain(last).boxed();
        Ok(opened)
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        Ok(if self.over.load(Ordering::SeqCst) {
            done()
        } else {
            RunState::Active
        })
    }
}

/// A server that never responds.
struct Unresponsive;

impl Transport for Unresponsive {
    async fn connect(&mut self, _: Option<&str>, _: usize) -> Result<Connection, ApiError> {
        std::future::pending().await
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        Ok(RunState::Active)
    }
}

#[test]
fn stopping_before_the_first_connection_writes_head_and_end() {
    let options = SourceOptions::default();
    options.stop.cancel();
    let records: Vec<_> = collect(Unresponsive, options)
        .into_iter()
        .filter(|item| matches!(item, Item::Record(_)))
        .collect();
    assert!(
        matches!(
            &records[..],
            [Item::Record(Record::Head(_)), Item::Record(Record::End(_))]
        ),
        "{records:?}"
    );
}

#[test]
fn silence_without_heartbeats_does_not_reconnect() {
    let slow = vec![(0, EVENT_1), (7200, BEAT), (3600, EVENT_2)];
    let items = collect(
        ActiveUntilEnd::new(vec![Ok((slow, Tail::End))]),
        SourceOptions::default(),
    );
    assert_eq!((reasons(&items), events(&items).len()), (vec!["eof"], 2));
}

#[test]
fn dead_connection_before_the_first_heartbeat_is_detected() {
    // Detected because the server is known to send heartbeats.
    let dead = || Ok((vec![(0, EVENT_1)], Tail::Silence));
    let whole = || Ok((vec![(0, EVENT_1), (0, EVENT_2)], Tail::End));
    let last = || Ok((vec![(0, EVENT_2)], Tail::End));
    let mut transport = ActiveUntilEnd::new(vec![dead(), whole(), last()]);
    transport.sends_heartbeats = true;
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (reasons(&items), events(&items).len(), gaps(&items).len()),
        (vec!["idle", "eof", "eof"], 2, 0)
    );
    // Otherwise detected by the end of the run.
    let transport = ActiveUntilEnd::new(vec![dead(), whole(), last()]);
    transport.over.store(true, Ordering::SeqCst);
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (reasons(&items), events(&items).len(), gaps(&items).len()),
        (vec!["idle", "eof", "eof"], 2, 0)
    );
    // A proxy that drops heartbeats doesn't cause repeated reconnects.
    let mut transport = ActiveUntilEnd::new(vec![
        dead(),
        Ok((vec![(0, EVENT_1), (3600, EVENT_2)], Tail::End)),
        last(),
    ]);
    transport.sends_heartbeats = true;
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (reasons(&items), events(&items).len()),
        (vec!["idle", "eof", "eof"], 2)
    );
}

/// Whether a gap's reason has the length of seven rate limits of 20 s, or more where a random delay is longer.
fn is_outage(why: &str) -> bool {
    why.starts_with("disconnected for 2m") || why.starts_with("disconnected for 3m")
}

#[test]
fn gaps_report_the_length_of_the_outage() {
    let reset_after = |text| Ok((vec![(0, text), (0, "RESET")], Tail::End));
    let outage = || (0..7).map(|_| Err(failure(Kind::RateLimited(Some(Duration::from_secs(20))))));
    // Longer than the server's replay window: the server continues with newer events.
    let mut connections = vec![reset_after(EVENT_1)];
    connections.extend(outage());
    let three = "event: values\r\ndata: {}\r\nid: 9-0\r\n\r\n";
    connections.extend([
        Ok((vec![(0, three)], Tail::End)),
        Ok((vec![(0, three)], Tail::End)),
    ]);
    let items = collect(
        script(connections, vec![RunState::Active, done(), done()]),
        SourceOptions::default(),
    );
    assert_eq!((events(&items).len(), gaps(&items).len()), (2, 1));
    assert!(
        is_outage(gaps(&items)[0]) && gaps(&items)[0].contains("did not replay"),
        "{items:?}"
    );
    // The server dropped all events.
    let mut connections = vec![reset_after(EVENT_1)];
    connections.extend(outage());
    connections.extend([Ok((vec![], Tail::End)), Ok((vec![], Tail::End))]);
    let items = collect(
        script(connections, vec![done(), done(), done()]),
        SourceOptions::default(),
    );
    assert!(
        is_outage(gaps(&items)[0]) && gaps(&items)[0].contains("did not replay"),
        "{items:?}"
    );
    // The server never sent ids.
    let without_id = "event: values\r\ndata: {}\r\n\r\n";
    let mut connections = vec![reset_after(without_id)];
    connections.extend(outage());
    connections.push(Ok((vec![(0, without_id)], Tail::End)));
    let items = collect(
        script(connections, vec![RunState::Active, done()]),
        SourceOptions::default(),
    );
    assert!(
        is_outage(gaps(&items)[0]) && gaps(&items)[0].contains("no ids"),
        "{items:?}"
    );
    assert_eq!(gaps(&items).len(), 1);
}

/// Case 19: an idle thread stream that is closed cleanly after 3 s each time.
#[test]
fn gaps_report_only_the_time_without_a_connection() {
    let mut connections: Vec<Connect> = (0..5).map(|_| Ok((vec![(3, "")], Tail::End))).collect();
    connections.push(Err(failure(Kind::Forbidden)));
    let mut transport = script(connections, vec![RunState::Endless; 5]);
    transport.endless = true;
    let retries = runtail_stream::Retries {
        base: Duration::from_millis(700),
        cap: Duration::from_millis(700),
        ..runtail_stream::Retries::default()
    };
    let items = collect(
        transport,
        SourceOptions {
            retries,
            ..SourceOptions::default()
        },
    );
    for why in gaps(&items) {
        let outage = why
            .strip_prefix("disconnected for ")
            .and_then(|rest| rest.split_once("s;"))
            .unwrap()
            .0;
        assert!(outage.parse::<f64>().unwrap() <= 0.8, "{why}");
    }
}

#[test]
fn forgotten_run_is_not_rejoined() {
    for (end, outcome, lost) in [
        (vec![(0, EVENT_1)], Outcome::Cancelled, 0),
        (vec![(0, EVENT_1), (0, "RESET")], Outcome::Cancelled, 1),
        (vec![(0, EVENT_1), (0, "RESET")], Outcome::Unknown, 1),
        (vec![(0, EVENT_1)], Outcome::Unknown, 1),
    ] {
        let transport = script(
            vec![Ok((end, Tail::End))],
            vec![RunState::NotFound(outcome, Some("gone".into()))],
        );
        let items = collect(transport, SourceOptions::default());
        assert_eq!(
            (end_of(&items), gaps(&items).len(), reasons(&items).len()),
            ((outcome, Some("gone")), lost, 1)
        );
        assert!(!items.iter().any(|i| matches!(i, Item::Failed(_))));
    }
}

fn end_of(items: &[Item]) -> (Outcome, Option<&str>) {
    (end(items).outcome, end(items).detail.as_deref())
}

#[test]
fn backoff_grows_to_a_limit_with_full_jitter() {
    let mut waits = vec![Vec::new(); 12];
    for _ in 0..100 {
        let items = collect(
            script(
                vec![Ok((vec![(0, EVENT_1), (0, "RESET")], Tail::End))],
                vec![],
            ),
            SourceOptions::default(),
        );
        let all = items.iter().filter_map(|i| {
            if let Item::Retrying { wait, .. } = i {
                Some(*wait)
            } else {
                None
            }
        });
        all.zip(&mut waits).for_each(|(wait, all)| all.push(wait));
    }
    for (n, waits) in waits.iter().enumerate() {
        let limit = Duration::from_millis(500)
            .saturating_mul(1 << n)
            .min(Duration::from_secs(30));
        assert_eq!(waits.len(), 100);
        assert!(waits.iter().all(|wait| *wait <= limit), "{n}: {waits:?}");
        // Anywhere between zero and the limit, so that clients don't reconnect all at the same time.
        assert!(
            waits.iter().any(|wait| *wait < limit / 4)
                && waits.iter().any(|wait| *wait > limit * 3 / 4),
            "{n}"
        );
    }
}

/// A server that sends each event to one reader only, like Aegra, and like JavaScript for runs that are not resumable.
#[derive(Default)]
struct SharedQueue {
    queue: VecDeque<String>,
    /// Bytes after which the first connections break.
    cuts: VecDeque<usize>,
    readers: Arc<AtomicUsize>,
}

struct Reader(Arc<AtomicUsize>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Transport for SharedQueue {
    async fn connect(&mut self, _: Option<&str>, max_event: usize) -> Result<Connection, ApiError> {
        assert_eq!(
            self.readers.fetch_add(1, Ordering::SeqCst),
            0,
            "a second reader takes events away from the first"
        );
        let reader = Reader(self.readers.clone());
        let cut = self.cuts.pop_front();
        let (mut text, mut broken) = (String::new(), None);
        while let Some(event) = self.queue.pop_front() {
            text += &event;
            if cut.is_some_and(|cut| text.len() >= cut) {
                text.truncate(cut.unwrap_or_default());
                broken = Some(Err(failure(Kind::Network)));
                break;
            }
        }
        let chunks = stream::iter([Ok(Bytes::from(text))].into_iter().chain(broken));
        Ok(connection(
            chunks.map(move |chunk| (&reader, chunk).1),
            max_event,
        ))
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        assert_eq!(
            self.readers.load(Ordering::SeqCst),
            0,
            "the connection is closed before the status is requested"
        );
        Ok(if self.queue.is_empty() {
            done()
        } else {
            RunState::Active
        })
    }
}

#[test]
fn shared_queue_has_one_reader_at_a_time() {
    let event = |i| format!("event: custom\ndata: {i}\nid: r_event_{i}\n\n");
    let transport = SharedQueue {
        queue: (1..=30).map(event).collect(),
        cuts: [300, 200].into(),
        ..SharedQueue::default()
    };
    let items = collect(
        transport,
        SourceOptions {
            first_after: Some("-1".into()),
            ..SourceOptions::default()
        },
    );
    let numbers: Vec<u32> = events(&items)
        .iter()
        .map(|event| event.data.text().parse().unwrap())
        .collect();
    // Events in flight at a cut are lost. Nothing is duplicated, and each cut is reported as a gap.
    assert!(
        numbers.is_sorted_by(|a, b| a < b) && numbers.last() == Some(&30) && numbers.len() >= 26,
        "{numbers:?}"
    );
    assert_eq!(
        (end(&items).outcome, gaps(&items).len()),
        (Outcome::Success, 2),
        "{:?}",
        gaps(&items)
    );
}

#[test]
fn events_missed_at_the_end_of_a_run_are_fetched() {
    let broken = vec![(0, EVENT_1), (0, "RESET")];
    let transport = script(
        vec![
            Ok((broken, Tail::End)),
            Ok((vec![(0, EVENT_1), (0, EVENT_2)], Tail::End)),
            Ok((vec![(0, EVENT_2)], Tail::End)),
        ],
        vec![done(), done(), done()],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (reasons(&items), events(&items).len(), gaps(&items).len()),
        (vec!["reset", "eof", "eof"], 2, 0)
    );
    // A clean end may be a cut between two events, so it is confirmed.
    let broken = vec![(0, EVENT_1), (0, "RESET")];
    let transport = script(
        vec![
            Ok((broken, Tail::End)),
            Ok((vec![(0, EVENT_1)], Tail::End)),
            Ok((vec![(0, EVENT_1), (0, EVENT_2)], Tail::End)),
            Ok((vec![(0, EVENT_2)], Tail::End)),
        ],
        vec![done(); 4],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!((events(&items).len(), gaps(&items).len()), (2, 0));
    // If the server dropped the events, a gap is reported.
    let broken = vec![(0, EVENT_1), (0, "RESET")];
    let empty = || Ok((vec![], Tail::End));
    let transport = script(
        vec![Ok((broken, Tail::End)), empty(), empty()],
        vec![done(), done(), done()],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (
            events(&items).len(),
            gaps(&items).len(),
            end(&items).outcome
        ),
        (1, 1, Outcome::Success)
    );
}

#[test]
fn end_inside_an_event_is_a_cut() {
    let transport = script(
        vec![
            Ok((vec![(0, EVENT_1), (0, "event: values\r\nda")], Tail::End)),
            Ok((vec![(0, EVENT_1), (0, EVENT_2)], Tail::End)),
            Ok((vec![(0, EVENT_2)], Tail::End)),
        ],
        vec![done(), done(), done()],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (reasons(&items), events(&items).len()),
        (vec!["cut", "eof", "eof"], 2)
    );
}

#[test]
fn error_event_is_the_outcome() {
    let error = "event: error\ndata: {\"error\":\"ValueError\",\"message\":\"boom\"}\n\n";
    // The run's status may lag behind the event.
    let over = RunState::Finished(Outcome::Error, None);
    let transport = script(
        vec![Ok((vec![(0, error)], Tail::End))],
        vec![RunState::Active, RunState::Active, over],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (end(&items).outcome, end(&items).detail.as_deref()),
        (Outcome::Error, Some("ValueError: boom"))
    );
    assert_eq!(end(&items).connections, 1);
    // The thread's own error takes precedence.
    let over = RunState::Finished(Outcome::Error, Some("from the thread".into()));
    let items = collect(
        script(vec![Ok((vec![(0, error)], Tail::End))], vec![over]),
        SourceOptions::default(),
    );
    assert_eq!(end(&items).detail.as_deref(), Some("from the thread"));
    let without_id = "event: error\ndata: \"Run not found\"\n\n";
    let transport = script(
        vec![Ok((vec![(0, without_id)], Tail::End))],
        vec![RunState::NoStatus],
    );
    assert_eq!(
        end(&collect(transport, SourceOptions::default()))
            .detail
            .as_deref(),
        Some("Run not found")
    );
}

#[test]
fn stateless_run_ends_with_its_response() {
    let stop = "event: values\ndata: {\"__interrupt__\":[]}\n\n";
    for (chunks, outcome, gap) in [
        (vec![(0, EVENT_1)], Outcome::Success, 0),
        (vec![(0, EVENT_1), (0, stop)], Outcome::Interrupted, 0),
        (vec![(0, EVENT_1), (0, "RESET")], Outcome::Unknown, 1),
    ] {
        let items = collect(
            script(vec![Ok((chunks, Tail::End))], vec![RunState::NoStatus]),
            SourceOptions::default(),
        );
        assert_eq!((end(&items).outcome, gaps(&items).len()), (outcome, gap));
    }
}

#[test]
fn runs_are_given_up_after_many_failures_but_threads_never() {
    let first = || vec![Ok((vec![(0, EVENT_1), (0, "RESET")], Tail::End))];
    let items = collect(
        script(first(), vec![RunState::Active]),
        SourceOptions::default(),
    );
    let retries = items
        .iter()
        .filter(|i| matches!(i, Item::Retrying { .. }))
        .count();
    assert_eq!(
        (end(&items).outcome, retries, gaps(&items).len()),
        (Outcome::Unknown, 12, 1)
    );
    assert!(end(&items).detail.is_some());

    let mut connections = first();
    connections.extend((0..60).map(|_| Err(failure(Kind::Server(502)))));
    connections.push(Ok((vec![(0, EVENT_1), (0, EVENT_2)], Tail::End)));
    connections.push(Err(failure(Kind::Forbidden)));
    let mut transport = script(connections, vec![RunState::Endless, RunState::Endless]);
    transport.endless = true;
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (events(&items).len(), end(&items).outcome),
        (2, Outcome::Unknown)
    );
    assert!(
        items
            .iter()
            .any(|i| matches!(i, Item::Failed(error) if error.kind == Kind::Forbidden))
    );
}

#[test]
fn retry_after_of_the_server_is_honored() {
    let busy = Err(failure(Kind::RateLimited(Some(Duration::from_secs(77)))));
    let items = collect(
        script(
            vec![busy, Ok((vec![(0, EVENT_1)], Tail::End))],
            vec![done()],
        ),
        SourceOptions::default(),
    );
    assert!(
        items
            .iter()
            .any(|i| matches!(i, Item::Retrying { wait, .. } if *wait == Duration::from_secs(77)))
    );
    assert_eq!(end(&items).events, 1);
}

#[test]
fn failed_first_connection_is_reported_immediately() {
    let items = collect(
        script(vec![Err(failure(Kind::NotFound))], vec![]),
        SourceOptions::default(),
    );
    assert!(
        matches!(
            &items[..],
            [
                Item::Connecting { .. },
                Item::Record(Record::Head(_)),
                Item::Failed(_),
                Item::Record(Record::End(_))
            ]
        ),
        "{items:?}"
    );
}

#[test]
fn items_are_sent_in_a_fixed_order() {
    let text = "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":1}\n\n";
    let items = collect(
        script(vec![Ok((vec![(0, text)], Tail::End))], vec![done()]),
        SourceOptions::default(),
    );
    let [
        Item::Connecting { conn: 1, .. },
        Item::Record(Record::Head(_)),
        Item::Record(Record::Open { .. }),
        Item::Started { run_id, thread_id },
        Item::Record(Record::Event(_)),
        Item::Record(Record::Close { .. }),
        Item::Record(Record::End(_)),
    ] = &items[..]
    else {
        panic!("{items:?}");
    };
    assert_eq!((run_id.as_str(), thread_id.as_deref()), ("r", Some("t")));
}

#[test]
fn oversized_events_are_truncated_and_counted() {
    let body: &'static str = format!(
        "event: values\ndata: \"{}\"\nid: 1-0\n\n{EVENT_2}",
        "x".repeat(20_000)
    )
    .leak();
    let options = SourceOptions {
        max_event: 10_000,
        ..SourceOptions::default()
    };
    let items = collect(
        script(vec![Ok((vec![(0, body)], Tail::End))], vec![done()]),
        options,
    );
    let events = events(&items);
    assert!(
        matches!(
            events[0].data,
            runtail_stream::Data::TooLarge { size: 20_002, .. }
        ),
        "{:?}",
        events[0].data
    );
    assert_eq!(
        (
            events[0].id.as_deref(),
            events[1].id.as_deref(),
            end(&items).malformed
        ),
        (Some("1-0"), Some("2-0"), 1)
    );
}

#[test]
fn events_are_delivered_immediately_and_streams_can_be_stopped() {
    paused(async {
        let (sender, mut receiver) = mpsc::channel(8);
        let options = SourceOptions::default();
        let stop = options.stop.clone();
        let task = tokio::spawn(follow(
            script(vec![Ok((vec![(0, EVENT_1)], Tail::Silence))], vec![]),
            options,
            sender,
        ));
        let mut items = Vec::new();
        while events(&items).is_empty() {
            items.extend(receiver.recv().await.unwrap());
        }
        stop.cancel();
        while let Some(batch) = receiver.recv().await {
            items.extend(batch);
        }
        assert_eq!(
            (end(&items).outcome, end(&items).events),
            (Outcome::Detached, 1)
        );
        task.await.unwrap();

        let (sender, receiver) = mpsc::channel(8);
        let transport = script(vec![Ok((vec![(0, EVENT_1)], Tail::Silence))], vec![]);
        let task = tokio::spawn(follow(transport, SourceOptions::default(), sender));
        drop(receiver);
        task.await.unwrap();
    });
}

#[test]
fn slow_consumer_is_not_mistaken_for_a_silent_server() {
    // The channel is full for a minute while heartbeats are learned: a slow consumer must not look like a dead connection.
    let mut chunks = vec![(0, EVENT_1), (5, BEAT), (5, BEAT)];
    chunks.extend((0..20).map(|_| (1, BEAT)));
    chunks.push((1, EVENT_2));
    let transport = script(vec![Ok((chunks, Tail::End))], vec![done()]);
    let items = paused(async {
        let (sender, mut receiver) = mpsc::channel(1);
        tokio::spawn(follow(transport, SourceOptions::default(), sender));
        let mut items = Vec::new();
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            match receiver.recv().await {
                Some(batch) => items.extend(batch),
                None => return items,
            }
        }
    });
    assert_eq!((reasons(&items), events(&items).len()), (vec!["eof"], 2));
}

/// A thread's stream with events that the server never replays.
struct ThreadWithUnreplayed(Script);

impl Transport for ThreadWithUnreplayed {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_endless: true,
            never_replayed: Some("state updates"),
            ..Capabilities::default()
        }
    }

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        self.0.connect(after, max_event).await
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        Ok(RunState::Endless)
    }
}

#[test]
fn unreplayable_events_are_a_gap_once_per_outage() {
    let reset_after = |text| Ok((vec![(0, text), (0, "RESET")], Tail::End));
    let outage = || (0..3).map(|_| Err(failure(Kind::RateLimited(Some(Duration::from_secs(20))))));
    let mut connections = vec![reset_after(EVENT_1)];
    connections.extend(outage());
    // A connection without events is part of the outage.
    connections.extend([
        Ok((vec![(0, "RESET")], Tail::End)),
        reset_after(EVENT_2),
        Err(failure(Kind::Forbidden)),
    ]);
    let items = collect(
        ThreadWithUnreplayed(script(connections, vec![])),
        SourceOptions::default(),
    );
    let why = gaps(&items);
    let count = why
        .iter()
        .filter(|why| why.contains("state updates are never replayed"))
        .count();
    assert!(
        count == 1 && why[0].starts_with("disconnected for 1m"),
        "{why:?}"
    );
    // A second outage is a second gap.
    let mut connections = vec![reset_after(EVENT_1), reset_after(EVENT_2)];
    connections.extend([
        reset_after("event: values\r\ndata: {}\r\nid: 3-0\r\n\r\n"),
        Err(failure(Kind::Forbidden)),
    ]);
    let items = collect(
        ThreadWithUnreplayed(script(connections, vec![])),
        SourceOptions::default(),
    );
    let count = gaps(&items)
        .iter()
        .filter(|why| why.contains("state updates are never replayed"))
        .count();
    assert_eq!(count, 2, "{:?}", gaps(&items));
}

#[test]
fn error_of_a_retried_attempt_does_not_end_the_stream() {
    let error = "event: error\ndata: {\"error\":\"E\",\"message\":\"boom\"}\n\n";
    let again = "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":2}\nid: 2-0\n\n";
    // The second attempt continues after a cut that looks like a clean end, and the run ends meanwhile.
    let first = vec![(0, EVENT_1), (0, error), (0, again), (0, "RESET")];
    let three = "event: values\r\ndata: {}\r\nid: 3-0\r\n\r\n";
    let transport = script(
        vec![
            Ok((first, Tail::End)),
            Ok((vec![(0, again)], Tail::End)),
            Ok((vec![(0, again), (0, three)], Tail::End)),
            Ok((vec![(0, three)], Tail::End)),
        ],
        vec![RunState::Active, done(), done(), done()],
    );
    let items = collect(transport, SourceOptions::default());
    assert_eq!(
        (
            end(&items).outcome,
            events(&items).len(),
            gaps(&items).len()
        ),
        (Outcome::Success, 4, 0),
        "{items:?}"
    );
}

#[test]
fn outage_without_evidence_of_a_replay_is_a_gap() {
    // Only an error event had an id, and errors are never replayed.
    let error = "event: error\r\ndata: {}\r\nid: 1-0\r\n\r\n";
    let mut connections = vec![Ok((vec![(0, error), (0, "RESET")], Tail::End))];
    connections
        .extend((0..7).map(|_| Err(failure(Kind::RateLimited(Some(Duration::from_secs(20)))))));
    connections.extend([
        Ok((vec![(0, EVENT_2), (0, "RESET")], Tail::End)),
        Err(failure(Kind::Forbidden)),
    ]);
    let mut transport = script(connections, vec![RunState::Endless, RunState::Endless]);
    transport.endless = true;
    let items = collect(transport, SourceOptions::default());
    assert!(
        is_outage(gaps(&items)[0]) && gaps(&items)[0].contains("nothing shows"),
        "{items:?}"
    );
}

#[test]
fn events_taken_by_another_reader_are_a_gap() {
    let event = |i: u32| format!("event: custom\ndata: {i}\nid: r_event_{i}\n\n");
    let body: &'static str = (1..=20)
        .filter(|i| !(7..10).contains(i))
        .map(event)
        .collect::<String>()
        .leak();
    let items = collect(
        script(vec![Ok((vec![(0, body)], Tail::End))], vec![done()]),
        SourceOptions::default(),
    );
    assert!(
        matches!(&gaps(&items)[..], [why] if why.starts_with("3 event ids are missing")),
        "{:?}",
        gaps(&items)
    );
    let at = items
        .iter()
        .position(|item| matches!(item, Item::Record(Record::Gap { .. })))
        .unwrap();
    assert!(
        matches!(&items[at + 1], Item::Record(Record::Event(event)) if event.id.as_deref() == Some("r_event_10"))
    );
}

fn counted(ids: std::ops::RangeInclusive<u32>) -> &'static str {
    ids.map(|id| format!("event: custom\ndata: {id}\nid: {id}\n\n"))
        .collect::<String>()
        .leak()
}

fn replayed(items: &[Item]) -> Vec<bool> {
    events(items).iter().map(|event| event.replayed).collect()
}

#[test]
fn replayed_events_without_server_time_have_no_time() {
    // Stored events are sent first; after a pause events are live. Events sent during an outage are replayed too.
    let first = vec![
        (0, counted(0..=1)),
        (0, counted(2..=2)),
        (1, counted(3..=3)),
        (0, "RESET"),
    ];
    let second = vec![
        (0, counted(3..=4)),
        (0, counted(5..=5)),
        (9, counted(6..=6)),
    ];
    let connections = || {
        vec![
            Ok((first.clone(), Tail::End)),
            Ok((second.clone(), Tail::End)),
            Ok((vec![], Tail::End)),
        ]
    };
    let options = SourceOptions {
        first_after: Some("-1".into()),
        ..SourceOptions::default()
    };
    let items = collect(
        script(connections(), vec![RunState::Active, done(), done()]),
        options,
    );
    assert_eq!(
        replayed(&items),
        [true, true, true, false, true, true, false]
    );
    assert!(
        events(&items)
            .iter()
            .all(|event| event.time() == (!event.replayed).then_some(event.at))
    );
    // A run that we start is live from its first event.
    let items = collect(
        script(connections(), vec![RunState::Active, done(), done()]),
        SourceOptions::default(),
    );
    assert_eq!(
        replayed(&items),
        [false, false, false, false, true, true, false]
    );
    // Events fetched after the run's end are replayed, regardless of pauses.
    let broken = vec![(0, counted(0..=0)), (0, "RESET")];
    let rest = vec![(0, counted(0..=1)), (5, counted(2..=2))];
    let connections = vec![
        Ok((broken, Tail::End)),
        Ok((rest, Tail::End)),
        Ok((vec![], Tail::End)),
    ];
    let items = collect(
        script(connections, vec![done(), done(), done()]),
        SourceOptions::default(),
    );
    assert_eq!(replayed(&items), [false, true, true]);
}

#[test]
fn slow_consumer_does_not_make_replayed_events_live() {
    let chunks = (0..60).map(|id| (0, counted(id..=id))).collect();
    let transport = script(vec![Ok((chunks, Tail::End))], vec![done()]);
    let items = paused(async {
        let (sender, mut receiver) = mpsc::channel(1);
        let options = SourceOptions {
            first_after: Some("-1".into()),
            ..SourceOptions::default()
        };
        tokio::spawn(follow(transport, options, sender));
        let mut items = Vec::new();
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            match receiver.recv().await {
                Some(batch) => items.extend(batch),
                None => return items,
            }
        }
    });
    assert_eq!(replayed(&items), [true; 60]);
}

fn silences(items: &[Item]) -> Vec<u64> {
    let silent = |item: &Item| {
        if let Item::Silent { silent, .. } = item {
            Some(silent.as_secs())
        } else {
            None
        }
    };
    items.iter().filter_map(silent).collect()
}

#[test]
fn silent_active_run_is_reported_at_growing_intervals() {
    // A server without heartbeats, whose status is requested once a minute until the run is over.
    let mut verdicts = vec![RunState::Active; 45];
    verdicts.extend([done(), done(), done()]);
    let items = collect(
        script(vec![Ok((vec![(0, EVENT_1)], Tail::Silence))], verdicts),
        SourceOptions::default(),
    );
    let reported = silences(&items);
    assert_eq!(
        reported
            .iter()
            .map(|seconds| seconds / 60)
            .collect::<Vec<_>>(),
        [5, 10, 20, 40],
        "{reported:?}"
    );
    // Heartbeats show that the connection is alive, but not that the run is.
    let sends_heartbeats = std::iter::once((0, EVENT_1))
        .chain((0..150).map(|_| (5, BEAT)))
        .chain([(5, EVENT_2)])
        .collect();
    let transport = ActiveUntilEnd::new(vec![Ok((sends_heartbeats, Tail::End))]);
    let items = collect(transport, SourceOptions::default());
    assert_eq!(silences(&items).len(), 2, "{:?}", silences(&items));
    assert_eq!(end(&items).outcome, Outcome::Success);
    // A thread may be silent for days.
    let sends_heartbeats = (0..2000).map(|_| (5, BEAT)).collect();
    let mut transport = script(
        vec![
            Ok((sends_heartbeats, Tail::End)),
            Err(failure(Kind::Forbidden)),
        ],
        vec![RunState::Endless],
    );
    transport.endless = true;
    assert_eq!(
        silences(&collect(transport, SourceOptions::default())),
        [0; 0]
    );
}
