//! Themes: the style of each role, as data. The built-in ones are in `crates/core/assets/themes/`, the user's own are in the configuration
//! as `[themes.NAME]`.

use super::node::{self, Node};
use super::read::{Source, read};
use super::{ConfigError, nearest};
use indexmap::IndexMap;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

/// The list of roles: variant, name in a file, meaning on the screen. A new role needs a row here, one in `docs/themes.md`, and
/// a line in `crates/core/assets/themes/*.toml` unless it is plain.
macro_rules! roles {
    ($($role:ident $name:literal $meaning:literal,)*) => {
        /// A role that a theme styles.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Role {
            $(#[doc = $meaning] $role,)*
        }

        impl Role {
            /// All roles, in the order of the documentation.
            pub const ALL: &[Role] = &[$(Role::$role,)*];

            /// Its name in a file.
            pub const fn name(self) -> &'static str {
                match self { $(Role::$role => $name,)* }
            }

            /// What it is on the screen.
            pub const fn meaning(self) -> &'static str {
                match self { $(Role::$role => $meaning,)* }
            }
        }
    };
}

roles! {
    Plain "plain" "Ordinary text.",
    Strong "strong" "Where you are, what matters now.",
    Dim "dim" "Labels, ids, times, rules.",
    Accent "accent" "Focus and links.",
    Good "good" "Live, or good.",
    Moving "moving" "In progress; no action needed.",
    Waiting "waiting" "Waiting for you.",
    Bad "bad" "Failed.",
    Error "error" "The text of an error.",
    Key "key" "The keys of hints.",
    Badge "badge" "Labels that must not be overlooked: production, read-only.",
    Banner "banner" "The banner with what a thread is waiting for.",
    BannerFailed "banner_failed" "The banner with why a thread failed.",
    Namespace "namespace" "The namespace of a subgraph.",
    Hit "hit" "A search hit.",
    Code "code" "Code within text.",
    Emphasis "emphasis" "Emphasized text.",
    Label1 "label_1" "The first of eight labels of nodes, with distinct colors.",
    Label2 "label_2" "The second one.",
    Label3 "label_3" "The third one.",
    Label4 "label_4" "The fourth one.",
    Label5 "label_5" "The fifth one.",
    Label6 "label_6" "The sixth one.",
    Label7 "label_7" "The seventh one.",
    Label8 "label_8" "The eighth one.",
    Title "title" "The title of a pane.",
    Focus "focus" "The title of the pane that has the focus.",
}

impl Role {
    /// Returns the role of a label number, modulo the number of roles.
    pub fn label(number: u16) -> Role {
        use Role::*;
        const LABELS: [Role; 8] = [
            Label1, Label2, Label3, Label4, Label5, Label6, Label7, Label8,
        ];
        LABELS[usize::from(number) % LABELS.len()]
    }
}

/// A color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorSpec {
    /// One of the terminal's 16 colors: 0 to 7, and the bright ones 8 to 15.
    Named(u8),
    /// One of 256 colors, which are nearly the same on all terminals.
    Numbered(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// The names of the terminal's colors; the bright ones have the prefix `bright-`.
const NAMES: [&str; 8] = [
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
];

/// A style. Missing parts are the terminal's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StyleSpec {
    /// Foreground color.
    pub ink: Option<ColorSpec>,
    /// Background color.
    pub ground: Option<ColorSpec>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Reversed foreground and background.
    pub reverse: bool,
}

/// The style of every role.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme([StyleSpec; Role::ALL.len()]);

impl Default for Scheme {
    fn default() -> Scheme {
        Scheme([StyleSpec::default(); Role::ALL.len()])
    }
}

impl Scheme {
    /// Returns the style of a role.
    pub fn look(&self, role: Role) -> StyleSpec {
        self.0[role as usize]
    }

    /// Returns whether it uses no colors.
    pub fn is_colorless(&self) -> bool {
        self.0
            .iter()
            .all(|look| look.ink.is_none() && look.ground.is_none())
    }
}

/// A theme as written: the style of each role, and `inherits`.
pub(super) type Written = IndexMap<String, String>;

/// All themes, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Themes {
    all: Vec<(String, Scheme)>,
    /// The user's own themes.
    pub(super) own: IndexMap<String, Written>,
}

