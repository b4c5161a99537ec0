//! The wide form: two regions with the aligned steps, between them how they differ, and the details below.

use super::detail;
use super::page::{ComparePage, Shown};
use crate::session::Cx;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{Flat, window};
use runtail_core::text;
use runtail_stream::comparison::{Comparison, Row, Step, StepKind, StepState, Verdict, time_difference};

/// Columns of the region between the two sides.
const MIDDLE: u16 = 27;
/// Columns of the middle where a difference is named, and where a time difference ends.
const WHAT: usize = 7;
const TIME_END: usize = 19;

/// The areas of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The steps of A, without borders.
    left: Area,
    /// How the rows differ.
    middle: Area,
    /// The steps of B.
    pub right: Area,
    /// The rows of all three.
    pub rows: Area,
    /// The details with their frame.
    detail: Area,
}

/// Lays out the page: place, borders, headings, rows, details, totals.
pub(super) fn layout((w, h): (u16, u16)) -> Layout {
    let below = (h / 4).clamp(5, 14);
    // The place above, the totals and the footer below.
    let steps = Area { x: 0, y: 2, w, h: h.saturating_sub(4 + below) };
    let inner = w.saturating_sub(4 + MIDDLE);
    let left_w = (inner + 3) / 2;
    let rows = Area { x: 1, y: steps.y + 2, w: w.saturating_sub(2), h: steps.h.saturating_sub(3) };
    let left = Area { x: 1, w: left_w, ..rows };
    let middle = Area { x: left.x + left.w + 1, w: MIDDLE, ..rows };
    let right = Area { x: middle.x + MIDDLE + 1, w: inner - left_w, ..rows };
    Layout { left, middle, right, rows, detail: Area { x: 0, y: steps.y + steps.h, w, h: below } }
}

/// Draws the page.
pub(super) fn wide(page: &ComparePage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let layout = layout(cx.session.size);
    canvas.clear(Area { x: 0, y: 1, w: cx.session.size.0, h: cx.session.size.1.saturating_sub(2) });
    place(page, cx, canvas);
    frame(page, &layout, canvas);
    for (which, area) in [(0, layout.left), (1, layout.right)] {
        let pad = columns(area.w.into());
        let head = row_text(&[" STEP", "NODE", "TOOK", "TOKENS"], pad);
        canvas.line(area.x, area.y - 1, area.w, &Line::of(Tone::Dim, &head));
        if let Some(error) = page.missing(which) {
            let (tone, words) = error.map_or((Tone::Dim, "loading…"), |error| (Tone::Bad, error));
            canvas.words(Area { y: area.y.saturating_sub(1), ..area }, tone, words);
        } else if page.side(which).is_some_and(|side| side.steps.is_empty()) {
            canvas.words(Area { y: area.y.saturating_sub(1), ..area }, Tone::Dim, "No steps yet.");
        }
    }
    canvas.line(layout.middle.x, layout.middle.y - 1, MIDDLE, &Line::of(Tone::Dim, "      A → B  Δ TIME"));
    let Some(comparison) = &page.comparison else { return };
    if let Some(why) = comparison.not_comparable() {
        let area = Area { y: layout.rows.y.saturating_sub(1), ..layout.left };
        canvas.words(area, Tone::Plain, &why);
    }
    let flat = Flat { first: 0, end: page.shown.len() as u64 };
    for (n, line) in window(&flat, page.place.top, layout.rows.h.into()).enumerate() {
        let y = layout.rows.y + n as u16;
        let is_selected = line.key == page.place.cursor.key;
        match page.shown.get(line.key as usize) {
            Some(Shown::Row(at)) => row(page, comparison, *at, is_selected, y, &layout, canvas),
            Some(Shown::Equal(_, count)) => {
                let area = layout.middle;
                canvas.line(area.x, y, area.w, &Line::of(Tone::Dim, &format!("   =   {count} equal")));
                if is_selected {
                    let focused = if page.focus == 0 { layout.left } else { layout.right };
                    canvas.text(focused.x, y, 1, "▌", canvas.theme.style(Tone::Accent));
                }
            }
            None => {}
        }
    }
    details(page, &layout, canvas);
    totals(comparison, &layout, cx, canvas);
}

