//! A JSON text indexed as a flat list of nodes: built in one pass without recursion or copying, 32 bytes per value.
//! Large texts are indexed in steps, so that the caller can cancel, show progress and yield.

mod path;
mod string;
#[cfg(test)]
pub(crate) mod tests;

pub use runtail_core::json::decoded as plain;
pub use string::{Chunks, head, unquote};

use runtail_core::json::token_end;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// No node: the parent of the root.
const NONE: u32 = u32::MAX;

/// A part of a shared text, such as the state in an event's data.
#[derive(Clone)]
pub struct Excerpt {
    whole: Arc<str>,
    range: Range<usize>,
}

impl Excerpt {
    /// Creates an excerpt; `None` if the range is not in the text.
    pub fn new(whole: Arc<str>, range: Range<usize>) -> Option<Excerpt> {
        whole.get(range.clone())?;
        Some(Excerpt { whole, range })
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.whole.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns the text as a shared text. Doesn't copy it if it is the whole text.
    pub fn shared(&self) -> Arc<str> {
        if self.len() == self.whole.len() {
            self.whole.clone()
        } else {
            self.as_str().into()
        }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }
}

impl From<Arc<str>> for Excerpt {
    fn from(whole: Arc<str>) -> Excerpt {
        let range = 0..whole.len();
        Excerpt { whole, range }
    }
}

/// Omits the text, which may have 50 MB.
impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Excerpt({} bytes)", self.len())
    }
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    Text,
    /// A number, `true`, `false`, `null`, or a text that is not JSON.
    Other,
}

/// The position of a value in the text and in the tree. Nodes are in the order of the text, so the members of a
/// container follow it.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The start and end of the value, in bytes.
    start: u32,
    end: u32,
    /// The start of its key, with the quote; [`NONE`] in lists and at the root.
    key: u32,
    parent: u32,
    /// The next node that this one doesn't contain.
    next: u32,
    /// Its position in its container.
    index: u32,
    /// Number of members of a container.
    children: u32,
    /// Number of containers that it is in.
    depth: u32,
}

/// An indexed JSON text. Its nodes are numbered in the order of the text, and the root is 0.
pub struct JsonIndex {
    text: Excerpt,
    nodes: Vec<Node>,
    /// Whether the text is not JSON. One node then contains all of it.
    is_invalid: bool,
    /// Number of accesses to nodes.
    #[cfg(debug_assertions)]
    looked: std::sync::atomic::AtomicUsize,
}

/// Omits the nodes, of which there may be millions.
impl fmt::Debug for JsonIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Doc({} nodes, {} bytes)", self.len(), self.bytes())
    }
}

impl JsonIndex {
    /// Returns an empty document, before a text is indexed.
    pub fn unread() -> JsonIndex {
        JsonIndex::of(Arc::<str>::from("").into(), Vec::new(), false)
    }

    /// Indexes a text. A text that is not JSON becomes a single node.
    pub fn new(text: impl Into<Excerpt>) -> JsonIndex {
        let mut reading = Reading::new(text.into());
        reading.step(usize::MAX);
        reading.finish()
    }

    /// Returns the number of nodes, which is 0 only for [`JsonIndex::unread`].
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns whether no text was indexed.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the length of the whole text in bytes.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    fn of(text: Excerpt, nodes: Vec<Node>, is_invalid: bool) -> JsonIndex {
        JsonIndex {
            text,
            nodes,
            is_invalid,
            #[cfg(debug_assertions)]
            looked: Default::default(),
        }
    }

    /// Returns the number of accesses to nodes, for tests that measure work. Only in debug builds.
    #[cfg(debug_assertions)]
    pub fn accesses(&self) -> usize {
        self.looked.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn node(&self, node: u32) -> &Node {
        #[cfg(debug_assertions)]
        self.looked
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        &self.nodes[node as usize]
    }

    /// Returns the kind of a value.
    pub fn kind(&self, node: u32) -> Kind {
        match self
            .text
            .as_str()
            .as_bytes()
            .get(self.node(node).start as usize)
        {
            Some(b'{') if !self.is_invalid => Kind::Object,
            Some(b'[') if !self.is_invalid => Kind::Array,
            Some(b'"') if !self.is_invalid => Kind::Text,
            _ => Kind::Other,
        }
    }

    /// Returns the text of a value in chunks: strings decoded, other values unchanged.
    pub fn chunks(&self, node: u32) -> Chunks<'_> {
        match self.kind(node) {
            Kind::Text => Chunks::of_string(self.value(node)),
            _ => Chunks::of_text(self.value(node)),
        }
    }

