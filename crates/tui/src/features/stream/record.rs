//! Recording the stream that is shown: its tape is written to a file from its first event on, part by part, and goes on to be
//! as it grows. The file is behind by one part at most, else the stream waits. Trouble with it ends the recording alone.

use super::StreamState;
use super::export::Part;
use super::viewer::{LinkState, Viewer};
use crate::session::msg::{Chunk, Effect, FileStep};
use crate::session::{Requests, Session};
use jiff::Timestamp;
use runtail_core::text::{bytes, clean, count};
use runtail_stream::{End, Event, Outcome, Record, Seq, Tape, let_go};
use std::path::PathBuf;

/// Events that a recording may be behind before its stream waits for it.
const BEHIND: u64 = 10_000;

/// A recording that is being written.
#[derive(Debug)]
pub struct Recording {
    number: u64,
    /// The stream's number.
    stream: u64,
    path: PathBuf,
    /// The tape of a stream that was closed.
    tape: Option<Tape>,
    /// The next event, and the next of the records that are none.
    next: Seq,
    next_mark: u64,
    /// Where it ends, once it is to: one past the last event, and one past the last of the others.
    until: Option<(Seq, u64)>,
    /// What is in it.
    books: End,
    /// Bytes that were written.
    size: u64,
    step: Step,
    /// No more is to be recorded than what has come.
    stopping: bool,
    has_end: bool,
}

/// What the file is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Ready,
    Busy,
    Finishing,
}

impl Recording {
    /// What comes next on the tape, until the part is full.
    fn part(&mut self, tape: &Tape) -> Part {
        // A stream that goes on would else never let it end.
        let here = || (tape.newest_seq().next(), tape.marks_seen());
        let (end, end_mark) = match self.stopping {
            true => *self.until.get_or_insert_with(here),
            false => here(),
        };
        let mut part = Part::default();
        while !part.is_full() && !self.has_end {
            let record = match tape.mark(self.next_mark) {
                Some((number, mark)) if mark.after < self.next && number < end_mark => {
                    self.next_mark = number + 1;
                    mark.record.clone()
                }
                _ => match (tape.whole(self.next), tape.first_kept()) {
                    _ if self.next >= end => break,
                    (Some(event), _) => {
                        self.next = self.next.next();
                        // A recording counts the events of the stream; snapshots have no number.
                        Record::Event(Event { seq: tape.number_of(event.seq).in_recording(), ..event })
                    }
                    (None, Some(first)) if self.next < first => {
                        let why = let_go(tape.number_of(self.next), tape.number_of(first).previous());
                        let at = tape.arrival(first).unwrap_or_default();
                        self.next = first;
                        Record::Gap { at, why }
                    }
                    _ => break,
                },
            };
            let record = self.enter(record);
            part.add(Chunk::Record(Box::new(record)));
            part.entries += 1;
        }
        part
    }

    /// Counts a record. What its end says is what is in the file: of a stream of which something was let go before, not all is.
    fn enter(&mut self, record: Record) -> Record {
        match record {
            Record::End(end) => {
                self.has_end = true;
                let End { events, connections, gaps, malformed, .. } = self.books;
                Record::End(End { events, connections, gaps, malformed, ..end })
            }
            record => {
                self.books.count(&record);
                record
            }
        }
    }

    /// How a recording ends whose stream goes on, or ended without a word.
    fn detached(&mut self, now: Timestamp, viewer: Option<&Viewer>) -> Record {
        let (outcome, why) = match viewer.map(|viewer| &viewer.link) {
            Some(LinkState::Failed(error)) => (Outcome::Unknown, error.to_string()),
            _ => (Outcome::Detached, "the recording was ended, the stream went on".to_string()),
        };
        let duplicates = viewer.map_or(self.books.duplicates, |viewer| viewer.books().duplicates);
        self.enter(Record::End(End { at: now, outcome, detail: Some(why), duplicates, ..self.books.clone() }))
    }
}

impl StreamState {
    /// Runs the command: `[FILE]`, or `off`.
    pub fn record(&mut self, session: &Session, argument: &str) -> Requests {
        let argument = argument.trim();
        let Some(viewer) = self.tabs.shown() else {
            return Requests::error("No stream is shown: there is nothing to record.");
        };
        let (stream, is_recording) = (viewer.id, viewer.is_recording());
        let known = self.recordings.iter_mut().find(|recording| recording.stream == stream);
        match (argument, known) {
            ("off", Some(recording)) => {
                recording.stopping = true;
                Requests::none()
            }
            ("off", None) => Requests::info("This stream is not recorded."),
            (_, Some(recording)) => {
                let path = clean(&recording.path.display().to_string()).into_owned();
                Requests::error(format!("This stream is recorded to {path} already; :record off ends that."))
            }
            (_, None) if is_recording => Requests::error("This is a recording already."),
            (path, None) => {
                let id = viewer.run_id.as_deref().or(viewer.thread_id.as_deref()).unwrap_or("stream");
                let id: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(8).collect();
                let at = session.now.to_zoned(session.settings.tz.clone()).strftime("%H%M%S").to_string();
                let path = if path.is_empty() { format!("runtail-{id}-{at}.jsonl") } else { path.to_string() };
                let number = session.next_change.take();
                self.recordings.push(Recording {
                    number,
                    stream,
                    path: PathBuf::from(&path),
                    tape: None,
                    next: Seq(1),
                    next_mark: 0,
                    until: None,
                    books: End::default(),
                    size: 0,
                    step: Step::Busy,
                    stopping: false,
                    has_end: false,
                });
                Effect::File(number, FileStep::Record(path.into())).into()
            }
        }
    }

