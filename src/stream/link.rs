//! The links to a real agent server: a run that we start, a run that we join, the stream of a whole thread.

use super::modes::{RunTerms, reopening_refused, run_gives};
use super::pump::pumped;
use super::terms::{Link, Notice, Opened, Past, Verdict};
use super::{Outcome, error_text};
use crate::api::{AgentServer, ApiError, EventStream, Kind, Place, ServerKind};
use crate::model::{Run, RunCreate, Thread};
use futures::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;

/// The id that asks a run's stream for everything.
const FROM_THE_START: &str = "-1";
/// Events of a run that no mode is about.
const ALWAYS: [&str; 2] = ["metadata", "error"];
/// The note on a run by which it is found again.
const MARK: &str = "runtail";
/// Runs that are looked through for our mark: it is the newest, but for what others started meanwhile.
const RUNS_LOOKED_AT: usize = 20;
/// How often a run whose start was not answered is looked for.
const LOOKS: u32 = 4;
/// How often, and how far apart, a thread that is still busy is looked at again.
const SETTLING: u32 = 3;
const SETTLING_WAIT: Duration = Duration::from_millis(150);
/// Characters of an interrupt's question that are told with the outcome.
const QUESTION: usize = 160;

impl From<EventStream> for Opened {
    fn from(stream: EventStream) -> Opened {
        let EventStream { status, run_id, thread_id, answered, body } = stream;
        Opened { status, thread_id, run_id, answered, past: Past::Unknown, body }
    }
}

impl Opened {
    /// The same, with a body that is read ahead on a task of its own.
    pub(super) fn read_ahead(self) -> Opened {
        Opened { body: pumped(self.body).boxed(), ..self }
    }
}

/// On which thread a run is started.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// On this one.
    Thread(String),
    /// On a new one, which is created first.
    NewThread,
    /// On none: such a run cannot be found or joined again.
    Stateless,
}

/// A run that we start. The request that starts it is sent once: where its answer is lost, the run is looked for by a
/// mark in its metadata.
#[derive(Debug)]
pub struct RunLink {
    server: AgentServer,
    thread: Option<String>,
    /// The new thread is not there yet.
    to_create: bool,
    /// The thread is ours: it was made for this run.
    made: bool,
    body: RunCreate,
    mark: String,
    start: Start,
    /// The modes that later connections ask for; none means all that the run was started with.
    modes: Vec<String>,
    kind: Option<ServerKind>,
    notice: Option<Notice>,
}

#[derive(Debug)]
enum Start {
    /// Not sent, or refused by an answer that leaves no doubt.
    Unsent,
    /// Sent, and no answer came: the run may exist.
    InDoubt { looks: u32 },
    /// Answered, but without the run's id.
    Unnamed,
    /// The run exists.
    Run(String),
}

impl RunLink {
    /// A link that starts this run. It is made resumable and never cancelled by our leaving.
    pub fn new(server: AgentServer, target: Target, mut body: RunCreate) -> RunLink {
        let mark = uuid::Uuid::new_v4().to_string();
        body.stream_resumable = true;
        body.on_disconnect = Some("continue".into());
        match &mut body.metadata {
            Some(Value::Object(notes)) => {
                notes.insert(MARK.into(), json!(mark));
            }
            other => *other = Some(json!({ MARK: mark })),
        }
        let to_create = target == Target::NewThread;
        let thread = match target {
            Target::Thread(id) => Some(id),
            // An id of our own makes creating it something that may be asked for twice.
            Target::NewThread => Some(uuid::Uuid::now_v7().to_string()),
            Target::Stateless => None,
        };
        RunLink {
            server,
            thread,
            to_create,
            made: false,
            body,
            mark,
            start: Start::Unsent,
            modes: Vec::new(),
            kind: None,
            notice: None,
        }
    }

