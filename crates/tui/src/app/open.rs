//! Opens what features request: overlays, panes and streams.

use super::help::KeysPage;
use super::palette::Palette;
use super::{App, Overlay, Pane};
use crate::features::changes::confirm::Confirm;
use crate::features::changes::journal::Entry;
use crate::features::compare::ComparePage;
use crate::features::deployments::Deployments;
use crate::features::diagnostics::doctor::Doctor;
use crate::features::diagnostics::explain::Explained;
use crate::features::inspector::Document;
use crate::features::logs::state::LogView;
use crate::features::profiles::view::ProfilesPage;
use crate::features::resources::records::{RecordPage, RecordSource};
use crate::features::resources::sign_in::{self, SignIn};
use crate::features::stream::viewer::Viewer;
use crate::features::thread::actions::answer_by_status;
use crate::features::thread::answer::AnswerCard;
use crate::features::thread::why::WhyPage;
use crate::session::msg::{
    Described, Effect, LogRef, RevisionRef, ServerRef, StreamTarget, ThreadRef,
};
use crate::session::record_list::RecordList;
use crate::session::run::Origin;
use crate::session::subject::Subject;
use crate::session::thread::AnswerFrom;
use crate::session::{Paged, Requests, Route};
use jiff::Timestamp;
use runtail_api::LogKind;
use runtail_core::model::{Collection, Revision, SpecForm};
use runtail_core::text::clean;
use std::mem::discriminant;
use std::path::PathBuf;
use std::sync::Arc;

impl App {
    /// Opens a route: a line for each. Returns the effects to run.
    pub fn open(&mut self, route: Route) -> Vec<Effect> {
        let session = &self.session;
        match route {
            Route::Document { title, text } => self.push(Document::new(title, text)),
            Route::Entry(sent) => self.push(Paged::new(Entry(sent))),
            Route::Keys => self.push(Paged::new(KeysPage)),
            Route::Why => self.push(Paged::new(WhyPage::new(session.now))),
            Route::Doctor(only) => self.push(Paged::new(Doctor::new(session, only))),
            Route::SignIn(profile, request) => {
                self.push(Paged::new(SignIn::new(session, profile, *request)))
            }
            Route::CompareVersions(versions) => self.push(ComparePage::of_versions(*versions)),
            Route::Compare(sides) => self.push_or_explain(ComparePage::of_sides(session, sides)),
            Route::List(of, profile, owner) => self.open_list(of, profile, owner),
            Route::Bisect(argument) => {
                let page = self.stream.bisect(session, &argument).map(Paged::new);
                self.push_or_explain(page.map_err(Requests::error))
            }
            Route::Graph(server, assistant, name) => {
                let page = self.stream.graph_page(session, server, &assistant, &name);
                self.push(page)
            }
            Route::DeliveryReport => {
                let page = self.stream.delivery_report().map(Paged::new);
                self.push_or_explain(page)
            }
            Route::Modes(stream) => self.push_some(self.stream.modes_dialog(stream)),
            Route::Screen(name) => self.push_some(Overlay::of_command(name)),
            Route::Profiles => self.push_once(ProfilesPage {
                table: session.catalog.table.clone(),
            }),
            Route::Palette(text) => self.push_once(Palette::with(&text)),
            Route::Records(server, of) => self.open_records(server, of),
            Route::Edit(subject, text) => self.edit(subject, &text, None),
            Route::Change(profile, proposal) => {
                self.preview(Confirm::of_one(session, profile, *proposal))
            }
            Route::Bulk(action, threads) => match Confirm::of_threads(session, action, threads) {
                Some(confirm) => self.preview(confirm),
                None => Vec::new(),
            },
            Route::Authenticate(profile, provider) => {
                self.apply(sign_in::begin(session, profile, &provider))
            }
            Route::Answer(from, approve) => self.open_answer(from, approve),
            Route::Explanation { of, name, address } => self.explain(of, name, address),
            Route::Record(what) => self.await_record(what.clone(), Effect::Describe(what)),
            Route::DeploymentDocument(profile, id, name) => self.await_record(
                Described::Deployment(profile.clone(), id.clone(), name.clone()),
                Effect::Write(profile, id, name),
            ),
            Route::Server(server) => self.open_server(server),
            Route::Thread(thread) => self.open_thread(thread),
            Route::WhyThread(thread) => self.explain_thread(thread),
            Route::Compose(from) => self.compose(from),
            Route::ComposeOn(server, from) => self.compose_on(server, from),
            Route::Stream(target) => {
                self.open_stream(target);
                Vec::new()
            }
            Route::Run(server, target) => {
                self.open_run(server, *target);
                Vec::new()
            }
            Route::Recording(file) => {
                self.open_recording(file);
                Vec::new()
            }
            Route::Logs(kind, of) => {
                self.open_logs(kind, of);
                Vec::new()
            }
        }
    }

