//! Breakpoints: those for the next run, those of the shown run, and those that were compiled into the graph.

use super::GraphView;
use runtail_core::graph::{Breakpoint, Node, SEPARATOR, group_of, is_in};
use runtail_core::model::RunFacts;
use runtail_core::text;
use std::collections::BTreeSet;

/// Stands for all nodes in a run's record.
const ALL: &str = "*";

/// The breakpoints of the next run that is composed on a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breakpoints {
    pub before: BTreeSet<String>,
    pub after: BTreeSet<String>,
}

impl Breakpoints {
    /// Returns those of a node.
    pub fn at(&self, node: &str) -> Breakpoint {
        Breakpoint {
            before: self.before.contains(node),
            after: self.after.contains(node),
        }
    }

    /// Changes those of a node: before it, after it, both, none.
    pub(super) fn cycle(&mut self, node: &str) {
        let set = |nodes: &mut BTreeSet<String>, is_set: bool| match is_set {
            true => drop(nodes.insert(node.to_string())),
            false => drop(nodes.remove(node)),
        };
        let at = self.at(node);
        let (before, after) = match (at.before, at.after) {
            (false, false) => (true, false),
            (true, false) => (false, true),
            (false, true) => (true, true),
            (true, true) => (false, false),
        };
        set(&mut self.before, before);
        set(&mut self.after, after);
    }
}

/// The breakpoints of a run, by its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunBreakpoints {
    /// The run's name: "run 3".
    name: String,
    nodes: Breakpoints,
}

impl RunBreakpoints {
    /// Returns those of a run; `None` if it has none, or if its record doesn't say.
    pub fn of(name: String, record: &RunFacts) -> Option<RunBreakpoints> {
        let [before, after] = [&record.interrupt_before, &record.interrupt_after]
            .map(|names| names.iter().cloned().collect());
        let nodes = Breakpoints { before, after };
        (nodes != Breakpoints::default()).then_some(RunBreakpoints { name, nodes })
    }

    /// Returns those of a node of the main graph. Runs don't stop at the nodes of subgraphs.
    fn at(&self, node: &str) -> Breakpoint {
        let has = |nodes: &BTreeSet<String>| nodes.contains(node) || nodes.contains(ALL);
        Breakpoint {
            before: has(&self.nodes.before),
            after: has(&self.nodes.after),
        }
    }
}

impl GraphView {
    /// Returns the breakpoints at a row that are in effect: of the graph, and of the shown run.
    pub(super) fn breakpoint_in_effect(&self, row: usize) -> Breakpoint {
        let node = self.picture.node_of_row(row);
        let (of_run, of_graph) = (self.run_breakpoint(&node.id), self.graph_breakpoint(node));
        Breakpoint {
            before: of_graph.before || of_run.before,
            after: of_graph.after || of_run.after,
        }
    }

    /// Returns the compiled breakpoints of a node that the shown run uses. Breakpoints of a run before nodes replace those of the
    /// main graph before nodes, and the same after them.
    fn graph_breakpoint(&self, node: &Node) -> Breakpoint {
        let is_inside = group_of(&node.id).is_some() || self.is_folded_group(node);
        let run = self.run_breakpoints.as_ref().filter(|_| !is_inside);
        let has = |side: fn(&Breakpoints) -> &BTreeSet<String>| {
            run.is_some_and(|run| !side(&run.nodes).is_empty())
        };
        Breakpoint {
            before: node.breakpoint.before && !has(|nodes| &nodes.before),
            after: node.breakpoint.after && !has(|nodes| &nodes.after),
        }
    }

    fn run_breakpoint(&self, id: &str) -> Breakpoint {
        let is_top_level = group_of(id).is_none() && self.is_node_or_group(id);
        self.run_breakpoints
            .as_ref()
            .filter(|_| is_top_level)
            .map(|run| run.at(id))
            .unwrap_or_default()
    }

