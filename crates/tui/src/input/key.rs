//! Key presses as Runtail's own type, so that state and tests need no terminal crate.

use std::fmt;
use std::str::FromStr;

/// One key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Which key. Shift is part of a character (`G`), and `BackTab` is its own key.
    pub code: Code,
    pub ctrl: bool,
    pub alt: bool,
}

/// The keys that Runtail knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    Char(char),
    F(u8),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

impl Key {
    /// A key without Ctrl and Alt.
    pub const fn plain(code: Code) -> Key {
        Key {
            code,
            ctrl: false,
            alt: false,
        }
    }

    /// A character.
    pub const fn char(c: char) -> Key {
        Key::plain(Code::Char(c))
    }

    /// The character to insert into a text field, if this key is one.
    pub fn text(self) -> Option<char> {
        match self {
            Key {
                code: Code::Char(c),
                ctrl: false,
                alt: false,
            } => Some(c),
            _ => None,
        }
    }
}

const NAMED: [(&str, Code); 15] = [
    ("Enter", Code::Enter),
    ("Esc", Code::Esc),
    ("Tab", Code::Tab),
    ("BackTab", Code::BackTab),
    ("Backspace", Code::Backspace),
    ("Delete", Code::Delete),
    ("Up", Code::Up),
    ("Down", Code::Down),
    ("Left", Code::Left),
    ("Right", Code::Right),
    ("Home", Code::Home),
    ("End", Code::End),
    ("PageUp", Code::PageUp),
    ("PageDown", Code::PageDown),
    ("Space", Code::Char(' ')),
];

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Key, String> {
        let mut rest = text;
        let (mut ctrl, mut alt) = (false, false);
        loop {
            if let Some(r) = strip_prefix_ignoring_case(rest, "ctrl-") {
                (ctrl, rest) = (true, r);
            } else if let Some(r) = strip_prefix_ignoring_case(rest, "alt-") {
                (alt, rest) = (true, r);
            } else {
                break;
            }
        }
        let named = NAMED
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(rest))
            .map(|(_, code)| *code);
        let mut chars = rest.chars();
        let code = match (named, chars.next(), chars.as_str()) {
            (Some(code), ..) => code,
            (None, Some(c), "") if ctrl => Code::Char(c.to_ascii_lowercase()),
            (None, Some(c), "") => Code::Char(c),
            (None, Some('F' | 'f'), number) => match number.parse() {
                Ok(n @ 1..=12) => Code::F(n),
                _ => return Err(format!("unknown key {text:?}")),
            },
            _ => return Err(format!("unknown key {text:?}")),
        };
        Ok(Key { code, ctrl, alt })
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    (head.eq_ignore_ascii_case(prefix) && text.len() > prefix.len()).then(|| &text[prefix.len()..])
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("ctrl-")?;
        }
        if self.alt {
            f.write_str("alt-")?;
        }
        match self.code {
            Code::F(n) => write!(f, "F{n}"),
            code => match NAMED.iter().find(|(_, c)| *c == code) {
                Some((name, _)) => f.write_str(name),
                None => match code {
                    Code::Char(c) => write!(f, "{c}"),
                    _ => Ok(()),
                },
            },
        }
    }
}

/// Parses a string of keys as tests write them: `jj<Enter>/bot<Esc><ctrl-d>`; `<lt>` is `<`.
pub fn parse_keys(text: &str) -> Result<Vec<Key>, String> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
            Some(("lt", after)) => {
                keys.push(Key::char('<'));
                rest = after;
            }
            Some((name, after)) => {
                keys.push(name.parse()?);
                rest = after;
            }
            None => {
                keys.push(Key::char(c));
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in [
            "G", "ctrl-d", "Enter", "PageUp", "F5", "Space", "alt-x", "?", "/", "BackTab",
        ] {
            let key: Key = name.parse().unwrap();
            assert_eq!(key.to_string(), name);
        }
        assert!("Hyper".parse::<Key>().is_err());
        assert!("".parse::<Key>().is_err());
        assert!("F99".parse::<Key>().is_err());
        assert_eq!("CTRL-C".parse::<Key>().unwrap().to_string(), "ctrl-c");
    }

    #[test]
    fn key_strings() {
        let keys = parse_keys("j<Enter>a<lt>").unwrap();
        assert_eq!(
            keys,
            [
                Key::char('j'),
                Key::plain(Code::Enter),
                Key::char('a'),
                Key::char('<')
            ]
        );
    }
}
