//! The options of a run that `run` shares with the dashboard's composer: strategy, breakpoints, limits, context.

use crate::commands::wait;
use crate::fields::one_of;
use crate::prelude::*;
use runtail_core::model::{
    Conflict, Durability, OptionProblem, RunOption, RunOptions, graph_nodes,
};

/// Options of a new run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Run options")]
pub struct RunFlags {
    /// What to do if another run is active on the thread (default: the server's)
    #[arg(
        long,
        value_name = "STRATEGY",
        value_parser = one_of(Conflict::ALL, Conflict::word, ON_CONFLICT),
        requires = "thread",
        conflicts_with = "resume"
    )]
    on_conflict: Option<Conflict>,
    /// Stop before this node, * for all (repeatable)
    #[arg(long, value_name = "NODE", value_delimiter = ',')]
    break_before: Vec<String>,
    /// Stop after this node, * for all (repeatable)
    #[arg(long, value_name = "NODE", value_delimiter = ',')]
    break_after: Vec<String>,
    /// The number of steps that the run may take
    #[arg(long, value_name = "N")]
    recursion_limit: Option<u64>,
    /// Start the run after this time
    #[arg(long, value_name = "DURATION", value_parser = wait::duration)]
    delay: Option<Duration>,
    /// When checkpoints are saved
    #[arg(long, value_name = "WHEN", value_parser = one_of(Durability::ALL, Durability::word, SAVED))]
    durability: Option<Durability>,
    /// The context of the graph; @FILE and - as for --input
    #[arg(long, value_name = "JSON")]
    context: Option<String>,
    /// The run's configuration: configurable, tags, recursion_limit; @FILE and - as for --input
    #[arg(long, value_name = "JSON")]
    config_json: Option<String>,
    /// Metadata that is kept with the run; @FILE and - as for --input
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// The address that the server calls after the run
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    #[command(flatten)]
    pub yes: Yes,
}

const ON_CONFLICT: [&str; 4] = [
    "The server refuses this run",
    "This run waits behind the active run and its queue",
    "Cancels the active run and everything queued; finished steps are kept",
    "Deletes the active run, everything queued, and their checkpoints",
];
const SAVED: [&str; 3] = [
    "Before the next step starts",
    "While the next step runs",
    "Only when the run ends",
];

impl RunFlags {
    /// Reads the options of a run, without any request.
    pub async fn read(&self, modes: Vec<String>, subgraphs: bool) -> Result<RunOptions, Failure> {
        let trimmed = |names: &[String]| names.iter().map(|name| name.trim().to_string()).collect();
        let mut options = RunOptions {
            modes,
            subgraphs,
            conflict: self.on_conflict,
            before: trimmed(&self.break_before),
            after: trimmed(&self.break_after),
            recursion_limit: self.recursion_limit,
            delay: self.delay.map(|delay| delay.as_secs()),
            durability: self.durability,
            webhook: self.webhook.clone(),
            ..RunOptions::default()
        };
        for (name, given, value) in [
            ("--context", &self.context, &mut options.context),
            ("--config-json", &self.config_json, &mut options.config),
            ("--metadata", &self.metadata, &mut options.metadata),
        ] {
            if let Some(given) = given {
                *value = Some(input::json(name, given).await?);
            }
        }
        refuse(&options.problems(None))?;
        Ok(options)
    }
}

/// Checks the names of nodes. Servers accept unknown ones without a word.
pub async fn check_nodes(
    server: &AgentServer,
    assistant: &str,
    options: &RunOptions,
) -> Result<(), Failure> {
    if options.before.is_empty() && options.after.is_empty() {
        return Ok(());
    }
    if server.info().await?.kind.ignores_breakpoints() {
        refuse(
            &options
                .ignored_breakpoints()
                .into_iter()
                .collect::<Vec<_>>(),
        )?;
    }
    let id = resolve::assistant_id(server, assistant).await?;
    let nodes = match server.assistant_graph(&id, false).await {
        Ok(graph) => graph_nodes(&graph),
        Err(error) if error.is_refusal() => None,
        Err(error) => return Err(error.into()),
    };
    if nodes.is_none() {
        complain(
            "warning: the server doesn't describe the graph, so the names of nodes are not checked",
        );
    }
    refuse(&options.problems(nodes.as_deref()))
}

fn refuse(problems: &[OptionProblem]) -> Result<(), Failure> {
    let Some(problem) = problems.first() else {
        return Ok(());
    };
    let option = match problem.option {
        RunOption::Modes => "--mode",
        RunOption::Conflict => "--on-conflict",
        RunOption::Before => "--break-before",
        RunOption::After => "--break-after",
        RunOption::RecursionLimit => "--recursion-limit",
        RunOption::Delay => "--delay",
        RunOption::Durability => "--durability",
        RunOption::Context => "--context",
        RunOption::Config => "--config-json",
        RunOption::Metadata => "--metadata",
        RunOption::Webhook => "--webhook",
    };
    Err(Failure::usage(format!(
        "{option}: {}; nothing was sent",
        text::clean(&problem.rule)
    )))
}
