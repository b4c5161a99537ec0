//! Keeps going what the state subscribes to: starts what is new, stops what is gone, and reports panics.

use super::browse;
use super::effects::perform;
use super::polls;
use super::round::Told;
use super::services::Services;
use crate::session::msg::{
    Effect, Epoch, Msg, ServerRef, StreamTarget, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
    SubscriptionParams,
};
use crate::widgets::jobs::Task;
use runtail_api::doctor::{Ask, examine_all};
use runtail_core::config::{Config, Profile, Watch};
use runtail_stream::{
    Head, Item, JoinLink, LoaderFor, PageOptions, Record, RunFollowing, RunLink, SnapshotLoader, SourceOptions, Target,
    follow, follow_page, follow_thread,
};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

/// The pause between two looks at the configuration file.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Runs subscriptions and effects as tasks.
pub struct Runner {
    services: Arc<Services>,
    out: mpsc::Sender<Msg>,
    running: BTreeMap<SubscriptionId, Running>,
    tasks: JoinSet<()>,
    max_event: u64,
    /// Number of the configuration in force.
    generation: Epoch,
}

/// A subscription that is kept.
struct Running {
    epoch: Epoch,
    limit: usize,
    task: AbortHandle,
    tell: watch::Sender<SubscriptionParams>,
}

impl Runner {
    /// A runner with nothing to do.
    pub fn new(services: Arc<Services>, out: mpsc::Sender<Msg>, max_event: u64) -> Runner {
        Runner {
            services,
            out,
            running: BTreeMap::new(),
            tasks: JoinSet::new(),
            max_event,
            generation: Epoch::default(),
        }
    }

    /// Other profiles are in force. What runs goes on with those that it began with, until it is no longer wanted.
    pub fn use_profiles(&mut self, generation: Epoch, profiles: &[Profile]) {
        self.generation = generation;
        self.services = Arc::new(self.services.with(profiles));
    }

    /// What begins from now on goes by these limits.
    pub fn configure(&mut self, config: &Config) {
        self.max_event = config.tape.max_event;
        self.services = Arc::new(self.services.polling(config.poll.clone()));
    }

