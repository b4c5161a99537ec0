//! Reads a connection ahead of its consumer: splits its bytes into frames next to the socket and delivers them in
//! batches.

use crate::sse::framer::{Frame, Framer};
use crate::sse::parse::RawEvent;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use runtail_api::ApiError;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// A batch is complete when it contains this many chunks, or this many bytes.
const MAX_BATCH_CHUNKS: usize = 512;
const MAX_BATCH_BYTES: usize = 256 << 10;
/// Maximum number of batches queued for a slow reader. Beyond that, back-pressure stops the server.
const MAX_QUEUED_BATCHES: usize = 4;

/// One item delivered by a connection.
#[derive(Debug, Clone, PartialEq)]
pub enum Feed {
    Event(RawEvent),
    /// A comment line, sent as a heartbeat.
    Heartbeat,
    /// Events may be missing here.
    Gap(String),
    /// The following events are replayed.
    Replaying {
        /// The server's clock when it responded, in milliseconds, as in [`crate::Connection`].
        answered: Option<u64>,
    },
    /// The following events are live.
    Live,
    /// The body ended in the middle of an event.
    Unfinished,
}

/// Items that arrived together.
#[derive(Debug, Default)]
pub struct Batch {
    /// The items in order of arrival. Empty if only part of a large event arrived.
    pub feed: Vec<Feed>,
    /// Bytes received on the connection.
    pub bytes: u64,
}

/// The batches of one connection. Ends without an error when the server closes it.
pub type Batches = BoxStream<'static, Result<Batch, ApiError>>;

/// Splits a body into frames and truncates events larger than `max_event` bytes.
pub fn framed(body: BoxStream<'static, Result<Bytes, ApiError>>, max_event: usize) -> Batches {
    Framed::new(body, max_event).boxed()
}

/// Splits a body like [`framed`], but reads ahead on its own task. Servers may send tiny chunks, and without this each
/// of them would wake the reader, perhaps on another thread. Dropping the result stops reading.
pub(crate) fn read_ahead(
    body: BoxStream<'static, Result<Bytes, ApiError>>,
    max_event: usize,
) -> Batches {
    let framed = Framed::new(body, max_event);
    let (sender, waiting) = mpsc::channel(MAX_QUEUED_BATCHES);
    let task = AbortOnDropHandle::new(tokio::spawn(pump(framed, sender)));
    ReadAhead {
        waiting,
        _task: task,
    }
    .boxed()
}

/// A body that is being framed.
struct Framed {
    body: BoxStream<'static, Result<Bytes, ApiError>>,
    /// `None` after the end.
    framer: Option<Framer>,
    /// The error that ended the body, returned after everything before it.
    failure: Option<ApiError>,
    /// Number of blocks with an unusual shape.
    non_canonical: u64,
}

impl Framed {
    fn new(body: BoxStream<'static, Result<Bytes, ApiError>>, max_event: usize) -> Framed {
        Framed {
            body,
            framer: Some(Framer::new(max_event)),
            failure: None,
            non_canonical: 0,
        }
    }

    /// Adds received data to a batch. Returns whether the batch is complete or the body has ended; false if more may
    /// follow immediately.
    fn fill(&mut self, cx: &mut Context<'_>, batch: &mut Batch, chunks: &mut usize) -> bool {
        while *chunks < MAX_BATCH_CHUNKS && batch.bytes < MAX_BATCH_BYTES as u64 {
            let Some(framer) = &mut self.framer else {
                return true;
            };
            match self.body.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    *chunks += 1;
                    batch.bytes += chunk.len() as u64;
                    framer.push(chunk);
                    while let Some(frame) = framer.next_frame() {
                        match frame {
                            Frame::Comment => batch.feed.push(Feed::Heartbeat),
                            Frame::Block(block) => {
                                let event = RawEvent::parse(block);
                                self.non_canonical += u64::from(
                                    event.as_ref().is_some_and(|event| !event.is_canonical),
                                );
                                batch.feed.extend(event.map(Feed::Event));
                            }
                        }
                    }
                }
                Poll::Ready(ended) => {
                    self.failure = ended.and_then(Result::err);
                    let is_unfinished = self.framer.take().and_then(Framer::finish).is_some();
                    if is_unfinished && self.failure.is_none() {
                        batch.feed.push(Feed::Unfinished);
                    }
                    if self.non_canonical > 0 {
                        tracing::debug!(
                            blocks = self.non_canonical,
                            "blocks with an unusual shape"
                        );
                    }
                    return true;
                }
                Poll::Pending => return false,
            }
        }
        true
    }
}

impl Stream for Framed {
    type Item = Result<Batch, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (mut batch, mut chunks) = (Batch::default(), 0);
        let is_complete = self.fill(cx, &mut batch, &mut chunks);
        match (chunks > 0 || !batch.feed.is_empty(), is_complete) {
            (true, _) => Poll::Ready(Some(Ok(batch))),
            (false, true) => Poll::Ready(self.failure.take().map(Err)),
            (false, false) => Poll::Pending,
        }
    }
}

