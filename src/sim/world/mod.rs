//! What is in the simulated world at the start, and what goes on in it by itself.

mod fleet;

use super::agent::Agent;
use super::control::Plane;
use super::{Options, Scenario};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Fills the servers as the scenario says.
pub fn fill(options: &Options, planes: &[Arc<Plane>], agents: &[Arc<Agent>], _stop: &CancellationToken) {
    if let (Scenario::Fleet { deployments }, Some(plane)) = (options.scenario, planes.first()) {
        fleet::fill(plane, agents.first().map(|agent| agent.url.as_str()), deployments);
    }
}
