//! Draws the search of the thread list: which part the server applied, and on how many threads the rest was checked.

use super::state::{Server, Tab};
use super::threads::{MAX_THREADS, ThreadList};
use crate::session::Cx;
use crate::widgets::line::Line;
use runtail_core::text;

/// Returns the line below the tabs; `None` without a search of threads, if every row could be read.
pub(super) fn search_line(server: &Server) -> Option<Line> {
    let list = &server.threads;
    let unread = match server.tab {
        Tab::Threads => &list.unread,
        Tab::Assistants => &server.assistants.unread,
        Tab::Runs => &server.runs.unread,
    };
    let unread = unread
        .as_ref()
        .map(|unread| Line::bad("! ").with_plain(&text::clean(unread)));
    if server.tab != Tab::Threads {
        return unread;
    }
    if list.table.filter.is_empty() && list.problem.is_none() {
        return unread;
    }
    if let Some(problem) = &list.problem {
        let problem = text::clean(&problem.to_string()).into_owned();
        return Some(Line::bad("✗ ").with_plain(&problem));
    }
    let mut line = Line::new();
    let found = count(list.table.ids().len());
    line.push_strong(&format!("{found} found"));
    let (server, here) = list.sides();
    // The numbers come first, because a narrow pane cuts the end.
    if !here.is_empty() {
        line.push_plain(&format!(" in {}", checked(list)));
    }
    if list.is_loading() {
        line.push_moving(", loading…");
    }
    match list.unchecked() {
        0 => {}
        n => line.push_moving(&format!(
            " · {} unchecked: values not listed",
            text::counted(n, "thread")
        )),
    }
    for (label, terms) in [("server", server), ("local", here)] {
        if !terms.is_empty() {
            line.push_dim(&format!(" · {label}: "));
            line.push_plain(&text::clean(&terms.join(" ")));
        }
    }
    Some(line)
}

/// Returns `500 of 10,000 threads`: the threads on which a condition was checked here.
fn checked(list: &ThreadList) -> String {
    let loaded = count(list.len());
    match (
        list.is_complete,
        list.count.filter(|count| *count > list.len() as u64),
    ) {
        (true, _) => text::counted(list.len(), "thread"),
        (false, Some(all)) => {
            format!("{loaded} of {} threads", text::count(all))
        }
        (false, None) => format!("the {loaded} loaded threads"),
    }
}

fn count(n: usize) -> String {
    text::count(n as u64)
}

/// Returns the number of threads for the tab: `10,000`, or `500+` if the server doesn't say how many there are.
pub(super) fn total(list: &ThreadList) -> Option<String> {
    list.at?;
    let loaded = list.len();
    Some(
        match list
            .count
            .filter(|count| !list.is_complete && *count > loaded as u64)
        {
            Some(all) => text::count(all),
            None if list.is_complete => count(loaded),
            None => format!("{}+", count(loaded)),
        },
    )
}

/// Returns what to show instead of rows, if a search finds none.
pub(super) fn nothing_found(cx: &Cx<'_>, list: &ThreadList) -> String {
    let filter = cx.session.key("server.filter");
    let clear = format!("{filter} changes the search, Esc clears it.");
    if list.problem.is_some() {
        return format!("The last valid search finds nothing.\n\n{clear}");
    }
    let text = text::clean(&list.table.filter).into_owned();
    if list.is_loading() {
        return format!("Searching for “{text}”… none in {} yet.", checked(list));
    }
    let (_, here) = list.sides();
    if here.is_empty() || list.is_complete {
        return format!("No match for “{text}”.\n\n{clear}");
    }
    if list.is_ended() && list.len() < MAX_THREADS {
        return format!("No match for “{text}”; other threads changed earlier.\n\n{clear}");
    }
    format!(
        "No match for “{text}” in {}; older threads unchecked.\n\n{clear}",
        checked(list)
    )
}
