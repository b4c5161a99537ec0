//! Rules that answer questions in bulk (`[[answer]]` in the configuration). A question is answered only if a rule matches every
//! action that it asks about.

use super::{Decision, Reply};
use crate::model::inbox::{InboxCause, InboxThread};
use crate::model::patterns;
use crate::model::thread_facts::Question;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// A rule: which actions it matches, and the decision about them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRule {
    /// `match` as written in the configuration.
    #[serde(rename = "match", deserialize_with = "patterns")]
    pub text: String,
    pub decision: RuleDecision,
    /// Why it rejects, which is sent with the rejection.
    pub message: Option<String>,
}

/// The decision of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    Approve,
    Reject,
}

/// Reads `action:GLOB`, and optionally `graph:GLOB` and `profile:GLOB`.
fn patterns<'d, D: Deserializer<'d>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let names = ["action", "graph", "profile"];
    patterns::check(&text, &names).map_err(D::Error::custom)?;
    let count = |name: &str| {
        let has_name = |term: &&str| term.split(':').next() == Some(name);
        text.split_whitespace().filter(has_name).count()
    };
    if let Some(name) = names.into_iter().find(|name| count(name) > 1) {
        let why = format!("{name}: is given twice; a second [[answer]] is another rule");
        return Err(D::Error::custom(why));
    }
    match count("action") {
        0 => Err(D::Error::custom(
            "action:GLOB is missing, for example action:read_*",
        )),
        _ => Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}

/// Where a question is asked.
#[derive(Debug, Clone, Copy)]
pub struct RulePlace<'a> {
    pub profile: &'a str,
    /// The thread's graph, if it is known.
    pub graph: Option<&'a str>,
}

/// A question that the rules answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    pub reply: Reply,
    /// One for each action, in their order.
    pub decisions: Vec<RuledAction>,
}

/// What the rules decide about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuledAction {
    /// The action as a call on one line.
    pub call: String,
    /// The decision that is sent: `approve`, `reject`, or with older questions `ignore` or `respond`.
    pub decision: &'static str,
    /// The text that is sent with it.
    pub message: Option<String>,
    /// `match` of the rule.
    pub rule: String,
}

impl AnswerRule {
    fn matches(&self, action: &str, place: RulePlace<'_>) -> bool {
        patterns::fit(&self.text, |name| match name {
            "action" => Some(action),
            "graph" => place.graph,
            _ => Some(place.profile),
        })
    }
}

impl Question {
    /// Returns the decisions of the rules about this question; the first matching rule counts for each action. The reply is still
    /// to be checked by [`Question::value_of`].
    ///
    /// # Errors
    /// Why the rules don't answer it.
    pub fn decided_by(&self, rules: &[AnswerRule], place: RulePlace<'_>) -> Result<Ruled, String> {
        if let Some(why) = self.unsupported() {
            return Err(format!("its format is not understood: {why}"));
        }
        let actions = self.actions();
        if actions.is_empty() {
            return Err("it doesn't ask about actions".into());
        }
        let (mut decisions, mut ruled) = (Vec::new(), Vec::new());
        for action in &actions {
            let Some(rule) = rules.iter().find(|rule| rule.matches(&action.name, place)) else {
                return Err(format!(
                    "no rule matches the action {}",
                    crate::text::head(&action.name, 80)
                ));
            };
            let decision = match rule.decision {
                RuleDecision::Approve => Decision::Approve,
                RuleDecision::Reject => self.rejection(action, rule.message.as_deref())?,
            };
            let message = match &decision {
                Decision::Reject(text) | Decision::Respond(text) => {
                    Some(text.clone()).filter(|text| !text.is_empty())
                }
                _ => None,
            };
            let (call, rule) = (action.call(), rule.text.clone());
            ruled.push(RuledAction {
                call,
                decision: decision.kind().word(),
                message,
                rule,
            });
            decisions.push(Some(decision));
        }
        let reply = Reply::Decisions(decisions);
        match self.value_of(&reply) {
            Ok(_) => Ok(Ruled {
                reply,
                decisions: ruled,
            }),
            Err(broken) => {
                let (spot, rule) = broken
                    .into_iter()
                    .next()
                    .unwrap_or((super::AnswerPart::Answer, String::new()));
                Err(super::Problem {
                    question: 0,
                    spot,
                    rule,
                }
                .to_string())
            }
        }
    }
}

