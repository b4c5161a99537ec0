//! Compact storage of events, in chunks of about a thousand. Each event is a few numbers plus the text that is unique
//! to it; text that it shares with a recent event is stored once. A streamed token has a kilobyte of repeated metadata
//! and only one new word.

use crate::log::delta::{Delta, common};
use crate::log::event::server_time;
use crate::{Data, Event, Namespace, Seq};
use jiff::{SignedDuration, Timestamp};
use std::collections::VecDeque;
use std::sync::Arc;

/// A chunk is full when it contains this many events or bytes.
const MAX_ROWS: usize = 1024;
const MAX_BYTES: usize = 256 << 10;
/// Maximum size of a text that is stored in parts, in bytes. Larger texts are stored whole, because they are read often and
/// reassembling them is expensive.
const MAX_SHARED_TEXT: usize = 16 << 10;
/// Minimum size of a text that shares parts with others, in bytes. For shorter texts, sharing would save nothing.
const MIN_SHARED_TEXT: usize = 48;
/// Maximum number of recent patterns to compare a text with. Enough for several interleaved streams.
const MAX_PATTERNS: usize = 8;
/// Estimated overhead of an allocation, in bytes.
const ALLOCATION_BYTES: usize = 32;
/// A missing index.
const NO_INDEX: u16 = u16::MAX;

/// The fields that many events share.
#[derive(Debug, PartialEq)]
struct Origin {
    conn: u32,
    name: Arc<str>,
    ns: Namespace,
}

impl Origin {
    fn name_bytes(&self) -> usize {
        self.name.len() + self.ns.iter().map(|segment| segment.len()).sum::<usize>()
    }
}

/// One event. Indexes refer to its chunk's lists.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// Nanoseconds since its chunk's first event.
    at: i64,
    /// The offset of its id in the chunk's text.
    id: u32,
    /// The offset of its own text, or the number of its large text.
    own: u32,
    id_len: u32,
    own_len: u16,
    origin: u16,
    pattern: u16,
    /// Number of bytes shared with its pattern, at the beginning and at the end.
    head: u16,
    tail: u16,
    kind: Kind,
    flags: u8,
}

/// The event has an id.
const HAS_ID: u8 = 1;
/// The event is the first with its id, pattern or origin, so their size counts toward it.
const NEW_ID: u8 = 2;
const NEW_PATTERN: u8 = 4;
const REPLAYED: u8 = 8;
const NEW_ORIGIN: u8 = 16;

impl Row {
    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn is_large(&self) -> bool {
        matches!(
            self.kind,
            Kind::LargeJson | Kind::LargeMalformed | Kind::TooLarge
        )
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Json,
    Malformed,
    LargeJson,
    LargeMalformed,
    TooLarge,
}

/// A text that is stored on its own.
#[derive(Debug)]
enum Large {
    /// As received, with the original size if it was truncated.
    Text(Arc<str>, u64),
    /// As a delta to a newer text.
    Delta(Delta),
}

/// A sequence of consecutive events.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    first: Seq,
    base: Timestamp,
    rows: Vec<Row>,
    /// Number of evicted rows.
    evicted: usize,
    /// The events' own texts and ids.
    text: String,
    origins: Vec<Arc<Origin>>,
    patterns: Vec<Arc<str>>,
    /// Total size of the patterns first used in this chunk.
    pattern_bytes: usize,
    /// Large texts, and how many were evicted.
    large: VecDeque<Large>,
    large_evicted: u32,
}

impl Chunk {
    /// Returns the position of the oldest retained event.
    pub fn first(&self) -> Seq {
        self.first + self.evicted as u64
    }

    /// Returns the number of retained events.
    pub fn len(&self) -> usize {
        self.rows.len() - self.evicted
    }

    /// Evicts the oldest event. Returns its memory size and its payload size.
    pub fn evict_oldest(&mut self) -> Option<(usize, u64)> {
        let (weight, size) = (self.weight(self.evicted)?, self.size(self.evicted)?);
        let row = self.rows.get(self.evicted)?;
        if row.is_large() {
            self.large.pop_front();
            self.large_evicted += 1;
        }
        self.evicted += 1;
        Some((weight, size))
    }

