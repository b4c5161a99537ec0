//! `logs D…`: build and server logs of one deployment or several, as they are or followed.

use crate::args::Globals;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{self, log_text::Printer, stream::reader_left};
use crate::resolve;
use crate::signals::Signals;
use clap::{Args, ValueEnum};
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, Kind, LogFilter, LogFollower, LogKind, LogScope, Retry};
use runtail_core::backoff::Backoff;
use runtail_core::config::parse_duration;
use runtail_core::model::{Severity, parse_time};
use runtail_core::text;
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Lines of each log to begin with, where nothing else says where to begin.
const TAIL: usize = 100;
/// Batches that may wait for a slow reader; then the polls wait.
const BATCHES: usize = 8;
/// Longest wait after failed polls, unless the server asks for a longer one.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long the first lines of quick logs wait for those of slow ones, so that all can be sorted.
const TOGETHER: Duration = Duration::from_secs(3);
/// How often a quiet log looks whether its reader is still there.
const LOOK: Duration = Duration::from_secs(1);

/// How lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; the default on a terminal.
    Text,
    /// One JSON document; not with --follow.
    Json,
    /// One JSON object a line; the default elsewhere.
    Jsonl,
}

/// Options of `logs`.
#[derive(Debug, Args)]
pub struct Options {
    /// Ids, names, or PROFILE/NAME
    #[arg(value_name = "D", required = true)]
    deployments: Vec<String>,
    /// Only of this revision (of one deployment)
    #[arg(long, value_name = "R")]
    revision: Option<String>,
    /// How the revision was built (default: the newest), instead of what the server writes
    #[arg(long)]
    build: bool,
    /// Go on with what comes
    #[arg(short, long)]
    follow: bool,
    /// At least so grave: debug, info, warning, error, critical
    #[arg(long, value_name = "L", value_parser = severity)]
    level: Option<Severity>,
    /// Only lines in which the server finds this
    #[arg(short, long, value_name = "Q")]
    query: Option<String>,
    /// Not from before: a duration ago by the server's clock, or an RFC 3339 time
    #[arg(long, value_name = "T", value_parser = since)]
    since: Option<Since>,
    /// The newest so many lines of each deployment, or all (default: 100; all with --since or --build)
    #[arg(long, value_name = "N", value_parser = tail)]
    tail: Option<usize>,
    /// How often to ask with --follow
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    interval: Duration,
    /// How to print (default: text on a terminal, else jsonl)
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    output: Option<Format>,
}

fn severity(word: &str) -> Result<Severity, String> {
    match Severity::of(word) {
        Severity::Unknown => Err("debug, info, warning, error or critical was expected".into()),
        severity => Ok(severity),
    }
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Since {
    Ago(SignedDuration),
    Time(Timestamp),
}

impl Since {
    /// The moment on a server's clock.
    fn on(self, server_time: Timestamp) -> Timestamp {
        match self {
            Since::Ago(ago) => server_time.checked_sub(ago).unwrap_or(Timestamp::MIN),
            Since::Time(at) => at,
        }
    }
}

fn since(text: &str) -> Result<Since, String> {
    let ago = parse_duration(text).and_then(|ago| SignedDuration::try_from(ago).ok());
    // Longer ago than time goes is a mistake, not the beginning of time.
    let ago = ago.filter(|ago| Timestamp::now().checked_sub(*ago).is_ok()).map(Since::Ago);
    ago.or_else(|| parse_time(text.trim()).map(Since::Time))
        .ok_or_else(|| "a duration such as 15m or 1h, or a time such as 2026-11-21T10:00:00Z was expected".into())
}

fn tail(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        number => number.parse().map_err(|_| "a number or `all` was expected".into()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text).filter(|interval| *interval >= Duration::from_millis(100));
    interval.ok_or_else(|| "a duration such as 2s or 1m was expected, and 100ms at least".into())
}

/// One of the logs that were asked for.
struct Log {
    title: String,
    follower: LogFollower,
}

impl Log {
    /// Says what went wrong for good, and gives the exit code.
    fn complain(&self, error: &ApiError) -> Exit {
        output::complain(&format!("runtail: {}: {error}", self.title));
        Exit::of(error)
    }

    fn note_what_is_missing(&self) {
        if self.follower.is_incomplete() {
            let title = &self.title;
            output::complain(&format!("warning: {title}: the server may have more lines than could be read"));
        }
    }
}

pub(crate) async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    if options.revision.is_some() && options.deployments.len() > 1 {
        return Err(Failure::usage("--revision belongs to one deployment, but several were given"));
    }
    if options.follow && options.output == Some(Format::Json) {
        return Err(Failure::usage("-o json is one document, which a log that is followed never becomes: take jsonl"));
    }
    let signals = Signals::listen();
    let context = Context::load(globals)?;
    let (found, failed) = signals.unless_stopped(async { Ok(find(&context, &options.deployments).await) }).await?;
    if found.is_empty() {
        return Ok(failed.unwrap_or(Exit::Failed));
    }
    let printer = Printer::new(globals, options.output, &found);
    let retry = if options.follow { Retry::NONE } else { Retry::PATIENT };
    let logs = found.iter().filter_map(|found| {
        let control = found.site.control.clone()?.retrying(retry);
        let kind = if options.build { LogKind::Build } else { LogKind::Server };
        let scope = LogScope { deployment: found.id.clone(), revision: options.revision.clone(), kind };
        // Its clock is known since the deployment was looked for.
        let since = options.since.map(|since| since.on(found.site.server_time()));
        let filter = LogFilter { level: options.level, query: options.query.clone(), since, until: None };
        let begins_somewhere = options.build || options.since.is_some();
        let tail = options.tail.unwrap_or(if begins_somewhere { usize::MAX } else { TAIL });
        Some(Log { title: found.title(), follower: LogFollower::new(control, scope, filter, tail) })
    });
    let logs = logs.collect();
    let ended = if options.follow {
        follow(logs, printer, options.interval, &signals).await?
    } else {
        signals.unless_stopped(once(logs, printer)).await?
    };
    Ok(failed.unwrap_or(ended))
}

