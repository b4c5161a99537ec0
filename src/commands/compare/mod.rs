//! `compare A B`: two runs, threads or recordings side by side.

mod table;

use crate::prelude::*;
use runtail_api::Plan;
use runtail_stream::RecordingFile;
use runtail_stream::comparison::{
    Comparability, Comparison, FileContents, Side, SideRequest, Totals, load_side, open_file,
    write_pair,
};
use runtail_stream::projection::difference::{ChangeKind, Difference};

const NOTES: &str = "\
A and B are each a recording FILE, T (a whole thread) or T/R (one run of it) on the chosen agent server, or PROFILE/DEPLOYMENT:T[/R] on \
another one. A alone is a file that --save wrote.

Steps are aligned by namespace, step and node. `=` is the same, `≠` differs, `-` is only in A, `+` only in B, `?` is unknown: a \
recording without the modes updates, tasks and messages doesn't contain what a node wrote. Ids, token counts and times don't make a step differ. \
Only recordings with --subgraphs contain the steps inside nodes. Different graphs are compared by their totals only.

With --run, A and B are agent servers (PROFILE/DEPLOYMENT): the same input starts a run on a new thread of each. Both requests are \
previewed on stderr first; --dry-run sends nothing.

`-o json` is one object with `same` (true, false, or null if not known), `a`, `b`, `first_difference`, `rows`, `state` and `notes`; `-o \
jsonl` has a line for each row and the rest in the last one, told apart by `kind`.

Exit codes: 0 compared, also if they differ · 1 not found, not offered, the steps of a side are unknown, or a run could not be started · 2 usage · 3 not allowed · 5 the \
network gave up.";

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// A recording, T, T/R or PROFILE/DEPLOYMENT:T[/R]
    #[arg(value_name = "A")]
    a: String,
    /// The same for the other side
    #[arg(value_name = "B")]
    b: Option<String>,
    /// Start this assistant on both servers, and compare the two runs
    #[arg(long, value_name = "ASSISTANT", requires = "input", requires = "b")]
    run: Option<String>,
    /// The input of both runs; @FILE reads a file, - reads stdin
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        requires = "run",
        allow_hyphen_values = true
    )]
    input: Option<String>,
    /// Print the requests of --run and send nothing
    #[arg(long, requires = "run")]
    dry_run: bool,
    /// Save both sides to this new file, for `compare FILE` and the dashboard; gzip if its name ends in .gz
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    save: Option<PathBuf>,
    #[command(flatten)]
    output: ResultOutput,
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    // Checked first: nothing is loaded or started if the result can't be saved.
    let file = options.save.as_deref().map(create).transpose()?;
    let pair = match (&options.run, &options.b) {
        (Some(assistant), Some(b)) => match both_regions(globals, &options, assistant, b).await? {
            Some(pair) => pair,
            None => return Ok(Exit::Done),
        },
        (_, Some(b)) => {
            let context = Lazy {
                globals,
                context: tokio::sync::OnceCell::new(),
            };
            let (a, b) = tokio::join!(side(&context, &options.a), side(&context, b));
            (a?, b?)
        }
        (_, None) => saved(&options.a).await?,
    };
    let comparison = Comparison::of(pair.0, pair.1);
    if let Some(file) = file {
        save(file, &comparison)?;
    }
    for note in &comparison.notes {
        output::complain(format!("note: {note}"));
    }
    print(&comparison, &options.output, globals.ascii)?;
    let is_unknown = matches!(comparison.comparability, Comparability::StepsUnknown(_));
    Ok(if is_unknown { Exit::Failed } else { Exit::Done })
}

/// The configuration, loaded when the first side needs it: recordings need none.
struct Lazy<'g> {
    globals: &'g Globals,
    context: tokio::sync::OnceCell<Context>,
}

impl Lazy<'_> {
    async fn get(&self) -> Result<&Context, Failure> {
        self.context
            .get_or_try_init(async || Context::load(self.globals))
            .await
    }
}

