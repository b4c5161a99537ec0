//! `logs D…`: prints or follows the build and server logs of one or several deployments.

use crate::output::{log_text::Printer, stream::reader_left};
use crate::prelude::*;
use jiff::SignedDuration;
use runtail_api::{LogFilter, LogFollower, LogKind, LogScope};
use runtail_core::backoff::Backoff;
use runtail_core::config::parse_duration;
use runtail_core::model::{Severity, parse_time};
use std::collections::HashSet;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Number of lines of each log to start with by default.
const TAIL: usize = 100;
/// Batches that may wait for a slow reader before the polls pause.
const BATCHES: usize = 8;
/// Maximum wait after failed polls, unless the server asks for a longer one.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long the first lines of fast logs wait for those of slow ones, so that all can be sorted.
const TOGETHER: Duration = Duration::from_secs(3);
/// How often a quiet log checks whether its reader is still there.
const LOOK: Duration = Duration::from_secs(1);

/// How lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; the default on a terminal.
    Text,
    /// One JSON document; not with --follow.
    Json,
    /// One JSON object per line; the default elsewhere.
    Jsonl,
}

/// Options of `logs`.
#[derive(Debug, Args)]
pub struct Options {
    /// Ids, names, or PROFILE/NAME
    #[arg(value_name = "D", required = true)]
    deployments: Vec<String>,
    /// Only lines of this revision (of one deployment)
    #[arg(long, value_name = "R")]
    revision: Option<String>,
    /// Show the build log (default: of the newest revision) instead of the server log
    #[arg(long)]
    build: bool,
    /// Keep printing new lines
    #[arg(short, long)]
    follow: bool,
    /// Minimum level: debug, info, warning, error, critical
    #[arg(long, value_name = "L", value_parser = severity)]
    level: Option<Severity>,
    /// Only lines that match this search text on the server
    #[arg(short, long, value_name = "Q")]
    query: Option<String>,
    /// Start at this time: a duration before now by the server's clock, or an RFC 3339 time
    #[arg(long, value_name = "T", value_parser = since)]
    since: Option<Since>,
    /// Number of newest lines of each deployment, or `all` (default: 100; all with --since or --build)
    #[arg(long, value_name = "N", value_parser = tail)]
    tail: Option<usize>,
    /// Poll interval with --follow
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    interval: Duration,
    /// How to print (default: text on a terminal, else jsonl)
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    output: Option<Format>,
}

fn severity(word: &str) -> Result<Severity, String> {
    match Severity::of(word) {
        Severity::Unknown => Err("expected debug, info, warning, error or critical".into()),
        severity => Ok(severity),
    }
}

/// The start time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Since {
    Ago(SignedDuration),
    Time(Timestamp),
}

impl Since {
    /// Returns the time by a server's clock.
    fn on(self, server_time: Timestamp) -> Timestamp {
        match self {
            Since::Ago(ago) => server_time.checked_sub(ago).unwrap_or(Timestamp::MIN),
            Since::Time(at) => at,
        }
    }
}

fn since(text: &str) -> Result<Since, String> {
    let ago = parse_duration(text).and_then(|ago| SignedDuration::try_from(ago).ok());
    // A duration that underflows is an error, not the beginning of time.
    let ago = ago
        .filter(|ago| Timestamp::now().checked_sub(*ago).is_ok())
        .map(Since::Ago);
    ago.or_else(|| parse_time(text.trim()).map(Since::Time))
        .ok_or_else(|| {
            "expected a duration such as 15m or 1h, or a time such as 2026-11-21T10:00:00Z".into()
        })
}

fn tail(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        number => number
            .parse()
            .map_err(|_| "expected a number or `all`".into()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text).filter(|interval| *interval >= Duration::from_millis(100));
    interval.ok_or_else(|| "expected a duration such as 2s or 1m, at least 100ms".into())
}

/// One of the requested logs.
struct Log {
    title: String,
    follower: LogFollower,
}

impl Log {
    /// Reports a permanent error and returns the exit code.
    fn complain(&self, error: &ApiError) -> Exit {
        output::complain(format!("runtail: {}: {error}", self.title));
        Exit::of(error)
    }

