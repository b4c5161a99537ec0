//! The page with the strip and a tile for each deployment.

use super::view::{Grid, STRIP, merged, strip, tiles};
use super::{Facts, Opens, Rank, Tile};
use crate::input::action::{Action, Context};
use crate::session::destination::Destination;
use crate::session::{Component, Cx, Request, Requests, Route};
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::selection::Selection;
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;
use std::time::Duration;

/// How long the order of tiles stays, and a change is bold.
const ORDER_HOLD: SignedDuration = SignedDuration::from_secs(10);

/// The page.
#[derive(Debug, Clone, Default)]
pub struct GlancePage {
    facts: Facts,
    /// The tiles in the shown order.
    shown: Vec<Tile>,
    /// When each tile's rank last changed.
    changed_at: HashMap<String, Timestamp>,
    /// When the order last changed, or the user pressed a key.
    ordered_at: Option<Timestamp>,
    selection: Selection,
}

impl GlancePage {
    /// Applies what is known now. Tiles keep their places for a while after a key, so that a press never opens the wrong one.
    pub fn apply(&mut self, facts: &Facts, now: Timestamp) {
        if self.facts == *facts && !self.is_due(now) {
            return;
        }
        let ranks: HashMap<&str, Rank> = self
            .facts
            .tiles
            .iter()
            .map(|tile| (tile.id.as_str(), tile.rank))
            .collect();
        let is_new = |tile: &&Tile| {
            ranks
                .get(tile.id.as_str())
                .is_some_and(|rank| *rank != tile.rank)
        };
        let changed: Vec<String> = facts
            .tiles
            .iter()
            .filter(is_new)
            .map(|tile| tile.id.clone())
            .collect();
        self.changed_at
            .extend(changed.into_iter().map(|id| (id, now)));
        self.changed_at
            .retain(|_, at| now.duration_since(*at) < ORDER_HOLD);
        self.facts.clone_from(facts);
        let mut tiles = facts.tiles.clone();
        let before: HashMap<&str, usize> = self
            .shown
            .iter()
            .enumerate()
            .map(|(n, tile)| (&*tile.id, n))
            .collect();
        if self.stays(now) {
            tiles.sort_by_key(|tile| before.get(tile.id.as_str()).copied().unwrap_or(usize::MAX));
        }
        self.shown = tiles;
    }

    fn stays(&self, now: Timestamp) -> bool {
        self.ordered_at
            .is_some_and(|at| now.duration_since(at).abs() < ORDER_HOLD)
    }

    /// Returns whether tiles wait for their new places, or a change is no longer new.
    fn is_due(&self, now: Timestamp) -> bool {
        let is_sorted = self.shown.iter().map(|tile| &tile.id).eq(self
            .facts
            .tiles
            .iter()
            .map(|tile| &tile.id));
        (!is_sorted && !self.stays(now))
            || self
                .changed_at
                .values()
                .any(|at| now.duration_since(*at) >= ORDER_HOLD)
    }

    fn area(cx: &Cx<'_>) -> Area {
        let (w, h) = cx.session.page_size();
        Area {
            x: 1,
            y: 1,
            w: w.saturating_sub(1),
            h: h.saturating_sub(2),
        }
    }

    /// Returns the grid and the tiles that it shows.
    fn grid(&self, cx: &Cx<'_>) -> (Grid, Vec<Tile>, Area) {
        let area = below(Self::area(cx), STRIP);
        let grid = Grid::of(self.shown.len(), area);
        (grid, merged(&self.shown, grid.capacity()), area)
    }

    fn ids(&self, cx: &Cx<'_>) -> Vec<String> {
        self.grid(cx).1.into_iter().map(|tile| tile.id).collect()
    }

    fn move_by(&mut self, cx: &Cx<'_>, by: isize) {
        let ids = self.ids(cx);
        self.selection.step(&ids, ids.len(), by);
        self.ordered_at = Some(cx.session.now);
    }
}

/// Returns the time until the current second ends.
pub fn until_next_second(now: Timestamp) -> Duration {
    let passed = u32::try_from(now.as_nanosecond().rem_euclid(1_000_000_000)).unwrap_or(0);
    Duration::from_nanos(1_000_000_000 - u64::from(passed))
}

impl Component for GlancePage {
    fn context(&self) -> Context {
        Context::Glance
    }

    fn tab_name(&self) -> Option<String> {
        Some("At a glance".into())
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Left => self.move_by(cx, -1),
            Action::Right => self.move_by(cx, 1),
            Action::Open => {
                let tile = self
                    .shown
                    .iter()
                    .find(|tile| Some(&*tile.id) == self.selected_id());
                return match tile.map(|tile| &tile.opens) {
                    Some(Opens::Deployment(id)) => Requests::from(Request::Close)
                        .and(Request::Go(Destination::Deployment(id.clone()))),
                    // This page stays below, so that Esc goes back to it.
                    Some(Opens::Inbox(server)) => Route::Inbox(server.clone()).into(),
                    Some(Opens::Threads(server)) => {
                        Requests::from(Request::Close).and(Route::Server(server.clone()))
                    }
                    Some(Opens::Profiles) => Requests::from(Request::Close).and(Route::Profiles),
                    Some(Opens::Nothing) | None => Requests::none(),
                };
            }
            _ => {}
        }
        Requests::none()
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        let columns = isize::try_from(self.grid(cx).0.columns).unwrap_or(1);
        self.move_by(cx, lines.saturating_mul(columns));
    }

    fn selected_id(&self) -> Option<&str> {
        self.selection.selected.as_deref()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let ids = self.ids(cx);
        self.selection.clamp(&ids, ids.len());
    }

    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        // Until the tiles settle; after that only the age of stale data changes.
        let settles = self.changed_at.values().chain(&self.ordered_at).max();
        let left = settles
            .map(|at| ORDER_HOLD - cx.session.now.duration_since(*at))
            .filter(|left| left.is_positive());
        let of_age = self.facts.updated_at.map(|_| Duration::from_secs(60));
        let of_rate = self
            .facts
            .is_measuring
            .then(|| until_next_second(cx.session.now));
        left.and_then(|left| Duration::try_from(left).ok())
            .into_iter()
            .chain(of_age)
            .chain(of_rate)
            .min()
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let (grid, shown, area) = self.grid(cx);
        strip(&self.facts, cx.session, Self::area(cx), canvas);
        let (now, mut marks) = (cx.session.now, Vec::new());
        for tile in &shown {
            let changed_at = self.changed_at.get(&tile.id);
            let is_new = changed_at.is_some_and(|at| now.duration_since(*at) < ORDER_HOLD);
            marks.push((self.selected_id() == Some(&*tile.id), is_new));
        }
        tiles(&shown, &marks, grid, area, canvas);
        None
    }
}
