//! What to simulate: the world, and how its services differ from the usual.

use super::ids::Ids;
use std::str::FromStr;
use std::time::Duration;

/// What the simulated world contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scenario {
    /// Two regions, a dozen deployments, and threads of every status.
    Demo,
    /// One region and one agent server, both empty.
    #[default]
    Empty,
    /// Like `Empty`, but the services have only the calls of the written contract and enforce it strictly: unknown fields are
    /// refused, ids of events are no times, and each stream has a connection of its own.
    Contract,
    /// One region with this many deployments.
    Fleet {
        /// Number of deployments.
        deployments: usize,
    },
    /// One agent server with a thread that has this many checkpoints, created at the first request.
    History {
        /// Minimum number of checkpoints.
        checkpoints: usize,
    },
    /// One agent server with this many threads.
    Threads {
        /// Number of threads.
        threads: usize,
    },
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, count) = text.split_once(':').unwrap_or((text, ""));
        let count = Some(count).filter(|count| !count.is_empty());
        let count = count.map(str::parse).transpose();
        Ok(match (name, count) {
            ("demo", Ok(None)) => Scenario::Demo,
            ("empty", Ok(None)) => Scenario::Empty,
            ("contract", Ok(None)) => Scenario::Contract,
            ("fleet", Ok(count)) => Scenario::Fleet {
                deployments: count.unwrap_or(250),
            },
            ("history", Ok(count)) => Scenario::History {
                checkpoints: count.unwrap_or(1000),
            },
            ("threads", Ok(count)) => Scenario::Threads {
                threads: count.unwrap_or(10_000),
            },
            _ => {
                return Err(format!(
                    "unknown scenario '{text}' (known: demo, empty, contract, fleet, fleet:N, history, history:N, threads, \
                     threads:N)"
                ));
            }
        })
    }
}

/// Which log calls control planes offer, and what their lines contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logs {
    /// `POST /v1/projects/…/{build,deploy}_logs`.
    pub v1: bool,
    /// `GET /v2/deployments/…/logs` and `GET /v2/deployment-logs`.
    pub v2: bool,
    /// Lines have ids.
    pub ids: bool,
}

impl Default for Logs {
    fn default() -> Self {
        Logs {
            v1: true,
            v2: true,
            ids: true,
        }
    }
}

/// What to start. The default suits most tests: one empty region and agent server, a hundred times faster than life.
#[derive(Debug, Clone)]
pub struct Options {
    /// The first server's port; the others follow it. `None` lets the system choose.
    pub port: Option<u16>,
    /// The world.
    pub scenario: Scenario,
    /// Another kind of ids of events than the scenario's.
    pub ids: Option<Ids>,
    /// How many times faster than life everything is.
    pub speed: f64,
    /// Time between heartbeats; zero means none.
    pub heartbeat: Duration,
    /// The organization's plan has no listeners.
    pub no_listeners: bool,
    /// How control planes show logs.
    pub logs: Logs,
    /// Bytes of events that each stream of an agent server keeps for a replay.
    pub kept_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            port: None,
            scenario: Scenario::Empty,
            ids: None,
            speed: 100.0,
            heartbeat: Duration::from_secs(5),
            no_listeners: false,
            logs: Logs::default(),
            kept_bytes: 256 << 20,
        }
    }
}

impl Options {
    /// The demo: lifelike speed, and bounded memory however long it runs.
    pub fn demo() -> Self {
        Options {
            scenario: Scenario::Demo,
            speed: 1.0,
            kept_bytes: 4 << 20,
            ..Options::default()
        }
    }
}
