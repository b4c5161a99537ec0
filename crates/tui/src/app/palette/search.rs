//! Finding an id on the servers of all profiles in use, asking them at once. The first one that has it is opened; each one
//! that fails is named.

use crate::app::App;
use crate::app::msg::{Described, Effect, RevisionRef, ServerRef, StreamTarget};
use runtail_api::ApiError;
use runtail_core::text::{clean, short_id};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Requests that are under way together.
const AT_ONCE: usize = 8;
/// Most agent servers that are asked.
const MOST_SERVERS: usize = 300;
/// Most deployments that are asked for a revision. No call finds a revision without its deployment.
const MOST_DEPLOYMENTS: usize = 100;
/// Most names in one line.
const MOST_NAMES: usize = 6;

/// Something that may know an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The threads and assistants of an agent server.
    Server(ServerRef),
    /// The deployments of a profile's control plane.
    Deployments(Arc<str>),
    /// The revisions of a deployment: its profile, its id, its name.
    Revisions(Arc<str>, Arc<str>, Arc<str>),
}

impl Source {
    /// The profile whose key is used.
    pub fn profile(&self) -> &str {
        match self {
            Source::Server(server) => &server.profile,
            Source::Deployments(profile) | Source::Revisions(profile, ..) => profile,
        }
    }

    /// `us › support-bot`, or the profile alone for its control plane.
    fn name(&self) -> String {
        let title = |profile: &str, name: &str| {
            if profile == name {
                clean(profile).into_owned()
            } else {
                format!("{} › {}", clean(profile), clean(name))
            }
        };
        match self {
            Source::Server(server) => title(&server.profile, &server.name),
            Source::Deployments(profile) => clean(profile).into_owned(),
            Source::Revisions(profile, _, name) => title(profile, name),
        }
    }
}

/// What a source has by an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A thread.
    Thread,
    /// An assistant.
    Assistant,
    /// A run, by its thread.
    Run(String),
    /// A deployment, by its name.
    Deployment(String),
    /// A revision.
    Revision,
    /// It can't be told: the server has only the contract's calls, which look nothing up.
    Unsupported,
}

impl Found {
    /// Newest threads of a server that are asked for a run: no server finds one by its id alone.
    pub const THREADS_LOOKED_AT: usize = 50;
}

/// A search that is under way. A key that is pressed meanwhile ends it.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Answers of other searches don't count.
    number: u64,
    id: String,
    /// The run to join once its thread is found.
    run: Option<String>,
    queue: VecDeque<Source>,
    waiting: Vec<Source>,
    absent: Vec<Source>,
    unsupported: Vec<ServerRef>,
    failed: Vec<(String, ApiError)>,
    /// Sources left out because there are too many.
    skipped: usize,
    asked_revisions: bool,
    /// What is known about the id besides, for the case that nothing has it.
    note: Option<String>,
}

impl App {
    /// Searches an id everywhere. `run`: the id is that of a thread, and this run of it is wanted.
    pub(super) fn search(&mut self, id: &str, run: Option<String>, note: Option<String>) -> Vec<Effect> {
        // The server at hand first: assistants have the same id on every server of a graph.
        let open = self.server.as_ref().map(|s| s.server.clone());
        let streams = self.streams.all().iter().filter(|v| !v.is_recording()).map(|v| v.server.clone());
        let listed = self.fleet.rows.iter().filter(|row| !row.gone).filter_map(|row| row.server(&self.profiles));
        let mut asked: HashSet<(Arc<str>, Arc<str>)> = HashSet::new();
        let all = open.into_iter().chain(streams).chain(listed);
        let mut servers: Vec<ServerRef> =
            all.filter(|server| asked.insert((server.profile.clone(), server.url.clone()))).collect();
        let skipped = servers.len().saturating_sub(MOST_SERVERS);
        servers.truncate(MOST_SERVERS);
        // Control planes next: there are few, and a deployment is found by one request.
        let planes = self.profiles.iter().filter(|p| p.control_plane && run.is_none());
        let planes: Vec<Source> = planes.map(|profile| Source::Deployments(profile.name.clone())).collect();
        let mut sources: Vec<Source> = servers.into_iter().map(Source::Server).collect();
        let second = sources.len().min(1);
        sources.splice(second..second, planes);
        let (halted, sources) = self.without_halted(sources);
        if sources.is_empty() && halted.is_empty() {
            let note = note.unwrap_or_else(|| "Add a profile, or open a server with --url.".into());
            let id = short_id(id);
            return self.explain_argument(&format!("No server of the profiles in use can be asked for {id}. {note}"));
        }
        let number = self.next_search;
        self.next_search += 1;
        let (id, queue) = (id.to_string(), VecDeque::from(sources));
        let search = Search { number, id, run, queue, failed: halted, skipped, note, ..Search::default() };
        let names: Vec<String> = search.queue.iter().map(Source::name).collect();
        self.notify(false, format!("Asking {}…", listing(&names)));
        self.search = Some(search);
        self.continue_search()
    }

