//! Draws the revisions of the selected deployment, newest first, with the time spent in each status.

use super::revisions::RevisionHistory;
use super::shown_row::{GONE, ShownRow, fit_commit, made_from, phase_line, status_message};
use super::{Deployments, server_pane};
use crate::session::Cx;
use crate::session::msg::{NextPoll, RevisionRef};
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::table::TableColumns;
use jiff::Timestamp;
use runtail_core::model::{Phase, Revision};
use runtail_core::text;
use std::time::Duration;

/// Columns of a duration that still grows, so that the columns beside it stay: `10m00s`.
const GROWING: usize = 6;
/// Minimum columns of the message.
const MIN_MESSAGE: usize = 8;

impl Deployments {
    /// Returns the title of the revisions: whose they are, and whether polling them has a problem.
    pub fn revisions_title(&self, cx: &Cx<'_>) -> Line {
        let tone = if cx.is_focused {
            Tone::Focus
        } else {
            Tone::Dim
        };
        let Some(shown) = ShownRow::selected(self, cx) else {
            return Line::of(tone, "Revisions");
        };
        let what = if shown.row.deployment.is_some() {
            "Revisions of "
        } else {
            "Agent server "
        };
        let mut line = Line::of(tone, &format!("{what}{}", shown.row.name));
        // In its list the deployment has its region beside it.
        let is_alone = cx.area.w >= cx.session.size.0;
        let region = shown.region();
        if is_alone && !region.is_empty() {
            line.push_dim(&format!(" · {region}"));
        }
        let state = shown
            .history()
            .and_then(|history| poll_state(history, cx.session.now, shown.is_halted()));
        line.right(Tone::Plain, &state.unwrap_or_default())
    }

    /// Draws the revisions. `has_details`: whether the details of the selected one are beside them.
    pub fn view_revisions(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>, has_details: bool) {
        let area = cx.area;
        let Some(shown) = ShownRow::selected(self, cx) else {
            return canvas.words(area, Tone::Dim, "No deployment selected.");
        };
        if shown.row.deployment.is_none() {
            return server_pane::server(shown, canvas);
        }
        let history = match listed(shown) {
            Ok(history) => history,
            Err((tone, words)) => return canvas.words(area, tone, &words),
        };
        let width = area.w.saturating_sub(4);
        let columns = columns(shown, history, width.into());
        canvas.line(area.x + 3, area.y, width, &columns.head());
        let mut rows = below(area, 1);
        let mut notes: Vec<Line> = Vec::new();
        if !history.was_sorted {
            let said = "Sorted here; the server didn't.";
            notes.push(Line::dim(said));
        }
        notes.extend(history.unread.as_deref().map(Line::dim));
        if let Some(about) = shown.about().filter(|_| !has_details) {
            let parts = wrap(&about, width.into());
            notes.extend(parts.iter().map(|part| Line::plain(part)));
        }
        for note in notes {
            canvas.line(rows.x + 3, rows.y, width, &note);
            rows = below(rows, 1);
        }
        let lines = lines(shown, history, &columns, has_details);
        draw_lines(shown, history, &lines, rows, canvas);
    }
}

/// Returns the loaded revisions, else the text in place of them.
fn listed(shown: ShownRow<'_>) -> Result<&RevisionHistory, (Tone, String)> {
    let history = shown.history();
    let is_loaded = history.is_some_and(|history| history.loaded_at.is_some());
    if shown.row.gone {
        return Err((Tone::Plain, GONE.into()));
    }
    if shown.is_halted() && !is_loaded {
        let words = "The server rejected the key.\n\nPress r to retry.";
        return Err((Tone::Plain, words.into()));
    }
    match history {
        Some(history) if is_loaded && history.revisions.is_empty() => {
            Err((Tone::Plain, "No revisions.".into()))
        }
        Some(history) if is_loaded => Ok(history),
        _ => Err(match history.and_then(|history| history.error.as_ref()) {
            Some(error) => (Tone::Bad, error.story()),
            None => (Tone::Dim, "Loading…".into()),
        }),
    }
}

/// Returns why the revisions are not being polled, the error of the last poll, or its age while something is in progress.
fn poll_state(history: &RevisionHistory, now: Timestamp, halted: bool) -> Option<String> {
    let age = history.loaded_at.map(|at| text::age_since(at, now));
    match (&history.error, history.next_poll?) {
        _ if halted => Some("stopped, r retries".into()),
        (_, NextPoll::GaveUp) => Some("timed out, r retries".into()),
        (_, NextPoll::Stopped) | (Some(_), NextPoll::Off) => Some("stopped, r retries".into()),
        (Some(error), NextPoll::At(at)) => {
            let wait = Duration::try_from(at - now).unwrap_or_default();
            let old = age.map(|age| format!("{age} old · ")).unwrap_or_default();
            let when = match wait.as_secs() {
                0 => "retrying…".to_string(),
                _ => format!("retry in {}", text::age(wait)),
            };
            Some(format!("{old}{} · {when}", error.badge()))
        }
        (None, NextPoll::Off) => Some("not polled, r reloads".into()),
        (None, NextPoll::At(_)) => {
            let newest = history.revisions.first();
            let is_moving = newest.is_some_and(|newest| !newest.phase().is_final());
            Some(format!("polled {} ago", age.filter(|_| is_moving)?))
        }
    }
}

