//! The v2 event protocol inside legacy streams: every projection matches that of the legacy events of the same graph, and
//! unknown events are kept and shown raw.

use runtail_stream::projection::{EventAttrs, LifecycleKind, Projections};
use runtail_stream::{Decoder, Frame, Framer, Item, Record, Seq};
use runtail_testkit::made;

fn projected(name: &str) -> Projections {
    let path = format!("{}/tests/captures/{name}.sse", env!("CARGO_MANIFEST_DIR"));
    let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
    framer.push(std::fs::read(path).expect("a capture").into());
    let (mut projections, mut seq) = (Projections::default(), 0);
    while let Some(frame) = framer.next_frame() {
        if let Frame::Block(block) = frame
            && let Some(decoded) = decoder.decode(block)
        {
            seq += 1;
            let event = decoded.at(Seq(seq), jiff::Timestamp::UNIX_EPOCH, 1, false);
            projections.apply(&Item::Record(Record::Event(event)));
        }
    }
    projections
}

/// Returns the states in order: namespace, keys, and which keys changed.
fn states(projections: &Projections) -> Vec<String> {
    let state = |s: &runtail_stream::projection::Snapshot| {
        let keys: Vec<_> = s
            .keys
            .iter()
            .map(|k| format!("{}{}", k.name, if k.changed { "!" } else { "" }))
            .collect();
        format!("{}: {}", s.ns.join("/"), keys.join(" "))
    };
    projections.values.rows().iter().map(state).collect()
}

fn updates(projections: &Projections) -> Vec<String> {
    let row = |r: &runtail_stream::projection::UpdateRow| {
        format!(
            "{}: {}",
            r.node,
            r.keys
                .iter()
                .map(|k| k.0.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        )
    };
    projections.updates.rows().iter().map(row).collect()
}

fn kinds(projections: &Projections) -> Vec<LifecycleKind> {
    projections
        .lifecycle
        .rows()
        .iter()
        .map(|r| r.kind)
        .collect()
}

#[test]
fn states_match_in_both_dialects() {
    let legacy = states(&projected("legacy-run-for-v2"));
    assert_eq!(legacy, [": messages!"; 4]);
    for name in [
        "legacy-stream-of-v2-run",
        "v2-events-agent",
        "v2-sees-legacy-run",
    ] {
        assert_eq!(states(&projected(name)), legacy, "{name}");
    }
    // This join begins after the interrupt was answered, so the first state is missing.
    assert_eq!(projected("legacy-join-all-of-v2").values.rows().len(), 3);
}

#[test]
fn updates_match_in_both_dialects() {
    let legacy = updates(&projected("legacy-run-for-v2"));
    assert_eq!(
        legacy,
        ["chat: messages", "tools: messages", "chat: messages"]
    );
    assert_eq!(updates(&projected("v2-sees-legacy-run")), legacy);
}

#[test]
fn run_start_and_end_match_in_both_dialects() {
    use LifecycleKind::{Interrupt, RunDone, RunStart};
    // Only a thread's stream reports the end; a run's own stream just closes.
    assert_eq!(kinds(&projected("legacy-run-for-v2")), [RunStart]);
    for name in [
        "legacy-stream-of-v2-run",
        "v2-events-agent",
        "v2-sees-legacy-run",
    ] {
        assert_eq!(kinds(&projected(name)), [RunStart, RunDone], "{name}");
    }
    assert_eq!(kinds(&projected("legacy-join-all-of-v2")), [RunStart]);
    let asks = projected("v2-events-approval");
    assert!(kinds(&asks).contains(&Interrupt), "{:?}", kinds(&asks));
    assert!(kinds(&projected("v2-events-broken")).contains(&LifecycleKind::Error));
}

#[test]
fn unknown_events_are_kept_and_shown_raw() {
    let event =
        |seq, name: &str, data: &str| made::event(seq, jiff::Timestamp::UNIX_EPOCH, name, data);
    let mut projections = Projections::default();
    let novel = [
        ("novel", "{\"a\":1}"),
        ("novel/deep", "null"),
        (
            "values",
            "{\"type\":\"event\",\"method\":\"novel\",\"params\":{\"namespace\":[],\"data\":{\"b\":2}}}",
        ),
    ];
    for (seq, (name, data)) in (1..).zip(novel) {
        let event = event(seq, name, data);
        assert!(EventAttrs::of(&event, &projections).is_custom(), "{name}");
        projections.apply(&Item::Record(Record::Event(event)));
    }
    assert_eq!(
        (
            projections.delivery.received,
            projections.values.rows().len()
        ),
        (3, 0)
    );
}
