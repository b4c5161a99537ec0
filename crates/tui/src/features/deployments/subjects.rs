//! The subjects of commits, from build logs: the records of revisions have only the hash.

use crate::session::msg::WantedSubject;
use runtail_core::model::{Phase, Revision};
use runtail_core::text;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum subjects, and revisions without one, that are kept: many more than any screen has rows.
const MAX_KEPT: usize = 2000;
/// Maximum columns of a subject.
const MAX_WIDTH: usize = 120;

/// The known subjects.
#[derive(Debug, Default)]
pub struct Subjects {
    /// By the hash of the commit, so that a redeployed commit is read once.
    of_commits: HashMap<Arc<str>, String>,
    /// The revisions whose build log has no subject.
    missing: HashSet<Arc<str>>,
}

impl Subjects {
    /// Returns the subject of the commit that a revision was built from, if it is known.
    pub fn of(&self, revision: &Revision) -> Option<&str> {
        self.of_commits.get(commit(revision)?).map(String::as_str)
    }

    /// Stores a subject, or that the build log of a revision has none.
    pub fn insert(&mut self, revision: Arc<str>, commit: Arc<str>, subject: Option<String>) {
        if self.of_commits.len() + self.missing.len() >= MAX_KEPT {
            *self = Subjects::default();
        }
        match subject {
            Some(subject) => drop(
                self.of_commits
                    .insert(commit, text::seen(&subject, MAX_WIDTH)),
            ),
            None => drop(self.missing.insert(revision)),
        }
    }

    /// Returns the request for the subject of a revision, unless it is known, or nothing can be known yet.
    pub fn wanted(&self, deployment: &str, revision: &Revision) -> Option<WantedSubject> {
        let commit = commit(revision)?;
        let is_read =
            self.of_commits.contains_key(commit) || self.missing.contains(revision.id.as_str());
        let phase = revision.phase();
        // Before a build begins, it has no log.
        (!is_read && !matches!(phase, Phase::Waiting | Phase::Skipped)).then(|| WantedSubject {
            deployment: deployment.into(),
            revision: revision.id.as_str().into(),
            commit: commit.into(),
            is_building: !phase.is_final(),
        })
    }
}

fn commit(revision: &Revision) -> Option<&str> {
    revision
        .source_revision_config
        .repo_commit_sha
        .as_deref()
        .filter(|commit| !commit.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(id: &str, status: &str, commit: &str) -> Revision {
        let row = serde_json::json!({"id": id, "status": status, "source_revision_config": {"repo_commit_sha": commit}});
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn a_commit_is_read_once_and_only_after_its_build_began() {
        let mut subjects = Subjects::default();
        let [old, new] = [("a", "DEPLOYED"), ("b", "BUILDING")]
            .map(|(id, status)| revision(id, status, "c0ffee"));
        assert!(
            subjects
                .wanted("d", &old)
                .is_some_and(|wanted| !wanted.is_building)
        );
        assert!(
            subjects
                .wanted("d", &new)
                .is_some_and(|wanted| wanted.is_building)
        );
        for other in [
            revision("c", "AWAITING_BUILD", "1234"),
            revision("c", "SKIPPED", "1234"),
            revision("c", "DEPLOYED", ""),
        ] {
            assert_eq!(subjects.wanted("d", &other), None);
        }
        subjects.insert("a".into(), "c0ffee".into(), None);
        assert!(subjects.wanted("d", &old).is_none() && subjects.wanted("d", &new).is_some());
        subjects.insert(
            "b".into(),
            "c0ffee".into(),
            Some("retry\u{1b}[31m on 429".into()),
        );
        assert_eq!(
            (subjects.of(&old), subjects.of(&new)),
            (Some("retry on 429"), Some("retry on 429"))
        );
        assert_eq!(subjects.wanted("d", &new), None);
    }

    #[test]
    fn subjects_are_bounded() {
        let mut subjects = Subjects::default();
        for n in 0..3 * MAX_KEPT {
            let subject = n.is_multiple_of(2).then(|| "x".repeat(5000));
            subjects.insert(n.to_string().into(), n.to_string().into(), subject);
        }
        assert!(subjects.of_commits.len() + subjects.missing.len() <= MAX_KEPT);
        assert!(
            subjects
                .of_commits
                .values()
                .all(|subject| text::width(subject) <= MAX_WIDTH)
        );
    }
}
