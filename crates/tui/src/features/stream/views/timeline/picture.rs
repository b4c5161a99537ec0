//! The picture of a run in the Timeline: its axis, its critical path, and where its time went. It is computed when the
//! run changes, at most once a second, not per frame.

use super::axis::{Axis, between};
use jiff::Timestamp;
use runtail_core::model::{RunFacts, ThreadStatus};
use runtail_stream::projection::{
    Attempt, Bar, BarKind, BarState, FirstToken, Message, Projections, Role, Segment, Span,
    Timeline, Usage, critical_path, message_key, node_path, own_time,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of names of which the time is shown.
const MAX_NAMES: usize = 64;

/// Attempts that are shown as one run: retries, and a run that answered another.
pub type BarGroup = Vec<u64>;

/// Returns the groups of attempts, oldest first.
pub fn groups(timeline: &Timeline) -> Vec<BarGroup> {
    let mut groups: Vec<BarGroup> = Vec::new();
    let mut last: Option<&Attempt> = None;
    for (number, attempt) in timeline
        .attempts()
        .filter(|(_, attempt)| !attempt.is_superseded)
    {
        let continues =
            last.is_some_and(|last| is_retry(last, attempt) || answers(timeline, last, attempt));
        match groups.last_mut().filter(|_| continues) {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
        last = Some(attempt);
    }
    groups
}

fn is_retry(last: &Attempt, next: &Attempt) -> bool {
    next.number > 1 && last.run_id == next.run_id
}

/// Returns whether an attempt continues at a node that asked in the attempt before it.
fn answers(timeline: &Timeline, last: &Attempt, next: &Attempt) -> bool {
    let bars = |attempt: &Attempt| {
        attempt
            .children
            .iter()
            .filter_map(|key| timeline.bar(*key))
            .collect::<Vec<_>>()
    };
    if last.state != BarState::Interrupted {
        return false;
    }
    let asked: HashSet<Arc<str>> = bars(last)
        .iter()
        .filter(|bar| bar.state == BarState::Interrupted)
        .map(|bar| bar.name.clone())
        .collect();
    bars(next)
        .first()
        .is_some_and(|first| asked.contains(&first.name))
}

/// What the picture says of a bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BarTimes {
    /// Its offsets on the axis; `None` if its times are unknown.
    pub span: Option<(Duration, Duration)>,
    /// The part in which nothing inside of it ran.
    pub own: Duration,
    pub is_critical: bool,
    /// Whether it is the call that took the longest of several.
    pub is_slowest: bool,
    /// The number of this call among its attempts, if an earlier or later one failed.
    pub attempt: Option<u32>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How long the run waited for it.
    pub after: Duration,
    /// Who answered, where the server authenticates users.
    pub by: Option<String>,
}

/// The numbers of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelCall {
    pub usage: Option<Usage>,
    pub first_token: Option<FirstToken>,
}

/// The time of a node or of what ran in it.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTime {
    pub kind: BarKind,
    pub name: Arc<str>,
    pub time: Duration,
    /// What ran in it, longest first.
    pub inside: Vec<NamedTime>,
}

/// The picture of a run.
#[derive(Debug, Clone, Default)]
pub struct TimelinePicture {
    pub attempts: BarGroup,
    /// `None` without known times.
    pub axis: Option<Axis>,
    bars: HashMap<u64, BarTimes>,
    /// The answers to the attempts that asked, by number.
    answers: HashMap<u64, Answer>,
    calls: HashMap<Box<str>, ModelCall>,
    /// The numbers of nodes of one name that ran at once, by [`Bar::id`].
    siblings: HashMap<Box<str>, usize>,
    /// The nodes on the critical path with their time on it, longest first. In the rest of the run's time none ran.
    pub critical: Vec<(Arc<str>, Duration)>,
    /// Whether it would name one of several nodes of which only the time of all of them together is known.
    pub is_critical_guess: bool,
    /// The time of each node, longest first.
    pub nodes: Vec<NamedTime>,
    /// The spans of calls, which contain nothing else.
    pub leaves: Vec<(Duration, Duration)>,
    /// The offsets at which the run stopped to ask.
    pub asks: Vec<Duration>,
    /// Whether it waits for an answer now.
    pub is_waiting: bool,
    pub is_running: bool,
    /// Whether the run is over although its end never arrived, so that the end of its open bars is not known.
    pub is_over: bool,
}

