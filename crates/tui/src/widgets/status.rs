//! The tones of a thread status, and ages.

use super::line::Tone;
use jiff::Timestamp;
use runtail_core::model::StatusRole;
use runtail_core::text;
use std::time::Duration;

/// Younger ages are shown in seconds.
const SECONDS_BELOW: Duration = Duration::from_secs(600);

/// Returns the tones of a status glyph and of its word.
pub fn tones(role: StatusRole) -> (Tone, Tone) {
    match role {
        StatusRole::Good => (Tone::Good, Tone::Plain),
        StatusRole::Moving | StatusRole::Queued => (Tone::Moving, Tone::Plain),
        StatusRole::Waiting => (Tone::Waiting, Tone::Waiting),
        StatusRole::Failed => (Tone::Bad, Tone::Bad),
        StatusRole::Ended => (Tone::Plain, Tone::Dim),
        StatusRole::Unknown => (Tone::Dim, Tone::Dim),
    }
}

/// The tones of the glyph and the word of a stuck run. Its state is unknown, and it needs attention.
pub const STUCK: (Tone, Tone) = (Tone::Dim, Tone::Strong);

/// Formats an age: in seconds below ten minutes, then in whole units.
pub fn since(now: Timestamp, then: Timestamp) -> String {
    let age = Duration::try_from(now.duration_since(then)).unwrap_or_default();
    if age < SECONDS_BELOW { text::duration(Duration::from_secs(age.as_secs())) } else { text::age(age) }
}
