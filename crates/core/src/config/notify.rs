//! `[[notify]]`: what to notify about, and how; `[stuck]`: when a run counts as stuck.

use super::ConfigError;
use super::node::{Content, Node};
use super::table::{At, Source, Table, mismatch, table_of};
use super::units::{self, DURATION_FORM};
use std::time::Duration;

/// Shortest time after which a run may count as stuck: shorter ones are normal.
const MIN_STUCK: Duration = Duration::from_secs(5);

/// An event to notify about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotifyWhen {
    /// A thread waits for a person.
    Waiting,
    /// A thread or a newest revision failed.
    Failed,
    /// A run on an open thread page finished.
    Finished,
    /// A run is stuck.
    Stuck,
    /// A watched revision is final.
    Rollout,
}

impl NotifyWhen {
    /// The words of the configuration, and of the event's JSON.
    pub const WORDS: [(&str, NotifyWhen); 5] = [
        ("waiting", NotifyWhen::Waiting),
        ("failed", NotifyWhen::Failed),
        ("finished", NotifyWhen::Finished),
        ("stuck", NotifyWhen::Stuck),
        ("rollout", NotifyWhen::Rollout),
    ];

    /// Returns its word.
    pub fn word(self) -> &'static str {
        super::word_of(&NotifyWhen::WORDS, &self)
    }

    /// Returns whether it is notified about without any rule.
    pub fn is_default(self) -> bool {
        matches!(
            self,
            NotifyWhen::Waiting | NotifyWhen::Failed | NotifyWhen::Rollout
        )
    }
}

/// What a term of a rule is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Profile,
    Graph,
    Deployment,
}

const SUBJECTS: [(&str, Subject); 3] = [
    ("profile", Subject::Profile),
    ("graph", Subject::Graph),
    ("deployment", Subject::Deployment),
];

/// Where an event happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotifyPlace<'a> {
    pub profile: &'a str,
    /// None if unknown: only `graph:*` fits that.
    pub graph: Option<&'a str>,
    pub deployment: &'a str,
}

/// A rule of `[[notify]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct NotifyRule {
    /// The event.
    pub when: NotifyWhen,
    /// Patterns that must all fit.
    terms: Vec<(Subject, String)>,
    /// The program to run and its arguments; empty for none.
    pub command: Vec<String>,
}

impl NotifyRule {
    /// Returns whether the rule applies to an event.
    pub fn applies(&self, when: NotifyWhen, place: NotifyPlace<'_>) -> bool {
        self.when == when
            && self.terms.iter().all(|(subject, pattern)| {
                let text = match subject {
                    Subject::Profile => place.profile,
                    Subject::Graph => place.graph.unwrap_or_default(),
                    Subject::Deployment => place.deployment,
                };
                fits(pattern, text)
            })
    }
}

/// Returns whether a text fits a pattern in which `*` stands for any characters and `?` for one. Needs no more than the product
/// of their lengths.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // The last star, and where its text ends so far.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, end)) => {
                    star = Some((at, end + 1));
                    (p, t) = (at + 1, end + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Reads the rules.
pub(super) fn rules<'s>(
    source: &'s Source<'s>,
    value: &Node,
) -> Result<Vec<NotifyRule>, ConfigError> {
    match &value.value {
        Content::List(items) => items.iter().map(|item| rule(source, item)).collect(),
        _ => Err(mismatch(source, value, "tables that begin with [[notify]]").hint(
            "how you are notified is `notify` in [ui]; what you are notified about is a list of [[notify]] tables",
        )),
    }
}

fn rule<'s>(source: &'s Source<'s>, value: &Node) -> Result<NotifyRule, ConfigError> {
    let mut table = table_of(source, "notify".into(), value)?;
    let words = || {
        NotifyWhen::WORDS
            .map(|(word, _)| format!("\"{word}\""))
            .join(", ")
    };
    let Some(At { value: word, span }) = table.string("when")? else {
        return Err(source
            .error(value.span.clone(), "this rule has no `when`")
            .hint(format!("one of {}", words())));
    };
    let Some((_, when)) = NotifyWhen::WORDS.iter().find(|(known, _)| *known == word) else {
        return Err(source.error(span, format!("expected one of {}, found {word:?}", words())));
    };
    let mut terms = Vec::new();
    if let Some(At { value: text, span }) = table.string("match")? {
        for term in text.split_whitespace() {
            let known = term
                .split_once(':')
                .filter(|(_, pattern)| !pattern.is_empty())
                .and_then(|(name, pattern)| {
                    let (_, subject) = SUBJECTS.iter().find(|(known, _)| *known == name)?;
                    Some((*subject, pattern.to_string()))
                });
            let Some(known) = known else {
                let message = format!("{:?} is not a pattern of a rule", crate::text::clean(term));
                return Err(source.error(span, message).hint(
                    "patterns are profile:NAME, graph:NAME and deployment:NAME, separated by spaces; * stands for any text",
                ));
            };
            terms.push(known);
        }
    }
    let command = match table.strings("command")? {
        None => Vec::new(),
        Some(words) if words.is_empty() => {
            return Err(source
                .error(value.span.clone(), "this command has no program")
                .hint("without `command`, the rule only notifies in the terminal"));
        }
        Some(words) => words.into_iter().map(|at| at.value).collect(),
    };
    table.finish();
    Ok(NotifyRule {
        when: *when,
        terms,
        command,
    })
}

