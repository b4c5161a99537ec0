//! What a frame puts on the terminal: all of it in one piece, and nothing at all where nothing changed.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use std::io::{self, Write};

/// Where frames are drawn before they go to the terminal.
///
/// ratatui's own backend writes its attributes and its cursor with every frame, and a large one in many pieces, since
/// stdout buffers a kilobyte: it would wake the terminal even for frames that change nothing.
pub struct Sheet<W: Write> {
    /// What the frame that is being drawn changes, as the terminal is told it.
    cells: Vec<u8>,
    /// Where the frame that is being drawn has its cursor.
    cursor: Option<Position>,
    /// Where the terminal shows it; `None` where that is not known.
    shown: Option<Option<Position>>,
    size: Size,
    out: W,
}

impl<W: Write> Sheet<W> {
    /// An empty one, for a terminal of this size.
    pub fn new(out: W, size: Size) -> Sheet<W> {
        Sheet { cells: Vec::new(), cursor: None, shown: None, size, out }
    }

    /// The next frames are for a terminal of this size. It is asked once a frame, so that what is drawn is as large as what
    /// was laid out.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Somebody else wrote to the terminal.
    pub fn forget(&mut self) {
        self.shown = None;
    }
}

impl<W: Write> Backend for Sheet<W> {
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

    /// ratatui says where right after.
    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// As far as it is known here; nobody asks.
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
        Ok(WindowSize { columns_rows: self.size, pixels: Size::default() })
    }

    /// Shows the frame, which the terminal does as a whole.
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

    /// What a terminal was given, piece by piece.
    #[derive(Default, Clone)]
    struct Wire(Rc<RefCell<Vec<String>>>);

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_frame_is_one_piece_and_one_that_changed_nothing_is_none() {
        let wire = Wire::default();
        let mut terminal = Terminal::new(Sheet::new(wire.clone(), Size::new(140, 40))).unwrap();
        let mut draw = |text: &str, cursor: Option<(u16, u16)>| {
            let drawn = terminal.draw(|frame| {
                for y in 0..40 {
                    frame.buffer_mut().set_string(0, y, text.repeat(140 / text.len()), ratatui::style::Style::new());
                }
                if let Some(at) = cursor {
                    frame.set_cursor_position(at);
                }
            });
            drawn.unwrap();
            std::mem::take(&mut *wire.0.borrow_mut())
        };
        let first = draw("a", None);
        assert_eq!(first.len(), 1);
        assert!(first[0].starts_with("\x1b[?2026h") && first[0].ends_with("\x1b[?25l\x1b[?2026l"), "{first:?}");
        assert_eq!(first[0].matches('a').count(), 140 * 40);
        assert_eq!(draw("a", None), [""; 0]);
        // A cursor alone is a change, and where it stands too.
        assert_eq!(draw("a", Some((3, 4))), ["\x1b[?2026h\x1b[?25h\x1b[5;4H\x1b[?2026l"]);
        assert_eq!(draw("a", Some((3, 4))), [""; 0]);
        assert_eq!(draw("a", Some((4, 4))), ["\x1b[?2026h\x1b[?25h\x1b[5;5H\x1b[?2026l"]);
        assert_eq!(draw("b", Some((4, 4))).len(), 1);
        assert_eq!(draw("b", None), ["\x1b[?2026h\x1b[?25l\x1b[?2026l"]);
        assert_eq!(draw("b", None), [""; 0]);
    }

    #[test]
    fn another_size_and_what_others_wrote_are_drawn_over() {
        let wire = Wire::default();
        let mut terminal = Terminal::new(Sheet::new(wire.clone(), Size::new(10, 2))).unwrap();
        let mut draw = |act: fn(&mut Terminal<Sheet<Wire>>)| {
            act(&mut terminal);
            terminal.draw(|frame| frame.buffer_mut().set_string(0, 0, "text", ratatui::style::Style::new())).unwrap();
            std::mem::take(&mut *wire.0.borrow_mut())
        };
        assert_eq!(draw(|_| {}).len(), 1);
        let smaller = draw(|terminal| terminal.backend_mut().resize(Size::new(8, 2)));
        assert!(smaller.len() == 1 && smaller[0].contains("\x1b[2J") && smaller[0].contains("text"), "{smaller:?}");
        assert_eq!(draw(|_| {}), [""; 0]);
        // The cursor may have been shown meanwhile.
        assert_eq!(draw(|terminal| terminal.backend_mut().forget()), ["\x1b[?2026h\x1b[?25l\x1b[?2026l"]);
    }
}
