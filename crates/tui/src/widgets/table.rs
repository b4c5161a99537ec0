//! Tables: a selection by id, a filter and marks that every list of rows has, and columns laid out for a width. The rows
//! themselves stay where they are; a table knows their ids.

use super::area::Area;
use super::canvas::Canvas;
use super::line::{Line, Tone};
use super::selection::Selection;
use jiff::{SignedDuration, Timestamp};
use runtail_core::text;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Columns before the text of a row: the edge of its pane, the mark of the selection, and its own mark.
pub const GUTTER: u16 = 3;
/// Spaces between two columns.
const GAP: usize = 2;
/// Maximum width of a column without a limit of its own.
pub const MAX_COLUMN: usize = 44;
/// Minimum width of a column before columns are dropped.
const MIN_COLUMN: usize = 8;
/// The width of a column that gets what the others leave.
pub const REST: usize = usize::MAX;

/// The rows of a list by id: which are shown, selected and marked.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Only rows that contain this text are shown.
    pub filter: String,
    /// The marked rows.
    pub marked: BTreeSet<String>,
    selection: Selection,
    /// The ids of the shown rows.
    ids: Vec<String>,
    /// The rows that fit on the screen.
    height: usize,
    /// When the user last pressed a key or clicked.
    key_at: Option<Timestamp>,
    /// Whether the user chose another order or filter, so that the rows are sorted at once.
    is_reordered: bool,
    /// Whether rows kept their places although another order is due.
    is_order_due: bool,
}

/// How long the rows keep their places after a key, so that none moves away from under the cursor.
const ORDER_HOLD: SignedDuration = SignedDuration::from_secs(10);

impl Table {
    /// Sets the shown rows. The selection follows with the next [`Table::fit`].
    pub fn set_ids(&mut self, ids: Vec<String>) {
        self.ids = ids;
    }

    /// Adjusts the selection and the window to the rows and to the number of rows that fit on the screen.
    pub fn fit(&mut self, height: usize) {
        self.height = height;
        self.selection.clamp(&self.ids, height);
    }

    /// Sets the shown rows, and adjusts the selection and the window to them.
    pub fn lay_out(&mut self, ids: Vec<String>, height: usize) {
        self.set_ids(ids);
        self.fit(height);
    }

    /// Returns the ids of the shown rows.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns whether no row is shown.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns the rows that fit on the screen.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the id of the selected row.
    pub fn selected(&self) -> Option<&str> {
        self.selection.selected.as_deref()
    }

    /// Returns the index of the selected row, if it is shown.
    pub fn at(&self) -> Option<usize> {
        self.selection.at(&self.ids)
    }

    /// Returns the index of the selected row; 0 if there is none.
    pub fn cursor(&self) -> usize {
        self.selection.cursor()
    }

    /// Returns the indices of the rows on the screen.
    pub fn visible(&self) -> Range<usize> {
        self.window(self.ids.len())
    }

    /// Returns the indices of the rows on the screen, if there are so many rows by now.
    pub fn window(&self, rows: usize) -> Range<usize> {
        let top = self.selection.top().min(rows.saturating_sub(1));
        top..top.saturating_add(self.height).min(rows)
    }

    /// Moves the selection by a number of rows.
    pub fn step(&mut self, by: isize) {
        self.selection.step(&self.ids, self.height, by);
    }

    /// Selects the row on a line below the head of the table.
    pub fn click(&mut self, line: Option<u16>) {
        if let Some(line) = line.map(usize::from).filter(|line| *line < self.height) {
            self.select(self.selection.top() + line);
        }
    }

    /// Selects a row by its index.
    pub fn select(&mut self, at: usize) {
        self.selection.select(&self.ids, self.height, at);
    }

    /// Selects a row that may not be listed yet.
    pub fn prefer(&mut self, id: String) {
        self.selection.prefer(id);
    }

    /// Selects the first row, once there is one.
    pub fn deselect(&mut self) {
        self.selection = Selection::default();
    }

    /// Begins at the first row, because the list is about something else now. A preferred row stays preferred.
    pub fn restart(&mut self) {
        self.selection.restart();
    }

