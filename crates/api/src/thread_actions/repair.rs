//! Plans repairs: releasing a thread that is busy without a run, ending one, running a given run's input again, and running
//! a thread's own assistant after a run of another one (acting reference §1.4, §1.8, §2).

use super::WriteKind;
use super::edit::{about_questions, not_active};
use super::plan::{assistant_of, omitted_note};
use crate::prelude::*;

impl AgentServer {
    pub(super) async fn plan_release(&self, thread: &str) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        not_active(&loaded)?;
        match loaded.status() {
            ThreadStatus::BusyWithoutRun { .. } => {}
            status => {
                let status = status.word();
                return nothing(format!(
                    "The thread is {status}, so there is nothing to release."
                ));
            }
        }
        let kind = self.info().await?.kind;
        if !kind.releases_by_update() {
            return refuse(match kind {
                ServerKind::JavaScript => {
                    "A JavaScript server keeps the thread's status when its state is updated, so an update can't release the \
                     thread. A new run does."
                        .into()
                }
                _ => ignores_updates("release a thread", "A new run releases it."),
            });
        }
        let notes = vec![
            Note::fact(
                "Writes a state update without values. The state stays the same, and the server sets the status again.",
            ),
            Note::warning(
                "A run that was deleted while it was running may still be running: it keeps calling models and tools, and \
                 writes its state when it ends. It can't be cancelled.",
            ),
            Note::fact("Nothing is sent if a run has started on the thread by then."),
        ];
        let title = format!("Release thread {}", short_id(thread));
        let body = json!({"values": null});
        Ok(self.plan_write(title, thread, body, (&loaded, WriteKind::Release), notes)?)
    }

    pub(super) async fn plan_end(&self, thread: &str) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        not_active(&loaded)?;
        if loaded.is_blank() {
            return refuse(
                "This server has no call that reads a thread's state, so nothing can be checked.",
            );
        }
        let status = loaded.status();
        if loaded.next().is_empty() {
            return nothing(format!(
                "No node is left to run: the thread is already {}.",
                status.word()
            ));
        }
        let kind = self.info().await?.kind;
        if !kind.ends_by_update() {
            return refuse(ignores_updates(
                "end a thread",
                "A new run replaces what is left to run.",
            ));
        }
        let next = super::plan::named(loaded.next());
        let is = if loaded.next().len() == 1 {
            "is"
        } else {
            "are"
        };
        let text =
            format!("Nothing more runs on the thread: {next} {is} dropped. The state is kept.");
        let mut notes = vec![Note::warning(text)];
        if let ThreadStatus::Waiting { questions, .. } = &status {
            notes.push(about_questions(questions, "dropped without an answer"));
        }
        let undo = |id: &str| {
            Note::fact(format!(
                "To undo it, run the thread again from checkpoint {}.",
                text::clean(id)
            ))
        };
        notes.extend(loaded.checkpoint().map(undo));
        if kind == ServerKind::JavaScript || kind.is_aegra() {
            notes.push(Note::fact(
                "This server keeps listing the thread with its current status.",
            ));
        }
        let body = json!({"values": null, "as_node": "__end__"});
        let title = format!("End thread {}", short_id(thread));
        Ok(self.plan_write(title, thread, body, (&loaded, WriteKind::End), notes)?)
    }

    pub(super) async fn plan_rerun_of(&self, thread: &str, run: &str) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        not_active(&loaded)?;
        let name = short_id(run);
        let facts = self.facts_of(thread, &loaded, run).await?;
        let own = assistant_of(&loaded)?;
        let graph = self.graph_of(own).await?;
        let mut notes = vec![Note::fact(format!(
            "Runs the input of run {name} again, on the thread's current state."
        ))];
        let assistant = match facts.assistant_id.as_str() {
            ran if ran.is_empty() || ran == own => own.to_string(),
            ran => match self.graph_of(ran).await? {
                same if same == graph && same.is_some() => ran.to_string(),
                other => {
                    return refuse(another_graph(&name, other.as_deref(), graph.as_deref()));
                }
            },
        };
        let Rerun { body, omitted } = Rerun::of(&facts, &assistant)
            .map_err(|why| unfit(format!("Run {name} can't run again: {why}.")))?;
        notes.push(Note::warning(
            "Models and tools are called again, so their external effects happen twice.",
        ));
        if let ThreadStatus::Waiting { questions, .. } = loaded.status() {
            notes.push(about_questions(&questions, "discarded by the new input"));
        }
        notes.extend(omitted_note(&omitted));
        let title = format!(
            "Run the input of run {name} again on thread {}",
            short_id(thread)
        );
        let draft = self.plan_start(thread, title, body, &loaded, notes)?;
        let branch = self.steps_of_run(thread, &loaded, run).await;
        Ok(Draft { branch, ..draft })
    }

    /// Returns the record of a run of a loaded thread, which may list only the newest ones.
    pub(super) async fn facts_of(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        run: &str,
    ) -> Result<RunFacts, PlanError> {
        if let Some(facts) = loaded
            .runs
            .iter()
            .flatten()
            .find(|known| known.run_id == run)
        {
            return Ok(facts.clone());
        }
        match self.run_row(thread, run).await {
            Ok(row) => Ok(RunFacts::read(&row.to_string()).unwrap_or_default()),
            Err(error) if matches!(error.kind, Kind::NotFound | Kind::Invalid(_)) => refuse(
                if self
                    .info()
                    .await
                    .is_ok_and(|info| info.kind == ServerKind::Other)
                {
                    "This server offers no records of runs, so their inputs can't be run again."
                        .into()
                } else {
                    format!("Thread {} has no run {}.", short_id(thread), short_id(run))
                },
            ),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn plan_restore(&self, thread: &str) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        not_active(&loaded)?;
        let Switch { now, before } = switch_of(&loaded)?;
        if !self.takes_no_input().await? {
            return refuse(
                "This server starts no run without an input, so the earlier assistant can't continue from its checkpoint.",
            );
        }
        // The assistant that ran last may be deleted; the other one must exist.
        let (graph, other) = (
            self.graph_of(before).await?,
            self.graph_of(now).await.unwrap_or_default(),
        );
        let shown = |graph: &Option<String>, id: &str| {
            let graph = graph
                .as_deref()
                .filter(|graph| *graph != id)
                .map(|graph| format!(" (graph {graph})"));
            text::clean(&format!("{}{}", short_id(id), graph.unwrap_or_default())).into_owned()
        };
        let (right, wrong) = (shown(&graph, before), shown(&other, now));
        if graph.is_some() && graph == other {
            return nothing(format!(
                "The newest run used assistant {wrong}, the runs before it {right}: both run the same graph, so no state is \
                 hidden."
            ));
        }
        let (checkpoint, newer) = self
            .last_of(thread, &loaded, before, graph.as_deref())
            .await?;
        let id = checkpoint.checkpoint_id.clone().unwrap_or_default();
        let earlier = loaded
            .runs
            .iter()
            .flatten()
            .find(|run| run.assistant_id == before);
        let Rerun { body, omitted } = Rerun::with_options_of(earlier, before);
        let body = loaded.at_checkpoint(body.continuing(), &id);
        let step = checkpoint
            .step
            .map(|step| format!("step {step}, "))
            .unwrap_or_default();
        let mut notes = vec![
            Note::fact(format!(
                "The newest run used assistant {wrong}, the runs before it {right}. Its run hides their state."
            )),
            Note::fact(format!(
                "Runs assistant {right} from its newest checkpoint ({step}{}).",
                text::clean(&id)
            )),
            Note::warning(
                "What was unfinished there runs again from the start of its step, and an open question is asked again under a \
                 new id. If nothing was left to run, only the state is shown again.",
            ),
            Note::fact(
                "The server reads the thread with the other graph now, so it does not show which nodes are next.",
            ),
        ];
        notes.push(Note::fact(match newer {
            0 => "No newer checkpoint is left behind.".to_string(),
            1 => "1 newer checkpoint of the other assistant stays in the history.".into(),
            n => format!("{n} newer checkpoints of the other assistant stay in the history."),
        }));
        notes.extend(omitted_note(&omitted));
        let title = format!("Run assistant {right} again on thread {}", short_id(thread));
        Ok(self.plan_start(thread, title, body, &loaded, notes)?)
    }

    /// Returns the newest checkpoint that an assistant wrote, and how many newer ones others wrote.
    async fn last_of(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        assistant: &str,
        graph: Option<&str>,
    ) -> Result<(StateFacts, usize), PlanError> {
        let runs = loaded.runs.as_deref().unwrap_or_default();
        let wrote = |state: &StateFacts| {
            // Aegra's checkpoints name the run only; an edit names the graph only.
            let of_run = || {
                let run = state.run_id.as_deref()?;
                runs.iter()
                    .find(|known| known.run_id == run)
                    .map(|known| known.assistant_id == assistant)
            };
            match (&state.assistant_id, &state.graph_id) {
                (Some(id), _) => id == assistant,
                (None, Some(of)) => Some(of.as_str()) == graph,
                (None, None) => of_run() == Some(true),
            }
        };
        let Some(states) = self.recent_history(thread, wrote).await else {
            return refuse(
                "The server shows no history, so the earlier assistant's checkpoint is unknown.",
            );
        };
        let found = states
            .iter()
            .position(wrote)
            .and_then(|at| Some((states.get(at)?.clone(), at)));
        found.filter(|(state, _)| state.checkpoint_id.is_some()).ok_or_else(|| {
            let (n, id) = (states.len(), short_id(assistant));
            unfit(format!(
                "None of the newest {n} checkpoints was written by assistant {id}, so there is none to run from."
            ))
        })
    }
}

