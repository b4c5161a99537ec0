//! Draws an agent server without a control plane in place of revisions: what it is, and what needs a person on it.

use super::shown_row::ShownRow;
use crate::session::inbox::{InboxListRow, table};
use crate::session::profile::server_software;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;

/// Lines around the list: what the server is and the key of the inbox, each with an empty line.
const OTHER_LINES: usize = 4;

/// Says that a server was not asked.
pub(super) const UNPOLLED: &str = "Not asked (`poll = false`); open it to ask.";

/// Draws an agent server.
pub(super) fn server(shown: ShownRow<'_>, canvas: &mut Canvas<'_>) {
    let (cx, area) = (shown.cx, shown.cx.area);
    let Some(server) = shown.server() else {
        return;
    };
    let info = match shown.info().map(|info| (&info.value, &info.error)) {
        Some((_, Some(error))) => return canvas.words(area, Tone::Bad, &error.story()),
        Some((Some(info), None)) => info,
        None if shown.is_unpolled() => return canvas.words(area, Tone::Dim, UNPOLLED),
        _ => return canvas.words(area, Tone::Dim, "Checking…"),
    };
    let room = Area {
        x: area.x + 2,
        w: area.w.saturating_sub(4),
        ..area
    };
    let mut y = area.y;
    let mut put = |line: &Line| {
        if y < area.y + area.h {
            canvas.line(room.x, y, room.w, line);
        }
        y += 1;
    };
    put(&Line::plain(&server_software(info)).with_dim(&format!(
        " · {} · no control plane",
        server.url.trim_end_matches('/')
    )));
    put(&Line::new());
    match cx.session.inbox.rows_of(&server) {
        None => put(&Line::dim("Threads not listed yet.")),
        Some(rows) if rows.is_empty() => put(&Line::plain("Nothing needs you here.")),
        Some(rows) => {
            let fit = usize::from(area.h).saturating_sub(OTHER_LINES).max(1);
            let shown = if rows.len() > fit {
                fit.saturating_sub(1)
            } else {
                rows.len()
            };
            let cells = |row: &InboxListRow| table::cells(row, cx.session, None);
            let visible = rows.iter().take(shown).map(|row| (*row, cells(row)));
            let columns = table::columns(room.w.into(), true);
            let lines = table::lines(visible.collect(), &columns, None);
            lines.iter().for_each(&mut put);
            let more = rows.len() - shown;
            if more > 0 {
                put(&Line::dim(&format!("… {} more", text::count(more as u64))));
            }
            put(&Line::new());
            put(&Line::of(Tone::Key, &cx.session.key("app.inbox")).with_dim(" inbox"));
        }
    }
}
