//! Logs of servers with different paging, read by random polls, which must return the whole log.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// How a server uses cursors.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cursors {
    /// Every page has one, which identifies the last line sent.
    Always,
    /// Every page but the last has one.
    NoneAtEnd,
    /// A count of the lines sent.
    Counts,
    /// No page has one.
    Never,
    /// Always the same, and ignored.
    Constant,
}

/// A log and its server.
#[derive(Debug, Clone)]
struct Source {
    /// Sorted by time, each with its number in order of arrival.
    lines: Vec<(i64, usize, Value)>,
    cursors: Cursors,
    /// The maximum number of lines per page, regardless of the request.
    cap: usize,
    /// Whether time bounds are exclusive.
    exclusive: bool,
}

impl Source {
    fn new(cursors: Cursors, cap: usize) -> Source {
        Source {
            lines: Vec::new(),
            cursors,
            cap,
            exclusive: false,
        }
    }

    /// Whether a client can request the remaining lines of one time by cursor.
    fn has_cursors(&self) -> bool {
        !matches!(self.cursors, Cursors::Never | Cursors::Constant)
    }

    fn add(&mut self, mut at: i64, name: Option<&str>, message: &str, smallest: usize) {
        let near = |at: i64| {
            self.lines
                .iter()
                .filter(|(other, ..)| (other - at).abs() <= 2)
                .count()
        };
        while !self.has_cursors() && near(at) + 1 >= smallest {
            at += 3;
        }
        let number = self.lines.len();
        let mut row =
            json!({"timestamp": START + at, "level": "INFO", "message": message, "n": number});
        if let Some(name) = name {
            row["id"] = format!("{name}{number}").into();
        }
        let place = self.lines.partition_point(|(other, ..)| *other <= at);
        self.lines.insert(place, (at, number, row));
    }

    fn newest(&self) -> i64 {
        self.lines.last().map_or(0, |(at, ..)| *at)
    }

    fn numbers(&self) -> Vec<usize> {
        self.lines.iter().map(|(_, number, _)| *number).collect()
    }

    fn respond(&self, ask: &LogAsk) -> LogPage {
        let millis = |at: Option<Timestamp>| at.map(|at| at.as_millisecond() - START);
        let (start, end, open) = (millis(ask.start), millis(ask.end), self.exclusive);
        let holds = |at: i64| {
            start.is_none_or(|start| if open { at > start } else { at >= start })
                && end.is_none_or(|end| if open { at < end } else { at <= end })
        };
        let mut lines: Vec<&(i64, usize, Value)> =
            self.lines.iter().filter(|(at, ..)| holds(*at)).collect();
        if ask.newest_first {
            lines.reverse();
        }
        let sent: Option<usize> = ask.cursor.as_deref().and_then(|cursor| cursor.parse().ok());
        let skip = match (sent, self.cursors) {
            (None, _) | (_, Cursors::Constant | Cursors::Never) => 0,
            (Some(count), Cursors::Counts) => count.min(lines.len()),
            (Some(number), _) => lines
                .iter()
                .position(|line| line.1 == number)
                .map_or(0, |i| i + 1),
        };
        let rest = &lines[skip..];
        let page = &rest[..rest.len().min(self.cap).min(ask.limit)];
        let is_last = page.len() == rest.len();
        let cursor = match self.cursors {
            Cursors::Never => None,
            Cursors::Constant => Some("7".to_string()),
            Cursors::NoneAtEnd if is_last => None,
            Cursors::Counts => Some((skip + page.len()).to_string()),
            _ => page
                .last()
                .map(|line| line.1.to_string())
                .or(ask.cursor.clone()),
        };
        LogPage {
            rows: page.iter().map(|line| line.2.clone()).collect(),
            cursor,
        }
    }
}

/// The time of the first line.
const START: i64 = 1_763_596_800_000;

