//! What is shown at a glance: the strip above the deployments, and the page with a tile for each of them.

use super::{App, Overlay, Pane};
use crate::features::deployments::list::Row;
use crate::features::glance::{Count, Facts, GlancePage, Opens, Rank, STRIP, Tile};
use crate::features::stream::viewer::sum_of_rates;
use crate::widgets::line::Tone;
use crate::widgets::theme::{deployment_badge, phase_glyph};
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
        let has_room = self.session.size.1 >= MIN_HEIGHT && self.focus != Pane::Stream && self.overlays.is_empty();
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
        let is_shown = self.has_strip && self.focus != Pane::Stream && self.session.size.1 >= MIN_HEIGHT;
        if is_shown { STRIP } else { 0 }
    }

    /// Passes what is known now to the open page.
    pub(super) fn refresh_glance(&mut self) {
        if !self.overlays.iter().any(|overlay| matches!(overlay, Overlay::Glance(_))) {
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
        let is_known = self.inbox.counts().is_some();
        let of = |group: InboxGroup| -> Vec<&InboxRow> {
            listing.rows.iter().map(|row| &row.row).filter(|row| row.group() == group).collect()
        };
        let (waiting, failed) = (of(InboxGroup::Waiting), of(InboxGroup::Failed));
        let age = |row: &InboxRow| {
            let now = self.session.server_time(&row.profile);
            let age = row.since().and_then(|since| Duration::try_from(now.duration_since(since)).ok());
            age.map(text::age).unwrap_or_default()
        };
        let place = |row: &InboxRow| crate::features::inbox::place_name(row);
        let count = |rows: &[&InboxRow], one: Option<&&InboxRow>, word: &str| {
            let (age, place) = one.map(|row| (age(row), place(row))).unwrap_or_default();
            let detail = if age.is_empty() { String::new() } else { format!("{word} {age}") };
            Count { number: is_known.then_some(rows.len()), detail, brief: (age, place.clone()), place }
        };
        let oldest = waiting.iter().min_by_key(|row| row.since());
        let newest = failed.iter().max_by_key(|row| row.since());
        let running: usize = self.deployments.list.rows.iter().map(|row| row.counts.busy).sum();
        let updated = self.session.profiles.iter().filter_map(|profile| profile.loaded_at).max();
        Facts {
            waiting: count(&waiting, oldest, "oldest"),
            failed: count(&failed, newest, "newest"),
            running: Count { number: is_known.then_some(running), ..self.rate_now() },
            tiles: self.glance_tiles(),
            updated_at: updated,
            is_measuring: self.is_measuring(),
        }
    }

    /// Returns the rate of the open streams as the detail of a count; an empty one if nothing arrives.
    fn rate_now(&self) -> Count {
        let Some(sum) = sum_of_rates(self.stream.tabs.all().iter(), self.session.now) else { return Count::default() };
        let rate = format!("{} {}/s", text::count(sum.rate), sum.unit);
        let streams = if sum.streams == 1 { "1 open stream".into() } else { format!("{} open streams", sum.streams) };
        let brief = (rate.clone(), format!("in {} open", sum.streams));
        Count { number: None, detail: format!("{rate} in {streams}"), place: sum.strip, brief }
    }

    /// Returns whether the rate of the open streams changes with the next second.
    pub(super) fn is_measuring(&self) -> bool {
        self.stream.tabs.all().iter().any(|viewer| viewer.has_recent_rate(self.session.now))
    }

    fn glance_tiles(&self) -> Vec<Tile> {
        let rows = self.deployments.list.rows.iter().filter(|row| !row.gone).map(|row| self.tile(row));
        let unlisted = self.session.profiles.iter().filter_map(|profile| {
            let error = profile.error.as_ref().filter(|_| profile.loaded_at.is_none())?;
            Some(Tile {
                id: format!("profile {}", profile.name),
                rank: Rank::Unknown,
                glyph: "?",
                tone: Tone::Dim,
                name: profile.name.to_string(),
                region: String::new(),
                about: format!("{}, not listed", error.badge()),
                opens: Opens::Profiles,
            })
        });
        rows.chain(unlisted).collect()
    }

    fn tile(&self, row: &Row) -> Tile {
        let profile = self.session.profiles.get(row.profile);
        let age = |row: &Row| {
            let created = row.newest.as_ref().and_then(|revision| revision.created_at);
            created.zip(profile).map(|(at, profile)| text::age(profile.since(at, self.session.now))).unwrap_or_default()
        };
        let counts = row.counts;
        let number = |n: usize, word: &str| format!("{} {word}", text::count(n as u64));
        let status = row.newest.as_ref().map(|revision| revision.status.as_str()).unwrap_or_default();
        let phase = row.newest.as_ref().map(|revision| revision.phase());
        let is_stale = profile.is_some_and(|profile| profile.error.is_some());
        let (rank, glyph, tone, about) = match phase {
            _ if is_stale && row.deployment.is_some() => (Rank::Unknown, "?", Tone::Dim, "not up to date".to_string()),
            Some(Phase::Failed) => (Rank::Failed, "✗", Tone::Bad, format!("{status} {}", age(row))),
            _ if counts.waiting > 0 => (Rank::Waiting, "◆", Tone::Waiting, number(counts.waiting, "waiting")),
            _ if counts.failed > 0 => (Rank::Failed, "✗", Tone::Bad, number(counts.failed, "failed")),
            Some(Phase::Moving | Phase::Waiting | Phase::Unknown) => {
                let (glyph, tone) = phase_glyph(phase.unwrap_or(Phase::Unknown));
                (Rank::Moving, glyph, tone, format!("{status} {}", age(row)))
            }
            Some(Phase::Interrupted | Phase::Skipped) => {
                (Rank::Ended, "■", Tone::Plain, format!("{status} {}", age(row)))
            }
            Some(Phase::Deployed) if counts.busy > 0 => (Rank::Good, "●", Tone::Good, number(counts.busy, "running")),
            Some(Phase::Deployed) => (Rank::Good, "●", Tone::Good, "idle".into()),
            None if row.deployment.is_none() && counts.busy > 0 => {
                (Rank::Good, "●", Tone::Good, number(counts.busy, "running"))
            }
            None => (Rank::Unknown, "?", Tone::Dim, String::new()),
        };
        // A deployment that is being deleted or has no use isn't good because its newest revision was deployed.
        let own = row.deployment.as_ref().and_then(|deployment| deployment.status.as_deref());
        let is_usual = matches!(own, None | Some("READY" | "AWAITING_DATABASE"));
        let (rank, glyph, tone, about) = match rank {
            Rank::Unknown | Rank::Waiting => (rank, glyph, tone, about),
            _ if is_usual => (rank, glyph, tone, about),
            _ => {
                let (glyph, tone, word) = deployment_badge(own);
                (Rank::Ended, glyph, tone, word)
            }
        };
        let opens = match &row.deployment {
            Some(deployment) => Opens::Deployment(deployment.id.clone()),
            None => Opens::Deployment(row.name.clone()),
        };
        let server = row.server(&self.session.profiles).filter(|_| rank == Rank::Waiting);
        let opens = server.map_or(opens, Opens::Inbox);
        Tile {
            id: row.id.clone(),
            rank,
            glyph,
            tone,
            name: row.name.clone(),
            region: row.tag.to_string(),
            about,
            opens,
        }
    }
}
