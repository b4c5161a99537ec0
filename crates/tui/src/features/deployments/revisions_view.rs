//! Draws the revisions of the selected deployment, newest first, with the time spent in each status.

use super::list::Listed;
use super::revisions::History;
use super::view::{about_state, fit_commit, phase_line, region, responds, revision_age};
use super::{Deployments, server_pane};
use crate::session::Cx;
use crate::session::msg::{NextPoll, RevisionRef};
use crate::session::profile::ProfileState;
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::table::TableColumns;
use jiff::Timestamp;
use runtail_core::model::{Phase, Revision, RevisionRole};
use runtail_core::text;
use std::time::Duration;

/// Columns of a duration that still grows, so that the columns beside it stay: `10m00s`.
const GROWING: usize = 6;
/// Minimum columns of the message.
const MIN_MESSAGE: usize = 8;

/// Returns the title: whose revisions these are, and whether polling them has a problem.
pub(super) fn title(d: &Deployments, cx: &Cx<'_>) -> Line {
    let tone = if cx.is_focused {
        Tone::Focus
    } else {
        Tone::Dim
    };
    let Some(row) = d.list.selected() else {
        return Line::of(tone, "Revisions");
    };
    let what = if row.deployment.is_some() {
        "Revisions of "
    } else {
        "Agent server "
    };
    let mut line = Line::of(tone, &format!("{what}{}", row.name));
    // In its list the deployment has its region beside it.
    let is_alone = cx.area.w >= cx.session.size.0;
    let region = region(cx, row);
    if is_alone && !region.is_empty() {
        line.push_dim(&format!(" · {region}"));
    }
    let halted = cx
        .session
        .profiles
        .get(row.profile)
        .is_some_and(|p| p.halted);
    let state = d
        .history()
        .and_then(|history| poll_state(history, cx, halted));
    line.right(Tone::Plain, &state.unwrap_or_default())
}

/// Returns why the revisions are not being polled, the error of the last poll, or its age while something is in progress.
fn poll_state(history: &History, cx: &Cx<'_>, halted: bool) -> Option<String> {
    let now = cx.session.now;
    match (&history.error, history.next_poll?) {
        _ if halted => Some("stopped, r retries".into()),
        (_, NextPoll::GaveUp) => Some("timed out, r polls again".into()),
        (_, NextPoll::Stopped) | (Some(_), NextPoll::Off) => Some("stopped, r retries".into()),
        (Some(error), NextPoll::At(at)) => {
            let wait = Duration::try_from(at - now).unwrap_or_default();
            let old = history
                .loaded_at
                .and_then(|t| Duration::try_from(now - t).ok())
                .map(text::age);
            let old = old.map(|age| format!("{age} old · ")).unwrap_or_default();
            let when = match wait.as_secs() {
                0 => "retrying…".to_string(),
                _ => format!("retry in {}", text::age(wait)),
            };
            Some(format!("{old}{} · {when}", error.badge()))
        }
        (None, NextPoll::Off) => Some("not polled, r reads again".into()),
        (None, NextPoll::At(_)) => {
            let is_moving = history
                .revisions
                .first()
                .is_some_and(|newest| !newest.phase().is_final());
            let age = Duration::try_from(now - history.loaded_at.filter(|_| is_moving)?)
                .unwrap_or_default();
            Some(format!("polled {} ago", text::age(age)))
        }
    }
}

