//! The drawn graph with its activity: recomputed when the graph, the folds or the width change.

use super::{MAX_RAILS, Stops};
use runtail_core::graph::{
    Folded, Graph, Limits, Node, Rails, Row, SEPARATOR, group_of, is_in, layout,
};
use runtail_stream::projection::{BarState, GraphActivity, NodeActivity};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Levels of groups that are folded where the rails need too much room.
const MAX_LEVELS: usize = 8;

/// What decides how a graph is folded.
pub(super) struct Rules<'a> {
    pub is_observed: bool,
    /// Groups and siblings that the user folded or unfolded.
    pub chosen: &'a BTreeMap<String, bool>,
    pub width: usize,
}

/// A drawn graph.
#[derive(Debug, Clone, Default)]
pub(super) struct Picture {
    /// The version of the graph and the width that it was drawn for.
    key: Option<(u64, usize)>,
    pub folded: Folded,
    pub rails: Rails,
    /// The folded groups.
    pub folds: BTreeSet<String>,
    /// The color of each node: the number of its first member in the whole graph.
    pub colors: Vec<usize>,
    /// What is known of each node.
    activity: Vec<NodeActivity>,
    /// For nodes in a subgraph that ran without any events of its nodes: the subgraph.
    silent: HashMap<usize, String>,
    /// The nodes at which the run stopped, and whether each asks something.
    stops: HashMap<usize, bool>,
    /// How often each edge was taken, by its nodes.
    taken: HashMap<(usize, usize), u64>,
    /// For each target, the first row at the left and the last one at the right from which its rail was taken.
    taken_rows: Vec<(Option<usize>, Option<usize>)>,
}

impl Picture {
    /// Draws a graph. Where the rails need too much of the width, the deepest groups are folded, unless the user unfolded them;
    /// then the longest rails are cut.
    pub fn new(whole: &Graph, rules: &Rules<'_>, version: u64) -> Picture {
        let groups = whole.groups();
        let open: BTreeSet<String> = rules
            .chosen
            .iter()
            .filter(|(_, is_folded)| !**is_folded)
            .map(|(id, _)| id.clone())
            .collect();
        let most = (rules.width * MAX_RAILS / 100 / 2).max(2);
        let is_folded = |group: &String| {
            rules
                .chosen
                .get(group)
                .copied()
                .unwrap_or(rules.is_observed)
        };
        let mut folds: BTreeSet<String> = groups
            .iter()
            .filter(|group| is_folded(group))
            .cloned()
            .collect();
        let fold =
            |folds: &BTreeSet<String>| whole.fold(folds).then(|graph| graph.merge_siblings(&open));
        let mut folded = fold(&folds);
        let mut rails = layout(&folded.graph, Limits::NONE);
        // The deepest groups first, a level at a time.
        let depth = |group: &str| group.matches(SEPARATOR).count();
        let can_fold = |group: &&String| !folds.contains(*group) && !open.contains(*group);
        let rest: Vec<String> = groups.iter().filter(can_fold).cloned().collect();
        let mut levels: Vec<usize> = rest.iter().map(|group| depth(group)).collect();
        levels.sort_unstable();
        levels.dedup();
        levels.drain(..levels.len().saturating_sub(MAX_LEVELS));
        while rails.lanes.0 + rails.lanes.1 > most
            && let Some(level) = levels.pop()
        {
            folds.extend(rest.iter().filter(|group| depth(group) == level).cloned());
            folded = fold(&folds);
            rails = layout(&folded.graph, Limits::NONE);
        }
        if rails.lanes.0 + rails.lanes.1 > most {
            let right = rails.lanes.1.min((most / 3).max(1));
            rails = layout(
                &folded.graph,
                Limits {
                    left: most.saturating_sub(right).max(1),
                    right,
                },
            );
        }
        let mut colors = vec![usize::MAX; folded.graph.nodes().len()];
        let real = whole
            .nodes()
            .iter()
            .enumerate()
            .filter(|(_, node)| node.is_real());
        for (number, (at, _)) in real.enumerate() {
            if let Some(color) = folded
                .node_of
                .get(at)
                .and_then(|node| colors.get_mut(*node))
            {
                *color = number.min(*color);
            }
        }
        Picture {
            key: Some((version, rules.width)),
            folded,
            rails,
            folds,
            colors,
            ..Picture::default()
        }
    }

    /// Returns whether it shows another version of the graph, or was drawn for another width.
    pub fn is_outdated(&self, version: u64, width: usize) -> bool {
        self.key != Some((version, width))
    }

