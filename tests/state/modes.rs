//! Changing modes while a stream is open: the stream is reopened at its resume position, no event that is requested
//! throughout is missing, and no event is duplicated.

use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use runtail_api::{ApiError, Kind};
use runtail_stream::projection::{LifecycleKind, Projections};
use runtail_stream::{
    Capabilities, Connection, Event, Item, Outcome, Record, RunState, RunStreamOptions,
    SourceOptions, Transport, follow,
};
use runtail_testkit::common::follow::{connection, end, events, failure, gaps, paused};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// A server that stores a whole run and sends the events after an id, in the requested modes.
struct Server {
    /// Name and millisecond of each event; its data is its number.
    sent: Vec<(&'static str, u64)>,
    modes: Vec<String>,
    /// Whether the last connection sent all events.
    finished: Arc<Mutex<bool>>,
    /// The number of events after which each connection is cut.
    cuts: Vec<usize>,
    requested: Arc<Mutex<Vec<Vec<String>>>>,
    refuses: Option<&'static str>,
    never_replayed: Option<&'static str>,
}

fn order(id: &str) -> u64 {
    id.strip_suffix("-0")
        .and_then(|ms| ms.parse().ok())
        .unwrap_or(0)
}

impl Server {
    fn new(sent: Vec<(&'static str, u64)>) -> Server {
        let (finished, requested) = Default::default();
        Server {
            sent,
            modes: Vec::new(),
            finished,
            cuts: Vec::new(),
            requested,
            refuses: None,
            never_replayed: None,
        }
    }

    fn passes_filter(&self, name: &str) -> bool {
        self.modes.is_empty() || self.modes.iter().any(|mode| mode == name)
    }
}

impl Transport for Server {
    fn capabilities(&self) -> Capabilities {
        let never_replayed = self.never_replayed;
        Capabilities {
            everything: Some("-1"),
            never_replayed,
            ..Capabilities::default()
        }
    }

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        self.requested
            .lock()
            .expect("not poisoned")
            .push(self.modes.clone());
        *self.finished.lock().expect("not poisoned") = false;
        let after = after.map_or(0, order);
        let events = self
            .sent
            .iter()
            .enumerate()
            .filter(|(_, (name, ms))| *ms > after && self.passes_filter(name));
        let text = |(n, (name, ms)): (usize, &(&str, u64))| {
            format!("event: {name}\ndata: {n}\nid: {ms}-0\n\n")
        };
        let mut texts: Vec<String> = events.map(text).collect();
        let cut = self.cuts.pop().filter(|cut| *cut < texts.len());
        texts.truncate(cut.unwrap_or(usize::MAX));
        let finished = self.finished.clone();
        let body = stream::iter(texts).then(async |text| {
            // Sent one by one, so that modes can change in between.
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(Bytes::from(text))
        });
        let end = stream::once(async move {
            if cut.is_some() {
                return Some(Err(failure(Kind::Network)));
            }
            *finished.lock().expect("not poisoned") = true;
            None
        });
        let body = body.chain(end.filter_map(std::future::ready));
        Ok(connection(body, max_event))
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        let over = *self.finished.lock().expect("not poisoned");
        Ok(if over {
            RunState::Finished(Outcome::Success, None)
        } else {
            RunState::Active
        })
    }

    async fn may_reopen(&mut self) -> Result<(), String> {
        self.refuses.map_or(Ok(()), |why| Err(why.into()))
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.modes = modes;
    }

    fn sends(&self, name: &str) -> bool {
        self.passes_filter(name)
    }

