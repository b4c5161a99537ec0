//! Screens as SVG, for the pictures in the README: one screen, or the screens of a session one after the other.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use std::collections::BTreeSet;
use std::time::Duration;

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
pub const DARK: Ground = Ground {
    foreground: "#d8dee9",
    background: "#101418",
    named: dark,
};
/// A light terminal, for the theme `light`.
pub const LIGHT: Ground = Ground {
    foreground: "#1f2328",
    background: "#ffffff",
    named: |_| None,
};

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
        Color::Rgb(r, g, b) => rgb(r, g, b),
        Color::Indexed(n @ 16..=231) => rgb(
            level((n - 16) / 36),
            level((n - 16) / 6 % 6),
            level((n - 16) % 6),
        ),
        Color::Indexed(n @ 232..) => {
            rgb(8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232))
        }
        color => (ground.named)(color)
            .unwrap_or(ground.foreground)
            .to_string(),
    }
}

/// Returns the picture of a screen.
pub fn svg(buffer: &Buffer, ground: Ground) -> String {
    let mut out = opening(buffer, ground);
    for y in 0..buffer.area.height {
        out.push_str(&row(buffer, y, ground));
    }
    out.push_str("</svg>\n");
    out
}

/// Returns a picture that shows the screens one after the other, each for a time, and then begins again. All have the same size.
///
/// A row that several screens share is drawn once, so the picture is little larger than its changes.
pub fn animated_svg(screens: &[(Buffer, Duration)], ground: Ground) -> String {
    let Some((first, _)) = screens.first() else {
        return String::new();
    };
    let total: Duration = screens.iter().map(|(_, time)| *time).sum();
    // In percent of the whole, with the end of the last screen as the last one.
    let mut starts = vec![0.0];
    for (_, time) in screens {
        starts.push(starts[starts.len() - 1] + 100.0 * time.as_secs_f64() / total.as_secs_f64());
    }
    let (mut rows, mut spans) = (String::new(), BTreeSet::new());
    for y in 0..first.area.height {
        let mut from = 0;
        while from < screens.len() {
            let text = row(&screens[from].0, y, ground);
            let same = |(screen, _): &&(Buffer, Duration)| row(screen, y, ground) == text;
            let to = from + screens[from..].iter().take_while(same).count();
            match (text.is_empty(), (from, to) == (0, screens.len())) {
                (true, _) => {}
                (false, true) => rows.push_str(&text),
                (false, false) => {
                    spans.insert((from, to));
                    rows.push_str(&format!("<g class=\"s{from}-{to}\">\n{text}</g>\n"));
                }
            }
            from = to;
        }
    }
    let mut style = String::new();
    for (from, to) in spans {
        let name = format!("s{from}-{to}");
        let hidden_before = if from == 0 {
            ""
        } else {
            "0%{visibility:hidden}"
        };
        let hidden_after = if to == screens.len() {
            String::new()
        } else {
            format!("{:.3}%{{visibility:hidden}}", starts[to])
        };
        style.push_str(&format!(
            ".{name}{{animation:{name} {:.2}s step-end infinite}}\n\
             @keyframes {name}{{{hidden_before}{:.3}%{{visibility:visible}}{hidden_after}}}\n",
            total.as_secs_f64(),
            starts[from]
        ));
    }
    format!(
        "{}<style>\n{style}</style>\n{rows}</svg>\n",
        opening(first, ground)
    )
}

fn opening(buffer: &Buffer, ground: Ground) -> String {
    let (width, height) = (
        f64::from(buffer.area.width) * CELL.0 + 24.0,
        f64::from(buffer.area.height) * CELL.1 + 24.0,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        ground.background
    )
}

/// Returns the elements of a row. Adjacent cells of one style form a text element, placed by column so that no font can shift it.
fn row(buffer: &Buffer, y: u16, ground: Ground) -> String {
    let w = buffer.area.width;
    let mut out = String::new();
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
        let behind = match (reversed, cell.bg) {
            (true, _) => Some(hex(cell.fg, ground)),
            (false, Color::Reset) => None,
            (false, color) => Some(hex(color, ground)),
        };
        let top = f64::from(y) * CELL.1 + 12.0;
        if let Some(behind) = behind {
            let (left, room) = (
                f64::from(start) * CELL.0 + 12.0,
                f64::from(x - start) * CELL.0,
            );
            out.push_str(&format!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{room:.1}\" height=\"{}\" fill=\"{behind}\"/>\n",
                CELL.1
            ));
        }
        let color = if reversed {
            ground.background.to_string()
        } else {
            hex(cell.fg, ground)
        };
        let weight = if cell.modifier.contains(Modifier::BOLD) {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let faint = if cell.modifier.contains(Modifier::DIM) && !reversed {
            " opacity=\"0.55\""
        } else {
            ""
        };
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
    out
}
