//! What is in the simulated world at the start, and what goes on in it by itself.

mod alive;
mod demo;
mod fleet;
mod past;

use super::agent::Agent;
use super::control::Plane;
use super::{Options, Scenario};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What was before on an agent server, and what goes on there: made when somebody first wants it, and once.
pub type History = Shared<BoxFuture<'static, ()>>;

/// Fills the control planes as the scenario says. Gives the history of each agent server: it takes tens of milliseconds,
/// which the first frame of a demo does not wait for, and an agent server that nobody looks at has no life to live.
pub fn fill(options: &Options, planes: &[Arc<Plane>], agents: &[Arc<Agent>], stop: &CancellationToken) -> Vec<History> {
    match options.scenario {
        Scenario::Empty | Scenario::Contract => {}
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

fn history(plane: &Arc<Plane>, agent: &Arc<Agent>, stop: &CancellationToken) -> History {
    let (region, agent, stop) = (plane.region.clone(), agent.clone(), stop.clone());
    let made = async move {
        past::fill(&agent, &region).await;
        alive::practise(&agent, &region, &stop);
    };
    // On a task of its own: who asked for it may go away in the midst of it.
    async move { tokio::spawn(made).await.unwrap_or_default() }.boxed().shared()
}
