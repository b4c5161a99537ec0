//! Search, filter, marks and jumps to landmarks in a viewer.

use super::{Slot, Viewer};
use crate::features::stream::find::{
    Find, FoundPlace, Landmark, MatchIndex, Pattern, PatternSource, SavedPosition, ScanResult,
    Seek, StreamFilter, Typing, light, searchable_texts, unescaped,
};
use crate::features::stream::views::View;
use crate::features::stream::views::stream_view::EntryKind;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{LinePos, ScrollList};
use runtail_core::text;
use runtail_stream::projection::EventAttrs;
use runtail_stream::{Event, Seq};
use std::collections::BTreeSet;
use std::ops::Range;

/// Maximum number of bytes scanned in one step of a view, about a millisecond of work.
const SCAN_BYTES: usize = 1 << 20;
/// Maximum number of bytes scanned again at the end of a message that grew.
const RESCAN_BYTES: usize = 256 << 10;

impl Viewer {
    /// Searches all views for a pattern, and jumps to the nearest match once it is found.
    pub fn search(&mut self, text: &str) {
        if text == self.find.pattern.text() {
            return;
        }
        self.find.pattern = Pattern::new(text);
        self.slots.iter_mut().for_each(|slot| slot.hits = None);
        self.find.seek = (!text.is_empty()).then_some(Seek::Near);
        self.restore();
    }

    /// Applies a filter to all views.
    pub fn filter(&mut self, text: &str) {
        if text == self.find.filter.text() {
            return;
        }
        self.find.filter = StreamFilter::new(text).of_run(self.only_run().cloned());
        self.slots.iter_mut().for_each(Slot::forget);
        self.restore();
        self.unsync();
    }

    /// Opens the input line.
    pub fn begin_typing(&mut self, typing: Typing) {
        let saved = SavedPosition {
            anchor: self.anchor,
            places: self.slots.each_ref().map(|slot| slot.place),
        };
        self.find.typing = Some((typing, saved));
        self.views.graph.begin_search();
    }

    /// Closes the input line. If its text is not kept, restores the earlier position.
    pub fn end_typing(&mut self, keep: bool) {
        if !keep {
            self.find.seek = None;
            self.restore();
        }
        self.views.graph.end_search(keep);
        self.find.typing = None;
    }

    /// Restores the position from before typing, so that each keystroke searches from there.
    fn restore(&mut self) {
        if let Some((_, saved)) = &self.find.typing {
            self.anchor = saved.anchor;
            for (slot, place) in self.slots.iter_mut().zip(saved.places) {
                (slot.place, slot.synced) = (place, None);
            }
        }
    }

    /// Returns the text of the input line, or the text that it would start with.
    pub fn typed(&self) -> &str {
        match self.find.typing() {
            Some(Typing::Filter) => self.find.filter.text(),
            _ => self.searched(),
        }
    }

    /// Returns the search text of the focused view.
    pub fn searched(&self) -> &str {
        let own = self.view().of().own_search(self);
        own.unwrap_or(self.find.pattern.text())
    }

    /// Applies a change of the input line.
    pub fn set_typed(&mut self, text: &str) {
        match self.find.typing() {
            Some(Typing::Filter) => self.filter(text),
            _ => self.view().of().search(self, text),
        }
    }

    /// Clears the search, or else the filter, or else shows all runs again. Returns false if there is nothing to clear. A view with a search of its own clears that first.
    pub fn clear_find(&mut self) -> bool {
        let view = self.view().of();
        if view.own_search(self).is_some_and(|text| !text.is_empty()) {
            view.search(self, "");
            return true;
        }
        match (
            self.find.pattern.is_empty(),
            self.find.filter.text().is_empty(),
        ) {
            (false, _) => self.search(""),
            (true, false) => self.filter(""),
            (true, true) if self.only_run().is_some() => self.show_only_run(None),
            (true, true) => return false,
        }
        true
    }

    /// Jumps to the next or previous match, wrapping around. Returns false without a search.
    pub fn next_hit(&mut self, forward: bool) -> bool {
        if self.find.pattern.is_empty() {
            return false;
        }
        self.find.seek = Some(if forward { Seek::Next } else { Seek::Before });
        true
    }

    /// Returns the search progress in the focused view; `None` without a search.
    pub fn found(&self) -> Option<FoundPlace> {
        let view = self.view();
        if let Some(found) = view.of().found(self) {
            return Some(found);
        }
        let index = self.slot(view).hits.as_ref()?;
        let key = self.place(view).cursor.key;
        let at = (!self.follows() && index.is_match(key)).then(|| index.rank(key) + 1);
        Some(FoundPlace {
            count: index.count(),
            at,
            progress: (!index.is_complete()).then(|| index.progress()),
        })
    }