    fn terms(&self) -> Option<RunStreamOptions> {
        Some(RunStreamOptions {
            modes: vec!["values".into(), "custom".into()],
            ..RunStreamOptions::default()
        })
    }
}

fn modes(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// Follows the stream to its end, and changes the modes after the given numbers of events.
fn follow_to_end(
    transport: Server,
    first: Vec<String>,
    changes: Vec<(usize, Vec<String>)>,
) -> Vec<Item> {
    paused(async {
        let (modes_sender, modes_receiver) = watch::channel(first);
        let options = SourceOptions {
            modes: Some(modes_receiver),
            ..SourceOptions::default()
        };
        let (sender, mut receiver) = mpsc::channel(1);
        let task = tokio::spawn(follow(transport, options, sender));
        let (mut items, mut changes) = (Vec::new(), changes.into_iter().peekable());
        while let Some(batch) = receiver.recv().await {
            items.extend(batch);
            let received = events(&items).len();
            while let Some((_, modes)) = changes.next_if(|(at, _)| *at <= received) {
                modes_sender.send_replace(modes);
            }
        }
        task.await.expect("no panic");
        items
    })
}

fn number(event: &Event) -> usize {
    event.data.text().parse().expect("a number")
}

#[test]
fn mode_change_reopens_the_stream_and_is_recorded() {
    let sent: Vec<_> = (0..20)
        .map(|n| (["values", "custom"][n % 2], 1000 + n as u64))
        .collect();
    let server = Server::new(sent);
    let requested = server.requested.clone();
    let items = follow_to_end(server, Vec::new(), vec![(10, modes(&["custom"]))]);
    assert_eq!(
        *requested.lock().expect("not poisoned"),
        [modes(&[]), modes(&["custom"])]
    );
    let closed = items.iter().find_map(|item| match item {
        Item::Record(Record::Close { reason, .. }) => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(closed, Some("modes"));
    let mut projections = Projections::default();
    items.iter().for_each(|item| projections.apply(item));
    let rows = projections
        .lifecycle
        .rows()
        .iter()
        .filter(|row| row.kind == LifecycleKind::Connection);
    let texts: Vec<_> = rows.map(|row| row.text.as_str()).collect();
    assert_eq!(
        texts[2], "modes changed: reopened after 1008-0 (connection 2, 200)",
        "{texts:?}"
    );
    let late: Vec<_> = events(&items)[10..]
        .iter()
        .map(|event| &*event.name)
        .collect();
    assert!(
        late.iter().all(|name| *name == "custom") && late.len() == 5,
        "{late:?}"
    );
    let terms = items
        .iter()
        .filter(|item| matches!(item, Item::Terms(terms) if terms.modes == ["values", "custom"]));
    assert_eq!(terms.count(), 1, "the run's own modes are sent once");
}

#[test]
fn a_reopened_stream_was_not_disconnected() {
    let why = |cuts: Vec<usize>, changes| {
        let mut server = Server::new((0..20).map(|n| ("values", 1000 + n)).collect());
        (server.cuts, server.never_replayed) = (cuts, Some("state updates"));
        let items = follow_to_end(server, Vec::new(), changes);
        gaps(&items)
            .iter()
            .map(|why| why.to_string())
            .collect::<Vec<_>>()
    };
    let reopened = why(Vec::new(), vec![(10, modes(&["values"]))]);
    assert_eq!(
        reopened,
        ["reopened for other modes; state updates are never replayed; some may be missing"]
    );
    // A lost connection is still an outage.
    let lost = why(vec![5], Vec::new());
    assert!(
        !lost.is_empty() && lost.iter().all(|why| why.starts_with("disconnected for ")),
        "{lost:?}"
    );
}

#[test]
fn refused_mode_changes_keep_the_stream_open() {
    let mut server = Server::new((0..20).map(|n| ("values", 1000 + n)).collect());
    server.refuses = Some("only one reader is allowed");
    let requested = server.requested.clone();
    let items = follow_to_end(
        server,
        Vec::new(),
        vec![(5, modes(&["custom"])), (9, modes(&[]))],
    );
    assert_eq!(requested.lock().expect("not poisoned").len(), 1);
    let kept = items.iter().filter(
        |item| matches!(item, Item::ModesKept { why } if why == "only one reader is allowed"),
    );
    assert_eq!(
        (kept.count(), events(&items).len(), end(&items).outcome),
        (1, 20, Outcome::Success)
    );
}

/// A server that rejects the second connection for an hour.
struct BusyServer(Arc<Mutex<Vec<tokio::time::Instant>>>);

impl Transport for BusyServer {
    async fn connect(
        &mut self,
        _after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        let mut attempts = self.0.lock().expect("not poisoned");
        attempts.push(tokio::time::Instant::now());
        if attempts.len() == 2 {
            let wait = Kind::RateLimited(Some(Duration::from_secs(3600)));
            return Err(failure(wait));
        }
        let body = stream::iter([Ok(Bytes::from("event: values\ndata: 1\nid: 1-0\n\n"))]);
        Ok(connection(body, max_event))
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        let attempts = self.0.lock().expect("not poisoned").len();
        Ok(if attempts < 3 {
            RunState::Active
        } else {
            RunState::Finished(Outcome::Success, None)
        })
    }
}

#[test]
fn mode_change_ends_a_reconnect_wait() {
    let attempts = Arc::<Mutex<Vec<_>>>::default();
    let started = paused(async {
        let (modes_sender, modes_receiver) = watch::channel(Vec::new());
        let options = SourceOptions {
            modes: Some(modes_receiver),
            ..SourceOptions::default()
        };
        let (sender, mut receiver) = mpsc::channel(8);
        let started = tokio::time::Instant::now();
        tokio::spawn(follow(BusyServer(attempts.clone()), options, sender));
        while let Some(batch) = receiver.recv().await {
            if batch
                .iter()
                .any(|item| matches!(item, Item::Retrying { wait, .. } if wait.as_secs() == 3600))
            {
                modes_sender.send_replace(modes(&["custom"]));
            }
        }
        started
    });
    let attempts = attempts.lock().expect("not poisoned");
    // The fourth connection confirms the end, because the stream had been interrupted before.
    assert_eq!(attempts.len(), 4);
    assert!(
        attempts[2] - started < Duration::from_secs(3000),
        "the wait ended early"
    );
}

#[test]
fn events_of_added_modes_do_not_move_the_resume_position() {
    // `updates` is requested after `values` was received up to 1001; then the stream is reopened during the replay.
    let server = Server::new(vec![
        ("updates", 1000),
        ("values", 1001),
        ("values", 1001),
        ("values", 1001),
    ]);
    let changes = vec![
        (0, modes(&["values"])),
        (1, modes(&["updates", "values"])),
        (2, modes(&["values"])),
    ];
    let items = follow_to_end(server, Vec::new(), changes);
    let mut received: Vec<_> = events(&items).into_iter().map(number).collect();
    received.sort_unstable();
    assert_eq!(received, [0, 1, 2, 3]);
}