/// Polls once. The poll may fail after some pages, and lines may arrive between pages.
fn poll(
    tail: &mut Tail,
    source: &mut Source,
    fails_after: Option<usize>,
    meanwhile: &[Line],
) -> Option<Vec<usize>> {
    let mut reading = tail.read();
    let mut meanwhile = meanwhile.iter();
    for page in 0.. {
        let Some(ask) = reading.ask() else { break };
        assert!(page < 2000, "the poll never ends");
        if fails_after == Some(page) {
            return None;
        }
        let page = source.respond(ask);
        reading.take(page);
        if let Some(line) = meanwhile.next() {
            // Reading backwards, the order of equal times is unknown.
            let after = if tail.began {
                line.after
            } else {
                line.after.max(1)
            };
            Line {
                after,
                ..line.clone()
            }
            .arrive(source, tail.settings.page);
        }
    }
    Some(
        tail.keep(reading)
            .iter()
            .map(|row| row["n"].as_u64().unwrap() as usize)
            .collect(),
    )
}

#[derive(Debug, Clone)]
struct Line {
    after: i64,
    named: bool,
    message: &'static str,
}

impl Line {
    fn arrive(&self, source: &mut Source, page: usize) {
        let smallest = source.cap.min(page);
        source.add(
            source.newest() + self.after,
            self.named.then_some("id"),
            self.message,
            smallest,
        );
    }
}

#[derive(Debug, Clone)]
enum Step {
    Lines(Vec<Line>),
    /// A line that arrives this many milliseconds late.
    Late(i64),
    Poll {
        fails_after: Option<usize>,
        meanwhile: Vec<Line>,
    },
}

fn line() -> impl Strategy<Value = Line> {
    let after = prop_oneof![5 => Just(0), 2 => 1..4i64, 2 => 5..3000i64, 1 => Just(14_000)];
    (after, any::<bool>(), prop_oneof![Just("a"), Just("b")]).prop_map(|(after, named, message)| {
        Line {
            after,
            named,
            message,
        }
    })
}

fn step(late: u32) -> impl Strategy<Value = Step> {
    let fails = prop_oneof![3 => Just(None), 1 => (0..4usize).prop_map(Some)];
    let meanwhile = prop::collection::vec(line(), 0..3);
    prop_oneof![
        4 => prop::collection::vec(line(), 0..12).prop_map(Step::Lines),
        late => (1..9000i64).prop_map(Step::Late),
        4 => (fails, meanwhile).prop_map(|(fails_after, meanwhile)| Step::Poll { fails_after, meanwhile }),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    let cursors = prop_oneof![
        Just(Cursors::Always),
        Just(Cursors::NoneAtEnd),
        Just(Cursors::Counts),
        Just(Cursors::Never),
        Just(Cursors::Constant),
    ];
    (cursors, 2..20usize, any::<bool>()).prop_map(|(cursors, cap, exclusive)| Source {
        exclusive,
        // Without a cursor, a client can't know that a page was limited by the server.
        ..Source::new(
            cursors,
            if cursors == Cursors::Never {
                usize::MAX
            } else {
                cap
            },
        )
    })
}

/// Runs the steps. Returns the batches, and the number of lines before the first successful poll.
fn play(tail: &mut Tail, source: &mut Source, steps: &[Step]) -> (Vec<Vec<usize>>, usize) {
    let page = tail.settings.page;
    let mut batches = Vec::new();
    let mut before = 0;
    for step in steps {
        match step {
            Step::Lines(lines) => lines.iter().for_each(|line| line.arrive(source, page)),
            Step::Late(by) if !source.lines.is_empty() => {
                source.add(source.newest() - by, None, "late", source.cap.min(page));
            }
            Step::Late(_) => {}
            Step::Poll {
                fails_after,
                meanwhile,
            } => {
                // Counted backwards, every position moves when a line arrives.
                let no_arrivals = source.cursors == Cursors::Counts && batches.is_empty();
                let meanwhile = if no_arrivals {
                    &[]
                } else {
                    meanwhile.as_slice()
                };
                let length = source.lines.len();
                if let Some(batch) = poll(tail, source, *fails_after, meanwhile) {
                    before = if batches.is_empty() { length } else { before };
                    batches.push(batch);
                }
            }
        }
    }
    batches.extend(poll(tail, source, None, &[]));
    batches.extend(poll(tail, source, None, &[]));
    (batches, before)
}

proptest! {
    #[test]
    fn polls_return_the_whole_log_once(mut source in source(), page in 4..12usize,
                                 steps in prop::collection::vec(step(0), 1..14)) {
        let mut tail = Tail::new(&LogFilter::default(), usize::MAX, page);
        let (batches, _) = play(&mut tail, &mut source, &steps);
        prop_assert_eq!(batches.concat(), source.numbers());
    }

    #[test]
    fn late_lines_are_returned_once(mut source in source(), page in 4..12usize,
                                    steps in prop::collection::vec(step(2), 1..14)) {
        let mut tail = Tail::new(&LogFilter::default(), usize::MAX, page);
        let (batches, _) = play(&mut tail, &mut source, &steps);
        let mut all = batches.concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..source.lines.len()).collect::<Vec<_>>());
    }

    #[test]
    fn tail_starts_with_the_newest_lines(mut source in source(), page in 4..12usize, wanted in 0..30usize,
                                 lines in prop::collection::vec(line(), 0..60),
                                 steps in prop::collection::vec(step(0), 1..8)) {
        lines.iter().for_each(|line| line.arrive(&mut source, page));
        let mut tail = Tail::new(&LogFilter::default(), wanted, page);
        let first = poll(&mut tail, &mut source, None, &[]).unwrap();
        let from = source.lines.len().saturating_sub(wanted);
        prop_assert_eq!(&first[..], &source.numbers()[from..]);
        let (batches, _) = play(&mut tail, &mut source, &steps);
        prop_assert_eq!([first, batches.concat()].concat(), &source.numbers()[from..]);
    }
}

