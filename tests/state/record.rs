//! Recording from the dashboard: the stream that is shown, from its first event on, whatever happens to it or to the file.

use runtail_stream::{Data, End, Event, EventNumber, Item, Outcome, Record, Seq};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::app::subscriptions;
use runtail_tui::session::msg::{Chunk, FileStep};
use runtail_tui::session::msg::{Effect, EffectResult, Msg, SubscriptionEvent, SubscriptionId};
use std::path::PathBuf;

/// A disk: what each file holds.
#[derive(Default)]
struct Disk {
    path: Option<PathBuf>,
    records: Vec<Record>,
    finished: bool,
}

impl Disk {
    /// Does one step; gives the answer to it.
    fn step(&mut self, effect: Effect) -> Option<EffectResult> {
        let Effect::File(number, step) = effect else { return None };
        match step {
            FileStep::Record(path) => self.path = Some(path),
            FileStep::Write(chunks) => {
                assert!(!self.finished && chunks.len() <= 2_000, "{}", chunks.len());
                for chunk in chunks {
                    let Chunk::Record(record) = chunk else { panic!("{chunk:?}") };
                    self.records.push(*record);
                }
            }
            FileStep::Finish => self.finished = true,
            FileStep::Create(path) => panic!("{path:?}"),
        }
        Some(EffectResult::FileStepped(number, Ok(self.records.len() as u64)))
    }

    /// Does all that is asked for.
    fn work(&mut self, dash: &mut Dash, mut effects: Vec<Effect>) {
        while let Some(effect) = effects.pop() {
            if let Some(done) = self.step(effect) {
                effects.extend(dash.done(done));
            }
        }
    }

    fn events(&self) -> Vec<u64> {
        self.records
            .iter()
            .filter_map(|record| if let Record::Event(e) = record { Some(e.seq.0) } else { None })
            .collect()
    }
}

/// Items of the stream that is shown, and what is to be done then.
fn come(dash: &mut Dash, items: Vec<Item>) -> Vec<Effect> {
    let sub = subscriptions(&dash.app).into_iter().find(|sub| matches!(sub.key, SubscriptionId::Stream(_))).unwrap();
    dash.feed(Msg::Answer { key: sub.key, epoch: sub.epoch, answer: SubscriptionEvent::Items(items) })
}

fn event(dash: &Dash, seq: u64) -> Item {
    let data = Data::Json(format!("{seq}").into());
    Item::Record(Record::Event(Event {
        seq: Seq(seq),
        at: dash.now,
        conn: 1,
        replayed: false,
        name: "x".into(),
        ns: [].into(),
        id: None,
        data,
    }))
}

fn opened() -> Dash {
    let mut dash = demo_like((120, 40));
    dash.open_thread();
    let open = Item::Record(Record::Open { at: dash.now, conn: 1, status: 200, resumed_after: None });
    let items = std::iter::once(open).chain((1..=3).map(|seq| event(&dash, seq))).collect();
    come(&mut dash, items);
    dash
}

fn asked(dash: &mut Dash, line: &str) -> Vec<Effect> {
    let mut effects = dash.keys(&format!(":{line}"));
    effects.extend(dash.keys("<Enter>"));
    effects
}

fn said(dash: &Dash) -> &str {
    dash.app.session.notices.last().map_or("", |notice| &notice.text)
}

