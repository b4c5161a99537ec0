//! `[[answer]]`: rules that answer questions in bulk.

use super::ConfigError;
use super::node::{Content, Node};
use super::table::{Source, mismatch, table_of};
use crate::model::{AnswerRule, RulePart};

pub(super) fn rules<'s>(
    source: &'s Source<'s>,
    value: &Node,
) -> Result<Vec<AnswerRule>, ConfigError> {
    match &value.value {
        Content::List(rules) => rules.iter().map(|rule| read(source, rule)).collect(),
        _ => Err(mismatch(source, value, "a list of rules")
            .hint("write the section as [[answer]], with two brackets; each one is a rule")),
    }
}

fn read<'s>(source: &'s Source<'s>, value: &Node) -> Result<AnswerRule, ConfigError> {
    let mut table = table_of(source, "answer".into(), value)?;
    let (matches, decision, message) = (
        table.string("match")?,
        table.string("decision")?,
        table.string("message")?,
    );
    let missing = |key: &str, example: &str| {
        source
            .error(value.span.clone(), format!("this rule has no `{key}`"))
            .hint(format!("for example {key} = {example}"))
    };
    let matches = matches.ok_or_else(|| missing("match", "\"action:read_*\""))?;
    let decision = decision.ok_or_else(|| missing("decision", "\"approve\" or \"reject\""))?;
    let text = message.as_ref().map(|at| at.value.as_str());
    let rule =
        AnswerRule::parse(&matches.value, &decision.value, text).map_err(|(part, why)| {
            let span = match (part, message) {
                (RulePart::Match, _) => matches.span,
                (RulePart::Message, Some(message)) => message.span,
                (RulePart::Decision | RulePart::Message, _) => decision.span,
            };
            source.error(span, why)
        })?;
    table.finish();
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn problem(text: &str) -> String {
        Config::parse(text, None).unwrap_err().to_string()
    }

    #[test]
    fn rules_are_read_in_order() {
        let text = "[[answer]]\nmatch = \"action:read_*  graph:support\"\ndecision = \"approve\"\n\
                    [[answer]]\nmatch = \"action:*\"\ndecision = \"reject\"\nmessage = \"ask me\"\nwhy = 1\n";
        let config = Config::parse(text, None).unwrap();
        let texts: Vec<&str> = config
            .answer_rules
            .iter()
            .map(|rule| rule.text.as_str())
            .collect();
        assert_eq!(texts, ["action:read_* graph:support", "action:*"]);
        assert!(
            config.warnings[0].contains("unknown key `why` in [answer]"),
            "{:?}",
            config.warnings
        );
    }

    #[test]
    fn invalid_rules_show_their_place() {
        for (text, says) in [
            ("[answer]\nmatch = \"action:a\"\n", "with two brackets"),
            (
                "[[answer]]\ndecision = \"approve\"\n",
                "this rule has no `match`",
            ),
            (
                "[[answer]]\nmatch = \"action:a\"\n",
                "this rule has no `decision`",
            ),
            (
                "[[answer]]\nmatch = \"read_*\"\ndecision = \"approve\"\n",
                "line 2, column 9",
            ),
            (
                "[[answer]]\nmatch = \"action:a\"\ndecision = \"edit\"\n",
                "line 3, column 12",
            ),
            (
                "[[answer]]\nmatch = \"action:a\"\ndecision = \"approve\"\nmessage = \"x\"\n",
                "line 4, column 11",
            ),
            (
                "[[answer]]\nmatch = 1\ndecision = \"approve\"\n",
                "expected a text in quotes",
            ),
        ] {
            assert!(problem(text).contains(says), "{text}: {}", problem(text));
        }
    }
}
