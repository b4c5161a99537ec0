//! The lists of a dashboard under test: profiles, deployments, agent servers and their threads. Tests read its state only through these methods.

use super::Dash;
use runtail_api::ApiError;
use runtail_core::config::Profile;
use runtail_core::model::ThreadFacts;
use runtail_tui::features::deployments::list::Row;
use runtail_tui::session::msg::{RevisionRef, ServerRef};
use runtail_tui::widgets::area::Area;
use std::sync::Arc;

/// Profiles, deployments and agent servers.
impl Dash {
    /// Returns the names of the profiles in use.
    pub fn profiles(&self) -> Vec<&str> {
        let profiles = self.app.session.profiles.iter();
        profiles.map(|profile| &*profile.name).collect()
    }

    /// Returns the profiles in use as they are defined.
    pub fn definitions(&self) -> &[Profile] {
        self.app.session.catalog.in_use()
    }

    /// Returns a known profile as it is defined, used or not.
    #[track_caller]
    pub fn definition(&self, name: &str) -> &Profile {
        let known = self.app.session.catalog.known(name);
        &known.expect("a profile").profile
    }

    /// Returns whether all known profiles are read-only.
    pub fn is_sealed(&self) -> bool {
        let known = &self.app.session.catalog.all;
        known.iter().all(|known| known.profile.is_read_only())
    }

    /// Returns whether changes of profiles are not in the file yet.
    pub fn has_unsaved_profiles(&self) -> bool {
        self.app.session.catalog.is_unsaved()
    }

    /// Returns whether an editor that was closed keeps its text.
    pub fn has_drafts(&self) -> bool {
        !self.app.changes.drafts.is_empty()
    }

    /// Returns whether a profile changes nothing.
    pub fn is_read_only(&self, profile: &str) -> bool {
        self.app.is_read_only(profile)
    }

    /// Returns whether a rejected key has stopped all requests of a profile.
    pub fn is_halted(&self, profile: &str) -> bool {
        let profiles = &self.app.session.profiles;
        profiles.iter().any(|of| &*of.name == profile && of.halted)
    }

    /// Returns the rows of the list of deployments in the order shown.
    pub fn rows(&self) -> Vec<&Row> {
        self.app.deployments.list.all_shown().collect()
    }

    /// Returns the ids of all deployments, shown or not: `prod-us/d2`.
    pub fn deployments(&self) -> Vec<&str> {
        let rows = self.app.deployments.list.rows.iter();
        rows.map(|row| row.id.as_str()).collect()
    }

    /// Returns the id of the selected deployment.
    pub fn selected_deployment(&self) -> Option<&str> {
        self.app.deployments.list.table.selected()
    }

    /// Returns the id of the selected revision.
    pub fn selected_revision(&self) -> Option<&str> {
        self.app.deployments.revision_table.selected()
    }

    /// Returns how many deployments are marked.
    pub fn marked(&self) -> usize {
        self.app.deployments.list.table.marked.len()
    }

    /// Returns the filter of the deployments.
    pub fn deployments_filter(&self) -> &str {
        self.app.deployments.list.filter().text()
    }

    /// Returns the sort of the deployments, and whether it is reversed.
    pub fn sort(&self) -> (&'static str, bool) {
        let sort = self.app.deployments.list.sort();
        (sort.order.word(), sort.reversed)
    }

    /// Returns the frame of the list of deployments, if nothing covers it.
    pub fn list_frame(&self) -> Option<Area> {
        let pane = self.app.regions().deployments?;
        self.dialog()
            .is_none()
            .then(|| pane.frame.unwrap_or(pane.area))
    }

    /// Returns the place of the heading of the first column of the deployments.
    pub fn first_heading(&self) -> (u16, u16) {
        let area = self.app.regions().deployments.unwrap().area;
        (area.x + runtail_tui::widgets::table::GUTTER, area.y)
    }

    /// Returns the id and status of the newest known revision of a deployment.
    pub fn newest_revision(&self, deployment: &str) -> Option<(String, String)> {
        let newest = self.app.deployments.list.row(deployment)?.newest.as_ref()?;
        Some((newest.id.clone(), newest.status.clone()))
    }

    /// Returns how many revisions of the selected deployment are listed, if they were read.
    pub fn revisions(&self) -> Option<usize> {
        Some(self.app.history()?.revisions.len())
    }

