//! Plans for threads: what is read, the request, and its consequences.

use super::edit::about_questions;
use super::start::begin_at;
use super::{RunStart, ThreadIntent, WriteKind};
use crate::act::Choice;
use crate::prelude::*;
use crate::{CancelAction, CancelTarget};
use runtail_core::model::{Consent, FROM_FIRST, Run, StepLimit};

/// Nodes that a sentence names.
const NAMED: usize = 4;

impl AgentServer {
    /// Plans an action on a thread. Sends no write request.
    ///
    /// # Errors
    /// See [`PlanError`].
    #[boxed]
    pub async fn plan_on_thread(&self, intent: &ThreadIntent) -> Result<Plan, PlanError> {
        self.planned(self.drafted(intent).await).await
    }

    async fn drafted(&self, intent: &ThreadIntent) -> Result<Draft, PlanError> {
        match intent {
            ThreadIntent::Cancel {
                thread,
                run,
                action,
                with_queue,
            } => {
                self.plan_cancel(thread, run.as_deref(), *action, *with_queue)
                    .await
            }
            ThreadIntent::Continue { thread } => self.plan_continue(thread).await,
            ThreadIntent::Again {
                thread,
                recursion_limit,
            } => self.plan_again(thread, *recursion_limit, true).await,
            ThreadIntent::Retry { thread, edit } => {
                self.plan_retry_failed(thread, edit.as_deref()).await
            }
            ThreadIntent::Answer {
                thread,
                interrupt,
                answer,
            } => self.plan_answer(thread, interrupt.as_deref(), answer).await,
            ThreadIntent::Delete { thread } => self.plan_delete_thread(thread).await,
            ThreadIntent::Prune { thread } => self.plan_prune(thread).await,
            ThreadIntent::Label { thread, label } => self.plan_label(thread, label).await,
            ThreadIntent::Fork {
                thread,
                checkpoint,
                change,
            } => self.plan_fork(thread, checkpoint.as_deref(), change).await,
            ThreadIntent::EditState { thread, edit } => self.plan_edit(thread, edit).await,
            ThreadIntent::Rerun { thread, run } => self.plan_rerun_of(thread, run).await,
            ThreadIntent::RunOnNew {
                thread,
                assistant,
                input,
            } => Ok(self.plan_on_new(thread, assistant, input)?),
            ThreadIntent::Release { thread } => self.plan_release(thread).await,
            ThreadIntent::End { thread } => self.plan_end(thread).await,
            ThreadIntent::RestoreAssistant { thread } => self.plan_restore(thread).await,
            ThreadIntent::Start { thread, body } => self.plan_new_run(thread, body).await,
        }
    }

    async fn plan_cancel(
        &self,
        thread: &str,
        wanted: Option<&str>,
        action: CancelAction,
        with_queue: bool,
    ) -> Result<Draft, PlanError> {
        let active = self.active_runs(thread).await?;
        let target = match wanted {
            Some(id) => active.iter().find(|run| run.run_id == id),
            // They are newest first, and the oldest of those that wait is next.
            None => active
                .iter()
                .find(|run| run.status == "running")
                .or(active.last()),
        };
        let Some(target) = target else {
            return nothing(match wanted {
                Some(id) => format!(
                    "Run {} has ended: {}.",
                    short_id(id),
                    self.ending(thread, id).await
                ),
                None => "No run is active on this thread.".into(),
            });
        };
        let others: Vec<&Run> = active
            .iter()
            .filter(|run| run.run_id != target.run_id)
            .collect();
        let chosen: Vec<&Run> = if with_queue {
            active.iter().collect()
        } else {
            vec![target]
        };
        let targets = chosen
            .iter()
            .map(|run| CancelTarget::new(&run.run_id, Some(run)))
            .collect();
        let verb = match action {
            CancelAction::Interrupt => "Cancel",
            CancelAction::Rollback => "Cancel and roll back",
        };
        let queue = match (with_queue, chosen.len() - 1) {
            (false, _) | (_, 0) => String::new(),
            (true, 1) => " and 1 more".into(),
            (true, n) => format!(" and {n} more"),
        };
        let notes = cancel_notes(target, others.len(), action, with_queue);
        let path = ["threads", thread, "runs", &target.run_id, "cancel"];
        let kind = StepKind::Cancel(thread.into(), targets, action);
        let step = Step::new(self, Method::POST, &path, None, kind)?;
        let title = format!("{verb} run {}{queue}", short_id(&target.run_id));
        Ok(Draft {
            choice: (!others.is_empty()).then_some(Choice::Queue {
                queued: others.len(),
                included: with_queue,
            }),
            steps: vec![step.with([("wait", "0"), ("action", action.word())])],
            ..on_thread(title, thread, notes)
        })
    }

