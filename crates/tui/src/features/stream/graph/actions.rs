//! The Graph view: its actions, and what it tells the viewer.

use super::GraphView;
use super::view::{Words, draw_graph};
use crate::features::stream::find::{FoundPlace, next_where};
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::stream_view::{
    DrawnAs, ExportedAs, PICTURE, StreamView, ViewFacts,
};
use crate::features::stream::views::{View, extent};
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::{Requests, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::scroll::Move;
use runtail_core::graph::{group_of, is_in};
use runtail_core::text;

/// The views that the split shows beside the graph, one after the other.
const PARTNERS: [View; 5] = [
    View::Messages,
    View::Timeline,
    View::Steps,
    View::State,
    View::Events,
];

impl GraphView {
    /// Returns whether an action does something at the cursor.
    pub(in crate::features::stream) fn can(&self, action: Action) -> bool {
        let node = || self.node_under_cursor();
        match action {
            Action::Open => self.last_visit().is_some(),
            Action::Left | Action::Right => {
                node().is_some_and(|node| node.folded > 0 || group_of(&node.id).is_some())
            }
            Action::Collapse | Action::FoldAll | Action::UnfoldAll => {
                !self.whole.groups().is_empty()
            }
            Action::Play => node().is_some_and(|node| node.is_real()),
            Action::Copy => node().is_some(),
            _ => true,
        }
    }

    /// Folds the innermost group of the node under the cursor. Returns false if there is none.
    pub(super) fn fold(&mut self) -> bool {
        let Some(node) = self.node_under_cursor() else {
            return false;
        };
        let Some(group) = group_of(&node.id).map(str::to_string) else {
            // A set of siblings that was unfolded.
            let opened = self
                .chosen
                .iter()
                .find(|(id, is_folded)| !**is_folded && self.whole.find(id).is_some());
            let opened = opened.map(|(id, _)| id.clone());
            return opened.is_some_and(|id| {
                self.chosen.remove(&id);
                self.version += 1;
                true
            });
        };
        self.cursor = Some(group.clone());
        self.choose(group, true);
        true
    }

    /// Unfolds the group under the cursor. Returns false if it is a node.
    pub(super) fn unfold(&mut self) -> bool {
        let node = self.node_under_cursor().filter(|node| node.folded > 0);
        let id = node.map(|node| node.id.clone());
        id.map(|id| self.choose(id, false)).is_some()
    }

    fn choose(&mut self, group: String, is_folded: bool) {
        self.is_paused = true;
        self.chosen.insert(group, is_folded);
        self.version += 1;
    }

    /// Folds or unfolds all groups.
    fn fold_all(&mut self, is_folded: bool) {
        for group in self.whole.groups() {
            self.chosen.insert(group, is_folded);
        }
        self.version += 1;
    }

    /// Folds all groups in which nothing runs, or unfolds them again.
    fn collapse_idle(&mut self) -> &'static str {
        let activity = self.activity.activity();
        let groups = self.whole.groups();
        let runs = |group: &str| {
            let nodes = self
                .whole
                .nodes()
                .iter()
                .filter(|node| is_in(&node.id, group) || node.id == *group);
            nodes
                .filter_map(|node| activity.node(&node.id))
                .any(|node| node.running > 0)
                || activity.node(group).is_some_and(|node| node.running > 0)
        };
        let idle: Vec<String> = groups
            .iter()
            .filter(|group| !runs(group))
            .cloned()
            .collect();
        if groups.is_empty() {
            return "The graph has no groups to fold.";
        }
        let is_folded = idle.iter().all(|group| self.picture.folds.contains(group));
        for group in groups {
            let is_idle = idle.contains(&group);
            self.chosen.insert(group, is_idle && !is_folded);
        }
        self.version += 1;
        if is_folded {
            "All groups are unfolded."
        } else {
            "Inactive groups are folded."
        }
    }

    /// Handles the actions that need no thread. Returns `None` for other actions.
    pub(super) fn act(&mut self, action: Action) -> Option<Requests> {
        match action {
            Action::Left => drop(self.fold()),
            Action::Right => drop(self.unfold()),
            Action::FoldAll | Action::UnfoldAll => self.fold_all(action == Action::FoldAll),
            Action::NextMatch | Action::PrevMatch if self.search.is_active() => {
                if !self.next_found(action == Action::NextMatch) {
                    return Some(Requests::info("No node matches. Esc clears the search."));
                }
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    /// Moves to the next or previous visited node. Returns whether there is one.
    fn next_visited(&mut self, forward: bool) -> bool {
        let Some(at) = self.cursor_row() else {
            return false;
        };
        let is_visited = |row: &usize| self.picture.activity(*row).visits > 0;
        let found = next_where(self.picture.rows(), at, forward, is_visited);
        found.map(|row| self.set_cursor(row)).is_some()
    }

    /// Sets or removes the breakpoints of the node under the cursor. Returns what to say.
    fn turn_breakpoint(&mut self) -> Result<String, String> {
        let node = self.node_under_cursor().ok_or("No graph is loaded yet.")?;
        let (id, name) = (node.id.clone(), text::seen(&node.name, 40));
        if !node.is_real() {
            return Err(format!("A run can't stop at {name}."));
        }
        if let Some(group) = group_of(&id) {
            let group = text::seen(group.split(':').next().unwrap_or(group), 40);
            return Err(format!(
                "Only nodes of the main graph stop a run. Fold {group} to stop there."
            ));
        }
        let is_set_of_siblings =
            node.folded > 0 && self.whole.find(&id).is_some() && !self.whole.groups().contains(&id);
        if is_set_of_siblings {
            return Err("Unfold the nodes to choose one.".into());
        }
        self.is_paused = true;
        self.breakpoints.cycle(&id);
        Ok(match self.breakpoints.at(&id).words() {
            "" => format!("The next run doesn't stop at {name}."),
            words => format!("The next run from here stops {words} {name}."),
        })
    }
}

/// The Graph view.
pub struct GraphTab;

impl StreamView for GraphTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Graph",
            export: ExportedAs::Whole,
            records_of: Some(View::Events),
            ..PICTURE
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        extent(viewer.projections.timeline.bars()).end
    }

    fn go(&self, viewer: &mut Viewer, to: Move) {
        let graph = &mut viewer.views.graph;
        match to {
            Move::Step(rows) | Move::Page(rows) => graph.step(rows),
            Move::Start => graph.to_start(),
            Move::End => graph.follow(),
            Move::Point(line) => graph.point_at(line),
        }
    }

    fn height(&self, viewer: &Viewer) -> Option<usize> {
        Some(viewer.views.graph.height())
    }

    fn search(&self, viewer: &mut Viewer, text: &str) {
        viewer.search(text);
        viewer.find.seek = None;
        viewer.views.graph.search_near(&viewer.find.pattern);
    }

    fn found(&self, viewer: &Viewer) -> Option<FoundPlace> {
        let (count, at) = viewer.views.graph.found();
        Some(FoundPlace {
            count: count as u64,
            at: at.map(|at| at as u64),
            progress: None,
        })
    }

    fn lay_out(&self, viewer: &mut Viewer, area: Area, _is_titled: bool) {
        viewer.prepare_graph(area);
    }

    fn about(&self, viewer: &Viewer) -> Option<String> {
        Some(viewer.views.graph.title(viewer))
    }

    fn draw(&self, viewer: &Viewer, on: &mut Canvas<'_>, area: Area, drawn: DrawnAs) -> bool {
        let graph = &viewer.views.graph;
        let words = Words {
            title: if viewer.is_split() {
                String::new()
            } else {
                graph.title(viewer)
            },
            empty: graph.empty_text(viewer),
        };
        draw_graph(graph, &words, on, area, (drawn.is_focused, drawn.is_ascii));
        true
    }

    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        let graph = &viewer.views.graph;
        let is_sealed = on.is_read_only(&viewer.server.profile);
        let follow = (!graph.follows()).then_some(("stream.follow", None));
        all.enable(|row| graph.can(row.action))
            .enable_if(!is_sealed, &["stream.play"])
            .show([
                ("stream.open", Some("go to last visit")),
                ("move.left", Some("fold")),
                ("stream.collapse", Some("collapse idle")),
                ("stream.split", Some("split")),
                ("stream.play", Some("breakpoint")),
            ])
            .show(follow)
    }

    fn action(&self, viewer: &mut Viewer, on: &Session, action: Action) -> Option<Requests> {
        let is_recording = viewer.is_recording();
        let graph = &mut viewer.views.graph;
        if let Some(done) = graph.act(action) {
            return Some(done);
        }
        match action {
            Action::Collapse => return Some(Requests::info(graph.collapse_idle())),
            Action::NextMatch | Action::PrevMatch => {
                let forward = action == Action::NextMatch;
                if !graph.next_visited(forward) {
                    let place = if forward { "below" } else { "above" };
                    return Some(Requests::info(format!("No visited node {place}.")));
                }
            }
            Action::Open => match graph.last_visit() {
                Some(seq) => {
                    viewer.go_to(seq);
                    if !viewer.is_split() {
                        viewer.show(View::Messages);
                    }
                }
                None => return Some(Requests::info("This node hasn't been visited yet.")),
            },
            Action::Play if !is_recording => {
                if on.is_read_only(&viewer.server.profile) {
                    return Some(Requests::error(on.read_only_text(&viewer.server.profile)));
                }
                let (Ok(text) | Err(text)) = viewer.views.graph.turn_breakpoint();
                return Some(Requests::info(text));
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    /// Shows the next of the other views beside the graph, at last none.
    fn split(&self, viewer: &mut Viewer) -> bool {
        let mut partners = PARTNERS.iter();
        let is_at_one = viewer.split && partners.any(|view| *view == viewer.partner());
        if !is_at_one {
            partners = PARTNERS.iter();
        }
        match partners.next() {
            Some(view) => viewer.show_beside(*view),
            None => viewer.split = false,
        }
        true
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        viewer.views.graph.name_under_cursor()
    }

    fn selected_id<'a>(&self, viewer: &'a Viewer) -> Option<&'a str> {
        viewer.views.graph.id_under_cursor()
    }

    fn write(&self, viewer: &Viewer, _key: u64, format: Format, part: &mut Part) {
        let title = viewer.views.graph.title(viewer);
        viewer.views.graph.write(&title, format, part);
    }
}
