//! The help: the keys of a context and those that work everywhere, in columns.

use crate::app::{App, Overlay};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::help::{HelpGroup, HelpItem, HelpPlace, contexts, help_groups};
use crate::session::{Component, Cx, Request, Requests, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::table::Table;
use runtail_core::text;

/// Widths from which the help has three and two columns.
const WIDE: (u16, u16) = (120, 100);
/// Columns of the selection mark before the keys.
const MARK: usize = 2;
/// Maximum columns of the keys: beside other columns, and in a single one.
const MAX_KEYS: usize = 10;
const MAX_WIDE_KEYS: usize = 16;
/// Columns between two columns.
const GAP: usize = 2;
/// Minimum columns of a sentence that is wrapped.
const MIN_SENTENCE: usize = 24;
/// The keys of the page.
const KEYS: &str = "/ filter   ⏎ run   Tab other contexts   Esc close";

/// The help page.
#[derive(Debug, Clone, Default)]
pub struct HelpPage {
    /// The shown context: how many after the current one.
    turned: usize,
    /// How many contexts it can show.
    contexts: usize,
    /// The lines of all groups.
    table: Table,
    /// The first visible row.
    top: usize,
    /// The shown context and view.
    title: String,
    items: Vec<HelpItem>,
    layout: HelpLayout,
}

/// A cell of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cell {
    Blank,
    Head(String),
    /// A line, by its number.
    Item(usize),
    /// More of the sentence of the line above: the number of the line, and which part it is.
    More(usize, usize),
}

/// The columns of the help.
#[derive(Debug, Clone, Default)]
struct HelpLayout {
    columns: Vec<Vec<Cell>>,
    /// Columns of the keys and of the text, if the sentences are shown instead of the names, because all of them have room.
    sentences: Option<(usize, usize)>,
}

/// Distributes the groups for a screen.
fn layout(session: &Session, groups: &[HelpGroup]) -> HelpLayout {
    let (count, body) = (count(session.page_size().0), body(session));
    let names = columns(groups, count, |_| 1);
    if count == 1 {
        return HelpLayout {
            columns: names,
            sentences: None,
        };
    }
    let keys = groups
        .iter()
        .flat_map(|group| &group.items)
        .map(|item| text::width(&item.short_keys))
        .max()
        .unwrap_or(0);
    let keys = keys.min(MAX_KEYS);
    let room = (usize::from(body.w) / count).saturating_sub(GAP + MARK + keys + 2);
    let sentences = columns(groups, count, |item| {
        wrap(&item.sentence, room.max(1)).len().max(1)
    });
    let has_room = room >= MIN_SENTENCE
        && sentences
            .iter()
            .all(|cells| cells.len() <= usize::from(body.h));
    match has_room {
        true => HelpLayout {
            columns: sentences,
            sentences: Some((keys, room)),
        },
        false => HelpLayout {
            columns: names,
            sentences: None,
        },
    }
}

impl App {
    /// Gives the help the keys of the screen below it.
    pub(in crate::app) fn refresh_help(&mut self) {
        let is_help = |overlay: &Overlay| matches!(overlay, Overlay::Help(_));
        let Some(at) = self.overlays.iter().position(is_help) else {
            return;
        };
        if let Overlay::Help(mut page) = self.overlays.remove(at) {
            page.refresh(self);
            self.overlays.insert(at, Overlay::Help(page));
        }
    }
}

impl HelpPage {
    /// Computes the groups with the lines that match the filter, and their columns.
    fn refresh(&mut self, app: &App) {
        let all: Vec<Context> = contexts(app.page_context()).collect();
        self.contexts = all.len();
        self.turned %= self.contexts;
        let (context, is_here) = (all[self.turned], self.turned == 0);
        let commands = match is_here {
            true => app.available(context),
            false => Commands::of(context),
        };
        let place = HelpPlace {
            context,
            view: app.shown_view().filter(|_| is_here),
            commands: &commands,
        };
        let view = place.view.map(|view| format!(", {view}"));
        self.title = format!("{}{}", place.context.name(), view.unwrap_or_default());
        let mut groups = help_groups(&app.session.keymap, place, app.session.settings.ascii);
        let words: Vec<String> = self
            .table
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let matches = |item: &HelpItem| {
            let text = format!(
                "{} {} {}",
                item.name,
                item.sentence,
                item.id.unwrap_or_default()
            )
            .to_lowercase();
            words.iter().all(|word| text.contains(word))
                || item.keys.split("  ").any(|key| key == self.table.filter)
        };
        groups
            .iter_mut()
            .for_each(|group| group.items.retain(matches));
        groups.retain(|group| !group.items.is_empty());
        self.layout = layout(&app.session, &groups);
        self.items = groups.into_iter().flat_map(|group| group.items).collect();
        let id = |item: &HelpItem| item.id.unwrap_or(&item.name).to_string();
        self.table
            .lay_out(self.items.iter().map(id).collect(), usize::MAX);
        self.scroll_to_cursor(body(&app.session).h.into());
    }

