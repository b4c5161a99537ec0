//! Projections fold an event log, event by event, into the data of the views. Each one processes an event in time
//! proportional to its size, is bounded in memory, and stores positions, so that "as of event N" is a lookup.

mod blocks;
mod content;
mod custom;
mod delivery;
mod event_attrs;
mod graph_activity;
mod landmarks;
mod lifecycle;
mod message;
mod message_builder;
mod message_lists;
mod messages;
mod metrics;
mod missed;
mod node_path;
mod node_sums;
mod order;
mod placing;
mod rates;
mod redact;
mod rows;
mod siblings;
mod spans;
mod starts;
mod status;
mod steps;
mod summary;
mod timeline;
mod updates;
mod usage;
mod values;

pub use crate::json::path::Path;
pub use crate::json::{difference, index};
pub use crate::source::id_key::is_start;
pub use content::{Citation, Part};
pub use custom::{Progress, is_custom};
pub use delivery::{Connection, DeliveryLog, Liveness, PossibleGap};
pub use event_attrs::EventAttrs;
pub use graph_activity::{ActivityCache, GraphActivity, NodeActivity};
pub use landmarks::Landmarks;
pub use lifecycle::{Lifecycle, LifecycleKind, LifecycleRow};
pub use message::{Message, Role, ToolCall};
pub use messages::Messages;
pub use metrics::{Metrics, ModelMetrics, NodeMetrics, RunMetrics, Work};
pub use node_path::node_path;
pub use node_sums::{NodeSum, nested, node_sums, time_of_nodes};
pub use rates::{Rate, Rates};
pub use redact::{Found, Joined, Pieces, Removal, Rules};
pub use rows::Rows;
pub use runtail_core::json::Peek;
pub use spans::Spans;
pub use starts::{CallStart, FirstToken};
pub use status::{AsOf, Checkpoint, Loaded, RunEntry, RunOutcome, Status};
pub use steps::{RecordedAs, StepRow, StepSource, StepState, Steps};
pub use timeline::{
    Attempt, Bar, BarKind, BarSource, BarState, Clock, Segment, Span, Timeline, critical_path,
    message_key, own_time,
};
pub use updates::{UpdateRow, Updates};
pub use usage::Usage;
pub use values::{KeyState, Snapshot, StateSource, Values};

use timeline::RunHistory;

use crate::protocol::{PairMetadata, Payload, values_of};
use crate::{Event, Item, Record, SnapshotFields};

/// All projections of one event log.
#[derive(Debug, Clone, Default)]
pub struct Projections {
    pub messages: Messages,
    /// The updates of each node.
    pub updates: Updates,
    /// The state after each step, with its changes.
    pub values: Values,
    /// The lifecycle of runs and connections.
    pub lifecycle: Lifecycle,
    /// When each node, tool and model call ran.
    pub timeline: Timeline,
    /// Received, duplicate and possibly missing events.
    pub delivery: DeliveryLog,
    /// Timing, rates and token usage per run and node.
    pub metrics: Metrics,
    /// The positions of runs, steps and failures.
    pub landmarks: Landmarks,
    /// The status of the thread and its runs.
    pub status: Status,
    metadata: PairMetadata,
}

/// The projections that line output needs. States are left out because comparing them is too expensive.
#[derive(Debug, Default)]
pub struct LineProjections {
    pub messages: Messages,
    /// The updates of each node.
    pub updates: Updates,
    /// The lifecycle of runs and connections.
    pub lifecycle: Lifecycle,
    metadata: PairMetadata,
}

/// Returns the time between two times, or zero if the second one is earlier.
fn between(from: jiff::Timestamp, to: jiff::Timestamp) -> std::time::Duration {
    to.duration_since(from).try_into().unwrap_or_default()
}

