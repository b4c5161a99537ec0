//! Finding one's way in a viewer: the search and the filter over its views, marks, and the way to the next error, message
//! or step.

use super::{View, Viewer};
use crate::features::stream::find::{
    Find, Look, MatchIndex, Pattern, Seek, Source, Stood, StreamFilter, Typing, light, says, unescaped,
};
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll;
use crate::widgets::scroll::{Rows, Spot};
use runtail_core::text;
use runtail_stream::projection::{Facets, Message};
use runtail_stream::{Event, Seq};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};

/// Bytes that are read in one turn of looking through a view: about a millisecond's work.
const TURN: usize = 1 << 20;
/// Of a message that grew only so much is looked at again, from its end.
const TAIL: usize = 256 << 10;

/// What can be gone to from wherever one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    /// A failure, the end of a run, or a gap.
    Problem,
    /// Where a message begins.
    Message,
    /// Where a step of the graph ends or begins.
    Step,
    /// A mark.
    Mark,
}

/// How far the search is in the view with the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Entries found so far.
    pub count: u64,
    /// Which of them is under the cursor, counted from 1.
    pub at: Option<u64>,
    /// Entries looked at, and all of them, while the search goes on.
    pub progress: Option<(u64, u64)>,
}

impl Viewer {
    /// Searches all views for a pattern, and goes to the nearest hit once it is found.
    pub fn search(&mut self, text: &str) {
        if text == self.find.pattern.text() {
            return;
        }
        self.find.pattern = Pattern::new(text);
        self.find.hits = Default::default();
        self.find.seek = (!text.is_empty()).then_some(Seek::Near);
        self.restore();
    }

    /// Lets through only what fits a filter, in all views.
    pub fn filter(&mut self, text: &str) {
        if text == self.find.filter.text() {
            return;
        }
        self.find.filter = StreamFilter::new(text);
        self.find.fits = Default::default();
        self.find.hits = Default::default();
        self.restore();
        self.brought = [None; 8];
    }

    /// A line begins to be typed.
    pub fn begin_typing(&mut self, typing: Typing) {
        self.find.typing = Some((typing, Stood { anchor: self.anchor, places: self.places }));
    }

    /// The line is finished. Where it is not kept one stands again where one stood.
    pub fn end_typing(&mut self, keep: bool) {
        if !keep {
            self.find.seek = None;
            self.restore();
        }
        self.find.typing = None;
    }

    /// While a line is typed every letter begins where one stood.
    fn restore(&mut self) {
        if let Some((_, stood)) = &self.find.typing {
            (self.anchor, self.places) = (stood.anchor, stood.places);
            self.brought = [None; 8];
        }
    }

    /// The line that is typed, or what it would begin with.
    pub fn typed(&self) -> &str {
        match self.find.typing() {
            Some(Typing::Filter) => self.find.filter.text(),
            _ => self.searched(),
        }
    }

    /// What is searched for in the view with the focus.
    pub fn searched(&self) -> &str {
        match &self.state {
            Some(tree) if self.view() == View::State => tree.search_text(),
            _ if self.view() == View::State => "",
            _ => self.find.pattern.text(),
        }
    }

    /// The line that is typed became another. In the values view the state is searched.
    pub fn set_typed(&mut self, text: &str) {
        match self.find.typing() {
            Some(Typing::Filter) => self.filter(text),
            _ if self.view() == View::State => {
                if let Some(tree) = self.tree() {
                    tree.search(text);
                }
            }
            _ => self.search(text),
        }
    }

    /// Takes the search away, else the filter; false where there is neither. In the values view the search is the state's.
    pub fn clear_find(&mut self) -> bool {
        let in_state = self.view() == View::State;
        if let Some(tree) = self.state.as_mut().filter(|tree| in_state && !tree.search_text().is_empty()) {
            tree.search("");
            return true;
        }
        match (self.find.pattern.is_empty(), self.find.filter.text().is_empty()) {
            (false, _) => self.search(""),
            (true, false) => self.filter(""),
            (true, true) => return false,
        }
        true
    }

    /// Goes to the next hit, or to the one before, round the ends; false where nothing is searched for.
    pub fn next_hit(&mut self, forward: bool) -> bool {
        if self.find.pattern.is_empty() {
            return false;
        }
        self.find.seek = Some(if forward { Seek::Next } else { Seek::Before });
        true
    }