    fn note_what_is_missing(&self) {
        if self.follower.is_incomplete() {
            let title = &self.title;
            output::complain(format!(
                "warning: {title}: the server may have more lines than could be read"
            ));
        }
    }
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    if options.revision.is_some() && options.deployments.len() > 1 {
        return Err(Failure::usage(
            "--revision needs exactly one deployment, but several were given",
        ));
    }
    if options.follow && options.output == Some(Format::Json) {
        return Err(Failure::usage(
            "-o json can't be combined with --follow; use -o jsonl",
        ));
    }
    let signals = Signals::listen();
    let context = Context::load(globals)?;
    let (found, failed) = signals
        .unless_stopped(async { Ok(find(&context, &options.deployments).await) })
        .await?;
    if found.is_empty() {
        return Ok(failed.unwrap_or(Exit::Failed));
    }
    let printer = Printer::new(globals, options.output, &found);
    let retry = if options.follow {
        Retry::NONE
    } else {
        Retry::PATIENT
    };
    let logs = found.iter().filter_map(|found| {
        let control = found.site.control.clone()?.retrying(retry);
        let kind = if options.build {
            LogKind::Build
        } else {
            LogKind::Server
        };
        let scope = LogScope {
            deployment: found.id.clone(),
            revision: options.revision.clone(),
            kind,
        };
        // The clock offset is known from the lookup of the deployment.
        let since = options
            .since
            .map(|since| since.on(found.site.server_time()));
        let filter = LogFilter {
            level: options.level,
            query: options.query.clone(),
            since,
            until: None,
        };
        let begins_somewhere = options.build || options.since.is_some();
        let tail = options
            .tail
            .unwrap_or(if begins_somewhere { usize::MAX } else { TAIL });
        Some(Log {
            title: found.title(),
            follower: LogFollower::new(control, scope, filter, tail),
        })
    });
    let logs = logs.collect();
    let ended = if options.follow {
        follow(logs, printer, options.interval, &signals).await?
    } else {
        signals.unless_stopped(once(logs, printer)).await?
    };
    Ok(failed.unwrap_or(ended))
}

/// Returns the deployments without duplicates, and the exit code of the first that was not found.
async fn find(context: &Context, names: &[String]) -> (Vec<resolve::Found>, Option<Exit>) {
    let mut found: Vec<resolve::Found> = Vec::new();
    let mut failed = None;
    for answer in join_all(names.iter().map(|name| resolve::deployment(context, name))).await {
        match answer {
            Ok(one) => {
                let same = |a: &resolve::Found| {
                    a.id == one.id && a.site.profile.name == one.site.profile.name
                };
                if !found.iter().any(same) {
                    found.push(one);
                }
            }
            Err(failure) => {
                failure.report();
                failed = failed.or(Some(failure.exit));
            }
        }
    }
    (found, failed)
}

/// Prints the current logs, sorted by time.
async fn once(mut logs: Vec<Log>, mut printer: Printer) -> Result<Exit, Failure> {
    let polls = join_all(logs.iter_mut().map(|log| log.follower.poll_rows())).await;
    let mut batches = Vec::new();
    let mut exit = Exit::Done;
    for (n, (log, answer)) in logs.iter().zip(polls).enumerate() {
        match answer {
            Ok(rows) => {
                log.note_what_is_missing();
                batches.push((n, rows));
            }
            Err(error) => {
                let failed = log.complain(&error);
                exit = if exit == Exit::Done { failed } else { exit };
            }
        }
    }
    let is_empty = batches.iter().all(|(_, rows)| rows.is_empty());
    // Don't print an empty document after a failure.
    if !is_empty || exit == Exit::Done {
        printer.print(batches)?;
    }
    if is_empty && exit == Exit::Done {
        output::complain("runtail: no matching lines");
    }
    Ok(exit)
}

/// Lines of the log with this number. The first batch of each log is sent even if it is empty.
type Batch = (usize, Vec<Value>);

