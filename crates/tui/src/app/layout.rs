//! The layout of the screen: a pure function that both `update` (page sizes) and `draw` use.

use super::{App, Pane};
use crate::widgets::area::Area;

/// Minimum width for showing all three panes at once.
pub const WIDE: u16 = 120;

/// The areas of the screen. A hidden pane has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Regions {
    pub header: Area,
    pub deployments: Option<Area>,
    pub revisions: Option<Area>,
    pub stream: Option<Area>,
    pub footer: Area,
    /// Column of the rule between the left panes and the stream.
    pub split: Option<u16>,
}

/// Lays out a screen.
pub fn layout(size: (u16, u16), app: &App) -> Regions {
    let (w, h) = size;
    let body = Area { x: 0, y: 2, w, h: h.saturating_sub(4) };
    let mut regions = Regions {
        header: Area { x: 0, y: 0, w, h: 1.min(h) },
        footer: Area { x: 0, y: h.saturating_sub(1), w, h: 1.min(h) },
        ..Regions::default()
    };
    if w < WIDE || app.zoom {
        let area = Some(body);
        match app.focus {
            Pane::Deployments => regions.deployments = area,
            Pane::Revisions => regions.revisions = area,
            Pane::Stream => regions.stream = area,
        }
        return regions;
    }
    let upper = (u32::from(body.h) * 55 / 100) as u16;
    // Without a stream pane, the deployments use the full width.
    if !app.has_stream_pane() {
        regions.deployments = Some(Area { h: upper, ..body });
        regions.revisions = Some(Area { y: body.y + upper, h: body.h - upper, ..body });
        return regions;
    }
    let left = (u32::from(w) * 43 / 100).clamp(52, 68) as u16;
    regions.split = Some(left);
    regions.deployments = Some(Area { x: 0, y: body.y, w: left, h: upper });
    regions.revisions = Some(Area { x: 0, y: body.y + upper, w: left, h: body.h - upper });
    regions.stream = Some(Area { x: left + 1, y: body.y, w: w - left - 1, h: body.h });
    regions
}
