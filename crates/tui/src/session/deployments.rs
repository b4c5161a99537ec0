//! The listed deployments, as far as other features than their list read them.

use super::msg::ServerRef;
use runtail_core::model::KnownRevisions;
use std::sync::Arc;

/// A listed deployment.
#[derive(Debug, Clone)]
pub struct KnownDeployment {
    pub profile: Arc<str>,
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// Whether the server reports that it no longer exists, although a list named it.
    pub is_gone: bool,
    pub revisions: KnownRevisions,
}

/// All listed deployments, in the order of the servers. The list of deployments keeps them up to date.
#[derive(Debug, Default)]
pub struct KnownDeployments(Vec<KnownDeployment>);

impl KnownDeployments {
    /// Replaces all of them.
    pub fn set_all(&mut self, all: impl Iterator<Item = KnownDeployment>) {
        self.0 = all.collect();
    }

    /// Adds or replaces one.
    pub fn set(&mut self, one: KnownDeployment) {
        let is_it =
            |other: &&mut KnownDeployment| other.id == one.id && other.profile == one.profile;
        match self.0.iter_mut().find(is_it) {
            Some(known) => *known = one,
            None => self.0.push(one),
        }
    }

    /// Returns those that exist.
    pub fn existing(&self) -> impl Iterator<Item = &KnownDeployment> {
        self.0.iter().filter(|one| !one.is_gone)
    }

    /// Returns one that exists by its id.
    pub fn get(&self, profile: &str, id: &str) -> Option<&KnownDeployment> {
        self.existing()
            .find(|one| *one.profile == *profile && *one.id == *id)
    }

    /// Returns the revisions of the deployment of an agent server.
    pub fn revisions(&self, server: &ServerRef) -> Option<&KnownRevisions> {
        let mut all = self.0.iter();
        let one = all.find(|one| one.profile == server.profile && one.name == server.name)?;
        Some(&one.revisions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deployments_of_two_profiles_may_have_the_same_id() {
        let deployment = |profile: &str, name: &str| KnownDeployment {
            profile: profile.into(),
            id: "d".into(),
            name: name.into(),
            is_gone: false,
            revisions: KnownRevisions::default(),
        };
        let mut known = KnownDeployments::default();
        known.set(deployment("eu", "bot"));
        known.set(deployment("us", "agent"));
        known.set(deployment("eu", "renamed"));
        let name = |profile| known.get(profile, "d").map(|one| &*one.name);
        assert_eq!((name("eu"), name("us")), (Some("renamed"), Some("agent")));
        assert_eq!(known.existing().count(), 2);
    }
}
