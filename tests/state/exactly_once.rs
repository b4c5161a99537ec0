//! Four servers, each with its own idea of ids, and whatever can happen to the way there: each event comes once and in
//! order, or a possible gap is said at the place where it is missing.
//!
//! - `Python`: ids are milliseconds, shared by events; it subscribes, replays a store that grows, and delivers its queue.
//! - `JavaScript`: ids count the events of the run.
//! - `Bare`: no ids, so nothing is given again.
//! - `Aegra`: ids count; a connection sends the stored states and then a queue that all readers share, from which a reader
//!   that is gone, or another one, may take some.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use proptest::prelude::*;
use runtail_api::{ApiError, Kind, Place};
use runtail_stream::{
    Capabilities, Item, Link, Numbering, Opened, Outcome, Past, Record, SourceOptions, Verdict, follow, framed,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Server {
    Python,
    JavaScript,
    Bare,
    Aegra,
}

/// How a connection ends before its time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    /// In the middle of anything.
    Reset(usize),
    /// As if in order, in the middle of anything.
    Eof(usize),
    /// As if in order, after so many events.
    Between(usize),
}

/// What meets one attempt to connect.
#[derive(Debug, Clone)]
enum Weather {
    /// It is refused, and this is answered.
    Refusal(u8),
    /// Events published before the connection is there, and while it is on its way; how many at each step of a replay; how
    /// it is cut; how many of what comes next are taken by a reader that is gone (`Aegra`); whether the store forgets all.
    Open { before: usize, lead: usize, pace: Vec<usize>, cut: Option<Cut>, stolen: usize, forgets: bool },
}

