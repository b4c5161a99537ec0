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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SleeperKey {
    deadline: Timestamp,
    number: u64,
}

enum Sleeper {
    Waiting,
    Due,
    /// The clock has reached the present before the sleeper was due.
    Live(Timestamp),
}

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
        let passed = Duration::try_from(Timestamp::now().duration_since(self.now()))
            .unwrap_or(Duration::ZERO);
        Instant::now()
            .checked_sub(passed)
            .unwrap_or_else(Instant::now)
    }

    /// Ids for events that are published together.
    pub fn ids(&self, count: usize) -> Vec<String> {
        self.ids.burst(self.now(), count)
    }

    /// Lets this much of the graph's time pass.
    pub async fn sleep(&self, time: Duration) {
        let key = self.state().as_mut().map(|past| past.schedule(time));
        let rest = match key {
            None => time,
            Some(key) => match poll_fn(|context| self.poll_sleeper(key, context)).await {
                None => return,
                Some(deadline) => Duration::try_from(deadline.duration_since(Timestamp::now()))
                    .unwrap_or(Duration::ZERO),
            },
        };
        let rest = rest.div_f64(self.speed.max(1e-6));
        if rest < Duration::from_millis(1) {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(rest).await;
        }
    }

    fn poll_sleeper(&self, key: SleeperKey, context: &mut Context<'_>) -> Poll<Option<Timestamp>> {
        let mut state = self.state();
        let found = match state.as_mut() {
            None => Sleeper::Live(key.deadline),
            Some(past) => past.check(key, context),
        };
        match found {
            Sleeper::Waiting => Poll::Pending,
            Sleeper::Due => Poll::Ready(None),
            Sleeper::Live(deadline) => Poll::Ready(Some(deadline)),
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
            match self.state().as_mut().map(Past::advance) {
                Some(Advance::To) => idle = 0,
                Some(Advance::Present) | None => break,
                Some(Advance::NoSleeper) => idle += 1,
            }
            if idle > 0 {
                tokio::task::yield_now().await;
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

enum Advance {
    To,
    Present,
    NoSleeper,
}

impl Past {
    fn schedule(&mut self, time: Duration) -> SleeperKey {
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::ZERO);
        let deadline = self.now.checked_add(time).unwrap_or(self.now);
        self.scheduled += 1;
        let key = SleeperKey {
            deadline,
            number: self.scheduled,
        };
        self.sleepers.insert(key, None);
        key
    }

    fn check(&mut self, key: SleeperKey, context: &mut Context<'_>) -> Sleeper {
        match self.sleepers.get_mut(&key) {
            Some(waker) => {
                *waker = Some(context.waker().clone());
                Sleeper::Waiting
            }
            None => Sleeper::Due,
        }
    }

    /// Goes to the time of the next sleeper and lets it run.
    fn advance(&mut self) -> Advance {
        let Some(next) = self.sleepers.first_entry() else {
            return Advance::NoSleeper;
        };
        let deadline = next.key().deadline;
        if deadline > Timestamp::now() {
            return Advance::Present;
        }
        next.remove().into_iter().for_each(Waker::wake);
        self.now = self.now.max(deadline);
        Advance::To
    }
}