/// Loads one side.
async fn side(context: &Lazy<'_>, given: &str) -> Result<Side, Failure> {
    let path = Path::new(given);
    if path.is_file() {
        return match opened(path).await? {
            FileContents::Side(side) => Ok(*side),
            FileContents::Pair(_) => Err(Failure::usage(format!(
                "{} is a saved comparison: give it alone, without another side",
                text::clean(given)
            ))),
        };
    }
    let context = context.get().await?;
    let (deployment, rest) = match given.rsplit_once(':') {
        Some((deployment, rest)) if !deployment.is_empty() => (Some(deployment), rest),
        _ => (None, given),
    };
    let (thread, run) = match rest.split_once('/') {
        Some((thread, run)) => (thread, Some(run)),
        None => (rest, None),
    };
    let is_path = deployment.is_none() && (given.ends_with(".jsonl") || given.ends_with(".gz"));
    if is_path || thread.is_empty() || run.is_some_and(str::is_empty) {
        let shown = text::clean(given);
        return Err(Failure::new(
            if is_path { Exit::Failed } else { Exit::Usage },
            format!("{shown}: no such file, and not T, T/R or PROFILE/DEPLOYMENT:T[/R]"),
        ));
    }
    let (site, server) = server(context, deployment).await?;
    load(context, &site, &server, deployment, thread, run).await
}

/// Returns an agent server: the given one, else the chosen one.
async fn server(
    context: &Context,
    deployment: Option<&str>,
) -> Result<(Site, AgentServer), Failure> {
    let Some(deployment) = deployment else {
        return resolve::agent_server(context).await;
    };
    resolve::agent_server(&with_deployment(context, deployment)).await
}

async fn load(
    context: &Context,
    site: &Site,
    server: &AgentServer,
    deployment: Option<&str>,
    thread: &str,
    run: Option<&str>,
) -> Result<Side, Failure> {
    let profile = &site.profile.name;
    let deployment = deployment.or(context.globals.deployment.as_deref());
    let name = deployment.map(|name| name.strip_prefix(&format!("{profile}/")).unwrap_or(name));
    let place = name.map_or_else(|| profile.clone(), |name| format!("{profile} › {name}"));
    let request = SideRequest {
        place: text::clean(&place).into_owned(),
        profile: profile.clone(),
        thread: thread.into(),
        run: run.map(str::to_string),
    };
    load_side(server, &request)
        .await
        .map_err(|error| match error.kind {
            Kind::NotFound if error.hint.is_none() => {
                let what = if run.is_some() {
                    "thread or run"
                } else {
                    "thread"
                };
                Failure::failed(format!(
                    "{}: {what} not found\n  {error}",
                    text::clean(&place)
                ))
            }
            _ => error.into(),
        })
}

/// Opens a file on a thread of its own: a recording may be large.
async fn opened(path: &Path) -> Result<FileContents, Failure> {
    let owned = path.to_path_buf();
    let read = tokio::task::spawn_blocking(move || open_file(&owned)).await;
    let read = read.map_err(|e| Failure::failed(format!("reading the file failed: {e}")))?;
    read.map_err(|error| super::replay::unread(path, &error))
}

async fn saved(given: &str) -> Result<(Side, Side), Failure> {
    match opened(Path::new(given)).await? {
        FileContents::Pair(pair) => Ok(*pair),
        FileContents::Side(_) => {
            let shown = text::clean(given);
            Err(Failure::usage(format!(
                "{shown} is a recording: what should it be compared with? Give a second side"
            )))
        }
    }
}

fn create(path: &Path) -> Result<(String, RecordingFile), Failure> {
    let name = text::clean(&path.to_string_lossy()).into_owned();
    match RecordingFile::create(path) {
        Ok(file) => Ok((name, file)),
        Err(error) => Err(Failure::of_file("--save: ", &name, &error)),
    }
}