    /// Returns the JSON of a value.
    pub fn value(&self, node: u32) -> &str {
        let Node { start, end, .. } = *self.node(node);
        self.text
            .as_str()
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// Returns the byte range of a value in the text.
    pub fn range(&self, node: u32) -> Range<usize> {
        let Node { start, end, .. } = *self.node(node);
        start as usize..end as usize
    }

    /// Returns the size of a value's JSON in bytes.
    pub fn size(&self, node: u32) -> u64 {
        let Node { start, end, .. } = *self.node(node);
        (end - start).into()
    }

    /// Returns the JSON of a member's key, with its quotes; `None` in lists and at the root.
    pub fn key(&self, node: u32) -> Option<&str> {
        self.text.as_str().get(self.key_range(node)?)
    }

    /// Returns the byte range of a member's key in the text, with its quotes.
    pub fn key_range(&self, node: u32) -> Option<Range<usize>> {
        let from = self.node(node).key;
        let end =
            (from != NONE).then(|| token_end(self.text.as_str().as_bytes(), from as usize))??;
        Some(from as usize..end)
    }

    /// Returns the position of a value in its container.
    pub fn index(&self, node: u32) -> u32 {
        self.node(node).index
    }

    /// Returns the number of members of a container.
    pub fn children_count(&self, node: u32) -> u32 {
        self.node(node).children
    }

    /// Returns the number of containers that a value is in.
    pub fn depth(&self, node: u32) -> u32 {
        self.node(node).depth
    }

    /// Returns the container that a value is in.
    pub fn parent(&self, node: u32) -> Option<u32> {
        let parent = self.node(node).parent;
        (parent != NONE).then_some(parent)
    }

    /// Returns the next node that a value doesn't contain; [`JsonIndex::len`] if there is none.
    pub fn after(&self, node: u32) -> u32 {
        self.node(node).next
    }

    /// Returns whether a value has members.
    pub fn has_children(&self, node: u32) -> bool {
        self.node(node).children > 0
    }

    /// Returns whether a container contains a node, at any depth.
    pub fn contains(&self, container: u32, node: u32) -> bool {
        container < node && node < self.after(container)
    }

    /// Returns the members of a container.
    pub fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.after(node);
        let first = (node + 1 < end).then_some(node + 1);
        std::iter::successors(first, move |child| {
            Some(self.after(*child)).filter(|next| *next < end)
        })
    }

    /// Returns the containers that a value is in, innermost first.
    pub fn ancestors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.parent(node), |node| self.parent(*node))
    }
}

/// A text being indexed, step by step.
#[derive(Debug)]
pub struct Reading {
    text: Excerpt,
    nodes: Vec<Node>,
    /// The innermost open container.
    open: u32,
    key: u32,
    at: usize,
    /// Whether the text is not JSON, or too large.
    is_invalid: bool,
}

impl Reading {
    /// Starts indexing a text.
    pub fn new(text: Excerpt) -> Reading {
        let is_invalid = text.len() >= NONE as usize;
        Reading {
            text,
            nodes: Vec::new(),
            open: NONE,
            key: NONE,
            at: 0,
            is_invalid,
        }
    }

    /// Returns the number of bytes indexed so far.
    pub fn done(&self) -> usize {
        self.at
    }

    /// Indexes about this many more bytes, up to the end of a value. Returns whether the text is finished.
    pub fn step(&mut self, bytes: usize) -> bool {
        let stop = self.at.saturating_add(bytes);
        while !self.is_invalid && self.at < self.text.len().min(stop) {
            self.is_invalid = self.index_token().is_none();
        }
        self.is_invalid || self.at >= self.text.len()
    }

    /// Returns the indexed document.
    pub fn finish(mut self) -> JsonIndex {
        if self.is_invalid
            || self.open != NONE
            || self.nodes.is_empty()
            || self.at < self.text.len()
        {
            let end = u32::try_from(self.text.len()).unwrap_or(NONE);
            let all = Node {
                start: 0,
                end,
                key: NONE,
                parent: NONE,
                next: 1,
                index: 0,
                children: 0,
                depth: 0,
            };
            return JsonIndex::of(self.text, vec![all], true);
        }
        self.nodes.shrink_to_fit();
        JsonIndex::of(self.text, self.nodes, false)
    }

    /// Indexes one bracket, key, value or separator. Returns `None` if the text is not JSON.
    fn index_token(&mut self) -> Option<()> {
        let bytes = self.text.as_str().as_bytes();
        let i = self.at;
        let first = bytes[i];
        if matches!(first, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') {
            self.at += 1;
            return Some(());
        }
        if matches!(first, b'}' | b']') {
            let count = self.nodes.len() as u32;
            let open = self
                .nodes
                .get_mut(self.open as usize)
                .filter(|_| self.key == NONE)?;
            let opening = if first == b'}' { b'{' } else { b'[' };
            (open.end, open.next) = ((i + 1) as u32, count);
            self.open = open.parent;
            self.at += 1;
            return (bytes[open.start as usize] == opening).then_some(());
        }
        let in_object = self
            .nodes
            .get(self.open as usize)
            .is_some_and(|open| bytes[open.start as usize] == b'{');
        if in_object && self.key == NONE {
            if first != b'"' {
                return None;
            }
            self.key = i as u32;
            self.at = token_end(bytes, i)?;
            return Some(());
        }
        let is_container = matches!(first, b'{' | b'[');
        let end = token_end(bytes, i)?;
        let node = self.nodes.len() as u32;
        let (index, depth) = match self.nodes.get_mut(self.open as usize) {
            Some(parent) => {
                parent.children += 1;
                (parent.children - 1, parent.depth + 1)
            }
            None if node == 0 => (0, 0),
            // A second root.
            None => return None,
        };
        self.nodes.push(Node {
            start: i as u32,
            end: end as u32,
            key: std::mem::replace(&mut self.key, NONE),
            parent: self.open,
            next: node + 1,
            index,
            children: 0,
            depth,
        });
        if is_container {
            self.open = node;
        }
        self.at = end;
        Some(())
    }
}
