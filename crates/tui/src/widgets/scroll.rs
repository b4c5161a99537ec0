//! Scroll position in a list that grows at the end and is trimmed at the front. Entries have stable keys and variable heights;
//! a paused position never moves by itself.

/// A list that can be scrolled. The keys of its entries are in `first..end`; some keys may be missing.
pub trait ScrollList {
    /// The key of the first entry in memory.
    fn first(&self) -> u64;
    /// One past the key of the last entry.
    fn end(&self) -> u64;
    /// The lines of an entry; 0 if it is shown inside another one.
    fn height(&self, key: u64) -> usize;

    /// The entry after this one.
    fn next(&self, key: u64) -> Option<u64> {
        (key + 1 < self.end()).then_some(key + 1)
    }
    /// The entry before this one.
    fn prev(&self, key: u64) -> Option<u64> {
        (key > self.first()).then(|| key - 1)
    }
    /// Returns the key itself, or the next one if this key is missing.
    fn near(&self, key: u64) -> u64 {
        key
    }
    /// Returns the number of entries from this key on.
    fn count_from(&self, key: u64) -> u64 {
        self.end().saturating_sub(key)
    }
}

/// A list whose entries have one line each.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flat {
    /// The key of the first entry.
    pub first: u64,
    /// One past the last key.
    pub end: u64,
}

impl ScrollList for Flat {
    fn first(&self) -> u64 {
        self.first
    }
    fn end(&self) -> u64 {
        self.end
    }
    fn height(&self, _: u64) -> usize {
        1
    }
}

/// A line of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct LinePos {
    /// The key of the entry.
    pub key: u64,
    /// The line in the entry, from 0.
    pub line: usize,
}

impl LinePos {
    /// Returns the first line of an entry.
    pub fn of(key: u64) -> LinePos {
        LinePos { key, line: 0 }
    }
}

/// A move in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The cursor by lines. The window follows if needed.
    Step(isize),
    /// The cursor and the window by lines.
    Page(isize),
    /// To the first line.
    Start,
    /// To the last line, to follow new ones.
    End,
    /// To a line of the window.
    Point(usize),
}

/// The scroll position in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line under the cursor.
    pub cursor: LinePos,
    /// The line at the top of the window.
    pub top: LinePos,
    /// Whether the cursor follows new lines.
    pub follow: bool,
    /// The list's end when following stopped; later entries count as unseen.
    pub seen: u64,
}

impl Place {
    /// Creates a position that follows the end.
    pub fn following() -> Place {
        Place {
            cursor: LinePos::default(),
            top: LinePos::default(),
            follow: true,
            seen: 0,
        }
    }

    /// Creates a position at the start that does not follow the end.
    pub fn at_start() -> Place {
        Place {
            follow: false,
            seen: u64::MAX,
            ..Place::following()
        }
    }

    /// Returns the number of entries added since following stopped.
    pub fn new_entries(&self, rows: &impl ScrollList) -> u64 {
        if self.follow {
            0
        } else {
            rows.count_from(self.seen)
        }
    }

    /// Adjusts the position to the current list and window height: skips evicted entries, moves a following cursor to the
    /// last line, and keeps the cursor visible. A paused window does not move, even if the list becomes shorter.
    pub fn clamp(&mut self, rows: &impl ScrollList, height: usize) {
        self.adjust(rows, height, self.follow);
    }

    /// Like [`Place::clamp`], but leaves no empty lines below the end. For replaced lists, and after moves.
    pub fn fill(&mut self, rows: &impl ScrollList, height: usize) {
        self.adjust(rows, height, true);
    }

    fn adjust(&mut self, rows: &impl ScrollList, height: usize, fill: bool) {
        if rows.first() >= rows.end() || height == 0 {
            return;
        }
        let last = last_spot(rows);
        if self.follow {
            self.cursor = last;
            self.seen = rows.end();
        }
        self.cursor = clamp(rows, self.cursor);
        self.top = clamp(rows, self.top);
        if self.cursor < self.top {
            self.top = self.cursor;
        }
        let lowest_top = back(rows, self.cursor, height - 1);
        if self.top < lowest_top {
            self.top = lowest_top;
        }
        // Only a list that is shorter than the window may leave lines empty.
        let last_page = back(rows, last, height - 1);
        if fill && self.top > last_page {
            self.top = last_page;
        }
    }

    /// Keeps the relative position in an entry whose number of lines changed in a new layout.
    pub fn rescale(&mut self, key: u64, before: usize, after: usize) {
        for spot in [&mut self.cursor, &mut self.top] {
            if spot.key == key && before > 0 {
                spot.line = spot.line * after / before;
            }
        }
    }

