//! Draws the threads, runs and assistants of an agent server.

use super::preview::{self, list_area};
use super::search_view::{nothing_found, search_line, total};
use super::state::{Server, Tab};
use super::threads::ListOrder;
use super::{Agent, listed_status};
use crate::session::Cx;
use crate::session::profile::{breadcrumb, server_software};
use crate::widgets::area::below;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::markdown::plain_line;
use crate::widgets::status::{STUCK, tones};
use crate::widgets::table::{REST, RowStyle, TableColumns, TableRow};
use jiff::Timestamp;
use runtail_api::{FoundThread, ServerKind};
use runtail_core::model::{
    Assistant, KnownRevisions, Run, StatusRole, Thread, ThreadStatus, stopped_in_words, summary_of,
};
use runtail_core::text;
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

/// Lines above the rows: breadcrumb, tabs, and column headers.
const HEAD: u16 = 3;

/// Returns the number of lines above the rows. A search of threads, and rows that couldn't be read, have a line of their own.
pub(super) fn head(server: &Server) -> u16 {
    HEAD + u16::from(search_line(server).is_some())
}

/// Draws the pane.
pub(super) fn server(agent: &Agent, server: &Server, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, focused) = (list_area(server, cx.area), cx.is_focused);
    let mut crumbs = breadcrumb(cx.session, &server.server, focused);
    if let (Tab::Runs, Some(thread)) = (server.tab, &server.runs_of) {
        crumbs.push_dim(" › ");
        crumbs.push_plain(&format!("thread {}", text::short_id(thread)));
    }
    crumbs.push_dim(" › ");
    let list = match server.tab {
        Tab::Threads => "threads",
        Tab::Assistants => "assistants",
        Tab::Runs => "runs",
    };
    crumbs.push_plain(list);
    if cx.session.serverless.contains(&server.server) {
        crumbs.push_dim(" · serverless, kept awake");
    }
    let info = cx
        .session
        .infos
        .get(&server.server)
        .and_then(|i| i.value.as_ref());
    let software = info.map(server_software).unwrap_or_default();
    let room = usize::from(area.w.saturating_sub(2)).saturating_sub(crumbs.width() + 2);
    let about = match agent.health.get(&server.server) {
        Some(health) => health.line(&software, room),
        None => Line::dim(&software),
    };
    crumbs.right = about.left;
    canvas.line(area.x + 1, area.y, area.w.saturating_sub(2), &crumbs);
    let is_contract = info.is_some_and(|info| info.kind == ServerKind::Other);
    let rows = below(area, head(server));
    let error = match server.tab {
        Tab::Threads => &server.threads.error,
        Tab::Assistants => &server.assistants.error,
        Tab::Runs => &server.runs.error,
    };
    let ids = server.table().ids();
    let mut tab_line = tabs(server);
    if let Some(error) = error.as_ref().filter(|_| !ids.is_empty()) {
        tab_line = tab_line
            .right(Tone::Bad, "✗ ")
            .right(Tone::Plain, &format!("outdated: {}", error.detail));
    }
    if let (true, Some(health)) = (tab_line.right.is_empty(), agent.health.get(&server.server)) {
        let strip = health.strip();
        if tab_line.width() + strip.width() + 2 <= usize::from(area.w.saturating_sub(2)) {
            tab_line.right = strip.left;
        }
    }
    canvas.line_for_right(area.x + 1, area.y + 1, area.w.saturating_sub(2), &tab_line);
    if let Some(line) = search_line(server) {
        canvas.line(area.x + 1, area.y + 2, area.w.saturating_sub(2), &line);
    }
    if ids.is_empty() {
        let (tone, words) = match error {
            // A server that implements only the contract has no lists. This is not a failure; everything else works.
            Some(error) if error.may_lack_call() && is_contract => {
                let (new_run, command) = (
                    cx.session.key("server.new_run"),
                    cx.session.key("app.command"),
                );
                let words = format!(
                    "Couldn't list {list}.\n{error}\n\n{new_run} starts a run by assistant name, {command} and a thread id follow \
                     one, r retries."
                );
                (Tone::Plain, words)
            }
            Some(error) => (Tone::Bad, format!("{error}\n\nPress r to retry.")),
            None => empty_state(cx, server),
        };
        return canvas.words(rows, tone, &words);
    }
    let shown = ids.get(server.table().visible()).unwrap_or_default();
    let (headers, lines) = table(cx, server, rows.w.saturating_sub(4) as usize, shown);
    canvas.line(area.x + 3, rows.y - 1, area.w.saturating_sub(4), &headers);
    let mut lines = lines.into_iter();
    let style = RowStyle {
        is_focused: focused,
        ..RowStyle::default()
    };
    server.table().draw(canvas, rows, style, |at| {
        let mark = agent.is_marked(server, ids.get(at)?).then_some("+");
        let line = lines.next()?;
        Some(TableRow { mark, line })
    });
    preview::draw(server, cx, canvas);
}

