//! What the stream commands share: a source is followed to its end, its records go to stdout and to a recording, trouble
//! goes to stderr, and the outcome becomes the exit code.

use crate::args::Globals;
use crate::commands::waiting;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{self, color, stream_text::Teller};
use crate::recorder::Recorder;
use crate::signals::Signals;
use clap::{Args, ValueEnum};
use runtail_api::{AgentServer, ApiError, Kind};
use runtail_core::text;
use runtail_stream::projection::is_start;
use runtail_stream::{Chain, Data, End, Event, Head, Item, Link, Outcome, Record, SourceOptions, follow, write_record};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Batches that may wait for a slow reader; then the source waits, and the server after it.
const BATCHES: usize = 8;
/// Bytes that are collected before they are written in the middle of a batch, and kept allocated after it.
const CHUNK: usize = 1 << 20;

/// How often a stream in which nothing happens looks whether its reader is still there.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// How a stream is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamFormat {
    /// For people; the default on a terminal.
    Text,
    /// One JSON object a record; the default elsewhere, and what `--record` writes.
    Jsonl,
    /// The data of each event as it was received, one a line.
    Raw,
}

/// The options that every stream has.
#[derive(Debug, Clone, Default, Args)]
pub struct StreamOutput {
    /// How to print (default: text on a terminal, else jsonl)
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    pub format: Option<StreamFormat>,
    /// Also write what `-o jsonl` prints to this new file, with a hash in each line (see `verify`); gzip where its name ends
    /// in .gz
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

impl StreamOutput {
    fn format(&self) -> StreamFormat {
        let suits = || if io::stdout().is_terminal() { StreamFormat::Text } else { StreamFormat::Jsonl };
        self.format.unwrap_or_else(suits)
    }
}

/// The options of a source, as the configuration wants them.
pub(crate) fn source(context: &Context, signals: &Signals, head: Head) -> SourceOptions {
    SourceOptions {
        head,
        max_event: usize::try_from(context.config.tape.max_event).unwrap_or(usize::MAX),
        stop: signals.stop.child_token(),
        ..SourceOptions::default()
    }
}

/// What a stream command prints, and where it comes from.
pub(crate) struct Playing<'a> {
    pub context: &'a Context,
    pub server: AgentServer,
    /// The assistant that the user named.
    pub assistant: Option<&'a str>,
    pub output: &'a StreamOutput,
    pub signals: &'a Signals,
}

/// Follows a run to its end.
pub(crate) async fn play(
    playing: Playing<'_>,
    link: impl Link + 'static,
    options: SourceOptions,
) -> Result<Exit, Failure> {
    let stop = options.stop.clone();
    let is_endless = link.capabilities().is_endless;
    print(playing, |sender| follow(link, options, sender), stop, is_endless).await
}

/// Prints what a source sends until it ends. `is_endless`: a stream that has no end of its own.
pub(crate) async fn print<F: Future<Output = ()> + Send + 'static>(
    playing: Playing<'_>,
    source: impl FnOnce(mpsc::Sender<Vec<Item>>) -> F,
    stop: CancellationToken,
    is_endless: bool,
) -> Result<Exit, Failure> {
    let Playing { context, output: wanted, .. } = playing;
    let recorder = wanted.record.as_deref().map(Recorder::create).transpose()?;
    let mut printer = Printer::new(wanted, context.globals.ascii, recorder);
    let (sender, mut batches) = mpsc::channel(BATCHES);
    // On a thread of its own, beside that of the connection: so the three of them share the work of a fast stream, and
    // reading goes on while this one writes.
    let runtime = tokio::runtime::Handle::current();
    let source = source(sender);
    let source = tokio::task::spawn_blocking(move || runtime.block_on(source));
    let mut seen = Seen::default();
    let mut look = tokio::time::interval(LOOK);
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
        if printer.is_closed() && !stop.is_cancelled() {
            if printer.recorder.as_ref().is_none_or(|r| !r.is_on()) {
                break;
            }
            // The recording gets its end.
            stop.cancel();
        }
    }
    drop(batches);
    let was_closed = printer.is_closed();
    let failure = printer.finish();
    if let Err(error) = source.await {
        return Err(Failure::new(Exit::Failed, format!("the stream broke off: {error}")));
    }
    match failure {
        Some(failure) => Err(failure),
        // A reader who has seen enough; the run goes on.
        None if was_closed => Ok(Exit::Done),
        None => seen.exit(is_endless, playing).await,
    }
}

