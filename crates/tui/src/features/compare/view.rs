//! Draws two regions with the aligned rows, between them how they differ, and the details below.

use super::aligned::Aligned;
use super::detail_view::details;
use super::page::{ComparePage, ListedRow};
use super::rows::{columns, key_row, number_cell, sign_line, step_cells, step_row};
use super::{detail, keys};
use crate::session::Cx;
use crate::session::compare::SideRef;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::scroll::{Flat, window};
use ratatui::style::Modifier;
use runtail_core::text;

/// Minimum columns of a page that shows everything: tokens, time differences, and what both sides have in common beside their places.
const WIDE: u16 = 110;
/// Columns of the region between the two sides on a wide page.
pub(super) const MIDDLE: u16 = 27;
/// Minimum columns of a page whose middle says what differs, and not only that something does.
const WITH_WORDS: u16 = 96;
/// Minimum lines of a narrow page that has a line of its own for the place and for the totals of each side.
const TALL: u16 = 20;
/// Columns of the first difference in the title of the middle, if its whole name has no room.
const ROOM_OF_FIRST: usize = 18;
/// Minimum number of rows of the list, so that a growing side doesn't move the details with every step.
const MIN_ROWS: u16 = 8;

/// The areas of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CompareLayout {
    /// The steps of A, without borders.
    pub left: Area,
    /// How the rows differ. On a narrow page of keys it has the keys, too, and is left of both sides.
    pub middle: Area,
    /// The steps of B.
    pub right: Area,
    /// The rows of all three.
    pub rows: Area,
    /// The details with their frame.
    pub detail: Area,
    /// The lines of the places above, and of the totals below.
    lines: u16,
}

impl CompareLayout {
    /// Returns whether the middle has the keys.
    pub fn has_keys_first(&self) -> bool {
        self.middle.x < self.left.x
    }
}

/// Lays out the page: places, borders, headings, rows, details, totals. The list takes the rows that it needs, the details the
/// rest. `longest_key`: of a comparison of keys.
pub(super) fn layout(
    (w, h): (u16, u16),
    needed: Option<usize>,
    longest_key: Option<usize>,
) -> CompareLayout {
    let is_narrow = w < WIDE;
    let lines = if is_narrow && h >= TALL { 2 } else { 1 };
    // What steps wrote needs more room than the value of a key.
    let is_of_keys = is_narrow && longest_key.is_some();
    let least = (if is_of_keys { h / 5 } else { h / 4 }).clamp(3, 14);
    // The header, the places above, the totals and the footer below; three lines are borders and headings.
    let body = h.saturating_sub(2 + 2 * lines);
    let most = body.saturating_sub(least + 3);
    let count = needed.map_or(most, |needed| {
        u16::try_from(needed)
            .unwrap_or(most)
            .clamp(MIN_ROWS.min(most), most)
    });
    let steps = Area {
        x: 0,
        y: 1 + lines,
        w,
        h: count + 3,
    };
    // Around a key, there are the sign and the mark of the cursor.
    let keys = longest_key
        .filter(|_| is_narrow)
        .map(|longest| longest.min((w * 3 / 10).into()).max(3) as u16 + 4);
    let middle_w = match (w, keys) {
        (_, Some(keys)) => keys,
        (WIDE.., _) => MIDDLE,
        (WITH_WORDS.., _) => 9,
        _ => 3,
    };
    let inner = w.saturating_sub(4 + middle_w);
    let left_w = (inner + if is_narrow { 1 } else { 3 }) / 2;
    let rows = Area {
        x: 1,
        y: steps.y + 2,
        w: w.saturating_sub(2),
        h: count,
    };
    let after = |x: u16| x + 1;
    let (left_x, middle_x) = match keys {
        Some(keys) => (after(1 + keys), 1),
        None => (1, after(1 + left_w)),
    };
    let [left, middle, right] = [
        (left_x, left_w),
        (middle_x, middle_w),
        (1 + left_w + 1 + middle_w + 1, inner - left_w),
    ]
    .map(|(x, w)| Area { x, w, ..rows });
    let below = body.saturating_sub(steps.h);
    CompareLayout {
        left,
        middle,
        right,
        rows,
        detail: Area {
            x: 0,
            y: steps.y + steps.h,
            w,
            h: below,
        },
        lines,
    }
}

