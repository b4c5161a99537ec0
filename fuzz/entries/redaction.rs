//! A redacted recording contains no keys and is a valid recording.

use super::{check_round_trip, decoded};
use jiff::Timestamp;
use runtail_stream::projection::{Found, Joined, Rules};
use runtail_stream::{Data, Event, LineParser, Record, Seq, is_json};

/// Keys of kinds that are always removed.
const KEYS: [&str; 4] = [
    "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789",
    "sk-proj-0123456789abcdef0123456789",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIA0123456789ABCDEF",
];

/// Redacts the events of a stream with a key inserted into their data.
pub fn redact(data: &[u8]) {
    let (chunks, body) = super::chunks(data);
    let rules = Rules::new(&[], &[]).expect("the rules that always apply");
    let mut parser = LineParser::default();
    let (events, _) = decoded(chunks);
    let record = |(seq, event): (u64, runtail_stream::Decoded)| {
        Record::Event(event.at(Seq(seq), Timestamp::UNIX_EPOCH, 1, false))
    };
    let records: Vec<Record> = (1..).zip(events).map(record).collect();
    let mut joined = Joined::new(&rules);
    (1..)
        .zip(&records)
        .for_each(|(number, record)| joined.read(number, record));
    let found = joined.finish();
    for (number, record) in (1..).zip(records) {
        let Record::Event(event) = redacted(&rules, record, &found, number) else {
            panic!("another record")
        };
        assert_eq!(event.seq, Seq(number));
        if let Data::Json(text) = &event.data {
            assert!(is_json(text), "not JSON after redaction: {text}");
        }
        check_round_trip(&mut parser, &Record::Event(event));
    }
    let rest = String::from_utf8_lossy(body);
    let key = KEYS[data.len() % KEYS.len()];
    let middle = (0..=rest.len() / 2)
        .rev()
        .find(|at| rest.is_char_boundary(*at))
        .unwrap_or(0);
    let (before, after) = rest.split_at(middle);
    for text in [
        format!("{key}{}", delimited(after)),
        format!("{} {key} {after}", before.trim_end()),
    ] {
        let quoted = serde_json::to_string(&text).expect("a string");
        let cases = [
            Data::Json(format!("{{\"messages\":[{{\"content\":{quoted}}}]}}").into()),
            Data::Malformed(text.as_str().into()),
            Data::TooLarge {
                size: 1 << 20,
                head: text.as_str().into(),
            },
        ];
        for data in cases {
            let (name, at) = ("custom".into(), Timestamp::UNIX_EPOCH);
            let event = Event {
                seq: Seq(1),
                at,
                conn: 1,
                replayed: false,
                name,
                ns: [].into(),
                id: None,
                data,
            };
            let Record::Event(event) = redacted(&rules, Record::Event(event), &Found::default(), 1)
            else {
                panic!("another record")
            };
            assert!(!event.data.text().contains(key), "{}", event.data.text());
        }
    }
}

/// The text, preceded by a character that ends a word.
fn delimited(text: &str) -> String {
    format!("\" {text}")
}

fn redacted(rules: &Rules, record: Record, found: &Found, number: u64) -> Record {
    let mut removed = Vec::new();
    let record = rules.apply(record, found.of(number), &mut |removal| {
        removed.push(removal)
    });
    for removal in removed {
        assert!(removal.rule < rules.len());
        assert!(
            !removal.head.contains(super::hostile::is_dangerous),
            "{:?}",
            removal.head
        );
        let _ = rules.name(removal.rule);
    }
    record
}
