//! Layout of the stream views in their pane.

use super::viewer::{View, Viewer};
use crate::widgets::area::{Area, below};

/// Minimum width to place two views side by side; narrower panes stack them.
const MIN_WIDTH_SIDE_BY_SIDE: u16 = 100;
/// Minimum height for two views.
const MIN_HEIGHT_STACKED: u16 = 12;

/// The area of one view on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Half {
    pub view: View,
    pub focused: bool,
    /// The heading, if two views are shown.
    pub head: Option<Area>,
    /// The area of the view's lines.
    pub rows: Area,
}

/// Returns the areas of a stream's views in the rows of its pane.
pub fn halves(area: Area, viewer: &Viewer) -> Vec<Half> {
    let shown = viewer.shown();
    let side_by_side = area.w >= MIN_WIDTH_SIDE_BY_SIDE;
    if shown.len() < 2 || (!side_by_side && area.h < MIN_HEIGHT_STACKED) {
        return vec![Half { view: viewer.view(), focused: true, head: None, rows: area }];
    }
    let parts = if side_by_side {
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
