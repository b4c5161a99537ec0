//! Drops the replies of the terminal that are still due, before another program reads the terminal.
//!
//! A terminal handles queries in their order, and every terminal replies to a query of its attributes (DA1). So once that reply has
//! arrived, no earlier one is due. crossterm hides that reply, so these bytes are read without it.

use std::time::{Duration, Instant};

/// The query of the terminal's attributes (DA1).
pub(super) const ATTRIBUTES: &str = "\x1b[c";
/// How long the reply is awaited. Without one, nothing replies to queries here.
const PATIENCE: Duration = Duration::from_secs(1);

/// Finds the reply to a query of the terminal's attributes in the bytes that the terminal sends: `ESC [ ? 6 2 ; 2 2 c`.
#[derive(Debug, Default)]
struct AttributesReply {
    /// The bytes of its beginning that were found.
    found: usize,
}

impl AttributesReply {
    /// Takes a byte. Returns whether it ends the reply.
    fn ends_with(&mut self, byte: u8) -> bool {
        self.found = match (self.found, byte) {
            (3, b'c') => return true,
            (3, b'0'..=b'9' | b';') => 3,
            (2, b'?') => 3,
            (1, b'[') => 2,
            (_, 0x1b) => 1,
            _ => 0,
        };
        false
    }
}

/// Reads and drops what a terminal sends, until its reply to a query of its attributes.
pub(super) fn until_attributes(terminal: std::os::fd::RawFd) {
    let until = Instant::now() + PATIENCE;
    let mut reply = AttributesReply::default();
    let mut bytes = [0u8; 256];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let mut ready = libc::pollfd {
            fd: terminal,
            events: libc::POLLIN,
            revents: 0,
        };
        // One more, because 0 doesn't wait.
        let milliseconds = i32::try_from(left.as_millis())
            .unwrap_or(i32::MAX)
            .saturating_add(1);
        // SAFETY: poll gets one valid entry.
        let count = unsafe { libc::poll(&raw mut ready, 1, milliseconds) };
        if count < 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted {
            continue;
        }
        if count <= 0 || ready.revents & libc::POLLIN == 0 {
            return;
        }
        // SAFETY: read writes at most the length of the buffer.
        let length = unsafe { libc::read(terminal, bytes.as_mut_ptr().cast(), bytes.len()) };
        let Some(read) = usize::try_from(length).ok().filter(|length| *length > 0) else {
            return;
        };
        if bytes[..read].iter().any(|byte| reply.ends_with(*byte)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_behind_other_replies() {
        let left = |bytes: &[u8]| {
            let mut reply = AttributesReply::default();
            bytes
                .iter()
                .position(|byte| reply.ends_with(*byte))
                .map(|at| bytes.len() - at - 1)
        };
        assert_eq!(left(b"\x1b[?62;22c"), Some(0));
        assert_eq!(
            left(b"ab\x1b]11;rgb:1c1c/1c1c/1c1c\x1b\\\x1b\x1b[?6cls"),
            Some(2)
        );
        for other in [
            &b"\x1b[6c"[..],
            b"\x1b]11;rgb:c/c/c\x07",
            b"\x1b[?62;2",
            b"\x1b[?6xc",
            b"[?6c",
            b"",
            b"\x1b[>1;2c",
        ] {
            assert_eq!(left(other), None, "{other:?}");
        }
    }

    #[test]
    fn bytes_after_the_reply_are_left() {
        use std::io::{Read, Write};
        use std::os::fd::AsRawFd;
        let (mut terminal, mut ours) = std::os::unix::net::UnixStream::pair().unwrap();
        terminal.write_all(b"ff/ffff\x1b\\\x1b[?62;22c").unwrap();
        until_attributes(ours.as_raw_fd());
        terminal.write_all(b"next").unwrap();
        drop(terminal);
        let mut rest = String::new();
        ours.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "next");
        // A closed terminal ends the wait.
        until_attributes(ours.as_raw_fd());
    }
}