    /// Shows a page or a dialog on top of the others. Returns what it requests first.
    pub(super) fn push(&mut self, overlay: impl Into<Overlay>) -> Vec<Effect> {
        let mut overlay = overlay.into();
        let requests = overlay.on_open(&self.session);
        self.overlays.push(overlay);
        self.apply(requests)
    }

    fn push_some(&mut self, overlay: Option<impl Into<Overlay>>) -> Vec<Effect> {
        overlay.map_or_else(Vec::new, |overlay| self.push(overlay))
    }

    /// Shows a page unless one of its kind is on top.
    pub(super) fn push_once(&mut self, overlay: impl Into<Overlay>) -> Vec<Effect> {
        let overlay = overlay.into();
        let is_shown = |top: &Overlay| discriminant(top) == discriminant(&overlay);
        match self.overlays.last().is_some_and(is_shown) {
            true => Vec::new(),
            false => self.push(overlay),
        }
    }

    /// Shows a page, or says why there is none.
    fn push_or_explain(&mut self, page: Result<impl Into<Overlay>, Requests>) -> Vec<Effect> {
        match page {
            Ok(page) => self.push(page),
            Err(why) => self.apply(why),
        }
    }

    /// Requests a record. It is shown only if it is still awaited when it arrives, because it would cover the user's current work.
    fn await_record(&mut self, what: Described, request: Effect) -> Vec<Effect> {
        self.pending_record = Some(what);
        vec![request]
    }

    fn open_records(&mut self, server: ServerRef, of: RecordList) -> Vec<Effect> {
        let listed = self.agent.server.as_ref();
        let listed = listed.filter(|open| open.server == server);
        let first = listed.and_then(|open| open.assistants.value.as_ref()?.first());
        let assistant = first.map(|one| one.assistant_id.clone());
        let mut page = RecordPage::new(RecordSource::Server(server, of));
        page.assistant = assistant;
        self.push(page)
    }

    /// Explains a revision.
    fn explain(&mut self, of: RevisionRef, name: String, address: String) -> Vec<Effect> {
        let row = self.deployments.list.row(&of.row_id());
        let has_build = row.is_none_or(|row| row.has_builds());
        let mut page = Explained::new(of, name, address, has_build);
        let effect = load_explanation(&self.deployments, &mut page, self.session.now);
        self.overlays.push(Paged::new(page).into());
        vec![effect.to(self.focus_id())]
    }

    /// Opens a thread and explains it.
    fn explain_thread(&mut self, thread: ThreadRef) -> Vec<Effect> {
        self.show_thread_page(&thread);
        // Too many streams may be open to show another one.
        if self.viewer().is_none_or(|viewer| !viewer.is_of(&thread)) {
            return Vec::new();
        }
        let mut effects = self.open(Route::Why);
        // The page offers what the server's software can do.
        if self.session.server_kind(&thread.server).is_none() {
            effects.push(Effect::FetchInfo(thread.server));
        }
        effects
    }

    /// Opens the page of a thread, with the lists of its server behind it.
    fn open_thread(&mut self, thread: ThreadRef) -> Vec<Effect> {
        let from = self.page_to_return_to(&thread);
        let mut effects = self.leave_overlays();
        effects.extend(self.open_behind(thread.server.clone()));
        self.show_thread_page(&thread);
        self.from_inbox = from;
        effects
    }

    /// Opens the stream of a composed run.
    fn open_run(&mut self, server: ServerRef, target: StreamTarget) {
        if !self.refuses_changes(&server.profile) {
            self.show_stream(server, target);
        }
    }

    /// Opens an agent server in the stream pane.
    pub fn open_server(&mut self, server: ServerRef) -> Vec<Effect> {
        self.focus = Pane::Stream;
        self.stream.tabs.hide();
        self.logs = None;
        self.open_behind(server)
    }