    /// The thread that the run is started on; none for a stateless run.
    pub fn thread_id(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    async fn send(&mut self) -> Result<Opened, ApiError> {
        self.start = Start::InDoubt { looks: 0 };
        match self.server.start_run(self.thread.as_deref(), &self.body).await {
            Ok(stream) => {
                self.start = stream.run_id.clone().map_or(Start::Unnamed, Start::Run);
                let thread_id = stream.thread_id.clone().or(self.thread.clone());
                Ok(Opened { thread_id, ..stream.into() }.read_ahead())
            }
            Err(error) if error.is_refusal() => {
                self.start = Start::Unsent;
                if self.made && !error.is_transient() {
                    self.unmake().await;
                }
                Err(error)
            }
            Err(error) => self.look(error).await,
        }
    }

    /// Takes back the thread that was made for a run that the server does not want, so that nothing is left behind.
    async fn unmake(&mut self) {
        if let Some(thread) = &self.thread {
            // A server that cannot delete keeps it; the refusal is what matters.
            let _ = self.server.delete_thread(thread).await;
        }
        self.made = false;
        self.to_create = true;
    }

    /// Looks for the run whose start was not answered, and joins it. `lost` is what happened to the answer.
    async fn look(&mut self, lost: ApiError) -> Result<Opened, ApiError> {
        let Some(thread) = self.thread.clone() else {
            return Err(ApiError {
                kind: Kind::Refused,
                detail: format!("{}; a stateless run cannot be looked for, it may be running", lost.detail),
                ..lost
            });
        };
        let found = self.find(&thread).await.map_err(|error| ApiError {
            detail: format!("{}; whether the run began is not known", error.detail),
            ..error
        })?;
        if let Some(run) = found {
            self.start = Start::Run(run.clone());
            let opened = self.join(&thread, &run, Some(FROM_THE_START)).await?;
            // The source asked for a start, and gets a past: what the server says twice of that has to be known as such.
            self.notice = Some(Notice::Replays { answered: opened.answered });
            return Ok(opened);
        }
        let looks = if let Start::InDoubt { looks } = &mut self.start {
            *looks += 1;
            *looks
        } else {
            LOOKS
        };
        if looks < LOOKS {
            // It may only not be listed yet.
            return Err(ApiError { kind: Kind::Network, ..lost });
        }
        Err(ApiError {
            kind: Kind::Refused,
            detail: format!("{}; the thread has no run with our mark, so it seems that it never began", lost.detail),
            hint: Some("nothing was sent twice: start it again if it is still wanted".into()),
            ..lost
        })
    }

    async fn find(&self, thread: &str) -> Result<Option<String>, ApiError> {
        let runs = self.server.runs(thread, RUNS_LOOKED_AT).await?;
        let is_ours = |run: &&Run| run.metadata.as_ref().is_some_and(|m| m[MARK] == self.mark.as_str());
        Ok(runs.iter().find(is_ours).map(|run| run.run_id.clone()))
    }

    async fn join(&mut self, thread: &str, run: &str, after: Option<&str>) -> Result<Opened, ApiError> {
        let asked = asked_modes(&self.server, &mut self.kind, &self.modes).await?;
        let stream = self.server.join_run(thread, run, &asked, after).await?;
        Ok(Opened { thread_id: Some(thread.into()), run_id: Some(run.into()), ..stream.into() }.read_ahead())
    }
}

impl Link for RunLink {
    async fn connect(&mut self, after: Option<&str>) -> Result<Opened, ApiError> {
        if self.to_create {
            let body = json!({"thread_id": self.thread, "if_exists": "do_nothing"});
            let thread = self.server.create_thread(&body).await?;
            self.thread = Some(thread.thread_id);
            self.to_create = false;
            self.made = true;
        }
        match (&self.start, self.thread.clone()) {
            (Start::Unsent, _) => self.send().await,
            (Start::Run(run), Some(thread)) => {
                let run = run.clone();
                self.join(&thread, &run, after).await
            }
            (Start::Unnamed, Some(thread)) => match self.find(&thread).await? {
                Some(run) => {
                    let opened = self.join(&thread, &run, after).await;
                    self.start = Start::Run(run);
                    opened
                }
                None => Err(refused("the server never told the run's id, and it is not in the thread's list")),
            },
            (Start::InDoubt { .. }, _) => self.look(refused("the request that starts the run was not answered")).await,
            (Start::Run(_) | Start::Unnamed, None) => Err(refused("a stateless run cannot be joined again")),
        }
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        let Some(thread) = self.thread.clone() else { return Ok(Verdict::Untold) };
        if matches!(self.start, Start::Unnamed) {
            match self.find(&thread).await? {
                Some(run) => self.start = Start::Run(run),
                None => return Ok(Verdict::Untold),
            }
        }
        match &self.start {
            Start::Run(run) => verdict(&self.server, &thread, run, &mut self.kind).await,
            _ => Ok(Verdict::Untold),
        }
    }

    fn everything(&self) -> Option<&'static str> {
        self.thread.as_ref().map(|_| FROM_THE_START)
    }

    fn beats(&self) -> bool {
        self.kind == Some(ServerKind::Python)
    }

    async fn may_reopen(&mut self) -> Result<(), String> {
        if self.thread.is_none() {
            return Err("a stateless run cannot be joined again".into());
        }
        let terms = RunTerms::of_request(&self.body);
        may_reopen(&self.server, &mut self.kind, Some(&terms)).await
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.modes = modes;
    }

    fn gives(&self, name: &str) -> bool {
        run_gives(&self.modes, name)
    }

    fn gives_all(&self) -> bool {
        self.modes.is_empty()
    }

    fn first_event(&self) -> Option<&'static str> {
        Some(ALWAYS[0])
    }

    fn terms(&self) -> Option<RunTerms> {
        Some(RunTerms::of_request(&self.body))
    }

    fn notice(&mut self) -> Option<Notice> {
        self.notice.take()
    }
}

