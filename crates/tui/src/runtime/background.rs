//! The terminal's background color, which the terminal reports when it is queried (OSC 11, xterm's control sequences).
//!
//! The reply arrives among the keys, at any later time, or never. crossterm doesn't know it and reports its bytes as keys: `\x1b]`
//! as Alt+], the digits as characters, and the end as Alt+\ or Ctrl+G. Where a slow connection separates an escape from the byte
//! after it, it is the key Esc.
//!
//! Replies about colors that another program asked for are dropped, too. crossterm itself drops those about attributes (DA1), the
//! status and the cursor (DSR).

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::Duration;
use tokio::time::Instant;

/// The query.
pub(super) const QUERY: &str = "\x1b]11;?\x1b\\";
/// How long an Esc may be the beginning of a reply. A whole reply is recognized at any time.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a lone Esc, or an Alt+], is held back for the rest of a reply.
const ESC_GAP: Duration = Duration::from_millis(60);
/// The same for the beginning of a reply, which is not usual input: a slow connection or a busy machine may take longer.
const GAP: Duration = Duration::from_secs(5);
/// The longest reply between its escape and its end: `]4;255;rgba:` and four colors of four digits.
const LONGEST: usize = 31;

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
    /// The characters of the held events after the first escape.
    text: String,
    /// Whether the last held event is an escape within the reply.
    is_ending: bool,
    /// When the last event was held.
    held_at: Option<Instant>,
}

impl Replies {
    /// Expects a reply from now on.
    pub fn expect(&mut self, now: Instant) {
        self.asked = Some(now);
        self.unanswered += 1;
    }

    /// Returns whether a reply, or the rest of one, may still arrive.
    pub fn is_due(&self) -> bool {
        self.unanswered > 0 || !self.held.is_empty()
    }

    /// Notes that no reply is due anymore, because the terminal's input was dropped.
    pub fn forget_due(&mut self) {
        self.unanswered = 0;
        self.held.clear();
        self.forget();
    }

    /// Returns when the held events are keys after all.
    pub fn deadline(&self) -> Option<Instant> {
        let may_be_key = self.text.is_empty() || (self.unanswered == 0 && !is_reply(&self.text));
        self.held_at
            .map(|at| at + if may_be_key { ESC_GAP } else { GAP })
    }

    /// Takes one event of the terminal.
    pub fn filter(&mut self, event: Event, now: Instant) -> Filtered {
        let pressed = key(&event);
        if self.held.is_empty() {
            let is_start = match pressed {
                Some((KeyCode::Char(']'), KeyModifiers::ALT)) => {
                    self.text.push(']');
                    true
                }
                // Esc is delayed only for a while after a query, because some terminals never reply.
                Some((KeyCode::Esc, KeyModifiers::NONE)) => {
                    self.unanswered > 0
                        && self
                            .asked
                            .is_some_and(|asked| now.duration_since(asked) < PATIENCE)
                }
                _ => false,
            };
            if !is_start {
                return Filtered::Events(vec![event]);
            }
            return self.hold(event, now);
        }
        let is_ending = std::mem::take(&mut self.is_ending);
        match pressed {
            Some((KeyCode::Char('\\'), KeyModifiers::NONE)) if is_ending => self.end(event),
            Some((KeyCode::Char(_), KeyModifiers::NONE)) if is_ending => self.release(event),
            Some(
                (KeyCode::Char('\\'), KeyModifiers::ALT)
                | (KeyCode::Char('g'), KeyModifiers::CONTROL),
            ) => self.end(event),
            Some((KeyCode::Esc, KeyModifiers::NONE)) if self.text.len() > 1 && !is_ending => {
                self.is_ending = true;
                self.hold(event, now)
            }
            Some((KeyCode::Char(c), modifiers))
                if modifiers.difference(KeyModifiers::SHIFT).is_empty() =>
            {
                self.text.push(c);
                if is_beginning(&self.text) {
                    self.hold(event, now)
                } else {
                    self.release(event)
                }
            }
            // No user types such a beginning: the other event came between its parts.
            _ if is_reply(&self.text) => {
                self.is_ending = is_ending;
                Filtered::Events(vec![event])
            }
            _ => self.release(event),
        }
    }

    /// Returns the held events as keys, because nothing followed them; none if they can only be the beginning of a reply.
    pub fn give_up(&mut self) -> Vec<Event> {
        let held = std::mem::take(&mut self.held);
        let are_keys = !is_reply(&self.text);
        self.forget();
        if are_keys { held } else { Vec::new() }
    }

    fn hold(&mut self, event: Event, now: Instant) -> Filtered {
        self.held.push(event);
        self.held_at = Some(now);
        Filtered::Held
    }

