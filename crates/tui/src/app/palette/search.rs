//! Searches for an id on the servers of all profiles in use, several at once. Opens the first match, and names every server that
//! failed.

use crate::app::App;
use crate::session::destination::Destination;
use crate::session::msg::{Described, Effect, Found, RevisionRef, ServerRef, Source, StreamTarget};
use crate::session::{Request, Requests, Session};
use runtail_api::ApiError;
use runtail_core::text::short_id;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Maximum concurrent requests.
const MAX_CONCURRENCY: usize = 8;
/// Maximum agent servers to search.
const MAX_SERVERS: usize = 300;
/// Maximum deployments to search for a revision. No API call finds a revision without its deployment.
const MAX_DEPLOYMENTS: usize = 100;
/// Maximum names in one line.
const MAX_NAMES: usize = 6;

/// A running search. Any key cancels it.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The number of the search. Responses to other searches are ignored.
    number: u64,
    id: String,
    /// The run to join when the thread is found.
    run: Option<String>,
    queue: VecDeque<Source>,
    waiting: Vec<Source>,
    absent: Vec<Source>,
    unsupported: Vec<ServerRef>,
    failed: Vec<(String, ApiError)>,
    /// Sources left out because there are too many.
    skipped: usize,
    /// Whether the revisions of deployments were searched.
    searched_revisions: bool,
    /// A hint to show if the id is not found.
    note: Option<String>,
}

impl App {
    /// Starts a search for an id. `run`: the id is a thread, and this run of it should be joined. `note`: what to say if it is not found.
    pub(in crate::app) fn find(
        &mut self,
        id: &str,
        run: Option<String>,
        note: Option<String>,
    ) -> Vec<Effect> {
        // The open server first, because assistants have the same id on every server of a graph.
        let mut known: HashSet<(Arc<str>, Arc<str>)> = HashSet::new();
        let mut servers = self.servers();
        servers.retain(|server| known.insert((server.profile.clone(), server.url.clone())));
        let open = self.open_server_ref();
        let is_asked = |server: &ServerRef| {
            !self.session.serverless.contains(server) || open.as_ref() == Some(server)
        };
        let asleep = servers.iter().filter(|server| !is_asked(server)).count();
        servers.retain(is_asked);
        let skipped = servers.len().saturating_sub(MAX_SERVERS);
        servers.truncate(MAX_SERVERS);
        let mut sources: Vec<Source> = servers.into_iter().map(Source::Server).collect();
        // Control planes next: there are few, and each needs only one request.
        let control_planes = self.session.profiles.iter();
        let control_planes = control_planes
            .filter(|profile| profile.control_plane && run.is_none())
            .map(|profile| Source::Deployments(profile.name.clone()));
        let second = sources.len().min(1);
        sources.splice(second..second, control_planes);
        let (halted, sources) = without_halted(&self.session, sources);
        if sources.is_empty() && halted.is_empty() {
            let note = note.unwrap_or_else(|| "Add a profile, or open a server with --url.".into());
            let id = short_id(id);
            return self.report_failure(format!("No server can search for {id}. {note}"));
        }
        let left_out =
            format!("Serverless deployments not searched: {asleep}. Open one to search it.");
        let search = Search {
            number: self.session.next_stream.take(),
            id: id.to_string(),
            run,
            queue: VecDeque::from(sources),
            failed: halted,
            skipped,
            note: note.or((asleep > 0).then_some(left_out)),
            ..Search::default()
        };
        let names: Vec<String> = search.queue.iter().map(Source::name).collect();
        self.notify(false, format!("Searching {}…", listing(&names)));
        self.search = Some(search);
        self.proceed()
    }

    /// Starts as many requests as allowed, or ends the search if none is left.
    fn proceed(&mut self) -> Vec<Effect> {
        let Some(search) = &mut self.search else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        while search.waiting.len() < MAX_CONCURRENCY
            && let Some(source) = search.queue.pop_front()
        {
            effects.push(Effect::Find(
                search.number,
                source.clone(),
                search.id.clone(),
            ));
            search.waiting.push(source);
        }
        match search.waiting.is_empty() {
            true => self.end_search(),
            false => effects,
        }
    }

    /// Applies the response of a source.
    pub(in crate::app) fn on_found(
        &mut self,
        number: u64,
        source: Source,
        result: Result<Option<Found>, ApiError>,
    ) -> Vec<Effect> {
        let Some(search) = self
            .search
            .as_mut()
            .filter(|search| search.number == number)
        else {
            return Vec::new();
        };
        search.waiting.retain(|waiting| *waiting != source);
        match (result, source) {
            (Ok(Some(Found::Unsupported)), Source::Server(server)) => {
                search.unsupported.push(server)
            }
            (Ok(Some(found)), source) => {
                let opened = self.search.take().map(|search| open(search, found, source));
                return self.apply(opened.unwrap_or_default());
            }
            (Ok(None), source) => search.absent.push(source),
            (Err(error), source) => search.failed.push((source.name(), error)),
        }
        self.proceed()
    }

    /// Cancels the search because the user does something else.
    pub(in crate::app) fn cancel_search(&mut self) {
        if let Some(search) = self.search.take() {
            self.notify(
                false,
                format!("Stopped searching for {}.", short_id(&search.id)),
            );
        }
    }