/// Events of one run: name, time, data.
type Run = Vec<(&'static str, u64, String)>;

struct Model {
    server: Server,
    run: Run,
    /// So many are published; one more, and the run is over.
    published: usize,
    /// Events before this one are not kept any more.
    kept_from: usize,
    /// For `Aegra`: the first event in the queue, and how many stored ones a connection sends.
    untaken: usize,
    stored_sent: usize,
    weather: VecDeque<Weather>,
    modes: Vec<String>,
    everything: bool,
    connections: usize,
    /// Events that were stored when each connection was opened.
    stored: Arc<Mutex<Vec<usize>>>,
}

const CALM: Weather = Weather::Open { before: 0, lead: 0, pace: Vec::new(), cut: None, stolen: 0, forgets: false };

fn failure(kind: Kind) -> ApiError {
    ApiError { kind, at: Place::default(), detail: "weather".into(), hint: None }
}

impl Model {
    fn id(&self, i: usize) -> Option<String> {
        match self.server {
            Server::Python => Some(format!("{}-0", self.run[i].1)),
            Server::JavaScript => Some(i.to_string()),
            Server::Aegra => Some(format!("r_event_{}", i + 1)),
            Server::Bare => None,
        }
    }

    /// As the server compares: as text where ids are times, else by the number behind.
    fn is_after(&self, i: usize, after: &str) -> bool {
        let Some(id) = self.id(i) else { return false };
        let number = |id: &str| id.rsplit('_').next().and_then(|n| n.parse::<i64>().ok()).unwrap_or(-1);
        match self.server {
            _ if after == "-1" => true,
            Server::Python => *id > *after,
            _ => number(&id) > number(after),
        }
    }

    fn lets(&self, name: &str) -> bool {
        name == "metadata" || self.modes.is_empty() || self.modes.iter().any(|mode| mode == name)
    }

    /// The numbers of the events that one connection sends, each with how many are published by then.
    fn deliver(&mut self, after: Option<&str>, before: usize, lead: usize, pace: &[usize]) -> Vec<(usize, usize)> {
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
        self.stored.lock().unwrap().push(if after.is_some() { self.published.min(done) } else { 0 });
        let (subscribed, mut now) = (self.published, (self.published + lead).min(done + 1));
        let (mut out, mut pace) = (Vec::new(), pace.iter().cycle());
        let mut live = subscribed;
        match (self.server, after) {
            (Server::Python | Server::JavaScript, Some(after)) => {
                let mut i = self.kept_from;
                while i < now {
                    // The error is never stored; the sign that the run is done is.
                    if i == done {
                        return out;
                    }
                    if self.is_after(i, after) && self.run[i].0 != "error" && self.lets(self.run[i].0) {
                        out.push((i, now));
                        now = (now + pace.next().unwrap_or(&1)).min(done + 1);
                    }
                    i += 1;
                }
                // Only the Python server has a queue beside its store.
                if self.server == Server::JavaScript {
                    live = now;
                }
            }
            (Server::Aegra, after) => {
                let after = after.unwrap_or("-1");
                let stored = (0..now.min(done)).filter(|i| self.run[*i].0 == "values" && self.is_after(*i, after));
                out.extend(stored.map(|i| (i, now)));
                self.stored_sent = out.len();
                let queue = (self.untaken..done).filter(|i| self.is_after(*i, after));
                // Another reader takes one now and then. Of the last one nothing could show that it is missing.
                let queue = queue.filter(|i| *i == done - 1 || pace.next() != Some(&3));
                out.extend(queue.map(|i| (i, now.max(i + 1))));
                return out;
            }
            (Server::Bare, _) | (_, None) => {}
        }
        out.extend((live..done).filter(|i| self.lets(self.run[*i].0)).map(|i| (i, now.max(i + 1))));
        out
    }
}

impl Link for Model {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            everything: self.everything.then_some("-1"),
            first_event: Some("metadata"),
            gives_all: self.modes.is_empty(),
            ..Capabilities::default()
        }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        let weather = self.weather.pop_front().unwrap_or(CALM);
        let (before, lead, pace, cut, stolen, forgets) = match weather {
            Weather::Refusal(n) => {
                let wait = Some(Duration::from_secs(7));
                return Err(failure(match n % 5 {
                    0 => Kind::Server(502),
                    1 => Kind::RateLimited(wait),
                    2 => Kind::Timeout,
                    // A page of a proxy; before the first connection it would be final.
                    3 if self.connections > 0 => Kind::Protocol,
                    _ => Kind::Network,
                }));
            }
            Weather::Open { before, lead, pace, cut, stolen, forgets } => (before, lead, pace, cut, stolen, forgets),
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
            let id = self.id(i).map(|id| format!("id: {id}\r\n")).unwrap_or_default();
            let text = format!("event: {}\r\ndata: {}\r\n{id}\r\n", self.run[i].0, self.run[i].2);
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
        // One by one, so that there is time to change one's mind.
        let body = stream::iter(chunks).then(async |chunk| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            chunk
        });
        let answered = (self.server == Server::Python).then_some(now / 1000 * 1000);
        Ok(Opened {
            status: 200,
            thread_id: None,
            run_id: None,
            answered,
            past: Past::Unknown,
            body: framed(body.boxed(), max_event),
        })
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        let is_over = self.published > self.run.len();
        let outcome =
            if self.run.iter().any(|(name, ..)| *name == "error") { Outcome::Error } else { Outcome::Success };
        Ok(if is_over { Verdict::Finished(outcome, None) } else { Verdict::Active })
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.modes = modes;
    }

    fn gives(&self, name: &str) -> bool {
        self.lets(name)
    }

    fn numbering(&self) -> Option<Numbering> {
        match self.server {
            Server::JavaScript => Some(Numbering { first: 0, repeats_stored: false }),
            Server::Aegra => Some(Numbering { first: 1, repeats_stored: true }),
            Server::Python | Server::Bare => None,
        }
    }
}

/// What came, in order: an event's number, or that there may be a gap.
#[derive(Debug, Clone, PartialEq)]
enum Came {
    Event(usize),
    Gap(String),
}

struct Followed {
    came: Vec<Came>,
    /// Of each event that has a time: its number, and its connection.
    timed: Vec<(usize, usize)>,
    outcome: Outcome,
}

