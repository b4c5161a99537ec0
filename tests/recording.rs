//! A recording is the tape, exactly: what is written is read again, record by record.

use jiff::Timestamp;
use proptest::prelude::*;
use runtail::stream::{Data, End, Event, Head, Outcome, Reader, Record, write_record};

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
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(" , "))),
            proptest::collection::vec((any::<String>(), inner), 0..4).prop_map(|v| {
                let fields: Vec<_> =
                    v.iter().map(|(k, v)| format!("{}: {v}", serde_json::to_string(k).unwrap())).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

fn data() -> impl Strategy<Value = Data> {
    prop_oneof![
        4 => json().prop_map(|text| Data::Json(text.into())),
        1 => any::<String>().prop_map(|text| Data::Malformed(text.into())),
        1 => (any::<u64>(), any::<String>()).prop_map(|(size, head)| Data::TooLarge { size, head: head.into() }),
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
        (at(), text(), any::<Option<String>>(), any::<Option<String>>(), proptest::collection::vec(text(), 0..3))
            .prop_map(|(at, server, thread_id, run_id, modes)| Record::Tape(Head {
                at,
                server,
                thread_id,
                run_id,
                modes
            })),
        (at(), any::<u32>(), any::<u16>(), any::<Option<String>>())
            .prop_map(|(at, conn, status, resumed_after)| Record::Open { at, conn, status, resumed_after }),
        (at(), any::<u64>(), text(), proptest::collection::vec("[^|]{0,8}", 0..3), any::<Option<String>>(), data())
            .prop_map(|(at, seq, name, ns, id, data)| Record::Event(Event {
                seq,
                at,
                conn: 1,
                name: name.into(),
                ns: ns.into_iter().map(Into::into).collect(),
                id: id.map(Into::into),
                data,
            })),
        (at(), any::<u32>(), text()).prop_map(|(at, conn, reason)| Record::Close { at, conn, reason }),
        (at(), text()).prop_map(|(at, why)| Record::Gap { at, why }),
        (at(), outcome(), any::<Option<String>>(), any::<(u64, u64, u32, u64, u64, u64)>()).prop_map(
            |(at, outcome, detail, (events, bytes, connections, duplicates, gaps, malformed))| Record::End(End {
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

proptest! {
    #[test]
    fn what_is_written_is_read(records in proptest::collection::vec(record(), 0..20), gzip in any::<bool>()) {
        let mut lines = Vec::new();
        for record in &records {
            write_record(&mut lines, record).unwrap();
        }
        prop_assert_eq!(lines.iter().filter(|b| **b == b'\n').count(), records.len());
        for line in lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            // Lone surrogates are JSON to a reader of lines, though not to one that builds texts.
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
        prop_assert!(!reader.was_cut());
    }

    #[test]
    fn readers_survive_anything(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>(), one in record()) {
        let _ = Reader::new(std::io::Cursor::new(bytes)).map(|r| r.count());
        let mut line = Vec::new();
        write_record(&mut line, &one).unwrap();
        line.truncate(cut.index(line.len()));
        let mut reader = Reader::new(std::io::Cursor::new(line)).unwrap();
        let whole: Vec<_> = reader.by_ref().collect();
        // Cut just before its line end a record is whole.
        prop_assert!(whole.is_empty() || whole.len() == 1 && whole[0].as_ref().unwrap() == &one);
    }
}
