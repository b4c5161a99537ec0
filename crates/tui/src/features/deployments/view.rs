//! Draws the list of deployments.

use super::Deployments;
use super::columns::{Column, Place};
use super::last_day::{Past, hours, strip};
use super::list::{Live, Row};
use crate::session::msg::RevisionRef;
use crate::session::profile::ProfileState;
use crate::session::threads_known::ThreadsKnown;
use crate::session::{Cx, cure};
use crate::widgets::area::below;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Piece, Tone};
use crate::widgets::table::{GUTTER, RowStyle, TableRow};
use crate::widgets::theme::{deployment_badge, phase_glyph};
use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::model::{NO_URL, Phase, Revision};
use runtail_core::text;

/// Draws the pane.
pub(super) fn deployments(d: &Deployments, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, focused) = (cx.area, cx.is_focused);
    let list = &d.list;
    if list.is_empty() {
        let (tone, words) = empty_state(d, cx);
        return canvas.words(area, tone, &words);
    }
    let columns = d.columns(cx);
    headers(d, canvas, &columns, area.x, area.y);
    // Of the selected row, the name is bold.
    let bold = columns
        .first()
        .map_or(area.w, |name| name.x + name.width + 1);
    let style = RowStyle {
        is_focused: focused,
        bold,
        ..RowStyle::default()
    };
    list.table.draw(canvas, below(area, 1), style, |number| {
        let row = list.shown(number)?;
        let profile = cx.session.profiles.get(row.profile)?;
        // Outdated rows are dim; the header shows their age.
        let stale = profile.problem().is_some() && row.deployment.is_some();
        let mut line = Line::new();
        for place in &columns {
            let cell = cell(d, cx, profile, row, place);
            push_cell(&mut line, place, cell, stale);
        }
        let is_watched =
            |of: &RevisionRef| of.profile == row.profile_name && row.is(&of.deployment);
        let mark = match list.table.marked.contains(&row.id) {
            true => Some("+"),
            false => d.watches.keys().any(is_watched).then_some("»"),
        };
        Some(TableRow { mark, line })
    });
}

/// Returns the title: the number of deployments, what could not be listed, the filter, marks and watches.
pub(super) fn title(d: &Deployments, cx: &Cx<'_>) -> Line {
    let list = &d.list;
    let mut line = Line::of(
        if cx.is_focused {
            Tone::Focus
        } else {
            Tone::Dim
        },
        "Deployments",
    );
    let mut add = |tone: Tone, text: &str| {
        line.push_dim(" · ");
        line.push(tone, text);
    };
    let loading: Vec<&str> = cx
        .session
        .profiles
        .iter()
        .filter(|p| is_loading(p))
        .map(|p| p.tag())
        .collect();
    if list.rows.is_empty() && !loading.is_empty() {
        add(Tone::Dim, &format!("loading {}…", loading.join(", ")));
        return line;
    }
    let all = text::count(list.rows.len() as u64);
    match list.filter().is_empty() {
        true => add(Tone::Dim, &all),
        false => {
            add(
                Tone::Dim,
                &format!("{} of {all}", text::count(list.len() as u64)),
            );
            add(Tone::Accent, &format!("/{}", list.filter().text()));
        }
    }
    if !loading.is_empty() {
        add(Tone::Dim, &format!("loading {}…", loading.join(", ")));
    }
    for profile in cx.session.profiles.iter().filter(|p| p.control_plane) {
        let why = profile
            .problem()
            .or(profile.partial.as_ref())
            .map(ApiError::badge);
        match (why, profile.loaded_at) {
            (Some(why), None) => add(
                Tone::Plain,
                &format!("{}: {why}, not listed", profile.tag()),
            ),
            (Some(why), Some(at)) => {
                add(
                    Tone::Plain,
                    &format!(
                        "{}: {why}, as of {}",
                        profile.tag(),
                        cx.session.dated_clock(at)
                    ),
                );
            }
            (None, _) => {}
        }
    }
    let (unread, number) = cx.session.unread_servers();
    match unread.as_slice() {
        [] => {}
        [(name, why)] => add(Tone::Plain, &format!("{name}: threads not read ({why})")),
        several => {
            let is_alike = several.iter().all(|(_, why)| *why == several[0].1);
            let why = if is_alike {
                format!(" ({})", several[0].1)
            } else {
                String::new()
            };
            add(
                Tone::Plain,
                &format!("{number} servers: threads not read{why}"),
            );
        }
    }
    if !list.table.marked.is_empty() {
        add(Tone::Accent, &format!("{} marked", list.table.marked.len()));
    }
    if !d.watches.is_empty() {
        add(Tone::Accent, &format!("» {} watched", d.watches.len()));
    }
    let sort = list.sort();
    if sort != Default::default() {
        add(
            Tone::Dim,
            &format!(
                "{}{}",
                sort.order.word(),
                if sort.reversed { ", reversed" } else { "" }
            ),
        );
    }
    line
}

