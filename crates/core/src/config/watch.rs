//! Watches the configuration file by polling, which works for editors that write a new file and rename it, for links, and on
//! every file system.

use super::{Config, ConfigError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::SystemTime;

/// A watched file.
#[derive(Debug)]
pub struct Watch {
    path: PathBuf,
    /// The state of the file when it was last read.
    read: Stamp,
    /// The hash of its text then, because a touched file is not a change.
    digest: Option<u64>,
    /// The last state seen since; a writer may not have finished.
    seen: Option<Stamp>,
}

/// The metadata that identifies a state of the file; none if it doesn't exist.
type Stamp = Option<(Option<SystemTime>, u64, u64)>;

impl Watch {
    /// Starts with the current state. Create it before reading the file, or a change in between is missed.
    pub fn new(path: PathBuf) -> Watch {
        let digest = super::files::read(&path).ok().map(|bytes| digest(&bytes));
        Watch {
            read: stamp(&path),
            path,
            digest,
            seen: None,
        }
    }

    /// The file.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Polls the file, and reads it if it changed and then stayed the same for one poll. Don't call it on an async thread.
    pub fn look(&mut self) -> Option<Result<Box<Config>, ConfigError>> {
        let now = stamp(&self.path);
        if now == self.read {
            self.seen = None;
            return None;
        }
        if self.seen.as_ref() != Some(&now) {
            self.seen = Some(now);
            return None;
        }
        (self.read, self.seen) = (now, None);
        let text = super::files::read(&self.path)
            .ok()
            .map(|bytes| digest(&bytes));
        if text.is_some() && text == self.digest {
            return None;
        }
        self.digest = text;
        Some(Config::read(&self.path).map(Box::new))
    }
}

fn stamp(path: &std::path::Path) -> Stamp {
    let file = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&file);
    #[cfg(not(unix))]
    let inode = 0;
    Some((file.modified().ok(), file.len(), inode))
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[profiles.a]\nregion = \"us\"\n";
    const TWO: &str = "[profiles.a]\nregion = \"us\"\n[profiles.b]\nregion = \"eu\"\n";

    /// Returns the result of two consecutive polls.
    fn poll_twice(watch: &mut Watch) -> Option<Result<usize, String>> {
        let first = watch.look();
        assert!(
            first.is_none(),
            "a change is reported only once the file is stable"
        );
        watch
            .look()
            .map(|read| read.map(|c| c.profiles.len()).map_err(|e| e.to_string()))
    }

    #[test]
    fn watch_reports_changed_broken_and_removed_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let mut watch = Watch::new(path.clone());
        assert_eq!(poll_twice(&mut watch), None, "the file does not exist");
        std::fs::write(&path, ONE).unwrap();
        assert_eq!(poll_twice(&mut watch), Some(Ok(1)));
        assert_eq!(poll_twice(&mut watch), None);
        // Editors replace the file by a new one.
        std::fs::write(folder.path().join("new"), TWO).unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(poll_twice(&mut watch), Some(Ok(2)));
        // The same text in another file.
        std::fs::write(folder.path().join("new"), TWO).unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(poll_twice(&mut watch), None);
        std::fs::write(&path, "[profiles.a]\nregion = \"mars\"\n").unwrap();
        let broken = poll_twice(&mut watch).unwrap().unwrap_err();
        assert!(
            broken.contains("config.toml:2:10: unknown region"),
            "{broken}"
        );
        std::fs::remove_file(&path).unwrap();
        let gone = poll_twice(&mut watch).unwrap().unwrap_err();
        assert!(gone.contains("the file does not exist"), "{gone}");
        std::fs::write(&path, ONE).unwrap();
        assert_eq!(poll_twice(&mut watch), Some(Ok(1)));
    }

    #[test]
    fn watch_waits_until_a_file_stops_changing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, ONE).unwrap();
        let mut watch = Watch::new(path.clone());
        for text in ["", "[profiles", "[profiles.a]\nregion = "] {
            std::fs::write(&path, text).unwrap();
            assert!(watch.look().is_none(), "{text:?}");
        }
        std::fs::write(&path, TWO).unwrap();
        assert_eq!(poll_twice(&mut watch), Some(Ok(2)));
    }
}
