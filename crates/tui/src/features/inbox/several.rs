//! What an action on several threads of the inbox does on each of them, and which are left out.

use crate::session::Cx;
use crate::session::inbox::{InboxListRow, Target};
use crate::session::msg::BulkTarget;
use runtail_api::BulkAction;
use runtail_core::model::{InboxGroup, InboxItem, InboxThread, Question};

/// Returns the target of an action for the row of a thread, as it was when it was marked; `None` for a revision. `now`: its newest row.
pub(super) fn target(
    row: &InboxListRow,
    now: Option<&InboxListRow>,
    action: &BulkAction,
    cx: &Cx<'_>,
) -> Option<BulkTarget> {
    let (Target::Thread(thread), InboxItem::Thread(known)) = (&row.target, &row.row.item) else {
        return None;
    };
    // Only a question that the person saw is answered.
    let interrupt = match known.questions.as_slice() {
        [asked] => asked.id.clone(),
        _ => None,
    };
    let left_out = match action {
        _ if cx.session.is_read_only(&row.row.profile) => {
            Some(format!("{} is read-only", row.row.profile))
        }
        _ if now.is_some_and(|now| now.cause != row.cause) => {
            Some("changed since it was marked".into())
        }
        BulkAction::Answer(_) => unanswerable(known),
        _ => (row.row.group() != InboxGroup::Failed).then(|| "hasn't failed".into()),
    };
    Some(BulkTarget {
        thread: thread.clone(),
        title: String::new(),
        interrupt,
        left_out,
    })
}

/// Returns why a thread can't be answered together with others.
fn unanswerable(thread: &InboxThread) -> Option<String> {
    let questions = &thread.questions;
    let is_one_decision = questions.len() == 1 || questions.iter().all(Question::is_per_call);
    match questions.len() {
        0 => Some("asks nothing".into()),
        _ if !questions.iter().all(Question::can_be_approved) => {
            Some("needs more than an approval".into())
        }
        _ if is_one_decision => None,
        several => Some(format!("asks {several} questions")),
    }
}
