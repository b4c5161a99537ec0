//! Reads a stream's JSON lines and checks the invariants of every recording.

use serde_json::Value;
use std::collections::BTreeMap;

/// A recording as printed by the binary.
#[derive(Debug)]
pub struct Tape {
    pub head: Value,
    pub events: Vec<Value>,
    pub opens: Vec<Value>,
    pub closes: Vec<Value>,
    pub gaps: Vec<Value>,
    pub end: Value,
}

impl Tape {
    /// Parses, and checks what holds for every tape: the head first, the end last, `seq` without holes, every
    /// event of a connection that was opened, sums that agree with the lines.
    #[track_caller]
    pub fn parse(stdout: &str) -> Tape {
        let mut tape = Tape {
            head: Value::Null,
            events: Vec::new(),
            opens: Vec::new(),
            closes: Vec::new(),
            gaps: Vec::new(),
            end: Value::Null,
        };
        for (number, line) in stdout.lines().enumerate() {
            let record: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("line {number}: {e}: {line}"));
            // A thread page loads the thread once more after its stream has ended.
            assert!(tape.end.is_null() || record["kind"] == "snapshot", "a line after the end: {line}");
            let kind = record["kind"].as_str().unwrap_or_else(|| panic!("line {number} has no kind: {line}"));
            assert_eq!(kind == "tape", number == 0, "the head is the first line, and only that: {line}");
            let at = record["at"].as_str().unwrap_or_else(|| panic!("line {number} has no time: {line}"));
            at.parse::<jiff::Timestamp>().unwrap_or_else(|e| panic!("{at:?} is no time: {e}"));
            match kind {
                "tape" => tape.head = record,
                "open" => tape.opens.push(record),
                "close" => tape.closes.push(record),
                "gap" => tape.gaps.push(record),
                "end" => tape.end = record,
                "event" => {
                    assert_eq!(record["seq"], tape.events.len() as u64 + 1, "seq without holes: {line}");
                    let newest = tape.opens.last().map(|open| &open["conn"]);
                    assert_eq!(Some(&record["conn"]), newest, "an event of the newest connection: {line}");
                    assert!(record["ns"].is_array() && record["event"].is_string(), "{line}");
                    tape.events.push(record);
                }
                _ => {} // unknown kinds are skipped, as every reader should
            }
        }
        assert!(!tape.end.is_null(), "the tape has an end; its last line: {:?}", stdout.lines().last());
        assert_eq!(tape.head["version"], 1);
        assert_eq!(tape.end["events"], tape.events.len() as u64, "{}", tape.end);
        assert_eq!(tape.end["gaps"], tape.gaps.len() as u64, "{}", tape.end);
        assert_eq!(tape.end["malformed"], 0, "{}", tape.end);
        let numbers: Vec<_> = tape.opens.iter().map(|open| open["conn"].as_u64().expect("a number")).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "connections have growing numbers: {numbers:?}");
        assert!(tape.end["connections"].as_u64() >= Some(numbers.len() as u64), "{}", tape.end);
        tape
    }

    /// The outcome's word.
    pub fn outcome(&self) -> &str {
        self.end["outcome"].as_str().unwrap_or_default()
    }

    /// The thread that the tape is of.
    #[track_caller]
    pub fn thread(&self) -> String {
        crate::server::text(&self.head, "thread_id")
    }

    /// The run that the tape is of: from the head, or from its metadata event.
    #[track_caller]
    pub fn run(&self) -> String {
        let first = self.named("metadata").next();
        let found = self.head["run_id"].as_str().or_else(|| first?["data"]["run_id"].as_str());
        found.expect("a run id in the head or in the metadata event").to_owned()
    }

    /// Events of one name, whatever their namespace.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["event"] == name)
    }

    /// One number out of the data of each event of a name.
    #[track_caller]
    pub fn numbers(&self, name: &str, field: &str) -> Vec<u64> {
        self.named(name).filter_map(|event| event["data"][field].as_u64()).collect()
    }

    /// The messages, put together from their chunks in the order in which they began.
    #[track_caller]
    pub fn messages(&self) -> Vec<Message> {
        let mut all: Vec<Message> = Vec::new();
        for event in self.named("messages") {
            let piece = &event["data"][0];
            let id = piece["id"].as_str().unwrap_or_default();
            let known = all.iter().position(|message| message.id == id).unwrap_or_else(|| {
                let kind = piece["type"].as_str().unwrap_or_default().to_owned();
                all.push(Message { id: id.to_owned(), kind, ..Message::default() });
                all.len() - 1
            });
            let message = &mut all[known];
            message.text.push_str(piece["content"].as_str().unwrap_or_default());
            for call in piece["tool_call_chunks"].as_array().into_iter().flatten() {
                let (name, args) = message.calls.entry(call["index"].as_u64().unwrap_or(0)).or_default();
                name.push_str(call["name"].as_str().unwrap_or_default());
                args.push_str(call["args"].as_str().unwrap_or_default());
            }
        }
        all
    }
}

/// A message put together from its chunks.
#[derive(Debug, Default)]
pub struct Message {
    pub id: String,
    pub kind: String,
    pub text: String,
    /// Tool calls: name and arguments by index.
    pub calls: BTreeMap<u64, (String, String)>,
}
