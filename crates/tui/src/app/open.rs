//! Opens what features request: overlays, panes and streams.

use super::help::Keys;
use super::palette::Palette;
use super::{App, Overlay, Pane};
use crate::features::changes::confirm::Confirm;
use crate::features::changes::journal::{Entry, JournalView};
use crate::features::compare::ComparePage;
use crate::features::deployments::Deployments;
use crate::features::diagnostics::doctor::Doctor;
use crate::features::diagnostics::explain::Explained;
use crate::features::inspector::Document;
use crate::features::logs::state::LogView;
use crate::features::profiles::view::ProfilesPage;
use crate::features::resources::browse::Browse;
use crate::features::resources::records::Records;
use crate::features::resources::sign_in::{self, SignIn};
use crate::features::stream::bisect;
use crate::features::stream::viewer::Viewer;
use crate::features::thread::actions::answer_by_status;
use crate::features::thread::answer::AnswerCard;
use crate::features::thread::why::WhyPage;
use crate::session::compare::SideRef;
use crate::session::msg::{Described, Effect, LogRef, ServerRef, StreamTarget, ThreadRef};
use crate::session::run::Origin;
use crate::session::subject::Subject;
use crate::session::thread::AnswerFrom;
use crate::session::{Paged, Requests, Route};
use jiff::Timestamp;
use runtail_api::LogKind;
use runtail_core::config::Profile;
use runtail_core::model::{Collection, Revision, SpecForm};
use runtail_core::text::clean;
use std::path::PathBuf;
use std::sync::Arc;

