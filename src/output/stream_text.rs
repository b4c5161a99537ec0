//! A stream as text for people: messages token by token, and other events one per line.

use crate::output::color::Role;
use crate::prelude::*;
use runtail_core::json::{self, Peek};
use runtail_core::secret;
use runtail_stream::projection::{
    self, LifecycleKind, LineProjections, Message, ToolCall, UpdateRow,
};
use runtail_stream::{Event, Item, Record, RunRecord, Seq, Unwrapped, is_json};
use runtail_tui::features::stream::summary;
use std::fmt::Write as _;
use std::sync::Arc;

/// Number of newest messages to check for new text; older ones don't grow any more.
const GROWING: usize = 256;
/// Number of events without new text after which an unfinished message no longer delays others.
const STILL_GROWING: u64 = 32;
/// Line width without a terminal, in columns.
const COLUMNS: usize = 160;
/// Width of a line's first word, in columns.
const WORD: usize = 8;

/// Writes a stream as sanitized text.
pub struct Teller {
    story: LineProjections,
    /// What was printed of each message.
    told: Vec<Printed>,
    evicted: u64,
    updates: u64,
    happened: u64,
    /// The index of the message whose line is still open.
    open: Option<u64>,
    /// Whether the cursor is not at the start of a line.
    in_line: bool,
    seen_state: bool,
    only_values: bool,
    is_terminal: bool,
    is_ascii: bool,
    is_colored: bool,
    began: Option<Timestamp>,
    /// The "started" line of a run that a list of runs already reported as running.
    running: Option<String>,
    bullet: &'static str,
    arrow: &'static str,
}

#[derive(Default, Clone, Copy)]
struct Printed {
    /// Bytes of its text.
    text: usize,
    /// The event up to which.
    seq: Seq,
    calls: usize,
    /// Its label was printed.
    labeled: bool,
    thinking: bool,
    /// From before this stream.
    earlier: bool,
    /// New text waits until the open message is finished, because both are being written at once.
    waits: bool,
}

impl Teller {
    /// Creates a writer at the start of a stream.
    pub fn new(is_terminal: bool, ascii: bool, is_colored: bool) -> Teller {
        let (bullet, arrow) = if ascii { ("-", "->") } else { ("·", "→") };
        Teller {
            story: LineProjections::default(),
            told: Vec::new(),
            evicted: 0,
            updates: 0,
            happened: 0,
            open: None,
            in_line: false,
            seen_state: false,
            only_values: false,
            is_terminal,
            is_ascii: ascii,
            is_colored,
            began: None,
            running: None,
            bullet,
            arrow,
        }
    }

    /// Writes what is new in an item.
    pub fn item(&mut self, item: &Item, out: &mut String) {
        self.story.apply(item);
        match item {
            // Snapshots repeat what the stream has.
            Item::Record(Record::Event(event)) if event.is_snapshot() => {
                self.line(
                    "snapshot",
                    "the thread's records were loaded from the server; -o jsonl shows them",
                    out,
                );
            }
            Item::Record(Record::Event(event)) => {
                if !self.only_values {
                    self.messages(event, out);
                }
                self.update_rows(out);
                self.lifecycle_rows(out);
                self.other(event, out);
            }
            Item::Record(Record::End(end)) => {
                // Print calls of messages that were never completed.
                for i in 0..self.story.messages.items().len() {
                    self.message(i, true, out);
                }
                self.lifecycle_rows(out);
                let took = self.began.map(|began| end.at.duration_since(began));
                let took = Duration::try_from(took.unwrap_or_default()).unwrap_or_default();
                let events = text::count(end.events);
                let outcome = end.outcome.as_str();
                let line = format!("{outcome}, {events} events in {}", text::duration(took));
                self.line_as(color::of_outcome(outcome), "end", &line, out);
            }
            Item::Record(Record::Run(run)) => self.run(run, out),
            Item::Record(Record::Head(head)) => {
                self.began.get_or_insert(head.at);
                self.only_values = head.modes == ["values"];
            }
            Item::Record(Record::Open { .. }) => {
                self.happened = self.lifecycle_count();
            }
            // Printed on stderr.
            _ => self.happened = self.lifecycle_count(),
        }
    }

    /// Writes a run's status from the list of a thread's runs.
    fn run(&mut self, run: &RunRecord, out: &mut String) {
        let id = text::short_id(&run.run_id);
        let word = match (run.outcome, &*run.status) {
            (Some(outcome), _) => outcome.as_str(),
            (None, "pending") => "queued",
            (None, status) => status,
        };
        if word == "running" {
            self.running = Some(format!("run {id} started"));
        }
        let role = run.outcome.map_or_else(
            || color::of_run(&run.status),
            |outcome| color::of_outcome(outcome.as_str()),
        );
        self.line_as(role, "run", &format!("{id} {word}"), out);
    }

