//! The drawing of a graph as rails.
//!
//! A rail belongs to one target: all edges into a node share it, so following a rail leads to exactly one node. At the left, a
//! rail begins at its first source and ends at its target below. At the right it is the other way round: it begins at the head
//! of a loop and ends at the last node that returns there. The stub of a row reaches from the name to the farthest rail that
//! the node touches; rails in between that it doesn't touch pass in front of it.

use super::{Graph, order};

/// Maximum number of rails at each side. Longer ones are replaced by the names of their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub left: usize,
    pub right: usize,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits {
        left: usize::MAX,
        right: usize::MAX,
    };
}

/// The horizontal line of a row between two rails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stub {
    #[default]
    None,
    Solid,
    /// Beyond it are only conditional edges of the row's node.
    Dashed,
}

/// What a row draws in a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell {
    /// The target of the rail that comes from above.
    pub above: Option<usize>,
    /// The target of the rail that goes on below.
    pub below: Option<usize>,
    /// Whether the row's node sends into the rail or ends it; otherwise the rail passes.
    pub is_touched: bool,
    /// The stub between the cell and the names.
    pub inner: Stub,
    /// The stub on the other side of the cell.
    pub outer: Stub,
}

impl Cell {
    /// Returns whether one rail ends in the cell and the next one begins.
    pub fn is_spine(&self) -> bool {
        matches!((self.above, self.below), (Some(above), Some(below)) if above != below)
    }
}

/// A row: a node with its rails. The first lane is the one next to the names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub node: usize,
    pub left: Vec<Cell>,
    pub right: Vec<Cell>,
    /// Whether a rail ends here at the left.
    pub is_entered: bool,
    /// Whether a loop begins here at the right.
    pub is_head: bool,
    /// Whether an edge leads from the node to itself.
    pub is_self_loop: bool,
    /// Targets without a rail.
    pub far_targets: Vec<usize>,
    /// How many edges enter without a rail.
    pub far_sources: usize,
}

/// A graph as rows with rails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rails {
    pub rows: Vec<Row>,
    /// The row of each node.
    pub row_of: Vec<usize>,
    /// For each edge, whether it returns to a node above it.
    pub returns: Vec<bool>,
    /// The number of lanes at the left and at the right.
    pub lanes: (usize, usize),
    /// The lanes that would be needed without limits.
    pub wanted: (usize, usize),
}

/// A rail before it is drawn: its target, and the rows of its sources with their edges.
struct Rail {
    target: usize,
    sources: Vec<(usize, usize)>,
    /// The first and the last row.
    span: (usize, usize),
}

/// Draws a graph. The result depends only on the graph and the limits.
pub fn layout(graph: &Graph, limits: Limits) -> Rails {
    let (returns, search) = order::returns(graph);
    let order = order::order(graph, &returns, &search);
    let mut row_of = vec![0; graph.nodes().len()];
    order
        .iter()
        .enumerate()
        .for_each(|(row, node)| row_of[*node] = row);
    let mut rows: Vec<Row> = order
        .iter()
        .map(|node| Row {
            node: *node,
            ..Row::default()
        })
        .collect();
    for edge in graph.edges().iter().filter(|edge| edge.from == edge.to) {
        rows[row_of[edge.from]].is_self_loop = true;
    }
    let (mut wanted, mut lanes) = ([0; 2], [0; 2]);
    for is_return in [false, true] {
        let rails = rails(graph, &returns, &row_of, is_return);
        let limit = if is_return { limits.right } else { limits.left };
        let (lane_of, needed) = assign_lanes(&rails, is_return);
        let used = needed.min(limit);
        wanted[usize::from(is_return)] = needed;
        lanes[usize::from(is_return)] = used;
        for row in &mut rows {
            *side(row, is_return) = vec![Cell::default(); used];
        }
        for (rail, lane) in rails.iter().zip(lane_of) {
            match lane < limit {
                true => draw(&mut rows, rail, lane, is_return),
                false => cut(&mut rows, graph, rail),
            }
        }
        for (at, row) in rows.iter_mut().enumerate() {
            stubs(graph, row, at, &rails, is_return);
        }
    }
    Rails {
        rows,
        row_of,
        returns,
        lanes: lanes.into(),
        wanted: wanted.into(),
    }
}

fn side(row: &mut Row, is_return: bool) -> &mut Vec<Cell> {
    if is_return {
        &mut row.right
    } else {
        &mut row.left
    }
}

