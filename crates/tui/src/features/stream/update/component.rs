//! The streams as a component: its keys, its text for the clipboard, its subscriptions.

use super::{only_looks, show_view};
use crate::features::stream::commands::{acts_on_server, commands};
use crate::features::stream::find::Typing;

use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::View;
use crate::features::stream::views::steps::act_on_checkpoint;
use crate::features::stream::{StreamState, view};
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::{
    EffectResult, Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::{Component, Cx, Request, Requests, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::jobs::PendingJob;

impl Component for StreamState {
    fn context(&self) -> Context {
        Context::Stream
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let Some(viewer) = self.tabs.shown_mut() else {
            return Requests::none();
        };
        viewer.now = cx.session.now;
        // An action that does more than show something keeps the tab.
        if show_view(viewer, action) {
            viewer.is_preview &= action != Action::Split;
            return Requests::none();
        }
        viewer.is_preview &= only_looks(action);
        if viewer.is_recording() {
            if action == Action::Again {
                viewer.play_from_start();
                return Requests::none();
            }
            let is_report = action == Action::Describe && viewer.view() == View::Events;
            if acts_on_server(action) && !is_report {
                return Requests::info("This is a recording; there is no server.");
            }
        }
        let view = viewer.view().of();
        if let Some(checkpoint) = viewer.shown_checkpoint()
            && !view.has_checkpoints()
            && matches!(action, Action::Again | Action::Update | Action::Describe)
        {
            let id = checkpoint.of.id.clone();
            return act_on_checkpoint(viewer, cx.session, Some(id), action);
        }
        if let Some(done) = view.action(viewer, cx.session, action) {
            return done;
        }
        if let Some(done) = self.navigate(cx.session, action) {
            return done;
        }
        self.handle_action(cx, action)
    }

    fn step(&mut self, _cx: &Cx<'_>, lines: isize, whole_window: bool) {
        if let Some(viewer) = self.tabs.shown_mut() {
            viewer.step(lines, whole_window);
        }
    }

    fn commands(&self, cx: &Cx<'_>) -> Commands {
        match self.tabs.shown() {
            Some(viewer) => commands(viewer, cx.session),
            None => Commands::of(Context::Stream).footer(&[]),
        }
    }

    fn jump_to_edge(&mut self, _cx: &Cx<'_>, start: bool) {
        if let Some(viewer) = self.tabs.shown_mut() {
            if start {
                viewer.to_start()
            } else {
                viewer.follow()
            }
        }
    }

    fn click(&mut self, cx: &Cx<'_>, x: u16, y: u16) -> Requests {
        self.click_at(cx, cx.area.x + x, cx.area.y + y);
        Requests::none()
    }

    fn selected_id(&self) -> Option<&str> {
        let viewer = self.tabs.shown()?;
        viewer.view().of().selected_id(viewer)
    }

    fn copied(&mut self) -> Option<String> {
        let viewer = self.tabs.shown()?;
        // Copies the error of a failed thread, unless an entry is selected. The graph always has one.
        let has_own = viewer.view().kind().has_own_cursor();
        match viewer.offers_error() && !has_own {
            true => viewer.thread_status().error().map(str::to_string),
            false => viewer.copy_text(),
        }
    }

    fn copied_path(&self) -> Option<String> {
        let viewer = self.tabs.shown()?;
        viewer.view().of().copied_path(viewer)
    }

    /// Handles Esc, which keeps the stream in its tab, and `q`, which closes it.
    fn back(&mut self, quit: bool) -> Option<Requests> {
        if self.tabs.shown_mut()?.clear_find() {
            return Some(Requests::none());
        }
        let viewer = self.tabs.shown_mut()?;
        if !quit && viewer.view().of().close(viewer) {
            return Some(Requests::none());
        }
        let shown = viewer.shown_checkpoint().map(|shown| shown.of.id.clone());
        if !quit && viewer.leave_checkpoint() {
            viewer.show(View::Steps);
            if let Some(id) = shown {
                viewer.views.steps.go_to(&id);
            }
            return Some(Requests::none());
        }
        let thread = self.tabs.shown()?.thread_id.clone();
        if quit {
            self.tabs.close();
        }
        self.tabs.hide();
        Some(Request::LeaveStream(thread).into())
    }

    fn filter(&self) -> Option<&str> {
        self.tabs.shown().map(Viewer::typed)
    }

    fn set_filter(&mut self, text: &str) {
        if let Some(viewer) = self.tabs.shown_mut() {
            viewer.set_typed(text);
        }
    }

    fn prompt(&self) -> &'static str {
        let is_filter = |viewer: &Viewer| viewer.finding().typing() == Some(Typing::Filter);
        if self.tabs.shown().is_some_and(is_filter) {
            "&"
        } else {
            "/"
        }
    }

    fn end_typing(&mut self, keep: bool) {
        if let Some(viewer) = self.tabs.shown_mut() {
            viewer.end_typing(keep);
        }
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.tabs.unpark();
        // A hidden pane keeps its layout.
        if cx.is_shown {
            self.lay_out(cx);
        }
    }

    fn subscriptions(&self, _cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        for viewer in self.tabs.all() {
            if viewer.is_parked || viewer.is_asleep {
                continue;
            }
            // An ended stream stays subscribed; its task has ended and does not restart.
            let kind = SubscriptionKind::Stream(viewer.server.clone(), viewer.target.clone());
            out.push(Subscription::new(
                SubscriptionId::Stream(viewer.id),
                Epoch::default(),
                kind,
            ));
        }
        self.history_subscriptions(out);
        self.graph_subscriptions(out);
    }

    fn jobs(&self) -> Vec<&PendingJob> {
        let viewers = self.tabs.all().iter();
        viewers.flat_map(|viewer| viewer.views.jobs()).collect()
    }

    fn jobs_mut(&mut self) -> Vec<&mut PendingJob> {
        let viewers = self.tabs.all_mut().iter_mut();
        viewers.flat_map(|viewer| viewer.views.jobs_mut()).collect()
    }

    fn on_reply(&mut self, _session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        match reply {
            EffectResult::FileStepped(number, result) => {
                Some(self.on_written(*number, result.clone()))
            }
            _ => None,
        }
    }

    fn on_event(
        &mut self,
        session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        match (from, event) {
            (SubscriptionId::Stream(id), SubscriptionEvent::Items(items)) => {
                if let Some(viewer) = self.tabs.get_mut(id) {
                    viewer.take(items);
                    if let Some(why) = viewer.modes.refusal() {
                        return Requests::error(format!("The modes are unchanged: {why}."));
                    }
                }
            }
            (SubscriptionId::Stream(id), SubscriptionEvent::Panicked(text)) => {
                if let Some(viewer) = self.tabs.get_mut(id) {
                    viewer.fail(&text);
                }
            }
            (SubscriptionId::Job(number), SubscriptionEvent::Worked(part)) => {
                let viewers = self.tabs.all_mut().iter_mut();
                viewers.for_each(|viewer| viewer.views.on_job_part(number, &part));
            }
            (SubscriptionId::History(number), SubscriptionEvent::Panicked(why)) => {
                let viewers = self.tabs.all_mut().iter_mut();
                viewers.for_each(|viewer| viewer.views.steps.on_panic(number, &why));
            }
            (SubscriptionId::History(number), event) => return self.on_history(number, &event),
            (SubscriptionId::Graph(number), event) => self.on_graph(session, number, &event),
            _ => {}
        }
        Requests::none()
    }

    fn profile(&self) -> Option<&str> {
        let viewer = self.tabs.shown().filter(|viewer| !viewer.is_recording());
        viewer.map(|viewer| &*viewer.server.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::pane(self, cx, canvas);
        None
    }
}
