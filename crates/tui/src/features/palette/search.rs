//! Searches for an id on the servers of all profiles in use, several at once. Opens the first match, and names every server that
//! failed.

use super::PaletteState;
use crate::session::destination::Destination;
use crate::session::msg::{Described, Effect, Found, RevisionRef, ServerRef, Source, StreamTarget};
use crate::session::{Cx, Request, Requests, Session};
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

impl PaletteState {
    /// Starts a search for an id. `run`: the id is a thread, and this run of it should be joined.
    pub fn find(
        &mut self,
        cx: &Cx<'_>,
        id: &str,
        run: Option<String>,
        note: Option<String>,
    ) -> Requests {
        // The open server first, because assistants have the same id on every server of a graph.
        let mut known: HashSet<(Arc<str>, Arc<str>)> = HashSet::new();
        let all = cx.lookup.servers().into_iter();
        let mut servers: Vec<ServerRef> = all
            .filter(|server| known.insert((server.profile.clone(), server.url.clone())))
            .collect();
        let open = cx.lookup.open_server();
        let is_asked = |server: &ServerRef| {
            !cx.session.serverless.contains(server) || open.as_ref() == Some(server)
        };
        let asleep = servers.iter().filter(|server| !is_asked(server)).count();
        servers.retain(is_asked);
        let skipped = servers.len().saturating_sub(MAX_SERVERS);
        servers.truncate(MAX_SERVERS);
        // Control planes next: there are few, and each needs only one request.
        let control_planes = cx
            .session
            .profiles
            .iter()
            .filter(|p| p.control_plane && run.is_none());
        let control_planes: Vec<Source> = control_planes
            .map(|profile| Source::Deployments(profile.name.clone()))
            .collect();
        let mut sources: Vec<Source> = servers.into_iter().map(Source::Server).collect();
        let second = sources.len().min(1);
        sources.splice(second..second, control_planes);
        let (halted, sources) = without_halted(cx.session, sources);
        if sources.is_empty() && halted.is_empty() {
            let note = note.unwrap_or_else(|| {
                "Add a profile to the configuration file, or open a server with --url.".into()
            });
            let id = short_id(id);
            return Requests::error(format!(
                "No server of the profiles in use can search for {id}. {note}"
            ));
        }
        let number = self.next_search;
        self.next_search += 1;
        let (id, queue) = (id.to_string(), VecDeque::from(sources));
        let left_out =
            format!("Serverless deployments were not asked: {asleep}. Open one to search it.");
        let note = note.or((asleep > 0).then_some(left_out));
        let search = Search {
            number,
            id,
            run,
            queue,
            failed: halted,
            skipped,
            note,
            ..Search::default()
        };
        let names: Vec<String> = search.queue.iter().map(Source::name).collect();
        let mut out = Requests::info(format!("Searching {}…", listing(&names)));
        self.search = Some(search);
        out.extend(self.proceed(cx));
        out
    }

    /// Starts as many requests as allowed, or ends the search if none is left.
    fn proceed(&mut self, cx: &Cx<'_>) -> Requests {
        let Some(search) = &mut self.search else {
            return Requests::none();
        };
        let mut out = Requests::none();
        while search.waiting.len() < MAX_CONCURRENCY
            && let Some(source) = search.queue.pop_front()
        {
            out.push(Effect::Find(
                search.number,
                source.clone(),
                search.id.clone(),
            ));
            search.waiting.push(source);
        }
        if search.waiting.is_empty() {
            self.end(cx)
        } else {
            out
        }
    }

    /// Applies the response of a source.
    pub fn on_found(
        &mut self,
        cx: &Cx<'_>,
        number: u64,
        source: Source,
        result: Result<Option<Found>, ApiError>,
    ) -> Requests {
        let Some(search) = self
            .search
            .as_mut()
            .filter(|search| search.number == number)
        else {
            return Requests::none();
        };
        search.waiting.retain(|waiting| *waiting != source);
        match (result, source) {
            (Ok(Some(Found::Unsupported)), Source::Server(server)) => {
                search.unsupported.push(server)
            }
            (Ok(Some(found)), source) => {
                return self
                    .search
                    .take()
                    .map(|search| open(search, found, source))
                    .unwrap_or_default();
            }
            (Ok(None), source) => search.absent.push(source),
            (Err(error), source) => search.failed.push((source.name(), error)),
        }
        self.proceed(cx)
    }

    /// Cancels the search because the user does something else.
    pub fn cancel(&mut self) -> Requests {
        let search = self.search.take();
        search
            .map(|s| Requests::info(format!("Stopped searching for {}.", short_id(&s.id))))
            .unwrap_or_default()
    }

    /// Continues with the revisions of deployments, or reports that the id was not found.
    fn end(&mut self, cx: &Cx<'_>) -> Requests {
        let Some(search) = &mut self.search else {
            return Requests::none();
        };
        // With a run, the id is a thread. Revisions are searched last because they need the most requests.
        if search.run.is_none() && !search.searched_revisions {
            search.searched_revisions = true;
            let known = cx.lookup.deployments().into_iter();
            let sources = known
                .map(|(profile, id, name)| Source::Revisions(profile, id, name))
                .collect();
            let (_, sources) = without_halted(cx.session, sources);
            if !sources.is_empty() {
                search.skipped += sources.len().saturating_sub(MAX_DEPLOYMENTS);
                search
                    .queue
                    .extend(sources.into_iter().take(MAX_DEPLOYMENTS));
                let (n, id) = (search.queue.len(), short_id(&search.id));
                let text = format!(
                    "No thread, assistant or deployment {id}. Searching the revisions of {n} deployments…"
                );
                let mut out = Requests::info(text);
                out.extend(self.proceed(cx));
                return out;
            }
        }
        let Some(search) = self.search.take() else {
            return Requests::none();
        };
        // A server that implements only the contract can't search, but it can stream the thread.
        let open = cx.lookup.open_server();
        let candidate = search
            .unsupported
            .iter()
            .find(|server| Some(*server) == open.as_ref())
            .or(match search.unsupported.as_slice() {
                [one] if search.failed.is_empty() => Some(one),
                _ => None,
            });
        if let Some(server) = candidate.cloned() {
            let place = Source::Server(server.clone()).name();
            let target = target(search.id, search.run);
            return Requests::info(format!(
                "{place} can't search threads; opened the thread unchecked."
            ))
            .and(Request::Go(Destination::Stream(server, target)));
        }
        Requests::error(search.not_found())
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
    let found_notice = |what: &str| Requests::info(format!("Found {what} {short} on {place}."));
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
            let told = format!("Found deployment {short} on {place}.");
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
            line.push_str(&format!("; {} more were not searched", self.skipped));
        }
        line.push('.');
        if self.run.is_none() {
            let looked_at = Found::THREADS_LOOKED_AT;
            line.push_str(&format!(
                " Searched the runs of the {looked_at} newest threads; for others paste THREAD/RUN."
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
