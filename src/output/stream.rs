//! Shared by the stream commands: follows a source to its end, writes records to stdout and to a recording, reports
//! connection errors on stderr, and turns the outcome into the exit code.

use crate::act::not_started;
use crate::commands::waiting::{self, Suggested};
use crate::output::stream_text::Teller;
use crate::prelude::*;
use crate::recorder::Recorder;
use runtail_core::model::{RunFacts, hides_cause, shell_word};
use runtail_core::secret;
use runtail_stream::projection::is_start;
use runtail_stream::{
    Chain, Data, End, Event, Head, Item, Outcome, Record, SourceOptions, Transport, error_text,
    follow, write_record,
};
use std::borrow::Cow;
use std::io::{self, Write};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Batches that may wait for a slow reader before the source, and then the server, has to wait.
const BATCHES: usize = 8;
/// Bytes to collect before writing in the middle of a batch, and to keep allocated after it.
const CHUNK: usize = 1 << 20;

/// Bytes of a cause on stderr; the `end` record has all of it.
const MAX_CAUSE: usize = 4 << 10;

/// How often a quiet stream checks whether its reader is still there.
pub const LOOK: Duration = Duration::from_secs(1);

/// Output format of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamFormat {
    /// For people; the default on a terminal.
    Text,
    /// One JSON object per record; the default elsewhere, and what `--record` writes.
    Jsonl,
    /// The data of each event as received, one event per line.
    Raw,
}

/// Options of every stream command.
#[derive(Debug, Clone, Default, Args)]
pub struct StreamOutput {
    /// How to print (default: text on a terminal, else jsonl)
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    pub format: Option<StreamFormat>,
    /// Also write what `-o jsonl` prints to this new file, with a hash in each line (see `verify`); gzip if its name ends
    /// in .gz
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

impl StreamOutput {
    /// Returns the option of a listing: a text is a table.
    pub fn as_list(&self) -> ResultOutput {
        let format = match self.format() {
            StreamFormat::Text => Format::Table,
            StreamFormat::Jsonl | StreamFormat::Raw => Format::Jsonl,
        };
        ResultOutput {
            format: Some(format),
        }
    }

    fn format(&self) -> StreamFormat {
        let suits = || {
            if io::stdout().is_terminal() {
                StreamFormat::Text
            } else {
                StreamFormat::Jsonl
            }
        };
        self.format.unwrap_or_else(suits)
    }
}

/// Returns the options of a source from the configuration.
pub fn source(context: &Context, signals: &Signals, head: Head) -> SourceOptions {
    SourceOptions {
        head,
        max_event: usize::try_from(context.config.event_log.max_event).unwrap_or(usize::MAX),
        stop: signals.stop.child_token(),
        ..SourceOptions::default()
    }
}

/// What a stream command prints, and its source.
pub struct Playing<'a> {
    pub context: &'a Context,
    pub server: AgentServer,
    /// The assistant that the user named.
    pub assistant: Option<&'a str>,
    pub output: &'a StreamOutput,
    pub signals: &'a Signals,
    /// The thread's runs before this one answered its question.
    pub runs_before_answer: Option<&'a [RunFacts]>,
}

/// Follows a run to its end.
pub async fn play(
    playing: Playing<'_>,
    link: impl Transport + 'static,
    options: SourceOptions,
) -> Result<Exit, Failure> {
    let stop = options.stop.clone();
    let is_endless = link.capabilities().is_endless;
    print(
        playing,
        |sender| follow(link, options, sender),
        stop,
        is_endless,
    )
    .await
}

/// Follows a run to its end and prints only connection problems. Returns the exit code, and how the run ended.
pub async fn wait(
    playing: Playing<'_>,
    link: impl Transport + 'static,
    options: SourceOptions,
) -> (Result<Exit, Failure>, Option<End>) {
    let (mut batches, ended) = begin(|sender| follow(link, options, sender));
    let mut seen = Seen::default();
    while let Some(items) = batches.recv().await {
        for item in &items {
            seen.note(item);
            if let Some(line) = trouble(item) {
                output::complain(format!("runtail: {line}"));
            }
        }
    }
    if let Err(failure) = ended.await {
        return (Err(failure), None);
    }
    let end = seen.end.clone();
    seen.suggests_answer = true;
    (seen.exit(false, playing).await, end)
}

