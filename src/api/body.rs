//! Reading the body of an answer within bounds.

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use reqwest::Response;

/// Reads a body up to a limit; nothing when it is larger.
pub(super) async fn read_body(response: Response, limit: usize) -> Result<Option<Bytes>, reqwest::Error> {
    if response.content_length().is_some_and(|n| n > limit as u64) {
        return Ok(None);
    }
    let mut body = BytesMut::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if body.len() + chunk.len() > limit {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body.freeze()))
}

/// Reads the head of a body, as far as it comes.
pub(super) async fn read_head(response: Response, limit: usize) -> Bytes {
    let mut body = BytesMut::new();
    let mut chunks = response.bytes_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        body.extend_from_slice(&chunk);
        if body.len() >= limit {
            body.truncate(limit);
            break;
        }
    }
    body.freeze()
}
