//! A stream on the screen: one event log, its projections, and the views that share one cursor.

mod checkpoint;
mod cursor;
mod display_options;
mod export;
mod facts;
mod find;
pub mod head;
mod rates;
mod scope;
mod stuck;
mod time_travel;

use super::find::Find;
use super::modes_dialog::StreamModes;
use super::views::states::ViewStates;
use super::views::{FIRST_VIEWS, VIEWS, View};
use crate::session::msg::{ServerRef, StreamTarget};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use runtail_api::ApiError;
use runtail_core::config::{EventLogLimits, Timestamps};
use runtail_core::json::Peek;
use runtail_core::model::ThreadStatus;
use runtail_stream::projection::{DeliveryLog, Projections};
use runtail_stream::{End, EventLog, Item, Limits, Record, Seq, SnapshotFields, Target};
use std::sync::Arc;
use std::time::Duration;

pub use checkpoint::{OfHistory, ShownCheckpoint};
pub use cursor::Slot;
pub use head::Cancelling;
pub use time_travel::{Past, Playhead, Speed};

/// The state of the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionState {
    Connecting {
        since: Timestamp,
        /// The number of the connection.
        conn: u32,
    },
    /// The connection is open.
    Live {
        /// The number of the connection.
        conn: u32,
    },
    /// The server has no thread streams, so the list of runs is polled, and no run's stream is open.
    Polling {
        /// The polling interval.
        every: Duration,
        /// Active runs whose events are not read, because they allow only one reader.
        unread: usize,
    },
    /// The connection was lost, and the next attempt is scheduled.
    Retrying {
        /// The number of consecutive failed attempts.
        attempt: u32,
        /// The time of the next attempt.
        until: Timestamp,
        why: String,
    },
    Ended(End),
    /// The stream could not start or continue.
    Failed(ApiError),
}

/// A stream on the screen.
#[derive(Debug)]
pub struct Viewer {
    /// The number of the stream in this session, which also identifies its subscription.
    pub id: u64,
    pub server: ServerRef,
    pub target: StreamTarget,
    /// The thread, once it is known.
    pub thread_id: Option<String>,
    /// The run, once it is known.
    pub run_id: Option<String>,
    pub modes: StreamModes,
    /// The event log.
    pub event_log: EventLog,
    /// The projections up to the shown event.
    pub projections: Projections,
    /// The saved states for time travel, and the shown event.
    past: Past,
    /// The checkpoint that the views show, with the live log meanwhile.
    checkpoint: Option<Box<ShownCheckpoint>>,
    pub connection: ConnectionState,
    /// The views of the two halves. They always differ.
    halves: [View; 2],
    /// The half with the focus.
    focused_half: usize,
    /// Whether both halves are shown, where the stream has the page for itself.
    pub split: bool,
    /// Whether the half with the focus has the whole page.
    is_zoomed: bool,
    /// The event under the cursor, in all views; `None` while following new events.
    anchor: Option<Seq>,
    /// The position and the matches of each view.
    pub(super) slots: [Slot; VIEWS.len()],
    /// What the views keep.
    pub views: ViewStates,
    pub(super) find: Find,
    /// The cancel request for the active run, if there is one.
    pub cancelling: Option<Cancelling>,
    /// The polling interval of the list of runs, and the number of active runs that are not read; `None` if the server
    /// has thread streams.
    polling: Option<(Duration, usize)>,
    /// Whether to read runs that allow only one reader, which takes their events away from other readers.
    pub is_shared: bool,
    /// The runs of the thread that were started here.
    pub own_runs: Vec<String>,
    /// How often the user refreshed the thread's snapshot.
    pub refreshes: u64,
    /// Whether events arrived since the stream was last shown.
    pub news: bool,
    /// Whether the thread was only looked at: the next look at another one replaces it. Any action keeps it.
    pub is_preview: bool,
    /// Whether it gave way in memory, and is read again once it is shown.
    pub(crate) is_parked: bool,
    /// Whether it is a restored page that is not read until the user shows or refreshes it.
    pub(crate) is_asleep: bool,
    /// Whether events are shown as received instead of summarized.
    pub as_received: bool,
    /// The time that ages on the screen count to.
    pub(crate) now: Timestamp,
    pub(crate) tz: TimeZone,
    timestamps: Timestamps,
    /// Whether long lines are wrapped.
    wrap: bool,
}