/// Creates a log of this many lines, 1s apart.
fn seconds(cursors: Cursors, count: usize) -> Source {
    let mut source = Source::new(cursors, usize::MAX);
    (0..count).for_each(|_| source.add(source.newest() + 1000, None, "x", 100));
    source
}

fn asks(tail: &Tail, source: &Source) -> Vec<LogAsk> {
    let mut reading = tail.read();
    std::iter::from_fn(|| {
        let ask = reading.ask()?.clone();
        reading.take(source.respond(&ask));
        Some(ask)
    })
    .collect()
}

#[test]
fn quiet_polls_send_one_request_by_the_servers_clock() {
    let mut source = seconds(Cursors::Never, 300);
    let mut tail = Tail::new(&LogFilter::default(), 10, 100);
    assert_eq!(
        asks(&tail, &source),
        [LogAsk {
            newest_first: true,
            limit: 100,
            ..LogAsk::default()
        }]
    );
    assert_eq!(
        poll(&mut tail, &mut source, None, &[]).unwrap(),
        (290..300).collect::<Vec<_>>()
    );
    let [ask] = &asks(&tail, &source)[..] else {
        panic!("one request")
    };
    let start = ask.start.unwrap().as_millisecond() - START;
    assert!(
        !ask.newest_first && (200_000..290_000).contains(&start),
        "{ask:?}"
    );
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [0; 0]);
}

#[test]
fn memory_is_bounded() {
    let mut source = Source::new(Cursors::Always, 100);
    let mut tail = Tail::new(&LogFilter::default(), 0, 100);
    let mut count = 0;
    for _ in 0..60 {
        (0..100).for_each(|n| source.add(source.newest() + i64::from(n % 7 == 0), None, "x", 1));
        count += poll(&mut tail, &mut source, None, &[]).unwrap().len();
        assert!(tail.handled.len() <= MOST + 7, "{}", tail.handled.len());
    }
    assert_eq!(
        count, 5900,
        "the lines of the first poll were not requested"
    );
}

