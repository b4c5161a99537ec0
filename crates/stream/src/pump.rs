//! Reads a body ahead, on a task of its own. A connection's task hands over one chunk at a time, and chunks are as small as a
//! server makes them: each by itself would wake whoever reads it, perhaps on another thread.

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use runtail_api::ApiError;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

/// Chunks, and bytes of them, that go together at most.
const CHUNKS: usize = 512;
const BYTES: usize = 256 << 10;
/// What waits for a slow reader; then nothing more is read, and the server waits.
const WAITING: usize = 4;

type Chunk = Result<Bytes, ApiError>;

/// A body that is read ahead. Dropping it ends the reading.
pub(super) struct Pumped {
    waiting: mpsc::Receiver<Vec<Chunk>>,
    batch: std::vec::IntoIter<Chunk>,
    _task: AbortOnDropHandle<()>,
}

/// Begins to read a body.
pub(super) fn pumped(body: BoxStream<'static, Chunk>) -> Pumped {
    let (sender, waiting) = mpsc::channel(WAITING);
    let task = AbortOnDropHandle::new(tokio::spawn(pump(body, sender)));
    Pumped { waiting, batch: Vec::new().into_iter(), _task: task }
}

async fn pump(mut body: BoxStream<'static, Chunk>, out: mpsc::Sender<Vec<Chunk>>) {
    let mut is_over = false;
    while !is_over {
        let mut batch = Vec::new();
        let mut bytes = 0;
        let mut has_waited = false;
        poll_fn(|cx| {
            while batch.len() < CHUNKS && bytes < BYTES {
                match body.poll_next_unpin(cx) {
                    Poll::Ready(Some(chunk)) => {
                        bytes += chunk.as_ref().map_or(0, Bytes::len);
                        batch.push(chunk);
                        has_waited = false;
                    }
                    Poll::Ready(None) => {
                        is_over = true;
                        break;
                    }
                    Poll::Pending if batch.is_empty() => return Poll::Pending,
                    Poll::Pending if has_waited => break,
                    // The connection's task gets its turn, and goes on with what it has. Not `yield_now`, which has the
                    // runtime look at all sockets first.
                    Poll::Pending => {
                        has_waited = true;
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
            }
            Poll::Ready(())
        })
        .await;
        if out.send(batch).await.is_err() {
            return;
        }
    }
}

impl Stream for Pumped {
    type Item = Chunk;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        loop {
            if let Some(chunk) = self.batch.next() {
                return Poll::Ready(Some(chunk));
            }
            match ready!(self.waiting.poll_recv(cx)) {
                Some(batch) => self.batch = batch.into_iter(),
                None => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    fn chunk(n: usize) -> Chunk {
        Ok(Bytes::from(n.to_string()))
    }

    #[tokio::test]
    async fn all_comes_in_order_whoever_waits_for_whom() {
        for slow_server in [false, true] {
            for slow_reader in [false, true] {
                let body = stream::iter(0..3000).then(move |n| async move {
                    if slow_server && n % 7 == 0 {
                        tokio::task::yield_now().await;
                        tokio::task::yield_now().await;
                    }
                    chunk(n)
                });
                let mut pumped = pumped(Box::pin(body));
                for n in 0..3000 {
                    if slow_reader && n % 11 == 0 {
                        tokio::task::yield_now().await;
                    }
                    assert_eq!(pumped.next().await.unwrap().unwrap(), n.to_string());
                }
                assert!(pumped.next().await.is_none());
            }
        }
    }

    #[tokio::test]
    async fn a_reader_who_leaves_ends_the_reading() {
        let (alive, gone) = tokio::sync::oneshot::channel::<()>();
        let body = stream::pending::<Chunk>().map(move |chunk| {
            let _ = &alive;
            chunk
        });
        drop(pumped(Box::pin(body)));
        assert!(gone.await.is_err(), "the body was dropped");
    }

    #[tokio::test]
    async fn what_nobody_takes_is_not_read() {
        let (sender, read) = std::sync::mpsc::channel();
        let body = stream::iter(0..).map(move |n: usize| {
            let _ = sender.send(n);
            Ok(Bytes::from(vec![0; 100_000]))
        });
        let _pumped = pumped(Box::pin(body));
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        let count = read.try_iter().count();
        assert!((1..=(WAITING + 1) * 3).contains(&count), "{count}");
    }
}
