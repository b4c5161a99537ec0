//! The lines of the Messages view.

use crate::features::stream::views::{Clock, clock, first_token, place_of};
use crate::widgets::line::{Line, Tone, marked, wrap};
use crate::widgets::markdown::{Flow, Measure};
use crate::widgets::status::precise;
use runtail_core::json;
use runtail_core::model::Action;
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::{Message, Messages, Part, Role, ToolCall, Usage};
use serde_json::Value;
use std::sync::Arc;

/// Maximum lines of a tool result; the rest is in its details.
const MAX_TOOL_LINES: usize = 6;
/// Maximum lines of a call's arguments.
const MAX_ARGS_LINES: usize = 12;
/// Maximum size of arguments that are laid out as JSON.
const MAX_ARGS: usize = 64 * 1024;
/// Bytes shown at the start and at the end of a longer text.
const WINDOW: usize = 128 * 1024;
/// The visible end moves in steps, so that it is rarely laid out again.
const STEP: usize = WINDOW / 2;

/// A part of a message's lines.
#[derive(Debug)]
pub struct Segment {
    /// The number of its message; `None` for rules between messages.
    pub of: Option<u64>,
    pub body: Body,
}

/// Fixed lines, or a text that can still grow.
#[derive(Debug)]
pub enum Body {
    /// Each line with the event that produced it.
    Lines(Vec<(Line, Seq)>),
    /// A part of the message's text or reasoning.
    Flow {
        flow: Flow,
        /// The offset of its first byte.
        from: usize,
        /// Whether it is reasoning.
        is_reasoning: bool,
        /// Indentation in columns.
        indent: usize,
    },
}

/// Why a call has no result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unanswered {
    /// The run is active.
    Running,
    /// The thread is waiting for an answer.
    Waiting,
    /// The run failed.
    Failed,
    /// A checkpoint is shown, and the call ran after it.
    Later,
    /// No result was received, and none will be.
    #[default]
    Missing,
}

/// The context in which a message is laid out.
pub struct MessageContext<'a> {
    pub messages: &'a Messages,
    /// The message's number.
    pub number: u64,
    /// Whether it is the first message; the others have a blank line in front.
    pub first: bool,
    /// Whether it is still being written.
    pub writing: bool,
    /// The status of its calls without a result.
    pub unanswered: Unanswered,
    /// The actions that the open questions ask about; none if a question asks something else, so that its calls are not known.
    pub asked: &'a [Action],
    pub measure: Measure,
    pub clock: Clock<'a>,
}

/// Lays out a message. `old` is its layout when it was shorter.
pub fn segments(
    message: &Message,
    context: &MessageContext<'_>,
    old: Vec<Segment>,
) -> Vec<Segment> {
    let flows = old.into_iter().filter_map(|segment| match segment.body {
        Body::Flow {
            flow,
            from,
            is_reasoning,
            ..
        } => Some((from, is_reasoning, flow)),
        Body::Lines(_) => None,
    });
    let is_exact = |call: &ToolCall| {
        let mut named = context
            .asked
            .iter()
            .filter(|action| action.name == call.name)
            .peekable();
        named.peek().is_some()
            && json::from_str::<Value>(&call.args)
                .is_ok_and(|args| named.any(|action| action.args == args))
    };
    let exact = match context.asked {
        [] => Vec::new(),
        _ => message.tool_calls.iter().map(is_exact).collect(),
    };
    let mut layout = MessageLayout {
        context,
        message,
        exact,
        flows: flows.collect(),
        out: Vec::new(),
    };
    layout.message();
    layout.out
}

struct MessageLayout<'a> {
    context: &'a MessageContext<'a>,
    message: &'a Message,
    /// For each call, whether an open question shows it with the same arguments.
    exact: Vec<bool>,
    flows: Vec<(usize, bool, Flow)>,
    out: Vec<Segment>,
}

