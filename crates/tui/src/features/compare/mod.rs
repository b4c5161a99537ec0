//! Two runs, threads, recordings or revisions side by side. [`ComparePage`] holds the sides and the cursor; `aligned` the rows of steps
//! or of keys, `view` draws them in two regions from the cells of `rows`, `detail` has the values at the cursor.

mod aligned;
mod detail;
mod detail_view;
mod keys;
mod page;
mod rows;
mod view;

pub use page::ComparePage;
