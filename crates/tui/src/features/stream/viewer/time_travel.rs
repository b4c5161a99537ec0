//! Time travel in a stream: the projections as of an event, while new events are folded into the current ones. A past
//! state is rebuilt from the nearest saved state and the events after it, in short steps, so that seeking through a
//! million events does not block the screen.

use super::{VIEWS, Viewer};
use crate::widgets::scroll::Place;
use jiff::{SignedDuration, Timestamp};
use runtail_stream::projection::Projections;
use runtail_stream::{EventNumber, Item, Record, Seq};
use std::collections::VecDeque;

/// Maximum number of bytes folded in one step, including the cost of each event.
const TURN: usize = 2 << 20;
/// The fixed cost of an event in bytes.
const EVENT: usize = 400;
/// Maximum number of saved states, and their maximum total size.
const MOST: usize = 64;
const MOST_BYTES: usize = 24 << 20;
/// Larger states are not saved, because copying one would cause a noticeable pause.
const LARGEST: usize = 8 << 20;
/// Initial distance between two saved states, in events.
const FIRST_STEP: u64 = 2048;
/// Number of newest states that are always kept, because stepping back starts from them.
const RECENT: usize = 2;
/// Distance between two saved states near the shown event, and their number, for stepping back event by event.
const NEAR_STEP: u64 = 256;
const NEAR: usize = 6;
const NEAR_BYTES: usize = 24 << 20;
/// Maximum number of stored non-event items, and of their bytes.
const MAX_SIGNS: usize = 65_536;
const MAX_SIGN_BYTES: usize = 16 << 20;

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
    /// Returns the name of the speed.
    pub fn word(self) -> &'static str {
        match self {
            Speed::One => "1x",
            Speed::Two => "2x",
            Speed::Ten => "10x",
            Speed::Max => "max",
        }
    }

    /// Returns the next speed, wrapping around.
    pub fn next(self) -> Speed {
        match self {
            Speed::One => Speed::Two,
            Speed::Two => Speed::Ten,
            Speed::Ten => Speed::Max,
            Speed::Max => Speed::One,
        }
    }

    fn times(self) -> Option<i32> {
        match self {
            Speed::One => Some(1),
            Speed::Two => Some(2),
            Speed::Ten => Some(10),
            Speed::Max => None,
        }
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
}

/// A saved state of the projections, as of an event.
#[derive(Debug)]
struct Kept {
    at: Seq,
    /// The number of signs included, counted from the first.
    signs: u64,
    state: Box<Projections>,
    weight: usize,
}

/// The shown position. Its projections take the place of the viewer's own ones.
#[derive(Debug)]
struct Moment {
    /// The current projections.
    now: Box<Projections>,
    at: Seq,
    signs: u64,
    target: Seq,
    /// When playback began, and the event time that it began at.
    playing: Option<(Timestamp, Timestamp)>,
    near: VecDeque<Kept>,
}

/// The saved states of a stream, and the shown position.
#[derive(Debug)]
pub struct Past {
    /// All non-event items, each with the event before it.
    signs: VecDeque<(Seq, Item)>,
    signs_gone: u64,
    sign_bytes: usize,
    kept: Vec<Kept>,
    recent: VecDeque<Kept>,
    step: u64,
    /// The event where saving a state was last considered, the size of that state, and the bytes folded since.
    tried: Seq,
    weight: usize,
    folded: usize,
    speed: Speed,
    moment: Option<Moment>,
}

impl Default for Past {
    fn default() -> Self {
        Past {
            signs: VecDeque::new(),
            signs_gone: 0,
            sign_bytes: 0,
            kept: Vec::new(),
            recent: VecDeque::new(),
            step: FIRST_STEP,
            tried: Seq::START,
            weight: 0,
            folded: 0,
            speed: Speed::default(),
            moment: None,
        }
    }
}

/// Returns the approximate memory of a sign, in bytes.
fn weight(sign: &Item) -> usize {
    let own = match sign {
        Item::Record(record) => record.weight(),
        Item::Retrying { why, request, .. } => why.len() + request.len(),
        _ => 0,
    };
    size_of::<(Seq, Item)>() + own
}

