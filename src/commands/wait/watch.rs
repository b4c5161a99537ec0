//! One wait: finds the deployment, chooses a revision, and polls it until its status is final.

use super::patience::{End, WaitSchedule};
use super::report::{Event, Pause, Report};
use crate::commands::revisions::UNSORTED;
use crate::prelude::*;
use crate::resolve::{Found, Unresolved};
use runtail_api::named_newest;
use runtail_core::model::{Phase, StatusTime, parse_time};
use tokio::time::Instant;

/// The result of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The revision is deployed.
    Deployed,
    Failed,
    /// It was superseded by a newer one.
    Skipped,
    /// It was interrupted.
    Interrupted,
    /// Its status was not final in time.
    Deadline,
    /// The key was rejected.
    Unauthorized,
    /// The key has no permission.
    Forbidden,
    /// The deployment or the revision is gone.
    Vanished,
    /// The wait was stopped by a signal or by a closed pipe.
    Stopped(Exit),
    /// Another error.
    Error(Exit),
}

impl Outcome {
    /// Returns its name in JSON and in the summary.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Deployed => "deployed",
            Outcome::Failed => "failed",
            Outcome::Skipped => "skipped",
            Outcome::Interrupted => "interrupted",
            Outcome::Deadline => "deadline",
            Outcome::Unauthorized => "unauthorized",
            Outcome::Forbidden => "forbidden",
            Outcome::Vanished => "vanished",
            Outcome::Stopped(_) => "stopped",
            Outcome::Error(_) => "error",
        }
    }

    /// Returns the exit code of this wait.
    pub fn exit(self) -> Exit {
        match self {
            Outcome::Deployed => Exit::Done,
            Outcome::Failed | Outcome::Skipped | Outcome::Interrupted | Outcome::Vanished => {
                Exit::Failed
            }
            Outcome::Deadline => Exit::Deadline,
            Outcome::Unauthorized | Outcome::Forbidden => Exit::Forbidden,
            Outcome::Stopped(exit) | Outcome::Error(exit) => exit,
        }
    }

    /// Whether it needs a failure card.
    pub fn wants_card(self) -> bool {
        matches!(
            self,
            Outcome::Failed | Outcome::Skipped | Outcome::Interrupted
        )
    }
}

/// The result of a wait, and the reason if the status doesn't show it.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The result.
    pub outcome: Outcome,
    pub why: Option<String>,
}

impl Verdict {
    fn new(outcome: Outcome, why: impl Into<String>) -> Verdict {
        Verdict {
            outcome,
            why: Some(why.into()),
        }
    }
}

/// A status and when it was first seen.
#[derive(Debug, Clone)]
struct Seen {
    status: Value,
    since: Instant,
}

/// The state of one wait. Kept outside of the future, so that a wait that is dropped can still be reported.
pub struct Watch {
    /// The deployment as the user named it.
    pub asked: String,
    /// The deployment, once it is found.
    pub found: Option<Found>,
    /// The revision: the requested one, else the newest at the start.
    pub revision: Option<String>,
    /// Its last record.
    pub row: Option<Value>,
    /// A newer revision.
    pub overtaken_by: Option<String>,
    seen: Vec<Seen>,
    /// The last error, and how often in a row.
    trouble: Option<(String, usize)>,
    began: Instant,
    ended: Option<Instant>,
}

/// The error.
enum Halt {
    Over(End),
    Refused(Unresolved),
}

impl From<End> for Halt {
    fn from(end: End) -> Halt {
        Halt::Over(end)
    }
}

impl Watch {
    /// Creates a wait that starts now.
    pub fn new(asked: &str, revision: Option<&str>) -> Watch {
        Watch {
            asked: asked.to_string(),
            found: None,
            revision: revision.map(str::to_string),
            row: None,
            overtaken_by: None,
            seen: Vec::new(),
            trouble: None,
            began: Instant::now(),
            ended: None,
        }
    }

    /// Returns PROFILE/NAME, or the name that the user gave.
    pub fn title(&self) -> String {
        self.found
            .as_ref()
            .map_or_else(|| text::clean(&self.asked).into_owned(), Found::title)
    }

