//! A JSON text indexed as a flat list of nodes: built in one pass without recursion or copying, 32 bytes per value.
//! Large texts are indexed in steps, so that the caller can cancel, show progress and yield.

mod path;
mod string;
#[cfg(test)]
pub(crate) mod tests;

pub use string::{Chunks, head, plain, unquote};

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// No node: the parent of the root.
const NONE: u32 = u32::MAX;

/// A part of a text that is kept as a whole: the state in an event's data, say.
#[derive(Clone)]
pub struct Excerpt {
    whole: Arc<str>,
    range: Range<usize>,
}

impl Excerpt {
    /// A part of a text, or nothing where the range is none of it.
    pub fn new(whole: Arc<str>, range: Range<usize>) -> Option<Excerpt> {
        whole.get(range.clone())?;
        Some(Excerpt { whole, range })
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.whole.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns the text for others to keep: the whole that it is part of, where it is all of that.
    pub fn shared(&self) -> Arc<str> {
        if self.len() == self.whole.len() { self.whole.clone() } else { self.as_str().into() }
    }

    /// Returns the bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns whether there is no text.
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

/// Without the text, which may have 50 MB.
impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Excerpt({} bytes)", self.len())
    }
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    Text,
    /// A number, `true`, `false`, `null`, or what is no JSON at all.
    Other,
}

/// A value's place in the text and among the others. The nodes stand in the order of the text, so a value's own follow it.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// The value's bytes.
    start: u32,
    end: u32,
    /// Where its key's quotes begin; [`NONE`] in lists and at the root.
    key: u32,
    parent: u32,
    /// The node after this one and all that is in it.
    next: u32,
    /// Position among its siblings.
    index: u32,
    /// Members of a container.
    children: u32,
    /// Containers that it is in.
    depth: u32,
}

/// An indexed JSON text. Its nodes have numbers, in the order of the text; 0 is the root.
pub struct Doc {
    text: Excerpt,
    nodes: Vec<Node>,
    /// It is no JSON: one node that holds the text as it is.
    odd: bool,
    /// How often a node was looked at.
    #[cfg(debug_assertions)]
    looked: std::sync::atomic::AtomicUsize,
}

/// Without its nodes, of which there may be millions.
impl fmt::Debug for Doc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Doc({} nodes, {} bytes)", self.len(), self.bytes())
    }
}

impl Doc {
    /// A document in which nothing was read.
    pub fn unread() -> Doc {
        Doc::of(Arc::<str>::from("").into(), Vec::new(), false)
    }

    /// Indexes a text. One that is no JSON becomes one node that holds it as it is.
    pub fn new(text: impl Into<Excerpt>) -> Doc {
        let mut reading = Reading::new(text.into());
        reading.step(usize::MAX);
        reading.finish()
    }

    /// Nodes; none only in a document that was not read.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the bytes of the whole text.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    fn of(text: Excerpt, nodes: Vec<Node>, odd: bool) -> Doc {
        Doc {
            text,
            nodes,
            odd,
            #[cfg(debug_assertions)]
            looked: Default::default(),
        }
    }

    /// Returns how often a node was looked at, for tests that count work; in debug builds only.
    #[cfg(debug_assertions)]
    pub fn looked_at(&self) -> usize {
        self.looked.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn node(&self, node: u32) -> &Node {
        #[cfg(debug_assertions)]
        self.looked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        &self.nodes[node as usize]
    }

    /// What a value is.
    pub fn kind(&self, node: u32) -> Kind {
        match self.text.as_str().as_bytes().get(self.node(node).start as usize) {
            Some(b'{') if !self.odd => Kind::Object,
            Some(b'[') if !self.odd => Kind::Array,
            Some(b'"') if !self.odd => Kind::Text,
            _ => Kind::Other,
        }
    }

    /// Returns the text of a value in pieces: of a string as it is read, of anything else as it is written.
    pub fn chunks(&self, node: u32) -> Chunks<'_> {
        match self.kind(node) {
            Kind::Text => Chunks::of_string(self.value(node)),
            _ => Chunks::of_text(self.value(node)),
        }
    }

    /// A value as it is written.
    pub fn value(&self, node: u32) -> &str {
        let Node { start, end, .. } = *self.node(node);
        self.text.as_str().get(start as usize..end as usize).unwrap_or_default()
    }

    /// Returns where a value stands in the text, in bytes.
    pub fn range(&self, node: u32) -> std::ops::Range<usize> {
        let Node { start, end, .. } = *self.node(node);
        start as usize..end as usize
    }

    /// Returns the bytes of a value as it is written.
    pub fn size(&self, node: u32) -> u64 {
        let Node { start, end, .. } = *self.node(node);
        (end - start).into()
    }

    /// A member's key as it is written, with its quotes; none in a list and at the root.
    pub fn key(&self, node: u32) -> Option<&str> {
        self.text.as_str().get(self.key_range(node)?)
    }

    /// Returns where its key stands in the text, in bytes.
    pub fn key_range(&self, node: u32) -> Option<std::ops::Range<usize>> {
        let from = self.node(node).key;
        let end = (from != NONE).then(|| string::end(self.text.as_str().as_bytes(), from as usize))??;
        Some(from as usize..end)
    }

    /// Position among its siblings.
    pub fn index(&self, node: u32) -> u32 {
        self.node(node).index
    }

    /// Members of a container.
    pub fn children_count(&self, node: u32) -> u32 {
        self.node(node).children
    }

    /// Containers that a value is in.
    pub fn depth(&self, node: u32) -> u32 {
        self.node(node).depth
    }

    /// Returns the container that a value is in.
    pub fn parent(&self, node: u32) -> Option<u32> {
        let parent = self.node(node).parent;
        (parent != NONE).then_some(parent)
    }

    /// Returns the node after a value and all that is in it; [`Doc::len`] after the last.
    pub fn after(&self, node: u32) -> u32 {
        self.node(node).next
    }

    /// Returns whether a value contains others.
    pub fn has_children(&self, node: u32) -> bool {
        self.node(node).children > 0
    }

    /// Returns whether a container holds a node, at any depth.
    pub fn contains(&self, container: u32, node: u32) -> bool {
        container < node && node < self.after(container)
    }

    /// Returns the members of a container.
    pub fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.after(node);
        let first = (node + 1 < end).then_some(node + 1);
        std::iter::successors(first, move |child| Some(self.after(*child)).filter(|next| *next < end))
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
    /// The container that is open.
    open: u32,
    key: u32,
    at: usize,
    /// The text turned out to be no JSON.
    odd: bool,
}

