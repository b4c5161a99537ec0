//! Delivery over unreliable connections to five kinds of servers: each event is received once and in order, or a possible
//! gap is reported where it is missing.
//!
//! - `Python`: ids are milliseconds, shared by events; a connection replays a growing store, then sends its queue.
//! - `JavaScript`: ids count the events of the run.
//! - `Opaque`: the same with ids that have no order, such as `<run>_event_<n>`.
//! - `Bare`: no ids, so nothing is replayed.
//! - `Aegra`: ids count; a connection sends the stored states, then a queue that all readers share, so that another or a
//!   disconnected reader may take events from it.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use proptest::prelude::*;
use runtail_api::{ApiError, Kind};
use runtail_stream::{
    Capabilities, Connection, End, Item, Numbering, Outcome, Record, RunState, SourceOptions,
    Transport, follow,
};
use runtail_testkit::common::follow::{connection, failure, paused};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Server {
    Python,
    JavaScript,
    Opaque,
    Bare,
    Aegra,
}

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    /// A reset after this many bytes.
    Reset(usize),
    /// A clean end after this many bytes.
    Eof(usize),
    /// A clean end after this many events.
    Between(usize),
}

/// What happens to one attempt to connect.
#[derive(Debug, Clone)]
enum Attempt {
    /// Refused, with an error that the number selects.
    Refusal(u8),
    /// Connected. Events are published before the subscription (`before`), before the first byte (`lead`) and after each
    /// replayed event (`pace`). A disconnected reader takes `stolen` events (`Aegra`), and the store may drop all events.
    Open {
        before: usize,
        lead: usize,
        pace: Vec<usize>,
        cut: Option<Cut>,
        stolen: usize,
        forgets: bool,
    },
}

