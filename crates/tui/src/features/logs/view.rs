//! Draws the log view: one entry per line, sorted by time, with its source if there are several.

use super::state::{LogEntry, LogView};
use super::update::HEAD;
use crate::session::Cx;
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::window;
use crate::widgets::table::{REST, TableColumns};
use jiff::Timestamp;
use runtail_api::LogKind;
use runtail_core::model::Severity;
use runtail_core::text;
use std::time::Duration;

/// Maximum characters of a line that are processed: more than any screen has columns.
const MAX_CHARS: usize = 2_000;

/// Draws the pane.
pub(super) fn draw(logs: &LogView, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, focused) = (cx.area, cx.is_focused);
    let title = match logs.kind {
        LogKind::Build => "Build log",
        LogKind::Server => "Server log",
    };
    let used = canvas.title(area, title, focused);
    let mut head = Line::dim("of ");
    let names: Vec<&str> = logs.sources.iter().map(|s| s.name.as_str()).collect();
    head.push_plain(&names.join(" · "));
    let has_ended = logs.is_ended();
    let head = match (logs.place.follow, logs.new_entries()) {
        (_, 0) if has_ended => {
            head.right = logs.end_line(cx).left;
            head
        }
        (true, _) => head.right(Tone::Good, "● ").right(Tone::Dim, "following"),
        (false, 0) => head.right(Tone::Strong, "‖ paused · G"),
        (false, n) => head.right(Tone::Strong, &format!("‖ {} new · G", text::count(n))),
    };
    canvas.line_for_right(
        area.x + used + 2,
        area.y,
        area.w.saturating_sub(used + 3),
        &head,
    );
    canvas.line(
        area.x + 1,
        area.y + 1,
        area.w.saturating_sub(2),
        &status_line(cx, logs),
    );
    let rows = below(area, HEAD);
    if logs.rows().end == 0 {
        let (tone, words) = empty_state(logs, has_ended);
        return canvas.words(rows, tone, &words);
    }
    let shown: Vec<u64> = window(&logs.rows(), logs.place.top, rows.h as usize)
        .map(|spot| spot.key)
        .collect();
    let entries = || {
        shown
            .iter()
            .filter_map(|row| Some((*row, logs.entry(*row)?)))
    };
    let date = |at: Timestamp| at.to_zoned(cx.session.settings.tz.clone()).date();
    let today = date(cx.session.now);
    // Dates are shown only if a visible line is from another day.
    let dated = entries().any(|(_, e)| e.line.at.is_some_and(|at| date(at) != today));
    let leveled = entries().any(|(_, e)| e.line.level.is_some());
    let names = logs.sources.iter().map(|source| text::width(&source.name));
    let names = match logs.sources.len() {
        ..=1 => 0,
        _ => names.max().unwrap_or(0).min(24).min(area.w as usize / 4),
    };
    // With several logs, a rule is behind their names.
    let columns = [
        ("", if dated { 14 } else { 8 }, 0),
        ("", if leveled { 7 } else { 0 }, 1),
        ("", names, 1),
        ("", usize::from(names > 0), 1),
        ("", REST, 1),
    ];
    let columns = TableColumns::spaced(rows.w.saturating_sub(4).into(), columns);
    for (line, (row, entry)) in entries().enumerate() {
        let y = rows.y + line as u16;
        let text = columns.line(entry_cells(cx, logs, entry, dated));
        canvas.line(rows.x + 3, y, rows.w.saturating_sub(4), &text);
        if row == logs.place.cursor.key {
            canvas.select_all(Area { h: 1, ..rows }, y, focused);
        }
    }
}

