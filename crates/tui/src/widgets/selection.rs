//! The selection in a list: the id of a row. Rows may appear, vanish and change their places around it; only the user moves it.

use super::scroll::{Flat, LinePos, Place, ScrollList, window};

/// The selection and scroll position in a list of rows with ids.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The id of the selected row.
    pub selected: Option<String>,
    /// A row to select as soon as it is listed, unless the selection is moved first.
    pending: Option<String>,
    place: Place,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            selected: None,
            pending: None,
            place: Place::at_start(),
        }
    }
}

impl Selection {
    /// Adjusts the selection and the window to the current rows.
    pub fn clamp(&mut self, ids: &[String], height: usize) {
        let rows = Flat {
            first: 0,
            end: ids.len() as u64,
        };
        if self
            .pending
            .as_ref()
            .is_some_and(|pending| ids.contains(pending))
        {
            self.selected = self.pending.take();
        }
        match self.at(ids) {
            Some(at) => {
                self.place.cursor = LinePos {
                    key: at as u64,
                    line: 0,
                }
            }
            None => self.place.cursor.key = self.place.cursor.key.min(rows.end.saturating_sub(1)),
        }
        self.place.fill(&rows, height);
        self.selected = ids.get(self.place.cursor.key as usize).cloned();
    }

    /// Begins at the first row, because the list is about something else now. A preferred row stays preferred.
    pub fn restart(&mut self) {
        *self = Selection {
            pending: self.pending.take(),
            ..Selection::default()
        };
    }

    /// Selects a row that may not be listed yet.
    pub fn prefer(&mut self, id: String) {
        self.pending = Some(id);
    }

    /// Moves the selection by a number of rows.
    pub fn step(&mut self, ids: &[String], height: usize, by: isize) {
        self.clamp(ids, height);
        self.pending = None;
        self.place.step(
            &Flat {
                first: 0,
                end: ids.len() as u64,
            },
            height,
            by,
        );
        self.selected = ids.get(self.place.cursor.key as usize).cloned();
    }

    /// Selects a row by its index.
    pub fn select(&mut self, ids: &[String], height: usize, at: usize) {
        if let Some(id) = ids.get(at) {
            self.place.cursor.key = at as u64;
            self.selected = Some(id.clone());
            self.pending = None;
            self.clamp(ids, height);
        }
    }

    /// Returns the index of the selected row. Of rows with the same id, it is the one under the cursor.
    pub fn at(&self, ids: &[String]) -> Option<usize> {
        let id = self.selected.as_ref()?;
        let here = Some(self.cursor()).filter(|at| ids.get(*at) == Some(id));
        here.or_else(|| ids.iter().position(|one| one == id))
    }

    /// Returns the index of the selected row as of the last [`Selection::clamp`].
    pub fn cursor(&self) -> usize {
        self.place.cursor.key as usize
    }

    /// Returns the index of the row at the top of the window.
    pub fn top(&self) -> usize {
        self.place.top.key as usize
    }

    /// Returns the indices of the rows in the window.
    pub fn window(&self, rows: usize, height: usize) -> Vec<usize> {
        let flat = Flat {
            first: 0,
            end: rows as u64,
        };
        if flat.first() >= flat.end() {
            return Vec::new();
        }
        window(&flat, self.place.top, height)
            .map(|s| s.key as usize)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| s.to_string()).collect()
    }

    #[test]
    fn the_selection_follows_the_row_not_its_index() {
        let mut selection = Selection::default();
        selection.clamp(&ids(&["a", "b", "c"]), 5);
        assert_eq!(selection.selected.as_deref(), Some("a"));
        selection.step(&ids(&["a", "b", "c"]), 5, 1);
        selection.clamp(&ids(&["x", "a", "c", "b"]), 5);
        assert_eq!(selection.at(&ids(&["x", "a", "c", "b"])), Some(3));
        selection.clamp(&ids(&["x", "a"]), 5);
        assert_eq!(
            selection.selected.as_deref(),
            Some("a"),
            "the neighbor of a removed row is selected"
        );
        selection.clamp(&[], 5);
        assert_eq!(selection.selected, None);
    }
}