    /// Moves in a list.
    pub fn apply(&mut self, rows: &impl ScrollList, height: usize, to: Move) {
        match to {
            Move::Step(lines) => self.step(rows, height, lines),
            Move::Page(lines) => self.page(rows, height, lines),
            Move::Start => self.to_start(rows, height),
            Move::End => self.to_end(rows, height, true),
            Move::Point(line) => {
                let spot = window(rows, self.top, height).nth(line);
                if let Some(spot) = spot {
                    self.go(rows, height, spot);
                }
            }
        }
    }

    /// Moves the cursor by lines, and scrolls if needed. Any move up stops following.
    pub fn step(&mut self, rows: &impl ScrollList, height: usize, lines: isize) {
        if rows.first() >= rows.end() {
            return;
        }
        if lines < 0 {
            self.follow = false;
        }
        self.cursor = walk(rows, clamp(rows, self.cursor), lines);
        self.fill(rows, height);
    }

    /// Moves to a line and stops following.
    pub fn go(&mut self, rows: &impl ScrollList, height: usize, spot: LinePos) {
        if self.follow {
            self.seen = rows.end();
        }
        self.follow = false;
        if rows.first() >= rows.end() {
            return;
        }
        self.cursor = clamp(rows, spot);
        // A line outside the window is shown with lines above it as context.
        let after = |spot| walk(rows, spot, height as isize - 1);
        if self.cursor < self.top || self.cursor > after(clamp(rows, self.top)) {
            self.top = back(rows, self.cursor, height / 3);
        }
        self.fill(rows, height);
    }

    /// Moves cursor and window together by lines, for page keys and the mouse wheel.
    pub fn page(&mut self, rows: &impl ScrollList, height: usize, lines: isize) {
        if rows.first() >= rows.end() {
            return;
        }
        if lines < 0 {
            self.follow = false;
        }
        self.top = walk(rows, clamp(rows, self.top), lines);
        self.cursor = walk(rows, clamp(rows, self.cursor), lines);
        self.fill(rows, height);
    }

    /// Moves to the first line.
    pub fn to_start(&mut self, rows: &impl ScrollList, height: usize) {
        self.follow = false;
        self.cursor = first_spot(rows);
        self.fill(rows, height);
    }

    /// Moves to the last line. `follow`: whether to follow new lines from now on.
    pub fn to_end(&mut self, rows: &impl ScrollList, height: usize, follow: bool) {
        self.follow = follow;
        if rows.first() < rows.end() {
            self.cursor = last_spot(rows);
        }
        self.fill(rows, height);
    }
}

/// Returns the lines of a window, from its top.
pub fn window<R: ScrollList>(
    rows: &R,
    top: LinePos,
    height: usize,
) -> impl Iterator<Item = LinePos> + '_ {
    // If all entries have 0 lines, there is no line to show.
    let mut next = (rows.first() < rows.end())
        .then(|| clamp(rows, top))
        .filter(|spot| rows.height(spot.key) > 0);
    std::iter::from_fn(move || {
        let spot = next?;
        next = after(rows, spot);
        Some(spot)
    })
    .take(height)
}

/// Returns the first line of the next entry that has lines.
fn below(rows: &impl ScrollList, key: u64) -> Option<LinePos> {
    let mut keys = std::iter::successors(rows.next(key), |key| rows.next(*key));
    Some(LinePos {
        key: keys.find(|key| rows.height(*key) > 0)?,
        line: 0,
    })
}

/// Returns the last line of the previous entry that has lines.
fn above(rows: &impl ScrollList, key: u64) -> Option<LinePos> {
    let mut keys = std::iter::successors(rows.prev(key), |key| rows.prev(*key));
    let key = keys.find(|key| rows.height(*key) > 0)?;
    Some(LinePos {
        key,
        line: rows.height(key) - 1,
    })
}

fn first_spot(rows: &impl ScrollList) -> LinePos {
    let first = LinePos {
        key: rows.first(),
        line: 0,
    };
    if rows.height(first.key) > 0 {
        first
    } else {
        below(rows, first.key).unwrap_or(first)
    }
}

fn last_spot(rows: &impl ScrollList) -> LinePos {
    above(rows, rows.end()).unwrap_or(LinePos {
        key: rows.end() - 1,
        line: 0,
    })
}

