//! The page of the inbox: its selection, filter and keys.

use super::{detail, view};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::inbox::{InboxListRow, Listing, Target};
use crate::session::msg::{Described, Effect, EffectResult, RowDetail};
use crate::session::row_details::RowDetails;
use crate::session::thread::AnswerFrom;
use crate::session::{Component, Cx, Request, Requests, Route, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::table::Table;
use jiff::Timestamp;
use runtail_api::{ApiError, CancelAction, ThreadIntent};
use runtail_core::model::{InboxGroup, InboxItem};
use runtail_core::text;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The page.
#[derive(Debug, Clone, Default)]
pub struct InboxPage {
    listing: Arc<Listing>,
    /// The keys of the rows, as shown.
    order: Vec<String>,
    pub(super) table: Table,
    pub(super) details: RowDetails,
    /// Whether the user moved the cursor. From then on the rows keep their places.
    is_touched: bool,
    /// Whether the selected row can be answered.
    can_answer: bool,
}

impl InboxPage {
    /// Creates a page of these rows.
    pub fn new(listing: Arc<Listing>) -> InboxPage {
        let mut page = InboxPage::default();
        page.set_listing(listing);
        page
    }

    /// Shows these rows, sorted. The selection stays on its row.
    pub fn reopened(mut self, listing: Arc<Listing>) -> InboxPage {
        self.order.clear();
        self.set_listing(listing);
        self
    }

    /// Applies new rows. New ones join at the end of their group, so that no row moves under the user's eyes.
    pub fn set_listing(&mut self, listing: Arc<Listing>) {
        let before: HashMap<&str, usize> = self
            .order
            .iter()
            .enumerate()
            .map(|(n, key)| (key.as_str(), n))
            .collect();
        let mut rows: Vec<(u8, usize, &str)> = listing
            .rows
            .iter()
            .map(|row| {
                let at = before
                    .get(row.key.as_str())
                    .copied()
                    .filter(|_| self.is_touched);
                (
                    row.row.group().rank(),
                    at.unwrap_or(usize::MAX),
                    row.key.as_str(),
                )
            })
            .collect();
        // Stable: rows that are new keep the order of the inbox.
        rows.sort_by_key(|(rank, at, _)| (*rank, *at));
        self.order = rows.into_iter().map(|(.., key)| key.to_string()).collect();
        self.listing = listing;
    }

    /// Applies the newest rows, if they are not shown yet.
    pub fn update_listing(&mut self, newest: &Arc<Listing>) {
        if !Arc::ptr_eq(&self.listing, newest) {
            self.set_listing(newest.clone());
        }
    }

    /// Returns the rows and their completeness.
    pub(super) fn listing(&self) -> &Listing {
        &self.listing
    }

    /// Returns the rows that match the filter, as shown.
    pub(super) fn shown(&self) -> Vec<&InboxListRow> {
        let by_key: HashMap<&str, &InboxListRow> = self
            .listing
            .rows
            .iter()
            .map(|row| (row.key.as_str(), row))
            .collect();
        let fits = |row: &&InboxListRow| {
            let inner = &row.row;
            let of_thread = match &inner.item {
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
            self.table.fits(texts) || self.table.fits([inner.needs()])
        };
        self.order
            .iter()
            .filter_map(|key| by_key.get(key.as_str()).copied())
            .filter(fits)
            .collect()
    }

    /// Notes that the user moved the cursor.
    #[cfg(test)]
    pub(super) fn touch(&mut self) {
        self.is_touched = true;
    }

    /// Returns the selected row.
    pub(super) fn selected(&self) -> Option<&InboxListRow> {
        let key = self.table.selected()?;
        self.shown().into_iter().find(|row| row.key == *key)
    }

    /// Applies the details of a row.
    pub fn on_row_read(&mut self, of: &Target, result: Result<RowDetail, ApiError>) {
        if let Some(key) = self
            .listing
            .rows
            .iter()
            .find(|row| row.target == *of)
            .map(|row| row.key.clone())
        {
            self.details.on_read(&key, result);
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
            (Target::Thread(thread), Action::Watch) => Request::WatchThread(thread.clone()).into(),
            (Target::Revision(..), Action::CancelRun) => {
                Requests::info("The revision has failed already, so there is nothing to end.")
            }
            (Target::Revision(..), Action::Watch) => Requests::info(
                "The revision has failed, so it doesn't change. Watch a new one in the deployments list.",
            ),
            (Target::Revision(..), Action::Answer | Action::Approve) => Requests::info(
                "A failed revision has no question to answer. Press e to explain it.",
            ),
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

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        // The row that was acted on stays selected, also when the page is opened again.
        self.is_touched = true;
        self.selected()
            .map(|row| InboxPage::open(row, action))
            .unwrap_or_default()
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
        match &self.selected()?.target {
            Target::Thread(thread) => Some(thread.id.clone()),
            Target::Revision(of, _) => Some(of.revision.to_string()),
        }
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        let all = Commands::of(Context::Inbox).without(&["app.inbox"]);
        all.footer(match (self.selected().is_some(), self.can_answer) {
            (_, true) => &[
                "inbox.answer",
                "inbox.open",
                "inbox.explain",
                "inbox.filter",
            ],
            (true, false) => &[
                "inbox.open",
                "inbox.explain",
                "inbox.details",
                "inbox.filter",
            ],
            (false, _) => &["app.refresh", "app.back"],
        })
    }

    /// Reads the details of a row.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        let mut details = std::mem::take(&mut self.details);
        let target = details.take_next(&self.shown(), cx);
        self.details = details;
        target
            .map(|target| Effect::ReadRow(target).into())
            .unwrap_or_default()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let ids = self
            .shown()
            .into_iter()
            .map(|row| row.key.clone())
            .collect();
        self.table
            .lay_out(ids, view::rows_height(cx.session.page_size()));
        self.can_answer = self
            .selected()
            .is_some_and(|row| detail::can_answer(row, cx));
        self.details.select(self.table.selected(), cx.session.now);
    }

    /// Returns the time until an age changes, or a row is read.
    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        let until = |since: Timestamp, profile: &str| {
            let age = Duration::try_from(cx.session.server_time(profile).duration_since(since))
                .unwrap_or_default();
            let unit = text::age_unit(age);
            unit.saturating_sub(Duration::from_secs(age.as_secs() % unit.as_secs()))
                .max(Duration::from_secs(1))
        };
        let ages = self
            .listing
            .rows
            .iter()
            .filter_map(|row| Some(until(row.row.since()?, &row.row.profile)));
        ages.chain(self.details.next_tick(&self.shown(), cx)).min()
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::inbox(self, cx, canvas);
        None
    }
}