    /// How far the search is in the view with the focus; none where nothing is searched for there.
    pub fn found(&self) -> Option<Found> {
        let view = self.view();
        let sieve = self.find.hits[view as usize].as_ref()?;
        let key = self.place(view).cursor.key;
        let at = (!self.follows() && sieve.holds(key)).then(|| sieve.rank(key) + 1);
        Some(Found { count: sieve.count(), at, progress: (!sieve.is_complete()).then(|| sieve.progress()) })
    }

    /// How many entries of the view with the focus the filter hides, of how many, and how many were looked at; none where no
    /// filter holds there.
    pub fn hidden(&self) -> Option<(u64, u64, u64)> {
        let sieve = self.find.fits[self.view() as usize].as_ref()?;
        let (looked_at, all) = sieve.progress();
        Some((looked_at - sieve.count(), all, looked_at))
    }

    /// Looks on through a view, for one turn.
    pub(crate) fn scan(&mut self, view: View) {
        let at = view as usize;
        let mut fits = self.find.fits[at].take();
        let mut hits = self.find.hits[at].take();
        if !self.find.filter.is_empty() && self.sifts(view) {
            let mut sieve = fits.unwrap_or_else(|| self.sieve(view));
            for key in self.changed(view, &sieve) {
                sieve.look_again(key, self.fits(view, key).0);
            }
            sieve.advance(self.keys(view), TURN, |key, _, _| self.fits(view, key));
            self.find.is_scanning |= !sieve.is_complete();
            fits = Some(sieve);
        }
        if !self.find.pattern.is_empty() && view != View::State {
            // The books are few lines, and all of them change.
            let mut sieve = hits.take().filter(|_| view != View::Delivery).unwrap_or_else(|| self.sieve(view));
            let look = |key: u64, from: usize, room: usize| self.look(view, fits.as_ref(), key, from, room);
            for key in self.changed(view, &sieve) {
                let long = self.message(key).map_or(0, |message| says(message).map(str::len).sum());
                let from = usize::saturating_sub(long, TAIL);
                let saw = match (look(key, from, usize::MAX).0, sieve.place(key)) {
                    (Look::Nothing, Some(at)) if from > 0 => Look::Found(at),
                    (saw, _) => saw,
                };
                sieve.look_again(key, saw);
            }
            sieve.advance(self.keys(view), TURN, look);
            self.find.is_scanning |= !sieve.is_complete();
            hits = Some(sieve);
        }
        self.find.told[at] = self.tape.last_seq();
        (self.find.fits[at], self.find.hits[at]) = (fits, hits);
    }

    /// A sieve that begins where one is.
    fn sieve(&self, view: View) -> MatchIndex {
        MatchIndex::from(if self.follows() { self.keys(view).end } else { self.place(view).cursor.key })
    }

    fn keys(&self, view: View) -> Range<u64> {
        // What is behind the last message are rules, which are not searched.
        if view == View::Messages {
            let messages = &self.projections.messages;
            return messages.evicted()..messages.evicted() + messages.items().len() as u64;
        }
        let rows = self.all_rows(view);
        rows.first()..rows.end()
    }

    /// Whether a view's entries are events, or told by events.
    fn sifts(&self, view: View) -> bool {
        !matches!(view, View::State | View::Delivery)
    }

    fn message(&self, key: u64) -> Option<&Message> {
        self.projections.messages.get(key)
    }

    /// Entries that became others since the view was last looked through, of those that a sieve has looked at: the others
    /// have their turn.
    fn changed(&self, view: View, sieve: &MatchIndex) -> Vec<u64> {
        let told = self.find.told[view as usize];
        if view != View::Messages || told >= self.tape.last_seq() {
            return Vec::new();
        }
        let messages = &self.projections.messages;
        let numbered = (messages.evicted()..).zip(messages.items()).filter(|(_, message)| message.last_seq > told);
        // An answer is looked for where it stands: with its call.
        numbered
            .flat_map(|(key, message)| std::iter::once(key).chain(messages.asked(message).and(message.asked_by)))
            .filter(|key| sieve.knows(*key).is_some())
            .collect()
    }

    /// The event that tells of an entry.
    fn event_of(&self, view: View, key: u64) -> Option<Event> {
        self.tape.get(self.seq_at(view, Spot { key, line: 0 })?)
    }

    fn facets<'a>(&'a self, event: &'a Event) -> Facets<'a> {
        Facets::of(event, &self.projections).numbered(self.tape.number_of(event.seq))
    }

