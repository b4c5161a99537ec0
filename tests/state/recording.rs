//! Recordings round-trip: reading returns exactly the records that were written.

use jiff::Timestamp;
use proptest::prelude::*;
use runtail_stream::{
    Chain, ChainCheck, Data, End, Event, Head, LineParser, Lines, Outcome, Reader, Record,
    RunRecord, Seq, write_record,
};

fn at() -> impl Strategy<Value = Timestamp> {
    (0i64..4_000_000_000_000_000).prop_map(|us| Timestamp::from_microsecond(us).unwrap())
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_string()),
        "-?[1-9][0-9]{0,20}(\\.[0-9]{1,9})?(e[+-]?[0-9]{1,2})?",
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
        Just("\"\\ud83d \\u00e9\"".to_string()),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|v| format!("[{}]", v.join(" , "))),
            proptest::collection::vec((any::<String>(), inner), 0..4).prop_map(|v| {
                let fields: Vec<_> = v
                    .iter()
                    .map(|(k, v)| format!("{}: {v}", serde_json::to_string(k).unwrap()))
                    .collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![
        4 => json().prop_map(|text| Data::Json(text.into())),
        1 => any::<String>().prop_map(|text| Data::Malformed(text.into())),
        // The reader rejects larger sizes.
        1 => (0..=1_u64 << 40, any::<String>()).prop_map(|(size, head)| Data::TooLarge { size, head: head.into() }),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![
        Outcome::Success,
        Outcome::Error,
        Outcome::Interrupted,
        Outcome::Cancelled,
        Outcome::Timeout,
        Outcome::Detached,
        Outcome::Unknown,
    ])
}

fn record() -> impl Strategy<Value = Record> {
    let text = || any::<String>();
    prop_oneof![
        (
            at(),
            text(),
            any::<Option<String>>(),
            any::<Option<String>>(),
            proptest::collection::vec(text(), 0..3)
        )
            .prop_map(|(at, server, thread_id, run_id, modes)| Record::Head(Head {
                at,
                server,
                thread_id,
                run_id,
                modes
            })),
        (at(), any::<u32>(), any::<u16>(), any::<Option<String>>()).prop_map(
            |(at, conn, status, resumed_after)| Record::Open {
                at,
                conn,
                status,
                resumed_after
            }
        ),
        (
            at(),
            any::<(u64, bool)>(),
            text(),
            proptest::collection::vec("[^|]{0,8}", 0..3),
            any::<Option<String>>(),
            data()
        )
            .prop_map(
                |(at, (seq, replayed), name, ns, id, data)| Record::Event(Event {
                    seq: Seq(seq),
                    at,
                    conn: 1,
                    replayed,
                    name: name.into(),
                    ns: ns.into_iter().map(Into::into).collect(),
                    id: id.map(Into::into),
                    data,
                })
            ),
        (at(), any::<u32>(), text()).prop_map(|(at, conn, reason)| Record::Close {
            at,
            conn,
            reason
        }),
        (at(), text()).prop_map(|(at, why)| Record::Gap { at, why }),
        (
            at(),
            text(),
            text(),
            any::<[Option<String>; 2]>(),
            proptest::option::of(outcome())
        )
            .prop_map(|(at, run_id, status, [assistant_id, detail], outcome)| {
                let (started_at, ended_at) = (Some(at), None);
                Record::Run(RunRecord {
                    at,
                    run_id,
                    status,
                    started_at,
                    ended_at,
                    assistant_id,
                    outcome,
                    detail,
                })
            }),
        (
            at(),
            outcome(),
            any::<Option<String>>(),
            any::<(u64, u64, u32, u64, u64, u64)>()
        )
            .prop_map(
                |(
                    at,
                    outcome,
                    detail,
                    (events, bytes, connections, duplicates, gaps, malformed),
                )| Record::End(End {
                    at,
                    outcome,
                    detail,
                    events,
                    bytes,
                    connections,
                    duplicates,
                    gaps,
                    malformed,
                })
            ),
    ]
}

fn with_hash_chain(records: &[Record]) -> Vec<u8> {
    let (mut text, mut chain) = (Vec::new(), Chain::default());
    for record in records {
        let from = text.len();
        write_record(&mut text, record).unwrap();
        chain.seal(&mut text, from);
    }
    text
}

/// Checks the hash chain of each line, and returns the results and the final seal.
fn audit(text: &[u8]) -> (Vec<ChainCheck>, String) {
    let mut lines = Lines::new(std::io::Cursor::new(text.to_vec())).unwrap();
    let (mut chain, mut parser, mut found) = (Chain::default(), LineParser::default(), Vec::new());
    while lines.advance().unwrap() {
        let _ = lines.parse(&mut parser);
        if !lines.was_truncated() {
            found.push(chain.check(lines.bytes()));
        }
    }
    (found, chain.seal_text())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn truncated_recordings_return_complete_lines(records in proptest::collection::vec(record(), 1..6)) {
        let text = with_hash_chain(&records);
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &text).collect();
        for cut in 0..=text.len() {
            let mut reader = Reader::new(std::io::Cursor::new(text[..cut].to_vec())).unwrap();
            let read: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
            // A line that is missing only its newline is complete.
            let whole = ends.iter().filter(|end| **end <= cut).count();
            prop_assert_eq!(&read, &records[..whole], "cut at {}", cut);
            let is_clean = cut == 0 || ends.iter().any(|end| *end == cut || *end + 1 == cut);
            prop_assert_eq!(reader.was_truncated(), !is_clean, "cut at {}", cut);
            let (links, _) = audit(&text[..cut]);
            prop_assert!(links.len() == whole && links.iter().all(|link| *link == ChainCheck::Yes));
        }
    }

    #[test]
    fn truncated_gzip_recordings_return_complete_lines_and_are_reported(records in proptest::collection::vec(record(), 1..6)) {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for record in &records {
            std::io::Write::write_all(&mut packed, &with_hash_chain(std::slice::from_ref(record))).unwrap();
            std::io::Write::flush(&mut packed).unwrap();
        }
        let bytes = packed.finish().unwrap();
        let mut most = 0;
        for cut in 1..=bytes.len() {
            let mut reader = Reader::new(std::io::Cursor::new(bytes[..cut].to_vec())).unwrap();
            let read: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
            prop_assert_eq!(&read, &records[..read.len()]);
            prop_assert!(read.len() >= most);
            most = read.len();
            prop_assert_eq!(reader.was_truncated(), cut < bytes.len(), "cut at {} of {}", cut, bytes.len());
        }
        prop_assert_eq!(most, records.len());
    }

    #[test]
    fn every_edit_breaks_the_hash_chain(records in proptest::collection::vec(record(), 1..6), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let text = with_hash_chain(&records);
        let (links, seal) = audit(&text);
        prop_assert!(links.len() == records.len() && links.iter().all(|link| *link == ChainCheck::Yes));
        let mut edited = text.clone();
        let at = at.index(text.len());
        edited[at] = to;
        let (links, other) = audit(&edited);
        // White space around a line doesn't belong to it.
        let is_same = text.trim_ascii() == edited.trim_ascii() || (text[at] == b'\n' && to.is_ascii_whitespace());
        let is_whole = links.len() == records.len() && links.iter().all(|link| *link == ChainCheck::Yes) && other == seal;
        prop_assert!(is_same || !is_whole);
    }
}