    /// Opens an agent server's lists behind what is shown.
    pub(super) fn open_behind(&mut self, server: ServerRef) -> Vec<Effect> {
        let requests = self.agent.open(server);
        self.apply(requests)
    }

    /// Opens a stream on the open server.
    pub fn open_stream(&mut self, target: StreamTarget) {
        let Some(server) = self.open_server_ref() else {
            return;
        };
        if !(target.is_write() && self.refuses_changes(&server.profile)) {
            self.show_stream(server, target);
        }
    }

    /// Shows a stream in its tab, or in a new tab if it is not open.
    pub(super) fn show_stream(&mut self, server: ServerRef, target: StreamTarget) {
        let shown = self.stream.show(&self.session, server, target);
        self.after_showing(shown);
    }

    pub(super) fn show_thread_page(&mut self, thread: &ThreadRef) {
        let shown = self.stream.show_thread(&self.session, thread);
        self.after_showing(shown);
    }

    fn after_showing(&mut self, shown: Result<(), String>) {
        match shown {
            Ok(()) => {
                self.logs = None;
                self.focus = Pane::Stream;
            }
            Err(why) => self.notify(true, why),
        }
    }

    /// Opens a recording in a tab of its own.
    pub fn open_recording(&mut self, file: PathBuf) {
        let shown = file
            .file_name()
            .unwrap_or(file.as_os_str())
            .to_string_lossy();
        let name = clean(&shown).into_owned().into();
        let url = clean(&file.to_string_lossy()).into_owned().into();
        let server = ServerRef {
            profile: "recording".into(),
            name,
            url,
        };
        self.show_stream(server, StreamTarget::Recording { file });
    }

    /// Opens the composer on the open server.
    fn compose(&mut self, from: Origin) -> Vec<Effect> {
        let Some(server) = self.open_server_ref() else {
            return Vec::new();
        };
        if self.refuses_changes(&server.profile) {
            return Vec::new();
        }
        let Some(server) = &self.agent.server else {
            return Vec::new();
        };
        let (of, assistants) = (server.server.clone(), &server.assistants);
        let (composer, requests) = self.composing.open(&self.session, of, assistants, from);
        self.overlays.push(composer.into());
        self.apply(requests)
    }

    /// Opens the composer on a given server, because a tab's server may differ from the one whose lists are open.
    fn compose_on(&mut self, server: ServerRef, mut from: Origin) -> Vec<Effect> {
        let mut effects = self.open_behind(server);
        let listed = || {
            self.agent
                .server
                .as_ref()?
                .assistant_of(from.thread.as_deref()?)
        };
        from.assistant = from.assistant.clone().or_else(listed);
        effects.extend(self.compose(from));
        effects
    }

    fn open_logs(&mut self, kind: LogKind, of: Vec<LogRef>) {
        match LogView::open(&self.session, kind, of) {
            Ok((logs, notice)) => {
                if let Some(notice) = notice {
                    self.notify(false, notice);
                }
                self.overlays.clear();
                self.logs = Some(logs);
                self.focus = Pane::Stream;
            }
            Err(why) => self.notify(false, why),
        }
    }

    /// Loads those open explanations of revisions again for which `is_due` is true, given the known record of the revision.
    pub(super) fn explain_again(
        &mut self,
        is_due: impl Fn(&Explained, Option<&Revision>) -> bool,
    ) -> Vec<Effect> {
        let (deployments, now) = (&self.deployments, self.session.now);
        let pages = self.overlays.iter_mut().filter_map(|overlay| {
            let id = overlay.id();
            match overlay {
                Overlay::Explain(explained) => Some((id, &mut explained.page)),
                _ => None,
            }
        });
        pages
            .filter(|(_, page)| is_due(page, deployments.known_revision(&page.of)))
            .map(|(id, page)| load_explanation(deployments, page, now).to(id))
            .collect()
    }

    /// Opens a list of other resources, such as integrations or listeners.
    fn open_list(&mut self, of: Collection, profile: Arc<str>, owner: String) -> Vec<Effect> {
        let known = self.session.profile(&profile);
        if !known.is_some_and(|profile| profile.control_plane) {
            self.notify(
                false,
                format!("{profile} has no control plane, so no {}.", of.plural()),
            );
            return Vec::new();
        }
        self.push(RecordPage::new(RecordSource::Collection {
            profile,
            of,
            owner,
        }))
    }

