//! Following a stream to its end, and what a scripted server sends.

use bytes::Bytes;
use futures::stream::{Stream, StreamExt};
use runtail_api::{ApiError, Kind};
use runtail_stream::{
    Connection, End, Event, Item, Record, Replayed, Retries, SourceOptions, Transport, follow,
    framed,
};
use std::future::Future;
use std::time::Duration;

/// Follows a stream to its end, with short waits unless the server asks for longer ones.
pub async fn collect(link: impl Transport + 'static, first_after: Option<&str>) -> Vec<Item> {
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
    collect_with(link, options).await
}

/// Follows a stream to its end.
pub async fn collect_with(link: impl Transport + 'static, options: SourceOptions) -> Vec<Item> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(2);
    let task = tokio::spawn(follow(link, options, sender));
    let mut items = Vec::new();
    while let Some(batch) = receiver.recv().await {
        assert!(!batch.is_empty());
        items.extend(batch);
    }
    task.await.expect("no panic");
    items
}

/// Runs a future with a paused clock, so that waits take no time.
pub fn paused<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(future)
}

/// Returns an error of a scripted server.
pub fn failure(kind: Kind) -> ApiError {
    crate::made::error(kind, "scripted")
}

/// Returns a connection that sends these chunks.
pub fn connection(
    chunks: impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static,
    max_event: usize,
) -> Connection {
    Connection {
        status: 200,
        thread_id: None,
        run_id: None,
        answered: None,
        past: Replayed::Unknown,
        body: framed(chunks.boxed(), max_event),
    }
}

/// Returns the end record.
pub fn end(items: &[Item]) -> &End {
    match items.last() {
        Some(Item::Record(Record::End(end))) => end,
        other => panic!("no end record: {other:?}"),
    }
}

/// Returns the events.
pub fn events(items: &[Item]) -> Vec<&Event> {
    let event = |item| match item {
        &Item::Record(Record::Event(ref event)) => Some(event),
        _ => None,
    };
    items.iter().filter_map(event).collect()
}

/// Returns the reasons of the gaps.
pub fn gaps(items: &[Item]) -> Vec<&str> {
    let why = |item| match item {
        &Item::Record(Record::Gap { ref why, .. }) => Some(why.as_str()),
        _ => None,
    };
    items.iter().filter_map(why).collect()
}

/// Returns why the stream failed.
pub fn failed(items: &[Item]) -> Option<&ApiError> {
    items.iter().find_map(|item| match item {
        Item::Failed(error) => Some(&**error),
        _ => None,
    })
}
