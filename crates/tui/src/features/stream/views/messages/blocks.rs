//! The lines of messages, rendered on demand for a width and cached until a message changes. A tool result is shown
//! under its call and has no lines of its own. Rules between messages belong to the message after them; an extra entry
//! after the last message holds the rules that no message follows.

use super::message::{Body, MessageContext, Segment, Unanswered, segments};
use super::rules::{RuleTimes, RunRules};
use crate::features::stream::views::Clock;
use crate::session::prefs::ViewPrefs;
use crate::widgets::line::{Line, Piece, Tone};
use crate::widgets::markdown::Measure;
use crate::widgets::scroll::{LinePos, Place, ScrollList};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use runtail_core::config::Timestamps;
use runtail_core::model::{Action, Question};
use runtail_stream::Seq;
use runtail_stream::projection::{Message, Messages, Projections, Role};
use std::cell::RefCell;
use std::collections::HashMap;

/// Maximum number of messages with cached lines, far more than a screen shows.
const MAX_CACHED: usize = 400;
/// Maximum number of messages checked to find the one that an event changed, or to decide whether a call can still be
/// answered.
const MAX_CHECKED: usize = 64;

/// The lines of one message.
#[derive(Debug)]
struct Block {
    inputs: BlockInputs,
    segments: Vec<Segment>,
}

/// The inputs of a block's layout.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BlockInputs {
    rev: u32,
    /// The combined version of the results of its calls.
    answers: u64,
    rewrites: u32,
    first: bool,
    writing: bool,
    unanswered: Unanswered,
    /// The version of the status with the open questions; 0 if none is open.
    questions: u64,
    /// The number of rules in front of the message, and the versions of the status and of the order that they were made for.
    rules: (usize, u64, u64),
}

/// A position in a message that does not depend on its layout: the segment, and the byte of a text or the line in the
/// segment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LogicalPosition {
    segment: usize,
    within: (usize, usize),
}

impl Block {
    fn height(&self) -> usize {
        self.segments.iter().map(Segment::height).sum()
    }

    /// Returns the layout-independent position of a line.
    fn position_of(&self, line: usize) -> Option<LogicalPosition> {
        let (segment, at) = self.at(line)?;
        let number = self
            .segments
            .iter()
            .position(|other| std::ptr::eq(other, segment))?;
        let within = match &segment.body {
            Body::Lines(lines) => (at, lines.len()),
            Body::Flow { flow, .. } => (flow.rows().get(at)?.1, 0),
        };
        Some(LogicalPosition {
            segment: number,
            within,
        })
    }

    fn line_of(&self, position: LogicalPosition) -> usize {
        let before: usize = self
            .segments
            .iter()
            .take(position.segment)
            .map(Segment::height)
            .sum();
        let within = match (
            self.segments
                .get(position.segment)
                .map(|segment| &segment.body),
            position.within,
        ) {
            (Some(Body::Lines(lines)), (at, of)) => at * lines.len() / of.max(1),
            (Some(Body::Flow { flow, .. }), (byte, _)) => {
                flow.rows().partition_point(|(_, at)| *at <= byte).max(1) - 1
            }
            (None, _) => 0,
        };
        before + within
    }

    /// Returns the segment with a line, and the line's index in it.
    fn at(&self, line: usize) -> Option<(&Segment, usize)> {
        let mut left = line;
        self.segments
            .iter()
            .find_map(|segment| match left.checked_sub(segment.height()) {
                Some(rest) => {
                    left = rest;
                    None
                }
                None => Some((segment, left)),
            })
    }
}

