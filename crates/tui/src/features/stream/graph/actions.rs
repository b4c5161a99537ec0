//! The actions of the Graph view.

use super::GraphView;
use crate::features::stream::StreamState;
use crate::features::stream::viewer::View;
use crate::input::action::Action;
use crate::session::{Requests, Session};
use runtail_core::graph::{group_of, is_in};
use runtail_core::text;

/// The views that the split shows beside the graph, one after the other.
const PARTNERS: [View; 5] = [
    View::Messages,
    View::Timeline,
    View::Updates,
    View::State,
    View::Raw,
];

impl GraphView {
    /// Returns whether an action does something at the cursor.
    pub(in crate::features::stream) fn can(&self, action: Action) -> bool {
        let node = || self.cursor_row().map(|row| self.picture.node_of_row(row));
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
        let Some(row) = self.cursor_row() else {
            return false;
        };
        let node = self.picture.node_of_row(row);
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
        let Some(row) = self.cursor_row() else {
            return false;
        };
        let node = self.picture.node_of_row(row);
        if node.folded == 0 {
            return false;
        }
        let id = node.id.clone();
        self.choose(id, false);
        true
    }

    fn choose(&mut self, group: String, is_folded: bool) {
        self.is_paused = true;
        self.chosen.insert(group, is_folded);
        self.version += 1;
    }

    /// Folds or unfolds all groups.
    pub(super) fn fold_all(&mut self, is_folded: bool) {
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
            "Groups in which nothing runs are folded."
        }
    }

    /// Moves to the next or previous visited node. Returns whether there is one.
    fn next_visited(&mut self, forward: bool) -> bool {
        let Some(at) = self.cursor_row() else {
            return false;
        };
        let is_visited = |row: &usize| self.picture.activity(*row).visits > 0;
        let found = match forward {
            true => (at + 1..self.picture.rows()).find(is_visited),
            false => (0..at).rev().find(is_visited),
        };
        found.map(|row| self.set_cursor(row)).is_some()
    }

    /// Sets or removes the breakpoints of the node under the cursor. Returns what to say.
    fn turn_breakpoint(&mut self) -> Result<String, String> {
        let node = self
            .cursor_row()
            .map(|row| self.picture.node_of_row(row))
            .ok_or("No graph is loaded yet.")?;
        let (id, name) = (node.id.clone(), text::seen(&node.name, 40));
        if !node.is_real() {
            return Err(format!("A run can't stop at {name}; choose a node."));
        }
        if let Some(group) = group_of(&id) {
            let group = text::seen(group.split(':').next().unwrap_or(group), 40);
            return Err(format!(
                "Breakpoints stop at the nodes of the main graph. Fold {group} to set one there."
            ));
        }
        let is_set_of_siblings =
            node.folded > 0 && self.whole.find(&id).is_some() && !self.whole.groups().contains(&id);
        if is_set_of_siblings {
            return Err("Unfold the nodes to set a breakpoint at one of them.".into());
        }
        self.is_paused = true;
        self.breakpoints.cycle(&id);
        Ok(match self.breakpoints.at(&id).words() {
            "" => format!("The next run doesn't stop at {name}."),
            words => format!("The next run from here stops {words} {name}."),
        })
    }
}

impl StreamState {
    /// Handles the actions of the Graph view. Returns `None` for actions that mean the same in all views.
    pub(in crate::features::stream) fn handle_graph_action(
        &mut self,
        session: &Session,
        action: Action,
    ) -> Option<Requests> {
        let viewer = self
            .tabs
            .shown_mut()
            .filter(|viewer| viewer.view() == View::Graph)?;
        let is_recording = viewer.is_recording();
        let graph = &mut viewer.graph;
        match action {
            Action::Left if graph.fold() => {}
            Action::Right if graph.unfold() => {}
            Action::Left | Action::Right => {}
            Action::FoldAll | Action::UnfoldAll => graph.fold_all(action == Action::FoldAll),
            Action::Collapse => return Some(Requests::info(graph.collapse_idle())),
            Action::NextMatch | Action::PrevMatch => {
                let forward = action == Action::NextMatch;
                if graph.search.is_active() {
                    if !graph.next_found(forward) {
                        return Some(Requests::info(
                            "No node's name matches the search. Esc clears it.",
                        ));
                    }
                } else if !graph.next_visited(forward) {
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
                if session.is_read_only(&viewer.server.profile) {
                    return Some(Requests::error(
                        session.read_only_text(&viewer.server.profile),
                    ));
                }
                return Some(match viewer.graph.turn_breakpoint() {
                    Ok(text) => Requests::info(text),
                    Err(text) => Requests::info(text),
                });
            }
            Action::Split => {
                let at = PARTNERS
                    .iter()
                    .position(|view| viewer.split && *view == viewer.partner());
                let next = if viewer.split {
                    at.map_or(Some(0), |at| Some(at + 1))
                } else {
                    Some(0)
                };
                match next.and_then(|at| PARTNERS.get(at)) {
                    Some(view) => viewer.show_beside(*view),
                    None => viewer.split = false,
                }
            }
            _ => return None,
        }
        Some(Requests::none())
    }
}
