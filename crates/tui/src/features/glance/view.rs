//! Draws the strip with the counts, and the tiles.

use super::{Count, Facts, Rank, Reason, Tile, digits};
use crate::session::Session;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use jiff::SignedDuration;
use runtail_core::text;
use std::time::Duration;

/// Lines of the strip.
pub const STRIP: u16 = 7;
/// The sizes of tiles with their gaps, largest first.
const SIZES: [(u16, u16); 4] = [(69, 4), (45, 4), (35, 4), (23, 3)];
/// Minimum columns for a part of what explains a count.
const MIN_DETAIL: u16 = 8;
/// Data older than this is marked as stale.
const STALE: SignedDuration = SignedDuration::from_mins(2);

/// Draws the strip: waiting at the left, failed in the middle, running at the right, never swapped.
pub fn strip(facts: &Facts, session: &Session, area: Area, canvas: &mut Canvas<'_>) {
    let third = area.w / 3;
    let counts = [
        (&facts.waiting, "WAITING FOR YOU", "WAITING", Tone::Waiting),
        (&facts.failed, "FAILED", "FAILED", Tone::Bad),
        (&facts.running, "RUNNING", "RUNNING", Tone::Plain),
    ];
    for (n, (count, long, short, tone)) in counts.into_iter().enumerate() {
        let part = Area {
            x: area.x + n as u16 * third,
            w: third,
            ..area
        };
        let label = if third >= 40 {
            [long, short]
        } else {
            [short, short]
        };
        draw_count(canvas, part, count, label, tone, session.settings.ascii);
    }
    let unchecked = match facts.unchecked {
        0 => Line::new(),
        number => Line::new().right(Tone::Dim, &format!("? {number} not checked   ")),
    };
    if let Some(at) = facts.updated_at {
        let is_stale = session.now.duration_since(at) > STALE;
        let age = Duration::try_from(session.now.duration_since(at)).unwrap_or_default();
        let said = match is_stale {
            true => unchecked.right(Tone::Bad, &format!("updated {} ago", text::age(age))),
            false => unchecked.right(Tone::Dim, &format!("updated {}", session.clock(at))),
        };
        canvas.line_for_right(area.x, area.y, area.w.saturating_sub(1), &said);
    } else {
        canvas.line_for_right(area.x, area.y, area.w.saturating_sub(1), &unchecked);
    }
}

fn draw_count(
    canvas: &mut Canvas<'_>,
    area: Area,
    count: &Count,
    labels: [&str; 2],
    tone: Tone,
    ascii: bool,
) {
    let tone = if count.number.unwrap_or(0) == 0 || count.sign == "?" {
        Tone::Dim
    } else {
        tone
    };
    // More than three digits have no room, and say no more than three.
    let number = count.number.map(|number| number.min(999));
    let x = area.x + if area.w >= 40 { 3 } else { 1 };
    digits::draw(canvas, (x, area.y + 1), number, tone, ascii);
    let used = number.map_or(digits::WIDTH, digits::width);
    let (at, room) = (x + used + 2, (area.x + area.w).saturating_sub(x + used + 3));
    // A part of a word says nothing; the place tells the counts apart.
    let label = labels
        .into_iter()
        .find(|label| text::width(label) <= usize::from(room))
        .unwrap_or_default();
    canvas.foreign(at, area.y + 2, room, label, Tone::Strong);
    if number.is_some() {
        canvas.foreign(at - 2, area.y + 1, 1, count.sign, tone);
    }
    let fits = text::width(&count.detail) <= usize::from(room);
    let (detail, place) = if fits {
        (&count.detail, &count.place)
    } else {
        (&count.brief.0, &count.brief.1)
    };
    for (line, said) in [(3, detail), (4, place)] {
        if room >= MIN_DETAIL || text::width(said) <= usize::from(room) {
            canvas.foreign(at, area.y + line, room, said, Tone::Dim);
        }
    }
}

/// The places of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Columns and lines of a tile with the gap after it.
    size: (u16, u16),
    pub columns: usize,
    rows: usize,
}

