//! The help: the keys of a context and those that work everywhere, in columns.

use super::layout::{Cell, HelpColumn, MARK, WIDE, body, layout, place_of};
use crate::app::{App, Overlay};
use crate::input::action::{Action, Context};
use crate::input::help::{HelpItem, HelpPlace, help_groups};
use crate::session::{Component, Cx, Request, Requests};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::Table;
use runtail_core::text;

/// Maximum columns of the keys of a line that shows all of them.
const MAX_KEYS: usize = 16;

/// The help page.
#[derive(Debug, Clone, Default)]
pub struct HelpPage {
    /// Whether it shows the lines after the first ones.
    is_more: bool,
    /// How many lines the screen has.
    count: usize,
    /// The lines of the shown groups.
    table: Table,
    /// The first visible row.
    top: usize,
    /// The shown context and view.
    title: String,
    items: Vec<HelpItem>,
    columns: Vec<HelpColumn>,
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
        let context = app.page_context();
        let place = HelpPlace {
            context,
            view: app.shown_view(),
            commands: &app.available(context),
        };
        let view = place.view.map(|view| format!(", {view}"));
        self.title = format!("{}{}", place.context.name(), view.unwrap_or_default());
        let mut groups = help_groups(&app.session.keymap, place, app.session.settings.ascii);
        let all = groups.iter().flat_map(|group| &group.items);
        self.count = all.clone().count();
        self.is_more &= all.clone().any(|item| !item.is_first);
        let words: Vec<String> = self
            .table
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let matches = |item: &HelpItem| {
            if words.is_empty() {
                return item.is_first != self.is_more;
            }
            let id = item.id.unwrap_or_default();
            let text = format!("{} {} {id}", item.name, item.help).to_lowercase();
            words.iter().all(|word| text.contains(word))
                || item.keys.split("  ").any(|key| key == self.table.filter)
        };
        groups
            .iter_mut()
            .for_each(|group| group.items.retain(matches));
        groups.retain(|group| !group.items.is_empty());
        let items = groups.iter().flat_map(|group| &group.items);
        self.items = items.cloned().collect();
        let w = app.session.page_size().0;
        for item in &mut self.items {
            if (WIDE.0..WIDE.1).contains(&w) || text::width(&item.keys) > MAX_KEYS {
                item.keys.clone_from(&item.short_keys);
            }
        }
        self.columns = layout(&app.session, &groups, &self.items);
        let id = |item: &HelpItem| item.id.unwrap_or(&item.name).to_string();
        self.table
            .lay_out(self.items.iter().map(id).collect(), usize::MAX);
        self.scroll_to_cursor(body(&app.session).h.into());
    }

    fn scroll_to_cursor(&mut self, room: usize) {
        let rows = self.columns.iter().map(|column| column.cells.len());
        let all = rows.max().unwrap_or(0);
        let row = place_of(&self.columns, self.table.cursor()).map_or(0, |(_, row)| row);
        // The heading above the first line stays visible.
        self.top = self
            .top
            .min(row.saturating_sub(1))
            .max((row + 1).saturating_sub(room))
            .min(all.saturating_sub(room));
    }

    fn run_selected(&self) -> Requests {
        let item = self.items.get(self.table.cursor());
        item.and_then(|item| item.id)
            .map(|id| Request::Run(id).into())
            .unwrap_or_default()
    }

    /// Moves to the same row of a neighboring column, or as near as possible.
    fn move_column(&mut self, right: bool) {
        let Some((column, row)) = place_of(&self.columns, self.table.cursor()) else {
            return;
        };
        let next = if right {
            column.checked_add(1)
        } else {
            column.checked_sub(1)
        };
        let Some(column) = next.and_then(|next| self.columns.get(next)) else {
            return;
        };
        let item = |(at, cell): (usize, &Cell)| match cell {
            Cell::Item(item) => Some((at.abs_diff(row), *item)),
            _ => None,
        };
        if let Some((_, item)) = column.cells.iter().enumerate().filter_map(item).min() {
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
            Action::NextPane | Action::PrevPane => {
                self.is_more = !self.is_more;
                self.table.deselect();
            }
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
        let row = usize::from(cx.area.y + y - body(cx.session).y);
        let column = self
            .columns
            .iter()
            .rfind(|column| column.x <= cx.area.x + x);
        match column.and_then(|column| column.cells.get(self.top + row)) {
            Some(Cell::Item(at)) if *at == self.table.cursor() => return self.run_selected(),
            Some(Cell::Item(at)) => self.table.select(*at),
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
        let shown = match (items.len(), self.is_more) {
            (shown, _) if shown == self.count => text::counted(shown, "key"),
            (shown, true) => format!("{shown} more of {} keys", self.count),
            (shown, false) => format!("{shown} of {} keys", self.count),
        };
        let title = format!("Help · {} · {shown} · {filter}", self.title);
        let (has_more, is_filtered) = (self.count > items.len(), !self.table.filter.is_empty());
        let tab = match (has_more && !is_filtered, self.is_more) {
            (true, false) => "Tab more   ",
            (true, true) => "Tab main keys   ",
            (false, _) => "",
        };
        canvas.frame(
            Area {
                x: 0,
                y: 1,
                w,
                h: h.saturating_sub(2),
            },
            &title,
            &Line::new(),
            &cx.session
                .frame_keys(&format!("/ filter   ⏎ run   {tab}Esc close")),
        );
        let body = body(cx.session);
        if items.is_empty() {
            let said = format!(
                "No key of this screen matches \"{}\"; :keys lists all keys.",
                self.table.filter
            );
            canvas.line(body.x, body.y, body.w, &Line::dim(&said));
        }
        for column in &self.columns {
            let shown = column.cells.iter().skip(self.top).take(body.h.into());
            for (y, cell) in (body.y..).zip(shown) {
                let (x, width) = (column.x, column.width);
                match cell {
                    Cell::Blank => {}
                    Cell::Head(title) => canvas.line(
                        x + MARK,
                        y,
                        width.saturating_sub(MARK),
                        &Line::strong(title),
                    ),
                    Cell::Item(at) => {
                        let line = |item| item_line(item, column, *at == self.table.cursor());
                        canvas.line(x, y, width, &items.get(*at).map(line).unwrap_or_default());
                    }
                }
            }
        }
        None
    }
}

/// Returns a line of the help. With room, it has what the name doesn't say.
fn item_line(item: &HelpItem, column: &HelpColumn, is_selected: bool) -> Line {
    let (mark, tone) = match is_selected {
        true => ("▌ ", Tone::Strong),
        false => ("  ", Tone::Plain),
    };
    let gap = usize::from(column.keys + 2).saturating_sub(text::width(&item.keys));
    let room = column.width.saturating_sub(MARK + column.keys + 2);
    let line = Line::accent(mark)
        .with_accent(&item.keys)
        .with(tone, &" ".repeat(gap))
        .with(tone, &item.name);
    let needed = text::width(&item.name) + 3 + text::width(item.help);
    if item.help.is_empty() || needed > room.into() {
        return line;
    }
    line.with_dim(&format!(" ({})", item.help))
}
