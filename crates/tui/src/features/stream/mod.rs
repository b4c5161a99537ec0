//! The streams that are open: their tabs, views, search, time travel, recordings and exports.

pub mod export;
pub mod find;
mod layout;
pub mod modes;
mod mouse;
mod notes;
pub(crate) mod record;
pub mod summary;
mod tab_bar;
pub mod tabs;
mod update;
mod view;
pub mod viewer;
pub mod views;

use export::Export;
use modes::LastModes;
use record::Recording;
use tabs::Streams;

/// The streams that are open, and what is written of them.
#[derive(Debug, Default)]
pub struct StreamState {
    /// The streams, each in a tab.
    pub tabs: Streams,
    /// The modes that were chosen last.
    pub last_modes: LastModes,
    /// The view that is being written to a file.
    pub(crate) export: Option<Export>,
    /// The streams that are recorded.
    pub(crate) recordings: Vec<Recording>,
    /// Whether the button went down on the slider: it follows the pointer until the button goes down elsewhere.
    pub(crate) dragging_slider: bool,
}