    /// Follows the configuration file as long as the dashboard runs. The file may lie where a look takes its time, so it has
    /// a thread of its own: one that only sleeps and looks wakes nobody else.
    pub fn follow(&mut self, mut watch: Watch) -> io::Result<()> {
        let out = self.out.clone();
        let follow = move || {
            while !out.is_closed() {
                std::thread::sleep(LOOK_AGAIN);
                if let Some(read) = watch.look()
                    && out.blocking_send(Msg::Configured(read)).is_err()
                {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("configuration".into()).spawn(follow).map(drop)
    }

    /// Runs an effect.
    pub fn run(&mut self, effect: Effect) {
        let (services, out, since) = (self.services.clone(), self.out.clone(), self.generation);
        self.tasks.spawn(async move {
            if let Some(done) = perform(&services, effect).await {
                let _ = out.send(Msg::Done { since, done }).await;
            }
        });
    }

    /// Brings the tasks in line with what is wanted.
    pub fn reconcile(&mut self, wanted: &[Subscription]) {
        self.running.retain(|key, running| {
            let fits = |s: &&Subscription| &s.key == key && s.epoch == running.epoch && s.limit == running.limit;
            match wanted.iter().find(fits) {
                Some(sub) => {
                    running.tell.send_if_modified(|told| {
                        let news = *told != sub.wish;
                        if news {
                            *told = sub.wish.clone();
                        }
                        news
                    });
                    true
                }
                None => {
                    running.task.abort();
                    false
                }
            }
        });
        for sub in wanted {
            if !self.running.contains_key(&sub.key) {
                let (tell, told) = watch::channel(sub.wish.clone());
                let task = self.start(sub.clone(), told);
                self.running.insert(sub.key.clone(), Running { epoch: sub.epoch, limit: sub.limit, task, tell });
            }
        }
    }

    fn start(&mut self, sub: Subscription, told: Told) -> AbortHandle {
        let services = self.services.clone();
        let out = Out { key: sub.key.clone(), epoch: sub.epoch, sender: self.out.clone() };
        let max_event = self.max_event;
        self.tasks.spawn(async move {
            let services = &*services;
            match (sub.key, sub.what) {
                (SubscriptionId::Deployments(profile), _) => polls::deployments(services, &profile, told, &out).await,
                (SubscriptionId::Newest(profile), _) => polls::newest(services, &profile, told, &out).await,
                (SubscriptionId::Revisions(profile, id), _) => {
                    polls::revisions(services, &profile, &id, sub.limit, told, &out).await
                }
                (SubscriptionId::Vanish(profile, id), _) => polls::vanish(services, &profile, &id, told, &out).await,
                (SubscriptionId::Watch(of), _) => polls::watch(services, &of, told, &out).await,
                (SubscriptionId::Log(..), SubscriptionKind::Log(profile, scope, filter)) => {
                    polls::log(services, (&profile, scope, filter), told, &out).await
                }
                (SubscriptionId::Threads(server), _) => polls::threads(services, &server, sub.limit, told, &out).await,
                (SubscriptionId::ThreadStatuses(server), _) => {
                    super::statuses::thread_statuses(services, &server, told, &out).await
                }
                (SubscriptionId::Runs(server, thread), _) => {
                    polls::runs(services, &server, &thread, sub.limit, told, &out).await
                }
                (SubscriptionId::Stream(_), SubscriptionKind::Stream(server, target)) => {
                    stream(services, &server, target, max_event, told, &out).await
                }
                (SubscriptionId::Wait(_), SubscriptionKind::Wait(profile, auth_id)) => {
                    browse::wait(services, &profile, &auth_id, &out).await
                }
                (SubscriptionId::Doctor(_), SubscriptionKind::Profiles(all)) => doctor(services, &all, &out).await,
                (SubscriptionId::Work(_), SubscriptionKind::Work(task)) => work(task, &out).await,
                (
                    SubscriptionId::Log(..)
                    | SubscriptionId::Stream(_)
                    | SubscriptionId::Wait(_)
                    | SubscriptionId::Doctor(_)
                    | SubscriptionId::Work(_),
                    _,
                ) => {}
            }
        })
    }

    /// Panics on behalf of a test, in a task or here, or runs out of memory.
    pub fn test_panic(&mut self, place: &str) {
        match place {
            "task" => drop(self.tasks.spawn(async { panic!("a test asked this task to panic") })),
            "memory" => std::alloc::handle_alloc_error(std::alloc::Layout::new::<u64>()),
            _ => panic!("a test asked the loop to panic"),
        }
    }

    /// The next task that panicked: the subscription that it kept, and its message. Tasks that end well are only counted
    /// out.
    pub async fn next_panic(&mut self) -> Option<(Option<SubscriptionId>, String)> {
        loop {
            match self.tasks.join_next_with_id().await {
                Some(Err(error)) if error.is_panic() => {
                    let id = error.id();
                    let key = self.running.iter().find(|(_, r)| r.task.id() == id).map(|(key, _)| key.clone());
                    let payload = error.into_panic();
                    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
                    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
                    return Some((key, runtail_core::text::clean(text.as_deref().unwrap_or("panic")).into_owned()));
                }
                Some(_) => {}
                // Nothing runs now: later tasks wake nobody here, so this branch waits for ever and the loop comes
                // back to it after its next message.
                None => std::future::pending().await,
            }
        }
    }
}

/// Where a subscription's answers go.
pub(super) struct Out {
    key: SubscriptionId,
    epoch: Epoch,
    sender: mpsc::Sender<Msg>,
}

impl Out {
    /// `false` where nobody listens any more.
    pub(super) async fn send(&self, answer: SubscriptionEvent) -> bool {
        self.sender.send(Msg::Answer { key: self.key.clone(), epoch: self.epoch, answer }).await.is_ok()
    }

    /// Waits until the loop has received everything that was sent. Returns `false` if the loop has ended.
    async fn drained(&self) -> bool {
        self.sender.reserve_many(self.sender.max_capacity()).await.is_ok()
    }
}

/// A batch of events with more bytes than this waits until the channel to the loop is empty: the channel counts messages, not
/// bytes, and a single event may have 64 MiB.
const LARGE: usize = 512 << 10;

fn size(item: &Item) -> usize {
    match item {
        Item::Record(Record::Event(event)) => event.data.text().len(),
        _ => 0,
    }
}

/// Work on a document, step by step: when this task is stopped, it stops after the step that it is at.
async fn work(task: Task, out: &Out) {
    let mut job = task.begin();
    loop {
        match tokio::task::spawn_blocking(move || job.step()).await {
            Ok((part, more)) => {
                let told = out.send(SubscriptionEvent::Worked(part)).await;
                let Some(next) = more.filter(|_| told) else { return };
                job = next;
            }
            // Its panic is one of this task.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => return,
        }
    }
}

/// A look of the doctor, from the first check to the last. When this task is stopped nothing more is asked.
async fn doctor(services: &Services, profiles: &[Arc<str>], out: &Out) {
    for check in services.surroundings.look() {
        out.send(SubscriptionEvent::Checked(Some(Box::new(check)))).await;
    }
    let (sender, mut told) = mpsc::unbounded_channel();
    let profiles = profiles.iter().filter_map(|name| services.profile(name).cloned()).collect();
    let forward = async {
        while let Some(check) = told.recv().await {
            out.send(SubscriptionEvent::Checked(Some(Box::new(check)))).await;
        }
    };
    // Nobody is asked here whether a key may go elsewhere, so it does not.
    let ask = Ask::default();
    tokio::join!(examine_all(profiles, &ask, sender), forward);
    out.send(SubscriptionEvent::Checked(None)).await;
}

/// What a recording of this stream begins with.
fn head_of(server: &str, target: &StreamTarget, modes: &[String]) -> Head {
    let (thread_id, run_id) = match target {
        StreamTarget::Start { on: Target::Thread(thread), .. } | StreamTarget::Tail { thread } => (Some(thread), None),
        StreamTarget::Join { thread, run } => (Some(thread), Some(run)),
        StreamTarget::Start { .. } | StreamTarget::Recording { .. } => (None, None),
    };
    let modes = match target {
        StreamTarget::Start { body, .. } => body.stream_mode.clone(),
        _ => modes.to_vec(),
    };
    Head { server: server.into(), thread_id: thread_id.cloned(), run_id: run_id.cloned(), modes, ..Head::default() }
}

/// A stream, from its source to the loop. When this task is stopped the connection closes; the run goes on.
async fn stream(
    services: &Services,
    server: &ServerRef,
    target: StreamTarget,
    max_event: u64,
    mut told: Told,
    out: &Out,
) {
    if let StreamTarget::Recording { file } = target {
        return super::recording::play(file, out).await;
    }
    let client = match services.agent_server(server).await {
        Ok(client) => client,
        Err(error) => {
            out.send(SubscriptionEvent::Items(vec![Item::Failed(Box::new(error))])).await;
            return;
        }
    };
    let (sender, items) = mpsc::channel(8);
    let (page_sender, mut receiver) = mpsc::channel::<Vec<Item>>(8);
    let (modes, refreshes, shared) = {
        let wish = told.borrow_and_update();
        (wish.modes.clone(), wish.refreshes, wish.is_shared)
    };
    let (ask, asked) = watch::channel(modes.clone());
    let head = head_of(client.base(), &target, &modes);
    let (ask_refresh, refresh) = watch::channel(refreshes);
    let kick = refresh.clone();
    let (tell_own, own) = watch::channel::<Arc<[String]>>(told.borrow().own_runs.as_slice().into());
    let max_event = usize::try_from(max_event).unwrap_or(usize::MAX);
    let loading = client.clone();
    let page = PageOptions {
        loader: LoaderFor(Box::new(move |thread| SnapshotLoader::new(loading.clone(), thread, max_event))),
        thread: match &target {
            StreamTarget::Tail { thread } | StreamTarget::Join { thread, .. } => Some(thread.clone()),
            StreamTarget::Start { on: Target::Thread(thread), .. } => Some(thread.clone()),
            StreamTarget::Start { .. } | StreamTarget::Recording { .. } => None,
        },
        head: head.clone(),
        refresh,
    };
    let source = async move {
        let options = SourceOptions { head, max_event, modes: Some(asked), ..SourceOptions::default() };
        match target {
            StreamTarget::Start { on, body } => {
                follow(RunLink::new(client, on, (*body).clone()), options, sender).await
            }
            StreamTarget::Join { thread, run } => {
                let options = SourceOptions { first_after: Some("-1".into()), ..options };
                follow(JoinLink::new(client, thread, run, modes).shared(shared), options, sender).await;
            }
            StreamTarget::Tail { thread } => {
                let options = SourceOptions { first_after: Some("-".into()), ..options };
                let following = RunFollowing {
                    shared,
                    own: Some(own),
                    refresh: Some(kick),
                    has_state: true,
                    ..RunFollowing::default()
                };
                follow_thread(client, thread, modes, following, options, sender).await;
            }
            // Read above.
            StreamTarget::Recording { .. } => {}
        }
    };
    let mut held = told.clone();
    let forward = async {
        while let Some(items) = receiver.recv().await {
            // Back-pressure: the recording is behind, so stop reading until it catches up.
            if held.wait_for(|wish| !wish.hold).await.is_err() {
                return;
            }
            let is_large = items.iter().map(size).sum::<usize>() > LARGE;
            if is_large && !out.drained().await || !out.send(SubscriptionEvent::Items(items)).await {
                return;
            }
        }
    };
    // Ends with the wish's sender, that is never before the task.
    let wishes = async {
        while told.changed().await.is_ok() {
            let (modes, refreshes, own) = {
                let wish = told.borrow_and_update();
                (wish.modes.clone(), wish.refreshes, wish.own_runs.clone())
            };
            // Before the refresh, which reads the list of runs.
            tell_own.send_replace(own.into());
            ask_refresh.send_if_modified(|known| std::mem::replace(known, refreshes) != refreshes);
            ask.send_if_modified(|asked| {
                let news = *asked != modes;
                *asked = modes;
                news
            });
        }
        std::future::pending().await
    };
    tokio::select! {
        _ = async { tokio::join!(source, follow_page(page, items, page_sender), forward) } => {}
        () = wishes => {}
    }
}