/// Prints new lines until every log failed or a signal arrives.
async fn follow(
    logs: Vec<Log>,
    mut printer: Printer,
    interval: Duration,
    signals: &Signals,
) -> Result<Exit, Failure> {
    let count = logs.len();
    let (sender, mut batches) = mpsc::channel::<Batch>(BATCHES);
    // Dropping it ends the polls.
    let mut watches = JoinSet::new();
    for (n, log) in logs.into_iter().enumerate() {
        watches.spawn(watch(n, log, interval, sender.clone()));
    }
    drop(sender);
    let mut held: Vec<Batch> = Vec::new();
    let mut heard = HashSet::new();
    let together = Instant::now() + TOGETHER;
    let mut look = tokio::time::interval(LOOK);
    let stopped = loop {
        tokio::select! {
            batch = batches.recv() => match batch {
                Some(batch) => held.push(batch),
                None => break false,
            },
            _ = look.tick() => {}
            () = signals.stop.cancelled() => break true,
        }
        held.extend(std::iter::from_fn(|| batches.try_recv().ok()));
        heard.extend(held.iter().map(|(n, _)| *n));
        if heard.len() == count || Instant::now() >= together {
            printer.print(std::mem::take(&mut held))?;
        }
        if reader_left() {
            return Ok(Exit::Done);
        }
    };
    printer.print(held)?;
    if stopped {
        return Ok(signals.exit());
    }
    let mut ends: Vec<(usize, Exit)> = watches.join_all().await;
    ends.sort_by_key(|(n, _)| *n);
    Ok(ends.first().map_or(Exit::Failed, |(_, exit)| *exit))
}

/// Polls one log until it fails permanently. Temporary errors (429, 5xx, network) are reported once and retried.
async fn watch(
    n: usize,
    mut log: Log,
    interval: Duration,
    batches: mpsc::Sender<Batch>,
) -> (usize, Exit) {
    let mut attempt = 0;
    let mut trouble: Option<String> = None;
    let (mut is_first, mut was_incomplete) = (true, false);
    loop {
        let answer = log.follower.poll_rows().await;
        let (rows, wait) = match answer {
            Ok(rows) => {
                if trouble.take().is_some() {
                    output::complain(format!("runtail: {}: reading the log again", log.title));
                }
                if log.follower.is_incomplete() && !was_incomplete {
                    was_incomplete = true;
                    log.note_what_is_missing();
                }
                attempt = 0;
                // Jitter, so that many clients don't poll at the same time.
                (rows, interval.mul_f64(0.9 + fastrand::f64() / 5.0))
            }
            Err(error) if error.is_transient() => {
                attempt += 1;
                let badge = error.badge();
                if trouble.as_ref() != Some(&badge) {
                    let detail = text::fit(&error.detail, 200);
                    output::complain(format!(
                        "runtail: {}: {detail} ({badge}); retrying",
                        log.title
                    ));
                }
                trouble = Some(badge);
                let asked = match error.kind {
                    Kind::RateLimited(Some(asked)) => asked,
                    _ => Duration::ZERO,
                };
                (
                    Vec::new(),
                    (interval
                        + Backoff {
                            base: interval,
                            cap: LONGEST_WAIT,
                        }
                        .wait(attempt, fastrand::f64()))
                    .max(asked),
                )
            }
            Err(error) => {
                let exit = log.complain(&error);
                if is_first {
                    let _ = batches.send((n, Vec::new())).await;
                }
                return (n, exit);
            }
        };
        if (is_first || !rows.is_empty()) && batches.send((n, rows)).await.is_err() {
            return (n, Exit::Done);
        }
        is_first = false;
        tokio::time::sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        assert_eq!(tail("all"), Ok(usize::MAX));
        assert_eq!(tail("0"), Ok(0));
        assert!(tail("-1").is_err() && tail("some").is_err());
        assert_eq!(severity("Warn"), Ok(Severity::Warning));
        assert!(severity("loud").is_err());
        let nine: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
        assert_eq!(since("2026-11-21T10:00:00+01:00"), Ok(Since::Time(nine)));
        assert_eq!(
            since("1h").map(|since| since.on(nine)),
            Ok("2026-11-21T08:00:00Z".parse().unwrap())
        );
        assert!(since("soon").is_err() && since("99999999d").is_err());
        assert!(duration("2s").is_ok() && duration("1ms").is_err());
    }
}