    /// Returns the hidden entries, all entries and the scanned entries of the focused view; `None` without a filter.
    pub fn hidden(&self) -> Option<(u64, u64, u64)> {
        let index = self.slot(self.view()).filtered.as_ref()?;
        let (scanned, all) = index.progress();
        Some((scanned - index.count(), all, scanned))
    }

    /// Scans a view for one step.
    pub(super) fn scan(&mut self, view: View) {
        let kind = view.kind();
        let slot = &mut self.slots[view as usize];
        let (mut filtered, mut hits) = (slot.filtered.take(), slot.hits.take());
        if !self.find.filter.is_empty() && kind.is_filtered() {
            let mut index = filtered.unwrap_or_else(|| self.new_index(view));
            let filter_entry = |key: u64| {
                let (is_match, read) = view.of().accepts(self, key);
                (ScanResult::of(is_match), read)
            };
            for key in self.changed(view, &index) {
                index.update(key, filter_entry(key).0);
            }
            index.advance(view.of().keys(self), SCAN_BYTES, |key, _, _| {
                filter_entry(key)
            });
            self.find.is_scanning |= !index.is_complete();
            filtered = Some(index);
        }
        if !self.find.pattern.is_empty() && (kind.is_filtered() || kind == EntryKind::Report) {
            // A report is short and all of its lines change, so it is always rescanned.
            let mut index = hits
                .take()
                .filter(|_| kind != EntryKind::Report)
                .unwrap_or_else(|| self.new_index(view));
            let scan_key = |key: u64, from: usize, room: usize| {
                self.scan_entry(view, filtered.as_ref(), key, from, room)
            };
            for key in self.changed(view, &index) {
                let message = self.projections.messages.at(key);
                let length =
                    message.map_or(0, |message| searchable_texts(message).map(str::len).sum());
                let from = usize::saturating_sub(length, RESCAN_BYTES);
                let result = match (scan_key(key, from, usize::MAX).0, index.match_offset(key)) {
                    (ScanResult::Nothing, Some(at)) if from > 0 => ScanResult::Found(at),
                    (result, _) => result,
                };
                index.update(key, result);
            }
            index.advance(view.of().keys(self), SCAN_BYTES, scan_key);
            self.find.is_scanning |= !index.is_complete();
            hits = Some(index);
        }
        let scanned_to = self.event_log.last_seq();
        let slot = &mut self.slots[view as usize];
        (slot.filtered, slot.hits, slot.scanned_to) = (filtered, hits, scanned_to);
    }

    /// Returns an empty index that starts at the current position.
    fn new_index(&self, view: View) -> MatchIndex {
        MatchIndex::from(match self.follows() {
            true => view.of().keys(self).end,
            false => self.place(view).cursor.key,
        })
    }

    /// Returns the entries that changed since the last scan, among those already scanned.
    fn changed(&self, view: View, index: &MatchIndex) -> Vec<u64> {
        let scanned_to = self.slot(view).scanned_to;
        if scanned_to >= self.event_log.last_seq() {
            return Vec::new();
        }
        let mut changed = view.of().changed(self, scanned_to);
        changed.retain(|key| index.known_result(*key).is_some());
        changed
    }

    fn event_of(&self, view: View, key: u64) -> Option<Event> {
        self.event_log
            .get(view.of().seq_at(self, LinePos::of(key))?)
    }

    /// Returns the attributes of an event that the filter reads.
    pub(crate) fn attrs<'a>(&'a self, event: &'a Event) -> EventAttrs<'a> {
        EventAttrs::of(event, &self.projections).numbered(self.event_log.number_of(event.seq))
    }

    /// Returns whether the filter accepts an event, and the number of bytes read. The data of evicted events can't be checked.
    pub(crate) fn accepts_event(&self, seq: Option<Seq>) -> (bool, usize) {
        let filter = &self.find.filter;
        match seq.and_then(|seq| self.event_log.get(seq)) {
            Some(event) => (filter.matches(&self.attrs(&event)), filter.cost(&event)),
            None => (false, 0),
        }
    }

    /// Returns whether an entry is visible: there is no filter, or the entry matches it.
    pub(crate) fn is_visible(&self, view: View, key: u64) -> bool {
        if self.find.filter.is_empty() || !view.kind().is_filtered() {
            return true;
        }
        self.is_accepted(view, self.slot(view).filtered.as_ref(), key)
    }

    /// Returns whether the filter accepts an entry, by its index if that knows it.
    fn is_accepted(&self, view: View, index: Option<&MatchIndex>, key: u64) -> bool {
        let known = index.and_then(|index| index.known_result(key));
        known.unwrap_or_else(|| view.of().accepts(self, key).0)
    }

