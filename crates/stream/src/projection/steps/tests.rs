//! A row is the same whether it was seen live or is read from the records later.

use super::{StepRow, StepState, Steps};
use crate::projection::Projections;
use crate::{Data, Event, Item, Record, Seq, SnapshotFields};
use jiff::{SignedDuration, Timestamp};
use runtail_core::json::Peek;
use runtail_core::model::{Checkpoint, CheckpointTree};
use serde_json::{Value, json};
use std::sync::Arc;

const RUN: &str = "run-1";

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// What a run did: its steps, each with the tasks that ran at once, and how its last step ended.
struct Made {
    steps: Vec<Vec<String>>,
    end: End,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Finished,
    Asked,
    Failed,
}

impl Made {
    fn new(random: &mut Random) -> Made {
        let nodes = ["draft", "check", "act", "tools"];
        let count = 1 + random.below(6);
        let steps = (0..count).map(|_| {
            let first = random.below(4);
            let parallel = 1 + random.below(3) / 2;
            let nodes = (0..parallel).map(|n| nodes[((first + n) % 4) as usize].to_string());
            nodes.collect()
        });
        let mut made = Made {
            steps: steps.collect(),
            end: [End::Finished, End::Asked, End::Failed][random.below(3) as usize],
        };
        // A question or a failure is that of a task that ran alone.
        if made.end != End::Finished {
            made.steps.push(vec!["ask".into()]);
        }
        made
    }

    fn id(step: usize, nth: usize) -> String {
        format!("task-{step}-{nth}")
    }

    fn result(step: usize, node: &str) -> Value {
        json!({"log": [format!("{node} {step}")]})
    }

    fn is_open(&self, step: usize) -> bool {
        self.end != End::Finished && step + 1 == self.steps.len()
    }

    /// Returns its history, newest first, as a server has it.
    fn history(&self) -> Vec<Value> {
        let at = |n: usize| start() + SignedDuration::from_secs(n as i64);
        let entry = |n: usize, source: &str, tasks: Vec<Value>| {
            let parent = n
                .checked_sub(1)
                .map(|n| json!({"checkpoint_id": format!("{n:04}")}));
            json!({"checkpoint": {"checkpoint_id": format!("{n:04}")}, "parent_checkpoint": parent,
                   "created_at": at(n).to_string(), "next": [], "tasks": tasks, "values": {},
                   "metadata": {"source": source, "step": n as i64 - 1, "run_id": RUN}})
        };
        let input = json!({"id": "input", "name": "__start__", "result": {"log": []}});
        let mut all = vec![entry(0, "input", vec![input])];
        for n in 0..=self.steps.len() {
            let nodes = self.steps.get(n).cloned().unwrap_or_default();
            let tasks = nodes.iter().enumerate().map(|(nth, node)| {
                let mut task = json!({"id": Made::id(n, nth), "name": node});
                match self.end {
                    End::Asked if self.is_open(n) => {
                        task["interrupts"] = json!([{"id": "q", "value": "Go on?"}]);
                    }
                    End::Failed if self.is_open(n) => task["error"] = json!("ValueError('no')"),
                    _ => task["result"] = Made::result(n, node),
                }
                task
            });
            all.push(entry(n + 1, "loop", tasks.collect()));
            if self.is_open(n) {
                break;
            }
        }
        all.reverse();
        all
    }

    /// Returns its events in a mode.
    fn events(&self, mode: &str) -> Vec<Event> {
        let mut events = vec![("metadata", json!({"run_id": RUN, "attempt": 1}))];
        for (step, nodes) in self.steps.iter().enumerate() {
            let task = |nth: usize, fields: Value| {
                let mut task = json!({"id": Made::id(step, nth), "name": nodes[nth]});
                task.as_object_mut()
                    .unwrap()
                    .extend(fields.as_object().unwrap().clone());
                match mode {
                    "debug" => {
                        let kind = if fields.get("triggers").is_some() {
                            "task"
                        } else {
                            "task_result"
                        };
                        json!({"type": kind, "step": step + 1, "timestamp": time(step).to_string(), "payload": task})
                    }
                    _ => task,
                }
            };
            if mode != "updates" {
                let starts =
                    (0..nodes.len()).map(|nth| task(nth, json!({"triggers": ["x"], "input": {}})));
                events.extend(starts.map(|task| (mode, task)));
            }
            for (nth, node) in nodes.iter().enumerate() {
                let result = Made::result(step, node);
                let asked = json!([{"id": "q", "value": "Go on?"}]);
                match (self.end, self.is_open(step), mode) {
                    (End::Asked, true, "updates") => {
                        events.push(("updates", json!({"__interrupt__": asked})));
                    }
                    (End::Asked, true, _) => {
                        events.push((
                            mode,
                            task(
                                nth,
                                json!({"result": {}, "error": null, "interrupts": asked}),
                            ),
                        ));
                    }
                    (End::Failed, true, "updates") => {}
                    (End::Failed, true, _) => {
                        events.push((
                            mode,
                            task(
                                nth,
                                json!({"result": {}, "error": "ValueError: no", "interrupts": []}),
                            ),
                        ));
                    }
                    (_, _, "updates") => events.push(("updates", json!({ node: result }))),
                    _ => events.push((
                        mode,
                        task(
                            nth,
                            json!({"result": result, "error": null, "interrupts": []}),
                        ),
                    )),
                }
            }
        }
        if self.end == End::Failed {
            events.push(("error", json!({"error": "ValueError", "message": "no"})));
        }
        let event = |(n, (name, data)): (usize, (&str, Value))| Event {
            seq: Seq(n as u64 + 1),
            at: start() + SignedDuration::from_millis(n as i64),
            conn: 1,
            replayed: false,
            name: name.into(),
            ns: [].into(),
            id: None,
            data: Data::Json(data.to_string().into()),
        };
        events.into_iter().enumerate().map(event).collect()
    }
}