    /// Returns the index of the event at a position.
    pub fn index_of(&self, seq: Seq) -> Option<usize> {
        let index = usize::try_from(seq.checked_since(self.first)?).ok()?;
        (self.evicted..self.rows.len())
            .contains(&index)
            .then_some(index)
    }

    /// Returns the indexes of the retained events.
    pub fn indexes(&self) -> std::ops::Range<usize> {
        self.evicted..self.rows.len()
    }

    /// Returns the position of the event at an index.
    pub fn seq(&self, index: usize) -> Seq {
        self.first + index as u64
    }

    /// Returns when the event arrived.
    pub fn at(&self, index: usize) -> Option<Timestamp> {
        self.base
            .checked_add(SignedDuration::from_nanos(self.rows.get(index)?.at))
            .ok()
    }

    /// Returns when the event happened, if known; see [`Event::time`].
    pub fn time(&self, index: usize) -> Option<Timestamp> {
        let is_replayed = self.rows.get(index)?.is(REPLAYED);
        self.id(index)
            .and_then(server_time)
            .or_else(|| self.at(index).filter(|_| !is_replayed))
    }

    pub fn id(&self, index: usize) -> Option<&str> {
        let row = self.rows.get(index)?;
        row.is(HAS_ID)
            .then(|| &self.text[row.id as usize..][..row.id_len as usize])
    }

    /// Rebuilds the event. `base` returns the text of another event, which a delta refers to.
    pub fn event(&self, index: usize, base: &dyn Fn(Seq) -> Option<Arc<str>>) -> Option<Event> {
        let row = self.rows.get(index)?;
        let origin = self.origins.get(usize::from(row.origin))?;
        let data = match row.kind {
            Kind::Json => Data::Json(self.reassemble(row)),
            Kind::Malformed => Data::Malformed(self.reassemble(row)),
            Kind::LargeJson | Kind::LargeMalformed | Kind::TooLarge => {
                let (text, size) = match self.large(row)? {
                    Large::Text(text, size) => (text.clone(), *size),
                    Large::Delta(delta) => (delta.text(&base(delta.base)?)?, 0),
                };
                match row.kind {
                    Kind::TooLarge => Data::TooLarge { size, head: text },
                    Kind::LargeMalformed => Data::Malformed(text),
                    _ => Data::Json(text),
                }
            }
        };
        Some(Event {
            seq: self.seq(index),
            at: self.at(index)?,
            conn: origin.conn,
            replayed: row.is(REPLAYED),
            name: origin.name.clone(),
            ns: origin.ns.clone(),
            id: self.id(index).map(Into::into),
            data,
        })
    }

    fn large(&self, row: &Row) -> Option<&Large> {
        self.large
            .get(row.own.checked_sub(self.large_evicted)? as usize)
    }

    /// Replaces an event's large text with a delta to a newer one, if that saves enough. The newer event must not be
    /// evicted before this one.
    pub fn compress_to_delta(&mut self, index: usize, newer: Seq, newer_text: &str) {
        let Some(row) = self
            .rows
            .get(index)
            .filter(|row| row.kind == Kind::LargeJson)
        else {
            return;
        };
        let number = row
            .own
            .checked_sub(self.large_evicted)
            .map(|number| number as usize);
        let Some(large) = number.and_then(|number| self.large.get_mut(number)) else {
            return;
        };
        if let Large::Text(text, _) = large
            && let Some(delta) = Delta::of(text, newer, newer_text)
        {
            *large = Large::Delta(delta);
        }
    }

    fn own(&self, row: &Row) -> &str {
        &self.text[row.own as usize..][..row.own_len.into()]
    }

