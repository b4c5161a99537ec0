//! `threads cancel`, `delete`, `prune` and `retry`: one action on several threads, named by id or found by a search. Each
//! thread has its own plan, is checked again, and gets its request once.

use crate::commands::state::editor::{changes, in_editor, keeping};
use crate::consent;
use crate::prelude::*;
use futures::{StreamExt, stream};
use runtail_api::{
    BULK_CONCURRENCY, BulkAction, BulkOutcome, MAX_BULK, Plan, PlanError, StateEdit,
};
use runtail_core::model::ThreadSearch;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Maximum number of different warnings that are printed.
const MAX_WARNINGS: usize = 20;

/// Options of an action on several threads.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The threads' ids, or --search, or --saved
    #[arg(value_name = "T", required_unless_present_any = ["search", "saved"], conflicts_with_all = ["search", "saved"])]
    threads: Vec<String>,
    /// All threads that a search finds (`threads search --help`), at most 1,000
    #[arg(long, value_name = "QUERY", value_parser = super::threads::query)]
    search: Option<ThreadSearch>,
    /// All threads that a saved search finds, by its name in `[searches]` of the configuration
    #[arg(long, value_name = "NAME", conflicts_with = "search")]
    saved: Option<String>,
    /// Show what would be done to each thread; send nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    output: ResultOutput,
}

impl Options {
    /// Returns the search, and the name of a saved one that replaces it.
    pub fn searches(&mut self) -> (&mut Option<ThreadSearch>, &mut Option<String>) {
        (&mut self.search, &mut self.saved)
    }
}

const NOTES: &str = "\
A row's `status` is `deleted`, `stopped`, `stopping` (accepted, but a run is still active), `started`, `nothing_to_do`, `not_found`, \
`refused` (nothing was done; `why` says the reason), `unknown` (the server failed, its reply was lost, or Ctrl-C was pressed twice) or `not_sent` \
(stopped by Ctrl-C before its turn); with --dry-run `planned`.

Exit codes: 0 done for every thread, or nothing to do · 1 a thread was not found, or refused · 2 not confirmed · 3 all that failed \
were not allowed, or the profile is read-only · 5 unknown for a thread, or the server couldn't be reached for all that failed · 130 \
stopped by Ctrl-C.";

/// Options of `threads retry`.
#[derive(Debug, Args)]
#[command(after_long_help = RETRY_NOTES)]
pub struct Retry {
    #[command(flatten)]
    pub bulk: Options,
    /// Write these keys into the state of every failed thread first; @FILE reads a file, - reads stdin
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        allow_hyphen_values = true,
        conflicts_with = "editor"
    )]
    values: Option<String>,
    /// Write these keys in $VISUAL or $EDITOR, as a JSON object
    #[arg(long)]
    editor: bool,
    /// Edit in the name of this node, which decides what runs next (default: the node that wrote last)
    #[arg(long, value_name = "NODE", value_parser = filled)]
    as_node: Option<String>,
}

const RETRY_NOTES: &str = "\
A thread that did not fail is refused. With --values or --editor, the same keys are written into the newest state of every thread, and \
its failed step runs again with all nodes of that step. The keys and the node are checked for each thread first. The graph's reducers \
apply the edit on the server: lists usually grow, and messages are replaced by id.

A row's `status` is `started` (with `run_id`, and `checkpoint_id` of the edit), `edited` (the state was edited, but no run was started; \
`why` says the reason, and `fork T` runs the thread on), `refused` (nothing was done; `why` says the reason), `not_found`, `unknown` \
(the server failed, or a reply was lost) or `not_sent` (stopped by Ctrl-C before its turn); with --dry-run `planned`.

Exit codes: 0 started for every thread · 1 a thread was not found, refused, or edited without a run · 2 not confirmed, or not JSON · 3 \
all that failed were not allowed, or the profile is read-only · 5 unknown for a thread, or the server couldn't be reached for all that \
failed · 130 stopped by Ctrl-C.";

/// A thread and its plan.
struct Target {
    thread: String,
    plan: Result<Plan, PlanError>,
}

