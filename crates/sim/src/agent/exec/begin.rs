//! How a run starts: with an input, or where another run stopped.

use super::level::Level;
use super::step::exception;
use crate::agent::prelude::*;

/// What a run does with its initial state.
#[derive(Debug, Clone)]
pub enum Begin {
    /// It merges an input and starts at the first nodes.
    Input(Value),
    Continue(Continue),
    /// It fails before the first step.
    Fail(Stop),
    /// It fails on its input, which is saved: the exception and its message.
    FailInput((String, String)),
}

/// How a run continues.
#[derive(Debug, Clone, Default)]
pub struct Continue {
    /// It saves a fork of the checkpoint first: the run was addressed to it by its id.
    pub fork: bool,
    /// It runs finished tasks again: the thread has moved past the checkpoint.
    pub rerun: bool,
    /// Answers that were stored for tasks are not used.
    pub forget: bool,
    /// Answers to questions.
    pub answers: Answers,
    /// An update of the state, before anything else.
    pub update: Value,
    /// Nodes that run in addition to the next ones.
    pub goto: Vec<String>,
}

/// Answers to questions.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Answers {
    #[default]
    None,
    /// One answer for whichever question is asked first.
    Bare(Value),
    /// By the id of the interrupt.
    ById(Object),
}

impl Answers {
    /// Reads the `resume` of a command. An object counts as a map of ids only if all its keys look like ids.
    pub fn read(resume: &Value) -> Self {
        let is_id =
            |key: &String| key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        match resume {
            Value::Null => Answers::None,
            Value::Object(map) if map.keys().all(is_id) => Answers::ById(map.clone()),
            bare => Answers::Bare(bare.clone()),
        }
    }

    /// The answers of a task: those that were stored for it, and the new one.
    pub(super) fn of(&self, task: &Task) -> Vec<Value> {
        let mut answers = task.answers.clone();
        if let Answers::ById(map) = self {
            let (next, first) = (
                Interrupt::id_of(&task.id, answers.len()),
                Interrupt::id_of(&task.id, 0),
            );
            answers.extend(map.get(&next).or_else(|| map.get(&first)).cloned());
        }
        answers
    }
}

/// Python's error for a command that finds nothing to continue.
pub const NO_INPUT: &str = "'NoneType' object is not iterable";

const AMBIGUOUS: &str = "When there are multiple pending interrupts, you must specify the interrupt id when resuming. \
                         Docs: https://docs.langchain.com/oss/python/langgraph/interrupts#handling-multiple-interrupts.";

impl Level<'_> {
    /// Applies the input, or continues. Afterwards the first tasks are known.
    pub(super) fn begin(&mut self, begin: &Begin, base: Option<Checkpoint>) -> Result<(), Stop> {
        match begin {
            Begin::Fail(stop) => Err(stop.clone()),
            Begin::FailInput(stop) => {
                self.step += 1;
                self.tasks = vec![Task::new("__start__")];
                self.save("input");
                self.report();
                Err(self.fail_input(&stop.0, &stop.1))
            }
            Begin::Input(input) => self.take_input(input),
            Begin::Continue(how) => match base {
                Some(base) => self.resume(how, base),
                None => Err(Stop::failed(
                    "EmptyInputError",
                    "Received no input for __start__",
                )),
            },
        }
    }

    fn take_input(&mut self, input: &Value) -> Result<(), Stop> {
        let mut burst = self.out.burst();
        if self.ns.is_empty() {
            let data = json!({"input": input});
            burst.chain_event("on_chain_start", self.graph.name(), &data, None);
        }
        self.step += 1;
        self.tasks = vec![Task {
            result: Some(input.clone()),
            ..Task::new("__start__")
        }];
        self.save("input");
        burst.send();
        self.report();
        if !input.is_object() {
            let shown = input
                .as_str()
                .map_or_else(|| input.to_string(), str::to_owned);
            let text = format!(
                "Expected dict, got {shown}\nFor troubleshooting, visit: \
                 https://docs.langchain.com/oss/python/langgraph/errors/INVALID_GRAPH_NODE_RETURN_VALUE"
            );
            return Err(self.fail_input("InvalidUpdateError", &text));
        }
        self.merge(input);
        self.step += 1;
        self.tasks = self.graph.start().into_iter().map(Task::new).collect();
        self.save("loop");
        if fields_of(input).next().is_some() {
            self.send_values();
        }
        Ok(())
    }

    /// Records that the input failed, and fails.
    fn fail_input(&mut self, error: &str, message: &str) -> Stop {
        let text = exception(error, message);
        self.change_task(0, |task| {
            task.result = None;
            task.error = Some(text.clone());
        });
        Stop::failed(error, message)
    }

    fn resume(&mut self, how: &Continue, base: Checkpoint) -> Result<(), Stop> {
        let failed = |task: &Task| task.name == "__start__" && task.result.is_none();
        if base.tasks.iter().any(failed) {
            // The input that failed fails again.
            return Err(Stop::failed("TypeError", NO_INPUT));
        }
        self.tasks = base.tasks_for(Some(self.graph)).cloned().collect();
        if let Answers::Bare(value) = &how.answers {
            if self.tasks.iter().filter_map(Task::pending).count() > 1 {
                return Err(Stop::failed("RuntimeError", AMBIGUOUS));
            }
            *locked(&self.bare) = Some(value.clone());
        }
        self.answers = how.answers.clone();
        if how.update.is_object() {
            self.merge(&how.update);
        }
        let known = self.graph.nodes();
        for node in how
            .goto
            .iter()
            .filter(|node| known.contains(&node.as_str()))
        {
            if self.tasks.iter().all(|task| task.name != *node) {
                self.tasks.push(Task {
                    added: true,
                    ..Task::new(node)
                });
            }
        }
        for task in &mut self.tasks {
            if how.rerun {
                task.result = None;
            }
            if how.forget {
                task.answers.clear();
            }
        }
        if how.fork {
            // A fork has tasks of its own, which ask again.
            let own = self.tasks.iter().map(|task| Task::new(&task.name));
            self.tasks = own.collect();
            self.step += 1;
            self.save("fork");
        } else if !how.rerun {
            self.store();
        }
        self.send_values();
        Ok(())
    }
}
