//! What happened to the questions of an open card, as the thread's page and the inbox report it.

use super::AnswerCard;
use crate::session::Cx;
use crate::session::form::FormKeys;
use runtail_core::model::{Question, ThreadStatus};

/// What is known of the thread since the card shows its questions.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerWatch {
    /// Whether the thread's page has shown each question as open.
    seen: Vec<bool>,
    /// Whether the inbox has listed the thread.
    was_listed: bool,
    pub closed: Option<Closed>,
    /// Which questions are no longer open, if others still are. The answer leaves them out.
    pub left_out: Vec<bool>,
}

/// Questions of the card are no longer open.
#[derive(Debug, Clone)]
pub(super) struct Closed {
    /// For the title, which is always visible: `no longer open`.
    pub label: String,
    pub sentence: String,
}

impl Closed {
    fn all(now: &str) -> Closed {
        Closed {
            label: "no longer open".into(),
            sentence: format!("No longer open: {now}. Draft kept."),
        }
    }
}

impl AnswerCard {
    /// Compares the questions with the thread's page or, if none is open, with the inbox.
    ///
    /// Only a change counts: records can be older than the stream or the load that the questions are from. Whether an answer is
    /// sent is not decided here, because the thread is read again before that.
    pub(super) fn watch(&mut self, cx: &Cx<'_>) {
        if !self.is_editable() {
            return;
        }
        self.watch.seen.resize(self.questions.len(), false);
        match cx.session.pages.status(&self.thread) {
            Some(ThreadStatus::Loading | ThreadStatus::Unknown { .. }) => {}
            Some(status) => self.watch.closed = self.closed_on_page(status),
            None => {
                if let Some(is_listed) = cx.session.inbox.lists(&self.thread) {
                    self.watch.closed = self.closed_in_inbox(is_listed);
                }
            }
        }
    }

    fn closed_on_page(&mut self, status: &ThreadStatus) -> Option<Closed> {
        let open: &[Question] = match status {
            ThreadStatus::Waiting { questions, .. } => questions,
            _ => &[],
        };
        let is_open = |asked: &Question| {
            open.iter()
                .any(|now| now.id == asked.id && now.value == asked.value)
        };
        let mut left_out = Vec::new();
        for (asked, seen) in self.questions.iter().zip(&mut self.watch.seen) {
            let is_open = is_open(asked);
            left_out.push(*seen && !is_open);
            *seen |= is_open;
        }
        let closed = left_out.iter().filter(|is_closed| **is_closed).count();
        self.watch.left_out = if closed < self.questions.len() {
            left_out
        } else {
            Vec::new()
        };
        let now = match status {
            ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } => {
                "a run is active".to_string()
            }
            ThreadStatus::Waiting { .. } => "another question is open".into(),
            ThreadStatus::Deleted => "the thread was deleted".into(),
            status => format!("the thread is {}", status.word()),
        };
        let all = self.questions.len();
        Some(match closed {
            0 => return None,
            _ if closed == all => Closed::all(&now),
            _ => {
                let label = format!("{closed} of {all} no longer open");
                let sentence = format!("{label}; left out of the answer.");
                Closed { label, sentence }
            }
        })
    }

    fn closed_in_inbox(&mut self, is_listed: bool) -> Option<Closed> {
        self.watch.was_listed |= is_listed;
        (self.watch.was_listed && !is_listed)
            .then(|| Closed::all("the inbox no longer lists the thread"))
    }
}