#[test]
fn a_recording_holds_what_came_before_and_after() {
    let mut dash = opened();
    let mut disk = Disk::default();
    let effects = asked(&mut dash, "record x.jsonl");
    assert_eq!(effects.len(), 1, "{effects:?}");
    disk.work(&mut dash, effects);
    assert_eq!((disk.path.clone(), disk.events()), (Some("x.jsonl".into()), vec![1, 2, 3]));
    assert!(matches!(disk.records[0], Record::Open { .. }));
    insta::assert_snapshot!("recorded_head", dash.screen().lines().take(5).collect::<Vec<_>>().join("\n"));
    assert!(asked(&mut dash, "record y").is_empty());
    assert!(said(&dash).contains("Already"), "{}", said(&dash));

    // While one part is written no other is, and nothing is lost.
    let item = event(&dash, 4);
    let mut first = come(&mut dash, vec![item]);
    let item = event(&dash, 5);
    assert!(come(&mut dash, vec![item]).is_empty());
    disk.work(&mut dash, std::mem::take(&mut first));
    assert_eq!(disk.events(), [1, 2, 3, 4, 5]);
    let end = Item::Record(Record::End(End { at: dash.now, outcome: Outcome::Success, events: 5, ..End::default() }));
    let effects = come(&mut dash, vec![end]);
    disk.work(&mut dash, effects);
    assert!(disk.finished && matches!(disk.records.last(), Some(Record::End(end)) if end.outcome == Outcome::Success));
    assert!(said(&dash).starts_with("Recorded 5 events"), "{}", said(&dash));
    assert!(!dash.screen().contains("REC"));
}

#[test]
fn every_way_to_end_leaves_it_whole() {
    for how in ["off", "close", "quit"] {
        let mut dash = opened();
        let mut disk = Disk::default();
        let effects = asked(&mut dash, "record");
        disk.work(&mut dash, effects);
        let item = event(&dash, 4);
        let late = come(&mut dash, vec![item]);
        let effects = match how {
            "off" => asked(&mut dash, "record off"),
            "close" => dash.keys("q"),
            _ => dash.app.end_recordings(),
        };
        disk.work(&mut dash, late);
        disk.work(&mut dash, effects);
        assert!(disk.finished && !dash.app.is_recording(), "{how}");
        assert_eq!(disk.events(), [1, 2, 3, 4], "{how}");
        let Some(Record::End(end)) = disk.records.last() else { panic!("{how}: {:?}", disk.records.last()) };
        assert_eq!((end.outcome, end.events), (Outcome::Detached, 4), "{how}");
        // What its end counts is what is in it, of a stream that is gone too.
        assert_eq!((end.connections, end.gaps, end.malformed, end.bytes), (1, 0, 0, 4), "{how}");
    }
}

#[test]
fn a_stream_that_never_stops_does_not_keep_its_recording_open() {
    let mut dash = opened();
    let mut disk = Disk::default();
    let effects = asked(&mut dash, "record");
    disk.work(&mut dash, effects);
    let mut effects = asked(&mut dash, "record off");
    let mut next = 4;
    // Before each step that is done another event is there.
    while let Some(effect) = effects.pop() {
        assert!(next < 100, "the recording goes on and on");
        let item = event(&dash, next);
        next += 1;
        effects.extend(come(&mut dash, vec![item]));
        if let Some(done) = disk.step(effect) {
            effects.extend(dash.done(done));
        }
    }
    assert!(disk.finished && !dash.app.is_recording());
    assert_eq!(disk.events(), [1, 2, 3]);
}

#[test]
fn a_recording_ends_with_a_stream_that_broke_off() {
    let mut dash = opened();
    let mut disk = Disk::default();
    let effects = asked(&mut dash, "record");
    disk.work(&mut dash, effects);
    let key =
        subscriptions(&dash.app).into_iter().map(|sub| sub.key).find(|key| matches!(key, SubscriptionId::Stream(_)));
    let effects = dash.feed(Msg::TaskPanicked { key, text: "oh".into() });
    disk.work(&mut dash, effects);
    assert!(disk.finished && !dash.app.is_recording());
    let Some(Record::End(end)) = disk.records.last() else { panic!("{:?}", disk.records.last()) };
    assert_eq!((end.outcome, end.events), (Outcome::Unknown, 3));
    assert!(end.detail.as_ref().unwrap().contains("the stream failed: oh"), "{end:?}");
}

