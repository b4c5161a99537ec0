//! Draws the inbox: the rows, and the selected one in full below them.

use super::detail;
use super::page::InboxPage;
use super::rows::Entry;
use crate::session::inbox::table::{self, RowCells};
use crate::session::inbox::{Counts, InboxListRow, Listing};
use crate::session::{Cx, SMALLEST, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::{GUTTER, RowStyle, TableRow};
use runtail_core::model::{InboxGroup, InboxItem};
use runtail_core::text;
use std::ops::Range;

/// Minimum size for frames around the two parts.
const FRAMED: (u16, u16) = (100, 20);

/// The areas of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    is_framed: bool,
    /// The rows with their headings and their frame or title.
    list: Area,
    /// The rows.
    rows: Area,
    /// The details with their frame or title.
    detail: Area,
    /// The lines of the details.
    lines: Area,
}

/// Lays out the page. Without details, and above a sheet that leaves few rows, the list has the whole area.
fn layout_for(size: (u16, u16), has_detail: bool) -> Layout {
    let both = layout(size);
    if has_detail && size.1 >= SMALLEST.1 {
        return both;
    }
    let grow = |area: Area| Area {
        h: area.h + both.detail.h,
        ..area
    };
    let none = |area: Area| Area { h: 0, ..area };
    Layout {
        list: grow(both.list),
        rows: grow(both.rows),
        detail: none(both.detail),
        lines: none(both.lines),
        ..both
    }
}

/// Lays out the page with its details.
pub fn layout((w, h): (u16, u16)) -> Layout {
    let is_framed = w >= FRAMED.0 && h >= FRAMED.1;
    // The frames replace the rules below the header and above the footer.
    let edge = u16::from(is_framed);
    let body = Area {
        x: 0,
        y: 2 - edge,
        w,
        h: h.saturating_sub(4 - 2 * edge),
    };
    let below = match is_framed {
        true => (body.h / 3).clamp(7, 13),
        // The details have a line for their title.
        false => (body.h / 3).clamp(2, 8) + 1,
    };
    let list = Area {
        h: body.h.saturating_sub(below),
        ..body
    };
    let detail = Area {
        y: body.y + list.h,
        h: below,
        ..body
    };
    let inset = |x: u16, y: u16, area: Area| Area {
        x,
        y: area.y + y,
        w: w.saturating_sub(2 * x),
        h: area.h.saturating_sub(y + edge),
    };
    Layout {
        is_framed,
        list,
        // A title and the headings are above the rows.
        rows: inset(edge, 2, list),
        detail,
        lines: inset(1 + edge, 1, detail),
    }
}

#[cfg(test)]
impl Layout {
    /// Returns whether each part has room and nothing overlaps.
    pub(super) fn fits(&self, w: u16, h: u16) -> bool {
        let end = |area: Area| area.y + area.h;
        let is_inside = |area: Area| area.x + area.w <= w && end(area) < h && area.h > 0;
        [self.rows, self.detail, self.lines]
            .into_iter()
            .all(is_inside)
            && self.rows.h >= 2
            && end(self.rows) <= self.detail.y
            && end(self.lines) <= end(self.detail)
            && end(self.detail) < h
    }
}

/// Returns the number of rows that fit.
pub fn rows_height(size: (u16, u16)) -> usize {
    layout_for(size, true).rows.h.into()
}