/// Draws the page.
pub(super) fn draw(page: &ComparePage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let layout = page.layout(cx);
    canvas.clear(Area {
        x: 0,
        y: 1,
        w: cx.session.page_size().0,
        h: cx.session.page_size().1.saturating_sub(2),
    });
    places(page, &layout, cx, canvas);
    if let Some(why) = page.aligned.as_ref().and_then(Aligned::not_comparable) {
        return only_totals(page, &why, &layout, cx, canvas);
    }
    frame(page, &layout, cx, canvas);
    heads(page, &layout, canvas);
    let Some(aligned) = &page.aligned else { return };
    let flat = Flat {
        first: 0,
        end: page.shown.len() as u64,
    };
    for (n, line) in window(&flat, page.place.top, layout.rows.h.into()).enumerate() {
        let y = layout.rows.y + n as u16;
        let is_selected = line.key == page.place.cursor.key;
        match page.shown.get(line.key as usize) {
            Some(ListedRow::Row(at)) => {
                let drawn = match aligned {
                    Aligned::Steps(comparison) => step_row(comparison, *at, is_selected, &layout),
                    Aligned::Keys(keys) => key_row(keys, *at, is_selected, &layout, cx),
                };
                for (area, line) in [layout.left, layout.middle, layout.right]
                    .into_iter()
                    .zip(drawn)
                {
                    canvas.line(area.x, y, area.w, &line);
                }
            }
            Some(ListedRow::Equal(_, count)) => {
                let is_wide = layout.middle.w >= MIDDLE || layout.has_keys_first();
                let area = if is_wide { layout.middle } else { layout.left };
                let line =
                    sign_line(Tone::Dim, "=", area.w).with(Tone::Dim, &format!("{count} equal"));
                canvas.line(area.x, y, area.w, &line);
            }
            None => {}
        }
        if is_selected {
            let focused = if page.focus == 0 {
                layout.left
            } else {
                layout.right
            };
            canvas.text(focused.x, y, 1, "▌", canvas.theme.style(Tone::Accent));
        }
    }
    details(page, &layout, cx, canvas);
    totals(page, aligned, &layout, cx, canvas);
}

/// Draws the headings of the columns, and the text of a side without rows.
fn heads(page: &ComparePage, layout: &CompareLayout, canvas: &mut Canvas<'_>) {
    for (which, area) in [(0, layout.left), (1, layout.right)] {
        let head = match page.is_of_keys() {
            true if layout.has_keys_first() => Line::dim(" VALUE"),
            true => keys::head(page.aligned.as_ref().and_then(Aligned::keys), area.w.into()),
            false => step_cells(
                &number_cell("STEP", area.w.into()),
                Line::dim("NODE"),
                [Line::dim("TOOK"), Line::dim("TOKENS")],
                columns(area.w.into()),
            ),
        };
        canvas.line(area.x, area.y - 1, area.w, &head);
        let words = Area {
            y: area.y.saturating_sub(1),
            ..area
        };
        let steps = page.side(which).filter(|side| side.steps.is_empty());
        match (page.missing(which), steps) {
            (Some(Some(error)), _) => {
                let lines = detail::why(error, area.w.saturating_sub(4).into());
                for (y, line) in (area.y..area.y + area.h).zip(&lines) {
                    canvas.line(area.x + 2, y, area.w.saturating_sub(2), line);
                }
            }
            (Some(None), _) => canvas.words(words, Tone::Dim, "loading…"),
            (None, Some(side)) if side.is_running => {
                canvas.words(words, Tone::Dim, "No steps yet.");
            }
            (None, Some(_)) => canvas.words(words, Tone::Dim, "No steps."),
            (None, None) => {}
        }
    }
    let Area { x, y, w, .. } = layout.middle;
    let head = match page.is_of_keys() {
        _ if layout.has_keys_first() => "   KEY",
        _ if w < 5 => "",
        _ if w < MIDDLE => "A → B",
        true => "      A → B",
        false => "      A → B  Δ TIME",
    };
    canvas.line(x, y - 1, w, &Line::dim(head));
}

