//! What a composer of runs shows of an assistant: its schemas, its graph's nodes, and its earlier inputs.

use super::ThreadQuery;
use crate::prelude::*;
use futures::{StreamExt, stream};
use runtail_core::model::graph_nodes;
use std::cmp::Reverse;

/// Threads of an assistant whose runs are read, runs of each, and bytes of their list.
const THREADS: usize = 12;
const RUNS: usize = 8;
const MAX_RUNS: usize = 2 << 20;
/// Maximum number of threads to read concurrently.
const MAX_CONCURRENCY: usize = 4;
/// Inputs that are kept, and bytes of the largest.
const INPUTS: usize = 20;
const MAX_INPUT: usize = 256 << 10;

/// The facts of an assistant's graph. A part that the server does not offer is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphFacts {
    /// The JSON schema of its input.
    pub input_schema: Option<Value>,
    /// Whether that is the schema of its state, because the server can't describe its input: an input has some of its keys.
    pub is_of_state: bool,
    /// The JSON schema of its context.
    pub context_schema: Option<Value>,
    /// Its nodes.
    pub nodes: Option<Vec<String>>,
    /// Whether the server ignores breakpoints.
    pub ignores_breakpoints: bool,
}

/// An earlier input.
#[derive(Debug, Clone, PartialEq)]
pub struct PastInput {
    pub input: Value,
    /// The thread that it ran on.
    pub thread_id: String,
    /// When its run was requested.
    pub at: Option<Timestamp>,
}

impl AgentServer {
    /// Returns the facts of an assistant's graph, by the assistant's id.
    #[boxed]
    pub async fn graph_facts(&self, assistant: &str) -> Result<GraphFacts, ApiError> {
        // JavaScript servers take five seconds to refuse the schemas.
        let kind = self.info().await?.kind;
        let has_schemas = kind != ServerKind::JavaScript;
        let schemas = async {
            if has_schemas {
                offered(self.assistant_schemas(assistant).await)
            } else {
                Ok(Value::Null)
            }
        };
        let graph = async { offered(self.assistant_graph(assistant, false).await) };
        let (schemas, graph) = tokio::join!(schemas, graph);
        let schemas = schemas?;
        let schema = |name: &str| {
            Some(schemas[name].clone()).filter(|schema| schema["properties"].is_object())
        };
        let (input, state) = (schema("input_schema"), schema("state_schema"));
        Ok(GraphFacts {
            is_of_state: input.is_none() && state.is_some(),
            input_schema: input.or(state),
            context_schema: schema("context_schema"),
            // The form matters more than the names of the nodes.
            nodes: graph_nodes(&graph.unwrap_or_default()),
            ignores_breakpoints: kind.ignores_breakpoints(),
        })
    }

    /// Returns the newest inputs of an assistant's runs, newest first and each once, from the records of its newest threads.
    /// `thread`: one that is looked through in any case. A server without a list of threads has only that one.
    #[boxed]
    pub async fn past_inputs(
        &self,
        assistant: &str,
        thread: Option<&str>,
    ) -> Result<Vec<PastInput>, ApiError> {
        let query = ThreadQuery {
            limit: THREADS,
            metadata: Some(json!({"assistant_id": assistant})),
            ..ThreadQuery::default()
        };
        let listed = match self.threads(&query).await {
            Ok(threads) => threads.into_iter().map(|thread| thread.thread_id).collect(),
            Err(error) if error.is_refusal() => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut threads: Vec<String> = thread.map(str::to_string).into_iter().collect();
        threads.extend(
            listed
                .into_iter()
                .filter(|id| thread != Some(id))
                .take(THREADS),
        );
        let reads = threads.into_iter().map(|thread| async move {
            let rows = self.runs_raw(&thread, RUNS, 0, MAX_RUNS).await?;
            Ok::<_, ApiError>((thread, rows))
        });
        let mut reads = stream::iter(reads.collect::<Vec<_>>()).buffer_unordered(MAX_CONCURRENCY);
        let mut found = Vec::new();
        while let Some(read) = reads.next().await {
            let (thread, rows) = match read {
                Ok(read) => read,
                // A thread that was deleted meanwhile, or whose runs are too large, hides no other.
                Err(error)
                    if error.is_refusal() || matches!(error.kind, crate::Kind::TooLarge(_)) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            let runs = rows.iter().filter_map(|row| RunFacts::read(row.get()).ok());
            for run in runs.filter(|run| run.assistant_id == assistant) {
                let Some(input) = run
                    .own_input()
                    .filter(|input| input.to_string().len() <= MAX_INPUT)
                else {
                    continue;
                };
                found.push(PastInput {
                    input,
                    thread_id: thread.clone(),
                    at: run.created_at,
                });
            }
        }
        found.sort_by_key(|past| Reverse(past.at));
        let mut inputs: Vec<PastInput> = Vec::new();
        for past in found {
            if inputs.len() < INPUTS && inputs.iter().all(|known| known.input != past.input) {
                inputs.push(past);
            }
        }
        Ok(inputs)
    }
}

/// A part that the server does not offer is null. Python refuses the schemas of a graph that can't be described.
fn offered(part: Result<Value, ApiError>) -> Result<Value, ApiError> {
    match part {
        Ok(value) => Ok(value),
        Err(error)
            if error.is_refusal()
                && !matches!(
                    error.kind,
                    crate::Kind::Unauthorized | crate::Kind::Forbidden
                ) =>
        {
            Ok(Value::Null)
        }
        Err(error) => Err(error),
    }
}
