//! Loads what the composer of a run shows.

use super::services::Services;
use crate::boxed;
use crate::session::msg::{EffectResult, ServerRef};

/// Loads the facts of an assistant's graph.
#[boxed]
pub async fn facts(services: &Services, server: ServerRef, assistant: String) -> EffectResult {
    let result = services.noted(
        &server.profile,
        async {
            services
                .agent_server(&server)
                .await?
                .graph_facts(&assistant)
                .await
                .map(Box::new)
        }
        .await,
    );
    EffectResult::GraphFacts(server, assistant, result)
}

/// Loads the earlier inputs of an assistant, also those on this thread.
#[boxed]
pub async fn inputs(
    services: &Services,
    server: ServerRef,
    assistant: String,
    thread: Option<String>,
) -> EffectResult {
    let result = services.noted(
        &server.profile,
        async {
            services
                .agent_server(&server)
                .await?
                .past_inputs(&assistant, thread.as_deref())
                .await
        }
        .await,
    );
    EffectResult::Inputs(server, assistant, result)
}
