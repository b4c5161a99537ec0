//! Paths of values in `jq` notation, and finding the same path in another document.

use super::{JsonIndex, Kind, plain};
use std::fmt::Write;

impl JsonIndex {
    /// Returns the path of a value, such as `messages[3].tool_calls[0].args.city`, or `.` for the root. Keys that are
    /// not plain names are quoted.
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
                        // The key's JSON already has the right quotes and escapes.
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

    /// Returns the node with the same path as a node of another document. `effort` limits the number of siblings
    /// visited, in this call and later ones; nodes beyond the limit are not found.
    pub fn counterpart(&self, other: &JsonIndex, node: u32, effort: &mut usize) -> Option<u32> {
        if self.is_empty() || node >= other.len() {
            return None;
        }
        // States usually grow at their ends, so nodes before that keep their numbers.
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

    /// Returns the member of a container that has the same key or index as a node of another document.
    fn member(
        &self,
        container: u32,
        other: &JsonIndex,
        node: u32,
        effort: &mut usize,
    ) -> Option<u32> {
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

    fn is_same_step(&self, node: u32, other: &JsonIndex, other_node: u32) -> bool {
        match (self.key(node), other.key(other_node)) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.index(node) == other.index(other_node),
            _ => false,
        }
    }

    fn is_same_path(&self, node: u32, other: &JsonIndex, other_node: u32) -> bool {
        let (mut a, mut b) = (node, other_node);
        loop {
            match (self.parent(a), other.parent(b)) {
                (None, None) => return true,
                (Some(parent), Some(other_parent)) if self.is_same_step(a, other, b) => {
                    (a, b) = (parent, other_parent)
                }
                _ => return false,
            }
        }
    }
}

/// Returns whether a key needs no quotes.
fn is_name(key: &str) -> bool {
    let mut chars = key.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
