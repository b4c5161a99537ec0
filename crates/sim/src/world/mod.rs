//! The initial contents of the simulated world, and its own activity.

mod alive;
mod demo;
mod fleet;
mod many;
mod past;
mod stories;

use super::agent::Host;
use super::control::ControlServer;
use super::{Options, Scenario};
use crate::agent::prelude::*;
use futures::future::Shared;

/// The past and the activity of an agent server, created when a client first requests something.
pub type History = Shared<BoxFuture<'static, ()>>;

/// Returns the region and the deployment of each agent server.
pub fn hosts(scenario: Scenario) -> &'static [(&'static str, &'static str)] {
    match scenario {
        Scenario::Demo => &demo::HOSTS,
        _ => &[("local", "agents")],
    }
}

/// Fills the control planes for the scenario. Returns the history of each agent server, which takes tens of milliseconds to create,
/// so the first frame of a demo does not wait for it.
pub fn fill(
    options: &Options,
    planes: &[Arc<ControlServer>],
    agents: &[Arc<Agent>],
    stop: &CancellationToken,
) -> Vec<History> {
    match options.scenario {
        Scenario::Empty | Scenario::Contract => {}
        Scenario::Fleet { deployments } => {
            for plane in planes {
                fleet::fill(
                    plane,
                    agents.first().map(|agent| agent.url.as_str()),
                    deployments,
                );
            }
        }
        Scenario::Threads { threads } => agents.iter().for_each(|agent| many::fill(agent, threads)),
        Scenario::History { checkpoints } => {
            let made = |agent: &Arc<Agent>| {
                let agent = agent.clone();
                let made = async move { past::long_history(&agent, checkpoints).await };
                async move { tokio::spawn(made).await.unwrap_or_default() }
                    .boxed()
                    .shared()
            };
            return agents.iter().map(made).collect();
        }
        Scenario::Demo => {
            for plane in planes {
                let servers = demo::HOSTS
                    .iter()
                    .zip(agents)
                    .filter(|((region, _), _)| *region == plane.region);
                let urls = servers
                    .map(|((_, deployment), agent)| (*deployment, agent.url.as_str()))
                    .collect();
                demo::fill(plane, &urls);
                alive::push(plane, stop);
            }
            return demo::HOSTS
                .iter()
                .zip(agents)
                .map(|(host, agent)| history(planes, *host, agent, stop))
                .collect();
        }
    }
    agents
        .iter()
        .map(|_| std::future::ready(()).boxed().shared())
        .collect()
}

fn history(
    planes: &[Arc<ControlServer>],
    (region, deployment): (&'static str, &'static str),
    agent: &Arc<Agent>,
    stop: &CancellationToken,
) -> History {
    if let Some(plane) = planes.iter().find(|plane| plane.region == region) {
        // Set once, before the server answers.
        let _ = agent.host.set(Host {
            plane: plane.clone(),
            deployment,
        });
    }
    let (agent, stop) = (agent.clone(), stop.clone());
    let made = async move {
        past::fill(&agent, region, deployment).await;
        alive::start(&agent, region, deployment, &stop);
    };
    // In a separate task, because the client that triggers it may disconnect.
    async move { tokio::spawn(made).await.unwrap_or_default() }
        .boxed()
        .shared()
}
