//! The styles of tones in the chosen theme on this terminal, and the glyphs of statuses.

use super::line::Tone;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use runtail_core::config::theme::{AUTO, ColorSpec, DARK, LIGHT, Role, Scheme, StyleSpec, Themes};
use runtail_core::model::Phase;

/// The capabilities of this terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Theme {
    /// Whether colors are used at all (NO_COLOR, `--color never`).
    pub color: bool,
    /// Whether it supports 24-bit color, not only 256 colors.
    pub rgb: bool,
    /// Whether only ASCII characters are shown.
    pub ascii: bool,
    /// The terminal's background color, if it has reported one.
    pub background: Option<(u8, u8, u8)>,
}

impl Theme {
    /// Returns the theme of that name for this terminal. Without colors it is always the colorless theme.
    pub(crate) fn paint<'a>(&self, themes: &'a Themes, name: &str) -> ResolvedTheme<'a> {
        let scheme = match (self.color, name, self.background) {
            (false, ..) => themes.without_color(),
            (true, AUTO, Some(background)) => {
                themes.or_terminal(if is_light(background) { LIGHT } else { DARK })
            }
            (true, name, _) => themes.or_terminal(name),
        };
        let ground = self
            .background
            .filter(|_| self.color && !scheme.is_colorless())
            .map(selection_ground);
        ResolvedTheme {
            scheme,
            rgb: self.rgb,
            ground,
        }
    }
}

/// A theme resolved for a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResolvedTheme<'a> {
    scheme: &'a Scheme,
    rgb: bool,
    ground: Option<ColorSpec>,
}

impl ResolvedTheme<'_> {
    /// Returns the style of a tone.
    pub fn style(&self, tone: Tone) -> Style {
        self.of(match tone {
            Tone::Plain => Role::Plain,
            Tone::Strong => Role::Strong,
            Tone::Dim => Role::Dim,
            Tone::Accent => Role::Accent,
            Tone::Focus => Role::Focus,
            Tone::Good => Role::Good,
            Tone::Moving => Role::Moving,
            Tone::Waiting => Role::Waiting,
            Tone::Bad => Role::Bad,
            Tone::Error => Role::Error,
            Tone::Key => Role::Key,
            Tone::Badge => Role::Badge,
            Tone::Banner => Role::Banner,
            Tone::BannerFailed => Role::BannerFailed,
            Tone::Ns => Role::Namespace,
            Tone::Hit => Role::Hit,
            Tone::Emphasis => Role::Emphasis,
            Tone::Label(number) => Role::label(number),
        })
    }

    /// Returns the style of a pane's title, which shows the focus.
    pub fn title(&self, focused: bool) -> Style {
        self.of(if focused { Role::Focus } else { Role::Title })
    }

    /// Returns the background of the selected row; `None` if the terminal's own is unknown, or no colors are used.
    pub fn selection(&self) -> Option<Color> {
        self.ground.map(|ground| self.color(ground))
    }

    fn color(&self, ink: ColorSpec) -> Color {
        match if self.rgb { ink } else { ink.numbered() } {
            ColorSpec::Named(n) => NAMED[usize::from(n % 16)],
            ColorSpec::Numbered(n) => Color::Indexed(n),
            ColorSpec::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
        }
    }

    fn of(&self, role: Role) -> Style {
        let StyleSpec {
            ink,
            ground,
            bold,
            dim,
            italic,
            underline,
            reverse,
        } = self.scheme.look(role);
        let modifiers = [
            (bold, Modifier::BOLD),
            (dim, Modifier::DIM),
            (italic, Modifier::ITALIC),
            (underline, Modifier::UNDERLINED),
            (reverse, Modifier::REVERSED),
        ];
        let modifiers = modifiers
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, modifier)| modifier)
            .collect();
        Style {
            fg: ink.map(|ink| self.color(ink)),
            bg: ground.map(|ground| self.color(ground)),
            ..Style::default()
        }
        .add_modifier(modifiers)
    }
}

/// Returns the color 8% away from a background, toward the other end of the scale, so that text stays as readable.
fn selection_ground(background: (u8, u8, u8)) -> ColorSpec {
    const STEP: u8 = 20;
    let away = |part: u8| {
        if is_light(background) {
            part.saturating_sub(STEP)
        } else {
            part.saturating_add(STEP)
        }
    };
    ColorSpec::Rgb(away(background.0), away(background.1), away(background.2))
}

fn is_light((red, green, blue): (u8, u8, u8)) -> bool {
    // Rec. 709 luma, in 1/10000.
    2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue) >= 128 * 10_000
}

