//! Draws the revisions of the selected deployment, newest first, with the time spent in each status.

use super::Deployments;
use super::list::Listed;
use super::revisions::History;
use super::view::{region, revision_age};
use crate::session::Cx;
use crate::session::msg::NextPoll;
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::theme::phase_glyph;
use jiff::Timestamp;
use runtail_core::model::{Phase, Revision, RevisionRole};
use runtail_core::text;
use std::time::Duration;

/// Maximum columns of a row.
const MAX_WIDTH: u16 = 100;

/// Draws the pane.
pub(super) fn revisions(d: &Deployments, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, focused) = (cx.area, cx.is_focused);
    let rows = below(area, 1);
    let Some(row) = d.list.selected() else {
        canvas.title(area, "REVISIONS", focused);
        return canvas.words(rows, Tone::Dim, "No deployment selected.");
    };
    let used = canvas.title(area, "REVISIONS", focused);
    let region = region(cx, row);
    let mut head = Line::of(Tone::Dim, "of ");
    if !region.is_empty() {
        head.push(Tone::Dim, &format!("{region} › "));
    }
    head.push(Tone::Plain, &row.name);
    let Some(deployment) = &row.deployment else {
        canvas.line(area.x + used + 2, area.y, area.w.saturating_sub(used + 3), &head);
        return agent_server(d, cx, canvas, rows);
    };
    let history = d.history();
    let halted = cx.session.profiles.get(row.profile).is_some_and(|p| p.halted);
    if let Some(history) = history {
        head = head.right(Tone::Dim, &next_poll(history, cx, halted));
    }
    canvas.line(area.x + used + 2, area.y, area.w.saturating_sub(used + 3), &head);
    if row.gone {
        return canvas.words(rows, Tone::Plain, "This deployment was deleted.");
    }
    if halted && history.is_none_or(|h| h.loaded_at.is_none()) {
        return canvas.words(rows, Tone::Plain, "Not loaded: the key was rejected.\n\nPress r to retry.");
    }
    let Some(history) = history else { return canvas.words(rows, Tone::Dim, "Loading revisions…") };
    match (&history.error, history.loaded_at) {
        (Some(error), None) => return canvas.words(rows, Tone::Bad, &error.story()),
        (None, None) => return canvas.words(rows, Tone::Dim, "Loading revisions…"),
        _ if history.revisions.is_empty() => return canvas.words(rows, Tone::Plain, "No revisions."),
        _ => {}
    }
    let mut rows = rows;
    if !history.was_sorted {
        let words = "The server's list was not sorted by date; sorted here.";
        canvas.foreign(rows.x + 3, rows.y, rows.w.saturating_sub(4), words, Tone::Moving);
        rows = below(rows, 1);
    }
    list(d, cx, history, deployment, canvas, rows, focused);
}

fn next_poll(history: &History, cx: &Cx<'_>, halted: bool) -> String {
    match (&history.error, history.next_poll) {
        _ if halted => "stopped, r retries".into(),
        (_, Some(NextPoll::GaveUp)) => "timed out, r polls again".into(),
        (_, Some(NextPoll::Stopped)) => "stopped, r retries".into(),
        (error, Some(NextPoll::At(at))) => {
            let wait = Duration::try_from(at - cx.session.now).unwrap_or_default();
            let is_final = history.revisions.first().is_some_and(|r| r.phase().is_final());
            match error {
                Some(error) => {
                    let old =
                        history.loaded_at.and_then(|t| Duration::try_from(cx.session.now - t).ok()).map(text::age);
                    let old = old.map(|age| format!("{age} old · ")).unwrap_or_default();
                    let when = if wait.as_secs() == 0 {
                        "retrying…".into()
                    } else {
                        format!("retry in {}", text::age(wait))
                    };
                    format!("{old}{} · {when}", error.badge())
                }
                None if is_final => "idle".into(),
                None if wait.as_secs() == 0 => "polling…".into(),
                None => format!("next poll in {}", text::age(wait)),
            }
        }
        (_, None) => String::new(),
    }
}

fn list(
    d: &Deployments,
    cx: &Cx<'_>,
    history: &History,
    deployment: &Listed,
    canvas: &mut Canvas<'_>,
    rows: Area,
    focused: bool,
) {
    // A row as wide as a wide screen would be hard to read.
    let rows = Area { w: rows.w.min(MAX_WIDTH), ..rows };
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    let reported = reported(d, cx);
    let when = reported.and_then(|(_, at)| Duration::try_from(cx.session.now - at?).ok());
    let when = when.map(|age| format!(", {} ago", text::age(age))).unwrap_or_default();
    for (number, revision) in history.revisions.iter().enumerate() {
        lines.push((
            Some(number),
            revision_line(history, revision, deployment, d, cx, rows.w.saturating_sub(4) as usize),
        ));
        let phases = history.phases(&revision.id, cx.session.now);
        if !phases.is_empty() && (number == 0 || !revision.phase().is_final()) {
            lines.push((None, phases_line(&phases, revision)));
        }
        if let Some(message) = revision.extra.get("status_message").and_then(|m| m.as_str()).filter(|m| !m.is_empty()) {
            lines.push((None, Line::of(Tone::Bad, "  ").with(Tone::Plain, message)));
        }
        if reported.as_ref().is_some_and(|(id, _)| *id == revision.id) {
            lines.push((None, Line::of(Tone::Dim, &format!("  reported by the server{when}"))));
        }
    }
    if let Some((id, _)) = reported.filter(|(id, _)| history.revisions.iter().all(|one| one.id != *id)) {
        let words = format!("  The server reports {}, not listed here.", text::short_id(id));
        lines.push((None, Line::of(Tone::Dim, &words)));
    }
    let at = d.revision_picker.at(&d.revision_ids());
    let marked = lines.iter().position(|(n, _)| n.is_some() && *n == at).unwrap_or(0);
    let height = rows.h as usize;
    let top = (marked + 2).min(lines.len()).saturating_sub(height);
    for (i, (number, line)) in lines.iter().skip(top).take(height).enumerate() {
        let y = rows.y + i as u16;
        canvas.line(rows.x + 3, y, rows.w.saturating_sub(4), line);
        if let Some(revision) = number.and_then(|n| history.revisions.get(n)) {
            let is_this = |of: &crate::session::msg::RevisionRef| {
                *of.revision == *revision.id && *of.deployment == *deployment.id
            };
            if d.compared.as_ref().is_some_and(is_this) {
                canvas.foreign(rows.x, y, 1, "+", Tone::Accent);
            } else if d.watches.keys().any(is_this) {
                canvas.foreign(rows.x, y, 1, "»", Tone::Accent);
            }
        }
        if number.is_some() && *number == at {
            canvas.select(Area { h: 1, ..rows }, y, focused);
        }
    }
}

