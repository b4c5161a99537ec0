//! The rules between messages: where what was loaded from the server's state begins, and how and when each run ended.

use super::runs;
use super::runs::RunWords;
use super::{Clock, clock};
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::tones;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use runtail_core::config::Timestamps;
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::{Projections, RunEntry, Status};
use std::collections::HashMap;
use std::sync::Arc;

/// What a rule tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// What follows was loaded from the server's state.
    Loaded,
    /// A run ended: its place in the list of runs.
    RunEnd(usize),
}

/// Where the rules are: each in front of a message, by its number, or behind the last one.
#[derive(Debug, Default)]
pub struct RunRules {
    /// In order.
    placed: Vec<(u64, Rule)>,
    made_for: Option<MadeFor>,
    /// The newest message of each run, and up to which message that was looked for.
    newest: HashMap<Arc<str>, u64>,
    /// The oldest message of each run.
    oldest: HashMap<Arc<str>, u64>,
    looked_up_to: u64,
}

/// What the places depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MadeFor {
    revision: u64,
    loaded: Option<Seq>,
    messages: (u64, u64),
}

impl RunRules {
    /// Brings the places in line with the runs and the messages.
    pub fn prepare(&mut self, projections: &Projections) {
        let (status, messages) = (&projections.status, &projections.messages);
        let end = messages.evicted() + messages.items().len() as u64;
        let made_for = MadeFor {
            revision: status.revision(),
            loaded: status.loaded().map(|loaded| loaded.seq),
            messages: (messages.evicted(), end),
        };
        let Some(before) = self.made_for.replace(made_for) else { return self.place(projections, end) };
        if before == made_for {
            return;
        }
        // A snapshot may tell of messages that are there which run wrote them.
        if before.loaded != made_for.loaded || end < self.looked_up_to {
            self.newest.clear();
            self.oldest.clear();
            self.looked_up_to = 0;
        }
        self.place(projections, end);
    }

    fn place(&mut self, projections: &Projections, end: u64) {
        let (status, messages) = (&projections.status, &projections.messages);
        let first = messages.evicted();
        let unseen = usize::try_from(self.looked_up_to.saturating_sub(first)).unwrap_or(usize::MAX);
        for (key, message) in (first..).zip(messages.items()).skip(unseen) {
            if let Some(run) = &message.run_id {
                self.newest.insert(run.clone(), key);
                self.oldest.entry(run.clone()).or_insert(key);
            }
        }
        self.looked_up_to = end;
        self.placed.clear();
        if status.loaded().is_some()
            && let Some(at) = messages.items().iter().position(|message| message.is_loaded)
        {
            self.placed.push((first + at as u64, Rule::Loaded));
        }
        let oldest_later = self.oldest_later(status.runs());
        let mut from = first;
        for (i, run) in status.runs().iter().enumerate().filter(|(_, run)| run.outcome.is_over()) {
            let newest = run.run_id.as_ref().and_then(|id| self.newest.get(id));
            let streamed = || {
                let seq = run.first_seq.and(run.end_seq)?;
                Some(first + messages.items().partition_point(|message| message.first_seq <= seq) as u64)
            };
            // Messages of unknown runs are taken for those of the newest run.
            let unknown = if i + 1 == status.runs().len() { end } else { from };
            let key = newest.map(|key| key + 1).or_else(streamed).unwrap_or(unknown);
            let mut key = key.min(oldest_later[i]).max(from);
            // A tool's answer is shown with its call, even where another run brought it.
            while messages.get(key).is_some_and(|message| messages.asked(message).is_some()) {
                key += 1;
            }
            from = key;
            self.placed.push((key, Rule::RunEnd(i)));
        }
        self.placed.sort_by_key(|(key, rule)| (*key, *rule != Rule::Loaded));
    }

    /// For each run, the oldest message of any later run; the largest key if there is none.
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

    /// How many rules are in front of a message.
    pub fn count(&self, key: u64) -> usize {
        self.at(key).len()
    }

    fn at(&self, key: u64) -> &[(u64, Rule)] {
        let from = self.placed.partition_point(|(at, _)| *at < key);
        let count = self.placed[from..].partition_point(|(at, _)| *at == key);
        &self.placed[from..from + count]
    }

