//! A list that grows at its end and lets its oldest rows go in one piece when it is too long.

use std::ops::Deref;

/// A bounded list. It reads as a slice.
#[derive(Debug, Clone)]
pub struct Rows<T> {
    rows: Vec<T>,
    max: usize,
    evicted: u64,
}

impl<T> Rows<T> {
    pub(super) fn new(max: usize) -> Self {
        Rows { rows: Vec::new(), max, evicted: 0 }
    }

    pub(super) fn push(&mut self, row: T) {
        if self.rows.len() >= self.max {
            // A quarter at once: to move the rest for every single row would cost more than the row.
            let part = (self.max / 4).max(1);
            self.rows.drain(..part);
            self.evicted += part as u64;
        }
        self.rows.push(row);
    }

    /// Takes back the newest row.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.rows.pop()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.rows.last_mut()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        self.rows.get_mut(i)
    }

    /// Rows that were let go.
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
