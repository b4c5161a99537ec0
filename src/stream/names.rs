//! Names that come again and again (event names, nodes, namespaces) as one shared allocation each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Distinct names kept before starting afresh: task ids in namespaces are new for every task, for ever.
const MAX_NAMES: usize = 4096;

/// A set of shared strings.
#[derive(Debug, Default, Clone)]
pub struct Names {
    last: Option<Arc<str>>,
    all: HashSet<Arc<str>>,
}

impl Names {
    /// The shared form of a name.
    pub fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(last) = self.last.as_ref().filter(|l| &***l == name) {
            return last.clone();
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
    split: HashMap<Box<str>, (Arc<str>, Namespace)>,
    names: Names,
}

impl EventNames {
    /// Splits `values|sub:<task>|inner:<task>`.
    pub fn split(&mut self, full: &str) -> (Arc<str>, Namespace) {
        if let Some(known) = self.split.get(full) {
            return known.clone();
        }
        if self.split.len() >= MAX_NAMES {
            self.split.clear();
        }
        let mut parts = full.split('|');
        let name = self.names.get(parts.next().unwrap_or_default());
        let ns: Namespace = parts.map(|segment| self.names.get(segment)).collect();
        self.split.insert(full.into(), (name.clone(), ns.clone()));
        (name, ns)
    }
}