/// The assistants of the newest run and of those before it.
struct Switch<'a> {
    now: &'a str,
    before: &'a str,
}

/// Finds the assistant that a thread belonged to before its newest runs. Servers write the newest run's assistant into the
/// thread's record, so the runs tell.
fn switch_of(loaded: &LoadedThread) -> Result<Switch<'_>, PlanError> {
    let record = loaded
        .thread
        .as_ref()
        .filter(|thread| thread.assistant_id.is_some() || thread.graph_id.is_some());
    let Some(record) = record else {
        return refuse(
            "The thread's record names no assistant, so it is unknown which one it belongs to.",
        );
    };
    let ran: Vec<&str> = loaded
        .runs
        .iter()
        .flatten()
        .map(|run| run.assistant_id.as_str())
        .collect();
    let ran: Vec<&str> = ran.into_iter().filter(|id| !id.is_empty()).collect();
    let Some(now) = ran.first().copied() else {
        return refuse(
            "The server lists no runs of the thread, so it is unknown which assistants ran on it.",
        );
    };
    // A server whose record keeps the first assistant names the right one itself.
    let of_record = record
        .assistant_id
        .as_deref()
        .filter(|id| *id != now && ran.contains(id));
    match of_record.or_else(|| ran.iter().find(|id| **id != now).copied()) {
        Some(before) => Ok(Switch { now, before }),
        None => nothing("All listed runs of the thread used the same assistant."),
    }
}