/// Returns the rails of one side, one per target.
fn rails(graph: &Graph, returns: &[bool], row_of: &[usize], is_return: bool) -> Vec<Rail> {
    let mut of_target: Vec<Vec<(usize, usize)>> = vec![Vec::new(); graph.nodes().len()];
    for (at, edge) in graph.edges().iter().enumerate() {
        if edge.from != edge.to && returns[at] == is_return {
            of_target[edge.to].push((row_of[edge.from], at));
        }
    }
    let rail = |(target, mut sources): (usize, Vec<(usize, usize)>)| {
        sources.sort_unstable();
        let (first, last) = (sources.first()?.0, sources.last()?.0);
        let span = if is_return {
            (row_of[target], last)
        } else {
            (first, row_of[target])
        };
        Some(Rail {
            target,
            sources,
            span,
        })
    };
    of_target.into_iter().enumerate().filter_map(rail).collect()
}

/// Gives each rail the lane nearest to the names that is free, the shortest rails first. Returns the lanes and their number.
fn assign_lanes(rails: &[Rail], is_return: bool) -> (Vec<usize>, usize) {
    let mut by_length: Vec<usize> = (0..rails.len()).collect();
    by_length.sort_by_key(|at| {
        let (first, last) = rails[*at].span;
        (last - first, first)
    });
    let mut taken: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut lane_of = vec![0; rails.len()];
    for at in by_length {
        let (first, last) = rails[at].span;
        // At the left, a rail may begin in the row where another one ends: that is always the same node.
        let meets = |other: &(usize, usize)| match is_return {
            true => first <= other.1 && other.0 <= last,
            false => first < other.1 && other.0 < last,
        };
        let lane = taken
            .iter()
            .position(|lane| !lane.iter().any(meets))
            .unwrap_or(taken.len());
        if lane == taken.len() {
            taken.push(Vec::new());
        }
        taken[lane].push((first, last));
        lane_of[at] = lane;
    }
    (lane_of, taken.len())
}

fn draw(rows: &mut [Row], rail: &Rail, lane: usize, is_return: bool) {
    let (first, last) = rail.span;
    for (at, row) in rows.iter_mut().enumerate().take(last + 1).skip(first) {
        let ends = row.node == rail.target;
        row.is_entered |= ends && !is_return;
        row.is_head |= ends && is_return;
        let Some(cell) = side(row, is_return).get_mut(lane) else {
            continue;
        };
        if at > first {
            cell.above = Some(rail.target);
        }
        if at < last {
            cell.below = Some(rail.target);
        }
        cell.is_touched |= ends || rail.sources.iter().any(|(source, _)| *source == at);
    }
}

/// Names the ends of a rail that has no lane.
fn cut(rows: &mut [Row], graph: &Graph, rail: &Rail) {
    for (row, _) in &rail.sources {
        rows[*row].far_targets.push(rail.target);
    }
    if let Some(row) = rows.iter_mut().find(|row| row.node == rail.target) {
        row.far_sources += rail.sources.len();
    }
    debug_assert!(rail.target < graph.nodes().len());
}

/// Draws the stub of a row, as far as the rails that its node touches.
fn stubs(graph: &Graph, row: &mut Row, at: usize, rails: &[Rail], is_return: bool) {
    let own = row.node;
    let is_conditional = |cell: &Cell| {
        // What ends here, and what begins or goes on here.
        let sent = [cell.above, cell.below]
            .into_iter()
            .flatten()
            .filter(|target| *target != own);
        let ends = cell.above == Some(own) || cell.below == Some(own);
        let mut edges = sent.filter_map(|target| {
            let rail = rails.iter().find(|rail| rail.target == target)?;
            let (_, edge) = rail.sources.iter().find(|(source, _)| *source == at)?;
            Some(graph.edges()[*edge].is_conditional)
        });
        !ends && edges.all(|is_conditional| is_conditional)
    };
    let cells = side(row, is_return);
    let mut stub = Stub::None;
    for cell in cells.iter_mut().rev() {
        cell.outer = stub;
        if cell.is_touched {
            stub = match (stub, is_conditional(cell)) {
                (Stub::Solid, _) | (_, false) => Stub::Solid,
                (_, true) => Stub::Dashed,
            };
        }
        cell.inner = stub;
    }
}