impl MessageLayout<'_> {
    fn message(&mut self) {
        let (message, width) = (self.message, self.context.measure.width);
        if message.role == Role::Tool {
            let lines = result(message, None, width);
            return self.lines(lines);
        }
        let mut lines = Vec::new();
        if !self.context.first {
            lines.push((Line::new(), message.first_seq));
        }
        lines.push((heading(message, self.context), message.first_seq));
        self.lines(lines);
        for part in &message.parts {
            match part {
                Part::Text(range) => self.text(range.start, range.end, false),
                Part::Reasoning(range) => {
                    self.lines(vec![(
                        Line::dim("thinking"),
                        message.reasoning_seq(range.start),
                    )]);
                    self.text(range.start, range.end, true);
                }
                Part::Note { range, .. } => {
                    let note = message.text.get(range.clone()).unwrap_or_default();
                    self.lines(vec![(Line::dim(note), message.text_seq(range.start))]);
                }
                Part::Refusal(range) => {
                    let text = message.text.get(range.clone()).unwrap_or_default();
                    let rows = wrap(text::head(text, WINDOW), width.saturating_sub(2));
                    let lines = rows.iter().enumerate().map(|(i, row)| {
                        Line::bad(if i == 0 { "✗ " } else { "  " }).with_plain(row)
                    });
                    let title = Line::bad("the model declined:");
                    let seq = message.text_seq(range.start);
                    self.lines(
                        std::iter::once(title)
                            .chain(lines)
                            .map(|line| (line, seq))
                            .collect(),
                    );
                }
                Part::Call(at) => {
                    if let Some(call) = message.tool_calls.get(*at) {
                        self.call(*at, call);
                    }
                }
            }
        }
        let sources = message.citations.iter().enumerate().map(|(i, source)| {
            let title = if source.title.is_empty() {
                String::new()
            } else {
                format!("{}  ", source.title)
            };
            let line = Line::dim(&format!("[{}] {title}{}", i + 1, source.url));
            (line, message.last_seq)
        });
        self.lines(sources.collect());
        if self.context.writing && message.parts.is_empty() {
            self.lines(vec![(Line::new(), message.first_seq)]);
        }
    }

    fn lines(&mut self, lines: Vec<(Line, Seq)>) {
        self.lines_of(self.context.number, lines);
    }

    fn lines_of(&mut self, of: u64, lines: Vec<(Line, Seq)>) {
        if !lines.is_empty() {
            self.out.push(Segment {
                of: Some(of),
                body: Body::Lines(lines),
            });
        }
    }

    /// Adds a range of text or reasoning. Only the start and the end of a very long range are laid out.
    fn text(&mut self, from: usize, to: usize, is_reasoning: bool) {
        let message = self.message;
        let text = if is_reasoning {
            &message.reasoning
        } else {
            &message.text
        };
        let Some(all) = text.get(from..to).filter(|all| !all.trim().is_empty()) else {
            return;
        };
        // Parts are already separated, so blank lines between them are dropped.
        let from = if from > 0 {
            from + all.len() - all.trim_start_matches('\n').len()
        } else {
            from
        };
        if to - from <= 2 * WINDOW {
            return self.flow(from, to, is_reasoning);
        }
        let head_end = boundary(text, from + WINDOW);
        let tail_start = boundary(text, from + (to - from - WINDOW) / STEP * STEP).max(head_end);
        self.flow(from, head_end, is_reasoning);
        let left_out = text::bytes((tail_start - head_end) as u64);
        let line = Line::dim(&format!(
            "… {left_out} of {} not shown; press s to save all",
            text::bytes((to - from) as u64)
        ));
        let seq = if is_reasoning {
            message.reasoning_seq(head_end)
        } else {
            message.text_seq(head_end)
        };
        self.lines(vec![(line, seq)]);
        self.flow(tail_start, to, is_reasoning);
    }

    fn flow(&mut self, from: usize, to: usize, is_reasoning: bool) {
        let Measure { width, wrap } = self.context.measure;
        let source = if is_reasoning {
            &self.message.reasoning
        } else {
            &self.message.text
        };
        let Some(source) = source.get(from..to) else {
            return;
        };
        let indent = if is_reasoning { 2 } else { 0 };
        let known = self
            .flows
            .iter()
            .position(|(at, kind, _)| (*at, *kind) == (from, is_reasoning));
        let mut flow = match known {
            Some(at) => self.flows.swap_remove(at).2,
            None if is_reasoning => Flow::plain(
                Measure {
                    width: width.saturating_sub(indent).max(1),
                    wrap,
                },
                Tone::Dim,
            ),
            None => Flow::markdown(self.context.measure),
        };
        flow.lay(source);
        self.out.push(Segment {
            of: Some(self.context.number),
            body: Body::Flow {
                flow,
                from,
                is_reasoning,
                indent,
            },
        });
    }

    /// Returns whether an open question is about a call. A graph can ask about some calls of a message only.
    fn is_asked(&self, at: usize, call: &ToolCall) -> bool {
        let is_exact = |at: usize| self.exact.get(at).is_some_and(|exact| *exact);
        let is_named = || {
            self.context
                .asked
                .iter()
                .any(|action| action.name == call.name)
        };
        let mut others = self
            .message
            .tool_calls
            .iter()
            .enumerate()
            .filter(|(_, other)| other.name == call.name);
        // A question may show the arguments in another form.
        self.context.asked.is_empty()
            || is_exact(at)
            || is_named() && !others.any(|(at, _)| is_exact(at))
    }

    /// Adds a tool call and its result.
    fn call(&mut self, at: usize, call: &ToolCall) {
        let width = self.context.measure.width;
        let answer = self.context.messages.answer(call);
        let is_whole = self.message.complete || answer.is_some();
        let mut lines = arguments(call, is_whole, width);
        if let Some(why) = &call.invalid {
            let why = if why.is_empty() {
                String::new()
            } else {
                format!(": {why}")
            };
            lines.extend(marked(
                (Tone::Bad, "└ "),
                Tone::Bad,
                &format!("✗ invalid tool call{why}"),
                width,
            ));
        } else if is_whole && answer.is_none() {
            let result = Line::dim("└ ");
            lines.push(match self.context.unanswered {
                Unanswered::Running => result.with_moving("◐ ").with_plain("running"),
                Unanswered::Waiting if self.is_asked(at, call) => {
                    result.with(Tone::Waiting, "◆ waiting for you")
                }
                Unanswered::Waiting => result.with_dim("◌ no result yet"),
                Unanswered::Failed => result.with_bad("✗ no result: the run failed"),
                Unanswered::Later => result.with_dim("◌ no result yet"),
                Unanswered::Missing => result.with_dim("? no result"),
            });
        }
        self.lines(lines.into_iter().map(|line| (line, call.seq)).collect());
        if let (Some(answer), Some(number)) = (answer, call.answer) {
            let lines = result(answer, Some(call), width);
            self.lines_of(number, lines);
        }
    }
}