    /// Whether an entry fits the filter, and how many bytes were read for that.
    fn fits(&self, view: View, key: u64) -> (Look, usize) {
        let filter = &self.find.filter;
        let cost = |event: &Event| if filter.reads_data() { event.data.text().len() } else { 0 };
        let (fits, read) = match view {
            View::Messages => {
                let Some(message) = self.message(key) else { return (Look::Nothing, 0) };
                let mut seqs = vec![message.first_seq, message.last_seq];
                seqs.dedup();
                let events: Vec<Event> = seqs.into_iter().filter_map(|seq| self.tape.get(seq)).collect();
                let read = events.iter().map(cost).sum::<usize>() + message.text.len();
                (filter.fit_message(message, &events.iter().map(|event| self.facets(event)).collect::<Vec<_>>()), read)
            }
            // What heads the bars says what they are, whichever are shown.
            View::Timeline if !self.bars.is_bar(key) => (true, 0),
            // A run's record is no event.
            View::Runs if self.entry_seq(view, key).is_none() => (false, 0),
            _ => match self.event_of(view, key) {
                Some(event) => (filter.fit(&self.facets(&event)), cost(&event)),
                // What the tape let go cannot be asked any more.
                None => (false, 0),
            },
        };
        (if fits { Look::Found(0) } else { Look::Nothing }, read)
    }

    /// Whether an entry is shown: no filter holds, or it fits.
    pub(crate) fn lets_through(&self, view: View, key: u64) -> bool {
        if self.find.filter.is_empty() || !self.sifts(view) {
            return true;
        }
        let known = self.find.fits[view as usize].as_ref().and_then(|sieve| sieve.knows(key));
        known.unwrap_or_else(|| matches!(self.fits(view, key).0, Look::Found(_)))
    }

    /// Looks for the pattern in an entry that the filter lets through.
    fn look(&self, view: View, fits: Option<&MatchIndex>, key: u64, from: usize, room: usize) -> (Look, usize) {
        if let Some(fits) = fits
            && !fits.knows(key).unwrap_or_else(|| matches!(self.fits(view, key).0, Look::Found(_)))
        {
            return (Look::Nothing, 0);
        }
        let pattern = &self.find.pattern;
        let plain = |text| Source { text, is_json: false };
        // An event is put together only where its text is what is looked through.
        let event =
            matches!(view, View::Raw | View::Updates | View::Custom).then(|| self.event_of(view, key)).flatten();
        match (view, self.message(key), event) {
            (View::Messages, Some(message), _) => {
                let messages = &self.projections.messages;
                let asking = messages.asked(message).and(message.asked_by);
                if asking.is_some_and(|asking| fits.is_none_or(|fits| fits.holds(asking))) {
                    return (Look::Nothing, 0);
                }
                let answers = message.tool_calls.iter().filter_map(|call| messages.answer(call));
                let said = std::iter::once(message).chain(answers).flat_map(says);
                pattern.look(&said.map(plain).collect::<Vec<_>>(), from, room)
            }
            (_, _, Some(event)) => {
                let mut sources = vec![Source { text: event.data.text(), is_json: event.data.json().is_some() }];
                sources.push(plain(&event.name));
                sources.extend(event.ns.iter().map(|segment| plain(segment)));
                sources.extend(event.id.as_deref().map(plain));
                pattern.look(&sources, from, room)
            }
            _ => {
                let text = text_of(&self.line(view, Spot { key, line: 0 }));
                pattern.look(&[plain(&text)], from, room)
            }
        }
    }

    /// Goes to the hit that is looked for, if it is known by now; false where none is or it has to be waited for.
    pub(crate) fn seek(&mut self) -> bool {
        let view = self.view();
        let (Some(seek), Some(sieve)) = (self.find.seek, &self.find.hits[view as usize]) else { return false };
        let here = self.place(view).cursor;
        let end = self.keys(view).end;
        // Whoever follows has nothing ahead: what is nearest lies behind.
        let near = if self.follows() { Seek::Before } else { Seek::Near };
        let (seek, from) = match seek {
            Seek::Near => (near, if self.follows() { end } else { here.key }),
            Seek::Next => (Seek::Next, here.key + 1),
            Seek::Before => (Seek::Before, if self.follows() { end } else { here.key }),
        };
        let back = seek == Seek::Before;
        // In an entry of many lines there may be more hits.
        let within = match seek {
            Seek::Near => None,
            _ if self.follows() || !sieve.holds(here.key) => None,
            Seek::Next => self.lit_line(view, here.key, here.line + 1..usize::MAX, false),
            Seek::Before => self.lit_line(view, here.key, 0..here.line, true),
        };
        let spot = within.map(|line| Spot { key: here.key, line }).or_else(|| {
            let (key, is_sure) = match back {
                true => (sieve.before(from), sieve.is_sure_before(from)),
                false => (sieve.at_or_after(from), sieve.is_sure_after(from)),
            };
            let round = || if back { sieve.last() } else { sieve.first() };
            let key = key.filter(|_| is_sure).or_else(|| round().filter(|_| sieve.is_complete()))?;
            let line = self.lit_line(view, key, 0..usize::MAX, back).unwrap_or(0);
            Some(Spot { key, line })
        });
        if spot.is_some() || sieve.is_complete() {
            self.find.seek = None;
        }
        let Some(spot) = spot else { return false };
        self.moves(|place, rows, height| place.go(rows, height, spot));
        true
    }

