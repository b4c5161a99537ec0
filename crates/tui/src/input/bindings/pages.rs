//! Keys of logs, explanations, bisects and JSON documents.

use super::super::action::{Action::*, Context};
use super::shared::{
    PAUSES, again, answer, approve, copy_path, fold_all, new_run, next_hit, state,
};
use super::{Rows, bind, write};

pub(super) const ROWS: Rows = &[
    (
        Context::Logs,
        &[
            bind("logs.open", "Enter", Open, "Show the whole line").label("line"),
            bind("logs.follow", "End G", Follow, "Follow new lines").help(PAUSES),
            bind("logs.filter", "/", Filter, "Filter the lines").help("text, level:error, !not"),
            bind("logs.level", "&", Level, "Change the minimum level").label("level"),
            bind("logs.window", "T", Window, "Change the time range").label("time range"),
            bind("logs.build", "b", BuildLog, "Switch to the build log"),
            bind("logs.server", "l", ServerLog, "Switch to the server log"),
        ],
    ),
    (
        Context::Why,
        &[
            bind("why.do", "Enter", Open, "Do the first action").label("first action"),
            answer("why.answer"),
            approve("why.approve"),
            new_run("why.new_run"),
            write(
                "why.cancel",
                "x",
                CancelRun,
                "Cancel the run or end the thread",
            ),
            again("why.again"),
            write("why.release", "U", Release, "Release the thread")
                .help("if it's busy without a run"),
            write(
                "why.restore",
                "z",
                RestoreAssistant,
                "Run the earlier assistant",
            )
            .help("from before the newest run"),
            write("why.edit_state", "u", Update, "Edit the state").help("before continuing"),
            bind("why.history", "2", View2, "Show Steps").help("to run again from one"),
            state("why.details"),
        ],
    ),
    (
        Context::Bisect,
        &[
            bind("bisect.go", "Enter", Open, "Go to the first wrong value").label("go there"),
            bind("bisect.retry", "r", Refresh, "Load the history again").label("retry"),
        ],
    ),
    (
        Context::Report,
        &[
            bind("report.go", "Enter", Open, "Go to the newest gap").label("newest gap"),
            bind("report.refresh", "r", Refresh, "Refresh the report"),
        ],
    ),
    (
        Context::Inspector,
        &[
            copy_path("json.copy_path"),
            bind("json.search", "/", Filter, "Search keys and values"),
            next_hit("json.next_match", "json.prev_match"),
            bind("json.toggle", "Enter", Open, "Toggle the fold")
                .label("fold")
                .help("shows a long text in full"),
            fold_all("json.fold_all", "json.unfold_all"),
        ],
    ),
    (
        Context::Graph,
        &[
            bind("graph.fold", "Enter", Open, "Toggle the fold").label("fold"),
            bind("graph.search", "/", Filter, "Search for a node"),
            next_hit("graph.next", "graph.prev"),
            fold_all("graph.fold_all", "graph.unfold_all"),
            bind("graph.save", "s", Export, "Save the graph").help("text, Markdown, SVG, mermaid"),
            bind("graph.details", "d", Describe, "Show the description").label("details"),
        ],
    ),
    (
        Context::Help,
        &[
            bind("help.run", "Enter", Open, "Run the action"),
            bind("help.filter", "/", Filter, "Filter the keys"),
            bind("help.more", "Tab", NextPane, "Show more keys").label("more"),
        ],
    ),
];
