//! The wide form: two regions with the aligned rows, between them how they differ, and the details below.

use super::aligned::Aligned;
use super::page::{ComparePage, Shown};
use super::{detail, keys};
use crate::session::Cx;
use crate::session::compare::SideRef;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{Flat, window};
use ratatui::style::Modifier;
use runtail_core::text;
use runtail_stream::comparison::{
    Comparison, Row, Step, StepKind, StepState, Verdict, time_difference,
};

/// Columns of the region between the two sides.
const MIDDLE: u16 = 27;
/// Columns of the first difference in the title of the middle, if its whole name has no room.
const ROOM_OF_FIRST: usize = 18;
/// Minimum number of rows of the list, so that a growing side doesn't move the details with every step.
const MIN_ROWS: u16 = 8;
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

/// Lays out the page: place, borders, headings, rows, details, totals. The list takes the rows that it needs, the details the rest.
pub(super) fn layout((w, h): (u16, u16), needed: Option<usize>) -> Layout {
    let least = (h / 4).clamp(5, 14);
    // The place above, the totals and the footer below; three lines are borders and headings.
    let body = h.saturating_sub(4);
    let most = body.saturating_sub(least + 3);
    let count = needed.map_or(most, |needed| {
        u16::try_from(needed)
            .unwrap_or(most)
            .clamp(MIN_ROWS.min(most), most)
    });
    let steps = Area {
        x: 0,
        y: 2,
        w,
        h: count + 3,
    };
    let inner = w.saturating_sub(4 + MIDDLE);
    let left_w = (inner + 3) / 2;
    let rows = Area {
        x: 1,
        y: steps.y + 2,
        w: w.saturating_sub(2),
        h: count,
    };
    let left = Area {
        x: 1,
        w: left_w,
        ..rows
    };
    let middle = Area {
        x: left.x + left.w + 1,
        w: MIDDLE,
        ..rows
    };
    let right = Area {
        x: middle.x + MIDDLE + 1,
        w: inner - left_w,
        ..rows
    };
    let below = body.saturating_sub(steps.h);
    Layout {
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
    }
}

