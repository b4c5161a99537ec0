//! The line of the past: which moment is shown, where on the tape it is, and what goes on from there.

use super::{Times, clock};
use crate::app::line::{Line, Tone};
use crate::app::viewer::Standing;
use crate::text::{count, width};

/// Columns of the slider: at least, and at most.
const SLIDER: (usize, usize) = (8, 60);

/// The line, for so many columns.
pub fn line(standing: &Standing, columns: usize, times: &impl Times) -> Line {
    let Standing { at, time, target, span: (oldest, newest), playing, speed } = *standing;
    let mut line = Line::of(Tone::Moving, "PAST ");
    if let Some(time) = time {
        line.push(Tone::Strong, &clock(time, times));
        line.push(Tone::Plain, "  ");
    }
    line.push(Tone::Plain, &format!("event {} of {}", count(at), count(newest)));
    if oldest > 0 {
        line.push(Tone::Dim, &format!(", from {}", count(oldest)));
    }
    let now = match (at < target && !playing, playing) {
        (true, _) => format!("  on the way to {}", count(target)),
        (_, true) => format!("  ▶ {}", speed.word()),
        (_, false) => "  paused".to_string(),
    };
    let hints = match playing {
        true => "Space pauses  S speed  G now",
        false => ", . step  < > slide  Space plays  G now",
    };
    let room = columns.saturating_sub(line.width() + width(&now) + 4);
    // The slider says where without a word, so it goes before the hints do.
    let beside = room.saturating_sub(width(hints) + 2);
    let (slider, hints) = if beside >= SLIDER.0 { (beside.min(SLIDER.1), hints) } else { (room.min(SLIDER.1), "") };
    if slider >= SLIDER.0 {
        let share = |of: usize| {
            usize::try_from(u128::from(at - oldest.min(at)) * of as u128 / u128::from((newest - oldest).max(1)))
        };
        let before = share(slider - 1).unwrap_or(0).min(slider - 1);
        line.push(Tone::Plain, "  ");
        line.push(Tone::Accent, &"─".repeat(before));
        line.push(Tone::Strong, "●");
        line.push(Tone::Dim, &"─".repeat(slider - 1 - before));
    }
    line.push(if playing { Tone::Good } else { Tone::Moving }, &now);
    if hints.is_empty() { line } else { line.right(Tone::Dim, hints) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::viewer::Speed;
    use jiff::tz::TimeZone;

    #[test]
    fn the_slider_stands_where_the_moment_is() {
        let told = |at: u64, columns: usize| {
            let time = Some(jiff::Timestamp::UNIX_EPOCH);
            let standing = Standing { at, time, target: at, span: (0, 1000), playing: false, speed: Speed::One };
            let line = line(&standing, columns, &TimeZone::UTC);
            assert!(line.width() <= columns, "{columns}");
            line.left.iter().map(|piece| piece.text.as_str()).collect::<String>()
        };
        assert!(told(0, 140).contains("event 0 of 1,000  ●──"), "{}", told(0, 140));
        assert!(told(1000, 140).contains("─●  paused"), "{}", told(1000, 140));
        let half = told(500, 100);
        let (before, after) = half.split_once('●').unwrap();
        assert!(before.matches('─').count().abs_diff(after.matches('─').count()) <= 1, "{half}");
        assert!(told(500, 60).contains("event 500 of 1,000"));
    }
}
