//! `threads list`, `count`, `get`, `create`, `state`, `history`, `copy` and `label`.

use crate::commands::{bulk, history_tree};
use crate::exit::offered;
use crate::output::{Paging, report_unread};
use crate::prelude::*;
use futures::StreamExt;
use runtail_api::{BulkAction, FoundThread, ThreadLabel, ThreadQuery};
use runtail_core::model::{
    ServerFilter, ThreadFacts, ThreadRecords, ThreadSearch, ThreadStatus, shell_word,
};

/// Number of table rows whose status is derived from all records of the thread; the others use the list alone.
const MOST_TOLD: usize = 200;
/// Maximum number of threads to read concurrently.
const MAX_CONCURRENCY: usize = 8;

const LANGUAGE: &str = "\
A search is a list of conditions that must all hold: `status:error` (idle, busy, interrupted or error) · `meta.user=42` (metadata; the \
value is JSON, otherwise text: `meta.user=\"42\"` is the text) · `values.order.id=7` (a value of the state) · `age>1h`, `age<30m` (time \
since the last change, with s, m, h or d) · `graph:NAME` · `assistant:ID` · `id:ID` (or its beginning) · `name:TEXT` · `star:yes`, \
`star:no` · `refund`, `\"two words\"` (text in the id, the status, the metadata or the first message) · `sort:created` (updated, created \
or status).

The server filters by status, metadata, values, graph and star; the rest is checked here, page by page, on at most 20,000 threads.";

/// Commands for threads.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List or search threads, last changed first
    #[command(visible_alias = "search")]
    List(List),
    /// Count threads
    Count(Count),
    /// Show one thread
    Get(Get),
    /// Create a thread
    Create(Create),
    /// Show the current state of a thread
    State(Get),
    /// List the past states of a thread, newest first
    History(History),
    /// Copy a thread with its history
    Copy(CopyThread),
    /// Name or star a thread, in its metadata; everyone who uses the server sees it
    Label(Label),
    /// Cancel the active runs of threads
    Cancel(bulk::Options),
    /// Delete threads with their runs and checkpoints; active runs are cancelled first
    Delete(bulk::Options),
    /// Delete threads on which no run is active
    Prune(bulk::Options),
    /// Retry failed threads, if wanted with one edit of their states first
    Retry(bulk::Retry),
}

/// Options of `threads list`.
#[derive(Debug, Args)]
#[command(after_long_help = LANGUAGE)]
pub struct List {
    /// A search, as one argument
    #[arg(value_name = "QUERY", value_parser = query, conflicts_with_all = ["status", "metadata"])]
    query: Option<ThreadSearch>,
    /// A saved search, by its name in `[searches]` of the configuration
    #[arg(long, value_name = "NAME", conflicts_with_all = ["query", "status", "metadata"])]
    saved: Option<String>,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    output: Output,
}

/// Options of `threads count`.
#[derive(Debug, Args)]
#[command(after_long_help = LANGUAGE)]
pub struct Count {
    /// A search, as one argument
    #[arg(value_name = "QUERY", value_parser = query, conflicts_with_all = ["status", "metadata"])]
    query: Option<ThreadSearch>,
    /// A saved search, by its name in `[searches]` of the configuration
    #[arg(long, value_name = "NAME", conflicts_with_all = ["query", "status", "metadata"])]
    saved: Option<String>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    output: Output,
}

/// Filters for threads.
#[derive(Debug, Args)]
pub struct Filter {
    /// Filter by status (idle, busy, interrupted, error)
    #[arg(long)]
    status: Option<String>,
    /// Filter by metadata: a JSON object of fields that the thread must have
    #[arg(long, value_name = "JSON", value_parser = object)]
    metadata: Option<Value>,
}

/// Options of `threads get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    #[command(flatten)]
    output: Output,
}

/// Options of `threads create`.
#[derive(Debug, Args)]
pub struct Create {
    /// Its id (a UUID)
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Metadata of the thread, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object)]
    metadata: Option<Value>,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `threads copy`.
