//! `rerun T R`: runs the input of a run again.

use crate::prelude::*;

/// Options of `rerun`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The id of the run whose input runs again; `runs list T` lists them
    #[arg(value_name = "R")]
    run: String,
    /// Wait until the new run has ended; exit codes as for `run`
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    #[command(flatten)]
    sending: Sending,
}

const NOTES: &str = "\
The new run has the input and the options of the earlier one (configuration, context, breakpoints, stream modes), as far as the \
server recorded them, and starts on the thread's state as it is now. `fork` runs from an earlier state.

The result has `thread_id`, `run_id`, `assistant_id` and `rerun_of`; with --wait also `outcome`, as at the end of a stream, and \
`detail`.

Exit codes: 0 sent · 1 no such run, it had no input of its own, a run is active, the thread changed, or the server refused · 3 not \
allowed, or read-only · 5 the reply was lost; with --wait those of `run`.";

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let Options {
        thread,
        run,
        wait,
        sending,
    } = options;
    act::on_thread(globals, ThreadIntent::Rerun { thread, run }, &sending, wait).await
}
