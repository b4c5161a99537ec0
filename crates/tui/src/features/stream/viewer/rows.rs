//! The entries of each view: their heights, their lines and their events.

use super::runs::RunsRow;
use super::{View, Viewer};
use crate::features::stream::find::MatchIndex;
use crate::features::stream::views;
use crate::features::stream::views::messages::Shown;
use crate::features::stream::views::raw::RawEvent;
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, ScrollList};
use runtail_stream::Seq;
use runtail_stream::projection::Rows as ProjectedRows;

/// The entries of a view.
pub(crate) enum ViewRows<'a> {
    Flat(Flat),
    Blocks(Shown<'a>),
    /// The entries that a filter accepts.
    Filtered(Box<ViewRows<'a>>, &'a MatchIndex),
    /// Entries with wrapped lines. Heights are computed only near the window.
    Wrapped(Flat, &'a Viewer, View),
}

impl ScrollList for ViewRows<'_> {
    fn first(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) | ViewRows::Wrapped(flat, ..) => flat.first,
            ViewRows::Blocks(blocks) => blocks.first(),
            ViewRows::Filtered(all, index) => index.first().unwrap_or(all.end()),
        }
    }
    fn end(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) | ViewRows::Wrapped(flat, ..) => flat.end,
            ViewRows::Blocks(blocks) => blocks.end(),
            ViewRows::Filtered(all, index) => index.last().map_or(all.end(), |last| last + 1),
        }
    }
    fn height(&self, key: u64) -> usize {
        match self {
            ViewRows::Flat(_) => 1,
            ViewRows::Blocks(blocks) => blocks.height(key),
            ViewRows::Wrapped(_, viewer, view) => viewer.wrapped(*view, key).len().max(1),
            // A tool result follows its call, unless the filter hides the call.
            ViewRows::Filtered(all, index) => match &**all {
                ViewRows::Blocks(blocks)
                    if blocks
                        .call_message(key)
                        .is_some_and(|asking| !index.is_match(asking)) =>
                {
                    blocks.own_height(key)
                }
                all => all.height(key),
            },
        }
    }
    fn next(&self, key: u64) -> Option<u64> {
        match self {
            ViewRows::Filtered(_, index) => index.at_or_after(key + 1),
            _ => (key + 1 < self.end()).then_some(key + 1),
        }
    }
    fn prev(&self, key: u64) -> Option<u64> {
        match self {
            ViewRows::Filtered(_, index) => index.before(key),
            _ => (key > self.first()).then(|| key - 1),
        }
    }
    fn near(&self, key: u64) -> u64 {
        match self {
            ViewRows::Filtered(_, index) => index.at_or_after(key).or(index.last()).unwrap_or(key),
            _ => key,
        }
    }
    fn count_from(&self, key: u64) -> u64 {
        match self {
            ViewRows::Filtered(_, index) => index.count() - index.rank(key),
            _ => self.end().saturating_sub(key),
        }
    }
}

impl Viewer {
    /// Returns the number of entries of a view, for its tab.
    pub fn count(&self, view: View) -> u64 {
        match view {
            View::Messages => {
                self.projections.messages.evicted() + self.projections.messages.items().len() as u64
            }
            View::Raw => self.event_log.last_seq().0,
            View::Timeline | View::Graph => extent(self.projections.timeline.bars()).end,
            View::Delivery => 0,
            // Before the history is loaded, the thread's state shows whether there is one.
            View::History => match self.history.len() as u64 {
                0 => u64::from(
                    self.projections
                        .status
                        .state()
                        .is_some_and(|state| !state.is_empty()),
                ),
                count => count,
            },
            View::Runs => {
                let keys = self.runs_keys();
                keys.end - keys.first
            }
            view => self.all_rows(view).end(),
        }
    }

