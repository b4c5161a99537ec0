//! The Messages view: the conversation, with rules where runs ended. A thread without messages has lines about its runs instead.

pub mod blocks;
pub mod message;
pub mod rules;
pub mod run_lines;

use super::stream_view::{Around, EVENTS, EntryKind, StreamView, ViewFacts, ViewLayout, ViewRows};
use super::{View, clock, place_of};
use crate::features::stream::find::{Landmark, MatchIndex, PatternSource, searchable_texts};
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::Viewer;
use crate::session::msg::Chunk;
use crate::widgets::line::Line;
use crate::widgets::scroll::{LinePos, ScrollList};
use message::Unanswered;
use run_lines::RunLinesTab;
use runtail_core::model::ThreadStatus;
use runtail_core::text::markdown::{inline, without_html};
use runtail_core::text::{clean, clean_lines};
use runtail_stream::projection::{EventAttrs, Message, Role, RunEntry};
use runtail_stream::{Event, Seq};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// Maximum number of inputs in front of the first message that names their run.
const MAX_INPUTS: u64 = 64;

/// The Messages view.
pub struct MessagesTab;

impl StreamView for MessagesTab {
    fn facts(&self) -> ViewFacts {
        ViewFacts {
            title: "Messages",
            kind: EntryKind::Rows,
            empty: ("messages", " 2 shows steps, 3 the state."),
            empty_at_checkpoint: "No messages at this checkpoint.",
            records_of: Some(View::Events),
            ..EVENTS
        }
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        if shows_runs(viewer) {
            return RunLinesTab.count(viewer);
        }
        self.keys(viewer).end
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        if shows_runs(viewer) {
            return RunLinesTab.entries(viewer);
        }
        ViewRows::Blocks(viewer.views.messages.shown(&viewer.projections))
    }