fn is_loading(profile: &ProfileState) -> bool {
    profile.control_plane
        && profile.loaded_at.is_none()
        && profile.error.is_none()
        && !profile.halted
}

fn headers(d: &Deployments, canvas: &mut Canvas<'_>, columns: &[Place], x: u16, y: u16) {
    let sorted_by = d.list.sort().order.column();
    for place in columns {
        let title = match place.column {
            Column::Newest if d.list.has_only_servers() => "STATE",
            column => column.title(place.width),
        };
        let shift = if place.column.is_right() {
            place.width.saturating_sub(title.len() as u16)
        } else {
            0
        };
        let tone = if place.column == sorted_by {
            Tone::Strong
        } else {
            Tone::Dim
        };
        canvas.foreign(x + place.x + shift, y, place.width, title, tone);
    }
}

/// Returns the content of a cell.
fn cell(d: &Deployments, cx: &Cx<'_>, profile: &ProfileState, row: &Row, place: &Place) -> Line {
    let column = place.column;
    if row.deployment.is_none() {
        return server_cell(cx, row, column);
    }
    let failed = row
        .newest
        .as_ref()
        .is_some_and(|revision| revision.phase() == Phase::Failed);
    let now = cx.session.now;
    match column {
        Column::Name if row.gone => Line::dim(&row.name),
        Column::Name if row.is_serverless() => {
            let room = usize::from(place.width).saturating_sub(SERVERLESS.len());
            let tone = if failed { Tone::Bad } else { Tone::Plain };
            Line::of(tone, &text::fit(&text::clean(&row.name), room)).with_dim(SERVERLESS)
        }
        Column::Name => Line::of(if failed { Tone::Bad } else { Tone::Plain }, &row.name),
        Column::Region => Line::dim(&row.tag),
        Column::Newest => newest(profile, row),
        Column::Age => {
            let age = row
                .newest
                .as_ref()
                .map(|revision| revision_age(profile, revision, now))
                .unwrap_or_default();
            Line::dim(&age)
        }
        Column::Serving => serving(d, cx, profile, row),
        Column::Past => match d.past.get(&row.id) {
            Some(past) => strip(&hours(past, row.newest.as_ref(), profile.server_time(now))),
            None => Line::new(),
        },
        Column::Busy => count(Tone::Plain, row.counts.busy, cx, row),
        Column::Waiting => count(Tone::Waiting, row.counts.waiting, cx, row),
        Column::Failed => count(Tone::Bad, row.counts.failed, cx, row),
        Column::Message => {
            let subject = row
                .newest
                .as_ref()
                .and_then(|revision| d.subjects.of(revision));
            Line::plain(&text::fit(subject.unwrap_or_default(), place.width.into()))
        }
        Column::Commit => Line::plain(&fit_commit(
            &made_from(row).unwrap_or_default(),
            place.width.into(),
        )),
        Column::Url => Line::dim(row.url.as_deref().unwrap_or_default()),
    }
}

/// Returns a number of a row's threads; nothing for a zero that is known.
fn count(tone: Tone, number: usize, cx: &Cx<'_>, row: &Row) -> Line {
    let known = row
        .server(&cx.session.profiles)
        .map(|server| cx.session.threads_known(&server));
    match (number, known) {
        (0, Some(ThreadsKnown::Asking)) => Line::dim("…"),
        (0, Some(ThreadsKnown::Unread(_))) => Line::dim("?"),
        (0, _) => Line::new(),
        (_, Some(ThreadsKnown::AsOf(_))) => Line::dim(&text::count(number as u64)),
        _ => Line::of(tone, &text::count(number as u64)),
    }
}