    /// Notes a key: while the user is pressing keys, the rows keep their places.
    pub fn touch(&mut self, now: Timestamp) {
        self.key_at = Some(now);
    }

    /// Sorts the rows at once when they are set the next time, because the user chose another order or filter.
    pub fn reorder(&mut self) {
        self.is_reordered = true;
    }

    fn is_held(&self, now: Timestamp) -> bool {
        self.key_at
            .is_some_and(|at| now.duration_since(at).abs() < ORDER_HOLD)
    }

    /// Returns whether rows that kept their places are to be sorted now.
    pub fn is_order_due(&self, now: Timestamp) -> bool {
        self.is_order_due && !self.is_held(now)
    }

    /// Decides whether the rows that are about to be set keep their places. If so, they are sorted once no key was pressed
    /// for a while.
    pub fn keep_order(&mut self, now: Timestamp) {
        let is_reordered = std::mem::take(&mut self.is_reordered);
        self.is_order_due = self.is_held(now) && !is_reordered;
    }

    /// Returns the place of each shown row, if rows keep theirs. New rows follow them.
    pub fn places(&self) -> HashMap<&str, usize> {
        let ids = self.ids.iter().filter(|_| self.is_order_due).enumerate();
        ids.map(|(n, id)| (id.as_str(), n)).collect()
    }

    /// Returns whether a row with these texts matches the filter.
    pub fn fits<T: AsRef<str>>(&self, texts: impl IntoIterator<Item = T>) -> bool {
        let filter = self.filter.to_lowercase();
        let has = |text: T| text.as_ref().to_lowercase().contains(&filter);
        filter.is_empty() || texts.into_iter().any(has)
    }

    /// Clears the filter, else the marks. Returns whether there was anything to clear.
    pub fn clear(&mut self) -> bool {
        !std::mem::take(&mut self.filter).is_empty() || !std::mem::take(&mut self.marked).is_empty()
    }

    /// Toggles the mark of the selected row.
    pub fn toggle_mark(&mut self) {
        if let Some(id) = self.selection.selected.clone()
            && !self.marked.remove(&id)
        {
            self.marked.insert(id);
        }
    }

    /// Marks all shown rows, or removes all marks if they are marked.
    pub fn toggle_all_marks(&mut self) {
        match self.ids.iter().all(|id| self.marked.contains(id)) {
            true => self.marked.clear(),
            false => self.marked.extend(self.ids.iter().cloned()),
        }
    }

    /// Returns how many marked rows the filter doesn't show.
    pub fn hidden_marks(&self) -> usize {
        let is_shown = |id: &&String| self.marked.contains(*id);
        let shown = self.ids.iter().filter(is_shown).count();
        self.marked.len().saturating_sub(shown)
    }

    /// Returns the text in place of rows, if the filter matches none.
    pub fn no_match(&self) -> Option<(Tone, String)> {
        let text = || {
            format!(
                "No match for “{}”.\n\nPress Esc to clear the filter.",
                text::clean(&self.filter)
            )
        };
        (!self.filter.is_empty()).then(|| (Tone::Plain, text()))
    }

    /// Draws the visible rows into a pane, whose edges the area includes, and marks the selected one.
    pub fn draw(
        &self,
        canvas: &mut Canvas<'_>,
        area: Area,
        style: RowStyle,
        mut row: impl FnMut(usize) -> Option<TableRow>,
    ) {
        let room = area.w.saturating_sub(2 * (style.gutter - 1));
        let cursor = self.selection.at(&self.ids);
        for (n, at) in self.visible().enumerate().take(area.h.into()) {
            let y = area.y + n as u16;
            let Some(TableRow { mark, line }) = row(at) else {
                continue;
            };
            canvas.line(area.x + style.gutter, y, room, &line);
            if let Some(mark) = mark {
                canvas.foreign(area.x + style.gutter - 1, y, 1, mark, Tone::Accent);
            }
            if cursor == Some(at) {
                canvas.select(Area { h: 1, ..area }, y, style.is_focused, style.bold);
            }
        }
    }
}

