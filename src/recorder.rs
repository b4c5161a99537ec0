//! The file of `--record`. An error is reported once and ends the recording, never the stream.

use crate::prelude::*;
use runtail_stream::RecordingFile;
use std::io;

/// An open recording.
pub struct Recorder {
    name: String,
    file: Option<RecordingFile>,
}

impl Recorder {
    /// Opens the file. A file that has content is not overwritten.
    pub fn create(path: &Path) -> Result<Recorder, Failure> {
        let name = text::clean(&path.to_string_lossy()).into_owned();
        match RecordingFile::create(path) {
            Ok(file) => Ok(Recorder {
                name,
                file: Some(file),
            }),
            Err(error) => Err(Failure::of_file("--record: ", &name, &error)),
        }
    }

    /// Appends whole lines and flushes them.
    pub fn write(&mut self, lines: &[u8]) {
        if let Some(file) = &mut self.file {
            let written = file.write(lines);
            self.check(written);
        }
    }

    /// Whether the recording is still open.
    pub fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// Completes the file.
    pub fn finish(mut self) {
        if let Some(file) = self.file.take() {
            self.check(file.finish());
        }
    }

    fn check(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            let name = &self.name;
            output::complain(format!(
                "runtail: the recording {name} ends here; the stream continues: {error}"
            ));
            self.file = None;
        }
    }
}
