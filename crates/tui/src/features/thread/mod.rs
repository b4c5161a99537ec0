//! A thread: its status explained, the answer to its questions, and the actions on it.

pub mod actions;
pub mod answer;
mod answer_view;
pub mod why;

use answer::KeptDraft;

/// What is kept of threads.
#[derive(Debug, Default)]
pub struct Threads {
    /// What was typed as answers and not sent.
    pub answer_drafts: Vec<KeptDraft>,
}
