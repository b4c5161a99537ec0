//! The page of the inbox: its selection, filter and keys.

use super::rows::{Entry, Rows};
use super::{detail, several, view};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::inbox::{InboxListRow, Listing, Target, table};
use crate::session::msg::{BulkTarget, Described, Effect, EffectResult, RowDetail, ThreadRef};
use crate::session::row_details::RowDetails;
use crate::session::thread::AnswerFrom;
use crate::session::{Component, Cx, Request, Requests, Route, Session, not_sent};
use crate::widgets::canvas::Canvas;
use crate::widgets::table::Table;
use jiff::Timestamp;
use runtail_api::{ApiError, BulkAction, CancelAction, MAX_BULK, ThreadIntent};
use runtail_core::model::{GivenAnswer, InboxGroup, compare_inbox};
use runtail_core::text;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The page.
#[derive(Debug, Clone, Default)]
pub struct InboxPage {
    pub(super) rows: Rows,
    pub(super) table: Table,
    /// The marked rows as they were when they were marked.
    marked: HashMap<String, InboxListRow>,
    pub(super) details: RowDetails,
    /// Whether the user moved the cursor. From then on the rows keep their places.
    is_touched: bool,
    /// Whether the selected row can be answered.
    can_answer: bool,
}

impl InboxPage {
    /// Creates a page of these rows.
    pub fn new(listing: Arc<Listing>) -> InboxPage {
        InboxPage::default().reopened(listing)
    }

    /// Shows these rows, sorted. The selection stays on its row.
    pub fn reopened(mut self, listing: Arc<Listing>) -> InboxPage {
        self.rows.set(listing, false, &mut self.table);
        self
    }

    /// Applies the newest rows, if they are not shown yet.
    pub fn update_listing(&mut self, newest: &Arc<Listing>) {
        if !Arc::ptr_eq(&self.rows.listing, newest) {
            self.rows
                .set(newest.clone(), self.is_touched, &mut self.table);
        }
    }

    /// Returns the rows and their completeness.
    pub(super) fn listing(&self) -> &Listing {
        &self.rows.listing
    }

    /// Notes that the user moved the cursor.
    #[cfg(test)]
    pub(super) fn touch(&mut self) {
        self.is_touched = true;
    }

    /// Returns the selected entry.
    pub(super) fn selected(&self) -> Option<Entry> {
        self.rows.selected(&self.table)
    }

    /// Returns the row whose details are shown: of a group the one that its place is by.
    pub(super) fn focused(&self) -> Option<&InboxListRow> {
        Some(self.rows.row(self.selected()?))
    }

    /// Returns the entries on the screen.
    pub(super) fn visible(&self) -> &[Entry] {
        self.rows.window(self.table.visible())
    }

    /// Returns the rows whose details may be read: the selected one, and the visible ones.
    fn readable(&self) -> Vec<&InboxListRow> {
        let visible = self.visible().iter().map(|entry| self.rows.row(*entry));
        self.focused().into_iter().chain(visible).collect()
    }

    /// Applies the details of a row.
    pub fn on_row_read(&mut self, of: &Target, result: Result<RowDetail, ApiError>) {
        let mut rows = self.rows.listing.rows.iter();
        if let Some(row) = rows.find(|row| row.target == *of) {
            self.details.on_read(&row.key, result);
        }
    }

    /// Removes the mark of a thread on which the marked threads' action is done.
    pub fn unmark(&mut self, thread: &ThreadRef) {
        let is_kept =
            |row: &InboxListRow| !matches!(&row.target, Target::Thread(of) if of == thread);
        self.marked.retain(|_, row| is_kept(row));
        let marked = &self.marked;
        self.table.marked.retain(|key| marked.contains_key(key));
    }

    /// Marks the threads of the rows, or removes their marks if all of them are marked.
    fn toggle_marks(&mut self, rows: Vec<InboxListRow>) -> Requests {
        let threads: Vec<InboxListRow> = rows.into_iter().filter(InboxListRow::is_thread).collect();
        if threads.is_empty() {
            return Requests::info("Only threads can be marked.");
        }
        let table = &mut self.table;
        // Esc clears the marks of the table.
        self.marked.retain(|key, _| table.marked.contains(key));
        if threads.iter().all(|row| table.marked.contains(&row.key)) {
            for row in &threads {
                table.marked.remove(&row.key);
            }
        } else {
            table
                .marked
                .extend(threads.iter().map(|row| row.key.clone()));
            for row in threads {
                self.marked.entry(row.key.clone()).or_insert(row);
            }
        }
        Requests::none()
    }

