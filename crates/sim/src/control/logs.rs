//! Build and server logs, generated from the timetable: they grow over time, and a line never changes.

use super::timetable::{BUILDING, Phase, Revision, ScheduledOutcome};
use crate::prelude::*;

/// Maximum number of server lines.
const WINDOW: u64 = 400;
/// Seconds between two server lines in real time.
const PACE: f64 = 4.0;

/// One line of a log.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its number in its log.
    pub number: u64,
    pub id: String,
    /// When it was written.
    pub at: Timestamp,
    /// `INFO`, `WARNING`, `ERROR` or `DEBUG`.
    pub level: &'static str,
    /// Its message.
    pub message: String,
}

impl Line {
    fn json(&self, ids: bool) -> Value {
        let at = self.at.as_millisecond();
        let mut line =
            json!({"id": self.id, "timestamp": at, "level": self.level, "message": self.message});
        if let Some(line) = line.as_object_mut().filter(|_| !ids) {
            line.shift_remove("id");
        }
        line
    }
}

/// Returns the lines of a revision's build so far.
pub fn build(revision: &Revision, phase: &Phase, now: Timestamp, speed: f64) -> Vec<Line> {
    let early = ["SKIPPED", "CREATING", "QUEUED", "AWAITING_BUILD"];
    if !revision.builds() || early.contains(&&*phase.status) {
        return Vec::new();
    }
    let script = build_script(revision);
    let pace = (BUILDING - 1.0) / script.len() as f64 / speed;
    let lines = script.into_iter().enumerate();
    let line = |(n, (level, message)): (usize, _)| Line {
        number: n as u64,
        id: format!("{}-b{n:03}", &revision.id[..8]),
        at: before(phase.build_at, -(n as f64 * pace)),
        level,
        message,
    };
    let written = |line: &Line| line.at <= now.min(phase.end);
    lines.map(line).take_while(written).collect()
}

fn build_script(revision: &Revision) -> Vec<(&'static str, String)> {
    let text = |key: &str| revision.config[key].as_str();
    let commit = text("repo_commit_sha").unwrap_or("unknown");
    let commit = &commit[..7.min(commit.len())];
    let of_build = |text: &str| format!("Step #1 - \"build\": {text}");
    let mut lines = vec![match text("source_tarball_path") {
        Some(archive) => format!("Starting build of {archive}"),
        None => format!(
            "Starting build of {} @ {commit}",
            text("repo_ref").unwrap_or("main")
        ),
    }];
    if !revision.title.is_empty() {
        lines.push(format!("HEAD is now at {commit} {}", revision.title));
    }
    lines.push("Reading langgraph.json: 3 graphs, python 3.11".into());
    lines.push("Step #0 - \"pull-base\": Pulling langchain/langgraph-api:3.11-wolfi".into());
    lines.extend((0..4).map(|layer| {
        let layer = stable_hex(&format!("layer {layer}"), 12);
        format!("Step #0 - \"pull-base\": {layer}: Pull complete")
    }));
    lines.extend(STEPS.map(of_build));
    let mut lines: Vec<_> = lines.into_iter().map(|text| ("INFO", text)).collect();
    if revision.fate == ScheduledOutcome::BuildFails {
        lines.extend(FAILURE.map(|text| ("ERROR", of_build(text))));
        lines.push((
            "ERROR",
            "ERROR: build step 1 \"gcr.io/cloud-builders/docker\" failed: step exited with non-zero status: 1".into(),
        ));
        return lines;
    }
    let digest = stable_hex(&revision.id, 64);
    let end = [
        of_build(&format!("#10 writing image sha256:{digest}")),
        "Step #2 - \"push\": The push refers to repository [us-docker.pkg.dev/agents/app]".into(),
        format!("Step #2 - \"push\": latest: digest: sha256:{digest} size: 4289"),
        "DONE".into(),
    ];
    let success = SUCCESS.map(of_build).into_iter().chain(end);
    lines.extend(success.map(|text| ("INFO", text)));
    let warning = of_build("warning: `app` has no lock file; versions were resolved now");
    lines.insert(14, ("WARNING", warning));
    lines
}

const STEPS: [&str; 9] = [
    "#5 [1/6] FROM docker.io/langchain/langgraph-api:3.11-wolfi",
    "#6 [2/6] ADD . /deps/app",
    "#7 [3/6] RUN PYTHONDONTWRITEBYTECODE=1 uv pip install --system -c /api/constraints.txt -e /deps/*",
    "#7 4.1  + langchain-core==1.7.2",
    "#7 4.1  + langgraph==1.2.22",
    "#7 4.1  + langgraph-sdk==0.4.14",
    "#7 4.1  + httpx==0.28.1",
    "#7 4.1  + pydantic==2.13.0",
    "#7 4.1  + tiktoken==0.12.0",
];
const FAILURE: [&str; 4] = [
    "#7 6.874   × No solution found when resolving dependencies:",
    "#7 6.874   ╰─▶ Because app==0.4.0 depends on langchain-openai>=2.1 and langchain-openai>=2.1 depends on",
    "#7 6.874       openai>=3.0, and the constraints pin openai==2.32.0, we can conclude that app==0.4.0 cannot be used.",
    "#7 ERROR: process \"/bin/sh -c uv pip install --system …\" did not complete successfully: exit code: 1",
];
const SUCCESS: [&str; 4] = [
    "#8 [4/6] RUN langgraph check /deps/app",
    "#8 1.204 support: ok · research: ok · approval: ok",
    "#9 [5/6] RUN pip uninstall -y pip setuptools wheel",
    "#10 exporting layers 6.2s done",
];

