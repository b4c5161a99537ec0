//! The head of a stream: the thread's status, the connection, and the banner of a thread that needs attention. Status
//! and connection are independent: a thread may wait while its stream reconnects, and a live stream may show a failed
//! thread.

use super::{ConnectionState, Viewer};
use crate::session::msg::{StreamTarget, ThreadRef};
use crate::session::thread::{Offers, approve_label};
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::{badge, name_list, since};
use jiff::{SignedDuration, Timestamp};
use runtail_api::Kind;
use runtail_core::model::{Question, ThreadStatus, summary_of};
use runtail_core::text;
use runtail_stream::projection::{Attempt, DeliveryLog, Liveness, RunEntry};
use runtail_stream::{Outcome, SnapshotPart};
use std::borrow::Cow;
use std::time::Duration;

/// Events that arrive later than this after a cancel request were not already in flight.
const IN_FLIGHT: SignedDuration = SignedDuration::from_secs(1);

/// A run that is being cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelling {
    /// The id of the run, if known.
    pub run_id: Option<String>,
    /// The time of the request.
    pub since: Timestamp,
    /// Whether the thread still sends events.
    pub sends_events: bool,
}

/// Returns the tone of the banner; `None` if the thread needs no attention.
pub fn banner_tone(status: &ThreadStatus) -> Option<Tone> {
    match status {
        ThreadStatus::Waiting { .. }
        | ThreadStatus::Paused { .. }
        | ThreadStatus::Stopped { .. } => Some(Tone::Banner),
        ThreadStatus::Failed { .. } => Some(Tone::BannerFailed),
        _ => None,
    }
}

/// Returns the text of the banner without its keys; empty if the thread needs no attention.
pub fn banner_text(status: &ThreadStatus) -> String {
    match status {
        ThreadStatus::Waiting { questions, .. } => format!("◆ {}", summary_of(questions)),
        ThreadStatus::Paused { next, after, .. } => {
            let place = name_list(next).unwrap_or_else(|| "a node".into());
            let stop = if *after {
                "Paused at a breakpoint; next is"
            } else {
                "Breakpoint before"
            };
            format!("◆ {stop} {place}")
        }
        ThreadStatus::Stopped { next, .. } => {
            let next = name_list(next)
                .map(|names| format!("; next is {names}"))
                .unwrap_or_default();
            format!("◆ Interrupted, no reason given{next}")
        }
        ThreadStatus::Failed {
            error, timed_out, ..
        } => match (error.is_empty(), timed_out) {
            (false, _) => format!("✗ {}", text::head(error, 4 << 10)),
            (true, true) => "✗ The run timed out".into(),
            (true, false) => "✗ Failed, no reason given".into(),
        },
        _ => String::new(),
    }
}

/// Returns the banner's key ids with their labels, most useful first. Leaves out keys that write if writing is not
/// possible, and what the server doesn't offer. `again` is the label of the key that runs the thread again.
pub fn banner_keys(
    status: &ThreadStatus,
    offers: Offers,
    again: Option<&'static str>,
    can_act: bool,
) -> Vec<(&'static str, &'static str)> {
    let mut keys = Vec::new();
    match status {
        ThreadStatus::Waiting { questions, .. } => {
            if can_act {
                keys.extend(approve_label(questions).map(|label| ("stream.approve", label)));
                keys.push(("stream.answer", "answer"));
            }
            keys.push(("stream.details", "details"));
        }
        ThreadStatus::Failed { .. } => {
            keys.push(("stream.explain", "explain"));
            keys.extend(
                again
                    .filter(|_| can_act)
                    .map(|label| ("stream.again", label)),
            );
            keys.push(("app.copy", "copy error"));
        }
        _ => {
            if can_act && offers.continues {
                keys.push(("stream.answer", "continue"));
            }
            keys.push(("stream.explain", "explain"));
        }
    }
    keys
}

/// How much of the connection is shown. Where the room ends, the age of the last event is left out last: it is the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Full,
    /// The state and the age of the last event.
    LastEvent,
    /// A dot, and the age of the last event while the stream is live.
    Age,
}

