//! A scriptable control plane and agent server: real HTTP servers on loopback that behave as the real ones do.
//!
//! `runtail --demo` shows its demo world, `runtail sim` serves it to other programs, and the tests make it misbehave with
//! [`Rule`]s. It speaks plain JSON and shares no code with the client, so that the two can check each other.

pub mod agent;
pub mod clock;
pub mod control;
pub mod fault;
mod http;
pub mod ids;
mod layer;
pub mod options;
mod values;
mod world;

pub use agent::Agent;
pub use control::ControlServer;
pub use fault::{Request, Rule};
pub use ids::Ids;
pub use options::{Logs, Options, Scenario};

use layer::{Gate, Script};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use world::History;

/// The key of every control plane of the simulator.
pub const KEY: &str = "demo-key";

/// A control plane of the simulator.
#[derive(Debug, Clone)]
pub struct Region {
    /// Its name, `prod-us`.
    pub name: String,
    /// Its region, `us`.
    pub region: String,
    /// Its base URL.
    pub url: String,
    /// Its key.
    pub api_key: String,
    pub workspace: String,
}

/// An agent server of the simulator.
#[derive(Debug, Clone)]
pub struct AgentAddr {
    /// Its name: that of its deployment and region, `support-bot-us`.
    pub name: String,
    /// Its base URL.
    pub url: String,
}

/// The running simulator. Its servers stop when it is dropped.
#[derive(Debug)]
pub struct Sim {
    regions: Vec<Region>,
    addresses: Vec<AgentAddr>,
    planes: Vec<Arc<ControlServer>>,
    agents: Vec<Arc<Agent>>,
    script: Arc<Script>,
    stop: CancellationToken,
}

impl Sim {
    /// Starts the demo, on ports that the system chooses. An agent server creates its history at the first request.
    pub async fn demo() -> io::Result<Sim> {
        Ok(Sim::listen(Options::demo()).await?.0)
    }

    /// Starts servers with their history.
    pub async fn start(options: Options) -> io::Result<Sim> {
        let (sim, histories) = Sim::listen(options).await?;
        for history in histories {
            history.await;
        }
        Ok(sim)
    }

    async fn listen(options: Options) -> io::Result<(Sim, Vec<History>)> {
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
        let hosts = world::hosts(options.scenario);
        for _ in 0..names.len() + hosts.len() {
            let listener =
                TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0))))
                    .await?;
            port = port.map(|port| port.saturating_add(1));
            listeners.push(listener);
        }
        let agent_listeners = listeners.split_off(names.len());
        let mut agents = Vec::new();
        for ((name, region), listener) in names.iter().zip(listeners) {
            let url = format!("http://{}", listener.local_addr()?);
            let plane = ControlServer::new(name, region, &url, &options);
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
        for ((region, deployment), listener) in hosts.iter().zip(agent_listeners) {
            let name = format!("{deployment}-{region}");
            let url = format!("http://{}", listener.local_addr()?);
            let agent = Agent::new(&name, &url, &options, stop.child_token());
            sim.addresses.push(AgentAddr { name, url });
            sim.agents.push(agent);
            agents.push(listener);
        }
        let histories = world::fill(&options, &sim.planes, &sim.agents, &stop);
        let servers = sim.agents.iter().zip(&sim.addresses).zip(&histories);
        for (((agent, AgentAddr { name, .. }), history), listener) in servers.zip(agents) {
            let served = agent.clone();
            sim.serve(
                name,
                move || served.router(),
                listener,
                Some((agent.clone(), history.clone())),
            );
        }
        Ok((sim, histories))
    }

    /// Serves on a task, which also makes the routes: the listener is already open, so clients wait.
    fn serve(
        &self,
        name: &str,
        routes: impl FnOnce() -> axum::Router + Send + 'static,
        listener: TcpListener,
        agent: Option<(Arc<Agent>, History)>,
    ) {
        use axum::serve::ListenerExt;
        let gate = Gate {
            script: self.script.clone(),
            server: name.to_owned(),
            stop: self.stop.clone(),
            agent,
        };
        let listener = listener.tap_io(|stream| {
            // Events must be sent at once; if that fails, they are sent later.
            let _ = stream.set_nodelay(true);
        });
        let stop = self.stop.clone();
        tokio::spawn(async move {
            let router = routes().layer(axum::middleware::from_fn_with_state(gate, layer::pass));
            let ended = async move { stop.cancelled().await };
            // An accept loop that fails ends the server; its clients see that.
            let _ = axum::serve(listener, router)
                .with_graceful_shutdown(ended)
                .await;
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

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.script.requests()
    }

    /// Clears the recorded requests.
    pub fn forget_requests(&self) {
        self.script.forget();
    }

    /// Adds a fault. The oldest matching rule applies.
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
        self.planes
            .iter()
            .for_each(|plane| plane.force_status(revision, status));
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
