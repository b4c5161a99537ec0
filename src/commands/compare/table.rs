//! The comparison for people: the aligned rows, the totals, the first difference, and how the final states differ.

use super::values;
use crate::output::color::Role;
use crate::output::{padded, widest};
use crate::prelude::*;
use runtail_stream::comparison::{Comparison, Row, Step, StepState, Verdict, time_difference};

/// Maximum number of lines of each side that the table has of the first difference, and of differences of the final states.
const MAX_LINES: usize = 8;
/// Maximum columns of a value in the table.
const MAX_VALUE: usize = 160;

/// Returns the comparison for people.
pub fn table(comparison: &Comparison, ascii: bool, is_colored: bool) -> String {
    let paint = |role: Role, text: &str| role.paint_if(is_colored, text);
    let mut out = String::new();
    for (name, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let status = if side.is_running {
            "running"
        } else {
            &side.status
        };
        let line = format!("{}  {}", paint(Role::Strong, name), text::clean(&side.name));
        out.push_str(&format!(
            "{line}  {}\n",
            paint(color::of_run(status), &text::clean(status))
        ));
    }
    let common = comparison.common();
    let head = match (
        comparison.not_comparable(),
        comparison.first_difference(),
        comparison.is_same(),
    ) {
        (Some(why), ..) => why,
        (None, Some(first), _) => format!("First difference: {first}."),
        (None, None, Some(true)) => "No differences.".into(),
        (None, None, Some(false)) => "The steps are the same; the final states differ.".into(),
        (None, None, None) => "No difference found, but not everything is known.".into(),
    };
    out.push_str(&head);
    out.push_str(&if common.is_empty() {
        "\n".into()
    } else {
        format!("  ({common})\n")
    });
    if !comparison.rows.is_empty() {
        out.push('\n');
    }
    out.push_str(&rows(comparison, &paint));
    out.push('\n');
    for (name, line) in ["A", "B"].iter().zip(comparison.total_lines()) {
        out.push_str(&format!("Total {name}  {line}\n"));
    }
    if let Some(row) = comparison
        .first
        .and_then(|first| comparison.rows.get(first))
    {
        out.push_str(&first_difference(comparison, row));
    }
    if comparison.not_comparable().is_none()
        && let Some(difference) = comparison
            .state_difference()
            .filter(|difference| difference.total() > 0)
    {
        out.push_str(&format!(
            "\nFinal state: {} differences\n",
            text::count(difference.total())
        ));
        for change in difference.changes.iter().take(MAX_LINES) {
            let (a, b) = values(&difference, change);
            let shown = |value: Option<Value>| {
                value.map_or_else(
                    || "not set".into(),
                    |value| text::seen(&text::clean(&output::cell(&value)), MAX_VALUE / 2),
                )
            };
            out.push_str(&format!(
                "  {}: {} → {}\n",
                text::clean(&difference.path(change)),
                shown(a),
                shown(b)
            ));
        }
        if difference.changes.len() > MAX_LINES {
            out.push_str(&format!(
                "  and {} more; -o json has all\n",
                difference.changes.len() - MAX_LINES
            ));
        }
    }
    if ascii { plain(&out) } else { out }
}

/// Returns the aligned rows: the sign, the step and node, A and B, and the time difference.
fn rows(comparison: &Comparison, paint: &dyn Fn(Role, &str) -> String) -> String {
    let cells: Vec<[String; 5]> = comparison
        .rows
        .iter()
        .map(|row| {
            let (a, b) = comparison.steps(row);
            let of = a.or(b);
            let number = of
                .and_then(|step| step.step)
                .map(|step| step.to_string())
                .unwrap_or_default();
            let name = of
                .map(|step| text::clean(&step.place()).into_owned())
                .unwrap_or_default();
            let time = comparison
                .time_difference(row)
                .map(time_difference)
                .unwrap_or_default();
            let what = match &row.verdict {
                Verdict::Differs(what) => text::clean(what).into_owned(),
                Verdict::OnlyA => "only A".into(),
                Verdict::OnlyB => "only B".into(),
                _ => String::new(),
            };
            let end = if what.is_empty() || time.is_empty() {
                what + &time
            } else {
                format!("{what}  {time}")
            };
            [number, name, cell(a), cell(b), end]
        })
        .collect();
    let width = |column: usize| widest(cells.iter().map(|row| &row[column]));
    let widths = [width(0).max(4), width(1), width(2), width(3)];
    let mut out = String::new();
    for (row, [number, name, a, b, end]) in comparison.rows.iter().zip(&cells) {
        let role = match row.verdict {
            Verdict::Differs(_) => Role::Waiting,
            Verdict::OnlyA => Role::Failed,
            Verdict::OnlyB => Role::Good,
            _ => Role::Dim,
        };
        let line = format!(
            "{} {number:>4$}  {}  A {} │ B {}  {end}",
            paint(role, row.verdict.sign()),
            padded(name, widths[1]),
            padded(a, widths[2]),
            padded(b, widths[3]),
            widths[0]
        );
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn cell(step: Option<&Step>) -> String {
    let Some(step) = step else {
        return String::new();
    };
    let state = match step.state {
        StepState::Failed => step
            .error
            .as_deref()
            .map(|error| text::seen(&text::clean(error), 60))
            .unwrap_or_default(),
        _ => String::new(),
    };
    let parts = [
        step.sign().to_string(),
        text::clean(&step.tools()).into_owned(),
        state,
        step.took(),
        step.tokens(),
    ];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns what both sides wrote where they first differ.
fn first_difference(comparison: &Comparison, row: &Row) -> String {
    let (a, b) = comparison.steps(row);
    let Some(step) = a.or(b) else {
        return String::new();
    };
    let number = step
        .step
        .map(|number| format!("step {number} · "))
        .unwrap_or_default();
    let mut out = format!(
        "\nFirst difference, {number}{}\n",
        text::clean(&step.place())
    );
    for (name, step) in [("A", a), ("B", b)] {
        let lines = match step {
            None => vec!["(no such step)".to_string()],
            Some(Step {
                error: Some(error), ..
            }) => vec![error.clone()],
            Some(step) => step.said(),
        };
        let lines: Vec<String> = lines
            .iter()
            .flat_map(|line| line.lines())
            .map(|line| text::seen(&text::clean(line), MAX_VALUE))
            .collect();
        for (n, line) in lines.iter().take(MAX_LINES).enumerate() {
            out.push_str(format!("  {}  {line}", if n == 0 { name } else { " " }).trim_end());
            out.push('\n');
        }
        match lines.len().checked_sub(MAX_LINES) {
            Some(more @ 1..) => out.push_str(&format!("     and {more} more lines\n")),
            _ if lines.is_empty() => out.push_str(&format!("  {name}  (nothing)\n")),
            _ => {}
        }
    }
    out
}

/// Replaces the signs of the table if only ASCII characters are wanted.
fn plain(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for c in source.chars() {
        match c {
            '≠' => out.push_str("!="),
            '→' => out.push_str("->"),
            '│' => out.push('|'),
            '…' => out.push('~'),
            '◆' => out.push('!'),
            '✗' => out.push('x'),
            '◐' => out.push('~'),
            '■' => out.push('#'),
            '›' => out.push('>'),
            '·' => out.push('-'),
            other => out.push(other),
        }
    }
    out
}