impl Viewer {
    /// Returns the current status of the thread, also during time travel.
    pub fn thread_status(&self) -> &ThreadStatus {
        self.present().status.status()
    }

    /// Returns the status of the thread at the shown event. A saved checkpoint has none, so there it is the current one.
    pub fn shown_status(&self) -> &ThreadStatus {
        match self.shown_checkpoint() {
            Some(_) => self.thread_status(),
            None => self.projections.status.status(),
        }
    }

    /// Returns whether a run of the thread may send events. Whether one of a stateless run does isn't known.
    pub fn awaits_events(&self) -> bool {
        let is_ended = self.has_thread() && !self.thread_status().is_active();
        self.shown_checkpoint().is_none() && !self.is_recording() && !is_ended
    }

    /// Returns whether the head shows a thread status. Stateless runs have no thread, and the status of a recording is
    /// not loaded.
    pub fn has_thread(&self) -> bool {
        if self.is_recording() {
            return *self.shown_status() != ThreadStatus::Loading;
        }
        self.thread_id.is_some() || self.thread_status() != &ThreadStatus::Loading
    }

    /// Returns the badge of the thread at the shown event. During time travel its ages are those at that event.
    pub fn badge(&self, now: Timestamp) -> Line {
        let Some(past) = self.playhead() else {
            return self.present_badge(now);
        };
        if *self.shown_status() == ThreadStatus::Loading {
            return Line::dim("before the first event");
        }
        badge(
            &self.with_step(self.shown_status()),
            past.time.unwrap_or(now),
        )
    }

    /// Returns the badge of the thread as it is now, also during time travel.
    pub fn present_badge(&self, now: Timestamp) -> Line {
        let status = self.thread_status();
        if self.is_asleep {
            return Line::dim("not read");
        }
        match self.cancelling.as_ref().filter(|_| status.is_active()) {
            Some(cancelling) => {
                let asked = since(now, cancelling.since);
                let events = if cancelling.sends_events {
                    ", still sending events"
                } else {
                    ""
                };
                Line::moving("◐ ").with_plain(&format!("cancelling, asked {asked} ago{events}"))
            }
            None if self.playhead().is_some() => badge(status, now),
            None => badge(&self.with_step(status), now),
        }
    }

