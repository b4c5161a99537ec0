//! `tail T`: follows everything that runs on a thread.

use crate::output::stream::{self, Playing, StreamOutput};
use crate::prelude::*;
use clap::builder::PossibleValuesParser;
use runtail_stream::{Head, RunFollowing, SourceOptions, THREAD_MODES, follow_thread};

/// Options of `tail`.
#[derive(Debug, Args)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// What to stream (repeatable): everything that runs stream, only the start and end of runs, or manual state edits
    #[arg(
        long = "mode",
        value_name = "M",
        value_delimiter = ',',
        default_value = "run_modes",
        value_parser = PossibleValuesParser::new(THREAD_MODES)
    )]
    modes: Vec<String>,
    /// Start after the event with this id; - replays everything that the server still has (default: only new events)
    #[arg(long, value_name = "ID|-", allow_hyphen_values = true)]
    since: Option<String>,
    /// On servers without thread streams: read runs even if that takes events away from the application that reads them
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    output: StreamOutput,
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let signals = Signals::listen();
    let context = Context::load(globals)?;
    let resolved = async { resolve::agent_server(&context).await };
    let (_, server) = signals.unless_stopped(resolved).await?;
    let Options {
        thread,
        modes,
        since,
        shared,
        output,
    } = options;
    let head = Head {
        server: server.base().to_string(),
        thread_id: Some(thread.clone()),
        modes: modes.clone(),
        ..Head::default()
    };
    let source = stream::source(&context, &signals, head);
    let source = SourceOptions {
        first_after: since,
        ..source
    };
    let stop = source.stop.clone();
    let server = server.retrying(Retry::NONE);
    let following = RunFollowing {
        shared,
        ..RunFollowing::default()
    };
    let playing = Playing {
        context: &context,
        server: server.clone(),
        assistant: None,
        output: &output,
        signals: &signals,
        runs_before_answer: None,
    };
    let follow = |sender| follow_thread(server, thread, modes, following, source, sender);
    stream::print(playing, follow, stop, true).await
}