fn tabs(server: &Server) -> Line {
    let threads = total(&server.threads)
        .map(|n| format!(" {n}"))
        .unwrap_or_default();
    let assistants = server
        .assistants
        .value
        .as_ref()
        .map(|all| format!(" {}", all.len()))
        .unwrap_or_default();
    let mut line = Line::new();
    for (tab, key, title) in [
        (Tab::Threads, "1", format!("Threads{threads}")),
        (Tab::Assistants, "2", format!("Assistants{assistants}")),
    ] {
        let chosen = server.tab == tab || (tab == Tab::Threads && server.tab == Tab::Runs);
        line.push_accent(&format!("{key} "));
        line.push(
            if chosen { Tone::Strong } else { Tone::Dim },
            &format!("{title}   "),
        );
    }
    if server.tab == Tab::Threads {
        let marked = &server.threads.table.marked;
        if !marked.is_empty() {
            let hidden = server.threads.table.hidden_marks();
            let hidden = if hidden > 0 {
                format!(", {} not listed", text::count(hidden as u64))
            } else {
                String::new()
            };
            line.push_accent(&format!(
                "{} marked{hidden}   ",
                text::count(marked.len() as u64)
            ));
        }
        match server.threads.order() {
            ListOrder::Server(sort) => {
                line.push_dim("sort ");
                line.push_plain(&format!("{}   ", sort.word()));
            }
            ListOrder::Problems if !server.threads.is_complete && !server.threads.is_empty() => {
                let loaded = text::count(server.threads.len() as u64);
                line.push_dim(&format!("problems first, of {loaded} loaded   "));
            }
            ListOrder::Problems => {}
        }
    }
    if !server.table().filter.is_empty() {
        line.push_accent(&format!("/{}", server.table().filter));
    }
    line
}

fn empty_state(cx: &Cx<'_>, server: &Server) -> (Tone, String) {
    let new_run = cx.session.key("server.new_run");
    let nothing_yet = |what: &str| format!("No {what} yet.\n\n{new_run} starts a run.");
    if server.tab == Tab::Threads && !server.threads.table.filter.is_empty() {
        return (Tone::Plain, nothing_found(cx, &server.threads));
    }
    if let Some(text) = server.table().no_match() {
        return text;
    }
    match (
        server.tab,
        server.threads.at,
        server.assistants.at,
        server.runs.at,
    ) {
        (Tab::Threads, Some(_), ..) => (Tone::Plain, nothing_yet("threads")),
        (Tab::Assistants, _, Some(_), _) => (Tone::Plain, "No assistants.".into()),
        (Tab::Runs, _, _, Some(_)) => (Tone::Plain, nothing_yet("runs")),
        _ => (Tone::Dim, "Loading…".into()),
    }
}

/// Says which revision of the deployment ran a run, if its metadata names one.
fn run_revision(run: &Run, known: &KnownRevisions) -> Option<String> {
    let config = run
        .extra
        .get("kwargs")
        .map_or(&Value::Null, |kwargs| &kwargs["config"]);
    known.words(config, run.metadata.as_ref().unwrap_or(&Value::Null))
}

/// Returns how long ago a time is; nothing for an unknown one.
pub(super) fn ago(at: Option<Timestamp>, now: Timestamp) -> String {
    at.map(|at| text::age_since(at, now)).unwrap_or_default()
}

