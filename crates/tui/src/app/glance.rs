//! What is shown at a glance: the strip above the deployments, and the page with a tile for each of them.

use super::{App, Overlay, Pane};
use crate::features::deployments::list::Row;
use crate::features::glance::{Count, Facts, GlancePage, Opens, Rank, Reason, STRIP, Tile};
use crate::features::stream::viewer::sum_of_rates;
use crate::session::Lookup;
use crate::session::threads_known::ThreadsKnown;
use crate::widgets::line::Tone;
use crate::widgets::status::STUCK;
use crate::widgets::theme::{deployment_badge, phase_glyph};
use jiff::Timestamp;
use runtail_core::model::{InboxGroup, InboxRow, Phase};
use runtail_core::text;
use std::time::Duration;

/// Minimum height for the strip above the list.
const MIN_HEIGHT: u16 = 24;

impl App {
    /// Shows the strip above the deployments, then the page, then neither.
    pub(super) fn turn_glance(&mut self) {
        let is_page = |overlay: &Overlay| matches!(overlay, Overlay::Glance(_));
        let is_shown = self.overlays.last().is_some_and(is_page);
        // Below another page it is brought to the top.
        self.overlays.retain(|overlay| !is_page(overlay));
        if is_shown {
            self.has_strip = false;
            return;
        }
        let has_room = self.session.size.1 >= MIN_HEIGHT
            && self.focus != Pane::Stream
            && self.overlays.is_empty();
        match self.has_strip || !has_room {
            true => self.open_glance(),
            false => self.has_strip = true,
        }
    }

    /// Opens the page.
    pub fn open_glance(&mut self) {
        let mut page = GlancePage::default();
        page.apply(&self.glance_facts(), self.session.now);
        self.overlays.push(page.into());
    }

    /// Returns the lines of the strip above the deployments.
    pub(super) fn strip_height(&self) -> u16 {
        let is_shown =
            self.has_strip && self.focus != Pane::Stream && self.session.size.1 >= MIN_HEIGHT;
        if is_shown { STRIP } else { 0 }
    }

    /// Passes what is known now to the open page.
    pub(super) fn refresh_glance(&mut self) {
        if !self
            .overlays
            .iter()
            .any(|overlay| matches!(overlay, Overlay::Glance(_)))
        {
            return;
        }
        let facts = self.glance_facts();
        for overlay in &mut self.overlays {
            if let Overlay::Glance(page) = overlay {
                page.apply(&facts, self.session.now);
            }
        }
    }

    /// Returns what is shown at a glance.
    pub(super) fn glance_facts(&self) -> Facts {
        let listing = self.inbox.listing();
        let tally = self.inbox.tally();
        // None found is only known if every server answered: a zero means that all is well.
        let number = |found: usize| (found > 0 || tally.is_whole).then_some(found);
        let of = |group: InboxGroup| -> Vec<&InboxRow> {
            listing
                .rows
                .iter()
                .map(|row| &row.row)
                .filter(|row| row.group() == group)
                .collect()
        };
        let (waiting, failed) = (of(InboxGroup::Waiting), of(InboxGroup::Failed));
        let age = |row: &InboxRow| {
            let now = self.session.server_time(&row.profile);
            let age = row
                .since()
                .and_then(|since| Duration::try_from(now.duration_since(since)).ok());
            age.map(text::age).unwrap_or_default()
        };
        let place = |row: &InboxRow| crate::features::inbox::place_name(row);
        let count = |rows: &[&InboxRow], one: Option<&&InboxRow>, word: &str| {
            let (age, place) = one.map(|row| (age(row), place(row))).unwrap_or_default();
            let detail = if age.is_empty() {
                String::new()
            } else {
                format!("{word} {age}")
            };
            Count {
                number: number(rows.len()),
                detail,
                brief: (age, place.clone()),
                place,
                ..Count::default()
            }
        };
        // Without every answer there may be more; a number with rows that are not confirmed may be anything.
        let sign = |count: Count, stale: usize| {
            let more = if tally.is_whole { "" } else { "+" };
            Count {
                sign: if stale > 0 { "?" } else { more },
                ..count
            }
        };
        let oldest = waiting.iter().min_by_key(|row| row.since());
        let newest = failed.iter().max_by_key(|row| row.since());
        let rows = || {
            self.deployments
                .list
                .rows
                .iter()
                .filter(|row| row.counts.running() > 0)
        };
        let running: usize = rows().map(|row| row.counts.running()).sum();
        let outdated = rows()
            .filter(|row| matches!(self.known_of(row), Some(ThreadsKnown::AsOf(_))))
            .count();
        let updated = self
            .session
            .profiles
            .iter()
            .filter_map(|profile| profile.loaded_at)
            .max();
        Facts {
            waiting: sign(count(&waiting, oldest, "oldest"), tally.stale.waiting),
            failed: sign(count(&failed, newest, "newest"), tally.stale.failed),
            running: sign(
                Count {
                    number: number(running),
                    ..self.rate_now()
                },
                outdated,
            ),
            unchecked: tally.unchecked,
            tiles: self.glance_tiles(),
            updated_at: updated,
            is_measuring: self.is_measuring(),
        }
    }