/// What the projections of a stream begin with.
#[derive(Debug, Clone, Copy)]
struct ProjectionStart {
    max_bytes: usize,
    has_snapshots: bool,
    is_recording: bool,
}

impl ProjectionStart {
    /// Returns the projections before any event.
    fn projections(self) -> Projections {
        let mut projections = Projections::new(self.max_bytes);
        if self.is_recording {
            projections.status.read_recording();
        }
        if self.has_snapshots {
            projections.status.await_snapshot();
        }
        projections
    }
}

impl Viewer {
    /// Creates a viewer that waits for its first connection.
    pub fn new(
        id: u64,
        server: ServerRef,
        target: StreamTarget,
        limits: &EventLogLimits,
        now: Timestamp,
        tz: TimeZone,
    ) -> Self {
        let (thread_id, run_id) = match &target {
            StreamTarget::Start {
                on: Target::Thread(thread),
                ..
            } => (Some(thread.clone()), None),
            StreamTarget::Start { .. } => (None, None),
            StreamTarget::Join { thread, run } => (Some(thread.clone()), Some(run.clone())),
            StreamTarget::Tail { thread } => (Some(thread.clone()), None),
            StreamTarget::Recording { .. } => (None, None),
        };
        let max_bytes = usize::try_from(limits.max_bytes).unwrap_or(usize::MAX);
        let origin = ProjectionStart {
            max_bytes,
            has_snapshots: thread_id.is_some(),
            is_recording: matches!(target, StreamTarget::Recording { .. }),
        };
        Viewer {
            modes: StreamModes::of(&target),
            id,
            server,
            target,
            thread_id,
            run_id,
            event_log: EventLog::new(Limits { max_bytes }),
            projections: origin.projections(),
            past: Past::default(),
            checkpoint: None,
            connection: ConnectionState::Connecting {
                since: now,
                conn: 1,
            },
            halves: FIRST_VIEWS,
            focused_half: 0,
            split: false,
            is_zoomed: false,
            anchor: None,
            slots: Default::default(),
            views: ViewStates::default(),
            find: Find::default(),
            cancelling: None,
            polling: None,
            is_shared: false,
            own_runs: Vec::new(),
            refreshes: 0,
            news: false,
            is_preview: false,
            is_parked: false,
            is_asleep: false,
            as_received: false,
            now,
            tz,
            timestamps: Timestamps::default(),
            wrap: false,
        }
    }

    fn origin(&self) -> ProjectionStart {
        ProjectionStart {
            max_bytes: self.event_log.limits().max_bytes,
            has_snapshots: self.has_snapshots(),
            is_recording: self.is_recording(),
        }
    }

    /// Returns whether the page loads snapshots of a thread; the first one is loaded before the stream.
    pub(in crate::features::stream) fn has_snapshots(&self) -> bool {
        !self.is_recording()
            && !matches!(
                self.target,
                StreamTarget::Start {
                    on: Target::NewThread | Target::Stateless,
                    ..
                }
            )
    }

    /// Applies items from the source.
    pub fn take(&mut self, items: Vec<Item>) {
        self.with_live(|viewer| viewer.apply_items(items));
    }

