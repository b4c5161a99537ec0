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
use crate::widgets::table::{RowStyle, TableRow};
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
        crumbs.push_dim(" · serverless, kept awake by this page");
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
                    "This server can't list its {list}.\n{error}\n\nPress {new_run} to start a run with an assistant's name, or \
                     {command} and a thread id to follow it.\nPress r to retry."
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
                format!(", {} not in this list", text::count(hidden as u64))
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
        (Tab::Threads, Some(_), ..) => (
            Tone::Plain,
            format!(
                "This server has no threads yet.\n\nPress {new_run} to start a run on a new thread."
            ),
        ),
        (Tab::Assistants, _, Some(_), _) => (Tone::Plain, "This server has no assistants.".into()),
        (Tab::Runs, _, _, Some(_)) => (
            Tone::Plain,
            format!("Nothing has run on this thread yet.\n\nPress {new_run} to start a run."),
        ),
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

pub(super) fn ago(at: Option<Timestamp>, now: Timestamp) -> String {
    at.and_then(|t| Duration::try_from(now - t).ok())
        .map(text::age)
        .unwrap_or_default()
}

/// Returns the column headers, and a line for each of these rows.
fn table(cx: &Cx<'_>, server: &Server, width: usize, ids: &[String]) -> (Line, Vec<Line>) {
    match server.tab {
        Tab::Threads => {
            let columns = ThreadColumns::new(width);
            let rows = ids.iter().filter_map(|id| server.threads.row(id));
            let lines = rows.map(|row| columns.line(cx, server, width, &row.found));
            (columns.head(), lines.collect())
        }
        Tab::Runs => runs(cx, server, width, ids),
        Tab::Assistants => {
            let head = format!(
                "{:<24} {:<18} {:<14} {:>3}  {}",
                "NAME", "GRAPH", "ID", "VER", "DESCRIPTION"
            );
            let shown = server.shown_assistants().into_iter();
            let lines = shown
                .filter(|one| ids.contains(&one.assistant_id))
                .map(assistant_line);
            (Line::dim(&head), lines.collect())
        }
    }
}

fn assistant_line(assistant: &Assistant) -> Line {
    let name = assistant.name.as_deref().unwrap_or(&assistant.graph_id);
    let mut line = Line::plain(&format!("{:<24} ", text::fit(&text::clean(name), 24)));
    line.push_accent(&format!(
        "{:<18} ",
        text::fit(&text::clean(&assistant.graph_id), 18)
    ));
    line.push_dim(&format!("{:<14} ", text::short_id(&assistant.assistant_id)));
    line.push_dim(&format!(
        "{:>3}  ",
        assistant.version.map(|v| v.to_string()).unwrap_or_default()
    ));
    line.push_dim(assistant.description.as_deref().unwrap_or(""));
    line
}

/// Returns the column headers of the runs, and a line for each of these.
fn runs(cx: &Cx<'_>, server: &Server, width: usize, ids: &[String]) -> (Line, Vec<Line>) {
    let all = server.runs.value.as_deref().unwrap_or_default();
    let thread = server
        .runs_of
        .as_deref()
        .map(|thread| listed_status(cx, server, thread))
        .unwrap_or_default();
    let newest = all.first().map(|run| &run.run_id);
    let revisions = cx.session.deployments.revisions(&server.server);
    let (mut lines, mut has_bound) = (Vec::new(), false);
    for run in server.shown_runs() {
        if !ids.contains(&run.run_id) {
            continue;
        }
        let (role, word) = run_state(
            run,
            if newest == Some(&run.run_id) {
                &thread
            } else {
                &ThreadStatus::Loading
            },
        );
        let mut line = state(role, &word);
        line.push_plain(&format!("{:<14} ", text::short_id(&run.run_id)));
        line.push_dim(&format!("{:>5}  ", ago(run.created_at, cx.session.now)));
        let took = took(run, all, cx.session.now);
        has_bound |= took.as_ref().is_some_and(|took| took.starts_with('≤'));
        line.push_dim(&format!("{:>9}  ", took.unwrap_or_default()));
        line.push_accent(&assistant_name(server, &run.assistant_id));
        let revision = revisions.and_then(|known| run_revision(run, known));
        if let Some(words) = revision {
            line.push_dim(&format!("  {words}"));
        }
        lines.push(line);
    }
    let head = format!(
        "{:<STATE$} {:<14} {:>5}  {:>9}  {}",
        "STATUS", "RUN", "AGE", "TOOK", "ASSISTANT"
    );
    let meaning = match has_bound {
        false => "",
        true if width < WIDE => "≤ incl. queue",
        true => "≤ may include time in the queue",
    };
    (Line::dim(&head).right(Tone::Dim, meaning), lines)
}

