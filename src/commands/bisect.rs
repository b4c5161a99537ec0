//! `bisect T PATH EXPECTED`: the step at which a value of a thread's state first became wrong.

use super::replay;
use crate::exit::offered;
use crate::prelude::*;
use runtail_core::model::shell_word;
use runtail_stream::bisect::{
    BisectQuery, Bisection, HistoryError, MAX_CHECKPOINTS, Observation, RecordingBisect,
    StatePlace, bisect_history,
};
use runtail_stream::{ReadError, Reader};

/// Number of records between two yields.
const TURN: usize = 1024;

/// Options of `bisect`.
#[derive(Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct Options {
    /// The thread's id, or a recording
    #[arg(value_name = "T|FILE")]
    of: String,
    /// The path of the value in the state, as in the dashboard: amount, messages[-1].content, a["b c"]
    #[arg(value_name = "PATH")]
    path: String,
    /// What is right there: JSON or =JSON, !=JSON, exists, or missing
    #[arg(value_name = "EXPECTED", allow_hyphen_values = true)]
    expected: String,
    /// Check the branch that ends at this checkpoint (default: the newest); `threads history T --tree` shows them
    #[arg(long, value_name = "C", value_parser = filled)]
    checkpoint: Option<String>,
    #[command(flatten)]
    output: ResultOutput,
}

const NOTES: &str = "\
Checks every state of the thread's branch, from the oldest to the newest, because a value can become right again. A missing value \
is not right, except with != and missing. An EXPECTED that is not JSON is a text: gold means \"gold\". Numbers are equal if their \
values are: 1 and 1.0.

The result is the first step after which the value was no longer right, with its node, run and time, and the values before and \
after it. A table also lists every state in which the value changed. As JSON, `result` is became_wrong, never_right or \
never_wrong; `before` and `wrong` are the two states, and `changes` are the states in which the value differs from the one before.

In a recording, states are those of the graph itself that the stream sent, and `event` is the number of their event. Record with \
the modes values and updates to see the nodes.

Exit codes: 0 the question is answered, also if the value was never right or never wrong · 1 no such thread or checkpoint, no \
state, or a server without histories · 2 an invalid path or expected value · 3 not allowed · 5 the network failed.";

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let Options {
        of,
        path,
        expected,
        checkpoint,
        output,
    } = options;
    let query = BisectQuery::parse(&path, &expected).map_err(Failure::usage)?;
    let (what, found) = match Path::new(&of).is_file() {
        true if checkpoint.is_some() => {
            return Err(Failure::usage(
                "--checkpoint names a checkpoint of a thread; a recording has events",
            ));
        }
        true => ("recording", recorded(Path::new(&of), query.clone()).await?),
        false => (
            "thread_id",
            in_history(globals, &of, &query, checkpoint.as_deref()).await?,
        ),
    };
    if found.checked == 0 {
        let why = "contains no state: it has no event of the modes values, checkpoints or debug";
        return Err(Failure::failed(format!("{} {why}", text::clean(&of))));
    }
    if found.is_cut {
        let read = text::count(found.checked as u64);
        complain(format!(
            "warning: only the newest {read} states of the branch were checked; the others are not there"
        ));
    }
    if output.format() == Format::Table {
        return table(&found, &query, &output).map(|()| Exit::Done);
    }
    let mut row = json!({ what: of, "path": path, "expected": query.expected.to_string() });
    if let (Some(row), Value::Object(result)) = (row.as_object_mut(), result(&found, &query)) {
        row.extend(result);
    }
    output.one(&row)?;
    Ok(Exit::Done)
}

async fn in_history(
    globals: &Globals,
    thread: &str,
    query: &BisectQuery,
    tip: Option<&str>,
) -> Result<Bisection, Failure> {
    let context = Context::load(globals)?;
    let (_, server) = resolve::agent_server(&context).await?;
    let name = || text::clean(thread).into_owned();
    match bisect_history(&server, thread, query, tip).await {
        Ok(found) => Ok(found),
        Err(HistoryError::Request(error)) => {
            offered(&server, Err(*error), "reading a thread's history").await
        }
        Err(HistoryError::Empty) => Err(Failure::failed(format!(
            "thread {} has no checkpoint: nothing ran on it",
            name()
        ))),
        Err(HistoryError::NoCheckpoint) => {
            let (id, thread) = (text::clean(tip.unwrap_or_default()).into_owned(), name());
            let most = text::count(MAX_CHECKPOINTS as u64);
            let what = format!("thread {thread} has no checkpoint {id} among its newest {most}");
            Err(Failure::failed(format!(
                "{what}\n  `runtail threads history {} --tree` lists them",
                shell_word(&thread)
            )))
        }
    }
}

