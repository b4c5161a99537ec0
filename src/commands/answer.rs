//! `answer T`: answers a question that a thread is waiting for.

use crate::commands::answer_rules;
use crate::prelude::*;
use runtail_core::model::GivenAnswer;

/// Options of `answer`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The thread's id
    #[arg(
        value_name = "T",
        required_unless_present = "rules",
        conflicts_with = "rules"
    )]
    thread: Option<String>,
    /// The question's id; required if several are open, except to approve or reject all calls that have a question each
    #[arg(long, value_name = "ID", conflicts_with = "rules")]
    interrupt: Option<String>,
    #[command(flatten)]
    given: Given,
    /// Wait until the run that the answer starts has ended; exit codes as for `run`
    #[arg(long, conflicts_with_all = ["dry_run", "rules"])]
    wait: bool,
    #[command(flatten)]
    sending: Sending,
    /// With --rules: skip the confirmation; required without a terminal
    #[arg(long)]
    yes: bool,
}

/// The answer.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Given {
    /// Approve every action that is asked about, or answer yes
    #[arg(long)]
    approve: bool,
    /// Reject every action that is asked about, or answer no
    #[arg(long, value_name = "WHY", num_args = 0..=1)]
    reject: Option<Option<String>>,
    /// Approve the question's only action with these arguments, or with another action: {"name": …, "args": {…}}; @FILE reads
    /// a file, - reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    edit: Option<String>,
    /// Answer with a text, or respond to the question's only action without running it
    #[arg(long, value_name = "TEXT", value_parser = filled, allow_hyphen_values = true)]
    text: Option<String>,
    /// Answer with this value; @FILE and - as for --edit
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    json: Option<String>,
    /// Answer all waiting threads that the rules of the configuration decide about
    #[arg(long)]
    rules: bool,
}

const NOTES: &str = "\
The answer is checked before it is sent, because a server keeps the first answer to a question even if the graph can't use it: \
one decision for each action, only decisions that the question allows, and a value that fits its schema. The question is read \
again just before the answer is sent, and the answer is sent once.

With the older agent-inbox questions, --approve accepts, --reject ignores, and --reject WHY and --text respond. Edited arguments \
replace all arguments of the action.

The decisions are sent in the format of the question: an edit has `editedAction` in batches of langchain for JavaScript, else \
`edited_action`. If each call has a question of its own, --json is the decision about one call. An approval in an unknown \
format takes only --json, with a warning.

The result has `thread_id`, `run_id`, `interrupt_id` (null if several questions were answered), `interrupt_ids` and `assistant_id`; with \
--wait also `outcome`, as at the end of a stream, and `detail`.

JSON is sent without loss: a key that occurs twice, and a number that would be rounded, are errors.

With --rules, all waiting threads of the chosen profiles are answered whose actions are all matched by a rule ([[answer]] in the \
configuration). The others are skipped. Each answer is previewed, checked again just before it is sent, and sent once. Each \
row has `thread_id`, `result` (`started`, `planned` with --dry-run, `skipped`, `failed`, `unknown`, or `not_sent` after Ctrl-C), `decisions`, `run_id` and `detail`.

Exit codes: 0 sent · 1 the thread is not waiting, the question is not open, someone answered first (or may have: another run \
started just before this one), another run is active, or the server refused · 2 the answer doesn't fit the question, --interrupt \
is missing, or not confirmed · 3 not allowed, or read-only \
· 5 the server can't be reached, is limiting requests (429) or failed; if it is unknown whether the run started, the message \
says how to check; with --wait those of `run` · 130 stopped by Ctrl-C.";

impl Given {
    async fn read(self) -> Result<GivenAnswer, Failure> {
        Ok(match self {
            Given { approve: true, .. } => GivenAnswer::Approve,
            Given {
                reject: Some(why), ..
            } => GivenAnswer::Reject(why.filter(|why| !why.trim().is_empty())),
            Given {
                edit: Some(edit), ..
            } => GivenAnswer::Edit(input::json("--edit", &edit).await?),
            Given {
                text: Some(text), ..
            } => GivenAnswer::Text(text),
            Given {
                json: Some(json), ..
            } => GivenAnswer::Json(input::json("--json", &json).await?),
            _ => {
                return Err(Failure::usage(
                    "an answer is needed, such as --approve or --text TEXT",
                ));
            }
        })
    }
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let Options {
        thread,
        interrupt,
        given,
        wait,
        sending,
        yes,
    } = options;
    // clap drops `requires` where an option that conflicts with the required one is given.
    if yes && !given.rules {
        return Err(Failure::usage(
            "--yes belongs to --rules; other answers are not asked about",
        ));
    }
    let Some(thread) = thread.filter(|_| !given.rules) else {
        return answer_rules::run(globals, &sending, Yes { yes }).await;
    };
    let answer = given.read().await?;
    let intent = ThreadIntent::Answer {
        thread,
        interrupt,
        answer,
    };
    act::on_thread(globals, intent, &sending, wait).await
}
