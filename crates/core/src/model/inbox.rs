//! The inbox: threads that wait for a person or have failed, and deployments whose newest revision failed.
//!
//! Everything here is pure, so that the command and the dashboard show the same rows in the same order.

mod shape;

use super::curl::quoted;
use super::thread_facts::{Question, ThreadFacts};
use super::{Action, DecisionKind, StuckSign, ThreadStatus, summary_of};
use crate::text;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::cmp::Ordering;

/// Maximum number of characters of an error in a row.
const MAX_ERROR: usize = 400;

/// Why a thread needs a person (acting reference §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InboxCause {
    /// It asks a question.
    Question,
    /// It stopped at a breakpoint.
    Breakpoint,
    /// Its newest run was cancelled, and steps are left.
    Cancelled,
    /// Its state was edited, and steps are left.
    Edited,
    /// Its newest run failed.
    Error,
    /// The server calls it busy, and none of its runs is active.
    Stuck,
}

impl InboxCause {
    /// Returns the word in JSON rows and tables.
    pub fn word(self) -> &'static str {
        match self {
            InboxCause::Question => "question",
            InboxCause::Breakpoint => "breakpoint",
            InboxCause::Cancelled => "cancelled",
            InboxCause::Edited => "edited",
            InboxCause::Error => "error",
            InboxCause::Stuck => "stuck",
        }
    }

    /// Returns its group.
    fn group(self) -> InboxGroup {
        match self {
            InboxCause::Question | InboxCause::Breakpoint => InboxGroup::Waiting,
            InboxCause::Error => InboxGroup::Failed,
            InboxCause::Stuck => InboxGroup::Stuck,
            InboxCause::Cancelled | InboxCause::Edited => InboxGroup::Unfinished,
        }
    }
}

/// What the rows of the inbox are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InboxGroup {
    /// A person is asked: a question, or a breakpoint.
    Waiting,
    Failed,
    Stuck,
    /// A person stopped or edited it and left steps to run, so no answer is needed.
    Unfinished,
}

impl InboxGroup {
    /// Returns the place of its rows in the inbox.
    pub fn rank(self) -> u8 {
        match self {
            InboxGroup::Waiting => 0,
            InboxGroup::Failed => 1,
            InboxGroup::Stuck => 2,
            InboxGroup::Unfinished => 3,
        }
    }
}

/// A thread that waits for a person or has failed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InboxThread {
    pub thread_id: String,
    /// The graph that ran on it first.
    pub graph: Option<String>,
    /// The assistant that ran on it first.
    pub assistant_id: Option<String>,
    /// The server's own word: `interrupted`, `error` or `busy`.
    pub status: String,
    /// Why it needs a person; none if the server's records don't say.
    pub cause: Option<InboxCause>,
    /// When it began to wait, or failed.
    pub since: Option<Timestamp>,
    /// Its open questions.
    pub questions: Vec<Question>,
    /// The first line of its error, the nodes that run if it is continued, or the evidence that it is stuck.
    pub detail: String,
    /// The person it belongs to, by its metadata.
    pub owner: Option<String>,
}

/// Returns before which nodes a thread stopped; empty if none follows.
fn before(next: &[String]) -> String {
    match next {
        [] => String::new(),
        nodes => format!("before {}", nodes.join(", ")),
    }
}

/// Says why a thread stopped without a question or an error, and where: `before a, b`, or empty.
fn stop_in_words(cause: Option<InboxCause>, place: &str) -> String {
    let (what, behind) = match cause {
        Some(InboxCause::Breakpoint) => ("Breakpoint", ""),
        Some(InboxCause::Cancelled) => ("Cancelled", ""),
        Some(InboxCause::Edited) => ("Edited", ", not continued"),
        _ => ("Interrupted", "; the cause is not known"),
    };
    let space = if place.is_empty() { "" } else { " " };
    format!("{what}{space}{place}{behind}")
}

/// Returns why a thread stopped without a question or an error, and the nodes that follow; `None` if it didn't.
fn stop_of(status: &ThreadStatus) -> Option<(Option<InboxCause>, &[String])> {
    Some(match status {
        ThreadStatus::Paused { next, .. } => (Some(InboxCause::Breakpoint), next),
        ThreadStatus::Cancelled { next, .. } => (Some(InboxCause::Cancelled), next),
        ThreadStatus::Edited { next, .. } => (Some(InboxCause::Edited), next),
        ThreadStatus::Stopped { next, .. } => (None, next),
        _ => return None,
    })
}

