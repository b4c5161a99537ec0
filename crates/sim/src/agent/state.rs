//! What an agent server stores: assistants, threads, their runs and checkpoints. `rows` writes them as JSON.

use crate::agent::prelude::*;

/// The data of one agent server.
#[derive(Debug, Default)]
pub struct Memory {
    /// Assistants, in the order of their creation.
    pub assistants: Vec<Assistant>,
    /// Threads by id.
    pub threads: BTreeMap<String, Thread>,
    /// Crons, in the order of their creation.
    pub crons: Vec<Cron>,
    /// The items of the store, in the order of their creation.
    pub items: Vec<StoreItem>,
    /// Each thread's stream. It may have readers before the thread exists.
    pub feeds: HashMap<String, Arc<Feed>>,
}

/// A cron.
#[derive(Debug, Clone)]
pub struct Cron {
    pub id: String,
    pub assistant: String,
    pub thread: Option<String>,
    /// What was sent, which its runs get.
    pub payload: Value,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When its next run starts.
    pub next: Option<Timestamp>,
}

/// An item of the store.
#[derive(Debug, Clone)]
pub struct StoreItem {
    pub namespace: Vec<String>,
    pub key: String,
    pub value: Value,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A graph under a name, optionally with its own configuration.
#[derive(Debug, Clone)]
pub struct Assistant {
    /// Its id; a graph's default assistant has the same one on every server.
    pub id: String,
    /// The graph that it runs.
    pub graph: Graph,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The current version. Its context may be that of a later one.
    pub current: Version,
    /// All versions, oldest first.
    pub versions: Vec<Version>,
}

/// A version of an assistant.
#[derive(Debug, Clone)]
pub struct Version {
    pub number: u32,
    pub name: String,
    pub description: Option<String>,
    pub config: Value,
    pub context: Value,
    pub metadata: Value,
    pub created_at: Timestamp,
}

impl Assistant {
    /// Creates an assistant with its first version.
    pub fn new(id: String, graph: Graph, first: Version) -> Assistant {
        Assistant {
            id,
            graph,
            created_at: first.created_at,
            updated_at: first.created_at,
            current: first.clone(),
            versions: vec![first],
        }
    }

    /// Adds a version and makes it the current one.
    pub fn add(&mut self, version: Version) {
        self.updated_at = version.created_at;
        self.current = version.clone();
        self.versions.push(version);
    }
}

/// A node's question.
#[derive(Debug, Clone, PartialEq)]
pub struct Interrupt {
    /// Its id; it stays the same until the checkpoint is forked or edited.
    pub id: String,
    /// The question.
    pub value: Value,
    /// The JSON schema of the answer, if the graph sets one.
    pub schema: Option<Value>,
}

impl Interrupt {
    /// The id of a task's interrupt, by its position among those that the node raises.
    pub fn id_of(task: &str, index: usize) -> String {
        stable_hex(&format!("{task} {index}"), 32)
    }
}

/// A task of a checkpoint: a node that will run next, or has run from here.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: String,
    /// Its node.
    pub name: String,
    /// Why it failed, as Python's `repr` of the exception.
    pub error: Option<String>,
    /// The last question that it raised. Servers keep it after the answer.
    pub raised: Option<Interrupt>,
    /// Stored answers. They are stored before the node runs, so an invalid one remains.
    pub answers: Vec<Value>,
    /// Its writes.
    pub result: Option<Value>,
    /// Whether a command added it. States do not show such tasks.
    pub added: bool,
}

impl Task {
    /// A task that has not run.
    pub fn new(name: &str) -> Self {
        Task {
            id: crate::ids::uuid4(),
            name: name.to_owned(),
            error: None,
            raised: None,
            answers: Vec::new(),
            result: None,
            added: false,
        }
    }

    /// The open question.
    pub fn pending(&self) -> Option<&Interrupt> {
        self.raised.as_ref().filter(|_| self.result.is_none())
    }
}

