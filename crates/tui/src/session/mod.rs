//! What every feature may use: the session's state, what a feature is ([`Component`]), what it may read ([`Cx`]) and what it
//! may ask for ([`Request`]), and the messages, effects and subscriptions that features exchange with the runtime.

pub mod catalogue;
pub mod component;
pub mod destination;
pub mod effect;
pub mod loaded;
pub mod msg;
pub mod page;
pub mod prefs;
pub mod profile;
pub mod refs;
pub mod request;
pub mod run;
pub mod subject;
pub mod subscription;
pub mod thread;

pub use component::{Component, Cx, Lookup};
pub use page::{Page, Paged};
pub use request::{Request, Requests, Route};

use crate::input::keymap::Keymap;
use crate::widgets::area::{Area, below};
use catalogue::Catalogue;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use msg::{Epoch, Pace};
use prefs::ViewPrefs;
use profile::ProfileState;
use runtail_api::{ApiError, Kind};
use runtail_core::config::TapeLimits;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Columns kept free at the left of a pane for the selection mark, and at its right.
pub const GUTTER: u16 = 3;
/// Lines above the rows of a table that lies over the panes: the heads of its columns.
const TABLE_HEAD: u16 = 1;
/// Below this the dashboard says that it is too small.
pub const SMALLEST: (u16, u16) = (60, 12);
/// A key that comes again so soon is held down: longer than any terminal waits before it repeats one.
pub const HELD: SignedDuration = SignedDuration::from_secs(1);
/// Notices that are kept.
const MAX_NOTICES: usize = 200;

/// What was settled before the dashboard began.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The embedded simulator is behind it.
    pub demo: bool,
    /// Only ASCII on the screen.
    pub ascii: bool,
    /// Time zone of the person.
    pub tz: TimeZone,
    /// How much a tape keeps.
    pub tape: TapeLimits,
    /// The configuration's `[keys]`.
    pub keys: BTreeMap<String, Vec<String>>,
    /// What was odd in the configuration.
    pub warnings: Vec<String>,
}

/// A message for the person.
#[derive(Debug, Clone)]
pub struct Notice {
    /// When it was shown first.
    pub at: Timestamp,
    /// Whether it is an error.
    pub error: bool,
    /// The text, with line breaks.
    pub text: String,
}

/// The state that belongs to no feature.
#[derive(Debug)]
pub struct Session {
    /// The settings of the start, and what a configuration that was read again changed of them.
    pub settings: Settings,
    /// The keys in force.
    pub keymap: Keymap,
    /// How the person likes to look at things.
    pub prefs: ViewPrefs,
    /// The time of the last message.
    pub now: Timestamp,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The profiles in use, in their order.
    pub profiles: Vec<ProfileState>,
    /// All profiles that there are.
    pub catalogue: Catalogue,
    /// Whether the terminal's window has the focus, as far as the terminal reports it.
    pub window_focused: bool,
    /// Every message of the session, oldest first, the last 200.
    pub notices: Vec<Notice>,
    /// The number of notices so far.
    pub notified: u64,
    /// Until when the footer shows the newest notice.
    pub notice_until: Option<Timestamp>,
    /// When a person last refreshed by hand.
    pub refreshed_at: Option<Timestamp>,
    /// Grows with each refresh by hand, and with each profile that points to another server: polls then start again.
    pub epoch: Epoch,
    /// Number of the next stream, list, log, authentication or doctor's report.
    pub next_stream: Ids,
    /// Number of the next change, or of the next file.
    pub next_change: Ids,
    /// Number of the next background job.
    pub next_work: u64,
}

impl Session {
    /// A session in which nothing happened yet.
    pub fn new(
        settings: Settings,
        keymap: Keymap,
        profiles: Vec<ProfileState>,
        size: (u16, u16),
        now: Timestamp,
    ) -> Session {
        Session {
            settings,
            keymap,
            prefs: ViewPrefs::default(),
            now,
            size,
            profiles,
            catalogue: Catalogue::default(),
            window_focused: true,
            notices: Vec::new(),
            notified: 0,
            notice_until: None,
            refreshed_at: None,
            epoch: Epoch::default(),
            next_stream: Ids::default(),
            next_change: Ids::default(),
            next_work: 1,
        }
    }

    /// A profile in use.
    pub fn profile(&self, name: &str) -> Option<&ProfileState> {
        self.profiles.iter().find(|profile| &*profile.name == name)
    }