    /// Ends the open line, so that something else can be written.
    pub fn end_line(&mut self, out: &mut String) {
        if self.in_line {
            out.push('\n');
        }
        self.in_line = false;
        self.open = None;
    }

    fn messages(&mut self, event: &Event, out: &mut String) {
        let messages = &self.story.messages;
        let gone = messages.evicted() - self.evicted;
        self.evicted = messages.evicted();
        self.told.drain(
            ..self
                .told
                .len()
                .min(usize::try_from(gone).unwrap_or(usize::MAX)),
        );
        let (before, now) = (self.told.len(), messages.items().len());
        self.told.resize(now, Printed::default());
        if !self.seen_state && event.mode() == "values" && event.ns.is_empty() {
            self.seen_state = true;
            // The first state repeats the thread's earlier messages; only the last one is this run's input.
            let items = &messages.items()[before..];
            let said = items
                .iter()
                .rev()
                .take_while(|m| !matches!(m.role, projection::Role::Ai | projection::Role::Tool))
                .count();
            let earlier = items.len() - said;
            self.told[before..before + earlier]
                .iter_mut()
                .for_each(|told| told.earlier = true);
            if earlier > 0 {
                let earlier = text::counted(earlier, "earlier message");
                self.line("thread", &earlier, out);
            }
        }
        let items = self.story.messages.items();
        let from = now.saturating_sub(GROWING);
        let answered: Vec<String> = items[before.min(now)..]
            .iter()
            .filter_map(|m| m.tool_call_id.clone())
            .collect();
        for i in from..now {
            let message = &self.story.messages.items()[i];
            let is_answered =
                !answered.is_empty() && message.tool_calls.iter().any(|c| answered.contains(&c.id));
            // Not every server marks complete messages, so calls are printed before the next message starts.
            let is_followed = i < before && before < now && self.has_whole_calls(i);
            if message.last_seq == event.seq || is_answered || is_followed || self.told[i].waits {
                self.told[i].waits = !is_answered && !is_followed && self.must_wait(i, event.seq);
                if !self.told[i].waits {
                    self.message(i, is_answered || is_followed, out);
                }
            }
        }
    }

    /// Returns whether a message is written while another one is open, so that their words would alternate.
    fn must_wait(&self, i: usize, now: Seq) -> bool {
        let messages = &self.story.messages;
        let open = self
            .open
            .filter(|open| *open != self.evicted + i as u64)
            .and_then(|open| messages.get(open));
        // Calls are the last of a message, and they were printed only if they were whole.
        let is_called = self
            .open
            .and_then(|open| open.checked_sub(self.evicted))
            .is_some_and(|at| {
                self.told
                    .get(usize::try_from(at).unwrap_or(usize::MAX))
                    .is_some_and(|told| told.calls > 0)
            });
        let is_growing = |open: &Message| {
            !open.complete && !is_called && now.0 - open.last_seq.0 < STILL_GROWING
        };
        let message = messages.items().get(i);
        let is_beside = |open: &Message| {
            message.is_some_and(|m| !m.complete && (&m.ns, &m.node) != (&open.ns, &open.node))
        };
        open.is_some_and(|open| is_growing(open) && is_beside(open))
    }

    /// Whether a message has calls that were not printed, and whose arguments are complete.
    fn has_whole_calls(&self, i: usize) -> bool {
        let Some((message, told)) = self.story.messages.items().get(i).zip(self.told.get(i)) else {
            return false;
        };
        let mut left = message.tool_calls.iter().skip(told.calls).peekable();
        left.peek().is_some() && left.all(|call| is_json(&call.args))
    }

