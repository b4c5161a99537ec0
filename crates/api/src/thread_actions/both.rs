//! The input of a run, sent again on new threads of two servers, so that their runs can be compared.

use super::plan::{assistant_of, omitted_note};
use crate::prelude::*;

impl AgentServer {
    /// Plans to send the input of a run of this server again, on a new thread of this server and of another one. Without a run,
    /// it is the thread's newest one with an input. Sends no write request.
    ///
    /// # Errors
    /// See [`PlanError`].
    #[boxed]
    pub async fn plan_on_both(
        &self,
        other: &AgentServer,
        thread: &str,
        run: Option<&str>,
    ) -> Result<Plan, PlanError> {
        let loaded = self.load_thread(thread).await?;
        let facts = match run {
            Some(run) => self.facts_of(thread, &loaded, run).await?,
            None => {
                let with_input = loaded
                    .runs
                    .iter()
                    .flatten()
                    .filter(|run| run.own_input().is_some());
                let newest = with_input.max_by_key(|run| run.created_at).cloned();
                newest.ok_or_else(|| {
                    unfit(
                        "The server's records show no run of this thread with an input of its own.",
                    )
                })?
            }
        };
        let own = match facts.assistant_id.as_str() {
            "" => assistant_of(&loaded)?.to_string(),
            own => own.to_string(),
        };
        let name = short_id(&facts.run_id);
        let Rerun { body, omitted } = Rerun::of(&facts, &own)
            .map_err(|why| unfit(format!("Run {name} can't run again: {why}.")))?;
        let Some(graph) = self.graph_of(&own).await? else {
            return refuse(format!(
                "The graph of assistant {} is unknown.",
                short_id(&own)
            ));
        };
        let there = other
            .assistant_with_graph(&graph, "")
            .await?
            .unwrap_or_else(|| graph.clone());
        let new_thread = || uuid::Uuid::new_v4().to_string();
        let here = self.run_on_new(&new_thread(), body.clone())?;
        let there = RunCreate {
            assistant_id: there,
            ..body
        };
        let there = other.run_on_new(&new_thread(), there)?;
        let graph = text::clean(&graph);
        let mut notes = vec![
            Note::fact(format!(
                "Sends the input of run {name} to {} and to {}, graph {graph}, each on a new thread.",
                self.base(),
                other.base()
            )),
            Note::warning(
                "Models and tools are called on both servers, so their external effects happen twice.",
            ),
            Note::fact(
                "The other server uses its own assistant of the graph, with the options of this run.",
            ),
        ];
        if loaded
            .runs
            .iter()
            .flatten()
            .any(|run| run.created_at < facts.created_at)
        {
            notes.push(Note::warning(format!(
                "The new threads are empty: the state that thread {} had before this run is not copied.",
                short_id(thread)
            )));
        }
        notes.extend(omitted_note(&omitted));
        let here = Draft {
            title: format!("Run the input of run {name} on two servers"),
            notes,
            ..here
        };
        Ok(here.plan().in_parallel_with(there.plan()))
    }
}
