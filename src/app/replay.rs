//! Recordings in the dashboard: a file is a stream like any other, but that no server stands behind it.

use super::msg::{Effect, ServerRef, StreamTarget};
use super::streams::MAX_TABS;
use super::{App, Pane};
use crate::text::clean;
use std::path::PathBuf;

impl App {
    /// Opens a recording in a tab of its own.
    pub fn open_recording(&mut self, file: PathBuf) {
        let shown = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let name = clean(&shown).into_owned().into();
        let url = clean(&file.to_string_lossy()).into_owned().into();
        let server = ServerRef { profile: "recording".into(), name, url };
        let target = StreamTarget::Recording { file };
        match self.streams.find(&server, &target) {
            Some(at) => self.streams.show(at),
            None if self.streams.make_room() => {
                let viewer = self.new_viewer(server, target);
                self.streams.add(viewer);
            }
            None => {
                let text = format!("{MAX_TABS} streams are open already, and all go on: close one of them first.");
                return self.notify(true, text);
            }
        }
        self.logs = None;
        self.focus = Pane::Stream;
    }

    /// The command.
    pub(super) fn replay_file(&mut self, path: &str) -> Vec<Effect> {
        if path.trim().is_empty() {
            self.notify(true, "replay FILE: which recording is missing.");
            return Vec::new();
        }
        let effects = self.leave_overlays();
        self.open_recording(PathBuf::from(path.trim()));
        effects
    }
}
