//! The cells of a row: those of A, how they differ, and those of B.

use super::keys;
use super::view::{CompareLayout, MIDDLE};
use crate::session::Cx;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::comparison::{
    Comparison, Row, Step, StepKind, StepState, Verdict, time_difference,
};

/// Minimum columns of a side with tokens.
const WITH_TOKENS: usize = 38;
/// Column of the middle where a time difference ends.
const TIME_END: usize = 19;

/// Returns where the columns of a side end: the name, the time, the tokens. A narrow side has no tokens.
pub(super) fn columns(width: usize) -> [usize; 3] {
    if width < WITH_TOKENS {
        let took = width.saturating_sub(1);
        return [took.saturating_sub(7), took, took];
    }
    let pad = match width {
        56.. => 9,
        50.. => 6,
        _ => 1,
    };
    let tokens = width.saturating_sub(pad);
    let took = tokens.saturating_sub(if width >= 56 { 8 } else { 9 });
    [took.saturating_sub(8), took, tokens]
}

/// Returns the number of a step with the space around it, which has room for the mark of the cursor.
pub(super) fn number_cell(number: &str, width: usize) -> String {
    match width < WITH_TOKENS {
        true => format!("{number:>3} "),
        false => format!("{number:>5}  "),
    }
}

/// Puts the cells of a side into their columns.
pub(super) fn step_cells(
    number: &str,
    name: Line,
    [took, tokens]: [Line; 2],
    [_, took_end, tokens_end]: [usize; 3],
) -> Line {
    let mut line = Line::dim(number);
    line.left.extend(name.left);
    let has_tokens = tokens_end > took_end;
    let cells = [(took, took_end), (tokens, tokens_end)];
    for (cell, end) in cells.into_iter().take(1 + usize::from(has_tokens)) {
        let missing = end.saturating_sub(cell.width() + line.width());
        line.push_plain(&" ".repeat(missing));
        line.left.extend(cell.left);
    }
    line
}

/// Returns the start of a line between both sides: the sign of a difference.
pub(super) fn sign_line(tone: Tone, sign: &str, width: u16) -> Line {
    let margin = if width < MIDDLE { " " } else { "   " };
    Line::of(tone, &format!("{margin}{sign}{margin}"))
}

/// Returns the cells of A, between both sides, and of B.
pub(super) fn step_row(
    comparison: &Comparison,
    at: usize,
    is_selected: bool,
    layout: &CompareLayout,
) -> [Line; 3] {
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
        None if row.verdict == Verdict::Pending && !is_empty(which) => {
            Line::dim(&(number_cell("", width.into()) + "…"))
        }
        None => Line::new(),
    };
    [
        side(0, a, layout.left.w),
        middle(comparison, row, layout.middle.w),
        side(1, b, layout.right.w),
    ]
}

/// Returns the cells of a key, in the same order.
pub(super) fn key_row(
    of: &keys::ComparedKeys,
    at: usize,
    is_selected: bool,
    layout: &CompareLayout,
    cx: &Cx<'_>,
) -> [Line; 3] {
    let has_keys = !layout.has_keys_first();
    let side = |which: usize, width: u16| match has_keys {
        true => keys::side_line(of, at, which, is_selected, width.into(), cx.session),
        false => {
            let room = usize::from(width).saturating_sub(2);
            let cells = of.cut_cells(at, which, cx.session, room);
            let mut line = Line::plain(" ");
            line.left.extend(cells.left);
            line
        }
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
    let margins = if has_keys { layout.middle.w } else { 0 };
    let mut middle = sign_line(tone, sign, margins);
    if !has_keys {
        let room = usize::from(layout.middle.w).saturating_sub(4);
        let tone = if is_selected { Tone::Strong } else { Tone::Dim };
        middle.push(tone, &keys::fit_end(&of.name(at), room));
        return [side(0, layout.left.w), middle, side(1, layout.right.w)];
    }
    push_fitted(
        &mut middle,
        tone_of_what,
        &of.what(at),
        layout.middle.w.into(),
    );
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
    let number = number_cell(&number, width);
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
    let took = step.took();
    // On a narrow side, a name ends where the time begins.
    let end = match ends[2] > ends[1] {
        true => ends[0],
        false => ends[1].saturating_sub(text::width(&took) + 1),
    };
    let room = end.saturating_sub(number.len() + text::width(&sign));
    let is_long = text::width(&place) + text::width(&rest) > room;
    let (place, rest) = match rest.trim_start_matches([' ', '·']) {
        // What a step did says more than the name of its node, which the details have.
        said if is_long && !said.is_empty() => (String::new(), said.to_string()),
        _ => (place, rest),
    };
    let place = text::fit(&place, room).into_owned();
    let rest = text::fit(&rest, room.saturating_sub(text::width(&place))).into_owned();
    let mut name = Line::of(name_tone, &place);
    let tone = if is_selected {
        Tone::Strong
    } else {
        Tone::Plain
    };
    name.push(tone, &rest);
    name.push(sign_tone(step), &sign);
    let ends_of_row = [Line::plain(&took), Line::dim(&step.tokens())];
    step_cells(&number, name, ends_of_row, ends)
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
fn sign_tone(step: &Step) -> Tone {
    match step.state {
        StepState::Running => Tone::Moving,
        StepState::Failed => Tone::Bad,
        StepState::Stopped => Tone::Dim,
        StepState::Waiting | StepState::Done => Tone::Waiting,
    }
}

/// Returns the tone of a verdict.
fn verdict_tone(verdict: &Verdict) -> Tone {
    match verdict {
        Verdict::Differs(_) => Tone::Waiting,
        Verdict::OnlyA => Tone::Bad,
        Verdict::OnlyB => Tone::Good,
        Verdict::Same | Verdict::Unknown | Verdict::Pending => Tone::Dim,
    }
}

/// Returns what differs, in a few words.
fn what(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Differs(what) => text::clean(what).into_owned(),
        Verdict::OnlyA => "only A".into(),
        Verdict::OnlyB => "only B".into(),
        Verdict::Unknown => "unknown".into(),
        Verdict::Same | Verdict::Pending => String::new(),
    }
}

/// Returns how a row differs: the sign, in what, and on a wide page the time difference.
fn middle(comparison: &Comparison, row: &Row, width: u16) -> Line {
    let mut line = sign_line(verdict_tone(&row.verdict), row.verdict.sign(), width);
    let time = comparison
        .time_difference(row)
        .filter(|_| width >= MIDDLE)
        .map(time_difference)
        .unwrap_or_default();
    let room = usize::from(width).saturating_sub(match text::width(&time) {
        0 => 0,
        columns => columns + 1,
    });
    let tone = if row.verdict == Verdict::Unknown {
        Tone::Dim
    } else {
        Tone::Plain
    };
    push_fitted(&mut line, tone, &what(&row.verdict), room);
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

/// Adds words as far as they have room; none if only a few letters do.
fn push_fitted(line: &mut Line, tone: Tone, words: &str, width: usize) {
    let room = width.saturating_sub(line.width());
    if room >= 8 || text::width(words) <= room {
        line.push(tone, &text::fit(words, room));
    }
}
