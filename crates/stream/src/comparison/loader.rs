//! Loads a thread or a run from its server. Only reads.

use super::history::History;
use super::steps::{Side, SideSource, StepState};
use crate::is_endpoint_missing;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use runtail_core::model::RunFacts;
use runtail_core::text::{clean, short_id};

/// Number of checkpoints of a page. Each repeats all values.
const PAGE: usize = 50;
/// Maximum number of checkpoints to load.
const MAX_CHECKPOINTS: usize = 2_000;
/// Maximum size of a page, in bytes. If a page is larger, a shorter one is requested.
const MAX_PAGE: usize = 32 << 20;
/// Maximum number of runs to list, to number them, and the maximum size of the list. Each repeats its input.
const MAX_RUNS: usize = 200;
const MAX_LIST: usize = 16 << 20;

/// A thread or a run to load.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SideRequest {
    /// Where it is, for titles: `eu › support-bot`.
    pub place: String,
    /// The profile.
    pub profile: String,
    pub thread: String,
    /// The run; none for the whole thread.
    pub run: Option<String>,
}

/// Loads one side.
///
/// # Errors
/// [`Kind::NotFound`] if the thread or the run doesn't exist, or if the server offers no history; see [`ApiError`].
pub async fn load_side(server: &AgentServer, request: &SideRequest) -> Result<Side, ApiError> {
    let SideRequest {
        place,
        profile,
        thread,
        run,
    } = request;
    let (runs, is_all) = match server.runs_raw(thread, MAX_RUNS, 0, MAX_LIST).await {
        Ok(rows) => (
            rows.iter().filter_map(|row| read_run(row.get())).collect(),
            rows.len() < MAX_RUNS,
        ),
        Err(error) if matches!(error.kind, Kind::TooLarge(_)) || error.may_lack_call() => {
            (Vec::new(), false)
        }
        Err(error) => return Err(error),
    };
    let mut record = run
        .as_ref()
        .and_then(|id| runs.iter().position(|run| run.run_id == *id));
    let mut runs: Vec<RunFacts> = runs;
    let mut unknown = None;
    // The list may be too long, or not offered.
    if let Some(id) = run.as_ref().filter(|_| record.is_none()) {
        match server.run_row(thread, id).await {
            Ok(row) => runs.extend(read_run(&row.to_string())),
            Err(error) if error.may_lack_call() => unknown = Some(error),
            Err(error) => return Err(error),
        }
        record = runs.iter().position(|run| run.run_id == *id);
    }
    let source = SideSource::Thread {
        server: server.base().to_string(),
        thread_id: thread.clone(),
        run_id: run.clone(),
    };
    let number = record.filter(|_| is_all).map(|at| runs.len() - at);
    let mut side = Side::new(String::new(), source);
    side.profile.clone_from(profile);
    let history = match load_history(server, thread, run.as_deref()).await {
        Ok(history) => history,
        Err(error) if error.may_lack_call() => {
            return Err(without_history(server, thread, error).await);
        }
        Err(error) => return Err(error),
    };
    // Some servers answer with an empty history for a thread that doesn't exist.
    if history.len() == 0
        && let Err(error) = server.thread_row(thread).await
        && error.kind == Kind::NotFound
    {
        return Err(error);
    }
    let record = record.and_then(|at| runs.get(at));
    history.fill(
        &mut side,
        run.as_deref().map(|id| (id, record)),
        runs.first(),
    );
    // Neither the list of runs nor the history knows the run.
    if let Some(error) = unknown.filter(|_| side.steps.is_empty()) {
        return Err(error);
    }
    let of = if run.is_some() { record } else { runs.first() };
    if let Some(of) = of {
        side.status.clone_from(&of.status);
        // Python and JavaScript call a run that asked a question a success.
        if of.status == "success"
            && side
                .steps
                .iter()
                .any(|step| step.state == StepState::Waiting)
        {
            side.status = "interrupted".into();
        }
        side.is_running = of.is_active();
        side.revision.clone_from(&of.revision);
        side.retries = of.attempt.unwrap_or(1).saturating_sub(1);
        side.assistant_id = side
            .assistant_id
            .take()
            .or(Some(of.assistant_id.clone()).filter(|id| !id.is_empty()));
    }
    // Aegra's history doesn't name the graph.
    if let Some(id) = side
        .assistant_id
        .clone()
        .filter(|_| side.graph_id.is_none())
    {
        side.graph_id = server
            .assistant_row(&id)
            .await
            .ok()
            .and_then(|row| row["graph_id"].as_str().map(str::to_string));
    }
    if history.is_cut {
        side.notes.push(format!(
            "only the newest {} checkpoints are compared",
            history.len()
        ));
    }
    let what = side
        .graph_id
        .as_deref()
        .map_or("thread".into(), |graph| clean(graph).into_owned());
    // The end of an id tells threads apart; its start is a time.
    let shown = clean(thread).into_owned();
    let end = shown
        .char_indices()
        .rev()
        .nth(3)
        .map_or(&*shown, |(at, _)| &shown[at..]);
    side.name = format!("{place} › {what} {end}");
    match (run, number) {
        (Some(_), Some(number)) => side.name.push_str(&format!(", run {number}")),
        (Some(id), None) => side.name.push_str(&format!(", run {}", short_id(id))),
        (None, _) => {}
    }
    side.limit();
    Ok(side)
}

/// Returns why there is no history: the thread doesn't exist, or the server offers none.
async fn without_history(server: &AgentServer, thread: &str, error: ApiError) -> ApiError {
    match server.thread_row(thread).await {
        Err(missing)
            if missing.kind == Kind::NotFound
                && !is_endpoint_missing(server, &mut None::<ServerKind>, &missing)
                    .await
                    .unwrap_or(true) =>
        {
            missing
        }
        _ => {
            let hint = "this server offers no history: record both runs with `--record FILE`, and compare the recordings";
            ApiError {
                hint: Some(hint.into()),
                ..error
            }
        }
    }
}

fn read_run(json: &str) -> Option<RunFacts> {
    RunFacts::read_all(&format!("[{json}]")).ok()?.pop()
}

async fn load_history(
    server: &AgentServer,
    thread: &str,
    run: Option<&str>,
) -> Result<History, ApiError> {
    let mut history = History::default();
    let mut pages = server
        .history_pages(thread, None, (MAX_CHECKPOINTS, PAGE), MAX_PAGE)
        .dropping();
    while let Some(rows) = pages.next_new().await? {
        rows.iter().for_each(|row| history.add(row.get(), run));
        if run.map_or_else(|| history.is_complete(), |run| history.is_complete_for(run)) {
            return Ok(history);
        }
    }
    history.is_cut = !pages.is_whole();
    Ok(history)
}
