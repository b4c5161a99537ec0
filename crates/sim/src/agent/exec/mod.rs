//! Runs a graph the way LangGraph does: super-steps, parallel tasks, subgraphs, checkpoints, interrupts and forks.

mod begin;
mod level;
mod step;

pub use begin::{Answers, Begin, Continue, NO_INPUT};
pub use level::run_level;

use super::emit::{Output, Position};
use super::graphs::Graph;
use super::message::{self, Reply};
use super::message_stream::MessageStream;
use super::state::{Checkpoint, Interrupt};
use crate::ids::uuid7;
use crate::values::{Object, locked};
use futures::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Why a graph stopped before its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// A node raised.
    Failed {
        /// The exception's class.
        error: String,
        message: String,
    },
    /// A node asks a question and waits for the answer.
    Asked(Interrupt),
    /// The run reaches a breakpoint.
    Held,
}

impl Stop {
    /// A failure.
    pub fn failed(error: &str, message: impl Into<String>) -> Self {
        Stop::Failed {
            error: error.to_owned(),
            message: message.into(),
        }
    }
}

/// How a run starts.
#[derive(Debug, Clone)]
pub struct Start {
    /// Its initial state.
    pub base: Option<Checkpoint>,
    /// What it does with the state.
    pub begin: Begin,
    /// Nodes before which it stops (breakpoints).
    pub hold_before: Vec<String>,
    /// Nodes after which it stops (breakpoints).
    pub hold_after: Vec<String>,
    /// Maximum number of steps.
    pub limit: i64,
}

/// A question's schema, and the check of an answer against it.
pub type AnswerSchema = (Value, fn(&Value) -> Result<(), Stop>);

/// The answers that a task may use.
#[derive(Debug, Default)]
struct Given {
    /// Answers to its questions, in order.
    answers: Vec<Value>,
    /// Number of questions so far.
    asked: usize,
    /// Whether it used an answer.
    used: bool,
    /// Whether it used the answer that was sent without an id; a second question of the node does not get it, too.
    took_bare: bool,
}

/// Runs a node of a graph.
pub type Play = for<'a> fn(Graph, &'a Node<'_>) -> BoxFuture<'a, Result<Value, Stop>>;

/// The context of a node.
#[derive(Debug)]
pub struct Node<'a> {
    /// The run that gets its events.
    pub out: &'a Output,
    /// Its position.
    pub position: Position,
    /// The state at the start of the step.
    pub state: Object,
    given: Mutex<Given>,
    /// An answer to whichever question is asked first.
    bare: Arc<Mutex<Option<Value>>>,
    /// The checkpoint that it runs from.
    checkpoint: String,
    parents: Object,
    play: Play,
}

impl Node<'_> {
    /// A text of the state.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.state.get(key).and_then(Value::as_str)
    }

    /// A number of the state.
    pub fn number(&self, key: &str, usual: f64) -> f64 {
        self.state.get(key).and_then(Value::as_f64).unwrap_or(usual)
    }

    /// The messages of the state.
    pub fn messages(&self) -> &[Value] {
        let messages = self.state.get("messages").and_then(Value::as_array);
        messages.map(Vec::as_slice).unwrap_or_default()
    }

    /// Sends a custom event.
    pub fn custom(&self, data: &Value) {
        if self.out.modes.custom {
            self.out
                .burst()
                .add("custom", &self.position.ns, data)
                .send();
        }
    }

    /// Lets time pass.
    pub async fn wait(&self, millis: f64) {
        self.out
            .clock
            .sleep(Duration::from_secs_f64((millis / 1000.0).max(0.0)))
            .await;
    }

    /// Asks the user. The run stops here the first time; when it runs again, the answer is available. An answer is stored before
    /// the node uses it, unless it has a schema that the answer breaks.
    pub fn ask(&self, question: &Value, schema: Option<AnswerSchema>) -> Result<Value, Stop> {
        let mut given = locked(&self.given);
        let index = given.asked;
        given.asked += 1;
        let mut bare = locked(&self.bare);
        if given.answers.len() == index
            && !given.took_bare
            && let Some(answer) = bare.take()
        {
            given.answers.push(answer);
            given.took_bare = true;
        }
        let Some(answer) = given.answers.get(index).cloned() else {
            let id = Interrupt::id_of(&self.position.task, index);
            let schema = schema.map(|(schema, _)| schema);
            return Err(Stop::Asked(Interrupt {
                id,
                value: question.clone(),
                schema,
            }));
        };
        if let Some((_, check)) = schema {
            check(&answer)?;
        }
        given.used = true;
        let answers = given.answers[..=index].to_vec();
        self.out.agent.with_thread(&self.out.thread, |thread| {
            let tasks = thread
                .checkpoint_mut(&self.checkpoint)
                .map(|checkpoint| &mut checkpoint.tasks);
            let task =
                tasks.and_then(|tasks| tasks.iter_mut().find(|task| task.id == self.position.task));
            if let Some(task) = task {
                task.answers = answers;
            }
        });
        Ok(answer)
    }

    fn used_an_answer(&self) -> bool {
        locked(&self.given).used
    }

    /// Streams a text token by token. Returns the whole message.
    pub async fn say(&self, reply: &Reply) -> Value {
        let out = self.out;
        let asked =
            message::last_question(&self.state.get("messages").cloned().unwrap_or_default());
        let usage = reply.usage(asked.len());
        let id = format!("lc_run--{}", uuid7(out.clock.now()));
        let messages = self
            .state
            .get("messages")
            .cloned()
            .unwrap_or_else(|| json!([]));
        let input = json!({"input": {"messages": [messages]}});
        let mut burst = out.burst();
        out.chain_event(
            &mut burst,
            "on_chat_model_start",
            "ScriptedModel",
            &input,
            Some(&self.position),
        );
        let mut stream = MessageStream::new(out, &self.position, id.clone());
        let script = message::script(reply, &usage);
        // A model takes time before its first token.
        self.wait(if out.clock.is_silent() { 900.0 } else { 60.0 })
            .await;
        for (n, piece) in script.iter().enumerate() {
            stream.piece(&mut burst, piece);
            // Models sometimes send two tokens at once, and always do at the end of a message.
            if n + 2 < script.len() && n % 7 != 3 {
                burst.send();
                self.wait(16.0 + (n * 7 % 19) as f64).await;
            }
        }
        let shown = if out.messages() {
            id
        } else {
            format!("{id}-0")
        };
        let whole = reply.message(&shown, &usage);
        let data = json!({"output": whole, "input": input["input"]});
        out.chain_event(
            &mut burst,
            "on_chat_model_end",
            "ScriptedModel",
            &data,
            Some(&self.position),
        );
        burst.send();
        whole
    }

    /// Runs a subgraph on this node's state. Returns the resulting state.
    pub async fn subgraph(&self, graph: Graph) -> Result<Object, Stop> {
        let start = Start {
            base: None,
            begin: Begin::Input(Value::Object(self.state.clone())),
            hold_before: Vec::new(),
            hold_after: Vec::new(),
            limit: 25,
        };
        run_level(
            self.out,
            self.play,
            graph,
            self.position.inner(),
            self.parents.clone(),
            start,
        )
        .boxed()
        .await
    }
}
