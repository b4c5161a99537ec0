//! Which part of the screen is whose. Pure, and used by both `update` (page sizes) and `draw`.

use super::{App, Pane};

/// From this width on the three panes stand side by side.
pub const WIDE: u16 = 120;
/// Below this the dashboard says that it is too small.
pub const SMALLEST: (u16, u16) = (60, 12);

/// A rectangle of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Area {
    pub x: u16,
    pub y: u16,
    pub w: u16,
    pub h: u16,
}

/// The rectangles of one screen. A pane that is not shown has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
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
    // While there is nothing to read at the right, the fleet has the whole width.
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

/// The part of a pane that is under its heading lines.
pub fn below(area: Area, lines: u16) -> Area {
    let lines = lines.min(area.h);
    Area { y: area.y + lines, h: area.h - lines, ..area }
}
