//! Reads and writes the file with the open tabs.

use crate::session::saved_tabs::{MAX_BYTES, SavedTabs, TabsFile};
use runtail_core::config::{files, replace_private};
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
    let opened = match files::open(&file.path) {
        Ok(opened) => opened,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(format!("it can't be read: {e}")),
    };
    let read = opened.take(MAX_BYTES as u64 + 1).read_to_string(&mut text);
    read.map_err(|e| format!("it can't be read: {e}"))?;
    if text.len() > MAX_BYTES {
        return Err("it is too large".into());
    }
    SavedTabs::parse(&text).map(Some)
}

/// Writes the file. Writes run on other threads, and the newest tabs must stay.
#[derive(Debug, Clone, Default)]
pub struct TabsWriter(Arc<Mutex<u64>>);

impl TabsWriter {
    /// Writes the tabs with this number, unless newer ones were written.
    ///
    /// # Errors
    /// The system's error.
    pub fn write(&self, path: &Path, number: u64, tabs: &SavedTabs) -> Result<(), String> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if number <= *last {
            return Ok(());
        }
        replace_private(path, tabs.to_text().as_bytes()).map_err(|e| e.to_string())?;
        *last = number;
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
        let file = TabsFile { path: path.clone(), scope: Scope::Profiles };
        assert_eq!(read(&file), Ok(None));
        let (writer, new) = (TabsWriter::default(), |place| SavedTabs::new(Vec::new(), None, place));
        writer.write(&path, 2, &new(SavedPlace::Lists)).unwrap();
        writer.write(&path, 1, &new(SavedPlace::Deployments)).unwrap();
        assert_eq!(read(&file), Ok(Some(new(SavedPlace::Lists))));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
        let names: Vec<_> =
            std::fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["tabs.json"], "no temporary file is left");
    }

    #[test]
    fn a_file_that_is_no_text_or_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = TabsFile { path: folder.path().join("tabs.json"), scope: Scope::Profiles };
        for bytes in [vec![0xff, 0xfe], vec![b' '; MAX_BYTES + 1], Vec::new()] {
            std::fs::write(&file.path, bytes).unwrap();
            assert!(read(&file).is_err());
        }
    }
}
