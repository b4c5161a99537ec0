//! What is known of the inbox: the newest answer of each agent server, and the failed newest revisions.

mod listing;
mod news;
pub mod table;

use listing::ServerInInbox;
use listing::failed_row;
pub use listing::{Counts, Listing, Tally};
use news::{KnownRows, PageState};
pub use news::{News, PageStatus};

use super::Session;
pub use crate::session::msg::InboxTarget as Target;
use crate::session::msg::{ServerRef, ThreadRef};
use crate::session::row_details::{DetailedRow, RowState};
use crate::session::threads_known::{ThreadsKnown, short_reason};
use jiff::Timestamp;
use runtail_api::{ApiError, ServerInbox};
use runtail_core::config::is_loopback;
use runtail_core::model::{FailedRevision, InboxGroup, InboxItem, InboxRow, InboxThread};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use url::Url;

/// Maximum number of agent servers per profile whose inboxes are read.
pub const MAX_SERVERS: usize = 200;

/// A row of the inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxListRow {
    /// Identifies it over all servers.
    pub key: String,
    /// The same for threads that need the same.
    pub cause: Arc<str>,
    pub row: InboxRow,
    pub target: Target,
    /// The time of the server's last complete answer, if a later request failed.
    pub as_of: Option<Timestamp>,
    /// Whether the user is notified when it no longer needs a person.
    pub is_watched: bool,
    /// Whether its server can't list threads, so that only an open page knows it.
    pub is_unlisted: bool,
}

impl InboxListRow {
    /// Returns whether it is about a thread, rather than a revision.
    pub fn is_thread(&self) -> bool {
        matches!(self.target, Target::Thread(_))
    }
}

impl DetailedRow for InboxListRow {
    fn key(&self) -> &str {
        &self.key
    }

    fn state(&self) -> RowState {
        let (questions, detail) = match &self.row.item {
            InboxItem::Thread(thread) => (thread.questions.len(), thread.detail.clone()),
            InboxItem::Revision(revision) => (0, revision.revision_id.clone()),
        };
        (self.row.since(), questions, detail)
    }

    fn target(&self) -> Target {
        self.target.clone()
    }

    fn is_stale(&self) -> bool {
        self.as_of.is_some()
    }
}

/// A deployment whose newest revision failed.
#[derive(Debug, Clone)]
pub struct FailedDeployment {
    pub profile: Arc<str>,
    pub region: Option<String>,
    /// The deployment's id.
    pub deployment: String,
    pub name: String,
    pub revision: FailedRevision,
}

/// The newest answer of a server.
#[derive(Debug, Default)]
struct ServerRead {
    /// Its rows; those of an earlier answer if the newest one was an error.
    threads: Vec<InboxThread>,
    /// The rows of `threads` that the newest answer did not confirm.
    stale: HashSet<String>,
    /// When it last answered completely.
    pub complete_at: Option<Timestamp>,
    /// Why the newest answer was incomplete.
    failure: Option<ApiError>,
    is_unlisted: bool,
    limits: Vec<String>,
    /// Threads with an active run.
    busy: usize,
}

impl ServerRead {
    /// Returns whether the newest answer was an error or incomplete.
    pub fn is_partial(&self) -> bool {
        self.failure.is_some()
    }
}

/// A thread that the user watches.
#[derive(Debug)]
struct Watched {
    pub server: ServerRef,
    /// Its place and name.
    pub name: String,
}

