//! `tail T`: follows all that happens on a thread, whoever causes it.

use super::signals::Signals;
use super::stream_out::{self, StreamOutput};
use super::{Context, Exit, Failure, Globals, resolve};
use crate::api::Retry;
use crate::stream::{Head, SourceOptions, ThreadLink};
use clap::Args;
use clap::builder::PossibleValuesParser;

/// Options of `tail`.
#[derive(Debug, Args)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// What of the thread's stream (repeatable)
    #[arg(
        long = "mode",
        value_name = "M",
        value_delimiter = ',',
        default_value = "run_modes",
        value_parser = PossibleValuesParser::new(["run_modes", "lifecycle", "state_update"])
    )]
    modes: Vec<String>,
    /// Begin after the event with this id; - begins with all that the server still has (default: from now on)
    #[arg(long, value_name = "ID|-", allow_hyphen_values = true)]
    since: Option<String>,
    #[command(flatten)]
    output: StreamOutput,
}

pub(super) async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let signals = Signals::listen();
    let context = Context::load(globals)?;
    let resolved = async { resolve::agent_server(&context).await };
    let (_, server) = signals.unless_stopped(resolved).await?;
    let Options { thread, modes, since, output } = options;
    let head = Head {
        server: server.base().to_string(),
        thread_id: Some(thread.clone()),
        modes: modes.clone(),
        ..Head::default()
    };
    let source = stream_out::source(&context, &signals, head);
    let source = SourceOptions { first_after: since, ..source };
    let link = ThreadLink::new(server.retrying(Retry::NONE), thread, modes);
    stream_out::play(&context, link, source, &output, &signals).await
}
