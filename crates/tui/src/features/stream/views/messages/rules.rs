//! The rules between messages: where the messages loaded from the server's state begin, and how and when each run
//! ended.

use crate::features::stream::views::runs::{RunSummary, describe};
use crate::features::stream::views::{Clock, clock};
use crate::widgets::line::Line;
use crate::widgets::status::tones;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use runtail_core::config::Timestamps;
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::{Projections, RunEntry, Status};
use std::collections::HashMap;
use std::sync::Arc;

/// A rule between messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The following messages were loaded from the server's state.
    Loaded,
    /// A run ended; the value is its index in the list of runs.
    RunEnd(usize),
}

/// The positions of the rules, each in front of a message or after the last one.
#[derive(Debug, Default)]
pub struct RunRules {
    /// Sorted by the position of the message.
    placed: Vec<(u64, Rule)>,
    inputs: Option<RuleInputs>,
    /// The newest message of each run, and the message up to which this is known.
    newest: HashMap<Arc<str>, u64>,
    /// The oldest message of each run.
    oldest: HashMap<Arc<str>, u64>,
    scanned_up_to: u64,
}

/// The inputs that the positions depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RuleInputs {
    revision: u64,
    loaded: Option<Seq>,
    messages: (u64, u64),
    moves: u64,
}

impl RunRules {
    /// Updates the positions from the runs and the messages.
    pub fn prepare(&mut self, projections: &Projections) {
        let (status, messages) = (&projections.status, &projections.messages);
        let end = messages.evicted() + messages.items().len() as u64;
        let inputs = RuleInputs {
            revision: status.revision(),
            loaded: status.loaded().map(|loaded| loaded.seq),
            messages: (messages.evicted(), end),
            moves: messages.moves(),
        };
        let Some(before) = self.inputs.replace(inputs) else {
            return self.place(projections, end);
        };
        if before == inputs {
            return;
        }
        // A snapshot can add the run of an existing message.
        if (before.loaded, before.moves) != (inputs.loaded, inputs.moves)
            || end < self.scanned_up_to
        {
            self.newest.clear();
            self.oldest.clear();
            self.scanned_up_to = 0;
        }
        self.place(projections, end);
    }

    fn place(&mut self, projections: &Projections, end: u64) {
        let (status, messages) = (&projections.status, &projections.messages);
        let first = messages.evicted();
        let unseen =
            usize::try_from(self.scanned_up_to.saturating_sub(first)).unwrap_or(usize::MAX);
        for (key, message) in (first..).zip(messages.in_order()).skip(unseen) {
            if let Some(run) = &message.run_id {
                self.newest.insert(run.clone(), key);
                self.oldest.entry(run.clone()).or_insert(key);
            }
        }
        self.scanned_up_to = end;
        self.placed.clear();
        if status.loaded().is_some()
            && let Some(at) = messages.in_order().position(|message| message.is_loaded)
        {
            self.placed.push((first + at as u64, Rule::Loaded));
        }
        let oldest_later = self.oldest_later(status.runs());
        let mut from = first;
        for (i, run) in status
            .runs()
            .iter()
            .enumerate()
            .filter(|(_, run)| run.outcome.is_over())
        {
            let newest = run.run_id.as_ref().and_then(|id| self.newest.get(id));
            let streamed = || {
                let seq = run.first_seq.and(run.end_seq)?;
                let newest = messages
                    .in_order()
                    .rposition(|message| message.first_seq <= seq);
                Some(first + newest.map_or(0, |at| at as u64 + 1))
            };
            // Messages of unknown runs are assigned to the newest run.
            let unknown = if i + 1 == status.runs().len() {
                end
            } else {
                from
            };
            let key = newest
                .map(|key| key + 1)
                .or_else(streamed)
                .unwrap_or(unknown);
            let mut key = key.min(oldest_later[i]).max(from);
            // A tool result is shown with its call, even if another run produced it.
            while messages
                .at(key)
                .is_some_and(|message| messages.asked(message).is_some())
            {
                key += 1;
            }
            from = key;
            self.placed.push((key, Rule::RunEnd(i)));
        }
        // A run that ended in front of the loaded messages ends above their rule.
        self.placed
            .sort_by_key(|(key, rule)| (*key, (*rule == Rule::Loaded) == (*key > first)));
    }

    /// Returns, for each run, the oldest message of any later run; the largest key if there is none.
    fn oldest_later(&self, runs: &[RunEntry]) -> Vec<u64> {
        let mut oldest = u64::MAX;
        let mut later: Vec<u64> = runs
            .iter()
            .rev()
            .map(|run| {
                let of_later = oldest;
                let of_run = run.run_id.as_ref().and_then(|id| self.oldest.get(id));
                oldest = oldest.min(of_run.copied().unwrap_or(u64::MAX));
                of_later
            })
            .collect();
        later.reverse();
        later
    }

    /// Returns the number of rules in front of a message.
    pub fn count(&self, key: u64) -> usize {
        self.at(key).len()
    }

