//! Finds a run whose start got no response. The start is sent only once: its run is recognized by our mark in its metadata, or,
//! where run records have no metadata (Aegra), by comparing the thread's runs with those before the start.

use crate::prelude::*;
use runtail_core::model::Run;

/// The key of the mark in a run's metadata.
pub const MARK: &str = "runtail";
/// Number of newest runs to search for the started one, and number of runs to remember before the start.
const RUNS_SEARCHED: usize = 20;
const RUNS_REMEMBERED: usize = 100;
/// Number of assistants to search for a run's assistant.
const ASSISTANTS: usize = 100;

/// The result of searching for a run.
#[derive(Debug)]
pub enum FoundStart {
    Run(Box<Run>),
    /// No run can be the started one.
    None,
    /// There are new runs, but none is certainly the started one.
    Ambiguous,
}

/// Adds the mark by which a run is found again to its request, unless it has one: a preview shows it.
pub fn mark_start(mut body: RunCreate) -> RunCreate {
    if mark_of(&body).is_none() {
        let mark = json!(uuid::Uuid::new_v4().to_string());
        match &mut body.metadata {
            Some(Value::Object(metadata)) => drop(metadata.insert(MARK.into(), mark)),
            other => *other = Some(json!({ MARK: mark })),
        }
    }
    body
}

fn mark_of(body: &RunCreate) -> Option<&str> {
    body.metadata.as_ref()?.get(MARK)?.as_str()
}

impl AgentServer {
    /// Returns the thread's runs before a start, if a lost one can only be found by comparing them.
    #[boxed]
    pub async fn runs_before_start(
        &self,
        thread: &str,
        kind: ServerKind,
    ) -> Option<HashSet<String>> {
        if !kind.is_aegra() && kind != ServerKind::Other {
            return None;
        }
        let runs = self.runs(thread, RUNS_REMEMBERED).await.ok()?;
        Some(runs.items.into_iter().map(|run| run.run_id).collect())
    }

    /// Searches the thread's newest runs for the one that was started with `body`.
    ///
    /// # Errors
    /// The runs or the assistants can't be listed.
    #[boxed]
    pub async fn find_start(
        &self,
        thread: &str,
        body: &RunCreate,
        before: Option<&HashSet<String>>,
    ) -> Result<FoundStart, ApiError> {
        let mut runs = self.runs(thread, RUNS_SEARCHED).await?.items;
        let mark = mark_of(body);
        let is_marked = |run: &Run| {
            mark.is_some()
                && run
                    .metadata
                    .as_ref()
                    .is_some_and(|m| m[MARK].as_str() == mark)
        };
        if let Some(at) = runs.iter().position(is_marked) {
            return Ok(FoundStart::Run(Box::new(runs.swap_remove(at))));
        }
        if runs.is_empty() || runs.iter().any(|run| run.metadata.is_some()) {
            return Ok(FoundStart::None);
        }
        let Some(before) = before else {
            return Ok(FoundStart::Ambiguous);
        };
        let has_input = |run: &Run| {
            body.input.is_none()
                || run
                    .extra
                    .get("input")
                    .is_none_or(|i| Some(i) == body.input.as_ref())
        };
        runs.retain(|run| !before.contains(&run.run_id) && has_input(run));
        match (runs.pop(), runs.is_empty()) {
            (None, _) => Ok(FoundStart::None),
            (Some(run), true)
                if self
                    .is_assistant(&run.assistant_id, &body.assistant_id)
                    .await? =>
            {
                Ok(FoundStart::Run(Box::new(run)))
            }
            _ => Ok(FoundStart::Ambiguous),
        }
    }

    /// Returns whether an assistant's id belongs to the requested assistant, which may be given by id or name.
    async fn is_assistant(&self, id: &str, requested: &str) -> Result<bool, ApiError> {
        if id == requested {
            return Ok(true);
        }
        let all = self.assistants(ASSISTANTS, 0).await?;
        let is_it = |name: &str| name == requested;
        Ok(all.items.iter().any(|a| {
            a.assistant_id == id && (is_it(&a.graph_id) || a.name.as_deref().is_some_and(is_it))
        }))
    }
}
