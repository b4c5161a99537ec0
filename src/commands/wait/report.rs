//! What a wait tells while it goes on, and at its end: lines on stderr, and JSON lines where they were asked for.

use super::watch::{Outcome, Verdict, Watch, has_word, said, status_word};
use crate::output::{
    Format, complain, print,
    stream::{LOOK, reader_left},
};
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::model::{FailureCard, Phase, StatusTime};
use runtail_core::text;
use serde_json::{Map, Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Something that happened in a wait.
pub(crate) enum Event<'e> {
    /// The status changed, or was told for the first time.
    Status {
        /// As it came.
        status: &'e Value,
        /// The one before, and how long it was seen.
        before: Option<StatusTime>,
    },
    /// There is a newer revision; its row.
    Overtaken(&'e Value),
    /// A question was not answered.
    Trouble(&'e ApiError, Pause),
    /// The server answers again, after so many questions.
    Recovered(usize),
}

/// When a question is asked again that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// As always.
    Usual,
    /// When the server may be asked again.
    Asked(Duration),
    /// Not at all: it wants to be left alone beyond the deadline.
    TooLong(Duration),
}

/// Where it is told.
#[derive(Debug)]
pub(crate) struct Report {
    format: Format,
    /// Cancelled when nobody reads stdout any more.
    pub closed: CancellationToken,
}

impl Report {
    /// A report in the format that rows are printed in.
    pub fn new(format: Format) -> Report {
        Report { format, closed: CancellationToken::new() }
    }

    /// Tells what happened: one line for people, and one object for programs that read lines.
    pub fn tell(&self, watch: &Watch, event: Event<'_>) {
        if self.closed.is_cancelled() {
            return;
        }
        let title = name(watch);
        let (kind, fields, line) = match event {
            Event::Status { status, before } => {
                let after = before.as_ref().map(|b| format!(" (after {})", spent(b))).unwrap_or_default();
                let note = match Phase::of(status.as_str().unwrap_or_default()) {
                    Phase::Unknown if has_word(status) => "; runtail does not know this status and waits on",
                    Phase::Unknown => "; it is waited on",
                    _ => "",
                };
                let line = format!("{title}: {}{after}{note}", status_word(status));
                ("status", json!({"status": status, "after": before}), line)
            }
            Event::Overtaken(newest) => {
                let id = newest["id"].as_str().unwrap_or_default();
                let word = status_word(&newest["status"]);
                let line = format!(
                    "{title}: a newer revision came, {} ({word}); the older one is still waited for",
                    text::clean(id)
                );
                ("overtaken", json!({"newer_revision_id": id, "newer_status": newest["status"]}), line)
            }
            Event::Trouble(error, pause) => {
                let said = said(error);
                let (asked, note) = match pause {
                    Pause::Usual => (None, "asking again".to_string()),
                    Pause::Asked(asked) | Pause::TooLong(asked) => {
                        let then = if let Pause::Asked(_) = pause { "; asking again then" } else { "" };
                        let alone = text::duration(asked);
                        (Some(asked.as_secs_f64()), format!("the server wants to be left alone for {alone}{then}"))
                    }
                };
                let fields = json!({"error": said, "http_status": error.status(), "retry_after_seconds": asked});
                ("trouble", fields, format!("{title}: {said}; {note}"))
            }
            Event::Recovered(times) => {
                let s = if times == 1 { "" } else { "s" };
                let line = format!("{title}: the server answers again, after {times} failed question{s}");
                ("recovered", json!({"failed": times}), line)
            }
        };
        complain(&line);
        if self.format == Format::Jsonl {
            let mut object = head(kind, watch);
            object.extend(fields.as_object().cloned().unwrap_or_default());
            self.print(&Value::Object(object));
        }
    }

    /// Notices a reader of the lines who left before there was a further one to write.
    pub async fn look_for_reader(&self) -> Infallible {
        let mut look = tokio::time::interval(LOOK);
        loop {
            look.tick().await;
            if self.format == Format::Jsonl && reader_left() {
                self.closed.cancel();
            }
        }
    }

    /// Tells how a wait ended, and gives the row that says so. Where nobody reads any more nothing is told.
    pub fn end(&self, watch: &Watch, verdict: &Verdict, card: Option<&FailureCard>) -> Value {
        if self.closed.is_cancelled() {
            return row(watch, verdict, card);
        }
        if let Some(why) = &verdict.why {
            complain(&format!("{}: {why}", name(watch)));
        } else if verdict.outcome == Outcome::Deployed {
            complain(&format!("{}: done after {}", name(watch), text::duration(watch.waited())));
        }
        if let Some(card) = card {
            complain(&format!("\n{}", card.text().trim_end()));
        }
        let row = row(watch, verdict, card);
        if self.format == Format::Jsonl {
            self.print(&row);
        }
        row
    }

    fn print(&self, object: &Value) {
        if let Err(failure) = print(&format!("{object}\n"), true) {
            failure.report();
            self.closed.cancel();
        }
    }
}

/// `prod-us/bot 44444444…4444`.
fn name(watch: &Watch) -> String {
    let revision = watch.revision.as_deref().map(|id| format!(" {}", text::short_id(id))).unwrap_or_default();
    format!("{}{revision}", watch.title())
}

/// `20s QUEUED`.
fn spent(time: &StatusTime) -> String {
    let least = if time.from_start { "" } else { "≥" };
    format!("{least}{} {}", text::duration(time.spent), time.status)
}

/// The fields that every object has.
fn head(kind: &str, watch: &Watch) -> Map<String, Value> {
    let found = watch.found.as_ref();
    let field = |name: &str, value: Value| (name.to_string(), value);
    let profile = found.map(|f| &f.site.profile);
    Map::from_iter([
        field("kind", kind.into()),
        field("at", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string().into()),
        field("profile", profile.map(|p| p.name.clone()).into()),
        field("region", profile.and_then(|p| p.region.clone()).into()),
        field("deployment", found.and_then(|f| f.row["name"].as_str()).unwrap_or(&watch.asked).into()),
        field("deployment_id", found.map(|f| f.id.clone()).into()),
        field("revision_id", watch.revision.clone().into()),
    ])
}

/// The row of a wait that ended: the revision's own fields, and beside them how the wait went.
fn row(watch: &Watch, verdict: &Verdict, card: Option<&FailureCard>) -> Value {
    let mut fields = head("result", watch);
    let own = json!({
        "outcome": verdict.outcome.word(),
        "exit": verdict.outcome.exit().code(),
        "error": verdict.why,
        "waited_seconds": (watch.waited().as_secs_f64() * 1000.0).round() / 1000.0,
        "times": watch.times(),
        "overtaken_by": watch.overtaken_by,
        "card": card,
    });
    fields.extend(own.as_object().cloned().unwrap_or_default());
    if let (Some(row), Some(found)) = (&watch.row, &watch.found)
        && let Value::Object(row) = found.revision(row.clone())
    {
        for (name, value) in row {
            fields.entry(name).or_insert(value);
        }
    }
    Value::Object(fields)
}