/// Events of one run: name, time, data.
type Run = Vec<(&'static str, u64, String)>;

struct Model {
    server: Server,
    run: Run,
    /// Number of published events; the run is over when this exceeds its length.
    published: usize,
    /// The first event that is still stored.
    kept_from: usize,
    /// For `Aegra`: the first event in the queue, and the number of stored events that a connection sends.
    untaken: usize,
    stored_sent: usize,
    attempts: VecDeque<Attempt>,
    modes: Vec<String>,
    everything: bool,
    connections: usize,
    /// Events that were stored when each connection was opened.
    stored: Arc<Mutex<Vec<usize>>>,
}

const UNDISTURBED: Attempt = Attempt::Open {
    before: 0,
    lead: 0,
    pace: Vec::new(),
    cut: None,
    stolen: 0,
    forgets: false,
};

impl Model {
    fn id(&self, i: usize) -> Option<String> {
        match self.server {
            Server::Python => Some(format!("{}-0", self.run[i].1)),
            Server::JavaScript => Some(i.to_string()),
            Server::Aegra | Server::Opaque => Some(format!("r_event_{}", i + 1)),
            Server::Bare => None,
        }
    }

    /// Compares ids like the server: as text if ids are times, otherwise by their trailing number.
    fn is_after(&self, i: usize, after: &str) -> bool {
        let Some(id) = self.id(i) else { return false };
        let number = |id: &str| {
            id.rsplit('_')
                .next()
                .and_then(|n| n.parse::<i64>().ok())
                .unwrap_or(-1)
        };
        match self.server {
            _ if after == "-1" => true,
            Server::Python => *id > *after,
            _ => number(&id) > number(after),
        }
    }

    fn passes_filter(&self, name: &str) -> bool {
        name == "metadata" || self.modes.is_empty() || self.modes.iter().any(|mode| mode == name)
    }

    /// Returns the numbers of the events that one connection sends, each with the number of events published by then.
    fn deliver(
        &mut self,
        after: Option<&str>,
        before: usize,
        lead: usize,
        pace: &[usize],
    ) -> Vec<(usize, usize)> {
        let done = self.run.len();
        let first = self.connections == 0 && self.everything;
        self.published = (self.published + if first { 0 } else { before }).min(done + 1);
        // A millisecond passes between two connections.
        while self.published > 0
            && self.published < done
            && self.run[self.published].1 == self.run[self.published - 1].1
        {
            self.published += 1;
        }
        self.stored.lock().unwrap().push(if after.is_some() {
            self.published.min(done)
        } else {
            0
        });
        let (subscribed, mut now) = (self.published, (self.published + lead).min(done + 1));
        let (mut out, mut pace) = (Vec::new(), pace.iter().cycle());
        let mut live = subscribed;
        match (self.server, after) {
            (Server::Python | Server::JavaScript | Server::Opaque, Some(after)) => {
                let mut i = self.kept_from;
                while i < now {
                    // The error is never stored, but the end marker is.
                    if i == done {
                        return out;
                    }
                    if self.is_after(i, after)
                        && self.run[i].0 != "error"
                        && self.passes_filter(self.run[i].0)
                    {
                        out.push((i, now));
                        now = (now + pace.next().unwrap_or(&1)).min(done + 1);
                    }
                    i += 1;
                }
                // Only the Python server has a queue beside its store.
                if self.server != Server::Python {
                    live = now;
                }
            }
            (Server::Aegra, after) => {
                let after = after.unwrap_or("-1");
                let stored = (0..now.min(done))
                    .filter(|i| self.run[*i].0 == "values" && self.is_after(*i, after));
                out.extend(stored.map(|i| (i, now)));
                self.stored_sent = out.len();
                let queue = (self.untaken..done).filter(|i| self.is_after(*i, after));
                // Another reader takes some events, but not the last one, because that loss could not be detected.
                let queue = queue.filter(|i| *i == done - 1 || pace.next() != Some(&3));
                out.extend(queue.map(|i| (i, now.max(i + 1))));
                return out;
            }
            (Server::Bare, _) | (_, None) => {}
        }
        out.extend(
            (live..done)
                .filter(|i| self.passes_filter(self.run[*i].0))
                .map(|i| (i, now.max(i + 1))),
        );
        out
    }
}

impl Transport for Model {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            everything: self.everything.then_some("-1"),
            first_event: Some("metadata"),
            sends_all: self.modes.is_empty(),
            ..Capabilities::default()
        }
    }

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        let attempt = self.attempts.pop_front().unwrap_or(UNDISTURBED);
        let (before, lead, pace, cut, stolen, forgets) = match attempt {
            Attempt::Refusal(n) => {
                let wait = Some(Duration::from_secs(7));
                return Err(failure(match n % 5 {
                    0 => Kind::Server(502),
                    1 => Kind::RateLimited(wait),
                    2 => Kind::Timeout,
                    // A proxy's error page; before the first connection it would be final.
                    3 if self.connections > 0 => Kind::Protocol,
                    _ => Kind::Network,
                }));
            }
            Attempt::Open {
                before,
                lead,
                pace,
                cut,
                stolen,
                forgets,
            } => (before, lead, pace, cut, stolen, forgets),
        };
        if self.connections > 0 {
            self.untaken = (self.untaken + stolen).min(self.run.len());
            if forgets {
                self.kept_from = self.published.min(self.run.len());
            }
        }
        let all = self.deliver(after, before, lead, &pace);
        self.connections += 1;
        let now = self.run[self.published.clamp(1, self.run.len()) - 1].1;
        let stored = std::mem::take(&mut self.stored_sent);
        let (mut chunks, mut size, mut is_cut, mut sent) = (Vec::new(), 0, false, 0);
        for (n, (i, published)) in all.into_iter().enumerate() {
            if matches!(cut, Some(Cut::Between(n)) if sent >= n) {
                is_cut = true;
                break;
            }
            let id = self
                .id(i)
                .map(|id| format!("id: {id}\r\n"))
                .unwrap_or_default();
            let text = format!(
                "event: {}\r\ndata: {}\r\n{id}\r\n",
                self.run[i].0, self.run[i].2
            );
            self.published = self.published.max(published);
            if n >= stored {
                self.untaken = self.untaken.max(i + 1);
            }
            if let Some(Cut::Reset(at) | Cut::Eof(at)) = cut
                && size + text.len() > at
            {
                chunks.push(Ok(Bytes::from(text[..at - size].to_string())));
                is_cut = true;
                break;
            }
            (size, sent) = (size + text.len(), sent + 1);
            chunks.push(Ok(Bytes::from(text)));
        }
        if !is_cut {
            self.published = self.run.len() + 1;
        } else if matches!(cut, Some(Cut::Reset(_))) {
            chunks.push(Err(failure(Kind::Network)));
        }
        // Sent one by one, so that modes can change in between.
        let body = stream::iter(chunks).then(async |chunk| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            chunk
        });
        let answered = (self.server == Server::Python).then_some(now / 1000 * 1000);
        Ok(Connection {
            answered,
            ..connection(body, max_event)
        })
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        let is_over = self.published > self.run.len();
        let outcome = if self.run.iter().any(|(name, ..)| *name == "error") {
            Outcome::Error
        } else {
            Outcome::Success
        };
        Ok(if is_over {
            RunState::Finished(outcome, None)
        } else {
            RunState::Active
        })
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.modes = modes;
    }

    fn sends(&self, name: &str) -> bool {
        self.passes_filter(name)
    }

    fn numbering(&self) -> Option<Numbering> {
        match self.server {
            Server::JavaScript => Some(Numbering {
                first: 0,
                repeats_stored: false,
            }),
            Server::Aegra => Some(Numbering {
                first: 1,
                repeats_stored: true,
            }),
            Server::Python | Server::Opaque | Server::Bare => None,
        }
    }
}