/// Retries failed threads, if requested with their states edited first.
pub async fn retry(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    options: Retry,
) -> Result<Exit, Failure> {
    if !options.bulk.dry_run {
        context.check_write(&site.profile)?;
    }
    let typed = if options.editor {
        Some(in_editor("{\n}\n".into()).await?)
    } else {
        None
    };
    let keep = |failure| match &typed {
        Some(typed) => keeping(typed, failure),
        None => failure,
    };
    let values = match (&typed, options.values) {
        (Some(typed), _) => {
            let values = changes("{}", typed).map_err(keep)?;
            if values.is_empty() {
                complain("no key was written; nothing was sent");
                return Ok(Exit::Done);
            }
            Some(Value::Object(values))
        }
        (None, Some(values)) => {
            let values = input::json("--values", &values).await?;
            if values.as_object().is_none_or(|keys| keys.is_empty()) {
                return Err(Failure::usage(
                    "--values must be a JSON object with the keys to write; nothing was sent",
                ));
            }
            Some(values)
        }
        (None, None) if options.as_node.is_some() => {
            return Err(Failure::usage("--as-node needs --values or --editor"));
        }
        (None, None) => None,
    };
    let edit = values.map(|values| StateEdit {
        checkpoint: None,
        values,
        as_node: options.as_node,
    });
    let (action, is_dry) = (BulkAction::Retry(edit.map(Arc::new)), options.bulk.dry_run);
    match run(context, site, server, action, options.bulk).await {
        Ok(exit) if exit != Exit::Done && typed.is_some() && !is_dry => {
            let why = "the edit was not made in every thread";
            Err(keep(Failure::new(exit, why)))
        }
        Ok(exit) => Ok(exit),
        Err(failure) => Err(keep(failure)),
    }
}

/// Carries out an action on several threads. A failure doesn't stop the others.
pub async fn run(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    action: BulkAction,
    options: Options,
) -> Result<Exit, Failure> {
    if !options.dry_run {
        context.check_write(&site.profile)?;
    }
    let signals = Signals::listen_to_report();
    let targets = signals
        .unless_stopped(plan(server, &action, &options))
        .await?;
    let planned = targets.iter().filter(|target| target.plan.is_ok()).count();
    print_targets(&action, &targets);
    if options.dry_run {
        let rows: Vec<Row> = targets.iter().map(planned_row).collect();
        print(&options.output, &rows)?;
        complain("dry run: nothing was sent");
        return Ok(exit_of(&rows));
    }
    if planned > 0 {
        let asked = question(&action, &targets);
        signals
            .unless_stopped(consent::yes(&asked, options.yes))
            .await?;
    }
    let rows = send(&signals, targets).await;
    print(&options.output, &rows)?;
    let exit = exit_of(&rows);
    Ok(
        if signals.stop.is_cancelled() && rows.iter().any(is_undecided) {
            signals.exit()
        } else {
            exit
        },
    )
}

/// Plans the action on each thread. Sends no write request.
async fn plan(
    server: &AgentServer,
    action: &BulkAction,
    options: &Options,
) -> Result<Vec<Target>, Failure> {
    let threads = match &options.search {
        Some(search) => found(server, search).await?,
        None => options.threads.clone(),
    };
    if threads.len() > MAX_BULK {
        return Err(Failure::usage(format!(
            "at most {MAX_BULK} threads at once; nothing was sent"
        )));
    }
    let mut seen = HashSet::new();
    let threads = threads
        .into_iter()
        .filter(|thread| seen.insert(thread.clone()));
    let plans = threads.map(|thread| async move {
        let plan = server.plan_on_thread(&action.intent(&thread, None)).await;
        Target { thread, plan }
    });
    let mut targets: Vec<Target> = stream::iter(plans)
        .buffered(BULK_CONCURRENCY)
        .collect()
        .await;
    // A server that can't be reached or refuses the key fails the same way for every thread.
    let is_general = |target: &Target| match &target.plan {
        Err(PlanError::Asked(error)) => !matches!(error.kind, Kind::NotFound | Kind::Invalid(_)),
        _ => false,
    };
    if let Some(general) = targets.iter().position(is_general)
        && let Err(error) = targets.swap_remove(general).plan
    {
        return Err(error.into());
    }
    Ok(targets)
}

