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
    /// What waits on this server.
    Inbox(ServerRef),
    Profiles,
    Nothing,
}

/// How conspicuous a tile is, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Failed,
    Waiting,
    Moving,
    Ended,
    Good,
    Unknown,
}

impl Rank {
    /// Returns whether a person is needed, so that the tile has a heavy frame.
    pub fn needs_person(self) -> bool {
        matches!(self, Rank::Failed | Rank::Waiting)
    }

    /// Returns the tone of the whole tile, if it is filled.
    fn fill(self) -> Option<Tone> {
        match self {
            Rank::Failed => Some(Tone::BannerFailed),
            Rank::Waiting => Some(Tone::Banner),
            _ => None,
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
    /// Its state in a few words.
    pub about: String,
    pub opens: Opens,
}
