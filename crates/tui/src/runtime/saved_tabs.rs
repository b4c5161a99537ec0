//! Reads and writes the file with the open tabs.

use crate::session::saved_tabs::{MAX_BYTES, SavedTabs, TabsFile};
use runtail_core::config::{files, private_folder, replace_private};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the tabs of the last session; `None` if there is no file.
///
/// # Errors
/// Says why the file can't be used.
pub(super) fn read(file: &TabsFile) -> Result<Option<SavedTabs>, String> {
    let mut text = String::new();
    let unread = |e: std::io::Error| format!("couldn't read it: {e}");
    let opened = match files::open(&file.path) {
        Ok(opened) => opened,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(unread(e)),
    };
    let read = opened.take(MAX_BYTES as u64 + 1).read_to_string(&mut text);
    read.map_err(unread)?;
    if text.len() > MAX_BYTES {
        return Err("too large".into());
    }
    SavedTabs::parse(&text).map(Some)
}

/// Writes the file. Writes run on other threads, and the newest tabs must stay. Only one dashboard keeps its tabs: the first one,
/// until it ends.
#[derive(Debug, Clone, Default)]
pub struct TabsWriter(Arc<Mutex<Writer>>);

#[derive(Debug, Default)]
struct Writer {
    /// The number of the newest tabs that were written.
    last: u64,
    /// The locked file beside the tabs, once this dashboard keeps its own.
    lock: Option<File>,
}

impl Writer {
    /// Becomes the only dashboard that keeps its tabs.
    fn claim(&mut self, path: &Path) -> Result<(), String> {
        if self.lock.is_some() {
            return Ok(());
        }
        // Where there are no locks, as on some network mounts, or the file can't be created, the newest tabs win.
        let Ok(file) = private_lock(&path.with_extension("lock")) else {
            return Ok(());
        };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(format!(
                "another dashboard keeps its tabs in {}",
                path.display()
            ));
        }
        self.lock = Some(file);
        Ok(())
    }
}

fn private_lock(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl TabsWriter {
    /// Becomes the only dashboard that keeps its tabs, unless another one is. Otherwise [`write`](TabsWriter::write) tries again.
    pub fn claim(&self, path: &Path) {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The next write reports the reason.
        let _ = writer.claim(path);
    }

    /// Writes the tabs with this number, unless newer ones were written.
    ///
    /// # Errors
    /// Another dashboard keeps its tabs, or the system's error.
    pub fn write(&self, path: &Path, number: u64, tabs: &SavedTabs) -> Result<(), String> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if number <= writer.last {
            return Ok(());
        }
        writer.claim(path)?;
        replace_private(path, tabs.to_text().as_bytes()).map_err(|e| e.to_string())?;
        writer.last = number;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::saved_tabs::{SavedPlace, Scope};

    #[test]
    fn the_newest_tabs_stay_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/runtail/tabs.json");
        let file = TabsFile {
            path: path.clone(),
            scope: Scope::Profiles,
        };
        assert_eq!(read(&file), Ok(None));
        let (writer, new) = (TabsWriter::default(), |place| {
            SavedTabs::new(Vec::new(), None, place)
        });
        writer.write(&path, 2, &new(SavedPlace::Lists)).unwrap();
        writer
            .write(&path, 1, &new(SavedPlace::Deployments))
            .unwrap();
        assert_eq!(read(&file), Ok(Some(new(SavedPlace::Lists))));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        let names: Vec<_> = std::fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        let names: std::collections::BTreeSet<_> = names.into_iter().collect();
        assert_eq!(
            names,
            ["tabs.json".into(), "tabs.lock".into()].into(),
            "no temporary file is left"
        );
    }

    #[test]
    fn a_second_dashboard_saves_no_tabs_until_the_first_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tabs.json");
        let file = TabsFile {
            path: path.clone(),
            scope: Scope::Profiles,
        };
        let (first, second) = (TabsWriter::default(), TabsWriter::default());
        first.claim(&path);
        second.claim(&path);
        let new = |place| SavedTabs::new(Vec::new(), None, place);
        let why = second.write(&path, 1, &new(SavedPlace::Lists)).unwrap_err();
        assert!(why.contains("another dashboard keeps its tabs in"), "{why}");
        assert_eq!(read(&file), Ok(None));
        first
            .write(&path, 1, &new(SavedPlace::Deployments))
            .unwrap();
        drop(first);
        second.write(&path, 2, &new(SavedPlace::Lists)).unwrap();
        assert_eq!(read(&file), Ok(Some(new(SavedPlace::Lists))));
    }

    #[test]
    fn a_file_that_is_no_text_or_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = TabsFile {
            path: folder.path().join("tabs.json"),
            scope: Scope::Profiles,
        };
        for bytes in [vec![0xff, 0xfe], vec![b' '; MAX_BYTES + 1], Vec::new()] {
            std::fs::write(&file.path, bytes).unwrap();
            assert!(read(&file).is_err());
        }
    }
}