/// A received event's number, or a reported gap.
#[derive(Debug, Clone, PartialEq)]
enum Received {
    Event(usize),
    Gap(String),
}

struct Followed {
    received: Vec<Received>,
    /// The number and connection of each event that has a time.
    timed: Vec<(usize, usize)>,
    end: End,
}

fn follow_to_end(
    model: Model,
    first_after: Option<&str>,
    changes: Vec<(usize, Vec<String>)>,
) -> Followed {
    paused(async {
        let (modes_sender, modes_receiver) = watch::channel(Vec::new());
        let (sender, mut receiver) = mpsc::channel(1);
        let options = SourceOptions {
            first_after: first_after.map(String::from),
            modes: (!changes.is_empty()).then_some(modes_receiver),
            ..SourceOptions::default()
        };
        tokio::spawn(follow(model, options, sender));
        let mut timed = Vec::new();
        let (mut received, mut changes) = (Vec::new(), changes.into_iter().peekable());
        loop {
            for item in receiver.recv().await.expect("an end record") {
                match item {
                    Item::Record(Record::Event(event)) => {
                        let number = event.data.text().parse().expect("a number");
                        timed.extend(event.time().map(|_| (number, event.conn as usize)));
                        received.push(Received::Event(number));
                    }
                    Item::Record(Record::Gap { why, .. }) => received.push(Received::Gap(why)),
                    Item::Record(Record::End(end)) => {
                        return Followed {
                            received,
                            timed,
                            end,
                        };
                    }
                    _ => {}
                }
            }
            while let Some((_, modes)) = changes.next_if(|(at, _)| *at <= received.len()) {
                modes_sender.send_replace(modes);
            }
        }
    })
}

fn events(received: &[Received]) -> Vec<usize> {
    received
        .iter()
        .filter_map(|received| {
            if let Received::Event(n) = received {
                Some(*n)
            } else {
                None
            }
        })
        .collect()
}

