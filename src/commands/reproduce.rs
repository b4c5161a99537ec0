//! `reproduce T --to SERVER`: copies a thread to another server.

use crate::act::not_done;
use crate::prelude::*;
use runtail_api::{ReproduceIntent, Reproduced};
use runtail_core::model::shell_word;

/// Options of `reproduce`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// The server to copy to: its address, PROFILE/DEPLOYMENT, or a deployment of the chosen profiles
    #[arg(long, value_name = "URL|PROFILE/DEPLOYMENT", value_parser = filled)]
    to: String,
    /// The graph on that server (default: the thread's own)
    #[arg(long, value_name = "G", value_parser = filled)]
    graph: Option<String>,
    /// Copy only the newest state, in two or three requests; works on servers without supersteps
    #[arg(long)]
    state: bool,
    #[command(flatten)]
    sending: Sending,
}

const NOTES: &str = "\
Creates a thread on the target whose checkpoints repeat those of the newest branch: the values that each node wrote, in its name, \
as the supersteps of one POST /threads. No run is started, so no model and no tool is called; the target's graph applies its \
reducers and decides which nodes are next. To debug, run the new thread on, or fork it at a checkpoint.

Not copied: the ids and times of checkpoints, runs, other branches, the thread's metadata, open questions and errors. Continuing \
the new thread asks again or fails again. --dry-run prints the exact request, with all values that would be sent to the target.

The thread is read again right before sending, and the request is sent once. Then the new thread is read back and compared: \
`differences` lists the steps whose values or next nodes are not the original's. `thread_id` is the new thread, and `command` \
opens it.

Servers that create threads without supersteps, such as Aegra, are refused; --state copies the newest state there, with POST \
/threads, PATCH /threads/T on Aegra before 0.9.25, and POST /state.

Exit codes: 0 copied, also if something differs · 1 the history can't be copied, the target has no such graph or no supersteps, a \
run is active, the thread changed, or the target refused · 2 usage · 3 not allowed, or the target is read-only · 5 the reply was \
lost.";

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let Options {
        thread,
        to,
        graph,
        state,
        sending,
    } = options;
    let context = Context::load(globals)?;
    let target_context = target_context(&context, &to)?;
    let (_, source) = resolve::agent_server(&context).await?;
    let (site, target) = resolve::agent_server(&target_context).await?;
    let intent = ReproduceIntent {
        thread,
        graph,
        state_only: state,
    };
    let act = Act {
        context: &context,
        site: &site,
        sending: &sending,
        approval: Approval::NotNeeded,
    };
    let plan = source.plan_reproduction(&target, &intent);
    let Some(plan) = act.plan_and_confirm(plan).await? else {
        return Ok(Exit::Done);
    };
    let made = match plan.apply().await {
        Ok(acted) => acted.copied(),
        Err(failed) => {
            let options = target_context.globals.where_to();
            let id = plan.preview.target.as_ref().map_or("", |target| &target.id);
            let check = format!("`runtail{options} threads get {id}` shows it");
            return Err(not_done(failed, "the thread was created", &check));
        }
    };
    if made.was_found {
        complain("warning: the target's reply was lost, but the thread was created");
    }
    if let Some(complaint) = made.complaint() {
        complain(format!("warning: {complaint}"));
    }
    if made.should_have_ended() {
        let (options, id) = (target_context.globals.where_to(), shell_word(&made.thread));
        complain(format!(
            "  `runtail{options} state set {id} --values null --as-node __end__` ends it as the original"
        ));
    }
    act::report(&plan.preview, None);
    act.print(row(
        &made,
        &intent.thread,
        target.base(),
        &target_context.globals.where_to(),
    ))
}

/// Returns the context in which the target is found.
fn target_context(context: &Context, to: &str) -> Result<Context, Failure> {
    let mut globals = context.globals.clone();
    if to.starts_with("http://") || to.starts_with("https://") {
        globals = Globals {
            url: Some(to.into()),
            deployment: None,
            profiles: Vec::new(),
            simulated: None,
            ..globals
        };
        return Context::load(&globals);
    }
    globals.deployment = Some(to.into());
    match globals.url.take() {
        Some(_) => Context::load(&globals),
        None => Ok(Context {
            globals,
            ..context.clone()
        }),
    }
}

fn row(made: &Reproduced, source: &str, server: &str, options: &str) -> Value {
    let difference = |difference: &runtail_api::StateDifference| {
        let next = difference
            .next
            .as_ref()
            .map(|(original, copy)| json!({"original": original, "copy": copy}));
        json!({"step": difference.step, "keys": difference.keys, "next": next})
    };
    let differences = made
        .differences
        .as_ref()
        .map(|all| all.iter().map(difference).collect::<Vec<_>>());
    json!({
        "thread_id": made.thread,
        "reproduced_from": source,
        "server": server,
        "graph": made.graph,
        "states": made.states,
        "same": made.differences.as_ref().map(Vec::is_empty),
        "differences": differences,
        "command": format!("runtail{options} threads history {} --tree", shell_word(&made.thread)),
    })
}
