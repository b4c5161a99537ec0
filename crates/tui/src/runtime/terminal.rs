//! The terminal. Only this module writes raw bytes to it. Every exit path restores its previous state.

use super::background;
use super::buffered_backend::BufferedBackend;
#[cfg(unix)]
use super::drain;
use base64::Engine;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture,
};
use crossterm::terminal::{
    Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{cursor, execute};
use ratatui::layout::Size;
use ratatui::{Frame, Terminal};
use runtail_core::config::Notify;
use runtail_core::{secret, text};
use std::io::{self, IsTerminal, Stdout, Write};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

static ENTERED: AtomicBool = AtomicBool::new(false);
static UI_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// The terminal while the dashboard uses it.
pub struct Screen {
    /// Never dropped, because its drop writes errors to stderr, and panics if that is closed. [`restore`] replaces it.
    terminal: ManuallyDrop<Terminal<BufferedBackend<Stdout>>>,
    mouse: bool,
}

impl Screen {
    /// Sets up the terminal. Fails if stdin or stdout is not a terminal.
    pub fn enter() -> io::Result<Screen> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(io::Error::other(
                "the dashboard needs a terminal on stdin and stdout",
            ));
        }
        // The theme respects NO_COLOR; crossterm's own support would also remove bold and reverse.
        crossterm::style::force_color_output(true);
        modes_on()?;
        let terminal = Terminal::new(BufferedBackend::new(io::stdout(), size()?.into()))?;
        Ok(Screen {
            terminal: ManuallyDrop::new(terminal),
            mouse: false,
        })
    }

    /// Returns the current columns and rows, and uses them for the next frames.
    pub fn size(&mut self) -> io::Result<(u16, u16)> {
        let (width, height) = size()?;
        self.terminal.backend_mut().resize(Size { width, height });
        Ok((width, height))
    }

    /// Draws one frame.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render).map(|_| ())
    }

    /// Clears the screen, so that the next frame is drawn completely.
    ///
    /// `Terminal::clear` would query the cursor position, which races with reading keys.
    pub fn clear(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal.backend_mut().invalidate_cursor();
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Captures the mouse, or leaves it to the terminal.
    pub fn capture_mouse(&mut self, wanted: bool) -> io::Result<()> {
        if wanted != self.mouse {
            self.mouse = wanted;
            if wanted {
                execute!(io::stdout(), EnableMouseCapture)
            } else {
                execute!(io::stdout(), DisableMouseCapture)
            }?;
        }
        Ok(())
    }

    /// Queries the background color. The reply arrives among the keys.
    pub fn query_background(&mut self) -> io::Result<()> {
        write!(io::stdout(), "{}", background::QUERY)?;
        io::stdout().flush()
    }

    /// Drops replies to queries that are still due, because another program would read them as typed text. Nothing else may read the
    /// terminal meanwhile.
    pub fn drain_replies(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        {
            write!(io::stdout(), "{}", drain::ATTRIBUTES)?;
            io::stdout().flush()?;
            drain::until_attributes(libc::STDIN_FILENO);
        }
        Ok(())
    }

    /// Copies a text to the clipboard.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        write!(io::stdout(), "{}", clipboard(&secret::keys::without(text)))?;
        io::stdout().flush()
    }

    /// Alerts the user.
    pub fn alert(&mut self, how: Notify, title: &str, text: &str) -> io::Result<()> {
        write!(io::stdout(), "{}", alert_sequence(how, title, text))?;
        io::stdout().flush()
    }

    /// Restores the terminal, stops the process as the shell expects, and sets the terminal up again afterwards.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore();
        #[cfg(unix)]
        super::signals::stop_group();
        self.reenter()
    }

    /// Restores the terminal, because another program uses it.
    pub fn leave(&mut self) {
        restore();
    }

    /// Sets the terminal up again, for example after the process was stopped and continued.
    pub fn reenter(&mut self) -> io::Result<()> {
        // The shell has ended raw mode, but crossterm remembers it as enabled and wouldn't enable it again.
        let _ = disable_raw_mode();
        modes_on()?;
        self.mouse = false;
        self.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Returns whether to query the terminal's background. The Linux console and dumb terminals may print the query, and a Windows
/// console reports the reply as other keys.
pub(super) fn reports_background() -> bool {
    cfg!(unix)
        && !matches!(
            std::env::var("TERM").as_deref(),
            Err(_) | Ok("" | "dumb" | "linux")
        )
}

/// Formats an OSC 52 sequence. The text is in Base64, so it can't contain control sequences.
fn clipboard(text: &str) -> String {
    let payload = base64::engine::general_purpose::STANDARD.encode(text);
    format!("\x1b]52;c;{payload}\x07")
}

/// Formats a bell, or a desktop notification in one of the two forms that terminals support.
fn alert_sequence(how: Notify, title: &str, text: &str) -> String {
    // The texts must not contain characters that end or separate the sequence.
    let plain = |text: &str| text::fit(&text::clean(text), 200).replace(';', ",");
    let (title, text) = (plain(title), plain(text));
    match how {
        Notify::Off => String::new(),
        Notify::Bell => "\x07".into(),
        Notify::Osc9 => format!("\x1b]9;{title} {text}\x07"),
        Notify::Osc777 => format!("\x1b]777;notify;{title};{text}\x07"),
    }
}

fn modes_on() -> io::Result<()> {
    let _ = UI_THREAD.set(std::thread::current().id());
    #[cfg(unix)]
    handler::remember();
    ENTERED.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        EnableFocusChange,
        cursor::Hide
    )
}

