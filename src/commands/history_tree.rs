//! `threads history --tree`: the checkpoints of a thread, with their branches drawn as in `git log --graph`.

use crate::output::{padded, widest};
use crate::prelude::*;
use runtail_core::model::{Checkpoint, CheckpointTree, GraphRow, StepOutcome};
use std::sync::Arc;

/// Maximum columns of the names of those that wrote a checkpoint, and of what was written.
const MAX_WRITERS: usize = 40;
const MAX_WROTE: usize = 60;

/// Prints the tree of states as received. `has_head`: the first one is the thread's newest.
pub fn print(rows: &[Value], has_head: bool, ascii: bool) -> Result<(), Failure> {
    let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let checkpoints = Checkpoint::read_rows(&rows);
    let tree = CheckpointTree::new(checkpoints.into_iter().map(Arc::new));
    output::print(&drawn(&tree, has_head, ascii), false)
}

/// Returns the tree as lines.
fn drawn(tree: &CheckpointTree, has_head: bool, ascii: bool) -> String {
    let graph = |row: &GraphRow| {
        let (before, after) = row.text();
        let mark = match row.entry.map(|at| tree.outcome(at)) {
            Some(StepOutcome::Failed) => "✗",
            Some(StepOutcome::Asks) => "◆",
            Some(StepOutcome::Good) => "●",
            None => "",
        };
        plain(&format!("{before}{mark}{after}"), ascii)
    };
    let graphs: Vec<String> = tree.rows().iter().map(graph).collect();
    let writer = |at: usize| match tree.writers(at).as_slice() {
        [] => "unknown".to_string(),
        names => text::seen(&names.join(", "), MAX_WRITERS),
    };
    let wrote = |at: usize| text::seen(&tree.wrote(at), MAX_WROTE);
    let all = || 0..tree.len();
    let graph_width = widest(&graphs).max(1);
    let writer_width = widest(all().map(writer)).max(6);
    let wrote_width = widest(all().map(wrote)).max(5);
    let heading = format!(
        "{}  STEP  {}  {}  {}  CHECKPOINT",
        padded("", graph_width),
        padded("WRITER", writer_width),
        padded("WROTE", wrote_width),
        padded("CREATED", 17)
    );
    let line = |(row, graph): (&GraphRow, &String)| {
        let Some((at, entry)) = row.entry.and_then(|at| Some((at, tree.entries().get(at)?))) else {
            return graph.clone();
        };
        let step = entry.step.map(|step| step.to_string()).unwrap_or_default();
        let created = entry
            .at
            .map(|at| at.strftime("%Y-%m-%d %H:%MZ").to_string())
            .unwrap_or_default();
        let head = if at == 0 && has_head { "  head" } else { "" };
        let (writer, wrote) = (plain(&writer(at), ascii), plain(&wrote(at), ascii));
        format!(
            "{}  {step:>4}  {}  {}  {created:17}  {}{head}",
            padded(graph, graph_width),
            padded(&writer, writer_width),
            padded(&wrote, wrote_width),
            text::clean(&entry.id)
        )
    };
    let lines = std::iter::once(heading).chain(tree.rows().iter().zip(&graphs).map(line));
    lines
        .map(|line| line.trim_end().to_string() + "\n")
        .collect()
}

/// Replaces the glyphs of the drawing if only ASCII characters are wanted.
fn plain(source: &str, ascii: bool) -> String {
    if !ascii {
        return source.to_string();
    }
    let letter = |c: char| match c {
        '●' => '*',
        '◆' => '!',
        '✗' => 'x',
        '│' => '|',
        '─' => '-',
        '├' | '┴' | '┼' => '+',
        '╯' => '\'',
        '·' => '-',
        '×' => 'x',
        '…' => '~',
        other => other,
    };
    source.chars().map(letter).collect()
}
