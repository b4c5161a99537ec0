//! The critical path of a run: the chain of work that its end waited for. Everything else could have been slower.

use std::time::Duration;

/// Maximum depth of nested spans that is followed.
const MAX_DEPTH: usize = 128;

/// Work on an axis that starts at zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The index of the span that it ran in.
    pub parent: Option<usize>,
    pub from: Duration,
    pub to: Duration,
}

/// A part of the critical path: while it lasted, nothing inside of the span was waited for, only the span itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The index of the span.
    pub span: usize,
    pub from: Duration,
    pub to: Duration,
}

/// Returns the critical path, latest part first. Its parts never overlap.
///
/// It is followed backward from the last end: each span waited for the one that ended last before it started. Inside of
/// a span the same applies to its children; time without a child is its own.
pub fn critical_path(spans: &[Span]) -> Vec<Segment> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); spans.len()];
    let mut roots = Vec::new();
    for (i, span) in spans.iter().enumerate() {
        match span.parent.and_then(|parent| children.get_mut(parent)) {
            Some(siblings) => siblings.push(i),
            None => roots.push(i),
        }
    }
    let last_first = |list: &mut Vec<usize>| {
        list.sort_by_key(|i| {
            spans
                .get(*i)
                .map(|span| (std::cmp::Reverse(span.to), span.from))
        });
    };
    children.iter_mut().for_each(last_first);
    last_first(&mut roots);
    let end = spans.iter().map(|span| span.to).max().unwrap_or_default();
    let mut path = Walk {
        spans,
        children: &children,
        segments: Vec::new(),
    };
    path.follow(&roots, None, (Duration::ZERO, end), 0);
    path.segments
}

struct Walk<'a> {
    spans: &'a [Span],
    children: &'a [Vec<usize>],
    segments: Vec<Segment>,
}

impl Walk<'_> {
    fn follow(
        &mut self,
        list: &[usize],
        parent: Option<usize>,
        (from, to): (Duration, Duration),
        depth: usize,
    ) {
        let mut until = to;
        for &i in list {
            let Some(span) = self.spans.get(i) else {
                continue;
            };
            let (began, ended) = (span.from.max(from), span.to.min(to));
            if until <= from || depth > MAX_DEPTH {
                break;
            }
            // It overlaps with what was waited for, so it didn't delay that.
            if ended > until || began >= ended {
                continue;
            }
            self.add(parent, ended, until);
            let inside = self
                .children
                .get(i)
                .map_or(&[][..], |children| &children[..]);
            self.follow(inside, Some(i), (began, ended), depth + 1);
            until = began;
        }
        self.add(parent, from, until);
    }

    fn add(&mut self, span: Option<usize>, from: Duration, to: Duration) {
        if let Some(span) = span.filter(|_| from < to) {
            self.segments.push(Segment { span, from, to });
        }
    }
}

/// Returns the part of a span in which none of its children ran.
pub fn own_time(
    (from, to): (Duration, Duration),
    children: impl Iterator<Item = (Duration, Duration)>,
) -> Duration {
    let mut inside: Vec<(Duration, Duration)> =
        children.map(|(a, b)| (a.max(from), b.min(to))).collect();
    inside.sort_unstable();
    let mut own = Duration::ZERO;
    let mut until = from;
    for (began, ended) in inside {
        own += began.saturating_sub(until);
        until = until.max(ended);
    }
    own + to.saturating_sub(until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(parent: Option<usize>, from: u64, to: u64) -> Span {
        Span {
            parent,
            from: Duration::from_millis(from),
            to: Duration::from_millis(to),
        }
    }

    fn millis(path: &[Segment]) -> Vec<(usize, u128, u128)> {
        path.iter()
            .map(|part| (part.span, part.from.as_millis(), part.to.as_millis()))
            .collect()
    }

    #[test]
    fn a_join_waits_for_the_slowest_branch() {
        // Two branches, then a join; the slow branch has a call that took most of its time.
        let spans = [
            span(None, 0, 30),
            span(None, 0, 100),
            span(Some(1), 10, 90),
            span(None, 100, 110),
        ];
        assert_eq!(
            millis(&critical_path(&spans)),
            [(3, 100, 110), (1, 90, 100), (2, 10, 90), (1, 0, 10)]
        );
        assert!(critical_path(&[]).is_empty());
    }

    #[test]
    fn own_time_excludes_children_once() {
        let ms = Duration::from_millis;
        let children = [(ms(10), ms(40)), (ms(20), ms(60)), (ms(90), ms(200))];
        assert_eq!(own_time((ms(0), ms(100)), children.into_iter()), ms(40));
        assert_eq!(own_time((ms(0), ms(100)), std::iter::empty()), ms(100));
    }

    proptest! {
        #[test]
        fn the_path_is_disjoint_and_covers_joins(
            raw in proptest::collection::vec((0u64..40, 0u64..30, any::<prop::sample::Index>(), any::<bool>()), 0..40)
        ) {
            let mut spans: Vec<Span> = Vec::new();
            for (from, length, index, nested) in raw {
                let parent = (nested && !spans.is_empty()).then(|| index.index(spans.len()));
                spans.push(span(parent, from, from + length));
            }
            let path = critical_path(&spans);
            let end = spans.iter().map(|span| span.to).max().unwrap_or_default();
            let sum: Duration = path.iter().map(|part| part.to - part.from).sum();
            prop_assert!(sum <= end, "{sum:?} of {end:?}");
            for pair in path.windows(2) {
                prop_assert!(pair[1].to <= pair[0].from, "{pair:?}");
            }
            for part in &path {
                let span = spans[part.span];
                prop_assert!(span.from <= part.from && part.to <= span.to, "{part:?} of {span:?}");
            }
            // Where the path has a hole, nothing at the top level was running that ended there.
            let mut until = end;
            for part in &path {
                for (i, other) in spans.iter().enumerate().filter(|(_, other)| other.parent.is_none()) {
                    let is_between = other.from < other.to && other.to > part.to && other.to <= until;
                    prop_assert!(!is_between || path.iter().any(|part| part.span == i) || has_part_inside(&spans, &path, i),
                        "{i} ended in the hole from {:?} to {until:?}: {path:?}", part.to);
                }
                until = part.from;
            }
        }
    }

    /// Returns whether a part of the path lies in a span or its descendants.
    fn has_part_inside(spans: &[Span], path: &[Segment], root: usize) -> bool {
        path.iter().any(|part| {
            let mut at = Some(part.span);
            while let Some(i) = at {
                if i == root {
                    return true;
                }
                at = spans[i].parent;
            }
            false
        })
    }
}
