//! The wheel, the left button, and what is drawn with it.

use super::fleet::Sort;
use super::keys::Context;
use super::layout::{Area, below, halves};
use super::msg::Effect;
use super::update::go;
use super::viewer::View;
use super::{App, Pane, open, tabs, view_lines};
use std::ops::Range;

/// The pane that a cell belongs to.
fn pane_at(app: &App, x: u16, y: u16) -> Option<(Pane, u16)> {
    let regions = app.regions();
    let inside = |a: &Area| x >= a.x && x < a.x + a.w && y >= a.y && y < a.y + a.h;
    [(Pane::Deployments, regions.deployments), (Pane::Revisions, regions.revisions), (Pane::Stream, regions.stream)]
        .into_iter()
        .find_map(|(pane, area)| area.filter(inside).map(|a| (pane, y - a.y)))
}

pub(super) fn wheel(app: &mut App, lines: i8, x: u16, y: u16) -> Vec<Effect> {
    if !app.overlays.is_empty() {
        let context = app.context();
        go(app, context, lines.into(), true);
    } else if let Some((pane, _)) = pane_at(app, x, y) {
        app.fleet.touched = true;
        let focus = std::mem::replace(&mut app.focus, pane);
        let context = app.context();
        // The half under the pointer moves, and the focus stays where it is.
        let half = half_at(app, x, y).filter(|_| context == Context::Stream);
        let before = app.viewer().map(|viewer| viewer.view());
        if let (Some((view, _)), Some(viewer)) = (half, app.viewer_mut()) {
            viewer.focus(view);
        }
        go(app, context, lines.into(), matches!(context, Context::Stream | Context::Logs));
        if let (Some(before), Some(viewer)) = (before, app.viewer_mut()) {
            viewer.focus(before);
        }
        app.focus = focus;
    }
    Vec::new()
}

/// The view whose half a cell belongs to, and the line in it.
fn half_at(app: &App, x: u16, y: u16) -> Option<(View, Option<usize>)> {
    let area = below(app.regions().stream?, app.stream_head());
    let across = |a: Area| (a.x..a.x + a.w).contains(&x) && (a.y..a.y + a.h).contains(&y);
    halves(area, app.viewer()?).into_iter().find_map(|half| {
        let line = across(half.rows).then(|| usize::from(y - half.rows.y));
        let here = line.is_some() || half.head.is_some_and(across);
        here.then_some((half.view, line))
    })
}

/// The columns of the slider on the screen, while the past is shown; the row is the head's last.
fn slider(app: &App) -> Option<(Range<u16>, u16)> {
    let area = app.regions().stream.filter(|_| app.logs.is_none())?;
    let viewer = app.viewer()?;
    // A line that is typed, or a search, stands in its place.
    if view_lines::find::line(viewer).is_some() {
        return None;
    }
    let columns = view_lines::past::slider(&viewer.standing()?, area.w.saturating_sub(2).into(), &app.settings.tz)?;
    let at = |column: usize| (area.x + 1).saturating_add(u16::try_from(column).unwrap_or(u16::MAX));
    Some((at(columns.start)..at(columns.end), area.y + app.stream_head() - 1))
}

/// The slider goes to the pointer, and with it the past: beyond its ends it stays at them.
fn slide(app: &mut App, x: u16) {
    let Some((columns, _)) = slider(app) else { return };
    let last = columns.end.saturating_sub(1).max(columns.start);
    let part = x.clamp(columns.start, last) - columns.start;
    if let Some(viewer) = app.viewer_mut() {
        viewer.slide_to(part.into(), (last - columns.start).into());
    }
}

pub(super) fn drag(app: &mut App, x: u16) -> Vec<Effect> {
    if app.slides && app.overlays.is_empty() {
        slide(app, x);
    }
    Vec::new()
}

/// A click in the pane of a stream: on a tab, or on an entry of a view.
fn click_stream(app: &mut App, area: Area, x: u16, y: u16) {
    let (width, column) = (area.w.saturating_sub(2), (x - area.x).saturating_sub(1));
    let above = u16::from(app.has_stream_tabs());
    match y - area.y {
        0 if above > 0 => {
            if let Some(at) = tabs::stream_at(app, width, column) {
                app.streams.show(at);
            }
        }
        row if row == above + 1 => {
            let view = app.viewer().and_then(|viewer| tabs::view_at(app, viewer, width, column));
            if let (Some(view), Some(viewer)) = (view, app.viewer_mut()) {
                viewer.show(view);
            }
        }
        _ if slider(app).is_some_and(|(columns, row)| row == y && columns.contains(&x)) => {
            app.slides = true;
            slide(app, x);
        }
        _ => {
            if let (Some((view, line)), Some(viewer)) = (half_at(app, x, y), app.viewer_mut()) {
                viewer.focus(view);
                if let Some(line) = line {
                    viewer.point_at(line);
                }
            }
        }
    }
}

pub(super) fn click(app: &mut App, x: u16, y: u16) -> Vec<Effect> {
    app.slides = false;
    if !app.overlays.is_empty() {
        return Vec::new();
    }
    let Some((pane, row)) = pane_at(app, x, y) else { return Vec::new() };
    app.focus = pane;
    app.fleet.touched = true;
    // What was typed stays, as with Enter.
    if app.prompt.take().is_some() {
        app.end_finding(true);
    }
    let (deployments, _, rows) = app.list_heights();
    match (pane, &mut app.server) {
        (Pane::Deployments, _) if row >= open::DEPLOYMENTS_HEAD => {
            let at = app.fleet.picker.top() + usize::from(row - open::DEPLOYMENTS_HEAD);
            app.fleet.select(deployments, at);
        }
        // A head sorts; the one that sorts already, the other way round.
        (Pane::Deployments, _) if row + 1 == open::DEPLOYMENTS_HEAD => {
            let head = app.columns().into_iter().find(|p| (p.x..=p.x + p.width).contains(&x));
            if let Some(place) = head {
                let sort = app.fleet.sort();
                let reversed = sort.column == place.column && !sort.reversed;
                app.fleet.set_sort(Sort { column: place.column, reversed });
            }
        }
        (Pane::Stream, _) if app.logs.is_some() && row >= open::STREAM_HEAD => {
            if let Some(logs) = &mut app.logs {
                let flat = logs.rows();
                let by = logs.place.top.key as isize + isize::from(row as i16 - open::STREAM_HEAD as i16)
                    - logs.place.cursor.key as isize;
                logs.place.step(&flat, rows, by);
            }
        }
        (Pane::Stream, _) if app.logs.is_none() && app.streams.shown().is_some() => {
            if let Some(area) = app.regions().stream {
                click_stream(app, area, x, y);
            }
        }
        (Pane::Stream, Some(server)) if app.streams.shown().is_none() && row >= open::STREAM_HEAD => {
            let ids = server.shown_ids();
            let at = server.picker().top() + usize::from(row - open::STREAM_HEAD);
            server.picker().select(&ids, rows, at);
        }
        _ => {}
    }
    Vec::new()
}