    /// The entry after the last message has only rules.
    fn keys(&self, viewer: &Viewer) -> Range<u64> {
        if shows_runs(viewer) {
            return RunLinesTab.keys(viewer);
        }
        let messages = &viewer.projections.messages;
        messages.evicted()..messages.evicted() + messages.items().len() as u64
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        if shows_runs(viewer) {
            return RunLinesTab.line(viewer, spot, width);
        }
        Some(viewer.views.messages.line(&viewer.projections, spot))
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        if shows_runs(viewer) {
            return RunLinesTab.seq_at(viewer, spot);
        }
        viewer.views.messages.seq_at(&viewer.projections, spot)
    }

    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        if shows_runs(viewer) {
            return RunLinesTab.spot_of(viewer, seq);
        }
        Some(viewer.views.messages.spot_of(&viewer.projections, seq))
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        match shows_runs(viewer) {
            true => RunLinesTab.around(viewer),
            false => Around::default(),
        }
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        let has_none = shows_runs(viewer);
        if std::mem::replace(&mut viewer.views.run_lines.is_shown, has_none) != has_none {
            viewer.slots[layout.view as usize].begin_again();
        }
        if has_none {
            return RunLinesTab.prepare(viewer, layout);
        }
        let unanswered = unanswered(viewer, layout.is_open);
        let today = viewer.today();
        let slot = &mut viewer.slots[layout.view as usize];
        let has_moved = viewer.views.messages.prepare(
            &viewer.projections,
            unanswered,
            layout.width,
            (&viewer.tz, today),
            &mut slot.place,
        );
        if has_moved {
            slot.forget();
        }
    }

    fn accepts(&self, viewer: &Viewer, key: u64) -> (bool, usize) {
        if shows_runs(viewer) {
            return RunLinesTab.accepts(viewer, key);
        }
        let Some(message) = viewer.projections.messages.at(key) else {
            return (false, 0);
        };
        let filter = &viewer.find.filter;
        let mut seqs = vec![message.first_seq, message.last_seq];
        seqs.dedup();
        let events: Vec<Event> = seqs
            .into_iter()
            .filter_map(|seq| viewer.event_log.get(seq))
            .collect();
        let attrs: Vec<_> = events.iter().map(|event| viewer.attrs(event)).collect();
        let read = events.iter().map(|event| filter.cost(event)).sum::<usize>();
        (
            filter.matches_message(message, run_of(viewer, key, &attrs).as_deref(), &attrs),
            read + message.text.len(),
        )
    }

    fn changed(&self, viewer: &Viewer, after: Seq) -> Vec<u64> {
        if shows_runs(viewer) {
            return RunLinesTab.changed(viewer, after);
        }
        let messages = &viewer.projections.messages;
        let numbered = (messages.evicted()..)
            .zip(messages.items())
            .filter(|(_, message)| message.last_seq > after);
        // A tool result is searched with its call.
        numbered
            .flat_map(|(key, message)| {
                std::iter::once(key).chain(messages.asked(message).and(message.call_message))
            })
            .filter_map(|number| messages.position_of(number))
            .collect()
    }

    fn texts<'a>(
        &self,
        viewer: &'a Viewer,
        key: u64,
        filtered: Option<&MatchIndex>,
    ) -> Option<Vec<PatternSource<'a>>> {
        if shows_runs(viewer) {
            return None;
        }
        let messages = &viewer.projections.messages;
        let message = messages.at(key)?;
        let call_message = messages.asked(message).and(message.call_message);
        if call_message.is_some_and(|call| filtered.is_none_or(|filtered| filtered.is_match(call)))
        {
            return Some(Vec::new());
        }
        let answers = message.tool_calls.iter();
        let answers = answers.filter_map(|call| messages.answer(call));
        let all = std::iter::once(message).chain(answers);
        let plain = |text| PatternSource {
            text,
            is_json: false,
        };
        Some(all.flat_map(searchable_texts).map(plain).collect())
    }

    fn go_to_next(&self, viewer: &mut Viewer, to: Landmark, forward: bool) -> Option<bool> {
        if shows_runs(viewer) {
            return RunLinesTab.go_to_next(viewer, to, forward);
        }
        match to {
            Landmark::Message if !viewer.follows() => {
                let key = viewer.place(View::Messages).cursor.key;
                let key = match forward {
                    true => viewer.rows(View::Messages).next(key),
                    false => viewer.rows(View::Messages).prev(key),
                };
                if let Some(key) = key {
                    viewer.go_to_entry(key);
                }
                Some(key.is_some())
            }
            Landmark::Problem => {
                let ends = viewer.views.messages.run_ends().collect();
                Some(go_to_problem(viewer, forward, ends))
            }
            _ => None,
        }
    }

    fn is_blank(&self, viewer: &Viewer) -> bool {
        shows_runs(viewer)
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        if shows_runs(viewer) {
            return RunLinesTab.copied(viewer);
        }
        let cursor = viewer.place(View::Messages).cursor;
        let message = viewer
            .views
            .messages
            .message_at(&viewer.projections, cursor)?;
        Some(if message.text.is_empty() {
            message.tool_calls.first()?.args.clone()
        } else {
            message.text.clone()
        })
    }

    fn run_under_cursor<'a>(&self, viewer: &'a Viewer) -> Option<&'a RunEntry> {
        if shows_runs(viewer) {
            return RunLinesTab.run_under_cursor(viewer);
        }
        let index = viewer
            .views
            .messages
            .run_at(viewer.place(View::Messages).cursor)?;
        let run = viewer.projections.status.runs().get(index);
        run.filter(|run| run.first_seq.is_none())
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        if shows_runs(viewer) {
            return RunLinesTab.write(viewer, key, format, part);
        }
        match viewer.projections.messages.at(key) {
            Some(message) if format == Format::Text => write_text(viewer, message, part),
            Some(message) => write_markdown(viewer, message, part),
            None => {}
        }
    }
}

/// Returns whether the thread has no messages, so that the view shows its runs.
fn shows_runs(viewer: &Viewer) -> bool {
    viewer.projections.messages.items().is_empty()
}

/// Returns the run of a message. An input that was loaded doesn't name one: it belongs to the run of the messages after it.
fn run_of<'a>(viewer: &'a Viewer, key: u64, events: &'a [EventAttrs<'_>]) -> Option<Cow<'a, str>> {
    let (messages, status) = (&viewer.projections.messages, &viewer.projections.status);
    let named = |key: u64| {
        messages
            .at(key)
            .and_then(|message| message.run_id.as_deref())
    };
    let streamed = events.first().filter(|event| !event.event().is_snapshot());
    let newest = || status.runs().last()?.run_id.as_deref();
    let after = || match (key..key + MAX_INPUTS).find_map(named) {
        None if messages.at(key + MAX_INPUTS).is_none() => newest(),
        run => run,
    };
    let run = named(key).map(Cow::Borrowed);
    run.or_else(|| streamed?.run())
        .or_else(|| after().map(Cow::Borrowed))
}