/// Starts a source. Connection, source and printing have a thread each, so reading continues while this one writes.
fn begin<F: Future<Output = ()> + Send + 'static>(
    source: impl FnOnce(mpsc::Sender<Vec<Item>>) -> F,
) -> (
    mpsc::Receiver<Vec<Item>>,
    impl Future<Output = Result<(), Failure>>,
) {
    let (sender, batches) = mpsc::channel(BATCHES);
    let runtime = tokio::runtime::Handle::current();
    let source = source(sender);
    let source = tokio::task::spawn_blocking(move || runtime.block_on(source));
    let failed = |error| Failure::failed(format!("the stream failed: {error}"));
    (batches, async move { source.await.map_err(failed) })
}

/// Prints what a source sends until it ends. `is_endless` means that the stream has no end of its own.
pub async fn print<F: Future<Output = ()> + Send + 'static>(
    playing: Playing<'_>,
    source: impl FnOnce(mpsc::Sender<Vec<Item>>) -> F,
    stop: CancellationToken,
    is_endless: bool,
) -> Result<Exit, Failure> {
    let Playing {
        context,
        output: wanted,
        ..
    } = playing;
    let recorder = wanted.record.as_deref().map(Recorder::create).transpose()?;
    let mut printer = Printer::new(wanted, context.globals.ascii, recorder);
    let (mut batches, ended) = begin(source);
    let mut seen = Seen::default();
    let mut look = tokio::time::interval(LOOK);
    let (server, signals) = (playing.server.clone(), playing.signals);
    loop {
        let items = tokio::select! {
            biased;
            items = batches.recv() => match items {
                Some(items) => items,
                None => break,
            },
            _ = look.tick() => {
                printer.look();
                Vec::new()
            }
        };
        for item in &items {
            seen.note(item);
            printer.item(item);
            seen.offer_state(item, &context.globals);
        }
        printer.flush();
        // The end of a run's own stream has the cause.
        for item in items.iter().filter(|_| is_endless) {
            let read = async { Ok(seen.hidden_cause(item, &server).await) };
            if let Ok(Some(cause)) = signals.unless_stopped(read).await {
                output::complain(format!("runtail: the run failed: {}", short(&cause)));
            }
        }
        if printer.is_closed() && !stop.is_cancelled() {
            if printer.recorder.as_ref().is_none_or(|r| !r.is_on()) {
                break;
            }
            // Let the recording get its end record.
            stop.cancel();
        }
    }
    drop(batches);
    let was_closed = printer.is_closed();
    let failure = printer.finish();
    ended.await?;
    match failure {
        Some(failure) => Err(failure),
        // The reader closed the pipe; the run continues.
        None if was_closed => Ok(Exit::Done),
        None => seen.exit(is_endless, playing).await,
    }
}

/// Prints and records a stream's items.
pub struct Printer {
    format: StreamFormat,
    is_terminal: bool,
    teller: Teller,
    recorder: Option<Recorder>,
    /// The hashes of a recording's lines; the printed lines are the same.
    chain: Option<Chain>,
    /// Records as lines, for the recording, and for stdout with `-o jsonl`.
    lines: Vec<u8>,
    /// Output for stdout in other formats.
    out: String,
    /// The error of stdout, if it failed.
    closed: Option<io::Error>,
    gaps: GapLines,
    /// The notice that the thread is followed by its runs was printed.
    says_runs: bool,
}

impl Printer {
    /// Creates a printer.
    pub fn new(wanted: &StreamOutput, ascii: bool, recorder: Option<Recorder>) -> Printer {
        let is_terminal = io::stdout().is_terminal();
        Printer {
            format: wanted.format(),
            is_terminal,
            teller: Teller::new(is_terminal, ascii, color::is_on()),
            chain: recorder.is_some().then(Chain::default),
            recorder,
            lines: Vec::new(),
            out: String::new(),
            closed: None,
            gaps: GapLines::default(),
            says_runs: false,
        }
    }

    /// Completes when the reader has closed the pipe before anything was written.
    fn look(&mut self) {
        if self.closed.is_none() && reader_left() {
            self.closed = Some(io::ErrorKind::BrokenPipe.into());
        }
    }

