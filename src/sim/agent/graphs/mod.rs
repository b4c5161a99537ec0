//! The graphs that the simulator runs: their shape, their state, and which node does what.

use super::exec::{Node, Stop};
use super::scripts;
use super::state::Object;
use super::{message, scripts::research};
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};

/// A graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Graph {
    /// A chat that calls tools.
    Agent,
    /// The same chat under the name that the demo shows.
    Support,
    /// Parallel nodes and a subgraph in a subgraph.
    Research,
    /// Stops and asks before it spends money.
    Approval,
    /// Its second node raises.
    Broken,
    /// A long node that says nothing.
    Slow,
    /// As many events as wanted, as fast as they go.
    Firehose,
    /// Inside `research`: looks at a draft.
    Critic,
    /// Inside the critic: checks the sources.
    Sources,
}

/// The graphs that a client can run.
pub const GRAPHS: [Graph; 7] =
    [Graph::Agent, Graph::Support, Graph::Research, Graph::Approval, Graph::Broken, Graph::Slow, Graph::Firehose];

impl Graph {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Graph::Agent => "agent",
            Graph::Support => "support",
            Graph::Research => "research",
            Graph::Approval => "approval",
            Graph::Broken => "broken",
            Graph::Slow => "slow",
            Graph::Firehose => "firehose",
            Graph::Critic => "critic",
            Graph::Sources => "sources",
        }
    }

    /// A graph that a client can run, by name.
    pub fn named(name: &str) -> Option<Graph> {
        GRAPHS.into_iter().find(|graph| graph.name() == name)
    }

    /// The id of its own assistant: a UUID of version 5 of its name, so the same on every real server.
    pub fn assistant(self) -> &'static str {
        match self {
            Graph::Agent => "fe096781-5601-53d2-b2f6-0d3403f7e9ca",
            Graph::Support => "a76bea17-1a15-53a6-bfc6-e12c619f641d",
            Graph::Research => "74d06aba-6a30-5f5b-88fe-7d81ce376129",
            Graph::Approval => "e234584d-b7bf-527f-9d06-ba77f8f5172d",
            Graph::Broken => "0e2c357f-f554-5a10-8b5a-ffb04b690d9d",
            Graph::Slow => "cad1b5ad-d177-59d1-ab39-5e327188ed3a",
            Graph::Firehose => "d4d82fc7-48b4-589f-95de-7c1ba73951ef",
            Graph::Critic | Graph::Sources => "",
        }
    }

    /// The state before any input.
    pub fn initial(self) -> Object {
        let state = match self {
            Graph::Agent | Graph::Support => json!({"messages": []}),
            Graph::Research | Graph::Critic | Graph::Sources => json!({"notes": [], "messages": []}),
            Graph::Approval | Graph::Broken | Graph::Slow => json!({"log": []}),
            Graph::Firehose => json!({"messages": []}),
        };
        match state {
            Value::Object(state) => state,
            _ => Object::new(),
        }
    }

    /// Merges what a node returned, or an input, into a state: lists of the graph grow, all else is replaced.
    pub fn merge(self, state: &mut Object, update: &Value) {
        for (key, value) in update.as_object().into_iter().flatten() {
            let grows = self.initial().get(key).is_some_and(Value::is_array);
            match (grows, value.as_array()) {
                (true, Some(added)) => {
                    let list = state.entry(key.clone()).or_insert_with(|| json!([]));
                    let Some(list) = list.as_array_mut() else { continue };
                    for item in added {
                        let item = if key == "messages" { message::coerce(item) } else { item.clone() };
                        let same = |old: &Value| old.is_object() && item["id"].is_string() && old["id"] == item["id"];
                        match list.iter().position(same) {
                            Some(at) => list[at] = item,
                            None => list.push(item),
                        }
                    }
                }
                (true, None) if key == "messages" => {
                    if let Some(list) = state.entry(key.clone()).or_insert_with(|| json!([])).as_array_mut() {
                        list.push(message::coerce(value));
                    }
                }
                _ => {
                    state.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// The nodes after the input.
    pub fn start(self) -> Vec<&'static str> {
        match self {
            Graph::Agent | Graph::Support => vec!["chat"],
            Graph::Research => vec!["plan"],
            Graph::Approval => vec!["draft"],
            Graph::Broken => vec!["ok"],
            Graph::Slow => vec!["nap"],
            Graph::Firehose => vec!["burst"],
            Graph::Critic => vec!["read"],
            Graph::Sources => vec!["check"],
        }
    }

    /// The nodes after a step.
    pub fn next(self, after: &[&str], state: &Object) -> Vec<&'static str> {
        match (self, after) {
            (Graph::Agent | Graph::Support, ["chat"]) => {
                let asks = state.get("messages").and_then(Value::as_array).and_then(|messages| messages.last());
                let calls = asks.and_then(|message| message["tool_calls"].as_array());
                if calls.is_some_and(|calls| !calls.is_empty()) { vec!["tools"] } else { vec![] }
            }
            (Graph::Agent | Graph::Support, ["tools"]) => vec!["chat"],
            (Graph::Research, ["plan"]) => vec!["web", "papers", "critic"],
            (Graph::Research, ["web", ..]) => vec!["write"],
            (Graph::Critic, ["read"]) => vec!["sources"],
            (Graph::Approval, ["draft"]) => vec!["ask"],
            (Graph::Approval, ["ask"]) => vec!["act"],
            (Graph::Broken, ["ok"]) => vec!["boom"],
            (Graph::Slow, ["nap"]) => vec!["wake"],
            _ => vec![],
        }
    }

    /// The subgraph that a node is.
    pub fn inner(self, node: &str) -> Option<Graph> {
        match (self, node) {
            (Graph::Research, "critic") => Some(Graph::Critic),
            (Graph::Critic, "sources") => Some(Graph::Sources),
            _ => None,
        }
    }

    /// All edges; a `true` one is conditional.
    fn edges(self) -> Vec<(&'static str, &'static str, bool)> {
        match self {
            Graph::Agent | Graph::Support => vec![
                ("__start__", "chat", false),
                ("chat", "__end__", true),
                ("chat", "tools", true),
                ("tools", "chat", false),
            ],
            Graph::Research => vec![
                ("__start__", "plan", false),
                ("plan", "critic", false),
                ("plan", "papers", false),
                ("plan", "web", false),
                ("critic", "write", false),
                ("papers", "write", false),
                ("web", "write", false),
                ("write", "__end__", false),
            ],
            Graph::Approval => vec![
                ("__start__", "draft", false),
                ("draft", "ask", false),
                ("ask", "act", false),
                ("act", "__end__", false),
            ],
            Graph::Broken => vec![("__start__", "ok", false), ("ok", "boom", false), ("boom", "__end__", false)],
            Graph::Slow => vec![("__start__", "nap", false), ("nap", "wake", false), ("wake", "__end__", false)],
            Graph::Firehose => vec![("__start__", "burst", false), ("burst", "__end__", false)],
            Graph::Critic => {
                vec![("__start__", "read", false), ("read", "sources", false), ("sources", "__end__", false)]
            }
            Graph::Sources => vec![("__start__", "check", false), ("check", "__end__", false)],
        }
    }

    /// The nodes, without start and end.
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

    /// The drawing that `GET /assistants/{id}/graph` answers; `xray` opens that many levels of subgraphs.
    pub fn drawing(self, xray: usize) -> Value {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        self.draw("", xray, &mut nodes, &mut edges);
        let runnable = |id: &String| json!({"id": id, "type": "runnable", "data": {"name": id}});
        let mut drawn: Vec<Value> = vec![runnable(&"__start__".to_owned())];
        drawn.extend(nodes.iter().map(runnable));
        drawn.push(json!({"id": "__end__"}));
        let edges: Vec<Value> = edges
            .into_iter()
            .map(|(source, target, conditional)| {
                let mut edge = json!({"source": source, "target": target});
                if conditional {
                    edge["conditional"] = json!(true);
                }
                edge
            })
            .collect();
        json!({"nodes": drawn, "edges": edges})
    }

    fn draw(self, prefix: &str, xray: usize, nodes: &mut Vec<String>, edges: &mut Vec<(String, String, bool)>) {
        let open = |node: &str| if xray > 0 { self.inner(node) } else { None };
        for node in self.nodes() {
            match open(node) {
                Some(inner) => inner.draw(&format!("{prefix}{node}:"), xray - 1, nodes, edges),
                None => nodes.push(format!("{prefix}{node}")),
            }
        }
        for (from, to, conditional) in self.edges() {
            if !prefix.is_empty() && (from == "__start__" || to == "__end__") {
                continue;
            }
            let from = open(from).map_or_else(
                || format!("{prefix}{from}"),
                |inner| inner.end_of(&format!("{prefix}{from}:"), xray - 1, false),
            );
            let to = open(to).map_or_else(
                || format!("{prefix}{to}"),
                |inner| inner.end_of(&format!("{prefix}{to}:"), xray - 1, true),
            );
            edges.push((from, to, conditional));
        }
    }

    /// The first or last node of a subgraph, where an edge from outside ends.
    fn end_of(self, prefix: &str, xray: usize, first: bool) -> String {
        let edges = self.edges();
        let node = edges.iter().find_map(|(from, to, _)| match first {
            true if *from == "__start__" => Some(*to),
            false if *to == "__end__" => Some(*from),
            _ => None,
        });
        let node = node.unwrap_or_default();
        match if xray > 0 { self.inner(node) } else { None } {
            Some(inner) => inner.end_of(&format!("{prefix}{node}:"), xray - 1, first),
            None => format!("{prefix}{node}"),
        }
    }

    /// Runs one node.
    pub fn node<'a>(self, node: &'a Node<'_>) -> BoxFuture<'a, Result<Value, Stop>> {
        let name = node.spot.node.clone();
        async move {
            match (self, name.as_str()) {
                (Graph::Agent | Graph::Support, "chat") => scripts::chat::chat(node).await,
                (Graph::Agent | Graph::Support, "tools") => scripts::chat::tools(node).await,
                (Graph::Research, "plan") => research::plan(node).await,
                (Graph::Research, "web" | "papers") => research::search(node).await,
                (Graph::Research, "critic") => research::inside(node, Graph::Critic).await,
                (Graph::Research, "write") => research::write(node).await,
                (Graph::Critic, "read") => research::read(node).await,
                (Graph::Critic, "sources") => research::inside(node, Graph::Sources).await,
                (Graph::Sources, "check") => research::check(node).await,
                (Graph::Approval, "draft") => scripts::small::draft(node).await,
                (Graph::Approval, "ask") => scripts::small::ask(node),
                (Graph::Approval, "act") => scripts::small::act(node).await,
                (Graph::Broken, "ok") => scripts::small::ok(node).await,
                (Graph::Broken, "boom") => scripts::small::boom(node).await,
                (Graph::Slow, "nap") => scripts::small::nap(node).await,
                (Graph::Slow, "wake") => Ok(json!({"log": ["woke"]})),
                (Graph::Firehose, "burst") => scripts::firehose::burst(node).await,
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
    fn drawings_open_their_subgraphs() {
        let flat = Graph::Research.drawing(0);
        assert!(flat["nodes"].as_array().is_some_and(|nodes| nodes.iter().any(|node| node["id"] == "critic")));
        let open = Graph::Research.drawing(9).to_string();
        assert!(open.contains("\"critic:sources:check\"") && !open.contains("\"critic\""), "{open}");
        assert!(open.contains(r#"{"source":"critic:sources:check","target":"write"}"#), "{open}");
        assert!(open.contains(r#"{"source":"critic:read","target":"critic:sources:check"}"#), "{open}");
        let chat = Graph::Agent.drawing(0);
        assert_eq!(chat["edges"][1], json!({"source": "chat", "target": "__end__", "conditional": true}));
        assert_eq!(chat["nodes"][3], json!({"id": "__end__"}));
    }

    #[test]
    fn lists_grow_and_messages_are_replaced_by_id() {
        let mut state = Graph::Agent.initial();
        Graph::Agent.merge(&mut state, &json!({"messages": [{"role": "user", "content": "a"}], "topic": "x"}));
        let first = state["messages"][0].clone();
        Graph::Agent.merge(&mut state, &json!({"messages": [first], "topic": "y"}));
        assert_eq!(state["messages"].as_array().map(Vec::len), Some(1));
        assert_eq!(state["topic"], "y");
    }
}
