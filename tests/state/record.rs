//! Recording from the dashboard: the shown stream from its first event, with failures of the stream and of the file.

use runtail_stream::{End, EventNumber, Item, Outcome, Record, Seq};
use runtail_testkit::dash::{Dash, demo, demo_thread};
use runtail_testkit::made;
use runtail_testkit::says::Says;

use runtail_tui::session::msg::{Chunk, FileStep};
use runtail_tui::session::msg::{Effect, EffectResult, Msg, SubscriptionEvent, SubscriptionId};
use std::path::PathBuf;

/// A simulated disk with one file.
#[derive(Default)]
struct Disk {
    path: Option<PathBuf>,
    records: Vec<Record>,
    finished: bool,
}

impl Disk {
    /// Runs one step and returns its result.
    fn step(&mut self, effect: Effect) -> Option<EffectResult> {
        let Effect::File(number, step) = effect else {
            return None;
        };
        match step {
            FileStep::Record(path) => self.path = Some(path),
            FileStep::Write(chunks) => {
                assert!(!self.finished && chunks.len() <= 2_000, "{}", chunks.len());
                for chunk in chunks {
                    let Chunk::Record(record) = chunk else {
                        panic!("{chunk:?}")
                    };
                    self.records.push(*record);
                }
            }
            FileStep::Finish => self.finished = true,
            FileStep::Create(path) | FileStep::Comparison(path, _) | FileStep::Save(path, _) => {
                panic!("{path:?}")
            }
        }
        Some(EffectResult::FileStepped(
            number,
            Ok(self.records.len() as u64),
        ))
    }

    /// Runs all effects and those that follow.
    fn run(&mut self, dash: &mut Dash, mut effects: Vec<Effect>) {
        while let Some(effect) = effects.pop() {
            if let Some(done) = self.step(effect) {
                effects.extend(dash.done(done));
            }
        }
    }

    fn events(&self) -> Vec<u64> {
        self.records
            .iter()
            .filter_map(|record| {
                if let Record::Event(e) = record {
                    Some(e.seq.0)
                } else {
                    None
                }
            })
            .collect()
    }
}

/// Sends items to the shown stream and returns the effects.
fn receive(dash: &mut Dash, items: Vec<Item>) -> Vec<Effect> {
    let sub = dash.wanted(|key| matches!(key, SubscriptionId::Stream(_)));
    dash.feed(Msg::Subscription {
        key: sub.key,
        epoch: sub.epoch,
        event: SubscriptionEvent::Items(items),
    })
}

fn event(dash: &Dash, seq: u64) -> Item {
    Item::Record(Record::Event(made::event(
        seq,
        dash.now,
        "x",
        &format!("{seq}"),
    )))
}

fn opened() -> Dash {
    let mut dash = demo_thread((120, 40));
    let open = made::connected(dash.now);
    let items = std::iter::once(open)
        .chain((1..=3).map(|seq| event(&dash, seq)))
        .collect();
    receive(&mut dash, items);
    dash
}

#[test]
fn recording_contains_earlier_and_later_events() {
    let mut dash = opened();
    let mut disk = Disk::default();
    let effects = dash.command("record x.jsonl");
    assert_eq!(effects.len(), 1, "{effects:?}");
    disk.run(&mut dash, effects);
    assert_eq!(
        (disk.path.clone(), disk.events()),
        (Some("x.jsonl".into()), vec![1, 2, 3])
    );
    assert!(matches!(disk.records[0], Record::Open { .. }));
    insta::assert_snapshot!(
        "recorded_head",
        dash.screen().lines().take(5).collect::<Vec<_>>().join("\n")
    );
    assert!(dash.command("record y").is_empty());
    dash.told("Already");

    // Only one part is written at a time, and nothing is lost.
    let item = event(&dash, 4);
    let mut first = receive(&mut dash, vec![item]);
    let item = event(&dash, 5);
    assert!(receive(&mut dash, vec![item]).is_empty());
    disk.run(&mut dash, std::mem::take(&mut first));
    assert_eq!(disk.events(), [1, 2, 3, 4, 5]);
    let end = Item::Record(Record::End(End {
        at: dash.now,
        outcome: Outcome::Success,
        events: 5,
        ..End::default()
    }));
    let effects = receive(&mut dash, vec![end]);
    disk.run(&mut dash, effects);
    assert!(
        disk.finished
            && matches!(disk.records.last(), Some(Record::End(end)) if end.outcome == Outcome::Success)
    );
    assert!(dash.newest_notice().starts_with("Recorded 5 events"));
    dash.lacks("REC");
}

#[test]
fn recording_is_complete_however_it_ends() {
    for how in ["off", "close", "quit"] {
        let mut dash = opened();
        let mut disk = Disk::default();
        let effects = dash.command("record");
        disk.run(&mut dash, effects);
        let item = event(&dash, 4);
        let late = receive(&mut dash, vec![item]);
        let effects = match how {
            "off" => dash.command("record off"),
            "close" => dash.keys("q"),
            _ => dash.end_recordings(),
        };
        disk.run(&mut dash, late);
        disk.run(&mut dash, effects);
        assert!(disk.finished && dash.unfinished_files().is_empty(), "{how}");
        assert_eq!(disk.events(), [1, 2, 3, 4], "{how}");
        let Some(Record::End(end)) = disk.records.last() else {
            panic!("{how}: {:?}", disk.records.last())
        };
        assert_eq!((end.outcome, end.events), (Outcome::Detached, 4), "{how}");
        // The counts of the end record match the recording, even if the stream was closed.
        assert_eq!(
            (end.connections, end.gaps, end.malformed, end.bytes),
            (1, 0, 0, 4),
            "{how}"
        );
    }
}