/// Says why a thread stopped although nodes follow, in the words of the inbox; `None` if it didn't, or has a question or an error.
pub fn stopped_in_words(status: &ThreadStatus) -> Option<String> {
    let (cause, next) = stop_of(status)?;
    (!next.is_empty()).then(|| stop_in_words(cause, &before(next)))
}

impl InboxThread {
    /// Says what it needs, in one line: its question or error, or why it stopped.
    pub fn needs_in_words(&self) -> String {
        match self.cause {
            _ if !self.questions.is_empty() => summary_of(&self.questions),
            Some(InboxCause::Breakpoint | InboxCause::Cancelled | InboxCause::Edited) | None => {
                stop_in_words(self.cause, &self.detail)
            }
            Some(InboxCause::Error) if self.detail.is_empty() => {
                "The server doesn't say why".into()
            }
            Some(InboxCause::Stuck) => text::capitalized(&self.detail),
            Some(InboxCause::Question | InboxCause::Error) => self.detail.clone(),
        }
    }

    /// Makes the row of a thread; nothing if the thread no longer needs anyone.
    pub fn new(thread_id: &str, facts: &ThreadFacts, status: &ThreadStatus) -> Option<InboxThread> {
        let (cause, detail) = match status {
            ThreadStatus::Waiting { .. } => (Some(InboxCause::Question), String::new()),
            // JavaScript keeps the status of a thread that an edit ended.
            ThreadStatus::Edited { next, .. } if next.is_empty() => return None,
            ThreadStatus::Failed { error, .. } => (Some(InboxCause::Error), first_line(error)),
            ThreadStatus::BusyWithoutRun { .. } => {
                (Some(InboxCause::Stuck), "busy, but no run is active".into())
            }
            other => {
                let (cause, next) = stop_of(other)?;
                (cause, before(next))
            }
        };
        Some(InboxThread {
            cause,
            since: status.time().or(facts.updated_at),
            questions: status.questions().to_vec(),
            detail,
            ..InboxThread::of(thread_id, facts)
        })
    }

    fn of(thread_id: &str, facts: &ThreadFacts) -> InboxThread {
        InboxThread {
            thread_id: thread_id.into(),
            graph: facts.graph_id.clone(),
            assistant_id: facts.assistant_id.clone(),
            status: facts.status.clone(),
            owner: facts.owner.clone(),
            ..InboxThread::default()
        }
    }

    /// Returns its group. A thread whose records don't say why it stopped may ask something, so it waits.
    pub fn group(&self) -> InboxGroup {
        self.cause.map_or(InboxGroup::Waiting, InboxCause::group)
    }

    /// Makes the row of a thread whose run is stuck.
    pub fn stuck(thread_id: &str, facts: &ThreadFacts, sign: &StuckSign) -> InboxThread {
        InboxThread {
            cause: Some(InboxCause::Stuck),
            since: sign.since().or(facts.updated_at),
            detail: sign.evidence(),
            ..InboxThread::of(thread_id, facts)
        }
    }

    /// Returns the command that answers the thread, continues it, or shows it. `options` select its server: ` -p p -d bot`.
    ///
    /// A breakpoint may stand before something that a person has to release, so the command that continues has a placeholder too. A
    /// cancelled run is not continued, because a person stopped it.
    fn command(&self, options: &str) -> String {
        let (words, end) = argument(&self.thread_id);
        let answer = answer_command(&self.questions, options, &self.thread_id);
        match (
            self.cause,
            answer,
            self.assistant_id.as_ref().or(self.graph.as_ref()),
        ) {
            (Some(InboxCause::Question), Some(command), _) => command,
            (Some(InboxCause::Breakpoint | InboxCause::Edited), _, Some(assistant)) => {
                let (assistant, last) = argument(assistant);
                let thread = shell_option(" --thread", &self.thread_id);
                format!("runtail{options} run{assistant}{thread} <--input null>{last}")
            }
            (Some(InboxCause::Stuck), ..) => format!("runtail{options} runs list{words}{end}"),
            _ => format!("runtail{options} threads get{words}{end}"),
        }
    }
}