/// The lines of all messages. Keys are positions in the order of messages, counting evicted ones.
#[derive(Debug)]
pub struct Blocks {
    /// Whether code is wrapped; otherwise it is truncated.
    wrap: bool,
    timestamps: Timestamps,
    /// By the number of the message, which it keeps when messages move.
    cached: RefCell<HashMap<u64, Block>>,
    /// How often messages had moved, and the messages at the window's top and at the cursor then.
    moves: u64,
    anchors: [(u64, Option<u64>); 2],
    measure: Measure,
    /// The positions of the window's top and of the cursor at the last change of the width, so that undoing the change
    /// restores them.
    saved_positions: [Option<(LinePos, LogicalPosition)>; 2],
    unanswered: Unanswered,
    tz: TimeZone,
    today: Date,
    rules: RunRules,
}

impl Default for Blocks {
    fn default() -> Self {
        let measure = Measure {
            width: 0,
            wrap: false,
        };
        Blocks {
            wrap: false,
            timestamps: Timestamps::default(),
            cached: RefCell::default(),
            moves: 0,
            anchors: [(0, None); 2],
            measure,
            saved_positions: [None; 2],
            unanswered: Unanswered::default(),
            tz: TimeZone::UTC,
            today: Date::ZERO,
            rules: RunRules::default(),
        }
    }
}

impl Blocks {
    /// Sets the width of the lines; the scroll position keeps its relative place in the message. Returns whether messages
    /// moved, so that their keys changed.
    pub fn prepare(
        &mut self,
        projections: &Projections,
        unanswered: Unanswered,
        width: usize,
        (tz, today): (&TimeZone, Date),
        place: &mut Place,
    ) -> bool {
        let messages = &projections.messages;
        let has_moved = std::mem::replace(&mut self.moves, messages.moves()) != messages.moves();
        if has_moved {
            for (spot, (key, number)) in [&mut place.top, &mut place.cursor]
                .into_iter()
                .zip(self.anchors)
            {
                if spot.key == key {
                    let end = messages.evicted() + messages.items().len() as u64;
                    spot.key =
                        number.map_or(end, |number| messages.position_of(number).unwrap_or(key));
                }
            }
        }
        let measure = Measure {
            width,
            wrap: self.wrap,
        };
        (self.unanswered, self.tz) = (unanswered, tz.clone());
        if std::mem::replace(&mut self.today, today) != today {
            self.cached.get_mut().clear();
        }
        self.rules.prepare(projections);
        let near = |key: u64| {
            key.abs_diff(place.top.key)
                .min(key.abs_diff(place.cursor.key))
                <= MAX_CACHED as u64 / 4
        };
        if self.cached.get_mut().len() > MAX_CACHED {
            self.cached
                .get_mut()
                .retain(|number, _| projections.messages.position_of(*number).is_some_and(near));
        }
        if measure != self.measure {
            self.measure_again(projections, measure, place);
        }
        self.anchors =
            [place.top, place.cursor].map(|spot| (spot.key, messages.number_at(spot.key)));
        has_moved
    }

    /// Uses another width. The scroll position keeps its relative place in the message.
    fn measure_again(&mut self, projections: &Projections, measure: Measure, place: &mut Place) {
        let cached = std::mem::take(self.cached.get_mut());
        self.measure = measure;
        let mut saved_positions = self.saved_positions;
        for (spot, saved) in [&mut place.top, &mut place.cursor]
            .into_iter()
            .zip(&mut saved_positions)
        {
            let known = saved
                .filter(|(at, _)| at == spot)
                .map(|(_, position)| position);
            let position = known.or_else(|| {
                let number = projections.messages.number_at(spot.key)?;
                cached.get(&number)?.position_of(spot.line)
            });
            if let Some(position) = position {
                spot.line = self
                    .with(projections, spot.key, |block| block.line_of(position))
                    .unwrap_or(spot.line);
            }
            *saved = position.map(|position| (*spot, position));
        }
        self.saved_positions = saved_positions;
    }

    /// Applies the user's display options.
    pub fn apply_prefs(&mut self, prefs: &ViewPrefs) {
        self.wrap = prefs.wrap;
        if std::mem::replace(&mut self.timestamps, prefs.timestamps) != prefs.timestamps {
            self.cached.get_mut().clear();
        }
    }

