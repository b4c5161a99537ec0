//! Aligns the members of two lists: by id if all members have one, otherwise by the longest common subsequence if that
//! isn't too expensive.

use crate::json::index::{JsonIndex, Kind};
use std::collections::{HashMap, HashSet};

/// Maximum number of cells of the table that aligns members without ids.
const MAX_CELLS: usize = 1_000_000;
/// Fields that identify a member of a list, best first. Messages, tool calls and interrupts have an `id`.
const IDS: [&str; 6] = [
    "\"id\"",
    "\"task_id\"",
    "\"interrupt_id\"",
    "\"checkpoint_id\"",
    "\"run_id\"",
    "\"tool_call_id\"",
];

/// The result for a list member, by node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aligned {
    /// The old and the new member, which may have changed.
    Pair(u32, u32),
    /// The old and the new member, whose position changed.
    Moved(u32, u32),
    /// The new member.
    Added(u32),
    /// The old member.
    Removed(u32),
}

/// A document, members of a list in it, and the fingerprints of all its nodes.
type Side<'a> = (&'a JsonIndex, &'a [u32], &'a [u64]);

/// Aligns the members of two lists. Omits equal members at the start and the end. Returns `None` if that is too
/// expensive.
pub(super) fn align(old: Side<'_>, new: Side<'_>) -> Option<Vec<Aligned>> {
    let equal = |a: u32, b: u32| old.2[a as usize] == new.2[b as usize];
    // Most lists only grow at their ends.
    let (mut olds, mut news) = (old.1, new.1);
    while let (Some((a, rest)), Some((b, others))) = (olds.split_first(), news.split_first())
        && equal(*a, *b)
    {
        (olds, news) = (rest, others);
    }
    while let (Some((a, rest)), Some((b, others))) = (olds.split_last(), news.split_last())
        && equal(*a, *b)
    {
        (olds, news) = (rest, others);
    }
    if olds.is_empty() || news.is_empty() {
        let removed = olds.iter().map(|a| Aligned::Removed(*a));
        return Some(
            removed
                .chain(news.iter().map(|b| Aligned::Added(*b)))
                .collect(),
        );
    }
    let old_ids: Vec<Option<&str>> = olds.iter().map(|n| id(old.0, *n)).collect();
    let new_ids: Vec<Option<&str>> = news.iter().map(|n| id(new.0, *n)).collect();
    if let (Some(old_ids), Some(new_ids)) = (unique(&old_ids), unique(&new_ids)) {
        return Some(by_id(
            &Identified {
                nodes: olds,
                ids: &old_ids,
            },
            &Identified {
                nodes: news,
                ids: &new_ids,
            },
        ));
    }
    let weight = |i: usize, j: usize| u32::from(equal(olds[i], news[j]));
    let pairs = heaviest((olds.len(), news.len()), weight, |_, _| true)?;
    let anchors = pairs.into_iter().filter_map(|(a, b)| a.zip(b));
    let mut aligned = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (a, b) in anchors.chain([(olds.len(), news.len())]) {
        // Between equal members, compare the others by position.
        let pairs = (a - i).min(b - j);
        for n in 0..pairs {
            let (from, to) = (olds[i + n], news[j + n]);
            match old_ids[i + n] == new_ids[j + n] {
                true => aligned.push(Aligned::Pair(from, to)),
                false => aligned.extend([Aligned::Removed(from), Aligned::Added(to)]),
            }
        }
        aligned.extend(olds[i + pairs..a].iter().map(|n| Aligned::Removed(*n)));
        aligned.extend(news[j + pairs..b].iter().map(|n| Aligned::Added(*n)));
        (i, j) = (a + 1, b + 1);
    }
    Some(aligned)
}

/// Returns the id of a member: one of its fields, or a field of the object in a serialized LangChain object.
fn id<'a>(doc: &'a JsonIndex, member: u32) -> Option<&'a str> {
    let field = |node: u32, name: &str| {
        doc.children(node)
            .find(|child| doc.key(*child) == Some(name))
    };
    if doc.kind(member) != Kind::Object {
        return None;
    }
    let plain = |node: u32| -> Option<&'a str> {
        IDS.iter().find_map(|name| {
            let value = doc.value(field(node, name)?);
            let is_id =
                value.starts_with(|c: char| c == '"' || c.is_ascii_digit()) && value != "\"\"";
            is_id.then_some(value)
        })
    };
    // The `id` of a serialized object is its class.
    match field(member, "\"kwargs\"").filter(|_| field(member, "\"lc\"").is_some()) {
        Some(wrapped) => plain(wrapped),
        None => plain(member),
    }
}

