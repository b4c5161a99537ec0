//! Keys of the lists of an agent server, the inbox, comparisons and records.

use super::super::action::{Action as A, Context::*};
use super::{Binding, bind, write};

pub(super) const ROWS: &[Binding] = &[
    bind("server.open", Server, &["Enter"], A::Open, "open", "Open the thread, join the run, or start the assistant")
        .named("Open thread, run or assistant"),
    bind("server.details", Server, &["d"], A::Describe, "details", "Show the server's full record")
        .named("Show the details"),
    bind("server.explain", Server, &["e"], A::Explain, "explain", "Open the thread and explain its status")
        .named("Explain the thread"),
    bind(
        "server.runs",
        Server,
        &["v"],
        A::Runs,
        "runs",
        "Show the runs of the thread, or the versions of the assistant",
    )
    .named("Show runs or versions"),
    bind("server.graph", Server, &["9"], A::View9, "graph", "Show the graph of the assistant").named("Show the graph"),
    bind("server.threads", Server, &["1"], A::Threads, "threads", "Show the threads").named("Show the threads"),
    bind("server.assistants", Server, &["2"], A::Assistants, "assistants", "Show the assistants")
        .named("Show the assistants"),
    write("server.answer", Server, &["a"], A::Answer, "answer", "Answer what the thread is waiting for")
        .named("Answer the question"),
    write("server.approve", Server, &["A"], A::Approve, "approve", "Open the answer with everything approved")
        .named("Approve everything"),
    write("server.new_run", Server, &["n"], A::NewRun, "new run", "Compose a run").named("Start a new run"),
    write("server.cancel", Server, &["x"], A::CancelRun, "cancel", "Cancel the run, or the thread's active run")
        .named("Cancel the run"),
    write(
        "server.rollback",
        Server,
        &["X"],
        A::RollbackRun,
        "cancel, roll back",
        "Cancel the run and delete its checkpoints",
    )
    .named("Cancel with rollback"),
    bind(
        "server.compare",
        Server,
        &["="],
        A::Compare,
        "compare",
        "Compare two marked threads or runs, or the marked and this one",
    )
    .named("Compare threads or runs")
    .needs("with 1 or more marked"),
    write("server.delete", Server, &["D"], A::Delete, "delete", "Delete the thread, or all marked threads")
        .named("Delete the thread"),
    write("server.retry", Server, &["R"], A::Again, "retry", "Retry the failed thread, or all marked threads")
        .named("Retry the thread"),
    write("server.star", Server, &["*"], A::Star, "star", "Star the thread for everyone, or remove its star")
        .named("Star the thread"),
    bind(
        "server.mark",
        Server,
        &["Space", "m"],
        A::Mark,
        "mark",
        "Mark the thread or run, to act on several or to compare two",
    )
    .named("Mark the thread or run"),
    bind(
        "server.mark_all",
        Server,
        &["ctrl-a"],
        A::MarkAll,
        "mark all",
        "Mark all listed threads, or remove all marks",
    )
    .named("Mark all threads"),
    bind(
        "server.sort",
        Server,
        &["s"],
        A::Sort,
        "sort",
        "Order threads: problems first, by change, creation or status",
    )
    .named("Sort the threads"),
    bind("server.filter", Server, &["/"], A::Filter, "search", "Search threads; filter runs and assistants by a text")
        .named("Search the threads"),
    bind("inbox.open", Inbox, &["Enter"], A::Open, "open", "Open the thread, or explain the failed revision")
        .named("Open the thread or revision"),
    write("inbox.answer", Inbox, &["a"], A::Answer, "answer", "Answer what the thread is waiting for")
        .named("Answer the question"),
    write("inbox.approve", Inbox, &["A"], A::Approve, "approve", "Open the answer with everything approved")
        .named("Approve everything"),
    write(
        "inbox.answer_rules",
        Inbox,
        &["ctrl-r"],
        A::AnswerByRules,
        "answer by rules",
        "Answer the threads that [[answer]] rules match",
    )
    .named("Answer by rules"),
    bind("inbox.explain", Inbox, &["e"], A::Explain, "explain", "Explain why it waits or failed")
        .named("Explain why it waits or failed"),
    bind("inbox.details", Inbox, &["d"], A::Describe, "details", "The record of the thread or revision")
        .named("Show the details"),
    write("inbox.end", Inbox, &["x"], A::CancelRun, "end", "End the thread, so that nothing more runs")
        .named("End the thread"),
    bind("inbox.watch", Inbox, &["w"], A::Watch, "notify me", "Toggle notification when it no longer needs anyone")
        .named("Notify me when it is resolved"),
    bind("inbox.filter", Inbox, &["/"], A::Filter, "filter", "Show only rows that contain a text")
        .named("Filter the inbox"),
    bind("compare.next", Compare, &["]"], A::NextMatch, "next difference", "Next or previous difference")
        .named("Go to the next difference"),
    bind("compare.prev", Compare, &["["], A::PrevMatch, "previous", "").named("Go to the previous difference"),
    bind("compare.collapse", Compare, &["c"], A::Collapse, "collapse equal", "Show or hide the rows that are equal")
        .named("Collapse equal rows"),
    bind("compare.side", Compare, &["Tab", "BackTab"], A::NextPane, "other side", "Go to the other side")
        .named("Go to the other side"),
    bind("compare.open", Compare, &["Enter"], A::Open, "open the step", "Open the step, the recording or the record")
        .named("Open the step"),
    bind("compare.commits", Compare, &["o"], A::OpenLink, "open commits", "Open the commits between both on GitHub")
        .named("Open the commits"),
    bind("compare.state", Compare, &["d"], A::Describe, "final states", "Show how the final states differ")
        .named("Compare the final states"),
    bind("compare.save", Compare, &["s"], A::Export, "save", "Save both sides to a file that :compare opens")
        .named("Save both sides"),
    bind("records.open", Records, &["Enter"], A::Open, "open", "Open as JSON; in the store, unfold the namespace")
        .named("Open the record"),
    bind("records.mark", Records, &["Space", "m"], A::Mark, "mark", "Mark the version to compare with")
        .named("Mark the version"),
    bind(
        "records.compare",
        Records,
        &["="],
        A::Compare,
        "compare",
        "Compare the version with the marked one, else the current one",
    )
    .named("Compare versions"),
    write("records.restore", Records, &["z"], A::Rollback, "restore", "Restore this version (preview first)")
        .named("Restore the version"),
    bind("records.schemas", Records, &["d"], A::Schemas, "schemas", "Schemas of the assistant")
        .named("Show the schemas"),
    bind("records.graph", Records, &["9"], A::View9, "graph", "Graph of the assistant").named("Show the graph"),
    write("records.create", Records, &["a"], A::Create, "create", "Create a cron or an item (preview first)")
        .named("Create a cron or an item"),
    write("records.update", Records, &["u"], A::Update, "edit", "Edit the cron or the item (preview first)")
        .named("Edit the cron or item"),
    write("records.pause", Records, &["ctrl-p"], A::Pause, "pause, resume", "Pause or resume the cron (preview first)")
        .named("Toggle the cron"),
    write("records.delete", Records, &["D"], A::Delete, "delete", "Delete the cron or the item (preview first)")
        .named("Delete the cron or item"),
    bind("records.filter", Records, &["/"], A::Filter, "filter", "Show only rows that contain a text")
        .named("Filter the records"),
];
