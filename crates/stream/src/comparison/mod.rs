//! Two runs, threads or recordings side by side: their steps, aligned by namespace, step and node.

mod align;
mod history;
mod loader;
mod output;
mod recording;
mod side;
#[cfg(test)]
mod tests;

pub use align::{Comparability, Comparison, Row, Totals, Verdict};
pub use loader::{SideRequest, load_side};
pub use output::comparable;
pub use recording::read_recording;
pub use side::{MAX_FILE, Side, SideSource, Step, StepKind, StepState, read_pair, write_pair};
