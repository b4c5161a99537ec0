//! The drawing of a tree of checkpoints, as `git log --graph` does it: newest first, one row per checkpoint, and a row where
//! branches join.
//!
//! Each branch has a lane. A reader follows the lane of a checkpoint downwards: the next checkpoint in it is its parent. Where
//! the lane turns left (`╯`, `┴`), it continues in the lane of the `├` of that row. A lane that ends after a checkpoint had no
//! parent; one that reaches the last row has a parent that isn't loaded.

use super::Parent;

/// Maximum number of lanes. Further branches have no rail, and are drawn behind an ellipsis.
pub const MAX_LANES: usize = 32;

/// A cell of a row: what is drawn in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    Blank,
    /// The lane passes.
    Rail,
    /// The checkpoint of the row.
    Node,
    /// The lane that others join.
    Fork,
    /// A lane that passes below the line of those that join.
    Cross,
    /// A lane that joins; the line continues to the right.
    Merge,
    /// The line from a lane further right.
    Across,
    /// The rightmost lane that joins.
    End,
}

/// A row of the drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphRow {
    /// The index of its checkpoint; none in a row where branches join.
    pub entry: Option<usize>,
    pub cells: Vec<Cell>,
    /// Whether its branch has no lane, because there are too many.
    pub is_beyond: bool,
}

impl GraphRow {
    /// Returns the texts before and after the mark of the row's checkpoint. A row without one has only the first.
    pub fn text(&self) -> (String, String) {
        let (mut before, mut after) = (String::new(), String::new());
        let mut seen = false;
        for cell in &self.cells {
            let glyphs = match cell {
                Cell::Blank => "  ",
                Cell::Rail => "│ ",
                Cell::Node => {
                    seen = true;
                    after.push(' ');
                    continue;
                }
                Cell::Fork => "├─",
                Cell::Cross => "┼─",
                Cell::Merge => "┴─",
                Cell::Across => "──",
                Cell::End => "╯ ",
            };
            if seen { &mut after } else { &mut before }.push_str(glyphs);
        }
        if self.is_beyond {
            before.push_str("… ");
            after.push(' ');
        }
        let before = if seen || self.is_beyond {
            before
        } else {
            before.trim_end().to_string()
        };
        (before, after.trim_end().to_string())
    }

    /// Returns the texts before and after the mark of the row's checkpoint, with the oldest checkpoint at the top. `join` is the row
    /// where the branches after it join; their lanes begin here, or pass if the row stands `beside` them.
    pub fn upward(&self, join: Option<&GraphRow>, beside: bool) -> (String, String) {
        let Some(join) = join.filter(|_| !self.is_beyond) else {
            return self.text();
        };
        let (mut before, mut after) = (String::new(), String::new());
        let mut seen = false;
        for cell in &join.cells {
            let glyphs = match cell {
                Cell::Fork => {
                    seen = true;
                    after.push(if beside { ' ' } else { '─' });
                    continue;
                }
                Cell::Blank => "  ",
                Cell::Across if beside => "  ",
                Cell::Across => "──",
                Cell::Cross if !beside => "┼─",
                Cell::Merge if !beside => "┬─",
                Cell::End if !beside => "╮ ",
                Cell::Rail | Cell::Node | Cell::Cross | Cell::Merge | Cell::End => "│ ",
            };
            if seen { &mut after } else { &mut before }.push_str(glyphs);
        }
        (before, after.trim_end().to_string())
    }

    /// Returns the columns of the row.
    pub fn width(&self) -> usize {
        let last = self
            .cells
            .iter()
            .rposition(|cell| *cell != Cell::Blank)
            .map_or(0, |lane| 2 * lane + 1);
        if self.is_beyond {
            2 * self.cells.len() + 3
        } else {
            last
        }
    }
}

/// Draws checkpoints whose parents come after them.
pub fn layout(parents: &[Parent]) -> Vec<GraphRow> {
    let mut rows: Vec<GraphRow> = Vec::with_capacity(parents.len());
    // What each lane leads to: an index, or something that isn't loaded.
    let mut lanes: Vec<Option<Parent>> = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        let waiting: Vec<usize> = (0..lanes.len())
            .filter(|lane| lanes[*lane] == Some(Parent::At(at)))
            .collect();
        if let [first, .., last] = waiting.as_slice() {
            rows.push(join(&lanes, &waiting, *first, *last));
            waiting.iter().skip(1).for_each(|lane| lanes[*lane] = None);
        }
        let lane = waiting
            .first()
            .copied()
            .or_else(|| free_lane(&lanes, rows.last()));
        if let Some(lane) = lane {
            lanes.resize(lanes.len().max(lane + 1), None);
            lanes[lane] = Some(*parent).filter(|parent| *parent != Parent::None);
        }
        let mut cells: Vec<Cell> = lanes
            .iter()
            .map(|lane| {
                if lane.is_some() {
                    Cell::Rail
                } else {
                    Cell::Blank
                }
            })
            .collect();
        if let Some(lane) = lane {
            cells[lane] = Cell::Node;
        }
        rows.push(GraphRow {
            entry: Some(at),
            cells,
            is_beyond: lane.is_none(),
        });
        while lanes.last().is_some_and(Option::is_none) {
            lanes.pop();
        }
    }
    rows
}

/// Returns the leftmost lane for a new branch. The row above must be blank there, or the branch would seem to continue it.
fn free_lane(lanes: &[Option<Parent>], above: Option<&GraphRow>) -> Option<usize> {
    let is_blank = |lane: usize| {
        above
            .and_then(|row| row.cells.get(lane))
            .is_none_or(|cell| *cell == Cell::Blank)
    };
    (0..MAX_LANES).find(|lane| lanes.get(*lane).copied().flatten().is_none() && is_blank(*lane))
}

fn join(lanes: &[Option<Parent>], waiting: &[usize], first: usize, last: usize) -> GraphRow {
    let cell = |lane: usize| match lane {
        lane if lane == first => Cell::Fork,
        lane if lane == last => Cell::End,
        lane if waiting.contains(&lane) => Cell::Merge,
        lane if (first..last).contains(&lane) => {
            if lanes[lane].is_some() {
                Cell::Cross
            } else {
                Cell::Across
            }
        }
        lane if lanes[lane].is_some() => Cell::Rail,
        _ => Cell::Blank,
    };
    GraphRow {
        entry: None,
        cells: (0..lanes.len()).map(cell).collect(),
        is_beyond: false,
    }
}
