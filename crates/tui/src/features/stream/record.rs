//! Recording of a stream: its event log is written to a file from the first event, in parts, and continues as the
//! stream grows. The file is at most one part behind; otherwise the stream waits. An error ends only the recording.

use super::StreamState;
use super::export::{short_id, shown_path, timed_name};
use super::formats::{Format, Part};
use super::viewer::{ConnectionState, Viewer};
use crate::session::msg::{Chunk, Effect, FileStep};
use crate::session::{Requests, Session};
use jiff::Timestamp;
use runtail_core::text::{bytes, count};
use runtail_stream::{End, Event, EventLog, Outcome, Record, Seq, evicted_before_recording};
use std::path::PathBuf;

/// Maximum number of events that a recording may be behind before its stream waits.
const MAX_BEHIND: u64 = 10_000;

/// A recording in progress.
#[derive(Debug, Default)]
pub struct Recording {
    number: u64,
    /// The number of the stream.
    stream: u64,
    path: PathBuf,
    /// The event log of a stream that was closed.
    event_log: Option<EventLog>,
    /// The next event to write, and the next record that is not an event.
    next: Seq,
    next_mark: u64,
    /// The end of the recording (exclusive), once it is fixed: an event, and a record that is not an event.
    until: Option<(Seq, u64)>,
    /// The totals of what was written.
    totals: End,
    /// The size of the file in bytes.
    size: u64,
    step: RecordingStep,
    /// Whether to stop at the newest event.
    stopping: bool,
    /// Whether nothing more is written but the end, and how many events are missing because of that.
    is_cut: bool,
    missing: u64,
    has_end: bool,
}

/// The step that the file is in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum RecordingStep {
    #[default]
    Ready,
    Busy,
    Finishing,
}

impl Recording {
    /// Returns the next records of the event log, until the part is full.
    fn next_part(&mut self, event_log: &EventLog) -> Part {
        // Fixing the end now keeps a live stream from extending the recording forever.
        let newest = || (event_log.newest_seq().next(), event_log.marks_appended());
        let (end, end_mark) = match self.stopping {
            true => *self.until.get_or_insert_with(newest),
            false => newest(),
        };
        let mut part = Part::default();
        if self.is_cut && self.next < end {
            self.missing = event_log.number_of(end).0 - event_log.number_of(self.next).0;
            return part;
        }
        while !part.is_full() && !self.has_end {
            let record = match event_log.mark(self.next_mark) {
                Some((number, mark)) if mark.after < self.next && number < end_mark => {
                    self.next_mark = number + 1;
                    mark.record.clone()
                }
                _ => match (event_log.whole(self.next), event_log.first_retained()) {
                    _ if self.next >= end => break,
                    (Some(event), _) => {
                        self.next = self.next.next();
                        // A recording numbers the events of the stream; snapshots have no number.
                        Record::Event(Event {
                            seq: event_log.number_of(event.seq).in_recording(),
                            ..event
                        })
                    }
                    (None, Some(first)) if self.next < first => {
                        let why = evicted_before_recording(
                            event_log.number_of(self.next),
                            event_log.number_of(first).previous(),
                        );
                        let at = event_log.arrival(first).unwrap_or_default();
                        self.next = first;
                        Record::Gap { at, why }
                    }
                    _ => break,
                },
            };
            let record = self.count_record(record);
            part.add(Chunk::Record(Box::new(record)));
            part.entries += 1;
        }
        part
    }

    /// Counts a record. The totals describe the file, which may lack events that were evicted before the recording
    /// began.
    fn count_record(&mut self, record: Record) -> Record {
        match record {
            Record::End(end) => {
                self.has_end = true;
                let End {
                    events,
                    connections,
                    gaps,
                    malformed,
                    ..
                } = self.totals;
                Record::End(End {
                    events,
                    connections,
                    gaps,
                    malformed,
                    ..end
                })
            }
            record => {
                self.totals.count(&record);
                record
            }
        }
    }

    /// Returns the final record of a recording whose stream continues, or ended without a record.
    fn final_record(&mut self, now: Timestamp, viewer: Option<&Viewer>) -> Record {
        let (outcome, why) = match viewer.map(|viewer| &viewer.connection) {
            _ if self.missing > 0 => {
                let missing = count(self.missing);
                (
                    Outcome::Detached,
                    format!("the dashboard ended before writing the newest {missing} events"),
                )
            }
            Some(ConnectionState::Failed(error)) => (Outcome::Unknown, error.to_string()),
            _ => (
                Outcome::Detached,
                "recording stopped; the stream continued".to_string(),
            ),
        };
        let duplicates = viewer.map_or(self.totals.duplicates, |viewer| {
            viewer.delivery_log().duplicates
        });
        self.count_record(Record::End(End {
            at: now,
            outcome,
            detail: Some(why),
            duplicates,
            ..self.totals.clone()
        }))
    }
}

fn recording_of(recordings: &mut [Recording], stream: u64) -> Option<&mut Recording> {
    let mut recordings = recordings.iter_mut();
    recordings.find(|recording| recording.stream == stream)
}