#[test]
fn recording_stops_while_the_stream_keeps_sending() {
    let mut dash = opened();
    let mut disk = Disk::default();
    let effects = dash.command("record");
    disk.run(&mut dash, effects);
    let mut effects = dash.command("record off");
    let mut next = 4;
    // Another event arrives before each step.
    while let Some(effect) = effects.pop() {
        assert!(next < 100, "the recording never ends");
        let item = event(&dash, next);
        next += 1;
        effects.extend(receive(&mut dash, vec![item]));
        if let Some(done) = disk.step(effect) {
            effects.extend(dash.done(done));
        }
    }
    assert!(disk.finished && dash.unfinished_files().is_empty());
    assert_eq!(disk.events(), [1, 2, 3]);
}

#[test]
fn recording_ends_when_the_stream_task_panics() {
    let mut dash = opened();
    let mut disk = Disk::default();
    let effects = dash.command("record");
    disk.run(&mut dash, effects);
    let key = dash
        .subscriptions()
        .into_iter()
        .map(|sub| sub.key)
        .find(|key| matches!(key, SubscriptionId::Stream(_)));
    let effects = dash.feed(Msg::TaskPanicked {
        key,
        text: "oh".into(),
    });
    disk.run(&mut dash, effects);
    assert!(disk.finished && dash.unfinished_files().is_empty());
    let Some(Record::End(end)) = disk.records.last() else {
        panic!("{:?}", disk.records.last())
    };
    assert_eq!((end.outcome, end.events), (Outcome::Unknown, 3));
    assert!(
        end.detail
            .as_ref()
            .unwrap()
            .contains("the stream failed: oh"),
        "{end:?}"
    );
}

#[test]
fn evicted_events_are_counted_and_recorded() {
    let mut dash = demo();
    dash.keep_events(100);
    dash.open_thread();
    let open = made::connected(dash.now);
    let items = std::iter::once(open)
        .chain((1..=20).map(|seq| event(&dash, seq)))
        .collect();
    receive(&mut dash, items);
    let mut disk = Disk::default();
    let effects = dash.command("record");
    disk.run(&mut dash, effects);
    // The recording keeps up with the source.
    for from in (21..1_000).step_by(20) {
        let items = (from..from + 20).map(|seq| event(&dash, seq)).collect();
        let effects = receive(&mut dash, items);
        disk.run(&mut dash, effects);
    }
    let newest = dash.newest_event().0;
    assert_eq!(disk.events(), (1..=newest).collect::<Vec<_>>());
    for view in 1..=7 {
        dash.keys(&view.to_string());
        dash.shows("900 evicted  ");
    }
    dash.keys("6d");
    let delivery = dash.screen();
    let line = delivery
        .lines()
        .find(|line| line.contains("evicted") && !line.contains("live"))
        .unwrap();
    line.has("900");
    dash.keys("<Esc>");
    dash.resize(80, 24);
    dash.shows("900 evicted  ");
    // A recording that starts now contains the rest, reports the missing events and counts its own.
    let effects = dash.command("record off");
    disk.run(&mut dash, effects);
    let mut late = Disk::default();
    let effects = dash.command("record late.jsonl");
    late.run(&mut dash, effects);
    let effects = dash.command("record off");
    late.run(&mut dash, effects);
    let why = |record: &Record| {
        if let Record::Gap { why, .. } = record {
            Some(why.clone())
        } else {
            None
        }
    };
    let gaps: Vec<String> = late.records.iter().filter_map(why).collect();
    assert_eq!(
        gaps,
        [runtail_stream::evicted_before_recording(
            EventNumber(1),
            EventNumber(newest - 100)
        )]
    );
    let Some(Record::End(end)) = late.records.last() else {
        panic!("{:?}", late.records.last())
    };
    assert_eq!((end.events, end.gaps, end.connections), (100, 1, 1));
}

#[test]
fn file_errors_end_only_the_recording() {
    let mut dash = opened();
    let effects = dash.command("record x");
    let [Effect::File(number, FileStep::Record(_))] = effects[..] else {
        panic!("{effects:?}")
    };
    assert!(
        dash.done(EffectResult::FileStepped(
            number,
            Err("there is a file of that name".into())
        ))
        .is_empty()
    );
    assert!(
        dash.newest_notice().contains("Couldn't record to") && dash.unfinished_files().is_empty()
    );

    let effects = dash.command("record y");
    let [Effect::File(number, FileStep::Record(_))] = effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(dash.done(EffectResult::FileStepped(number, Ok(0))).len(), 1);
    dash.done(EffectResult::FileStepped(
        number,
        Err("no space left on device".into()),
    ));
    dash.told("the stream continues: no space left");
    let item = event(&dash, 4);
    assert!(receive(&mut dash, vec![item]).is_empty());
    assert_eq!(dash.newest_event(), Seq(4));
}

#[test]
fn stream_pauses_for_a_slow_disk() {
    let mut dash = opened();
    dash.command("record x");
    let is_held = |dash: &Dash| {
        let subs = dash.subscriptions();
        subs.into_iter()
            .find(|sub| matches!(sub.key, SubscriptionId::Stream(_)))
            .unwrap()
            .params
            .hold
    };
    assert!(!is_held(&dash));
    let items = (4..20_000).map(|seq| event(&dash, seq)).collect();
    receive(&mut dash, items);
    assert!(is_held(&dash));
    let mut disk = Disk::default();
    let number = dash.newest_change();
    let effects = dash.done(EffectResult::FileStepped(number, Ok(0)));
    disk.run(&mut dash, effects);
    assert!(!is_held(&dash));
    assert_eq!(disk.events().len(), 19_999);
}
