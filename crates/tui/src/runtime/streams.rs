//! Passes a stream to the loop: the source and its page, and the parameters that change while it runs.

use super::out::Out;
use super::poll_schedule::ParamsReceiver;
use super::services::Services;
use crate::session::msg::{ServerRef, StreamTarget, SubscriptionEvent};
use runtail_api::AgentServer;
use runtail_stream::{
    Head, Item, JoinTransport, LoaderFactory, PageOptions, Record, RunFollowing, RunTransport,
    SnapshotLoader, SourceOptions, Target, follow, follow_page, follow_run_and_thread,
    follow_thread,
};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// A batch of events with more bytes than this waits until the channel to the loop is empty: the channel counts messages, not
/// bytes, and a single event may have 64 MiB.
const LARGE_BATCH: usize = 512 << 10;

fn size(item: &Item) -> usize {
    match item {
        Item::Record(Record::Event(event)) => event.data.text().len(),
        _ => 0,
    }
}

/// Returns the thread that a stream is known to be of before it begins.
fn thread_of(target: &StreamTarget) -> Option<&String> {
    match target {
        StreamTarget::Start {
            on: Target::Thread(thread),
            ..
        }
        | StreamTarget::Tail { thread }
        | StreamTarget::Join { thread, .. } => Some(thread),
        StreamTarget::Start { .. } | StreamTarget::Recording { .. } => None,
    }
}

/// Returns the head record for recordings of a stream.
fn head_of(server: &str, target: &StreamTarget, modes: &[String]) -> Head {
    let (run_id, modes) = match target {
        StreamTarget::Join { run, .. } => (Some(run.clone()), modes),
        StreamTarget::Start { body, .. } => (None, &*body.stream_mode),
        StreamTarget::Tail { .. } | StreamTarget::Recording { .. } => (None, modes),
    };
    Head {
        server: server.into(),
        thread_id: thread_of(target).cloned(),
        run_id,
        modes: modes.to_vec(),
        ..Head::default()
    }
}

/// The senders of the parameters that change while a stream runs.
struct Controls {
    modes: watch::Sender<Vec<String>>,
    refreshes: watch::Sender<u64>,
    own_runs: watch::Sender<Arc<[String]>>,
}

impl Controls {
    /// Passes on each change of the parameters. Never ends, because their sender exists as long as the task.
    async fn follow(self, mut params: ParamsReceiver) {
        while params.changed().await.is_ok() {
            let (modes, refreshes, own) = {
                let current = params.borrow_and_update();
                (
                    current.modes.clone(),
                    current.refreshes,
                    current.own_runs.clone(),
                )
            };
            // Before the refresh, which reads the list of runs.
            self.own_runs.send_replace(own.into());
            self.refreshes
                .send_if_modified(|known| std::mem::replace(known, refreshes) != refreshes);
            self.modes.send_if_modified(|known| {
                let changed = *known != modes;
                *known = modes;
                changed
            });
        }
        std::future::pending().await
    }
}

/// Passes the items of a page to the loop.
async fn forward(mut items: mpsc::Receiver<Vec<Item>>, mut params: ParamsReceiver, out: &Out) {
    while let Some(items) = items.recv().await {
        // Back-pressure: the recording is behind, so stop reading until it catches up.
        if params.wait_for(|params| !params.hold).await.is_err() {
            return;
        }
        let is_large = items.iter().map(size).sum::<usize>() > LARGE_BATCH;
        if is_large && !out.drained().await || !out.send(SubscriptionEvent::Items(items)).await {
            return;
        }
    }
}

/// Reads the events of a stream.
async fn read(
    client: AgentServer,
    target: StreamTarget,
    modes: Vec<String>,
    following: RunFollowing,
    options: SourceOptions,
    sender: mpsc::Sender<Vec<Item>>,
) {
    let first_after = |after: &str| Some(after.to_string());
    match target {
        StreamTarget::Start { on, body } => {
            let run = RunTransport::new(client.clone(), on, (*body).clone());
            follow_run_and_thread(client, run, following, options, sender).await;
        }
        StreamTarget::Join { thread, run } => {
            let options = SourceOptions {
                first_after: first_after("-1"),
                ..options
            };
            let join = JoinTransport::new(client, thread, run, modes).shared(following.shared);
            follow(join, options, sender).await;
        }
        StreamTarget::Tail { thread } => {
            let options = SourceOptions {
                first_after: first_after("-"),
                ..options
            };
            follow_thread(client, thread, modes, following, options, sender).await;
        }
        // It has no source.
        StreamTarget::Recording { .. } => {}
    }
}

/// Passes a stream to the loop. If this task is stopped, the connection closes, but the run continues.
pub(super) async fn stream(
    services: &Services,
    server: ServerRef,
    target: StreamTarget,
    max_event: u64,
    mut params: ParamsReceiver,
    out: &Out,
) {
    if let StreamTarget::Recording { file } = target {
        return super::recording::play(file, out).await;
    }
    let client = match services.agent_server(&server).await {
        Ok(client) => client,
        Err(error) => {
            let failed = vec![Item::Failed(Box::new(error))];
            out.send(SubscriptionEvent::Items(failed)).await;
            return;
        }
    };
    let start = params.borrow_and_update().clone();
    let (modes_sender, modes) = watch::channel(start.modes.clone());
    let (refreshes_sender, refresh) = watch::channel(start.refreshes);
    let (own_runs_sender, own) = watch::channel::<Arc<[String]>>(start.own_runs.into());
    let controls = Controls {
        modes: modes_sender,
        refreshes: refreshes_sender,
        own_runs: own_runs_sender,
    };
    let head = head_of(client.base(), &target, &start.modes);
    let max_event = usize::try_from(max_event).unwrap_or(usize::MAX);
    let loader_client = client.clone();
    let page = PageOptions {
        loader: LoaderFactory(Box::new(move |thread| {
            SnapshotLoader::new(loader_client.clone(), thread, max_event)
        })),
        thread: thread_of(&target).cloned(),
        head: head.clone(),
        refresh: refresh.clone(),
    };
    let following = RunFollowing {
        shared: start.is_shared,
        own: Some(own),
        refresh: Some(refresh),
        has_state: true,
        ..RunFollowing::default()
    };
    let options = SourceOptions {
        head,
        max_event,
        modes: Some(modes),
        ..SourceOptions::default()
    };
    let (sender, items) = mpsc::channel(8);
    let (page_sender, paged) = mpsc::channel::<Vec<Item>>(8);
    let source = read(client, target, start.modes, following, options, sender);
    let passing = async {
        tokio::join!(
            source,
            follow_page(page, items, page_sender),
            forward(paged, params.clone(), out)
        )
    };
    tokio::select! {
        _ = passing => {}
        () = controls.follow(params.clone()) => {}
    }
}