    /// Returns the name of each deployment, and the status of its newest revision. Each row has the profile that it names.
    pub fn shown_rows(&self) -> Vec<(Option<String>, Option<String>)> {
        let row = |row: &Row| {
            let profile = self.app.session.profiles.get(row.profile);
            assert_eq!(profile.map(|of| &of.name), Some(&row.profile_name));
            let name = row.deployment.as_ref().map(|_| row.name.clone());
            (
                name,
                row.newest.as_ref().map(|newest| newest.status.clone()),
            )
        };
        self.app.deployments.list.rows.iter().map(row).collect()
    }

    /// Returns the statuses of all revisions that are kept.
    pub fn statuses(&self) -> Vec<String> {
        let histories = self.app.deployments.histories.values();
        let revisions = histories.flat_map(|history| &history.revisions);
        revisions.map(|revision| revision.status.clone()).collect()
    }

    /// Returns the ids of the deployments whose revisions are kept.
    pub fn deployments_with_revisions(&self) -> Vec<&str> {
        let histories = self.app.deployments.histories.keys();
        histories.map(String::as_str).collect()
    }

    /// Returns the revisions that are watched until they end.
    pub fn watches(&self) -> Vec<&RevisionRef> {
        self.app.deployments.watches.keys().collect()
    }

    /// Returns the agent server whose lists are open.
    #[track_caller]
    pub fn server(&self) -> ServerRef {
        let open = self.app.agent.server.as_ref();
        open.expect("an open server").server.clone()
    }

    /// Returns whether the lists of an agent server are open.
    pub fn has_server(&self) -> bool {
        self.app.agent.server.is_some()
    }

    /// Returns the address of the agent server of the selected deployment.
    #[track_caller]
    pub fn selected_server(&self) -> ServerRef {
        let row = self.app.deployments.list.selected().expect("a row");
        row.server(&self.app.session.profiles).expect("a server")
    }

    /// Returns the threads in the order shown.
    pub fn shown_threads(&self) -> &[String] {
        let open = self.app.agent.server.as_ref();
        open.map_or(&[], |open| open.threads.table.ids())
    }

    /// Returns the id of the selected thread.
    pub fn selected_thread(&self) -> Option<String> {
        let open = self.app.agent.server.as_ref()?;
        open.threads.table.selected().map(str::to_string)
    }

    /// Returns the row of the selected thread on the screen.
    pub fn threads_cursor(&self) -> usize {
        let open = self.app.agent.server.as_ref();
        open.expect("an open server").threads.table.cursor()
    }

    /// Returns what the list knows of a thread.
    #[track_caller]
    pub fn facts(&self, thread: &str) -> Arc<ThreadFacts> {
        let open = self.app.agent.server.as_ref().expect("an open server");
        open.threads.row(thread).expect("a row").facts.clone()
    }

    /// Returns whether logs are shown.
    pub fn has_logs(&self) -> bool {
        self.app.logs.is_some()
    }

    /// Returns the id of the selected assistant.
    pub fn selected_assistant(&self) -> Option<&str> {
        let open = self.app.agent.server.as_ref()?;
        open.assistant_table.selected()
    }

    /// Returns the filter of the threads.
    pub fn threads_filter(&self) -> &str {
        let open = self.app.agent.server.as_ref();
        open.map_or("", |open| &open.threads.table.filter)
    }

    /// Returns the order of the threads, if it isn't the usual one.
    pub fn threads_order(&self) -> Option<&'static str> {
        self.app.agent.order_word()
    }

    /// Returns how many threads and runs are marked for a comparison.
    pub fn marked_sides(&self) -> usize {
        self.app.agent.marked_sides().len()
    }

    /// Returns how many rows the inbox has.
    pub fn inbox_rows(&self) -> usize {
        self.app.session.inbox.listing().rows.len()
    }

    /// Returns what failed and what waits in the inbox, in the words of `runtail inbox`.
    pub fn inbox(&self) -> Vec<serde_json::Value> {
        let rows = &self.app.session.inbox.listing().rows;
        rows.iter().map(|row| row.row.to_json()).collect()
    }

    /// Returns the errors of the profiles and their agent servers.
    pub fn errors(&self) -> Vec<&ApiError> {
        let profiles = self.app.session.profiles.iter();
        let infos = self.app.session.infos.values();
        let histories = self.app.deployments.histories.values();
        profiles
            .flat_map(|profile| profile.error.iter().chain(&profile.partial))
            .chain(infos.filter_map(|info| info.error.as_ref()))
            .chain(histories.filter_map(|history| history.error.as_ref()))
            .collect()
    }
}