async fn pump(mut framed: Framed, out: mpsc::Sender<Result<Batch, ApiError>>) {
    while framed.framer.is_some() {
        let (mut batch, mut chunks, mut has_waited) = (Batch::default(), 0, false);
        poll_fn(|cx| {
            let before = chunks;
            if framed.fill(cx, &mut batch, &mut chunks) {
                return Poll::Ready(());
            }
            match chunks {
                0 => Poll::Pending,
                _ if has_waited && before == chunks => Poll::Ready(()),
                // Let the connection's task continue with the data it has. Not `yield_now`, which makes the runtime
                // poll all sockets first.
                _ => {
                    has_waited = true;
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            }
        })
        .await;
        let is_empty = chunks == 0 && batch.feed.is_empty();
        if !is_empty && out.send(Ok(batch)).await.is_err() {
            return;
        }
    }
    if let Some(error) = framed.failure {
        let _ = out.send(Err(error)).await;
    }
}

/// The batches read ahead by a task.
struct ReadAhead {
    waiting: mpsc::Receiver<Result<Batch, ApiError>>,
    _task: AbortOnDropHandle<()>,
}

impl Stream for ReadAhead {
    type Item = Result<Batch, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(ready!(self.waiting.poll_recv(cx)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use runtail_api::{Kind, Place};

    type Chunk = Result<Bytes, ApiError>;

    const MAX: usize = 1 << 20;

    fn event(n: usize) -> Chunk {
        Ok(format!("event: x\ndata: {n}\n\n").into())
    }

    #[tokio::test]
    async fn batches_arrive_in_order_with_any_scheduling() {
        for slow_server in [false, true] {
            for slow_reader in [false, true] {
                let body = stream::iter(0..3000).then(move |n| async move {
                    if slow_server && n % 7 == 0 {
                        tokio::task::yield_now().await;
                        tokio::task::yield_now().await;
                    }
                    event(n)
                });
                let mut feeds = read_ahead(Box::pin(body), MAX);
                let mut seen = Vec::new();
                while let Some(batch) = feeds.next().await {
                    if slow_reader {
                        tokio::task::yield_now().await;
                    }
                    for feed in batch.unwrap().feed {
                        let Feed::Event(event) = feed else {
                            panic!("{feed:?}")
                        };
                        seen.push(
                            String::from_utf8(event.data.to_vec())
                                .unwrap()
                                .parse::<usize>()
                                .unwrap(),
                        );
                    }
                }
                assert_eq!(seen, (0..3000).collect::<Vec<_>>());
            }
        }
    }

    #[tokio::test]
    async fn received_data_is_delivered_before_the_end() {
        let at = Place::default();
        let broken = || ApiError {
            kind: Kind::Network,
            at: at.clone(),
            detail: "broken".into(),
            hint: None,
        };
        for read_by_task in [false, true] {
            let all = |chunks: Vec<Chunk>| async move {
                let body = stream::iter(chunks).boxed();
                let feeds = if read_by_task {
                    read_ahead(body, MAX)
                } else {
                    framed(body, MAX)
                };
                feeds
                    .map(|batch| {
                        batch.map(|batch| {
                            (batch.bytes, batch.feed.len(), batch.feed.last().cloned())
                        })
                    })
                    .collect::<Vec<_>>()
                    .await
            };
            let ended = all(vec![event(1), Ok("event: x\ndata: ".into())]).await;
            assert!(
                matches!(&ended[..], [Ok((33, 2, Some(Feed::Unfinished)))]),
                "{ended:?}"
            );
            let failed = all(vec![event(1), Ok(": beat\n".into()), Err(broken())]).await;
            assert!(
                matches!(&failed[..], [Ok((_, 2, Some(Feed::Heartbeat))), Err(_)]),
                "{failed:?}"
            );
            assert!(
                matches!(
                    &all(vec![Ok("event: x\n".into())]).await[..],
                    [Ok((9, 1, _))]
                ),
                "a partial event shows that the connection is alive"
            );
            assert!(all(vec![]).await.is_empty());
        }
    }

    #[tokio::test]
    async fn dropping_the_reader_stops_reading() {
        let (held_by_body, dropped) = tokio::sync::oneshot::channel::<()>();
        let body = stream::pending::<Chunk>().map(move |chunk| {
            let _ = &held_by_body;
            chunk
        });
        drop(read_ahead(Box::pin(body), MAX));
        assert!(dropped.await.is_err(), "the body was dropped");
    }

    #[tokio::test]
    async fn a_slow_reader_stops_reading() {
        let (sender, read) = std::sync::mpsc::channel();
        let body = stream::iter(0..).map(move |n: usize| {
            let _ = sender.send(n);
            Ok(Bytes::from(vec![b'x'; 100_000]))
        });
        let _feeds = read_ahead(Box::pin(body), MAX);
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        let count = read.try_iter().count();
        assert!(
            (1..=(MAX_QUEUED_BATCHES + 1) * 3).contains(&count),
            "{count}"
        );
    }
}
