//! A terminal backend that writes each frame in one piece, and writes nothing for a frame without changes.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use std::io::{self, Write};

/// Collects a frame before it is written to the terminal.
///
/// ratatui's own backend writes attributes and the cursor with every frame, which wakes the terminal even if nothing has
/// changed. It also writes a large frame in many pieces, because stdout has a buffer of a kilobyte.
pub struct BufferedBackend<W: Write> {
    /// The escape sequences for the changes of the frame being drawn.
    cells: Vec<u8>,
    /// The cursor position of the frame being drawn; `None` hides it.
    cursor: Option<Position>,
    /// The cursor that the terminal shows; `None` if unknown.
    shown: Option<Option<Position>>,
    size: Size,
    out: W,
}

impl<W: Write> BufferedBackend<W> {
    /// Creates a backend for a terminal of this size.
    pub fn new(out: W, size: Size) -> BufferedBackend<W> {
        BufferedBackend {
            cells: Vec::new(),
            cursor: None,
            shown: None,
            size,
            out,
        }
    }

    /// Sets the terminal's size for the next frames. The size is read once per frame, so that layout and drawing use the same.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Forgets the state of the cursor, because other code has written to the terminal.
    pub fn invalidate_cursor(&mut self) {
        self.shown = None;
    }
}

impl<W: Write> Backend for BufferedBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        match content.peek() {
            Some(_) => CrosstermBackend::new(&mut self.cells).draw(content),
            None => Ok(()),
        }
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.cursor = None;
        Ok(())
    }

    /// Does nothing: ratatui sets the position right after.
    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns the last position that was set, without querying the terminal.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = Some(position.into());
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        CrosstermBackend::new(&mut self.cells).clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size,
            pixels: Size::default(),
        })
    }

    /// Writes the frame, which the terminal shows all at once.
    fn flush(&mut self) -> io::Result<()> {
        if self.cells.is_empty() && self.shown == Some(self.cursor) {
            return Ok(());
        }
        let mut frame = Vec::with_capacity(self.cells.len() + 64);
        queue!(frame, BeginSynchronizedUpdate)?;
        frame.append(&mut self.cells);
        match self.cursor {
            None => queue!(frame, Hide)?,
            Some(Position { x, y }) => queue!(frame, Show, MoveTo(x, y))?,
        }
        queue!(frame, EndSynchronizedUpdate)?;
        self.shown = Some(self.cursor);
        self.out.write_all(&frame)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Records each write to the terminal.
    #[derive(Default, Clone)]
    struct RecordedWrites(Rc<RefCell<Vec<String>>>);

    impl Write for RecordedWrites {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0
                .borrow_mut()
                .push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_frame_is_one_write_and_an_unchanged_frame_none() {
        let writes = RecordedWrites::default();
        let mut terminal =
            Terminal::new(BufferedBackend::new(writes.clone(), Size::new(140, 40))).unwrap();
        let mut draw = |text: &str, cursor: Option<(u16, u16)>| {
            let drawn = terminal.draw(|frame| {
                for y in 0..40 {
                    frame.buffer_mut().set_string(
                        0,
                        y,
                        text.repeat(140 / text.len()),
                        ratatui::style::Style::new(),
                    );
                }
                if let Some(at) = cursor {
                    frame.set_cursor_position(at);
                }
            });
            drawn.unwrap();
            std::mem::take(&mut *writes.0.borrow_mut())
        };
        let first = draw("a", None);
        assert_eq!(first.len(), 1);
        assert!(
            first[0].starts_with("\x1b[?2026h") && first[0].ends_with("\x1b[?25l\x1b[?2026l"),
            "{first:?}"
        );
        assert_eq!(first[0].matches('a').count(), 140 * 40);
        assert_eq!(draw("a", None), [""; 0]);
        // Showing or moving the cursor is a change.
        assert_eq!(
            draw("a", Some((3, 4))),
            ["\x1b[?2026h\x1b[?25h\x1b[5;4H\x1b[?2026l"]
        );
        assert_eq!(draw("a", Some((3, 4))), [""; 0]);
        assert_eq!(
            draw("a", Some((4, 4))),
            ["\x1b[?2026h\x1b[?25h\x1b[5;5H\x1b[?2026l"]
        );
        assert_eq!(draw("b", Some((4, 4))).len(), 1);
        assert_eq!(draw("b", None), ["\x1b[?2026h\x1b[?25l\x1b[?2026l"]);
        assert_eq!(draw("b", None), [""; 0]);
    }

    #[test]
    fn a_resize_redraws_all_and_an_unknown_cursor_is_set_again() {
        let writes = RecordedWrites::default();
        let mut terminal =
            Terminal::new(BufferedBackend::new(writes.clone(), Size::new(10, 2))).unwrap();
        let mut draw = |act: fn(&mut Terminal<BufferedBackend<RecordedWrites>>)| {
            act(&mut terminal);
            terminal
                .draw(|frame| {
                    frame
                        .buffer_mut()
                        .set_string(0, 0, "text", ratatui::style::Style::new())
                })
                .unwrap();
            std::mem::take(&mut *writes.0.borrow_mut())
        };
        assert_eq!(draw(|_| {}).len(), 1);
        let smaller = draw(|terminal| terminal.backend_mut().resize(Size::new(8, 2)));
        assert!(
            smaller.len() == 1 && smaller[0].contains("\x1b[2J") && smaller[0].contains("text"),
            "{smaller:?}"
        );
        assert_eq!(draw(|_| {}), [""; 0]);
        // Other code may have shown the cursor meanwhile.
        assert_eq!(
            draw(|terminal| terminal.backend_mut().invalidate_cursor()),
            ["\x1b[?2026h\x1b[?25l\x1b[?2026l"]
        );
    }
}
