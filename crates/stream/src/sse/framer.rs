//! Splits a byte stream, chunked arbitrarily, into complete SSE blocks in linear time. An oversized block is truncated;
//! the stream continues.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;

/// Bytes kept of each line of an oversized block.
const LINE_HEAD: usize = 4096;
/// Bytes kept of an oversized block in total.
const BLOCK_HEAD: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// One frame of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// A block of fields.
    Block(Block),
    /// A comment line: the server's heartbeat.
    Comment,
}

/// One block of fields: its lines with their line breaks, without the blank line that closed it.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The lines.
    pub bytes: Bytes,
    /// Bytes dropped because the block exceeded the limit; 0 for a complete block.
    pub dropped: u64,
}

/// The framer of one connection.
#[derive(Debug, Default)]
pub struct Framer {
    max: usize,
    /// The first bytes of the stream while they may still be a byte order mark.
    bom: Option<BytesMut>,
    /// The unprocessed bytes; `start` is where the current block begins, `pos` the current line.
    chunk: Bytes,
    start: usize,
    pos: usize,
    /// The part of the current block from earlier chunks.
    carry: BytesMut,
    /// The first byte of the current line, if it is in an earlier chunk.
    line_first: Option<u8>,
    /// Whether the last line ended with CR, so that a following LF belongs to it.
    after_cr: bool,
    /// Whether the block has a line other than comments.
    has_field: bool,
    truncation: Option<Truncation>,
}

/// The state of an oversized block, whose lines are truncated.
#[derive(Debug, Default)]
struct Truncation {
    /// Bytes received of the current line.
    line: usize,
    dropped: u64,
}

impl Framer {
    /// Creates a framer that truncates blocks larger than `max` bytes.
    pub fn new(max: usize) -> Self {
        Framer {
            max: max.max(LINE_HEAD),
            bom: Some(BytesMut::new()),
            ..Framer::default()
        }
    }

    /// Adds the next bytes. Call [`Framer::next_frame`] until it returns `None` before the next push.
    pub fn push(&mut self, chunk: Bytes) {
        self.carry_rest();
        self.chunk = match self.bom.take() {
            None => chunk,
            Some(mut head) => {
                head.extend_from_slice(&chunk);
                if head.len() < BOM.len() && BOM.starts_with(&head) {
                    self.bom = Some(head);
                    return;
                }
                let skip = if head.starts_with(BOM) { BOM.len() } else { 0 };
                head.freeze().slice(skip..)
            }
        };
    }

    /// Returns the next block or comment, if one is complete.
    pub fn next_frame(&mut self) -> Option<Frame> {
        loop {
            if self.after_cr && self.pos < self.chunk.len() {
                self.after_cr = false;
                if self.chunk[self.pos] == b'\n' {
                    self.pos += 1;
                    // Between blocks this LF is the rest of the blank line; inside a block it belongs to its line.
                    if !self.has_field && self.carry.is_empty() {
                        self.start = self.pos;
                    }
                }
            }
            let Some(offset) = memchr2(b'\r', b'\n', &self.chunk[self.pos..]) else {
                if self.line_first.is_none() {
                    self.line_first = self.chunk.get(self.pos).copied();
                }
                self.carry_rest();
                return None;
            };
            let end = self.pos + offset;
            let first = self
                .line_first
                .take()
                .or_else(|| (end > self.pos).then(|| self.chunk[self.pos]));
            self.after_cr = self.chunk[end] == b'\r';
            match first {
                None => {
                    let block = self.take_block();
                    self.pos = end + 1;
                    self.start = self.pos;
                    if let Some(block) = block {
                        return Some(Frame::Block(block));
                    }
                }
                Some(b':') => {
                    self.pos = end + 1;
                    if !self.has_field {
                        // Comments alone are not a block.
                        self.carry.clear();
                        self.truncation = None;
                        self.start = self.pos;
                    }
                    return Some(Frame::Comment);
                }
                Some(_) => {
                    self.pos = end + 1;
                    self.has_field = true;
                }
            }
        }
    }

    /// Ends the stream. Returns the size of an unfinished block, which is dropped as the standard requires.
    pub fn finish(mut self) -> Option<u64> {
        if let Some(head) = self.bom.take() {
            return (!head.is_empty()).then_some(head.len() as u64);
        }
        self.carry_rest();
        let dropped = self.truncation.as_ref().map_or(0, |t| t.dropped);
        let open = self.has_field || self.line_first.is_some_and(|b| b != b':');
        open.then_some(self.carry.len() as u64 + dropped)
    }

    /// Takes the block that the blank line at `pos` closes.
    fn take_block(&mut self) -> Option<Block> {
        let whole =
            self.carry.is_empty() && self.truncation.is_none() && self.pos - self.start <= self.max;
        let bytes = if whole {
            self.chunk.slice(self.start..self.pos)
        } else {
            let tail = self.chunk.slice(self.start..self.pos);
            self.append(&tail);
            self.carry.split().freeze()
        };
        let dropped = self.truncation.take().map_or(0, |t| t.dropped);
        std::mem::take(&mut self.has_field).then_some(Block { bytes, dropped })
    }

