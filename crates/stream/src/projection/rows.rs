//! A list that grows at its end and evicts its oldest rows when there are too many or they take too much memory.

use crate::{Namespace, Seq};
use std::ops::Deref;

/// Something whose memory size can be estimated.
pub(super) trait Weigh {
    /// How many rows are kept.
    const MAX_ROWS: usize;

    /// Returns its approximate memory size in bytes. Memory that rows share counts for each of them.
    fn weight(&self) -> usize;
}

impl Weigh for Seq {
    const MAX_ROWS: usize = 100_000;

    fn weight(&self) -> usize {
        size_of::<Seq>()
    }
}

/// Returns the memory size of a namespace in bytes.
pub(super) fn namespace_weight(ns: &Namespace) -> usize {
    ns.iter()
        .map(|segment| size_of::<usize>() * 2 + segment.len())
        .sum()
}

/// Returns the length of an optional text.
pub(super) fn len(text: &Option<impl AsRef<str>>) -> usize {
    text.as_ref().map_or(0, |text| text.as_ref().len())
}

/// Returns the index of a numbered entry in a list whose first entries were evicted.
pub(super) fn index(number: u64, evicted: u64) -> Option<usize> {
    number.checked_sub(evicted)?.try_into().ok()
}

/// A list that is bounded by the number and the memory size of its rows. Dereferences to a slice.
#[derive(Debug, Clone)]
pub struct Rows<T> {
    rows: Vec<T>,
    /// The memory size of each row when it was last measured.
    weights: Vec<u32>,
    bytes: usize,
    max_bytes: usize,
    evicted: u64,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows {
            rows: Vec::new(),
            weights: Vec::new(),
            bytes: 0,
            max_bytes: usize::MAX,
            evicted: 0,
        }
    }
}

#[expect(private_bounds, reason = "only projections make and fill lists")]
impl<T: Weigh> Rows<T> {
    /// Sets the maximum memory size of the rows in bytes. The newest row is always kept.
    pub(super) fn limit(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// Returns the maximum memory size of the rows in bytes.
    pub(super) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Returns the memory size of the rows in bytes, without changes of the newest row since it was added.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, row: T) {
        self.measure_last();
        // Evict a quarter at once, because each eviction moves all remaining rows.
        if self.rows.len() >= T::MAX_ROWS {
            self.evict(T::MAX_ROWS / 4);
        }
        if self.bytes > self.max_bytes {
            let mut remaining = self.bytes;
            let is_evicted = |weight: &&u32| {
                let is_over_limit = remaining > self.max_bytes / 4 * 3;
                remaining -= **weight as usize;
                is_over_limit
            };
            self.evict(self.weights.iter().take_while(is_evicted).count());
        }
        let weight = u32::try_from(row.weight()).unwrap_or(u32::MAX);
        self.rows.push(row);
        self.weights.push(weight);
        self.bytes += weight as usize;
    }

    /// Measures the newest row again, because it may have grown.
    fn measure_last(&mut self) {
        if let Some((row, weight)) = self.rows.last().zip(self.weights.last_mut()) {
            let now = u32::try_from(row.weight()).unwrap_or(u32::MAX);
            self.bytes = self.bytes - *weight as usize + now as usize;
            *weight = now;
        }
    }

    fn evict(&mut self, count: usize) {
        self.rows.drain(..count);
        self.bytes -= self
            .weights
            .drain(..count)
            .map(|weight| weight as usize)
            .sum::<usize>();
        self.evicted += count as u64;
    }

    /// Removes the newest row.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.bytes -= self.weights.pop().unwrap_or_default() as usize;
        self.rows.pop()
    }
}

impl<T> Rows<T> {
    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.rows.last_mut()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        self.rows.get_mut(i)
    }

    /// Returns how many rows were evicted.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }
}

impl<T> Deref for Rows<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weigh for String {
        const MAX_ROWS: usize = 100;

        fn weight(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn rows_are_bounded_by_number_and_memory() {
        let mut rows: Rows<String> = Rows::default();
        rows.limit(1000);
        for n in 0..150_u64 {
            rows.push("x".into());
            assert_eq!(rows.evicted() + rows.len() as u64, n + 1);
        }
        assert!((75..=100).contains(&rows.len()));
        for _ in 0..50 {
            rows.push("x".repeat(100));
            assert!(rows.bytes() <= 1100, "{}", rows.bytes());
        }
        assert!(rows.len() >= 7, "{}", rows.len());
        // A row that grew is measured when the next row is pushed, and the newest row is always kept.
        rows.last_mut().unwrap().push_str(&"y".repeat(5000));
        rows.push("z".repeat(5000));
        rows.push("z".into());
        assert_eq!(
            (
                rows.len(),
                rows.bytes(),
                rows.iter().map(String::len).sum::<usize>()
            ),
            (1, 1, 1)
        );
        rows.pop();
        assert_eq!((rows.len(), rows.bytes()), (0, 0));
    }
}