impl App {
    /// Opens a route. Returns the effects to run.
    pub(super) fn open(&mut self, route: Route) -> Vec<Effect> {
        match route {
            Route::Document { title, text } => self.push(Document::new(title, text)),
            Route::Record(what) => {
                self.pending_record = Some(what.clone());
                return vec![Effect::Describe(what)];
            }
            Route::List(of, profile, owner) => return self.open_list(of, profile, &owner),
            Route::Edit(subject, text) => return self.edit(subject, &text, None),
            Route::Change(profile, proposal) => {
                let confirm = Confirm::of_one(&self.session, profile, *proposal);
                return self.preview(confirm);
            }
            Route::Bulk(server, action, threads) => {
                let confirm = Confirm::of_threads(&self.session, server, action, threads);
                return self.preview(confirm);
            }
            Route::Records(server, of) => {
                let mut page = Records::new(server, of);
                let listed = self.agent.server.as_ref();
                let listed = listed.filter(|open| open.server == page.server);
                let first = listed.and_then(|open| open.assistants.value.as_ref()?.first());
                page.assistant = first.map(|one| one.assistant_id.clone());
                let effects = page.reread(&self.session);
                self.push(page);
                return effects;
            }
            Route::SignIn(profile, request) => {
                self.push(SignIn::new(
                    self.session.next_stream.take(),
                    profile,
                    *request,
                ));
            }
            Route::Authenticate(profile, provider) => {
                return self.apply(sign_in::begin(&self.session, profile, &provider));
            }
            Route::Entry(sent) => self.push(Paged::new(Entry(sent))),
            Route::Explanation { of, name, address } => {
                let row = self
                    .deployments
                    .list
                    .row(&format!("{}/{}", of.profile, of.deployment));
                let has_build = row.is_none_or(|row| row.has_builds());
                let mut page = Explained::new(of, name, address, has_build);
                let effect = load_explanation(&self.deployments, &mut page, self.session.now);
                self.push(Paged::new(page));
                return vec![effect];
            }
            Route::DeploymentDocument(profile, id, name) => {
                // Shown only if it is still awaited when it arrives, because it would cover the user's current work.
                self.pending_record = Some(Described::Deployment(
                    profile.clone(),
                    id.clone(),
                    name.clone(),
                ));
                return vec![Effect::Write(profile, id, name)];
            }
            Route::Server(server) => return self.open_server(server),
            Route::Stream(target) => self.open_stream(target),
            Route::Run(server, target) => {
                if !self.refuses_changes(&server.profile) {
                    self.show_stream(server, *target);
                }
            }
            Route::Answer(from, approve) => return self.open_answer(from, approve),
            Route::Profiles => {
                if !matches!(self.overlays.last(), Some(Overlay::Profiles(_))) {
                    self.push(ProfilesPage {
                        table: self.session.catalog.table.clone(),
                    });
                }
            }
            Route::Journal => {
                self.push(JournalView::default());
                return vec![Effect::ReadJournal];
            }
            Route::Doctor(only) => self.open_doctor(only),
            Route::Keys => self.push(Paged::new(Keys)),
            Route::Screen(name) => self.overlays.extend(Overlay::of_command(name)),
            Route::Bisect(argument) => {
                let page = bisect::parse(&argument)
                    .and_then(|query| self.stream.bisect(&self.session, query));
                match page {
                    Ok(page) => self.push(Paged::new(page)),
                    Err(why) => self.notify(true, why),
                }
            }
            Route::Why => self.push(Paged::new(WhyPage::new(self.session.now))),
            Route::WhyThread(thread) => {
                self.show_thread_page(&thread);
                // Too many streams may be open to show another one.
                if self.viewer().is_some_and(|viewer| viewer.is_of(&thread)) {
                    let mut effects = self.open(Route::Why);
                    // The page offers what the server's software can do.
                    if self.session.server_kind(&thread.server).is_none() {
                        effects.push(Effect::FetchInfo(thread.server));
                    }
                    return effects;
                }
            }
            Route::Thread(thread) => {
                let from = self.page_to_return_to(&thread);
                let mut effects = self.leave_overlays();
                effects.extend(self.open_behind(thread.server.clone()));
                self.show_thread_page(&thread);
                self.from_inbox = from;
                return effects;
            }
            Route::Graph(server, assistant, name) => {
                let page = self
                    .stream
                    .graph_page(&self.session, server, &assistant, &name);
                self.push(page);
            }
            Route::Modes(stream) => {
                self.overlays
                    .extend(self.stream.modes_dialog(stream).map(Overlay::from));
            }
            Route::Compose(from) => return self.compose(from),
            Route::ComposeOn(server, from) => return self.compose_on(server, from),
            Route::Palette(text) => {
                if !matches!(self.overlays.last(), Some(Overlay::Command(_))) {
                    self.push(Palette::with(&text));
                }
            }
            Route::Compare(sides) => self.open_comparison(sides),
            Route::CompareVersions(versions) => self.push(ComparePage::of_versions(*versions)),
            Route::Recording(file) => self.open_recording(file),
            Route::Logs(kind, of) => self.open_logs(kind, of),
        }
        Vec::new()
    }

    /// Opens a comparison. If only one side is given, the marked row or the shown thread is the other.
    fn open_comparison(&mut self, mut sides: Vec<SideRef>) {
        if sides.len() > 2 {
            return self.notify(true, "Two sides can be compared, not more.");
        }
        let shown = || match &self.viewer()?.target {
            StreamTarget::Recording { file } => Some(SideRef::File(file.clone())),
            StreamTarget::Join { thread, run } => {
                let thread = ThreadRef {
                    server: self.viewer()?.server.clone(),
                    id: thread.clone(),
                };
                Some(SideRef::Thread(thread, Some(run.clone())))
            }
            StreamTarget::Start { .. } | StreamTarget::Tail { .. } => {
                let view = self.shown_thread()?;
                let thread = ThreadRef {
                    server: view.server.clone(),
                    id: view.thread_id?.to_string(),
                };
                Some(SideRef::Thread(thread, None))
            }
        };
        let is_configuration = |side: &SideRef| side.configuration().is_some();
        let other = match sides.as_slice() {
            [one] if is_configuration(one) => {
                let marked = self.deployments.marked_sides().into_iter();
                marked.rev().find(|marked| marked != one)
            }
            [one] => self
                .agent
                .marked_sides()
                .pop()
                .or_else(shown)
                .filter(|other| other != one),
            _ => None,
        };
        if let Some(other) = other {
            sides.insert(0, other);
        }
        match sides.as_slice() {
            [a, b] if is_configuration(a) != is_configuration(b) => {
                return self.notify(
                    true,
                    "A deployment can only be compared with another deployment.",
                );
            }
            [one] if is_configuration(one) => {
                let key = self.session.key("deployments.mark");
                return self.notify(
                    true,
                    format!("Compare with what? Mark a deployment with {key}, or name two."),
                );
            }
            // A saved comparison has both sides.
            [] | [SideRef::Thread(..)] => {
                let key = self.session.key("server.mark");
                let text = format!(
                    "Compare with what? Mark a thread or a run with {key}, or name two sides."
                );
                return self.notify(true, text);
            }
            _ => {}
        }
        let page = ComparePage::new(self.session.next_stream.take(), sides);
        self.push(page);
    }

