//! One connection of a thread's stream, split into frames that are classified for merging.

use crate::protocol::Metadata;
use crate::source::id_key::IdKey;
use crate::sse::parse::RawEvent;
use crate::sse::read_ahead::{Batch, Batches, Feed};
use foldhash::fast::FixedState;
use futures::StreamExt;
use runtail_api::ApiError;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One of the merger's three connections.
pub(super) struct FramedConnection {
    pub(super) feeds: Batches,
    pub(super) waiting: std::vec::IntoIter<Feed>,
    /// Bytes received on all three connections.
    pub(super) received: Arc<AtomicU64>,
}

pub(super) enum ThreadFrame {
    Heartbeat,
    Block(Block),
    /// The connection ended in the middle of an event.
    Truncated,
    Closed,
}

/// An event with its kind and its parsed id.
pub(super) struct Block {
    pub(super) event: RawEvent,
    pub(super) kind: FrameKind,
    pub(super) id: Option<IdKey>,
}

/// The kind of a thread's event, as far as merging needs it.
#[derive(Debug, PartialEq)]
pub(super) enum FrameKind {
    RunStarted(String),
    RunFinished(String),
    /// An event of the thread rather than a run, or one that is never stored.
    ThreadLevel,
    RunEvent,
}

impl FramedConnection {
    /// Creates another connection of the same stream.
    pub(super) fn sibling(&self, feeds: Batches) -> FramedConnection {
        FramedConnection {
            feeds,
            waiting: Vec::new().into_iter(),
            received: self.received.clone(),
        }
    }

    /// Returns the next frame. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<ThreadFrame, ApiError> {
        loop {
            match self.waiting.next() {
                Some(Feed::Heartbeat) => return Ok(ThreadFrame::Heartbeat),
                Some(Feed::Event(event)) => return Ok(ThreadFrame::Block(Block::new(event))),
                Some(Feed::Unfinished) => return Ok(ThreadFrame::Truncated),
                Some(Feed::Gap(_) | Feed::Replaying { .. } | Feed::Live) => continue,
                None => {}
            }
            match self.feeds.next().await {
                Some(batch) => {
                    let Batch { feed, bytes } = batch?;
                    self.received.fetch_add(bytes, Relaxed);
                    self.waiting = feed.into_iter();
                }
                None => return Ok(ThreadFrame::Closed),
            }
        }
    }
}

impl Block {
    pub(super) fn new(event: RawEvent) -> Block {
        let run_kind = || {
            let metadata: Metadata<'_> = serde_json::from_slice(&event.data).ok()?;
            let run = metadata.run_id.some()?.to_string();
            Some(if metadata.is_done() {
                FrameKind::RunFinished(run)
            } else {
                FrameKind::RunStarted(run)
            })
        };
        let kind = match &*event.name {
            b"metadata" => run_kind().unwrap_or(FrameKind::ThreadLevel),
            b"state_update" | b"error" => FrameKind::ThreadLevel,
            _ => FrameKind::RunEvent,
        };
        let id = std::str::from_utf8(&event.id).ok().and_then(IdKey::of);
        Block { kind, id, event }
    }

    /// Returns a hash that identifies the same event on another connection.
    pub(super) fn fingerprint(&self) -> u64 {
        let RawEvent { name, id, data, .. } = &self.event;
        FixedState::default().hash_one((name, id, data))
    }
}

/// Returns the next frame of a connection. Waits forever without one.
pub(super) async fn next_or_pending(
    connection: &mut Option<FramedConnection>,
) -> Result<ThreadFrame, ApiError> {
    match connection {
        Some(connection) => connection.next().await,
        None => std::future::pending().await,
    }
}
