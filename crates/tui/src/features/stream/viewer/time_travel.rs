//! The past of a stream: its projections as of an event, while what comes is folded beside them. A moment is made from the
//! nearest state that was kept, and from the events after that: in turns, so that a million of them hold nothing up.

use super::{VIEWS, Viewer};
use crate::widgets::scroll::Place;
use jiff::{SignedDuration, Timestamp};
use runtail_stream::projection::Projections;
use runtail_stream::{EventNumber, Item, Record, Seq};
use std::collections::VecDeque;

/// Bytes of events that are folded in one turn, with what each costs beside them.
const TURN: usize = 2 << 20;
/// What an event costs beside its bytes.
const EVENT: usize = 400;
/// States kept along the tape, and their bytes together.
const MOST: usize = 64;
const MOST_BYTES: usize = 24 << 20;
/// One that is larger is not kept: to copy it would be felt.
const LARGEST: usize = 8 << 20;
/// Events between two states that are kept, at first.
const FIRST_STEP: u64 = 2048;
/// States kept of what came last, whatever the others' distance: the way back begins there.
const RECENT: usize = 2;
/// Events between two states that are kept near the moment that is shown, and how many: the way back, event by event.
const NEAR_STEP: u64 = 256;
const NEAR: usize = 6;
const NEAR_BYTES: usize = 24 << 20;
/// Signs beside the events that are kept, and their bytes.
const MAX_SIGNS: usize = 65_536;
const MAX_SIGN_BYTES: usize = 16 << 20;

/// How fast the past is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Speed {
    /// As it was.
    #[default]
    One,
    /// Twice as fast.
    Two,
    /// Ten times as fast.
    Ten,
    /// Without waiting.
    Max,
}

impl Speed {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Speed::One => "1x",
            Speed::Two => "2x",
            Speed::Ten => "10x",
            Speed::Max => "max",
        }
    }

    /// The next one, and the first after the last.
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

/// Where one stands in the past, for the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Playhead {
    /// The event that came last.
    pub at: Seq,
    /// When it happened.
    pub time: Option<Timestamp>,
    /// Its number among the events of the stream, and those of the oldest and the newest moment.
    pub numbers: (EventNumber, EventNumber, EventNumber),
    /// The event that is gone to, while the way there is not yet folded.
    pub target: Seq,
    /// The oldest moment that can be shown, and the newest.
    pub span: (Seq, Seq),
    /// Whether it is played.
    pub playing: bool,
    /// How fast.
    pub speed: Speed,
}

/// A state of the projections, as of an event.
#[derive(Debug)]
struct Kept {
    at: Seq,
    /// Signs that it knows of, counted from the first.
    signs: u64,
    state: Box<Projections>,
    weight: usize,
}

/// The moment that is shown. Its projections stand in the viewer's own place.
#[derive(Debug)]
struct Moment {
    /// Those of now.
    now: Box<Projections>,
    at: Seq,
    signs: u64,
    target: Seq,
    /// Since when it is played, and from which time of the tape.
    playing: Option<(Timestamp, Timestamp)>,
    near: VecDeque<Kept>,
}

/// What is kept of the past, and the moment that is shown.
#[derive(Debug)]
pub struct Past {
    /// All that came beside events, each with the event before it.
    signs: VecDeque<(Seq, Item)>,
    signs_gone: u64,
    sign_bytes: usize,
    kept: Vec<Kept>,
    recent: VecDeque<Kept>,
    step: u64,
    /// The event at which a state was last thought of, its bytes, and the bytes that were folded since.
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

/// Returns the bytes of memory that a sign takes, roughly.
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

    /// Keeps a copy of the state after an event that came, where it is time for one. Until as many bytes were folded as it
    /// has, copying would cost more than a little beside folding.
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