async fn recorded(path: &Path, query: BisectQuery) -> Result<Bisection, Failure> {
    let reader = Reader::open(path).map_err(|error| replay::unread(path, &error))?;
    let mut reading = RecordingBisect::new(query);
    for (n, record) in reader.enumerate() {
        match record {
            Ok(record) => reading.apply(record),
            Err(error @ ReadError::Line { .. }) => complain(format!("runtail: {error}")),
            Err(error) => return Err(Failure::failed(error.to_string())),
        }
        if n % TURN == TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    Ok(reading.finish())
}

fn place(at: &StatePlace) -> Value {
    let mut row = json!({"step": at.step, "nodes": at.nodes, "run_id": at.run_id, "at": at.at});
    match at.event {
        Some(event) => row["event"] = event.0.into(),
        None => row["checkpoint_id"] = json!(at.checkpoint),
    }
    row
}

/// Returns a state as a row. A value that is too large is given as the beginning of its JSON.
fn state(state: &Observation) -> Value {
    let mut row = place(&state.at);
    let value = state.value.as_deref();
    row["exists"] = value.is_some().into();
    row["right"] = state.is_right.into();
    match value.map(|json| (state.is_whole(), json)) {
        Some((true, json)) => row["value"] = serde_json::from_str(json).unwrap_or_default(),
        Some((false, start)) => {
            row["value_start"] = start.into();
            row["value_bytes"] = state.size.into();
        }
        None => row["value"] = Value::Null,
    }
    row
}

fn result(found: &Bisection, query: &BisectQuery) -> Value {
    let (before, wrong) = match &found.first_wrong {
        Some((before, wrong)) => (state(before), state(wrong)),
        None => (Value::Null, Value::Null),
    };
    json!({
        "result": found.verdict().as_str(),
        "detail": found.sentence(query),
        "before": before,
        "wrong": wrong,
        "times_wrong": found.times_wrong,
        "right_now": found.is_right_now(),
        "first_right": found.first_right.as_ref().map(state),
        "states": found.checked,
        "complete": !found.is_cut,
        "changes": found.changes.iter().map(state).collect::<Vec<_>>(),
        "more_changes": found.more_changes,
    })
}

fn table(found: &Bisection, query: &BisectQuery, output: &ResultOutput) -> Result<(), Failure> {
    output::print(
        &format!("{}\n\n", text::clean(&found.sentence(query))),
        false,
    )?;
    let first_wrong = found.first_wrong.as_ref().map(|(_, wrong)| &wrong.at);
    let row = |change: &Observation| {
        let mut row = state(change);
        row["is"] = match change {
            _ if Some(&change.at) == first_wrong => "first wrong",
            _ if change.is_right => "right",
            _ => "wrong",
        }
        .into();
        row["text"] = change
            .value
            .as_deref()
            .map_or("(missing)", |value| value)
            .into();
        row
    };
    let rows: Vec<Value> = found.changes.iter().map(row).collect();
    output.rows(
        &rows,
        &columns(found.changes.iter().any(|change| change.at.event.is_some())),
    )?;
    if found.more_changes > 0 {
        complain(format!(
            "and {} more changes: -o json counts them",
            text::count(found.more_changes as u64)
        ));
    }
    Ok(())
}

fn columns(is_recording: bool) -> [Column; 7] {
    let names = |row: &Value| {
        let nodes = row["nodes"].as_array().into_iter().flatten().map(cell);
        nodes.collect::<Vec<_>>().join(", ")
    };
    [
        field_column("STEP", "/step"),
        column("NODE", names),
        output::status_column("VALUE IS", color::of_bisect, |row| cell(&row["is"])),
        if is_recording {
            field_column("EVENT", "/event")
        } else {
            field_column("CHECKPOINT", "/checkpoint_id")
        },
        column("RUN", |row| text::short_id(text_of(row, "run_id"))),
        column("AT", |row| {
            let at = row["at"].as_str().and_then(runtail_core::model::parse_time);
            at.map(|at| at.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
                .unwrap_or_default()
        }),
        column("VALUE", |row| text::seen(text_of(row, "text"), 60)),
    ]
}
