//! Crons of an agent server: runs that a schedule starts.

use crate::act::{Act, Approval, Sending};
use crate::commands::change::fields::filled;
use crate::consent::Yes;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::globals::Globals;
use crate::input;
use crate::output::{Output, cell, column, time};
use crate::resolve;
use clap::{Args, Subcommand, ValueEnum};
use runtail_api::ResourceIntent;
use serde_json::{Map, Value};

/// Commands for crons.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List crons, the next run first
    List(List),
    /// Show one cron
    Get(Get),
    /// Create a cron
    Create(Box<Create>),
    /// Change settings of a cron
    Update(Box<Update>),
    /// Pause a cron: it starts no runs until it is resumed
    Pause(Switch),
    /// Resume a paused cron
    Resume(Switch),
    /// Delete a cron
    Delete(Delete),
}

/// Options of `crons list`.
#[derive(Debug, Args)]
pub struct List {
    /// Maximum number
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Skip this many
    #[arg(long, default_value_t = 0)]
    offset: usize,
    #[command(flatten)]
    output: Output,
}

/// Options of `crons get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The cron's id
    #[arg(value_name = "C")]
    cron: String,
    #[command(flatten)]
    output: Output,
}

/// The settings that a new cron and an update have in common.
#[derive(Debug, Args)]
pub struct Settings {
    /// IANA time zone of the schedule, such as Europe/Berlin (default: UTC)
    #[arg(long, value_name = "ZONE", value_parser = filled)]
    timezone: Option<String>,
    /// The input of its runs; @FILE reads a file, - reads stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    input: Option<String>,
    /// The configuration of its runs
    #[arg(long, value_name = "JSON|@FILE|-")]
    run_config: Option<String>,
    /// The context of its runs
    #[arg(long, value_name = "JSON|@FILE|-")]
    context: Option<String>,
    /// The cron's metadata
    #[arg(long, value_name = "JSON|@FILE|-")]
    metadata: Option<String>,
    /// When it stops starting runs (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    end_time: Option<String>,
    /// What happens to the thread that a run was started on, if the cron has no thread of its own
    #[arg(long, value_name = "WHAT", value_enum)]
    on_run_completed: Option<OnCompleted>,
    /// URL that is called after each run
    #[arg(long, value_name = "URL", value_parser = filled)]
    webhook: Option<String>,
}

/// What happens to the thread of a run that has ended.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnCompleted {
    /// It is deleted
    Delete,
    /// It is kept
    Keep,
}

/// Options of `crons create`.
#[derive(Debug, Args)]
#[command(after_long_help = CREATE)]
pub struct Create {
    /// An assistant's id or name, or a graph's name
    #[arg(value_name = "A")]
    assistant: String,
    /// The schedule: minute, hour, day of month, month, day of week
    #[arg(long, value_name = "SCHEDULE", value_parser = filled)]
    schedule: String,
    /// The thread on which its runs start (default: a new thread for each run)
    #[arg(long, value_name = "T", value_parser = filled, conflicts_with = "on_run_completed")]
    thread: Option<String>,
    /// Create it paused
    #[arg(long)]
    paused: bool,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    sending: Sending,
}

const CREATE: &str = "\
Times are UTC unless --timezone is given. The server computes the next run (`next_run_date` in the result). Not every server offers crons: \
the JavaScript server and Aegra before 0.9.25 don't.