/// Returns the column headers, and a line for each of these rows.
fn table(cx: &Cx<'_>, server: &Server, width: usize, ids: &[String]) -> (Line, Vec<Line>) {
    match server.tab {
        Tab::Threads => {
            let columns = thread_columns(width);
            let rows = ids.iter().filter_map(|id| server.threads.row(id));
            let lines = rows.map(|row| thread_line(cx, server, &columns, &row.found));
            (columns.head(), lines.collect())
        }
        Tab::Runs => runs(cx, server, width, ids),
        Tab::Assistants => {
            let columns = [
                ("NAME", 24, 0),
                ("GRAPH", 18, 1),
                ("ID", 14, 1),
                ("VER", 3, 1),
                ("DESCRIPTION", REST, 2),
            ];
            let columns = TableColumns::spaced(width, columns).aligned_right(3..4);
            let shown = server.shown_assistants().into_iter();
            let lines = shown
                .filter(|one| ids.contains(&one.assistant_id))
                .map(|one| columns.line(assistant_cells(one)));
            (columns.head(), lines.collect())
        }
    }
}

fn assistant_cells(assistant: &Assistant) -> [Line; 5] {
    let version = assistant.version.map(|version| version.to_string());
    [
        Line::plain(assistant.name.as_deref().unwrap_or(&assistant.graph_id)),
        Line::accent(&assistant.graph_id),
        Line::dim(&text::short_id(&assistant.assistant_id)),
        Line::dim(&version.unwrap_or_default()),
        Line::dim(assistant.description.as_deref().unwrap_or_default()),
    ]
}

/// Returns the column headers of the runs, and a line for each of these.
fn runs(cx: &Cx<'_>, server: &Server, width: usize, ids: &[String]) -> (Line, Vec<Line>) {
    let all = server.runs.value.as_deref().unwrap_or_default();
    let newest = all.first().map(|run| &run.run_id);
    let of_newest = server
        .runs_of
        .as_deref()
        .map(|thread| listed_status(cx, server, thread))
        .unwrap_or_default();
    let revisions = cx.session.deployments.revisions(&server.server);
    let columns = [
        ("STATUS", STATE, 0),
        ("RUN", 14, 1),
        ("AGE", 5, 1),
        ("TOOK", 9, 2),
        ("ASSISTANT", REST, 2),
    ];
    let columns = TableColumns::spaced(width, columns).aligned_right(2..4);
    let mut has_bound = false;
    let shown = server.shown_runs().into_iter();
    let lines = shown.filter(|run| ids.contains(&run.run_id)).map(|run| {
        let (role, word) = match newest == Some(&run.run_id) {
            true => run_state(run, &of_newest),
            false => run_state(run, &ThreadStatus::Loading),
        };
        let took = took(run, all, cx.session.now).unwrap_or_default();
        has_bound |= took.starts_with('≤');
        let mut assistant = Line::accent(&assistant_name(server, &run.assistant_id));
        if let Some(words) = revisions.and_then(|known| run_revision(run, known)) {
            assistant.push_dim(&format!("  {words}"));
        }
        columns.line([
            state(tones(role), role, &word),
            Line::plain(&text::short_id(&run.run_id)),
            Line::dim(&ago(run.created_at, cx.session.now)),
            Line::dim(&took),
            assistant,
        ])
    });
    let lines = lines.collect();
    let meaning = if has_bound { "≤ incl. queue" } else { "" };
    (columns.head().right(Tone::Dim, meaning), lines)
}

/// Width from which the person that a thread belongs to is shown.
const WIDE: usize = 110;

/// The columns of a thread's graph and id, and of what it needs.
const THREAD: usize = 2;
const NEEDS: usize = 4;
/// Columns of a status with its glyph.
const STATE: usize = 17;

fn thread_columns(width: usize) -> TableColumns {
    let (thread, person) = match width {
        WIDE.. => (22, 16),
        70.. => (17, 0),
        _ => (13, 0),
    };
    let columns = [
        ("AGE", 4, 0),
        ("STATE", STATE, 2),
        ("THREAD", thread, 2),
        // The star.
        ("", 1, 0),
        ("WHAT IT NEEDS, NAME OR LAST MESSAGE", REST, 1),
        ("FOR", person, 2),
    ];
    TableColumns::spaced(width, columns).aligned_right(0..1)
}

