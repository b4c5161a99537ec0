//! The graphs that the simulator runs: their structure, their state, and the code of their nodes.

mod channels;
mod drawing;
mod schemas;

use crate::agent::prelude::*;

/// Declares the graphs: the variant, the name, and the id of the default assistant, which is a version 5 UUID of the name and the
/// same on every real server. A client can't run a graph without one.
macro_rules! graphs {
    ($($(#[$doc:meta])* $graph:ident $name:literal $assistant:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Graph {
            $($(#[$doc])* $graph,)*
        }

        impl Graph {
            const ALL: &[Graph] = &[$(Graph::$graph,)*];

            pub fn name(self) -> &'static str {
                match self { $(Graph::$graph => $name,)* }
            }

            /// The id of its default assistant.
            pub fn assistant(self) -> &'static str {
                match self { $(Graph::$graph => $assistant,)* }
            }
        }
    };
}

graphs! {
    /// A chat that calls tools.
    Agent "agent" "fe096781-5601-53d2-b2f6-0d3403f7e9ca",
    /// The same chat under the name in the demo.
    Support "support" "a76bea17-1a15-53a6-bfc6-e12c619f641d",
    /// Parallel nodes and a subgraph in a subgraph.
    Research "research" "74d06aba-6a30-5f5b-88fe-7d81ce376129",
    /// Asks before it spends money.
    Approval "approval" "e234584d-b7bf-527f-9d06-ba77f8f5172d",
    /// Its second node raises.
    Broken "broken" "0e2c357f-f554-5a10-8b5a-ffb04b690d9d",
    /// A long node without events.
    Slow "slow" "cad1b5ad-d177-59d1-ab39-5e327188ed3a",
    /// Any number of events, as fast as possible.
    Firehose "firehose" "d4d82fc7-48b4-589f-95de-7c1ba73951ef",
    /// Asks two questions at once.
    Two "two" "4499204c-8eda-5495-a842-3696dc7527c7",
    /// Asks back in plain text.
    Clarify "clarify" "b1b103e3-bc15-5e99-a919-979890516920",
    /// A chat whose tool calls need approval, like langchain's human-in-the-loop middleware.
    Hitl "hitl" "d2a02ed8-fb92-5e43-81ea-cb78d82caa2f",
    /// Asks a question whose answer has a JSON schema.
    Schema "schema" "12311bcf-ffcc-5469-93af-4b77110f5b0f",
    /// Three consecutive nodes, for breakpoints.
    Release "release" "24ce7dfb-1680-5d3f-b4c5-50d0e16b95ff",
    /// Loops as often as its input sets.
    Counter "counter" "09d6caf4-2ef3-5a8b-b1a7-114690ed5d45",
    /// A node fails while another one runs in parallel.
    Failing "failing" "7dfb5300-69cc-586d-be0d-9adc6b95ff79",
    /// Fetches page after page, for hours.
    Crawl "crawl" "67eec3f2-1ed2-50cd-bc60-cb8c333bc8f5",
    /// A job that fails only if its input requests it.
    Sync "sync" "29865d80-008c-5bca-ab5b-e77a86bf5231",
    /// Asks before it sends a mail, in the older shape of agent-inbox.
    Mailer "mailer" "2520f37d-99e7-56ed-bad4-6f98d9047daa",
    /// A subgraph of `research`: reviews a draft.
    Critic "critic" "",
    /// A subgraph of the critic: checks the sources.
    Sources "sources" "",
}

/// The graphs that a client can run.
pub fn graphs() -> impl Iterator<Item = Graph> {
    Graph::ALL
        .iter()
        .copied()
        .filter(|graph| !graph.assistant().is_empty())
}

/// The node of `hitl` that asks.
pub const REVIEW: &str = "HumanInTheLoopMiddleware.after_model";

/// An edge: from, to, and whether it is conditional.
type Edge = (&'static str, &'static str, bool);

impl Graph {
    /// A graph that a client can run, by name.
    pub fn named(name: &str) -> Option<Graph> {
        graphs().find(|graph| graph.name() == name)
    }

    /// The nodes that follow the input.
    pub fn start(self) -> Vec<&'static str> {
        self.edges()
            .into_iter()
            .filter(|(from, ..)| *from == "__start__")
            .map(|(_, to, _)| to)
            .collect()
    }

    /// The nodes after a step: the successors of its nodes, each once, sorted by name.
    pub fn next(self, after: &[&str], state: &Object) -> Vec<&'static str> {
        let mut next = Vec::new();
        for node in after {
            if *node == "__start__" {
                next.extend(self.start());
            } else if let Some(chosen) = self.route(node, state) {
                next.extend(chosen);
            } else {
                let plain = self
                    .edges()
                    .into_iter()
                    .filter(|(from, _, conditional)| from == node && !conditional);
                next.extend(plain.map(|(_, to, _)| to));
            }
        }
        let mut seen = vec!["__end__"];
        next.retain(|node| {
            let is_new = !seen.contains(node);
            seen.push(*node);
            is_new
        });
        next
    }

    /// The target of a node's conditional edges; `None` for other nodes.
    fn route(self, node: &str, state: &Object) -> Option<Option<&'static str>> {
        use Graph::*;
        let messages = state.get("messages").unwrap_or(&Value::Null);
        let calls = || !message::open_calls(messages).is_empty();
        let number = |key: &str| state.get(key).and_then(Value::as_i64).unwrap_or(0);
        Some(match (self, node) {
            (Agent | Support, "chat") => calls().then_some("tools"),
            (Hitl, "model") => calls().then_some(REVIEW),
            (Hitl, REVIEW) => Some(if calls() { "tools" } else { "model" }),
            (Counter, "step") => (number("n") > 0).then_some("step"),
            (Crawl, "index") => Some(if number("page") < number("pages") {
                "fetch"
            } else {
                "report"
            }),
            _ => return None,
        })
    }

    /// The subgraph behind a node.
    pub fn inner(self, node: &str) -> Option<Graph> {
        match (self, node) {
            (Graph::Research, "critic") => Some(Graph::Critic),
            (Graph::Critic, "sources") => Some(Graph::Sources),
            _ => None,
        }
    }

    /// All edges.
    fn edges(self) -> Vec<Edge> {
        use Graph::*;
        let edge = |from, to| (from, to, false);
        let chain = |nodes: &[&'static str]| {
            let all = [&["__start__"], nodes, &["__end__"]].concat();
            all.windows(2)
                .map(|pair| edge(pair[0], pair[1]))
                .collect::<Vec<Edge>>()
        };
        match self {
            Agent | Support => vec![
                edge("__start__", "chat"),
                ("chat", "__end__", true),
                ("chat", "tools", true),
                edge("tools", "chat"),
            ],
            Hitl => vec![
                edge("__start__", "model"),
                ("model", REVIEW, true),
                ("model", "__end__", true),
                (REVIEW, "tools", true),
                (REVIEW, "model", true),
                edge("tools", "model"),
            ],
            Research => vec![
                edge("__start__", "plan"),
                edge("plan", "critic"),
                edge("plan", "papers"),
                edge("plan", "web"),
                edge("critic", "write"),
                edge("papers", "write"),
                edge("web", "write"),
                edge("write", "__end__"),
            ],
            Two => vec![
                edge("__start__", "left"),
                edge("__start__", "right"),
                edge("left", "done"),
                edge("right", "done"),
                edge("done", "__end__"),
            ],
            Failing => vec![
                edge("__start__", "before"),
                edge("before", "maybe"),
                edge("before", "par"),
                edge("maybe", "__end__"),
                edge("par", "__end__"),
            ],
            Counter => vec![
                edge("__start__", "step"),
                ("step", "step", true),
                ("step", "__end__", true),
            ],
            Crawl => vec![
                edge("__start__", "plan"),
                edge("plan", "fetch"),
                edge("fetch", "index"),
                ("index", "fetch", true),
                ("index", "report", true),
                edge("report", "__end__"),
            ],
            Clarify => chain(&["look_up", "ask", "reply"]),
            Approval => chain(&["draft", "ask", "act"]),
            Broken => chain(&["ok", "boom"]),
            Slow => chain(&["nap", "wake"]),
            Firehose => chain(&["burst"]),
            Schema => chain(&["ask"]),
            Mailer => chain(&["write", "ask", "send"]),
            Release => chain(&["build", "test", "release"]),
            Sync => chain(&["fetch", "transform", "save"]),
            Critic => chain(&["read", "sources"]),
            Sources => chain(&["check"]),
        }
    }

    /// The nodes without start and end.
    pub fn nodes(self) -> Vec<&'static str> {
        let mut nodes = Vec::new();
        for node in self
            .edges()
            .into_iter()
            .flat_map(|(from, to, _)| [from, to])
        {
            if !node.starts_with("__") && !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        nodes
    }
}
