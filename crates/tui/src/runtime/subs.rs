//! Runs the tasks of subscriptions and effects: starts and stops subscriptions as the state requires, and reports panics.

use super::browse;
use super::effects::perform;
use super::out::Out;
use super::past_polls;
use super::poll_schedule::ParamsReceiver;
use super::polls;
use super::services::Services;
use super::streams;
use crate::boxed;
use crate::session::msg::{
    Effect, Epoch, Msg, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
    SubscriptionParams,
};
use crate::widgets::jobs::JobSpec;
use runtail_api::doctor::{Ask, Check, examine_all};
use runtail_core::config::{Config, Profile, Watch};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

/// Pause between two checks of the configuration file for changes.
const CONFIG_CHECK: Duration = Duration::from_secs(1);

/// Runs subscriptions and effects as tasks.
pub struct Runner {
    pub(super) services: Arc<Services>,
    pub(super) out: mpsc::Sender<Msg>,
    running: BTreeMap<SubscriptionId, Running>,
    tasks: JoinSet<()>,
    max_event: u64,
    /// Number of the current configuration.
    generation: Epoch,
}

/// A running subscription.
struct Running {
    epoch: Epoch,
    limit: usize,
    task: AbortHandle,
    params: watch::Sender<SubscriptionParams>,
}

impl Runner {
    /// Creates a runner without tasks.
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

    /// Uses other profiles for new tasks. Running tasks keep the profiles with which they started.
    pub fn use_profiles(&mut self, generation: Epoch, profiles: &[Profile]) {
        self.generation = generation;
        self.services = Arc::new(self.services.with_profiles(profiles));
    }

    /// Uses the limits and poll settings of a reloaded configuration for new tasks.
    pub fn configure(&mut self, config: &Config) {
        self.max_event = config.event_log.max_event;
        self.services = Arc::new(self.services.with_poll(config.poll.clone()));
    }

    /// Uses the poll settings of the demo for new tasks.
    pub fn use_demo(&mut self, config: &Config) {
        self.services = Arc::new(self.services.of_demo(config.poll.clone()));
    }

