//! The file of `--record`: the lines that `-o jsonl` prints, compressed where the name ends in `.gz`. Trouble with it is
//! told once and ends the recording, never the stream.

use super::{Failure, output};
use crate::text;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often a compressed recording is made readable up to its newest line; doing so costs compression.
const SYNC: Duration = Duration::from_secs(1);

/// A recording that is being written.
pub(super) struct Recorder {
    path: PathBuf,
    out: Option<Out>,
    synced: Instant,
}

enum Out {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Recorder {
    /// Opens the file. One that holds something already is left alone.
    pub fn create(path: &Path) -> Result<Recorder, Failure> {
        let shown = text::clean(&path.to_string_lossy()).into_owned();
        let is_full = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
        if is_full {
            return Err(Failure::usage(format!("--record: {shown} is there already and was left alone")));
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true);
        #[cfg(unix)]
        {
            // What was said to an agent is nobody else's business.
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path).map_err(|e| Failure::usage(format!("--record: cannot write {shown}: {e}")))?;
        let file = BufWriter::with_capacity(64 << 10, file);
        let out = match path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
            true => Out::Gzip(Box::new(GzEncoder::new(file, Compression::default()))),
            false => Out::Plain(file),
        };
        Ok(Recorder { path: path.into(), out: Some(out), synced: Instant::now() })
    }

    /// Appends whole lines, and brings them to the file.
    pub fn write(&mut self, lines: &[u8]) {
        let written = match &mut self.out {
            None => return,
            Some(Out::Plain(out)) => out.write_all(lines).and_then(|()| out.flush()),
            Some(Out::Gzip(out)) => out.write_all(lines).and_then(|()| {
                if self.synced.elapsed() < SYNC {
                    return Ok(());
                }
                self.synced = Instant::now();
                out.flush()
            }),
        };
        self.check(written);
    }

    /// Whether it is still being written.
    pub fn is_on(&self) -> bool {
        self.out.is_some()
    }

    /// Completes the file.
    pub fn finish(mut self) {
        let finished = match self.out.take() {
            None => return,
            Some(Out::Plain(mut out)) => out.flush(),
            Some(Out::Gzip(out)) => out.finish().and_then(|mut out| out.flush()),
        };
        self.check(finished);
    }

    fn check(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            let path = self.path.display();
            output::complain(&format!("runtail: the recording {path} ends here, the stream goes on: {error}"));
            self.out = None;
        }
    }
}
