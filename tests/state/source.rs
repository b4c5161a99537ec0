//! Sources with scripted servers: wherever connections are cut, each event is received once and in order, and possible gaps
//! are reported. `exactly_once` does the same with servers that are made at random.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use runtail_api::{ApiError, Kind};
use runtail_stream::{
    Capabilities, Connection, Data, Item, Outcome, Record, RunState, SourceOptions, Transport,
    follow,
};
use runtail_testkit::common::follow::{
    collect_with, connection, end, events, failure, gaps, paused,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// The chunks of a connection, with the seconds before each. `RESET` breaks it, and nothing follows `SILENCE`.
type Connect = Result<Vec<(u64, &'static str)>, ApiError>;

/// The connections, and the response to each status request.
#[derive(Default)]
struct Script {
    connections: VecDeque<Connect>,
    verdicts: VecDeque<RunState>,
    able: Capabilities,
    /// The run is active until its stream has ended.
    over: Option<Arc<AtomicBool>>,
}

impl Transport for Script {
    fn capabilities(&self) -> Capabilities {
        self.able
    }

    async fn connect(&mut self, _: Option<&str>, max_event: usize) -> Result<Connection, ApiError> {
        let none = || Err(failure(Kind::Network));
        let chunks = self.connections.pop_front().unwrap_or_else(none)?;
        let body = stream::iter(chunks).then(|(seconds, text)| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            match text {
                "RESET" => Err(failure(Kind::Network)),
                "SILENCE" => std::future::pending().await,
                text => Ok(Bytes::from_static(text.as_bytes())),
            }
        });
        let over = self.over.clone();
        let last = stream::once(async move { over.map(|over| over.store(true, Ordering::SeqCst)) })
            .filter_map(async |_| None);
        Ok(Connection {
            thread_id: Some("t".into()),
            ..connection(body.chain(last), max_event)
        })
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        Ok(match &self.over {
            Some(over) if over.load(Ordering::SeqCst) => done(),
            _ => self.verdicts.pop_front().unwrap_or(RunState::Active),
        })
    }
}

const BEAT: &str = ": heartbeat\r\n\r\n";
const EVENT_1: &str = "event: values\r\ndata: {}\r\nid: 1-0\r\n\r\n";
const EVENT_2: &str = "event: values\r\ndata: {}\r\nid: 2-0\r\n\r\n";
const WITHOUT_ID: &str = "event: values\r\ndata: {}\r\n\r\n";
const BOTH: [&str; 2] = [EVENT_1, EVENT_2];
const BROKEN: [&str; 2] = [EVENT_1, "RESET"];

fn script(connections: Vec<Connect>, verdicts: Vec<RunState>) -> Script {
    Script {
        connections: connections.into(),
        verdicts: verdicts.into(),
        ..Script::default()
    }
}

fn sent<const N: usize>(chunks: [&'static str; N]) -> Connect {
    Ok(chunks.map(|text| (0, text)).into())
}

/// Seven rate limits of 20 seconds.
fn outage() -> impl Iterator<Item = Connect> {
    (0..7).map(|_| Err(failure(Kind::RateLimited(Some(Duration::from_secs(20))))))
}

fn refused() -> Connect {
    Err(failure(Kind::Forbidden))
}

fn done() -> RunState {
    RunState::Finished(Outcome::Success, None)
}

fn collect(transport: impl Transport + 'static, options: SourceOptions) -> Vec<Item> {
    paused(collect_with(transport, options))
}

/// Follows a run with this script.
fn run(connections: Vec<Connect>, verdicts: Vec<RunState>) -> Vec<Item> {
    collect(script(connections, verdicts), SourceOptions::default())
}

/// Follows a thread, whose stream never ends.
fn endless(connections: Vec<Connect>, never_replayed: Option<&'static str>) -> Vec<Item> {
    let mut script = script(connections, vec![RunState::Endless; 9]);
    (script.able.is_endless, script.able.never_replayed) = (true, never_replayed);
    collect(script, SourceOptions::default())
}

/// Follows a run that is active until its stream has ended, or that is over already.
fn active(connections: Vec<Connect>, sends_heartbeats: bool, is_over: bool) -> Vec<Item> {
    let mut script = script(connections, Vec::new());
    script.over = Some(Arc::new(AtomicBool::new(is_over)));
    script.able.sends_heartbeats = sends_heartbeats;
    collect(script, SourceOptions::default())
}

fn from_the_start() -> SourceOptions {
    SourceOptions {
        first_after: Some("-1".into()),
        ..SourceOptions::default()
    }
}

/// Why the connections ended, and how many events and gaps there are.
fn seen(items: &[Item]) -> (String, usize, usize) {
    let reason = |item| match item {
        &Item::Record(Record::Close { ref reason, .. }) => Some(reason.as_str()),
        _ => None,
    };
    let reasons: Vec<_> = items.iter().filter_map(reason).collect();
    (reasons.join(" "), events(items).len(), gaps(items).len())
}

#[track_caller]
fn check(items: &[Item], (reasons, events, gaps): (&str, usize, usize)) {
    assert_eq!(seen(items), (reasons.into(), events, gaps), "{items:?}");
}

#[test]
fn a_clean_end_may_be_a_cut() {
    let connections = vec![sent([EVENT_1]), sent(BOTH), sent([EVENT_2])];
    let items = run(
        connections,
        vec![RunState::Active, RunState::Active, done(), done()],
    );
    check(&items, ("eof eof eof", 2, 0));
    assert_eq!((end(&items).duplicates, end(&items).connections), (2, 3));
    // Also where the run is over, unless nothing more arrives.
    let connections = vec![sent(BROKEN), sent([EVENT_1]), sent(BOTH), sent([EVENT_2])];
    check(
        &run(connections, vec![done(); 4]),
        ("reset eof eof eof", 2, 0),
    );
}

#[test]
fn the_outcome_is_that_of_the_run_and_its_last_events() {
    let interrupt = "event: updates\ndata: {\"__interrupt__\":[{\"value\":1}]}\n\n";
    let error = "event: error\ndata: {\"error\":\"ValueError\",\"message\":\"boom\"}\n\n";
    let lost = "event: error\ndata: \"Run not found\"\n\n";
    let finished = |outcome, why: Option<&str>| RunState::Finished(outcome, why.map(Into::into));
    let gone = |outcome| vec![RunState::NotFound(outcome, Some("gone".into()))];
    let none = || vec![RunState::NoStatus];
    use Outcome::{Cancelled, Error, Interrupted, Success, Unknown};
    for (connection, verdicts, outcome, why, gap) in [
        // The status lags. Without ids, an unnecessary reconnect would be reported as a gap.
        (
            sent([WITHOUT_ID]),
            vec![RunState::Active, done()],
            Success,
            None,
            0,
        ),
        // The stream may report an interrupt before the thread's status does.
        (
            sent([WITHOUT_ID, interrupt]),
            vec![done()],
            Interrupted,
            None,
            0,
        ),
        (
            sent([interrupt, WITHOUT_ID]),
            vec![done()],
            Success,
            None,
            0,
        ),
        (
            sent([EVENT_1]),
            vec![finished(Cancelled, None)],
            Cancelled,
            None,
            0,
        ),
        (
            sent([error]),
            vec![RunState::Active, RunState::Active, finished(Error, None)],
            Error,
            Some("ValueError: boom"),
            0,
        ),
        // The thread's own error takes precedence.
        (
            sent([error]),
            vec![finished(Error, Some("from the thread"))],
            Error,
            Some("from the thread"),
            0,
        ),
        (sent([lost]), none(), Error, Some("Run not found"), 0),
        // A stateless run ends with its response.
        (sent([EVENT_1]), none(), Success, None, 0),
        (sent([EVENT_1, interrupt]), none(), Interrupted, None, 0),
        (sent(BROKEN), none(), Unknown, None, 1),
        // A run that the server has forgotten is not joined again.
        (sent([EVENT_1]), gone(Cancelled), Cancelled, Some("gone"), 0),
        (sent(BROKEN), gone(Cancelled), Cancelled, Some("gone"), 1),
        (sent(BROKEN), gone(Unknown), Unknown, Some("gone"), 1),
        (sent([EVENT_1]), gone(Unknown), Unknown, Some("gone"), 1),
    ] {
        let items = run(vec![connection], verdicts);
        let last = end(&items);
        assert_eq!(
            (last.outcome, last.connections, gaps(&items).len()),
            (outcome, 1, gap),
            "{items:?}"
        );
        if why.is_some() {
            assert_eq!(last.detail.as_deref(), why);
        }
        assert!(!items.iter().any(|item| matches!(item, Item::Failed(_))));
    }
}

#[test]
fn missing_heartbeats_reconnect() {
    let dead = vec![
        (0, EVENT_1),
        (5, BEAT),
        (5, BEAT),
        (5, BEAT),
        (0, "SILENCE"),
    ];
    let items = run(
        vec![Ok(dead), sent(BOTH), sent([EVENT_2])],
        vec![RunState::Active, done(), done()],
    );
    check(&items, ("idle eof eof", 2, 0));
    let beats = items
        .iter()
        .filter(|item| matches!(item, Item::Heartbeat { .. }));
    assert_eq!((beats.count(), end(&items).duplicates), (3, 2));
}

#[test]
fn stopping_before_the_first_connection_writes_head_and_end() {
    let options = SourceOptions::default();
    options.stop.cancel();
    let items = collect(script(vec![sent(["SILENCE"])], Vec::new()), options);
    let records: Vec<_> = items
        .iter()
        .filter(|item| matches!(item, Item::Record(_)))
        .collect();
    assert!(
        matches!(
            records[..],
            [Item::Record(Record::Head(_)), Item::Record(Record::End(_))]
        ),
        "{records:?}"
    );
}

#[test]
fn a_dead_connection_is_told_from_a_silent_one() {
    let dead = || sent([EVENT_1, "SILENCE"]);
    let again = || vec![dead(), sent(BOTH), sent([EVENT_2])];
    let slow = |events| Ok(vec![(0, EVENT_1), (7200, BEAT), (3600, events)]);
    check(&active(vec![slow(EVENT_2)], false, false), ("eof", 2, 0));
    // Detected because the server is known to send heartbeats, or else by the end of the run.
    check(&active(again(), true, false), ("idle eof eof", 2, 0));
    check(&active(again(), false, true), ("idle eof eof", 2, 0));
    // A proxy that drops heartbeats doesn't cause repeated reconnects.
    let quiet = Ok(vec![(0, EVENT_1), (3600, EVENT_2)]);
    let items = active(vec![dead(), quiet, sent([EVENT_2])], true, false);
    check(&items, ("idle eof eof", 2, 0));
}

/// Checks that the first gap has the length of an outage, or more where a random delay is longer, and these words.
#[track_caller]
fn check_outage(items: &[Item], words: &str) {
    let why = gaps(items)[0];
    let is_long = ["disconnected for 2m", "disconnected for 3m"]
        .iter()
        .any(|start| why.starts_with(start));
    assert!(is_long && why.contains(words), "{why}");
}

#[test]
fn gaps_report_the_length_of_the_outage() {
    let cut = |first, then: Vec<Connect>| -> Vec<Connect> {
        std::iter::once(sent([first, "RESET"]))
            .chain(outage())
            .chain(then)
            .collect()
    };
    // Longer than the server's replay window: the server continues with newer events, or has dropped all.
    let newer = || sent(["event: values\r\ndata: {}\r\nid: 9-0\r\n\r\n"]);
    let ends = || vec![RunState::Active, done(), done()];
    let items = run(cut(EVENT_1, vec![newer(), newer()]), ends());
    check_outage(&items, "did not replay");
    assert_eq!((events(&items).len(), gaps(&items).len()), (2, 1));
    let items = run(cut(EVENT_1, vec![sent([]), sent([])]), vec![done(); 3]);
    check_outage(&items, "did not replay");
    // The server never sent ids.
    let items = run(cut(WITHOUT_ID, vec![sent([WITHOUT_ID])]), ends());
    check_outage(&items, "no ids");
    assert_eq!(gaps(&items).len(), 1);
    // Only an error event had an id, and errors are never replayed.
    let error = "event: error\r\ndata: {}\r\nid: 1-0\r\n\r\n";
    let then = vec![sent([EVENT_2, "RESET"]), refused()];
    check_outage(&endless(cut(error, then), None), "nothing shows");
}

/// Case 19: an idle thread stream that is closed cleanly after 3 s each time.
#[test]
fn gaps_report_only_the_time_without_a_connection() {
    let mut connections: Vec<Connect> = (0..5).map(|_| Ok(vec![(3, "")])).collect();
    connections.push(refused());
    let mut transport = script(connections, vec![RunState::Endless; 5]);
    transport.able.is_endless = true;
    let wait = Duration::from_millis(700);
    let retries = runtail_stream::Retries {
        base: wait,
        cap: wait,
        ..runtail_stream::Retries::default()
    };
    let options = SourceOptions {
        retries,
        ..SourceOptions::default()
    };
    for why in gaps(&collect(transport, options)) {
        let rest = why.strip_prefix("disconnected for ").unwrap();
        let outage = rest.split_once("s;").unwrap().0;
        assert!(outage.parse::<f64>().unwrap() <= 0.8, "{why}");
    }
}

#[test]
fn waits_between_connections_are_random() {
    let mut waits = vec![Vec::new(); 12];
    for _ in 0..100 {
        let items = run(vec![sent(BROKEN)], Vec::new());
        let all = items.iter().filter_map(|item| match item {
            Item::Retrying { wait, .. } => Some(*wait),
            _ => None,
        });
        all.zip(&mut waits).for_each(|(wait, all)| all.push(wait));
    }
    for (n, waits) in waits.iter().enumerate() {
        let limit = Duration::from_millis(500)
            .saturating_mul(1 << n)
            .min(Duration::from_secs(30));
        // Anywhere between zero and the limit, so that clients don't reconnect all at the same time.
        let (least, most) = (waits.iter().min(), waits.iter().max());
        assert!(
            least < Some(&(limit / 4)) && most > Some(&(limit * 3 / 4)),
            "{n}"
        );
        assert!(most <= Some(&limit) && waits.len() == 100, "{n}: {waits:?}");
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
        let is_over = self.queue.is_empty();
        Ok(if is_over { done() } else { RunState::Active })
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
    let items = collect(transport, from_the_start());
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
        (Outcome::Success, 2)
    );
}

#[test]
fn runs_are_given_up_after_many_failures_but_threads_never() {
    let items = run(vec![sent(BROKEN)], Vec::new());
    let is_retry = |item: &&Item| matches!(item, Item::Retrying { .. });
    assert_eq!(
        (items.iter().filter(is_retry).count(), gaps(&items).len()),
        (12, 1)
    );
    assert!(end(&items).outcome == Outcome::Unknown && end(&items).detail.is_some());

    let mut connections = vec![sent(BROKEN)];
    connections.extend((0..60).map(|_| Err(failure(Kind::Server(502)))));
    connections.extend([sent(BOTH), refused()]);
    let items = endless(connections, None);
    assert_eq!(
        (events(&items).len(), end(&items).outcome),
        (2, Outcome::Unknown)
    );
    let is_refusal =
        |item: &Item| matches!(item, Item::Failed(error) if error.kind == Kind::Forbidden);
    assert!(items.iter().any(is_refusal));
}

#[test]
fn items_are_sent_in_a_fixed_order() {
    let text = "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":1}\n\n";
    let items = run(vec![sent([text])], vec![done()]);
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
    // A first connection that fails is reported immediately.
    let items = run(vec![Err(failure(Kind::NotFound))], Vec::new());
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
fn oversized_events_are_truncated_and_counted() {
    let large = "x".repeat(20_000);
    let body = format!("event: values\ndata: \"{large}\"\nid: 1-0\n\n{EVENT_2}").leak();
    let options = SourceOptions {
        max_event: 10_000,
        ..SourceOptions::default()
    };
    let items = collect(script(vec![sent([body])], vec![done()]), options);
    let events = events(&items);
    assert!(
        matches!(events[0].data, Data::TooLarge { size: 20_002, .. }),
        "{:?}",
        events[0].data
    );
    let ids = [&events[0].id, &events[1].id].map(|id| id.as_deref());
    assert_eq!(
        (ids, end(&items).malformed),
        ([Some("1-0"), Some("2-0")], 1)
    );
}

#[test]
fn events_are_delivered_immediately_and_streams_can_be_stopped() {
    let silent = || script(vec![sent([EVENT_1, "SILENCE"])], Vec::new());
    paused(async {
        let (sender, mut receiver) = mpsc::channel(8);
        let options = SourceOptions::default();
        let stop = options.stop.clone();
        let task = tokio::spawn(follow(silent(), options, sender));
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
        let task = tokio::spawn(follow(silent(), SourceOptions::default(), sender));
        drop(receiver);
        task.await.unwrap();
    });
}

/// Follows a stream and takes what it sends once a minute.
fn collect_slowly(chunks: Vec<(u64, &'static str)>, options: SourceOptions) -> Vec<Item> {
    paused(async {
        let (sender, mut receiver) = mpsc::channel(1);
        let transport = script(vec![Ok(chunks)], vec![done()]);
        tokio::spawn(follow(transport, options, sender));
        let mut items = Vec::new();
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            match receiver.recv().await {
                Some(batch) => items.extend(batch),
                None => return items,
            }
        }
    })
}

#[test]
fn a_slow_consumer_is_neither_a_silent_server_nor_makes_replayed_events_live() {
    // The channel is full for a minute while heartbeats are learned.
    let mut chunks = vec![(0, EVENT_1), (5, BEAT), (5, BEAT)];
    chunks.extend((0..20).map(|_| (1, BEAT)));
    chunks.push((1, EVENT_2));
    let (reasons, events, _) = seen(&collect_slowly(chunks, SourceOptions::default()));
    assert_eq!((&*reasons, events), ("eof", 2));
    let chunks = (0..60).map(|id| (0, counted(id..=id))).collect();
    assert_eq!(
        replayed(&collect_slowly(chunks, from_the_start())),
        [true; 60]
    );
}

#[test]
fn unreplayable_events_are_a_gap_once_per_outage() {
    let reset = |text| sent([text, "RESET"]);
    let unreplayed = |connections| {
        let items = endless(connections, Some("state updates"));
        let said = |why: &&&str| why.contains("state updates are never replayed");
        let all = gaps(&items);
        (
            all.iter().filter(said).count(),
            all[0].starts_with("disconnected for 1m"),
        )
    };
    let mut connections = vec![reset(EVENT_1)];
    connections.extend(outage().take(3));
    // A connection without events is part of the outage.
    connections.extend([sent(["RESET"]), reset(EVENT_2), refused()]);
    assert_eq!(unreplayed(connections), (1, true));
    // A second outage is a second gap.
    let third = reset("event: values\r\ndata: {}\r\nid: 3-0\r\n\r\n");
    let connections = vec![reset(EVENT_1), reset(EVENT_2), third, refused()];
    assert_eq!(unreplayed(connections).0, 2);
}

#[test]
fn error_of_a_retried_attempt_does_not_end_the_stream() {
    let error = "event: error\ndata: {\"error\":\"E\",\"message\":\"boom\"}\n\n";
    let again = "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":2}\nid: 2-0\n\n";
    let three = "event: values\r\ndata: {}\r\nid: 3-0\r\n\r\n";
    // The second attempt continues after a cut that looks like a clean end, and the run ends meanwhile.
    let connections = vec![
        sent([EVENT_1, error, again, "RESET"]),
        sent([again]),
        sent([again, three]),
        sent([three]),
    ];
    let items = run(connections, vec![RunState::Active, done(), done(), done()]);
    check(&items, ("reset eof eof eof", 4, 0));
    assert_eq!(end(&items).outcome, Outcome::Success);
}

#[test]
fn events_taken_by_another_reader_are_a_gap() {
    let event = |i: u32| format!("event: custom\ndata: {i}\nid: r_event_{i}\n\n");
    let numbers = (1..=20).filter(|i| !(7..10).contains(i));
    let body = numbers.map(event).collect::<String>().leak();
    let items = run(vec![sent([body])], vec![done()]);
    assert!(
        matches!(&gaps(&items)[..], [why] if why.starts_with("3 event ids are missing")),
        "{:?}",
        gaps(&items)
    );
    let is_gap = |item: &Item| matches!(item, Item::Record(Record::Gap { .. }));
    let at = items.iter().position(is_gap).unwrap();
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
    let first = [
        (0, counted(0..=1)),
        (0, counted(2..=2)),
        (1, counted(3..=3)),
        (0, "RESET"),
    ];
    let second = [
        (0, counted(3..=4)),
        (0, counted(5..=5)),
        (9, counted(6..=6)),
    ];
    let two = || vec![Ok(first.into()), Ok(second.into()), sent([])];
    let ends = || vec![RunState::Active, done(), done()];
    let items = collect(script(two(), ends()), from_the_start());
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
    assert_eq!(
        replayed(&run(two(), ends())),
        [false, false, false, false, true, true, false]
    );
    // Events fetched after the run's end are replayed, regardless of pauses.
    let rest = Ok(vec![(0, counted(0..=1)), (5, counted(2..=2))]);
    let connections = vec![sent([counted(0..=0), "RESET"]), rest, sent([])];
    assert_eq!(
        replayed(&run(connections, vec![done(); 3])),
        [false, true, true]
    );
}

#[test]
fn silent_active_run_is_reported_at_growing_intervals() {
    let silences = |items: &[Item]| -> Vec<u64> {
        let silent = |item: &Item| match item {
            Item::Silent { silent, .. } => Some(silent.as_secs() / 60),
            _ => None,
        };
        items.iter().filter_map(silent).collect()
    };
    // A server without heartbeats, whose status is requested once a minute until the run is over.
    let mut verdicts = vec![RunState::Active; 45];
    verdicts.extend(vec![done(); 3]);
    let items = run(vec![sent([EVENT_1, "SILENCE"])], verdicts);
    assert_eq!(silences(&items), [5, 10, 20, 40]);
    // Heartbeats show that the connection is alive, but not that the run is.
    let beats = |count| vec![(5, BEAT); count];
    let chunks = [vec![(0, EVENT_1)], beats(150), vec![(5, EVENT_2)]].concat();
    let items = active(vec![Ok(chunks)], false, false);
    assert_eq!(silences(&items).len(), 2);
    assert_eq!(end(&items).outcome, Outcome::Success);
    // A thread may be silent for days.
    let items = endless(vec![Ok(beats(2000)), refused()], None);
    assert!(silences(&items).is_empty());
}
