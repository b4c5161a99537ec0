//! How the help distributes its lines among columns.

use crate::input::help::{HelpGroup, HelpItem};
use crate::session::Session;
use crate::widgets::area::Area;
use runtail_core::text;

/// Widths from which the help has two columns, and three if two are too long.
pub(super) const WIDE: (u16, u16) = (76, 120);
/// Columns of the selection mark before the keys.
pub(super) const MARK: u16 = 2;
/// Columns between two columns.
const GAP: u16 = 2;

/// A cell of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Blank,
    Head(String),
    /// A line, by its number.
    Item(usize),
}

/// A column of the help.
#[derive(Debug, Clone)]
pub(super) struct HelpColumn {
    pub(super) cells: Vec<Cell>,
    /// Its first column on the screen, and its width.
    pub(super) x: u16,
    pub(super) width: u16,
    /// The width of its keys.
    pub(super) keys: u16,
}

/// Distributes the groups for a screen. `items` are their lines.
pub(super) fn layout(
    session: &Session,
    groups: &[HelpGroup],
    items: &[HelpItem],
) -> Vec<HelpColumn> {
    let body = body(session);
    let counts = match session.page_size().0 {
        w if w >= WIDE.1 => 2..=3,
        w if w >= WIDE.0 => 2..=2,
        _ => 1..=1,
    };
    let most = *counts.end();
    let heights =
        counts.flat_map(|count| (1..=usize::from(body.h)).map(move |height| (count, height)));
    let mut whole = heights.filter_map(|(count, height)| whole_columns(groups, count, height));
    let columns = whole.next().unwrap_or_else(|| even_columns(groups, most));
    let count = columns.len() as u16;
    let column = |cells: Vec<Cell>| {
        let of_column = cells.iter().filter_map(|cell| match cell {
            Cell::Item(at) => items.get(*at),
            _ => None,
        });
        let widths =
            of_column.map(|item| [&item.keys, &item.name].map(|text| text::width(text) as u16));
        let [keys, names] =
            widths.fold([0, 0], |most, of| [most[0].max(of[0]), most[1].max(of[1])]);
        let column = HelpColumn {
            cells,
            x: body.x,
            width: body.w / count,
            keys,
        };
        (column, MARK + keys + 2 + names + GAP)
    };
    let columns: Vec<(HelpColumn, u16)> = columns.into_iter().map(column).collect();
    // Each column gets what its names need, and an equal part of the rest. Without room for all, they are equally wide.
    let rest = (body.w + GAP).checked_sub(columns.iter().map(|(_, needed)| needed).sum());
    let mut x = body.x;
    let placed = columns.into_iter().map(|(column, needed)| {
        let width = rest.map_or(column.width, |rest| needed + rest / count);
        x += width;
        HelpColumn {
            x: x - width,
            width: width.saturating_sub(GAP),
            ..column
        }
    });
    placed.collect()
}

/// Returns the area inside the frame.
pub(super) fn body(session: &Session) -> Area {
    let (w, h) = session.page_size();
    Area {
        x: 1,
        y: 2,
        w: w.saturating_sub(2),
        h: h.saturating_sub(4),
    }
}

/// Distributes groups among columns of this height without dividing one, if they have room.
fn whole_columns(groups: &[HelpGroup], count: usize, height: usize) -> Option<Vec<Vec<Cell>>> {
    let mut columns: Vec<Vec<Cell>> = vec![Vec::new()];
    let mut item = 0;
    for group in groups {
        let mut column = columns.pop().unwrap_or_default();
        if !column.is_empty() && column.len() + group.items.len() + 2 > height {
            columns.push(std::mem::take(&mut column));
        }
        if !column.is_empty() {
            column.push(Cell::Blank);
        }
        column.push(Cell::Head(group.title.clone()));
        column.extend((item..item + group.items.len()).map(Cell::Item));
        item += group.items.len();
        columns.push(column);
    }
    let has_room = columns.len() <= count && columns.iter().all(|cells| cells.len() <= height);
    has_room.then_some(columns)
}

/// Distributes groups among columns of equal height. A group may continue in the next column, but not after its heading.
fn even_columns(groups: &[HelpGroup], count: usize) -> Vec<Vec<Cell>> {
    let cells = whole_columns(groups, 1, usize::MAX)
        .unwrap_or_default()
        .concat();
    let height = cells.len().div_ceil(count);
    let mut columns: Vec<Vec<Cell>> = vec![Vec::new()];
    for cell in cells {
        let is_full = |column: &Vec<Cell>| {
            let has_head = matches!(cell, Cell::Head(_)) && column.len() + 1 == height;
            column.len() >= height || has_head
        };
        if columns.len() < count && columns.last().is_some_and(is_full) {
            columns.push(Vec::new());
        }
        let column = columns.last_mut();
        if let Some(column) = column.filter(|column| !column.is_empty() || cell != Cell::Blank) {
            column.push(cell.clone());
        }
    }
    columns
}

/// Returns the column and the row of a line.
pub(super) fn place_of(columns: &[HelpColumn], item: usize) -> Option<(usize, usize)> {
    let row = |column: &HelpColumn| {
        column
            .cells
            .iter()
            .position(|cell| *cell == Cell::Item(item))
    };
    columns
        .iter()
        .enumerate()
        .find_map(|(column, cells)| Some((column, row(cells)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(items: usize) -> HelpGroup {
        let item = HelpItem {
            id: None,
            keys: "x".into(),
            short_keys: "x".into(),
            name: "X".into(),
            help: "",
            is_first: true,
        };
        HelpGroup {
            title: "T".into(),
            items: vec![item; items],
        }
    }

    /// Returns the number of cells of each column.
    fn heights(columns: &[Vec<Cell>]) -> Vec<usize> {
        columns.iter().map(Vec::len).collect()
    }

    #[test]
    fn groups_stay_whole_if_they_have_room() {
        let groups = [group(5), group(10), group(4), group(3), group(9), group(9)];
        let columns = whole_columns(&groups, 3, 21).unwrap();
        assert_eq!(heights(&columns), [18, 21, 10]);
        let items = columns.iter().flatten().filter_map(|cell| match cell {
            Cell::Item(n) => Some(*n),
            _ => None,
        });
        assert!(items.eq(0..40), "every line once, in order");
        assert_eq!(whole_columns(&groups, 3, 20), None);
        assert_eq!(whole_columns(&groups, 2, 21), None);
        assert_eq!(whole_columns(&[], 3, 1), Some(vec![Vec::new()]));
    }

    #[test]
    fn groups_without_room_continue_in_the_next_column() {
        let even = even_columns(&[group(10), group(1), group(8)], 2);
        assert_eq!(heights(&even), [12, 12]);
        // A heading isn't the last cell of a column, and a blank one isn't the first.
        assert_eq!(even[1][..2], [Cell::Head("T".into()), Cell::Item(10)]);
        let all: Vec<&Cell> = even.iter().flatten().collect();
        let items = (0..19).all(|item| all.contains(&&Cell::Item(item)));
        assert!(items && even_columns(&[], 2) == [Vec::new()]);
    }
}