/// The state of the inbox.
#[derive(Debug, Default)]
pub struct Inbox {
    /// The agent servers of each profile in use.
    servers: BTreeMap<Arc<str>, Arc<[ServerRef]>>,
    /// The profile and the address of each of them. Deployments that share a server are several servers in the list.
    addresses: HashMap<(Arc<str>, Box<str>), ServerRef>,
    /// The servers that are only asked while they are open, and those of them that are.
    quiet: BTreeSet<ServerRef>,
    awake: BTreeSet<ServerRef>,
    /// The number of servers per profile that are not read because there are too many.
    skipped: BTreeMap<Arc<str>, usize>,
    /// Regions of profiles, as the rows show them.
    regions: BTreeMap<Arc<str>, Option<String>>,
    /// Profiles whose list of deployments is not known: `None` while it is loaded, else why.
    unknown_lists: BTreeMap<Arc<str>, Option<String>>,
    reads: BTreeMap<ServerRef, ServerRead>,
    /// When the pending request to a server was sent, if it takes long.
    overdue: BTreeMap<ServerRef, Timestamp>,
    /// The time of the last list of each profile whose control plane no longer answers.
    stale_lists: BTreeMap<Arc<str>, Timestamp>,
    /// The failed newest revisions, by the id of their deployment's row.
    revisions: BTreeMap<String, FailedDeployment>,
    /// The waiting and failed threads that are known, so that each is notified about once.
    known: HashMap<String, KnownRows>,
    /// The last status of each open page, by the number of its stream.
    pages: HashMap<u64, PageState>,
    /// The threads that the user wants to be notified about when they no longer need a person, by their keys.
    watched: BTreeMap<String, Watched>,
    listing: Arc<Listing>,
    /// The last reported failure of a notification program.
    pub(crate) hook_failure: Option<String>,
}

/// A profile for [`Inbox::set_servers`].
pub struct ProfileServers {
    pub profile: Arc<str>,
    /// Its region's tag, or its host, as in the configuration.
    pub region: Option<String>,
    /// Its agent servers, and whether each is only asked while it is open.
    pub servers: Vec<(bool, ServerRef)>,
    /// Whether its list of deployments is still unknown: `None` if it is known, else why, if it failed.
    pub unknown: Option<Option<String>>,
}

impl Inbox {
    /// Sets the agent servers of all profiles in use. Forgets the answers of others.
    pub fn set_servers(&mut self, profiles: Vec<ProfileServers>) {
        (
            self.servers,
            self.skipped,
            self.regions,
            self.unknown_lists,
            self.quiet,
        ) = Default::default();
        for ProfileServers {
            profile,
            region,
            mut servers,
            unknown,
        } in profiles
        {
            // Deployments may share a server.
            servers.sort_by(|(_, a), (_, b)| {
                address(a).cmp(address(b)).then_with(|| a.name.cmp(&b.name))
            });
            servers.dedup_by(|(_, a), (_, b)| address(a) == address(b));
            servers.sort();
            if let Some(skipped) = servers
                .len()
                .checked_sub(MAX_SERVERS)
                .filter(|skipped| *skipped > 0)
            {
                self.skipped.insert(profile.clone(), skipped);
                servers.truncate(MAX_SERVERS);
            }
            self.regions.insert(profile.clone(), region);
            if let Some(why) = unknown {
                self.unknown_lists.insert(profile.clone(), why);
            }
            self.quiet.extend(
                servers
                    .iter()
                    .filter(|(is_quiet, _)| *is_quiet)
                    .map(|(_, server)| server.clone()),
            );
            self.servers.insert(
                profile,
                servers.into_iter().map(|(_, server)| server).collect(),
            );
        }
        let all = self.servers.values().flat_map(|servers| servers.iter());
        let key = |server: &ServerRef| (server.profile.clone(), address(server).into());
        self.addresses = all.map(|server| (key(server), server.clone())).collect();
        let servers = &self.servers;
        let is_used = |server: &ServerRef| {
            servers
                .get(&server.profile)
                .is_some_and(|all| all.contains(server))
        };
        self.reads.retain(|server, _| is_used(server));
        self.overdue.retain(|server, _| is_used(server));
        self.known
            .retain(|_, known| known.server.as_ref().is_none_or(is_used));
        self.watched.retain(|_, watched| is_used(&watched.server));
        self.revisions
            .retain(|_, failed| servers.contains_key(&failed.profile));
        self.relist();
    }

    /// Forgets the answers of profiles that were removed or point to other servers now.
    pub fn retain_profiles(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.reads.retain(|server, _| is_kept(&server.profile));
        self.known.retain(|_, known| {
            known
                .server
                .as_ref()
                .is_none_or(|server| is_kept(&server.profile))
        });
        self.watched
            .retain(|_, watched| is_kept(&watched.server.profile));
        self.revisions.retain(|_, failed| is_kept(&failed.profile));
    }