/// Returns the ids that a search finds. An incomplete result is an error: the action would miss some without saying which.
async fn found(server: &AgentServer, search: &ThreadSearch) -> Result<Vec<String>, Failure> {
    if search.is_empty() {
        return Err(Failure::usage(
            "an empty search matches every thread; name a condition. Nothing was sent",
        ));
    }
    let found = server
        .find_all_threads(search, MAX_BULK, Timestamp::now())
        .await;
    let found = found.map_err(|error| Failure::of_optional(error, "searching threads"))?;
    if found.unchecked > 0 {
        let why = "this server's lists have no values";
        return Err(Failure::failed(format!(
            "{} threads can't be checked: {why}. Nothing was sent",
            found.unchecked
        )));
    }
    if !found.is_complete {
        let why = format!("the search finds more than {MAX_BULK} threads, or too many to check");
        return Err(Failure::usage(format!(
            "{why}; nothing was sent\n  add a condition such as age>7d"
        )));
    }
    Ok(found
        .threads
        .into_iter()
        .map(|found| found.thread.thread_id)
        .collect())
}

/// Previews the action on stderr.
fn print_targets(action: &BulkAction, targets: &[Target]) {
    let mut lines = Vec::new();
    for target in targets {
        lines.push(match &target.plan {
            Ok(plan) => {
                let requests = plan
                    .preview
                    .requests()
                    .map(|request| format!("{} {}", request.method, request.url));
                format!(
                    "{}: {}",
                    plan.preview.title,
                    requests.collect::<Vec<_>>().join(", then ")
                )
            }
            Err(error) => format!("thread {}: left out: {error}", text::clean(&target.thread)),
        });
    }
    if targets.iter().any(|target| target.plan.is_ok()) {
        lines.push(format!("! {}", action.effect()));
        if let BulkAction::Retry(_) = action {
            lines.extend(warnings(targets));
        }
        if let BulkAction::Retry(Some(edit)) = action {
            let node = edit
                .as_node
                .as_deref()
                .unwrap_or("the node that wrote last");
            lines.push(format!(
                "written to each, in the name of {node}: {}",
                edit.values
            ));
        }
    }
    if targets.is_empty() {
        lines.push("no thread was found; nothing to do".into());
    }
    complain(text::clean_lines(&lines.join("\n")));
}

/// Returns the warnings of the plans, each with the number of threads that have it.
fn warnings(targets: &[Target]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let notes = targets
        .iter()
        .filter_map(|target| Some(&target.plan.as_ref().ok()?.preview.notes))
        .flatten();
    notes
        .filter(|note| note.warns)
        .for_each(|note| *counts.entry(&note.text).or_default() += 1);
    let more = counts.len().saturating_sub(MAX_WARNINGS);
    let mut lines: Vec<String> = counts
        .iter()
        .take(MAX_WARNINGS)
        .map(|(note, count)| format!("! {}: {note}", text::counted(*count, "thread")))
        .collect();
    if more > 0 {
        lines.push(format!("! and {more} more"));
    }
    lines
}

fn question(action: &BulkAction, targets: &[Target]) -> String {
    let planned: Vec<&str> = targets
        .iter()
        .filter(|target| target.plan.is_ok())
        .map(|target| target.thread.as_str())
        .collect();
    let what = match planned.as_slice() {
        [one] => format!("thread {}", text::clean(one)),
        several => format!("{} threads", several.len()),
    };
    match action {
        BulkAction::Cancel => format!("Cancel the active runs of {what}"),
        BulkAction::Delete => format!("Delete {what} with all runs and checkpoints"),
        BulkAction::Prune => format!("Prune {what} with all runs and checkpoints"),
        BulkAction::Retry(None) => format!("Retry {what}"),
        BulkAction::Retry(Some(_)) => format!("Edit and retry {what}"),
        BulkAction::Answer(_) => format!("Answer {what}"),
    }
}

