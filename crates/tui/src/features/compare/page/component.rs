//! The page of a comparison as a component: its keys, its window, its subscriptions.

use super::ComparePage;
use crate::features::compare::aligned::Aligned;
use crate::features::compare::{detail, view};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::{
    EffectResult, Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::{Component, Cx, Requests, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::scroll::LinePos;

impl Component for ComparePage {
    fn context(&self) -> Context {
        Context::Compare
    }

    fn on_reply(&mut self, _session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        self.saving.on_reply("the comparison", reply)
    }

    fn on_event(
        &mut self,
        _session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        let SubscriptionId::Side(_, which @ ..2) = from else {
            return Requests::none();
        };
        match event {
            SubscriptionEvent::Side(loaded) => self.on_side(which, loaded),
            SubscriptionEvent::Panicked(why) => {
                self.on_side(which, Err(format!("loading failed: {why}")));
            }
            _ => {}
        }
        Requests::none()
    }

    fn save(&mut self, session: &Session, argument: &str) -> Option<Requests> {
        Some(self.save_sides(session, argument))
    }

    fn tab_name(&self) -> Option<String> {
        Some("Compare".into())
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        let (is_of_keys, is_empty) = (self.is_of_keys(), self.shown.is_empty());
        let keys = self.aligned.as_ref().and_then(Aligned::keys);
        let has_commits = keys.is_some_and(|keys| keys.table.commits().is_ok());
        let moves = ["compare.next", "compare.prev", "compare.collapse"];
        Commands::of(Context::Compare)
            .exist_if(!is_of_keys, &["compare.state", "compare.save"])
            .exist_if(is_of_keys && !self.is_of_versions(), &["compare.commits"])
            .enable_if(!is_empty && self.is_whole(), &moves)
            .enable_if(
                self.aligned.is_some() && self.is_whole(),
                &["compare.state"],
            )
            .enable_if(has_commits, &["compare.commits"])
            .footer(match (is_of_keys, is_empty) {
                (true, _) => &[
                    "compare.next",
                    "compare.collapse",
                    "compare.commits",
                    "compare.side",
                ],
                // Without rows there is no step to open.
                (false, true) => &["compare.side", "compare.state", "app.back"],
                (false, false) => &[
                    "compare.next",
                    "compare.collapse",
                    "compare.open",
                    "compare.side",
                ],
            })
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let requests = match action {
            Action::NextMatch | Action::PrevMatch => {
                self.next_difference(action == Action::NextMatch)
            }
            Action::Collapse => {
                self.collapse();
                Requests::none()
            }
            Action::NextPane | Action::PrevPane => {
                self.focus = 1 - self.focus;
                Requests::none()
            }
            Action::OpenLink if self.is_of_keys() && !self.is_of_versions() => self.open_commits(),
            Action::Describe if !self.is_of_keys() => {
                self.shows_state = !self.shows_state;
                self.load_state();
                Requests::none()
            }
            Action::Open => return self.open(),
            Action::Export if !self.is_of_keys() => return self.propose_export(cx.session),
            _ => Requests::none(),
        };
        self.relayout(cx);
        requests
    }

    fn back(&mut self, _quit: bool) -> Option<Requests> {
        // First closes the final states.
        std::mem::take(&mut self.shows_state).then(Requests::none)
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, whole_window: bool) {
        let (rows, height) = (self.flat(), self.height(cx));
        match whole_window {
            true => self.place.page(&rows, height, lines),
            false => self.place.step(&rows, height, lines),
        }
    }

    fn click(&mut self, cx: &Cx<'_>, x: u16, y: u16) -> Requests {
        let layout = self.layout(cx);
        self.focus = usize::from(x >= layout.right.x);
        if let Some(row) = y
            .checked_sub(layout.rows.y.saturating_sub(cx.area.y))
            .filter(|row| *row < layout.rows.h)
        {
            self.place.cursor = LinePos {
                key: self.place.top.key + u64::from(row),
                line: 0,
            };
            self.relayout(cx);
        }
        Requests::none()
    }

    fn copied(&mut self) -> Option<String> {
        detail::copied(self)
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let rows = self.flat();
        self.place.fill(&rows, self.height(cx));
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        for (which, side) in self.sides.iter().enumerate() {
            let Some(from) = &side.from else { continue };
            let epoch = from
                .profile()
                .map_or(Epoch::default(), |profile| cx.session.epoch_of(profile));
            let id = SubscriptionId::Side(self.number, which);
            out.push(Subscription::new(
                id,
                epoch,
                SubscriptionKind::Side(from.clone()),
            ));
        }
    }

    fn profile(&self) -> Option<&str> {
        self.sides
            .iter()
            .find_map(|side| side.from.as_ref()?.profile())
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::draw(self, cx, canvas);
        None
    }
}