/// Returns a position at or before this byte where the text can be split, preferably at the start of a line.
fn boundary(text: &str, at: usize) -> usize {
    let at = text::head(text, at).len();
    let line = text[..at]
        .rfind('\n')
        .map(|end| end + 1)
        .filter(|line| at - line < STEP / 2);
    line.unwrap_or(at)
}

fn heading(message: &Message, context: &MessageContext<'_>) -> Line {
    let width = context.measure.width;
    let mut line = Line::strong(message.role.word());
    if let Some(name) = &message.name {
        line.push_dim(&format!(" {name}"));
    }
    if let Some(node) = &message.node {
        line.push_dim(" · ");
        line.push(Tone::label(node), node);
    }
    // JavaScript servers name the node itself as the last part.
    let names = |segment: &Arc<str>| segment.split(':').next() == message.node.as_deref();
    let place = match message.ns.split_last() {
        Some((last, outer)) if names(last) => outer,
        _ => &message.ns[..],
    };
    if !place.is_empty() {
        line.push_dim(" in ");
        line.push(Tone::Ns, &place_of(place, context.messages));
    }
    if message.removed_at.is_some() {
        line.push_dim("  ■ removed from state");
    }
    // Less important parts are dropped first.
    let clock = clock(message.started_at, &context.clock);
    let rates = (message.role == Role::Ai).then(|| rates(message)).flatten();
    let usage = message.usage.as_ref().map(used);
    let mut room = width.saturating_sub(line.width() + 2 + clock.len());
    let mut fits = |label: &Option<String>| match label {
        Some(text) if text::width(text) + 3 <= room => {
            room -= text::width(text) + 3;
            true
        }
        _ => false,
    };
    let (shows_rates, shows_usage) = (fits(&rates), fits(&usage));
    let shown: Vec<String> = rates
        .filter(|_| shows_rates)
        .into_iter()
        .chain(usage.filter(|_| shows_usage))
        .collect();
    if !shown.is_empty() {
        line = line.right(Tone::Dim, &format!("{}  ", shown.join(" · ")));
    }
    line.right(Tone::Dim, &clock)
}