fn followed(model: Model, first_after: Option<&str>, changes: Vec<(usize, Vec<String>)>) -> Followed {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().expect("a runtime").block_on(async {
        let (tell, told) = watch::channel(Vec::new());
        let (sender, mut receiver) = mpsc::channel(1);
        let options = SourceOptions {
            first_after: first_after.map(String::from),
            modes: (!changes.is_empty()).then_some(told),
            ..SourceOptions::default()
        };
        tokio::spawn(follow(model, options, sender));
        let mut timed = Vec::new();
        let (mut came, mut changes) = (Vec::new(), changes.into_iter().peekable());
        loop {
            for item in receiver.recv().await.expect("an end comes first") {
                match item {
                    Item::Record(Record::Event(event)) => {
                        let number = event.data.text().parse().expect("a number");
                        timed.extend(event.time().map(|_| (number, event.conn as usize)));
                        came.push(Came::Event(number));
                    }
                    Item::Record(Record::Gap { why, .. }) => came.push(Came::Gap(why)),
                    Item::Record(Record::End(end)) => return Followed { came, timed, outcome: end.outcome },
                    _ => {}
                }
            }
            while let Some((_, modes)) = changes.next_if(|(at, _)| *at <= came.len()) {
                tell.send_replace(modes);
            }
        }
    })
}

fn events(came: &[Came]) -> Vec<usize> {
    came.iter().filter_map(|came| if let Came::Event(n) = came { Some(*n) } else { None }).collect()
}

/// Wherever numbers are missing a gap stands between what came before and after; nothing is twice or out of order.
fn accounted(came: &[Came], wanted: &[usize]) -> Result<(), String> {
    let mut next = wanted.iter().copied().peekable();
    let mut is_said = false;
    for came in came {
        match came {
            Came::Gap(_) => is_said = true,
            Came::Event(n) => {
                let mut lost = 0;
                while next.next_if(|due| due < n).is_some() {
                    lost += 1;
                }
                if next.next_if_eq(n).is_none() {
                    return Err(format!("{n} is twice, or too late"));
                }
                if lost > 0 && !is_said {
                    return Err(format!("{lost} are missing before {n}, and nothing is said"));
                }
                is_said = false;
            }
        }
    }
    match next.count() {
        0 => Ok(()),
        _ if is_said => Ok(()),
        lost => Err(format!("the last {lost} are missing, and nothing is said")),
    }
}

/// Groups of events, each group one millisecond.
fn a_run(groups: &[(u8, u8)], step: u64) -> Run {
    let names = ["values", "custom", "updates"];
    let sizes = groups.iter().zip(0..).flat_map(|((size, name), ms)| (0..*size).map(move |n| (ms, n + name)));
    let event = |((ms, name), i): ((u64, u8), usize)| {
        (names[usize::from(name) % 3], 1_000_000_000_000 + ms * step, i.to_string())
    };
    let mut run: Run = sizes.zip(0..).map(event).collect();
    // As on all servers.
    run[0].0 = "metadata";
    run
}

fn cut() -> impl Strategy<Value = Option<Cut>> {
    prop_oneof![
        1 => Just(None),
        3 => (0usize..1500).prop_map(|n| Some(Cut::Reset(n))),
        2 => (0usize..1500).prop_map(|n| Some(Cut::Eof(n))),
        2 => (0usize..20).prop_map(|n| Some(Cut::Between(n))),
    ]
}

fn weather(forgets: bool) -> impl Strategy<Value = Weather> {
    let pace = proptest::collection::vec(0usize..4, 1..5);
    let open = (0usize..12, 0usize..12, pace, cut(), 0usize..3, prop::bool::weighted(0.3)).prop_map(
        move |(before, lead, pace, cut, stolen, forgot)| Weather::Open {
            before,
            lead,
            pace,
            cut,
            stolen,
            forgets: forgets && forgot,
        },
    );
    prop_oneof![1 => any::<u8>().prop_map(Weather::Refusal), 4 => open]
}

fn groups() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((1u8..8, 0u8..3), 1..25)
}

fn step() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), Just(3), Just(900)]
}

