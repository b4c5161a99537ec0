//! `fork T`: runs again from a checkpoint.

use crate::prelude::*;
use runtail_api::{ForkChange, StateEdit};

/// Options of `fork`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The checkpoint to run from (default: the newest); `threads history T` lists them
    #[arg(long, value_name = "C", value_parser = filled)]
    checkpoint: Option<String>,
    /// Start the graph again with this input, on the checkpoint's state; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    input: Option<String>,
    /// Edit the checkpoint's state first: the keys to write; @FILE and - as for --input
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        allow_hyphen_values = true,
        conflicts_with = "input"
    )]
    update: Option<String>,
    /// Edit in the name of this node, which decides what runs next (default: the node that wrote last)
    #[arg(long, value_name = "NODE", value_parser = filled, requires = "update")]
    as_node: Option<String>,
    /// Wait until the run has ended; exit codes as for `run`
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    #[command(flatten)]
    sending: Sending,
}

const NOTES: &str = "\
Without --input and --update, the nodes that were next at the checkpoint run again. A new branch of the thread's history begins \
there, and its newest state is from then on the thread's state; the other branches stay in the history. The preview says which \
nodes certainly run, what likely follows, which calls are repeated, and which open question leaves the thread's head. --dry-run \
prints it with the exact requests; in its JSON, `branch` has the steps.

The checkpoint, the keys of --update and the node are checked first, because servers accept unknown ones. --update takes two \
requests: the edit, then the run. If the second fails, the error names the checkpoint that the first one made. The graph's \
reducers apply an edit on the server, so its result is known only afterwards.

The result has `thread_id`, `run_id`, `assistant_id` and `checkpoint_id` (where the run starts: with --update the new \
checkpoint); with --wait also `outcome`, as at the end of a stream, and `detail`.

Exit codes: 0 sent · 1 no such checkpoint, nothing would run, a run is active, the thread changed, or the server refused · 2 an \
unknown key or node, or not JSON · 3 not allowed, or read-only · 5 the reply was lost; with --wait those of `run`.";

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let Options {
        thread,
        checkpoint,
        input,
        update,
        as_node,
        wait,
        sending,
    } = options;
    let change = match (input, update) {
        (Some(input), _) => ForkChange::Input(input::json("--input", &input).await?),
        (None, Some(update)) => {
            let values = input::json("--update", &update).await?;
            ForkChange::Edit(StateEdit {
                checkpoint: checkpoint.clone(),
                values,
                as_node,
            })
        }
        (None, None) => ForkChange::Nothing,
    };
    act::on_thread(
        globals,
        ThreadIntent::Fork {
            thread,
            checkpoint,
            change,
        },
        &sending,
        wait,
    )
    .await
}