proptest! {
    #[test]
    fn recordings_round_trip(records in proptest::collection::vec(record(), 0..20), gzip in any::<bool>()) {
        let mut lines = Vec::new();
        for record in &records {
            write_record(&mut lines, record).unwrap();
        }
        prop_assert_eq!(lines.iter().filter(|b| **b == b'\n').count(), records.len());
        for line in lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            // Lone surrogates are valid as raw JSON, but not as decoded strings.
            let value: serde_json::Result<&serde_json::value::RawValue> = serde_json::from_slice(line);
            prop_assert!(value.is_ok());
        }
        if gzip {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut packed, &lines).unwrap();
            lines = packed.finish().unwrap();
        }
        let mut reader = Reader::new(std::io::Cursor::new(lines)).unwrap();
        let read: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert_eq!(read, records);
        prop_assert!(!reader.was_truncated());
    }

    #[test]
    fn readers_survive_random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>(), one in record()) {
        let _ = Reader::new(std::io::Cursor::new(bytes)).map(|r| r.count());
        let mut line = Vec::new();
        write_record(&mut line, &one).unwrap();
        line.truncate(cut.index(line.len()));
        let mut reader = Reader::new(std::io::Cursor::new(line)).unwrap();
        let whole: Vec<_> = reader.by_ref().collect();
        // A record that is cut just before its newline is complete.
        prop_assert!(whole.is_empty() || whole.len() == 1 && whole[0].as_ref().unwrap() == &one);
    }
}
