//! Time travel in a stream: the projections as of an event, while new events are folded into the current ones. A past
//! state is rebuilt from the nearest saved state and the events after it, in short steps, so that seeking through a
//! million events does not block the screen.

use super::{Slot, Viewer};
use jiff::{SignedDuration, Timestamp};
use runtail_stream::projection::Projections;
use runtail_stream::{EventNumber, Item, Record, Seq};
use std::collections::VecDeque;

/// Maximum number of bytes folded in one step, including the cost of each event.
const STEP_BYTES: usize = 2 << 20;
/// The fixed cost of an event in bytes.
const EVENT_COST: usize = 400;
/// Maximum number of saved states, and their maximum total size.
const MAX_SAVED: usize = 64;
const MAX_SAVED_BYTES: usize = 24 << 20;
/// Larger states are not saved, because copying one would cause a noticeable pause.
const MAX_STATE_BYTES: usize = 8 << 20;
/// Initial distance between two saved states, in events.
const FIRST_DISTANCE: u64 = 2048;
/// Number of newest states that are always kept, because stepping back starts from them.
const MAX_RECENT: usize = 2;
/// Distance between two saved states near the shown event, and their number, for stepping back event by event.
const NEAR_DISTANCE: u64 = 256;
const MAX_NEAR: usize = 6;
const MAX_NEAR_BYTES: usize = 24 << 20;
/// Maximum number of stored non-event items, and of their bytes.
const MAX_MARKERS: usize = 65_536;
const MAX_MARKER_BYTES: usize = 16 << 20;

/// The playback speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Speed {
    /// The original speed.
    #[default]
    One,
    Two,
    Ten,
    /// No delay between events.
    Max,
}

impl Speed {
    /// Returns the word for it, how many times as fast as the original it is, and the speed after it.
    fn facts(self) -> (&'static str, Option<i32>, Speed) {
        match self {
            Speed::One => ("1x", Some(1), Speed::Two),
            Speed::Two => ("2x", Some(2), Speed::Ten),
            Speed::Ten => ("10x", Some(10), Speed::Max),
            Speed::Max => ("max", None, Speed::One),
        }
    }

    pub fn word(self) -> &'static str {
        self.facts().0
    }
}

/// The position of time travel, for the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Playhead {
    /// The last event that is included.
    pub at: Seq,
    /// The time of that event.
    pub time: Option<Timestamp>,
    /// The number of that event, and the oldest and newest numbers that can be shown.
    pub numbers: (EventNumber, EventNumber, EventNumber),
    /// The event to seek to, which differs from `at` while events are still being folded.
    pub target: Seq,
    /// The oldest and newest events that can be shown.
    pub span: (Seq, Seq),
    pub playing: bool,
    pub speed: Speed,
    /// Whether the newest event is the end of a recording.
    pub is_recording: bool,
}

/// A saved state of the projections, as of an event.
#[derive(Debug)]
struct SavedState {
    at: Seq,
    /// The number of markers included, counted from the first.
    markers: u64,
    state: Box<Projections>,
    weight: usize,
}

/// The shown position. Its projections take the place of the viewer's own ones.
#[derive(Debug)]
struct Position {
    /// The current projections.
    now: Box<Projections>,
    at: Seq,
    markers: u64,
    target: Seq,
    /// When playback began, and the event time that it began at.
    playing: Option<(Timestamp, Timestamp)>,
    near: VecDeque<SavedState>,
}

/// The saved states of a stream, and the shown position.
#[derive(Debug)]
pub struct Past {
    /// All non-event items, each with the event before it.
    markers: VecDeque<(Seq, Item)>,
    markers_evicted: u64,
    marker_bytes: usize,
    saved: Vec<SavedState>,
    recent: VecDeque<SavedState>,
    step: u64,
    /// The event where saving a state was last considered, the size of that state, and the bytes folded since.
    considered: Seq,
    weight: usize,
    folded: usize,
    speed: Speed,
    position: Option<Position>,
}

impl Default for Past {
    fn default() -> Self {
        Past {
            markers: VecDeque::new(),
            markers_evicted: 0,
            marker_bytes: 0,
            saved: Vec::new(),
            recent: VecDeque::new(),
            step: FIRST_DISTANCE,
            considered: Seq::START,
            weight: 0,
            folded: 0,
            speed: Speed::default(),
            position: None,
        }
    }
}