    fn reassemble(&self, row: &Row) -> Arc<str> {
        let own = self.own(row);
        let Some(pattern) = self.patterns.get(usize::from(row.pattern)) else {
            return own.into();
        };
        let (head, tail) = (usize::from(row.head), usize::from(row.tail));
        if head == pattern.len() && own.is_empty() {
            return pattern.clone();
        }
        let mut text = String::with_capacity(head + own.len() + tail);
        text.push_str(&pattern[..head]);
        text.push_str(own);
        text.push_str(&pattern[pattern.len() - tail..]);
        text.into()
    }

    /// Returns the payload size of the event at an index.
    fn size(&self, index: usize) -> Option<u64> {
        let row = self.rows.get(index)?;
        Some(match row.is_large() {
            true => match self.large(row)? {
                Large::Text(text, size) => (*size).max(text.len() as u64),
                Large::Delta(delta) => delta.len as u64,
            },
            false => u64::from(row.head) + u64::from(row.own_len) + u64::from(row.tail),
        })
    }

    /// Returns the approximate memory size of the event at an index, in bytes.
    pub fn weight(&self, index: usize) -> Option<usize> {
        let row = self.rows.get(index)?;
        let pattern = self
            .patterns
            .get(usize::from(row.pattern))
            .filter(|_| row.is(NEW_PATTERN));
        let data = match row.is_large() {
            // Such an event is alone in its chunk.
            true => {
                let text = match self.large(row)? {
                    Large::Text(text, _) => text.len(),
                    Large::Delta(delta) => delta.weight(),
                };
                size_of::<Chunk>() + ALLOCATION_BYTES + text
            }
            false => row.own_len.into(),
        };
        let id = if row.is(NEW_ID) {
            row.id_len as usize
        } else {
            0
        };
        let origin = self
            .origins
            .get(usize::from(row.origin))
            .filter(|_| row.is(NEW_ORIGIN));
        // Short names are shared by many chunks.
        let origin = origin
            .map_or(0, |origin| origin.name_bytes())
            .saturating_sub(MIN_SHARED_TEXT);
        Some(
            size_of::<Row>()
                + data
                + id
                + origin
                + pattern.map_or(0, |pattern| ALLOCATION_BYTES + pattern.len()),
        )
    }
}

/// A text whose beginning and end are shared by other texts.
#[derive(Debug)]
struct Pattern {
    text: Arc<str>,
    /// Its index in the newest chunk.
    index: u16,
}

/// Packs events into chunks in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    /// Most recently used first.
    patterns: Vec<Pattern>,
}

