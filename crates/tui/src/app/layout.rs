//! Which part of the screen is whose. Pure, and used by both `update` (page sizes) and `draw`.

use super::viewer::{View, Viewer};
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

/// From this width on two views stand side by side, else one above the other.
const BESIDE: u16 = 100;
/// Below this height there is room for one view only.
const TALL: u16 = 12;

/// A view on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Half {
    /// The view.
    pub view: View,
    /// Whether it has the focus.
    pub focused: bool,
    /// Its heading, where two are shown.
    pub head: Option<Area>,
    /// Its lines.
    pub rows: Area,
}

/// Where the views of a stream are shown in the rows of its pane.
pub fn halves(area: Area, viewer: &Viewer) -> Vec<Half> {
    let shown = viewer.shown();
    let beside = area.w >= BESIDE;
    if shown.len() < 2 || (!beside && area.h < TALL) {
        return vec![Half { view: viewer.view(), focused: true, head: None, rows: area }];
    }
    let parts = if beside {
        let left = area.w / 2;
        [Area { w: left, ..area }, Area { x: area.x + left, w: area.w - left, ..area }]
    } else {
        let upper = area.h / 2;
        [Area { h: upper, ..area }, Area { y: area.y + upper, h: area.h - upper, ..area }]
    };
    let half = |((view, focused), part): ((View, bool), Area)| Half {
        view,
        focused,
        head: Some(Area { h: 1, ..part }),
        rows: below(part, 1),
    };
    shown.into_iter().zip(parts).map(half).collect()
}