/// Draws the totals of sides that can't be aligned, and how their final states differ if that was asked for.
fn only_totals(
    page: &ComparePage,
    why: &str,
    layout: &CompareLayout,
    cx: &Cx<'_>,
    canvas: &mut Canvas<'_>,
) {
    let Some(comparison) = page.aligned.as_ref().and_then(Aligned::steps) else {
        return;
    };
    let w = cx.session.page_size().0.saturating_sub(2);
    canvas.line(1, 3, w, &Line::strong(&text::clean(why)));
    for (which, total) in page.totals(comparison).into_iter().enumerate() {
        let title = side_title(page, cx, which);
        let room = usize::from(layout.left.w);
        let title = text::fit(&title, room.saturating_sub(2));
        let gap = " ".repeat(room.saturating_sub(text::width(&title)));
        let total = whole_parts(&total, usize::from(w).saturating_sub(room));
        let line = Line::accent(&title).with_plain(&format!("{gap}{total}"));
        canvas.line(1, 5 + which as u16, w, &line);
    }
    if page.shows_state {
        let y = 8;
        let area = Area {
            x: 0,
            y,
            w: cx.session.page_size().0,
            h: cx.session.page_size().1.saturating_sub(y + 2),
        };
        details(
            page,
            &CompareLayout {
                detail: area,
                ..*layout
            },
            cx,
            canvas,
        );
        return;
    }
    let notes = comparison.notes.iter();
    for (n, note) in notes.flat_map(|note| wrap(note, w.into())).enumerate() {
        canvas.line(1, 8 + n as u16, w, &Line::dim(&note));
    }
}

/// Draws the places of both sides: in one line, or where it is narrow in one each.
fn places(page: &ComparePage, layout: &CompareLayout, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let w = cx.session.page_size().0;
    let (subject, right) = match w {
        WIDE.. => (format!("{}   ", page.subject()), page.common()),
        // The ends of the places say which they are, and the border has what they have in common.
        _ => Default::default(),
    };
    let room = usize::from(w).saturating_sub(2 + subject.len() + text::width(&right) + 3);
    let room = room.saturating_sub(7) / 2;
    let [a, b] = [0, 1].map(|which| {
        let place = text::clean(&page.title(cx.session, which)).into_owned();
        let place = match layout.lines {
            1 if w < WIDE => keys::fit_end(&place, room),
            1 => text::fit(&place, room).into_owned(),
            _ => place,
        };
        let name = if which == 0 { "A " } else { "B " };
        Line::accent(name).with_plain(&place)
    });
    let w = w.saturating_sub(2);
    if layout.lines == 2 {
        canvas.line(1, 1, w, &a);
        return canvas.line(1, 2, w, &b);
    }
    let mut line = Line::strong(&subject);
    line.left.extend(a.left);
    line.push_plain("   ");
    line.left.extend(b.left);
    canvas.line(1, 1, w, &line.right(Tone::Dim, &right));
}

/// Draws the borders with the titles.
fn frame(page: &ComparePage, layout: &CompareLayout, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (top, bottom) = (layout.rows.y - 2, layout.rows.y + layout.rows.h);
    let style = canvas.theme.style(Tone::Dim);
    let line = |area: Area| "─".repeat(area.w.into());
    let mut regions = [layout.left, layout.middle, layout.right];
    regions.sort_by_key(|area| area.x);
    let border =
        |[start, joint, end]: [&str; 3]| format!("{start}{}{end}", regions.map(line).join(joint));
    let w = layout.rows.w + 2;
    canvas.text(0, top, w, &border(["╭", "┬", "╮"]), style);
    canvas.text(0, bottom, w, &border(["╰", "┴", "╯"]), style);
    for y in top + 1..bottom {
        for x in [0, regions[1].x - 1, regions[2].x - 1, w - 1] {
            canvas.text(x, y, 1, "│", style);
        }
    }
    let (focused, corners) = match page.focus {
        0 if layout.has_keys_first() => (layout.left, ["┬", "┬", "┴", "┴"]),
        0 => (layout.left, ["╭", "┬", "╰", "┴"]),
        _ => (layout.right, ["┬", "╮", "┴", "╯"]),
    };
    // Some themes underline the accent.
    let accent = canvas
        .theme
        .style(Tone::Accent)
        .remove_modifier(Modifier::UNDERLINED);
    let (from, to) = (focused.x - 1, focused.x + focused.w);
    for (y, [start, end]) in [
        (top, [corners[0], corners[1]]),
        (bottom, [corners[2], corners[3]]),
    ] {
        canvas.clear(Area {
            x: from,
            y,
            w: focused.w + 2,
            h: 1,
        });
        canvas.text(
            from,
            y,
            focused.w + 2,
            &format!("{start}{}{end}", line(focused)),
            accent,
        );
    }
    for y in top + 1..bottom {
        for x in [from, to] {
            canvas.clear(Area { x, y, w: 1, h: 1 });
            canvas.text(x, y, 1, "│", accent);
        }
    }
    for (which, area) in [(0, layout.left), (1, layout.right)] {
        let tone = if page.focus == which {
            Tone::Focus
        } else {
            Tone::Dim
        };
        title(
            canvas,
            area.x,
            top,
            area.w,
            tone,
            &side_title(page, cx, which),
        );
    }
    let first = page.aligned.as_ref().and_then(Aligned::first_name);
    let words = match (first, page.no_difference()) {
        _ if layout.middle.w < MIDDLE || layout.has_keys_first() => return,
        (Some(first), _) => {
            let whole = format!("FIRST DIFFERENCE: {first}");
            if text::width(&whole) + 2 <= MIDDLE.into() {
                whole
            } else {
                format!("FIRST: {}", keys::fit_end(&first, ROOM_OF_FIRST))
            }
        }
        (None, Some(words)) => words.to_uppercase(),
        (None, None) => return,
    };
    title(canvas, layout.middle.x, top, MIDDLE, Tone::Strong, &words);
}