    /// Returns the status with the step number of the timeline, because a stream can continue without step numbers
    /// after a snapshot.
    fn with_step<'a>(&self, status: &'a ThreadStatus) -> Cow<'a, ThreadStatus> {
        let ThreadStatus::Running {
            run_id,
            step: Some(_),
            ..
        } = status
        else {
            return Cow::Borrowed(status);
        };
        let timeline = &self.projections.timeline;
        let is_shown_run = |attempt: &Attempt| {
            let is_of_run = attempt.run_id.is_none()
                || run_id.is_none()
                || attempt.run_id.as_deref() == run_id.as_deref();
            attempt.ended.is_none() && is_of_run
        };
        let newest = timeline
            .attempts()
            .next_back()
            .map(|(_, attempt)| attempt)
            .filter(|attempt| is_shown_run(attempt));
        let bars = newest
            .into_iter()
            .flat_map(|attempt| attempt.children.iter().rev());
        let step = bars
            .filter_map(|key| timeline.step(timeline.bar(*key)?))
            .next();
        let mut counted = status.clone();
        if let ThreadStatus::Running { step: known, .. } = &mut counted {
            *known = step.or(*known);
        }
        Cow::Owned(counted)
    }

    /// Notes what a new event or snapshot shows about a run that is being cancelled.
    pub(crate) fn follow_cancelling(&mut self, live_event: Option<Timestamp>) {
        let Some(cancelling) = &self.cancelling else {
            return;
        };
        let is_over = match self.thread_status() {
            ThreadStatus::Running { run_id, .. } | ThreadStatus::Queued { run_id, .. } => {
                cancelling.run_id.is_some() && run_id.is_some() && cancelling.run_id != *run_id
            }
            _ => true,
        };
        if is_over {
            self.cancelling = None;
        } else if let (Some(cancelling), Some(at)) = (&mut self.cancelling, live_event)
            && at.duration_since(cancelling.since) > IN_FLIGHT
        {
            cancelling.sends_events = true;
        }
    }

    /// Returns whether the viewer shows this thread live.
    pub fn is_of(&self, thread: &ThreadRef) -> bool {
        !self.is_recording()
            && self.server == thread.server
            && self.thread_id.as_ref() == Some(&thread.id)
    }

    /// Returns the assistant of the run that was started here, if there is one.
    pub fn started_assistant(&self) -> Option<&str> {
        match &self.target {
            StreamTarget::Start { body, .. } => Some(&body.assistant_id),
            _ => None,
        }
    }

    /// Returns a run of the thread, if it is known.
    pub fn run_entry(&self, run: &str) -> Option<&RunEntry> {
        self.present().status.run(run)
    }

    /// Returns the number of the next run on the thread; `None` if not all runs are known.
    pub fn next_run_number(&self) -> Option<usize> {
        let status = &self.present().status;
        status.loaded()?;
        match status.runs() {
            [] => Some(1),
            runs => runs
                .iter()
                .filter_map(|run| run.number)
                .max()
                .map(|number| number + 1),
        }
    }

    /// Returns the currently open questions of the thread.
    pub fn questions(&self) -> &[Question] {
        self.thread_status().questions()
    }

    /// Returns why the thread's state could not be loaded, if it failed.
    pub fn state_failure(&self) -> Option<&str> {
        let missing = self.projections.status.missing().iter();
        let failed = missing
            .filter(|(part, _)| *part == SnapshotPart::State)
            .find_map(|(_, why)| why.as_deref());
        failed.filter(|_| *self.thread_status() != ThreadStatus::Deleted)
    }

    /// Returns whether copying without a selection copies the error of a failed thread.
    pub fn offers_error(&self) -> bool {
        self.follows() && self.thread_status().error().is_some()
    }

    /// Returns whether the events of an active run are left to their only reader.
    pub fn leaves_events(&self) -> bool {
        match &self.connection {
            ConnectionState::Failed(error) => error.kind == Kind::OneReader,
            ConnectionState::Polling { unread, .. } => *unread > 0,
            _ => false,
        }
    }

    /// Returns the state of the connection.
    pub fn connection_line(&self, now: Timestamp, detail: Detail) -> Line {
        let line = Line::new();
        match &self.connection {
            ConnectionState::Connecting { .. } if self.is_recording() => {
                line.with_moving("◐ ").with_plain("reading the recording")
            }
            ConnectionState::Connecting { .. } if self.is_asleep => {
                line.with_dim("○ not connected")
            }
            ConnectionState::Connecting { since, conn } => {
                let again = if *conn > 1 {
                    "reconnecting"
                } else {
                    "connecting"
                };
                line.with_moving("◐ ")
                    .with_plain(&format!("{again} {}", text::age_since(*since, now)))
            }
            ConnectionState::Retrying { attempt, until, .. } => {
                let wait = Duration::try_from(until.duration_since(now)).unwrap_or_default();
                let when = if wait.is_zero() {
                    "now".to_string()
                } else {
                    format!("in {}", text::age(wait))
                };
                line.with_moving("◐ ")
                    .with_plain(&format!("reconnecting {when}, attempt {attempt}"))
            }
            ConnectionState::Polling { every, .. } => line.with_dim(&format!(
                "no stream · polling runs every {}",
                text::age(*every)
            )),
            ConnectionState::Failed(error) if error.kind == Kind::OneReader => {
                line.with_dim("not read: one reader only")
            }
            ConnectionState::Failed(error) if self.is_recording() => {
                let what = if error.kind == Kind::Protocol {
                    "not a recording"
                } else {
                    "can't be read"
                };
                line.with_bad("✗ ").with_plain(what)
            }
            ConnectionState::Failed(error) if error.kind == Kind::NoConnection => line
                .with_bad("✗ ")
                .with_plain(&format!("not connected: {}", error.detail)),
            ConnectionState::Failed(error) => line
                .with_bad("✗ ")
                .with_plain(&format!("not connected: {}", error.badge())),
            ConnectionState::Ended(end)
                if self.is_recording()
                    && end.detail.is_some()
                    && end.outcome == Outcome::Unknown =>
            {
                line.with_dim("■ recording truncated")
            }
            ConnectionState::Ended(end) if self.is_recording() => {
                line.with_dim(&format!("■ recording ended: {}", end.outcome.as_str()))
            }
            ConnectionState::Ended(end) => {
                let at = end
                    .at
                    .to_zoned(self.tz.clone())
                    .strftime("%H:%M:%S")
                    .to_string();
                line.with_dim(&format!("■ stream ended {at}"))
            }
            ConnectionState::Live { .. } => self.live_line(now, detail),
        }
    }

    /// Returns a warning about a silent connection. A thread without an active run can be silent for days without one.
    fn pulse(&self, now: Timestamp) -> Option<Line> {
        let follows_thread = matches!(
            self.target,
            StreamTarget::Tail { .. } | StreamTarget::Start { .. }
        );
        let is_expected = !follows_thread || self.thread_status().is_active();
        let is_live = matches!(self.connection, ConnectionState::Live { .. });
        pulse(self.delivery_log(), now).filter(|_| is_expected && is_live)
    }

    fn live_line(&self, now: Timestamp, detail: Detail) -> Line {
        let delivery = self.delivery_log();
        let mut line = Line::new();
        if let Some(pulse) = self.pulse(now) {
            line.left.extend(
                pulse
                    .left
                    .into_iter()
                    .filter(|piece| detail == Detail::Full || piece.tone != Tone::Dim),
            );
            return line;
        }
        line.push(Tone::Good, "● ");
        if detail == Detail::Age {
            let age = delivery.last_event_at.map(|at| text::age_since(at, now));
            line.push_plain(age.as_deref().unwrap_or("live"));
            return line;
        }
        line.push_plain("live");
        if detail == Detail::Full
            && delivery.heartbeats > 0
            && delivery
                .last_event_at
                .is_none_or(|at| now.duration_since(at) >= SignedDuration::from_secs(10))
        {
            let heartbeat = delivery
                .last_alive_at
                .map(|at| format!(" · heartbeat {}", text::age_since(at, now)));
            line.push_dim(&heartbeat.unwrap_or_default());
        }
        if let Some(at) = delivery.last_event_at {
            line.push_dim(&format!(" · last event {}", text::age_since(at, now)));
        }
        line
    }
}

