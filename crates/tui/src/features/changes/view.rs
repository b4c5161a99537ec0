//! Draws the editor, the confirmation dialog and the journal.

use super::confirm::Confirm;
use super::editor::Editor;
use super::journal::{JournalView, outcome};
use crate::session::Cx;
use crate::session::card::profile_label;
use crate::session::card::said_in_edge;
use crate::session::page::{draw_lines, frame_of, overlay_frame, title_line};
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, marked};
use crate::widgets::scroll::Place;
use crate::widgets::table::RowStyle;
use crate::widgets::text_area_view::text_area;
use crate::widgets::text_input::TextInput;
use runtail_core::text;

/// Draws the frame with a title, the subject and its profile. The label of a profile distinguishes production without color.
fn frame(cx: &Cx<'_>, canvas: &mut Canvas<'_>, title: &str, name: &str, profile: &str) {
    overlay_frame(cx, canvas, title, &about(cx, name, profile));
}

/// Returns the subject and its profile for a title.
fn about(cx: &Cx<'_>, name: &str, profile: &str) -> Line {
    let mut line = Line::plain(name).right(Tone::Dim, profile);
    if let Some(label) = profile_label(cx, profile) {
        line = line.right(Tone::Strong, &format!(" {label}"));
    }
    if cx.session.settings.demo {
        line = line.right(Tone::Moving, " DEMO");
    }
    line
}

/// Draws the editor. Returns the position of the text cursor.
pub(super) fn editor(editor: &Editor, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let area = cx.area;
    let (title, name) = editor.subject.title_and_name();
    frame(cx, canvas, title, name, editor.subject.profile());
    let missing = editor.missing();
    let state = match &editor.problem {
        None if !missing.is_empty() => {
            let said = format!("Missing: {}", missing.join(", "));
            marked((Tone::Dim, "? "), Tone::Plain, &said, area.w.into())
        }
        None => {
            vec![Line::of(Tone::Good, "● ").with_dim(editor.subject.valid_status())]
        }
        Some(problem) => {
            let said = format!(
                "line {}, column {}: {}",
                problem.line, problem.column, problem.message
            );
            marked((Tone::Bad, "✗ "), Tone::Plain, &said, area.w.into())
        }
    };
    let why = editor.twin.why_text.as_ref().map(|why| {
        marked(
            (Tone::Plain, "  "),
            Tone::Dim,
            &format!("No form: {why}"),
            area.w.into(),
        )
    });
    let state: Vec<Line> = state.into_iter().chain(why.into_iter().flatten()).collect();
    for (i, line) in state.iter().enumerate() {
        canvas.line(area.x, area.y + i as u16, area.w, line);
    }
    let room = below(area, state.len() as u16);
    text_area(canvas, room, &editor.twin.text, editor.problem.as_ref())
}

/// Draws the preview dialog. Returns the position of the text cursor.
pub(super) fn confirm(
    confirm: &Confirm,
    cx: &Cx<'_>,
    canvas: &mut Canvas<'_>,
) -> Option<(u16, u16)> {
    let (lines, room) = confirm.laid_out(cx);
    match &confirm.several {
        None => frame_of_one(confirm, cx, canvas),
        Some(action) => {
            let title = text::capitalized(action.word());
            let subject = confirm.threads_subject(cx);
            frame(cx, canvas, &title, &subject, &confirm.profile);
        }
    }
    // The prompt follows the preview.
    let y = draw_preview(canvas, room, &confirm.place, &lines);
    if let Some(wanted) = confirm.wants_name() {
        let (typed, fits) = (&confirm.typed, confirm.may_be_sent());
        return Some(typed_prompt(canvas, (room, y), (&wanted, typed), fits));
    }
    if confirm.is_active() && !confirm.is_of_several() {
        let line = Line::moving("◐ ").with_plain("Sent, waiting…");
        canvas.line(room.x, y, room.w, &line);
    }
    None
}

/// Draws the frame of the preview of one change, with its keys in the lower edge.
fn frame_of_one(confirm: &Confirm, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let title = confirm.title();
    // The title is the verb; the rest is the subject.
    let phrases = [
        "Roll back",
        "Cancel and roll back",
        "Run again",
        "Ask again",
    ];
    let phrase = phrases
        .iter()
        .find_map(|phrase| Some((*phrase, title.strip_prefix(phrase)?.trim_start())));
    let (word, name) = phrase.unwrap_or_else(|| title.split_once(' ').unwrap_or((&title, "")));
    // A run from a checkpoint is named by its step.
    let step = title.split_once(" of thread ");
    let (word, subject) = match step.filter(|_| confirm.is_branch()) {
        Some((word, thread)) => (word, confirm.place(cx, thread)),
        None => (word, confirm.subject(cx, name)),
    };
    let edges = frame_of(cx.area);
    canvas.pane_frame(
        edges,
        &title_line(word, &about(cx, &subject, &confirm.profile)),
        true,
    );
    canvas.frame_keys(edges, &said_in_edge(&confirm.framed(cx)));
}

/// Draws the prompt for a text that confirms. Returns the position of the text cursor.
fn typed_prompt(
    canvas: &mut Canvas<'_>,
    (area, y): (Area, u16),
    (wanted, typed): (&str, &TextInput),
    fits: bool,
) -> (u16, u16) {
    let ask = format!("Type {} to confirm: ", text::clean(wanted));
    let before = text::clean(typed.around_cursor().0).into_owned();
    let x = area.x + (text::width(&ask) + text::width(&before)) as u16;
    let typed = typed.text();
    let line = Line::strong(&ask).with(
        if fits { Tone::Good } else { Tone::Plain },
        &text::clean(&typed),
    );
    canvas.line(area.x, y, area.w, &line);
    (x.min(area.x + area.w - 1), y)
}

/// Draws the lines of a preview. Returns the row of the prompt below it.
fn draw_preview(canvas: &mut Canvas<'_>, room: Area, place: &Place, lines: &[Line]) -> u16 {
    draw_lines(canvas, room, place, lines);
    // The user must know that the preview continues below before sending it.
    let shown_to = place.top.key as usize + room.h as usize;
    if lines.len() > shown_to {
        let more = lines.len() - shown_to;
        let more = format!("… {} below", text::counted(more, "more line"));
        canvas.line(room.x, room.y + room.h, room.w, &Line::accent(&more));
    }
    room.y + (lines.len() as u16).min(room.h) + 1
}

/// Draws the journal.
pub(super) fn journal(journal: &JournalView, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = cx.area;
    overlay_frame(cx, canvas, "Journal", &Line::new());
    let Some(entries) = &journal.entries else {
        return;
    };
    if entries.is_empty() {
        let text = "No changes sent this session.\n\nLists what you create, change, delete or run, with its curl command.";
        return canvas.words(
            Area {
                y: area.y - 1,
                ..area
            },
            Tone::Plain,
            text,
        );
    }
    let pane = Area {
        x: area.x.saturating_sub(2),
        w: area.w + 2,
        ..area
    };
    journal.table.draw(canvas, pane, RowStyle::default(), |at| {
        let sent = entries.get(at)?;
        let (tone, word) = outcome(sent);
        let title = match &*sent.title {
            "" => String::new(),
            title => format!("{title}  "),
        };
        let line = Line::dim(&cx.session.clock(sent.at))
            .with(tone, &format!("  {word:<12}"))
            .with_plain(&title)
            .with_dim(&format!("{} {}", sent.place.method, sent.place.path))
            .right(
                Tone::Dim,
                &format!("{}  {}", sent.place.profile, text::duration(sent.took)),
            );
        Some(line.into())
    });
}