    /// Searches an entry that the filter accepts.
    fn scan_entry(
        &self,
        view: View,
        filtered: Option<&MatchIndex>,
        key: u64,
        from: usize,
        room: usize,
    ) -> (ScanResult, usize) {
        if filtered.is_some() && !self.is_accepted(view, filtered, key) {
            return (ScanResult::Nothing, 0);
        }
        let pattern = &self.find.pattern;
        let plain = |text| PatternSource {
            text,
            is_json: false,
        };
        if let Some(texts) = view.of().texts(self, key, filtered) {
            return pattern.look(&texts, from, room);
        }
        // Loading an event is slow, so do it only where its text is searched.
        let shows_event = view.kind() == EntryKind::Events;
        if let Some(event) = shows_event.then(|| self.event_of(view, key)).flatten() {
            let mut sources = vec![PatternSource {
                text: event.data.text(),
                is_json: event.data.json().is_some(),
            }];
            sources.push(plain(&event.name));
            sources.extend(event.ns.iter().map(|segment| plain(segment)));
            sources.extend(event.id.as_deref().map(plain));
            return pattern.look(&sources, from, room);
        }
        let text = text_of(&self.line(view, LinePos::of(key)));
        pattern.look(&[plain(&text)], from, room)
    }

    /// Jumps to the pending match if it is known. Returns false if there is none or the scan must continue.
    pub(crate) fn seek(&mut self) -> bool {
        let view = self.view();
        let (Some(seek), Some(index)) = (self.find.seek, &self.slot(view).hits) else {
            return false;
        };
        let here = self.place(view).cursor;
        let end = view.of().keys(self).end;
        // A viewer at the newest entry has nothing ahead, so search backward.
        let near = if self.follows() {
            Seek::Before
        } else {
            Seek::Near
        };
        let (seek, from) = match seek {
            Seek::Near => (near, if self.follows() { end } else { here.key }),
            Seek::Next => (Seek::Next, here.key + 1),
            Seek::Before => (Seek::Before, if self.follows() { end } else { here.key }),
        };
        let back = seek == Seek::Before;
        // An entry of several lines can have more matches.
        let within = match seek {
            Seek::Near => None,
            _ if self.follows() || !index.is_match(here.key) => None,
            Seek::Next => self.matching_line(view, here.key, here.line + 1..usize::MAX, false),
            Seek::Before => self.matching_line(view, here.key, 0..here.line, true),
        };
        let spot = within
            .map(|line| LinePos {
                key: here.key,
                line,
            })
            .or_else(|| {
                let (key, is_final) = match back {
                    true => (index.before(from), index.has_scanned_to_previous(from)),
                    false => (index.at_or_after(from), index.has_scanned_to_next(from)),
                };
                let wrapped = || if back { index.last() } else { index.first() };
                let key = key
                    .filter(|_| is_final)
                    .or_else(|| wrapped().filter(|_| index.is_complete()))?;
                let line = self
                    .matching_line(view, key, 0..usize::MAX, back)
                    .unwrap_or(0);
                Some(LinePos { key, line })
            });
        if spot.is_some() || index.is_complete() {
            self.find.seek = None;
        }
        let Some(spot) = spot else { return false };
        self.move_in_view(|place, rows, height| place.go(rows, height, spot));
        true
    }

    /// Returns the first or last of an entry's lines that contains the pattern.
    fn matching_line(
        &self,
        view: View,
        key: u64,
        lines: Range<usize>,
        last: bool,
    ) -> Option<usize> {
        let end = self.rows(view).height(key).min(lines.end);
        let is_match = |line: &usize| {
            self.find
                .pattern
                .is_in(&text_of(&self.line(view, LinePos { key, line: *line })))
        };
        let mut lines = lines.start.min(end)..end;
        if last {
            lines.rfind(is_match)
        } else {
            lines.find(is_match)
        }
    }

    /// Highlights the matches in a line. If a match lies in the truncated part of the event, the line shows that part.
    pub(crate) fn highlight(&self, view: View, spot: LinePos, mut line: Line) -> Line {
        let pattern = &self.find.pattern;
        if pattern.is_empty() {
            return line;
        }
        light(&mut line, pattern);
        let has_match = |line: &Line| {
            line.left
                .iter()
                .chain(&line.right)
                .any(|piece| piece.tone == Tone::Hit)
        };
        let shows_event = view.kind() == EntryKind::Events;
        let offset = self
            .slot(view)
            .hits
            .as_ref()
            .and_then(|index| index.match_offset(spot.key));
        if let Some(at) = offset.filter(|_| shows_event && !has_match(&line))
            && let Some(event) = self
                .event_of(view, spot.key)
                .filter(|event| at < event.data.text().len())
        {
            let width = self.slot(view).window.0;
            let head = truncate(&mut line, width / 2);
            let excerpt = excerpt(
                event.data.text(),
                at,
                width.saturating_sub(head + 4),
                pattern,
            );
            line.push_dim("  … ");
            line.push_plain(&excerpt);
            light(&mut line, pattern);
        }
        line
    }