impl TimelinePicture {
    /// Returns the name of a node or tool, with a number if several of that name ran at once.
    pub fn name<'a>(&self, bar: &'a Bar) -> Cow<'a, str> {
        match bar.id().and_then(|id| self.siblings.get(id)) {
            Some(number) => format!("{} #{number}", bar.name).into(),
            None => Cow::Borrowed(&*bar.name),
        }
    }

    /// Computes the picture of a group of attempts. Running work lasts until `now`.
    pub fn of(projections: &Projections, attempts: &BarGroup, now: Timestamp) -> TimelinePicture {
        let timeline = &projections.timeline;
        let of_group: Vec<&Attempt> = attempts
            .iter()
            .filter_map(|number| timeline.attempt(*number))
            .collect();
        let last = of_group.last().filter(|attempt| attempt.ended.is_none());
        let entry = last.and_then(|attempt| projections.status.run(attempt.run_id.as_deref()?));
        let is_over = entry.is_some_and(|entry| entry.outcome.is_over());
        // Without its end, a run that is over lasted at least until its last event.
        let now = if is_over { Timestamp::MIN } else { now };
        let axis = axis(&of_group, now, is_over);
        let mut picture = TimelinePicture {
            attempts: attempts.clone(),
            is_running: last.is_some() && !is_over,
            is_over,
            calls: model_calls(projections, &of_group),
            siblings: siblings(projections, attempts),
            axis,
            ..TimelinePicture::default()
        };
        let mut tree = BarTree::default();
        for attempt in &of_group {
            tree.add(timeline, attempt, picture.axis.as_ref(), now);
        }
        let path = tree.critical_path();
        picture.critical = tree.nodes_on(&path);
        picture.is_critical_guess = path.iter().any(|part| tree.is_guess(part.span));
        picture.nodes = tree.times(None);
        picture.asks = asks(timeline, &of_group, picture.axis.as_ref());
        let newest = projections
            .status
            .runs()
            .last()
            .and_then(|run| run.run_id.as_deref());
        picture.is_waiting = matches!(projections.status.status(), ThreadStatus::Waiting { .. })
            && of_group.last().is_some_and(|attempt| {
                attempt.state == BarState::Interrupted
                    && (newest.is_none() || attempt.run_id.as_deref() == newest)
            });
        picture.leaves = tree.leaves();
        picture.bars = tree.bar_times(&path);
        picture.answers = answers_to(projections, attempts);
        picture
    }

    /// Returns what the picture says of a bar.
    pub fn bar(&self, key: u64) -> Option<&BarTimes> {
        self.bars.get(&key)
    }

    /// Returns the answer to the question at which a bar stopped.
    pub fn answer(&self, bar: &Bar) -> Option<&Answer> {
        self.answers
            .get(&bar.attempt)
            .filter(|_| bar.state == BarState::Interrupted)
    }

    /// Returns whether a bar stopped at the question that is open now.
    pub fn is_open_ask(&self, bar: &Bar) -> bool {
        self.is_waiting
            && bar.state == BarState::Interrupted
            && self.attempts.last() == Some(&bar.attempt)
    }

    /// Returns the numbers of a model call.
    pub fn call(&self, bar: &Bar) -> Option<ModelCall> {
        bar.id()
            .filter(|_| bar.kind == BarKind::Model)
            .and_then(|id| self.calls.get(id))
            .copied()
    }
}

/// Returns the axis of a group: from its first start to its last end, without the times between a question and the run
/// that answered it.
fn axis(attempts: &[&Attempt], now: Timestamp, is_over: bool) -> Option<Axis> {
    let known: Vec<&&Attempt> = attempts
        .iter()
        .filter(|attempt| attempt.known.is_both())
        .collect();
    let (first, last) = (known.first()?, known.last()?);
    let cut = |pair: &[&&Attempt]| {
        let (asked, next) = (pair.first()?, pair.last()?);
        let from = asked
            .ended
            .filter(|_| asked.state == BarState::Interrupted)?;
        (next.started > from).then_some((from, next.started))
    };
    let cuts = known.windows(2).filter_map(cut).collect();
    Some(Axis::new(
        first.started,
        last.until(now),
        cuts,
        last.ended.is_none() && !is_over,
    ))
}

