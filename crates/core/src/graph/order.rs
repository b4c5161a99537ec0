//! The order of the rows: which edges return, and which node comes after which.

use super::{Graph, group_of};

/// Returns for each edge whether it returns to a node before it: a depth-first search from START, in the order of the server,
/// finds it on the way there. Nodes that START doesn't reach begin searches of their own. Also returns the number of the search
/// that found each node.
pub(super) fn returns(graph: &Graph) -> (Vec<bool>, Vec<usize>) {
    let count = graph.nodes().len();
    let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut has_source = vec![false; count];
    for (at, edge) in graph.edges().iter().enumerate() {
        outgoing[edge.from].push(at);
        has_source[edge.to] |= edge.from != edge.to;
    }
    let start = graph.nodes().iter().position(super::Node::is_start);
    let roots = (0..count).filter(|node| !has_source[*node]);
    let roots: Vec<usize> = start.into_iter().chain(roots).chain(0..count).collect();
    let mut returns = vec![false; graph.edges().len()];
    let (mut search, mut is_open, mut found) = (vec![usize::MAX; count], vec![false; count], 0);
    for root in roots {
        if search[root] != usize::MAX {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        (search[root], is_open[root]) = (found, true);
        while let Some((node, next)) = path.last_mut() {
            let Some(&at) = outgoing[*node].get(*next) else {
                is_open[*node] = false;
                path.pop();
                continue;
            };
            *next += 1;
            let to = graph.edges()[at].to;
            if is_open[to] {
                returns[at] = true;
            } else if search[to] == usize::MAX {
                (search[to], is_open[to]) = (found, true);
                path.push((to, 0));
            }
        }
        found += 1;
    }
    (returns, search)
}

/// Returns the nodes in the order of their rows: each below all that lead to it, except by returns.
pub(super) fn order(graph: &Graph, returns: &[bool], search: &[usize]) -> Vec<usize> {
    let count = graph.nodes().len();
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut targets: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (edge, _) in graph
        .edges()
        .iter()
        .zip(returns)
        .filter(|(_, is_return)| !**is_return)
    {
        sources[edge.to].push(edge.from);
        targets[edge.from].push(edge.to);
    }
    let mut open: Vec<usize> = sources.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..count).filter(|node| open[*node] == 0).collect();
    let mut row_of = vec![0; count];
    let mut order: Vec<usize> = Vec::with_capacity(count);
    loop {
        let last = order.last().copied();
        let rank = |node: usize| {
            let nearest = sources[node]
                .iter()
                .map(|source| row_of[*source])
                .max()
                .unwrap_or(0);
            let is_same_group = last.is_some_and(|last| group(graph, last) == group(graph, node));
            let follows = last.is_some_and(|last| sources[node].contains(&last));
            (
                search[node],
                graph.nodes()[node].is_end(),
                !is_same_group,
                !follows,
                usize::MAX - nearest,
                node,
            )
        };
        let Some(at) = (0..ready.len()).min_by_key(|at| rank(ready[*at])) else {
            break;
        };
        let node = ready.swap_remove(at);
        row_of[node] = order.len();
        order.push(node);
        for target in &targets[node] {
            open[*target] -= 1;
            if open[*target] == 0 {
                ready.push(*target);
            }
        }
    }
    order
}

/// Returns the group that a node belongs to. A folded group is one of its own.
fn group(graph: &Graph, node: usize) -> Option<&str> {
    let node = &graph.nodes()[node];
    if node.folded > 0 {
        Some(&node.id)
    } else {
        group_of(&node.id)
    }
}
