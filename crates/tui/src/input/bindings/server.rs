//! Keys of the lists of an agent server, the inbox, comparisons and records.

use super::super::action::{Action::*, Context};
use super::shared::{
    ALL_MARKED, NOTIFY, PREVIEW, TO_SEVERAL, approve, cancel, details, explain, graph, mark_all,
    new_run, retry, rollback_run,
};
use super::{Rows, bind, write};

pub(super) const ROWS: Rows = &[
    (
        Context::Server,
        &[
            bind(
                "server.open",
                "Enter",
                Open,
                "Open thread, run or assistant",
            )
            .help("an assistant opens the composer"),
            details("server.details"),
            explain("server.explain"),
            bind("server.runs", "v", Runs, "Show its runs or versions").label("runs"),
            graph("server.graph"),
            bind("server.threads", "1", Threads, "Show the threads").label("threads"),
            bind("server.assistants", "2", Assistants, "Show the assistants").label("assistants"),
            write("server.answer", "a", Answer, "Answer the question"),
            approve("server.approve"),
            new_run("server.new_run"),
            cancel("server.cancel"),
            rollback_run("server.rollback"),
            bind("server.compare", "=", Compare, "Compare threads or runs")
                .needs("with 1 or more marked"),
            write("server.delete", "D", Delete, "Delete the thread").help(ALL_MARKED),
            retry("server.retry"),
            write("server.star", "*", Star, "Star the thread").help("for everyone"),
            bind("server.mark", "Space m", Mark, "Mark the thread or run").help(TO_SEVERAL),
            mark_all("server.mark_all"),
            bind("server.sort", "s", Sort, "Sort the threads")
                .help("problems, changed, created or status"),
            bind("server.filter", "/", Filter, "Search the threads")
                .help("filters runs and assistants"),
        ],
    ),
    (
        Context::Inbox,
        &[
            bind("inbox.open", "Enter", Open, "Open the thread or revision")
                .help("unfolds a group"),
            write("inbox.answer", "a", Answer, "Answer the question"),
            approve("inbox.approve").help(ALL_MARKED),
            retry("inbox.retry"),
            bind("inbox.mark", "Space m", Mark, "Mark the thread or group").help(TO_SEVERAL),
            mark_all("inbox.mark_all"),
            bind(
                "inbox.explain",
                "e",
                Explain,
                "Explain why it waits or failed",
            ),
            details("inbox.details"),
            write("inbox.end", "x", CancelRun, "End the thread").help("nothing more runs"),
            bind("inbox.watch", "w", Watch, "Notify me when it is resolved").label(NOTIFY),
            bind("inbox.filter", "/", Filter, "Filter the inbox"),
        ],
    ),
    (
        Context::Compare,
        &[
            bind("compare.next", "]", NextMatch, "Go to the next difference")
                .label("next")
                .back("compare.prev", "[", PrevMatch),
            bind("compare.collapse", "c", Collapse, "Collapse equal rows"),
            bind(
                "compare.side",
                "Tab BackTab",
                NextPane,
                "Go to the other side",
            )
            .label("other side"),
            bind("compare.open", "Enter", Open, "Open the step"),
            bind("compare.commits", "o", OpenLink, "Open the commits")
                .label("commits")
                .help("on GitHub"),
            bind("compare.state", "d", Describe, "Compare the final states").label("final states"),
            bind("compare.save", "s", Export, "Save both sides").help(":compare opens the file"),
        ],
    ),
    (
        Context::Records,
        &[
            bind("records.open", "Enter", Open, "Open the record"),
            bind("records.mark", "Space m", Mark, "Mark the version").help("to compare"),
            bind("records.compare", "=", Compare, "Compare versions")
                .help("the marked, else the current"),
            write("records.restore", "z", Rollback, "Restore the version").help(PREVIEW),
            bind("records.schemas", "d", Schemas, "Show the schemas").label("schemas"),
            graph("records.graph"),
            write("records.create", "a", Create, "Create a cron or an item").help(PREVIEW),
            write("records.update", "u", Update, "Edit the cron or item").help(PREVIEW),
            write("records.pause", "ctrl-p", Pause, "Pause or resume the cron").help(PREVIEW),
            write("records.delete", "D", Delete, "Delete the cron or item").help(PREVIEW),
            bind("records.filter", "/", Filter, "Filter the records"),
        ],
    ),
];
