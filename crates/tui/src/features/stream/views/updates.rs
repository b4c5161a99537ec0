//! The lines of the Updates view.

use super::{TimeFormat, clock, namespace, pad};
use crate::features::stream::summary;
use crate::widgets::line::{Line, Tone};
use runtail_stream::Event;
use runtail_stream::projection::UpdateRow;

/// Columns of the node.
const NODE: usize = 18;

/// Renders one node's write, from its event if that is still in memory.
pub fn line(row: &UpdateRow, event: Option<&Event>, width: usize, tz: &impl TimeFormat) -> Line {
    let mut line = Line::dim(&format!("{}  ", clock(row.at, tz)));
    let before = line.width();
    if !row.ns.is_empty() {
        line.push(Tone::Ns, &format!("{} › ", namespace(&row.ns)));
    }
    if row.interrupt {
        line.push(Tone::Waiting, "◆ interrupt");
    } else {
        line.push(Tone::label(&row.node), &row.node);
    }
    pad(&mut line, before + NODE);
    line.push_plain("  ");
    let room = width.saturating_sub(line.width());
    if let Some(written) = event.and_then(|event| summary::written(event, &row.node, room)) {
        line.left.extend(written.left);
        return line;
    }
    for (i, (key, summary)) in row.keys.iter().enumerate() {
        line.push_dim(if i == 0 { "" } else { " · " });
        if !key.is_empty() {
            line.push_accent(key);
            line.push_dim(" ");
        }
        line.push_plain(summary);
    }
    line
}
