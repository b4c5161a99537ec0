//! Reading the body of an answer within bounds: of its size, of what it unpacks to, and of what it costs to parse.

use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;
use futures::StreamExt;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use std::io::{self, Write};

/// Up to here an answer may unpack to any multiple of its size on the wire.
const FREE: usize = 16 << 20;
/// Beyond that, an answer that unpacks to more than this many times its size is no data.
const MOST_UNPACKED: usize = 100;
/// Compressed bytes that are unpacked at once: at a thousand times their size, which is the most that gzip reaches, 4 MiB.
const PIECE: usize = 4 << 10;
/// Bytes of memory that the parsed form of one answer may take, by estimate.
const PARSED: usize = 384 << 20;
/// Estimated bytes of a parsed value beside its text: the value, and the spare room of the list that it is in.
const VALUE: usize = 64;
/// Estimated bytes of a parsed key beside its text: the text's place, its entry and its place in the index.
const KEY: usize = 96;

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// The connection broke.
    Broken(reqwest::Error),
    /// It is larger than the limit.
    TooLarge,
    /// It unpacks to more than data does. Holds the bytes on the wire, and what they had unpacked to by then.
    Unpacks(usize, usize),
    /// It is not what its head says.
    Undecodable(String),
}

/// Reads a body up to a limit, unpacked if it is compressed.
pub(super) async fn read_body(response: Response, limit: usize) -> Result<Bytes, Unread> {
    if response.content_length().is_some_and(|n| n > limit as u64) {
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
    body.finish()
}

/// Reads the head of a body, as far as it comes.
pub(super) async fn read_head(response: Response, limit: usize) -> Bytes {
    let Ok(mut body) = Body::new(response.headers()) else { return Bytes::new() };
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

/// A body as it comes.
struct Body {
    /// Bytes on the wire.
    wire: usize,
    bytes: Form,
}

/// What has come, in the form in which it comes.
enum Form {
    Plain(BytesMut),
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Body {
    fn new(headers: &HeaderMap) -> Result<Body, Unread> {
        let encoding = headers.get(CONTENT_ENCODING).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let bytes = match encoding.as_deref().map(str::trim) {
            None | Some("" | "identity") => Form::Plain(BytesMut::new()),
            Some("gzip" | "x-gzip") => Form::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            Some(other) => {
                let other = crate::text::fit(&crate::text::clean(other), 40).into_owned();
                return Err(Unread::Undecodable(format!(
                    "the answer is compressed in a way that was not asked for ({other})"
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
            // An answer without a body may carry the header all the same.
            Form::Gzip(unpacked) if self.wire > 0 => unpacked.finish().map(Bytes::from).map_err(|e| undecodable(&e)),
            _ => Ok(self.so_far()),
        }
    }
}

fn undecodable(error: &io::Error) -> Unread {
    Unread::Undecodable(format!("the answer is not the gzip that its head promises: {error}"))
}

/// Whether parsing a JSON text would take more memory than an answer may: its bytes, and what is added for each value and key.
/// A text of ten bytes a value, which is dense, passes up to about 50 MiB.
pub(super) fn is_too_costly(json: &[u8]) -> bool {
    // The densest text has one value in two bytes.
    if json.len() + json.len() / 2 * VALUE <= PARSED {
        return false;
    }
    let mut cost = json.len();
    let mut rest = json;
    while let Some(at) = memchr::memchr3(b'"', b',', b':', rest) {
        // Each opening bracket is a value too; strings are passed over, so none of these is text.
        let opened = rest[..at].iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
        cost += opened * VALUE;
        match rest[at] {
            b',' => cost += VALUE,
            b':' => cost += KEY,
            _ => {}
        }
        let is_text = rest[at] == b'"';
        rest = &rest[at + 1..];
        if is_text {
            rest = behind_string(rest);
        }
        if cost > PARSED {
            return true;
        }
    }
    cost + rest.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() * VALUE > PARSED
}

/// What follows a string whose opening quotation mark was just passed.
fn behind_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        match rest[at] {
            b'"' => return &rest[at + 1..],
            _ => rest = rest.get(at + 2..).unwrap_or_default(),
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(part: &str, size: usize) -> Vec<u8> {
        format!("[{}0]", part.repeat(size / part.len())).into_bytes()
    }

    #[test]
    fn what_costs_too_much_is_told_by_its_values_and_not_by_its_size() {
        assert!(is_too_costly(&repeated("0,", 60 << 20)));
        assert!(is_too_costly(&repeated("[],", 60 << 20)));
        assert!(is_too_costly(&repeated(r#"{"a":1},"#, 60 << 20)));
        assert!(is_too_costly(&vec![b'['; 60 << 20]));
        // Numbers of an embedding, and texts.
        assert!(!is_too_costly(&repeated("0.0123456789,", 50 << 20)));
        assert!(!is_too_costly(&repeated(r#""text with , : [ { \" and \\ in it, which are no values","#, 60 << 20)));
        assert!(!is_too_costly(&repeated("0,", 8 << 20)), "small answers are not counted");
    }

    #[test]
    fn a_text_that_ends_anywhere_is_counted_to_its_end() {
        let text = repeated(r#"{"a\\":"b\"",[1,2]},"#, 30 << 20);
        for cut in [text.len() - 1, text.len() - 5, text.len() - 13, text.len() - 14] {
            let _ = is_too_costly(&text[..cut]);
        }
        assert_eq!(behind_string(b"a\\"), b"");
        assert_eq!(behind_string(b"a\\\\\" rest"), b" rest");
    }
}