/// Draws the pane. `has_details`: whether the details of the selected revision are beside it.
pub(super) fn revisions(d: &Deployments, cx: &Cx<'_>, canvas: &mut Canvas<'_>, has_details: bool) {
    let area = cx.area;
    let Some(row) = d.list.selected() else {
        return canvas.words(area, Tone::Dim, "No deployment selected.");
    };
    let Some(deployment) = &row.deployment else {
        return server_pane::server(d, cx, canvas);
    };
    let history = d.history();
    let halted = cx
        .session
        .profiles
        .get(row.profile)
        .is_some_and(|p| p.halted);
    if row.gone {
        return canvas.words(area, Tone::Plain, super::details::GONE);
    }
    if halted && history.is_none_or(|h| h.loaded_at.is_none()) {
        return canvas.words(
            area,
            Tone::Plain,
            "Not loaded: the key was rejected.\n\nPress r to retry.",
        );
    }
    let Some(history) = history else {
        return canvas.words(area, Tone::Dim, "Loading revisions…");
    };
    match (&history.error, history.loaded_at) {
        (Some(error), None) => return canvas.words(area, Tone::Bad, &error.story()),
        (None, None) => return canvas.words(area, Tone::Dim, "Loading revisions…"),
        _ if history.revisions.is_empty() => {
            return canvas.words(area, Tone::Plain, "No revisions.");
        }
        _ => {}
    }
    let columns = columns(d, cx, history, usize::from(area.w.saturating_sub(4)));
    canvas.line(
        area.x + 3,
        area.y,
        area.w.saturating_sub(4),
        &Line::dim(&columns.head().text()),
    );
    let mut rows = below(area, 1);
    let unsorted =
        (!history.was_sorted).then_some("The server's list was not sorted by date; sorted here.");
    for words in unsorted.into_iter().chain(history.unread.as_deref()) {
        canvas.foreign(
            rows.x + 3,
            rows.y,
            rows.w.saturating_sub(4),
            words,
            Tone::Dim,
        );
        rows = below(rows, 1);
    }
    if let Some(about) = about_state(cx, row).filter(|_| !has_details) {
        for part in wrap(&about, usize::from(rows.w.saturating_sub(4))) {
            canvas.foreign(
                rows.x + 3,
                rows.y,
                rows.w.saturating_sub(4),
                &part,
                Tone::Plain,
            );
            rows = below(rows, 1);
        }
    }
    let lines = lines(d, cx, history, &columns, has_details);
    draw_lines(d, cx, history, deployment, &lines, rows, canvas);
}

/// Returns a line for each revision, with its index, and the lines about it below.
fn lines(
    d: &Deployments,
    cx: &Cx<'_>,
    history: &History,
    columns: &TableColumns,
    has_details: bool,
) -> Vec<(Option<usize>, Line)> {
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    let reported = reported(d, cx);
    let when = reported.and_then(|(_, at)| Duration::try_from(cx.session.now - at?).ok());
    let when = when
        .map(|age| format!(", {} ago", text::age(age)))
        .unwrap_or_default();
    for (number, revision) in history.revisions.iter().enumerate() {
        lines.push((
            Some(number),
            revision_line(history, revision, d, cx, columns),
        ));
        if !has_details {
            let phases = history.phases(&revision.id, cx.session.now);
            let is_shown = !phases.is_empty() && (number == 0 || !revision.phase().is_final());
            if is_shown && adds_to_total(&phases, revision) {
                lines.push((None, phases_line(&phases, revision)));
            }
            if let Some(message) = status_message(revision) {
                lines.push((None, Line::bad("  ").with_plain(message)));
            }
        }
        if reported.as_ref().is_some_and(|(id, _)| *id == revision.id) {
            lines.push((None, Line::dim(&format!("  reported by the server{when}"))));
        }
    }
    if let Some((id, _)) =
        reported.filter(|(id, _)| history.revisions.iter().all(|one| one.id != *id))
    {
        let words = format!(
            "  The server reports {}, not listed here.",
            text::short_id(id)
        );
        lines.push((None, Line::dim(&words)));
    }
    lines
}

/// Returns what the server says about the status of a revision.
pub(super) fn status_message(revision: &Revision) -> Option<&str> {
    revision
        .extra
        .get("status_message")
        .and_then(|message| message.as_str())
        .filter(|message| !message.is_empty())
}

fn draw_lines(
    d: &Deployments,
    cx: &Cx<'_>,
    history: &History,
    deployment: &Listed,
    lines: &[(Option<usize>, Line)],
    rows: Area,
    canvas: &mut Canvas<'_>,
) {
    let at = Some(d.revision_table.cursor());
    let marked = lines
        .iter()
        .position(|(n, _)| n.is_some() && *n == at)
        .unwrap_or(0);
    let height = rows.h as usize;
    let top = (marked + 2).min(lines.len()).saturating_sub(height);
    for (i, (number, line)) in lines.iter().skip(top).take(height).enumerate() {
        let y = rows.y + i as u16;
        canvas.line(rows.x + 3, y, rows.w.saturating_sub(4), line);
        if let Some(revision) = number.and_then(|n| history.revisions.get(n)) {
            let is_this =
                |of: &RevisionRef| *of.revision == *revision.id && *of.deployment == *deployment.id;
            if d.compared.iter().any(is_this) {
                canvas.foreign(rows.x + 2, y, 1, "+", Tone::Accent);
            } else if d.watches.keys().any(is_this) {
                canvas.foreign(rows.x + 2, y, 1, "»", Tone::Accent);
            }
        }
        if number.is_some() && *number == at {
            canvas.select_all(Area { h: 1, ..rows }, y, cx.is_focused);
        }
    }
}