    /// How a run that is not active ended, in a word or two.
    async fn ending(&self, thread: &str, run: &str) -> String {
        match self.run(thread, run).await {
            Ok(run) => text::clean(&run.status).into_owned(),
            Err(error) if error.kind == Kind::NotFound => "the server no longer has it".into(),
            Err(error) => format!("its record can't be read ({})", error.badge()),
        }
    }

    async fn plan_continue(&self, thread: &str) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        let status = loaded.status();
        let mut notes = Vec::new();
        match &status {
            ThreadStatus::Paused { .. } => {}
            ThreadStatus::Cancelled { .. } => notes.push(Note::warning(
                "The cancelled nodes run again from their start, so their external effects happen twice.",
            )),
            ThreadStatus::Edited { .. } => notes.push(Note::fact(
                "Continues with the edited state. A question that was open before the edit is asked again.",
            )),
            ThreadStatus::Stopped { .. } => {
                notes.push(Note::fact("The server doesn't say why the thread stopped."));
            }
            ThreadStatus::Waiting { .. } => {
                return refuse("The thread is waiting for an answer. Answer it instead.");
            }
            status if status.is_active() => return refuse("A run is active on this thread."),
            status => return refuse(format!("{}: there is nothing to continue.", super::sentence_of(status))),
        }
        // A server that calls a thread interrupted has a node left to run, even if it doesn't list it.
        let is_interrupted = loaded
            .thread
            .as_ref()
            .is_some_and(|thread| thread.status == "interrupted");
        if loaded.next().is_empty() && !is_interrupted {
            return refuse(
                "No node is left to run. A new run starts the graph from its beginning.",
            );
        }
        if !self.takes_no_input().await? {
            return refuse(
                "This server starts no run without an input, so it can't continue the thread. A new run starts the graph from its \
                 beginning.",
            );
        }
        let next = match &status {
            ThreadStatus::Paused { next, .. } => next,
            _ => loaded.next(),
        };
        notes.insert(0, runs_next(next));
        let Rerun { body, omitted } = loaded.next_run(assistant_of(&loaded)?);
        notes.extend(omitted_note(&omitted));
        let body = loaded.at_head(body.continuing());
        let title = format!("Continue thread {}", short_id(thread));
        Ok(self.plan_start(thread, title, body, &loaded, notes)?)
    }

    /// Plans a retry, else a run of the last input. `has_steps`: the preview lists the steps, which takes more requests.
    pub(super) async fn plan_again(
        &self,
        thread: &str,
        limit: Option<u64>,
        has_steps: bool,
    ) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        let status = loaded.status();
        if status.is_active() {
            return refuse("A run is active on this thread. Cancel it, or wait until it finishes.");
        }
        match status {
            ThreadStatus::Failed { .. } if loaded.keeps_rejected_answer() => {
                if !self.takes_no_input().await? {
                    return refuse(
                        "This server starts no run without an input, so it can't ask again. A new run starts the graph from its beginning.",
                    );
                }
                self.plan_ask_again(thread, &loaded).await
            }
            status @ ThreadStatus::Failed { .. }
                if !loaded.next().is_empty() && self.takes_no_input().await? =>
            {
                let mut draft = self.plan_retry(thread, &loaded, &status, limit)?;
                if has_steps {
                    draft.branch = self
                        .retried_steps(thread, &loaded, &unfinished(&loaded))
                        .await;
                }
                Ok(draft)
            }
            status => {
                let (mut draft, run) = self.plan_rerun(thread, &loaded, &status, limit)?;
                if has_steps {
                    draft.branch = self.steps_of_run(thread, &loaded, &run).await;
                }
                Ok(draft)
            }
        }
    }

    /// See [`crate::ServerKind::continues_without_input`].
    pub(super) async fn takes_no_input(&self) -> Result<bool, ApiError> {
        Ok(self.info().await?.kind.continues_without_input())
    }

    /// A retry would use the rejected answer again, so the checkpoint that asks is forked: it asks again.
    pub(super) async fn plan_ask_again(
        &self,
        thread: &str,
        loaded: &LoadedThread,
    ) -> Result<Draft, PlanError> {
        let Some(checkpoint) = loaded.checkpoint() else {
            return refuse(
                "The server doesn't name the checkpoint that asked, so the question can't be asked again.",
            );
        };
        let Rerun { body, omitted } = loaded.next_run(assistant_of(loaded)?);
        let body = loaded.at_checkpoint(body.continuing(), checkpoint);
        let mut notes = vec![
            Note::warning(
                "The graph rejected the answer, and the server keeps it, so a retry would use it again. This run asks the \
                 question again from the checkpoint that asked it. Then you can answer it.",
            ),
            Note::warning(format!(
                "Runs again, up to the question: {}.",
                named(loaded.next())
            )),
        ];
        notes.extend(omitted_note(&omitted));
        let title = format!("Ask again on thread {}", short_id(thread));
        if self.info().await?.kind != ServerKind::JavaScript {
            return Ok(self.plan_start(thread, title, body, loaded, notes)?);
        }
        // At its newest checkpoint, JavaScript runs with the stored answers, unless an edit or a fork made it. A copy of the
        // checkpoint has none of them.
        let copy = json!({"values": null, "as_node": "__copy__", "checkpoint_id": checkpoint});
        let mut draft = self.plan_write(title, thread, copy, (loaded, WriteKind::Edit), notes)?;
        let mut body = body;
        begin_at(&mut body, FROM_FIRST);
        draft.steps.push(self.start_step(thread, body)?);
        Ok(draft)
    }

    fn plan_retry(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        status: &ThreadStatus,
        limit: Option<u64>,
    ) -> Result<Draft, PlanError> {
        let Rerun { body, omitted } = loaded.next_run(assistant_of(loaded)?);
        let mut body = loaded.at_head(body.continuing());
        let mut notes = vec![retries(loaded)];
        notes.extend(omitted_note(&omitted));
        let choice = raised(&mut body, loaded.reached_limit(status), limit, &mut notes);
        let title = format!("Retry thread {}", short_id(thread));
        Ok(Draft {
            choice,
            ..self.plan_start(thread, title, body, loaded, notes)?
        })
    }

    /// Plans to run an input again. Returns the run that had it, too.
    fn plan_rerun(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        status: &ThreadStatus,
        limit: Option<u64>,
    ) -> Result<(Draft, String), PlanError> {
        let Some(runs) = loaded.runs.as_deref() else {
            return refuse(
                "This server offers no records of runs, so their inputs can't be run again. A new run takes any input.",
            );
        };
        if runs.is_empty() {
            return refuse("This thread has no input to run again. A new run starts one.");
        }
        let mut why = String::new();
        for (back, run) in runs.iter().take(NAMED * 2).enumerate() {
            match Rerun::of(run, assistant_of(loaded)?) {
                Ok(Rerun { mut body, omitted }) => {
                    let mut notes = rerun_notes(run, back, status, &omitted);
                    let choice = raised(&mut body, loaded.reached_limit(status), limit, &mut notes);
                    let title = format!("Run again on thread {}", short_id(thread));
                    let draft = Draft {
                        choice,
                        ..self.plan_start(thread, title, body, loaded, notes)?
                    };
                    return Ok((draft, run.run_id.clone()));
                }
                Err(reason) if why.is_empty() => {
                    why = format!("Run {}: {reason}.", short_id(&run.run_id))
                }
                Err(_) => {}
            }
        }
        refuse(format!(
            "No input can be run again. {why} A new run takes any input."
        ))
    }

    async fn plan_delete_thread(&self, thread: &str) -> Result<Draft, PlanError> {
        let loaded = self.load_to_delete(thread).await?;
        let runs = loaded.runs.as_deref().unwrap_or_default();
        let is_unseen = loaded.thread.is_none() && loaded.state.is_none() && loaded.runs.is_none();
        let count = match runs.len() {
            0 => "its state".to_string(),
            1 => "its run, its state".into(),
            n => format!("its {n} runs, its state"),
        };
        let mut notes = vec![Note::warning(format!(
            "Deletes the thread with {count} and all its checkpoints. This can't be undone."
        ))];
        if is_unseen {
            notes.push(Note::warning(
                "This server shows no records of threads: whether it has this one, and can delete it, couldn't be checked.",
            ));
        }
        match runs.iter().filter(|run| run.is_active()).count() {
            0 => {}
            1 => notes.push(Note::warning(
                "The active run is cancelled first, because it would continue unseen.",
            )),
            n => notes.push(Note::warning(format!(
                "The {n} active runs are cancelled first, because they would continue unseen."
            ))),
        }
        if let ThreadStatus::Waiting { questions, .. } = loaded.status() {
            notes.push(Note::warning(format!(
                "It is waiting for an answer: {}",
                text::clean(&runtail_core::model::summary_of(&questions))
            )));
        }
        let kind = StepKind::Delete(thread.into());
        Ok(Draft {
            consent: Consent::Id(thread.into()),
            steps: vec![Step::new(
                self,
                Method::DELETE,
                &["threads", thread],
                None,
                kind,
            )?],
            ..on_thread(format!("Delete thread {}", short_id(thread)), thread, notes)
        })
    }

    /// Plans the start of a run on a thread that must not change before.
    pub(super) fn plan_start(
        &self,
        thread: &str,
        title: String,
        body: RunCreate,
        loaded: &LoadedThread,
        notes: Vec<Note>,
    ) -> Result<Draft, ApiError> {
        let start = RunStart {
            thread: thread.into(),
            body: loaded.at_head(body),
            guard: StartGuard::Checkpoint(loaded.checkpoint().map(str::to_string)),
        };
        self.plan_run(title, start, notes)
    }

    /// Plans the start of a run.
    pub(super) fn plan_run(
        &self,
        title: String,
        start: RunStart,
        mut notes: Vec<Note>,
    ) -> Result<Draft, ApiError> {
        let RunStart {
            thread,
            body,
            guard,
        } = start;
        notes.extend(breakpoints_note(&body));
        Ok(Draft {
            steps: vec![self.start_step(&thread, body)?],
            guard: Guard::Thread(self.clone(), thread.clone(), guard),
            ..on_thread(title, &thread, notes)
        })
    }

    /// Returns the request that starts a run, with the mark by which it is found again.
    pub(super) fn start_step(&self, thread: &str, body: RunCreate) -> Result<Step, ApiError> {
        let body = crate::mark_start(body);
        let path = ["threads", thread, "runs"];
        let sent = self.run_body(&self.url(&Method::POST, &path)?, &body)?;
        let kind = StepKind::Start(thread.into(), Box::new(body));
        Step::new(self, Method::POST, &path, Some(sent), kind)
    }
}