    fn apply_items(&mut self, items: Vec<Item>) {
        let is_live_event = |item: &Item| match item {
            Item::Record(Record::Event(event)) if !event.replayed && !event.is_snapshot() => {
                Some(event.at)
            }
            _ => None,
        };
        let live_event = items.iter().filter_map(is_live_event).next_back();
        for item in items {
            self.news |= matches!(
                item,
                Item::Record(Record::Event(_) | Record::End(_)) | Item::Failed(_)
            );
            self.fold(&item);
            self.modes.on_item(&item);
            match item {
                Item::Record(record) => {
                    match &record {
                        Record::Open { conn, .. } => {
                            self.connection = ConnectionState::Live { conn: *conn }
                        }
                        Record::Close { .. } => {
                            if let Some((every, unread)) = self.polling {
                                self.connection = ConnectionState::Polling { every, unread };
                            }
                        }
                        Record::Head(head) => {
                            self.thread_id = head.thread_id.clone().or(self.thread_id.take());
                            self.run_id = head.run_id.clone().or(self.run_id.take());
                        }
                        Record::End(end)
                            if !matches!(self.connection, ConnectionState::Failed(_)) =>
                        {
                            self.connection = ConnectionState::Ended(end.clone());
                        }
                        _ => {}
                    }
                    self.event_log.push(record);
                }
                Item::Connecting { at, conn } => {
                    self.connection = ConnectionState::Connecting { since: at, conn }
                }
                Item::Retrying {
                    at,
                    attempt,
                    wait,
                    why,
                    request,
                } => {
                    let until = at
                        .checked_add(jiff::SignedDuration::try_from(wait).unwrap_or_default())
                        .unwrap_or(at);
                    // Put the failure first, because the end of the line can be cut off.
                    let why = why.lines().next().unwrap_or_default().to_string();
                    let why = if request.is_empty() {
                        why
                    } else {
                        format!("{why} · {request}")
                    };
                    self.connection = ConnectionState::Retrying {
                        attempt,
                        until,
                        why,
                    };
                }
                Item::Started { thread_id, run_id } => {
                    self.thread_id = thread_id.or(self.thread_id.take());
                    self.run_id = Some(run_id);
                }
                Item::Failed(error) => self.connection = ConnectionState::Failed(*error),
                Item::Following { every, unread, .. } => {
                    self.polling = Some((every, unread));
                    // A run's stream is read in parallel with the list of runs.
                    if !matches!(self.connection, ConnectionState::Live { .. }) {
                        self.connection = ConnectionState::Polling { every, unread };
                    }
                }
                Item::Heartbeat { .. }
                | Item::Repeated { .. }
                | Item::Terms(_)
                | Item::ModesKept { .. }
                | Item::Silent { .. } => {}
            }
        }
        let projections = self.present();
        self.event_log
            .reserve(projections.weight() + projections.remembered());
        self.follow_cancelling(live_event);
    }

    /// Returns the delivery log of all received events, also during time travel.
    pub fn delivery_log(&self) -> &DeliveryLog {
        &self.present().delivery
    }

    /// Returns the memory used by the event log, the projections and the saved states for time travel, in bytes.
    pub fn bytes(&self) -> usize {
        let now = if self.playhead().is_some() {
            self.present().weight()
        } else {
            0
        };
        let shown = self.event_log.kept_bytes() + self.projections.weight() + self.past.bytes();
        shown + now + self.other_bytes() + self.views.bytes()
    }

    /// Drops the saved states; they can be rebuilt from the event log.
    pub(crate) fn drop_saved_states(&mut self) {
        self.past.drop_saved();
    }

    /// Returns whether the stream is read from a file, without a server.
    pub fn is_recording(&self) -> bool {
        matches!(self.target, StreamTarget::Recording { .. })
    }

    /// Returns whether the stream has sent no events, so that everything shown was loaded.
    pub fn has_only_snapshots(&self) -> bool {
        self.delivery_log().received == 0
    }

    /// Returns whether more events may arrive.
    pub fn is_open(&self) -> bool {
        !matches!(
            self.connection,
            ConnectionState::Ended(_) | ConnectionState::Failed(_)
        )
    }

    /// Returns whether no event is expected: the stream has ended, or the runs of its thread have. During time travel more events
    /// follow.
    pub fn is_over(&self) -> bool {
        use ThreadStatus::{Cancelled, Deleted, Edited, Failed, Idle};
        let is_ended = matches!(
            self.thread_status(),
            Idle { .. } | Failed { .. } | Cancelled { .. } | Edited { .. } | Deleted
        );
        let has_runs = !self.present().status.runs().is_empty();
        self.playhead().is_none() && (!self.is_open() || is_ended && has_runs)
    }

    /// Returns the view with the focus.
    pub fn view(&self) -> View {
        self.halves[self.focused_half]
    }

    /// Returns the shown views, the left or upper one first, and whether each has the focus.
    pub fn shown(&self) -> Vec<(View, bool)> {
        match self.is_split() && !self.is_zoomed {
            true => self
                .halves
                .iter()
                .enumerate()
                .map(|(i, view)| (*view, i == self.focused_half))
                .collect(),
            false => vec![(self.view(), true)],
        }
    }

