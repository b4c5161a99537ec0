//! Plays a recording as a stream. It is read no faster than it is received.

use super::out::Out;
use crate::session::msg::SubscriptionEvent;
use jiff::Timestamp;
use runtail_api::{ApiError, Kind, Place};
use runtail_core::config::expand_home;
use runtail_core::text::counted;
use runtail_stream::{End, Event, Head, Item, ReadError, Reader, Record, RunRecord, Seq};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc::{self, Sender};

/// Maximum number of records, and of their bytes, in a batch.
const BATCH: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Number of batches that are read ahead.
const BATCHES: usize = 4;

/// Reads a recording to its end.
pub(super) async fn play(file: PathBuf, out: &Out) {
    let (sender, mut batches) = mpsc::channel(BATCHES);
    let reader_task = tokio::task::spawn_blocking(move || read(&expand_home(&file), &sender));
    while let Some(items) = batches.recv().await {
        if !out.send(SubscriptionEvent::Items(items)).await {
            return;
        }
    }
    // Ignored: the reader sends its own errors.
    let _ = reader_task.await;
}

fn read(file: &Path, out: &Sender<Vec<Item>>) {
    // Invalid lines are reported only at the end: a small file may unpack to very many of them.
    let opened = File::open(file).and_then(|file| Reader::new(CancellableFile(file, out.clone())));
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => {
            let _ = out.blocking_send(vec![failed(file, &error.to_string())]);
            return;
        }
    };
    let (mut seen, mut damaged, mut ended, mut is_recording) =
        (End::default(), 0_u64, false, false);
    let mut renumbering = Renumbering::default();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for read in reader.by_ref() {
        match read {
            Ok(mut record) => {
                is_recording = true;
                if let Record::Event(event) = &mut record {
                    bytes += event.data.text().len();
                    if event.is_snapshot() {
                        renumbering.place_snapshot(event, batch.len());
                    } else if let Some(gap) = renumbering.renumber(event, &mut batch) {
                        seen.count(&gap);
                        batch.push(Item::Record(gap));
                    }
                }
                seen.count(&record);
                seen.at = time(&record);
                ended |= matches!(record, Record::End(_));
                batch.push(Item::Record(record));
            }
            Err(ReadError::Line { .. }) => damaged += 1,
            Err(ReadError::Io(error)) => {
                batch.push(failed(file, &error.to_string()));
                let _ = out.blocking_send(batch);
                return;
            }
        }
        if batch.len() >= BATCH || bytes >= BATCH_BYTES {
            bytes = 0;
            renumbering.fix_positions();
            // The tab was closed.
            if out.blocking_send(std::mem::take(&mut batch)).is_err() {
                return;
            }
        }
    }
    if !is_recording {
        let _ = out.blocking_send(vec![not_a_recording(file)]);
        return;
    }
    if damaged > 0 {
        let lines = counted(damaged, "damaged line");
        let why = format!("{lines} skipped; see `runtail verify`");
        let gap = Record::Gap { at: seen.at, why };
        seen.count(&gap);
        // If the file has an end, it stays the last record.
        let end = batch.len() - usize::from(ended && !batch.is_empty());
        batch.insert(end, Item::Record(gap));
    }
    if !ended {
        let why = if reader.was_truncated() {
            "the recording was cut off in the middle of a line"
        } else {
            "the recording has no end record: it was cut off, or is still being written"
        };
        seen.detail = Some(why.into());
        batch.push(Item::Record(Record::End(seen)));
    }
    let _ = out.blocking_send(batch);
}

/// A file whose reads fail once the receiver of its items is dropped.
struct CancellableFile(File, Sender<Vec<Item>>);

impl Read for CancellableFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.1.is_closed() {
            Err(io::ErrorKind::ConnectionAborted.into())
        } else {
            self.0.read(into)
        }
    }
}

/// Numbers events without gaps, as an event log requires. A recording from which nothing was removed has no gaps. In others,
/// the events after a gap are renumbered, and the gap is reported.
#[derive(Default)]
struct Renumbering {
    /// The last event's number in the file, and the last position in the event log.
    last: Option<(Seq, Seq)>,
    gaps: u64,
    /// The indexes in the batch of snapshots before the first event. Their positions depend on its number.
    leading: Vec<usize>,
}

impl Renumbering {
    /// Maximum number of gaps that are reported one by one.
    const MAX_REPORTED: u64 = 100;
    /// The first event keeps its number if that is below this limit. Larger numbers are not plausible.
    const MAX_FIRST: u64 = 1 << 53;

