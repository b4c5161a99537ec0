//! The wheel and the left button.

use super::fleet::Sort;
use super::keys::Context;
use super::layout::Area;
use super::msg::Effect;
use super::update::go;
use super::{App, Pane, open};

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
        go(app, context, lines.into(), matches!(context, Context::Stream | Context::Logs));
        app.focus = focus;
    }
    Vec::new()
}

pub(super) fn click(app: &mut App, x: u16, y: u16) -> Vec<Effect> {
    if !app.overlays.is_empty() {
        return Vec::new();
    }
    let Some((pane, row)) = pane_at(app, x, y) else { return Vec::new() };
    app.focus = pane;
    app.fleet.touched = true;
    app.filtering = false;
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
        (Pane::Stream, Some(server)) if app.streams.shown().is_none() && row >= open::STREAM_HEAD => {
            let ids = server.shown_ids();
            let at = server.picker().top() + usize::from(row - open::STREAM_HEAD);
            server.picker().select(&ids, rows, at);
        }
        _ => {}
    }
    Vec::new()
}
