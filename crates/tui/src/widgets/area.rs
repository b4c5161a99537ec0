//! Rectangles of cells.

/// A rectangle of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Area {
    pub x: u16,
    pub y: u16,
    pub w: u16,
    pub h: u16,
}

/// Minimum width for two parts side by side.
const MIN_WIDTH_SIDE_BY_SIDE: u16 = 100;
/// Minimum height for two parts one below the other, and for frames around them.
const MIN_HEIGHT_STACKED: u16 = 12;

impl Area {
    /// Returns whether two parts have room side by side.
    pub fn is_wide(self) -> bool {
        self.w >= MIN_WIDTH_SIDE_BY_SIDE
    }

    /// Returns whether two parts have room one below the other.
    pub fn is_high(self) -> bool {
        self.h >= MIN_HEIGHT_STACKED
    }

    /// Returns the first columns and the others.
    pub fn columns(self, left: u16) -> [Area; 2] {
        let left = left.min(self.w);
        let (x, w) = (self.x + left, self.w - left);
        [Area { w: left, ..self }, Area { x, w, ..self }]
    }

    /// Returns the first lines and the others.
    pub fn lines(self, upper: u16) -> [Area; 2] {
        let upper = upper.min(self.h);
        [Area { h: upper, ..self }, below(self, upper)]
    }
}

/// Returns the part of a pane below its heading lines.
pub fn below(area: Area, lines: u16) -> Area {
    let lines = lines.min(area.h);
    Area {
        y: area.y + lines,
        h: area.h - lines,
        ..area
    }
}

/// Returns the area inside a frame.
pub fn inside(frame: Area) -> Area {
    Area {
        x: frame.x + 1,
        y: frame.y + 1,
        w: frame.w.saturating_sub(2),
        h: frame.h.saturating_sub(2),
    }
}
