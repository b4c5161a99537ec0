//! Crons of an agent server: runs that a schedule starts.

use crate::fields::{Fields, Kind};
use crate::output::{List, time};
use crate::prelude::*;
use runtail_api::ResourceIntent;
use runtail_core::catalog::{CRON, Field};

/// Commands for crons.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List crons, the next run first
    #[command(mut_arg("limit", |limit| limit.default_value("100")))]
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

/// Options of `crons get`.
#[derive(Debug, Args)]
pub struct Get {
    /// The cron's id
    #[arg(value_name = "C")]
    cron: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone)]
struct Cron;

impl Kind for Cron {
    const FIELDS: &'static [Field] = CRON;
}

/// Options of `crons create`.
#[derive(Debug, Args)]
#[command(
    after_long_help = CREATE,
    mut_arg("thread", |thread| thread.conflicts_with("on-run-completed"))
)]
pub struct Create {
    /// An assistant's id or name, or a graph's name
    #[arg(value_name = "A")]
    assistant: String,
    #[command(flatten)]
    fields: Fields<Cron, true>,
    // Listed among the fields.
    /// Create it paused
    #[arg(long, display_order = 2)]
    paused: bool,
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
    #[command(flatten)]
    fields: Fields<Cron, false>,
    /// Remove its end
    #[arg(long, display_order = 1, conflicts_with = "end-time")]
    no_end_time: bool,
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

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let (site, server) = resolve::agent_server(&context).await?;
    let (intent, sending, approval) = match command {
        Command::List(List { paging, output }) => {
            let crons = server.crons(paging.limit, paging.offset).await?;
            output.listing(&crons, &columns())?;
            return Ok(Exit::Done);
        }
        Command::Get(Get { cron, output }) => {
            output.one(&server.cron(&cron).await?)?;
            return Ok(Exit::Done);
        }
        Command::Create(create) => {
            let Create {
                assistant,
                fields,
                paused,
                sending,
            } = *create;
            let mut fields = fields.document().await?.fields;
            let thread = fields.shift_remove("thread_id");
            let assistant = resolve::assistant_id(&server, &assistant).await?;
            fields.insert("assistant_id".into(), assistant.into());
            if paused {
                fields.insert("enabled".into(), false.into());
            }
            let intent = ResourceIntent::CreateCron {
                thread: thread.and_then(|thread| thread.as_str().map(str::to_string)),
                fields: fields.into(),
            };
            (intent, sending, Approval::NotNeeded)
        }
        Command::Update(update) => {
            let Update {
                cron,
                fields,
                no_end_time,
                sending,
            } = *update;
            let mut fields = fields.document().await?.fields;
            if no_end_time {
                fields.insert("end_time".into(), Value::Null);
            }
            if fields.is_empty() {
                return Err(Failure::usage(
                    "nothing to change: give at least one setting, such as --schedule",
                ));
            }
            let fields = fields.into();
            let intent = ResourceIntent::UpdateCron { cron, fields };
            (intent, sending, Approval::NotNeeded)
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
    act.run_resource_intent(&server, &intent).await
}

fn columns() -> [crate::output::Column; 7] {
    [
        field_column("SCHEDULE", "/schedule"),
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
        field_column("ASSISTANT", "/assistant_id"),
        field_column("THREAD", "/thread_id"),
        field_column("CRON", "/cron_id"),
    ]
}