/// The deployments, each once, and the exit code of the first that could not be found. The others go on without it.
async fn find(context: &Context, names: &[String]) -> (Vec<resolve::Found>, Option<Exit>) {
    let mut found: Vec<resolve::Found> = Vec::new();
    let mut failed = None;
    for answer in join_all(names.iter().map(|name| resolve::deployment(context, name))).await {
        match answer {
            Ok(one) => {
                let same = |a: &resolve::Found| a.id == one.id && a.site.profile.name == one.site.profile.name;
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

/// Prints the logs as they are now, all lines in the order of time.
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
    // An empty document is no answer where the question failed.
    if !is_empty || exit == Exit::Done {
        printer.print(batches)?;
    }
    if is_empty && exit == Exit::Done {
        output::complain("runtail: there are no such lines");
    }
    Ok(exit)
}

/// Lines of the log with this number. The first batch of each log comes even when there are none.
type Batch = (usize, Vec<Value>);

/// Prints what comes, until everything failed or somebody stops it.
async fn follow(logs: Vec<Log>, mut printer: Printer, interval: Duration, signals: &Signals) -> Result<Exit, Failure> {
    let count = logs.len();
    let (sender, mut batches) = mpsc::channel::<Batch>(BATCHES);
    // Dropped with this function, it ends the polls.
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

/// Polls one log until it fails for good. What may pass (429, 5xx, the network) is told once and outlived.
async fn watch(n: usize, mut log: Log, interval: Duration, batches: mpsc::Sender<Batch>) -> (usize, Exit) {
    let mut attempt = 0;
    let mut trouble: Option<String> = None;
    let (mut is_first, mut was_incomplete) = (true, false);
    loop {
        let answer = log.follower.poll_rows().await;
        let (rows, wait) = match answer {
            Ok(rows) => {
                if trouble.take().is_some() {
                    output::complain(&format!("runtail: {}: the log is read again", log.title));
                }
                if log.follower.is_incomplete() && !was_incomplete {
                    was_incomplete = true;
                    log.note_what_is_missing();
                }
                attempt = 0;
                // A little uneven, so that many who follow do not come at once.
                (rows, interval.mul_f64(0.9 + fastrand::f64() / 5.0))
            }
            Err(error) if error.is_transient() => {
                attempt += 1;
                let badge = error.badge();
                if trouble.as_ref() != Some(&badge) {
                    let detail = text::fit(&error.detail, 200);
                    output::complain(&format!("runtail: {}: {detail} ({badge}); asking again", log.title));
                }
                trouble = Some(badge);
                let asked = match error.kind {
                    Kind::RateLimited(Some(asked)) => asked,
                    _ => Duration::ZERO,
                };
                (
                    Vec::new(),
                    (interval + Backoff { base: interval, cap: LONGEST_WAIT }.wait(attempt, fastrand::f64()))
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
        assert_eq!(since("1h").map(|since| since.on(nine)), Ok("2026-11-21T08:00:00Z".parse().unwrap()));
        assert!(since("soon").is_err() && since("99999999d").is_err());
        assert!(duration("2s").is_ok() && duration("1ms").is_err());
    }
}
