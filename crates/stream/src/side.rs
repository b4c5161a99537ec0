//! One of the connections that a thread's stream is made of (`whole.rs`): cut into blocks, each with what it is about.

use super::framer::{Frame, Framer};
use super::resume::key;
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use runtail_api::ApiError;
use serde::Deserialize;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Blocks are handed on whole; only absurd ones are thinned here.
const MAX_BLOCK: usize = 1 << 30;

pub(super) type Key = (u64, u64);
pub(super) type Body = BoxStream<'static, Result<Bytes, ApiError>>;

/// One connection, cut into blocks.
pub(super) struct Side {
    body: Body,
    framer: Framer,
}

pub(super) enum Piece {
    Beat,
    Block(Block),
    Over,
}

pub(super) struct Block {
    pub(super) bytes: Bytes,
    pub(super) kind: Is,
    pub(super) id: Option<Key>,
    pub(super) print: u64,
}

/// What a block is about, as far as it matters here.
#[derive(Debug, PartialEq)]
pub(super) enum Is {
    Begin(String),
    Done(String),
    /// Of the thread, not of a run; or never stored.
    Aside,
    OfRun,
}

impl Side {
    pub(super) fn new(body: Body) -> Side {
        Side { body, framer: Framer::new(MAX_BLOCK) }
    }

    /// Safe to be dropped half-way.
    pub(super) async fn next(&mut self) -> Result<Piece, ApiError> {
        loop {
            match self.framer.next_frame() {
                Some(Frame::Comment) => return Ok(Piece::Beat),
                Some(Frame::Block(block)) => return Ok(Piece::Block(Block::new(block.bytes))),
                None => {}
            }
            match self.body.next().await {
                Some(chunk) => self.framer.push(chunk?),
                None => return Ok(Piece::Over),
            }
        }
    }
}

impl Block {
    /// Its name without the namespace.
    pub(super) fn name(&self) -> Option<&str> {
        std::str::from_utf8(field(&self.bytes, b"event")?).ok()?.split('|').next()
    }

    fn new(bytes: Bytes) -> Block {
        #[derive(Deserialize)]
        struct Metadata {
            run_id: Option<String>,
            status: Option<String>,
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let told = || {
            let data: Metadata = serde_json::from_slice(field(&bytes, b"data")?).ok()?;
            let run = data.run_id?;
            Some(if data.status.as_deref() == Some("run_done") { Is::Done(run) } else { Is::Begin(run) })
        };
        let kind = match field(&bytes, b"event") {
            Some(b"metadata") => told().unwrap_or(Is::Aside),
            Some(b"state_update" | b"error") => Is::Aside,
            _ => Is::OfRun,
        };
        let id = field(&bytes, b"id").and_then(|id| key(std::str::from_utf8(id).ok()?));
        Block { kind, id, print: hasher.finish(), bytes }
    }
}

/// The first field of this name.
fn field<'a>(block: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut lines = block.split(|b| matches!(b, b'\r' | b'\n'));
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(b":"))?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}