    fn scroll_to_cursor(&mut self, room: usize) {
        let columns = &self.layout.columns;
        let all = columns.iter().map(Vec::len).max().unwrap_or(0);
        let row = place_of(columns, self.table.cursor()).map_or(0, |(_, row)| row);
        // The heading above the first line stays visible.
        self.top = self
            .top
            .min(row.saturating_sub(1))
            .max((row + 1).saturating_sub(room))
            .min(all.saturating_sub(room));
    }

    /// Shows the context that is `by` after the shown one.
    fn turn(&mut self, by: usize) {
        self.turned += by;
        self.table.deselect();
    }

    fn run_selected(&self) -> Requests {
        let item = self.items.get(self.table.cursor());
        item.and_then(|item| item.id)
            .map(|id| Request::Run(id).into())
            .unwrap_or_default()
    }

    /// Moves to the same row of a neighboring column, or as near as possible.
    fn move_column(&mut self, right: bool) {
        let columns = &self.layout.columns;
        let Some((column, row)) = place_of(columns, self.table.cursor()) else {
            return;
        };
        let next = if right {
            column.checked_add(1)
        } else {
            column.checked_sub(1)
        };
        let Some(cells) = next.and_then(|next| columns.get(next)) else {
            return;
        };
        let item = |(at, cell): (usize, &Cell)| match cell {
            Cell::Item(item) => Some((at.abs_diff(row), *item)),
            _ => None,
        };
        if let Some((_, item)) = cells.iter().enumerate().filter_map(item).min() {
            self.table.select(item);
        }
    }
}

impl Component for HelpPage {
    fn context(&self) -> Context {
        Context::Help
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::NextPane => self.turn(1),
            Action::PrevPane => self.turn(self.contexts - 1),
            Action::Left | Action::Right => self.move_column(action == Action::Right),
            Action::Open => return self.run_selected(),
            _ => {}
        }
        Requests::none()
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.table)
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.table)
    }

    /// A click chooses a line, and a click on the chosen one runs it.
    fn click(&mut self, cx: &Cx<'_>, x: u16, y: u16) -> Requests {
        let (columns, body) = (&self.layout.columns, body(cx.session));
        let (column, row) = (cx.area.x + x - body.x, cx.area.y + y - body.y);
        let width = (usize::from(body.w) / columns.len().max(1)).max(1);
        let cell = columns
            .get(usize::from(column) / width)
            .and_then(|cells| cells.get(self.top + usize::from(row)));
        match cell {
            Some(Cell::Item(at) | Cell::More(at, _)) if *at == self.table.cursor() => {
                return self.run_selected();
            }
            Some(Cell::Item(at) | Cell::More(at, _)) => self.table.select(*at),
            _ => {}
        }
        Requests::none()
    }

    fn set_filter(&mut self, text: &str) {
        self.table.filter = text.to_string();
        self.table.deselect();
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let (w, h) = cx.session.page_size();
        let items = &self.items;
        let filter = match self.table.filter.is_empty() {
            true => "/ filters".to_string(),
            false => format!("filter: {}", text::clean(&self.table.filter)),
        };
        let keys = text::counted(items.len(), "key");
        let title = format!("Help · {} · {keys} · {filter}", self.title);
        canvas.frame(
            Area {
                x: 0,
                y: 1,
                w,
                h: h.saturating_sub(2),
            },
            &title,
            &Line::new(),
            &in_ascii(KEYS, cx),
        );
        let body = body(cx.session);
        if items.is_empty() {
            let said = format!(
                "No key here matches \"{}\". Press Tab for other contexts.",
                self.table.filter
            );
            canvas.line(body.x, body.y, body.w, &Line::dim(&said));
        }
        let HelpLayout { columns, sentences } = &self.layout;
        let width = usize::from(body.w) / columns.len().max(1);
        for (n, cells) in columns.iter().enumerate() {
            let x = body.x + (n * width) as u16;
            // A gap between two columns.
            let room = if n + 1 < columns.len() {
                width.saturating_sub(GAP)
            } else {
                width
            };
            let is_wide = columns.len() == 1;
            let keys = key_width(cells, items, is_wide);
            for (row, cell) in cells.iter().skip(self.top).take(body.h.into()).enumerate() {
                let y = body.y + row as u16;
                match cell {
                    Cell::Blank => {}
                    Cell::Head(title) => {
                        canvas.line(x + MARK as u16, y, room as u16, &Line::strong(title))
                    }
                    Cell::Item(at) | Cell::More(at, _) => {
                        let Some(item) = items.get(*at) else { continue };
                        let is_selected = *at == self.table.cursor();
                        let line = match (sentences, cell) {
                            (Some(room), Cell::More(_, part)) => {
                                sentence_line(item, *room, *part, is_selected)
                            }
                            (Some(room), _) => sentence_line(item, *room, 0, is_selected),
                            (None, _) => item_line(item, keys, room, is_selected, is_wide),
                        };
                        canvas.line(x, y, room as u16, &line);
                    }
                }
            }
        }
        None
    }
}

