//! The layout of the screen: a pure function that both `update` (page sizes) and `draw` use.

use super::{App, Pane};
use crate::widgets::area::{Area, below, inside};

/// Minimum size for showing the deployments, their revisions and the details of a revision at once.
pub const WIDE: (u16, u16) = (120, 20);
/// Minimum lines of the revisions below the list.
const MIN_REVISIONS: u16 = 9;
/// Lines of a narrow list from which it has a title even if the title only says the number of deployments.
const TALL: u16 = 26;
/// Lines below a narrow list that describe the selected deployment: a rule and two lines.
const SUMMARY: u16 = 3;
/// Minimum lines of a narrow list that is to have a summary below it.
const MIN_LIST: u16 = 9;

/// A pane on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaneArea {
    /// The area of its contents.
    pub area: Area,
    /// The frame around it, if there are several panes.
    pub frame: Option<Area>,
    /// The line above the contents of a pane without a frame that has a title.
    pub title: Option<Area>,
}

/// The areas of the screen. A hidden pane has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Regions {
    pub header: Area,
    pub deployments: Option<PaneArea>,
    pub revisions: Option<PaneArea>,
    /// The details of the selected revision, which follow the selection and never have the focus.
    pub details: Option<PaneArea>,
    /// The lines about the selected deployment below a narrow list.
    pub summary: Option<Area>,
    /// The page of an agent server, a stream or logs.
    pub page: Option<Area>,
    pub footer: Area,
}

/// Returns the lines between header and footer.
pub fn body((w, h): (u16, u16)) -> Area {
    Area {
        x: 0,
        y: 1,
        w,
        h: h.saturating_sub(2),
    }
}

/// Lays out a screen.
pub fn layout(size: (u16, u16), app: &App) -> Regions {
    let (w, h) = size;
    let body = body(size);
    let mut regions = Regions {
        header: Area {
            x: 0,
            y: 0,
            w,
            h: 1.min(h),
        },
        footer: Area {
            x: 0,
            y: h.saturating_sub(1),
            w,
            h: 1.min(h),
        },
        ..Regions::default()
    };
    // A notice that doesn't fit into the footer is above it, and must not hide a row or the frame of a pane. Nor must a sheet.
    let notice = u16::from(super::bars::has_notice_above(app));
    let body = Area {
        h: body.h.saturating_sub(notice + app.session.sheet_rows),
        ..body
    };
    match app.focus {
        Pane::Stream => regions.page = Some(body),
        _ if w < WIDE.0 || h.saturating_sub(app.session.sheet_rows) < WIDE.1 || app.zoom => {
            single(app, body, &mut regions)
        }
        _ => panes(app, body, &mut regions),
    }
    regions
}

/// Shows only the pane with the focus.
fn single(app: &App, body: Area, regions: &mut Regions) {
    // The tab in the header already names the list.
    let has_title =
        app.focus == Pane::Revisions || body.h >= TALL || app.deployments.has_title(&app.session);
    let pane = |area: Area| match has_title {
        true => PaneArea {
            area: below(area, 1),
            frame: None,
            title: Some(Area { h: 1, ..area }),
        },
        false => PaneArea {
            area,
            frame: None,
            title: None,
        },
    };
    if app.focus == Pane::Revisions {
        regions.revisions = Some(pane(body));
        return;
    }
    let has_summary =
        !app.zoom && body.h >= MIN_LIST + SUMMARY && app.deployments.list.selected().is_some();
    let summary = if has_summary { SUMMARY } else { 0 };
    regions.deployments = Some(pane(Area {
        h: body.h - summary,
        ..body
    }));
    regions.summary = has_summary.then_some(Area {
        y: body.y + body.h - summary,
        h: summary,
        ..body
    });
}

/// Shows the list, and below it the revisions of the selected deployment beside the details of one.
fn panes(app: &App, body: Area, regions: &mut Regions) {
    // Without rows there are only words, such as why a server can't be listed, and nothing to select.
    if app.deployments.list.rows.is_empty() {
        regions.deployments = Some(PaneArea {
            area: inside(body),
            frame: Some(body),
            title: None,
        });
        return;
    }
    // The list gets the lines that it needs, its frame and its column headers; the others get the rest.
    let wanted = u16::try_from(app.deployments.list.len().max(3))
        .unwrap_or(u16::MAX)
        .saturating_add(3);
    let list = wanted.min(body.h - (body.h / 3).max(MIN_REVISIONS));
    let upper = Area { h: list, ..body };
    let lower = Area {
        y: body.y + list,
        h: body.h - list,
        ..body
    };
    let framed = |frame: Area| PaneArea {
        area: inside(frame),
        frame: Some(frame),
        title: None,
    };
    regions.deployments = Some(framed(upper));
    if app
        .deployments
        .list
        .selected()
        .is_some_and(|row| row.deployment.is_none())
    {
        regions.revisions = Some(framed(lower));
        return;
    }
    let left = lower.w / 2;
    regions.revisions = Some(framed(Area { w: left, ..lower }));
    regions.details = Some(framed(Area {
        x: left,
        w: lower.w - left,
        ..lower
    }));
}
