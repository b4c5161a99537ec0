//! Start times of model calls: the start of the node's task if known, else the end of the previous step.

use crate::Namespace;
use crate::protocol::Payload;
use jiff::Timestamp;
use std::collections::HashMap;

/// Maximum number of namespaces and of tasks remembered. Each task of a subgraph has its own namespace.
const MAX_EACH: usize = 256;

/// The most recent start times.
#[derive(Debug, Clone, Default)]
pub(super) struct Starts {
    /// When the current step of each graph started.
    steps: HashMap<Namespace, Option<Timestamp>>,
    /// When each node's last task started, by graph and node name.
    tasks: HashMap<(Namespace, Box<str>), Option<Timestamp>>,
}

impl Starts {
    /// Applies an event and its time, if known.
    pub fn apply(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        match payload.name {
            "metadata" => {
                self.steps.clear();
                self.tasks.clear();
                self.step(payload, at);
            }
            // In the newer protocol, `lifecycle` reports the start of a run.
            "values" | "updates" | "checkpoints" | "lifecycle" => self.step(payload, at),
            "tasks" | "debug" => self.task(payload, at),
            _ => {}
        }
    }

    /// Returns when this node's model call started.
    pub fn of_call(&self, ns: &Namespace, node: Option<&str>) -> Option<Timestamp> {
        // JavaScript names the node itself as the innermost namespace, so its graph may be the one above.
        let graphs = (0..=ns.len()).rev().map(|n| Namespace::from(&ns[..n]));
        for graph in graphs {
            if let Some(start) = node.and_then(|node| self.tasks.get(&(graph.clone(), node.into()))) {
                return *start;
            }
            if let Some(start) = self.steps.get(&graph) {
                return *start;
            }
        }
        None
    }

    fn step(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        if self.steps.len() >= MAX_EACH {
            self.steps.clear();
        }
        self.steps.insert(payload.ns.clone(), at);
    }

    fn task(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(task) = payload.task() else { return };
        let Some(name) = task.name.some().filter(|_| task.triggers.is_some() && task.result.is_none()) else { return };
        if self.tasks.len() >= MAX_EACH {
            self.tasks.clear();
        }
        self.tasks.insert((payload.ns.clone(), name.into()), at);
    }
}
