//! The options of a new run besides its assistant and input: what they must be, and the request that they make. The dashboard's
//! composer and `runtail run` share them.

use super::RunCreate;
use crate::config::nearest;
use crate::text;
use serde_json::{Value, json};
use std::fmt;

/// Nodes that a message names.
const NAMED: usize = 6;
/// Means all nodes, as a breakpoint.
const ALL_NODES: &str = "*";

/// What a server does with a new run while another one is active on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    Reject,
    Enqueue,
    Interrupt,
    Rollback,
}

impl Conflict {
    pub const ALL: [Conflict; 4] = [
        Conflict::Reject,
        Conflict::Enqueue,
        Conflict::Interrupt,
        Conflict::Rollback,
    ];

    /// Returns its word in requests.
    pub fn word(self) -> &'static str {
        match self {
            Conflict::Reject => "reject",
            Conflict::Enqueue => "enqueue",
            Conflict::Interrupt => "interrupt",
            Conflict::Rollback => "rollback",
        }
    }

    /// Says what happens to the runs that are active: the last two take the whole queue (acting reference §7).
    pub fn consequence(self) -> &'static str {
        match self {
            Conflict::Reject => "the server refuses this run while another one is active",
            Conflict::Enqueue => "this run waits behind the active run and its queue",
            Conflict::Interrupt => {
                "cancels the active run and everything queued; finished steps are kept"
            }
            Conflict::Rollback => {
                "deletes the active run, everything queued, and their checkpoints"
            }
        }
    }

    /// Whether it ends other runs.
    pub fn cancels(self) -> bool {
        matches!(self, Conflict::Interrupt | Conflict::Rollback)
    }

    /// Returns the strategy of a request, if it names one.
    pub fn of(body: &RunCreate) -> Option<Conflict> {
        let word = body.extra.get("multitask_strategy")?.as_str()?;
        Conflict::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// When checkpoints are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Sync,
    Async,
    Exit,
}

impl Durability {
    pub const ALL: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Exit];

    /// Returns its word in requests.
    pub fn word(self) -> &'static str {
        match self {
            Durability::Sync => "sync",
            Durability::Async => "async",
            Durability::Exit => "exit",
        }
    }
}

/// An option of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunOption {
    Modes,
    Conflict,
    Before,
    After,
    RecursionLimit,
    Delay,
    Durability,
    Context,
    Config,
    Metadata,
    Webhook,
}

impl RunOption {
    /// Returns its name on screen.
    pub fn name(self) -> &'static str {
        match self {
            RunOption::Modes => "modes",
            RunOption::Conflict => "on conflict",
            RunOption::Before => "break before",
            RunOption::After => "break after",
            RunOption::RecursionLimit => "step limit",
            RunOption::Delay => "delay",
            RunOption::Durability => "durability",
            RunOption::Context => "context",
            RunOption::Config => "config",
            RunOption::Metadata => "metadata",
            RunOption::Webhook => "webhook",
        }
    }

    /// Returns the option that a part of a request's body is: `config.recursion_limit` is of the configuration.
    pub fn of_field(path: &str) -> Option<RunOption> {
        Some(match path.split(['.', '[']).next()? {
            "stream_mode" | "stream_subgraphs" => RunOption::Modes,
            "multitask_strategy" => RunOption::Conflict,
            "interrupt_before" => RunOption::Before,
            "interrupt_after" => RunOption::After,
            "after_seconds" => RunOption::Delay,
            "durability" => RunOption::Durability,
            "context" => RunOption::Context,
            "config" => RunOption::Config,
            "metadata" => RunOption::Metadata,
            "webhook" => RunOption::Webhook,
            _ => return None,
        })
    }
}

/// Why an option can't be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionProblem {
    pub option: RunOption,
    /// What it must be.
    pub rule: String,
}

impl fmt::Display for OptionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option.name(), self.rule)
    }
}

/// The options of a run. What is not set is left to the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunOptions {
    /// The stream modes.
    pub modes: Vec<String>,
    /// Whether events of subgraphs are streamed.
    pub subgraphs: bool,
    pub conflict: Option<Conflict>,
    /// The nodes before which the run stops; `*` means all.
    pub before: Vec<String>,
    /// The nodes after which it stops.
    pub after: Vec<String>,
    /// The number of steps allowed.
    pub recursion_limit: Option<u64>,
    /// Seconds until it starts.
    pub delay: Option<u64>,
    pub durability: Option<Durability>,
    pub context: Option<Value>,
    /// `{configurable, tags, recursion_limit}`.
    pub config: Option<Value>,
    pub metadata: Option<Value>,
    /// The address that the server calls when the run has ended.
    pub webhook: Option<String>,
}