impl Past {
    fn signs_seen(&self) -> u64 {
        self.signs_gone + self.signs.len() as u64
    }

    fn note(&mut self, after: Seq, sign: Item) {
        self.sign_bytes += weight(&sign);
        self.signs.push_back((after, sign));
        while self.signs.len() > 1 && (self.signs.len() > MAX_SIGNS || self.sign_bytes > MAX_SIGN_BYTES) {
            self.sign_bytes -= self.signs.pop_front().map_or(0, |(_, sign)| weight(&sign));
            self.signs_gone += 1;
        }
    }

    /// Saves a copy of the state after a new event if one is due. A copy is due only after as many bytes were folded as
    /// it takes, so that copying stays cheap compared to folding.
    fn keep(&mut self, at: Seq, state: &Projections, first: Seq) {
        if at < self.tried + FIRST_STEP || self.folded < self.weight {
            return;
        }
        (self.tried, self.weight, self.folded) = (at, state.weight(), 0);
        let signs = self.signs_seen();
        if !self.keep_copy(at, signs, state, first) && self.weight <= LARGEST {
            self.recent.truncate(RECENT - 1);
            self.recent.push_front(Kept { at, signs, state: Box::new(state.clone()), weight: self.weight });
        }
    }

    /// Saves a copy of the state after an event, unless there is one nearby. Returns whether it did.
    fn keep_copy(&mut self, at: Seq, signs: u64, state: &Projections, first: Seq) -> bool {
        let weight = state.weight();
        let place = self.kept.partition_point(|kept| kept.at < at);
        let near = |kept: &Kept| kept.at.0.abs_diff(at.0) < self.step;
        if weight > LARGEST || self.kept.iter().skip(place.saturating_sub(1)).take(2).any(near) {
            return false;
        }
        self.kept.insert(place, Kept { at, signs, state: Box::new(state.clone()), weight });
        // States before the oldest event can't be continued.
        self.kept.retain(|kept| kept.at + 1 >= first);
        let bytes = |kept: &[Kept]| kept.iter().map(|kept| kept.weight).sum::<usize>();
        while self.kept.len() > 1 && (self.kept.len() > MOST || bytes(&self.kept) > MOST_BYTES) {
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.step *= 2;
        }
        true
    }

    /// Returns the size of the saved states, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let near = self.moment.iter().flat_map(|moment| &moment.near);
        self.kept.iter().chain(&self.recent).chain(near).map(|kept| kept.weight).sum()
    }

    /// Drops the saved states.
    pub(crate) fn let_go(&mut self) {
        self.kept.clear();
        self.recent.clear();
        if let Some(moment) = &mut self.moment {
            moment.near.clear();
        }
    }

    /// Returns the number of signs before an event, for a state that is folded from the start.
    fn signs_before(&self, seq: Seq) -> u64 {
        self.signs_gone + self.signs.partition_point(|(after, _)| *after + 1 < seq) as u64
    }
}

impl Viewer {
    /// Folds a new item into the current projections, also during time travel.
    pub(crate) fn fold(&mut self, item: &Item) {
        let Viewer { past, projections, tape, .. } = self;
        let mut moment = past.moment.take();
        let now = moment.as_mut().map_or(projections, |moment| &mut *moment.now);
        now.apply(item);
        match item {
            Item::Record(Record::Event(event)) => {
                past.folded += EVENT + event.data.text().len();
                past.keep(event.seq, now, tape.first_kept().unwrap_or_default());
            }
            sign => past.note(tape.newest_seq(), sign.clone()),
        }
        past.moment = moment;
    }

    /// Returns the projections of all received events.
    pub(crate) fn present(&self) -> &Projections {
        self.past.moment.as_ref().map_or(&self.projections, |moment| &*moment.now)
    }

    /// Returns the position of time travel; `None` while the viewer shows the present.
    pub fn playhead(&self) -> Option<Playhead> {
        let moment = self.past.moment.as_ref()?;
        let (at, target, playing) = (moment.at, moment.target, moment.playing.is_some());
        let time = self.tape.time(at);
        let span = self.span();
        let [number, oldest, newest] = [at, span.0, span.1].map(|seq| self.tape.events_until(seq));
        let numbers = (number, oldest, newest);
        Some(Playhead { at, time, numbers, target, span, playing, speed: self.past.speed })
    }