/// Sends the requests, a few at a time. After Ctrl-C no further one is sent.
async fn send(signals: &Signals, targets: Vec<Target>) -> Vec<Row> {
    let sent = targets.into_iter().map(|target| async move {
        let Ok(plan) = &target.plan else {
            return planned_row(&target);
        };
        if signals.stop.is_cancelled() {
            return row(
                &target.thread,
                BulkOutcome::NotSent.word(),
                None,
                Exit::Done,
            );
        }
        let Some(result) = signals.unless_abandoned(plan.apply()).await else {
            let why = Some("stopped before the server answered".into());
            return row(
                &target.thread,
                BulkOutcome::Unknown.word(),
                why,
                Exit::Network,
            );
        };
        if result
            .as_ref()
            .is_err_and(|failed| failed.error.kind == Kind::NotFound)
        {
            return row(&target.thread, "not_found", None, Exit::Failed);
        }
        let (outcome, error) = BulkOutcome::of(&result);
        let exit = match (outcome, &error) {
            (BulkOutcome::Unknown, _) => Exit::Network,
            (BulkOutcome::Refused, Some(error)) => Exit::of(error),
            (BulkOutcome::Refused | BulkOutcome::Edited, _) => Exit::Failed,
            _ => Exit::Done,
        };
        let why = error.map(|error| error.to_string());
        let (mut row, exit) = row(&target.thread, outcome.word(), why, exit);
        if let Ok((Some(started), checkpoint)) = result.as_ref().map(act::made) {
            row["run_id"] = started.run_id.as_str().into();
            if let Some(checkpoint) = checkpoint {
                row["checkpoint_id"] = text::clean(checkpoint).into();
            }
        }
        (row, exit)
    });
    stream::iter(sent)
        .buffered(BULK_CONCURRENCY)
        .collect()
        .await
}

/// Returns the row of a thread before anything is sent.
fn planned_row(target: &Target) -> Row {
    let (status, why) = match &target.plan {
        Ok(_) => return row(&target.thread, "planned", None, Exit::Done),
        Err(PlanError::Asked(error)) if matches!(error.kind, Kind::NotFound | Kind::Invalid(_)) => {
            ("not_found", None)
        }
        Err(PlanError::Nothing(why)) if why.contains("no such thread") => ("not_found", None),
        Err(PlanError::Nothing(why)) => {
            let (nothing, why) = (BulkOutcome::Nothing.word(), Some(why.clone()));
            return row(&target.thread, nothing, why, Exit::Done);
        }
        Err(error) => (BulkOutcome::Refused.word(), Some(error.to_string())),
    };
    row(&target.thread, status, why, Exit::Failed)
}

/// The result for a thread, and its exit code.
type Row = (Value, Exit);

fn row(thread: &str, status: &str, why: Option<String>, exit: Exit) -> Row {
    let mut row = json!({"thread_id": thread, "status": status});
    if let Some(why) = why {
        row["why"] = text::clean(&why).into();
    }
    (row, exit)
}

fn print(output: &ResultOutput, rows: &[Row]) -> Result<(), Failure> {
    let rows: Vec<Value> = rows.iter().map(|(row, _)| row.clone()).collect();
    let has_reasons = rows.iter().any(|row| row["why"].is_string());
    let mut columns = vec![
        field_column("THREAD", "/thread_id"),
        status_column("STATUS", color::of_thread, |row| cell(&row["status"])),
    ];
    if has_reasons {
        columns.push(field_column("WHY", "/why"));
    }
    output.rows(&rows, &columns)
}

/// Whether the result of a row is not known, or it was not sent.
fn is_undecided((row, _): &Row) -> bool {
    row["status"] == BulkOutcome::NotSent.word() || row["status"] == BulkOutcome::Unknown.word()
}

/// Returns the exit code of all rows: 5 if a result is unknown, else that of the failures if they share one, else 1.
fn exit_of(rows: &[Row]) -> Exit {
    let mut failed = rows
        .iter()
        .map(|(_, exit)| *exit)
        .filter(|exit| *exit != Exit::Done);
    let first = failed.next().unwrap_or(Exit::Done);
    if rows
        .iter()
        .any(|(row, _)| row["status"] == BulkOutcome::Unknown.word())
    {
        return Exit::Network;
    }
    if failed.all(|exit| exit == first) {
        first
    } else {
        Exit::Failed
    }
}
