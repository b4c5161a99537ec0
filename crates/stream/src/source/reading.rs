//! What arrives on one connection.

use super::{BATCH_BYTES, BATCH_ITEMS, LINGER, QUIET, SILENCE, Source};
use crate::protocol::mode;
use crate::source::control_events::{error_text, run_id_of};
use crate::source::disconnect::DisconnectReason;
use crate::source::resume::Admit;
use crate::source::sequence_ids;
use crate::source::stored::{Sorted, Stored};
use crate::sse::decode::Decoded;
use crate::sse::read_ahead::{Batch, Feed, Feeds};
use crate::transport::link::{Link, Verdict};
use crate::transport::modes::other_modes;
use crate::{Data, Item, Record, Seq};
use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use runtail_api::Kind;
use std::pin::pin;
use tokio::time::Instant;

/// Batches that are taken before the clock is looked at, and what else may have to be done.
const AT_ONCE: usize = 16;

impl<L: Link> Source<L> {
    /// Reads one connection to its end.
    pub(super) async fn read(&mut self, mut body: Feeds, conn: u32) -> DisconnectReason {
        // The newest look at the clock; when the server was heard, and when it was asked about the run.
        let mut now = Instant::now();
        let (mut heard, mut asked) = (now, now);
        // Since when it waits for the server, and only for the server.
        let mut waiting = now;
        self.watchdog.opened(heard);
        let mut changed = pin!(other_modes(self.options.modes.clone()));
        // One alarm for all that may have to be done in a silence: to set one for each chunk would cost more than the chunk.
        let mut alarm = pin!(tokio::time::sleep(QUIET));
        loop {
            if self.wants_other_modes() && self.take_modes(true).await {
                return DisconnectReason::Modes;
            }
            let due = self.flushed + LINGER;
            if !self.batch.is_empty() && now >= due {
                self.flush().await;
                // A consumer that let us wait is not a server that is silent.
                now = Instant::now();
                (heard, asked, waiting) = (now, now, now);
            }
            let known = self.watchdog.patience(self.link.capabilities().beats);
            let until = known.map_or(asked + QUIET, |patience| heard + patience);
            let held = self.stored.as_ref().and_then(Stored::due);
            let next = if self.batch.is_empty() { held.map_or(until, |held| held.min(until)) } else { due };
            if alarm.is_elapsed() || next < alarm.deadline() {
                alarm.as_mut().reset(next);
            }
            let next = tokio::select! {
                biased;
                next = body.next() => next,
                () = &mut changed => {
                    changed.set(other_modes(self.options.modes.clone()));
                    continue;
                }
                () = alarm.as_mut() => {
                    now = Instant::now();
                    if held.is_some_and(|held| now >= held) {
                        self.release_stored(conn);
                    }
                    match known {
                        _ if !self.batch.is_empty() || now < until => continue,
                        Some(_) => {
                            self.watchdog.bit();
                            return DisconnectReason::Idle;
                        }
                        // Nothing was ever heard by which to tell silence from a dead link. That the run is over
                        // would have been said by now.
                        None if matches!(self.link.verdict().await, Ok(Verdict::Over(..) | Verdict::Gone(..))) => {
                            return DisconnectReason::Idle;
                        }
                        None => {
                            self.note_silence();
                            asked = Instant::now();
                            continue;
                        }
                    }
                }
            };
            now = Instant::now();
            (heard, asked) = (now, now);
            self.replay.paused(now.duration_since(waiting));
            let at = Timestamp::now();
            let mut next = Some(next);
            // What is there already came at the same time.
            for _ in 0..AT_ONCE {
                let batch = match next.take().or_else(|| body.next().now_or_never()) {
                    None => break,
                    Some(Some(Ok(batch))) => batch,
                    Some(Some(Err(error))) if error.kind == Kind::Timeout => return DisconnectReason::Timeout,
                    Some(Some(Err(_))) => return DisconnectReason::Reset,
                    Some(None) => return DisconnectReason::Clean,
                };
                if let Some(closed) = self.take(batch, (at, heard), conn).await {
                    return closed;
                }
            }
            if now.duration_since(self.last_event) >= self.next_silence && !self.is_endless {
                self.check_silent_run().await;
            }
            waiting = if self.replay.awaits_pause() { Instant::now() } else { now };
        }
    }

    /// Takes a batch. Returns why the connection is left if it can't be told whether an event arrived before, or if the body
    /// ended in the middle of one.
    async fn take(&mut self, batch: Batch, (at, heard): (Timestamp, Instant), conn: u32) -> Option<DisconnectReason> {
        self.sums.bytes += batch.bytes;
        for feed in batch.feed {
            match feed {
                Feed::Event(event) => {
                    self.batch_bytes += event.name.len() + event.id.len() + event.data.len();
                    let event = self.decoder.decode_event(event);
                    if !self.sort(event, (at, heard), conn) {
                        return Some(DisconnectReason::Ambiguous);
                    }
                }
                Feed::Heartbeat => {
                    self.watchdog.beat(heard);
                    self.note(Item::Heartbeat { at });
                }
                Feed::Gap(why) => self.gap(why),
                Feed::Replaying { answered } => {
                    self.replay.replaying(answered);
                    self.tail.opened(Some(""), answered);
                }
                Feed::Live => {
                    self.replay.live();
                    self.tail.opened(None, None);
                }
                Feed::Unfinished => return Some(DisconnectReason::Truncated),
            }
            if self.batch.len() >= BATCH_ITEMS || self.batch_bytes >= BATCH_BYTES {
                self.flush().await;
            }
        }
        None
    }

