//! `config import`: the profiles of the official tools.

use crate::commands::config::Import as Options;
use crate::consent;
use crate::prelude::*;
use runtail_core::config::import::{Import, Imported, Places, Skipped, short};
use runtail_core::config::{DiffLine, Draft};
use runtail_tui::runtime::blocking;

pub async fn run(file: PathBuf, options: Options) -> Result<(), Failure> {
    let (target, names) = (file.clone(), options.names.clone());
    let (found, draft) = blocking(move || Import::draft(&Places::usual(), &target, &names)).await?;
    let is_table = options.output.format() == Format::Table;
    for skipped in &found.skipped {
        output::complain(format!("not added: {skipped}"));
    }
    let Some(draft) = draft else {
        output::complain(found.nothing());
        return if is_table {
            Ok(())
        } else {
            print(&options, &found, "added")
        };
    };
    if is_table {
        print(&options, &found, "new")?;
    }
    for to_do in found
        .profiles
        .iter()
        .filter_map(|one| Some((&one.profile.name, one.to_do.as_ref()?)))
    {
        output::complain(format!("{}: {}", to_do.0, to_do.1));
    }
    for line in changes(&draft) {
        output::complain(&line);
    }
    let count = found.profiles.len();
    if options.dry_run {
        output::complain("Nothing was written (--dry-run).");
        return if is_table {
            Ok(())
        } else {
            print(&options, &found, "new")
        };
    }
    let what = format!(
        "Add {} to {}",
        text::counted(count, "profile"),
        short(&file)
    );
    consent::to_write(&what, options.yes).await?;
    let written = blocking(move || draft.write()).await;
    written.map_err(|error| Failure::failed(error.to_string()))?;
    output::complain(format!("{} was written.", short(&file)));
    let names: Vec<&str> = found
        .profiles
        .iter()
        .map(|one| one.profile.name.as_str())
        .collect();
    if let Some(why) = found.not_in_use(&names) {
        output::complain(&why);
    }
    if is_table {
        Ok(())
    } else {
        print(&options, &found, "added")
    }
}

/// Returns the lines that change in the file.
fn changes(draft: &Draft) -> Vec<String> {
    let lines = draft.diff().into_iter().map(|line| match line {
        DiffLine::Same(1) => "  … 1 line".into(),
        DiffLine::Same(count) => format!("  … {count} lines"),
        DiffLine::Context(text) => format!("  {text}"),
        DiffLine::In(text) => format!("+ {text}"),
    });
    let head = if draft.is_new() {
        format!(
            "{} will be created, readable only by you:",
            short(&draft.path)
        )
    } else {
        format!("Changes to {}:", short(&draft.path))
    };
    std::iter::once(head).chain(lines).collect()
}

/// Prints a row for each profile. As JSON, also for those that are not added.
fn print(options: &Options, found: &Import, status: &str) -> Result<(), Failure> {
    let mut rows: Vec<Value> = found.profiles.iter().map(|one| row(one, status)).collect();
    if options.output.format() != Format::Table {
        rows.extend(found.skipped.iter().map(skipped_row));
    }
    let text = |field: &'static str| move |row: &Value| cell(&row[field]);
    options.output.rows(
        &rows,
        &[
            column("PROFILE", text("profile")),
            column("SERVER", text("server")),
            column("WORKSPACE", text("workspace")),
            column("KEY", text("key")),
        ],
    )
}

fn row(one: &Imported, status: &str) -> Value {
    json!({
        "profile": one.profile.name, "server": one.server(), "workspace": one.profile.workspace, "key": one.key(),
        "file": one.file.to_string_lossy(), "status": status, "to_do": one.to_do,
    })
}

fn skipped_row(one: &Skipped) -> Value {
    json!({"profile": one.name, "file": one.file.to_string_lossy(), "status": "skipped", "reason": one.why})
}
