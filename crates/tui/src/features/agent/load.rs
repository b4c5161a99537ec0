//! The health of an agent server and its queue over the last minutes, as its page shows them.

use crate::widgets::line::{Line, Tone};
use crate::widgets::strip;
use jiff::Timestamp;
use runtail_api::{ServerHealth, ServerLoad};
use runtail_core::text;
use std::collections::VecDeque;

/// Seconds of a bucket, and the number of closed buckets in the strip.
const BUCKET: i64 = 10;
const BUCKETS: usize = 30;

/// What is known of a server's health.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownHealth {
    /// The newest report; `None` while there is none, or after a request failed.
    newest: Option<ServerHealth>,
    /// Whether a request has ended.
    is_known: bool,
    /// The buckets with a report of pending runs, oldest first: their numbers, and the most pending runs in each.
    buckets: VecDeque<(i64, u64)>,
    /// When the newest request ended.
    at: Option<Timestamp>,
}

impl KnownHealth {
    /// Adds a report; `None` for a failed request.
    pub fn take(&mut self, health: Option<ServerHealth>, at: Timestamp) {
        (self.newest, self.is_known, self.at) = (health, true, Some(at));
        let Some(pending) = health.and_then(|health| health.load?.pending) else {
            return;
        };
        let number = at.as_second().div_euclid(BUCKET);
        match self.buckets.back_mut() {
            Some((last, most)) if *last >= number => *most = pending.max(*most),
            _ => self.buckets.push_back((number, pending)),
        }
        // The open bucket is not drawn.
        let first = number - BUCKETS as i64;
        self.buckets.retain(|(number, _)| *number >= first);
    }

    /// Returns the line of the page's head: as much as fits, the queue first.
    pub(super) fn line(&self, software: &str, width: usize) -> Line {
        let software = (!software.is_empty()).then(|| (Tone::Dim, software.to_string()));
        if !self.is_known {
            return Line::joined(software);
        }
        let Some(health) = self.newest else {
            return Line::joined(
                std::iter::once((Tone::Dim, "? health unknown".to_string())).chain(software),
            );
        };
        if !health.is_offered() {
            let not_offered = (Tone::Dim, "health not offered".to_string());
            return Line::joined(std::iter::once(not_offered).chain(software));
        }
        let load = health.load.unwrap_or_default();
        let glyph = health.is_healthy.map(|is_healthy| match is_healthy {
            true => (Tone::Good, "●", "healthy"),
            false => (Tone::Bad, "✗", "unhealthy"),
        });
        let queue = queue(&load);
        let workers = load.workers.filter(|(active, _)| *active > 0);
        let workers = workers.map(|(active, all)| (Tone::Plain, format!("workers {active}/{all}")));
        // From the fullest to the shortest.
        let form = |has_word: bool, has_workers: bool, has_software: bool| {
            let parts = queue
                .iter()
                .cloned()
                .chain(workers.clone().filter(|_| has_workers));
            let rest = Line::joined(parts.chain(software.clone().filter(|_| has_software)));
            let Some((tone, glyph, word)) = glyph else {
                return rest;
            };
            let word = if has_word || tone == Tone::Bad {
                format!("{glyph} {word}")
            } else {
                glyph.to_string()
            };
            let mut line = Line::of(tone, &word[..glyph.len()]);
            line.push(
                if tone == Tone::Bad { tone } else { Tone::Plain },
                &word[glyph.len()..],
            );
            if !rest.left.is_empty() {
                line.push_dim(if has_word || tone == Tone::Bad {
                    " · "
                } else {
                    " "
                });
            }
            line.left.extend(rest.left);
            line
        };
        let forms = [
            form(true, true, true),
            form(true, true, false),
            form(false, true, false),
        ];
        let short = form(false, false, false);
        forms
            .into_iter()
            .find(|line| line.width() <= width)
            .unwrap_or(short)
    }