/// Where a stream's items go.
pub(crate) struct Printer {
    format: StreamFormat,
    is_terminal: bool,
    teller: Teller,
    recorder: Option<Recorder>,
    /// The hashes of a recording's lines; what is printed beside it is the same.
    chain: Option<Chain>,
    /// Records as lines, for the recording, and for stdout where those are wanted there.
    lines: Vec<u8>,
    /// What goes to stdout otherwise.
    out: String,
    /// Why stdout takes no more.
    closed: Option<io::Error>,
    gaps: GapLines,
    /// It was said that the thread is followed by its runs.
    says_runs: bool,
}

impl Printer {
    /// A printer of what is wanted.
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

    /// Notices a reader who left before there was anything to write.
    fn look(&mut self) {
        if self.closed.is_none() && reader_left() {
            self.closed = Some(io::ErrorKind::BrokenPipe.into());
        }
    }

    /// Whether stdout takes no more.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Brings everything out and completes the recording. A failure is one of stdout other than that its reader left.
    pub fn finish(mut self) -> Option<Failure> {
        self.flush();
        self.recorder.take().into_iter().for_each(Recorder::finish);
        let error = self.closed.take().filter(|error| error.kind() != io::ErrorKind::BrokenPipe)?;
        Some(Failure::new(Exit::Failed, format!("cannot write to stdout: {error}")))
    }