fn start() -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap()
}

fn time(step: usize) -> Timestamp {
    start() + SignedDuration::from_secs(step as i64)
}

fn tree(history: &[Value]) -> Arc<CheckpointTree> {
    let all = Checkpoint::read_all(&json!(history).to_string());
    Arc::new(CheckpointTree::new(all.into_iter().map(Arc::new)))
}

fn projected(events: Vec<Event>, history: &[Value]) -> Projections {
    let mut all = Projections::default();
    let seq = Seq(events.len() as u64 + 1);
    let item = |event| Item::Record(Record::Event(event));
    events.into_iter().for_each(|event| all.apply(&item(event)));
    let text = json!(history).to_string();
    let fields = SnapshotFields {
        history: Some(Peek::of(&text)),
        ..SnapshotFields::default()
    };
    let snapshot = Event {
        seq,
        ..fields.into_event(start())
    };
    all.apply(&item(snapshot));
    all
}

/// Returns what must be equal of a row.
fn facts(steps: &Steps, row: &StepRow) -> impl PartialEq + std::fmt::Debug + use<> {
    let place = row
        .checkpoint
        .map(|at| steps.tree().entries()[at].id.clone());
    (
        (row.step, row.node.clone(), row.source, row.state),
        (row.question.clone(), row.error.clone()),
        (place, row.recorded, steps.result(row).map(str::to_string)),
        steps.rails(row),
    )
}

#[test]
fn a_row_is_the_same_live_and_from_the_records() {
    let mut random = Random(7);
    for round in 0..300 {
        let made = Made::new(&mut random);
        let history = made.history();
        let tree = tree(&history);
        let later = projected(Vec::new(), &history);
        let later = Steps::join(tree.clone(), &later, None);
        for mode in ["updates", "tasks", "debug"] {
            let live = projected(made.events(mode), &history);
            let live = Steps::join(tree.clone(), &live, None);
            let [live_rows, later_rows] = [&live, &later].map(|steps| {
                steps
                    .rows()
                    .iter()
                    .map(|row| facts(steps, row))
                    .collect::<Vec<_>>()
            });
            assert_eq!(live_rows, later_rows, "{round}: {mode}");
            // Each row that the stream told of has its event.
            let without = live
                .rows()
                .iter()
                .filter(|row| row.place().is_none())
                .count();
            let is_silent = mode == "updates" && made.end == End::Failed;
            assert_eq!(without, 1 + usize::from(is_silent), "{round}: {mode}");
        }
    }
}

#[test]
fn rows_of_a_stream_without_records_have_no_steps() {
    let mut random = Random(3);
    for _ in 0..100 {
        let made = Made::new(&mut random);
        let mut of = Projections::default();
        for event in made.events("updates") {
            of.apply(&Item::Record(Record::Event(event)));
        }
        let steps = Steps::join(Arc::default(), &of, None);
        let nodes: Vec<&str> = steps.rows().iter().map(|row| &*row.node).collect();
        let mut wanted: Vec<&str> = made.steps.iter().flatten().map(|node| &**node).collect();
        match made.end {
            End::Asked => *wanted.last_mut().unwrap() = "__interrupt__",
            End::Failed => drop(wanted.pop()),
            End::Finished => {}
        }
        assert_eq!(nodes, wanted);
        assert!(steps.rows().iter().all(|row| row.step.is_none()));
        assert!(steps.rows().iter().all(|row| row.place().is_some()));
    }
}

#[test]
fn records_of_later_times_are_left_out() {
    let made = Made {
        steps: vec![vec!["draft".into()], vec!["act".into()]],
        end: End::Finished,
    };
    let history = made.history();
    let of = projected(Vec::new(), &history);
    let at = |secs| {
        let steps = Steps::join(tree(&history), &of, Some(time(secs)));
        let rows = steps
            .rows()
            .iter()
            .map(|row| (row.node.to_string(), row.state));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(
        at(1),
        [
            ("__start__".to_string(), StepState::Done),
            ("draft".to_string(), StepState::Running)
        ]
    );
    assert_eq!(at(3).len(), 3);
}

#[test]
fn ten_thousand_steps_are_joined_at_once() {
    let made = Made {
        steps: vec![vec!["loop".into()]; 10_000],
        end: End::Finished,
    };
    let history = made.history();
    let tree = tree(&history);
    let of = projected(made.events("updates"), &[]);
    let began = std::time::Instant::now();
    let steps = Steps::join(tree, &of, None);
    assert!(began.elapsed().as_secs() < 2, "{:?}", began.elapsed());
    assert_eq!(steps.rows().len(), 10_001);
    assert!(steps.rows()[1..].iter().all(|row| row.place().is_some()));
}