/// A saved state.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Its id, which sorts by time.
    pub id: String,
    /// The checkpoint before it.
    pub parent: Option<String>,
    /// The state at the start of its tasks.
    pub values: Object,
    pub tasks: Vec<Task>,
    /// Its metadata: source, step and run.
    pub metadata: Value,
    /// When it was saved.
    pub at: Timestamp,
}

impl Checkpoint {
    /// The step number in its graph.
    pub fn step(&self) -> i64 {
        self.metadata["step"].as_i64().unwrap_or(0)
    }

    /// `input`, `loop`, `update` or `fork`.
    pub fn source(&self) -> &str {
        text_of(&self.metadata["source"])
    }

    /// The open questions of all graphs.
    pub fn pending(&self) -> impl Iterator<Item = &Interrupt> {
        self.tasks.iter().filter_map(Task::pending)
    }

    /// The state with the writes of finished tasks while other tasks of the step are unfinished.
    pub fn live_values(&self, graph: Option<Graph>) -> Object {
        let mut values = self.values_for(graph);
        let Some(graph) = graph else { return values };
        let own = self.tasks_for(Some(graph)).filter(|task| !task.added);
        for result in own.filter_map(|task| task.result.as_ref()) {
            graph.merge(&mut values, result);
        }
        values
    }

    /// The state as a graph reads it, without what only other graphs read.
    pub fn values_for(&self, graph: Option<Graph>) -> Object {
        graph.map_or_else(|| self.values.clone(), |graph| graph.split(&self.values).0)
    }

    /// The tasks as a graph reads them.
    pub fn tasks_for(&self, graph: Option<Graph>) -> impl Iterator<Item = &Task> {
        self.tasks
            .iter()
            .filter(move |task| graph.is_none_or(|graph| graph.has(&task.name)))
    }
}

#[derive(Debug, Clone)]
pub struct Thread {
    pub id: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When any part of it changed.
    pub updated_at: Timestamp,
    /// When its state changed.
    pub state_updated_at: Timestamp,
    pub metadata: Object,
    /// `idle`, `busy`, `interrupted` or `error`.
    pub status: String,
    /// Why the last run failed or was cancelled.
    pub error: Option<Value>,
    /// The state as of the last checkpoint that a run or an edit reported. `None` until then.
    pub values: Option<Object>,
    /// The questions as of the same checkpoint, by task; `None` if the row has none. They may be outdated.
    pub interrupts: Option<Object>,
    /// Whether a run or an edit has ever updated the row.
    pub touched: bool,
    /// Whether it is a copy, whose row has no values until a run updates it.
    pub copied: bool,
    /// The configuration of its last run, as its row shows it.
    pub config: Option<Object>,
    /// Saved states, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Runs, oldest first.
    pub runs: Vec<Run>,
}