    /// Whether stdout is closed.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Flushes everything and completes the recording. Fails if stdout failed, except for a closed pipe.
    pub fn finish(mut self) -> Option<Failure> {
        self.flush();
        self.recorder.take().into_iter().for_each(Recorder::finish);
        let error = self
            .closed
            .take()
            .filter(|error| error.kind() != io::ErrorKind::BrokenPipe)?;
        Some(Failure::failed(format!("cannot write to stdout: {error}")))
    }

    /// Handles the next item.
    pub fn item(&mut self, item: &Item) {
        if let Item::Record(record) = item {
            if self.format == StreamFormat::Jsonl || self.recorder.is_some() {
                let from = self.lines.len();
                // Writing to memory can't fail.
                let _ = write_record(&mut self.lines, record);
                if let Some(chain) = &mut self.chain {
                    chain.seal(&mut self.lines, from);
                }
            }
            if let (StreamFormat::Raw, Record::Event(event)) = (self.format, record) {
                self.raw(event);
            }
        }
        if self.format == StreamFormat::Text {
            self.teller.item(item, &mut self.out);
        }
        let line = match item {
            Item::Record(Record::Gap { why, .. }) => self.gaps.line(why),
            Item::Following { .. } => (!std::mem::replace(&mut self.says_runs, true)).then(|| {
                "this server has no thread streams; following the thread's runs".to_string()
            }),
            item => trouble(item),
        };
        if let Some(line) = line {
            if self.format == StreamFormat::Text {
                self.teller.end_line(&mut self.out);
            }
            self.flush();
            output::complain(format!("runtail: {line}"));
        }
        if self.lines.len() + self.out.len() > CHUNK {
            self.flush();
        }
    }

    /// Prints the data alone, as one line: line ends in it are between JSON tokens, or the data is not JSON.
    fn raw(&mut self, event: &Event) {
        match &event.data {
            Data::TooLarge { size, .. } => {
                let size = text::bytes(*size);
                output::complain(format!(
                    "runtail: event {} was skipped: {size} exceed max_event",
                    event.seq
                ));
            }
            Data::Json(data) | Data::Malformed(data) => {
                let is_json = matches!(event.data, Data::Json(_));
                for part in data.split(['\n', '\r']) {
                    self.out.push_str(&if self.is_terminal {
                        text::clean(part)
                    } else {
                        part.into()
                    });
                    if !is_json {
                        self.out.push(' ');
                    }
                }
                if !is_json {
                    self.out.pop();
                }
                self.out.push('\n');
            }
        }
    }

    /// Flushes to stdout and to the recording.
    pub fn flush(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.write(&self.lines);
        }
        if self.closed.is_none() {
            let written = match self.format {
                StreamFormat::Jsonl => write(text::json(&utf8(&self.lines)).as_bytes()),
                StreamFormat::Text => write(secret::keys::without(&self.out).as_bytes()),
                StreamFormat::Raw => write(self.out.as_bytes()),
            };
            self.closed = written.err();
        }
        self.lines.clear();
        self.out.clear();
        // Don't keep the memory of one 50 MB event.
        self.lines.shrink_to(2 * CHUNK);
        self.out.shrink_to(2 * CHUNK);
    }
}

/// Limits the lines about gaps on stderr, because two readers of one run cause a gap at every other event.
#[derive(Default)]
struct GapLines {
    /// The last one without its digits, and how many in a row were equal.
    last: String,
    alike: u32,
}

impl GapLines {
    /// Number of equal gaps in a row to print.
    const PRINTED: u32 = 3;

    fn line(&mut self, why: &str) -> Option<String> {
        let shape: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
        self.alike = if shape == self.last {
            self.alike + 1
        } else {
            1
        };
        self.last = shape;
        match self.alike {
            1..=Self::PRINTED => Some(format!("gap: {why}")),
            n if n == Self::PRINTED + 1 => {
                Some("gap: more gaps like this follow; the end record has the total".into())
            }
            _ => None,
        }
    }
}

/// Returns a text without checking it again.
fn utf8(lines: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(lines).map_or_else(|_| String::from_utf8_lossy(lines), Cow::Borrowed)
}

fn write(data: &[u8]) -> io::Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(data)?;
    out.flush()
}