/// Draws the line with the place of both sides.
fn place(page: &ComparePage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let w = cx.session.size.0;
    let mut line = Line::of(Tone::Strong, "Compare runs   ");
    let right = page.comparison.as_ref().map(|comparison| comparison.common()).unwrap_or_default();
    let room = usize::from(w).saturating_sub(2 + 15 + text::width(&right) + 3 + 7) / 2;
    for (which, name) in ["A ", "B "].into_iter().enumerate() {
        line.push(Tone::Accent, if which == 0 { name } else { "   B " });
        line.push(Tone::Plain, &text::fit(&text::clean(&page.title(cx.session, which)), room));
    }
    canvas.line(1, 1, w.saturating_sub(2), &line.right(Tone::Dim, &right));
}

/// Draws the borders with the titles.
fn frame(page: &ComparePage, layout: &Layout, canvas: &mut Canvas<'_>) {
    let (top, bottom) = (layout.rows.y - 2, layout.rows.y + layout.rows.h);
    let style = canvas.theme.style(Tone::Dim);
    let line = |area: Area| "─".repeat(area.w.into());
    let border = |[start, first, second, end]: [&str; 4]| {
        format!("{start}{}{first}{}{second}{}{end}", line(layout.left), line(layout.middle), line(layout.right))
    };
    let w = layout.rows.w + 2;
    canvas.text(0, top, w, &border(["╭", "┬", "┬", "╮"]), style);
    canvas.text(0, bottom, w, &border(["╰", "┴", "┴", "╯"]), style);
    for y in top + 1..bottom {
        for x in [0, layout.middle.x - 1, layout.right.x - 1, w - 1] {
            canvas.text(x, y, 1, "│", style);
        }
    }
    for (which, area) in [(0, layout.left), (1, layout.right)] {
        let tone = if page.focus == which { Tone::Focus } else { Tone::Dim };
        let title = format!(" {} ", side_title(page, which));
        let style = canvas.theme.style(tone);
        canvas.text(area.x, top, area.w, &text::fit(&title, area.w.into()), style);
    }
    let first = page.comparison.as_ref().and_then(|comparison| comparison.first_difference());
    let title = match (&page.comparison, first) {
        (_, Some(first)) => format!(" FIRST DIFFERENCE: {} ", text::clean(&first)),
        (Some(comparison), None) if comparison.is_same() == Some(true) => " NO DIFFERENCES ".into(),
        _ => return,
    };
    let style = canvas.theme.style(Tone::Strong);
    canvas.text(layout.middle.x, top, MIDDLE, &text::fit(&title, MIDDLE.into()), style);
}

/// Returns the title of a side: `A · eu · success`.
fn side_title(page: &ComparePage, which: usize) -> String {
    let mut title = if which == 0 { "A".to_string() } else { "B".to_string() };
    let Some(side) = page.side(which) else { return title };
    let status = if side.is_running { "running" } else { &side.status };
    for part in [&*side.profile, status].into_iter().filter(|part| !part.is_empty()) {
        title.push_str(&format!(" · {}", text::clean(part)));
    }
    title
}

/// Returns where the columns of a side end: the name, the time, the tokens.
fn columns(width: usize) -> [usize; 3] {
    let pad = match width {
        56.. => 9,
        50.. => 6,
        _ => 1,
    };
    let tokens = width.saturating_sub(pad);
    let took = tokens.saturating_sub(if width >= 56 { 8 } else { 9 });
    [took.saturating_sub(8), took, tokens]
}

/// Puts the cells of a side into their columns.
fn row_text([step, name, took, tokens]: &[&str; 4], [name_end, took_end, tokens_end]: [usize; 3]) -> String {
    let mut out = format!("{step:>5}  ");
    let pad = |out: &mut String, to: usize| {
        let missing = to.saturating_sub(text::width(out));
        out.push_str(&" ".repeat(missing));
    };
    out.push_str(&text::fit(name, name_end.saturating_sub(7)));
    pad(&mut out, took_end.saturating_sub(text::width(took)));
    out.push_str(took);
    pad(&mut out, tokens_end.saturating_sub(text::width(tokens)));
    out.push_str(tokens);
    out
}

