//! The terminal's background color, which the terminal reports when it is queried (OSC 11, xterm's control sequences).
//!
//! The reply arrives among the keys, at any later time, or never. crossterm doesn't know it and reports its bytes as keys:
//! `\x1b]` as Alt+], the digits as characters, and the end as Alt+\ or Ctrl+G.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::Duration;
use tokio::time::Instant;

/// The query, and the end of a reply.
pub(super) const QUERY: &str = "\x1b]11;?\x1b\\";
/// How long a reply is expected. After that, Alt+] is a key again.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of the dashboard is delayed for a reply, which the shell would otherwise read as typed text.
pub(super) const LAST_CHANCE: Duration = Duration::from_millis(200);
/// The longest reply between Alt+] and its end: `11;rgba:` and four colors of four digits.
const LONGEST: usize = 27;

/// A background color, 8 bits for each part.
pub(super) type Rgb = (u8, u8, u8);

/// What an event of the terminal was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Filtered {
    /// The events to handle: usually the one that was given.
    Events(Vec<Event>),
    /// A part of a reply, or what looks like one so far.
    Held,
    /// The end of a reply.
    Background(Rgb),
}

/// Separates replies from keys.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// When the last query was sent.
    asked: Option<Instant>,
    /// Queries without a reply so far. The terminal replies to each.
    unanswered: u32,
    /// The events of an unfinished reply. They are keys after all if it turns out to be none.
    held: Vec<Event>,
    text: String,
}

impl Replies {
    /// Expects a reply from now on.
    pub fn expect(&mut self, now: Instant) {
        self.asked = Some(now);
        self.unanswered += 1;
    }

    /// Returns how much longer a reply may arrive that the shell must not receive; `None` if none is expected.
    pub fn last_chance(&self, now: Instant) -> Option<Duration> {
        let asked = self.asked.filter(|_| self.unanswered > 0)?;
        LAST_CHANCE.checked_sub(now.duration_since(asked)).filter(|left| !left.is_zero())
    }

    /// Takes one event of the terminal.
    pub fn filter(&mut self, event: Event, now: Instant) -> Filtered {
        let is_expected = self.asked.is_some_and(|asked| now.duration_since(asked) < PATIENCE);
        if self.held.is_empty() && !(is_expected && key(&event) == Some((KeyCode::Char(']'), KeyModifiers::ALT))) {
            return Filtered::Events(vec![event]);
        }
        let pressed = key(&event);
        self.held.push(event);
        match pressed {
            _ if self.held.len() == 1 => Filtered::Held,
            Some((KeyCode::Char(c), modifiers)) if modifiers.difference(KeyModifiers::SHIFT).is_empty() => {
                self.text.push(c);
                if is_beginning(&self.text) { Filtered::Held } else { self.release() }
            }
            Some((KeyCode::Char('\\'), KeyModifiers::ALT) | (KeyCode::Char('g'), KeyModifiers::CONTROL)) => {
                match background(&self.text) {
                    Some(color) => {
                        self.unanswered = self.unanswered.saturating_sub(1);
                        self.held.clear();
                        self.text.clear();
                        Filtered::Background(color)
                    }
                    None => self.release(),
                }
            }
            _ => self.release(),
        }
    }

    /// Returns the held events: they were keys.
    fn release(&mut self) -> Filtered {
        self.text.clear();
        Filtered::Events(std::mem::take(&mut self.held))
    }
}

fn key(event: &Event) -> Option<(KeyCode, KeyModifiers)> {
    match event {
        Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) => Some((*code, *modifiers)),
        _ => None,
    }
}

/// Returns whether a reply can begin with this text.
fn is_beginning(text: &str) -> bool {
    let fits = |prefix: &str| match text.strip_prefix(prefix) {
        Some(rest) => rest.bytes().all(|b| b.is_ascii_hexdigit() || b == b'/'),
        None => prefix.starts_with(text),
    };
    text.len() <= LONGEST && (fits("11;rgb:") || fits("11;rgba:"))
}