/// Returns the numbers of the nodes of one name that ran at once.
fn siblings(projections: &Projections, attempts: &BarGroup) -> HashMap<Box<str>, usize> {
    let nodes = projections
        .timeline
        .bars()
        .iter()
        .filter(|bar| attempts.contains(&bar.attempt));
    let number = |bar: &Bar| {
        let id = bar.id()?;
        Some((
            id.into(),
            projections
                .messages
                .sibling(&format!("{}:{id}", bar.name))?,
        ))
    };
    nodes
        .filter(|bar| bar.kind == BarKind::Node)
        .filter_map(number)
        .collect()
}

/// Returns the usage and the time to first token of the model calls in a group, by [`Bar::id`].
fn model_calls(projections: &Projections, attempts: &[&Attempt]) -> HashMap<Box<str>, ModelCall> {
    let (Some(first), Some(last)) = (attempts.first(), attempts.last()) else {
        return HashMap::new();
    };
    let messages = projections.messages.items();
    // Messages are in order of first mention. Those of recorded runs have no events of their own, and those of the loaded state
    // are mentioned before the events of a run that is replayed.
    let from = messages.partition_point(|message| message.first_seq < first.first_seq);
    let is_replayed = |message: &&Message| message.last_seq >= first.first_seq;
    let in_group = messages.iter().skip(from).take_while(|message| {
        last.ended.is_none() || message.first_seq <= last.last_seq.max(last.first_seq)
    });
    let loaded = messages.iter().take(from).filter(is_replayed);
    let models = loaded
        .chain(in_group)
        .filter(|message| message.role == Role::Ai);
    models
        .filter_map(|message| {
            let call = ModelCall {
                usage: message.usage,
                first_token: message.first_token(),
            };
            Some((message_key(message.id.as_deref()?).into(), call))
        })
        .collect()
}

/// The kind and the name of bars, and their time, what ran in them, and their kind.
type NameKey = (u8, Arc<str>);
type NameSum = (Duration, Vec<usize>, BarKind);

/// The parent, the kind and the name of a call.
type CallKey<'a> = (Option<usize>, u8, &'a str);

/// The bars of a group as a flat tree.
#[derive(Default)]
struct BarTree<'a> {
    nodes: Vec<TreeNode<'a>>,
}

struct TreeNode<'a> {
    key: u64,
    bar: &'a Bar,
    parent: Option<usize>,
    children: Vec<usize>,
    span: Option<(Duration, Duration)>,
}

