//! Writes a recording to a new file that only the user can access, readable up to its last line even after a crash.

use flate2::Compression;
use flate2::write::GzEncoder;
use runtail_core::config::files;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a compressed recording is flushed. Each flush makes it readable up to its newest line, but costs
/// compression.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// A recording that is being written.
#[derive(Debug)]
pub struct RecordingFile {
    out: Out,
    flushed: Instant,
    bytes: u64,
}

#[derive(Debug)]
enum Out {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl RecordingFile {
    /// Creates the file, compressed if its name ends in `.gz`. An existing device or empty file is reused.
    ///
    /// # Errors
    /// `AlreadyExists` if the file is not empty (it is left unchanged); `ResourceBusy` if another process is recording
    /// to it; other I/O errors.
    pub fn create(path: &Path) -> io::Result<RecordingFile> {
        let file = BufWriter::with_capacity(64 << 10, create_private(path)?);
        let out = match path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("gz"))
        {
            true => Out::Gzip(Box::new(GzEncoder::new(file, Compression::default()))),
            false => Out::Plain(file),
        };
        Ok(RecordingFile {
            out,
            flushed: Instant::now(),
            bytes: 0,
        })
    }

    /// Appends whole lines and flushes them to the file.
    ///
    /// # Errors
    /// I/O errors, such as a full disk. The file stays readable up to its last whole line.
    pub fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.bytes += lines.len() as u64;
        match &mut self.out {
            Out::Plain(out) => out.write_all(lines).and_then(|()| out.flush()),
            Out::Gzip(out) => {
                out.write_all(lines)?;
                if self.flushed.elapsed() < FLUSH_INTERVAL {
                    return Ok(());
                }
                self.flushed = Instant::now();
                out.flush()
            }
        }
    }

    /// Returns the uncompressed size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Completes the file.
    ///
    /// # Errors
    /// I/O errors.
    pub fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Plain(mut out) => out.flush(),
            Out::Gzip(out) => out.finish().and_then(|mut out| out.flush()),
        }
    }
}

/// Creates a file that only the user can read, because conversations with agents are private.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            files::open_with(&options, path)?
        }
        created => created?,
    };
    let metadata = file.metadata()?;
    // A recording is empty until its first lines are written. Without the lock, another process would take it for a new
    // file.
    if metadata.is_file() && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another process is recording to it",
        ));
    }
    // Another process may have written lines before it released the lock.
    let metadata = file.metadata().unwrap_or(metadata);
    if metadata.is_file() && metadata.len() > 0 {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    #[cfg(unix)]
    if metadata.is_file() {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn files_are_new_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        // An empty file may have been created for the recording, with other permissions.
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let mut file = RecordingFile::create(&path).unwrap();
        file.write(b"x\n").unwrap();
        assert_eq!((file.bytes(), mode()), (2, 0o600));
        file.finish().unwrap();
        assert_eq!(
            RecordingFile::create(&path).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"x\n");
        std::fs::remove_file(&path).unwrap();
        RecordingFile::create(&path).unwrap().finish().unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn an_empty_recording_that_is_being_written_is_not_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.jsonl", "a.jsonl.gz"] {
            let path = folder.path().join(name);
            let mut first = RecordingFile::create(&path).unwrap();
            assert_eq!(
                RecordingFile::create(&path).unwrap_err().kind(),
                io::ErrorKind::ResourceBusy
            );
            first.write(b"x\n").unwrap();
            let second = RecordingFile::create(&path).unwrap_err().kind();
            assert!(matches!(
                second,
                io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists
            ));
            first.finish().unwrap();
            assert_eq!(
                RecordingFile::create(&path).unwrap_err().kind(),
                io::ErrorKind::AlreadyExists
            );
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_reported() {
        let full = Path::new("/dev/full");
        assert!(RecordingFile::create(full).unwrap().write(b"x\n").is_err());
        let mut packed = RecordingFile {
            flushed: Instant::now(),
            ..RecordingFile::create(full).unwrap()
        };
        packed.out = match packed.out {
            Out::Plain(file) => Out::Gzip(Box::new(GzEncoder::new(file, Compression::fast()))),
            gzip => gzip,
        };
        packed.write(b"x\n").unwrap();
        assert!(packed.finish().is_err());
    }
}
