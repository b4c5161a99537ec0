//! A recording as a stream: read as fast as it is taken, and no faster.

use super::export::at_home;
use super::subs::Out;
use crate::session::msg::SubscriptionEvent;
use jiff::Timestamp;
use runtail_api::{ApiError, Kind, Place};
use runtail_stream::{End, Event, Head, Item, ReadError, Reader, Record, RunRecord, Seq};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc::{self, Sender};

/// Records, and their bytes, that are sent at once.
const BATCH: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait to be taken.
const BATCHES: usize = 4;

/// Reads a recording to its end.
pub(super) async fn play(file: PathBuf, out: &Out) {
    let (sender, mut batches) = mpsc::channel(BATCHES);
    let reading = tokio::task::spawn_blocking(move || read(&at_home(file), &sender));
    while let Some(items) = batches.recv().await {
        if !out.send(SubscriptionEvent::Items(items)).await {
            return;
        }
    }
    // It has sent all that it has to say.
    let _ = reading.await;
}

fn read(file: &Path, out: &Sender<Vec<Item>>) {
    // Invalid lines are reported only at the end: a small file may unpack to very many of them.
    let opened = File::open(file).and_then(|file| Reader::new(WhileWanted(file, out.clone())));
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => {
            let _ = out.blocking_send(vec![failed(file, &error.to_string())]);
            return;
        }
    };
    let (mut seen, mut damaged, mut ended) = (End::default(), 0_u64, false);
    let mut numbers = Numbers::default();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for read in reader.by_ref() {
        match read {
            Ok(mut record) => {
                if let Record::Event(event) = &mut record {
                    bytes += event.data.text().len();
                    if event.is_snapshot() {
                        numbers.place_snapshot(event, batch.len());
                    } else if let Some(gap) = numbers.put_right(event, &mut batch) {
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
            numbers.clamp();
            // The tab was closed.
            if out.blocking_send(std::mem::take(&mut batch)).is_err() {
                return;
            }
        }
    }
    if damaged > 0 {
        let why = format!("{damaged} lines are not records and were skipped; `runtail verify` lists them");
        let gap = Record::Gap { at: seen.at, why };
        seen.count(&gap);
        // An end that the file has stays the end.
        let end = batch.len() - usize::from(ended && !batch.is_empty());
        batch.insert(end, Item::Record(gap));
    }
    if !ended {
        let why = if reader.was_cut() {
            "ends in the middle of a line"
        } else {
            "has no end: it was truncated, or is still being written"
        };
        seen.detail = Some(format!("the recording {why}"));
        batch.push(Item::Record(Record::End(seen)));
    }
    let _ = out.blocking_send(batch);
}

/// A file that ends in an error once nobody wants it any more.
struct WhileWanted(File, Sender<Vec<Item>>);

impl Read for WhileWanted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.1.is_closed() { Err(io::ErrorKind::ConnectionAborted.into()) } else { self.0.read(into) }
    }
}

/// The numbers of events. On a tape they run without holes, as they do in any recording that nothing was taken out of; in
/// others what follows a hole is numbered on, and the hole is told.
#[derive(Default)]
struct Numbers {
    /// As they stand in the file, and on the tape.
    last: Option<(Seq, Seq)>,
    holes: u64,
    /// Snapshots before the first event, by their places in the batch: their positions depend on its number.
    leading: Vec<usize>,
}

impl Numbers {
    /// Holes told one by one.
    const TOLD: u64 = 100;
    /// The first event's number is its own, up to here: beyond, nobody counted to it.
    const FIRST: u64 = 1 << 53;

    /// Gives a snapshot its position. Files don't number them.
    fn place_snapshot(&mut self, event: &mut Event, place: usize) {
        match &mut self.last {
            Some((_, last)) => {
                *last = last.next();
                event.seq = *last;
            }
            None => {
                self.leading.push(place);
                event.seq = Seq(self.leading.len() as u64);
            }
        }
    }

    /// The snapshots so far keep their positions, whatever the first event's number will be.
    fn clamp(&mut self) {
        if !self.leading.is_empty() {
            self.last = Some((Seq::START, Seq(self.leading.len() as u64)));
            self.leading.clear();
        }
    }

    /// Gives an event its number on the tape, and what is to be told before it. `batch`: the records before it.
    fn put_right(&mut self, event: &mut Event, batch: &mut [Item]) -> Option<Record> {
        let said = event.seq;
        let Some((before, last)) = self.last else {
            let first = if (1..Self::FIRST).contains(&said.0) { said } else { Seq(1) };
            for (place, seq) in self.leading.iter().zip(first.0..) {
                if let Some(Item::Record(Record::Event(snapshot))) = batch.get_mut(*place) {
                    snapshot.seq = Seq(seq);
                }
            }
            event.seq = first + self.leading.len() as u64;
            self.leading.clear();
            self.last = Some((said, event.seq));
            return None;
        };
        event.seq = last.next();
        self.last = Some((said, event.seq));
        if said.checked_since(before) == Some(1) {
            return None;
        }
        self.holes += 1;
        let why = match said > before {
            _ if self.holes > Self::TOLD => return None,
            true => format!("the file has no events {} to {}", before.next(), said.previous()),
            false => format!("in the file event {said} follows event {before}"),
        };
        let more = if self.holes == Self::TOLD { "; further gaps like this are not reported" } else { "" };
        Some(Record::Gap {
            at: event.at,
            why: format!("{why}; following events are numbered from {}{more}", event.seq),
        })
    }
}

