//! Plans runs from a checkpoint: of the nodes that were next, with a new input, or after an edit of the state.

use super::base::{Base, open_calls};
use super::branch::Next;
use super::edit::{CheckedEdit, Drawing, Keys, START, leaves_head, not_active};
use super::plan::{assistant_of, breakpoints_note, named, omitted_note, raised};
use super::start::was_answered;
use super::{ForkChange, StateEdit, WriteKind};
use crate::prelude::*;
use runtail_core::model::{Branch, BranchStep, BranchStepKind, FROM_FIRST, StepLimit, TaskFacts};

/// Says that a server can't run on from a checkpoint.
const NEEDS_INPUT: &str = "This server starts no run without an input, so the nodes of a checkpoint can't run again. A new \
                           input at the checkpoint works.";

impl AgentServer {
    pub(super) async fn plan_fork(
        &self,
        thread: &str,
        checkpoint: Option<&str>,
        change: &ForkChange,
    ) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        not_active(&loaded)?;
        match change {
            ForkChange::Nothing | ForkChange::Input(Value::Null) => {
                self.plan_run_again(thread, &loaded, checkpoint).await
            }
            ForkChange::Input(input) => {
                self.plan_new_input(thread, &loaded, checkpoint, input)
                    .await
            }
            ForkChange::Edit(edit) => {
                let (draft, base) = self
                    .plan_edit_and_run(thread, &loaded, checkpoint, edit, None)
                    .await?;
                let branch = Some(self.edited_branch(&loaded, &base, edit).await?);
                Ok(Draft { branch, ..draft })
            }
        }
    }

    async fn plan_run_again(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        checkpoint: Option<&str>,
    ) -> Result<Draft, PlanError> {
        let base = self.base_of(thread, loaded, checkpoint).await?;
        if !self.takes_no_input().await? {
            return refuse(NEEDS_INPUT);
        }
        if base.is_newest && loaded.keeps_rejected_answer() {
            return self.plan_ask_again(thread, loaded).await;
        }
        let (assistant, other) = self.assistant_for(loaded, &base).await?;
        if base.facts.next.is_empty() && other.is_none() {
            return Err(self.finished(thread, loaded, &base).await);
        }
        let Rerun { body, omitted } = loaded.next_run(&assistant);
        let body = loaded.at_checkpoint(body.continuing(), &base.id);
        let past = self.past_of(&base, loaded.newest_run()).await;
        let answered = self.answers_given(loaded, &base).await?;
        let unlisted = self.drawing(&assistant).await?.unlisted(&base.facts.next);
        let branch = past.branch(
            &base,
            &Next {
                nodes: &base.facts.next,
                doubt: if unlisted.is_some() {
                    "the graph no longer lists it"
                } else {
                    ""
                },
                calls: &base.open_calls(),
                keeps_answer: &|task| answered.are_kept && is_answered(loaded, task),
            },
        );
        let mut notes: Vec<Note> = other.into_iter().collect();
        notes.extend(called_again(
            &base,
            past.has_run(&base),
            branch.repeats.is_some(),
        ));
        notes.extend(answered.note);
        notes.extend(unlisted);
        notes.extend(question_note(loaded, &base));
        notes.extend(busy_note(loaded));
        notes.extend(omitted_note(&omitted));
        // The step itself doesn't run again: what follows its checkpoint does.
        let word = base.facts.step.map_or("from", |_| "after");
        let title = format!(
            "Run again {word} {} of thread {}",
            step_of(&base),
            short_id(thread)
        );
        Ok(Draft {
            branch: Some(branch),
            ..self.plan_start(thread, title, body, loaded, notes)?
        })
    }

    async fn plan_new_input(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        checkpoint: Option<&str>,
        input: &Value,
    ) -> Result<Draft, PlanError> {
        let base = self.base_of(thread, loaded, checkpoint).await?;
        let (assistant, other) = self.assistant_for(loaded, &base).await?;
        let past = self.past_of(&base, loaded.newest_run()).await;
        let mut notes: Vec<Note> = other.into_iter().collect();
        let drawing = self.drawing(&assistant).await?;
        let (nodes, doubt) = after_edit(&drawing, START);
        let branch = past.branch(
            &base,
            &Next {
                nodes: &nodes,
                doubt,
                calls: &[],
                keeps_answer: &|_| false,
            },
        );
        // The graph starts from its beginning, so nothing is skipped or repeated.
        let is_first = |step: &BranchStep| {
            matches!(step.kind, BranchStepKind::Runs | BranchStepKind::RunsAgain)
        };
        let first = branch.steps.into_iter().filter(is_first);
        let steps = first
            .map(|step| BranchStep {
                kind: BranchStepKind::Runs,
                ..step
            })
            .collect();
        let branch = Branch {
            steps,
            repeats: None,
            ..branch
        };
        notes.push(Note::warning(format!(
            "The graph starts again on the state of the checkpoint. {}. Models and tools are called again.",
            drawing.after("__start__").trim_end_matches('.')
        )));
        notes.extend(unknown_inputs(
            &self.keys_of(&assistant, &base, None).await,
            input,
        ));
        notes.extend(discards(loaded, &base));
        notes.extend(busy_note(loaded));
        let Rerun { body, omitted } = loaded.next_run(&assistant);
        notes.extend(omitted_note(&omitted));
        let body = RunCreate {
            input: Some(input.clone()),
            ..body
        };
        let body = loaded.at_checkpoint(body, &base.id);
        let title = format!(
            "New input at {} of thread {}",
            step_of(&base),
            short_id(thread)
        );
        Ok(Draft {
            branch: Some(branch),
            ..self.plan_start(thread, title, body, loaded, notes)?
        })
    }

    /// Plans an edit of a checkpoint and a run from there. A limit of steps that the newest run reached is raised.
    pub(super) async fn plan_edit_and_run(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        checkpoint: Option<&str>,
        edit: &StateEdit,
        reached: Option<StepLimit>,
    ) -> Result<(Draft, Base), PlanError> {
        let base = self
            .editable(thread, loaded, checkpoint.or(edit.checkpoint.as_deref()))
            .await?;
        if !self.takes_no_input().await? {
            return refuse(NEEDS_INPUT);
        }
        let drawing = self.drawing(assistant_of(loaded)?).await?;
        let ends = match edit.as_node.as_deref() {
            None if base.facts.next.is_empty() => Some(
                "The checkpoint is the end of its run: no node is next, so nothing would run after the edit. Name the node in \
                 whose name to edit (as_node); what follows it runs."
                    .to_string(),
            ),
            Some(node) if drawing.ends_after(node) => Some(format!(
                "Nothing would run after the edit: only the end follows {}. Name another node, or edit the state without a \
                 run (state set).",
                text::clean(node)
            )),
            _ => None,
        };
        if let Some(why) = ends {
            return Err(PlanError::NeedsNode(
                why,
                drawing.writers().unwrap_or_default(),
            ));
        }
        let CheckedEdit {
            mut body,
            changes,
            notes: of_edit,
            choice,
        } = self.checked_edit(loaded, &base, edit).await?;
        body["checkpoint_id"] = base.id.as_str().into();
        let Rerun { body: run, omitted } = loaded.next_run(assistant_of(loaded)?);
        let mut run = loaded.at_checkpoint(run.continuing(), FROM_FIRST);
        let mut notes = of_edit;
        notes.extend(called_again(&base, base.has_run(), false));
        notes.extend(question_note(loaded, &base));
        notes.extend(busy_note(loaded));
        notes.extend(omitted_note(&omitted));
        raised(&mut run, reached, None, &mut notes);
        notes.extend(breakpoints_note(&run));
        let title = format!(
            "Run again from {} of thread {} after an edit",
            step_of(&base),
            short_id(thread)
        );
        let mut draft = self.plan_write(title, thread, body, (loaded, WriteKind::Edit), notes)?;
        draft.steps.push(self.start_step(thread, run)?);
        let draft = Draft {
            changes,
            choice,
            ..draft
        };
        Ok((draft, base))
    }

    /// Returns what a retry of the newest checkpoint runs; nothing if that can't be read.
    pub(super) async fn retried_steps(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        nodes: &[String],
    ) -> Option<Branch> {
        let base = self.base_of(thread, loaded, None).await.ok()?;
        let past = self.past_of(&base, loaded.newest_run()).await;
        let next = Next {
            nodes,
            doubt: "",
            calls: &base.open_calls(),
            keeps_answer: &|_| false,
        };
        Some(past.branch(&base, &next))
    }

    /// Returns what a run from the newest checkpoint with the input of an earlier run runs; nothing if that can't be read.
    pub(super) async fn steps_of_run(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        run: &str,
    ) -> Option<Branch> {
        let base = self.base_of(thread, loaded, None).await.ok()?;
        Some(
            self.past_until_input(&base, run, loaded.newest_run())
                .await
                .rerun(&base, run),
        )
    }

    /// Returns what a run after an edit runs.
    async fn edited_branch(
        &self,
        loaded: &LoadedThread,
        base: &Base,
        edit: &StateEdit,
    ) -> Result<Branch, PlanError> {
        let past = self.past_of(base, loaded.newest_run()).await;
        let (nodes, doubt) = match edit.as_node.as_deref() {
            Some(node) => after_edit(&self.drawing(assistant_of(loaded)?).await?, node),
            None => (base.facts.next.clone(), "conditions see the edited state"),
        };
        let calls = edit
            .values
            .get("messages")
            .map_or_else(|| base.open_calls(), open_calls);
        Ok(past.branch(
            base,
            &Next {
                nodes: &nodes,
                doubt,
                calls: &calls,
                keeps_answer: &|_| false,
            },
        ))
    }

    /// Returns the assistant that runs from a checkpoint: the thread's own, unless another graph wrote the checkpoint.
    async fn assistant_for(
        &self,
        loaded: &LoadedThread,
        base: &Base,
    ) -> Result<(String, Option<Note>), PlanError> {
        let own = assistant_of(loaded)?;
        let graph = self.graph_of(own).await?;
        let (Some(graph), Some(writer)) = (graph, base.facts.graph_id.as_deref()) else {
            return Ok((own.to_string(), None));
        };
        if graph == writer {
            return Ok((own.to_string(), None));
        }
        let (graph, name) = (
            text::clean(&graph).into_owned(),
            text::clean(writer).into_owned(),
        );
        let Some(assistant) = base.facts.assistant_id.as_deref() else {
            return refuse(format!(
                "The checkpoint was written by the graph {name}, and the thread's newest run used {graph}. The server does not \
                 say which assistant wrote it."
            ));
        };
        self.graph_of(assistant).await?;
        let note = Note::warning(format!(
            "The graph {name} wrote this checkpoint, but the thread's newest run used {graph}: this runs {name} again. The \
             server reads the thread with {graph}, so it does not show which nodes of {name} are next."
        ));
        Ok((assistant.to_string(), Some(note)))
    }

    /// Explains that no node is next at a checkpoint.
    async fn finished(&self, thread: &str, loaded: &LoadedThread, base: &Base) -> PlanError {
        let run = base.facts.run_id.as_deref();
        let options = run.and_then(|run| {
            loaded
                .runs
                .as_ref()?
                .iter()
                .find(|known| known.run_id == run)
        });
        let saves_last_only = options
            .and_then(|run| run.kwargs.as_deref())
            .is_some_and(saves_last_only);
        let states = self
            .recent_history(thread, |_| false)
            .await
            .unwrap_or_default();
        let is_alone = states.len() == 1 && base.is_newest;
        let goes_on = |state: &StateFacts| {
            state.parent_id.as_ref() == Some(&base.id) && state.source == "loop"
        };
        if states.iter().any(goes_on) {
            // Seen on Python with a node that waits for parallel branches.
            return unfit(format!(
                "The server lists no node as next at {}, although its run went on, so nothing may run from here. Choose the \
                 checkpoint before it.",
                base.name()
            ));
        }
        let ends = format!(
            "Nothing would run: no node is next at {}, the end of its run.",
            base.name()
        );
        unfit(if saves_last_only || is_alone {
            format!(
                "{ends} Only the last checkpoint was saved, so there's nothing to run again from."
            )
        } else {
            format!("{ends} Choose an earlier checkpoint, or give a new input.")
        })
    }
}

