//! The clients, the sources and the simulator over HTTP, against small servers in the same process.

mod aegra;
mod api;
mod api_errors;
mod authentication;
mod contract_only;
mod doctor;
mod every_change;
mod http2;
mod journal;
mod logs;
#[cfg(unix)]
mod network;
mod plans;
mod reconnect;
mod requests;
mod schema;
mod secure_links;
mod sim;
mod started_run;
mod tail;
mod thread_page;
mod transport;

use runtail_api::{ApiError, Applied, Plan};

/// Carries out the plan of a change of a record.
async fn applied(plan: &Plan) -> Result<Applied, ApiError> {
    Ok(plan.apply().await?.applied())
}