    /// Ends a reply. One that can't be read is dropped.
    fn end(&mut self, event: Event) -> Filtered {
        if !is_reply(&self.text) {
            return self.release(event);
        }
        let is_background = self.text.starts_with(BACKGROUND);
        let color = background(&self.text).filter(|_| self.asked.is_some());
        self.held.clear();
        self.forget();
        if is_background {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        color.map_or(Filtered::Held, Filtered::Background)
    }

    /// Returns the held events and this one: they were keys.
    fn release(&mut self, event: Event) -> Filtered {
        self.forget();
        self.held.push(event);
        Filtered::Events(std::mem::take(&mut self.held))
    }

    fn forget(&mut self) {
        self.text.clear();
        (self.is_ending, self.held_at) = (false, None);
    }
}

fn key(event: &Event) -> Option<(KeyCode, KeyModifiers)> {
    match event {
        Event::Key(KeyEvent {
            code,
            modifiers,
            kind: KeyEventKind::Press,
            ..
        }) => Some((*code, *modifiers)),
        _ => None,
    }
}

/// The beginning of a reply about the background.
const BACKGROUND: &str = "]11;";
/// The beginnings of replies about colors: of the palette, the foreground, the background and the cursor.
const REPLIES: [&str; 4] = ["]4;", "]10;", BACKGROUND, "]12;"];

/// Returns whether a reply can begin with this text.
fn is_beginning(text: &str) -> bool {
    text.len() <= LONGEST
        && REPLIES
            .iter()
            .any(|reply| reply.starts_with(text) || text.starts_with(reply))
}

/// Returns whether a text is the beginning of a reply, and of nothing else.
fn is_reply(text: &str) -> bool {
    REPLIES.iter().any(|reply| text.starts_with(reply))
}

/// Parses `]11;rgb:RRRR/GGGG/BBBB`, with one to four digits for each part.
fn background(text: &str) -> Option<Rgb> {
    let text = text.strip_prefix(BACKGROUND)?;
    let colors = text
        .strip_prefix("rgb:")
        .or_else(|| text.strip_prefix("rgba:"))?;
    let mut parts = colors.split('/').map(|digits| {
        let most = 16u32.checked_pow(
            u32::try_from(digits.len())
                .ok()
                .filter(|n| (1..=4).contains(n))?,
        )? - 1;
        u8::try_from(u32::from_str_radix(digits, 16).ok()? * 255 / most).ok()
    });
    Some((parts.next()??, parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESC: Event = Event::Key(KeyEvent {
        code: KeyCode::Esc,
        modifiers: KeyModifiers::NONE,
        kind: KeyEventKind::Press,
        state: crossterm::event::KeyEventState::NONE,
    });

    fn press(code: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(code), modifiers))
    }

    fn plain(code: char) -> Event {
        press(code, KeyModifiers::NONE)
    }

    /// The events that crossterm makes of a reply, in one piece or with its escapes separated from what follows.
    fn reply(text: &str, is_in_pieces: bool, ends_with_bell: bool) -> Vec<Event> {
        let inner = text.chars().map(plain);
        let (start, mut end) = match is_in_pieces {
            true => (vec![ESC, plain(']')], vec![ESC, plain('\\')]),
            false => (
                vec![press(']', KeyModifiers::ALT)],
                vec![press('\\', KeyModifiers::ALT)],
            ),
        };
        if ends_with_bell {
            end = vec![press('g', KeyModifiers::CONTROL)];
        }
        start.into_iter().chain(inner).chain(end).collect()
    }

    fn asked() -> (Replies, Instant) {
        let (mut replies, now) = (Replies::default(), Instant::now());
        replies.expect(now);
        (replies, now)
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
        for (text, color) in [
            ("11;rgb:1010/1414/1818", Some((16, 20, 24))),
            ("11;rgb:ff/ff/ff", Some((255, 255, 255))),
            ("11;rgb:F/0/0", Some((255, 0, 0))),
            ("11;rgba:1c1c/1c1c/1c1c/ffff", Some((28, 28, 28))),
            // One that can't be read is dropped, too.
            ("11;#ffffff", None),
            ("11;", None),
            ("11;rgb:0/0", None),
        ] {
            for (pieces, bell) in [(false, false), (false, true), (true, false), (true, true)] {
                let (mut replies, now) = asked();
                // Two queries, two replies. Keys around them are still keys.
                replies.expect(now);
                for _ in 0..2 {
                    let mut events = vec![plain('j')];
                    events.extend(reply(text, pieces, bell));
                    events.push(plain('j'));
                    assert_eq!(
                        feed(&mut replies, events, now),
                        (vec![plain('j'); 2], color),
                        "{text} {pieces} {bell}"
                    );
                }
            }
        }
    }

    #[test]
    fn keys_that_look_like_a_reply_stay_keys() {
        let too_long = format!("11;rgb:{}", "f".repeat(60));
        for text in ["1", "", "13;rgb:0/0/0", "x", &too_long] {
            let (mut replies, now) = asked();
            let events = reply(text, false, false);
            let (mut keys, color) = feed(&mut replies, events.clone(), now);
            keys.extend(replies.give_up());
            assert_eq!((keys, color), (events, None), "{text}");
        }
    }

    #[test]
    fn replies_to_other_programs_are_dropped() {
        for text in [
            "11;rgb:0/0/0",
            "10;rgb:ffff/ffff/ffff",
            "12;#000",
            "4;255;rgba:ffff/ffff/ffff/ffff",
        ] {
            for bell in [false, true] {
                let events = reply(text, false, bell);
                let (mut replies, now) = (Replies::default(), Instant::now());
                assert_eq!(
                    feed(&mut replies, events.clone(), now),
                    (Vec::new(), None),
                    "{text}"
                );
                assert!(!replies.is_due());
                // One about another color doesn't answer the query.
                replies.expect(now);
                let color = text.starts_with("11").then_some((0, 0, 0));
                assert_eq!(
                    feed(&mut replies, events, now),
                    (Vec::new(), color),
                    "{text}"
                );
                assert_eq!(replies.is_due(), color.is_none());
            }
        }
        // Where none is expected, Alt+] is a key after a moment.
        let (mut replies, now) = (Replies::default(), Instant::now());
        feed(&mut replies, vec![press(']', KeyModifiers::ALT)], now);
        assert_eq!(replies.deadline(), Some(now + ESC_GAP));
        assert_eq!(replies.give_up(), [press(']', KeyModifiers::ALT)]);
    }

    #[test]
    fn keys_between_the_parts_of_a_reply_are_handled() {
        let (mut replies, now) = asked();
        let mut events = reply("11;rgb:1010/1414/1818", false, false);
        let interrupt = press('c', KeyModifiers::CONTROL);
        events.insert(9, interrupt.clone());
        events.insert(5, Event::Resize(80, 24));
        assert_eq!(
            feed(&mut replies, events, now),
            (
                vec![Event::Resize(80, 24), interrupt.clone()],
                Some((16, 20, 24))
            )
        );
        // Also between the two bytes of its end.
        let (mut replies, now) = asked();
        let mut events = reply("11;rgb:1010/1414/1818", true, false);
        events.insert(events.len() - 1, interrupt.clone());
        assert_eq!(
            feed(&mut replies, events, now),
            (vec![interrupt], Some((16, 20, 24)))
        );
        // The rest may never arrive.
        replies.expect(now);
        feed(
            &mut replies,
            reply("11;rgb:10", false, false)[..6].to_vec(),
            now,
        );
        assert_eq!(replies.give_up(), []);
        assert!(replies.is_due());
    }

    #[test]
    fn esc_is_delayed_only_while_a_reply_is_due() {
        let (mut replies, now) = asked();
        assert_eq!(feed(&mut replies, vec![ESC], now), (Vec::new(), None));
        assert_eq!(replies.deadline(), Some(now + ESC_GAP));
        assert_eq!((replies.give_up(), replies.deadline()), (vec![ESC], None));
        assert_eq!(
            feed(&mut replies, vec![ESC, plain('x')], now),
            (vec![ESC, plain('x')], None)
        );
        feed(&mut replies, vec![press(']', KeyModifiers::ALT)], now);
        assert_eq!(replies.deadline(), Some(now + GAP), "the rest may be late");
        replies.give_up();
        feed(&mut replies, reply("11;rgb:0/0/0", false, false), now);
        assert_eq!(
            feed(&mut replies, vec![ESC], now),
            (vec![ESC], None),
            "the query was answered"
        );
        replies.expect(now);
        assert_eq!(
            feed(&mut replies, vec![ESC], now + PATIENCE),
            (vec![ESC], None),
            "some terminals never reply"
        );
    }

    #[test]
    fn a_reply_is_due_until_it_is_complete() {
        assert!(!Replies::default().is_due());
        let (mut replies, now) = asked();
        assert!(replies.is_due());
        let mut events = reply("11;rgb:0/0/0", true, false);
        let last = events.pop().unwrap();
        feed(&mut replies, events, now);
        assert!(replies.is_due());
        feed(&mut replies, vec![last], now);
        assert!(!replies.is_due());
        // The terminal's input was dropped.
        replies.expect(now);
        feed(&mut replies, vec![ESC, plain(']')], now);
        replies.forget_due();
        assert!(!replies.is_due() && replies.deadline().is_none());
        assert_eq!(
            feed(&mut replies, vec![plain('x')], now),
            (vec![plain('x')], None)
        );
    }
}
