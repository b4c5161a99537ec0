//! The terminal's capabilities, as far as the environment shows them. The terminal itself is queried only for its background color
//! (`background.rs`).

use runtail_api::doctor::{Check, Fault};
use std::fmt;
use std::io::IsTerminal;
use std::sync::Arc;

/// The smallest terminal that shows everything.
const SMALLEST: (u16, u16) = (80, 24);

/// The doctor's checks of this machine. The command line provides them, because they depend on its options.
#[derive(Clone, Default)]
pub struct Environment(Option<Arc<dyn Fn() -> Vec<Check> + Send + Sync>>);

impl Environment {
    /// Creates an environment from a function that runs the checks.
    pub fn new(checks: impl Fn() -> Vec<Check> + Send + Sync + 'static) -> Environment {
        Environment(Some(Arc::new(checks)))
    }

    /// Runs the checks.
    pub fn check(&self) -> Vec<Check> {
        self.0.as_ref().map(|checks| checks()).unwrap_or_default()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

/// The process's terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terminal {
    /// Whether stdin is a terminal.
    pub stdin: bool,
    /// Whether stdout is a terminal.
    pub stdout: bool,
    /// Columns and rows.
    pub size: Option<(u16, u16)>,
}

impl Terminal {
    /// Returns the terminal of this process.
    pub fn here() -> Terminal {
        let (stdin, stdout) = (
            std::io::stdin().is_terminal(),
            std::io::stdout().is_terminal(),
        );
        Terminal {
            stdin,
            stdout,
            size: crossterm::terminal::size().ok().filter(|_| stdin || stdout),
        }
    }
}

/// Checks the terminal and the environment variables that describe it.
pub fn terminal_checks(terminal: Terminal, env: impl Fn(&str) -> Option<String>) -> Vec<Check> {
    let get = |name: &str| env(name).filter(|value| !value.is_empty());
    vec![
        screen(terminal, &get),
        colors(&get),
        characters(&get),
        clipboard(&get),
    ]
}

fn screen(terminal: Terminal, get: &impl Fn(&str) -> Option<String>) -> Check {
    let name = "terminal";
    let kind = get("TERM");
    let shown = kind.as_deref().unwrap_or("TERM is not set");
    let inside = [
        ("TMUX", "tmux"),
        ("STY", "screen"),
        ("SSH_CONNECTION", "ssh"),
    ];
    let inside: Vec<&str> = inside
        .into_iter()
        .filter(|(variable, _)| get(variable).is_some())
        .map(|(_, n)| n)
        .collect();
    let inside = if inside.is_empty() {
        String::new()
    } else {
        format!(", within {}", inside.join(" and "))
    };
    let size = terminal
        .size
        .map(|(w, h)| format!(", {w}x{h}"))
        .unwrap_or_default();
    let found = format!("{shown}{size}{inside}");
    let ends = [("stdin", terminal.stdin), ("stdout", terminal.stdout)];
    let pipes: Vec<&str> = ends
        .into_iter()
        .filter_map(|(end, is_terminal)| (!is_terminal).then_some(end))
        .collect();
    if !pipes.is_empty() {
        let pipes = pipes.join(" and ");
        return Check::skipped(
            name,
            format!("no terminal on {pipes}: no dashboard here; commands work"),
        );
    }
    match (kind.as_deref(), terminal.size) {
        (Some("dumb"), _) => Check::bad(Fault::Configuration, name, found)
            .likely("it can't move the cursor")
            .to_do("use another terminal for the dashboard; commands work"),
        (None, _) if cfg!(unix) => Check::warn(name, found)
            .likely("not a login shell")
            .to_do("export TERM=xterm-256color"),
        (_, Some((w, h))) if w < SMALLEST.0 || h < SMALLEST.1 => {
            let (w, h) = SMALLEST;
            Check::warn(name, found).to_do(format!("enlarge the window to {w}x{h} or more"))
        }
        _ => Check::good(name, found),
    }
}

/// Always a success, because the dashboard only needs the 16 basic colors, and works without them.
fn colors(get: &impl Fn(&str) -> Option<String>) -> Check {
    let name = "colors";
    if get("NO_COLOR").is_some() {
        return Check::good(name, "none (NO_COLOR is set)");
    }
    let depth = match (get("COLORTERM").as_deref(), get("TERM").as_deref()) {
        (Some("truecolor" | "24bit"), _) => "24 bit",
        (_, Some(term)) if term.contains("256color") || term.contains("direct") => "256",
        _ => "16 or fewer",
    };
    Check::good(
        name,
        format!("{depth}; the theme `terminal` uses its own 16"),
    )
}

/// Returns the variable that names the locale, and its value. POSIX: the first one that is set takes precedence.
fn locale(get: &impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    let set = |name| get(name).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| Some((name, set(name)?)))
}

