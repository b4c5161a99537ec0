//! One connection of a thread's stream, as frames that say what they are about.

use crate::protocol::Metadata;
use crate::source::resume::key;
use crate::sse::parse::RawEvent;
use crate::sse::read_ahead::{Batch, Feed, Feeds};
use foldhash::fast::FixedState;
use futures::StreamExt;
use runtail_api::ApiError;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One of the three connections.
pub(super) struct FramedConnection {
    pub(super) feeds: Feeds,
    pub(super) waiting: std::vec::IntoIter<Feed>,
    /// Bytes that arrived on all three.
    pub(super) received: Arc<AtomicU64>,
}

pub(super) enum ThreadFrame {
    Beat,
    Block(Block),
    /// It ended in the middle of an event.
    Cut,
    Over,
}

/// An event with what it is about.
pub(super) struct Block {
    pub(super) event: RawEvent,
    pub(super) kind: FrameKind,
    pub(super) id: Option<Key>,
}

pub(super) type Key = (u64, u64);

/// What an event is about, as far as it matters here.
#[derive(Debug, PartialEq)]
pub(super) enum FrameKind {
    RunStarted(String),
    RunFinished(String),
    /// Of the thread, not of a run; or never stored.
    ThreadLevel,
    RunEvent,
}

impl FramedConnection {
    /// Another connection of the same stream.
    pub(super) fn beside(&self, feeds: Feeds) -> FramedConnection {
        FramedConnection { feeds, waiting: Vec::new().into_iter(), received: self.received.clone() }
    }

    /// Safe to be dropped half-way.
    pub(super) async fn next(&mut self) -> Result<ThreadFrame, ApiError> {
        loop {
            match self.waiting.next() {
                Some(Feed::Heartbeat) => return Ok(ThreadFrame::Beat),
                Some(Feed::Event(event)) => return Ok(ThreadFrame::Block(Block::new(event))),
                Some(Feed::Unfinished) => return Ok(ThreadFrame::Cut),
                Some(Feed::Gap(_) | Feed::Replaying { .. } | Feed::Live) => continue,
                None => {}
            }
            match self.feeds.next().await {
                Some(batch) => {
                    let Batch { feed, bytes } = batch?;
                    self.received.fetch_add(bytes, Relaxed);
                    self.waiting = feed.into_iter();
                }
                None => return Ok(ThreadFrame::Over),
            }
        }
    }
}

impl Block {
    pub(super) fn new(event: RawEvent) -> Block {
        let told = || {
            let metadata: Metadata<'_> = serde_json::from_slice(&event.data).ok()?;
            let run = metadata.run_id.some()?.to_string();
            Some(if metadata.is_done() { FrameKind::RunFinished(run) } else { FrameKind::RunStarted(run) })
        };
        let kind = match &*event.name {
            b"metadata" => told().unwrap_or(FrameKind::ThreadLevel),
            b"state_update" | b"error" => FrameKind::ThreadLevel,
            _ => FrameKind::RunEvent,
        };
        let id = std::str::from_utf8(&event.id).ok().and_then(key);
        Block { kind, id, event }
    }

    /// A hash by which the same event is recognized on another connection.
    pub(super) fn print(&self) -> u64 {
        let RawEvent { name, id, data, .. } = &self.event;
        FixedState::default().hash_one((name, id, data))
    }
}

/// Returns the next frame of a connection that may be closed already; then it waits for ever.
pub(super) async fn late(past: &mut Option<FramedConnection>) -> Result<ThreadFrame, ApiError> {
    match past {
        Some(past) => past.next().await,
        None => std::future::pending().await,
    }
}
