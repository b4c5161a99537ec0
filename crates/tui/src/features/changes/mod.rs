//! Changes: the document editor, the confirmation dialog, and the journal of sent requests.

pub mod confirm;
pub mod deployment_form;
pub mod editor;
pub mod journal;
mod keys;
mod one;
mod preview_lines;
mod resource_documents;
mod send_key;
mod sending;
mod several;
mod target_check;
mod view;
mod writers;

use crate::session::subject::Subject;
use std::collections::BTreeMap;

/// The stored state of changes.
#[derive(Debug, Default)]
pub struct Changes {
    /// The drafts of closed editors.
    pub drafts: BTreeMap<Subject, String>,
}
