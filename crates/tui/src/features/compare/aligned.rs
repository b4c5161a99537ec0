//! Two loaded sides, aligned: the steps of runs, or the configurations of revisions.

use super::keys::ComparedKeys;
use runtail_core::model::Configuration;
use runtail_core::text;
use runtail_stream::comparison::{Comparison, Side, Verdict};
use std::sync::Arc;

/// A loaded side.
#[derive(Debug, Clone)]
pub(super) enum LoadedSide {
    Steps(Box<Side>),
    Keys(Arc<Configuration>),
}

/// The aligned rows.
#[derive(Debug, Clone)]
pub(super) enum Aligned {
    Steps(Arc<Comparison>),
    Keys(Arc<ComparedKeys>),
}

/// What identifies a row while its side grows or changes.
pub(super) enum AlignedId {
    Step(Option<usize>, Option<usize>),
    Key(String),
}

impl Aligned {
    /// Aligns two sides; `None` if they are of different kinds.
    pub fn of(a: &LoadedSide, b: &LoadedSide) -> Option<Aligned> {
        match (a, b) {
            (LoadedSide::Steps(a), LoadedSide::Steps(b)) => Some(Aligned::Steps(Arc::new(
                Comparison::of((**a).clone(), (**b).clone()),
            ))),
            (LoadedSide::Keys(a), LoadedSide::Keys(b)) => {
                Some(Aligned::Keys(Arc::new(ComparedKeys::of(a, b))))
            }
            _ => None,
        }
    }

    /// Returns the aligned steps, if these are runs.
    pub fn steps(&self) -> Option<&Arc<Comparison>> {
        match self {
            Aligned::Steps(comparison) => Some(comparison),
            Aligned::Keys(_) => None,
        }
    }

    /// Returns the aligned keys, if these are configurations.
    pub fn keys(&self) -> Option<&ComparedKeys> {
        match self {
            Aligned::Steps(_) => None,
            Aligned::Keys(keys) => Some(keys),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Aligned::Steps(comparison) => comparison.rows.len(),
            Aligned::Keys(keys) => keys.len(),
        }
    }

    /// Returns how the sides relate in a row; `None` if the row can't make a difference.
    pub fn verdict(&self, at: usize) -> Option<Verdict> {
        match self {
            Aligned::Steps(comparison) => comparison.rows.get(at).map(|row| row.verdict.clone()),
            Aligned::Keys(keys) => keys.verdict(at),
        }
    }

    pub fn is_difference(&self, at: usize) -> bool {
        self.verdict(at)
            .is_some_and(|verdict| verdict.is_difference())
    }

    /// Returns the row of the first difference.
    pub fn first(&self) -> Option<usize> {
        (0..self.len()).find(|at| self.is_difference(*at))
    }

    /// Returns the name of the first difference: `step 3`, `commit`.
    pub fn first_name(&self) -> Option<String> {
        match self {
            Aligned::Steps(comparison) => comparison
                .first_difference()
                .map(|name| text::clean(&name).into_owned()),
            Aligned::Keys(keys) => self.first().map(|at| keys.name(at)),
        }
    }

    /// Returns the text in place of the first difference if none is known.
    pub fn no_difference(&self) -> Option<&'static str> {
        let is_unknown = |verdict: Option<Verdict>| matches!(verdict, Some(Verdict::Unknown));
        match self {
            Aligned::Steps(comparison) => match comparison.is_same() {
                Some(true) => Some("No differences"),
                None if !comparison.is_running() && comparison.not_comparable().is_none() => {
                    Some("No known difference")
                }
                _ => None,
            },
            Aligned::Keys(keys) if self.first().is_none() => {
                let has_unknown = (0..keys.len()).any(|at| is_unknown(keys.verdict(at)));
                Some(if has_unknown {
                    "No known difference"
                } else {
                    "No differences"
                })
            }
            Aligned::Keys(_) => None,
        }
    }

    pub fn common(&self) -> String {
        match self {
            Aligned::Steps(comparison) => comparison.common(),
            Aligned::Keys(keys) => keys.common(),
        }
    }

    pub fn not_comparable(&self) -> Option<String> {
        self.steps()?.not_comparable()
    }

    /// Returns what was not compared.
    pub fn notes(&self) -> &[String] {
        match self {
            Aligned::Steps(comparison) => &comparison.notes,
            Aligned::Keys(keys) => &keys.table.notes,
        }
    }

    pub fn row_id(&self, at: usize) -> Option<AlignedId> {
        match self {
            Aligned::Steps(comparison) => comparison
                .rows
                .get(at)
                .map(|row| AlignedId::Step(row.a, row.b)),
            Aligned::Keys(keys) => keys.path(at).map(|path| AlignedId::Key(path.into())),
        }
    }

    /// Returns the row with this identity.
    pub fn find(&self, id: &AlignedId) -> Option<usize> {
        match (self, id) {
            (Aligned::Steps(comparison), AlignedId::Step(a, b)) => comparison
                .rows
                .iter()
                .position(|row| (a.is_some() && row.a == *a) || (b.is_some() && row.b == *b)),
            (Aligned::Keys(keys), AlignedId::Key(path)) => {
                (0..keys.len()).find(|at| keys.path(*at) == Some(path.as_str()))
            }
            _ => None,
        }
    }
}