    /// Assigns a position to a snapshot, because files don't number snapshots.
    fn place_snapshot(&mut self, event: &mut Event, index: usize) {
        match &mut self.last {
            Some((_, last)) => {
                *last = last.next();
                event.seq = *last;
            }
            None => {
                self.leading.push(index);
                event.seq = Seq(self.leading.len() as u64);
            }
        }
    }

    /// Makes the positions of snapshots before the first event final, because their batch is sent.
    fn fix_positions(&mut self) {
        if !self.leading.is_empty() {
            self.last = Some((Seq::START, Seq(self.leading.len() as u64)));
            self.leading.clear();
        }
    }

    /// Assigns an event its position in the event log. Returns the gap to report before it, if any. `batch`: the records before
    /// it.
    fn renumber(&mut self, event: &mut Event, batch: &mut [Item]) -> Option<Record> {
        let number = event.seq;
        let Some((before, last)) = self.last else {
            let first = if (1..Self::MAX_FIRST).contains(&number.0) {
                number
            } else {
                Seq(1)
            };
            for (index, seq) in self.leading.iter().zip(first.0..) {
                if let Some(Item::Record(Record::Event(snapshot))) = batch.get_mut(*index) {
                    snapshot.seq = Seq(seq);
                }
            }
            event.seq = first + self.leading.len() as u64;
            self.leading.clear();
            self.last = Some((number, event.seq));
            return None;
        };
        event.seq = last.next();
        self.last = Some((number, event.seq));
        if number.checked_since(before) == Some(1) {
            return None;
        }
        self.gaps += 1;
        let why = match number > before {
            _ if self.gaps > Self::MAX_REPORTED => return None,
            true => format!(
                "events {} to {} are missing",
                before.next(),
                number.previous()
            ),
            false => format!("event {number} follows event {before}"),
        };
        let more = if self.gaps == Self::MAX_REPORTED {
            "; further gaps aren't reported"
        } else {
            ""
        };
        Some(Record::Gap {
            at: event.at,
            why: format!(
                "{why}; following events are numbered from {}{more}",
                event.seq
            ),
        })
    }
}

/// Returns the time of a record.
fn time(record: &Record) -> Timestamp {
    match record {
        Record::Event(Event { at, .. })
        | Record::Open { at, .. }
        | Record::Close { at, .. }
        | Record::Gap { at, .. }
        | Record::Head(Head { at, .. })
        | Record::Run(RunRecord { at, .. })
        | Record::End(End { at, .. }) => *at,
    }
}

fn not_a_recording(file: &Path) -> Item {
    let at = Place {
        host: file.to_string_lossy().into_owned(),
        ..Place::default()
    };
    let detail = "the file contains no records".into();
    Item::Failed(Box::new(ApiError {
        kind: Kind::Protocol,
        at,
        detail,
        hint: None,
    }))
}

