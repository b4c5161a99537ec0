//! Sources against scripted servers: whatever is cut, wherever, each event comes once and in order; and what cannot be
//! known is said.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use proptest::prelude::*;
use runtail_api::{ApiError, Kind, Place};
use runtail_stream::{
    Capabilities, End, Event, Item, Link, Opened, Outcome, Past, Record, SourceOptions, Verdict, follow, framed,
};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

type Body = BoxStream<'static, Result<Bytes, ApiError>>;

fn failure(kind: Kind) -> ApiError {
    ApiError { kind, at: Place::default(), detail: "scripted".into(), hint: None }
}

/// Runs a future with a clock that jumps over waits.
fn run<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// Follows a link to the end and collects everything.
fn collect(link: impl Link + 'static, options: SourceOptions) -> Vec<Item> {
    run(async {
        let (sender, mut receiver) = mpsc::channel(2);
        let task = tokio::spawn(follow(link, options, sender));
        let mut items = Vec::new();
        while let Some(batch) = receiver.recv().await {
            assert!(!batch.is_empty());
            items.extend(batch);
        }
        task.await.unwrap();
        items
    })
}

fn events(items: &[Item]) -> Vec<&Event> {
    let event = |item| match item {
        &Item::Record(Record::Event(ref event)) => Some(event),
        _ => None,
    };
    items.iter().filter_map(event).collect()
}

fn end(items: &[Item]) -> &End {
    match items.last() {
        Some(Item::Record(Record::End(end))) => end,
        other => panic!("no end record: {other:?}"),
    }
}

fn gaps(items: &[Item]) -> usize {
    items.iter().filter(|i| matches!(i, Item::Record(Record::Gap { .. }))).count()
}

fn reasons(items: &[Item]) -> Vec<&str> {
    let reason = |item| match item {
        &Item::Record(Record::Close { ref reason, .. }) => Some(reason.as_str()),
        _ => None,
    };
    items.iter().filter_map(reason).collect()
}

fn resumed(items: &[Item]) -> Vec<Option<&str>> {
    let after = |item| match item {
        &Item::Record(Record::Open { ref resumed_after, .. }) => Some(resumed_after.as_deref()),
        _ => None,
    };
    items.iter().filter_map(after).collect()
}

/// An event that the server has to send.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    name: &'static str,
    id: Option<String>,
    data: String,
}

impl Sent {
    fn new(name: &'static str, id: Option<&str>, data: &str) -> Sent {
        Sent { name, id: id.map(String::from), data: data.into() }
    }

    fn bytes(&self) -> String {
        let id = self.id.as_ref().map(|id| format!("id: {id}\r\n")).unwrap_or_default();
        format!("event: {}\r\ndata: {}\r\n{id}\r\n", self.name, self.data)
    }
}

/// A server that stores what has an id, replays what is strictly greater, and cuts connections where it is told to.
#[derive(Default)]
struct Server {
    events: Vec<Sent>,
    /// For each connection: after how many bytes it is cut, and whether that looks like an end in order.
    cuts: VecDeque<(usize, bool)>,
    chunk: usize,
    /// Ids are compared as the JavaScript server does, by number.
    everything: Option<&'static str>,
    /// How many events were ever written to a connection: what has no id is never written again.
    written: usize,
    finished: bool,
    /// The run ended before anybody looked: what its status says tells nothing about a cut.
    ended: bool,
    outcome: Option<Verdict>,
    asked: Arc<Mutex<Vec<Option<String>>>>,
}

impl Server {
    fn new(events: Vec<Sent>, cuts: impl IntoIterator<Item = (usize, bool)>) -> Server {
        Server { events, cuts: cuts.into_iter().collect(), chunk: 7, everything: Some("-1"), ..Server::default() }
    }
}

fn order(id: &str) -> (u64, u64) {
    let id = id.rsplit('_').next().unwrap_or(id);
    let (ms, n) = id.split_once('-').unwrap_or((id, "0"));
    (ms.parse().unwrap(), n.parse().unwrap())
}

impl Link for Server {
    fn capabilities(&self) -> Capabilities {
        Capabilities { everything: self.everything, ..Capabilities::default() }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        self.asked.lock().unwrap().push(after.map(String::from));
        let (written, first) = (self.written, self.written == 0);
        let due = |(i, event): (usize, &Sent)| match (&event.id, after) {
            _ if first && after.is_none() => true,
            (Some(id), Some("-1" | "-")) => !id.is_empty() && (event.name != "error" || i >= written),
            (Some(id), Some(after)) => order(id) > order(after) && (event.name != "error" || i >= written),
            _ => i >= written,
        };
        let mut body = String::new();
        let cut = self.cuts.pop_front();
        for (i, event) in self.events.iter().enumerate().filter(|&(i, e)| due((i, e))) {
            if cut.is_none_or(|(at, _)| body.len() < at) {
                self.written = self.written.max(i + 1);
            }
            body.push_str(&event.bytes());
        }
        let mut bytes = body.into_bytes();
        let mut broken = false;
        match cut {
            Some((at, clean)) if at < bytes.len() => {
                bytes.truncate(at);
                broken = !clean;
            }
            _ => self.finished = true,
        }
        let chunks: Vec<_> = bytes.chunks(self.chunk.max(1)).map(|c| Ok(Bytes::copy_from_slice(c))).collect();
        let tail = broken.then(|| Err(failure(Kind::Network)));
        Ok(Opened {
            status: 200,
            thread_id: None,
            run_id: None,
            answered: None,
            past: Past::Unknown,
            body: framed(stream::iter(chunks.into_iter().chain(tail)).boxed(), max_event),
        })
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        if !self.finished && !self.ended {
            return Ok(Verdict::Active);
        }
        Ok(self.outcome.clone().unwrap_or(Verdict::Over(Outcome::Success, None)))
    }
}