impl LineProjections {
    /// Applies the next item of a source or a recording.
    pub fn apply(&mut self, item: &Item) {
        match item {
            Item::Record(Record::Event(event)) => {
                let payload = Payload::of(event).paired(&mut self.metadata);
                self.messages.apply(&payload);
                self.updates.apply(&payload);
                self.lifecycle.apply_event(&payload);
            }
            item => {
                self.messages.apply_item(item);
                self.lifecycle.apply_item(item);
            }
        }
    }
}

impl Projections {
    /// Returns empty projections that are limited to about `max_bytes` of memory: half of it for messages and a
    /// sixteenth for each list of rows.
    pub fn new(max_bytes: usize) -> Projections {
        let mut new = Projections::default();
        new.messages.max_bytes.0 = max_bytes / 2;
        let rows = max_bytes / 16;
        new.updates.rows.limit(rows);
        new.values.rows.limit(rows);
        new.lifecycle.rows.limit(rows);
        new.timeline.bars.limit(rows);
        new.metrics.runs.limit(rows);
        new.landmarks.runs.limit(rows);
        new.status.limit(rows);
        new
    }

    /// Returns the approximate memory size in bytes, which is also the cost of a copy.
    pub fn weight(&self) -> usize {
        self.messages.bytes
            + self.updates.rows.bytes()
            + self.values.rows.bytes()
            + self.lifecycle.rows.bytes()
            + self.timeline.bars.bytes()
            + self.delivery.connections().bytes()
            + self.metrics.runs.bytes()
            + self.landmarks.bytes()
            + self.status.bytes()
    }

    /// Returns the memory size in bytes of the states that newer ones are compared with. Copies share this memory.
    pub fn remembered(&self) -> usize {
        self.values.remembered()
    }

    /// Applies the next item of a source or a recording.
    pub fn apply(&mut self, item: &Item) {
        if let Item::Record(Record::Event(event)) = item
            && event.is_snapshot()
        {
            return self.apply_snapshot(event);
        }
        self.delivery.apply(item);
        match item {
            Item::Record(Record::Event(event)) => {
                let payload = Payload::of(event).paired(&mut self.metadata);
                self.status.apply_event(&payload);
                let tokens = self.messages.apply(&payload);
                self.delivery.add_tokens(event, tokens);
                self.metrics.apply(&payload, &self.messages, tokens);
                self.updates.apply(&payload);
                self.values.apply(&payload);
                self.lifecycle.apply_event(&payload);
                self.timeline
                    .apply_event(&payload, self.messages.called_before(event.time()));
                self.landmarks.apply(&payload);
            }
            item => {
                self.status.apply_item(item);
                self.messages.apply_item(item);
                self.lifecycle.apply_item(item);
                self.timeline.apply_item(item);
                self.metrics.apply_item(item);
                self.landmarks.apply_item(item);
            }
        }
    }

    /// Applies a snapshot of the thread.
    fn apply_snapshot(&mut self, event: &Event) {
        let Some(fields) = event
            .data
            .json()
            .and_then(|json| SnapshotFields::read(json))
        else {
            return;
        };
        self.status.apply_snapshot(event.seq, event.at, &fields);
        // Prefer the current state: the thread's own values are those of its last run.
        let loaded = values_of(fields.state).or_else(|| values_of(fields.thread));
        let origins = self.status.origins();
        if let Some(loaded) = loaded {
            let written = self.status.state().and_then(|state| state.created_at);
            self.values.apply_snapshot(event, loaded.text(), written);
            self.messages
                .apply_snapshot(event.seq, loaded.text(), written, &origins);
        }
        self.messages.set_origins(&origins);
        if fields.history.is_some() {
            self.messages.time_by_steps(&self.status.step_times());
            self.timeline.forget_records();
        }
        for run in self.status.runs() {
            let id = run.run_id.as_deref().unwrap_or_default();
            let history = RunHistory {
                resumed: self.status.resumed(id),
                checkpoints: self
                    .status
                    .checkpoints(id)
                    .map(|known| &known.facts)
                    .collect(),
            };
            self.timeline.apply_run(run, &history);
            self.metrics.apply_run(run);
        }
    }
}
