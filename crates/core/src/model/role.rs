//! Roles of revisions: serving, previously serving, possibly serving soon.

use super::{DeploymentState, Phase};

/// The role of a revision in its deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevisionRole {
    /// It serves traffic.
    Serving,
    /// It was deployed, and another one serves.
    Superseded,
    /// It may serve soon: it is in progress, or in an unknown status.
    Candidate,
    Failed,
    /// It was skipped.
    Skipped,
    /// It was interrupted.
    Interrupted,
}

impl RevisionRole {
    /// Returns its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            RevisionRole::Serving => "serving",
            RevisionRole::Superseded => "superseded",
            RevisionRole::Candidate => "candidate",
            RevisionRole::Failed => "failed",
            RevisionRole::Skipped => "skipped",
            RevisionRole::Interrupted => "interrupted",
        }
    }
}

/// The roles within one deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Roles {
    serving: Option<String>,
    /// Whether the serving revision is not reported, so that the newest DEPLOYED one is assumed (the official clients' rule,
    /// control-plane reference §3).
    pub derived: bool,
    /// The state of the deployment.
    state: DeploymentState,
}

impl Roles {
    /// Roles by the server's word (`active_revision_id` of the deployment), else by the revisions as `(id, status)`, newest
    /// first.
    pub fn new<'r>(
        active: Option<&str>,
        revisions: impl IntoIterator<Item = (&'r str, &'r str)>,
    ) -> Roles {
        let newest = || {
            revisions
                .into_iter()
                .find(|(_, status)| Phase::of(status) == Phase::Deployed)
                .map(|(id, _)| id)
        };
        let serving = active.or_else(newest).map(str::to_string);
        Roles {
            serving,
            derived: active.is_none(),
            state: DeploymentState::Usual,
        }
    }

    /// Returns the roles in a deployment with this status word.
    pub fn in_deployment(self, status: Option<&str>) -> Roles {
        Roles {
            state: DeploymentState::of(status),
            ..self
        }
    }

    /// Whether it is not known that the serving revision serves: the server names none, or the deployment is unused or being
    /// deleted, and the revision is only the one that was deployed last.
    pub fn is_assumed(&self) -> bool {
        self.derived || !self.state.is_usual()
    }

    /// The revision that serves, where there is one.
    pub fn serving(&self) -> Option<&str> {
        self.serving.as_deref()
    }

    /// The role of a revision with this status word. One that the server calls active serves, whatever its status.
    pub fn of(&self, id: &str, status: &str) -> RevisionRole {
        if self.serving() == Some(id) {
            return RevisionRole::Serving;
        }
        match Phase::of(status) {
            Phase::Deployed => RevisionRole::Superseded,
            Phase::Failed => RevisionRole::Failed,
            Phase::Skipped => RevisionRole::Skipped,
            Phase::Interrupted => RevisionRole::Interrupted,
            Phase::Waiting | Phase::Moving | Phase::Unknown => RevisionRole::Candidate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_revision_of_the_server_takes_precedence() {
        let list = [
            ("e", "BUILDING"),
            ("d", "DEPLOY_FAILED"),
            ("c", "DEPLOYED"),
            ("b", "SKIPPED"),
            ("a", "DEPLOYED"),
        ];
        let words = |roles: &Roles| list.map(|(id, status)| roles.of(id, status).word());
        let derived = Roles::new(None, list);
        assert!(derived.derived);
        assert_eq!(
            words(&derived),
            ["candidate", "failed", "serving", "skipped", "superseded"]
        );
        // Rolled back to an older revision.
        let reported = Roles::new(Some("a"), list);
        assert!(!reported.derived);
        assert_eq!(
            words(&reported),
            ["candidate", "failed", "superseded", "skipped", "serving"]
        );
        // In an unused deployment the active revision may not run.
        assert!(
            !reported.is_assumed() && !reported.clone().in_deployment(Some("READY")).is_assumed()
        );
        for status in ["UNUSED", "AWAITING_DELETE", "SOMETHING_NEW"] {
            assert!(
                reported.clone().in_deployment(Some(status)).is_assumed(),
                "{status}"
            );
        }
        // The serving revision is older than the list.
        assert_eq!(
            Roles::new(Some("z"), list).of("c", "DEPLOYED"),
            RevisionRole::Superseded
        );
        let unusual = [
            ("c", "NOT_DEPLOYED_YET"),
            ("b", "UNDEPLOYED"),
            ("a", "DEPLOYED_WITH_WARNINGS"),
        ];
        let roles = Roles::new(None, unusual);
        assert_eq!(roles.serving(), Some("a"));
        assert_eq!(roles.of("c", "NOT_DEPLOYED_YET"), RevisionRole::Candidate);
        assert_eq!(roles.of("b", "INTERRUPTED"), RevisionRole::Interrupted);
        assert_eq!(
            roles.of("c", "ROLLBACK_FAILED_DEPLOYED"),
            RevisionRole::Failed
        );
    }
}