/// A run that somebody started, joined. To have what it said so far, ask for what comes after `-1`.
#[derive(Debug)]
pub struct JoinLink {
    server: AgentServer,
    thread: String,
    run: String,
    modes: Vec<String>,
    checked: bool,
    /// What the next connection sends of the time before it.
    past: Past,
    terms: Option<RunTerms>,
    kind: Option<ServerKind>,
}

impl JoinLink {
    /// A link to this run; no modes means all that it was started with.
    pub fn new(server: AgentServer, thread: String, run: String, modes: Vec<String>) -> JoinLink {
        JoinLink { server, thread, run, modes, checked: false, past: Past::Unknown, terms: None, kind: None }
    }
}

impl Link for JoinLink {
    async fn connect(&mut self, after: Option<&str>) -> Result<Opened, ApiError> {
        if !self.checked {
            // An unknown run is answered with 200 and an error inside the stream.
            match self.server.run(&self.thread, &self.run).await {
                Ok(run) => {
                    self.terms = RunTerms::of_run(&run);
                    self.past = match &*run.status {
                        "pending" => Past::Nothing,
                        _ if run.is_active() => Past::Unknown,
                        _ => Past::Everything,
                    };
                }
                Err(error) if is_unasked(&self.server, &mut self.kind, &error).await? => {}
                Err(error) => return Err(error),
            }
            self.checked = true;
        }
        let asked = asked_modes(&self.server, &mut self.kind, &self.modes).await?;
        let stream = self.server.join_run(&self.thread, &self.run, &asked, after).await?;
        let (thread_id, run_id) = (Some(self.thread.clone()), Some(self.run.clone()));
        let past = self.past;
        if past == Past::Nothing {
            // A later connection gets what it missed.
            self.past = Past::Unknown;
        }
        Ok(Opened { thread_id, run_id, past, ..stream.into() }.read_ahead())
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        verdict(&self.server, &self.thread, &self.run, &mut self.kind).await
    }

    fn beats(&self) -> bool {
        self.kind == Some(ServerKind::Python)
    }

    async fn may_reopen(&mut self) -> Result<(), String> {
        may_reopen(&self.server, &mut self.kind, self.terms.as_ref()).await
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.modes = modes;
    }

    fn gives(&self, name: &str) -> bool {
        run_gives(&self.modes, name)
    }

    fn gives_all(&self) -> bool {
        self.modes.is_empty()
    }

    fn first_event(&self) -> Option<&'static str> {
        Some(ALWAYS[0])
    }

    fn terms(&self) -> Option<RunTerms> {
        self.terms.clone()
    }
}

/// How these modes of a run are asked for. On the Python server a filter lets only what it names through: its beginning,
/// a new attempt and its error are asked for beside them. Other servers may take these for modes that there are not.
async fn asked_modes(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    modes: &[String],
) -> Result<Vec<String>, ApiError> {
    let mut asked = modes.to_vec();
    if !asked.is_empty() && kind(server, known).await? == ServerKind::Python {
        asked.extend(ALWAYS.map(str::to_string));
    }
    Ok(asked)
}

/// Whether a run's stream may be opened once more while it is open.
async fn may_reopen(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    terms: Option<&RunTerms>,
) -> Result<(), String> {
    let kind = kind(server, known).await.map_err(|e| format!("which server this is could not be asked: {e}"))?;
    reopening_refused(kind, terms).map_or(Ok(()), |why| Err(why.to_string()))
}

fn refused(detail: &str) -> ApiError {
    ApiError { kind: Kind::Refused, at: Place::default(), detail: detail.into(), hint: None }
}

/// Which software answers; asked once.
pub(super) async fn kind(server: &AgentServer, known: &mut Option<ServerKind>) -> Result<ServerKind, ApiError> {
    match known {
        Some(kind) => Ok(*kind),
        None => Ok(*known.insert(server.info().await?.kind)),
    }
}

/// Whether an answer says that there is no such call rather than no such thing: a server that tells nothing of itself may
/// offer no more than the contract names, where neither threads nor runs can be asked for.
pub(super) async fn is_unasked(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    error: &ApiError,
) -> Result<bool, ApiError> {
    Ok(matches!(error.kind, Kind::NotFound | Kind::Status(405)) && kind(server, known).await? == ServerKind::Other)
}