impl Thread {
    /// A new thread.
    pub fn new(id: String, at: Timestamp, metadata: Object) -> Self {
        Thread {
            id,
            created_at: at,
            updated_at: at,
            state_updated_at: at,
            metadata,
            status: "idle".into(),
            error: None,
            values: None,
            interrupts: None,
            touched: false,
            copied: false,
            config: None,
            checkpoints: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// The newest checkpoint, or the one with this id.
    pub fn checkpoint(&self, id: Option<&str>) -> Option<&Checkpoint> {
        let mut newest = self.checkpoints.iter().rev();
        newest.find(|checkpoint| id.is_none_or(|id| checkpoint.id == id))
    }

    /// The same for changes.
    pub fn checkpoint_mut(&mut self, id: &str) -> Option<&mut Checkpoint> {
        let mut newest = self.checkpoints.iter_mut().rev();
        newest.find(|checkpoint| checkpoint.id == id)
    }

    /// A time for a new checkpoint: later than all others, so that ids sort by age.
    fn later(&self, at: Timestamp) -> Timestamp {
        let last = self.checkpoints.last();
        last.map_or(at, |last| before(last.at, -1e-6).max(at))
    }

    /// Saves a checkpoint and returns its id, which contains a step.
    pub fn save(
        &mut self,
        parent: Option<String>,
        values: Object,
        tasks: Vec<Task>,
        metadata: Value,
        now: Timestamp,
        step: i64,
    ) -> String {
        let at = self.later(now);
        let id = checkpoint_id(at, step);
        self.checkpoints.push(Checkpoint {
            id: id.clone(),
            parent,
            values,
            tasks,
            metadata,
            at,
        });
        id
    }

    pub fn run(&self, id: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// A run of it, for changes.
    pub fn run_mut(&mut self, id: &str) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// Removes a run and the checkpoints that it saved so far.
    pub fn remove_run(&mut self, id: &str) -> bool {
        let before = self.runs.len();
        self.runs.retain(|run| run.id != id);
        self.checkpoints
            .retain(|checkpoint| checkpoint.metadata["run_id"] != id);
        self.runs.len() < before
    }

    /// Drops the checkpoint before a new one if the same run saved it, and returns the parent of the new one. A run with the
    /// durability `exit` saves only its last state.
    pub fn forget_step(&mut self, parent: Option<String>, run: &str) -> Option<String> {
        let mut all = self.checkpoints.iter();
        let at = all.position(|saved| Some(&saved.id) == parent.as_ref());
        match at.filter(|at| self.checkpoints[*at].metadata["run_id"] == run) {
            Some(at) => self.checkpoints.remove(at).parent,
            None => parent,
        }
    }

    /// Whether a run is pending or running.
    pub fn has_active_runs(&self) -> bool {
        self.runs.iter().any(Run::is_active)
    }

    /// The graph of its last run.
    pub fn graph(&self) -> Option<Graph> {
        Graph::named(self.metadata.get("graph_id")?.as_str()?)
    }
}

/// What happens to a cancelled run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// The run and its checkpoints are removed.
    pub rollback: bool,
    /// Who cancelled it, for the thread's error.
    pub reason: String,
}

impl Cancel {
    /// The error of the thread.
    pub fn error(&self) -> Value {
        json!({"error": if self.rollback { "UserRollback" } else { "UserInterrupt" }, "message": self.reason})
    }
}

#[derive(Debug, Clone)]
pub struct Run {
    pub id: String,
    pub thread: String,
    pub assistant: String,
    /// The graph that it runs.
    pub graph: Graph,
    /// When it was created.
    pub created_at: Timestamp,
    /// When any part of it changed.
    pub updated_at: Timestamp,
    /// `pending`, `running`, `success`, `error`, `timeout` or `interrupted`.
    pub status: String,
    pub metadata: Object,
    /// Its request parameters.
    pub kwargs: Value,
    /// What it does if the thread is busy.
    pub strategy: String,
    /// Its stream.
    pub feed: Arc<Feed>,
    /// Its clock.
    pub clock: Arc<Clock>,
    pub stop: CancellationToken,
    /// How it was cancelled, if at all.
    pub cancelled: Option<Cancel>,
    /// Its final response, for clients that wait.
    pub outcome: Arc<OnceLock<Value>>,
}

impl Run {
    /// Whether it is pending or running.
    pub fn is_active(&self) -> bool {
        matches!(self.status.as_str(), "pending" | "running")
    }

    /// Its final response; an empty one until it has ended.
    pub fn outcome(&self) -> Value {
        self.outcome.get().cloned().unwrap_or_else(|| json!({}))
    }

    /// Whether its events can be replayed.
    pub fn resumable(&self) -> bool {
        self.kwargs["resumable"] == true
    }
}

/// Keeps only the named fields; an empty list keeps all.
pub fn select(mut row: Value, fields: &[String]) -> Value {
    if let Some(row) = row.as_object_mut().filter(|_| !fields.is_empty()) {
        row.retain(|key, _| fields.contains(key));
    }
    row
}

/// Whether a value contains another one, like PostgreSQL's `@>`, including nested objects and lists.
pub fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (_, Value::Object(wanted)) => {
            let has = |(key, wanted): (&String, &Value)| {
                value.get(key).is_some_and(|value| contains(value, wanted))
            };
            wanted.iter().all(has)
        }
        (Value::Array(list), Value::Array(wanted)) => {
            let has = |one: &Value| list.iter().any(|item| contains(item, one));
            wanted.iter().all(has)
        }
        _ => value == wanted,
    }
}
