//! The form for small terminals: one list with the verdict first, the details below.

use super::aligned::Aligned;
use super::keys::Keys;
use super::page::{ComparePage, Shown};
use super::view::{sign_tone, title, verdict_tone, what};
use super::{detail, keys};
use crate::session::Cx;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::scroll::{Flat, window};
use runtail_core::text;
use runtail_stream::comparison::{Comparison, Row, Step, Verdict};

/// The areas of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The rows, below the places of both sides.
    pub rows: Area,
    /// The details, below their title.
    detail: Area,
}

/// Lays out the page: two lines with the sides, a line with what they have in common, rows, details, totals. What steps wrote
/// needs more room than the value of a key; the list leaves the details the rows that it doesn't need.
pub(super) fn layout((w, h): (u16, u16), needed: Option<usize>, is_of_keys: bool) -> Layout {
    let body = h.saturating_sub(7);
    let least = if is_of_keys {
        (body / 4).clamp(2, 4)
    } else {
        (body / 2).clamp(2, 9)
    };
    let most = body.saturating_sub(least + 1);
    let count = needed.map_or(most, |needed| {
        u16::try_from(needed)
            .unwrap_or(most)
            .clamp(2.min(most), most)
    });
    let below = body.saturating_sub(count + 1);
    let rows = Area {
        x: 0,
        y: 4,
        w,
        h: count,
    };
    Layout {
        rows,
        detail: Area {
            x: 1,
            y: rows.y + rows.h + 1,
            w: w.saturating_sub(2),
            h: below,
        },
    }
}

/// Draws the page.
pub(super) fn draw(page: &ComparePage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (w, h) = cx.session.page_size();
    let layout = layout((w, h), page.needed(), page.is_of_keys());
    canvas.clear(Area {
        x: 0,
        y: 1,
        w,
        h: h.saturating_sub(2),
    });
    for (which, name) in ["A", "B"].into_iter().enumerate() {
        let tone = if page.focus == which {
            Tone::Focus
        } else {
            Tone::Dim
        };
        let state = page
            .side(which)
            .map(|side| text::clean(side.state()).into_owned());
        // The title of a revision has its commit.
        let commit = || page.made_from(which).filter(|_| page.is_of_deployments());
        let status = state.or_else(commit).unwrap_or_default();
        let mut line =
            Line::of(tone, &format!("{name}  ")).with_plain(&page.title(cx.session, which));
        if let Some(error) = page.missing(which) {
            // The error is in the details.
            let (tone, words) = match error {
                Some(_) if page.aligned.is_some() => (Tone::Bad, "not loaded"),
                Some(error) => (Tone::Bad, error),
                None => (Tone::Dim, "loading…"),
            };
            line = line.right(tone, words);
        } else {
            line = line.right(Tone::Dim, &status);
        }
        canvas.line_for_right(1, 1 + which as u16, w.saturating_sub(2), &line);
    }
    let Some(aligned) = &page.aligned else { return };
    let first = || {
        aligned
            .first_name()
            .map(|first| format!("First difference: {first}"))
    };
    let same = || page.no_difference().map(str::to_string);
    let head = aligned
        .not_comparable()
        .or_else(first)
        .or_else(same)
        .unwrap_or_default();
    canvas.line(
        1,
        3,
        w.saturating_sub(2),
        &Line::strong(&head).right(Tone::Dim, &page.common()),
    );
    let flat = Flat {
        first: 0,
        end: page.shown.len() as u64,
    };
    for (n, line) in window(&flat, page.place.top, layout.rows.h.into()).enumerate() {
        let y = layout.rows.y + n as u16;
        let is_selected = line.key == page.place.cursor.key;
        let shown = match page.shown.get(line.key as usize) {
            Some(Shown::Row(at)) => match aligned {
                Aligned::Steps(comparison) => match comparison.rows.get(*at) {
                    Some(of) => row(comparison, of, is_selected),
                    None => continue,
                },
                Aligned::Keys(keys) => {
                    key_row(keys, *at, is_selected, w.saturating_sub(4).into(), cx)
                }
            },
            Some(Shown::Equal(_, count)) => Line::dim(&format!("= {count} equal")),
            None => continue,
        };
        canvas.line(3, y, w.saturating_sub(4), &shown);
        if is_selected {
            canvas.text(1, y, 1, "▌", canvas.theme.style(Tone::Accent));
        }
    }
    let is_listed = aligned.not_comparable().is_none();
    if is_listed || page.shows_state {
        details(page, layout.detail, cx, canvas);
    } else {
        let notes = aligned
            .notes()
            .iter()
            .flat_map(|note| wrap(note, w.saturating_sub(2).into()));
        for (n, note) in notes.take(h.saturating_sub(8).into()).enumerate() {
            canvas.line(1, 5 + n as u16, w.saturating_sub(2), &Line::dim(&note));
        }
    }
    let totals = match aligned {
        Aligned::Steps(comparison) => {
            let [a, b] = page.totals(comparison);
            [("Total A  ", a), ("Total B  ", b)]
        }
        Aligned::Keys(keys) => {
            let [a, b] = keys.totals(&cx.session.key("compare.commits"));
            [("", a), ("", b)]
        }
    };
    for (n, (name, line)) in totals.into_iter().enumerate() {
        let line = Line::dim(name).with_plain(&line);
        canvas.line(
            1,
            h.saturating_sub(3) + n as u16,
            w.saturating_sub(2),
            &line,
        );
    }
}

