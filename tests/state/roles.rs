//! The role of each cell in the lines that every screen shares: a line of text and, below it, a line of roles, as in
//! `.` text, `B` strong, `d` dim, `a` accent, `g` good, `m` moving, `w` waiting, `W` waiting banner, `F` failed, `X` failed banner.

use crate::thread_actions::{page, records, run, waiting};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use runtail_testkit::dash::{Dash, demo_like};
use serde_json::json;

/// Returns the role of a cell in the theme `terminal`.
fn role(cell: &Cell) -> char {
    let has = |modifier| cell.modifier.contains(modifier);
    let (bold, reversed) = (has(Modifier::BOLD), has(Modifier::REVERSED));
    match (cell.fg, reversed) {
        _ if cell.symbol() == " " && !reversed => '.',
        (Color::Yellow, true) => 'W',
        (Color::Red, true) => 'X',
        (Color::Yellow, false) => {
            if bold {
                'w'
            } else {
                'm'
            }
        }
        (Color::Red, false) => 'F',
        (Color::Green, false) => 'g',
        (Color::Cyan, _) => 'a',
        (Color::Reset, false) if has(Modifier::DIM) => 'd',
        (Color::Reset, false) => {
            if bold {
                'B'
            } else {
                '.'
            }
        }
        other => panic!("no role has {other:?}: {cell:?}"),
    }
}

/// Returns a row and its roles, without the blanks at their ends.
fn pair(buffer: &Buffer, y: u16) -> String {
    let row = &buffer.content
        [usize::from(y * buffer.area.width)..usize::from((y + 1) * buffer.area.width)];
    let text: String = row.iter().map(Cell::symbol).collect();
    let roles: String = row.iter().map(role).collect();
    let shown = text.trim_end().chars().count();
    format!(
        "{}\n{}",
        text.trim_end(),
        roles.chars().take(shown).collect::<String>()
    )
}

fn assert_pairs(name: &str, dash: &mut Dash, rows: &[u16]) {
    let buffer = dash.buffer();
    let pairs: Vec<String> = rows.iter().map(|y| pair(&buffer, *y)).collect();
    insta::assert_snapshot!(name, pairs.join("\n"));
}

#[test]
fn tabs_badges_and_banners_have_their_roles() {
    for width in [140, 80] {
        let mut dash = page((width, 40), &waiting("question-hitl"));
        assert_pairs(&format!("waiting_{width}"), &mut dash, &[0, 1, 2, 3, 39]);
        let failed = records("error", "failed", json!([run("r1", "error")]));
        let mut dash = page((width, 40), &failed);
        assert_pairs(&format!("failed_{width}"), &mut dash, &[0, 1, 2, 3, 39]);
    }
}

#[test]
fn rows_of_the_deployments_list_have_their_roles() {
    for width in [140, 80] {
        let mut dash = demo_like((width, 40));
        dash.keys("<Home>");
        dash.last_day();
        let rows: &[u16] = if width == 140 {
            &[0, 1, 2, 3, 4, 5, 6, 7]
        } else {
            &[0, 1, 2, 3, 4, 5]
        };
        assert_pairs(&format!("deployments_{width}"), &mut dash, rows);
    }
}
