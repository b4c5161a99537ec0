//! The body of a response, from its bytes to the models' records.

use flate2::read::MultiGzDecoder;
use runtail_api::read_answer;
use runtail_core::model::{
    Assistant, AuthAnswer, Deployment, LogLine, Revision, Run, RunFacts, StateFacts, Thread,
    ThreadFacts, ThreadRecords, ThreadStatus, mask_record,
};
use runtail_stream::{Data, Loaded, Seq, SnapshotFields, SnapshotPart, ThreadSnapshot, is_json};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Read;

/// Limit on the unpacked bytes of the reference decoder.
const MAX_UNPACKED: u64 = 1 << 20;

/// Reads the bytes as a response body, plain or compressed as the first of them selects, and then as every type of record.
pub fn answer(data: &[u8]) {
    let (head, body) = data.split_at(data.len().min(2));
    let (flags, limit) = (
        head.first().copied().unwrap_or(0),
        head.get(1).copied().unwrap_or(255),
    );
    // Small and large limits.
    let limit = usize::from(limit).pow(2) * 16;
    let read = read(body, flags & 1 == 1, limit);
    if flags & 1 == 1 {
        match (unpacked(body), read) {
            (Some(wanted), Ok(found)) => assert_eq!(
                found, wanted,
                "the result differs from the reference decoder's"
            ),
            (Some(wanted), Err(why)) => assert!(
                wanted.len() > limit,
                "refused ({why}): {} bytes",
                wanted.len()
            ),
            (None, Ok(found)) => {
                assert!(
                    found.is_empty() && body.is_empty() || found.len() as u64 > MAX_UNPACKED,
                    "no gzip"
                )
            }
            (None, Err(_)) => {}
        }
    } else if body.len() <= limit {
        assert_eq!(read.expect("a body within the limit"), body);
    } else {
        read.expect_err("a body beyond the limit");
    }
    // The records, whether the body was compressed or not.
    let whole = if flags & 1 == 1 {
        unpacked(body).unwrap_or_default()
    } else {
        body.to_vec()
    };
    records(&whole);
}

fn read(body: &[u8], is_gzip: bool, limit: usize) -> Result<Vec<u8>, String> {
    let mut response = http::Response::builder();
    if is_gzip {
        response = response.header("content-encoding", "gzip");
    }
    let response = response.body(body.to_vec()).expect("a response");
    futures::executor::block_on(read_answer(response.into(), limit)).map(Into::into)
}

/// What another decoder of the same format unpacks; `None` if the data is damaged or too large.
fn unpacked(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    MultiGzDecoder::new(body)
        .take(MAX_UNPACKED + 1)
        .read_to_end(&mut out)
        .ok()?;
    (out.len() as u64 <= MAX_UNPACKED && !body.is_empty()).then_some(out)
}

fn of<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

/// A single record, or each record of a list.
fn each<T: DeserializeOwned>(bytes: &[u8]) -> Vec<T> {
    of::<Vec<T>>(bytes)
        .or_else(|| of::<T>(bytes).map(|one| vec![one]))
        .unwrap_or_default()
}

/// Parses JSON as every type of record that a server sends, and calls every accessor.
pub fn records(json: &[u8]) {
    for deployment in each::<Deployment>(json) {
        let _ = deployment.agent_url();
        drop(deployment.in_a_list());
    }
    for revision in each::<Revision>(json) {
        let _ = revision.phase().is_final();
    }
    for thread in each::<Thread>(json) {
        let _ = (thread.graph(), thread.notes(), ThreadFacts::of(&thread));
    }
    for run in each::<Run>(json) {
        let _ = run.is_active();
    }
    each::<Assistant>(json);
    for mut row in each::<Value>(json) {
        let line = LogLine::from(row.clone());
        let _ = (
            line.severity(),
            LogLine::time(&row),
            LogLine::severity_of(&row),
        );
        let answer = AuthAnswer::new(row.clone());
        let _ = (
            answer.word(),
            answer.status(),
            answer.url(),
            answer.auth_id(),
        );
        mask_record(&mut row);
        let once = row.clone();
        mask_record(&mut row);
        assert_eq!(row, once, "masking a second time changes nothing");
    }
    let Ok(text) = std::str::from_utf8(json) else {
        return;
    };
    facts(text);
    snapshot(text);
}

fn facts(json: &str) {
    let thread = ThreadFacts::read(json).ok();
    let state = StateFacts::read(json).ok();
    let runs = RunFacts::read_all(json)
        .ok()
        .or_else(|| RunFacts::read(json).ok().map(|run| vec![run]));
    let _ = StateFacts::read_all(json);
    for with in 0..8 {
        let records = ThreadRecords {
            thread: thread.as_ref().filter(|_| with & 1 > 0),
            state: state.as_ref().filter(|_| with & 2 > 0),
            runs: runs.as_deref().filter(|_| with & 4 > 0),
        };
        let _ = (
            ThreadStatus::derive(records),
            records.questions(),
            records.answerable(),
        );
    }
}

/// A snapshot of a thread is one JSON record, whatever its parts contain.
fn snapshot(json: &str) {
    if !is_json(json) {
        return;
    }
    for part in SnapshotPart::ALL {
        let parts = [
            (part, Loaded::Json(json.into())),
            (SnapshotPart::State, Loaded::Json(json.into())),
        ];
        for parts in [parts[..1].to_vec(), parts.to_vec()] {
            let snapshot = ThreadSnapshot {
                at: jiff::Timestamp::UNIX_EPOCH,
                parts: parts.into_iter().collect(),
            };
            let event = snapshot.into_event(Seq(1));
            let Data::Json(text) = &event.data else {
                panic!("not JSON: {:?}", event.data)
            };
            assert!(is_json(text), "{text}");
            serde_json::from_str::<SnapshotFields>(text).expect("a snapshot");
        }
    }
}