    /// Returns whether the next step has work: folding or playback.
    pub fn is_turning(&self) -> bool {
        self.past.moment.as_ref().is_some_and(|moment| moment.at < moment.target || moment.playing.is_some())
    }

    /// Returns whether folding to a requested event is unfinished.
    pub fn is_on_the_way(&self) -> bool {
        self.past.moment.as_ref().is_some_and(|moment| moment.at < moment.target && moment.playing.is_none())
    }

    /// Returns the oldest and newest events that can be shown.
    pub fn span(&self) -> (Seq, Seq) {
        let newest = self.tape.newest_seq();
        let oldest = match self.tape.first_kept() {
            None | Some(Seq(0 | 1)) => Seq::START,
            // Items before the oldest event are known only from a saved state.
            Some(first) => {
                let usable = self.past.kept.iter().find(|kept| kept.at + 1 >= first);
                usable.map_or(first, |kept| kept.at.min(newest))
            }
        };
        (oldest.min(newest), newest)
    }

    /// Shows the stream as of an event; 0 is before the first one.
    pub fn seek_to(&mut self, target: Seq) {
        let (oldest, newest) = self.span();
        let target = target.clamp(oldest, newest);
        let first = self.tape.first_kept().unwrap_or_default().max(Seq(1));
        let (has_snapshots, is_recording) = (self.has_snapshots(), self.is_recording());
        let max_bytes = self.tape.limits().max_bytes;
        let Viewer { past, projections, .. } = self;
        let (mut moment, shown) = match past.moment.take() {
            Some(moment) => (moment, true),
            None => {
                let now = Box::new(std::mem::take(projections));
                (Moment { now, at: Seq::START, signs: 0, target, playing: None, near: VecDeque::new() }, false)
            }
        };
        moment.target = target;
        moment.playing = None;
        let fits = |at: Seq| at <= target && (at + 1 >= first || at == target);
        // Continue from the shown state, unless a saved one is closer.
        let own = (shown && fits(moment.at)).then_some(moment.at);
        let near = past
            .kept
            .iter()
            .chain(&past.recent)
            .chain(&moment.near)
            .filter(|kept| fits(kept.at))
            .max_by_key(|kept| kept.at);
        let near = near.filter(|kept| own.is_none_or(|own| own + NEAR_STEP < kept.at));
        let known = match (target == newest, near) {
            (true, near)
                if own.is_none_or(|own| own + NEAR_STEP < target) && near.is_none_or(|near| near.at < target) =>
            {
                Some((newest, past.signs_seen(), (*moment.now).clone()))
            }
            (_, Some(kept)) => Some((kept.at, kept.signs, (*kept.state).clone())),
            (_, None) if own.is_some() => None,
            (_, None) => Some((
                first.previous(),
                past.signs_before(first),
                Viewer::unfolded(max_bytes, has_snapshots, is_recording),
            )),
        };
        let is_new = known.is_some();
        if let Some((at, signs, state)) = known {
            (moment.at, moment.signs, *projections) = (at, signs, state);
        }
        past.moment = Some(moment);
        if is_new {
            self.forget_lines();
        }
        self.anchor = None;
        self.brought = [None; 8];
        self.fold_turn();
    }

    /// Steps by events. Stepping past the newest event returns to the present.
    pub fn step_in_time(&mut self, by: i64) {
        let (oldest, newest) = self.span();
        let moment = self.past.moment.as_ref();
        // While a seek is unfinished, step from its target.
        let at = moment.map_or(newest, |moment| moment.target);
        match Seq(at.0.saturating_add_signed(by)) {
            _ if newest == Seq::START || (by > 0 && moment.is_none()) => {}
            to if to > newest && moment.is_some() => self.return_to_now(),
            to => self.seek_to(to.max(oldest)),
        }
    }

    /// Jumps by 5% of the event log.
    pub fn slide(&mut self, forward: bool) {
        let (oldest, newest) = self.span();
        let by = i64::try_from((newest - oldest).div_ceil(20)).unwrap_or(i64::MAX).max(1);
        let at = self.past.moment.as_ref().map_or(newest, |moment| moment.target);
        let by = if forward { by.min(i64::try_from(newest - at).unwrap_or(i64::MAX)).max(1) } else { -by };
        self.step_in_time(by);
    }