    /// Returns the servers of a profile.
    pub fn servers(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<[ServerRef]>)> {
        self.servers.iter()
    }

    /// Returns whether a server can't list threads, so that only open pages show their status.
    pub fn is_unlisted(&self, server: &ServerRef) -> bool {
        self.read_of(server)
            .is_some_and(|(_, read)| read.is_unlisted)
    }

    /// Returns whether a thread needs a person; `None` if the last answer of its server doesn't say it of every thread.
    pub fn lists(&self, thread: &ThreadRef) -> Option<bool> {
        let (_, read) = self.read_of(&thread.server)?;
        let is_complete = !read.is_partial() && !read.is_unlisted && read.limits.is_empty();
        is_complete.then(|| {
            read.threads
                .iter()
                .any(|known| known.thread_id == thread.id)
        })
    }

    /// Returns the rows of a server, the most urgent first; `None` if its last answer doesn't list every thread.
    pub fn rows_of(&self, server: &ServerRef) -> Option<Vec<&InboxListRow>> {
        let (_, read) = self.read_of(server)?;
        let is_complete = !read.is_partial() && !read.is_unlisted;
        let is_of = |row: &&InboxListRow| matches!(&row.target, Target::Thread(thread) if is_same(&thread.server, server));
        is_complete.then(|| self.listing.rows.iter().filter(is_of).collect())
    }

    /// Returns the ids of the stuck threads of a server, and what their rows say.
    pub fn stuck_of(&self, server: &ServerRef) -> BTreeMap<String, String> {
        let stuck = self
            .listing
            .rows
            .iter()
            .filter(|row| row.row.group() == InboxGroup::Stuck);
        let of_server = stuck.filter_map(|row| match &row.target {
            Target::Thread(thread) if is_same(&thread.server, server) => {
                Some((thread.id.clone(), table::needs(row)))
            }
            _ => None,
        });
        of_server.collect()
    }

    /// Returns the answer of a server, which may be known by another name.
    fn read_of(&self, server: &ServerRef) -> Option<(&ServerRef, &ServerRead)> {
        let known = self
            .addresses
            .get(&(server.profile.clone(), address(server).into()))?;
        self.reads.get_key_value(known)
    }

    /// Returns whether the newest answer of a server of a profile was an error or incomplete.
    pub fn has_failed(&self, profile: &str) -> bool {
        self.reads
            .iter()
            .any(|(server, read)| *server.profile == *profile && read.is_partial())
    }

    /// Sets or removes the time of a request to a server that takes long.
    pub fn set_overdue(&mut self, server: &ServerRef, since: Option<Timestamp>) {
        let Some(known) = self
            .addresses
            .get(&(server.profile.clone(), address(server).into()))
            .cloned()
        else {
            return;
        };
        let before = match since {
            Some(since) => self.overdue.insert(known, since),
            None => self.overdue.remove(&known),
        };
        if before != since {
            self.relist();
        }
    }

    /// Returns when the oldest pending request to a server of a profile was sent, if it takes long.
    pub fn overdue_since(&self, profile: &str) -> Option<Timestamp> {
        self.overdue
            .iter()
            .filter(|(server, _)| *server.profile == *profile)
            .map(|(_, since)| *since)
            .min()
    }

    /// Returns how current the numbers of a server's threads are.
    fn threads_known(&self, server: &ServerRef) -> ThreadsKnown {
        let Some(known) = self
            .addresses
            .get(&(server.profile.clone(), address(server).into()))
        else {
            return ThreadsKnown::Unread("not checked".into());
        };
        let is_overdue = self.overdue.contains_key(known);
        match self.reads.get(known) {
            _ if self.is_asleep(known) => ThreadsKnown::Asleep,
            None => match self.state_of(known) {
                ServerInInbox::Failed(why) => ThreadsKnown::Unread(why),
                _ if is_overdue => ThreadsKnown::Unread("no answer yet".into()),
                _ => ThreadsKnown::Asking,
            },
            Some(ServerRead {
                is_unlisted: true, ..
            }) => ThreadsKnown::Unread("not listed".into()),
            Some(ServerRead { failure: None, .. }) if !is_overdue => ThreadsKnown::Now,
            Some(ServerRead {
                complete_at: Some(at),
                ..
            }) => ThreadsKnown::AsOf(*at),
            Some(ServerRead {
                failure: Some(error),
                ..
            }) => ThreadsKnown::Unread(short_reason(error)),
            Some(_) => ThreadsKnown::Unread("no answer yet".into()),
        }
    }

