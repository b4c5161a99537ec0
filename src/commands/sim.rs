//! `sim`: the simulator as servers for other programs; and the configuration of `--demo`.

use crate::output::print;
use crate::prelude::*;
use runtail_core::config::{Poll, SecretSource};
use runtail_core::model::{AnswerRule, RuleDecision};
use runtail_sim::{Options as SimOptions, Scenario, Sim};

/// Options of `sim`.
#[derive(Debug, Args)]
pub struct Options {
    /// Port of the first server; the others take the ports after it (default, or 0: the system chooses)
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// What the servers hold: demo, empty, contract, fleet, fleet:N, history, history:N, threads or threads:N
    #[arg(long, value_name = "S", default_value = "demo")]
    scenario: Scenario,
    /// Speed as a multiple of real time
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    speed: f64,
}

/// Serves until it is stopped.
pub async fn run(options: Options) -> Result<Exit, Failure> {
    if !(options.speed.is_finite() && options.speed > 0.0) {
        return Err(Failure::usage("--speed must be greater than 0"));
    }
    let wanted = SimOptions {
        port: options.port.filter(|port| *port != 0),
        scenario: options.scenario,
        speed: options.speed,
        ..SimOptions::demo()
    };
    let sim = Sim::start(wanted).await.map_err(|e| {
        let port = options
            .port
            .map(|p| format!(" on port {p} and the following ones"))
            .unwrap_or_default();
        Failure::failed(format!("the simulator can't listen{port}: {e}"))
    })?;
    let mut lines = String::new();
    for region in sim.regions() {
        lines.push_str(&format!(
            "control plane  {:<10} {}  key {}\n",
            region.name, region.url, region.api_key
        ));
    }
    for agent in sim.agents() {
        lines.push_str(&format!(
            "agent server   {:<18} {}\n",
            agent.name, agent.url
        ));
    }
    print(&lines, false)?;
    complain("serving simulated data until Ctrl-C");
    std::future::pending().await
}

/// Returns the profiles of a running demo. It polls every two seconds, because its builds take seconds.
pub fn demo_config(sim: &Sim) -> Result<Config, Failure> {
    let mut profiles = Vec::new();
    for region in sim.regions() {
        let base = region
            .url
            .parse()
            .map_err(|e| Failure::failed(format!("{}: {e}", region.url)))?;
        profiles.push(Profile {
            name: region.name.clone(),
            region: Some(region.region.clone()),
            control_plane: Some(base),
            workspace: Some(region.workspace.clone()),
            key: Some(SecretSource::Given(region.api_key.clone().into())),
            only_local: true,
            ..Profile::default()
        });
    }
    let poll = Poll {
        interval: Duration::from_secs(2),
        ..Poll::default()
    };
    // Some of the demo's threads ask whether to send an email.
    let rule = AnswerRule {
        text: "action:send_email".into(),
        decision: RuleDecision::Approve,
        message: None,
    };
    Ok(Config {
        profiles,
        poll,
        answer_rules: vec![rule],
        ..Config::default()
    })
}
