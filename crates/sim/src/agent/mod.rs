//! The agent server: its storage, its clock and its routes.

pub mod assistants;
pub mod beginning;
pub mod cancel;
pub mod check;
pub mod crons;
pub mod edit;
pub mod emit;
pub mod exec;
pub mod feed;
pub mod finish;
pub mod graphs;
pub mod join;
pub mod life;
pub mod message;
pub mod message_stream;
pub mod metadata;
pub mod prelude;
pub mod python;
mod routes;
pub mod rows;
pub mod runs;
pub mod scripts;
pub mod search;
pub mod state;
pub mod store;
pub mod streams;
pub mod supersteps;
pub mod threads;

use crate::Scenario;
use crate::agent::prelude::*;
use crate::control::ControlServer;
use feed::ReplayLimits;
use graphs::graphs;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a client counts as present after its last request.
const VISIT: Duration = Duration::from_secs(60);

/// The server of a request.
pub type ThisAgent = axum::extract::State<Arc<Agent>>;

/// One agent server.
#[derive(Debug)]
pub struct Agent {
    /// Its name in the simulator.
    pub name: String,
    /// Its base URL.
    pub url: String,
    /// Whether it has only the calls of the written contract.
    pub contract: bool,
    /// Time between heartbeats.
    pub heartbeat: Duration,
    /// Limits on what each stream stores.
    pub kept: ReplayLimits,
    /// The clock of its runs.
    pub clock: Arc<Clock>,
    /// Generates the ids of events.
    pub ids: Arc<IdClock>,
    /// Stops everything when the simulator stops.
    pub stop: CancellationToken,
    /// Speed of its graphs as a multiple of real time.
    pub speed: f64,
    /// The deployment that it is the agent server of.
    pub host: OnceLock<Host>,
    memory: Mutex<Memory>,
    /// When a client last sent a request for live data.
    asked: watch::Sender<Instant>,
    changed: watch::Sender<u64>,
    released: watch::Sender<HashSet<String>>,
}

/// The deployment of an agent server.
#[derive(Debug)]
pub struct Host {
    pub plane: Arc<ControlServer>,
    /// The deployment's name.
    pub deployment: &'static str,
}

impl Host {
    /// The revision that served at a time.
    pub fn revision(&self, at: Timestamp) -> Option<String> {
        let deployments = self.plane.deployments();
        let mut all = deployments.iter();
        let own = all.find(|one| one.name == self.deployment)?;
        let (serving, _) = own.serving(at, self.plane.speed)?;
        Some(serving.id.clone())
    }
}

impl Agent {
    /// A server with the assistants of its graphs and no threads.
    pub fn new(
        name: &str,
        url: &str,
        options: &crate::Options,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let now = Timestamp::now();
        let assistants = graphs()
            .map(|graph| {
                let first = Version {
                    number: 1,
                    name: graph.name().to_owned(),
                    description: None,
                    config: json!({}),
                    context: json!({}),
                    metadata: json!({"created_by": "system"}),
                    created_at: now,
                };
                Assistant::new(graph.assistant().to_owned(), graph, first)
            })
            .collect();
        let contract = options.scenario == Scenario::Contract;
        let kind = match options.ids {
            Some(kind) => kind,
            None if contract => Ids::Ordinal,
            None => Ids::PerMillisecond,
        };
        let ids = Arc::new(IdClock::new(kind));
        Arc::new(Agent {
            name: name.to_owned(),
            url: url.to_owned(),
            contract,
            heartbeat: options.heartbeat,
            kept: ReplayLimits {
                bytes: options.kept_bytes,
                window: Duration::from_secs(120),
            },
            clock: Clock::live(options.speed, ids.clone()),
            ids,
            stop,
            speed: options.speed,
            host: OnceLock::new(),
            memory: Mutex::new(Memory {
                assistants,
                ..Memory::default()
            }),
            asked: watch::channel(Instant::now()).0,
            changed: watch::channel(0).0,
            released: watch::channel(HashSet::new()).0,
        })
    }