/// Returns the row of a thread.
fn thread_line(cx: &Cx<'_>, server: &Server, columns: &TableColumns, found: &FoundThread) -> Line {
    let thread = &found.thread;
    let status = listed_status(cx, server, &thread.thread_id);
    let stuck = server.threads.stuck(&thread.thread_id, &status);
    let of_state = match stuck {
        Some(_) => state(STUCK, StatusRole::Unknown, STUCK_WORD),
        None => state(tones(status.role()), status.role(), list_word(&status)),
    };
    let of_thread = match server.table().selected() == Some(&*thread.thread_id) {
        true => Tone::Strong,
        false => Tone::Plain,
    };
    let mut needs = Line::new();
    if let Some(name) = thread.name() {
        let room = columns.width(NEEDS).saturating_sub(2).min(40);
        needs.push_strong(&format!("{}  ", text::seen(name, room)));
    }
    let (tone, notes) = about(found, &status, stuck);
    // By its metadata.
    let value = |key: &str| thread.metadata.as_ref()?.get(key)?.as_str();
    let person = value("owner").or_else(|| value("user"));
    columns.line([
        Line::dim(&ago(thread.updated_at, cx.session.now)),
        of_state,
        Line::of(of_thread, &thread_name(thread, columns.width(THREAD))),
        Line::accent(if thread.is_starred() { "*" } else { "" }),
        needs.with(tone, &notes),
        Line::dim(person.unwrap_or_default()),
    ])
}

/// Returns the graph and the end of a thread's id.
fn thread_name(thread: &Thread, width: usize) -> String {
    let id: Vec<char> = text::clean(text::tail(&thread.thread_id, 64))
        .chars()
        .collect();
    let last: String = id[id.len().saturating_sub(4)..].iter().collect();
    let graph = thread.graph().unwrap_or("thread");
    let graph = text::seen(graph, width.saturating_sub(text::width(&last) + 1));
    format!("{graph} {last}")
}

fn assistant_name(server: &Server, id: &str) -> String {
    let known = server
        .assistants
        .value
        .iter()
        .flatten()
        .find(|a| a.assistant_id == id);
    known.map_or_else(
        || text::short_id(id),
        |a| a.name.clone().unwrap_or_else(|| a.graph_id.clone()),
    )
}

/// The word of a stuck thread, as in the inbox.
pub(super) const STUCK_WORD: &str = "stuck";

/// Returns a status with its glyph.
fn state((of_glyph, tone): (Tone, Tone), role: StatusRole, word: &str) -> Line {
    Line::of(of_glyph, &format!("{} ", role.glyph())).with(tone, word)
}

/// Returns the word of a status, shortened for its column.
pub(super) fn list_word(status: &ThreadStatus) -> &'static str {
    match status {
        ThreadStatus::BusyWithoutRun { .. } => "busy, no run",
        status => status.word(),
    }
}

/// Returns the status of a run by its record, and of the newest run also by the thread's status.
fn run_state(run: &Run, thread: &ThreadStatus) -> (StatusRole, Cow<'static, str>) {
    let (role, word) = match (run.status.as_str(), thread) {
        ("pending" | "queued", _) => (StatusRole::Queued, "queued"),
        ("running" | "streaming", _) => (StatusRole::Moving, "running"),
        ("success" | "completed" | "interrupted", ThreadStatus::Waiting { .. }) => {
            (StatusRole::Waiting, "paused: question")
        }
        ("success" | "completed" | "interrupted", ThreadStatus::Paused { .. }) => {
            (StatusRole::Waiting, "paused")
        }
        ("success" | "completed", _) => (StatusRole::Good, "finished"),
        ("error" | "failed", _) => (StatusRole::Failed, "failed"),
        ("timeout", _) => (StatusRole::Failed, "timed out"),
        ("interrupted" | "cancelled" | "canceled", _) => (StatusRole::Ended, "cancelled"),
        _ => {
            return (
                StatusRole::Unknown,
                text::clean(&run.status).into_owned().into(),
            );
        }
    };
    (role, word.into())
}

