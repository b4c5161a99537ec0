//! The order of lines, eviction, and the position of a paused cursor.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const HEIGHT: usize = 3;

fn source(name: &str) -> LogSource {
    LogSource {
        profile: "p".into(),
        name: name.into(),
        scope: LogScope {
            deployment: name.into(),
            revision: None,
            kind: LogKind::Server,
        },
        revision: None,
        loaded_at: None,
        error: None,
    }
}

fn view(names: &[&str]) -> LogView {
    LogView::new(
        1,
        LogKind::Server,
        names.iter().map(|name| source(name)).collect(),
    )
}

fn line(second: i64, message: &str) -> LogLine {
    LogLine {
        at: Timestamp::from_second(second).ok(),
        ..untimed(message)
    }
}

fn untimed(message: &str) -> LogLine {
    LogLine {
        message: message.into(),
        ..LogLine::default()
    }
}

fn take(view: &mut LogView, source: usize, lines: Vec<LogLine>) {
    view.take(source, Ok(lines), Timestamp::UNIX_EPOCH);
    view.clamp(HEIGHT);
}

fn messages(view: &LogView) -> Vec<String> {
    (0..view.rows().end)
        .filter_map(|row| Some(view.entry(row)?.line.message.to_string()))
        .collect()
}

fn pause(view: &mut LogView, rows: isize) {
    view.clamp(HEIGHT);
    let flat = view.rows();
    view.place.step(&flat, HEIGHT, -rows);
    view.clamp(HEIGHT);
}

#[test]
fn extra_fields_count_toward_the_limit() {
    let mut view = view(&["a"]);
    view.limits = Limits {
        lines: 100,
        slack: 0,
        bytes: 4000,
    };
    let wide = |n: usize| {
        LogLine::from(json!({"message": format!("line {n}"), "trace": {"of": ["x".repeat(500)]}}))
    };
    take(&mut view, 0, (0..10).map(wide).collect());
    assert!(
        view.bytes <= 4000 && view.counts().0 < 8,
        "{} bytes of {:?}",
        view.bytes,
        view.counts()
    );
    assert_eq!(view.let_go as usize + view.counts().0, 10);
    take(
        &mut view,
        0,
        vec![LogLine::from(
            json!({"message": "x", "trace": "y".repeat(5000)}),
        )],
    );
    assert!(
        view.counts().0 > 0,
        "a line above the limit does not evict the others"
    );
}

#[test]
fn lines_of_several_logs_are_sorted_by_time() {
    let mut view = view(&["a", "b"]);
    take(&mut view, 0, vec![line(1, "a1"), line(5, "a5")]);
    take(&mut view, 1, vec![line(2, "b2"), line(5, "b5")]);
    assert_eq!(messages(&view), ["a1", "b2", "a5", "b5"]);
    view.set_filter("from:b");
    assert_eq!(messages(&view), ["b2", "b5"]);
    view.set_filter("!b2 5");
    assert_eq!(messages(&view), ["a5", "b5"]);
}

#[test]
fn different_clocks_do_not_change_the_order() {
    const HOUR: i64 = 3600;
    let mut view = view(&["a", "b"]);
    view.set_skew(1, SignedDuration::from_secs(-HOUR));
    take(
        &mut view,
        0,
        vec![line(HOUR + 1, "a1"), line(HOUR + 4, "a4")],
    );
    take(&mut view, 1, vec![line(2, "b2"), line(5, "b5")]);
    assert_eq!(messages(&view), ["a1", "b2", "a4", "b5"]);
    assert_eq!(
        view.entry(1).and_then(|e| e.line.at),
        Timestamp::from_second(2).ok(),
        "shown by the server's clock"
    );
    // The offset is known only after lines arrived; the cursor stays on its line.
    let mut late = self::view(&["a", "b"]);
    take(
        &mut late,
        0,
        vec![line(HOUR + 1, "a1"), line(HOUR + 4, "a4")],
    );
    take(
        &mut late,
        1,
        vec![line(2, "b2"), untimed("b2+"), line(5, "b5")],
    );
    pause(&mut late, 4);
    assert_eq!(late.under_cursor().map(|e| &*e.line.message), Some("b2"));
    late.set_skew(1, SignedDuration::from_secs(-HOUR));
    assert_eq!(messages(&late), ["a1", "b2", "b2+", "a4", "b5"]);
    assert_eq!(late.under_cursor().map(|e| &*e.line.message), Some("b2"));
    // A new request keeps the offset, and a difference of a second is ignored.
    let mut again = late.again(2);
    again.set_skew(1, SignedDuration::from_secs(-HOUR + 1));
    take(&mut again, 0, vec![line(HOUR + 2, "a2")]);
    take(&mut again, 1, vec![line(2, "b2")]);
    assert_eq!(messages(&again), ["a2", "b2"]);
}

#[test]
fn a_line_without_a_time_stays_with_the_previous_line_of_its_log() {
    let mut view = view(&["a", "b", "c"]);
    take(
        &mut view,
        0,
        vec![untimed("a0"), line(3, "a3"), untimed("a3+")],
    );
    take(&mut view, 1, vec![line(1, "b1"), line(4, "b4")]);
    assert_eq!(
        messages(&view),
        ["b1", "a0", "a3", "a3+", "b4"],
        "it does not hold back lines of other logs"
    );
    take(&mut view, 0, vec![untimed("a3++"), line(5, "a5")]);
    assert_eq!(
        messages(&view),
        ["b1", "a0", "a3", "a3+", "a3++", "b4", "a5"]
    );
    // A log without any times.
    take(&mut view, 2, vec![untimed("c1"), untimed("c2")]);
    take(&mut view, 1, vec![line(9, "b9")]);
    take(&mut view, 2, vec![untimed("c3")]);
    assert_eq!(messages(&view)[6..], ["a5", "c1", "c2", "b9", "c3"]);
}

