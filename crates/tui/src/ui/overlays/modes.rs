//! The modes of a stream, to be chosen while it goes on.

use crate::app::App;
use crate::app::layout::Area;
use crate::app::line::Tone;
use crate::app::modes::ModesDialog;
use crate::ui::Canvas;

/// Draws the dialog.
pub fn modes(app: &App, dialog: &ModesDialog, canvas: &mut Canvas<'_>) {
    let area = app.overlay_area();
    let (of, lines) = app.modes_lines(dialog, area.w as usize);
    let used = canvas.title(Area { x: 1, y: 2, w: area.w, h: 1 }, "STREAM MODES", true);
    canvas.foreign(used + 3, 2, area.w.saturating_sub(used), &format!("of {of}"), Tone::Dim);
    for (i, line) in lines.iter().enumerate().take(area.h as usize) {
        canvas.line(area.x, area.y + i as u16, area.w, line);
    }
}
