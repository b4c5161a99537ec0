//! Bytes of a stream, from the wire to the screen: frames, events, every projection, and every view.

use super::hostile::World;
use super::{MAX_EVENT, chunks};
use runtail_stream::{
    Data, Decoder, Frame, Framer, Item, Loaded, Record, Seq, SnapshotPart, ThreadSnapshot, is_json,
};

/// The keys of all views.
const VIEWS: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];

/// Shows a stream of these bytes in every view. An event named `snapshot/PART` becomes a part of a snapshot.
pub fn views(data: &[u8]) {
    let (flags, data) = data.split_first().unwrap_or((&0, &[]));
    let mut world = World::new((100, 30));
    world.open_thread();
    let (chunks, _) = chunks(data);
    let mut framer = Framer::new(MAX_EVENT);
    let mut decoder = Decoder::default();
    let half = chunks.len() / 2;
    for (n, chunk) in chunks.into_iter().enumerate() {
        framer.push(chunk);
        while let Some(frame) = framer.next_frame() {
            let at = world.dash.now;
            let Frame::Block(block) = frame else {
                world.items(|_| vec![Item::Heartbeat { at }]);
                continue;
            };
            let Some(decoded) = decoder.decode(block) else {
                continue;
            };
            world.items(|seq| {
                let event = match loaded(&decoded.name, &decoded.data) {
                    Some(snapshot) => ThreadSnapshot { at, ..snapshot }.into_event(Seq(seq)),
                    None => decoded.at(Seq(seq), at, 1, false),
                };
                vec![Item::Record(Record::Event(event))]
            });
        }
        // A view that is open while events arrive runs other code than one that is opened later.
        if n == half {
            show(&mut world, usize::from(*flags));
        }
    }
    (0..VIEWS.len()).for_each(|view| show(&mut world, view));
}

/// Lays out a view: as it opens, with the entry at its top, and at its end with long lines wrapped.
fn show(world: &mut World, view: usize) {
    for keys in [VIEWS[view % VIEWS.len()], "<Home><Enter>", "<End>w"] {
        world.keys(keys);
        world.answer_once("", true);
        world.look();
        if world.dash.dialog().is_some() {
            world.keys("<Esc>");
        }
    }
}

fn loaded(name: &str, data: &Data) -> Option<ThreadSnapshot> {
    let word = name.strip_prefix("snapshot/")?;
    let part = SnapshotPart::ALL
        .into_iter()
        .find(|part| part.word() == word)?;
    let Data::Json(text) = data else { return None };
    let loaded = if is_json(text) {
        Loaded::Json(text.clone())
    } else {
        Loaded::NotOffered
    };
    Some(ThreadSnapshot {
        parts: [(part, loaded)].into(),
        ..ThreadSnapshot::default()
    })
}
