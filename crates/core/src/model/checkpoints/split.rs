//! Where the branches of a tree part, to compare them.

use super::{CheckpointTree, Parent};

/// A branch, and the others that begin at the same checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The checkpoint where the branches begin.
    pub fork: usize,
    /// The newest checkpoint of the branch.
    pub tip: usize,
    /// The newest checkpoint of each other branch: the current one first, then the newest first.
    pub others: Vec<usize>,
}

impl CheckpointTree {
    /// Returns the branch of an entry, and those that begin at the nearest checkpoint before it where branches part. At such a
    /// checkpoint, the branch is the current one, else the newest. `None` if no branches part there, as far as is loaded.
    pub fn split(&self, at: usize) -> Option<Split> {
        let (fork, own) = match self.children(at) {
            [_, _, ..] => (at, self.first_branch(at)?),
            _ => self.fork_before(at)?,
        };
        let mut others: Vec<usize> = self
            .children(fork)
            .iter()
            .filter(|child| **child != own)
            .map(|child| self.newest_after(*child))
            .collect();
        others.sort_by_key(|tip| (!self.is_current(*tip), *tip));
        Some(Split {
            fork,
            tip: self.newest_after(own),
            others,
        })
    }

    /// Returns the nearest checkpoint before an entry where branches part, and the child of it that leads to the entry.
    fn fork_before(&self, at: usize) -> Option<(usize, usize)> {
        let mut own = at;
        while let Parent::At(parent) = self.parent(own) {
            if self.is_branch_point(parent) {
                return Some((parent, own));
            }
            own = parent;
        }
        None
    }

    fn first_branch(&self, fork: usize) -> Option<usize> {
        let current = self
            .children(fork)
            .iter()
            .find(|child| self.is_current(**child));
        current.copied().or_else(|| {
            self.children(fork)
                .iter()
                .copied()
                .min_by_key(|child| self.newest_after(*child))
        })
    }

    /// Returns the newest checkpoint among an entry and those after it.
    fn newest_after(&self, at: usize) -> usize {
        let (mut newest, mut open) = (at, vec![at]);
        while let Some(entry) = open.pop() {
            // Entries are in the order of their ids, newest first.
            newest = newest.min(entry);
            open.extend_from_slice(self.children(entry));
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Checkpoint;
    use std::sync::Arc;

    /// Builds a tree of checkpoints (id, parent).
    fn tree(entries: &[(&str, &str)]) -> CheckpointTree {
        let checkpoint = |(id, parent): &(&str, &str)| Checkpoint {
            id: id.to_string(),
            parent: Some(parent.to_string()).filter(|parent| !parent.is_empty()),
            ..Checkpoint::default()
        };
        CheckpointTree::new(entries.iter().map(checkpoint).map(Arc::new))
    }

    #[test]
    fn branches_are_compared_by_their_newest_checkpoints() {
        // 1 ← 2 ← 3 (branch a) ← 4; 2 ← 5 (branch b); 2 ← 6 ← 7 (branch c, current), and 4 ← 8 parts branch a.
        let all = [
            ("1", ""),
            ("2", "1"),
            ("3", "2"),
            ("4", "3"),
            ("5", "2"),
            ("6", "2"),
            ("7", "6"),
        ];
        let tree = tree(&all);
        let id = |at: usize| tree.entries()[at].id.as_str();
        let named = |at: &str| {
            let split = tree.split(tree.find(at).unwrap())?;
            let others: Vec<&str> = split.others.iter().map(|tip| id(*tip)).collect();
            Some((id(split.fork), id(split.tip), others.join(" ")))
        };
        assert_eq!(named("7"), Some(("2", "7", "5 4".into())));
        assert_eq!(named("4"), Some(("2", "4", "7 5".into())));
        assert_eq!(
            named("3"),
            Some(("2", "4", "7 5".into())),
            "a checkpoint inside of a branch"
        );
        assert_eq!(
            named("2"),
            Some(("2", "7", "5 4".into())),
            "where they begin"
        );
        assert_eq!(named("1"), None);
    }

    #[test]
    fn the_nearest_fork_counts() {
        let all = [
            ("1", ""),
            ("2", "1"),
            ("3", "1"),
            ("4", "3"),
            ("5", "3"),
            ("6", "2"),
        ];
        let tree = tree(&all);
        let split = |id: &str| tree.split(tree.find(id).unwrap()).unwrap();
        let at = |id: &str| tree.find(id).unwrap();
        assert_eq!(
            split("4"),
            Split {
                fork: at("3"),
                tip: at("4"),
                others: vec![at("5")]
            }
        );
        // The newest checkpoint of the other branch is that of its own newest branch.
        assert_eq!(
            split("2"),
            Split {
                fork: at("1"),
                tip: at("6"),
                others: vec![at("5")]
            }
        );
        assert_eq!(CheckpointTree::default().split(0), None);
    }
}