/// Returns the approximate memory of a marker, in bytes.
fn weight(marker: &Item) -> usize {
    let own = match marker {
        Item::Record(record) => record.weight(),
        Item::Retrying { why, request, .. } => why.len() + request.len(),
        _ => 0,
    };
    size_of::<(Seq, Item)>() + own
}

impl Past {
    fn markers_seen(&self) -> u64 {
        self.markers_evicted + self.markers.len() as u64
    }

    fn add_marker(&mut self, after: Seq, marker: Item) {
        self.marker_bytes += weight(&marker);
        self.markers.push_back((after, marker));
        while self.markers.len() > 1
            && (self.markers.len() > MAX_MARKERS || self.marker_bytes > MAX_MARKER_BYTES)
        {
            self.marker_bytes -= self
                .markers
                .pop_front()
                .map_or(0, |(_, marker)| weight(&marker));
            self.markers_evicted += 1;
        }
    }

    /// Saves a copy of the state after a new event if one is due. A copy is due only after as many bytes were folded as
    /// it takes, so that copying stays cheap compared to folding.
    fn save_if_due(&mut self, at: Seq, state: &Projections, first: Seq) {
        if at < self.considered + FIRST_DISTANCE || self.folded < self.weight {
            return;
        }
        (self.considered, self.weight, self.folded) = (at, state.weight(), 0);
        let markers = self.markers_seen();
        if !self.save_copy(at, markers, state, first) && self.weight <= MAX_STATE_BYTES {
            self.recent.truncate(MAX_RECENT - 1);
            self.recent.push_front(SavedState {
                at,
                markers,
                state: Box::new(state.clone()),
                weight: self.weight,
            });
        }
    }

    /// Saves a copy of the state after an event, unless there is one nearby. Returns whether it did.
    fn save_copy(&mut self, at: Seq, markers: u64, state: &Projections, first: Seq) -> bool {
        let weight = state.weight();
        let place = self.saved.partition_point(|saved| saved.at < at);
        let near = |saved: &SavedState| saved.at.0.abs_diff(at.0) < self.step;
        if weight > MAX_STATE_BYTES
            || self
                .saved
                .iter()
                .skip(place.saturating_sub(1))
                .take(2)
                .any(near)
        {
            return false;
        }
        self.saved.insert(
            place,
            SavedState {
                at,
                markers,
                state: Box::new(state.clone()),
                weight,
            },
        );
        // States before the oldest event can't be continued.
        self.saved.retain(|saved| saved.at + 1 >= first);
        let bytes = |saved: &[SavedState]| saved.iter().map(|saved| saved.weight).sum::<usize>();
        while self.saved.len() > 1
            && (self.saved.len() > MAX_SAVED || bytes(&self.saved) > MAX_SAVED_BYTES)
        {
            let mut number = 0;
            self.saved.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.step *= 2;
        }
        true
    }

    /// Returns the projections of all received events during time travel.
    pub(super) fn present(&self) -> Option<&Projections> {
        self.position.as_ref().map(|position| &*position.now)
    }

    /// Returns the size of the saved states, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let near = self.position.iter().flat_map(|position| &position.near);
        self.saved
            .iter()
            .chain(&self.recent)
            .chain(near)
            .map(|saved| saved.weight)
            .sum()
    }

    /// Drops the saved states.
    pub(crate) fn drop_saved(&mut self) {
        self.saved.clear();
        self.recent.clear();
        if let Some(position) = &mut self.position {
            position.near.clear();
        }
    }

    /// Returns the number of markers before an event, for a state that is folded from the start.
    fn markers_before(&self, seq: Seq) -> u64 {
        self.markers_evicted + self.markers.partition_point(|(after, _)| *after + 1 < seq) as u64
    }
}

impl Viewer {
    /// Folds a new item into the current projections, also during time travel.
    pub(crate) fn fold(&mut self, item: &Item) {
        let Viewer {
            past,
            projections,
            event_log,
            ..
        } = self;
        let mut position = past.position.take();
        let now = position
            .as_mut()
            .map_or(projections, |position| &mut *position.now);
        now.apply(item);
        match item {
            Item::Record(Record::Event(event)) => {
                past.folded += EVENT_COST + event.data.text().len();
                past.save_if_due(
                    event.seq,
                    now,
                    event_log.first_retained().unwrap_or_default(),
                );
            }
            marker => past.add_marker(event_log.newest_seq(), marker.clone()),
        }
        past.position = position;
    }

