//! What the actions do with the selected and the marked rows of an agent server's lists.

use super::Agent;
use super::state::{Server, Tab};
use crate::input::action::Action;
use crate::session::compare::{SideRef, marked_words, too_many_marked};
use crate::session::msg::{BulkTarget, Described, ServerRef, StreamTarget, ThreadRef};
use crate::session::record_list::RecordList;
use crate::session::run::{Origin, Warning, Where};
use crate::session::{Requests, Route, not_sent};
use runtail_api::{BulkAction, MAX_BULK, ThreadIntent, ThreadLabel};
use runtail_core::model::Assistant;
use runtail_core::text;
use std::collections::HashMap;

/// Maximum number of marked runs: a comparison has two sides.
pub(super) const MAX_MARKED: usize = 2;

/// Returns the selected thread or run as a side of a comparison.
pub(super) fn selected_side(server: &Server) -> Option<SideRef> {
    let (thread, run) = Agent::selected_thread(server).ok()?;
    (server.tab == Tab::Threads || run.is_some()).then_some(SideRef::Thread(thread, run))
}

/// Marks a run for a comparison, or removes its mark. A third mark replaces the first.
pub(super) fn mark(marked: &mut Vec<SideRef>, row: SideRef) -> Requests {
    match marked.iter().position(|other| *other == row) {
        Some(at) => drop(marked.remove(at)),
        None => {
            if marked.len() == MAX_MARKED {
                marked.remove(0);
            }
            marked.push(row);
        }
    }
    Requests::info(marked_words(marked.len()))
}

/// Opens the comparison of two marked rows, or of the marked and the selected one. With only one row, asks for the other.
pub(super) fn compare(marked: &[SideRef], selected: Option<SideRef>) -> Requests {
    match (marked, selected) {
        ([a, b], _) => Route::Compare(vec![a.clone(), b.clone()]).into(),
        ([a], Some(row)) if row != *a => Route::Compare(vec![a.clone(), row]).into(),
        ([_], _) => Route::Palette("compare ".into()).into(),
        ([_, _, _, ..], _) => Requests::info(too_many_marked(marked.len())),
        _ => Requests::info("Mark one with m, then press = on another."),
    }
}

/// Returns the warning about a new run on a thread, judged by its status in the list.
fn row_warning(status: &str) -> Option<Warning> {
    match status {
        "interrupted" => Some(Warning::MayWaitForInput),
        "busy" => Some(Warning::Active),
        _ => None,
    }
}

/// Opens the preview of an action on all marked threads.
pub(super) fn act_on_marked(server: &Server, action: Action) -> Requests {
    let action = match action {
        Action::CancelRun => BulkAction::Cancel,
        Action::Delete => BulkAction::Delete,
        _ => BulkAction::Retry(None),
    };
    let marked = &server.threads.table.marked;
    if marked.len() > MAX_BULK {
        let count = marked.len();
        return Requests::error(not_sent(format!(
            "{count} threads; at most {MAX_BULK} at once."
        )));
    }
    // In the order of the list; marked threads that are not listed by now come last.
    let shown = server.threads.table.ids().iter().enumerate();
    let places: HashMap<&str, usize> = shown.map(|(at, id)| (id.as_str(), at)).collect();
    let (mut listed, rest): (Vec<&String>, Vec<&String>) = marked
        .iter()
        .partition(|id| server.threads.position(id).is_some());
    listed.sort_by_key(|id| places.get(id.as_str()).copied().unwrap_or(usize::MAX));
    let titled = |id: &String| {
        let row = server.threads.row(id);
        let title = row.and_then(|row| row.found.thread.name().or(row.found.title.as_deref()));
        BulkTarget {
            thread: server.thread_ref(id),
            title: title.unwrap_or_default().to_string(),
            interrupt: None,
            left_out: None,
        }
    };
    let threads = listed.into_iter().chain(rest).map(titled).collect();
    let mut out: Requests = Route::Bulk(action, threads).into();
    match server.threads.table.hidden_marks() {
        0 => {}
        n => out.notify(
            false,
            format!("The search hides {}.", text::counted(n, "marked thread")),
        ),
    }
    out
}