fn is_utf8(locale: &str) -> bool {
    let upper = locale.to_uppercase();
    upper.contains("UTF-8") || upper.contains("UTF8")
}

/// Returns whether the locale names a character set without symbols such as ●. One that names none, or no locale, says nothing.
pub fn is_ascii_locale(get: impl Fn(&str) -> Option<String>) -> bool {
    let names_another =
        |locale: &str| matches!(locale, "C" | "POSIX") || locale.contains('.') && !is_utf8(locale);
    !cfg!(windows) && locale(&get).is_some_and(|(_, locale)| names_another(&locale))
}

fn characters(get: &impl Fn(&str) -> Option<String>) -> Check {
    let name = "characters";
    let unsure = |found: String| {
        Check::warn(name, found)
            .likely("symbols such as ● may look wrong")
            .to_do("export LANG=C.UTF-8, or use --ascii")
    };
    let Some((variable, locale)) = locale(get) else {
        return match cfg!(windows) {
            true => Check::good(name, "Unicode"),
            false => unsure("no locale is set (LC_ALL, LC_CTYPE, LANG)".into()),
        };
    };
    if is_utf8(&locale) {
        return Check::good(name, format!("UTF-8 ({variable}={locale})"));
    }
    let found = format!("not UTF-8 ({variable}={locale})");
    if is_ascii_locale(get) {
        return Check::warn(name, found + ", drawn with ASCII only")
            .to_do(format!("for symbols such as ●: export {variable}=C.UTF-8"));
    }
    unsure(found)
}

fn clipboard(get: &impl Fn(&str) -> Option<String>) -> Check {
    let check = Check::skipped("clipboard", "OSC 52 (support can't be detected)");
    match get("TMUX") {
        Some(_) => check.to_do("in tmux: `set -g set-clipboard on`"),
        None => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_api::doctor::State;

    fn with(terminal: Terminal, pairs: &[(&str, &str)]) -> Vec<Check> {
        terminal_checks(terminal, |name| {
            pairs
                .iter()
                .find(|(k, _)| *k == name)
                .map(|(_, v)| v.to_string())
        })
    }

    const REAL: Terminal = Terminal {
        stdin: true,
        stdout: true,
        size: Some((120, 40)),
    };

    #[test]
    fn a_capable_terminal() {
        let pairs = [
            ("TERM", "xterm-256color"),
            ("COLORTERM", "truecolor"),
            ("LANG", "pl_PL.utf8"),
            ("TMUX", "/tmp/x,1"),
        ];
        let checks = with(REAL, &pairs);
        let found: Vec<&str> = checks.iter().map(|c| c.found.as_str()).collect();
        assert_eq!(found[0], "xterm-256color, 120x40, within tmux");
        assert_eq!(found[1], "24 bit; the theme `terminal` uses its own 16");
        assert_eq!(found[2], "UTF-8 (LANG=pl_PL.utf8)");
        assert_eq!(checks[3].state, State::Skipped);
        assert!(checks[3].todo.as_ref().unwrap().contains("set-clipboard"));
    }

    #[cfg(unix)]
    #[test]
    fn only_a_locale_that_names_another_character_set_is_drawn_with_ascii() {
        for (locale, is_ascii) in [
            ("C", true),
            ("POSIX", true),
            ("pl_PL.ISO-8859-2", true),
            ("pl_PL", false),
            ("C.UTF-8", false),
            ("en_US.utf8", false),
            ("", false),
        ] {
            let get = |name: &str| (name == "LC_CTYPE").then(|| locale.to_string());
            assert_eq!(is_ascii_locale(get), is_ascii, "{locale}");
        }
        assert!(!is_ascii_locale(|_| None));
    }

    #[test]
    fn a_limited_terminal() {
        let dumb = with(
            REAL,
            &[
                ("TERM", "dumb"),
                ("NO_COLOR", "1"),
                ("LC_ALL", "C"),
                ("LANG", "C.UTF-8"),
            ],
        );
        assert_eq!(dumb[0].fault(), Some(Fault::Configuration));
        assert!(dumb[1].found.starts_with("none"));
        assert_eq!(
            (dumb[2].state, dumb[2].found.as_str()),
            (State::Warn, "not UTF-8 (LC_ALL=C), drawn with ASCII only")
        );
        let small = Terminal {
            size: Some((60, 20)),
            ..REAL
        };
        assert_eq!(with(small, &[("TERM", "xterm")])[0].state, State::Warn);
        let piped = Terminal {
            stdout: false,
            ..REAL
        };
        let piped = with(piped, &[("TERM", "xterm")]);
        assert!(
            piped[0].found.starts_with("no terminal on stdout: "),
            "{piped:?}"
        );
    }
}
