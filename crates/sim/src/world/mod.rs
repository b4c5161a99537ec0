//! What the simulated world contains at the start, and what happens in it by itself.

mod alive;
mod demo;
mod fleet;
mod past;
mod stories;

use super::agent::Agent;
use super::control::ControlServer;
use super::{Options, Scenario};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The past of an agent server, and what happens on it by itself: made once, when a client first asks for it.
pub type History = Shared<BoxFuture<'static, ()>>;

/// Fills the control planes as the scenario says, and returns the history of each agent server. A history takes tens of
/// milliseconds to make, so the first frame of a demo does not wait for it.
pub fn fill(
    options: &Options,
    planes: &[Arc<ControlServer>],
    agents: &[Arc<Agent>],
    stop: &CancellationToken,
) -> Vec<History> {
    match options.scenario {
        Scenario::Empty | Scenario::Contract | Scenario::JavaScript | Scenario::Aegra => {}
        Scenario::Fleet { deployments } => {
            for plane in planes {
                fleet::fill(plane, agents.first().map(|agent| agent.url.as_str()), deployments);
            }
        }
        Scenario::Demo => {
            for (plane, agent) in planes.iter().zip(agents) {
                demo::fill(plane, &agent.url);
                alive::push(plane, stop);
            }
            return planes.iter().zip(agents).map(|(plane, agent)| history(plane, agent, stop)).collect();
        }
    }
    agents.iter().map(|_| std::future::ready(()).boxed().shared()).collect()
}

fn history(plane: &Arc<ControlServer>, agent: &Arc<Agent>, stop: &CancellationToken) -> History {
    let (region, agent, stop) = (plane.region.clone(), agent.clone(), stop.clone());
    let made = async move {
        past::fill(&agent, &region).await;
        alive::start(&agent, &region, &stop);
    };
    // On a task of its own: the client that asked for it may disconnect meanwhile.
    async move { tokio::spawn(made).await.unwrap_or_default() }.boxed().shared()
}