impl RunOptions {
    /// Returns why the options can't be sent, in their order. `nodes`: those of the graph, if they are known. Servers accept
    /// unknown ones without a word (acting reference §1.9).
    pub fn problems(&self, nodes: Option<&[String]>) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        let mut add = |option, rule: String| problems.push(OptionProblem { option, rule });
        if self.modes.is_empty() {
            add(RunOption::Modes, "choose at least one".into());
        }
        for (option, names) in [
            (RunOption::Before, &self.before),
            (RunOption::After, &self.after),
        ] {
            if let Some(rule) = nodes.and_then(|nodes| unknown_node(names, nodes)) {
                add(option, rule);
            }
        }
        if self.recursion_limit == Some(0) {
            add(RunOption::RecursionLimit, "must be at least 1".into());
        }
        for (option, value) in [
            (RunOption::Context, &self.context),
            (RunOption::Config, &self.config),
            (RunOption::Metadata, &self.metadata),
        ] {
            if value.as_ref().is_some_and(|value| !value.is_object()) {
                add(option, "must be an object: {…}".into());
            }
        }
        let config = self.config.as_ref().unwrap_or(&Value::Null);
        if is_filled(self.context.as_ref()) && is_filled(config.get("configurable")) {
            let rule = "the server refuses a context beside config.configurable; give one of them";
            add(RunOption::Context, rule.into());
        }
        if let (Some(limit), Some(other)) = (self.recursion_limit, config.get("recursion_limit"))
            && *other != limit
        {
            add(
                RunOption::RecursionLimit,
                format!("differs from config.recursion_limit, which is {other}"),
            );
        }
        if let Some(webhook) = &self.webhook
            && !["http://", "https://"]
                .iter()
                .any(|start| webhook.len() > start.len() && webhook.starts_with(start))
        {
            add(
                RunOption::Webhook,
                "must be an http or https address".into(),
            );
        }
        problems.sort_by_key(|problem| problem.option);
        problems
    }

    /// Returns the problem of breakpoints on a server that ignores them: the run would go through the nodes.
    pub fn ignored_breakpoints(&self) -> Option<OptionProblem> {
        let option = match (self.before.is_empty(), self.after.is_empty()) {
            (false, _) => RunOption::Before,
            (true, false) => RunOption::After,
            (true, true) => return None,
        };
        Some(OptionProblem {
            option,
            rule: "this server ignores breakpoints, so the run would not stop".into(),
        })
    }

    /// Returns the request of a run with these options.
    pub fn body(&self, assistant_id: &str, input: Option<Value>) -> RunCreate {
        let mut config = self.config.clone().unwrap_or_else(|| json!({}));
        if let (Some(limit), Value::Object(fields)) = (self.recursion_limit, &mut config) {
            fields.insert("recursion_limit".into(), limit.into());
        }
        let options = [
            (
                "multitask_strategy",
                json!(self.conflict.map(Conflict::word)),
            ),
            ("interrupt_before", nodes_value(&self.before)),
            ("interrupt_after", nodes_value(&self.after)),
            (
                "config",
                Some(config).filter(|config| is_filled(Some(config))).into(),
            ),
            ("context", self.context.clone().into()),
            ("after_seconds", json!(self.delay)),
            ("durability", json!(self.durability.map(Durability::word))),
            ("webhook", json!(self.webhook)),
        ];
        let options = options.into_iter().filter(|(_, value)| !value.is_null());
        RunCreate {
            input,
            stream_mode: self.modes.clone(),
            stream_subgraphs: self.subgraphs,
            metadata: self.metadata.clone(),
            extra: options
                .map(|(name, value)| (name.to_string(), value))
                .collect(),
            ..RunCreate::alone(assistant_id)
        }
    }
}

fn is_filled(value: Option<&Value>) -> bool {
    value
        .and_then(Value::as_object)
        .is_some_and(|fields| !fields.is_empty())
}

fn nodes_value(names: &[String]) -> Value {
    match names {
        [] => Value::Null,
        [all] if all == ALL_NODES => json!(ALL_NODES),
        names => json!(names),
    }
}

/// Says which node the graph doesn't have.
fn unknown_node(names: &[String], nodes: &[String]) -> Option<String> {
    if names.len() > 1 && names.iter().any(|name| name == ALL_NODES) {
        return Some("* means all nodes, so it stands alone".into());
    }
    let name = names
        .iter()
        .find(|name| *name != ALL_NODES && !nodes.contains(name))?;
    let shown = text::seen(name, 60);
    if let Some(near) = nearest(name, nodes.iter().map(String::as_str)) {
        return Some(format!(
            "the graph has no node {shown}; did you mean {}?",
            text::clean(near)
        ));
    }
    let known: Vec<_> = nodes
        .iter()
        .take(NAMED)
        .map(|name| text::clean(name))
        .collect();
    let more = if nodes.len() > NAMED { ", …" } else { "" };
    Some(format!(
        "the graph has no node {shown}; it has {}{more}",
        known.join(", ")
    ))
}