    /// Prints the new part of a message. `all` includes calls that may be incomplete.
    fn message(&mut self, i: usize, all: bool, out: &mut String) {
        let Some(mut told) = self.told.get(i).copied().filter(|told| !told.earlier) else {
            return;
        };
        let Some(message) = self.story.messages.items().get(i) else {
            return;
        };
        let number = self.evicted + i as u64;
        let revised = message.text_at(told.seq).len() < told.text;
        if revised {
            told.text = 0;
        }
        let is_done = message.complete || all;
        let fresh = message.text.get(told.text..).unwrap_or_default();
        // Hold back text that may be the start of a key, or half of a character, until more is known.
        let open = if is_done {
            0
        } else {
            secret::keys::open_end(fresh).max(json::open_end(fresh))
        };
        let fresh = fresh[..fresh.len() - open].to_string();
        let calls: Vec<String> = if is_done {
            message
                .tool_calls
                .iter()
                .skip(told.calls)
                .map(called)
                .collect()
        } else {
            Vec::new()
        };
        let thinks = !told.thinking && message.text.is_empty() && !message.reasoning.is_empty();
        let title = self.title(message);
        told.seq = message.last_seq;
        if !fresh.is_empty() || !calls.is_empty() || thinks {
            if self.open != Some(number) || revised {
                self.end_line(out);
                let more = match (revised, told.labeled) {
                    (true, _) => " (revised)",
                    (false, true) => " (continued)",
                    (false, false) => "",
                };
                let (title, more) = (
                    self.paint(Role::Strong, &title),
                    self.paint(Role::Dim, more),
                );
                let _ = writeln!(out, "{title}{more}");
                self.open = Some(number);
                told.labeled = true;
            }
            if thinks {
                let _ = writeln!(out, "  {}", self.paint(Role::Dim, "(thinking)"));
                told.thinking = true;
            }
            self.said(&fresh, out);
            told.text += fresh.len();
            for call in &calls {
                self.break_line(out);
                let call = format!("  {} {}", self.arrow, text::clean(call));
                let _ = writeln!(out, "{}", text::fit(&call, self.columns()));
                told.calls += 1;
            }
            if is_done {
                self.break_line(out);
            }
        }
        self.told[i] = told;
    }

    /// Returns a message's label: role, name, node and namespace. Subgraphs of one name that run at once are numbered.
    fn title(&self, message: &Message) -> String {
        let node = message.node.as_deref().unwrap_or_default();
        let name = message
            .name
            .as_deref()
            .filter(|name| *name != node)
            .unwrap_or_default();
        // JavaScript gives even a root node a namespace with its own name.
        let own = message
            .ns
            .last()
            .and_then(|segment| segment.split(':').next());
        let within = message.ns.len() - usize::from(own == Some(node) && !node.is_empty());
        let segment = |segment: &Arc<str>| {
            let name = place(std::slice::from_ref(segment));
            self.story
                .messages
                .sibling(segment)
                .map_or_else(|| name.clone(), |number| format!("{name} #{number}"))
        };
        let place = message.ns[..within]
            .iter()
            .map(segment)
            .collect::<Vec<_>>()
            .join("/");
        let failed = if message.is_error { "error" } else { "" };
        let parts = [message.role.word(), name, node, &place, failed]
            .into_iter()
            .filter(|part| !part.is_empty());
        text::clean(
            &parts
                .collect::<Vec<_>>()
                .join(&format!(" {} ", self.bullet)),
        )
        .into_owned()
    }

    /// Prints text of a message, indented.
    fn said(&mut self, fresh: &str, out: &mut String) {
        for part in text::clean_lines(fresh).split_inclusive('\n') {
            if !self.in_line && part != "\n" {
                out.push_str("  ");
            }
            out.push_str(part);
            self.in_line = !part.ends_with('\n');
        }
    }

    fn break_line(&mut self, out: &mut String) {
        if self.in_line {
            out.push('\n');
        }
        self.in_line = false;
    }

    fn update_rows(&mut self, out: &mut String) {
        let rows = self.story.updates.rows();
        let count = rows.evicted() + rows.len() as u64;
        let new = usize::try_from(count - self.updates)
            .unwrap_or(usize::MAX)
            .min(rows.len());
        self.updates = count;
        let lines: Vec<String> = rows[rows.len() - new..]
            .iter()
            .filter(|row| !row.interrupt)
            .map(update)
            .collect();
        for line in lines {
            self.line("update", &line, out);
        }
    }

    fn lifecycle_count(&self) -> u64 {
        let rows = self.story.lifecycle.rows();
        rows.evicted() + rows.len() as u64
    }

    fn lifecycle_rows(&mut self, out: &mut String) {
        use LifecycleKind::{
            Attempt, Connection, End, Error, Gap, Interrupt, Retry, RunDone, RunInterrupted,
            RunStart, TaskDone, TaskInterrupted, TaskStart,
        };
        let count = self.lifecycle_count();
        let rows = self.story.lifecycle.rows();
        let new = usize::try_from(count - self.happened)
            .unwrap_or(usize::MAX)
            .min(rows.len());
        self.happened = count;
        let lines: Vec<(&str, String)> = rows[rows.len() - new..]
            .iter()
            .filter(|row| self.running.as_ref() != Some(&row.text))
            .filter_map(|row| {
                let text = row.text.clone();
                match row.kind {
                    RunStart | RunDone | RunInterrupted | Attempt => {
                        Some(("run", text.strip_prefix("run ").unwrap_or(&text).into()))
                    }
                    TaskStart => Some(("task", format!("{text} started"))),
                    TaskDone => Some(("task", format!("{text} finished"))),
                    TaskInterrupted => Some(("task", format!("{text} interrupted"))),
                    Interrupt => Some(("asks", text)),
                    Error => Some(("error", text)),
                    Connection | Retry | Gap | End => None,
                }
            })
            .collect();
        for (word, line) in lines {
            let role = match word {
                "error" => Role::Failed,
                "asks" => Role::Waiting,
                _ => Role::Dim,
            };
            self.line_as(role, word, &line, out);
        }
    }

