//! Acting on threads and runs: which thread a key means, and what becomes of what was sent.

use super::answer::AnswerCard;
use super::confirm::{Proposal, Stage};
use super::keys::Action;
use super::msg::{Effect, StreamTarget, ThreadRef};
use super::open::read_only_text;
use super::server::Tab;
use super::viewer::{Cancelling, Viewer};
use super::{App, Overlay};
use runtail_api::{
    Acted, ApiError, CancelAction, CancelState, CancelTarget, Kind, LoadedThread, RunStart, StartError, StartFailure,
    StartGuard, Started, ThreadIntent,
};
use runtail_core::model::{RunCreate, ThreadStatus};
use runtail_core::text::{clean, short_id};

impl App {
    /// The thread of the stream that is shown. Says why there is none.
    fn shown_thread(&mut self) -> Option<ThreadRef> {
        let viewer = self.streams.shown()?;
        let thread = viewer.thread_id.clone().map(|id| ThreadRef { server: viewer.server.clone(), id });
        if thread.is_none() {
            self.notify(false, "This stream has no thread (yet), so there is nothing to act on.");
        }
        thread
    }

    /// The thread that is selected in the lists of an agent server, and the run if runs are listed. Says why there is none.
    fn listed_thread(&mut self) -> Option<(ThreadRef, Option<String>)> {
        let server = self.server.as_ref()?;
        let (thread, run) = match server.tab {
            Tab::Threads => (server.thread_picker.selected.clone(), None),
            Tab::Runs => (server.runs_of.clone(), server.run_picker.selected.clone()),
            Tab::Assistants => {
                self.notify(false, "This key works on a thread. 1 shows the threads.");
                return None;
            }
        };
        let Some(id) = thread else {
            self.notify(false, "No thread is selected.");
            return None;
        };
        Some((ThreadRef { server: server.server.clone(), id }, run))
    }

    /// A key that acts on the thread of the stream that is shown.
    pub(super) fn act_on_shown(&mut self, action: Action) -> Vec<Effect> {
        let Some(thread) = self.shown_thread() else { return Vec::new() };
        if matches!(action, Action::Answer | Action::Approve) {
            return self.answer_shown(thread, action == Action::Approve);
        }
        // A page of one run means that run.
        let run = self.streams.shown().and_then(|viewer| match &viewer.target {
            StreamTarget::Join { run, .. } => Some(run.clone()),
            _ => None,
        });
        self.act_on(thread, run, action)
    }

    /// A key that acts on the thread that is selected in a list.
    pub(super) fn act_on_listed(&mut self, action: Action) -> Vec<Effect> {
        let Some((thread, run)) = self.listed_thread() else { return Vec::new() };
        if matches!(action, Action::Answer | Action::Approve) {
            return self.answer_listed(thread, action == Action::Approve);
        }
        self.act_on(thread, run, action)
    }

    fn act_on(&mut self, thread: ThreadRef, run: Option<String>, action: Action) -> Vec<Effect> {
        let ThreadRef { server, id: thread } = thread;
        let intent = match action {
            Action::CancelRun => {
                ThreadIntent::Cancel { thread, run, action: CancelAction::Interrupt, with_queue: false }
            }
            Action::RollbackRun => {
                ThreadIntent::Cancel { thread, run, action: CancelAction::Rollback, with_queue: false }
            }
            Action::Again => ThreadIntent::Again { thread, recursion_limit: None },
            Action::Delete => ThreadIntent::Delete { thread },
            _ => return Vec::new(),
        };
        self.begin_action(server, intent)
    }