/// Returns the revision that the server of the selected deployment reports, and when that was loaded.
fn reported<'a>(d: &Deployments, cx: &'a Cx<'_>) -> Option<(&'a str, Option<Timestamp>)> {
    let server = d.list.selected()?.server(&cx.session.profiles)?;
    let info = cx.session.infos.get(&server)?;
    Some((info.value.as_ref()?.revision()?, info.at))
}

/// The columns of a table of revisions.
const COMMIT: usize = 1;
const MESSAGE: usize = 2;
const AGE: usize = 5;

/// Lays out the columns by the longest texts in them.
fn columns(d: &Deployments, cx: &Cx<'_>, history: &History, width: usize) -> TableColumns {
    let profile = d
        .list
        .selected()
        .and_then(|row| cx.session.profiles.get(row.profile));
    let widest = |of: &dyn Fn(&Revision) -> usize| {
        let widths = history.revisions.iter().map(of);
        widths.max().unwrap_or(0)
    };
    // As wide as the longest status, so that the next column stays aligned.
    let longest = widest(&|one| text::width(&text::clean(&one.status)) + 2);
    let state = longest.clamp(10, 24);
    let role = widest(&|one| text::width(listed_role(history, one, d, cx).0)).max("ROLE".len());
    let took = widest(&|one| {
        let width = took(cx, profile, history, one).map_or(0, |took| text::width(&took));
        if one.phase().is_final() {
            width
        } else {
            width.max(GROWING)
        }
    });
    let took = took.max("TOOK".len());
    let age = widest(&|one| profile.map_or(0, |p| revision_age(p, one, cx.session.now).len()));
    let age = age.max("AGE".len());
    let room = width.saturating_sub(state + 2 + 2 + role + 2 + took + 2 + age);
    let made_from = widest(&|one| text::width(&text::clean(&made_from(one))));
    let message = widest(&|one| d.subjects.of(one).map_or(0, text::width));
    let (commit, message) = shares(room, made_from, message);
    let columns = [
        ("STATE", state),
        ("COMMIT", commit),
        ("MESSAGE", message),
        ("ROLE", role),
        ("TOOK", took),
        ("AGE", age),
    ];
    TableColumns::new(width, columns).aligned_right(4..6)
}

/// Returns the columns of the commits and of the messages, by their longest ones; 0 if messages have no room. Messages are whole
/// as long as commits keep enough to tell them apart.
fn shares(room: usize, commit: usize, message: usize) -> (usize, usize) {
    let least = commit.clamp(6, if room >= 40 { 20 } else { 12 });
    let commit = commit.min(room.saturating_sub(message + 2)).max(least);
    match room
        .checked_sub(commit + 2)
        .filter(|left| *left >= MIN_MESSAGE && message > 0)
    {
        Some(left) => (commit, left),
        None => (room, 0),
    }
}

/// Returns the role of a revision: a word and its tone.
pub(super) fn role_of(
    history: &History,
    revision: &Revision,
    d: &Deployments,
    cx: &Cx<'_>,
) -> (&'static str, Tone) {
    let row = d.list.selected();
    let deployment = row.and_then(|row| row.deployment.as_ref());
    let profile = row.and_then(|row| cx.session.profiles.get(row.profile));
    let roles = history.roles(deployment, profile.and_then(|p| p.loaded_at));
    match roles.of(&revision.id, &revision.status) {
        RevisionRole::Serving if row.is_some_and(|row| row.gone) => ("", Tone::Dim),
        // The control plane does not say whether an unused deployment still serves, but its agent server may.
        RevisionRole::Serving
            if row.is_some_and(|row| !row.state().is_usual() && !responds(cx, row)) =>
        {
            ("serving?", Tone::Dim)
        }
        // The server does not report which revision serves traffic.
        RevisionRole::Serving if roles.derived => ("serving?", Tone::Good),
        role @ RevisionRole::Serving => (role.word(), Tone::Good),
        role @ RevisionRole::Candidate => (role.word(), Tone::Moving),
        role => (role.word(), Tone::Dim),
    }
}