#[test]
fn lines_from_the_future_do_not_stop_the_log() {
    let mut source = seconds(Cursors::Never, 80);
    let mut tail = Tail::new(&LogFilter::default(), 0, 100);
    poll(&mut tail, &mut source, None, &[]).unwrap();
    source.add(1_000_000_000, None, "from 2025 and some days", 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [80]);
    source.add(81_000, None, "x", 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [81]);
}

#[test]
fn times_with_more_lines_than_a_page_do_not_stop_the_log() {
    let mut source = Source::new(Cursors::Always, usize::MAX);
    (0..150).for_each(|_| source.add(1000, None, "x", 1));
    source.add(2000, None, "x", 1);
    let mut tail = Tail::new(&LogFilter::default(), usize::MAX, 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap().len(), 151);
    assert!(!tail.is_incomplete());
    // Without a cursor the other 50 lines can't be requested, which is reported, and the log continues.
    source.cursors = Cursors::Never;
    let mut tail = Tail::new(&LogFilter::default(), usize::MAX, 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap().len(), 101);
    assert!(tail.is_incomplete());
    source.add(3000, None, "x", 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [151]);
}

#[test]
fn filters_unknown_to_the_server_are_applied_locally() {
    let row = |n: usize, level: Value| json!({"timestamp": START + n as i64 * 60_000, "level": level, "n": n});
    let levels = [
        json!("info"),
        json!("ERROR"),
        json!(null),
        json!("odd"),
        json!("WARN"),
        json!("FATAL"),
    ];
    let mut source = Source::new(Cursors::Never, usize::MAX);
    source.lines = (0..600)
        .map(|n| {
            (
                n as i64 * 60_000,
                n,
                row(n, levels[n % levels.len()].clone()),
            )
        })
        .collect();
    let since = Timestamp::from_millisecond(START + 60_000 * 12).ok();
    let filter = LogFilter {
        level: Some(Severity::Error),
        since,
        ..LogFilter::default()
    };
    let mut tail = Tail::new(&filter, usize::MAX, 100);
    let is_expected = |n: &usize| matches!(n % 6, 1 | 2 | 3 | 5);
    assert_eq!(
        poll(&mut tail, &mut source, None, &[]).unwrap(),
        (12..600).filter(is_expected).collect::<Vec<_>>()
    );
    let mut tail = Tail::new(&filter, 120, 100);
    assert_eq!(
        poll(&mut tail, &mut source, None, &[]).unwrap().len(),
        120,
        "counted after the filter"
    );
    source
        .lines
        .push((3.6e10 as i64, 600, row(600, json!("CRITICAL"))));
    source
        .lines
        .push((3.7e10 as i64, 601, row(601, json!("INFO"))));
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [600]);
}

#[test]
fn logs_without_times_are_followed_by_cursor() {
    let mut source = Source::new(Cursors::Always, 20);
    let add = |source: &mut Source, count: usize| {
        for n in source.lines.len()..source.lines.len() + count {
            source
                .lines
                .push((0, n, json!({"message": "again", "n": n})));
        }
    };
    add(&mut source, 130);
    let mut tail = Tail::new(&LogFilter::default(), 5, 100);
    assert_eq!(
        poll(&mut tail, &mut source, None, &[]).unwrap(),
        [125, 126, 127, 128, 129]
    );
    add(&mut source, 30);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap().len(), 30);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap().len(), 0);
}

#[test]
fn late_lines_are_returned_after_a_short_first_poll() {
    let mut source = Source::new(Cursors::Never, usize::MAX);
    (0..500).for_each(|_| source.add(source.newest() + 10, None, "x", 100));
    let mut tail = Tail::new(&LogFilter::default(), 1, 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [499]);
    source.add(source.newest() - 1500, None, "late", 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [500]);
    // Lines older than the window are assumed to be known.
    source.add(source.newest() - 4500, None, "too late", 100);
    assert_eq!(poll(&mut tail, &mut source, None, &[]).unwrap(), [0; 0]);
}