#[derive(Debug, Args)]
pub struct CopyThread {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `threads history`.
#[derive(Debug, Args)]
pub struct History {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// Maximum number
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Only states before this checkpoint
    #[arg(long, value_name = "CHECKPOINT")]
    before: Option<String>,
    /// Draw the states as a tree with their branches; -o json and jsonl print them as without it
    #[arg(long, conflicts_with = "fields")]
    tree: bool,
    #[command(flatten)]
    output: Output,
}

/// Options of `threads label`.
#[derive(Debug, Args)]
pub struct Label {
    /// The thread's id
    #[arg(value_name = "T")]
    thread: String,
    /// Its name; an empty one removes it
    #[arg(long, value_name = "NAME", required_unless_present_any = ["star", "unstar"])]
    name: Option<String>,
    /// Star it
    #[arg(long, conflicts_with = "unstar")]
    star: bool,
    /// Remove its star
    #[arg(long)]
    unstar: bool,
    #[command(flatten)]
    sending: Sending,
}

/// Parses an argument as a search.
pub fn query(text: &str) -> Result<ThreadSearch, String> {
    ThreadSearch::parse(text).map_err(|error| error.to_string())
}

/// Parses an argument as a JSON object.
fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("expected a JSON object such as {\"owner\": \"ana\"}".into()),
        Err(e) => Err(format!("this is not JSON: {e}")),
    }
}

impl Command {
    /// Puts the saved search that is named into the command, if one is.
    fn look_up_saved(&mut self, context: &Context) -> Result<(), Failure> {
        let (search, name) = match self {
            Command::List(List { query, saved, .. })
            | Command::Count(Count { query, saved, .. }) => (query, saved),
            Command::Cancel(options) | Command::Delete(options) | Command::Prune(options) => {
                options.searches()
            }
            Command::Retry(options) => options.bulk.searches(),
            _ => return Ok(()),
        };
        if let Some(name) = name {
            *search = Some(saved(context, name)?);
        }
        Ok(())
    }
}

/// Returns a search of the configuration.
fn saved(context: &Context, name: &str) -> Result<ThreadSearch, Failure> {
    let searches = &context.config.searches;
    if let Some((_, search)) = searches.iter().find(|(known, _)| known == name) {
        return query(search).map_err(Failure::usage);
    }
    let known: Vec<&str> = searches.iter().map(|(known, _)| known.as_str()).collect();
    let known = if known.is_empty() {
        "the configuration has none; save one in [searches]".to_string()
    } else {
        format!("the configuration has {}", known.join(", "))
    };
    let message = format!("there is no saved search {name}: {known}. Nothing was sent");
    Err(Failure::usage(text::clean(&message)))
}

pub async fn run(globals: &Globals, mut command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    command.look_up_saved(&context)?;
    let (site, server) = resolve::agent_server(&context).await?;
    match command {
        Command::List(List {
            query: Some(search),
            paging: Paging { limit, offset },
            output,
            ..
        }) => {
            let mut rows = found(&server, &search, limit, offset).await?;
            if output.has_own_columns() {
                tell_statuses(&server, &mut rows).await;
            }
            output.rows(&rows, &found_columns())?;
        }
        Command::List(List {
            query: None,
            paging: Paging { limit, offset },
            filter: Filter { status, metadata },
            output,
            ..
        }) => {
            let query = ThreadQuery {
                limit,
                offset,
                status,
                metadata,
                ..ThreadQuery::default()
            };
            let listed = server.thread_rows(&query).await;
            let mut rows =
                listed.map_err(|error| Failure::of_optional(error, "listing threads"))?;
            if output.has_own_columns() {
                tell_statuses(&server, &mut rows.items).await;
            }
            output.listing(&rows, &columns())?;
        }
        Command::Count(Count {
            query: Some(search),
            output,
            ..
        }) => output.one(&count(&server, &search).await?)?,
        Command::Count(Count {
            query: None,
            filter: Filter { status, metadata },
            output,
            ..
        }) => {
            let count = server
                .count_threads(&ServerFilter {
                    status,
                    metadata,
                    values: None,
                })
                .await;
            output.one(&json!({"count": count.map_err(|error| Failure::of_optional(error, "counting threads"))?}))?;
        }
        Command::Get(options) => {
            let mut row = offered(
                &server,
                server.thread_row(&options.thread).await,
                "reading a thread",
            )
            .await?;
            if options.output.has_own_columns() {
                tell_statuses(&server, std::slice::from_mut(&mut row)).await;
            }
            options.output.one(&row)?;
        }
        Command::Create(options) => return create(&context, &site, &server, options).await,
        Command::State(options) => {
            let state = server.thread_state(&options.thread).await;
            options
                .output
                .one(&offered(&server, state, "reading a thread's state").await?)?;
        }
        Command::History(options) => {
            if let Some(id) = &options.before
                && !server.has_checkpoint(&options.thread, id).await?
            {
                let (thread, id) = (text::clean(&options.thread), text::clean(id));
                return Err(Failure::failed(format!(
                    "thread {thread} has no checkpoint {id}\n  `runtail threads history {}` lists them",
                    shell_word(&thread)
                )));
            }
            let states = server
                .thread_history(&options.thread, options.limit, options.before.as_deref())
                .await;
            let states = offered(&server, states, "reading a thread's history").await?;
            if options.tree && matches!(options.output.result.format, None | Some(Format::Table)) {
                report_unread(&states.unread);
                history_tree::print(&states.items, options.before.is_none(), globals.ascii)?;
                return Ok(Exit::Done);
            }
            options.output.listing(&states, &history_columns())?;
        }
        Command::Copy(options) => return copy(&context, &site, &server, options).await,
        Command::Label(options) => {
            let Label {
                thread,
                name,
                star,
                unstar,
                sending,
            } = options;
            let label = ThreadLabel {
                name,
                starred: (star || unstar).then_some(star),
            };
            let intent = ThreadIntent::Label { thread, label };
            return act::on_thread(globals, intent, &sending, false).await;
        }
        Command::Cancel(options) => {
            return bulk::run(&context, &site, &server, BulkAction::Cancel, options).await;
        }
        Command::Delete(options) => {
            return bulk::run(&context, &site, &server, BulkAction::Delete, options).await;
        }
        Command::Prune(options) => {
            return bulk::run(&context, &site, &server, BulkAction::Prune, options).await;
        }
        Command::Retry(options) => return bulk::retry(&context, &site, &server, options).await,
    }
    Ok(Exit::Done)
}