    /// Returns the visible entries of a view.
    pub(crate) fn rows(&self, view: View) -> ViewRows<'_> {
        let all = self.all_rows(view);
        match &self.find.filtered[view as usize] {
            Some(index) => ViewRows::Filtered(Box::new(all), index),
            None => all,
        }
    }

    /// Returns all entries of a view, ignoring the filter.
    pub(crate) fn all_rows(&self, view: View) -> ViewRows<'_> {
        let p = &self.projections;
        let flat = match view {
            View::Messages => return ViewRows::Blocks(self.blocks.shown(p)),
            View::Updates => extent(p.updates.rows()),
            View::State => extent(p.values.rows()),
            View::Runs => self.runs_keys(),
            View::Custom => extent(p.custom.rows()),
            View::Raw => {
                let end = self.event_log.last_seq().next();
                Flat {
                    first: self.event_log.first_seq().unwrap_or(end).0,
                    end: end.0,
                }
            }
            View::Timeline => Flat {
                first: 0,
                end: self.bars.len(),
            },
            View::Delivery => Flat {
                first: 0,
                end: self.delivery_rows.len() as u64,
            },
            // Their rows are not those of events.
            View::Graph | View::History => Flat { first: 0, end: 0 },
        };
        if self.wraps(view) {
            ViewRows::Wrapped(flat, self, view)
        } else {
            ViewRows::Flat(flat)
        }
    }

    /// Returns one line of a view.
    pub(crate) fn line(&self, view: View, spot: LinePos) -> Line {
        match view {
            View::Messages => self.blocks.line(&self.projections, spot),
            View::State => self
                .state
                .as_ref()
                .map(|tree| tree.line(spot))
                .unwrap_or_default(),
            view if self.wraps(view) => self
                .wrapped(view, spot.key)
                .into_iter()
                .nth(spot.line)
                .unwrap_or_default(),
            view => self.whole_line(view, spot.key, self.line_width(view)),
        }
    }

    /// Returns the line of an entry, with at most `width` columns.
    pub(crate) fn whole_line(&self, view: View, key: u64, width: usize) -> Line {
        let p = &self.projections;
        let clock = self.clock(view, key);
        let line = match view {
            View::Messages | View::State | View::Graph | View::History => None,
            View::Updates => row_at(p.updates.rows(), key).map(|row| {
                views::updates::line(row, self.event_log.get(row.seq).as_ref(), width, &clock)
            }),
            View::Timeline => self.bars.line(p, key, width),
            View::Runs => self.runs_row(key).map(|row| match row {
                RunsRow::Run(run) => {
                    views::runs::record_line(run, p, self.revisions.as_ref(), &self.wall_clock())
                }
                RunsRow::Event(row) => {
                    views::runs::line(row, p, self.revisions.as_ref(), width, &clock)
                }
            }),
            View::Custom => row_at(p.custom.rows(), key).map(|row| {
                views::custom::line(
                    row,
                    self.event_log.get(row.seq).as_ref(),
                    self.as_received,
                    width,
                    &clock,
                )
            }),
            View::Raw => self.event_log.get(Seq(key)).map(|event| {
                let (state, number) = (p.values.at(event.seq), self.event_log.number_of(event.seq));
                let raw = RawEvent {
                    event: &event,
                    number,
                    state,
                };
                views::raw::line(&raw, self.as_received, width, &clock)
            }),
            View::Delivery => self.delivery_row(key).map(|row| row.line.clone()),
        };
        line.unwrap_or_default()
    }

    /// Returns the event of a view's line; `None` for a line about all events.
    pub(crate) fn seq_at(&self, view: View, spot: LinePos) -> Option<Seq> {
        let p = &self.projections;
        match view {
            View::Messages => self.blocks.seq_at(p, spot),
            View::Updates => Some(row_at(p.updates.rows(), spot.key)?.seq),
            View::State => Some(row_at(p.values.rows(), self.snapshot?)?.seq),
            View::Runs => self.runs_seq(spot.key),
            View::Custom => Some(row_at(p.custom.rows(), spot.key)?.seq),
            // An empty log has a position for its first event.
            View::Raw => Some(Seq(spot.key)).filter(|seq| *seq <= self.event_log.last_seq()),
            View::Delivery => self.delivery_row(spot.key)?.seq,
            View::Graph | View::History => None,
            View::Timeline => self.bars.seq_at(&p.timeline, spot.key),
        }
    }

    /// Returns the event of an entry, in the views with one line per entry.
    pub(crate) fn entry_seq(&self, view: View, key: u64) -> Option<Seq> {
        match view {
            View::Messages | View::State | View::Delivery | View::Graph | View::History => None,
            View::Runs if matches!(self.runs_row(key), Some(RunsRow::Run(_))) => None,
            view => self.seq_at(view, LinePos { key, line: 0 }),
        }
    }

    fn delivery_row(&self, key: u64) -> Option<&views::delivery::Row> {
        self.delivery_rows.get(usize::try_from(key).ok()?)
    }

    /// Returns the position of an event in a view: its own entry, or else the entry before it. `None` if the view has
    /// no such positions.
    pub(crate) fn spot_of(&self, view: View, seq: Seq) -> Option<LinePos> {
        fn last<T>(rows: &ProjectedRows<T>, seq: Seq, of: impl Fn(&T) -> Seq) -> LinePos {
            let after = rows.partition_point(|row| of(row) <= seq) as u64;
            LinePos {
                key: rows.evicted() + after.saturating_sub(1),
                line: 0,
            }
        }
        let p = &self.projections;
        Some(match view {
            View::Messages => self.blocks.spot_of(p, seq),
            View::Updates => last(p.updates.rows(), seq, |row| row.seq),
            View::Runs => LinePos {
                key: self.runs_key_of(seq),
                line: 0,
            },
            View::Custom => last(p.custom.rows(), seq, |row| row.seq),
            View::Raw => LinePos {
                key: seq.0,
                line: 0,
            },
            View::Timeline => LinePos {
                key: self.bars.spot_of(&p.timeline, seq),
                line: 0,
            },
            View::State | View::Delivery | View::Graph | View::History => return None,
        })
    }
}

/// Returns the keys of a projection's rows. Rows keep their keys when older ones are evicted.
pub(crate) fn extent<T>(rows: &ProjectedRows<T>) -> Flat {
    Flat {
        first: rows.evicted(),
        end: rows.evicted() + rows.len() as u64,
    }
}

pub(crate) fn row_at<T>(rows: &ProjectedRows<T>, key: u64) -> Option<&T> {
    rows.get(usize::try_from(key.checked_sub(rows.evicted())?).ok()?)
}