    /// Returns how many marked threads the page doesn't show.
    pub(super) fn hidden_marks(&self) -> usize {
        let shown = |entry: &Entry| match entry {
            Entry::Group(group) => self.rows.group(*group).marked,
            Entry::Row(_, true) => 0,
            Entry::Row(..) => self
                .table
                .marked
                .contains(&self.rows.row(*entry).key)
                .into(),
        };
        let all = self.rows.window(0..self.rows.len());
        self.table
            .marked
            .len()
            .saturating_sub(all.iter().map(shown).sum())
    }

    /// Returns the preview of an action on the marked threads, else on those of the selected group.
    fn act_on_several(&self, cx: &Cx<'_>, action: &BulkAction) -> Option<Requests> {
        let marked: Vec<&InboxListRow> = match self.table.marked.is_empty() {
            false => {
                let mut rows: Vec<_> = self
                    .table
                    .marked
                    .iter()
                    .filter_map(|key| self.marked.get(key))
                    .collect();
                rows.sort_by(|a, b| compare_inbox(&a.row, &b.row));
                rows
            }
            true => match self.selected()? {
                entry @ Entry::Group(_) => self.rows.rows(entry),
                Entry::Row(..) => return None,
            },
        };
        if marked.len() > MAX_BULK {
            let count = text::count(marked.len() as u64);
            return Some(Requests::error(not_sent(format!(
                "{count} threads; at most {MAX_BULK} at once. Filter (/), then mark (ctrl-a)."
            ))));
        }
        let now: HashMap<&str, &InboxListRow> = self
            .listing()
            .rows
            .iter()
            .map(|row| (&*row.key, row))
            .collect();
        let places: HashSet<String> = marked.iter().map(|row| table::place(&row.row)).collect();
        let targets = marked.iter().filter_map(|row| {
            let target = several::target(row, now.get(&*row.key).copied(), action, cx)?;
            let place = table::place(&row.row);
            let title = if places.len() > 1 {
                place
            } else {
                String::new()
            };
            Some(BulkTarget { title, ..target })
        });
        let mut out = Requests::from(Route::Bulk(action.clone(), targets.collect()));
        match self.hidden_marks() {
            0 => {}
            hidden => out.notify(
                false,
                format!(
                    "{} not shown: filtered, or resolved.",
                    text::counted(hidden, "marked thread")
                ),
            ),
        }
        Some(out)
    }

    /// Handles an action on a group; `None` if the entry is none.
    fn act_on_group(&mut self, entry: Entry, action: Action) -> Option<Requests> {
        let Entry::Group(at) = entry else { return None };
        let is_open = self.rows.group(at).is_open;
        match action {
            Action::Open | Action::Right => {
                self.rows
                    .set_open(entry, !is_open || action == Action::Right, &mut self.table);
                Some(Requests::none())
            }
            Action::Explain => {
                let (row, count) = (self.rows.row(entry), self.rows.group(at).rows.len());
                let text = format!("Thread 1 of {count}: {}", table::thread(&row.row));
                let mut out = InboxPage::open(row, action);
                out.notify(false, text);
                Some(out)
            }
            _ => Some(Requests::info(
                "A group: unfold it with → and select a thread.",
            )),
        }
    }

    fn open(row: &InboxListRow, action: Action) -> Requests {
        match (&row.target, action) {
            (Target::Thread(thread), Action::Open | Action::Right) => {
                Route::Thread(thread.clone()).into()
            }
            (Target::Thread(thread), Action::Explain) => Route::WhyThread(thread.clone()).into(),
            (Target::Thread(thread), Action::Answer | Action::Approve) => Route::Answer(
                AnswerFrom::Server(thread.clone()),
                action == Action::Approve,
            )
            .into(),
            (Target::Thread(thread), Action::Describe) => {
                Route::Record(Described::Thread(thread.server.clone(), thread.id.clone())).into()
            }
            (Target::Revision(of, address), Action::Open | Action::Right | Action::Explain) => {
                Route::Explanation {
                    of: of.clone(),
                    name: row.row.deployment.clone(),
                    address: address.clone(),
                }
                .into()
            }
            (Target::Revision(of, _), Action::Describe) => {
                Route::Record(Described::Revision(of.clone())).into()
            }
            (Target::Thread(thread), Action::CancelRun) => {
                let is_stuck = row.row.group() == InboxGroup::Stuck;
                let (server, thread) = (thread.server.clone(), thread.id.clone());
                let intent = match is_stuck {
                    true => ThreadIntent::Cancel {
                        thread,
                        run: None,
                        action: CancelAction::Interrupt,
                        with_queue: false,
                    },
                    false => ThreadIntent::End { thread },
                };
                Route::on_thread(server, intent).into()
            }
            (Target::Thread(thread), Action::Again) => {
                let (server, thread) = (thread.server.clone(), thread.id.clone());
                Route::on_thread(server, ThreadIntent::Retry { thread, edit: None }).into()
            }
            (Target::Thread(thread), Action::Watch) => Request::WatchThread(thread.clone()).into(),
            (
                Target::Revision(..),
                Action::CancelRun
                | Action::Watch
                | Action::Answer
                | Action::Approve
                | Action::Again,
            ) => Requests::info("The revision has failed; e explains it."),
            _ => Requests::none(),
        }
    }
}

