//! Opens files that the user names, and refuses named pipes, which could block. Recordings are opened elsewhere: a pipe may
//! bring one, and a signal ends reading it.

use super::ConfigError;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a configuration, input or document.
const MAX_TEXT: u64 = 64 << 20;

/// Opens a file to read it. A pipe that the shell has opened (`<(COMMAND)`) is one too.
///
/// # Errors
/// The system's error, or a named pipe.
pub fn open(path: &Path) -> io::Result<File> {
    refuse_pipe(path)?;
    File::open(path)
}

/// Opens a file with these options.
///
/// # Errors
/// The system's error, or a named pipe.
pub fn open_with(options: &OpenOptions, path: &Path) -> io::Result<File> {
    refuse_pipe(path)?;
    options.open(path)
}

/// Reads a file whole.
///
/// # Errors
/// The system's error, a named pipe, or a file above 64 MiB (`/dev/zero`).
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_most(path, MAX_TEXT)
}

fn read_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", most >> 20),
        )),
        false => Ok(bytes),
    }
}

/// Reads a text file whole.
///
/// # Errors
/// As [`read`]; `InvalidData` where it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    read_text_most(path, MAX_TEXT)
}

/// Reads a text file of at most `most` bytes.
pub(super) fn read_text_most(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_most(path, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Refuses a file that other users can change. A group with the number of the owner is the owner's own. On Windows the
/// folder of the user is private, so nothing is checked.
pub(super) fn refuse_writable(path: &Path) -> Result<(), ConfigError> {
    #[cfg(unix)]
    if let Ok(file) = std::fs::metadata(path) {
        use std::os::unix::fs::MetadataExt;
        let mode = file.mode() & 0o777;
        if mode & 0o002 != 0 || mode & 0o020 != 0 && file.gid() != file.uid() {
            let why = format!(
                "the file can be changed by others (mode {mode:03o}), so no program that it names is run"
            );
            let error = ConfigError {
                path: Some(path.to_path_buf()),
                ..ConfigError::new(why)
            };
            return Err(error.hint(format!("run: chmod go-w {}", path.display())));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Opening a named pipe blocks until its other end is opened, and a signal with a listener does not interrupt that.
fn refuse_pipe(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let is_open = ["/dev/fd", "/proc/self/fd"]
            .iter()
            .any(|open| path.starts_with(open));
        if !is_open && std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
            let why = "it is a named pipe, and opening it could block: use a file, <(COMMAND) or >(COMMAND)";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
