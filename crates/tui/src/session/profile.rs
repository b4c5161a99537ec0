//! What is known of a profile in use.

use super::Session;
use super::msg::{Epoch, NextPoll, ServerRef};
use crate::widgets::line::{Line, Tone};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, ServerInfo, ServerKind};
use runtail_core::config::Profile;
use std::sync::Arc;

/// A profile as the dashboard knows it: no secret is in here.
#[derive(Debug, Clone, Default)]
pub struct ProfileState {
    pub name: Arc<str>,
    /// Its region's tag, or its host.
    pub region: Option<String>,
    /// What its owner calls it, shown in the header.
    pub label: Option<String>,
    /// Whether writing is impossible.
    pub read_only: bool,
    /// Whether its label says production.
    pub production: bool,
    /// Whether it has a control plane to ask.
    pub control_plane: bool,
    /// When its list was last answered, as far as it could be read.
    pub loaded_at: Option<Timestamp>,
    /// Why that list is not whole, where it is not.
    pub partial: Option<ApiError>,
    /// Whether a first list is still being read.
    pub coming: bool,
    /// Why the last request failed.
    pub error: Option<ApiError>,
    /// When the list is asked for again.
    pub next_poll: Option<NextPoll>,
    /// The key was refused: nothing is asked until somebody acts.
    pub halted: bool,
    /// Until when the server wants to be left alone.
    pub limited_until: Option<Timestamp>,
    /// What the server's clock is ahead of ours.
    pub skew: SignedDuration,
    /// Number of the configuration since which it leads where it leads: what was asked before is dropped.
    pub generation: Epoch,
    /// Number of the newest start of its polls: its own, or a refresh by hand.
    pub epoch: Epoch,
}

impl ProfileState {
    /// A profile of which nothing is known yet.
    pub fn new(profile: &Profile, generation: Epoch) -> ProfileState {
        ProfileState {
            name: profile.name.as_str().into(),
            region: profile.region.clone(),
            label: profile.label.clone(),
            read_only: profile.is_read_only(),
            production: profile.is_production(),
            control_plane: profile.control_plane.is_some(),
            generation,
            epoch: generation,
            ..ProfileState::default()
        }
    }

    /// What stands for the profile where there is little room: its region, or its name where the region is but a host.
    pub fn tag(&self) -> &str {
        self.region.as_deref().filter(|r| !r.contains(['.', ':'])).unwrap_or(&self.name)
    }

    /// The time on the server's clock.
    pub fn server_time(&self, now: Timestamp) -> Timestamp {
        now.checked_add(self.skew).unwrap_or(now)
    }

    /// How long ago something was by the server's clock, for which its own times count. A future one is now.
    pub fn since(&self, at: Timestamp, now: Timestamp) -> std::time::Duration {
        (self.server_time(now) - at).try_into().unwrap_or_default()
    }
}

/// Which software an agent server is, in a few words.
pub(crate) fn server_software(info: &ServerInfo) -> String {
    let name = match info.kind {
        ServerKind::Python => "langgraph-api",
        ServerKind::JavaScript => "langgraph-api JS",
        ServerKind::Aegra => "Aegra",
        ServerKind::Other => "agent server",
    };
    format!("{name} {}", info.version).trim_end().to_string()
}

/// How a profile is, in a few characters.
#[derive(Debug)]
pub struct Health {
    /// Its region's tag, or its name where several have the same one.
    pub tag: String,
    /// Glyph and reason.
    pub mark: String,
    /// Whether that is good.
    pub tone: Tone,
    /// How old what is shown is, and when it is asked for again.
    pub age: String,
}

impl Health {
    /// Whether nothing is wrong.
    pub fn is_well(&self) -> bool {
        self.tone == Tone::Good
    }
}

/// Profile's region and the server's name, with the focus mark.
pub fn breadcrumb(session: &Session, server: &ServerRef, focused: bool) -> Line {
    let profile = session.profile(&server.profile);
    let region = profile.map_or(&*server.profile, |p| p.tag());
    let mut line = Line::new();
    if region != &*server.name {
        line.push(Tone::Dim, region);
        line.push(Tone::Dim, " › ");
    }
    line.push(if focused { Tone::Accent } else { Tone::Plain }, &server.name);
    line
}
