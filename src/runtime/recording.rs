//! A recording as a stream: read as fast as it is taken, and no faster.

use super::export::at_home;
use super::subs::Out;
use crate::api::{ApiError, Kind, Place};
use crate::app::msg::Answer;
use crate::stream::{Data, End, Event, Item, ReadError, Reader, Record};
use crate::text;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc::{self, Sender};

/// Records, and their bytes, that are sent at once.
const BATCH: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait to be taken.
const BATCHES: usize = 4;
/// The largest number that the first event may have: those that follow it have theirs too.
const FIRST: u64 = 1 << 53;

/// Reads a recording to its end.
pub(super) async fn play(file: PathBuf, out: &Out) {
    let (sender, mut batches) = mpsc::channel(BATCHES);
    let reading = tokio::task::spawn_blocking(move || read(&at_home(file), &sender));
    while let Some(items) = batches.recv().await {
        if !out.send(Answer::Items(items)).await {
            return;
        }
    }
    // It has sent all that it has to say.
    let _ = reading.await;
}

fn read(file: &Path, out: &Sender<Vec<Item>>) {
    // What is no record is told only at the end: a small file may unpack to so much of it that nobody waits for that.
    let opened = File::open(file).and_then(|file| Reader::new(WhileWanted(file, out.clone())));
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => {
            let _ = out.blocking_send(vec![failed(file, &error.to_string())]);
            return;
        }
    };
    let (mut seen, mut damaged, mut ended) = (End::default(), 0_u64, false);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    let mut numbers = Numbers::default();
    for read in reader.by_ref() {
        match read {
            Ok(mut record) => {
                if let Record::Event(event) = &mut record
                    && let Some(why) = numbers.take(event)
                {
                    let gap = Record::Gap { at: event.at, why };
                    count(&mut seen, &gap);
                    batch.push(Item::Record(gap));
                }
                count(&mut seen, &record);
                ended |= matches!(record, Record::End(_));
                if let Record::Event(event) = &record {
                    bytes += event.data.text().len();
                }
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
            // The tab was closed.
            if out.blocking_send(std::mem::take(&mut batch)).is_err() {
                return;
            }
        }
    }
    if !ended {
        let why = if reader.was_cut() {
            "ends in the middle of a line"
        } else {
            "has no end: it was cut off, or is still being written"
        };
        seen.detail = Some(format!("the recording {why}"));
        batch.push(Item::Record(Record::End(seen)));
    }
    if damaged > 0 {
        let why = format!("{damaged} lines are no records, and were left out: runtail verify says which");
        let at = batch.last().and_then(time).unwrap_or_default();
        let end = batch.len() - usize::from(!batch.is_empty());
        batch.insert(end, Item::Record(Record::Gap { at, why }));
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

/// The numbers of events. A tape knows no holes, so what follows one in a file is counted on.
#[derive(Default)]
struct Numbers {
    /// Of the newest event: as it is in the file, and as it is shown.
    last: Option<(u64, u64)>,
}

impl Numbers {
    /// Gives an event its number. Says so where the file has another one than the one that follows.
    fn take(&mut self, event: &mut Event) -> Option<String> {
        let said = event.seq;
        let (follows, shown) = match self.last {
            None => (said, said.clamp(1, FIRST)),
            Some((before, shown)) => (before.saturating_add(1), shown + 1),
        };
        (self.last, event.seq) = (Some((said, shown)), shown);
        (said != follows).then(|| match said.checked_sub(follows) {
            Some(lacking) => format!("events missing from the recording: {}", text::count(lacking)),
            None => format!("the recording goes back to event {said}"),
        })
    }
}

/// Counts a record into the end of a recording that has none.
fn count(seen: &mut End, record: &Record) {
    match record {
        Record::Event(Event { at, data, .. }) => {
            seen.at = *at;
            seen.events += 1;
            seen.bytes += data.size();
            seen.malformed += u64::from(!matches!(data, Data::Json(_)));
        }
        Record::Open { at, .. } => {
            seen.at = *at;
            seen.connections += 1;
        }
        Record::Gap { at, .. } => {
            seen.at = *at;
            seen.gaps += 1;
        }
        Record::Close { at, .. } => seen.at = *at,
        Record::Tape(head) => seen.at = head.at,
        Record::End(_) => {}
    }
}

fn time(item: &Item) -> Option<jiff::Timestamp> {
    match item {
        Item::Record(Record::End(end)) => Some(end.at),
        Item::Record(Record::Event(event)) => Some(event.at),
        _ => None,
    }
}

fn failed(file: &Path, why: &str) -> Item {
    let at = Place { host: file.to_string_lossy().into_owned(), ..Place::default() };
    let detail = format!("cannot read the recording: {why}");
    Item::Failed(ApiError { kind: Kind::Refused, at, detail, hint: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Outcome, write_record};

    #[test]
    fn numbers_of_others_make_no_hole() {
        let event = |seq| Event {
            seq,
            at: jiff::Timestamp::UNIX_EPOCH,
            conn: 1,
            name: "x".into(),
            ns: [].into(),
            id: None,
            data: Data::Json("1".into()),
        };
        let taken = |said: &[u64]| {
            let mut numbers = Numbers::default();
            let take = |seq: &u64| {
                let mut event = event(*seq);
                let told = numbers.take(&mut event);
                (event.seq, told.unwrap_or_default())
            };
            said.iter().map(take).collect::<Vec<_>>()
        };
        let bare = |seq| (seq, String::new());
        assert_eq!(taken(&[7, 8, 9]), [bare(7), bare(8), bare(9)], "one that was begun late keeps its numbers");
        let told = taken(&[1, 5, 6, 2, u64::MAX, u64::MAX]);
        assert_eq!((&told[0], &told[2]), (&bare(1), &bare(3)));
        assert_eq!(told[1], (2, "events missing from the recording: 3".into()));
        assert_eq!(told[3], (4, "the recording goes back to event 2".into()));
        assert!(told[4].1.starts_with("events missing") && told[5].0 == 6, "{told:?}");
        assert_eq!(taken(&[u64::MAX, 0])[0], bare(FIRST));
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
        for record in [
            Record::Open { at, conn: 1, status: 200, resumed_after: None },
            Record::Event(Event {
                seq: 1,
                at,
                conn: 1,
                name: "x".into(),
                ns: [].into(),
                id: None,
                data: Data::Json("[1]".into()),
            }),
        ] {
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
