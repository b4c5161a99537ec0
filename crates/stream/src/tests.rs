//! What the tests of several modules share: streams of scripted events.

use crate::projection::Projections;
use crate::{Data, Event, EventNames, Item, Loaded, Record, Seq, SnapshotPart, ThreadSnapshot};
use jiff::Timestamp;
use serde_json::Value;

/// Returns a time of the scripted streams.
pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
}

/// Returns a live event of the first connection, at the time 0. The name may contain a namespace.
pub fn event(seq: u64, name: &str, data: &str) -> Event {
    let (name, ns) = EventNames::default().split(name);
    Event {
        seq: Seq(seq),
        at: at(0),
        conn: 1,
        replayed: false,
        name,
        ns,
        id: None,
        data: match crate::is_json(data) {
            true => Data::Json(data.into()),
            false => Data::Malformed(data.into()),
        },
    }
}

/// A scripted stream and its projections.
#[derive(Default)]
pub struct Script {
    pub projections: Projections,
    pub events: Vec<Event>,
}

impl Script {
    /// Makes a stream of these events.
    pub fn of(lines: &str) -> Script {
        let mut script = Script::default();
        script.play(lines);
        script
    }

    /// Applies events, one a line: the time, the name, and the data. The time is in milliseconds, or in seconds if it ends with an
    /// `s`, and begins with `~` if the event is replayed.
    pub fn play(&mut self, lines: &str) -> &mut Script {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let [time, name, data] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let number = time.trim_matches(['~', 's']).parse::<i64>().unwrap();
            let unit = if time.ends_with('s') { 1000 } else { 1 };
            let event = Event {
                at: at(number * unit),
                replayed: time.starts_with('~'),
                ..event(self.events.len() as u64 + 1, name, data)
            };
            self.add(event);
        }
        self
    }

    /// Applies one event.
    pub fn event(&mut self, ms: i64, name: &str, data: &str) -> Seq {
        self.play(&format!("{ms} {name} {data}"));
        self.seq()
    }

    pub fn add(&mut self, event: Event) {
        self.events.push(event.clone());
        self.item(Item::Record(Record::Event(event)));
    }

    pub fn item(&mut self, item: Item) -> &mut Script {
        self.projections.apply(&item);
        self
    }

    /// Returns the position of the newest event.
    pub fn seq(&self) -> Seq {
        Seq(self.events.len() as u64)
    }

    /// Applies what was loaded: JSON, nothing if the server doesn't offer it, or a text that says why it failed.
    pub fn snapshot<const N: usize>(&mut self, parts: [(SnapshotPart, Value); N]) {
        let parts = parts.into_iter().map(|(part, json)| match json {
            Value::Null => (part, Loaded::NotOffered),
            Value::String(why) => (part, Loaded::Failed(why)),
            json => (part, Loaded::Json(json.to_string().into())),
        });
        let snapshot = ThreadSnapshot {
            at: at(0),
            parts: parts.collect(),
        };
        self.add(snapshot.into_event(self.seq().next()));
    }
}