impl<'a> BarTree<'a> {
    fn add(
        &mut self,
        timeline: &'a Timeline,
        attempt: &Attempt,
        axis: Option<&Axis>,
        now: Timestamp,
    ) {
        let axis = axis.filter(|_| attempt.known.is_both());
        let mut next: Vec<(u64, Option<usize>)> = attempt
            .children
            .iter()
            .rev()
            .map(|key| (*key, None))
            .collect();
        while let Some((key, parent)) = next.pop() {
            let Some(bar) = timeline.bar(key) else {
                continue;
            };
            let until = bar.ended.unwrap_or_else(|| attempt.until(now));
            let span = axis.filter(|_| bar.known.is_both());
            let span = span.map(|axis| {
                (
                    axis.offset(bar.started),
                    axis.offset(until.max(bar.started)),
                )
            });
            let index = self.nodes.len();
            if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
                parent.children.push(index);
            }
            self.nodes.push(TreeNode {
                key,
                bar,
                parent,
                children: Vec::new(),
                span,
            });
            next.extend(bar.children.iter().rev().map(|child| (*child, Some(index))));
        }
    }

    /// Returns the critical path; its spans are indices of nodes.
    fn critical_path(&self) -> Vec<Segment> {
        let timed: Vec<usize> = (0..self.nodes.len())
            .filter(|i| self.span(*i).is_some())
            .collect();
        let index: HashMap<usize, usize> =
            timed.iter().enumerate().map(|(at, i)| (*i, at)).collect();
        let spans = timed.iter().filter_map(|i| {
            let (from, to) = self.span(*i)?;
            // A parent without times is skipped.
            let mut parent = self.nodes.get(*i)?.parent;
            while let Some(above) = parent.filter(|above| !index.contains_key(above)) {
                parent = self.nodes.get(above)?.parent;
            }
            Some(Span {
                parent: parent.and_then(|parent| index.get(&parent).copied()),
                from,
                to,
            })
        });
        let spans: Vec<Span> = spans.collect();
        let to_node = |part: Segment| {
            Some(Segment {
                span: *timed.get(part.span)?,
                ..part
            })
        };
        critical_path(&spans)
            .into_iter()
            .filter_map(to_node)
            .collect()
    }

    /// Returns whether checkpoints give a node the same time as others beside it, so that the slowest of them isn't known.
    fn is_guess(&self, index: usize) -> bool {
        let Some(node) = self
            .nodes
            .get(index)
            .filter(|node| node.bar.estimated && node.span.is_some())
        else {
            return false;
        };
        let beside = |(at, other): (usize, &TreeNode<'_>)| {
            at != index
                && other.parent == node.parent
                && other.span == node.span
                && other.bar.name != node.bar.name
        };
        self.nodes.iter().enumerate().any(beside)
    }

    fn span(&self, index: usize) -> Option<(Duration, Duration)> {
        self.nodes.get(index)?.span
    }

    fn spans_of<'t>(
        &'t self,
        list: &'t [usize],
    ) -> impl Iterator<Item = (Duration, Duration)> + 't {
        list.iter().filter_map(|i| self.span(*i))
    }

    /// Returns the time of each node on a path, longest first. The time of a model or tool is that of its node.
    fn nodes_on(&self, path: &[Segment]) -> Vec<(Arc<str>, Duration)> {
        let mut names: BTreeMap<String, Duration> = BTreeMap::new();
        for part in path {
            *names.entry(self.node_path(part.span)).or_default() +=
                part.to.saturating_sub(part.from);
        }
        let mut names: Vec<(Arc<str>, Duration)> = names
            .into_iter()
            .map(|(name, time)| (name.into(), time))
            .collect();
        names.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        names
    }

    /// Returns the node that a bar is or ran in, with the subgraphs that contain it. A call outside of all nodes has its own name.
    fn node_path(&self, index: usize) -> String {
        let above = std::iter::successors(Some(index), |at| self.nodes.get(*at)?.parent);
        let mut path: Vec<&TreeNode<'_>> = above.filter_map(|at| self.nodes.get(at)).collect();
        path.reverse();
        let nodes = || path.iter().filter(|node| node.bar.kind == BarKind::Node);
        match nodes().next() {
            Some(_) => node_path(nodes().map(|node| &*node.bar.name), None),
            None => path
                .first()
                .map(|node| node.bar.name.to_string())
                .unwrap_or_default(),
        }
    }

    /// Returns the times of the bars at the top level or in some bars, by name, and of what ran in them.
    fn times(&self, list: Option<&[usize]>) -> Vec<NamedTime> {
        let mut roots: Vec<usize> = (0..self.nodes.len())
            .filter(|i| self.nodes[*i].parent.is_none())
            .collect();
        // A call that names no node ran in one of the nodes, whose time contains it.
        if roots
            .iter()
            .any(|i| self.nodes[*i].bar.kind == BarKind::Node)
        {
            roots.retain(|i| self.nodes[*i].bar.kind == BarKind::Node);
        }
        let list = list.unwrap_or(&roots);
        let mut names: BTreeMap<NameKey, NameSum> = BTreeMap::new();
        for &i in list {
            let (Some(node), Some((from, to))) = (self.nodes.get(i), self.span(i)) else {
                continue;
            };
            let sum = names.entry((node.bar.kind as u8, node.bar.name.clone()));
            let sum = sum.or_insert_with(|| (Duration::ZERO, Vec::new(), node.bar.kind));
            sum.0 += to.saturating_sub(from);
            sum.1.extend(&node.children);
        }
        let named = |((_, name), (time, inside, kind)): (NameKey, NameSum)| NamedTime {
            kind,
            name,
            time,
            inside: if inside.is_empty() {
                Vec::new()
            } else {
                self.times(Some(&inside))
            },
        };
        let mut times: Vec<NamedTime> = names.into_iter().map(named).collect();
        times.sort_by_key(|named| std::cmp::Reverse(named.time));
        times.truncate(MAX_NAMES);
        times
    }

    fn leaves(&self) -> Vec<(Duration, Duration)> {
        self.nodes
            .iter()
            .filter(|node| node.children.is_empty())
            .filter_map(|node| node.span)
            .collect()
    }

    fn bar_times(&self, path: &[Segment]) -> HashMap<u64, BarTimes> {
        let mut critical = HashSet::new();
        for part in path {
            let mut at = Some(part.span);
            while let Some(i) = at.filter(|i| critical.insert(*i)) {
                at = self.nodes.get(i).and_then(|node| node.parent);
            }
        }
        let slowest = self.slowest();
        let numbers = self.attempt_numbers();
        let times = |(i, node): (usize, &TreeNode<'_>)| {
            let own = node
                .span
                .map(|span| own_time(span, self.spans_of(&node.children)))
                .unwrap_or_default();
            let (is_critical, is_slowest) = (critical.contains(&i), slowest == Some(i));
            let attempt = numbers.get(&i).copied();
            (
                node.key,
                BarTimes {
                    span: node.span,
                    own,
                    is_critical,
                    is_slowest,
                    attempt,
                },
            )
        };
        self.nodes.iter().enumerate().map(times).collect()
    }

    /// Returns the call that took the longest, if there are several.
    fn slowest(&self) -> Option<usize> {
        let calls = || (0..self.nodes.len()).filter(|i| self.nodes[*i].children.is_empty());
        let took = |i: &usize| self.span(*i).map(|(from, to)| to.saturating_sub(from));
        calls().nth(1)?;
        let slowest = calls()
            .filter(|i| took(i).is_some_and(|took| !took.is_zero()))
            .max_by_key(took)?;
        // Of several that took the same time, none is the slowest.
        (calls().filter(|i| took(i) == took(&slowest)).count() == 1).then_some(slowest)
    }

    /// Returns the numbers of the attempts of each call that failed and was repeated next to it.
    fn attempt_numbers(&self) -> HashMap<usize, u32> {
        let mut numbers = HashMap::new();
        let mut last: HashMap<CallKey<'_>, (usize, u32, bool)> = HashMap::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let key = (node.parent, node.bar.kind as u8, &*node.bar.name);
            let failed = matches!(node.bar.state, BarState::Failed | BarState::Abandoned);
            let number = match last.get(&key) {
                Some((before, number, true)) => {
                    numbers.entry(*before).or_insert(*number);
                    numbers.insert(i, number + 1);
                    number + 1
                }
                _ => 1,
            };
            last.insert(key, (i, number, failed));
        }
        numbers
    }
}