fn ignores_updates(what: &str, instead: &str) -> String {
    format!(
        "This server ignores a state update without values, so Runtail can't {what} here. {instead}"
    )
}

fn another_graph(run: &str, of_run: Option<&str>, own: Option<&str>) -> String {
    let name = |graph: Option<&str>| {
        graph.map_or_else(
            || "an unknown graph".to_string(),
            |g| text::clean(g).into_owned(),
        )
    };
    format!(
        "Run {run} used {}, and the thread's newest run {}: a run of another graph would hide the thread's state.",
        name(of_run),
        name(own)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_core::model::ThreadFacts;
    use serde_json::Value;

    fn thread(record: Value, assistants: &[&str]) -> LoadedThread {
        let runs = assistants.iter().enumerate().map(|(n, id)| {
            // Newest first, as servers list them.
            json!({"run_id": format!("r{n}"), "assistant_id": id, "status": "success", "created_at": format!("2026-11-22T03:00:{:02}Z", 59 - n)})
        });
        LoadedThread {
            thread: ThreadFacts::read(&json!({"status": "idle", "metadata": record}).to_string())
                .ok(),
            state: None,
            runs: RunFacts::read_all(&json!(runs.collect::<Vec<_>>()).to_string()).ok(),
        }
    }

    #[test]
    fn the_assistant_before_the_newest_runs_is_found() {
        let found = |record: Value, ran: &[&str]| {
            switch_of(&thread(record, ran)).map(|s| (s.now.to_string(), s.before.to_string()))
        };
        let pair = |now: &str, before: &str| Ok((now.to_string(), before.to_string()));
        // Servers write the newest run's assistant into the record.
        assert_eq!(
            found(json!({"assistant_id": "b"}), &["b", "b", "a", "c"]),
            pair("b", "a")
        );
        assert_eq!(
            found(json!({"assistant_id": "c"}), &["b", "a", "c"]),
            pair("b", "c")
        );
        assert!(matches!(
            found(json!({"assistant_id": "a"}), &["a", "a"]),
            Err(PlanError::Nothing(_))
        ));
        assert!(
            matches!(found(json!({}), &["b", "a"]), Err(PlanError::Unfit(why)) if why.contains("names no assistant"))
        );
        assert!(
            matches!(found(json!({"assistant_id": "a"}), &[]), Err(PlanError::Unfit(why)) if why.contains("lists no runs"))
        );
    }
}