    /// Drops the layout of another log.
    pub fn forget(&mut self) {
        *self = Blocks {
            wrap: self.wrap,
            timestamps: self.timestamps,
            ..Blocks::default()
        };
    }

    /// Returns the clock of a message: since its run began, or since the previous message.
    fn clock<'a>(&'a self, projections: &Projections, key: u64, message: &Message) -> Clock<'a> {
        match self.timestamps {
            Timestamps::Absolute => Clock::Wall(&self.tz, self.today),
            Timestamps::Relative => Clock::Since(
                projections
                    .metrics
                    .run_at(message.first_seq)
                    .and_then(|run| run.start()),
            ),
            Timestamps::Delta => {
                let before = key
                    .checked_sub(1)
                    .and_then(|before| projections.messages.at(before));
                Clock::Since(before.and_then(|message| message.started_at))
            }
        }
    }

    /// Returns the messages as a list of lines.
    pub fn shown<'a>(&'a self, projections: &'a Projections) -> Shown<'a> {
        Shown {
            blocks: self,
            projections,
        }
    }

    /// Passes the block of a message to a function, after rendering it if it is missing or outdated.
    fn with<T>(
        &self,
        projections: &Projections,
        key: u64,
        read: impl FnOnce(&Block) -> T,
    ) -> Option<T> {
        let messages = &projections.messages;
        let number = messages.number_at(key)?;
        let message = messages.get(number)?;
        let answers = message
            .tool_calls
            .iter()
            .filter_map(|call| messages.answer(call));
        let rules = self.rules.count(key);
        let active = self.unanswered == Unanswered::Running;
        let unanswered = match may_be_answered(messages, key, message) {
            true => self.unanswered,
            false => Unanswered::Missing,
        };
        let is_waiting = unanswered == Unanswered::Waiting;
        let inputs = BlockInputs {
            rev: message.rev,
            answers: answers.map(|answer| 1 + u64::from(answer.rev)).sum(),
            rewrites: message.rewrites,
            first: key == messages.evicted(),
            writing: active && !message.complete,
            unanswered,
            questions: if is_waiting {
                projections.status.revision()
            } else {
                0
            },
            rules: if rules > 0 {
                (rules, projections.status.revision(), messages.moves())
            } else {
                (0, 0, 0)
            },
        };
        let mut cached = self.cached.borrow_mut();
        let old = cached.remove(&number);
        let block = match old {
            Some(block) if block.inputs == inputs => block,
            old => {
                // A text that only grew is extended from its previous layout.
                let grown = old.filter(|old| old.inputs.rewrites == inputs.rewrites);
                let asked = if is_waiting {
                    asked(projections)
                } else {
                    Vec::new()
                };
                let context = MessageContext {
                    messages,
                    number,
                    // There is no blank line between a rule and the message after it.
                    first: inputs.first || rules > 0,
                    writing: inputs.writing,
                    unanswered: inputs.unanswered,
                    asked: &asked,
                    measure: self.measure,
                    clock: self.clock(projections, key, message),
                };
                let old = grown.map(|old| old.segments).unwrap_or_default();
                let rules = self.rule_lines(projections, key);
                let head = (!rules.is_empty()).then_some(Segment {
                    of: None,
                    body: Body::Lines(rules),
                });
                Block {
                    inputs,
                    segments: head
                        .into_iter()
                        .chain(segments(message, &context, old))
                        .collect(),
                }
            }
        };
        Some(read(cached.entry(number).insert_entry(block).get()))
    }

    /// Returns the rules in front of a message.
    fn rule_lines(&self, projections: &Projections, key: u64) -> Vec<(Line, Seq)> {
        let times = RuleTimes {
            timestamps: self.timestamps,
            tz: &self.tz,
            today: self.today,
        };
        self.rules
            .lines(key, projections, self.measure.width, &times)
    }

    /// Returns the index of the run whose end a line shows.
    pub fn run_at(&self, spot: LinePos) -> Option<usize> {
        self.rules.run_at(spot.key, spot.line)
    }

    /// Returns the positions of run ends, in order.
    pub fn run_ends(&self) -> impl Iterator<Item = LinePos> {
        self.rules.ends().map(|(key, line)| LinePos { key, line })
    }

    /// Returns one line.
    pub fn line(&self, projections: &Projections, spot: LinePos) -> Line {
        let Some(message) = projections.messages.at(spot.key) else {
            let rule = self
                .rule_lines(projections, spot.key)
                .into_iter()
                .nth(spot.line);
            return rule.map(|(line, _)| line).unwrap_or_default();
        };
        let line = self.with(projections, spot.key, |block| {
            let (segment, at) = block.at(spot.line)?;
            let mut line = segment.line(at);
            let is_last = spot.line + 1 == block.height();
            if is_last && block.inputs.writing && line.width() < self.measure.width {
                line.left.push(Piece {
                    text: "▏".into(),
                    tone: Tone::Accent,
                });
            }
            Some(line)
        });
        let mut line = line.flatten().unwrap_or_default();
        if message.removed_at.is_some() {
            line.left
                .iter_mut()
                .chain(&mut line.right)
                .for_each(|piece| piece.tone = Tone::Dim);
        }
        line
    }

    /// Returns the event that produced a line.
    pub fn seq_at(&self, projections: &Projections, spot: LinePos) -> Option<Seq> {
        let Some(message) = projections.messages.at(spot.key) else {
            return self
                .rule_lines(projections, spot.key)
                .get(spot.line)
                .map(|(_, seq)| *seq);
        };
        let seq = self.with(projections, spot.key, |block| {
            block.at(spot.line).map(|(part, at)| part.seq(message, at))
        });
        seq.flatten().or(Some(message.last_seq))
    }

    /// Returns the message that a line belongs to. A tool result is shown within the message of its call.
    pub fn message_at<'a>(
        &self,
        projections: &'a Projections,
        spot: LinePos,
    ) -> Option<&'a Message> {
        let of = self.with(projections, spot.key, |block| {
            block.at(spot.line).map(|(segment, _)| segment.of)
        });
        // A rule belongs to no message.
        projections.messages.get(
            of.flatten()
                .unwrap_or_else(|| projections.messages.number_at(spot.key))?,
        )
    }

    /// Returns the line that an event produced, or the line before it.
    pub fn spot_of(&self, projections: &Projections, seq: Seq) -> LinePos {
        if let Some((key, line)) = self.rules.spot_of(&projections.status, seq) {
            return LinePos { key, line };
        }
        let messages = &projections.messages;
        let items = messages.items();
        let after = items.partition_point(|m| m.first_seq <= seq);
        // Parallel branches write several messages at once: prefer the one that this event changed, else the newest.
        let near = items[..after].iter().enumerate().rev().take(MAX_CHECKED);
        let written = |m: &Message| {
            m.last_seq == seq
                || m.spans.has(seq)
                || m.reasoning_spans.has(seq)
                || m.tool_calls.iter().any(|call| call.seq == seq)
        };
        let at = near
            .clone()
            .find(|(_, m)| written(m))
            .map_or(after.saturating_sub(1), |(i, _)| i);
        let number = messages.evicted() + at as u64;
        let Some(message) = messages.get(number) else {
            return LinePos::default();
        };
        let shown = if messages.asked(message).is_some() {
            message.call_message.unwrap_or(number)
        } else {
            number
        };
        let key = messages.position_of(shown).unwrap_or(shown);
        let Some(asking) = messages.get(shown) else {
            return LinePos { key, line: 0 };
        };
        let line = self.with(projections, key, |block| {
            let (mut line, mut found) = (0, None);
            for segment in &block.segments {
                for at in 0..segment.height() {
                    if segment.of == Some(number)
                        && (found.is_none() || segment.seq(asking, at) <= seq)
                    {
                        found = Some(line);
                    }
                    line += 1;
                }
            }
            found.unwrap_or(0)
        });
        LinePos {
            key,
            line: line.unwrap_or(0),
        }
    }
}