fn save((name, mut file): (String, RecordingFile), comparison: &Comparison) -> Result<(), Failure> {
    let line = write_pair(&comparison.a, &comparison.b);
    file.write(line.as_bytes())
        .and_then(|()| file.finish())
        .map_err(|error| Failure::failed(format!("--save: cannot write {name}: {error}")))
}

/// A run that is to be started for the comparison.
struct Planned<'a> {
    deployment: &'a str,
    site: Site,
    server: AgentServer,
    thread: String,
    plan: Plan,
}

/// Starts the same input on two servers, and loads both runs. Returns nothing for a dry run.
async fn both_regions(
    globals: &Globals,
    options: &Options,
    assistant: &str,
    b: &str,
) -> Result<Option<(Side, Side)>, Failure> {
    let signals = Signals::listen();
    let context = Context::load(globals)?;
    let given = options.input.as_deref().unwrap_or_default();
    let input = input::json("--input", given).await?;
    let plan = |deployment| planned(&context, deployment, assistant, &input, options.dry_run);
    let work = async { tokio::try_join!(plan(&options.a), plan(b)) };
    let (first, second) = signals.unless_stopped(work).await?;
    let previews = [&first.plan.preview, &second.plan.preview];
    if options.dry_run {
        act::print_dry_run(&previews, &options.output)?;
        return Ok(None);
    }
    previews.into_iter().for_each(act::print_preview);
    // Neither run is started a second time if the other one fails.
    let start = |planned| started(&context, &signals, planned);
    let (x, y) = match tokio::join!(start(&first), start(&second)) {
        (Ok(x), Ok(y)) => (x, y),
        (Err(one), Err(other)) => {
            let exit = if one.exit == other.exit {
                one.exit
            } else {
                Exit::Failed
            };
            let message = format!("{}\n{}", one.message, other.message);
            return Err(Failure::new(exit, message));
        }
        (Err(failure), Ok(run)) => return Err(only_one(failure, &second, &run)),
        (Ok(run), Err(failure)) => return Err(only_one(failure, &first, &run)),
    };
    let load = async |planned: &Planned<'_>, run: String| {
        let (deployment, thread) = (Some(planned.deployment), &planned.thread);
        let (site, server) = (&planned.site, &planned.server);
        load(&context, site, server, deployment, thread, Some(&run)).await
    };
    tokio::try_join!(load(&first, x), load(&second, y)).map(Some)
}

/// Returns a context whose suggested commands name this agent server.
fn with_deployment(context: &Context, deployment: &str) -> Context {
    let mut context = context.clone();
    context.globals.deployment = Some(deployment.to_string());
    context
}

fn only_one(failure: Failure, other: &Planned<'_>, run: &str) -> Failure {
    let Planned { site, thread, .. } = other;
    let message = format!(
        "{}\n  the other run was started: {}, thread {thread}, run {run}",
        failure.message, site.profile.name
    );
    Failure { message, ..failure }
}

async fn planned<'a>(
    context: &Context,
    deployment: &'a str,
    assistant: &str,
    input: &Value,
    is_dry: bool,
) -> Result<Planned<'a>, Failure> {
    let (site, server) = server(context, Some(deployment)).await?;
    if !is_dry {
        context.check_write(&site.profile)?;
    }
    let assistant = resolve::assistant(&server, assistant).await?;
    let server = server.retrying(Retry::NONE);
    let thread = uuid::Uuid::new_v4().to_string();
    let intent = ThreadIntent::RunOnNew {
        thread: thread.clone(),
        assistant,
        input: input.clone(),
    };
    let plan = server.plan_on_thread(&intent).await?;
    Ok(Planned {
        deployment,
        site,
        server,
        thread,
        plan,
    })
}