/// Checks that no event is duplicated or out of order, and that a gap is reported wherever events are missing.
fn check_delivery(received: &[Received], expected: &[usize]) -> Result<(), String> {
    let mut next = expected.iter().copied().peekable();
    let mut is_reported = false;
    for received in received {
        match received {
            Received::Gap(_) => is_reported = true,
            Received::Event(n) => {
                let mut lost = 0;
                while next.next_if(|due| due < n).is_some() {
                    lost += 1;
                }
                if next.next_if_eq(n).is_none() {
                    return Err(format!("{n} is a duplicate or out of order"));
                }
                if lost > 0 && !is_reported {
                    return Err(format!(
                        "{lost} events are missing before {n} without a gap"
                    ));
                }
                is_reported = false;
            }
        }
    }
    match next.count() {
        0 => Ok(()),
        _ if is_reported => Ok(()),
        lost => Err(format!("the last {lost} events are missing without a gap")),
    }
}

/// Builds a run from groups of events. The events of a group share one millisecond.
fn a_run(groups: &[(u8, u8)], step: u64) -> Run {
    let names = ["values", "custom", "updates"];
    let sizes = groups
        .iter()
        .zip(0..)
        .flat_map(|((size, name), ms)| (0..*size).map(move |n| (ms, n + name)));
    let event = |((ms, name), i): ((u64, u8), usize)| {
        (
            names[usize::from(name) % 3],
            1_000_000_000_000 + ms * step,
            i.to_string(),
        )
    };
    let mut run: Run = sizes.zip(0..).map(event).collect();
    // All servers send `metadata` first.
    run[0].0 = "metadata";
    run
}

/// Builds a run during which the server's clock is set back. Returns it with the first event after that.
fn a_run_set_back(groups: &[(u8, u8)], at: usize, back: u64) -> (Run, usize) {
    let mut run = a_run(groups, 1);
    // Not within a millisecond, and all ids keep the same length.
    let from = run[at % run.len()].1;
    let step = run.iter().position(|(_, ms, _)| *ms >= from).unwrap_or(0);
    run.iter_mut()
        .filter(|(_, ms, _)| *ms >= from)
        .for_each(|(_, ms, _)| *ms = *ms + 10_000 - back);
    run.iter_mut()
        .filter(|(_, ms, _)| *ms < from + 10_000 - back - 200)
        .for_each(|(_, ms, _)| *ms += 10_000);
    (run, step)
}

/// Events reuse the newest id from before the outage, and the server sends the first of them twice.
#[test]
fn an_event_that_reuses_the_newest_id_is_received_once() {
    let open = |before, lead, cut: Option<usize>| {
        let (pace, cut) = (vec![0], cut.map(Cut::Reset));
        Attempt::Open {
            before,
            lead,
            pace,
            cut,
            stolen: 0,
            forgets: false,
        }
    };
    for (at, attempts) in [
        (14, vec![open(0, 0, Some(475)), open(11, 1, None)]),
        // Here another connection is needed for another reason, too.
        (
            35,
            vec![
                open(0, 0, Some(1053)),
                open(0, 7, Some(723)),
                open(8, 1, None),
            ],
        ),
    ] {
        let (run, _) = a_run_set_back(&[(7, 0); 16], at, 3);
        let Followed { received, .. } =
            follow_to_end(model(Server::Python, run, attempts), None, Vec::new());
        let got = events(&received);
        assert!(got.windows(2).all(|pair| pair[0] < pair[1]), "{received:?}");
    }
}

/// A block of any length is repeated after newer ids, as observed on a real server.
#[test]
fn long_repeated_blocks_are_skipped() {
    for (n, lead) in [(100, 3), (500, 500), (1000, 1500)] {
        let attempt = Attempt::Open {
            before: 100,
            lead,
            pace: vec![1, 0, 0, 1],
            cut: None,
            stolen: 0,
            forgets: false,
        };
        let mut model = model(Server::Python, a_run(&vec![(7, 0); n], 1), vec![attempt]);
        model.everything = false;
        let Followed { received, end, .. } = follow_to_end(model, Some("-1"), Vec::new());
        assert!(events(&received).into_iter().eq(0..7 * n));
        assert_eq!((end.gaps, end.connections), (0, 1));
        assert!(end.duplicates > lead as u64, "{}", end.duplicates);
    }
}