/// Returns how long a run has been running or took. Its record only has the time of the request: if an older run ended after that, the
/// run was queued until then, otherwise its time is an upper bound, `≤`, which includes the time in the server's queue. `runs` are
/// the newest first.
fn took(run: &Run, runs: &[Run], now: Timestamp) -> Option<String> {
    let is_queued = matches!(run.status.as_str(), "pending" | "queued");
    let requested = run.created_at.filter(|_| !is_queued)?;
    let end = if run.is_active() {
        now
    } else {
        run.updated_at?
    };
    let older = || {
        runs.iter()
            .skip_while(|one| one.run_id != run.run_id)
            .skip(1)
    };
    let free = older()
        .filter(|one| !one.is_active())
        .filter_map(|one| one.updated_at)
        .max();
    let is_cancelled = matches!(
        run.status.as_str(),
        "interrupted" | "cancelled" | "canceled"
    );
    // It was cancelled in the queue of its thread.
    if is_cancelled && (older().any(Run::is_active) || free.is_some_and(|free| free > end)) {
        return None;
    }
    let began = free.filter(|free| *free > requested && *free <= end);
    let took = Duration::try_from(end.duration_since(began.unwrap_or(requested))).ok()?;
    let bound = if began.is_some() { "" } else { "≤ " };
    Some(format!("{bound}{}", text::duration(took)))
}

/// Describes a thread by the evidence that it is `stuck`, its error, its question, the node where it stopped, its first message, or its metadata.
pub(super) fn about(
    found: &FoundThread,
    status: &ThreadStatus,
    stuck: Option<&str>,
) -> (Tone, String) {
    if let Some(evidence) = stuck {
        return (Tone::Plain, text::clean(evidence).into_owned());
    }
    let nodes = |label: &str, nodes: &[String]| match nodes {
        [] => String::new(),
        nodes => format!("{label} {}", text::clean(&nodes.join(", "))),
    };
    let one_line = |text: &str| {
        text::clean(text::head(text.lines().next().unwrap_or_default(), 1 << 10)).into_owned()
    };
    match status {
        ThreadStatus::Failed { error, .. } if !error.is_empty() => (Tone::Bad, one_line(error)),
        ThreadStatus::Failed { nodes: failed, .. } if !failed.is_empty() => {
            (Tone::Plain, nodes("in", failed))
        }
        ThreadStatus::Waiting { questions, .. } => {
            (Tone::Plain, plain_line(&summary_of(questions)))
        }
        ThreadStatus::Running { nodes: active, .. } if !active.is_empty() => {
            (Tone::Plain, nodes("in", active))
        }
        _ => {
            if let Some(why) = stopped_in_words(status) {
                return (Tone::Plain, text::clean(&why).into_owned());
            }
            if let Some(title) = &found.title {
                return (Tone::Plain, text::clean(&plain_line(title)).into_owned());
            }
            let notes = found.thread.notes().into_iter();
            let notes = notes.map(|(k, v)| {
                format!(
                    "{k}={}",
                    v.as_str().map_or_else(|| v.to_string(), str::to_string)
                )
            });
            (
                Tone::Dim,
                text::clean(&notes.collect::<Vec<_>>().join(" ")).into_owned(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_the_queue_is_no_time_of_a_run_where_it_is_known() {
        let run = |id: &str, status: &str, from: u32, to: u32| -> Run {
            let at = |second: u32| format!("2026-11-21T13:{:02}:{:02}Z", second / 60, second % 60);
            let record = serde_json::json!({"run_id": id, "status": status, "created_at": at(from), "updated_at": at(to)});
            serde_json::from_value(record).unwrap()
        };
        let now: Timestamp = "2026-11-21T13:05:00Z".parse().unwrap();
        let runs = [
            run("f", "pending", 280, 280),
            run("e", "running", 220, 220),
            run("d", "interrupted", 200, 210),
            run("c", "error", 60, 240),
            run("b", "success", 50, 112),
            run("a", "success", 30, 100),
        ];
        let all: Vec<_> = runs.iter().map(|run| took(run, &runs, now)).collect();
        let expected = [
            None,
            Some("1m00s"),
            None,
            Some("2m08s"),
            Some("12s"),
            Some("≤ 1m10s"),
        ];
        assert_eq!(
            all.iter().map(Option::as_deref).collect::<Vec<_>>(),
            expected
        );
    }
}