/// Draws the page.
pub(super) fn inbox(page: &InboxPage, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let focused = page.focused();
    let layout = layout_for(cx.session.page_size(), focused.is_some());
    let listing = page.listing();
    let (title, aside) = head(page, listing, layout.list.w.into(), cx.session);
    let hidden = hidden(page.table.visible(), page.rows.len());
    if layout.is_framed {
        canvas.frame(layout.list, &title, &aside, &hidden);
    } else {
        let mut line = Line::of(Tone::Focus, &title);
        line.right = aside.left;
        canvas.line_for_right(
            layout.list.x + 1,
            layout.list.y,
            layout.list.w.saturating_sub(2),
            &line,
        );
    }
    if page.rows.len() == 0 {
        let (tone, said) = empty_state(page, listing);
        let area = Area {
            y: layout.rows.y.saturating_sub(1),
            h: layout.rows.h + 1,
            ..layout.rows
        };
        canvas.words(area, tone, &said);
    } else {
        let width = usize::from(layout.rows.w.saturating_sub(GUTTER + 1));
        let columns = table::columns(width, false);
        canvas.line(
            layout.rows.x + GUTTER,
            layout.rows.y - 1,
            width as u16,
            &columns.head(),
        );
        let entries = page.visible();
        let cells = entries
            .iter()
            .map(|entry| (page.rows.row(*entry), cells(page, *entry, cx.session)));
        let top = page.table.visible().start;
        let selected = page.table.at().and_then(|at| at.checked_sub(top));
        let lines = table::lines(cells.collect(), &columns, selected);
        let mut rows = entries.iter().zip(lines);
        // Only the thread of the selected row is bold.
        let style = RowStyle {
            bold: 0,
            ..RowStyle::default()
        };
        page.table.draw(canvas, layout.rows, style, |_| {
            let (entry, line) = rows.next()?;
            Some(TableRow {
                mark: mark(page, *entry),
                line,
            })
        });
    }
    let (Some(row), Some(entry), true) = (focused, page.selected(), layout.detail.h > 0) else {
        return;
    };
    let group = match entry {
        Entry::Group(at) => Some(page.rows.group(at)),
        Entry::Row(..) => None,
    };
    let title = match group {
        Some(group) => format!(
            "{} › {}",
            table::place(&row.row),
            text::counted(group.rows.len(), "thread")
        ),
        None => detail::title(row),
    };
    if layout.is_framed {
        canvas.frame(layout.detail, &text::clean(&title), &Line::new(), "");
    } else {
        rule(canvas, layout.detail, &text::clean(&title), &hidden);
    }
    let area = layout.lines;
    let size = (area.w.into(), area.h.into());
    let lines = match group {
        Some(group) => detail::group_lines(&page.rows, group, cx, size),
        None => detail::lines(row, page.details.of(row), cx, size.0, size.1),
    };
    for (n, line) in lines.iter().take(area.h.into()).enumerate() {
        canvas.line(area.x, area.y + n as u16, area.w, line);
    }
}

/// Returns what the line of an entry shows.
fn cells(page: &InboxPage, entry: Entry, session: &Session) -> RowCells {
    let row = page.rows.row(entry);
    let cells = table::cells(row, session, page.details.error(row));
    let group = match entry {
        Entry::Row(_, false) => return cells,
        Entry::Row(_, true) => {
            return RowCells {
                sign: "  ",
                needs: difference(row),
                ..cells
            };
        }
        Entry::Group(at) => page.rows.group(at),
    };
    RowCells {
        age: cells.age,
        thread: text::counted(group.rows.len(), "thread"),
        sign: if group.is_open { "▾ " } else { "▸ " },
        needs: needs(row),
        owner: String::new(),
    }
}

/// Returns what all threads of a group need.
pub(super) fn needs(row: &InboxListRow) -> String {
    match &row.row.item {
        InboxItem::Thread(thread) if row.row.group() != InboxGroup::Stuck => thread.shape(),
        _ => table::needs(row),
    }
}

/// Returns what a thread needs besides what all threads of its group need.
pub(super) fn difference(row: &InboxListRow) -> String {
    let (common, all) = (needs(row), table::needs(row));
    let own = all
        .strip_prefix(&common)
        .map(|own| own.trim_matches([' ', '·', ':']));
    own.map(str::to_string).unwrap_or(all)
}

/// Returns the mark of an entry. A group has one if all its threads are marked, and another one if some are.
fn mark(page: &InboxPage, entry: Entry) -> Option<&'static str> {
    match entry {
        Entry::Group(at) => {
            let group = page.rows.group(at);
            let is_whole = group.marked == group.rows.len();
            (group.marked > 0).then_some(if is_whole { "+" } else { "~" })
        }
        Entry::Row(..) => page
            .table
            .marked
            .contains(&page.rows.row(entry).key)
            .then_some("+"),
    }
}

