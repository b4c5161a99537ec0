//! What a thread is waiting for, and the command that answers it.

use crate::prelude::*;
use runtail_api::{LoadedThread, ServerKind};
use runtail_core::model::{
    Question, Reply, RunFacts, ThreadStatus, answer_command, resume, shell_word,
};

/// Maximum characters of a question in a line.
const QUESTION: usize = 300;
/// Printed instead of a command for one of several questions without an id.
const UNNAMED: &str = "  It has no id, so it can't be answered while other questions are open.";

/// What a thread is waiting for.
pub struct Waiting {
    status: ThreadStatus,
    /// The open questions; a failed thread may have some too.
    questions: Vec<Question>,
    /// Its runs when it was read.
    runs: Option<Vec<RunFacts>>,
    /// The assistant of its runs.
    assistant_id: Option<String>,
    graph_id: Option<String>,
}

impl Waiting {
    /// Reads a thread.
    ///
    /// # Errors
    /// See [`AgentServer::load_thread`].
    pub async fn of(server: &AgentServer, thread: &str) -> Result<Waiting, ApiError> {
        server.load_thread(thread).await.map(Waiting::new)
    }

    /// The state wins over the thread's record, because a copied thread has its questions only there.
    fn new(loaded: LoadedThread) -> Waiting {
        let status = loaded.status();
        let questions = match status.questions() {
            [] => loaded
                .state
                .map(|state| state.pending())
                .unwrap_or_default(),
            asked => asked.to_vec(),
        };
        let record = loaded.thread.unwrap_or_default();
        Waiting {
            status,
            questions,
            runs: loaded.runs,
            assistant_id: record.assistant_id,
            graph_id: record.graph_id,
        }
    }

    /// Returns its runs when it was read; `None` if they could not be listed.
    pub fn into_runs(self) -> Option<Vec<RunFacts>> {
        self.runs
    }

    /// Returns why an answer must not be sent to this thread, if so.
    pub fn refusal(&self, kind: ServerKind, thread: &str) -> Option<String> {
        let thread = text::clean(thread);
        match &self.status {
            ThreadStatus::Idle { .. } | ThreadStatus::Failed { .. }
                if self.questions.is_empty() => {}
            ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } => {
                return Some(format!(
                    "a run is active on thread {thread}; it is not waiting for an answer"
                ));
            }
            // Waiting, paused, edited or unclear: let the server decide.
            _ => return None,
        }
        let effect = match kind {
            ServerKind::Python => "this server would run the graph as if it had no answer",
            ServerKind::JavaScript => "this server would start a run that does nothing",
            ServerKind::Aegra | ServerKind::EarlyAegra => "this server refuses such a run",
            ServerKind::Other => "it is unknown what this server would do",
        };
        Some(format!(
            "thread {thread} is not waiting for an answer; {effect}, so nothing was sent"
        ))
    }

    /// Returns the answer as it is sent: by question id, validated.
    ///
    /// # Errors
    /// The answer names none of several questions, or the graph would reject it and the server would keep it.
    pub fn resume(&self, answer: Value) -> Result<Value, String> {
        let ids: Vec<&str> = self
            .questions
            .iter()
            .filter_map(|question| question.id.as_deref())
            .collect();
        let by_id = answer
            .as_object()
            .filter(|map| !map.is_empty() && map.keys().all(|key| ids.contains(&&**key)));
        let value = |question: &Question| match (by_id, self.questions.len()) {
            (Some(map), _) => map.get(question.id.as_deref()?).cloned(),
            (None, 1) => Some(answer.clone()),
            (None, _) => None,
        };
        let replies: Vec<Option<Reply>> = self
            .questions
            .iter()
            .map(|one| value(one).map(Reply::Value))
            .collect();
        match (
            self.questions.as_slice(),
            replies.iter().any(Option::is_some),
        ) {
            // Let the server decide.
            ([], _) => return Ok(answer),
            (several, false) if ids.is_empty() => {
                let count = several.len();
                return Err(format!(
                    "{count} questions without an id are open, so an answer can't name one of them"
                ));
            }
            (several, false) => {
                let asked: Vec<String> = several.iter().map(asked_short).collect();
                return Err(format!(
                    "{} questions are open; name each question's id, as in {{\"ID\": ANSWER}}: {}",
                    several.len(),
                    asked.join("; ")
                ));
            }
            _ => {}
        }
        let resume = resume(&self.questions, &replies).map_err(|problems| {
            let of = problems
                .first()
                .and_then(|problem| self.questions.get(problem.question)?.id.as_deref());
            let rules: Vec<String> = problems
                .iter()
                .map(|problem| problem.in_words(&self.questions))
                .collect();
            let of = of
                .map(|id| format!(" to question {}", text::clean(id)))
                .unwrap_or_default();
            format!(
                "the answer{of} is not valid: {}",
                text::clean(&rules.join("; "))
            )
        })?;
        Ok(resume.value().clone())
    }

    /// Returns what can't be checked in an answer.
    pub fn cautions(&self) -> impl Iterator<Item = String> {
        self.questions.iter().filter_map(Question::caution)
    }

    /// Returns why a run of this assistant must not answer, if so: a run of another assistant hides the thread's state.
    pub fn wrong_assistant(&self, assistant: &str) -> Option<String> {
        let own = self.assistant_id.as_deref()?;
        let is_own = assistant == own || self.graph_id.as_deref() == Some(assistant);
        (!is_own && !self.questions.is_empty()).then(|| {
            let name = text::clean(self.graph_id.as_deref().unwrap_or(own)).into_owned();
            format!("the thread belongs to the assistant {name}: a run of another one would drop its question")
        })
    }

    /// Returns the assistant that has to answer, by the graph's name if the server created it for the graph.
    async fn assistant(&self, server: &AgentServer) -> Option<String> {
        let Some(id) = &self.assistant_id else {
            return self.graph_id.clone();
        };
        let row = server.assistant_row(id).await.ok();
        let made_by_server = row
            .as_ref()
            .is_some_and(|row| row["metadata"]["created_by"] == "system");
        match row
            .as_ref()
            .and_then(|row| row["graph_id"].as_str())
            .filter(|_| made_by_server)
        {
            Some(graph) => Some(graph.to_string()),
            None => Some(id.clone()),
        }
    }
}