/// Names Enter in ASCII, where its symbol would look like that of Ctrl.
fn in_ascii(keys: &str, cx: &Cx<'_>) -> String {
    if cx.session.settings.ascii {
        keys.replace('⏎', "Enter")
    } else {
        keys.to_string()
    }
}

/// Returns the area inside the frame.
fn body(session: &Session) -> Area {
    let (w, h) = session.page_size();
    Area {
        x: 1,
        y: 2,
        w: w.saturating_sub(2),
        h: h.saturating_sub(4),
    }
}

fn count(width: u16) -> usize {
    match width {
        w if w >= WIDE.0 => 3,
        w if w >= WIDE.1 => 2,
        _ => 1,
    }
}

/// Distributes groups among columns without splitting one, so that the longest column is as short as possible.
/// `rows` returns the rows of a line.
fn columns(
    groups: &[HelpGroup],
    count: usize,
    rows: impl Fn(&HelpItem) -> usize,
) -> Vec<Vec<Cell>> {
    let heights: Vec<usize> = groups
        .iter()
        .map(|group| group.items.iter().map(&rows).sum::<usize>() + 2)
        .collect();
    let longest = heights.iter().max().copied().unwrap_or(0);
    let all = heights.iter().sum::<usize>();
    let fits = |limit: &usize| {
        let mut used = vec![0];
        for height in &heights {
            match used.last_mut() {
                Some(last) if *last + height <= *limit => *last += height,
                _ => used.push(*height),
            }
        }
        used.len() <= count
    };
    let limit = (longest..=all).find(fits).unwrap_or(all);
    let mut columns: Vec<Vec<Cell>> = vec![Vec::new()];
    let mut item = 0;
    for (group, height) in groups.iter().zip(heights) {
        // The blank row after a group doesn't count at the end of a column.
        if columns
            .last()
            .is_some_and(|last| !last.is_empty() && last.len() + 1 + height > limit)
        {
            columns.push(Vec::new());
        }
        let Some(column) = columns.last_mut() else {
            break;
        };
        if !column.is_empty() {
            column.push(Cell::Blank);
        }
        column.push(Cell::Head(group.title.clone()));
        for one in &group.items {
            column.push(Cell::Item(item));
            column.extend((1..rows(one)).map(|part| Cell::More(item, part)));
            item += 1;
        }
    }
    columns
}

/// Returns the column and the row of a line.
fn place_of(columns: &[Vec<Cell>], item: usize) -> Option<(usize, usize)> {
    let row = |cells: &Vec<Cell>| cells.iter().position(|cell| *cell == Cell::Item(item));
    columns
        .iter()
        .enumerate()
        .find_map(|(column, cells)| Some((column, row(cells)?)))
}

