//! Sends the events of a subscription to the loop.

use crate::session::msg::{Epoch, Msg, ServerRef, SubscriptionEvent, SubscriptionId};
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a request may take before it is reported as overdue.
const OVERDUE: Duration = Duration::from_secs(10);

/// The sender of a subscription.
pub(super) struct Out {
    pub(super) key: SubscriptionId,
    pub(super) epoch: Epoch,
    pub(super) sender: mpsc::Sender<Msg>,
}

impl Out {
    /// Sends an event. Returns `false` if the loop has ended.
    pub(super) async fn send(&self, event: SubscriptionEvent) -> bool {
        self.sender
            .send(Msg::Subscription {
                key: self.key.clone(),
                epoch: self.epoch,
                event,
            })
            .await
            .is_ok()
    }

    /// Waits for a request, and reports if it takes long: until then the last answer counts as current. `server`: which agent
    /// server is asked, if the subscription is about several.
    pub(super) async fn watch<T>(
        &self,
        server: Option<&ServerRef>,
        request: impl Future<Output = T>,
    ) -> T {
        let since = jiff::Timestamp::now();
        let mut request = std::pin::pin!(request);
        if let Ok(answer) = tokio::time::timeout(OVERDUE, &mut request).await {
            return answer;
        }
        self.send(SubscriptionEvent::Overdue {
            server: server.cloned(),
            since,
        })
        .await;
        request.await
    }

    /// Returns whether the loop has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the loop has received everything that was sent. Returns `false` if the loop has ended.
    pub(super) async fn drained(&self) -> bool {
        self.sender
            .reserve_many(self.sender.max_capacity())
            .await
            .is_ok()
    }
}
