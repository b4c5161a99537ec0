//! Names that come again and again (event names, nodes, namespaces) as one shared allocation each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Distinct names kept before starting afresh: task ids in namespaces are new for every task, for ever.
const MAX_NAMES: usize = 4096;
/// Bytes of a name that is worth keeping: a server may send names of megabytes, each of them new.
pub(crate) const MAX_NAME: usize = 1024;

/// A set of shared strings.
#[derive(Debug, Default, Clone)]
pub struct Names {
    last: Option<Arc<str>>,
    all: HashSet<Arc<str>>,
}

impl Names {
    /// The same of a name that is kept for as long as something is shown by it: of an absurd one only its head.
    pub fn short(&mut self, name: &str) -> Arc<str> {
        self.get(crate::text::head(name, MAX_NAME))
    }

    /// The shared form of a name.
    pub fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(last) = self.last.as_ref().filter(|l| &***l == name) {
            return last.clone();
        }
        if name.len() > MAX_NAME {
            return name.into();
        }
        let shared = match self.all.get(name) {
            Some(known) => known.clone(),
            None => {
                if self.all.len() >= MAX_NAMES {
                    self.all.clear();
                }
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
    names: Names,
}

impl EventNames {
    /// Splits `values|sub:<task>|inner:<task>`.
    pub fn split(&mut self, full: &str) -> (Arc<str>, Namespace) {
        if let Some((_, name, ns)) = self.last.as_ref().filter(|(last, ..)| **last == *full) {
            return (name.clone(), ns.clone());
        }
        let (name, ns) = self.looked_up(full);
        if full.len() <= MAX_NAME {
            self.last = Some((full.into(), name.clone(), ns.clone()));
        }
        (name, ns)
    }

    fn looked_up(&mut self, full: &str) -> (Arc<str>, Namespace) {
        if let Some(known) = self.split.get(full) {
            return known.clone();
        }
        let mut parts = full.split('|');
        let name = self.names.get(parts.next().unwrap_or_default());
        let ns: Namespace = parts.map(|segment| self.names.get(segment)).collect();
        if full.len() <= MAX_NAME {
            if self.split.len() >= MAX_NAMES {
                self.split.clear();
            }
            self.split.insert(full.into(), (name.clone(), ns.clone()));
        }
        (name, ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shared_and_neither_many_nor_long_ones_are_kept() {
        let mut names = EventNames::default();
        let (name, ns) = names.split("values|sub:1");
        let (again, same) = names.split("values|sub:1");
        assert!(Arc::ptr_eq(&name, &again) && Arc::ptr_eq(&ns, &same));
        for n in 0..3 * MAX_NAMES {
            names.split(&format!("values|sub:{n}"));
            assert!(names.split.len() <= MAX_NAMES && names.names.all.len() <= MAX_NAMES);
        }
        assert_eq!(names.names.short(&"ä".repeat(MAX_NAME)).len(), MAX_NAME);
        let kept = (names.split.len(), names.names.all.len());
        for n in 0..10 {
            let long = format!("{n}{}|{}{n}", "a".repeat(1 << 20), "b".repeat(1 << 20));
            let (name, ns) = names.split(&long);
            assert_eq!(long, format!("{name}|{}", ns[0]), "long ones are whole all the same");
        }
        assert_eq!((names.split.len(), names.names.all.len()), kept);
        assert!(names.names.last.is_none_or(|last| last.len() <= MAX_NAME));
    }
}