/// When a record came.
fn time(record: &Record) -> Timestamp {
    match record {
        Record::Event(Event { at, .. })
        | Record::Open { at, .. }
        | Record::Close { at, .. }
        | Record::Gap { at, .. }
        | Record::Tape(Head { at, .. })
        | Record::Run(RunRecord { at, .. })
        | Record::End(End { at, .. }) => *at,
    }
}

fn failed(file: &Path, why: &str) -> Item {
    let at = Place { host: file.to_string_lossy().into_owned(), ..Place::default() };
    let detail = format!("cannot read the recording: {why}");
    Item::Failed(Box::new(ApiError { kind: Kind::Refused, at, detail, hint: None }))
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

    /// What is told of a file with these records.
    fn told(records: &[Record]) -> Vec<Item> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        let mut text = Vec::new();
        records.iter().for_each(|record| write_record(&mut text, record).unwrap());
        std::fs::write(&file, &text).unwrap();
        let (sender, mut items) = mpsc::channel(BATCHES);
        read(&file, &sender);
        std::iter::from_fn(|| items.try_recv().ok()).flatten().collect()
    }

    #[test]
    fn numbers_with_holes_run_on_and_are_told() {
        let numbers = |said: &[u64]| {
            let told = told(&said.iter().map(|seq| event(*seq)).collect::<Vec<_>>());
            let number = |item: &Item| if let Item::Record(Record::Event(e)) = item { Some(e.seq.0) } else { None };
            let gap =
                |item: &Item| if let Item::Record(Record::Gap { why, .. }) = item { Some(why.clone()) } else { None };
            (told.iter().filter_map(number).collect::<Vec<_>>(), told.iter().filter_map(gap).collect::<Vec<_>>())
        };
        // One that was begun late keeps its numbers: only what is before them is missing.
        assert_eq!(numbers(&[501, 502, 503]), (vec![501, 502, 503], vec![]));
        let (seqs, gaps) = numbers(&[1, 2, 40, 41, 5]);
        assert_eq!(seqs, [1, 2, 3, 4, 5]);
        assert_eq!(gaps[0], "the file has no events 3 to 39; following events are numbered from 3");
        assert_eq!(gaps[1], "in the file event 5 follows event 41; following events are numbered from 5");
        assert_eq!(numbers(&[u64::MAX, u64::MAX, 0]).0, [1, 2, 3]);
        let many: Vec<u64> = (0..500).map(|n| n * 2 + 1).collect();
        let (seqs, gaps) = numbers(&many);
        assert_eq!((seqs.len(), gaps.len()), (500, Numbers::TOLD as usize));
        assert!(gaps.last().unwrap().ends_with("are not reported"));
    }

    #[test]
    fn snapshots_get_positions_between_the_events() {
        let snapshot = || {
            let parts = [(SnapshotPart::Runs, Loaded::Json("[]".into()))].into();
            Record::Event(ThreadSnapshot { at: Timestamp::UNIX_EPOCH, parts }.into_event(Seq(9)))
        };
        let positions = |records: &[Record]| -> Vec<(u64, bool)> {
            let entry = |item: &Item| match item {
                Item::Record(Record::Event(event)) => Some((event.seq.0, event.is_snapshot())),
                Item::Record(Record::Gap { why, .. }) => panic!("{why}"),
                _ => None,
            };
            told(records).iter().filter_map(entry).collect()
        };
        let whole = [snapshot(), snapshot(), event(1), snapshot(), event(2)];
        assert_eq!(positions(&whole), [(1, true), (2, true), (3, false), (4, true), (5, false)]);
        // One that was begun late keeps its numbers: the third entry is event 500.
        let late = [snapshot(), event(500), event(501), snapshot()];
        assert_eq!(positions(&late), [(500, true), (501, false), (502, false), (503, true)]);
        assert_eq!(positions(&[snapshot(), snapshot()]), [(1, true), (2, true)]);
    }

    #[test]
    fn what_nobody_wants_is_not_read_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, "\n".repeat(1000)).unwrap();
        let (sender, items) = mpsc::channel(BATCHES);
        drop(items);
        let opened = File::open(&file).and_then(|file| Reader::new(WhileWanted(file, sender)));
        assert_eq!(opened.err().map(|e| e.kind()), Some(io::ErrorKind::ConnectionAborted));
    }

    #[test]
    fn one_that_was_cut_says_so_in_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        let mut text = Vec::new();
        let at = jiff::Timestamp::UNIX_EPOCH;
        for record in [Record::Open { at, conn: 1, status: 200, resumed_after: None }, event(1)] {
            write_record(&mut text, &record).unwrap();
        }
        text.extend_from_slice(b"nonsense\n{\"kind\":\"eve");
        std::fs::write(&file, &text).unwrap();
        let (sender, mut items) = mpsc::channel(BATCHES);
        read(&file, &sender);
        let items = items.try_recv().unwrap();
        let [.., Item::Record(Record::Gap { why, .. }), Item::Record(Record::End(end))] = &items[..] else {
            panic!("{items:?}")
        };
        assert!(why.starts_with("1 lines"), "{why}");
        assert_eq!((end.outcome, end.events, end.bytes, end.connections), (Outcome::Unknown, 1, 3, 1));
        assert!(end.detail.as_ref().unwrap().contains("in the middle of a line"));
        read(Path::new("/nowhere/x"), &sender);
    }
}
