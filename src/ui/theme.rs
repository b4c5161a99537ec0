//! The look of each tone, from the terminal's own sixteen colours, and the glyph of each state.

use crate::app::line::Tone;
use crate::model::Phase;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

/// How tones look on this terminal.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// Whether colours are used at all (NO_COLOR, `--color never`).
    pub color: bool,
    /// Whether only ASCII is shown.
    pub ascii: bool,
}

impl Theme {
    /// The style of a tone. Nothing depends on a background, and nothing on colour alone.
    pub fn style(&self, tone: Tone) -> Style {
        let plain = Style::default();
        let (color, modifier) = match tone {
            Tone::Plain => return plain,
            Tone::Strong => return plain.add_modifier(Modifier::BOLD),
            Tone::Dim => return plain.add_modifier(Modifier::DIM),
            Tone::Accent => (Color::Cyan, Modifier::empty()),
            Tone::Good => (Color::Green, Modifier::empty()),
            Tone::Moving => (Color::Yellow, Modifier::empty()),
            Tone::Bad => (Color::Red, Modifier::BOLD),
            Tone::Ns => (Color::Magenta, Modifier::empty()),
        };
        let style = plain.add_modifier(modifier);
        if self.color { style.fg(color) } else { style }
    }

    /// The style of a pane's title: the one focus mark.
    pub fn title(&self, focused: bool) -> Style {
        let bold = Style::default().add_modifier(Modifier::BOLD);
        match (focused, self.color) {
            (true, true) => bold.fg(Color::Cyan),
            (true, false) => bold.add_modifier(Modifier::UNDERLINED),
            (false, _) => Style::default().add_modifier(Modifier::DIM),
        }
    }
}

/// Glyph and tone of a revision's phase.
pub fn phase_look(phase: Phase) -> (&'static str, Tone) {
    match phase {
        Phase::Deployed => ("●", Tone::Good),
        Phase::Moving => ("◐", Tone::Moving),
        Phase::Waiting => ("◌", Tone::Moving),
        Phase::Failed => ("✗", Tone::Bad),
        Phase::Skipped | Phase::Interrupted => ("■", Tone::Dim),
        Phase::Unknown => ("?", Tone::Moving),
    }
}

/// Glyph, tone and word of a deployment's own status.
pub fn deployment_look(status: Option<&str>) -> (&'static str, Tone, String) {
    match status {
        Some("READY") => ("●", Tone::Good, "ready".into()),
        Some("AWAITING_DATABASE") => ("◌", Tone::Moving, "waiting".into()),
        Some("AWAITING_DELETE" | "AWAITING_FINAL_DELETE") => ("◐", Tone::Moving, "deleting".into()),
        Some("UNUSED") => ("■", Tone::Dim, "unused".into()),
        Some(other) => ("?", Tone::Moving, other.to_string()),
        None => (" ", Tone::Dim, "-".into()),
    }
}

/// Glyph and tone of a thread's or a run's status.
pub fn run_look(status: &str) -> (&'static str, Tone) {
    match status {
        "idle" | "success" => ("●", Tone::Good),
        "busy" | "running" => ("◐", Tone::Moving),
        "pending" | "interrupted" => ("◌", Tone::Moving),
        "error" | "timeout" => ("✗", Tone::Bad),
        _ => ("?", Tone::Dim),
    }
}

/// Replaces what is not ASCII on a finished screen.
pub fn to_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.symbol().is_ascii() {
            continue;
        }
        let plain = match cell.symbol() {
            "●" => "*",
            "◐" => "~",
            "◌" => ".",
            "✗" => "x",
            "■" => "#",
            "◆" => "!",
            "▌" | "›" | "▸" | "▶" | "→" | "»" => ">",
            "▾" => "v",
            "│" => "|",
            "─" => "-",
            "┬" | "┴" | "┼" | "├" | "┤" => "+",
            "└" => "`",
            "·" | "–" | "—" => "-",
            "…" => "~",
            "⏎" => "^",
            "▏" => "_",
            "‹" => "<",
            _ => "?",
        };
        cell.set_symbol(plain);
    }
}