/// Draws the rule above the details of a page without frames: the title, and how many rows are hidden.
fn rule(canvas: &mut Canvas<'_>, area: Area, title: &str, hidden: &str) {
    let style = canvas.theme.style(Tone::Dim);
    canvas.text(area.x, area.y, area.w, &"─".repeat(area.w.into()), style);
    let more = if hidden.is_empty() {
        String::new()
    } else {
        format!(" {hidden} ")
    };
    let room = area.w.saturating_sub(6 + text::width(&more) as u16);
    let right = Line::new().right(Tone::Dim, &more);
    canvas.line(area.x, area.y, area.w.saturating_sub(2), &right);
    let title = format!(" {} ", text::fit(title, room.saturating_sub(2).into()));
    let style = canvas.theme.style(Tone::Strong);
    canvas.text(area.x + 2, area.y, room, &title, style);
}

/// Says how many rows are above and below the visible ones, as cards do.
fn hidden(window: Range<usize>, count: usize) -> String {
    let (first, end) = (window.start, window.end);
    let mut parts = vec![("↑", first), ("↓", count.saturating_sub(end))];
    parts.retain(|(_, rows)| *rows > 0);
    let part = |(glyph, rows): &(&str, usize)| format!("{glyph} {}", text::count(*rows as u64));
    match parts.is_empty() {
        true => String::new(),
        false => {
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("{} more", parts.join(" "))
        }
    }
}

/// Columns around the title and what is beside it, and between them: in a frame, and without one.
const HEAD_MARGINS: (usize, usize) = (10, 4);

/// Returns the title, and what was not checked: as many names and reasons as fit. The counts are never cut.
fn head(page: &InboxPage, listing: &Listing, width: usize, session: &Session) -> (String, Line) {
    let asking = match listing.asking.as_slice() {
        [] => vec![String::new()],
        all => vec![
            format!(" · asking {}…", names(all)),
            format!(" · asking {}…", some_names(all, 1)),
            format!(" · asking {} servers…", all.len()),
        ],
    };
    let titles = titles(page, listing, width);
    let mut asides = not_checked(listing);
    if let Some(words) = outdated_words(listing, session) {
        asides = asides
            .iter()
            .map(|said| format!("{said}{}{words}", if said.is_empty() { "" } else { " · " }))
            .collect();
    }
    // Names are more important than what the title says of the order.
    let mut all: Vec<(String, String)> = Vec::new();
    for aside in &asides {
        for asking in &asking {
            let forms = titles.iter().map(|title| format!("{title}{asking}"));
            all.extend(forms.map(|title| (title, aside.clone())));
        }
    }
    // Where nothing fits, the less urgent counts are left away rather than cut.
    let Counts {
        waiting, failed, ..
    } = listing.counts;
    if page.table.filter.is_empty() && !listing.rows.is_empty() {
        let title = format!("Inbox · {waiting} waiting, {failed} failed");
        all.extend(asides.iter().map(|aside| (title.clone(), aside.clone())));
    }
    let margin = if width < FRAMED.0.into() {
        HEAD_MARGINS.1
    } else {
        HEAD_MARGINS.0
    };
    let fits = |(title, aside): &&(String, String)| {
        text::width(title) + text::width(aside) + margin <= width
    };
    let (title, said) = all
        .iter()
        .find(fits)
        .or(all.last())
        .cloned()
        .unwrap_or_default();
    let of_said = if listing.failed.is_empty() {
        Tone::Dim
    } else {
        Tone::Bad
    };
    let unlisted = match listing.unlisted.as_slice() {
        [] => String::new(),
        all => format!("{}: open threads only", names(all)),
    };
    let asleep = asleep(listing).unwrap_or_default();
    let aside = Line::joined([(of_said, said), (Tone::Dim, unlisted), (Tone::Dim, asleep)]);
    let aside = match listing.limits.first() {
        Some(limit) if aside.left.is_empty() => Line::dim(limit),
        _ => aside,
    };
    (title, aside)
}

/// Says which servers are not asked.
fn asleep(listing: &Listing) -> Option<String> {
    (!listing.asleep.is_empty())
        .then(|| format!("asked only while open: {}", names(&listing.asleep)))
}

