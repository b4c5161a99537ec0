//! What lies over the panes: help, messages, a JSON document, the composer, a document being edited.

mod answer;
mod change;
mod compose;
mod modes;
mod palette;
mod text_area;

pub use answer::answer;
pub use change::{confirm, editor, journal};
pub use compose::compose;
pub use modes::modes;
pub use palette::palette;

use super::Canvas;
use crate::app::layout::Area;
use crate::app::line::{Line, Tone};
use crate::app::scroll::{Flat, Place, window};
use crate::app::view_lines::{self, difference::tail};
use crate::app::viewer::Viewer;
use crate::app::{App, Overlay, Page};
use runtail_core::text;

/// Draws a page of lines or a document.
pub fn page(app: &App, overlay: &Overlay, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let area = app.overlay_area();
    let head = Area { x: 1, y: 2, w: area.w, h: 1 };
    match overlay {
        Overlay::Page(page, place) => {
            let (title, about) = match page {
                Page::Help => ("KEYS", ":keys tells what each is called in the configuration".to_string()),
                Page::Keys => ("KEYS IN FORCE", String::new()),
                Page::Notices => ("MESSAGES", String::new()),
                Page::Save(draft) => ("SAVE", draft.path.display().to_string()),
                Page::Explain(explained) => {
                    ("REVISION", format!("{} › {}", explained.name, text::short_id(&explained.of.revision)))
                }
                Page::Why(_) => ("WHY", app.viewer().map(explained).unwrap_or_default()),
                Page::Doctor(doctor) => ("DOCTOR", if doctor.done { doctor.sum() } else { String::new() }),
                Page::Difference { title, .. } => ("DIFFERENCE", title.clone()),
                Page::Entry(sent) => ("SENT", format!("{} {}", sent.place.method, sent.place.path)),
            };
            let used = canvas.title(head, title, true);
            canvas.foreign(head.x + used + 3, head.y, head.w.saturating_sub(used + 3), &about, Tone::Plain);
            lines(canvas, area, place, &app.page_lines(page));
        }
        Overlay::Inspect { title, tree } => {
            let mut used = canvas.title(head, &text::clean(title), true) + 3;
            if let Some(found) = view_lines::state::search(tree) {
                canvas.line(head.x + used, head.y, head.w.saturating_sub(used), &found);
                used += found.width() as u16 + 3;
            }
            let room = head.w.saturating_sub(used);
            if let Some(path) = tree.path_under_cursor().filter(|path| path != ".") {
                let path = tail(&text::clean(&path), room.into());
                canvas.foreign(head.x + used, head.y, room, &path, Tone::Dim);
            }
            for (i, (line, marked)) in tree.window().iter().enumerate() {
                let y = area.y + i as u16;
                canvas.line(area.x + 2, y, area.w.saturating_sub(2), line);
                if *marked {
                    let style = canvas.theme.style(Tone::Accent);
                    canvas.text(area.x, y, 1, "▌", style);
                }
            }
        }
        // These have functions of their own.
        Overlay::Profiles
        | Overlay::FirstRun(_)
        | Overlay::Modes(_)
        | Overlay::Compose(_)
        | Overlay::Edit(_)
        | Overlay::Confirm(_)
        | Overlay::Answer(_)
        | Overlay::Journal(_)
        | Overlay::Command(_)
        | Overlay::Browse(_)
        | Overlay::SignIn(_) => {}
    }
    None
}

fn lines(canvas: &mut Canvas<'_>, area: Area, place: &Place, lines: &[Line]) {
    let rows = Flat { first: 0, end: lines.len() as u64 };
    for (i, spot) in window(&rows, place.top, area.h as usize).enumerate() {
        if let Some(line) = lines.get(spot.key as usize) {
            canvas.line(area.x, area.y + i as u16, area.w, line);
        }
    }
}

/// The server and the thread that a card explains.
fn explained(viewer: &Viewer) -> String {
    let name = &viewer.server.name;
    match &viewer.thread_id {
        Some(thread) => format!("{name} › thread {}", text::short_id(thread)),
        None => name.to_string(),
    }
}