/// Returns the role of a revision if the list shows it. That others failed or were replaced is clear from their state and order.
fn listed_role(
    history: &History,
    revision: &Revision,
    d: &Deployments,
    cx: &Cx<'_>,
) -> (&'static str, Tone) {
    match role_of(history, revision, d, cx) {
        role @ ((_, Tone::Good | Tone::Moving) | ("serving?", _)) => role,
        (_, tone) => ("", tone),
    }
}

/// Returns what a revision was made from, else its id.
pub(super) fn made_from(revision: &Revision) -> String {
    revision
        .source_revision_config
        .made_from()
        .unwrap_or_else(|| text::short_id(&revision.id))
}

fn revision_line(
    history: &History,
    revision: &Revision,
    d: &Deployments,
    cx: &Cx<'_>,
    columns: &TableColumns,
) -> Line {
    let (word, tone) = listed_role(history, revision, d, cx);
    let profile = d
        .list
        .selected()
        .and_then(|r| cx.session.profiles.get(r.profile));
    let age = profile
        .map(|p| revision_age(p, revision, cx.session.now))
        .unwrap_or_default();
    let took = took(cx, profile, history, revision).unwrap_or_default();
    let cells = [
        phase_line(revision),
        Line::plain(&fit_commit(&made_from(revision), columns.width(COMMIT))),
        Line::plain(d.subjects.of(revision).unwrap_or_default()),
        Line::of(tone, word),
        Line::plain(&took),
        Line::dim(&format!("{age:>0$}", columns.width(AGE))),
    ];
    // Few revisions have a role; the others' messages use its columns.
    match word.is_empty() && columns.width(MESSAGE) > 0 {
        true => columns.widened(MESSAGE).line(cells),
        false => columns.line(cells),
    }
}

/// Returns how long a revision took, or has been in progress. Where the server's times don't say it, at least as long as it was
/// observed in progress.
pub(super) fn took(
    cx: &Cx<'_>,
    profile: Option<&ProfileState>,
    history: &History,
    revision: &Revision,
) -> Option<String> {
    let now = cx.session.now;
    let server_time = profile.map_or(now, |profile| profile.server_time(now));
    if let Some(took) = revision.took(server_time) {
        return Some(text::duration(took));
    }
    let seen = || {
        history
            .phases(&revision.id, now)
            .iter()
            .map(|(_, spent, _)| *spent)
            .sum::<Duration>()
    };
    let seen = (!revision.phase().is_final())
        .then(seen)
        .filter(|seen| !seen.is_zero());
    seen.map(|seen| format!("≥{}", text::duration(seen)))
}

/// Returns whether the observed statuses say more than the time since the creation. A single one that was first seen late doesn't.
pub(super) fn adds_to_total(phases: &[(String, Duration, bool)], revision: &Revision) -> bool {
    let has_total =
        revision.created_at.is_some() && matches!(revision.phase(), Phase::Waiting | Phase::Moving);
    !has_total || !matches!(phases, [(_, _, false)])
}

/// Returns the time in each observed status.
pub(super) fn phases_line(phases: &[(String, Duration, bool)], revision: &Revision) -> Line {
    let mut line = Line::dim("  ");
    for (i, (status, spent, from_start)) in phases.iter().enumerate() {
        if i > 0 {
            line.push_dim(" ▸ ");
        }
        let last = i + 1 == phases.len() && !revision.phase().is_final();
        let at_least = if *from_start { "" } else { "≥" };
        let word = phase_word(status);
        line.push(
            if last { Tone::Plain } else { Tone::Dim },
            &format!("{word} {at_least}{}", text::duration(*spent)),
        );
    }
    if revision.phase() == Phase::Unknown && revision.status != "UNKNOWN" {
        line = line.right(Tone::Dim, "unknown status");
    }
    line
}

/// Returns a status word in lower case. An unknown status is shown as received.
pub(super) fn phase_word(status: &str) -> String {
    match Phase::of(status) {
        Phase::Unknown => status.to_string(),
        _ => status.to_lowercase().replace("awaiting_", "awaiting "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_get_the_room_that_commits_can_spare() {
        // An image has a longer name than the commits of the other revisions.
        assert_eq!(shares(26, 26, 12), (12, 12));
        assert_eq!(shares(45, 26, 17), (26, 17));
        assert_eq!(shares(60, 26, 70), (20, 38));
        assert_eq!(shares(60, 12, 10), (12, 46));
        assert_eq!(shares(20, 12, 30), (20, 0));
        assert_eq!(shares(26, 12, 0), (26, 0));
    }
}