fn failed(file: &Path, why: &str) -> Item {
    let at = Place {
        host: file.to_string_lossy().into_owned(),
        ..Place::default()
    };
    let detail = format!("cannot read the recording: {why}");
    Item::Failed(Box::new(ApiError {
        kind: Kind::Refused,
        at,
        detail,
        hint: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_stream::{Data, Loaded, Outcome, SnapshotPart, ThreadSnapshot, write_record};

    fn event(seq: u64) -> Record {
        let (at, data) = (Timestamp::UNIX_EPOCH, Data::Json("[1]".into()));
        Record::Event(Event {
            seq: Seq(seq),
            at,
            conn: 1,
            replayed: false,
            name: "x".into(),
            ns: [].into(),
            id: None,
            data,
        })
    }

    /// Returns the items that are read from a file with these records.
    fn items_of(records: &[Record]) -> Vec<Item> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        let mut text = Vec::new();
        records
            .iter()
            .for_each(|record| write_record(&mut text, record).unwrap());
        std::fs::write(&file, &text).unwrap();
        let (sender, mut items) = mpsc::channel(BATCHES);
        read(&file, &sender);
        std::iter::from_fn(|| items.try_recv().ok())
            .flatten()
            .collect()
    }

    #[test]
    fn events_after_a_gap_are_renumbered_and_the_gap_is_reported() {
        let play = |numbers: &[u64]| {
            let items = items_of(&numbers.iter().map(|seq| event(*seq)).collect::<Vec<_>>());
            let number = |item: &Item| {
                if let Item::Record(Record::Event(e)) = item {
                    Some(e.seq.0)
                } else {
                    None
                }
            };
            let gap = |item: &Item| {
                if let Item::Record(Record::Gap { why, .. }) = item {
                    Some(why.clone())
                } else {
                    None
                }
            };
            (
                items.iter().filter_map(number).collect::<Vec<_>>(),
                items.iter().filter_map(gap).collect::<Vec<_>>(),
            )
        };
        // A recording that was started late keeps its numbers, and has no gap.
        assert_eq!(play(&[501, 502, 503]), (vec![501, 502, 503], vec![]));
        let (seqs, gaps) = play(&[1, 2, 40, 41, 5]);
        assert_eq!(seqs, [1, 2, 3, 4, 5]);
        assert_eq!(
            gaps[0],
            "events 3 to 39 are missing; following events are numbered from 3"
        );
        assert_eq!(
            gaps[1],
            "event 5 follows event 41; following events are numbered from 5"
        );
        assert_eq!(play(&[u64::MAX, u64::MAX, 0]).0, [1, 2, 3]);
        let many: Vec<u64> = (0..500).map(|n| n * 2 + 1).collect();
        let (seqs, gaps) = play(&many);
        assert_eq!(
            (seqs.len(), gaps.len()),
            (500, Renumbering::MAX_REPORTED as usize)
        );
        assert!(gaps.last().unwrap().ends_with("aren't reported"));
    }

    #[test]
    fn snapshots_get_positions_between_the_events() {
        let snapshot = || {
            let parts = [(SnapshotPart::Runs, Loaded::Json("[]".into()))].into();
            Record::Event(
                ThreadSnapshot {
                    at: Timestamp::UNIX_EPOCH,
                    parts,
                }
                .into_event(Seq(9)),
            )
        };
        let positions = |records: &[Record]| -> Vec<(u64, bool)> {
            let entry = |item: &Item| match item {
                Item::Record(Record::Event(event)) => Some((event.seq.0, event.is_snapshot())),
                Item::Record(Record::Gap { why, .. }) => panic!("{why}"),
                _ => None,
            };
            items_of(records).iter().filter_map(entry).collect()
        };
        let complete = [snapshot(), snapshot(), event(1), snapshot(), event(2)];
        assert_eq!(
            positions(&complete),
            [(1, true), (2, true), (3, false), (4, true), (5, false)]
        );
        // A recording that was started late keeps its numbers. Its first entry is a snapshot, and the second is event 500.
        let started_late = [snapshot(), event(500), event(501), snapshot()];
        assert_eq!(
            positions(&started_late),
            [(500, true), (501, false), (502, false), (503, true)]
        );
        assert_eq!(positions(&[snapshot(), snapshot()]), [(1, true), (2, true)]);
    }

    #[test]
    fn reading_stops_when_the_receiver_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, "\n".repeat(1000)).unwrap();
        let (sender, items) = mpsc::channel(BATCHES);
        drop(items);
        let opened = File::open(&file).and_then(|file| Reader::new(CancellableFile(file, sender)));
        assert_eq!(
            opened.err().map(|e| e.kind()),
            Some(io::ErrorKind::ConnectionAborted)
        );
    }

    #[test]
    fn a_truncated_recording_says_so_in_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        let mut text = Vec::new();
        let at = jiff::Timestamp::UNIX_EPOCH;
        for record in [
            Record::Open {
                at,
                conn: 1,
                status: 200,
                resumed_after: None,
            },
            event(1),
        ] {
            write_record(&mut text, &record).unwrap();
        }
        text.extend_from_slice(b"nonsense\n{\"kind\":\"eve");
        std::fs::write(&file, &text).unwrap();
        let (sender, mut items) = mpsc::channel(BATCHES);
        read(&file, &sender);
        let items = items.try_recv().unwrap();
        let [
            ..,
            Item::Record(Record::Gap { why, .. }),
            Item::Record(Record::End(end)),
        ] = &items[..]
        else {
            panic!("{items:?}")
        };
        assert!(why.starts_with("1 damaged line skipped"), "{why}");
        assert_eq!(
            (end.outcome, end.events, end.bytes, end.connections),
            (Outcome::Unknown, 1, 3, 1)
        );
        assert!(
            end.detail
                .as_ref()
                .unwrap()
                .contains("in the middle of a line")
        );
        read(Path::new("/nowhere/x"), &sender);
    }
}