/// Returns what the newest revision was made from.
pub(super) fn made_from(row: &Row) -> Option<String> {
    row.newest.as_ref()?.source_revision_config.made_from()
}

/// Cuts what a revision was made from (`main@9fceb02`, `support-bot:1.4.2`) to a width. Its end tells revisions apart, so the name
/// before the commit, digest or tag is cut first.
pub(super) fn fit_commit(made_from: &str, width: usize) -> String {
    let whole = text::clean(text::head(made_from, 400)).into_owned();
    if text::width(&whole) <= width {
        return whole;
    }
    let Some(at) = whole.rfind(['@', ':']) else {
        return text::fit(&whole, width).into_owned();
    };
    let (name, end) = whole.split_at(at);
    // The digest of an image is as long as a commit then.
    let is_hash = end.starts_with('@') && end.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit());
    let end = if is_hash {
        end.get(..SHORT_HASH + 1).unwrap_or(end)
    } else {
        end
    };
    match width.checked_sub(text::width(end)) {
        Some(room) if room > 0 => format!("{}{end}", text::fit(name, room)),
        _ => text::fit(&whole, width).into_owned(),
    }
}

/// Characters of a short commit or digest.
const SHORT_HASH: usize = 7;

/// Returns the status of the newest revision, or an unusual status of the deployment.
fn newest(profile: &ProfileState, row: &Row) -> Line {
    let status = row
        .deployment
        .as_ref()
        .and_then(|deployment| deployment.status.as_deref());
    if row.gone {
        return Line::plain("■ ").with_dim("gone");
    }
    if !row.state().is_usual() {
        let (glyph, tone, word) = deployment_badge(status);
        return Line::of(tone, &format!("{glyph} ")).with_plain(&word);
    }
    match (&row.newest, &row.newest_error) {
        (Some(revision), _) => phase_line(revision),
        (None, Some(error)) => Line::dim(&format!("? {}", error.badge())),
        (None, None) if row.newest_id().is_none() => Line::dim("–"),
        (None, None) if profile.halted => Line::dim("? not loaded"),
        (None, None) => Line::dim("…"),
    }
}

/// Returns the glyph and the status word of a revision. Only a failure colors the word.
pub(super) fn phase_line(revision: &Revision) -> Line {
    let (glyph, tone) = phase_glyph(revision.phase());
    let word = if revision.status.is_empty() {
        "no status"
    } else {
        &revision.status
    };
    let of_word = match revision.phase() {
        Phase::Failed => Tone::Bad,
        Phase::Skipped | Phase::Interrupted => Tone::Dim,
        Phase::Unknown => Tone::Dim,
        Phase::Deployed | Phase::Moving | Phase::Waiting => Tone::Plain,
    };
    Line::of(tone, &format!("{glyph} ")).with(of_word, word)
}

/// Returns which revision serves: `newest`, `older` with its age, or `nothing`. A question mark means that a deployment is unused
/// or being deleted, so that its active revision may not serve.
fn serving(d: &Deployments, cx: &Cx<'_>, profile: &ProfileState, row: &Row) -> Line {
    let now = cx.session.now;
    match row.live() {
        _ if row.gone => Line::new(),
        live @ (Live::Newest | Live::Older) if !row.state().is_usual() && !responds(cx, row) => {
            Line::dim(&format!("{}?", live.word()))
        }
        Live::Newest => Line::dim("newest"),
        Live::Older => {
            let active = row
                .deployment
                .as_ref()
                .and_then(|deployment| deployment.active_revision_id.as_deref());
            let listed = d
                .histories
                .get(&row.id)
                .into_iter()
                .flat_map(|history| &history.revisions);
            let created = listed
                .into_iter()
                .find(|revision| Some(revision.id.as_str()) == active);
            let known = d
                .past
                .get(&row.id)
                .into_iter()
                .flat_map(|past| &past.revisions);
            let deployed = known
                .into_iter()
                .find(|one| one.phase == Phase::Deployed)
                .map(|one| one.created_at);
            let at = created
                .and_then(|revision| revision.created_at)
                .or(deployed);
            let age = at
                .map(|at| text::age(profile.since(at, now)))
                .unwrap_or_default();
            Line::plain("older").with_dim(&format!("{age:>4}"))
        }
        // Without a deployed revision in the whole list, none serves.
        Live::Unknown if d.past.get(&row.id).is_some_and(Past::never_deployed) => {
            let failed = row
                .newest
                .as_ref()
                .is_some_and(|revision| revision.phase() == Phase::Failed);
            Line::of(if failed { Tone::Bad } else { Tone::Plain }, "nothing")
        }
        Live::Unknown => Line::dim("–"),
    }
}