impl Reading {
    /// Begins with a text.
    pub fn new(text: Excerpt) -> Reading {
        let odd = text.len() >= NONE as usize;
        Reading { text, nodes: Vec::new(), open: NONE, key: NONE, at: 0, odd }
    }

    /// Returns the bytes that were read.
    pub fn done(&self) -> usize {
        self.at
    }

    /// Reads on, about as many bytes as are given (a string is never left half read). Returns whether that was all.
    pub fn step(&mut self, bytes: usize) -> bool {
        let stop = self.at.saturating_add(bytes);
        while !self.odd && self.at < self.text.len().min(stop) {
            self.odd = self.value().is_none();
        }
        self.odd || self.at >= self.text.len()
    }

    /// Returns the document that was read.
    pub fn finish(mut self) -> Doc {
        if self.odd || self.open != NONE || self.nodes.is_empty() || self.at < self.text.len() {
            let end = u32::try_from(self.text.len()).unwrap_or(NONE);
            let all = Node { start: 0, end, key: NONE, parent: NONE, next: 1, index: 0, children: 0, depth: 0 };
            return Doc::of(self.text, vec![all], true);
        }
        self.nodes.shrink_to_fit();
        Doc::of(self.text, self.nodes, false)
    }

    /// Takes one bracket, key, value or separator. The text has been checked to be JSON before, so what is not expected
    /// ends the reading and is not explained.
    fn value(&mut self) -> Option<()> {
        let bytes = self.text.as_str().as_bytes();
        let i = self.at;
        let first = bytes[i];
        if matches!(first, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') {
            self.at += 1;
            return Some(());
        }
        if matches!(first, b'}' | b']') {
            let count = self.nodes.len() as u32;
            let open = self.nodes.get_mut(self.open as usize).filter(|_| self.key == NONE)?;
            let opened = if first == b'}' { b'{' } else { b'[' };
            (open.end, open.next) = ((i + 1) as u32, count);
            self.open = open.parent;
            self.at += 1;
            return (bytes[open.start as usize] == opened).then_some(());
        }
        let in_object = self.nodes.get(self.open as usize).is_some_and(|open| bytes[open.start as usize] == b'{');
        if in_object && self.key == NONE {
            if first != b'"' {
                return None;
            }
            self.key = i as u32;
            self.at = string::end(bytes, i)?;
            return Some(());
        }
        let container = matches!(first, b'{' | b'[');
        let end = match first {
            b'{' | b'[' => i + 1,
            b'"' => string::end(bytes, i)?,
            _ => {
                let stop = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                bytes[i..].iter().position(stop).map_or(bytes.len(), |n| i + n)
            }
        };
        let me = self.nodes.len() as u32;
        let (index, depth) = match self.nodes.get_mut(self.open as usize) {
            Some(parent) => {
                parent.children += 1;
                (parent.children - 1, parent.depth + 1)
            }
            None if me == 0 => (0, 0),
            // A second root.
            None => return None,
        };
        self.nodes.push(Node {
            start: i as u32,
            end: end as u32,
            key: std::mem::replace(&mut self.key, NONE),
            parent: self.open,
            next: me + 1,
            index,
            children: 0,
            depth,
        });
        if container {
            self.open = me;
        }
        self.at = end;
        Some(())
    }
}
