//! Rectangles of cells.

/// A rectangle of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Area {
    pub x: u16,
    pub y: u16,
    pub w: u16,
    pub h: u16,
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
