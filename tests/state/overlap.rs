//! A run's stream as the Python server sends it: a connection replays a store that grows meanwhile and then sends its queue,
//! so that a block of events is repeated within the connection. Each event must still be received only once.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use proptest::prelude::*;
use runtail_api::{ApiError, Kind, Place};
use runtail_stream::{
    Capabilities, Connection, End, Item, Outcome, Record, Replayed, RunState, SourceOptions,
    Transport, follow, framed,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// One connection: the number of events published before it, between its subscription and its first byte, and after each
/// replayed event (repeated cyclically); and the number of bytes after which it is cut.
#[derive(Debug, Clone)]
struct ConnectionPlan {
    before: usize,
    lead: usize,
    pace: Vec<usize>,
    cut: Option<usize>,
}

/// A run and its server.
#[derive(Debug, Clone, Default)]
struct DevServer {
    /// Time and data of each event; an end marker follows the last one.
    run: Vec<(u64, String)>,
    published: usize,
    plans: VecDeque<ConnectionPlan>,
    everything: Option<&'static str>,
    /// The number of events written to connections, and the id that each connection requested.
    log: Arc<Mutex<(usize, Vec<Option<String>>)>>,
}

impl DevServer {
    fn id(&self, i: usize) -> String {
        format!("{}-0", self.run[i].0)
    }

    /// Returns the numbers of the events of one connection, each with the number of events published when it was sent.
    fn deliver(&mut self, after: Option<&str>, plan: &ConnectionPlan) -> Vec<(usize, usize)> {
        let done = self.run.len();
        self.published = (self.published + plan.before).min(done + 1);
        // A millisecond passes between two connections, because the source waits.
        while self.published > 0
            && self.published < done
            && self.run[self.published].0 == self.run[self.published - 1].0
        {
            self.published += 1;
        }
        let subscribed = self.published;
        let mut out = Vec::new();
        let mut published = (subscribed + plan.lead).min(done + 1);
        if let Some(after) = after {
            let mut pace = plan.pace.iter().cycle();
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

impl Transport for DevServer {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            everything: self.everything,
            ..Capabilities::default()
        }
    }

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        let plan = self.plans.pop_front();
        let undisturbed = ConnectionPlan {
            before: 0,
            lead: 0,
            pace: vec![1],
            cut: None,
        };
        let delivered = self.deliver(after, plan.as_ref().unwrap_or(&undisturbed));
        let now = self.run[self.published.clamp(1, self.run.len()) - 1].0;
        let cut = plan.and_then(|w| w.cut);
        let (mut body, mut count, mut is_cut) = (String::new(), 0, false);
        for (i, published) in delivered {
            if cut.is_some_and(|cut| body.len() >= cut) {
                is_cut = true;
                break;
            }
            self.published = self.published.max(published);
            body += &format!(
                "event: custom\r\ndata: {}\r\nid: {}\r\n\r\n",
                self.run[i].1,
                self.id(i)
            );
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
        let failure = ApiError {
            kind: Kind::Network,
            at: Place::default(),
            detail: "cut".into(),
            hint: None,
        };
        let chunks: Vec<_> = body
            .into_bytes()
            .chunks(97)
            .map(|c| Ok(Bytes::copy_from_slice(c)))
            .collect();
        Ok(Connection {
            status: 200,
            thread_id: None,
            run_id: None,
            answered: Some(now / 1000 * 1000),
            past: Replayed::Unknown,
            body: framed(
                stream::iter(chunks.into_iter().chain(is_cut.then_some(Err(failure)))).boxed(),
                max_event,
            ),
        })
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        let is_over = self.published > self.run.len();
        Ok(if is_over {
            RunState::Finished(Outcome::Success, None)
        } else {
            RunState::Active
        })
    }
}

/// Follows a run to its end.
fn follow_to_end(transport: DevServer, first_after: Option<&str>) -> (Vec<(String, String)>, End) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(async {
            let (sender, mut receiver) = mpsc::channel(2);
            let options = SourceOptions {
                first_after: first_after.map(String::from),
                ..SourceOptions::default()
            };
            tokio::spawn(follow(transport, options, sender));
            let mut events = Vec::new();
            loop {
                for item in receiver.recv().await.unwrap() {
                    match item {
                        Item::Record(Record::Event(event)) => {
                            events.push((
                                event.id.unwrap().to_string(),
                                event.data.text().to_string(),
                            ));
                        }
                        Item::Record(Record::End(end)) => return (events, end),
                        _ => {}
                    }
                }
            }
        })
}

/// Builds a run from groups of events that share one millisecond, `step` apart. With `twins`, some events are identical.
fn a_run(groups: &[u8], step: u64, twins: bool) -> Vec<(u64, String)> {
    let sizes = groups
        .iter()
        .zip(0..)
        .flat_map(|(size, ms)| (0..*size).map(move |n| (ms, n)));
    sizes
        .zip(0..)
        .map(|((ms, n), i)| {
            (
                1_000_000_000_000 + ms * step,
                (if twins { (n / 2).into() } else { i }).to_string(),
            )
        })
        .collect()
}

fn expected(dev: &DevServer, from: usize) -> Vec<(String, String)> {
    (from..dev.run.len())
        .map(|i| (dev.id(i), dev.run[i].1.clone()))
        .collect()
}

fn plan() -> impl Strategy<Value = ConnectionPlan> {
    let pace = proptest::collection::vec(0usize..4, 1..5);
    (
        0usize..12,
        0usize..12,
        pace,
        proptest::option::of(0usize..1500),
    )
        .prop_map(|(before, lead, pace, cut)| ConnectionPlan {
            before,
            lead,
            pace,
            cut,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn repeated_blocks_are_skipped(
        groups in proptest::collection::vec(1u8..8, 1..25),
        plans in proptest::collection::vec(plan(), 0..6),
        step in prop_oneof![Just(1), Just(3), Just(900)],
        join in any::<bool>(),
    ) {
        let run = a_run(&groups, step, false);
        let mut dev = DevServer { run, plans: plans.into(), everything: Some("-1"), ..DevServer::default() };
        if !join {
            // A client that starts a run receives it from the first event.
            dev.plans.front_mut().into_iter().for_each(|w| w.before = 0);
        }
        let (log, expected) = (dev.log.clone(), expected(&dev, 0));
        let (events, end) = follow_to_end(dev, join.then_some("-1"));
        prop_assert_eq!(&events, &expected);
        prop_assert_eq!((end.outcome, end.gaps, end.events), (Outcome::Success, 0, expected.len() as u64));
        let (written, requested) = &*log.lock().unwrap();
        prop_assert!(end.events + end.duplicates <= *written as u64);
        // The resume position never moves back.
        prop_assert!(requested.iter().skip(1).flatten().filter(|a| *a != "-1").is_sorted(), "{:?}", requested);
    }

    /// A repeated event that is identical to another can be told from a new one only by a replay; if that doesn't help, a
    /// gap is reported.
    #[test]
    fn identical_events_are_kept_or_a_gap_is_reported(
        groups in proptest::collection::vec(1u8..8, 1..25),
        plans in proptest::collection::vec(plan(), 0..6),
        step in prop_oneof![Just(1), Just(3), Just(900)],
    ) {
        let run = a_run(&groups, step, true);
        let dev = DevServer { run, plans: plans.into(), everything: Some("-1"), ..DevServer::default() };
        let expected = expected(&dev, 0);
        let (events, end) = follow_to_end(dev, Some("-1"));
        prop_assert!(events == expected || end.gaps > 0, "{:?} {:?}", events, end);
        prop_assert_eq!(end.outcome, Outcome::Success);
    }

    /// A live join starts anywhere in the run, and receives every later event once.
    #[test]
    fn live_joins_receive_all_later_events_once(
        groups in proptest::collection::vec(1u8..8, 1..25),
        plans in proptest::collection::vec(plan(), 1..6),
        step in prop_oneof![Just(1), Just(3), Just(900)],
    ) {
        let run = a_run(&groups, step, false);
        let dev = DevServer { run, plans: plans.into(), ..DevServer::default() };
        let n = dev.run.len();
        let (events, end) = follow_to_end(dev, None);
        // A resume also replays the earlier events of the first millisecond.
        let mut numbers: Vec<usize> = events.iter().map(|(_, data)| data.parse().unwrap()).collect();
        let first = numbers.first().copied().unwrap_or(n);
        numbers.sort();
        let least = numbers.first().copied().unwrap_or(n);
        prop_assert!(end.gaps > 0 || numbers.iter().copied().eq(least..n), "{:?}", events);
        prop_assert!(end.gaps > 0 || first - least < 7);
    }
}

/// A block of any length is repeated after newer ids, as observed on a real server.
#[test]
fn long_repeated_blocks_are_skipped() {
    for (n, lead) in [(100, 3), (500, 500), (1000, 1500)] {
        let run = a_run(&vec![7; n], 1, false);
        let plan = ConnectionPlan {
            before: 100,
            lead,
            pace: vec![1, 0, 0, 1],
            cut: None,
        };
        let dev = DevServer {
            run,
            plans: [plan].into(),
            everything: Some("-1"),
            ..DevServer::default()
        };
        let (log, expected) = (dev.log.clone(), expected(&dev, 0));
        let (events, end) = follow_to_end(dev, Some("-1"));
        assert_eq!(events, expected);
        assert_eq!((end.gaps, end.connections), (0, 1));
        let repeated = log.lock().unwrap().0 - expected.len();
        assert!(repeated > lead, "{repeated}");
        assert_eq!(end.duplicates, repeated as u64);
    }
}
