//! The rows of the inbox that the rules of the configuration answer.

use super::detail;
use super::state::{Listing, Row, Target};
use crate::session::Session;
use crate::session::thread::ThreadToAnswer;
use runtail_core::model::{AnswerRule, InboxItem, InboxThread};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether the rules answer any row.
#[derive(Debug, Clone, Default)]
pub(super) struct Ruled {
    /// The rows and the rules that were compared, because comparing them for each message would be slow.
    compared: Option<(Arc<Listing>, Arc<[AnswerRule]>)>,
    /// The profiles with a row that the rules answer.
    profiles: BTreeSet<String>,
    has_answers: bool,
}

impl Ruled {
    /// Compares the rows with the rules if either changed.
    pub fn update(&mut self, listing: &Arc<Listing>, session: &Session) {
        let rules = &session.prefs.answer_rules;
        let is_same = |(of, with): &(Arc<Listing>, Arc<[AnswerRule]>)| {
            Arc::ptr_eq(of, listing) && Arc::ptr_eq(with, rules)
        };
        if !self.compared.as_ref().is_some_and(is_same) {
            let rows = listing.rows.iter().filter(|_| !rules.is_empty());
            let answered = rows.filter(|row| {
                let asking = asking(row);
                asking.is_some_and(|thread| thread.undecided_by(rules, &row.row.profile).is_none())
            });
            self.profiles = answered.map(|row| row.row.profile.clone()).collect();
            self.compared = Some((listing.clone(), rules.clone()));
        }
        self.has_answers = self
            .profiles
            .iter()
            .any(|profile| !session.is_read_only(profile));
    }

    /// Returns whether a row can be answered by rules.
    pub fn has_answers(&self) -> bool {
        self.has_answers
    }
}

/// Returns the thread of a row if it waits for an answer.
fn asking(row: &Row) -> Option<&InboxThread> {
    match &row.row.item {
        InboxItem::Thread(thread) => Some(thread).filter(|thread| thread.asks()),
        InboxItem::Revision(_) => None,
    }
}

/// Returns the rows that wait for an answer, with the reason for those that the rules leave unanswered.
pub(super) fn threads_to_answer(rows: &[&Row], session: &Session) -> Vec<ThreadToAnswer> {
    let waiting = rows.iter().filter_map(|row| {
        let (thread, Target::Thread(target)) = (asking(row)?, &row.target) else {
            return None;
        };
        let profile = &row.row.profile;
        let left = match session.is_read_only(profile) {
            true => Some("its profile is read-only".to_string()),
            // A thread about which the rules don't decide costs no request.
            false => thread.undecided_by(&session.prefs.answer_rules, profile),
        };
        Some(ThreadToAnswer {
            thread: target.clone(),
            name: detail::title(row),
            left,
        })
    });
    waiting.collect()
}