/// Returns whether the agent server of a row was seen to respond.
pub(super) fn responds(cx: &Cx<'_>, row: &Row) -> bool {
    let info = row
        .server(&cx.session.profiles)
        .and_then(|server| cx.session.infos.get(&server));
    info.is_some_and(|info| info.value.is_some() && info.error.is_none())
}

/// Returns what an unusual status of a deployment means, and what isn't known of its agent server.
pub(super) fn about_state(cx: &Cx<'_>, row: &Row) -> Option<String> {
    let Some(meaning) = row.state().meaning(responds(cx, row)) else {
        let text =
            "Serverless: each request wakes it, so its threads are read only while it is open.";
        return row.is_serverless().then(|| text.to_string());
    };
    Some(if row.url.is_some() {
        meaning.into()
    } else {
        format!("{meaning} {NO_URL}")
    })
}

/// Returns whether its server is only asked what the user asks.
pub(super) fn is_unpolled(cx: &Cx<'_>, row: &Row) -> bool {
    cx.session
        .profiles
        .get(row.profile)
        .is_some_and(|profile| profile.is_quiet(&row.name))
}

/// An agent server without a control plane.
fn server_cell(cx: &Cx<'_>, row: &Row, column: Column) -> Line {
    match column {
        Column::Name => Line::plain(&row.name),
        Column::Region => Line::dim(region(cx, row)),
        Column::Newest => {
            let info = row
                .server(&cx.session.profiles)
                .and_then(|server| cx.session.infos.get(&server));
            // A later request than that for the info may have failed.
            let failed = row
                .server(&cx.session.profiles)
                .and_then(|server| cx.session.reach.of(&server).flatten());
            let (glyph, tone, word, of_word) = match failed
                .map(|e| (Some(e), None))
                .or(info.map(|i| (i.error.as_ref(), i.value.as_ref())))
            {
                Some((Some(error), _))
                    if matches!(error.kind, Kind::NoConnection | Kind::Network) =>
                {
                    ("✗ ", Tone::Bad, "down".to_string(), Tone::Bad)
                }
                Some((Some(error), _)) => ("✗ ", Tone::Bad, error.badge(), Tone::Bad),
                Some((None, Some(_))) => ("● ", Tone::Good, "up".into(), Tone::Plain),
                None if is_unpolled(cx, row) => ("○ ", Tone::Dim, "not asked".into(), Tone::Dim),
                _ => ("◐ ", Tone::Moving, "checking".into(), Tone::Plain),
            };
            Line::of(tone, glyph).with(of_word, &word)
        }
        Column::Busy => count(Tone::Plain, row.counts.busy, cx, row),
        Column::Waiting => count(Tone::Waiting, row.counts.waiting, cx, row),
        Column::Failed => count(Tone::Bad, row.counts.failed, cx, row),
        Column::Url => Line::dim(row.url.as_deref().unwrap_or_default()),
        _ => Line::new(),
    }
}

/// The mark of a serverless deployment, after its name.
pub(super) const SERVERLESS: &str = " z";

/// Adds a cell at its place.
fn push_cell(line: &mut Line, place: &Place, cell: Line, stale: bool) {
    let mut cell = cell.cut(place.width.into());
    if stale {
        cell.left
            .iter_mut()
            .for_each(|piece: &mut Piece| piece.tone = Tone::Dim);
    }
    let shift = if place.column.is_right() {
        usize::from(place.width).saturating_sub(cell.width())
    } else {
        0
    };
    let at = usize::from(place.x - GUTTER) + shift;
    line.push_plain(&" ".repeat(at.saturating_sub(line.width())));
    line.left.extend(cell.left);
}

