//! Mouse input in a stream: tabs, views, entries and the slider.

use super::layout::halves;
use super::notes::{FIXED_ROWS, head_height};
use super::views::View;
use super::{StreamState, tab_bar, views};
use crate::session::Cx;
use crate::widgets::area::{Area, below};
use crate::widgets::scroll::Move;
use std::ops::Range;

impl StreamState {
    /// Returns the view at a cell, and the line in it.
    fn half_at(&self, cx: &Cx<'_>, x: u16, y: u16) -> Option<(View, Option<usize>)> {
        let viewer = self.tabs.shown()?;
        let area = below(cx.area, head_height(viewer, cx));
        let contains = |a: Area| contains(a, x, y);
        halves(area, viewer).into_iter().find_map(|half| {
            // The lines above and below the entries are not entries.
            let (head, foot) = half.view.of().around(viewer);
            let entries = usize::from(half.rows.h).saturating_sub(head.len() + foot.len());
            let line =
                contains(half.rows).then(|| usize::from(y - half.rows.y).checked_sub(head.len()));
            let line = line.map(|line| line.filter(|line| *line < entries));
            let is_inside = line.is_some() || half.head.or(half.frame).is_some_and(contains);
            is_inside.then_some((half.view, line.flatten()))
        })
    }

    /// Returns the view that has a line above its entries at a cell, with the line and the column in it.
    fn line_above_at(&self, cx: &Cx<'_>, x: u16, y: u16) -> Option<(View, usize, usize)> {
        let viewer = self.tabs.shown()?;
        let area = below(cx.area, head_height(viewer, cx));
        let mut halves = halves(area, viewer).into_iter();
        let half = halves.find(|half| contains(half.rows, x, y))?;
        let row = usize::from(y - half.rows.y);
        let column = x.checked_sub(half.rows.x + 2)?;
        let is_above = row < half.view.of().around(viewer).0.len();
        is_above.then_some((half.view, row, column.into()))
    }

    /// Returns the columns and the row of the slider while time travel is active. The row is the last one of the head.
    fn slider(&self, cx: &Cx<'_>) -> Option<(Range<u16>, u16)> {
        let (area, viewer) = (cx.area, self.tabs.shown()?);
        // The input line or a search replaces the slider.
        if views::find::line(viewer).is_some() {
            return None;
        }
        let width = area.w.saturating_sub(2).into();
        let columns =
            views::time_travel::slider(&viewer.playhead()?, width, &cx.session.settings.tz)?;
        let at =
            |column: usize| (area.x + 1).saturating_add(u16::try_from(column).unwrap_or(u16::MAX));
        Some((
            at(columns.start)..at(columns.end),
            area.y + head_height(viewer, cx) - 1,
        ))
    }

    /// Moves the slider to the pointer, clamped to its ends, and seeks there.
    fn slide(&mut self, cx: &Cx<'_>, x: u16) {
        let Some((columns, _)) = self.slider(cx) else {
            return;
        };
        let last = columns.end.saturating_sub(1).max(columns.start);
        let offset = x.clamp(columns.start, last) - columns.start;
        if let Some(viewer) = self.tabs.shown_mut() {
            viewer.slide_to(offset.into(), (last - columns.start).into());
        }
    }

    /// Moves the slider with the pointer if the button was pressed on the slider.
    pub fn drag(&mut self, cx: &Cx<'_>, x: u16) {
        if self.dragging_slider {
            self.slide(cx, x);
        }
    }

    /// Scrolls the view under the pointer; the focus stays where it is.
    pub fn wheel(&mut self, cx: &Cx<'_>, lines: isize, x: u16, y: u16) {
        let half = self.half_at(cx, x, y);
        let Some(viewer) = self.tabs.shown_mut() else {
            return;
        };
        let before = viewer.view();
        if let Some((view, _)) = half {
            viewer.focus(view);
        }
        viewer.step(lines, true);
        viewer.focus(before);
    }

    /// Handles a click on a cell of the screen: on a view's tab, on the slider, or on an entry of a view.
    pub(super) fn click_at(&mut self, cx: &Cx<'_>, x: u16, y: u16) {
        let area = cx.area;
        let (width, column) = (area.w.saturating_sub(2), (x - area.x).saturating_sub(1));
        match y - area.y {
            row if row == FIXED_ROWS - 1 => {
                let view = self
                    .tabs
                    .shown()
                    .and_then(|viewer| tab_bar::view_at(self, cx, viewer, width, column));
                if let (Some(view), Some(viewer)) = (view, self.tabs.shown_mut()) {
                    viewer.show(view);
                }
            }
            _ if self
                .slider(cx)
                .is_some_and(|(columns, row)| row == y && columns.contains(&x)) =>
            {
                self.dragging_slider = true;
                self.slide(cx, x);
            }
            _ => {
                let (half, above) = (self.half_at(cx, x, y), self.line_above_at(cx, x, y));
                let Some(viewer) = self.tabs.shown_mut() else {
                    return;
                };
                if let Some((view, line)) = half {
                    viewer.focus(view);
                    if let Some(line) = line {
                        viewer.go(Move::Point(line));
                    }
                }
                if let Some((view, row, column)) = above {
                    view.of().click_around(viewer, row, column);
                }
            }
        }
    }
}

fn contains(area: Area, x: u16, y: u16) -> bool {
    (area.x..area.x + area.w).contains(&x) && (area.y..area.y + area.h).contains(&y)
}
