//! Follows a run, and then its thread, in one log: more runs may start on the thread.

use crate::source::follow;
use crate::transport::connection::{SourceOptions, Transport};
use crate::transport::thread_runs::{Base, RunFollowing, follow_thread};
use crate::{End, Item, Outcome, Record, RunRecord};
use runtail_api::{AgentServer, Kind};
use tokio::sync::mpsc;

/// Follows a run to its end, and then its thread, if it has one and its server offers that. Stops when the receiver is dropped.
pub async fn follow_run_and_thread(
    server: AgentServer,
    run: impl Transport + 'static,
    following: RunFollowing,
    options: SourceOptions,
    out: mpsc::Sender<Vec<Item>>,
) {
    let receiver = out.clone();
    tokio::select! {
        biased;
        () = receiver.closed() => {}
        () = follow_both(server, run, following, options, out) => {}
    }
}

async fn follow_both(
    server: AgentServer,
    run: impl Transport + 'static,
    following: RunFollowing,
    options: SourceOptions,
    out: mpsc::Sender<Vec<Item>>,
) {
    let mut log = RunLog::default();
    let (sender, mut items) = mpsc::channel::<Vec<Item>>(1);
    let (kept, to) = (&mut log, &out);
    // Dropping the items stops the source.
    let read = async move {
        while let Some(mut batch) = items.recv().await {
            batch.retain(|item| kept.keep(item));
            if to.send(batch).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(follow(run, options.clone(), sender), read);
    let Some(end) = log.end.take() else { return };
    let Some(thread) = log
        .thread
        .take()
        .filter(|_| end.outcome != Outcome::Detached && !log.has_failed)
    else {
        let _ = out.send(vec![Item::Record(Record::End(end))]).await;
        return;
    };
    let options = SourceOptions {
        modes: None,
        first_after: log.last_id.take(),
        ..options
    };
    let (sender, mut items) = mpsc::channel::<Vec<Item>>(1);
    // Reported with the first news of the thread.
    let mut held = Some(log.record(&end));
    let read = async move {
        while let Some(batch) = items.recv().await {
            let is_refused =
                |item: &Item| matches!(item, Item::Failed(error) if error.kind == Kind::NotOffered);
            if batch.iter().any(is_refused) {
                let _ = out.send(vec![Item::Record(Record::End(end))]).await;
                return;
            }
            let mut batch: Vec<Item> = batch
                .into_iter()
                .filter_map(|item| shifted(item, &end))
                .collect();
            if batch
                .iter()
                .any(|item| !matches!(item, Item::Connecting { .. }))
            {
                batch.splice(
                    0..0,
                    held.take().map(|record| Item::Record(Record::Run(record))),
                );
            }
            if out.send(batch).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(
        follow_thread(server, thread, Vec::new(), following, options, sender),
        read
    );
}

/// What the log of a run shows of it.
#[derive(Default)]
struct RunLog {
    thread: Option<String>,
    run: Option<String>,
    last_id: Option<String>,
    has_failed: bool,
    end: Option<End>,
}

impl RunLog {
    /// Notes an item. Returns whether it is a part of the thread's log, too.
    fn keep(&mut self, item: &Item) -> bool {
        match item {
            Item::Record(Record::Head(head)) => {
                self.thread = head.thread_id.clone().or(self.thread.take());
                self.run = head.run_id.clone().or(self.run.take());
            }
            Item::Started { thread_id, run_id } => {
                self.thread = thread_id.clone().or(self.thread.take());
                self.run = Some(run_id.clone());
            }
            Item::Record(Record::Event(event)) => {
                self.last_id = event
                    .id
                    .as_deref()
                    .map(String::from)
                    .or(self.last_id.take());
            }
            Item::Failed(_) => self.has_failed = true,
            Item::Record(Record::End(end)) => {
                self.end = Some(end.clone());
                return false;
            }
            _ => {}
        }
        true
    }

    fn record(&self, end: &End) -> RunRecord {
        let (run_id, status) = (
            self.run.clone().unwrap_or_default(),
            end.outcome.as_str().into(),
        );
        RunRecord {
            at: end.at,
            run_id,
            status,
            ended_at: Some(end.at),
            outcome: Some(end.outcome),
            detail: end.detail.clone(),
            ..RunRecord::default()
        }
    }
}

/// Continues the numbers of a run's log, which has a head already.
fn shifted(item: Item, before: &End) -> Option<Item> {
    let base = Base {
        events: before.events,
        conn: before.connections,
    };
    Some(match item {
        Item::Record(Record::Head(_)) => return None,
        Item::Record(Record::End(end)) => Item::Record(Record::End(End {
            events: before.events + end.events,
            bytes: before.bytes + end.bytes,
            connections: before.connections + end.connections,
            duplicates: before.duplicates + end.duplicates,
            gaps: before.gaps + end.gaps,
            malformed: before.malformed + end.malformed,
            ..end
        })),
        Item::Record(record) => Item::Record(base.shift(record)),
        Item::Connecting { at, conn } => Item::Connecting {
            at,
            conn: base.conn + conn,
        },
        other => other,
    })
}