    /// Takes the next item.
    pub fn item(&mut self, item: &Item) {
        if let Item::Record(record) = item {
            if self.format == StreamFormat::Jsonl || self.recorder.is_some() {
                let from = self.lines.len();
                // Into memory, where writing cannot fail.
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
            Item::Following { .. } => (!std::mem::replace(&mut self.says_runs, true))
                .then(|| "this server has no thread streams; following the thread's runs".to_string()),
            item => trouble(item),
        };
        if let Some(line) = line {
            if self.format == StreamFormat::Text {
                self.teller.end_line(&mut self.out);
            }
            self.flush();
            output::complain(&format!("runtail: {line}"));
        }
        if self.lines.len() + self.out.len() > CHUNK {
            self.flush();
        }
    }

    /// The data alone. Line ends in it are between tokens of JSON, or in what is no JSON; either way it stays one line.
    fn raw(&mut self, event: &Event) {
        match &event.data {
            Data::TooLarge { size, .. } => {
                let size = text::bytes(*size);
                output::complain(&format!("runtail: event {} is left out: {size} are more than max_event", event.seq));
            }
            Data::Json(data) | Data::Malformed(data) => {
                let is_json = matches!(event.data, Data::Json(_));
                for part in data.split(['\n', '\r']) {
                    self.out.push_str(&if self.is_terminal { text::clean(part) } else { part.into() });
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

    /// Brings everything to stdout and to the recording.
    pub fn flush(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.write(&self.lines);
        }
        if self.closed.is_none() {
            let written = match self.format {
                StreamFormat::Jsonl => write(text::json(&utf8(&self.lines)).as_bytes()),
                StreamFormat::Text => write(text::keys::without(&self.out).as_bytes()),
                StreamFormat::Raw => write(self.out.as_bytes()),
            };
            self.closed = written.err();
        }
        self.lines.clear();
        self.out.clear();
        // One event of 50 MB must not be paid for ever after.
        self.lines.shrink_to(2 * CHUNK);
        self.out.shrink_to(2 * CHUNK);
    }
}

/// The lines about gaps on stderr. Two readers of one run cause a gap at every other event; all are in the stream.
#[derive(Default)]
struct GapLines {
    /// The last one without its digits, and how many in a row were like it.
    last: String,
    alike: u32,
}

impl GapLines {
    /// Gaps in a row that are printed although they are alike.
    const PRINTED: u32 = 3;

    fn line(&mut self, why: &str) -> Option<String> {
        let shape: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
        self.alike = if shape == self.last { self.alike + 1 } else { 1 };
        self.last = shape;
        match self.alike {
            1..=Self::PRINTED => Some(format!("gap: {why}")),
            n if n == Self::PRINTED + 1 => {
                Some("gap: more gaps like this follow; the end record counts them all".into())
            }
            _ => None,
        }
    }
}

/// What is text already, without looking twice.
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

/// Whether stdout is a pipe that nobody reads any more.
#[cfg(unix)]
pub(crate) fn reader_left() -> bool {
    let mut stdout = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: one pollfd that lives over the call is passed, and with no time to wait the call returns at once.
    let ready = unsafe { libc::poll(&raw mut stdout, 1, 0) };
    ready == 1 && stdout.revents & libc::POLLERR != 0
}

#[cfg(not(unix))]
pub(crate) fn reader_left() -> bool {
    false
}

/// What of an item is trouble with the connection, in a line.
fn trouble(item: &Item) -> Option<String> {
    match item {
        Item::Retrying { attempt, wait, why, request, .. } => {
            let why = why.lines().next().unwrap_or_default();
            let place = if request.is_empty() { String::new() } else { format!(" · {request}") };
            Some(format!("{why}; attempt {attempt} in {}{place}", text::duration(*wait)))
        }
        Item::Record(Record::Open { conn, resumed_after, .. }) => {
            // A thread that is followed by its runs opens a connection for each of them.
            let is_resumed = resumed_after.as_deref().is_none_or(|id| !is_start(id));
            (*conn > 1 && is_resumed).then(|| "connected again".to_string())
        }
        Item::Silent { silent, .. } => {
            Some(format!("the server says that the run is active; no event for {}", text::duration(*silent)))
        }
        _ => None,
    }
}

/// What the exit code depends on.
#[derive(Default)]
struct Seen {
    offered: bool,
    thread: Option<String>,
    run: Option<String>,
    failed: Option<ApiError>,
    end: Option<End>,
}

impl Seen {
    fn note(&mut self, item: &Item) {
        match item {
            Item::Record(Record::Tape(head)) => {
                self.thread = head.thread_id.clone();
                self.run = head.run_id.clone();
            }
            Item::Started { thread_id, run_id } => {
                self.thread = thread_id.clone().or(self.thread.take());
                self.run = Some(run_id.clone());
            }
            Item::Failed(error) => self.failed = Some((**error).clone()),
            Item::Record(Record::End(end)) => self.end = Some(end.clone()),
            _ => {}
        }
    }

    /// What may be missing cannot be had again, but the state that it led to can. Said once.
    fn offer_state(&mut self, item: &Item, globals: &Globals) {
        if let (Item::Record(Record::Gap { .. }), Some(thread), false) = (item, &self.thread, self.offered) {
            let thread = text::clean(thread);
            output::complain(&format!(
                "  runtail{} threads state {thread} shows the state as it is now",
                globals.where_to()
            ));
            self.offered = true;
        }
    }

    /// Says on stderr what has to be said, and gives the code.
    async fn exit(self, is_endless: bool, playing: Playing<'_>) -> Result<Exit, Failure> {
        let Playing { context, server, assistant, signals, .. } = playing;
        let globals = &context.globals;
        let Some(end) = self.end else {
            return Err(Failure::new(Exit::Failed, "the stream broke off without an end"));
        };
        let say = |what: &str| {
            let detail = end.detail.as_deref().map(|d| format!(": {d}")).unwrap_or_default();
            output::complain(&format!("runtail: {what}{detail}"));
        };
        Ok(match end.outcome {
            Outcome::Success => Exit::Done,
            Outcome::Interrupted => {
                let Some(thread) = &self.thread else {
                    say("waiting for input");
                    return Ok(Exit::Done);
                };
                let where_to = globals.where_to();
                let hint = waiting::hint(&server, thread, assistant, end.detail.as_deref(), &where_to);
                // Who does not want to wait for the hint knows the outcome already.
                if let Ok(lines) = signals.unless_stopped(async { Ok(hint.await) }).await {
                    lines.iter().for_each(|line| output::complain(line));
                }
                Exit::Done
            }
            Outcome::Detached => {
                if let (Some(thread), Some(run), false) = (&self.thread, &self.run, is_endless) {
                    output::complain(&format!(
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
                say("the run ran out of time");
                Exit::Failed
            }
            Outcome::Cancelled => {
                say("the run was cancelled");
                Exit::Failed
            }
            Outcome::Unknown => match self.failed {
                Some(error) if error.kind == Kind::OneReader => {
                    return Err(Failure::new(Exit::Failed, format!("{error}\n  add --shared to read it anyway")));
                }
                Some(error) => return Err(Failure::new(gave_up(&error), error.to_string())),
                None => {
                    say("the stream ended, and the run's outcome is unknown");
                    if end.gaps > 0 { Exit::Network } else { Exit::Failed }
                }
            },
        })
    }
}

/// The code of what ended a source. A refusal by the source itself means an answer that was lost; what is wrong with the
/// configuration was found before.
fn gave_up(error: &ApiError) -> Exit {
    match error.kind {
        Kind::Refused => Exit::Network,
        _ => Exit::of(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_are_alike_are_printed_a_few_times() {
        let mut gaps = GapLines::default();
        let printed = (0..50).filter_map(|n| gaps.line(&format!("{n} event ids are missing here"))).count();
        assert_eq!(printed, 4);
        assert_eq!(gaps.line("the connection was lost").as_deref(), Some("gap: the connection was lost"));
        assert_eq!(gaps.line("1 event ids are missing here").as_deref(), Some("gap: 1 event ids are missing here"));
    }
}
