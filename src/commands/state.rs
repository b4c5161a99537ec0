//! `state set T`: edits the state of a thread.

pub mod editor;

use crate::prelude::*;
use runtail_api::StateEdit;

/// Commands for the state of a thread; `threads state` prints it.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Edit the state, without a run
    Set(Set),
}

/// Options of `state set`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Set {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The keys to write; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    values: Option<String>,
    /// Edit the values in $VISUAL or $EDITOR: only the keys that you change are sent, after a preview and your yes
    #[arg(long, conflicts_with = "values")]
    editor: bool,
    /// With --editor: don't ask before sending
    #[arg(long, requires = "editor")]
    yes: bool,
    /// Edit in the name of this node, which decides what runs next (default: the node that wrote last)
    #[arg(long, value_name = "NODE", value_parser = filled)]
    as_node: Option<String>,
    /// The checkpoint to edit (default: the newest); the thread's state is then the edited one
    #[arg(long, value_name = "C", value_parser = filled)]
    checkpoint: Option<String>,
    #[command(flatten)]
    sending: Sending,
}

const NOTES: &str = "\
The keys, the node and the checkpoint are checked first, because servers ignore unknown keys without an error. The graph's \
reducers apply the edit on the server: lists usually grow, and messages are replaced by id. An open question is no longer listed \
after an edit; continuing the thread asks it again.

--editor opens the values at the checkpoint as JSON, each key on lines of its own. The reducers apply each changed key as a whole: \
of a list that grows, leave only what is to be added. A key can't be removed. If the edited text can't be sent, it is kept in a \
file. Nothing is sent if the thread changed while you edited.

--values null --as-node __end__ ends a thread that stopped: nothing more runs. --values null alone releases a thread that is \
busy although none of its runs is active.

The result has `thread_id`, `checkpoint_id` (the new checkpoint) and `status` (the thread's status after the edit).

Exit codes: 0 done · 1 no such checkpoint, a run is active, the thread changed, or the server refused · 2 an unknown key or node, \
or not JSON · 3 not allowed, or read-only · 5 the reply was lost.";

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let Command::Set(Set {
        thread,
        values,
        editor,
        yes,
        as_node,
        checkpoint,
        sending,
    }) = command;
    let Some(values) = values else {
        if !editor {
            return Err(Failure::usage(
                "name the keys to write with --values '{\"key\": …}', or edit the state with --editor",
            ));
        }
        return editor::run(
            globals,
            editor::Edited {
                thread,
                checkpoint,
                as_node,
                yes: Yes { yes },
            },
            &sending,
        )
        .await;
    };
    let values = input::json("--values", &values).await?;
    let edit = StateEdit {
        checkpoint,
        values,
        as_node,
    };
    act::on_thread(
        globals,
        ThreadIntent::EditState { thread, edit },
        &sending,
        false,
    )
    .await
}
