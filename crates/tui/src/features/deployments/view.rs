//! Draws the list of deployments.

use super::Deployments;
use super::columns::{COMMIT, NAME, Sort};
use super::last_day::{hours, strip};
use super::shown_row::{ShownRow, fit_commit};
use crate::session::profile::ProfileState;
use crate::session::threads_known::ThreadsKnown;
use crate::session::{Cx, Session, cure};
use crate::widgets::area::below;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Piece, Tone};
use crate::widgets::table::{GUTTER, RowStyle, TableColumns, TableRow};
use runtail_api::ApiError;
use runtail_core::text;

/// Lines above the rows: column headers.
pub(super) const LIST_HEAD: u16 = 1;
/// The mark of a serverless deployment, after its name.
pub(super) const SERVERLESS: &str = " z";

impl Deployments {
    /// Draws the list.
    pub fn view_list(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
        let (area, list) = (cx.area, &self.list);
        if list.is_empty() {
            let (tone, words) = empty_state(self, cx);
            return canvas.words(area, tone, &words);
        }
        let columns = self.columns(cx);
        let head = columns.head_sorted_by(list.sort().order.column());
        canvas.line(area.x + GUTTER, area.y, area.w, &head);
        // Of the selected row, the name is bold.
        let style = RowStyle {
            is_focused: cx.is_focused,
            bold: GUTTER + columns.width(NAME) as u16 + 1,
            ..RowStyle::default()
        };
        let rows = below(area, LIST_HEAD);
        list.table.draw(canvas, rows, style, |number| {
            let row = ShownRow::new(self, cx, list.shown(number)?);
            let mark = match list.table.marked.contains(&row.row.id) {
                true => Some("+"),
                false => row.is_watched().then_some("»"),
            };
            let line = row_line(row, &columns);
            Some(TableRow { mark, line })
        });
    }

    /// Returns whether a list without a frame has a title, because it says more than the number of deployments.
    pub fn has_title(&self, session: &Session) -> bool {
        let is_plain = self.list.filter().is_empty()
            && self.list.table.marked.is_empty()
            && self.watches.is_empty();
        let is_complete = |p: &ProfileState| {
            !p.control_plane
                || (p.loaded_at.is_some() && p.problem().is_none() && p.partial.is_none())
        };
        !is_plain
            || !session.unread_servers().0.is_empty()
            || self.list.sort() != Sort::default()
            || !session.profiles.iter().all(is_complete)
    }

    /// Returns the title: the number of deployments, what could not be listed, the filter, marks and watches.
    pub fn list_title(&self, cx: &Cx<'_>) -> Line {
        let list = &self.list;
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
            [(name, why)] => add(
                Tone::Plain,
                &format!("{name}: couldn't list threads ({why})"),
            ),
            several => {
                let is_alike = several.iter().all(|(_, why)| *why == several[0].1);
                let why = if is_alike {
                    format!(" ({})", several[0].1)
                } else {
                    String::new()
                };
                add(
                    Tone::Plain,
                    &format!("{number} servers: couldn't list threads{why}"),
                );
            }
        }
        if !list.table.marked.is_empty() {
            add(Tone::Accent, &format!("{} marked", list.table.marked.len()));
        }
        if !self.watches.is_empty() {
            add(Tone::Accent, &format!("» {} watched", self.watches.len()));
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
}

fn is_loading(profile: &ProfileState) -> bool {
    profile.control_plane
        && profile.loaded_at.is_none()
        && profile.error.is_none()
        && !profile.halted
}

/// Returns the cells of a row.
fn row_line(shown: ShownRow<'_>, columns: &TableColumns) -> Line {
    let ShownRow {
        d,
        cx,
        row,
        profile,
    } = shown;
    let newest = row.newest.as_ref();
    let is_server = row.deployment.is_none();
    let mut name = match row {
        row if row.gone => Line::dim(&row.name),
        row if shown.has_failed() => Line::bad(&row.name),
        row => Line::plain(&row.name),
    };
    if row.is_serverless() && !row.gone {
        name = name
            .cut(columns.width(NAME).saturating_sub(SERVERLESS.len()))
            .with_dim(SERVERLESS);
    }
    let (region, state) = match is_server {
        true => (shown.region(), shown.reach()),
        false => (&*row.tag, shown.newest()),
    };
    let past = d.past.get(&row.id).zip(profile).map(|(past, profile)| {
        let now = profile.server_time(cx.session.now);
        strip(&hours(past, newest, now))
    });
    let made = newest.and_then(|one| one.source_revision_config.made_from());
    let mut line = columns.line([
        name,
        Line::dim(region),
        state,
        Line::dim(&newest.map(|one| shown.age(one)).unwrap_or_default()),
        if is_server {
            Line::new()
        } else {
            shown.serving()
        },
        past.unwrap_or_default(),
        count(Tone::Plain, row.counts.busy, shown),
        count(Tone::Waiting, row.counts.waiting, shown),
        count(Tone::Bad, row.counts.failed, shown),
        Line::plain(
            newest
                .and_then(|one| d.subjects.of(one))
                .unwrap_or_default(),
        ),
        Line::plain(&fit_commit(
            &made.unwrap_or_default(),
            columns.width(COMMIT),
        )),
        Line::dim(row.url.as_deref().unwrap_or_default()),
    ]);
    // Outdated rows are dim; the header shows their age.
    if !is_server && profile.is_some_and(|profile| profile.problem().is_some()) {
        let pieces = line.left.iter_mut();
        pieces.for_each(|piece: &mut Piece| piece.tone = Tone::Dim);
    }
    line
}

/// Returns a number of a row's threads; nothing for a zero that is known.
fn count(tone: Tone, number: usize, shown: ShownRow<'_>) -> Line {
    let server = shown.server();
    let known = server.map(|server| shown.cx.session.threads_known(&server));
    match (number, known) {
        (0, Some(ThreadsKnown::Asking)) => Line::dim("…"),
        (0, Some(ThreadsKnown::Unread(_))) => Line::dim("?"),
        (0, _) => Line::new(),
        (_, Some(ThreadsKnown::AsOf(_))) => Line::dim(&text::count(number as u64)),
        _ => Line::of(tone, &text::count(number as u64)),
    }
}

fn empty_state(d: &Deployments, cx: &Cx<'_>) -> (Tone, String) {
    if !d.list.filter().is_empty() {
        let filter = text::clean(d.list.filter().text()).into_owned();
        return (
            Tone::Plain,
            format!(
                "No match for “{filter}”; Esc clears it.\n\nnewest:failed filters by field, !word excludes."
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
            "No profile in use.\n\nPress p for profiles.".into(),
        );
    }
    if cx
        .session
        .profiles
        .iter()
        .any(|p| p.control_plane && p.loaded_at.is_none())
    {
        return (Tone::Dim, "Loading…".into());
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
    let words =
        format!("No deployments in {place}.\n\n{create} creates one, {profiles} adds a server.");
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