    fn push(&mut self, overlay: impl Into<Overlay>) {
        self.overlays.push(overlay.into());
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
        self.push(composer);
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
        let pages = self
            .overlays
            .iter_mut()
            .filter_map(|overlay| match overlay {
                Overlay::Explain(explained) => Some(&mut explained.page),
                _ => None,
            });
        pages
            .filter(|page| is_due(page, deployments.known_revision(&page.of)))
            .map(|page| load_explanation(deployments, page, now))
            .collect()
    }

    /// Opens the page of the doctor, for all profiles in use or for one.
    pub fn open_doctor(&mut self, only: Option<Arc<Profile>>) {
        self.push(Paged::new(Doctor {
            only,
            ..Doctor::new(self.session.next_stream.take())
        }));
    }

    /// Opens a list of other resources, such as integrations or listeners.
    fn open_list(&mut self, of: Collection, profile: Arc<str>, owner: &str) -> Vec<Effect> {
        if !self
            .session
            .profile(&profile)
            .is_some_and(|profile| profile.control_plane)
        {
            self.notify(
                false,
                format!("{profile} has no control plane, so no {}.", of.plural()),
            );
            return Vec::new();
        }
        let mut list = Browse::new(of, profile, owner);
        let effect = list.reread(&self.session);
        self.push(list);
        vec![effect]
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
        let mut editor = editor.with_form(current);
        let requests = editor.begin(&self.session);
        self.push(editor);
        self.apply(requests)
    }

    /// Plans changes and opens their preview. For a read-only profile it only shows a notice.
    fn preview(&mut self, mut confirm: Confirm) -> Vec<Effect> {
        if self.refuses_changes(&confirm.profile) {
            return Vec::new();
        }
        if !confirm.is_of_several()
            && let Some(thread) = confirm.one().proposal.thread()
            && self.refuses_second(&thread)
        {
            return Vec::new();
        }
        let requests = confirm.plan_next();
        self.push(confirm);
        self.apply(requests)
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
                "An action on this thread was sent and has no result yet. Wait for its result.",
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
        let (card, load): (_, Option<Load>) = match from {
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
        self.push(card.shown(&self.session, approve));
        let mut effects = self.restore_answers(self.overlays.len() - 1);
        effects.extend(load);
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
                viewer.started_assistant(),
            ),
            None => AnswerFrom::Server(thread),
        }
    }

    /// Restores drafts into an answer card whose questions are known.
    pub(super) fn restore_answers(&mut self, at: usize) -> Vec<Effect> {
        let Some(Overlay::Answer(card)) = self.overlays.get_mut(at) else {
            return Vec::new();
        };
        let requests: Requests = card.begin(&self.session, &self.thread.answer_drafts);
        self.apply(requests)
    }
}

/// Loads the explanation of a revision with the times that the polls observed.
fn load_explanation(deployments: &Deployments, page: &mut Explained, now: Timestamp) -> Effect {
    page.load(
        deployments.known_revision(&page.of),
        deployments.status_times(&page.of, now),
    )
}
