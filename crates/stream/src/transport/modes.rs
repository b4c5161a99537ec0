//! The modes of a stream: which there are, which events each lets through, and what a run was started with.

use runtail_api::ServerKind;
use runtail_core::model::{Run, RunCreate};
use serde_json::Value;
use tokio::sync::watch;

/// What a run can be asked to send (agent-server reference §3), those that most people want first.
pub const RUN_MODES: [&str; 9] =
    ["messages-tuple", "updates", "values", "custom", "tasks", "checkpoints", "debug", "events", "messages"];

/// What the stream of a thread can be asked to send (§4).
pub const THREAD_MODES: [&str; 3] = ["run_modes", "lifecycle", "state_update"];

/// What a run was started with: its streams give nothing else, whoever asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunTerms {
    /// The stream modes.
    pub modes: Vec<String>,
    /// Whether events of subgraphs are sent.
    pub subgraphs: bool,
    /// Whether its events are kept for who comes again.
    pub resumable: bool,
}

impl RunTerms {
    /// Those of a run on its server, where it tells them (Aegra does not).
    pub fn of_run(run: &Run) -> Option<RunTerms> {
        let kwargs = run.extra.get("kwargs")?;
        let modes: Vec<String> = match kwargs.get("stream_mode")? {
            Value::String(one) => vec![one.clone()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).map(str::to_string).collect(),
            _ => return None,
        };
        let is = |key: &str| kwargs.get(key).and_then(Value::as_bool);
        let subgraphs = is("subgraphs").or(is("stream_subgraphs")).unwrap_or(false);
        Some(RunTerms { modes, subgraphs, resumable: is_resumable(run).unwrap_or(false) })
    }

    /// Those of a run that is asked for.
    pub fn of_request(body: &RunCreate) -> RunTerms {
        RunTerms { modes: body.stream_mode.clone(), subgraphs: body.stream_subgraphs, resumable: body.stream_resumable }
    }
}

/// Whether the server keeps the events of a run so that they can be replayed, where its record tells.
pub(crate) fn is_resumable(run: &Run) -> Option<bool> {
    let kwargs = run.extra.get("kwargs")?;
    ["resumable", "stream_resumable"].iter().find_map(|key| kwargs.get(key)?.as_bool())
}

/// Why a run's stream must not be opened a second time for other modes, where it must not: on some servers each event
/// goes to one reader only, and on one the choice means nothing (§4).
pub fn reopening_refused(kind: ServerKind, terms: Option<&RunTerms>) -> Option<&'static str> {
    match kind {
        ServerKind::Aegra => Some(
            "on Aegra each event of a run goes to one reader only: opening the stream again for other modes would lose \
             events",
        ),
        ServerKind::JavaScript if terms.is_some_and(|terms| !terms.resumable) => Some(
            "the run is not resumable, and on a JavaScript server a second reader takes its events away from the first",
        ),
        ServerKind::JavaScript => {
            Some("a JavaScript server sends all modes that the run was started with, whatever a reader asks for")
        }
        ServerKind::Python | ServerKind::Other => None,
    }
}

/// Whether the stream of a run that was asked for these modes gives events of this name (without a namespace). No modes
/// means all.
pub(crate) fn run_gives(modes: &[String], name: &str) -> bool {
    // Either mode of messages lets the events of both through.
    let is_message = name.split('/').next() == Some("messages");
    modes.is_empty() || modes.iter().any(|mode| mode == name || is_message && mode.starts_with("messages"))
}

/// The same for the stream of a thread.
pub(crate) fn thread_gives(modes: &[String], name: &str) -> bool {
    let has = |wanted: &str| modes.iter().any(|mode| mode == wanted);
    match name {
        "state_update" => has("state_update"),
        "metadata" => modes.is_empty() || has("run_modes") || has("lifecycle"),
        _ => modes.is_empty() || has("run_modes"),
    }
}

/// Ends when other modes are wanted, and says so again until they are taken.
pub(crate) async fn other_modes(modes: Option<watch::Receiver<Vec<String>>>) {
    // Who no longer wants anything is gone: what was wanted last stays.
    if let Some(mut modes) = modes
        && modes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_events_a_mode_lets_through() {
        let modes = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert!(run_gives(&[], "anything"));
        assert!(run_gives(&modes(&["messages-tuple"]), "messages"));
        assert!(run_gives(&modes(&["messages"]), "messages/partial"));
        assert!(!run_gives(&modes(&["values"]), "messages") && !run_gives(&modes(&["values"]), "metadata"));
        assert!(thread_gives(&[], "values") && !thread_gives(&[], "state_update"));
        assert!(thread_gives(&modes(&["lifecycle"]), "metadata") && !thread_gives(&modes(&["lifecycle"]), "values"));
        assert!(thread_gives(&modes(&["state_update"]), "state_update"));
    }

    #[test]
    fn what_a_run_was_started_with_is_read_where_it_is_told() {
        let run = |text| serde_json::from_str::<Run>(text).unwrap();
        let told =
            run(r#"{"run_id":"r","kwargs":{"stream_mode":["values","custom"],"subgraphs":true,"resumable":true}}"#);
        let terms = RunTerms { modes: vec!["values".into(), "custom".into()], subgraphs: true, resumable: true };
        assert_eq!(RunTerms::of_run(&told), Some(terms));
        assert_eq!(
            RunTerms::of_run(&run(r#"{"run_id":"r","kwargs":{"stream_mode":"values"}}"#)).unwrap().modes,
            ["values"]
        );
        assert_eq!(RunTerms::of_run(&run(r#"{"run_id":"r"}"#)), None);
        assert_eq!(RunTerms::of_run(&run(r#"{"run_id":"r","kwargs":{"stream_mode":7}}"#)), None);
    }

    #[test]
    fn where_a_second_reader_does_harm_there_is_none() {
        let kept = RunTerms { resumable: true, ..RunTerms::default() };
        for kind in [ServerKind::Python, ServerKind::Other] {
            assert_eq!(reopening_refused(kind, None), None);
        }
        for terms in [None, Some(&kept), Some(&RunTerms::default())] {
            assert!(reopening_refused(ServerKind::Aegra, terms).is_some());
            assert!(reopening_refused(ServerKind::JavaScript, terms).is_some());
        }
    }
}
