//! Keeps going what the state subscribes to: starts what is new, stops what is gone, and reports panics.

use super::effects::perform;
use super::services::Services;
use crate::api::{ApiError, ControlPlane, DeploymentQuery, Kind, Listing, ThreadQuery};
use crate::app::msg::{Answer, Effect, Msg, NextPoll, ServerRef, StreamTarget, SubKey, Subscription};
use crate::model::Deployment;
use crate::stream::{Item, JoinLink, RunLink, SourceOptions, ThreadLink, follow};
use futures::StreamExt;
use jiff::Timestamp;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

/// Pause between two looks at a server's threads or runs.
const LIST_PAUSE: Duration = Duration::from_secs(3);
/// A settled history is looked at this many times less often than one that moves.
const SETTLED: u32 = 5;
/// How long a deployment has to stay selected before its revisions are asked for.
const SETTLE: Duration = Duration::from_millis(150);
/// Newest revisions that are asked for at once.
const AT_ONCE: usize = 4;

/// Runs subscriptions and effects as tasks.
pub struct Runner {
    services: Arc<Services>,
    out: mpsc::Sender<Msg>,
    running: BTreeMap<SubKey, (u64, usize, AbortHandle)>,
    tasks: JoinSet<()>,
    max_event: u64,
}

impl Runner {
    /// A runner with nothing to do.
    pub fn new(services: Arc<Services>, out: mpsc::Sender<Msg>, max_event: u64) -> Runner {
        Runner { services, out, running: BTreeMap::new(), tasks: JoinSet::new(), max_event }
    }

    /// Runs an effect.
    pub fn run(&mut self, effect: Effect) {
        let (services, out) = (self.services.clone(), self.out.clone());
        self.tasks.spawn(async move {
            if let Some(msg) = perform(&services, effect).await {
                let _ = out.send(msg).await;
            }
        });
    }

    /// Brings the tasks in line with what is wanted.
    pub fn reconcile(&mut self, wanted: &[Subscription]) {
        self.running.retain(|key, (epoch, limit, task)| {
            let keep = wanted.iter().any(|s| &s.key == key && s.epoch == *epoch && s.limit == *limit);
            if !keep {
                task.abort();
            }
            keep
        });
        for sub in wanted {
            if !self.running.contains_key(&sub.key) {
                let task = self.start(sub.clone());
                self.running.insert(sub.key.clone(), (sub.epoch, sub.limit, task));
            }
        }
    }

    fn start(&mut self, sub: Subscription) -> AbortHandle {
        let services = self.services.clone();
        let out = Out { key: sub.key.clone(), epoch: sub.epoch, sender: self.out.clone() };
        let max_event = self.max_event;
        self.tasks.spawn(async move {
            match (sub.key, sub.stream) {
                (SubKey::Deployments(profile), _) => deployments(&services, &profile, &out).await,
                (SubKey::Revisions(profile, id), _) => revisions(&services, &profile, &id, sub.limit, &out).await,
                (SubKey::Threads(server), _) => threads(&services, &server, sub.limit, &out).await,
                (SubKey::Runs(server, thread), _) => runs(&services, &server, &thread, sub.limit, &out).await,
                (SubKey::Stream(_), Some((server, target))) => {
                    stream(&services, &server, target, max_event, &out).await
                }
                (SubKey::Stream(_), None) => {}
            }
        })
    }

    /// Panics on behalf of a test: in a task, else here.
    pub fn test_panic(&mut self, place: &str) {
        if place == "task" {
            self.tasks.spawn(async { panic!("a test asked this task to panic") });
        } else {
            panic!("a test asked the loop to panic");
        }
    }