fn shown_keys(item: &HelpItem, is_wide: bool) -> &str {
    if is_wide && text::width(&item.keys) <= MAX_WIDE_KEYS {
        &item.keys
    } else {
        &item.short_keys
    }
}

/// Returns the columns of the keys.
fn key_width(cells: &[Cell], items: &[HelpItem], is_wide: bool) -> usize {
    let width = |cell: &Cell| match cell {
        Cell::Item(at) => items
            .get(*at)
            .map(|item| text::width(shown_keys(item, is_wide))),
        _ => None,
    };
    cells
        .iter()
        .filter_map(width)
        .max()
        .unwrap_or(0)
        .min(if is_wide { MAX_WIDE_KEYS } else { MAX_KEYS })
}

/// Returns a line of the help. With room, it has the whole sentence.
fn item_line(item: &HelpItem, keys: usize, width: usize, is_selected: bool, is_wide: bool) -> Line {
    let mark = if is_selected { "▌ " } else { "  " };
    let shown = text::fit(shown_keys(item, is_wide), keys).into_owned();
    let gap = " ".repeat((keys + 2).saturating_sub(text::width(&shown)));
    let room = width.saturating_sub(MARK + keys + 2);
    let said = if is_wide && text::width(&item.sentence) <= room {
        &item.sentence
    } else {
        &item.name
    };
    let tone = if is_selected {
        Tone::Strong
    } else {
        Tone::Plain
    };
    Line::accent(mark)
        .with_accent(&shown)
        .with(tone, &gap)
        .with(tone, said)
}

/// Returns a row of a line with its whole sentence.
fn sentence_line(
    item: &HelpItem,
    (keys, room): (usize, usize),
    part: usize,
    is_selected: bool,
) -> Line {
    let mark = if is_selected { "▌ " } else { "  " };
    let shown = if part == 0 {
        text::fit(&item.short_keys, keys).into_owned()
    } else {
        String::new()
    };
    let gap = " ".repeat((keys + 2).saturating_sub(text::width(&shown)));
    let tone = if is_selected {
        Tone::Strong
    } else {
        Tone::Plain
    };
    let said = wrap(&item.sentence, room.max(1))
        .into_iter()
        .nth(part)
        .unwrap_or_default();
    Line::accent(mark)
        .with_accent(&shown)
        .with(tone, &gap)
        .with(tone, &said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(items: usize) -> HelpGroup {
        let item = HelpItem {
            id: None,
            keys: "x".into(),
            short_keys: "x".into(),
            name: "X".into(),
            sentence: "X".into(),
        };
        HelpGroup {
            title: "T".into(),
            items: vec![item; items],
        }
    }

    #[test]
    fn groups_are_spread_evenly_and_stay_whole() {
        let groups = [group(5), group(10), group(4), group(3), group(9), group(9)];
        for count in 1..=4 {
            let columns = columns(&groups, count, |_| 1);
            assert!(columns.len() <= count);
            let cells: Vec<&Cell> = columns.iter().flatten().collect();
            let items: Vec<usize> = cells
                .iter()
                .filter_map(|cell| {
                    if let Cell::Item(n) = cell {
                        Some(*n)
                    } else {
                        None
                    }
                })
                .collect();
            assert_eq!(
                items,
                (0..40).collect::<Vec<_>>(),
                "every line once, in order"
            );
            assert_eq!(
                cells
                    .iter()
                    .filter(|cell| matches!(cell, Cell::Head(_)))
                    .count(),
                groups.len()
            );
        }
        assert_eq!(
            columns(&groups, 3, |_| 1).iter().map(Vec::len).max(),
            Some(21)
        );
        assert_eq!(columns(&[], 3, |_| 1), [Vec::new()]);
    }

    #[test]
    fn lines_with_several_rows_stay_together() {
        let columns = columns(&[group(2), group(1)], 2, |_| 3);
        let expected = [
            Cell::Head("T".into()),
            Cell::Item(0),
            Cell::More(0, 1),
            Cell::More(0, 2),
        ];
        assert_eq!(columns[0][..4], expected);
        assert_eq!(columns.iter().map(Vec::len).collect::<Vec<_>>(), [7, 4]);
    }
}
