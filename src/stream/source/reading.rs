//! What comes on one connection: chunks, frames, events.

use super::{BATCH_BYTES, BATCH_ITEMS, LINGER, QUIET, Source};
use crate::api::{ApiError, Kind};
use crate::stream::closed::Closed;
use crate::stream::decode::Decoded;
use crate::stream::framer::{Frame, Framer};
use crate::stream::modes::other_modes;
use crate::stream::resume::Admit;
use crate::stream::terms::{Link, Notice, Verdict};
use crate::stream::told::{error_text, run_id_of};
use crate::stream::{Data, Item, Record};
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use std::pin::pin;
use tokio::time::Instant;

/// Chunks that are taken before the clock is looked at, and what else may have to be done.
const AT_ONCE: usize = 256;

impl<L: Link> Source<L> {
    /// Reads one connection to its end.
    pub(super) async fn read(&mut self, mut body: BoxStream<'static, Result<Bytes, ApiError>>, conn: u32) -> Closed {
        let mut framer = Framer::new(self.options.max_event);
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
                return Closed::Modes;
            }
            let due = self.flushed + LINGER;
            if !self.batch.is_empty() && now >= due {
                self.flush().await;
                // A consumer that let us wait is not a server that is silent.
                now = Instant::now();
                (heard, asked, waiting) = (now, now, now);
            }
            let known = self.watchdog.patience(self.link.beats());
            let until = known.map_or(asked + QUIET, |patience| heard + patience);
            let next = if self.batch.is_empty() { until } else { due };
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
                    match known {
                        _ if !self.batch.is_empty() || now < until => continue,
                        Some(_) => {
                            self.watchdog.bit();
                            return Closed::Idle;
                        }
                        // Nothing was ever heard by which to tell silence from a dead link. That the run is over
                        // would have been said by now.
                        None if matches!(self.link.verdict().await, Ok(Verdict::Over(..) | Verdict::Gone(..))) => {
                            return Closed::Idle;
                        }
                        None => {
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
                let chunk = match next.take().or_else(|| body.next().now_or_never()) {
                    None => break,
                    Some(Some(Ok(chunk))) => chunk,
                    Some(Some(Err(error))) if error.kind == Kind::Timeout => return Closed::Timeout,
                    Some(Some(Err(_))) => return Closed::Reset,
                    Some(None) => return if framer.finish().is_some() { Closed::Cut } else { Closed::Eof },
                };
                if !self.take(chunk, &mut framer, (at, heard), conn).await {
                    return Closed::Unsure;
                }
            }
            waiting = if self.replay.awaits_pause() { Instant::now() } else { now };
        }
    }

    /// Takes what came; false when it cannot be told whether something in it came before.
    async fn take(&mut self, chunk: Bytes, framer: &mut Framer, (at, heard): (Timestamp, Instant), conn: u32) -> bool {
        self.sums.bytes += chunk.len() as u64;
        while let Some(notice) = self.link.notice() {
            self.replay.note(&notice);
            match notice {
                Notice::Gap(why) => self.gap(why),
                Notice::Replays { answered } => self.tail.opened(Some(""), answered),
                Notice::Present => self.tail.opened(None, None),
            }
        }
        framer.push(chunk);
        while let Some(frame) = framer.next_frame() {
            match frame {
                Frame::Comment => {
                    self.watchdog.beat(heard);
                    self.note(Item::Heartbeat { at });
                }
                Frame::Block(block) => {
                    self.batch_bytes += block.bytes.len();
                    if let Some(event) = self.decoder.decode(block)
                        && !self.event(event, at, conn)
                    {
                        return false;
                    }
                }
            }
            if self.batch.len() >= BATCH_ITEMS || self.batch_bytes >= BATCH_BYTES {
                self.flush().await;
            }
        }
        true
    }

    /// Takes an event; false when it cannot be told whether it is one that came before.
    fn event(&mut self, event: Decoded, at: Timestamp, conn: u32) -> bool {
        let admit = self.tail.admit(&event);
        if let Some(doubt) = self.tail.doubt() {
            self.gap(doubt.into());
        }
        match admit {
            Admit::Unsure => return false,
            Admit::Repeated => {
                self.sums.duplicates += 1;
                if let Some(Item::Repeated { events, .. }) = self.batch.last_mut() {
                    *events += 1;
                } else {
                    self.note(Item::Repeated { at, events: 1 });
                }
                return true;
            }
            Admit::NewAfterGap => {
                self.gap_of_outage("the server did not repeat what it was asked to: events may be missing")
            }
            Admit::NewAfterHole(missing) => self.gap(format!(
                "{missing} of the numbers in the server's ids are missing here: another reader may have taken those events"
            )),
            Admit::New => {}
        }
        self.sums.events += 1;
        self.replayable += u64::from(event.id.is_some());
        if !matches!(event.data, Data::Json(_)) {
            self.sums.malformed += 1;
        }
        if event.ns.is_empty() && !self.link.is_endless() {
            match &*event.name {
                "metadata" => {
                    // A new attempt: what the one before said of its end is no end.
                    self.live_error = None;
                    if let Some(run_id) = run_id_of(&event.data).filter(|_| !self.run_known) {
                        self.options.head.run_id.get_or_insert_with(|| run_id.clone());
                        self.started(run_id);
                    }
                }
                "error" => self.live_error = Some(error_text(event.data.text())),
                "end" => self.has_end = true,
                "updates" | "values" => self.last_state = Some(event.data.clone()),
                _ => {}
            }
        }
        let replayed = self.replay.is_replayed(&event);
        let event = event.at(self.sums.events, at, conn, replayed);
        self.note(Item::Record(Record::Event(event)));
        true
    }
}
