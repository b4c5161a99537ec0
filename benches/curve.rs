//! The cost of an event in a log of a thousand events and of up to ten million: `cargo bench --bench curve [EVENTS]`
//! (default: a million). Each line of the output should be close to the one before it.

use runtail_core::config::EventLogLimits;
use runtail_stream::{Data, Event, EventLog, Interner, Item, Limits, Record, Seq};
use runtail_tui::features::stream::viewer::Viewer;
use runtail_tui::features::stream::views::View;
use runtail_tui::session::msg::{ServerRef, StreamTarget};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events that a source sends in one batch.
const BATCH: u64 = 256;
/// Jumps and pages to measure.
const REPEATS: u32 = 500;
const WINDOW: (usize, usize) = (138, 34);

fn main() {
    let most = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(1_000_000);
    for (name, view, make) in [
        ("tokens", View::Messages, token as fn(u64) -> Arc<str>),
        ("small events", View::Events, small),
    ] {
        println!("\n**{name}**\n");
        println!(
            "| events | append, ns | and fold, ns | page, µs | seek, µs | filter, ns per event | time travel, ms |"
        );
        println!("|---|---|---|---|---|---|---|");
        let mut size = 1_000;
        while size <= most {
            let append = append(size, make);
            let (mut viewer, fold) = fold(size, view, make);
            let page = pages(&mut viewer, view);
            let seek = seeks(&mut viewer, size);
            let filter = filter(&mut viewer, size);
            let moment = moments(&mut viewer, size);
            println!(
                "| {size} | {append:.0} | {fold:.0} | {page:.1} | {seek:.1} | {filter:.0} | {moment:.1} |"
            );
            size *= 10;
        }
    }
}

/// A token of an answer with the metadata of the real server.
fn token(seq: u64) -> Arc<str> {
    use std::sync::OnceLock;
    static TOKEN: OnceLock<(String, String)> = OnceLock::new();
    let (before, after) = TOKEN.get_or_init(|| {
        let capture =
            include_str!("../tests/captures/agent-messages-tuple.sse").replace("\r\n", "\n");
        let line = capture
            .lines()
            .find(|line| line.contains("AIMessageChunk") && line.contains("Let me "));
        let data = line
            .and_then(|line| line.strip_prefix("data: "))
            .expect("the capture has a token");
        let (before, after) = data
            .split_once("Let me ")
            .expect("the capture's first words");
        (before.into(), after.into())
    });
    // A paragraph now and then, as models write.
    let end = if seq.is_multiple_of(200) {
        r"\n\n"
    } else {
        " "
    };
    format!("{before}word{seq}{end}{after}").into()
}

fn small(seq: u64) -> Arc<str> {
    format!(r#"{{"i":{seq}}}"#).into()
}

/// Makes events in batches. Only appending is measured, not making them.
fn run(
    size: u64,
    is_token: bool,
    make: fn(u64) -> Arc<str>,
    mut take: impl FnMut(Vec<Event>),
) -> f64 {
    let mut names = Interner::default();
    let name = names.get(if is_token { "messages" } else { "custom" });
    let mut spent = Duration::ZERO;
    let mut seq = 0;
    while seq < size {
        let upto = (seq + BATCH).min(size);
        let id: Arc<str> = format!("{}-0", 1_789_000_000_000 + seq / 6).into();
        let events: Vec<Event> = (seq + 1..=upto)
            .map(|seq| {
                let at = jiff::Timestamp::from_microsecond(1_789_000_000_000_000 + seq as i64)
                    .expect("a time");
                let (name, id, data) = (name.clone(), Some(id.clone()), Data::Json(make(seq)));
                Event {
                    seq: Seq(seq),
                    at,
                    conn: 1,
                    replayed: false,
                    name,
                    ns: [].into(),
                    id,
                    data,
                }
            })
            .collect();
        let began = Instant::now();
        take(events);
        spent += began.elapsed();
        seq = upto;
    }
    spent.as_nanos() as f64 / size as f64
}

fn append(size: u64, make: fn(u64) -> Arc<str>) -> f64 {
    let mut event_log = EventLog::new(Limits {
        max_bytes: usize::MAX,
    });
    let cost = run(size, false, make, |events| {
        events
            .into_iter()
            .for_each(|event| event_log.push(Record::Event(event)))
    });
    assert_eq!(event_log.len() as u64, size);
    cost
}

fn fold(size: u64, view: View, make: fn(u64) -> Arc<str>) -> (Viewer, f64) {
    let server = ServerRef {
        profile: "local".into(),
        name: "local".into(),
        url: "http://localhost:2024".into(),
    };
    let limits = EventLogLimits {
        max_bytes: u64::MAX,
        ..EventLogLimits::default()
    };
    let target = StreamTarget::Tail { thread: "t".into() };
    let now = jiff::Timestamp::UNIX_EPOCH;
    let mut viewer = Viewer::new(1, server, target, &limits, now, jiff::tz::TimeZone::UTC);
    viewer.show(view);
    let cost = run(size, view == View::Messages, make, |events| {
        viewer.take(
            events
                .into_iter()
                .map(|event| Item::Record(Record::Event(event)))
                .collect(),
        );
    });
    (viewer, cost)
}

/// A frame after a page up, from the end.
fn pages(viewer: &mut Viewer, view: View) -> f64 {
    let windows = [(view, WINDOW.0, WINDOW.1)];
    viewer.prepare(&windows);
    black_box(viewer.window(view));
    let began = Instant::now();
    for _ in 0..REPEATS {
        viewer.step(-1, true);
        viewer.prepare(&windows);
        black_box(viewer.window(view));
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(REPEATS)
}

/// A frame after a jump to an event, in the Events view.
fn seeks(viewer: &mut Viewer, size: u64) -> f64 {
    viewer.show(View::Events);
    let windows = [(View::Events, WINDOW.0, WINDOW.1)];
    viewer.prepare(&windows);
    let mut random = fastrand::Rng::with_seed(7);
    let began = Instant::now();
    for _ in 0..REPEATS {
        viewer.go_to(Seq(random.u64(1..=size)));
        viewer.prepare(&windows);
        black_box(viewer.window(View::Events));
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(REPEATS)
}

/// All frames that a filter needs to search the Events view.
fn filter(viewer: &mut Viewer, size: u64) -> f64 {
    let windows = [(View::Events, WINDOW.0, WINDOW.1)];
    let began = Instant::now();
    viewer.filter("999");
    loop {
        viewer.prepare(&windows);
        if viewer
            .hidden()
            .is_some_and(|(_, all, accesses)| accesses >= all)
        {
            break;
        }
    }
    let cost = began.elapsed().as_nanos() as f64 / size as f64;
    viewer.filter("");
    cost
}

/// All steps that are needed to show the stream at an earlier moment.
fn moments(viewer: &mut Viewer, size: u64) -> f64 {
    let windows = [(View::Events, WINDOW.0, WINDOW.1)];
    let mut random = fastrand::Rng::with_seed(7);
    let times = 5;
    let began = Instant::now();
    for _ in 0..times {
        viewer.seek_to(Seq(random.u64(1..=size)));
        viewer.prepare(&windows);
        while viewer.is_seeking() {
            viewer.prepare(&windows);
        }
        viewer.return_to_present();
    }
    began.elapsed().as_secs_f64() * 1e3 / f64::from(times)
}
