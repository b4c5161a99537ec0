//! What a test sets before it begins, and what happens to a dashboard without a key.

use super::{Dash, start};
use runtail_core::config::{Config, EventLogLimits, Profile};
use runtail_stream::Seq;
use runtail_tui::app::{App, Overlay, Pane, Settings};
use runtail_tui::input::keymap::Keymap;
use runtail_tui::session::catalog::ProfileOrigin;
use runtail_tui::session::msg::{Described, Effect, Epoch, ServerRef, StreamTarget};
use runtail_tui::session::profile::ProfileState;
use runtail_tui::session::saved_tabs::{SavedTabs, TabsFile};
use std::path::PathBuf;

/// Settings and limits.
impl Dash {
    /// Starts with these profiles in use, of a configuration that is not known yet.
    pub fn of_profiles(profiles: &[Profile], size: (u16, u16)) -> Dash {
        let settings = Settings {
            demo: false,
            ascii: false,
            tz: jiff::tz::TimeZone::UTC,
            event_log: EventLogLimits::default(),
            keys: Default::default(),
            warnings: Vec::new(),
        };
        Dash::of(App::new(profiles, settings, size, start()).0)
    }

    /// Sets the configuration, and what was chosen on the command line.
    pub fn configured(&mut self, config: &Config, origin: ProfileOrigin) {
        let effects = self.app.configured(config, origin);
        self.note_asked(effects);
    }

    /// Sets the file that edits of profiles are written to.
    pub fn set_config_file(&mut self, file: PathBuf) {
        self.app.session.catalog.origin.file = Some(file);
    }

    /// Sets the profiles that were chosen on the command line.
    pub fn set_chosen(&mut self, name: &str) {
        self.app.session.catalog.origin.names = vec![name.into()];
    }

    /// Makes the first profile one that isn't in the file.
    pub fn set_unfiled(&mut self) {
        self.app.session.catalog.all[0].filed = None;
    }

    /// Changes the state of the profiles in use: their names, regions and marks.
    pub fn each_profile(&mut self, change: impl FnMut(&mut ProfileState)) {
        self.app.session.profiles.iter_mut().for_each(change);
    }

    /// Makes all profiles read-only, like `--read-only`.
    pub fn seal(&mut self) {
        // The configuration is read with the flag, and profiles that are changed later get it, too.
        let catalog = &mut self.app.session.catalog;
        catalog.origin.read_only = true;
        catalog
            .all
            .iter_mut()
            .for_each(|known| known.profile.seal(true, false));
        self.each_profile(|profile| profile.read_only = true);
    }

    /// Keeps at most this many events of each stream.
    pub fn keep_events(&mut self, rows: usize) {
        self.kept = rows;
    }

    /// Keeps at most this many bytes of events of each stream.
    pub fn keep_bytes(&mut self, bytes: u64) {
        self.app.session.settings.event_log.max_bytes = bytes;
    }

    /// Keeps at most this many bytes of events of all streams.
    pub fn keep_bytes_in_total(&mut self, bytes: u64) {
        self.app.session.settings.event_log.total = bytes;
    }

    /// Returns the maximum size of a stream's events in bytes.
    pub fn kept_bytes(&self) -> u64 {
        self.app.session.settings.event_log.max_bytes
    }

    /// Draws only ASCII characters.
    pub fn set_ascii(&mut self, ascii: bool) {
        self.app.session.settings.ascii = ascii;
    }

    /// Draws the symbols in ASCII, but not the names of keys, so that everything stays in its cells.
    pub fn set_ascii_symbols(&mut self, ascii: bool) {
        self.has_ascii_symbols = ascii;
    }

    /// Simulates the servers, like `runtail --demo`.
    pub fn set_demo(&mut self) {
        self.app.session.settings.demo = true;
    }

    /// Changes the keys.
    pub fn set_keymap(&mut self, keymap: Keymap) {
        self.app.session.keymap = keymap;
    }

    /// Changes the colors, and returns the name of those before.
    pub fn set_theme(&mut self, theme: &str) -> String {
        std::mem::replace(&mut self.app.session.prefs.theme, theme.into())
    }

    /// Sets the order of the threads.
    pub fn set_threads_order(&mut self, order: &str) {
        self.app.agent.set_order(order);
    }
}

