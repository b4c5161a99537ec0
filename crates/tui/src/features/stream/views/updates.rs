//! The Updates view: what each node wrote.

use super::stream_view::{EVENTS, StreamView, ViewFacts, ViewRows};
use super::{View, clock, extent, last_until, namespace, pad, row_at};
use crate::features::stream::summary;
use crate::features::stream::viewer::Viewer;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::LinePos;
use runtail_stream::Seq;

/// Columns of the node.
const NODE: usize = 18;

/// The Updates view.
pub struct UpdatesTab;

impl StreamView for UpdatesTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Updates",
            empty: ("updates", ""),
            ..EVENTS
        }
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(extent(viewer.projections.updates.rows()))
    }

    /// Summarizes one node's write, from its event if that is still in memory.
    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        let row = row_at(viewer.projections.updates.rows(), spot.key)?;
        let clock = clock(row.at, &viewer.clock(View::Updates, spot.key));
        let mut line = Line::dim(&format!("{clock}  "));
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
        let event = viewer.event_log.get(row.seq);
        if let Some(written) = event.and_then(|event| summary::written(&event, &row.node, room)) {
            line.left.extend(written.left);
            return Some(line);
        }
        for (i, (key, summary)) in row.keys.iter().enumerate() {
            line.push_dim(if i == 0 { "" } else { " · " });
            if !key.is_empty() {
                line.push_accent(key);
                line.push_dim(" ");
            }
            line.push_plain(summary);
        }
        Some(line)
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        Some(row_at(viewer.projections.updates.rows(), spot.key)?.seq)
    }

    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        let rows = viewer.projections.updates.rows();
        Some(last_until(rows, |row| row.seq <= seq))
    }
}
