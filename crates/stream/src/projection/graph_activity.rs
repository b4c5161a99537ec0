//! What the timeline knows of a graph: how often, how long and with which result each node ran, and which edges were taken.

use super::between;
use super::timeline::{Attempt, Bar, BarKind, BarState, Timeline};
use crate::Seq;
use jiff::Timestamp;
use runtail_core::graph::{END, Edge, Graph, SEPARATOR, START};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Nodes of an observed graph.
const MAX_OBSERVED: usize = 500;

/// What is known of a node. Its visits in all instances of its subgraph add up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeActivity {
    pub visits: u64,
    /// The time of all visits with known times, including running ones.
    pub total: Duration,
    /// Whether no visit has known times.
    pub has_no_times: bool,
    /// Whether any of the times is an estimate.
    pub is_estimated: bool,
    pub running: u64,
    pub failures: u64,
    /// The state of the last visit.
    pub state: Option<BarState>,
    /// The first event of the first visit.
    pub first: Seq,
    /// The first event of the last visit.
    pub last: Seq,
    /// When the last visit began: its attempt, its time by the attempt's clock, and its first event.
    pub began: (u64, Timestamp, Seq),
    /// The step of the last visit.
    pub step: Option<i64>,
    /// The number of the attempt of the last visit's run.
    pub attempt: u64,
    /// Visits in the same step as the last one.
    pub parallel: u64,
}

/// What is known of the nodes of a graph. Nodes are named by their paths, as in [`Graph`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphActivity {
    nodes: HashMap<String, NodeActivity>,
    /// The nodes in the order of their first visits.
    order: Vec<String>,
    /// How often a node followed another one in the next step, by the path of their graph.
    transitions: BTreeMap<(String, String, String), u64>,
    /// The nodes of the last step of an attempt that stopped. The next attempt continues there.
    stopped_after: Vec<String>,
}

/// The activity of a timeline. Only the newest attempt is read again when it changes.
#[derive(Debug, Clone, Default)]
pub struct ActivityCache {
    /// All attempts before the newest.
    ended: GraphActivity,
    /// What `ended` was read from: the first kept attempt, the number after its last, and the timeline's generation.
    read: Option<(u64, u64, u64)>,
    current: GraphActivity,
    /// The run that was read, if only one is.
    run: Option<String>,
}

impl ActivityCache {
    /// Returns the activity that was read last.
    pub fn activity(&self) -> &GraphActivity {
        &self.current
    }

    /// Reads the timeline, or one run of it. Running visits count up to `now`. Returns whether anything changed.
    pub fn update(&mut self, timeline: &Timeline, now: Timestamp, run: Option<&str>) -> bool {
        let is_wanted =
            |attempt: &Attempt| run.is_none_or(|run| attempt.run_id.as_deref() == Some(run));
        let first = timeline.evicted_attempts();
        let newest = timeline
            .attempts()
            .next_back()
            .map_or(first, |(number, _)| number);
        let key = (first, newest, timeline.generation());
        if self.read != Some(key) || self.run.as_deref() != run {
            (self.read, self.run) = (Some(key), run.map(String::from));
            self.ended = GraphActivity::default();
            for (_, attempt) in timeline.attempts().filter(|(number, _)| *number < newest) {
                if !is_wanted(attempt) {
                    continue;
                }
                self.ended.add(timeline, attempt, now);
            }
        }
        let mut current = self.ended.clone();
        let last = timeline.attempts().next_back();
        if let Some((_, attempt)) = last.filter(|(_, attempt)| is_wanted(attempt)) {
            current.add(timeline, attempt, now);
        }
        let is_changed = current != self.current;
        self.current = current;
        is_changed
    }
}