impl InboxThread {
    /// Returns whether it waits for an answer.
    pub fn asks(&self) -> bool {
        self.cause == Some(InboxCause::Question)
    }

    /// Returns why the rules leave its listed questions unanswered; `None` if they decide about every action.
    pub fn undecided_by(&self, rules: &[AnswerRule], profile: &str) -> Option<String> {
        let place = RulePlace {
            profile,
            graph: self.graph.as_deref(),
        };
        self.questions
            .iter()
            .find_map(|question| question.decided_by(rules, place).err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use serde_json::{Value, json};

    fn rule(matches: &str, decision: &str, message: Option<&str>) -> AnswerRule {
        let rule = json!({"match": matches, "decision": decision, "message": message});
        serde_json::from_value(rule).unwrap()
    }

    fn asking(actions: &[(&str, &[&str])]) -> Question {
        let request = |(name, _): &(&str, _)| json!({"name": name, "args": {"n": 1}});
        let config = |(name, words): &(&str, &[&str])| json!({"action_name": name, "allowed_decisions": words});
        let requests: Vec<Value> = actions.iter().map(request).collect();
        let configs: Vec<Value> = actions.iter().map(config).collect();
        fixtures::asking(json!({"action_requests": requests, "review_configs": configs}))
    }

    const HERE: RulePlace<'_> = RulePlace {
        profile: "prod-us",
        graph: Some("support"),
    };

    #[test]
    fn every_action_needs_a_rule_and_the_first_match_counts() {
        let rules = [
            rule("action:read_secret", "reject", Some("never")),
            rule("action:read_*", "approve", None),
            rule("action:delete_?", "reject", None),
        ];
        let all: &[&str] = &["approve", "reject"];
        let decided = |question: Question| {
            let ruled = question.decided_by(&rules, HERE)?.decisions.into_iter();
            let words = |d: RuledAction| format!("{} {:?} {}", d.decision, d.message, d.rule);
            Ok::<_, String>(ruled.map(words).collect::<Vec<_>>().join(", "))
        };
        assert_eq!(
            decided(asking(&[
                ("read_file", all),
                ("read_secret", all),
                ("delete_x", all)
            ]))
            .unwrap(),
            "approve None action:read_*, reject Some(\"never\") action:read_secret, reject None action:delete_?"
        );
        for (question, why) in [
            (
                asking(&[("read_file", all), ("send", all)]),
                "no rule matches the action send",
            ),
            (
                asking(&[("read_file", &["reject"])]),
                "action 1 (read_file) allows only reject",
            ),
            (
                fixtures::asking(json!("Approve?")),
                "it doesn't ask about actions",
            ),
            (
                asking(&[]),
                "its format is not understood: its action_requests are empty",
            ),
        ] {
            assert_eq!(decided(question).unwrap_err(), why);
        }
    }

    #[test]
    fn rejections_use_the_words_of_older_questions() {
        for (flag, message, expected) in [
            ("allow_ignore", None, Ok("ignore")),
            ("allow_respond", Some("why"), Ok("respond")),
            ("allow_accept", None, Err("action 1 (f) allows only accept")),
        ] {
            let question = fixtures::asking(
                json!({"action_request": {"action": "f", "args": {}}, "config": {flag: true}}),
            );
            let ruled = question.decided_by(&[rule("action:f", "reject", message)], HERE);
            let word = ruled.as_ref().map(|ruled| ruled.decisions[0].decision);
            assert_eq!(word.map_err(String::as_str), expected);
        }
    }

    #[test]
    fn graph_and_profile_narrow_a_rule() {
        for (matches, graph, expected) in [
            ("action:f graph:supp* profile:prod-*", HERE.graph, true),
            ("action:f graph:support-*", HERE.graph, false),
            ("action:f profile:*-eu", HERE.graph, false),
            // A rule for a graph needs to know the graph.
            ("action:f graph:*", None, false),
        ] {
            let decided = asking(&[("f", &["approve"])]).decided_by(
                &[rule(matches, "approve", None)],
                RulePlace { graph, ..HERE },
            );
            assert_eq!(decided.is_ok(), expected, "{matches}");
        }
    }
}