    /// Saves the rest of the current block before the next chunk is pushed.
    fn carry_rest(&mut self) {
        let rest = std::mem::take(&mut self.chunk).slice(self.start..);
        (self.start, self.pos) = (0, 0);
        self.append(&rest);
    }

    /// Adds bytes to the saved block, truncating it when it grows too large.
    fn append(&mut self, bytes: &[u8]) {
        if self.truncation.is_none() {
            if self.carry.len() + bytes.len() <= self.max {
                self.carry.extend_from_slice(bytes);
                return;
            }
            let full = std::mem::take(&mut self.carry);
            self.truncation = Some(Truncation::default());
            self.truncate_lines(&full);
        }
        self.truncate_lines(bytes);
    }

    fn truncate_lines(&mut self, mut bytes: &[u8]) {
        let Some(truncation) = &mut self.truncation else {
            return;
        };
        while !bytes.is_empty() {
            let end = memchr2(b'\r', b'\n', bytes);
            let (line, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            let room = LINE_HEAD
                .saturating_sub(truncation.line)
                .min(BLOCK_HEAD.saturating_sub(self.carry.len()));
            let kept = line.len().min(room);
            self.carry.extend_from_slice(&line[..kept]);
            truncation.dropped += (line.len() - kept) as u64;
            truncation.line += line.len();
            bytes = rest;
            if end.is_some() {
                if self.carry.len() < BLOCK_HEAD + LINE_HEAD {
                    self.carry.extend_from_slice(&bytes[..1]);
                }
                truncation.line = 0;
                bytes = &bytes[1..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(chunks: &[&[u8]], max: usize) -> (Vec<Frame>, Option<u64>) {
        let mut framer = Framer::new(max);
        let mut out = Vec::new();
        for chunk in chunks {
            framer.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = framer.next_frame() {
                out.push(frame);
            }
        }
        (out, framer.finish())
    }

    fn blocks(chunks: &[&[u8]]) -> Vec<String> {
        let frames = frames(chunks, 1 << 20).0;
        let text = |f| match f {
            Frame::Block(b) => String::from_utf8_lossy(&b.bytes).into_owned(),
            Frame::Comment => "#".into(),
        };
        frames.into_iter().map(text).collect()
    }

    #[test]
    fn line_breaks_are_found_at_every_chunk_boundary() {
        for end in ["\n", "\r", "\r\n"] {
            let text = format!(
                "event: a{end}data: 1{end}{end}: beat{end}{end}{end}data: 2{end}id: 3{end}{end}data: x"
            );
            let want = [
                format!("event: a{end}data: 1{end}"),
                "#".into(),
                format!("data: 2{end}id: 3{end}"),
            ];
            assert_eq!(blocks(&[text.as_bytes()]), want);
            for cut in 0..text.len() {
                assert_eq!(
                    blocks(&[&text.as_bytes()[..cut], &text.as_bytes()[cut..]]),
                    want,
                    "{end:?} at {cut}"
                );
            }
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(blocks(&single), want);
            assert_eq!(frames(&[text.as_bytes()], 1 << 20).1, Some(7));
        }
    }

    #[test]
    fn a_byte_order_mark_is_removed_only_at_the_start() {
        let text = b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n";
        for cut in 0..text.len() {
            assert_eq!(
                blocks(&[&text[..cut], &text[cut..]]),
                ["data: 1\n", "\u{feff}data: 2\n"]
            );
        }
        assert_eq!(frames(&[b"\xef\xbb"], 100).1, Some(2));
        assert_eq!(frames(&[b""], 100).1, None);
    }

    #[test]
    fn only_the_oversized_event_is_truncated() {
        let big = "x".repeat(100_000);
        let text = format!("event: a\ndata: {big}\nid: 7\n\ndata: next\n\n");
        for size in [text.len(), 1000, 7, 1] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let (found, rest) = frames(&chunks, 50_000);
            let [Frame::Block(first), Frame::Block(second)] = &found[..] else {
                panic!("{found:?}")
            };
            let kept = std::str::from_utf8(&first.bytes).unwrap();
            assert!(
                kept.starts_with("event: a\ndata: xxx") && kept.ends_with("x\nid: 7\n"),
                "{kept}"
            );
            assert_eq!(
                kept.len() as u64 + first.dropped,
                text.find("\n\n").unwrap() as u64 + 1
            );
            assert!(kept.len() < 5000);
            assert_eq!(
                (&second.bytes[..], second.dropped, rest),
                (&b"data: next\n"[..], 0, None)
            );
        }
    }

    #[test]
    fn comments_inside_a_block_do_not_end_it() {
        assert_eq!(
            blocks(&[b"data: 1\n: hey\ndata: 2\n\n"]),
            ["#", "data: 1\n: hey\ndata: 2\n"]
        );
        assert_eq!(
            blocks(&[b": a\n: b\ndata: 1\n\n:\n"]),
            ["#", "#", "data: 1\n", "#"]
        );
    }
}