/// Groups of equal ids with data that repeats, as the Python server makes them.
fn repeating(groups: &[u8]) -> Vec<Sent> {
    let mut events = Vec::new();
    for (ms, size) in groups.iter().enumerate() {
        for n in 0..*size {
            // Every second event of a group equals the one before it in everything.
            events.push(Sent::new("custom", Some(&format!("{}-0", 1000 + ms)), &format!("{{\"i\":{}}}", n / 2)));
        }
    }
    events
}

fn assert_exact(items: &[Item], sent: &[Sent]) {
    let got: Vec<_> = events(items).iter().map(|e| (e.seq.0, e.id.as_deref(), e.data.text().to_string())).collect();
    let want: Vec<_> = sent.iter().zip(1..).map(|(s, seq)| (seq, s.id.as_deref(), s.data.clone())).collect();
    assert_eq!(got, want);
    assert_eq!((end(items).events, end(items).gaps, gaps(items)), (sent.len() as u64, 0, 0));
    assert_eq!(end(items).outcome, Outcome::Success);
    let repeated = |item: &Item| if let Item::Repeated { events, .. } = item { *events } else { 0 };
    assert_eq!(end(items).duplicates, items.iter().map(repeated).sum::<u64>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn repeating_ids_cut_anywhere(
        groups in proptest::collection::vec(1u8..8, 1..12),
        cuts in proptest::collection::vec((0usize..600, any::<bool>()), 0..8),
        chunk in 1usize..200,
        everything in any::<bool>(),
        ended in any::<bool>(),
        last in 0usize..600,
    ) {
        let sent = repeating(&groups);
        let mut server = Server::new(sent.clone(), cuts);
        // Of a run that is over an end between two events is believed on a link that has not broken yet, and when it comes
        // twice: here the link breaks any number of times, and then ends once as if in order.
        server.ended = ended && !server.cuts.is_empty();
        if server.ended {
            server.cuts.iter_mut().for_each(|(_, clean)| *clean = false);
            server.cuts.push_back((last, true));
        }
        server.chunk = chunk;
        let options = SourceOptions { first_after: everything.then(|| "-1".into()), ..SourceOptions::default() };
        assert_exact(&collect(server, options), &sent);
    }

    #[test]
    fn unique_and_counting_ids_cut_anywhere(
        n in 1usize..40,
        cuts in proptest::collection::vec((0usize..400, any::<bool>()), 0..8),
        chunk in 1usize..200,
        counting in any::<bool>(),
    ) {
        let id = |i: usize| if counting { i.to_string() } else { format!("{}-{}", 5000 + i / 3, i % 3) };
        let sent: Vec<_> = (0..n).map(|i| Sent::new("custom", Some(&id(i)), "{\"i\":0}")).collect();
        let mut server = Server::new(sent.clone(), cuts);
        server.chunk = chunk;
        let items = collect(server, SourceOptions::default());
        assert_exact(&items, &sent);
        // One repetition for each connection but the first, at most.
        prop_assert!(end(&items).duplicates < u64::from(end(&items).connections));
    }

    /// Ids that say nothing about their order, as `<run>_event_<n>` of Aegra.
    #[test]
    fn opaque_ids_cut_anywhere(
        n in 2usize..40,
        cuts in proptest::collection::vec((0usize..500, any::<bool>()), 0..8),
        chunk in 1usize..200,
    ) {
        let sent: Vec<_> = (1..=n).map(|i| Sent::new("custom", Some(&format!("r-1_event_{i}")), "{\"i\":0}")).collect();
        let mut server = Server::new(sent.clone(), cuts);
        server.chunk = chunk;
        assert_exact(&collect(server, SourceOptions { first_after: Some("-1".into()), ..SourceOptions::default() }), &sent);
    }

    /// An error at the end is never replayed: it comes live at most once, and the outcome tells of it in any case.
    #[test]
    fn errors_are_never_lost(groups in proptest::collection::vec(1u8..5, 1..5), cuts in proptest::collection::vec((0usize..400, any::<bool>()), 0..5)) {
        let mut sent = repeating(&groups);
        let plain = sent.len();
        sent.push(Sent::new("error", Some("9000-0"), "{\"error\":\"ValueError\",\"message\":\"boom\"}"));
        let mut server = Server::new(sent.clone(), cuts);
        server.outcome = Some(Verdict::Over(Outcome::Error, None));
        let items = collect(server, SourceOptions::default());
        let got = events(&items);
        prop_assert!(got.iter().take(plain).map(|e| e.data.text().to_string()).eq(sent[..plain].iter().map(|s| s.data.clone())));
        prop_assert!(got.len() == plain || got.len() == plain + 1);
        prop_assert_eq!((end(&items).outcome, end(&items).gaps), (Outcome::Error, 0));
        if got.len() > plain {
            prop_assert_eq!(end(&items).detail.as_deref(), Some("ValueError: boom"));
        }
    }
}

#[test]
fn without_ids_a_cut_is_a_gap() {
    let sent: Vec<_> = (0..10).map(|i| Sent::new("custom", None, &i.to_string())).collect();
    let items = collect(Server::new(sent, [(150, false)]), SourceOptions::default());
    assert_eq!(gaps(&items), 1);
    let data: Vec<i32> = events(&items).iter().map(|e| e.data.text().parse().unwrap()).collect();
    assert!(data.is_sorted() && data.len() < 10 && *data.last().unwrap() == 9, "{data:?}");
    assert_eq!(resumed(&items), [None, None]);
    assert_eq!((end(&items).outcome, end(&items).gaps, end(&items).connections), (Outcome::Success, 1, 2));
}

#[test]
fn a_live_join_resumes_from_the_number_before_its_only_id() {
    let sent = repeating(&[5]);
    let mut server = Server::new(sent.clone(), [(100, false)]);
    server.everything = None;
    let asked = server.asked.clone();
    assert_exact(&collect(server, SourceOptions::default()), &sent);
    // The third makes sure that the second was not cut between two events when the run was over.
    let again = Some("999-0".into());
    assert_eq!(*asked.lock().unwrap(), [None, again.clone(), again]);
}

#[test]
fn a_server_that_does_not_replay_leaves_a_gap() {
    // JavaScript: a run that is not resumable sends ids all the same, and goes on with whatever comes next.
    struct Forgetful(u64);
    impl Link for Forgetful {
        async fn connect(&mut self, _: Option<&str>, _: usize) -> Result<Opened, ApiError> {
            self.0 += 1;
            let numbers = self.0 * 10..self.0 * 10 + if self.0 < 3 { 3 } else { 0 };
            let text: String = numbers.map(|i| format!("event: custom\ndata: 1\nid: {i}\n\n")).collect();
            Ok(opened(vec![Ok(text.into())], Tail::End))
        }
        async fn verdict(&mut self) -> Result<Verdict, ApiError> {
            Ok(if self.0 < 2 { Verdict::Active } else { Verdict::Over(Outcome::Success, None) })
        }
    }
    let items = collect(Forgetful(0), SourceOptions::default());
    assert_eq!((events(&items).len(), gaps(&items)), (6, 1));
}

enum Tail {
    End,
    Silence,
}

fn opened(chunks: Vec<Result<Bytes, ApiError>>, tail: Tail) -> Opened {
    let chunks = stream::iter(chunks);
    let body: Body = match tail {
        Tail::End => chunks.boxed(),
        Tail::Silence => chunks.chain(stream::pending()).boxed(),
    };
    let body = framed(body, 64 << 20);
    Opened { status: 200, thread_id: Some("t".into()), run_id: None, answered: None, past: Past::Unknown, body }
}

type Connect = Result<(Vec<(u64, &'static str)>, Tail), ApiError>;

/// A script: what each connection says (after how many seconds each), and what each question is answered.
#[derive(Default)]
struct Script {
    connections: VecDeque<Connect>,
    verdicts: VecDeque<Result<Verdict, ApiError>>,
    endless: bool,
}

fn script(connections: Vec<Connect>, verdicts: Vec<Verdict>) -> Script {
    Script { connections: connections.into(), verdicts: verdicts.into_iter().map(Ok).collect(), endless: false }
}

impl Link for Script {
    fn capabilities(&self) -> Capabilities {
        Capabilities { is_endless: self.endless, ..Capabilities::default() }
    }

    async fn connect(&mut self, _: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        let (chunks, tail) = self.connections.pop_front().unwrap_or(Err(failure(Kind::Network)))?;
        let body = stream::iter(chunks).then(|(seconds, text)| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            match text {
                "RESET" => Err(failure(Kind::Network)),
                text => Ok(Bytes::from_static(text.as_bytes())),
            }
        });
        let body: Body = match tail {
            Tail::End => body.boxed(),
            Tail::Silence => body.chain(stream::pending()).boxed(),
        };
        let body = framed(body, max_event);
        Ok(Opened { status: 200, thread_id: Some("t".into()), run_id: None, answered: None, past: Past::Unknown, body })
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        self.verdicts.pop_front().unwrap_or(Ok(Verdict::Active))
    }
}

const BEAT: &str = ": heartbeat\r\n\r\n";
const ONE: &str = "event: values\r\ndata: {}\r\nid: 1-0\r\n\r\n";
const TWO: &str = "event: values\r\ndata: {}\r\nid: 2-0\r\n\r\n";

fn done() -> Verdict {
    Verdict::Over(Outcome::Success, None)
}

#[test]
fn a_clean_end_while_the_run_goes_on_is_no_end() {
    let link = script(
        vec![
            Ok((vec![(0, ONE)], Tail::End)),
            Ok((vec![(0, ONE), (0, TWO)], Tail::End)),
            Ok((vec![(0, TWO)], Tail::End)),
        ],
        vec![Verdict::Active, Verdict::Active, done(), done()],
    );
    let items = collect(link, SourceOptions::default());
    assert_eq!((events(&items).len(), end(&items).duplicates, end(&items).connections, gaps(&items)), (2, 2, 3, 0));
}

#[test]
fn a_status_that_lags_is_waited_for() {
    // Without ids a needless new connection would be a gap that is none.
    let bare = "event: values\r\ndata: {}\r\n\r\n";
    let items = collect(
        script(vec![Ok((vec![(0, bare)], Tail::End))], vec![Verdict::Active, done()]),
        SourceOptions::default(),
    );
    assert_eq!((end(&items).connections, gaps(&items)), (1, 0));
    // The thread may not say yet that it waits; the stream said it.
    let asks = "event: updates\ndata: {\"__interrupt__\":[{\"value\":1}]}\n\n";
    let items =
        collect(script(vec![Ok((vec![(0, bare), (0, asks)], Tail::End))], vec![done()]), SourceOptions::default());
    assert_eq!(end(&items).outcome, Outcome::Interrupted);
    let items =
        collect(script(vec![Ok((vec![(0, asks), (0, bare)], Tail::End))], vec![done()]), SourceOptions::default());
    assert_eq!(end(&items).outcome, Outcome::Success);
}

#[test]
fn a_cancelled_run_ends_in_silence() {
    let cancelled = Verdict::Over(Outcome::Cancelled, None);
    let items = collect(script(vec![Ok((vec![(0, ONE)], Tail::End))], vec![cancelled]), SourceOptions::default());
    assert_eq!((end(&items).outcome, end(&items).connections, gaps(&items)), (Outcome::Cancelled, 1, 0));
}

#[test]
fn heartbeats_that_stop_mean_a_dead_link() {
    let dead = vec![(0, ONE), (5, BEAT), (5, BEAT), (5, BEAT)];
    let link = script(
        vec![Ok((dead, Tail::Silence)), Ok((vec![(0, ONE), (0, TWO)], Tail::End)), Ok((vec![(0, TWO)], Tail::End))],
        vec![Verdict::Active, done(), done()],
    );
    let items = collect(link, SourceOptions::default());
    assert_eq!(reasons(&items), ["idle", "eof", "eof"]);
    assert_eq!(items.iter().filter(|i| matches!(i, Item::Heartbeat { .. })).count(), 3);
    assert_eq!((events(&items).len(), end(&items).duplicates), (2, 2));
}

/// A server whose run goes on until its stream has said all.
struct Slow {
    script: Script,
    over: Arc<AtomicBool>,
    beats: bool,
}

impl Slow {
    fn new(connections: Vec<Connect>) -> Slow {
        Slow { script: script(connections, vec![]), over: Arc::default(), beats: false }
    }
}

impl Link for Slow {
    fn capabilities(&self) -> Capabilities {
        Capabilities { beats: self.beats, ..Capabilities::default() }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        let mut opened = self.script.connect(after, max_event).await?;
        let over = self.over.clone();
        let last = stream::once(async move { over.store(true, Ordering::SeqCst) }).filter_map(async |()| None);
        opened.body = opened.body.chain(last).boxed();
        Ok(opened)
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        Ok(if self.over.load(Ordering::SeqCst) { done() } else { Verdict::Active })
    }
}

/// A server that never answers.
struct Never;

impl Link for Never {
    async fn connect(&mut self, _: Option<&str>, _: usize) -> Result<Opened, ApiError> {
        std::future::pending().await
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        Ok(Verdict::Active)
    }
}

#[test]
fn a_stream_that_is_stopped_before_it_began_has_a_head_and_an_end() {
    let options = SourceOptions::default();
    options.stop.cancel();
    let records: Vec<_> = collect(Never, options).into_iter().filter(|item| matches!(item, Item::Record(_))).collect();
    assert!(matches!(&records[..], [Item::Record(Record::Tape(_)), Item::Record(Record::End(_))]), "{records:?}");
}

#[test]
fn silence_without_heartbeats_is_patience() {
    let slow = vec![(0, ONE), (7200, BEAT), (3600, TWO)];
    let items = collect(Slow::new(vec![Ok((slow, Tail::End))]), SourceOptions::default());
    assert_eq!((reasons(&items), events(&items).len()), (vec!["eof"], 2));
}

#[test]
fn a_link_that_dies_before_the_first_heartbeat_is_found_out() {
    // By what is known of the server.
    let dead = || Ok((vec![(0, ONE)], Tail::Silence));
    let whole = || Ok((vec![(0, ONE), (0, TWO)], Tail::End));
    let last = || Ok((vec![(0, TWO)], Tail::End));
    let mut link = Slow::new(vec![dead(), whole(), last()]);
    link.beats = true;
    let items = collect(link, SourceOptions::default());
    assert_eq!((reasons(&items), events(&items).len(), gaps(&items)), (vec!["idle", "eof", "eof"], 2, 0));
    // Where nothing is known, by the end of the run.
    let link = Slow::new(vec![dead(), whole(), last()]);
    link.over.store(true, Ordering::SeqCst);
    let items = collect(link, SourceOptions::default());
    assert_eq!((reasons(&items), events(&items).len(), gaps(&items)), (vec!["idle", "eof", "eof"], 2, 0));
    // Something on the way keeps the heartbeats: no reason to connect again and again.
    let mut link = Slow::new(vec![dead(), Ok((vec![(0, ONE), (3600, TWO)], Tail::End)), last()]);
    link.beats = true;
    let items = collect(link, SourceOptions::default());
    assert_eq!((reasons(&items), events(&items).len()), (vec!["idle", "eof", "eof"], 2));
}

/// What was said of possible gaps.
fn whys(items: &[Item]) -> Vec<&str> {
    let why = |item| if let &Item::Record(Record::Gap { ref why, .. }) = item { Some(why.as_str()) } else { None };
    items.iter().filter_map(why).collect()
}

#[test]
fn a_gap_says_how_long_the_outage_was() {
    let broken = |text| Ok((vec![(0, text), (0, "RESET")], Tail::End));
    let away = || (0..7).map(|_| Err(failure(Kind::RateLimited(Some(Duration::from_secs(20))))));
    // Longer than what the server keeps: it goes on with what is newer than the newest that it was asked for.
    let mut connections = vec![broken(ONE)];
    connections.extend(away());
    let three = "event: values\r\ndata: {}\r\nid: 9-0\r\n\r\n";
    connections.extend([Ok((vec![(0, three)], Tail::End)), Ok((vec![(0, three)], Tail::End))]);
    let items = collect(script(connections, vec![Verdict::Active, done(), done()]), SourceOptions::default());
    assert_eq!((events(&items).len(), gaps(&items)), (2, 1));
    assert!(
        whys(&items)[0].starts_with("disconnected for 2m") && whys(&items)[0].contains("did not replay"),
        "{items:?}"
    );
    // It has forgotten all of it.
    let mut connections = vec![broken(ONE)];
    connections.extend(away());
    connections.extend([Ok((vec![], Tail::End)), Ok((vec![], Tail::End))]);
    let items = collect(script(connections, vec![done(), done(), done()]), SourceOptions::default());
    assert!(
        whys(&items)[0].starts_with("disconnected for 2m") && whys(&items)[0].contains("did not replay"),
        "{items:?}"
    );
    // It never gave any ids.
    let bare = "event: values\r\ndata: {}\r\n\r\n";
    let mut connections = vec![broken(bare)];
    connections.extend(away());
    connections.push(Ok((vec![(0, bare)], Tail::End)));
    let items = collect(script(connections, vec![Verdict::Active, done()]), SourceOptions::default());
    assert!(whys(&items)[0].starts_with("disconnected for 2m") && whys(&items)[0].contains("no ids"), "{items:?}");
    assert_eq!(gaps(&items), 1);
}

#[test]
fn a_run_that_the_server_forgot_is_not_joined_again() {
    for (end, outcome, lost) in [
        (vec![(0, ONE)], Outcome::Cancelled, 0),
        (vec![(0, ONE), (0, "RESET")], Outcome::Cancelled, 1),
        (vec![(0, ONE), (0, "RESET")], Outcome::Unknown, 1),
        (vec![(0, ONE)], Outcome::Unknown, 1),
    ] {
        let link = script(vec![Ok((end, Tail::End))], vec![Verdict::Gone(outcome, Some("gone".into()))]);
        let items = collect(link, SourceOptions::default());
        assert_eq!((end_of(&items), gaps(&items), reasons(&items).len()), ((outcome, Some("gone")), lost, 1));
        assert!(!items.iter().any(|i| matches!(i, Item::Failed(_))));
    }
}

fn end_of(items: &[Item]) -> (Outcome, Option<&str>) {
    (end(items).outcome, end(items).detail.as_deref())
}

#[test]
fn waits_are_jittered_in_full_and_grow_to_a_bound() {
    let mut waits = vec![Vec::new(); 12];
    for _ in 0..100 {
        let items =
            collect(script(vec![Ok((vec![(0, ONE), (0, "RESET")], Tail::End))], vec![]), SourceOptions::default());
        let all = items.iter().filter_map(|i| if let Item::Retrying { wait, .. } = i { Some(*wait) } else { None });
        all.zip(&mut waits).for_each(|(wait, all)| all.push(wait));
    }
    for (n, waits) in waits.iter().enumerate() {
        let bound = Duration::from_millis(500).saturating_mul(1 << n).min(Duration::from_secs(30));
        assert_eq!(waits.len(), 100);
        assert!(waits.iter().all(|wait| *wait <= bound), "{n}: {waits:?}");
        // Anywhere between nothing and the bound, so that a crowd does not come back as one.
        assert!(waits.iter().any(|wait| *wait < bound / 4) && waits.iter().any(|wait| *wait > bound * 3 / 4), "{n}");
    }
}

/// A server that gives each event to one reader only, as Aegra does, and the JavaScript one for runs that are not resumable.
#[derive(Default)]
struct Sharing {
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

impl Link for Sharing {
    async fn connect(&mut self, _: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        assert_eq!(self.readers.fetch_add(1, Ordering::SeqCst), 0, "a second reader takes events away from the first");
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
        let body = framed(chunks.map(move |chunk| (&reader, chunk).1).boxed(), max_event);
        Ok(Opened { status: 200, thread_id: None, run_id: None, answered: None, past: Past::Unknown, body })
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        assert_eq!(self.readers.load(Ordering::SeqCst), 0, "the connection is closed before anything is asked");
        Ok(if self.queue.is_empty() { done() } else { Verdict::Active })
    }
}

#[test]
fn a_server_that_shares_events_between_readers_has_one_reader() {
    let event = |i| format!("event: custom\ndata: {i}\nid: r_event_{i}\n\n");
    let link = Sharing { queue: (1..=30).map(event).collect(), cuts: [300, 200].into(), ..Sharing::default() };
    let items = collect(link, SourceOptions { first_after: Some("-1".into()), ..SourceOptions::default() });
    let numbers: Vec<u32> = events(&items).iter().map(|event| event.data.text().parse().unwrap()).collect();
    // What was on its way when it broke is lost with it; nothing comes twice, and each cut is said.
    assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.last() == Some(&30) && numbers.len() >= 26, "{numbers:?}");
    assert_eq!((end(&items).outcome, gaps(&items)), (Outcome::Success, 2), "{:?}", whys(&items));
}

#[test]
fn what_was_missed_while_the_run_ended_is_fetched() {
    let broken = vec![(0, ONE), (0, "RESET")];
    let link = script(
        vec![Ok((broken, Tail::End)), Ok((vec![(0, ONE), (0, TWO)], Tail::End)), Ok((vec![(0, TWO)], Tail::End))],
        vec![done(), done(), done()],
    );
    let items = collect(link, SourceOptions::default());
    assert_eq!((reasons(&items), events(&items).len(), gaps(&items)), (vec!["reset", "eof", "eof"], 2, 0));
    // A server that has forgotten it all: said, not hidden.
    let broken = vec![(0, ONE), (0, "RESET")];
    let empty = || Ok((vec![], Tail::End));
    let link = script(vec![Ok((broken, Tail::End)), empty(), empty()], vec![done(), done(), done()]);
    let items = collect(link, SourceOptions::default());
    assert_eq!((events(&items).len(), gaps(&items), end(&items).outcome), (1, 1, Outcome::Success));
}

#[test]
fn an_end_inside_an_event_is_a_cut() {
    let link = script(
        vec![
            Ok((vec![(0, ONE), (0, "event: values\r\nda")], Tail::End)),
            Ok((vec![(0, ONE), (0, TWO)], Tail::End)),
            Ok((vec![(0, TWO)], Tail::End)),
        ],
        vec![done(), done(), done()],
    );
    let items = collect(link, SourceOptions::default());
    assert_eq!((reasons(&items), events(&items).len()), (vec!["cut", "eof", "eof"], 2));
}

#[test]
fn a_live_error_is_the_outcome() {
    let error = "event: error\ndata: {\"error\":\"ValueError\",\"message\":\"boom\"}\n\n";
    // The run's status may lag behind the event.
    let over = Verdict::Over(Outcome::Error, None);
    let link = script(vec![Ok((vec![(0, error)], Tail::End))], vec![Verdict::Active, Verdict::Active, over]);
    let items = collect(link, SourceOptions::default());
    assert_eq!((end(&items).outcome, end(&items).detail.as_deref()), (Outcome::Error, Some("ValueError: boom")));
    assert_eq!(end(&items).connections, 1);
    // The thread's own words count for more.
    let over = Verdict::Over(Outcome::Error, Some("from the thread".into()));
    let items = collect(script(vec![Ok((vec![(0, error)], Tail::End))], vec![over]), SourceOptions::default());
    assert_eq!(end(&items).detail.as_deref(), Some("from the thread"));
    let bare = "event: error\ndata: \"Run not found\"\n\n";
    let link = script(vec![Ok((vec![(0, bare)], Tail::End))], vec![Verdict::Untold]);
    assert_eq!(end(&collect(link, SourceOptions::default())).detail.as_deref(), Some("Run not found"));
}

#[test]
fn a_stateless_run_ends_with_its_body() {
    let stop = "event: values\ndata: {\"__interrupt__\":[]}\n\n";
    for (chunks, outcome, gap) in [
        (vec![(0, ONE)], Outcome::Success, 0),
        (vec![(0, ONE), (0, stop)], Outcome::Interrupted, 0),
        (vec![(0, ONE), (0, "RESET")], Outcome::Unknown, 1),
    ] {
        let items = collect(script(vec![Ok((chunks, Tail::End))], vec![Verdict::Untold]), SourceOptions::default());
        assert_eq!((end(&items).outcome, gaps(&items)), (outcome, gap));
    }
}

#[test]
fn a_run_is_given_up_in_the_end_and_a_thread_never() {
    let first = || vec![Ok((vec![(0, ONE), (0, "RESET")], Tail::End))];
    let items = collect(script(first(), vec![Verdict::Active]), SourceOptions::default());
    let retries = items.iter().filter(|i| matches!(i, Item::Retrying { .. })).count();
    assert_eq!((end(&items).outcome, retries, gaps(&items)), (Outcome::Unknown, 12, 1));
    assert!(end(&items).detail.is_some());

    let mut connections = first();
    connections.extend((0..60).map(|_| Err(failure(Kind::Server(502)))));
    connections.push(Ok((vec![(0, ONE), (0, TWO)], Tail::End)));
    connections.push(Err(failure(Kind::Forbidden)));
    let mut link = script(connections, vec![Verdict::Endless, Verdict::Endless]);
    link.endless = true;
    let items = collect(link, SourceOptions::default());
    assert_eq!((events(&items).len(), end(&items).outcome), (2, Outcome::Unknown));
    assert!(items.iter().any(|i| matches!(i, Item::Failed(error) if error.kind == Kind::Forbidden)));
}

#[test]
fn waits_that_the_server_asks_for_are_kept() {
    let busy = Err(failure(Kind::RateLimited(Some(Duration::from_secs(77)))));
    let items = collect(script(vec![busy, Ok((vec![(0, ONE)], Tail::End))], vec![done()]), SourceOptions::default());
    assert!(items.iter().any(|i| matches!(i, Item::Retrying { wait, .. } if *wait == Duration::from_secs(77))));
    assert_eq!(end(&items).events, 1);
}

#[test]
fn what_cannot_begin_says_so_at_once() {
    let items = collect(script(vec![Err(failure(Kind::NotFound))], vec![]), SourceOptions::default());
    assert!(
        matches!(
            &items[..],
            [Item::Connecting { .. }, Item::Record(Record::Tape(_)), Item::Failed(_), Item::Record(Record::End(_))]
        ),
        "{items:?}"
    );
}

#[test]
fn the_order_of_things() {
    let text = "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":1}\n\n";
    let items = collect(script(vec![Ok((vec![(0, text)], Tail::End))], vec![done()]), SourceOptions::default());
    let [
        Item::Connecting { conn: 1, .. },
        Item::Record(Record::Tape(_)),
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
fn an_event_that_is_too_large_is_counted_and_passed() {
    let body: &'static str = format!("event: values\ndata: \"{}\"\nid: 1-0\n\n{TWO}", "x".repeat(20_000)).leak();
    let options = SourceOptions { max_event: 10_000, ..SourceOptions::default() };
    let items = collect(script(vec![Ok((vec![(0, body)], Tail::End))], vec![done()]), options);
    let events = events(&items);
    assert!(matches!(events[0].data, runtail_stream::Data::TooLarge { size: 20_002, .. }), "{:?}", events[0].data);
    assert_eq!(
        (events[0].id.as_deref(), events[1].id.as_deref(), end(&items).malformed),
        (Some("1-0"), Some("2-0"), 1)
    );
}

#[test]
fn nothing_is_held_back_and_leaving_is_possible() {
    run(async {
        let (sender, mut receiver) = mpsc::channel(8);
        let options = SourceOptions::default();
        let stop = options.stop.clone();
        let task = tokio::spawn(follow(script(vec![Ok((vec![(0, ONE)], Tail::Silence))], vec![]), options, sender));
        let mut items = Vec::new();
        while events(&items).is_empty() {
            items.extend(receiver.recv().await.unwrap());
        }
        stop.cancel();
        while let Some(batch) = receiver.recv().await {
            items.extend(batch);
        }
        assert_eq!((end(&items).outcome, end(&items).events), (Outcome::Detached, 1));
        task.await.unwrap();

        let (sender, receiver) = mpsc::channel(8);
        let link = script(vec![Ok((vec![(0, ONE)], Tail::Silence))], vec![]);
        let task = tokio::spawn(follow(link, SourceOptions::default(), sender));
        drop(receiver);
        task.await.unwrap();
    });
}

#[test]
fn a_slow_reader_is_no_silent_server() {
    // The channel is full for a minute while heartbeats are learned: the reader's slowness must not look like a dead link.
    let mut chunks = vec![(0, ONE), (5, BEAT), (5, BEAT)];
    chunks.extend((0..20).map(|_| (1, BEAT)));
    chunks.push((1, TWO));
    let link = script(vec![Ok((chunks, Tail::End))], vec![done()]);
    let items = run(async {
        let (sender, mut receiver) = mpsc::channel(1);
        tokio::spawn(follow(link, SourceOptions::default(), sender));
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

/// A thread's stream with events of a kind that the server never repeats.
struct Aside(Script);

impl Link for Aside {
    fn capabilities(&self) -> Capabilities {
        Capabilities { is_endless: true, unrepeated: Some("state updates"), ..Capabilities::default() }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        self.0.connect(after, max_event).await
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        Ok(Verdict::Endless)
    }
}

#[test]
fn what_is_never_repeated_may_be_missing_once_an_outage() {
    let broken = |text| Ok((vec![(0, text), (0, "RESET")], Tail::End));
    let away = || (0..3).map(|_| Err(failure(Kind::RateLimited(Some(Duration::from_secs(20))))));
    let mut connections = vec![broken(ONE)];
    connections.extend(away());
    // A connection that brings nothing is a part of the outage.
    connections.extend([Ok((vec![(0, "RESET")], Tail::End)), broken(TWO), Err(failure(Kind::Forbidden))]);
    let items = collect(Aside(script(connections, vec![])), SourceOptions::default());
    let why = whys(&items);
    let said = why.iter().filter(|why| why.contains("state updates are never replayed")).count();
    assert!(said == 1 && why[0].starts_with("disconnected for 1m"), "{why:?}");
    // The next outage is another one.
    let mut connections = vec![broken(ONE), broken(TWO)];
    connections.extend([broken("event: values\r\ndata: {}\r\nid: 3-0\r\n\r\n"), Err(failure(Kind::Forbidden))]);
    let items = collect(Aside(script(connections, vec![])), SourceOptions::default());
    let said = whys(&items).iter().filter(|why| why.contains("state updates are never replayed")).count();
    assert_eq!(said, 2, "{:?}", whys(&items));
}

#[test]
fn an_error_of_an_attempt_that_is_made_again_is_no_end() {
    let error = "event: error\ndata: {\"error\":\"E\",\"message\":\"boom\"}\n\n";
    let again = "event: metadata\ndata: {\"run_id\":\"r\",\"attempt\":2}\nid: 2-0\n\n";
    // The second attempt goes on behind a cut that looks like an end in order, and the run is over meanwhile.
    let first = vec![(0, ONE), (0, error), (0, again), (0, "RESET")];
    let three = "event: values\r\ndata: {}\r\nid: 3-0\r\n\r\n";
    let link = script(
        vec![
            Ok((first, Tail::End)),
            Ok((vec![(0, again)], Tail::End)),
            Ok((vec![(0, again), (0, three)], Tail::End)),
            Ok((vec![(0, three)], Tail::End)),
        ],
        vec![Verdict::Active, done(), done(), done()],
    );
    let items = collect(link, SourceOptions::default());
    assert_eq!((end(&items).outcome, events(&items).len(), gaps(&items)), (Outcome::Success, 4, 0), "{items:?}");
}

#[test]
fn an_outage_of_which_nothing_shows_that_it_was_kept_is_a_possible_gap() {
    // Only errors came with ids, which no server repeats.
    let error = "event: error\r\ndata: {}\r\nid: 1-0\r\n\r\n";
    let mut connections = vec![Ok((vec![(0, error), (0, "RESET")], Tail::End))];
    connections.extend((0..7).map(|_| Err(failure(Kind::RateLimited(Some(Duration::from_secs(20)))))));
    connections.extend([Ok((vec![(0, TWO), (0, "RESET")], Tail::End)), Err(failure(Kind::Forbidden))]);
    let mut link = script(connections, vec![Verdict::Endless, Verdict::Endless]);
    link.endless = true;
    let items = collect(link, SourceOptions::default());
    assert!(
        whys(&items)[0].starts_with("disconnected for 2m") && whys(&items)[0].contains("nothing shows"),
        "{items:?}"
    );
}

#[test]
fn an_event_that_another_reader_took_is_missed() {
    let event = |i: u32| format!("event: custom\ndata: {i}\nid: r_event_{i}\n\n");
    let body: &'static str = (1..=20).filter(|i| !(7..10).contains(i)).map(event).collect::<String>().leak();
    let items = collect(script(vec![Ok((vec![(0, body)], Tail::End))], vec![done()]), SourceOptions::default());
    assert!(matches!(&whys(&items)[..], [why] if why.starts_with("3 event ids are missing")), "{:?}", whys(&items));
    let at = items.iter().position(|item| matches!(item, Item::Record(Record::Gap { .. }))).unwrap();
    assert!(matches!(&items[at + 1], Item::Record(Record::Event(event)) if event.id.as_deref() == Some("r_event_10")));
}

fn counted(ids: std::ops::RangeInclusive<u32>) -> &'static str {
    ids.map(|id| format!("event: custom\ndata: {id}\nid: {id}\n\n")).collect::<String>().leak()
}

fn replayed(items: &[Item]) -> Vec<bool> {
    events(items).iter().map(|event| event.replayed).collect()
}

#[test]
fn replayed_events_without_server_time_have_no_time() {
    // Stored events come first; after a pause events are live. What was sent during an outage is replayed too.
    let first = vec![(0, counted(0..=1)), (0, counted(2..=2)), (1, counted(3..=3)), (0, "RESET")];
    let second = vec![(0, counted(3..=4)), (0, counted(5..=5)), (9, counted(6..=6))];
    let connections = || vec![Ok((first.clone(), Tail::End)), Ok((second.clone(), Tail::End)), Ok((vec![], Tail::End))];
    let asked = SourceOptions { first_after: Some("-1".into()), ..SourceOptions::default() };
    let items = collect(script(connections(), vec![Verdict::Active, done(), done()]), asked);
    assert_eq!(replayed(&items), [true, true, true, false, true, true, false]);
    assert!(events(&items).iter().all(|event| event.time() == (!event.replayed).then_some(event.at)));
    // Our own run is live from its first event on.
    let items = collect(script(connections(), vec![Verdict::Active, done(), done()]), SourceOptions::default());
    assert_eq!(replayed(&items), [false, false, false, false, true, true, false]);
    // What is fetched after the run's end is replayed, whatever the pauses.
    let broken = vec![(0, counted(0..=0)), (0, "RESET")];
    let rest = vec![(0, counted(0..=1)), (5, counted(2..=2))];
    let connections = vec![Ok((broken, Tail::End)), Ok((rest, Tail::End)), Ok((vec![], Tail::End))];
    let items = collect(script(connections, vec![done(), done(), done()]), SourceOptions::default());
    assert_eq!(replayed(&items), [false, true, true]);
}

#[test]
fn a_slow_reader_does_not_make_replayed_events_live() {
    let chunks = (0..60).map(|id| (0, counted(id..=id))).collect();
    let link = script(vec![Ok((chunks, Tail::End))], vec![done()]);
    let items = run(async {
        let (sender, mut receiver) = mpsc::channel(1);
        let options = SourceOptions { first_after: Some("-1".into()), ..SourceOptions::default() };
        tokio::spawn(follow(link, options, sender));
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
    let silent = |item: &Item| if let Item::Silent { silent, .. } = item { Some(silent.as_secs()) } else { None };
    items.iter().filter_map(silent).collect()
}

#[test]
fn a_run_that_is_called_active_and_sends_nothing_is_reported_at_growing_intervals() {
    // A server without heartbeats, asked once a minute; then the run is over.
    let mut verdicts = vec![Verdict::Active; 45];
    verdicts.extend([done(), done(), done()]);
    let items = collect(script(vec![Ok((vec![(0, ONE)], Tail::Silence))], verdicts), SourceOptions::default());
    let said = silences(&items);
    assert_eq!(said.iter().map(|seconds| seconds / 60).collect::<Vec<_>>(), [5, 10, 20, 40], "{said:?}");
    // Heartbeats show that the connection is alive, and say nothing about the run.
    let beats = std::iter::once((0, ONE)).chain((0..150).map(|_| (5, BEAT))).chain([(5, TWO)]).collect();
    let link = Slow::new(vec![Ok((beats, Tail::End))]);
    let items = collect(link, SourceOptions::default());
    assert_eq!(silences(&items).len(), 2, "{:?}", silences(&items));
    assert_eq!(end(&items).outcome, Outcome::Success);
    // A thread may be silent for days.
    let beats = (0..2000).map(|_| (5, BEAT)).collect();
    let mut link = script(vec![Ok((beats, Tail::End)), Err(failure(Kind::Forbidden))], vec![Verdict::Endless]);
    link.endless = true;
    assert_eq!(silences(&collect(link, SourceOptions::default())), [0; 0]);
}
