//! The Graph view: the graph of the thread's assistant as rails, with what ran, how often and how long.

mod actions;
mod breakpoints;
mod colors;
mod export;
mod load;
mod page;
mod picture;
mod rows;
mod search;
mod view;

pub use actions::GraphTab;
pub use breakpoints::Breakpoints;
pub use page::GraphPage;

use crate::widgets::area::Area;
use crate::widgets::line::Line;
use crate::widgets::pattern::Pattern;
use breakpoints::RunBreakpoints;
use colors::NodeColors;
use jiff::Timestamp;
use load::GraphLoading;
use picture::Picture;
use runtail_core::graph::{Graph, Node, group_of, is_in};
use runtail_core::model::ThreadStatus;
use runtail_stream::Seq;
use runtail_stream::projection::{ActivityCache, Timeline};
use search::GraphSearch;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Minimum height for the rails; below it, only the path of the newest run is shown.
const MIN_HEIGHT: u16 = 8;
/// Rails take up to this part of the width, in percent, before groups are folded and rails are cut.
const MAX_RAILS: usize = 40;

/// The Graph view of a thread.
#[derive(Debug, Clone, Default)]
pub struct GraphView {
    loading: GraphLoading,
    activity: ActivityCache,
    stops: Stops,
    /// The graph as the server describes it, or as observed.
    whole: Arc<Graph>,
    is_observed: bool,
    colors: NodeColors,
    /// Counts changes of `whole` and of the folds.
    version: u64,
    /// Groups and sets of siblings that the user folded (true) or unfolded.
    chosen: BTreeMap<String, bool>,
    picture: Picture,
    /// The node under the cursor, by its id.
    cursor: Option<String>,
    /// Whether the cursor stays where the user moved it, instead of following the running node.
    is_paused: bool,
    /// The first visible row.
    top: usize,
    /// Nodes before and after which the next run stops.
    breakpoints: Breakpoints,
    /// Where the shown run stops, by its record.
    run_breakpoints: Option<RunBreakpoints>,
    search: GraphSearch,
    /// Whether it shows the graph alone, without a thread.
    is_still: bool,
    area: Area,
}

/// What the view shows of a thread.
struct ShownThread<'a> {
    timeline: &'a Timeline,
    /// Running nodes count up to this time.
    now: Timestamp,
    stops: Stops,
    breakpoints: Option<RunBreakpoints>,
    pattern: &'a Pattern,
    /// The run that is shown alone.
    run: Option<&'a str>,
}

/// Where the thread stands, by its status.
#[derive(Debug, Clone, Default, PartialEq)]
struct Stops {
    /// Whether a run is active. Otherwise nothing runs, even if the stream didn't report its end.
    is_active: bool,
    /// The nodes that ask something.
    asks: Vec<String>,
    /// The nodes before which the run stopped.
    next: Vec<String>,
}

impl Stops {
    fn of(status: &ThreadStatus) -> Stops {
        let is_active = status.is_active()
            || matches!(status, ThreadStatus::Loading | ThreadStatus::Unknown { .. });
        let (mut asks, mut next) = (Vec::new(), Vec::new());
        match status {
            ThreadStatus::Waiting { questions, .. } => {
                asks.extend(
                    questions
                        .iter()
                        .filter_map(|question| question.node.clone()),
                );
            }
            ThreadStatus::Paused { next: nodes, .. }
            | ThreadStatus::Stopped { next: nodes, .. } => {
                next.clone_from(nodes);
            }
            _ => {}
        }
        Stops {
            is_active,
            asks,
            next,
        }
    }
}

impl GraphView {
    /// Returns the breakpoints for the next run.
    pub fn breakpoints(&self) -> &Breakpoints {
        &self.breakpoints
    }

    /// Returns the memory that it uses, in bytes.
    pub fn bytes(&self) -> usize {
        self.whole.nodes().len() * 512 + self.whole.edges().len() * 64
    }

    /// Updates the picture and the activity.
    fn prepare(&mut self, shown: ShownThread<'_>, area: Area) {
        self.area = area;
        let mut is_changed = self.activity.update(shown.timeline, shown.now, shown.run);
        is_changed |= self.stops != shown.stops;
        (self.stops, self.run_breakpoints) = (shown.stops, shown.breakpoints);
        if !self.loading.has_graph {
            let observed = self.activity.activity().observed();
            if *self.whole != observed {
                self.set_whole(Arc::new(observed), true);
            }
        }
        self.use_pattern(shown.pattern);
        if !self.redraw() && is_changed {
            self.show_activity();
        }
        if !self.is_paused {
            self.cursor = self
                .picture
                .newest_row()
                .map(|row| self.picture.node_of_row(row).id.clone());
        }
        self.scroll_to_cursor();
    }