/// Restores the terminal. Safe to call at any time and any number of times.
pub fn restore() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    // Run every step even if an earlier one failed. Errors can't be reported anymore.
    let _ = write_restore(&mut io::stdout());
    let _ = disable_raw_mode();
}

fn write_restore(out: &mut impl Write) -> io::Result<()> {
    execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    )
}

/// Restores the terminal from a signal handler, which may have interrupted any code.
#[cfg(unix)]
pub(super) fn restore_in_handler() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        handler::restore();
    }
}

/// The part that may run in a signal handler: no allocation, no lock.
#[cfg(unix)]
mod handler {
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// The bytes that [`super::write_restore`] writes.
    pub(super) const RESTORE: &[u8] =
        b"\x1b[?2026l\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[?2004l\x1b[?1049l\x1b[?25h";

    struct Modes(UnsafeCell<MaybeUninit<libc::termios>>, AtomicBool);

    // SAFETY: the modes are written once, before the flag is set, and only read after that.
    unsafe impl Sync for Modes {}

    static MODES: Modes = Modes(
        UnsafeCell::new(MaybeUninit::uninit()),
        AtomicBool::new(false),
    );

    /// Stores the terminal's modes before they are changed for the first time.
    pub(super) fn remember() {
        if MODES.1.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: termios is plain data for which zeroes are valid. Only the screen's thread calls this, and nothing reads the
        // modes until the flag is set.
        unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(libc::STDIN_FILENO, &raw mut modes) == 0 {
                (&mut *MODES.0.get()).write(modes);
                MODES.1.store(true, Ordering::SeqCst);
            }
        }
    }

    pub(super) fn restore() {
        // SAFETY: all of these calls are allowed in a signal handler, and the data they read no longer changes.
        unsafe {
            // Other threads run until the process ends. Their output must not reach the terminal after this.
            let terminal = libc::dup(libc::STDOUT_FILENO);
            let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            let is_redirected =
                terminal >= 0 && nowhere >= 0 && libc::dup2(nowhere, libc::STDOUT_FILENO) >= 0;
            let out = if is_redirected {
                terminal
            } else {
                libc::STDOUT_FILENO
            };
            libc::write(out, RESTORE.as_ptr().cast(), RESTORE.len());
            if MODES.1.load(Ordering::SeqCst) {
                libc::tcsetattr(
                    libc::STDIN_FILENO,
                    libc::TCSANOW,
                    (&*MODES.0.get()).as_ptr(),
                );
            }
        }
    }
}

/// Installs a panic hook. A panic on the screen's thread restores the terminal before its message is printed. A panic in a
/// background task prints nothing: the dashboard reports it.
pub fn install_panic_hook() {
    let _ = UI_THREAD.set(std::thread::current().id());
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if UI_THREAD.get() == Some(&std::thread::current().id()) {
            restore();
            print(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[cfg(unix)]
    #[test]
    fn a_handler_restores_what_a_normal_end_restores() {
        let mut normal = Vec::new();
        write_restore(&mut normal).unwrap();
        assert_eq!(
            String::from_utf8_lossy(handler::RESTORE),
            String::from_utf8_lossy(&normal)
        );
    }

    proptest! {
        /// Any text stays inside the single sequence that we end.
        #[test]
        fn no_text_escapes_from_a_sequence(title in any::<String>(), wild in "[\u{1b}\u{7}\u{9c}\u{9b}\u{202e};\\\\a\r\n]{0,12}") {
            for (how, parts) in [(Notify::Osc9, 1), (Notify::Osc777, 3)] {
                for (title, text) in [(&title, &wild), (&wild, &title)] {
                    let sequence = alert_sequence(how, title, text);
                    let inner = sequence.strip_prefix("\x1b]").and_then(|s| s.strip_suffix('\x07')).unwrap();
                    prop_assert!(!inner.contains(|c: char| c.is_control() || c == '\u{202e}'), "{sequence:?}");
                    prop_assert_eq!(inner.matches(';').count(), parts);
                }
            }
            prop_assert!(alert_sequence(Notify::Bell, &title, &wild) == "\x07" && alert_sequence(Notify::Off, &title, &wild).is_empty());
            let sequence = clipboard(&wild);
            let inner = sequence.strip_prefix("\x1b]52;c;").and_then(|s| s.strip_suffix('\x07')).unwrap();
            prop_assert!(inner.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b)), "{sequence:?}");
        }
    }
}