    /// Returns the rate of the open streams as the detail of a count; an empty one if nothing arrives.
    fn rate_now(&self) -> Count {
        let Some(sum) = sum_of_rates(self.stream.tabs.all().iter(), self.session.now) else {
            return Count::default();
        };
        let rate = format!("{} {}/s", text::count(sum.rate), sum.unit);
        let streams = if sum.streams == 1 {
            "1 open stream".into()
        } else {
            format!("{} open streams", sum.streams)
        };
        let brief = (rate.clone(), format!("in {} open", sum.streams));
        Count {
            detail: format!("{rate} in {streams}"),
            place: sum.strip,
            brief,
            ..Count::default()
        }
    }

    /// Returns whether the rate of the open streams changes with the next second.
    pub(super) fn is_measuring(&self) -> bool {
        self.stream
            .tabs
            .all()
            .iter()
            .any(|viewer| viewer.has_recent_rate(self.session.now))
    }

    fn glance_tiles(&self) -> Vec<Tile> {
        // In the order of problems, however the list is sorted.
        let rows = self.deployments.list.problems_first().into_iter();
        let rows = rows.filter(|row| !row.gone).map(|row| self.tile(row));
        let unlisted = self.session.profiles.iter().filter_map(|profile| {
            let error = profile
                .error
                .as_ref()
                .filter(|_| profile.loaded_at.is_none())?;
            Some(Tile {
                id: format!("profile {}", profile.name),
                rank: Rank::Unknown,
                glyph: "?",
                tone: Tone::Dim,
                name: profile.name.to_string(),
                region: String::new(),
                reasons: vec![format!("{}, not listed", error.badge()).into()],
                is_outdated: false,
                opens: Opens::Profiles,
            })
        });
        rows.chain(unlisted).collect()
    }

    fn tile(&self, row: &Row) -> Tile {
        let deployment = || match &row.deployment {
            Some(deployment) => Opens::Deployment(deployment.id.clone()),
            None => Opens::Deployment(row.name.clone()),
        };
        let mut states = self.states(row);
        states.sort_by_key(|state| state.rank);
        let as_of = self.outdated_since(row);
        let first = states.first();
        // What the control plane reports of the revision is current while it answers.
        let is_listed = self
            .session
            .profiles
            .get(row.profile)
            .is_some_and(|profile| profile.problem().is_none());
        let is_current = |one: &State| {
            is_listed && matches!(one.about, About::Deployment) && one.rank != Rank::Good
        };
        let is_outdated = as_of.is_some() && !first.is_some_and(is_current);
        let (rank, glyph, tone) = match (first, is_outdated) {
            // The last known state stays in words.
            (Some(one), true) => (
                if one.rank == Rank::Good {
                    Rank::Unknown
                } else {
                    one.rank
                },
                "?",
                Tone::Dim,
            ),
            (Some(one), false) => (one.rank, one.glyph, one.tone),
            (None, _) => (Rank::Unknown, "?", Tone::Dim),
        };
        let server = || row.server(&self.session.profiles);
        let opens = match first.map(|state| state.about) {
            Some(About::Waiting | About::Stuck) => server().map_or_else(deployment, Opens::Inbox),
            Some(About::FailedThreads) => server().map_or_else(deployment, Opens::Threads),
            Some(About::Deployment) | None => deployment(),
        };
        Tile {
            id: row.id.clone(),
            rank,
            glyph,
            tone,
            name: row.name.clone(),
            region: if *row.tag == *row.name {
                String::new()
            } else {
                row.tag.to_string()
            },
            reasons: states
                .into_iter()
                .map(|state| state.reason)
                .filter(|one| !one.text.is_empty())
                .chain(as_of.map(|at| format!("as of {}", self.session.dated_minute(at)).into()))
                .collect(),
            is_outdated,
            opens,
        }
    }

