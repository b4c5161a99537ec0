//! The positions of runs, steps and failures in an event log.

use super::event_attrs;
use super::rows::{Rows, Weigh, len};
use crate::protocol::Payload;
use crate::{Interner, Item, Record, Seq};
use std::sync::Arc;

/// The type of a debug event is within this many bytes of its start.
const HEAD: usize = 300;

impl Weigh for (Seq, Option<Arc<str>>) {
    const MAX_ROWS: usize = <Seq as Weigh>::MAX_ROWS;

    fn weight(&self) -> usize {
        size_of::<(Seq, Option<Arc<str>>)>() + len(&self.1)
    }
}

/// The landmarks of an event log.
#[derive(Debug, Clone, Default)]
pub struct Landmarks {
    pub(super) runs: Rows<(Seq, Option<Arc<str>>)>,
    steps: Rows<Seq>,
    errors: Rows<Seq>,
    /// The best source of steps in this run so far. Other sources report the same steps.
    best: Source,
    /// Whether tasks of the current step have started and none has ended yet.
    is_beginning: bool,
    seq: Seq,
    names: Interner,
}

/// The source of steps, best last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    #[default]
    None,
    Updates,
    Tasks,
    Values,
    Checkpoints,
}

impl Landmarks {
    pub(super) fn bytes(&self) -> usize {
        self.runs.bytes() + self.steps.bytes() + self.errors.bytes()
    }

    /// Returns the run that an event belongs to. A thread's stream only names its run when the run starts and finishes.
    pub fn run_at(&self, seq: Seq) -> Option<&Arc<str>> {
        let known = self.runs.partition_point(|(from, _)| *from <= seq);
        self.runs[..known].last().and_then(|(_, run)| run.as_ref())
    }

    /// Returns the events that start or end a step of the root graph, depending on the modes of the run.
    pub fn steps(&self) -> &[Seq] {
        &self.steps
    }

    /// Returns the events that report a failure or could not be parsed.
    pub fn errors(&self) -> &[Seq] {
        &self.errors
    }

    pub(super) fn apply(&mut self, payload: &Payload<'_>) {
        self.seq = payload.event.seq;
        if payload.name == "metadata" {
            self.metadata(payload);
        }
        if event_attrs::is_failure(payload) {
            self.errors.push(self.seq);
        }
        if payload.is_root() {
            self.step(payload);
        }
    }

    pub(super) fn apply_item(&mut self, item: &Item) {
        let run = match item {
            Item::Started { run_id, .. } => Some(run_id.as_str()),
            Item::Record(Record::Head(head)) => head.run_id.as_deref(),
            _ => None,
        };
        if let Some(run) = run {
            self.set_run(self.seq.next(), Some(run));
        }
    }

    fn metadata(&mut self, payload: &Payload<'_>) {
        let Some((run, metadata)) = payload.run() else {
            return;
        };
        // A new attempt starts its steps again.
        (self.best, self.is_beginning) = (Source::None, false);
        self.set_run(self.seq, Some(run));
        if metadata.is_done() {
            self.set_run(self.seq.next(), None);
        }
    }

    /// Sets the active run from an event on.
    fn set_run(&mut self, from: Seq, run: Option<&str>) {
        if self.runs.last().map(|(_, run)| run.as_deref()) == Some(run) {
            return;
        }
        let run = run.map(|run| self.names.get(run));
        // One run may end and the next one start at the same event.
        match self.runs.last_mut() {
            Some(last) if last.0 == from => last.1 = run,
            _ => self.runs.push((from, run)),
        }
    }

