//! Draws the details of a comparison: what both sides wrote at the cursor, or how the final states differ.

use super::detail;
use super::page::ComparePage;
use super::view::{CompareLayout, title};
use crate::session::Cx;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::comparison::Verdict;

/// Draws the frame of the details: of two halves, or of one without the width of the other.
fn detail_frame(canvas: &mut Canvas<'_>, area: Area, half: u16, rest: Option<u16>) {
    let style = canvas.theme.style(Tone::Dim);
    let rule = |width: u16| "─".repeat(width.into());
    let border = |[start, joint, end]: [&str; 3]| match rest {
        None => format!("{start}{}{end}", rule(half)),
        Some(rest) => format!("{start}{}{joint}{}{end}", rule(half), rule(rest)),
    };
    let bottom = (area.y + area.h).saturating_sub(1);
    canvas.text(0, area.y, area.w, &border(["╭", "┬", "╮"]), style);
    canvas.text(0, bottom, area.w, &border(["╰", "┴", "╯"]), style);
    for y in area.y + 1..bottom {
        for x in [0, half + 1, area.w.saturating_sub(1)] {
            canvas.text(x, y, 1, "│", style);
        }
    }
}

/// Draws what both sides wrote at the cursor, or how the final states differ.
pub(super) fn details(
    page: &ComparePage,
    layout: &CompareLayout,
    cx: &Cx<'_>,
    canvas: &mut Canvas<'_>,
) {
    let area = layout.detail;
    let half = if page.shows_state {
        area.w.saturating_sub(2)
    } else {
        (area.w / 2).saturating_sub(1)
    };
    let rest = area.w.saturating_sub(3 + half);
    detail_frame(canvas, area, half, (!page.shows_state).then_some(rest));
    let side = if page.shows_state { "A → B" } else { "A" };
    title(
        canvas,
        1,
        area.y,
        half,
        Tone::Strong,
        &format!("{} · {side}", detail::title(page)),
    );
    let height = usize::from(area.h.saturating_sub(2));
    if page.shows_state {
        for (n, line) in page.state_lines().iter().take(height).enumerate() {
            canvas.line(2, area.y + 1 + n as u16, half.saturating_sub(2), line);
        }
        return;
    }
    let shown = page.aligned.as_ref().zip(page.at_cursor());
    let verdict = shown.and_then(|(aligned, at)| aligned.verdict(at));
    let of_b = match verdict {
        // The middle of the rows has no room for that.
        Some(Verdict::Differs(what)) if layout.middle.w < 5 => format!("B · differs: {what}"),
        _ => "B".to_string(),
    };
    title(
        canvas,
        half + 2,
        area.y,
        rest,
        Tone::Strong,
        &text::clean(&of_b),
    );
    let Some((aligned, at)) = shown else { return };
    // As far as there is room, the differences after it follow.
    let next = (at + 1..aligned.len())
        .filter(|next| aligned.is_difference(*next))
        .take(height);
    let mut used = 0;
    for row in std::iter::once(at).chain(next) {
        if row != at {
            let title = format!("── {} ", detail::name(aligned, row).unwrap_or_default());
            let y = area.y + 1 + used as u16;
            for (x, width, title) in [
                (2, half.saturating_sub(2), &*title),
                (half + 3, rest.saturating_sub(2), ""),
            ] {
                let title = text::fit(title, width.into());
                let rule = "─".repeat(usize::from(width).saturating_sub(text::width(&title)));
                canvas.line(x, y, width, &Line::dim(&format!("{title}{rule}")));
            }
            used += 1;
        }
        let widths = [
            usize::from(half.saturating_sub(2)),
            usize::from(rest.saturating_sub(2)),
        ];
        let room = height - used;
        let sides = detail::lines(page, aligned, cx.session, row, widths);
        let needed = sides.iter().map(Vec::len).max().unwrap_or(0);
        for (lines, (x, width)) in sides.into_iter().zip([2, half + 3].into_iter().zip(widths)) {
            let more = lines.len().saturating_sub(room);
            for (n, line) in lines.iter().take(room).enumerate() {
                let is_cut = more > 0 && n + 1 == room && height > 1;
                let cut = Line::dim(&format!("… {} more lines", more + 1));
                canvas.line(
                    x,
                    area.y + 1 + (used + n) as u16,
                    width as u16,
                    if is_cut { &cut } else { line },
                );
            }
        }
        // A blank line, a rule, and at least one line of the next difference.
        used += needed.min(room) + 1;
        if used + 2 > height {
            break;
        }
    }
}