    /// Returns whether an id is that of a node which runs execute, not START, END or several siblings drawn as one.
    fn is_node_or_group(&self, id: &str) -> bool {
        match self.picture.row_of(id) {
            Some(row) => {
                let node = self.picture.node_of_row(row);
                node.is_real() && (node.folded == 0 || self.is_folded_group(node))
            }
            // A group that is not folded.
            None => true,
        }
    }

    /// Returns whether a node is a folded subgraph, not several siblings drawn as one.
    fn is_folded_group(&self, node: &Node) -> bool {
        node.folded > 0 && self.whole.groups().contains(&node.id)
    }

    /// Returns the marks of a row, before or after its name: of a breakpoint for the next run, and of one in effect.
    pub(super) fn breakpoint_marks(&self, row: usize, is_before: bool) -> (bool, bool) {
        let side = |stops: Breakpoint| if is_before { stops.before } else { stops.after };
        let node = self.picture.node_of_row(row);
        // The first and the last nodes of an unfolded subgraph have its marks, too.
        let group = self.group_edge(row, is_before);
        let ids = || group.into_iter().chain([&*node.id]);
        let is_next = ids().any(|id| side(self.breakpoints.at(id)));
        let is_in_effect =
            side(self.breakpoint_in_effect(row)) || ids().any(|id| side(self.run_breakpoint(id)));
        (is_next, is_in_effect)
    }

    /// Returns the subgraph of the main graph that a row is in, if an edge from outside leads into the row, or out of it.
    fn group_edge(&self, row: usize, into: bool) -> Option<&str> {
        let graph = &self.picture.folded.graph;
        let at = self.picture.row(row).node;
        let (group, _) = graph.nodes()[at].id.split_once(SEPARATOR)?;
        let is_outside = |other: usize| !is_in(&graph.nodes()[other].id, group);
        let crosses = match into {
            true => graph.sources(at).any(is_outside),
            false => graph.targets(at).any(is_outside),
        };
        crosses.then_some(group)
    }

    /// Returns the nodes in a folded subgraph that the graph stops at, each with its name there.
    fn stops_inside(&self, group: &Node) -> Vec<(Breakpoint, String)> {
        let inside = self
            .whole
            .nodes()
            .iter()
            .filter(|node| is_in(&node.id, &group.id) && node.breakpoint.is_set());
        inside
            .map(|node| (node.breakpoint, node.id[group.id.len() + 1..].to_string()))
            .collect()
    }

    /// Describes the breakpoints at the node of a row, and those of the groups that it is in.
    pub(super) fn breakpoint_words(&self, row: usize) -> Vec<String> {
        let node = self.picture.node_of_row(row);
        let mut out = Vec::new();
        let mut say = |who: &str, stops: Breakpoint, id: &str| {
            if stops.is_set() {
                let what = if id == node.id {
                    "it".into()
                } else {
                    text::seen(id, 30)
                };
                out.push(format!("{who} stops {} {what}", stops.words()));
            }
        };
        let mut id = Some(&node.id[..]);
        while let Some(at) = id {
            say("the next run", self.breakpoints.at(at), at);
            if let Some(run) = &self.run_breakpoints {
                say(&run.name, self.run_breakpoint(at), at);
            }
            id = group_of(at);
        }
        if self.is_folded_group(node) {
            self.stops_inside(node)
                .iter()
                .for_each(|(stops, name)| say("the graph", *stops, name));
            return out;
        }
        let used = self.graph_breakpoint(node);
        say("the graph", used, &node.id);
        let replaced = Breakpoint {
            before: node.breakpoint.before && !used.before,
            after: node.breakpoint.after && !used.after,
        };
        if let Some(run) = self.run_breakpoints.as_ref().filter(|_| replaced.is_set()) {
            out.push(format!(
                "{} replaces the breakpoint of the graph {} it",
                run.name,
                replaced.words()
            ));
        }
        out
    }
}
