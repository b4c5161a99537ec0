//! A run's stream as the Python server makes it: it subscribes, replays a store that grows meanwhile, and delivers its
//! queue afterwards, so that a block comes twice in the middle of a connection. Each event has to come once all the same.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use proptest::prelude::*;
use runtail_api::{ApiError, Kind, Place};
use runtail_stream::{
    Capabilities, End, Item, Link, Opened, Outcome, Past, Record, SourceOptions, Verdict, follow, framed,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// What happens around one connection: how many events are published before it, between its subscription and its first
/// byte, and after each replayed event (again and again); and after how many bytes it is cut.
#[derive(Debug, Clone)]
struct Weather {
    before: usize,
    lead: usize,
    pace: Vec<usize>,
    cut: Option<usize>,
}

/// A run and its server.
#[derive(Debug, Clone, Default)]
struct Dev {
    /// Time and data of each event; behind the last one comes the sign that the run is done.
    run: Vec<(u64, String)>,
    published: usize,
    weather: VecDeque<Weather>,
    everything: Option<&'static str>,
    /// Events that were written to connections, and what each connection asked for.
    log: Arc<Mutex<(usize, Vec<Option<String>>)>>,
}

impl Dev {
    fn id(&self, i: usize) -> String {
        format!("{}-0", self.run[i].0)
    }

    /// The events of one connection, by number; the second is those published when each was on its way.
    fn deliver(&mut self, after: Option<&str>, weather: &Weather) -> Vec<(usize, usize)> {
        let done = self.run.len();
        self.published = (self.published + weather.before).min(done + 1);
        // A millisecond passes between two connections; a source sees to that.
        while self.published > 0
            && self.published < done
            && self.run[self.published].0 == self.run[self.published - 1].0
        {
            self.published += 1;
        }
        let subscribed = self.published;
        let mut out = Vec::new();
        let mut published = (subscribed + weather.lead).min(done + 1);
        if let Some(after) = after {
            let mut pace = weather.pace.iter().cycle();
            let mut i = 0;
            while i < published {
                if i == done {
                    return out;
                }
                if *self.id(i) > *after {
                    out.push((i, published));
                    published = (published + pace.next().unwrap_or(&0)).min(done + 1);
                }
                i += 1;
            }
        }
        out.extend((subscribed..done).map(|i| (i, published.max(i + 1))));
        out
    }
}

impl Link for Dev {
    fn capabilities(&self) -> Capabilities {
        Capabilities { everything: self.everything, ..Capabilities::default() }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        let weather = self.weather.pop_front();
        let calm = Weather { before: 0, lead: 0, pace: vec![1], cut: None };
        let delivered = self.deliver(after, weather.as_ref().unwrap_or(&calm));
        let now = self.run[self.published.clamp(1, self.run.len()) - 1].0;
        let cut = weather.and_then(|w| w.cut);
        let (mut body, mut count, mut is_cut) = (String::new(), 0, false);
        for (i, published) in delivered {
            if cut.is_some_and(|cut| body.len() >= cut) {
                is_cut = true;
                break;
            }
            self.published = self.published.max(published);
            body += &format!("event: custom\r\ndata: {}\r\nid: {}\r\n\r\n", self.run[i].1, self.id(i));
            count += 1;
        }
        is_cut |= cut.is_some_and(|cut| body.len() > cut);
        match cut.filter(|_| is_cut) {
            Some(cut) => body.truncate(cut),
            None => self.published = self.run.len() + 1,
        }
        let mut log = self.log.lock().unwrap();
        log.0 += count;
        log.1.push(after.map(String::from));
        let failure = ApiError { kind: Kind::Network, at: Place::default(), detail: "cut".into(), hint: None };
        let chunks: Vec<_> = body.into_bytes().chunks(97).map(|c| Ok(Bytes::copy_from_slice(c))).collect();
        Ok(Opened {
            status: 200,
            thread_id: None,
            run_id: None,
            answered: Some(now / 1000 * 1000),
            past: Past::Unknown,
            body: framed(stream::iter(chunks.into_iter().chain(is_cut.then_some(Err(failure)))).boxed(), max_event),
        })
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        let is_over = self.published > self.run.len();
        Ok(if is_over { Verdict::Finished(Outcome::Success, None) } else { Verdict::Active })
    }
}

/// Follows a run to its end.
fn followed(link: Dev, first_after: Option<&str>) -> (Vec<(String, String)>, End) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(async {
        let (sender, mut receiver) = mpsc::channel(2);
        let options = SourceOptions { first_after: first_after.map(String::from), ..SourceOptions::default() };
        tokio::spawn(follow(link, options, sender));
        let mut events = Vec::new();
        loop {
            for item in receiver.recv().await.unwrap() {
                match item {
                    Item::Record(Record::Event(event)) => {
                        events.push((event.id.unwrap().to_string(), event.data.text().to_string()));
                    }
                    Item::Record(Record::End(end)) => return (events, end),
                    _ => {}
                }
            }
        }
    })
}

