//! Two runs, threads or recordings side by side. [`ComparePage`] holds the sides and the cursor; `view` draws the wide form with
//! two regions, `narrow` the list for small terminals, `detail` what both sides wrote at the cursor.

mod detail;
mod narrow;
mod page;
mod view;

pub use page::ComparePage;
