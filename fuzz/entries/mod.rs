//! The entry points that the fuzzer calls, and that ordinary tests call with the corpus (`tests/state/fuzz.rs`): one function for
//! each kind of external bytes. Each panics if something is wrong.
#![allow(dead_code, reason = "each caller uses its own part of this")]

pub mod answers;
pub mod hostile;
pub mod oracle;
pub mod redaction;
pub mod servers;
pub mod views;

use bytes::Bytes;
use runtail_core::config::Config;
use runtail_core::text;
use runtail_stream::projection::LineProjections;
use runtail_stream::{
    Data, Decoded, Decoder, Event, EventNames, Frame, Framer, Item, LineParser, Reader, Record,
    Seq, is_json, write_record,
};
use runtail_tui::input::key::{Key, parse_keys};
use std::io::Cursor;
use std::path::Path;

/// An entry point with its name, which is also that of its target and of its corpus folder.
pub type Entry = (&'static str, fn(&[u8]));

/// All entry points.
pub const ENTRIES: [Entry; 12] = [
    ("framer", framer),
    ("sse", sse),
    ("event", event),
    ("text", cleaned_text),
    ("config", config),
    ("recording", recording),
    ("keys", keys),
    ("update", hostile::update),
    ("answer", answers::answer),
    ("http", servers::http),
    ("views", views::views),
    ("redact", redaction::redact),
];

/// Runs an entry point by name.
pub fn run(name: &str, data: &[u8]) {
    let (_, entry) = ENTRIES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("an entry of that name");
    entry(data);
}

/// Events are complete up to this size. It is small because the fuzzer's inputs are, and both sides of the limit matter.
const MAX_EVENT: usize = 8 << 10;

/// Splits bytes into chunks of sizes that the first bytes select, because chunks may end anywhere in a line.
fn chunks(data: &[u8]) -> (Vec<Bytes>, &[u8]) {
    let (seed, body) = data.split_at(data.len().min(4));
    let mut state = seed.iter().fold(1_u32, |state, byte| {
        state.wrapping_mul(257).wrapping_add(u32::from(*byte))
    });
    let mut rest = body;
    let mut out = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Usually a few bytes, sometimes none or many.
        let size = match state >> 24 {
            0..16 => 0,
            16..192 => 1 + (state >> 20) as usize % 7,
            _ => 1 + (state >> 12) as usize % 4096,
        };
        let (head, tail) = rest.split_at(size.min(rest.len()));
        out.push(Bytes::copy_from_slice(head));
        rest = tail;
    }
    (out, body)
}

/// All frames of a stream, and what remains at its end.
fn frames(chunks: impl IntoIterator<Item = Bytes>, max: usize) -> (Vec<Frame>, Option<u64>) {
    let mut framer = Framer::new(max);
    let mut found = Vec::new();
    for chunk in chunks {
        framer.push(chunk);
        found.extend(std::iter::from_fn(|| framer.next_frame()));
    }
    (found, framer.finish())
}

/// The frames don't depend on the chunks; large events are truncated and counted.
pub fn framer(data: &[u8]) {
    let (chunks, body) = chunks(data);
    for max in [usize::MAX, MAX_EVENT, 0] {
        let (cut, left) = frames(chunks.clone(), max);
        let (whole, left_whole) = frames([Bytes::copy_from_slice(body)], max);
        assert_eq!(
            (&cut, left),
            (&whole, left_whole),
            "the frames depend on the chunks (max {max})"
        );
        let mut bytes = left.unwrap_or(0);
        for frame in &cut {
            let Frame::Block(block) = frame else { continue };
            assert!(max != usize::MAX || block.dropped == 0);
            assert!(
                block.bytes.len() <= max.max(80 << 10),
                "a block of {} bytes",
                block.bytes.len()
            );
            bytes += block.bytes.len() as u64 + block.dropped;
        }
        assert!(bytes <= body.len() as u64, "more bytes than were received");
    }
}

/// The events of a stream as Runtail reads them.
fn decoded(chunks: impl IntoIterator<Item = Bytes>) -> (Vec<Decoded>, usize) {
    let mut decoder = Decoder::default();
    let (frames, _) = frames(chunks, usize::MAX);
    let comments = frames
        .iter()
        .filter(|frame| **frame == Frame::Comment)
        .count();
    let blocks = frames.into_iter().filter_map(|frame| match frame {
        Frame::Block(block) => decoder.decode(block),
        Frame::Comment => None,
    });
    (blocks.collect(), comments)
}

/// Maximum length of an id or a name that is kept unchanged.
const MAX_NAME: usize = 1024;

/// The events and heartbeats match those of a second decoder that was written from the standard alone.
pub fn sse(data: &[u8]) {
    let (chunks, body) = chunks(data);
    let (found, comments) = decoded(chunks);
    let mut wanted = oracle::events(body);
    let found: Vec<oracle::Event> = found
        .iter()
        .map(|event| {
            let name = event
                .ns
                .iter()
                .fold(event.name.to_string(), |name, segment| {
                    format!("{name}|{segment}")
                });
            let data = event.data.text().to_string();
            oracle::Event {
                name,
                data,
                id: event.id.as_deref().map(str::to_owned),
            }
        })
        .collect();
    // Longer ids are ignored, and longer names are truncated.
    for (found, wanted) in found.iter().zip(&mut wanted.events) {
        wanted.id = wanted.id.take().filter(|id| id.len() <= MAX_NAME);
        if wanted.name.len() > MAX_NAME {
            assert!(found.name.len() <= 6 * MAX_NAME);
            wanted.name.clone_from(&found.name);
        }
    }
    assert_eq!(found, wanted.events);
    assert_eq!(comments, wanted.comments, "comments are heartbeats");
}

