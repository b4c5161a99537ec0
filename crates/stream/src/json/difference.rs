//! Structural differences between two JSON documents. Ignores key order, white space and string escapes. Lists are
//! aligned by the ids of their members if they have any, otherwise by their values.

pub(crate) mod align;
mod fingerprint;
#[cfg(test)]
mod tests;

use super::index::{JsonIndex, Kind, plain};
use align::{Aligned, align};
use fingerprint::fingerprints;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of changes kept; more are only counted.
pub const MAX_CHANGES: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
    /// It has another position in its list.
    Moved,
}

/// A change, by the nodes of both documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// The old value, or the container that a new value was added to.
    pub old: u32,
    /// The new value, or the container that an old value was removed from.
    pub new: u32,
    /// If a string was only appended to: the length of the old string in bytes of JSON, without its quotes. Otherwise
    /// 0.
    pub kept: u32,
}

/// The change of a node of the new document, for its line in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The kind of change. A container with changes inside has changed.
    pub kind: ChangeKind,
    /// By how many bytes its JSON is longer than before.
    pub growth: i64,
}

/// The differences between two documents.
#[derive(Debug)]
pub struct Difference {
    /// The old document.
    pub old: Arc<JsonIndex>,
    /// The new document.
    pub new: Arc<JsonIndex>,
    /// The changes in the order of the new document; removed values at their old place.
    pub changes: Vec<Change>,
    /// Number of changes of each [`ChangeKind`], including those not kept.
    pub counts: [u64; 4],
    /// Lists of the new document that were too long to align, so that their members were compared by position.
    pub by_position: Vec<u32>,
    /// Number of compared pairs of values. Equal values are skipped as a whole.
    pub compared: usize,
}

impl Difference {
    /// Compares two documents.
    pub fn of(old: Arc<JsonIndex>, new: Arc<JsonIndex>) -> Difference {
        let mut compare = Compare {
            old: &old,
            new: &new,
            fingerprints: Default::default(),
            todo: Vec::new(),
            changes: Vec::new(),
            counts: [0; 4],
            by_position: Vec::new(),
            compared: 0,
        };
        compare.run();
        let Compare {
            changes,
            counts,
            by_position,
            compared,
            ..
        } = compare;
        Difference {
            old,
            new,
            changes,
            counts,
            by_position,
            compared,
        }
    }

    /// Returns the number of all changes, including those not kept.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the number of changes of a kind.
    pub fn count(&self, kind: ChangeKind) -> u64 {
        self.counts[kind as usize]
    }

    /// Returns the path of a change: in the old document if the value was removed, otherwise in the new one.
    pub fn path(&self, change: &Change) -> String {
        match change.kind {
            ChangeKind::Removed => self.old.path(change.old),
            _ => self.new.path(change.new),
        }
    }

    /// Returns the nodes of the new document that changed, and the containers that they are in.
    pub fn marks(&self) -> HashMap<u32, Mark> {
        let mut marks: HashMap<u32, Mark> = HashMap::new();
        for change in &self.changes {
            let (mut old, mut new) = (change.old, change.new);
            let mut kind = change.kind;
            if let ChangeKind::Removed = kind {
                kind = ChangeKind::Changed;
                // Continue with its container, in both documents.
                old = self.old.parent(old).unwrap_or(old);
            }
            if let ChangeKind::Added = kind {
                let growth = self.new.size(new) as i64;
                marks.insert(new, Mark { kind, growth });
                kind = ChangeKind::Changed;
                new = self.new.parent(new).unwrap_or(new);
            }
            // Values are only compared if their containers are, so both values have the same depth.
            loop {
                let growth = self.new.size(new) as i64 - self.old.size(old) as i64;
                let known = marks.insert(new, Mark { kind, growth });
                if let Some(known) = known
                    && known.kind != ChangeKind::Changed
                {
                    // Keep the more specific mark, such as moved, instead of changed.
                    marks.insert(new, known);
                }
                let (Some(old_parent), Some(new_parent)) =
                    (self.old.parent(old), self.new.parent(new))
                else {
                    break;
                };
                if known.is_some() {
                    break;
                }
                (old, new, kind) = (old_parent, new_parent, ChangeKind::Changed);
            }
        }
        marks
    }
}

/// Two lists whose members are compared.
#[derive(Debug, Clone, Copy)]
struct Parents {
    old: u32,
    new: u32,
}

/// A step of the comparison. Steps are kept in a stack, the next one last.
#[derive(Debug, Clone, Copy)]
enum Op {
    /// Compare two values.
    Pair(u32, u32),
    /// Compare the members of two lists by position, starting with these.
    Members(Option<u32>, Option<u32>, Parents),
    /// Report a change.
    Report(Change),
}

struct Compare<'a> {
    old: &'a JsonIndex,
    new: &'a JsonIndex,
    /// The fingerprints of the old and the new nodes.
    fingerprints: [Vec<u64>; 2],
    todo: Vec<Op>,
    changes: Vec<Change>,
    counts: [u64; 4],
    by_position: Vec<u32>,
    compared: usize,
}