/// Stars the selected thread, or removes its star.
pub(super) fn star(server: &Server) -> Requests {
    let Some(thread) = server.thread() else {
        return Requests::none_selected("thread");
    };
    let label = ThreadLabel {
        name: None,
        starred: Some(!thread.is_starred()),
    };
    let intent = ThreadIntent::Label {
        thread: thread.thread_id.clone(),
        label,
    };
    Route::on_thread(server.server.clone(), intent).into()
}

/// Opens the selected row.
pub(super) fn open(server: &Server) -> Requests {
    if server.tab == Tab::Assistants {
        // The filter may hide all of them, also the selected one.
        let table = &server.assistant_table;
        return match table.is_empty() && !table.filter.is_empty() {
            true => Requests::none(),
            false => compose(server),
        };
    }
    let target = match selected_side(server) {
        Some(SideRef::Thread(ThreadRef { id: thread, .. }, run)) => match run {
            Some(run) => StreamTarget::Join { thread, run },
            None => StreamTarget::Tail { thread },
        },
        _ => return Requests::none(),
    };
    Route::Stream(target).into()
}

/// Composes a run for the selected row.
pub(super) fn compose(server: &Server) -> Requests {
    let from = match server.tab {
        Tab::Assistants => Origin {
            assistant: server.assistant_table.selected().map(str::to_string),
            ..Origin::default()
        },
        // The selection alone is not a choice of the thread, so a new thread is the default.
        Tab::Threads => server
            .thread()
            .map_or_else(Origin::default, |thread| Origin {
                thread: Some(thread.thread_id.clone()),
                assistant: server.assistant_of(&thread.thread_id),
                place: Some(Where::NewThread),
                warning: row_warning(&thread.status),
                ..Origin::default()
            }),
        Tab::Runs => {
            let thread = server.runs_of.clone();
            let warning = thread
                .as_deref()
                .and_then(|thread| server.threads.get(thread))
                .and_then(|row| row_warning(&row.status));
            let assistant = thread.as_deref().and_then(|t| server.assistant_of(t));
            Origin {
                thread,
                assistant,
                warning,
                ..Origin::default()
            }
        }
    };
    Route::Compose(from).into()
}

/// Opens the versions of the selected assistant.
pub(super) fn versions(server: &Server) -> Requests {
    let Some(assistant) = server.assistant() else {
        return Requests::none_selected("assistant");
    };
    let of = RecordList::Versions {
        assistant: assistant.assistant_id.as_str().into(),
        name: assistant.shown_name().into(),
    };
    Route::Records(server.server.clone(), of).into()
}

/// Returns the page with the graph of an assistant.
pub(crate) fn graph_of(server: &ServerRef, assistant: &Assistant) -> Route {
    Route::Graph(
        server.clone(),
        assistant.assistant_id.clone(),
        assistant.shown_name().to_string(),
    )
}

/// Shows the graph of the selected assistant.
pub(super) fn show_graph(server: &Server) -> Requests {
    match (server.tab, server.assistant()) {
        (Tab::Assistants, Some(assistant)) => graph_of(&server.server, assistant).into(),
        (Tab::Assistants, None) => Requests::none_selected("assistant"),
        _ => Requests::info("Open the thread and press 5, or press 2 for assistants."),
    }
}

/// Shows the record of the selected row.
pub(super) fn describe(server: &Server) -> Requests {
    if let Some(assistant) = server.assistant().filter(|_| server.tab == Tab::Assistants) {
        return Requests::inspect(format!("assistant {}", assistant.graph_id), assistant);
    }
    match selected_side(server) {
        Some(SideRef::Thread(thread, run)) => Route::Record(match run {
            Some(run) => Described::Run(thread.server, thread.id, run),
            None => Described::Thread(thread.server, thread.id),
        })
        .into(),
        _ => Requests::none(),
    }
}