/// Returns a plan about a thread, without its requests.
pub fn on_thread(title: String, thread: &str, notes: Vec<Note>) -> Draft {
    let name = format!("thread {}", short_id(thread));
    Draft {
        title,
        target: Some(Target::new("thread", thread, name)),
        notes,
        ..Draft::default()
    }
}

fn cancel_notes(target: &Run, others: usize, action: CancelAction, with_queue: bool) -> Vec<Note> {
    let is_queued = target.status != "running";
    let mut notes = Vec::new();
    notes.push(match (is_queued, action) {
        (true, CancelAction::Interrupt) => Note::fact("The run is queued and has not begun."),
        (true, CancelAction::Rollback) => Note::fact("The run is queued and has not begun: its record is deleted."),
        (false, CancelAction::Interrupt) => {
            Note::fact("Finished steps are kept. The current step is discarded; continuing runs it again.")
        }
        (false, CancelAction::Rollback) => Note::warning(
            "Deletes the run and its checkpoints: the thread's state is as it was before the run. This can't be undone.",
        ),
    });
    if !is_queued {
        notes.push(Note::fact("External effects of its tools are not undone."));
    }
    let runs = |n: usize, one: &str, several: &str| match n {
        1 => format!("1 other run {one}"),
        n => format!("{n} other runs {several}"),
    };
    match (with_queue, others) {
        (_, 0) => {}
        (false, n) if is_queued => notes.push(Note::fact(format!(
            "{}.",
            runs(n, "stays active", "stay active")
        ))),
        (false, n) => {
            let queue = runs(
                n,
                "is queued behind it and starts next",
                "are queued behind it, and the next one starts",
            );
            notes.push(Note::warning(format!("{queue}.")));
        }
        (true, n) => {
            let queue = runs(
                n,
                "is cancelled in the same way, first",
                "are cancelled in the same way, the newest first",
            );
            notes.push(Note::warning(format!(
                "{queue}, so that none of them starts."
            )));
        }
    }
    notes
}