/// The default theme. It uses only the terminal's 16 colors.
pub const TERMINAL: &str = "terminal";
/// Not a theme: [`DARK`] or [`LIGHT`] where the terminal reports its background, else [`TERMINAL`].
pub const AUTO: &str = "auto";
/// The theme for dark backgrounds.
pub const DARK: &str = "dark";
/// The theme for light backgrounds.
pub const LIGHT: &str = "light";
/// The theme without colors, which replaces every other one if colors are off.
pub const MONO: &str = "mono";

pub(super) const FILES: [(&str, &str); 6] = [
    (TERMINAL, include_str!("../../assets/themes/terminal.toml")),
    (DARK, include_str!("../../assets/themes/dark.toml")),
    (LIGHT, include_str!("../../assets/themes/light.toml")),
    (
        "color-blind",
        include_str!("../../assets/themes/color-blind.toml"),
    ),
    (
        "high-contrast",
        include_str!("../../assets/themes/high-contrast.toml"),
    ),
    (MONO, include_str!("../../assets/themes/mono.toml")),
];

static BUILT_IN: LazyLock<Vec<(String, Scheme)>> = LazyLock::new(|| {
    let all = FILES.iter().map(|(name, text)| {
        let source = Source::new(text, None);
        let read = node::of_toml(&source)
            .and_then(|document| scheme(&source, &document, &read(&source, &document)?, None));
        // Built in; a test parses every one of them.
        match read {
            Ok(scheme) => (name.to_string(), scheme),
            Err(error) => (format!("{name}: {error}"), Scheme::default()),
        }
    });
    all.collect()
});

impl Default for Themes {
    fn default() -> Themes {
        Themes {
            all: BUILT_IN.clone(),
            own: IndexMap::new(),
        }
    }
}

impl Themes {
    /// Returns the theme with this name; [`AUTO`] is the default one.
    pub fn get(&self, name: &str) -> Option<&Scheme> {
        let name = if name == AUTO { TERMINAL } else { name };
        self.all
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, scheme)| scheme)
    }

    /// Returns the theme with this name, else the default one.
    pub fn or_terminal(&self, name: &str) -> &Scheme {
        self.get(name).unwrap_or(&self.all[0].1)
    }

    /// Returns the styles without colors.
    pub fn without_color(&self) -> &Scheme {
        self.or_terminal(MONO)
    }

    /// Returns the names that select one: [`AUTO`], then the built-in ones.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(AUTO).chain(self.all.iter().map(|(name, _)| name.as_str()))
    }

    /// Returns the error of an unknown name, with the nearest one.
    pub fn unknown(&self, name: &str) -> (String, String) {
        let near = nearest(name, self.names())
            .map(|near| format!("did you mean \"{near}\"? "))
            .unwrap_or_default();
        let names: Vec<&str> = self.names().collect();
        (
            if name.is_empty() {
                "the theme's name is missing".to_string()
            } else {
                format!("there is no theme \"{}\"", crate::text::clean(name))
            },
            format!("{near}There are: {}", names.join(", ")),
        )
    }

    /// Adds the tables under `[themes]`, which are also in the document.
    pub(super) fn of(
        source: &Source<'_>,
        document: &Node,
        own: IndexMap<String, Written>,
    ) -> Result<Themes, ConfigError> {
        let mut themes = Themes::default();
        if let Some(name) = own.keys().find(|name| themes.get(name).is_some()) {
            let message = format!("the theme \"{name}\" is built in");
            let hint = format!("use another name and `inherits = \"{name}\"`");
            return Err(source.error(document.key(name), message).hint(hint));
        }
        // A theme may inherit from one below it; themes that remain in the end form a cycle.
        let mut left: Vec<&String> = own.keys().collect();
        let base = |name: &String| own[name].get("inherits").map_or(TERMINAL, String::as_str);
        while let Some(first) = left.first() {
            let Some(at) = left
                .iter()
                .position(|name| themes.get(base(name)).is_some())
            else {
                let is_wrong = |name: &&&String| !own.contains_key(base(name));
                let wrong = left.iter().find(is_wrong);
                let span = document
                    .at(wrong.unwrap_or(first))
                    .at("inherits")
                    .span
                    .clone();
                return Err(match wrong {
                    Some(name) => {
                        let (message, hint) = themes.unknown(base(name));
                        source.error(span, message).hint(hint)
                    }
                    None => source.error(span, "these themes inherit from each other in a cycle"),
                });
            };
            let name = left.remove(at);
            let read = scheme(
                source,
                document.at(name),
                &own[name],
                themes.get(base(name)),
            )?;
            themes.all.push((name.clone(), read));
        }
        Ok(Themes { own, ..themes })
    }
}