/// The terminal's 16 ANSI colors, by number.
pub const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// Returns the glyph and tone of a revision's phase.
pub fn phase_glyph(phase: Phase) -> (&'static str, Tone) {
    match phase {
        Phase::Deployed => ("●", Tone::Good),
        Phase::Moving => ("◐", Tone::Moving),
        Phase::Waiting => ("◌", Tone::Moving),
        Phase::Failed => ("✗", Tone::Bad),
        Phase::Skipped | Phase::Interrupted => ("■", Tone::Dim),
        Phase::Unknown => ("?", Tone::Moving),
    }
}

/// Returns the glyph, tone and word of a deployment's own status.
pub fn deployment_badge(status: Option<&str>) -> (&'static str, Tone, String) {
    match status {
        Some("READY") => ("●", Tone::Good, "ready".into()),
        Some("AWAITING_DATABASE") => ("◌", Tone::Moving, "pending".into()),
        Some("AWAITING_DELETE" | "AWAITING_FINAL_DELETE") => ("◐", Tone::Moving, "deleting".into()),
        Some("UNUSED") => ("■", Tone::Dim, "unused".into()),
        Some(other) => ("?", Tone::Moving, other.to_string()),
        None => (" ", Tone::Dim, "-".into()),
    }
}

/// Replaces the non-ASCII characters of a drawn screen.
pub fn to_ascii(buffer: &mut Buffer) {
    let mut is_after_differs = false;
    for cell in &mut buffer.content {
        // The blank after the glyph for "differs", whose ASCII form has two characters.
        if std::mem::take(&mut is_after_differs) && cell.symbol() == " " {
            cell.set_symbol("=");
        }
        if cell.symbol().is_ascii() {
            continue;
        }
        is_after_differs = cell.symbol() == "≠";
        let plain = match cell.symbol() {
            "●" | "✓" => "*",
            "◐" => "~",
            "◌" => ".",
            "✗" => "x",
            "■" => "#",
            "◆" => "!",
            "‖" => "|",
            "▌" | "›" | "►" | "→" | "»" => ">",
            "▸" => "+",
            "▾" => "-",
            "↓" => "v",
            "▴" | "▲" | "↑" => "^",
            "≥" => ">",
            "≤" => "<",
            "“" | "”" => "\"",
            "│" => "|",
            "─" => "-",
            "┬" | "┴" | "┼" | "├" | "┤" | "╭" | "╮" | "╰" => "+",
            "└" => "`",
            "╯" => "'",
            "×" => "x",
            "•" => "*",
            "·" | "–" | "—" => "-",
            "…" => "~",
            "⏎" => "^",
            "▏" => "_",
            "▁" => "_",
            "▂" | "▃" => ".",
            "▄" => "-",
            "▅" | "▆" => "=",
            "▇" => "*",
            "▒" => ":",
            "═" => "=",
            "█" | "━" => "=",
            "╌" => "-",
            "┏" | "┓" | "┗" | "┛" => "#",
            "┃" => "#",
            "┌" | "┐" | "┘" => "+",
            "▎" | "▍" | "▋" | "▊" | "▉" => ">",
            "‹" | "←" | "◄" => "<",
            "↕" => "%",
            "≠" => "!",
            "Δ" => "d",
            other => {
                let letter = letter(other);
                cell.set_char(letter.unwrap_or('?'));
                continue;
            }
        };
        cell.set_symbol(plain);
    }
}

/// Latin letters and common symbols by what resembles them in ASCII. A cell has room for one character.
const LETTERS: [(char, &str); 48] = [
    ('a', "äàáâãåāăąæ"),
    ('A', "ÄÀÁÂÃÅĀĂĄÆ"),
    ('c', "çćĉċč¢©"),
    ('C', "ÇĆĈĊČ"),
    ('d', "ďđð"),
    ('D', "ĎĐÐ"),
    ('e', "éèêëēĕėęě"),
    ('E', "ÉÈÊËĒĔĖĘĚ€"),
    ('g', "ĝğġģ"),
    ('G', "ĜĞĠĢ"),
    ('h', "ĥħ"),
    ('H', "ĤĦ"),
    ('i', "íìîïĩīĭįı"),
    ('I', "ÍÌÎÏĨĪĬĮİ"),
    ('j', "ĵ"),
    ('J', "Ĵ"),
    ('k', "ķ"),
    ('K', "Ķ"),
    ('l', "ĺļľŀł"),
    ('L', "ĹĻĽĿŁ£"),
    ('n', "ñńņň"),
    ('N', "ÑŃŅŇ"),
    ('o', "öóòôõøōŏőœ°"),
    ('O', "ÖÓÒÔÕØŌŎŐŒ"),
    ('r', "ŕŗř"),
    ('R', "ŔŖŘ®"),
    ('s', "ßśŝşšș"),
    ('S', "ẞŚŜŞŠȘ§"),
    ('t', "ţťŧțþ"),
    ('T', "ŢŤŦȚÞ™"),
    ('u', "üúùûũūŭůűųµ"),
    ('U', "ÜÚÙÛŨŪŬŮŰŲ"),
    ('w', "ŵ"),
    ('W', "Ŵ"),
    ('y', "ýÿŷ"),
    ('Y', "ÝŸŶ¥"),
    ('z', "źżž"),
    ('Z', "ŹŻŽ"),
    ('\'', "’‘‚´′"),
    ('"', "„‟″"),
    ('<', "«"),
    ('-', "−‐‑‒―"),
    ('!', "¡"),
    ('1', "¹"),
    ('2', "²"),
    ('3', "³"),
    ('+', "±"),
    (' ', "\u{a0}\u{2007}\u{2009}\u{202f}"),
];

