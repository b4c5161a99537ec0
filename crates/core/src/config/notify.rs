//! `[[notify]]`: what to notify about, and how; `[stuck]`: when a run counts as stuck.

use super::units::written_duration;
use crate::model::patterns;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::time::Duration;

/// Shortest time after which a run may count as stuck: shorter ones are normal.
pub(super) const MIN_STUCK: Duration = Duration::from_secs(5);

/// An event to notify about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    /// Returns its word in the configuration and in the event's JSON.
    pub fn word(self) -> &'static str {
        match self {
            NotifyWhen::Waiting => "waiting",
            NotifyWhen::Failed => "failed",
            NotifyWhen::Finished => "finished",
            NotifyWhen::Stuck => "stuck",
            NotifyWhen::Rollout => "rollout",
        }
    }

    /// Returns whether it is notified about without any rule.
    pub fn is_default(self) -> bool {
        matches!(
            self,
            NotifyWhen::Waiting | NotifyWhen::Failed | NotifyWhen::Rollout
        )
    }
}

/// Where an event happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotifyPlace<'a> {
    pub profile: &'a str,
    /// None if unknown: only `graph:*` fits that.
    pub graph: Option<&'a str>,
    pub deployment: &'a str,
}

/// A rule of `[[notify]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotifyRule {
    /// The event.
    pub when: NotifyWhen,
    /// Patterns that must all fit.
    #[serde(
        rename = "match",
        default,
        deserialize_with = "patterns",
        skip_serializing_if = "String::is_empty"
    )]
    patterns: String,
    /// The program to run and its arguments; empty for none.
    #[serde(
        default,
        deserialize_with = "program",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub command: Vec<String>,
}

/// Reads `profile:GLOB`, `graph:GLOB` and `deployment:GLOB`.
fn patterns<'d, D: Deserializer<'d>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let names = ["profile", "graph", "deployment"];
    patterns::check(&text, &names).map_err(D::Error::custom)?;
    Ok(text)
}

impl NotifyRule {
    /// Returns whether the rule applies to an event.
    pub fn applies(&self, when: NotifyWhen, place: NotifyPlace<'_>) -> bool {
        self.when == when
            && patterns::fit(&self.patterns, |name| match name {
                "profile" => Some(place.profile),
                "graph" => Some(place.graph.unwrap_or_default()),
                _ => Some(place.deployment),
            })
    }
}

/// Reads a program and its arguments.
pub(super) fn program<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::deserialize(from)?;
    match words.is_empty() {
        true => Err(D::Error::custom("this command has no program")),
        false => Ok(words),
    }
}

/// When a run counts as stuck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stuck {
    /// A run has been pending for longer than this.
    #[serde(with = "written_duration")]
    pub pending: Duration,
    /// A running run has sent no event for longer than this.
    #[serde(with = "written_duration")]
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

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn read(text: &str) -> Config {
        Config::parse(text, None).unwrap()
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
    fn stuck_thresholds_have_defaults() {
        assert_eq!(read("").stuck, Stuck::default());
        let stuck = read("[stuck]\npending = \"2m\"").stuck;
        assert_eq!(
            stuck,
            Stuck {
                pending: Duration::from_secs(120),
                ..Stuck::default()
            }
        );
    }
}
