//! What a user sees of a dashboard under test. Tests read its state only through these methods.

use super::Dash;
use runtail_api::ApiError;
use runtail_core::config::{Mouse, Profile, Timestamps};
use runtail_core::model::ThreadFacts;
use runtail_stream::projection::Role;
use runtail_stream::{Event, Record, Seq};
use runtail_tui::app::hints::hints;
use runtail_tui::app::{App, Overlay, Pane, subscriptions};
use runtail_tui::features::changes::confirm::Confirm;
use runtail_tui::features::changes::editor::Editor;
use runtail_tui::features::deployments::list::Row;
use runtail_tui::features::palette::Completion;
use runtail_tui::features::stream::export::{Format, Part};
use runtail_tui::features::stream::viewer::{Playhead, View, Viewer};
use runtail_tui::input::action::Context;
use runtail_tui::input::help::{HelpItem, Place, help_groups};
use runtail_tui::input::key::Key;
use runtail_tui::session::Lookup;
use runtail_tui::session::msg::{RevisionRef, ServerRef, StreamTarget, Subscription};
use runtail_tui::session::saved_tabs::SavedTabs;
use runtail_tui::widgets::area::Area;
use runtail_tui::widgets::line::Line;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Declares the pages and dialogs that cover the panes.
macro_rules! dialogs {
    ($($name:ident)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Dialog { $($name,)* }

        impl Dialog {
            fn of(overlay: &Overlay) -> Dialog {
                match overlay { $(Overlay::$name(_) => Dialog::$name,)* }
            }
        }
    };
}

dialogs! {
    Help Keys Messages Inspect Compose Edit Confirm Bulk BulkAnswer Journal Entry Explain Doctor Answer Why Bisect Modes
    Command Profiles Save FirstRun Browse SignIn Records Inbox Glance Graph Compare
}

/// A stream in a tab.
#[derive(Debug, Clone)]
pub struct Tab {
    /// The streams are numbered in the order in which they are opened.
    pub id: u64,
    pub server: ServerRef,
    pub target: StreamTarget,
    pub thread: Option<String>,
    pub view: View,
    /// The view beside it, if the stream is split.
    pub beside: Option<View>,
    /// The selected event; `None` at the newest one.
    pub position: Option<Seq>,
    pub is_searched: bool,
}

/// Dialogs, notices and the rest of the screen.
impl Dash {
    /// Returns the dialogs and pages over the panes, bottom first.
    pub fn dialogs(&self) -> Vec<Dialog> {
        self.app.overlays.iter().map(Dialog::of).collect()
    }

    /// Returns the dialog or page that takes the keys.
    pub fn dialog(&self) -> Option<Dialog> {
        self.app.overlays.last().map(Dialog::of)
    }

    /// Returns whether this dialog or page takes the keys.
    pub fn has_dialog(&self, dialog: Dialog) -> bool {
        self.dialog() == Some(dialog)
    }

    /// Returns whether a filter or search is being typed in the footer.
    pub fn is_typing(&self) -> bool {
        self.app.prompt.is_some()
    }

    /// Returns whether the screen is frozen.
    pub fn is_frozen(&self) -> bool {
        self.app.frozen
    }

    /// Returns whether the dashboard has ended.
    pub fn has_ended(&self) -> bool {
        self.app.quit
    }

    /// Returns the pane with the focus.
    pub fn focus(&self) -> Pane {
        self.app.focus
    }

    /// Returns the columns and rows of the terminal.
    pub fn size(&self) -> (u16, u16) {
        self.app.session.size
    }

    /// Returns the text of all notices so far, as on the page of notices.
    pub fn notices(&self) -> Vec<&str> {
        let notices = self.app.session.notices.iter();
        notices.map(|notice| notice.text.as_str()).collect()
    }

    /// Returns the text of the newest notice.
    pub fn newest_notice(&self) -> &str {
        let newest = self.app.session.notices.last();
        newest.map_or("", |notice| &notice.text)
    }

    /// Returns whether the newest notice is an error.
    pub fn is_error_noticed(&self) -> bool {
        self.app
            .session
            .notices
            .last()
            .is_some_and(|notice| notice.error)
    }

    /// Returns the notice that the footer shows now.
    pub fn shown_notice(&self) -> Option<&str> {
        self.app.notice().map(|notice| notice.text.as_str())
    }