    /// Sets which control planes no longer answer, each with the time of its last list.
    pub fn set_stale_lists(&mut self, stale: BTreeMap<Arc<str>, Timestamp>) {
        if self.stale_lists != stale {
            self.stale_lists = stale;
            self.relist();
        }
    }

    /// Sets or removes the failed newest revision of a deployment, by the id of its row. Returns whether that changed anything.
    pub fn set_revision(&mut self, row: &str, failed: Option<FailedDeployment>) -> bool {
        let id = |failed: &FailedDeployment| {
            (
                failed.revision.revision_id.clone(),
                failed.revision.status.clone(),
            )
        };
        if self.revisions.get(row).map(id) == failed.as_ref().map(id) {
            return false;
        }
        match failed {
            Some(failed) => drop(self.revisions.insert(row.into(), failed)),
            None => drop(self.revisions.remove(row)),
        }
        true
    }

    /// Removes the revisions of deployments that are no longer listed.
    pub fn retain_revisions(&mut self, is_listed: impl Fn(&str) -> bool) {
        self.revisions.retain(|row, _| is_listed(row));
    }

    /// Stores the answer of a server. Rows that a failed request could not confirm are kept, and marked.
    fn store(&mut self, server: &ServerRef, at: Timestamp, result: Result<ServerInbox, ApiError>) {
        let read = self.reads.entry(server.clone()).or_default();
        let answer = result.unwrap_or_else(|error| ServerInbox {
            failures: vec![error],
            ..ServerInbox::default()
        });
        let ServerInbox {
            mut threads,
            is_unlisted,
            limits,
            failures,
            busy,
        } = answer;
        // A failed request says nothing about active runs.
        read.busy = if failures.is_empty() { busy } else { read.busy };
        read.failure = failures.into_iter().next();
        read.is_unlisted = is_unlisted;
        read.stale.clear();
        if is_unlisted {
            // Its rows come from open pages.
            read.complete_at = Some(at);
        } else if read.failure.is_none() {
            (read.complete_at, read.limits) = (Some(at), limits);
            read.threads = threads;
        } else {
            let ids: HashSet<&str> = threads.iter().map(|thread| &*thread.thread_id).collect();
            let is_new = |known: &InboxThread| !ids.contains(&*known.thread_id);
            let kept: Vec<InboxThread> = read.threads.drain(..).filter(is_new).collect();
            read.stale = kept.iter().map(|thread| thread.thread_id.clone()).collect();
            threads.extend(kept);
            (read.threads, read.limits) = (threads, limits);
        }
        self.relist();
    }

    /// Applies the status of a thread on its open page, which is newer than the last poll.
    fn apply_page(&mut self, page: &PageStatus<'_>) {
        let PageStatus {
            thread,
            facts,
            status,
            stuck,
            ..
        } = page;
        let Some(server) = self
            .read_of(&thread.server)
            .map(|(server, _)| server.clone())
        else {
            return;
        };
        let Some(read) = self.reads.get_mut(&server) else {
            return;
        };
        // An active run that is stuck still needs a person.
        let row = InboxThread::new(&thread.id, facts, status).or_else(|| {
            stuck
                .as_ref()
                .map(|sign| InboxThread::stuck(&thread.id, facts, sign))
        });
        let at = read
            .threads
            .iter()
            .position(|known| known.thread_id == thread.id);
        match (at, row) {
            // The list knows the owner and the graph, too.
            (Some(at), Some(row)) => {
                let known = &mut read.threads[at];
                let (graph, owner) = (
                    known.graph.take().or(row.graph),
                    known.owner.take().or(row.owner),
                );
                let assistant_id = known.assistant_id.take().or(row.assistant_id);
                *known = InboxThread {
                    graph,
                    owner,
                    assistant_id,
                    ..row
                };
            }
            (None, Some(row)) => read.threads.push(row),
            (Some(at), None) => drop(read.threads.remove(at)),
            (None, None) => return,
        }
        self.relist();
    }