impl Compare<'_> {
    fn run(&mut self) {
        if self.old.is_empty() || self.new.is_empty() || self.old.value(0) == self.new.value(0) {
            return;
        }
        self.fingerprints = [fingerprints(self.old), fingerprints(self.new)];
        self.todo.push(Op::Pair(0, 0));
        while let Some(op) = self.todo.pop() {
            match op {
                Op::Pair(old, new) => self.pair(old, new),
                Op::Members(old, new, of) => self.members(old, new, of),
                Op::Report(change) => self.report(change),
            }
        }
    }

    fn report(&mut self, change: Change) {
        self.counts[change.kind as usize] += 1;
        if self.changes.len() < MAX_CHANGES {
            self.changes.push(change);
        }
    }

    fn is_equal(&self, old: u32, new: u32) -> bool {
        self.fingerprints[0][old as usize] == self.fingerprints[1][new as usize]
    }

    fn pair(&mut self, old: u32, new: u32) {
        self.compared += 1;
        if self.is_equal(old, new) {
            return;
        }
        match (self.old.kind(old), self.new.kind(new)) {
            (Kind::Object, Kind::Object) => self.objects(old, new),
            (Kind::Array, Kind::Array) => self.lists(old, new),
            (Kind::Text, Kind::Text) => {
                let kept = unchanged_length(self.old.value(old), self.new.value(new));
                self.report(Change {
                    kept,
                    ..changed(old, new)
                });
            }
            _ => self.report(changed(old, new)),
        }
    }

    fn objects(&mut self, old: u32, new: u32) {
        let (mut olds, mut news) = (
            keys(self.old, old).peekable(),
            keys(self.new, new).peekable(),
        );
        let mut ops = Vec::new();
        // Keys rarely change their order.
        while let (Some((a, old_key)), Some((b, new_key))) = (olds.peek(), news.peek())
            && old_key == new_key
        {
            if !self.is_equal(*a, *b) {
                ops.push(Op::Pair(*a, *b));
            }
            olds.next();
            news.next();
        }
        let mut by_key: HashMap<Cow<'_, str>, u32> = HashMap::new();
        let mut missing: Vec<u32> = Vec::new();
        for (node, key) in olds {
            // The second value of a duplicate key has no counterpart.
            match by_key.entry(key) {
                std::collections::hash_map::Entry::Occupied(_) => missing.push(node),
                std::collections::hash_map::Entry::Vacant(free) => drop(free.insert(node)),
            }
        }
        for (node, key) in news {
            match by_key.remove(&key) {
                Some(before) if self.is_equal(before, node) => {}
                Some(before) => ops.push(Op::Pair(before, node)),
                None => ops.push(Op::Report(added(old, node))),
            }
        }
        missing.extend(by_key.into_values());
        missing.sort_unstable();
        ops.extend(
            missing
                .into_iter()
                .map(|node| Op::Report(removed(node, new))),
        );
        self.todo.extend(ops.into_iter().rev());
    }

    fn lists(&mut self, old: u32, new: u32) {
        let (olds, news): (Vec<u32>, Vec<u32>) = (
            self.old.children(old).collect(),
            self.new.children(new).collect(),
        );
        let ops: Vec<Op> = match align(
            (self.old, &olds, &self.fingerprints[0]),
            (self.new, &news, &self.fingerprints[1]),
        ) {
            Some(aligned) => aligned
                .into_iter()
                .flat_map(|aligned| match aligned {
                    Aligned::Pair(a, b) => [Some(Op::Pair(a, b)), None],
                    Aligned::Moved(a, b) => {
                        let moved = ChangeKind::Moved.of(a, b);
                        [Some(Op::Report(moved)), Some(Op::Pair(a, b))]
                    }
                    Aligned::Added(b) => [Some(Op::Report(added(old, b))), None],
                    Aligned::Removed(a) => [Some(Op::Report(removed(a, new))), None],
                })
                .flatten()
                .collect(),
            None => {
                self.by_position.push(new);
                vec![Op::Members(
                    olds.first().copied(),
                    news.first().copied(),
                    Parents { old, new },
                )]
            }
        };
        self.todo.extend(ops.into_iter().rev());
    }

    /// Compares the members of two lists one by one, so that lists of millions of members need no memory.
    fn members(&mut self, old: Option<u32>, new: Option<u32>, of: Parents) {
        let (mut old, mut new) = (old, new);
        let next = |doc: &JsonIndex, node: u32, of: u32| {
            Some(doc.after(node)).filter(|next| *next < doc.after(of))
        };
        loop {
            let op = match (old, new) {
                (Some(a), Some(b)) if self.is_equal(a, b) => None,
                (Some(a), Some(b)) => Some(Op::Pair(a, b)),
                (Some(a), None) => Some(Op::Report(removed(a, of.new))),
                (None, Some(b)) => Some(Op::Report(added(of.old, b))),
                (None, None) => return,
            };
            old = old.and_then(|node| next(self.old, node, of.old));
            new = new.and_then(|node| next(self.new, node, of.new));
            if let Some(op) = op {
                self.todo.extend([Op::Members(old, new, of), op]);
                return;
            }
        }
    }
}

/// Returns the members of an object and their keys.
fn keys(doc: &JsonIndex, object: u32) -> impl Iterator<Item = (u32, Cow<'_, str>)> {
    let key = |node| plain(doc.key(node).unwrap_or_default());
    doc.children(object).map(move |node| (node, key(node)))
}

impl ChangeKind {
    fn of(self, old: u32, new: u32) -> Change {
        let (kind, kept) = (self, 0);
        Change {
            kind,
            old,
            new,
            kept,
        }
    }
}

fn changed(old: u32, new: u32) -> Change {
    ChangeKind::Changed.of(old, new)
}

fn added(container: u32, new: u32) -> Change {
    ChangeKind::Added.of(container, new)
}

fn removed(old: u32, container: u32) -> Change {
    ChangeKind::Removed.of(old, container)
}

/// Returns the length of the old string if the new one only appends to it, otherwise 0.
fn unchanged_length(old: &str, new: &str) -> u32 {
    let inner = |raw: &str| raw.len().saturating_sub(2) as u32;
    let before = &old[..old.len().saturating_sub(1)];
    if inner(old) > 0 && new.len() > old.len() && new.starts_with(before) {
        inner(old)
    } else {
        0
    }
}