/// Returns the command that answers a thread's questions, with everything but the decision: the decision is a placeholder that a
/// shell rejects, so that running the command unchanged sends nothing. It answers the first question that can be named, or all
/// calls that wait together. None where several questions have no id, because no command can answer one of them.
pub fn answer_command(questions: &[Question], options: &str, thread: &str) -> Option<String> {
    let (words, end) = argument(thread);
    if questions.len() > 1 && questions.iter().all(Question::is_per_call) {
        let decisions = decisions_for(
            &questions
                .iter()
                .flat_map(Question::actions)
                .collect::<Vec<_>>(),
        );
        if let Some(decisions) = decisions {
            return Some(format!("runtail{options} answer{words} {decisions}{end}"));
        }
    }
    let question = match questions {
        [only] => only,
        several => several
            .iter()
            .find(|question| question.resume_id().is_some())?,
    };
    let id = question
        .id
        .as_deref()
        .map(|id| shell_option(" --interrupt", id))
        .unwrap_or_default();
    Some(format!(
        "runtail{options} answer{words}{id} {}{end}",
        question.placeholder()
    ))
}

/// Returns the options that decide about all of these actions in the same way, in angle brackets.
fn decisions_for(actions: &[Action]) -> Option<String> {
    let all_allow =
        |kind: DecisionKind| actions.iter().all(|action| action.allowed.contains(&kind));
    let mut options: Vec<&str> = Vec::new();
    options.extend(all_allow(DecisionKind::Approve).then_some("--approve"));
    options.extend(
        (all_allow(DecisionKind::Reject) || all_allow(DecisionKind::Ignore)).then_some("--reject"),
    );
    (!options.is_empty()).then(|| format!("<{}>", options.join("|")))
}

impl Question {
    /// Returns the options of `answer` that fit, in angle brackets.
    fn placeholder(&self) -> String {
        let actions = self.actions();
        if let [first, others @ ..] = actions.as_slice() {
            return decisions_for(&actions).unwrap_or_else(|| {
                let takes_text =
                    others.is_empty() && first.allowed.contains(&DecisionKind::Respond);
                if takes_text {
                    "--text <TEXT>".into()
                } else {
                    "--json <JSON>".into()
                }
            });
        }
        match (
            self.unsupported(),
            &self.response_schema,
            self.is_yes_or_no(),
        ) {
            (None, Some(_), true) => "<--approve|--reject>".into(),
            (Some(_), ..) | (None, Some(_), false) => "--json <JSON>".into(),
            // It only looks like a yes-or-no question.
            (None, None, true) => "<--approve|--reject|--text TEXT>".into(),
            (None, None, false) => "--text <TEXT>".into(),
        }
    }
}

/// Returns a positional argument for a shell, to be written after the command and at its end: after `--` if it could be taken
/// for an option.
fn argument(word: &str) -> (String, String) {
    let quoted = shell_word(word);
    match text::clean(word).starts_with('-') {
        false => (format!(" {quoted}"), String::new()),
        true => (String::new(), format!(" -- {quoted}")),
    }
}

/// The newest revision of a deployment, which failed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FailedRevision {
    pub revision_id: String,
    /// The server's word, `BUILD_FAILED`.
    pub status: String,
    /// When it failed: its last change.
    pub since: Option<Timestamp>,
}

/// The subject of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum InboxItem {
    Thread(InboxThread),
    Revision(FailedRevision),
}

/// A row of the inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxRow {
    pub profile: String,
    pub region: Option<String>,
    /// The deployment, or the agent server of a profile without a control plane.
    pub deployment: String,
    pub item: InboxItem,
    /// The command that answers or shows it, quoted for a shell.
    pub command: String,
}

impl InboxRow {
    /// Makes a row. `options` select its server in a command, and start with a space: ` -p p -d bot`.
    pub fn thread(
        profile: &str,
        region: Option<&str>,
        deployment: &str,
        thread: InboxThread,
        options: &str,
    ) -> InboxRow {
        let command = thread.command(options);
        InboxRow {
            profile: profile.into(),
            region: region.map(String::from),
            deployment: deployment.into(),
            item: InboxItem::Thread(thread),
            command,
        }
    }

    /// Makes a row. `options` select its profile in a command, and start with a space; `deployment_word` is the deployment as
    /// an argument: its name, or its id where the name is not unique.
    pub fn revision(
        profile: &str,
        region: Option<&str>,
        (deployment, deployment_word): (&str, &str),
        revision: FailedRevision,
        options: &str,
    ) -> InboxRow {
        let ((word, end), id) = (argument(deployment_word), shell_word(&revision.revision_id));
        // Behind `--`, both arguments keep their order.

        let words = format!("{word}{end} {id}");
        InboxRow {
            profile: profile.into(),
            region: region.map(String::from),
            deployment: deployment.into(),
            command: format!("runtail{options} revisions explain{words}"),
            item: InboxItem::Revision(revision),
        }
    }