/// Width from which the person that a thread belongs to is shown.
const WIDE: usize = 110;

/// The widths of the columns of a list of threads.
struct ThreadColumns {
    thread: usize,
    /// 0 if it is not shown.
    person: usize,
}

impl ThreadColumns {
    fn new(width: usize) -> ThreadColumns {
        match width {
            WIDE.. => ThreadColumns {
                thread: 22,
                person: 18,
            },
            70.. => ThreadColumns {
                thread: 17,
                person: 0,
            },
            _ => ThreadColumns {
                thread: 13,
                person: 0,
            },
        }
    }

    fn head(&self) -> Line {
        let thread = self.thread;
        let head = format!(
            "{:>4}  {:<STATE$}  {:<thread$}  {}",
            "AGE", "STATE", "THREAD", "WHAT IT NEEDS, NAME OR LAST MESSAGE"
        );
        let line = Line::dim(&head);
        if self.person > 0 {
            line.right(Tone::Dim, &format!("{:<1$}", "FOR", self.person - 2))
        } else {
            line
        }
    }

    /// Returns the row of a thread.
    fn line(&self, cx: &Cx<'_>, server: &Server, width: usize, found: &FoundThread) -> Line {
        let thread = &found.thread;
        let status = listed_status(cx, server, &thread.thread_id);
        let stuck = server.threads.stuck(&thread.thread_id, &status);
        let mut line = Line::dim(&format!("{:>4}  ", ago(thread.updated_at, cx.session.now)));
        let of_state = match stuck {
            Some(_) => cell(STUCK, (StatusRole::Unknown.glyph(), STUCK_WORD)),
            None => state(status.role(), list_word(&status)),
        };
        line.left.extend(of_state.left);
        line.push_plain(" ");
        let is_selected = server.table().selected() == Some(&*thread.thread_id);
        let of_thread = if is_selected {
            Tone::Strong
        } else {
            Tone::Plain
        };
        line.push(of_thread, &self.thread(thread));
        line.push_accent(if thread.is_starred() { "* " } else { "  " });
        let mut room = width.saturating_sub(line.width() + self.person);
        if let Some(name) = thread.name() {
            let name = format!("{}  ", text::seen(name, room.saturating_sub(2).min(40)));
            room = room.saturating_sub(text::width(&name));
            line.push_strong(&name);
        }
        let (tone, notes) = about(found, &status, stuck);
        line.push(tone, &text::fit(&notes, room));
        match self.person {
            0 => line,
            _ => line.right(Tone::Dim, &self.person(thread)),
        }
    }

    /// Returns the graph and the end of the thread's id.
    fn thread(&self, thread: &Thread) -> String {
        let id: Vec<char> = text::clean(text::tail(&thread.thread_id, 64))
            .chars()
            .collect();
        let last: String = id[id.len().saturating_sub(4)..].iter().collect();
        let graph = thread.graph().unwrap_or("thread");
        let graph = text::seen(graph, self.thread.saturating_sub(text::width(&last) + 1));
        let name = format!("{graph} {last}");
        let pad = self.thread.saturating_sub(text::width(&name));
        name + &" ".repeat(pad)
    }

    /// Returns the person that the thread belongs to, by its metadata.
    fn person(&self, thread: &Thread) -> String {
        let value = |key: &str| thread.metadata.as_ref()?.get(key)?.as_str();
        let room = self.person - 2;
        let name = text::seen(
            value("owner").or_else(|| value("user")).unwrap_or_default(),
            room,
        );
        let pad = room.saturating_sub(text::width(&name));
        name + &" ".repeat(pad)
    }
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

/// Columns of a status with its glyph.
const STATE: usize = 17;

/// The word of a stuck thread, as in the inbox.
pub(super) const STUCK_WORD: &str = "stuck";

/// Formats a status for its column.
fn state(role: StatusRole, word: &str) -> Line {
    cell(tones(role), (role.glyph(), word))
}

/// Formats a glyph and a word, each with its tone, for the column of the status.
fn cell((first, tone): (Tone, Tone), (glyph, word): (&str, &str)) -> Line {
    let mut line = Line::of(first, &format!("{glyph} "));
    line.push(tone, &text::fit(word, STATE - 2));
    line.push_plain(&" ".repeat((STATE + 1).saturating_sub(line.width())));
    line
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
