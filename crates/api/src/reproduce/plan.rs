//! Plans a copy: what is read of both servers, the requests, and what is not copied.

use super::read::TargetGraph;
use super::{CopiedThread, ReproduceIntent};
use crate::prelude::*;
use runtail_core::model::{HistoryState, Supersteps, Unrepeatable, plain_message};

/// Names that a sentence has.
const NAMED: usize = 6;

/// What is sent, and the states that should come of it.
struct Copy {
    create: Value,
    state: Option<Value>,
    expected: Vec<HistoryState>,
    notes: Vec<Note>,
}

impl AgentServer {
    /// Plans the copy of a thread of this server to another one. Sends no write request.
    ///
    /// # Errors
    /// See [`PlanError`].
    #[boxed]
    pub async fn plan_reproduction(
        &self,
        target: &AgentServer,
        intent: &ReproduceIntent,
    ) -> Result<Plan, PlanError> {
        self.planned(self.drafted_copy(target, intent).await).await
    }

    /// Returns the graph of a copy: the one that is wanted, else the thread's own.
    async fn graph_of_copy(
        &self,
        loaded: &LoadedThread,
        intent: &ReproduceIntent,
    ) -> Result<String, PlanError> {
        let of_thread = || loaded.thread.as_ref()?.graph_id.clone();
        let of_state = || loaded.state.as_ref()?.graph_id.clone();
        let wanted = intent.graph.clone();
        if let Some(graph) = wanted.or_else(of_thread).or_else(of_state) {
            return Ok(graph);
        }
        let own = match loaded.assistant() {
            Some(assistant) => self.graph_of(assistant).await?,
            None => None,
        };
        own.ok_or_else(|| {
            unfit("The server's records don't say which graph the thread belongs to. --graph names the one on the target.")
        })
    }