async fn create(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    options: Create,
) -> Result<Exit, Failure> {
    let act = quiet(context, site, &options.sending);
    act.check_write()?;
    let mut body = json!({});
    if let Some(id) = &options.id {
        body["thread_id"] = id.as_str().into();
    }
    if let Some(metadata) = options.metadata {
        body["metadata"] = metadata;
    }
    let request = server.post_request(&["threads"], &body)?;
    let title = "Create a thread".into();
    let preview = server.preview_of(title, None, vec![request], Vec::new());
    if !act.confirm(&preview).await? {
        return Ok(Exit::Done);
    }
    let row = server.create_thread_row(&body).await?;
    if let Some(id) = options.id.filter(|id| row["thread_id"] != id.as_str()) {
        let (id, made) = (text::clean(&id).into_owned(), cell(&row["thread_id"]));
        let what = format!("the server was asked to create thread {id} but returned thread {made}");
        return Err(Failure::failed(what));
    }
    options.sending.output.one(&row)?;
    Ok(Exit::Done)
}

async fn copy(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    CopyThread { thread, sending }: CopyThread,
) -> Result<Exit, Failure> {
    let act = quiet(context, site, &sending);
    act.check_write()?;
    // A server without the call answers 404 as it does for a missing thread, so the thread is read first.
    if let Err(error) = server.thread_row(&thread).await {
        return Err(server.or_not_offered(error).await.into());
    }
    let request = server.post_request(&["threads", &thread, "copy"], &json!({}))?;
    let title = format!("Copy thread {}", text::short_id(&thread));
    let preview = server.preview_of(title, Some(&thread), vec![request], Vec::new());
    if act.confirm(&preview).await? {
        let copied = server.copy_thread(&thread).await;
        let copied = copied.map_err(|error| Failure::of_optional(error, "copying threads"));
        sending.output.one(&copied?)?;
    }
    Ok(Exit::Done)
}

/// A change that is previewed only for `--dry-run`.
fn quiet<'a>(context: &'a Context, site: &'a Site, sending: &'a Sending) -> Act<'a> {
    Act {
        context,
        site,
        sending,
        approval: Approval::Quiet(None),
    }
}

