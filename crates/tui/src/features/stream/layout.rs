//! Where the views of a stream are shown in its pane.

use super::viewer::{View, Viewer};
use crate::widgets::area::{Area, below};

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
