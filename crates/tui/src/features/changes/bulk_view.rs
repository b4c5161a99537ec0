//! Draws the bulk answer by rules.

use super::bulk_answer::{Answered, BulkAnswer, BulkStage, Progress};
use super::confirm::confirm_area;
use super::preview_lines::{note_lines, wrapped};
use super::view::draw_preview;
use crate::session::Cx;
use crate::session::page::overlay_frame;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use runtail_core::model::Preview;
use runtail_core::text;

/// Bytes of a reason that are shown.
const MAX_REASON: usize = 400;

/// Returns the width of the lines.
pub(super) fn width(area: Area) -> usize {
    area.w.saturating_sub(2).into()
}

/// Returns the lines of the page: before anything is sent the preview, then one result per thread.
pub(super) fn lines(page: &BulkAnswer, width: usize) -> Vec<Line> {
    let mut lines = match page.stage {
        BulkStage::Planning => {
            let all = page.count(|progress| !matches!(progress, Progress::Left(_)));
            let open =
                page.count(|progress| matches!(progress, Progress::Queued | Progress::Planning));
            let said = format!(
                "Loading the current state… {} of {} loaded",
                all - open,
                threads(all)
            );
            vec![Line::dim(&text::fit(&said, width))]
        }
        BulkStage::Ready => preview(page, width),
        BulkStage::Sending | BulkStage::Stopping | BulkStage::Done => results(page, width),
    };
    let left = page.threads.iter().filter_map(|of| match &of.progress {
        Progress::Left(why) => Some((of, why)),
        _ => None,
    });
    for (n, (of, why)) in left.enumerate() {
        if n == 0 {
            lines.extend([Line::new(), Line::dim("Left unanswered")]);
        }
        let said = format!("{}: {}", of.name, text::head(why, MAX_REASON));
        for (i, part) in wrap(&text::clean(&said), width.saturating_sub(4))
            .iter()
            .enumerate()
        {
            lines.push(Line::dim(if i == 0 { "  - " } else { "    " }).with_plain(part));
        }
    }
    if page.excess > 0 {
        let said = format!(
            "{} more waiting threads are not included; open this page again for them.",
            page.excess
        );
        lines.push(Line::new());
        lines.extend(wrapped(Tone::Dim, &said, width));
    }
    lines
}

/// Counts threads: `1 thread`, `5 threads`.
fn threads(count: usize) -> String {
    if count == 1 {
        "1 thread".into()
    } else {
        format!("{count} threads")
    }
}

fn answers(count: usize) -> String {
    if count == 1 {
        "1 answer".into()
    } else {
        format!("{count} answers")
    }
}

/// Returns the answers as they would be sent.
fn preview(page: &BulkAnswer, width: usize) -> Vec<Line> {
    let ready = page.threads.iter().filter_map(|of| match &of.progress {
        Progress::Ready(preview) => Some((of, preview)),
        _ => None,
    });
    let count = page.count(|progress| matches!(progress, Progress::Ready(_)));
    let left = page.count(|progress| matches!(progress, Progress::Left(_)));
    let order = if count == 1 {
        "one request"
    } else {
        "one request each, one after the other"
    };
    let rest = match left {
        0 => String::new(),
        1 => " 1 thread is left unanswered.".into(),
        n => format!(" {n} threads are left unanswered."),
    };
    let mut lines = wrapped(
        Tone::Strong,
        &format!("{}, {order}.{rest}", answers(count)),
        width,
    );
    for (n, (of, preview)) in ready.enumerate() {
        lines.push(Line::new());
        let name = text::fit(&text::clean(&of.name), width.saturating_sub(6)).into_owned();
        lines.push(Line::accent(&format!("{}. ", n + 1)).with_strong(&name));
        lines.extend(indented(note_lines(preview, width.saturating_sub(3))));
        lines.extend(indented(request(preview, width.saturating_sub(3))));
    }
    lines
}

fn indented(lines: Vec<Line>) -> impl Iterator<Item = Line> {
    lines.into_iter().map(|line| {
        let mut out = Line::plain("   ");
        out.left.extend(line.left);
        out
    })
}

/// Returns the exact request.
fn request(preview: &Preview, width: usize) -> Vec<Line> {
    let request = &preview.request;
    let mut lines = wrapped(
        Tone::Dim,
        &format!("{} {}", request.method, request.url),
        width,
    );
    let body = request
        .body
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    if !body.is_empty() {
        lines.extend(wrapped(Tone::Dim, &body, width));
    }
    lines
}

/// Returns one line per thread, with its result.
fn results(page: &BulkAnswer, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for of in &page.threads {
        let (tone, glyph, word, detail) = match &of.progress {
            Progress::Queued | Progress::Planning | Progress::Left(_) => continue,
            Progress::Ready(_) => (Tone::Dim, "·", "next", ""),
            Progress::Sending(_) => (Tone::Moving, "◐", "sending…", ""),
            Progress::Finished(_, finish) => (
                finish.tone,
                finish.glyph,
                finish.word,
                finish.detail.as_str(),
            ),
        };
        lines.extend(result(of, (tone, glyph, word, detail), width));
    }
    if lines.is_empty() {
        lines.push(Line::plain(
            "The rules decide about none of these threads. Nothing is sent.",
        ));
    }
    lines
}

fn result(
    of: &Answered,
    (tone, glyph, word, detail): (Tone, &str, &str, &str),
    width: usize,
) -> Vec<Line> {
    let name = text::fit(&text::clean(&of.name), width / 2).into_owned();
    let head = Line::of(tone, &format!("{glyph} "))
        .with_plain(&name)
        .with(tone, &format!("  {word}"));
    let room = width.saturating_sub(head.width() + 2);
    // A long detail gets lines of its own.
    match detail {
        "" => vec![head],
        detail if text::width(detail) <= room => {
            vec![head.with_dim(&format!("  {}", text::clean(detail)))]
        }
        detail => std::iter::once(head)
            .chain(
                wrap(&text::clean(detail), width.saturating_sub(2))
                    .iter()
                    .map(|part| Line::dim(&format!("  {part}"))),
            )
            .collect(),
    }
}

/// Returns the line below the preview: the progress of what was sent. The keys are in the footer.
fn progress(page: &BulkAnswer) -> Line {
    let ready = page.count(|progress| matches!(progress, Progress::Ready(_)));
    let sent =
        page.count(|progress| matches!(progress, Progress::Sending(_) | Progress::Finished(..)));
    match page.stage {
        BulkStage::Sending => {
            Line::moving("◐ ").with_plain(&format!("Sending {sent} of {}…", answers(sent + ready)))
        }
        BulkStage::Stopping => {
            Line::moving("◐ ").with_plain("Stopping after the answer that was already sent…")
        }
        BulkStage::Ready | BulkStage::Planning | BulkStage::Done => Line::new(),
    }
}

/// Draws the page.
pub(super) fn draw(page: &BulkAnswer, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = cx.area;
    let asked = page.threads.len() + page.excess;
    let mut line = Line::plain(&format!("{} by rules", threads(asked)));
    if cx.session.settings.demo {
        line = line.right(Tone::Moving, " DEMO");
    }
    overlay_frame(cx, canvas, "Answer", &line);
    let room = confirm_area(area);
    let y = draw_preview(canvas, area, &page.place, &lines(page, width(room)));
    canvas.line(area.x, y, area.w, &progress(page));
}
