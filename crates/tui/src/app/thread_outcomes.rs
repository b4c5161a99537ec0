//! Applies the results of actions on threads to the thread's pages, the dialog and the lists.

use super::{App, Overlay, Pane};
use crate::features::agent::state::Tab;
use crate::features::changes::confirm::Confirm;
use crate::features::stream::viewer::{Cancelling, Viewer};
use crate::features::thread::actions::{cancelled_message, written_message};
use crate::session::ComponentId;
use crate::session::msg::{Effect, StreamTarget, ThreadRef};
use crate::session::proposal::Proposal;
use crate::session::subject::Subject;
use crate::session::thread::{explained, with_sentence};
use runtail_api::{
    Acted, CancelAction, CancelState, CancelTarget, StartError, StartFailure, Started, ThreadIntent,
};
use runtail_core::model::{RunCreate, ThreadStatus};
use runtail_core::text::{counted, short_id};

impl App {
    /// Marks the runs of a cancel request as stopping, in the pages that show them.
    pub(crate) fn note_cancelling(&mut self, thread: &ThreadRef, run: Option<&str>) {
        let now = self.session.now;
        for viewer in self.stream.pages_of(thread) {
            let active = match viewer.thread_status() {
                ThreadStatus::Running { run_id, .. } | ThreadStatus::Queued { run_id, .. } => {
                    run_id.clone()
                }
                _ => continue,
            };
            if run.is_none() || active.as_deref() == run {
                viewer.cancelling = Some(Cancelling {
                    run_id: active,
                    since: now,
                    sends_events: false,
                });
            }
        }
    }

    /// Requests a new snapshot of a thread, and refreshes the lists.
    fn refresh_thread(&mut self, thread: &ThreadRef) {
        self.stream
            .pages_of(thread)
            .for_each(|viewer| viewer.refreshes += 1);
        self.session.restart_polls();
    }

    /// Returns the display name of a run that was just started: it has the next number on its thread.
    fn new_run_name(&self, thread: &ThreadRef, run: &str) -> String {
        let pages = || {
            self.stream
                .tabs
                .all()
                .iter()
                .filter(|viewer| viewer.is_of(thread))
        };
        if pages().any(|viewer| viewer.run_entry(run).is_some()) {
            return self.session.pages.run_name(thread, run);
        }
        let next = pages().find_map(Viewer::next_run_number);
        next.map_or_else(
            || self.session.pages.run_name(thread, run),
            |number| format!("run {number}"),
        )
    }

    /// Applies the result of an action on a thread.
    pub(crate) fn on_acted(
        &mut self,
        sender: ComponentId,
        number: u64,
        thread: ThreadRef,
        result: Result<Acted, StartError>,
    ) -> Vec<Effect> {
        self.thread.on_result(number);
        let preview = self.preview_of(sender);
        if preview.is_some_and(|confirm| confirm.is_of_several()) {
            return self.on_bulk_acted(sender, number, &thread, &result);
        }
        match result {
            Ok(Acted::Cancelling(targets)) => self.on_cancel_sent(sender, thread, targets),
            Ok(Acted::Started(started)) => self.on_started(sender, thread, &started),
            Ok(Acted::Forked { started, .. }) => {
                self.close_state_editor(&thread);
                self.on_started(sender, thread, &started)
            }
            Ok(Acted::Written(written)) => {
                self.close_state_editor(&thread);
                let (is_error, message) =
                    written_message(&written, &self.session.key("stream.new_run"));
                self.on_done(sender, &thread, is_error, message)
            }
            Ok(Acted::Deleted) => {
                self.forget_deleted(&thread);
                let message = format!("Thread {} was deleted.", short_id(&thread.id));
                self.on_done(sender, &thread, false, message)
            }
            Ok(_) => {
                let id = short_id(&thread.id);
                let message = format!("Name and star of thread {id} were saved.");
                self.on_done(sender, &thread, false, message)
            }
            Err(failed) => self.on_act_failed(sender, thread, failed),
        }
    }