/// Events of any name and payload are folded by every projection, described in a line, and read back unchanged.
pub fn event(data: &[u8]) {
    let (chunks, _) = chunks(data);
    let (events, _) = decoded(chunks);
    let mut story = LineProjections::default();
    let mut parser = LineParser::default();
    for (seq, event) in (1..).zip(events) {
        let text = event.data.text();
        assert_eq!(matches!(event.data, Data::Json(_)), is_json(text));
        let event = event.at(Seq(seq), jiff::Timestamp::UNIX_EPOCH, 1, false);
        check_round_trip(&mut parser, &Record::Event(event.clone()));
        story.apply(&Item::Record(Record::Event(event)));
    }
}

/// A record is written as one line and read back unchanged.
fn check_round_trip(parser: &mut LineParser, record: &Record) {
    let mut line = Vec::new();
    write_record(&mut line, record).expect("writing to memory");
    let line = String::from_utf8(line).expect("text");
    assert_eq!(line.matches('\n').count(), 1, "{line:?}");
    let safe = text::json(&line);
    assert!(!safe.trim_end().contains(hostile::is_dangerous), "{safe:?}");
    let read = parser
        .parse(&line)
        .expect("a record")
        .expect("of a known kind");
    match (&read, record) {
        // Line breaks between JSON tokens are dropped.
        (Record::Event(read), Record::Event(event)) => {
            let data = |event: &Event| match &event.data {
                Data::Json(text) => Data::Json(text.replace(['\n', '\r'], "").trim().into()),
                other => other.clone(),
            };
            assert_eq!(data(read), data(event));
            let rest = |event: &Event| {
                (
                    event.seq,
                    event.name.clone(),
                    event.ns.clone(),
                    event.id.clone(),
                )
            };
            assert_eq!(rest(read), rest(event));
        }
        _ => assert_eq!(&read, record),
    }
    // The sanitized line is still a record.
    parser.parse(&safe).expect("a record after sanitizing");
}

/// Sanitized text is harmless and no wider than its computed width.
pub fn cleaned_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let clean = text::clean(&text);
    assert!(!clean.contains(hostile::is_dangerous), "{clean:?}");
    assert_eq!(text::clean(&clean), clean, "sanitizing is idempotent");
    let lines = text::clean_lines(&text);
    assert!(
        !lines.replace('\n', "").contains(hostile::is_dangerous),
        "{lines:?}"
    );
    for columns in [0, 1, 2, 7, 80] {
        let fitted = text::fit(&clean, columns);
        assert!(
            text::width(&fitted) <= columns,
            "{fitted:?} in {columns} columns"
        );
    }
    assert!(!text::short_id(&text).contains(hostile::is_dangerous));
    let string = serde_json::to_string(&*text).expect("a string");
    let safe = text::json(&string);
    assert!(!safe.contains(hostile::is_dangerous), "{safe:?}");
    assert_eq!(serde_json::from_str::<String>(&safe).expect("JSON"), text);
    assert!(!text::markdown::inline(&text).contains(hostile::is_dangerous));
}

/// A configuration is accepted, or rejected with an error that is safe to print.
pub fn config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Config::parse(&text, Some(Path::new("config.toml"))) {
        Ok(config) => {
            for warning in &config.warnings {
                assert!(
                    !warning.replace('\n', "").contains(hostile::is_dangerous),
                    "{warning:?}"
                );
            }
            let _ = config.choose(&[]);
        }
        Err(error) => {
            let told = error.to_string();
            assert!(
                !told.replace('\n', "").contains(hostile::is_dangerous),
                "{told:?}"
            );
        }
    }
}

/// A recording with any damage still yields its intact records.
pub fn recording(data: &[u8]) {
    let Ok(mut reader) = Reader::new(Cursor::new(data.to_vec())) else {
        return;
    };
    let mut parser = LineParser::default();
    let mut story = LineProjections::default();
    let mut lines = 0;
    // A few compressed bytes may unpack to any number of lines.
    while let Some(read) = reader.next().filter(|_| lines < 1000) {
        lines += 1;
        let Ok(record) = read else { continue };
        // Namespaces are split at `|`, so a segment never contains one.
        let odd = matches!(&record, Record::Event(event) if event.ns.iter().any(|segment| segment.contains('|')));
        if !odd
            && !matches!(&record, Record::Event(Event { data: Data::Json(text), .. }) if !is_json(text))
        {
            check_round_trip(&mut parser, &record);
        }
        story.apply(&Item::Record(record));
    }
}

/// The name of a key parses back to the same key.
pub fn keys(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(key) = text.parse::<Key>() {
        let name = key.to_string();
        assert_eq!(name.parse::<Key>(), Ok(key), "{text:?} is {name:?}");
    }
    if let Ok(keys) = parse_keys(&text) {
        assert!(keys.len() <= text.chars().count());
    }
    EventNames::default().split(&text);
}
