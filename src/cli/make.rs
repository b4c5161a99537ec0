//! Making a change from the command line: planned, shown with `--dry-run`, agreed to with `--confirm`, sent once.

use super::output::{Format, Output, complain, placed, print};
use super::{Context, Exit, Failure, Site};
use crate::api::{ControlPlane, PlanError};
use crate::config::Profile;
use crate::model::{Consent, Intent, NewRevision, Preview};
use crate::text;
use clap::Args;
use serde_json::{Value, json};

/// The options that every change has.
#[derive(Debug, Clone, Default, Args)]
pub struct Making {
    /// Only print what would be sent, without secrets, and what that does
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// The option of changes that take something away.
#[derive(Debug, Clone, Default, Args)]
pub struct Confirm {
    /// The exact name of what goes, without which nothing is sent; --dry-run shows it
    #[arg(long, value_name = "NAME")]
    pub confirm: Option<String>,
}

/// Makes a change, or shows it. What the server answers is the data.
pub(super) async fn make(
    context: &Context,
    (site, control): (&Site, &ControlPlane),
    intent: &Intent,
    making: &Making,
    confirm: Option<&str>,
) -> Result<Exit, Failure> {
    if !making.dry_run {
        context.check_write(&site.profile)?;
    }
    let plan = match control.plan(intent).await {
        Ok(plan) => plan,
        Err(PlanError::Nothing(why)) => {
            complain(&format!("nothing to do: {why}"));
            return Ok(Exit::Done);
        }
        Err(error) => return Err(refused(error)),
    };
    if making.dry_run {
        show(&site.profile, &plan.preview, &making.output)?;
        return Ok(Exit::Done);
    }
    if let Consent::Name(name) = &plan.preview.consent
        && confirm != Some(name)
    {
        let why = match confirm {
            None => "it has to be confirmed",
            Some(_) => "--confirm names something else",
        };
        let title = text::clean(&plan.preview.title).into_owned();
        return Err(Failure::usage(format!("{title}: {why}, and nothing was sent\n  give --confirm '{name}'")));
    }
    for note in plan.preview.notes.iter().filter(|note| note.warns) {
        complain(&format!("note: {}", note.text));
    }
    let made = control.carry_out(&plan).await?;
    complain(&format!("done: {}", plan.preview.title));
    if let Some(doubt) = made.doubt {
        complain(&format!("note: {doubt}"));
    }
    if !made.record.is_null() {
        making.output.one(&placed(&site.profile, made.record))?;
    }
    Ok(Exit::Done)
}

fn refused(error: PlanError) -> Failure {
    match error {
        PlanError::Asked(error) => error.into(),
        PlanError::Wrong(_) => Failure::usage(error.to_string()),
        PlanError::Unfit(_) | PlanError::Nothing(_) => Failure::new(Exit::Failed, error.to_string()),
    }
}

/// Prints a preview: as text for people, else as one object.
fn show(profile: &Profile, preview: &Preview, output: &Output) -> Result<(), Failure> {
    match output.format() {
        Format::Table => print(&words(preview), false),
        Format::Json | Format::Jsonl => output.one(&object(profile, preview)),
    }
}

fn object(profile: &Profile, preview: &Preview) -> Value {
    let request = &preview.request;
    let revision = match &preview.revision {
        NewRevision::NotAsked => Value::Null,
        other => json!(other),
    };
    json!({
        "profile": profile.name, "region": profile.region, "title": preview.title, "target": preview.target,
        "request": {"method": request.method, "url": request.url, "body": request.body},
        "changes": preview.changes, "revision": revision, "notes": preview.notes, "consent": preview.consent,
    })
}

fn words(preview: &Preview) -> String {
    let mut lines = vec![format!("{} (with {}; nothing was sent)", preview.title, preview.profile)];
    lines.extend(Some(preview.revision.sentence()).filter(|sentence| !sentence.is_empty()));
    lines.extend(preview.notes.iter().map(|note| format!("{} {}", if note.warns { "!" } else { "-" }, note.text)));
    if !preview.changes.is_empty() {
        lines.push("what differs from today:".into());
        lines.extend(preview.changes.iter().map(|change| format!("  {}", change.line())));
    }
    lines.push("what would be sent:".into());
    lines.push(format!("  {} {}", preview.request.method, preview.request.url));
    if let Some(body) = &preview.request.body {
        lines.extend(format!("{body:#}").lines().map(|line| format!("  {line}")));
    }
    if let Consent::Name(name) = &preview.consent {
        lines.push(format!("to be confirmed with: --confirm '{name}'"));
    }
    format!("{}\n", text::clean_lines(&lines.join("\n")))
}