fn cut() -> impl Strategy<Value = Option<Cut>> {
    prop_oneof![
        1 => Just(None),
        3 => (0usize..1500).prop_map(|n| Some(Cut::Reset(n))),
        2 => (0usize..1500).prop_map(|n| Some(Cut::Eof(n))),
        2 => (0usize..20).prop_map(|n| Some(Cut::Between(n))),
    ]
}

fn attempt(forgets: bool) -> impl Strategy<Value = Attempt> {
    let pace = proptest::collection::vec(0usize..4, 1..5);
    let open = (
        0usize..12,
        0usize..12,
        pace,
        cut(),
        0usize..3,
        prop::bool::weighted(0.3),
    )
        .prop_map(
            move |(before, lead, pace, cut, stolen, forgot)| Attempt::Open {
                before,
                lead,
                pace,
                cut,
                stolen,
                forgets: forgets && forgot,
            },
        );
    prop_oneof![1 => any::<u8>().prop_map(Attempt::Refusal), 4 => open]
}

fn groups() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((1u8..8, 0u8..3), 1..25)
}

fn step() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), Just(3), Just(900)]
}

fn storing() -> impl Strategy<Value = Server> {
    prop_oneof![
        Just(Server::Python),
        Just(Server::JavaScript),
        Just(Server::Opaque)
    ]
}

fn model(server: Server, run: Run, mut attempts: Vec<Attempt>) -> Model {
    // The source gives up soon if its first connections fail, so only a few refusals are kept.
    let refusals = attempts
        .iter()
        .take_while(|w| matches!(w, Attempt::Refusal(_)))
        .count();
    attempts.drain(..refusals.saturating_sub(3));
    Model {
        server,
        run,
        published: 0,
        kept_from: 0,
        untaken: 0,
        stored_sent: 0,
        attempts: attempts.into(),
        modes: Vec::new(),
        everything: true,
        connections: 0,
        stored: Arc::default(),
    }
}

