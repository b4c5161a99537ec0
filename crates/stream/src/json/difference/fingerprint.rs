//! Fingerprints of values: equal values have equal fingerprints, regardless of key order, white space and escapes.

use crate::json::index::{JsonIndex, Kind, plain};

/// Returns the fingerprints of all nodes. Computes them in one pass from the end, so that members precede their
/// container.
pub(super) fn fingerprints(doc: &JsonIndex) -> Vec<u64> {
    let mut fingerprints = vec![0u64; doc.len() as usize];
    for node in (0..doc.len()).rev() {
        let kind = doc.kind(node);
        let fingerprint = match kind {
            Kind::Object => of(1, fingerprints[node as usize]),
            Kind::Array => of(2, fingerprints[node as usize]),
            Kind::Text => of(3, &*plain(doc.value(node))),
            Kind::Other => of(4, doc.value(node)),
        };
        fingerprints[node as usize] = fingerprint;
        let Some(parent) = doc.parent(node) else {
            continue;
        };
        let sum = &mut fingerprints[parent as usize];
        *sum = match doc.key(node) {
            // The sum doesn't depend on the order of keys.
            Some(key) => sum.wrapping_add(of(fingerprint, &*plain(key))),
            None => of(fingerprint, *sum),
        };
    }
    fingerprints
}

fn of(first: u64, rest: impl std::hash::Hash) -> u64 {
    crate::hash_of((first, rest))
}
