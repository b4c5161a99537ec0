//! Keys of logs, explanations, bisects and JSON documents.

use super::super::action::{Action as A, Context::*};
use super::{Binding, bind, write};

pub(super) const ROWS: &[Binding] = &[
    bind("glance.open", Glance, &["Enter"], A::Open, "open", "Open the deployment, or the inbox if threads wait")
        .named("Open the deployment"),
    bind("logs.open", Logs, &["Enter"], A::Open, "line", "Show the whole line with all its fields")
        .named("Show the whole line"),
    bind("logs.follow", Logs, &["End", "G"], A::Follow, "follow", "Follow new lines; moving up pauses")
        .named("Follow new lines"),
    bind("logs.filter", Logs, &["/"], A::Filter, "filter", "Filter lines: text, level:error, !not")
        .named("Filter the lines"),
    bind("logs.level", Logs, &["&"], A::Level, "level", "Minimum level").named("Change the minimum level"),
    bind("logs.window", Logs, &["T"], A::Window, "time range", "Time range").named("Change the time range"),
    bind("logs.build", Logs, &["b"], A::BuildLog, "build log", "Switch to the build log")
        .named("Switch to the build log"),
    bind("logs.server", Logs, &["l"], A::ServerLog, "server log", "Switch to the server log")
        .named("Switch to the server log"),
    bind("why.do", Why, &["Enter"], A::Open, "first action", "Do the first listed action").named("Do the first action"),
    write("why.answer", Why, &["a"], A::Answer, "answer", "Answer, or continue the thread").named("Answer the thread"),
    write("why.approve", Why, &["A"], A::Approve, "approve all", "Answer with everything approved")
        .named("Approve everything"),
    write("why.new_run", Why, &["n"], A::NewRun, "new run", "Compose a run on this thread").named("Start a new run"),
    write("why.cancel", Why, &["x"], A::CancelRun, "cancel or end", "Cancel the run, else end the thread")
        .named("Cancel the run or end the thread"),
    write("why.again", Why, &["R"], A::Again, "run again", "Retry what failed, or run the last input again")
        .named("Run it again"),
    write("why.release", Why, &["U"], A::Release, "release", "Make a thread idle that is busy without a run")
        .named("Release the thread"),
    write(
        "why.restore",
        Why,
        &["z"],
        A::RestoreAssistant,
        "earlier assistant",
        "Run the assistant again that ran before the newest run",
    )
    .named("Run the earlier assistant"),
    write(
        "why.edit_state",
        Why,
        &["u"],
        A::Update,
        "edit state",
        "Edit the newest checkpoint's state, before continuing",
    )
    .named("Edit the state"),
    bind("why.history", Why, &["0"], A::View0, "history", "The checkpoints, to run again from one of them")
        .named("Show History"),
    bind("why.details", Why, &["d"], A::Describe, "details", "The thread's state and record")
        .named("Show the state and record"),
    bind(
        "bisect.go",
        Bisect,
        &["Enter"],
        A::Open,
        "go there",
        "Go to the checkpoint or event of the first wrong value",
    )
    .named("Go to the first wrong value"),
    bind("bisect.retry", Bisect, &["r"], A::Refresh, "retry", "Load the history again").named("Load the history again"),
    bind("json.copy_path", Inspector, &["Y"], A::CopyPath, "copy path", "Copy the path of the value")
        .named("Copy the path"),
    bind("json.search", Inspector, &["/"], A::Filter, "search", "Search keys and values")
        .named("Search keys and values"),
    bind("json.next_match", Inspector, &["]"], A::NextMatch, "next", "Next or previous match")
        .named("Go to the next match"),
    bind("json.prev_match", Inspector, &["["], A::PrevMatch, "previous", "").named("Go to the previous match"),
    bind("json.toggle", Inspector, &["Enter"], A::Open, "fold", "Fold or unfold; show a long text in full")
        .named("Toggle the fold"),
    bind("json.fold_all", Inspector, &["-"], A::FoldAll, "fold all", "Fold all, or unfold all").named("Fold all"),
    bind("json.unfold_all", Inspector, &["+"], A::UnfoldAll, "unfold all", "").named("Unfold all"),
    bind("graph.fold", Graph, &["Enter"], A::Open, "fold", "Fold or unfold the group").named("Toggle the fold"),
    bind("graph.search", Graph, &["/"], A::Filter, "search", "Search for a node by its name")
        .named("Search for a node"),
    bind("graph.next", Graph, &["]"], A::NextMatch, "next", "Next or previous node that the search finds")
        .named("Go to the next hit"),
    bind("graph.prev", Graph, &["["], A::PrevMatch, "previous", "").named("Go to the previous hit"),
    bind("graph.fold_all", Graph, &["-"], A::FoldAll, "fold all", "Fold or unfold all groups").named("Fold all groups"),
    bind("graph.unfold_all", Graph, &["+"], A::UnfoldAll, "unfold all", "").named("Unfold all groups"),
    bind("graph.save", Graph, &["s"], A::Export, "save", "Save the graph to a file: text, Markdown, SVG, mermaid")
        .named("Save the graph"),
    bind("graph.details", Graph, &["d"], A::Describe, "details", "Show the server's description as JSON")
        .named("Show the description"),
    bind("help.run", Help, &["Enter"], A::Open, "run", "Run the action of the line").named("Run the action"),
    bind("help.filter", Help, &["/"], A::Filter, "filter", "Show only keys that contain a text")
        .named("Filter the keys"),
    bind("help.next", Help, &["Tab"], A::NextPane, "other contexts", "Keys of the next or previous context")
        .named("Show the next context"),
    bind("help.prev", Help, &["BackTab"], A::PrevPane, "previous context", "").named("Show the previous context"),
];
