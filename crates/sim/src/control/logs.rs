//! Build and server logs, generated from the timetable: they grow over time, and a line never changes.

use super::timetable::{BUILDING, Phase, Revision, ScheduledOutcome};
use crate::ids::{before, stable_hex, stable_number};
use jiff::Timestamp;
use serde_json::{Value, json};

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
        let (at, level, message) = (self.at.as_millisecond(), self.level, &self.message);
        match ids {
            true => json!({"id": self.id, "timestamp": at, "level": level, "message": message}),
            false => json!({"timestamp": at, "level": level, "message": message}),
        }
    }
}

/// Returns the lines of a revision's build so far.
pub fn build(revision: &Revision, phase: &Phase, now: Timestamp, speed: f64) -> Vec<Line> {
    if !revision.builds()
        || matches!(
            phase.status.as_str(),
            "SKIPPED" | "CREATING" | "QUEUED" | "AWAITING_BUILD"
        )
    {
        return Vec::new();
    }
    let script = build_script(revision);
    let last = script.len().max(1) as f64;
    script
        .into_iter()
        .enumerate()
        .map(|(n, (level, message))| Line {
            number: n as u64,
            id: format!("{}-b{n:03}", &revision.id[..8.min(revision.id.len())]),
            at: before(
                phase.build_at,
                -(n as f64 / last * (BUILDING - 1.0) / speed.max(1e-6)),
            ),
            level,
            message,
        })
        .take_while(|line| line.at <= now && line.at <= phase.end)
        .collect()
}

fn build_script(revision: &Revision) -> Vec<(&'static str, String)> {
    let text = |key: &str| revision.config.get(key).and_then(Value::as_str);
    let commit = text("repo_commit_sha").unwrap_or("unknown");
    let digest = stable_hex(&revision.id, 64);
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    let mut say = |text: String| lines.push(("INFO", text));
    match text("source_tarball_path") {
        Some(archive) => say(format!("Starting build of {archive}")),
        None => {
            let reference = text("repo_ref").unwrap_or("main");
            say(format!(
                "Starting build of {reference} @ {}",
                &commit[..7.min(commit.len())]
            ));
        }
    }
    if !revision.title.is_empty() {
        say(format!(
            "HEAD is now at {} {}",
            &commit[..7.min(commit.len())],
            revision.title
        ));
    }
    say("Reading langgraph.json: 3 graphs, python 3.11".into());
    say("Step #0 - \"pull-base\": Pulling langchain/langgraph-api:3.11-wolfi".into());
    for layer in 0..4 {
        say(format!(
            "Step #0 - \"pull-base\": {}: Pull complete",
            stable_hex(&format!("layer {layer}"), 12)
        ));
    }
    say("Step #1 - \"build\": #5 [1/6] FROM docker.io/langchain/langgraph-api:3.11-wolfi".into());
    say("Step #1 - \"build\": #6 [2/6] ADD . /deps/app".into());
    say("Step #1 - \"build\": #7 [3/6] RUN PYTHONDONTWRITEBYTECODE=1 uv pip install --system -c /api/constraints.txt -e /deps/*".into());
    for (package, version) in [
        ("langchain-core", "1.7.2"),
        ("langgraph", "1.2.22"),
        ("langgraph-sdk", "0.4.14"),
        ("httpx", "0.28.1"),
        ("pydantic", "2.13.0"),
        ("tiktoken", "0.12.0"),
    ] {
        say(format!(
            "Step #1 - \"build\": #7 4.1  + {package}=={version}"
        ));
    }
    if revision.fate == ScheduledOutcome::BuildFails {
        let mut fail = |text: &str| lines.push(("ERROR", format!("Step #1 - \"build\": {text}")));
        fail("#7 6.874   × No solution found when resolving dependencies:");
        fail(
            "#7 6.874   ╰─▶ Because app==0.4.0 depends on langchain-openai>=2.1 and langchain-openai>=2.1 depends on",
        );
        fail(
            "#7 6.874       openai>=3.0, and the constraints pin openai==2.32.0, we can conclude that app==0.4.0 cannot be used.",
        );
        fail(
            "#7 ERROR: process \"/bin/sh -c uv pip install --system …\" did not complete successfully: exit code: 1",
        );
        lines.push((
            "ERROR",
            "ERROR: build step 1 \"gcr.io/cloud-builders/docker\" failed: step exited with non-zero status: 1".into(),
        ));
        return lines;
    }
    let mut say = |text: String| lines.push(("INFO", text));
    lines_of_success(&mut say, &digest);
    lines.insert(
        14,
        (
            "WARNING",
            "Step #1 - \"build\": warning: `app` has no lock file; versions were resolved now"
                .into(),
        ),
    );
    lines
}

