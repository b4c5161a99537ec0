//! The overlay that shows a JSON document.

use crate::input::action::{Action, Context};
use crate::session::msg::{SubscriptionEvent, SubscriptionId};
use crate::session::page::overlay_frame;
use crate::session::{Component, Cx, GUTTER, Requests, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::diff_lines::tail;
use crate::widgets::jobs::PendingJob;
use crate::widgets::json_tree::Tree;
use crate::widgets::line::Tone;
use runtail_core::text;
use std::sync::Arc;

/// The inspector of a JSON document.
#[derive(Debug, Clone)]
pub struct Document {
    pub title: String,
    pub tree: Box<Tree>,
}

impl Document {
    /// Creates an inspector at the first line of a document.
    pub fn new(title: String, text: Arc<str>) -> Document {
        Document {
            title,
            tree: Box::new(Tree::new(text)),
        }
    }
}

impl Component for Document {
    fn context(&self) -> Context {
        Context::Inspector
    }

    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        let tree = &mut self.tree;
        match action {
            Action::Open => tree.toggle(),
            Action::Left => tree.fold(),
            Action::Right => tree.unfold(),
            Action::FoldAll => tree.fold_all(true),
            Action::UnfoldAll => tree.fold_all(false),
            Action::NextMatch => tree.next_match(true),
            Action::PrevMatch => tree.next_match(false),
            _ => {}
        }
        Requests::none()
    }

    fn can(&self, _cx: &Cx<'_>, action: Action) -> bool {
        match action {
            Action::Open => self.tree.can_toggle(),
            Action::UnfoldAll => self.tree.has_folds(),
            _ => true,
        }
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, whole_window: bool) {
        let (height, mut place) = (cx.area.h.into(), self.tree.place);
        match whole_window {
            true => place.page(&*self.tree, height, lines),
            false => place.step(&*self.tree, height, lines),
        }
        self.tree.place = place;
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let (height, mut place) = (cx.area.h.into(), self.tree.place);
        match start {
            true => place.to_start(&*self.tree, height),
            false => place.to_end(&*self.tree, height, false),
        }
        self.tree.place = place;
    }

    fn copied(&mut self) -> Option<String> {
        self.tree.value_under_cursor()
    }

    fn copied_path(&self) -> Option<String> {
        self.tree.path_under_cursor()
    }

    fn filter(&self) -> Option<&str> {
        Some(self.tree.search_text())
    }

    fn set_filter(&mut self, text: &str) {
        self.tree.search(text);
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.tree.prepare(
            cx.area.w.saturating_sub(GUTTER) as usize,
            cx.area.h as usize,
        );
    }

    fn jobs(&self) -> Vec<&PendingJob> {
        self.tree.jobs().collect()
    }

    fn jobs_mut(&mut self) -> Vec<&mut PendingJob> {
        self.tree.jobs_mut().collect()
    }

    fn on_event(
        &mut self,
        _session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        if let (SubscriptionId::Job(number), SubscriptionEvent::Worked(part)) = (from, event) {
            self.tree.take(number, &part);
        }
        Requests::none()
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let area = cx.area;
        let mut about = self.tree.search_line().unwrap_or_default();
        if let Some(path) = self.tree.path_under_cursor().filter(|path| path != ".") {
            let used = text::width(&self.title) + about.width() + 10;
            let path = tail(
                &text::clean(&path),
                usize::from(area.w).saturating_sub(used),
            );
            let gap = if about.left.is_empty() { "" } else { " · " };
            about.push(Tone::Dim, &format!("{gap}{path}"));
        }
        overlay_frame(cx, canvas, &self.title, &about);
        for (i, (line, marked)) in self.tree.window().iter().enumerate() {
            let y = area.y + i as u16;
            canvas.line(area.x + 2, y, area.w.saturating_sub(2), line);
            if *marked {
                let style = canvas.theme.style(Tone::Accent);
                canvas.text(area.x, y, 1, "▌", style);
            }
        }
        None
    }
}