    /// Returns the strip of pending runs over the last minutes, with its numbers; empty if none waited.
    pub(super) fn strip(&self) -> Line {
        let most = self
            .buckets
            .iter()
            .map(|(_, pending)| *pending)
            .max()
            .unwrap_or(0);
        let (Some(at), Some((first, _))) = (self.at, self.buckets.front()) else {
            return Line::new();
        };
        if most == 0 {
            return Line::new();
        }
        let end = at.as_second().div_euclid(BUCKET);
        let cells = (*first.max(&(end - BUCKETS as i64))..end).map(|number| {
            let bucket = self.buckets.iter().find(|(known, _)| *known == number);
            bucket.map(|(_, pending)| *pending)
        });
        let cells: Vec<Option<u64>> = cells.collect();
        if cells.is_empty() {
            return Line::new();
        }
        let span = text::duration(std::time::Duration::from_secs(
            cells.len() as u64 * BUCKET as u64,
        ));
        let mut line = Line::dim("pending ");
        line.push_plain(&strip::strip(cells, most));
        line.push_dim(&format!(" {span}, at most {}", text::count(most)));
        line
    }
}

fn queue(load: &ServerLoad) -> Vec<(Tone, String)> {
    let mut parts = Vec::new();
    if let Some(running) = load.running.filter(|running| *running > 0) {
        parts.push((Tone::Plain, format!("{} running", text::count(running))));
    }
    if let Some(pending) = load.pending.filter(|pending| *pending > 0) {
        let oldest = load
            .oldest
            .map(|age| format!(", oldest {}", text::age(age)))
            .unwrap_or_default();
        parts.push((
            Tone::Plain,
            format!("{} pending{oldest}", text::count(pending)),
        ));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn report(pending: u64) -> Option<ServerHealth> {
        let load = ServerLoad {
            pending: Some(pending),
            running: Some(3),
            oldest: (pending > 0).then(|| Duration::from_secs(40)),
            workers: Some((8, 10)),
        };
        Some(ServerHealth {
            is_healthy: Some(true),
            load: Some(load),
        })
    }

    #[test]
    fn the_queue_is_shown_first_where_there_is_little_room() {
        let mut health = KnownHealth::default();
        assert_eq!(
            health.line("langgraph-api 0.16.7", 99).text(),
            "langgraph-api 0.16.7"
        );
        health.take(report(12), at(0));
        let line = |width| health.line("langgraph-api 0.16.7", width).text();
        let full =
            "● healthy · 3 running · 12 pending, oldest 40s · workers 8/10 · langgraph-api 0.16.7";
        assert_eq!(line(99), full);
        assert_eq!(
            line(70),
            "● healthy · 3 running · 12 pending, oldest 40s · workers 8/10"
        );
        assert_eq!(
            line(52),
            "● 3 running · 12 pending, oldest 40s · workers 8/10"
        );
        assert_eq!(line(10), "● 3 running · 12 pending, oldest 40s");
    }

    #[test]
    fn health_that_is_unknown_or_not_offered_is_no_fault() {
        let mut health = KnownHealth::default();
        health.take(Some(ServerHealth::default()), at(0));
        assert_eq!(health.line("", 99).text(), "health not offered");
        health.take(None, at(5));
        assert_eq!(health.line("Aegra", 99).text(), "? health unknown · Aegra");
        health.take(
            Some(ServerHealth {
                is_healthy: Some(false),
                load: None,
            }),
            at(9),
        );
        let line = health.line("Aegra", 10);
        assert_eq!(
            (line.text().as_str(), line.left[0].tone),
            ("✗ unhealthy", Tone::Bad)
        );
        // Without pending runs there is no strip.
        health.take(report(0), at(10));
        assert_eq!(health.strip().text(), "");
    }

    #[test]
    fn the_strip_shows_closed_buckets_and_gaps() {
        let mut health = KnownHealth::default();
        for (second, pending) in [(0, 1), (5, 4), (12, 2), (40, 0), (52, 8)] {
            health.take(report(pending), at(second));
        }
        // The last bucket is open, and two have no report.
        assert_eq!(health.strip().text(), "pending ▅▃╌╌▁ 50s, at most 8");
        // Bounded.
        (0..10_000).for_each(|n| health.take(report(1), at(60 + n * 5)));
        assert!(health.buckets.len() <= BUCKETS + 1);
        assert_eq!(health.strip().text().matches('▇').count(), BUCKETS);
    }
}
