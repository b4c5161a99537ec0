//! The time of each node in the Delivery view, as a table.

use super::summary::{DeliveryRow, MIN_WIDE, NAME, Summary, line, section};
use crate::features::stream::views::timeline::bar::short_count;
use crate::features::stream::views::{UNKNOWN, pad};
use crate::widgets::line::{Line, Tone};
use crate::widgets::strip;
use jiff::Timestamp;
use runtail_core::text;
use runtail_core::text::span;
use runtail_stream::projection::{Attempt, NodeSum, Usage, nested, node_sums, time_of_nodes};
use std::time::Duration;

/// Maximum number of nodes listed.
const MAX_NODES: usize = 50;

impl Summary<'_> {
    /// Returns the visits, the time, the share and the tokens of each node of the newest run, and their sums.
    pub(super) fn by_node(&self) -> Vec<DeliveryRow> {
        let Some(run) = self.projections.metrics.runs().last() else {
            return Vec::new();
        };
        // In a closed stream nothing grows.
        let now = if self.open { self.now } else { Timestamp::MIN };
        let nodes = node_sums(run, &self.projections.timeline, now);
        if nodes.is_empty() {
            return Vec::new();
        }
        let sum = time_of_nodes(&nodes);
        let table = NodeTable::new(self.width, sum);
        let mut attempts = self
            .projections
            .timeline
            .attempts()
            .map(|(_, attempt)| attempt);
        let missing = attempts
            .rfind(|attempt| attempt.run_id == run.run_id)
            .and_then(Attempt::missing_steps);
        let missing = missing
            .map(|steps| format!(" · {steps}"))
            .unwrap_or_default();
        let title = format!("by node · {}{missing}", self.run_name(run));
        let mut rows = vec![line(section(&title, self.width)), line(table.head())];
        let omitted = nodes.len().saturating_sub(MAX_NODES);
        for (depth, node) in nested(&nodes).into_iter().take(MAX_NODES) {
            rows.push(DeliveryRow {
                line: table.row(depth, node),
                seq: Some(node.seq),
            });
        }
        let rest = run.outside_nodes();
        if rest.input + rest.output > 0 {
            rows.push(line(table.total(Tone::Dim, "node not named", None, rest)));
        }
        if omitted > 0 {
            rows.push(line(Line::dim(&format!(
                "… {} more nodes",
                text::count(omitted as u64)
            ))));
        }
        if nodes.len() > 1 {
            let total = table.total(Tone::Strong, "all nodes", Some(sum), run.work.usage);
            rows.push(DeliveryRow {
                line: total,
                seq: nodes.iter().map(|node| node.seq).max(),
            });
        }
        rows
    }
}

/// The columns of the table of nodes.
struct NodeTable {
    name: usize,
    bar: usize,
    /// The time of all nodes.
    sum: Duration,
}

impl NodeTable {
    fn new(width: usize, sum: Duration) -> NodeTable {
        let (name, bar) = if width >= MIN_WIDE {
            (24, 20)
        } else {
            (NAME, 10)
        };
        NodeTable { name, bar, sum }
    }

    fn head(&self) -> Line {
        let (name, share) = (self.name, self.bar + 6);
        let head = format!(
            "{:<name$}{:>6}{:>9}  {:<share$}{:>12}",
            "NODE", "VISITS", "TIME", "SHARE", "IN→OUT"
        );
        Line::dim(&head)
    }

    fn row(&self, depth: usize, node: &NodeSum<'_>) -> Line {
        let tone = Tone::label(node.own_name());
        let indent = (2 * depth).min(self.name / 2);
        let mut row = Line::plain(&" ".repeat(indent));
        let name = if depth > 0 {
            node.own_name()
        } else {
            &node.name
        };
        row.push(tone, &text::seen(name, self.name - 1 - indent));
        pad(&mut row, self.name);
        let visits = node
            .activity
            .as_ref()
            .map_or_else(|| UNKNOWN.into(), |activity| text::count(activity.visits));
        let tilde = if node
            .activity
            .as_ref()
            .is_some_and(|activity| activity.is_estimated)
        {
            "~"
        } else {
            ""
        };
        let time = node
            .time()
            .map_or_else(|| UNKNOWN.into(), |time| format!("{tilde}{}", span(time)));
        row.push_plain(&format!("{visits:>6}{time:>9}  "));
        let is_in_sum = node.is_root() || depth > 0;
        if let Some(time) = node.time().filter(|_| is_in_sum && !self.sum.is_zero()) {
            let share = time.as_secs_f64() / self.sum.as_secs_f64();
            row.push(tone, &strip::bar(share, self.bar));
            let tone = if depth > 0 { Tone::Dim } else { Tone::Plain };
            row.push(tone, &format!(" {:.0}%", share * 100.0));
        }
        self.tokens(
            &mut row,
            Tone::Plain,
            node.output
                .map(|output| output.work.usage)
                .unwrap_or_default(),
        );
        row
    }

    fn total(&self, tone: Tone, name: &str, time: Option<Duration>, usage: Usage) -> Line {
        let mut row = Line::of(tone, name);
        pad(&mut row, self.name + 6);
        let time = time
            .filter(|time| !time.is_zero())
            .map(span)
            .unwrap_or_default();
        row.push(tone, &format!("{time:>9}"));
        self.tokens(&mut row, tone, usage);
        row
    }

    fn tokens(&self, row: &mut Line, tone: Tone, usage: Usage) {
        if usage.input + usage.output > 0 {
            let tokens = format!("{}→{}", short_count(usage.input), short_count(usage.output));
            pad(row, self.name + 6 + 9 + 2 + self.bar + 6);
            row.push(tone, &format!("{tokens:>12}"));
        }
    }
}