impl Grid {
    /// Returns the largest size at which all tiles fit, else the smallest.
    pub fn of(count: usize, area: Area) -> Grid {
        let grid = |size: (u16, u16)| Grid {
            size,
            columns: usize::from((area.w + 1) / size.0).max(1),
            rows: usize::from(area.h / size.1),
        };
        let all = SIZES
            .iter()
            .filter(|size| size.0 <= area.w + 1)
            .map(|size| grid(*size));
        let fits = |grid: &Grid| grid.columns * grid.rows >= count;
        all.clone()
            .find(fits)
            .or(all.clone().next_back())
            .unwrap_or(grid(SIZES[SIZES.len() - 1]))
    }

    /// Returns how many tiles fit.
    pub fn capacity(&self) -> usize {
        self.columns * self.rows
    }

    fn place(&self, n: usize, area: Area) -> Area {
        let (w, h) = self.size;
        let (column, row) = (n % self.columns, n / self.columns);
        Area {
            x: area.x + column as u16 * w,
            y: area.y + row as u16 * h,
            w: w - 1,
            h,
        }
    }
}

/// Returns the tiles for a grid: if they don't all fit, good ones are merged into one.
pub(super) fn merged(tiles: &[Tile], capacity: usize) -> Vec<Tile> {
    if tiles.len() <= capacity || capacity == 0 {
        return tiles.to_vec();
    }
    let is_good = |tile: &&Tile| tile.rank == Rank::Good;
    let good = tiles.iter().filter(is_good).count();
    let mut shown: Vec<Tile> = tiles
        .iter()
        .filter(|tile| !is_good(tile))
        .take(capacity - 1)
        .cloned()
        .collect();
    let hidden = tiles.len() - shown.len();
    let name = if hidden == good {
        format!("{good} good")
    } else {
        format!("{hidden} more")
    };
    let (rank, glyph, tone) = if hidden == good {
        (Rank::Good, "●", Tone::Good)
    } else {
        (Rank::Unknown, "…", Tone::Dim)
    };
    shown.push(Tile {
        id: "merged".into(),
        rank,
        glyph,
        tone,
        name,
        region: String::new(),
        reasons: Vec::new(),
        is_outdated: false,
        opens: super::Opens::Nothing,
    });
    shown
}

/// Draws the tiles. `marks` are whether each is selected, and whether its state is new.
pub(super) fn tiles(
    shown: &[Tile],
    marks: &[(bool, bool)],
    grid: Grid,
    area: Area,
    canvas: &mut Canvas<'_>,
) {
    for (n, (tile, (is_selected, is_new))) in
        shown.iter().zip(marks).enumerate().take(grid.capacity())
    {
        draw_tile(tile, *is_selected, *is_new, grid.place(n, area), canvas);
    }
}

fn draw_tile(tile: &Tile, is_selected: bool, is_new: bool, area: Area, canvas: &mut Canvas<'_>) {
    let fill = tile.rank.fill().filter(|_| !tile.is_outdated);
    let edges = if tile.rank.needs_person() {
        ["┏", "━", "┓", "┃", "┗", "┛"]
    } else {
        ["┌", "─", "┐", "│", "└", "┘"]
    };
    let frame = match (is_selected, fill) {
        (true, _) => Tone::Accent,
        (false, Some((_, frame))) => frame,
        (false, None) => Tone::Dim,
    };
    let style = canvas.theme.style(frame);
    let inner = usize::from(area.w.saturating_sub(2));
    let last = area.h.saturating_sub(1);
    canvas.text(
        area.x,
        area.y,
        area.w,
        &format!("{}{}{}", edges[0], edges[1].repeat(inner), edges[2]),
        style,
    );
    canvas.text(
        area.x,
        area.y + last,
        area.w,
        &format!("{}{}{}", edges[4], edges[1].repeat(inner), edges[5]),
        style,
    );
    for line in 1..last {
        canvas.text(area.x, area.y + line, 1, edges[3], style);
        canvas.text(area.x + area.w - 1, area.y + line, 1, edges[3], style);
        // The frame isn't filled, so that neighbors don't look like one tile.
        if let Some((inside, _)) = fill {
            canvas.text(
                area.x + 1,
                area.y + line,
                area.w - 2,
                &" ".repeat(inner),
                canvas.theme.style(inside),
            );
        }
    }
    let of = |tone: Tone| fill.map_or(tone, |(inside, _)| inside);
    let is_calm = tile.is_outdated || tile.rank == Rank::Good || tile.rank == Rank::Unknown;
    let name_tone = match (is_selected || is_new, is_calm) {
        (true, _) => Tone::Strong,
        (false, true) => Tone::Dim,
        (false, false) => Tone::Plain,
    };
    let room = inner.saturating_sub(4);
    let region = if tile.region.is_empty() {
        String::new()
    } else {
        format!(" {}", text::clean(&tile.region))
    };
    let name = text::seen(&tile.name, room.saturating_sub(text::width(&region)));
    let mut line = Line::of(of(tile.tone), &format!("{} ", tile.glyph));
    line.push(of(name_tone), &name);
    line.push(of(Tone::Dim), &region);
    canvas.pieces(area.x + 2, area.y + 1, inner as u16 - 1, &line.left);
    if is_selected {
        canvas.foreign(area.x + 1, area.y + 1, 1, "▌", of(Tone::Accent));
    }
    let tone = if is_calm { Tone::Dim } else { Tone::Plain };
    if area.h >= 4 {
        canvas.foreign(
            area.x + 4,
            area.y + 2,
            inner as u16 - 3,
            &fitted(&tile.reasons, inner - 3),
            of(tone),
        );
    } else {
        // A small tile has its state in the lower edge of its frame.
        let said = fitted(&tile.reasons, inner.saturating_sub(3));
        if !said.is_empty() {
            let tone = fill.map_or(tone, |(_, frame)| frame);
            canvas.foreign(
                area.x + 2,
                area.y + last,
                inner as u16 - 1,
                &format!(" {said} "),
                tone,
            );
        }
    }
}