    async fn drafted_copy(
        &self,
        target: &AgentServer,
        intent: &ReproduceIntent,
    ) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(&intent.thread).await?;
        let mut runs = loaded.runs.iter().flatten();
        if runs.any(RunFacts::is_active) {
            return refuse("A run is active on this thread. Cancel it, or wait until it finishes.");
        }
        let graph = self.graph_of_copy(&loaded, intent).await?;
        if !intent.state_only && !target.takes_supersteps().await? {
            return refuse(format!(
                "The target {} doesn't create threads with supersteps, so the history can't be copied. --state copies the newest \
                 state, without the history.",
                target.base()
            ));
        }
        let found = target.target_graph(&graph).await?;
        // Chosen before the request, so that it is found if the reply is lost.
        let id = uuid::Uuid::new_v4().to_string();
        let mut metadata = json!({"graph_id": graph, "reproduced_from": intent.thread});
        if let Some(assistant) = &found.assistant {
            metadata["assistant_id"] = assistant.as_str().into();
        }
        let create = json!({"thread_id": id, "if_exists": "raise", "metadata": metadata});
        let kind = target.info().await?.kind;
        let prepares = kind != ServerKind::JavaScript;
        let from = &intent.thread;
        let (what, copy) = if intent.state_only {
            (
                "the state of thread",
                self.copy_state(from, create, &found, prepares).await?,
            )
        } else {
            (
                "thread",
                self.copy_history(from, create, &found, prepares).await?,
            )
        };
        let first = format!(
            "From {} to {}, graph {}. Everything in the copied states is sent there.",
            self.base(),
            target.base(),
            text::clean(&graph)
        );
        let notes = std::iter::once(Note::fact(first)).chain(copy.notes.iter().cloned());
        let guard = StartGuard::Checkpoint(loaded.checkpoint().map(str::to_string));
        let name = format!("thread {}", short_id(&id));
        Ok(Draft {
            title: format!("Reproduce {what} {} as {}", short_id(from), short_id(&id)),
            target: Some(Target::new("thread", &id, name)),
            notes: notes.collect(),
            guard: Guard::Thread(self.clone(), from.clone(), guard),
            steps: target.steps_of_copy(id, graph, copy, kind)?,
            ..Draft::default()
        })
    }

    /// Returns the requests to the target, which is this server.
    fn steps_of_copy(
        &self,
        thread: String,
        graph: String,
        copy: Copy,
        kind: ServerKind,
    ) -> Result<Vec<Step>, ApiError> {
        let copied = Arc::new(CopiedThread {
            thread,
            graph,
            state_only: copy.state.is_some(),
            expected: copy.expected,
        });
        let id = copied.thread.as_str();
        let step = |method, path: &[&str], body, kind: fn(Arc<CopiedThread>) -> StepKind| {
            Step::new(self, method, path, Some(body), kind(copied.clone()))
        };
        let metadata = json!({"metadata": copy.create["metadata"]});
        let mut steps = vec![step(
            Method::POST,
            &["threads"],
            copy.create,
            StepKind::Copy,
        )?];
        if let Some(state) = copy.state {
            // Early Aegra creates threads without their metadata (acting reference §4), and so may servers of an unknown kind.
            if matches!(kind, ServerKind::EarlyAegra | ServerKind::Other) {
                let path = ["threads", id];
                steps.push(step(Method::PATCH, &path, metadata, StepKind::Describe)?);
            }
            let path = ["threads", id, "state"];
            steps.push(step(Method::POST, &path, state, StepKind::Fill)?);
        }
        Ok(steps)
    }

    async fn copy_history(
        &self,
        thread: &str,
        mut create: Value,
        target: &TargetGraph,
        prepares: bool,
    ) -> Result<Copy, PlanError> {
        let branch = self.newest_branch(thread).await?;
        let steps = Supersteps::of(&branch, &target.shape).map_err(why_not)?;
        let unknown: BTreeSet<&str> = steps
            .nodes()
            .filter(|node| !target.shape.may_have(node))
            .collect();
        if !unknown.is_empty() {
            let unknown: Vec<&str> = unknown.into_iter().collect();
            return refuse(format!(
                "The graph of the target has no node {}, which the history has. --graph chooses another graph; --state copies \
                 the newest state.",
                names(&unknown)
            ));
        }
        let (body, lost) = prepared(prepares, |prepare| steps.body(prepare));
        create["supersteps"] = body;
        let mut notes = vec![Note::fact(format!(
            "Copies {} of the newest branch, oldest first. No run is started: no model and no tool is called. The target's graph \
             applies its reducers and decides what is next.",
            text::counted(steps.steps.len(), "checkpoint")
        ))];
        if !steps.inferred.is_empty() {
            let inferred = steps.inferred.iter().map(i64::to_string);
            notes.push(Note::warning(format!(
                "The history doesn't say what was written in step {}: that follows from the states before and after it.",
                listed(inferred, NAMED, |_| String::new())
            )));
        }
        if steps.repeated > 0 {
            let repeat = if steps.repeated == 1 {
                "repeats"
            } else {
                "repeat"
            };
            let count = text::counted(steps.repeated, "checkpoint") + " that " + repeat;
            notes.push(Note::fact(format!(
                "Leaves out {count} the state before, so later steps have other numbers."
            )));
        }
        let expected: Vec<HistoryState> =
            steps.states.iter().map(|at| branch[*at].clone()).collect();
        notes.extend(self.not_copied(branch.last(), lost));
        Ok(Copy {
            create,
            state: None,
            expected,
            notes,
        })
    }

    async fn copy_state(
        &self,
        thread: &str,
        create: Value,
        target: &TargetGraph,
        prepares: bool,
    ) -> Result<Copy, PlanError> {
        let state = self.newest_state(thread).await?;
        if state.is_bare {
            return refuse(
                "The thread's values are not an object of keys, so they can't be written as a state.",
            );
        }
        let as_node = self.writer_of(thread, &state, target).await?;
        let (values, lost) = prepared(prepares, |prepare| {
            let fields = state
                .values()
                .iter()
                .map(|(key, value)| (key.clone(), prepare(value)));
            Value::Object(fields.collect())
        });
        let mut body = json!({ "values": values });
        let next = if state.next.is_empty() {
            "nothing is next".to_string()
        } else {
            format!(
                "next: {}",
                names(&state.next.iter().map(String::as_str).collect::<Vec<_>>())
            )
        };
        let mut notes = vec![Note::fact(format!(
            "Copies the newest state ({next}), without the history. No run is started: no model and no tool is called."
        ))];
        match &as_node {
            Some(node) => {
                body["as_node"] = node.as_str().into();
                notes.push(Note::fact(format!("Counts as a write of {}.", text::clean(node))));
            }
            None => notes.push(Note::warning(
                "Which node wrote the state is unknown, so the target decides what is next, or refuses the state.",
            )),
        }
        notes.push(Note::warning(
            "The thread is created first, then its state is written. If that fails, the thread stays empty.",
        ));
        notes.extend(self.not_copied(Some(&state), lost));
        Ok(Copy {
            create,
            state: Some(body),
            expected: vec![state],
            notes,
        })
    }

    /// Returns the node in whose name a state is written: the one that wrote it, if the nodes after it are those that are next.
    async fn writer_of(
        &self,
        thread: &str,
        state: &HistoryState,
        target: &TargetGraph,
    ) -> Result<Option<String>, PlanError> {
        let before = match self.thread_history_raw(thread, 2, None, usize::MAX).await {
            Ok(rows) => {
                let rows = rows.iter().filter_map(|row| json::from_str(row.get()).ok());
                rows.filter_map(HistoryState::read)
                    .find(|older| older.id < state.id)
            }
            Err(error) if error.is_refusal() || error.may_lack_call() => None,
            Err(error) => return Err(error.into()),
        };
        let writers = before
            .iter()
            .flat_map(|before| &before.tasks)
            .filter(|task| task.result.is_some());
        let writers: Vec<String> = writers.map(|task| task.node.clone()).collect();
        let fits = |node: &&String| {
            target.shape.may_have(node) && target.shape.leads_to(node, &state.next)
        };
        if let Some(node) = writers.iter().find(fits) {
            return Ok(Some(node.clone()));
        }
        if !target.shape.is_known() {
            return Ok(writers.first().cloned());
        }
        Ok(target.shape.nodes().iter().find(fits).cloned())
    }

    /// Says what a copy doesn't have.
    fn not_copied(&self, head: Option<&HistoryState>, lost_counts: bool) -> Vec<Note> {
        let mut notes = vec![Note::fact(
            "Not copied: the ids and times of checkpoints, runs, other branches, and the thread's metadata.",
        )];
        if lost_counts {
            notes.push(Note::fact(
                "Not copied: the token counts of messages, which the target doesn't take in a write.",
            ));
        }
        let tasks = head.map(|head| head.tasks.as_slice()).unwrap_or_default();
        let questions: usize = tasks
            .iter()
            .filter(|task| task.result.is_none())
            .map(|task| task.questions)
            .sum();
        if questions > 0 {
            let count = text::counted(questions, "open question");
            notes.push(Note::warning(format!(
                "Not copied: {count}. Where the target starts runs without an input, continuing the new thread asks again, with \
                 new ids."
            )));
        }
        if tasks
            .iter()
            .any(|task| task.has_error && task.result.is_none())
        {
            notes.push(Note::warning(
                "Not copied: the error. Continue the new thread to run the failed nodes again.",
            ));
        }
        let done: Vec<&str> = tasks
            .iter()
            .filter(|task| task.result.is_some())
            .map(|task| task.node.as_str())
            .collect();
        if !done.is_empty() {
            notes.push(Note::warning(format!(
                "Not copied: what {} wrote in the unfinished step. Continuing runs them again.",
                names(&done)
            )));
        }
        notes
    }
}

