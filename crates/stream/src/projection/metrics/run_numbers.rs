//! The numbers of one run, and of its nodes and models.

use crate::projection::message::SHORTEST;
use crate::projection::rows::Weigh;
use crate::projection::usage::Usage;
use crate::{Outcome, Seq};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

use super::MAX_NAMES;

/// The output of a run or of one of its nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Work {
    /// Pieces of messages that held text, reasoning or arguments.
    pub chunks: u64,
    /// Messages of models and tools.
    pub messages: u64,
    /// Tools that were asked for.
    pub tool_calls: u64,
    /// Failures: of tools, tasks, and of the run itself.
    pub errors: u64,
    /// Tokens, as the models counted them.
    pub usage: Usage,
    /// When the first piece came.
    pub first_token: Option<Timestamp>,
    /// Chunks that followed another one of their message, and the total time between them.
    pub(super) flowing: u64,
    pub(super) flow: SignedDuration,
    pub(super) last_token: Option<Timestamp>,
    /// Output tokens of streamed messages.
    pub(super) streamed: u64,
}

impl Work {
    /// Pieces a second, while messages were growing.
    pub fn chunks_per_second(&self) -> Option<f64> {
        (self.flowing > 0 && self.flow >= SHORTEST).then(|| self.flowing as f64 / self.flow.as_secs_f64())
    }

    /// Tokens a second while messages were growing, by the models' own count.
    pub fn tokens_per_second(&self) -> Option<f64> {
        (self.streamed > 0 && self.flow >= SHORTEST).then(|| self.streamed as f64 / self.flow.as_secs_f64())
    }

    pub(super) fn token(&mut self, at: Option<Timestamp>, grows: bool, tokens: u64) {
        self.chunks += tokens;
        let Some(at) = at else {
            self.last_token = None;
            return;
        };
        self.first_token.get_or_insert(at);
        // The wait for a model's first piece says nothing of how fast it writes.
        if let Some(last) = self.last_token.filter(|_| grows) {
            self.flowing += tokens;
            self.flow += at.duration_since(last).max(SignedDuration::ZERO);
        }
        self.last_token = Some(at);
    }
}

/// One node of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeNumbers {
    /// Its name, with the subgraphs that it lives in: `sub/inner/node`.
    pub name: Arc<str>,
    /// The first event about it.
    pub seq: Seq,
    /// What it wrote.
    pub work: Work,
    /// How often it ran.
    pub turns: u64,
    /// How long its finished turns took, where tasks tell.
    pub busy: SignedDuration,
    /// From the newest turn's start to its first token, where tasks tell.
    pub to_first_token: Option<SignedDuration>,
    pub(super) finished: u64,
    pub(super) writes: u64,
    pub(super) turn_began: Option<Timestamp>,
}

impl NodeNumbers {
    /// Tasks and updates tell of the same turns.
    pub(super) fn count_turns(&mut self) {
        self.turns = self.finished.max(self.writes);
    }
}

/// The metrics of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunNumbers {
    /// Its id, if known.
    pub run_id: Option<Arc<str>>,
    /// Its first event.
    pub seq: Seq,
    /// Its newest event.
    pub last_seq: Seq,
    /// When we asked for it, where we did.
    pub asked: Option<Timestamp>,
    /// When the server began with it: its `metadata` event.
    pub began: Option<Timestamp>,
    /// Time of its first event after the metadata.
    pub first_event: Option<Timestamp>,
    /// Time of its newest event.
    pub last_event: Option<Timestamp>,
    /// When it was over.
    pub ended: Option<Timestamp>,
    /// How it ended, if known.
    pub outcome: Option<Outcome>,
    /// Whether it reported an error: a thread says that a run is done, and not how.
    pub failed: bool,
    /// Attempts of the server; 1 where it never failed.
    pub attempts: u64,
    /// Time that went into attempts that failed.
    pub lost: SignedDuration,
    /// The event that each further attempt began with, and what the one before it had cost.
    pub retries: Vec<(Seq, SignedDuration)>,
    pub events: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// What it wrote.
    pub work: Work,
    /// Its nodes in the order of their appearance.
    pub nodes: Vec<NodeNumbers>,
    /// What each model used, for models that name themselves.
    pub models: Vec<(Arc<str>, Usage)>,
    /// The server said that it is done, and will say no more of it.
    pub(super) done: bool,
    /// Whether it has ended, according to any source.
    pub(super) over: bool,
    /// Whether the time of its newest event is known.
    pub(super) is_timed: bool,
    pub(super) attempt_began: Option<Timestamp>,
    pub(super) states: u64,
}

impl RunNumbers {
    /// Returns when it started, as far as we know: when we asked for it, else when the server said so.
    pub fn start(&self) -> Option<Timestamp> {
        self.asked.or(self.began)
    }

    /// Returns how long it waited for its turn: from our asking to the server's beginning.
    pub fn waited(&self) -> Option<SignedDuration> {
        Some(self.began?.duration_since(self.asked?))
    }

    /// From its start to the first event of its work.
    pub fn to_first_event(&self) -> Option<SignedDuration> {
        Some(self.first_event?.duration_since(self.start()?))
    }

    /// From its start to its first token.
    pub fn to_first_token(&self) -> Option<SignedDuration> {
        Some(self.work.first_token?.duration_since(self.start()?))
    }

    /// From its start to its end, or to now; none where one of the two is not known.
    pub fn took(&self, now: Timestamp) -> Option<SignedDuration> {
        let until = self.ended.or((!self.over).then_some(now));
        Some(until?.duration_since(self.start()?))
    }

    /// Returns whether it is still running, as far as the stream shows.
    pub fn is_open(&self) -> bool {
        !self.over
    }

    pub(super) fn node(&mut self, name: Arc<str>, seq: Seq) -> Option<usize> {
        if let Some(i) = self.nodes.iter().position(|node| node.name == name) {
            return Some(i);
        }
        if self.nodes.len() >= MAX_NAMES {
            return None;
        }
        self.nodes.push(NodeNumbers {
            name,
            seq,
            work: Work::default(),
            turns: 0,
            busy: SignedDuration::ZERO,
            to_first_token: None,
            finished: 0,
            writes: 0,
            turn_began: None,
        });
        Some(self.nodes.len() - 1)
    }
}

impl Weigh for RunNumbers {
    fn weight(&self) -> usize {
        let nodes = self.nodes.iter().map(|node| size_of::<NodeNumbers>() + node.name.len());
        let models = self.models.iter().map(|(name, _)| size_of::<(Arc<str>, Usage)>() + name.len());
        let retries = self.retries.len() * size_of::<(Seq, SignedDuration)>();
        size_of::<RunNumbers>() + nodes.sum::<usize>() + models.sum::<usize>() + retries
    }
}