    /// Shows what ran.
    pub fn apply(&mut self, whole: &Graph, activity: &GraphActivity, stops: &Stops) {
        let graph = &self.folded.graph;
        let mut members: Vec<Vec<&str>> = vec![Vec::new(); graph.nodes().len()];
        for (node, at) in whole.nodes().iter().zip(&self.folded.node_of) {
            members[*at].push(&node.id);
        }
        self.activity = graph
            .nodes()
            .iter()
            .zip(&members)
            .map(|(node, members)| match node.folded {
                0 => activity.node(&node.id).cloned().unwrap_or_default(),
                _ => activity.group(&node.id, members.iter().copied()),
            })
            .collect();
        if !stops.is_active {
            for node in self.activity.iter_mut().filter(|node| node.running > 0) {
                (node.running, node.state) =
                    (0, node.state.filter(|state| *state != BarState::Running));
            }
        }
        self.stops = [(&stops.next, false), (&stops.asks, true)]
            .into_iter()
            .flat_map(|(names, asks)| names.iter().map(move |name| (name, asks)))
            .filter_map(|(name, asks)| Some((*self.folded.node_of.get(named(whole, name)?)?, asks)))
            .collect();
        self.silent = graph
            .nodes()
            .iter()
            .enumerate()
            .filter_map(|(at, node)| Some((at, silent_group(&node.id, activity)?)))
            .collect();
        self.taken.clear();
        for edge in whole.edges() {
            let (from, to) = (&whole.nodes()[edge.from].id, &whole.nodes()[edge.to].id);
            let times = activity.taken(from, to);
            if let (true, Some(&from), Some(&to)) = (
                times > 0,
                self.folded.node_of.get(edge.from),
                self.folded.node_of.get(edge.to),
            ) {
                // Several edges that are drawn as one may be the same step.
                let taken = self.taken.entry((from, to)).or_default();
                *taken = times.max(*taken);
            }
        }
        self.taken_rows = vec![(None, None); graph.nodes().len()];
        for (from, to) in self.taken.keys() {
            let (row, target) = (self.rails.row_of[*from], self.rails.row_of[*to]);
            let rows = &mut self.taken_rows[*to];
            match row < target {
                true => rows.0 = Some(rows.0.map_or(row, |first| first.min(row))),
                false => rows.1 = Some(rows.1.map_or(row, |last| last.max(row))),
            }
        }
    }

    pub fn rows(&self) -> usize {
        self.rails.rows.len()
    }

    pub fn row(&self, row: usize) -> &Row {
        &self.rails.rows[row]
    }

    /// Returns the node of a row.
    pub fn node_of_row(&self, row: usize) -> &Node {
        &self.folded.graph.nodes()[self.rails.rows[row].node]
    }

    /// Returns the row of a node.
    pub fn row_of(&self, id: &str) -> Option<usize> {
        self.rails.row_of.get(self.folded.graph.find(id)?).copied()
    }

    /// Returns the row in which a node of the whole graph is drawn, alone or folded.
    pub fn row_of_member(&self, node: usize) -> Option<usize> {
        self.rails
            .row_of
            .get(*self.folded.node_of.get(node)?)
            .copied()
    }

    /// Returns what is known of the node of a row.
    pub fn activity(&self, row: usize) -> &NodeActivity {
        static NOTHING: std::sync::LazyLock<NodeActivity> =
            std::sync::LazyLock::new(NodeActivity::default);
        self.activity
            .get(self.rails.rows[row].node)
            .unwrap_or(&NOTHING)
    }

    /// Returns whether the run stopped at the node of a row, and if so, whether the node asks something.
    pub fn stop(&self, row: usize) -> Option<bool> {
        self.stops.get(&self.rails.rows[row].node).copied()
    }

    /// Returns the subgraph of a row's node if that ran; its nodes sent no events.
    pub fn silent_group(&self, row: usize) -> Option<&str> {
        self.silent
            .get(&self.rails.rows[row].node)
            .map(String::as_str)
    }

    /// Returns how often an edge was taken.
    pub fn taken(&self, from: usize, to: usize) -> u64 {
        self.taken.get(&(from, to)).copied().unwrap_or(0)
    }

    /// Returns how often the loops that begin at a node were taken.
    pub fn loops(&self, node: usize) -> u64 {
        let row = |node: usize| self.rails.row_of[node];
        self.taken
            .iter()
            .filter(|((from, to), _)| *to == node && row(*from) >= row(node))
            .map(|(_, times)| times)
            .sum()
    }

    /// Returns whether the rail to a target was taken in a row.
    pub fn is_rail_taken(&self, target: usize, row: usize, is_right: bool) -> bool {
        let (first, last) = self.taken_rows.get(target).copied().unwrap_or_default();
        match is_right {
            false => first.is_some_and(|first| first <= row),
            true => last.is_some_and(|last| row <= last),
        }
    }

    /// Returns the row to follow: of the node at which the run stopped, or that runs, or that ran last.
    pub fn newest_row(&self) -> Option<usize> {
        let ran = (0..self.rows())
            .filter(|row| self.activity(*row).visits > 0 || self.stop(*row).is_some());
        let key = |row: &usize| {
            let activity = self.activity(*row);
            (
                self.stop(*row).is_some(),
                activity.running > 0,
                activity.began,
            )
        };
        ran.max_by_key(key).or((self.rows() > 0).then_some(0))
    }

    /// Returns the number of nodes that ran, and of all.
    pub fn visited(&self, whole: &Graph, activity: &GraphActivity) -> (usize, usize) {
        let real = whole.nodes().iter().filter(|node| node.is_real());
        let visited = real
            .filter(|node| activity.node(&node.id).is_some_and(|node| node.visits > 0))
            .count();
        (visited, whole.real_nodes())
    }
}

/// Returns the node with this id, or the only one with this name in a subgraph.
fn named(graph: &Graph, name: &str) -> Option<usize> {
    let inner = || {
        let is_named =
            |node: &Node| node.id.rsplit(SEPARATOR).next() == Some(name) || is_in(&node.id, name);
        graph.nodes().iter().position(is_named)
    };
    graph.find(name).or_else(inner)
}

/// Returns the innermost group of a node that ran, if nothing is known of the nodes in it.
fn silent_group(id: &str, activity: &GraphActivity) -> Option<String> {
    let mut group = group_of(id);
    while let Some(id) = group {
        if activity.node(id).is_some() {
            let is_known = activity.order().iter().any(|node| is_in(node, id));
            return (!is_known).then(|| id.to_string());
        }
        group = group_of(id);
    }
    None
}