    /// Returns the keys and labels in the footer.
    pub fn hints(&self) -> Vec<(String, &'static str)> {
        hints(&self.app)
    }

    /// Returns the screen that the keys belong to, and the lines of its help.
    pub fn help(&self) -> (Context, Vec<HelpItem>) {
        let context = self.app.page_context();
        let place = Place {
            context,
            view: self.app.shown_view(),
            works: &|row| self.app.works(row),
        };
        let groups = help_groups(&self.app.session.keymap, place, false);
        let items = groups.into_iter().flat_map(|group| group.items);
        (context, items.collect())
    }

    /// Returns whether a key has an action there.
    pub fn has_action(&self, context: Context, key: Key) -> bool {
        self.app.session.keymap.action(context, key).is_some()
    }

    /// Returns the name of the colors on the screen.
    pub fn theme(&self) -> &str {
        self.app.session.prefs.theme()
    }

    /// Returns whether long lines are wrapped.
    pub fn wraps(&self) -> bool {
        self.app.session.prefs.wrap
    }

    /// Returns how times are shown.
    pub fn timestamps(&self) -> Timestamps {
        self.app.session.prefs.timestamps
    }

    /// Returns whether the mouse is used.
    pub fn mouse(&self) -> Mouse {
        self.app.session.prefs.mouse
    }

    /// Returns whether clicks are for the dashboard now, not for the terminal.
    pub fn uses_mouse(&self) -> bool {
        self.app.uses_mouse()
    }

    /// Returns when the screen changes by itself.
    pub fn next_tick(&self) -> Option<Duration> {
        self.app.next_tick()
    }

    /// Returns everything the dashboard keeps, to search it for secrets.
    pub fn all_that_is_kept(&self) -> String {
        format!("{:?}", self.app)
    }

    /// Returns what is read from servers now.
    pub fn subscriptions(&self) -> Vec<Subscription> {
        subscriptions(&self.app)
    }
}

/// The command line and the dialogs.
impl Dash {
    /// Returns the lines that the command line offers for a text.
    pub fn offers(&self, text: &str) -> Vec<Completion> {
        self.app.offers(text)
    }

    /// Returns why the command line offers nothing for a text.
    pub fn no_completion(&self, text: &str) -> String {
        self.app.no_completion(text)
    }

