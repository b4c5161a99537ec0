//! A scriptable control plane and agent server: real HTTP servers on loopback that behave as the real ones do.
//!
//! `runtail --demo` shows its demo world, `runtail sim` serves it to other programs, and the tests make it misbehave with
//! [`Rule`]s. It speaks plain JSON and shares no code with the client, so that the two can check each other.

pub mod agent;
pub mod control;
pub mod fault;
pub mod ids;
mod layer;
mod world;

pub use agent::Agent;
pub use control::Plane;
pub use fault::{Request, Rule};
pub use ids::Ids;

use layer::{Gate, Script};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use world::History;

/// The key that every control plane of the simulator takes.
pub const KEY: &str = "demo-key";

/// Whose rules the servers follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// The Python server, with all its habits, and the hosted control plane.
    #[default]
    Python,
    /// The written contract and nothing else: twelve endpoints, unique ids, repeated `stream_modes`.
    Contract,
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "python" => Ok(Dialect::Python),
            "contract" => Ok(Dialect::Contract),
            other => Err(format!("'{other}' is not a dialect; there are python and contract")),
        }
    }
}

/// What the simulated world holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scenario {
    /// Two regions, a dozen deployments, threads that live.
    Demo,
    /// One region and one agent server with nothing in them.
    #[default]
    Empty,
    /// As `Empty`, and all by the written contract.
    Contract,
    /// One region with so many deployments.
    Fleet {
        /// How many.
        deployments: usize,
    },
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "demo" => Ok(Scenario::Demo),
            "empty" => Ok(Scenario::Empty),
            "contract" => Ok(Scenario::Contract),
            "fleet" => Ok(Scenario::Fleet { deployments: 250 }),
            other => other
                .strip_prefix("fleet:")
                .and_then(|count| count.parse().ok())
                .map(|deployments| Scenario::Fleet { deployments })
                .ok_or_else(|| {
                    format!("'{other}' is not a scenario; there are demo, empty, contract, fleet and fleet:N")
                }),
        }
    }
}

/// How streams look on the wire, where that is not the dialect's own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wire {
    /// Another kind of ids.
    pub ids: Option<Ids>,
    /// LF instead of CRLF.
    pub lf: bool,
    /// A run's stream ends with an `end` event.
    pub end_event: bool,
    /// No heartbeats.
    pub no_heartbeats: bool,
}

/// Which log calls control planes have, and what their lines carry.
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
        Logs { v1: true, v2: true, ids: true }
    }
}

/// How a control plane spells the call that interrupts a revision; sources disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interrupt {
    /// Both ways.
    #[default]
    Both,
    /// `…/interruption` alone.
    Interruption,
    /// `…/interrupt` alone.
    Interrupt,
}

/// What to start. The default is what most tests want: one empty region and agent server, a hundred times faster than life.
#[derive(Debug, Clone)]
pub struct Options {
    /// The first server's port; the others follow it. `None` lets the system choose.
    pub port: Option<u16>,
    /// The world.
    pub scenario: Scenario,
    /// Whose rules the servers follow.
    pub dialect: Dialect,
    /// How streams look on the wire.
    pub wire: Wire,
    /// How many times faster than life everything is.
    pub speed: f64,
    /// Time between heartbeats; zero means none.
    pub heartbeat: Duration,
    /// A control plane answers only under `/api-host`.
    pub prefix_only: bool,
    /// A control plane wants to know the workspace.
    pub needs_workspace: bool,
    /// A control plane says that deployments are not enabled.
    pub not_enabled: bool,
    /// A control plane deploys through listeners alone.
    pub needs_listener: bool,
    /// The organisation's plan has no listeners.
    pub no_listeners: bool,
    /// The control plane stands in AWS, where nothing scales to zero.
    pub aws: bool,
    /// How control planes spell the call that interrupts a revision.
    pub interrupt: Interrupt,
    /// How control planes show logs.
    pub logs: Logs,
    /// The key that agent servers want.
    pub agent_key: Option<String>,
    /// Bytes of events that each stream of an agent server keeps for a replay.
    pub kept_bytes: usize,
    /// Faults from the start.
    pub rules: Vec<Rule>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            port: None,
            scenario: Scenario::Empty,
            dialect: Dialect::Python,
            wire: Wire::default(),
            speed: 100.0,
            heartbeat: Duration::from_secs(5),
            prefix_only: false,
            needs_workspace: false,
            not_enabled: false,
            needs_listener: false,
            no_listeners: false,
            aws: false,
            interrupt: Interrupt::Both,
            logs: Logs::default(),
            agent_key: None,
            kept_bytes: 256 << 20,
            rules: Vec::new(),
        }
    }
}

impl Options {
    /// The demo: lifelike speed, and little memory however long it runs.
    pub fn demo() -> Self {
        Options { scenario: Scenario::Demo, speed: 1.0, kept_bytes: 4 << 20, ..Options::default() }
    }
}

/// A control plane of the simulator.
#[derive(Debug, Clone)]
pub struct Region {
    /// Its name, `prod-us`.
    pub name: String,
    /// Its region, `us`.
    pub region: String,
    /// Its base URL.
    pub url: String,
    /// The key that it takes.
    pub api_key: String,
    /// Its workspace.
    pub workspace: String,
}

/// An agent server of the simulator.
#[derive(Debug, Clone)]
pub struct AgentAddr {
    /// Its name, `agents-us`.
    pub name: String,
    /// Its base URL.
    pub url: String,
}