/// Returns a line for each revision, with its index, and the lines about it below.
fn lines(
    shown: ShownRow<'_>,
    history: &RevisionHistory,
    columns: &TableColumns,
    has_details: bool,
) -> Vec<(Option<usize>, Line)> {
    let now = shown.cx.session.now;
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    let reported = shown
        .info()
        .and_then(|info| Some((info.value.as_ref()?.revision()?, info.at)));
    let when = reported.and_then(|(_, at)| Some(format!(", {} ago", text::age_since(at?, now))));
    for (number, revision) in history.revisions.iter().enumerate() {
        lines.push((Some(number), revision_line(shown, revision, columns)));
        if !has_details {
            let phases = history.phases(&revision.id, now);
            let is_shown = !phases.is_empty() && (number == 0 || !revision.phase().is_final());
            if is_shown && adds_to_total(&phases, revision) {
                lines.push((None, phases_line(&phases, revision)));
            }
            if let Some(message) = status_message(revision) {
                lines.push((None, Line::bad("  ").with_plain(message)));
            }
        }
        if reported.is_some_and(|(id, _)| *id == revision.id) {
            let when = when.as_deref().unwrap_or_default();
            lines.push((None, Line::dim(&format!("  reported by the server{when}"))));
        }
    }
    let is_listed = |id: &str| history.revisions.iter().any(|one| one.id == *id);
    if let Some((id, _)) = reported.filter(|(id, _)| !is_listed(id)) {
        let id = text::short_id(id);
        let words = format!("  the server reports {id}, not listed");
        lines.push((None, Line::dim(&words)));
    }
    lines
}

fn draw_lines(
    shown: ShownRow<'_>,
    history: &RevisionHistory,
    lines: &[(Option<usize>, Line)],
    rows: Area,
    canvas: &mut Canvas<'_>,
) {
    let d = shown.d;
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
                |of: &RevisionRef| *of.revision == *revision.id && shown.row.is(&of.deployment);
            if d.compared.iter().any(is_this) {
                canvas.foreign(rows.x + 2, y, 1, "+", Tone::Accent);
            } else if d.watches.keys().any(is_this) {
                canvas.foreign(rows.x + 2, y, 1, "»", Tone::Accent);
            }
        }
        if number.is_some() && *number == at {
            canvas.select_all(Area { h: 1, ..rows }, y, shown.cx.is_focused);
        }
    }
}

/// The columns of a table of revisions.
const COMMIT: usize = 1;
const MESSAGE: usize = 2;

/// Lays out the columns by the longest texts in them.
fn columns(shown: ShownRow<'_>, history: &RevisionHistory, width: usize) -> TableColumns {
    let widest = |of: &dyn Fn(&Revision) -> usize| {
        let widths = history.revisions.iter().map(of);
        widths.max().unwrap_or(0)
    };
    // As wide as the longest status, so that the next column stays aligned.
    let longest = widest(&|one| text::width(&text::clean(&one.status)) + 2);
    let state = longest.clamp(10, 24);
    let role = widest(&|one| text::width(listed_role(shown, one).0)).max("ROLE".len());
    let took = widest(&|one| {
        let width = shown.took(one).map_or(0, |took| text::width(&took));
        if one.phase().is_final() {
            width
        } else {
            width.max(GROWING)
        }
    });
    let took = took.max("TOOK".len());
    let age = widest(&|one| shown.age(one).len()).max("AGE".len());
    let room = width.saturating_sub(state + 2 + 2 + role + 2 + took + 2 + age);
    let from = widest(&|one| text::width(&text::clean(&made_from(one))));
    let message = widest(&|one| shown.d.subjects.of(one).map_or(0, text::width));
    let (commit, message) = shares(room, from, message);
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

/// Returns the role of a revision if the list shows it. That others failed or were replaced is clear from their state and order.
fn listed_role(shown: ShownRow<'_>, revision: &Revision) -> (&'static str, Tone) {
    match shown.role(revision) {
        role @ ((_, Tone::Good | Tone::Moving) | ("serving?", _)) => role,
        (_, tone) => ("", tone),
    }
}

fn revision_line(shown: ShownRow<'_>, revision: &Revision, columns: &TableColumns) -> Line {
    let (word, tone) = listed_role(shown, revision);
    let cells = [
        phase_line(revision),
        Line::plain(&fit_commit(&made_from(revision), columns.width(COMMIT))),
        Line::plain(shown.d.subjects.of(revision).unwrap_or_default()),
        Line::of(tone, word),
        Line::plain(&shown.took(revision).unwrap_or_default()),
        Line::dim(&shown.age(revision)),
    ];
    // Few revisions have a role; the others' messages use its columns.
    match word.is_empty() && columns.width(MESSAGE) > 0 {
        true => columns.widened(MESSAGE).line(cells),
        false => columns.line(cells),
    }
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