/// Returns the styles of a theme on top of those that it inherits.
fn scheme(
    source: &Source<'_>,
    table: &Node,
    theme: &Written,
    from: Option<&Scheme>,
) -> Result<Scheme, ConfigError> {
    let mut scheme = from.cloned().unwrap_or_default();
    for (key, text) in theme.iter().filter(|(key, _)| *key != "inherits") {
        let Some(role) = Role::ALL.iter().find(|role| role.name() == key) else {
            let names = || Role::ALL.iter().map(|role| role.name());
            let near = nearest(key, names().chain(["inherits"]))
                .map(|near| format!("did you mean `{near}`? "));
            let message = format!("no role is named `{}`", crate::text::clean(key));
            let all = names().collect::<Vec<_>>().join(", ");
            return Err(source
                .error(table.key(key), message)
                .hint(format!("{}There are: {all}", near.unwrap_or_default())));
        };
        scheme.0[*role as usize] = parse(text).map_err(|(at, why)| {
            // If the text has no escapes, put the caret under the word.
            let mut span = table.at(key).span.clone();
            if span.len() == text.len() + 2 {
                span = span.start + 1 + at.start..span.start + 1 + at.end;
            }
            source.error(span, why).hint(
                "a style is made of a color (black, red, green, yellow, blue, magenta, cyan, white, bright-red, 0 to 255, \
                 \"#rrggbb\"), `on` and another one, bold, dim, italic, underline, reverse; or of `plain` alone",
            )
        })?;
    }
    Ok(scheme)
}

/// Parses a style: `bold cyan`, `black on yellow`, `plain`. An error has the byte span of its word.
fn parse(text: &str) -> Result<StyleSpec, (Range<usize>, String)> {
    let mut look = StyleSpec::default();
    let mut behind = None;
    let mut at = 0;
    for word in text.split(' ') {
        let span = at..at + word.len();
        at = span.end + 1;
        let twice = |what: &str| Err((span.clone(), format!("{what} is given twice")));
        match word {
            "" | "plain" => {}
            "bold" => look.bold = true,
            "dim" => look.dim = true,
            "italic" => look.italic = true,
            "underline" => look.underline = true,
            "reverse" => look.reverse = true,
            "on" => behind = Some(span),
            _ => {
                let ink = ink(word).ok_or_else(|| {
                    (
                        span.clone(),
                        format!(
                            "\"{}\" is neither a color nor an attribute",
                            crate::text::clean(word)
                        ),
                    )
                })?;
                match behind.take() {
                    Some(_) if look.ground.is_some() => return twice("the background"),
                    Some(_) => look.ground = Some(ink),
                    None if look.ink.is_some() => return twice("the color"),
                    None => look.ink = Some(ink),
                }
            }
        }
    }
    match behind {
        Some(span) => Err((span, "`on` needs a color after it".into())),
        None => Ok(look),
    }
}

fn ink(word: &str) -> Option<ColorSpec> {
    if let Some(hex) = word.strip_prefix('#') {
        let value = u32::from_str_radix(hex, 16)
            .ok()
            .filter(|_| hex.len() == 6 && !hex.starts_with('+'))?;
        let [_, red, green, blue] = value.to_be_bytes();
        return Some(ColorSpec::Rgb(red, green, blue));
    }
    if word.bytes().all(|b| b.is_ascii_digit()) {
        return word.parse().ok().map(ColorSpec::Numbered);
    }
    let (name, bright) = word
        .strip_prefix("bright-")
        .map_or((word, 0), |name| (name, 8));
    let number = NAMES.iter().position(|known| *known == name)?;
    Some(ColorSpec::Named(number as u8 + bright))
}