    fn on_cancel_sent(
        &mut self,
        sender: ComponentId,
        thread: ThreadRef,
        targets: Vec<CancelTarget>,
    ) -> Vec<Effect> {
        let failed = targets
            .iter()
            .find(|target| matches!(target.state, CancelState::Failed | CancelState::Unknown));
        if let Some((target, error)) =
            failed.and_then(|target| Some((target, target.error.clone()?)))
        {
            let run = self.session.pages.run_name(&thread, &target.run_id);
            let is_rollback = |confirm: &mut Confirm| match &confirm.one().proposal {
                Proposal::Thread(_, ThreadIntent::Cancel { action, .. }) => {
                    *action == CancelAction::Rollback
                }
                _ => false,
            };
            let is_rollback = self.preview_of(sender).is_some_and(is_rollback);
            let cancel = self.session.key("stream.cancel");
            let sentence = match is_rollback {
                _ if target.state == CancelState::Unknown => format!(
                    "It's unknown whether {run} was cancelled: the server failed, or its reply was lost."
                ),
                true => format!(
                    "The server refused to roll back {run}. {cancel} cancels it without rollback."
                ),
                false => format!("The server refused to cancel {run}."),
            };
            self.stream
                .pages_of(&thread)
                .for_each(|viewer| viewer.cancelling = None);
            self.refresh_thread(&thread);
            let error = with_sentence(&sentence, error);
            match self.preview_of(sender) {
                Some(confirm) => confirm.fail(error),
                None => self.notify(true, error.story()),
            }
            return Vec::new();
        }
        self.close_sender(sender);
        self.refresh_thread(&thread);
        let stopping: Vec<&CancelTarget> = targets
            .iter()
            .filter(|target| target.state == CancelState::Stopping)
            .collect();
        if stopping.is_empty() {
            self.report_cancelled(&thread, &targets);
            return Vec::new();
        }
        let name = match stopping.as_slice() {
            [target] => self.session.pages.run_name(&thread, &target.run_id),
            targets => format!("{} runs", targets.len()),
        };
        self.notify(
            false,
            format!("Cancel requested. Waiting for {name} to stop."),
        );
        vec![Effect::FollowCancel(thread, targets)]
    }

    /// Reports whether the cancelled runs have stopped.
    pub(crate) fn on_cancel_followed(&mut self, thread: &ThreadRef, targets: &[CancelTarget]) {
        self.report_cancelled(thread, targets);
        self.refresh_thread(thread);
    }

    fn report_cancelled(&mut self, thread: &ThreadRef, targets: &[CancelTarget]) {
        if targets
            .iter()
            .all(|target| target.state != CancelState::Stopping)
        {
            self.stream
                .pages_of(thread)
                .for_each(|viewer| viewer.cancelling = None);
        }
        let (is_error, message) = cancelled_message(
            targets,
            |target| self.session.pages.run_name(thread, &target.run_id),
            &thread.id,
        );
        self.notify(is_error, message);
    }

    fn on_started(
        &mut self,
        sender: ComponentId,
        thread: ThreadRef,
        started: &Started,
    ) -> Vec<Effect> {
        let name = self.new_run_name(&thread, &started.run_id);
        let found = if started.was_found {
            " The reply was lost, but the run started."
        } else {
            ""
        };
        if let Some(at) = self.composer_at(sender, &thread) {
            self.close_composer(at);
        }
        let message = match self.close_sender(sender) {
            Some(Overlay::Answer(card)) => {
                self.thread.forget_answered(&card);
                let rest = match card.left_open() {
                    0 => String::new(),
                    n => format!(" {} open.", counted(n, "question")),
                };
                format!("Answer sent. Following {name}.{rest}{found}")
            }
            _ => format!("Run started. Following {name}.{found}"),
        };
        self.show_thread_page(&thread);
        self.stream
            .pages_of(&thread)
            .for_each(|viewer| viewer.own_runs.push(started.run_id.clone()));
        self.refresh_thread(&thread);
        self.notify(false, message);
        Vec::new()
    }

    /// Returns the composer whose run was started: by itself, or after its preview.
    fn composer_at(&mut self, sender: ComponentId, thread: &ThreadRef) -> Option<usize> {
        let is_start = |confirm: &mut Confirm| {
            !confirm.is_of_several()
                && matches!(
                    confirm.one().proposal,
                    Proposal::Thread(_, ThreadIntent::Start { .. })
                )
        };
        let is_previewed = self.preview_of(sender).is_some_and(is_start);
        self.overlays.iter().position(|overlay| match overlay {
            Overlay::Compose(composer) => {
                overlay.id() == sender
                    || (is_previewed && composer.target_thread().as_ref() == Some(thread))
            }
            _ => false,
        })
    }

    /// Closes a composer whose run was started. Its input is kept for another one.
    fn close_composer(&mut self, at: usize) {
        if let Overlay::Compose(composer) = self.overlays.remove(at) {
            let mut composer = composer.closed();
            composer.started();
            self.composing.keep(composer);
        }
    }

    /// Closes the dialog that sent an action, if it is still open.
    fn close_sender(&mut self, sender: ComponentId) -> Option<Overlay> {
        let at = self.overlays.iter().position(|open| open.id() == sender)?;
        Some(self.overlays.remove(at))
    }

    /// Closes the editor of a thread's state, because its edit was applied.
    fn close_state_editor(&mut self, thread: &ThreadRef) {
        let is_of_thread = |overlay: &Overlay| match overlay {
            Overlay::Edit(editor) => {
                matches!(&editor.subject, Subject::State { thread: of, .. } if of == thread)
            }
            _ => false,
        };
        self.overlays.retain(|overlay| !is_of_thread(overlay));
    }