/// Returns the reasons that fit, as many as possible, each in its longest form.
fn fitted(reasons: &[Reason], width: usize) -> String {
    let joined = |count: usize, form: u8| -> String {
        let words = reasons.iter().take(count).map(|reason| match form {
            0 => format!("{}{}", reason.text, reason.detail),
            1 => format!("{}{}", reason.text, reason.brief),
            _ => reason.text.clone(),
        });
        text::clean(&words.collect::<Vec<_>>().join(" · ")).into_owned()
    };
    let choices = (1..=reasons.len())
        .rev()
        .flat_map(|count| [0, 1, 2].map(|form| joined(count, form)));
    let fits = choices.into_iter().find(|said| text::width(said) <= width);
    fits.unwrap_or_else(|| text::fit(&joined(1, 2), width).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(n: usize, rank: Rank) -> Tile {
        Tile {
            id: n.to_string(),
            rank,
            glyph: "●",
            tone: Tone::Good,
            name: format!("deployment {n}"),
            region: "us".into(),
            reasons: Vec::new(),
            is_outdated: false,
            opens: super::super::Opens::Nothing,
        }
    }

    #[test]
    fn tiles_are_as_large_as_fit_and_good_ones_are_merged_last() {
        let area = Area {
            x: 1,
            y: 8,
            w: 139,
            h: 30,
        };
        assert_eq!(Grid::of(12, area).size, (69, 4));
        assert_eq!(Grid::of(13, area).size.0, 69);
        assert_eq!(Grid::of(20, area).size.0, 45);
        assert_eq!(Grid::of(27, area).size.0, 35);
        assert_eq!(Grid::of(50, area).size, (23, 3));
        let many: Vec<Tile> = (0..90)
            .map(|n| tile(n, if n < 3 { Rank::Failed } else { Rank::Good }))
            .collect();
        let grid = Grid::of(many.len(), area);
        let shown = merged(&many, grid.capacity());
        assert!(shown.len() <= grid.capacity());
        assert_eq!(shown.last().unwrap().name, "87 good");
        assert_eq!(merged(&many[..5], grid.capacity()).len(), 5);
    }

    #[test]
    fn as_many_reasons_as_fit_are_shown() {
        let failed = Reason::from("2 failed".to_string());
        let waiting = Reason {
            text: "1 waiting".into(),
            detail: ", oldest 12m".into(),
            brief: ", 12m".into(),
        };
        let said = |reasons: &[Reason], width| fitted(reasons, width);
        let both = [failed.clone(), waiting.clone()];
        assert_eq!(said(&both, 40), "2 failed · 1 waiting, oldest 12m");
        assert_eq!(said(&both, 28), "2 failed · 1 waiting, 12m");
        assert_eq!(said(&both, 20), "2 failed · 1 waiting");
        assert_eq!(said(&both, 19), "2 failed");
        assert_eq!(said(&[waiting], 13), "1 waiting");
        assert_eq!(said(&[failed], 5), "2 fa…");
        assert_eq!(said(&[], 5), "");
    }
}