    /// Draws the picture again if the graph, the folds or the width changed. Returns whether it did.
    fn redraw(&mut self) -> bool {
        let width = usize::from(self.area.w);
        let is_outdated = self.picture.is_outdated(self.version, width);
        if is_outdated {
            let rules = picture::Rules {
                is_observed: self.is_observed,
                chosen: &self.chosen,
                width,
            };
            self.picture = Picture::new(&self.whole, &rules, self.version);
            self.show_activity();
            self.find_again();
        }
        is_outdated
    }

    fn show_activity(&mut self) {
        self.picture
            .apply(&self.whole, self.activity.activity(), &self.stops);
    }

    fn set_whole(&mut self, graph: Arc<Graph>, is_observed: bool) {
        self.colors = NodeColors::new(&graph);
        (self.whole, self.is_observed) = (graph, is_observed);
        self.version += 1;
    }

    /// Gives the names of nodes in a line of any view the colors that they have in the graph.
    pub fn color(&self, line: &mut Line) {
        self.colors.apply(line);
    }

    /// Returns the row of the cursor.
    fn cursor_row(&self) -> Option<usize> {
        let id = self.cursor.as_deref()?;
        if let Some(row) = self.picture.row_of(id) {
            return Some(row);
        }
        // It may be folded, or its group may be unfolded.
        let mut group = group_of(id);
        while let Some(id) = group {
            if let Some(row) = self.picture.row_of(id) {
                return Some(row);
            }
            group = group_of(id);
        }
        let inner =
            (0..self.picture.rows()).find(|row| is_in(&self.picture.node_of_row(*row).id, id));
        inner.or_else(|| self.picture.row_of_member(self.whole.find(id)?))
    }

    fn set_cursor(&mut self, row: usize) {
        if row < self.picture.rows() {
            self.cursor = Some(self.picture.node_of_row(row).id.clone());
            self.is_paused = true;
            self.scroll_to_cursor();
        }
    }

    fn scroll_to_cursor(&mut self) {
        let (rows, height) = (self.picture.rows(), self.height());
        if let Some(row) = self.cursor_row() {
            self.top = self.top.clamp((row + 1).saturating_sub(height), row);
        }
        self.top = self.top.min(rows.saturating_sub(height));
    }

    /// Returns the number of visible rows.
    pub fn height(&self) -> usize {
        usize::from(self.area.h)
            .saturating_sub(self.head() + 1)
            .max(1)
    }

    /// Returns the lines above the rows. The graph alone has no numbers, so it needs no headings.
    fn head(&self) -> usize {
        usize::from(!self.is_still)
    }

    /// Moves the cursor by rows.
    pub fn step(&mut self, lines: isize) {
        let last = self.picture.rows().saturating_sub(1);
        let row = self.cursor_row().unwrap_or(0);
        self.set_cursor(row.saturating_add_signed(lines).min(last));
    }

    /// Moves to the first row.
    pub fn to_start(&mut self) {
        self.set_cursor(0);
    }

    /// Follows the running node.
    pub fn follow(&mut self) {
        self.is_paused = false;
    }

    /// Returns whether the cursor follows the running node.
    pub fn follows(&self) -> bool {
        !self.is_paused
    }

    /// Moves the cursor to a line of the view.
    pub fn point_at(&mut self, line: usize) {
        if let Some(line) = line
            .checked_sub(self.head())
            .filter(|line| *line < self.height())
        {
            self.set_cursor(self.top + line);
        }
    }

    /// Returns the id of the node under the cursor.
    pub fn id_under_cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Returns the name of the node under the cursor.
    pub fn name_under_cursor(&self) -> Option<String> {
        Some(self.node_under_cursor()?.id.clone())
    }

    fn node_under_cursor(&self) -> Option<&Node> {
        Some(self.picture.node_of_row(self.cursor_row()?))
    }

    /// Returns the first event of the last visit of the node under the cursor.
    fn last_visit(&self) -> Option<Seq> {
        let activity = self.picture.activity(self.cursor_row()?);
        (activity.visits > 0).then_some(activity.last)
    }
}