impl ColorSpec {
    /// Returns the nearest of the 256 colors, for terminals without true color.
    pub fn numbered(self) -> ColorSpec {
        let ColorSpec::Rgb(red, green, blue) = self else {
            return self;
        };
        let wanted = [red, green, blue];
        let far = |number: &u8| {
            let is = rgb_of(*number);
            (0..3)
                .map(|n| (i32::from(is[n]) - i32::from(wanted[n])).pow(2))
                .sum::<i32>()
        };
        ColorSpec::Numbered((16..=255).min_by_key(far).unwrap_or(7))
    }
}

/// Returns red, green and blue of a color from 16 on: a 6×6×6 cube, then 24 grays (xterm's `256colres.h`).
fn rgb_of(number: u8) -> [u8; 3] {
    let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match number.saturating_sub(16) {
        grey @ 216.. => [8 + 10 * (grey - 216); 3],
        cube => [step(cube / 36), step(cube / 6 % 6), step(cube % 6)],
    }
}

impl fmt::Display for ColorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColorSpec::Named(n @ 8..) => write!(f, "bright-{}", NAMES[usize::from(n % 8)]),
            ColorSpec::Named(n) => f.write_str(NAMES[usize::from(n % 8)]),
            ColorSpec::Numbered(n) => write!(f, "{n}"),
            ColorSpec::Rgb(red, green, blue) => write!(f, "#{red:02x}{green:02x}{blue:02x}"),
        }
    }
}

