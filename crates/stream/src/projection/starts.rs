//! Start times of model calls: the start of the node's task if known, else the end of the previous step.

use crate::Namespace;
use crate::protocol::Payload;
use jiff::Timestamp;
use std::collections::HashMap;

/// Namespaces and nodes that are remembered; each task of a subgraph has a namespace of its own.
const MAX_EACH: usize = 256;

/// The most recent start times.
#[derive(Debug, Clone, Default)]
pub(super) struct Starts {
    /// When the step that a graph is in began.
    steps: HashMap<Namespace, Option<Timestamp>>,
    /// When a node's task began, by its graph and its name.
    tasks: HashMap<(Namespace, Box<str>), Option<Timestamp>>,
}

impl Starts {
    /// Takes an event and its time, if that is known.
    pub fn apply(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        match payload.name {
            "metadata" => {
                self.steps.clear();
                self.tasks.clear();
                self.step(payload, at);
            }
            // The second dialect tells of a run's start this way.
            "values" | "updates" | "checkpoints" | "lifecycle" => self.step(payload, at),
            "tasks" | "debug" => self.task(payload, at),
            _ => {}
        }
    }

    /// Returns when the call of a model by this node began.
    pub fn of_call(&self, ns: &Namespace, node: Option<&str>) -> Option<Timestamp> {
        // JavaScript names the node itself as the innermost namespace, so its graph may be the one above.
        let graphs = (0..=ns.len()).rev().map(|n| Namespace::from(&ns[..n]));
        for graph in graphs {
            if let Some(began) = node.and_then(|node| self.tasks.get(&(graph.clone(), node.into()))) {
                return *began;
            }
            if let Some(began) = self.steps.get(&graph) {
                return *began;
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