fn clamp(rows: &impl ScrollList, spot: LinePos) -> LinePos {
    if spot.key < rows.first() {
        return first_spot(rows);
    }
    if spot.key >= rows.end() {
        return last_spot(rows);
    }
    let key = rows.near(spot.key);
    let line = if key == spot.key { spot.line } else { 0 };
    match rows.height(key) {
        0 => below(rows, key).unwrap_or_else(|| last_spot(rows)),
        height => LinePos {
            key,
            line: line.min(height - 1),
        },
    }
}

fn after(rows: &impl ScrollList, spot: LinePos) -> Option<LinePos> {
    if spot.line + 1 < rows.height(spot.key) {
        return Some(LinePos {
            key: spot.key,
            line: spot.line + 1,
        });
    }
    below(rows, spot.key)
}

fn walk(rows: &impl ScrollList, spot: LinePos, lines: isize) -> LinePos {
    if lines < 0 {
        return back(rows, spot, lines.unsigned_abs());
    }
    let mut left = lines.unsigned_abs();
    let mut at = spot;
    while left > 0 {
        let rest = rows.height(at.key).max(1) - 1 - at.line;
        if left <= rest {
            return LinePos {
                key: at.key,
                line: at.line + left,
            };
        }
        let Some(next) = below(rows, at.key) else {
            return last_spot(rows);
        };
        left -= rest + 1;
        at = next;
    }
    at
}

fn back(rows: &impl ScrollList, spot: LinePos, lines: usize) -> LinePos {
    let mut left = lines;
    let mut at = spot;
    while left > 0 {
        if left <= at.line {
            return LinePos {
                key: at.key,
                line: at.line - left,
            };
        }
        let Some(next) = above(rows, at.key) else {
            return first_spot(rows);
        };
        left -= at.line + 1;
        at = next;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Tall {
        first: u64,
        heights: Vec<usize>,
    }

    impl ScrollList for Tall {
        fn first(&self) -> u64 {
            self.first
        }
        fn end(&self) -> u64 {
            self.first + self.heights.len() as u64
        }
        fn height(&self, key: u64) -> usize {
            self.heights[(key - self.first) as usize]
        }
    }

    #[test]
    fn a_paused_window_does_not_move_when_the_list_grows() {
        let mut place = Place::following();
        place.clamp(&Flat { first: 0, end: 100 }, 10);
        assert_eq!(place.top.key, 90);
        place.step(&Flat { first: 0, end: 100 }, 10, -1);
        assert!(!place.follow);
        let before = place;
        place.clamp(&Flat { first: 0, end: 500 }, 10);
        assert_eq!((place.top, place.cursor), (before.top, before.cursor));
        assert_eq!(place.new_entries(&Flat { first: 0, end: 500 }), 400);
        place.to_end(&Flat { first: 0, end: 500 }, 10, true);
        assert_eq!(
            (
                place.cursor.key,
                place.new_entries(&Flat { first: 0, end: 500 })
            ),
            (499, 0)
        );
    }

    #[test]
    fn evicted_entries_clamp_the_position() {
        let mut place = Place::at_start();
        place.clamp(&Flat { first: 0, end: 100 }, 10);
        place.clamp(
            &Flat {
                first: 50,
                end: 150,
            },
            10,
        );
        assert_eq!((place.top.key, place.cursor.key), (50, 50));
    }

    #[test]
    fn following_shows_the_last_line_of_a_growing_entry() {
        let mut place = Place::following();
        let rows = Tall {
            first: 0,
            heights: vec![3, 20],
        };
        place.clamp(&rows, 5);
        assert_eq!(place.top, LinePos { key: 1, line: 15 });
        assert_eq!(
            window(&rows, place.top, 5).last(),
            Some(LinePos { key: 1, line: 19 })
        );
    }

    proptest! {
        #[test]
        fn the_cursor_is_always_in_the_window(
            heights in proptest::collection::vec(0usize..6, 1..30).prop_filter("no entry has lines", |h| h.iter().any(|h| *h > 0)),
            moves in proptest::collection::vec((0u8..5, -40isize..40), 0..20),
            height in 1usize..12,
        ) {
            let rows = Tall { first: 7, heights };
            let mut place = Place::following();
            place.clamp(&rows, height);
            for (kind, n) in moves {
                match kind {
                    0 => place.step(&rows, height, n),
                    1 => place.page(&rows, height, n),
                    2 => place.to_start(&rows, height),
                    3 => place.to_end(&rows, height, true),
                    _ => place.to_end(&rows, height, false),
                }
                let seen: Vec<LinePos> = window(&rows, place.top, height).collect();
                prop_assert!(seen.contains(&place.cursor), "{place:?} {seen:?}");
                let total: usize = rows.heights.iter().sum();
                prop_assert_eq!(seen.len(), height.min(total));
            }
        }
    }
}