/// Returns the title with the counts, the longest form first.
fn titles(page: &InboxPage, listing: &Listing, width: usize) -> Vec<String> {
    let marked = match page.table.marked.len() as u64 {
        0 => String::new(),
        marked => format!(" · {} marked", text::count(marked)),
    };
    if !page.table.filter.is_empty() {
        let (shown, all) = (page.rows.matches, listing.rows.len());
        return vec![format!(
            "Inbox · /{} · {shown} of {all}{marked}",
            text::clean(&page.table.filter)
        )];
    }
    if listing.rows.is_empty() {
        return vec!["Inbox".into()];
    }
    let Counts {
        waiting,
        failed,
        stuck,
        unfinished,
    } = listing.counts;
    let more = [(stuck, "stuck"), (unfinished, "unfinished")];
    let more: String = more
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!(", {count} {word}"))
        .collect();
    let counts = format!("{waiting} waiting, {failed} failed{more}");
    let brief = format!("Inbox · {counts}{marked}");
    match width < FRAMED.0.into() {
        true => vec![brief],
        false => vec![
            format!("Inbox · all servers · {counts}{marked} · waiting first, then newest failures"),
            format!("Inbox · all servers · {counts}{marked}"),
            brief,
        ],
    }
}

/// Returns which servers were not checked and why, the longest form first.
fn not_checked(listing: &Listing) -> Vec<String> {
    let failed = &listing.failed;
    let Some((_, first)) = failed.first() else {
        return vec![String::new()];
    };
    let number = format!(
        "{} servers not checked",
        listing.unchecked.max(failed.len())
    );
    let all: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
    match failed.len() {
        1 => vec![
            format!("{}: not checked ({first})", all[0]),
            format!("{} not checked", all[0]),
        ],
        _ if failed.iter().all(|(_, why)| why == first) => {
            vec![
                format!("{}: not checked ({first})", all.join(", ")),
                format!("{number} ({first})"),
                number,
            ]
        }
        _ => {
            let each: Vec<String> = failed
                .iter()
                .map(|(name, why)| format!("{name} ({why})"))
                .collect();
            vec![
                format!("not checked: {}", each.join(", ")),
                format!("not checked: {}", all.join(", ")),
                number,
            ]
        }
    }
}

/// Returns since when the dim rows are not confirmed, once for all of them.
fn outdated_words(listing: &Listing, session: &Session) -> Option<String> {
    let (oldest, newest) = listing.stale_since?;
    let oldest = session.dated_minute(oldest);
    let later = match session.dated_minute(newest) != oldest {
        true => " or later",
        false => "",
    };
    Some(format!("dim rows as of {oldest}{later}"))
}

/// Returns up to three names and the number of the others.
fn names(all: &[String]) -> String {
    some_names(all, 3)
}

/// Returns up to so many names and the number of the others.
fn some_names(all: &[String], most: usize) -> String {
    let named = all[..all.len().min(most)].join(", ");
    match all.len().checked_sub(most) {
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}

/// Returns the text in place of rows.
fn empty_state(page: &InboxPage, listing: &Listing) -> (Tone, String) {
    if let Some(text) = page.table.no_match().filter(|_| !listing.rows.is_empty()) {
        return text;
    }
    let mut parts = Vec::new();
    if !listing.checked.is_empty() {
        parts.push(format!(
            "Nothing waits for you on {}.",
            names(&listing.checked)
        ));
    }
    if !listing.asking.is_empty() {
        parts.push(format!("Asking {}…", names(&listing.asking)));
    }
    parts.extend(
        listing
            .failed
            .iter()
            .take(8)
            .map(|(name, why)| format!("{name}: not checked ({why}).")),
    );
    if listing.failed.len() > 8 {
        parts.push(format!(
            "{} more servers not checked.",
            listing.failed.len() - 8
        ));
    }
    if !listing.unlisted.is_empty() {
        let which = names(&listing.unlisted);
        parts.push(format!(
            "{which} can't list threads: watching open ones only."
        ));
    }
    parts.extend(asleep(listing).map(|said| format!("{}.", text::capitalized(&said))));
    parts.extend(
        listing
            .limits
            .iter()
            .take(4)
            .map(|limit| format!("{limit}.")),
    );
    if parts.is_empty() {
        parts.push("No agent server known yet.".into());
    }
    (Tone::Plain, parts.join("\n\n"))
}