impl fmt::Display for StyleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways = [
            (self.bold, "bold"),
            (self.dim, "dim"),
            (self.italic, "italic"),
            (self.underline, "underline"),
            (self.reverse, "reverse"),
        ];
        let mut words: Vec<String> = ways
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, word)| word.to_string())
            .collect();
        words.extend(self.ink.map(|ink| ink.to_string()));
        words.extend(self.ground.map(|ground| format!("on {ground}")));
        f.write_str(if words.is_empty() { "plain" } else { "" })?;
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn built_in_themes_are_valid() {
        let themes = Themes::default();
        assert_eq!(
            themes.names().collect::<Vec<_>>(),
            [
                "auto",
                "terminal",
                "dark",
                "light",
                "color-blind",
                "high-contrast",
                "mono"
            ]
        );
        for (name, scheme) in &themes.all {
            let count = scheme
                .0
                .iter()
                .filter(|look| **look != StyleSpec::default())
                .count();
            assert!(count >= 5, "{name} defines only {count} styles");
        }
        for role in Role::ALL {
            let look = themes.without_color().look(*role);
            assert!(
                look.ink.is_none() && look.ground.is_none(),
                "{} has a color in mono",
                role.name()
            );
        }
    }

    /// Returns the linear red, green and blue of one of 256 colors.
    fn linear(number: u8) -> [f64; 3] {
        rgb_of(number).map(|part| match f64::from(part) / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        })
    }

    fn product(matrix: [[f64; 3]; 3], of: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| (0..3).map(|n| row[n] * of[n]).sum())
    }

    /// sRGB to XYZ; the middle row is the luminance.
    const XYZ: [[f64; 3]; 3] = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ];

    /// Returns the contrast of one of 256 colors on a background of this luminance, by WCAG 2.
    fn contrast(number: u8, ground: f64) -> f64 {
        let [_, ink, _] = product(XYZ, linear(number));
        (ink.max(ground) + 0.05) / (ink.min(ground) + 0.05)
    }

    /// Returns the color of a role, which must be the same on all terminals.
    fn ink_of(scheme: &Scheme, role: Role) -> Option<u8> {
        match scheme.look(role).ink? {
            ColorSpec::Numbered(ink) => Some(ink),
            other => panic!("{}: {other:?} may look like anything", role.name()),
        }
    }

    #[test]
    fn themes_are_readable_on_their_backgrounds() {
        let labels: Vec<Role> = (0..8).map(Role::label).collect();
        let failing = [&labels[..], &[Role::Bad, Role::Error, Role::BannerFailed]].concat();
        // The luminance of #1c1c1c.
        let [_, gray, _] = product(XYZ, linear(234));
        for (name, roles, ground, least) in [
            (LIGHT, Role::ALL, 1.0, 4.7),
            (DARK, &failing, gray, 5.15),
            ("color-blind", Role::ALL, 0.0, 3.0),
            ("color-blind", Role::ALL, 1.0, 3.0),
        ] {
            let scheme = Themes::default().or_terminal(name).clone();
            let is_bare = |role: &&Role| name == LIGHT || scheme.look(**role).ground.is_none();
            for role in roles.iter().filter(is_bare) {
                if let Some(ink) = ink_of(&scheme, *role) {
                    let contrast = contrast(ink, ground);
                    assert!(
                        contrast >= least,
                        "{name}, {} on {ground}: {contrast:.2}",
                        role.name()
                    );
                }
            }
            if name != "color-blind" {
                let inks: std::collections::BTreeSet<_> =
                    labels.iter().map(|role| ink_of(&scheme, *role)).collect();
                assert_eq!(inks.len(), 8, "{name}: eight nodes are distinct");
            }
        }
        let dark = Themes::default().or_terminal(DARK).clone();
        let bad = ink_of(&dark, Role::Bad);
        assert!(
            !labels.iter().any(|role| ink_of(&dark, *role) == bad),
            "failures and nodes are distinct"
        );
    }

    /// How linear colors look with all cones, without those for red, and without those for green (Machado et al. 2009, severity 1).
    const VISIONS: [[[f64; 3]; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ],
    ];

    /// Returns one of 256 colors as it looks to someone, in CIELAB (D65): a distance of 2 is just noticeable.
    fn lab(number: u8, vision: [[f64; 3]; 3]) -> [f64; 3] {
        let seen = product(vision, linear(number)).map(|part| part.clamp(0.0, 1.0));
        let [x, y, z] = product(XYZ, seen);
        let root = |t: f64| match t > 0.008856 {
            true => t.cbrt(),
            false => 7.787 * t + 16.0 / 116.0,
        };
        let [x, y, z] = [x / 0.95047, y, z / 1.08883].map(root);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn color_blind_theme_has_distinguishable_states() {
        let scheme = Themes::default().or_terminal("color-blind").clone();
        let states = [Role::Good, Role::Moving, Role::Waiting, Role::Bad];
        let inks = states.map(|role| ink_of(&scheme, role).unwrap());
        for (n, one) in inks.iter().enumerate() {
            for other in &inks[n + 1..] {
                for vision in VISIONS {
                    let [a, b] = [one, other].map(|ink| lab(*ink, vision));
                    let distance = (0..3).map(|n| (a[n] - b[n]).powi(2)).sum::<f64>().sqrt();
                    assert!(
                        distance >= 35.0,
                        "{one} and {other} with {vision:?}: {distance:.1}"
                    );
                }
            }
        }
    }

    #[test]
    fn documentation_lists_every_role_and_theme() {
        let page = include_str!("../../../../docs/themes.md");
        for role in Role::ALL {
            let row = format!("| `{}` | {} |", role.name(), role.meaning());
            assert!(page.contains(&row), "docs/themes.md has no row {row}");
        }
        for name in Themes::default().names() {
            assert!(
                page.contains(&format!("`{name}`")),
                "docs/themes.md does not name {name}"
            );
        }
    }

    #[test]
    fn styles_round_trip() {
        let look = parse("bold cyan on #ff8700").unwrap();
        assert_eq!(
            (look.bold, look.ink, look.ground),
            (
                true,
                Some(ColorSpec::Named(6)),
                Some(ColorSpec::Rgb(255, 135, 0))
            )
        );
        assert_eq!(look.to_string(), "bold cyan on #ff8700");
        assert_eq!(
            ColorSpec::Rgb(255, 135, 0).numbered(),
            ColorSpec::Numbered(208)
        );
        assert_eq!(ColorSpec::Rgb(9, 9, 9).numbered(), ColorSpec::Numbered(232));
        assert_eq!(ink("bright-black"), Some(ColorSpec::Named(8)));
        for (wrong, at) in [
            ("bold purpel", 5..11),
            ("red blue", 4..8),
            ("on", 0..2),
            ("256", 0..3),
            ("#12345", 0..6),
        ] {
            assert_eq!(parse(wrong).unwrap_err().0, at, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn random_styles_are_parsed_or_rejected(text in ".{0,40}") {
            if let Ok(look) = parse(&text) {
                prop_assert_eq!(parse(&look.to_string()).unwrap(), look);
            }
        }
    }
}
