//! Reads a stream's JSON lines and checks the invariants of every recording.

use serde_json::Value;
use std::collections::BTreeMap;

/// A recording as printed by the binary.
#[derive(Debug)]
pub struct Recording {
    pub head: Value,
    pub events: Vec<Value>,
    pub opens: Vec<Value>,
    pub closes: Vec<Value>,
    pub gaps: Vec<Value>,
    pub end: Value,
}

impl Recording {
    /// Parses a recording and checks its invariants: the head first, the end last, `seq` without holes, every event on
    /// the newest connection, and totals that match the lines.
    #[track_caller]
    pub fn parse(stdout: &str) -> Recording {
        let mut recording = Recording {
            head: Value::Null,
            events: Vec::new(),
            opens: Vec::new(),
            closes: Vec::new(),
            gaps: Vec::new(),
            end: Value::Null,
        };
        for (number, line) in stdout.lines().enumerate() {
            let record: Value =
                serde_json::from_str(line).unwrap_or_else(|e| panic!("line {number}: {e}: {line}"));
            // A thread page loads the thread again after its stream has ended.
            assert!(
                recording.end.is_null() || record["kind"] == "snapshot",
                "a line after the end: {line}"
            );
            let kind = record["kind"]
                .as_str()
                .unwrap_or_else(|| panic!("line {number} has no kind: {line}"));
            assert_eq!(
                kind == "tape",
                number == 0,
                "the head is the first line, and only that: {line}"
            );
            let at = record["at"]
                .as_str()
                .unwrap_or_else(|| panic!("line {number} has no time: {line}"));
            at.parse::<jiff::Timestamp>()
                .unwrap_or_else(|e| panic!("{at:?} is not a time: {e}"));
            match kind {
                "tape" => recording.head = record,
                "open" => recording.opens.push(record),
                "close" => recording.closes.push(record),
                "gap" => recording.gaps.push(record),
                "end" => recording.end = record,
                "event" => {
                    assert_eq!(
                        record["seq"],
                        recording.events.len() as u64 + 1,
                        "seq without holes: {line}"
                    );
                    let newest = recording.opens.last().map(|open| &open["conn"]);
                    assert_eq!(
                        Some(&record["conn"]),
                        newest,
                        "an event of the newest connection: {line}"
                    );
                    assert!(
                        record["ns"].is_array() && record["event"].is_string(),
                        "{line}"
                    );
                    recording.events.push(record);
                }
                _ => {} // unknown kinds are skipped, as every reader should
            }
        }
        assert!(
            !recording.end.is_null(),
            "the recording has no end; its last line: {:?}",
            stdout.lines().last()
        );
        assert_eq!(recording.head["version"], 1);
        assert_eq!(
            recording.end["events"],
            recording.events.len() as u64,
            "{}",
            recording.end
        );
        assert_eq!(
            recording.end["gaps"],
            recording.gaps.len() as u64,
            "{}",
            recording.end
        );
        assert_eq!(recording.end["malformed"], 0, "{}", recording.end);
        let numbers: Vec<_> = recording
            .opens
            .iter()
            .map(|open| open["conn"].as_u64().expect("a number"))
            .collect();
        assert!(
            numbers.is_sorted_by(|a, b| a < b),
            "connections have growing numbers: {numbers:?}"
        );
        assert!(
            recording.end["connections"].as_u64() >= Some(numbers.len() as u64),
            "{}",
            recording.end
        );
        recording
    }

    /// Returns the outcome.
    pub fn outcome(&self) -> &str {
        self.end["outcome"].as_str().unwrap_or_default()
    }

    /// Returns the thread's id.
    #[track_caller]
    pub fn thread(&self) -> String {
        crate::server::text(&self.head, "thread_id")
    }

    /// Returns the run's id from the head or the metadata event.
    #[track_caller]
    pub fn run(&self) -> String {
        let first = self.named("metadata").next();
        let found = self.head["run_id"]
            .as_str()
            .or_else(|| first?["data"]["run_id"].as_str());
        found
            .expect("a run id in the head or in the metadata event")
            .to_owned()
    }

    /// Returns the events with this name, in any namespace.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events
            .iter()
            .filter(move |event| event["event"] == name)
    }

    /// Returns a number in the data of each event with this name.
    #[track_caller]
    pub fn numbers(&self, name: &str, field: &str) -> Vec<u64> {
        self.named(name)
            .filter_map(|event| event["data"][field].as_u64())
            .collect()
    }

    /// Assembles the messages from their chunks, in the order of their first chunks.
    #[track_caller]
    pub fn messages(&self) -> Vec<Message> {
        let mut all: Vec<Message> = Vec::new();
        for event in self.named("messages") {
            let chunk = &event["data"][0];
            let id = chunk["id"].as_str().unwrap_or_default();
            let known = all
                .iter()
                .position(|message| message.id == id)
                .unwrap_or_else(|| {
                    let kind = chunk["type"].as_str().unwrap_or_default().to_owned();
                    all.push(Message {
                        id: id.to_owned(),
                        kind,
                        ..Message::default()
                    });
                    all.len() - 1
                });
            let message = &mut all[known];
            message
                .text
                .push_str(chunk["content"].as_str().unwrap_or_default());
            for call in chunk["tool_call_chunks"].as_array().into_iter().flatten() {
                let (name, args) = message
                    .calls
                    .entry(call["index"].as_u64().unwrap_or(0))
                    .or_default();
                name.push_str(call["name"].as_str().unwrap_or_default());
                args.push_str(call["args"].as_str().unwrap_or_default());
            }
        }
        all
    }
}

/// A message assembled from its chunks.
#[derive(Debug, Default)]
pub struct Message {
    pub id: String,
    pub kind: String,
    pub text: String,
    /// Tool calls: name and arguments by index.
    pub calls: BTreeMap<u64, (String, String)>,
}