    /// Leaves out what belongs to a profile whose key was refused: nothing more is asked there until a refresh.
    fn without_halted(&self, sources: Vec<Source>) -> (Vec<(String, ApiError)>, Vec<Source>) {
        let halted = |name: &str| self.profiles.iter().find(|p| *p.name == *name && p.halted)?.error.clone();
        let mut failed: Vec<(String, ApiError)> = Vec::new();
        let mut kept = Vec::new();
        for source in sources {
            match halted(source.profile()) {
                Some(error) if failed.iter().all(|(name, _)| *name != *source.profile()) => {
                    failed.push((source.profile().to_string(), error));
                }
                Some(_) => {}
                None => kept.push(source),
            }
        }
        (failed, kept)
    }

    /// Asks as many sources as may be asked together; ends the search where none is left.
    fn continue_search(&mut self) -> Vec<Effect> {
        let Some(search) = &mut self.search else { return Vec::new() };
        let mut effects = Vec::new();
        while search.waiting.len() < AT_ONCE
            && let Some(source) = search.queue.pop_front()
        {
            effects.push(Effect::Find(search.number, source.clone(), search.id.clone()));
            search.waiting.push(source);
        }
        if search.waiting.is_empty() { self.end_search() } else { effects }
    }

    /// What a source said of the id that is searched.
    pub(in crate::app) fn on_found(
        &mut self,
        number: u64,
        source: Source,
        result: Result<Option<Found>, ApiError>,
    ) -> Vec<Effect> {
        let Some(search) = self.search.as_mut().filter(|search| search.number == number) else { return Vec::new() };
        search.waiting.retain(|waiting| *waiting != source);
        match (result, source) {
            (Ok(Some(Found::Unsupported)), Source::Server(server)) => search.unsupported.push(server),
            (Ok(Some(found)), source) => {
                let Some(search) = self.search.take() else { return Vec::new() };
                return self.open_found(search, found, source);
            }
            (Ok(None), source) => search.absent.push(source),
            (Err(error), source) => search.failed.push((source.name(), error)),
        }
        self.continue_search()
    }

    /// Ends the search because the user does something else.
    pub(in crate::app) fn cancel_search(&mut self) {
        if let Some(search) = self.search.take() {
            self.notify(false, format!("Stopped searching for {}.", short_id(&search.id)));
        }
    }

    fn open_found(&mut self, search: Search, found: Found, source: Source) -> Vec<Effect> {
        let (short, place, id) = (short_id(&search.id), source.name(), search.id);
        let tell = |app: &mut App, what: &str| app.notify(false, format!("Found {what} {short} on {place}."));
        match (found, source) {
            (Found::Thread, Source::Server(server)) => {
                tell(self, "thread");
                let target = match search.run {
                    Some(run) => StreamTarget::Join { thread: id, run },
                    None => StreamTarget::Tail { thread: id },
                };
                self.open_at(server, target)
            }
            (Found::Run(thread), Source::Server(server)) => {
                tell(self, "run");
                self.open_at(server, StreamTarget::Join { thread, run: id })
            }
            (Found::Assistant, Source::Server(server)) => {
                tell(self, "assistant");
                let mut effects = self.leave_overlays();
                effects.extend(self.open_server(server));
                effects.extend(self.go_to_assistant(&id));
                effects
            }
            (Found::Deployment(name), Source::Deployments(profile)) => match self.row_of(&id) {
                Some(row) => self.go_to_row(row, None),
                None => {
                    tell(self, "deployment");
                    self.describe(Described::Deployment(profile, id.into(), name))
                }
            },
            (Found::Revision, Source::Revisions(profile, deployment, _)) => {
                tell(self, "revision");
                match self.row_of(&deployment) {
                    Some(row) => self.go_to_row(row, Some(id)),
                    None => {
                        let of = RevisionRef { profile, deployment, revision: id.into() };
                        self.describe(Described::Revision(of))
                    }
                }
            }
            // No source answers so.
            _ => Vec::new(),
        }
    }