    fn at(&self, key: u64) -> &[(u64, Rule)] {
        let from = self.placed.partition_point(|(at, _)| *at < key);
        let count = self.placed[from..].partition_point(|(at, _)| *at == key);
        &self.placed[from..from + count]
    }

    /// Returns the rules in front of a message, each with its event.
    pub fn lines(
        &self,
        key: u64,
        projections: &Projections,
        width: usize,
        times: &RuleTimes<'_>,
    ) -> Vec<(Line, Seq)> {
        let status = &projections.status;
        let line = |rule: &Rule| match rule {
            Rule::Loaded => status
                .loaded()
                .map(|loaded| (loaded_rule(status, loaded.at, width, times.tz), loaded.seq)),
            Rule::RunEnd(i) => {
                let run = status.runs().get(*i)?;
                Some((
                    run_rule(run, projections, width, times),
                    run.end_seq.unwrap_or_default(),
                ))
            }
        };
        self.at(key)
            .iter()
            .filter_map(|(_, rule)| line(rule))
            .collect()
    }

    /// Returns the position of the rule for the run that ended with an event: the message, and the rule's index in
    /// front of it.
    pub fn spot_of(&self, status: &Status, seq: Seq) -> Option<(u64, usize)> {
        let ends_with = |rule: &Rule| match rule {
            Rule::RunEnd(i) => status
                .runs()
                .get(*i)
                .is_some_and(|run| run.first_seq.is_some() && run.end_seq == Some(seq)),
            Rule::Loaded => false,
        };
        let mut newest_first = self.placed.iter().rev();
        self.position_of(newest_first.find(|(_, rule)| ends_with(rule))?)
    }

    /// Returns the message that a rule is in front of, and the rule's index there.
    fn position_of(&self, (key, rule): &(u64, Rule)) -> Option<(u64, usize)> {
        let at = self.at(*key).iter().position(|(_, other)| other == rule)?;
        Some((*key, at))
    }

    /// Returns the index of the run that a rule in front of a message belongs to.
    pub fn run_at(&self, key: u64, line: usize) -> Option<usize> {
        match self.at(key).get(line)?.1 {
            Rule::RunEnd(i) => Some(i),
            Rule::Loaded => None,
        }
    }

    /// Returns the positions of run ends, in order.
    pub fn ends(&self) -> impl Iterator<Item = (u64, usize)> {
        let ends = |(_, rule): &&(u64, Rule)| matches!(rule, Rule::RunEnd(_));
        let ends = self.placed.iter().filter(ends);
        ends.filter_map(|placed| self.position_of(placed))
    }
}

/// How rules show times.
#[derive(Debug, Clone, Copy)]
pub struct RuleTimes<'a> {
    pub timestamps: Timestamps,
    /// The user's time zone.
    pub tz: &'a TimeZone,
    pub today: Date,
}

fn loaded_rule(status: &Status, at: Timestamp, width: usize, tz: &TimeZone) -> Line {
    let mut title = match status.as_of() {
        Some(_) => format!("── from the server's state · saved {} ", clock(at, tz)),
        None => format!("── from the server's state · loaded {} ", clock(at, tz)),
    };
    // Ended runs whose events the stream did not show.
    let mut unseen = status
        .runs()
        .iter()
        .filter(|run| run.is_recorded && run.outcome.is_over() && run.first_seq.is_none());
    if let Some(first) = unseen.next() {
        let never_stored =
            first.resumable == Some(false) && unseen.all(|run| run.resumable == Some(false));
        title.push_str(if never_stored {
            "· events not kept by the server "
        } else {
            "· events no longer available "
        });
    }
    filled(Line::dim(&text::fit(&title, width)), width)
}

/// Returns the rule of a run that ended.
pub fn run_rule(
    run: &RunEntry,
    projections: &Projections,
    width: usize,
    times: &RuleTimes<'_>,
) -> Line {
    let times = match times.timestamps {
        Timestamps::Absolute => Clock::Wall(times.tz, times.today),
        Timestamps::Relative | Timestamps::Delta => Clock::Since(run.began),
    };
    let at = clock(run.ended, &times);
    let room = width.saturating_sub(text::width(&at) + 4);
    let RunSummary {
        role,
        outcome,
        details,
    } = describe(run, projections);
    let mut line = Line::dim(&format!("── {} ", run.name())).with(tones(role).1, &outcome);
    for detail in details {
        let part = format!(" · {detail}");
        // Parts that don't fit are left to the Runs view.
        if line.width() + text::width(&part) <= room {
            line.push_dim(&part);
        }
    }
    line.push_dim(" ");
    filled(line, width.saturating_sub(text::width(&at) + 1)).with_dim(&format!(" {at}"))
}

/// Extends a rule to a width.
fn filled(mut line: Line, width: usize) -> Line {
    let missing = width.saturating_sub(line.width());
    line.push_dim(&"─".repeat(missing));
    line
}