/// When a run counts as stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// A run has been pending for longer than this.
    pub pending: Duration,
    /// A running run has sent no event for longer than this.
    pub silent: Duration,
}

impl Default for Stuck {
    fn default() -> Stuck {
        Stuck {
            pending: Duration::from_secs(60),
            silent: Duration::from_secs(300),
        }
    }
}

/// Reads `[stuck]`.
pub(super) fn stuck<'s>(
    source: &'s Source<'s>,
    mut table: Table<'s, '_>,
) -> Result<Stuck, ConfigError> {
    let mut stuck = Stuck::default();
    for (key, limit) in [
        ("pending", &mut stuck.pending),
        ("silent", &mut stuck.silent),
    ] {
        let Some(at) = table.measure(key, DURATION_FORM, units::duration, |_| None)? else {
            continue;
        };
        if at.value < MIN_STUCK {
            return Err(source
                .error(
                    at.span,
                    "too short: every run would count as stuck at some point",
                )
                .hint("at least 5s"));
        }
        *limit = at.value;
    }
    table.finish();
    Ok(stuck)
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn read(text: &str) -> Config {
        Config::parse(text, None).unwrap()
    }

    fn refused(text: &str) -> String {
        Config::parse(text, None).unwrap_err().to_string()
    }

    #[test]
    fn patterns_fit_whole_texts() {
        for (pattern, text, expected) in [
            ("support", "support", true),
            ("support", "support-bot", false),
            ("prod-*", "prod-us", true),
            ("*-us", "prod-us", true),
            ("p*d-?s", "prod-us", true),
            ("p*d-?s", "prod-s", false),
            ("*", "", true),
            ("?", "", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("ü*", "über", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
        assert!(!fits(&"*a".repeat(200), &"b".repeat(5000)));
    }

    #[test]
    fn rules_apply_by_event_and_place() {
        let config = read(concat!(
            "[[notify]]\nwhen = \"waiting\"\nmatch = \"profile:prod-* graph:support\"\ncommand = [\"notify-send\", \"Runtail\"]\n",
            "[[notify]]\nwhen = \"stuck\"\n",
        ));
        let [waiting, stuck] = config.notify.as_slice() else {
            panic!("{:?}", config.notify)
        };
        assert_eq!(waiting.command, ["notify-send", "Runtail"]);
        let place = |profile, graph| NotifyPlace {
            profile,
            graph,
            deployment: "bot",
        };
        assert!(waiting.applies(NotifyWhen::Waiting, place("prod-us", Some("support"))));
        assert!(!waiting.applies(NotifyWhen::Failed, place("prod-us", Some("support"))));
        assert!(!waiting.applies(NotifyWhen::Waiting, place("lab", Some("support"))));
        assert!(!waiting.applies(NotifyWhen::Waiting, place("prod-us", None)));
        assert!(stuck.applies(NotifyWhen::Stuck, place("lab", None)) && stuck.command.is_empty());
        assert!(read("").notify.is_empty());
    }

    #[test]
    fn wrong_rules_are_errors_with_their_place() {
        for (text, part) in [
            ("notify = \"bell\"", "[[notify]]"),
            ("[[notify]]\nmatch = \"graph:x\"", "no `when`"),
            ("[[notify]]\nwhen = \"wating\"", "\"waiting\""),
            (
                "[[notify]]\nwhen = \"failed\"\nmatch = \"grph:x\"",
                "profile:NAME",
            ),
            (
                "[[notify]]\nwhen = \"failed\"\nmatch = \"graph:\"",
                "profile:NAME",
            ),
            ("[[notify]]\nwhen = \"failed\"\ncommand = []", "no program"),
            (
                "[[notify]]\nwhen = \"failed\"\ncommand = \"say hi\"",
                "a list",
            ),
        ] {
            let error = refused(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        let config = read("[[notify]]\nwhen = \"failed\"\ncomand = [\"x\"]");
        assert!(
            config.warnings[0].contains("did you mean `command`?"),
            "{:?}",
            config.warnings
        );
    }

    #[test]
    fn stuck_thresholds_have_defaults_and_bounds() {
        assert_eq!(read("").stuck, Stuck::default());
        let stuck = read("[stuck]\npending = \"2m\"").stuck;
        assert_eq!(
            stuck,
            Stuck {
                pending: Duration::from_secs(120),
                ..Stuck::default()
            }
        );
        assert!(refused("[stuck]\nsilent = \"1s\"").contains("at least 5s"));
        assert!(refused("[stuck]\npending = 60").contains("a duration"));
    }
}
