//! The lines of the updates view.

use super::{clock, namespace, pad};
use crate::app::line::{Line, Tone};
use crate::projection::UpdateRow;
use jiff::tz::TimeZone;

/// Columns of the node.
const NODE: usize = 18;

/// One node's write.
pub fn line(row: &UpdateRow, tz: &TimeZone) -> Line {
    let mut line = Line::of(Tone::Dim, &format!("{}  ", clock(row.at, tz)));
    let before = line.width();
    if !row.ns.is_empty() {
        line.push(Tone::Ns, &format!("{} › ", namespace(&row.ns)));
    }
    if row.interrupt {
        line.push(Tone::Moving, "◌ interrupt");
    } else {
        line.push(Tone::Strong, &row.node);
    }
    pad(&mut line, before + NODE);
    for (i, (key, summary)) in row.keys.iter().enumerate() {
        line.push(Tone::Dim, if i == 0 { "  " } else { ", " });
        if !key.is_empty() {
            line.push(Tone::Accent, key);
            line.push(Tone::Dim, " ");
        }
        line.push(Tone::Plain, summary);
    }
    line
}