    /// Takes an event in the order in which it is sent, and passes it on in the order of its run.
    fn sort(&mut self, event: Decoded, (at, heard): (Timestamp, Instant), conn: u32) -> bool {
        let Some(stored) = &mut self.stored else { return self.event(event, at, conn) };
        let mut sorted = Vec::new();
        stored.push(event, heard, &mut sorted);
        self.sorted(sorted, at, conn);
        true
    }

    /// Stored events that wait for their live form are passed on as they are.
    pub(super) fn release_stored(&mut self, conn: u32) {
        if let Some(stored) = &mut self.stored {
            let mut sorted = Vec::new();
            stored.release(&mut sorted);
            self.sorted(sorted, Timestamp::now(), conn);
        }
    }

    fn sorted(&mut self, sorted: Vec<Sorted>, at: Timestamp, conn: u32) {
        for event in sorted {
            match event {
                Sorted::New(event, 0) => self.record(event, Admit::New, at, conn),
                Sorted::New(event, missing) => self.record(event, Admit::NewAfterHole(missing), at, conn),
                Sorted::Duplicate => self.duplicate(at),
            }
        }
    }

    /// Takes an event; false if it can't be told from one that was received before.
    fn event(&mut self, event: Decoded, at: Timestamp, conn: u32) -> bool {
        let admit = self.tail.admit(&event);
        if let Some(doubt) = self.tail.doubt() {
            self.gap(doubt.into());
        }
        match admit {
            Admit::Unsure => return false,
            Admit::Repeated => self.duplicate(at),
            Admit::New | Admit::NewAfterGap | Admit::NewAfterHole(_) => self.record(event, admit, at, conn),
        }
        true
    }

    fn duplicate(&mut self, at: Timestamp) {
        self.sums.duplicates += 1;
        if let Some(Item::Repeated { events, .. }) = self.batch.last_mut() {
            *events += 1;
        } else {
            self.note(Item::Repeated { at, events: 1 });
        }
    }

    /// Appends a new event to the log, behind what is missing before it.
    fn record(&mut self, event: Decoded, admit: Admit, at: Timestamp, conn: u32) {
        self.note_missing_before(&event, admit);
        (self.last_event, self.next_silence) = (Instant::now(), SILENCE);
        self.replayable += u64::from(event.id.is_some());
        if event.ns.is_empty() && !self.is_endless {
            self.note_run(&event);
        }
        let replayed = self.replay.is_replayed(&event);
        self.has_event = true;
        if !self.link.wants(mode(&event.name, &event.data)) {
            return;
        }
        self.sums.events += 1;
        if !matches!(event.data, Data::Json(_)) {
            self.sums.malformed += 1;
        }
        let event = event.at(Seq(self.sums.events), at, conn, replayed);
        self.note(Item::Record(Record::Event(event)));
    }

    fn note_missing_before(&mut self, event: &Decoded, admit: Admit) {
        let joined = self.joined.take();
        match (admit, joined) {
            (Admit::NewAfterGap, _) => {
                self.gap_of_outage("the server did not replay what it was asked to; events may be missing");
            }
            (_, Some((joining, at))) => {
                let number = event.id.as_deref().and_then(sequence_ids::split).map(|(_, number)| number);
                let first = self.link.numbering().map(|numbering| numbering.first);
                if let Some(why) = joining.missing_before(&event.name, event.data.text(), at, number, first) {
                    self.gap(why);
                }
            }
            (Admit::NewAfterHole(missing), None) => {
                // Right after a reconnect the missing ones were lost with the connection.
                self.has_rival |= self.has_event && self.link.numbering().is_some();
                let (ids, those) =
                    if missing == 1 { ("event id is", "that event") } else { ("event ids are", "those events") };
                self.gap(format!(
                    "{} {ids} missing here: another reader may have taken {those}",
                    runtail_core::text::count(missing)
                ));
            }
            _ => {}
        }
    }

    /// What an event at the root says about the run as a whole.
    fn note_run(&mut self, event: &Decoded) {
        match mode(&event.name, &event.data) {
            // A new attempt: the error of the one before is not the end.
            "metadata" => self.live_error = None,
            "error" => self.live_error = Some(error_text(event.data.text())),
            "end" => self.has_end = true,
            "updates" | "values" => self.last_state = Some(event.data.clone()),
            _ => {}
        }
        if self.run_known || self.has_event && &*event.name != "metadata" {
            return;
        }
        if let Some(run_id) = run_id_of(&event.data) {
            self.options.head.run_id.get_or_insert_with(|| run_id.clone());
            self.link.found_run(&run_id);
            self.started(run_id);
        }
    }
}