/// Returns the line counts, the requested level and time range, the filter and the errors.
fn status_line(cx: &Cx<'_>, logs: &LogView) -> Line {
    let (all, shown) = logs.counts();
    let mut line = Line::dim(&format!("{} lines", text::count(all as u64)));
    if shown != all {
        line.push_dim(&format!(", {} shown", text::count(shown as u64)));
    }
    if let Some(level) = logs.level.and_then(Severity::word) {
        line.push_plain(&format!("   {} and worse", level.to_lowercase()));
    }
    if let Some(minutes) = logs.minutes {
        line.push_plain(&format!(
            "   of the last {}",
            text::age(Duration::from_secs(minutes.unsigned_abs() * 60))
        ));
    }
    if logs.is_ended() {
        line.push_dim("   build ended");
    }
    if logs.let_go > 0 {
        line.push_dim(&format!("   {} evicted", text::count(logs.let_go)));
    }
    let incomplete = logs
        .sources
        .iter()
        .enumerate()
        .filter(|(n, _)| logs.is_incomplete(*n));
    let incomplete: Vec<&str> = incomplete.map(|(_, source)| source.name.as_str()).collect();
    if !incomplete.is_empty() {
        let names = match logs.sources.len() {
            ..=1 => String::new(),
            _ => format!("{}: ", incomplete.join(" · ")),
        };
        line.push_moving(&format!("   {names}may have more lines"));
    }
    if !logs.filter().text().is_empty() {
        line.push_accent(&format!("   /{}", logs.filter().text()));
    }
    for source in &logs.sources {
        if let Some(error) = &source.error {
            let age = |at| format!(", {} old", text::age_since(at, cx.session.now));
            let old = source.loaded_at.map(age).unwrap_or_default();
            let name = match logs.sources.len() {
                ..=1 => String::new(),
                _ => format!("{} ", source.name),
            };
            line = line
                .right(Tone::Bad, &format!("  ✗ {name}{}", error.badge()))
                .right(Tone::Dim, &old);
        }
    }
    line
}

/// Returns the time of a line, its level, the name of its log, a rule, and the message.
fn entry_cells(cx: &Cx<'_>, logs: &LogView, entry: &LogEntry, dated: bool) -> [Line; 5] {
    let form = if dated { "%m-%d %H:%M:%S" } else { "%H:%M:%S" };
    let tz = || cx.session.settings.tz.clone();
    let at = entry.line.at.map(|at| at.to_zoned(tz()).strftime(form));
    let at = at.map_or_else(|| "-".to_string(), |at| at.to_string());
    let severity = entry.line.severity();
    let of_level = match severity {
        Severity::Critical | Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Moving,
        _ => Tone::Dim,
    };
    let name = logs.sources.get(entry.source).map(|source| &*source.name);
    // Color separates adjacent logs; the name does too without color.
    let of_name = [Tone::Accent, Tone::Ns, Tone::Plain][entry.source % 3];
    let end = entry.line.message.char_indices().nth(MAX_CHARS);
    let end = end.map_or(entry.line.message.len(), |(i, _)| i);
    let of_message = match severity {
        Severity::Debug => Tone::Dim,
        _ => Tone::Plain,
    };
    [
        Line::dim(&at),
        Line::of(of_level, entry.line.level.as_deref().unwrap_or_default()),
        Line::of(of_name, name.unwrap_or_default()),
        Line::dim("│"),
        Line::of(of_message, &entry.line.message[..end]),
    ]
}

fn empty_state(logs: &LogView, has_ended: bool) -> (Tone, String) {
    if let Some(error) = logs.sources.iter().find_map(|s| s.error.as_ref()) {
        return (
            Tone::Bad,
            format!("{}\n\nPress r to retry now.", error.story()),
        );
    }
    if !logs.is_loaded() {
        return (Tone::Dim, "Loading…".into());
    }
    if !logs.filter().is_empty() {
        return (
            Tone::Plain,
            format!(
                "No line matches “{}”.\n\nPress Esc to clear the filter.",
                text::clean(logs.filter().text())
            ),
        );
    }
    let why = match logs.kind {
        LogKind::Build if has_ended => {
            return (
                Tone::Plain,
                "The build ended with an empty log.\n\nImages built elsewhere have none.".into(),
            );
        }
        LogKind::Build => "Starts with the build; images built elsewhere have none.",
        LogKind::Server => "Starts when a revision is deployed.",
    };
    let hint = match (logs.level, logs.minutes) {
        (None, None) => "",
        _ => " & sets the level, T the time range.",
    };
    (Tone::Plain, format!("No lines yet.\n\n{why}{hint}"))
}