    /// Returns its duration until now, or until its end.
    pub fn waited(&self) -> Duration {
        self.ended.unwrap_or_else(Instant::now) - self.began
    }

    /// Returns its control plane, once the deployment is found.
    pub fn control(&self) -> Option<&ControlPlane> {
        self.found.as_ref()?.site.control.as_ref()
    }

    /// Returns the time in each status that was not final. The first one may have begun before the wait.
    pub fn times(&self) -> Vec<StatusTime> {
        let until = self.ended.unwrap_or_else(Instant::now);
        let ends = self
            .seen
            .iter()
            .skip(1)
            .map(|seen| seen.since)
            .chain([until]);
        let passing = |seen: &Seen| !phase(&seen.status).is_final();
        let spans = self
            .seen
            .iter()
            .zip(ends)
            .enumerate()
            .filter(|(_, (seen, _))| passing(seen));
        spans
            .map(|(n, (seen, end))| StatusTime {
                status: status_word(&seen.status),
                spent: end - seen.since,
                from_start: n > 0,
            })
            .collect()
    }

    /// Returns the last status as reported, if there was one.
    pub fn status(&self) -> Option<String> {
        self.seen.last().map(|seen| status_word(&seen.status))
    }

    /// Waits to the end. `name` is the deployment without its profile.
    pub async fn run(
        &mut self,
        sites: &[Result<Site, ApiError>],
        name: &str,
        patience: &WaitSchedule,
        report: &Report,
    ) -> Verdict {
        let verdict = match self.steps(sites, name, patience, report).await {
            Ok(verdict) => verdict,
            Err(Halt::Over(end)) => self.over(end),
            Err(Halt::Refused(why)) => self.refused(why, patience).await,
        };
        self.ended = Some(Instant::now());
        verdict
    }

    /// Stops it.
    pub fn stop(&mut self, exit: Exit) -> Verdict {
        self.ended = Some(Instant::now());
        Verdict::new(
            Outcome::Stopped(exit),
            format!("the wait was stopped{}", self.at()),
        )
    }

    async fn steps(
        &mut self,
        sites: &[Result<Site, ApiError>],
        name: &str,
        patience: &WaitSchedule,
        report: &Report,
    ) -> Result<Verdict, Halt> {
        let asked = self.asked.clone();
        let found = self
            .insist(patience, report, async || {
                resolve::among(sites, &asked, name).await
            })
            .await?;
        let Some(control) = found.site.control.clone() else {
            let why = Failure::usage(format!("{} has no control plane", found.title()));
            return Err(Halt::Refused(Unresolved::Said(why)));
        };
        let deployment = found.id.clone();
        let record = found.row.clone();
        self.found = Some(found);
        let id = match self.revision.as_deref().or(named_newest(&record)) {
            Some(id) => id.to_string(),
            None => {
                let ask = async || Ok(control.newest_row(&record).await?);
                let newest = self.insist(patience, report, ask).await?;
                if !newest.was_sorted {
                    let title = self.title();
                    complain(format!(
                        "{title}: {UNSORTED}; waiting for the one with the latest date"
                    ));
                }
                let Some(id) = newest.row.as_ref().and_then(|row| row["id"].as_str()) else {
                    let why = Failure::failed(format!("{} has no revision", self.title()));
                    return Err(Halt::Refused(Unresolved::Said(why)));
                };
                id.to_string()
            }
        };
        self.revision = Some(id.clone());
        loop {
            let ask = async || Ok(control.revision_row(&deployment, &id).await?);
            let row = self.insist(patience, report, ask).await?;
            if let Some(outcome) = self.take(row, report) {
                return Ok(Verdict { outcome, why: None });
            }
            let asked = self
                .look_for_newer(&control, &deployment, patience, report)
                .await;
            patience.pause(asked).await?;
        }
    }

