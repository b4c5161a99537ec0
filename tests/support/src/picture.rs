//! Screens as SVG, for the pictures in the README.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

const CELL: (f64, f64) = (8.4, 18.0);

/// The colors of a terminal.
#[derive(Clone, Copy)]
pub struct Ground {
    foreground: &'static str,
    background: &'static str,
    /// The sixteen colors, of which only those of the themes are used.
    named: fn(Color) -> Option<&'static str>,
}

/// A dark terminal.
pub const DARK: Ground = Ground { foreground: "#d8dee9", background: "#101418", named: dark };
/// A light terminal, for the theme `light`.
pub const LIGHT: Ground = Ground { foreground: "#1f2328", background: "#ffffff", named: |_| None };

fn dark(color: Color) -> Option<&'static str> {
    Some(match color {
        Color::Red => "#f14c4c",
        Color::Green => "#23d18b",
        Color::Yellow => "#e5c890",
        Color::Blue => "#5c8fff",
        Color::LightBlue => "#8ab4ff",
        Color::Magenta => "#d670d6",
        Color::LightMagenta => "#f0a0f0",
        Color::Cyan => "#29b8db",
        _ => return None,
    })
}

/// Returns a color in hexadecimal: one of 256, or one of the terminal's.
fn hex(color: Color, ground: Ground) -> String {
    let rgb = |r: u8, g: u8, b: u8| format!("#{r:02x}{g:02x}{b:02x}");
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match color {
        Color::Indexed(n @ 16..=231) => rgb(level((n - 16) / 36), level((n - 16) / 6 % 6), level((n - 16) % 6)),
        Color::Indexed(n @ 232..) => rgb(8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232)),
        color => (ground.named)(color).unwrap_or(ground.foreground).to_string(),
    }
}

/// Returns the picture. Adjacent cells of one style form a text element, placed by column so that no font can shift it.
pub fn svg(buffer: &Buffer, ground: Ground) -> String {
    let background = ground.background;
    let (w, h) = (buffer.area.width, buffer.area.height);
    let (width, height) = (f64::from(w) * CELL.0 + 24.0, f64::from(h) * CELL.1 + 24.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{background}\"/>\n"
    );
    for y in 0..h {
        let mut x = 0;
        while x < w {
            let cell = &buffer[(x, y)];
            let start = x;
            let mut text = String::new();
            while x < w && buffer[(x, y)].style() == cell.style() {
                let symbol = buffer[(x, y)].symbol();
                text.push_str(symbol);
                let columns = runtail_core::text::width(symbol).max(1) as u16;
                x += columns;
                // A wide character, or a blank after one, would shift what follows.
                if columns > 1 {
                    break;
                }
            }
            let reversed = cell.modifier.contains(Modifier::REVERSED);
            let top = f64::from(y) * CELL.1 + 12.0;
            let left = f64::from(start) * CELL.0 + 12.0;
            let room = f64::from(x - start) * CELL.0;
            if reversed {
                out.push_str(&format!(
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{room:.1}\" height=\"{}\" fill=\"{}\"/>\n",
                    CELL.1,
                    hex(cell.fg, ground)
                ));
            }
            let color = if reversed { background.to_string() } else { hex(cell.fg, ground) };
            let weight = if cell.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
            let faint = if cell.modifier.contains(Modifier::DIM) && !reversed { " opacity=\"0.55\"" } else { "" };
            // Blanks are not text: viewers disagree about them.
            let mut at = start;
            for word in text.split(' ') {
                let columns = runtail_core::text::width(word) as u16;
                if columns > 0 {
                    let left = f64::from(at) * CELL.0 + 12.0;
                    let room = f64::from(columns) * CELL.0;
                    let word = word.replace('&', "&amp;").replace('<', "&lt;");
                    out.push_str(&format!(
                        "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{room:.1}\" fill=\"{color}\"{weight}{faint}>{word}</text>\n",
                        top + 13.5
                    ));
                }
                at += columns + 1;
            }
        }
    }
    out.push_str("</svg>\n");
    out
}
