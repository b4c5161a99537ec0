//! The nodes of a run, each with how often and how long it ran, and with its output: one row per node, whichever modes report it.

use super::graph_activity::{GraphActivity, NodeActivity};
use super::metrics::{NodeMetrics, RunMetrics};
use super::starts::FirstToken;
use super::timeline::{Attempt, Timeline};
use crate::Seq;
use jiff::Timestamp;
use runtail_core::graph::SEPARATOR;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A node of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeSum<'a> {
    /// Its name with the subgraphs that contain it, as in a graph of the server.
    pub name: Arc<str>,
    /// Its first event.
    pub seq: Seq,
    /// How often and how long it ran; `None` if only its messages are known.
    pub activity: Option<NodeActivity>,
    /// Its output; `None` if it wrote no message.
    pub output: Option<&'a NodeMetrics>,
}

impl NodeSum<'_> {
    /// Returns the time of all executions with known times.
    pub fn time(&self) -> Option<Duration> {
        self.activity
            .as_ref()
            .filter(|activity| !activity.has_no_times)
            .map(|activity| activity.total)
    }

    /// Returns whether it is a node of the main graph. The time of other nodes is part of the time of these.
    pub fn is_root(&self) -> bool {
        !self.name.contains(SEPARATOR)
    }

    /// Returns its name without the subgraphs that contain it.
    pub fn own_name(&self) -> &str {
        self.name.rsplit(SEPARATOR).next().unwrap_or(&self.name)
    }

    /// Returns the time to first token of its newest model call, if it is known.
    pub fn first_token(&self) -> Option<FirstToken> {
        self.output?.first_token
    }
}

/// Returns the nodes of a run in the order of their first executions. Running work counts up to `now`.
pub fn node_sums<'a>(run: &'a RunMetrics, timeline: &Timeline, now: Timestamp) -> Vec<NodeSum<'a>> {
    let is_of_run = |attempt: &Attempt| match (&attempt.run_id, &run.run_id) {
        (Some(of), Some(id)) => of == id,
        _ => run.seq <= attempt.first_seq && attempt.first_seq <= run.last_seq,
    };
    let attempts = timeline
        .attempts()
        .map(|(_, attempt)| attempt)
        .filter(|attempt| is_of_run(attempt));
    let activity = GraphActivity::of(timeline, attempts, now);
    let known = |id: &String| {
        let known = activity.node(id)?.clone();
        Some(NodeSum {
            name: id.as_str().into(),
            seq: known.first,
            activity: Some(known),
            output: None,
        })
    };
    let mut sums: Vec<NodeSum<'a>> = activity.order().iter().filter_map(known).collect();
    for output in &run.nodes {
        match place(&sums, &output.name) {
            Some(at) => sums[at].output = Some(output),
            None => sums.push(NodeSum {
                name: output.name.clone(),
                seq: output.seq,
                activity: None,
                output: Some(output),
            }),
        }
    }
    sums
}

/// Returns the node with a path. A message may name its node without the subgraph: then it is the only node with that name.
fn place(sums: &[NodeSum<'_>], path: &str) -> Option<usize> {
    if let Some(at) = sums.iter().position(|sum| &*sum.name == path) {
        return Some(at);
    }
    let is_named = |sum: &NodeSum<'_>| {
        sum.activity.is_some() && sum.output.is_none() && sum.own_name() == path
    };
    let mut named = (0..sums.len()).filter(|at| is_named(&sums[*at]));
    named.next().filter(|_| named.next().is_none())
}

/// Returns the time of the nodes of the main graph, which contains that of all others.
pub fn time_of_nodes(sums: &[NodeSum<'_>]) -> Duration {
    sums.iter()
        .filter(|sum| sum.is_root())
        .filter_map(NodeSum::time)
        .sum()
}

/// Returns the nodes as a tree, the longest first, each with its depth: a node of a subgraph follows the node that contains it, whose
/// time contains its own.
pub fn nested<'b, 'a>(sums: &'b [NodeSum<'a>]) -> Vec<(usize, &'b NodeSum<'a>)> {
    let is_known = |path: &str| sums.iter().any(|sum| &*sum.name == path);
    let parent = |sum: &'b NodeSum<'a>| {
        let above = std::iter::successors(sum.name.rsplit_once(SEPARATOR), |(path, _)| {
            path.rsplit_once(SEPARATOR)
        });
        above.map(|(path, _)| path).find(|path| is_known(path))
    };
    let mut inside: BTreeMap<Option<&str>, Vec<&'b NodeSum<'a>>> = BTreeMap::new();
    sums.iter()
        .for_each(|sum| inside.entry(parent(sum)).or_default().push(sum));
    // The longest is last, because it is taken first.
    inside.values_mut().for_each(|nodes| {
        nodes.sort_by_key(|node| std::cmp::Reverse(node.time()));
        nodes.reverse();
    });
    let mut next: Vec<(usize, &NodeSum<'a>)> = inside
        .remove(&None)
        .unwrap_or_default()
        .into_iter()
        .map(|node| (0, node))
        .collect();
    let mut out = Vec::with_capacity(sums.len());
    while let Some((depth, node)) = next.pop() {
        out.push((depth, node));
        next.extend(
            inside
                .remove(&Some(&*node.name))
                .unwrap_or_default()
                .into_iter()
                .map(|inner| (depth + 1, inner)),
        );
    }
    out
}