    /// Seeks to a fraction of the range that can be shown.
    pub fn slide_to(&mut self, part: u64, of: u64) {
        let (oldest, newest) = self.span();
        let part = u128::from(newest - oldest) * u128::from(part.min(of));
        let to = oldest + u64::try_from(part.div_ceil(u128::from(of.max(1)))).unwrap_or(newest.0);
        let is_there = |moment: &Moment| moment.target == to && moment.playing.is_none();
        if !self.past.moment.as_ref().is_some_and(is_there) {
            self.seek_to(to);
        }
    }

    /// Returns to the present.
    pub fn return_to_now(&mut self) {
        let Some(moment) = self.past.moment.take() else { return };
        self.projections = *moment.now;
        self.tape.stand_at(None);
        self.forget_lines();
    }

    /// Plays or pauses. Pausing in the present stops at the newest event.
    pub fn play_or_pause(&mut self) {
        match &mut self.past.moment {
            Some(moment) if moment.playing.is_some() => {
                moment.playing = None;
                moment.target = moment.at;
            }
            Some(_) => self.play(),
            None => self.seek_to(self.tape.newest_seq()),
        }
    }

    /// Plays from the oldest event.
    pub fn play_from_start(&mut self) {
        self.seek_to(self.span().0);
        self.play();
    }

    /// Increases the playback speed, wrapping around to the original. Returns the speed.
    pub fn next_speed(&mut self) -> Speed {
        self.past.speed = self.past.speed.next();
        if self.past.moment.as_ref().is_some_and(|moment| moment.playing.is_some()) {
            self.play();
        }
        self.past.speed
    }

    fn play(&mut self) {
        let Some(moment) = &mut self.past.moment else { return };
        let from = self.tape.time(moment.at).or_else(|| self.tape.time(moment.at + 1));
        moment.playing = Some((self.now, from.unwrap_or(self.now)));
    }

    /// Plays up to `now`, and folds one step of an unfinished seek.
    pub fn turn_of_past(&mut self, now: Timestamp) {
        self.now = now;
        self.play_on();
        self.fold_turn();
        self.end_play();
    }

    /// Returns to the present when playback reaches the newest event, in the same step, so that the screen does not
    /// change until more events arrive.
    fn end_play(&mut self) {
        let newest = self.tape.newest_seq();
        if self.past.moment.as_ref().is_some_and(|moment| moment.playing.is_some() && moment.at >= newest) {
            // The user did not ask to follow new events, so the cursor stays on its event.
            let cursor = self.anchor;
            self.return_to_now();
            self.anchor = cursor;
        }
    }

    /// Moves playback to the event that is due.
    fn play_on(&mut self) {
        let newest = self.tape.newest_seq();
        let Some(moment) = &mut self.past.moment else { return };
        let Some((since, from)) = moment.playing.filter(|_| moment.at >= moment.target) else { return };
        // If the clock was set back, playback would stop until it catches up.
        if self.now < since {
            return self.play();
        }
        let until = self.past.speed.times().map(|times| {
            let gone = self.now.duration_since(since).max(SignedDuration::ZERO);
            from.checked_add(gone.saturating_mul(times)).unwrap_or(Timestamp::MAX)
        });
        // Counts evicted events as due, so that playback skips them.
        let came = |seq: Seq| self.tape.time(seq).is_none_or(|at| until.is_none_or(|until| at <= until));
        let most = moment.at + (TURN / EVENT) as u64;
        while moment.target < newest.min(most) && came(moment.target + 1) {
            moment.target = moment.target.next();
        }
    }

