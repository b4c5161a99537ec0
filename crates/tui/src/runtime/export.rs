//! Files for exports and recordings. Each is new, readable only by the user, and written in parts in the background.

use crate::boxed;
use crate::session::msg::{Chunk, FileStep};
use runtail_core::config::expand_home;
use runtail_core::text::{clean, clean_lines, json};
use runtail_stream::comparison::write_pair;
use runtail_stream::{Chain, RecordingFile, write_record};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The files being written, by the number of their export or recording.
#[derive(Debug, Clone, Default)]
pub struct Files(Arc<Mutex<HashMap<u64, Open>>>);

/// An open file.
#[derive(Debug)]
enum Open {
    View(CountingFile),
    Recording(Box<RecordingFile>, Chain),
}

/// A file that counts the bytes written to it.
#[derive(Debug)]
struct CountingFile {
    file: BufWriter<File>,
    bytes: u64,
}

impl Write for CountingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Open {
    fn write(&mut self, chunks: &[Chunk]) -> io::Result<()> {
        match self {
            Open::View(file) => {
                chunks.iter().try_for_each(|chunk| write(file, chunk))?;
                file.flush()
            }
            Open::Recording(file, chain) => {
                let mut lines = Vec::new();
                for chunk in chunks {
                    let from = lines.len();
                    write(&mut lines, chunk)?;
                    chain.seal(&mut lines, from);
                }
                file.write(&lines)
            }
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Open::View(file) => file.bytes,
            Open::Recording(file, _) => file.bytes(),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Open::View(mut file) => file.flush(),
            Open::Recording(file, _) => file.finish(),
        }
    }
}

impl Files {
    /// Runs a step. Returns the size of the file in bytes.
    ///
    /// # Errors
    /// An error message for the user.
    #[boxed]
    pub async fn step(&self, number: u64, step: FileStep) -> Result<u64, String> {
        let files = self.clone();
        let done = tokio::task::spawn_blocking(move || files.perform(number, step));
        match done.await {
            Ok(done) => done.map_err(|e| error_text(&e)),
            Err(_) => Err("writing failed".into()),
        }
    }

    fn perform(&self, number: u64, step: FileStep) -> io::Result<u64> {
        // The file is removed from the map while it is written, so that other files aren't blocked.
        let take = || {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&number)
        };
        let not_open = || io::Error::other("the file is no longer open");
        let new_file = |path: PathBuf| {
            io::Result::Ok(Open::View(CountingFile {
                file: BufWriter::new(create(&expand_home(&path))?),
                bytes: 0,
            }))
        };
        let file = match step {
            FileStep::Create(path) => new_file(path)?,
            FileStep::Save(path, chunks) => {
                let mut file = new_file(path)?;
                file.write(&chunks)?;
                let bytes = file.bytes();
                return file.finish().map(|()| bytes);
            }
            FileStep::Record(path) => Open::Recording(
                Box::new(RecordingFile::create(&expand_home(&path))?),
                Chain::default(),
            ),
            FileStep::Comparison(path, comparison) => {
                let mut file = RecordingFile::create(&expand_home(&path))?;
                file.write(write_pair(&comparison.a, &comparison.b).as_bytes())?;
                let bytes = file.bytes();
                return file.finish().map(|()| bytes);
            }
            FileStep::Write(chunks) => {
                let mut file = take().ok_or_else(not_open)?;
                file.write(&chunks)?;
                file
            }
            FileStep::Finish => {
                let file = take().ok_or_else(not_open)?;
                let bytes = file.bytes();
                return file.finish().map(|()| bytes);
            }
        };
        let bytes = file.bytes();
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(number, file);
        Ok(bytes)
    }
}

fn error_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "the file already exists and was not changed".into(),
        io::ErrorKind::NotFound => "no such folder".into(),
        _ => error.to_string(),
    }
}

/// Creates a new file that only the user can read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn write(out: &mut impl Write, chunk: &Chunk) -> io::Result<()> {
    match chunk {
        Chunk::Text(text) => out.write_all(text.as_bytes()),
        Chunk::Line(text) => out.write_all(clean(text).as_bytes()),
        Chunk::Lines(text) => out.write_all(clean_lines(text).as_bytes()),
        Chunk::Code(language, text) => {
            let text = clean_lines(text.trim_end_matches('\n'));
            let fence = "`".repeat(longest_run(&text).max(2) + 1);
            writeln!(out, "{fence}{language}\n{text}\n{fence}\n")
        }
        Chunk::Record(record) => {
            let mut line = Vec::new();
            write_record(&mut line, record)?;
            out.write_all(json(&String::from_utf8_lossy(&line)).as_bytes())
        }
    }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_sanitized_and_stays_in_its_code_block() {
        let written = |chunk: Chunk| {
            let mut out = Vec::new();
            write(&mut out, &chunk).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(Chunk::Line("a\u{1b}[31mb\nc".into())), "ab⏎c");
        assert_eq!(written(Chunk::Lines("a\u{1b}[31mb\nc".into())), "ab\nc");
        let code = written(Chunk::Code("json", "1\n````\n2".into()));
        assert_eq!(code, "`````json\n1\n````\n2\n`````\n\n");
    }

    #[test]
    fn a_record_is_escaped_and_parses_to_the_same_event() {
        let text = "\"a\u{9b}31m\u{202e}b\"";
        let event = runtail_stream::Event {
            seq: runtail_stream::Seq(1),
            at: jiff::Timestamp::UNIX_EPOCH,
            conn: 1,
            replayed: false,
            name: "cus\u{7f}tom".into(),
            ns: ["\u{2066}".into()].into(),
            id: None,
            data: runtail_stream::Data::Json(text.into()),
        };
        let mut out = Vec::new();
        write(
            &mut out,
            &Chunk::Record(Box::new(runtail_stream::Record::Event(event.clone()))),
        )
        .unwrap();
        let line = String::from_utf8(out).unwrap();
        assert!(
            line.trim_end().is_ascii() && line.contains("\\u009b31m\\u202e"),
            "{line}"
        );
        let read = runtail_stream::LineParser::default()
            .parse(&line)
            .unwrap()
            .unwrap();
        let runtail_stream::Record::Event(read) = read else {
            panic!("{read:?}")
        };
        assert_eq!((&read.name, &read.ns), (&event.name, &event.ns));
        let value = |data: &str| serde_json::from_str::<String>(data).unwrap();
        assert_eq!(value(read.data.text()), value(text));
    }

    #[tokio::test]
    async fn a_file_is_new_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        let files = Files::default();
        assert_eq!(files.step(1, FileStep::Create(path.clone())).await, Ok(0));
        assert_eq!(
            files
                .step(1, FileStep::Write(vec![Chunk::Text("ab".into())]))
                .await,
            Ok(2)
        );
        assert_eq!(files.step(1, FileStep::Finish).await, Ok(2));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "ab");
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(
                &std::fs::metadata(&path).unwrap().permissions(),
            );
            assert_eq!(mode & 0o777, 0o600);
        }
        let again = files
            .step(2, FileStep::Create(path.clone()))
            .await
            .unwrap_err();
        assert!(again.contains("was not changed"), "{again}");
        assert!(files.step(2, FileStep::Write(Vec::new())).await.is_err());
        let nowhere = files
            .step(3, FileStep::Create(folder.path().join("no/x")))
            .await
            .unwrap_err();
        assert!(nowhere.contains("no such folder"), "{nowhere}");
    }
}