/// The running simulator. Its servers stop when it is dropped.
#[derive(Debug)]
pub struct Sim {
    regions: Vec<Region>,
    addresses: Vec<AgentAddr>,
    planes: Vec<Arc<Plane>>,
    agents: Vec<Arc<Agent>>,
    script: Arc<Script>,
    stop: CancellationToken,
}

impl Sim {
    /// The demo world, on ports that the system chooses. An agent server remembers what happened on it when somebody first
    /// asks.
    pub async fn demo() -> io::Result<Sim> {
        Ok(Sim::listen(Options::demo()).await?.0)
    }

    /// Starts servers, with all that happened on them.
    pub async fn start(options: Options) -> io::Result<Sim> {
        let (sim, histories) = Sim::listen(options).await?;
        for history in histories {
            history.await;
        }
        Ok(sim)
    }

    async fn listen(mut options: Options) -> io::Result<(Sim, Vec<History>)> {
        if options.scenario == Scenario::Contract {
            options.dialect = Dialect::Contract;
        }
        let names: &[(&str, &str)] = match options.scenario {
            Scenario::Demo => &[("prod-us", "us"), ("prod-eu", "eu")],
            _ => &[("local", "local")],
        };
        let stop = CancellationToken::new();
        let mut sim = Sim {
            regions: Vec::new(),
            addresses: Vec::new(),
            planes: Vec::new(),
            agents: Vec::new(),
            script: Arc::new(Script::default()),
            stop: stop.clone(),
        };
        let mut port = options.port;
        let mut listeners = Vec::new();
        for _ in 0..names.len() * 2 {
            let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))).await?;
            port = port.map(|port| port.saturating_add(1));
            listeners.push(listener);
        }
        let agent_listeners = listeners.split_off(names.len());
        let mut agents = Vec::new();
        for ((name, region), listener) in names.iter().zip(listeners) {
            let url = format!("http://{}", listener.local_addr()?);
            let plane = Plane::new(name, region, &url, &options);
            let prefix = if options.prefix_only { "/api-host" } else { "" };
            sim.regions.push(Region {
                name: (*name).to_owned(),
                region: (*region).to_owned(),
                url: format!("{url}{prefix}"),
                api_key: KEY.to_owned(),
                workspace: plane.workspace.clone(),
            });
            let served = plane.clone();
            sim.serve(name, move || served.router(), listener, None);
            sim.planes.push(plane);
        }
        for ((_, region), listener) in names.iter().zip(agent_listeners) {
            let name = format!("agents-{region}");
            let url = format!("http://{}", listener.local_addr()?);
            let agent = Agent::new(&name, &url, &options, stop.child_token());
            sim.addresses.push(AgentAddr { name, url });
            sim.agents.push(agent);
            agents.push(listener);
        }
        options.rules.iter().for_each(|rule| sim.rule(rule.clone()));
        let histories = world::fill(&options, &sim.planes, &sim.agents, &stop);
        let servers = sim.agents.iter().zip(&sim.addresses).zip(&histories);
        for (((agent, AgentAddr { name, .. }), history), listener) in servers.zip(agents) {
            let served = agent.clone();
            sim.serve(name, move || served.router(), listener, Some((agent.clone(), history.clone())));
        }
        Ok((sim, histories))
    }

    /// Serves on a task, which also makes the routes: the listener is there already, and who connects waits.
    fn serve(
        &self,
        name: &str,
        routes: impl FnOnce() -> axum::Router + Send + 'static,
        listener: TcpListener,
        agent: Option<(Arc<Agent>, History)>,
    ) {
        use axum::serve::ListenerExt;
        let gate = Gate { script: self.script.clone(), server: name.to_owned(), stop: self.stop.clone(), agent };
        let listener = listener.tap_io(|stream| {
            // Events must leave as they come; where that cannot be had, they come later.
            let _ = stream.set_nodelay(true);
        });
        let stop = self.stop.clone();
        tokio::spawn(async move {
            let router = routes().layer(axum::middleware::from_fn_with_state(gate, layer::pass));
            let ended = async move { stop.cancelled().await };
            // An accept loop that fails ends the server; its clients see that.
            let _ = axum::serve(listener, router).with_graceful_shutdown(ended).await;
        });
    }

    /// The control planes.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The agent servers.
    pub fn agents(&self) -> &[AgentAddr] {
        &self.addresses
    }

    /// What the servers were asked so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.script.requests()
    }

    /// Forgets what the servers were asked so far.
    pub fn forget_requests(&self) {
        self.script.forget();
    }

    /// Adds a fault. Of several rules that fit a request the oldest has its way.
    pub fn rule(&self, rule: Rule) {
        self.script.rule(rule);
    }

    /// Drops all faults.
    pub fn clear_rules(&self) {
        self.script.clear_rules();
    }

    /// Lets the runs go on that wait for this name (`hold` in the input of `slow` and `firehose`).
    pub fn release(&self, name: &str) {
        self.agents.iter().for_each(|agent| agent.release(name));
    }

    /// Gives a revision a status of our choice, whatever the timetable says.
    pub fn force_status(&self, revision: &str, status: &str) {
        self.planes.iter().for_each(|plane| plane.force_status(revision, status));
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command_line() {
        assert_eq!("fleet:3".parse(), Ok(Scenario::Fleet { deployments: 3 }));
        assert_eq!("demo".parse(), Ok(Scenario::Demo));
        assert!("fleet:x".parse::<Scenario>().is_err_and(|error| error.contains("fleet:N")));
        assert_eq!("contract".parse(), Ok(Dialect::Contract));
        assert!("c".parse::<Dialect>().is_err());
    }
}