    /// Returns the position of time travel; `None` while the viewer shows the present.
    pub fn playhead(&self) -> Option<Playhead> {
        let position = self.past.position.as_ref()?;
        let (at, target, playing) = (position.at, position.target, position.playing.is_some());
        let time = self.event_log.time(at);
        let span = self.span();
        let [number, oldest, newest] =
            [at, span.0, span.1].map(|seq| self.event_log.events_until(seq));
        let numbers = (number, oldest, newest);
        Some(Playhead {
            at,
            time,
            numbers,
            target,
            span,
            playing,
            speed: self.past.speed,
            is_recording: self.is_recording(),
        })
    }

    /// Returns whether the next step has work: folding or playback.
    pub fn has_time_travel_work(&self) -> bool {
        self.is_at(|position| position.at < position.target || position.playing.is_some())
    }

    /// Returns whether folding to a requested event is unfinished.
    pub fn is_seeking(&self) -> bool {
        self.is_at(|position| position.at < position.target && position.playing.is_none())
    }

    /// Returns whether time travel is at such a position.
    fn is_at(&self, wanted: impl FnOnce(&Position) -> bool) -> bool {
        self.past.position.as_ref().is_some_and(wanted)
    }

    /// Returns the oldest and newest events that can be shown.
    pub fn span(&self) -> (Seq, Seq) {
        let newest = self.event_log.newest_seq();
        let oldest = match self.event_log.first_retained() {
            None | Some(Seq(0 | 1)) => Seq::START,
            // Items before the oldest event are known only from a saved state.
            Some(first) => {
                let usable = self.past.saved.iter().find(|saved| saved.at + 1 >= first);
                usable.map_or(first, |saved| saved.at.min(newest))
            }
        };
        (oldest.min(newest), newest)
    }

    /// Shows the stream as of an event; 0 is before the first one.
    pub fn seek_to(&mut self, target: Seq) {
        let (oldest, newest) = self.span();
        let target = target.clamp(oldest, newest);
        let first = self
            .event_log
            .first_retained()
            .unwrap_or_default()
            .max(Seq(1));
        let origin = self.origin();
        let Viewer {
            past, projections, ..
        } = self;
        let (mut position, shown) = match past.position.take() {
            Some(position) => (position, true),
            None => {
                let now = Box::new(std::mem::take(projections));
                (
                    Position {
                        now,
                        at: Seq::START,
                        markers: 0,
                        target,
                        playing: None,
                        near: VecDeque::new(),
                    },
                    false,
                )
            }
        };
        position.target = target;
        position.playing = None;
        let fits = |at: Seq| at <= target && (at + 1 >= first || at == target);
        // Continue from the shown state, unless a saved one is closer.
        let own = (shown && fits(position.at)).then_some(position.at);
        let near = past
            .saved
            .iter()
            .chain(&past.recent)
            .chain(&position.near)
            .filter(|saved| fits(saved.at))
            .max_by_key(|saved| saved.at);
        let near = near.filter(|saved| own.is_none_or(|own| own + NEAR_DISTANCE < saved.at));
        let known = match (target == newest, near) {
            (true, near)
                if own.is_none_or(|own| own + NEAR_DISTANCE < target)
                    && near.is_none_or(|near| near.at < target) =>
            {
                Some((newest, past.markers_seen(), (*position.now).clone()))
            }
            (_, Some(saved)) => Some((saved.at, saved.markers, (*saved.state).clone())),
            (_, None) if own.is_some() => None,
            (_, None) => Some((
                first.previous(),
                past.markers_before(first),
                origin.projections(),
            )),
        };
        let is_new = known.is_some();
        if let Some((at, markers, state)) = known {
            (position.at, position.markers, *projections) = (at, markers, state);
        }
        past.position = Some(position);
        if is_new {
            self.reset_layout();
        }
        self.anchor = None;
        self.unsync();
        self.fold_step();
    }

