//! What the links to a real agent server share.

use crate::sse::read_ahead::{Batch, Feed, read_ahead};
use crate::transport::link::{Opened, Past};
use crate::transport::modes::{RunTerms, reopening_refused};
use futures::{StreamExt, stream};
use runtail_api::{AgentServer, ApiError, EventStream, Kind, Place, ServerKind};

/// The id that asks a run's stream for everything.
pub(crate) const FROM_THE_START: &str = "-1";
/// Events of a run that belong to no mode and are always wanted.
pub(crate) const ALWAYS: [&str; 3] = ["metadata", "error", "end"];
/// Those that the Python server sends only if they are requested beside the modes.
const REQUESTED: [&str; 2] = ["metadata", "error"];

impl Opened {
    /// A connection that a server has answered.
    pub(crate) fn of(stream: EventStream, max_event: usize) -> Opened {
        let EventStream { status, run_id, thread_id, answered, body } = stream;
        Opened { status, thread_id, run_id, answered, past: Past::Unknown, body: read_ahead(body, max_event) }
    }

    /// The same where everything was requested from the past, although the source requested a start.
    pub(crate) fn replaying(self) -> Opened {
        let first = Batch { feed: vec![Feed::Replaying { answered: self.answered }], bytes: 0 };
        Opened { body: stream::iter([Ok(first)]).chain(self.body).boxed(), ..self }
    }
}

/// The modes to request from the server. Only the Python server filters; a filter lets through only what it names, so the
/// run's beginning, a new attempt and its error are requested too. Other servers may reject these names.
pub(crate) async fn requested_modes(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    modes: &[String],
) -> Result<Vec<String>, ApiError> {
    if modes.is_empty() || kind(server, known).await? != ServerKind::Python {
        return Ok(Vec::new());
    }
    Ok(modes.iter().map(String::as_str).chain(REQUESTED).map(str::to_string).collect())
}

/// Whether a run's stream may be opened once more while it is open. The error says why not.
pub(crate) async fn may_reopen(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    terms: Option<&RunTerms>,
) -> Result<(), String> {
    let kind = kind(server, known).await.map_err(|e| format!("the kind of server could not be determined: {e}"))?;
    reopening_refused(kind, terms).map_or(Ok(()), |why| Err(why.to_string()))
}

pub(crate) fn refused(detail: &str) -> ApiError {
    ApiError { kind: Kind::Refused, at: Place::default(), detail: detail.into(), hint: None }
}

/// Which software answers; asked once.
pub(crate) async fn kind(server: &AgentServer, known: &mut Option<ServerKind>) -> Result<ServerKind, ApiError> {
    match known {
        Some(kind) => Ok(*kind),
        None => Ok(*known.insert(server.info().await?.kind)),
    }
}

/// Whether an error means that the server has no such call, rather than no such thing: a server without `/info` may offer
/// no more than the contract names, which has no call for a thread, a run or their lists.
pub async fn lacks_call(
    server: &AgentServer,
    known: &mut Option<ServerKind>,
    error: &ApiError,
) -> Result<bool, ApiError> {
    Ok(error.may_lack_call() && kind(server, known).await? == ServerKind::Other)
}
