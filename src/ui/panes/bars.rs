//! The header (which profiles, how they are) and the footer (what goes on, which keys make sense).

use crate::api::ApiError;
use crate::app::layout::Area;
use crate::app::line::{Line, Tone};
use crate::app::viewer::Viewer;
use crate::app::{App, Pane};
use crate::text;
use crate::ui::Canvas;
use std::time::Duration;

/// The first line.
pub fn header(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let mut line = Line::of(Tone::Strong, " runtail");
    line.push(Tone::Dim, " │ ");
    let mut names: Vec<&str> = app.profiles.iter().map(|p| &*p.name).collect();
    let more = names.len().saturating_sub(4);
    names.truncate(4);
    line.push(Tone::Plain, &names.join(" · "));
    if more > 0 {
        line.push(Tone::Dim, &format!(" and {more} more"));
    }
    if app.settings.demo {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Moving, "DEMO");
        line.push(Tone::Dim, " simulated servers");
    }
    let all_read_only = !app.profiles.is_empty() && app.profiles.iter().all(|p| p.read_only);
    for (profile, label) in app.profiles.iter().filter_map(|p| Some((p, p.label.as_deref()?))) {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Strong, &format!("‹{label}›"));
        if profile.read_only && !all_read_only {
            line.push(Tone::Dim, " read-only");
        }
    }
    if all_read_only {
        line.push(Tone::Dim, " │ ");
        line.push(Tone::Strong, "READ-ONLY");
    }
    for profile in &app.profiles {
        let tag = profile.tag();
        let (error, answered) = match profile.control_plane {
            true => (profile.error.as_ref(), profile.loaded_at.is_some()),
            false => server_health(app, &profile.name),
        };
        let (mark, tone) = match (error, answered) {
            (Some(error), _) => (format!("✗ {}", error.badge()), Tone::Bad),
            (None, true) => ("●".to_string(), Tone::Good),
            (None, false) => ("◐".to_string(), Tone::Moving),
        };
        line = line.right(Tone::Dim, &format!("  {tag} ")).right(tone, &mark);
    }
    if !line.right.is_empty() {
        line = line.right(Tone::Plain, " ");
    }
    canvas.line_for_right(area.x, area.y, area.w, &line);
}

/// How the agent servers of a profile without a control plane are: a failure, and whether any has answered.
fn server_health<'a>(app: &'a App, profile: &str) -> (Option<&'a ApiError>, bool) {
    // What is polled knows more than what was asked once.
    if let Some(server) = app.server.as_ref().filter(|s| &*s.server.profile == profile && s.threads.at.is_some()) {
        return (server.threads.error.as_ref(), true);
    }
    let infos = || app.infos.iter().filter(|(server, _)| &*server.profile == profile).map(|(_, info)| info);
    (infos().find_map(|i| i.error.as_ref()), infos().any(|i| i.value.is_some()))
}

/// The last line: a filter being typed, a notice, or what goes on; at the right the keys that make sense.
pub fn footer(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let mut line = Line::of(Tone::Plain, " ");
    if app.filtering {
        let filter = match (app.focus, &app.server) {
            (Pane::Stream, Some(server)) => &server.filter,
            _ => &app.fleet.filter,
        };
        line.push(Tone::Accent, "/");
        line.push(Tone::Strong, filter);
        line.push(Tone::Accent, "▏");
        canvas.line(area.x, area.y, area.w, &line.right(Tone::Dim, "⏎ keep  Esc clear "));
        return;
    }
    if let Some(notice) = app.notice() {
        let first = notice.text.lines().next().unwrap_or("");
        let more = notice.text.lines().count() > 1 || text::width(first) + 14 > area.w as usize;
        line.push(if notice.error { Tone::Bad } else { Tone::Accent }, if notice.error { "✗ " } else { "· " });
        let room = (area.w as usize).saturating_sub(if more { 14 } else { 4 });
        line.push(Tone::Plain, &text::fit(&text::clean(first), room));
        let hint = if more { "! all of it " } else { "" };
        canvas.line(area.x, area.y, area.w, &line.right(Tone::Dim, hint));
        return;
    }
    let mut hints = Line::new();
    for (key, label) in app.keymap.hints(app.context(), app.server.as_ref().map(|s| s.tab)) {
        hints.push(Tone::Accent, &key);
        hints.push(Tone::Dim, &format!(" {label}  "));
    }
    if let (Some(viewer), Pane::Stream, true) = (&app.viewer, app.focus, app.overlays.is_empty()) {
        let status = stream_status(app, viewer);
        if status.width() + hints.width() + 2 <= area.w as usize {
            line.left.extend(status.left);
        }
    }
    if line.width() + hints.width() < area.w as usize {
        let pad = area.w as usize - line.width() - hints.width();
        line.push(Tone::Plain, &" ".repeat(pad));
    }
    line.left.extend(hints.left);
    canvas.line(area.x, area.y, area.w, &line);
}

/// The ledger in one line: the two clocks, and the sums.
fn stream_status(app: &App, viewer: &Viewer) -> Line {
    let ledger = &viewer.projections.ledger;
    let since = |at: Option<jiff::Timestamp>| {
        at.and_then(|t| Duration::try_from(app.now - t).ok()).map(text::age).unwrap_or_else(|| "-".into())
    };
    let mut line = Line::new();
    if viewer.is_open() {
        line.push(
            Tone::Dim,
            &format!("alive {} · event {} · ", since(ledger.last_alive_at), since(ledger.last_event_at)),
        );
    }
    line.push(Tone::Plain, &format!("{} in", text::count(ledger.received)));
    line.push(Tone::Dim, &format!(" · {} twice · ", text::count(ledger.duplicates)));
    let gaps = format!("{} gap{}", ledger.gaps, if ledger.gaps == 1 { "" } else { "s" });
    line.push(if ledger.gaps > 0 { Tone::Bad } else { Tone::Dim }, &gaps);
    if ledger.malformed + ledger.too_large > 0 {
        line.push(Tone::Bad, &format!(" · {} odd", ledger.malformed + ledger.too_large));
    }
    line
}
