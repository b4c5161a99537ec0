//! Helpers shared by the links to agent servers.

use crate::sse::read_ahead::{Batch, Feed, read_ahead};
use crate::transport::connection::{Connection, Replayed};
use crate::transport::modes::{RunStreamOptions, reopening_refused};
use futures::{StreamExt, stream};
use runtail_api::{AgentServer, ApiError, EventStream, Kind, Place, ServerKind};

/// The id that requests all events of a run's stream.
pub(crate) const FROM_THE_START: &str = "-1";
/// Run events that belong to no mode but are always needed.
pub(crate) const ALWAYS: [&str; 3] = ["metadata", "error", "end"];
/// Events that the Python server only sends if they are requested in addition to the modes.
const REQUESTED: [&str; 2] = ["metadata", "error"];

impl Connection {
    /// Creates a connection from the server's response.
    pub(crate) fn of(stream: EventStream, max_event: usize) -> Connection {
        let EventStream {
            status,
            run_id,
            thread_id,
            answered,
            body,
        } = stream;
        Connection {
            status,
            thread_id,
            run_id,
            answered,
            past: Replayed::Unknown,
            body: read_ahead(body, max_event),
        }
    }

    /// Sets what is known about earlier events of a joined run. By the contract a run's events are not kept.
    pub(crate) fn of_joined_run(self, kind: Option<ServerKind>) -> Connection {
        let past = if kind == Some(ServerKind::Other) {
            Replayed::IfRepeated
        } else {
            self.past
        };
        Connection { past, ..self }
    }

    /// Marks the connection as a full replay, although the source requested a start.
    pub(crate) fn replaying(self) -> Connection {
        let first = Batch {
            feed: vec![Feed::Replaying {
                answered: self.answered,
            }],
            bytes: 0,
        };
        Connection {
            body: stream::iter([Ok(first)]).chain(self.body).boxed(),
            ..self
        }
    }
}

/// Returns the modes to request from the server. The Python server sends only what is requested, so `metadata` and
/// `error` are added for it. Other servers may reject these names.
pub(crate) async fn requested_modes(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    modes: &[String],
) -> Result<Vec<String>, ApiError> {
    if modes.is_empty() || kind(server, known).await? != ServerKind::Python {
        return Ok(Vec::new());
    }
    Ok(modes
        .iter()
        .map(String::as_str)
        .chain(REQUESTED)
        .map(str::to_string)
        .collect())
}

/// Checks whether a run's stream may be opened again while it is open. The error says why not.
pub(crate) async fn may_reopen(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    terms: Option<&RunStreamOptions>,
) -> Result<(), String> {
    let kind = kind(server, known)
        .await
        .map_err(|e| format!("the kind of server could not be determined: {e}"))?;
    reopening_refused(kind, terms).map_or(Ok(()), |why| Err(why.to_string()))
}

pub(crate) fn refused(detail: &str) -> ApiError {
    ApiError {
        kind: Kind::Refused,
        at: Place::default(),
        detail: detail.into(),
        hint: None,
    }
}

/// Returns the kind of server, detected once.
pub(crate) async fn kind(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
) -> Result<ServerKind, ApiError> {
    match known {
        Some(kind) => Ok(*kind),
        None => Ok(*known.insert(server.info().await?.kind)),
    }
}

/// Returns whether an error means that the endpoint is missing rather than the object. A server without a known
/// `/info` may only offer the contract's endpoints, which don't include threads, runs or their lists.
pub async fn is_endpoint_missing(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    error: &ApiError,
) -> Result<bool, ApiError> {
    Ok(error.names_no_object() && kind(server, known).await? == ServerKind::Other)
}