impl Packer {
    /// Adds an event to the newest chunk, or to a new one.
    pub fn add(&mut self, event: Event, chunks: &mut VecDeque<Chunk>) {
        let since =
            |chunk: &Chunk| i64::try_from(event.at.duration_since(chunk.base).as_nanos()).ok();
        let has_room = |chunk: &Chunk| {
            let bytes = chunk.text.len() + chunk.pattern_bytes;
            chunk.rows.len() < MAX_ROWS
                && bytes < MAX_BYTES
                && chunk.large.is_empty()
                && since(chunk).is_some()
        };
        if !chunks.back().is_some_and(has_room) {
            if let Some(full) = chunks.back_mut() {
                full.rows.shrink_to_fit();
                full.text.shrink_to_fit();
                full.patterns.shrink_to_fit();
            }
            self.patterns
                .iter_mut()
                .for_each(|pattern| pattern.index = NO_INDEX);
            chunks.push_back(Chunk {
                first: event.seq,
                base: event.at,
                ..Chunk::default()
            });
        }
        let Some(chunk) = chunks.back_mut() else {
            return;
        };
        let at = since(chunk).unwrap_or_default();
        let Event {
            conn,
            replayed,
            name,
            ns,
            id,
            data,
            ..
        } = event;
        let origin = Origin { conn, name, ns };
        let known = chunk.origins.iter().rposition(|known| **known == origin);
        let is_new = known.is_none();
        let origin = known.unwrap_or_else(|| {
            chunk.origins.push(Arc::new(origin));
            chunk.origins.len() - 1
        });
        let before = chunk.rows.len().checked_sub(1);
        let mut row = Row {
            at,
            origin: origin as u16,
            pattern: NO_INDEX,
            flags: if replayed { REPLAYED } else { 0 } | if is_new { NEW_ORIGIN } else { 0 },
            ..Row::default()
        };
        if let Some(id) = id.as_deref() {
            match before
                .filter(|before| chunk.id(*before) == Some(id))
                .and_then(|before| chunk.rows.get(before))
            {
                Some(same) => (row.id, row.id_len) = (same.id, same.id_len),
                None => {
                    (row.id, row.id_len) = (chunk.text.len() as u32, id.len() as u32);
                    row.flags |= NEW_ID;
                    chunk.text.push_str(id);
                }
            }
            row.flags |= HAS_ID;
        }
        let (text, kind, size) = match data {
            Data::Json(text) if text.len() <= MAX_SHARED_TEXT => (text, Kind::Json, 0),
            Data::Malformed(text) if text.len() <= MAX_SHARED_TEXT => (text, Kind::Malformed, 0),
            Data::Json(text) => (text, Kind::LargeJson, 0),
            Data::Malformed(text) => (text, Kind::LargeMalformed, 0),
            Data::TooLarge { size, head } => (head, Kind::TooLarge, size),
        };
        row.kind = kind;
        match kind {
            Kind::Json | Kind::Malformed => self.pack(text, &mut row, chunk),
            Kind::LargeJson | Kind::LargeMalformed | Kind::TooLarge => {
                row.own = chunk.large_evicted + chunk.large.len() as u32;
                chunk.large.push_back(Large::Text(text, size));
            }
        }
        chunk.rows.push(row);
    }

    /// Packs a text of at most `MAX_SHARED_TEXT` bytes. A text that matches no pattern becomes a new one.
    fn pack(&mut self, text: Arc<str>, row: &mut Row, chunk: &mut Chunk) {
        let mut own = &*text;
        if text.len() >= MIN_SHARED_TEXT {
            let matching = self.patterns.iter().position(|pattern| {
                let (head, tail) = common(&pattern.text, &text);
                (row.head, row.tail) = (to_u16(head), to_u16(tail));
                text.len() - head - tail <= text.len() / 4
            });
            match matching {
                Some(index) => self.patterns[..=index].rotate_right(1),
                None => {
                    (row.head, row.tail) = (to_u16(text.len()), 0);
                    row.flags |= NEW_PATTERN;
                    chunk.pattern_bytes += text.len();
                    self.patterns.truncate(MAX_PATTERNS - 1);
                    self.patterns.insert(
                        0,
                        Pattern {
                            text: text.clone(),
                            index: NO_INDEX,
                        },
                    );
                }
            }
            let pattern = &mut self.patterns[0];
            if pattern.index == NO_INDEX {
                pattern.index = chunk.patterns.len() as u16;
                chunk.patterns.push(pattern.text.clone());
            }
            row.pattern = pattern.index;
            own = &text[row.head.into()..text.len() - usize::from(row.tail)];
        }
        (row.own, row.own_len) = (chunk.text.len() as u32, to_u16(own.len()));
        chunk.text.push_str(own);
    }
}