    /// Returns the commands that open a page, with their help.
    pub fn screens(&self) -> &'static [(&'static str, &'static str)] {
        self.app.screens()
    }

    /// Returns the text of the open command line.
    #[track_caller]
    pub fn command_line(&self) -> String {
        match self.app.overlays.last() {
            Some(Overlay::Command(palette)) => palette.text(),
            other => panic!("the command line is closed: {other:?}"),
        }
    }

    /// Returns the open editor.
    #[track_caller]
    pub fn editor(&self) -> &Editor {
        match self.app.overlays.last() {
            Some(Overlay::Edit(editor)) => editor,
            other => panic!("no editor is open: {other:?}"),
        }
    }

    /// Returns the text in the open editor.
    #[track_caller]
    pub fn document(&self) -> String {
        self.editor().text.text()
    }

    /// Returns the open preview of a change.
    pub fn preview(&self) -> Option<&Confirm> {
        match self.app.overlays.last() {
            Some(Overlay::Confirm(confirm)) => Some(confirm),
            _ => None,
        }
    }

    /// Returns whether an answer to a question is being written.
    pub fn is_answering(&self) -> bool {
        use runtail_tui::features::thread::answer::AnswerStage;
        matches!(self.app.overlays.last(), Some(Overlay::Answer(card)) if card.stage == AnswerStage::Editing)
    }

    /// Returns whether the open page offers to sign in.
    pub fn is_ready_to_sign_in(&self) -> bool {
        use runtail_tui::features::resources::sign_in::Stage;
        matches!(self.app.overlays.last(), Some(Overlay::SignIn(page)) if matches!(page.stage, Stage::Ready))
    }

    /// Returns the stream modes that are chosen for the run in the composer.
    #[track_caller]
    pub fn composed_modes(&self) -> Vec<String> {
        match self.app.overlays.last() {
            Some(Overlay::Compose(composer)) => composer.options.chosen_modes(),
            other => panic!("the composer is closed: {other:?}"),
        }
    }

    /// Returns the revision whose page is open.
    pub fn explained_revision(&self) -> Option<RevisionRef> {
        let of = |overlay: &Overlay| match overlay {
            Overlay::Explain(explained) => Some(explained.page.of.clone()),
            _ => None,
        };
        self.app.overlays.iter().rev().find_map(of)
    }

    /// Returns the selected row of the profiles page.
    #[track_caller]
    pub fn selected_profile(&self) -> Option<&str> {
        match self.app.overlays.last() {
            Some(Overlay::Profiles(page)) => page.selection.selected.as_deref(),
            other => panic!("the page is not open: {other:?}"),
        }
    }
}

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
        self.app.deployments.list.selection.selected.as_deref()
    }

    /// Returns the id of the selected revision.
    pub fn selected_revision(&self) -> Option<&str> {
        self.app.deployments.revision_selection.selected.as_deref()
    }

    /// Returns how many deployments are marked.
    pub fn marked(&self) -> usize {
        self.app.deployments.list.marked.len()
    }

    /// Returns the filter of the deployments.
    pub fn deployments_filter(&self) -> &str {
        self.app.deployments.list.filter().text()
    }

    /// Returns by what the deployments are sorted, and whether that is reversed.
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
        (area.x + self.app.columns()[0].x, area.y)
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
        open.map_or(&[], |open| open.threads.shown())
    }

    /// Returns the id of the selected thread.
    pub fn selected_thread(&self) -> Option<String> {
        let open = self.app.agent.server.as_ref()?;
        open.thread_selection.selected.clone()
    }

    /// Returns the row of the selected thread on the screen.
    pub fn threads_cursor(&self) -> usize {
        let open = self.app.agent.server.as_ref();
        open.expect("an open server").thread_selection.cursor()
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
        open.assistant_selection.selected.as_deref()
    }

    /// Returns the filter of the threads.
    pub fn threads_filter(&self) -> &str {
        let open = self.app.agent.server.as_ref();
        open.map_or("", |open| &open.threads.text)
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
        self.app.inbox.listing().rows.len()
    }

    /// Returns what failed and what waits in the inbox, in the words of `runtail inbox`.
    pub fn inbox(&self) -> Vec<serde_json::Value> {
        let rows = &self.app.inbox.listing().rows;
        rows.iter().map(|row| row.row.to_json()).collect()
    }

    /// Returns the errors of the profiles and their agent servers.
    pub fn errors(&self) -> Vec<&ApiError> {
        let profiles = self.app.session.profiles.iter();
        let infos = self.app.agent.infos.values();
        let histories = self.app.deployments.histories.values();
        profiles
            .flat_map(|profile| profile.error.iter().chain(&profile.partial))
            .chain(infos.filter_map(|info| info.error.as_ref()))
            .chain(histories.filter_map(|history| history.error.as_ref()))
            .collect()
    }
}

/// The streams.
impl Dash {
    #[track_caller]
    pub(super) fn viewer(&self) -> &Viewer {
        self.app.viewer().expect("no stream is shown")
    }

    /// Returns whether a stream is shown.
    pub fn has_stream(&self) -> bool {
        self.app.viewer().is_some()
    }

    /// Returns the number of the shown stream.
    pub fn stream(&self) -> Option<u64> {
        self.app.viewer().map(|viewer| viewer.id)
    }

    /// Returns the streams in their order.
    pub fn tabs(&self) -> Vec<Tab> {
        let tab = |viewer: &Viewer| Tab {
            id: viewer.id,
            server: viewer.server.clone(),
            target: viewer.target.clone(),
            thread: viewer.thread_id.clone(),
            view: viewer.view(),
            beside: viewer.split.then(|| viewer.partner()),
            position: viewer.anchor(),
            is_searched: !viewer.finding().pattern.is_empty(),
        };
        self.app.stream.tabs.all().iter().map(tab).collect()
    }

    /// Returns the place of the shown tab.
    pub fn tab(&self) -> Option<usize> {
        self.app.stream.tabs.at()
    }

    /// Returns the shown stream.
    #[track_caller]
    pub fn page(&self) -> Tab {
        let mut tabs = self.tabs().into_iter();
        let shown = tabs.find(|tab| Some(tab.id) == self.stream());
        shown.expect("no stream is shown")
    }

    /// Returns whether two streams are side by side.
    pub fn has_two_streams(&self) -> bool {
        self.app.stream.tabs.partner().is_some()
    }