impl Component for InboxPage {
    fn on_reply(&mut self, _session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let EffectResult::RowRead(of, result) = reply else {
            return None;
        };
        self.on_row_read(of, result.clone());
        Some(Requests::none())
    }

    fn context(&self) -> Context {
        Context::Inbox
    }

    fn tab_name(&self) -> Option<String> {
        let rows = self.listing().rows.len();
        Some(if rows == 0 {
            "Inbox".into()
        } else {
            format!("Inbox {rows}")
        })
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        // The row that was acted on stays selected, also when the page is opened again.
        self.is_touched = true;
        let bulk = match action {
            Action::Approve => Some(BulkAction::Answer(GivenAnswer::Approve)),
            Action::Again => Some(BulkAction::Retry(None)),
            _ => None,
        };
        if let Some(preview) = bulk.and_then(|bulk| self.act_on_several(cx, &bulk)) {
            return preview;
        }
        let rows = |rows: Vec<&InboxListRow>| rows.into_iter().cloned().collect();
        if action == Action::MarkAll {
            return self.toggle_marks(rows(self.rows.all()));
        }
        let Some(entry) = self.selected() else {
            return Requests::none();
        };
        match action {
            Action::Mark => {
                let out = self.toggle_marks(rows(self.rows.rows(entry)));
                self.table.step(1);
                out
            }
            Action::Left => {
                self.rows.set_open(entry, false, &mut self.table);
                Requests::none()
            }
            action => match self.act_on_group(entry, action) {
                Some(out) => out,
                None => InboxPage::open(self.rows.row(entry), action),
            },
        }
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.table)
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        self.is_touched = true;
        self.table.step(lines);
    }

    fn copied(&mut self) -> Option<String> {
        match &self.focused()?.target {
            Target::Thread(thread) => Some(thread.id.clone()),
            Target::Revision(of, _) => Some(of.revision.to_string()),
        }
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        let group = match self.selected() {
            Some(Entry::Group(at)) => Some(self.rows.group(at)),
            _ => None,
        };
        let fold = group.map(|group| if group.is_open { "fold" } else { "unfold" });
        let all = Commands::of(Context::Inbox).without(&["app.inbox"]);
        let is_failed = self
            .focused()
            .is_some_and(|row| row.row.group() == InboxGroup::Failed && row.is_thread());
        let several = group.is_some() || !self.table.marked.is_empty();
        let ids: &[&'static str] = match (self.selected(), self.can_answer) {
            (None, _) => &["app.refresh", "app.back"],
            (_, true) if several => &["inbox.approve", "inbox.open", "inbox.mark", "inbox.explain"],
            _ if several => &["inbox.retry", "inbox.open", "inbox.mark", "inbox.explain"],
            (_, true) => &[
                "inbox.answer",
                "inbox.open",
                "inbox.mark",
                "inbox.explain",
                "inbox.filter",
            ],
            _ if is_failed => &[
                "inbox.open",
                "inbox.retry",
                "inbox.mark",
                "inbox.explain",
                "inbox.filter",
            ],
            _ => &[
                "inbox.open",
                "inbox.explain",
                "inbox.details",
                "inbox.filter",
            ],
        };
        let label = |id: &&'static str| (*id, fold.filter(|_| *id == "inbox.open"));
        all.footer(&[]).show(ids.iter().map(label))
    }

    /// Reads the details of a row.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        let mut details = std::mem::take(&mut self.details);
        let target = details.take_next(&self.readable(), cx);
        self.details = details;
        target
            .map(|target| Effect::ReadRow(target).into())
            .unwrap_or_default()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.rows.refresh(&mut self.table);
        self.table.fit(view::rows_height(cx.session.page_size()));
        self.can_answer = self
            .focused()
            .is_some_and(|row| detail::can_answer(row, cx));
        let mut details = std::mem::take(&mut self.details);
        details.select(self.focused().map(|row| &*row.key), cx.session.now);
        self.details = details;
    }

    /// Returns the time until a visible age changes, or a row is read.
    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        let until = |since: Timestamp, profile: &str| {
            let age = Duration::try_from(cx.session.server_time(profile).duration_since(since))
                .unwrap_or_default();
            let unit = text::age_unit(age);
            unit.saturating_sub(Duration::from_secs(age.as_secs() % unit.as_secs()))
                .max(Duration::from_secs(1))
        };
        let rows = self.readable();
        let ages = rows
            .iter()
            .filter_map(|row| Some(until(row.row.since()?, &row.row.profile)));
        ages.chain(self.details.next_tick(&rows, cx)).min()
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::inbox(self, cx, canvas);
        None
    }
}