    /// The first of an entry's lines that hold the pattern, or the last.
    fn lit_line(&self, view: View, key: u64, lines: Range<usize>, last: bool) -> Option<usize> {
        let end = self.rows(view).height(key).min(lines.end);
        let holds = |line: &usize| self.find.pattern.is_in(&text_of(&self.line(view, Spot { key, line: *line })));
        let mut lines = lines.start.min(end)..end;
        if last { lines.rfind(holds) } else { lines.find(holds) }
    }

    /// Lights what is searched for in a line. Where it lies beyond what the line shows of its event, the line shows that part.
    pub(crate) fn light(&self, view: View, spot: Spot, mut line: Line) -> Line {
        let pattern = &self.find.pattern;
        if pattern.is_empty() || view == View::State {
            return line;
        }
        light(&mut line, pattern);
        let is_lit = |line: &Line| line.left.iter().chain(&line.right).any(|piece| piece.tone == Tone::Hit);
        let shows_event = matches!(view, View::Raw | View::Updates | View::Custom);
        let place = self.find.hits[view as usize].as_ref().and_then(|sieve| sieve.place(spot.key));
        if let Some(at) = place.filter(|_| shows_event && !is_lit(&line))
            && let Some(event) = self.event_of(view, spot.key).filter(|event| at < event.data.text().len())
        {
            let width = self.windows[view as usize].0;
            let head = cut(&mut line, width / 2);
            let part = part(event.data.text(), at, width.saturating_sub(head + 4), pattern);
            line.push(Tone::Dim, "  … ");
            line.push(Tone::Plain, &part);
            light(&mut line, pattern);
        }
        line
    }

    /// Marks the event under the cursor, or takes its mark away. Returns whether there was room for it.
    pub fn mark(&mut self) -> bool {
        let seq = self.anchor.or_else(|| self.event_under_cursor().map(|event| event.seq));
        let Some(seq) = seq else { return true };
        self.find.mark(seq)
    }

    /// Which lines of a view's window are marked.
    pub fn marked(&self, view: View) -> Vec<bool> {
        if self.find.marks().is_empty() || view == View::State {
            return Vec::new();
        }
        // In the past what comes later has no entry.
        let marks = self.find.marks().range(..=self.tape.last_seq());
        let spots: BTreeSet<Spot> = marks.filter_map(|seq| self.spot_of(view, *seq)).collect();
        let height = self.windows[view as usize].1;
        scroll::window(&self.rows(view), self.place(view).top, height).map(|spot| spots.contains(&spot)).collect()
    }

    /// What was searched for, let through and marked.
    pub fn finding(&self) -> &Find {
        &self.find
    }