/// Returns the ids if each member has a unique one.
fn unique<'a>(ids: &[Option<&'a str>]) -> Option<Vec<&'a str>> {
    let mut seen = HashSet::with_capacity(ids.len());
    ids.iter()
        .map(|id| id.filter(|id| seen.insert(*id)))
        .collect()
}

/// The members of a list, each with its id.
struct Identified<'a> {
    nodes: &'a [u32],
    ids: &'a [&'a str],
}

fn by_id(old: &Identified<'_>, new: &Identified<'_>) -> Vec<Aligned> {
    let positions: HashMap<&str, usize> =
        old.ids.iter().enumerate().map(|(n, id)| (*id, n)).collect();
    let before: Vec<Option<usize>> = new
        .ids
        .iter()
        .map(|id| positions.get(id).copied())
        .collect();
    let is_unmoved = longest_increasing(&before);
    let found: HashSet<usize> = before.iter().flatten().copied().collect();
    let mut aligned = Vec::new();
    let mut reported = 0;
    let mut report_removed = |aligned: &mut Vec<Aligned>, upto: usize| {
        aligned.extend(
            (reported..upto)
                .filter(|n| !found.contains(n))
                .map(|n| Aligned::Removed(old.nodes[n])),
        );
        reported = upto;
    };
    for (n, at) in before.into_iter().enumerate() {
        let to = new.nodes[n];
        match at {
            Some(at) if is_unmoved[n] => {
                report_removed(&mut aligned, at);
                aligned.push(Aligned::Pair(old.nodes[at], to));
            }
            Some(at) => aligned.push(Aligned::Moved(old.nodes[at], to)),
            None => aligned.push(Aligned::Added(to)),
        }
    }
    report_removed(&mut aligned, old.nodes.len());
    aligned
}

/// Returns which of the positions belong to their longest increasing subsequence. Its members didn't move; the others
/// did.
fn longest_increasing(positions: &[Option<usize>]) -> Vec<bool> {
    // The last member of the best sequence of each length, and the predecessor of each member.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; positions.len()];
    for (n, position) in positions
        .iter()
        .enumerate()
        .filter(|(_, position)| position.is_some())
    {
        let length = ends.partition_point(|end| positions[*end] < *position);
        previous[n] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(n)
        } else {
            ends[length] = n
        }
    }
    let mut is_in_rise = vec![false; positions.len()];
    let mut at = ends.last().copied();
    while let Some(n) = at {
        is_in_rise[n] = true;
        at = previous[n];
    }
    is_in_rise
}

/// Pairs the members of two lists so that their weights have the greatest sum, and lists the others alone; `is_first` returns
/// which of two such members is first. Returns nothing for lists that are too long.
pub(crate) fn heaviest(
    (of_a, of_b): (usize, usize),
    weight: impl Fn(usize, usize) -> u32,
    is_first: impl Fn(usize, usize) -> bool,
) -> Option<Vec<(Option<usize>, Option<usize>)>> {
    let width = of_b + 1;
    if (of_a + 1).saturating_mul(width) > MAX_CELLS {
        return None;
    }
    // The best weight of the rest of both lists.
    let mut best = vec![0_u32; (of_a + 1) * width];
    let matched = |best: &[u32], i: usize, j: usize| match weight(i, j) {
        0 => 0,
        weight => best[(i + 1) * width + j + 1] + weight,
    };
    for i in (0..of_a).rev() {
        for j in (0..of_b).rev() {
            best[i * width + j] = matched(&best, i, j)
                .max(best[(i + 1) * width + j])
                .max(best[i * width + j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::with_capacity(of_a.max(of_b));
    while i < of_a && j < of_b {
        let here = best[i * width + j];
        let is_alone = |rest: u32| rest == here;
        let (without_a, without_b) = (best[(i + 1) * width + j], best[i * width + j + 1]);
        let is_a = is_alone(without_a) && (!is_alone(without_b) || is_first(i, j));
        let (a, b) = match here > 0 && matched(&best, i, j) == here {
            true => (true, true),
            false => (is_a, !is_a),
        };
        pairs.push((a.then_some(i), b.then_some(j)));
        (i, j) = (i + usize::from(a), j + usize::from(b));
    }
    pairs.extend((i..of_a).map(|i| (Some(i), None)));
    pairs.extend((j..of_b).map(|j| (None, Some(j))));
    Some(pairs)
}
