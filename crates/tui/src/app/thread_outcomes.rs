//! Applies the results of actions on threads to the thread's pages, the dialog and the lists.

use super::{App, Overlay, Pane};
use crate::features::agent::state::Tab;
use crate::features::stream::viewer::{Cancelling, Viewer};
use crate::features::thread::actions::answer_by_status;
use crate::session::msg::{Effect, StreamTarget, ThreadRef};
use crate::session::proposal::Proposal;
use crate::session::subject::Subject;
use crate::session::thread::{explained, with_sentence};
use runtail_api::{
    Acted, ApiError, CancelAction, CancelState, CancelTarget, LoadedThread, StartError,
    StartFailure, Started, ThreadIntent, WriteKind, Written,
};
use runtail_core::model::{RunCreate, ThreadStatus};
use runtail_core::text::{capitalized, clean, short_id};

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
        number: u64,
        thread: ThreadRef,
        result: Result<Acted, StartError>,
    ) -> Vec<Effect> {
        self.thread.on_result(number);
        if self
            .preview_of(number)
            .is_some_and(|confirm| confirm.is_of_several())
        {
            return self.on_bulk_acted(number, &thread, &result);
        }
        match result {
            Ok(Acted::Cancelling(targets)) => self.on_cancel_sent(number, thread, targets),
            Ok(Acted::Started(started)) => self.on_started(number, thread, &started),
            Ok(Acted::Forked { started, .. }) => {
                self.close_state_editor(&thread);
                self.on_started(number, thread, &started)
            }
            Ok(Acted::Written(written)) => {
                self.close_state_editor(&thread);
                let (is_error, message) =
                    written_message(&written, &self.session.key("stream.new_run"));
                self.on_done(number, &thread, is_error, message)
            }
            Ok(Acted::Deleted) => {
                self.forget_deleted(&thread);
                let message = format!("Thread {} was deleted.", short_id(&thread.id));
                self.on_done(number, &thread, false, message)
            }
            Ok(_) => {
                let id = short_id(&thread.id);
                let message = format!("The name and star of thread {id} were saved.");
                self.on_done(number, &thread, false, message)
            }
            Err(failed) => self.on_act_failed(number, thread, failed),
        }
    }

    fn on_cancel_sent(
        &mut self,
        number: u64,
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
            let is_rollback = matches!(
                self.proposal_of(number),
                Some(Proposal::Thread(
                    _,
                    ThreadIntent::Cancel {
                        action: CancelAction::Rollback,
                        ..
                    }
                ))
            );
            let cancel = self.session.key("stream.cancel");
            let sentence = match is_rollback {
                _ if target.state == CancelState::Unknown => format!(
                    "It's unknown whether {run} was cancelled: the server failed, or its reply was lost."
                ),
                true => format!(
                    "The server refused to roll back {run}. {cancel} cancels it and keeps finished steps."
                ),
                false => format!("The server refused to cancel {run}."),
            };
            self.stream
                .pages_of(&thread)
                .for_each(|viewer| viewer.cancelling = None);
            self.refresh_thread(&thread);
            return self.fail_confirm(number, with_sentence(&sentence, error));
        }
        self.close_preview(number);
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
            format!("Cancel requested for {name}. Waiting until it has stopped."),
        );
        vec![Effect::FollowCancel(thread, targets)]
    }

    /// Reports whether the cancelled runs have stopped.
    pub(crate) fn on_cancel_followed(&mut self, thread: &ThreadRef, targets: &[CancelTarget]) {
        self.report_cancelled(thread, targets);
        self.refresh_thread(thread);
    }

    fn report_cancelled(&mut self, thread: &ThreadRef, targets: &[CancelTarget]) {
        let is_stopped = |target: &CancelTarget| target.state == CancelState::Stopped;
        if targets
            .iter()
            .all(|target| target.state != CancelState::Stopping)
        {
            self.stream
                .pages_of(thread)
                .for_each(|viewer| viewer.cancelling = None);
        }
        if targets.len() > 1 && targets.iter().all(is_stopped) {
            return self.notify(false, format!("{} runs were cancelled.", targets.len()));
        }
        let mut is_error = false;
        let mut sentences = Vec::new();
        for target in targets {
            let run = self.session.pages.run_name(thread, &target.run_id);
            let run_name = capitalized(&run);
            let status = clean(target.run_status.as_deref().unwrap_or_default()).into_owned();
            sentences.push(match (target.state, &target.error) {
                (CancelState::Stopped, _) if status == "deleted" => format!("{run_name} was cancelled and rolled back."),
                (CancelState::Stopped, _) if status == "error" => {
                    format!("{run_name} was cancelled; the server marks it as failed.")
                }
                (CancelState::Stopped, _) => format!("{run_name} was cancelled."),
                (CancelState::Finished, _) => format!("{run_name} ended before it could be cancelled: {status}."),
                (CancelState::NotFound, _) => format!("{run_name} no longer exists."),
                (CancelState::Stopping, Some(error)) => {
                    is_error = true;
                    let request = format!("POST /threads/{}/runs/{}/cancel", clean(&thread.id), clean(&target.run_id));
                    format!(
                        "Couldn't verify that {run} stopped: {}. The server accepted {request}. Press r to check again.",
                        error.cause()
                    )
                }
                (CancelState::Stopping, None) => {
                    is_error = true;
                    format!(
                        "{run_name} hasn't stopped yet, though the server accepted the request to cancel it. A step that \
                         can't be interrupted runs to its end. Press r to check again."
                    )
                }
                (CancelState::Unknown, _) => {
                    is_error = true;
                    format!("It's unknown whether {run} was cancelled. Press r to check again.")
                }
                (CancelState::Active | CancelState::Failed, error) => {
                    is_error = true;
                    let why = error.as_ref().map(|error| format!(": {}", error.cause())).unwrap_or_default();
                    format!("{run_name} was not cancelled{why}.")
                }
            });
        }
        self.notify(is_error, sentences.join("\n"));
    }

    fn on_started(&mut self, number: u64, thread: ThreadRef, started: &Started) -> Vec<Effect> {
        let name = self.new_run_name(&thread, &started.run_id);
        let found = if started.was_found {
            " The server's reply was lost, but the run was started."
        } else {
            ""
        };
        let at = self
            .overlays
            .iter()
            .position(|o| matches!(o, Overlay::Answer(card) if card.number == number));
        let message = match at.map(|at| self.overlays.remove(at)) {
            Some(Overlay::Answer(card)) => {
                self.thread.forget_answered(&card);
                let open = card.left_open();
                let rest = match open {
                    0 => String::new(),
                    1 => " 1 question stays open.".into(),
                    n => format!(" {n} questions stay open."),
                };
                format!("Answer sent. Following {name}.{rest}{found}")
            }
            _ => format!("Run started. Following {name}.{found}"),
        };
        if let Some(at) = self.composer_at(number, &thread) {
            self.close_composer(at);
        }
        self.close_preview(number);
        self.show_thread_page(&thread);
        self.stream
            .pages_of(&thread)
            .for_each(|viewer| viewer.own_runs.push(started.run_id.clone()));
        self.refresh_thread(&thread);
        self.notify(false, message);
        Vec::new()
    }

    /// Returns the composer whose run was started with this number: by itself, or after its preview.
    fn composer_at(&mut self, number: u64, thread: &ThreadRef) -> Option<usize> {
        let is_previewed = matches!(
            self.proposal_of(number),
            Some(Proposal::Thread(_, ThreadIntent::Start { .. }))
        );
        self.overlays.iter().position(|overlay| match overlay {
            Overlay::Compose(composer) => {
                composer.number == number
                    || (is_previewed && composer.target_thread().as_ref() == Some(thread))
            }
            _ => false,
        })
    }

    /// Closes a composer whose run was started. Its input is kept for another one.
    fn close_composer(&mut self, at: usize) {
        if let Overlay::Compose(mut composer) = self.overlays.remove(at) {
            composer.started();
            self.composing.keep(*composer);
        }
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
        number: u64,
        thread: &ThreadRef,
        is_error: bool,
        message: String,
    ) -> Vec<Effect> {
        self.close_preview(number);
        self.refresh_thread(thread);
        self.notify(is_error, message);
        Vec::new()
    }

    /// Applies the result for one of several threads.
    fn on_bulk_acted(
        &mut self,
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
        let Some(confirm) = self.preview_of(number) else {
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
        self.apply(requests)
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

    fn on_act_failed(&mut self, number: u64, thread: ThreadRef, failed: StartError) -> Vec<Effect> {
        self.refresh_thread(&thread);
        let card = self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Answer(card) if card.number == number => Some(card),
            _ => None,
        });
        if let Some(card) = card {
            if failed.failure == StartFailure::NotOffered
                && let Some(body) = card.request()
            {
                self.overlays.retain(
                    |overlay| !matches!(overlay, Overlay::Answer(card) if card.number == number),
                );
                return self.start_by_stream(thread, body);
            }
            card.refused(failed);
            return Vec::new();
        }
        if let Some(at) = self.composer_at(number, &thread)
            && let Overlay::Compose(composer) = &self.overlays[at]
            && composer.number == number
        {
            if failed.failure == StartFailure::NotOffered
                && let Ok(body) = composer.request(&self.overlay_cx(true))
            {
                self.close_composer(at);
                return self.start_by_stream(thread, body);
            }
            if let Overlay::Compose(composer) = &mut self.overlays[at] {
                composer.refused(failed);
            }
            return Vec::new();
        }
        self.fail_confirm(number, explained(failed))
    }

    /// Shows why an action failed in its dialog, else as a notice.
    fn fail_confirm(&mut self, number: u64, error: ApiError) -> Vec<Effect> {
        match self.preview_of(number) {
            Some(confirm) => confirm.fail(error),
            None => self.notify(true, error.story()),
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

    /// Applies a loaded thread to the answer card that waits for it.
    pub(crate) fn on_thread_loaded(
        &mut self,
        number: u64,
        loaded: Result<Box<LoadedThread>, ApiError>,
    ) -> Vec<Effect> {
        let at = self
            .overlays
            .iter()
            .position(|o| matches!(o, Overlay::Answer(card) if card.number == number));
        let Some((at, Overlay::Answer(card))) =
            at.and_then(|at| Some((at, self.overlays.get_mut(at)?)))
        else {
            return Vec::new();
        };
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                card.loading_failed(error);
                return Vec::new();
            }
        };
        let thread = card.thread.clone();
        if loaded.is_blank() {
            self.overlays.remove(at);
            let text = "This server has no call that reads a thread's questions. Answer on the page of the run that asked, or \
                        with `runtail run A --thread T --resume JSON`, which doesn't check the answer.";
            self.notify(true, text);
            return Vec::new();
        }
        if loaded.answerable().is_empty() {
            self.overlays.remove(at);
            let rejected = loaded.keeps_rejected_answer();
            let requests = answer_by_status(&self.session, thread, &loaded.status(), rejected);
            return self.apply(requests);
        }
        card.fill(*loaded);
        self.restore_answers(at)
    }
}

/// Says what an edit of the state led to, and whether that is not what was wanted.
fn written_message(written: &Written, new_run: &str) -> (bool, String) {
    let status = written
        .status
        .as_deref()
        .map(|status| clean(status).into_owned());
    let checkpoint = written
        .checkpoint
        .as_deref()
        .map(|id| format!(" Its newest checkpoint is {}.", short_id(id)));
    match (written.kind, status.as_deref()) {
        (WriteKind::Edit, _) => (
            false,
            format!("The state was edited.{}", checkpoint.unwrap_or_default()),
        ),
        (WriteKind::Release, Some("busy")) => {
            let why = "The server accepted the update, but the thread is still busy.";
            (
                true,
                format!("{why} {new_run} starts a run, which also releases it."),
            )
        }
        (WriteKind::Release, Some(status)) => (
            false,
            format!("The thread was released. Its status is {status}."),
        ),
        (WriteKind::Release, None) => (
            false,
            "The update was sent. The thread's status could not be read.".into(),
        ),
        (WriteKind::End, Some("interrupted")) => (
            false,
            "The thread was ended: nothing more runs. The server still lists it as interrupted."
                .into(),
        ),
        (WriteKind::End, _) => (false, "The thread was ended: nothing more runs.".into()),
    }
}
