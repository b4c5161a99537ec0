//! Opens files to compare: recordings, and saved comparisons.

use super::recording::read_recording;
use super::steps::{Side, read_pair};
use crate::Lines;
use std::io;
use std::path::Path;

/// Maximum size of a saved comparison, in bytes.
const MAX_FILE: usize = 256 << 20;

/// The contents of a file.
#[derive(Debug, Clone)]
pub enum FileContents {
    /// A recording.
    Side(Box<Side>),
    /// A saved comparison.
    Pair(Box<(Side, Side)>),
}

/// Opens a recording or a saved comparison, compressed or not.
///
/// # Errors
/// The file can't be read, or is neither.
pub fn open_file(path: &Path) -> io::Result<FileContents> {
    let mut lines = Lines::open(path)?;
    if lines.advance()? && lines.bytes().starts_with(br#"{"kind":"comparison""#) {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        if lines.bytes().len() >= MAX_FILE {
            return Err(invalid("the saved comparison is too large".into()));
        }
        let text = std::str::from_utf8(lines.bytes()).map_err(|e| invalid(e.to_string()))?;
        return Ok(FileContents::Pair(Box::new(
            read_pair(text).map_err(invalid)?,
        )));
    }
    read_recording(path).map(|side| FileContents::Side(Box::new(side)))
}