/// Returns the rows that a search finds, and reports on stderr what was not checked.
async fn found(
    server: &AgentServer,
    search: &ThreadSearch,
    limit: usize,
    offset: usize,
) -> Result<Vec<Value>, Failure> {
    let wanted = limit.saturating_add(offset);
    let found = server
        .find_all_threads(search, wanted, Timestamp::now())
        .await;
    let found = found.map_err(|error| Failure::of_optional(error, "searching threads"))?;
    report_unread(&found.unread);
    if found.unchecked > 0 {
        complain(format!(
            "warning: {} threads can't be checked: this server's lists have no values",
            found.unchecked
        ));
    }
    if !found.is_complete && found.threads.len() < wanted {
        complain(format!(
            "warning: only the first {} threads were checked; there may be more",
            found.scanned
        ));
    }
    Ok(found.threads.iter().skip(offset).map(found_row).collect())
}

/// Returns a found thread as the server sent it, with its title.
fn found_row(found: &FoundThread) -> Value {
    let mut row = json!(found.thread);
    if let Some(title) = &found.title {
        row["title"] = title.as_str().into();
    }
    row
}

/// Counts what a search finds: by the server if it can, otherwise by reading the threads.
async fn count(server: &AgentServer, search: &ThreadSearch) -> Result<Value, Failure> {
    let refused = |error| Failure::of_optional(error, "counting threads");
    if search
        .terms()
        .iter()
        .all(|term| term.condition.is_for_server())
        && let Some(count) = server.count_found(search).await.map_err(refused)?
    {
        return Ok(json!({"count": count, "complete": true}));
    }
    let found = server
        .find_all_threads(search, usize::MAX, Timestamp::now())
        .await
        .map_err(refused)?;
    report_unread(&found.unread);
    let is_complete = found.is_complete && found.unchecked == 0;
    Ok(
        json!({"count": found.threads.len(), "complete": is_complete, "checked": found.scanned - found.unchecked}),
    )
}

/// Replaces the server's status with the one that the dashboard shows, because `interrupted` has four causes and a copied
/// thread that is waiting is `idle`; adds the number of open questions. Tables only: JSON keeps what the server sent.
async fn tell_statuses(server: &AgentServer, rows: &mut [Value]) {
    let looks = rows.iter_mut().enumerate().map(|(n, row)| async move {
        let facts = ThreadFacts::read(&row.to_string()).unwrap_or_default();
        let listed = || {
            ThreadStatus::derive(ThreadRecords {
                thread: Some(&facts),
                ..ThreadRecords::default()
            })
        };
        let status = match row["thread_id"].as_str().filter(|_| n < MOST_TOLD) {
            Some(thread) => server
                .listed_status(thread, &facts)
                .await
                .unwrap_or_else(|_| listed()),
            None => listed(),
        };
        row["status"] = status.word().into();
        row["questions"] = status.questions().len().into();
    });
    futures::stream::iter(looks)
        .buffer_unordered(MAX_CONCURRENCY)
        .collect::<()>()
        .await;
}

fn history_columns() -> [Column; 5] {
    [
        field_column("CHECKPOINT", "/checkpoint/checkpoint_id"),
        time_column("CREATED", "/created_at"),
        field_column("STEP", "/metadata/step"),
        field_column("SOURCE", "/metadata/source"),
        column("NEXT", |row| {
            let next = row["next"].as_array().into_iter().flatten().map(cell);
            next.collect::<Vec<_>>().join(", ")
        }),
    ]
}

fn found_columns() -> [Column; 5] {
    [
        field_column("THREAD", "/thread_id"),
        status_column("STATUS", color::of_thread, |row| cell(&row["status"])),
        time_column("UPDATED", "/updated_at"),
        field_column("GRAPH", "/metadata/graph_id"),
        column("NAME OR FIRST MESSAGE", |row| {
            let name = [&row["metadata"]["name"], &row["metadata"]["thread_name"]];
            let name = name
                .into_iter()
                .find(|name| name.as_str().is_some_and(|name| !name.trim().is_empty()));
            let star = if row["metadata"]["starred"] == true {
                "* "
            } else {
                ""
            };
            format!("{star}{}", cell(name.unwrap_or(&row["title"])))
        }),
    ]
}

fn columns() -> [Column; 5] {
    [
        field_column("THREAD", "/thread_id"),
        status_column("STATUS", color::of_thread, |row| cell(&row["status"])),
        time_column("UPDATED", "/updated_at"),
        field_column("GRAPH", "/metadata/graph_id"),
        column("WAITING", |row| match row["questions"].as_u64() {
            Some(0) | None => String::new(),
            Some(questions) => questions.to_string(),
        }),
    ]
}
