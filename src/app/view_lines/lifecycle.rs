//! The lines of the lifecycle view.

use super::clock;
use crate::app::line::{Line, Tone};
use crate::projection::{LifecycleKind, LifecycleRow};
use crate::text;
use jiff::tz::TimeZone;

/// One thing that happened to a run or to the connection.
pub fn line(row: &LifecycleRow, tz: &TimeZone) -> Line {
    let (glyph, tone) = match row.kind {
        LifecycleKind::RunStart | LifecycleKind::Attempt | LifecycleKind::Retry => ("◐", Tone::Moving),
        LifecycleKind::RunDone => ("●", Tone::Good),
        LifecycleKind::End => ("■", Tone::Strong),
        LifecycleKind::Interrupt => ("◌", Tone::Moving),
        LifecycleKind::Error => ("✗", Tone::Bad),
        LifecycleKind::Gap => ("?", Tone::Bad),
        LifecycleKind::TaskStart => ("▸", Tone::Dim),
        LifecycleKind::TaskDone => ("●", Tone::Dim),
        LifecycleKind::Connection => ("·", Tone::Dim),
    };
    let body = if tone == Tone::Dim { Tone::Dim } else { Tone::Plain };
    let mut line = Line::of(Tone::Dim, &format!("{}  ", clock(row.at, tz)));
    line.push(tone, &format!("{glyph} "));
    line.push(body, &row.text);
    if let Some(run) = row.run_id.as_ref().filter(|_| row.kind == LifecycleKind::Error) {
        line = line.right(Tone::Dim, &format!("run {}", text::short_id(run)));
    }
    line
}
