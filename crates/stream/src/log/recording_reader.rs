//! Reads recordings, also compressed and damaged ones, line by line.

use crate::{LineParser, Record};
use flate2::read::MultiGzDecoder;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Maximum length of a line, far above any event that a source records. Protects against compression bombs.
const MAX_LINE: u64 = 256 << 20;

/// An error in a recording.
#[derive(Debug)]
pub enum ReadError {
    /// The file cannot be read.
    Io(io::Error),
    /// A line is not a record. Reading can continue with the next one.
    Line {
        /// Its number, from 1.
        line: u64,
        why: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => write!(f, "cannot read the recording: {error}"),
            // The parser's own position has line 1, because each line is a document.
            ReadError::Line { line, why } => {
                let why = why.to_string();
                let why = why
                    .split_once(" at line ")
                    .map_or(why.as_str(), |(why, _)| why);
                write!(f, "line {line} is not a record: {why}")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// An iterator over the lines of a recording.
pub struct Lines {
    input: Box<dyn BufRead + Send>,
    line: u64,
    text: Vec<u8>,
    truncated: bool,
    /// Maximum length of a line.
    max_line: u64,
    /// Whether the line was too long and was skipped.
    too_long: bool,
    /// Whether the file is compressed.
    compressed: bool,
    /// Number of empty lines directly before this one.
    empty: u64,
}

impl Lines {
    /// Opens a recording file.
    ///
    /// # Errors
    /// I/O errors.
    pub fn open(path: &Path) -> io::Result<Lines> {
        Lines::new(std::fs::File::open(path)?)
    }

    /// Reads lines from any reader, decompressing gzip.
    ///
    /// # Errors
    /// I/O errors.
    pub fn new(input: impl Read + Send + 'static) -> io::Result<Lines> {
        let mut input = BufReader::with_capacity(64 * 1024, input);
        let gzip = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let input: Box<dyn BufRead + Send> = if gzip {
            Box::new(BufReader::new(MultiGzDecoder::new(input)))
        } else {
            Box::new(input)
        };
        Ok(Lines {
            input,
            line: 0,
            text: Vec::new(),
            truncated: false,
            max_line: MAX_LINE,
            too_long: false,
            compressed: gzip,
            empty: 0,
        })
    }

    /// Advances to the next non-empty line. Returns false after the last one, and after one that could not be read
    /// completely.
    ///
    /// # Errors
    /// I/O errors.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.empty = 0;
        loop {
            self.text.clear();
            self.too_long = false;
            let read = (&mut self.input)
                .take(self.max_line)
                .read_until(b'\n', &mut self.text)
                .and_then(|read| {
                    self.too_long = read as u64 == self.max_line && !self.text.ends_with(b"\n");
                    if self.too_long {
                        // Free the memory of the skipped line.
                        self.text = Vec::new();
                        self.input.skip_until(b'\n')?;
                    }
                    Ok(read)
                });
            match read {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                // An unfinished gzip file: everything before its end is still valid.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.truncated = true;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
            self.line += 1;
            if self.too_long || !self.text.trim_ascii().is_empty() {
                return Ok(true);
            }
            self.empty += 1;
        }
    }

    /// Returns the current line without its line break.
    pub fn bytes(&self) -> &[u8] {
        self.text.trim_ascii()
    }

    /// Returns the number of the current line, from 1.
    pub fn number(&self) -> u64 {
        self.line
    }

    /// Returns whether the line is exactly as Runtail writes it: without surrounding whitespace, ended by one line feed.
    pub fn is_as_written(&self) -> bool {
        self.text.strip_suffix(b"\n") == Some(self.bytes())
    }

    /// Returns the number of empty lines directly before this one; at the end of the file, of those after the last line.
    pub fn empty_before(&self) -> u64 {
        self.empty
    }

    /// Returns whether the file is compressed.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// Parses the current line. Returns `None` for an unknown kind, and if the file ends in the middle of the line.
    ///
    /// # Errors
    /// The line is not a record. Reading can continue with the next line.
    pub fn parse(&mut self, parser: &mut LineParser) -> Result<Option<Record>, ReadError> {
        if self.too_long {
            let why = format!(
                "it is longer than {}",
                runtail_core::text::bytes(self.max_line)
            );
            return Err(ReadError::Line {
                line: self.line,
                why,
            });
        }
        match parser.parse(&String::from_utf8_lossy(self.text.trim_ascii())) {
            Ok(record) => Ok(record),
            Err(_) if self.text.last() != Some(&b'\n') => {
                self.truncated = true;
                Ok(None)
            }
            Err(error) => Err(ReadError::Line {
                line: self.line,
                why: error.to_string(),
            }),
        }
    }

    /// Returns whether the file ended in the middle of its last line, which was skipped.
    pub fn was_truncated(&self) -> bool {
        self.truncated
    }
}

/// An iterator over the records of a recording.
pub struct Reader {
    lines: Lines,
    parser: LineParser,
}

impl Reader {
    /// Opens a recording file.
    ///
    /// # Errors
    /// I/O errors.
    pub fn open(path: &Path) -> io::Result<Reader> {
        Reader::new(std::fs::File::open(path)?)
    }

    /// Reads a recording from any reader, decompressing gzip.
    ///
    /// # Errors
    /// I/O errors.
    pub fn new(input: impl Read + Send + 'static) -> io::Result<Reader> {
        Ok(Reader {
            lines: Lines::new(input)?,
            parser: LineParser::default(),
        })
    }

    /// Returns whether the file ended in the middle of its last line, which was skipped.
    pub fn was_truncated(&self) -> bool {
        self.lines.was_truncated()
    }
}

impl Iterator for Reader {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.lines.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(ReadError::Io(error))),
            }
            match self.lines.parse(&mut self.parser) {
                Ok(Some(record)) => return Some(Ok(record)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::recording::tests::{line, sample};
    use std::io::Write;

    #[test]
    fn readers_are_tolerant() {
        let event = line(&sample());
        let text = format!(
            "{{\"kind\":\"new\",\"x\":1}}\n\n{}oops\n{}",
            event.replace("{\"kind\"", "{\"y\":{},\"kind\""),
            &event[..40]
        );
        for gzip in [false, true] {
            let bytes = if gzip {
                let mut out =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                out.write_all(text.as_bytes()).unwrap();
                out.finish().unwrap()
            } else {
                text.clone().into_bytes()
            };
            let mut reader = Reader::new(io::Cursor::new(bytes)).unwrap();
            assert_eq!(reader.next().unwrap().unwrap(), sample());
            assert!(matches!(
                reader.next(),
                Some(Err(ReadError::Line { line: 4, .. }))
            ));
            assert!(reader.next().is_none());
            assert!(reader.was_truncated());
        }
    }

    #[test]
    fn a_truncated_gzip_is_read_to_its_end() {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        for _ in 0..2000 {
            out.write_all(line(&sample()).as_bytes()).unwrap();
        }
        let bytes = out.finish().unwrap();
        let mut reader = Reader::new(io::Cursor::new(bytes[..bytes.len() / 2].to_vec())).unwrap();
        let read = reader.by_ref().filter(|r| r.is_ok()).count();
        assert!(read > 500 && reader.was_truncated());
    }

    #[test]
    fn an_oversized_line_is_skipped_without_buffering() {
        let text = format!(
            "{}\n{}{}",
            "x".repeat(5000),
            line(&sample()),
            "y".repeat(5000)
        );
        let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        compressed.write_all(text.as_bytes()).unwrap();
        for bytes in [text.into_bytes(), compressed.finish().unwrap()] {
            let mut reader = Reader::new(io::Cursor::new(bytes)).unwrap();
            reader.lines.max_line = 1000;
            let Some(Err(ReadError::Line { line: 1, why })) = reader.next() else {
                panic!("the first line is too long")
            };
            assert_eq!(why, "it is longer than 1.0 kB");
            assert!(reader.lines.text.capacity() < 1000);
            assert_eq!(reader.next().unwrap().unwrap(), sample());
            assert!(matches!(
                reader.next(),
                Some(Err(ReadError::Line { line: 3, .. }))
            ));
            assert!(reader.next().is_none());
        }
    }
}