#[allow(clippy::too_many_arguments)]
fn row(
    page: &ComparePage,
    comparison: &Comparison,
    at: usize,
    is_selected: bool,
    y: u16,
    layout: &Layout,
    canvas: &mut Canvas<'_>,
) {
    let Some(row) = comparison.rows.get(at) else { return };
    let (a, b) = comparison.steps(row);
    // Parallel steps have one number.
    let is_parallel = |step: &Step, which: usize| {
        let before = comparison.rows[..at].iter().rev().find_map(|row| {
            let (a, b) = comparison.steps(row);
            if which == 0 { a } else { b }
        });
        step.step.is_some()
            && before.is_some_and(|before| before.step == step.step && before.namespace == step.namespace)
    };
    for (which, area, step) in [(0, layout.left, a), (1, layout.right, b)] {
        let is_pending = row.verdict == Verdict::Pending && step.is_none();
        match step {
            Some(of) => {
                let line = step_line(of, !is_parallel(of, which), is_selected, area.w.into());
                canvas.line(area.x, y, area.w, &line);
            }
            None if is_pending => canvas.line(area.x, y, area.w, &Line::of(Tone::Dim, "       …")),
            None => {}
        }
        if is_selected && page.focus == which {
            canvas.text(area.x, y, 1, "▌", canvas.theme.style(Tone::Accent));
        }
    }
    canvas.line(layout.middle.x, y, MIDDLE, &middle(comparison, row));
}

/// Returns the line of a step: number, name, time, tokens.
fn step_line(step: &Step, shows_number: bool, is_selected: bool, width: usize) -> Line {
    let ends = columns(width);
    let number = step.step.filter(|_| shows_number).map(|number| number.to_string()).unwrap_or_default();
    let name_tone = match (is_selected, step.state, step.kind) {
        (true, ..) => Tone::Strong,
        (_, StepState::Failed, _) => Tone::Bad,
        (.., StepKind::Node) => Tone::label(&step.node),
        _ => Tone::Plain,
    };
    let (place, sign) = (text::clean(&step.place()).into_owned(), step.sign());
    let rest = text::clean(step.label().strip_prefix(&own_name(step)).unwrap_or_default()).into_owned();
    let sign = if sign.is_empty() { String::new() } else { format!(" {sign}") };
    let room = ends[0].saturating_sub(7 + text::width(&sign));
    let place = text::fit(&place, room).into_owned();
    let rest = text::fit(&rest, room.saturating_sub(text::width(&place))).into_owned();
    let mut line = Line::of(Tone::Dim, &format!("{number:>5}  "));
    line.push(name_tone, &place);
    line.push(if is_selected { Tone::Strong } else { Tone::Plain }, &rest);
    line.push(sign_tone(step), &sign);
    let pad = |line: &mut Line, to: usize| {
        let missing = to.saturating_sub(line.width());
        line.push(Tone::Plain, &" ".repeat(missing));
    };
    let (took, tokens) = (step.took(), step.tokens());
    pad(&mut line, ends[1].saturating_sub(text::width(&took)));
    line.push(Tone::Plain, &took);
    pad(&mut line, ends[2].saturating_sub(text::width(&tokens)));
    line.push(Tone::Dim, &tokens);
    line
}

/// Returns the name that the label of a step begins with.
fn own_name(step: &Step) -> String {
    if step.kind == StepKind::Input { "input".into() } else { step.node.clone() }
}

/// Returns the tone of the sign of a step.
pub(super) fn sign_tone(step: &Step) -> Tone {
    match step.state {
        StepState::Running => Tone::Moving,
        StepState::Failed => Tone::Bad,
        StepState::Stopped => Tone::Dim,
        StepState::Waiting | StepState::Done => Tone::Waiting,
    }
}

/// Returns the tone of a verdict.
pub(super) fn verdict_tone(verdict: &Verdict) -> Tone {
    match verdict {
        Verdict::Differs(_) => Tone::Waiting,
        Verdict::OnlyA => Tone::Bad,
        Verdict::OnlyB => Tone::Good,
        Verdict::Same | Verdict::Unknown | Verdict::Pending => Tone::Dim,
    }
}

/// Returns what differs, in a few words.
pub(super) fn what(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Differs(what) => text::clean(what).into_owned(),
        Verdict::OnlyA => "only A".into(),
        Verdict::OnlyB => "only B".into(),
        Verdict::Unknown => "unknown".into(),
        Verdict::Same | Verdict::Pending => String::new(),
    }
}

/// Returns how a row differs: the sign, in what, and the time difference.
fn middle(comparison: &Comparison, row: &Row) -> Line {
    let mut line = Line::of(verdict_tone(&row.verdict), &format!("   {}   ", row.verdict.sign()));
    let time = comparison.time_difference(row).map(time_difference).unwrap_or_default();
    let room = usize::from(MIDDLE).saturating_sub(WHAT + if time.is_empty() { 0 } else { text::width(&time) + 1 });
    let tone = if row.verdict == Verdict::Unknown { Tone::Dim } else { Tone::Plain };
    line.push(tone, &text::fit(&what(&row.verdict), room));
    if !time.is_empty() {
        let start = TIME_END.saturating_sub(text::width(&time)).max(line.width() + 1);
        line.push(Tone::Plain, &" ".repeat(start.saturating_sub(line.width())));
        line.push(if comparison.is_much_slower(row) { Tone::Strong } else { Tone::Plain }, &time);
    }
    line
}

