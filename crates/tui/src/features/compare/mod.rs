//! Two runs, threads, recordings or revisions side by side. [`ComparePage`] holds the sides and the cursor; `aligned` the rows of steps
//! or of keys, `view` draws the wide form with two regions, `narrow` the list for small terminals, `detail` the values at the cursor.

mod aligned;
mod detail;
mod keys;
mod narrow;
mod page;
mod view;

pub use page::ComparePage;