impl AgentServer {
    /// Says what happens to the answers that the questions of a checkpoint received.
    async fn answers_given(
        &self,
        loaded: &LoadedThread,
        base: &Base,
    ) -> Result<Answered, PlanError> {
        let tasks = base
            .facts
            .tasks
            .iter()
            .filter(|task| is_answered(loaded, task));
        let nodes: BTreeSet<&str> = tasks.map(|task| task.node.as_str()).collect();
        if nodes.is_empty() {
            return Ok(Answered {
                note: None,
                are_kept: false,
            });
        }
        let is_one = nodes.len() == 1;
        let nodes = named(&nodes.into_iter().map(String::from).collect::<Vec<_>>());
        let answers = if is_one { "The answer" } else { "The answers" };
        if !base.is_newest {
            let stay = if is_one { "stays" } else { "stay" };
            let said = format!(
                "{answers} given to {nodes} {stay} in the current branch. The new branch asks again."
            );
            return Ok(Answered {
                note: Some(Note::fact(said)),
                are_kept: false,
            });
        }
        // JavaScript forks the newest checkpoint only if an edit or a fork made it; otherwise it uses the stored answers.
        let is_fork = matches!(base.facts.source.as_str(), "update" | "fork");
        let are_kept = !is_fork && self.info().await?.kind == ServerKind::JavaScript;
        let note = Note::warning(match (are_kept, is_one) {
            (true, true) => format!(
                "{nodes} runs again with the answer that it received, and doesn't ask again."
            ),
            (true, false) => format!(
                "{nodes} run again with the answers that they received, and don't ask again."
            ),
            (false, true) => {
                format!("{answers} given to {nodes} is lost: its question is asked again.")
            }
            (false, false) => {
                format!("{answers} given to {nodes} are lost: their questions are asked again.")
            }
        });
        Ok(Answered {
            note: Some(note),
            are_kept,
        })
    }
}