/// How rows are drawn.
#[derive(Debug, Clone, Copy)]
pub struct RowStyle {
    /// Whether their pane has the focus.
    pub is_focused: bool,
    /// How many columns of the selected row are bold in a pane with the focus.
    pub bold: u16,
    /// Columns before the text of a row.
    pub gutter: u16,
}

impl Default for RowStyle {
    fn default() -> RowStyle {
        RowStyle {
            is_focused: true,
            bold: u16::MAX,
            gutter: GUTTER,
        }
    }
}

/// A row on the screen.
#[derive(Debug, Default)]
pub struct TableRow {
    /// The sign before it.
    pub mark: Option<&'static str>,
    /// Its text.
    pub line: Line,
}

impl From<Line> for TableRow {
    fn from(line: Line) -> TableRow {
        TableRow { mark: None, line }
    }
}

/// A column of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableColumn {
    pub title: &'static str,
    /// Its columns on the screen. One without a width isn't shown.
    pub width: usize,
    /// Spaces before it.
    pub gap: usize,
    /// Where there is no room for all columns, those with a lower rank are shown first, and those of rank 0 in any case.
    pub rank: u8,
    /// Whether its cells are at the right.
    pub is_right: bool,
}

/// The columns of a table, laid out for a width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    all: Vec<TableColumn>,
    /// The tone of what is between two cells.
    blank: Tone,
}

