//! What all features share: the session's state, the [`Component`] trait with the state it may read ([`Cx`]) and its
//! [`Request`]s, and the messages, effects and subscriptions that features exchange with the runtime.

pub mod card;
pub mod catalog;
pub mod check_lines;
pub mod checkpoints;
pub mod compare;
pub mod component;
mod component_id;
pub mod cure;
pub mod deployments;
pub mod destination;
pub mod effect;
pub mod first_run;
pub mod form;
pub mod inbox;
pub mod known_graphs;
pub mod loaded;
pub mod msg;
pub mod page;
pub mod pages;
pub mod prefs;
pub mod profile;
pub mod proposal;
pub mod reach;
pub mod record_list;
pub mod refs;
pub mod request;
pub mod row_details;
pub mod row_lines;
pub mod run;
pub mod saved_tabs;
pub mod saving;
pub mod subject;
pub mod subscription;
pub mod thread;
pub mod threads_known;

pub use component::{Component, Cx};
pub use component_id::ComponentId;
pub use page::{Page, Paged};
pub use request::{ALREADY_SENT, NOTHING_SENT, Request, Requests, Route, not_sent};

use crate::input::keymap::Keymap;
use crate::widgets::area::{Area, below};
use catalog::Catalog;
use compare::SideRef;
use deployments::KnownDeployments;
use inbox::Inbox;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use known_graphs::KnownGraphs;
use loaded::Loaded;
use msg::{Epoch, Pace, ServerRef};
use pages::OpenPages;
use prefs::ViewPrefs;
use profile::ProfileState;
use reach::Reach;
use runtail_api::{ApiError, Kind, ServerInfo, ServerKind};
use runtail_core::config::EventLogLimits;
use runtail_core::model::StatusRole;
use runtail_core::text;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// Columns kept free at the left of a pane for the selection mark, and at its right.
pub const GUTTER: u16 = 3;
/// Lines above the rows of an overlay's table: the column headings.
const TABLE_HEAD: u16 = 1;
/// Minimum rows between header and footer for a page above a sheet that has to be scrolled.
const TALL: u16 = 30;
/// Minimum terminal size. In a smaller terminal the dashboard only shows a message.
pub const SMALLEST: (u16, u16) = (60, 12);
/// A key that repeats within this time is being held.
pub const HELD_KEY: SignedDuration = SignedDuration::from_secs(1);
/// How long a notice stays in the footer, and a failure if no key is pressed.
const NOTICE_DURATION: SignedDuration = SignedDuration::from_secs(4);
const ERROR_DURATION: SignedDuration = SignedDuration::from_hours(24);
/// Maximum number of notices kept.
const MAX_NOTICES: usize = 200;
/// How long the footer shows why a key did nothing.
const HINT_TIME: SignedDuration = SignedDuration::from_secs(4);

/// Settings from the command line and the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whether the servers are simulated.
    pub demo: bool,
    /// Whether to draw only ASCII characters.
    pub ascii: bool,
    /// The user's time zone.
    pub tz: TimeZone,
    /// The limits of an event log.
    pub event_log: EventLogLimits,
    /// The configuration's `[keys]`.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Warnings about the configuration.
    pub warnings: Vec<String>,
}

/// A notice: a message to the user, shown in the footer and kept for the page of notices.
#[derive(Debug, Clone)]
pub struct Notification {
    /// When it was first shown.
    pub at: Timestamp,
    /// Whether it is an error.
    pub error: bool,
    /// The text. The footer shows only the first line.
    pub text: String,
    /// The glyph of news from elsewhere; `None` for an answer to a key.
    pub news: Option<StatusRole>,
}