/// The answers that the questions of a checkpoint received.
struct Answered {
    /// What happens to them.
    note: Option<Note>,
    /// Whether the run uses them, so that it doesn't ask again.
    are_kept: bool,
}

fn is_answered(loaded: &LoadedThread, task: &TaskFacts) -> bool {
    let was_answered = |question: &Question| was_answered(loaded, question.id.as_deref());
    !task.questions.is_empty() && (task.has_result || task.questions.iter().all(was_answered))
}

/// Returns the nodes that run after an edit in the name of a node, and why they don't run for certain.
fn after_edit(drawing: &Drawing, node: &str) -> (Vec<String>, &'static str) {
    let (nodes, is_conditional) = drawing.targets(node);
    (
        nodes,
        if is_conditional {
            "a condition decides"
        } else {
            ""
        },
    )
}

/// Whether a run saves only its last checkpoint, by its options.
fn saves_last_only(kwargs: &str) -> bool {
    let kwargs: Value = json::from_str(kwargs).unwrap_or_default();
    kwargs["durability"] == "exit" || kwargs["checkpoint_during"] == false
}

fn step_of(base: &Base) -> String {
    base.facts.step.map_or_else(
        || format!("checkpoint {}", short_id(&base.id)),
        |step| format!("step {step}"),
    )
}