    /// Toggles the mark of the event under the cursor. Returns false if there are too many marks.
    pub fn mark(&mut self) -> bool {
        let seq = self
            .anchor
            .or_else(|| self.event_under_cursor().map(|event| event.seq));
        let Some(seq) = seq else { return true };
        self.find.mark(seq)
    }

    /// Returns which lines of a view's window are marked.
    pub fn marked(&self, view: View) -> Vec<bool> {
        if self.find.marks().is_empty() {
            return Vec::new();
        }
        // During time travel, later events have no entry.
        let marks = self.find.marks().range(..=self.event_log.last_seq());
        let spots: BTreeSet<LinePos> = marks
            .filter_map(|seq| view.of().spot_of(self, *seq))
            .collect();
        let shown = self.spots(view).into_iter();
        shown.map(|spot| spots.contains(&spot)).collect()
    }

    /// Returns the search, filter and marks.
    pub fn finding(&self) -> &Find {
        &self.find
    }

    /// Jumps to the next or previous landmark of a kind. Returns false if there is none.
    pub fn go_to_next(&mut self, landmark: Landmark, forward: bool) -> bool {
        // A viewer at the newest entry has nothing ahead, so search backward.
        let forward =
            forward && !(self.follows() && matches!(landmark, Landmark::Problem | Landmark::Mark));
        // An evicted position counts as just before the oldest event.
        let first = self.event_log.first_seq().unwrap_or(Seq::MAX);
        let here = self.anchor.map_or(self.event_log.last_seq().next(), |seq| {
            seq.max(first.previous())
        });
        if let Some(is_found) = self.view().of().go_to_next(self, landmark, forward) {
            return is_found;
        }
        let in_order = |seqs: &[Seq]| match forward {
            true => seqs.get(seqs.partition_point(|seq| *seq <= here)).copied(),
            false => seqs[..seqs.partition_point(|seq| *seq < here)]
                .last()
                .copied(),
        };
        let messages = self.projections.messages.items();
        let target = match landmark {
            Landmark::Problem => in_order(&self.problems(false)),
            Landmark::Step => in_order(self.projections.landmarks.steps()),
            Landmark::Mark if forward => self.find.marks().range(here.next()..).next().copied(),
            Landmark::Mark => self.find.marks().range(..here).next_back().copied(),
            Landmark::Message if forward => messages
                .get(messages.partition_point(|m| m.first_seq <= here))
                .map(|m| m.first_seq),
            Landmark::Message => messages[..messages.partition_point(|m| m.first_seq < here)]
                .last()
                .map(|m| m.first_seq),
        };
        // Evicted events, and later ones during time travel, can't be reached.
        let shown = first..=self.event_log.last_seq();
        let Some(seq) = target.filter(|seq| shown.contains(seq)) else {
            return false;
        };
        self.go_to(seq);
        true
    }

    /// Returns the positions of failures, run ends and gaps, in order. Runs without streamed events are known from a
    /// snapshot, which has no line in Messages.
    pub(crate) fn problems(&self, streamed: bool) -> Vec<Seq> {
        let runs = self.projections.status.runs().iter();
        let ends = runs
            .filter(|run| !streamed || run.first_seq.is_some())
            .filter_map(|run| run.end_seq);
        // A gap has no position of its own; it comes before the next event.
        let gaps = self
            .projections
            .delivery
            .possible_gaps()
            .iter()
            .map(|gap| gap.after + 1);
        let errors = self.projections.landmarks.errors().iter().copied();
        let mut seqs: Vec<Seq> = errors.chain(ends).chain(gaps).collect();
        seqs.sort_unstable();
        seqs.dedup();
        seqs
    }
}

fn text_of(line: &Line) -> String {
    line.left
        .iter()
        .chain(&line.right)
        .map(|piece| piece.text.as_str())
        .collect()
}

/// Truncates the left part of a line to a number of columns. Returns its new width.
fn truncate(line: &mut Line, columns: usize) -> usize {
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

/// Returns the part of an event's data around a match, for a number of columns.
fn excerpt(data: &str, at: usize, columns: usize, pattern: &Pattern) -> String {
    let before = text::head(data, at.saturating_sub(columns / 3)).len();
    let around = &text::head(data, at + 8 * columns + 64)[before..];
    let around = if pattern.is_in(around) {
        around.into()
    } else {
        unescaped(around)
    };
    text::fit(&text::clean(&around), columns).into_owned()
}
