//! The streams that are open: their tabs, views, search, time travel, recordings and exports.

pub mod bisect;
mod commands;
pub mod export;
pub mod find;
pub mod formats;
pub mod graph;
mod layout;
pub mod modes_dialog;
mod mouse;
mod notes;
pub(crate) mod record;
pub mod report;
pub mod summary;
pub(crate) mod tab_bar;
pub mod tabs;
mod update;
mod view;
pub mod viewer;
pub mod views;

use crate::session::pages::OpenPages;
use export::Export;
use modes_dialog::LastModes;
use record::Recording;
use tabs::Streams;
use viewer::Viewer;

/// The open streams, with their exports and recordings.
#[derive(Debug, Default)]
pub struct StreamState {
    /// The open streams, one per tab.
    pub tabs: Streams,
    /// The modes that were chosen last.
    pub last_modes: LastModes,
    /// The export in progress.
    pub(crate) export: Option<Export>,
    /// The recordings in progress.
    pub(crate) recordings: Vec<Recording>,
    /// Whether the mouse button was pressed on the slider, so that it follows the pointer.
    pub(crate) dragging_slider: bool,
}

impl StreamState {
    /// Returns what other features read of the open pages.
    pub fn open_pages(&self) -> OpenPages {
        OpenPages {
            all: self
                .tabs
                .all()
                .iter()
                .filter_map(Viewer::open_page)
                .collect(),
            shown: self.tabs.shown().and_then(Viewer::side),
        }
    }
}