    /// Keeps a copy of the state after an event, unless there is one nearby; says whether it did.
    fn keep_copy(&mut self, at: Seq, signs: u64, state: &Projections, first: Seq) -> bool {
        let weight = state.weight();
        let place = self.kept.partition_point(|kept| kept.at < at);
        let near = |kept: &Kept| kept.at.0.abs_diff(at.0) < self.step;
        if weight > LARGEST || self.kept.iter().skip(place.saturating_sub(1)).take(2).any(near) {
            return false;
        }
        self.kept.insert(place, Kept { at, signs, state: Box::new(state.clone()), weight });
        // From these one could not go on any more.
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

    /// What the states that are kept take.
    pub(crate) fn bytes(&self) -> usize {
        let near = self.moment.iter().flat_map(|moment| &moment.near);
        self.kept.iter().chain(&self.recent).chain(near).map(|kept| kept.weight).sum()
    }

    /// Lets go of them.
    pub(crate) fn let_go(&mut self) {
        self.kept.clear();
        self.recent.clear();
        if let Some(moment) = &mut self.moment {
            moment.near.clear();
        }
    }

    /// The signs that a state knows of which was made of nothing before an event.
    fn signs_before(&self, seq: Seq) -> u64 {
        self.signs_gone + self.signs.partition_point(|(after, _)| *after + 1 < seq) as u64
    }
}

impl Viewer {
    /// Folds what came, whatever moment is shown.
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

    /// The projections of all that has come.
    pub(crate) fn present(&self) -> &Projections {
        self.past.moment.as_ref().map_or(&self.projections, |moment| &*moment.now)
    }

    /// Where one stands in the past; none where now is shown.
    pub fn playhead(&self) -> Option<Playhead> {
        let moment = self.past.moment.as_ref()?;
        let (at, target, playing) = (moment.at, moment.target, moment.playing.is_some());
        let time = self.tape.time(at);
        let span = self.span();
        let [number, oldest, newest] = [at, span.0, span.1].map(|seq| self.tape.events_until(seq));
        let numbers = (number, oldest, newest);
        Some(Playhead { at, time, numbers, target, span, playing, speed: self.past.speed })
    }

    /// Whether something is to be done in the next turn: the way to a moment is folded, or it is played.
    pub fn is_turning(&self) -> bool {
        self.past.moment.as_ref().is_some_and(|moment| moment.at < moment.target || moment.playing.is_some())
    }

    /// Whether the way to a moment that was gone to is not yet folded.
    pub fn is_on_the_way(&self) -> bool {
        self.past.moment.as_ref().is_some_and(|moment| moment.at < moment.target && moment.playing.is_none())
    }

    /// The oldest moment that can be shown, and the newest.
    pub fn span(&self) -> (Seq, Seq) {
        let newest = self.tape.newest_seq();
        let oldest = match self.tape.first_kept() {
            None | Some(Seq(0 | 1)) => Seq::START,
            // What was said before it is known by a state alone.
            Some(first) => {
                let usable = self.past.kept.iter().find(|kept| kept.at + 1 >= first);
                usable.map_or(first, |kept| kept.at.min(newest))
            }
        };
        (oldest.min(newest), newest)
    }

    /// Shows the moment after an event: 0 is before the first.
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
        // From where one stands one goes on, unless there is something nearer.
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

    /// Goes by events from where one stands; beyond the newest lies now.
    pub fn step_in_time(&mut self, by: i64) {
        let (oldest, newest) = self.span();
        let moment = self.past.moment.as_ref();
        // While the way is folded one goes on from where it leads to.
        let at = moment.map_or(newest, |moment| moment.target);
        match Seq(at.0.saturating_add_signed(by)) {
            _ if newest == Seq::START || (by > 0 && moment.is_none()) => {}
            to if to > newest && moment.is_some() => self.return_to_now(),
            to => self.seek_to(to.max(oldest)),
        }
    }

