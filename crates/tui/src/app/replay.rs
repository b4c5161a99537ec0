//! Recordings in the dashboard: a file is a stream like any other, but that no server stands behind it.

use super::App;
use super::msg::{Effect, ServerRef, StreamTarget};
use runtail_core::text::clean;
use std::path::PathBuf;

impl App {
    /// Opens a recording in a tab of its own.
    pub fn open_recording(&mut self, file: PathBuf) {
        let shown = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let name = clean(&shown).into_owned().into();
        let url = clean(&file.to_string_lossy()).into_owned().into();
        let server = ServerRef { profile: "recording".into(), name, url };
        self.show_stream(server, StreamTarget::Recording { file });
    }

    /// Runs the command: opens a recording, or plays the stream that is shown from its first event.
    pub(super) fn replay(&mut self, path: &str) -> Vec<Effect> {
        let path = path.trim();
        if path.is_empty() && self.viewer().is_none() {
            self.notify(true, "replay FILE: the path of a recording is missing.");
            return Vec::new();
        }
        let effects = self.leave_overlays();
        match self.viewer_mut().filter(|_| path.is_empty()) {
            Some(viewer) => viewer.play_from_start(),
            None => self.open_recording(PathBuf::from(path)),
        }
        effects
    }
}
