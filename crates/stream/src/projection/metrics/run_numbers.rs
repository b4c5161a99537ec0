//! The metrics of one run, its nodes and its models.

use crate::projection::message::MIN_TOKEN_TIME;
use crate::projection::rows::Weigh;
use crate::projection::starts::FirstToken;
use crate::projection::usage::Usage;
use crate::{Outcome, Seq};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

use super::MAX_NAMES;

/// The output of a run or of one of its nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Work {
    /// Message chunks with text, reasoning or arguments.
    pub chunks: u64,
    /// Messages of models and tools.
    pub messages: u64,
    /// Requested tool calls.
    pub tool_calls: u64,
    /// Failures of tools, of tasks and of the run itself.
    pub errors: u64,
    /// Token usage, as counted by the models.
    pub usage: Usage,
    /// Model calls with known usage.
    pub calls: u64,
    /// When the first chunk was sent, if known.
    pub first_token: Option<Timestamp>,
    /// Total time before the chunks after the first of their message.
    pub(super) streaming_time: SignedDuration,
    pub(super) last_token: Option<Timestamp>,
    /// Output tokens of streamed messages after the first of each, as counted by the models.
    pub(super) streamed: u64,
}

impl Work {
    /// Returns the tokens per second while messages were streaming, as counted by the models.
    pub fn tokens_per_second(&self) -> Option<f64> {
        (self.streamed > 0 && self.streaming_time >= MIN_TOKEN_TIME)
            .then(|| self.streamed as f64 / self.streaming_time.as_secs_f64())
    }

    /// Adds chunks with tokens. `is_continued` says whether their message already had chunks.
    pub(super) fn add_tokens(&mut self, at: Option<Timestamp>, is_continued: bool, tokens: u64) {
        self.chunks += tokens;
        let Some(at) = at else {
            self.last_token = None;
            return;
        };
        self.first_token.get_or_insert(at);
        // The time before a message's first chunk doesn't count towards the rate.
        if let Some(last) = self.last_token.filter(|_| is_continued) {
            self.streaming_time += at.duration_since(last).max(SignedDuration::ZERO);
        }
        self.last_token = Some(at);
    }
}

/// The metrics of one node of a run. How often and how long it ran is known to the timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMetrics {
    /// Its name with the subgraphs that contain it, as in [`node_path`](crate::projection::node_path).
    pub name: Arc<str>,
    /// Its first event.
    pub seq: Seq,
    /// Its output.
    pub work: Work,
    /// The time to first token of its newest model call, if known.
    pub first_token: Option<FirstToken>,
}

/// The calls of one model in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMetrics {
    pub name: Arc<str>,
    pub usage: Usage,
    /// Calls with known usage.
    pub calls: u64,
}

/// The metrics of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunMetrics {
    /// Its id, if known.
    pub run_id: Option<Arc<str>>,
    /// Its first event.
    pub seq: Seq,
    /// Its newest event.
    pub last_seq: Seq,
    /// When we requested it, if we started it.
    pub asked: Option<Timestamp>,
    /// When the server started it: the time of its `metadata` event.
    pub began: Option<Timestamp>,
    /// Time of its newest event.
    pub last_event: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How it ended, if known.
    pub outcome: Option<Outcome>,
    /// Whether it reported an error. A thread's stream only says that a run is done, not its outcome.
    pub failed: bool,
    /// Number of attempts; 1 if it never failed.
    pub attempts: u64,
    /// Time spent in failed attempts.
    pub lost: SignedDuration,
    /// The first event of each retry, and the time spent in the attempt before it.
    pub retries: Vec<(Seq, SignedDuration)>,
    pub events: u64,
    /// Total payload size of its events in bytes.
    pub bytes: u64,
    /// Its output.
    pub work: Work,
    /// Its nodes in order of first appearance.
    pub nodes: Vec<NodeMetrics>,
    /// Each model that messages name.
    pub models: Vec<ModelMetrics>,
    /// Whether the server reported that it is done. It sends no more of its events.
    pub(super) done: bool,
    /// Whether it has ended, according to any source.
    pub(super) over: bool,
    /// Whether the time of its newest event is known.
    pub(super) is_timed: bool,
    /// Whether events before its first known token may be missing.
    pub(super) lacks_first_token: bool,
    pub(super) attempt_began: Option<Timestamp>,
    pub(super) states: u64,
}

impl RunMetrics {
    /// Returns when it started: when we requested it, else when the server reported it.
    pub fn start(&self) -> Option<Timestamp> {
        self.asked.or(self.began)
    }

    /// Returns the time from its start to its first token; `None` if that may be missing.
    pub fn to_first_token(&self) -> Option<SignedDuration> {
        if self.lacks_first_token {
            return None;
        }
        Some(self.work.first_token?.duration_since(self.start()?))
    }

    /// Returns its duration so far; `None` if its start or its end is unknown.
    pub fn took(&self, now: Timestamp) -> Option<SignedDuration> {
        let until = self.ended.or((!self.over).then_some(now));
        Some(until?.duration_since(self.start()?))
    }

    /// Returns whether it is still running, as far as the stream shows.
    pub fn is_open(&self) -> bool {
        !self.over
    }

    /// Returns the usage and the calls that no model is named for.
    pub fn unnamed(&self) -> (Usage, u64) {
        let mut usage = self.work.usage;
        self.models
            .iter()
            .for_each(|model| usage.add_change(model.usage, Usage::default()));
        (
            usage,
            self.work.calls
                - self
                    .models
                    .iter()
                    .map(|model| model.calls)
                    .sum::<u64>()
                    .min(self.work.calls),
        )
    }

    /// Returns the usage that no node is named for.
    pub fn outside_nodes(&self) -> Usage {
        let mut usage = self.work.usage;
        self.nodes
            .iter()
            .for_each(|node| usage.add_change(node.work.usage, Usage::default()));
        usage
    }

    /// Returns the index of a model, which is added if it is new; `None` if there are too many.
    pub(super) fn model(&mut self, name: Arc<str>) -> Option<usize> {
        if let Some(i) = self.models.iter().position(|model| model.name == name) {
            return Some(i);
        }
        (self.models.len() < MAX_NAMES).then(|| {
            self.models.push(ModelMetrics {
                name,
                usage: Usage::default(),
                calls: 0,
            });
            self.models.len() - 1
        })
    }

    /// Returns the index of a node, which is added if it is new; `None` if there are too many.
    pub(super) fn node(&mut self, name: Arc<str>, seq: Seq) -> Option<usize> {
        if let Some(i) = self.nodes.iter().position(|node| node.name == name) {
            return Some(i);
        }
        if self.nodes.len() >= MAX_NAMES {
            return None;
        }
        self.nodes.push(NodeMetrics {
            name,
            seq,
            work: Work::default(),
            first_token: None,
        });
        Some(self.nodes.len() - 1)
    }
}

impl Weigh for RunMetrics {
    const MAX_ROWS: usize = 1_000;

    fn weight(&self) -> usize {
        let nodes = self
            .nodes
            .iter()
            .map(|node| size_of::<NodeMetrics>() + node.name.len());
        let models = self
            .models
            .iter()
            .map(|model| size_of::<ModelMetrics>() + model.name.len());
        let retries = self.retries.len() * size_of::<(Seq, SignedDuration)>();
        size_of::<RunMetrics>() + nodes.sum::<usize>() + models.sum::<usize>() + retries
    }
}