/// What became of a run.
async fn verdict(
    server: &AgentServer,
    thread: &str,
    run: &str,
    known: &mut Option<ServerKind>,
) -> Result<Verdict, ApiError> {
    let run = match server.run(thread, run).await {
        Ok(run) => run,
        Err(error) if is_unasked(server, known, &error).await? => return Ok(Verdict::Unasked),
        Err(error) if error.kind == Kind::NotFound => {
            return Ok(match server.thread(thread).await {
                // Cancelled with a rollback, which deletes it.
                Ok(_) => Verdict::Gone(Outcome::Cancelled, Some("the run is gone: rolled back or deleted".into())),
                Err(error) if error.kind == Kind::NotFound => {
                    let why = "the server knows neither the run nor its thread any more: started afresh, or deleted";
                    Verdict::Gone(Outcome::Unknown, Some(why.into()))
                }
                Err(error) => return Err(error),
            });
        }
        Err(error) => return Err(error),
    };
    Ok(match &*run.status {
        "pending" | "running" | "queued" | "streaming" => Verdict::Active,
        "success" | "completed" => match interrupt(&settled(server, thread).await?) {
            Some(question) => Verdict::Over(Outcome::Interrupted, question),
            None => Verdict::Over(Outcome::Success, None),
        },
        "error" | "failed" => {
            let told = thread_of(server, thread).await?.failure();
            // Aegra writes it on the run.
            let noted = run.extra.get("error_message").and_then(Value::as_str).map(String::from);
            Verdict::Over(Outcome::Error, told.or(noted))
        }
        "timeout" => Verdict::Over(Outcome::Timeout, None),
        "cancelled" | "canceled" => Verdict::Over(Outcome::Cancelled, None),
        // Cancelled, says this on Python and JavaScript; Aegra says the same of a run that stopped to ask.
        "interrupted" => match kind(server, known).await? {
            ServerKind::Python | ServerKind::JavaScript => Verdict::Over(Outcome::Cancelled, None),
            ServerKind::Aegra | ServerKind::Other => match asked(&server.thread_state(thread).await?) {
                Some(question) => Verdict::Over(Outcome::Interrupted, Some(question)),
                None => Verdict::Over(Outcome::Cancelled, None),
            },
        },
        other => Verdict::Over(Outcome::Unknown, Some(format!("the run's status is {}", crate::text::clean(other)))),
    })
}

/// The thread; a temporary one may be gone already.
async fn thread_of(server: &AgentServer, id: &str) -> Result<Thread, ApiError> {
    match server.thread(id).await {
        Err(error) if error.kind == Kind::NotFound => Ok(Thread::default()),
        other => other,
    }
}

/// The thread, once its status has followed that of its run; another run may keep it busy.
async fn settled(server: &AgentServer, id: &str) -> Result<Thread, ApiError> {
    for _ in 0..SETTLING {
        let thread = thread_of(server, id).await?;
        if thread.status != "busy" || !thread.waiting().is_empty() {
            return Ok(thread);
        }
        tokio::time::sleep(SETTLING_WAIT).await;
    }
    thread_of(server, id).await
}

/// Whether the thread waits, and for what.
fn interrupt(thread: &Thread) -> Option<Option<String>> {
    let first = thread.waiting().into_iter().next();
    (first.is_some() || thread.status == "interrupted").then(|| first.map(|i| question(&i.value)))
}

/// What a state asks for.
fn asked(state: &Value) -> Option<String> {
    let tasks = state["tasks"].as_array().into_iter().flatten().map(|task| &task["interrupts"]);
    let lists = std::iter::once(&state["interrupts"]).chain(tasks);
    lists.filter_map(Value::as_array).flatten().next().map(|i| question(&i["value"]))
}

fn question(value: &Value) -> String {
    let text = error_text(&value.to_string());
    let mut short: String = text.chars().take(QUESTION).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_waits_for() {
        let thread = |text| serde_json::from_str::<Thread>(text).unwrap();
        assert_eq!(interrupt(&thread(r#"{"thread_id":"t","status":"idle"}"#)), None);
        assert_eq!(interrupt(&thread(r#"{"thread_id":"t","status":"interrupted"}"#)), Some(None));
        let waiting =
            thread(r#"{"thread_id":"t","status":"interrupted","interrupts":{"x":[{"id":"1","value":"Go?"}]}}"#);
        assert_eq!(interrupt(&waiting), Some(Some("Go?".into())));
        assert_eq!(
            asked(&json!({"tasks":[{"interrupts":[]},{"interrupts":[{"value":{"q":1}}]}]})).as_deref(),
            Some("{\"q\":1}")
        );
        assert_eq!(asked(&json!({"tasks":[],"interrupts":[]})), None);
    }

    #[test]
    fn only_a_clear_answer_is_a_refusal() {
        let error = |kind| ApiError { kind, ..refused("x") };
        for kind in [Kind::Conflict, Kind::Invalid(vec![]), Kind::RateLimited(None), Kind::Status(400)] {
            assert!(error(kind).is_refusal());
        }
        for kind in [Kind::Server(502), Kind::Network, Kind::Timeout, Kind::Protocol, Kind::Status(408)] {
            assert!(!error(kind).is_refusal());
        }
    }
}