    /// Continues with the revisions of deployments, or reports that the id was not found.
    fn end_search(&mut self) -> Vec<Effect> {
        let Some(mut search) = self.search.take() else {
            return Vec::new();
        };
        // With a run, the id is a thread. Revisions are searched last because they need the most requests.
        if search.run.is_none() && !search.searched_revisions {
            search.searched_revisions = true;
            let known = self.session.deployments.existing().cloned();
            let sources = known
                .map(|one| Source::Revisions(one.profile, one.id, one.name))
                .collect();
            let (_, sources) = without_halted(&self.session, sources);
            if !sources.is_empty() {
                search.skipped += sources.len().saturating_sub(MAX_DEPLOYMENTS);
                search
                    .queue
                    .extend(sources.into_iter().take(MAX_DEPLOYMENTS));
                let (n, id) = (search.queue.len(), short_id(&search.id));
                let text = format!("Searching the revisions of {n} deployments for {id}…");
                self.notify(false, text);
                self.search = Some(search);
                return self.proceed();
            }
        }
        // A server that implements only the contract can't search, but it can stream the thread.
        let open = self.open_server_ref();
        let candidate = search
            .unsupported
            .iter()
            .find(|server| Some(*server) == open.as_ref())
            .or(match search.unsupported.as_slice() {
                [one] if search.failed.is_empty() => Some(one),
                _ => None,
            });
        let Some(server) = candidate.cloned() else {
            return self.report_failure(search.not_found());
        };
        let place = Source::Server(server.clone()).name();
        self.notify(
            false,
            format!("{place} can't search threads; opened the thread unchecked."),
        );
        self.go(Destination::Stream(server, target(search.id, search.run)))
    }
}

/// Removes the sources of profiles whose key was rejected, which get no requests until a refresh.
fn without_halted(
    session: &Session,
    sources: Vec<Source>,
) -> (Vec<(String, ApiError)>, Vec<Source>) {
    let halted = |name: &str| session.profile(name).filter(|p| p.halted)?.error.clone();
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

fn target(thread: String, run: Option<String>) -> StreamTarget {
    match run {
        Some(run) => StreamTarget::Join { thread, run },
        None => StreamTarget::Tail { thread },
    }
}

/// Opens the match.
fn open(search: Search, found: Found, source: Source) -> Requests {
    let (short, place, id) = (short_id(&search.id), source.name(), search.id);
    let said = |what: &str| format!("Found {what} {short} on {place}.");
    let found_notice = |what: &str| Requests::info(said(what));
    let (out, to) = match (found, source) {
        (Found::Thread, Source::Server(server)) => (
            found_notice("thread"),
            Destination::Stream(server, target(id, search.run)),
        ),
        (Found::Run(thread), Source::Server(server)) => (
            found_notice("run"),
            Destination::Stream(server, StreamTarget::Join { thread, run: id }),
        ),
        (Found::Assistant, Source::Server(server)) => (
            found_notice("assistant"),
            Destination::Assistant(Some(server), id),
        ),
        (Found::Deployment(name), Source::Deployments(profile)) => {
            let or = Described::Deployment(profile, id.as_str().into(), name);
            let told = said("deployment");
            (
                Requests::none(),
                Destination::Row {
                    deployment: id,
                    revision: None,
                    or,
                    told,
                },
            )
        }
        (Found::Revision, Source::Revisions(profile, deployment, _)) => {
            let of = RevisionRef {
                profile,
                deployment: deployment.clone(),
                revision: id.as_str().into(),
            };
            let (deployment, or) = (deployment.to_string(), Described::Revision(of));
            (
                found_notice("revision"),
                Destination::Row {
                    deployment,
                    revision: Some(id),
                    or,
                    told: String::new(),
                },
            )
        }
        // Other combinations of match and source don't occur.
        _ => return Requests::none(),
    };
    out.and(Request::Go(to))
}

impl Search {
    /// Returns the report that the id was not found. The first line is a summary, the others have the details.
    fn not_found(&self) -> String {
        // A deployment may be searched for threads and again for revisions, under the same name.
        let mut absent: Vec<String> = Vec::new();
        for name in self.absent.iter().map(Source::name) {
            if !absent.contains(&name) {
                absent.push(name);
            }
        }
        let id = short_id(&self.id);
        let mut line = match absent.is_empty() {
            true => format!("Couldn't search for {id}"),
            false => format!("{id} was not found on {}", listing(&absent)),
        };
        if !self.failed.is_empty() {
            let failed: Vec<String> = self
                .failed
                .iter()
                .map(|(name, error)| format!("{name}: {}", error.badge()))
                .collect();
            line.push_str(&format!("; {}", listing(&failed)));
        }
        let unsupported: Vec<String> = self
            .unsupported
            .iter()
            .map(|server| Source::Server(server.clone()).name())
            .collect();
        if !unsupported.is_empty() {
            line.push_str(&format!("; can't search by id: {}", listing(&unsupported)));
        }
        if self.skipped > 0 {
            line.push_str(&format!("; {} more not searched", self.skipped));
        }
        line.push('.');
        if self.run.is_none() {
            let looked_at = Found::THREADS_LOOKED_AT;
            line.push_str(&format!(
                " Searched only runs of the {looked_at} newest threads; else paste THREAD/RUN."
            ));
        }
        let mut lines = vec![line];
        lines.extend(self.note.clone());
        if absent.len() > MAX_NAMES {
            lines.push(format!("Searched: {}", absent.join(", ")));
        }
        lines.extend(
            self.failed
                .iter()
                .map(|(name, error)| format!("{name}: {}", error.story())),
        );
        lines.join("\n")
    }
}

/// Joins names for a line: `us, eu and 12 more`.
fn listing(names: &[String]) -> String {
    match names.len() {
        0..=MAX_NAMES => names.join(", "),
        n => format!(
            "{} and {} more",
            names[..MAX_NAMES].join(", "),
            n - MAX_NAMES
        ),
    }
}
