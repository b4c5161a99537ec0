//! Applies the requests of features.

use super::{App, Overlay, Pane};
use crate::features::agent::state::Tab;
use crate::features::stream::viewer::Viewer;
use crate::input::action::Context;
use crate::session::msg::{Effect, ThreadRef};
use crate::session::request::{Pref, StreamCommand};
use crate::session::{ComponentId, Request, Requests, Route};
use runtail_api::{ThreadIntent, ThreadLabel};
use std::path::PathBuf;

/// The streams, which run commands also while another page covers them.
pub(super) const STREAM: ComponentId = ComponentId::Pane(Context::Stream);
/// The lists of the open agent server.
pub(super) const SERVER: ComponentId = ComponentId::Pane(Context::Server);

impl App {
    /// Applies the requests of the component with the focus.
    pub(super) fn apply(&mut self, requests: Requests) -> Vec<Effect> {
        self.apply_of(self.focus_id(), requests)
    }

    /// Applies requests in order. Returns the effects to run. Their results go back to `from`.
    pub(super) fn apply_of(&mut self, from: ComponentId, requests: Requests) -> Vec<Effect> {
        requests
            .into_iter()
            .flat_map(|request| self.apply_one(from, request))
            .collect()
    }

    /// Plans a new name for the thread of the shown page, else for the selected one of the list.
    fn name_thread(&mut self, name: String) -> Vec<Effect> {
        let Some(ThreadRef { server, id: thread }) = self.shown_or_selected_thread() else {
            return Vec::new();
        };
        let label = ThreadLabel {
            name: Some(name),
            starred: None,
        };
        self.open(Route::on_thread(
            server,
            ThreadIntent::Label { thread, label },
        ))
    }

    /// Returns the thread of the shown stream, else the selected one. Notifies if there is none.
    fn shown_or_selected_thread(&mut self) -> Option<ThreadRef> {
        let shown = self.viewer().and_then(Viewer::thread);
        let selected = || -> Option<ThreadRef> {
            let server = self.agent.server.as_ref()?;
            Some(ThreadRef {
                server: server.server.clone(),
                id: server.threads.table.selected()?.to_string(),
            })
        };
        let found = shown.or_else(selected);
        if found.is_none() {
            self.notify(true, "No thread is selected.");
        }
        found
    }

    fn apply_one(&mut self, from: ComponentId, request: Request) -> Vec<Effect> {
        match request {
            Request::Effect(effect) => {
                if let Effect::Send(number, _, Some(thread)) | Effect::StartRun(number, thread, _) =
                    &effect
                {
                    self.thread
                        .on_sent(*number, thread.clone(), self.session.now);
                }
                return vec![effect.to(from)];
            }
            Request::Notify(error, text) => self.notify(error, text),
            Request::Open(route) => return self.open(route),
            Request::Close => self.close(from),
            Request::AdjustClocks => {
                if let Some(logs) = &mut self.logs {
                    logs.adjust_clocks(&self.session);
                }
            }
            Request::Quit => self.quit = true,
            Request::Go(to) => return self.go(to),
            Request::Do(context, action) => return self.handle_action(context, action),
            Request::Run(id) => return self.run_action(id),
            Request::Line(line) => return self.run_line(&line),
            Request::Change(action) => {
                let requests =
                    self.deployments
                        .change(&self.session, action, self.focus == Pane::Revisions);
                return self.apply(requests);
            }
            Request::Stream(command) => return self.run_stream_command(command),
            Request::SetModes(stream, modes) => {
                let requests = self.stream.set_modes(&self.session, stream, modes);
                return self.apply_of(STREAM, requests);
            }
            Request::NoteCancelling(thread, run) => self.note_cancelling(&thread, run.as_deref()),
            Request::NothingToDo(server, intent, why) => {
                let why = self.where_to_end(&server, &intent).unwrap_or(why);
                self.notify(false, why);
            }
            Request::Reread => return self.reread_page(),
            Request::LeaveStream(thread) => {
                // Select the thread in the list that is shown again.
                if let (Some(server), Some(thread)) = (&mut self.agent.server, thread) {
                    server.threads.table.prefer(thread);
                }
                // No server is open, so there is no list behind the stream.
                if self.agent.server.is_none() {
                    self.focus = Pane::Deployments;
                }
                self.return_to_inbox();
            }
            Request::WatchThread(thread) => {
                let said = self.session.inbox.toggle_watch(&thread);
                self.notify(false, said);
            }
            Request::WatchRevision(of) => {
                let requests = self.deployments.toggle_watch_by_id(&self.session, of);
                return self.apply(requests);
            }
            Request::SearchThreads(text) => {
                if let Some(server) = &mut self.agent.server {
                    server.show(Tab::Threads);
                    server.threads.set_text(&text);
                    self.focus = Pane::Stream;
                }
            }
            Request::NameThread(name) => return self.name_thread(name),
            Request::RefreshThread => {
                if let Some(viewer) = self.viewer_mut() {
                    viewer.refreshes += 1;
                }
            }
            Request::BeginTyping => self.begin_typing(),
            Request::MarkSide(side) => {
                let requests = self.agent.mark_side(side);
                return self.apply(requests);
            }
            Request::CompareSide(side) => {
                let requests = self.agent.compare_side(side);
                return self.apply(requests);
            }
            Request::Prefer(pref) => self.prefer(pref),
            Request::UseProfiles(list) => return self.activate_profiles(list),
            Request::Profile(request) => {
                let requests = self.session.catalog.handle(request);
                return self.apply_of(ComponentId::App, requests);
            }
        }
        Vec::new()
    }

