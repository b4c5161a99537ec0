//! The graphs that the simulator runs: their structure, their state, and the code of their nodes.

mod channels;
mod drawing;
mod schemas;

use super::exec::{Node, Stop};
use super::message;
use super::scripts::{asking, chat, firehose, jobs, mail, research, small};
use super::state::Object;
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Graph {
    /// A chat that calls tools.
    Agent,
    /// The same chat under the name in the demo.
    Support,
    /// Parallel nodes and a subgraph in a subgraph.
    Research,
    /// Asks before it spends money.
    Approval,
    /// Its second node raises.
    Broken,
    /// A long node without events.
    Slow,
    /// Any number of events, as fast as possible.
    Firehose,
    /// Asks two questions at once.
    Two,
    /// Asks back in plain text.
    Clarify,
    /// A chat whose tool calls need approval, like langchain's human-in-the-loop middleware.
    Hitl,
    /// Asks a question whose answer has a JSON schema.
    Schema,
    /// Three consecutive nodes, for breakpoints.
    Release,
    /// Loops as often as its input sets.
    Counter,
    /// A node fails while another one runs in parallel.
    Failing,
    /// Fetches page after page, for hours.
    Crawl,
    /// A job that fails only if its input requests it.
    Sync,
    /// Asks before it sends a mail, in the older shape of agent-inbox.
    Mailer,
    /// A subgraph of `research`: reviews a draft.
    Critic,
    /// A subgraph of the critic: checks the sources.
    Sources,
}

/// The graphs that a client can run.
pub const GRAPHS: [Graph; 17] = [
    Graph::Agent,
    Graph::Support,
    Graph::Research,
    Graph::Approval,
    Graph::Broken,
    Graph::Slow,
    Graph::Firehose,
    Graph::Two,
    Graph::Clarify,
    Graph::Hitl,
    Graph::Schema,
    Graph::Release,
    Graph::Counter,
    Graph::Failing,
    Graph::Crawl,
    Graph::Sync,
    Graph::Mailer,
];

const REVIEW: &str = "HumanInTheLoopMiddleware.after_model";

/// An edge: from, to, and whether it is conditional.
type Edge = (&'static str, &'static str, bool);