/// Draws the page.
pub(super) fn wide(page: &ComparePage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let layout = layout(cx.session.page_size(), page.needed());
    canvas.clear(Area {
        x: 0,
        y: 1,
        w: cx.session.page_size().0,
        h: cx.session.page_size().1.saturating_sub(2),
    });
    place(page, cx, canvas);
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
            Some(Shown::Row(at)) => {
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
            Some(Shown::Equal(_, count)) => {
                let area = layout.middle;
                canvas.line(
                    area.x,
                    y,
                    area.w,
                    &Line::dim(&format!("   =   {count} equal")),
                );
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
fn heads(page: &ComparePage, layout: &Layout, canvas: &mut Canvas<'_>) {
    for (which, area) in [(0, layout.left), (1, layout.right)] {
        let head = match page.is_of_keys() {
            true => keys::head(page.aligned.as_ref().and_then(Aligned::keys), area.w.into()),
            false => Line::dim(&row_text(
                &[" STEP", "NODE", "TOOK", "TOKENS"],
                columns(area.w.into()),
            )),
        };
        canvas.line(area.x, area.y - 1, area.w, &head);
        if let Some(error) = page.missing(which) {
            match error {
                Some(error) => {
                    let lines = detail::why(error, area.w.saturating_sub(4).into());
                    for (n, line) in lines.iter().take(area.h.into()).enumerate() {
                        canvas.line(
                            area.x + 2,
                            area.y + n as u16,
                            area.w.saturating_sub(2),
                            line,
                        );
                    }
                }
                None => canvas.words(
                    Area {
                        y: area.y.saturating_sub(1),
                        ..area
                    },
                    Tone::Dim,
                    "loading…",
                ),
            }
        } else if let Some(side) = page.side(which).filter(|side| side.steps.is_empty()) {
            let words = if side.is_running {
                "No steps yet."
            } else {
                "No steps."
            };
            canvas.words(
                Area {
                    y: area.y.saturating_sub(1),
                    ..area
                },
                Tone::Dim,
                words,
            );
        }
    }
    let head = if page.is_of_keys() {
        "      A → B"
    } else {
        "      A → B  Δ TIME"
    };
    canvas.line(
        layout.middle.x,
        layout.middle.y - 1,
        MIDDLE,
        &Line::dim(head),
    );
}

/// Draws the totals of sides that can't be aligned, and how their final states differ if that was asked for.
fn only_totals(
    page: &ComparePage,
    why: &str,
    layout: &Layout,
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
        let gap = " ".repeat(room.saturating_sub(text::width(&title)));
        let line = Line::accent(&text::fit(&title, room)).with_plain(&format!("{gap}{total}"));
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
            &Layout {
                detail: area,
                ..*layout
            },
            cx,
            canvas,
        );
        return;
    }
    for (n, note) in comparison.notes.iter().enumerate() {
        canvas.line(1, 8 + n as u16, w, &Line::dim(&text::clean(note)));
    }
}

/// Draws the line with the place of both sides.
fn place(page: &ComparePage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let w = cx.session.page_size().0;
    let subject = format!("{}   ", page.subject());
    let mut line = Line::strong(&subject);
    let right = page.common();
    let room = usize::from(w).saturating_sub(2 + subject.len() + text::width(&right) + 3 + 7) / 2;
    for (which, name) in ["A ", "B "].into_iter().enumerate() {
        line.push_accent(if which == 0 { name } else { "   B " });
        line.push_plain(&text::fit(
            &text::clean(&page.title(cx.session, which)),
            room,
        ));
    }
    canvas.line(1, 1, w.saturating_sub(2), &line.right(Tone::Dim, &right));
}

/// Draws the borders with the titles.
fn frame(page: &ComparePage, layout: &Layout, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (top, bottom) = (layout.rows.y - 2, layout.rows.y + layout.rows.h);
    let style = canvas.theme.style(Tone::Dim);
    let line = |area: Area| "─".repeat(area.w.into());
    let border = |[start, first, second, end]: [&str; 4]| {
        format!(
            "{start}{}{first}{}{second}{}{end}",
            line(layout.left),
            line(layout.middle),
            line(layout.right)
        )
    };
    let w = layout.rows.w + 2;
    canvas.text(0, top, w, &border(["╭", "┬", "┬", "╮"]), style);
    canvas.text(0, bottom, w, &border(["╰", "┴", "┴", "╯"]), style);
    for y in top + 1..bottom {
        for x in [0, layout.middle.x - 1, layout.right.x - 1, w - 1] {
            canvas.text(x, y, 1, "│", style);
        }
    }
    let (focused, corners) = match page.focus {
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
    let Some(aligned) = &page.aligned else { return };
    let words = match (aligned.first_name(), page.no_difference()) {
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
pub(super) fn side_title(page: &ComparePage, cx: &Cx<'_>, which: usize) -> String {
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
    let known = cx.lookup.revisions(&thread.server)?;
    let (_, made_from) = known.listed.into_iter().find(|(id, _)| id == revision)?;
    made_from
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
fn row_text(
    [step, name, took, tokens]: &[&str; 4],
    [name_end, took_end, tokens_end]: [usize; 3],
) -> String {
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

/// Returns the cells of A, between both sides, and of B.
fn step_row(comparison: &Comparison, at: usize, is_selected: bool, layout: &Layout) -> [Line; 3] {
    let Some(row) = comparison.rows.get(at) else {
        return Default::default();
    };
    let (a, b) = comparison.steps(row);
    // Parallel steps have one number.
    let is_parallel = |step: &Step, which: usize| {
        let before = comparison.rows[..at].iter().rev().find_map(|row| {
            let (a, b) = comparison.steps(row);
            if which == 0 { a } else { b }
        });
        step.step.is_some()
            && before.is_some_and(|before| {
                before.step == step.step && before.namespace == step.namespace
            })
    };
    let is_empty = |which: usize| {
        if which == 0 {
            &comparison.a
        } else {
            &comparison.b
        }
        .steps
        .is_empty()
    };
    let side = |which: usize, step: Option<&Step>, width: u16| match step {
        Some(of) => step_line(of, !is_parallel(of, which), is_selected, width.into()),
        // A side without steps says so there.
        None if row.verdict == Verdict::Pending && !is_empty(which) => Line::dim("       …"),
        None => Line::new(),
    };
    [
        side(0, a, layout.left.w),
        middle(comparison, row),
        side(1, b, layout.right.w),
    ]
}

/// Returns the cells of a key, in the same order.
fn key_row(
    of: &keys::Keys,
    at: usize,
    is_selected: bool,
    layout: &Layout,
    cx: &Cx<'_>,
) -> [Line; 3] {
    let side = |which: usize, width: u16| {
        keys::side_line(of, at, which, is_selected, width.into(), cx.session)
    };
    let verdict = of.verdict(at);
    let (tone, sign) = verdict.as_ref().map_or((Tone::Dim, " "), |verdict| {
        (verdict_tone(verdict), verdict.sign())
    });
    let tone_of_what = if matches!(verdict, None | Some(Verdict::Unknown)) {
        Tone::Dim
    } else {
        Tone::Plain
    };
    let middle = Line::of(tone, &format!("   {sign}   ")).with(tone_of_what, &of.what(at));
    [side(0, layout.left.w), middle, side(1, layout.right.w)]
}

/// Returns the line of a step: number, name, time, tokens.
fn step_line(step: &Step, shows_number: bool, is_selected: bool, width: usize) -> Line {
    let ends = columns(width);
    let number = step
        .step
        .filter(|_| shows_number)
        .map(|number| number.to_string())
        .unwrap_or_default();
    let name_tone = match (is_selected, step.state, step.kind) {
        (true, ..) => Tone::Strong,
        (_, StepState::Failed, _) => Tone::Bad,
        (.., StepKind::Node) => Tone::label(&step.node),
        _ => Tone::Plain,
    };
    let (place, sign) = (text::clean(&step.place()).into_owned(), step.sign());
    let rest = text::clean(
        step.label()
            .strip_prefix(&own_name(step))
            .unwrap_or_default(),
    )
    .into_owned();
    let sign = if sign.is_empty() {
        String::new()
    } else {
        format!(" {sign}")
    };
    let room = ends[0].saturating_sub(7 + text::width(&sign));
    let place = text::fit(&place, room).into_owned();
    let rest = text::fit(&rest, room.saturating_sub(text::width(&place))).into_owned();
    let mut line = Line::dim(&format!("{number:>5}  "));
    line.push(name_tone, &place);
    line.push(
        if is_selected {
            Tone::Strong
        } else {
            Tone::Plain
        },
        &rest,
    );
    line.push(sign_tone(step), &sign);
    let pad = |line: &mut Line, to: usize| {
        let missing = to.saturating_sub(line.width());
        line.push_plain(&" ".repeat(missing));
    };
    let (took, tokens) = (step.took(), step.tokens());
    pad(&mut line, ends[1].saturating_sub(text::width(&took)));
    line.push_plain(&took);
    pad(&mut line, ends[2].saturating_sub(text::width(&tokens)));
    line.push_dim(&tokens);
    line
}

/// Returns the name that the label of a step begins with.
fn own_name(step: &Step) -> String {
    if step.kind == StepKind::Input {
        "input".into()
    } else {
        step.node.clone()
    }
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
    let mut line = Line::of(
        verdict_tone(&row.verdict),
        &format!("   {}   ", row.verdict.sign()),
    );
    let time = comparison
        .time_difference(row)
        .map(time_difference)
        .unwrap_or_default();
    let room = usize::from(MIDDLE).saturating_sub(
        WHAT + if time.is_empty() {
            0
        } else {
            text::width(&time) + 1
        },
    );
    let tone = if row.verdict == Verdict::Unknown {
        Tone::Dim
    } else {
        Tone::Plain
    };
    line.push(tone, &text::fit(&what(&row.verdict), room));
    if !time.is_empty() {
        let start = TIME_END
            .saturating_sub(text::width(&time))
            .max(line.width() + 1);
        line.push_plain(&" ".repeat(start.saturating_sub(line.width())));
        line.push(
            if comparison.is_much_slower(row) {
                Tone::Strong
            } else {
                Tone::Plain
            },
            &time,
        );
    }
    line
}

/// Draws what both sides wrote at the cursor, or how the final states differ.
fn details(page: &ComparePage, layout: &Layout, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = layout.detail;
    let style = canvas.theme.style(Tone::Dim);
    let half = if page.shows_state {
        area.w - 2
    } else {
        area.w / 2 - 1
    };
    let rest = area.w.saturating_sub(3 + half);
    let border = |[start, joint, end]: [&str; 3]| match page.shows_state {
        true => format!("{start}{}{end}", "─".repeat(half.into())),
        false => format!(
            "{start}{}{joint}{}{end}",
            "─".repeat(half.into()),
            "─".repeat(rest.into())
        ),
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
    title(canvas, half + 2, area.y, rest, Tone::Strong, "B");
    let Some((aligned, at)) = page.aligned.as_ref().zip(page.at_cursor()) else {
        return;
    };
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
                let is_cut = more > 0 && n + 1 == room;
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

/// Draws the totals of both sides, or what was not compared.
fn totals(
    page: &ComparePage,
    aligned: &Aligned,
    layout: &Layout,
    cx: &Cx<'_>,
    canvas: &mut Canvas<'_>,
) {
    let (w, h) = cx.session.page_size();
    let y = h.saturating_sub(2);
    let half = layout.detail.w / 2;
    let [a, b] = match aligned {
        Aligned::Steps(comparison) => page.totals(comparison),
        Aligned::Keys(keys) => keys.totals(&cx.session.key("compare.commits")),
    };
    canvas.line(
        1,
        y,
        half.saturating_sub(2),
        &Line::strong("Total   ").with_plain(&a),
    );
    canvas.line(half + 1, y, w.saturating_sub(half + 2), &Line::plain(&b));
    // Notes are in the border below the rows.
    let notes = aligned.notes();
    if let Some(first) = notes.first() {
        let room = layout.rows.w.saturating_sub(2);
        let all = format!(" ? {} ", notes.join(" · "));
        let note = match notes.len() - 1 {
            more if more > 0 && text::width(&all) > room.into() => {
                format!(" ? {first} · {more} more ")
            }
            _ => all,
        };
        let bottom = layout.rows.y + layout.rows.h;
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
                for needed in [None, Some(0), Some(12), Some(5_000)] {
                    let layout = layout((w, h), needed);
                    assert_eq!(
                        layout.left.w + layout.middle.w + layout.right.w + 4,
                        w,
                        "{w}"
                    );
                    assert!(
                        layout.rows.h >= 5 && layout.right.x + layout.right.w < w,
                        "{w}x{h}"
                    );
                    assert_eq!(
                        layout.rows.y + layout.rows.h + 1,
                        layout.detail.y,
                        "{w}x{h}"
                    );
                    assert_eq!(layout.detail.y + layout.detail.h, h - 2, "{w}x{h}");
                    assert!(layout.detail.h >= 5, "{w}x{h}");
                }
                let layout = layout((w, h), None);
                let [name, took, tokens] = columns(layout.right.w.into());
                assert!(
                    name > 12 && took > name && tokens > took && tokens <= layout.right.w.into(),
                    "{w}"
                );
            }
        }
    }
}