    /// Nothing that was asked has the id.
    fn end_search(&mut self) -> Vec<Effect> {
        let Some(search) = &mut self.search else { return Vec::new() };
        // A run's address names a thread, and a revision is looked for only once the rest said no.
        if search.run.is_none() && !search.asked_revisions {
            search.asked_revisions = true;
            let known = |row: &crate::app::fleet::Row| {
                let id = row.deployment.as_ref().filter(|_| !row.gone)?.id.as_str();
                Some(Source::Revisions(row.profile_name.clone(), id.into(), row.name.as_str().into()))
            };
            let sources: Vec<Source> = self.fleet.rows.iter().filter_map(known).collect();
            let (_, sources) = self.without_halted(sources);
            if let Some(search) = self.search.as_mut().filter(|_| !sources.is_empty()) {
                search.skipped += sources.len().saturating_sub(MOST_DEPLOYMENTS);
                search.queue.extend(sources.into_iter().take(MOST_DEPLOYMENTS));
                let (n, id) = (search.queue.len(), short_id(&search.id));
                self.notify(
                    false,
                    format!("No thread, assistant or deployment {id}. Asking {n} deployments for a revision…"),
                );
                return self.continue_search();
            }
        }
        let Some(search) = self.search.take() else { return Vec::new() };
        // A server with only the contract's calls looks nothing up, and streams a thread all the same.
        let open = self.server.as_ref().map(|s| &s.server);
        let only =
            search.unsupported.iter().find(|server| Some(*server) == open).or(match search.unsupported.as_slice() {
                [one] if search.failed.is_empty() => Some(one),
                _ => None,
            });
        if let Some(server) = only.cloned() {
            let place = Source::Server(server.clone()).name();
            self.notify(false, format!("{place} can't look threads up: opened the thread unchecked."));
            let target = match search.run {
                Some(run) => StreamTarget::Join { thread: search.id, run },
                None => StreamTarget::Tail { thread: search.id },
            };
            return self.open_at(server, target);
        }
        let text = search.nothing();
        self.explain_argument(&text)
    }
}

impl Search {
    /// Where the id was not found. The first line has the essentials, the others all details.
    fn nothing(&self) -> String {
        // A deployment that was asked for a revision was asked for its threads before, under the same name.
        let mut absent: Vec<String> = Vec::new();
        for name in self.absent.iter().map(Source::name) {
            if !absent.contains(&name) {
                absent.push(name);
            }
        }
        let id = short_id(&self.id);
        let mut line = match absent.is_empty() {
            true => format!("Could not look for {id}"),
            false => format!("{id} was not found on {}", listing(&absent)),
        };
        if !self.failed.is_empty() {
            let failed: Vec<String> =
                self.failed.iter().map(|(name, error)| format!("{name}: {}", error.badge())).collect();
            line.push_str(&format!("; {}", listing(&failed)));
        }
        let unsupported: Vec<String> =
            self.unsupported.iter().map(|server| Source::Server(server.clone()).name()).collect();
        if !unsupported.is_empty() {
            line.push_str(&format!("; can't look ids up: {}", listing(&unsupported)));
        }
        if self.skipped > 0 {
            line.push_str(&format!("; {} more were not asked", self.skipped));
        }
        line.push('.');
        if self.run.is_none() {
            let looked_at = Found::THREADS_LOOKED_AT;
            line.push_str(&format!(
                " Runs of the {looked_at} newest threads were looked at; for others paste THREAD/RUN."
            ));
        }
        let mut lines = vec![line];
        lines.extend(self.note.clone());
        if absent.len() > MOST_NAMES {
            lines.push(format!("Asked: {}", absent.join(", ")));
        }
        lines.extend(self.failed.iter().map(|(name, error)| format!("{name}: {}", error.story())));
        lines.join("\n")
    }
}

/// Names in a line: `us, eu and 12 more`.
fn listing(names: &[String]) -> String {
    match names.len() {
        0..=MOST_NAMES => names.join(", "),
        n => format!("{} and {} more", names[..MOST_NAMES].join(", "), n - MOST_NAMES),
    }
}
