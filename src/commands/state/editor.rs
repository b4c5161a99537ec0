//! `state set T --editor`: the values at a checkpoint in the user's editor.

use crate::prelude::*;
use crate::signals;
use runtail_api::{Plan, StateEdit};
use runtail_core::json::Peek;
use runtail_core::model::{changed_values, state_document};
use runtail_tui::runtime::external_editor;
use serde_json::Map;

/// Maximum bytes of a document that is edited. The edited text may be twice as large.
const MAX_DOCUMENT: usize = 2 << 20;
/// Maximum bytes of a state that is read.
const MAX_STATE: usize = 64 << 20;

/// What is edited.
pub struct Edited {
    pub thread: String,
    pub checkpoint: Option<String>,
    pub as_node: Option<String>,
    pub yes: Yes,
}

pub async fn run(globals: &Globals, edited: Edited, sending: &Sending) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    let Edited {
        thread,
        checkpoint,
        as_node,
        yes,
    } = edited;
    let act = Act {
        context: &context,
        site: &site,
        sending,
        approval: Approval::Yes(yes),
    };
    act.check_write()?;
    let is_newest = checkpoint.is_none();
    let (checkpoint, values) = values_at(&server, &thread, checkpoint, as_node.as_deref()).await?;
    let document = document(&values)?;
    let edited = in_editor(document).await?;
    // From here on, Ctrl-C must not lose the text.
    let signals = Signals::listen();
    let changes = match changes(&values, &edited) {
        Ok(changes) => changes,
        Err(failure) => return Err(keeping(&edited, failure)),
    };
    if changes.is_empty() {
        complain("nothing is changed; nothing was sent");
        return Ok(Exit::Done);
    }
    let edit = StateEdit {
        checkpoint: Some(checkpoint),
        values: changes.into(),
        as_node,
    };
    let intent = ThreadIntent::EditState { thread, edit };
    let made = async {
        let plan = server.plan_on_thread(&intent).await?;
        if is_newest {
            still_newest(&plan)?;
        }
        if !act.confirm(&plan.preview).await? {
            return Ok(Exit::Done);
        }
        act.print(act.send(&intent, &plan).await?)
    };
    let made = signals.unless_stopped(made).await;
    made.map_err(|failure| keeping(&edited, failure))
}

/// Returns the values at a checkpoint as received, and its id; without an id, those at the newest one.
async fn values_at(
    server: &AgentServer,
    thread: &str,
    checkpoint: Option<String>,
    as_node: Option<&str>,
) -> Result<(String, String), Failure> {
    let id = server
        .editable_checkpoint(thread, checkpoint.as_deref(), as_node)
        .await?;
    let state = server.checkpoint_state_raw(thread, &id, MAX_STATE).await?;
    let values = Peek::from(&*state).get("values").map_or("{}", Peek::text);
    Ok((id, values.to_string()))
}

fn document(values: &str) -> Result<String, Failure> {
    let too_large = |size: usize| {
        let (size, most) = (text::bytes(size as u64), text::bytes(MAX_DOCUMENT as u64));
        Failure::usage(format!(
            "the values have {size}; the editor takes up to {most}\n  write the keys to change with --values @FILE"
        ))
    };
    // Formatting a large document takes long and makes it larger.
    if values.len() > MAX_DOCUMENT {
        return Err(too_large(values.len()));
    }
    let document = state_document(values);
    let document = document.ok_or_else(|| {
        Failure::usage("the values of this state are not an object, so they can't be edited by key")
    })?;
    if document.len() > MAX_DOCUMENT {
        Err(too_large(document.len()))
    } else {
        Ok(document)
    }
}

/// Opens the editor and waits for it. Ctrl-C belongs to the editor, as in git; other signals end both.
pub async fn in_editor(document: String) -> Result<String, Failure> {
    signals::handle();
    match external_editor::edit(&document).await {
        Ok(Ok(edited)) => Ok(edited),
        Ok(Err(why)) => Err(Failure::usage(format!(
            "the values were not edited; nothing was sent\n  {why}"
        ))),
        Err((number, kept)) => Err(Failure::new(signals::exit(number), kept)),
    }
}

pub fn changes(values: &str, edited: &str) -> Result<Map<String, Value>, Failure> {
    if edited.trim().is_empty() {
        return Err(Failure::usage("the edited text is empty; nothing was sent"));
    }
    changed_values(values, edited).map_err(|problem| {
        let (line, column) = problem.place;
        Failure::usage(format!(
            "line {line}, column {column}: {}; nothing was sent",
            problem.message
        ))
    })
}

/// Keeps a text that could not be sent, because typing it again would be worse than any error.
pub fn keeping(edited: &str, failure: Failure) -> Failure {
    let where_to = match external_editor::keep(edited) {
        Ok(path) => format!(
            "your text is kept in {}",
            text::clean(&path.display().to_string())
        ),
        Err(error) => format!("your text could not be kept: {error}"),
    };
    let message = match failure.message.as_str() {
        // An interruption has no message of its own.
        "" => where_to,
        message => format!("{message}\n  {where_to}"),
    };
    Failure::new(failure.exit, message)
}

/// Checks that the edit still continues from the newest checkpoint: else it names its own.
fn still_newest(plan: &Plan) -> Result<(), Failure> {
    let names_checkpoint = plan
        .preview
        .request
        .body
        .as_ref()
        .is_some_and(|body| body.get("checkpoint_id").is_some());
    if names_checkpoint {
        Err(Failure::failed(
            "the thread changed while you edited; nothing was sent",
        ))
    } else {
        Ok(())
    }
}