    /// Returns whether a view is shown.
    pub fn shows(&self, view: View) -> bool {
        self.shown().iter().any(|(shown, _)| *shown == view)
    }

    /// Shows a view in the focused half. If the other half shows it, the two halves swap.
    pub fn show(&mut self, view: View) {
        if self.halves[1 - self.focused_half] == view {
            self.halves.swap(0, 1);
        }
        self.halves[self.focused_half] = view;
    }

    /// Returns whether two views are shown.
    pub fn is_split(&self) -> bool {
        self.split
    }

    /// Shows two views, or one again.
    pub fn toggle_split(&mut self) {
        (self.split, self.is_zoomed) = (!self.split, false);
    }

    /// Gives the half of a split with the focus the whole page, or takes it back.
    pub fn toggle_zoom(&mut self) {
        self.is_zoomed = self.split && !self.is_zoomed;
    }

    /// Returns the view of the other half.
    pub fn partner(&self) -> View {
        self.halves[1 - self.focused_half]
    }

    /// Shows a view beside the focused one, which is then the left or upper one.
    pub fn show_beside(&mut self, view: View) {
        self.halves = [self.view(), view];
        (self.focused_half, self.split, self.is_zoomed) = (0, true, false);
    }

    /// Shows the next or previous view.
    pub fn turn(&mut self, by: isize) {
        let at = VIEWS.iter().position(|v| *v == self.view()).unwrap_or(0) as isize;
        let next = |at: isize| VIEWS[at.rem_euclid(VIEWS.len() as isize) as usize];
        let mut view = next(at + by);
        if self.is_split() && self.halves[1 - self.focused_half] == view {
            view = next(at + 2 * by);
        }
        self.show(view);
    }

    /// Moves the focus to the other half, if two views are shown.
    pub fn other_half(&mut self) -> bool {
        if self.is_split() {
            self.focused_half = 1 - self.focused_half;
        }
        self.is_split()
    }

    /// Moves the focus to the half that shows a view.
    pub fn focus(&mut self, view: View) {
        if let Some(half) = self
            .halves
            .iter()
            .position(|shown| *shown == view)
            .filter(|_| self.is_split())
        {
            self.focused_half = half;
        }
    }

    /// Records that the stream's task failed, so that no more events arrive.
    pub fn fail(&mut self, why: &str) {
        let at = runtail_api::Place {
            host: self.server.url.to_string(),
            ..Default::default()
        };
        let hint = Some("a bug in runtail; :reopen reloads the stream".to_string());
        let detail = format!("the stream failed: {why}");
        self.connection = ConnectionState::Failed(ApiError {
            kind: runtail_api::Kind::Protocol,
            at,
            detail,
            hint,
        });
    }

    /// Returns the text to copy: the text of a message, or else the event's data.
    pub fn copy_text(&self) -> Option<String> {
        self.view().of().copied(self)
    }

    /// Returns the record of the run under the cursor, if the entry has one: a title, and the JSON as loaded.
    fn run_record(&self) -> Option<(String, Arc<str>)> {
        let run = self.view().of().run_under_cursor(self)?;
        let id = run.run_id.as_deref()?;
        let event = self.event_log.get(self.projections.status.loaded()?.seq)?;
        let fields = SnapshotFields::read(event.data.json()?)?;
        let has_id = |run: &Peek<'_>| run.get("run_id").is_some_and(|known| known.is(id));
        let raw = fields.runs?.items().find(has_id)?;
        Some((format!("{} · {id}", run.name()), raw.text().into()))
    }

    /// Returns the JSON of the event under the cursor, with a title.
    pub fn inspect(&self) -> Option<(String, Arc<str>)> {
        if let Some(record) = self.run_record() {
            return Some(record);
        }
        let event = self.event_under_cursor()?;
        let ns = if event.ns.is_empty() {
            String::new()
        } else {
            format!(" {}", event.ns.join(" › "))
        };
        let id = event
            .id
            .as_deref()
            .map(|id| format!(" · id {id}"))
            .unwrap_or_default();
        let title = match event.is_snapshot() {
            true => "loaded from the server's records".to_string(),
            false => format!(
                "event {} · {}{ns}{id}",
                self.event_log.number_of(event.seq),
                event.name
            ),
        };
        Some((title, event.data.text().clone()))
    }
}
