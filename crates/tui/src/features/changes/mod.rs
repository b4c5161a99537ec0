//! Changing something: the document that is edited, the dialog before anything is sent, and the journal of what was sent.

pub mod confirm;
pub mod editor;
pub mod journal;
mod view;

use crate::session::subject::Subject;
use std::collections::BTreeMap;

/// What is kept of changes.
#[derive(Debug, Default)]
pub struct Changes {
    /// What was typed into editors that were left.
    pub drafts: BTreeMap<Subject, String>,
}
