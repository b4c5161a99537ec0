//! The order of messages: one list, whether the stream, the server's state or a replay delivers them first.

use bytes::Bytes;
use proptest::prelude::*;
use runtail_stream::projection::{Message, Projections};
use runtail_stream::{
    Data, Decoder, Event, Frame, Framer, Item, Loaded, Record, Seq, SnapshotPart, ThreadSnapshot,
};
use serde_json::{Value, json};
use std::path::Path;

/// A thread on a server: what its runs streamed, and its records afterwards.
struct Thread {
    /// Name, namespace, id and data.
    events: Vec<(String, Vec<String>, Option<String>, String)>,
    state: String,
    history: String,
}

impl Thread {
    fn captured(name: &str) -> Thread {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/agents");
        let read =
            |part: &str| std::fs::read_to_string(dir.join(format!("{name}-{part}"))).unwrap();
        let body = |part: &str| -> String {
            serde_json::from_str::<Value>(&read(part)).unwrap()["response"]["body"].to_string()
        };
        let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
        framer.push(Bytes::from(read("stream.sse")));
        let mut events = Vec::new();
        while let Some(frame) = framer.next_frame() {
            let Frame::Block(block) = frame else { continue };
            if let Some(event) = decoder.decode(block) {
                let ns = event.ns.iter().map(|segment| segment.to_string()).collect();
                events.push((
                    event.name.to_string(),
                    ns,
                    event.id.map(|id| id.to_string()),
                    event.data.text().to_string(),
                ));
            }
        }
        Thread {
            events,
            state: body("state.json"),
            history: body("history.json"),
        }
    }

    /// Returns the messages after the events from `from` on, with the snapshot before this event of them.
    fn shown(&self, from: usize, snapshot_at: usize, replayed: bool, how: &How) -> Vec<String> {
        let mut projections = Projections::default();
        let mut seq = Seq::START;
        let at = "2026-11-26T23:00:00Z".parse().unwrap();
        if from > 0 {
            projections.apply(&Item::Record(Record::Gap {
                at,
                why: "joined".into(),
            }));
        }
        let mut apply = |event: Event| projections.apply(&Item::Record(Record::Event(event)));
        let events = self.events[from..]
            .iter()
            .filter(|(name, ..)| how.modes.iter().any(|mode| name.starts_with(mode)));
        let events: Vec<_> = events.collect();
        for n in 0..=events.len() {
            if n == snapshot_at.min(events.len()) {
                seq = seq.next();
                let parts = [
                    (SnapshotPart::State, &self.state),
                    (SnapshotPart::History, &self.history),
                ];
                let parts = parts
                    .map(|(part, json)| (part, Loaded::Json(json.as_str().into())))
                    .into();
                apply(ThreadSnapshot { at, parts }.into_event(seq));
            }
            let Some((name, ns, id, data)) = events.get(n) else {
                break;
            };
            seq = seq.next();
            apply(Event {
                seq,
                at,
                conn: 1,
                replayed,
                name: name.as_str().into(),
                ns: ns.iter().map(|segment| segment.as_str().into()).collect(),
                id: id.as_deref().filter(|_| how.has_ids).map(Into::into),
                data: Data::Json(data.as_str().into()),
            });
        }
        projections.messages.in_order().map(line).collect()
    }

    /// Checks that all deliveries give the same list, and that it has the state's messages in the state's order. Returns the list.
    fn check(&self, name: &str, how: &How) -> Vec<String> {
        let live = self.shown(0, usize::MAX, false, how);
        for (snapshot_at, replayed) in
            [(0, true), (usize::MAX, true), (self.events.len() / 2, true)]
        {
            assert_eq!(
                self.shown(0, snapshot_at, replayed, how),
                live,
                "{name} {how:?}: snapshot before event {snapshot_at}"
            );
        }
        // With a part of the events, all messages still have the same order.
        for from in [self.events.len() / 3, self.events.len() * 2 / 3] {
            let late = self.shown(from, 0, true, how);
            let places: Vec<_> = late
                .iter()
                .map(|line| live.iter().position(|other| same_id(line, other)))
                .collect();
            assert!(
                places.is_sorted() && !places.contains(&None),
                "{name} {how:?} from {from}:\n{late:#?}\n{live:#?}"
            );
        }
        let state: Value = serde_json::from_str(&self.state).unwrap();
        let state: Vec<&str> = state["values"]["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["id"].as_str().unwrap())
            .collect();
        let current = live
            .iter()
            .filter(|line| !line.contains("removed") && line.contains("root"))
            .collect::<Vec<_>>();
        let current: Vec<&str> = current
            .iter()
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        assert_eq!(current, state, "{name} {how:?}");
        live
    }
}

/// Which events a server sends.
#[derive(Debug)]
struct How {
    modes: &'static [&'static str],
    has_ids: bool,
}