    fn run_stream_command(&mut self, command: StreamCommand) -> Vec<Effect> {
        let mut from = STREAM;
        let requests = match command {
            StreamCommand::Record(file) => self.stream.record(&self.session, &file),
            StreamCommand::Export(how) => {
                let top = self.overlays.last_mut();
                match top.and_then(|page| Some((page.id(), page.save(&self.session, &how)?))) {
                    Some((page, requests)) => {
                        from = page;
                        requests
                    }
                    None => self.stream.begin_export(&self.session, &how),
                }
            }
            StreamCommand::ShowCheckpoint(id) => self.stream.show_checkpoint(&id),
            StreamCommand::ShowOnGraph(id) => self.stream.show_on_graph(id),
            StreamCommand::EditCheckpoint(id) => self.stream.edit_checkpoint(&self.session, id),
            StreamCommand::Reopen => self.stream.reopen(&self.session),
            StreamCommand::Replay(path) => return self.replay(path.trim()),
        };
        self.apply_of(from, requests)
    }

    /// Opens a recording, or replays the current stream from its first event.
    fn replay(&mut self, path: &str) -> Vec<Effect> {
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

    fn prefer(&mut self, pref: Pref) {
        let prefs = &mut self.session.prefs;
        match pref {
            Pref::Wrap(wrap) => prefs.wrap = wrap,
            Pref::Timestamps(how) => prefs.timestamps = how,
            Pref::Mouse(mouse) => prefs.mouse = mouse,
            Pref::Theme(theme) => prefs.theme = theme,
        }
    }

    /// Closes an overlay and keeps its draft.
    pub(super) fn close(&mut self, id: ComponentId) {
        if let Some(at) = self.overlays.iter().position(|open| open.id() == id) {
            let closed = self.overlays.remove(at);
            self.keep_draft(closed);
        }
    }

    /// Keeps the draft of an overlay that closes.
    fn keep_draft(&mut self, overlay: Overlay) {
        match overlay {
            Overlay::Compose(composer) => self.composing.keep(composer.closed()),
            Overlay::Edit(editor) => self.changes.keep(editor.closed()),
            Overlay::Answer(card) => self.thread.keep(&card),
            Overlay::Inbox(page) => self.closed_inbox = Some(page.closed()),
            Overlay::Profiles(page) => self.session.catalog.table = page.closed().table,
            _ => {}
        }
    }

    /// Closes all overlays. Drafts are kept, and a planned change is discarded.
    pub(super) fn leave_overlays(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for overlay in std::mem::take(&mut self.overlays) {
            match overlay {
                Overlay::Confirm(confirm) => effects.extend(confirm.forget()),
                // The first-run screen stays open: without profiles there is nothing else to show.
                Overlay::FirstRun(screen) => self.overlays.push(Overlay::FirstRun(screen)),
                overlay => self.keep_draft(overlay),
            }
        }
        effects
    }
}