fn lines_of_success(say: &mut impl FnMut(String), digest: &str) {
    say("Step #1 - \"build\": #8 [4/6] RUN langgraph check /deps/app".into());
    say("Step #1 - \"build\": #8 1.204 support: ok · research: ok · approval: ok".into());
    say("Step #1 - \"build\": #9 [5/6] RUN pip uninstall -y pip setuptools wheel".into());
    say("Step #1 - \"build\": #10 exporting layers 6.2s done".into());
    say(format!(
        "Step #1 - \"build\": #10 writing image sha256:{digest}"
    ));
    say("Step #2 - \"push\": The push refers to repository [us-docker.pkg.dev/agents/app]".into());
    say(format!(
        "Step #2 - \"push\": latest: digest: sha256:{digest} size: 4289"
    ));
    say("DONE".into());
}

/// Returns the lines of the server since the revision was deployed.
pub fn server(revision: &Revision, phase: &Phase, now: Timestamp, speed: f64) -> Vec<Line> {
    if phase.deploy_at > now
        || matches!(
            phase.status.as_str(),
            "BUILD_FAILED" | "SKIPPED" | "QUEUED" | "CREATING"
        )
    {
        return Vec::new();
    }
    // A server that did not become ready logs nothing after the rollout was aborted.
    let now = if revision.fate == ScheduledOutcome::DeployFails {
        now.min(phase.end)
    } else {
        now
    };
    let age = (now.as_nanosecond() - phase.deploy_at.as_nanosecond()) as f64 / 1e9 * speed;
    let count = (age / PACE) as u64 + 1;
    (count.saturating_sub(WINDOW)..count)
        .map(|number| {
            let (level, message) = server_line(revision, number);
            Line {
                number,
                id: format!("{}-s{number}", &revision.id[..8.min(revision.id.len())]),
                at: before(phase.deploy_at, -(number as f64 * PACE / speed.max(1e-6))),
                level,
                message,
            }
        })
        .collect()
}

fn server_line(revision: &Revision, number: u64) -> (&'static str, String) {
    let dice = stable_number(&format!("{}{number}", revision.id));
    match number {
        0 => {
            return (
                "INFO",
                "Starting server: 1 worker, 10 jobs per worker".into(),
            );
        }
        1 => return ("INFO", "Connected to Postgres 16.4 and Redis 7.4".into()),
        2 if revision.fate == ScheduledOutcome::DeployFails => {
            return (
                "ERROR",
                "ModuleNotFoundError: No module named 'app.graph'".into(),
            );
        }
        3 if revision.fate == ScheduledOutcome::DeployFails => {
            return ("ERROR", "Application startup failed. Exiting.".into());
        }
        2 => {
            return (
                "INFO",
                "Registered graphs: support, research, approval".into(),
            );
        }
        3 => {
            return (
                "INFO",
                "Application startup complete. Uvicorn running on 0.0.0.0:8000".into(),
            );
        }
        _ => {}
    }
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
pub struct WantedRevision {
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
    ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
        .iter()
        .position(|word| *word == level)
        .unwrap_or(1)
}

/// A page of lines and the cursor of the next. There is always a cursor: without one the official client would read the
/// same lines again.
pub fn page(lines: &[Line], wanted: &WantedRevision, ids: bool) -> (Vec<Value>, String) {
    let cursor = wanted.cursor.as_deref().and_then(|cursor| {
        cursor
            .strip_prefix("n")
            .unwrap_or(cursor)
            .parse::<u64>()
            .ok()
    });
    let fits = |line: &&Line| {
        wanted
            .level
            .as_deref()
            .is_none_or(|level| rank(line.level) >= rank(&level.to_uppercase()))
            && wanted
                .query
                .as_deref()
                .is_none_or(|query| line.message.to_lowercase().contains(&query.to_lowercase()))
            && wanted.start.is_none_or(|start| line.at >= start)
            && wanted.end.is_none_or(|end| line.at <= end)
            && cursor.is_none_or(|at| {
                if wanted.descending {
                    line.number < at
                } else {
                    line.number >= at
                }
            })
    };
    let mut found: Vec<&Line> = lines.iter().filter(fits).collect();
    if wanted.descending {
        found.reverse();
    }
    found.truncate(wanted.limit);
    let next = match (found.last(), wanted.descending) {
        (Some(last), true) => last.number,
        (Some(last), false) => last.number + 1,
        (None, true) => cursor.unwrap_or(0),
        (None, false) => cursor.unwrap_or(0),
    };
    (
        found.into_iter().map(|line| line.json(ids)).collect(),
        format!("n{next}"),
    )
}