/// Returns the nodes of a graph's drawing at which a run can stop. None where it has no nodes, so that nothing can be checked.
pub fn graph_nodes(graph: &Value) -> Option<Vec<String>> {
    let nodes = graph["nodes"]
        .as_array()?
        .iter()
        .filter_map(|node| node["id"].as_str());
    let own: Vec<String> = nodes
        .filter(|id| !matches!(*id, "__start__" | "__end__"))
        .map(str::to_string)
        .collect();
    (!own.is_empty()).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> RunOptions {
        RunOptions {
            modes: vec!["updates".into()],
            ..RunOptions::default()
        }
    }

    fn rules(options: &RunOptions) -> Vec<String> {
        let nodes = ["draft".to_string(), "approve".into(), "send".into()];
        options
            .problems(Some(&nodes))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn unset_options_are_left_to_the_server() {
        let body = serde_json::to_value(usual().body("a", Some(json!({"x": 1})))).unwrap();
        let expected = json!({"assistant_id": "a", "input": {"x": 1}, "stream_mode": ["updates"],
            "stream_subgraphs": false, "stream_resumable": true, "on_disconnect": "continue"});
        assert_eq!(body, expected);
    }

    #[test]
    fn every_option_is_in_the_request() {
        let options = RunOptions {
            conflict: Some(Conflict::Rollback),
            before: vec!["*".into()],
            after: vec!["draft".into(), "send".into()],
            recursion_limit: Some(50),
            delay: Some(5),
            durability: Some(Durability::Exit),
            config: Some(json!({"tags": ["x"], "configurable": {"k": 1}})),
            metadata: Some(json!({"who": "me"})),
            webhook: Some("https://hook.test/x".into()),
            ..usual()
        };
        assert_eq!(rules(&options), [""; 0]);
        let body = serde_json::to_value(options.body("a", None)).unwrap();
        let expected = json!({"assistant_id": "a", "stream_mode": ["updates"], "stream_subgraphs": false,
            "stream_resumable": true, "on_disconnect": "continue", "metadata": {"who": "me"},
            "multitask_strategy": "rollback", "interrupt_before": "*", "interrupt_after": ["draft", "send"],
            "config": {"tags": ["x"], "configurable": {"k": 1}, "recursion_limit": 50}, "after_seconds": 5,
            "durability": "exit", "webhook": "https://hook.test/x"});
        assert_eq!(body, expected);
        let context = RunOptions {
            context: Some(json!({"model": "small"})),
            ..usual()
        };
        assert_eq!(
            context.body("a", None).extra["context"],
            json!({"model": "small"})
        );
    }

    #[test]
    fn options_that_a_server_refuses_or_ignores_are_problems() {
        let both = RunOptions {
            context: Some(json!({"a": 1})),
            config: Some(json!({"configurable": {"b": 1}})),
            ..usual()
        };
        let expected =
            ["context: the server refuses a context beside config.configurable; give one of them"];
        assert_eq!(rules(&both), expected);
        let empty = RunOptions {
            context: Some(json!({})),
            ..both
        };
        assert_eq!(rules(&empty), [""; 0], "servers take an empty context");
        for (options, expected) in [
            (
                RunOptions {
                    modes: Vec::new(),
                    ..usual()
                },
                "modes: choose at least one",
            ),
            (
                RunOptions {
                    before: vec!["aprove".into()],
                    ..usual()
                },
                "break before: the graph has no node aprove; did you mean approve?",
            ),
            (
                RunOptions {
                    after: vec!["x".into()],
                    ..usual()
                },
                "break after: the graph has no node x; it has draft, approve, send",
            ),
            (
                RunOptions {
                    after: vec!["*".into(), "send".into()],
                    ..usual()
                },
                "break after: * means all nodes, so it stands alone",
            ),
            (
                RunOptions {
                    recursion_limit: Some(0),
                    ..usual()
                },
                "step limit: must be at least 1",
            ),
            (
                RunOptions {
                    recursion_limit: Some(9),
                    config: Some(json!({"recursion_limit": 8})),
                    ..usual()
                },
                "step limit: differs from config.recursion_limit, which is 8",
            ),
            (
                RunOptions {
                    metadata: Some(json!([1])),
                    ..usual()
                },
                "metadata: must be an object: {…}",
            ),
            (
                RunOptions {
                    webhook: Some("hook".into()),
                    ..usual()
                },
                "webhook: must be an http or https address",
            ),
        ] {
            assert_eq!(rules(&options), [expected]);
        }
        // Without the graph's nodes, names can't be checked.
        let unchecked = RunOptions {
            before: vec!["x".into()],
            ..usual()
        };
        assert_eq!(unchecked.problems(None), []);
        assert_eq!(
            unchecked
                .ignored_breakpoints()
                .map(|problem| problem.option),
            Some(RunOption::Before)
        );
        assert_eq!(usual().ignored_breakpoints(), None);
    }

    #[test]
    fn nodes_are_read_from_a_drawing() {
        let drawing =
            json!({"nodes": [{"id": "__start__"}, {"id": "chat"}, {"id": 7}, {"id": "__end__"}]});
        assert_eq!(graph_nodes(&drawing), Some(vec!["chat".to_string()]));
        assert_eq!(graph_nodes(&json!({"nodes": []})), None);
    }
}
