//! The state of a profile in use.

use super::Session;
use super::msg::{Epoch, NextPoll, ServerRef};
use crate::widgets::line::{Line, Tone};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, ServerInfo, ServerKind};
use runtail_core::config::Profile;
use std::sync::Arc;
use std::time::Duration;

/// The state of a profile in use. Contains no secrets.
#[derive(Debug, Clone, Default)]
pub struct ProfileState {
    pub name: Arc<str>,
    /// Its region's tag, or its host.
    pub region: Option<String>,
    /// Its configured label, shown in the header.
    pub label: Option<String>,
    /// Whether it is read-only.
    pub read_only: bool,
    /// Whether its servers are only asked what the user asks.
    pub is_unpolled: bool,
    /// The names of those that are only asked what the user asks.
    pub unpolled: Vec<String>,
    /// Why it is read-only.
    pub sealed: Option<String>,
    /// Whether its label says production.
    pub production: bool,
    /// Whether it has a control plane.
    pub control_plane: bool,
    /// When its control plane last answered or failed to, and how long a page took.
    pub last_check: Option<(Timestamp, Duration)>,
    /// When its list was last loaded, completely or in part.
    pub loaded_at: Option<Timestamp>,
    /// Why the list is incomplete, if it is.
    pub partial: Option<ApiError>,
    /// Whether the first list is still being loaded.
    pub is_first_load: bool,
    /// Why the last request failed.
    pub error: Option<ApiError>,
    /// Why the newest request of another poll reached nothing, until the control plane answers again.
    pub unreachable: Option<ApiError>,
    /// When the request for the list was sent, if it takes long.
    pub asking_since: Option<Timestamp>,
    /// How the header shows it.
    pub health: Health,
    /// When the list is polled next.
    pub next_poll: Option<NextPoll>,
    /// Whether polling is stopped until the user refreshes, because the key was rejected.
    pub halted: bool,
    /// When the server's rate limit ends.
    pub limited_until: Option<Timestamp>,
    /// How far the server's clock is ahead of ours.
    pub skew: SignedDuration,
    /// Number of the configuration since which it points to its current server. Results of earlier requests are dropped.
    pub generation: Epoch,
    /// The epoch of its polls.
    pub epoch: Epoch,
}

impl ProfileState {
    /// Creates the state of a profile before its first response.
    pub fn new(profile: &Profile, generation: Epoch) -> ProfileState {
        ProfileState {
            name: profile.name.as_str().into(),
            region: profile.region.clone(),
            label: profile.label.clone(),
            read_only: profile.is_read_only(),
            is_unpolled: profile.is_unpolled,
            unpolled: profile.unpolled.clone(),
            sealed: profile.sealed.clone(),
            production: profile.is_production(),
            control_plane: profile.control_plane.is_some(),
            generation,
            epoch: generation,
            ..ProfileState::default()
        }
    }

    /// Returns whether a server is only asked what the user asks.
    pub fn is_quiet(&self, server: &str) -> bool {
        self.is_unpolled || self.unpolled.iter().any(|name| name == server)
    }

    /// Returns a short name: the region's tag, or the profile's name if the region is a host.
    pub fn tag(&self) -> &str {
        self.region
            .as_deref()
            .filter(|r| !r.contains(['.', ':']))
            .unwrap_or(&self.name)
    }

    /// Returns why the control plane doesn't answer, by its newest request.
    pub fn problem(&self) -> Option<&ApiError> {
        self.error.as_ref().or(self.unreachable.as_ref())
    }

    /// Returns the time on the server's clock.
    pub fn server_time(&self, now: Timestamp) -> Timestamp {
        now.checked_add(self.skew).unwrap_or(now)
    }

    /// Returns the age of a server's timestamp by the server's clock; zero for a future one.
    pub fn since(&self, at: Timestamp, now: Timestamp) -> Duration {
        (self.server_time(now) - at).try_into().unwrap_or_default()
    }
}

/// Formats the software and version of an agent server.
pub(crate) fn server_software(info: &ServerInfo) -> String {
    let name = match info.kind {
        ServerKind::Python => "langgraph-api",
        ServerKind::JavaScript => "langgraph-api JS",
        ServerKind::Aegra | ServerKind::EarlyAegra => "Aegra",
        ServerKind::Other => "agent server",
    };
    format!("{name} {}", info.version).trim_end().to_string()
}

/// The health of a profile, as the header shows it.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Its region's tag, or its name if several profiles have the same tag.
    pub tag: String,
    /// Glyph and reason.
    pub mark: String,
    /// The tone of the mark: good, in progress or bad.
    pub tone: Tone,
    /// The age of stale data, and the time of the next attempt.
    pub age: String,
}

impl Health {
    /// Returns whether the profile is healthy.
    pub fn is_well(&self) -> bool {
        self.tone == Tone::Good
    }
}

/// Formats the profile's tag and the server's name, which is highlighted if focused.
pub fn breadcrumb(session: &Session, server: &ServerRef, focused: bool) -> Line {
    let profile = session.profile(&server.profile);
    let region = profile.map_or(&*server.profile, |p| p.tag());
    let mut line = Line::new();
    if region != &*server.name {
        line.push_dim(region);
        line.push_dim(" › ");
    }
    line.push(
        if focused { Tone::Accent } else { Tone::Plain },
        &server.name,
    );
    line
}
