//! The checkpoints of a thread (acting reference §5).

use super::AgentServer;
use crate::ApiError;
use serde_json::value::RawValue;

impl AgentServer {
    /// Returns the state of a thread at a checkpoint, as received. An unknown id is no error: the answer then has neither
    /// metadata nor a time.
    ///
    /// # Errors
    /// [`Kind::TooLarge`](crate::Kind::TooLarge) if the response is larger than `max_bytes`; see [`ApiError`] for the rest.
    pub async fn checkpoint_state_raw(
        &self,
        thread: &str,
        checkpoint: &str,
        max_bytes: usize,
    ) -> Result<Box<RawValue>, ApiError> {
        self.get_up_to(&["threads", thread, "state", checkpoint], &[], max_bytes).await?.json()
    }
}
