//! Where a value is in a document, as people and `jq` write it, and the same place in a newer document.

use super::{Doc, Kind, plain};
use std::fmt::Write;

impl Doc {
    /// Returns the path of a value: `messages[3].tool_calls[0].args.city`, keys in quotes where they are no plain names; `.` for
    /// the whole.
    pub fn path(&self, node: u32) -> String {
        let mut steps: Vec<u32> = std::iter::once(node).chain(self.ancestors(node)).collect();
        // The root has no step.
        steps.pop();
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            match self.key(step) {
                Some(key) => {
                    let name = plain(key);
                    if is_name(&name) {
                        path.push_str(if path.is_empty() { "" } else { "." });
                        path.push_str(&name);
                    } else {
                        // As it is written in the document: quotes and escapes are already right.
                        let _ = write!(path, "[{key}]");
                    }
                }
                None => {
                    let _ = write!(path, "[{}]", self.index(step));
                }
            }
        }
        if path.is_empty() { ".".into() } else { path }
    }

    /// Returns the node that has the same path as a node of another document. `effort` is how many siblings may still be looked
    /// at, here and in later calls; what is farther is not found.
    pub fn counterpart(&self, other: &Doc, node: u32, effort: &mut usize) -> Option<u32> {
        if self.is_empty() || node >= other.len() {
            return None;
        }
        // States mostly grow at their ends: what is before that keeps its number.
        if node < self.len() && self.is_same_path(node, other, node) {
            return Some(node);
        }
        let mut steps: Vec<u32> = std::iter::once(node).chain(other.ancestors(node)).collect();
        steps.pop();
        let mut at = 0;
        for step in steps.into_iter().rev() {
            at = self.member(at, other, step, effort)?;
        }
        Some(at)
    }

    /// Returns the member of a container that stands where a node of another document stands in its own.
    fn member(&self, container: u32, other: &Doc, node: u32, effort: &mut usize) -> Option<u32> {
        let key = other.key(node);
        match (self.kind(container), key) {
            (Kind::Object, Some(_)) | (Kind::Array, None) => {}
            _ => return None,
        }
        for child in self.children(container) {
            *effort = effort.checked_sub(1)?;
            if self.is_same_step(child, other, node) {
                return Some(child);
            }
        }
        None
    }

    fn is_same_step(&self, node: u32, other: &Doc, its: u32) -> bool {
        match (self.key(node), other.key(its)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.index(node) == other.index(its),
            _ => false,
        }
    }

    fn is_same_path(&self, node: u32, other: &Doc, its: u32) -> bool {
        let (mut a, mut b) = (node, its);
        loop {
            match (self.parent(a), other.parent(b)) {
                (None, None) => return true,
                (Some(above), Some(its_above)) if self.is_same_step(a, other, b) => (a, b) = (above, its_above),
                _ => return false,
            }
        }
    }
}

/// Returns whether a key needs no quotes.
fn is_name(key: &str) -> bool {
    let mut chars = key.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
