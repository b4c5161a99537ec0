//! Layout of the stream views in their pane.

use super::viewer::{View, Viewer};
use crate::widgets::area::{Area, below};

/// Minimum width to place two views side by side; narrower panes stack them.
const BESIDE: u16 = 100;
/// Minimum height for two views.
const TALL: u16 = 12;

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
