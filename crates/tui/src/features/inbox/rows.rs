//! The rows of the page: threads that need the same are a group, which unfolds. They are laid out when the rows, the filter, the marks
//! or what is unfolded change, and not for each frame.

use crate::session::inbox::{InboxListRow, Listing};
use crate::widgets::table::Table;
use jiff::Timestamp;
use runtail_core::model::InboxItem;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Several threads, by the index of their group.
    Group(usize),
    /// A thread or revision, by its index in the listing, and whether it is one of a group.
    Row(usize, bool),
}

/// Rows with the same cause, by their indices in the listing.
#[derive(Debug, Clone, Default)]
pub struct Group {
    cause: Arc<str>,
    pub rows: Vec<usize>,
    pub is_open: bool,
    /// How many of them are marked.
    pub marked: usize,
    /// The times of the first and of the newest one.
    pub since: Option<(Timestamp, Timestamp)>,
}

/// The rows of the inbox by cause.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pub listing: Arc<Listing>,
    /// All causes in the order in which they are shown.
    causes: Vec<Group>,
    /// The groups that are shown: only rows that match the filter are part of them.
    groups: Vec<Group>,
    /// What is shown, parallel to the ids of the table.
    entries: Vec<Entry>,
    /// The causes that are unfolded.
    unfolded: BTreeSet<Arc<str>>,
    /// The filter and the number of marks that are laid out.
    laid_out: (String, usize),
    /// The number of rows that match the filter.
    pub matches: usize,
    /// How many rows were visited to lay out the page.
    #[cfg(test)]
    pub visited: std::cell::Cell<usize>,
}

impl Rows {
    /// Sets the rows. With `keeps_places`, new causes join at the end of their kind, and new threads at the end of their group, so
    /// that no row moves under the user's eyes.
    pub fn set(&mut self, listing: Arc<Listing>, keeps_places: bool, table: &mut Table) {
        let old = std::mem::replace(&mut self.listing, listing);
        let before = std::mem::take(&mut self.causes);
        let (mut of_causes, mut of_rows) = (HashMap::new(), HashMap::new());
        if keeps_places {
            for (at, group) in before.iter().enumerate() {
                of_causes.insert(&*group.cause, at);
                for row in &group.rows {
                    of_rows.insert(old.rows[*row].key.as_str(), of_rows.len());
                }
            }
        }
        let rows = &self.listing.rows;
        let mut known: HashMap<&str, usize> = HashMap::new();
        for (at, row) in rows.iter().enumerate() {
            let group = *known.entry(&row.cause).or_insert_with(|| {
                self.causes.push(Group {
                    cause: row.cause.clone(),
                    ..Group::default()
                });
                self.causes.len() - 1
            });
            self.causes[group].rows.push(at);
        }
        // Stable: what is new keeps the order of the inbox.
        let place = |known: Option<&usize>| known.copied().unwrap_or(usize::MAX);
        self.causes.sort_by_key(|group| {
            let rank = rows[group.rows[0]].row.group().rank();
            (rank, place(of_causes.get(&*group.cause)))
        });
        if keeps_places {
            for group in &mut self.causes {
                group
                    .rows
                    .sort_by_key(|row| place(of_rows.get(rows[*row].key.as_str())));
            }
        }
        self.unfolded.retain(|cause| known.contains_key(&**cause));
        self.lay_out(table);
    }

    /// Lays the rows out again if the filter or the marks changed.
    pub fn refresh(&mut self, table: &mut Table) {
        let (filter, marks) = &self.laid_out;
        if *filter != table.filter || *marks != table.marked.len() {
            self.lay_out(table);
        }
    }

