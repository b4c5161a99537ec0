//! Writes and parses records as JSON lines (docs/cli.md), for `-o jsonl` and recording files.

use crate::log::snapshot::{self, SNAPSHOT, SnapshotFields};
use crate::sse::interner::{EventNames, Interner, MAX_NAME};
use crate::{Data, End, Event, Head, Outcome, Record, RunRecord, Seq};
use jiff::Timestamp;
use runtail_core::json::{self, Peek};
use serde::Deserialize;
use serde::de::Error as _;
use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Write};

/// Largest event size accepted when parsing, so that totals don't overflow.
const MAX_SIZE: u64 = 1 << 40;

/// Writes a record as one line. `data` is written exactly as received.
pub fn write_record(out: &mut impl Write, record: &Record) -> io::Result<()> {
    match record {
        Record::Head(head) => {
            write!(out, r#"{{"kind":"tape","version":1,"at":"{:.6}""#, head.at)?;
            write_field(out, "server", &*head.server)?;
            write_field(out, "thread_id", head.thread_id.as_deref())?;
            write_field(out, "run_id", head.run_id.as_deref())?;
            out.write_all(br#","modes":"#)?;
            serde_json::to_writer(&mut *out, &head.modes)?;
        }
        Record::Open {
            at,
            conn,
            status,
            resumed_after,
        } => {
            write!(
                out,
                r#"{{"kind":"open","at":"{at:.6}","conn":{conn},"status":{status}"#
            )?;
            write_field(out, "resumed_after", resumed_after.as_deref())?;
        }
        Record::Event(event) if event.is_snapshot() => snapshot::write(out, event)?,
        Record::Event(event) => write_event(out, event)?,
        Record::Close { at, conn, reason } => {
            write!(out, r#"{{"kind":"close","at":"{at:.6}","conn":{conn}"#)?;
            write_field(out, "reason", &**reason)?;
        }
        Record::Gap { at, why } => {
            write!(out, r#"{{"kind":"gap","at":"{at:.6}""#)?;
            write_field(out, "why", &**why)?;
        }
        Record::Run(run) => write_run(out, run)?,
        Record::End(end) => {
            write!(out, r#"{{"kind":"end","at":"{:.6}""#, end.at)?;
            write_field(out, "outcome", end.outcome.as_str())?;
            if let Some(detail) = &end.detail {
                write_field(out, "detail", &**detail)?;
            }
            for (name, count) in [
                ("events", end.events),
                ("bytes", end.bytes),
                ("connections", end.connections.into()),
                ("duplicates", end.duplicates),
                ("gaps", end.gaps),
                ("malformed", end.malformed),
            ] {
                write!(out, r#","{name}":{count}"#)?;
            }
        }
    }
    out.write_all(b"}\n")
}

fn write_run(out: &mut impl Write, run: &RunRecord) -> io::Result<()> {
    write!(out, r#"{{"kind":"run","at":"{:.6}""#, run.at)?;
    write_field(out, "run_id", &*run.run_id)?;
    write_field(out, "status", &*run.status)?;
    for (name, time) in [("started_at", run.started_at), ("ended_at", run.ended_at)] {
        write_field(out, name, time.map(|time| format!("{time:.6}")).as_deref())?;
    }
    write_field(out, "assistant_id", run.assistant_id.as_deref())?;
    if let Some(outcome) = run.outcome {
        write_field(out, "outcome", outcome.as_str())?;
    }
    if let Some(detail) = &run.detail {
        write_field(out, "detail", &**detail)?;
    }
    Ok(())
}

fn write_event(out: &mut impl Write, event: &Event) -> io::Result<()> {
    write!(out, r#"{{"kind":"event","seq":{},"at":""#, event.seq)?;
    write_time(out, event.at)?;
    write!(out, r#"","conn":{}"#, event.conn)?;
    write_field(out, "event", &*event.name)?;
    out.write_all(br#","ns":["#)?;
    for (i, segment) in event.ns.iter().enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        write_string(out, segment)?;
    }
    out.write_all(b"]")?;
    write_field(out, "id", event.id.as_deref())?;
    if event.replayed {
        out.write_all(br#","replayed":true"#)?;
    }
    match &event.data {
        Data::Json(text) => {
            out.write_all(br#","data":"#)?;
            return out.write_all(json::one_line(text).as_bytes());
        }
        Data::Malformed(_) => out.write_all(br#","malformed":true"#)?,
        Data::TooLarge { size, .. } => write!(out, r#","malformed":true,"too_large":{size}"#)?,
    }
    write_field(out, "data", &**event.data.text())
}

/// Writes a time like `{:.6}` at a fifth of the cost; every event has one.
fn write_time(out: &mut impl Write, at: Timestamp) -> io::Result<()> {
    thread_local! {
        static NEWEST: Cell<(i64, [u8; 27])> = const { Cell::new((i64::MIN, [0; 27])) };
    }
    let (second, nanos) = (at.as_second(), at.subsec_nanosecond());
    let (known, mut text) = NEWEST.get();
    if known == second && nanos >= 0 {
        let mut micros = nanos / 1_000;
        for digit in text[20..26].iter_mut().rev() {
            *digit = b'0' + (micros % 10) as u8;
            micros /= 10;
        }
        return out.write_all(&text);
    }
    let written = format!("{at:.6}");
    if let Ok(text) = written.as_bytes().try_into()
        && nanos >= 0
    {
        NEWEST.set((second, text));
    }
    out.write_all(written.as_bytes())
}

fn write_string(out: &mut impl Write, text: &str) -> io::Result<()> {
    // A fast path for names and ids.
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\')
    {
        out.write_all(b"\"")?;
        out.write_all(text.as_bytes())?;
        return out.write_all(b"\"");
    }
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// Writes a comma and a field, which is null without a text.
fn write_field<'a>(
    out: &mut impl Write,
    name: &str,
    text: impl Into<Option<&'a str>>,
) -> io::Result<()> {
    out.write_all(b",\"")?;
    out.write_all(name.as_bytes())?;
    out.write_all(b"\":")?;
    match text.into() {
        Some(text) => write_string(out, text),
        None => out.write_all(b"null"),
    }
}

/// A line of a recording, of any kind. A field with an unexpected type counts as absent.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    at: Option<Timestamp>,
    seq: Seq,
    conn: u32,
    replayed: bool,
    event: Option<Cow<'a, str>>,
    ns: Vec<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    data: Option<Peek<'a>>,
    malformed: Option<RawFlag>,
    too_large: Option<u64>,
    server: String,
    thread_id: Option<String>,
    run_id: Option<String>,
    modes: Vec<String>,
    status: Option<RawStatus<'a>>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    assistant_id: Option<String>,
    resumed_after: Option<String>,
    reason: String,
    why: String,
    outcome: String,
    detail: Option<String>,
    events: u64,
    bytes: u64,
    connections: u32,
    duplicates: u64,
    gaps: u64,
    thread: Option<Peek<'a>>,
    runs: Option<Peek<'a>>,
    history: Option<Peek<'a>>,
    state: Option<Peek<'a>>,
    missing: Option<Peek<'a>>,
}

/// `status` is a number for connections and a word for runs.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawStatus<'a> {
    Number(u16),
    Word(#[serde(borrow)] Cow<'a, str>),
}

/// `malformed` is a flag on an event and a count at the end.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawFlag {
    Flag(bool),
    Count(u64),
}

/// Reads records from JSON lines.
#[derive(Debug, Default)]
pub struct LineParser {
    events: EventNames,
    names: Interner,
}

impl LineParser {
    /// Parses one line. Returns `None` for an unknown kind.
    pub fn parse(&mut self, line: &str) -> Result<Option<Record>, serde_json::Error> {
        json::read_repaired(line, |line| self.record(line))
    }

    fn record(&mut self, line: &str) -> Result<Option<Record>, serde_json::Error> {
        let line: Line<'_> = json::from_str(line)?;
        if line.kind.is_empty() {
            return Err(serde_json::Error::missing_field("kind"));
        }
        let at = line.at.unwrap_or_default();
        Ok(Some(match &*line.kind {
            "tape" => Record::Head(Head {
                at,
                server: line.server,
                thread_id: line.thread_id,
                run_id: line.run_id,
                modes: line.modes,
            }),
            "open" => {
                let status = match line.status {
                    Some(RawStatus::Number(status)) => status,
                    _ => 0,
                };
                Record::Open {
                    at,
                    conn: line.conn,
                    status,
                    resumed_after: line.resumed_after,
                }
            }
            "run" => Record::Run(RunRecord {
                at,
                run_id: line.run_id.unwrap_or_default(),
                status: match line.status {
                    Some(RawStatus::Word(status)) => status.into_owned(),
                    _ => String::new(),
                },
                started_at: line.started_at,
                ended_at: line.ended_at,
                assistant_id: line.assistant_id,
                outcome: (!line.outcome.is_empty()).then(|| Outcome::from_word(&line.outcome)),
                detail: line.detail,
            }),
            "event" => Record::Event(self.event(line, at)?),
            SNAPSHOT => {
                let fields = SnapshotFields {
                    thread: line.thread,
                    state: line.state,
                    history: line.history,
                    runs: line.runs,
                    missing: line.missing,
                };
                Record::Event(fields.into_event(at))
            }
            "close" => Record::Close {
                at,
                conn: line.conn,
                reason: line.reason,
            },
            "gap" => Record::Gap { at, why: line.why },
            "end" => Record::End(End {
                at,
                outcome: Outcome::from_word(&line.outcome),
                detail: line.detail,
                events: line.events,
                bytes: line.bytes,
                connections: line.connections,
                duplicates: line.duplicates,
                gaps: line.gaps,
                malformed: match line.malformed {
                    Some(RawFlag::Count(n)) => n,
                    Some(RawFlag::Flag(_)) | None => 0,
                },
            }),
            _ => return Ok(None),
        }))
    }

    fn event(&mut self, line: Line<'_>, at: Timestamp) -> Result<Event, serde_json::Error> {
        let raw = line.data.map_or("null", Peek::text);
        let data = match (line.malformed, line.too_large) {
            (_, Some(size)) => Data::TooLarge {
                size: size.min(MAX_SIZE),
                head: json::from_str::<Cow<'_, str>>(raw)?.into(),
            },
            (Some(RawFlag::Flag(true)), None) => {
                Data::Malformed(json::from_str::<Cow<'_, str>>(raw)?.into())
            }
            _ => Data::Json(raw.into()),
        };
        let ns: String = line.ns.iter().flat_map(|segment| ["|", segment]).collect();
        Ok(Event {
            seq: line.seq,
            at,
            // Connection 0 is reserved for snapshots.
            conn: line.conn.max(1),
            replayed: line.replayed,
            name: self.names.get(line.event.as_deref().unwrap_or_default()),
            ns: self.events.split(&ns).1,
            id: line.id.filter(|id| id.len() <= MAX_NAME).map(Into::into),
            data,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_are_written_as_jiff_does(
            at in prop_oneof![-62_200_000_000_i64..253_370_000_000, 1_000_000_000_i64..3_000_000_000],
            nanosecond in 0..1_000_000_000,
        ) {
            let at = Timestamp::new(at, nanosecond).unwrap_or_default();
            let mut out = Vec::new();
            write_time(&mut out, at).unwrap();
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{at:.6}"));
        }
    }

    pub fn line(record: &Record) -> String {
        let mut out = Vec::new();
        write_record(&mut out, record).unwrap();
        String::from_utf8(out).unwrap()
    }

    pub fn sample() -> Record {
        Record::Event(Event {
            seq: Seq(7),
            at: "2026-11-21T02:00:00.5Z".parse().unwrap(),
            conn: 2,
            replayed: false,
            name: "values".into(),
            ns: ["sub:1".into()].into(),
            id: Some("1-0".into()),
            data: Data::Json("{\"a\": [1.50,\"\\u00e9\"]}".into()),
        })
    }

    #[test]
    fn lines_have_the_documented_form() {
        assert_eq!(
            line(&sample()),
            "{\"kind\":\"event\",\"seq\":7,\"at\":\"2026-11-21T02:00:00.500000Z\",\"conn\":2,\"event\":\"values\",\
             \"ns\":[\"sub:1\"],\"id\":\"1-0\",\"data\":{\"a\": [1.50,\"\\u00e9\"]}}\n"
        );
        let Record::Event(event) = sample() else {
            unreachable!()
        };
        let replayed = Record::Event(Event {
            replayed: true,
            ..event
        });
        let text = line(&replayed);
        assert!(
            text.contains(r#""id":"1-0","replayed":true,"data":"#),
            "{text}"
        );
        assert_eq!(LineParser::default().parse(&text).unwrap(), Some(replayed));
        let open = Record::Open {
            at: Timestamp::UNIX_EPOCH,
            conn: 1,
            status: 200,
            resumed_after: None,
        };
        assert_eq!(
            line(&open),
            "{\"kind\":\"open\",\"at\":\"1970-01-01T00:00:00.000000Z\",\"conn\":1,\"status\":200,\
             \"resumed_after\":null}\n"
        );
        let end = Record::End(End {
            events: 3,
            ..End::default()
        });
        assert!(line(&end).contains(
            r#""outcome":"unknown","events":3,"bytes":0,"connections":0,"duplicates":0,"gaps""#
        ));
    }

    #[test]
    fn line_breaks_inside_data_are_removed() {
        let Record::Event(mut event) = sample() else {
            unreachable!()
        };
        event.data = Data::Json("{\"a\":\n\"b c\"}".into());
        let text = line(&Record::Event(event));
        assert_eq!(text.matches('\n').count(), 1);
        assert!(text.ends_with("{\"a\":\"b c\"}}\n"));
    }
}