/// Returns why calls without a result have none. `is_open`: whether more events may arrive.
fn unanswered(viewer: &Viewer, is_open: bool) -> Unanswered {
    // The thread's status is that of its newest checkpoint.
    if let Some(checkpoint) = viewer
        .shown_checkpoint()
        .filter(|checkpoint| !checkpoint.of.is_head)
    {
        return if checkpoint.has_next {
            Unanswered::Later
        } else {
            Unanswered::Missing
        };
    }
    match viewer.shown_status() {
        ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } | ThreadStatus::Loading
            if is_open =>
        {
            Unanswered::Running
        }
        ThreadStatus::Waiting { .. } => Unanswered::Waiting,
        ThreadStatus::Failed { .. } => Unanswered::Failed,
        _ => Unanswered::Missing,
    }
}

/// Jumps to a problem: one of these lines, or one that the stream shows.
fn go_to_problem(viewer: &mut Viewer, forward: bool, lines: Vec<LinePos>) -> bool {
    let shown = viewer.event_log.first_seq().unwrap_or(Seq::MAX)..=viewer.event_log.last_seq();
    let mut spots: BTreeMap<LinePos, Option<Seq>> =
        lines.into_iter().map(|spot| (spot, None)).collect();
    let problems = viewer.problems(true).into_iter();
    for seq in problems.filter(|seq| shown.contains(seq)) {
        let Some(spot) = MessagesTab.spot_of(viewer, seq) else {
            continue;
        };
        let nearest = spots.entry(spot).or_default();
        // Of several problems in one line, the nearest one is next.
        if nearest.is_none() || !forward {
            *nearest = Some(seq);
        }
    }
    let here = match viewer.follows() {
        true => LinePos::of(u64::MAX),
        false => viewer.place(View::Messages).cursor,
    };
    let target = match forward {
        true => spots
            .range((Bound::Excluded(here), Bound::Unbounded))
            .next(),
        false => spots.range(..here).next_back(),
    };
    let Some((&spot, &seq)) = target else {
        return false;
    };
    viewer.move_in_view(|place, rows, height| place.go(rows, height, spot));
    // An earlier event may have produced the line, so the other views jump to the problem itself.
    if seq.is_some() {
        viewer.set_anchor(View::Messages, seq);
    }
    true
}

/// Returns the author of a message: role, name, node, namespace and time.
fn author_line(viewer: &Viewer, message: &Message) -> String {
    let mut author = clean(message.role.word()).into_owned();
    let names = [&message.name, &message.node].into_iter().flatten();
    for part in names {
        author.push_str(&format!(" · {}", clean(part)));
    }
    if !message.ns.is_empty() {
        let place = place_of(&message.ns, &viewer.projections.messages);
        author.push_str(&format!(" in {}", clean(&place)));
    }
    format!("{author} · {}", clock(message.started_at, &viewer.tz))
}

fn write_text(viewer: &Viewer, message: &Message, part: &mut Part) {
    part.text(format!("── {}\n", author_line(viewer, message)));
    if message.removed_at.is_some() {
        part.text("(removed from state)\n");
    }
    for text in [&message.reasoning, &message.text] {
        if !text.is_empty() {
            part.text(format!("{}\n", clean_lines(text.trim_end())));
        }
    }
    for call in &message.tool_calls {
        part.text(format!("→ {} {}\n", clean(&call.name), clean(&call.args)));
    }
    part.text("\n");
}

fn write_markdown(viewer: &Viewer, message: &Message, part: &mut Part) {
    let prose = |text: &str| without_html(&clean_lines(text.trim_end())).to_string();
    part.text(format!("## {}\n\n", inline(&author_line(viewer, message))));
    if message.removed_at.is_some() {
        part.text("*Removed from state.*\n\n");
    }
    if !message.reasoning.is_empty() {
        for line in prose(&message.reasoning).lines() {
            part.text(format!("> {line}\n"));
        }
        part.text("\n");
    }
    match &message.role {
        // A tool result is data, not prose.
        Role::Tool => part.add(Chunk::Code("", message.text.as_str().into())),
        _ if message.text.is_empty() => {}
        _ => part.text(format!("{}\n\n", prose(&message.text))),
    }
    for call in &message.tool_calls {
        part.text(format!("**→ {}**\n\n", inline(&call.name)));
        part.add(Chunk::Code("json", call.args.as_str().into()));
    }
}