fn model(server: Server, run: Run, mut weather: Vec<Weather>) -> Model {
    // A server that is not there to begin with is given up soon.
    let refusals = weather.iter().take_while(|w| matches!(w, Weather::Refusal(_))).count();
    weather.drain(..refusals.saturating_sub(3));
    Model {
        server,
        run,
        published: 0,
        kept_from: 0,
        untaken: 0,
        stored_sent: 0,
        weather: weather.into(),
        modes: Vec::new(),
        everything: true,
        connections: 0,
        stored: Arc::default(),
    }
}

/// How many cases; `RUNTAIL_CASES` asks for more.
fn cases() -> ProptestConfig {
    let cases = std::env::var("RUNTAIL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A link that is closed between two events as if in order, when the run is over, looks like the end the first time that
/// it happens, and twice in a row ever after: what `docs/reliability.md` says is not covered.
fn looks_like_the_end(weather: &[Weather]) -> bool {
    weather.iter().any(|w| matches!(w, Weather::Open { cut: Some(Cut::Between(_) | Cut::Eof(_)), .. }))
}

/// The same, with no end that is in order.
fn roughly(mut weather: Vec<Weather>) -> Vec<Weather> {
    for one in &mut weather {
        if let Weather::Open { cut: Some(cut), .. } = one
            && let Cut::Eof(n) | Cut::Between(n) = *cut
        {
            *cut = Cut::Reset(n);
        }
    }
    weather
}

/// Each event came, or is said to be missing where it is; up to what looked like the end, where something did.
fn all_is_accounted_for(server: Server, run: Run, weather: Vec<Weather>) -> Result<(), TestCaseError> {
    let may_seem_over = looks_like_the_end(&weather);
    let model = model(server, run, weather);
    let wanted: Vec<_> = (0..model.run.len()).collect();
    let Followed { came, .. } = followed(model, None, Vec::new());
    let upto = events(&came).last().map_or(0, |n| n + 1);
    let wanted = if may_seem_over { &wanted[..upto] } else { &wanted };
    prop_assert_eq!(accounted(&came, wanted), Ok(()), "{:?}", came);
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    /// A server that keeps its events loses none, repeats none, and has no gap. No replayed event has a time.
    #[test]
    fn what_is_kept_comes_once_whatever_the_weather(
        groups in groups(), step in step(),
        weather in proptest::collection::vec(weather(false), 0..7),
        javascript in any::<bool>(), joined in any::<bool>(), rough in any::<bool>(),
    ) {
        let weather = if rough { roughly(weather) } else { weather };
        let server = if javascript { Server::JavaScript } else { Server::Python };
        let may_seem_over = looks_like_the_end(&weather);
        let mut model = model(server, a_run(&groups, step), weather);
        model.everything = !joined;
        let wanted: Vec<_> = (0..model.run.len()).collect();
        let stored = model.stored.clone();
        let Followed { came, timed, outcome } = followed(model, joined.then_some("-1"), Vec::new());
        let got = events(&came);
        let is_whole = got == wanted || may_seem_over && wanted.starts_with(&got);
        prop_assert!(is_whole, "{:?}", came);
        prop_assert!(got.len() == came.len() || may_seem_over, "no gap: {:?}", came);
        prop_assert_eq!(outcome, Outcome::Success);
        // The ids of these servers hold no time of this century.
        let stored = stored.lock().unwrap();
        let replayed = timed.iter().find(|(number, conn)| *number < stored[conn - 1]);
        prop_assert_eq!(replayed, None, "a replayed event has no time");
    }

    /// A server that lets go of what it sent: what is missing is said where it is missing.
    #[test]
    fn what_is_let_go_is_said(
        groups in groups(), step in step(),
        weather in proptest::collection::vec(weather(true), 0..7),
        javascript in any::<bool>(), rough in any::<bool>(),
    ) {
        let weather = if rough { roughly(weather) } else { weather };
        let server = if javascript { Server::JavaScript } else { Server::Python };
        all_is_accounted_for(server, a_run(&groups, step), weather)?;
    }

    /// No ids, and events that go to one reader only: each loss is said.
    #[test]
    fn what_cannot_be_had_again_is_said(
        groups in groups(),
        weather in proptest::collection::vec(weather(false), 0..7),
        shared in any::<bool>(), rough in any::<bool>(),
    ) {
        let weather = if rough { roughly(weather) } else { weather };
        let server = if shared { Server::Aegra } else { Server::Bare };
        all_is_accounted_for(server, a_run(&groups, 1), weather)?;
    }

    /// Modes that are changed meanwhile: what is wanted all the time comes once and in order, the rest at most once.
    #[test]
    fn modes_may_change_in_any_weather(
        groups in groups(), step in step(),
        weather in proptest::collection::vec(weather(false), 0..5),
        changes in proptest::collection::vec((0usize..60, 0usize..4), 1..6),
        javascript in any::<bool>(),
    ) {
        let server = if javascript { Server::JavaScript } else { Server::Python };
        let may_seem_over = looks_like_the_end(&weather);
        let modes = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let sets = [modes(&["values"]), modes(&["values", "custom"]), modes(&["updates", "values"]), modes(&[])];
        let mut changes: Vec<_> = changes.into_iter().map(|(at, set)| (at, sets[set].clone())).collect();
        changes.sort_by_key(|(at, _)| *at);
        let model = model(server, a_run(&groups, step), weather);
        let run = model.run.clone();
        let wanted: Vec<_> = (0..run.len()).filter(|i| run[*i].0 == "values").collect();
        let Followed { came, .. } = followed(model, None, changes);
        let got = events(&came);
        let mut once = got.clone();
        once.sort_unstable();
        once.dedup();
        prop_assert_eq!(once.len(), got.len(), "each at most once: {:?}", came);
        let has_gap = got.len() < came.len();
        let values: Vec<_> = got.into_iter().filter(|i| run[*i].0 == "values").collect();
        prop_assert!(values == wanted || may_seem_over && wanted.starts_with(&values), "{:?}", came);
        prop_assert!(!has_gap || may_seem_over, "no gap: {:?}", came);
    }

    /// A clock that goes back by a little, or by much.
    #[test]
    fn a_clock_that_goes_back_loses_nothing_in_silence(
        groups in groups(), at in 0usize..60, back in prop_oneof![Just(3u64), Just(40), Just(5000)],
        many in any::<bool>(),
        weather in proptest::collection::vec(weather(false), 0..7),
    ) {
        let may_seem_over = looks_like_the_end(&weather);
        let mut groups = groups;
        if many {
            // More than is remembered.
            groups.splice(0..0, [(7, 0); 15]);
        }
        let mut run = a_run(&groups, 1);
        let at = at % run.len();
        // Not in the middle of a millisecond; the id stays one that is as long as the others.
        let from = run[at].1;
        let step = run.iter().position(|(_, ms, _)| *ms >= from).unwrap_or(0);
        run.iter_mut().filter(|(_, ms, _)| *ms >= from).for_each(|(_, ms, _)| *ms = *ms + 10_000 - back);
        run.iter_mut().filter(|(_, ms, _)| *ms < from + 10_000 - back - 200).for_each(|(_, ms, _)| *ms += 10_000);
        let model = model(Server::Python, run, weather);
        let wanted: Vec<_> = (0..model.run.len()).collect();
        let Followed { came, .. } = followed(model, None, Vec::new());
        let got = events(&came);
        // What has an id that was there before can be asked for only by who knows that the clock went back.
        let known = came.windows(2).all(|pair| match pair {
            [Came::Event(a), Came::Event(b)] => *a < step || (a + 1..*b).all(|n| got.contains(&n)),
            _ => true,
        });
        let is_to_the_end = got.last() == wanted.last() || may_seem_over || got.last().is_none_or(|last| *last < step);
        prop_assert!(known && (is_to_the_end || got.len() < came.len()), "{:?}", came);
        let mut once = got.clone();
        once.dedup();
        prop_assert_eq!(once.len(), got.len(), "{:?}", came);
    }
}
