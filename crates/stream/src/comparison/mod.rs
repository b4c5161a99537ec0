//! Two runs, threads or recordings side by side: their steps, aligned by namespace, step and node.

mod align;
mod file;
mod history;
mod loader;
mod output;
mod recording;
mod steps;
#[cfg(test)]
mod tests;
mod words;

pub use align::{Comparability, Comparison, Row, Totals, Verdict};
pub use file::{FileContents, open_file};
pub use loader::{SideRequest, load_side};
pub use output::comparable;
pub use steps::{Side, SideSource, Step, StepKind, StepState, read_pair, write_pair};
pub use words::{time_difference, took};