    /// Locks the storage. Never held across an await.
    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        locked(&self.memory)
    }

    /// Changes a thread, if it exists, and wakes the tasks that wait for a change.
    pub fn with_thread<R>(&self, id: &str, change: impl FnOnce(&mut Thread) -> R) -> Option<R> {
        let result = self.memory().threads.get_mut(id).map(change);
        self.changed.send_modify(|n| *n += 1);
        result
    }

    /// Wakes the tasks that wait for a change.
    pub fn wake(&self) {
        self.changed.send_modify(|n| *n += 1);
    }

    /// Waits until a check of the storage returns something.
    pub async fn until<R>(&self, mut check: impl FnMut(&Memory) -> Option<R>) -> Option<R> {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let found = check(&self.memory());
            if found.is_some() {
                return found;
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                change = changed.changed() => if change.is_err() { return None },
            }
        }
    }

    /// The stream of a thread, which may not exist yet.
    pub fn thread_feed(&self, thread: &str) -> Arc<Feed> {
        let feeds = &mut self.memory().feeds;
        let feed = feeds.entry(thread.to_owned());
        feed.or_insert_with(|| Arc::new(Feed::new(self.kept)))
            .clone()
    }

    /// Drops the events of runs that ended too long ago to be replayed.
    pub fn expire_feeds(&self) {
        let memory = self.memory();
        let runs = memory.threads.values().flat_map(|thread| &thread.runs);
        let feeds = runs.map(|run| &run.feed).chain(memory.feeds.values());
        feeds.for_each(|feed| feed.expire());
    }

    /// Records a request for live data.
    pub fn visit(&self) {
        self.asked.send_replace(Instant::now());
    }

    /// Waits until a client is present: one with a request in the last minute, or one that follows a thread.
    pub async fn company(&self) {
        let mut asked = self.asked.subscribe();
        loop {
            let lately = asked.borrow_and_update().elapsed() < VISIT;
            if lately || self.memory().feeds.values().any(|feed| feed.is_read()) {
                return;
            }
            // The sender exists as long as the server.
            let _ = asked.changed().await;
        }
    }

    /// Waits in simulated time, which runs at the simulator's speed.
    pub async fn pause(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    /// Waits until a test releases this name.
    pub async fn held(&self, name: &str) {
        let mut released = self.released.subscribe();
        // The sender exists as long as the server.
        let _ = released.wait_for(|released| released.contains(name)).await;
    }

    /// Releases current and future runs that wait for this name.
    pub fn release(&self, name: &str) {
        self.released.send_modify(|released| {
            released.insert(name.to_owned());
        });
    }

    /// Finds a run of a thread.
    pub fn run(&self, thread: &str, run: &str) -> Option<Run> {
        self.memory().threads.get(thread)?.run(run).cloned()
    }

    /// Finds the assistant that a client names: by id, or by the name of its graph.
    pub fn assistant(&self, asked: &str) -> Option<Assistant> {
        let memory = self.memory();
        let own = Graph::named(asked).map_or(asked, |graph| graph.assistant());
        memory.assistants.iter().find(|one| one.id == own).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[tokio::test(start_paused = true)]
    async fn clients_leave_after_a_minute_unless_they_follow_a_thread() {
        let agent = Agent::new(
            "a",
            "http://127.0.0.1:1",
            &crate::Options::demo(),
            CancellationToken::new(),
        );
        let alone = async || futures::poll!(pin!(agent.company())).is_pending();
        assert!(!alone().await);
        tokio::time::advance(VISIT).await;
        assert!(alone().await);
        let mut waits = pin!(agent.company());
        assert!(futures::poll!(waits.as_mut()).is_pending());
        agent.visit();
        assert!(futures::poll!(waits).is_ready(), "a visit ends the wait");
        let reader = agent.thread_feed("t").reader(|_| true);
        tokio::time::advance(VISIT).await;
        assert!(!alone().await);
        drop(reader);
        assert!(alone().await);
    }
}