    /// Whether a profile may not be written to. An unknown one may not.
    pub fn is_read_only(&self, profile: &str) -> bool {
        self.profile(profile).is_none_or(|profile| profile.read_only)
    }

    /// Whether a profile's control plane may be asked: nothing is asked after its key was refused until a refresh.
    pub fn may_ask(&self, profile: &str) -> bool {
        self.profile(profile).is_some_and(|profile| profile.control_plane && !profile.halted)
    }

    /// The newest start of a profile's polls.
    pub fn epoch_of(&self, profile: &str) -> Epoch {
        self.profile(profile).map_or(Epoch::default(), |profile| profile.epoch)
    }

    /// The time on the clock of a profile's server.
    pub fn server_time(&self, profile: &str) -> Timestamp {
        self.profile(profile).map_or(self.now, |profile| profile.server_time(self.now))
    }

    /// The first key of an action, as it is written; empty where it has none.
    pub fn key(&self, id: &str) -> String {
        self.keymap.keys_of(id).first().map(|key| key.to_string()).unwrap_or_default()
    }

    /// A time of day in the person's zone.
    pub fn clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.settings.tz.clone()).strftime("%H:%M:%S").to_string()
    }

    /// How often to poll: by whether something changes, and whether the window has the focus.
    pub fn pace(&self, moving: bool) -> Pace {
        match (self.window_focused, moving) {
            (true, true) => Pace::Fast,
            (true, false) | (false, true) => Pace::Usual,
            (false, false) => Pace::Slow,
        }
    }

    /// Shows a notice.
    pub fn notify(&mut self, error: bool, text: impl Into<String>) {
        self.notified += 1;
        self.notices.push(Notice { at: self.now, error, text: text.into() });
        if self.notices.len() > MAX_NOTICES {
            self.notices.remove(0);
        }
        let seconds = if error { 20 } else { 8 };
        self.notice_until = self.now.checked_add(SignedDuration::from_secs(seconds)).ok();
    }

    /// Removes a notice from the footer that was there long enough to be read.
    pub fn pass_notice(&mut self) {
        // A clock that was set back must not keep it for ever.
        let is_read = |n: &Notice| self.now.duration_since(n.at).abs() > SignedDuration::from_secs(2);
        if self.notices.last().is_some_and(is_read) {
            self.notice_until = None;
        }
    }

    /// The notice that the footer shows now.
    pub fn notice(&self) -> Option<&Notice> {
        let until = self.notice_until?;
        self.notices.last().filter(|n| self.now < until && n.at <= self.now)
    }

    /// Starts every poll again.
    pub fn restart_polls(&mut self) {
        self.epoch = self.epoch.next();
        self.profiles.iter_mut().for_each(|profile| profile.epoch = self.epoch);
    }

    /// Whether the terminal is large enough for anything but a message that it is too small.
    pub fn is_drawable(&self) -> bool {
        self.size.0 >= SMALLEST.0 && self.size.1 >= SMALLEST.1
    }

    /// Where an overlay's text goes.
    pub fn overlay_area(&self) -> Area {
        let (w, h) = self.size;
        Area { x: 2, y: 3, w: w.saturating_sub(4), h: h.saturating_sub(5) }
    }

    /// The inside of an overlay that has a frame.
    pub fn overlay_inner(&self) -> Area {
        let (w, h) = self.size;
        Area { x: 2, y: 2, w: w.saturating_sub(4), h: h.saturating_sub(4) }
    }

    /// Where the rows of an overlay's table go.
    pub fn overlay_rows(&self) -> Area {
        below(self.overlay_area(), TABLE_HEAD)
    }
}

/// Gives out numbers from 1 on. A number names something in the session, so taking one changes nothing that is shown.
#[derive(Debug)]
pub struct Ids(AtomicU64);

impl Default for Ids {
    fn default() -> Ids {
        Ids(AtomicU64::new(1))
    }
}

impl Ids {
    /// The number that was given out last.
    pub fn last(&self) -> u64 {
        self.0.load(Ordering::Relaxed) - 1
    }

    /// The next number.
    pub fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Whether an error means that polling stops until somebody acts.
pub fn stops_polling(error: &ApiError) -> bool {
    matches!(error.kind, Kind::Unauthorized | Kind::Forbidden | Kind::Refused)
}

/// Why nothing is written.
pub fn read_only_text(profile: &str) -> String {
    format!("{profile} is read-only; nothing was sent. Use `--write`, or set `read_only = false` for the profile.")
}