const ALL: [&str; 6] = [
    "metadata", "values", "updates", "messages", "tasks", "custom",
];
const MODES: [&[&str]; 3] = [
    &ALL,
    &["metadata", "values", "messages"],
    &["metadata", "updates", "messages"],
];

fn line(message: &Message) -> String {
    let place = message.ns.first().map_or("root", |segment| {
        segment.split(':').next().unwrap_or_default()
    });
    let removed = if message.removed_at.is_some() {
        " removed"
    } else {
        ""
    };
    format!(
        "{} {} {place}{removed}",
        message.id.as_deref().unwrap_or_default(),
        message.role.word()
    )
}

fn same_id(a: &str, b: &str) -> bool {
    a.split(' ').next() == b.split(' ').next()
}

#[test]
fn captured_threads_have_one_order() {
    for name in ["deep", "trimmed", "react", "structured", "aegra-agent"] {
        let thread = Thread::captured(name);
        for modes in MODES {
            let list = thread.check(
                name,
                &How {
                    modes,
                    has_ids: true,
                },
            );
            assert_eq!(
                thread.shown(
                    0,
                    0,
                    true,
                    &How {
                        modes,
                        has_ids: false
                    }
                ),
                list,
                "{name} {modes:?} without times"
            );
        }
    }
}

#[test]
fn a_message_is_shown_once_whose_id_was_random_during_its_step() {
    let mut thread = Thread::captured("aegra-early");
    let how = How {
        modes: &ALL,
        has_ids: true,
    };
    let state = thread.state.clone();
    thread.state = "{}".into();
    let live = thread.shown(0, 0, false, &how);
    assert_eq!(live.len(), 4, "{live:#?}");
    // The page reads the state of the first step while it starts the run, so the answer comes between any two events.
    thread.state = state;
    for at in 0..=thread.events.len() {
        assert_eq!(
            thread.shown(0, at, false, &how),
            live,
            "state before event {at}"
        );
    }
    // Another message with the same text is another one: the model has already answered it.
    let again = r#"{"content":"Again","type":"human","id":"again"},{"content":"Yes","type":"ai","id":"yes"}"#;
    let state = |human: &str| json!({"values": {"messages": serde_json::from_str::<Value>(&format!("[{human}]")).unwrap()}});
    thread.events.truncate(2);
    thread.events.push((
        "values".into(),
        vec![],
        None,
        state(again)["values"].to_string(),
    ));
    thread.state = state(&again.replace("\"again", "\"other").replace("\"yes", "\"no")).to_string();
    let shown = thread.shown(0, 9, false, &how);
    assert!(
        shown.iter().any(|line| line.starts_with("other"))
            && shown.iter().any(|line| line.starts_with("again"))
    );
}

#[test]
fn dropped_messages_stay_before_what_replaced_them() {
    let list = Thread::captured("trimmed").check(
        "trimmed",
        &How {
            modes: &ALL,
            has_ids: true,
        },
    );
    let words: Vec<_> = list
        .iter()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    assert_eq!(
        words,
        [
            "human root removed",
            "ai root removed",
            "ai root",
            "ai root"
        ]
    );
    assert_eq!(
        &list[1..],
        ["a1 ai root removed", "short ai root", "a2 ai root"]
    );
}

#[test]
fn messages_of_subagents_stay_in_the_step_that_called_them() {
    let list = Thread::captured("deep").check(
        "deep",
        &How {
            modes: &ALL,
            has_ids: true,
        },
    );
    let words: Vec<_> = list
        .iter()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    let inner = words
        .iter()
        .filter(|words| words.ends_with("tools"))
        .count();
    assert_eq!(inner, 6);
    let first = words
        .iter()
        .position(|words| words.ends_with("tools"))
        .unwrap();
    assert_eq!(words[first - 1], "ai root", "the message that called them");
    assert_eq!(
        words[first + inner..],
        [
            "tool root",
            "tool root",
            "ai root",
            "tool root",
            "ai root",
            "tool root",
            "ai root"
        ]
    );
}

/// One step of a graph.
#[derive(Debug, Clone)]
enum Step {
    /// Adds messages.
    Append(usize),
    /// Removes a message by its id.
    Remove(usize),
    /// Replaces all messages but the last ones by a summary in front of them.
    Summarize { kept: usize, overwrites: bool },
    /// The state keeps the last messages only.
    Window(usize),
    /// Calls a subagent, whose messages are not in the state.
    Subagent(usize),
    /// The run ends, and another one starts with a message of the user.
    Run,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..3usize).prop_map(Step::Append),
        1 => (0..6usize).prop_map(Step::Remove),
        1 => (0..3usize, any::<bool>()).prop_map(|(kept, overwrites)| Step::Summarize { kept, overwrites }),
        1 => (1..4usize).prop_map(Step::Window),
        2 => (1..3usize).prop_map(Step::Subagent),
        1 => Just(Step::Run),
    ];
    prop::collection::vec(step, 1..14)
}

