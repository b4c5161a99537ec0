//! The rails as an SVG image, for light and dark pages.

use super::{Cell, Graph, Rails, Row, Stub};
use crate::text;
use std::fmt::Write as _;

/// Pixels of a row, a lane, a character of a name, and the margin.
const ROW: usize = 24;
const LANE: usize = 16;
const LETTER: usize = 8;
const MARGIN: usize = 12;
/// Colors of the rails, readable on white and on black. Nodes beyond them share colors.
const COLORS: [&str; 8] = [
    "#2f7fd6", "#b04ec9", "#0a8f8f", "#d0568c", "#6a6fe0", "#8a7a1f", "#4d8f3a", "#9a6a4a",
];

/// Returns the image.
pub fn svg(graph: &Graph, rails: &Rails) -> String {
    let label = |row: &Row| {
        let label = super::Glyphs::Unicode.label(graph, row);
        match graph.nodes()[row.node].breakpoint {
            stops if stops.is_set() => format!("{label} (stops {})", stops.words()),
            _ => label,
        }
    };
    let labels: Vec<String> = rails.rows.iter().map(label).collect();
    let names = labels
        .iter()
        .map(|label| text::width(label))
        .max()
        .unwrap_or(0)
        * LETTER;
    // The last lane at the left is at the margin; names begin one lane after the first.
    let name_x = MARGIN + LANE * (rails.lanes.0 + 1);
    let right_x = name_x + names + 2 * LANE;
    let width = right_x + LANE * (rails.lanes.1 + 1) + MARGIN;
    let height = ROW * rails.rows.len() + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>\n  text {{ font: 14px ui-monospace, monospace; fill: #1c1c1c; }}\n  .edge {{ color: #767676; }}\n  \
         path, circle {{ fill: none; stroke: currentColor; stroke-width: 2; }}\n  .dashed {{ stroke-dasharray: 3 3; }}\n  \
         .arrow, .dot {{ fill: currentColor; }}\n  @media (prefers-color-scheme: dark) {{ text {{ fill: #e4e4e4; }} }}\n\
         </style>\n"
    );
    for (at, (row, label)) in rails.rows.iter().zip(&labels).enumerate() {
        let y = MARGIN + at * ROW + ROW / 2;
        let left =
            |lane: usize| MARGIN + LANE * (rails.lanes.0.saturating_sub(lane + 1)) + LANE / 2;
        let right = |lane: usize| right_x + LANE * (lane + 1) - LANE / 2;
        for (lane, cell) in row.left.iter().enumerate() {
            let inner = if lane == 0 {
                name_x - LANE / 4
            } else {
                left(lane - 1)
            };
            draw_cell(&mut out, row, cell, (left(lane), inner), y);
        }
        for (lane, cell) in row.right.iter().enumerate() {
            let inner = if lane == 0 {
                right_x - LANE
            } else {
                right(lane - 1)
            };
            draw_cell(&mut out, row, cell, (right(lane), inner), y);
        }
        if row.is_entered {
            arrow(&mut out, row.node, name_x - LANE / 4, y, false);
        }
        if row.is_head {
            arrow(&mut out, row.node, right_x - LANE, y, true);
        }
        let _ = writeln!(
            out,
            "<text x=\"{name_x}\" y=\"{}\">{}</text>",
            y + 5,
            escaped(label)
        );
    }
    out.push_str("</svg>\n");
    out
}

fn color(node: usize) -> &'static str {
    COLORS[node % COLORS.len()]
}

/// Draws the halves of the upright and the stub towards the names. `x`: the cell's middle, and where its stub ends.
fn draw_cell(out: &mut String, row: &Row, cell: &Cell, (x, inner): (usize, usize), y: usize) {
    let half = ROW / 2;
    let mut line = |node: usize, path: String, class: &str| {
        let _ = writeln!(
            out,
            "<path class=\"{class}\" style=\"color:{}\" d=\"{path}\"/>",
            color(node)
        );
    };
    if let Some(target) = cell.above {
        line(target, format!("M{x} {}V{y}", y - half), "");
    }
    if let Some(target) = cell.below {
        line(target, format!("M{x} {y}V{}", y + half), "");
    }
    let class = match cell.inner {
        Stub::None => return,
        Stub::Solid => "",
        Stub::Dashed => "dashed",
    };
    let node = if cell.is_touched {
        cell.below.or(cell.above).unwrap_or(row.node)
    } else {
        row.node
    };
    line(node, format!("M{x} {y}H{inner}"), class);
    if cell.is_spine() {
        let _ = writeln!(
            out,
            "<circle class=\"dot\" style=\"color:{}\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>",
            color(row.node)
        );
    }
}

fn arrow(out: &mut String, node: usize, x: usize, y: usize, to_left: bool) {
    let (tip, back) = if to_left { (x, x + 6) } else { (x, x - 6) };
    let _ = writeln!(
        out,
        "<path class=\"arrow\" style=\"color:{}\" d=\"M{tip} {y}L{back} {}L{back} {}Z\"/>",
        color(node),
        y - 4,
        y + 4
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