    /// `a` in a stream: opens the card where the thread waits, continues it where it stopped, else says what it is. The past
    /// that may be shown does not matter: what is answered is what is open now.
    fn answer_shown(&mut self, thread: ThreadRef, approve: bool) -> Vec<Effect> {
        let Some(viewer) = self.streams.shown() else { return Vec::new() };
        if *viewer.thread_status() == ThreadStatus::Deleted {
            self.notify(true, "The thread was deleted, so nothing can be answered.");
            return Vec::new();
        }
        let loaded = viewer.loaded_thread();
        if loaded.assistant().is_some() && !loaded.answerable().is_empty() {
            return self.open_card(AnswerCard::loaded(self.next_change, thread, loaded), approve);
        }
        // The stream tells of a question before the snapshot does.
        let waits = matches!(viewer.thread_status(), ThreadStatus::Waiting { .. });
        let (status, has_answer) = (viewer.thread_status().clone(), loaded.keeps_rejected_answer());
        if waits && viewer.is_stream_only() {
            let (questions, assistant) = (viewer.questions().to_vec(), viewer.started_assistant());
            let card = AnswerCard::of_stream(self.next_change, thread, questions, assistant);
            return self.open_card(card, approve);
        }
        if waits {
            return self.load_card(thread, approve);
        }
        self.answer_by_status(thread, &status, has_answer)
    }

    /// `a` in a list: the rows of some servers don't say whether they wait, so the thread is read first.
    fn answer_listed(&mut self, thread: ThreadRef, approve: bool) -> Vec<Effect> {
        self.load_card(thread, approve)
    }

    fn load_card(&mut self, thread: ThreadRef, approve: bool) -> Vec<Effect> {
        let number = self.next_change;
        let mut effects = self.open_card(AnswerCard::loading(number, thread.clone()), approve);
        if matches!(self.overlays.last(), Some(Overlay::Answer(card)) if card.number == number) {
            effects.push(Effect::LoadThread(number, thread));
        }
        effects
    }

    /// What the answer key does where no answer is awaited.
    pub(super) fn answer_by_status(
        &mut self,
        thread: ThreadRef,
        status: &ThreadStatus,
        is_rejected: bool,
    ) -> Vec<Effect> {
        let is_stopped = matches!(
            status,
            ThreadStatus::Paused { .. }
                | ThreadStatus::Stopped { .. }
                | ThreadStatus::Cancelled { .. }
                | ThreadStatus::Edited { .. }
        );
        if is_stopped {
            return self.begin_action(thread.server, ThreadIntent::Continue { thread: thread.id });
        }
        let key = |id: &str| self.keymap.keys_of(id).first().map(|key| key.to_string()).unwrap_or_default();
        let (new_run, cancel) = (key("stream.new_run"), key("stream.cancel"));
        let (again, explain, refresh) = (key("stream.again"), key("stream.explain"), key("app.refresh"));
        let text = match status {
            ThreadStatus::Loading => format!("The thread is still loading. {refresh} reads it again."),
            ThreadStatus::Unknown { why } if why.is_empty() => {
                format!("The thread's status is unknown, and so is whether it waits. {refresh} reads it again.")
            }
            ThreadStatus::Unknown { why } => {
                format!("The thread's status is unknown ({why}), and so is whether it waits. {refresh} reads it again.")
            }
            ThreadStatus::Queued { .. } | ThreadStatus::Running { .. } => {
                format!("A run is {}: nothing is waiting for an answer. {cancel} cancels it.", status.word())
            }
            ThreadStatus::Failed { .. } if is_rejected => {
                format!("The graph rejected the answer, and the server keeps it. {again} asks the question again.")
            }
            ThreadStatus::Failed { .. } => {
                format!(
                    "The last run failed: nothing is waiting for an answer. {again} retries it, {explain} explains."
                )
            }
            ThreadStatus::BusyWithoutRun { .. } => {
                format!(
                    "The thread is busy without an active run: nothing is waiting for an answer. {explain} explains."
                )
            }
            _ => format!("The thread is {}: nothing is waiting for an answer. {new_run} starts a run.", status.word()),
        };
        self.notify(false, text);
        Vec::new()
    }