#[test]
fn lines_are_evicted_above_the_byte_limit() {
    const MIB: usize = 1 << 20;
    let big = |n: i64| line(n, &n.to_string().repeat(MIB / n.to_string().len()));
    let mut view = view(&["a"]);
    take(&mut view, 0, (10..50).map(big).collect());
    assert_eq!((view.counts().0, view.let_go), (32, 8));
    assert!(messages(&view)[0].starts_with("1818"));
    take(&mut view, 0, vec![line(50, "small")]);
    take(
        &mut view,
        0,
        vec![line(51, &"x".repeat(33 * MIB)), line(52, "last")],
    );
    assert_eq!(
        view.let_go, 10,
        "a line above the limit evicts no other line"
    );
    assert_eq!(messages(&view)[31..], ["small", "last"]);
}

#[test]
fn the_position_is_restored_after_a_filter_without_matches() {
    let mut view = view(&["a"]);
    take(
        &mut view,
        0,
        (0..40)
            .map(|n| line(n, if n % 10 == 0 { "ten" } else { "x" }))
            .collect(),
    );
    pause(&mut view, 15);
    let was = view.under_cursor().map(|e| e.number);
    for filter in ["t", "tq", "t", ""] {
        view.set_filter(filter);
        view.clamp(HEIGHT);
    }
    let is = view.under_cursor().map(|e| e.number);
    assert_eq!(
        (was, is),
        (Some(24), Some(30)),
        "the next line that contains a t"
    );
    // All matching lines fit on the screen.
    view.set_filter("ten");
    view.clamp(4);
    assert_eq!(
        (view.counts().1, view.place.top.key, view.place.cursor.key),
        (4, 0, 3)
    );
}

/// A change of a view.
#[derive(Debug, Clone)]
enum Step {
    Take(usize, Vec<(Option<i64>, usize)>),
    Filter(&'static str),
    Skew(usize, i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lines = proptest::collection::vec(
        (proptest::option::weighted(0.8, 0i64..100), 0usize..5),
        0..6,
    );
    let filter = proptest::sample::select(vec!["", "", "x", "from:a", "!xxx", "nothing"]);
    let step = prop_oneof![
        6 => (0usize..2, lines).prop_map(|(source, lines)| Step::Take(source, lines)),
        2 => filter.prop_map(Step::Filter),
        1 => (0usize..2, -50i64..50).prop_map(|(source, skew)| Step::Skew(source, skew)),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    /// A paused cursor stays on its line when lines are added before or after it. If the line is evicted or filtered out, the
    /// cursor moves to the next one.
    #[test]
    fn a_paused_cursor_stays_on_its_line(steps in steps(), pause_at in 0usize..10, up in 1isize..8) {
        let mut view = view(&["a", "b"]);
        view.limits = Limits { lines: 12, slack: 3, bytes: 40 };
        let (mut sent, mut paused) = (0, None);
        for (i, step) in steps.into_iter().enumerate() {
            if i == pause_at {
                pause(&mut view, up);
                paused = (!view.place.follow).then_some(view.next_number);
            }
            let was = view.under_cursor().map(LogEntry::order);
            match step {
                Step::Take(source, lines) => {
                    sent += lines.len();
                    let line = |(second, x): (Option<i64>, usize)| {
                        LogLine { at: second.and_then(|s| Timestamp::from_second(s).ok()), ..untimed(&"x".repeat(x)) }
                    };
                    take(&mut view, source, lines.into_iter().map(line).collect());
                }
                Step::Filter(text) => view.set_filter(text),
                Step::Skew(source, skew) => view.set_skew(source, SignedDuration::from_secs(skew)),
            }
            view.clamp(HEIGHT);
            let shown: Vec<&LogEntry> = (0..view.rows().end).filter_map(|row| view.entry(row)).collect();
            if let (Some(seen), Some((key, number))) = (paused, was) {
                // A new clock offset moves the line itself.
                let key = view.entries.iter().find(|e| e.number == number).map_or(key, |e| e.key);
                let wanted = shown.iter().find(|e| e.order() >= (key, number)).or(shown.last());
                prop_assert_eq!(view.under_cursor().map(|e| e.number), wanted.map(|e| e.number));
                prop_assert_eq!(view.new_entries(), shown.iter().filter(|e| e.number >= seen).count() as u64);
            } else if paused.is_none() {
                prop_assert_eq!(view.new_entries(), 0);
            }
            prop_assert!(view.entries.is_sorted_by(|a, b| a.order() < b.order()));
            prop_assert_eq!(view.bytes, view.entries.iter().map(|e| e.line.message.len()).sum::<usize>());
            prop_assert!(view.bytes <= 40 && view.entries.len() <= 15);
            prop_assert_eq!(view.let_go as usize + view.entries.len(), sent);
        }
    }

    /// The order of lines does not depend on how they are batched.
    #[test]
    fn batches_do_not_change_the_order(lines in proptest::collection::vec((0i64..20, 0usize..2), 0..60), size in 1usize..20) {
        let mut view = view(&["a", "b"]);
        for batch in lines.chunks(size) {
            for source in 0..2 {
                let of = batch.iter().filter(|(_, from)| *from == source).map(|(second, _)| line(*second, "x"));
                take(&mut view, source, of.collect());
            }
        }
        let mut expected = view.entries.clone();
        expected.sort_by_key(|e| (e.line.at, e.number));
        let numbers = |entries: &[LogEntry]| entries.iter().map(|e| e.number).collect::<Vec<_>>();
        prop_assert_eq!(numbers(&view.entries), numbers(&expected));
        prop_assert_eq!(view.entries.len(), lines.len());
    }
}