/// Groups of events, each group one millisecond; `step` lies between them. With twins, some are alike in all.
fn a_run(groups: &[u8], step: u64, twins: bool) -> Vec<(u64, String)> {
    let sizes = groups.iter().zip(0..).flat_map(|(size, ms)| (0..*size).map(move |n| (ms, n)));
    sizes
        .zip(0..)
        .map(|((ms, n), i)| (1_000_000_000_000 + ms * step, (if twins { (n / 2).into() } else { i }).to_string()))
        .collect()
}

fn expected(dev: &Dev, from: usize) -> Vec<(String, String)> {
    (from..dev.run.len()).map(|i| (dev.id(i), dev.run[i].1.clone())).collect()
}

fn weather() -> impl Strategy<Value = Weather> {
    let pace = proptest::collection::vec(0usize..4, 1..5);
    (0usize..12, 0usize..12, pace, proptest::option::of(0usize..1500)).prop_map(|(before, lead, pace, cut)| Weather {
        before,
        lead,
        pace,
        cut,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_repetition_in_the_middle_is_let_pass(
        groups in proptest::collection::vec(1u8..8, 1..25),
        weather in proptest::collection::vec(weather(), 0..6),
        step in prop_oneof![Just(1), Just(3), Just(900)],
        join in any::<bool>(),
    ) {
        let run = a_run(&groups, step, false);
        let mut dev = Dev { run, weather: weather.into(), everything: Some("-1"), ..Dev::default() };
        if !join {
            // Who starts a run is there from its first event on.
            dev.weather.front_mut().into_iter().for_each(|w| w.before = 0);
        }
        let (log, expected) = (dev.log.clone(), expected(&dev, 0));
        let (events, end) = followed(dev, join.then_some("-1"));
        prop_assert_eq!(&events, &expected);
        prop_assert_eq!((end.outcome, end.gaps, end.events), (Outcome::Success, 0, expected.len() as u64));
        let (written, asked) = &*log.lock().unwrap();
        prop_assert!(end.events + end.duplicates <= *written as u64);
        // What is asked for never goes back.
        prop_assert!(asked.iter().skip(1).flatten().filter(|a| *a != "-1").is_sorted(), "{:?}", asked);
    }

    /// Where events are alike in all, one that the server repeats at the wrong moment can be told from a new one only by
    /// asking again; where that doesn't help, it is said.
    #[test]
    fn events_that_are_alike_in_all_are_kept_or_it_is_said(
        groups in proptest::collection::vec(1u8..8, 1..25),
        weather in proptest::collection::vec(weather(), 0..6),
        step in prop_oneof![Just(1), Just(3), Just(900)],
    ) {
        let run = a_run(&groups, step, true);
        let dev = Dev { run, weather: weather.into(), everything: Some("-1"), ..Dev::default() };
        let expected = expected(&dev, 0);
        let (events, end) = followed(dev, Some("-1"));
        prop_assert!(events == expected || end.gaps > 0, "{:?} {:?}", events, end);
        prop_assert_eq!(end.outcome, Outcome::Success);
    }

    /// A live join begins somewhere; from there on everything comes once.
    #[test]
    fn a_live_join_goes_on_from_where_it_began(
        groups in proptest::collection::vec(1u8..8, 1..25),
        weather in proptest::collection::vec(weather(), 1..6),
        step in prop_oneof![Just(1), Just(3), Just(900)],
    ) {
        let run = a_run(&groups, step, false);
        let dev = Dev { run, weather: weather.into(), ..Dev::default() };
        let n = dev.run.len();
        let (events, end) = followed(dev, None);
        // Where it is taken up again, what came before it in its first millisecond comes too.
        let mut numbers: Vec<usize> = events.iter().map(|(_, data)| data.parse().unwrap()).collect();
        let first = numbers.first().copied().unwrap_or(n);
        numbers.sort();
        let least = numbers.first().copied().unwrap_or(n);
        prop_assert!(end.gaps > 0 || numbers.iter().copied().eq(least..n), "{:?}", events);
        prop_assert!(end.gaps > 0 || first - least < 7);
    }
}

/// The block comes twice after newer ids, as it was seen on a real server, at any length.
#[test]
fn a_slow_reader_makes_a_long_repetition() {
    for (n, lead) in [(100, 3), (500, 500), (1000, 1500)] {
        let run = a_run(&vec![7; n], 1, false);
        let storm = Weather { before: 100, lead, pace: vec![1, 0, 0, 1], cut: None };
        let dev = Dev { run, weather: [storm].into(), everything: Some("-1"), ..Dev::default() };
        let (log, expected) = (dev.log.clone(), expected(&dev, 0));
        let (events, end) = followed(dev, Some("-1"));
        assert_eq!(events, expected);
        assert_eq!((end.gaps, end.connections), (0, 1));
        let repeated = log.lock().unwrap().0 - expected.len();
        assert!(repeated > lead, "{repeated}");
        assert_eq!(end.duplicates, repeated as u64);
    }
}
