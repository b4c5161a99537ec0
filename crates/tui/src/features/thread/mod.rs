//! A thread: the explanation of its status, answers to its questions, and its actions.

pub mod actions;
pub mod answer;
mod answer_view;
pub mod why;

use answer::KeptDraft;

/// The stored state of threads.
#[derive(Debug, Default)]
pub struct Threads {
    /// The drafts of answers that were not sent.
    pub answer_drafts: Vec<KeptDraft>,
}
