//! The time travel line: the shown event, its position in the event log, and the playback status.

use super::{TimeFormat, clock};
use crate::features::stream::viewer::{Playhead, Speed};
use crate::widgets::line::{Line, Tone};
use runtail_core::text::{count, width};
use runtail_stream::{EventNumber, Seq};
use std::ops::Range;

/// Minimum and maximum columns of the slider.
const SLIDER_WIDTH: (usize, usize) = (8, 60);
/// Columns of a time of day, and of the status.
const CLOCK_WIDTH: usize = 8;
const STATUS_WIDTH: usize = 13;
/// Minimum width to show everything.
const MIN_WIDTH_FULL: usize = 100;

/// The keys that the line names while it plays or is paused, from all of them to the one that returns to the present.
const PLAYING: [&str; 3] = ["Space pause  S speed  G", "Space pause  G", "G"];
const PAUSED: [&str; 3] = [
    ", . step  < > jump  Space play  S speed  G",
    "Space play  G",
    "G",
];

/// Returns the line at a width.
pub fn line(playhead: &Playhead, columns: usize, times: &impl TimeFormat) -> Line {
    layout(playhead, columns, times).0
}

/// Returns the columns of the slider in the line, if there is room for one.
pub fn slider(
    playhead: &Playhead,
    columns: usize,
    times: &impl TimeFormat,
) -> Option<Range<usize>> {
    layout(playhead, columns, times).1
}

fn layout(
    playhead: &Playhead,
    columns: usize,
    times: &impl TimeFormat,
) -> (Line, Option<Range<usize>>) {
    let Playhead {
        at,
        target,
        playing,
        speed,
        ..
    } = *playhead;
    let mut line = position(playhead, columns, times);
    let is_seeking = at < target && !playing;
    let status = match (is_seeking, playing) {
        (true, _) => "loading…".to_string(),
        (_, true) => format!("► {}", speed.word()),
        (_, false) if speed == Speed::One => "paused".to_string(),
        (_, false) => format!("paused, {}", speed.word()),
    };
    let present = if playhead.is_recording { "end" } else { "live" };
    let [playing_keys, paused_keys] =
        [PLAYING, PAUSED].map(|all| all.map(|keys| format!("{keys} {present}")));
    let room = columns.saturating_sub(line.width() + STATUS_WIDTH + 4);
    let beside = |keys: &String| room.saturating_sub(width(keys) + 2);
    // The key that returns to the present comes first, then the slider, then the other keys.
    let fits = paused_keys
        .iter()
        .position(|keys| beside(keys) >= SLIDER_WIDTH.0);
    let choice = fits.or_else(|| Some(2).filter(|_| width(&paused_keys[2]) < room));
    let of_slider = choice.map_or(room, |n| {
        beside(&paused_keys[n]).min(beside(&playing_keys[n]))
    });
    // Shows the seek target, even while events are being folded.
    let mark = if is_seeking { target } else { at };
    let bar = push_slider(&mut line, playhead, mark, of_slider.min(SLIDER_WIDTH.1));
    line.push(
        if playing { Tone::Good } else { Tone::Moving },
        &format!("  {status}"),
    );
    let keys = if playing { playing_keys } else { paused_keys };
    let line = match choice {
        Some(n) => line.right(Tone::Dim, &keys[n]),
        None => line,
    };
    (line, bar)
}

/// Returns the time and the number of the shown event. The width of the text and of the slider is constant, so the slider stays
/// under the mouse pointer.
fn position(playhead: &Playhead, columns: usize, times: &impl TimeFormat) -> Line {
    let time = playhead.time.map(|time| clock(time, times));
    let mut line = Line::moving("PAST ");
    line.push_strong(&format!("{:<CLOCK_WIDTH$}", time.unwrap_or_default()));
    let (number, oldest, newest) = playhead.numbers;
    let newest = count(newest.0);
    let room = newest.len();
    line.push_plain(&format!("  event {:>room$} of {newest}", count(number.0)));
    if oldest > EventNumber::default() && columns >= MIN_WIDTH_FULL {
        line.push_dim(&format!(", from {}", count(oldest.0)));
    }
    line
}

/// Adds a slider with a mark at an event. Returns its columns, if there is room for it.
fn push_slider(
    line: &mut Line,
    playhead: &Playhead,
    mark: Seq,
    room: usize,
) -> Option<Range<usize>> {
    if room < SLIDER_WIDTH.0 {
        return None;
    }
    let (oldest, newest) = playhead.span;
    let share =
        u128::from(mark - oldest) * (room - 1) as u128 / u128::from((newest - oldest).max(1));
    let before = usize::try_from(share).unwrap_or(0).min(room - 1);
    line.push_plain("  ");
    let columns = line.width()..line.width() + room;
    line.push_accent(&"━".repeat(before));
    line.push_strong("●");
    line.push_dim(&"─".repeat(room - 1 - before));
    Some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn the_slider_is_at_the_shown_event() {
        let drawn_at = |at: u64, columns: usize| {
            let time = Some(jiff::Timestamp::UNIX_EPOCH);
            let playhead = Playhead {
                at: Seq(at),
                time,
                numbers: (EventNumber(at), EventNumber(0), EventNumber(1000)),
                target: Seq(at),
                span: (Seq::START, Seq(1000)),
                playing: false,
                speed: Speed::One,
                is_recording: false,
            };
            let line = line(&playhead, columns, &TimeZone::UTC);
            let right: usize = line.right.iter().map(|piece| width(&piece.text)).sum();
            assert!(columns < 50 || line.width() + right <= columns, "{columns}");
            // The position of the slider for the mouse.
            let bar = slider(&playhead, columns, &TimeZone::UTC);
            let text = line
                .left
                .iter()
                .map(|piece| piece.text.as_str())
                .collect::<String>();
            let drawn: Vec<usize> = (0..)
                .zip(text.chars())
                .filter(|(_, c)| "━●─".contains(*c))
                .map(|(i, _)| i)
                .collect();
            assert_eq!(
                bar.map_or(Vec::new(), |bar| bar.collect()),
                drawn,
                "{columns}"
            );
            assert!(
                columns < 50
                    || line
                        .right
                        .iter()
                        .any(|piece| piece.text.ends_with("G live")),
                "{columns}: {text}"
            );
            line.left
                .iter()
                .map(|piece| piece.text.as_str())
                .collect::<String>()
        };
        assert!(
            drawn_at(0, 140).contains("event     0 of 1,000  ●──"),
            "{}",
            drawn_at(0, 140)
        );
        assert!(
            drawn_at(1000, 140).contains("━●  paused"),
            "{}",
            drawn_at(1000, 140)
        );
        let half = drawn_at(500, 100);
        let (before, after) = half.split_once('●').unwrap();
        assert!(
            before
                .matches('━')
                .count()
                .abs_diff(after.matches('─').count())
                <= 1,
            "{half}"
        );
        assert!(drawn_at(500, 60).contains("event   500 of 1,000"));
        assert!(drawn_at(500, 40).contains("event   500 of 1,000"));
    }
}