    /// Goes by twentieths of the tape.
    pub fn slide(&mut self, forward: bool) {
        let (oldest, newest) = self.span();
        let by = i64::try_from((newest - oldest).div_ceil(20)).unwrap_or(i64::MAX).max(1);
        let at = self.past.moment.as_ref().map_or(newest, |moment| moment.target);
        let by = if forward { by.min(i64::try_from(newest - at).unwrap_or(i64::MAX)).max(1) } else { -by };
        self.step_in_time(by);
    }

    /// Goes to a part of what can be shown, from its oldest moment to its newest.
    pub fn slide_to(&mut self, part: u64, of: u64) {
        let (oldest, newest) = self.span();
        let part = u128::from(newest - oldest) * u128::from(part.min(of));
        let to = oldest + u64::try_from(part.div_ceil(u128::from(of.max(1)))).unwrap_or(newest.0);
        let is_there = |moment: &Moment| moment.target == to && moment.playing.is_none();
        if !self.past.moment.as_ref().is_some_and(is_there) {
            self.seek_to(to);
        }
    }

    /// Shows now again.
    pub fn return_to_now(&mut self) {
        let Some(moment) = self.past.moment.take() else { return };
        self.projections = *moment.now;
        self.tape.stand_at(None);
        self.forget_lines();
    }

    /// Plays from where one stands, or stands still. Now stands still as the moment that it is.
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

    /// Plays from the oldest moment on.
    pub fn play_from_start(&mut self) {
        self.seek_to(self.span().0);
        self.play();
    }

    /// Plays faster; after the fastest as it was. Gives how fast.
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

    /// Plays on to `now`, and loads one turn's worth of the way to the moment that is shown.
    pub fn turn_of_past(&mut self, now: Timestamp) {
        self.now = now;
        self.play_on();
        self.fold_turn();
        self.end_play();
    }

    /// Returns to now where what is played has come to its end: in the same turn, so that the picture is the same until more
    /// comes.
    fn end_play(&mut self) {
        let newest = self.tape.newest_seq();
        if self.past.moment.as_ref().is_some_and(|moment| moment.playing.is_some() && moment.at >= newest) {
            // The end was not requested: the cursor stays on its event.
            let cursor = self.anchor;
            self.return_to_now();
            self.anchor = cursor;
        }
    }

    /// Moves what is played to the moment that it is at by now.
    fn play_on(&mut self) {
        let newest = self.tape.newest_seq();
        let Some(moment) = &mut self.past.moment else { return };
        let Some((since, from)) = moment.playing.filter(|_| moment.at >= moment.target) else { return };
        // A clock that was set back would hold it until the clock is there again.
        if self.now < since {
            return self.play();
        }
        let until = self.past.speed.times().map(|times| {
            let gone = self.now.duration_since(since).max(SignedDuration::ZERO);
            from.checked_add(gone.saturating_mul(times)).unwrap_or(Timestamp::MAX)
        });
        // Let go meanwhile or not: what is next is gone to.
        let came = |seq: Seq| self.tape.time(seq).is_none_or(|at| until.is_none_or(|until| at <= until));
        let most = moment.at + (TURN / EVENT) as u64;
        while moment.target < newest.min(most) && came(moment.target + 1) {
            moment.target = moment.target.next();
        }
    }

    /// Folds the way to the moment that is gone to, for one turn.
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
                // It was let go meanwhile: what is still there is told without it.
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

    /// What was laid out, found and measured was of another moment.
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
        // States are numbered as they came: of a past whose beginning was let go, from another one on.
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

/// The sign with this number; the oldest that is kept where it was let go.
fn sign(signs: &VecDeque<(Seq, Item)>, gone: u64, number: u64) -> Option<&(Seq, Item)> {
    signs.get(usize::try_from(number.saturating_sub(gone)).ok()?)
}

/// Keeps the state of the moment, for the way back.
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
        // What was let go is not gone on from.
        let later = newest + 2 * past.step;
        assert!(past.keep_copy(later, 0, &state, newest) && past.kept.iter().all(|kept| kept.at + 1 >= newest));
    }
}