/// What happens without a key.
impl Dash {
    /// Places the parts of the next frame.
    pub fn relayout(&mut self) {
        self.app.relayout();
    }

    /// Ends the frame that was drawn.
    pub fn on_drawn(&mut self) {
        self.app.on_drawn();
    }

    /// Restores the tabs of the last session.
    pub fn restore(
        &mut self,
        file: TabsFile,
        saved: Result<Option<SavedTabs>, String>,
    ) -> Vec<Effect> {
        self.app.restore(file, saved)
    }

    /// Shows a notice, as an answer to a key.
    pub fn notify(&mut self, text: &str) {
        self.app.notify(false, text);
    }

    /// Shows the notice of a failure.
    pub fn notify_error(&mut self, text: &str) {
        self.app.notify(true, text);
    }

    /// Lets the time of the footer's notice pass.
    pub fn end_notice(&mut self) {
        self.app.session.notice_until = None;
    }

    /// Opens the lists of an agent server.
    pub fn open_server_of(&mut self, server: ServerRef) {
        self.app.open_server(server);
    }

    /// Opens a stream of the agent server whose lists are open.
    pub fn open_stream(&mut self, target: StreamTarget) {
        self.app.open_stream(target);
    }

    /// Follows a thread.
    pub fn tail(&mut self, thread: &str) {
        let thread = thread.into();
        self.open_stream(StreamTarget::Tail { thread });
    }

    /// Opens a recording, like `runtail --replay`.
    pub fn open_recording(&mut self, file: PathBuf) {
        self.app.open_recording(file);
    }

    /// Opens the doctor's report on all profiles.
    pub fn open_doctor(&mut self) {
        self.app.open(runtail_tui::session::Route::Doctor(None));
    }

    /// Moves the focus.
    pub fn focus_on(&mut self, pane: Pane) {
        self.app.focus = pane;
    }

    /// Gives the whole screen to the pane with the focus.
    pub fn zoom(&mut self) {
        self.app.zoom = true;
    }

    /// Selects an event.
    pub fn go_to(&mut self, seq: Seq) {
        self.app.viewer_mut().unwrap().go_to(seq);
    }

    /// Goes to an event in time travel.
    pub fn seek_to(&mut self, seq: Seq) {
        self.app.viewer_mut().unwrap().seek_to(seq);
    }

    /// Selects a checkpoint of the Steps view. Returns whether it is listed.
    pub fn go_to_checkpoint(&mut self, id: &str) -> bool {
        self.app.viewer_mut().unwrap().views.steps.go_to(id)
    }

    /// Selects a deployment.
    pub fn select_deployment(&mut self, id: &str) {
        self.app.deployments.list.table.prefer(id.into());
    }

    /// Selects a row of the profiles page.
    #[track_caller]
    pub fn select_profile(&mut self, name: &str) {
        match self.app.overlays.last_mut() {
            Some(Overlay::Profiles(page)) => page.table.prefer(name.into()),
            other => panic!("the page is not open: {other:?}"),
        }
    }

    /// Returns the revisions of the deployment that was read first.
    pub fn first_history(
        &mut self,
    ) -> &mut runtail_tui::features::deployments::revisions::RevisionHistory {
        let histories = &mut self.app.deployments.histories;
        histories.values_mut().next().expect("a history")
    }

    /// Reports that the server may have more lines of a log.
    pub fn log_is_incomplete(&mut self, log: usize) {
        let logs = self.app.logs.as_mut().expect("logs");
        logs.note_incomplete(log, true);
    }

    /// Asks for a record, as if the key was pressed.
    pub fn expect_record(&mut self, what: Described) {
        self.app.pending_record = Some(what);
    }

    /// Ends all recordings, as when the dashboard ends.
    pub fn end_recordings(&mut self) -> Vec<Effect> {
        self.app.end_recordings()
    }

    /// Returns the number of the session. Results of an earlier one are dropped.
    pub fn epoch(&self) -> Epoch {
        self.app.session.epoch
    }

    /// Returns the number of the session of a profile.
    pub fn epoch_of(&self, profile: &str) -> Epoch {
        let mut profiles = self.app.session.profiles.iter();
        let of = profiles.find(|of| &*of.name == profile);
        of.expect("a profile in use").epoch
    }

    /// Returns the number of the newest change or file.
    pub fn newest_change(&self) -> u64 {
        self.app.session.next_change.last()
    }
}