/// Returns the lines of the server since the revision was deployed.
pub fn server(revision: &Revision, phase: &Phase, now: Timestamp, speed: f64) -> Vec<Line> {
    let early = ["BUILD_FAILED", "SKIPPED", "QUEUED", "CREATING"];
    if phase.deploy_at > now || early.contains(&&*phase.status) {
        return Vec::new();
    }
    // A server that did not become ready logs nothing after the rollout was aborted.
    let fails = revision.fate == ScheduledOutcome::DeployFails;
    let now = if fails { now.min(phase.end) } else { now };
    let age = (now.as_nanosecond() - phase.deploy_at.as_nanosecond()) as f64 / 1e9 * speed;
    let count = (age / PACE) as u64 + 1;
    let line = |number: u64| {
        let (level, message) = server_line(revision, number);
        Line {
            number,
            id: format!("{}-s{number}", &revision.id[..8]),
            at: before(phase.deploy_at, -(number as f64 * PACE / speed)),
            level,
            message,
        }
    };
    (count.saturating_sub(WINDOW)..count).map(line).collect()
}

fn server_line(revision: &Revision, number: u64) -> (&'static str, String) {
    let fails = revision.fate == ScheduledOutcome::DeployFails;
    let (level, text) = match number {
        0 => ("INFO", "Starting server: 1 worker, 10 jobs per worker"),
        1 => ("INFO", "Connected to Postgres 16.4 and Redis 7.4"),
        2 if fails => ("ERROR", "ModuleNotFoundError: No module named 'app.graph'"),
        3 if fails => ("ERROR", "Application startup failed. Exiting."),
        2 => ("INFO", "Registered graphs: support, research, approval"),
        3 => (
            "INFO",
            "Application startup complete. Uvicorn running on 0.0.0.0:8000",
        ),
        _ => return request_line(stable_number(&format!("{}{number}", revision.id))),
    };
    (level, text.to_owned())
}

fn request_line(dice: u64) -> (&'static str, String) {
    let thread = stable_hex(&format!("thread {}", dice % 40), 12);
    let millis = 8 + dice % 900;
    match dice % 23 {
        0 => (
            "WARNING",
            format!(
                "Slow request: POST /threads/search took {} ms",
                millis + 1400
            ),
        ),
        1 => (
            "ERROR",
            format!(
                "Background run failed: thread …{thread}: openai.RateLimitError: 429 Too Many Requests"
            ),
        ),
        2 => (
            "WARNING",
            format!(
                "Retrying tool search_docs (attempt 2 of 3): 接続がタイムアウトしました {millis} ms"
            ),
        ),
        3..=6 => (
            "INFO",
            format!("Starting background run thread=…{thread} queue=0"),
        ),
        7..=10 => (
            "INFO",
            format!(
                "Background run succeeded thread=…{thread} run_exec_ms={}",
                millis * 9
            ),
        ),
        11 => (
            "DEBUG",
            format!(
                "Checkpoint written thread=…{thread} bytes={}",
                dice % 90_000
            ),
        ),
        12..=15 => (
            "INFO",
            format!("POST /threads/…{thread}/runs/stream 200 {millis}ms"),
        ),
        16..=18 => (
            "INFO",
            format!("GET /threads/…{thread}/state 200 {}ms", millis % 60),
        ),
        _ => ("INFO", format!("GET /ok 200 {}ms", millis % 9 + 1)),
    }
}

/// A query for log lines.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Newest first.
    pub descending: bool,
    /// Maximum number of lines.
    pub limit: usize,
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// The lowest level.
    pub level: Option<String>,
    /// A part of the text.
    pub query: Option<String>,
    /// Start time.
    pub start: Option<Timestamp>,
    /// End time.
    pub end: Option<Timestamp>,
}

fn rank(level: &str) -> usize {
    let levels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
    levels.iter().position(|word| *word == level).unwrap_or(1)
}

/// A page of lines and the cursor of the next. There is always a cursor: without one the official client would read the
/// same lines again.
pub fn page(lines: &[Line], wanted: &Wanted, ids: bool) -> (Vec<Value>, String) {
    let cursor = wanted.cursor.as_deref();
    let cursor = cursor.and_then(|cursor| cursor.trim_start_matches('n').parse::<u64>().ok());
    let level = wanted
        .level
        .as_ref()
        .map(|level| rank(&level.to_uppercase()));
    let query = wanted.query.as_ref().map(|query| query.to_lowercase());
    let fits = |line: &&Line| {
        level.is_none_or(|level| rank(line.level) >= level)
            && query
                .as_ref()
                .is_none_or(|query| line.message.to_lowercase().contains(query))
            && wanted.start.is_none_or(|start| line.at >= start)
            && wanted.end.is_none_or(|end| line.at <= end)
            && cursor.is_none_or(|at| (line.number < at) == wanted.descending)
    };
    let mut found: Vec<&Line> = lines.iter().filter(fits).collect();
    if wanted.descending {
        found.reverse();
    }
    found.truncate(wanted.limit);
    let after = u64::from(!wanted.descending);
    let next = found
        .last()
        .map_or(cursor.unwrap_or(0), |last| last.number + after);
    let found = found.into_iter().map(|line| line.json(ids));
    (found.collect(), format!("n{next}"))
}
