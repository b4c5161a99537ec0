//! `join T R`: streams an existing run, with its earlier events if the server replays them.

use crate::output::stream::{self, Playing, StreamOutput};
use crate::prelude::*;
use clap::builder::PossibleValuesParser;
use runtail_stream::{Head, JoinTransport, RUN_MODES, SourceOptions};

/// The id before a run's first event.
const START: &str = "-1";

/// Options of `join`.
#[derive(Debug, Args)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The run's id
    #[arg(value_name = "R")]
    run: String,
    /// Only events of this mode (repeatable; default: all modes of the run)
    #[arg(long = "mode", value_name = "M", value_delimiter = ',', value_parser = PossibleValuesParser::new(RUN_MODES))]
    modes: Vec<String>,
    /// Read the run even if that takes events away from the application that reads it
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
        run,
        modes,
        shared,
        output,
    } = options;
    let head = Head {
        server: server.base().to_string(),
        thread_id: Some(thread.clone()),
        run_id: Some(run.clone()),
        modes: modes.clone(),
        ..Head::default()
    };
    let source = stream::source(&context, &signals, head);
    let source = SourceOptions {
        first_after: Some(START.into()),
        ..source
    };
    let server = server.retrying(Retry::NONE);
    let link = JoinTransport::new(server.clone(), thread, run, modes).shared(shared);
    let playing = Playing {
        context: &context,
        server,
        assistant: None,
        output: &output,
        signals: &signals,
        runs_before_answer: None,
    };
    stream::play(playing, link, source).await
}