    /// Closes the preview of an action that is done, and says so.
    fn on_done(
        &mut self,
        sender: ComponentId,
        thread: &ThreadRef,
        is_error: bool,
        message: String,
    ) -> Vec<Effect> {
        self.close_sender(sender);
        self.refresh_thread(thread);
        self.notify(is_error, message);
        Vec::new()
    }

    /// Applies the result for one of several threads.
    fn on_bulk_acted(
        &mut self,
        sender: ComponentId,
        number: u64,
        thread: &ThreadRef,
        result: &Result<Acted, StartError>,
    ) -> Vec<Effect> {
        if matches!(result, Ok(Acted::Deleted)) {
            self.forget_deleted(thread);
        } else {
            self.stream
                .pages_of(thread)
                .for_each(|viewer| viewer.refreshes += 1);
        }
        if let (Ok(_), Some(server)) = (result, &mut self.agent.server) {
            server.threads.table.marked.remove(&thread.id);
        }
        for overlay in self.overlays.iter_mut().filter(|_| result.is_ok()) {
            if let Overlay::Inbox(page) = overlay {
                page.unmark(thread);
            }
        }
        let Some(confirm) = self.preview_of(sender) else {
            return Vec::new();
        };
        let (is_finished, requests) = confirm.on_acted(number, result);
        let (has_edited, summary) = (confirm.has_edited(), confirm.summary());
        if let Some((is_error, summary)) = summary.filter(|_| is_finished) {
            // The edit was made, so its editor is not needed any more.
            if has_edited {
                let is_retry = |overlay: &Overlay| match overlay {
                    Overlay::Edit(editor) => matches!(editor.subject, Subject::Retry { .. }),
                    _ => false,
                };
                self.overlays.retain(|overlay| !is_retry(overlay));
            }
            self.notify(is_error, summary);
            self.session.restart_polls();
        }
        self.apply_of(sender, requests)
    }

    /// Removes a deleted thread from the lists, and closes its pages.
    fn forget_deleted(&mut self, thread: &ThreadRef) {
        self.stream
            .tabs
            .close_except(|viewer| !viewer.is_of(thread));
        if let Some(server) = self
            .agent
            .server
            .as_mut()
            .filter(|server| server.server == thread.server)
        {
            server.threads.remove(&thread.id);
            server.threads.table.marked.remove(&thread.id);
            if server.tab == Tab::Runs && server.runs_of.as_ref() == Some(&thread.id) {
                server.show(Tab::Threads);
            }
        }
        if self.agent.server.is_none() && self.viewer().is_none() && self.logs.is_none() {
            self.focus = Pane::Deployments;
        }
    }

    fn on_act_failed(
        &mut self,
        sender: ComponentId,
        thread: ThreadRef,
        failed: StartError,
    ) -> Vec<Effect> {
        self.refresh_thread(&thread);
        let at = self.overlays.iter().position(|open| open.id() == sender);
        let is_offered = failed.failure != StartFailure::NotOffered;
        let body = |at: usize| match &self.overlays[at] {
            Overlay::Answer(card) => card.request(),
            Overlay::Compose(composer) => composer.request(&self.overlay_cx(true)).ok(),
            _ => None,
        };
        if let Some(at) = at.filter(|_| !is_offered)
            && let Some(body) = body(at)
        {
            match self.overlays[at] {
                Overlay::Compose(_) => self.close_composer(at),
                _ => drop(self.overlays.remove(at)),
            }
            return self.start_by_stream(thread, body);
        }
        match at.map(|at| &mut self.overlays[at]) {
            Some(Overlay::Answer(card)) => card.refused(failed),
            Some(Overlay::Compose(composer)) => composer.refused(failed),
            Some(Overlay::Confirm(confirm)) => confirm.fail(explained(failed)),
            _ => self.notify(true, explained(failed).story()),
        }
        Vec::new()
    }

    /// Starts a run with its stream: a server that has only the contract's calls can't start one in the background.
    fn start_by_stream(&mut self, thread: ThreadRef, body: RunCreate) -> Vec<Effect> {
        let on = runtail_stream::Target::Thread(thread.id.clone());
        let target = StreamTarget::Start {
            on,
            body: std::sync::Arc::new(body),
        };
        let viewer = self
            .stream
            .new_viewer(&self.session, thread.server.clone(), target);
        match self
            .stream
            .tabs
            .all()
            .iter()
            .position(|page| page.is_of(&thread))
        {
            Some(at) => self.stream.tabs.replace_at(at, viewer),
            None => self.stream.tabs.add(viewer),
        }
        Vec::new()
    }
}
