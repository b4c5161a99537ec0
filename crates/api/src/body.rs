//! Reads a response body, with limits on its size, its decompressed size and the memory needed to parse it.

use crate::boxed;
use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use futures::StreamExt;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use runtail_core::json::tokens;
use std::io::{self, Write};

/// Decompressed size in bytes up to which any compression ratio is allowed.
const FREE: usize = 16 << 20;
/// Maximum compression ratio beyond that size.
pub const MOST_UNPACKED: usize = 100;
/// Compressed bytes to decompress at once. Gzip expands by a factor of 1000 at most, so to 4 MiB.
const PIECE: usize = 4 << 10;
/// Maximum estimated memory in bytes of one parsed response.
const PARSED: usize = 384 << 20;
/// Estimated bytes of a parsed value without its text: the value itself and unused capacity of its list.
const VALUE: usize = 64;
/// Estimated bytes of a parsed key without its text: the string, the entry and its part of the index.
const KEY: usize = 96;

/// Why a body was not read.
#[derive(Debug)]
pub enum Unread {
    /// The connection broke.
    Broken(reqwest::Error),
    /// It ended before its `content-length`.
    Short,
    /// It is larger than the limit.
    TooLarge,
    /// Its compression ratio is too high. Holds the compressed and the decompressed size.
    Unpacks(usize, usize),
    /// Its encoding is unknown or invalid.
    Undecodable(String),
}

/// Reads a body up to a limit, decompressed.
#[boxed]
pub async fn read_body(response: Response, limit: usize) -> Result<Bytes, Unread> {
    let announced = response.content_length();
    if announced.is_some_and(|n| n > limit as u64) {
        return Err(Unread::TooLarge);
    }
    let mut body = Body::new(response.headers())?;
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(Unread::Broken)?;
        for piece in chunk.chunks(PIECE) {
            body.push(piece)?;
            if body.len() > limit {
                return Err(Unread::TooLarge);
            }
            if body.len() > FREE && body.len() > MOST_UNPACKED.saturating_mul(body.wire) {
                return Err(Unread::Unpacks(body.wire, body.len()));
            }
        }
    }
    // HTTP/2 may end a body early without an error (RFC 9113, section 8.1), and half of a number is a valid number.
    if announced.is_some_and(|n| n > body.wire as u64) {
        return Err(Unread::Short);
    }
    body.finish()
}

/// Reads a response body within all limits; the error says which one it exceeds. For the fuzzer, which has no server.
#[doc(hidden)]
#[boxed]
pub async fn read_answer(response: Response, limit: usize) -> Result<Bytes, String> {
    let body = read_body(response, limit)
        .await
        .map_err(|why| format!("{why:?}"))?;
    if is_too_costly(&body) {
        Err("TooCostly".into())
    } else {
        Ok(body)
    }
}

/// Reads the first bytes of a body, up to a limit or to the point where the connection breaks.
#[boxed]
pub async fn read_head(response: Response, limit: usize) -> Bytes {
    let Ok(mut body) = Body::new(response.headers()) else {
        return Bytes::new();
    };
    let mut chunks = response.bytes_stream();
    'read: while let Some(Ok(chunk)) = chunks.next().await {
        for piece in chunk.chunks(PIECE) {
            if body.push(piece).is_err() || body.len() >= limit {
                break 'read;
            }
        }
    }
    let mut head = body.so_far();
    head.truncate(limit);
    head
}

/// A body that is being received.
struct Body {
    /// Bytes on the wire.
    wire: usize,
    bytes: Form,
}

/// The bytes received so far.
enum Form {
    Plain(BytesMut),
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Body {
    fn new(headers: &HeaderMap) -> Result<Body, Unread> {
        let encoding = headers
            .get(CONTENT_ENCODING)
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        let bytes = match encoding.as_deref().map(str::trim) {
            None | Some("" | "identity") => Form::Plain(BytesMut::new()),
            Some("gzip" | "x-gzip") => Form::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            Some(other) => {
                let other =
                    runtail_core::text::fit(&runtail_core::text::clean(other), 40).into_owned();
                return Err(Unread::Undecodable(format!(
                    "the response has an unexpected encoding ({other})"
                )));
            }
        };
        Ok(Body { wire: 0, bytes })
    }

    fn push(&mut self, piece: &[u8]) -> Result<(), Unread> {
        self.wire += piece.len();
        match &mut self.bytes {
            Form::Plain(bytes) => bytes.extend_from_slice(piece),
            Form::Gzip(unpacked) => unpacked.write_all(piece).map_err(|e| undecodable(&e))?,
        }
        Ok(())
    }

    fn len(&self) -> usize {
        match &self.bytes {
            Form::Plain(bytes) => bytes.len(),
            Form::Gzip(unpacked) => unpacked.get_ref().len(),
        }
    }

    fn so_far(self) -> Bytes {
        match self.bytes {
            Form::Plain(bytes) => bytes.freeze(),
            Form::Gzip(mut unpacked) => std::mem::take(unpacked.get_mut()).into(),
        }
    }

    fn finish(self) -> Result<Bytes, Unread> {
        match self.bytes {
            // A response without a body may have the header too.
            Form::Gzip(unpacked) if self.wire > 0 => unpacked
                .finish()
                .map(Bytes::from)
                .map_err(|e| undecodable(&e)),
            _ => Ok(self.so_far()),
        }
    }
}

fn undecodable(error: &io::Error) -> Unread {
    Unread::Undecodable(format!("the response is not valid gzip: {error}"))
}

/// Whether parsing a JSON text would exceed the memory limit: its bytes plus an estimate for each value and key.
/// A dense text, with ten bytes for each value, is accepted up to about 50 MiB.
pub fn is_too_costly(json: &[u8]) -> bool {
    // The densest text has one value in two bytes.
    json.len() + json.len() / 2 * VALUE > PARSED && parsed_size(json) > PARSED
}

/// Estimates the memory in bytes that the parsed form of a JSON text takes. It stops counting above [`PARSED`].
pub fn parsed_size(json: &[u8]) -> usize {
    let mut cost = json.len();
    // Each opening bracket is a value too.
    let costs = tokens(json).map(|token| match json[token.start] {
        b'[' | b'{' | b',' => VALUE,
        b':' => KEY,
        _ => 0,
    });
    for part in costs {
        cost += part;
        if cost > PARSED {
            break;
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(part: &str, size: usize) -> Vec<u8> {
        format!("[{}0]", part.repeat(size / part.len())).into_bytes()
    }

    #[test]
    fn parse_cost_depends_on_values_and_not_only_bytes() {
        assert!(is_too_costly(&repeated("0,", 60 << 20)));
        assert!(is_too_costly(&repeated("[],", 60 << 20)));
        assert!(is_too_costly(&repeated(r#"{"a":1},"#, 60 << 20)));
        assert!(is_too_costly(&vec![b'['; 60 << 20]));
        // Numbers of an embedding, and strings.
        assert!(!is_too_costly(&repeated("0.0123456789,", 50 << 20)));
        assert!(!is_too_costly(&repeated(
            r#""text with , : [ { \" and \\ in it, which are no values","#,
            60 << 20
        )));
        assert!(
            !is_too_costly(&repeated("0,", 8 << 20)),
            "small bodies are not measured"
        );
    }

    #[test]
    fn truncated_bodies_can_be_measured() {
        let text = repeated(r#"{"a\\":"b\"",[1,2]},"#, 30 << 20);
        for cut in [
            text.len() - 1,
            text.len() - 5,
            text.len() - 13,
            text.len() - 14,
        ] {
            let _ = is_too_costly(&text[..cut]);
        }
    }
}
