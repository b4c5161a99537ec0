//! One super-step: its tasks run in parallel.

use super::Given;
use super::level::Level;
use crate::agent::prelude::*;
use std::future::poll_fn;
use std::task::Poll;

/// How a task ended: its index, its result, and whether it used an answer.
type Done = (usize, Result<Value, Stop>, bool);

/// Waits for the first of several futures and removes it. Earlier ones have priority.
async fn first_of(running: &mut Vec<BoxFuture<'_, Done>>) -> Option<Done> {
    poll_fn(|context| {
        if running.is_empty() {
            return Poll::Ready(None);
        }
        for at in 0..running.len() {
            if let Poll::Ready(done) = running[at].poll_unpin(context) {
                drop(running.remove(at));
                return Poll::Ready(Some(done));
            }
        }
        Poll::Pending
    })
    .await
}

/// An exception as the tasks of a state show it.
pub fn exception(error: &str, message: &str) -> String {
    // pydantic's own repr is its message.
    if error == "ValidationError" {
        return message.to_owned();
    }
    let double = message.contains('\'') && !message.contains('"');
    let mut text = message.replace('\\', "\\\\").replace('\n', "\\n");
    let quote = if double { '"' } else { '\'' };
    if !double {
        text = text.replace('\'', "\\'");
    }
    match message {
        "" => format!("{error}()"),
        _ => format!("{error}({quote}{text}{quote})"),
    }
}

impl<'a> Level<'a> {
    fn position(&self, task: &Task) -> Position {
        Position {
            ns: self.ns.clone(),
            node: task.name.clone(),
            task: task.id.clone(),
            step: self.step + 1,
        }
    }

    fn node(&self, task: &Task) -> Node<'a> {
        let mut parents = self.parents.clone();
        parents.insert(self.ns.join("|"), json!(self.checkpoint));
        Node {
            out: self.out,
            position: self.position(task),
            state: self.values.clone(),
            given: Mutex::new(Given {
                answers: self.answers.of(task),
                ..Given::default()
            }),
            bare: self.bare.clone(),
            checkpoint: self.checkpoint.clone().unwrap_or_default(),
            parents,
            play: self.play,
        }
    }

    /// Runs the tasks of the current checkpoint and returns them. Afterwards the next ones are planned and saved.
    pub(super) async fn run_step(&mut self) -> Result<Vec<Task>, Stop> {
        self.announce();
        let todo = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.result.is_none());
        let nodes: Vec<(usize, Node<'a>)> =
            todo.map(|(index, task)| (index, self.node(task))).collect();
        let (graph, play) = (self.graph, self.play);
        let mut running: Vec<BoxFuture<'_, Done>> = nodes
            .iter()
            .map(|(index, node)| {
                async move {
                    let result = play(graph, node).await;
                    (*index, result, node.used_an_answer())
                }
                .boxed()
            })
            .collect();
        let mut asked = None;
        while let Some((index, result, used)) = first_of(&mut running).await {
            match result {
                Ok(update) => self.finish_task(index, &update),
                Err(Stop::Asked(question)) => {
                    self.ask_task(index, &question);
                    asked.get_or_insert(question);
                }
                Err(Stop::Failed { error, message }) => {
                    // The other tasks of the step are cancelled.
                    drop(running);
                    self.fail_step(index, &error, &message, used);
                    return Err(Stop::Failed { error, message });
                }
                Err(Stop::Held) => return Err(Stop::Held),
            }
        }
        // An answer counts for the checkpoint that it was sent to. A question of a later step does not get it.
        *locked(&self.bare) = None;
        match asked {
            Some(question) => {
                self.stop_asking();
                Err(Stop::Asked(question))
            }
            None => Ok(self.finish_step()),
        }
    }

    /// Adds the events of the tasks that are about to run, and of those that another run finished.
    fn announce(&self) {
        let mut burst = self.out.burst();
        let input = json!(self.values);
        for task in &self.tasks {
            burst.task_starts(&self.position(task), &input);
        }
        for task in &self.tasks {
            if let Some(result) = &task.result {
                let cached = json!({&task.name: result, "__metadata__": {"cached": true}});
                burst.add("updates", &self.ns, &cached);
            }
        }
        burst.send();
    }

    /// Stores and sends the writes of a finished node.
    fn finish_task(&mut self, index: usize, update: &Value) {
        // The error of an earlier attempt is kept.
        self.change_task(index, |task| task.result = Some(update.clone()));
        let position = self.position(&self.tasks[index]);
        let (node, place) = (&position.node, Some(&position));
        let mut burst = self.out.burst();
        burst.whole_messages(&position, update);
        burst.add("updates", &self.ns, &json!({node: update}));
        burst.task_ends(&position, update, None, None);
        burst.chain_event("on_chain_stream", node, &json!({"chunk": update}), place);
        let data = json!({"output": update, "input": self.values});
        burst.chain_event("on_chain_end", node, &data, place);
        burst.send();
    }

    /// Stores and sends a question.
    fn ask_task(&mut self, index: usize, question: &Interrupt) {
        self.change_task(index, |task| task.raised = Some(question.clone()));
        let position = self.position(&self.tasks[index]);
        let mut burst = self.out.burst();
        burst.interrupted(&self.ns, &self.values, question);
        burst.task_ends(&position, &json!({}), None, Some(question));
        burst.send();
    }

    /// Stores and sends a failure, and the cancellation of the other unfinished tasks.
    fn fail_step(&mut self, failed: usize, error: &str, message: &str, used_an_answer: bool) {
        let mut burst = self.out.burst();
        for index in 0..self.tasks.len() {
            let (error, message) = match index == failed {
                true => (error, message),
                false if self.tasks[index].result.is_some() => continue,
                false => ("CancelledError", ""),
            };
            self.change_task(index, |task| task.error = Some(exception(error, message)));
            let position = self.position(&self.tasks[index]);
            if index == failed && used_an_answer {
                burst.add("updates", &self.ns, &json!({&position.node: null}));
            }
            burst.task_ends(&position, &json!({}), Some((error, message)), None);
        }
        burst.send();
    }

    /// Sends the state with the writes of finished tasks, because other tasks of the step ask questions.
    fn stop_asking(&mut self) {
        let mut values = self.values.clone();
        let written = self.tasks.iter().filter_map(|task| task.result.as_ref());
        let count = written
            .inspect(|update| self.graph.merge(&mut values, update))
            .count();
        if count > 0 {
            self.out
                .burst()
                .add("values", &self.ns, &json!(values))
                .send();
        }
    }

    /// Ends a super-step: merges the writes, plans the next tasks and saves them. Returns the tasks that ran.
    fn finish_step(&mut self) -> Vec<Task> {
        let mut ran = std::mem::take(&mut self.tasks);
        ran.sort_by(|a, b| a.name.cmp(&b.name));
        let mut wrote = false;
        for update in ran.iter().filter_map(|task| task.result.as_ref()) {
            wrote |= fields_of(update).next().is_some();
            self.merge(update);
        }
        self.step += 1;
        let names: Vec<&str> = ran.iter().map(|task| task.name.as_str()).collect();
        let next = self.graph.next(&names, &self.values);
        self.tasks = next.into_iter().map(Task::new).collect();
        self.save("loop");
        if wrote {
            self.send_values();
        }
        ran
    }
}