/// Returns a warning about a silent connection, or about a silent server without heartbeats.
fn pulse(delivery: &DeliveryLog, now: Timestamp) -> Option<Line> {
    match delivery.pulse(now) {
        // The ages of the last event and heartbeat are enough.
        Liveness::Even | Liveness::Quiet(_) => None,
        Liveness::Silent(silent) => {
            Some(Line::moving("◌ ").with_plain(&format!("no heartbeat for {}", text::age(silent))))
        }
        // A server without heartbeats gets a softer note.
        Liveness::Unheard(quiet) => Some(
            Line::plain(&format!("◌ no event for {}", text::age(quiet)))
                .with_dim(", no heartbeats here"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_stream::projection::Projections;
    use runtail_stream::{Item, Record};
    use serde_json::json;

    fn at(seconds: i64) -> Option<Timestamp> {
        Timestamp::from_second(1_795_000_000 - seconds).ok()
    }

    fn badge_text(status: ThreadStatus) -> String {
        badge(&status, at(0).unwrap()).text()
    }

    #[test]
    fn every_status_has_a_badge() {
        let node = |name: &str| vec![name.to_string()];
        let running = |nodes: Vec<String>, seconds: i64| ThreadStatus::Running {
            since: at(seconds),
            nodes,
            step: Some(5),
            run_id: None,
            queued: 0,
        };
        let question = |text: &str, node: Option<&str>| Question {
            value: json!(text),
            node: node.map(str::to_string),
            ..Question::default()
        };
        for (status, wanted) in [
            (ThreadStatus::Loading, "loading…"),
            (
                ThreadStatus::Unknown {
                    why: "403 reading the thread".into(),
                },
                "? status unknown: 403 reading the thread",
            ),
            (
                ThreadStatus::Queued {
                    since: at(12),
                    waiting: 2,
                    run_id: None,
                },
                "◌ queued 12s · 2 runs waiting",
            ),
            (
                running(node("chat"), 173),
                "◐ running 2m53s · chat · step 5",
            ),
            (
                running(vec!["a".into(), "b".into(), "c".into()], 4000),
                "◐ running 1h · a, b +1 · step 5",
            ),
            (
                ThreadStatus::Waiting {
                    since: at(360),
                    questions: vec![question("Go?", Some("tools"))],
                },
                "◆ waiting for you 6m · tools",
            ),
            (
                ThreadStatus::Waiting {
                    since: None,
                    questions: vec![question("Go?", None), question("Stop?", None)],
                },
                "◆ waiting for you · 2 questions",
            ),
            (
                ThreadStatus::Paused {
                    since: at(360),
                    next: node("write_ledger"),
                    after: false,
                },
                "◆ paused before write_ledger 6m",
            ),
            (
                ThreadStatus::Cancelled {
                    at: at(720),
                    next: vec![],
                },
                "■ cancelled 12m ago",
            ),
            (
                ThreadStatus::Edited {
                    at: at(180),
                    next: node("x"),
                },
                "■ state edited 3m ago, not continued",
            ),
            (
                ThreadStatus::Failed {
                    at: at(120),
                    error: "x".into(),
                    nodes: node("tools"),
                    timed_out: false,
                },
                "✗ failed 2m ago · tools",
            ),
            (
                ThreadStatus::Idle {
                    ended: at(2160),
                    began: Timestamp::from_millisecond(1_794_997_838_300).ok(),
                },
                "● idle · last run finished 36m ago, took 1.7s",
            ),
            (
                ThreadStatus::Idle {
                    ended: None,
                    began: None,
                },
                "● idle",
            ),
            (
                ThreadStatus::BusyWithoutRun { since: at(2460) },
                "? busy 41m, no active run",
            ),
        ] {
            assert_eq!(badge_text(status), wanted);
        }
    }

    #[test]
    fn only_threads_that_need_attention_have_a_banner() {
        let waiting = ThreadStatus::Waiting {
            since: None,
            questions: vec![Question {
                value: json!("Send it?"),
                ..Question::default()
            }],
        };
        assert_eq!(
            (banner_tone(&waiting), banner_text(&waiting)),
            (Some(Tone::Banner), "◆ Send it?".into())
        );
        let failed = |error: &str, timed_out| {
            let status = ThreadStatus::Failed {
                at: None,
                error: error.into(),
                nodes: vec![],
                timed_out,
            };
            banner_text(&status)
        };
        assert_eq!(failed("ValueError: boom", false), "✗ ValueError: boom");
        assert_eq!(failed("", true), "✗ The run timed out");
        assert!(failed("", false).contains("no reason given"));
        for calm in [
            ThreadStatus::Loading,
            ThreadStatus::Idle {
                ended: None,
                began: None,
            },
        ] {
            assert_eq!(
                (banner_tone(&calm), banner_text(&calm)),
                (None, String::new())
            );
        }
    }

    #[test]
    fn a_silent_connection_is_reported() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let mut projections = Projections::default();
        let open = Record::Open {
            at: at(0),
            conn: 1,
            status: 200,
            resumed_after: None,
        };
        projections.apply(&Item::Record(open));
        let summary = |p: &Projections, s| pulse(&p.delivery, at(s)).map(|line| line.text());
        assert_eq!(summary(&projections, 5), None);
        assert_eq!(
            summary(&projections, 45).unwrap(),
            "◌ no event for 45s, no heartbeats here"
        );
        for s in 1..9 {
            projections.apply(&Item::Heartbeat { at: at(s * 5) });
        }
        assert_eq!(summary(&projections, 44), None);
        assert_eq!(summary(&projections, 62).unwrap(), "◌ no heartbeat for 22s");
    }
}