/// The number of cases, which `RUNTAIL_CASES` overrides.
fn cases() -> ProptestConfig {
    let cases = std::env::var("RUNTAIL_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(300);
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Returns whether a cut may look like the end of the stream: when the run is over, a clean close between two events does so
/// the first time, and later if it happens twice in a row. `docs/reliability.md` lists this case as not covered.
fn looks_like_the_end(attempts: &[Attempt]) -> bool {
    attempts.iter().any(|w| {
        matches!(
            w,
            Attempt::Open {
                cut: Some(Cut::Between(_) | Cut::Eof(_)),
                ..
            }
        )
    })
}

/// Replaces clean ends by resets.
fn with_resets_only(mut attempts: Vec<Attempt>) -> Vec<Attempt> {
    for attempt in &mut attempts {
        if let Attempt::Open { cut: Some(cut), .. } = attempt
            && let Cut::Eof(n) | Cut::Between(n) = *cut
        {
            *cut = Cut::Reset(n);
        }
    }
    attempts
}

/// Checks that each event is received or reported as missing, up to an apparent end if there is one.
fn check_received_or_reported(
    server: Server,
    run: Run,
    attempts: Vec<Attempt>,
) -> Result<(), TestCaseError> {
    let may_seem_over = looks_like_the_end(&attempts);
    let model = model(server, run, attempts);
    let expected: Vec<_> = (0..model.run.len()).collect();
    let Followed { received, .. } = follow_to_end(model, None, Vec::new());
    let upto = events(&received).last().map_or(0, |n| n + 1);
    let expected = if may_seem_over {
        &expected[..upto]
    } else {
        &expected
    };
    prop_assert_eq!(
        check_delivery(&received, expected),
        Ok(()),
        "{:?}",
        received
    );
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    /// With a server that stores all events, none is lost or duplicated, there is no gap, and no replayed event has a time.
    #[test]
    fn stored_events_are_received_exactly_once(
        groups in groups(), step in step(),
        attempts in proptest::collection::vec(attempt(false), 0..7),
        server in storing(), joined in any::<bool>(), resets_only in any::<bool>(),
    ) {
        let attempts = if resets_only { with_resets_only(attempts) } else { attempts };
        let may_seem_over = looks_like_the_end(&attempts);
        let mut model = model(server, a_run(&groups, step), attempts);
        model.everything = !joined;
        let expected: Vec<_> = (0..model.run.len()).collect();
        let stored = model.stored.clone();
        let Followed { received, timed, end } = follow_to_end(model, joined.then_some("-1"), Vec::new());
        let got = events(&received);
        let is_whole = got == expected || may_seem_over && expected.starts_with(&got);
        prop_assert!(is_whole, "{:?}", received);
        prop_assert!(got.len() == received.len() || may_seem_over, "no gap: {:?}", received);
        prop_assert_eq!(end.outcome, Outcome::Success);
        // The ids of these servers contain no time of this century.
        let stored = stored.lock().unwrap();
        let replayed = timed.iter().find(|(number, conn)| *number < stored[conn - 1]);
        prop_assert_eq!(replayed, None, "a replayed event has no time");
    }

    /// A final error is never replayed: it is received live at most once, but the outcome always reports it.
    #[test]
    fn errors_are_never_lost(
        groups in groups(), step in step(),
        attempts in proptest::collection::vec(attempt(false), 0..7),
        server in storing(),
    ) {
        let mut run = a_run(&groups, step);
        let error = run.len();
        run.push(("error", run[error - 1].1 + step, error.to_string()));
        let Followed { received, end, .. } =
            follow_to_end(model(server, run, with_resets_only(attempts)), None, Vec::new());
        let got = events(&received);
        prop_assert!(got.iter().copied().eq(0..got.len()) && got.len() >= error, "{:?}", received);
        prop_assert_eq!((end.outcome, end.gaps), (Outcome::Error, 0));
    }

    /// A repeated event that is identical to another can be told from a new one only by a replay; if that doesn't help, a
    /// gap is reported. It always helps if the whole run is stored.
    #[test]
    fn identical_events_are_kept_or_a_gap_is_reported(
        groups in groups(), step in step(),
        attempts in proptest::collection::vec(attempt(false), 0..7),
        is_stored in any::<bool>(),
    ) {
        let mut run = a_run(&groups, step);
        let mut twins = Vec::new();
        for (i, event) in run.iter_mut().enumerate().skip(1) {
            event.0 = "custom";
            event.2 = (i / 2).to_string();
            twins.push(i / 2);
        }
        let mut model = model(Server::Python, run, with_resets_only(attempts));
        if is_stored {
            model.published = model.run.len();
        }
        let Followed { received, end, .. } = follow_to_end(model, Some("-1"), Vec::new());
        let is_whole = events(&received).into_iter().skip(1).eq(twins);
        prop_assert!(is_whole || end.gaps > 0 && !is_stored, "{:?} {:?}", received, end);
        prop_assert_eq!(end.outcome, Outcome::Success);
    }

    /// A live join starts anywhere in the run, and receives every later event once. A resume also replays the earlier events
    /// of the first millisecond.
    #[test]
    fn live_joins_receive_all_later_events_once(
        groups in groups(), step in step(),
        attempts in proptest::collection::vec(attempt(false), 1..6),
    ) {
        let mut model = model(Server::Python, a_run(&groups, step), with_resets_only(attempts));
        model.everything = false;
        let n = model.run.len();
        let Followed { received, end, .. } = follow_to_end(model, None, Vec::new());
        let mut got = events(&received);
        let first = got.first().copied().unwrap_or(n);
        got.sort_unstable();
        let least = got.first().copied().unwrap_or(n);
        prop_assert!(end.gaps > 0 || got.iter().copied().eq(least..n), "{:?}", received);
        prop_assert!(end.gaps > 0 || first - least < 7);
    }

    /// With a server that evicts sent events, missing events are reported where they are missing.
    #[test]
    fn evicted_events_are_reported(
        groups in groups(), step in step(),
        attempts in proptest::collection::vec(attempt(true), 0..7),
        javascript in any::<bool>(), resets_only in any::<bool>(),
    ) {
        let attempts = if resets_only { with_resets_only(attempts) } else { attempts };
        let server = if javascript { Server::JavaScript } else { Server::Python };
        check_received_or_reported(server, a_run(&groups, step), attempts)?;
    }

    /// Without ids, or if only one reader receives each event, every loss is reported.
    #[test]
    fn unreplayable_losses_are_reported(
        groups in groups(),
        attempts in proptest::collection::vec(attempt(false), 0..7),
        shared in any::<bool>(), resets_only in any::<bool>(),
    ) {
        let attempts = if resets_only { with_resets_only(attempts) } else { attempts };
        let server = if shared { Server::Aegra } else { Server::Bare };
        check_received_or_reported(server, a_run(&groups, 1), attempts)?;
    }

    /// While modes change, events that are always requested are received once and in order, others at most once.
    #[test]
    fn mode_changes_over_unreliable_connections_lose_nothing(
        groups in groups(), step in step(),
        attempts in proptest::collection::vec(attempt(false), 0..5),
        changes in proptest::collection::vec((0usize..60, 0usize..4), 1..6),
        javascript in any::<bool>(),
    ) {
        let server = if javascript { Server::JavaScript } else { Server::Python };
        let may_seem_over = looks_like_the_end(&attempts);
        let modes = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let sets = [modes(&["values"]), modes(&["values", "custom"]), modes(&["updates", "values"]), modes(&[])];
        let mut changes: Vec<_> = changes.into_iter().map(|(at, set)| (at, sets[set].clone())).collect();
        changes.sort_by_key(|(at, _)| *at);
        let model = model(server, a_run(&groups, step), attempts);
        let run = model.run.clone();
        let expected: Vec<_> = (0..run.len()).filter(|i| run[*i].0 == "values").collect();
        let Followed { received, .. } = follow_to_end(model, None, changes);
        let got = events(&received);
        let mut once = got.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), got.len(), "each at most once: {:?}", received);
        let has_gap = got.len() < received.len();
        let values: Vec<_> = got.into_iter().filter(|i| run[*i].0 == "values").collect();
        prop_assert!(values == expected || may_seem_over && expected.starts_with(&values), "{:?}", received);
        prop_assert!(!has_gap || may_seem_over, "no gap: {:?}", received);
    }

    /// The server's clock is set back by a little or by much.
    #[test]
    fn server_clock_set_back_loses_nothing_unreported(
        groups in groups(), at in 0usize..60, back in prop_oneof![Just(3u64), Just(40), Just(5000)],
        many in any::<bool>(),
        attempts in proptest::collection::vec(attempt(false), 0..7),
    ) {
        let may_seem_over = looks_like_the_end(&attempts);
        let mut groups = groups;
        if many {
            // More events than the source remembers.
            groups.splice(0..0, [(7, 0); 15]);
        }
        let (run, step) = a_run_set_back(&groups, at, back);
        let model = model(Server::Python, run, attempts);
        let expected: Vec<_> = (0..model.run.len()).collect();
        let Followed { received, .. } = follow_to_end(model, None, Vec::new());
        let got = events(&received);
        // Events that reuse earlier ids can be requested only if the source knows that the clock was set back.
        let known = received.windows(2).all(|pair| match pair {
            [Received::Event(a), Received::Event(b)] => *a < step || (a + 1..*b).all(|n| got.contains(&n)),
            _ => true,
        });
        let is_to_the_end = got.last() == expected.last() || may_seem_over || got.last().is_none_or(|last| *last < step);
        prop_assert!(known && (is_to_the_end || got.len() < received.len()), "{:?}", received);
        let mut once = got.clone();
        once.dedup();
        prop_assert_eq!(once.len(), got.len(), "{:?}", received);
    }
}
