//! The last 24 hours of a deployment as a strip of cells, one an hour, from the times of its revisions.

use crate::widgets::line::{Line, Tone};
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::{Phase, Revision};
use std::collections::HashMap;

/// Cells of the strip.
pub const HOURS: usize = 24;
/// Revisions to request for the strip.
pub const MAX_REVISIONS: usize = 20;
/// A revision whose record changed later than this after its creation was not in progress all that time.
const LONGEST_ROLLOUT: SignedDuration = SignedDuration::from_hours(6);
/// Maximum deployments whose past is kept: many more than any screen has rows.
const MAX_KEPT: usize = 500;

/// The state of a deployment in an hour, from the least to the most conspicuous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hour {
    /// Not known.
    Unknown,
    /// There was no revision yet.
    Nothing,
    /// A revision served, and nothing happened.
    Good,
    Queued,
    Moving,
    /// A revision ended without being deployed, and none failed.
    Interrupted,
    /// A revision failed, or none serves since one failed.
    Failed,
}

impl Hour {
    /// Returns the glyph and its tone. Height grows with trouble, so that it is visible without color.
    pub fn glyph(self) -> (&'static str, Tone) {
        match self {
            Hour::Unknown => ("╌", Tone::Dim),
            Hour::Nothing => ("·", Tone::Dim),
            Hour::Good => ("▁", Tone::Good),
            Hour::Queued => ("▃", Tone::Dim),
            Hour::Moving => ("▅", Tone::Moving),
            Hour::Interrupted => ("■", Tone::Plain),
            Hour::Failed => ("✗", Tone::Bad),
        }
    }
}

/// A revision's times, as far as the strip needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    pub created_at: Timestamp,
    /// When it became final.
    pub ended_at: Option<Timestamp>,
    pub phase: Phase,
}

impl Lifetime {
    /// Returns the times of a revision; `None` if it has no creation time.
    pub fn of(revision: &Revision) -> Option<Lifetime> {
        let (created_at, phase) = (revision.created_at?, revision.phase());
        let ended_at = phase
            .is_final()
            .then(|| revision.updated_at.unwrap_or(created_at).max(created_at));
        Some(Lifetime {
            created_at,
            ended_at,
            phase,
        })
    }

    /// Returns when it stopped being in progress. A record may change long after that, for example by a rollback.
    fn rollout_ended_at(&self, now: Timestamp) -> Timestamp {
        match self.ended_at {
            Some(end) if end.duration_since(self.created_at) <= LONGEST_ROLLOUT => end,
            Some(_) => self.created_at,
            None => now,
        }
    }
}

/// The revisions of a deployment when they were last read for the strip.
#[derive(Debug, Clone, Default)]
pub struct PastDay {
    /// The newest revision's id at that time; another one makes it outdated.
    pub newest: Option<String>,
    /// Newest first.
    pub revisions: Vec<Lifetime>,
    /// Whether there are older ones.
    pub is_cut: bool,
}

impl PastDay {
    pub fn new(revisions: &[Revision]) -> PastDay {
        PastDay {
            newest: revisions.first().map(|revision| revision.id.clone()),
            revisions: revisions.iter().filter_map(Lifetime::of).collect(),
            is_cut: revisions.len() >= MAX_REVISIONS,
        }
    }

    /// Returns whether no revision was ever deployed.
    pub fn never_deployed(&self) -> bool {
        !self.is_cut
            && self
                .revisions
                .iter()
                .all(|one| one.phase != Phase::Deployed)
    }
}

/// Drops all kept revisions once there are too many; the rows on the screen request theirs again.
pub fn evict_if_full(kept: &mut HashMap<String, PastDay>) {
    if kept.len() >= MAX_KEPT {
        kept.clear();
    }
}

/// Returns the last 24 hours, oldest first; the last one ends now. `newest` is the current state of the newest revision.
pub fn hours(past: &PastDay, newest: Option<&Revision>, now: Timestamp) -> [Hour; HOURS] {
    let mut revisions = past.revisions.clone();
    if let (Some(newest), Some(first)) = (newest.and_then(Lifetime::of), revisions.first_mut())
        && newest.created_at == first.created_at
    {
        *first = newest;
    }
    std::array::from_fn(|n| {
        let ago =
            |hours: usize| now - SignedDuration::from_hours(i64::try_from(hours).unwrap_or(0));
        hour(
            &revisions,
            past.is_cut,
            (ago(HOURS - n), ago(HOURS - 1 - n)),
            now,
        )
    })
}

