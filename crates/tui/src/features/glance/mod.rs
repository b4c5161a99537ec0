//! At a glance: waiting, failed and running counts in digits readable from two meters away, and one tile per deployment.
//! [`Facts`] are what `app` knows, [`strip`](view::strip) and [`GlancePage`] show them.

mod digits;
mod page;
mod view;

pub use page::{GlancePage, until_next_second};
pub use view::{STRIP, strip};

use crate::session::msg::ServerRef;
use crate::widgets::line::Tone;
use jiff::Timestamp;

/// What needs attention, over all servers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Threads that wait for a person; `None` while that is unknown.
    pub waiting: Count,
    /// Threads and revisions that failed.
    pub failed: Count,
    /// Threads with an active run.
    pub running: Count,
    /// The number of servers and lists that could not be read.
    pub unchecked: usize,
    /// In the order of the list of deployments, problems first.
    pub tiles: Vec<Tile>,
    /// When the newest data arrived.
    pub updated_at: Option<Timestamp>,
    /// Whether the rate of the open streams changes with the next second.
    pub is_measuring: bool,
}

/// A number with what explains it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Count {
    /// `None` while it is unknown.
    pub number: Option<usize>,
    /// `+` if there may be more, `?` if it is not confirmed.
    pub sign: &'static str,
    /// For example `oldest 36m`.
    pub detail: String,
    /// Where the one that the detail is about is, or a strip.
    pub place: String,
    /// Both where there is no room for the detail. A cut number would be a wrong one.
    pub brief: (String, String),
}

/// What a tile opens.
#[derive(Debug, Clone, PartialEq)]
pub enum Opens {
    /// A row of the list of deployments, by its id.
    Deployment(String),
    /// What waits on this server, or is stuck.
    Inbox(ServerRef),
    /// The threads of this server, problems first.
    Threads(ServerRef),
    Profiles,
    Nothing,
}

/// How conspicuous a tile is, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Failed,
    Waiting,
    Stuck,
    Moving,
    Ended,
    Good,
    Unknown,
}

impl Rank {
    /// Returns whether a person is needed, so that the tile has a heavy frame.
    pub fn needs_person(self) -> bool {
        matches!(self, Rank::Failed | Rank::Waiting | Rank::Stuck)
    }

    /// Returns the tones of the inside and of the frame of a tile, if it is filled.
    fn fill(self) -> Option<(Tone, Tone)> {
        match self {
            Rank::Failed => Some((Tone::BannerFailed, Tone::Bad)),
            Rank::Waiting => Some((Tone::Banner, Tone::Waiting)),
            _ => None,
        }
    }
}

/// A reason for the state of a tile: `1 waiting`, and what is left out first where there is no room.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reason {
    pub text: String,
    /// `, oldest 12m`
    pub detail: String,
    /// `, 12m`
    pub brief: String,
}

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason {
            text,
            ..Reason::default()
        }
    }
}

/// A deployment, an agent server, or a profile that could not be listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// Identifies it, so that the cursor stays on it.
    pub id: String,
    pub rank: Rank,
    pub glyph: &'static str,
    pub tone: Tone,
    pub name: String,
    pub region: String,
    /// Its state in a few words, most important first.
    pub reasons: Vec<Reason>,
    /// Whether its state may have changed since, so that the tile is dim.
    pub is_outdated: bool,
    pub opens: Opens,
}