/// Raises the limit of steps of a run that follows one which reached its limit.
pub fn raised(
    body: &mut RunCreate,
    reached: Option<StepLimit>,
    wanted: Option<u64>,
    notes: &mut Vec<Note>,
) -> Option<Choice> {
    let was = reached?;
    let limit = wanted.unwrap_or(was.steps.saturating_mul(2)).max(1);
    body.extra
        .entry("config")
        .or_insert_with(|| Value::Object(Default::default()))["recursion_limit"] = limit.into();
    let reached = if was.is_inferred {
        format!(
            "The server doesn't say why the last run failed. None of its steps failed, so it most likely reached its limit of \
             {}",
            was.in_words()
        )
    } else {
        format!("The last run reached its limit of {}", was.in_words())
    };
    notes.push(Note::fact(format!(
        "{reached}. The limit of this run is {limit}."
    )));
    Some(Choice::RecursionLimit(limit))
}

/// Returns the nodes that a retry runs again.
fn unfinished(loaded: &LoadedThread) -> Vec<String> {
    let tasks = loaded.state.iter().flat_map(|state| &state.tasks);
    let nodes: Vec<String> = tasks
        .filter(|task| !task.has_result)
        .map(|task| task.node.clone())
        .collect();
    if nodes.is_empty() {
        loaded.next().to_vec()
    } else {
        nodes
    }
}

