//! The lines of a check of a profile, as the doctor and the profiles page show them.

use crate::widgets::line::{Line, Tone, wrap};
use runtail_api::doctor::{Check, State};

/// Returns the state and the name of a check in this many columns, and what was found beside them.
pub fn check_lines(
    check: &Check,
    found: &str,
    columns: usize,
    width: usize,
    ascii: bool,
) -> Vec<Line> {
    let (glyph, plain) = check.state.glyph();
    let tone = match check.state {
        State::Good => Tone::Good,
        State::Warn => Tone::Moving,
        State::Bad(_) => Tone::Bad,
        State::Skipped => Tone::Dim,
    };
    let lines = wrap(found, width.saturating_sub(columns)).into_iter();
    let named = |(n, part): (usize, String)| {
        let head = match n {
            0 => Line::of(tone, if ascii { plain } else { glyph }).with_plain(&format!(
                " {:<1$}",
                check.name,
                columns - 2
            )),
            _ => Line::plain(&" ".repeat(columns)),
        };
        head.with_plain(&part)
    };
    lines.enumerate().map(named).collect()
}
