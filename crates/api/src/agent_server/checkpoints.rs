//! The checkpoints of a thread (acting reference §5).

use crate::prelude::*;
use runtail_core::json::{Fields, Peek};

/// Maximum number of waiting subgraphs whose states are requested one by one.
const MAX_SUBGRAPHS: usize = 8;
/// Bytes of a state whose values are skipped.
const MAX_STATE: usize = 64 << 20;

/// The state at a checkpoint, with the states of the subgraphs that wait there.
#[derive(Debug)]
pub struct NestedState {
    /// The state as received. Each waiting subgraph's state is in the `state` of its task.
    pub state: Box<RawValue>,
    /// Why the states of subgraphs are missing, a sentence each.
    pub missing: Vec<String>,
}

impl AgentServer {
    /// Returns the state of a thread at a checkpoint, as received. An unknown id is no error: the answer then has neither
    /// metadata nor a time.
    ///
    /// # Errors
    /// [`Kind::TooLarge`](crate::Kind::TooLarge) if the response is larger than `max_bytes`; see [`ApiError`] for the rest.
    #[boxed]
    pub async fn checkpoint_state_raw(
        &self,
        thread: &str,
        checkpoint: &str,
        max_bytes: usize,
    ) -> Result<Box<RawValue>, ApiError> {
        self.get_up_to(&["threads", thread, "state", checkpoint], &[], max_bytes)
            .await?
            .json()
    }

    /// Returns whether a thread has a checkpoint with this id. Servers compare the id of a history's `before` as a text and accept
    /// any. If the server has no call that reads a checkpoint, nothing speaks against the id.
    ///
    /// # Errors
    /// As for [`AgentServer::checkpoint_state_raw`].
    #[boxed]
    pub async fn has_checkpoint(&self, thread: &str, id: &str) -> Result<bool, ApiError> {
        match self.checkpoint_state_raw(thread, id, MAX_STATE).await {
            Ok(raw) => Ok(StateFacts::read(raw.get()).is_ok_and(|facts| facts.is_saved())),
            // JavaScript refuses an id that is no UUID. Other servers may answer 404 because they lack the call.
            Err(error) if error.kind == Kind::NotFound => {
                Ok(self.info().await?.kind == ServerKind::Other)
            }
            Err(error) if matches!(error.kind, Kind::Invalid(_)) => Ok(false),
            Err(error) if error.may_lack_call() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns the state of a thread at a checkpoint with the states of its waiting subgraphs, as far as the server
    /// offers them.
    ///
    /// # Errors
    /// As for [`AgentServer::checkpoint_state_raw`]. A refused state of a subgraph is no error.
    #[boxed]
    pub async fn nested_state(
        &self,
        thread: &str,
        checkpoint: &str,
        max_bytes: usize,
    ) -> Result<NestedState, ApiError> {
        let query = [("subgraphs", "true".to_string())];
        match self
            .get_up_to(&["threads", thread, "state", checkpoint], &query, max_bytes)
            .await
        {
            Ok(answer) => Ok(self.with_subgraphs(thread, answer.json()?, max_bytes).await),
            Err(error) if error.is_refusal() => {
                let state = self
                    .checkpoint_state_raw(thread, checkpoint, max_bytes)
                    .await?;
                let host = text::clean(&error.at.host).into_owned();
                let missing = vec![format!(
                    "{host} doesn't offer the states of subgraphs: {}.",
                    error.cause()
                )];
                Ok(NestedState { state, missing })
            }
            Err(error) => Err(error),
        }
    }

    /// Adds the states of subgraphs that a server only names.
    async fn with_subgraphs(
        &self,
        thread: &str,
        state: Box<RawValue>,
        max_bytes: usize,
    ) -> NestedState {
        let mut missing = Vec::new();
        let parsed = Peek::from(&*state).object().unwrap_or_default();
        let tasks: Vec<Peek<'_>> = parsed.items("tasks").collect();
        let mut added: Vec<Option<Box<RawValue>>> = Vec::new();
        let mut requests = 0;
        let mut room = max_bytes.saturating_sub(state.get().len());
        for task in &tasks {
            let task = task.object().unwrap_or_default();
            let place = task.read_as::<Value>("checkpoint").filter(|place| {
                place["checkpoint_ns"]
                    .as_str()
                    .is_some_and(|ns| !ns.is_empty())
            });
            let Some(place) = place.filter(|_| task.get("state").is_none()) else {
                added.push(None);
                continue;
            };
            let name = text::clean(&task.text("name").unwrap_or_default()).into_owned();
            requests += 1;
            if requests > MAX_SUBGRAPHS {
                missing.push(format!(
                    "Only the states of the first {MAX_SUBGRAPHS} waiting subgraphs were loaded."
                ));
                break;
            }
            match self.subgraph_state(thread, &place, room).await {
                Ok(nested) => {
                    room = room.saturating_sub(nested.get().len());
                    added.push(Some(nested));
                }
                Err(error) => {
                    added.push(None);
                    let host = text::clean(&error.at.host).into_owned();
                    missing.push(format!(
                        "Couldn't load the state of the subgraph {name} from {host}: {}.",
                        error.cause()
                    ));
                }
            }
        }
        let state = if added.iter().any(Option::is_some) {
            with_states(parsed, &tasks, &added)
        } else {
            None
        }
        .unwrap_or(state);
        NestedState { state, missing }
    }

    /// Returns the state of a subgraph that waits, with those of its own subgraphs.
    async fn subgraph_state(
        &self,
        thread: &str,
        place: &Value,
        max_bytes: usize,
    ) -> Result<Box<RawValue>, ApiError> {
        let body = json!({"checkpoint": place, "subgraphs": true});
        self.search_up_to(
            &["threads", thread, "state", "checkpoint"],
            &body,
            max_bytes,
        )
        .await?
        .json()
    }
}

/// Returns a state whose tasks have these states. All other values stay as received.
fn with_states<'a>(
    state: Fields<'a>,
    tasks: &[Peek<'a>],
    added: &[Option<Box<RawValue>>],
) -> Option<Box<RawValue>> {
    let of_task = |(at, task): (usize, &Peek<'a>)| {
        let nested = added.get(at).and_then(Option::as_deref).map(Peek::from);
        match nested.zip(task.object()) {
            Some((nested, task)) => task.with("state", nested).to_string(),
            None => task.text().to_string(),
        }
    };
    let tasks: Vec<String> = tasks.iter().enumerate().map(of_task).collect();
    let tasks = format!("[{}]", tasks.join(","));
    RawValue::from_string(state.with("tasks", Peek::of(&tasks)).to_string()).ok()
}
