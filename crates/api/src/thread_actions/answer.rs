//! Plans the answer to a question of a thread. A server keeps the first value that it receives for a question, even one that
//! the graph can't use (acting reference §1.1), so only a valid answer to an open question becomes a plan.

use super::plan::{assistant_of, omitted_note};
use super::{LoadedThread, RunStart, StartGuard, ThreadPlan, unfit};
use crate::{AgentServer, PlanError, ServerKind};
use runtail_core::model::{GivenAnswer, Note, Problem, Question, Reply, Rerun, Resume, resume};
use runtail_core::text::{self, short_id};
use serde_json::Value;

/// Columns of a question in a list.
const MAX_SUMMARY: usize = 60;

impl AgentServer {
    pub(super) async fn plan_answer(
        &self,
        thread: &str,
        interrupt: Option<&str>,
        answer: &GivenAnswer,
    ) -> Result<ThreadPlan, PlanError> {
        let loaded = self.load_thread(thread).await?;
        if loaded.is_blank() {
            return Err(unfit(
                "this server has no call that reads a thread's questions, so the answer can't be checked; \
                 `runtail run A --thread T --resume JSON` sends one unchecked",
            ));
        }
        let questions = loaded.answerable();
        let chosen = choose(&questions, interrupt, &loaded)?;
        let mut replies: Vec<Option<Reply>> = vec![None; questions.len()];
        for at in &chosen {
            replies[*at] = Some(questions[*at].reply_from(answer).map_err(|why| PlanError::Wrong(vec![why]))?);
        }
        let made = resume(&questions, &replies).map_err(|problems| PlanError::Wrong(reasons(&problems)))?;
        let Rerun { body, omitted } = loaded.next_run(assistant_of(&loaded)?);
        let asked: Vec<Question> = chosen.iter().map(|at| questions[*at].clone()).collect();
        let mut notes = vec![Note::fact(format!("Question: {}", text::clean(&asked[0].summary())))];
        match questions.len() - asked.len() {
            0 => {}
            1 => notes.push(Note::fact("1 other question stays open.")),
            n => notes.push(Note::fact(format!("{n} other questions stay open."))),
        }
        notes.extend(self.doubts(&asked[0], &made).await?);
        notes.extend(omitted_note(&omitted));
        let body = body.answering(&made);
        let start = RunStart { thread: thread.into(), body, guard: StartGuard::Questions(asked) };
        self.plan_run(format!("Answer thread {}", short_id(thread)), start, notes)
    }

    /// Returns notes about what can't be checked in a valid answer.
    async fn doubts(&self, question: &Question, answer: &Resume) -> Result<Vec<Note>, PlanError> {
        let mut notes = Vec::new();
        if let Some(why) = question.unchecked_schema() {
            let why = text::clean(&why).into_owned();
            notes.push(Note::warning(format!(
                "The question's schema can't be checked here, but the server does: {why}."
            )));
        }
        if mixes_decisions(answer.value()) && self.info().await?.kind == ServerKind::JavaScript {
            notes.push(Note::warning(
                "JavaScript servers may drop the approved actions of an answer that rejects others.",
            ));
        }
        Ok(notes)
    }
}

/// Returns the positions of the questions to answer: several only if they share an id, as on older servers.
fn choose(questions: &[Question], wanted: Option<&str>, loaded: &LoadedThread) -> Result<Vec<usize>, PlanError> {
    let positions = |id: &str| -> Vec<usize> {
        let has_id = |(_, question): &(usize, &Question)| question.id.as_deref() == Some(id);
        questions.iter().enumerate().filter(has_id).map(|(at, _)| at).collect()
    };
    match (wanted, questions) {
        (_, []) => Err(not_waiting(loaded, wanted.is_some())),
        (None, [_]) => Ok(vec![0]),
        (None, [first, ..]) => {
            let twins = first.id.as_deref().map(positions).unwrap_or_default();
            if twins.len() == questions.len() {
                return Ok(twins);
            }
            let why =
                format!("{} questions are open; choose one with --interrupt ID:{}", questions.len(), list(questions));
            Err(PlanError::Wrong(vec![why]))
        }
        (Some(id), _) => match positions(id).as_slice() {
            [] => Err(unfit(format!("This question is no longer open. Open questions:{}", list(questions)))),
            found => Ok(found.to_vec()),
        },
    }
}

fn not_waiting(loaded: &LoadedThread, is_named: bool) -> PlanError {
    let status = loaded.status();
    if loaded.keeps_rejected_answer() {
        return unfit(
            "The graph rejected an earlier answer, and the server keeps it: another answer would be ignored. Run the thread \
             again from the dashboard (it asks the question again), then answer it.",
        );
    }
    let is_named = if is_named { "This question is no longer open. " } else { "" };
    match status.is_active() {
        true => unfit(format!("{is_named}A run is active on the thread; it is not waiting for an answer.")),
        false => unfit(format!("{is_named}The thread is {}; it is not waiting for an answer.", status.word())),
    }
}

fn list(questions: &[Question]) -> String {
    let line = |question: &Question| {
        let id = question.id.as_deref().unwrap_or("(no id)");
        format!("\n  {}  {}", text::clean(id), text::fit(&text::clean(&question.summary()), MAX_SUMMARY))
    };
    questions.iter().map(line).collect()
}

fn reasons(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|problem| format!("the answer is not valid: {}", text::clean(&problem.to_string()))).collect()
}

/// Returns whether an answer approves some actions and rejects others.
fn mixes_decisions(answer: &Value) -> bool {
    let mixes = |value: &Value| {
        let decisions = value["decisions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has =
            |kinds: [&str; 2]| decisions.iter().any(|decision| kinds.iter().any(|kind| decision["type"] == *kind));
        has(["approve", "edit"]) && has(["reject", "respond"])
    };
    mixes(answer) || answer.as_object().is_some_and(|by_id| by_id.values().any(mixes))
}
