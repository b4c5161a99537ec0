//! Running an input again, from the record of the run that had it.

use super::{Extra, RunCreate, RunFacts, is_blank};
use crate::json;

use serde_json::{Map, Value};

/// Keys of a run's configuration that its server adds; sent again they would claim to be another request's.
const SERVER_KEYS: [&str; 9] = [
    "run_id",
    "thread_id",
    "graph_id",
    "assistant_id",
    "user_id",
    "user-agent",
    "checkpoint_id",
    "checkpoint_ns",
    "checkpoint_map",
];
/// Options of a run that are sent again as they are, under the names that a record and a request share.
const OPTIONS: [&str; 4] = [
    "interrupt_before",
    "interrupt_after",
    "durability",
    "feedback_keys",
];

/// A run with the options of an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub struct Rerun {
    /// The request.
    pub body: RunCreate,
    /// What it leaves out of the earlier request, in words.
    pub omitted: Vec<String>,
}

impl Rerun {
    /// Takes configuration, context, breakpoints and the like from the record of an earlier run, without its input. A run
    /// that continues another one needs them: servers do not keep them with the thread.
    pub fn with_options_of(run: Option<&RunFacts>, assistant_id: &str) -> Rerun {
        let kwargs = run.map(RunFacts::started_with).unwrap_or_default();
        let mut body = RunCreate::alone(assistant_id);
        let mut omitted = Vec::new();
        let context = kwargs["context"]
            .as_object()
            .filter(|context| !context.is_empty());
        let config = config_of(&kwargs["config"], context, &mut omitted);
        body.extra
            .extend(config.map(|config| ("config".to_string(), config)));
        body.extra
            .extend(context.map(|context| ("context".to_string(), Value::Object(context.clone()))));
        let options = OPTIONS.into_iter().filter(|name| is_set(&kwargs[*name]));
        body.extra
            .extend(options.map(|name| (name.to_string(), kwargs[name].clone())));
        if is_set(&kwargs["webhook"]) {
            omitted.push("the webhook".into());
        }
        Rerun { body, omitted }
    }

    /// Repeats the input of an earlier run with all its options.
    ///
    /// # Errors
    /// Why there is nothing to repeat: the record has no input, or the run did not have one.
    pub fn of(run: &RunFacts, assistant_id: &str) -> Result<Rerun, String> {
        let kwargs = run.started_with();
        let input = run.own_input();
        let command = Some(&kwargs["command"]).filter(|command| !command.is_null());
        if command.is_some_and(|command| !command["resume"].is_null()) {
            return Err("it answered a question, and an answer can't be given again".into());
        }
        if input.is_none() && command.is_none() {
            return Err(match run.kwargs {
                Some(_) => "it had no input of its own: it continued the thread".into(),
                None => "the server's record of it has no input".into(),
            });
        }
        let Rerun { mut body, omitted } = Rerun::with_options_of(Some(run), assistant_id);
        (body.input, body.command) = (input, command.cloned());
        let modes = kwargs["stream_mode"].as_array().into_iter().flatten();
        let modes: Vec<String> = modes
            .filter_map(|mode| mode.as_str().map(str::to_string))
            .collect();
        if !modes.is_empty() {
            body.stream_mode = modes;
        }
        if let Some(subgraphs) = kwargs["subgraphs"].as_bool() {
            body.stream_subgraphs = subgraphs;
        }
        Ok(Rerun { body, omitted })
    }
}

impl RunFacts {
    /// Returns what it was started with, parsed; null if the record doesn't say.
    pub(super) fn started_with(&self) -> Value {
        json_in(&self.kwargs)
    }

    /// Returns the input of its own that the run was started with. A run that answered a question or continued has none.
    pub fn own_input(&self) -> Option<Value> {
        let kwargs = self.started_with();
        let beside = json_in(&self.input);
        let resumes = !kwargs["command"]["resume"].is_null();
        [kwargs["input"].clone(), beside]
            .into_iter()
            .find(|input| !input.is_null())
            .filter(|_| !resumes)
    }
}

fn json_in(text: &Option<String>) -> Value {
    let value = text.as_deref().and_then(|text| json::from_str(text).ok());
    value.unwrap_or_default()
}