    /// Returns the thread of the stream beside the shown one.
    pub fn thread_beside(&self) -> Option<String> {
        let at = self.app.stream.tabs.partner()?;
        self.tabs().swap_remove(at).thread
    }

    /// Returns the thread of the shown stream.
    #[track_caller]
    pub fn thread_id(&self) -> Option<&str> {
        self.viewer().thread_id.as_deref()
    }

    /// Returns the view of the shown stream.
    #[track_caller]
    pub fn view(&self) -> View {
        self.viewer().view()
    }

    /// Returns the views on the screen, from left to right.
    #[track_caller]
    pub fn views(&self) -> Vec<View> {
        let shown = self.viewer().shown();
        shown.into_iter().map(|(view, _)| view).collect()
    }

    /// Returns the event that was selected last; `None` before that and at the end.
    #[track_caller]
    pub fn position(&self) -> Option<Seq> {
        self.viewer().anchor()
    }

    /// Returns the event in the row under the cursor.
    #[track_caller]
    pub fn event_under_cursor(&self) -> Option<Seq> {
        self.viewer().event_under_cursor().map(|event| event.seq)
    }

    /// Returns whether the cursor follows the newest event.
    #[track_caller]
    pub fn follows(&self) -> bool {
        self.viewer().follows()
    }

    /// Returns the position in time travel; `None` in the present.
    #[track_caller]
    pub fn playhead(&self) -> Option<Playhead> {
        self.viewer().playhead()
    }

    /// Returns the oldest and the newest position of time travel.
    #[track_caller]
    pub fn span(&self) -> (Seq, Seq) {
        self.viewer().span()
    }

    /// Returns the events that are kept, up to the position in time travel.
    #[track_caller]
    pub fn events(&self) -> Vec<Event> {
        self.viewer().event_log.iter_from(Seq(0)).collect()
    }

    /// Returns the records of connections, with the number of the event before each.
    #[track_caller]
    pub fn connections(&self) -> Vec<(Seq, Record)> {
        let marks = self.viewer().event_log.marks().iter();
        marks
            .map(|mark| (mark.after, mark.record.clone()))
            .collect()
    }

    /// Returns the number of the newest event received.
    #[track_caller]
    pub fn newest_event(&self) -> Seq {
        self.viewer().live_log().newest_seq()
    }

    /// Returns how many events the shown position has received.
    #[track_caller]
    pub fn received(&self) -> u64 {
        self.viewer().projections.delivery.received
    }

    /// Returns the id of the newest run.
    #[track_caller]
    pub fn newest_run(&self) -> String {
        let runs = self.viewer().projections.status.runs();
        let newest = runs.last().and_then(|run| run.run_id.clone());
        newest.expect("a run").to_string()
    }

    /// Returns how many questions wait for an answer.
    #[track_caller]
    pub fn questions(&self) -> usize {
        self.viewer().questions().len()
    }

    /// Returns who wrote the messages.
    #[track_caller]
    pub fn roles(&self) -> Vec<Role> {
        let messages = self.viewer().projections.messages.items().iter();
        messages.map(|message| message.role.clone()).collect()
    }

    /// Returns how many entries a view has.
    #[track_caller]
    pub fn count(&self, view: View) -> u64 {
        self.viewer().count(view)
    }

    /// Returns the lines of a view in its part of the screen, and whether each is selected.
    #[track_caller]
    pub fn lines(&self, view: View) -> Vec<(String, bool)> {
        let text = |line: &Line| -> String {
            let pieces = line.left.iter().chain(&line.right);
            pieces.map(|piece| piece.text.as_str()).collect()
        };
        let window = self.viewer().window(view);
        window.iter().map(|(line, at)| (text(line), *at)).collect()
    }

    /// Returns how many lines of a view have a mark.
    #[track_caller]
    pub fn marks(&self, view: View) -> usize {
        let marked = self.viewer().marked(view);
        marked.iter().filter(|marked| **marked).count()
    }

    /// Returns how many entries of the shown view the filter hides.
    #[track_caller]
    pub fn hidden(&self) -> Option<u64> {
        self.viewer().hidden().map(|(hidden, ..)| hidden)
    }

    /// Returns whether a search or filter is still reading entries.
    #[track_caller]
    pub fn is_searching(&self) -> bool {
        self.viewer().finding().is_scanning()
    }

