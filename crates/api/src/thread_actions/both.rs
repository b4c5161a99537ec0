//! The input of a run, sent again on new threads of two servers, so that their runs can be compared.

use super::plan::{assistant_of, omitted_note};
use super::{RunStart, StartError, Started, unfit};
use crate::{AgentServer, PlanError};
use runtail_core::model::{Note, Preview, Rerun, RunCreate};
use runtail_core::text::{self, short_id};

/// A run on each of two servers.
#[derive(Clone)]
pub struct BothPlan {
    /// The preview: two requests to each server, those to the thread's own server first.
    pub preview: Preview,
    /// The new threads, in the same order.
    pub threads: [String; 2],
    starts: [Box<RunStart>; 2],
}

impl AgentServer {
    /// Plans to send the input of a run of this server again, on a new thread of this server and of another one. Without a run,
    /// it is the thread's newest one with an input. Sends no write request.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub async fn plan_on_both(
        &self,
        other: &AgentServer,
        thread: &str,
        run: Option<&str>,
    ) -> Result<BothPlan, PlanError> {
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
            return Err(unfit(format!(
                "The graph of assistant {} is unknown.",
                short_id(&own)
            )));
        };
        let there = other
            .assistant_with_graph(&graph, "")
            .await?
            .unwrap_or_else(|| graph.clone());
        let threads = [
            uuid::Uuid::new_v4().to_string(),
            uuid::Uuid::new_v4().to_string(),
        ];
        let (preview, here) = self.run_on_new(&threads[0], body.clone())?;
        let (second, there) = other.run_on_new(
            &threads[1],
            RunCreate {
                assistant_id: there,
                ..body
            },
        )?;

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
        let then = preview
            .then
            .iter()
            .chain(second.requests())
            .cloned()
            .collect();
        let title = format!("Run the input of run {name} on two servers");
        Ok(BothPlan {
            preview: Preview {
                title,
                then,
                notes,
                ..preview
            },
            threads,
            starts: [here, there],
        })
    }

    /// Starts both runs, each once. Returns the results in the order of the plan.
    pub async fn start_on_both(
        &self,
        other: &AgentServer,
        plan: &BothPlan,
    ) -> [Result<Started, StartError>; 2] {
        let (here, there) = tokio::join!(
            self.create_and_start(&plan.starts[0]),
            other.create_and_start(&plan.starts[1])
        );
        [here, there]
    }
}
