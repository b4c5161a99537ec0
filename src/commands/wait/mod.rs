//! `revisions wait`: waits for one or several revisions.

mod patience;
mod report;
mod summary;
mod watch;

use crate::evidence;
use crate::output::status;
use crate::prelude::*;
use patience::End;
pub(crate) use patience::WaitSchedule;
use report::Report;
use runtail_core::config::parse_duration;
use runtail_core::model::{FailureCard, shell_word};
use summary::{Ended, SummaryFile};
use watch::Watch;

/// Time limit for reading a failure card.
const CARD: Duration = Duration::from_secs(20);

/// Options of `revisions wait`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 all are DEPLOYED · 1 one failed, was skipped, interrupted, or is gone · 2 usage · 3 a key was rejected \
· 4 the deadline was reached · 130, 143 stopped by a signal. Of several, the most severe counts.

Temporary errors (429, 5xx, network) are retried until the deadline. If a server's `Retry-After` is past the \
deadline, the wait ends with 4 at once. With -o jsonl every change is a line as it happens (kind: status, overtaken, \
trouble, recovered), and each wait ends with a line of kind result. If the reader closes the pipe, the command ends \
quietly with 1, because 0 would mean DEPLOYED.")]
pub struct Options {
    /// Ids, names, or PROFILE/NAME
    #[arg(value_name = "D", required = true)]
    deployments: Vec<String>,
    /// Wait for this revision (of one deployment) instead of the newest one at the start
    #[arg(long, value_name = "R")]
    revision: Option<String>,
    #[command(flatten)]
    timing: Timing,
    #[command(flatten)]
    output: ResultOutput,
}

/// Timing and summary of a wait.
#[derive(Debug, Clone, Args)]
pub struct Timing {
    /// When to give up (default: from the configuration, else 30m)
    #[arg(long, value_parser = duration)]
    pub timeout: Option<Duration>,
    /// Poll interval, with 10% jitter (default: from the configuration, else 60s)
    #[arg(long, value_parser = duration)]
    pub interval: Option<Duration>,
    /// Append a summary as Markdown to this file, such as "$GITHUB_STEP_SUMMARY"; also after a failure, the deadline or Ctrl-C
    #[arg(long, value_name = "FILE")]
    pub summary_file: Option<PathBuf>,
}

pub fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected a duration such as 60s or 30m".to_string())
}

/// Waits for all at once. Each change is a line on stderr; the results are the data.
pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let signals = Signals::listen();
    let context = Context::load(globals)?;
    wait(globals, &context, &signals, options, None).await
}

/// Waits for a revision that was just created, on the same site.
pub async fn for_made(
    context: &Context,
    signals: &Signals,
    site: &Site,
    [deployment, revision]: [&str; 2],
    timing: Timing,
    output: ResultOutput,
) -> Result<Exit, Failure> {
    let name = site.profile.name.clone();
    let deployments = vec![format!("{name}/{deployment}")];
    let options = Options {
        deployments,
        revision: Some(revision.to_string()),
        timing,
        output,
    };
    let once = site
        .control
        .clone()
        .map(|control| control.retrying(Retry::NONE));
    let opened = vec![(
        name,
        Ok(Site {
            control: once,
            ..site.clone()
        }),
    )];
    wait(&context.globals, context, signals, options, Some(opened)).await
}