/// Draws a title in a border, without the border's style.
pub(super) fn title(canvas: &mut Canvas<'_>, x: u16, y: u16, width: u16, tone: Tone, words: &str) {
    let words = text::fit(&format!(" {words} "), width.into()).into_owned();
    canvas.clear(Area {
        x,
        y,
        w: text::width(&words) as u16,
        h: 1,
    });
    canvas.text(x, y, width, &words, canvas.theme.style(tone));
}

/// Returns the title of a side: `A · eu · main@9fceb02`, with the state of a run instead of a commit that isn't known.
fn side_title(page: &ComparePage, cx: &Cx<'_>, which: usize) -> String {
    let mut title = if which == 0 {
        "A".to_string()
    } else {
        "B".to_string()
    };
    let profile = match (
        page.from(which).and_then(SideRef::profile),
        page.side(which),
    ) {
        (Some(profile), _) => cx
            .session
            .profile(profile)
            .map_or(profile, |profile| profile.tag()),
        (None, Some(side)) => &side.profile,
        (None, None) => "",
    };
    let last = match (page.side(which), page.is_of_keys()) {
        (Some(side), _) => {
            let commit = commit(page, cx, which);
            let is_over = !side.is_running && side.state() == "finished";
            // That a run finished says less than its commit; any other state is important.
            let state = Some(side.state()).filter(|_| commit.is_none() || !is_over);
            [commit, state.map(|state| text::clean(state).into_owned())]
        }
        (None, true) => [page.made_from(which), None],
        (None, false) => [None, None],
    };
    let parts =
        std::iter::once(text::clean(profile).into_owned()).chain(last.into_iter().flatten());
    for part in parts.filter(|part| !part.is_empty()) {
        title.push_str(&format!(" · {part}"));
    }
    title
}

/// Returns the commit of the revision that ran a side, if it is known.
fn commit(page: &ComparePage, cx: &Cx<'_>, which: usize) -> Option<String> {
    let (Some(SideRef::Thread(thread, _)), Some(revision)) =
        (page.from(which), &page.side(which)?.revision)
    else {
        return None;
    };
    // Some servers name the commit instead of the revision.
    let is_commit =
        (7..=40).contains(&revision.len()) && revision.chars().all(|c| c.is_ascii_hexdigit());
    if is_commit {
        return revision.get(..7).map(str::to_string);
    }
    let known = cx.session.deployments.revisions(&thread.server)?;
    let (_, made_from) = known.listed.iter().find(|(id, _)| id == revision)?;
    made_from.clone()
}

/// Draws the totals of both sides, or what was not compared.
fn totals(
    page: &ComparePage,
    aligned: &Aligned,
    layout: &CompareLayout,
    cx: &Cx<'_>,
    canvas: &mut Canvas<'_>,
) {
    let (w, h) = cx.session.page_size();
    let y = h.saturating_sub(1 + layout.lines);
    let half = layout.detail.w / 2;
    let [a, b] = match aligned {
        Aligned::Steps(comparison) => page.totals(comparison),
        Aligned::Keys(keys) => keys.totals(&cx.session.key("compare.commits")),
    };
    let names = match aligned {
        Aligned::Keys(_) if w < WIDE => ["", ""],
        Aligned::Steps(_) if layout.lines == 2 => ["Total A   ", "Total B   "],
        Aligned::Steps(_) if w < WIDE => ["A ", "B "],
        _ => ["Total   ", ""],
    };
    let (of_a, of_b) = match layout.lines {
        1 => (half.saturating_sub(2), w.saturating_sub(half + 2)),
        _ => (w.saturating_sub(2), w.saturating_sub(2)),
    };
    let total = |name: &str, total: &str, width: u16| {
        let room = usize::from(width).saturating_sub(name.len());
        Line::strong(name).with_plain(&whole_parts(total, room))
    };
    canvas.line(1, y, of_a, &total(names[0], &a, of_a));
    let (x, y) = match layout.lines {
        1 => (half + 1, y),
        _ => (1, y + 1),
    };
    canvas.line(x, y, of_b, &total(names[1], &b, of_b));
    border_notes(page, aligned, layout, canvas);
}

