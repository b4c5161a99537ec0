//! `run A`: starts a run and streams it.

use crate::act::not_started;
use crate::commands::run_options::{self, RunFlags};
use crate::commands::waiting::Waiting;
use crate::output::stream::{self, Playing, StreamOutput};
use crate::prelude::*;
use clap::builder::PossibleValuesParser;
use runtail_core::model::{Conflict, RunCreate, RunFacts};
use runtail_core::text::short_id;
use runtail_stream::{Head, RUN_MODES, RunTransport, Target, is_endpoint_missing};

/// Default modes: tokens, what each node did, and the resulting state.
const MODES: [&str; 3] = ["messages-tuple", "updates", "values"];

/// Options of `run`.
#[derive(Debug, Args)]
pub struct Options {
    /// The assistant: a graph's name, or an assistant's name or id
    #[arg(value_name = "A")]
    assistant: String,
    /// The graph's input; @FILE reads a file, - reads stdin
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        required_unless_present = "resume",
        conflicts_with = "resume",
        allow_hyphen_values = true
    )]
    input: Option<String>,
    /// Run on this thread (default: a new one)
    #[arg(long, value_name = "T")]
    thread: Option<String>,
    /// Run without a thread: nothing is saved, and the run can't be joined again
    #[arg(long, conflicts_with = "thread")]
    stateless: bool,
    /// Stream this mode (repeatable; default: messages-tuple, updates, values)
    #[arg(long = "mode", value_name = "M", value_delimiter = ',', value_parser = PossibleValuesParser::new(RUN_MODES))]
    modes: Vec<String>,
    /// Stream events of subgraphs too
    #[arg(long)]
    subgraphs: bool,
    /// Answer the interrupt that the thread is waiting at; @FILE and - as for --input
    #[arg(
        long,
        value_name = "JSON",
        requires = "thread",
        allow_hyphen_values = true
    )]
    resume: Option<String>,
    /// Preview the requests; send nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: StreamOutput,
    #[command(flatten)]
    flags: RunFlags,
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let signals = Signals::listen();
    let prepared = signals.unless_stopped(prepare(globals, &options)).await?;
    let Some(Prepared {
        context,
        server,
        head,
        link,
        runs_before_answer,
    }) = prepared
    else {
        return Ok(Exit::Done);
    };
    let source = stream::source(&context, &signals, head);
    let playing = Playing {
        context: &context,
        server,
        assistant: Some(&options.assistant),
        output: &options.output,
        signals: &signals,
        runs_before_answer: runs_before_answer.as_deref(),
    };
    stream::play(playing, link, source).await
}

/// A run that can be started.
struct Prepared {
    context: Context,
    server: AgentServer,
    head: Head,
    link: RunTransport,
    /// The thread's runs when its question was checked, if the run answers one.
    runs_before_answer: Option<Vec<RunFacts>>,
}

/// Does everything that can fail before anything is created on the server. Returns nothing for a dry run.
async fn prepare(globals: &Globals, options: &Options) -> Result<Option<Prepared>, Failure> {
    let (command, given) = match (&options.resume, &options.input) {
        (Some(answer), _) => (
            Some(json!({"resume": input::json("--resume", answer).await?})),
            None,
        ),
        (None, Some(given)) => (None, Some(input::json("--input", given).await?)),
        (None, None) => return Err(Failure::usage("--input or --resume is needed")),
    };
    let modes = match options.modes.as_slice() {
        [] => MODES.map(String::from).to_vec(),
        asked => asked.to_vec(),
    };
    let chosen = options.flags.read(modes, options.subgraphs).await?;
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    let sending = Sending {
        dry_run: options.dry_run,
        output: options.output.as_list(),
    };
    let mut act = Act {
        context: &context,
        site: &site,
        sending: &sending,
        approval: Approval::Quiet(None),
    };
    act.check_write()?;
    let assistant = resolve::assistant(&server, &options.assistant).await?;
    run_options::check_nodes(&server, &assistant, &chosen).await?;
    let mut body = RunCreate {
        command,
        ..chosen.body(&assistant, given)
    };
    let (mut over, mut runs_before_answer) = (None, None);
    let (target, place) = match &options.thread {
        Some(thread) => {
            runs_before_answer = check_thread(&server, thread, &mut body).await?;
            if chosen.conflict.is_some_and(Conflict::cancels) {
                let (thread, body) = (thread.clone(), Box::new(body.clone()));
                let intent = ThreadIntent::Start { thread, body };
                over = Some(server.plan_on_thread(&intent).await?);
            }
            let place = format!("on thread {}", short_id(thread));
            (Target::Thread(thread.clone()), place)
        }
        None if options.stateless => (Target::Stateless, "without a thread".into()),
        None => (Target::NewThread, "on a new thread".into()),
    };
    let title = format!("Start {} {place}", text::clean(&assistant));
    let head = Head {
        server: server.base().to_string(),
        thread_id: options.thread.clone(),
        modes: body.stream_mode.clone(),
        ..Head::default()
    };
    let server = server.retrying(Retry::NONE);
    let mut link = RunTransport::new(server.clone(), target, body);
    let mut preview = link.preview(title, sending.dry_run).await?;
    let ends = over.as_ref().is_some_and(|plan| {
        preview.notes.extend_from_slice(&plan.preview.notes);
        !plan.overtaken().is_empty()
    });
    if ends {
        act.approval = Approval::Yes(options.flags.yes);
    }
    if !act.confirm(&preview).await? {
        return Ok(None);
    }
    if let (Some(thread), Some(plan)) = (&options.thread, over.filter(|_| ends)) {
        let checked = plan.check_start().await;
        checked.map_err(|failed| not_started(failed, &globals.where_to(), thread))?;
    }
    Ok(Some(Prepared {
        context,
        server,
        head,
        link,
        runs_before_answer,
    }))
}

/// Checks that the thread exists, because some servers create unknown threads and others answer with an unrelated error,
/// and that it is waiting if it is to be answered. A server without the call reports an unknown thread itself. Returns the runs of
/// a thread that is to be answered.
async fn check_thread(
    server: &AgentServer,
    thread: &str,
    body: &mut RunCreate,
) -> Result<Option<Vec<RunFacts>>, Failure> {
    let read = if body.command.is_some() {
        Waiting::of(server, thread).await.map(Some)
    } else {
        server.thread(thread).await.map(|_| None)
    };
    match read {
        Ok(Some(waiting)) => {
            let kind = server.info().await?.kind;
            let refused = |why: String| Failure::failed(format!("nothing was sent: {why}"));
            if let Some(why) = waiting.refusal(kind, thread) {
                return Err(Failure::failed(why));
            }
            if let Some(why) = waiting.wrong_assistant(&body.assistant_id) {
                return Err(refused(why));
            }
            if let Some(answer) = body
                .command
                .as_mut()
                .and_then(|command| command.get_mut("resume"))
            {
                *answer = waiting.resume(answer.take()).map_err(refused)?;
                waiting
                    .cautions()
                    .for_each(|caution| complain(format!("! {caution}")));
            }
            // If two users answer, the second gets an error instead of a run that does nothing.
            body.extra
                .insert("multitask_strategy".into(), "reject".into());
            Ok(waiting.into_runs())
        }
        Ok(None) => Ok(None),
        Err(error) if is_endpoint_missing(server, &mut None, &error).await? => Ok(None),
        Err(error) => Err(error.into()),
    }
}
