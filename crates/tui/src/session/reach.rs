//! Which agent servers answer, as far as they were asked.

use super::msg::ServerRef;
use runtail_api::{ApiError, Kind};
use std::collections::HashMap;
use std::sync::Arc;

/// What the newest answers of agent servers have shown, by profile and address.
#[derive(Debug, Default)]
pub struct Reach(HashMap<(Arc<str>, Box<str>), Option<ApiError>>);

fn key(server: &ServerRef) -> (Arc<str>, Box<str>) {
    (
        server.profile.clone(),
        server.url.trim_end_matches('/').into(),
    )
}

/// Returns whether nothing answered.
pub fn is_unreachable(error: &ApiError) -> bool {
    matches!(
        error.kind,
        Kind::NoConnection | Kind::Network | Kind::Timeout
    )
}

/// Returns whether an error says something about a server, and not only about a request.
fn is_about_server(error: &ApiError) -> bool {
    is_unreachable(error)
        || matches!(
            error.kind,
            Kind::Unauthorized | Kind::Forbidden | Kind::Server(_)
        )
}

impl Reach {
    /// Returns why the newest request to a server failed; `None` if it was not asked, `Some(None)` if it answers.
    pub fn of(&self, server: &ServerRef) -> Option<Option<&ApiError>> {
        self.0.get(&key(server)).map(Option::as_ref)
    }

    /// Returns the newest answers of a profile's servers.
    pub fn of_profile<'a>(
        &'a self,
        profile: &'a str,
    ) -> impl Iterator<Item = Option<&'a ApiError>> {
        self.0
            .iter()
            .filter(move |((name, _), _)| **name == *profile)
            .map(|(_, error)| error.as_ref())
    }

    /// Notes whether a server answered, and the error if it is about the server.
    pub fn note(&mut self, server: &ServerRef, error: Option<&ApiError>) {
        let error = error.filter(|error| is_about_server(error));
        self.0.insert(key(server), error.cloned());
    }

    /// Forgets the servers of other profiles.
    pub fn retain_profiles(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|(profile, _), _| is_kept(profile));
    }
}