/// Cuts the parts of a text that don't fit.
fn whole_parts(text: &str, width: usize) -> String {
    let ends = text.match_indices(" · ").map(|(at, _)| at);
    let ends = ends.chain(std::iter::once(text.len()));
    let fitting = ends.filter(|end| text::width(&text[..*end]) <= width);
    let end = fitting.last().unwrap_or(text.len());
    text::fit(&text[..end], width).into_owned()
}

/// Draws the notes into the border below the rows: what was not compared, on a narrow page also what has no room elsewhere, and
/// the number of rows below.
fn border_notes(
    page: &ComparePage,
    aligned: &Aligned,
    layout: &CompareLayout,
    canvas: &mut Canvas<'_>,
) {
    let rows = layout.rows;
    let (bottom, mut room) = (rows.y + rows.h, rows.w.saturating_sub(2));
    let after = page.place.top.key + u64::from(rows.h);
    let below = (page.shown.len() as u64).saturating_sub(after);
    if below > 0 {
        let more = format!(" ↓ {below} more ");
        let width = text::width(&more) as u16;
        room = room.saturating_sub(width + 2);
        canvas.text(
            rows.w.saturating_sub(width),
            bottom,
            width,
            &more,
            canvas.theme.style(Tone::Dim),
        );
    }
    let is_narrow = layout.detail.w < WIDE;
    let first = aligned.first_name().filter(|_| is_narrow);
    let same = page
        .no_difference()
        .filter(|_| is_narrow && first.is_none());
    let common = Some(page.common()).filter(|common| is_narrow && !common.is_empty());
    let unknown = aligned.notes().iter().enumerate();
    let mut notes: Vec<String> = same.map(str::to_string).into_iter().chain(common).collect();
    notes.extend(unknown.map(|(n, note)| match n {
        0 => format!("? {note}"),
        _ => note.clone(),
    }));
    // As many as fit, from the fullest form to the shortest.
    let labels = ["First difference: ", "First: "];
    let form = |shown: usize, label: &str| {
        let first = first.iter().map(|first| format!("{label}{first}"));
        let hidden = notes.len() - shown;
        let more = (hidden > 0).then(|| format!("{hidden} more"));
        let parts = first.chain(notes[..shown].iter().cloned()).chain(more);
        parts.collect::<Vec<_>>().join(" · ")
    };
    let forms = (0..=notes.len()).rev();
    let mut forms = forms.flat_map(|shown| labels.map(|label| form(shown, label)));
    let fitting = forms.find(|note| text::width(note) + 2 <= room.into());
    let note = fitting.unwrap_or_else(|| form(notes.len().min(1), labels[1]));
    if !note.is_empty() {
        let note = format!(" {note} ");
        canvas.foreign(2, bottom, room, &text::fit(&note, room.into()), Tone::Dim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_fill_every_size_without_overlap() {
        for w in 60..240 {
            for h in 12..70 {
                let is_large = w >= 110 && h >= 24;
                for (needed, key) in [
                    (None, None),
                    (Some(0), Some(0)),
                    (Some(12), Some(60)),
                    (Some(5_000), None),
                ] {
                    let layout = layout((w, h), needed, key);
                    assert_eq!(
                        layout.left.w + layout.middle.w + layout.right.w + 4,
                        w,
                        "{w}"
                    );
                    assert!(
                        layout.rows.h >= if is_large { 5 } else { 2 }
                            && layout.right.x + layout.right.w < w,
                        "{w}x{h}"
                    );
                    assert_eq!(
                        layout.rows.y + layout.rows.h + 1,
                        layout.detail.y,
                        "{w}x{h}"
                    );
                    let end = h - 1 - layout.lines;
                    assert_eq!(layout.detail.y + layout.detail.h, end, "{w}x{h}");
                    assert!(layout.detail.h >= if is_large { 5 } else { 3 }, "{w}x{h}");
                }
                let layout = layout((w, h), None, None);
                let [name, took, tokens] = columns(layout.right.w.into());
                assert!(
                    name > 12
                        && took > name
                        && (tokens > took || !is_large && tokens == took)
                        && tokens <= layout.right.w.into(),
                    "{w}"
                );
            }
        }
    }
}