/// Returns the age of a revision since its creation, by which lists are sorted.
pub(super) fn revision_age(profile: &ProfileState, revision: &Revision, now: Timestamp) -> String {
    revision
        .created_at
        .map(|at| text::age(profile.since(at, now)))
        .unwrap_or_default()
}

fn empty_state(d: &Deployments, cx: &Cx<'_>) -> (Tone, String) {
    if !d.list.filter().is_empty() {
        let filter = text::clean(d.list.filter().text()).into_owned();
        return (
            Tone::Plain,
            format!(
                "No match for “{filter}”. Press Esc to clear the filter.\n\nnewest:failed filters by a field, !word excludes."
            ),
        );
    }
    let errors: Vec<String> = cx
        .session
        .profiles
        .iter()
        .filter_map(|p| p.error.as_ref().or(p.partial.as_ref()))
        .map(ApiError::story)
        .collect();
    // Nothing was sent, so r would change nothing.
    let without_key: Vec<String> = cx
        .session
        .profiles
        .iter()
        .filter_map(|state| missing_key(cx, state))
        .collect();
    if !without_key.is_empty() && without_key.len() == errors.len() {
        return (
            Tone::Bad,
            format!("{}\n\nPress ! for all notices.", without_key.join("\n")),
        );
    }
    if !errors.is_empty() {
        return (
            Tone::Bad,
            format!(
                "{}\n\nPress r to retry, ! for all notices.",
                errors.join("\n")
            ),
        );
    }
    if cx.session.profiles.is_empty() {
        return (
            Tone::Plain,
            "No profile is in use.\n\nPress p for profiles.".into(),
        );
    }
    if cx
        .session
        .profiles
        .iter()
        .any(|p| p.control_plane && p.loaded_at.is_none())
    {
        return (Tone::Dim, "Loading deployments…".into());
    }
    let tags: Vec<&str> = cx
        .session
        .profiles
        .iter()
        .map(|profile| profile.tag())
        .collect();
    let (create, profiles) = (
        cx.session.key("deployments.create"),
        cx.session.key("app.profiles"),
    );
    let place = text::clean(&tags.join(", ")).into_owned();
    let words = format!(
        "No deployments in {place}.\n\nPress {create} to create one, {profiles} to add a server."
    );
    (Tone::Plain, words)
}

/// Returns what to do about the key of a profile that could not be read.
fn missing_key(cx: &Cx<'_>, state: &ProfileState) -> Option<String> {
    let profile = cx.session.catalog.used(&state.name)?;
    let cure = cure::missing_key(
        profile,
        state.error.as_ref()?,
        Some(&cx.session.key("profiles.test")),
    )?;
    Some(format!("{}: {cure}", state.name))
}

/// Returns the region tag of a row; empty for an agent server without a control plane, if no other profile is in use.
pub(super) fn region<'a>(cx: &Cx<'a>, row: &Row) -> &'a str {
    let profiles = &cx.session.profiles;
    // Servers of several profiles often have the same name.
    let has_tag =
        |p: &&ProfileState| p.control_plane || row.deployment.is_some() || profiles.len() > 1;
    profiles
        .get(row.profile)
        .filter(has_tag)
        .map(|p| p.tag())
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_ref_is_cut_before_its_commit() {
        assert_eq!(fit_commit("main@9fceb02", 16), "main@9fceb02");
        assert_eq!(
            fit_commit("fix/refund-rounding@0c11dd2", 16),
            "fix/ref…@0c11dd2"
        );
        assert_eq!(fit_commit("fix/refund-rounding@0c11dd2", 9), "…@0c11dd2");
        assert_eq!(fit_commit("fix/refund-rounding@0c11dd2", 8), "fix/ref…");
        // An image by its tag, or by the beginning of its digest.
        assert_eq!(
            fit_commit("research-desk@8d4f12ab34cd", 26),
            "research-desk@8d4f12ab34cd"
        );
        assert_eq!(
            fit_commit("research-desk@8d4f12ab34cd", 16),
            "researc…@8d4f12a"
        );
        assert_eq!(fit_commit("support-bot:1.4.2", 12), "suppo…:1.4.2");
        assert_eq!(fit_commit("9fceb02", 4), "9fc…");
    }
}