/// Says which calls may be made again. `are_listed`: the calls that are made again are known and listed elsewhere.
fn called_again(base: &Base, has_run: bool, are_listed: bool) -> Option<Note> {
    let calls: Vec<String> = base
        .open_calls()
        .into_iter()
        .map(|call| call.name)
        .collect();
    match (calls.is_empty(), has_run) {
        _ if are_listed => None,
        (false, true) => Some(Note::warning(format!(
            "Calls that the state asks for: {}. Those that were made after this checkpoint may be made again; their external \
             effects happen twice.",
            calls.join(", ")
        ))),
        (false, false) => Some(Note::fact(format!(
            "Calls that the state asks for: {}.",
            calls.join(", ")
        ))),
        (true, true) => Some(Note::warning(
            "Models and tools of the nodes that run are called again, so their external effects happen twice.",
        )),
        (true, false) => None,
    }
}

/// Says what happens to the open question.
fn question_note(loaded: &LoadedThread, base: &Base) -> Option<Note> {
    leaves_head(loaded, base, "asked again, perhaps under a new id")
}

/// Says that a new input discards the question.
fn discards(loaded: &LoadedThread, base: &Base) -> Option<Note> {
    leaves_head(loaded, base, "discarded by the new input")
}

/// Warns of a run that the server no longer lists.
fn busy_note(loaded: &LoadedThread) -> Option<Note> {
    matches!(loaded.status(), ThreadStatus::BusyWithoutRun { .. }).then(|| {
        Note::warning("The thread is busy, but none of its runs is active: a deleted run may still be running unseen.")
    })
}

/// Warns of keys of an input that the graph does not have.
fn unknown_inputs(keys: &Keys, input: &Value) -> Option<Note> {
    let (Keys::Declared(known), Some(fields)) = (keys, input.as_object()) else {
        return None;
    };
    let unknown: Vec<String> = fields
        .keys()
        .filter(|key| !known.contains(*key))
        .cloned()
        .collect();
    (!unknown.is_empty()).then(|| {
        Note::warning(format!(
            "The graph has no key {}: it is ignored.",
            named(&unknown)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_save_only_their_last_checkpoint_are_recognized() {
        assert!(saves_last_only(r#"{"durability": "exit"}"#));
        assert!(saves_last_only(
            r#"{"durability": null, "checkpoint_during": false}"#
        ));
        assert!(
            !saves_last_only(r#"{"durability": "async", "checkpoint_during": true}"#)
                && !saves_last_only("[")
        );
    }
}