/// Returns the worst state between two times.
fn hour(
    revisions: &[Lifetime],
    is_cut: bool,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Hour {
    let mut worst = None;
    let mut note = |state: Hour| worst = worst.max(Some(state));
    for one in revisions.iter().filter(|one| one.created_at < to) {
        let settled = one.rollout_ended_at(now);
        let ends_here = one.ended_at.is_some() && settled >= from && settled < to;
        match one.phase {
            Phase::Failed if ends_here => note(Hour::Failed),
            Phase::Interrupted if ends_here => note(Hour::Interrupted),
            Phase::Waiting if settled >= from => note(Hour::Queued),
            // The time before it ended, or the rollout of a serving one.
            _ if settled > from && one.created_at < settled => note(Hour::Moving),
            _ => {}
        }
    }
    worst.unwrap_or_else(|| standing(revisions, is_cut, to, now))
}

/// Returns the state of a deployment at a time when nothing happened.
fn standing(revisions: &[Lifetime], is_cut: bool, at: Timestamp, now: Timestamp) -> Hour {
    let mut settled = revisions
        .iter()
        .filter(|one| one.ended_at.is_some() && one.rollout_ended_at(now) < at);
    if settled.clone().any(|one| one.phase == Phase::Deployed) {
        return Hour::Good;
    }
    match (
        settled.any(|one| one.phase == Phase::Failed),
        revisions.iter().any(|one| one.created_at < at),
    ) {
        // An older revision, which is not known, may serve.
        _ if is_cut => Hour::Unknown,
        (true, _) => Hour::Failed,
        (false, true) => Hour::Unknown,
        (false, false) => Hour::Nothing,
    }
}

/// Returns the strip as pieces of a line.
pub fn strip(hours: &[Hour]) -> Line {
    let mut line = Line::new();
    for hour in hours {
        let (glyph, tone) = hour.glyph();
        line.push(tone, glyph);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000_000;

    fn at(minutes_ago: i64) -> Timestamp {
        Timestamp::from_second(NOW - 60 * minutes_ago).unwrap()
    }

    fn one(status: &str, created: i64, ended: i64) -> Lifetime {
        let phase = Phase::of(status);
        Lifetime {
            created_at: at(created),
            ended_at: phase.is_final().then(|| at(ended)),
            phase,
        }
    }

    fn drawn(revisions: &[Lifetime]) -> String {
        let past = PastDay {
            revisions: revisions.to_vec(),
            ..PastDay::default()
        };
        strip(&hours(&past, None, at(0))).text()
    }

    #[test]
    fn trouble_is_shown_in_its_hour() {
        let base = one("DEPLOYED", 3000, 2996);
        assert_eq!(drawn(&[base]), "▁".repeat(24));
        assert_eq!(
            drawn(&[one("BUILD_FAILED", 40, 39), base]),
            format!("{}✗", "▁".repeat(23))
        );
        assert_eq!(
            drawn(&[one("BUILDING", 1, 0), base]),
            format!("{}▅", "▁".repeat(23))
        );
        assert_eq!(
            drawn(&[one("AWAITING_BUILD", 1, 0), base]),
            format!("{}▃", "▁".repeat(23))
        );
        assert_eq!(
            drawn(&[one("INTERRUPTED", 90, 70), base]),
            format!("{}■▁", "▁".repeat(22))
        );
        // Nothing serves after a failure without an earlier deployment.
        assert_eq!(
            drawn(&[one("DEPLOY_FAILED", 200, 190)]),
            format!("{}✗✗✗✗", "·".repeat(20))
        );
        assert_eq!(drawn(&[]), "·".repeat(24));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let past = PastDay {
            revisions: vec![one("BUILD_FAILED", 100, 98)],
            is_cut: true,
            newest: None,
        };
        assert_eq!(
            strip(&hours(&past, None, at(0))).text(),
            format!("{}✗╌", "╌".repeat(22))
        );
        // A record that changed days later was not being rolled out all that time.
        let late = one("DEPLOYED", 600, 5);
        assert_eq!(drawn(&[late, one("DEPLOYED", 9000, 8990)]), "▁".repeat(24));
    }

    #[test]
    fn the_newest_revision_replaces_what_was_read_before() {
        let building = Revision {
            status: "DEPLOYED".into(),
            created_at: Some(at(30)),
            updated_at: Some(at(25)),
            ..Revision::default()
        };
        let past = PastDay {
            revisions: vec![one("BUILDING", 30, 0)],
            ..PastDay::default()
        };
        let text = strip(&hours(&past, Some(&building), at(0))).text();
        assert_eq!(text, format!("{}▅", "·".repeat(23)));
    }
}