    /// Watches the configuration file as long as the dashboard runs. Uses a thread of its own, because reading the file may be
    /// slow, and because its timer then wakes no other thread.
    pub fn watch_configuration(&mut self, mut watch: Watch) -> io::Result<()> {
        let out = self.out.clone();
        let check = move || {
            while !out.is_closed() {
                std::thread::sleep(CONFIG_CHECK);
                if let Some(read) = watch.look()
                    && out.blocking_send(Msg::Configured(read)).is_err()
                {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("configuration".into())
            .spawn(check)
            .map(drop)
    }

    /// Runs an effect.
    pub fn run(&mut self, effect: Effect) {
        let (services, out, since) = (self.services.clone(), self.out.clone(), self.generation);
        self.tasks.spawn(async move {
            let (to, effect) = effect.addressed();
            if let Some(done) = perform(&services, effect).await {
                let _ = out
                    .send(Msg::Effect {
                        to,
                        epoch: since,
                        result: done,
                    })
                    .await;
            }
        });
    }

    /// Starts, updates and stops tasks to match the required subscriptions.
    pub fn reconcile(&mut self, required: &[Subscription]) {
        self.running.retain(|key, running| {
            let matches = |s: &&Subscription| {
                &s.key == key && s.epoch == running.epoch && s.limit == running.limit
            };
            match required.iter().find(matches) {
                Some(sub) => {
                    running.params.send_if_modified(|params| {
                        let changed = *params != sub.params;
                        if changed {
                            *params = sub.params.clone();
                        }
                        changed
                    });
                    true
                }
                None => {
                    running.task.abort();
                    false
                }
            }
        });
        for sub in required {
            if !self.running.contains_key(&sub.key) {
                let (params, receiver) = watch::channel(sub.params.clone());
                let task = self.start(sub.clone(), receiver);
                self.running.insert(
                    sub.key.clone(),
                    Running {
                        epoch: sub.epoch,
                        limit: sub.limit,
                        task,
                        params,
                    },
                );
            }
        }
    }

    fn start(&mut self, sub: Subscription, params: ParamsReceiver) -> AbortHandle {
        let services = self.services.clone();
        let out = Out {
            key: sub.key.clone(),
            epoch: sub.epoch,
            sender: self.out.clone(),
        };
        let max_event = self.max_event;
        self.tasks.spawn(async move {
            let services = &*services;
            match (sub.key, sub.what) {
                (SubscriptionId::Deployments(profile), _) => {
                    polls::deployments(services, &profile, params, &out).await
                }
                (SubscriptionId::Newest(profile), _) => {
                    polls::newest(services, &profile, params, &out).await
                }
                (SubscriptionId::Past(profile), _) => {
                    past_polls::past(services, &profile, params, &out).await
                }
                (SubscriptionId::Card(of), _) => polls::card(services, &of, &out).await,
                (SubscriptionId::Revisions(profile, id), _) => {
                    polls::revisions(services, &profile, &id, sub.limit, params, &out).await
                }
                (SubscriptionId::Deletion(profile, id), _) => {
                    polls::deletion(services, &profile, &id, params, &out).await
                }
                (SubscriptionId::Watch(of), _) => polls::watch(services, &of, params, &out).await,
                (_, SubscriptionKind::Log(profile, scope, filter)) => {
                    polls::log(services, (&profile, scope, filter), params, &out).await
                }
                (SubscriptionId::Threads(server), _) => {
                    super::thread_pages::threads(services, &server, params, &out).await
                }
                (SubscriptionId::Health(server), _) => {
                    super::health_polls::server_health(services, &server, params, &out).await
                }
                (SubscriptionId::ThreadStatuses(server), _) => {
                    super::statuses::thread_statuses(services, &server, params, &out).await
                }
                (SubscriptionId::Inbox(profile), _) => {
                    super::inbox_polls::inbox(services, &profile, params, &out).await
                }
                (SubscriptionId::Runs(server, thread), _) => {
                    polls::runs(services, &server, &thread, sub.limit, params, &out).await
                }
                (_, SubscriptionKind::Stream(server, target)) => {
                    streams::stream(services, server, target, max_event, params, &out).await
                }
                (_, SubscriptionKind::Wait(profile, auth_id)) => {
                    browse::wait(services, &profile, &auth_id, &out).await
                }
                (_, SubscriptionKind::Profiles(all)) => {
                    let profiles = all
                        .iter()
                        .filter_map(|name| services.profile(name).cloned())
                        .collect();
                    doctor(services.environment.check(), profiles, &out).await
                }
                (_, SubscriptionKind::Profile(profile)) => {
                    doctor(Vec::new(), vec![Profile::clone(&profile)], &out).await
                }
                (_, SubscriptionKind::Job(task)) => work(task, &out).await,
                (_, SubscriptionKind::Bisect(thread, tip, query)) => {
                    super::checkpoints::bisect(services, &thread, tip.as_deref(), &query, &out)
                        .await
                }
                (_, SubscriptionKind::Side(side)) => {
                    super::compare::load(services, &side, &out).await
                }
                (_, SubscriptionKind::Graph(server, assistant)) => {
                    super::checkpoints::graph(services, &server, &assistant, &out).await
                }
                (_, SubscriptionKind::History(thread, request)) => {
                    super::checkpoints::load(services, &thread, request, &out).await
                }
                // The others need more than their id.
                (_, SubscriptionKind::Name) => {}
            }
        })
    }

    /// For tests: panics in a task or in the loop, or fails to allocate memory.
    pub fn test_panic(&mut self, place: &str) {
        match place {
            "task" => drop(
                self.tasks
                    .spawn(async { panic!("a test asked this task to panic") }),
            ),
            "memory" => std::alloc::handle_alloc_error(std::alloc::Layout::new::<u64>()),
            _ => panic!("a test asked the loop to panic"),
        }
    }

    /// Returns the next panic of a task: its subscription and its message. Removes tasks that end normally.
    #[boxed]
    pub async fn next_panic(&mut self) -> Option<(Option<SubscriptionId>, String)> {
        loop {
            match self.tasks.join_next_with_id().await {
                Some(Err(error)) if error.is_panic() => {
                    let id = error.id();
                    let key = self
                        .running
                        .iter()
                        .find(|(_, r)| r.task.id() == id)
                        .map(|(key, _)| key.clone());
                    let payload = error.into_panic();
                    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
                    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
                    return Some((
                        key,
                        runtail_core::text::clean(text.as_deref().unwrap_or("panic")).into_owned(),
                    ));
                }
                Some(_) => {}
                // No task is running. A new task wouldn't wake this future, but the loop calls it again after its next
                // message.
                None => std::future::pending().await,
            }
        }
    }
}

/// Runs a background job step by step. If this task is stopped, the job stops after its current step.
async fn work(task: JobSpec, out: &Out) {
    let mut job = task.begin();
    loop {
        match tokio::task::spawn_blocking(move || job.step()).await {
            Ok((part, more)) => {
                let is_sent = out.send(SubscriptionEvent::Worked(part)).await;
                let Some(next) = more.filter(|_| is_sent) else {
                    return;
                };
                job = next;
            }
            // Reports the panic as one of this task.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => return,
        }
    }
}

/// Runs all checks of the doctor. If this task is stopped, no more requests are sent.
async fn doctor(machine: Vec<Check>, profiles: Vec<Profile>, out: &Out) {
    for check in machine {
        out.send(SubscriptionEvent::Checked(Some(Box::new(check))))
            .await;
    }
    let (sender, mut checks) = mpsc::unbounded_channel();
    let forward = async {
        while let Some(check) = checks.recv().await {
            out.send(SubscriptionEvent::Checked(Some(Box::new(check))))
                .await;
        }
    };
    // By default no key is sent to another host, because the user can't be asked here.
    let ask = Ask::default();
    tokio::join!(examine_all(profiles, &ask, sender), forward);
    out.send(SubscriptionEvent::Checked(None)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_request_that_takes_long_is_reported() {
        let (sender, mut events) = mpsc::channel(8);
        let out = Out {
            key: SubscriptionId::Deployments("us".into()),
            epoch: Epoch::default(),
            sender,
        };
        let request = |seconds| async move {
            tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
            seconds
        };
        assert_eq!(out.watch(None, request(9)).await, 9);
        assert!(
            events.try_recv().is_err(),
            "an answer in time is not reported"
        );
        assert_eq!(out.watch(None, request(25)).await, 25);
        let overdue = events.try_recv();
        let is_overdue = |msg: &Msg| {
            matches!(
                msg,
                Msg::Subscription {
                    event: SubscriptionEvent::Overdue { .. },
                    ..
                }
            )
        };
        assert!(overdue.as_ref().is_ok_and(is_overdue), "{overdue:?}");
        assert!(events.try_recv().is_err(), "once");
    }
}
