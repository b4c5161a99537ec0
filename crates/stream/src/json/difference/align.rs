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
    let anchors = common(olds, news, equal)?;
    let mut aligned = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (a, b) in anchors.into_iter().chain([(olds.len(), news.len())]) {
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

/// Returns the positions of a longest common subsequence in both lists; `None` if that is too expensive.
fn common(
    olds: &[u32],
    news: &[u32],
    equal: impl Fn(u32, u32) -> bool,
) -> Option<Vec<(usize, usize)>> {
    let (height, width) = (olds.len() + 1, news.len() + 1);
    if height.saturating_mul(width) > MAX_CELLS {
        return None;
    }
    // Each cell has the length of the longest common subsequence of the rest of both lists.
    let mut table = vec![0u32; height * width];
    for i in (0..olds.len()).rev() {
        for j in (0..news.len()).rev() {
            table[i * width + j] = match equal(olds[i], news[j]) {
                true => table[(i + 1) * width + j + 1] + 1,
                false => table[(i + 1) * width + j].max(table[i * width + j + 1]),
            };
        }
    }
    let mut positions = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < olds.len() && j < news.len() {
        if equal(olds[i], news[j]) {
            positions.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if table[(i + 1) * width + j] >= table[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some(positions)
}