/// Whether stdout is a pipe whose reader is gone.
#[cfg(unix)]
pub fn reader_left() -> bool {
    let mut stdout = libc::pollfd {
        fd: libc::STDOUT_FILENO,
        events: 0,
        revents: 0,
    };
    // SAFETY: the pollfd outlives the call, and a timeout of 0 makes it return at once.
    let ready = unsafe { libc::poll(&raw mut stdout, 1, 0) };
    // macOS and BSD report a hang-up.
    ready == 1 && stdout.revents & (libc::POLLERR | libc::POLLHUP) != 0
}

#[cfg(not(unix))]
pub fn reader_left() -> bool {
    false
}

/// Describes a connection problem in one line.
fn trouble(item: &Item) -> Option<String> {
    match item {
        Item::Retrying {
            attempt,
            wait,
            why,
            request,
            ..
        } => {
            let why = why.lines().next().unwrap_or_default();
            let place = if request.is_empty() {
                String::new()
            } else {
                format!(" · {request}")
            };
            Some(format!(
                "{why}; reconnecting {} (attempt {attempt}){place}",
                text::soon(*wait)
            ))
        }
        Item::Record(Record::Open {
            conn,
            resumed_after,
            ..
        }) => {
            // A thread that is followed by its runs opens one connection per run.
            let is_resumed = resumed_after.as_deref().is_none_or(|id| !is_start(id));
            (*conn > 1 && is_resumed).then(|| "reconnected".to_string())
        }
        Item::Silent { silent, .. } => Some(format!(
            "the server reports the run as active, but no event for {}",
            text::duration(*silent)
        )),
        _ => None,
    }
}

/// Returns the beginning of a cause, for a line on stderr.
fn short(cause: &str) -> String {
    let head = text::head(cause, MAX_CAUSE);
    if head.len() < cause.len() {
        format!("{head}…")
    } else {
        head.to_string()
    }
}

/// What decides the exit code.
#[derive(Default)]
struct Seen {
    offered: bool,
    thread: Option<String>,
    run: Option<String>,
    failed: Option<ApiError>,
    end: Option<End>,
    /// Whether the thread is followed by its runs, whose records then have the causes of failures.
    follows_runs: bool,
    /// Whether an error event hid its cause.
    hides_cause: bool,
    /// Whether a question is followed by the commands that answer it, and not by one that resumes the thread.
    suggests_answer: bool,
}

impl Seen {
    fn note(&mut self, item: &Item) {
        match item {
            Item::Record(Record::Head(head)) => {
                self.thread = head.thread_id.clone();
                self.run = head.run_id.clone();
            }
            Item::Started { thread_id, run_id } => {
                self.thread = thread_id.clone().or(self.thread.take());
                self.run = Some(run_id.clone());
            }
            Item::Failed(error) => self.failed = Some((**error).clone()),
            Item::Record(Record::End(end)) => self.end = Some(end.clone()),
            Item::Following { .. } => self.follows_runs = true,
            _ => {}
        }
    }

    /// Returns the cause of the failure of a thread's run, if its error event hides it.
    async fn hidden_cause(&mut self, item: &Item, server: &AgentServer) -> Option<String> {
        let found = match item {
            Item::Record(Record::Run(run)) if run.detail.is_some() => run
                .detail
                .clone()
                .filter(|_| std::mem::take(&mut self.hides_cause)),
            Item::Record(Record::Event(event)) if &*event.name == "metadata" => {
                let data: Value = serde_json::from_str(event.data.json()?).ok()?;
                self.run = data["run_id"]
                    .as_str()
                    .map(String::from)
                    .or(self.run.take());
                None
            }
            Item::Record(Record::Event(event))
                if &*event.name == "error" && event.ns.is_empty() =>
            {
                let text = error_text(event.data.text());
                self.hides_cause |= hides_cause(&text);
                if !hides_cause(&text) || self.follows_runs || event.replayed {
                    return None;
                }
                let run_id = self.run.clone().unwrap_or_default();
                let run = RunFacts {
                    run_id,
                    error: Some(text),
                    ..RunFacts::default()
                };
                server
                    .cause_of_run(self.thread.as_deref()?, &run)
                    .await
                    .ok()?
            }
            _ => None,
        };
        found.filter(|cause| !hides_cause(cause))
    }