    /// Steps by events. Stepping past the newest event returns to the present.
    pub fn step_in_time(&mut self, by: i64) {
        let (oldest, newest) = self.span();
        let position = self.past.position.as_ref();
        // While a seek is unfinished, step from its target.
        let at = position.map_or(newest, |position| position.target);
        match Seq(at.0.saturating_add_signed(by)) {
            _ if newest == Seq::START || (by > 0 && position.is_none()) => {}
            to if to > newest && position.is_some() => self.return_to_present(),
            to => self.seek_to(to.max(oldest)),
        }
    }

    /// Jumps by 5% of the event log.
    pub fn slide(&mut self, forward: bool) {
        let (oldest, newest) = self.span();
        let by = i64::try_from((newest - oldest).div_ceil(20))
            .unwrap_or(i64::MAX)
            .max(1);
        let at = self
            .past
            .position
            .as_ref()
            .map_or(newest, |position| position.target);
        let by = if forward {
            by.min(i64::try_from(newest - at).unwrap_or(i64::MAX))
                .max(1)
        } else {
            -by
        };
        self.step_in_time(by);
    }

    /// Seeks to a fraction of the range that can be shown.
    pub fn slide_to(&mut self, part: u64, of: u64) {
        let (oldest, newest) = self.span();
        let part = u128::from(newest - oldest) * u128::from(part.min(of));
        let to = oldest + u64::try_from(part.div_ceil(u128::from(of.max(1)))).unwrap_or(newest.0);
        if !self.is_at(|position| position.target == to && position.playing.is_none()) {
            self.seek_to(to);
        }
    }

    /// Returns to the present.
    pub fn return_to_present(&mut self) {
        let Some(position) = self.past.position.take() else {
            return;
        };
        self.projections = *position.now;
        self.event_log.show_until(None);
        self.reset_layout();
    }

    /// Plays or pauses. Pausing in the present stops at the newest event.
    pub fn play_or_pause(&mut self) {
        match &mut self.past.position {
            Some(position) if position.playing.is_some() => {
                position.playing = None;
                position.target = position.at;
            }
            Some(_) => self.play(),
            None => self.seek_to(self.event_log.newest_seq()),
        }
    }

    /// Plays from the oldest event.
    pub fn play_from_start(&mut self) {
        self.seek_to(self.span().0);
        self.play();
    }

    /// Increases the playback speed, wrapping around to the original. Returns the speed.
    pub fn next_speed(&mut self) -> Speed {
        self.past.speed = self.past.speed.facts().2;
        if self.is_at(|position| position.playing.is_some()) {
            self.play();
        }
        self.past.speed
    }

    fn play(&mut self) {
        let Some(position) = &mut self.past.position else {
            return;
        };
        let from = self
            .event_log
            .time(position.at)
            .or_else(|| self.event_log.time(position.at + 1));
        position.playing = Some((self.now, from.unwrap_or(self.now)));
    }

    /// Plays up to `now`, and folds one step of an unfinished seek.
    pub fn advance_time_travel(&mut self, now: Timestamp) {
        self.now = now;
        self.advance_playback();
        self.fold_step();
        self.finish_playback();
    }

    /// Returns to the present when playback reaches the newest event, in the same step, so that the screen does not
    /// change until more events arrive.
    fn finish_playback(&mut self) {
        let newest = self.event_log.newest_seq();
        if self.is_at(|position| position.playing.is_some() && position.at >= newest) {
            // The user did not ask to follow new events, so the cursor stays on its event.
            let cursor = self.anchor;
            self.return_to_present();
            self.anchor = cursor;
        }
    }

    /// Moves playback to the event that is due.
    fn advance_playback(&mut self) {
        let newest = self.event_log.newest_seq();
        let Some(position) = &mut self.past.position else {
            return;
        };
        let Some((since, from)) = position.playing.filter(|_| position.at >= position.target)
        else {
            return;
        };
        // If the clock was set back, playback would stop until it catches up.
        if self.now < since {
            return self.play();
        }
        let until = self.past.speed.facts().1.map(|times| {
            let elapsed = self.now.duration_since(since).max(SignedDuration::ZERO);
            from.checked_add(elapsed.saturating_mul(times))
                .unwrap_or(Timestamp::MAX)
        });
        // Counts evicted events as due, so that playback skips them.
        let is_due = |seq: Seq| {
            self.event_log
                .time(seq)
                .is_none_or(|at| until.is_none_or(|until| at <= until))
        };
        let most = position.at + (STEP_BYTES / EVENT_COST) as u64;
        while position.target < newest.min(most) && is_due(position.target + 1) {
            position.target = position.target.next();
        }
    }