/// The state that belongs to no feature.
#[derive(Debug)]
pub struct Session {
    /// The initial settings, updated when the configuration is reloaded.
    pub settings: Settings,
    /// The current keymap.
    pub keymap: Keymap,
    /// The user's view preferences.
    pub prefs: ViewPrefs,
    /// The time of the last message.
    pub now: Timestamp,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Whether the row above the footer belongs to a notice that has no room in the footer.
    pub has_notice_row: bool,
    /// The rows of the sheet over the lower part of the page, with its frame.
    pub sheet_rows: u16,
    /// The profiles in use, in their order.
    pub profiles: Vec<ProfileState>,
    /// The agent servers of serverless deployments.
    pub serverless: BTreeSet<ServerRef>,
    /// All known profiles.
    pub catalog: Catalog,
    /// The listed deployments of all profiles in use.
    pub deployments: KnownDeployments,
    /// What is marked for a comparison: deployments, threads and runs.
    pub marked: Vec<SideRef>,
    /// What waits for a person, and what failed.
    pub inbox: Inbox,
    /// The open pages of threads.
    pub pages: OpenPages,
    /// The software of agent servers, as far as it was requested.
    pub infos: BTreeMap<ServerRef, Loaded<ServerInfo>>,
    /// Which agent servers answer.
    pub reach: Reach,
    /// The graphs that were loaded.
    pub known_graphs: KnownGraphs,
    /// Whether the terminal's window has the focus, as far as the terminal reports it.
    pub window_focused: bool,
    /// The last 200 notices of the session, oldest first.
    pub notices: Vec<Notification>,
    /// The number of notices so far.
    pub notified: u64,
    /// Until when the footer shows its notice.
    pub notice_until: Option<Timestamp>,
    /// The notice of the footer, and since when it is shown there.
    footer: Option<(Notification, Timestamp)>,
    /// The newest news that came while the footer showed an answer to a key.
    waiting_news: Option<Notification>,
    /// When the user last refreshed.
    pub refreshed_at: Option<Timestamp>,
    /// Incremented by each manual refresh and each change of the profiles in use, which restart the affected polls.
    pub epoch: Epoch,
    /// Number of the next stream, list, log, search, authentication or doctor's report.
    pub next_stream: Ids,
    /// Number of the next change, or of the next file.
    pub next_change: Ids,
    /// Number of the next background job.
    pub next_work: u64,
}