    /// Returns how current the numbers of a row's threads are; `None` without an agent server.
    fn known_of(&self, row: &Row) -> Option<ThreadsKnown> {
        row.server(&self.session.profiles)
            .map(|server| self.threads_known(&server))
    }

    /// Returns the time of what is known of a row, if its control plane or its agent server no longer answers.
    fn outdated_since(&self, row: &Row) -> Option<Timestamp> {
        let profile = self
            .session
            .profiles
            .get(row.profile)
            .filter(|_| row.deployment.is_some());
        let listed = profile
            .filter(|profile| profile.problem().is_some())
            .and_then(|profile| profile.loaded_at);
        let read = match self.known_of(row) {
            Some(ThreadsKnown::AsOf(at)) => Some(at),
            _ => None,
        };
        listed.into_iter().chain(read).min()
    }

    /// Returns what is to be said of a row: of its threads, and of its newest revision or an unusual status.
    fn states(&self, row: &Row) -> Vec<State> {
        let state = |rank, glyph, tone, about, reason: Reason| State {
            rank,
            glyph,
            tone,
            about,
            reason,
        };
        let number =
            |n: usize, word: &str| Reason::from(format!("{} {word}", text::count(n as u64)));
        let of_row = if row.deployment.is_some() {
            self.state_of_revision(row)
        } else {
            self.state_of_server(row)
        };
        let (counts, mut states) = (row.counts, vec![of_row]);
        let known = self.known_of(row);
        if counts.failed > 0 {
            let reason = number(counts.failed, "failed");
            states.push(state(
                Rank::Failed,
                "✗",
                Tone::Bad,
                About::FailedThreads,
                reason,
            ));
        }
        if counts.waiting > 0 {
            let age = self.oldest_waiting(row);
            let said = |words: &str| {
                age.as_ref()
                    .map(|age| format!("{words}{age}"))
                    .unwrap_or_default()
            };
            let (detail, brief) = (said(", oldest "), said(", "));
            let reason = Reason {
                detail,
                brief,
                ..number(counts.waiting, "waiting")
            };
            states.push(state(
                Rank::Waiting,
                "◆",
                Tone::Waiting,
                About::Waiting,
                reason,
            ));
        }
        if counts.stuck > 0 {
            states.push(state(
                Rank::Stuck,
                "?",
                STUCK.1,
                About::Stuck,
                number(counts.stuck, "stuck"),
            ));
        }
        if counts.running() > 0 {
            // Without its newest revision it is unknown how the deployment is.
            let is_known = row.newest.is_some() || row.deployment.is_none();
            let (rank, glyph, tone) = if is_known {
                (Rank::Good, "●", Tone::Good)
            } else {
                (Rank::Unknown, "?", Tone::Dim)
            };
            states.push(state(
                rank,
                glyph,
                tone,
                About::Deployment,
                number(counts.running(), "running"),
            ));
        }
        // Nothing says that a deployment is well while its threads are not known. One that is being deleted or has no use isn't.
        let unknown = match known.filter(|_| row.state().is_usual()) {
            Some(ThreadsKnown::Asking) => Some(Reason::from("asking…".to_string())),
            Some(ThreadsKnown::Unread(why)) => Some(Reason {
                text: "threads not read".into(),
                detail: format!(": {why}"),
                brief: String::new(),
            }),
            Some(ThreadsKnown::Now | ThreadsKnown::AsOf(_) | ThreadsKnown::Asleep) | None => None,
        };
        if let Some(said) = unknown {
            states.retain(|state| state.rank != Rank::Good);
            states.push(state(
                Rank::Unknown,
                "?",
                Tone::Dim,
                About::Deployment,
                said,
            ));
        }
        if states.len() > 1 {
            states.retain(|state| state.reason.text != IDLE && state.reason.text != UP);
        }
        states
    }