/// The configuration without what the server added. A request may have a context or `configurable`, but not both; servers
/// copy one into the other.
fn config_of(
    config: &Value,
    context: Option<&Map<String, Value>>,
    omitted: &mut Vec<String>,
) -> Option<Value> {
    let mut kept = Extra::new();
    for name in ["tags", "recursion_limit"] {
        if is_set(&config[name]) {
            kept.insert(name.into(), config[name].clone());
        }
    }
    let configurable = config["configurable"].as_object().into_iter().flatten();
    let own: Extra = configurable
        .filter(|(name, value)| is_own(name) && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    match context {
        None if !own.is_empty() => drop(kept.insert("configurable".into(), Value::Object(own))),
        None => {}
        Some(context) => {
            let lost: Vec<&str> = own
                .keys()
                .filter(|name| !context.contains_key(*name))
                .map(String::as_str)
                .collect();
            if !lost.is_empty() {
                omitted.push(format!(
                    "config.configurable ({}), because it had a context too",
                    lost.join(", ")
                ));
            }
        }
    }
    (!kept.is_empty()).then_some(Value::Object(kept))
}

/// Whether a key of `configurable` came from the request, and not from the server.
fn is_own(name: &str) -> bool {
    let is_servers =
        SERVER_KEYS.contains(&name) || name.starts_with("langgraph_") || name.starts_with("__");
    // Servers copy headers of the request here: they are of the earlier caller, credentials among them.
    let is_header = name.starts_with("x-") || matches!(name, "authorization" | "cookie");
    !is_servers && !is_header
}

fn is_set(value: &Value) -> bool {
    !is_blank(value) && value != ""
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rerun(record: &Value) -> Result<Rerun, String> {
        Rerun::of(&RunFacts::read(&record.to_string()).unwrap(), "a")
    }

    #[test]
    fn rerun_keeps_the_runs_options_without_the_servers() {
        // Captured from the Python server (acting/run-create), with a few more options.
        let record = json!({
            "run_id": "r", "kwargs": {
                "input": {"seconds": 4}, "command": null,
                "config": {"tags": ["x"], "recursion_limit": 50, "metadata": {"created_by": "system"}, "configurable": {
                    "k": 1, "langgraph_auth_user": null, "langgraph_auth_user_id": "", "langgraph_request_id": "q",
                    "__after_seconds__": 0, "run_id": "r", "thread_id": "t", "graph_id": "slow", "assistant_id": "a",
                    "user_id": "", "user-agent": "x", "x-api-key": "lsv2_secret", "authorization": "Bearer y"}},
                "context": {}, "stream_mode": ["values"], "subgraphs": false, "interrupt_before": ["nap"],
                "interrupt_after": [], "durability": "exit", "resumable": false, "webhook": "https://hook.test",
            },
        });
        let rerun = rerun(&record).unwrap();
        let expected = json!({
            "assistant_id": "a", "input": {"seconds": 4}, "stream_mode": ["values"], "stream_subgraphs": false,
            "stream_resumable": true, "on_disconnect": "continue", "multitask_strategy": "reject",
            "config": {"tags": ["x"], "recursion_limit": 50, "configurable": {"k": 1}},
            "interrupt_before": ["nap"], "durability": "exit",
        });
        assert_eq!(serde_json::to_value(&rerun.body).unwrap(), expected);
        assert_eq!(rerun.omitted, ["the webhook"]);
        // A run that continues this one has the same options, but neither its input nor its stream modes.
        let run = RunFacts::read(&record.to_string()).unwrap();
        let next = Rerun::with_options_of(Some(&run), "a").body;
        assert_eq!((&next.input, &next.extra), (&None, &rerun.body.extra));
        assert!(next.stream_mode.len() > 1 && next.stream_subgraphs);
    }

    #[test]
    fn rerun_with_context_omits_configurable() {
        let record = json!({"kwargs": {"input": {}, "context": {"model": "large"},
                            "config": {"configurable": {"model": "large", "other": 1}}}});
        let rerun = rerun(&record).unwrap();
        assert_eq!(
            rerun.body.extra.get("context"),
            Some(&json!({"model": "large"}))
        );
        assert_eq!(rerun.body.extra.get("config"), None);
        assert_eq!(
            rerun.omitted,
            ["config.configurable (other), because it had a context too"]
        );
    }

    #[test]
    fn rerun_without_input_is_explained() {
        for (record, why) in [
            (
                json!({"run_id": "r"}),
                "the server's record of it has no input",
            ),
            (
                json!({"kwargs": {"input": null}}),
                "it had no input of its own: it continued the thread",
            ),
            (
                json!({"kwargs": {"command": {"resume": false}}}),
                "it answered a question, and an answer can't be given again",
            ),
            (
                json!({"kwargs": {"command": {"resume": {"a": 1}}}}),
                "it answered a question, and an answer can't be given again",
            ),
        ] {
            assert_eq!(rerun(&record).unwrap_err(), why);
        }
        // Aegra's input is beside the kwargs.
        let aegra = rerun(&json!({"input": {"n": 1}})).unwrap();
        assert_eq!(aegra.body.input, Some(json!({"n": 1})));
        let goto = rerun(&json!({"kwargs": {"command": {"goto": "b"}}})).unwrap();
        assert_eq!(
            (goto.body.input, goto.body.command),
            (None, Some(json!({"goto": "b"})))
        );
    }
}