/// Converts a length of at most [`MAX_SHARED_TEXT`].
fn to_u16(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(seq: u64, id: Option<&str>, data: Data) -> Event {
        let at = Timestamp::from_nanosecond(1_789_000_000_000_000_001 + i128::from(seq)).unwrap();
        let name = if seq.is_multiple_of(3) {
            "messages"
        } else {
            "custom"
        };
        let replayed = seq.is_multiple_of(5);
        Event {
            seq: Seq(seq),
            at,
            conn: 1,
            replayed,
            name: name.into(),
            ns: [].into(),
            id: id.map(Into::into),
            data,
        }
    }

    fn pack(events: &[Event]) -> VecDeque<Chunk> {
        let (mut packer, mut chunks) = (Packer::default(), VecDeque::new());
        events
            .iter()
            .for_each(|event| packer.add(event.clone(), &mut chunks));
        chunks
    }

    fn unpack(chunks: &VecDeque<Chunk>) -> Vec<Event> {
        chunks
            .iter()
            .flat_map(|chunk| {
                chunk
                    .indexes()
                    .map(|index| chunk.event(index, &|_| None).unwrap())
            })
            .collect()
    }

    #[test]
    fn repeated_metadata_is_stored_once() {
        let metadata = format!(r#"{{"thread_id":"t","more":"{}"}}"#, "x".repeat(1000));
        let text = |n| format!(r#"[{{"content":"wörd{n} "}},{metadata}]"#);
        let id = |n| format!("1789000000000-{}", n / 6);
        let events: Vec<Event> = (1..=5000)
            .map(|n| event(n, Some(&id(n)), Data::Json(text(n).as_str().into())))
            .collect();
        let chunks = pack(&events);
        assert_eq!(unpack(&chunks), events);
        let weights = chunks
            .iter()
            .flat_map(|chunk| chunk.indexes().map(|index| chunk.weight(index).unwrap()));
        assert!(weights.sum::<usize>() < 5000 * 64);
        let held: usize = chunks
            .iter()
            .map(|chunk| chunk.text.capacity() + chunk.rows.capacity() * 40)
            .sum();
        assert!(held < 5000 * 64, "{held}");
        assert!(size_of::<Row>() <= 32);
    }

    #[test]
    fn a_large_text_is_never_copied() {
        let text: Arc<str> = "x".repeat(MAX_SHARED_TEXT + 1).into();
        let mut chunks = pack(&[
            event(1, None, Data::Json(text.clone())),
            event(2, None, Data::Json(text.clone())),
        ]);
        assert!(
            unpack(&chunks)
                .iter()
                .all(|event| Arc::ptr_eq(event.data.text(), &text))
        );
        // The text is freed together with its event.
        assert_eq!(Arc::strong_count(&text), 3);
        chunks[0].evict_oldest();
        assert_eq!(Arc::strong_count(&text), 2);
    }

    #[test]
    fn distant_times_keep_nanosecond_precision() {
        let mut events: Vec<Event> = (1..=4)
            .map(|n| event(n, None, Data::Json("1".into())))
            .collect();
        (events[1].at, events[2].at) = (Timestamp::MAX, Timestamp::MIN);
        assert_eq!(unpack(&pack(&events)), events);
    }

    proptest! {
        #[test]
        fn events_round_trip(
            given in prop::collection::vec(("(a|é|€|😀|\"){0,120}", 0..4u8, prop::option::of("[a-c]{0,3}")), 0..60),
            evicted in 0..60usize,
        ) {
            let events: Vec<Event> = given.iter().zip(1..).map(|((text, kind, id), seq)| {
                let text: Arc<str> = text.as_str().into();
                let data = match kind {
                    0 => Data::Malformed(text),
                    1 => Data::TooLarge { size: seq, head: text },
                    _ => Data::Json(text),
                };
                event(seq, id.as_deref(), data)
            }).collect();
            let mut chunks = pack(&events);
            let evicted = evicted.min(events.len());
            for _ in 0..evicted {
                let chunk = chunks.iter_mut().find(|chunk| chunk.len() > 0).unwrap();
                prop_assert!(chunk.evict_oldest().is_some());
            }
            prop_assert_eq!(unpack(&chunks), &events[evicted..]);
        }

        #[test]
        fn common_prefix_and_suffix_do_not_overlap(a in "(a|é|è|ê){0,40}", b in "(a|é|è|ê){0,40}") {
            let (head, tail) = common(&a, &b);
            prop_assert!(head + tail <= a.len().min(b.len()));
            prop_assert_eq!(&a[..head], &b[..head]);
            prop_assert_eq!(&a[a.len() - tail..], &b[b.len() - tail..]);
        }
    }
}