    /// The next task that panicked: the subscription that it kept, and its message. Tasks that end well are only counted
    /// out.
    pub async fn next_panic(&mut self) -> Option<(Option<SubKey>, String)> {
        loop {
            match self.tasks.join_next_with_id().await {
                Some(Err(error)) if error.is_panic() => {
                    let id = error.id();
                    let key = self.running.iter().find(|(_, (_, _, task))| task.id() == id).map(|(key, _)| key.clone());
                    let payload = error.into_panic();
                    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
                    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
                    return Some((key, crate::text::clean(text.as_deref().unwrap_or("panic")).into_owned()));
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
struct Out {
    key: SubKey,
    epoch: u64,
    sender: mpsc::Sender<Msg>,
}

impl Out {
    /// `false` where nobody listens any more.
    async fn send(&self, answer: Answer) -> bool {
        self.sender.send(Msg::Answer { key: self.key.clone(), epoch: self.epoch, answer }).await.is_ok()
    }
}

/// The pause before the next poll: jittered, longer where the server asked for it; none where asking again is pointless
/// until somebody acts.
fn pause(base: Duration, error: Option<&ApiError>) -> Option<Duration> {
    let jittered = base.mul_f64(0.9 + fastrand::f64() * 0.2);
    match error {
        Some(e) if crate::app::stops_polling(e) => None,
        Some(ApiError { kind: Kind::RateLimited(Some(wait)), .. }) => Some(jittered.max(*wait)),
        _ => Some(jittered),
    }
}

fn after(wait: Duration) -> Timestamp {
    let now = Timestamp::now();
    now.checked_add(jiff::SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(now)
}

async fn deployments(services: &Services, profile: &str, out: &Out) {
    // A final revision does not change, so it is asked for once.
    let mut known: HashMap<String, bool> = HashMap::new();
    loop {
        let result = list_deployments(services, profile).await;
        let wait = pause(services.poll.interval, result.as_ref().err());
        let newest: Vec<(String, String)> = result
            .iter()
            .flat_map(|listing| &listing.items)
            .filter_map(|d| Some((d.id.clone(), d.latest_revision_id.clone()?)))
            .filter(|(_, revision)| !known.get(revision).copied().unwrap_or(false))
            .collect();
        if !out.send(Answer::Deployments(result)).await {
            return;
        }
        if let Ok(control_plane) = services.control_plane(profile).await {
            newest_revisions(&control_plane, newest, &mut known, out).await;
        }
        match wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return,
        }
    }
}

async fn list_deployments(services: &Services, profile: &str) -> Result<Listing<Deployment>, ApiError> {
    let control_plane = services.control_plane(profile).await?;
    let pinned = services.pinned(profile);
    if pinned.is_empty() {
        return control_plane.deployment_list(&DeploymentQuery::default()).await;
    }
    // One that cannot be read does not take the others with it.
    let (mut items, mut incomplete) = (Vec::new(), None);
    for id in pinned {
        match control_plane.deployment(id).await {
            Ok(deployment) => items.push(deployment),
            Err(error) => incomplete = Some(error),
        }
    }
    match incomplete {
        Some(error) if items.is_empty() => Err(error),
        incomplete => Ok(Listing { items, incomplete }),
    }
}

async fn newest_revisions(
    control_plane: &ControlPlane,
    wanted: Vec<(String, String)>,
    known: &mut HashMap<String, bool>,
    out: &Out,
) {
    let ask = |(deployment, revision): (String, String)| async move {
        let found = control_plane.revision(&deployment, &revision).await;
        (deployment, found)
    };
    let mut answers = futures::stream::iter(wanted).map(ask).buffer_unordered(AT_ONCE);
    while let Some((deployment, found)) = answers.next().await {
        // A row whose revision cannot be read keeps its «…»; the next round asks again.
        let Ok(revision) = found else { continue };
        known.insert(revision.id.clone(), revision.phase().is_final());
        if !out.send(Answer::Newest { deployment, revision }).await {
            return;
        }
    }
}

async fn revisions(services: &Services, profile: &str, id: &str, limit: usize, out: &Out) {
    // Who only scrolls past a deployment does not ask for its revisions.
    tokio::time::sleep(SETTLE).await;
    let poll = services.poll.clone();
    let mut moving_since: Option<(String, Instant)> = None;
    loop {
        let result = match services.control_plane(profile).await {
            Ok(control_plane) => control_plane.revisions(id, limit).await.map(|r| r.items),
            Err(error) => Err(error),
        };
        let mut wait = pause(poll.interval, result.as_ref().err());
        let mut gave_up = false;
        if let Ok(list) = &result {
            match list.first() {
                Some(newest) if !newest.phase().is_final() => {
                    // The limit counts from when this very revision was first seen moving.
                    let since = match &moving_since {
                        Some((id, since)) if id == &newest.id => *since,
                        _ => Instant::now(),
                    };
                    moving_since = Some((newest.id.clone(), since));
                    gave_up = since.elapsed() > poll.timeout;
                }
                _ => wait = wait.map(|w| w * SETTLED),
            }
        }
        let next = match wait {
            _ if gave_up => NextPoll::GaveUp,
            Some(wait) => NextPoll::At(after(wait)),
            None => NextPoll::Stopped,
        };
        if !out.send(Answer::Revisions(result, next)).await || gave_up {
            return;
        }
        match wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return,
        }
    }
}

async fn threads(services: &Services, server: &ServerRef, limit: usize, out: &Out) {
    loop {
        let query = ThreadQuery { limit, ..ThreadQuery::default() };
        let result = match services.agent_server(server).await {
            Ok(client) => client.threads(&query).await,
            Err(error) => Err(error),
        };
        let wait = pause(LIST_PAUSE, result.as_ref().err());
        if !out.send(Answer::Threads(result)).await {
            return;
        }
        match wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return,
        }
    }
}

async fn runs(services: &Services, server: &ServerRef, thread: &str, limit: usize, out: &Out) {
    loop {
        let result = match services.agent_server(server).await {
            Ok(client) => client.runs(thread, limit).await,
            Err(error) => Err(error),
        };
        let wait = pause(LIST_PAUSE, result.as_ref().err());
        if !out.send(Answer::Runs(result)).await {
            return;
        }
        match wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return,
        }
    }
}

/// A stream, from its source to the loop. When this task is stopped the connection closes; the run goes on.
async fn stream(services: &Services, server: &ServerRef, target: StreamTarget, max_event: u64, out: &Out) {
    let client = match services.agent_server(server).await {
        Ok(client) => client,
        Err(error) => {
            out.send(Answer::Items(vec![Item::Failed(error)])).await;
            return;
        }
    };
    let (sender, mut receiver) = mpsc::channel(8);
    let source = async move {
        let options =
            SourceOptions { max_event: usize::try_from(max_event).unwrap_or(usize::MAX), ..SourceOptions::default() };
        match target {
            StreamTarget::Start { on, body } => {
                follow(RunLink::new(client, on, (*body).clone()), options, sender).await
            }
            StreamTarget::Join { thread, run } => {
                let options = SourceOptions { first_after: Some("-1".into()), ..options };
                follow(JoinLink::new(client, thread, run, Vec::new()), options, sender).await;
            }
            StreamTarget::Tail { thread } => {
                let options = SourceOptions { first_after: Some("-".into()), ..options };
                let modes = ["run_modes", "state_update"].map(str::to_string).to_vec();
                follow(ThreadLink::new(client, thread, modes), options, sender).await;
            }
        }
    };
    let forward = async {
        while let Some(items) = receiver.recv().await {
            if !out.send(Answer::Items(items)).await {
                return;
            }
        }
    };
    tokio::join!(source, forward);
}
