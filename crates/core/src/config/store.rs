//! Writing the configuration file: what would change is shown first, and only that is written, as a whole or not at all.

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
    /// The file as it was named.
    pub path: PathBuf,
    /// What it had when it was read; none where it is going to be made.
    before: Option<String>,
    /// What it is going to have.
    after: String,
    /// What was typed.
    typed: Vec<Arc<str>>,
}

/// A line of the difference between what is there and what is going to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// Unchanged lines that are left out, how many.
    Same(usize),
    /// An unchanged line beside a changed one.
    Context(String),
    /// A line that goes.
    Out(String),
    /// A line that comes.
    In(String),
}

/// Unchanged lines that are shown around each change.
const CONTEXT: usize = 2;

impl Draft {
    /// Prepares to define profiles in a file as they were typed, each as [`edit::profile_of`] reads it. Reads the file, so
    /// not for an async task's thread.
    ///
    /// # Errors
    /// The file cannot be read, or is no configuration by itself: nothing is built upon that.
    pub fn new(path: &Path, typed: Vec<Arc<str>>) -> Result<Draft, ConfigError> {
        let before = read(path)?;
        let mut after = before.clone().unwrap_or_default();
        for text in &typed {
            after = edit::with_profile(&after, text).map_err(|mut e| {
                e.path.get_or_insert_with(|| path.to_path_buf());
                e
            })?;
        }
        Ok(Draft { path: path.to_path_buf(), before, after, typed })
    }

    /// What was typed.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        self.typed.iter().map(|text| &**text)
    }

    /// Whether the file is going to be made.
    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// What changes, line by line, cleaned and with what looks like a key masked.
    pub fn diff(&self) -> Vec<DiffLine> {
        diff(self.before.as_deref().unwrap_or_default(), &self.after)
    }

    /// Writes the file: beside it first, then in its place. A link stays a link; a file that is there keeps its rights, a
    /// new one is for its owner alone.
    ///
    /// # Errors
    /// The file is no longer what it was when this was prepared, or the system refuses. Then nothing was changed.
    pub fn write(&self) -> Result<(), ConfigError> {
        let failed = |why: String| {
            let error = ConfigError { path: Some(self.path.clone()), ..ConfigError::new(why) };
            error.hint("nothing was written")
        };
        let system = |e: std::io::Error| failed(format!("cannot be written: {e}"));
        let Some(before) = &self.before else {
            return self.create().map_err(|e| match e.kind() {
                ErrorKind::AlreadyExists => failed("the file was made by somebody else meanwhile".into()),
                _ => system(e),
            });
        };
        // The file itself, not a link to it.
        let target = self.path.canonicalize().map_err(system)?;
        let folder = target.parent().unwrap_or(Path::new("/"));
        let rights = std::fs::metadata(&target).map_err(system)?.permissions();
        // Another file can take its place all the same, which is not what its owner meant.
        if rights.readonly() {
            return Err(failed("the file is read-only".into()));
        }
        let mut beside = tempfile_in(folder).map_err(system)?;
        beside.file.write_all(self.after.as_bytes()).map_err(system)?;
        beside.file.set_permissions(rights).map_err(system)?;
        beside.file.sync_all().map_err(system)?;
        // Another process that saves at the same time would see the old text too, and one of the two changes would be lost.
        // Where there are no locks, as on some network mounts, the comparison alone has to do.
        let locked = files::open(&target).map_err(system)?;
        if let Err(TryLockError::WouldBlock) = locked.try_lock() {
            return Err(failed("another process is changing the file".into()));
        }
        if read(&self.path)?.as_ref() != Some(before) {
            return Err(failed("the file was changed by somebody else meanwhile".into()));
        }
        std::fs::rename(&beside.path, &target).map_err(system)?;
        beside.is_placed = true;
        Ok(())
    }

    fn create(&self) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent().filter(|f| !f.as_os_str().is_empty()) {
            private_folder(folder)?;
        }
        let mut file = private(&self.path)?;
        let written = file.write_all(self.after.as_bytes()).and_then(|()| file.sync_all());
        if written.is_err() {
            // Half a file would be a configuration too. The first failure is the one to be told.
            let _ = std::fs::remove_file(&self.path);
        }
        written
    }
}

/// What is in the file is nobody's business in a log.
impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Draft({})", self.path.display())
    }
}

/// The text of a file; none where there is no such file.
fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |why: String| ConfigError { path: Some(path.to_path_buf()), ..ConfigError::new(why) };
    match super::files::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => match std::fs::read_link(path) {
            Ok(target) => Err(failed(format!("this is a link to {}, which is not there", target.display()))),
            Err(_) => Ok(None),
        },
        Err(e) if e.kind() == ErrorKind::InvalidData => Err(failed("this is not a text file (UTF-8)".into())),
        Err(e) => Err(failed(format!("cannot be read: {e}"))),
    }
}

/// Makes a folder, and those above it that lack, for their owner alone. One that is there stays as it is.
///
/// # Errors
/// What the system says.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new file that only its owner can read.
fn private(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file that takes another's place, or goes again.
struct Beside {
    file: std::fs::File,
    path: PathBuf,
    is_placed: bool,
}

fn tempfile_in(folder: &Path) -> std::io::Result<Beside> {
    let path = folder.join(format!(".runtail-{}-{:08x}.tmp", std::process::id(), fastrand::u32(..)));
    Ok(Beside { file: private(&path)?, path, is_placed: false })
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_placed {
            // There is nobody left to tell; what stays is a file with a telling name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The difference of two texts by lines: the longest common part stays.
fn diff(before: &str, after: &str) -> Vec<DiffLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |a: &mut dyn Iterator<Item = (&&str, &&str)>| a.take_while(|(a, b)| a == b).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    // Lengths of the longest common parts of what is left from here on.
    let mut common = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let shown = |line: &str| super::error::mask(&text::clean(line));
    let mut all: Vec<DiffLine> = old[..head].iter().map(|line| DiffLine::Context(shown(line))).collect();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            all.push(DiffLine::Context(shown(a[i])));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            all.push(DiffLine::Out(shown(a[i])));
            i += 1;
        } else {
            all.push(DiffLine::In(shown(b[j])));
            j += 1;
        }
    }
    all.extend(old[old.len() - tail..].iter().map(|line| DiffLine::Context(shown(line))));
    without_the_rest(all)
}

/// Leaves out what did not change, but for a few lines around each change.
fn without_the_rest(all: Vec<DiffLine>) -> Vec<DiffLine> {
    let changes: Vec<usize> = (0..all.len()).filter(|i| !matches!(all[*i], DiffLine::Context(_))).collect();
    let mut shown = Vec::new();
    let mut left_out = 0;
    for (i, line) in all.into_iter().enumerate() {
        if changes.iter().any(|change| change.abs_diff(i) <= CONTEXT) {
            if left_out > 0 {
                shown.push(DiffLine::Same(std::mem::take(&mut left_out)));
            }
            shown.push(line);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        shown.push(DiffLine::Same(left_out));
    }
    shown
}
