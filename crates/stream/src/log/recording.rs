//! Writes and parses records as JSON lines (docs/cli.md), for `-o jsonl` and recording files.

use crate::log::snapshot::{self, SNAPSHOT, SnapshotFields};
use crate::sse::interner::{EventNames, Interner, MAX_NAME};
use crate::{Data, End, Event, Head, Outcome, Record, RunRecord, Seq};
use jiff::Timestamp;
use runtail_core::json::{self, Peek};
use serde::Deserialize;
use serde::de::Error as _;
use std::borrow::Cow;
use std::io::{self, Write};

/// Largest event size accepted when parsing, so that totals don't overflow.
const MAX_SIZE: u64 = 1 << 40;

/// Writes a record as one line. `data` is written exactly as received.
pub fn write_record(out: &mut impl Write, record: &Record) -> io::Result<()> {
    match record {
        Record::Head(head) => {
            write!(
                out,
                r#"{{"kind":"tape","version":1,"at":"{:.6}","server":"#,
                head.at
            )?;
            write_string(out, &head.server)?;
            out.write_all(br#","thread_id":"#)?;
            write_optional(out, head.thread_id.as_deref())?;
            out.write_all(br#","run_id":"#)?;
            write_optional(out, head.run_id.as_deref())?;
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
                r#"{{"kind":"open","at":"{at:.6}","conn":{conn},"status":{status},"resumed_after":"#
            )?;
            write_optional(out, resumed_after.as_deref())?;
        }
        Record::Event(event) if event.is_snapshot() => snapshot::write(out, event)?,
        Record::Event(event) => write_event(out, event)?,
        Record::Close { at, conn, reason } => {
            write!(
                out,
                r#"{{"kind":"close","at":"{at:.6}","conn":{conn},"reason":"#
            )?;
            write_string(out, reason)?;
        }
        Record::Gap { at, why } => {
            write!(out, r#"{{"kind":"gap","at":"{at:.6}","why":"#)?;
            write_string(out, why)?;
        }
        Record::Run(run) => write_run(out, run)?,
        Record::End(end) => {
            let End {
                at,
                outcome,
                detail,
                events,
                bytes,
                connections,
                duplicates,
                gaps,
                malformed,
            } = end;
            write!(
                out,
                r#"{{"kind":"end","at":"{at:.6}","outcome":"{}","#,
                outcome.as_str()
            )?;
            if let Some(detail) = detail {
                out.write_all(br#""detail":"#)?;
                write_string(out, detail)?;
                out.write_all(b",")?;
            }
            write!(
                out,
                r#""events":{events},"bytes":{bytes},"connections":{connections},"#
            )?;
            write!(
                out,
                r#""duplicates":{duplicates},"gaps":{gaps},"malformed":{malformed}"#
            )?;
        }
    }
    out.write_all(b"}\n")
}

fn write_run(out: &mut impl Write, run: &RunRecord) -> io::Result<()> {
    let RunRecord {
        at,
        run_id,
        status,
        started_at,
        ended_at,
        assistant_id,
        outcome,
        detail,
    } = run;
    write!(out, r#"{{"kind":"run","at":"{at:.6}","run_id":"#)?;
    write_string(out, run_id)?;
    out.write_all(br#","status":"#)?;
    write_string(out, status)?;
    for (name, time) in [("started_at", started_at), ("ended_at", ended_at)] {
        match time {
            Some(time) => write!(out, r#","{name}":"{time:.6}""#)?,
            None => write!(out, r#","{name}":null"#)?,
        }
    }
    out.write_all(br#","assistant_id":"#)?;
    write_optional(out, assistant_id.as_deref())?;
    if let Some(outcome) = outcome {
        write!(out, r#","outcome":"{}""#, outcome.as_str())?;
    }
    if let Some(detail) = detail {
        out.write_all(br#","detail":"#)?;
        write_string(out, detail)?;
    }
    Ok(())
}

fn write_event(out: &mut impl Write, event: &Event) -> io::Result<()> {
    let Event {
        seq,
        at,
        conn,
        replayed,
        name,
        ns,
        id,
        data,
    } = event;
    write!(out, r#"{{"kind":"event","seq":{seq},"at":""#)?;
    write_time(out, *at)?;
    write!(out, r#"","conn":{conn},"event":"#)?;
    write_string(out, name)?;
    out.write_all(br#","ns":["#)?;
    for (i, segment) in ns.iter().enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        write_string(out, segment)?;
    }
    out.write_all(br#"],"id":"#)?;
    write_optional(out, id.as_deref())?;
    if *replayed {
        out.write_all(br#","replayed":true"#)?;
    }
    match data {
        Data::Json(text) => {
            out.write_all(br#","data":"#)?;
            out.write_all(json::one_line(text).as_bytes())
        }
        Data::Malformed(text) => {
            out.write_all(br#","malformed":true,"data":"#)?;
            write_string(out, text)
        }
        Data::TooLarge { size, head } => {
            write!(out, r#","malformed":true,"too_large":{size},"data":"#)?;
            write_string(out, head)
        }
    }
}

/// Writes a time like `{:.6}` at a fifth of the cost; every event has one.
fn write_time(out: &mut impl Write, at: Timestamp) -> io::Result<()> {
    let (seconds, nanos) = match (at.as_second(), i64::from(at.subsec_nanosecond())) {
        (seconds, nanos @ 0..) => (seconds, nanos),
        (seconds, nanos) => (seconds - 1, nanos + 1_000_000_000),
    };
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 0000-03-01, in eras of 400 years. A year that starts in March has its leap day at the end.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    if !(0..=9999).contains(&year) {
        return write!(out, "{at:.6}");
    }
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    let mut put = |end: usize, mut number: i64| {
        let mut index = end;
        while number > 0 {
            index -= 1;
            text[index] = b'0' + u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
    };
    put(4, year);
    put(7, month);
    put(10, day);
    put(13, second / 3_600);
    put(16, second / 60 % 60);
    put(19, second % 60);
    put(26, nanos / 1_000);
    out.write_all(&text)
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

fn write_optional(out: &mut impl Write, text: Option<&str>) -> io::Result<()> {
    match text {
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
                let status = if let Some(RawStatus::Number(status)) = line.status {
                    status
                } else {
                    0
                };
                Record::Open {
                    at,
                    conn: line.conn,
                    status,
                    resumed_after: line.resumed_after,
                }
            }
            "run" => {
                let Line {
                    run_id,
                    status,
                    started_at,
                    ended_at,
                    assistant_id,
                    outcome,
                    detail,
                    ..
                } = line;
                let status = if let Some(RawStatus::Word(status)) = status {
                    status.into_owned()
                } else {
                    String::new()
                };
                let outcome = (!outcome.is_empty()).then(|| Outcome::from_word(&outcome));
                let run_id = run_id.unwrap_or_default();
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
            }
            "event" => Record::Event(self.event(line, at)?),
            SNAPSHOT => {
                let Line {
                    thread,
                    state,
                    history,
                    runs,
                    missing,
                    ..
                } = line;
                Record::Event(
                    SnapshotFields {
                        thread,
                        state,
                        history,
                        runs,
                        missing,
                    }
                    .into_event(at),
                )
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
        let (name, ns) = if line.ns.is_empty() {
            (
                self.names.get(line.event.as_deref().unwrap_or_default()),
                self.events.split("").1,
            )
        } else {
            let mut full = String::new();
            for segment in &line.ns {
                full.push('|');
                full.push_str(segment);
            }
            (
                self.names.get(line.event.as_deref().unwrap_or_default()),
                self.events.split(&full).1,
            )
        };
        let Line {
            seq,
            conn,
            replayed,
            id,
            ..
        } = line;
        // Connection 0 is reserved for snapshots.
        let conn = conn.max(1);
        Ok(Event {
            seq,
            at,
            conn,
            replayed,
            name,
            ns,
            id: id.filter(|id| id.len() <= MAX_NAME).map(Into::into),
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
