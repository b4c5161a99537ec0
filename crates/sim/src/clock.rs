//! The clock of a run. Normally it is the present, scaled by the simulator's speed. The history of the demo is created by
//! running graphs in the past, where time passes instantly, so run records, checkpoints and event ids agree.

use super::ids::IdClock;
use crate::values::locked;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// Time between two readings in the past, so that no two records share a time.
const TICK: SignedDuration = SignedDuration::from_micros(350);
/// Polls without a sleeper after which a future in the past is taken to wait for something else.
const IDLE_POLLS: usize = 256;

#[derive(Debug)]
pub struct Clock {
    speed: f64,
    ids: Arc<IdClock>,
    past: Mutex<Option<Past>>,
    silent: bool,
}

#[derive(Debug)]
struct Past {
    now: Timestamp,
    sleepers: BTreeMap<SleeperKey, Option<Waker>>,
    scheduled: u64,
}

/// Sleepers wake by deadline, and of the same deadline in the order in which they were scheduled.
type SleeperKey = (Timestamp, u64);

impl Clock {
    /// A clock in the present.
    pub fn live(speed: f64, ids: Arc<IdClock>) -> Arc<Self> {
        Arc::new(Clock {
            speed,
            ids,
            past: Mutex::new(None),
            silent: false,
        })
    }

    /// A clock in the past. Runs on a `silent` one publish no events; their events are older than what servers replay.
    pub fn past(start: Timestamp, speed: f64, kind: super::Ids, silent: bool) -> Arc<Self> {
        let past = Past {
            now: start,
            sleepers: BTreeMap::new(),
            scheduled: 0,
        };
        Arc::new(Clock {
            speed,
            ids: Arc::new(IdClock::new(kind)),
            past: Mutex::new(Some(past)),
            silent,
        })
    }

    fn state(&self) -> MutexGuard<'_, Option<Past>> {
        locked(&self.past)
    }

    /// Whether runs on this clock publish no events.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// The time. In the past, each reading is later than the one before.
    pub fn now(&self) -> Timestamp {
        match self.state().as_mut() {
            None => Timestamp::now(),
            Some(past) => {
                past.now = past.now.checked_add(TICK).unwrap_or(past.now);
                past.now
            }
        }
    }

    /// The same time on the monotonic clock.
    pub fn instant(&self) -> Instant {
        let passed = Timestamp::now().duration_since(self.now());
        let passed = passed.try_into().unwrap_or_default();
        let now = Instant::now();
        now.checked_sub(passed).unwrap_or(now)
    }

    /// Ids for events that are published together.
    pub fn ids(&self, count: usize) -> Vec<String> {
        self.ids.burst(self.now(), count)
    }

    /// Lets this much of the graph's time pass.
    pub async fn sleep(&self, time: Duration) {
        let key = self.state().as_mut().map(|past| past.schedule(time));
        let mut rest = time;
        if let Some(key) = key {
            match poll_fn(|context| self.poll_sleeper(key, context)).await {
                None => return,
                Some(left) => rest = left,
            }
        }
        let rest = rest.div_f64(self.speed);
        if rest < Duration::from_millis(1) {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(rest).await;
        }
    }

    /// Ready when a sleeper is due, or with its rest once the clock has reached the present.
    fn poll_sleeper(&self, key: SleeperKey, context: &Context<'_>) -> Poll<Option<Duration>> {
        let mut state = self.state();
        let Some(past) = state.as_mut() else {
            let rest = key.0.duration_since(Timestamp::now());
            return Poll::Ready(Some(rest.try_into().unwrap_or_default()));
        };
        match past.sleepers.get_mut(&key) {
            None => Poll::Ready(None),
            Some(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Drives a future through the past until it is done or the past reaches the present. Returns what is left of it, which
    /// then runs in the present.
    pub async fn catch_up(
        &self,
        mut work: BoxFuture<'static, ()>,
    ) -> Option<BoxFuture<'static, ()>> {
        let mut idle = 0;
        while idle < IDLE_POLLS {
            if futures::poll!(&mut work).is_ready() {
                return None;
            }
            let moved = self.state().as_mut().and_then(Past::advance);
            match moved {
                Some(true) => idle = 0,
                Some(false) => {
                    idle += 1;
                    tokio::task::yield_now().await;
                }
                None => break,
            }
        }
        let past = self.state().take();
        past.into_iter()
            .flat_map(|past| past.sleepers.into_values())
            .flatten()
            .for_each(Waker::wake);
        Some(work)
    }
}

impl Past {
    fn schedule(&mut self, time: Duration) -> SleeperKey {
        let time = SignedDuration::try_from(time).unwrap_or_default();
        let deadline = self.now.checked_add(time).unwrap_or(self.now);
        self.scheduled += 1;
        let key = (deadline, self.scheduled);
        self.sleepers.insert(key, None);
        key
    }

    /// Goes to the time of the next sleeper and lets it run: whether there was one, and none once the present is reached.
    fn advance(&mut self) -> Option<bool> {
        let Some(next) = self.sleepers.first_entry() else {
            return Some(false);
        };
        let deadline = next.key().0;
        if deadline > Timestamp::now() {
            return None;
        }
        next.remove().into_iter().for_each(Waker::wake);
        self.now = self.now.max(deadline);
        Some(true)
    }
}
