//! What is in the simulated world at the start, and what goes on in it by itself.

mod alive;
mod demo;
mod fleet;
mod past;

use super::agent::Agent;
use super::control::Plane;
use super::{Options, Scenario};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Fills the servers as the scenario says.
pub async fn fill(options: &Options, planes: &[Arc<Plane>], agents: &[Arc<Agent>], stop: &CancellationToken) {
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
                past::fill(agent, &plane.region).await;
                alive::begin(plane, agent, stop);
            }
        }
    }
}
