//! The preview of a change.

use crate::output::widest;
use crate::prelude::*;
use runtail_core::model::{Branch, Consent, PlainRequest, Preview, shell_option};
use runtail_core::text::short_id;

/// Prints one preview or several as data, for `--dry-run`.
pub fn print_dry_run(previews: &[&Preview], output: &ResultOutput) -> Result<(), Failure> {
    let objects = previews.iter().map(|preview| object(preview));
    let printed = match (output.format(), previews) {
        (Format::Table, _) => {
            let texts: Vec<String> = previews.iter().map(|preview| whole(preview)).collect();
            format!("{}\n", text::clean_lines(&texts.join("\n\n")))
        }
        (Format::Json, [one]) => format!("{:#}\n", object(one)),
        (Format::Json, _) => format!("{:#}\n", objects.collect::<Value>()),
        (Format::Jsonl, _) => objects.map(|object| format!("{object}\n")).collect(),
    };
    output::print(&printed, output.format() != Format::Table)?;
    complain("dry run: nothing was sent");
    Ok(())
}

/// Prints a preview on stderr, before it is confirmed.
pub fn print_preview(preview: &Preview) {
    let mut lines = head(preview);
    lines.extend(changes(preview));
    lines.extend(what_else(preview));
    complain(lines.join("\n"));
}

/// Returns the title, and what a run from a checkpoint runs.
fn head(preview: &Preview) -> Vec<String> {
    let target = preview.target.as_ref();
    let id = target.map(|target| format!(", {}", text::clean(&target.id)));
    let (profile, id) = (text::clean(&preview.profile), id.unwrap_or_default());
    let mut lines = vec![format!("{} ({profile}{id})", preview.title)];
    lines.extend(preview.branch.iter().flat_map(branch_lines));
    lines
}

fn changes(preview: &Preview) -> impl Iterator<Item = String> {
    let changes = preview.changes.iter();
    changes.map(|change| format!("  {}", change.line()))
}

/// Returns whether it creates a revision, and the notes; warnings start with an exclamation mark.
fn what_else(preview: &Preview) -> Vec<String> {
    let sentence = Some(preview.revision.sentence()).filter(|sentence| !sentence.is_empty());
    let repeats = preview
        .branch
        .iter()
        .filter_map(|branch| branch.repeats.as_ref());
    let repeats = repeats.map(|calls| format!("! {}", calls.sentence(run_name)));
    let notes = preview
        .notes
        .iter()
        .map(|note| format!("{} {}", if note.warns { "!" } else { "-" }, note.text));
    sentence.into_iter().chain(repeats).chain(notes).collect()
}

/// Returns what a run from a checkpoint runs, in columns.
fn branch_lines(branch: &Branch) -> Vec<String> {
    let at = branch
        .created_at
        .map(|at| at.strftime("%Y-%m-%d %H:%M:%SZ, ").to_string())
        .unwrap_or_default();
    let from = branch.sentence(Some(&format!(
        "{at}checkpoint {}",
        short_id(&branch.checkpoint_id)
    )));
    let rows = branch.steps.iter().map(|step| {
        let cells = [
            step.kind.label().to_string(),
            step.named(),
            step.basis(run_name),
            step.detail.clone(),
        ];
        cells.map(|cell| text::clean(&cell).into_owned())
    });
    let rows: Vec<[String; 4]> = rows.collect();
    let width = |at: usize| widest(rows.iter().map(|row| &row[at]));
    let widths = [0, 1, 2].map(width);
    let line = |row: &[String; 4]| {
        let padded = row.iter().zip(widths).filter(|(_, width)| *width > 0);
        let padded = padded.map(|(cell, width)| output::padded(cell, width) + "  ");
        format!("{}{}", padded.collect::<String>(), row[3])
            .trim_end()
            .to_string()
    };
    std::iter::once(from).chain(rows.iter().map(line)).collect()
}

fn run_name(id: &str) -> String {
    format!("run {}", short_id(id))
}

fn whole(preview: &Preview) -> String {
    let mut lines = head(preview);
    lines.extend(what_else(preview));
    if !preview.changes.is_empty() {
        lines.push("Changes:".into());
        lines.extend(changes(preview));
    }
    for (n, request) in preview.requests().enumerate() {
        let number = if preview.then.is_empty() {
            String::new()
        } else {
            format!(" {}", n + 1)
        };
        lines.push(format!("Request{number}:"));
        lines.push(format!("  {} {}", request.method, request.url));
        lines.extend(
            request
                .headers
                .iter()
                .map(|(name, value)| format!("  {name}: {value}")),
        );
        if let Some(body) = &request.body {
            lines.extend(format!("{body:#}").lines().map(|line| format!("  {line}")));
        }
    }
    if let Consent::Name(name) = &preview.consent {
        lines.push(format!("To confirm: {}", shell_option("--confirm", name)));
    }
    lines.join("\n")
}

/// The preview for programs. `makes_revision` is `yes`, `may`, `no` or `not_asked`.
fn object(preview: &Preview) -> Value {
    let request = |request: &PlainRequest| {
        let headers: serde_json::Map<String, Value> = request
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        json!({"method": request.method, "url": request.url, "headers": headers, "body": request.body})
    };
    let mut object = json!({
        "kind": "preview",
        "title": preview.title,
        "profile": preview.profile,
        "target": preview.target,
        "request": request(&preview.request),
        "changes": preview.changes,
    });
    if let Some(branch) = &preview.branch {
        object["branch"] = json!(branch);
    }
    match preview.then.as_slice() {
        [] => {}
        [then] => object["then"] = request(then),
        several => object["then"] = several.iter().map(request).collect(),
    }
    if let (Some(object), Value::Object(revision)) =
        (object.as_object_mut(), json!(preview.revision))
    {
        object.extend(revision);
        object.entry("why").or_insert(Value::Null);
        object.insert("notes".into(), json!(preview.notes));
        object.insert("consent".into(), json!(preview.consent));
    }
    object
}