impl StreamState {
    /// Runs the `:record` command: `[FILE]`, or `off`.
    pub fn record(&mut self, session: &Session, argument: &str) -> Requests {
        let argument = argument.trim();
        let Some(viewer) = self.tabs.shown() else {
            return Requests::error("No stream is shown.");
        };
        let (stream, is_recording) = (viewer.id, viewer.is_recording());
        match (argument, recording_of(&mut self.recordings, stream)) {
            ("off", Some(recording)) => {
                recording.stopping = true;
                Requests::none()
            }
            ("off", None) => Requests::info("This stream is not being recorded."),
            (_, Some(recording)) => {
                let path = shown_path(&recording.path);
                Requests::error(format!("Already recording to {path}; :record off stops."))
            }
            (_, None) if is_recording => Requests::error("This is already a recording."),
            (path, None) => {
                let path = if path.is_empty() {
                    timed_name(session, &short_id(viewer), Format::Jsonl)
                } else {
                    path.to_string()
                };
                let number = session.next_change.take();
                self.recordings.push(Recording {
                    number,
                    stream,
                    path: PathBuf::from(&path),
                    next: Seq(1),
                    step: RecordingStep::Busy,
                    ..Recording::default()
                });
                Effect::File(number, FileStep::Record(path.into())).into()
            }
        }
    }

    /// Returns the recording of a stream, if it is being recorded.
    fn recording(&self, stream: u64) -> Option<&Recording> {
        let mut recordings = self.recordings.iter();
        recordings.find(|recording| recording.stream == stream)
    }

    /// Returns the bytes that a stream's recording has so far; `None` if it is not being recorded.
    pub fn recorded_bytes(&self, stream: u64) -> Option<u64> {
        self.recording(stream).map(|recording| recording.size)
    }

    /// Returns whether a stream must wait for its recording, because events must be in the file before they are
    /// evicted.
    pub(crate) fn is_behind(&self, viewer: &Viewer) -> bool {
        let Some(recording) = self.recording(viewer.id) else {
            return false;
        };
        let event_log = viewer.live_log();
        let behind = event_log.newest_seq().next() - recording.next;
        let kept = event_log.retained_events().max(1) as u64;
        let limits = event_log.limits();
        let bytes = (event_log.kept_bytes() as u64 / kept).saturating_mul(behind);
        behind > MAX_BEHIND || bytes > limits.max_bytes as u64 / 4
    }

    /// Handles the result of a step with a recording's file. Returns `None` if the number is not a recording's.
    pub(super) fn on_recorded(
        &mut self,
        number: u64,
        result: &Result<u64, String>,
    ) -> Option<Requests> {
        let at = self
            .recordings
            .iter()
            .position(|recording| recording.number == number)?;
        let recording = &mut self.recordings[at];
        let path = shown_path(&recording.path);
        Some(match (result, recording.step) {
            (Ok(size), RecordingStep::Finishing) => {
                let (events, missing) = (count(recording.totals.events), recording.missing);
                self.recordings.remove(at);
                match missing {
                    0 => Requests::info(format!(
                        "Recorded {events} events, {}, to {path}",
                        bytes(*size)
                    )),
                    _ => Requests::error(format!(
                        "{path} has {events} events; the newest {} are missing",
                        count(missing)
                    )),
                }
            }
            (Ok(size), _) => {
                recording.size = *size;
                recording.step = RecordingStep::Ready;
                Requests::none()
            }
            (Err(why), _) => {
                let has_written = recording.next > Seq(1) || recording.next_mark > 0;
                self.recordings.remove(at);
                Requests::error(match has_written {
                    true => format!("The recording {path} ends here; the stream continues: {why}"),
                    false => format!("Couldn't record to {path}: {why}"),
                })
            }
        })
    }

    /// Ends all recordings, for example when the dashboard quits.
    pub fn end_recordings(&mut self, now: Timestamp) -> Vec<Effect> {
        self.recordings
            .iter_mut()
            .for_each(|recording| recording.stopping = true);
        self.write_recordings(now)
    }

    /// Ends all recordings without the events that are not written yet.
    pub fn cut_recordings(&mut self, now: Timestamp) -> Vec<Effect> {
        self.recordings
            .iter_mut()
            .for_each(|recording| recording.is_cut = true);
        self.write_recordings(now)
    }

    /// Returns the recordings and the export in progress.
    pub fn unfinished_files(&self) -> impl Iterator<Item = &PathBuf> {
        let export = self.export.iter().map(|export| &export.path);
        self.recordings
            .iter()
            .map(|recording| &recording.path)
            .chain(export)
    }

    /// Writes the new records of each recording whose file is ready.
    pub fn write_recordings(&mut self, now: Timestamp) -> Vec<Effect> {
        for closed in self.tabs.take_closed() {
            if let Some(recording) = recording_of(&mut self.recordings, closed.stream) {
                recording.event_log = Some(closed.event_log);
                recording.totals.duplicates = closed.duplicates;
                recording.stopping = true;
            }
        }
        let mut effects = Vec::new();
        let streams = &self.tabs;
        for recording in self
            .recordings
            .iter_mut()
            .filter(|recording| recording.step == RecordingStep::Ready)
        {
            let own = recording.event_log.take();
            let viewer = streams.get(recording.stream);
            // A failed stream sends no end record.
            recording.stopping |= viewer.is_some_and(|viewer| !viewer.is_open());
            let mut part = match own.as_ref().or(viewer.map(Viewer::live_log)) {
                Some(event_log) => recording.next_part(event_log),
                None => Part::default(),
            };
            recording.event_log = own;
            if part.chunks.is_empty() && recording.stopping && !recording.has_end {
                part.add(Chunk::Record(Box::new(recording.final_record(now, viewer))));
            }
            let step = match (part.chunks.is_empty(), recording.has_end) {
                (false, _) => FileStep::Write(part.chunks),
                (true, true) => FileStep::Finish,
                (true, false) => continue,
            };
            recording.step = if step == FileStep::Finish {
                RecordingStep::Finishing
            } else {
                RecordingStep::Busy
            };
            effects.push(Effect::File(recording.number, step));
        }
        effects
    }
}