/// Returns whether a call of the message can still be answered, which is the case until another message follows.
fn may_be_answered(messages: &Messages, key: u64, message: &Message) -> bool {
    if message.tool_calls.iter().all(|call| call.answer.is_some()) {
        return false;
    }
    let after = usize::try_from(key - messages.evicted())
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    let mut later = messages.in_order().skip(after).take(MAX_CHECKED);
    !later.any(|m| matches!(m.role, Role::Ai | Role::Human) && m.ns == message.ns)
}

/// Returns the actions that the open questions ask about; none if one of them asks something else.
fn asked(projections: &Projections) -> Vec<Action> {
    let actions: Vec<Vec<Action>> = projections
        .status
        .status()
        .questions()
        .iter()
        .map(Question::actions)
        .collect();
    if actions.iter().any(Vec::is_empty) {
        Vec::new()
    } else {
        actions.concat()
    }
}

/// The messages as a scrollable list.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    blocks: &'a Blocks,
    projections: &'a Projections,
}

impl Shown<'_> {
    /// Returns the message that shows a tool result under its call.
    pub fn call_message(&self, key: u64) -> Option<u64> {
        let messages = &self.projections.messages;
        let message = messages.at(key)?;
        messages.position_of(messages.asked(message).and(message.call_message)?)
    }

    /// Returns the number of lines of a message that is not shown under a call.
    pub fn own_height(&self, key: u64) -> usize {
        self.blocks
            .with(self.projections, key, Block::height)
            .unwrap_or(0)
    }
}