    /// Prints other events by name.
    fn other(&mut self, event: &Event, out: &mut String) {
        let mode = event.mode();
        let known = match mode {
            "values" => !self.only_values,
            // The end of a stream is printed once.
            "error" => true,
            "updates" | "metadata" | "tasks" | "lifecycle" | "end" => event.data.json().is_some(),
            name => name.starts_with("messages") && event.data.json().is_some(),
        };
        if !known {
            let place = place(&event.ns);
            let gap = if place.is_empty() { "" } else { "  " };
            // Summarize bookkeeping events; print custom data as it is.
            let described = match mode {
                "checkpoints" | "debug" | "events" | "state_update" | "input.requested" => {
                    summary::event(event, None, self.columns()).map(|line| self.plain(line.text()))
                }
                _ => None,
            };
            // Enough to fill a line; the data may be megabytes.
            let received = || {
                let tuple = |json| Unwrapped::tuple(&event.name, Peek::of(json));
                let tuple = event.data.json().and_then(|json| tuple(json));
                let text = tuple.map_or(&**event.data.text(), |tuple| tuple.json.text());
                let most = 2 * COLUMNS.max(self.columns());
                text::readable(text::head(text, 6 * most))
                    .chars()
                    .take(most)
                    .collect()
            };
            let data: String = described.unwrap_or_else(received);
            self.line(mode, &format!("{place}{gap}{data}"), out);
        }
    }

    /// Replaces our own symbols with --ascii.
    fn plain(&self, text: String) -> String {
        if !self.is_ascii {
            return text;
        }
        let signs = [
            ("·", "-"),
            ("→", "->"),
            ("▸", ">"),
            ("●", "*"),
            ("◐", "~"),
            ("◌", "."),
            ("✗", "x"),
            ("…", "..."),
        ];
        signs
            .iter()
            .fold(text, |text, (sign, plain)| text.replace(sign, plain))
    }

    /// Prints a separate line.
    fn line(&mut self, word: &str, rest: &str, out: &mut String) {
        self.line_as(Role::Dim, word, rest, out);
    }

    /// Prints a separate line in a role. Only the symbol is colored if all is well, else the whole line.
    fn line_as(&mut self, role: Role, word: &str, rest: &str, out: &mut String) {
        self.end_line(out);
        let word = text::clean(word);
        let pad = " ".repeat(WORD.saturating_sub(text::width(&word)));
        let line = format!("{} {word}{pad} {}", self.bullet, text::clean(rest));
        let line = text::fit(line.trim_end(), self.columns());
        let painted = match role {
            Role::Failed | Role::Waiting => line.len(),
            Role::Good | Role::Moving => self.bullet.len(),
            _ => (self.bullet.len() + 1 + word.len()).min(line.len()),
        };
        let (painted, rest) = line.split_at_checked(painted).unwrap_or((&line, ""));
        let _ = writeln!(out, "{}{rest}", self.paint(role, painted));
    }

    fn paint(&self, role: Role, text: &str) -> String {
        role.paint_if(self.is_colored, text)
    }

    fn columns(&self) -> usize {
        let asked = || {
            crossterm::terminal::size()
                .ok()
                .map(|(columns, _)| usize::from(columns))
        };
        self.is_terminal
            .then(asked)
            .flatten()
            .filter(|columns| *columns >= 20)
            .unwrap_or(COLUMNS)
    }
}

/// Prints a tool call.
fn called(call: &ToolCall) -> String {
    format!("{} {}", call.name, text::readable(&call.args))
}

/// Returns a namespace without task ids: `sub/inner`.
fn place(ns: &[Arc<str>]) -> String {
    ns.iter()
        .map(|segment| segment.split(':').next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("/")
}

/// Prints what a node wrote, without messages, which are printed on their own.
fn update(row: &UpdateRow) -> String {
    let place = place(&row.ns);
    let slash = if place.is_empty() { "" } else { "/" };
    let keys = row.keys.iter().map(|(key, value)| match &**key {
        "messages" => "messages".to_string(),
        "" => value.clone(),
        key => format!("{key}: {value}"),
    });
    format!(
        "{place}{slash}{}  {}",
        row.node,
        keys.collect::<Vec<_>>().join(", ")
    )
}
