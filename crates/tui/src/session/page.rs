//! Pages: text that can be scrolled.

use super::component::{Component, Cx};
use super::msg::Subscription;
use super::request::Requests;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::Session;
use crate::session::msg::{EffectResult, SubscriptionEvent, SubscriptionId};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{Flat, Place, window};
use std::time::Duration;

/// Minimum columns at each side of a centered page.
const MIN_MARGIN: u16 = 6;

/// The contents of a page.
pub trait Page {
    /// Returns the context of its keys, besides those that scroll.
    fn context(&self) -> Context {
        Context::Page
    }

    /// Returns the title, and the text after it.
    fn title(&self, cx: &Cx<'_>) -> (&'static str, String);

    /// Returns the lines for a width.
    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line>;

    /// See [`Component::commands`].
    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(self.context())
    }

    /// Moves the cursor within the page. Returns false if it has none, or it can't move, so that the window scrolls.
    fn move_cursor(&mut self, _lines: isize) -> bool {
        false
    }

    /// See [`Component::is_sheet`].
    fn is_sheet(&self) -> bool {
        false
    }

    /// Returns the columns of its frame, which is centered; `None` for the whole width.
    fn columns(&self) -> Option<u16> {
        None
    }

    /// Handles an action.
    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    /// See [`Component::copied`].
    fn copied(&self) -> Option<String> {
        None
    }

    /// See [`Component::subscriptions`].
    fn subscriptions(&self, _cx: &Cx<'_>, _out: &mut Vec<Subscription>) {}

    /// See [`Component::on_reply`].
    fn on_reply(&mut self, _session: &mut Session, _reply: &EffectResult) -> Option<Requests> {
        None
    }

    /// See [`Component::on_event`].
    fn on_event(
        &mut self,
        _session: &mut Session,
        _from: SubscriptionId,
        _event: SubscriptionEvent,
    ) -> Requests {
        Requests::none()
    }

    /// See [`Component::profile`].
    fn profile(&self) -> Option<&str> {
        None
    }

    /// See [`Component::on_tick`].
    fn on_tick(&mut self, _cx: &Cx<'_>) -> Requests {
        Requests::none()
    }

    /// See [`Component::next_tick`].
    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        None
    }
}

/// A page and its scroll position.
#[derive(Debug, Clone)]
pub struct Paged<P> {
    /// The contents.
    pub page: P,
    /// The scroll position.
    pub place: Place,
    /// The lines of the last layout.
    lines: Vec<Line>,
}

impl<P: Page + Default> Default for Paged<P> {
    fn default() -> Paged<P> {
        Paged::new(P::default())
    }
}

impl<P: Page> Paged<P> {
    /// Creates a page at its first line.
    pub fn new(page: P) -> Paged<P> {
        Paged {
            page,
            place: Place::at_start(),
            lines: Vec::new(),
        }
    }

    /// Returns the columns at the left and at the right of the frame.
    fn margin(&self, cx: &Cx<'_>) -> u16 {
        let width = cx.session.page_size().0;
        // A margin of a few columns is no use.
        let columns = self
            .page
            .columns()
            .filter(|columns| *columns + 2 * MIN_MARGIN <= width);
        columns.map_or(0, |columns| (width - columns) / 2)
    }

    /// Returns the area of the text.
    fn area(&self, cx: &Cx<'_>) -> Area {
        let margin = self.margin(cx);
        Area {
            x: cx.area.x + margin,
            w: cx.area.w.saturating_sub(2 * margin),
            ..cx.area
        }
    }

    fn rows(&self) -> Flat {
        Flat {
            first: 0,
            end: self.lines.len() as u64,
        }
    }
}

impl<P: Page> Component for Paged<P> {
    fn context(&self) -> Context {
        self.page.context()
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        // Where nothing can be marked, the key turns pages as everywhere else.
        if action == Action::Mark && !self.page.commands(cx).can(action) {
            self.step(cx, cx.area.h as isize, false);
            return Requests::none();
        }
        self.page.action(cx, action)
    }

    fn commands(&self, cx: &Cx<'_>) -> Commands {
        let (first, end) = (self.place.top.key, self.rows().end);
        let all = self.page.commands(cx);
        all.enable_if(first + u64::from(cx.area.h) < end, &["move.page_down"])
            .enable_if(first > 0, &["move.page_up"])
    }

    fn copied(&mut self) -> Option<String> {
        self.page.copied()
    }

    // A step scrolls the window, unless it moves the cursor of the page. Up scrolls to the beginning first, where the cursor is.
    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        if (lines > 0 || self.place.top.key == 0) && self.page.move_cursor(lines) {
            return;
        }
        let rows = self.rows();
        self.place.page(&rows, cx.area.h.into(), lines);
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let rows = self.rows();
        match start {
            true => self.place.to_start(&rows, cx.area.h.into()),
            false => self.place.to_end(&rows, cx.area.h.into(), false),
        }
    }

    fn is_sheet(&self) -> bool {
        self.page.is_sheet()
    }

    fn sheet_lines(&self, cx: &Cx<'_>) -> usize {
        self.page.lines(cx, self.area(cx).w.into()).len()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.lines = self.page.lines(cx, self.area(cx).w.into());
        let rows = self.rows();
        self.place.clamp(&rows, cx.area.h.into());
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        self.page.subscriptions(cx, out);
    }

    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        self.page.on_reply(session, reply)
    }

    fn on_event(
        &mut self,
        session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        self.page.on_event(session, from, event)
    }

    fn profile(&self) -> Option<&str> {
        self.page.profile()
    }

    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        self.page.on_tick(cx)
    }

    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        self.page.next_tick(cx)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let (title, about) = self.page.title(cx);
        let margin = self.margin(cx);
        let lines = &self.lines;
        let all = frame_of(cx.area);
        // A centered page is a card: it ends after its last line.
        let rows = if margin > 0 {
            lines.len().min(all.h.into()) as u16 + 2
        } else {
            all.h
        };
        let frame = Area {
            x: margin,
            w: all.w.saturating_sub(2 * margin),
            h: rows.min(all.h),
            ..all
        };
        canvas.pane_frame(frame, &title_line(title, &Line::plain(&about)), true);
        draw_lines(canvas, self.area(cx), &self.place, lines);
        None
    }
}

/// Draws the frame of an overlay: its title, and what it is about.
pub fn overlay_frame(cx: &Cx<'_>, canvas: &mut Canvas<'_>, title: &str, about: &Line) {
    canvas.pane_frame(frame_of(cx.area), &title_line(title, about), true);
}

/// Returns the frame around the text of an overlay.
pub fn frame_of(text: Area) -> Area {
    Area {
        x: text.x.saturating_sub(2),
        y: text.y.saturating_sub(1),
        w: text.w + 4,
        h: text.h + 2,
    }
}

/// Returns the title of a frame, with what it is about.
pub fn title_line(title: &str, about: &Line) -> Line {
    let mut line = Line::of(Tone::Focus, title);
    if !about.left.is_empty() {
        line.push_dim(" · ");
    }
    line.left.extend(about.left.iter().cloned());
    line.right.clone_from(&about.right);
    line
}

/// Draws the visible lines.
pub fn draw_lines(canvas: &mut Canvas<'_>, area: Area, place: &Place, lines: &[Line]) {
    let rows = Flat {
        first: 0,
        end: lines.len() as u64,
    };
    for (i, row) in window(&rows, place.top, area.h as usize).enumerate() {
        if let Some(line) = lines.get(row.key as usize) {
            canvas.line(area.x, area.y + i as u16, area.w, line);
        }
    }
}