impl Graph {
    pub fn name(self) -> &'static str {
        match self {
            Graph::Agent => "agent",
            Graph::Support => "support",
            Graph::Research => "research",
            Graph::Approval => "approval",
            Graph::Broken => "broken",
            Graph::Slow => "slow",
            Graph::Firehose => "firehose",
            Graph::Two => "two",
            Graph::Clarify => "clarify",
            Graph::Hitl => "hitl",
            Graph::Schema => "schema",
            Graph::Release => "release",
            Graph::Counter => "counter",
            Graph::Failing => "failing",
            Graph::Crawl => "crawl",
            Graph::Sync => "sync",
            Graph::Mailer => "mailer",
            Graph::Critic => "critic",
            Graph::Sources => "sources",
        }
    }

    /// A graph that a client can run, by name.
    pub fn named(name: &str) -> Option<Graph> {
        GRAPHS.into_iter().find(|graph| graph.name() == name)
    }

    /// The id of its default assistant: a version 5 UUID of its name, the same on every real server.
    pub fn assistant(self) -> &'static str {
        match self {
            Graph::Agent => "fe096781-5601-53d2-b2f6-0d3403f7e9ca",
            Graph::Support => "a76bea17-1a15-53a6-bfc6-e12c619f641d",
            Graph::Research => "74d06aba-6a30-5f5b-88fe-7d81ce376129",
            Graph::Approval => "e234584d-b7bf-527f-9d06-ba77f8f5172d",
            Graph::Broken => "0e2c357f-f554-5a10-8b5a-ffb04b690d9d",
            Graph::Slow => "cad1b5ad-d177-59d1-ab39-5e327188ed3a",
            Graph::Firehose => "d4d82fc7-48b4-589f-95de-7c1ba73951ef",
            Graph::Two => "4499204c-8eda-5495-a842-3696dc7527c7",
            Graph::Clarify => "b1b103e3-bc15-5e99-a919-979890516920",
            Graph::Hitl => "d2a02ed8-fb92-5e43-81ea-cb78d82caa2f",
            Graph::Schema => "12311bcf-ffcc-5469-93af-4b77110f5b0f",
            Graph::Release => "24ce7dfb-1680-5d3f-b4c5-50d0e16b95ff",
            Graph::Counter => "09d6caf4-2ef3-5a8b-b1a7-114690ed5d45",
            Graph::Failing => "7dfb5300-69cc-586d-be0d-9adc6b95ff79",
            Graph::Crawl => "67eec3f2-1ed2-50cd-bc60-cb8c333bc8f5",
            Graph::Sync => "29865d80-008c-5bca-ab5b-e77a86bf5231",
            Graph::Mailer => "2520f37d-99e7-56ed-bad4-6f98d9047daa",
            Graph::Critic | Graph::Sources => "",
        }
    }

    /// The nodes that follow the input.
    pub fn start(self) -> Vec<&'static str> {
        self.edges().into_iter().filter(|(from, ..)| *from == "__start__").map(|(_, to, _)| to).collect()
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
                let plain = self.edges().into_iter().filter(|(from, _, conditional)| from == node && !conditional);
                next.extend(plain.map(|(_, to, _)| to));
            }
        }
        next.retain(|node| *node != "__end__");
        let mut seen = Vec::new();
        next.retain(|node| {
            !seen.contains(node) && {
                seen.push(*node);
                true
            }
        });
        next
    }

    /// The target of a node's conditional edges; `None` for other nodes.
    fn route(self, node: &str, state: &Object) -> Option<Option<&'static str>> {
        let calls = || message::open_calls(state.get("messages")) > 0;
        let number = |key: &str| state.get(key).and_then(Value::as_i64).unwrap_or(0);
        Some(match (self, node) {
            (Graph::Agent | Graph::Support, "chat") => calls().then_some("tools"),
            (Graph::Hitl, "model") => calls().then_some(REVIEW),
            (Graph::Hitl, REVIEW) => Some(if calls() { "tools" } else { "model" }),
            (Graph::Counter, "step") => (number("n") > 0).then_some("step"),
            (Graph::Crawl, "index") => Some(if number("page") < number("pages") { "fetch" } else { "report" }),
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
        let edge = |from, to| (from, to, false);
        let chain = |nodes: &[&'static str]| {
            let mut edges = Vec::new();
            let mut from = "__start__";
            for node in nodes {
                edges.push(edge(from, *node));
                from = node;
            }
            edges.push(edge(from, "__end__"));
            edges
        };
        match self {
            Graph::Agent | Graph::Support => vec![
                edge("__start__", "chat"),
                ("chat", "__end__", true),
                ("chat", "tools", true),
                edge("tools", "chat"),
            ],
            Graph::Hitl => vec![
                edge("__start__", "model"),
                ("model", REVIEW, true),
                ("model", "__end__", true),
                (REVIEW, "tools", true),
                (REVIEW, "model", true),
                edge("tools", "model"),
            ],
            Graph::Research => vec![
                edge("__start__", "plan"),
                edge("plan", "critic"),
                edge("plan", "papers"),
                edge("plan", "web"),
                edge("critic", "write"),
                edge("papers", "write"),
                edge("web", "write"),
                edge("write", "__end__"),
            ],
            Graph::Two => vec![
                edge("__start__", "left"),
                edge("__start__", "right"),
                edge("left", "done"),
                edge("right", "done"),
                edge("done", "__end__"),
            ],
            Graph::Failing => vec![
                edge("__start__", "before"),
                edge("before", "maybe"),
                edge("before", "par"),
                edge("maybe", "__end__"),
                edge("par", "__end__"),
            ],
            Graph::Counter => vec![edge("__start__", "step"), ("step", "step", true), ("step", "__end__", true)],
            Graph::Crawl => vec![
                edge("__start__", "plan"),
                edge("plan", "fetch"),
                edge("fetch", "index"),
                ("index", "fetch", true),
                ("index", "report", true),
                edge("report", "__end__"),
            ],
            Graph::Clarify => chain(&["look_up", "ask", "reply"]),
            Graph::Approval => chain(&["draft", "ask", "act"]),
            Graph::Broken => chain(&["ok", "boom"]),
            Graph::Slow => chain(&["nap", "wake"]),
            Graph::Firehose => chain(&["burst"]),
            Graph::Schema => chain(&["ask"]),
            Graph::Mailer => chain(&["write", "ask", "send"]),
            Graph::Release => chain(&["build", "test", "release"]),
            Graph::Sync => chain(&["fetch", "transform", "save"]),
            Graph::Critic => chain(&["read", "sources"]),
            Graph::Sources => chain(&["check"]),
        }
    }

    /// The nodes without start and end.
    pub fn nodes(self) -> Vec<&'static str> {
        let mut nodes = Vec::new();
        for (from, to, _) in self.edges() {
            for node in [from, to] {
                if !node.starts_with("__") && !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
        }
        nodes
    }

    /// Runs one node.
    pub fn node<'a>(self, node: &'a Node<'_>) -> BoxFuture<'a, Result<Value, Stop>> {
        let name = node.position.node.clone();
        async move {
            match (self, name.as_str()) {
                (Graph::Agent | Graph::Support, "chat") => chat::chat(node).await,
                (Graph::Agent | Graph::Support, "tools") => chat::tools(node).await,
                (Graph::Research, "plan") => research::plan(node).await,
                (Graph::Research, "web" | "papers") => research::search(node).await,
                (Graph::Research, "critic") => research::inside(node, Graph::Critic).await,
                (Graph::Research, "write") => research::write(node).await,
                (Graph::Critic, "read") => research::read(node).await,
                (Graph::Critic, "sources") => research::inside(node, Graph::Sources).await,
                (Graph::Sources, "check") => research::check(node).await,
                (Graph::Approval, "draft") => small::draft(node).await,
                (Graph::Approval, "ask") => small::ask(node),
                (Graph::Approval, "act") => small::act(node).await,
                (Graph::Broken, "ok") => small::ok(node).await,
                (Graph::Broken, "boom") => small::boom(node).await,
                (Graph::Slow, "nap") => small::nap(node).await,
                (Graph::Slow, "wake") => Ok(json!({"log": ["woke"]})),
                (Graph::Firehose, "burst") => firehose::burst(node).await,
                (Graph::Two, "left" | "right") => asking::side(node),
                (Graph::Two, "done") => Ok(asking::done(node)),
                (Graph::Schema, "ask") => asking::review(node),
                (Graph::Mailer, "write") => mail::write(node).await,
                (Graph::Mailer, "ask") => mail::ask(node),
                (Graph::Mailer, "send") => mail::send(node).await,
                (Graph::Clarify, "look_up") => asking::look_up(node).await,
                (Graph::Clarify, "ask") => asking::which(node),
                (Graph::Clarify, "reply") => asking::reply(node).await,
                (Graph::Hitl, "model") => asking::model(node).await,
                (Graph::Hitl, REVIEW) => asking::approve(node),
                (Graph::Hitl, "tools") => asking::tools(node).await,
                (Graph::Release, "build" | "test" | "release") => jobs::stage(node).await,
                (Graph::Counter, "step") => jobs::step(node).await,
                (Graph::Failing, "before" | "maybe" | "par") => jobs::failing(node).await,
                (Graph::Crawl, "plan" | "fetch" | "index" | "report") => jobs::crawl(node).await,
                (Graph::Sync, "fetch" | "transform" | "save") => jobs::sync(node).await,
                (_, unknown) => Err(Stop::Failed { error: "KeyError".into(), message: format!("'{unknown}'") }),
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_nodes_follow_the_edges() {
        let state = Object::new();
        assert_eq!(Graph::Research.start(), ["plan"]);
        assert_eq!(Graph::Research.next(&["plan"], &state), ["critic", "papers", "web"]);
        assert_eq!(Graph::Research.next(&["critic", "papers", "web"], &state), ["write"]);
        assert_eq!(Graph::Release.next(&["build", "release"], &state), ["test"], "a goto adds a node");
        assert_eq!(Graph::Release.next(&["__end__"], &state), [""; 0]);
        let looping = json!({"n": 2});
        assert_eq!(Graph::Counter.next(&["step"], looping.as_object().expect("an object")), ["step"]);
        assert_eq!(Graph::Counter.next(&["step"], &state), [""; 0]);
    }
}
