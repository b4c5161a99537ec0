//! A run of an agent server, and the request that starts one.

use super::{Extra, Resume, lenient, lenient_time};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One run, as `GET /threads/{t}/runs[/{r}]` answers it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Run {
    /// A UUID.
    pub run_id: String,
    /// The thread that it runs on.
    #[serde(default, deserialize_with = "lenient")]
    pub thread_id: String,
    /// The assistant that it runs.
    #[serde(default, deserialize_with = "lenient")]
    pub assistant_id: String,
    /// `pending`, `running`, `success`, `error`, `timeout` or `interrupted`. A run that stopped at an interrupt says
    /// `success` on the Python server: the thread tells.
    #[serde(default, deserialize_with = "lenient")]
    pub status: String,
    /// When it was requested.
    #[serde(default, deserialize_with = "lenient_time")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient_time")]
    pub updated_at: Option<Timestamp>,
    #[serde(default)]
    pub metadata: Option<Value>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Run {
    /// Whether the server still works on it, or will.
    pub fn is_active(&self) -> bool {
        matches!(
            self.status.as_str(),
            "pending" | "queued" | "running" | "streaming"
        )
    }
}

/// Default stream modes of runs: enough for every view.
pub const USUAL_MODES: [&str; 5] = ["messages-tuple", "updates", "values", "custom", "tasks"];

impl RunCreate {
    /// A run on a thread that must not run beside another one: the server refuses it while a run is active.
    pub fn alone(assistant_id: &str) -> RunCreate {
        RunCreate {
            assistant_id: assistant_id.to_string(),
            stream_mode: USUAL_MODES.map(str::to_string).to_vec(),
            stream_subgraphs: true,
            stream_resumable: true,
            on_disconnect: Some("continue".into()),
            extra: Extra::from_iter([("multitask_strategy".to_string(), Value::from("reject"))]),
            ..RunCreate::default()
        }
    }

    /// The same as an answer to the thread's questions.
    pub fn answering(self, resume: &Resume) -> RunCreate {
        RunCreate {
            command: Some(json!({"resume": resume.value()})),
            input: None,
            ..self
        }
    }

    /// The same as a run that continues the thread where it stopped.
    pub fn continuing(self) -> RunCreate {
        RunCreate {
            command: None,
            input: Some(Value::Null),
            ..self
        }
    }
}

/// The body that starts a run (agent-server reference §6, RunCreate).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCreate {
    /// A UUID, or the name of a graph.
    pub assistant_id: String,
    /// Input of the graph. `None` is left out; JSON null continues a static interrupt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// A command instead of an input: `{"resume": …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Value>,
    /// Stream modes. Sent as a list always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stream_mode: Vec<String>,
    /// Whether the events of subgraphs are streamed, with their namespace.
    #[serde(default)]
    pub stream_subgraphs: bool,
    /// Whether the server stores the events, so that a stream can be resumed. Always requested.
    #[serde(default)]
    pub stream_resumable: bool,
    /// `continue`: leaving the stream never cancels the run.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub on_disconnect: Option<String>,
    /// Notes on the run; carries the mark by which a run is found again when the answer to its start was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}