/// Returns the ASCII letter or symbol that resembles the text of a cell. A letter may be followed by its accents.
fn letter(symbol: &str) -> Option<char> {
    let first = symbol.chars().next()?;
    let plain = || {
        LETTERS
            .iter()
            .find(|(_, all)| all.contains(first))
            .map(|(plain, _)| *plain)
    };
    if first.is_ascii() {
        Some(first)
    } else {
        plain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use runtail_core::config::Config;

    #[test]
    fn folds_and_differences_have_ascii_forms_of_their_own() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, "▸ a ▾ b ≠ 3", Style::default());
        to_ascii(&mut buffer);
        let shown: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert_eq!(shown, "+ a - b !=3 ");
    }

    fn paint(theme: Theme, name: &str, tone: Tone) -> Style {
        let config = Config::parse("[themes.own]\nbad = \"bold #ff8700 on 17\"\n", None).unwrap();
        theme.paint(&config.themes, name).style(tone)
    }

    #[test]
    fn a_theme_styles_tones_and_no_color_wins() {
        let terminal = Theme {
            color: true,
            rgb: true,
            ..Theme::default()
        };
        let bold = Style::default().add_modifier(Modifier::BOLD);
        assert_eq!(paint(terminal, "terminal", Tone::Bad), bold.fg(Color::Red));
        assert_eq!(
            paint(terminal, "own", Tone::Bad),
            bold.fg(Color::Rgb(255, 135, 0)).bg(Color::Indexed(17))
        );
        let few = Theme {
            rgb: false,
            ..terminal
        };
        assert_eq!(
            paint(few, "own", Tone::Bad),
            bold.fg(Color::Indexed(208)).bg(Color::Indexed(17))
        );
        let none = Theme {
            color: false,
            ..terminal
        };
        assert_eq!(paint(none, "own", Tone::Bad), bold);
        assert_eq!(paint(none, "own", Tone::Good), Style::default());
    }

    #[test]
    fn auto_follows_the_background_that_the_terminal_reports() {
        let on = |background| Theme {
            color: true,
            rgb: true,
            background,
            ..Theme::default()
        };
        let good = |theme: Theme, name: &str| paint(theme, name, Tone::Good).fg;
        let white = on(Some((255, 255, 255)));
        assert_eq!(good(white, "auto"), Some(Color::Indexed(28)));
        assert_eq!(
            good(white, "terminal"),
            Some(Color::Green),
            "a chosen theme stays"
        );
        for dark in [on(None), on(Some((16, 20, 24)))] {
            assert_eq!(good(dark, "auto"), Some(Color::Green));
        }
        let node = |theme: Theme| paint(theme, "auto", Tone::Label(0)).fg;
        assert_eq!(node(on(None)), Some(Color::LightBlue));
        assert_eq!(node(on(Some((16, 20, 24)))), Some(Color::Indexed(69)));
        let ground = |theme: Theme| theme.paint(&Config::default().themes, "auto").selection();
        assert_eq!(ground(white), Some(Color::Rgb(235, 235, 235)));
        assert_eq!(ground(on(Some((16, 20, 24)))), Some(Color::Rgb(36, 40, 44)));
        assert_eq!(
            ground(Theme {
                color: false,
                ..white
            }),
            None
        );
        assert_eq!(
            white.paint(&Config::default().themes, "mono").selection(),
            None
        );
    }

    #[test]
    fn letters_of_other_languages_are_replaced_by_the_ones_that_they_resemble() {
        let ascii = |said: &str| {
            let width = runtail_core::text::width(said) as u16;
            let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, width, 1));
            buffer.set_string(0, 0, said, Style::default());
            to_ascii(&mut buffer);
            buffer
                .content
                .iter()
                .map(|cell| cell.symbol())
                .collect::<String>()
        };
        assert_eq!(
            ascii("Größe für Ärger: 49 €, déjà cafe\u{301} …"),
            "Grose fur Arger: 49 E, deja cafe ~"
        );
        assert_eq!(
            ascii("Łódź ‘naïve’ „ja“ ≤ 5 µs"),
            "Lodz 'naive' \"ja\" < 5 us"
        );
        assert_eq!(ascii("日本"), "? ? ");
    }
}