/// Runs a graph on a server with a clock.
struct Server {
    thread: Thread,
    state: Vec<Value>,
    history: Vec<Value>,
    clock: i64,
    count: usize,
    run: usize,
}

impl Server {
    fn run(steps: &[Step]) -> Thread {
        let thread = Thread {
            events: Vec::new(),
            state: String::new(),
            history: String::new(),
        };
        let mut server = Server {
            thread,
            state: Vec::new(),
            history: Vec::new(),
            clock: 0,
            count: 0,
            run: 0,
        };
        server.begin();
        for step in steps {
            server.step(step);
        }
        server.thread.history = json!(server.history).to_string();
        server.thread.state = server.history[0].to_string();
        server.thread
    }

    fn event(&mut self, name: &str, ns: &[&str], data: &Value) {
        self.clock += 3;
        let id = format!("{}-0", 1_795_000_000_000 + self.clock);
        let ns = ns.iter().map(|segment| (*segment).to_string()).collect();
        self.thread
            .events
            .push((name.into(), ns, Some(id), data.to_string()));
    }

    fn message(&mut self, kind: &str) -> Value {
        self.count += 1;
        json!({"type": kind, "id": format!("m{}", self.count), "content": format!("text {}", self.count)})
    }

    fn begin(&mut self) {
        self.run += 1;
        self.event(
            "metadata",
            &[],
            &json!({"run_id": format!("r{}", self.run), "attempt": 1}),
        );
        let input = self.message("human");
        self.state.push(input);
        self.save("input");
    }

    /// Saves a checkpoint, and sends the state.
    fn save(&mut self, source: &str) {
        self.clock += 1;
        let at = jiff::Timestamp::from_millisecond(1_795_000_000_000 + self.clock).unwrap();
        let parent = self
            .history
            .first()
            .map_or(Value::Null, |before| before["checkpoint"].clone());
        let checkpoint = json!({"checkpoint_id": format!("c{:05}", self.clock)});
        let entry = json!({"values": {"messages": self.state}, "next": [], "tasks": [], "created_at": at.to_string(),
            "metadata": {"source": source, "step": self.history.len(), "run_id": format!("r{}", self.run)},
            "checkpoint": checkpoint, "parent_checkpoint": parent});
        self.history.insert(0, entry);
        let values = json!({"messages": self.state});
        self.event("values", &[], &values);
    }

    fn token(&mut self, ns: &[&str], message: &Value, node: &str) {
        let mut path: Vec<String> = ns.iter().map(|segment| (*segment).to_string()).collect();
        path.push(format!("{node}:x"));
        let origin = json!({"langgraph_node": node, "langgraph_checkpoint_ns": path.join("|"), "run_id": format!("r{}", self.run)});
        self.event("messages", ns, &json!([message, origin]));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Append(count) => {
                let new: Vec<Value> = (0..*count).map(|_| self.message("ai")).collect();
                new.iter()
                    .for_each(|message| self.token(&[], message, "model"));
                self.event("updates", &[], &json!({"model": {"messages": new}}));
                self.state.extend(new);
            }
            Step::Remove(at) => {
                if self.state.len() < 2 {
                    return;
                }
                let gone = self.state.remove(at % (self.state.len() - 1));
                self.event(
                    "updates",
                    &[],
                    &json!({"drop": {"messages": [{"type": "remove", "id": gone["id"], "content": ""}]}}),
                );
            }
            Step::Summarize { kept, overwrites } => {
                let summary = self.message("human");
                let from = self.state.len().saturating_sub(*kept);
                let mut new = vec![summary];
                new.extend_from_slice(&self.state[from..]);
                let update = match overwrites {
                    true => json!({"__overwrite__": new}),
                    false => json!(
                        [
                            vec![json!({"type": "remove", "id": "__remove_all__", "content": ""})],
                            new.clone()
                        ]
                        .concat()
                    ),
                };
                self.event("updates", &[], &json!({"sum": {"messages": update}}));
                self.state = new;
            }
            Step::Window(size) => {
                let new = self.message("ai");
                self.token(&[], &new, "model");
                self.event("updates", &[], &json!({"model": {"messages": [new]}}));
                self.state.push(new);
                let from = self.state.len().saturating_sub(*size);
                self.state.drain(..from);
            }
            Step::Subagent(count) => {
                let ns = format!("tools:t{}", self.count);
                for _ in 0..*count {
                    let inner = self.message("ai");
                    self.token(&[&ns], &inner, "model");
                    self.event("updates", &[&ns], &json!({"model": {"messages": [inner]}}));
                }
                let result = self.message("tool");
                self.token(&[], &result, "tools");
                self.event("updates", &[], &json!({"tools": {"messages": [result]}}));
                self.state.push(result);
            }
            Step::Run => return self.begin(),
        }
        self.save("loop");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_delivery_gives_the_same_list(steps in steps()) {
        let thread = Server::run(&steps);
        for modes in &MODES[..2] {
            thread.check("generated", &How { modes, has_ids: true });
        }
    }
}