/// Returns a row: `≠ 3 chat  A 2 calls 2.3s │ B ask_customer 1.8s`.
fn row(comparison: &Comparison, row: &Row, is_selected: bool) -> Line {
    let (a, b) = comparison.steps(row);
    let of = a.or(b);
    let mut line = Line::of(
        verdict_tone(&row.verdict),
        &format!("{} ", row.verdict.sign()),
    );
    let number = of
        .and_then(|step| step.step)
        .map(|number| format!("{number} "))
        .unwrap_or_default();
    line.push_dim(&number);
    let name = of.map(Step::place).unwrap_or_default();
    let tone = if is_selected {
        Tone::Strong
    } else {
        Tone::label(of.map_or("", |step| &step.node))
    };
    line.push(tone, &text::fit(&text::clean(&name), 24));
    for (name, step) in [("  A ", a), (" │ B ", b)] {
        line.push_dim(name);
        match step {
            Some(step) => cell(&mut line, step),
            None if row.verdict == Verdict::Pending => line.push_dim("…"),
            None => line.push_dim("–"),
        }
    }
    let what = what(&row.verdict);
    if matches!(row.verdict, Verdict::Differs(_)) {
        line.right(Tone::Plain, &what)
    } else {
        line
    }
}

/// Returns a row of a key: `≠ branch  A main │ B hotfix`.
fn key_row(of: &Keys, at: usize, is_selected: bool, width: usize, cx: &Cx<'_>) -> Line {
    let verdict = of.verdict(at);
    let (tone, sign) = verdict.as_ref().map_or((Tone::Dim, " "), |verdict| {
        (verdict_tone(verdict), verdict.sign())
    });
    let mut line = Line::of(tone, &format!("{sign} "));
    let room = keys::key_width(of, width).min(width * 3 / 10);
    let name = keys::fit_end(&of.name(at), room);
    line.push(
        if is_selected {
            Tone::Strong
        } else {
            Tone::Plain
        },
        &name,
    );
    line.push_plain(&" ".repeat(room.saturating_sub(text::width(&name))));
    let half = width.saturating_sub(line.width() + 8) / 2;
    for (which, side) in ["  A ", " │ B "].into_iter().enumerate() {
        line.push_dim(side);
        let start = line.width();
        let cells = of.cells(at, which, cx.session);
        if cells.left.is_empty() {
            line.push_dim("–");
        }
        let mut rest = half;
        for piece in cells.left {
            let fitted = text::fit(&piece.text, rest).into_owned();
            rest = rest.saturating_sub(text::width(&fitted));
            line.push(piece.tone, &fitted);
        }
        if which == 0 {
            let used = line.width();
            line.push_plain(&" ".repeat((start + half).saturating_sub(used)));
        }
    }
    line
}

fn cell(line: &mut Line, step: &Step) {
    let parts = [step.tools(), step.took()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    line.push(sign_tone(step), step.sign());
    if !step.sign().is_empty() && !parts.is_empty() {
        line.push_plain(" ");
    }
    line.push_plain(&text::fit(&text::clean(&parts.join(" ")), 24));
}

/// Draws what both sides wrote, A above B.
fn details(page: &ComparePage, area: Area, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let style = canvas.theme.style(Tone::Dim);
    canvas.text(
        0,
        area.y - 1,
        area.w + 2,
        &"─".repeat(usize::from(area.w) + 2),
        style,
    );
    let after = page.place.top.key + u64::from(page.list_height(cx));
    let below = (page.shown.len() as u64).saturating_sub(after);
    let more = if below > 0 {
        format!(" ↓ {below} more ")
    } else {
        String::new()
    };
    let room = area.w.saturating_sub(4 + text::width(&more) as u16);
    title(
        canvas,
        2,
        area.y - 1,
        room,
        Tone::Strong,
        &detail::title(page),
    );
    if below > 0 {
        let x = (area.w + 1).saturating_sub(text::width(&more) as u16 + 1);
        title(canvas, x, area.y - 1, area.w, Tone::Dim, more.trim());
    }
    let lines: Vec<Line> = if page.shows_state {
        page.state_lines().to_vec()
    } else {
        let width = usize::from(area.w.saturating_sub(3));
        let Some((aligned, at)) = page.aligned.as_ref().zip(page.at_cursor()) else {
            return;
        };
        let [a, b] = detail::lines(page, aligned, cx.session, at, [width, width]);
        // Each side gets at least half of the lines.
        let height = usize::from(area.h);
        let of_b = b
            .len()
            .min((height / 2).max(height.saturating_sub(a.len())));
        let of_a = a.len().min(height.saturating_sub(of_b));
        let named = |name: &str, lines: Vec<Line>, most: usize| {
            let mark = move |n: usize, name: &str| {
                if n == 0 {
                    format!("{name}  ")
                } else {
                    "   ".into()
                }
            };
            let name = name.to_string();
            lines
                .into_iter()
                .take(most)
                .enumerate()
                .map(move |(n, line)| {
                    let mut whole = Line::dim(&mark(n, &name));
                    whole.left.extend(line.left);
                    whole
                })
        };
        named("A", a, of_a).chain(named("B", b, of_b)).collect()
    };
    for (n, line) in lines.iter().take(area.h.into()).enumerate() {
        canvas.line(area.x, area.y + n as u16, area.w, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fit_every_size() {
        for h in 12..60 {
            for (needed, is_of_keys) in [
                (None, false),
                (Some(0), true),
                (Some(12), true),
                (Some(400), false),
            ] {
                let layout = layout((80, h), needed, is_of_keys);
                assert!(
                    layout.rows.h >= 2 && layout.detail.y + layout.detail.h < h - 2,
                    "{h}: {layout:?}"
                );
                assert!(layout.detail.h >= 2, "{h}: {layout:?}");
            }
        }
    }
}