    /// Folds one step of a seek.
    fn fold_step(&mut self) {
        let origin = self.origin();
        let Viewer {
            past,
            projections,
            event_log,
            ..
        } = self;
        let Some(mut position) = past.position.take() else {
            return;
        };
        let mut room = STEP_BYTES;
        let mut has_gap = false;
        while position.at < position.target && room > 0 {
            let next = position.at + 1;
            let Some(event) = event_log.whole(next) else {
                // Events were evicted meanwhile: fold what is left without them.
                let first = event_log.first_retained().unwrap_or(next).max(Seq(1));
                *projections = origin.projections();
                position.at = first.previous().max(next);
                position.target = position.target.max(position.at);
                position.near.clear();
                has_gap = true;
                continue;
            };
            while let Some((after, marker)) =
                marker(&past.markers, past.markers_evicted, position.markers)
                && *after < next
            {
                projections.apply(marker);
                position.markers = position.markers.max(past.markers_evicted) + 1;
            }
            room = room.saturating_sub(EVENT_COST + event.data.text().len());
            projections.apply(&Item::Record(Record::Event(event)));
            position.at = next;
            if next.0.is_multiple_of(NEAR_DISTANCE)
                && position.target - next < MAX_NEAR as u64 * NEAR_DISTANCE
            {
                save_near(&mut position, projections);
            }
            if next.0.is_multiple_of(past.step) {
                past.save_copy(
                    next,
                    position.markers,
                    projections,
                    event_log.first_retained().unwrap_or_default(),
                );
            }
        }
        event_log.show_until(Some(position.at));
        past.position = Some(position);
        if has_gap {
            // The cursor stays on its event.
            let cursor = self.anchor;
            self.reset_layout();
            self.anchor = cursor;
        }
    }

    /// Drops layouts, matches and sizes that belong to another position.
    pub(super) fn reset_layout(&mut self) {
        self.views.forget(&self.projections);
        self.anchor = None;
        for slot in &mut self.slots {
            let window = slot.window;
            *slot = Slot {
                window,
                ..Slot::default()
            };
        }
    }
}

/// Returns the marker with this number, or the oldest one if that was evicted.
fn marker(markers: &VecDeque<(Seq, Item)>, evicted: u64, number: u64) -> Option<&(Seq, Item)> {
    markers.get(usize::try_from(number.saturating_sub(evicted)).ok()?)
}

/// Saves the state at the shown position, for stepping back.
fn save_near(position: &mut Position, state: &Projections) {
    let weight = state.weight();
    if weight > MAX_STATE_BYTES || position.near.iter().any(|saved| saved.at == position.at) {
        return;
    }
    let room = MAX_NEAR_BYTES.saturating_sub(weight);
    while position.near.len() >= MAX_NEAR
        || position
            .near
            .iter()
            .map(|saved| saved.weight)
            .sum::<usize>()
            > room
    {
        position.near.pop_front();
    }
    position.near.push_back(SavedState {
        at: position.at,
        markers: position.markers,
        state: Box::new(state.clone()),
        weight,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_state_is_near_every_event() {
        let (mut past, state, newest) = (Past::default(), Projections::default(), Seq(1_000_000));
        for at in (1..=newest.0).map(Seq) {
            past.folded += EVENT_COST;
            past.save_if_due(at, &state, Seq(1));
        }
        assert!(past.saved.len() <= MAX_SAVED && past.recent.len() <= MAX_RECENT);
        let gaps = past.saved.windows(2).map(|two| two[1].at - two[0].at);
        assert!(
            gaps.max().unwrap() <= 2 * past.step && past.step <= 4 * newest.0 / MAX_SAVED as u64,
            "{}",
            past.step
        );
        let last = past
            .saved
            .iter()
            .chain(&past.recent)
            .map(|saved| saved.at)
            .max()
            .unwrap();
        assert!(
            newest - last <= 2 * FIRST_DISTANCE,
            "the last saved state is too old: {last}"
        );
        // States before the oldest event are dropped.
        let later = newest + 2 * past.step;
        assert!(
            past.save_copy(later, 0, &state, newest)
                && past.saved.iter().all(|saved| saved.at + 1 >= newest)
        );
    }
}