    /// Returns when it began to wait, or failed.
    pub fn since(&self) -> Option<Timestamp> {
        match &self.item {
            InboxItem::Thread(thread) => thread.since,
            InboxItem::Revision(revision) => revision.since,
        }
    }

    /// Returns its group.
    pub fn group(&self) -> InboxGroup {
        match &self.item {
            InboxItem::Thread(thread) => thread.group(),
            InboxItem::Revision(_) => InboxGroup::Failed,
        }
    }

    /// Returns its state in one or two words: `waiting`, `failed`, or the status of a revision.
    pub fn state(&self) -> &str {
        match &self.item {
            InboxItem::Revision(revision) => &revision.status,
            InboxItem::Thread(thread) => match thread.cause {
                Some(InboxCause::Question) => "waiting",
                Some(InboxCause::Breakpoint) => "paused",
                Some(InboxCause::Cancelled) => "cancelled",
                Some(InboxCause::Edited) => "state edited",
                Some(InboxCause::Error) => "failed",
                Some(InboxCause::Stuck) => "stuck",
                None => "interrupted",
            },
        }
    }

    /// Returns the question, the error, or the next nodes, in one line.
    pub fn needs(&self) -> String {
        match &self.item {
            InboxItem::Thread(thread) if thread.questions.is_empty() => thread.detail.clone(),
            InboxItem::Thread(thread) => summary_of(&thread.questions),
            InboxItem::Revision(_) => String::new(),
        }
    }

    /// Returns the row as JSON for other programs.
    pub fn to_json(&self) -> Value {
        let mut row = json!({
            "kind": "thread", "profile": self.profile, "region": self.region, "deployment": self.deployment,
            "thread_id": null, "revision_id": null, "graph": null, "assistant_id": null, "status": null, "cause": null,
            "since": self.since().map(|since| since.to_string()), "question": null, "interrupts": [], "detail": null,
            "command": self.command,
        });
        match &self.item {
            InboxItem::Thread(thread) => {
                row["thread_id"] = json!(thread.thread_id);
                row["graph"] = json!(thread.graph);
                row["assistant_id"] = json!(thread.assistant_id);
                row["status"] = json!(thread.status);
                row["cause"] = json!(thread.cause.map(InboxCause::word));
                if !thread.questions.is_empty() {
                    row["question"] = summary_of(&thread.questions).into();
                }
                let interrupt = |question: &Question| json!({"id": question.id, "value": question.value, "response_schema": question.response_schema});
                row["interrupts"] = thread.questions.iter().map(interrupt).collect();
                if !thread.detail.is_empty() {
                    row["detail"] = thread.detail.as_str().into();
                }
            }
            InboxItem::Revision(revision) => {
                row["kind"] = "revision".into();
                row["revision_id"] = json!(revision.revision_id);
                row["status"] = json!(revision.status);
                row["cause"] = InboxCause::Error.word().into();
            }
        }
        row
    }
}

/// Sorts rows: waiting ones first, then failed, stuck and unfinished ones. Failed ones are newest first, the others oldest first, and
/// rows without a time are last in their group.
pub fn sort_inbox(rows: &mut [InboxRow]) {
    rows.sort_by(compare_inbox);
}

/// Compares two rows in the order of the inbox.
pub fn compare_inbox(a: &InboxRow, b: &InboxRow) -> Ordering {
    let rank = |row: &InboxRow| (row.group().rank(), row.since().is_none());
    let by_time = a.since().cmp(&b.since());
    let by_time = match a.group() {
        InboxGroup::Failed => by_time.reverse(),
        _ => by_time,
    };
    rank(a).cmp(&rank(b)).then(by_time).then_with(|| {
        let names = [&a.profile, &a.deployment, &a.command];
        names.cmp(&[&b.profile, &b.deployment, &b.command])
    })
}

/// Quotes a word for a shell, without its control characters.
pub fn shell_word(word: &str) -> String {
    let word = text::clean(word);
    let is_plain = !word.is_empty()
        && !word.starts_with('-')
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./:@".contains(c));
    if is_plain {
        word.into_owned()
    } else {
        quoted(&word)
    }
}

/// Returns an option with its value for a shell: ` -p` or ` --profile`, with the space before it. A value that could be taken for
/// an option is joined by an equals sign.
pub fn shell_option(name: &str, value: &str) -> String {
    let separator = if text::clean(value).starts_with('-') {
        '='
    } else {
        ' '
    };
    format!("{name}{separator}{}", shell_word(value))
}

fn first_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty());
    text::short(line.unwrap_or_default(), MAX_ERROR)
}

#[cfg(test)]
mod tests;