/// The command that a hint suggests for a question.
#[derive(Debug, Clone, Copy)]
pub enum Suggested<'a> {
    /// `answer`, one for each question.
    Answer,
    /// `run --resume`, with the assistant that the user named.
    Resume(Option<&'a str>),
}

/// Returns the message for a run that waits for input: each question with its id, and the command that answers it. `detail` is
/// what the stream knew.
pub async fn hint(
    server: &AgentServer,
    thread: &str,
    suggested: Suggested<'_>,
    detail: Option<&str>,
    where_to: &str,
) -> Vec<String> {
    let loaded = server.load_thread(thread).await.ok();
    let answerable = loaded
        .as_ref()
        .map(LoadedThread::answerable)
        .unwrap_or_default();
    if matches!(suggested, Suggested::Answer) && !answerable.is_empty() {
        return answered_by(&answerable, thread, where_to);
    }
    let waiting = loaded.map(Waiting::new);
    let named = match suggested {
        Suggested::Answer => None,
        Suggested::Resume(assistant) => assistant,
    };
    let assistant = match (named, &waiting) {
        (Some(named), _) => Some(named.to_string()),
        (None, Some(waiting)) => waiting.assistant(server).await,
        (None, None) => None,
    };
    let assistant = assistant.unwrap_or_else(|| "ASSISTANT".into());
    let command = |options: &str| {
        format!(
            "runtail{where_to} run {} --thread {} {options}",
            shell_word(&assistant),
            shell_word(thread)
        )
    };
    let status = waiting.map(|waiting| waiting.status).unwrap_or_default();
    if let ThreadStatus::Paused { next, after, .. } = &status {
        let place = if *after { "after a node" } else { "before" };
        let nodes = if *after {
            String::new()
        } else {
            format!(" {}", text::clean(&next.join(", ")))
        };
        return vec![
            format!("runtail: paused at a breakpoint {place}{nodes}"),
            format!("  To continue: {}", command("--input null")),
        ];
    }
    let questions = status.questions();
    if questions.is_empty() {
        let question = detail
            .map(|detail| format!(": {detail}"))
            .unwrap_or_default();
        return vec![
            format!("runtail: Waiting for input{question}"),
            format!("  To answer: {}", command("--resume JSON")),
        ];
    }
    if questions
        .iter()
        .any(|question| !question.actions().is_empty())
    {
        return answered_by(questions, thread, where_to);
    }
    let mut lines: Vec<String> = questions.iter().map(asked).collect();
    let ids: Vec<&str> = questions
        .iter()
        .filter_map(|question| question.id.as_deref())
        .collect();
    let answer = match ids.len() == questions.len() {
        true => {
            let answers: Vec<String> = ids
                .iter()
                .map(|id| format!("\"{}\": ANSWER", text::clean(id)))
                .collect();
            shell_word(&format!("{{{}}}", answers.join(", ")))
        }
        false if questions.len() > 1 => {
            lines.push("  Questions without an id can't be answered while others are open.".into());
            return lines;
        }
        false => "ANSWER".into(),
    };
    lines.push(format!(
        "  To answer, replacing ANSWER with JSON: {}",
        command(&format!("--resume {answer}"))
    ));
    lines
}

/// Returns each question and the command that answers it, and that which answers all calls that wait together.
fn answered_by(questions: &[Question], thread: &str, where_to: &str) -> Vec<String> {
    let command = |questions: &[Question]| answer_command(questions, where_to, thread);
    let mut lines = Vec::new();
    for question in questions {
        lines.push(asked(question));
        let is_named = questions.len() == 1 || question.resume_id().is_some();
        let command = command(std::slice::from_ref(question)).filter(|_| is_named);
        lines.push(command.map_or(UNNAMED.into(), |command| format!("  To answer: {command}")));
    }
    let all = command(questions)
        .filter(|command| questions.len() > 1 && !command.contains(" --interrupt"));
    lines.extend(all.map(|command| format!("  To answer all: {command}")));
    lines
}

/// Formats a question with its id, shortened.
fn asked_short(question: &Question) -> String {
    let id = question.id.as_deref().map(text::clean).unwrap_or_default();
    format!(
        "{id} ({})",
        text::fit(&text::clean(&question.summary()), 60)
    )
}

/// Formats a question with its id, in one line.
fn asked(question: &Question) -> String {
    let value = match &question.value {
        _ if !question.actions().is_empty() => question.summary(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let value = text::clean(&value).into_owned();
    let mut short: String = value.chars().take(QUESTION).collect();
    if short.len() < value.len() {
        short.push('…');
    }
    match &question.id {
        Some(id) => format!("runtail: Waiting for input {}: {short}", text::clean(id)),
        None => format!("runtail: Waiting for input: {short}"),
    }
}
