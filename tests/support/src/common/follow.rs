//! A stream that is followed to its end.

use runtail_stream::{End, Item, Link, Record, Retries, SourceOptions, follow};
use std::time::Duration;

/// Follows to the end; waits that nobody asked for are cut short.
pub async fn collect(link: impl Link + 'static, first_after: Option<&str>) -> Vec<Item> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
    let short = Duration::from_millis(2);
    let retries = Retries { base: short, cap: short, ..Retries::default() };
    let options = SourceOptions { retries, first_after: first_after.map(String::from), ..SourceOptions::default() };
    tokio::spawn(follow(link, options, sender));
    let mut items = Vec::new();
    while let Some(batch) = receiver.recv().await {
        items.extend(batch);
    }
    items
}

/// The record of the end.
pub fn end(items: &[Item]) -> &End {
    match items.last() {
        Some(Item::Record(Record::End(end))) => end,
        other => panic!("no end: {other:?}"),
    }
}
