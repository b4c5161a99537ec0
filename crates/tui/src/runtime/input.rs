//! Converts the terminal's events to messages.

use crate::input::key::{Code, Key};
use crate::session::msg::Msg;
use crossterm::event::{
    Event, EventStream, KeyCode, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};
use futures::stream::SelectAll;
use std::io;
use std::time::Duration;

/// Lines that one notch of the wheel moves.
const WHEEL: i8 = 3;

/// Opens the stream of the terminal's events. The terminal is read as long as the stream exists, so the stream must be
/// dropped before a suspend.
///
/// The stream is in a set, which polls it only after it has woken its task. Each poll of the stream itself tries to get a lock
/// that its thread holds while no key is pressed, and yields the processor seven times before it gives up.
///
/// # Errors
/// If the terminal can't be read, for example because too many files are open.
pub fn open() -> io::Result<SelectAll<EventStream>> {
    // `EventStream` panics if it can't read the terminal; `poll` returns the error instead.
    crossterm::event::poll(Duration::ZERO).map_err(|e| {
        io::Error::new(
            e.kind(),
            format!("couldn't read the keyboard ({e}); too many open files?"),
        )
    })?;
    Ok(SelectAll::from_iter([EventStream::new()]))
}

/// Converts an event to a message; `None` for events that are not used.
pub fn message(event: &Event) -> Option<Msg> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
            let alt = key.modifiers.contains(KeyModifiers::ALT);
            let code = match key.code {
                KeyCode::Char(c) if ctrl => Code::Char(c.to_ascii_lowercase()),
                KeyCode::Char(c) => Code::Char(c),
                KeyCode::F(n) => Code::F(n),
                KeyCode::Enter => Code::Enter,
                KeyCode::Esc => Code::Esc,
                KeyCode::Tab if key.modifiers.contains(KeyModifiers::SHIFT) => Code::BackTab,
                KeyCode::Tab => Code::Tab,
                KeyCode::BackTab => Code::BackTab,
                KeyCode::Backspace => Code::Backspace,
                KeyCode::Delete => Code::Delete,
                KeyCode::Up => Code::Up,
                KeyCode::Down => Code::Down,
                KeyCode::Left => Code::Left,
                KeyCode::Right => Code::Right,
                KeyCode::Home => Code::Home,
                KeyCode::End => Code::End,
                KeyCode::PageUp => Code::PageUp,
                KeyCode::PageDown => Code::PageDown,
                _ => return None,
            };
            Some(Msg::Key(Key { code, ctrl, alt }))
        }
        Event::FocusGained => Some(Msg::Focus(true)),
        Event::FocusLost => Some(Msg::Focus(false)),
        Event::Paste(text) => Some(Msg::Paste(text.clone())),
        Event::Resize(w, h) => Some(Msg::Resize(*w, *h)),
        Event::Mouse(mouse) => {
            let (x, y) = (mouse.column, mouse.row);
            match mouse.kind {
                MouseEventKind::ScrollUp => Some(Msg::Wheel {
                    lines: -WHEEL,
                    x,
                    y,
                }),
                MouseEventKind::ScrollDown => Some(Msg::Wheel { lines: WHEEL, x, y }),
                MouseEventKind::Down(MouseButton::Left) => Some(Msg::Click { x, y }),
                MouseEventKind::Drag(MouseButton::Left) => Some(Msg::Drag { x, y }),
                _ => None,
            }
        }
        _ => None,
    }
}