    /// Opens a document in the editor. An unfinished draft on the same subject is restored.
    pub(super) fn edit(
        &mut self,
        subject: Subject,
        text: &str,
        current: Option<SpecForm>,
    ) -> Vec<Effect> {
        let (editor, is_restored) = self.changes.editor(subject, text);
        if is_restored {
            self.notify(false, "Restored your draft; ctrl-n starts over.");
        }
        self.push(editor.with_form(current))
    }

    /// Plans changes and opens their preview. For a read-only profile it only shows a notice.
    fn preview(&mut self, confirm: Confirm) -> Vec<Effect> {
        if self.refuses_changes(&confirm.profile) {
            return Vec::new();
        }
        if !confirm.is_of_several()
            && let Some(thread) = confirm.one().proposal.thread()
            && self.refuses_second(&thread)
        {
            return Vec::new();
        }
        self.push(confirm)
    }

    /// Says that nothing is opened, if the profile is read-only.
    fn refuses_changes(&mut self, profile: &str) -> bool {
        let is_read_only = self.is_read_only(profile);
        if is_read_only {
            let text = self.session.read_only_text(profile);
            self.notify(true, text);
        }
        is_read_only
    }

    /// Says that nothing is opened while an earlier action on the thread has no result.
    fn refuses_second(&mut self, thread: &ThreadRef) -> bool {
        let is_in_flight = self.thread.is_in_flight(thread, self.session.now);
        if is_in_flight {
            self.notify(
                true,
                "Wait: the last action on this thread has no result yet.",
            );
        }
        is_in_flight
    }

    /// Opens the card for answering a thread's questions.
    fn open_answer(&mut self, from: AnswerFrom, approve: bool) -> Vec<Effect> {
        type Load = fn(u64, ThreadRef) -> Effect;
        let from = match from {
            AnswerFrom::Server(thread) => self.answer_from_page(thread),
            from => from,
        };
        let number = || self.session.next_change.take();
        let (mut card, load): (_, Option<Load>) = match from {
            AnswerFrom::Server(thread) => (
                AnswerCard::loading(number(), thread),
                Some(Effect::LoadThread),
            ),
            AnswerFrom::Waiting(thread) => (
                AnswerCard::loading(number(), thread),
                Some(Effect::LoadWaitingThread),
            ),
            AnswerFrom::Loaded(thread, loaded) => {
                (AnswerCard::loaded(number(), thread, *loaded), None)
            }
            AnswerFrom::Stream(thread, questions, assistant) => (
                AnswerCard::of_stream(number(), thread, questions, assistant),
                None,
            ),
            AnswerFrom::Nothing(thread, status, is_rejected) => {
                let requests = answer_by_status(&self.session, thread, &status, is_rejected);
                return self.apply(requests);
            }
        };
        if self.refuses_changes(&card.thread.server.profile) || self.refuses_second(&card.thread) {
            return Vec::new();
        }
        let load = load.map(|load| load(card.number, card.thread.clone()));
        let requests = card.open(&self.session, approve, &self.thread.answer_drafts);
        self.overlays.push(card.into());
        let mut effects = self.apply(requests);
        effects.extend(load.map(|load| load.to(self.focus_id())));
        effects
    }

    /// Uses the questions in the stream of a thread's page if its server has no call that reads them.
    fn answer_from_page(&self, thread: ThreadRef) -> AnswerFrom {
        let is_asking = |viewer: &&Viewer| {
            viewer.is_of(&thread) && viewer.is_stream_only() && !viewer.questions().is_empty()
        };
        match self.stream.tabs.all().iter().find(is_asking) {
            Some(viewer) => AnswerFrom::Stream(
                thread,
                viewer.questions().to_vec(),
                viewer.started_assistant().map(str::to_string),
            ),
            None => AnswerFrom::Server(thread),
        }
    }
}

/// Loads the explanation of a revision with the times that the polls observed.
fn load_explanation(deployments: &Deployments, page: &mut Explained, now: Timestamp) -> Effect {
    page.load(
        deployments.known_revision(&page.of),
        deployments.status_times(&page.of, now),
    )
}