    /// Repeats a request until it succeeds. Temporary errors are reported once and retried until the deadline.
    async fn insist<T, F>(
        &mut self,
        patience: &WaitSchedule,
        report: &Report,
        mut ask: F,
    ) -> Result<T, Halt>
    where
        F: AsyncFnMut() -> Result<T, Unresolved>,
    {
        loop {
            let error = match patience.bounded(ask()).await {
                None => return Err(End::Deadline.into()),
                Some(Ok(answer)) => {
                    if let Some((_, times)) = self.trouble.take() {
                        report.tell(self, Event::Recovered(times));
                    }
                    return Ok(answer);
                }
                Some(Err(Unresolved::Asked(error))) if self.may_pass(&error) => error,
                Some(Err(other)) => return Err(Halt::Refused(other)),
            };
            self.stumble(&error, patience, report);
            patience.pause(error.asked()).await?;
        }
    }

    /// Counts a failed request, and reports it unless it repeats the last error.
    fn stumble(&mut self, error: &ApiError, patience: &WaitSchedule, report: &Report) {
        let said = said(error);
        let (is_new, times) = match &self.trouble {
            Some((last, times)) => (*last != said, times + 1),
            None => (true, 1),
        };
        self.trouble = Some((said, times));
        if is_new {
            let pause = match error.asked() {
                None | Some(Duration::ZERO) => Pause::Usual,
                Some(asked) if patience.is_exceeded_by(asked) => Pause::TooLong(asked),
                Some(asked) => Pause::Asked(asked),
            };
            report.tell(self, Event::Trouble(error, pause));
        }
    }

    /// Whether to retry. An unexpected response format is temporary (a proxy's page) if the server answered correctly before;
    /// at the start, it means a wrong address.
    fn may_pass(&self, error: &ApiError) -> bool {
        error.is_transient()
            || matches!(error.kind, Kind::Status(408 | 425))
            || (error.kind == Kind::Protocol && self.row.is_some())
    }

    /// Stores a newer row. Returns the outcome if its status is final; only a deployed revision is a success.
    fn take(&mut self, row: Value, report: &Report) -> Option<Outcome> {
        let status = row["status"].clone();
        self.row = Some(row);
        let changed = self.seen.last().is_none_or(|last| last.status != status);
        if changed {
            let before = self.times().pop().filter(|_| !self.seen.is_empty());
            self.seen.push(Seen {
                status: status.clone(),
                since: Instant::now(),
            });
            report.tell(
                self,
                Event::Status {
                    status: &status,
                    before,
                },
            );
        }
        match phase(&status) {
            Phase::Deployed => Some(Outcome::Deployed),
            Phase::Failed => Some(Outcome::Failed),
            Phase::Skipped => Some(Outcome::Skipped),
            Phase::Interrupted => Some(Outcome::Interrupted),
            Phase::Waiting | Phase::Moving | Phase::Unknown => None,
        }
    }

    /// Checks for a newer revision until one was found. Failures are ignored, and it takes no longer than one request.
    /// Returns the pause that the server asks for.
    async fn look_for_newer(
        &mut self,
        control: &ControlPlane,
        deployment: &str,
        patience: &WaitSchedule,
        report: &Report,
    ) -> Option<Duration> {
        if self.overtaken_by.is_some() {
            return None;
        }
        let look = async {
            let record = control.deployment_row(deployment).await?;
            match named_newest(&record) {
                Some(id) if self.revision.as_deref() == Some(id) => Ok::<_, ApiError>(None),
                _ => Ok(control.newest_row(&record).await?.row),
            }
        };
        let newest = match patience.bounded(look).await? {
            Ok(newest) => newest?,
            Err(error) => match error.asked() {
                // If the pause ends after the deadline, the next request for the revision itself decides.
                Some(asked) if !patience.is_exceeded_by(asked) => {
                    self.stumble(&error, patience, report);
                    return Some(asked);
                }
                _ => return None,
            },
        };
        let id = newest["id"].as_str()?;
        let made = |row: &Value| row["created_at"].as_str().and_then(parse_time);
        let is_older = match (made(&newest), self.row.as_ref().and_then(made)) {
            (Some(newest), Some(own)) => newest < own,
            _ => false,
        };
        if self.revision.as_deref() != Some(id) && !is_older {
            self.overtaken_by = Some(id.to_string());
            report.tell(self, Event::Overtaken(&newest));
        }
        None
    }

