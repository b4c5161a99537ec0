//! Reads the events of one connection.

use super::{
    BATCH_BYTES, BATCH_ITEMS, BATCH_LINGER, FIRST_SILENCE_REPORT, IDLE_PROBE_INTERVAL, Source,
};
use crate::protocol::mode;
use crate::source::control_events::{error_text, run_id_of};
use crate::source::disconnect::DisconnectReason;
use crate::source::resume::Admission;
use crate::source::sequence_ids;
use crate::source::stored::{Sorted, Stored};
use crate::sse::decode::Decoded;
use crate::sse::read_ahead::{Batch, Batches, Feed};
use crate::transport::connection::{RunState, Transport};
use crate::transport::modes::other_modes;
use crate::{Data, Item, Record, Seq};
use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use runtail_api::Kind;
use std::pin::pin;
use tokio::time::Instant;

/// Batches processed before the clock and other work are checked.
const BATCHES_PER_TURN: usize = 16;

impl<L: Transport> Source<L> {
    /// Reads one connection to its end.
    pub(super) async fn read(&mut self, mut body: Batches, conn: u32) -> DisconnectReason {
        // The time of the last clock read, of the last data, and of the last status check.
        let mut now = Instant::now();
        let (mut received, mut last_check) = (now, now);
        // Start of the current wait for the server, excluding waits for the consumer.
        let mut waiting = now;
        self.watchdog.opened(received);
        let mut changed = pin!(other_modes(self.options.modes.clone()));
        // One timer for all timeouts: setting one per chunk would cost more than the chunk.
        let mut alarm = pin!(tokio::time::sleep(IDLE_PROBE_INTERVAL));
        loop {
            if self.modes_changed() && self.apply_modes(true).await {
                return DisconnectReason::Modes;
            }
            let due = self.flushed + BATCH_LINGER;
            if !self.batch.is_empty() && now >= due {
                self.flush().await;
                // Time spent waiting for the consumer doesn't count as server silence.
                now = Instant::now();
                (received, last_check, waiting) = (now, now, now);
            }
            let timeout = self
                .watchdog
                .timeout(self.transport.capabilities().sends_heartbeats);
            let until = timeout.map_or(last_check + IDLE_PROBE_INTERVAL, |timeout| {
                received + timeout
            });
            let held = self.stored.as_ref().and_then(Stored::due);
            let next = if self.batch.is_empty() {
                held.map_or(until, |held| held.min(until))
            } else {
                due
            };
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
                    match timeout {
                        _ if !self.batch.is_empty() || now < until => continue,
                        Some(_) => {
                            self.watchdog.on_timeout();
                            return DisconnectReason::Idle;
                        }
                        // Without heartbeats, an idle connection looks like a dead one. If the run has finished, the
                        // server would have closed the stream by now.
                        None if matches!(self.transport.run_state(self.live_error.as_deref()).await, Ok(RunState::Finished(..) | RunState::NotFound(..))) => {
                            return DisconnectReason::Idle;
                        }
                        None => {
                            self.report_silence();
                            last_check = Instant::now();
                            continue;
                        }
                    }
                }
            };
            now = Instant::now();
            (received, last_check) = (now, now);
            self.replay.paused(now.duration_since(waiting));
            let at = Timestamp::now();
            let mut next = Some(next);
            // Batches that are already buffered arrived at the same time.
            for _ in 0..BATCHES_PER_TURN {
                let batch = match next.take().or_else(|| body.next().now_or_never()) {
                    None => break,
                    Some(Some(Ok(batch))) => batch,
                    Some(Some(Err(error))) if error.kind == Kind::Timeout => {
                        return DisconnectReason::Timeout;
                    }
                    Some(Some(Err(_))) => return DisconnectReason::Reset,
                    Some(None) => return DisconnectReason::Clean,
                };
                if let Some(closed) = self.process_batch(batch, (at, received), conn).await {
                    return closed;
                }
            }
            if now.duration_since(self.last_event) >= self.next_silence && !self.is_endless {
                self.check_silent_run().await;
            }
            waiting = if self.replay.awaits_pause() {
                Instant::now()
            } else {
                now
            };
        }
    }

    /// Processes a batch. Returns why to close the connection if it's unclear whether an event is a duplicate, if the body
    /// ended in the middle of an event, or if nothing will come.
    async fn process_batch(
        &mut self,
        batch: Batch,
        (at, received): (Timestamp, Instant),
        conn: u32,
    ) -> Option<DisconnectReason> {
        self.totals.bytes += batch.bytes;
        for feed in batch.feed {
            match feed {
                Feed::Event(event) => {
                    self.batch_bytes += event.name.len() + event.id.len() + event.data.len();
                    let event = self.decoder.decode_event(event);
                    if !self.process_in_order(event, (at, received), conn) {
                        return Some(DisconnectReason::Ambiguous);
                    }
                }
                Feed::Heartbeat => {
                    self.watchdog.on_heartbeat(received);
                    self.emit(Item::Heartbeat { at });
                    // Aegra keeps the connection open if it has no events of a finished run.
                    if self.joined.is_some_and(|(joining, _)| joining.is_over) {
                        return Some(DisconnectReason::Clean);
                    }
                }
                Feed::Gap(why) => self.report_gap(why),
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

    /// Processes an event in delivery order, and records it in the run's order. Returns false if it's unclear whether
    /// it is a duplicate.
    fn process_in_order(
        &mut self,
        event: Decoded,
        (at, received): (Timestamp, Instant),
        conn: u32,
    ) -> bool {
        let Some(stored) = &mut self.stored else {
            return self.process_event(event, at, conn);
        };
        let mut sorted = Vec::new();
        stored.push(event, received, &mut sorted);
        self.record_sorted(sorted, at, conn);
        true
    }

    /// Records stored events that were waiting for their live form.
    pub(super) fn release_stored(&mut self, conn: u32) {
        if let Some(stored) = &mut self.stored {
            let mut sorted = Vec::new();
            stored.release(&mut sorted);
            self.record_sorted(sorted, Timestamp::now(), conn);
        }
    }

    fn record_sorted(&mut self, sorted: Vec<Sorted>, at: Timestamp, conn: u32) {
        for event in sorted {
            match event {
                Sorted::New(event, 0) => self.record(event, Admission::New, at, conn),
                Sorted::New(event, missing) => {
                    self.record(event, Admission::NewAfterMissing(missing), at, conn)
                }
                Sorted::Duplicate => self.duplicate(at),
            }
        }
    }

    /// Processes an event. Returns false if it's unclear whether it is a duplicate.
    fn process_event(&mut self, event: Decoded, at: Timestamp, conn: u32) -> bool {
        let admission = self.tail.admit(&event);
        if let Some(warning) = self.tail.warning() {
            self.report_gap(warning.into());
        }
        match admission {
            Admission::Ambiguous => return false,
            Admission::Duplicate => {
                self.replay.repeated();
                self.duplicate(at);
            }
            Admission::New | Admission::NewAfterGap | Admission::NewAfterMissing(_) => {
                self.record(event, admission, at, conn)
            }
        }
        true
    }

    fn duplicate(&mut self, at: Timestamp) {
        self.totals.duplicates += 1;
        if let Some(Item::Repeated { events, .. }) = self.batch.last_mut() {
            *events += 1;
        } else {
            self.emit(Item::Repeated { at, events: 1 });
        }
    }

    /// Appends a new event to the log, after a gap if events before it are missing.
    fn record(&mut self, event: Decoded, admission: Admission, at: Timestamp, conn: u32) {
        self.report_missing_before(&event, admission);
        (self.last_event, self.next_silence) = (Instant::now(), FIRST_SILENCE_REPORT);
        self.replayable += u64::from(event.id.is_some());
        if event.ns.is_empty() && !self.is_endless {
            self.apply_run_event(&event);
        }
        let replayed = self.replay.is_replayed(&event);
        self.has_event = true;
        if !self.transport.wants(mode(&event.name, &event.data)) {
            return;
        }
        self.totals.events += 1;
        if !matches!(event.data, Data::Json(_)) {
            self.totals.malformed += 1;
        }
        let event = event.at(Seq(self.totals.events), at, conn, replayed);
        self.emit(Item::Record(Record::Event(event)));
    }

    fn report_missing_before(&mut self, event: &Decoded, admission: Admission) {
        let joined = self.joined.take();
        match (admission, joined) {
            (Admission::NewAfterGap, _) => {
                self.report_outage_gap(
                    "the server did not replay the requested events; some may be missing",
                );
            }
            (_, Some((joining, at))) => {
                let number = event
                    .id
                    .as_deref()
                    .and_then(sequence_ids::split)
                    .map(|(_, number)| number);
                let first = self.transport.numbering().map(|numbering| numbering.first);
                if let Some(why) =
                    joining.missing_before(&event.name, event.data.text(), at, number, first)
                {
                    self.report_gap(why);
                }
            }
            (Admission::NewAfterMissing(missing), None) => {
                // Events missing right after a reconnect were lost with the connection, not to another reader.
                self.has_other_reader |= self.has_event && self.transport.numbering().is_some();
                let (ids, events) = if missing == 1 {
                    ("event id is", "that event")
                } else {
                    ("event ids are", "those events")
                };
                self.report_gap(format!(
                    "{} {ids} missing; another reader may have received {events}",
                    runtail_core::text::count(missing)
                ));
            }
            _ => {}
        }
    }

    /// Updates the state of the run from an event of the root graph.
    fn apply_run_event(&mut self, event: &Decoded) {
        match mode(&event.name, &event.data) {
            // A new attempt: the previous attempt's error is not final.
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
            self.options
                .head
                .run_id
                .get_or_insert_with(|| run_id.clone());
            self.transport.on_run_id(&run_id);
            self.on_run_started(run_id);
        }
    }
}