impl Session {
    /// Creates the initial session.
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
            has_notice_row: false,
            sheet_rows: 0,
            profiles,
            serverless: BTreeSet::new(),
            catalog: Catalog::default(),
            deployments: KnownDeployments::default(),
            marked: Vec::new(),
            inbox: Inbox::default(),
            pages: OpenPages::default(),
            infos: BTreeMap::new(),
            reach: Reach::default(),
            known_graphs: KnownGraphs::default(),
            window_focused: true,
            notices: Vec::new(),
            notified: 0,
            notice_until: None,
            footer: None,
            waiting_news: None,
            refreshed_at: None,
            epoch: Epoch::default(),
            next_stream: Ids::default(),
            next_change: Ids::default(),
            next_work: 1,
        }
    }

    /// Returns whether a server is only asked while it is open, because each request wakes it or it isn't polled.
    pub fn is_quiet(&self, server: &ServerRef) -> bool {
        self.serverless.contains(server)
            || self
                .profile(&server.profile)
                .is_some_and(|profile| profile.is_quiet(&server.name))
    }

    /// Returns a profile in use by its name.
    pub fn profile(&self, name: &str) -> Option<&ProfileState> {
        self.profiles.iter().find(|profile| &*profile.name == name)
    }

    /// Returns a profile in use by its name.
    pub fn profile_mut(&mut self, name: &str) -> Option<&mut ProfileState> {
        self.profiles
            .iter_mut()
            .find(|profile| &*profile.name == name)
    }

    /// Returns the place of a server in titles: its region, or its profile without one, and its name: `us › support-bot`.
    pub fn place(&self, server: &ServerRef) -> String {
        let region = self
            .profile(&server.profile)
            .map_or(&*server.profile, |profile| profile.tag());
        let (region, name) = (text::clean(region), text::clean(&server.name));
        if region == name {
            name.into_owned()
        } else {
            format!("{region} › {name}")
        }
    }

    /// Returns whether a profile is read-only. Unknown profiles are.
    pub fn is_read_only(&self, profile: &str) -> bool {
        self.profile(profile)
            .is_none_or(|profile| profile.read_only)
    }

    /// Explains why nothing was sent for a read-only profile.
    pub fn read_only_text(&self, profile: &str) -> String {
        let why = self
            .profile(profile)
            .and_then(|profile| profile.sealed.as_deref());
        let why = why
            .map(|why| format!(" ({})", runtail_core::text::clean(why)))
            .unwrap_or_default();
        format!("{profile} is read-only{why}. {NOTHING_SENT}")
    }

    /// Returns whether a profile's control plane may be polled. After its key was rejected, it is not polled until a refresh.
    pub fn may_poll(&self, profile: &str) -> bool {
        self.profile(profile)
            .is_some_and(|profile| profile.control_plane && !profile.halted)
    }

    /// Returns the epoch of a profile's polls.
    pub fn epoch_of(&self, profile: &str) -> Epoch {
        self.profile(profile)
            .map_or(Epoch::default(), |profile| profile.epoch)
    }

    /// Returns the software of an agent server, if it is known.
    pub fn server_kind(&self, server: &ServerRef) -> Option<ServerKind> {
        Some(self.infos.get(server)?.value.as_ref()?.kind)
    }

    /// Returns the time on the clock of a profile's server.
    pub fn server_time(&self, profile: &str) -> Timestamp {
        self.profile(profile)
            .map_or(self.now, |profile| profile.server_time(self.now))
    }

    /// Formats the first key of an action; empty if it has none.
    pub fn key(&self, id: &str) -> String {
        self.keymap
            .keys_of(id)
            .first()
            .map(|key| key.to_string())
            .unwrap_or_default()
    }

    /// Formats the first key of an action as the footer shows it, if it has one.
    pub fn hint_key(&self, id: &str) -> Option<String> {
        self.keymap.key(id, self.settings.ascii)
    }

    /// Returns the keys of a frame. In ASCII, the symbol of Enter would look like that of Ctrl.
    pub fn frame_keys(&self, keys: &str) -> String {
        keys.replace('⏎', if self.settings.ascii { "Enter" } else { "⏎" })
    }

    /// Formats a time of day in the user's time zone.
    pub fn clock(&self, at: Timestamp) -> String {
        at.to_zoned(self.settings.tz.clone())
            .strftime("%H:%M:%S")
            .to_string()
    }

    /// Returns a time of day without seconds, with the date if it is not today.
    pub fn dated_minute(&self, at: Timestamp) -> String {
        let said = self.dated_clock(at);
        said.rsplit_once(':')
            .filter(|_| said.matches(':').count() == 2)
            .map_or(said.clone(), |(minute, _)| minute.into())
    }

    /// Returns a time of day, with the date if it is not today.
    pub fn dated_clock(&self, at: Timestamp) -> String {
        let zoned = at.to_zoned(self.settings.tz.clone());
        let is_today = zoned.date() == self.now.to_zoned(self.settings.tz.clone()).date();
        if is_today {
            self.clock(at)
        } else {
            zoned.strftime("%d %b %H:%M").to_string()
        }
    }

    /// Returns how often to poll, given whether something is in progress and whether the window has the focus.
    pub fn pace(&self, in_progress: bool) -> Pace {
        match (self.window_focused, in_progress) {
            (true, true) => Pace::Fast,
            (true, false) | (false, true) => Pace::Usual,
            (false, false) => Pace::Slow,
        }
    }

    /// Shows a notice.
    pub fn notify(&mut self, error: bool, text: impl Into<String>) {
        self.add_notice(error, text.into(), None);
    }

    /// Shows for a short time why a key did nothing. If it is repeated, it is listed once.
    pub fn hint(&mut self, text: String) {
        if self
            .notices
            .last()
            .is_some_and(|last| last.text == text && !last.error && last.news.is_none())
        {
            self.notices.pop();
        }
        self.add_notice(false, text, None);
        self.notice_until = self.now.checked_add(HINT_TIME).ok();
    }

    /// Shows news from elsewhere, with its glyph.
    pub fn toast(&mut self, role: StatusRole, text: impl Into<String>) {
        self.add_notice(false, text.into(), Some(role));
    }

    fn add_notice(&mut self, error: bool, text: String, news: Option<StatusRole>) {
        self.notified += 1;
        let notice = Notification {
            at: self.now,
            error,
            text,
            news,
        };
        self.notices.push(notice.clone());
        if self.notices.len() > MAX_NOTICES {
            self.notices.remove(0);
        }
        match news.is_some() && self.answer_until().is_some() {
            true => self.waiting_news = Some(notice),
            false => self.show_notice(notice),
        }
    }

    fn show_notice(&mut self, notice: Notification) {
        // A failure stays until the next key.
        let seconds = if notice.error {
            ERROR_DURATION
        } else {
            NOTICE_DURATION
        };
        self.notice_until = self.now.checked_add(seconds).ok();
        self.footer = Some((notice, self.now));
    }

    /// Returns until when the footer keeps an answer to a key, which news don't cover.
    fn answer_until(&self) -> Option<Timestamp> {
        let (notice, since) = self
            .footer
            .as_ref()
            .filter(|(notice, _)| notice.news.is_none())?;
        let until = self
            .notice_until?
            .min(since.checked_add(NOTICE_DURATION).ok()?);
        (notice.at <= self.now && self.now < until).then_some(until)
    }

    /// Shows the news that waited for an answer to a key to be read.
    pub fn show_waiting_news(&mut self) {
        if self.answer_until().is_none()
            && let Some(news) = self.waiting_news.take()
        {
            self.show_notice(news);
        }
    }

    /// Returns when the notice of the footer changes.
    pub fn notice_changes_at(&self) -> Option<Timestamp> {
        let waits = self.answer_until().filter(|_| self.waiting_news.is_some());
        waits.or(self.notice().and(self.notice_until))
    }

    /// Removes the notice from the footer if it was shown long enough to be read.
    pub fn dismiss_read_notice(&mut self) {
        // `abs`: if the clock was set back, the notice must not stay.
        let is_read =
            |since: Timestamp| self.now.duration_since(since).abs() > SignedDuration::from_secs(2);
        if self
            .footer
            .as_ref()
            .is_some_and(|(_, since)| is_read(*since))
        {
            self.notice_until = None;
        }
    }

    /// Returns the notice that the footer shows.
    pub fn notice(&self) -> Option<&Notification> {
        let until = self.notice_until?;
        self.footer
            .as_ref()
            .map(|(notice, _)| notice)
            .filter(|notice| self.now < until && notice.at <= self.now)
    }

    /// Returns whether the notice of the footer is news from elsewhere.
    pub fn shows_news(&self) -> bool {
        self.notice().is_some_and(|notice| notice.news.is_some())
    }

    /// Applies a request error to its profile: a rejected key stops polling; a rate-limited server is paused, and the pause is
    /// shown.
    pub fn report_error(&mut self, error: &ApiError) {
        let now = self.now;
        let Some(state) = self.profile_mut(&error.at.profile) else {
            return;
        };
        if !error.quiet().is_zero() {
            let wait = SignedDuration::try_from(error.quiet()).unwrap_or_default();
            state.limited_until = state.limited_until.max(now.checked_add(wait).ok());
        }
        if error.kind == Kind::Unauthorized && state.control_plane && !state.halted {
            state.halted = true;
            state.error = Some(error.clone());
            let text = format!(
                "{}\n  {} isn't polled until you press r.",
                error.story(),
                state.name
            );
            self.notify(true, text);
        }
    }

    /// Restarts every poll.
    pub fn restart_polls(&mut self) {
        self.epoch = self.epoch.next();
        self.profiles
            .iter_mut()
            .for_each(|profile| profile.epoch = self.epoch);
    }

    /// Returns whether the terminal is large enough for the dashboard.
    pub fn is_drawable(&self) -> bool {
        self.size.0 >= SMALLEST.0 && self.size.1 >= SMALLEST.1
    }

    /// Returns the size of the terminal as pages lay themselves out in it: without the row of a notice, and without a sheet.
    pub fn page_size(&self) -> (u16, u16) {
        let taken = u16::from(self.has_notice_row) + self.sheet_rows;
        (self.size.0, self.size.1.saturating_sub(taken))
    }

    /// Returns the area of an overlay's text, inside its frame.
    pub fn overlay_area(&self) -> Area {
        let (w, h) = self.page_size();
        Area {
            x: 2,
            y: 2,
            w: w.saturating_sub(4),
            h: h.saturating_sub(4),
        }
    }

    /// Returns the area of a sheet's text, which needs that many lines, at the bottom of the screen. A sheet that has to be scrolled
    /// leaves the page a fifth of a tall screen.
    pub fn sheet_area(&self, lines: usize) -> Area {
        let (w, h) = self.size;
        let body = h.saturating_sub(2 + u16::from(self.has_notice_row));
        let all = body.saturating_sub(2);
        let fitting = u16::try_from(lines).ok().filter(|lines| *lines <= all);
        let kept = if body < TALL { 0 } else { body / 5 };
        let lines = fitting.unwrap_or(all.saturating_sub(kept));
        Area {
            x: 2,
            y: body.saturating_sub(lines).max(2),
            w: w.saturating_sub(4),
            h: lines,
        }
    }

    /// Returns the area of the rows of an overlay's table.
    pub fn overlay_rows(&self) -> Area {
        below(self.overlay_area(), TABLE_HEAD)
    }
}

/// Generates the ids 1, 2, 3 and so on. Taking one needs no mutable access, because it changes nothing that is shown.
#[derive(Debug)]
pub struct Ids(AtomicU64);

impl Default for Ids {
    fn default() -> Ids {
        Ids(AtomicU64::new(1))
    }
}

impl Ids {
    /// Returns the id that was taken last.
    pub fn last(&self) -> u64 {
        self.0.load(Ordering::Relaxed) - 1
    }

    /// Returns a new id.
    pub fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Returns whether an error stops polling until the user refreshes.
pub fn stops_polling(error: &ApiError) -> bool {
    matches!(
        error.kind,
        Kind::Unauthorized | Kind::Forbidden | Kind::Refused | Kind::NoKey
    )
}
