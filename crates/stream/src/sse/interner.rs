//! Interns repeated names (event names, nodes, namespaces) as shared allocations.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of distinct names before the set is cleared. Task ids in namespaces are unique, so it would grow
/// forever.
const MAX_NAMES: usize = 4096;
/// Maximum total size of the names before the set is cleared.
const MAX_NAME_BYTES: usize = 256 << 10;
/// Maximum length of a name, an id or a namespace segment, in bytes. A server may send new names of several megabytes
/// each time.
pub const MAX_NAME: usize = 1024;
/// Maximum number of segments of a namespace, and their total length.
const MAX_SEGMENTS: usize = 64;
const MAX_NAMESPACE: usize = 4096;

/// Returns a name or id unchanged, or shortens one above [`MAX_NAME`] to its beginning and a fingerprint, so that
/// different names stay different.
pub fn bounded(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.len() <= MAX_NAME {
        return name;
    }
    let mark = format!("…{:016x}", crate::hash_of(&name));
    Cow::Owned(format!(
        "{}{mark}",
        runtail_core::text::head(&name, MAX_NAME - mark.len())
    ))
}

/// Returns how many of the outermost segments of a namespace are kept as they are; the rest is one bounded segment.
fn kept_segments<'a>(segments: impl Iterator<Item = &'a str> + Clone) -> usize {
    let mut bytes = 0;
    let fits = |segment: &&str| {
        bytes += segment.len();
        bytes <= MAX_NAMESPACE && segment.len() <= MAX_NAME
    };
    let kept = segments.clone().take_while(fits).count();
    match segments.clone().nth(kept).is_none() && kept <= MAX_SEGMENTS {
        true => kept,
        false => kept.min(MAX_SEGMENTS - 1),
    }
}

/// Returns a namespace made of these segments, outermost first, bounded.
pub fn bounded_namespace(segments: &[Cow<'_, str>]) -> Namespace {
    let kept = kept_segments(segments.iter().map(|segment| &**segment));
    let rest = (kept < segments.len()).then(|| bounded(segments[kept..].join("|").into()).into());
    segments[..kept]
        .iter()
        .map(|segment| segment.as_ref().into())
        .chain(rest)
        .collect()
}

/// Splits the text of a namespace at `|`, bounded.
fn split_namespace(text: &str, names: &mut Interner) -> Namespace {
    let kept = kept_segments(text.split('|'));
    let mut segments: Vec<Arc<str>> = Vec::new();
    segments.extend(text.splitn(kept + 1, '|').map(|segment| names.get(segment)));
    segments.into()
}

/// A set of shared strings.
#[derive(Debug, Default, Clone)]
pub struct Interner {
    last: Option<Arc<str>>,
    all: HashSet<Arc<str>>,
    bytes: usize,
}

impl Interner {
    /// Returns the shared form of a name, bounded.
    pub fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(last) = self.last.as_ref().filter(|l| &***l == name) {
            return last.clone();
        }
        let name = &*bounded(Cow::Borrowed(name));
        let shared = match self.all.get(name) {
            Some(known) => known.clone(),
            None => {
                if self.all.len() >= MAX_NAMES || self.bytes + name.len() > MAX_NAME_BYTES {
                    self.all.clear();
                    self.bytes = 0;
                }
                self.bytes += name.len();
                let new: Arc<str> = name.into();
                self.all.insert(new.clone());
                new
            }
        };
        self.last = Some(shared.clone());
        shared
    }
}

/// The segments of a namespace, outermost first.
pub type Namespace = Arc<[Arc<str>]>;

/// Event names, split at `|` into the name itself and its namespace.
#[derive(Debug, Default, Clone)]
pub struct EventNames {
    last: Option<(Box<str>, Arc<str>, Namespace)>,
    split: HashMap<Box<str>, (Arc<str>, Namespace)>,
    bytes: usize,
    names: Interner,
}

impl EventNames {
    /// Splits `values|sub:<task>|inner:<task>`.
    pub fn split(&mut self, full: &str) -> (Arc<str>, Namespace) {
        if let Some((_, name, ns)) = self.last.as_ref().filter(|(last, ..)| **last == *full) {
            return (name.clone(), ns.clone());
        }
        let (name, ns) = self.lookup(full);
        if full.len() <= MAX_NAME {
            self.last = Some((full.into(), name.clone(), ns.clone()));
        }
        (name, ns)
    }

    fn lookup(&mut self, full: &str) -> (Arc<str>, Namespace) {
        if let Some(known) = self.split.get(full) {
            return known.clone();
        }
        let (name, ns) = match full.split_once('|') {
            Some((name, ns)) => (self.names.get(name), split_namespace(ns, &mut self.names)),
            None => (self.names.get(full), Namespace::default()),
        };
        if full.len() <= MAX_NAME {
            if self.split.len() >= MAX_NAMES || self.bytes + full.len() > MAX_NAME_BYTES {
                self.split.clear();
                self.bytes = 0;
            }
            self.bytes += full.len();
            self.split.insert(full.into(), (name.clone(), ns.clone()));
        }
        (name, ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interned_names_are_shared_and_bounded() {
        let mut names = EventNames::default();
        let (name, ns) = names.split("values|sub:1");
        let (again, same) = names.split("values|sub:1");
        assert!(Arc::ptr_eq(&name, &again) && Arc::ptr_eq(&ns, &same));
        for n in 0..3 * MAX_NAMES {
            names.split(&format!("values|sub:{n}"));
            assert!(names.split.len() <= MAX_NAMES && names.names.all.len() <= MAX_NAMES);
        }
        let long = |n: usize| format!("{}|{}{n}|{n}", "ä".repeat(1 << 20), "b".repeat(1 << 20));
        let (name, ns) = names.split(&long(0));
        assert!(
            name.starts_with("ää")
                && name.len() <= MAX_NAME
                && ns.len() == 1
                && ns[0].len() <= MAX_NAME
        );
        let deep = (0..100)
            .map(|n| format!("|sub:{n:036}"))
            .collect::<String>();
        let ns = names.split(&deep).1;
        assert_eq!(
            (ns.len(), &*ns[0], &*ns[62]),
            (64, &*format!("sub:{:036}", 0), &*format!("sub:{:036}", 62))
        );
        let segments: Vec<Cow<'_, str>> = deep[1..].split('|').map(Cow::Borrowed).collect();
        assert_eq!(bounded_namespace(&segments), ns);
        let ns = names.split(&long(0)).1;
        assert_eq!(
            names.split(&long(0)),
            (name.clone(), ns.clone()),
            "the same name stays the same"
        );
        let (same, other) = names.split(&long(1));
        assert_eq!(
            (&same, other == ns),
            (&name, false),
            "names that end differently stay different"
        );
        assert_eq!(bounded(Cow::Borrowed(&name)), &*name);
        for n in 0..2000 {
            names.split(&format!("{n}{}", "|x".repeat(n)));
            names.split(&format!("{n}{}", "y".repeat(1000)));
            assert!(names.bytes <= MAX_NAME_BYTES && names.names.bytes <= MAX_NAME_BYTES);
        }
        assert_eq!(
            [1, 63, 64, 65, 999].map(|n| names.split(&"|x".repeat(n)).1.len()),
            [1, 63, 64, 64, 64]
        );
    }
}