/// Returns `TTFT 0.41s · 58 tok/s`.
fn rates(message: &Message) -> Option<String> {
    let first = message
        .first_token()
        .map(|first| format!("TTFT {}", first_token(first)));
    let rate = message.tokens_per_second().map(|rate| match rate {
        0.0..10.0 => format!("{rate:.1} tok/s"),
        _ => format!("{} tok/s", text::count(rate.round() as u64)),
    });
    let parts: Vec<String> = first.into_iter().chain(rate).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// Returns `11 in (3 cached) 7 out (2 reasoning)`.
fn used(usage: &Usage) -> String {
    let detail = |n: u64, label: &str| {
        if n > 0 {
            format!(" ({} {label})", text::count(n))
        } else {
            String::new()
        }
    };
    let (input, output) = (text::count(usage.input), text::count(usage.output));
    format!(
        "{input} in{} {output} out{}",
        detail(usage.cached, "cached"),
        detail(usage.reasoning, "reasoning")
    )
}

/// Returns the lines of a call: a single line if the arguments fit, otherwise the arguments below it. While they grow,
/// their end is shown.
fn arguments(call: &ToolCall, is_whole: bool, width: usize) -> Vec<Line> {
    let name = if call.name.is_empty() {
        "tool"
    } else {
        &call.name
    };
    let first = Line::accent("→ ").with_strong(name);
    let room = width.saturating_sub(first.width() + 1);
    let start = text::clean(text::head(&call.args, 4 * room + 8));
    if call.args.len() <= 4 * room + 8 && text::width(&start) <= room {
        return vec![
            first
                .with_plain(if start.is_empty() { "" } else { " " })
                .with_dim(&start),
        ];
    }
    let inner = width.saturating_sub(4).max(1);
    let indented = |row: &str| Line::plain("    ").with_dim(row);
    if !is_whole {
        let (lines, bytes) = (MAX_TOOL_LINES, MAX_TOOL_LINES * inner);
        let from =
            call.args.len() - text::head(&call.args, call.args.len().saturating_sub(bytes)).len();
        let rows = wrap(&call.args[call.args.len() - from..], inner);
        let tail = rows
            .iter()
            .skip(rows.len().saturating_sub(lines))
            .map(|row| indented(row));
        return std::iter::once(first).chain(tail).collect();
    }
    let value =
        (call.args.len() <= MAX_ARGS).then(|| json::from_str::<serde_json::Value>(&call.args).ok());
    let pretty = value
        .flatten()
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    let rows: Vec<String> = match &pretty {
        Some(pretty) => pretty
            .lines()
            .map(|row| text::fit(&text::clean(row), inner).into_owned())
            .collect(),
        None => wrap(
            text::head(&call.args, (MAX_ARGS_LINES + 1) * inner * 4),
            inner,
        ),
    };
    let mut lines = vec![first];
    lines.extend(rows.iter().take(MAX_ARGS_LINES).map(|row| indented(row)));
    if rows.len() > MAX_ARGS_LINES {
        let size = text::bytes(call.args.len() as u64);
        lines.push(Line::dim(&format!("    … {size} total, ⏎ opens it")));
    }
    lines
}

/// Returns the lines of a tool result, which follow its call if that is known.
fn result(answer: &Message, call: Option<&ToolCall>, width: usize) -> Vec<(Line, Seq)> {
    let took = call
        .filter(|call| call.seq != answer.first_seq)
        .and_then(|call| {
            let time = answer.started_at?.duration_since(call.at?);
            (!time.is_negative()).then(|| precise(time))
        });
    // A result that is not under its call needs the tool's name.
    let name = answer
        .name
        .as_deref()
        .filter(|name| call.is_none_or(|call| call.name != *name));
    let mut lead = name.map(|name| format!("{name} ")).unwrap_or_default();
    if answer.is_error {
        lead.insert_str(0, "✗ ");
    }
    let lead = text::clean(&lead).into_owned();
    let right = took.as_ref().map_or(0, |took| took.len() + 2);
    // A result can be very long, so read only what fits on these lines.
    let body = answer.text.trim_end();
    let shown = text::head(body, (MAX_TOOL_LINES + 1) * width * 4);
    let wrapped = wrap(&format!("{lead}{shown}"), width.saturating_sub(2 + right));
    let tone = if answer.is_error {
        Tone::Bad
    } else {
        Tone::Plain
    };
    let mut lines = Vec::new();
    for (i, row) in wrapped.iter().take(MAX_TOOL_LINES).enumerate() {
        let mut line = Line::dim(if i == 0 { "└ " } else { "  " });
        match row.strip_prefix(lead.as_str()).filter(|_| i == 0) {
            Some(rest) => {
                line = line
                    .with(
                        if answer.is_error {
                            Tone::Bad
                        } else {
                            Tone::Dim
                        },
                        &lead,
                    )
                    .with(tone, rest)
            }
            None => line.push(tone, row),
        }
        lines.push(line);
    }
    if let (Some(first), Some(took)) = (lines.first_mut(), took) {
        *first = std::mem::take(first).right(Tone::Dim, &took);
    }
    if answer.removed_at.is_some() {
        lines.push(Line::dim("  ■ removed from state"));
    }
    if shown.len() < body.len() {
        let size = text::bytes(body.len() as u64);
        lines.push(Line::dim(&format!("  … {size} total, ⏎ opens it")));
    } else if wrapped.len() > MAX_TOOL_LINES {
        lines.push(Line::dim(&format!(
            "  … {} more lines, ⏎ opens them",
            wrapped.len() - MAX_TOOL_LINES
        )));
    }
    let seq = answer.text_seq(0);
    lines.into_iter().map(|line| (line, seq)).collect()
}
