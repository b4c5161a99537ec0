//! Plans the answer to a question of a thread. A server keeps the first value that it receives for a question, even one that
//! the graph can't use (acting reference §1.1), so only a valid answer to an open question becomes a plan.

use super::plan::{assistant_of, omitted_note};
use super::start::was_answered;
use super::{LoadedThread, RunStart, sentence_of, unfit};
use crate::act::{Draft, PlanError, StartGuard};
use crate::{AgentServer, ApiError, ServerKind};
use runtail_core::model::{
    GivenAnswer, MIXED_DECISIONS, Note, Problem, Question, Reply, Rerun, Resume, StateFacts,
    resume, shell_word, summary_of,
};
use runtail_core::text::{self, short_id};
use serde_json::{Number, Value};

/// Columns of a question in a list.
const MAX_SUMMARY: usize = 60;
/// Checkpoints in which a question that is not open is looked for, and bytes of their list.
const HISTORY: usize = 50;
const MAX_HISTORY: usize = 16 << 20;

impl AgentServer {
    pub(super) async fn plan_answer(
        &self,
        thread: &str,
        interrupt: Option<&str>,
        answer: &GivenAnswer,
    ) -> Result<Draft, PlanError> {
        let loaded = self.load_thread(thread).await?;
        if loaded.is_blank() {
            return Err(unfit(
                "This server has no call that reads a thread's questions, so the answer can't be checked. \
                 `runtail run A --thread T --resume JSON` sends an answer unchecked.",
            ));
        }
        let questions = loaded.answerable();
        if questions.is_empty() && loaded.keeps_rejected_answer() {
            return Err(self.rejected_before(thread).await?);
        }
        let chosen = match interrupt {
            Some(id)
                if !questions.is_empty()
                    && questions
                        .iter()
                        .all(|question| question.id.as_deref() != Some(id)) =>
            {
                return Err(unfit(
                    self.unknown_question(thread, id, &loaded, &questions).await,
                ));
            }
            _ => choose(&questions, interrupt, answer, &loaded)?,
        };
        let mut replies: Vec<Option<Reply>> = vec![None; questions.len()];
        for at in &chosen {
            replies[*at] = Some(
                questions[*at]
                    .reply_from(answer)
                    .map_err(|why| PlanError::Wrong(vec![why]))?,
            );
        }
        let made = resume(&questions, &replies)
            .map_err(|problems| PlanError::Wrong(reasons(&problems, &questions)))?;
        let asked: Vec<Question> = chosen.iter().map(|at| questions[*at].clone()).collect();
        let mut notes = vec![Note::fact(format!(
            "Question: {}",
            text::clean(&summary_of(&asked))
        ))];
        if asked.len() > 1 && asked[0].id == asked[1].id {
            let others: Vec<String> = asked[1..].iter().map(summary_of_one).collect();
            notes.push(Note::warning(format!(
                "{} open questions share this id, and the server gives them all this one answer. Also answered: {}",
                asked.len(),
                others.join(" · ")
            )));
        }
        match questions.len() - asked.len() {
            0 => {}
            1 => notes.push(Note::fact("1 other question stays open.")),
            n => notes.push(Note::fact(format!("{n} other questions stay open."))),
        }
        self.answer_with(thread, &loaded, (asked, &made), notes)
            .await
    }

    /// Plans a run that answers these questions of a loaded thread.
    pub(super) async fn answer_with(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        (asked, made): (Vec<Question>, &Resume),
        mut notes: Vec<Note>,
    ) -> Result<Draft, PlanError> {
        let Rerun { body, omitted } = loaded.next_run(assistant_of(loaded)?);
        notes.extend(self.doubts(&asked, made).await?);
        notes.extend(self.race_note(loaded).await?);
        notes.extend(omitted_note(&omitted));
        let start = RunStart {
            thread: thread.into(),
            body: body.answering(made),
            guard: StartGuard::Questions(asked),
        };
        Ok(self.plan_run(format!("Answer thread {}", short_id(thread)), start, notes)?)
    }

    /// Explains that the server keeps an answer that the graph rejected.
    pub(super) async fn rejected_before(&self, thread: &str) -> Result<PlanError, ApiError> {
        let kept = "The graph rejected an earlier answer, and the server keeps it, so it would ignore another answer.";
        Ok(unfit(match self.takes_no_input().await? {
            true => {
                let thread = shell_word(thread);
                format!(
                    "{kept} `runtail fork {thread}` asks the question again under a new id; then answer it."
                )
            }
            false => format!(
                "{kept} This server can't ask again. A new run starts the graph from its beginning."
            ),
        }))
    }

    /// Returns why there is no open question with an id: whether it was answered, as far as the records show.
    async fn unknown_question(
        &self,
        thread: &str,
        id: &str,
        loaded: &LoadedThread,
        open: &[Question],
    ) -> String {
        let open = list(open);
        if was_answered(loaded, Some(id)) {
            return format!(
                "This question is no longer open: it was answered. Open questions:{open}"
            );
        }
        let history = self
            .thread_history_raw(thread, HISTORY, None, MAX_HISTORY)
            .await;
        let states: Option<Vec<StateFacts>> = history.ok().map(|states| {
            states
                .iter()
                .filter_map(|state| StateFacts::read(state.get()).ok())
                .collect()
        });
        let asks = |state: &StateFacts| {
            let of_tasks = state.tasks.iter().flat_map(|task| &task.questions);
            of_tasks
                .chain(&state.questions)
                .any(|question| question.id.as_deref() == Some(id))
        };
        match states {
            Some(states) if states.iter().any(asks) => {
                format!("This question is no longer open. Open questions:{open}")
            }
            Some(states) if states.len() < HISTORY && loaded.runs.is_some() => {
                format!("The thread never asked a question with this id. Open questions:{open}")
            }
            _ => format!(
                "No open question has this id. Whether it was ever open is unknown. Open questions:{open}"
            ),
        }
    }