/// Builds a body from values that are adapted to the target, and returns whether token counts were left out.
fn prepared(
    prepares: bool,
    build: impl FnOnce(&dyn Fn(&Value) -> Value) -> Value,
) -> (Value, bool) {
    let lost = std::cell::Cell::new(false);
    let prepare = |value: &Value| {
        if prepares {
            let mut own = false;
            let value = plain_message(value, &mut own);
            lost.set(lost.get() | own);
            value
        } else {
            value.clone()
        }
    };
    let body = build(&prepare);
    (body, lost.get())
}

fn names(names: &[&str]) -> String {
    listed(names, NAMED, and_more)
}

/// Says why a history can't be repeated.
fn why_not(why: Unrepeatable) -> PlanError {
    let at = |step: Option<i64>| {
        step.map_or_else(|| "A step".to_string(), |step| format!("Step {step}"))
    };
    let instead = "--state copies the newest state, without the history.";
    unfit(match why {
        Unrepeatable::Empty => "The thread has no checkpoint yet: nothing ran on it.".to_string(),
        Unrepeatable::NoBeginning => format!(
            "The history doesn't reach back to the beginning: the server no longer has it, or only the last checkpoint was \
             saved. {instead}"
        ),
        Unrepeatable::NotAnObject(node, step) => format!(
            "{} can't be repeated: {} wrote something else than an object of keys, which supersteps don't take.",
            at(step),
            text::clean(&node)
        ),
        Unrepeatable::UnknownWriter(step) => {
            format!(
                "{} can't be repeated: the server doesn't say which node wrote it. {instead}",
                at(step)
            )
        }
    })
}