/// What a retry runs again.
fn retries(loaded: &LoadedThread) -> Note {
    Note::warning(format!(
        "Runs {} again; finished steps are kept.",
        named(&unfinished(loaded))
    ))
}

/// Says where a run stops by itself.
pub fn breakpoints_note(body: &RunCreate) -> Option<Note> {
    let names = |field: &str| -> Vec<String> {
        match body.extra.get(field) {
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(Value::as_str)
                .map(String::from)
                .collect(),
            Some(Value::String(all)) if all == "*" => vec!["each node".into()],
            _ => Vec::new(),
        }
    };
    let part = |word: &str, nodes: Vec<String>| {
        (!nodes.is_empty()).then(|| format!("{word} {}", named(&nodes)))
    };
    let parts = [
        part("before", names("interrupt_before")),
        part("after", names("interrupt_after")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| {
        Note::fact(format!(
            "Breakpoints stay set: the run stops {}.",
            parts.join(", or ")
        ))
    })
}

fn runs_next(next: &[String]) -> Note {
    Note::fact(format!("Runs next: {}.", named(next)))
}

/// Names in a sentence, each once.
pub fn named(nodes: &[String]) -> String {
    let all: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
    if all.is_empty() {
        "the next node".into()
    } else {
        listed(all, NAMED, and_more)
    }
}

fn rerun_notes(
    run: &RunFacts,
    back: usize,
    status: &ThreadStatus,
    omitted: &[String],
) -> Vec<Note> {
    let mut notes = Vec::new();
    let which = match back {
        0 => format!("the newest run ({})", short_id(&run.run_id)),
        _ => format!(
            "run {} (the newest with an input of its own)",
            short_id(&run.run_id)
        ),
    };
    let runs = format!("Runs the input of {which} again, on the thread's current state.");
    notes.push(match status {
        // Users expect a retry to keep the finished steps.
        ThreadStatus::Failed { .. } => {
            Note::warning(format!("{runs} Finished steps run again, too."))
        }
        _ => Note::fact(runs),
    });
    notes.push(Note::warning(
        "Models and tools are called again, so their external effects happen twice.",
    ));
    if let ThreadStatus::Waiting { questions, .. } = status {
        notes.push(about_questions(questions, "discarded by the new input"));
    }
    notes.extend(omitted_note(omitted));
    notes
}

pub fn omitted_note(omitted: &[String]) -> Option<Note> {
    (!omitted.is_empty())
        .then(|| Note::warning(format!("Left out: {}.", text::clean(&omitted.join(", ")))))
}

/// The assistant that the thread belongs to.
pub fn assistant_of(loaded: &LoadedThread) -> Result<&str, PlanError> {
    loaded.assistant().ok_or_else(|| {
        unfit("The thread's record names no assistant, and a run of the wrong assistant would hide the thread's state.")
    })
}