    /// Sets which servers are open, in any case. Forgets the answers of those that are not asked any more, and returns them.
    pub fn set_awake<'s>(&mut self, open: impl Iterator<Item = &'s ServerRef>) -> Vec<ServerRef> {
        let known = open.filter_map(|server| {
            self.addresses
                .get(&(server.profile.clone(), address(server).into()))
        });
        let awake = known
            .filter(|server| self.quiet.contains(server))
            .cloned()
            .collect();
        if self.awake == awake {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.awake, awake);
        let asleep: Vec<ServerRef> = before.difference(&self.awake).cloned().collect();
        self.reads.retain(|server, _| !asleep.contains(server));
        self.relist();
        asleep
    }

    /// Returns whether a server is not asked, because it is not open.
    pub fn is_asleep(&self, server: &ServerRef) -> bool {
        self.quiet.contains(server) && !self.awake.contains(server)
    }

    /// Returns the busy threads of a server, and those that need a person. A stuck one is busy, too.
    pub fn counts_of(&self, server: &ServerRef) -> (usize, Counts) {
        let Some((_, read)) = self.read_of(server) else {
            return Default::default();
        };
        (
            read.busy,
            Counts::of(read.threads.iter().map(InboxThread::group)),
        )
    }

    /// Returns the rows.
    pub fn listing(&self) -> &Arc<Listing> {
        &self.listing
    }

    /// Returns the numbers of rows, and how far they can be trusted.
    pub fn tally(&self) -> Tally {
        let tally = self.listing.tally();
        Tally {
            is_whole: tally.is_whole && !self.servers.is_empty(),
            ..tally
        }
    }
}

/// Returns the address of a server without what makes no difference.
fn address(server: &ServerRef) -> &str {
    server.url.trim_end_matches('/')
}

/// Returns whether two names are of one server.
fn is_same(a: &ServerRef, b: &ServerRef) -> bool {
    a.profile == b.profile && address(a) == address(b)
}

/// Returns the key of a thread, which doesn't depend on the name of its server.
fn thread_key(thread: &ThreadRef) -> String {
    format!(
        "thread {} {} {}",
        thread.server.profile,
        address(&thread.server),
        thread.id
    )
}

impl Session {
    /// Returns whether a server can exist: most servers of simulated deployments don't.
    pub fn server_exists(&self, server: &ServerRef) -> bool {
        !self.settings.demo || Url::parse(&server.url).is_ok_and(|url| is_loopback(&url))
    }

    /// Returns how current the numbers of an agent server's threads are.
    pub fn threads_known(&self, server: &ServerRef) -> ThreadsKnown {
        let is_halted = self
            .profile(&server.profile)
            .is_some_and(|profile| profile.halted);
        match self.inbox.threads_known(server) {
            // A server that doesn't exist has no threads.
            _ if !self.server_exists(server) => ThreadsKnown::Now,
            ThreadsKnown::Asking if is_halted => ThreadsKnown::Unread("401".into()),
            known => known,
        }
    }

    /// Returns the agent servers whose threads could not be read, each with the reason, and their number. A profile whose servers
    /// all failed alike is named once.
    pub fn unread_servers(&self) -> (Vec<(&str, &str)>, usize) {
        // A profile without a list of deployments has its own words.
        let has_list = |name: &str| {
            let profile = self.profile(name);
            profile.is_none_or(|profile| !profile.control_plane || profile.loaded_at.is_some())
        };
        let listing = self.inbox.listing();
        let failed = listing.failed.iter().filter(|(name, _)| has_list(name));
        let failed: Vec<(&str, &str)> = failed
            .map(|(name, why)| (name.as_str(), why.as_str()))
            .collect();
        let number = listing
            .unchecked
            .saturating_sub(listing.failed.len() - failed.len());
        (failed, number)
    }
}