#[test]
fn what_was_let_go_is_counted_on_the_screen_and_is_in_the_recording() {
    let mut dash = demo_like((140, 40));
    dash.app.session.settings.tape.max_rows = 100;
    dash.open_thread();
    let open = Item::Record(Record::Open { at: dash.now, conn: 1, status: 200, resumed_after: None });
    let items = std::iter::once(open).chain((1..=20).map(|seq| event(&dash, seq))).collect();
    come(&mut dash, items);
    let mut disk = Disk::default();
    let effects = asked(&mut dash, "record");
    disk.work(&mut dash, effects);
    // The source hands on parts that the recording is not behind with.
    for from in (21..1_000).step_by(20) {
        let items = (from..from + 20).map(|seq| event(&dash, seq)).collect();
        let effects = come(&mut dash, items);
        disk.work(&mut dash, effects);
    }
    let newest = dash.app.viewer().unwrap().tape.newest_seq().0;
    assert_eq!(disk.events(), (1..=newest).collect::<Vec<_>>());
    for view in 1..=8 {
        dash.keys(&view.to_string());
        assert!(dash.screen().contains("900 evicted  "), "{view}: {}", dash.screen());
    }
    let delivery = dash.screen();
    let line = delivery.lines().find(|line| line.contains("evicted") && !line.contains("live")).unwrap();
    assert!(line.contains("900"), "{line}");
    dash.resize(80, 24);
    assert!(dash.screen().contains("900 evicted  "), "{}", dash.screen());
    // One that is begun now has the rest, says what it lacks, and counts what it has.
    let effects = asked(&mut dash, "record off");
    disk.work(&mut dash, effects);
    let mut late = Disk::default();
    let effects = asked(&mut dash, "record late.jsonl");
    late.work(&mut dash, effects);
    let effects = asked(&mut dash, "record off");
    late.work(&mut dash, effects);
    let why = |record: &Record| if let Record::Gap { why, .. } = record { Some(why.clone()) } else { None };
    let told: Vec<String> = late.records.iter().filter_map(why).collect();
    assert_eq!(told, [runtail_stream::let_go(EventNumber(1), EventNumber(newest - 100))]);
    let Some(Record::End(end)) = late.records.last() else { panic!("{:?}", late.records.last()) };
    assert_eq!((end.events, end.gaps, end.connections), (100, 1, 1));
}

#[test]
fn trouble_with_the_file_ends_the_recording_alone() {
    let mut dash = opened();
    let effects = asked(&mut dash, "record x");
    let [Effect::File(number, FileStep::Record(_))] = effects[..] else { panic!("{effects:?}") };
    assert!(dash.done(EffectResult::FileStepped(number, Err("there is a file of that name".into()))).is_empty());
    assert!(said(&dash).contains("Couldn't record to") && !dash.app.is_recording(), "{}", said(&dash));

    let effects = asked(&mut dash, "record y");
    let [Effect::File(number, FileStep::Record(_))] = effects[..] else { panic!("{effects:?}") };
    assert_eq!(dash.done(EffectResult::FileStepped(number, Ok(0))).len(), 1);
    dash.done(EffectResult::FileStepped(number, Err("no space left on device".into())));
    assert!(said(&dash).contains("the stream continues: no space left"), "{}", said(&dash));
    let item = event(&dash, 4);
    assert!(come(&mut dash, vec![item]).is_empty());
    assert_eq!(dash.app.viewer().unwrap().tape.last_seq(), Seq(4));
}

#[test]
fn a_stream_waits_for_a_slow_disk() {
    let mut dash = opened();
    asked(&mut dash, "record x");
    let holds = |dash: &Dash| {
        let subs = subscriptions(&dash.app);
        subs.into_iter().find(|sub| matches!(sub.key, SubscriptionId::Stream(_))).unwrap().wish.hold
    };
    assert!(!holds(&dash));
    let items = (4..20_000).map(|seq| event(&dash, seq)).collect();
    come(&mut dash, items);
    assert!(holds(&dash));
    let mut disk = Disk::default();
    let number = dash.app.session.next_change.last();
    let effects = dash.done(EffectResult::FileStepped(number, Ok(0)));
    disk.work(&mut dash, effects);
    assert!(!holds(&dash));
    assert_eq!(disk.events().len(), 19_999);
}