    /// Folds one step of a seek.
    fn fold_turn(&mut self) {
        let (has_snapshots, is_recording) = (self.has_snapshots(), self.is_recording());
        let max_bytes = self.tape.limits().max_bytes;
        let Viewer { past, projections, tape, .. } = self;
        let Some(mut moment) = past.moment.take() else { return };
        let mut room = TURN;
        let mut is_torn = false;
        while moment.at < moment.target && room > 0 {
            let next = moment.at + 1;
            let Some(event) = tape.whole(next) else {
                // Events were evicted meanwhile: fold what is left without them.
                let first = tape.first_kept().unwrap_or(next).max(Seq(1));
                *projections = Viewer::unfolded(max_bytes, has_snapshots, is_recording);
                moment.at = first.previous().max(next);
                moment.target = moment.target.max(moment.at);
                moment.near.clear();
                is_torn = true;
                continue;
            };
            while let Some((after, sign)) = sign(&past.signs, past.signs_gone, moment.signs)
                && *after < next
            {
                projections.apply(sign);
                moment.signs = moment.signs.max(past.signs_gone) + 1;
            }
            room = room.saturating_sub(EVENT + event.data.text().len());
            projections.apply(&Item::Record(Record::Event(event)));
            moment.at = next;
            if next.0.is_multiple_of(NEAR_STEP) && moment.target - next < NEAR as u64 * NEAR_STEP {
                keep_near(&mut moment, projections);
            }
            if next.0.is_multiple_of(past.step) {
                past.keep_copy(next, moment.signs, projections, tape.first_kept().unwrap_or_default());
            }
        }
        tape.stand_at(Some(moment.at));
        past.moment = Some(moment);
        if is_torn {
            // The cursor stays on its event.
            let cursor = self.anchor;
            self.forget_lines();
            self.anchor = cursor;
        }
    }

    /// Drops layouts, matches and sizes that belong to another position.
    fn forget_lines(&mut self) {
        (self.blocks, self.runs) = Default::default();
        self.blocks.wrap = self.wrap;
        self.blocks.tell_times(self.timestamps);
        for view in VIEWS {
            self.find.forget(view as usize);
            self.find.told[view as usize] = Seq::START;
        }
        self.bars.forget();
        self.comparison.clear();
        // States are numbered in arrival order, so numbers differ if the start was evicted.
        let known = self.snapshot.and_then(|number| self.snapshot_at(number));
        let is_other = known.is_some_and(|snapshot| Some(snapshot.seq) != self.snapshot_seq);
        if is_other || self.projections.values.rows().is_empty() {
            (self.state, self.snapshot, self.snapshot_seq) = (None, None, None);
        }
        self.anchor = None;
        self.brought = [None; 8];
        self.places = [Place::following(); 8];
    }
}

/// Returns the sign with this number, or the oldest one if that was evicted.
fn sign(signs: &VecDeque<(Seq, Item)>, gone: u64, number: u64) -> Option<&(Seq, Item)> {
    signs.get(usize::try_from(number.saturating_sub(gone)).ok()?)
}

/// Saves the state at the shown position, for stepping back.
fn keep_near(moment: &mut Moment, state: &Projections) {
    let weight = state.weight();
    if weight > LARGEST || moment.near.iter().any(|kept| kept.at == moment.at) {
        return;
    }
    let room = NEAR_BYTES.saturating_sub(weight);
    while moment.near.len() >= NEAR || moment.near.iter().map(|kept| kept.weight).sum::<usize>() > room {
        moment.near.pop_front();
    }
    moment.near.push_back(Kept { at: moment.at, signs: moment.signs, state: Box::new(state.clone()), weight });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_anywhere_a_state_that_was_kept_is_near() {
        let (mut past, state, newest) = (Past::default(), Projections::default(), Seq(1_000_000));
        for at in (1..=newest.0).map(Seq) {
            past.folded += EVENT;
            past.keep(at, &state, Seq(1));
        }
        assert!(past.kept.len() <= MOST && past.recent.len() <= RECENT);
        let gaps = past.kept.windows(2).map(|two| two[1].at - two[0].at);
        assert!(gaps.max().unwrap() <= 2 * past.step && past.step <= 4 * newest.0 / MOST as u64, "{}", past.step);
        let last = past.kept.iter().chain(&past.recent).map(|kept| kept.at).max().unwrap();
        assert!(newest - last <= 2 * FIRST_STEP, "the way back from now: {last}");
        // States before the oldest event are dropped.
        let later = newest + 2 * past.step;
        assert!(past.keep_copy(later, 0, &state, newest) && past.kept.iter().all(|kept| kept.at + 1 >= newest));
    }
}