    /// Prints once how to get the current state, because missing events can't be recovered.
    fn offer_state(&mut self, item: &Item, globals: &Globals) {
        if let (Item::Record(Record::Gap { .. }), Some(thread), false) =
            (item, &self.thread, self.offered)
        {
            let thread = shell_word(thread);
            output::complain(format!(
                "  runtail{} threads state {thread} shows the state as it is now",
                globals.where_to()
            ));
            self.offered = true;
        }
    }

    /// Prints the outcome on stderr and returns the exit code.
    async fn exit(self, is_endless: bool, playing: Playing<'_>) -> Result<Exit, Failure> {
        let Playing {
            context,
            server,
            assistant,
            signals,
            runs_before_answer,
            ..
        } = playing;
        let globals = &context.globals;
        let Some(end) = self.end else {
            return Err(Failure::failed("the stream stopped without an end"));
        };
        let say = |what: &str| {
            let detail = end
                .detail
                .as_deref()
                .map(|d| format!(": {}", short(d)))
                .unwrap_or_default();
            output::complain(format!("runtail: {what}{detail}"));
        };
        let is_good = matches!(end.outcome, Outcome::Success | Outcome::Interrupted);
        if let (true, Some(thread), Some(run)) = (is_good, &self.thread, &self.run) {
            let check = server.check_not_overtaken(thread, run, runs_before_answer);
            // The outcome is known, so a signal may end the check.
            if let Ok(Err(overtaken)) = signals.unless_stopped(async { Ok(check.await) }).await {
                return Err(not_started(overtaken, &globals.where_to(), thread));
            }
        }
        Ok(match end.outcome {
            Outcome::Success => Exit::Done,
            Outcome::Interrupted => {
                let Some(thread) = &self.thread else {
                    say("waiting for input");
                    return Ok(Exit::Done);
                };
                let where_to = globals.where_to();
                let suggested = if self.suggests_answer {
                    Suggested::Answer
                } else {
                    Suggested::Resume(assistant)
                };
                let hint =
                    waiting::hint(&server, thread, suggested, end.detail.as_deref(), &where_to);
                // The outcome is known, so a signal may end the wait for the hint.
                if let Ok(lines) = signals.unless_stopped(async { Ok(hint.await) }).await {
                    lines.iter().for_each(output::complain);
                }
                Exit::Done
            }
            Outcome::Detached => {
                if let (Some(thread), Some(run), false) = (&self.thread, &self.run, is_endless) {
                    let (thread, run) = (shell_word(thread), shell_word(run));
                    output::complain(format!(
                        "runtail: disconnected; the run continues\n  runtail{} join {thread} {run} streams it again",
                        globals.where_to()
                    ));
                }
                signals.exit()
            }
            Outcome::Error => {
                say("the run failed");
                Exit::Failed
            }
            Outcome::Timeout => {
                say("the run timed out");
                Exit::Failed
            }
            Outcome::Cancelled => {
                say("the run was cancelled");
                Exit::Failed
            }
            Outcome::Unknown => match self.failed {
                Some(error) if error.kind == Kind::OneReader => {
                    return Err(Failure::failed(format!(
                        "{error}\n  add --shared to read it anyway"
                    )));
                }
                Some(error) => {
                    let exit = match gave_up(&error) {
                        Exit::Failed if end.gaps > 0 => Exit::Network,
                        exit => exit,
                    };
                    return Err(Failure::new(exit, error.to_string()));
                }
                None => {
                    say("the stream ended; the run's outcome is unknown");
                    if end.gaps > 0 {
                        Exit::Network
                    } else {
                        Exit::Failed
                    }
                }
            },
        })
    }
}

/// Returns the exit code for a source's error. A refusal by the source itself means a lost answer, because configuration
/// errors were found before.
fn gave_up(error: &ApiError) -> Exit {
    match error.kind {
        Kind::Refused | Kind::NoKey => Exit::Network,
        _ => Exit::of(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_are_alike_are_printed_a_few_times() {
        let mut gaps = GapLines::default();
        let printed = (0..50)
            .filter_map(|n| gaps.line(&format!("{n} event ids are missing")))
            .count();
        assert_eq!(printed, 4);
        assert_eq!(
            gaps.line("the connection was lost").as_deref(),
            Some("gap: the connection was lost")
        );
        assert_eq!(
            gaps.line("1 event ids are missing").as_deref(),
            Some("gap: 1 event ids are missing")
        );
    }
}