    /// The rules in front of a message, each with the event that tells of it.
    pub fn lines(&self, key: u64, projections: &Projections, width: usize, times: &Told<'_>) -> Vec<(Line, Seq)> {
        let status = &projections.status;
        let line = |rule: &Rule| match rule {
            Rule::Loaded => status.loaded().map(|loaded| (loaded_rule(status, loaded.at, width, times.tz), loaded.seq)),
            Rule::RunEnd(i) => {
                let run = status.runs().get(*i)?;
                Some((run_rule(run, projections, width, times), run.end_seq.unwrap_or_default()))
            }
        };
        self.at(key).iter().filter_map(|(_, rule)| line(rule)).collect()
    }

    /// Where the end of the run is told that ended with an event: the message, and the rule in front of it.
    pub fn spot_of(&self, status: &Status, seq: Seq) -> Option<(u64, usize)> {
        let ends_with = |rule: &Rule| match rule {
            Rule::RunEnd(i) => {
                status.runs().get(*i).is_some_and(|run| run.first_seq.is_some() && run.end_seq == Some(seq))
            }
            Rule::Loaded => false,
        };
        let (key, rule) = self.placed.iter().rev().find(|(_, rule)| ends_with(rule))?;
        Some((*key, self.at(*key).iter().position(|(_, other)| other == rule)?))
    }

    /// Where the newest end of a run up to an event is told, else the first one.
    pub fn nearest(&self, status: &Status, seq: Seq) -> Option<(u64, usize)> {
        let is_before = |(key, line): &(u64, usize)| {
            let run = self.run_at(*key, *line).and_then(|run| status.runs().get(run));
            run.is_some_and(|run| run.end_seq.is_some_and(|end| end <= seq))
        };
        self.ends().filter(is_before).last().or_else(|| self.ends().next())
    }

    /// The run that a rule in front of a message is of: its place in the list of runs.
    pub fn run_at(&self, key: u64, line: usize) -> Option<usize> {
        match self.at(key).get(line)?.1 {
            Rule::RunEnd(i) => Some(i),
            Rule::Loaded => None,
        }
    }

    /// Where runs end: the message and the rule in front of it, in order.
    pub fn ends(&self) -> impl Iterator<Item = (u64, usize)> {
        let of = |(key, rule): &(u64, Rule)| {
            let line = self.at(*key).iter().position(|(_, other)| other == rule)?;
            matches!(rule, Rule::RunEnd(_)).then_some((*key, line))
        };
        self.placed.iter().filter_map(of)
    }
}

/// How times are told in rules.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// As the person wants them.
    pub timestamps: Timestamps,
    /// The person's zone.
    pub tz: &'a TimeZone,
}

fn loaded_rule(status: &Status, at: Timestamp, width: usize, tz: &TimeZone) -> Line {
    let mut said = format!("── from the server's state · loaded {} ", clock(at, tz));
    // Runs whose events the stream has not shown, though they are over.
    let mut unseen =
        status.runs().iter().filter(|run| run.is_recorded && run.outcome.is_over() && run.first_seq.is_none());
    if let Some(first) = unseen.next() {
        let never_kept = first.resumable == Some(false) && unseen.all(|run| run.resumable == Some(false));
        said.push_str(if never_kept {
            "· the server doesn't keep the events of these runs "
        } else {
            "· the server no longer replays these runs "
        });
    }
    filled(Line::of(Tone::Dim, &text::fit(&said, width)), width)
}

fn run_rule(run: &RunEntry, projections: &Projections, width: usize, times: &Told<'_>) -> Line {
    let times = match times.timestamps {
        Timestamps::Absolute => Clock::Wall(times.tz),
        Timestamps::Relative | Timestamps::Delta => Clock::Since(run.began),
    };
    let at = clock(run.ended, &times);
    let room = width.saturating_sub(text::width(&at) + 4);
    let RunWords { role, outcome, details } = runs::words(run, projections);
    let mut line = Line::of(Tone::Dim, &format!("── {} ", run.name())).with(tones(role).1, &outcome);
    for detail in details {
        let part = format!(" · {detail}");
        // What there is no room for is in the list of runs.
        if line.width() + text::width(&part) <= room {
            line.push(Tone::Dim, &part);
        }
    }
    line.push(Tone::Dim, " ");
    filled(line, width.saturating_sub(text::width(&at) + 1)).with(Tone::Dim, &format!(" {at}"))
}

/// A rule up to a width.
fn filled(mut line: Line, width: usize) -> Line {
    let missing = width.saturating_sub(line.width());
    line.push(Tone::Dim, &"─".repeat(missing));
    line
}