    /// Returns a warning for a server that ignores `multitask_strategy`, so that it runs two answers at once (seen on Aegra 0.6.0 and 0.11.0).
    async fn race_note(&self, loaded: &LoadedThread) -> Result<Option<Note>, PlanError> {
        // Only Aegra's threads have no field for questions; other servers need no further request.
        let may_be_aegra = loaded
            .thread
            .as_ref()
            .is_some_and(|facts| !facts.lists_questions);
        if !may_be_aegra || !self.info().await?.kind.is_aegra() {
            return Ok(None);
        }
        Ok(Some(Note::warning(
            "Aegra doesn't refuse a second answer that is sent at the same moment: both runs start, and both run the next nodes.",
        )))
    }

    /// Returns notes about what can't be checked in a valid answer.
    async fn doubts(
        &self,
        questions: &[Question],
        answer: &Resume,
    ) -> Result<Vec<Note>, PlanError> {
        let mut cautions: Vec<String> = questions.iter().filter_map(Question::caution).collect();
        cautions.dedup();
        cautions.extend(answer.is_doubtful().then(|| MIXED_DECISIONS.to_string()));
        if let Some(number) = large_integer(answer.value())
            && self.info().await?.kind == ServerKind::JavaScript
        {
            cautions.push(format!(
                "JavaScript servers round integers beyond 9007199254740991, such as {number}."
            ));
        }
        Ok(cautions.into_iter().map(Note::warning).collect())
    }
}

/// Returns the positions of the questions to answer: several only if they share the id that was named, as on older servers, or if
/// one decision is about all calls that wait.
fn choose(
    questions: &[Question],
    wanted: Option<&str>,
    answer: &GivenAnswer,
    loaded: &LoadedThread,
) -> Result<Vec<usize>, PlanError> {
    let is_decision = matches!(answer, GivenAnswer::Approve | GivenAnswer::Reject(_));
    let positions = |id: &str| -> Vec<usize> {
        let has_id = |(_, question): &(usize, &Question)| question.id.as_deref() == Some(id);
        questions
            .iter()
            .enumerate()
            .filter(has_id)
            .map(|(at, _)| at)
            .collect()
    };
    match (wanted, questions) {
        (_, []) => Err(not_waiting(loaded, wanted)),
        (None, [_]) => Ok(vec![0]),
        (None, several) if is_decision && several.iter().all(Question::is_per_call) => {
            Ok((0..several.len()).collect())
        }
        (None, several)
            if several
                .iter()
                .all(|question| question.resume_id().is_none()) =>
        {
            Err(unfit(format!(
                "{} questions without an id are open, so an answer can't name one of them. A new run starts the graph from its \
             beginning:{}",
                several.len(),
                list(several)
            )))
        }
        (None, [first, ..]) => {
            let shares_one_id =
                first.id.is_some() && questions.iter().all(|question| question.id == first.id);
            let (count, list) = (questions.len(), list(questions));
            let why = match shares_one_id {
                true => format!(
                    "{count} open questions share one id, so the server gives them all the same answer; to send one answer to \
                     all of them, name the id with --interrupt ID:{list}"
                ),
                false => {
                    format!("{count} questions are open; choose one with --interrupt ID:{list}")
                }
            };
            Err(PlanError::Wrong(vec![why]))
        }
        (Some(id), _) => Ok(positions(id)),
    }
}

pub(super) fn not_waiting(loaded: &LoadedThread, named: Option<&str>) -> PlanError {
    let status = loaded.status();
    let named = match named {
        Some(id) if was_answered(loaded, Some(id)) => {
            "This question is no longer open: it was answered. "
        }
        Some(_) => "No open question has this id. ",
        None => "",
    };
    match status.is_active() {
        true => unfit(format!(
            "{named}A run is active on the thread; it is not waiting for an answer."
        )),
        false => unfit(format!(
            "{named}{}; it is not waiting for an answer.",
            sentence_of(&status)
        )),
    }
}

fn summary_of_one(question: &Question) -> String {
    text::fit(&text::clean(&question.summary()), MAX_SUMMARY).into_owned()
}

fn list(questions: &[Question]) -> String {
    let line = |question: &Question| {
        let id = question.id.as_deref().unwrap_or("(no id)");
        format!(
            "\n  {}  {}",
            text::clean(id),
            text::fit(&text::clean(&question.summary()), MAX_SUMMARY)
        )
    };
    questions.iter().map(line).collect()
}

pub(super) fn reasons(problems: &[Problem], questions: &[Question]) -> Vec<String> {
    let words = |problem: &Problem| {
        format!(
            "the answer is not valid: {}",
            text::clean(&problem.in_words(questions))
        )
    };
    problems.iter().map(words).collect()
}

/// Returns the first integer that a floating-point number can't hold exactly.
fn large_integer(value: &Value) -> Option<&Number> {
    const LARGEST: u64 = (1 << 53) - 1;
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or(number.as_i64().map(i64::unsigned_abs));
            Some(number).filter(|_| size.is_some_and(|size| size > LARGEST))
        }
        Value::Array(items) => items.iter().find_map(large_integer),
        Value::Object(fields) => fields.values().find_map(large_integer),
        _ => None,
    }
}