Exit codes: 0 created · 1 not offered, no such assistant or thread, or the server refused (a schedule that it doesn't accept) · 3 not \
allowed, or read-only · 5 the reply was lost.";

/// Options of `crons update`.
#[derive(Debug, Args)]
pub struct Update {
    /// The cron's id
    #[arg(value_name = "C")]
    cron: String,
    /// The schedule: minute, hour, day of month, month, day of week
    #[arg(long, value_name = "SCHEDULE", value_parser = filled)]
    schedule: Option<String>,
    /// Remove its end
    #[arg(long, conflicts_with = "end_time")]
    no_end_time: bool,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `crons pause` and `crons resume`.
#[derive(Debug, Args)]
pub struct Switch {
    /// The cron's id
    #[arg(value_name = "C")]
    cron: String,
    #[command(flatten)]
    sending: Sending,
}

/// Options of `crons delete`.
#[derive(Debug, Args)]
pub struct Delete {
    /// The cron's id
    #[arg(value_name = "C")]
    cron: String,
    #[command(flatten)]
    yes: Yes,
    #[command(flatten)]
    sending: Sending,
}

fn timestamp(text: &str) -> Result<String, String> {
    let parsed = text
        .parse::<jiff::Timestamp>()
        .map_err(|_| "expected a time such as 2027-01-01T00:00:00Z")?;
    Ok(parsed.to_string())
}

impl Settings {
    /// Returns the fields of the request.
    async fn fields(self) -> Result<Map<String, Value>, Failure> {
        let mut fields = Map::new();
        let texts = [
            ("timezone", self.timezone),
            ("end_time", self.end_time),
            ("webhook", self.webhook),
            (
                "on_run_completed",
                self.on_run_completed.map(|what| match what {
                    OnCompleted::Delete => "delete".to_string(),
                    OnCompleted::Keep => "keep".to_string(),
                }),
            ),
        ];
        fields.extend(
            texts
                .into_iter()
                .filter_map(|(name, text)| Some((name.to_string(), text?.into()))),
        );
        let documents = [
            ("--input", "input", self.input),
            ("--run-config", "config", self.run_config),
            ("--context", "context", self.context),
            ("--metadata", "metadata", self.metadata),
        ];
        for (option, name, text) in documents {
            if let Some(text) = text {
                fields.insert(name.into(), input::json(option, &text).await?);
            }
        }
        Ok(fields)
    }
}

pub(crate) async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    let (intent, sending, approval) = match command {
        Command::List(List {
            limit,
            offset,
            output,
        }) => {
            output.listing(&server.crons(limit, offset).await?, &columns())?;
            return Ok(Exit::Done);
        }
        Command::Get(Get { cron, output }) => {
            output.one(&server.cron(&cron).await?)?;
            return Ok(Exit::Done);
        }
        Command::Create(create) => {
            let Create {
                assistant,
                schedule,
                thread,
                paused,
                settings,
                sending,
            } = *create;
            let mut fields = settings.fields().await?;
            fields.insert(
                "assistant_id".into(),
                resolve::assistant_id(&server, &assistant).await?.into(),
            );
            fields.insert("schedule".into(), schedule.into());
            if paused {
                fields.insert("enabled".into(), false.into());
            }
            (
                ResourceIntent::CreateCron {
                    thread,
                    fields: fields.into(),
                },
                sending,
                Approval::NotNeeded,
            )
        }
        Command::Update(update) => {
            let Update {
                cron,
                schedule,
                no_end_time,
                settings,
                sending,
            } = *update;
            let mut fields = settings.fields().await?;
            fields.extend(schedule.map(|schedule| ("schedule".to_string(), schedule.into())));
            if no_end_time {
                fields.insert("end_time".into(), Value::Null);
            }
            if fields.is_empty() {
                return Err(Failure::usage(
                    "nothing to change: give at least one setting, such as --schedule",
                ));
            }
            (
                ResourceIntent::UpdateCron {
                    cron,
                    fields: fields.into(),
                },
                sending,
                Approval::NotNeeded,
            )
        }
        Command::Pause(Switch { cron, sending }) => (
            ResourceIntent::EnableCron {
                cron,
                enabled: false,
            },
            sending,
            Approval::NotNeeded,
        ),
        Command::Resume(Switch { cron, sending }) => (
            ResourceIntent::EnableCron {
                cron,
                enabled: true,
            },
            sending,
            Approval::NotNeeded,
        ),
        Command::Delete(Delete { cron, yes, sending }) => (
            ResourceIntent::DeleteCron { cron },
            sending,
            Approval::Yes(yes),
        ),
    };
    let act = Act {
        context: &context,
        site: &site,
        sending: &sending,
        approval,
    };
    act.resource(&server, &intent).await
}

fn columns() -> [crate::output::Column; 7] {
    [
        column("SCHEDULE", |row| cell(&row["schedule"])),
        column("TIME ZONE", |row| {
            row["timezone"].as_str().unwrap_or("UTC").to_string()
        }),
        column("NEXT RUN", |row| {
            if row["enabled"] == false {
                "-".into()
            } else {
                time(&row["next_run_date"])
            }
        }),
        column("STATUS", |row| {
            if row["enabled"] == false {
                "paused".into()
            } else {
                "enabled".into()
            }
        }),
        column("ASSISTANT", |row| cell(&row["assistant_id"])),
        column("THREAD", |row| cell(&row["thread_id"])),
        column("CRON", |row| cell(&row["cron_id"])),
    ]
}
