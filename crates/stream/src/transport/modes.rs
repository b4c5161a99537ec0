//! Stream modes: their names, the events of each, and the modes that a run was started with.

use runtail_api::ServerKind;
use runtail_core::model::{Run, RunCreate};
use serde_json::Value;
use tokio::sync::watch;

/// The stream modes of runs, the most common ones first.
pub const RUN_MODES: [&str; 9] = [
    "messages-tuple",
    "updates",
    "values",
    "custom",
    "tasks",
    "checkpoints",
    "debug",
    "events",
    "messages",
];

/// The stream modes of threads.
pub const THREAD_MODES: [&str; 3] = ["run_modes", "lifecycle", "state_update"];

/// The stream options that a run was started with. They limit what any reader can receive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunStreamOptions {
    pub modes: Vec<String>,
    /// Whether events of subgraphs are sent.
    pub subgraphs: bool,
    /// Whether the server keeps the run's events for replay.
    pub resumable: bool,
}

impl RunStreamOptions {
    /// Reads the options from a run's record. Aegra's records don't contain them.
    pub fn of_run(run: &Run) -> Option<RunStreamOptions> {
        let kwargs = run.extra.get("kwargs")?;
        let modes: Vec<String> = match kwargs.get("stream_mode")? {
            Value::String(mode) => vec![mode.clone()],
            Value::Array(modes) => modes
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_string)
                .collect(),
            _ => return None,
        };
        let flag = |key: &str| kwargs.get(key).and_then(Value::as_bool);
        let subgraphs = flag("subgraphs")
            .or(flag("stream_subgraphs"))
            .unwrap_or(false);
        Some(RunStreamOptions {
            modes,
            subgraphs,
            resumable: is_resumable(run).unwrap_or(false),
        })
    }

    /// Returns the options of a run that is about to be created.
    pub fn of_request(body: &RunCreate) -> RunStreamOptions {
        RunStreamOptions {
            modes: body.stream_mode.clone(),
            subgraphs: body.stream_subgraphs,
            resumable: body.stream_resumable,
        }
    }
}

/// Returns whether the server keeps the run's events for replay, if its record has the flag.
pub(crate) fn is_resumable(run: &Run) -> Option<bool> {
    let kwargs = run.extra.get("kwargs")?;
    ["resumable", "stream_resumable"]
        .iter()
        .find_map(|key| kwargs.get(key)?.as_bool())
}

/// Returns why a run's stream must not be opened a second time for other modes, if so. On some servers each event goes
/// to a single reader, and JavaScript servers ignore the requested modes.
pub fn reopening_refused(
    kind: ServerKind,
    terms: Option<&RunStreamOptions>,
) -> Option<&'static str> {
    match kind {
        ServerKind::EarlyAegra => Some(
            "on Aegra before 0.9.25 each event of a run goes to one reader only: reconnecting with other modes would lose \
             events",
        ),
        ServerKind::Aegra => Some("Aegra always sends all modes that the run was started with"),
        ServerKind::JavaScript if terms.is_some_and(|terms| !terms.resumable) => Some(
            "the run is not resumable, and on a JavaScript server a second reader takes its events away from the first",
        ),
        ServerKind::JavaScript => {
            Some("JavaScript servers always send all modes that the run was started with")
        }
        ServerKind::Python | ServerKind::Other => None,
    }
}

/// Returns whether a run's stream with these modes contains events with this name (without a namespace). No modes means
/// all.
pub(crate) fn run_gives(modes: &[String], name: &str) -> bool {
    // Each of the two message modes includes the events of both.
    let is_message = name.split('/').next() == Some("messages");
    modes.is_empty()
        || modes
            .iter()
            .any(|mode| mode == name || is_message && mode.starts_with("messages"))
}

/// Returns whether a thread's stream with these modes contains events with this name.
pub(crate) fn thread_gives(modes: &[String], name: &str) -> bool {
    let has = |wanted: &str| modes.iter().any(|mode| mode == wanted);
    match name {
        "state_update" => has("state_update"),
        "metadata" => modes.is_empty() || has("run_modes") || has("lifecycle"),
        _ => modes.is_empty() || has("run_modes"),
    }
}

/// Completes when other modes are requested, and keeps completing until they are applied.
pub(crate) async fn other_modes(modes: Option<watch::Receiver<Vec<String>>>) {
    if let Some(mut modes) = modes
        && modes.changed().await.is_ok()
    {
        return;
    }
    // Without a sender, the modes never change again.
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_each_mode() {
        let modes = |names: &[&str]| {
            names
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>()
        };
        assert!(run_gives(&[], "anything"));
        assert!(run_gives(&modes(&["messages-tuple"]), "messages"));
        assert!(run_gives(&modes(&["messages"]), "messages/partial"));
        assert!(
            !run_gives(&modes(&["values"]), "messages")
                && !run_gives(&modes(&["values"]), "metadata")
        );
        assert!(thread_gives(&[], "values") && !thread_gives(&[], "state_update"));
        assert!(
            thread_gives(&modes(&["lifecycle"]), "metadata")
                && !thread_gives(&modes(&["lifecycle"]), "values")
        );
        assert!(thread_gives(&modes(&["state_update"]), "state_update"));
    }

    #[test]
    fn run_terms_are_read_from_the_record() {
        let run = |text| serde_json::from_str::<Run>(text).unwrap();
        let recorded = run(
            r#"{"run_id":"r","kwargs":{"stream_mode":["values","custom"],"subgraphs":true,"resumable":true}}"#,
        );
        let terms = RunStreamOptions {
            modes: vec!["values".into(), "custom".into()],
            subgraphs: true,
            resumable: true,
        };
        assert_eq!(RunStreamOptions::of_run(&recorded), Some(terms));
        assert_eq!(
            RunStreamOptions::of_run(&run(r#"{"run_id":"r","kwargs":{"stream_mode":"values"}}"#))
                .unwrap()
                .modes,
            ["values"]
        );
        assert_eq!(RunStreamOptions::of_run(&run(r#"{"run_id":"r"}"#)), None);
        assert_eq!(
            RunStreamOptions::of_run(&run(r#"{"run_id":"r","kwargs":{"stream_mode":7}}"#)),
            None
        );
    }

    #[test]
    fn reopening_is_refused_if_a_second_reader_loses_events() {
        let kept = RunStreamOptions {
            resumable: true,
            ..RunStreamOptions::default()
        };
        for kind in [ServerKind::Python, ServerKind::Other] {
            assert_eq!(reopening_refused(kind, None), None);
        }
        for terms in [None, Some(&kept), Some(&RunStreamOptions::default())] {
            assert!(reopening_refused(ServerKind::Aegra, terms).is_some());
            assert!(reopening_refused(ServerKind::EarlyAegra, terms).is_some());
            assert!(reopening_refused(ServerKind::JavaScript, terms).is_some());
        }
    }
}
