//! Writes the configuration file: the diff is shown first, and exactly that is written, atomically.

use super::{ConfigError, edit, files};
use crate::text;
use std::fmt;
use std::fs::{OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A change to the file that can be shown and then written.
#[derive(Clone, PartialEq)]
pub struct Draft {
    /// The path as given.
    pub path: PathBuf,
    /// Its text when it was read; none for a new file.
    before: Option<String>,
    /// Its new text.
    after: String,
    /// The new profiles.
    typed: Vec<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// Number of hidden unchanged lines.
    Same(usize),
    /// An unchanged line before them.
    Context(String),
    /// An added line.
    In(String),
}

/// Number of unchanged lines before the new ones.
const CONTEXT: usize = 2;

impl Draft {
    /// Prepares the file with the texts of new profiles appended. Reads the file, so don't call it on an async thread.
    ///
    /// # Errors
    /// The file can't be read, or is not a valid configuration.
    pub fn new(path: &Path, typed: Vec<Arc<str>>) -> Result<Draft, ConfigError> {
        Draft::of(path.to_path_buf(), read(path)?, typed)
    }

    fn of(
        path: PathBuf,
        before: Option<String>,
        typed: Vec<Arc<str>>,
    ) -> Result<Draft, ConfigError> {
        match edit::with_profiles(before.as_deref().unwrap_or_default(), &typed) {
            Ok(after) => Ok(Draft {
                path,
                before,
                after,
                typed,
            }),
            Err(error) => Err(ConfigError {
                path: error.path.or(Some(path)),
                ..error
            }),
        }
    }

    /// Returns the draft with only these of the profiles.
    ///
    /// # Errors
    /// The text would not be a valid configuration.
    pub fn with_only(&self, typed: Vec<Arc<str>>) -> Result<Draft, ConfigError> {
        Draft::of(self.path.clone(), self.before.clone(), typed)
    }

    /// The new profiles.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        self.typed.iter().map(|text| &**text)
    }

    /// Whether the file is new.
    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Returns the last lines of the file and the new ones, sanitized and with keys masked.
    pub fn diff(&self) -> Vec<DiffLine> {
        let shown = |line: &str| super::error::mask(&text::clean(line));
        let old = self.before.as_deref().unwrap_or_default().lines().count();
        let hidden = old.saturating_sub(CONTEXT);
        let lines = self.after.lines().map(shown).enumerate().skip(hidden);
        let lines = lines.map(|(n, line)| match n < old {
            true => DiffLine::Context(line),
            false => DiffLine::In(line),
        });
        let same = (hidden > 0).then_some(DiffLine::Same(hidden));
        same.into_iter().chain(lines).collect()
    }

    /// Writes the file atomically through a temporary file beside it. A link stays a link; an existing file keeps its
    /// permissions, a new one is readable by its owner only.
    ///
    /// # Errors
    /// The file has changed since it was prepared, or the system's error. Nothing was written.
    pub fn write(&self) -> Result<(), ConfigError> {
        let failed = |why: String| {
            let error = ConfigError {
                path: Some(self.path.clone()),
                ..ConfigError::new(why)
            };
            error.hint("nothing was written")
        };
        let system = |e: std::io::Error| failed(format!("cannot be written: {e}"));
        let Some(before) = &self.before else {
            return create_private(&self.path, self.after.as_bytes()).map_err(|e| match e.kind() {
                ErrorKind::AlreadyExists => {
                    failed("the file was created by another program".into())
                }
                _ => system(e),
            });
        };
        // The file itself, not a link to it.
        let target = self.path.canonicalize().map_err(system)?;
        let folder = target.parent().unwrap_or(Path::new("/"));
        let rights = std::fs::metadata(&target).map_err(system)?.permissions();
        // Replacing it would be possible, but its owner doesn't want that.
        if rights.readonly() {
            return Err(failed("the file is read-only".into()));
        }
        let mut beside = tempfile_in(folder).map_err(system)?;
        beside
            .file
            .write_all(self.after.as_bytes())
            .map_err(system)?;
        beside.file.set_permissions(rights).map_err(system)?;
        beside.file.sync_all().map_err(system)?;
        // Another process that saves at the same time would see the old text too, and one change would be lost.
        // Without locks, as on some network mounts, the comparison has to be enough.
        let locked = files::open(&target).map_err(system)?;
        if let Err(TryLockError::WouldBlock) = locked.try_lock() {
            return Err(failed("another process is changing the file".into()));
        }
        if read(&self.path)?.as_ref() != Some(before) {
            return Err(failed("the file was changed by another program".into()));
        }
        std::fs::rename(&beside.path, &target).map_err(system)?;
        beside.is_placed = true;
        Ok(())
    }
}

/// Without the text of the file, which doesn't belong in a log.
impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Draft({})", self.path.display())
    }
}

/// Returns the text of a file; none if it doesn't exist.
fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |why: String| ConfigError {
        path: Some(path.to_path_buf()),
        ..ConfigError::new(why)
    };
    match super::files::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => match std::fs::read_link(path) {
            Ok(target) => Err(failed(format!(
                "this is a link to {}, which does not exist",
                target.display()
            ))),
            Err(_) => Ok(None),
        },
        Err(e) if e.kind() == ErrorKind::InvalidData => {
            Err(failed("this is not a text file (UTF-8)".into()))
        }
        Err(e) => Err(failed(format!("can't be read: {e}"))),
    }
}

/// Creates a folder and its missing parents, accessible by their owner only. An existing folder is unchanged.
///
/// # Errors
/// The system's error.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a new file that only its owner can read. Creates its folder.
///
/// # Errors
/// The system's error: the file exists, for example.
pub fn create_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        private_folder(folder)?;
    }
    let mut file = private(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a file would be a valid configuration too. Report the first error.
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Writes a file that only its owner can read, atomically. Creates its folder.
///
/// # Errors
/// The system's error. An earlier file is unchanged then.
pub fn replace_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path
        .parent()
        .filter(|f| !f.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    private_folder(folder)?;
    let mut beside = tempfile_in(folder)?;
    beside.file.write_all(bytes)?;
    beside.file.sync_all()?;
    std::fs::rename(&beside.path, path)?;
    beside.is_placed = true;
    Ok(())
}

/// Creates a file that only its owner can read.
fn private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A temporary file that replaces another one, or is removed.
struct Beside {
    file: std::fs::File,
    path: PathBuf,
    is_placed: bool,
}

fn tempfile_in(folder: &Path) -> std::io::Result<Beside> {
    let path = folder.join(format!(
        ".runtail-{}-{:08x}.tmp",
        std::process::id(),
        fastrand::u32(..)
    ));
    Ok(Beside {
        file: private(&path)?,
        path,
        is_placed: false,
    })
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_placed {
            // The error can't be reported; the remaining file has a descriptive name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
