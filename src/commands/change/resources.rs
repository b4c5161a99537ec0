//! Changes of what an agent server keeps besides threads: plan, preview, confirm, check again, send once.

use super::{Approval, Sending, approve, preview, unplanned};
use crate::context::{Context, Site};
use crate::exit::{Exit, Failure};
use crate::output::{complain, placed};
use runtail_api::{AgentServer, AppliedResource, PlanError, ResourceIntent};
use serde_json::Value;

/// Makes a change and prints the resulting record, if there is one.
///
/// # Errors
/// A read-only profile is an error before any request; see [`PlanError`] and [`AgentServer::apply_resource`] for the rest.
pub(crate) async fn make(
    context: &Context,
    (site, server): (&Site, &AgentServer),
    intent: &ResourceIntent,
    sending: &Sending,
    approval: Approval<'_>,
) -> Result<Exit, Failure> {
    if !sending.dry_run {
        context.check_write(&site.profile)?;
    }
    let plan = match server.plan_resource(intent).await {
        Ok(plan) => plan,
        Err(PlanError::Nothing(why)) => {
            complain(&format!("nothing to do: {why}"));
            return Ok(Exit::Done);
        }
        Err(error) => return Err(unplanned(error)),
    };
    if sending.dry_run {
        preview::print(&plan.preview, &sending.output)?;
        return Ok(Exit::Done);
    }
    approve(&plan.preview, approval).await?;
    let AppliedResource { record, complaint } = server.apply_resource(&plan).await?;
    complain(&format!("done: {}", plan.preview.title));
    if let Some(complaint) = complaint {
        complain(&format!("warning: {complaint}"));
    }
    if record != Value::Null {
        sending.output.one(&placed(&site.profile, record))?;
    }
    Ok(Exit::Done)
}