/// Draws what both sides wrote at the cursor, or how the final states differ.
fn details(page: &ComparePage, layout: &Layout, canvas: &mut Canvas<'_>) {
    let area = layout.detail;
    let style = canvas.theme.style(Tone::Dim);
    let half = if page.shows_state { area.w - 2 } else { area.w / 2 - 1 };
    let rest = area.w.saturating_sub(3 + half);
    let border = |[start, joint, end]: [&str; 3]| match page.shows_state {
        true => format!("{start}{}{end}", "─".repeat(half.into())),
        false => format!("{start}{}{joint}{}{end}", "─".repeat(half.into()), "─".repeat(rest.into())),
    };
    let bottom = area.y + area.h - 1;
    canvas.text(0, area.y, area.w, &border(["╭", "┬", "╮"]), style);
    canvas.text(0, bottom, area.w, &border(["╰", "┴", "╯"]), style);
    for y in area.y + 1..bottom {
        for x in [0, half + 1, area.w - 1] {
            canvas.text(x, y, 1, "│", style);
        }
    }
    let side = if page.shows_state { "A → B" } else { "A" };
    let title = format!(" {} · {side} ", detail::title(page));
    let strong = canvas.theme.style(Tone::Strong);
    canvas.text(1, area.y, half, &text::fit(&title, half.into()), strong);
    let height = usize::from(area.h.saturating_sub(2));
    if page.shows_state {
        for (n, line) in page.state_lines().iter().take(height).enumerate() {
            canvas.line(2, area.y + 1 + n as u16, half.saturating_sub(2), line);
        }
        return;
    }
    canvas.text(half + 2, area.y, rest, " B ", strong);
    let Some(row) = page.row_at_cursor() else { return };
    let widths = [usize::from(half.saturating_sub(2)), usize::from(rest.saturating_sub(2))];
    for (lines, x) in detail::lines(page, row, widths).into_iter().zip([2, half + 3]) {
        let more = lines.len().saturating_sub(height);
        for (n, line) in lines.iter().take(height).enumerate() {
            let is_cut = more > 0 && n + 1 == height;
            let cut = Line::of(Tone::Dim, &format!("… {} more lines", more + 1));
            canvas.line(x, area.y + 1 + n as u16, widths[0] as u16, if is_cut { &cut } else { line });
        }
    }
}

/// Draws the totals of both sides, or what was not compared.
fn totals(comparison: &Comparison, layout: &Layout, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (w, h) = cx.session.size;
    let y = h.saturating_sub(2);
    let half = layout.detail.w / 2;
    let [a, b] = comparison.total_lines();
    canvas.line(1, y, half.saturating_sub(2), &Line::of(Tone::Strong, "Total   ").with(Tone::Plain, &a));
    canvas.line(half + 1, y, w.saturating_sub(half + 2), &Line::of(Tone::Plain, &b));
    // Notes are in the last empty row of the regions.
    if let Some(note) = comparison.notes.first() {
        let more = comparison.notes.len() - 1;
        let more = if more > 0 { format!(" · {more} more") } else { String::new() };
        let bottom = layout.rows.y + layout.rows.h;
        let note = format!(" ? {note}{more} ");
        let room = layout.rows.w.saturating_sub(2);
        canvas.foreign(2, bottom, room, &text::fit(&note, room.into()), Tone::Dim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_fill_every_size_without_overlap() {
        for w in 110..240 {
            for h in 24..70 {
                let layout = layout((w, h));
                assert_eq!(layout.left.w + layout.middle.w + layout.right.w + 4, w, "{w}");
                assert!(layout.rows.h >= 5 && layout.right.x + layout.right.w < w, "{w}x{h}");
                assert!(layout.rows.y + layout.rows.h < layout.detail.y, "{w}x{h}");
                assert_eq!(layout.detail.y + layout.detail.h, h - 2, "{w}x{h}");
                let [name, took, tokens] = columns(layout.right.w.into());
                assert!(name > 12 && took > name && tokens > took && tokens <= layout.right.w.into(), "{w}");
            }
        }
    }
}
