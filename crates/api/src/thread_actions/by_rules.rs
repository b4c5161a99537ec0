//! Plans the answer to all questions of a thread by the rules of the configuration (`[[answer]]`). A thread is answered only if
//! the rules decide about every action of every open question.

use super::answer::{not_waiting, reasons};
use crate::prelude::*;
use runtail_core::model::{AnswerRule, Reply, RulePlace, RuledAction, resume};

/// Maximum number of threads to answer at once.
pub const MAX_RULED_THREADS: usize = 200;
/// Maximum number of threads to read at the same time for their plans.
pub const MAX_RULED_PLANS: usize = 4;

/// An answer by rules.
#[derive(Clone)]
pub struct RuledPlan {
    pub plan: Plan,
    /// The questions that it answers: all that are open.
    pub questions: Vec<RuledQuestion>,
}

/// A question that the rules answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RuledQuestion {
    pub question: Question,
    /// What the rules decide about each of its actions.
    pub decisions: Vec<RuledAction>,
}

impl AgentServer {
    /// Plans the answer to all open questions of a thread, as the rules decide. Sends no write request.
    ///
    /// # Errors
    /// [`PlanError::Unfit`] where the rules don't decide about everything; see [`PlanError`] for the rest.
    #[boxed]
    pub async fn plan_by_rules(
        &self,
        thread: &str,
        rules: &[AnswerRule],
        profile: &str,
    ) -> Result<RuledPlan, PlanError> {
        let loaded = self.load_thread(thread).await?;
        let questions = loaded.answerable();
        if questions.is_empty() {
            return Err(if loaded.keeps_rejected_answer() {
                self.rejected_before(thread).await?
            } else {
                not_waiting(&loaded, None)
            });
        }
        let graph = loaded
            .thread
            .as_ref()
            .and_then(|facts| facts.graph_id.as_deref());
        let mut replies: Vec<Option<Reply>> = Vec::new();
        let mut ruled = Vec::new();
        for question in &questions {
            let decided = question
                .decided_by(rules, RulePlace { profile, graph })
                .map_err(unfit)?;
            replies.push(Some(decided.reply));
            ruled.push(RuledQuestion {
                question: question.clone(),
                decisions: decided.decisions,
            });
        }
        let made = resume(&questions, &replies)
            .map_err(|problems| unfit(reasons(&problems, &questions).join("; ")))?;
        let mut notes = Vec::new();
        for RuledQuestion {
            question,
            decisions,
        } in &ruled
        {
            notes.push(Note::fact(format!(
                "Question: {}",
                text::clean(&question.summary())
            )));
            notes.extend(
                decisions
                    .iter()
                    .map(|decided| Note::fact(sentence(decided))),
            );
        }
        let draft = self.answer_with(thread, &loaded, (questions, &made), notes);
        Ok(RuledPlan {
            plan: draft.await?.plan(),
            questions: ruled,
        })
    }
}

/// Returns a decision in words: `approve read_file(path=a), by the rule action:read_*`.
fn sentence(decided: &RuledAction) -> String {
    let RuledAction {
        call,
        decision,
        message,
        rule,
    } = decided;
    let message = message
        .as_ref()
        .map(|text| format!(" (\u{201c}{}\u{201d})", text::clean(text)))
        .unwrap_or_default();
    format!(
        "{decision} {}{message}, by the rule {}",
        text::clean(call),
        text::clean(rule)
    )
}