impl ScrollList for Shown<'_> {
    fn first(&self) -> u64 {
        self.projections.messages.evicted()
    }
    fn end(&self) -> u64 {
        self.projections.messages.evicted() + self.projections.messages.items().len() as u64 + 1
    }
    fn height(&self, key: u64) -> usize {
        if self.projections.messages.at(key).is_none() {
            return self.blocks.rules.count(key);
        }
        if self.call_message(key).is_some() {
            0
        } else {
            self.own_height(key)
        }
    }
}

impl Segment {
    /// Returns the number of lines.
    pub(crate) fn height(&self) -> usize {
        match &self.body {
            Body::Lines(lines) => lines.len(),
            Body::Flow { flow, .. } => flow.rows().len(),
        }
    }

    fn line(&self, at: usize) -> Line {
        match &self.body {
            Body::Lines(lines) => lines
                .get(at)
                .map(|(line, _)| line.clone())
                .unwrap_or_default(),
            Body::Flow { flow, indent, .. } => {
                let mut line = flow
                    .rows()
                    .get(at)
                    .map(|(line, _)| line.clone())
                    .unwrap_or_default();
                if *indent > 0 && !line.left.is_empty() {
                    line.left.insert(
                        0,
                        Piece {
                            text: " ".repeat(*indent),
                            tone: Tone::Plain,
                        },
                    );
                }
                line
            }
        }
    }

    /// Returns the event that produced a line of `message`.
    fn seq(&self, message: &Message, at: usize) -> Seq {
        match &self.body {
            Body::Lines(lines) => lines.get(at).map_or(message.first_seq, |(_, seq)| *seq),
            Body::Flow {
                flow,
                from,
                is_reasoning,
                ..
            } => {
                let byte = from + flow.rows().get(at).map_or(0, |(_, at)| *at);
                if *is_reasoning {
                    message.reasoning_seq(byte)
                } else {
                    message.text_seq(byte)
                }
            }
        }
    }
}
