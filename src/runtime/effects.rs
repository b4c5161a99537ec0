//! Effects: what is done once and answered by one message.

use super::services::Services;
use crate::app::msg::{Done, Effect, Msg};

/// Does an effect and gives its answer; none for those that the loop does itself.
pub async fn perform(services: &Services, effect: Effect) -> Option<Msg> {
    let done = match effect {
        Effect::FetchInfo(server) => {
            let result = match services.agent_server(&server).await {
                Ok(client) => client.info().await,
                Err(error) => Err(error),
            };
            Done::Info(server, result)
        }
        Effect::FetchAssistants(server) => {
            let result = match services.agent_server(&server).await {
                Ok(client) => client.assistants(1000, 0).await,
                Err(error) => Err(error),
            };
            Done::Assistants(server, result)
        }
        Effect::FetchThread(server, thread) => {
            let result = match services.agent_server(&server).await {
                Ok(client) => client.thread(&thread).await,
                Err(error) => Err(error),
            };
            Done::Thread(result)
        }
        Effect::Copy(_) | Effect::Suspend | Effect::Redraw => return None,
    };
    Some(Msg::Done(done))
}
