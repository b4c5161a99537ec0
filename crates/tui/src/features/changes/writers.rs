//! The choice of the node in whose name a state is edited.

use super::confirm::{Confirm, Stage};
use super::preview_lines::{inner, labeled};
use crate::session::proposal::Proposal;
use crate::widgets::form_lines::padded;
use crate::widgets::line::{Line, Tone};
use runtail_api::{Choice, ForkChange, PlanError, ThreadIntent, Writer};
use runtail_core::text;

/// Maximum number of nodes that a preview lists to choose from.
const MAX_WRITER_LINES: usize = 12;
/// The writer of an edit without a chosen node.
pub(super) const LAST_WRITER: &str = "the last writer";

impl Confirm {
    /// Returns the node in whose name a state is edited, and those that can be chosen.
    pub(super) fn node_choice(&self) -> Option<(Option<&str>, &[Writer])> {
        match (&self.one().stage, &self.choice) {
            (Stage::Refused(PlanError::NeedsNode(_, nodes)), _) if !nodes.is_empty() => {
                Some((None, nodes))
            }
            (Stage::Ready(_), Some(Choice::AsNode { node, nodes })) => {
                Some((node.as_deref(), nodes))
            }
            _ => None,
        }
    }

    /// Returns the lines of the nodes in whose name a state can be edited.
    pub(super) fn writer_lines(&self, width: usize) -> Vec<Line> {
        let Some((chosen, nodes)) = self.node_choice() else {
            return Vec::new();
        };
        let at = chosen.and_then(|node| nodes.iter().position(|known| known.node == node));
        // The chosen node stays visible in a long list.
        let first = at.map_or(0, |at| at.saturating_sub(MAX_WRITER_LINES / 2));
        let first = first.min(nodes.len().saturating_sub(MAX_WRITER_LINES));
        let shown = nodes.iter().skip(first).take(MAX_WRITER_LINES);
        let name_width = shown
            .clone()
            .map(|one| text::width(&text::clean(&one.node)))
            .max()
            .unwrap_or(0)
            .min(30);
        let inner = inner(width);
        let mut lines = Vec::new();
        if !matches!(self.one().stage, Stage::Refused(_)) {
            lines.push(writer_line(chosen.is_none(), LAST_WRITER, ""));
        }
        for one in shown {
            let name = padded(&text::seen(&one.node, name_width), name_width);
            let then = text::seen(&one.then, inner.saturating_sub(name_width + 4));
            lines.push(writer_line(chosen == Some(&*one.node), &name, &then));
        }
        if nodes.len() > first + MAX_WRITER_LINES || first > 0 {
            lines.push(Line::dim(&format!("  {} nodes", nodes.len())));
        }
        std::iter::once(Line::new())
            .chain(labeled("Write as", lines, width))
            .collect()
    }

    /// Returns the same edit in the name of the next node.
    pub(super) fn as_next_node(&self) -> Option<Proposal> {
        let (node, nodes) = self.node_choice()?;
        let next = next_node(node, nodes).map(str::to_string);
        let mut other = self.one().proposal.clone();
        let Proposal::Thread(
            _,
            ThreadIntent::EditState { edit, .. }
            | ThreadIntent::Fork {
                change: ForkChange::Edit(edit),
                ..
            },
        ) = &mut other
        else {
            return None;
        };
        edit.as_node = next;
        Some(other)
    }
}

fn writer_line(is_chosen: bool, name: &str, then: &str) -> Line {
    let (mark, tone) = if is_chosen {
        ("● ", Tone::Strong)
    } else {
        ("  ", Tone::Plain)
    };
    Line::accent(mark)
        .with(tone, name)
        .with_dim(&format!("  {then}"))
}

/// Returns the node after a node in a list; after the last one none, which is the node that wrote last.
pub(super) fn next_node<'a>(node: Option<&str>, nodes: &'a [Writer]) -> Option<&'a str> {
    let at = node.and_then(|node| nodes.iter().position(|known| known.node == node));
    let next = match (node, at) {
        (None, _) => 0,
        (Some(_), Some(at)) => at + 1,
        (Some(_), None) => return None,
    };
    nodes.get(next).map(|next| &*next.node)
}