    /// Returns the state of an agent server without a control plane: up, if it answers.
    fn state_of_server(&self, row: &Row) -> State {
        let is_up = matches!(
            self.known_of(row),
            Some(ThreadsKnown::Now | ThreadsKnown::AsOf(_))
        );
        let (rank, glyph, tone) = if is_up {
            (Rank::Good, "●", Tone::Good)
        } else {
            (Rank::Unknown, "?", Tone::Dim)
        };
        let reason = if is_up {
            UP.to_string().into()
        } else {
            Reason::default()
        };
        State {
            rank,
            glyph,
            tone,
            about: About::Deployment,
            reason,
        }
    }

    /// Returns the state of the newest revision, or an unusual status of the deployment: one that is being deleted or has no use
    /// isn't good because its newest revision was deployed.
    fn state_of_revision(&self, row: &Row) -> State {
        let newest = row.newest.as_ref();
        let phase = newest.map(|revision| revision.phase());
        let (rank, (glyph, tone)) = match phase {
            _ if !row.state().is_usual() => {
                let own = row
                    .deployment
                    .as_ref()
                    .and_then(|deployment| deployment.status.as_deref());
                let (glyph, tone, word) = deployment_badge(own);
                let word = if row.url.is_none() {
                    format!("{word}, no URL")
                } else {
                    word
                };
                return State {
                    rank: Rank::Ended,
                    glyph,
                    tone,
                    about: About::Deployment,
                    reason: word.into(),
                };
            }
            Some(phase @ Phase::Failed) => (Rank::Failed, phase_glyph(phase)),
            Some(phase @ (Phase::Moving | Phase::Waiting | Phase::Unknown)) => {
                (Rank::Moving, phase_glyph(phase))
            }
            Some(Phase::Interrupted | Phase::Skipped) => (Rank::Ended, ("■", Tone::Plain)),
            Some(phase @ Phase::Deployed) => (Rank::Good, phase_glyph(phase)),
            None => (Rank::Unknown, ("?", Tone::Dim)),
        };
        let profile = self.session.profiles.get(row.profile);
        let since = |at| profile.map(|profile| text::age(profile.since(at, self.session.now)));
        let age = newest
            .and_then(|revision| revision.created_at)
            .and_then(since)
            .unwrap_or_default();
        let reason = match (phase, newest) {
            (Some(Phase::Deployed), _) => IDLE.to_string().into(),
            (_, Some(revision)) => {
                let age = format!(" {age}");
                Reason {
                    text: revision.status.clone(),
                    detail: age.clone(),
                    brief: age,
                }
            }
            (_, None) => Reason::default(),
        };
        State {
            rank,
            glyph,
            tone,
            about: About::Deployment,
            reason,
        }
    }

    /// Returns since when the oldest thread of a row waits for a person.
    fn oldest_waiting(&self, row: &Row) -> Option<String> {
        let rows = self.inbox.listing().rows.iter().map(|listed| &listed.row);
        let is_its = |one: &&InboxRow| {
            one.group() == InboxGroup::Waiting
                && one.profile == *row.profile_name
                && one.deployment == row.name
        };
        let since = rows.filter(is_its).filter_map(InboxRow::since).min()?;
        let now = self.session.server_time(&row.profile_name);
        Duration::try_from(now.duration_since(since))
            .ok()
            .map(text::age)
    }
}

/// The word of a deployment whose newest revision serves, and that has nothing to do.
const IDLE: &str = "idle";

/// The word of an agent server without a control plane that answers.
const UP: &str = "up";

/// What a state is about, which decides what its tile opens.
#[derive(Debug, Clone, Copy)]
enum About {
    Deployment,
    FailedThreads,
    Waiting,
    Stuck,
}

/// One state of a row.
struct State {
    rank: Rank,
    glyph: &'static str,
    tone: Tone,
    about: About,
    reason: Reason,
}