/// Returns the revision that the server of the selected deployment reports, and when that was loaded.
fn reported<'a>(d: &Deployments, cx: &'a Cx<'_>) -> Option<(&'a str, Option<Timestamp>)> {
    let server = d.list.selected()?.server(&cx.session.profiles)?;
    let info = cx.lookup.server_info(&server)?;
    Some((info.value.as_ref()?.revision()?, info.at))
}

fn revision_line(
    history: &History,
    revision: &Revision,
    deployment: &Listed,
    d: &Deployments,
    cx: &Cx<'_>,
    width: usize,
) -> Line {
    let (glyph, tone) = phase_glyph(revision.phase());
    // The column is as wide as its longest status, so that the next column stays aligned.
    let longest = history.revisions.iter().map(|r| text::width(&text::clean(&r.status))).max().unwrap_or(0);
    let status_width = longest.clamp(14, 24);
    let word = if revision.status.is_empty() { "no status" } else { &revision.status };
    let mut line = Line::of(tone, &format!("{glyph} ")).with(Tone::Plain, &format!("{word:<status_width$} "));
    let made_from = revision.source_revision_config.made_from().unwrap_or_else(|| text::short_id(&revision.id));
    let profile = d.list.selected().and_then(|r| cx.session.profiles.get(r.profile));
    let age = profile.map(|p| revision_age(p, revision, cx.session.now)).unwrap_or_default();
    let roles = history.roles(Some(deployment), profile.and_then(|p| p.loaded_at));
    // Reserve room for role and age at the right edge.
    let room = width.saturating_sub(line.width() + if roles.derived { 23 } else { 17 });
    line.push(Tone::Dim, &text::fit(&text::clean(&made_from), room));
    let role = match roles.of(&revision.id, &revision.status) {
        // The server does not report which revision serves traffic.
        RevisionRole::Serving if roles.derived => ("serving, derived", Tone::Good),
        role @ RevisionRole::Serving => (role.word(), Tone::Good),
        role @ RevisionRole::Superseded => (role.word(), Tone::Dim),
        role @ RevisionRole::Candidate => (role.word(), Tone::Moving),
        role => (role.word(), Tone::Dim),
    };
    line.right(role.1, role.0).right(Tone::Dim, &format!("{:>5}", age))
}

fn phases_line(phases: &[(String, Duration, bool)], revision: &Revision) -> Line {
    let mut line = Line::of(Tone::Dim, "  ");
    for (i, (status, spent, from_start)) in phases.iter().enumerate() {
        if i > 0 {
            line.push(Tone::Dim, " ▸ ");
        }
        let last = i + 1 == phases.len() && !revision.phase().is_final();
        let at_least = if *from_start { "" } else { "≥" };
        // An unknown status is shown as received.
        let word = match Phase::of(status) {
            Phase::Unknown => status.clone(),
            _ => status.to_lowercase().replace("awaiting_", "awaiting "),
        };
        line.push(if last { Tone::Plain } else { Tone::Dim }, &format!("{word} {at_least}{}", text::duration(*spent)));
    }
    if revision.phase() == Phase::Unknown && revision.status != "UNKNOWN" {
        line = line.right(Tone::Dim, "unknown status");
    }
    line
}

/// Draws what an agent server reports about itself, because without a control plane it has no revisions.
fn agent_server(d: &Deployments, cx: &Cx<'_>, canvas: &mut Canvas<'_>, area: Area) {
    let server = d.list.selected().and_then(|r| r.server(&cx.session.profiles));
    let Some(server) = server else { return };
    let info = cx.lookup.server_info(&server);
    match info.map(|i| (&i.value, &i.error)) {
        Some((_, Some(error))) => canvas.words(area, Tone::Bad, &error.story()),
        Some((Some(info), None)) => {
            let text = format!(
                "Local agent server: no revisions.\n\n{}\n{}",
                crate::session::profile::server_software(info),
                server.url.trim_end_matches('/')
            );
            canvas.words(area, Tone::Plain, &text);
        }
        _ => canvas.words(area, Tone::Dim, "Checking the server…"),
    }
}
