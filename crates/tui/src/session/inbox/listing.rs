//! The rows of the inbox in their order, their numbers, and which servers they are complete of.

use super::{
    FailedDeployment, Inbox, InboxListRow, MAX_SERVERS, ServerRead, Target, address, thread_key,
};
use crate::session::msg::{RevisionRef, ServerRef, ThreadRef};
use crate::session::threads_known::short_reason;
use jiff::Timestamp;
use runtail_core::model::{
    InboxCause, InboxGroup, InboxItem, InboxRow, InboxThread, compare_inbox,
};
use runtail_core::text::clean;
use std::collections::HashMap;
use std::sync::Arc;

/// The rows and their completeness, as the page shows them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// The rows in the order of the inbox.
    pub rows: Vec<InboxListRow>,
    /// Servers that have not answered yet.
    pub asking: Vec<String>,
    /// Servers that answered.
    pub checked: Vec<String>,
    /// Servers whose last answer was an error or incomplete, with the reason.
    pub failed: Vec<(String, String)>,
    /// Servers that can't list threads.
    pub unlisted: Vec<String>,
    /// Servers that are not asked, because they are not open.
    pub asleep: Vec<String>,
    /// Sentences about rows that a limit left out.
    pub limits: Vec<String>,
    /// The number of servers and lists in `failed`, which names a profile once if all its servers failed alike.
    pub unchecked: usize,
    /// The numbers of rows.
    pub counts: Counts,
    /// How many of them the newest requests did not confirm.
    stale: Counts,
    /// The oldest and the newest time of rows that were not confirmed.
    pub stale_since: Option<(Timestamp, Timestamp)>,
}

impl Listing {
    /// Sorts and counts the rows, once for all frames that show them.
    fn finish(&mut self) {
        self.rows.sort_by(|a, b| compare_inbox(&a.row, &b.row));
        let of = |rows: &mut dyn Iterator<Item = &InboxListRow>| {
            Counts::of(rows.map(|row| row.row.group()))
        };
        self.counts = of(&mut self.rows.iter());
        self.stale = of(&mut self.rows.iter().filter(|row| row.as_of.is_some()));
        let times = || self.rows.iter().filter_map(|row| row.as_of);
        self.stale_since = times().min().zip(times().max());
    }

    /// Returns the numbers of rows, and how far they can be trusted.
    pub fn tally(&self) -> Tally {
        let is_complete =
            self.failed.is_empty() && self.unlisted.is_empty() && self.limits.is_empty();
        Tally {
            counts: self.counts,
            stale: self.stale,
            is_whole: is_complete && self.asking.is_empty(),
            is_asking: !self.asking.is_empty(),
            unchecked: self.unchecked,
        }
    }
}

/// The numbers of rows over all servers, and how far they can be trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub counts: Counts,
    /// How many of them the newest requests did not confirm.
    pub stale: Counts,
    /// Whether every server listed all its threads. Otherwise there may be more.
    pub is_whole: bool,
    /// Whether servers have not answered yet.
    pub is_asking: bool,
    /// The number of servers and lists whose newest request failed.
    pub unchecked: usize,
}

/// The numbers of rows of the inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub waiting: usize,
    pub failed: usize,
    pub stuck: usize,
    /// Threads that a person stopped or edited with steps left to run: no answer is needed.
    pub unfinished: usize,
}

impl Counts {
    pub(super) fn of(groups: impl Iterator<Item = InboxGroup>) -> Counts {
        let mut counts = Counts::default();
        for group in groups {
            match group {
                InboxGroup::Waiting => counts.waiting += 1,
                InboxGroup::Failed => counts.failed += 1,
                InboxGroup::Stuck => counts.stuck += 1,
                InboxGroup::Unfinished => counts.unfinished += 1,
            }
        }
        counts
    }
}

impl Inbox {
    /// Computes the rows again.
    pub fn relist(&mut self) {
        let mut listing = Listing::default();
        let region = |profile: &Arc<str>| self.regions.get(profile).cloned().flatten();
        for (profile, why) in &self.unknown_lists {
            match why {
                None => listing.asking.push(clean(profile).into_owned()),
                Some(why) => {
                    listing.unchecked += 1;
                    listing
                        .failed
                        .push((clean(profile).into_owned(), why.clone()));
                }
            }
        }
        for (profile, number) in &self.skipped {
            let name = clean(profile);
            listing.limits.push(format!(
                "{name}: {number} more servers not checked (limit {MAX_SERVERS})"
            ));
        }
        // A profile whose servers all have the same state is named once.
        for (profile, servers) in self
            .servers
            .iter()
            .filter(|(_, servers)| !servers.is_empty())
        {
            let states: Vec<(&ServerRef, ServerInInbox)> = servers
                .iter()
                .map(|server| (server, self.state_of(server)))
                .collect();
            let is_unchecked = |server: &ServerRef, state: &ServerInInbox| match state {
                ServerInInbox::Failed(_) => true,
                _ => self.overdue.contains_key(server),
            };
            listing.unchecked += states
                .iter()
                .filter(|(server, state)| is_unchecked(server, state))
                .count();
            let first = &states[0].1;
            let is_uniform = states.iter().all(|(_, state)| state == first);
            let named: Vec<(String, &ServerInInbox)> = match is_uniform {
                true => vec![(clean(profile).into_owned(), first)],
                false => states
                    .iter()
                    .map(|(server, state)| (self.server_title(server), state))
                    .collect(),
            };
            for (name, state) in named {
                match state {
                    ServerInInbox::Asking => listing.asking.push(name),
                    ServerInInbox::Checked => listing.checked.push(name),
                    ServerInInbox::Asleep => listing.asleep.push(name),
                    ServerInInbox::Unlisted => listing.unlisted.push(name),
                    ServerInInbox::Failed(why) => listing.failed.push((name, why.clone())),
                }
            }
        }
        self.push_threads(&mut listing);
        listing
            .rows
            .extend(self.revisions.iter().map(|(key, failed)| {
                let region = region(&failed.profile).or_else(|| failed.region.clone());
                let as_of = self.stale_lists.get(&failed.profile).copied();
                InboxListRow {
                    as_of,
                    ..failed_row(key, failed, region.as_deref())
                }
            }));
        listing.finish();
        self.listing = Arc::new(listing);
    }