    /// Bytes that the recording of a stream has by now; none where it is not recorded.
    pub fn recorded(&self, stream: u64) -> Option<u64> {
        self.recordings.iter().find(|recording| recording.stream == stream).map(|recording| recording.size)
    }

    /// Whether a stream is to wait for its recording: what is let go of the tape must be in the file before.
    pub(crate) fn is_behind(&self, viewer: &Viewer) -> bool {
        let Some(recording) = self.recordings.iter().find(|recording| recording.stream == viewer.id) else {
            return false;
        };
        let tape = &viewer.tape;
        let behind = tape.newest_seq().next() - recording.next;
        let kept = tape.kept_rows().max(1) as u64;
        let limits = tape.limits();
        let bytes = (tape.kept_bytes() as u64 / kept).saturating_mul(behind);
        behind > BEHIND.min(limits.max_rows as u64 / 4) || bytes > limits.max_bytes as u64 / 4
    }

    /// A step with the file of a recording is done; none where the number is not one of a recording.
    pub(super) fn on_recorded(&mut self, number: u64, result: &Result<u64, String>) -> Option<Requests> {
        let at = self.recordings.iter().position(|recording| recording.number == number)?;
        let recording = &mut self.recordings[at];
        let path = clean(&recording.path.display().to_string()).into_owned();
        Some(match (result, recording.step) {
            (Ok(size), Step::Finishing) => {
                let text = format!("Recorded {} events, {}, to {path}", count(recording.books.events), bytes(*size));
                self.recordings.remove(at);
                Requests::info(text)
            }
            (Ok(size), _) => {
                recording.size = *size;
                recording.step = Step::Ready;
                Requests::none()
            }
            (Err(why), _) => {
                let was_begun = recording.next > Seq(1) || recording.next_mark > 0;
                self.recordings.remove(at);
                Requests::error(match was_begun {
                    true => format!("The recording {path} ends here, the stream goes on: {why}"),
                    false => format!("{path} is not recorded to: {why}"),
                })
            }
        })
    }

    /// Ends all recordings, as when the dashboard does.
    pub fn end_recordings(&mut self, now: Timestamp) -> Vec<Effect> {
        self.recordings.iter_mut().for_each(|recording| recording.stopping = true);
        self.record_on(now)
    }

    /// Whether any recording is still being written.
    pub fn is_recording(&self) -> bool {
        !self.recordings.is_empty()
    }

    /// Writes what has come since, where the files are ready for more.
    pub fn record_on(&mut self, now: Timestamp) -> Vec<Effect> {
        for closed in self.tabs.take_closed() {
            if let Some(recording) = self.recordings.iter_mut().find(|recording| recording.stream == closed.stream) {
                recording.tape = Some(closed.tape);
                recording.books.duplicates = closed.duplicates;
                recording.stopping = true;
            }
        }
        let mut effects = Vec::new();
        let streams = &self.tabs;
        for recording in self.recordings.iter_mut().filter(|recording| recording.step == Step::Ready) {
            let own = recording.tape.take();
            let viewer = streams.all().iter().find(|viewer| viewer.id == recording.stream);
            // One that failed says nothing more, not even that it ended.
            recording.stopping |= viewer.is_some_and(|viewer| !viewer.is_open());
            let mut part = match own.as_ref().or(viewer.map(|viewer| &viewer.tape)) {
                Some(tape) => recording.part(tape),
                None => Part::default(),
            };
            recording.tape = own;
            if part.chunks.is_empty() && recording.stopping && !recording.has_end {
                part.add(Chunk::Record(Box::new(recording.detached(now, viewer))));
            }
            let step = match (part.chunks.is_empty(), recording.has_end) {
                (false, _) => FileStep::Write(part.chunks),
                (true, true) => FileStep::Finish,
                (true, false) => continue,
            };
            recording.step = if step == FileStep::Finish { Step::Finishing } else { Step::Busy };
            effects.push(Effect::File(recording.number, step));
        }
        effects
    }
}
