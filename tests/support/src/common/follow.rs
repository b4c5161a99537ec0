//! Following a stream to its end.

use runtail_stream::{End, Item, Record, Retries, SourceOptions, Transport, follow};
use std::time::Duration;

/// Follows a stream to its end, with short waits unless the server asks for longer ones.
pub async fn collect(link: impl Transport + 'static, first_after: Option<&str>) -> Vec<Item> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
    let short = Duration::from_millis(2);
    let retries = Retries {
        base: short,
        cap: short,
        ..Retries::default()
    };
    let options = SourceOptions {
        retries,
        first_after: first_after.map(String::from),
        ..SourceOptions::default()
    };
    tokio::spawn(follow(link, options, sender));
    let mut items = Vec::new();
    while let Some(batch) = receiver.recv().await {
        items.extend(batch);
    }
    items
}

/// Returns the end record.
pub fn end(items: &[Item]) -> &End {
    match items.last() {
        Some(Item::Record(Record::End(end))) => end,
        other => panic!("no end record: {other:?}"),
    }
}