/// Parses `11;rgb:RRRR/GGGG/BBBB`, with one to four digits for each part.
fn background(text: &str) -> Option<Rgb> {
    let colors = text.strip_prefix("11;rgb:").or_else(|| text.strip_prefix("11;rgba:"))?;
    let mut parts = colors.split('/').map(|digits| {
        let most = 16u32.checked_pow(u32::try_from(digits.len()).ok().filter(|n| (1..=4).contains(n))?)? - 1;
        u8::try_from(u32::from_str_radix(digits, 16).ok()? * 255 / most).ok()
    });
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(code), modifiers))
    }

    /// The events that crossterm makes of a reply.
    fn reply(text: &str, end: Event) -> Vec<Event> {
        let inner = text.chars().map(|c| press(c, KeyModifiers::NONE));
        [press(']', KeyModifiers::ALT)].into_iter().chain(inner).chain([end]).collect()
    }

    fn feed(replies: &mut Replies, events: Vec<Event>, now: Instant) -> (Vec<Event>, Option<Rgb>) {
        let (mut keys, mut color) = (Vec::new(), None);
        for event in events {
            match replies.filter(event, now) {
                Filtered::Events(events) => keys.extend(events),
                Filtered::Held => {}
                Filtered::Background(found) => color = Some(found),
            }
        }
        (keys, color)
    }

    #[test]
    fn a_background_reply_is_not_typed() {
        let ends = [press('\\', KeyModifiers::ALT), press('g', KeyModifiers::CONTROL)];
        for (text, color) in [
            ("11;rgb:1010/1414/1818", (16, 20, 24)),
            ("11;rgb:ff/ff/ff", (255, 255, 255)),
            ("11;rgb:F/0/0", (255, 0, 0)),
            ("11;rgba:1c1c/1c1c/1c1c/ffff", (28, 28, 28)),
        ] {
            for end in &ends {
                let (mut replies, now) = (Replies::default(), Instant::now());
                replies.expect(now);
                // Two queries, two replies. Keys around them are still keys.
                replies.expect(now);
                let typed = press('j', KeyModifiers::NONE);
                for _ in 0..2 {
                    let mut events = vec![typed.clone()];
                    events.extend(reply(text, end.clone()));
                    events.push(typed.clone());
                    let keys = vec![typed.clone(), typed.clone()];
                    assert_eq!(feed(&mut replies, events, now), (keys, Some(color)), "{text}");
                }
            }
        }
    }

    #[test]
    fn keys_that_look_like_a_reply_stay_keys() {
        let now = Instant::now();
        let end = || press('\\', KeyModifiers::ALT);
        let too_long = format!("11;rgb:{}", "f".repeat(60));
        for text in ["11;rgb:zz/00/00", "1", "", "10;rgb:0/0/0", "11;rgb:", "11;rgb:0/0", "11;rgb:00000/0/0", &too_long]
        {
            let mut replies = Replies::default();
            replies.expect(now);
            let events = reply(text, end());
            assert_eq!(feed(&mut replies, events.clone(), now), (events, None), "{text}");
        }
        // Nothing was asked, or long ago.
        let events = reply("11;rgb:0/0/0", end());
        assert_eq!(feed(&mut Replies::default(), events.clone(), now), (events.clone(), None));
        let mut replies = Replies::default();
        replies.expect(now);
        assert_eq!(feed(&mut replies, events.clone(), now + PATIENCE), (events, None));
    }

    #[test]
    fn the_end_waits_only_for_a_reply_that_may_arrive() {
        let (mut replies, now) = (Replies::default(), Instant::now());
        assert_eq!(replies.last_chance(now), None);
        replies.expect(now);
        assert_eq!(replies.last_chance(now), Some(LAST_CHANCE));
        assert_eq!(replies.last_chance(now + LAST_CHANCE), None);
        feed(&mut replies, reply("11;rgb:0/0/0", press('\\', KeyModifiers::ALT)), now);
        assert_eq!(replies.last_chance(now), None);
    }
}
