//! Keys of logs, explanations, bisects and JSON documents.

use super::super::action::{Action::*, Context};
use super::{Rows, bind, write};

pub(super) const ROWS: Rows = &[
    (
        Context::Glance,
        &[bind(
            "glance.open",
            "Enter",
            Open,
            "open",
            "Open the deployment",
            "Open the deployment, or the inbox if threads wait",
        )],
    ),
    (
        Context::Logs,
        &[
            bind("logs.open", "Enter", Open, "line", "Show the whole line", "Show the whole line with all its fields"),
            bind("logs.follow", "End G", Follow, "follow", "Follow new lines", "Follow new lines; moving up pauses"),
            bind("logs.filter", "/", Filter, "filter", "Filter the lines", "Filter lines: text, level:error, !not"),
            bind("logs.level", "&", Level, "level", "Change the minimum level", "Minimum level"),
            bind("logs.window", "T", Window, "time range", "Change the time range", "Time range"),
            bind("logs.build", "b", BuildLog, "build log", "Switch to the build log", "Switch to the build log"),
            bind("logs.server", "l", ServerLog, "server log", "Switch to the server log", "Switch to the server log"),
        ],
    ),
    (
        Context::Why,
        &[
            bind("why.do", "Enter", Open, "first action", "Do the first action", "Do the first listed action"),
            write("why.answer", "a", Answer, "answer", "Answer the thread", "Answer, or continue the thread"),
            write("why.approve", "A", Approve, "approve all", "Approve everything", "Answer with everything approved"),
            write("why.new_run", "n", NewRun, "new run", "Start a new run", "Compose a run on this thread"),
            write(
                "why.cancel",
                "x",
                CancelRun,
                "cancel or end",
                "Cancel the run or end the thread",
                "Cancel the run, else end the thread",
            ),
            write(
                "why.again",
                "R",
                Again,
                "run again",
                "Run it again",
                "Retry what failed, or run the last input again",
            ),
            write(
                "why.release",
                "U",
                Release,
                "release",
                "Release the thread",
                "Make a thread idle that is busy without a run",
            ),
            write(
                "why.restore",
                "z",
                RestoreAssistant,
                "earlier assistant",
                "Run the earlier assistant",
                "Run the assistant again that ran before the newest run",
            ),
            write(
                "why.edit_state",
                "u",
                Update,
                "edit state",
                "Edit the state",
                "Edit the newest checkpoint's state, before continuing",
            ),
            bind(
                "why.history",
                "0",
                View0,
                "history",
                "Show History",
                "The checkpoints, to run again from one of them",
            ),
            bind("why.details", "d", Describe, "details", "Show the state and record", "The thread's state and record"),
        ],
    ),
    (
        Context::Bisect,
        &[
            bind(
                "bisect.go",
                "Enter",
                Open,
                "go there",
                "Go to the first wrong value",
                "Go to the checkpoint or event of the first wrong value",
            ),
            bind("bisect.retry", "r", Refresh, "retry", "Load the history again", "Load the history again"),
        ],
    ),
    (
        Context::Inspector,
        &[
            bind("json.copy_path", "Y", CopyPath, "copy path", "Copy the path", "Copy the path of the value"),
            bind("json.search", "/", Filter, "search", "Search keys and values", "Search keys and values"),
            bind("json.next_match", "]", NextMatch, "next", "Go to the next match", "Next or previous match"),
            bind("json.prev_match", "[", PrevMatch, "previous", "Go to the previous match", ""),
            bind("json.toggle", "Enter", Open, "fold", "Toggle the fold", "Fold or unfold; show a long text in full"),
            bind("json.fold_all", "-", FoldAll, "fold all", "Fold all", "Fold all, or unfold all"),
            bind("json.unfold_all", "+", UnfoldAll, "unfold all", "Unfold all", ""),
        ],
    ),
    (
        Context::Graph,
        &[
            bind("graph.fold", "Enter", Open, "fold", "Toggle the fold", "Fold or unfold the group"),
            bind("graph.search", "/", Filter, "search", "Search for a node", "Search for a node by its name"),
            bind(
                "graph.next",
                "]",
                NextMatch,
                "next",
                "Go to the next hit",
                "Next or previous node that the search finds",
            ),
            bind("graph.prev", "[", PrevMatch, "previous", "Go to the previous hit", ""),
            bind("graph.fold_all", "-", FoldAll, "fold all", "Fold all groups", "Fold or unfold all groups"),
            bind("graph.unfold_all", "+", UnfoldAll, "unfold all", "Unfold all groups", ""),
            bind(
                "graph.save",
                "s",
                Export,
                "save",
                "Save the graph",
                "Save the graph to a file: text, Markdown, SVG, mermaid",
            ),
            bind(
                "graph.details",
                "d",
                Describe,
                "details",
                "Show the description",
                "Show the server's description as JSON",
            ),
        ],
    ),
    (
        Context::Help,
        &[
            bind("help.run", "Enter", Open, "run", "Run the action", "Run the action of the line"),
            bind("help.filter", "/", Filter, "filter", "Filter the keys", "Show only keys that contain a text"),
            bind(
                "help.next",
                "Tab",
                NextPane,
                "other contexts",
                "Show the next context",
                "Keys of the next or previous context",
            ),
            bind("help.prev", "BackTab", PrevPane, "previous context", "Show the previous context", ""),
        ],
    ),
];