    /// Returns the verdict when polling has stopped.
    pub fn over(&self, end: End) -> Verdict {
        let at = self.at();
        let why = match (end, &self.trouble) {
            (End::LeftAlone(asked), _) => format!(
                "the server asked to wait {}, which is past the deadline; the wait ends{at}",
                text::duration(asked)
            ),
            (End::Deadline, Some((said, _))) => {
                format!("the deadline was reached{at}; last error: {said}")
            }
            (End::Deadline, None) => format!("the deadline was reached{at}"),
        };
        Verdict::new(Outcome::Deadline, why)
    }

    /// Returns the last status that was a word.
    fn last_word(&self) -> Option<String> {
        let known = self.seen.iter().rev().find(|seen| has_word(&seen.status))?;
        Some(status_word(&known.status))
    }

    /// Returns ` at BUILDING`, or that there was no status.
    fn at(&self) -> String {
        let has_one = self.seen.last().is_some_and(|last| has_word(&last.status));
        match self.last_word() {
            Some(word) if has_one => format!(" at {word}"),
            Some(word) => format!(" without a status; the last was {word}"),
            None => " before it had any status".into(),
        }
    }

    /// Returns the verdict for a permanent error.
    async fn refused(&self, why: Unresolved, patience: &WaitSchedule) -> Verdict {
        let error = match why {
            Unresolved::Said(Failure { exit, message }) => {
                return Verdict::new(Outcome::Error(exit), message);
            }
            Unresolved::Asked(error) => error,
        };
        let last = self
            .last_word()
            .map(|word| format!("; the last status was {word}"))
            .unwrap_or_default();
        match error.kind {
            Kind::Unauthorized => Verdict::new(Outcome::Unauthorized, format!("{error}{last}")),
            Kind::Forbidden => Verdict::new(Outcome::Forbidden, format!("{error}{last}")),
            Kind::NotFound if self.revision.is_some() => {
                let (outcome, what) = self.missing(patience).await;
                Verdict::new(outcome, format!("{what}{last} ({})", error.detail))
            }
            _ => Verdict::new(Outcome::Error(Exit::of(&error)), format!("{error}{last}")),
        }
    }

    /// Returns which of the two is missing: the deployment or the revision.
    async fn missing(&self, patience: &WaitSchedule) -> (Outcome, String) {
        let id = text::clean(self.revision.as_deref().unwrap_or_default()).into_owned();
        if self.row.is_none() {
            return (
                Outcome::Error(Exit::Failed),
                format!("there is no revision {id} of {}", self.title()),
            );
        }
        let asked = match (self.control(), &self.found) {
            (Some(control), Some(found)) => {
                patience.bounded(control.deployment_row(&found.id)).await
            }
            _ => None,
        };
        let what = match asked {
            Some(Err(ApiError {
                kind: Kind::NotFound,
                ..
            })) => "the deployment is gone: it was deleted".into(),
            Some(Ok(_)) => format!("the revision is gone: its deployment no longer has {id}"),
            _ => format!("the server no longer has the revision {id}"),
        };
        (Outcome::Vanished, what)
    }
}

/// Returns the phase of a status; a status that is not a word is unknown.
fn phase(status: &Value) -> Phase {
    Phase::of(status.as_str().unwrap_or_default())
}

/// Returns an error in short, with its status code: `slow down (429)`.
pub fn said(error: &ApiError) -> String {
    match error.status().map(|code| code.to_string()) {
        Some(code) if !error.detail.starts_with(&code) => format!("{} ({code})", error.detail),
        _ => error.detail.clone(),
    }
}

/// Whether a status is a word at all.
pub fn has_word(status: &Value) -> bool {
    status.as_str().is_some_and(|word| !word.trim().is_empty())
}

/// A status for people.
pub fn status_word(status: &Value) -> String {
    text::clean(&output::status(status)).into_owned()
}