async fn wait(
    globals: &Globals,
    context: &Context,
    signals: &Signals,
    options: Options,
    opened: Option<Vec<OpenedSite>>,
) -> Result<Exit, Failure> {
    if options.revision.is_some() && options.deployments.len() > 1 {
        return Err(Failure::usage(
            "--revision needs exactly one deployment, but several were given",
        ));
    }
    let Timing {
        timeout,
        interval,
        summary_file,
    } = options.timing;
    let patience = timing(context, timeout, interval)?;
    let summary_file = summary_file.as_deref().map(SummaryFile::open).transpose()?;
    let report = Report::new(options.output.format());
    let stopped = async || {
        tokio::select! {
            () = signals.stop.cancelled() => signals.exit(),
            // A closed pipe says nothing about the revision.
            () = report.closed.cancelled() => Exit::Failed,
        }
    };
    let mut names: Vec<&str> = Vec::new();
    for name in &options.deployments {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let watches: Vec<Watch> = names
        .iter()
        .map(|name| Watch::new(name, options.revision.as_deref()))
        .collect();
    let sites = match opened {
        Some(opened) => Some(opened),
        None => tokio::select! {
            sites = patience.bounded(open(context, &names)) => sites,
            // The waits below end before any request.
            _ = stopped() => Some(Vec::new()),
        },
    };
    let waits = join_all(names.iter().zip(watches).map(async |(wanted, mut watch)| {
        let (profiles, name) = resolve::narrowed(context, wanted);
        let is_meant = |site: &&OpenedSite| profiles.iter().any(|profile| profile.name == site.0);
        let own: Option<Vec<_>> = sites.as_ref().map(|all| {
            all.iter()
                .filter(is_meant)
                .map(|(_, site)| site.clone())
                .collect()
        });
        let verdict = match own {
            Some(own) => tokio::select! {
                biased;
                exit = stopped() => Err(exit),
                verdict = watch.run(&own, name, &patience, &report) => Ok(verdict),
            },
            // The keys could not be read in time.
            None => Ok(watch.over(End::Deadline)),
        };
        let verdict = verdict.unwrap_or_else(|exit| watch.stop(exit));
        let card = if verdict.outcome.wants_card() {
            tokio::select! {
                card = card(globals, &watch, &patience) => card,
                _ = stopped() => None,
            }
        } else {
            None
        };
        let row = report.end(&watch, &verdict, card.as_ref());
        (
            Ended {
                watch,
                verdict,
                card,
            },
            row,
        )
    }));
    let ended = tokio::select! {
        ended = waits => ended,
        never = report.look_for_reader() => match never {},
    };
    let (ended, rows): (Vec<Ended>, Vec<Value>) = ended.into_iter().unzip();
    let exit = ended
        .iter()
        .map(|e| e.verdict.outcome.exit())
        .fold(Exit::Done, graver);
    if let Some(file) = summary_file
        && let Err(failure) = file.write(&ended)
    {
        // The exit code is about the revisions, whatever happens to the output.
        failure.report();
    }
    if options.output.format() != Format::Jsonl
        && let Err(failure) = options.output.rows(&rows, &columns())
    {
        failure.report();
        return Ok(graver(exit, failure.exit));
    }
    Ok(exit)
}

/// Returns the schedule of a wait, with defaults from the configuration.
fn timing(
    context: &Context,
    timeout: Option<Duration>,
    interval: Option<Duration>,
) -> Result<WaitSchedule, Failure> {
    let interval = interval.unwrap_or(context.config.poll.interval);
    if interval < Duration::from_millis(100) {
        return Err(Failure::usage(
            "--interval is too short: the minimum is 100ms; once a minute is recommended",
        ));
    }
    Ok(WaitSchedule::new(
        timeout.unwrap_or(context.config.poll.timeout),
        interval,
    ))
}

/// A profile's name, and its site if it could be opened.
type OpenedSite = (String, Result<Site, ApiError>);

/// Opens the profiles that may have the deployments, each once, because its key may come from an interactive command.
/// Requests are not retried below, because the wait itself retries.
async fn open(context: &Context, names: &[&str]) -> Vec<OpenedSite> {
    let mut wanted: Vec<Profile> = Vec::new();
    for profile in names
        .iter()
        .flat_map(|name| resolve::narrowed(context, name).0)
    {
        if profile.control_plane.is_some() && !wanted.iter().any(|other| other.name == profile.name)
        {
            wanted.push(profile);
        }
    }
    join_all(wanted.into_iter().map(async |profile| {
        let name = profile.name.clone();
        let once = |site: Site| Site {
            control: site.control.map(|c| c.retrying(Retry::NONE)),
            ..site
        };
        (name, Site::open(profile).await.map(once))
    }))
    .await
}

/// Returns the failure card of a revision, if it can be read in reasonable time and before the deadline.
async fn card(globals: &Globals, watch: &Watch, patience: &WaitSchedule) -> Option<FailureCard> {
    let (found, row) = (watch.found.as_ref()?, watch.row.as_ref()?);
    let control = watch.control()?.clone().retrying(Retry::PATIENT);
    let times = watch.times();
    let card = tokio::time::timeout(CARD, evidence::card(globals, found, &control, row, &times));
    let card = patience.bounded(card).await.and_then(Result::ok);
    if card.is_none() {
        let (title, id) = (watch.title(), shell_word(text_of(row, "id")));
        complain(format!(
            "{title}: no time left to read the cause; run: runtail revisions explain {} {id}",
            shell_word(&title)
        ));
    }
    card
}

/// Returns the most severe of several results: a signal, our own error, a failed revision, a deadline.
fn graver(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::Deadline => 1,
        Exit::Failed => 2,
        Exit::Usage | Exit::Forbidden | Exit::Network => 3,
        Exit::Interrupted | Exit::Signal(_) => 4,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn columns() -> [Column; 6] {
    [
        field_column("PROFILE", "/profile"),
        field_column("DEPLOYMENT", "/deployment"),
        field_column("REVISION", "/revision_id"),
        field_column("OUTCOME", "/outcome"),
        status_column("STATUS", color::of_revision, |row| status(&row["status"])),
        column("WAITED", |row| {
            let seconds = row["waited_seconds"].as_f64().unwrap_or_default();
            text::duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
        }),
    ]
}