    /// Adds the rows of the threads, and the limits of the lists that they are from.
    fn push_threads(&self, listing: &mut Listing) {
        // Most rows are as before. Reading their questions again would take most of the time.
        let before: HashMap<&str, &InboxListRow> = self
            .listing
            .rows
            .iter()
            .map(|row| (&*row.key, row))
            .collect();
        for (server, read) in &self.reads {
            let title = self.server_title(server);
            listing
                .limits
                .extend(read.limits.iter().map(|limit| format!("{title}: {limit}")));
            let is_overdue = self.overdue.contains_key(server);
            for thread in &read.threads {
                let is_stale = is_overdue || read.stale.contains(&thread.thread_id);
                let target = ThreadRef {
                    server: server.clone(),
                    id: thread.thread_id.clone(),
                };
                let region = self.regions.get(&server.profile).cloned().flatten();
                let key = thread_key(&target);
                let is_same = |known: &&&InboxListRow| {
                    known.row.region == region
                        && *known.row.deployment == *server.name
                        && matches!(&known.row.item, InboxItem::Thread(before) if before == thread)
                };
                let (cause, row) = match before.get(&*key).filter(is_same) {
                    Some(known) => (known.cause.clone(), known.row.clone()),
                    None => {
                        let (region, thread) = (region.as_deref(), thread.clone());
                        let cause = cause_of(&target, &thread);
                        (
                            cause,
                            InboxRow::thread(&server.profile, region, &server.name, thread, ""),
                        )
                    }
                };
                listing.rows.push(InboxListRow {
                    is_watched: self.watched.contains_key(&key),
                    cause,
                    key,
                    row,
                    target: Target::Thread(target),
                    as_of: read.complete_at.filter(|_| is_stale),
                    is_unlisted: read.is_unlisted,
                });
            }
        }
    }

    /// Returns `lab`, or `eu › support-bot` for one of several servers.
    pub fn server_title(&self, server: &ServerRef) -> String {
        // A host is too long.
        let region = self
            .regions
            .get(&server.profile)
            .and_then(|region| region.as_deref());
        let region = region
            .filter(|region| !region.contains(['.', ':']))
            .unwrap_or(&server.profile);
        match server.profile == server.name {
            true => clean(&server.profile).into_owned(),
            false => format!("{} › {}", clean(region), clean(&server.name)),
        }
    }

    pub(super) fn state_of(&self, server: &ServerRef) -> ServerInInbox {
        match self.reads.get(server) {
            _ if self.is_asleep(server) => ServerInInbox::Asleep,
            _ if self.overdue.contains_key(server) => ServerInInbox::Asking,
            None => match self.unknown_lists.get(&server.profile) {
                Some(Some(why)) => ServerInInbox::Failed(why.clone()),
                _ => ServerInInbox::Asking,
            },
            Some(ServerRead {
                failure: Some(error),
                ..
            }) => ServerInInbox::Failed(short_reason(error)),
            Some(ServerRead {
                is_unlisted: true, ..
            }) => ServerInInbox::Unlisted,
            Some(_) => ServerInInbox::Checked,
        }
    }
}

/// Returns what identifies the cause of a thread's row: the same of threads of a graph on a server that need the same.
fn cause_of(target: &ThreadRef, thread: &InboxThread) -> Arc<str> {
    let server = &target.server;
    let graph = thread.graph.as_deref().unwrap_or_default();
    let word = thread.cause.map_or("", InboxCause::word);
    let (address, shape) = (address(server), thread.shape());
    format!("{} {address} {graph} {word} {shape}", server.profile).into()
}

/// Returns the row of a failed revision.
pub(super) fn failed_row(
    key: &str,
    failed: &FailedDeployment,
    region: Option<&str>,
) -> InboxListRow {
    let of = RevisionRef {
        profile: failed.profile.clone(),
        deployment: failed.deployment.as_str().into(),
        revision: failed.revision.revision_id.as_str().into(),
    };
    let (name, address) = (
        failed.name.as_str(),
        format!("{}/{}", failed.profile, failed.name),
    );
    InboxListRow {
        key: format!("revision {key}"),
        cause: format!("revision {key}").into(),
        row: InboxRow::revision(
            &failed.profile,
            region,
            (name, name),
            failed.revision.clone(),
            "",
        ),
        target: Target::Revision(of, address),
        as_of: None,
        is_watched: false,
        is_unlisted: false,
    }
}

/// The state of a server in the inbox.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ServerInInbox {
    Asking,
    Asleep,
    Checked,
    Unlisted,
    Failed(String),
}
