//! Reports the progress and the result of a wait: lines on stderr, and JSON lines with `-o jsonl`.

use super::watch::{Outcome, Verdict, Watch, has_word, said, status_word};
use crate::output::{
    print,
    stream::{LOOK, reader_left},
};
use crate::prelude::*;
use runtail_core::model::{FailureCard, Phase, StatusTime};
use serde_json::Map;
use std::convert::Infallible;
use tokio_util::sync::CancellationToken;

/// An event of a wait.
pub enum Event<'e> {
    /// The status changed, or is the first one.
    Status {
        /// The status as received.
        status: &'e Value,
        /// The previous status, and how long it was seen.
        before: Option<StatusTime>,
    },
    /// There is a newer revision; its row.
    Overtaken(&'e Value),
    /// A request failed.
    Trouble(&'e ApiError, Pause),
    /// The server answers again, after this many failed requests.
    Recovered(usize),
}

/// When a failed request is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// At the usual interval.
    Usual,
    /// After the pause that the server asked for.
    Asked(Duration),
    /// Never: the pause ends after the deadline.
    TooLong(Duration),
}

/// Writes the report.
#[derive(Debug)]
pub struct Report {
    format: Format,
    /// Cancelled when the reader of stdout is gone.
    pub closed: CancellationToken,
}

impl Report {
    /// Creates a report in the output format of rows.
    pub fn new(format: Format) -> Report {
        Report {
            format,
            closed: CancellationToken::new(),
        }
    }

    /// Reports an event: one line for people, and one object with `-o jsonl`.
    pub fn tell(&self, watch: &Watch, event: Event<'_>) {
        if self.closed.is_cancelled() {
            return;
        }
        let title = name(watch);
        let (kind, fields, line) = match event {
            Event::Status { status, before } => {
                let after = before
                    .as_ref()
                    .map(|b| format!(" (after {})", spent(b)))
                    .unwrap_or_default();
                let note = match Phase::of(status.as_str().unwrap_or_default()) {
                    Phase::Unknown if has_word(status) => "; unknown status, still waiting",
                    Phase::Unknown => "; still waiting",
                    _ => "",
                };
                let line = format!("{title}: {}{after}{note}", status_word(status));
                ("status", json!({"status": status, "after": before}), line)
            }
            Event::Overtaken(newest) => {
                let id = text_of(newest, "id");
                let word = status_word(&newest["status"]);
                let line = format!(
                    "{title}: a newer revision exists, {} ({word}); still waiting for the older one",
                    text::clean(id)
                );
                (
                    "overtaken",
                    json!({"newer_revision_id": id, "newer_status": newest["status"]}),
                    line,
                )
            }
            Event::Trouble(error, pause) => {
                let said = said(error);
                let (asked, note) = match pause {
                    Pause::Usual => (None, "retrying".to_string()),
                    Pause::Asked(asked) | Pause::TooLong(asked) => {
                        let then = if let Pause::Asked(_) = pause {
                            "; retrying then"
                        } else {
                            ""
                        };
                        let alone = text::duration(asked);
                        (
                            Some(asked.as_secs_f64()),
                            format!("the server asked to wait {alone}{then}"),
                        )
                    }
                };
                let fields = json!({"error": said, "http_status": error.status(), "retry_after_seconds": asked});
                ("trouble", fields, format!("{title}: {said}; {note}"))
            }
            Event::Recovered(times) => {
                let failed = text::counted(times, "failed request");
                let line = format!("{title}: the server answers again, after {failed}");
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

    /// Completes when the reader of the lines has closed the pipe.
    pub async fn look_for_reader(&self) -> Infallible {
        let mut look = tokio::time::interval(LOOK);
        loop {
            look.tick().await;
            if self.format == Format::Jsonl && reader_left() {
                self.closed.cancel();
            }
        }
    }

    /// Reports the result of a wait and returns its row. Reports nothing if the reader is gone.
    pub fn end(&self, watch: &Watch, verdict: &Verdict, card: Option<&FailureCard>) -> Value {
        if self.closed.is_cancelled() {
            return row(watch, verdict, card);
        }
        if let Some(why) = &verdict.why {
            complain(format!("{}: {why}", name(watch)));
        } else if verdict.outcome == Outcome::Deployed {
            complain(format!(
                "{}: done after {}",
                name(watch),
                text::duration(watch.waited())
            ));
        }
        if let Some(card) = card {
            complain(format!("\n{}", card.text().trim_end()));
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
    let revision = watch
        .revision
        .as_deref()
        .map(|id| format!(" {}", text::short_id(id)))
        .unwrap_or_default();
    format!("{}{revision}", watch.title())
}

/// `20s QUEUED`.
fn spent(time: &StatusTime) -> String {
    let least = if time.from_start { "" } else { "≥" };
    format!("{least}{} {}", text::duration(time.spent), time.status)
}

/// Returns the fields that every object has.
fn head(kind: &str, watch: &Watch) -> Map<String, Value> {
    let found = watch.found.as_ref();
    let field = |name: &str, value: Value| (name.to_string(), value);
    let profile = found.map(|f| &f.site.profile);
    Map::from_iter([
        field("kind", kind.into()),
        field(
            "at",
            Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
                .to_string()
                .into(),
        ),
        field("profile", profile.map(|p| p.name.clone()).into()),
        field("region", profile.and_then(|p| p.region.clone()).into()),
        field(
            "deployment",
            found
                .and_then(|f| f.row["name"].as_str())
                .unwrap_or(&watch.asked)
                .into(),
        ),
        field("deployment_id", found.map(|f| f.id.clone()).into()),
        field("revision_id", watch.revision.clone().into()),
    ])
}

/// Returns the row of a finished wait: the revision's own fields, and the result of the wait.
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