impl GraphActivity {
    /// Reads the activity of some attempts. Running visits count up to `now`.
    pub fn of<'a>(
        timeline: &Timeline,
        attempts: impl Iterator<Item = &'a Attempt>,
        now: Timestamp,
    ) -> GraphActivity {
        let mut activity = GraphActivity::default();
        attempts.for_each(|attempt| activity.add(timeline, attempt, now));
        activity
    }

    /// Returns what is known of a node.
    pub fn node(&self, id: &str) -> Option<&NodeActivity> {
        self.nodes.get(id)
    }

    /// Returns whether no node was visited.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the nodes in the order of their first visits.
    pub fn order(&self) -> &[String] {
        &self.order
    }

    /// Returns what is known of several nodes that are drawn as one. If the group itself ran, its own visits and times count;
    /// the states are those of the nodes in it.
    pub fn group<'a>(&self, id: &str, members: impl Iterator<Item = &'a str>) -> NodeActivity {
        let mut sum = NodeActivity {
            has_no_times: true,
            ..NodeActivity::default()
        };
        for node in members
            .filter(|member| *member != id)
            .filter_map(|member| self.nodes.get(member))
        {
            sum.visits += node.visits;
            sum.total += node.total;
            sum.has_no_times &= node.has_no_times;
            sum.is_estimated |= node.is_estimated;
            sum.running += node.running;
            sum.failures += node.failures;
            if sum.visits == node.visits || node.began >= sum.began {
                (sum.state, sum.last, sum.step, sum.began) =
                    (node.state, node.last, node.step, node.began);
                (sum.attempt, sum.parallel) = (node.attempt, node.parallel);
            }
        }
        match self.nodes.get(id) {
            Some(own) => NodeActivity {
                failures: own.failures.max(sum.failures),
                ..own.clone()
            },
            None => sum,
        }
    }

    /// Returns how often an edge was taken. An edge into or out of a subgraph was taken if its graph went that way and the
    /// node in it was visited. Which of several parallel nodes a step came from is not known; each of them counts.
    pub fn taken(&self, from: &str, to: &str) -> u64 {
        let [source, target]: [Vec<&str>; 2] = [from, to].map(|id| id.split(SEPARATOR).collect());
        let most = source.len().min(target.len()).saturating_sub(1);
        let depth = (0..most)
            .take_while(|at| source[*at] == target[*at])
            .count();
        let (Some(first), Some(next)) = (source.get(depth), target.get(depth)) else {
            return 0;
        };
        let path = source[..depth].join(":");
        let taken = self
            .transitions
            .get(&(path, first.to_string(), next.to_string()))
            .copied()
            .unwrap_or(0);
        let is_inner = |id: &str, at: &[&str]| at.len() > depth + 1 && self.node(id).is_none();
        // Without the events of a subgraph, nothing is known of its nodes.
        let knows = |at: &[&str]| {
            let group = format!("{}:", at[..=depth].join(":"));
            self.order.iter().any(|id| id.starts_with(&group))
        };
        match (is_inner(from, &source) && knows(&source))
            || (is_inner(to, &target) && knows(&target))
        {
            true => 0,
            false => taken,
        }
    }

    /// Returns the graph of the observed steps: nodes in the order of their first visits, edges between consecutive steps.
    pub fn observed(&self) -> Graph {
        let mut graph = Graph::default();
        if self.order.is_empty() {
            return graph;
        }
        graph.add_node(START);
        for id in self.order.iter().take(MAX_OBSERVED) {
            graph.add_node(id);
        }
        for (path, from, to) in self.transitions.keys() {
            let id = |name: &str| match (path.is_empty(), matches!(name, START | END)) {
                (true, _) => name.to_string(),
                (false, true) => path.clone(),
                (false, false) => format!("{path}{SEPARATOR}{name}"),
            };
            // A subgraph begins at its node, and its end is not drawn.
            if !path.is_empty() && to == END {
                continue;
            }
            let ends_graph = path.is_empty() && to == END;
            if let (Some(from), Some(to)) = (
                graph.find(&id(from)),
                graph
                    .find(&id(to))
                    .or_else(|| ends_graph.then(|| graph.add_node(END))),
            ) {
                graph.add_edge(Edge {
                    from,
                    to,
                    is_conditional: false,
                    label: None,
                });
            }
        }
        graph
    }

    /// Adds an attempt of a run.
    fn add(&mut self, timeline: &Timeline, attempt: &Attempt, now: Timestamp) {
        if attempt.is_superseded {
            return;
        }
        let until = attempt.until(now);
        let mut scopes: Vec<(String, &[u64], bool)> = vec![(
            String::new(),
            &attempt.children,
            attempt.state == BarState::Done,
        )];
        while let Some((path, children, is_done)) = scopes.pop() {
            let bars: Vec<&Bar> = children
                .iter()
                .filter_map(|key| timeline.bar(*key))
                .collect();
            let mut steps: BTreeMap<i64, Vec<&Bar>> = BTreeMap::new();
            for bar in &bars {
                match bar.kind {
                    BarKind::Node => {
                        let id = join(&path, &bar.name);
                        steps
                            .entry(timeline.step(bar).unwrap_or(0))
                            .or_default()
                            .push(bar);
                        scopes.push((id, &bar.children, bar.state == BarState::Done));
                    }
                    // A tool may run a graph.
                    BarKind::Tool | BarKind::Model if !bar.children.is_empty() => {
                        scopes.push((path.clone(), &bar.children, false));
                    }
                    BarKind::Tool | BarKind::Model => {}
                }
            }
            self.add_steps(&path, &steps, until, timeline, (is_done, attempt));
        }
    }

    fn add_steps(
        &mut self,
        path: &str,
        steps: &BTreeMap<i64, Vec<&Bar>>,
        until: Timestamp,
        timeline: &Timeline,
        (is_done, attempt): (bool, &Attempt),
    ) {
        let is_root = path.is_empty();
        let mut before: Vec<String> = match is_root && !self.stopped_after.is_empty() {
            true => std::mem::take(&mut self.stopped_after),
            false => vec![START.to_string()],
        };
        for bars in steps.values() {
            let mut names: BTreeMap<&str, u64> = BTreeMap::new();
            bars.iter()
                .for_each(|bar| *names.entry(&bar.name).or_default() += 1);
            for bar in bars {
                let parallel = names.get(&*bar.name).copied().unwrap_or(1);
                self.visit(
                    join(path, &bar.name),
                    bar,
                    until,
                    (timeline.step(bar), attempt.number, parallel),
                );
            }
            for (from, (to, times)) in before
                .iter()
                .flat_map(|from| names.iter().map(move |to| (from, to)))
            {
                self.count(path, from, to, *times);
            }
            before = names.keys().map(|name| name.to_string()).collect();
        }
        if is_done && !steps.is_empty() {
            for from in &before {
                self.count(path, from, END, 1);
            }
        } else if is_root && attempt.state == BarState::Interrupted {
            // A node that asked runs again; what came before it leads there.
            let asked: BTreeSet<&str> = steps
                .values()
                .next_back()
                .into_iter()
                .flatten()
                .filter(|bar| bar.state == BarState::Interrupted)
                .map(|bar| &*bar.name)
                .collect();
            self.stopped_after = if asked.is_empty() { before } else { Vec::new() };
        }
    }

    fn count(&mut self, path: &str, from: &str, to: &str, times: u64) {
        let key = (path.to_string(), from.to_string(), to.to_string());
        *self.transitions.entry(key).or_default() += times;
    }

    fn visit(
        &mut self,
        id: String,
        bar: &Bar,
        until: Timestamp,
        (step, attempt, parallel): (Option<i64>, u64, u64),
    ) {
        if !self.nodes.contains_key(&id) {
            self.order.push(id.clone());
        }
        let node = self.nodes.entry(id).or_insert_with(|| NodeActivity {
            has_no_times: true,
            ..NodeActivity::default()
        });
        node.visits += 1;
        if bar.known.is_both() {
            node.has_no_times = false;
            node.is_estimated |= bar.estimated;
            node.total += between(bar.started, bar.ended.unwrap_or(until));
        }
        node.running += u64::from(bar.state == BarState::Running);
        node.failures += u64::from(bar.state == BarState::Failed);
        node.first = if node.visits == 1 {
            bar.first_seq
        } else {
            node.first.min(bar.first_seq)
        };
        // Bars that were filled in from records have the event of the record.
        let began = (bar.attempt, bar.started, bar.first_seq);
        if node.visits == 1 || began >= node.began {
            (node.state, node.last, node.step, node.began) =
                (Some(bar.state), bar.first_seq, step, began);
            (node.attempt, node.parallel) = (attempt, parallel);
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_string()
    } else {
        format!("{path}{SEPARATOR}{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Script, at};
    use crate::{End, Item, Outcome, Record};

    /// A run whose steps each begin at another 100 seconds.
    #[derive(Default)]
    struct Steps {
        script: Script,
        ms: i64,
    }

    impl Steps {
        fn begin() -> Steps {
            let mut steps = Steps::default();
            steps.run("r");
            steps
        }

        fn event(&mut self, name: &str, data: &str) {
            self.ms += 100;
            self.script.event(self.ms, name, data);
        }

        fn run(&mut self, id: &str) {
            self.event("metadata", &format!(r#"{{"run_id":"{id}","attempt":1}}"#));
        }

        fn next_step(&mut self) {
            self.ms = (self.ms / 100_000 + 1) * 100_000;
        }

        /// Starts or ends tasks of these nodes.
        fn tasks(&mut self, ns: &str, nodes: &[&str], more: &str) {
            for (n, node) in nodes.iter().enumerate() {
                let id = format!("{ns}{node}{n}{}", self.ms / 100_000);
                let data = format!(r#"{{"id":"{id}","name":"{node}",{more}}}"#);
                self.event(&format!("tasks{ns}"), &data);
            }
        }

        fn starts(&mut self, ns: &str, nodes: &[&str]) {
            self.next_step();
            self.tasks(ns, nodes, r#""input":{},"triggers":[]"#);
        }

        /// Runs nodes in parallel: one step.
        fn step(&mut self, ns: &str, nodes: &[&str]) {
            self.starts(ns, nodes);
            self.tasks(ns, nodes, DONE);
            self.next_step();
        }

        fn end(&mut self, outcome: Outcome) {
            self.script.item(Item::Record(Record::End(End {
                at: at(self.ms),
                outcome,
                ..End::default()
            })));
        }

        fn activity(&self) -> GraphActivity {
            let timeline = &self.script.projections.timeline;
            let mut cache = ActivityCache::default();
            cache.update(timeline, Timestamp::MIN, None);
            // Reading again changes nothing.
            assert!(!cache.update(timeline, Timestamp::MIN, None));
            cache.activity().clone()
        }
    }

    const DONE: &str = r#""error":null,"result":{},"interrupts":[]"#;

    /// Checks how often each edge was taken.
    fn are_taken(activity: &GraphActivity, edges: &[(&str, &str, u64)]) {
        for (from, to, times) in edges {
            assert_eq!(activity.taken(from, to), *times, "{from} to {to}");
        }
    }

    #[test]
    fn loops_are_counted_with_visits_and_times() {
        let mut steps = Steps::begin();
        for node in ["chat", "tools", "chat", "tools", "chat"] {
            steps.step("", &[node]);
        }
        steps.end(Outcome::Success);
        let activity = steps.activity();
        let chat = activity.node("chat").unwrap();
        let seen = (chat.visits, chat.total, chat.has_no_times);
        assert_eq!(seen, (3, Duration::from_millis(300), false));
        let edges = [
            ("chat", "tools", 2),
            ("tools", "chat", 2),
            (START, "chat", 1),
            ("chat", END, 1),
            ("tools", END, 0),
            ("chat", "chat", 0),
        ];
        are_taken(&activity, &edges);
        let observed = activity.observed();
        let ids: Vec<&str> = observed.nodes().iter().map(|node| &*node.id).collect();
        let expected = (vec![START, "chat", "tools", END], 4);
        assert_eq!((ids, observed.edges().len()), expected);
    }

    #[test]
    fn a_fan_out_visits_a_node_several_times_in_one_step() {
        let mut steps = Steps::begin();
        steps.step("", &["plan"]);
        steps.step("", &["research", "research", "research", "check"]);
        steps.step("", &["merge"]);
        steps.starts("", &["write", "write"]);
        let activity = steps.activity();
        let research = activity.node("research").unwrap();
        let seen = (research.visits, research.parallel, research.state);
        assert_eq!(seen, (3, 3, Some(BarState::Done)));
        let write = activity.node("write").unwrap();
        assert_eq!((write.running, write.state), (2, Some(BarState::Running)));
        let edges = [
            ("plan", "research", 3),
            // Both may have led there.
            ("research", "merge", 1),
            ("check", "merge", 1),
            // The run is active.
            ("merge", END, 0),
        ];
        are_taken(&activity, &edges);
    }

    #[test]
    fn edges_into_subgraphs_are_taken_if_their_nodes_ran() {
        let mut steps = Steps::begin();
        steps.step("", &["plan"]);
        steps.starts("", &["sub"]);
        let id = format!("sub0{}", steps.ms / 100_000);
        for node in ["first", "last"] {
            steps.step(&format!("|sub:{id}"), &[node]);
        }
        steps.event("tasks", &format!(r#"{{"id":"{id}","name":"sub",{DONE}}}"#));
        steps.step("", &["join"]);
        let activity = steps.activity();
        let edges = [
            ("plan", "sub:first", 1),
            ("sub:first", "sub:last", 1),
            ("sub:last", "join", 1),
            ("plan", "sub:other", 0),
            ("plan", "sub", 1),
            ("sub", "join", 1),
        ];
        are_taken(&activity, &edges);
        let group = activity.group("sub", ["sub:first", "sub:last", "sub:other"].into_iter());
        assert_eq!((group.visits, group.state), (1, Some(BarState::Done)));
    }

    #[test]
    fn a_run_that_continues_after_a_breakpoint_does_not_come_from_start() {
        let mut steps = Steps::begin();
        steps.step("", &["draft"]);
        steps.end(Outcome::Interrupted);
        steps.run("r2");
        steps.step("", &["send"]);
        steps.end(Outcome::Success);
        let edges = [("draft", "send", 1), (START, "send", 0), ("send", END, 1)];
        are_taken(&steps.activity(), &edges);
    }
}
