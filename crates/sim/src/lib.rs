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
mod prelude;
mod values;
mod world;

pub use agent::Agent;
pub use control::ControlServer;
pub use fault::{Request, Rule};
pub use ids::Ids;
pub use options::{Logs, Options, Scenario};

use layer::{Gate, Script};
use prelude::*;
use std::io;
use std::net::Ipv4Addr;
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
    script: Arc<Mutex<Script>>,
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
            script: Arc::default(),
            stop: stop.clone(),
        };
        let hosts = world::hosts(options.scenario);
        let mut listeners = Vec::new();
        for n in 0..names.len() + hosts.len() {
            let port = options.port.map_or(0, |port| port.saturating_add(n as u16));
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
            listeners.push((format!("http://{}", listener.local_addr()?), listener));
        }
        let mut listeners = listeners.into_iter();
        for ((name, region), (url, listener)) in names.iter().zip(&mut listeners) {
            let plane = ControlServer::new(name, region, &url, &options);
            sim.regions.push(Region {
                name: (*name).to_owned(),
                region: (*region).to_owned(),
                url,
                api_key: KEY.to_owned(),
                workspace: plane.workspace.clone(),
            });
            sim.planes.push(plane.clone());
            sim.serve(name, move || plane.router(), listener, None);
        }
        let (urls, listeners): (Vec<String>, Vec<TcpListener>) = listeners.unzip();
        for ((region, deployment), url) in hosts.iter().zip(urls) {
            let name = format!("{deployment}-{region}");
            let agent = Agent::new(&name, &url, &options, stop.child_token());
            sim.agents.push(agent);
            sim.addresses.push(AgentAddr { name, url });
        }
        let histories = world::fill(&options, &sim.planes, &sim.agents, &stop);
        let servers = sim.agents.iter().zip(&histories).zip(listeners);
        for ((agent, history), listener) in servers {
            let served = agent.clone();
            let routes = move || served.router();
            let history = Some((agent.clone(), history.clone()));
            sim.serve(&agent.name, routes, listener, history);
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
        // Events must be sent at once; if that fails, they are sent later.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let stop = self.stop.clone().cancelled_owned();
        tokio::spawn(async move {
            let router = routes().layer(axum::middleware::from_fn_with_state(gate, layer::pass));
            // An accept loop that fails ends the server; its clients see that.
            let _ = axum::serve(listener, router)
                .with_graceful_shutdown(stop)
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
        locked(&self.script).requests.iter().cloned().collect()
    }

    /// Clears the recorded requests.
    pub fn forget_requests(&self) {
        locked(&self.script).requests.clear();
    }

    /// Adds a fault. The oldest matching rule applies.
    pub fn rule(&self, rule: Rule) {
        locked(&self.script).rules.push((rule, 0));
    }

    /// Drops all faults.
    pub fn clear_rules(&self) {
        locked(&self.script).rules.clear();
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
