//! Runs a graph the way LangGraph does: super-steps, parallel tasks, subgraphs, checkpoints, interrupts and forks.

mod begin;
mod level;
mod step;

pub use begin::{Answers, Begin, Continue, NO_INPUT};
pub use level::run_level;

use crate::agent::prelude::*;

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
    /// A value of the state; null if there is none.
    pub fn get(&self, key: &str) -> &Value {
        self.state.get(key).unwrap_or(&Value::Null)
    }

    /// A text of the state.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).as_str()
    }

    /// A number of the state.
    pub fn number(&self, key: &str, usual: f64) -> f64 {
        self.get(key).as_f64().unwrap_or(usual)
    }

    /// The messages of the state.
    pub fn messages(&self) -> &[Value] {
        self.get("messages").as_array().map_or(&[], Vec::as_slice)
    }

    /// Sends a custom event.
    pub fn custom(&self, data: &Value) {
        self.out
            .burst()
            .add("custom", &self.position.ns, data)
            .send();
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
        if given.answers.len() == index
            && !given.took_bare
            && let Some(answer) = locked(&self.bare).take()
        {
            given.answers.push(answer);
            given.took_bare = true;
        }
        let Some(answer) = given.answers.get(index).cloned() else {
            return Err(Stop::Asked(Interrupt {
                id: Interrupt::id_of(&self.position.task, index),
                value: question.clone(),
                schema: schema.map(|(schema, _)| schema),
            }));
        };
        if let Some((_, check)) = schema {
            check(&answer)?;
        }
        given.used = true;
        self.out.agent.with_thread(&self.out.thread, |thread| {
            let checkpoint = thread.checkpoint_mut(&self.checkpoint)?;
            let mut tasks = checkpoint.tasks.iter_mut();
            let own = tasks.find(|task| task.id == self.position.task)?;
            own.answers = given.answers[..=index].to_vec();
            Some(())
        });
        Ok(answer)
    }

    fn used_an_answer(&self) -> bool {
        locked(&self.given).used
    }

    /// Streams a text token by token, as the only update of the node.
    pub async fn answer(&self, reply: &Reply) -> Result<Value, Stop> {
        Ok(json!({"messages": [self.say(reply).await]}))
    }

    /// Streams a text token by token. Returns the whole message.
    pub async fn say(&self, reply: &Reply) -> Value {
        let out = self.out;
        let asked = message::last_question(self.get("messages"));
        let usage = reply.usage(asked.len());
        let id = format!("lc_run--{}", uuid7(out.clock.now()));
        let input = json!({"input": {"messages": [self.messages()]}});
        let (mut burst, place) = (out.burst(), Some(&self.position));
        burst.chain_event("on_chat_model_start", "ScriptedModel", &input, place);
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
        let whole = reply.message(&out.shown_id(&id), &usage);
        let data = json!({"output": whole, "input": input["input"]});
        burst.chain_event("on_chat_model_end", "ScriptedModel", &data, place);
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