impl TableColumns {
    /// Lays out columns with titles and widths. One of [`REST`] gets what the others leave.
    pub fn new(
        room: usize,
        columns: impl IntoIterator<Item = (&'static str, usize)>,
    ) -> TableColumns {
        let columns = columns.into_iter();
        TableColumns::spaced(room, columns.map(|(title, width)| (title, width, GAP)))
    }

    /// Lays out columns with titles, widths and the space before them.
    pub fn spaced(
        room: usize,
        columns: impl IntoIterator<Item = (&'static str, usize, usize)>,
    ) -> TableColumns {
        let column = |(title, width, gap)| TableColumn {
            title,
            width,
            gap,
            ..TableColumn::default()
        };
        let mut columns = TableColumns {
            all: columns.into_iter().map(column).collect(),
            blank: Tone::Plain,
        };
        if let Some(rest) = columns.all.iter().position(|column| column.width == REST) {
            let shown = columns.all.iter().filter(|column| column.width > 0);
            let first = shown.clone().next().map_or(0, |column| column.gap);
            let taken = |column: &TableColumn| match column.width {
                REST => column.gap,
                width => column.gap + width,
            };
            let used: usize = shown.map(taken).sum();
            columns.all[rest].width = (room + first).saturating_sub(used);
        }
        columns
    }

    /// Lays out the columns that fit, by rank. Then each of `growth` gets the free room, up to a width.
    pub fn ranked(
        room: usize,
        mut all: Vec<TableColumn>,
        growth: &[(usize, usize)],
    ) -> TableColumns {
        let mut by_rank: Vec<usize> = (0..all.len()).collect();
        by_rank.sort_by_key(|at| all[*at].rank);
        let mut free = room;
        for at in by_rank {
            let column = &mut all[at];
            match column.width + column.gap {
                _ if column.width == 0 => {}
                needed if needed <= free || column.rank == 0 => {
                    free = free.saturating_sub(needed);
                }
                _ => column.width = 0,
            }
        }
        for (at, most) in growth {
            let column = &mut all[*at];
            if column.width > 0 {
                let more = most.saturating_sub(column.width).min(free);
                (column.width, free) = (column.width + more, free - more);
            }
        }
        TableColumns {
            all,
            blank: Tone::Plain,
        }
    }

    /// Aligns the cells of some columns at the right.
    pub fn aligned_right(mut self, columns: Range<usize>) -> TableColumns {
        let all = self.all[columns].iter_mut();
        all.for_each(|column| column.is_right = true);
        self
    }

    /// Returns the columns with one that has the room of the next one, too.
    pub fn widened(&self, at: usize) -> TableColumns {
        let mut widened = self.clone();
        let next = std::mem::take(&mut widened.all[at + 1]);
        widened.all[at].width += next.gap + next.width;
        widened
    }

    /// Lays out columns by what rows have in them. Columns that are empty in all rows are left out, the widest ones are shrunk,
    /// and the last ones are dropped. `max_last`: of the last column.
    pub fn of_cells(
        room: usize,
        titles: &[&'static str],
        rows: &[Vec<String>],
        max_last: usize,
    ) -> TableColumns {
        let widest = |n: usize| rows.iter().map(|row| text::width(&row[n])).max();
        let used: Vec<usize> = (0..titles.len())
            .filter(|n| widest(*n).is_some_and(|width| width > 0))
            .collect();
        let natural = used.iter().map(|n| {
            let most = if Some(n) == used.last() {
                max_last
            } else {
                MAX_COLUMN
            };
            widest(*n).unwrap_or(0).clamp(titles[*n].len(), most)
        });
        let widths = shrunk(natural.collect(), room);
        let mut columns: Vec<(&str, usize)> = titles.iter().map(|title| (*title, 0)).collect();
        for (n, width) in used.into_iter().zip(widths) {
            columns[n].1 = width;
        }
        TableColumns {
            blank: Tone::Dim,
            ..TableColumns::new(room, columns)
        }
    }

    /// Returns the width of a column; 0 if it isn't shown.
    pub fn width(&self, at: usize) -> usize {
        self.all.get(at).map_or(0, |column| column.width)
    }

    /// Returns the first column that is shown.
    pub fn first(&self) -> usize {
        let is_shown = |column: &TableColumn| column.width > 0;
        self.all.iter().position(is_shown).unwrap_or(0)
    }

    /// Returns the shown columns, each with its start.
    fn places(&self) -> impl Iterator<Item = (usize, usize, &TableColumn)> {
        let shown = self.all.iter().enumerate();
        let shown = shown.filter(|(_, column)| column.width > 0);
        shown.scan(None, |end: &mut Option<usize>, (at, column)| {
            let start = end.map_or(0, |end| end + column.gap);
            *end = Some(start + column.width);
            Some((at, start, column))
        })
    }

    /// Returns the column at a position in a row, to which the space after its cell belongs.
    pub fn at(&self, x: usize) -> Option<usize> {
        let (at, ..) = self
            .places()
            .find(|(_, start, column)| (*start..=start + column.width).contains(&x))?;
        Some(at)
    }

    /// Returns the titles of the shown columns.
    #[cfg(test)]
    pub fn titles(&self) -> Vec<&'static str> {
        self.places().map(|(.., column)| column.title).collect()
    }

    /// Returns the titles.
    pub fn head(&self) -> Line {
        self.head_sorted_by(usize::MAX)
    }

    /// Returns the titles. That of the column by which rows are sorted is marked.
    pub fn head_sorted_by(&self, sorted: usize) -> Line {
        let of = |(at, column): (usize, &TableColumn)| {
            let tone = if at == sorted {
                Tone::Strong
            } else {
                Tone::Dim
            };
            Line::of(tone, column.title)
        };
        self.line(self.all.iter().enumerate().map(of))
    }

    /// Returns a row with a cell for each column, cut or filled to its width.
    pub fn line(&self, cells: impl IntoIterator<Item = Line>) -> Line {
        let mut cells: Vec<Line> = cells.into_iter().collect();
        let (mut line, mut used) = (Line::new(), 0);
        for (at, start, column) in self.places() {
            let cell = cells.get_mut(at).map(std::mem::take).unwrap_or_default();
            let cell = cell.cut(column.width);
            let width = cell.width();
            let shift = match column.is_right {
                true => column.width.saturating_sub(width),
                false => 0,
            };
            let gap = (start + shift).saturating_sub(used);
            line.push(self.blank, &" ".repeat(gap));
            used += gap + width;
            line.left.extend(cell.left);
        }
        line
    }
}

/// Shrinks columns to fit, the widest ones first. If all are at their minimum, drops the last ones.
fn shrunk(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    loop {
        let all: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let Some(widest) = widths.iter().copied().max().filter(|_| all > room) else {
            return widths;
        };
        match widths
            .iter()
            .rposition(|width| *width == widest && *width > MIN_COLUMN)
        {
            Some(at) => widths[at] -= (all - room).min(widest - MIN_COLUMN).clamp(1, 4),
            None if widths.len() > 1 => drop(widths.pop()),
            None => return vec![room],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_shrink_before_they_are_dropped() {
        assert_eq!(shrunk(vec![10, 20, 30], 64), [10, 20, 30]);
        let some = shrunk(vec![10, 20, 30], 50);
        assert!(
            some.len() == 3 && some.iter().sum::<usize>() + 4 == 50 && some[0] == 10,
            "{some:?}"
        );
        assert_eq!(shrunk(vec![10, 20, 30], 28), [8, 8, 8]);
        assert_eq!(
            shrunk(vec![10, 20, 30], 27),
            [8, 8],
            "the last column is dropped"
        );
        assert_eq!(shrunk(vec![44], 5), [5]);
        assert_eq!(shrunk(vec![], 5), [0; 0]);
        for room in 0..90 {
            let widths = shrunk(vec![12, 44, 3, 44, 9], room);
            assert!(
                widths.iter().sum::<usize>() + GAP * (widths.len() - 1) <= room,
                "{room}: {widths:?}"
            );
        }
    }

    fn table(ids: &[&str]) -> Table {
        let mut table = Table::default();
        table.lay_out(ids.iter().map(|id| id.to_string()).collect(), 3);
        table
    }

    #[test]
    fn rows_keep_their_places_while_keys_are_pressed() {
        let at = |second| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let mut table = table(&["a", "b"]);
        table.keep_order(at(0));
        assert!(table.places().is_empty(), "no key was pressed");
        table.touch(at(1));
        table.keep_order(at(2));
        assert_eq!(table.places()["b"], 1);
        assert!(!table.is_order_due(at(2)) && table.is_order_due(at(12)));
        table.reorder();
        table.keep_order(at(3));
        assert!(table.places().is_empty(), "the user chose another order");
    }

    #[test]
    fn the_filter_is_cleared_before_the_marks() {
        let mut table = table(&["a", "b", "c", "d"]);
        table.step(3);
        assert_eq!((table.selected(), table.visible()), (Some("d"), 1..4));
        table.click(Some(3));
        assert_eq!(table.selected(), Some("d"), "below the rows");
        table.click(Some(0));
        table.toggle_mark();
        table.filter = "B".into();
        assert!(table.fits(["x", "abc"]) && !table.fits(["x"]));
        assert!(table.clear() && table.filter.is_empty() && table.marked.contains("b"));
        assert!(table.clear() && table.marked.is_empty() && !table.clear());
    }

    #[test]
    fn marks_of_hidden_rows_are_kept() {
        let mut table = table(&["a", "b", "c"]);
        table.toggle_mark();
        table.lay_out(vec!["b".into(), "c".into()], 3);
        assert_eq!(table.hidden_marks(), 1);
        table.toggle_all_marks();
        table.lay_out(vec!["a".into(), "b".into(), "c".into()], 3);
        assert_eq!((table.marked.len(), table.hidden_marks()), (3, 0));
    }

    #[test]
    fn all_rows_are_marked_before_all_marks_are_removed() {
        let mut table = table(&["a", "b", "c"]);
        table.toggle_mark();
        table.toggle_all_marks();
        assert_eq!(table.marked.len(), 3, "one was marked before");
        table.toggle_all_marks();
        assert!(table.marked.is_empty());
    }

    #[test]
    fn cells_are_cut_filled_and_aligned() {
        let columns = TableColumns::new(20, [("NAME", 4), ("", 0), ("AGE", 3), ("REST", REST)]);
        let columns = columns.aligned_right(2..3);
        let line = |columns: &TableColumns| {
            let cells = ["abcdef", "hidden", "1m", "as much as fits"].map(Line::plain);
            columns.line(cells).text()
        };
        assert_eq!(columns.head().text(), "NAME  AGE  REST");
        assert_eq!(line(&columns), "abc…   1m  as much …");
        assert_eq!(columns.width(3), 9);
        assert_eq!(line(&columns.widened(2)), format!("abc…{:>16}", "1m"));
    }
}