    fn step(&mut self, payload: &Payload<'_>) {
        let data = payload.json.unwrap_or_default().as_bytes();
        let contains = |text: &str, within: usize| {
            memchr::memmem::find(&data[..data.len().min(within)], text.as_bytes()).is_some()
        };
        let source = match payload.name {
            "checkpoints" => Source::Checkpoints,
            "debug"
                if contains(r#""type":"checkpoint""#, HEAD)
                    || contains(r#""type": "checkpoint""#, HEAD) =>
            {
                Source::Checkpoints
            }
            "values" => Source::Values,
            "tasks" => {
                let is_start =
                    contains(r#""triggers""#, data.len()) && !contains(r#""result""#, data.len());
                let is_same_step = std::mem::replace(&mut self.is_beginning, is_start);
                if is_same_step || !is_start {
                    return;
                }
                Source::Tasks
            }
            "updates" => Source::Updates,
            _ => return,
        };
        if source >= self.best {
            self.best = source;
            self.steps.push(self.seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;
    use crate::Event;

    fn numbers(events: &[Seq]) -> Vec<u64> {
        events.iter().map(|event| event.0).collect()
    }

    fn landmarks(events: &[(&str, &str, &str)]) -> Landmarks {
        let mut landmarks = Landmarks::default();
        for (i, (name, ns, data)) in events.iter().enumerate() {
            let ns = ns
                .split('|')
                .filter(|s| !s.is_empty())
                .map(Into::into)
                .collect();
            let data = if data.is_empty() {
                Data::Malformed("<html>".into())
            } else {
                Data::Json((*data).into())
            };
            let (seq, at) = (Seq(i as u64 + 1), jiff::Timestamp::UNIX_EPOCH);
            let event = Event {
                seq,
                at,
                conn: 1,
                replayed: false,
                name: (*name).into(),
                ns,
                id: None,
                data,
            };
            landmarks.apply(&Payload::of(&event));
        }
        landmarks
    }

    #[test]
    fn thread_events_belong_to_the_active_run() {
        let landmarks = landmarks(&[
            ("values", "", "{}"),
            ("metadata", "", r#"{"run_id":"a","attempt":1}"#),
            ("values", "", "{}"),
            ("metadata", "", r#"{"run_id":"a","status":"run_done"}"#),
            ("metadata", "", r#"{"run_id":"b","attempt":1}"#),
            ("values", "", "{}"),
            ("metadata", "", r#"{"status":"run_done","run_id":"b"}"#),
            ("state_update", "", "{}"),
        ]);
        let runs: Vec<Option<&str>> = (1..=8)
            .map(|seq| landmarks.run_at(Seq(seq)).map(|run| &**run))
            .collect();
        assert_eq!(
            runs,
            [
                None,
                Some("a"),
                Some("a"),
                Some("a"),
                Some("b"),
                Some("b"),
                Some("b"),
                None
            ]
        );
        assert_eq!(landmarks.run_at(Seq(99)), None);
    }

    #[test]
    fn the_run_of_a_stream_is_known_before_its_first_event() {
        let mut landmarks = Landmarks::default();
        landmarks.apply_item(&Item::Started {
            thread_id: None,
            run_id: "a".into(),
        });
        landmarks.apply_item(&Item::Started {
            thread_id: None,
            run_id: "a".into(),
        });
        assert_eq!(
            (
                landmarks.run_at(Seq(1)).map(|run| &**run),
                landmarks.run_at(Seq(0)),
                landmarks.runs.len()
            ),
            (Some("a"), None, 1)
        );
    }

    #[test]
    fn steps_use_only_the_best_source() {
        let start = r#"{"id":"1","name":"a","input":{},"triggers":["x"]}"#;
        let end = r#"{"id":"1","name":"a","error":null,"result":{},"interrupts":[]}"#;
        let both = landmarks(&[
            ("values", "", "{}"),
            ("updates", "", r#"{"a":{}}"#),
            ("tasks", "", start),
            ("values", "", "{}"),
            ("values", "sub:1", "{}"),
            ("metadata", "", r#"{"run_id":"b","attempt":1}"#),
            ("updates", "", r#"{"a":{}}"#),
            (
                "debug",
                "",
                r#"{"step":-1,"timestamp":"t","type":"checkpoint","payload":{}}"#,
            ),
            ("updates", "", r#"{"a":{}}"#),
            (
                "debug",
                "",
                r#"{"step":0,"timestamp":"t","type":"task","payload":{}}"#,
            ),
            ("checkpoints", "", "{}"),
        ]);
        assert_eq!(numbers(both.steps()), [1, 4, 7, 8, 11]);
        let tasks = landmarks(&[
            ("tasks", "", start),
            ("tasks", "", start),
            ("tasks", "", end),
            ("tasks", "", end),
            ("tasks", "", start),
        ]);
        assert_eq!(
            numbers(tasks.steps()),
            [1, 5],
            "parallel tasks are one step"
        );
    }

    #[test]
    fn failures_of_every_mode_are_found() {
        let task =
            |error: &str| format!(r#"{{"id":"1","name":"a","error":{error},"result":{{}}}}"#);
        let (succeeded, failed) = (task("null"), task("\"boom\""));
        let debug = format!(r#"{{"step":1,"type":"task_result","payload":{failed}}}"#);
        let found = landmarks(&[
            ("tasks", "", &succeeded),
            ("tasks", "sub:1", &failed),
            ("debug", "", &debug),
            ("error", "", r#"{"error":"ValueError","message":"boom"}"#),
            ("custom", "", r#"{"error":"not an error of the graph"}"#),
            ("values", "", ""),
            (
                "messages",
                "",
                r#"[{"type":"tool","status":"error","content":"no","id":"t"},{}]"#,
            ),
            (
                "messages",
                "",
                r#"[{"type":"ai","content":"\"status\":\"error\""},{}]"#,
            ),
            ("events", "", r#"{"event":"on_tool_error","name":"x"}"#),
            (
                "values",
                "",
                r#"{"type":"event","method":"lifecycle","params":{"namespace":[],"data":{"event":"failed","error":"x"}}}"#,
            ),
            ("error", "", "\"Run not found\""),
        ]);
        assert_eq!(numbers(found.errors()), [2, 3, 4, 6, 7, 9, 10, 11]);
    }
}