    /// Lays out the rows that match the filter. The selection stays on its thread: in a group that is folded, on the group.
    fn lay_out(&mut self, table: &mut Table) {
        let listing = self.listing.clone();
        let rows = &listing.rows;
        self.laid_out = (table.filter.clone(), table.marked.len());
        self.groups.clear();
        self.entries.clear();
        self.matches = 0;
        let mut ids = Vec::new();
        let mut instead = None;
        let selected = table.selected().unwrap_or_default();
        for cause in &self.causes {
            let of_cause = cause.rows.iter().copied();
            let of_cause: Vec<usize> = of_cause.filter(|at| fits(table, &rows[*at])).collect();
            self.matches += of_cause.len();
            #[cfg(test)]
            self.visited.set(self.visited.get() + cause.rows.len());
            let id = group_id(&cause.cause);
            match of_cause.as_slice() {
                [] => {}
                [one] => {
                    if id == selected {
                        instead = Some(rows[*one].key.clone());
                    }
                    ids.push(rows[*one].key.clone());
                    self.entries.push(Entry::Row(*one, false));
                }
                several => {
                    let is_open = self.unfolded.contains(&cause.cause);
                    let key = |at: &usize| rows[*at].key.as_str();
                    if !is_open && several.iter().any(|at| key(at) == selected) {
                        instead = Some(id.clone());
                    }
                    ids.push(id);
                    self.entries.push(Entry::Group(self.groups.len()));
                    if is_open {
                        ids.extend(several.iter().map(|at| key(at).to_string()));
                        self.entries
                            .extend(several.iter().map(|at| Entry::Row(*at, true)));
                    }
                    let times = || several.iter().filter_map(|at| rows[*at].row.since());
                    let since = times().min().zip(times().max());
                    let marked = several
                        .iter()
                        .filter(|at| table.marked.contains(key(at)))
                        .count();
                    self.groups.push(Group {
                        cause: cause.cause.clone(),
                        rows: of_cause,
                        is_open,
                        marked,
                        since,
                    });
                }
            }
        }
        table.set_ids(ids);
        if let Some(id) = instead {
            table.prefer(id);
        }
    }

    /// Returns the entries in a window.
    pub fn window(&self, window: Range<usize>) -> &[Entry] {
        self.entries.get(window).unwrap_or_default()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the selected entry.
    pub fn selected(&self, table: &Table) -> Option<Entry> {
        self.entries.get(table.at()?).copied()
    }

    /// Returns a group.
    pub fn group(&self, at: usize) -> &Group {
        &self.groups[at]
    }

    /// Returns the row of an entry; of a group the one that its place is by.
    pub fn row(&self, entry: Entry) -> &InboxListRow {
        #[cfg(test)]
        self.visited.set(self.visited.get() + 1);
        let at = match entry {
            Entry::Group(group) => self.groups[group].rows[0],
            Entry::Row(at, _) => at,
        };
        &self.listing.rows[at]
    }

    /// Returns the rows of an entry: several of a group.
    pub fn rows(&self, entry: Entry) -> Vec<&InboxListRow> {
        match entry {
            Entry::Group(group) => {
                let rows = self.groups[group].rows.iter();
                #[cfg(test)]
                self.visited.set(self.visited.get() + rows.len());
                rows.map(|at| &self.listing.rows[*at]).collect()
            }
            Entry::Row(..) => vec![self.row(entry)],
        }
    }

    /// Returns all rows that match the filter, also those in groups that are folded.
    pub fn all(&self) -> Vec<&InboxListRow> {
        let is_shown = |entry: &&Entry| !matches!(entry, Entry::Row(_, true));
        let shown = self.entries.iter().filter(is_shown);
        shown.flat_map(|entry| self.rows(*entry)).collect()
    }

    /// Folds or unfolds the group of an entry. Returns whether it has one that wasn't so.
    pub fn set_open(&mut self, entry: Entry, is_open: bool, table: &mut Table) -> bool {
        if matches!(entry, Entry::Row(_, false)) {
            return false;
        }
        let cause = self.row(entry).cause.clone();
        let is_changed = match is_open {
            true => self.unfolded.insert(cause),
            false => self.unfolded.remove(&cause),
        };
        if is_changed {
            self.lay_out(table);
        }
        is_changed
    }
}

/// Returns the id of a group in the table.
fn group_id(cause: &str) -> String {
    format!("group {cause}")
}

/// Returns whether a row matches the filter.
fn fits(table: &Table, row: &InboxListRow) -> bool {
    let inner = &row.row;
    let of_thread = match &inner.item {
        _ if table.filter.is_empty() => return true,
        InboxItem::Thread(thread) => [
            Some(thread.thread_id.as_str()),
            thread.graph.as_deref(),
            thread.owner.as_deref(),
        ],
        InboxItem::Revision(revision) => [Some(revision.revision_id.as_str()), None, None],
    };
    let texts = [
        inner.profile.as_str(),
        &inner.deployment,
        inner.state(),
        inner.region.as_deref().unwrap_or(""),
    ];
    let texts = texts.into_iter().chain(of_thread.into_iter().flatten());
    table.fits(texts) || table.fits([inner.needs()])
}