/// Returns the offsets at which a group's attempts stopped to ask.
fn asks(timeline: &Timeline, attempts: &[&Attempt], axis: Option<&Axis>) -> Vec<Duration> {
    let Some(axis) = axis else { return Vec::new() };
    let asked = |attempt: &&&Attempt| attempt.state == BarState::Interrupted && attempt.known.end;
    let of_attempt = |attempt: &&Attempt| {
        let bars = attempt.children.iter().filter_map(|key| timeline.bar(*key));
        let nodes: Vec<&Bar> = bars.filter(|bar| bar.kind == BarKind::Node).collect();
        // At a breakpoint no node asks. Without timings, nothing says which node did.
        let has_asked =
            nodes.is_empty() || nodes.iter().any(|bar| bar.state == BarState::Interrupted);
        attempt
            .ended
            .filter(|_| has_asked || !attempt.exact)
            .map(|ended| axis.offset(ended))
    };
    attempts
        .iter()
        .filter(asked)
        .filter_map(of_attempt)
        .collect()
}

/// Returns the answers to the attempts that asked, by number.
fn answers_to(projections: &Projections, attempts: &[u64]) -> HashMap<u64, Answer> {
    let timeline = &projections.timeline;
    let answer = |pair: &[u64]| {
        let (number, next) = (*pair.first()?, timeline.attempt(*pair.last()?)?);
        let asked = timeline.attempt(number)?;
        let is_known = asked.known.end && next.known.start && asked.state == BarState::Interrupted;
        let from = asked
            .ended
            .filter(|from| is_known && *from < next.started)?;
        let record = next
            .run_id
            .as_deref()
            .and_then(|id| projections.status.record(id));
        Some((
            number,
            Answer {
                after: between(from, next.started),
                by: record.and_then(RunFacts::user),
            },
        ))
    };
    attempts.windows(2).filter_map(answer).collect()
}