    /// Returns the event of the state that the State view shows.
    #[track_caller]
    pub fn shown_state(&self) -> Option<Seq> {
        let viewer = self.viewer();
        Some(viewer.snapshot_at(viewer.snapshot?)?.seq)
    }

    /// Returns the records of a view as `:export jsonl` writes them, in parts.
    #[track_caller]
    pub fn exported(&self, view: View) -> Vec<Record> {
        use runtail_tui::session::msg::Chunk;
        let viewer = self.viewer();
        let (mut next, end) = viewer.export_range(view, Format::Jsonl);
        let (mut after, mut part) = (Seq(0), Part::default());
        let mut all = Vec::new();
        loop {
            let before = next;
            (next, after) = viewer.export_part(view, Format::Jsonl, (next, end), after, &mut part);
            let chunks = std::mem::take(&mut part).chunks.into_iter();
            all.extend(chunks.filter_map(|chunk| match chunk {
                Chunk::Record(record) => Some(*record),
                _ => None,
            }));
            if next >= end {
                return all;
            }
            assert!(next > before, "each part advances");
        }
    }

    /// Returns the checkpoint under the cursor of the History view.
    #[track_caller]
    pub fn checkpoint(&self) -> Option<&str> {
        self.viewer().history.id_under_cursor()
    }

    /// Returns the checkpoint whose state the page shows instead of the newest one.
    pub fn shown_checkpoint(&self) -> Option<&str> {
        Some(&*self.app.viewer()?.shown_checkpoint()?.id)
    }

    /// Returns whether the records of the thread are read again.
    #[track_caller]
    pub fn is_read_again(&self) -> bool {
        self.viewer().refreshes > 0
    }

    /// Returns the stream modes that are chosen for the shown stream.
    #[track_caller]
    pub fn modes(&self) -> Vec<String> {
        self.viewer().modes.wanted.clone()
    }

    /// Returns about how many bytes the shown stream uses, and of these its history.
    #[track_caller]
    pub fn bytes(&self) -> (usize, usize) {
        let viewer = self.viewer();
        (viewer.bytes(), viewer.history.bytes())
    }

    /// Returns the recordings that are not complete yet.
    pub fn unfinished_files(&self) -> Vec<PathBuf> {
        self.app.unfinished_files()
    }

    /// Returns the tabs to save when the dashboard ends, unless they are saved already.
    pub fn tabs_at_end(&mut self) -> Option<SavedTabs> {
        self.app.tabs_at_end().map(|(_, _, tabs)| tabs)
    }

    /// Checks what holds for the streams at any time.
    #[track_caller]
    pub fn check_streams(&self) {
        use runtail_tui::features::stream::tabs::MAX_TABS;
        let streams = &self.app.stream.tabs;
        assert!(streams.all().len() <= MAX_TABS);
        assert!(streams.at().is_none_or(|at| at < streams.all().len()));
        assert_eq!(streams.shown().map(|viewer| viewer.id), self.stream());
        for viewer in streams.all() {
            let shown = viewer.shown();
            // A split view that is zoomed shows one half.
            let halves = 1..=1 + usize::from(viewer.is_split());
            assert!(halves.contains(&shown.len()), "{shown:?}");
            let of_view = shown.iter().filter(|(view, _)| *view == viewer.view());
            assert!(
                of_view.eq(shown.iter().filter(|(_, focused)| *focused)),
                "{shown:?}"
            );
            let focused = shown.iter().filter(|(_, focused)| *focused).count();
            assert_eq!(focused, 1, "{shown:?}");
            let anchor = viewer.anchor();
            let last = viewer.event_log.last_seq();
            assert!(anchor.is_none_or(|at| at <= last), "{anchor:?}");
        }
        // The raw view's cursor is on its anchor, or on the oldest event if the anchor was evicted.
        // Only a pane that is shown is laid out.
        let (w, h) = self.size();
        let App { focus, frozen, .. } = &self.app;
        let is_seen =
            self.dialog().is_none() && !frozen && *focus == Pane::Stream && w >= 60 && h >= 12;
        if let Some(viewer) = self.app.viewer().filter(|_| is_seen)
            && viewer.finding().filter.is_empty()
            && let (View::Raw, Some(at), Some(first)) =
                (viewer.view(), viewer.anchor(), viewer.event_log.first_seq())
        {
            assert_eq!(self.event_under_cursor(), Some(at.max(first)));
        }
    }
}