    /// Goes to the next landmark of a kind, or to the one before; false where there is none that way.
    pub fn go_to_next(&mut self, what: Landmark, forward: bool) -> bool {
        // Whoever follows has nothing ahead: the failure that is looked for lies behind.
        let forward = forward && !(self.follows() && matches!(what, Landmark::Problem | Landmark::Mark));
        // Who stands at an event that was let go stands before the oldest one.
        let first = self.tape.first_seq().unwrap_or(Seq::MAX);
        let here = self.anchor.map_or(self.tape.last_seq().next(), |seq| seq.max(first.previous()));
        if (what, self.view()) == (Landmark::Message, View::Messages) && !self.follows() {
            let (rows, key) = (self.rows(View::Messages), self.place(View::Messages).cursor.key);
            let Some(key) = (if forward { rows.next(key) } else { rows.prev(key) }) else { return false };
            self.moves(|place, rows, height| place.go(rows, height, Spot { key, line: 0 }));
            return true;
        }
        // Before there is a line in Messages, a failure is an event all the same.
        let has_lines = || scroll::window(&self.rows(View::Messages), Spot::default(), 1).next().is_some();
        if (what, self.view()) == (Landmark::Problem, View::Messages) && has_lines() {
            return self.go_to_problem(forward);
        }
        let in_order = |seqs: &[Seq]| match forward {
            true => seqs.get(seqs.partition_point(|seq| *seq <= here)).copied(),
            false => seqs[..seqs.partition_point(|seq| *seq < here)].last().copied(),
        };
        let messages = self.projections.messages.items();
        let target = match what {
            Landmark::Problem => in_order(&self.problems(false)),
            Landmark::Step => in_order(self.projections.landmarks.steps()),
            Landmark::Mark if forward => self.find.marks().range(here.next()..).next().copied(),
            Landmark::Mark => self.find.marks().range(..here).next_back().copied(),
            Landmark::Message if forward => {
                messages.get(messages.partition_point(|m| m.first_seq <= here)).map(|m| m.first_seq)
            }
            Landmark::Message => {
                messages[..messages.partition_point(|m| m.first_seq < here)].last().map(|m| m.first_seq)
            }
        };
        // What the tape let go can be gone to no more, and in the past what comes later cannot yet.
        let shown = first..=self.tape.last_seq();
        let Some(seq) = target.filter(|seq| shown.contains(seq)) else { return false };
        self.go_to(seq);
        true
    }
}

impl Viewer {
    /// The same in Messages, where runs that the stream did not show end too.
    fn go_to_problem(&mut self, forward: bool) -> bool {
        let shown = self.tape.first_seq().unwrap_or(Seq::MAX)..=self.tape.last_seq();
        let mut spots: BTreeMap<Spot, Option<Seq>> = self.blocks.run_ends().map(|spot| (spot, None)).collect();
        for seq in self.problems(true).into_iter().filter(|seq| shown.contains(seq)) {
            spots.entry(self.blocks.spot_of(&self.projections, seq)).or_default().get_or_insert(seq);
        }
        let here = match self.follows() {
            true => Spot { key: u64::MAX, line: 0 },
            false => self.place(View::Messages).cursor,
        };
        let target = match forward {
            true => spots.range((Bound::Excluded(here), Bound::Unbounded)).next(),
            false => spots.range(..here).next_back(),
        };
        let Some((&spot, &seq)) = target else { return false };
        self.moves(|place, rows, height| place.go(rows, height, spot));
        // The line may have been brought by an earlier event: the other views go to the problem itself.
        if seq.is_some() {
            self.set_anchor(View::Messages, seq);
        }
        true
    }

    /// Positions of failures, of the ends of runs, and of gaps, in order. The ends of runs of which the stream showed
    /// nothing are told by a snapshot, which is no line in Messages.
    fn problems(&self, streamed: bool) -> Vec<Seq> {
        let runs = self.projections.status.runs().iter();
        let ends = runs.filter(|run| !streamed || run.first_seq.is_some()).filter_map(|run| run.end_seq);
        // A gap has no position of its own: it is in front of the event that came next.
        let gaps = self.projections.ledger.possible_gaps().iter().map(|gap| gap.after + 1);
        let errors = self.projections.landmarks.errors().iter().copied();
        let mut seqs: Vec<Seq> = errors.chain(ends).chain(gaps).collect();
        seqs.sort_unstable();
        seqs.dedup();
        seqs
    }
}

fn text_of(line: &Line) -> String {
    line.left.iter().chain(&line.right).map(|piece| piece.text.as_str()).collect()
}

/// Cuts the left of a line to a number of columns; says how many it takes then.
fn cut(line: &mut Line, columns: usize) -> usize {
    let mut used = 0;
    line.left.retain_mut(|piece| {
        let room = columns.saturating_sub(used);
        if text::width(&piece.text) > room {
            piece.text = text::fit(&piece.text, room).into_owned();
        }
        used += text::width(&piece.text);
        !piece.text.is_empty()
    });
    used
}

/// The part of an event's data around a hit, for so many columns.
fn part(data: &str, at: usize, columns: usize, pattern: &Pattern) -> String {
    let before = text::head(data, at.saturating_sub(columns / 3)).len();
    let around = &text::head(data, at + 8 * columns + 64)[before..];
    let around = if pattern.is_in(around) { around.into() } else { unescaped(around) };
    text::fit(&text::clean(&around), columns).into_owned()
}
