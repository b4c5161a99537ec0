//! The positions of runs, steps and failures in an event log.

use super::event_attrs;
use super::rows::{Rows, Weigh, len};
use crate::protocol::{Debug, Payload, Task};
use crate::{Interner, Item, Record, Seq};
use std::sync::Arc;

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

    /// Returns the first event of a run, and its last one if other events follow.
    pub fn extent_of(&self, run: &str) -> Option<(Seq, Option<Seq>)> {
        let is_its = |(_, of): &(Seq, Option<Arc<str>>)| of.as_deref() == Some(run);
        let first = self.runs.iter().position(is_its)?;
        let last = self.runs.iter().rposition(is_its)?;
        let after = self.runs.get(last + 1).map(|(from, _)| from.previous());
        Some((self.runs.get(first)?.0, after))
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
        let is_checkpoint = |debug: &Debug<'_>| debug.kind.is("checkpoint");
        let source = match payload.name {
            "checkpoints" => Source::Checkpoints,
            "debug" if payload.debug().is_some_and(is_checkpoint) => Source::Checkpoints,
            "values" => Source::Values,
            "tasks" => {
                let is_start = payload.task().is_some_and(Task::is_start);
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
    use crate::tests::Script;

    fn numbers(events: &[Seq]) -> Vec<u64> {
        events.iter().map(|event| event.0).collect()
    }

    fn landmarks(events: &str) -> Landmarks {
        Script::of(events).projections.landmarks
    }

    #[test]
    fn thread_events_belong_to_the_active_run() {
        let landmarks = landmarks(
            r#"0 values {}
               0 metadata {"run_id":"a","attempt":1}
               0 values {}
               0 metadata {"run_id":"a","status":"run_done"}
               0 metadata {"run_id":"b","attempt":1}
               0 values {}
               0 metadata {"status":"run_done","run_id":"b"}
               0 state_update {}"#,
        );
        let run = |seq| landmarks.run_at(Seq(seq)).map_or("-", |run| run);
        assert_eq!((1..=8).map(run).collect::<String>(), "-aaabbb-");
        assert_eq!(landmarks.run_at(Seq(99)), None);
    }

    #[test]
    fn the_run_of_a_stream_is_known_before_its_first_event() {
        let mut landmarks = Landmarks::default();
        for _ in 0..2 {
            landmarks.apply_item(&Item::Started {
                thread_id: None,
                run_id: "a".into(),
            });
        }
        assert_eq!(landmarks.run_at(Seq(1)).map(|run| &**run), Some("a"));
        assert_eq!((landmarks.run_at(Seq(0)), landmarks.runs.len()), (None, 1));
    }

    #[test]
    fn steps_use_only_the_best_source() {
        let both = landmarks(
            r#"0 values {}
               0 updates {"a":{}}
               0 tasks {"id":"1","name":"a","input":{},"triggers":["x"]}
               0 values {}
               0 values|sub:1 {}
               0 metadata {"run_id":"b","attempt":1}
               0 updates {"a":{}}
               0 debug {"step":-1,"timestamp":"t","type":"checkpoint","payload":{}}
               0 updates {"a":{}}
               0 debug {"step":0,"timestamp":"t","type":"task","payload":{}}
               0 checkpoints {}"#,
        );
        assert_eq!(numbers(both.steps()), [1, 4, 7, 8, 11]);
        let tasks = landmarks(
            r#"0 tasks {"id":"1","name":"a","input":{},"triggers":["x"]}
               0 tasks {"id":"1","name":"a","input":{},"triggers":["x"]}
               0 tasks {"id":"1","name":"a","error":null,"result":{},"interrupts":[]}
               0 tasks {"id":"1","name":"a","error":null,"result":{},"interrupts":[]}
               0 tasks {"id":"1","name":"a","input":{},"triggers":["x"]}"#,
        );
        assert_eq!(
            numbers(tasks.steps()),
            [1, 5],
            "parallel tasks are one step"
        );
    }

    #[test]
    fn failures_of_every_mode_are_found() {
        let found = landmarks(
            r#"0 tasks {"id":"1","name":"a","error":null,"result":{}}
               0 tasks|sub:1 {"id":"1","name":"a","error":"boom","result":{}}
               0 debug {"step":1,"type":"task_result","payload":{"id":"1","name":"a","error":"boom","result":{}}}
               0 error {"error":"ValueError","message":"boom"}
               0 custom {"error":"not an error of the graph"}
               0 values <html>
               0 messages [{"type":"tool","status":"error","content":"no","id":"t"},{}]
               0 messages [{"type":"ai","content":"\"status\":\"error\""},{}]
               0 events {"event":"on_tool_error","name":"x"}
               0 values {"type":"event","method":"lifecycle","params":{"namespace":[],"data":{"event":"failed","error":"x"}}}
               0 error "Run not found""#,
        );
        assert_eq!(numbers(found.errors()), [2, 3, 4, 6, 7, 9, 10, 11]);
    }
}