    /// A thread was read for the card that waits for it.
    pub(super) fn on_thread_loaded(&mut self, number: u64, loaded: Result<Box<LoadedThread>, ApiError>) -> Vec<Effect> {
        let at = self.overlays.iter().position(|o| matches!(o, Overlay::Answer(card) if card.number == number));
        let Some((at, Overlay::Answer(card))) = at.and_then(|at| Some((at, self.overlays.get_mut(at)?))) else {
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
        if loaded.answerable().is_empty() {
            self.overlays.remove(at);
            return self.answer_by_status(thread, &loaded.status(), loaded.keeps_rejected_answer());
        }
        self.fill_card(at, *loaded);
        Vec::new()
    }

    /// Marks the runs that a request to cancel is about as stopping, in the pages that show them.
    pub(super) fn note_cancelling(&mut self, thread: &ThreadRef, run: Option<&str>) {
        let now = self.now;
        for viewer in self.pages_of(thread) {
            let active = match viewer.thread_status() {
                ThreadStatus::Running { run_id, .. } | ThreadStatus::Queued { run_id, .. } => run_id.clone(),
                _ => continue,
            };
            if run.is_none() || active.as_deref() == run {
                viewer.cancelling = Some(Cancelling { run_id: active, since: now, sends_events: false });
            }
        }
    }

    fn pages_of(&mut self, thread: &ThreadRef) -> impl Iterator<Item = &mut Viewer> {
        self.streams.all_mut().iter_mut().filter(|viewer| viewer.is_of(thread))
    }

    /// Asks for new snapshots of a thread, and for its row in the list.
    fn refresh_thread(&mut self, thread: &ThreadRef) {
        self.pages_of(thread).for_each(|viewer| viewer.refreshes += 1);
        self.begin_again();
    }

    /// What a run of a thread is called: by its number where that is known.
    fn run_name(&self, thread: &ThreadRef, run: &str) -> String {
        let pages = || self.streams.all().iter().filter(|viewer| viewer.is_of(thread));
        let listed = pages().find_map(|viewer| Some(viewer.run_entry(run)?.name()));
        listed.unwrap_or_else(|| format!("run {}", short_id(run)))
    }

    /// What a run that was just started is called: it is the next on its thread.
    fn new_run_name(&self, thread: &ThreadRef, run: &str) -> String {
        let pages = || self.streams.all().iter().filter(|viewer| viewer.is_of(thread));
        if pages().any(|viewer| viewer.run_entry(run).is_some()) {
            return self.run_name(thread, run);
        }
        let next = pages().find_map(Viewer::next_run_number);
        next.map_or_else(|| self.run_name(thread, run), |number| format!("run {number}"))
    }

    /// What came of an action on a thread.
    pub(super) fn on_acted(
        &mut self,
        number: u64,
        thread: ThreadRef,
        result: Result<Acted, StartError>,
    ) -> Vec<Effect> {
        match result {
            Ok(Acted::Cancelling(targets)) => self.on_cancel_sent(number, thread, targets),
            Ok(Acted::Started(started)) => self.on_started(number, thread, &started),
            Ok(Acted::Deleted) => self.on_thread_deleted(number, &thread),
            Err(failed) => self.on_act_failed(number, thread, failed),
        }
    }

    fn close_confirm(&mut self, number: u64) {
        self.overlays.retain(|overlay| !matches!(overlay, Overlay::Confirm(confirm) if confirm.number == number));
    }

    fn on_cancel_sent(&mut self, number: u64, thread: ThreadRef, targets: Vec<CancelTarget>) -> Vec<Effect> {
        let failed = targets.iter().find(|target| target.state == CancelState::Failed);
        if let Some((target, error)) = failed.and_then(|target| Some((target, target.error.clone()?))) {
            let run = self.run_name(&thread, &target.run_id);
            let is_rollback = self.confirm_of(number).is_some_and(|confirm| {
                matches!(
                    confirm.proposal,
                    Proposal::Thread(_, ThreadIntent::Cancel { action: CancelAction::Rollback, .. })
                )
            });
            let cancel = self.keymap.keys_of("stream.cancel").first().map(|key| key.to_string()).unwrap_or_default();
            let sentence = match is_rollback {
                true => format!("The server refused to roll back {run}. {cancel} cancels it and keeps finished steps."),
                false => format!("The server refused to cancel {run}."),
            };
            self.pages_of(&thread).for_each(|viewer| viewer.cancelling = None);
            self.refresh_thread(&thread);
            return self.fail_confirm(number, told(&sentence, error));
        }
        self.close_confirm(number);
        self.refresh_thread(&thread);
        let stopping: Vec<&CancelTarget> =
            targets.iter().filter(|target| target.state == CancelState::Stopping).collect();
        if stopping.is_empty() {
            self.report_cancelled(&thread, &targets);
            return Vec::new();
        }
        let name = match stopping.as_slice() {
            [one] => self.run_name(&thread, &one.run_id),
            several => format!("{} runs", several.len()),
        };
        self.notify(false, format!("Cancel requested for {name}. Waiting until it has stopped."));
        vec![Effect::FollowCancel(thread, targets)]
    }

    /// Runs that were cancelled have stopped, or not.
    pub(super) fn on_cancel_followed(&mut self, thread: &ThreadRef, targets: &[CancelTarget]) {
        self.report_cancelled(thread, targets);
        self.refresh_thread(thread);
    }

    fn report_cancelled(&mut self, thread: &ThreadRef, targets: &[CancelTarget]) {
        let is_stopped = |target: &CancelTarget| target.state == CancelState::Stopped;
        if targets.iter().all(|target| target.state != CancelState::Stopping) {
            self.pages_of(thread).for_each(|viewer| viewer.cancelling = None);
        }
        if targets.len() > 1 && targets.iter().all(is_stopped) {
            return self.notify(false, format!("{} runs were cancelled.", targets.len()));
        }
        let mut is_bad = false;
        let mut sentences = Vec::new();
        for target in targets {
            let run = self.run_name(thread, &target.run_id);
            let mut run_name = run.clone();
            run_name[..1].make_ascii_uppercase();
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
                    is_bad = true;
                    let request = format!("POST /threads/{}/runs/{}/cancel", clean(&thread.id), clean(&target.run_id));
                    format!(
                        "It couldn't be verified that {run} stopped: {}. The server accepted {request}. r reads it again.",
                        error.cause()
                    )
                }
                (CancelState::Stopping, None) => {
                    is_bad = true;
                    format!(
                        "{run_name} hasn't stopped yet, though the server accepted the request to cancel it. A step that \
                         can't be interrupted runs to its end; r reads it again."
                    )
                }
                (CancelState::Active | CancelState::Failed, error) => {
                    is_bad = true;
                    let why = error.as_ref().map(|error| format!(": {}", error.cause())).unwrap_or_default();
                    format!("{run_name} was not cancelled{why}.")
                }
            });
        }
        self.notify(is_bad, sentences.join("\n"));
    }

    fn on_started(&mut self, number: u64, thread: ThreadRef, started: &Started) -> Vec<Effect> {
        let name = self.new_run_name(&thread, &started.run_id);
        let found = if started.was_found { " The server's reply was lost, but the run is there." } else { "" };
        let at = self.overlays.iter().position(|o| matches!(o, Overlay::Answer(card) if card.number == number));
        let said = match at.map(|at| self.overlays.remove(at)) {
            Some(Overlay::Answer(card)) => {
                self.forget_answered(&card);
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
        self.close_confirm(number);
        self.show_thread_page(&thread);
        self.pages_of(&thread).for_each(|viewer| viewer.own_runs.push(started.run_id.clone()));
        self.refresh_thread(&thread);
        self.notify(false, said);
        Vec::new()
    }

    fn on_thread_deleted(&mut self, number: u64, thread: &ThreadRef) -> Vec<Effect> {
        self.close_confirm(number);
        self.streams.close_unless(|viewer| !viewer.is_of(thread));
        if let Some(server) = self.server.as_mut().filter(|server| server.server == thread.server) {
            if let Some(threads) = &mut server.threads.value {
                threads.retain(|row| row.thread_id != thread.id);
            }
            if server.tab == Tab::Runs && server.runs_of.as_ref() == Some(&thread.id) {
                server.show(Tab::Threads);
            }
        }
        if self.server.is_none() && self.viewer().is_none() && self.logs.is_none() {
            self.focus = super::Pane::Deployments;
        }
        self.begin_again();
        self.notify(false, format!("Thread {} was deleted.", short_id(&thread.id)));
        Vec::new()
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
                return self.answer_by_stream(number, thread, body);
            }
            card.refused(failed);
            return Vec::new();
        }
        let sentence = match failed.failure {
            StartFailure::NotOpen | StartFailure::Changed => "The thread changed since the preview. Nothing was sent.",
            StartFailure::Unchecked => "Couldn't read the thread right before sending. Nothing was sent.",
            StartFailure::Busy => "Another run is active on this thread, so the server refused this one.",
            StartFailure::Refused => "The server refused. Nothing was done.",
            StartFailure::NotOffered => "This server can't start runs in the background.",
            StartFailure::Unknown => "It's unknown whether this was done: the server's reply was lost.",
        };
        self.fail_confirm(number, told(sentence, failed.error))
    }

    /// Shows why an action failed in its dialog, else as a notice.
    fn fail_confirm(&mut self, number: u64, error: ApiError) -> Vec<Effect> {
        match self.confirm_of(number) {
            Some(confirm) => {
                if let Stage::Sending(preview) = std::mem::replace(&mut confirm.stage, Stage::Planning) {
                    confirm.stage = Stage::Failed(preview, error);
                }
            }
            None => self.notify(true, error.story()),
        }
        Vec::new()
    }

    /// A server that has only the contract's calls starts runs with their stream: the answer is sent that way.
    fn answer_by_stream(&mut self, number: u64, thread: ThreadRef, body: RunCreate) -> Vec<Effect> {
        self.overlays.retain(|overlay| !matches!(overlay, Overlay::Answer(card) if card.number == number));
        let on = runtail_stream::Target::Thread(thread.id.clone());
        let target = StreamTarget::Start { on, body: std::sync::Arc::new(body) };
        let viewer = self.new_viewer(thread.server.clone(), target);
        match self.streams.all().iter().position(|page| page.is_of(&thread)) {
            Some(at) => self.streams.replace_at(at, viewer),
            None => self.streams.add(viewer),
        }
        Vec::new()
    }

    /// Starts a run on a thread in the background, and shows the thread's page.
    pub(super) fn start_in_background(&mut self, thread: ThreadRef, body: RunCreate) -> Vec<Effect> {
        if self.is_read_only(&thread.server.profile) {
            let text = read_only_text(&thread.server.profile);
            self.notify(true, text);
            return Vec::new();
        }
        let number = self.next_change;
        self.next_change += 1;
        self.show_thread_page(&thread);
        let start = RunStart { thread: thread.id.clone(), body, guard: StartGuard::None };
        vec![Effect::StartRun(number, thread, Box::new(start))]
    }

    /// Shows the page of a thread: its tab where there is one, in the place of an ended stream of it, else in a new tab.
    pub(super) fn show_thread_page(&mut self, thread: &ThreadRef) {
        let target = StreamTarget::Tail { thread: thread.id.clone() };
        let is_ended = |viewer: &Viewer| viewer.is_of(thread) && !viewer.is_open() && viewer.target != target;
        let has_page = self.streams.find(&thread.server, &target).is_some();
        match self.streams.all().iter().position(is_ended).filter(|_| !has_page) {
            Some(at) => {
                let page = self.new_viewer(thread.server.clone(), target);
                self.streams.replace_at(at, page);
                self.logs = None;
                self.focus = super::Pane::Stream;
            }
            None => self.show_stream(thread.server.clone(), target),
        }
    }
}

/// An error with a sentence before it that says what it means here.
fn told(sentence: &str, error: ApiError) -> ApiError {
    let status = error.status().map(|code| format!("{code}: ")).unwrap_or_default();
    let detail = match error.detail.is_empty() {
        true => sentence.to_string(),
        false => format!("{sentence} ({status}{})", error.detail),
    };
    let kind = match error.kind {
        // Its fields are listed below it.
        Kind::Invalid(fields) => Kind::Invalid(fields),
        _ => Kind::Refused,
    };
    ApiError { kind, detail, ..error }
}