/// Starts a planned run and waits for its end. Returns its id.
async fn started(
    context: &Context,
    signals: &Signals,
    planned: &Planned<'_>,
) -> Result<String, Failure> {
    let (server, thread) = (&planned.server, &planned.thread);
    let context = with_deployment(context, planned.deployment);
    let acted = planned.plan.apply().await;
    let options = context.globals.where_to();
    let acted = acted.map_err(|failed| act::not_started(failed, &options, thread))?;
    let (Some(started), _) = act::made(&acted) else {
        return Err(Failure::failed("the server's answer names no run"));
    };
    let run = started.run_id.clone();
    // How it ended is a part of the comparison.
    match act::follow(&context, signals, server, thread, &run).await {
        (Err(failure), None) => Err(failure),
        _ => Ok(run),
    }
}

fn print(comparison: &Comparison, output: &ResultOutput, ascii: bool) -> Result<(), Failure> {
    match output.format() {
        Format::Table => output::print(&table::table(comparison, ascii, color::is_on()), false),
        Format::Json => {
            let mut whole = summary(comparison);
            whole["rows"] = comparison
                .rows
                .iter()
                .map(|row| comparison.row_json(row))
                .collect();
            output::print(&format!("{whole:#}\n"), true)
        }
        Format::Jsonl => {
            let mut lines = String::new();
            for row in &comparison.rows {
                let mut json = json!({"kind": "row"});
                if let (Some(all), Value::Object(fields)) =
                    (json.as_object_mut(), comparison.row_json(row))
                {
                    all.extend(fields);
                }
                lines.push_str(&format!("{json}\n"));
            }
            let mut last = json!({"kind": "comparison"});
            if let (Some(all), Value::Object(fields)) = (last.as_object_mut(), summary(comparison))
            {
                all.extend(fields);
            }
            output::print(&format!("{lines}{last}\n"), true)
        }
    }
}

/// Returns the comparison as JSON, without its rows.
fn summary(comparison: &Comparison) -> Value {
    let side = |side: &Side, totals: &Totals| {
        json!({
            "name": side.name, "profile": side.profile, "source": side.source, "graph_id": side.graph_id,
            "assistant_id": side.assistant_id, "status": side.status, "is_running": side.is_running,
            "steps": side.steps.len(), "steps_known": !side.has_unknown_steps(), "took_ms": totals.took_ms, "waiting_ms": totals.waiting_ms,
            "input_tokens": totals.tokens.map(|(input, _)| input), "output_tokens": totals.tokens.map(|(_, output)| output),
            "calls": totals.calls, "retries": totals.retries, "failed_steps": totals.failed,
        })
    };
    let first = comparison
        .first
        .and_then(|first| comparison.rows.get(first));
    let state = comparison.state_difference().map(|difference| {
        difference
            .changes
            .iter()
            .map(|change| {
                let (before, after) = values(&difference, change);
                json!({"path": difference.path(change), "kind": word(change.kind), "a": before, "b": after})
            })
            .collect::<Vec<_>>()
    });
    json!({
        "same": comparison.is_same(), "comparable": comparison.not_comparable().is_none(),
        "same_input": comparison.is_same_input(),
        "a": side(&comparison.a, &comparison.totals[0]), "b": side(&comparison.b, &comparison.totals[1]),
        "first_difference": first.map(|row| comparison.row_json(row)),
        "state": state, "notes": comparison.notes,
    })
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "only_b",
        ChangeKind::Removed => "only_a",
        ChangeKind::Changed => "differs",
        ChangeKind::Moved => "moved",
    }
}

/// Returns the values of a change in A and in B.
fn values(
    difference: &Difference,
    change: &runtail_stream::projection::difference::Change,
) -> (Option<Value>, Option<Value>) {
    let value = |text: &str| serde_json::from_str(text).ok();
    let old = (change.kind != ChangeKind::Added)
        .then(|| value(difference.old.value(change.old)))
        .flatten();
    let new = (change.kind != ChangeKind::Removed)
        .then(|| value(difference.new.value(change.new)))
        .flatten();
    (old, new)
}
