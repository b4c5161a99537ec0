//! One number for each value of a document: equal values have equal ones, however they are written.

use crate::json::document::{Doc, Kind, plain};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns the numbers of all nodes, in one pass from the end: what is in a container comes before the container itself.
pub(super) fn fingerprints(doc: &Doc) -> Vec<u64> {
    let mut prints = vec![0u64; doc.len() as usize];
    for node in (0..doc.len()).rev() {
        let kind = doc.kind(node);
        let print = match kind {
            Kind::Object => of(1, prints[node as usize]),
            Kind::Array => of(2, prints[node as usize]),
            Kind::Text => of(3, &*plain(doc.value(node))),
            Kind::Other => of(4, doc.value(node)),
        };
        prints[node as usize] = print;
        let Some(parent) = doc.parent(node) else { continue };
        let sum = &mut prints[parent as usize];
        *sum = match doc.key(node) {
            // The order of keys does not count.
            Some(key) => sum.wrapping_add(of(print, &*plain(key))),
            None => of(print, *sum),
        };
    }
    prints
}

fn of(first: u64, rest: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    first.hash(&mut hasher);
    rest.hash(&mut hasher);
    hasher.finish()
}
